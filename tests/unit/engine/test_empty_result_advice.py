"""Advice: an answer without rows says what about the question may be the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.engine import empty_result_advice as advice_module
from mycel.engine.empty_result_advice import ADVICE_MAX, LOOKS_MAX
from mycel.engine.references import NAMES_COMPARED_MAX
from mycel.store.query.reader import Reader

COMPOSER = {
    "instance_schema": {
        "born": {"type": "integer"},
        "works": {"type": "string[]"},
        "epoch": {"type": "string"},
        "anything": {},
    }
}


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with mycel.open(core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Composer", COMPOSER)
            tx.define_type("Place")
            tx.define_predicate(
                "lived_in", {"subject_types": ["Composer"], "object_types": ["Place"]}
            )
            tx.define_predicate(
                "met",
                {
                    "subject_types": ["Composer"],
                    "object_types": ["Composer"],
                    "is_symmetric": True,
                },
            )
            tx.define_predicate("knows_of")
            mozart = tx.put_concept("Composer", "Mozart", {"born": 1756, "epoch": "classic"})
            tx.put_concept("Composer", "Ludwig van Beethoven", {"born": 1770})
            vienna = tx.put_concept("Place", "Vienna")
            tx.add_edge(mozart, "lived_in", vienna)
        yield db


def told(db: mycel.Graph, where: str, **parameters: Any) -> list[str]:
    """The warnings of a question without an answer."""
    result = db.execute(f"FIND(?x) WHERE {{ {where} }}", parameters)
    assert result.rows == []
    return list(result.warnings)


# Names.


@pytest.mark.parametrize("name", ["Mozrt", "mozart", "MOZART"])
def test_a_misspelled_name_is_told_with_the_right_one(db: mycel.Graph, name: str) -> None:
    expected = [f"There is no Composer named '{name}'. Did you mean 'Mozart'?"]
    assert told(db, '?x {type: "Composer", name: :name}', name=name) == expected
    assert told(db, '({type: "Composer", name: :name}, "lived_in", ?x)', name=name) == expected
    assert told(db, '?x {type: "Composer"} FILTER(?x.name == :name)', name=name) == expected


def test_a_part_of_a_name_leads_to_the_whole(db: mycel.Graph) -> None:
    (sentence,) = told(db, '?x {type: "Composer", name: "Beethoven"}')
    assert sentence.endswith("Did you mean 'Ludwig van Beethoven'?")


def test_a_name_like_no_other_is_only_said_to_be_missing(db: mycel.Graph) -> None:
    assert told(db, '?x {type: "Composer", name: "Q"}') == ["There is no Composer named 'Q'."]
    assert told(db, '?x {name: "Q"}') == ["There is no concept named 'Q'."]
    assert told(db, '?x {id: "C:9000"}') == ["There is no concept with the id 'C:9000'."]
    for id_ in ("P:9001:lived_in", "P:1:knows_of"):
        no_link = [f"There is no link with the id '{id_}'."]
        assert told(db, "?x (id: :id)", id=id_) == no_link
        assert told(db, '(?x, "knows_of", (id: :id))', id=id_) == no_link


def test_a_name_that_another_type_has_is_told_with_that_type(db: mycel.Graph) -> None:
    (sentence,) = told(db, '?x {type: "Composer", name: "Vienna"}')
    assert sentence == "There is no Composer named 'Vienna', but there is one of type Place."


def test_in_a_large_type_names_that_begin_alike_are_compared(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concepts(
            [mycel.ConceptRow("Place", f"p{n}") for n in range(NAMES_COMPARED_MAX + 10)]
        )
        tx.put_concept("Place", "Salzburg")
    (sentence,) = told(db, '?x {type: "Place", name: "salzberg"}')
    assert sentence.endswith("Did you mean 'Salzburg'?")


def test_names_in_every_union_and_in_nested_patterns_are_looked_at(db: mycel.Graph) -> None:
    where = """
        (({type: "Composer", name: "Mozrt"}, "lived_in", {type: "Place"}), "knows_of", ?x)
        UNION { ?x {type: "Place", name: "Viena"} }
    """
    assert [each.split("'")[1] for each in told(db, where)] == ["Mozrt", "Viena"]


# Attributes.


def test_an_attribute_that_is_not_declared_is_told_with_a_close_one(db: mycel.Graph) -> None:
    (sentence,) = told(db, '?x {type: "Composer"} FILTER(?x.attributes.borm > 1)')
    assert sentence == "Composer declares no attribute 'borm'; did you mean 'born'?"


def test_without_a_close_one_the_declared_attributes_are_listed(db: mycel.Graph) -> None:
    (sentence,) = told(db, '?x {type: "Composer"} FILTER(1700 < ?x.attributes.year)')
    assert sentence == (
        "Composer declares no attribute 'year'; it declares anything, born, epoch, works."
    )


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (
            '?x.attributes.born == "1756"',
            "born is declared as integer; comparing it with a string is never true.",
        ),
        (
            '"1756" <= ?x.attributes.born',
            "born is declared as integer; comparing it with a string is never true.",
        ),
        (
            "IN(?x.attributes.epoch, [1, 2])",
            "epoch is declared as string; comparing it with a number is never true.",
        ),
        (
            'REGEX(?x.attributes.works, "Figaro")',
            "works is declared as array; REGEX is never true of it.",
        ),
        (
            'CONTAINS(?x.attributes.born, "17") && ?x.name != "Q"',
            "born is declared as integer; CONTAINS is never true of it.",
        ),
    ],
)
def test_a_comparison_that_the_schema_rules_out_is_told(
    db: mycel.Graph, condition: str, expected: str
) -> None:
    assert told(db, f'?x {{type: "Composer"}} FILTER({condition})') == [expected]


@pytest.mark.parametrize(
    "condition",
    [
        "?x.attributes.born == 1",
        "?x.attributes.born == 1.5",
        "?x.attributes.born == null && ?x.attributes.born > 0",
        'CONTAINS(?x.attributes.works, "Figaro")',
        '?x.attributes.anything == "1"',
        'IN(?x.attributes.born, [1, "1"])',
        '!(?x.attributes.born != "1")',
        "?x.metadata.borm == 1",
        '?x.attributes.epoch.borm == "1"',
    ],
)
def test_a_comparison_that_could_be_true_is_not_mentioned(db: mycel.Graph, condition: str) -> None:
    assert told(db, f'?x {{type: "Composer"}} FILTER({condition})') == []


def test_a_type_without_a_schema_declares_nothing_that_could_be_missed(db: mycel.Graph) -> None:
    assert told(db, '?x {type: "Place"} FILTER(?x.attributes.size > 1)') == []


# Links.


def test_a_link_that_is_asked_the_other_way_round_is_told(db: mycel.Graph) -> None:
    expected = ["lived_in leads from Composer to Place; the pattern has the opposite direction."]
    assert told(db, '?x {type: "Place"} (?x, "lived_in", {type: "Composer"})') == expected
    assert (
        told(db, '(?x, "lived_in"{1,2}, ?c) ?x {type: "Place"} ?c {type: "Composer"}') == expected
    )
    assert told(db, '(?x, :p, ?c) ?x {type: "Place"} ?c {type: "Composer"}', p="lived_in")


def test_a_link_between_types_that_it_never_links_is_told(db: mycel.Graph) -> None:
    (sentence,) = told(db, '?x {type: "Place"} (?x, "lived_in", {type: "Place"})')
    assert sentence == "lived_in leads from Composer to Place; the pattern leads from Place."
    (sentence,) = told(db, '?x {type: "Composer"} (?x, "lived_in", {type: "Composer"})')
    assert sentence == "lived_in leads from Composer to Place; the pattern leads to Composer."


@pytest.mark.parametrize(
    "where",
    [
        '?x {type: "Composer"} (?x, "met", ?y)',
        '?x {type: "Place"} (?x, "knows_of", {type: "Composer"})',
        '?x {type: "Place"} (?x, "lived_in" | "knows_of", {type: "Composer"})',
        '(?x, "knows_of", ?y)',
    ],
)
def test_a_link_that_could_be_there_is_not_mentioned(db: mycel.Graph, where: str) -> None:
    assert told(db, where) == []


# When there is advice, and how much.


@pytest.mark.parametrize(
    "command",
    [
        'FIND(?x) WHERE { ?x {type: "Composer"} OPTIONAL { ?y {type: "Composer", name: "Q"} } }',
        'FIND(?x) WHERE { ?x {type: "Composer"} NOT { ?x {type: "Composer", name: "Q"} } }',
        'FIND(?x) WHERE { ?x {type: "Place"} UNION { ?x {type: "Composer", name: "Q"} } }',
        'FIND(COUNT(?x)) WHERE { ?x {type: "Place"} UNION { ?x {type: "Place", name: "Q"} } }',
        'FIND(SUM(?x.attributes.born)) WHERE { ?x {type: "Composer", name: "Q"} }',
    ],
)
def test_an_answer_with_rows_comes_without_a_look(
    db: mycel.Graph, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> tuple[str, ...]:
        raise AssertionError

    monkeypatch.setattr(advice_module, "advice", never)
    assert db.execute(command).warnings == ()


def test_what_is_in_not_or_optional_empties_no_answer(db: mycel.Graph) -> None:
    where = """?x {type: "Composer"} FILTER(?x.attributes.born > 3000)
        NOT { ?x {type: "Composer", name: "Q"} } OPTIONAL { ?y {type: "Place", name: "Q"} }"""
    assert told(db, where) == []


def test_a_count_of_nothing_comes_with_advice(db: mycel.Graph) -> None:
    result = db.execute('FIND(COUNT(?x)) WHERE { ?x {type: "Composer", name: "Mozrt"} }')
    assert result.value == 0
    assert len(result.warnings) == 1


def test_the_past_is_not_advised(db: mycel.Graph) -> None:
    result = db.execute(
        'FIND(?x) AS OF :moment WHERE { ?x {type: "Composer", name: "Mozrt"} }',
        {"moment": db.snapshot().entries},
    )
    assert (result.rows, result.warnings) == ([], ())


def test_advice_stands_beside_other_warnings_and_on_the_wire(db: mycel.Graph) -> None:
    command = """FIND(?x) WHERE { ?x {type: "Composer", name: "Q"}
        UNION { ?x {type: "Place", name: "Q"} } FILTER(?x.name != "") }"""
    warnings = db.request({"command": command})["warnings"]
    assert "UNION" in warnings[0]
    assert len(warnings) == 3


def test_there_are_few_sentences_each_once(db: mycel.Graph) -> None:
    same = ' (?x, "lived_in", {type: "Place", name: "Q"})'
    assert len(told(db, same * 5)) == 1
    other = " ".join(f'(?x, "knows_of", {{type: "Place", name: "Q{n}"}})' for n in range(9))
    assert len(told(db, other)) == ADVICE_MAX


def test_a_long_command_is_looked_at_only_so_far(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[object] = []
    named = Reader.concept_named

    def counted(self: Reader, *arguments: Any, **options: Any) -> Any:
        looks.append(arguments)
        return named(self, *arguments, **options)

    monkeypatch.setattr(Reader, "concept_named", counted)
    branch = 'UNION { ?x {type: "Composer", name: "Mozart"} FILTER(?x.attributes.born == 1) }'
    assert told(db, '?x {type: "Composer", name: "Q"} ' + branch * 40)
    assert len(looks) == LOOKS_MAX


def test_advice_that_fails_leaves_the_answer_as_it_is(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(advice_module, "close_to", broken)
    assert told(db, '?x {type: "Composer", name: "Mozrt"}') == []


# Columns without a value.


def warned(db: mycel.Graph, command: str) -> list[str]:
    result = db.execute(command)
    assert result.rows
    return list(result.warnings)


def test_an_attribute_that_no_instance_has_is_told_where_its_column_is_null(
    db: mycel.Graph,
) -> None:
    declared = (
        "?c.attributes.borm is null in every row: Composer does not declare 'borm', and none of"
        " 2 sampled instances has it; did you mean 'born'?"
    )
    of_composers = 'WHERE { ?c {type: "Composer"} }'
    assert warned(db, f"FIND(?c.name, ?c.attributes.borm) {of_composers}") == [declared]
    assert warned(db, f"FIND(?c.attributes.borm) {of_composers}") == [declared]
    assert warned(db, f"FIND(?c.attributes.borm) {of_composers} LIMIT 1") == [declared]
    assert warned(db, f"FIND(?c.attributes.borm.day, COUNT(?c)) {of_composers}") == [
        declared.replace("?c.attributes.borm", "?c.attributes.borm.day")
    ]
    (bare,) = warned(db, 'FIND(?p.attributes["per km"]) WHERE { ?p {type: "Place"} }')
    assert bare.startswith('?p.attributes["per km"] is null in every row: Place does not declare')
    assert bare.endswith("'per km', and none of 1 sampled instances has it.")


def test_keys_that_are_no_identifiers_are_told_in_quotes(db: mycel.Graph) -> None:
    db.execute(
        'UPSERT { CONCEPT { {type: "Place", name: "Linz"} SET ATTRIBUTES {"": 1, "a b": 2, c: 3}}}'
    )
    (told,) = warned(db, 'FIND(?p.attributes.zzz) WHERE { ?p {type: "Place"} }')
    assert told.endswith('there are "", "a b", c.')


def test_a_column_of_nulls_is_no_matter_where_the_attribute_exists(db: mycel.Graph) -> None:
    db.execute('UPSERT { CONCEPT { {type: "Place", name: "Graz"} SET ATTRIBUTES { km2: 127 } } }')
    for command in (
        'FIND(?c.attributes.works) WHERE { ?c {type: "Composer"} }',
        'FIND(?c.attributes.born, ?c.attributes.works) WHERE { ?c {type: "Composer"} }',
        'FIND(?p.attributes.km2) WHERE { ?p {type: "Place", name: "Vienna"} }',
        'FIND(?p.attributes.zzz) WHERE { ?c {type: "Composer"} OPTIONAL { (?c, "met", ?p) } }',
        'FIND(?l.attributes.zzz) WHERE { ?l (?a, "lived_in", ?b) }',
    ):
        assert warned(db, command) == []
