"""Binding: names become numbers, variables get their scopes, and errors are found.

A block binds the variables of its patterns. Inner blocks see them; a UNION sees nothing outside
itself (KIP §3.4.7). Filters, NOTs and OPTIONALs of a block apply to its own patterns, not to those
of the UNIONs beside it.

A parameter shapes a plan if it is the name of a type or predicate, or by the kind of its value if a
filter compares with it. `BoundQuery.roles` lists these, so that a plan is reused for all other
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, NoReturn, assert_never

from mycel.errors import (
    ConstraintViolation,
    InvalidId,
    InvalidSyntax,
    InvalidValueType,
    ResourceExhausted,
    TypeMismatch,
    UnknownReference,
    did_you_mean,
)
from mycel.ir import query as ir
from mycel.kip import ast
from mycel.kip.fragments import path_text
from mycel.model import allowance, ids, times
from mycel.model.limits import VARIABLES_MAX
from mycel.plan.catalog import CommandValues, DefinedNames, PredicateFacts
from mycel.plan.time_literals import spell_moments
from mycel.syntax.diagnostics import located
from mycel.syntax.regex import matcher

Role = Literal["name", "kind", "list"]
"""The way in which a parameter shapes a plan: by its value, its kind, or (IN) its kind of list."""

_OPEN_FIELDS: Final = ("attributes", "metadata")
ELEMENT_FIELDS: Final = (
    "id",
    "type",
    "name",
    "subject",
    "predicate",
    "object",
    "weight",
    "belief",
    *_OPEN_FIELDS,
)

KNOWN_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("createdat", "created", "createdon"), ("metadata", "_created_at")),
    **dict.fromkeys(("createdby", "creator", "author", "actor"), ("metadata", "_created_by")),
    **dict.fromkeys(("updatedat", "updated", "modifiedat"), ("metadata", "_updated_at")),
    **dict.fromkeys(("updatedby", "modifiedby", "editor"), ("metadata", "_updated_by")),
    "version": ("metadata", "_version"),
    **{key: ("metadata", key) for key in ("confidence", "source", "status", "evidence")},
    **dict.fromkeys(("label", "title"), ("name",)),
}
"""Fields of other systems, in lower case and without underscores, and the path to each here."""

_AFTER_UNION: Final = (
    "{clause} follows a UNION. It applies to the patterns beside the UNION, not to the rows of"
    " the UNION; repeat it inside the UNION if it should apply there too."
)


class BoundQuery(NamedTuple):
    """The WHERE of a command with the outputs of its solutions, ready to be planned."""

    query: ir.Query
    roles: frozenset[tuple[str, Role]]
    warnings: tuple[str, ...]


def bind_find(find: ast.Find, catalog: DefinedNames, values: CommandValues) -> BoundQuery:
    """Bind a FIND.

    Raises:
        TypeMismatch: a type or predicate is not defined.
        UnknownReference: a variable is bound nowhere, or a parameter is missing.
    """
    binder = _Binder(catalog, values, hides=not find.include_archived)
    if find.for_time is not None:
        binder.valid_at = binder.time(find.for_time, "FOR TIME")
    arms, variables = binder.where(find.where)
    outputs = tuple(binder.output(expression, variables) for expression in find.expressions)
    grouped = any(isinstance(output, ir.Aggregate) for output in outputs)
    try:
        sort = tuple(
            ir.SortKey(binder.output(key.expression, variables), key.descending)
            for key in find.order_by
        )
    except UnknownReference as error:
        error.hint += " ORDER BY knows no aliases: it repeats an expression of FIND."
        raise
    if grouped:
        _check_group_order(sort, outputs)
    elif any(isinstance(key.output, ir.Aggregate) for key in sort):
        raise UnknownReference(
            "ORDER BY has an aggregate, but FIND has none.",
            hint="Add the aggregate to FIND(…), or order by a plain expression.",
        )
    return binder.finish(arms, outputs, sort, variables)


def bind_targets(
    where: ast.Block,
    targets: Sequence[ast.Variable],
    catalog: DefinedNames,
    values: CommandValues,
    *,
    include_archived: bool = False,
) -> BoundQuery:
    """Bind a WHERE; its solutions are the element numbers of the variables in `targets`."""
    binder = _Binder(catalog, values, hides=not include_archived)
    arms, variables = binder.where(where)
    outputs = tuple(binder.output(ast.Path(target), variables) for target in targets)
    return binder.finish(arms, outputs, (), variables)


def value_kind(value: Any) -> ir.ValueKind:
    """The kind of a JSON value in a comparison."""
    match value:
        case True:
            return "true"
        case False:
            return "false"
        case None:
            return "null"
        case str():
            return "text"
        case int() | float():
            return "number" if value < ir.LARGE else "large"
        case _:
            return "json"


def list_kind(items: Sequence[Any]) -> ir.ValueKind:
    if set(map(type, items)) == {str}:
        return "texts"
    kinds = {value_kind(item) for item in items}
    if kinds == {"text"}:
        return "texts"
    return "numbers" if kinds == {"number"} else "values"


def _check_group_order(sort: tuple[ir.SortKey, ...], outputs: tuple[ir.Output, ...]) -> None:
    """Refuse a sort key that is neither an aggregate nor a group."""
    variables = {
        output.variable for output in outputs if isinstance(output, ir.Field) and not output.path
    }
    for key in sort:
        if isinstance(key.output, ir.Aggregate) or key.output in outputs:
            continue
        if key.output.variable not in variables:
            name = path_text(key.output.variable, key.output.path)
            raise UnknownReference(
                f"ORDER BY {name}: rows are grouped, but not by {name}.",
                hint=f"Add {name} to FIND(…), or order by an aggregate.",
            )


@dataclass(slots=True)
class _Patterns:
    """The atoms and variables of the patterns of one block."""

    atoms: list[ir.Atom] = field(default_factory=list)
    variables: dict[str, None] = field(default_factory=dict)


class _Binder:
    def __init__(self, catalog: DefinedNames, values: CommandValues, *, hides: bool) -> None:
        self.catalog: Final = catalog
        self.hides: Final = hides and catalog.has_hidden()
        self.valid_at: ir.Value | None = None
        self.values: Final = values
        self.roles: set[tuple[str, Role]] = set()
        self.warnings: dict[str, None] = {}
        self.predicate_variables: dict[str, ast.Variable] = {}
        self.element_variables: dict[str, ast.Variable] = {}
        self._converted: dict[tuple[str, Role], ir.Value] = {}
        """Parameters as values of the query, by name and role: large ones are converted once."""
        self.order: dict[str, None] = {}
        self.indexes: dict[ir.PropertyIndex, None] = {}
        self._unnamed = 0

    def finish(
        self,
        arms: tuple[ir.Block, ...],
        outputs: tuple[ir.Output, ...],
        sort: tuple[ir.SortKey, ...],
        variables: Iterable[str],
    ) -> BoundQuery:
        for name in self.predicate_variables.keys() & self.element_variables.keys():
            raise ConstraintViolation(
                f"?{name} is a predicate in one place and an element in another.",
                hint="Use two variables.",
                span=self.predicate_variables[name].span,
            )
        query = ir.Query(
            arms,
            outputs,
            sort,
            predicate_variables=frozenset(self.predicate_variables),
            variables=tuple(variables),
            hides=self.hides,
            valid_at=self.valid_at,
            indexes=tuple(self.indexes),
        )
        return BoundQuery(
            spell_moments(query, self.catalog), frozenset(self.roles), tuple(self.warnings)
        )

    # Blocks.

    def where(self, block: ast.Block) -> tuple[tuple[ir.Block, ...], dict[str, None]]:
        arms = self.block(block, frozenset(), independent=False)
        bound = {name for arm in arms for name in arm.binds}
        return arms, {name: None for name in self.order if name in bound}

    def block(
        self, clauses: ast.Block, sees: frozenset[str], *, independent: bool
    ) -> tuple[ir.Block, ...]:
        """A block's own patterns, if it has any, and then each of its UNIONs."""
        own = [clause for clause in clauses if not isinstance(clause, ast.Union)]
        self._warn_after_union(clauses)
        arms = [self._own(own, sees, independent=independent)] if own else []
        for clause in clauses:
            if isinstance(clause, ast.Union):
                arms += self.block(clause.block, frozenset(), independent=True)
        return tuple(arms)

    def _warn_after_union(self, clauses: ast.Block) -> None:
        seen = False
        for clause in clauses:
            if isinstance(clause, ast.Union):
                seen = True
            elif seen and isinstance(clause, ast.Filter | ast.Not | ast.Optional):
                name = type(clause).__name__.upper()
                self.warnings[_AFTER_UNION.format(clause=f"A {name}")] = None

    def _own(
        self, clauses: Sequence[ast.Clause], sees: frozenset[str], *, independent: bool
    ) -> ir.Block:
        patterns = _Patterns()
        for clause in clauses:
            if isinstance(clause, ast.ConceptClause | ast.LinkClause):
                self._pattern(clause, patterns)
        bound = frozenset(patterns.variables)
        optionals = []
        for clause in clauses:
            if isinstance(clause, ast.Optional):
                allowance.check()
                arms = self.block(clause.block, sees | bound, independent=False)
                optionals.append(ir.Optional(arms))
                bound |= {name for arm in arms for name in arm.binds}
        conditions: list[ir.Condition] = []
        for clause in clauses:
            if isinstance(clause, ast.Filter):
                conditions += _flat(self.condition(clause.condition, sees | bound))
            elif isinstance(clause, ast.Not):
                inner = self.block(clause.block, sees | bound, independent=False)
                conditions.append(ir.Not(ir.Exists(inner)))
        return ir.Block(
            tuple(patterns.atoms), tuple(optionals), tuple(conditions), bound, sees, independent
        )

    # Patterns.

    def _pattern(self, clause: ast.ConceptClause | ast.LinkClause, patterns: _Patterns) -> None:
        if isinstance(clause, ast.ConceptClause):
            name = self._element(clause.variable, patterns)
            self._concept(name, clause.matcher, patterns)
            return
        link = None if clause.variable is None else self._element(clause.variable, patterns)
        self._link(link, clause.pattern, patterns)

    def _element(self, variable: ast.Variable, patterns: _Patterns) -> str:
        self.element_variables.setdefault(variable.name, variable)
        self.order.setdefault(variable.name)
        self._count_variables()
        patterns.variables.setdefault(variable.name)
        return variable.name

    def _count_variables(self) -> None:
        if len(self.order) + self._unnamed > VARIABLES_MAX:
            raise ResourceExhausted(
                f"The command has more than {VARIABLES_MAX:,} variables; a link without one counts"
                " as well.",
                hint="Ask for less at once, in several commands.",
            )

    def _fresh(self) -> str:
        self._unnamed += 1
        self._count_variables()
        return f"#{self._unnamed}"

    def _concept(self, name: str, matcher: ast.ConceptMatcher, patterns: _Patterns) -> None:
        type_number = number = text = None
        if matcher.type is not None:
            type_number = self._type(matcher.type)
        if matcher.name is not None:
            text = self._text(matcher.name, "name of a concept")
        if matcher.id is not None:
            number = self._concept_number(matcher.id)
        is_addressed = number is not None or (type_number is not None and text is not None)
        patterns.atoms.append(
            ir.ConceptAtom(name, type_number, text, number, is_addressed=is_addressed)
        )

    def _link(
        self, link: str | None, pattern: ast.LinkPattern | ast.LinkById, patterns: _Patterns
    ) -> str | None:
        if isinstance(pattern, ast.LinkById):
            link = link or self._fresh()
            patterns.atoms.append(self._link_by_number(link, pattern))
            return link
        subject = self._endpoint(pattern.subject, patterns)
        object_ = self._endpoint(pattern.object, patterns)
        predicate_variable: str | None = None
        predicates: tuple[int, ...] | None = None
        ends = ir.UNKNOWN_ENDS
        match pattern.predicate:
            case ast.PredicateHops(name, minimum, maximum):
                facts = self._facts(name)
                patterns.atoms.append(
                    ir.WalkAtom(
                        subject,
                        object_,
                        facts.number,
                        minimum,
                        maximum,
                        facts.is_symmetric,
                        link,
                        _concept_ends([facts]),  # A walk of no hops joins concepts only.
                    )
                )
                return link
            case ast.Variable() as variable:
                self.predicate_variables.setdefault(variable.name, variable)
                self.order.setdefault(variable.name)
                patterns.variables.setdefault(variable.name)
                mirrored = self.catalog.symmetric_predicates()
                predicate_variable = variable.name
            case ast.PredicateChoice(names):
                predicates, mirrored, ends = self._predicates(names)
            case ast.Literal() | ast.Placeholder() as name:
                predicates, mirrored, ends = self._predicates((name,))
            case _:
                assert_never(pattern.predicate)
        link = link or self._fresh()
        patterns.atoms.append(
            ir.LinkAtom(
                link, subject, object_, predicates, predicate_variable, mirrored, concepts=ends
            )
        )
        return link

    def _predicates(
        self, names: Iterable[ast.Text]
    ) -> tuple[tuple[int, ...], tuple[int, ...], ir.ConceptEnds]:
        facts = [self._facts(name) for name in names]
        return (
            tuple(sorted({fact.number for fact in facts})),
            tuple(sorted({fact.number for fact in facts if fact.is_symmetric})),
            _concept_ends(facts),
        )

    def _endpoint(self, endpoint: ast.Endpoint, patterns: _Patterns) -> str:
        match endpoint:
            case ast.Variable():
                return self._element(endpoint, patterns)
            case ast.ConceptMatcher():
                name = self._fresh()
                self._concept(name, endpoint, patterns)
                return name
            case ast.LinkPattern() | ast.LinkById():
                name = self._fresh()
                self._link(name, endpoint, patterns)
                return name
            case _:
                assert_never(endpoint)

    # Names and values.

    def _type(self, node: ast.Text) -> int:
        name = self._name(node, "type")
        try:
            number = self.catalog.type_number(name)
        except TypeMismatch as error:
            raise located(error, node.span) from None
        self._note_indexes(name, number, link=False)
        return number

    def _facts(self, node: ast.Text) -> PredicateFacts:
        name = self._name(node, "predicate")
        try:
            facts = self.catalog.predicate(name)
        except TypeMismatch as error:
            raise located(error, node.span) from None
        self._note_indexes(name, facts.number, link=True)
        return facts

    def _note_indexes(self, name: str, owner: int, *, link: bool) -> None:
        for column, slot in self.catalog.slots(owner, link=link).items():
            index = ir.PropertyIndex(
                slot.number, owner, link, column, slot.is_unique, title=f"{name}.{column}"
            )
            self.indexes.setdefault(index)

    def _name(self, node: ast.Text, noun: str) -> str:
        if isinstance(node, ast.Placeholder):
            self.roles.add((node.name, "name"))
        return self.values.text(node, f"name of a {noun}")

    def _text(self, node: ast.Text, label: str) -> ir.Value:
        text = self.values.text(node, label)
        if isinstance(node, ast.Placeholder):
            return ir.Parameter(node.name, "text", "text")
        return ir.Constant(text, "text")

    def time(self, node: ast.Text, word: str) -> ir.Value:
        """A time, which becomes a number of microseconds."""
        text = self.values.text(node, f"time after {word}")
        try:
            microseconds = times.from_text(text)
        except InvalidSyntax as error:
            raise located(error, node.span) from None
        if isinstance(node, ast.Placeholder):
            return ir.Parameter(node.name, "number", "microseconds")
        return ir.Constant(microseconds, "number")

    def _concept_number(self, node: ast.Text) -> ir.Value:
        number = _parsed(ids.parse_concept_id, self.values.text(node, "id of a concept"), node)
        if isinstance(node, ast.Placeholder):
            return ir.Parameter(node.name, "number", "concept_number")
        return ir.Constant(number, "number")

    def _link_by_number(self, link: str, pattern: ast.LinkById) -> ir.LinkByNumber:
        text = self.values.text(pattern.id, "id of a proposition")
        number = _parsed(ids.parse_link_id, text, pattern.id)
        predicate = text.split(":", 2)[2]
        if isinstance(pattern.id, ast.Placeholder):
            return ir.LinkByNumber(
                link,
                ir.Parameter(pattern.id.name, "number", "link_number"),
                ir.Parameter(pattern.id.name, "text", "link_predicate"),
            )
        return ir.LinkByNumber(link, ir.Constant(number, "number"), ir.Constant(predicate, "text"))

    def _value(self, node: ast.Value) -> ir.Value:
        if not isinstance(node, ast.Placeholder):
            return self._constant(node)
        if (node.name, "kind") not in self._converted:
            self._converted[node.name, "kind"] = self._constant(node)
        return self._converted[node.name, "kind"]

    def _constant(self, node: ast.Value) -> ir.Value:
        value = self.values.value(node)
        kind = value_kind(value)
        if isinstance(node, ast.Placeholder):
            self.roles.add((node.name, "kind"))
            if kind in ("number", "text"):
                return ir.Parameter(node.name, kind)
            if kind == "large":
                return ir.Parameter(node.name, kind, "json")
        else:
            self._roles_inside(node)
        return ir.Constant(ir.canonical(value) if kind in ("json", "large") else value, kind)

    def _roles_inside(self, node: ast.Value) -> None:
        """Roles of the placeholders inside a list or an object: their values shape the plan."""
        match node:
            case ast.Placeholder(name):
                self.roles.add((name, "name"))
            case ast.ArrayTemplate(items):
                for item in items:
                    self._roles_inside(item)
            case ast.ObjectTemplate(entries):
                for _, item in entries:
                    self._roles_inside(item)
            case _:
                pass

    def _list(self, node: ast.Value) -> ir.Value:
        if not isinstance(node, ast.Placeholder):
            return self._constant_list(node)
        if (node.name, "list") not in self._converted:
            self._converted[node.name, "list"] = self._constant_list(node)
        return self._converted[node.name, "list"]

    def _constant_list(self, node: ast.Value) -> ir.Value:
        items = self.values.value(node)
        if not isinstance(items, list):
            raise InvalidValueType(
                "IN(…) needs a list as its second argument.",
                hint='Write IN(?x.name, ["a", "b"]).',
                span=node.span,
            )
        kind = list_kind(items)
        if isinstance(node, ast.Placeholder):
            self.roles.add((node.name, "list"))
            if kind != "values":
                return ir.Parameter(node.name, kind, "json")
        else:
            self._roles_inside(node)
        return ir.Constant(ir.canonical(items), kind)

    # Expressions.

    def output(self, expression: ast.Expression, variables: Iterable[str]) -> ir.Output:
        if isinstance(expression, ast.Path):
            return self.path(expression, variables)
        argument = self.path(expression.argument, variables)
        if expression.function != "COUNT" and not argument.path and not self._is_name(argument):
            raise ConstraintViolation(
                f"{expression.function} needs values, but ?{argument.variable} is an element.",
                hint=f"Use a path such as ?{argument.variable}.attributes.score, or COUNT.",
                span=expression.span,
            )
        return ir.Aggregate(expression.function, argument, expression.distinct)

    def _is_name(self, place: ir.Field) -> bool:
        return place.variable in self.predicate_variables

    def path(self, path: ast.Path, variables: Iterable[str]) -> ir.Field:
        name = path.variable.name
        if name not in variables:
            _refuse_unbound(path.variable, list(variables))
        if path.fields:
            if name in self.predicate_variables:
                raise UnknownReference(
                    f"?{name} is the name of a predicate and has no fields.",
                    hint=f"Use ?{name} alone.",
                    span=path.span,
                )
            _check_fields(path)
        return ir.Field(name, path.fields)

    def condition(self, node: ast.Condition, visible: frozenset[str]) -> ir.Condition:
        allowance.check()
        match node:
            case ast.Comparison(operator, left, right):
                return ir.Compare(
                    operator, self._operand(left, visible), self._operand(right, visible)
                )
            case ast.Membership(operand, values):
                return ir.In(self._operand(operand, visible), self._list(values))
            case ast.NullTest(operand, negated):
                test = ir.IsNull(self._operand(operand, visible))
                return ir.Not(test) if negated else test
            case ast.TextTest(function, operand, argument):
                part = self._operand(argument, visible)
                if function == "REGEX":
                    part = _checked_regex(part, argument)
                return ir.TextCondition(function, self._operand(operand, visible), part)
            case ast.Negation(inner):
                return ir.Not(self.condition(inner, visible))
            case ast.Conjunction(conditions):
                return ir.And(tuple(self.condition(condition, visible) for condition in conditions))
            case ast.Disjunction(conditions):
                return ir.Or(tuple(self.condition(condition, visible) for condition in conditions))
            case _:
                assert_never(node)

    def _operand(self, node: ast.Operand, visible: frozenset[str]) -> ir.Operand:
        if isinstance(node, ast.Path):
            return self.path(node, visible)
        return self._value(node)


