"""FIND and what stands in WHERE."""

from itertools import permutations
from typing import Any

import pytest

from mycel.errors import InvalidSyntax
from mycel.kip import ast, parse
from mycel.model.limits import HOP_BOUND_MAX
from tests.cases import cases
from tests.unit.kip.refusals import filtered, refusal, where


def find(text: str) -> ast.Find:
    command = parse(text)
    assert isinstance(command, ast.Find)
    return command


def clauses(text: str) -> ast.Block:
    return find(where(text)).where


def condition(text: str) -> ast.Condition:
    clause = find(filtered(text)).where[1]
    assert isinstance(clause, ast.Filter)
    return clause.condition


def name(text: str) -> ast.Path:
    """The path `?text.name`."""
    return ast.Path(ast.Variable(text), ("name",))


X, Y, Z = (ast.Variable(each) for each in "xyz")
P = ast.Literal("p")


# FIND and its modifiers.


def test_expressions_are_variables_paths_and_aggregates() -> None:
    command = find(
        "FIND(?x, ?x.attributes.a.b, COUNT(?y), SUM(DISTINCT ?x.attributes.n), AVG(?x.metadata), "
        'MIN(?x.name), MAX(DISTINCT ?y)) WHERE { ?x {type: "T"} }'
    )
    assert command.expressions == (
        ast.Path(X),
        ast.Path(X, ("attributes", "a", "b")),
        ast.Aggregate("COUNT", ast.Path(Y)),
        ast.Aggregate("SUM", ast.Path(X, ("attributes", "n")), distinct=True),
        ast.Aggregate("AVG", ast.Path(X, ("metadata",))),
        ast.Aggregate("MIN", name("x")),
        ast.Aggregate("MAX", ast.Path(Y), distinct=True),
    )


def test_modifiers_follow_where() -> None:
    command = find(
        'FIND(?x) WHERE { ?x {type: "T"} } '
        'ORDER BY ?x.name, ?y DESC, COUNT(?z) ASC LIMIT 5 CURSOR "abc"'
    )
    assert command.order_by == (
        ast.OrderKey(name("x")),
        ast.OrderKey(ast.Path(Y), descending=True),
        ast.OrderKey(ast.Aggregate("COUNT", ast.Path(Z))),
    )
    assert command.limit == ast.Literal(5)
    assert command.cursor == ast.Literal("abc")


def test_limit_and_cursor_may_be_placeholders() -> None:
    command = find('FIND(?x) WHERE { ?x {type: "T"} } LIMIT :n CURSOR :c')
    assert (command.limit, command.cursor) == (ast.Placeholder("n"), ast.Placeholder("c"))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("12", ast.Literal(12)),
        ("0", ast.Literal(0)),
        ('"2026-01-01T00:00:00Z"', ast.Literal("2026-01-01T00:00:00Z")),
        (":then", ast.Placeholder("then")),
    ],
)
def test_as_of_stands_before_where(text: str, moment: object) -> None:
    assert find(f'FIND(?x) AS OF {text} WHERE {{ ?x {{type: "T"}} }}').as_of == moment


