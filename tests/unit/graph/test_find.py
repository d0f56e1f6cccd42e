"""Bounded breadth-first search: order, distances, directions, filters, limits and forms."""

import json
from itertools import pairwise
from random import Random
from typing import Any, Literal

import pytest

import mycel
from mycel.api.graph_view import GraphView
from mycel.errors import ConstraintViolation, ExecutionTimeout, MycelError, NotFound, TypeMismatch
from mycel.graph import walk
from tests.cases import cases
from tests.unit.store.given import EVENT, FACT, Clock, add_concepts, define, number_of

Direction = Literal["out", "in", "both"]


def ids_of(result: mycel.FindResult) -> list[str]:
    return [memory.id for memory in result.memories]


def reached(result: mycel.FindResult) -> list[tuple[str, int]]:
    assert len(result.memories) == len(result.hop_distances)
    return list(zip(ids_of(result), result.hop_distances, strict=True))


def chain(db: mycel.Graph, length: int, predicate: str = "references") -> list[str]:
    made = add_concepts(db, *(f"link {n}" for n in range(length)))
    for src, dst in pairwise(made):
        db.add_edge(src, predicate, dst)
    return made


# ---------------------------------------------------------------------------------------------
# How far


def test_a_search_goes_one_hop_outward_unless_told(db: mycel.Graph) -> None:
    made = chain(db, 4)
    assert reached(db.find(made[1])) == [(made[2], 1)]


@pytest.mark.parametrize("max_hops", range(1, 7))
@pytest.mark.parametrize("min_hops", range(1, 7))
def test_hops_are_counted_from_the_start_and_kept_within_bounds(
    db: mycel.Graph, min_hops: int, max_hops: int
) -> None:
    made = chain(db, 9)
    if min_hops > max_hops:
        with pytest.raises(ConstraintViolation):
            mycel.Follow(min_hops=min_hops, max_hops=max_hops)
        return
    result = db.find(made[0], mycel.Follow(min_hops=min_hops, max_hops=max_hops))
    assert reached(result) == [(made[hop], hop) for hop in range(min_hops, max_hops + 1)]


@cases("max_hops", [7, 8, 100, 0, -1])
def test_hops_beyond_the_cap_are_an_error_and_not_cut(max_hops: int) -> None:
    with pytest.raises(ConstraintViolation):
        mycel.Follow(max_hops=max_hops)


@pytest.mark.parametrize("min_hops", [0, -1])
def test_a_search_cannot_begin_at_less_than_one_hop(min_hops: int) -> None:
    with pytest.raises(ConstraintViolation):
        mycel.Follow(min_hops=min_hops, max_hops=3)


@pytest.mark.parametrize("hops", ["3", 2.5, None, [1]])
def test_hops_that_are_no_whole_number_are_refused(hops: Any) -> None:
    with pytest.raises(MycelError):
        mycel.Follow(max_hops=hops)


def test_an_element_is_found_once_at_its_shortest_distance(db: mycel.Graph) -> None:
    a, b, c, d = chain(db, 4)
    db.add_edge(a, "related_to", c)
    db.add_edge(a, "supersedes", c)
    result = db.find(a, mycel.Follow(max_hops=6))
    # By (predicate number, id): supersedes 02 to c, references 03 to b, then d.
    assert reached(result) == [(c, 1), (b, 1), (d, 2)]


def test_min_hops_counts_shortest_distances_and_not_detours(db: mycel.Graph) -> None:
    a, b, c = chain(db, 3)
    db.add_edge(a, "related_to", c)
    db.add_edge(c, "related_to", b)
    assert reached(db.find(a, mycel.Follow(min_hops=2, max_hops=6))) == []


def test_the_start_is_never_part_of_the_result(db: mycel.Graph) -> None:
    made = chain(db, 3)
    db.add_edge(made[-1], "references", made[0])
    for direction in ("out", "in", "both"):
        result = db.find(made[0], mycel.Follow(max_hops=6, direction=direction))
        assert made[0] not in ids_of(result)
        assert len(result.memories) == 2


# ---------------------------------------------------------------------------------------------
# In which order, which way


