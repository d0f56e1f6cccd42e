"""Clones that follow, clones of branches and of parts, and pushes that keep commits."""

import os
from pathlib import Path

import pytest

import mycel
from mycel.errors import AccessDenied, HistoryRewritten, RemoteFailed, Unsupported, VersionConflict
from mycel.remote.copying import clone, pull, push
from mycel.remote.following import follow
from mycel.remote.registry import RemoteEntry, RemoteRegistry
from mycel.remote.sources import FileSource, open_source
from tests.adapters.http.conftest import Server
from tests.adapters.http.team import Team, team

__all__ = ["team"]


def write(path: Path, name: str, text: str, actor: str = "root") -> None:
    with mycel.open(path, actor=actor) as db:
        node = {"uri": f"concept://shop/{name}", "content": text}
        mycel.Knowledge(db, workspace="shop").remember([node], message=f"{name} is {text}")


def entries(path: Path) -> int:
    with mycel.open(path) as db:
        return db.snapshot().entries


def messages(path: Path, number: int) -> list[str]:
    with mycel.open(path) as db:
        return [entry.message for entry in db.history.log(limit=number)][::-1]


def test_a_clone_follows_its_server_and_nothing_is_lost_while_it_is_away(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("SHOP_TOKEN", team.token("ada", "read:/**"))
    team.add("shop")
    team.serve()
    assert team.server is not None
    mine = tmp_path / "mine.db"
    remote = RemoteEntry("shop", f"{team.server.url}/ws/shop", "SHOP_TOKEN", graph=str(mine))
    with open_source(remote) as source:
        clone(source, mine)
    RemoteRegistry().add(remote)
    there = team.folder / "shop.db"
    follower = Server(
        "mycel", "follow", "--json", "--db", mine, SHOP_TOKEN=os.environ["SHOP_TOKEN"]
    )
    try:
        assert follower.event()["status"] == "up_to_date"
        for name in ("a", "b"):
            write(there, name, "one")
            assert follower.event()["status"] == "forward"
            assert entries(mine) == entries(there)
        port = team.server.address[1]
        team.server.stop()
        assert follower.event()["status"] == "away"
        write(there, "c", "while it was away")
        team.serve("--port", str(port))
        while (event := follower.event())["status"] == "away":
            pass
        assert (event["status"], entries(mine)) == ("forward", entries(there))
        assert RemoteRegistry().get("shop").entries == entries(there)
    finally:
        follower.end()


def test_following_a_file_ends_at_conflicts_and_at_a_rewritten_history(tmp_path: Path) -> None:
    share, mine = tmp_path / "share.db", tmp_path / "mine.db"
    write(share, "a", "one")
    with open_source(RemoteEntry("share", str(share))) as source:
        clone(source, mine)
        with mycel.open(mine) as copy:
            results = follow(copy, source, name="share")
            assert next(results).to_dict()["status"] == "up_to_date"
            write(share, "a", "two")
            assert next(results).to_dict()["status"] == "forward"
            write(share, "a", "three")
            mycel.Knowledge(copy, workspace="shop").update("a", content="mine")
            assert next(results).to_dict()["status"] == "conflicts"
            assert next(results, None) is None
            wrong = (3, bytes(32))
            with pytest.raises(HistoryRewritten):
                next(follow(copy, source, pinned=wrong))
    pauses: list[float] = []

    def sleep(pause_s: float) -> None:
        pauses.append(pause_s)
        if len(pauses) == 9:
            raise KeyboardInterrupt

    class Gone(FileSource):
        def head(self) -> None:  # type: ignore[override]
            raise RemoteFailed("The share is gone.")

    with mycel.open(mine) as copy, pytest.raises(KeyboardInterrupt):
        results = list(follow(copy, Gone(copy, "share"), sleep=sleep))
    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]


