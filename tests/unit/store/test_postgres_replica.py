"""A streaming replica shows a graph to readers, and says how far it is behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import sleep

import pytest

import mycel
from mycel.errors import DatabaseReadOnly
from tests.adapters.http.conftest import Server
from tests.postgres_server import PostgresServer


@pytest.fixture(scope="module")
def replica(postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    postgres_server.url()  # It has to run.
    with postgres_server.replica() as replica:
        yield replica


def eventually(holds: Callable[[], bool]) -> None:
    while not holds():
        sleep(0.01)


def define(db: mycel.Graph, name: str) -> None:
    db.write(lambda tx: tx.define_type(name))


def lag_s(db: mycel.Graph) -> float | None:
    with db.reading() as reader:
        lag: float | None = reader.replica_lag_s()
        return lag


def test_a_replica_is_read_and_falls_behind_and_catches_up(
    postgres_server: PostgresServer, replica: PostgresServer
) -> None:
    url = postgres_server.url("replicated")
    theirs = replica.url("replicated")
    with mycel.open(url) as db:
        define(db, "Plant")
        assert lag_s(db) is None
        eventually(lambda: bool(replica.schemas() & {"mycel_replicated"}))
        with mycel.open(theirs, readonly=True) as reader:
            eventually(lambda: reader.snapshot() == db.snapshot())
            assert reader.verify(replay=True).ok
            eventually(lambda: lag_s(reader) == 0)
            replica.query("SELECT pg_wal_replay_pause()")
            before = reader.snapshot()
            define(db, "Tree")
            eventually(lambda: (lag_s(reader) or 0) > 0)
            assert reader.snapshot() == before
            replica.query("SELECT pg_wal_replay_resume()")
            eventually(lambda: reader.snapshot() == db.snapshot())
            assert "Tree" in str(reader.execute("DESCRIBE CONCEPT TYPES").value)
            with pytest.raises(DatabaseReadOnly):
                define(reader, "Moss")
        with mycel.open(theirs) as other, pytest.raises(DatabaseReadOnly):
            define(other, "Moss")


def test_a_server_on_a_replica_shows_the_lag(
    postgres_server: PostgresServer, replica: PostgresServer
) -> None:
    with mycel.open(postgres_server.url("shown2")) as db:
        define(db, "Plant")
        entries = db.snapshot().entries
    url = replica.url("shown2")
    eventually(lambda: bool(replica.schemas() & {"mycel_shown2"}))
    server = Server("mycel", "serve", "--json", "--readonly", "--db", url, "--port", "0")
    try:
        server.wait_until_ready()
        eventually(lambda: server.get().json()["graph"]["entries"] == entries)
        eventually(lambda: server.get().json()["graph"]["replica_lag_s"] == 0)
    finally:
        server.end()