class Model:
    """A graph as plain Python, searched in the most obvious way."""

    def __init__(self) -> None:
        self.edges: set[tuple[str, int, str]] = set()

    def find(
        self, start: str, numbers: set[int] | None, direction: Direction, max_hops: int
    ) -> list[tuple[str, int]]:
        distance = {start: 0}
        queue = [start]
        for near in queue:
            if distance[near] == max_hops:
                break
            steps = []
            for src, number, dst in self.edges:
                if numbers is None or number in numbers:
                    if direction in ("out", "both") and src == near:
                        steps.append((number, number_of(dst), dst))
                    if direction in ("in", "both") and dst == near:
                        steps.append((number, number_of(src), src))
            for _, _, other in sorted(steps):
                if other not in distance:
                    distance[other] = distance[near] + 1
                    queue.append(other)
        return [(each, distance[each]) for each in queue[1:]]


@pytest.fixture
def tangle(db: mycel.Graph) -> tuple[Model, list[str]]:
    """Thirty concepts, eighty edges among them, and a few edges about edges."""
    random, model = Random(11), Model()
    elements = add_concepts(db, *(f"n{n}" for n in range(30)))
    define(db, predicates=["likes"])
    with db.transaction() as tx:
        for _ in range(80):
            src, dst = random.sample(elements, 2)
            predicate = random.choice(["likes", "references", "part_of"])
            made = tx.add_edge(src, predicate, dst)
            model.edges.add((src, {"references": 3, "part_of": 11, "likes": 64}[predicate], dst))
            if random.random() < 0.15:
                elements.append(made)
    return model, elements


@pytest.mark.parametrize("direction", ["out", "in", "both"])
@pytest.mark.parametrize("max_hops", [1, 2, 3, 6])
def test_a_search_visits_what_a_plain_breadth_first_search_visits_in_the_same_order(
    db: mycel.Graph, tangle: tuple[Model, list[str]], direction: Direction, max_hops: int
) -> None:
    model, elements = tangle
    asked = ((None, None), (["likes", "references"], {3, 64}), (["part_of"], {11}))
    longest = 0
    for start in elements[::4]:
        for types, numbers in asked:
            follow = mycel.Follow(types=types, max_hops=max_hops, direction=direction)
            result = db.find(start, follow)
            assert reached(result) == model.find(start, numbers, direction, max_hops)
            longest = max(longest, len(result.memories))
    assert longest >= 3 * max_hops


