"""Thirty-two processes that write to graphs in PostgreSQL."""

from __future__ import annotations

import pytest

import mycel
from tests.concurrency.test_processes import Workers, entries, workers
from tests.concurrency.worker import FACT
from tests.postgres_server import PostgresServer
from tests.unit.store.given import add_concepts, assert_sound

__all__ = ["workers"]

PROCESSES = 32


@pytest.fixture
def urls(postgres_server: PostgresServer) -> list[str]:
    """Graphs with a hub and another concept."""
    urls = [postgres_server.url() for _ in range(8)]
    for url in urls:
        with mycel.open(url) as db:
            add_concepts(db, "hub", "other")
    return urls


def write_at_once(workers: Workers, urls: list[str], count: int) -> None:
    """Let all processes write edges of their own, spread over graphs."""
    before = {}
    for url in urls:
        with mycel.open(url) as db:
            before[url] = entries(db)
    hired = {n: workers.hire("add_edges", urls[n % len(urls)], f"worker {n}", count)
             for n in range(PROCESSES)}  # fmt: skip
    workers.start_together()
    lines = {n: worker.finish() for n, worker in hired.items()}
    for at, url in enumerate(urls):
        mine = [line for n in lines if n % len(urls) == at for line in lines[n]]
        shared = {line[1] for line in mine if line[0] == "shared"}
        added = {line[1]: line[2] for line in mine if line[0] == "added"}
        assert len(shared) == 1, "all got the id of the one edge"
        assert len(set(added.values())) == len(added) == PROCESSES // len(urls) * count
        with mycel.open(url) as db:
            assert_sound(db)
            hub = db.get_concept(FACT, "hub")
            assert hub is not None
            assert {edge.id for edge in db.edges_in(hub, ["part_of"])} == set(added.values())
            # Two entries and one transaction for each edge; one of each for the shared one.
            assert entries(db) == before[url] + len(added) * 3 + 2


@pytest.mark.parametrize("graphs", [1, 8])
def test_all_that_thirty_two_processes_write_is_there(
    urls: list[str], workers: Workers, graphs: int
) -> None:
    write_at_once(workers, urls[:graphs], 2)


@pytest.mark.soak
@pytest.mark.parametrize("graphs", [1, 8])
def test_all_that_thirty_two_processes_write_for_long_is_there(
    urls: list[str], workers: Workers, graphs: int
) -> None:
    write_at_once(workers, urls[:graphs], 60)