def _checked_regex(operand: ir.Operand, node: ast.Operand) -> ir.Operand:
    """Refuse a regular expression that cannot be compiled, even if no row needs it."""
    if isinstance(operand, ir.Parameter) and operand.kind == "text":
        return replace(operand, conversion="pattern")
    if isinstance(operand, ir.Constant) and operand.kind == "text":
        try:
            matcher(operand.value)
        except (InvalidSyntax, ResourceExhausted) as error:
            raise located(error, node.span) from None
    return operand


def _concept_ends(facts: Sequence[PredicateFacts]) -> ir.ConceptEnds:
    """The ends that are certainly concepts, whichever of these predicates the link has."""
    from_links = any(fact.leads_from_links for fact in facts)
    to_links = any(fact.leads_to_links for fact in facts)
    if any(fact.is_symmetric for fact in facts):
        from_links = to_links = from_links or to_links
    return ir.ConceptEnds(subject=not from_links, object=not to_links)


def _parsed(parse: Callable[[str], int], text: str, node: ast.Text) -> int:
    try:
        return parse(text)
    except InvalidId as error:
        raise located(error, node.span) from None


def _flat(condition: ir.Condition) -> tuple[ir.Condition, ...]:
    """The conditions of a conjunction one by one, so that each is tested as early as possible."""
    if isinstance(condition, ir.And):
        return tuple(flat for part in condition.conditions for flat in _flat(part))
    return (condition,)


