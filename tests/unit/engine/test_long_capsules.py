"""Long capsules, which are read while they are executed, do what short ones do."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

import mycel
from mycel.engine import upsert
from mycel.errors import InvalidSyntax, MycelError
from mycel.kip import ast, lexer, long_capsule, parse
from mycel.syntax.diagnostics import locate_error
from tests.unit.engine.commands import Graph
from tests.unit.engine.test_upsert import capsule


@pytest.fixture
def small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each text be a long capsule, of which a few blocks are read and written at a time."""
    monkeypatch.setattr(long_capsule, "LONG_CHARACTERS_MIN", 0)
    monkeypatch.setattr(lexer, "WINDOW_CHARACTERS", 300)
    monkeypatch.setattr(upsert, "_SECTION_BLOCKS", 3)
    monkeypatch.setattr(upsert, "_QUEUE_PUTS", 4)


def valid_upsert(dice: random.Random) -> str:
    """An UPSERT that names concepts and links again and again, and in which nothing is wrong."""
    blocks = []
    for at in range(dice.randrange(1, 30)):
        ends = f"?h{dice.randrange(at)}, ?h{dice.randrange(at)}".split(", ") if at else ["", ""]
        level = dice.choice(["", f" WITH METADATA {{ own: {dice.randrange(3)} }}"])
        if ends[0] == ends[1] or dice.random() < 0.6:
            entry = (
                f'SET PROPOSITIONS {{ ("says", ?h{dice.randrange(at)}) }}' if at % 3 == 2 else ""
            )
            concept = f'{{type: "River", name: "r{at + dice.randrange(3) * 100}"}}'
            blocks.append(
                f"CONCEPT ?h{at} {{ {concept} SET ATTRIBUTES {{ k: {at} }} {entry} }}{level}"
            )
        else:
            blocks.append(f'PROPOSITION ?h{at} {{ ({ends[0]}, "says", {ends[1]}) }}{level}')
    source = dice.choice(["", f" WITH METADATA {{ source: {dice.randrange(9)}, own: null }}"])
    return f"UPSERT {{ {' '.join(blocks)} }}{source}"


def text_of(dice: random.Random) -> str:
    """Some UPSERT statements, in which something may be wrong, be it the syntax."""
    make = dice.choice([capsule, valid_upsert])
    texts = [make(dice) for _ in range(dice.choice([1, 1, 2, 4]))]
    if dice.random() < 0.3:
        texts.append('UPSERT { CONCEPT { {type: "City", name: "}{\\"//" } } } // } {"')
    text = "\n".join(texts)
    if dice.random() < 0.3:
        at = dice.randrange(len(text))
        text = text[:at] + dice.choice(["", "}", "{", '"', "?", "/", "UPSERT {"]) + text[at + 1 :]
    if dice.random() < 0.1:
        text += dice.choice([" FIND", " LIMIT 3", " WITH METADATA { b: 1 }"])
    return text


def run(graph: Graph, text: str, read: Callable[[str], ast.Command]) -> object:
    try:
        return graph.run_tree(read(text))
    except MycelError as error:
        return error.code, locate_error(error, text).message


def test_a_long_capsule_does_what_its_tree_does(small_sizes: None, seed: int) -> None:
    dice = random.Random(seed)
    cities = " ".join(f'CONCEPT {{ {{type: "City", name: "n{at}"}} }}' for at in range(6))
    results: list[object] = []
    for _ in range(15):
        whole, by_parts = Graph(), Graph()
        for text in (f"UPSERT {{ {cities} }}", *(text_of(dice) for _ in range(3))):
            results.append(run(whole, text, parse))
            assert run(by_parts, text, long_capsule.read_capsule) == results[-1], text
            assert by_parts.everything() == whole.everything(), text
    codes = {each[0] for each in results if isinstance(each, tuple)}
    assert "KIP_1001" in codes
    assert len(codes) > 2
    assert sum(isinstance(each, dict) for each in results) > 22


def test_names_of_a_long_capsule_are_forgotten_with_their_blocks(small_sizes: None) -> None:
    block = 'CONCEPT ?c{0} {{ {{type: "T", name: "n{0}"}} }}'
    text = "UPSERT { " + " ".join(map(block.format, range(3000))) + " }"
    command = long_capsule.read_capsule(text)
    assert isinstance(command, ast.Capsule)
    tracemalloc.start()
    try:
        count = sum(1 for statement in command.upserts for _ in statement.blocks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 3000
    assert peak < len(text), (peak, len(text))


def test_a_long_capsule_is_never_a_tree_as_a_whole(
    tmp_path: Path, small_sizes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upsert, "_QUEUE_PUTS", 2000)  # Large blocks: few are queued.
    monkeypatch.setattr(upsert, "_QUEUE_CHARACTERS", 5000)
    values = ", ".join(f"{at}.5" for at in range(300))
    blocks = "".join(
        f'CONCEPT ?c{at} {{ {{type: "T", name: "n{at}"}} SET ATTRIBUTES {{ v: [{values}] }} }}\n'
        for at in range(100)
    )
    text = f"UPSERT {{ {blocks} }} WITH METADATA {{ source: 1 }}"
    with mycel.open(tmp_path / "g.db", core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("T")
        db.apply_capsule('UPSERT { CONCEPT { {type: "T", name: "n0"} } }')
        tracemalloc.start()
        try:
            parse(text, bytes_max=1 << 30)
            of_tree = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
            applied = db.apply_capsule(text)
            of_parts = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        with pytest.raises(InvalidSyntax, match="Line 101"):
            db.apply_capsule(text.replace("source: 1", "source 1").replace("n7", "m7"))
        assert len(applied.value["upsert_concept_nodes"]) == 100
        assert of_parts < of_tree / 2, (of_parts, of_tree, len(text))
        assert db.get_concept("T", "n99").metadata["source"] == 1  # type: ignore[union-attr]
        assert db.get_concept("T", "m7") is None
