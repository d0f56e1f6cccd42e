"""Which entities may hold a text, as the memory server looks for it: anywhere, inside words too.

The text index of the graph knows words, and of those only their stems. So this keeps words of its
own, whole and in lower case, each with the entities that have it. Parted are they by white space
alone, hence a text without any stands inside one word of every entity that holds it; and of one
with white space the first part ends a word, the last begins one, and the others are words. The
different words, far fewer than all, stand in blocks of text, and for each three characters in a row
it is known which blocks may have them: only those that may have all of a part are read.

The answer is a list of candidates that may be too long, never too short. So nothing is ever taken
out: an entity that no longer has a word is merely looked at in vain.

It is made in memory, by a thread, when the first search meets more entities than are quickly looked
through; until it is there, searches look at all of them. Afterwards it follows the journal, so it
learns of what other processes write.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Final

from mycel.errors import MycelError
from mycel.store.query import members
from mycel.store.query.members import Member
from mycel.store.query.reader import Reader

INDEXED_FROM: Final = 500
"""So many entities are looked through faster than one notices."""

CHANGES_AT_ONCE: Final = 2_000
"""How many changed entities a search takes in before it answers; for more a thread is started."""

CANDIDATES_ENOUGH: Final = 5_000
"""More than any answer can show."""

FEW: Final = 64
"""So few candidates are looked at sooner than made fewer."""

_PAGE: Final = 500
_RECENT_MAX: Final = 256
_CHARACTERS: Final = 3
_BUCKETS: Final = 1 << 14
_BLOCK_CHARACTERS: Final = 1 << 10

Texts = Callable[[Member], str]
"""What is searched in an entity."""


class _Blocks:
    """Words in blocks of text, and which blocks may hold a part of a word.

    Three characters in a row fall into one of a few thousand buckets, each with a bit for every
    block. That is bounded: a script with thousands of characters takes no more than another.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        """Each word stands between line feeds."""
        self._masks = [0] * _BUCKETS

    def add(self, words: Iterable[str]) -> None:
        """Add words that are not there."""
        block: list[str] = []
        room = _BLOCK_CHARACTERS
        for word in words:
            block.append(word)
            room -= len(word) + 1
            if room <= 0:
                self._close(block)
                block, room = [], _BLOCK_CHARACTERS
        if block:
            self._close(block)

    def _close(self, block: list[str]) -> None:
        text = "\n".join(("", *block, ""))
        bit = 1 << len(self._texts)
        self._texts.append(text)
        masks = self._masks
        for bucket in _buckets(text):
            masks[bucket] |= bit

    def that_may_hold(self, part: str) -> Iterator[str]:
        """The blocks that are worth reading."""
        if len(part) < _CHARACTERS:
            yield from self._texts
            return
        mask = -1
        for bucket in _buckets(part):
            mask &= self._masks[bucket]
        while mask:
            lowest = mask & -mask
            mask ^= lowest
            yield self._texts[lowest.bit_length() - 1]


def _buckets(text: str) -> set[int]:
    return {
        hash(text[at : at + _CHARACTERS]) % _BUCKETS for at in range(len(text) - _CHARACTERS + 1)
    }


