from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from mycel.knowledge.code.file_analysis import analyse
from mycel.knowledge.code.file_kinds import detect
from mycel.knowledge.code.source_facts import FileFacts, decode, encode
from mycel.knowledge.documents.front_matter import read_front_matter
from mycel.knowledge.documents.sections import SECTION_CHARACTERS_MAX
from mycel.knowledge.documents.text_names import names_in
from tests.cases import cases


def read(text: str, path: str = "guide.md") -> FileFacts:
    source = textwrap.dedent(text).lstrip("\n").encode()
    return analyse(path, source, detect(path, source).language)


def outline(text: str, path: str = "guide.md") -> list[str]:
    return [f"{s.level} {s.slug} = {s.text}" for s in read(text, path).sections]


@cases(
    ("text", "expected"),
    [
        ("# A\n\nx\n\n## B\n\ny\n", ["1 a = x", "2 b = y"]),
        ("just text\n", ["0 text = just text"]),
        ("before\n\n# A\n\nx\n", ["0 text = before", "1 a = x"]),
        ("## B\n### C\nx\n## D\n### C\ny", ["2 b = ", "3 b/c = x", "2 d = ", "3 d/c = y"]),
        ("# A\n# B\n## C\nx", ["1 a = ", "1 b = ", "2 b/c = x"]),
        ("## A\nx\n## A\ny\n", ["2 a = x", "2 a-2 = y"]),
        ("A\n===\nx\n\nB\n---\ny\n", ["1 a = x", "2 b = y"]),
        ("x\n\n---\n\ny\n", ["0 text = x\n\n---\n\ny"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", ["0 text = | a | b |\n|---|---|\n| 1 | 2 |"]),
        ("- a\n---\nb", ["0 text = - a\n---\nb"]),
        ("```\n# no\n```\n", ["0 text = ```\n# no\n```"]),
        ("~~~~\n# n\n~~~\n# n\n~~~~\n# A\nx", ["0 text = ~~~~\n# n\n~~~\n# n\n~~~~", "1 a = x"]),
        ("#no heading\n#\nx", ["0 text = #no heading", "1 guide = x"]),
        ("# A <!-- x -->\n<!-- a\n# no\n-->\ntext", ["1 a = text"]),
        ("<h1 align='center'>A</h1>\n<p>text</p>\n", ["1 a = text"]),
        ("# A\n<h3 name='b'>\nWhat is B?\n</h3>\n\nx\n", ["1 a = ", "3 what-is-b = x"]),
        ("<h3>\na\nb\nc\nd\n</h3>\n", ["0 text = a\nb\nc\nd"]),
        ("<h3>\na\n", ["0 text = a"]),
        ("# A\n[![ci](a.svg)](b) ![x](y)\n\ntext\n", ["1 a = text"]),
        ("# The `Cart` of **Ada** #\nx", ["1 the-cart-of-ada = x"]),
        ("# 1.2.0 {#v1}\nx", ["1 1-2-0 = x"]),
        ("---\ntitle: T\n---\n# A\nx", ["1 a = x"]),
        ("---\n# A\nx", ["0 text = ---", "1 a = x"]),
        ("", []),
        ("\n \n", []),
        ("# A\r\n\r\nx\r\n", ["1 a = x"]),
    ],
)  # fmt: skip
def test_headings_divide_a_document(text: str, expected: list[str]) -> None:
    assert outline(text) == expected


def test_a_section_has_its_lines_its_parent_and_the_trail_of_its_headings() -> None:
    title, use, fast = read("""
        # Shop

        Sells things.

        ## Use

        ### Fast

        Run it.
    """).sections
    assert (title.name, title.line, title.end_line, title.parent) == ("Shop", 1, 3, "")
    assert (use.name, use.line, use.end_line, use.text) == ("Shop > Use", 5, 5, "")
    assert (fast.name, fast.line, fast.end_line, fast.parent) == ("Shop > Use > Fast", 7, 9, "use")
    assert fast.heading == "Fast"


def test_headings_of_one_level_are_not_below_the_first() -> None:
    text = "Unreleased\n===\nx\n\n2.0.0\n===\ny\n\nFixed\n---\nz\n"
    names = [section.name for section in read(text, "CHANGELOG.md").sections]
    assert names == ["Unreleased", "CHANGELOG > 2.0.0", "CHANGELOG > 2.0.0 > Fixed"]


def test_the_name_of_a_document_is_its_title_if_it_has_none() -> None:
    (section,) = read("Green or black.\n", "drinks/Tea.md").sections
    assert (section.name, section.heading) == ("Tea", "Tea")
    (section,) = read("---\ntitle: All about tea\n---\nGreen.\n", "drinks/Tea.md").sections
    assert section.name == "All about tea"


def test_a_long_section_is_split_between_paragraphs() -> None:
    paragraph = "word " * 150
    first, second, third = read(f"# A\n\n{paragraph}\n\n{paragraph}\n\n{paragraph}\n## B").sections
    assert (first.slug, second.slug, second.parent) == ("a", "a/part-2", "a")
    assert (first.line, first.end_line, second.line, second.end_line) == (1, 5, 7, 7)
    assert third.slug == "b"


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=60), st.booleans())
def test_no_line_of_text_is_lost_or_repeated(lines: list[str], is_long: bool) -> None:
    words = [f"w{number}" for number in range(len(lines))]
    # Letters alone, so that nothing is a comment, a badge or a tag.
    text = "\n".join(
        f"{word} {''.join(filter(str.isalpha, line))} {'long ' * 200 * is_long}"
        if number % 3
        else f"## {word}"
        for number, (word, line) in enumerate(zip(words, lines, strict=True))
    )
    facts = read(text)
    found = [
        word for s in facts.sections for word in f"{s.heading} {s.text}".split() if word in words
    ]
    assert list(dict.fromkeys(found)) == words
    assert all(len(section.text) <= SECTION_CHARACTERS_MAX for section in facts.sections)
    slugs = [section.slug for section in facts.sections]
    assert len({*slugs}) == len(slugs)
    assert {section.parent for section in facts.sections} <= {*slugs, ""}
    assert decode(encode(facts)) == facts


