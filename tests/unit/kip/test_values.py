"""Words of the language: strings, numbers, JSON values, names, white space."""

import json
from typing import Any

import pytest

from mycel.errors import InvalidIdentifier, InvalidSyntax
from mycel.kip import ast, parse
from tests.cases import cases
from tests.unit.kip.refusals import marked, refusal, where, with_value


def value(text: str) -> Any:
    """The node of a value."""
    command = parse(with_value(text))
    assert isinstance(command, ast.Capsule)
    block = command.upserts[0].blocks[0]
    assert isinstance(block, ast.ConceptBlock)
    if isinstance(block.attributes, ast.ObjectTemplate):
        return dict(block.attributes.entries)["k"]
    assert isinstance(block.attributes, ast.Literal)
    return ast.Literal(block.attributes.value["k"])


@cases(
    "text",
    [
        '"x"',
        '""',
        '"日本 🍄"',
        r'"\"\\\/\b\f\n\r\t"',
        r'"\u0041\ud83c\udf44"',
        '"\x7f"',
        "0",
        "-0",
        "-1",
        "12.5",
        "1e3",
        "1E+3",
        "-1.5e-7",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "-9223372036854775808",
        "true",
        "false",
        "null",
        "[]",
        "{}",
        '[1, [2, {"a": [null]}]]',
        '{"a": {"b": {}}}',
    ],
)
def test_json_values_mean_what_they_mean_in_json(text: str) -> None:
    found = value(text)
    assert found == ast.Literal(json.loads(text))
    assert repr(found.value) == repr(json.loads(text))


@cases(
    ("text", "expected"),
    [
        ("{a: 1}", {"a": 1}),
        ("{a:true}", {"a": True}),
        ('{"a":null,"b":false}', {"a": None, "b": False}),
        ("{a: 1,}", {"a": 1}),
        ("[1, 2,]", [1, 2]),
        ("{FIND: 1, true: 2, _x9: 3}", {"FIND": 1, "true": 2, "_x9": 3}),
        ('{"two words": 1, "": 2}', {"two words": 1, "": 2}),
        ("{ // why\n a: 1 // because\n }", {"a": 1}),
    ],
)
def test_keys_may_be_bare_and_commas_may_trail(text: str, expected: object) -> None:
    assert value(text) == ast.Literal(expected)


