"""Strategies for every node of KIP's syntax tree; each makes only trees that a text can say.

`commands()` is the whole language. The parts are exported for tests that need only some of it.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mycel.kip import ast
from mycel.model.limits import HOP_BOUND_MAX, INTEGER_MAX, INTEGER_MIN, JSON_INTEGER_MAX

# Words.

identifiers = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True),
    # Keywords are not reserved: any of them may be a variable, a key or a placeholder.
    st.sampled_from(["x", "y", "type", "name", "id", "true", "null", "FIND", "WHERE", "IN", "ADD"]),
)
plain_texts = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "Drug", ":name", "say :name it", "\\n:x", "\n:x", "10:30", 'a"b', "日本"]),
    st.sampled_from([":D", ":smile:", "\\", "a\u2028b", "http://x", "\u00a0:x"]),
)
integers = st.integers(INTEGER_MIN, JSON_INTEGER_MAX)
reals = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.one_of(st.none(), st.booleans(), integers, reals, plain_texts)

variables = st.builds(ast.Variable, identifiers)
placeholders = st.builds(ast.Placeholder, identifiers)
texts = st.builds(ast.Literal, plain_texts) | placeholders
numbers = st.builds(ast.Literal, integers | reals) | placeholders
paths = st.builds(ast.Path, variables, st.lists(identifiers | plain_texts, max_size=3).map(tuple))
deep_paths = st.builds(
    ast.Path, variables, st.lists(identifiers | plain_texts, min_size=1, max_size=3).map(tuple)
)
limits = st.builds(ast.Literal, st.integers(1, INTEGER_MAX)) | placeholders
versions = st.builds(ast.Literal, st.integers(0, INTEGER_MAX)) | placeholders


def _holds_placeholder(value: ast.Value) -> bool:
    return not isinstance(value, ast.Literal)


def _array(items: list[ast.Value]) -> ast.Value:
    if any(map(_holds_placeholder, items)):
        return ast.ArrayTemplate(tuple(items))
    return ast.Literal([item.value for item in items])  # type: ignore[union-attr]


def _object(entries: dict[str, ast.Value]) -> ast.Value:
    if any(map(_holds_placeholder, entries.values())):
        return ast.ObjectTemplate(tuple(entries.items()))
    return ast.Literal({key: item.value for key, item in entries.items()})  # type: ignore[union-attr]


values: st.SearchStrategy[Any] = st.recursive(
    st.builds(ast.Literal, scalars) | placeholders,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(_array),
        st.dictionaries(plain_texts | identifiers, inner, max_size=3).map(_object),
    ),
    max_leaves=6,
)
maps = st.one_of(
    placeholders, st.dictionaries(plain_texts | identifiers, values, max_size=3).map(_object)
)


# Patterns.

exact_matchers = st.builds(ast.ConceptMatcher, type=texts, name=texts) | st.builds(
    ast.ConceptMatcher, id=texts
)
matchers = st.one_of(
    exact_matchers,
    st.builds(ast.ConceptMatcher, type=texts),
    st.builds(ast.ConceptMatcher, name=texts),
)


@st.composite
def _hops(draw: st.DrawFn) -> ast.PredicateHops:
    low, high = sorted(draw(st.tuples(*[st.integers(0, HOP_BOUND_MAX)] * 2)))
    return ast.PredicateHops(draw(texts), low, draw(st.sampled_from([high, low, None])))


predicates = st.one_of(
    texts,
    variables,
    _hops(),
    st.builds(ast.PredicateChoice, st.lists(texts, min_size=2, max_size=3).map(tuple)),
)


def _links(
    endpoint: st.SearchStrategy[Any], predicate: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    return st.builds(ast.LinkById, texts) | st.builds(
        ast.LinkPattern, endpoint, predicate, endpoint
    )


endpoints: st.SearchStrategy[Any] = st.recursive(
    variables | matchers, lambda inner: _links(inner, predicates), max_leaves=4
)
exact_endpoints: st.SearchStrategy[Any] = st.recursive(
    variables | exact_matchers, lambda inner: _links(inner, texts), max_leaves=4
)
links = _links(endpoints, predicates)
exact_links = _links(exact_endpoints, texts)


# Conditions.

operands = paths | values
_lists = st.one_of(
    placeholders,
    st.lists(values, max_size=3).map(_array),
)
tests = st.one_of(
    st.builds(
        ast.Comparison, st.sampled_from(["==", "!=", "<", ">", "<=", ">="]), operands, operands
    ),
    st.builds(ast.Membership, operands, _lists),
    st.builds(ast.NullTest, operands, st.booleans()),
    st.builds(
        ast.TextTest,
        st.sampled_from(["CONTAINS", "STARTS_WITH", "ENDS_WITH", "REGEX"]),
        operands,
        operands,
    ),
)


def _joined(kind: Any, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Two or more conditions, none of the same kind."""
    others = inner.filter(lambda each: not isinstance(each, kind))
    return st.builds(kind, st.lists(others, min_size=2, max_size=3).map(tuple))


