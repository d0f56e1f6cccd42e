"""Concepts whose former name is the question: they moved, or were merged into others.

A match of the whole former name comes first. A bare word also matches the end of a former name, but
only if no concept has this name now.
"""

from __future__ import annotations

from typing import Final

from mycel.search.question import Question
from mycel.store.query import lookup
from mycel.store.query.reader import Reader
from mycel.text.kinds import NAME_CHARACTERS_MAX

FORMERLY: Final = "formerly "
"""The beginning of the reason for a concept that is found by a former name."""


def find_former(reader: Reader, question: Question, *, is_taken: bool) -> dict[int, str]:
    """Concepts with a former name that is the question or ends with it, each with that name.

    With `is_taken`, a concept has the bare name now, so the ends of former names are not searched.
    """
    text = question.text
    if not reader.state.is_live or len(text) > NAME_CHARACTERS_MAX:
        return {}
    bearers = _bearers(reader, (text,))
    if bearers or is_taken or " " in text or "://" in text:
        return bearers
    return _bearers(reader, lookup.names_once_ending(reader, f"/{text}"))


def _bearers(reader: Reader, names: tuple[str, ...] | list[str]) -> dict[int, str]:
    """The concepts that had these names last, or the concepts that they were merged into."""
    former = lookup.former_names(reader, names)
    if not former:
        return {}
    present = {name for _, _, name in lookup.find_by_name(reader, names)}
    removed = {
        f"{reader.type_name(former_name.type_number)}:{name}": name
        for name, former_name in former.items()
        if former_name.is_removed
    }
    heirs = lookup.heirs(reader, lookup.MERGED_FROM, removed)
    bearers = {number: removed[source] for source, number in heirs.items()}
    bearers |= {bearer.number: name for name, bearer in former.items() if not bearer.is_removed}
    return {number: name for number, name in bearers.items() if name not in present}
