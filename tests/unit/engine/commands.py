"""A graph without guards, and KML commands that run on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest

from mycel import kip
from mycel.engine.statements import manipulate
from mycel.engine.values import Values
from mycel.errors import MycelError
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.ids import parse_id
from mycel.store.database import Store
from mycel.store.write.transaction import Guard

Error = TypeVar("Error", bound=MycelError)


class Graph:
    """A graph in memory with some types and predicates."""

    def __init__(self, guards: Sequence[Guard] = ()) -> None:
        self.store = Store(":memory:", guards=guards)
        with self.store.transaction(actor="tester", message="") as tx:
            for name in ("City", "River"):
                tx.define_type(name)
            for name in ("near", "flows_through", "says"):
                tx.define_predicate(name, {"is_symmetric": name == "near"})

    def run(self, text: str, **parameters: object) -> Any:
        return self.run_tree(kip.parse(text), **parameters)

    def run_tree(self, node: Any, **parameters: object) -> Any:
        with self.store.transaction(actor="tester", message="") as tx:
            return manipulate(tx, node, Values(parameters)).result

    def warnings(self, text: str) -> tuple[str, ...]:
        """Run a command, and return its warnings."""
        with self.store.transaction(actor="tester", message="") as tx:
            return manipulate(tx, kip.parse(text), Values({})).warnings

    def refuses(self, error: type[Error], text: str, **parameters: object) -> Error:
        """The error of a command that has to fail and to leave nothing."""
        before = self.everything(), self.entries
        with pytest.raises(error) as caught:
            self.run(text, **parameters)
        assert (self.everything(), self.entries) == before
        return caught.value

    @property
    def entries(self) -> int:
        """The number of journal entries."""
        return self.store.snapshot().entries

    def everything(self) -> dict[str, Any]:
        """All live elements as they would be sent, without the times of their changes."""
        with self.store.reading() as reader:
            tables = reader.connection.execute(
                "SELECT id FROM concept UNION ALL SELECT id FROM proposition ORDER BY id"
            ).fetchall()
            elements = [reader.element(int(str(number))) for (number,) in tables]
        wires = [element.to_dict() for element in elements if element is not None]
        for wire in wires:
            del wire["metadata"]["_updated_at"]
        return {wire["id"]: wire for wire in wires}

    def concept(self, name: str, type_name: str = "City") -> Concept:
        with self.store.reading() as reader:
            number = reader.type_number(type_name)
            found = reader.concept_named(number, name)
        assert found is not None
        return found

    def get(self, id_: str) -> Element | None:
        with self.store.reading() as reader:
            return reader.element(parse_id(id_))

    def link(self, id_: str) -> Proposition:
        found = self.get(id_)
        assert isinstance(found, Proposition)
        return found

    def links(self) -> set[str]:
        """All links, with the names of their ends: `Aare flows_through Bern`."""
        all_ = self.everything()

        def shown(id_: str) -> str:
            wire = all_[id_]
            if wire["_type"] == "ConceptNode":
                return str(wire["name"])
            return f"({shown(wire['subject'])} {wire['predicate']} {shown(wire['object'])})"

        return {shown(id_)[1:-1] for id_ in all_ if id_.startswith("P:")}
