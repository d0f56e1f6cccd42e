from __future__ import annotations

from mycel.knowledge.code.markdown import links
from tests.cases import cases


@cases(
    ("text", "expected"),
    [
        ("[a](b.md)", ["link b.md"]),
        ('[a *b*](b.md "title")', ["link b.md"]),
        ("[a](<b c.md>)", ["link b c.md"]),
        ("[a](b(c).md)", ["link b(c).md"]),
        ("![a](b.png)", ["image b.png"]),
        ("[![a](b.png)](c.md)", ["link c.md", "image b.png"]),
        ("[a][r] [R] [r][]\n\n[r]: <b.md> 'x'", ["link b.md"] * 3),
        ("[a][nowhere] [x]", []),
        ("<https://a.b/c>", ["autolink https://a.b/c"]),
        ("(see https://a.b/c).", ["autolink https://a.b/c"]),
        ("`[a](b.md)` ``[`](c.md)``", []),
        ("```\n[a](b.md)\n```\n[c](d.md)", ["link d.md"]),
        ("~~~~ py\n[a](b.md)\n~~~\n~~~~\n[c](d.md)", ["link d.md"]),
        ("- item\n  ```\n  [a](b.md)\n  ```\n", []),
        ("a ` b\n\n[c](d.md) ` e", ["link d.md"]),
        ("[a](", []),
        ("[[a](b.md)](c.md)", ["link b.md"]),
        (r"\[a](b.md) [a\](b.md)", []),
        ("[a](b.md\n\nc)", []),
        ("(https://a.b/(c))).", ["autolink https://a.b/(c)"]),
        ("> - 1. ```\n> [a](b.md)\n> ```\n", []),
        ("[" * 5000, []),
        ("", []),
    ],
)
def test_links_are_found_outside_code(text: str, expected: list[str]) -> None:
    assert [f"{link.form} {link.target}" for link in links(text)] == expected


def test_links_say_their_words_and_line() -> None:
    (found,) = links("# T\r\n\r\nsee [the\r\nguide](g.md)\r\n")
    assert (found.text, found.line) == ("the guide", 3)
