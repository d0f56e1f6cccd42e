"""DESCRIBE: definitions as they were written, and what is seen in the graph itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.engine import describe
from mycel.errors import (
    ConstraintViolation,
    InvalidSyntax,
    InvalidValueType,
    NotFound,
    UnknownReference,
)
from mycel.store.database import Store
from tests.unit.engine.meta import PLANTED, run


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with PLANTED.opened() as db:
        yield db


# Lists of types.


def test_type_names_come_in_the_order_of_the_alphabet(db: mycel.Graph) -> None:
    names = run(db, "DESCRIBE CONCEPT TYPES").result
    assert names == sorted(names)
    assert {"$ConceptType", "$PropositionType", "Domain", "Plant", "Pest", "Tool"} <= set(names)
    predicates = run(db, "DESCRIBE PROPOSITION TYPES").result
    assert {"belongs_to_domain", "repels", "grows_beside"} <= set(predicates)
    assert not set(names) & set(predicates)


def test_pages_join_up_to_the_whole_list_without_overlap(db: mycel.Graph) -> None:
    whole = run(db, "DESCRIBE PROPOSITION TYPES")
    assert whole.next_cursor is None
    page = run(db, "DESCRIBE PROPOSITION TYPES LIMIT 7")
    pages = [page.result]
    while page.next_cursor is not None:
        page = run(db, "DESCRIBE PROPOSITION TYPES LIMIT 7 CURSOR :c", c=page.next_cursor)
        pages.append(page.result)
    assert [len(each) for each in pages[:-1]] == [7] * (len(pages) - 1)
    assert [name for each in pages for name in each] == whole.result


def test_a_last_page_that_is_full_has_no_cursor(db: mycel.Graph) -> None:
    count = len(run(db, "DESCRIBE CONCEPT TYPES").result)
    assert run(db, "DESCRIBE CONCEPT TYPES LIMIT :n", n=count).next_cursor is None
    assert run(db, "DESCRIBE CONCEPT TYPES LIMIT :n", n=count - 1).next_cursor is not None


def test_a_page_holds_only_so_many_whatever_is_asked_for(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(describe, "TYPES_PAGE", 3)
    page = run(db, "DESCRIBE CONCEPT TYPES LIMIT 1000000")
    assert len(page.result) == 3
    assert page.next_cursor is not None


@pytest.mark.parametrize(
    "damage",
    [
        lambda cursor: cursor[:-2] + "AA",
        lambda cursor: cursor + "=",
        lambda cursor: cursor[:4] + "!" + cursor[4:],
        lambda cursor: cursor + "界",
        str.swapcase,
    ],
)
def test_a_damaged_cursor_is_refused(db: mycel.Graph, damage) -> None:  # type: ignore[no-untyped-def]
    cursor = run(db, "DESCRIBE CONCEPT TYPES LIMIT 2").next_cursor
    assert cursor is not None
    with pytest.raises(InvalidSyntax, match="does not belong"):
        run(db, "DESCRIBE CONCEPT TYPES LIMIT 2 CURSOR :c", c=damage(cursor))


def test_a_cursor_of_another_list_is_refused(db: mycel.Graph) -> None:
    cursor = run(db, "DESCRIBE CONCEPT TYPES LIMIT 2").next_cursor
    with pytest.raises(InvalidSyntax):
        run(db, "DESCRIBE PROPOSITION TYPES LIMIT 2 CURSOR :c", c=cursor)


def test_parameters_of_the_wrong_kind_are_refused(db: mycel.Graph) -> None:
    with pytest.raises(ConstraintViolation):
        run(db, "DESCRIBE CONCEPT TYPES LIMIT :n", n=0)
    with pytest.raises(InvalidValueType):
        run(db, "DESCRIBE CONCEPT TYPE :name", name=7)
    with pytest.raises(UnknownReference):
        run(db, "DESCRIBE CONCEPT TYPE :name")


# One concept type.


def test_a_type_is_its_definition_with_live_facts_beside_it(db: mycel.Graph) -> None:
    told = run(db, 'DESCRIBE CONCEPT TYPE "Plant"').result
    definition = db.get_concept("$ConceptType", "Plant")
    assert definition is not None
    assert {key: told[key] for key in definition.to_dict()} == definition.to_dict()
    assert told["instance_count"] == 3
    assert "instance_count_is_minimum" not in told


def test_key_instances_come_first_and_those_that_are_gone_are_left_out(tmp_path: Path) -> None:
    PLANTED.put(tmp_path / "graph.db")
    instances = ["Mandrake", "薰衣草 Sage", 7, "Rosemary"]  # A guard would refuse the number.
    with mycel.Graph(Store(tmp_path / "graph.db", durability="off")) as db:
        with db.transaction() as tx:
            tx.put_concept("$ConceptType", "Plant", {"key_instances": instances})
        told = run(db, 'DESCRIBE CONCEPT TYPE "Plant"').result
    assert told["sample_instances"] == ["薰衣草 Sage", "Rosemary", "Lavender"]


def test_relationships_tell_both_directions_and_the_types_at_the_other_end(db: mycel.Graph) -> None:
    told = run(db, 'DESCRIBE CONCEPT TYPE "Plant"').result["relationships"]
    assert told["outgoing"] == [
        {"predicate": "repels", "links_seen": 3, "object_types": ["Pest"]},
        {"predicate": "doubts", "links_seen": 1, "object_types": ["PropositionLink"]},
        {"predicate": "grows_beside", "links_seen": 1, "object_types": ["Plant"]},
    ]
    assert told["incoming"] == [
        {"predicate": "grows_beside", "links_seen": 1, "subject_types": ["Plant"]}
    ]


def test_attributes_that_instances_really_have_are_told_with_their_types(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concept("Plant", "Moss", {"height_cm": "low", "shade": True, "soil": None})
    seen = run(db, 'DESCRIBE CONCEPT TYPE "Plant"').result["attributes_seen"]
    assert seen == [
        {"key": "description", "seen": 3, "types": ["string"]},
        {"key": "height_cm", "seen": 3, "types": ["number", "string"]},
        {"key": "aliases", "seen": 1, "types": ["array"]},
        {"key": "shade", "seen": 1, "types": ["boolean"]},
        {"key": "soil", "seen": 1, "types": ["null"]},
    ]


def test_a_type_without_instances_says_so(db: mycel.Graph) -> None:
    told = run(db, 'DESCRIBE CONCEPT TYPE "Tool"').result
    assert told["instance_count"] == 0
    assert told["sample_instances"] == []
    assert told["relationships"] == {"outgoing": [], "incoming": [], "instances_looked_at": 0}


def test_a_count_that_stopped_says_that_it_is_a_minimum(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(describe, "COUNT_MAX", 2)
    told = run(db, 'DESCRIBE CONCEPT TYPE "Plant"').result
    assert (told["instance_count"], told["instance_count_is_minimum"]) == (2, True)


def test_a_large_type_is_described_from_a_sample_of_its_whole_range(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(describe, "SAMPLED_ELEMENTS", 20)
    with db.transaction() as tx:
        for number in range(100):
            tx.put_concept("Tool", f"Tool {number}", {"early" if number < 50 else "late": 1})
    told = run(db, 'DESCRIBE CONCEPT TYPE "Tool"').result
    assert told["instance_count"] == 100
    assert told["relationships"]["instances_looked_at"] == 20
    assert [each["key"] for each in told["attributes_seen"]] == ["early", "late"]


def test_meta_types_can_be_described_like_any_other(db: mycel.Graph) -> None:
    told = run(db, 'DESCRIBE CONCEPT TYPE "$ConceptType"').result
    assert told["name"] == "$ConceptType"
    assert told["instance_count"] == len(run(db, "DESCRIBE CONCEPT TYPES").result)


# One predicate.


def test_a_predicate_tells_what_it_joins(db: mycel.Graph) -> None:
    told = run(db, 'DESCRIBE PROPOSITION TYPE "repels"').result
    assert told["link_count"] == told["links_looked_at"] == 3
    assert told["subject_types_seen"] == ["Plant"]
    assert told["object_types_seen"] == ["Pest"]
    assert len(told["sample_links"]) == 3
    assert {
        "id": "P:95:repels",
        "subject": {"type": "Plant", "name": "Rosemary"},
        "object": {"type": "Pest", "name": "Aphid"},
    } in told["sample_links"]
    assert told["attributes_seen"] == [{"key": "evidence", "seen": 1, "types": ["string"]}]
    assert (told["is_symmetric"], told["is_transitive"], told["advice"]) == (False, False, [])


def test_an_end_that_is_a_link_is_shown_by_its_id(db: mycel.Graph) -> None:
    told = run(db, 'DESCRIBE PROPOSITION TYPE "doubts"').result
    assert told["object_types_seen"] == ["PropositionLink"]
    assert [link["object"] for link in told["sample_links"]] == [{"id": "P:95:repels"}]


def test_a_transitive_predicate_tells_how_its_closure_is_asked_for(db: mycel.Graph) -> None:
    told = run(db, 'DESCRIBE PROPOSITION TYPE "descends_from"').result
    assert told["is_transitive"] is True
    (advice,) = told["advice"]
    assert '(?s, "descends_from"{1,}, ?o)' in advice


def test_a_symmetric_predicate_tells_that_one_direction_is_enough(db: mycel.Graph) -> None:
    told = run(db, 'DESCRIBE PROPOSITION TYPE "grows_beside"').result
    assert told["is_symmetric"] is True
    assert "one direction" in told["advice"][0]


# What is not there.


def test_a_type_that_is_not_there_is_answered_with_the_closest_names(db: mycel.Graph) -> None:
    with pytest.raises(NotFound) as failure:
        run(db, 'DESCRIBE CONCEPT TYPE "plnt"')
    assert failure.value.code == "KIP_3002"
    assert "'Plant'" in failure.value.hint
    with pytest.raises(NotFound, match="'repels'"):
        run(db, 'DESCRIBE PROPOSITION TYPE "Repels"')


def test_a_predicate_asked_for_as_a_type_is_pointed_to_the_right_command(db: mycel.Graph) -> None:
    with pytest.raises(NotFound) as failure:
        run(db, 'DESCRIBE CONCEPT TYPE "repels"')
    assert 'DESCRIBE PROPOSITION TYPE "repels"' in failure.value.hint


@pytest.mark.parametrize("name", ["", "a b", "x" * 5000, 'q"uote', "nul\0byte"])
def test_strange_names_are_simply_not_there(db: mycel.Graph, name: str) -> None:
    with pytest.raises(NotFound):
        run(db, "DESCRIBE CONCEPT TYPE :name", name=name)


def test_a_type_that_was_removed_is_not_described_any_more(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tool = tx.get_concept("$ConceptType", "Tool")
        assert tool is not None
        tx.retire(tool)
    with pytest.raises(NotFound):
        run(db, 'DESCRIBE CONCEPT TYPE "Tool"')
    assert "Tool" not in run(db, "DESCRIBE CONCEPT TYPES").result


# Capabilities and history.


def test_capabilities_name_every_statement_and_give_a_reason_for_what_is_not_supported(
    db: mycel.Graph,
) -> None:
    described = run(db, "DESCRIBE CAPABILITIES").result
    assert {"FIND", "UPSERT", "SUPERSEDE", "CHALLENGE"} <= set(described["statements"])
    assert described["protocol"]["name"] == "KIP"
    assert "RC11" in described["protocol"]["with"]
    assert all(each["use"] for each in described["supported"])
    assert all(each["reason"] for each in described["not_supported"])


def test_history_lists_commits_newest_first_by_pages_and_conditions(db: mycel.Graph) -> None:
    before = run(db, "DESCRIBE HISTORY").result
    for name in ("one", "two", "three"):
        db.write(
            lambda tx, name=name: tx.put_concept("Tool", name), actor="ada", message=f"tool {name}"
        )
    whole = run(db, "DESCRIBE HISTORY").result
    assert [each["message"] for each in whole[:3]] == ["tool three", "tool two", "tool one"]
    assert whole[3:] == before
    first = run(db, 'DESCRIBE HISTORY ACTOR "ada" LIMIT 2')
    assert [each["seq"] for each in first.result] == [each["seq"] for each in whole[:2]]
    second = run(db, 'DESCRIBE HISTORY ACTOR "ada" LIMIT 2 CURSOR :after', after=first.next_cursor)
    assert [each["message"] for each in second.result] == ["tool one"]
    assert second.next_cursor is None
    under = run(db, 'DESCRIBE HISTORY UNDER "kip:Tool/two"').result
    assert [each["message"] for each in under] == ["tool two"]
    assert not run(db, 'DESCRIBE HISTORY ACTOR "nobody"').result
    with pytest.raises(InvalidSyntax):
        run(db, 'DESCRIBE HISTORY CURSOR "wrong"')
