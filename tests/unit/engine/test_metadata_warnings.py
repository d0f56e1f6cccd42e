"""Metadata whose keys have a meaning: values without one are stored, and the author is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.engine.metadata_warnings import WARNINGS_MAX

CONFIDENCE = "The confidence {0} is not a number from 0 to 1, such as 0.7."
TIME = 'The {0} {1} is not an ISO 8601 date or time, such as "2026-01-31T12:00:00Z".'


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with mycel.open(core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Buoy")
            tx.define_predicate("near")
        yield db


def told(db: mycel.Graph, command: str, **parameters: Any) -> list[str]:
    return list(db.execute(command, parameters).warnings)


def test_a_confidence_or_a_time_that_is_none_is_told_and_stored(db: mycel.Graph) -> None:
    command = """UPSERT { CONCEPT ?b { {type: "Buoy", name: "Red"} } }
        WITH METADATA { confidence: 7, expires_at: "not a date" }"""
    assert told(db, command) == [
        CONFIDENCE.format(7),
        TIME.format("expires_at", '"not a date"'),
    ]
    (stored,) = db.execute('FIND(?b.metadata.confidence) WHERE { ?b {type: "Buoy"} }').value
    assert stored == 7


def test_values_are_told_in_the_order_in_which_they_are_written(db: mycel.Graph) -> None:
    keys = ["valid_until", "observed_at", "expires_at", "created_at", "valid_from"]
    update = 'UPDATE ?b SET METADATA :m WHERE { ?b {type: "Buoy"} }'
    for order in (keys, keys[::-1]):
        expected = [TIME.format(key, '"soon"') for key in order]
        assert told(db, update, m=dict.fromkeys(order, "soon")) == expected[:WARNINGS_MAX]


def test_every_map_of_an_upsert_is_looked_at(db: mycel.Graph) -> None:
    command = """UPSERT {
        CONCEPT ?red { {type: "Buoy", name: "Red"} } WITH METADATA { confidence: "high" }
        CONCEPT ?green {
          {type: "Buoy", name: "Green"}
          SET PROPOSITIONS { ("near", ?red) WITH METADATA { valid_until: 12 } }
        }
        PROPOSITION { (?red, "near", ?green) } WITH METADATA :m
      }"""
    assert told(db, command, m={"confidence": True}) == [
        CONFIDENCE.format('"high"'),
        TIME.format("valid_until", 12),
        CONFIDENCE.format("true"),
    ]


def test_an_update_is_looked_at_too_and_so_is_a_dry_run(db: mycel.Graph) -> None:
    db.execute('UPSERT { CONCEPT { {type: "Buoy", name: "Red"} } }')
    command = 'UPDATE ?b SET METADATA { confidence: -0.1 } WHERE { ?b {type: "Buoy"} }'
    assert told(db, command) == [CONFIDENCE.format(-0.1)]
    assert told(
        db, 'UPDATE ?b SET METADATA :m WHERE { ?b {type: "Buoy"} }', m={"observed_at": "soon"}
    ) == [TIME.format("observed_at", '"soon"')]
    computed = "UPDATE ?b SET METADATA { confidence: ADD(?b.metadata.confidence, 1) }"
    assert told(db, f'{computed} WHERE {{ ?b {{type: "Buoy"}} }}') == []
    answer = db.request({"command": command, "dry_run": True})
    assert answer["warnings"] == [CONFIDENCE.format(-0.1)]
    batch = db.request({"commands": [command, command], "dry_run": True})
    assert [each["warnings"] for each in batch["result"]] == [[CONFIDENCE.format(-0.1)]] * 2


def test_values_that_mean_something_are_left_alone(db: mycel.Graph) -> None:
    for metadata in (
        {"confidence": 0},
        {"confidence": 1.0},
        {"confidence": None, "expires_at": None},
        {"expires_at": "2026-01-31"},
        {"observed_at": "2026-01-31T12:00:00+02:00", "note": "not a date"},
    ):
        command = 'UPSERT { CONCEPT { {type: "Buoy", name: "Red"} } } WITH METADATA :m'
        assert told(db, command, m=metadata) == []


def test_not_more_are_told_than_anybody_reads(db: mycel.Graph) -> None:
    blocks = "".join(
        f'CONCEPT {{ {{type: "Buoy", name: "{n}"}} }} WITH METADATA {{ confidence: {n} }}'
        for n in range(2, 9)
    )
    assert told(db, f"UPSERT {{ {blocks} }}") == [CONFIDENCE.format(n) for n in (2, 3, 4)]


def test_keys_that_look_like_known_ones_and_turned_periods_are_told(db: mycel.Graph) -> None:
    command = 'UPSERT { CONCEPT { {type: "Buoy", name: "Red"} } } WITH METADATA :m'
    for key, meant in (
        *(("valid_to", "valid_until"), ("pin", "pinned"), ("expires", "expires_at")),
        *(("Valid-Till", "valid_until"), ("retain", "retention"), ("on_hold", "hold")),
    ):
        sentence = f"The metadata {key} has no meaning; did you mean {meant}?"
        assert told(db, command, m={key: "2030-01-01"}) == [sentence]
        assert sentence not in told(db, command, m={key: "2030-01-01", meant: "2030-01-01"})
    turned = {"valid_from": "2030-01-02", "valid_until": "2030-01-01"}
    (sentence,) = told(db, command, m=turned)
    assert sentence.endswith("so it never holds.")
    assert told(db, command, m={**turned, "valid_until": "2030-01-03"}) == []
