"""Real processes on one file."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.remote.copying import clone, pull, push
from mycel.remote.sources import FileSource
from tests.adapters.warm import warm_command
from tests.concurrency.worker import FACT
from tests.unit.store.given import add_concepts, assert_sound, entries

PATIENCE_S = 60
"""How long a process may take before a test gives up on it: only a hang takes that long."""

PULLED = {"up_to_date", "ahead", "forward", "merged"}


class Worker:
    """A process that runs a task of `worker`."""

    def __init__(self, task: str, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [*warm_command("tests.concurrency.worker"), task, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def read(self) -> list[str]:
        """The next line, in words."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            _, errors = self.process.communicate(timeout=PATIENCE_S)
            pytest.fail(f"the worker ended early: {errors}")
        return line.rstrip("\n").split("\t")

    def start(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def finish(self) -> list[list[str]]:
        """The rest of what it says, once it has ended well."""
        output, errors = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, errors
        return [line.split("\t") for line in output.splitlines()]

    def kill(self) -> list[list[str]]:
        """End it at once; what it had said by then."""
        self.process.kill()
        output, _ = self.process.communicate(timeout=PATIENCE_S)
        return [line.split("\t") for line in output.splitlines() if line]


class Workers(list[Worker]):
    """Workers that do not outlive their test."""

    def hire(self, task: str, *arguments: object) -> Worker:
        self.append(Worker(task, *arguments))
        return self[-1]

    def start_together(self) -> None:
        for worker in self:
            assert worker.read() == ["ready"]
        for worker in self:
            worker.start()


@pytest.fixture
def workers() -> Iterator[Workers]:
    hired = Workers()
    yield hired
    for worker in hired:
        if worker.process.poll() is None:
            worker.process.kill()
        worker.process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A graph with a hub and another concept."""
    path = tmp_path / "graph.db"
    with mycel.open(path) as db:
        add_concepts(db, "hub", "other")
    return path


def test_twenty_processes_add_edges_at_once_and_every_acknowledged_one_is_there(
    path: Path, workers: Workers
) -> None:
    with mycel.open(path) as db:
        before = entries(db)
    for n in range(20):
        workers.hire("add_edges", path, f"worker {n}", 12)
    workers.start_together()
    said = [line for worker in workers for line in worker.finish()]
    shared = {line[1] for line in said if line[0] == "shared"}
    added = {line[1]: line[2] for line in said if line[0] == "added"}
    assert len(shared) == 1, "all got the id of the one edge"
    assert len(added) == len(set(added.values())) == 20 * 12
    with mycel.open(path) as db:
        assert_sound(db)
        hub = db.get_concept(FACT, "hub")
        assert hub is not None
        assert {edge.id for edge in db.edges_in(hub, ["part_of"])} == set(added.values())
        for name, link in added.items():
            mine = db.get_concept(FACT, name)
            assert mine is not None
            assert db.get_edge(mine, "part_of", hub).id == link
        assert len(db.history.versions(shared.pop())) == 1, "one record, one journal entry"
        # Two entries and one transaction for each edge; one of each for the shared one.
        assert entries(db) == before + 20 * 12 * 3 + 2


@pytest.mark.parametrize("round_", range(3))
def test_processes_that_create_the_same_graph_at_once_get_one_graph(
    tmp_path: Path, workers: Workers, round_: int
) -> None:
    path = tmp_path / "new.db"
    for _ in range(6):
        workers.hire("create", path)
    workers.start_together()
    said = [line for worker in workers for line in worker.finish()]
    assert Counter(line[0] for line in said) == {"opened": 6, "entries": 6}
    with mycel.open(path, create=False) as db:
        assert_sound(db)
        # Genesis, the core capsules, and one definition of the type, whoever was first.
        messages = [entry.message for entry in db.history.log()]
        assert len(messages) == 3
        assert messages[1:] == [
            "add the core capsules",
            "create the graph; the core capsules follow",
        ]
        assert {line[1] for line in said if line[0] == "entries"} == {str(entries(db))}


def test_a_writer_that_is_killed_lets_those_who_wait_go_on(path: Path, workers: Workers) -> None:
    holder = workers.hire("hold", path)
    assert holder.read() == ["holding"]
    waiting = [workers.hire("write_one", path, f"waited {n}") for n in range(4)]
    for worker in waiting:
        assert worker.read() == ["ready"]
        worker.start()
        assert worker.read() == ["writing"]
    holder.kill()
    made = [line for worker in waiting for line in worker.finish()]
    assert [line[0] for line in made] == ["wrote"] * 4
    with mycel.open(path) as db:
        assert_sound(db)
        assert db.get_concept(FACT, "held 0") is None
        for n in range(4):
            assert db.get_concept(FACT, f"waited {n}") is not None


def test_killing_writers_at_any_moment_loses_nothing_acknowledged(
    path: Path, workers: Workers
) -> None:
    """Each is killed after it has said a few things; the others write on."""
    for n in range(5):
        workers.hire("write_on", path, f"worker {n}")
    workers.start_together()
    said: list[list[str]] = []
    for n, worker in enumerate(workers):
        said += [worker.read() for _ in range(5 + 3 * n)]
        said += worker.kill()
    acknowledged = [line[1] for line in said if len(line) == 2]
    assert len(acknowledged) > 25
    with mycel.open(path) as db:
        assert_sound(db)
        assert [name for name in acknowledged if db.get_concept(FACT, name) is None] == []


def test_a_process_that_forgets_to_close_does_no_harm(path: Path, workers: Workers) -> None:
    said = workers.hire("forget_to_close", path).finish()
    assert said[0][0] == "wrote"
    with mycel.open(path) as db:
        assert db.get_concept(FACT, "left behind") is not None
        assert_sound(db)


def test_closing_inside_a_transaction_does_not_hang(path: Path, workers: Workers) -> None:
    """It may be refused, or roll back; it must not wait for itself."""
    worker = workers.hire("close_inside", path)
    try:
        said = worker.process.communicate(timeout=10)[0].splitlines()
    except subprocess.TimeoutExpired:
        pytest.fail("closing waits for the transaction that it is in")
    assert said[-1] == "done"
    with mycel.open(path) as db:
        assert_sound(db)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("task", ["fork_and_go_on", "fork_many"])
def test_a_forked_process_reads_and_writes_and_so_does_its_parent(
    path: Path, workers: Workers, task: str
) -> None:
    assert workers.hire(task, path).finish() == [["done"]]
    with mycel.open(path) as db:
        assert_sound(db)
        assert db.get_concept(FACT, "before the fork") is not None


def test_two_processes_add_nodes_at_once_and_all_of_them_are_there(
    tmp_path: Path, workers: Workers
) -> None:
    path = tmp_path / "graph.db"
    for me in ("one", "two"):
        workers.hire("add_nodes", path, me, 10)
    workers.start_together()
    added = {line[1] for worker in workers for line in worker.finish()}
    assert len(added) == 20
    with mycel.open(path) as db:
        assert_sound(db)
        knowledge = mycel.Knowledge(db, workspace="shop")
        for me in ("one", "two"):
            for n in range(10):
                assert knowledge.get(f"{me}/{n}").content == str(n)
        assert len(knowledge.broken_links()) == 20


@pytest.mark.sqlite_file("a clone is a file")
def test_processes_that_pull_and_push_at_once_make_one_copy_of_the_remote(
    tmp_path: Path, workers: Workers
) -> None:
    there = tmp_path / "there.db"
    with mycel.open(there) as remote:
        remote.write(lambda tx: tx.define_type(FACT))
        for round_ in range(4):
            here = tmp_path / f"here-{round_}.db"
            clone(FileSource(remote, "shop"), here)
            for n in range(200):
                name = f"there {round_} {n}"
                remote.write(lambda tx, name=name: tx.put_concept(FACT, name))
            workers.clear()
            for n in range(3):
                workers.hire("pull_always", here, there, f"worker {round_} {n}", 3)
            workers.start_together()
            said = [line for worker in workers for line in worker.finish()]
            assert {line[1] for line in said if line[0] == "pulled"} <= PULLED
            with mycel.open(here) as db:
                pull(db, FileSource(remote, "shop"))
                push(db, FileSource(remote, "shop"))
                assert_sound(db)
            assert_sound(remote)
            for n in range(9):
                name = f"worker {round_} {n // 3} {n % 3}"
                assert remote.get_concept(FACT, name) is not None