def _check_fields(path: ast.Path) -> None:
    first, *rest = path.fields
    name = path.variable.name
    if first not in ELEMENT_FIELDS:
        likely_path = KNOWN_FIELDS.get(first.lower().replace("_", ""))
        close = did_you_mean(first, list(ELEMENT_FIELDS))
        hint = (
            f"{close} Concepts have id, type and name; links have id, subject, predicate, object,"
            f" weight and belief; both have attributes and metadata. Perhaps"
            f" {path_text(name, likely_path or ('attributes', first))}?"
        )
        raise UnknownReference(
            f"{path_text(name, (first,))}: elements have no field {first!r}.",
            hint=hint.strip(),
            span=path.span,
        )
    if rest and first not in _OPEN_FIELDS:
        raise UnknownReference(
            f"{path_text(name, path.fields)}: {first!r} has no fields.",
            hint=f"Use ?{name}.{first}; to go on along a link, bind its end to a variable.",
            span=path.span,
        )


def _refuse_unbound(variable: ast.Variable, bound: list[str]) -> NoReturn:
    close = did_you_mean(variable.name, bound)
    listing = ", ".join(f"?{name}" for name in sorted(bound)) or "none"
    raise UnknownReference(
        f"?{variable.name} is bound by no pattern in this scope.",
        hint=f"{close} Variables bound here: {listing}. Add a pattern such as"
        f' ?{variable.name} {{type: "…"}}.'.strip(),
        span=variable.span,
    )
