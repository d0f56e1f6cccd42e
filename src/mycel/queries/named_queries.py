"""`db.queries`: the named queries of a graph.

A definition is a concept of the type NamedQuery with its text, so it is journaled, branched, merged
and proven like any other knowledge. A definition is checked when it is added: its syntax, its
parameters, and the types and predicates that it names. A definition that came in by another door is
checked when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, assert_never

from mycel.engine.engine import Engine
from mycel.engine.result import Result
from mycel.engine.write_defaults import WriteDefaults
from mycel.errors import ConstraintViolation, MycelError, NotFound, did_you_mean
from mycel.model.names import shorten
from mycel.queries.declaration import NO_DEFAULT, NamedQuery, ParameterType, QueryParameter
from mycel.queries.descriptor import descriptor, query_facts
from mycel.queries.gq_parser import parse_queries
from mycel.queries.query_arguments import checked_arguments
from mycel.schema import Catalog
from mycel.schema.steps import (
    RemoveProperty,
    RemoveType,
    RenameProperty,
    RenameType,
    SchemaStep,
)
from mycel.store.database import Store
from mycel.store.write.transaction import Transaction

TYPE: Final = "NamedQuery"
QUERIES_MAX: Final = 1_000
_DEFINITION: Final = {
    "description": "A named query: a command of KIP with typed parameters. Write them with"
    " db.queries or `mycel query add`, which check them."
}
_ALL: Final = (
    "FIND(?q.name, ?q.attributes.text) WHERE { ?q {type: :type} } ORDER BY ?q.name LIMIT :limit"
)
_ONE: Final = "FIND(?q.attributes.text) WHERE { ?q {type: :type, name: :name} }"


class QueryProblem(NamedTuple):
    """A named query that does not work, and the reason."""

    name: str
    why: str


class NamedQueries:
    """The named queries of one graph."""

    def __init__(
        self,
        store: Store,
        engine: Callable[[], Engine],
        defaults: WriteDefaults,
        catalog: Callable[[], Catalog],
    ) -> None:
        """`catalog` returns the schema in force."""
        self._store: Final = store
        self._catalog: Final = catalog
        self._engine: Final = engine
        self._defaults: Final = defaults

    def __iter__(self) -> Iterator[NamedQuery]:
        """All named queries, by name; those that cannot be parsed are left out."""
        for name, text in self._texts():
            try:
                yield self._parsed(name, text)
            except MycelError:
                continue

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(name == query_name for query_name, _ in self._texts())

    def __getattr__(self, name: str) -> Callable[..., Result]:
        """`db.queries.people_of(team="core")` runs a query."""
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda **arguments: self.run(name, arguments)

    def get(self, name: str, *, readonly: bool = False) -> NamedQuery:
        """The query with a name; with `readonly`, a query that writes counts as missing.

        Raises:
            NotFound: no query has this name.
        """
        rows: list[Any] = []
        if self._is_defined():
            rows = self._engine().execute(_ONE, {"type": TYPE, "name": name}, readonly=True).value
        query = self._parsed(name, str(rows[0])) if rows else None
        if query is None or (readonly and query_facts(query).writes):
            raise self._unknown(name, readonly=readonly)
        return query

    def _unknown(self, name: str, *, readonly: bool) -> NotFound:
        """The error for a query that does not exist, or that is denied because it writes."""
        query_names = [query.name for query in self if not (readonly and query_facts(query).writes)]
        close = did_you_mean(name, query_names)
        return NotFound(
            f"There is no query {shorten(repr(name))}.",
            hint=close or f"There are: {', '.join(query_names[:20]) or 'none'}.",
        )

    def add(self, text: str, *, message: str = "") -> list[NamedQuery]:
        """Add all queries of a text, or none; they replace queries with the same names.

        Raises:
            InvalidSyntax, TypeMismatch, ConstraintViolation: a query does not work; nothing is
                added.
        """
        queries = parse_queries(text)
        if not queries:
            raise ConstraintViolation("There is no query in the text.")
        for query in queries:
            self._check(query)

        def put(tx: Transaction) -> None:
            if TYPE not in tx.defined_types():
                tx.define_type(TYPE, _DEFINITION)
            for query in queries:
                tx.put_concept(TYPE, query.name, _attributes(query))

        names = ", ".join(query.name for query in queries)
        self._write(put, message or f"add queries {shorten(names, 100)}")
        return list(queries)

    def remove(self, name: str, *, message: str = "") -> None:
        """Remove a query.

        Raises:
            NotFound: no query has this name.
        """
        self.get(name)

        def retire(tx: Transaction) -> None:
            tx.retire((TYPE, name))

        self._write(retire, message or f"remove query {name}")

    def run(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        readonly: bool = False,
        message: str = "",
    ) -> Result:
        """Run a query with the values of its parameters.

        Raises:
            NotFound: no query has this name.
            InvalidSyntax, InvalidValueType: a parameter is missing, unknown, or of another type.
        """
        query = self.get(name, readonly=readonly)
        values = checked_arguments(query, arguments or {})
        return self._engine().execute(query.body, values, readonly=readonly, message=message)

    def describe(self) -> list[dict[str, Any]]:
        """All queries for other programs, by name."""
        catalog = self._catalog()
        return [descriptor(query, catalog) for query in self]

    def check(self) -> list[QueryProblem]:
        """The queries that do not work with the present definitions."""
        problems: list[QueryProblem] = []
        for name, text in self._texts():
            try:
                self._check(self._parsed(name, text))
            except MycelError as error:
                problems.append(QueryProblem(name, error.message))
        return problems

    def broken_by(self, steps: Iterable[SchemaStep]) -> list[QueryProblem]:
        """The queries that name a type or property that a change of the schema removes."""
        names = {
            step.before.name
            for step in steps
            if isinstance(step, RemoveType | RenameType | RemoveProperty | RenameProperty)
        }
        problems: list[QueryProblem] = []
        for query in self if names else ():
            facts = query_facts(query)
            lost = sorted(names & {*facts.types, *facts.predicates, *facts.properties})
            if lost:
                problems.append(QueryProblem(query.name, f"it names {', '.join(lost)}"))
        return problems

    def _write(self, work: Callable[[Transaction], None], message: str) -> None:
        defaults = self._defaults
        self._store.run(work, actor=defaults.actor, message=defaults.message or message)

    def _check(self, query: NamedQuery) -> None:
        facts = query_facts(query)
        names = [parameter.name for parameter in query.parameters]
        unknown = [name for name in facts.placeholders if name not in names]
        if unknown:
            raise ConstraintViolation(
                f"Line {query.line}: The body of {query.name} has the placeholder :{unknown[0]},"
                " but there is no parameter of this name.",
                hint=f"Declare it: ${unknown[0]}: String.",
            )
        unused = [name for name in names if name not in facts.placeholders]
        if unused:
            raise ConstraintViolation(
                f"Line {query.line}: The body of {query.name} does not use the parameter"
                f" ${unused[0]}.",
                hint=f"Write :{unused[0]} in the body, or leave the parameter out.",
            )
        for parameter in query.parameters:
            if parameter.default is not NO_DEFAULT:
                checked_arguments(
                    NamedQuery(query.name, (parameter,), {}, "", ""),
                    {parameter.name: parameter.default},
                )
        with self._store.reading() as reader:
            for name in facts.types:
                reader.type_number(name)
            for name in facts.predicates:
                reader.predicate_number(name)
        values = {parameter.name: _example(parameter) for parameter in query.parameters}
        # EXPLAIN plans the command, which finds undefined names, and runs nothing.
        self._engine().execute(f"EXPLAIN {query.body}", values)

    def _texts(self) -> list[tuple[str, str]]:
        if not self._is_defined():
            return []
        rows = (
            self._engine().execute(_ALL, {"type": TYPE, "limit": QUERIES_MAX}, readonly=True).rows
        )
        return [(str(name), str(text)) for name, text in rows]

    def _is_defined(self) -> bool:
        with self._store.reading() as reader:
            return reader.find_type(TYPE) is not None

    def _parsed(self, name: str, text: str) -> NamedQuery:
        queries = parse_queries(text)
        if len(queries) != 1 or queries[0].name != name:
            raise ConstraintViolation(f"The definition of {name!r} is not one query of this name.")
        return queries[0]


def _example(parameter: QueryParameter) -> Any:
    if parameter.default is not NO_DEFAULT and parameter.default is not None:
        return parameter.default
    value = _value(parameter.type)
    return [value] if parameter.is_list else value


def _value(of_type: ParameterType) -> Any:
    match of_type:
        case "String" | "Json":
            return "x"
        case "Bool":
            return True
        case "I32" | "I64" | "U32" | "U64":
            return 1
        case "F32" | "F64":
            return 1.0
        case "Date":
            return "2026-01-01"
        case "DateTime":
            return "2026-01-01T00:00:00Z"
        case _:
            assert_never(of_type)


def _attributes(query: NamedQuery) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "text": query.text,
        "parameters": [p.name for p in query.parameters],
    }
    if query.description:
        attributes["description"] = query.description
    if query.instruction:
        attributes["instruction"] = query.instruction
    return attributes
