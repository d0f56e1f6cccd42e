"""Only a cycle asks its questions: what somebody else wrote in its place answers none of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.errors import MycelError
from tests.unit.upkeep.test_cycle import Clock, define
from tests.unit.upkeep.test_tending import put_pair

NAME = "merge_duplicates: Org:Acme / Org:ACME!"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(tmp_path: Path, clock: Clock) -> Iterator[mycel.Graph]:
    with mycel.open(tmp_path / "graph.db", clock_us=clock) as opened:
        opened.write(define)
        yield opened


@pytest.mark.parametrize(
    ("attributes", "metadata"),
    [
        ({"status": "completed", "result": "kept as they are"}, {}),
        ({"status": "pending", "not_before": "2999-01-01"}, {}),
        ({"status": "pending", "others": ["Org:b"], "target_name": "a"}, {}),
        ({"status": "pending"}, {"archived_at": "2020-01-01"}),
        ({"status": "failed"}, {"pinned": True}),
    ],
)
def test_a_task_that_somebody_wrote_does_not_stand_for_the_question(
    db: mycel.Graph, attributes: dict[str, object], metadata: dict[str, object]
) -> None:
    db.write(
        lambda tx: tx.put_concept(
            "SleepTask", NAME, {"requested_action": "merge_duplicates", **attributes}, metadata
        ),
        actor="mallory",
    )
    put_pair(db)
    task = db.tasks.next()
    assert task is not None
    assert task.action == "merge_duplicates"
    assert [getattr(element, "name", "") for element in task.elements] == ["Acme", "ACME!"]
    db.tasks.decide(task.id, "keep both")
    db.sleep()
    assert db.tasks.next() is None


def test_nobody_can_write_the_mark_of_a_task_that_was_asked(db: mycel.Graph) -> None:
    with pytest.raises(MycelError):
        db.write(lambda tx: tx.put_concept("SleepTask", NAME, {}, {"_asked": True}))
    with pytest.raises(MycelError):
        db.execute(
            "UPDATE ?x SET METADATA { _sleep: {compared: 99999} }"
            ' WHERE { ?x {type: "Person", name: "$system"} }'
        )


def test_a_task_of_somebody_else_says_so(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.put_concept("Org", "Acme"))
    values = {"target_type": "Org", "target_name": "Acme", "requested_action": "review"}
    db.write(lambda tx: tx.put_concept("SleepTask", "look", values), actor="mallory")
    task = db.tasks.next()
    assert task is not None
    assert "(A task of mallory; no cycle has asked this.)" in task.text


def test_a_task_is_put_off_for_a_day_whatever_its_attribute_says(
    db: mycel.Graph, clock: Clock
) -> None:
    put_pair(db)
    task = db.tasks.next()
    assert task is not None
    db.write(
        lambda tx: tx.update(task.id, attributes={"not_before": "2999-01-01"}), actor="mallory"
    )
    assert db.tasks.next() is None
    clock.turn(2)
    assert db.tasks.next() is not None


def test_tasks_of_others_keep_no_event_from_being_asked_about(
    db: mycel.Graph, clock: Clock
) -> None:
    values = {
        "event_class": "Observation",
        "start_time": "2030-01-01",
        "content_summary": "The deploy failed on a full disk",
    }
    db.write(lambda tx: tx.put_concept("Event", "e", values))
    about = {
        "target_type": "Event",
        "target_name": "e",
        "requested_action": "consolidate_to_semantic",
        "not_before": "2999-01-01",
    }
    for at in range(20):
        db.write(
            lambda tx, name=f"task {at}": tx.put_concept("SleepTask", name, about),
            actor="mallory",
        )
    clock.turn(2)
    assert "events: 1 asked" in db.sleep().summary


def test_texts_are_compared_whatever_the_attributes_of_the_system_say(db: mycel.Graph) -> None:
    text = "The nightly backup of the billing database fails when the disk is full"
    db.write(
        lambda tx: tx.update(
            ("Person", "$system"),
            attributes={
                "last_compared_number": 99_999,
                "last_sleep_cycle": "2999-01-01",
                "sleep_places": {"expire": 99_999},
            },
        ),
        actor="mallory",
    )
    assert db.upkeep.health().last_cycle is None
    for name in "ab":
        db.write(lambda tx, name=name: tx.put_concept("Note", name, {"description": text}))
    assert "repetitions: 1 asked" in db.sleep().summary
    last = db.upkeep.health().last_cycle
    assert last is not None
    assert not last.startswith("2999")


def test_branches_with_cycles_of_their_own_merge_and_keep_what_was_decided(
    db: mycel.Graph,
) -> None:
    db.sleep()
    db.branches.create("b")
    with db.open_branch("b") as branch:
        put_pair(branch)
        task = branch.tasks.next()
        assert task is not None
        branch.tasks.decide(task.id, "keep both")
        branch.sleep()
    text = "The nightly backup of the billing database fails when the disk is full"
    for name in "ab":
        db.write(lambda tx, name=name: tx.put_concept("Note", name, {"description": text}))
    merge = db.merge("b")
    assert merge.commit is not None
    assert len(db.upkeep.health().log) >= 2
    # What the branch decided is decided; what the branch did not see is compared here.
    asked = db.sleep()
    assert "duplicates: " not in asked.summary
    assert "repetitions: 1 asked" in asked.summary
    db.branches.create("c")
    with db.open_branch("c") as branch:
        branch.sleep()
    db.sleep()
    assert db.merge("c").conflicts == ()
