"""What is read is counted beside the graph, keeps what it should, and moves weights in bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from tests.unit.upkeep.test_cycle import Clock, notes, set_rule, step

URIS = [f"concept://shop/{name}" for name in "abcd"]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(tmp_path: Path, clock: Clock) -> Iterator[mycel.Graph]:
    with mycel.open(tmp_path / "graph.db", clock_us=clock) as opened:
        yield opened


@pytest.fixture
def shop(db: mycel.Graph) -> mycel.Knowledge:
    knowledge = mycel.Knowledge(db, workspace="shop")
    for name in "abcd":
        knowledge.add(name, content=f"About {name}.", type="Note")
    for target in "bcd":
        knowledge.link("a", "leads_to", target)
    return knowledge


def test_reading_counts_beside_the_graph_and_writes_nothing_to_it(
    db: mycel.Graph, shop: mycel.Knowledge, clock: Clock
) -> None:
    before = db.snapshot()
    shop.get("b")
    shop.get("b")
    shop.traverse("a")
    shop.recall("About c")
    use = db.uses(("Note", URIS[1]))
    assert use is not None
    assert use.uses >= 3
    assert use.last_us <= clock.now_us
    assert db.snapshot() == before


def test_the_counts_of_a_file_outlast_the_process(
    db: mycel.Graph, shop: mycel.Knowledge, tmp_path: Path, clock: Clock
) -> None:
    before = db.snapshot()
    shop.get("b")
    use = db.uses(("Note", URIS[1]))
    db.close()
    with mycel.open(tmp_path / "graph.db", clock_us=clock) as again:
        assert again.uses(("Note", URIS[1])) == use is not None
        assert again.snapshot() == before


def test_counting_can_be_switched_off_and_a_damaged_file_does_no_harm(
    tmp_path: Path, clock: Clock
) -> None:
    path = tmp_path / "graph.db"
    with mycel.open(path, clock_us=clock, count_uses=False) as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.add("a", content="A.", type="Note")
        shop.get("a")
        assert db.uses(("Note", URIS[0])) is None
    use_file = tmp_path / "graph.db-use"
    assert not use_file.exists()
    for garbage in (b"", b"no database at all" * 100):
        use_file.write_bytes(garbage)
        with mycel.open(path, clock_us=clock) as db:
            mycel.Knowledge(db, workspace="shop").get("a")
            assert db.uses(("Note", URIS[0])) is not None
    with mycel.open(path, readonly=True) as db:
        mycel.Knowledge(db, workspace="shop").get("a")


@pytest.mark.parametrize("rule", ['from: "last_used"', 'from: "created", keep_if: ["used"]'])
def test_what_is_used_is_kept_for_the_time_of_its_rule_again(
    db: mycel.Graph, shop: mycel.Knowledge, clock: Clock, rule: str
) -> None:
    set_rule(db, f'{{after: "10d", {rule}, then: "archive"}}')
    clock.turn(8)
    shop.get("b")
    clock.turn(3)
    db.sleep()
    assert notes(db) == {URIS[1]}
    clock.turn(8)
    db.sleep()
    assert notes(db) == set()


def weights(db: mycel.Graph) -> dict[str, float]:
    command = 'FIND(?b.name, ?l.weight) WHERE { ?l (?a, "leads_to", ?b) }'
    return {name[-1]: weight for name, weight in db.execute(command).rows}


def test_weights_follow_use_in_cycles_alone_bounded_and_with_reasons(
    db: mycel.Graph, shop: mycel.Knowledge
) -> None:
    db.execute('UPDATE ?l SET WEIGHT 0.7 WHERE { ?l (?a, "leads_to", {name: :c}) }', c=URIS[2])
    shop.traverse("a")
    db.sleep()
    assert weights(db) == {"b": 1, "c": 0.7, "d": 1}, "an option that nobody has chosen"
    db.execute(
        "UPDATE ?s SET ATTRIBUTES { weights_from_use: true }"
        ' WHERE { ?s {type: "Person", name: "$system"} }'
    )
    db.sleep()
    for _ in range(8):
        for _ in range(4):
            shop.traverse("b", direction="in")
        assert weights(db)["c"] == 0.7
        db.sleep(dry_run=True)
        db.sleep()
    assert weights(db) == {"b": 0.5, "c": 0.7, "d": 1}
    reasons = 'FIND(?l.metadata.weight_reason) WHERE { ?l (?a, "leads_to", {name: :b}) }'
    assert db.execute(reasons, b=URIS[1]).value == ["followed 4 times since the last cycle"]
    for _ in range(12):
        db.sleep()
    assert weights(db) == {"b": 1, "c": 0.7, "d": 1}
    assert step(db.sleep(), "weights").done == 0
    assert not db.verify(replay=True).problems
