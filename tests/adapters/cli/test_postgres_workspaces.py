"""Workspaces of a database: made, listed, shown and removed."""

from __future__ import annotations

from pathlib import Path

import pytest

import mycel
from mycel.store.backend.postgres.address import parse_address
from mycel.store.opening import workspaces_in
from tests.adapters.cli.conftest import Run
from tests.postgres_server import PostgresServer


def test_init_says_whether_the_workspace_was_there(
    run: Run, postgres_server: PostgresServer
) -> None:
    url = postgres_server.url()
    made = run("--db", url, "init")
    assert made.stdout.startswith("Created postgresql://")
    assert run("--db", url, "init").stdout.startswith("The graph exists already: postgresql://")
    assert run("--db", url, "init", "--json").object["created"] is False
    mistyped = run("--db", f"{url}&branch=nope", "init")
    assert (mistyped.status, "has no branch 'nope'" in mistyped.stderr) == (1, True)


def test_workspaces_of_a_database_are_listed_and_shown(
    run: Run, postgres_server: PostgresServer
) -> None:
    url, other = postgres_server.url("listed"), postgres_server.url("listed-too")
    for place in (url, other):
        with mycel.open(place) as db:
            db.branches.create("draft")
    known = {
        each["workspace"]: each for each in run("--db", url, "workspace", "list", "--json").objects
    }
    assert {"listed", "listed-too"} <= known.keys()
    assert known["listed"]["branches"] == 2
    assert known["listed"]["size_bytes"] > 0
    assert known["listed"]["path"] == str(parse_address(url))
    database = url.partition("&workspace")[0]
    assert run("--db", database, "workspace", "list", "--json").status == 0
    shown = run("--db", url, "workspace", "show", "--json").object
    assert shown == known["listed"]
    assert (
        run("--db", url, "workspace", "show", "listed-too", "--json").object == known["listed-too"]
    )
    missing = run("--db", url, "workspace", "show", "listed-not")
    assert "no workspace 'listed-not'" in missing.stderr


def test_a_workspace_is_removed_with_its_branches(
    run: Run, postgres_server: PostgresServer
) -> None:
    url = postgres_server.url("gone")
    with mycel.open(url) as db:
        db.branches.create("draft")
        with db.open_branch("draft"):
            busy = run("--db", url, "workspace", "remove", "--yes")
    assert (busy.status, "is in use" in busy.stderr) == (1, True)
    assert (
        run("--db", url, "workspace", "remove", "--yes").stdout == "Removed the workspace gone.\n"
    )
    query = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'mycel_gone')"
    assert postgres_server.rows(query) == []
    again = run("--db", url, "workspace", "remove", "--yes")
    assert (again.status, "has no workspace 'gone'" in again.stderr) == (1, True)


def test_branches_of_a_former_workspace_are_removed(
    run: Run, postgres_server: PostgresServer
) -> None:
    url = postgres_server.url("former")
    with mycel.open(url) as db:
        db.branches.create("draft")
    postgres_server.query('DROP SCHEMA "mycel_former" CASCADE')
    assert "former one: draft" in run("--db", url, "init").stderr
    assert run("--db", url, "workspace", "remove", "former", "--yes").status == 0
    assert run("--db", url, "init").status == 0


@pytest.mark.sqlite_file("opens the file of a backup")
def test_a_graph_is_restored_in_the_place_of_another_which_is_kept(
    run: Run, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url, file = postgres_server.url("restored"), tmp_path / "copy.db"
    with mycel.open(url) as db:
        db.branches.create("draft")
        db.backup(file)
        then = db.snapshot()
        db.write(lambda tx: tx.define_type("Late"))
        now = db.snapshot()
        assert "is in use" in run("--db", url, "restore", file, "--force").stderr
    refused = run("--db", url, "restore", file)
    assert (refused.status, "pass --force" in refused.stderr) == (1, True)
    assert run("--db", url, "restore", file, "--force").status == 0
    workspaces = workspaces_in(url)
    (aside,) = (name for name in workspaces.names() if name.startswith("replaced-"))
    with mycel.open(url, create=False) as db:
        assert db.snapshot() == then
        assert db.branches.names() == ["main", "draft"]
        assert db.verify().ok
    with mycel.open(workspaces.url_of(aside), create=False) as db:
        assert db.snapshot() == now
    of_folder = run("--db", postgres_server.url(), "restore", tmp_path)
    assert (of_folder.status, "is a folder" in of_folder.stderr) == (1, True)


@pytest.mark.parametrize("is_file", [True, False])
def test_a_purge_names_the_branches_that_keep_the_text(
    run: Run, postgres_server: PostgresServer, tmp_path: Path, *, is_file: bool
) -> None:
    place = str(tmp_path / "graph.db") if is_file else postgres_server.url()
    with mycel.open(place) as db:
        db.write(lambda tx: tx.define_type("Shop"))
        db.write(lambda tx: tx.put_concept("Shop", "secret"))
        db.branches.create("draft")
    done = run("--db", place, "purge", "Shop:secret", "--reason", "asked", "--yes")
    assert done.status == 0
    assert "Other branches still have what was forgotten here: draft." in done.stderr


def test_commands_that_write_keep_the_mirror_of_a_workspace_up_to_date(
    run: Run, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url, folder = postgres_server.url("mirrored"), tmp_path / "mirror"
    assert run("--db", url, "init").status == 0
    assert run("--db", url, "mirror", "init", str(folder)).status == 0
    try:
        assert run("--db", url, "note", "words", "--uri", "concept://shop/here").status == 0
        assert (folder / "concepts/shop/here.md").exists()
        assert run("--db", url, "mirror", "status", "--json").object["behind"] == 0
    finally:
        assert run("--db", url, "workspace", "remove", "--yes").status == 0
