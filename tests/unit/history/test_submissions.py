"""Submissions and proposals: kept with the graph, committed once, forgotten with what is purged."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import DuplicateExists, InvalidValueType, NotFound, VersionConflict
from mycel.store.log import marks
from tests.stored_bytes import stored_bytes

NOTE = {"type": "Note", "name": "Tea"}


def edit(**attributes: Any) -> list[dict[str, Any]]:
    return [{"concept": NOTE, "attributes": attributes}]


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with mycel.open(tmp_path / "notes.db", actor="ada") as db:
        db.write(lambda tx: (tx.define_type("Note"), tx.put_concept("Note", "Tea", {"hot": True})))
        yield db


def head(db: mycel.Graph) -> str:
    return next(db.history.log(limit=1)).commit


def test_an_outcome_is_kept_with_its_commit_and_survives_a_restart(db: mycel.Graph) -> None:
    base = head(db)
    done = db.submissions.submit(edit(hot=False), base=base, key="a-key-12")
    assert (done.status, done.commit, done.counts["changed"]) == ("committed", head(db), 1)
    with mycel.open(db.path, actor="ada") as again:
        assert again.submissions.outcome("a-key-12") == done
        assert again.submissions.submit(edit(hot=False), base=base, key="a-key-12") == done
        with pytest.raises(DuplicateExists):
            again.submissions.submit(edit(hot=True), base=base, key="a-key-12")
        with pytest.raises(NotFound):
            again.submissions.outcome("a-key-12", by="ben")
    with pytest.raises(VersionConflict) as stale:
        db.submissions.submit(edit(hot=None), base=base)
    assert stale.value.data["head"] == head(db)


def test_the_same_key_at_the_same_time_is_committed_once(db: mycel.Graph) -> None:
    base = head(db)

    def send(_: int) -> str:
        return db.submissions.submit(
            edit(hot=1), base=base, key="one-key-1", on_conflict="merge"
        ).commit

    with ThreadPoolExecutor(8) as pool:
        commits = set(pool.map(send, range(16)))
    assert commits == {head(db)}
    assert db.verify().ok


def test_proposals_are_of_their_branch_and_go_with_what_is_purged(db: mycel.Graph) -> None:
    made = db.submissions.submit(edit(hot="secret"), on_conflict="propose")
    db.branches.create("draft")
    with db.open_branch("draft") as draft:
        assert len(draft.proposals) == 0
    assert [proposal.id for proposal in db.proposals] == [made.proposal]
    snapshot = db.snapshot()
    db.proposals.comment(made.proposal, "why?", by="ben")
    assert db.snapshot() == snapshot
    db.purge(("Note", "Tea"), "asked for")
    assert list(db.proposals) == []
    db.close()
    assert b"secret" not in stored_bytes(db.path)


def test_a_commit_of_a_proposal_has_the_author_of_the_proposal(db: mycel.Graph) -> None:
    made = db.submissions.submit(edit(hot=0), on_conflict="propose", by="eve", message="cooler")
    done = db.proposals.accept(made.proposal, by="ada")
    entry = next(db.history.log(limit=1))
    assert (entry.commit, entry.actor) == (done.commit, "eve")
    assert entry.message == "cooler (accepted by ada)"
    assert db.proposals.get(made.proposal).status == "accepted"
    broken = db.submissions.submit(edit(hot=1), base=made and head(db), on_conflict="propose")
    db.write(lambda tx: tx.update(("Note", "Tea"), attributes={"hot": 2}))
    refused = db.proposals.accept(broken.proposal)
    assert (refused.status, refused.conflicts[0].ours) == ("conflicts", 2)
    assert db.proposals.get(broken.proposal).status == "open"


def test_many_new_concepts_are_written_together_as_one_by_one(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.put_concept("Note", "n5", {"old": 1}))
    db.write(lambda tx: tx.retire(tx.get_concept("Note", "n5").id))
    base = head(db)
    edits = [
        {"concept": {"type": "Note", "name": f"n{number}"}, "attributes": {"number": number}}
        for number in range(12)
    ]
    done = db.submissions.submit([*edits, *edit(hot=None)], base=base)
    assert (done.status, done.counts) == ("committed", {"added": 12, "removed": 0, "changed": 1})
    assert db.get_concept("Note", "n5").attributes == {"number": 5}  # Nothing of the old one.
    assert [db.get_concept("Note", f"n{number}").version for number in (0, 11)] == [1, 1]
    assert db.get_concept("Note", "Tea").attributes == {"hot": None}
    with mycel.open(actor="ada") as alone:
        alone.write(lambda tx: tx.define_type("Note"))
        for each in edits:
            alone.submissions.submit([each])
        for each in edits:
            there, here = (
                graph.get_concept("Note", each["concept"]["name"]) for graph in (db, alone)
            )
            assert (there.attributes, there.metadata) == (here.attributes, here.metadata)
    assert db.submissions.submit(edits, base=head(db)).status == "unchanged"
    with pytest.raises(InvalidValueType, match="surrogate"):
        db.submissions.submit([{"concept": {"type": "Note", "name": "a\ud800"}}])
    assert db.verify().ok


def test_each_new_concept_that_a_schema_refuses_is_told(db: mycel.Graph) -> None:
    db.schema.apply("node Plan { step: I32 }")
    edits = [
        {"concept": {"type": "Plan", "name": f"p{number}"}, "attributes": {"step": step}}
        for number, step in enumerate([1, "two", 3, "four", 5])
    ]
    refused = db.submissions.submit(edits, base=head(db))
    assert refused.status == "conflicts"
    assert sorted(conflict.label for conflict in refused.conflicts) == [
        'Plan "p1"',
        'Plan "p3"',
    ]
    assert db.get_concept("Plan", "p0") is None
    assert db.submissions.submit(edits[::2], base=head(db)).counts["added"] == 3


def test_a_uri_that_another_type_has_is_still_a_conflict(db: mycel.Graph) -> None:
    uri = "concept://shop/auth"
    base = head(db)
    db.write(lambda tx: (tx.define_type("Idea"), tx.put_concept("Idea", uri)))
    edits = [{"concept": {"type": "Note", "name": name}} for name in (uri, "a", "b", "c", "d", "e")]
    refused = db.submissions.submit(edits, base=base, on_conflict="merge")
    assert (refused.status, [each.kind for each in refused.conflicts]) == (
        "conflicts",
        ["key_clash"],
    )
    assert db.get_concept("Note", "a") is None


def test_a_submission_does_not_read_the_marks_of_all_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    read = marks.fetch_all

    def counting(*words: Any) -> list[Any]:
        rows = read(*words)
        sizes.append(len(rows))
        return rows

    with mycel.open(core_capsules=False) as db:
        db.write(lambda tx: tx.define_type("Fact"))

        def submit(name: str) -> None:
            edit = {"concept": {"type": "Fact", "name": name}, "attributes": {}, "metadata": {}}
            db.submissions.submit([edit], on_conflict="merge")

        for number in range(10):
            submit(f"before {number}")
        monkeypatch.setattr(marks, "fetch_all", counting)
        submit("the last")
    assert sizes
    assert max(sizes) <= 1
