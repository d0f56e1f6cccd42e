"""Conflicts as rows: lines of a text with a little context, values of an element, single values."""

from mycel.history.conflict_text import plain_lines, side_rows

HEAD = {"id": "9f3ac1d2", "label": "concept://shop/a", "reason": "Both changed it."}


def test_a_text_shows_its_contested_lines_and_two_around_them() -> None:
    same = [f"{n}\n" for n in range(9)]
    hunks = [
        {"same": same},
        {"base": ["b\n"], "ours": ["o\n"], "theirs": []},
        {"merged": same},
    ]
    rows = side_rows({**HEAD, "kind": "text", "hunks": hunks})
    assert [(row.versions, row.contested) for row in rows] == [
        (("7\n8",) * 3, False),
        (("b", "o", ""), True),
        (("0\n1",) * 3, False),
    ]


def test_an_element_shows_the_values_in_which_its_versions_differ() -> None:
    base = {"type": "Concept", "name": "a", "attributes": {"x": 1, "y": 2}, "metadata": {}}
    theirs = {**base, "attributes": {"x": 1, "y": [3]}}
    rows = side_rows({**HEAD, "kind": "delete_modify", "base": base, "theirs": theirs})
    assert [(row.name, row.versions) for row in rows] == [
        ("element", ("(there)", "(deleted)", "(there)")),
        ("attributes.y", ("2", "", "[3]")),
    ]


def test_lines_without_colour_have_the_place_the_reason_and_all_versions() -> None:
    told = {**HEAD, "kind": "value", "field": "attributes", "path": ["size", "cm"]}
    told |= {"base": "two\nlines", "ours": {"a": 1}, "suggestion": "ours"}
    assert plain_lines(told, characters_max=6) == [
        "9f3ac1d2 value: concept://shop/a, attributes.size.cm",
        "  Both changed it.",
        "  base: two\n    | li… (3 more characters)",
        '  ours: {"a": … (2 more characters)',
        "  theirs: (none)",
        "  suggestion: ours",
    ]
    decided = told | {"resolution": {"choice": "value", "value": 7}}
    assert plain_lines(decided, characters_max=99)[-1] == "  resolved: value 7"


def test_every_row_of_a_broken_constraint_is_told() -> None:
    rows = [{"label": f"Person/{name}", "message": "taken twice"} for name in "ab"]
    lines = plain_lines({**HEAD, "kind": "constraint", "rows": rows}, characters_max=99)
    assert lines[2:] == ["  - Person/a: taken twice", "  - Person/b: taken twice"]
