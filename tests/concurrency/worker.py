"""The work of the processes of these tests.

    python -m tests.concurrency.worker <task> <path> <argument> …

A worker says `ready`, waits for a line, and works; everything that it prints from then on is a
write that was acknowledged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import mycel
from mycel.errors import MycelError, VersionConflict
from mycel.remote.copying import pull, push
from mycel.remote.sources import FileSource

FACT = "Fact"


def say(*words: object) -> None:
    print(*words, sep="\t", flush=True)


def wait_for_the_start() -> None:
    say("ready")
    sys.stdin.readline()


def add_nodes(path: str, me: str, count: str) -> None:
    """Add nodes of this worker, each linked to a concept that no worker writes."""
    with mycel.open(path) as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        wait_for_the_start()
        for n in range(int(count)):
            relations = [{"relation": "needs", "target": "hub"}]
            say("added", knowledge.add(f"{me}/{n}", content=str(n), relations=relations).id)


def add_edges(path: str, me: str, count: str) -> None:
    """Link concepts of this worker to the hub; all workers also try to add the same edge."""
    with mycel.open(path, actor=me) as db:
        hub, other = db.get_concept(FACT, "hub"), db.get_concept(FACT, "other")
        assert hub is not None
        assert other is not None
        wait_for_the_start()
        say("shared", db.add_edge(hub, "related_to", other, created_by=me))
        for n in range(int(count)):

            def work(tx: mycel.Transaction, name: str = f"{me} {n}") -> str:
                mine = tx.put_concept(FACT, name)
                return tx.add_edge(mine, "part_of", hub)

            say("added", f"{me} {n}", db.write(work))
            for edge in db.edges_in(hub, ["part_of"]):
                assert edge.dst == hub.id


def create(path: str) -> None:
    """Create a graph, and write to it."""
    wait_for_the_start()
    with mycel.open(path) as db:
        say("opened", db.history.log().__next__().message)
        db.write(lambda tx: tx.define_type(FACT))
        say("entries", db.snapshot().entries)


def hold(path: str) -> None:
    """Begin a transaction, write in it, and wait until the process is killed."""
    with mycel.open(path) as db, db.transaction() as tx:
        for n in range(500):
            tx.put_concept(FACT, f"held {n}", {"text": "x" * 1_000})
        say("holding")
        sys.stdin.readline()


def write_one(path: str, name: str) -> None:
    with mycel.open(path) as db:
        wait_for_the_start()
        say("writing")
        say("wrote", db.write(lambda tx: tx.put_concept(FACT, name)))


def write_on(path: str, me: str) -> None:
    """Write until the process is killed."""
    with mycel.open(path) as db:
        wait_for_the_start()
        n = 0
        while True:
            db.write(lambda tx, n=n: tx.put_concept(FACT, f"{me} {n}", {"text": "x" * 500}))
            say("wrote", f"{me} {n}")
            n += 1


def close_inside(path: str) -> None:
    """Close the graph in the middle of a transaction."""
    db = mycel.open(path)
    try:
        with db.transaction() as tx:
            tx.define_type("Inside")
            db.close()
    except MycelError as error:
        say("refused", error.name)
    say("done")


def forget_to_close(path: str) -> None:
    """End the process in the middle of a read, without closing the graph."""
    db = mycel.open(path)
    hub = db.get_concept(FACT, "hub")
    assert hub is not None
    edges = db.edges_in(hub)
    say("wrote", db.write(lambda tx: tx.put_concept(FACT, "left behind")))
    next(edges, None)
    sys.exit(0)


def fork_and_go_on(path: str) -> None:
    """Fork with a graph open that has been read and written; both go on."""
    import os

    with mycel.open(path) as db:
        before = db.write(lambda tx: tx.put_concept(FACT, "before the fork"))
        iterator = db.edges_in(before)
        next(iterator, None)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(reading)
                assert db.get(before).id == before
                made = db.write(lambda tx: tx.put_concept(FACT, "by the child"))
                assert db.get(made).id == made
                assert db.verify(replay=True).ok
                os.write(writing, b"ok")
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        made = db.write(lambda tx: tx.put_concept(FACT, "by the parent"))
        with os.fdopen(reading, "rb") as pipe:
            assert pipe.read() == b"ok"
        _, status = os.waitpid(pid, 0)
        assert status == 0
        assert db.get(made).id == made
        assert db.get_concept(FACT, "by the child") is not None
        for n in range(20):
            db.write(lambda tx, n=n: tx.put_concept(FACT, f"afterwards {n}"))
        assert db.verify(replay=True).ok
    say("done")


def fork_many(path: str) -> None:
    """Fork children that all write through the graph that their parent opened."""
    import os

    with mycel.open(path) as db:
        db.write(lambda tx: tx.put_concept(FACT, "before the fork"))
        children = []
        for child in range(5):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    for n in range(10):
                        name = f"child {child} {n}"
                        db.write(lambda tx, name=name: tx.put_concept(FACT, name))
                    db.close()
                    code = 0
                finally:
                    os._exit(code)
            children.append(pid)
        for n in range(10):
            db.write(lambda tx, n=n: tx.put_concept(FACT, f"parent {n}"))
        assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 5
        for child in range(5):
            for n in range(10):
                assert db.get_concept(FACT, f"child {child} {n}") is not None
        assert db.verify(replay=True).ok
    say("done")


def pull_always(path: str, there: str, me: str, count: str) -> None:
    """Pull and push between a clone and its remote, while others do the same."""
    with mycel.open(path) as db, mycel.open(there) as remote:
        source = FileSource(remote, "shop")
        wait_for_the_start()
        for n in range(int(count)):
            db.write(lambda tx, n=n: tx.put_concept(FACT, f"{me} {n}"))
            say("pulled", pull(db, source).status)
            try:
                say("pushed", push(db, source).status)
            except VersionConflict:
                say("behind")  # Somebody else has pushed in between.
            say("pulled", pull(db, source).status)


TASKS: dict[str, Callable[..., None]] = {
    task.__name__: task
    for task in (
        add_edges,
        add_nodes,
        create,
        hold,
        write_one,
        write_on,
        close_inside,
        forget_to_close,
        fork_and_go_on,
        fork_many,
        pull_always,
    )
}

if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
