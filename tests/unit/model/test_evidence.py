"""The belief in a link follows from its evidence by one rule."""

from __future__ import annotations

from random import Random

import pytest

import mycel
from mycel.errors import ConstraintViolation
from mycel.model.evidence import SOURCES_MAX, belief, with_source
from tests.prepared import NEW
from tests.reference.evidence import status


def test_the_numbers_of_a_belief_are_those_of_the_sources_that_count() -> None:
    metadata = {
        "confidence": 0.5,
        "author": "dora",
        "evidence": [
            "an entry that only points at something",
            {"stance": "supports", "by": "ana", "confidence": 0.5},
            {"stance": "challenges", "by": "ben", "source": "a", "confidence": 0.4},
            {"stance": "challenges", "by": "cleo", "source": "a", "confidence": 0.2},
        ],
    }
    assert belief(metadata) == ("contested", 0.75, 0.4, 2, 1)
    assert belief(metadata).text == "contested: 2 for (0.75), 1 against (0.4)"


def test_who_is_source_of_a_link_and_supports_it_counts_once() -> None:
    ana = {"stance": "supports", "by": "ana", "confidence": 0.8}
    assert belief({"source": "ana", "confidence": 0.5, "evidence": [ana]}).text == (
        "accepted: 1 for (0.8), 0 against (0)"
    )
    nameless = belief({"evidence": [ana]})
    assert (nameless.support, nameless.supporters) == (0.8, 1)
    weak = belief({"confidence": 0.9, "evidence": [{**ana, "confidence": 0.2}]})
    assert (weak.support, weak.supporters) == (0.9, 1), "support lowers no belief"
    ben = {**ana, "by": "ben", "confidence": 0.5}
    assert belief({"evidence": [ana, ben]}).support == 0.9


def test_the_rule_is_that_of_the_reference(seed: int) -> None:
    random = Random(seed)
    statuses = set()
    for _ in range(2_000):
        metadata = {
            "confidence": random.choice((None, 0, 0.3, 0.7, 1, True, "high", 7)),
            "author": random.choice((None, "a", "b")),
            "source": random.choice((None, None, "a", "s")),
            "evidence": [
                {
                    "stance": random.choice(("supports", "challenges", "doubts")),
                    "by": random.choice((None, "", "a", "b", "c", 3)),
                    "source": random.choice((None, "s", "t", "u", "b")),
                    "confidence": random.choice((0, 0.1, 0.3, 0.35, 0.5, 0.7, 0.9)),
                }
                for _ in range(random.randrange(6))
            ],
        }
        statuses.add(belief(metadata).status)
        assert belief(metadata).status == status(metadata), metadata
    assert len(statuses) == 4


def test_a_link_has_a_bounded_number_of_sources() -> None:
    full = {"evidence": [f"note {at}" for at in range(SOURCES_MAX)]}
    with pytest.raises(ConstraintViolation, match="at most 100"):
        with_source(full, "supports", {"by": "ana"}, "", "2030-01-01")


def test_a_contested_fact_is_marked_wherever_it_is_shown() -> None:
    with NEW.opened() as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        for name in ("billing", "ledger"):
            knowledge.add(f"concept://{name}", content=f"The {name} of the shop.")
        knowledge.link("concept://billing", "depends_on", "concept://ledger")
        where = 'WHERE { ?l (?s, "depends_on", ?o) }'
        db.execute(f'CHALLENGE ?l WITH {{by: "ana", confidence: 0.6}} {where}')
        text = "contested: 1 for (0.7), 1 against (0.6)"
        (relation,) = knowledge.relations("concept://billing").items
        assert text in relation.caveats
        reached = knowledge.traverse("concept://billing").nodes
        assert [node.reason.endswith(text) for node in reached] == [False, True]
        (hit,) = db.execute('SEARCH PROPOSITION "depends_on ledger"').value
        assert text in hit["metadata"]["_caveats"]
        asked = {step.name: step.asked for step in db.sleep().steps}
        assert asked["contradictions"] == 1
        db.execute(f'CHALLENGE ?l WITH {{by: "ana", confidence: 0.1}} {where}')
        (relation,) = knowledge.relations("concept://billing").items
        assert relation.caveats == ()