@cases(
    "text",
    [
        *["+1", ".5", "5.", "007", "-01", "0x1F", "1_000", "1e", "1e+", "1.e5", "--1", "1a"],
        *["NaN", "Infinity", "-Infinity", "1e999", "-1e999"],
        *["18446744073709551616", "-9223372036854775809", "1" * 5_000],
        *["'x'", '"x', '"a\nb"', '"a\tb"', '"\x00"', r'"\x"', r'"\u12"', r'"\u12G4"', '"\\'],
        *[r'"\ud800"', r'"\udc00x"', r'"\ud800\ud800"', '"\ud800"'],
        *["True", "None", "undefined", "word", "[1 2]", "[,]", "[1,,2]", "{,}", "{a}", "{a: }"],
        *["{a: 1 b: 2}", "{[]: 2}", "{a = 1}", "[1", "{a: 1", "]", "}"],
        *["?x", "?x.name", "ADD(1, 2)"],
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    assert isinstance(refusal(with_value(text)), InvalidSyntax)


@pytest.mark.parametrize("text", ["{a: 1, a: 2}", '{a: 1, "a": 2}', r'{"a": 1, "\u0061": :p}'])
def test_a_key_cannot_stand_twice(text: str) -> None:
    assert "twice" in refusal(with_value(text)).message


@cases("key", ["foo-bar", "9x", "größe", "a.b", "$x", "日本"])
def test_a_bare_key_that_is_no_identifier_is_refused_as_such(key: str) -> None:
    error = refusal(with_value(f"{{{key}: 1}}"))
    assert isinstance(error, InvalidIdentifier)
    assert "double quotes" in error.hint


def test_a_placeholder_makes_templates_of_what_is_around_it() -> None:
    assert value(":p") == ast.Placeholder("p")
    assert value("[1, :p]") == ast.ArrayTemplate((ast.Literal(1), ast.Placeholder("p")))
    assert value('{a: [{"b": 2}], c: {d: :p}}') == ast.ObjectTemplate(
        (
            ("a", ast.Literal([{"b": 2}])),
            ("c", ast.ObjectTemplate((("d", ast.Placeholder("p")),))),
        )
    )


def test_parts_of_a_template_know_where_they_stand() -> None:
    text = with_value("[1, [2, {a: 3}], :p, ]")
    command = parse(text)
    assert isinstance(command, ast.Capsule)
    attributes = command.upserts[0].blocks[0].attributes
    assert isinstance(attributes, ast.ObjectTemplate)
    array = attributes.entries[0][1]
    assert isinstance(array, ast.ArrayTemplate)
    assert [text[slice(*item.span)] for item in array.items] == ["1", "[2, {a: 3}]", ":p"]
    assert text[slice(*array.span)] == "[1, [2, {a: 3}], :p, ]"


def test_a_colon_after_a_key_is_not_a_placeholder() -> None:
    assert value("{a::p}") == ast.ObjectTemplate((("a", ast.Placeholder("p")),))
    assert parse(where("?x {type::t,name::n}")) == parse(where("?x {type: :t, name: :n}"))


@cases("text", [": p", ":", ":9x", ":a-b", "::p", ":größe", ':"p"'])
def test_a_placeholder_is_a_colon_and_an_identifier(text: str) -> None:
    refusal(with_value(text))


@pytest.mark.parametrize("text", [":9x", ":a-b", ":größe"])
def test_a_placeholder_with_a_wrong_name_is_refused_as_an_identifier(text: str) -> None:
    assert isinstance(refusal(with_value(text)), InvalidIdentifier)
    assert marked(with_value(text)) == text


@cases("name", ["?1a", "?foo-bar", "?größe", "?", "?a$", "?x..y", "?x.", "?x.1"])
def test_a_variable_with_a_wrong_name_is_refused_as_an_identifier(name: str) -> None:
    text = f'FIND({name}) WHERE {{ ?x {{type: "T"}} }}'
    assert isinstance(refusal(text), InvalidIdentifier)
    assert marked(text) == name


@cases(
    "text",
    [
        *["10:30", "http://x", "C:12", "P:5:treats", "note: this", "2025-01-01T00:00:00Z"],
        *["Capsule:Fungi_v1", ":smile:", "a :smile: b", ":", ":)", "fine :D", ":P yes", ": x"],
        *[
            ":name",
            "Hello :name",
            "Hello :name!",
            ":a :b",
            "x\n:name",
            "(see :foo)",
            ":x_1.",
            ":a-b",
        ],
        *["a::b", "::x", ":9x", ":größe", "x:y", "{:x}", "1:n", ":-)"],
    ],
)
def test_ordinary_text_with_colons_passes(text: str) -> None:
    assert value(json.dumps(text, ensure_ascii=False)) == ast.Literal(text)


def test_an_escaped_colon_is_text() -> None:
    assert value(r'"Hello \u003aname"') == ast.Literal("Hello :name")


def test_white_space_and_comments_are_free_between_tokens() -> None:
    spaced = 'FIND (\t?x.name )\r\nWHERE{?x{type:"T"}}'
    commented = '// first\nFIND(?x.name) // "what"\n//\nWHERE { ?x // {\n {type: "T"} } // end'
    plain = parse('FIND(?x.name) WHERE { ?x {type: "T"} }')
    assert parse(spaced) == plain
    assert parse(commented) == plain


@cases("space", ["\u00a0", "\ufeff", "\u2003", "\u200b", "\x0b", "\x0c", "\x00"])
def test_other_white_space_is_none(space: str) -> None:
    refusal(f'FIND(?x){space}WHERE {{ ?x {{type: "T"}} }}')


@pytest.mark.parametrize("text", ["", " \n", "// nothing\n"])
def test_an_empty_command_is_refused(text: str) -> None:
    assert "the end of the command" in refusal(text).message


@pytest.mark.parametrize("text", [None, 5, b"DESCRIBE PRIMER", ["DESCRIBE PRIMER"]])
def test_what_is_no_text_is_no_command(text: Any) -> None:
    with pytest.raises(InvalidSyntax, match="A command is text"):
        parse(text)
