"""The active context: bounded, ordered by use, and honest about what went."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import mycel
from mycel import ActiveContext, Contexts, Knowledge, NewRelation
from mycel.errors import ConstraintViolation, NotFound
from tests.cases import cases


def loaded(context: ActiveContext) -> list[str]:
    return [each.uri for each in context.show().loaded]


def test_the_least_recently_used_node_makes_room_and_that_is_said() -> None:
    context = ActiveContext(3)
    for uri in ("a", "b", "c"):
        assert context.add(uri, tokens=10, why="asked for") == ()
    assert context.touch("a")
    assert context.add("d") == ("b",)
    shown = context.show()
    assert loaded(context) == ["d", "a", "c"]
    assert shown.tokens == 20
    (gone,) = shown.evicted
    assert gone.uri == "b"
    assert "least recently used" in gone.why
    assert not context.touch("b")
    assert shown.to_dict()["evicted"][0]["uri"] == "b"


def test_a_context_holds_a_hundred_nodes_unless_told_otherwise() -> None:
    context = ActiveContext()
    for n in range(250):
        context.add(str(n))
    assert len(context) == 100
    shown = context.show()
    assert (shown.size_max, shown.evicted_count, len(shown.evicted)) == (100, 150, 100)
    assert loaded(context)[0] == "249"


@cases("size", [0, -1, 1_000_000, True, 1.5])
def test_a_size_that_is_none_is_refused(size: int) -> None:
    with pytest.raises(ConstraintViolation):
        ActiveContext(size)


def test_of_many_at_once_the_first_stay() -> None:
    context = ActiveContext(2)
    assert set(context.add_all((uri, 1, "near") for uri in "abcd")) == {"c", "d"}
    assert loaded(context) == ["a", "b"]


def test_clearing_starts_over() -> None:
    context = ActiveContext(1)
    context.add("a")
    context.add("b")
    assert context.clear() == 1
    shown = context.show()
    assert (shown.loaded, shown.evicted, shown.evicted_count) == ((), (), 0)


def test_a_node_can_be_let_go() -> None:
    context = ActiveContext()
    context.add("a")
    assert context.discard("a")
    assert not context.discard("a")
    assert context.show().evicted[0].why == "removed by request"


def test_threads_may_share_a_context() -> None:
    context = ActiveContext(50)

    def work(n: int) -> None:
        context.add(str(n))
        context.touch("1")
        context.show()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(400)))
    assert len(context) == 50
    assert context.show().evicted_count >= 350


# Handles.


def test_each_handle_has_a_context_of_its_own() -> None:
    contexts = Contexts()
    one, two = contexts.mint(), contexts.mint()
    assert one != two
    assert len(one) >= 32
    contexts.get(one).add("a")
    assert loaded(contexts.get(one)) == ["a"]
    assert loaded(contexts.get(two)) == []


def test_the_handle_that_was_not_used_for_longest_is_forgotten() -> None:
    contexts = Contexts(2)
    one, two = contexts.mint(), contexts.mint()
    contexts.get(one)
    three = contexts.mint()
    assert len(contexts) == 2
    contexts.get(one)
    contexts.get(three)
    with pytest.raises(NotFound) as caught:
        contexts.get(two)
    assert "context_id" in caught.value.hint


@cases("handle", ["", "guess", None, 1, "x" * 10_000, ["a"]])
def test_a_handle_that_was_never_given_out_is_refused(handle: object) -> None:
    with pytest.raises(NotFound) as caught:
        Contexts().get(handle)
    assert len(caught.value.message) < 200


def test_contexts_have_room_for_something() -> None:
    with pytest.raises(ConstraintViolation):
        Contexts(0)
    with pytest.raises(ConstraintViolation):
        Contexts(size_max=0)


# Traversal.


def test_a_traversal_comes_with_costs_ways_and_reasons_and_is_loaded(shop: Knowledge) -> None:
    shop.remember(
        [{"uri": "a", "content": "x" * 40}, {"uri": "b"}, {"uri": "c"}, {"uri": "far"}],
        [
            NewRelation("a", "with", "b", 0),
            NewRelation("b", "needs", "c", 0.5),
            NewRelation("c", "needs", "far", 0.75),
        ],
    )
    found = shop.traverse("a")
    assert [(each.uri[-1], each.cost, each.hops) for each in found.nodes] == [
        ("a", 0, 0),
        ("b", 0, 1),
        ("c", 0.5, 2),
    ]
    last = found.nodes[-1]
    assert [(step.relation, step.weight, step.direction, step.uri) for step in last.path] == [
        ("with", 0, "out", "concept://shop/b"),
        ("needs", 0.5, "out", "concept://shop/c"),
    ]
    assert "concept://shop/b" in last.reason
    assert found.cut_off == ()
    assert loaded(shop.context) == [each.uri for each in found.nodes]
    assert shop.context.show().loaded[0].tokens > 10
    assert found.to_dict()["nodes"][2]["path"][1]["uri"] == "concept://shop/c"


def test_what_a_budget_cuts_off_is_said(shop: Knowledge) -> None:
    shop.remember(
        [{"uri": "hub"}, *({"uri": f"n/{n}", "content": "y" * 400} for n in range(5))],
        [NewRelation("hub", "has", f"n/{n}", 0.5) for n in range(5)],
    )
    found = shop.traverse("hub", max_nodes=3)
    assert len(found.nodes) == 3
    (cut,) = found.cut_off
    assert (cut.budget, cut.limit, cut.remaining) == ("nodes", 3, 3)
    assert cut.nearest.startswith("concept://shop/n/")
    assert cut.nearest in cut.sentence
    tight = shop.traverse("hub", max_tokens=250)
    assert sum(each.tokens for each in tight.nodes) <= 250
    assert tight.cut_off[0].budget == "tokens"
    assert tight.to_dict()["cut_off"][0]["budget"] == "tokens"


def test_a_traversal_shows_what_is_missing_and_elements_of_kip(shop: Knowledge) -> None:
    shop.add("a")
    shop.link("a", "needs", "m", weight=0.5)
    shop.link("a", "by", "kip:Person/$self", weight=0.5)
    kinds = {each.uri: getattr(each.node, "node_type", None) for each in shop.traverse("a").nodes}
    assert kinds["concept://shop/m"] == "missing"
    assert kinds["kip:Person/$self"] == "concept"
    back = shop.traverse("kip:Person/$self", direction="in")
    assert back.nodes[1].uri == "concept://shop/a"
    assert back.nodes[1].path[0].direction == "in"


def test_a_traversal_evicts_what_was_not_used_for_longest(shop: Knowledge) -> None:
    small = shop.with_context(ActiveContext(2))
    small.context.add("concept://shop/old")
    small.remember([{"uri": "a"}, {"uri": "b"}], [NewRelation("a", "needs", "b")])
    assert small.traverse("a").evicted == ("concept://shop/old",)
    assert loaded(shop.context) == []
    small.get("b")
    assert loaded(small.context)[0] == "concept://shop/b"


def test_a_traversal_from_nowhere_or_without_bounds_is_refused(shop: Knowledge) -> None:
    shop.add("a")
    with pytest.raises(NotFound):
        shop.traverse("nowhere")
    for bounds in ({"max_cost": -1}, {"max_nodes": 0}, {"max_tokens": -5}):
        with pytest.raises(ConstraintViolation):
            shop.traverse("a", **bounds)  # type: ignore[arg-type]


def test_what_is_below_a_node_stays_loaded_under_its_uri_unless_it_moves_too(
    shop: Knowledge,
) -> None:
    shop.add("a")
    shop.add("a/b")
    shop.context.add_all([("concept://shop/a", 1, ""), ("concept://shop/a/b", 1, "")])
    shop.move("a", "z")
    assert "concept://shop/z" in shop.context
    assert "concept://shop/a/b" in shop.context
    shop.move("a", "y", subtree=True)
    assert "concept://shop/y/b" in shop.context


def test_a_node_that_is_deleted_by_its_id_leaves_the_context(shop: Knowledge) -> None:
    made = shop.add("a")
    shop.context.add(made.uri)
    shop.delete(made.id)
    assert len(shop.context) == 0


# The graph goes on.


def test_a_refreshed_context_follows_what_others_have_moved_and_drops_what_they_removed(
    shop: Knowledge,
) -> None:
    shop.remember(
        [{"uri": "a"}, {"uri": "b"}, {"uri": "c"}],
        [NewRelation("a", "needs", "b"), NewRelation("a", "needs", "c")],
    )
    shop.traverse("a")
    with mycel.open(shop.db.path) as db:
        other = Knowledge(db, workspace="shop")
        other.move("b", "moved/b")
        other.delete("c")
    shown = shop.refresh_context()
    assert {each.uri for each in shown.loaded} == {"concept://shop/a", "concept://shop/moved/b"}
    assert [(each.uri, each.why) for each in shown.evicted] == [
        ("concept://shop/c", "no longer in the graph")
    ]
    assert shown.evicted_count == 1


def test_a_node_that_was_removed_and_written_again_stays_loaded(shop: Knowledge) -> None:
    shop.add("a")
    shop.traverse("a")
    other = Knowledge(shop.db, workspace="shop")
    other.delete("a")
    other.add("a", content="Again.")
    assert [each.uri for each in shop.refresh_context().loaded] == ["concept://shop/a"]


def test_a_node_that_only_links_know_of_is_no_longer_loaded(shop: Knowledge) -> None:
    shop.add("a")
    shop.context.add("concept://shop/a")
    other = Knowledge(shop.db, workspace="shop")
    other.delete("a")
    other.link("https://example.org/x", "needs", "a")
    assert shop.refresh_context().loaded == ()


def test_a_node_that_moves_under_the_uri_of_another_entry_is_there_once() -> None:
    context = ActiveContext()
    context.add("a", tokens=1)
    context.add("b", tokens=2)
    context.follow({"a": "b"})
    assert [(each.uri, each.tokens) for each in context.show().loaded] == [("b", 2)]
