"""Branches that a server keeps open: opened once, shared, closed when unused, gone when deleted."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

import mycel
from mycel.api.open_branches import OpenBranches
from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    DatabaseClosed,
    NotFound,
    ResourceExhausted,
)
from tests.postgres_server import SERVER


@pytest.fixture
def db(tmp_path: Path) -> Iterator[mycel.Graph]:
    path = tmp_path / "graph.db"
    with mycel.open(path, durability="off", core_capsules=False, actor="ada", strict=True) as db:
        for name in ("draft", "idea"):
            db.branches.create(name)
        yield db


def test_a_branch_is_opened_once_with_the_options_of_the_graph(db: mycel.Graph) -> None:
    branches = OpenBranches(db)
    with branches.using(None) as here, branches.using("main") as also:
        assert here is also is db
    with branches.using("draft") as first:
        assert (first.branch, first.actor) == ("draft", "ada")
        with branches.using("draft") as second:
            assert second is first
    with branches.using("draft") as third:
        assert third is first
        third.write(lambda tx: tx.define_type("Shop"))
    branches.close()
    with pytest.raises(DatabaseClosed), branches.using("draft"):
        pass
    db.branches.delete("draft", unmerged=True)


def test_unused_branches_are_closed_when_too_many_or_after_a_while(db: mycel.Graph) -> None:
    branches = OpenBranches(db, unused_max=1)
    with branches.using("draft") as draft:
        pass
    with branches.using("idea") as idea:
        assert draft.snapshot().entries
    with pytest.raises(DatabaseClosed):
        draft.snapshot()
    branches.close()
    closed = Event()
    brief = OpenBranches(db, idle_s=0.01)
    with brief.using("idea") as idea:
        close = idea.close
        idea.close = lambda: (close(), closed.set())  # type: ignore[method-assign, func-returns-value]
    assert closed.wait(30)
    db.branches.delete("idea")
    with pytest.raises(NotFound), brief.using("idea"):
        pass


def test_no_more_branches_are_open_than_allowed(db: mycel.Graph) -> None:
    branches = OpenBranches(db, open_max=1)
    with branches.using("draft") as draft:
        with pytest.raises(ResourceExhausted, match="1 branches are in use") as refused:
            branches.using("idea").__enter__()
        assert refused.value.data == {"retry_after_s": 1}
        with branches.using("draft"), branches.using("main"):
            pass
    with branches.using("idea"), pytest.raises(DatabaseClosed):
        draft.snapshot()
    branches.close()


def test_deleting_closes_what_nobody_uses_and_refuses_what_somebody_does(db: mycel.Graph) -> None:
    branches = OpenBranches(db)
    with branches.using("draft") as draft:
        draft.write(lambda tx: tx.define_type("Shop"))
        with pytest.raises(DatabaseBusy):
            branches.delete("draft", unmerged=True)
    with pytest.raises(ConstraintViolation):
        branches.delete("draft")
    assert branches.delete("draft", unmerged=True).parting.ahead == 1
    assert db.branches.names() == ["main", "idea"]
    db.branches.create("draft")
    with branches.using("draft") as anew:
        assert anew is not draft
        if not SERVER:  # Nobody moves a workspace.
            Path(anew.path).rename(Path(anew.path).with_suffix(".aside"))
            with pytest.raises(NotFound), branches.using("draft"):
                pass
    branches.close()


def test_a_branch_that_is_opened_while_the_server_stops_is_closed_by_its_user(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    branches = OpenBranches(db)
    open_branch = db.open_branch

    def stopping(name: str) -> mycel.Graph:
        branches.close()
        return open_branch(name)

    monkeypatch.setattr(db, "open_branch", stopping)
    with branches.using("draft") as draft:
        assert draft.branch == "draft"
    with pytest.raises(DatabaseClosed):
        draft.write(lambda tx: tx.define_type("Shop"))


def test_a_pool_without_room_for_unused_branches_closes_each_after_its_use(
    db: mycel.Graph,
) -> None:
    branches = OpenBranches(db, unused_max=0)
    with branches.using("draft") as draft:
        pass
    with pytest.raises(DatabaseClosed):
        draft.write(lambda tx: tx.define_type("Shop"))
    branches.close()
