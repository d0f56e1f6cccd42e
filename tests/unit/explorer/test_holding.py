"""Views of what holds at a time, and the writes of the explorer that are about upkeep."""

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.errors import ConstraintViolation, InvalidSyntax, MycelError, SelfEdgeError
from mycel.explorer.explorer import Explorer
from tests.prepared import NEW

A, B, C, D = (f"concept://w/{name}" for name in "abcd")


@pytest.fixture
def explorer() -> Iterator[Explorer]:
    """The node b holds until 2020, the link from a to c from 2030 on."""
    with NEW.opened() as db:
        knowledge = mycel.Knowledge(db, workspace="w")
        knowledge.remember(
            [
                {"uri": "a", "content": "Tea."},
                {"uri": "b", "content": "Tea of then.", "metadata": {"valid_until": "2020-01-01"}},
                {"uri": "c", "content": "Tea."},
            ],
            [
                {"source": "a", "relation": "knows", "target": "b"},
                {
                    "source": "a",
                    "relation": "knows",
                    "target": "c",
                    "metadata": {"valid_from": "2030-01-01"},
                },
            ],
        )
        db.history.tag("begin")
        yield Explorer(db, knowledge)


def not_holding(explorer: Explorer, time: str, **given: Any) -> tuple[list[str], list[str]]:
    answer = explorer.view("not_holding", {"ids": [A, B, C, D], "time": time, **given})
    return answer["nodes"], sorted(link["target"] for link in answer["links"])


def reached(explorer: Explorer, name: str, **given: Any) -> set[str]:
    return {node["id"] for node in explorer.view(name, given)["nodes"]}


def test_nodes_and_links_that_do_not_hold_at_a_time_are_listed(explorer: Explorer) -> None:
    assert not_holding(explorer, "2010-01-01") == ([], [C])
    assert not_holding(explorer, "2025-01-01") == ([B], [B, C])
    assert not_holding(explorer, "2035-01-01") == ([B], [B])
    explorer.write({"op": "update", "id": C, "metadata": {"valid_until": "2021-01-01"}})
    assert not_holding(explorer, "2025-01-01") == ([B, C], [B, C])
    assert not_holding(explorer, "2025-01-01", at="begin") == ([B], [B, C])
    with pytest.raises(MycelError):
        not_holding(explorer, "soon")


def test_neighbours_routes_and_hits_are_those_that_hold(explorer: Explorer) -> None:
    for time, targets in (("2010-01-01", {B}), ("2025-01-01", set()), ("2035-01-01", {C})):
        assert reached(explorer, "reach", id=A, for_time=time) == {A, *targets}
        for target in (B, C):
            path = explorer.view("path", {"from": A, "to": target, "for_time": time})
            assert path["found"] == (target in targets)
    assert reached(explorer, "near", id=A) == {B, C}
    assert reached(explorer, "near", id=A, for_time="2025-01-01") == {C}
    for time, ids in ((None, {A, B, C}), ("2010-01-01", {A, B, C}), ("2025-01-01", {A, C})):
        hits = explorer.view("search", {"q": "tea", "for_time": time})["hits"]
        assert {hit["id"] for hit in hits} == ids


def test_a_node_takes_the_place_of_another(explorer: Explorer) -> None:
    written = explorer.write({"op": "supersede", "id": C, "by": "a", "reason": "newer"})
    assert written["changed"]
    assert "superseded by concept://w/a" in str(explorer.view("node", {"id": C})["caveats"])
    explorer.write({"op": "revert", "commit": written["commit"]["commit"]})
    assert "caveats" not in explorer.view("node", {"id": C})
    written = explorer.write({"op": "supersede", "id": C, "by": "a", "until": "2020-01-31"})
    assert explorer.view("node", {"id": C})["metadata"]["valid_until"] == "2020-01-31"
    explorer.write({"op": "revert", "commit": written["commit"]["commit"]})
    with pytest.raises(InvalidSyntax, match="'soon' is not a time"):
        explorer.write({"op": "supersede", "id": C, "by": "a", "until": "soon"})
    with pytest.raises(SelfEdgeError):
        explorer.write({"op": "supersede", "id": C, "by": C})


def test_a_rule_of_retention_is_set_shown_and_dropped(explorer: Explorer) -> None:
    def rules() -> Any:
        return explorer.view("node", {"id": C})["retention"]

    assert rules() == {"own": "", "type": ""}
    explorer.db.upkeep.set_retention("never", type="Concept")
    explorer.write({"op": "retain", "id": C, "rule": "delete 2y after updated unless linked"})
    assert rules() == {"own": "delete 2y after updated unless linked", "type": "never"}
    with pytest.raises(ConstraintViolation, match="no rule of retention"):
        explorer.write({"op": "retain", "id": C, "rule": "soon"})
    explorer.write({"op": "retain", "id": C})
    assert rules() == {"own": "", "type": "never"}


def test_a_saved_view_keeps_the_time_at_which_things_hold(explorer: Explorer) -> None:
    view = {"ids": [A], "holds": "2025-01-01"}
    saved = explorer.change_saved("save", {"name": "then", "view": view})
    assert explorer.view("saved", {"id": saved["id"]})["view"]["holds"] == "2025-01-01"
