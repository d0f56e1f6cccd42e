"""A schema's text as tokens."""

import pytest

from mycel.errors import ResourceExhausted, SchemaError
from mycel.model.limits import SCHEMA_BYTES_MAX
from mycel.schema.lexer import SchemaTokens, read
from mycel.syntax.tokens import END
from tests.cases import cases


def tokens_of(text: str) -> list[str]:
    found = SchemaTokens(text).tokens
    return found[: found.index(END)]


@cases(
    ("text", "tokens"),
    [
        ("", []),
        (" \t\r\n", []),
        ("edge A:B->C", ["edge", "A", ":", "B", "->", "C"]),
        ("0..100", ["0", "..", "100"]),
        ("-1.5..-0.5", ["-1.5", "..", "-0.5"]),
        ("..1e+5", ["..", "1e+5"]),
        ("0..*", ["0", "..", "*"]),
        ("in-progress", ["in-progress"]),
        ("3d-model", ["3d-model"]),
        ("@key(a,b)", ["@", "key", "(", "a", ",", "b", ")"]),
        ("[String]?", ["[", "String", "]", "?"]),
        ('"a // b"', ['"a // b"']),
        (r'"a \" b"', [r'"a \" b"']),
        ("a // b\nc", ["a", "c"]),
        ("a /* b\n * c **/ d", ["a", "d"]),
        ("a /**/ b /***/ c", ["a", "b", "c"]),
        ("a /* b", ["a", "/* b"]),
        ("foo.bar", ["foo.bar"]),
        ("größe", ["größe"]),
    ],
)
def test_a_text_is_split_into_tokens(text: str, tokens: list[str]) -> None:
    assert tokens_of(text) == tokens


def test_every_token_knows_its_place() -> None:
    text = "node Person { // who\n  name: String }"
    tokens = SchemaTokens(text)
    for token, start, end in zip(tokens.tokens, tokens.starts, tokens.ends, strict=True):
        assert text[start:end] == token.removesuffix(END)


def test_the_end_stands_right_after_the_last_token() -> None:
    tokens = SchemaTokens("node   \n // nothing\n")
    assert tokens.starts[1] == len("node")


def test_comments_that_are_never_closed_take_linear_time() -> None:
    # Looking for the end of each would take hours.
    assert tokens_of("/* " * 500_000) == ["/* " * 500_000]
    assert len(tokens_of('"\\' * 500_000)) <= 2


def test_a_byte_order_mark_at_the_start_is_skipped() -> None:
    assert read("\ufeffnode").starts[0] == 0


def test_a_text_that_is_too_long_is_refused() -> None:
    assert read(" " * SCHEMA_BYTES_MAX).tokens[0] == END
    with pytest.raises(ResourceExhausted):
        read(" " * (SCHEMA_BYTES_MAX + 1))
    with pytest.raises(ResourceExhausted):
        read("ü" * (SCHEMA_BYTES_MAX // 2 + 1))


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(SchemaError, match="not bytes"):
        read(b"node P {}")
    with pytest.raises(SchemaError, match="surrogate") as caught:
        read("node P {}\n \ud800")
    assert (caught.value.data["line"], caught.value.data["column"]) == (2, 2)