def test_a_push_keeps_commits_and_what_others_wrote_meanwhile(tmp_path: Path) -> None:
    share, mine = tmp_path / "share.db", tmp_path / "mine.db"
    write(share, "a", "one")
    remote = RemoteEntry("share", str(share))

    class Racing(FileSource):
        """Somebody else commits after the first submission."""

        raced = False

        def submit(self, body):  # type: ignore[no-untyped-def]
            answer = super().submit(body)
            if not self.raced:
                self.raced = True
                write(share, "theirs", "faster")
            return answer

    with open_source(remote) as source:
        clone(source, mine)
        for name in "bcd":
            write(mine, name, "mine")
        with mycel.open(mine) as copy:
            assert push(copy, source).status == "committed"
            assert messages(share, 3) == ["b is mine", "c is mine", "d is mine"]
            assert pull(copy, source).status == "merged"
            assert push(copy, source).status == "unchanged"
        for name in "ef":
            write(mine, name, "later")
        with mycel.open(mine) as copy:
            assert push(copy, source).status == "committed"
            assert messages(share, 2) == ["e is later", "f is later"]
            pull(copy, source)
        for name in "gh":
            write(mine, name, "as one")
        with mycel.open(mine) as copy:
            assert push(copy, source, squash=True).status == "committed"
            pull(copy, source)
            assert push(copy, source).status == "unchanged"
        write(mine, "i", "before the race")
        write(mine, "j", "after it")
        with mycel.open(share) as db, mycel.open(mine) as copy:
            assert push(copy, Racing(db, "share")).status == "committed"
            with pytest.raises(VersionConflict, match="not here"):
                push(copy, source)
            assert pull(copy, source).status == "merged"
            assert push(copy, source).status == "unchanged"
            assert copy.verify().problems == db.verify().problems == ()
            know, here = (mycel.Knowledge(each, workspace="shop") for each in (db, copy))
            assert {node.uri for node in know.children()} == {node.uri for node in here.children()}
            assert know.get("theirs").content == "faster"
            assert know.get("j").content == "after it"


def test_branches_and_parts_are_cloned_pulled_and_pushed(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.add("shop")
    there = team.folder / "shop.db"
    for name in ("infra/db", "hr/secret"):
        write(there, name, "one")
    with mycel.open(there) as db:
        db.branches.create("draft")
    with mycel.open(there, branch="draft") as db:
        mycel.Knowledge(db, workspace="shop").add("idea", content="of the draft")
    tokens = {"TOKEN": ["write:/**"], "PART": ["write:/infra/**"]}
    for name, scopes in tokens.items():
        monkeypatch.setenv(name, team.token(name.lower(), *scopes))
    team.serve()
    assert team.server is not None
    url = f"{team.server.url}/ws/shop"
    with open_source(RemoteEntry("shop", url, "TOKEN", branch="draft")) as source:
        clone(source, tmp_path / "draft.db")
        write(tmp_path / "draft.db", "more", "of it")
        with mycel.open(tmp_path / "draft.db") as copy:
            assert mycel.Knowledge(copy, workspace="shop").has("idea")
            assert push(copy, source).status == "committed"
    with mycel.open(there, branch="draft") as db:
        assert mycel.Knowledge(db, workspace="shop").has("more")
    for number, variable in enumerate(("TOKEN", "PART")):
        mine = tmp_path / f"{variable}.db"
        path = "/infra/**" if variable == "TOKEN" else ""
        with open_source(RemoteEntry("shop", url, variable, path=path)) as source:
            clone(source, mine)
            write(there, f"infra/later{number}", "two")
            write(there, f"hr/later{number}", "two")
            with mycel.open(mine) as copy:
                know = mycel.Knowledge(copy, workspace="shop")
                assert pull(copy, source).status == "forward"
                assert know.has("infra/db")
                assert know.has(f"infra/later{number}")
                assert not any(know.has(f"hr/{name}") for name in ("secret", "later0", "later1"))
                know.add(f"infra/mine{number}", content="pushed")
                assert push(copy, source).status == "committed"
                assert pull(copy, source).status == "merged"
                assert copy.verify().problems == ()
    with mycel.open(there) as db:
        assert {mycel.Knowledge(db, workspace="shop").has(f"infra/mine{n}") for n in (0, 1)} == {
            True
        }
    for path, kind in (("/hr/**", AccessDenied), ("/in*ra", mycel.errors.MycelError)):
        remote = RemoteEntry("shop", url, "PART", path=path)
        with open_source(remote) as source, pytest.raises(kind):
            source.head()
    remote = RemoteEntry("shop", str(there), path="/infra/**")
    with pytest.raises(Unsupported, match="from a server"), open_source(remote):
        pass
