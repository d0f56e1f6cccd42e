"""Concepts and propositions as readers get them."""

import json
from datetime import UTC, datetime
from typing import Any

from mycel.model.elements import Concept, Proposition

DAY = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
DAY_US = 1_700_000_000_000_000
LATER_US = DAY_US + 1_500_000


def concept(**changes: Any) -> Concept:
    made = Concept(
        number=12,
        type="Drug",
        name="Aspirin",
        attributes_json='{"dose":100}',
        metadata_json='{"source":"label"}',
        version=3,
        seq=7,
        created_us=DAY_US,
        created_by="andrew",
        updated_us=LATER_US,
    )
    return made._replace(**changes)


def proposition(**changes: Any) -> Proposition:
    made = Proposition(
        number=13,
        subject="C:12",
        predicate="treats",
        object="P:5:causes",
        weight=0.9,
        attributes_json='{"since":"1899"}',
        metadata_json="{}",
        version=1,
        seq=8,
        created_us=DAY_US,
        created_by="andrew",
        updated_us=DAY_US,
        type=0x41,
    )
    return made._replace(**changes)


def test_a_concept_shows_its_id_json_and_times() -> None:
    aspirin = concept()
    assert aspirin.id == "C:12"
    assert aspirin.attributes == {"dose": 100}
    assert aspirin.metadata == {"source": "label"}
    assert aspirin.created_at == DAY
    assert aspirin.updated_at == datetime(2023, 11, 14, 22, 13, 21, 500_000, tzinfo=UTC)
    assert not aspirin.tombstoned
    assert aspirin.tombstoned_at is None


def test_a_proposition_speaks_the_words_of_both_documents() -> None:
    link = proposition()
    assert link.id == "P:13:treats"
    assert (link.src, link.dst) == (link.subject, link.object) == ("C:12", "P:5:causes")
    assert link.data == link.attributes == {"since": "1899"}
    assert link.metadata == {}
    assert link.created_at == link.updated_at == DAY
    assert not link.tombstoned
    assert link.tombstoned_at is None


def test_changing_what_was_read_changes_nothing_stored() -> None:
    aspirin = concept()
    aspirin.attributes["dose"] = 500
    assert aspirin.attributes == {"dose": 100}


def test_the_wire_form_of_a_concept_is_that_of_kip_with_reserved_metadata() -> None:
    wire = concept().to_dict()
    assert json.loads(json.dumps(wire)) == {
        "_type": "ConceptNode",
        "id": "C:12",
        "type": "Drug",
        "name": "Aspirin",
        "attributes": {"dose": 100},
        "metadata": {
            "source": "label",
            "_version": 3,
            "_updated_at": "2023-11-14T22:13:21.500000Z",
        },
    }


def test_the_wire_form_of_a_proposition_is_that_of_kip_with_its_weight() -> None:
    wire = proposition().to_dict()
    assert json.loads(json.dumps(wire)) == {
        "_type": "PropositionLink",
        "id": "P:13:treats",
        "subject": "C:12",
        "predicate": "treats",
        "object": "P:5:causes",
        "weight": 0.9,
        "attributes": {"since": "1899"},
        "metadata": {"_version": 1, "_updated_at": "2023-11-14T22:13:20.000000Z"},
    }


def test_a_tombstone_shows_on_both_and_on_the_wire() -> None:
    buried = {
        "tombstoned_us": LATER_US,
        "tombstoned_by": "eve",
        "tombstoned_reason": "retracted",
    }
    for element in (concept(**buried), proposition(**buried)):
        assert element.tombstoned
        assert element.tombstoned_at == element._replace(updated_us=LATER_US).updated_at
        assert element.to_dict()["tombstone"] == {
            "at": "2023-11-14T22:13:21.500000Z",
            "by": "eve",
            "reason": "retracted",
        }


def test_a_tombstone_at_the_epoch_is_a_tombstone() -> None:
    assert concept(tombstoned_us=0).tombstoned
    assert proposition(tombstoned_us=0).to_dict()["tombstone"]["at"].startswith("1970-01-01")
