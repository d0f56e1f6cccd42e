"""The one canonical way to write a command."""

from mycel.kip import ast, format, parse  # noqa: A004  The verb of the stage.
from mycel.kip.fragments import WIDTH, quoted
from tests.cases import cases
from tests.unit.kip.refusals import filtered, where, with_value


def formatted(text: str) -> str:
    result = format(parse(text))
    assert parse(result) == parse(text)
    return result


def test_short_lists_and_maps_stay_on_their_line() -> None:
    assert formatted(with_value('{a: [1, 2], "b c": {d: null}}')) == (
        "UPSERT {\n"
        "  CONCEPT {\n"
        '    {type: "T", name: "n"}\n'
        '    SET ATTRIBUTES {k: {a: [1, 2], "b c": {d: null}}}\n'
        "  }\n"
        "}"
    )


def test_long_maps_have_a_line_for_each_entry() -> None:
    words = ", ".join(f'"{"w" * 20}"' for _ in range(5))
    result = formatted(with_value(f"{{a: [{words}], b: :p}}"))
    assert '      k: {\n        a: [\n          "www' in result
    assert '",\n          "www' in result
    assert '"\n        ],\n        b: :p\n      }\n    }\n' in result


def test_a_long_find_and_a_long_filter_are_broken_up() -> None:
    paths = ", ".join(f"?x.attributes.some_long_name_{at}" for at in range(5))
    result = formatted(f'FIND({paths}) WHERE {{ ?x {{type: "T"}} }}')
    assert result.startswith("FIND(\n  ?x.attributes.some_long_name_0,\n")
    assert "_4\n)\nWHERE {" in result
    tests = " || ".join(f'?x.attributes.n_{at} == "some text" && true == true' for at in range(3))
    assert '\n    || ?x.attributes.n_1 == "some text" && true' in formatted(filtered(tests))


def test_no_line_of_a_wide_command_is_much_longer_than_the_width() -> None:
    numbers = ", ".join(map(str, range(200)))
    result = formatted(with_value(f"{{a: [{numbers}], b: [[{numbers}]]}}"))
    assert max(map(len, result.split("\n"))) <= WIDTH + 20


@cases(
    ("text", "expected"),
    [
        ("((?x.name == 1))", "?x.name == 1"),
        ("(?x == 1 && ?x == 2) || ?x == 3", "?x == 1 && ?x == 2 || ?x == 3"),
        ("?x == 1 && (?x == 2 || ?x == 3)", "?x == 1 && (?x == 2 || ?x == 3)"),
        ("! ?x == 1", "!(?x == 1)"),
        ("!(IS_NULL(?x))", "!IS_NULL(?x)"),
        ("!(!(?x == 1))", "!!(?x == 1)"),
        ("!(?x == 1 || ?x == 2)", "!(?x == 1 || ?x == 2)"),
    ],
)
def test_parentheses_stand_only_where_they_are_needed(text: str, expected: str) -> None:
    assert f"FILTER({expected})\n" in formatted(filtered(text))


@cases(
    ("text", "expected"),
    [
        ('"p"{2}', '"p"{2}'),
        ('"p"{2,2}', '"p"{2}'),
        ('"p" { 0 , }', '"p"{0,}'),
        ('"p"{1,3}', '"p"{1,3}'),
        ('"p"|:q', '"p" | :q'),
    ],
)
def test_predicates_have_one_way_to_be_written(text: str, expected: str) -> None:
    assert f"(?x, {expected}, ?y)" in formatted(where(f"(?x, {text}, ?y)"))


@cases(
    ("text", "expected"),
    [
        ("plain", '"plain"'),
        ('say "hi" \\ \n', '"say \\"hi\\" \\\\ \\n"'),
        ("日本 🍄", '"日本 🍄"'),
        ("10:30", '"10:30"'),
        (":name", '":name"'),
        ("a :b and :c", '"a :b and :c"'),
        (":smile:", '":smile:"'),
    ],
)
def test_strings_are_written_as_json(text: str, expected: str) -> None:
    assert quoted(text) == expected
    assert parse(f"SEARCH CONCEPT {expected}") == ast.Search("CONCEPT", ast.Literal(text))


def test_the_default_direction_is_left_out() -> None:
    text = 'FIND(?x) WHERE { ?x {type: "T"} } ORDER BY ?x ASC, ?y DESC'
    assert formatted(text).endswith("ORDER BY ?x, ?y DESC")


def test_comments_are_not_kept() -> None:
    assert formatted("DESCRIBE // what there is\nPRIMER") == "DESCRIBE PRIMER"