@cases(
    "text",
    [
        'FIND() WHERE { ?x {type: "T"} }',
        'FIND(?x,) WHERE { ?x {type: "T"} }',
        'FIND ?x WHERE { ?x {type: "T"} }',
        'FIND(COUNT(COUNT(?x))) WHERE { ?x {type: "T"} }',
        'FIND(COUNT()) WHERE { ?x {type: "T"} }',
        'FIND(COUNT(?x, ?y)) WHERE { ?x {type: "T"} }',
        'FIND("x") WHERE { ?x {type: "T"} }',
        'FIND(:x) WHERE { ?x {type: "T"} }',
        'FIND(?x .name) WHERE { ?x {type: "T"} }',
        "FIND(?x)",
        "FIND(?x) WHERE",
        "FIND(?x) WHERE ?x",
        "FIND(?x) WHERE { }",
        'FIND(?x) AS OF -1 WHERE { ?x {type: "T"} }',
        'FIND(?x) AS OF 1.5 WHERE { ?x {type: "T"} }',
        'FIND(?x) AS OF WHERE { ?x {type: "T"} }',
        'FIND(?x) WHERE { ?x {type: "T"} } AS OF 12',
        'FIND(?x) WHERE { ?x {type: "T"} } ORDER BY',
        'FIND(?x) WHERE { ?x {type: "T"} } ORDER BY ?x ?y',
        'FIND(?x) WHERE { ?x {type: "T"} } ORDER BY ?x DESC ASC',
        'FIND(?x) WHERE { ?x {type: "T"} } LIMIT',
        'FIND(?x) WHERE { ?x {type: "T"} } LIMIT 0',
        'FIND(?x) WHERE { ?x {type: "T"} } LIMIT -1',
        'FIND(?x) WHERE { ?x {type: "T"} } LIMIT 1.5',
        'FIND(?x) WHERE { ?x {type: "T"} } LIMIT "5"',
        'FIND(?x) WHERE { ?x {type: "T"} } LIMIT 5 LIMIT 6',
        'FIND(?x) WHERE { ?x {type: "T"} } CURSOR 5',
        'FIND(?x) WHERE { ?x {type: "T"} } CURSOR "a" LIMIT 5',
        'FIND(?x) WHERE { ?x {type: "T"} } LIMIT 5 ORDER BY ?x',
        'FIND(?x) WHERE { ?x {type: "T"} } WHERE { ?x {type: "T"} }',
        'FIND(?x) WHERE { ?x {type: "T"} } }',
    ],
)
def test_a_malformed_find_is_refused(text: str) -> None:
    assert refusal(text).code == "KIP_1001"


# Clauses.


def test_a_concept_clause_binds_a_matcher() -> None:
    assert clauses('?x {type: "T"} ?x {name: "n"} ?x {id: "C:1"} ?x {name: :n, type: :t,}') == (
        ast.ConceptClause(X, ast.ConceptMatcher(type=ast.Literal("T"))),
        ast.ConceptClause(X, ast.ConceptMatcher(name=ast.Literal("n"))),
        ast.ConceptClause(X, ast.ConceptMatcher(id=ast.Literal("C:1"))),
        ast.ConceptClause(
            X, ast.ConceptMatcher(type=ast.Placeholder("t"), name=ast.Placeholder("n"))
        ),
    )


@cases(
    "matcher",
    [
        "{}",
        '{type: "T", type: "T"}',
        '{id: "C:1", type: "T"}',
        '{id: "C:1", name: "n"}',
        '{"type": "T"}',
        '{kind: "T"}',
        "{type: 5}",
        "{type: T}",
        "{type: null}",
        '{type: ["T"]}',
        '{type "T"}',
        '{type: "T" name: "n"}',
        "{type}",
        '{type: "T"',
    ],
)
def test_a_malformed_matcher_is_refused(matcher: str) -> None:
    assert refusal(where(f"?x {matcher}")).code == "KIP_1001"


def test_a_link_clause_may_have_a_variable() -> None:
    pattern = ast.LinkPattern(X, P, Y)
    assert clauses('(?x, "p", ?y) ?z (?x, "p", ?y) ?z (id: "P:1:p") (id: :i)') == (
        ast.LinkClause(None, pattern),
        ast.LinkClause(Z, pattern),
        ast.LinkClause(Z, ast.LinkById(ast.Literal("P:1:p"))),
        ast.LinkClause(None, ast.LinkById(ast.Placeholder("i"))),
    )


def test_endpoints_are_variables_matchers_and_nested_patterns() -> None:
    assert clauses('({type: "T"}, "p", (?x, "q", (id: "P:1:p")))') == (
        ast.LinkClause(
            None,
            ast.LinkPattern(
                ast.ConceptMatcher(type=ast.Literal("T")),
                P,
                ast.LinkPattern(X, ast.Literal("q"), ast.LinkById(ast.Literal("P:1:p"))),
            ),
        ),
    )


@cases(
    ("text", "expected"),
    [
        ('"p"', P),
        (":p", ast.Placeholder("p")),
        ("?z", Z),
        ('"p"{1,3}', ast.PredicateHops(P, 1, 3)),
        ('"p" { 2 , }', ast.PredicateHops(P, 2, None)),
        ('"p"{0}', ast.PredicateHops(P, 0, 0)),
        (":p{1,2}", ast.PredicateHops(ast.Placeholder("p"), 1, 2)),
        (f'"p"{{0,{HOP_BOUND_MAX}}}', ast.PredicateHops(P, 0, HOP_BOUND_MAX)),
        ('"p" | :q | "r"', ast.PredicateChoice((P, ast.Placeholder("q"), ast.Literal("r")))),
    ],
)
def test_predicates(text: str, expected: Any) -> None:
    assert clauses(f"(?x, {text}, ?y)") == (ast.LinkClause(None, ast.LinkPattern(X, expected, Y)),)


