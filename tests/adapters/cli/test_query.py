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


def test_a_schema_is_applied_with_its_queries(run: Run, db: Path, tmp_path: Path) -> None:
    schema, queries = tmp_path / "shop.pg", tmp_path / "shop.gq"
    schema.write_text("node Town { name: String @key  size: I32? }")
    queries.write_text('query towns() { FIND(?t.attributes.size) WHERE { ?t {type: "Town"} } }')
    assert run("--db", db, "query", "add", queries).status == 2, "its type is not there yet"
    done = run("--db", db, "schema", "apply", schema, queries)
    assert (done.status, "Queries added: towns." in done.stderr) == (0, True)
    assert run("--db", db, "query", "run", "towns").status == 0
    schema.write_text('node Town { name: String @key  area: I32? @rename_from("size") }')
    assert "towns would break" in run("--db", db, "schema", "plan", schema).stderr
    queries.write_text(queries.read_text().replace("size", "area"))
    done = run("--db", db, "schema", "plan", schema, queries)
    assert (done.status, "would break" in done.stderr) == (0, False)
    assert run("--db", db, "schema", "apply", schema, queries).status == 0
    assert run("--db", db, "query", "check").status == 0
    queries.write_text("query broken( {")
    schema.write_text("node Town { name: String @key }")
    assert run("--db", db, "schema", "apply", schema, queries).status == 2
    assert "area" in run("--db", db, "schema", "show").stdout, "nothing has changed"
    assert run("--db", db, "schema", "plan", queries).status == 2
