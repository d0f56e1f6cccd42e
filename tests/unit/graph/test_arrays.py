"""Links in memory: made when it pays, kept in step, dropped when not, and never another answer."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random
from threading import Barrier, Thread

import pytest

import mycel
from mycel.graph.adjacency import Adjacency, StoredNeighbours
from mycel.graph.arrays import Route
from mycel.graph.traversal import Bounds, Traversal, traverse
from mycel.store.database import Store
from tests.cases import each_case
from tests.unit.store.given import add_concepts, define

Change = Callable[[mycel.Graph, list[str]], object]


def store_of(db: mycel.Graph) -> Store:
    return db._store


@pytest.fixture
def made(db: mycel.Graph) -> list[str]:
    """Concepts with random links among them, and some to links."""
    rng = Random(11)
    define(db, predicates=["p", "q"])
    concepts = add_concepts(db, *(f"n{at}" for at in range(40)))
    with db.transaction() as tx:
        links = []
        for _ in range(160):
            src, dst = rng.sample(concepts, 2)
            links.append(tx.put_proposition(src, rng.choice("pq"), dst, weight=rng.random() / 2))
        for link in rng.sample(links, 10):
            tx.put_proposition(rng.choice(concepts), "p", link, weight=0.1)
            tx.put_proposition(link, "q", rng.choice(concepts), weight=0.1)
    return concepts


def eager(db: mycel.Graph, **how: int) -> Adjacency:
    """Makes arrays at the first opportunity."""
    made = Adjacency(store_of(db))
    for name, value in {"rent_min": 0, **how}.items():
        setattr(made, name, value)
    return made


def both(db: mycel.Graph, adjacency: Adjacency, start: str, bounds: Bounds) -> Traversal:
    """The answer through arrays, which must be the one from the tables."""
    with store_of(db).reading() as reader:
        number = db.get(start).number
        found = traverse(reader, number, bounds, adjacency)
        assert found == traverse(reader, number, bounds)
    return found


def warm(db: mycel.Graph, adjacency: Adjacency, start: str) -> None:
    """Have arrays made, in both directions."""
    for _ in range(40):
        both(db, adjacency, start, Bounds(max_cost=3))
    adjacency.wait()
    assert adjacency.is_made
    both(db, adjacency, start, Bounds(direction="both"))
    adjacency.wait()


def test_arrays_and_tables_give_the_same_answer(db: mycel.Graph, made: list[str]) -> None:
    adjacency = eager(db)
    warm(db, adjacency, made[0])
    directions, types = ("out", "in", "both"), (None, ("p",), ("p", "q"))
    with each_case() as case:
        for direction, relation_types, nodes in product(directions, types, (1, 5, 1_000)):
            bounds = Bounds(1.0, nodes, None, direction, relation_types)  # type: ignore[arg-type]
            with case(f"{direction} {relation_types} {nodes}"):
                for start in made[::2]:
                    both(db, adjacency, start, bounds)
                assert adjacency.is_made


def test_a_long_list_of_links_is_taken_a_piece_at_a_time(db: mycel.Graph) -> None:
    define(db, predicates=["p", "q"])
    hub, *others = add_concepts(db, "hub", *(f"n{at}" for at in range(300)))
    with db.transaction() as tx:
        for at, other in enumerate(others):
            tx.put_proposition(hub, "pq"[at % 2], other, weight=(at * 37 % 300) / 300)
    adjacency = eager(db)
    warm(db, adjacency, hub)
    assert len(both(db, adjacency, hub, Bounds(max_nodes=1_000)).nodes) == 301
    assert len(both(db, adjacency, hub, Bounds(max_nodes=5)).nodes) == 5
    only_p = Bounds(max_nodes=1_000, relation_types=("p",))
    assert len(both(db, adjacency, hub, only_p).nodes) == 151


def _add(db: mycel.Graph, made: list[str]) -> None:
    db.add_edge(made[0], "p", made[39], weight=0.01)


def _add_to_new(db: mycel.Graph, made: list[str]) -> None:
    (new,) = add_concepts(db, "quite new")
    db.add_edge(made[0], "p", new, weight=0.01)
    db.add_edge(new, "q", made[7], weight=0.01)


def _reweigh(db: mycel.Graph, made: list[str]) -> None:
    for edge in list(db.edges_out(made[0])):
        with db.transaction() as tx:
            tx.update(edge.id, weight=0.9 - edge.weight)


def _remove(db: mycel.Graph, made: list[str]) -> None:
    for edge in list(db.edges_out(made[0])):
        db.remove_edge(edge.src, edge.predicate, edge.dst)


def _retire(db: mycel.Graph, made: list[str]) -> None:
    with db.transaction() as tx:
        tx.retire(made[1])


def _merge(db: mycel.Graph, made: list[str]) -> None:
    db.execute("MERGE CONCEPT ?a INTO ?b WHERE { ?a {id: :a} ?b {id: :b} }", a=made[2], b=made[3])


def _purge(db: mycel.Graph, made: list[str]) -> None:
    edge = next(db.edges_out(made[0]))
    db.purge(edge.id, "wrong")


def _only_concepts(db: mycel.Graph, made: list[str]) -> None:
    with db.transaction() as tx:
        tx.update(made[0], attributes={"seen": True})


@pytest.mark.parametrize(
    "change",
    [_add, _add_to_new, _reweigh, _remove, _retire, _merge, _purge, _only_concepts],
)
def test_arrays_stay_in_step_with_what_is_written(
    db: mycel.Graph, made: list[str], change: Change
) -> None:
    adjacency = eager(db)
    warm(db, adjacency, made[0])
    change(db, made)
    for start in (made[0], made[3], made[5], made[39]):
        for direction in ("out", "in", "both"):
            both(db, adjacency, start, Bounds(max_cost=1.0, direction=direction))  # type: ignore[arg-type]


def test_arrays_are_dropped_when_too_much_has_changed(db: mycel.Graph, made: list[str]) -> None:
    adjacency = eager(db, changed_max=6)
    warm(db, adjacency, made[0])
    _add(db, made)
    with store_of(db).reading() as reader:
        reader.reread()
        assert adjacency.state(reader) is not None
        assert adjacency.is_made
    for at in range(10, 20):
        db.add_edge(made[at], "p", made[at + 10])
    with store_of(db).reading() as reader:
        reader.reread()
        assert adjacency.state(reader) is None
        assert not adjacency.is_made


def test_a_purge_drops_arrays(db: mycel.Graph, made: list[str]) -> None:
    adjacency = eager(db)
    warm(db, adjacency, made[0])
    _purge(db, made)
    with store_of(db).reading() as reader:
        reader.reread()
        assert adjacency.state(reader) is None


def test_a_traversal_of_the_past_does_without_arrays(db: mycel.Graph, made: list[str]) -> None:
    then = db.snapshot().seq
    start = db.get(made[0])
    with db.transaction() as tx:
        tx.define_type("New")
        new = tx.put_concept("New", "new")
        tx.put_proposition(start.id, "p", new, weight=0)
    adjacency = eager(db)
    warm(db, adjacency, made[0])
    with store_of(db).reading(db.as_of(then).state) as reader:
        found = traverse(reader, start.number, Bounds(direction="both"), adjacency)
        assert found == traverse(reader, start.number, Bounds(direction="both"))
    assert new not in [each.element.id for each in found.nodes]


def test_arrays_are_not_made_before_they_pay(db: mycel.Graph, made: list[str]) -> None:
    adjacency = Adjacency(store_of(db))
    for _ in range(5):
        both(db, adjacency, made[0], Bounds(max_cost=3))
    assert not adjacency.is_made
    for _ in range(5):
        db.traverse(made[0])
    assert not db._adjacency.is_made


def test_arrays_are_never_made_of_more_links_than_the_bound(
    db: mycel.Graph, made: list[str]
) -> None:
    adjacency = eager(db, links_max=100)
    for _ in range(40):
        both(db, adjacency, made[0], Bounds(max_cost=3))
    adjacency.wait()
    assert not adjacency.is_made


def test_a_snapshot_older_than_the_arrays_is_read_from_the_tables(
    db: mycel.Graph, made: list[str]
) -> None:
    adjacency = eager(db)
    number = db.get(made[0]).number
    with store_of(db).reading() as old:
        before = traverse(old, number, Bounds())
        _add(db, made)
        warm(db, adjacency, made[0])
        old.reread()
        assert adjacency.state(old) is None
        assert traverse(old, number, Bounds(), adjacency) == before


def test_a_graph_without_links_has_no_arrays(db: mycel.Graph) -> None:
    (alone,) = add_concepts(db, "alone")
    adjacency = eager(db)
    for _ in range(3):
        assert len(both(db, adjacency, alone, Bounds()).nodes) == 1
    adjacency.wait()
    assert not adjacency.is_made


def test_links_about_links_alone_can_be_held(db: mycel.Graph) -> None:
    a, b = add_concepts(db, "a", "b")
    claim = db.add_edge(a, "references", b)
    adjacency = eager(db)
    for _ in range(20):
        both(db, adjacency, claim, Bounds(direction="both"))
    adjacency.wait()
    assert adjacency.is_made
    db.add_edge(claim, "references", b, weight=0.5)
    assert len(both(db, adjacency, claim, Bounds()).nodes) == 2


def test_threads_share_arrays_while_others_write(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db", core_capsules=False) as db:
        define(db, predicates=["p"])
        concepts = add_concepts(db, *(f"n{at}" for at in range(30)))
        rng = Random(5)
        for _ in range(60):
            db.add_edge(*_ends(rng, concepts), weight=0.2)
        adjacency = eager(db)
        wrong: list[object] = []
        start = Barrier(4)

        def read(seed: int) -> None:
            mine = Random(seed)
            start.wait()
            for _ in range(60):
                try:
                    both(db, adjacency, mine.choice(concepts), Bounds(direction="both"))
                except BaseException as error:  # noqa: BLE001 - told in the test's own thread
                    wrong.append(error)

        def write() -> None:
            mine = Random(99)
            start.wait()
            for _ in range(60):
                db.add_edge(*_ends(mine, concepts), weight=0.1)

        threads = [Thread(target=read, args=(seed,)) for seed in range(3)]
        threads.append(Thread(target=write))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        adjacency.wait()
        assert adjacency.is_made


def _ends(rng: Random, concepts: list[str]) -> tuple[str, str, str]:
    src, dst = rng.sample(concepts, 2)
    return src, "p", dst


def test_a_route_along_nothing_asks_nothing(db: mycel.Graph, made: list[str]) -> None:
    with store_of(db).reading() as reader:
        neighbours = StoredNeighbours(reader, Route(frozenset(), frozenset()))
        assert neighbours.of(db.get(made[0]).number) == []
        assert neighbours.read == 0
