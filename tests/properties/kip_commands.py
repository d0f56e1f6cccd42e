"""Strategies for KIP: small graphs, and commands that find something in them.

Everything is drawn from a few types, predicates, names, keys and values, so that commands match
existing elements, clauses share variables, and comparisons have values of different kinds.

A block is drawn with its scope: patterns first, then OPTIONAL, NOT and FILTER over visible
variables. So commands are answered, and not refused. `faulty_finds` draws commands to refuse, each
with exactly one fault, so that only one error is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hypothesis import strategies as st

from mycel import kip
from mycel.kip import ast

TYPES = ("Plant", "Garden", "Keeper")
GROWS_IN = "grows_in"
NEAR = "near"
LIKES = "likes"
SAYS = "says"
PREDICATES = (GROWS_IN, NEAR, LIKES, SAYS)
NAMES = ("Ash", "Birch", "Cedar", "Dill")
KEYS = ("size", "tag", "mix", "tree", 'in "cm"')
METADATA_KEYS = ("source", "trust")

SCALARS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    2,
    -3,
    1.0,
    1.5,
    0.25,
    2**63 - 1,
    2**63,
    2**64 - 1,
    "",
    "a",
    "ab",
    "Ash",
    "b",
    "1",
    "é",
)
PARTS = ("", "a", "b", "A", "s", "is", "é")
EXPRESSIONS = ("a", "^a", "b$", "a|1", "[A-Z]s", ".", "^$", "a*b?", "(a)(b)", r"\d")

VOCABULARY = """
UPSERT {
  CONCEPT { {type: "$ConceptType", name: "Plant"} SET ATTRIBUTES { description: "What grows." } }
  CONCEPT { {type: "$ConceptType", name: "Garden"} SET ATTRIBUTES { description: "Where." } }
  CONCEPT {
    {type: "$ConceptType", name: "Keeper"}
    SET ATTRIBUTES {
      description: "Who cares.",
      instance_schema: {
        size: {type: "number"},
        tag: {type: "string", is_required: true},
        mix: {type: "array", item_type: "string"},
      },
    }
  }
  CONCEPT {
    {type: "$PropositionType", name: "grows_in"}
    SET ATTRIBUTES {
      description: "A plant grows in a garden.",
      subject_types: ["Plant"],
      object_types: ["Garden"],
    }
  }
  CONCEPT {
    {type: "$PropositionType", name: "near"}
    SET ATTRIBUTES {
      description: "Two things are close to each other.",
      subject_types: ["*"],
      object_types: ["*"],
      is_symmetric: true,
    }
  }
  CONCEPT {
    {type: "$PropositionType", name: "likes"}
    SET ATTRIBUTES {
      description: "One thing likes another.",
      subject_types: ["*"],
      object_types: ["*"],
      is_transitive: true,
    }
  }
  CONCEPT {
    {type: "$PropositionType", name: "says"}
    SET ATTRIBUTES {
      description: "Somebody says something.",
      subject_types: ["*"],
      object_types: ["*"],
    }
  }
}
"""
"""The types and predicates of all graphs here: one predicate is symmetric, one choosy, and one type
has a schema."""

CORE = """
UPSERT {
  CONCEPT ?ash { {type: "Plant", name: "Ash"} SET ATTRIBUTES { size: 2, tag: "ab" } }
  CONCEPT ?birch {
    {type: "Plant", name: "Birch"}
    SET ATTRIBUTES { size: 1.5, tag: null, mix: ["a", 1], tree: {leaf: 1, root: "b"} }
  }
  CONCEPT ?cedar { {type: "Garden", name: "Cedar"} SET ATTRIBUTES { size: "1", tag: true } }
  CONCEPT ?dill { {type: "Keeper", name: "Dill"} SET ATTRIBUTES { tag: "a" } }
  PROPOSITION ?home { (?ash, "grows_in", ?cedar) SET ATTRIBUTES { size: 1, tag: "a" } }
  PROPOSITION ?close { (?birch, "near", ?ash) } WITH METADATA { trust: 0.25 }
  PROPOSITION { (?birch, "likes", ?cedar) }
  PROPOSITION { (?cedar, "likes", ?dill) SET ATTRIBUTES { mix: [], tree: {leaf: "ab"} } }
  PROPOSITION { (?dill, "likes", ?birch) }
  PROPOSITION ?claim { (?dill, "says", ?home) SET ATTRIBUTES { size: -3 } }
  PROPOSITION { (?ash, "says", ?close) }
  PROPOSITION { (?claim, "near", ?dill) }
}
WITH METADATA { source: "Ash", trust: 1 }
"""
"""What every graph here has: a cycle, a symmetric link, links about links, values of all kinds."""


@dataclass(frozen=True)
class Command:
    """A command with its parameters. It shows itself as text."""

    tree: ast.Command
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return kip.format(self.tree)

    @property
    def request(self) -> dict[str, Any]:
        return {"command": self.text, "parameters": dict(self.parameters)}

    def __repr__(self) -> str:
        return f"{self.text}\n  with {dict(self.parameters)}"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(repr(self))


# Values.


@cache
def scalars() -> st.SearchStrategy[Any]:
    return st.sampled_from(SCALARS)


@cache
def values() -> st.SearchStrategy[Any]:
    """A value of any kind; half of them are scalars."""
    return st.one_of(
        scalars(),
        scalars(),
        st.lists(scalars(), max_size=3),
        st.dictionaries(st.sampled_from(("leaf", "root")), scalars(), max_size=2),
    )


@cache
def attributes() -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(KEYS), values(), max_size=3).map(_with_a_tree)


def _with_a_tree(drawn: dict[str, Any]) -> dict[str, Any]:
    """`tree` is an object more often than chance has it, so that deep paths lead somewhere."""
    if isinstance(drawn.get("tree"), int | str):
        return drawn | {"tree": {"leaf": drawn["tree"]}}
    return drawn


@cache
def metadata() -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(METADATA_KEYS), scalars(), max_size=2)


MOMENTS = ("1850-01-01", "1960-01-01T00:00:00Z", "2100-01-01", "2300-01-01T00:00:00+02:00")
"""Times between and around those of `lifetimes`, none of them near the clock of an engine."""


@cache
def lifetimes() -> st.SearchStrategy[dict[str, Any]]:
    """Metadata about the time for which an element holds; mostly none."""
    times = st.sampled_from(("1900-01-01", "1950-02-03", "2200-06-01T12:00:00Z", "soon", None))
    some = st.fixed_dictionaries(
        {},
        optional={
            "archived_at": st.sampled_from(("2000-01-01", "once", None)),
            "pinned": st.sampled_from((True, False, False, "yes")),
            "hold": st.sampled_from(("", "audit", False, False, None)),
            "valid_from": times,
            "valid_until": times,
            "expires_at": times,
            "former_periods": st.lists(
                st.fixed_dictionaries({}, optional={"valid_from": times, "valid_until": times}),
                max_size=2,
            ),
        },
    )
    return st.one_of(st.just({}), st.just({}), some)


# Graphs.


def literal(value: Any) -> ast.Literal:
    return ast.Literal(value)


def matcher(type_name: str, name: str) -> ast.ConceptMatcher:
    return ast.ConceptMatcher(type=literal(type_name), name=literal(name))


@cache
def identities() -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(st.sampled_from(TYPES), st.sampled_from(NAMES))


KNOWN = (("Plant", "Ash"), ("Plant", "Birch"), ("Garden", "Cedar"), ("Keeper", "Dill"))
"""The concepts of `CORE`."""


@cache
def likely_identities() -> st.SearchStrategy[tuple[str, str]]:
    """Mostly of concepts that are there."""
    return st.one_of(st.sampled_from(KNOWN), st.sampled_from(KNOWN), identities())


@cache
def keeper_attributes() -> st.SearchStrategy[dict[str, Any]]:
    """Attributes that the schema of Keeper has nothing against."""
    return st.fixed_dictionaries(
        {},
        optional={
            "size": st.sampled_from((1, 2, 1.5, None)),
            "tag": st.sampled_from(("a", "ab", "Ash")),
            "mix": st.lists(st.sampled_from(("a", "b")), max_size=2),
        },
    )


@st.composite
def graphs(draw: st.DrawFn) -> Command:
    """A capsule that makes a few concepts, links among them, and links about those links."""
    drawn = draw(st.lists(identities(), min_size=1, max_size=6, unique=True))
    blocks: list[ast.ConceptBlock | ast.PropositionBlock] = []
    ends: list[tuple[ast.Variable, str]] = []
    for at, (type_name, name) in enumerate(drawn):
        handle = ast.Variable(f"c{at}")
        own = draw(keeper_attributes() if type_name == "Keeper" else attributes())
        about = draw(metadata()) | draw(lifetimes())
        blocks.append(
            ast.ConceptBlock(
                handle,
                matcher(type_name, name),
                attributes=literal(own) if own else None,
                metadata=literal(about) if about else None,
            )
        )
        ends.append((handle, type_name))
    made: set[tuple[str, str, str]] = set()
    for at in range(draw(st.integers(0, 9))):
        predicate = draw(st.sampled_from(PREDICATES))
        (subject, subject_type), (object_, object_type) = (
            draw(st.sampled_from(ends)),
            draw(st.sampled_from(ends)),
        )
        place = (subject.name, predicate, object_.name)
        if subject == object_ or place in made:
            continue
        if predicate == GROWS_IN and (subject_type, object_type) != ("Plant", "Garden"):
            continue
        made.add(place)
        handle = ast.Variable(f"p{at}")
        own, about = draw(attributes()), draw(metadata()) | draw(lifetimes())
        blocks.append(
            ast.PropositionBlock(
                handle,
                ast.LinkPattern(subject, literal(predicate), object_),
                attributes=literal(own) if own else None,
                metadata=literal(about) if about else None,
                weight=draw(st.sampled_from([None, None, literal(0), literal(0.25)])),
            )
        )
        ends.append((handle, ""))
    return Command(ast.Capsule((ast.Upsert(tuple(blocks)),)))


# Patterns.

ELEMENTS = ("a", "b", "c")
LINKS = ("l", "m")
PREDICATE_VARIABLE = "p"


class _Scope:
    """The parameters and the visible variables that were drawn so far."""

    def __init__(
        self, draw: st.DrawFn, visible: set[str] | None = None, outer: _Scope | None = None
    ) -> None:
        self.draw = draw
        self.visible = set(visible or ())
        self.parameters: dict[str, Any] = {} if outer is None else outer.parameters

    def inner(self, visible: set[str]) -> _Scope:
        return _Scope(self.draw, visible, self)

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def value(self, value: Any) -> ast.Literal | ast.Placeholder:
        """A value as it stands, or behind a placeholder."""
        if not self.chance(15):
            return ast.Literal(value)
        name = f"v{len(self.parameters)}"
        self.parameters[name] = value
        return ast.Placeholder(name)


def _concept_matcher(scope: _Scope) -> ast.ConceptMatcher:
    type_name, name = scope.draw(identities())
    match scope.one_of("type", "type", "type", "name", "both"):
        case "type":
            return ast.ConceptMatcher(type=scope.value(type_name))
        case "name":
            return ast.ConceptMatcher(name=scope.value(name))
        case _:
            return ast.ConceptMatcher(type=scope.value(type_name), name=scope.value(name))


def _predicate(scope: _Scope, *, plain: bool) -> ast.Predicate:
    name = scope.value(scope.one_of(*PREDICATES))
    match scope.one_of("name", "name", "choice", "choice", "hops", "hops", "variable"):
        case "choice" if not plain:
            others = scope.draw(st.lists(st.sampled_from(PREDICATES), min_size=2, max_size=3))
            return ast.PredicateChoice(tuple(literal(other) for other in others))
        case "hops" if not plain:
            minimum = scope.draw(st.integers(0, 3))
            maximum = scope.one_of(None, minimum, minimum + 1, minimum + 2, minimum + 9)
            return ast.PredicateHops(name, minimum, maximum)
        case "variable" if not plain:
            return ast.Variable(PREDICATE_VARIABLE)
        case _:
            return name


def _endpoint(scope: _Scope, depth: int) -> ast.Endpoint:
    kind = scope.draw(st.integers(0, 9))
    if kind < 7:
        return ast.Variable(scope.one_of(*ELEMENTS, *ELEMENTS, *LINKS))
    if kind < 9 or not depth:
        return _concept_matcher(scope)
    return _link_pattern(scope, depth - 1, plain=True)


def _link_pattern(scope: _Scope, depth: int, *, plain: bool = False) -> ast.LinkPattern:
    return ast.LinkPattern(
        _endpoint(scope, depth), _predicate(scope, plain=plain), _endpoint(scope, depth)
    )


def _variables(clause: ast.Clause) -> set[str]:
    """The variables of a pattern clause."""
    found: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, ast.Variable):
            found.add(node.name)
        elif isinstance(node, ast.LinkPattern):
            for part in (node.subject, node.predicate, node.object):
                visit(part)

    if isinstance(clause, ast.ConceptClause):
        return {clause.variable.name}
    if isinstance(clause, ast.LinkClause):
        visit(clause.variable)
        visit(clause.pattern)
    return found


def _pattern_clause(scope: _Scope, bound: set[str]) -> ast.ConceptClause | ast.LinkClause:
    """A clause that shares an element with what is bound, if anything is.

    Clauses that share nothing multiply, and a few of those would keep any evaluator busy.
    """
    anchors = sorted(bound - {PREDICATE_VARIABLE}) or ELEMENTS
    if scope.chance(35):
        return ast.ConceptClause(ast.Variable(scope.one_of(*anchors)), _concept_matcher(scope))
    variable = ast.Variable(scope.one_of(*LINKS)) if scope.chance(40) else None
    pattern = _link_pattern(scope, 2)
    if not _variables(ast.LinkClause(variable, pattern)) & set(anchors):
        anchor = ast.Variable(scope.one_of(*anchors))
        if scope.chance(50):
            pattern = ast.LinkPattern(anchor, pattern.predicate, pattern.object)
        else:
            pattern = ast.LinkPattern(pattern.subject, pattern.predicate, anchor)
    return ast.LinkClause(variable, pattern)


# Conditions.

DEEP = ("attributes", "tree", "leaf")


def _path(scope: _Scope, *, sortable: bool = False) -> ast.Path:
    """A path on a visible variable. Ids differ between engines, so they are no sort keys."""
    name = scope.one_of(*sorted(scope.visible))
    if name == PREDICATE_VARIABLE:
        return ast.Path(ast.Variable(name))
    fields: list[tuple[str, ...]] = [
        ("name",),
        ("type",),
        ("predicate",),
        *(("attributes", key) for key in KEYS),
        *(("attributes", key) for key in KEYS),
        DEEP,
        DEEP,
        (*DEEP, "more"),
        ("attributes",),
        *(("metadata", key) for key in METADATA_KEYS),
        ("weight",),
        ("belief",),
        ("metadata", "_created_by"),
        ("metadata", "_updated_by"),
    ]
    if not sortable:
        fields += [("id",), ("subject",), ("object",)]
    return ast.Path(ast.Variable(name), scope.one_of(*fields))


def _operand(scope: _Scope, value: Any) -> ast.Operand:
    return _path(scope) if scope.chance(25) else scope.value(value)


def _condition(scope: _Scope, depth: int = 1) -> ast.Condition:
    kind = scope.one_of(
        *("compare", "compare", "compare", "whole", "in", "null", "text", "text"),
        *(("not", "and", "or") if depth else ()),
    )
    match kind:
        case "compare":
            operator = scope.one_of("==", "!=", "<", ">", "<=", ">=")
            ordered = operator not in ("==", "!=")
            left: ast.Operand = _path(scope, sortable=ordered)
            right = (
                _path(scope, sortable=ordered)
                if scope.chance(30)
                else scope.value(scope.draw(values()))
            )
            return ast.Comparison(operator, *((left, right) if scope.chance(80) else (right, left)))
        case "whole":
            names = [ast.Path(ast.Variable(scope.one_of(*sorted(scope.visible)))) for _ in "lr"]
            return ast.Comparison(scope.one_of("==", "!="), names[0], names[1])
        case "in":
            listed = scope.draw(st.lists(scalars(), max_size=3))
            return ast.Membership(_path(scope), scope.value(listed))
        case "null":
            path = _path(scope)
            whole = ast.Path(path.variable)
            return ast.NullTest(whole if scope.chance(40) else path, scope.chance(50))
        case "text":
            function = scope.one_of("CONTAINS", "STARTS_WITH", "ENDS_WITH", "REGEX")
            if function == "REGEX":
                argument: ast.Operand = scope.value(scope.one_of(*EXPRESSIONS))
            else:
                argument = _operand(scope, scope.one_of(*PARTS, 1, None))
            return ast.TextTest(function, _path(scope, sortable=True), argument)
        case "not":
            return ast.Negation(_condition(scope, depth - 1))
        case _:
            drawn = (_condition(scope, 0), _condition(scope, 0))
            return ast.Conjunction(drawn) if kind == "and" else ast.Disjunction(drawn)


# Blocks.


def _block(scope: _Scope, depth: int) -> tuple[ast.Block, set[str]]:
    """A block that sees `scope.visible`, and the variables that are visible after it."""
    outside = set(scope.visible)
    patterns: list[ast.Clause] = []
    bound = set(outside)
    for _ in range(scope.one_of(1, 1, 1, 2, 2, 3)):
        clause = _pattern_clause(scope, bound)
        patterns.append(clause)
        bound |= _variables(clause)
    own = bound - outside
    optionals: list[ast.Clause] = []
    for _ in range(scope.one_of(0, 0, 1, 2) if depth else 0):
        inner, more = _block(scope.inner(bound), depth - 1)
        optionals.append(ast.Optional(inner))
        bound |= more
        own |= more
    scope.visible = bound
    others: list[ast.Clause] = []
    for _ in range(scope.one_of(0, 0, 1) if depth else 0):
        inner, _ = _block(scope.inner(bound), depth - 1)
        others.append(ast.Not(inner))
    others += [ast.Filter(_condition(scope)) for _ in range(scope.one_of(0, 0, 0, 1))]
    for _ in range(scope.one_of(0, 0, 0, 1) if depth else 0):
        inner, more = _block(scope.inner(set()), depth - 1)
        others.append(ast.Union(inner))
        own |= more
    return _shuffled(scope, [*patterns, *others], optionals), own


def _shuffled(scope: _Scope, clauses: list[ast.Clause], optionals: list[ast.Clause]) -> ast.Block:
    """All clauses in any order, except that the order of OPTIONALs says something."""
    mixed = scope.draw(st.permutations(clauses))
    for optional in reversed(optionals):
        first = next((i for i, each in enumerate(mixed) if each in optionals), len(mixed))
        mixed.insert(scope.draw(st.integers(0, first)), optional)
    return tuple(mixed)


# FIND.


def _expression(scope: _Scope) -> ast.Path:
    if scope.chance(35):
        return ast.Path(ast.Variable(scope.one_of(*sorted(scope.visible))))
    return _path(scope)


def _aggregate(scope: _Scope) -> ast.Aggregate:
    function = scope.one_of("COUNT", "COUNT", "SUM", "AVG", "MIN", "MAX")
    argument = _expression(scope) if function == "COUNT" else _path(scope, sortable=True)
    return ast.Aggregate(function, argument, scope.chance(40))


def _order_by(scope: _Scope, expressions: list[ast.Expression]) -> tuple[ast.OrderKey, ...]:
    is_aggregated = any(isinstance(each, ast.Aggregate) for each in expressions)
    keys = []
    for _ in range(scope.one_of(0, 0, 1, 1, 2)):
        if is_aggregated:
            candidates = [each for each in expressions if _is_sortable(each)]
            key: ast.Expression = scope.one_of(*candidates, _aggregate(scope))
        else:
            key = _path(scope, sortable=True)
        if not _is_whole_object(key):
            keys.append(ast.OrderKey(key, scope.chance(50)))
    return tuple(keys)


def _is_sortable(expression: ast.Expression) -> bool:
    path = expression.argument if isinstance(expression, ast.Aggregate) else expression
    return path.fields[:1] not in (("id",), ("subject",), ("object",))


def _is_whole_object(expression: ast.Expression) -> bool:
    """True if the value may be a whole element, whose order differs between engines."""
    return (
        isinstance(expression, ast.Path)
        and expression.fields == ()
        and (expression.variable.name != PREDICATE_VARIABLE)
    )


@st.composite
def finds(draw: st.DrawFn, *, depth: int = 2) -> Command:
    """A FIND that is answered, with every clause there is."""
    scope = _Scope(draw)
    where, bound = _block(scope, depth)
    scope.visible = bound
    expressions: list[ast.Expression] = [_expression(scope) for _ in range(scope.one_of(1, 1, 2))]
    if scope.chance(30):
        expressions += [_aggregate(scope) for _ in range(scope.one_of(1, 1, 2))]
        expressions = list(draw(st.permutations(expressions)))
        if scope.chance(30):
            expressions = [each for each in expressions if isinstance(each, ast.Aggregate)]
    find = ast.Find(
        tuple(expressions),
        where,
        order_by=_order_by(scope, expressions),
        limit=scope.value(draw(st.integers(1, 6))) if scope.chance(25) else None,
        for_time=scope.value(draw(st.sampled_from(MOMENTS))) if scope.chance(15) else None,
        include_archived=scope.chance(20),
    )
    return Command(find, scope.parameters)


FAULTS = (
    "unknown type",
    "unknown predicate",
    "unbound variable",
    "unbound in FILTER",
    "bound in NOT alone",
    "unknown field",
    "field of a text",
    "bad id",
    "missing parameter",
    "bad expression",
    "two kinds",
    "sum of elements",
)


@st.composite
def faulty_finds(draw: st.DrawFn) -> Command:
    """A FIND with exactly one fault in it."""
    scope = _Scope(draw)
    where, bound = _block(scope, 1)
    variable = ast.Variable(scope.one_of(*sorted(bound - {PREDICATE_VARIABLE})))
    expression: ast.Expression = ast.Path(variable)
    stranger = ast.Variable("stranger")
    extra: ast.Clause | None = None
    match draw(st.sampled_from(FAULTS)):
        case "unknown type":
            extra = ast.ConceptClause(stranger, ast.ConceptMatcher(type=literal("plant")))
        case "unknown predicate":
            extra = ast.LinkClause(None, ast.LinkPattern(stranger, literal("grows"), stranger))
        case "unbound variable":
            expression = ast.Path(stranger)
        case "unbound in FILTER":
            extra = ast.Filter(ast.NullTest(ast.Path(stranger)))
        case "bound in NOT alone":
            extra = ast.Not((ast.ConceptClause(stranger, matcher("Plant", "Ash")),))
            expression = ast.Path(stranger)
        case "unknown field":
            expression = ast.Path(variable, ("colour",))
        case "field of a text":
            expression = ast.Path(variable, ("name", "first"))
        case "bad id":
            extra = ast.ConceptClause(stranger, ast.ConceptMatcher(id=literal("C:one")))
        case "missing parameter":
            extra = ast.ConceptClause(stranger, ast.ConceptMatcher(name=ast.Placeholder("absent")))
        case "bad expression":
            path = ast.Path(variable, scope.one_of((), ("name",), ("attributes", "tag")))
            extra = ast.Filter(ast.TextTest("REGEX", path, literal("(a")))
            if variable.name not in scope.visible:
                extra = ast.Not((ast.ConceptClause(variable, matcher("Plant", "Ash")), extra))
        case "two kinds":
            extra = ast.LinkClause(None, ast.LinkPattern(stranger, stranger, variable))
        case _:
            extra = ast.ConceptClause(stranger, matcher("Plant", "Ash"))
            expression = ast.Aggregate("SUM", ast.Path(stranger))
    if extra is not None:
        if draw(st.booleans()) and isinstance(extra, ast.ConceptClause | ast.LinkClause):
            extra = ast.Optional((extra,))
        where = (*where, extra)
    return Command(ast.Find((expression,), where), scope.parameters)


# KML.


def _attribute_map(scope: _Scope, type_name: str = "") -> ast.Literal | None:
    strategy = keeper_attributes() if type_name == "Keeper" and scope.chance(80) else attributes()
    drawn = scope.draw(strategy)
    return literal(drawn) if drawn else None


def _metadata_map(scope: _Scope) -> ast.Literal | None:
    drawn = scope.draw(metadata()) if scope.chance(40) else {}
    return literal(drawn) if drawn else None


def _expected_version(scope: _Scope) -> ast.Number | None:
    return scope.value(scope.one_of(0, 1, 1, 2)) if scope.chance(10) else None


def _target(scope: _Scope, handles: list[str], depth: int = 1) -> ast.Endpoint:
    """An end of a written link, mostly an existing element."""
    kind = scope.draw(st.integers(0, 9))
    if handles and kind < 5:
        return ast.Variable(scope.one_of(*handles))
    if kind < 9 or not depth:
        return matcher(*(scope.one_of(*KNOWN) if scope.chance(90) else scope.draw(identities())))
    nested = scope.one_of(
        (matcher("Plant", "Ash"), GROWS_IN, matcher("Garden", "Cedar")),
        (matcher("Plant", "Ash"), NEAR, matcher("Plant", "Birch")),
        (_target(scope, handles, 0), LIKES, _target(scope, handles, 0)),
    )
    return ast.LinkPattern(nested[0], literal(nested[1]), nested[2])


def _written_predicate(scope: _Scope) -> str:
    """Seldom the choosy one, which most ends are refused by."""
    return str(scope.one_of(*PREDICATES) if scope.chance(30) else scope.one_of(NEAR, LIKES, SAYS))


def _concept_block(scope: _Scope, handle: str | None, handles: list[str]) -> ast.ConceptBlock:
    type_name, name = scope.draw(identities())
    entries = [
        ast.SetProposition(
            scope.value(_written_predicate(scope)),
            _target(scope, handles),
            _metadata_map(scope),
            _weight(scope),
        )
        for _ in range(scope.one_of(0, 0, 1, 2))
    ]
    return ast.ConceptBlock(
        None if handle is None else ast.Variable(handle),
        matcher(type_name, name),
        expect_version=_expected_version(scope),
        attributes=_attribute_map(scope, type_name),
        propositions=tuple(entries) or None,
        metadata=_metadata_map(scope),
    )


def _proposition_block(
    scope: _Scope, handle: str | None, handles: list[str]
) -> ast.PropositionBlock:
    return ast.PropositionBlock(
        None if handle is None else ast.Variable(handle),
        ast.LinkPattern(
            _target(scope, handles), literal(_written_predicate(scope)), _target(scope, handles)
        ),
        expect_version=_expected_version(scope),
        attributes=_attribute_map(scope),
        metadata=_metadata_map(scope),
        weight=_weight(scope),
    )


def _weight(scope: _Scope) -> ast.Literal | ast.Placeholder | None:
    return scope.value(scope.one_of(0, 0.5, 1, 2)) if scope.chance(15) else None


def _upsert(scope: _Scope) -> ast.Upsert:
    handles: list[str] = []
    blocks: list[ast.ConceptBlock | ast.PropositionBlock] = []
    for at in range(scope.one_of(1, 1, 2, 3)):
        handle = f"h{at}" if scope.chance(60) else None
        make = _concept_block if scope.chance(60) else _proposition_block
        blocks.append(make(scope, handle, handles))
        handles += [] if handle is None else [handle]
    return ast.Upsert(tuple(blocks), _metadata_map(scope))


@st.composite
def upserts(draw: st.DrawFn) -> Command:
    """An UPSERT, or two; some fail, because of a schema, a version or something missing."""
    scope = _Scope(draw)
    statements = tuple(_upsert(scope) for _ in range(scope.one_of(1, 1, 1, 2)))
    return Command(ast.Capsule(statements), scope.parameters)


def _own_block(scope: _Scope, target: str, *, links: bool) -> ast.Block:
    """A WHERE that binds the target to elements of these graphs, and not to those of genesis."""
    variable = ast.Variable(target)
    scope.visible = {target}
    if links:
        ends = (ast.Variable("s"), ast.Variable("o"))
        names = scope.one_of((GROWS_IN, LIKES), (NEAR, SAYS), PREDICATES)
        choice = ast.PredicateChoice(tuple(literal(name) for name in names))
        clauses: list[ast.Clause] = [
            ast.LinkClause(variable, ast.LinkPattern(ends[0], choice, ends[1]))
        ]
    else:
        type_name, name = scope.draw(likely_identities())
        named = None if scope.chance(30) else scope.value(name)
        described = ast.ConceptMatcher(type=scope.value(type_name), name=named)
        clauses = [ast.ConceptClause(variable, described)]
    if scope.chance(40):
        other = ast.Variable("other")
        pattern = ast.LinkPattern(variable, _predicate(scope, plain=False), other)
        found = ast.LinkClause(None, pattern)
        clauses.append(scope.one_of(found, ast.Not((found,)), ast.Optional((found,))))
    if scope.chance(40):
        clauses.append(ast.Filter(_condition(scope)))
    return tuple(clauses)


@st.composite
def deletes(draw: st.DrawFn) -> Command:
    """A DELETE of each kind."""
    scope = _Scope(draw)
    target = ast.Variable("t")
    tree: ast.Command
    match scope.one_of("attributes", "metadata", "propositions", "concept"):
        case "attributes":
            keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3))
            where = _own_block(scope, "t", links=scope.chance(50))
            tree = ast.DeleteKeys("ATTRIBUTES", tuple(map(literal, keys)), target, where)
        case "metadata":
            keys = draw(st.lists(st.sampled_from(METADATA_KEYS), min_size=1, max_size=2))
            where = _own_block(scope, "t", links=scope.chance(50))
            tree = ast.DeleteKeys("METADATA", tuple(map(literal, keys)), target, where)
        case "propositions":
            tree = ast.DeletePropositions(target, _own_block(scope, "t", links=scope.chance(90)))
        case _:
            tree = ast.DeleteConcept(target, _own_block(scope, "t", links=scope.chance(10)))
    return Command(tree, scope.parameters)


def _number(scope: _Scope, depth: int = 1) -> ast.Arithmetic | ast.Path | ast.Number:
    match scope.one_of("number", "path", "path", "nested"):
        case "number":
            return scope.value(scope.one_of(0, 1, 2, -3, 1.5, 0.25))
        case "nested" if depth:
            return _arithmetic(scope, depth - 1)
        case _:
            fields = scope.one_of(
                ("attributes", "size"), DEEP, ("attributes", "tag"), ("metadata", "trust")
            )
            return ast.Path(ast.Variable("t"), fields)


def _arithmetic(scope: _Scope, depth: int = 1) -> ast.Arithmetic:
    function = scope.one_of("ADD", "MUL", "CLAMP", "COALESCE")
    count = 3 if function == "CLAMP" else 2
    return ast.Arithmetic(function, tuple(_number(scope, depth) for _ in range(count)))


def _changes(scope: _Scope, keys: tuple[str, ...]) -> tuple[tuple[str, ast.Change], ...] | None:
    drawn = scope.draw(st.lists(st.sampled_from(keys), max_size=2, unique=True))
    changes = tuple(
        (key, _arithmetic(scope) if scope.chance(60) else scope.value(scope.draw(values())))
        for key in drawn
    )
    return changes or None


@st.composite
def updates(draw: st.DrawFn) -> Command:
    """An UPDATE, mostly with something computed."""
    scope = _Scope(draw)
    own, about = _changes(scope, KEYS), _changes(scope, METADATA_KEYS)
    if own is None and about is None:
        own = (("size", _arithmetic(scope)),)
    tree = ast.Update(
        ast.Variable("t"),
        _own_block(scope, "t", links=scope.chance(40)),
        attributes=own,
        metadata=about,
        weight=_weight(scope),
        limit=scope.value(draw(st.integers(1, 3))) if scope.chance(20) else None,
    )
    return Command(tree, scope.parameters)


@st.composite
def merges(draw: st.DrawFn) -> Command:
    """A MERGE, mostly of two concepts that can be merged."""
    scope = _Scope(draw)
    source, target = draw(likely_identities()), draw(likely_identities())
    if scope.chance(60):
        source, target = draw(st.permutations(KNOWN[:2]))
    where = (
        ast.ConceptClause(ast.Variable("source"), matcher(*source)),
        ast.ConceptClause(ast.Variable("target"), matcher(*target)),
    )
    tree = ast.MergeConcept(ast.Variable("source"), ast.Variable("target"), where)
    return Command(tree, scope.parameters)


@st.composite
def lifecycles(draw: st.DrawFn) -> Command:
    """An ARCHIVE, a RESTORE, or a SUPERSEDE mostly of two elements."""
    scope = _Scope(draw)
    reason = scope.value(draw(st.sampled_from(("old", "")))) if scope.chance(30) else None
    if scope.chance(30):
        old, new = (ast.Variable(name) for name in ("old", "new"))
        where = tuple(
            ast.ConceptClause(variable, matcher(*draw(likely_identities())))
            for variable in (old, new)
        )
        dates = st.sampled_from(("2026-01-31", "1999-12-31T10:00:00Z", "soon"))
        until = scope.value(draw(dates)) if scope.chance(40) else None
        return Command(ast.Supersede(old, new, where, until, reason), scope.parameters)
    target = ast.Variable("t")
    where = _own_block(scope, "t", links=scope.chance(40))
    limit = scope.value(draw(st.integers(1, 3))) if scope.chance(20) else None
    if scope.chance(40):
        details = draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "by": st.sampled_from("ab"),
                    "source": st.sampled_from("st"),
                    "confidence": st.sampled_from((0, 0.1, 0.3, 0.35, 0.6, 0.7, 1)),
                },
            )
        )
        tree = ast.TakeStance(
            draw(st.sampled_from(("supports", "challenges"))),
            target,
            _own_block(scope, "t", links=True) if scope.chance(90) else where,
            ast.Literal(details) if details else None,
            reason,
            limit,
        )
        return Command(tree, scope.parameters)
    if scope.chance(60):
        return Command(ast.Archive(target, where, reason, limit), scope.parameters)
    return Command(ast.Restore(target, where, limit), scope.parameters)


def changes() -> st.SearchStrategy[Command]:
    """A command that writes."""
    return st.one_of(upserts(), upserts(), deletes(), updates(), merges(), lifecycles())
