"""Formatting a text keeps its comments where they were."""

import pytest

from mycel.errors import ResourceExhausted, SchemaError
from mycel.model.limits import SCHEMA_COMMENTS_MAX
from mycel.schema import format as format_schema
from mycel.schema import parse, tidy
from tests.cases import cases

MESSY = """// Licence: free
// for all

/* about
   people */
node Person{ // first
 name:String @key/* k */ age:I32? // years
 // before the range
 @range(age,0..9)
 // at the end
}
// about edges
edge Knows:Person->Person // each other
node Empty { /* nothing */ }
interface Named {}
// the end"""

TIDY = """// Licence: free
// for all

/* about
   people */
node Person { // first
  name: String @key /* k */
  age: I32? // years
  // before the range
  @range(age, 0..9)
  // at the end
}

// about edges
edge Knows: Person -> Person // each other

node Empty { /* nothing */
}

interface Named {}

// the end
"""


def test_comments_stay_where_they_were() -> None:
    assert tidy(MESSY) == TIDY


def test_what_is_tidy_stays_as_it_is() -> None:
    assert tidy(TIDY) == TIDY


def test_a_tidy_text_says_the_same() -> None:
    assert parse(tidy(MESSY)) == parse(MESSY)


def test_without_comments_it_is_the_usual_format() -> None:
    text = "node A{a:String?} edge B:A->A{c:I32 @card_note} interface C{}"
    assert tidy(text) == format_schema(parse(text))


@cases(
    ("text", "expected"),
    [
        ("", ""),
        ("// only this", "// only this\n"),
        ("/* a */ /* b */", "/* a */\n/* b */\n"),
        ('node A @note("// no comment") {}', 'node A @note("// no comment") {}\n'),
        ("node A {} // one\n// two\nnode B {}", "node A {} // one\n\n// two\nnode B {}\n"),
        ("edge E: A -> A {\n// why\n}\nnode A {}", "edge E: A -> A {\n  // why\n}\n\nnode A {}\n"),
        ("node A { a: enum(x, // ex\n y) }", "node A {\n  a: enum(x, y) // ex\n}\n"),
        (
            "node A { a: enum(x, // ex\n y) // why\n }",
            "node A {\n  a: enum(x, y) // ex\n  // why\n}\n",
        ),
    ],
)
def test_odd_places(text: str, expected: str) -> None:
    assert tidy(text) == expected
    assert tidy(expected) == expected


def test_what_is_no_schema_is_not_formatted() -> None:
    with pytest.raises(SchemaError):
        tidy("node A { // never closed")


def test_comments_are_put_where_they_stood_however_many_there_are() -> None:
    lines = "// a\n" * 3_000
    assert tidy(lines) == lines
    body = "".join(f"  // {at}\n" for at in range(3_000))
    types = "".join(f"node T{at} {{\n{body if at == 1 else ''}}}\n\n" for at in range(3))
    assert tidy(tidy(types)) == tidy(types)
    assert tidy(types).count("//") == 3_000
    assert "  // 2999\n}" in tidy(types)


def test_too_many_comments_are_refused_in_words() -> None:
    with pytest.raises(ResourceExhausted, match="more than 100,000 comments"):
        tidy("//\n" * (SCHEMA_COMMENTS_MAX + 1))
