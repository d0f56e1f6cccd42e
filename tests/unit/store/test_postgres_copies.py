"""Graphs that move between a file and PostgreSQL, with their journals, and back."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import mycel
from mycel.errors import ConstraintViolation, DuplicateExists, MycelError, NotADatabase
from mycel.history.backups import restore
from mycel.store import copying
from tests.postgres_server import PostgresServer

SCHEMA = """
node Person { name: String @key  email: String @unique  age: I32? @index }
edge Knows: Person -> Person { since: String? }
"""


def fill(db: mycel.Graph) -> None:
    """Everything that a graph keeps: versions, tombstones, purges, tags, merges, slots, times."""
    db.schema.apply(SCHEMA)
    with db.transaction(actor="ada", message="people") as tx:
        people = [
            tx.put_concept("Person", f"p{at}", {"email": f"p{at}@example.org", "age": at * 3})
            for at in range(12)
        ]
        for one, other in pairwise(people):
            tx.put_proposition(one, "Knows", other, {"since": "a summer"})
    db.history.tag("first")
    db.write(lambda tx: tx.update(people[1], attributes={"age": 99}))
    db.write(lambda tx: tx.retire(people[2], reason="moved away"))
    periods = [{"valid_from": "2019-01-01", "valid_until": "2021-01-01"}]
    dates = {"valid_from": "2024-01-01", "former_periods": periods}
    db.write(lambda tx: tx.update(people[6], metadata=dates))
    db.history.tag("second")
    db.write(lambda tx: tx.update(people[6], drop_metadata=["former_periods"]))
    db.purge(people[3], "asked for")
    db.write(lambda tx: tx.put_concept("Person", "été 海港", {"email": "é@example.org"}))


def state(db: mycel.Graph) -> list[object]:
    people = '{} WHERE {{ ?p {{type: "Person"}} }} ORDER BY ?p.name ASC'
    found = "FIND(?p.name, ?p.attributes.age)"
    return [
        db.snapshot(),
        db.execute(people.format(found)).rows,
        db.execute(people.format(f'{found} AS OF "first"')).rows,
        *(
            db.execute(people.format(f'{found} {moment} FOR TIME "{year}-06-01"')).rows
            for moment in ("", 'AS OF "second"')
            for year in (2020, 2022, 2025)
        ),
        [(element.id, round(score, 9)) for element, score in db.search("summer 海 p1 example")],
        [(commit.commit, commit.message) for commit in db.history.log()],
        db.execute(
            'FIND(?p.name) WHERE { ?p {type: "Person"} FILTER(?p.attributes.age == 99) }'
        ).rows,
    ]


def test_a_graph_moves_to_a_server_and_comes_home(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url, home = postgres_server.url(), tmp_path / "home.db"
    with mycel.open(tmp_path / "graph.db") as db:
        fill(db)
        db.branches.create("draft")
        with db.open_branch("draft") as draft:
            draft.write(lambda tx: tx.update(("Person", "p5"), attributes={"age": 1}))
        db.write(lambda tx: tx.update(("Person", "p5"), attributes={"age": 2}))
        assert db.merge("draft").commit is None  # A conflict, so it stays open.
        copy = db.branches.copy(url)
        assert copy.place.endswith(url.rpartition("=")[2])
        assert copy.entries == db.snapshot().entries
        before = state(db)
        conflicts = [conflict.id for conflict in db.merges.conflicts()]
    with mycel.open(url, create=False) as db:
        assert state(db) == before
        assert [conflict.id for conflict in db.merges.conflicts()] == conflicts
        assert db.verify(replay=True).ok
        with pytest.raises(ConstraintViolation):
            db.write(lambda tx: tx.put_concept("Person", "twin", {"email": "p1@example.org"}))
        db.write(lambda tx: tx.put_concept("Person", "grown", {"email": "up@example.org"}))
        before = state(db)
        db.branches.copy(home)
    with mycel.open(home) as db:
        assert state(db) == before
        assert [conflict.id for conflict in db.merges.conflicts()] == conflicts
        assert db.verify(replay=True).ok
        with pytest.raises(ConstraintViolation):
            db.write(lambda tx: tx.put_concept("Person", "twin", {"email": "up@example.org"}))
        db.write(lambda tx: tx.put_concept("Person", "home", {"email": "home@example.org"}))
        assert [element.name for element, _ in db.search("home", mode="keyword")] == ["home"]


def test_a_copy_of_many_batches_is_whole(
    postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "READ_TOGETHER", 3)
    with mycel.open(tmp_path / "graph.db") as db:
        fill(db)
        url = postgres_server.url()
        db.branches.copy(url)
        with mycel.open(url, create=False) as other:
            assert state(other) == state(db)
            other.branches.copy(tmp_path / "again.db")
        with mycel.open(tmp_path / "again.db") as again:
            assert state(again) == state(db)


def test_a_place_that_has_a_graph_is_left_alone(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.url()
    with mycel.open(tmp_path / "graph.db") as db, mycel.open(url) as other:
        fill(db)
        before = other.snapshot()
        for target in (url, tmp_path / "graph.db", db.path):
            with pytest.raises(DuplicateExists):
                db.branches.copy(target)
        with pytest.raises(ConstraintViolation):
            db.branches.copy(":memory:")
        assert other.snapshot() == before


def test_a_copy_that_fails_leaves_nothing(
    postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_server.url()
    with mycel.open(tmp_path / "graph.db") as db:
        fill(db)
        with monkeypatch.context() as patch:
            patch.setattr(copying.text, "index", lambda *_: 1 / 0)
            for target in (url, tmp_path / "copy.db"):
                with pytest.raises(ZeroDivisionError):
                    db.branches.copy(target)
        with pytest.raises(NotADatabase):
            mycel.open(url, create=False)
        assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == []
        db.branches.copy(url)


def test_a_backup_of_a_server_is_a_file_and_is_restored(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url, file = postgres_server.url(), tmp_path / "backup.db"
    with mycel.open(url) as db:
        fill(db)
        db.branches.create("draft")
        (backup,) = db.backup(file)
        assert (backup.is_new, backup.entries) == (True, db.snapshot().entries)
        (again,) = db.backup(file)
        assert not again.is_new
        before = state(db)
        (tmp_path / "all").mkdir()
        assert len(db.backup(tmp_path / "all")) == 2
        db.write(lambda tx: tx.put_concept("Person", "late", {"email": "late@example.org"}))
        assert db.backup(file)[0].is_new
        with (
            mycel.open(postgres_server.url()) as other,
            pytest.raises(ConstraintViolation, match="earlier"),
        ):
            other.backup(file)
    target = postgres_server.url()
    main = next(path for path in (tmp_path / "all").iterdir() if "@" not in path.name)
    restore(main, target)
    with mycel.open(target, create=False) as db:
        assert state(db) == before
    with pytest.raises(DuplicateExists):
        restore(main, target)
    with mycel.open(main, branch="draft") as draft:
        assert draft.verify(replay=True).ok
    with pytest.raises(MycelError):
        restore(tmp_path / "none.db", postgres_server.url())


@pytest.mark.parametrize("branch", ["", "&branch=draft"])
def test_a_copy_that_is_interrupted_while_it_is_verified_is_not_left(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, branch: str
) -> None:
    url = postgres_server.url()

    def interrupt(_store: object) -> None:
        raise KeyboardInterrupt

    with mycel.open() as db:
        if branch:
            db.branches.copy(url)
        with monkeypatch.context() as patch:
            patch.setattr("mycel.history.copies.verify", interrupt)
            with pytest.raises(KeyboardInterrupt):
                db.branches.copy(url + branch)
        with pytest.raises(MycelError, match=r"no workspace|no branch"):
            mycel.open(url + branch, create=False)
        assert db.branches.copy(url + branch).entries == db.snapshot().entries