conditions: st.SearchStrategy[Any] = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.builds(ast.Negation, inner),
        _joined(ast.Conjunction, inner),
        _joined(ast.Disjunction, inner),
    ),
    max_leaves=5,
)


# WHERE.

simple_clauses = st.one_of(
    st.builds(ast.ConceptClause, variables, matchers),
    st.builds(ast.LinkClause, st.none() | variables, links),
    st.builds(ast.Filter, conditions),
)


def _block_of(clause: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(clause, min_size=1, max_size=3).map(tuple)


clauses: st.SearchStrategy[Any] = st.recursive(
    simple_clauses,
    lambda inner: st.one_of(
        *(st.builds(kind, _block_of(inner)) for kind in (ast.Not, ast.Optional, ast.Union))
    ),
    max_leaves=4,
)
blocks = _block_of(clauses)


# Statements.

aggregates = st.builds(
    ast.Aggregate, st.sampled_from(["COUNT", "SUM", "AVG", "MIN", "MAX"]), paths, st.booleans()
)
expressions = paths | aggregates
finds = st.builds(
    ast.Find,
    expressions=st.lists(expressions, min_size=1, max_size=4).map(tuple),
    where=blocks,
    order_by=st.lists(st.builds(ast.OrderKey, expressions, st.booleans()), max_size=3).map(tuple),
    limit=st.none() | limits,
    cursor=st.none() | texts,
    as_of=st.none() | versions | texts,
    for_time=st.none() | texts,
    include_archived=st.booleans(),
)

set_propositions = st.builds(
    ast.SetProposition, texts, exact_endpoints, st.none() | maps, st.none() | numbers
)
concept_blocks = st.builds(
    ast.ConceptBlock,
    handle=st.none() | variables,
    matcher=exact_matchers,
    expect_version=st.none() | versions,
    attributes=st.none() | maps,
    propositions=st.none() | st.lists(set_propositions, max_size=3).map(tuple),
    metadata=st.none() | maps,
)
proposition_blocks = st.builds(
    ast.PropositionBlock,
    handle=st.none() | variables,
    target=exact_links,
    expect_version=st.none() | versions,
    attributes=st.none() | maps,
    metadata=st.none() | maps,
    weight=st.none() | numbers,
)
upserts = st.builds(
    ast.Upsert,
    st.lists(concept_blocks | proposition_blocks, max_size=3).map(tuple),
    st.none() | maps,
)
capsules = st.builds(ast.Capsule, st.lists(upserts, min_size=1, max_size=2).map(tuple))

deletes = st.one_of(
    st.builds(
        ast.DeleteKeys,
        st.sampled_from(["ATTRIBUTES", "METADATA"]),
        st.lists(texts, min_size=1, max_size=3).map(tuple),
        variables,
        blocks,
    ),
    st.builds(ast.DeletePropositions, variables, blocks),
    st.builds(ast.DeleteConcept, variables, blocks),
)


def _calls(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(
            ast.Arithmetic, st.sampled_from(["ADD", "MUL", "COALESCE"]), st.tuples(inner, inner)
        ),
        st.builds(ast.Arithmetic, st.just("CLAMP"), st.tuples(inner, inner, inner)),
    )


arithmetic = _calls(st.recursive(numbers | deep_paths, _calls, max_leaves=4))
changes = st.one_of(
    placeholders,
    st.dictionaries(plain_texts | identifiers, values | arithmetic, max_size=3).map(
        lambda entries: tuple(entries.items())
    ),
)
updates = st.builds(
    ast.Update,
    target=variables,
    where=blocks,
    attributes=st.none() | changes,
    metadata=changes,
    limit=st.none() | limits,
    weight=st.none() | numbers | arithmetic,
) | st.builds(ast.Update, target=variables, where=blocks, attributes=changes)
merges = st.builds(ast.MergeConcept, variables, variables, blocks)
lifecycles = st.one_of(
    st.builds(ast.Archive, variables, blocks, st.none() | texts, st.none() | limits),
    st.builds(ast.Restore, variables, blocks, st.none() | limits),
    st.builds(ast.Supersede, variables, variables, blocks, st.none() | texts, st.none() | texts),
    st.builds(
        ast.TakeStance,
        stance=st.sampled_from(["supports", "challenges"]),
        target=variables,
        where=blocks,
        details=st.none() | maps,
        reason=st.none() | texts,
        limit=st.none() | limits,
    ),
    st.builds(ast.SetTypeRetention, values, st.sampled_from(["CONCEPT", "PROPOSITION"]), texts),
    st.builds(ast.SetRetention, values, variables, blocks, st.none() | limits),
)

_kinds = st.sampled_from(["CONCEPT", "PROPOSITION"])
describes = st.one_of(
    st.builds(ast.DescribePrimer),
    st.builds(ast.DescribeDomains),
    st.builds(ast.DescribeCapabilities),
    st.builds(
        ast.DescribeHistory,
        *[st.none() | texts] * 4,
        st.none() | limits,
        st.none() | texts,
    ),
    st.builds(
        ast.DescribeChanges, versions | texts, st.none() | versions | texts, st.none() | texts
    ),
    st.builds(ast.DescribeTypes, _kinds, st.none() | limits, st.none() | texts),
    st.builds(ast.DescribeType, _kinds, texts),
)
searches = st.builds(
    ast.Search,
    element=_kinds,
    term=texts,
    types=st.lists(texts, max_size=3).map(tuple),
    kind=st.one_of(
        st.none(), placeholders, st.builds(ast.Literal, st.sampled_from(["notes", "code", "any"]))
    ),
    mode=st.one_of(
        st.none(),
        placeholders,
        st.builds(ast.Literal, st.sampled_from(["keyword", "semantic", "hybrid"])),
    ),
    threshold=st.none() | numbers,
    limit=st.none() | limits,
    path=st.none() | texts,
    actor=st.none() | texts,
    since=st.none() | texts,
    until=st.none() | texts,
    metadata=st.none() | placeholders,
    near=st.none() | texts,
    for_time=st.none() | texts,
    include_archived=st.booleans(),
)
exports = st.builds(
    ast.Export,
    variables,
    blocks,
    st.none() | limits,
    st.none() | texts,
    st.booleans(),
    st.booleans(),
)

_ids = st.builds(ast.ConceptMatcher, id=texts)
_names = st.builds(ast.ConceptMatcher, type=texts, name=texts)
traversals = st.builds(
    ast.Traverse,
    start=st.one_of(_ids, _names, st.builds(ast.LinkById, texts)),
    along=st.lists(texts, max_size=3).map(tuple),
    direction=st.one_of(
        st.none(),
        placeholders,
        st.builds(ast.Literal, st.sampled_from(["out", "in", "both"])),
    ),
    max_cost=st.none() | numbers,
    max_tokens=st.none() | limits,
    limit=st.none() | limits,
    as_of=st.none() | versions | texts,
    for_time=st.none() | texts,
    include_archived=st.booleans(),
)

statements = st.one_of(
    finds, capsules, deletes, updates, merges, lifecycles, describes, searches, exports, traversals
)


def commands() -> st.SearchStrategy[Any]:
    """Any command of the language."""
    return statements | st.builds(ast.Explain, statements, st.booleans())
