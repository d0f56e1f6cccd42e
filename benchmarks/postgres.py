"""Both backends and SQL by hand in one run: `python -m benchmarks.postgres URL [CONCEPTS]`.

The URL names a workspace that does not exist yet. SQL by hand uses psycopg on the same tables. The
numbers are the minimum of several runs, in microseconds, which other work on the machine disturbs
least; only their ratio is comparable. Loads and branches are in seconds, as wall-clock time and as
processor time of this process.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import psycopg

import mycel
from mycel.store.backend.postgres.address import parse_address

LINKS_EACH = 10
ROUNDS = 300
CLIENTS = 20
WRITES_EACH = 20
RECORD = b"a record of the journal, of a usual length " * 3
HAND_TABLES = ("concept", "proposition", "journal", "tx")


class Query(NamedTuple):
    """The same question in KIP and in SQL."""

    name: str
    kip: str
    sql: str
    share: int = 1
    """Only one in this many rounds is run."""


_ITEM = "(SELECT id FROM type WHERE name = 'Item')"
_LEADS = "(SELECT id FROM predicate WHERE name = 'leads_to')"
QUERIES = (
    Query(
        "point",
        'FIND(?x.attributes.n) WHERE { ?x {type: "Item", name: :at} }',
        f"SELECT attributes::jsonb -> 'n' FROM concept WHERE name = %s AND type = {_ITEM}",
    ),
    Query(
        "one hop, 20",
        'FIND(?y.name) WHERE { ?x {type: "Item", name: :at} (?x, "leads_to", ?y) } LIMIT 20',
        "SELECT y.name FROM concept x JOIN proposition p ON p.subject = x.id JOIN concept y"
        f" ON y.id = p.object WHERE x.name = %s AND x.type = {_ITEM} AND p.predicate = {_LEADS}"
        " LIMIT 20",
    ),
    Query(
        "two hops",
        'FIND(?z.name) WHERE { ?x {type: "Item", name: :at} (?x, "leads_to", ?y)'
        ' (?y, "leads_to", ?z) } LIMIT 50',
        "SELECT z.name FROM concept x JOIN proposition p ON p.subject = x.id JOIN proposition q"
        " ON q.subject = p.object JOIN concept z ON z.id = q.object WHERE x.name = %s"
        f" AND x.type = {_ITEM} AND p.predicate = {_LEADS} AND q.predicate = {_LEADS} LIMIT 50",
    ),
    Query(
        "count of a type",
        'FIND(COUNT(?x)) WHERE { ?x {type: "Item"} }',
        f"SELECT count(*) FROM concept WHERE type = {_ITEM}",
        10,
    ),
    Query(
        "groups",
        'FIND(?x.attributes.kind, COUNT(?x)) WHERE { ?x {type: "Item"} }'
        " ORDER BY ?x.attributes.kind",
        "SELECT attributes::jsonb ->> 'kind' AS kind, count(*) FROM concept"
        f" WHERE type = {_ITEM} GROUP BY 1 ORDER BY 1",
        30,
    ),
)


def fill(db: mycel.Graph, concepts: int) -> tuple[float, float]:
    """Load items with links among them.

    Returns the wall-clock seconds and the processor seconds.
    """
    drawn = random.Random(7)
    db.write(lambda tx: (tx.define_type("Item"), tx.define_predicate("leads_to")))
    began, busy = perf_counter(), process_time()
    with db.transaction(message="fill") as tx:
        ids = tx.put_concepts(
            mycel.ConceptRow("Item", f"i{at}", {"n": at, "kind": f"k{at % 20}"})
            for at in range(concepts)
        )
        tx.put_propositions(
            mycel.PropositionRow(one, "leads_to", other)
            for one in ids
            for other in drawn.sample(ids, LINKS_EACH)
            if other != one
        )
    return perf_counter() - began, process_time() - busy


def fetch(hand: psycopg.Connection[Any], query: str, values: tuple[str, ...]) -> list[Any]:
    """All rows of a query in SQL."""
    return hand.execute(query, values).fetchall()  # type: ignore[arg-type]


def measured(work: Callable[[], object]) -> float:
    """The microseconds that a call takes."""
    began = perf_counter()
    work()
    return (perf_counter() - began) * 1e6


def write(db: mycel.Graph, at: int) -> None:
    """One concept with three links, durable."""
    db.execute(
        'UPSERT { CONCEPT ?n { {type: "Item", name: :name} SET ATTRIBUTES {n: :at}'
        ' SET PROPOSITIONS { ("leads_to", {type: "Item", name: :a})'
        ' ("leads_to", {type: "Item", name: :b}) ("leads_to", {type: "Item", name: :c}) } } }',
        name=f"new {at}", at=at, a=f"i{at}", b=f"i{at + 1}", c=f"i{at + 2}",
    )  # fmt: skip


def write_by_hand(hand: psycopg.Connection[Any], at: int, lock: int = 0) -> None:
    """The same rows of live tables alone; with a lock also journal and transaction, for one writer.

    Past, proofs and the index of words are left out.
    """
    with hand.transaction():
        if lock:
            hand.execute("SELECT pg_advisory_xact_lock(%s)", (lock,))
            (seq,) = hand.execute("SELECT coalesce(max(seq), 0) FROM hand_journal").fetchone() or ()
            hand.cursor().executemany(
                "INSERT INTO hand_journal VALUES (%s, 1, %s, NULL, %s, NULL)",
                [(seq + entry, at, RECORD) for entry in range(1, 5)],
            )
            hand.execute(
                "INSERT INTO hand_tx VALUES (%s, %s, 0, 1, '', %s, %s)",
                (seq + 4, seq + 1, RECORD[:32], RECORD[:32]),
            )
        (first, kind), *_ = hand.execute(
            f"SELECT coalesce(max(id), 0) + 2, {_ITEM} FROM hand_concept"
        )
        hand.execute(
            "INSERT INTO hand_concept VALUES (%s, %s, %s, %s, '{}', 1, 0, 0, 0, 0)",
            (first, kind, f"new {at}", f'{{"n":{at}}}'),
        )
        names = [f"i{at + other}" for other in range(3)]
        ends = hand.execute(
            f"SELECT id FROM concept WHERE name = ANY(%s) AND type = {_ITEM}", (names,)
        ).fetchall()
        for place, (end,) in enumerate(ends):
            hand.execute(
                "INSERT INTO hand_proposition VALUES (%s, %s, 1, %s, 1, '{}', '{}', 1, 0, 0, 0, 0)",
                (first * 8 + place * 2 + 1, first, end),
            )


def throughput(db: mycel.Graph, clients: int, tag: str) -> float:
    """The number of small transactions per second, with several clients."""

    def work(client: int) -> None:
        for at in range(CLIENTS * WRITES_EACH // clients):
            name = f"{tag} {client} {at}"
            db.write(lambda tx, name=name: tx.put_concept("Item", name))

    threads = [threading.Thread(target=work, args=(client,)) for client in range(clients)]
    began = perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return CLIENTS * WRITES_EACH / (perf_counter() - began)


def show(name: str, sqlite: float, postgres: float, hand: float | None = None) -> None:
    """Print a row: the figures, and the ratio of the figure of PostgreSQL."""
    by_hand = "" if hand is None else f"{hand:12.1f}{postgres / hand:9.2f}"
    print(f"{name:26}{sqlite:12.1f}{postgres:12.1f}{postgres / sqlite:9.2f}{by_hand}", flush=True)


def main(url: str, concepts: int) -> None:
    """Print a table of both backends, and of SQL by hand."""
    drawn = random.Random(3)
    address = parse_address(url)
    with tempfile.TemporaryDirectory() as folder:
        file, server = mycel.open(Path(folder) / "graph.db"), mycel.open(url)
        print(f"{'':26}{'SQLite':>12}{'PostgreSQL':>12}{'ratio':>9}{'by hand':>12}{'ratio':>9}")
        loads = [fill(db, concepts) for db in (file, server)]
        show("load, s", loads[0][0], loads[1][0])
        show("load, s of processor", loads[0][1], loads[1][1])
        with psycopg.connect(address.url, autocommit=True, prepare_threshold=1) as hand:
            hand.execute(f'SET search_path = "{address.schema}", mycel')
            for table in HAND_TABLES:
                hand.execute(f"CREATE TABLE hand_{table} (LIKE {table} INCLUDING ALL)")
            hand.execute("ANALYZE")
            for query in QUERIES:
                times: list[list[float]] = [[], [], []]
                for _ in range(ROUNDS // query.share + 3):
                    at = f"i{drawn.randrange(concepts)}"
                    values = {"at": at} if ":at" in query.kip else {}
                    works = (
                        partial(file.execute, query.kip, **values),
                        partial(server.execute, query.kip, **values),
                        partial(fetch, hand, query.sql, (at,) if values else ()),
                    )
                    for place, work in enumerate(works):
                        times[place].append(measured(work))
                show(query.name, *(min(each[3:]) for each in times))
            times = [[], [], [], []]
            for at in range(ROUNDS):
                times[0].append(measured(lambda at=at: write(file, at)))
                times[1].append(measured(lambda at=at: write(server, at)))
                times[2].append(measured(lambda at=at: write_by_hand(hand, at)))
                times[3].append(measured(lambda at=at: write_by_hand(hand, ROUNDS + at, lock=1)))
            least = [min(each) for each in times]
            show("durable write", *least[:3])
            show("to one with a journal", *least[:2], least[3])
            for table in HAND_TABLES:
                hand.execute(f"DROP TABLE hand_{table}")
        for clients in (1, CLIENTS):
            most = [
                max(throughput(db, clients, f"c{clients} {run}") for run in range(5))
                for db in (file, server)
            ]
            show(f"writes/s of {clients}", *most)
        times = [[], []]
        for place, db in enumerate((file, server)):
            times[place].append(measured(lambda db=db: db.branches.create("draft")))
        show("branch, s", *(min(each) / 1e6 for each in times))
        for db in (file, server):
            db.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
