"""The message that a user gives with a command is that of the commit."""

from pathlib import Path

import pytest

from tests.adapters.cli.conftest import Run

SCHEMA = "node City {\n  name: String @key\n}\n"
MEMORY = '{"type":"entity","name":"Ada","entityType":"person","observations":["Likes tea"]}\n'


@pytest.fixture(autouse=True)
def _graph(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MYCEL_DB", str(tmp_path / "graph.db"))
    run("init")


def test_every_command_that_writes_takes_a_message(run: Run, tmp_path: Path) -> None:
    (tmp_path / "city.pg").write_text(SCHEMA)
    (tmp_path / "rows.jsonl").write_text('{"type": "City", "data": {"name": "Rome"}}\n')
    (tmp_path / "memory.jsonl").write_text(MEMORY)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("A = 1\n")
    commands = (
        ("define", "type", "Drug"),
        ("concept", "put", "Drug", "aspirin"),
        ("kip", 'UPSERT { CONCEPT ?d { {type: "Drug", name: "ibuprofen"} } }'),
        ("tag", "v1"),
        ("concept", "put", "Drug", "aspirin", "--attributes", '{"a": 1}'),
        ("revert", "HEAD"),
        ("concept", "retire", "Drug:ibuprofen"),
        ("rollback", "v1", "--yes"),
        ("tag", "v1", "--delete"),
        ("schema", "apply", "city.pg"),
        ("load", "rows.jsonl"),
        ("import", "memory.jsonl"),
        ("bootstrap", "code"),
        ("purge", "Drug:aspirin", "--reason", "test", "--yes"),
    )
    for number, command in enumerate(commands):
        newest = run("log", "--limit", "1", "--json").object["commit"]
        words = [newest if word == "HEAD" else word for word in command]
        done = run(*words, "-m", f"because {number}")
        assert done.status == 0, (command, done.stderr)
        message = run("log", "--limit", "1", "--json").object["message"]
        assert message.endswith(f"because {number}"), command


def test_a_merge_takes_a_message(run: Run) -> None:
    run("define", "type", "Drug")
    run("concept", "put", "Drug", "aspirin", "--attributes", '{"dose": 1}')
    run("branch", "create", "trial")
    for branch, dose in (("main", 2), ("trial", 3)):
        attributes = f'{{"dose": {dose}}}'
        run("concept", "put", "Drug", "aspirin", "--attributes", attributes, "--branch", branch)
    assert run("merge", "trial", "--policy", "ours", "-m", "because of the trial").status == 0
    assert run("log", "--limit", "1", "--json").object["message"] == "because of the trial"
