"""A whole query as one statement: solutions, then groups, order and limit, then cells.

Solutions are rows of numbers. If joins could repeat a solution, or arms are united, the solutions
are made distinct first. The cells of an element are read last, after sorting and cutting, so that
no cell is read for a row that is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from mycel.ir import query as ir
from mycel.ir.facts import atom_variables, is_determined
from mycel.model.aggregates import is_extreme
from mycel.sql import aggregates, sqlite
from mycel.sql.dialect import Dialect
from mycel.sql.fields import Access, OutputColumn
from mycel.sql.patterns import Patterns
from mycel.sql.scope import Bindings, Cell, CellKind, Scope
from mycel.sql.select_builder import Select
from mycel.sql.state_tables import StateTables
from mycel.syntax.nodes import node

LIMIT: Final = ir.Parameter("#limit", "number")
OFFSET: Final = ir.Parameter("#offset", "number")
MOMENT: Final = ir.Parameter("#moment", "number")
"""Names of values that the engine binds; no parameter of a command can have such a name."""

UNITED_MAX: Final = 200

_RANK: Final = (
    "CASE {type} WHEN 'false' THEN 0 WHEN 'true' THEN 1 WHEN 'integer' THEN 2 WHEN 'real' THEN 2"
    " WHEN 'text' THEN 3 WHEN 'array' THEN 4 WHEN 'object' THEN 5 END"
)


@node
class Statement:
    """SQL, the values to bind, and for each column whether it holds JSON text."""

    text: str
    bindings: tuple[ir.Value, ...]
    json_columns: tuple[bool, ...]
    texts: tuple[int, ...]
    """The columns that may hold texts: all but counts, sums and averages."""
    ties: tuple[ir.Variable, ...] = ()
    """The variables that break ties, in this order."""


def compile_query(
    query: ir.Query,
    *,
    limited: bool = False,
    past: bool = False,
    ties: tuple[ir.Variable, ...] = (),
    exact: bool = False,
    dialect: Dialect = sqlite,
) -> Statement:
    """The statement of a query.

    With `limited` it returns one page in a total order: `ties` break ties, by default in the order
    of the joins, which costs nearly nothing. With `past` it reads the state at a journal position.
    With `exact`, sums may go beyond 64 bits, and so may the values that MIN and MAX compare.
    """
    compiler = _Compiler(query, dialect, limited=limited, past=past, ties=ties, exact=exact)
    return compiler.statement()


def compile_numbers(
    query: ir.Query, *, limited: bool = False, dialect: Dialect = sqlite
) -> Statement:
    """The statement that gives, for each output variable, the numbers it is bound to."""
    compiler = _Compiler(query, dialect, limited=limited)
    select = compiler.solutions()
    names = [output.variable for output in query.outputs if isinstance(output, ir.Field)]
    columns = ", ".join(f"{select.scope[n].number} AS n{at}" for at, n in enumerate(names))
    order = ", ".join(f"{at + 1}{dialect.NULLS_FIRST}" for at in range(len(names)))
    # Two steps, because SQLite would keep every row in memory to make solutions distinct and sort
    # them at once.
    rows = f"({select.text(columns, distinct=True)}{dialect.APART}) u"
    text = f"SELECT * FROM {rows} ORDER BY {order}"
    if limited:
        text += f" LIMIT {compiler.bindings.add(LIMIT)}"
    return Statement(*compiler.bindings.used_in(text), (False,) * len(names), ())


class _Compiler:
    def __init__(
        self,
        query: ir.Query,
        dialect: Dialect,
        *,
        limited: bool,
        past: bool = False,
        ties: tuple[ir.Variable, ...] = (),
        exact: bool = False,
    ) -> None:
        self.query: Final = query
        self.dialect: Final = dialect
        self.limited: Final = limited
        self.exact: Final = exact or dialect.EXTREMES_ARE_JSON
        self.ties = ties
        self.bindings: Final = Bindings()
        valid_at = None if query.valid_at is None else self.bindings.add(query.valid_at)
        moment = self.bindings.add(MOMENT) if past else None
        sources = StateTables(moment, dialect, query.hides, valid_at)
        # A page without an order is full before all solutions are made.
        is_eager = not limited or bool(query.sort) or query.is_grouped
        self.patterns: Final = Patterns(sources, self.bindings, is_eager=is_eager)
        self.fields: Final = self.patterns.fields

    def statement(self) -> Statement:
        select = self.solutions()
        if self.query.is_grouped:
            text, outputs = self._grouped(select)
        elif self.query.sort and self.limited and self._shows_elements():
            text, outputs = self._sorted_then_assembled(select)
        else:
            outputs = [self._output(select, field) for field in self._plain()]
            text = self._ordered(select, _columns(outputs))
        kinds = tuple(output.is_json for output in outputs)
        asked = self.query.outputs
        texts = tuple(at for at, value in enumerate(asked) if not _is_number(value))
        return Statement(*self.bindings.used_in(text), kinds, texts, self.ties)

    def _shows_elements(self) -> bool:
        """True if a row holds whole elements: their JSON is assembled after the limit."""
        return any(not output.path for output in self._plain())

    def _cut(self) -> str:
        if not self.limited:
            return ""
        return f" LIMIT {self.bindings.add(LIMIT)} OFFSET {self.bindings.add(OFFSET)}"

    # Solutions.

    def solutions(self) -> Select:
        """Each solution once, as a row of numbers."""
        arms = self.query.arms
        past = self.patterns.sources.is_past
        variables, needed = frozenset(self.query.variables), self._needed_variables()
        if len(arms) == 1 and not past and is_determined(arms[0], variables):
            return self.patterns.select(arms[0], {}, needed)
        selects = [self.patterns.select(block, {}, needed) for block in arms]
        texts = [
            select.text(self._slots(select.scope), distinct=len(arms) == 1 and not past)
            for select in selects
        ]
        if past:
            # SQLite splits the two halves of a past state only in a query that has no other clause.
            texts = [f"SELECT DISTINCT * FROM ({text}{self.dialect.APART}) u" for text in texts]
        rows = _united(texts)
        scope = {
            name: Cell(f"s.v{at}", _common_kind([select.scope for select in selects], name))
            for at, name in enumerate(self.query.variables)
        }
        return Select(self.dialect, scope, [f" FROM ({rows}) s"])

    def _needed_variables(self) -> frozenset[ir.Variable]:
        """The variables that groups, order or cells need."""
        columns = [*self.query.outputs, *(key.output for key in self.query.sort)]
        fields = (
            column.argument if isinstance(column, ir.Aggregate) else column for column in columns
        )
        return frozenset(field.variable for field in fields)

    def _slots(self, scope: Scope) -> str:
        slots = [
            f"{scope[name].number if name in scope else self.dialect.NOTHING} AS v{at}"
            for at, name in enumerate(self.query.variables)
        ]
        return ", ".join(slots) or "1"

    # Order.

    def _sorted_then_assembled(self, select: Select) -> tuple[str, list[OutputColumn]]:
        used = dict.fromkeys(output.variable for output in self._plain())
        slots = ", ".join(f"{select.scope[n].number} AS k{at}" for at, n in enumerate(used))
        text = self._ordered(select, slots)
        scope = {name: _outer_cell(select.scope[name], f"s.k{at}") for at, name in enumerate(used)}
        outer = Select(self.dialect, scope, [f" FROM ({text}) s"])
        outputs = [self._output(outer, field) for field in self._plain()]
        # The limit stops SQLite from merging the two queries, which would assemble rows before it
        # sorts.
        return outer.text(_columns(outputs)) + self.dialect.APART, outputs

    def _ordered(self, select: Select, columns: str) -> str:
        keys = [
            order
            for key in self.query.sort
            if isinstance(key.output, ir.Field)
            for order in sort_terms(self.dialect, self._key(select, key.output), key.descending)
        ]
        if self.limited or keys:  # Ties have the same order with and without pages.
            self.ties = self.ties or tuple(
                name for name in select.scope if name in self.query.variables
            )
            nulls = self.dialect.NULLS_FIRST
            keys += [f"{select.scope[name].number}{nulls}" for name in self.ties]
        order = f" ORDER BY {', '.join(keys)}" if keys else ""
        return select.text(columns) + order + self._cut()

    def _plain(self) -> list[ir.Field]:
        return [output for output in self.query.outputs if isinstance(output, ir.Field)]

    def _access(self, select: Select, output: ir.Field) -> Access:
        cell = self.patterns.at_hand(select, select.scope[output.variable], output.path)
        access = self.fields.access(cell, output.path)
        if not output.path and self._is_always_bound(output.variable):
            return replace(access, is_present=True)
        return access

    def _key(self, select: Select, field: ir.Field) -> Access:
        """A key to sort by. If a filter lets only one kind of value pass, the key has that kind."""
        access = self._access(select, field)
        if access.kind != "json" or len(self.query.arms) > 1:
            return access
        for condition in self.query.arms[0].conditions:
            match condition:
                case ir.Compare(
                    operator, ir.Field() as tested, ir.Constant() | ir.Parameter() as value
                ):
                    if tested == field and operator != "!=" and value.kind in ("number", "text"):
                        return replace(access, kind=value.kind)
                case _:
                    pass
        return access

    def _is_always_bound(self, variable: ir.Variable) -> bool:
        return all(
            any(variable in atom_variables(atom) for atom in block.atoms)
            and not any(isinstance(a, ir.WalkAtom) and a.link == variable for a in block.atoms)
            for block in self.query.arms
        )

    def _output(self, select: Select, output: ir.Field) -> OutputColumn:
        cell = self.patterns.at_hand(select, select.scope[output.variable], output.path)
        return self.fields.output(cell, output.path)

    # Groups.

    def _grouped(self, select: Select) -> tuple[str, list[OutputColumn]]:
        if self.query.gathers_early:
            select, merged = self._gathered(select)
            return self._groups(select, merged.__getitem__)
        return self._groups(select, lambda node: self._aggregate(select, node))

    def _aggregate(self, select: Select, node: ir.Aggregate) -> str:
        return aggregates.compile_aggregate(
            self.dialect, node, self._access(select, node.argument), exact=self.exact
        )

    def _is_json(self, node: ir.Aggregate) -> bool:
        """True if an aggregate is a JSON text."""
        return self.exact and is_extreme(node.function)

    def _aggregate_terms(self, text: str, key: ir.SortKey) -> list[str]:
        if isinstance(key.output, ir.Aggregate) and self._is_json(key.output):
            return sort_terms(self.dialect, self._text_access(text), key.descending)
        return [f"{text}{' DESC' if key.descending else ''} NULLS LAST"]

    def _text_access(self, text: str) -> Access:
        """A JSON text as a value to sort by."""
        dialect, path = self.dialect, self.dialect.WHOLE
        return Access(
            "json",
            dialect.value_at(text, path),
            dialect.type_at(text),
            text,
            dialect.number_at(text, path),
            dialect.string_at(text, path),
        )

    def _group_access(self, select: Select, field: ir.Field) -> Access:
        """A value to sort groups by."""
        access, bare = self._access(select, field), self.dialect.bare
        if access.kind == "json" and field in self._plain():
            type_, value, number, string = self.dialect.group_parts(
                access.type, access.value, access.number, access.string
            )
            return replace(access, type=type_, value=value, number=number, string=string)
        return replace(
            access,
            value=bare(access.value),
            type=bare(access.type),
            text=bare(access.text),
            number=bare(access.number),
            string=bare(access.string),
        )

    def _bare(self, column: OutputColumn) -> OutputColumn:
        return replace(column, expression=self.dialect.bare(column.expression))

    def _groups(
        self, select: Select, aggregate: Callable[[ir.Aggregate], str]
    ) -> tuple[str, list[OutputColumn]]:
        """The columns of the groups in order; `aggregate` returns the SQL of one aggregate."""
        output_columns = [
            self._bare(self._output(select, output))
            if isinstance(output, ir.Field)
            else OutputColumn(aggregate(output), is_json=self._is_json(output))
            for output in self.query.outputs
        ]
        order = [
            term
            for key in self.query.sort
            for term in (
                sort_terms(
                    self.dialect,
                    self._group_access(select, key.output),
                    key.descending,
                )
                if isinstance(key.output, ir.Field)
                else self._aggregate_terms(aggregate(key.output), key)
            )
        ]
        groups = [
            aggregates.group_key(self.dialect, self._access(select, field))
            for field in self._plain()
        ]
        text = select.text(_columns(output_columns))
        if groups:
            text += f" GROUP BY {', '.join(groups)}"
            order = [*order, *groups] if self.limited or order else []
        text += f" ORDER BY {', '.join(order)}" if order and groups else ""
        return text + self._cut(), output_columns

    def _gathered(self, select: Select) -> tuple[Select, dict[ir.Aggregate, str]]:
        """Groups by element, and the expressions that combine their aggregates."""
        grouped = dict.fromkeys(key.variable for key in self._plain())
        numbers = [select.scope[name].number for name in grouped]
        columns = [f"{number} AS k{at}" for at, number in enumerate(numbers)]
        asked = [*self.query.outputs, *(key.output for key in self.query.sort)]
        merged: dict[ir.Aggregate, str] = {}
        gathered = dict.fromkeys(output for output in asked if isinstance(output, ir.Aggregate))
        for at, aggregate in enumerate(gathered):
            parts, merged[aggregate] = aggregates.in_two_steps(
                self.dialect,
                aggregate,
                self._access(select, aggregate.argument),
                f"t{at}",
                "s",
                exact=self.exact,
            )
            columns += parts
        inner = f"{select.text(', '.join(columns))} GROUP BY {', '.join(numbers)}"
        key = self.query.sort[0] if self.query.cut else None
        is_cut = self.limited and not self.patterns.sources.is_past
        if is_cut and key is not None and isinstance(first := key.output, ir.Aggregate):
            inner = aggregates.first_groups(
                self.dialect,
                inner,
                f"t{[*gathered].index(first)}",
                f"{self.bindings.add(LIMIT)} + {self.bindings.add(OFFSET)}",
                descending=key.descending,
                share_names=self.query.cut == "names",
            )
        scope = {
            name: _outer_cell(select.scope[name], f"s.k{at}") for at, name in enumerate(grouped)
        }
        return Select(self.dialect, scope, [f" FROM ({inner}) s"]), merged


def _outer_cell(cell: Cell, number: str) -> Cell:
    """A cell in the outer statement, where the number of the element is a column."""
    return Cell(number, cell.kind, is_present=cell.is_present)


def _is_number(output: ir.Output) -> bool:
    return isinstance(output, ir.Aggregate) and not is_extreme(output.function)


def _columns(outputs: list[OutputColumn]) -> str:
    return ", ".join(output.expression for output in outputs)


def _united(texts: list[str]) -> str:
    """Arms united, in groups: SQLite takes no more than 500 at once."""
    while len(texts) > UNITED_MAX:
        groups = [texts[at : at + UNITED_MAX] for at in range(0, len(texts), UNITED_MAX)]
        texts = [f"SELECT * FROM ({' UNION '.join(group)}) u" for group in groups]
    return " UNION ".join(texts)


def _common_kind(scopes: list[Scope], name: ir.Variable) -> CellKind:
    kinds = {scope[name].kind for scope in scopes if name in scope}
    return kinds.pop() if len(kinds) == 1 else "element"


def sort_terms(dialect: Dialect, access: Access, descending: bool) -> list[str]:
    """The sort expressions: nulls last in both directions, kinds of values apart.

    Integers from 2^63 on are sorted as floats. To tell them apart would take a third term, which
    costs a fifth of the whole time when a type is sorted by ordinary values.
    """
    way = " DESC" if descending else ""
    if access.kind == "json":
        keys = dialect.sort_keys(access.type, access.value, access.number, access.string)
        return [
            f"{_RANK.format(type=access.type)}{way} NULLS LAST",
            *(f"{key}{way}" for key in keys),
        ]
    value = access.value
    if value == "NULL":  # It orders nothing, and PostgreSQL refuses to sort by a constant.
        return []
    if access.kind == "text":
        value = dialect.ordered(access.string or value)
    elif access.kind == "number":
        value = access.number or value
    return [f"{value}{way} NULLS LAST"]
