"""`mycel demo`: a small graph, and eight steps that show the main commands on it.

Each step says what it does, shows the command that does the same, and then prints the result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.commands.edges import show_found
from mycel.cli.commands.history import show_log
from mycel.cli.commands.proofs import says
from mycel.cli.frame.context import Command, Session, pass_session
from mycel.cli.frame.kip_output import answer
from mycel.cli.frame.output import Output
from mycel.cli.frame.parameters import find_concept

if TYPE_CHECKING:
    from mycel.nexus import Nexus
    from mycel.store.write.transaction import Transaction

RANGER, SENSOR, REVIEWER = "ranger", "sensor-7", "reviewer"

_TYPES = {"Tree": "A tree in the plot", "Fungus": "A fungus between the roots"}
_CONCEPTS = (
    ("Tree", "Birch", {"age": 60}),
    ("Tree", "Pine", {"age": 110}),
    ("Tree", "Seedling", {"age": 1, "description": "In deep shade, and yet it grows"}),
    ("Fungus", "Fly agaric", {"latin": "Amanita muscaria"}),
    ("Fungus", "Penny bun", {"latin": "Boletus edulis"}),
)
_EDGES = (
    (RANGER, ("Fungus", "Fly agaric"), "joins", ("Tree", "Birch"), 0.4),
    (RANGER, ("Fungus", "Fly agaric"), "joins", ("Tree", "Seedling"), 0.9),
    (RANGER, ("Fungus", "Penny bun"), "joins", ("Tree", "Pine"), 0.2),
    (SENSOR, ("Fungus", "Penny bun"), "joins", ("Tree", "Birch"), 0.7),
)
_QUESTION = (
    'FIND(?t.name, COUNT(?f)) WHERE { ?f {type: "Fungus"} (?f, "joins", ?t) } ORDER BY ?t.name'
)


@click.command(cls=Command)
@pass_session
def demo(session: Session) -> int:
    """Show the main commands on a small example graph.

    The graph is temporary, unless --db names a new file to keep it in.
    """
    import mycel

    with _new_file(session) as path, mycel.open(path, actor=RANGER) as db:
        tale = _Tale(session.out)
        _grow(tale, db)
        _ask(tale, db)
        _walk(tale, db)
        before = _correct(tale, db)
        _look_back(tale, db, before)
        _show_log(tale, db)
        _prove(tale, db)
        good = _verify(tale, db)
    if "db" in session.given:
        tale.end(f"The graph is in {path}: try `mycel edge in Tree:Birch --db {path}`.")
    else:
        tale.end(
            "This graph was temporary. `mycel demo --db forest.db` keeps it in a file;"
            "\n`mycel init --client claude-code` connects an agent to a graph for this folder."
        )
    return 0 if good else 1


@contextmanager
def _new_file(session: Session) -> Iterator[Path]:
    # MYCEL_DB and MYCEL_BRANCH are ignored: they name a database that is in use.
    session.refuse_branch("demo", session.given)
    if "db" in session.given:
        path = session.place().path
        if path.exists():
            raise click.UsageError(f"{str(path)!r} exists already; the demo needs a new file.")
        yield path
        return
    with TemporaryDirectory(prefix="mycel-demo-") as folder:
        yield Path(folder) / "forest.db"


class _Tale:
    """Numbered steps, as text or as JSON."""

    def __init__(self, out: Output) -> None:
        self.out = out
        self.steps = 0

    def step(self, title: str, text: str, command: str = "") -> None:
        self.steps += 1
        if self.out.as_json:
            return
        self.out.line("")
        self.out.line(self.out.style(f"{self.steps}. {title}", fg="green", bold=True))
        self.out.line(text)
        if command:
            self.out.line(self.out.style(f"   $ mycel {command}", fg="cyan"))

    def result(self, wire: dict[str, Any], show: Callable[[], object]) -> None:
        """Prints the result of the step, as JSON or by `show`."""
        if self.out.as_json:
            self.out.object({"step": self.steps} | wire)
        else:
            show()

    def lines(self, wire: dict[str, Any], *lines: str) -> None:
        text = "\n".join(f"   {line}" for line in lines)
        self.result(wire, lambda: self.out.line(text))

    def end(self, text: str) -> None:
        if not self.out.as_json:
            self.out.line(f"\n{text}")


def _grow(tale: _Tale, db: Nexus) -> None:
    tale.step(
        "Write",
        "A ranger and a soil sensor record which fungus joins which tree. Each edge has a weight,\n"
        "an author and a time, and each transaction is journaled.",
        'edge add "Fungus:Fly agaric" joins Tree:Birch --weight 0.4',
    )

    before = db.snapshot().entries
    _plant(db)
    entries = db.snapshot().entries - before
    tale.lines(
        {"concepts": len(_CONCEPTS), "edges": len(_EDGES), "entries": entries},
        f"{len(_CONCEPTS)} concepts and {len(_EDGES)} edges, {entries} new journal entries.",
    )


def _plant(db: Nexus) -> None:
    def begin(tx: Transaction) -> None:
        for name, description in _TYPES.items():
            tx.define_type(name, {"description": description})
        tx.define_predicate("joins", {"description": "Its threads reach the roots of"})
        for type_name, name, attributes in _CONCEPTS:
            tx.put_concept(type_name, name, attributes)

    db.write(begin, message="the plot")
    for actor, src, predicate, dst, weight in _EDGES:
        ends = _id(db, *src), predicate, _id(db, *dst)
        db.add_edge(*ends, weight=weight, created_by=actor)


def _ask(tale: _Tale, db: Nexus) -> None:
    tale.step(
        "Ask",
        "KIP is the query language of the graph. How many fungi reach each tree?",
        f"kip '{_QUESTION}'",
    )
    result = db.execute(_QUESTION)
    tale.result(result.to_dict(), lambda: answer(tale.out, _QUESTION, result))


def _walk(tale: _Tale, db: Nexus) -> None:
    from mycel.graph.walk import Follow

    tale.step(
        "Walk",
        "What is within two hops of the seedling, along the edges or against them?",
        "find Tree:Seedling --hops 2 --direction both",
    )
    along = Follow(max_hops=2, direction="both")
    found = db.find(_id(db, "Tree", "Seedling"), along, form="short")
    tale.result(found.to_dict(), lambda: show_found(tale.out, found))


def _correct(tale: _Tale, db: Nexus) -> int:
    tale.step(
        "Correct",
        "A reviewer finds that the sensor's edge is wrong and removes it. The journal keeps the\n"
        "edge, and who removed it, when and why.",
        'edge remove "Fungus:Penny bun" joins Tree:Birch --reason "wrong probe"',
    )
    before = db.snapshot().entries
    ends = _id(db, "Fungus", "Penny bun"), "joins", _id(db, "Tree", "Birch")
    db.remove_edge(*ends, reason="wrong probe", by=REVIEWER)
    gone = db.get_edge(*ends)
    tale.lines(
        gone.to_dict(),
        f"{gone.id}, removed by {gone.tombstoned_by}: {gone.tombstoned_reason}",
    )
    return before


def _look_back(tale: _Tale, db: Nexus, before: int) -> None:
    tale.step(
        "Look back",
        "Which fungi reached the birch before the removal, and which do now?",
        f"edge in Tree:Birch --as-of {before}",
    )
    birch = _id(db, "Tree", "Birch")

    def names(view: Any) -> list[str]:
        return [view.get(edge.src).name for edge in view.edges_in(birch)]

    then, now = names(db.as_of(before)), names(db)
    tale.lines(
        {"as_of": before, "then": then, "now": now},
        f"after entry {before}: {', '.join(then)}",
        f"{'now:'.ljust(len(f'after entry {before}:'))} {', '.join(now)}",
    )


def _show_log(tale: _Tale, db: Nexus) -> None:
    tale.step("Read the log", "Every transaction, newest first.", "log --limit 4")
    entries = list(db.log(limit=4))
    tale.result(
        {"log": [entry.to_dict() for entry in entries]},
        lambda: show_log(tale.out, entries),
    )


def _prove(tale: _Tale, db: Nexus) -> None:
    from mycel.merkle.proofs import StateProof
    from mycel.model.records import decode_concept

    tale.step(
        "Prove",
        "One hash, the root, stands for the whole graph. Whoever has the root can check a proof\n"
        "without the database; a proof with a single changed bit is refused.",
        "prove Tree:Birch --out birch.json\n   $ mycel verify --proof birch.json --root HEX",
    )
    root = db.snapshot().overall_root
    sent = json.dumps(db.prove(("Tree", "Birch")).to_dict())
    proof = StateProof.from_dict(json.loads(sent))
    older = decode_concept(proof.record or b"")._replace(attributes={"age": 61})
    forged = replace(proof, record=older.encode())
    honest, caught = proof.verify(root), not forged.verify(root)
    tale.lines(
        {"overall_root": root.hex(), "proven": honest, "forgery_noticed": caught},
        f"root {root.hex()}",
        f"{'proven' if honest else 'NOT PROVEN'}: {says(proof)}",
        f"a birch of 61 years instead of 60: {'refused' if caught else 'ACCEPTED'}",
    )


def _verify(tale: _Tale, db: Nexus) -> bool:
    tale.step(
        "Verify",
        "Checks every part of the file against the others, and rebuilds the state from the\n"
        "journal alone to compare it.",
        "verify --replay",
    )
    report = db.verify(replay=True)
    tale.lines(
        report.to_dict(),
        f"{', '.join(report.checks)}: {'all agree' if report.ok else 'PROBLEMS'}",
    )
    return report.ok


def _id(db: Nexus, type_name: str, name: str) -> str:
    return find_concept(db, type_name, name).id
