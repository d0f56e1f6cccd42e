"""A server of many workspaces in a process of its own, with tokens."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

import mycel
from mycel.sharing.tokens import TokenBook
from mycel.store.log.server_records import ServerRecords
from tests.adapters.http.conftest import HTTP, Server
from tests.postgres_server import SERVER


class Team:
    """A folder of workspaces, and the server of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server: Server | None = None

    def add(self, *names: str) -> None:
        """Add workspaces."""
        for name in names:
            mycel.open(self.folder / f"{name}.db").close()

    def token(self, actor: str, *scopes: str, **how: Any) -> str:
        """A new token."""
        with closing(ServerRecords(self.folder / "server.db")) as records:
            text, _ = TokenBook(records).create(actor, scopes, **how)
        return text

    def serve(self, *options: str) -> None:
        words = ("mycel", "serve", "--json", "--workspaces", self.folder, "--port", "0", *options)
        self.server = Server(*words)
        self.server.wait_until_ready()

    def ask(self, method: str, path: str, token: str = "", **how: Any) -> httpx.Response:
        """One request with a token."""
        assert self.server is not None
        headers = {"authorization": f"Bearer {token}"} if token else {}
        headers |= how.pop("headers", {})
        return HTTP.request(method, f"{self.server.url}{path}", headers=headers, **how)

    def kip(self, token: str, workspace: str, command: str, **parameters: Any) -> httpx.Response:
        body = {"command": command, "parameters": parameters}
        return self.ask("POST", f"/ws/{workspace}/kip", token, json=body)

    def end(self) -> None:
        if self.server is not None:
            self.server.end()


StartTeam = Callable[..., Team]


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    """A folder for workspaces; `serve` starts its server."""
    if SERVER:
        pytest.skip("a folder of workspaces holds files")
    folder = tmp_path / "workspaces"
    folder.mkdir()
    team = Team(folder)
    yield team
    team.end()
