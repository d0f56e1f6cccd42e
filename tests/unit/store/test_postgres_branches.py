"""Branches and merges of graphs in PostgreSQL: schemas beside that of the graph."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    DatabaseError,
    DatabaseReadOnly,
    DuplicateExists,
    InvalidIdentifier,
    NotADatabase,
    NotFound,
    Unsupported,
)
from mycel.store.backend.postgres.address import parse_address
from tests.adapters.cli.conftest import in_process
from tests.postgres_server import PostgresServer


@pytest.fixture
def db(postgres_server: PostgresServer) -> Iterator[mycel.Graph]:
    with mycel.open(postgres_server.url()) as db:
        db.write(lambda tx: tx.define_type("Shop"))
        put(db, "old")
        yield db


def put(db: mycel.Graph, name: str, **attributes: object) -> None:
    db.write(lambda tx: tx.put_concept("Shop", name, attributes or {"said": name}))


def shops(db: mycel.Graph) -> list[str]:
    return db.execute('FIND(?s.name) WHERE { ?s {type: "Shop"} } ORDER BY ?s.name ASC').value


def test_a_branch_has_a_history_of_its_own_and_is_merged(db: mycel.Graph) -> None:
    branch = db.branches.create("Draft.1")
    assert (branch.parting.ahead, branch.parting.behind) == (0, 0)
    with db.open_branch("Draft.1") as draft:
        assert draft.branch == "Draft.1"
        assert draft.snapshot() == db.snapshot()
        put(draft, "new")
        put(draft, "old", said="otherwise")
        assert [element.name for element, _ in draft.search("otherwise", mode="keyword")] == ["old"]
        assert draft.verify(replay=True).ok
    put(db, "meanwhile")
    assert shops(db) == ["meanwhile", "old"]
    assert [(each.name, each.parting.ahead) for each in db.branches] == [
        ("main", 0),
        ("Draft.1", 2),
    ]
    for proof in db.branches.prove("Draft.1"):
        assert proof.old_entries == db.branches.get("Draft.1").parting.entries
    merge = db.merge("Draft.1")
    assert merge.commit is not None
    assert shops(db) == ["meanwhile", "new", "old"]
    assert db.branches.get("Draft.1").is_merged
    assert db.verify(replay=True).ok
    db.branches.delete("Draft.1")
    assert db.branches.names() == ["main"]
    # Its name is free again, and the merge is what a new one begins with.
    db.branches.create("Draft.1")
    with mycel.open(db.path, branch="Draft.1") as draft:
        assert shops(draft) == ["meanwhile", "new", "old"]
        put(draft, "and more")


def test_a_conflict_is_kept_open_and_decided(db: mycel.Graph) -> None:
    db.branches.create("other")
    put(db, "old", said="here")
    with db.open_branch("other") as other:
        put(other, "old", said="there")
    merge = db.merge("other")
    assert len(merge.conflicts) == 1
    with mycel.open(db.path, create=False) as again:
        (conflict,) = again.merges.conflicts()
        again.merges.resolve(conflict, "theirs")
        again.merges.commit()
    (said,) = db.execute('FIND(?s.attributes.said) WHERE { ?s {type: "Shop", name: "old"} }').value
    assert said == "there"
    assert db.verify(replay=True).ok


def test_what_cannot_be_done_to_a_branch_is_refused(db: mycel.Graph) -> None:
    db.branches.create("one")
    for name in ("one", "One"):
        with pytest.raises(DuplicateExists):
            db.branches.create(name)
    for name in ("a b", "", 'x"y', "n" * 25):
        with pytest.raises(InvalidIdentifier):
            db.branches.create(name)
    for ask in (db.branches.get, db.open_branch, db.merge, db.branches.delete):
        with pytest.raises(NotFound):
            ask("none")
    with pytest.raises(Unsupported, match="URL") as raised:
        db.branches.switch("one")
    assert "branch=one" in raised.value.hint
    with db.open_branch("one") as one:
        with pytest.raises(DatabaseBusy, match="in use"):
            db.branches.delete("one")
        put(one, "only here")
    with pytest.raises(ConstraintViolation, match="1 commit"):
        db.branches.delete("one")
    db.branches.delete("one", unmerged=True)
    with pytest.raises(ConstraintViolation):
        db.branches.delete("main")


def test_a_branch_that_is_not_there_is_never_made_by_opening_it(
    db: mycel.Graph, postgres_server: PostgresServer
) -> None:
    mistyped = f"{db.path}&branch=nope"
    for how in ({}, {"create": False}, {"readonly": True}, {"core_capsules": True}):
        with pytest.raises(NotFound, match="has no branch 'nope'"):
            mycel.open(mistyped, **how)
    with pytest.raises(NotADatabase, match="no workspace 'unknown'"):
        mycel.open(f"{postgres_server.url('unknown')}&branch=nope")
    assert db.branches.names() == ["main"]
    # A copy to a branch of a workspace is how a backup of one comes back.
    assert db.branches.copy(mistyped).entries == db.snapshot().entries
    assert db.branches.names() == ["main", "nope"]


def test_a_workspace_does_not_adopt_branches_of_a_former_one(
    db: mycel.Graph, postgres_server: PostgresServer
) -> None:
    url = postgres_server.url()
    with mycel.open(url) as former:
        former.branches.create("draft")
    postgres_server.query(f'DROP SCHEMA "{parse_address(url).schema}" CASCADE')
    with pytest.raises(NotADatabase, match="branches of a former one: draft") as raised:
        mycel.open(url)
    assert "mycel workspace remove" in raised.value.hint
    with pytest.raises(NotADatabase, match="former"):
        db.branches.copy(url)


@pytest.mark.sqlite_file("opens the files of a backup")
def test_branches_of_others_are_named_and_those_of_the_role_are_shown(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.url("rights")
    page = (Path(__file__).parents[3] / "docs" / "postgres.md").read_text("utf-8")
    grants = [
        each.replace("shop", "rights")
        .replace("DATABASE knowledge", "DATABASE postgres")
        .replace("writer", "drafter")
        for each in re.findall(r"\nGRANT [^;]+;", page)
    ]
    postgres_server.query("CREATE ROLE drafter LOGIN")
    with mycel.open(url) as db:
        for name in ("draft", "secret"):
            db.branches.create(name)
    for statement in grants:
        if "DATABASE" not in statement:
            postgres_server.query(statement)
    theirs = url.replace("user=mycel", "user=drafter")
    with mycel.open(theirs, create=False) as db:
        assert [branch.name for branch in db.branches] == ["main", "draft"]
        assert db.branches.unreadable() == ["secret"]
        assert len(db.backup(f"{tmp_path}/copy/")) == 2
        with pytest.raises(DatabaseError, match="may not use the schema 'mycel_rights@secret'"):
            db.open_branch("secret")
        with pytest.raises(DatabaseReadOnly, match="permission denied") as raised:
            db.branches.create("theirs")
        assert "owner of the database" in raised.value.hint
    for command in (["branch", "list"], ["backup", f"{tmp_path}/again/"]):
        done = in_process("--db", theirs, *command)
        assert (done.status, "secret" in done.stderr, "draft" in done.stdout) == (0, True, True)
    postgres_server.query(next(each for each in grants if "DATABASE" in each))
    with mycel.open(theirs, create=False) as db:
        db.branches.create("theirs")
        assert db.branches.names() == ["main", "draft", "theirs"]


def test_a_branch_is_of_one_moment_while_others_write(db: mycel.Graph) -> None:
    is_over = threading.Event()

    def write() -> None:
        with mycel.open(db.path, create=False) as writer:
            at = 0
            while not is_over.is_set():
                put(writer, f"shop {(at := at + 1)}")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for name in ("a", "b", "c"):
            db.branches.create(name)
    finally:
        is_over.set()
        thread.join()
    for name in ("a", "b", "c"):
        with db.open_branch(name) as branch:
            assert branch.verify(replay=True).ok
            assert db.branches.get(name).parting.ahead == 0
