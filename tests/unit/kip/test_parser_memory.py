"""The memory that the parser takes for a large capsule."""

from __future__ import annotations

import tracemalloc

from mycel.kip import parse
from mycel.model.limits import CAPSULE_BYTES_MAX

BYTES_PER_CHARACTER_MAX = 26


def test_a_capsule_of_links_takes_a_bounded_multiple_of_its_text() -> None:
    blocks = 1800
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
