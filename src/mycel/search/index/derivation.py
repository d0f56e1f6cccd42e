"""Derives the row that search stores for a concept, and the phrases that join it to others."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from mycel.embedding.static import StaticModel
from mycel.model.values import parse_object
from mycel.search.index.corpus import ASKS, CODE, READ, TIMED, TITLED
from mycel.search.index.passages import passage_of
from mycel.search.index.phrases import PhraseVocabulary, capitalised
from mycel.store.index.passages import PassageRow
from mycel.store.query.passages import SourceRow
from mycel.text.kinds import is_code, is_document, is_section

_TIME_WORDS: Final = (
    r"(?i)\b(?:yesterday|today|tonight|tomorrow|last|next|ago|week|weekend|month|year"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|morning|recently|since|(?:19|20)\d\d)\b"
)


class Derived(NamedTuple):
    """The data derived from one concept, without its vector."""

    row: PassageRow
    phrases: dict[int, str]
    """Its names and capitalised phrases, by their hashes."""
    text: str
    """The text that an embedder gets."""


def derived(
    source: SourceRow, type_name: str, model: StaticModel, vocabulary: PhraseVocabulary
) -> Derived:
    """The data derived from a concept."""
    attributes = parse_object(source.attributes)
    passage = passage_of(type_name, source.name, attributes)
    names = {hash_: name for name in passage.names if (hash_ := vocabulary.hash(name))}
    phrases = {
        hash_: phrase for phrase in capitalised(passage.text) if (hash_ := vocabulary.hash(phrase))
    }
    flags = TITLED if passage.names else 0
    flags |= TIMED if _time_words().search(passage.text) else 0
    flags |= CODE if is_code(type_name, attributes) else 0
    is_read = is_section(type_name, attributes) or is_document(type_name, attributes)
    flags |= READ if is_read else 0
    flags |= ASKS if passage.text.rstrip().endswith("?") else 0
    text = f"{passage.subject}: {passage.text}" if passage.subject else passage.text
    row = PassageRow(
        source.element,
        source.seq,
        source.type,
        np.array(sorted(names), "<u4").tobytes(),
        np.array(sorted(phrases), "<u4").tobytes(),
        np.array(model.token_ids(text), "<u2").tobytes(),
        flags,
        passage.date,
        passage.actor,
        passage.episode,
        passage.position,
    )
    return Derived(row, phrases | names, text)


@cache
def _time_words() -> Any:
    """The words that speak of times. RE2 searches for many words eight times faster than `re`."""
    import re2  # noqa: PLC0415 - reading a graph needs none of it, and starting should be quick.

    return re2.compile(_TIME_WORDS)


def is_sound(row: PassageRow, model: StaticModel) -> bool:
    """False if a stored row is damaged: an array ends within an item, or a piece is unknown."""
    if len(row.names) % 4 or len(row.phrases) % 4 or len(row.pieces) % 2:
        return False
    return bool(np.frombuffer(row.pieces, "<u2").max(initial=0) < len(model.pieces))
