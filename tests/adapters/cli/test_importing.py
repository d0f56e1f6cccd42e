"""`mycel import`: a file of the memory server."""

import json
from pathlib import Path

import pytest

import mycel
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


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_said(run: Run, db: Path, name: str) -> None:
    done = run("--db", db, "import", db.parent / name)
    assert done.status == 1
    assert "cannot be read" in done.stderr
    assert "MEMORY_FILE_PATH" in done.stderr


def test_a_file_of_something_else_is_refused(run: Run, db: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("name,age\nAda,36\n")
    done = run("--db", db, "import", tmp_path / "rows.csv")
    assert done.status == 2
    assert "no file of the memory server" in done.stderr
    assert "mycel load" in done.stderr
