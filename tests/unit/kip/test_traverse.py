"""TRAVERSE: what can be written, how it is formatted, and what is said about slips."""

from mycel.kip import ast, format, is_write, parse  # noqa: A004  The verb of the stage.
from tests.cases import cases
from tests.unit.kip.refusals import refusal

OAK = ast.ConceptMatcher(type=ast.Literal("Tree"), name=ast.Literal("Oak"))
FROM = 'TRAVERSE FROM {type: "Tree", name: "Oak"}'


@cases(
    ("text", "expected"),
    [
        (FROM, ast.Traverse(OAK)),
        (
            "TRAVERSE FROM {id: :start}",
            ast.Traverse(ast.ConceptMatcher(id=ast.Placeholder("start"))),
        ),
        (
            'TRAVERSE FROM (id: "P:13:shades")',
            ast.Traverse(ast.LinkById(ast.Literal("P:13:shades"))),
        ),
        (f'{FROM} ALONG "a"', ast.Traverse(OAK, (ast.Literal("a"),))),
        (
            f'{FROM} ALONG "a" | :b | "c"',
            ast.Traverse(OAK, (ast.Literal("a"), ast.Placeholder("b"), ast.Literal("c"))),
        ),
        (
            f'{FROM} AS OF 12 LIMIT :n MAX_TOKENS 9 MAX_COST 0.5 DIRECTION "in"',
            ast.Traverse(
                OAK,
                direction=ast.Literal("in"),
                max_cost=ast.Literal(0.5),
                max_tokens=ast.Literal(9),
                limit=ast.Placeholder("n"),
                as_of=ast.Literal(12),
            ),
        ),
        (f"EXPLAIN {FROM}", ast.Explain(ast.Traverse(OAK))),
    ],
)
def test_what_a_traversal_says(text: str, expected: ast.Command) -> None:
    assert parse(text) == expected
    assert parse(format(expected)) == expected
    assert not is_write(expected)


@cases(
    ("text", "says"),
    [
        ("TRAVERSE", "Say where to start"),
        ('TRAVERSE {type: "Tree", name: "Oak"}', "Say where to start"),
        ("TRAVERSE FROM ?x", "Use FIND to find its name"),
        ('TRAVERSE FROM "C:12"', 'FROM {id: "C:…"}'),
        ('TRAVERSE FROM {type: "Tree"}', '{type: "…", name: "…"}'),
        (
            'TRAVERSE FROM ({id: "C:2"}, "p", {id: "C:4"})',
            'FROM (id: "P:…")',
        ),
        (f"{FROM} ALONG shades", '"shades"'),
        (f'{FROM} ALONG "a", "b"', 'ALONG "depends_on" | "imports"'),
        (f'{FROM} ALONG "a"{{1,3}}', "MAX_COST 2"),
        (f"{FROM} DIRECTION both", '"both"'),
        (f'{FROM} DIRECTION "up"', '"out" (along the links)'),
        (f"{FROM} LIMIT 5 LIMIT 6", "Keep one of the two"),
        (f"{FROM} DEPTH 3", "MAX_COST 2"),
        (f"{FROM} MAX_NODES 3", "LIMIT 50"),
        (f'{FROM} VIA "a"', "ALONG"),
        (f'{FROM} WHERE {{ ?x {{type: "T"}} }}', "FIND has WHERE"),
        (f"{FROM} MAXCOST 3", "Did you mean MAX_COST?"),
        ('traverse FROM {id: "C:2"}', "TRAVERSE"),
        ("NEIGHBOURS Oak", "TRAVERSE FROM"),
    ],
)
def test_a_slip_is_told_what_to_write_instead(text: str, says: str) -> None:
    error = refusal(text)
    assert error.code == "KIP_1001"
    assert says in (error.hint or "")
