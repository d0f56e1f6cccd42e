"""`mycel demo`: a small graph, and ten steps that run the main commands on it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.store.file.branch_files import MAIN

if TYPE_CHECKING:
    from mycel.api.graph import Graph
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
    (RANGER, ("Fungus", "Fly agaric"), ("Tree", "Birch"), 0.4),
    (RANGER, ("Fungus", "Fly agaric"), ("Tree", "Seedling"), 0.9),
    (RANGER, ("Fungus", "Penny bun"), ("Tree", "Pine"), 0.2),
    (SENSOR, ("Fungus", "Penny bun"), ("Tree", "Birch"), 0.7),
)
_TALK = (
    ("Ranger", "2026-03-02T09:00:00Z", "The birch lost branches in the storm of February."),
    ("Agent", "2026-03-02T09:01:00Z", "Shall I send somebody to cut the birch back?"),
    ("Ranger", "2026-03-02T09:02:00Z", "No. We decided never to cut in the nesting season."),
    ("Ranger", "2026-03-02T09:03:00Z", "The gate has a new code, password: f0rest-gate-17"),
)
"""An example conversation in the format of another program, with a secret in it."""
_PROMPTS = ("Can I cut the birch in the nesting season?", "continue, please")
_QUESTION = (
    'FIND(?t.name, COUNT(?f)) WHERE { ?f {type: "Fungus"} (?f, "joins", ?t) } ORDER BY ?t.name'
)


@click.command(cls=Command)
@pass_session
@click.pass_context
def demo(context: click.Context, session: Invocation) -> int:
    """Show the main commands on a small example graph.

    The graph is temporary, unless --db names a new file to keep it in.
    """
    import mycel

    # MYCEL_DB and MYCEL_BRANCH are ignored: they name a database that is in use.
    session.refuse_branch("demo", session.options)
    with TemporaryDirectory(prefix="mycel-demo-") as folder, _new_file(session, folder) as path:
        tale = _Tale(session, context.find_root().command, path)
        tale.step(
            "Write",
            "A ranger and a soil sensor record which fungus joins which tree. Each edge has a"
            " weight (the\ncost of walking along it), an author and a time, and each transaction is"
            " journaled.",
        )
        with mycel.open(path, actor=RANGER) as db:
            _plant(db)
            before = db.snapshot().entries
        tale.run("edge", "out", "Fungus:Fly agaric")
        tale.step("Ask", "KIP is the query language of the graph. How many fungi reach each tree?")
        tale.run("kip", _QUESTION)
        tale.step(
            "Walk", "What is within two hops of the seedling, along the edges or against them?"
        )
        tale.run("find", "Tree:Seedling", "--hops", "2", "--direction", "both", "--form", "short")
        tale.step(
            "Correct",
            "A reviewer finds that the sensor's edge is wrong and removes it. The journal keeps"
            " the\nedge, and who removed it, when and why.",
        )
        wrong = ("Fungus:Penny bun", "joins", "Tree:Birch")
        tale.run("edge", "remove", *wrong, "--reason", "wrong probe", "--actor", REVIEWER)
        tale.run("edge", "get", *wrong)
        tale.step(
            "Look back", "Which fungi reached the birch before the removal, and which do now?"
        )
        tale.run("edge", "in", "Tree:Birch", "--as-of", str(before))
        tale.run("edge", "in", "Tree:Birch")
        tale.step("Read the log", "Every transaction, newest first.")
        tale.run("log")
        tale.step(
            "Prove",
            "One hash, the root, stands for the whole graph. Everybody with the root can check a"
            " proof\nwithout the database. In a forged proof the birch is 61 years old, not 60.",
        )
        proof, forged = Path(folder) / "birch.json", Path(folder) / "forged.json"
        tale.run("prove", "Tree:Birch", "--out", str(proof))
        root = _forge(proof, forged)
        tale.run("verify", "--proof", str(proof), "--root", root)
        refused = tale.run("verify", "--proof", str(forged), "--root", root)
        tale.step(
            "Verify",
            "Checks every part of the file against the others, and rebuilds the state from the\n"
            "journal alone to compare it.",
        )
        failed = tale.run("verify", "--replay")
        tale.step(
            "Import",
            "What other programs remember becomes part of the graph, here a conversation of March."
            " A\nsecret in it is replaced before anything is written.",
        )
        talk = Path(folder) / "march.jsonl"
        talk.write_text("".join(map(_turn_line, _TALK)), encoding="utf-8")
        tale.run("import", str(talk))
        tale.run("search", "the code of the gate", "--limit", "1")
        tale.step(
            "Work unasked",
            "`mycel install` connects clients to hooks: at each prompt, notes that fit are shown to"
            " the\nmodel, which need not decide to look. A prompt that nothing fits gets nothing.",
        )
        for prompt in _PROMPTS:
            tale.run("hook", "prompt", "--try", prompt)
    if not session.as_json:
        session.out.line(
            f"\nThe graph is in {path}: try `mycel edge in Tree:Birch --db {path}`."
            if "db" in session.options
            else "\nThis graph was temporary. `mycel demo --db forest.db` keeps it in a file;"
            "\n`mycel install` connects the clients of this machine to a graph for each folder."
        )
    return 0 if refused and not failed else 1


@contextmanager
def _new_file(session: Invocation, folder: str) -> Iterator[Path]:
    if "db" not in session.options:
        yield Path(folder) / "forest.db"
        return
    path = session.place().path
    if path.exists():
        raise click.UsageError(f"{str(path)!r} exists already; the demo needs a new file.")
    yield path


class _Tale:
    """Numbered steps, each with commands and their output."""

    def __init__(self, session: Invocation, root: click.Command, path: Path) -> None:
        self._session = session
        self._root = root
        self._more = ("--db", str(path), "--branch", MAIN)
        self._steps = 0

    def step(self, title: str, text: str) -> None:
        """Begin a step."""
        self._steps += 1
        out = self._session.out
        if out.as_json:
            out.object({"step": self._steps, "title": title})
        else:
            out.line("\n" + out.style(f"{self._steps}. {title}", fg="green", bold=True))
            out.line(text)

    def run(self, *words: str) -> int:
        """Show a command, run it, and return its exit status."""
        out = self._session.out
        if not out.as_json:
            out.line(out.style(f"   $ mycel {shlex.join(words)}", fg="cyan"))
        inner = Invocation(as_json=out.as_json)
        words = (*words, *self._more)
        status = self._root.main(words, prog_name="mycel", standalone_mode=False, obj=inner)
        return status if isinstance(status, int) else 0


def _turn_line(turn: tuple[str, str, str]) -> str:
    speaker, time, text = turn
    wire = {"conversation": "march", "speaker": speaker, "time": time, "text": text}
    return json.dumps(wire) + "\n"


def _plant(db: Graph) -> None:
    def begin(tx: Transaction) -> None:
        for name, description in _TYPES.items():
            tx.define_type(name, {"description": description})
        tx.define_predicate("joins", {"description": "Its threads reach the roots of"})
        for type_name, name, attributes in _CONCEPTS:
            tx.put_concept(type_name, name, attributes)

    db.write(begin, message="the plot")
    for actor, src, dst, weight in _EDGES:
        db.add_edge(src, "joins", dst, weight=weight, created_by=actor)


def _forge(source: Path, target: Path) -> str:
    """Write a proof in which the birch has another age; returns the root of the true proof."""
    from mycel.merkle.proofs import StateProof
    from mycel.model.records import decode_concept

    wire: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    proof = StateProof.from_dict(wire)
    older = decode_concept(proof.record or b"")._replace(attributes={"age": 61})
    forged = replace(proof, record=older.encode())
    target.write_text(json.dumps(forged.to_dict()), encoding="utf-8")
    return str(wire["snapshot"]["overall_root"])
