"""Brings a filtered copy to the present state of its graph, transaction by transaction.

A new copy begins with one transaction, which has the state before the last `HISTORY_MAX`
transactions. Each later transaction follows with its author, time and message, reduced to elements
of the copy. Purges and scrubs cannot be replayed: the copy is made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from mycel.api.graph import Graph
from mycel.history.state_steps import attempt
from mycel.model import allowance
from mycel.model.elements import Element
from mycel.model.state import LIVE, State
from mycel.sharing.copy_steps import GoalMaker, create_all, define_used
from mycel.sharing.element_filter import ElementFilter
from mycel.store.database import Store
from mycel.store.log import copied
from mycel.store.log.copied import CopyHead
from mycel.store.query import commits
from mycel.store.query.alignment import touched
from mycel.store.query.commits import LogEntry
from mycel.store.query.history import is_scrubbed
from mycel.store.query.purges import last_purge
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction

HISTORY_MAX: Final = 1_000
"""The number of past transactions that a new copy has one by one."""
ACTOR: Final = "$system"
"""The author of the transaction with which a copy begins."""

_CHUNK: Final = 1_000
_BATCH: Final = 100


class CopyOutdatedError(Exception):
    """A copy cannot follow its graph, and has to be made again."""


class CopyFollower:
    """Replays a graph in a copy of it. The guards of the copy are not called."""

    def __init__(self, path: Path, source: Graph, elements: ElementFilter) -> None:
        """Take the path of the copy.

        Raises:
            CopyOutdatedError: the copy is of another history.
        """
        self._source: Final = source
        self._elements: Final = elements
        self._time_us = 0
        self._store: Final = Store(
            path, create=False, durability="normal", clock_us=lambda: self._time_us
        )
        with self._store.lending() as copy:
            head = copy.run(copied.head)
        self._seq = 0 if head is None else head.seq
        if head is not None:
            with source.reading() as reader:
                is_reached = head.seq <= reader.position
                if not is_reached or commits.commit_at(reader, head.seq) != head.commit:
                    self.close()
                    raise CopyOutdatedError("the graph has another history")

    def is_behind(self) -> bool:
        """True if the graph has transactions that the copy has not seen."""
        with self._source.reading() as reader:
            return reader.position != self._seq

    def follow(self) -> None:
        """Bring the copy to the last transaction of its graph.

        Raises:
            CopyOutdatedError: the copy cannot follow.
        """
        with self._source.reading() as reader:
            end = reader.position
            if not self._seq:
                self._begin(reader)
            while self._seq < end:
                entries = commits.transactions_after(reader, self._seq, _BATCH)
                for entry in entries:
                    self._replay(reader, entry)

    def close(self) -> None:
        self._store.close()

    def _begin(self, reader: Reader) -> None:
        """Write the state before the transactions that are replayed, as one transaction."""
        newest = list(commits.transactions(reader, limit=HISTORY_MAX + 1))
        purged = last_purge(reader)
        recent = [
            entry for entry in newest if entry.seq >= purged and not is_scrubbed(reader, entry.seq)
        ]
        first = recent[-1] if recent else newest[0]
        state = reader if first is newest[0] else reader.at(State(first.seq))
        targets: dict[int, Element | None] = {}
        for numbers in _numbers(reader):
            allowance.check()
            targets |= self._elements.select(state, numbers)
        self._write(reader, state, first, targets, "the graph as of then")

    def _replay(self, reader: Reader, entry: LogEntry) -> None:
        changed = touched(reader, entry.first_seq - 1, entry.seq)
        if changed.purged:
            raise CopyOutdatedError("something was purged")
        state = reader.at(LIVE if entry.seq == reader.position else State(entry.seq))
        visible = self._elements.select(state, changed.numbers)
        targets = {number: visible.get(number) for number in sorted(changed.numbers)}
        # The message may name hidden elements, as it speaks of the whole transaction.
        is_whole = len(visible) == len(changed.numbers)
        self._write(reader, state, entry, targets, entry.message if is_whole else "")

    def _write(
        self,
        reader: Reader,
        state: Reader,
        entry: LogEntry,
        targets: Mapping[int, Element | None],
        message: str,
    ) -> None:
        head = CopyHead(entry.seq, entry.commit)

        def work(tx: Transaction) -> None:
            copied_head = tx.reader.run(copied.head)
            if copied_head is not None and copied_head.seq >= entry.seq:
                return  # Another process was faster.
            maker = GoalMaker(
                state, tx.reader, lambda numbers: tx.reader.run(copied.numbers_of, numbers)
            )
            if copied_head is None:
                create_all(tx, targets)
            goals = maker.goals(targets)
            define_used(tx, targets.values())
            reached = attempt(tx, goals, {}, reason="", has_moved=True)
            if reached.obstacles:
                raise CopyOutdatedError(f"it is in the way of itself: {reached.obstacles[0]}")
            tx.maintain(copied.keep_numbers, maker.collect_pairs(targets, reached.numbers))
            tx.maintain(copied.keep_head, head)

        if any(element is not None for element in targets.values()) or self._has_any(targets):
            self._time_us = entry.time_us
            self._store.run(work, actor=entry.actor, message=message)
        self._seq = entry.seq

    def _has_any(self, targets: Mapping[int, object]) -> bool:
        """True if the copy has any of these elements of the graph."""
        with self._store.lending() as copy:
            return bool(copy.run(copied.numbers_of, targets))


def _numbers(reader: Reader) -> Iterator[range]:
    """The numbers of all elements, removed ones included, in portions, concepts first."""
    head = reader.head()
    for parity, end in ((0, head.next_concept), (1, head.next_proposition)):
        for first in range(parity, end, 2 * _CHUNK):
            yield range(first, min(first + 2 * _CHUNK, end), 2)
