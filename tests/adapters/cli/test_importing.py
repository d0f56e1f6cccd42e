"""`mycel import`: files and folders of other programs."""

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

import mycel
from mycel.cli.console import search_index
from mycel.knowledge.memory.memory_server import EntityGraph
from tests.adapters.cli.conftest import Run

LINES = [
    {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]},
    {"type": "entity", "name": "Bob", "entityType": "person", "observations": []},
    {"type": "relation", "from": "Ada", "to": "Bob", "relationType": "knows"},
    {"type": "relation", "from": "Ada", "to": "Nobody", "relationType": "knows"},
    {"type": "relation", "from": "Ada", "to": "Bob"},
]
TEXT = "".join(json.dumps(line) + "\n" for line in LINES)


@pytest.fixture
def db(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "x.db"
    run("--db", path, "init")
    return path


def test_a_file_is_imported_and_what_was_skipped_is_said(
    run: Run, db: Path, tmp_path: Path
) -> None:
    (tmp_path / "memory.jsonl").write_text(TEXT)
    done = run("--db", db, "import", tmp_path / "memory.jsonl")
    assert done.status == 0
    assert done.lines == [
        "2 entities created, 0 updated (0 observations added), 0 unchanged.",
        "2 relations created, 0 unchanged.",
    ]
    assert done.stderr.startswith("Warning: Skipped line 5: its relationType is missing.\n")
    with mycel.open(db) as graph:
        assert len(EntityGraph(graph).open_nodes(["Ada"]).relations) == 2


def test_standard_input_will_do(run: Run, db: Path) -> None:
    told = run("--db", db, "import", "-", "--json", input=TEXT).object
    assert told["entities"]["created"] == 2
    assert told["skipped"] == {
        "count": 1,
        "lines": [{"place": "line 5", "why": "its relationType is missing"}],
    }


def test_the_database_is_created_if_it_is_not_there(run: Run, tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_text(TEXT)
    done = run("--db", tmp_path / "new.db", "import", tmp_path / "memory.jsonl")
    assert done.lines[0].startswith("2 entities created")
    assert run("--db", tmp_path / "new.db", "verify").status == 0


def test_a_file_that_is_not_there_creates_no_database(run: Run, tmp_path: Path) -> None:
    assert run("--db", tmp_path / "new.db", "import", tmp_path / "missing.jsonl").status == 1
    assert not (tmp_path / "new.db").exists()


def test_a_kind_in_the_place_of_the_source_is_said(run: Run, db: Path, tmp_path: Path) -> None:
    (tmp_path / "my vault" / ".obsidian").mkdir(parents=True)
    two = run("--db", db, "import", "obsidian", tmp_path / "my vault")
    assert two.status == 2
    assert f"mycel import '{tmp_path / 'my vault'}' --from obsidian" in two.stderr
    alone = run("--db", db, "import", "obsidian")
    assert alone.status == 1
    assert "mycel import PATH --from obsidian" in alone.stderr
    assert "one at a time" in run("--db", db, "import", "a.jsonl", "b.jsonl").stderr


def test_a_file_that_cannot_be_read_is_said(run: Run, db: Path) -> None:
    done = run("--db", db, "import", db.parent / "missing.jsonl")
    assert done.status == 1
    assert "cannot be read" in done.stderr
    assert "MEMORY_FILE_PATH" in done.stderr


def test_a_file_of_something_else_is_refused(run: Run, db: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("name,age\nAda,36\n")
    done = run("--db", db, "import", tmp_path / "rows.csv")
    assert done.status == 2
    assert "no source that can be recognised" in done.stderr
    assert "mycel load" in done.stderr


TURNS = [
    {"conversation": "c1", "speaker": "Ada", "text": "I moved to Porto", "time": "2026-01-31"},
    {"conversation": "c1", "speaker": "Bob", "text": "password: hunter2!x"},
]


def test_conversations_are_shown_first_and_then_imported(
    run: Run, db: Path, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(turn) + "\n" for turn in TURNS) + "{broken\n")
    seen = run("--db", db, "import", path, "--preview", "--json").object
    assert (seen["conversations"], seen["turns"], seen["secrets"]) == (1, 2, {"setting": 1})
    assert run("--db", db, "import", path, "--strict").status == 2
    done = run("--db", db, "import", path)
    assert done.lines[0].startswith("2 turns written, 0 known. 1 new conversation.")
    assert "Skipped talk.jsonl, line 3" in done.stderr
    assert run("--db", db, "import", path).lines[0].startswith("0 turns written, 2 known.")
    hit = run("--db", db, "search", "Who moved to Porto?", "--json").objects[0]
    assert hit["attributes"]["participants"] == ["Ada"]
    assert run("--db", db, "search", "Who moved to Porto?", "--without", "Event").lines == []


def test_an_export_may_be_packed(
    run: Run, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = [{"uuid": "c", "chat_messages": [{"uuid": "a", "sender": "human", "text": "Hello"}]}]
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as packed:
        packed.writestr("data/conversations.json", json.dumps(chat))
    # An archive of a megabyte may hold more than the disk does.
    room = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: room._replace(free=100))
        refused = run("--db", db, "import", tmp_path / "export.zip")
    assert refused.status == 2
    assert "100 free" in refused.stderr
    assert "TMPDIR" in refused.stderr
    done = run("--db", db, "import", tmp_path / "export.zip")
    assert done.lines[0].startswith("1 turn written")


def test_the_sessions_of_a_client_are_those_of_this_project(
    run: Run, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.chdir(tmp_path)
    assert run("--db", db, "import", "claude-code").status == 1
    own = re.sub(r"[^A-Za-z0-9]", "-", str(tmp_path))
    for folder, text in ((own, "Hello"), ("-elsewhere", "Secret plans")):
        (tmp_path / "claude" / "projects" / folder).mkdir(parents=True)
        event = {"type": "user", "uuid": text, "sessionId": folder, "message": {"content": text}}
        (tmp_path / "claude" / "projects" / folder / "s.jsonl").write_text(json.dumps(event))
    assert run("--db", db, "import", "claude-code").lines[0].startswith("1 turn written")
    assert run("--db", db, "import", "claude-code", "--all").lines[0].startswith("1 turn written")


def test_vectors_are_made_with_an_import_and_not_by_the_first_search(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [{"conversation": "c", "speaker": "Ada", "text": f"tea number {n}"} for n in range(3)]
    sources = {
        "turns.jsonl": "".join(json.dumps(turn) + "\n" for turn in turns),
        "memory.jsonl": TEXT,
    }
    monkeypatch.setattr(search_index, "INDEXED_MIN", 1)
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
        db = tmp_path / f"{name}.db"
        assert run("--db", db, "import", tmp_path / name).status == 0
        assert run("--db", db, "embed", "status", "--json").object["pending"] == 0
