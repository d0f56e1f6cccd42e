"""Links that cannot hold at the same time, and links whose evidence contradicts them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mycel.engine.functional_guard import FUNCTIONAL
from mycel.model.elements import Proposition
from mycel.model.evidence import belief
from mycel.store.query import retention, vocabulary
from mycel.store.query.reader import Reader


class Contradiction(NamedTuple):
    """Two links of one subject that hold now, of a predicate that allows one."""

    subject: int
    predicate: str
    one: Proposition
    other: Proposition


def contradictions(reader: Reader, now_us: int) -> Iterator[Contradiction]:
    """The first and last link of every subject that has several values at a time."""
    for name in vocabulary.predicates_with(reader, FUNCTIONAL):
        predicate = reader.find_predicate(name)
        if predicate is None:
            continue
        for subject, first, last in retention.rival_links(reader, predicate, now_us):
            one, other = reader.link(first), reader.link(last)
            if one is not None and other is not None:
                yield Contradiction(subject, name, one, other)


def contested_links(reader: Reader) -> Iterator[Proposition]:
    """The links whose evidence makes them contested or rejected."""
    for number in retention.links_with_evidence(reader):
        link = reader.link(number)
        if link is not None and belief(link.metadata).status in ("contested", "rejected"):
            yield link
