from __future__ import annotations

from mycel.knowledge.documents.markdown_links import find_links
from tests.cases import cases


@cases(
    ("text", "expected"),
    [
        ("[a](b.md)", ["b.md"]),
        ('[a *b*](b.md "title")', ["b.md"]),
        ("[a](<b c.md>)", ["b c.md"]),
        ("[a](b(c).md)", ["b(c).md"]),
        ("![a](b.png)", ["b.png"]),
        ("[![a](b.png)](c.md)", ["c.md", "b.png"]),
        ("[a][r] [R] [r][]\n\n[r]: <b.md> 'x'", ["b.md"] * 3),
        ("[a][nowhere] [x]", []),
        ("<https://a.b/c>", ["https://a.b/c"]),
        ("(see https://a.b/c).", ["https://a.b/c"]),
        ("`[a](b.md)` ``[`](c.md)``", []),
        ("```\n[a](b.md)\n```\n[c](d.md)", ["d.md"]),
        ("~~~~ py\n[a](b.md)\n~~~\n~~~~\n[c](d.md)", ["d.md"]),
        ("- item\n  ```\n  [a](b.md)\n  ```\n", []),
        ("a ` b\n\n[c](d.md) ` e", ["d.md"]),
        ("[a](", []),
        ("[[a](b.md)](c.md)", ["b.md"]),
        (r"\[a](b.md) [a\](b.md)", []),
        ("[a](b.md\n\nc)", []),
        ("(https://a.b/(c))).", ["https://a.b/(c)"]),
        ("> - 1. ```\n> [a](b.md)\n> ```\n", []),
        ("[" * 5000, []),
        ("see [the\r\nguide](g.md)\r\n", ["g.md"]),
        ("", []),
    ],
)
def test_links_are_found_outside_code(text: str, expected: list[str]) -> None:
    text = text.replace("\r\n", "\n")
    assert [link.target for link in find_links(text).links] == expected
