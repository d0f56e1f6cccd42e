"""Hooks of several shells: what one of them wants is not what all of them get."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mycel
from mycel.cli import main
from mycel.cli.commands import hook
from mycel.hooks import light
from mycel.hooks.journal import HookJournal
from mycel.hooks.warm_server import WarmServer, end_kept
from mycel.knowledge.knowledge import Knowledge
from tests.adapters.warm import warm_command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")
PROMPT = "Do people log in with passwords or passkeys?"
EVENT = json.dumps({"session_id": "s1", "prompt": PROMPT}).encode()


def prompt(*words: str, **variables: str) -> bytes:
    """The output of the hook in a shell with these variables."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        command = [*warm_command("mycel"), "hook", "prompt", *words]
        done = subprocess.run(command, input=EVENT, capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout


def test_the_shell_of_a_hook_switches_it_off_and_no_other(
    knowledge: Knowledge, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYCEL_DB", str(path))
    with_off = {"MYCEL_HOOKS": "off"}
    server = WarmServer(knowledge, path, None)
    try:
        assert prompt(**with_off) == b""
        assert not list(HookJournal(path).entries())
        assert b"Passkeys only" in prompt("--try", PROMPT, **with_off)
        assert b"Passkeys only" in prompt()
    finally:
        server.close()
    assert prompt(**with_off) == b""


def test_a_kept_process_answers_whatever_the_shell_that_started_it_wants(
    knowledge: Knowledge, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYCEL_HOOKS", "off")
    HookJournal(path).switch("prompt", "on")
    assert HookJournal(path).switches()["capture"] == "on"
    keep = [*warm_command("mycel"), "hook", "keep", "--db", str(path)]
    with subprocess.Popen(keep, stdout=subprocess.PIPE) as kept:
        try:
            assert kept.stdout is not None
            assert b"Answering" in kept.stdout.readline()
            told = light.ask("prompt", "claude-code", str(path), EVENT)
            assert b"Passkeys only" in (told or b"")
        finally:
            kept.terminate()


def test_a_kept_process_ends_with_the_installation_and_a_server_does_not(
    knowledge: Knowledge, path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    mycel.open(other).close()
    server = WarmServer(knowledge, path, None)
    keep = [*warm_command("mycel"), "hook", "keep", "--db", str(other)]
    with subprocess.Popen(keep, stdout=subprocess.PIPE) as kept:
        try:
            assert kept.stdout is not None
            assert b"Answering" in kept.stdout.readline()
            assert end_kept() == 1
            assert kept.wait(60) == 0
            assert light.ask("prompt", "claude-code", str(other), EVENT) is None
            assert server.is_serving
            assert b"Passkeys only" in (light.ask("prompt", "claude-code", str(path), EVENT) or b"")
        finally:
            kept.terminate()
            server.close()


def test_a_process_of_another_version_answers_no_more(
    knowledge: Knowledge, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = WarmServer(knowledge, path, None, is_kept=True)
    try:
        assert light.ask("prompt", "claude-code", str(path), EVENT)
        monkeypatch.setattr("mycel.hooks.warm_server._program_stamp", lambda: None)
        assert light.ask("prompt", "claude-code", str(path), EVENT) is None
        assert server.ended.wait(60)
    finally:
        server.close()


def test_no_process_is_kept_for_what_only_one_shell_wants(
    knowledge: Knowledge, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    knowledge.db.branches.create("trial")
    monkeypatch.setenv("MYCEL_HOOK_KEEP", "on")
    started: list[dict[str, Any]] = []
    note = SimpleNamespace(
        DEVNULL=subprocess.DEVNULL,
        Popen=lambda words, **how: started.append({"words": words, **how}),
    )
    monkeypatch.setattr(hook, "subprocess", note)
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> None:
        file = tmp_path / "event.json"
        file.write_bytes(EVENT)
        with file.open() as stdin, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", stdin)
            assert main(["hook", "prompt", *words]) == 0

    db = ["--db", path.name]
    for words in (["--branch", "trial"], ["--actor", "Ada"], ["--message", "x"]):
        call(*db, *words)
    for name in light._FAR:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(name, "trial")
            call(*db)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYCEL_HOOKS", "off")
        call(*db)
    knowledge.db.branches.switch("trial")
    call(*db)
    assert started == []
    knowledge.db.branches.switch("main")
    call(*db)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYCEL_DB", path.name)
        call()
    # The file is named whole: the process does not run in the folder of this one.
    assert [each["words"][-3:] for each in started] == 2 * [["keep", "--db", str(path)]]
    assert not any("MYCEL_HOOKS" in each["env"] for each in started)


def test_a_warm_process_does_not_answer_for_another_branch(
    knowledge: Knowledge, path: Path
) -> None:
    with mycel.open(path) as db:
        db.branches.create("trial")
    server = WarmServer(knowledge, path, None)
    try:
        knowledge.db.branches.switch("trial")
        assert light.ask("prompt", "claude-code", str(path), EVENT) is None
        knowledge.db.branches.switch("main")
        assert light.ask("prompt", "claude-code", str(path), EVENT)
    finally:
        server.close()
