"""DESCRIBE, SEARCH, EXPORT, EXPLAIN, and which commands write."""

from mycel.kip import ast, is_write, parse
from tests.cases import cases
from tests.unit.kip.refusals import refusal

X = ast.Variable("x")
WHERE = (ast.ConceptClause(X, ast.ConceptMatcher(type=ast.Literal("T"))),)


@cases(
    ("text", "expected"),
    [
        ("DESCRIBE PRIMER", ast.DescribePrimer()),
        ("DESCRIBE DOMAINS", ast.DescribeDomains()),
        ("DESCRIBE CAPABILITIES", ast.DescribeCapabilities()),
        ("DESCRIBE HISTORY", ast.DescribeHistory()),
        (
            'DESCRIBE HISTORY LIMIT 5 ACTOR :who UNDER "a" SINCE "s" UNTIL "u" CURSOR "c"',
            ast.DescribeHistory(
                ast.Literal("a"),
                ast.Placeholder("who"),
                ast.Literal("s"),
                ast.Literal("u"),
                ast.Literal(5),
                ast.Literal("c"),
            ),
        ),
        ("DESCRIBE CHANGES FROM 3", ast.DescribeChanges(ast.Literal(3))),
        (
            'DESCRIBE CHANGES FROM "v1" TO :b UNDER "concept://a"',
            ast.DescribeChanges(
                ast.Literal("v1"), ast.Placeholder("b"), ast.Literal("concept://a")
            ),
        ),
        ("DESCRIBE CONCEPT TYPES", ast.DescribeTypes("CONCEPT")),
        (
            'DESCRIBE PROPOSITION TYPES LIMIT 5 CURSOR "c"',
            ast.DescribeTypes("PROPOSITION", ast.Literal(5), ast.Literal("c")),
        ),
        ('DESCRIBE CONCEPT TYPE "T"', ast.DescribeType("CONCEPT", ast.Literal("T"))),
        ("DESCRIBE PROPOSITION TYPE :t", ast.DescribeType("PROPOSITION", ast.Placeholder("t"))),
        ('SEARCH CONCEPT "a"', ast.Search("CONCEPT", ast.Literal("a"))),
        (
            'SEARCH PROPOSITION :term WITH TYPE "p" MODE "hybrid" THRESHOLD 0.5 LIMIT 3',
            ast.Search(
                "PROPOSITION",
                ast.Placeholder("term"),
                (ast.Literal("p"),),
                ast.Literal("hybrid"),
                threshold=ast.Literal(0.5),
                limit=ast.Literal(3),
            ),
        ),
        (
            'SEARCH CONCEPT "a" LIMIT :n MODE :m THRESHOLD :t WITH TYPE :k',
            ast.Search(
                "CONCEPT",
                ast.Literal("a"),
                (ast.Placeholder("k"),),
                ast.Placeholder("m"),
                threshold=ast.Placeholder("t"),
                limit=ast.Placeholder("n"),
            ),
        ),
        (
            'SEARCH CONCEPT "a" KIND "notes" WITH TYPE "p" | :k',
            ast.Search(
                "CONCEPT",
                ast.Literal("a"),
                (ast.Literal("p"), ast.Placeholder("k")),
                kind=ast.Literal("notes"),
            ),
        ),
        (
            'SEARCH CONCEPT "a" NEAR :n METADATA {k: 1} UNTIL "u" SINCE "s" ACTOR "me" UNDER "p"',
            ast.Search(
                "CONCEPT",
                ast.Literal("a"),
                path=ast.Literal("p"),
                actor=ast.Literal("me"),
                since=ast.Literal("s"),
                until=ast.Literal("u"),
                metadata=ast.Literal({"k": 1}),
                near=ast.Placeholder("n"),
            ),
        ),
        (
            'EXPORT ?x WHERE { ?x {type: "T"} } LIMIT 5 CURSOR :c',
            ast.Export(X, WHERE, ast.Literal(5), ast.Placeholder("c")),
        ),
        ("EXPLAIN DESCRIBE PRIMER", ast.Explain(ast.DescribePrimer())),
        (
            'EXPLAIN ANALYZE EXPORT ?x WHERE { ?x {type: "T"} } WITH DEFINITIONS',
            ast.Explain(ast.Export(X, WHERE, definitions=True), analyze=True),
        ),
    ],
)
def test_introspection(text: str, expected: ast.Command) -> None:
    assert parse(text) == expected


@cases(
    "text",
    [
        "DESCRIBE",
        "DESCRIBE TYPES",
        "DESCRIBE CONCEPT",
        "DESCRIBE CONCEPT TYPE",
        "DESCRIBE CONCEPT TYPE T",
        'DESCRIBE CONCEPT TYPE "T" LIMIT 5',
        "DESCRIBE PRIMER LIMIT 5",
        'DESCRIBE CONCEPT TYPES CURSOR "c" LIMIT 5',
        "SEARCH",
        'SEARCH "a"',
        "SEARCH CONCEPT",
        "SEARCH CONCEPT a",
        'SEARCH CONCEPT "a" WITH "T"',
        'SEARCH CONCEPT "a" MODE "fuzzy"',
        'SEARCH CONCEPT "a" MODE keyword',
        'SEARCH CONCEPT "a" THRESHOLD "0.5"',
        'SEARCH CONCEPT "a" LIMIT 1 LIMIT 2',
        'SEARCH CONCEPT "a" LIMIT 0',
        'SEARCH CONCEPT "a" CURSOR "c"',
        "EXPORT",
        "EXPORT ?x",
        'EXPORT ?x WHERE { ?x {type: "T"} } CURSOR "c" LIMIT 5',
        "EXPLAIN",
        "EXPLAIN ANALYZE",
        "EXPLAIN EXPLAIN DESCRIBE PRIMER",
        "ANALYZE DESCRIBE PRIMER",
    ],
)
def test_malformed_introspection_is_refused(text: str) -> None:
    assert refusal(text).code == "KIP_1001"


@cases(
    ("text", "writes"),
    [
        ('FIND(?x) WHERE { ?x {type: "T"} }', False),
        ("DESCRIBE PRIMER", False),
        ('SEARCH CONCEPT "a"', False),
        ('EXPORT ?x WHERE { ?x {type: "T"} }', False),
        ("UPSERT {}", True),
        ('DELETE METADATA {"a"} FROM ?x WHERE { ?x {type: "T"} }', True),
        ('DELETE PROPOSITIONS ?x WHERE { ?x {type: "T"} }', True),
        ('DELETE CONCEPT ?x DETACH WHERE { ?x {type: "T"} }', True),
        ('UPDATE ?x SET METADATA {} WHERE { ?x {type: "T"} }', True),
        ('MERGE CONCEPT ?x INTO ?y WHERE { ?x {type: "T"} }', True),
    ],
)
def test_explaining_a_write_is_none_but_analyzing_it_is(text: str, writes: bool) -> None:
    assert is_write(parse(text)) is writes
    assert is_write(parse(f"EXPLAIN {text}")) is False
    assert is_write(parse(f"EXPLAIN ANALYZE {text}")) is writes
