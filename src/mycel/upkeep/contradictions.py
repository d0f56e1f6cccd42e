"""Links that cannot hold at the same time, and links whose evidence contradicts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Final, NamedTuple

from mycel.engine.functional_guard import FUNCTIONAL
from mycel.model.elements import Proposition
from mycel.model.evidence import belief
from mycel.store.query import retention, vocabulary
from mycel.store.query.reader import Reader
from mycel.store.query.retention import LinkSpan

RIVALS_MAX: Final = 8
"""The maximum number of pairs of links of one subject and predicate."""


class Contradiction(NamedTuple):
    """Two links of one subject that hold at the same time, although the predicate allows one."""

    subject: int
    predicate: str
    one: Proposition
    other: Proposition


def contradictions(reader: Reader) -> Iterator[Contradiction]:
    """Pairs of links that overlap in time, for each subject with several values at a time."""
    for name in vocabulary.predicates_with(reader, FUNCTIONAL):
        predicate = reader.find_predicate(name)
        spans = () if predicate is None else retention.spans_of_rivals(reader, predicate)
        for subject, group in groupby(spans, key=lambda span: span.subject):
            for numbers in islice(_overlaps(group), RIVALS_MAX):
                one, other = (reader.link(number) for number in numbers)
                if one is not None and other is not None:
                    yield Contradiction(subject, name, one, other)


def _overlaps(spans: Iterable[LinkSpan]) -> Iterator[tuple[int, int]]:
    """Pairs of a link and an earlier link that had not ended when it began, each pair once.

    Spans have to be sorted by their beginnings.
    """
    last = None
    seen = set()
    for span in spans:
        if span.until_us <= span.since_us:
            continue
        if last is not None and span.link != last.link and span.since_us < last.until_us:
            pair = (min(last.link, span.link), max(last.link, span.link))
            if pair not in seen:
                seen.add(pair)
                yield pair
        if last is None or span.until_us > last.until_us:
            last = span


def contested_links(reader: Reader) -> Iterator[Proposition]:
    """The links that are contested or rejected by their evidence."""
    for number in retention.links_with_evidence(reader):
        link = reader.link(number)
        if link is not None and belief(link.metadata).status in ("contested", "rejected"):
            yield link
