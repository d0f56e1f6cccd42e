"""One moment: what a method gives was all there at once, whoever writes while it reads."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mycel
from mycel.knowledge.node_values import NewNode, NewRelation, Node, Relation
from mycel.model.state import State
from mycel.store.database import Store
from mycel.store.query.reader import Reader


@pytest.fixture
def known() -> Iterator[mycel.Knowledge]:
    with mycel.open(":memory:", actor="tester") as db:
        known = mycel.Knowledge(db, workspace="w")
        known.remember(
            [NewNode(f"concept://w/{name}", content=f"{name} lamp") for name in ("a", "b", "c")],
            [
                NewRelation("concept://w/a", "relates_to", "concept://w/b", weight=0.1),
                NewRelation(
                    "concept://w/a",
                    "relates_to",
                    "concept://w/c",
                    weight=0.5,
                    properties={"note": "lamp"},
                ),
            ],
        )
        yield known


@pytest.fixture
def writer(known: mycel.Knowledge, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, somebody moves a node before every reader that is taken."""
    take = Store.take
    names = ["concept://w/c"]

    def take_later(store: Store, *state: State) -> Reader:
        monkeypatch.setattr(Store, "take", take)
        names.append(f"{names[0]}{len(names)}")
        known.move(names[-2], names[-1])
        monkeypatch.setattr(Store, "take", take_later)
        return take(store, *state)

    return lambda: monkeypatch.setattr(Store, "take", take_later)


def test_a_traversal_names_what_it_reached_and_what_it_cut_off_at_one_moment(
    known: mycel.Knowledge, writer: Callable[[], None]
) -> None:
    writer()
    found = known.traverse("concept://w/a", max_nodes=2)
    assert [each.uri for each in found.nodes] == ["concept://w/a", "concept://w/b"]
    (cut,) = found.cut_off
    assert cut.nearest == "concept://w/c1"  # As it was when the only reader was taken.


def test_hits_and_the_ends_of_relations_among_them_are_of_one_moment(
    known: mycel.Knowledge, writer: Callable[[], None]
) -> None:
    writer()
    hits = known.search("lamp", element="any")
    nodes = {hit.uri for hit in hits if isinstance(hit.found, Node)}
    ends = {
        end
        for hit in hits
        if isinstance(hit.found, Relation)
        for end in (hit.found.source, hit.found.target)
    }
    assert ends
    assert ends <= nodes


def test_whatever_is_read_within_a_moment_agrees(
    known: mycel.Knowledge, writer: Callable[[], None]
) -> None:
    writer()
    with known.moment() as now:
        (far,) = (each for each in now.relations("concept://w/a") if each.weight == 0.5)
        assert now.get(far.target).content == "c lamp"
        assert [each.uri for each in now.traverse("concept://w/a").nodes][2] == far.target
        assert far.target in {hit.uri for hit in now.search("lamp")}
        assert now.get_many([far.target])[0].result is not None
    assert known.relations("concept://w/a").items[1].target != far.target


def test_a_node_is_read_as_of_a_moment_and_for_a_time(known: mycel.Knowledge) -> None:
    early = {"valid_from": "2019-01-01", "valid_until": "2021-01-01"}
    known.link("a", "led_by", "b", metadata=early)
    before = known.db.snapshot().seq
    known.link("a", "led_by", "c", metadata={"valid_from": "2021-01-01"})
    known.update("a", content="Changed.", metadata={"valid_from": "2020-01-01"})

    def leaders(knowledge: mycel.Knowledge, **moments: Any) -> list[tuple[str, tuple[str, ...]]]:
        page = knowledge.relations("a", relation_types=["led_by"], **moments)
        return [(relation.target, relation.caveats) for relation in page]

    b, c = "concept://w/b", "concept://w/c"
    assert leaders(known) == [(b, ("no longer valid since 2021-01-01",)), (c, ())]
    assert leaders(known, for_time="2020-06-01") == [(b, ())]
    assert leaders(known, for_time="2022-06-01") == [(c, ())]
    assert leaders(known, for_time="2018-06-01") == []
    assert leaders(known, as_of=before) == [(b, ("no longer valid since 2021-01-01",))]
    assert leaders(known, as_of=before, for_time="2022-06-01") == []
    with known.moment(as_of=before) as then:
        assert leaders(then, for_time="2020-06-01") == [(b, ())]
        assert then.get("a").content == "a lamp"
    assert known.get("a", as_of=before).content == "a lamp"
    assert known.get("a", for_time="2020-06-01").caveats == ()
    assert known.get("a", for_time="2019-06-01").caveats == ("not valid before 2020-01-01",)
    page = known.relations("a", limit=1, for_time="2022-06-01")
    assert page.next_cursor is not None
    rest = known.relations("a", cursor=page.next_cursor, for_time="2022-06-01")
    assert {(one.relation, one.target) for one in (*page, *rest)} == {
        ("led_by", c),
        ("relates_to", b),
        ("relates_to", c),
    }
