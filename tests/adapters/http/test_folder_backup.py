"""A whole folder of workspaces is backed up while it is served, and served again."""

from contextlib import closing
from pathlib import Path

import pytest

import mycel
from mycel.remote.copying import clone, pull
from mycel.remote.registry import RemoteEntry
from mycel.remote.signing import create_key
from mycel.remote.sources import open_source
from mycel.sharing.tokens import TokenBook
from mycel.store.log.server_records import ServerRecords
from tests.adapters.cli.conftest import Run, run
from tests.adapters.http.team import Team, team

__all__ = ["run", "team"]


def test_a_backup_of_a_folder_is_served_with_its_tokens_and_continues_clones(
    team: Team, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.add("ops", "shop")
    with mycel.open(team.folder / "shop.db") as db:
        mycel.Knowledge(db, workspace="shop").add("a", content="one")
        db.branches.create("draft")
    create_key(team.folder / "shop.db.key")
    ada = team.token("ada", "write:/**")
    narrow = team.token("narrow", "read:/a/**")
    ben = team.token("ben", "read:/**")
    monkeypatch.setenv("TOKEN", ada)
    team.serve()
    assert team.ask("GET", "/ws/shop/commits", narrow).status_code == 200  # Makes a copy.
    assert team.server is not None
    url, port = team.server.url, team.server.address[1]
    remote = RemoteEntry("shop", f"{url}/ws/shop", "TOKEN")
    with open_source(remote) as source:
        clone(source, tmp_path / "mine.db")
    target = tmp_path / "backup"
    words = ("backup", "--workspaces", str(team.folder), str(target))
    made = run(*words)
    assert made.status == 0, made.stderr
    assert "Keys of workspaces" in made.stderr
    names = {path.name for path in target.iterdir() if not path.name.endswith(".json")}
    assert names == {"ops.db", "shop.db", "shop.db@draft.db", "server.db"}
    assert (target / "server.db").stat().st_mode & 0o077 == 0
    with mycel.open(team.folder / "shop.db") as db:
        mycel.Knowledge(db, workspace="shop").add("b", content="two")
    assert run(*words, "--json").status == 0
    assert run("backup", "--workspaces", str(team.folder), str(team.folder / "x")).status != 0
    back = ("restore", "--workspaces", str(team.folder), str(target))
    assert "--force" in run(*back).stderr
    busy = run(*back, "--force")
    assert busy.status == 1, "A server has the graphs open."
    assert "in use" in busy.stderr
    team.server.stop()
    with closing(ServerRecords(team.folder / "server.db")) as records:
        TokenBook(records).revoke(ben.split("_")[1])
    later = team.token("later", "read:/**")
    (target / "shop.db@draft.db").rename(tmp_path / "draft")
    (target / "shop.db@draft.db").write_bytes(b"no graph")
    assert run(*back, "--force").status == 1
    assert [path.name for path in tmp_path.iterdir() if "workspaces" in path.name] == ["workspaces"]
    (tmp_path / "draft").replace(target / "shop.db@draft.db")
    restored = run(*back, "--force", "--json")
    assert restored.status == 0, restored.stderr
    assert sorted(Path(line["path"]).name for line in restored.objects) == [
        *("ops.db", "shop.db", "shop.db@draft.db")
    ]
    assert (team.folder / "shop.db.key").exists()
    (kept,) = tmp_path.glob("workspaces.before-*")
    assert (kept / "shop.db").exists()
    team.serve("--port", str(port))
    assert len(team.ask("GET", "/ws", ada).json()["workspaces"]) == 2
    assert team.ask("GET", "/ws").status_code == 401
    with mycel.open(tmp_path / "mine.db") as copy, open_source(remote) as source:
        assert pull(copy, source).status == "forward"
        assert mycel.Knowledge(copy, workspace="shop").get("b").content == "two"
    assert team.ask("GET", "/ws/shop/commits", narrow).status_code == 200
    # What was revoked and made since the backup stays so, unless the records are lost.
    statuses = [team.ask("GET", "/ws", token).status_code for token in (ben, later)]
    assert statuses == [401, 200]
    team.end()
    (team.folder / "server.db").write_bytes(b"no records" * 1000)
    for name in ("server.db-wal", "server.db-shm"):
        (team.folder / name).unlink(missing_ok=True)
    again = run(*back, "--force")
    assert again.status == 0, again.stderr
    team.serve("--port", str(port))
    statuses = [team.ask("GET", "/ws", token).status_code for token in (ada, ben, later)]
    assert statuses == [200, 200, 401]