@cases(
    "predicate",
    [
        *["p", "5", "?z.name", '"p"{}', '"p"{,3}', '"p"{3,1}', '"p"{-1}', '"p"{1.5}', '"p"{01}'],
        *[f'"p"{{{HOP_BOUND_MAX + 1}}}', '"p"{1,99999999999999999999999}', '"p"{1,2,3}', '"p"{:n}'],
        *['"p" | "q"{1,2}', '"p"{1} | "q"', "?z{1,2}", '?z | "p"', '"p" |', '"p" | ?z', '| "p"'],
    ],
)
def test_a_malformed_predicate_is_refused(predicate: str) -> None:
    assert refusal(where(f"(?x, {predicate}, ?y)")).code == "KIP_1001"


@cases(
    "clause",
    [
        *["()", "(?x)", '(?x, "p")', '(?x, "p", ?y, ?z)', '(?x "p" ?y)', '(?x, "p", "y")'],
        *['(?x, "p", :y)', '(?x.name, "p", ?y)', '(?x {type: "T"}, "p", ?y)', '(id: "P:1:p", ?x)'],
        *[
            '(?x, "p", ?z (?a, "q", ?b))',
            '{type: "T"}',
            "?x",
            "?x ?y",
            '"p"',
            '?x.id {type: "T"}',
        ],
        *["NOT {}", "OPTIONAL {}", "UNION {}", 'NOT (?x, "p", ?y)', 'FILTER ?x.name == "a"'],
        *["FILTER()", "FILTER(?x.name == 1", '?x {type: "T"}, ?y {type: "T"}'],
    ],
)
def test_a_malformed_clause_is_refused(clause: str) -> None:
    assert refusal(where(clause)).code == "KIP_1001"


def test_blocks_nest() -> None:
    inner = ast.LinkClause(None, ast.LinkPattern(X, P, Y))
    assert clauses('NOT { OPTIONAL { (?x, "p", ?y) } UNION { (?x, "p", ?y) } }') == (
        ast.Not((ast.Optional((inner,)), ast.Union((inner,)))),
    )


# Conditions.


@cases("operator", ["==", "!=", "<", ">", "<=", ">="])
def test_comparisons_take_paths_and_values_on_either_side(operator: Any) -> None:
    assert condition(f"?x.name {operator} 5") == ast.Comparison(operator, name("x"), ast.Literal(5))
    assert condition(f":p {operator} ?x") == ast.Comparison(
        operator, ast.Placeholder("p"), ast.Path(X)
    )
    assert condition(f"?x.name{operator}?y.name") == ast.Comparison(operator, name("x"), name("y"))


def test_functions() -> None:
    assert condition('CONTAINS(?x.name, "a")') == ast.TextTest(
        "CONTAINS", name("x"), ast.Literal("a")
    )
    assert condition("STARTS_WITH(?x.name, :p)") == ast.TextTest(
        "STARTS_WITH", name("x"), ast.Placeholder("p")
    )
    assert condition('ENDS_WITH("abc", ?x.name)') == ast.TextTest(
        "ENDS_WITH", ast.Literal("abc"), name("x")
    )
    assert condition('REGEX(?x.name, "^a")') == ast.TextTest("REGEX", name("x"), ast.Literal("^a"))
    assert condition("IS_NULL(?x)") == ast.NullTest(ast.Path(X))
    assert condition("IS_NOT_NULL(?x.name)") == ast.NullTest(name("x"), negated=True)
    assert condition('IN(?x.name, ["a", 1])') == ast.Membership(name("x"), ast.Literal(["a", 1]))
    assert condition("IN(?x.name, :all)") == ast.Membership(name("x"), ast.Placeholder("all"))
    assert condition("IN(1, [:p])") == ast.Membership(
        ast.Literal(1), ast.ArrayTemplate((ast.Placeholder("p"),))
    )


