"""The work during which a disk fails, in eight kinds, each with a check of its result.

Each begins with a sound, closed graph (or none) and does one thing that is acknowledged or not. Its
check finds in a graph if that thing was done as a whole, not at all, or in part, which fails the
test.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import mycel
from mycel.errors import NotFound
from mycel.store.log.trees import FOLD_CHANGES_MAX
from tests.unit.store.given import FACT, TickingClock, problems, raw

BULK_ROWS = 2_100
NOTES = tuple(f"note {n}" for n in range(5))


_SOUND: set[bytes] = set()
"""The files that were verified and found sound, by their SHA-256."""


@dataclass(frozen=True)
class Workload:
    """One kind of work, the graph that it starts from, and its expected result."""

    name: str
    prepare: Callable[[mycel.Graph], None] | None
    act: Callable[[mycel.Graph], object]
    count_done: Callable[[mycel.Graph], int]
    """How many parts of the work can be seen."""
    parts: int

    def build(self, path: Path) -> None:
        """The graph to start from; for `create`, none."""
        if self.prepare is None:
            return
        # Bare: what every graph begins with is written by `create`, and would only be in the way.
        with open_graph(path, durability="off", core_capsules=False) as db:
            self.prepare(db)

    def is_done(self, db: mycel.Graph) -> bool:
        """True if the work was done. Fails if it was done in part."""
        done = self.count_done(db)
        assert done in (0, self.parts), f"{done} of {self.parts} parts of {self.name!r} are there"
        return done == self.parts

    def is_done_in(self, path: Path) -> bool:
        """True if the work was done in the file that a fault has left, and that opening recovers.

        Fails unless the file is consistent and still has the former content. Nearly all faults
        leave the bytes of before or after the work, so these are verified only once.
        """
        with open_graph(path, durability="off") as db:
            done = self.is_done(db)
            if self.prepare is not None:
                for name in NOTES:
                    assert db.get_concept(FACT, name) is not None, f"{name!r} is gone"
        assert not Path(f"{path}-wal").exists(), "closing has brought everything into the file"
        digest = sha256(path.read_bytes()).digest()
        if digest not in _SOUND:
            with open_graph(path, durability="off") as db:
                assert problems(db.verify(replay=True)) == []
                assert self.is_done(db) == done
            assert integrity(path) == []
            _SOUND.add(digest)
        return done


def open_graph(path: Path, **options: object) -> mycel.Graph:
    """Open a graph whose operations on files are the same in every process.

    A sentence model, if one is installed, would write vectors as time allows.
    """
    return mycel.open(
        path,
        actor="tester",
        clock_us=TickingClock(),
        embedder="static",
        **options,  # type: ignore[arg-type]
    )


def copy_graph(source: Path, target: Path) -> None:
    """Copy a closed graph to a path, and remove the former files of the path."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{target}{suffix}").unlink(missing_ok=True)
    if source.exists():
        shutil.copyfile(source, target)


def spread(total: int, attempts_max: int) -> Iterator[int]:
    """Numbers from 1 to `total` + 1: all, or the first, the last, and some between."""
    if total <= attempts_max:
        yield from range(1, total + 2)
        return
    edge = attempts_max // 3
    step = (total - 2 * edge) / (attempts_max - 2 * edge)
    between = (round(edge + step * k) for k in range(1, attempts_max - 2 * edge))
    yield from sorted({*range(1, edge + 1), *between, *range(total - edge + 1, total + 2)})


def integrity(path: Path) -> list[str]:
    """The errors that SQLite itself finds in a file."""
    with raw(path) as connection:
        return [said for (said,) in connection.execute("PRAGMA integrity_check") if said != "ok"]


# ---------------------------------------------------------------------------------------------


