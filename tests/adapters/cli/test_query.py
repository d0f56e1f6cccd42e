"""`mycel query`: named queries for hands."""

from pathlib import Path

import pytest

from tests.adapters.cli.conftest import Run

TEXT = """query large($names: [String] = ["Faro", "Porto"], $limit: I32 = 20) @description("Towns.")
{ FIND(?c.name) WHERE { ?c {type: "City"} FILTER(IN(?c.name, :names)) }
  ORDER BY ?c.name LIMIT :limit }
"""


@pytest.fixture
def db(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "x.db"
    run("--db", path, "init")
    run("--db", path, "define", "type", "City")
    for name in ("Faro", "Porto"):
        run("--db", path, "concept", "put", "City", name)
    (tmp_path / "q.gq").write_text(TEXT)
    assert run("--db", path, "query", "add", tmp_path / "q.gq").lines == ["Added: large."]
    return path


def test_queries_are_listed_shown_run_checked_and_removed(run: Run, db: Path) -> None:
    assert run("--db", db, "query", "list").lines[1].startswith("large  names: [String]")
    assert run("--db", db, "query", "show", "large").stdout.strip() == TEXT.strip()
    assert run("--db", db, "query", "run", "large", "limit=1").lines == ["?c.name", "Faro"]
    told = run("--db", db, "query", "run", "large", 'names=["Porto"]', "--json").object
    assert told == {"columns": ["?c.name"], "rows": [["Porto"]]}
    assert run("--db", db, "query", "check").status == 0
    assert run("--db", db, "query", "remove", "large").status == 0
    assert run("--db", db, "query", "run", "large").status == 1


def test_what_is_wrong_is_said(run: Run, db: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.gq").write_text("\n\nquery x( { }")
    done = run("--db", db, "query", "add", tmp_path / "bad.gq")
    assert done.status == 2
    assert "Line 3" in done.stderr
    assert run("--db", db, "query", "add", tmp_path / "missing.gq").status == 1
    assert run("--db", db, "query", "run", "large", "limit").status == 2
    assert run("--db", db, "query", "run", "large", "names=x").status == 2
    (tmp_path / "s.pg").write_text("node Town { size: I32? }")