A, B, C = (ast.NullTest(ast.Path(ast.Variable(each))) for each in "abc")


@cases(
    ("text", "expected"),
    [
        ("A && B && C", ast.Conjunction((A, B, C))),
        ("A || B || C", ast.Disjunction((A, B, C))),
        ("A || B && C", ast.Disjunction((A, ast.Conjunction((B, C))))),
        ("A && B || C", ast.Disjunction((ast.Conjunction((A, B)), C))),
        ("(A || B) && C", ast.Conjunction((ast.Disjunction((A, B)), C))),
        ("!A && B", ast.Conjunction((ast.Negation(A), B))),
        ("!(A && B)", ast.Negation(ast.Conjunction((A, B)))),
        ("!!A", ast.Negation(ast.Negation(A))),
        ("((A))", A),
        ("A && (B && C)", ast.Conjunction((A, B, C))),
        ("(A || B) || C", ast.Disjunction((A, B, C))),
        ("!1 == 2", ast.Negation(ast.Comparison("==", ast.Literal(1), ast.Literal(2)))),
    ],
)
def test_not_binds_tightest_and_or_loosest(text: str, expected: ast.Condition) -> None:
    for letter in "ABC":
        text = text.replace(letter, f"IS_NULL(?{letter.lower()})")
    assert condition(text) == expected


@cases(
    "text",
    [
        *["?x.name", "true", "?x.name = 1", "?x.name === 1", "1 < ?x.name < 3", "?x.name == "],
        *["== 1", "?x.name == 1 &&", "&& ?x.name == 1", "?x.name == 1 & ?x.name == 2", "!"],
        *[
            "?x.name == 1 AND ?y.id == 2",
            "NOT ?x.name == 1",
            '?x.name IN ["a"]',
            "(?x.name) == 1",
        ],
        *["IN(?x.name)", 'IN(?x.name, "a")', 'IN(?x.name, {"a": 1})'],
        *["IS_NULL()", "IS_NULL(?x, ?y)", "CONTAINS(?x.name)", 'CONTAINS(?x.name, "a", "b")'],
        *["LENGTH(?x.name) > 3", "?x.attributes.n + 1 > 3", '?x.name LIKE "a%"', "IS_NULL ?x"],
        *["?x.name == (1)", "!IS_NULL(?x) == true"],
    ],
)
def test_a_malformed_condition_is_refused(text: str) -> None:
    assert refusal(filtered(text)).code == "KIP_1001"


# Places.


def test_nodes_know_where_they_stand() -> None:
    text = 'FIND(?x.name)\nWHERE { ?z (?x, "p"{1,2}, {type: "T"}) FILTER(!(?x.name == "a")) }'
    command = find(text)

    def said(node: Any) -> str:
        return text[slice(*node.span)]

    assert said(command) == text
    path = command.expressions[0]
    assert isinstance(path, ast.Path)
    assert (said(path), said(path.variable)) == ("?x.name", "?x")
    link, test = command.where
    assert isinstance(link, ast.LinkClause)
    assert isinstance(link.pattern, ast.LinkPattern)
    assert isinstance(test, ast.Filter)
    assert said(link) == '?z (?x, "p"{1,2}, {type: "T"})'
    assert said(link.pattern) == '(?x, "p"{1,2}, {type: "T"})'
    assert said(link.pattern.predicate) == '"p"{1,2}'
    assert said(link.pattern.object) == '{type: "T"}'
    assert said(test) == 'FILTER(!(?x.name == "a"))'
    assert said(test.condition) == '!(?x.name == "a")'


def test_moments_and_archived_stand_in_any_order_each_once() -> None:
    parts = ("AS OF 3", 'FOR TIME "2026-01-31"', "INCLUDE ARCHIVED")
    clauses = 'WHERE { ?x {type: "T"} }'
    for order in permutations(parts):
        found = find(f"FIND(?x) {' '.join(order)} {clauses}")
        assert found.as_of == ast.Literal(3)
        assert found.for_time == ast.Literal("2026-01-31")
        assert found.include_archived
    with pytest.raises(InvalidSyntax, match="Expected `WHERE` or `INCLUDE ARCHIVED`, found `AS`"):
        find(f"FIND(?x) {parts[1]} {parts[0]} {parts[0]} {clauses}")
