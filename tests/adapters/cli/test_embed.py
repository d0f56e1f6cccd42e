"""`mycel embed`: the embedder of a graph as commands show, choose and use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mycel.embedding import endpoint
from tests.adapters.cli.conftest import Run
from tests.unit.embedding.server import serving

pytestmark = pytest.mark.usefixtures("graph")


def test_an_embedder_is_chosen_shown_rebuilt_and_given_up(run: Run) -> None:
    first = run("embed", "status", "--json").object
    assert (first["embedder"], first["dimensions"], first["error"]) == ("static", 128, None)
    with serving() as server:
        used = run("embed", "use", server.address, "--json").object
        assert (used["embedder"], used["dimensions"], used["pending"]) == (server.address, 5, 0)
        assert used["embedded"] == first["pending"] + first["embedded"]
        assert run("embed", "rebuild", "--json").object == used
        assert f"embedder    {server.address}\n" in run("embed", "status").stdout
        assert run("search", "aspirin").stderr == ""
    assert run("embed", "use", "static", "--json").object["embedder"] == "static"
    assert run("verify").status == 0


def test_a_server_that_is_gone_is_a_warning_of_search_and_an_error_of_use(
    run: Run, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(endpoint.KEY_VARIABLE, "sk-secret")
    with serving() as server:
        address = server.address
    failed = run("embed", "use", address)
    assert failed.status == 1
    assert "cannot be reached" in failed.stderr
    Path(f"{graph}.embedder").write_text(address)
    before = run("search", "aspirin", "--mode", "keyword").stdout
    found = run("search", "aspirin")
    assert found.status == 0
    assert found.stdout.split()[:8] == before.split()[:8]
    assert "cannot be reached" in found.stderr
    status = run("embed", "status")
    assert status.status == 0
    assert "cannot be reached" in status.stdout
    assert "sk-secret" not in failed.stderr + found.stderr + status.stdout
