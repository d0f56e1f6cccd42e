"""Warnings about new notes that repeat another note.

The notes of `notes/*.jsonl` say different things, so each warning about one of them is a false
alarm. `repeated.jsonl` has notes that repeat some of them in other words, by code base and id.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import mycel
from benchmarks.recall import notes
from benchmarks.report import Line, Measure
from benchmarks.timing import Summary
from mycel.knowledge.similar_notes import similar_notes
from mycel.model import ids

REPEATED: Final = Path(__file__).with_name("repeated.jsonl")


def measure() -> Iterator[Line]:
    alarms = different = found = 0
    repeated = [json.loads(line) for line in REPEATED.read_text().splitlines()]
    with mycel.open() as db:
        known = mycel.Knowledge(db, workspace="notes")
        for name in notes.code_bases():
            for row in notes.rows(name, "notes"):
                uri = f"{name}/{row['id']}"
                known.add(uri, name=row["name"], content=row["text"], type=row["type"])
                alarms += _is_repeated(known, uri) is not None
                different += 1
        for row in repeated:
            uri = f"{row['set']}/{row['id']}"
            known.add(f"again/{uri}", name=row["name"], content=row["text"])
            found += _is_repeated(known, f"again/{uri}") == f"concept://notes/{uri}"
    for what, missed, note in (
        ("false alarms", 100 * alarms / different, f"{alarms} of {different}"),
        ("repetitions missed", 100 - 100 * found / len(repeated), f"found {found} of them"),
    ):
        yield Measure(f"similar notes: {what}", "", "n", Summary.of([missed]), note=note)


def _is_repeated(known: mycel.Knowledge, uri: str) -> str | None:
    """The URI of the note that another one repeats, if there is a warning about it."""
    number = ids.parse_id(known.get(uri, content=False).id)
    with known.db.reading(words=True) as reader:
        similar = similar_notes(reader, [number])
    return similar[0].other.name if similar else None
