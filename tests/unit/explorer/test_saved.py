"""Saved views: kept in the file, found again by everybody, bounded, never part of the journal."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import AccessDenied, DuplicateExists, MycelError, NotFound, ResourceExhausted
from mycel.explorer.explorer import Explorer
from mycel.history.saved_views import VIEWS_MAX, SavedViews

A, B, C = (f"concept://w/{name}" for name in "abc")
VIEW: dict[str, Any] = {
    "by": "folder",
    "size": 1000,
    "ids": [A, B],
    "less": [C],
    "hide": ["type:Person"],
    "selected": A,
    "route": {"kind": "path", "from": A, "to": B, "way": "both"},
    "span": {"since": "2026-01-01T00:00:00Z", "actors": ["ada lovelace"], "rest": "hide"},
    "table": True,
}
GIVEN = {"view": VIEW, "positions": {A: [1.5, -2, True], B: [0, 3, False]}, "camera": [1, 2, 0.5]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "graph.db"
    with mycel.open(place, actor="ada") as db:
        mycel.Knowledge(db, workspace="w").remember([{"uri": uri} for uri in (A, B, C)])
    return place


@pytest.fixture
def explorer(path: Path) -> Iterator[Explorer]:
    with mycel.open(path, actor="ada") as db:
        yield made(db)


def made(db: Any, **options: Any) -> Explorer:
    return Explorer(db, mycel.Knowledge(db, workspace="w"), **options)


def save(explorer: Explorer, name: str = "Login", **given: Any) -> Any:
    return explorer.change_saved("save", {"name": name, **GIVEN, **given})


def test_a_saved_view_is_found_after_a_restart_and_leaves_the_journal_alone(path: Path) -> None:
    with mycel.open(path, actor="ada") as db:
        before = made(db).view("about", {})
        id_ = save(made(db))["id"]
    with mycel.open(path, actor="grace") as db:
        explorer = made(db)
        (listed,) = explorer.view("saved", {})["views"]
        assert (listed["id"], listed["name"], listed["actor"]) == (id_, "Login", "ada")
        told = explorer.view("saved", {"id": id_})
        assert (told["view"]["ids"], told["view"]["size"]) == ([A, B], 1000)
        assert told["view"]["less"] == [C]
        assert told["view"]["selected"] == A
        assert (told["view"]["route"]["from"], told["view"]["route"]["to"]) == (A, B)
        assert told["view"]["span"]["actors"] == ["ada lovelace"]
        assert told["positions"] == {A: [1.5, -2, True], B: [0, 3, False]}
        assert told["camera"] == [1, 2, 0.5]
        about = explorer.view("about", {})
        assert (about["root"], about["position"]) == (before["root"], before["position"])
        assert db.verify().ok
        renamed = explorer.change_saved("rename", {"id": id_, "name": " Sign in "})
        assert renamed["name"] == "Sign in"
        assert explorer.change_saved("delete", {"id": id_})["name"] == "Sign in"
        assert explorer.view("saved", {})["views"] == []
        with pytest.raises(NotFound):
            explorer.view("saved", {"id": id_})


def test_a_view_follows_moved_nodes_and_leaves_out_those_that_are_gone(
    explorer: Explorer,
) -> None:
    id_ = save(explorer)["id"]
    knowledge = mycel.Knowledge(explorer.db, workspace="w")
    knowledge.move(A, "concept://w/moved")
    knowledge.delete(B)
    told = explorer.view("saved", {"id": id_})
    assert told["view"]["ids"] == ["concept://w/moved"]
    assert told["view"]["selected"] == "concept://w/moved"
    assert told["view"]["route"] is None  # One of its ends is gone.
    assert told["positions"] == {"concept://w/moved": [1.5, -2, True]}


def test_a_view_of_the_past_has_the_nodes_and_names_of_its_moment(explorer: Explorer) -> None:
    knowledge = mycel.Knowledge(explorer.db, workspace="w")
    then = explorer.db.snapshot().seq
    early = save(explorer, "Early", view=VIEW | {"at": then})["id"]
    knowledge.move(A, "concept://w/moved")
    knowledge.delete(B)
    late = save(explorer, "Late", view=VIEW | {"at": then})["id"]
    for id_ in (early, late):
        told = explorer.view("saved", {"id": id_})
        assert (told["view"]["ids"], told["view"]["selected"]) == ([A, B], A)
        assert told["view"]["route"]["to"] == B
        assert told["positions"].keys() == {A, B}
        assert (told["position"], told["view"]["at"]) == (then, then)


def test_a_view_of_a_domain_follows_it_and_goes_with_it(explorer: Explorer) -> None:
    db = explorer.db
    ref = db.write(lambda tx: tx.put_concept("Domain", "Secret"))
    uri = explorer.view("node", {"id": ref})["id"]
    groups = {"by domain": uri, "without": "", "rest": "…3"}
    saved = {
        name: save(explorer, name, view={"by": "domain", "group": group}, positions={})["id"]
        for name, group in groups.items()
    }
    for name, group in groups.items():
        assert explorer.view("saved", {"id": saved[name]})["view"]["group"] == group
    db.purge(ref, reason="secret")
    assert names_of_views(explorer) == ["rest", "without"]


def test_a_purge_removes_the_views_that_show_what_is_purged_and_no_others(
    explorer: Explorer,
) -> None:
    save(explorer)
    plain = {"ids": [B], "by": "folder"}
    save(explorer, "Other", view=plain, positions={})
    save(explorer, "Group", view={"group": "concept://w/a/inner"}, positions={})
    explorer.db.purge(explorer.view("node", {"id": A})["ref"], reason="secret")
    assert [each["name"] for each in explorer.view("saved", {})["views"]] == ["Other"]


def names_of_views(explorer: Explorer) -> list[str]:
    return [view["name"] for view in explorer.view("saved", {})["views"]]


def save_groups(explorer: Explorer, *groups: str) -> None:
    for group in groups:
        save(explorer, group, view={"group": f"concept://w/{group}"}, positions={})


def test_a_purge_removes_views_of_groups_by_whole_names_that_nothing_else_has(
    explorer: Explorer,
) -> None:
    knowledge = mycel.Knowledge(explorer.db, workspace="w")
    knowledge.remember([{"uri": f"concept://w/{name}"} for name in ("au/x/y", "b/in", "s/t/u")])
    save_groups(explorer, "a", "a/inner", "au", "ab", "b", "b/out", "s", "s/t")
    for uri in (A, B, "concept://w/s/t/u"):
        explorer.db.purge(explorer.view("node", {"id": uri})["ref"], reason="secret")
    assert names_of_views(explorer) == ["ab", "au", "b"]


def test_a_purge_removes_views_of_groups_by_every_name_that_an_element_had(
    explorer: Explorer,
) -> None:
    knowledge = mycel.Knowledge(explorer.db, workspace="w")
    ref = explorer.view("node", {"id": A})["ref"]
    knowledge.move(A, "concept://w/secret")
    knowledge.move("concept://w/secret", "concept://w/last")
    save_groups(explorer, "a", "secret", "last", "c")
    knowledge.delete("concept://w/last")
    explorer.db.purge(ref, reason="secret")
    assert names_of_views(explorer) == ["c"]


def test_a_scrub_removes_the_views_of_what_it_forgets_and_no_others(explorer: Explorer) -> None:
    db = explorer.db
    knowledge = mycel.Knowledge(db, workspace="w")
    first = db.snapshot().seq
    knowledge.move(A, "concept://w/moved")
    knowledge.remember([{"uri": "concept://w/old"}])
    knowledge.delete("concept://w/old")
    knowledge.delete(B)
    save_groups(explorer, "a", "old", "moved", "c")
    save(explorer, "of B", view={"ids": [B], "at": first}, positions={})
    moment = db.snapshot().seq
    save(explorer, "earlier", view={"at": first}, positions={})
    save(explorer, "then", view={"at": moment}, positions={})
    db.scrub(moment, "the law")
    assert names_of_views(explorer) == ["c", "moved", "then"]


def test_a_rename_keeps_a_replacement_that_comes_between(explorer: Explorer) -> None:
    db = explorer.db
    id_ = db.saved_views.save("Login", {"old": True}).id

    def replace() -> str:
        db.saved_views.save("Login", {"new": True}, id_=id_)
        return "grace"

    def delete() -> str:
        db.saved_views.delete(id_)
        return "grace"

    store = db.saved_views._store
    assert SavedViews(store, replace).rename(id_, "Sign in").name == "Sign in"
    view, body = db.saved_views.get(id_)
    assert (view.name, view.actor, body) == ("Sign in", "grace", {"new": True})
    with pytest.raises(NotFound):
        SavedViews(store, delete).rename(id_, "Again")
    id_ = db.saved_views.save("Login", {}).id
    with pytest.raises(NotFound):
        SavedViews(store, delete).save("Again", {}, id_=id_)
    with pytest.raises(NotFound):
        db.saved_views.delete(id_)
    assert list(db.saved_views) == []


def test_names_are_unique_and_a_view_is_replaced_by_its_id(explorer: Explorer) -> None:
    first = save(explorer)
    with pytest.raises(DuplicateExists):
        save(explorer)
    other = save(explorer, "Other")
    with pytest.raises(DuplicateExists):
        explorer.change_saved("rename", {"id": other["id"], "name": "Login"})
    assert save(explorer, id=first["id"], view={"ids": [C]})["id"] == first["id"]
    assert explorer.view("saved", {"id": first["id"]})["view"]["ids"] == [C]
    with pytest.raises(NotFound):
        save(explorer, "Third", id="nothing")


def test_wrong_views_are_refused_and_nothing_is_stored(explorer: Explorer) -> None:
    def changed(**given: Any) -> dict[str, Any]:
        return {"view": copy.deepcopy(VIEW) | given}

    wrong: list[dict[str, Any]] = [
        {"name": ""},
        {"name": " "},
        {"name": "x" * 101},
        {"name": "a\nb"},
        {"name": 7},
        {"view": []},
        {"view": None},
        {"extra": 1},
        changed(unknown=1),
        changed(ids="C:1 C:2 " * 2000),
        changed(ids=[1]),
        changed(by="colour"),
        changed(at=-1),
        changed(route={"kind": "walk", "from": A, "way": "out"}),
        changed(route={"kind": "path"}),
        changed(span={"rest": "burn"}),
        changed(hide=["x" * 1000] * 400),
        {"positions": {A: [1, 2]}},
        {"positions": {A: [float("inf"), 2, True]}},
        {"positions": {A: ["1", 2, True]}},
        {"positions": {f"concept://w/{i}": [0, 0, False] for i in range(2001)}},
        {"positions": {A: [10**400, 2, True]}},
        {"positions": {A: [float("nan"), 2, True]}},
        {"camera": [1, 2]},
        {"camera": [1, 2, -(10**400)]},
        changed(at=10**5000),
        changed(at=1 << 40),
        changed(table=10**5000),
        changed(route={"kind": "reach", "from": A, "way": "out", "cost": 10**400}),
        changed(route={"kind": "reach", "from": A, "way": "out", "cost": 10**5000}),
        changed(route={"kind": "reach", "from": A, "way": "out", "cost": float("nan")}),
        {"camera": "here"},
    ]
    for given in wrong:
        with pytest.raises(MycelError) as refused:
            explorer.change_saved("save", {"name": "Login", **GIVEN, **given})
        assert refused.value.category.name != "INTERNAL", sorted(given)
    assert explorer.view("saved", {})["views"] == []


def test_views_are_bounded_in_number_and_a_reader_saves_none(
    explorer: Explorer, path: Path
) -> None:
    for place in range(VIEWS_MAX):
        save(explorer, f"View {place}", view={}, positions={})
    with pytest.raises(ResourceExhausted):
        save(explorer, "One more")
    id_ = explorer.view("saved", {})["views"][0]["id"]
    save(explorer, "View 0", id=id_)  # Replacing one needs no room.
    reader = made(explorer.db, readonly=True)
    assert len(reader.view("saved", {})["views"]) == VIEWS_MAX
    for action, given in (
        ("save", {"name": "x", "view": {}}),
        ("rename", {"id": id_, "name": "x"}),
        ("delete", {"id": id_}),
    ):
        with pytest.raises(AccessDenied):
            reader.change_saved(action, given)


def test_a_new_branch_begins_with_the_views_of_the_branch_it_was_made_from(
    explorer: Explorer,
) -> None:
    save(explorer)
    explorer.db.branches.create("draft")
    with explorer.db.open_branch("draft") as draft:
        (view,) = made(draft).view("saved", {})["views"]
        made(draft).change_saved("delete", {"id": view["id"]})
    assert len(explorer.view("saved", {})["views"]) == 1
