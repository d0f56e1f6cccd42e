"""Lines, columns and excerpts."""

from mycel.syntax.source import EXCERPT_CHARACTERS_MAX, Position, Source, Span
from tests.cases import cases


@cases(
    ("text", "offset", "expected"),
    [
        ("", 0, (1, 1)),
        ("abc", 0, (1, 1)),
        ("abc", 2, (1, 3)),
        ("abc", 3, (1, 4)),
        ("abc", 99, (1, 4)),
        ("abc", -5, (1, 1)),
        ("a\nb", 1, (1, 2)),
        ("a\nb", 2, (2, 1)),
        ("a\r\nb", 3, (2, 1)),
        ("\n\n\n", 3, (4, 1)),
        ("日本\n語", 3, (2, 1)),
    ],
)
def test_lines_and_columns_count_from_one(
    text: str, offset: int, expected: tuple[int, int]
) -> None:
    assert Source(text).position(offset) == Position(*expected)


def excerpt(text: str, start: int, end: int) -> list[str]:
    return Source(text).excerpt(Span(start, end)).split("\n")


def test_an_excerpt_has_carets_under_the_span() -> None:
    assert excerpt("one\ntwo three\nfour", 8, 13) == ["2 | two three", "  |     ^^^^^"]


def test_the_gutter_is_as_wide_as_the_line_number() -> None:
    assert excerpt("\n" * 99 + "abc", 100, 101) == ["100 | abc", "    |  ^"]


def test_a_span_over_several_lines_is_marked_to_the_end_of_its_first() -> None:
    assert excerpt("ab cd\nef", 3, 8) == ["1 | ab cd", "  |    ^^"]


def test_an_empty_span_still_has_a_caret() -> None:
    assert excerpt("abc", 3, 3) == ["1 | abc", "  |    ^"]


def test_a_carriage_return_is_no_part_of_the_line() -> None:
    assert excerpt("abc\r\ndef", 0, 3) == ["1 | abc", "  | ^^^"]


def test_a_tab_takes_one_column() -> None:
    assert excerpt("\t\tabc", 2, 5) == ["1 |   abc", "  |   ^^^"]


def test_wide_characters_take_two_columns_and_combining_marks_none() -> None:
    assert excerpt("日本x", 2, 3) == ["1 | 日本x", "  |     ^"]
    assert excerpt("e\u0301x", 2, 3) == ["1 | e\u0301x", "  |  ^"]
    assert excerpt("x日本", 1, 3) == ["1 | x日本", "  |  ^^^^"]


@cases("character", ["\x00", "\x1b", "\ud800", "\u202e", "\ufeff"])
def test_what_cannot_be_shown_is_replaced(character: str) -> None:
    assert excerpt(f"a{character}b", 2, 3) == ["1 | a\ufffdb", "  |   ^"]


@cases("start", [0, 10, 500, 1_990, 1_999])
def test_a_long_line_is_cut_around_the_span(start: int) -> None:
    text = "".join(chr(ord("a") + at % 26) for at in range(2_000))
    line, carets = excerpt(text, start, start + 3)
    assert len(line) <= EXCERPT_CHARACTERS_MAX + len("1 | ……")
    at = carets.index("^")
    assert line[at : at + carets.count("^")] == text[start : start + 3]


def test_a_long_span_is_marked_as_far_as_it_is_shown() -> None:
    line, carets = excerpt("x" * 2_000, 0, 2_000)
    assert len(carets) <= len(line)
