"""Files beside the graph that nobody asked to serve."""

import os
import stat
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError

import mycel
from tests.adapters.http.conftest import Server, Start

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE\n"
SECRETS = {
    ".env": "PASSWORD=moss",
    ".git/config": "[remote]",
    ".ssh/id_rsa": KEY,
    "src/.hidden.py": "x = 1",
    "server.pem": KEY,
    "id_ed25519": KEY,
    "token": "c2VjcmV0LXNlY3JldC1zZWNyZXQ",
    "secrets.json": "{}",
    "graph.db": "SQLite",
    "graph.db-wal": "SQLite",
    "looks_harmless.txt": f"Keep this:\n{KEY}",
    "ignored.txt": "by .gitignore",
    "private/plan.md": "by .gitignore too",
}
SHOWN = {"notes.md": "All about moss.", "src/fern.py": "def grow(): ...\n"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "wood"
    for name, text in (SECRETS | SHOWN | {".gitignore": "ignored.txt\nprivate/\n"}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def read(server: Server, paths: list[str]) -> dict[str, str | None]:
    """The text of each file as a client gets it; None for those that it does not get."""

    async def ask() -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        async with Client(f"{server.url}/mcp") as client:
            for path in paths:
                try:
                    (content,) = (await client.read_resource(f"file://wood/{path}")).contents
                    found[path] = str(content.text)
                except MCPError:
                    found[path] = None
            tools = await client.list_tools()
            found["bootstraps"] = str("bootstrap_workspace" in {each.name for each in tools.tools})
        return found

    return anyio.run(ask)


def test_no_file_is_served_unless_that_is_asked_for_and_secrets_never_are(
    attacked: Start, project: Path
) -> None:
    paths = [*SHOWN, *SECRETS, "../forest.db", "src/../.env"]
    nothing = read(attacked("--root", project), paths)
    assert nothing == dict.fromkeys(paths, None) | {"bootstraps": "False"}
    some = read(attacked("--root", project, "--files"), paths)
    assert some == dict.fromkeys(paths, None) | SHOWN | {"bootstraps": "True"}


@pytest.mark.skipif(sys.platform == "win32", reason="has no modes")
def test_a_graph_its_log_and_its_branches_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with mycel.open(tmp_path / "graph.db") as db:
            db.branches.create("draft")
            modes = {
                path.name: stat.S_IMODE(path.stat().st_mode)
                for path in tmp_path.iterdir()
                if not path.name.endswith("making")
            }
    finally:
        os.umask(before)
    assert {"graph.db", "graph.db-wal", "graph.db-shm", "graph.db@draft.db"} <= modes.keys()
    assert set(modes.values()) == {0o600}, modes
