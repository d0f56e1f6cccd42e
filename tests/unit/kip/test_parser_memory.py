"""The memory that the parser takes for a large capsule."""

from __future__ import annotations

import tracemalloc
from dataclasses import fields
from typing import Any

import pytest

from mycel.errors import MycelError
from mycel.kip import lexer, parse
from mycel.kip.long_capsule import read_capsule
from mycel.model.limits import CAPSULE_BYTES_MAX
from mycel.syntax.nodes import SyntaxNode
from tests.cases import cases

BYTES_PER_CHARACTER_MAX = 18


@pytest.fixture
def _small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short texts will do: the part that is split at a time is a quarter as long, too."""
    monkeypatch.setattr(lexer, "WINDOW_CHARACTERS", lexer.WINDOW_CHARACTERS // 4)


@pytest.mark.usefixtures("_small_window")
def test_a_capsule_of_links_takes_a_bounded_multiple_of_its_text() -> None:
    blocks = 1500
    text = "UPSERT {\n"
    for at in range(blocks):
        text += f'CONCEPT ?c{at} {{ {{type: "Drug", name: "d{at}"}} SET PROPOSITIONS {{'
        text += f' ("treats", {{type: "Symptom", name: "s{at}"}}) ("near", ?c{at}) }} }}\n'
        text += f'PROPOSITION {{ (?c{at}, "likes", ?c{at // 2}) }}\n'
    text += "}"
    tracemalloc.start()
    try:
        tree = parse(text, bytes_max=CAPSULE_BYTES_MAX)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(tree.upserts[0].blocks) == 2 * blocks  # type: ignore[union-attr]
    assert peak / len(text) < BYTES_PER_CHARACTER_MAX


def _read_all(text: str) -> None:
    for statement in read_capsule(text).upserts:  # type: ignore[union-attr]
        list(statement.blocks)


SET = 'UPSERT { CONCEPT ?a { {type: "A", name: "b"} SET ATTRIBUTES { x: '


@pytest.mark.usefixtures("_small_window")
@cases(
    ("text", "bytes_per_character_max"),
    [
        ('"' + '\\"' * 250_000, 4),
        ("//\n" * 175_000, 4),
        ("UPSERT { " + "1" * 500_000, 6),
        ("UPSERT { " + "a" * 500_000, 6),
        ("UPSERT { " + "/ " * 1_000_000, 4),
        (SET + "[" * 2_000_000, 8),
        (SET + "x: {" * 500_000, 8),
    ],
)
def test_a_wrong_capsule_takes_little_memory(text: str, bytes_per_character_max: int) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(MycelError):
            _read_all(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / len(text) < bytes_per_character_max


@pytest.mark.usefixtures("_small_window")
def test_a_long_list_in_one_block_is_split_once() -> None:
    text = SET + "[" + "1," * 250_000 + "1] } } }"
    tracemalloc.start()
    try:
        _read_all(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / len(text) < 24


def spans_of(tree: Any) -> list[tuple[int, int]]:
    """The places of all nodes below a node, in their order."""
    if isinstance(tree, tuple):
        return [span for each in tree for span in spans_of(each)]
    if not isinstance(tree, SyntaxNode):
        return []
    parts = (getattr(tree, each.name) for each in fields(tree) if each.name != "span")
    return [tuple(tree.span), *(span for part in parts for span in spans_of(part))]


def test_a_capsule_is_the_same_tree_wherever_its_tokens_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statements = [
        f"""UPSERT {{
            CONCEPT ?c {{ {{type: "Drug", name: "d{at}"}} EXPECT VERSION 0
                SET ATTRIBUTES {{ dose: {at}, note: "a }} \\"{{", more: {{ a: [1, {{b: null}}] }} }}
                SET PROPOSITIONS {{ ("treats", {{type: "Symptom", name: "s"}}) ("near", ?c) }}
            }} WITH METADATA {{ source: "a {at}" }} // CONCEPT {{
            CONCEPT {{ {{type: "D", name: "{"long " * at}"}} SET PROPOSITIONS {{ ("near", ?c) }} }}
            PROPOSITION ?l {{ (?c, "likes", {{type: "T", name: "n"}}) SET WEIGHT 0.5 }}
        }} WITH METADATA {{ author: "ada", trust: 0.{at + 1} }}"""
        for at in range(12)
    ]
    text = "\n".join(statements)
    whole = parse(text)
    for window in (*range(40, 400, 13), 1_000, 5_000):
        monkeypatch.setattr(lexer, "WINDOW_CHARACTERS", window)
        tree = parse(text)
        assert tree == whole, window
        assert spans_of(tree) == spans_of(whole), window
    for cut in range(len(text) - 400, len(text), 23):
        errors = []
        for window in (150, 1_000, 1 << 20):
            monkeypatch.setattr(lexer, "WINDOW_CHARACTERS", window)
            with pytest.raises(MycelError) as caught:
                parse(text[:cut] + "\x00")
            errors.append(caught.value.to_dict())
        assert errors[0] == errors[1] == errors[2]
