"""Ids: what is one, and what is refused."""

import pytest

from mycel.errors import InvalidId
from mycel.model.ids import (
    FIRST_CONCEPT,
    FIRST_LINK,
    ID_STEP,
    NO_CONCEPT,
    NO_LINK,
    concept_id,
    is_concept,
    link_id,
    parse_concept_id,
    parse_id,
    parse_link_id,
)
from tests.cases import cases

LARGEST = 2**63 - 1

NO_IDS = [
    "",
    "C",
    "C:",
    "C:-2",
    "C:+2",
    "C: 2",
    " C:2",
    "C:2 ",
    "C:2\n",
    "\nC:2",
    "c:2",
    "C:2:x",
    "C:2.0",
    "C:1e2",
    "C:1_2",
    "C:0x2",
    "C:٢",  # ARABIC-INDIC DIGIT TWO
    "C:２",  # FULLWIDTH DIGIT TWO
    "C:²",
    "Ｃ:2",
    "C:2\0",
    "P:1",
    "P:1:",
    "P:-1:treats",
    "p:1:treats",
    "P::treats",
    "P:١:treats",
    "P:1:treats\n",
    "P:1:tre ats",
    "P:1:treats:twice",
    "P:1:1st",
    "P:1:\0",
    "P:1:\ud800",
    "P:1:لل",
    "P:1:" + "x" * 256,
    "P:1:" + "x" * 1_000_000,
    "X:2",
    "2",
    "treats",
]
NO_STRINGS = [
    None,
    2,
    2.0,
    True,
    b"C:2",
    ["C:2"],
    ("C:2",),
    {"id": "C:2"},
    object(),
    10**5000,  # Its digits cannot be printed.
]


def deeply_nested() -> list[object]:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


@cases("number", [2, 4, 12, 10**18, LARGEST - 1])
def test_a_concepts_number_survives_as_its_id(number: int) -> None:
    text = concept_id(number)
    assert text == f"C:{number}"
    assert parse_id(text) == parse_concept_id(text) == number


@cases("number", [1, 3, 13, 10**18 + 1, LARGEST])
@cases("predicate", ["treats", "is_a", "_x", "$meta", "X9", "p" * 255])
def test_a_propositions_number_survives_as_its_id(number: int, predicate: str) -> None:
    text = link_id(number, predicate)
    assert text == f"P:{number}:{predicate}"
    assert parse_id(text) == parse_link_id(text) == number


@cases("text", NO_IDS)
@cases("parse", [parse_id, parse_concept_id, parse_link_id])
def test_what_only_resembles_an_id_is_refused_with_a_short_message(parse, text: str) -> None:
    with pytest.raises(InvalidId) as caught:
        parse(text)
    assert len(caught.value.message) < 200


@cases("value", NO_STRINGS)
@cases("parse", [parse_id, parse_concept_id, parse_link_id])
def test_what_is_no_string_is_no_id(parse, value: object) -> None:
    with pytest.raises(InvalidId, match=type(value).__name__):
        parse(value)


def test_a_value_that_cannot_be_printed_is_refused_like_any_other() -> None:
    with pytest.raises(InvalidId):
        parse_id(deeply_nested())


def test_an_id_that_is_never_given_out_is_well_formed_and_the_id_of_nothing() -> None:
    for digits in ("1", "13", str(LARGEST), "0", "02", str(LARGEST + 1), "9" * 20, "8" * 1_000_000):
        assert parse_id(f"C:{digits}") == parse_concept_id(f"C:{digits}") == NO_CONCEPT
    for digits in ("2", "12", "0", "01", str(LARGEST + 2), "9" * 20):
        assert parse_id(f"P:{digits}:treats") == NO_LINK
        assert parse_link_id(f"P:{digits}:treats") == NO_LINK
    assert is_concept(NO_CONCEPT)
    assert not is_concept(NO_LINK)
    assert NO_LINK < NO_CONCEPT < min(FIRST_CONCEPT, FIRST_LINK)


def test_an_id_of_the_wrong_kind_is_refused_where_only_one_kind_will_do() -> None:
    with pytest.raises(InvalidId, match="'P:13:treats' is a proposition's id"):
        parse_concept_id("P:13:treats")
    with pytest.raises(InvalidId, match="'C:12' is a concept's id"):
        parse_link_id("C:12")


def test_the_first_numbers_are_of_their_kind_and_a_step_keeps_the_kind() -> None:
    assert is_concept(FIRST_CONCEPT)
    assert not is_concept(FIRST_LINK)
    assert is_concept(FIRST_CONCEPT + ID_STEP)
    assert not is_concept(FIRST_LINK + ID_STEP)
    assert parse_id(concept_id(FIRST_CONCEPT)) == FIRST_CONCEPT
    assert parse_id(link_id(FIRST_LINK, "p")) == FIRST_LINK
