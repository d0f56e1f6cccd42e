"""Answers stay within their bounds, whatever is in them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycel.errors import InternalError
from mycel.mcp import kip_responses
from mycel.mcp.results import (
    TEXT_TOKENS_MAX,
    Answer,
    TextPage,
    data_within,
    estimate,
    failure,
    size_of,
    smaller,
)
from mycel.model.limits import TOOL_RESULT_TOKENS_MAX

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values, st.integers(20, 200))
def test_what_is_made_smaller_has_no_more_than_was_asked_for(value: Any, tokens: int) -> None:
    shown = smaller(value, tokens)
    # What stands alone is not cut, however small the room is: a number, a mark for a text.
    assert size_of(shown) <= tokens + 12
    assert isinstance(shown, type(value))


def test_lists_and_texts_keep_their_beginnings() -> None:
    assert smaller(list(range(1000)), 100) == list(range(len(smaller(list(range(1000)), 100))))
    told = smaller("word " * 1000, 100)
    assert told.startswith("word word")
    assert "more characters" in told
    assert smaller({"small": 1, "large": "x" * 9999}, 50)["small"] == 1


def test_a_small_value_stays_as_it_is() -> None:
    value = {"a": [1, 2, {"b": "c"}]}
    assert data_within(value) is value


def test_a_page_takes_lines_until_it_is_full() -> None:
    page = TextPage(1000)
    taken = 0
    while page.add("a line of some words"):
        taken += 1
    assert 0 < taken < 1000
    page.close("and the end is said")
    assert str(page).endswith("and the end is said")
    assert estimate(str(page)) <= 1000


def test_a_page_takes_the_beginning_of_what_is_too_long() -> None:
    page = TextPage()
    shown = page.add_beginning("x" * 1_000_000)
    assert 0 < shown < 1_000_000
    assert estimate(str(page)) <= TEXT_TOKENS_MAX


@pytest.mark.parametrize("letter", ["x", "é", "知", "🌱"])
def test_every_script_is_counted_by_what_it_takes(letter: str) -> None:
    wire = Answer(letter * 200_000).to_wire()
    text = wire["content"][0]["text"]
    assert len(text.encode()) / 4 <= TOOL_RESULT_TOKENS_MAX
    assert "cut off here" in text


@pytest.mark.parametrize("widths", [(200, 1), (1, 200, 5), (0, 900), (5000, 5000)])
def test_columns_are_cut_at_the_same_row(widths: tuple[int, ...]) -> None:
    wide = [["y" * width for _ in range(3000)] for width in widths]
    expressions = ", ".join(["?x.name"] * len(wide))
    request = {"command": f"FIND({expressions}) WHERE {{ ?x {{type: 'T'}} }}".replace("'", '"')}
    told = kip_responses.answer(request, {"result": wide, "next_cursor": "abc"})
    assert told.data is not None
    lengths = {len(column) for column in told.data["result"]}
    assert len(lengths) == 1
    assert "next_cursor" not in told.data
    assert estimate(told.text) <= TOOL_RESULT_TOKENS_MAX // 2


def test_every_response_of_a_batch_gets_its_share() -> None:
    large = {"result": ["x" * 1000] * 500}
    request = {"commands": ["SEARCH CONCEPT :a", {"command": "DESCRIBE PRIMER"}, "FIND("]}
    told = kip_responses.answer(
        request, {"result": [large, large, {"error": {"code": "KIP_1001"}}]}
    )
    assert told.data is not None
    first, second, third = told.data["result"]
    assert 1 < len(first["result"]) < 500
    assert 1 < len(second["result"]) < 500
    assert third == {"error": {"code": "KIP_1001"}}
    assert estimate(told.text) <= TOOL_RESULT_TOKENS_MAX // 2
    assert not told.failed


def test_an_error_may_quote_what_json_cannot_carry() -> None:
    quoted = {"text": "\ud800", 1: 10**30, "odd": object(), "none": None, "inf": float("inf")}
    told = failure(InternalError("It said \ud800.", data=quoted))
    assert told.failed
    assert told.data is not None
    assert told.data["error"]["data"]["1"] == 10**30
    told.text.encode()
