"""Mentions: known concepts that a text names, healed by every rename, alias and new concept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mycel
from mycel.knowledge.knowledge import Knowledge
from mycel.search.index import mentions, passage_index
from tests.prepared import NEW


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as db:
        db.write(lambda tx: tx.define_type("Concept"))
        yield db


@pytest.fixture
def knowledge(db: mycel.Graph) -> Knowledge:
    return Knowledge(db, workspace="port")


def write(db: mycel.Graph, path: str, name: str, content: str = "", **more: object) -> None:
    said = {"name": name, "content": content, **more}
    db.write(lambda tx: tx.put_concept("Concept", f"concept://port/{path}", said))


def test_mentions_heal_when_concepts_appear_are_renamed_get_an_alias_or_go(
    db: mycel.Graph, knowledge: Knowledge
) -> None:
    write(db, "n0", "Harbour log", "The Alder Mill was sold to Piet Maas before the storm.")
    assert knowledge.mentions("n0") == ()
    write(db, "n2", "Piet Maas")
    assert knowledge.mentions("n0") == ("concept://port/n2",)
    write(db, "n1", "Old mill")
    assert knowledge.mentions("n0") == ("concept://port/n2",)
    write(db, "n1", "Alder Mill")
    assert set(knowledge.mentions("n0")) == {"concept://port/n2", "concept://port/n1"}
    write(db, "n3", "Storm of 1911", aliases=["the storm"])
    assert "concept://port/n3" in knowledge.mentions("n0")
    assert len(knowledge.mentions("n0", limit=1)) == 1
    write(db, "n2", "Pieter M.")
    assert "concept://port/n2" not in knowledge.mentions("n0")
    write(db, "n4", "Alder Mill")
    found = knowledge.mentions("n0")
    assert found == ("concept://port/n3",), "two concepts have the name, so it says nothing"
    db.write(lambda tx: tx.retire("concept://port/n3", reason="gone"))
    assert knowledge.mentions("n0") == ()
    write(db, "n0", "Harbour log", "Pieter M. was there.")
    assert knowledge.mentions("n0") == ("concept://port/n2",)


def test_mentions_without_a_relation_are_listed_until_somebody_writes_one(
    db: mycel.Graph, knowledge: Knowledge
) -> None:
    write(db, "n2", "Piet Maas")
    write(db, "n0", "Harbour log", "Piet Maas saw the ship.")
    pair = ("concept://port/n0", "concept://port/n2")
    assert knowledge.unlinked_mentions() == (pair,)
    before = db.snapshot()
    assert knowledge.unlinked_mentions() == (pair,)
    assert db.snapshot() == before, "a mention is derived"
    with db.transaction() as tx:
        tx.define_predicate("names")
        tx.put_proposition(pair[0], "names", pair[1])
    assert knowledge.unlinked_mentions() == ()


def test_a_node_is_answered_without_mentions_while_much_is_to_be_derived(
    db: mycel.Graph, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(db, "n2", "Piet Maas")
    write(db, "n0", "Harbour log", "Piet Maas saw the ship.")
    monkeypatch.setattr(passage_index, "DERIVED_AT_ONCE_MAX", 0)
    monkeypatch.setattr(mentions, "WAIT_S", 1e6)
    assert knowledge.mentions("n0") == ()
    assert knowledge.get("n0").name == "Harbour log"


def test_a_mere_number_or_letter_is_no_mention(db: mycel.Graph, knowledge: Knowledge) -> None:
    write(db, "n0", "Rules of the port", "Boats stay for 30 days at quay B. Pier 9 is closed.")
    for path, name in (
        ("limits/30", "30"),
        ("quays/b", "B"),
        ("9", "Pier 9"),
        ("limit", "30 days"),
    ):
        write(db, path, name)
    assert set(knowledge.mentions("n0")) == {"concept://port/9", "concept://port/limit"}
