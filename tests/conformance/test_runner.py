"""The runner itself: it must fail where an engine is wrong."""

from contextlib import nullcontext
from typing import Any

import pytest

from tests.cases import cases
from tests.conformance.runner import (
    Case,
    Databases,
    MalformedCase,
    expression_count,
    includes,
    load,
    matches,
    run,
    same_rows,
)


class Canned:
    """An engine that gives prepared answers and remembers what it was asked."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    def request(self, request: Any, *, readonly: bool = False) -> dict[str, Any]:
        self.asked.append((request, readonly))
        return self.answers.pop(0)


def cases_of(tmp_path: Any, text: str) -> list[Case]:
    (tmp_path / "some.toml").write_text(text, encoding="utf-8")
    return list(load(tmp_path))


def case_of(tmp_path: Any, text: str) -> Case:
    return cases_of(tmp_path, f'[[case]]\nname = "it is so"\nsection = "3.3"\n{text}')[0]


@pytest.mark.parametrize(
    ("expected", "actual"),
    [(1, 1.0), ([1, "a", None], [1, "a", None]), ({"a": [True]}, {"a": [True]}), ("<any>", None)],
)
def test_equal_values_match(expected: Any, actual: Any) -> None:
    assert matches(expected, actual, {})


@cases(
    ("expected", "actual"),
    [
        (1, True),
        (0, False),
        (None, 0),
        ("1", 1),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": None}, {}),
        ([], {}),
        ("<id>", "C:0"),
        ("<id>", "P:5"),
        ("<time>", "2026-01-01"),
        ("<cursor>", ""),
        ("<unknown>", "x"),
    ],
)
def test_different_values_do_not_match(expected: Any, actual: Any) -> None:
    assert not matches(expected, actual, {})


def test_wildcards_match_what_they_stand_for() -> None:
    expected = ["<id>", "<id>", "<time>", "<cursor>", "<bound:it>"]
    actual = ["C:12", "P:13:eases", "2026-01-02T03:04:05.678901Z", "x", {"a": 1}]
    assert matches(expected, actual, {"it": {"a": 1}})


def test_rows_are_a_multiset() -> None:
    assert same_rows([[1, "a"], [2, "b"], [1, "a"]], [[2, "b"], [1, "a"], [1, "a"]], {})
    assert not same_rows([[1, "a"], [2, "b"]], [[1, "a"], [2, "b"], [2, "b"]], {})
    assert not same_rows([[1, "a"], [1, "a"], [2, "b"]], [[1, "a"], [2, "b"], [2, "b"]], {})


def test_a_wildcard_row_leaves_the_exact_rows_to_the_others() -> None:
    assert same_rows(["<any>", "b"], ["b", "a"], {})


def test_a_part_is_found_in_a_whole() -> None:
    whole = {"a": [{"b": 1, "c": 2}, {"b": 3}], "d": None}
    assert includes({"a": [{"b": 3}, {"b": 1}]}, whole, {})
    assert not includes({"a": [{"b": 3}, {"b": 3}]}, whole, {})
    assert not includes({"e": None}, whole, {})


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("FIND(?a) WHERE {}", 1),
        ("// two\nFIND (?a.name, COUNT(DISTINCT ?b)) WHERE { (?x, ?y, ?z) }", 2),
        ("FIND(COUNT(?a),\n SUM(?b.attributes.c), MAX(?d)) WHERE {}", 3),
    ],
)
def test_expressions_are_counted(command: str, count: int) -> None:
    assert expression_count(command) == count


@pytest.mark.parametrize(
    "text",
    [
        "result = '[1]'",
        "command = 'FIND'\nrequest = '{}'\nresult = '1'",
        "command = 'FIND'",
        "command = 'FIND'\nresult = '1'\nerror = 'KIP_1001'",
        "command = 'FIND'\nresults = '1'",
        "command = 'FIND'\nresult = '{'",
        "command = 'FIND'\nresult = '1'\n[[case.then]]\ncommand = 'F'\ngraph = 'x'\nresult = '1'",
    ],
)
def test_a_case_that_cannot_be_understood_is_refused(tmp_path: Any, text: str) -> None:
    with pytest.raises(MalformedCase):
        case_of(tmp_path, text)


def test_a_case_without_a_section_is_refused(tmp_path: Any) -> None:
    with pytest.raises(MalformedCase):
        cases_of(tmp_path, "[[case]]\nname = 'x'\ncommand = 'FIND'\nresult = '1'")


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("result = '[1]'", {"result": [2]}),
        ("result = '[1]'", {"error": {"code": "KIP_1001", "message": "", "hint": ""}}),
        ("result = 'null'", {}),
        ("rows = '[1, 2]'", {"result": [1]}),
        ("rows = '[1, 2]'", {"result": 1}),
        ("contains = '{\"a\": 1}'", {"result": {"a": 2}}),
        ("error = 'KIP_1001'", {"result": []}),
        ("error = 'KIP_1001'", {"error": {"code": "KIP_1002", "message": "", "hint": ""}}),
        (
            "error = 'KIP_1001'\nhint_has = ['closest']",
            {"error": {"code": "KIP_1001", "message": "closest", "hint": "none"}},
        ),
        ("result = '1'\nwarnings = 1", {"result": 1}),
        ("result = '1'\nwarnings = 0", {"result": 1, "warnings": ["careful"]}),
        ("result = '1'\nwarnings_have = ['x']", {"result": 1, "warnings": ["careful"]}),
        ("result = '1'\nnext_cursor = true", {"result": 1}),
        ("result = '1'\nnext_cursor = false", {"result": 1, "next_cursor": "c"}),
    ],
)
def test_a_wrong_answer_fails(tmp_path: Any, expected: str, answer: dict[str, Any]) -> None:
    case = case_of(tmp_path, f"command = 'FIND(?x) WHERE'\n{expected}")
    with pytest.raises(AssertionError):
        run(Canned(answer), case)


def test_columns_are_compared_as_rows(tmp_path: Any) -> None:
    case = case_of(tmp_path, """command = 'FIND(?a, ?b) WHERE'\nrows = '[[1, "a"], [2, "b"]]'""")
    run(Canned({"result": [[2, 1], ["b", "a"]]}), case)
    with pytest.raises(AssertionError):
        run(Canned({"result": [[2, 1], ["a", "b"]]}), case)
    with pytest.raises(AssertionError, match="unequal"):
        run(Canned({"result": [[2, 1], ["a"]]}), case)


def test_bound_values_and_cursors_are_parameters_of_later_steps(tmp_path: Any) -> None:
    text = """
bind = { it = 'FIND(?x.id) WHERE' }
command = 'FIND(?x) WHERE { ?x {id: :it} }'
result = '["<bound:it>"]'
[[case.then]]
command = 'NEXT'
parameters = '{"it": "mine"}'
result = '[]'
"""
    engine = Canned({"result": ["C:2"]}, {"result": ["C:2"], "next_cursor": "c"}, {"result": []})
    run(engine, case_of(tmp_path, text))
    assert [request.get("parameters") for request, _ in engine.asked] == [
        None,
        {"it": "C:2"},
        {"it": "mine", "last_cursor": "c"},
    ]


def test_readers_share_a_database_and_writers_do_not(tmp_path: Any) -> None:
    reads, writes = cases_of(
        tmp_path,
        "[[case]]\nname = 'a'\nsection = '3'\ncommand = 'FIND'\nresult = '1'\n"
        "[[case]]\nname = 'b'\nsection = '4'\ncommand = 'UPSERT {}'\nresult = '1'\n",
    )
    databases = Databases(lambda: nullcontext(Canned()))
    assert databases.for_case(reads) is databases.for_case(reads)
    assert databases.for_case(writes) is not databases.for_case(writes)
