"""The server answers the hooks of its client's other processes."""

import json
import sys
from pathlib import Path

import pytest

from mycel.hooks import light
from tests.adapters.mcp.clients import connected


@pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")
def test_a_prompt_is_answered_by_the_server_that_the_client_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a machine with much to do, loading the model may take longer than a prompt waits.
    monkeypatch.setitem(light.ANSWER_SECONDS, "prompt", 60.0)
    db = tmp_path / "graph.db"
    wire = json.dumps({"session_id": "s", "prompt": "Do people log in with a passkey?"}).encode()
    with connected(db, "--root", str(tmp_path)) as session:
        note = {"uri": "auth/passkeys", "name": "Passkeys", "content": "People log in by passkey."}
        session.ok("remember_knowledge", concepts=[note])
        answer = light.ask("prompt", "claude-code", str(db), wire)
        assert b"People log in by passkey." in (answer or b"")
    assert light.ask("prompt", "claude-code", str(db), wire) is None
