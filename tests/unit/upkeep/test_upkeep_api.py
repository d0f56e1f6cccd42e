"""Through `db.upkeep` elements leave answers and come back, and rules and health are seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.errors import ConstraintViolation, ImmutableTarget, MycelError, NotFound, TypeMismatch
from mycel.knowledge.node_values import NewNode
from mycel.search.modes import SearchMode
from mycel.upkeep.health import Health, HealthFinding
from tests.unit.upkeep.test_cycle import Clock, define, notes, step


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(tmp_path: Path, clock: Clock) -> Iterator[mycel.Graph]:
    with mycel.open(tmp_path / "graph.db", clock_us=clock) as opened:
        opened.write(define)
        with opened.transaction() as tx:
            for name in ("old", "new"):
                tx.put_concept("Note", name)
        yield opened


def test_an_element_is_archived_restored_and_superseded(db: mycel.Graph) -> None:
    old, new = ("Note", "old"), ("Note", "new")
    assert db.upkeep.archive(old, "not needed")
    assert not db.upkeep.archive(old)
    assert notes(db) == {"new"}
    assert db.get_concept(*old).metadata["archived_because"] == "not needed"
    assert db.upkeep.restore(old)
    assert not db.upkeep.restore(old)
    assert notes(db) == {"old", "new"}
    link = db.upkeep.supersede(old, new, "it was wrong")
    assert db.get(link).metadata["reason"] == "it was wrong"
    assert db.get_concept(*old).metadata["status"] == "superseded"
    with pytest.raises(ConstraintViolation):
        db.upkeep.supersede(new, old)
    with pytest.raises(NotFound):
        db.upkeep.archive(("Note", "none"))
    with pytest.raises(ImmutableTarget):
        db.upkeep.archive(("$ConceptType", "Note"))


def test_a_rule_is_set_for_a_type_a_predicate_or_an_element(db: mycel.Graph, clock: Clock) -> None:
    rule = {"after": "10d", "then": "archive"}
    assert db.upkeep.set_retention(rule, type="Note")
    assert not db.upkeep.set_retention(rule, type="Note")
    assert db.upkeep.set_retention("never", ref=("Note", "old"))
    assert db.upkeep.set_retention("archive 1y after created", predicate="about")
    assert [rule[:3] for rule in db.upkeep.retention_rules()][-3:] == [
        ("type", "Note", "archive 10d after created"),
        ("predicate", "about", "archive 1y after created"),
        ("element", db.get(("Note", "old")).id, "never"),
    ]
    clock.turn(11)
    db.sleep()
    assert notes(db) == {"old"}
    for targets in ({}, {"type": "Note", "predicate": "about"}):
        with pytest.raises(ConstraintViolation):
            db.upkeep.set_retention(rule, **targets)
    with pytest.raises(TypeMismatch):
        db.upkeep.set_retention(rule, type="Nothing")
    with pytest.raises(MycelError):
        db.upkeep.set_retention({"after": "soon"}, type="Note")


def findings(health: Health, name: str) -> tuple[HealthFinding, ...]:
    return next(section.findings for section in health.sections if section.name == name)


def test_the_health_has_what_waits_what_is_due_and_what_grows(
    db: mycel.Graph, clock: Clock
) -> None:
    assert db.upkeep.health().last_cycle is None
    with db.transaction() as tx:
        for name in ("Acme", "ACME!"):
            tx.put_concept("Org", name)
        for name in ("Acme", "ACME!"):
            tx.put_proposition(("Note", "new"), "works_at", ("Org", name))
    db.execute('DELETE METADATA {"valid_until"} FROM ?l WHERE { ?l (?a, "works_at", ?b) }')
    db.sleep()
    db.upkeep.set_retention({"after": "1d"}, ref=("Note", "old"))
    clock.turn(2)
    health = db.upkeep.health()
    assert health.tasks == 2
    assert health.last_cycle is not None
    assert health.log[0]["time"] == health.last_cycle
    (duplicate,) = findings(health, "duplicate")
    assert "may be one" in duplicate.text
    assert len(duplicate.elements) == 2
    assert duplicate.task
    (contested,) = findings(health, "contested")
    assert "several values" in contested.text
    (due,) = findings(health, "stale")
    assert (due.text, due.task) == (
        "Note 'old' is due: archive, its own rule: archive 1 day after it was created.",
        "",
    )
    assert [finding.text for finding in findings(health, "orphaned")] == ["Note 'old' has no link."]
    growing = {growth.type: growth.new for growth in health.growing}
    assert growing["Org"] == growing["Note"] == 2
    assert not db.upkeep.health(limit=1).to_dict()["sections"][0]["findings"][1:]


def test_a_cycle_merges_the_text_index_derives_vectors_and_changes_no_knowledge(
    db: mycel.Graph, clock: Clock
) -> None:
    db.search("the first search by meaning makes vectors")
    for at in range(40):
        db.write(lambda tx, at=at: tx.put_concept("Note", f"note {at}", {"text": f"tide {at}"}))
        db.search(f"tide {at}", mode="keyword")
    assert db.embeddings.pending()
    first = step(db.sleep(), "indexes")
    assert first.done > 1
    assert db.embeddings.pending() <= 1, "the cycle's own report is written behind it"
    assert [hit.name for hit, _ in db.search("note 7", limit=1)] == ["note 7"]
    assert not db.verify().problems


def test_nodes_are_archived_restored_and_superseded_by_uri(db: mycel.Graph) -> None:
    knowledge = mycel.Knowledge(db, workspace="team")
    knowledge.remember([NewNode(f"concept://team/{name}", content="Text.") for name in "ab"])
    done, missing = knowledge.archive(["a", "nothing"], reason="old")
    assert done.result is True
    assert isinstance(missing.error, NotFound)
    assert [hit.uri for hit in knowledge.search("text")] == ["concept://team/b"]
    assert knowledge.get("a").caveats[0].startswith("archived")
    (again,) = knowledge.restore(["a"])
    assert again.result is True
    assert knowledge.supersede("a", "b") == ("concept://team/a", "concept://team/b")
    assert knowledge.get("a").caveats[0] == "superseded by concept://team/b"


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_archived_notes_are_found_by_their_words_in_every_mode(
    db: mycel.Graph, mode: SearchMode
) -> None:
    with db.transaction() as tx:
        for at, thing in enumerate(("lamps", "tables", "chairs", "curtains")):
            text = f"The workshop paints the {thing} on Monday."
            tx.put_concept("Note", f"n{at}", {"content": text})
    db.upkeep.archive(("Note", "n1"))
    asked = "who paints tables in the workshop"
    assert "n1" not in {element.name for element, *_ in db.search(asked, mode=mode)}
    found = db.search(asked, mode=mode, include_archived=True)
    assert "n1" in {element.name for element, *_ in found}
