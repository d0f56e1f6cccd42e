"""Mycel as an engine that the runner can drive: calls become JSON, errors become `Refused`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mycel
from mycel.errors import MycelError
from mycel.schema import load, plan
from mycel.schema.catalog import Catalog
from mycel.schema.planner import Plan
from tests.conformance.schema.runner import Refused
from tests.prepared import NEW

ARROW_NAMES = {
    "string": "Utf8",
    "large_binary": "LargeBinary",
    "bool": "Boolean",
    "int32": "Int32",
    "int64": "Int64",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float": "Float32",
    "double": "Float64",
    "date32[day]": "Date32",
    "date64[ms]": "Date64",
}


def arrow_name(type_: Any) -> str:
    """An Arrow type as the language's table of types writes it."""
    import pyarrow.types

    if pyarrow.types.is_fixed_size_list(type_):
        return f"FixedSizeList({arrow_name(type_.value_type)}, {type_.list_size})"
    if pyarrow.types.is_list(type_):
        return f"List({arrow_name(type_.value_type)})"
    return ARROW_NAMES[str(type_)]


@dataclass(frozen=True)
class MycelSchema:
    catalog: Catalog

    def ir(self) -> dict[str, Any]:
        return self.catalog.ir()

    def ir_hash(self) -> str:
        return self.catalog.ir_hash

    def arrow(self, type_name: str) -> list[tuple[str, str, bool]]:
        return [
            (each.name, arrow_name(each.type), each.nullable)
            for each in self.catalog.arrow(type_name)
        ]


@dataclass(frozen=True)
class MycelPlan:
    planned: Plan

    def plan(self) -> dict[str, Any]:
        return self.planned.to_dict()

    def ir(self) -> dict[str, Any]:
        return self.planned.catalog.ir()


@dataclass(frozen=True)
class MycelGraph:
    db: mycel.Graph

    def request(self, request: Any) -> dict[str, Any]:
        return self.db.request(request)

    def apply(self, schema: str, *, allow_removals: bool, allow_data_loss: bool) -> dict[str, Any]:
        try:
            applied: dict[str, Any] = self.db.schema.apply(
                schema, allow_removals=allow_removals, allow_data_loss=allow_data_loss
            ).to_dict()
        except MycelError as error:
            raise Refused(error.to_dict()) from error
        return applied

    def ir(self) -> dict[str, Any]:
        return self.db.schema.catalog.ir()

    def load(self, lines: str, *, mode: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "case.jsonl"
            path.write_text(lines, encoding="utf-8")
            try:
                loaded: dict[str, Any] = self.db.load(path, mode=mode).to_dict()
            except MycelError as error:
                raise Refused(error.to_dict()) from error
        return loaded

    def put(self, concepts: Sequence[Mapping[str, Any]]) -> None:
        try:
            with self.db.transaction() as tx:
                for each in concepts:
                    tx.put_concept(each["type"], each["name"], each.get("attributes"))
        except MycelError as error:
            raise Refused(error.to_dict()) from error

    def link(self, edge: Mapping[str, Any]) -> None:
        source, target = (self._id(*edge[end]) for end in ("from", "to"))
        try:
            self.db.add_edge(source, edge["edge"], target, data=edge.get("data"))
        except MycelError as error:
            raise Refused(error.to_dict()) from error

    def _id(self, type_name: str, name: str) -> str:
        found = self.db.get_concept(type_name, name)
        assert found is not None, f"a case links {type_name} {name}, which is not there"
        return found.id


@dataclass
class MycelEngine:
    _db: mycel.Graph | None = None
    _until: ExitStack = field(default_factory=ExitStack)

    def read(self, schema: str, *, file: str) -> MycelSchema:
        try:
            return MycelSchema(load(schema, file=file))
        except MycelError as error:
            raise Refused(error.to_dict()) from error

    def plan(self, schemas: Sequence[str]) -> MycelPlan:
        planned = plan(Catalog(), load(schemas[0]))
        for schema in schemas[1:]:
            planned = plan(planned.catalog, load(schema))
        return MycelPlan(planned)

    def open(self) -> MycelGraph:
        self.close()
        self._db = self._until.enter_context(NEW.opened())
        return MycelGraph(self._db)

    def verifies(self) -> bool:
        """True if the last graph agrees with its journal."""
        assert self._db is not None
        return self._db.verify(replay=True).ok

    def close(self) -> None:
        self._until.close()
