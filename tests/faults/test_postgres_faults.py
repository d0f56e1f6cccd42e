"""A fault at the Nth round trip to PostgreSQL leaves all or nothing.

The server ends the connection before or after an answer, the network
cuts it when the statement was sent and nobody reads the answer, or the whole server is killed.
And from the Nth statement on that writes, the server's disk is full: triggers say so.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import mycel
from mycel.errors import CommitUncertain, DiskFull, MycelError
from mycel.store.backend.postgres import layout
from mycel.store.backend.postgres.address import parse_address
from tests.faults.workloads import FACT, NOTES, WORKLOADS, Workload, open_graph, spread
from tests.postgres_server import PostgresServer
from tests.unit.store.given import assert_sound

Wait = Callable[..., Any]

ATTEMPTS_MAX = 6
"""In CI; `make soak` tries every round trip with every fault, and every statement."""
PARTS = 8
"""The tests of `make soak` for one piece of work, each with every eighth fault."""


def cut(pgconn: Any) -> None:
    """Close both directions of the socket of a connection."""
    with socket.socket(fileno=os.dup(pgconn.socket)) as theirs:
        theirs.shutdown(socket.SHUT_RDWR)


def resumed(state: Any, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """A generator whose first state was taken from it already."""
    while True:
        try:
            state = gen.send((yield state))
        except StopIteration as end:
            return end.value


class Faults:
    """Counts round trips, and lets one of them fail."""

    def __init__(self, server: PostgresServer, wait: Wait) -> None:
        self._server = server
        self._wait = wait
        self.count = 0
        self.at: int | None = None
        self.kind = ""
        self.is_down = False
        """True while the server is not running."""

    def wait(self, driver: Any, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """Wait for an answer in place of the driver."""
        self.count += 1
        if self.count != self.at:
            return self._wait(driver, gen, *args, **options)
        match self.kind:
            case "ended before":
                self._terminate(driver)
            case "ended after":
                answer = self._wait(driver, gen, *args, **options)
                self._terminate(driver)
                return answer
            case "cut":
                try:
                    first = next(gen)
                except StopIteration as end:
                    return end.value
                cut(driver.pgconn)
                gen = resumed(first, gen)
            case "killed":
                self._server.stop("immediate")
                self.is_down = True
        return self._wait(driver, gen, *args, **options)

    def _terminate(self, driver: Any) -> None:
        self._server.query(f"SELECT pg_terminate_backend({driver.info.backend_pid}, 10000)")


ENDS = ("ended before", "ended after", "cut")


@contextmanager
def counting(server: PostgresServer) -> Iterator[Faults]:
    """Let all round trips of this process be counted."""
    from mycel.store.backend.postgres import wire

    driver: Any = wire.Driver
    faults = Faults(server, driver.wait)

    def wait(driver: Any, *args: Any, **options: Any) -> Any:
        return faults.wait(driver, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "wait", wait)
        yield faults


@pytest.fixture
def faults(postgres_server: PostgresServer) -> Iterator[Faults]:
    with counting(postgres_server) as faults:
        yield faults
        if faults.is_down:
            postgres_server.start(postgres_server.folder)


def act(workload: Workload, url: str) -> MycelError | None:
    """Open a graph and do the work; the error if it is not acknowledged."""
    try:
        with open_graph(url) as db:
            workload.act(db)
    except MycelError as error:
        return error
    return None


def check(workload: Workload, url: str, error: MycelError | None) -> None:
    """The work is there as a whole or not at all, and there if it was acknowledged."""
    with open_graph(url) as db:
        is_done = workload.is_done(db)
        assert_sound(db)
        if workload.prepare is not None:
            assert [name for name in NOTES if db.get_concept(FACT, name) is None] == []
        if error is None:
            assert is_done
        elif workload.parts > 1 and is_done:
            assert isinstance(error, CommitUncertain), error
        made = db.write(lambda tx: tx.define_type("Afterwards"))
        assert db.get(made).id == made


def places(total: int, part: int | None, most: int) -> list[int]:
    """The numbers of steps to fail at: some, or all those of a part."""
    return list(spread(total, most)) if part is None else list(range(1 + part, total + 2, PARTS))


def fail_at_each(
    server: PostgresServer,
    faults: Faults,
    name: str,
    kinds: tuple[str, ...],
    *,
    most: int = ATTEMPTS_MAX,
    part: int | None = None,
) -> None:
    """Do a piece of work with a fault at one round trip after the other."""
    workload, prepared = WORKLOADS[name], server.prepare()
    if workload.prepare is not None:
        with mycel.open(server.url(prepared), core_capsules=False) as db:
            workload.prepare(db)

    def begin() -> str:
        return server.url() if workload.prepare is None else server.copy(prepared)

    url = begin()
    faults.count = 0
    assert act(workload, url) is None
    total, failed = faults.count, 0
    for number, at in enumerate(places(total, part, most)):
        url = begin()
        faults.count, faults.at, faults.kind = 0, at, kinds[number % len(kinds)]
        error = act(workload, url)
        faults.at = None
        if faults.is_down:
            server.start(server.folder)
            faults.is_down = False
        failed += error is not None
        check(workload, url, error)
    assert failed or name == "create", "some fault was in the way"


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_connection_that_ends_at_any_round_trip_leaves_all_or_nothing(
    postgres_server: PostgresServer, faults: Faults, name: str
) -> None:
    fail_at_each(postgres_server, faults, name, ENDS)


def test_a_server_that_is_killed_at_any_round_trip_leaves_all_or_nothing(
    postgres_server: PostgresServer, faults: Faults
) -> None:
    fail_at_each(postgres_server, faults, "change many", ("killed",), most=3)


@contextmanager
def full_disk(server: PostgresServer, url: str, at: int) -> Iterator[None]:
    """Let every statement fail that writes to a graph, from one of them on."""
    schema = parse_address(url).schema
    triggers = "".join(
        f'CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE OR DELETE ON "{schema}".{table}'
        " EXECUTE FUNCTION full_disk.check();"
        for table in layout.NAMES
    )
    server.query(
        "CREATE SCHEMA full_disk; CREATE SEQUENCE full_disk.steps;"
        "CREATE FUNCTION full_disk.check() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF nextval('full_disk.steps') >= {at} THEN RAISE 'could not extend file'"
        f" USING ERRCODE = 'disk_full'; END IF; RETURN NULL; END $$; {triggers}"
    )
    try:
        yield
    finally:
        server.query("DROP SCHEMA full_disk CASCADE")


def fill_at_each(server: PostgresServer, name: str, part: int | None = None) -> None:
    """Do a piece of work with a disk that is full from one statement after the other on."""
    workload, prepared = WORKLOADS[name], server.prepare()
    assert workload.prepare is not None
    with mycel.open(server.url(prepared), core_capsules=False) as db:
        workload.prepare(db)
    url = server.copy(prepared)
    with full_disk(server, url, 1 << 40):
        assert act(workload, url) is None
        ((total,),) = server.rows("SELECT last_value FROM full_disk.steps")
    for at in places(total, part, 3):
        url = server.copy(prepared)
        with full_disk(server, url, at):
            error = act(workload, url)
        # A search stores what it derives for the next one, and answers all the same.
        fails = at <= total and name != "search"
        assert isinstance(error, DiskFull) if fails else error is None, (at, error)
        check(workload, url, error)


FILLED = tuple(
    name for name in WORKLOADS if WORKLOADS[name].prepare is not None and name != "scrub"
)
"""VACUUM calls no triggers."""


@pytest.mark.parametrize("name", FILLED)
def test_a_disk_that_is_full_at_any_statement_leaves_all_or_nothing(
    postgres_server: PostgresServer, name: str
) -> None:
    fill_at_each(postgres_server, name)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", FILLED)
def test_a_disk_that_is_full_at_every_statement_leaves_all_or_nothing(
    postgres_server: PostgresServer, name: str, part: int
) -> None:
    fill_at_each(postgres_server, name, part)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", [*ENDS, "killed"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_fault_at_every_round_trip_leaves_all_or_nothing(
    postgres_server: PostgresServer, faults: Faults, name: str, kind: str, part: int
) -> None:
    fail_at_each(postgres_server, faults, name, (kind,), part=part)