@cases(
    ("text", "expected"),
    [
        ("---\ntags: a, b\n---", (("a", "b"), (), {})),
        ("---\ntags:\n  - '#a/b'\nalias: Tea, Cha\n---", (("a/b",), ("Tea", "Cha"), {})),
        ("---\nTags: [2024]\ndate: 2024-01-02\n---", (("2024",), (), {"date": "2024-01-02"})),
        ("---\na: {b: [1, 2.5, true, null]}\n...", ((), (), {"a": {"b": [1, 2.5, True, None]}})),
        ("---\na: &x [1]\nb: *x\n---", ((), (), {})),
        ("---\na: [1\n---", ((), (), {})),
        ("---\n- a\n---", ((), (), {})),
        ("---\na: " + "[" * 5000 + "\n---", ((), (), {})),
        ("---\na: .inf\nb: 99999999999999999999999\n---", ((), (), {"a": "inf", "b": "9" * 23})),
        ("text", ((), (), {})),
        ("---", ((), (), {})),
    ],
)  # fmt: skip
def test_front_matter_is_read_as_json(text: str, expected: tuple[object, ...]) -> None:
    assert read_front_matter(text.split("\n"))[2:] == expected


def test_links_and_names_belong_to_their_section() -> None:
    one, two = read("""
        # One

        See [the cart](src/cart.py#L3) and [[Tea|a drink]], `Cart.add` too.

        ```
        [not](a.md) `Nor`
        ```

        # Two

        Ref [x][r] in https://example.org.

        [r]: other.md
    """).sections
    assert (one.links, one.names) == (("src/cart.py#L3", "[[Tea"), ("`Cart.add",))
    assert two.links == ("other.md", "https://example.org")


@cases(
    ("text", "expected"),
    [
        ("`Cart`", ["`Cart"]),
        ("`Cart::add(x)` and `&mut Self`", ["`Cart.add()"]),
        ("`Vec<Cart>`", ["`Vec"]),
        ("`a b`", []),
        ("`src/cart.py`", ["`src/cart.py"]),
        ("the cart is a result", []),
        ("CartItem, add_item, MAX_ITEMS", ["CartItem", "add_item", "MAX_ITEMS"]),
        ("add() shop.Cart e.g. 1.5 i.e.", ["add()", "shop.Cart"]),
        ("in src/shop/cart.py or cart.py.", ["src/shop/cart.py", "cart.py"]),
        ("https://example.org/CartItem and [x](CartItem)", []),
        ("GitHub", ["GitHub"]),
    ],
)
def test_names_have_the_form_of_names(text: str, expected: list[str]) -> None:
    assert list(names_in(text)) == expected