def _notes(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type(FACT)
        made = [tx.put_concept(FACT, name, {"text": f"words of {name}"}) for name in NOTES]
        tx.add_edge(made[0], "references", made[1])


def _ids(db: mycel.Graph) -> list[str]:
    found = [db.get_concept(FACT, name) for name in NOTES]
    return [each.id for each in found if each is not None]


def folding(db: mycel.Graph) -> tuple[int, int]:
    """The time of the last writing of the trees, and the number of changes since."""
    with db.reading() as reader:
        head = reader.head()
    return head.folded_seq, head.pending


def _fill(db: mycel.Graph) -> None:
    """Make small changes until a few more would write the trees."""
    _, pending = folding(db)
    for n in range((FOLD_CHANGES_MAX - pending) // 2):
        with db.transaction() as tx:
            for half in "ab":
                tx.put_concept(FACT, f"step {n} {half}", {"text": f"step {n}"})


def _nearly_folded(db: mycel.Graph) -> None:
    _notes(db)
    _fill(db)


def _with_a_past(db: mycel.Graph) -> None:
    _notes(db)
    one, two, *_ = _ids(db)
    with db.transaction() as tx:
        secret = tx.put_concept(FACT, "secret", {"text": "private words"})
        link = tx.add_edge(one, "references", secret)
        tx.add_edge(two, "attested_by", link)
    db.write(lambda tx: tx.update(secret, attributes={"text": "other private words"}))
    _fill(db)


def _count(db: mycel.Graph, names: Iterator[str]) -> int:
    return sum(db.get_concept(FACT, name) is not None for name in names)


def _add_edge(db: mycel.Graph) -> None:
    ids = _ids(db)
    db.add_edge(ids[2], "references", ids[3], data={"why": "said so"})


def _count_edge(db: mycel.Graph) -> int:
    ids = _ids(db)
    return len(list(db.edges_out(ids[2]))) + len(list(db.edges_in(ids[3])))


def _change_many(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        ids = [tx.put_concept(FACT, f"many {n}", {"text": f"many {n}"}) for n in range(60)]
        for src, dst in pairwise(ids):
            tx.add_edge(src, "part_of", dst)


def _load(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        rows = (mycel.ConceptRow(FACT, f"row {n}", {"text": f"row {n}"}) for n in range(BULK_ROWS))
        tx.put_concepts(rows)


def _secret(db: mycel.Graph) -> mycel.Concept:
    found = db.get_concept(FACT, "secret")
    assert found is not None
    return found


def _count_forgotten(db: mycel.Graph) -> int:
    """The concept, and the link to it, which has a link about it."""
    forgotten = int(db.get_concept(FACT, "secret") is None)
    one, two, *_ = _ids(db)
    forgotten += not any(edge.dst.startswith("P:") for edge in db.edges_out(two))
    targets = set()
    for edge in db.edges_out(one):
        try:
            targets.add(db.get(edge.dst).id)
        except NotFound:
            targets.add("nothing")
    assert "nothing" not in targets, "a link leads to what is gone"
    return forgotten + (len(targets) == 1)


MOVED = "Moved"


def _to_be_moved(db: mycel.Graph) -> None:
    """A hub with links, links about them and a tombstone, and the tombstone of its new name."""
    _notes(db)
    others = _ids(db)
    with db.transaction() as tx:
        tx.define_type(MOVED)
        tx.retire(tx.put_concept(MOVED, "hub"))
        hub = tx.put_concept(FACT, "hub")
        links = [tx.add_edge(hub, "references", other) for other in others]
        for link in links:
            tx.add_edge(others[0], "attested_by", link)
        tx.retire(links[0])
    _fill(db)


def _move(db: mycel.Graph) -> None:
    hub = db.get_concept(FACT, "hub")
    assert hub is not None
    db.write(lambda tx: tx.move(hub, type_name=MOVED))


def _count_moved(db: mycel.Graph) -> int:
    """Check that the node is gone from its old place, and at its new place with its links."""
    was, is_there = db.get_concept(FACT, "hub"), db.get_concept(MOVED, "hub")
    hub = was or is_there
    assert hub is not None
    assert len(list(db.edges_out(hub))) == len(NOTES) - 1
    return int(was is None) + int(is_there is not None)


def _fold(db: mycel.Graph) -> None:
    """Bring the text index up to date: a write that changes no knowledge."""
    assert db.search("words")


_BEFORE = """
node Ship { code: String @key  crew: I32? }
node Port { name: String @key }
edge Visits: Ship -> Port @card(0..3)
"""
_AFTER = """
node Vessel @rename_from("Ship") {
    code: String @key
    hands: I32? @rename_from("crew") @index
    flag: String @default("none")
    @unique(hands)
}
node Port { name: String @key }
edge Calls: Vessel -> Port @card(0..2) @rename_from("Visits")
"""
SHIPS = 8


def _ships(db: mycel.Graph) -> None:
    _notes(db)
    db.schema.apply(_BEFORE)
    with db.transaction() as tx:
        ports = [tx.put_concept("Port", f"port {n}") for n in range(2)]
        for n in range(SHIPS):
            ship = tx.put_concept("Ship", f"ship {n}", {"crew": n})
            for port in ports:
                tx.add_edge(ship, "Visits", port)


def _count_vessels(db: mycel.Graph) -> int:
    """The schema, and every ship with its attributes and its destination, all old or all new."""
    if set(db.schema.catalog.nodes) == {"Ship", "Port"}:
        for n in range(SHIPS):
            ship = db.get_concept("Ship", f"ship {n}")
            assert ship is not None, f"ship {n} is gone"
            assert ship.attributes == {"code": f"ship {n}", "crew": n}
            assert len(list(db.edges_out(ship.id, ["Visits"]))) == 2
        return 0
    done = 1
    for n in range(SHIPS):
        vessel = db.get_concept("Vessel", f"ship {n}")
        assert vessel is not None, f"ship {n} is gone"
        assert vessel.attributes == {"code": f"ship {n}", "hands": n, "flag": "none"}
        done += len(list(db.edges_out(vessel.id, ["Calls"])))
    return done


WORKLOADS = {
    each.name: each
    for each in (
        Workload("create", None, lambda _: None, lambda _: 1, 1),
        Workload("add one edge", _notes, _add_edge, _count_edge, 2),
        Workload(
            "change many",
            _nearly_folded,
            _change_many,
            lambda db: _count(db, (f"many {n}" for n in range(60))),
            60,
        ),
        Workload(
            "load",
            _notes,
            _load,
            lambda db: _count(db, (f"row {n}" for n in range(BULK_ROWS))),
            BULK_ROWS,
        ),
        Workload(
            "purge", _with_a_past, lambda db: db.purge(_secret(db), "why"), _count_forgotten, 3
        ),
        Workload("move", _to_be_moved, _move, _count_moved, 2),
        Workload("search", _nearly_folded, _fold, lambda _: 1, 1),
        Workload(
            "apply a schema",
            _ships,
            lambda db: db.schema.apply(_AFTER),
            _count_vessels,
            1 + 2 * SHIPS,
        ),
    )
}