class Words:
    """Words, and in which entities they are."""

    def __init__(self) -> None:
        self._numbers: dict[str, int | list[int]] = {}
        """Most words are in one entity only, and need no list."""
        self._blocks = _Blocks()
        self._recent: list[str] = []
        """Words that are in no block yet."""
        self.size = 0
        """How often a word was noted."""

    def add(self, number: int, text: str) -> None:
        """Note the words of an entity."""
        numbers = self._numbers
        for word in set(text.lower().split()):
            having = numbers.get(word)
            if having is None:
                numbers[word] = number
                self._recent.append(word)
            elif isinstance(having, list):
                if having[-1] == number:
                    continue
                having.append(number)
            elif having != number:
                numbers[word] = [having, number]
            else:
                continue
            self.size += 1

    def settle(self) -> None:
        """Put new words where they are found fast."""
        self._blocks.add(self._recent)
        self._recent = []

    def candidates(self, text: str) -> Collection[int] | None:
        """Entities that may hold a text in lower case.

        At most `CANDIDATES_ENOUGH`, for a text without white space. None if nothing can be said.
        """
        parts = text.split()
        if not parts:
            return None
        if len(self._recent) > _RECENT_MAX:
            self.settle()
        if parts == [text]:
            return self._having(text, starts=False, ends=False, enough=CANDIDATES_ENOUGH)
        found: set[int] | None = None
        starts, ends = text[0].isspace(), text[-1].isspace()
        last = len(parts) - 1
        edges = [(part, at > 0 or starts, at < last or ends) for at, part in enumerate(parts)]
        # Whole words first, long ones before short ones: they leave the fewest.
        for part, at_start, at_end in sorted(edges, key=lambda e: (-(e[1] + e[2]), -len(e[0]))):
            having = self._having(part, starts=at_start, ends=at_end, enough=None)
            if having is not None:
                found = having if found is None else found & having
            if found is not None and len(found) <= FEW:
                break
        return found

    def _having(
        self, part: str, *, starts: bool, ends: bool, enough: int | None
    ) -> set[int] | None:
        """Entities with a word that holds a part, or starts or ends with it.

        With `enough`, so many will do; without, None if they are more than can help.
        """
        if starts and ends:
            return set(self._of(part))
        found: set[int] = set()
        for word in self._holding(part, starts=starts, ends=ends):
            found.update(self._of(word))
            if len(found) >= CANDIDATES_ENOUGH:
                return found if enough else None
        return found

    def _of(self, word: str) -> Sequence[int]:
        having = self._numbers.get(word, ())
        return (having,) if isinstance(having, int) else having

    def _holding(self, part: str, *, starts: bool, ends: bool) -> Iterator[str]:
        wanted = "\n" * starts + part + "\n" * ends
        for text in self._blocks.that_may_hold(wanted):
            at = text.find(wanted)
            while at >= 0:
                begin = at + 1 if starts else text.rfind("\n", 0, at) + 1
                end = text.find("\n", begin)
                yield text[begin:end]
                at = text.find(wanted, end)
        for word in self._recent:
            if wanted in f"\n{word}\n":
                yield word


class Substrings:
    """The words of all entities of one graph, as they are now."""

    def __init__(
        self,
        reading: Callable[[], AbstractContextManager[Reader]],
        type_number: Callable[[Reader], int | None],
        texts: Texts,
    ) -> None:
        self._reading = reading
        self._type_number = type_number
        self._texts = texts
        self._lock = threading.Lock()
        self._words: Words | None = None
        self._seq = 0
        """Up to which position of the journal the words are complete."""
        self._size_made = 0
        self._thread: threading.Thread | None = None
        self._closed = False

    def candidates(self, reader: Reader, text: str) -> Collection[int] | None:
        """Entities that may hold a text in lower case, in what the reader sees; None: look at all.

        A list of `CANDIDATES_ENOUGH` or more may lack some.
        """
        with self._lock:
            if self._words is None or not self._catch_up(reader, self._words):
                return None
            return self._words.candidates(text)

    def begin(self) -> None:
        """Make the words, in a thread, unless they are there or being made."""
        with self._lock:
            if self._words is None:
                self._begin()

    def close(self) -> None:
        """Stop what is under way."""
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is not None:
            thread.join()

    def wait(self) -> None:
        """Wait until the words are made, if they are being made."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _begin(self) -> None:
        if self._thread is None and not self._closed:
            self._words = None
            self._thread = threading.Thread(target=self._make, name="mycel-substrings", daemon=True)
            self._thread.start()

    def _catch_up(self, reader: Reader, words: Words) -> bool:
        """Take in what was written since; False if that is too much for now."""
        now = members.position(reader)
        if now <= self._seq:  # A reader of an earlier moment sees nothing that is not here.
            return True
        changed = members.changed_since(reader, self._seq, CHANGES_AT_ONCE)
        if len(changed) == CHANGES_AT_ONCE or words.size > 3 * self._size_made + 100_000:
            self._begin()
            return False
        kind = self._type_number(reader)
        if changed and kind is not None:
            for member in members.numbered(reader, kind, changed):
                words.add(member.number, self._texts(member))
        self._seq = now
        return True

    def _make(self) -> None:
        try:
            made = self._made()
        except MycelError:
            made = None  # The graph was closed, or cannot be read; the next search will say so.
        with self._lock:
            if made is not None:
                self._words, self._seq = made
                self._size_made = self._words.size
            self._thread = None

    def _made(self) -> tuple[Words, int] | None:
        words = Words()
        with self._reading() as reader:
            # Before the first page: what is written meanwhile is then taken in once more.
            seq = members.position(reader)
        after = -1
        while not self._closed:
            with self._reading() as reader:
                kind = self._type_number(reader)
                rows = [] if kind is None else members.page(reader, kind, after, _PAGE)
            for member in rows:
                words.add(member.number, self._texts(member))
            if len(rows) < _PAGE:
                words.settle()
                return words, seq
            after = rows[-1].number
        return None