def test_elements_read_in_small_batches_come_in_the_same_order_in_every_state(
    db: mycel.Graph, tangle: tuple[Model, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "ENDS_FIRST", 2)
    monkeypatch.setattr(walk, "ENDS_AT_ONCE", 3)
    monkeypatch.setattr(walk, "ELEMENTS_AT_ONCE", 5)
    model, elements = tangle
    full, thinned = Model(), Model()
    full.edges = model.edges
    before = db.as_of(db.snapshot().seq)
    names = {3: "references", 11: "part_of", 64: "likes"}
    for src, number, dst in sorted(model.edges)[::3]:
        db.remove_edge(src, names[number], dst)
    thinned.edges = {  # Links about removed links are gone as well.
        (src, number, dst)
        for src, number, dst in model.edges
        if not db.get_edge(src, names[number], dst).tombstoned
    }
    assert 20 < len(thinned.edges) < len(full.edges) - 20
    views: list[tuple[GraphView, Model, bool]] = [
        (before, full, False),
        (db, thinned, False),
        (db, full, True),
        (db.as_of(db.snapshot().seq), thinned, False),
    ]
    for view, expected, dead in views:
        for start in elements[:30:7]:
            follow = mycel.Follow(max_hops=4, direction="both", include_tombstoned=dead)
            wanted = expected.find(start, None, "both", 4)
            assert reached(view.find(start, follow)) == wanted
            assert reached(view.find(start, follow, limit=4)) == wanted[:4]


def test_a_search_reads_many_elements_with_few_statements(db: mycel.Graph) -> None:
    hub, *spokes = add_concepts(db, *(f"n{n}" for n in range(200)))
    with db.transaction() as tx:
        for spoke in spokes[:100]:
            tx.add_edge(hub, "references", spoke)
        for near, far in zip(spokes[:100], spokes[100:], strict=False):
            tx.add_edge(near, "references", far)
    statements: list[str] = []
    reader = db._store.take()
    reader.connection.exec_trace = lambda _, text, __: statements.append(text) or True
    db._store.give(reader)
    assert len(db.find(hub, mycel.Follow(max_hops=2), limit=1000).memories) == 199
    assert 3 <= len(statements) <= 12


def test_the_order_of_the_types_to_follow_does_not_matter(
    db: mycel.Graph, tangle: tuple[Model, list[str]]
) -> None:
    _, elements = tangle
    one = mycel.Follow(types=["likes", "references", "part_of"], max_hops=4, direction="both")
    other = mycel.Follow(
        types=("part_of", "likes", "references", "likes"), max_hops=4, direction="both"
    )
    assert db.find(elements[0], one) == db.find(elements[0], other)


def test_the_same_search_gives_the_same_result_after_reopening(tmp_path: Any) -> None:
    follow = mycel.Follow(max_hops=5, direction="both")
    with mycel.open(tmp_path / "graph.db", clock_us=Clock()) as db:
        made = chain(db, 6)
        for n in range(4):
            db.add_edge(made[n + 2], "supersedes", made[n])
        before = db.find(made[2], follow)
    with mycel.open(tmp_path / "graph.db") as db:
        assert db.find(made[2], follow) == before


def test_directions_are_those_of_the_edges(db: mycel.Graph) -> None:
    left, middle, right = chain(db, 3)

    def find(direction: Direction) -> list[str]:
        return ids_of(db.find(middle, mycel.Follow(max_hops=6, direction=direction)))

    assert find("out") == [right]
    assert find("in") == [left]
    assert find("both") == [left, right]


@cases("direction", ["", "OUT", "up", None, 1])
def test_another_direction_is_refused(direction: Any) -> None:
    with pytest.raises(ConstraintViolation):
        mycel.Follow(direction=direction)


def test_both_directions_may_alternate_on_one_way(db: mycel.Graph) -> None:
    a, b, c = add_concepts(db, "a", "b", "c")
    db.add_edge(a, "references", b)
    db.add_edge(c, "references", b)
    assert reached(db.find(a, mycel.Follow(max_hops=2, direction="both"))) == [(b, 1), (c, 2)]


# ---------------------------------------------------------------------------------------------
# Filters


@pytest.fixture
def mixed(db: mycel.Graph) -> tuple[list[str], list[str]]:
    """Fact, event, fact, event … in a chain."""
    facts = add_concepts(db, *(f"fact {n}" for n in range(4)), type_name=FACT)
    events = add_concepts(db, *(f"event {n}" for n in range(3)), type_name=EVENT)
    ways = [each for pair in zip(facts, events, strict=False) for each in pair] + [facts[-1]]
    for src, dst in pairwise(ways):
        db.add_edge(src, "references", dst)
    return facts, events


def test_types_filter_what_is_returned_and_not_what_is_walked_through(
    db: mycel.Graph, mixed: tuple[list[str], list[str]]
) -> None:
    facts, events = mixed
    follow = mycel.Follow(max_hops=6)
    assert reached(db.find(facts[0], follow, types=[FACT])) == [
        (facts[1], 2),
        (facts[2], 4),
        (facts[3], 6),
    ]
    assert reached(db.find(facts[0], follow, types=[EVENT])) == [
        (events[0], 1),
        (events[1], 3),
        (events[2], 5),
    ]
    assert len(db.find(facts[0], follow, types=[EVENT, FACT]).memories) == 6
    assert db.find(facts[0], follow, types=[]).memories == ()


def test_what_is_filtered_out_shows_nowhere_in_the_result(
    db: mycel.Graph, mixed: tuple[list[str], list[str]]
) -> None:
    facts, events = mixed
    result = db.find(facts[0], mycel.Follow(max_hops=6), types=[FACT], form="full")
    shown = json.dumps(result.to_dict())
    assert all(f'"{event}"' not in shown for event in events)
    assert "event" not in shown
    assert len(result.hop_distances) == len(result.memories)


def test_an_unknown_type_or_predicate_is_refused(db: mycel.Graph) -> None:
    (start,) = add_concepts(db, "start")
    with pytest.raises(TypeMismatch):
        db.find(start, types=["Unknown"])
    with pytest.raises(TypeMismatch):
        db.find(start, mycel.Follow(types=["unknown"]))


def test_no_types_to_follow_lead_nowhere(db: mycel.Graph) -> None:
    made = chain(db, 3)
    assert db.find(made[0], mycel.Follow(types=[], max_hops=3)).memories == ()


def test_a_start_that_is_not_there_is_not_found(db: mycel.Graph) -> None:
    made = chain(db, 2)
    db.write(lambda tx: tx.retire(made[0]))
    for absent in (made[0], "C:999998", "P:999999:references"):
        with pytest.raises(NotFound):
            db.find(absent)


# ---------------------------------------------------------------------------------------------
# Tombstones


def test_removed_edges_are_not_walked_unless_asked(db: mycel.Graph) -> None:
    a, b, c = chain(db, 3)
    db.remove_edge(a, "references", b)
    assert db.find(a, mycel.Follow(max_hops=6)).memories == ()
    result = db.find(a, mycel.Follow(max_hops=6, include_tombstoned=True))
    assert reached(result) == [(b, 1), (c, 2)]


def test_removed_elements_are_found_and_can_be_the_start_when_asked(db: mycel.Graph) -> None:
    a, b, c = chain(db, 3)
    db.write(lambda tx: tx.retire(b, reason="gone"))
    follow = mycel.Follow(max_hops=6, include_tombstoned=True)
    assert reached(db.find(a, follow)) == [(b, 1), (c, 2)]
    assert reached(db.find(b, follow)) == [(c, 1)]
    assert db.find(a, follow).memories[0].name == "link 1"


def test_purged_elements_are_not_found_even_when_asked(db: mycel.Graph) -> None:
    a, b, _ = chain(db, 3)
    db.purge(b, "private")
    follow = mycel.Follow(max_hops=6, include_tombstoned=True)
    assert db.find(a, follow).memories == ()


# ---------------------------------------------------------------------------------------------
# Edges as memories


def test_edges_about_edges_are_walked_and_found_like_any_other(db: mycel.Graph) -> None:
    a, b, witness = add_concepts(db, "a", "b", "witness")
    claim = db.add_edge(a, "references", b)
    db.add_edge(witness, "observed_by", claim)
    db.add_edge(claim, "attested_by", b)
    result = db.find(witness, mycel.Follow(max_hops=2))
    assert reached(result) == [(claim, 1), (b, 2)]
    memory = result.memories[0]
    assert (memory.id, memory.type) == (claim, "references")
    assert a in memory.name
    assert b in memory.name
    assert reached(db.find(claim)) == [(b, 1)]


def test_an_edge_is_no_memory_of_a_type(db: mycel.Graph) -> None:
    a, b, witness = add_concepts(db, "a", "b", "witness")
    claim = db.add_edge(a, "references", b)
    db.add_edge(witness, "observed_by", claim)
    db.add_edge(claim, "attested_by", b)
    assert reached(db.find(witness, mycel.Follow(max_hops=2), types=[FACT])) == [(b, 2)]


# ---------------------------------------------------------------------------------------------
# Limits


@pytest.mark.parametrize(("limit", "more"), [(1, True), (4, True), (5, False), (6, False)])
def test_a_limit_cuts_the_result_and_says_so(db: mycel.Graph, limit: int, more: bool) -> None:
    hub, *others = add_concepts(db, "hub", *(f"spoke {n}" for n in range(5)))
    for other in others:
        db.add_edge(hub, "references", other)
    result = db.find(hub, limit=limit)
    assert ids_of(result) == others[:limit]
    assert result.more is more


def test_what_is_filtered_out_does_not_count_towards_the_limit(
    db: mycel.Graph, mixed: tuple[list[str], list[str]]
) -> None:
    facts, events = mixed
    follow = mycel.Follow(max_hops=6)
    result = db.find(facts[0], follow, types=[EVENT], limit=3)
    assert ids_of(result) == events
    assert not result.more, "only facts would follow"
    assert db.find(facts[0], follow, types=[EVENT], limit=2).more


@pytest.mark.parametrize("limit", [0, -1, 1_000_001, "5", 1.5, None])
def test_a_limit_out_of_bounds_is_refused(db: mycel.Graph, limit: Any) -> None:
    made = chain(db, 2)
    with pytest.raises(MycelError):
        db.find(made[0], limit=limit)


def test_a_search_without_a_limit_stops_at_a_hundred(db: mycel.Graph) -> None:
    hub, *others = add_concepts(db, "hub", *(f"spoke {n}" for n in range(101)))
    with db.transaction() as tx:
        for other in others:
            tx.add_edge(hub, "references", other)
    result = db.find(hub)
    assert ids_of(result) == others[:100]
    assert result.more


# ---------------------------------------------------------------------------------------------
# Forms


BUDGET = {"short": 50 * 4, "medium": 200 * 4}


def one_memory(db: mycel.Graph, form: Any, attributes: dict[str, Any]) -> mycel.Memory:
    with db.transaction() as tx:
        tx.define_type(FACT)
        start = tx.put_concept(FACT, "start")
        end = tx.put_concept(FACT, "end", attributes, {"source": "a test"})
        tx.add_edge(start, "references", end)
    (memory,) = db.find(start, form=form).memories
    return memory


@pytest.mark.parametrize("form", ["short", "medium"])
@pytest.mark.parametrize("letter", ["x", "ß", "猫", "🦊", "e\u0301"])
@pytest.mark.parametrize("shift", range(4))
def test_a_form_keeps_within_its_bytes_and_never_cuts_a_character(
    db: mycel.Graph, form: str, letter: str, shift: int
) -> None:
    attributes = {"description": "-" * shift + letter * 1_000}
    whole = one_memory(db, "full", attributes).text
    memory = one_memory(db, form, attributes)
    size = len(memory.text.encode())
    assert size <= BUDGET[form]
    assert size > BUDGET[form] - 4, "and gives all it can"
    assert memory.truncated
    kept = memory.text.removesuffix("…")
    assert whole.startswith(kept), "every character that is there is whole"


@pytest.mark.parametrize("form", ["short", "medium"])
@pytest.mark.parametrize("spare", [0, 1, 2, 5])
def test_what_fits_exactly_is_not_cut(db: mycel.Graph, form: str, spare: int) -> None:
    room = BUDGET[form] - len("end\n") - spare
    memory = one_memory(db, form, {"description": "x" * room})
    assert memory.text == "end\n" + "x" * room
    assert not memory.truncated
    longer = one_memory(db, form, {"description": "x" * (room + spare + 1)})
    assert longer.truncated


def test_the_full_form_gives_everything(db: mycel.Graph) -> None:
    long = "word " * 10_000
    memory = one_memory(db, "full", {"description": long, "n": 7, "list": ["猫", 1]})
    assert not memory.truncated
    for part in ("end", long, "7", '["猫",1]', "a test"):
        assert part in memory.text


def test_a_memory_shows_its_description_first(db: mycel.Graph) -> None:
    memory = one_memory(db, "medium", {"aaa": 1, "description": "what it is"})
    assert memory.text.startswith("end\nwhat it is\n")
    assert (memory.type, memory.name, memory.truncated) == (FACT, "end", False)


def test_a_search_ends_at_its_deadline(tmp_path: Any) -> None:
    path = tmp_path / "graph.db"
    with mycel.open(path, core_capsules=False) as db:
        hub, *spokes = add_concepts(db, "hub", *(f"n{n}" for n in range(9)))
        with db.transaction() as tx:
            for spoke in spokes:
                tx.add_edge(hub, "references", spoke)
    with mycel.open(path, timeout_s=-1) as db:
        for view in (db, db.as_of(db.snapshot().seq)):
            with pytest.raises(ExecutionTimeout):
                view.find(hub, mycel.Follow(max_hops=2), limit=2)


@pytest.mark.parametrize("form", ["", "long", "SHORT", None, []])
def test_another_form_is_refused(db: mycel.Graph, form: Any) -> None:
    made = chain(db, 2)
    with pytest.raises(MycelError):
        db.find(made[0], form=form)


def test_one_hop_over_few_links_finds_what_the_walk_finds(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.transaction() as tx:
        tx.define_type(FACT)
        tx.define_predicate("references")
        tx.define_predicate("mentions")
        a, b, c, d = (tx.put_concept(FACT, f"step {name}") for name in "abcd")
        link = tx.put_proposition(a, "references", b)
        tx.put_proposition(a, "references", c)
        tx.put_proposition(a, "mentions", c)
        tx.put_proposition(a, "references", link2 := tx.put_proposition(c, "references", d))
        tx.put_proposition(d, "mentions", link)
    asked = [
        (start, mycel.Follow(types=types, direction=direction), wanted, limit)
        for start in (a, b, c, d, link, link2)
        for types in (None, ["references"], ["references", "mentions"])
        for direction in ("out", "in", "both")
        for wanted in (None, [FACT])
        for limit in (1, 2, 100)
    ]
    found = [db.find(each[0], each[1], types=each[2], limit=each[3]) for each in asked]
    monkeypatch.setattr(walk, "FEW_LINKS", 0)
    assert [db.find(each[0], each[1], types=each[2], limit=each[3]) for each in asked] == found
    assert any(each.more for each in found)
