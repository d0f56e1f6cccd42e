"""Counts the steps of matching a regular expression, and makes texts that are hostile to one.

`re` does not report the work of a match, and times vary. `Steps` does the same work as the matcher
of `re`, in the same order of attempts, from the tree that `re` itself parses, and counts each node
that it tries. The matcher of `re` may skip at most a constant part of these steps.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from re import _constants as sre  # type: ignore[attr-defined] # isort: skip # Its only names.
from re import _parser as parser  # type: ignore[attr-defined] # isort: skip

REPEATED: Final = 60
"""Repetitions from which on a repeat counts as endless."""
CHARACTERS_MAX: Final = 8
"""Characters of a pattern that are tried alone and in pairs."""
STEPS_MAX: Final = 50_000
_CHARACTERS: Final = tuple("aZ0_ \n.-:/\\\"'()[]{}<>*#,!`é中\0")
"""Characters of every kind that patterns tell apart."""

_TAILS: Final = ("", "", "", "\0", "\n", "x", "!", '"')

Next = Callable[[int], bool]


class TooManySteps(Exception):  # noqa: N818 - it is a result.
    """The limit of steps was reached."""


class Steps:
    """The steps of one pattern."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        source, self._flags = pattern.pattern, pattern.flags
        self.tree: Final = parser.parse(source, self._flags & ~re.DEBUG)
        self._groups: dict[int, tuple[int, int]] = {}
        self._one: dict[tuple[int, str], bool] = {}
        """Cached: does a character fit a node (by its id)?"""
        self._text = ""
        self._left = 0

    def count(self, method: str, text: str, most: int = STEPS_MAX) -> int:
        """The steps that a method takes on a text, up to a limit."""
        self._text, self._left = text, most
        at = 0
        try:
            while at <= len(text):
                end = self._match(at, whole=method == "fullmatch")
                if method in ("match", "fullmatch"):
                    break
                at = at + 1 if end is None else max(end, at + 1)
        except TooManySteps:
            return most
        return most - self._left

    def end(self, text: str) -> int | None:
        """The end of a match at the beginning of a text."""
        self._text, self._left = text, STEPS_MAX
        return self._match(0)

    def _match(self, at: int, *, whole: bool = False) -> int | None:
        self._groups.clear()
        ends: list[int] = []

        def end(position: int) -> bool:
            ends.append(position)
            return not whole or position == len(self._text)

        return ends[-1] if self._run(self.tree, 0, at, self._flags, end) else None

    def _step(self, number: int = 1) -> None:
        self._left -= number
        if self._left < 0:
            raise TooManySteps

    def _run(self, nodes: Sequence[Any], index: int, at: int, flags: int, then: Next) -> bool:
        """Match the nodes from an index on, then the rest."""
        while index < len(nodes):
            op, value = nodes[index]
            self._step()
            if op in _SINGLE:
                if at >= len(self._text) or not self._fits(nodes[index], self._text[at], flags):
                    return False
                index, at = index + 1, at + 1
                continue
            if op is sre.AT:
                if not self._is_at(value, at, flags):
                    return False
                index += 1
                continue
            following = index + 1

            def rest(position: int, following: int = following) -> bool:
                return self._run(nodes, following, position, flags, then)

            return self._branching(nodes[index], at, flags, rest)
        return then(at)

    def _branching(self, node: Any, at: int, flags: int, rest: Next) -> bool:
        op, value = node
        if op is sre.SUBPATTERN:
            number, added, removed, inner = value

            def close(position: int) -> bool:
                if number is not None:
                    self._groups[number] = (at, position)
                return rest(position)

            return self._run(inner, 0, at, (flags | added) & ~removed, close)
        if op is sre.BRANCH:
            for each in value[1]:  # noqa: SIM110 - `any` would take the stack of C for each level.
                if self._run(each, 0, at, flags, rest):
                    return True
            return False
        if op is sre.ATOMIC_GROUP:
            end = self._first_end(value, at, flags)
            return end is not None and rest(end)
        if op in (sre.ASSERT, sre.ASSERT_NOT):
            direction, inner = value
            begins = at if direction > 0 else at - inner.getwidth()[0]
            holds = begins >= 0 and self._first_end(inner, begins, flags) is not None
            return holds is (op is sre.ASSERT) and rest(at)
        if op is sre.GROUPREF:
            begin, end = self._groups.get(value, (0, 0))
            same = self._text[begin:end]
            self._step(len(same))
            return self._text.startswith(same, at) and rest(at + len(same))
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self._repeat(op, value, at, flags, rest)
        raise NotImplementedError(op)

    def _repeat(self, op: Any, value: Any, at: int, flags: int, rest: Next) -> bool:
        least, most, inner = value
        if len(inner) == 1 and inner[0][0] in _SINGLE and op is not sre.MIN_REPEAT:
            end = at
            limit = len(self._text) if most is sre.MAXREPEAT else min(at + most, len(self._text))
            while end < limit and self._fits(inner[0], self._text[end], flags):
                end += 1
            self._step(end - at)
            if op is sre.POSSESSIVE_REPEAT:
                return end - at >= least and rest(end)
            for position in range(end, at + least - 1, -1):
                self._step()
                if rest(position):
                    return True
            return False
        if op is sre.POSSESSIVE_REPEAT:
            count = 0
            while most is sre.MAXREPEAT or count < most:
                following = self._first_end(inner, at, flags)
                if following is None or (following == at and count >= least):
                    break
                at, count = following, count + 1
            return count >= least and rest(at)

        def again(count: int, position: int) -> bool:
            def once_more(end: int) -> bool:
                # A repetition of nothing ends the loop, as in `re`.
                return (end > position or count < least) and again(count + 1, end)

            self._step()
            may = most is sre.MAXREPEAT or count < most
            if count < least:
                return self._run(inner, 0, position, flags, once_more)
            if op is sre.MIN_REPEAT:
                return rest(position) or (may and self._run(inner, 0, position, flags, once_more))
            return (may and self._run(inner, 0, position, flags, once_more)) or rest(position)

        return again(0, at)

    def _first_end(self, nodes: Sequence[Any], at: int, flags: int) -> int | None:
        ends: list[int] = []

        def end(position: int) -> bool:
            ends.append(position)
            return True

        return ends[-1] if self._run(nodes, 0, at, flags, end) else None

    def _is_at(self, place: Any, at: int, flags: int) -> bool:
        text = self._text
        if place in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            after_line = bool(flags & re.MULTILINE) and at > 0 and text[at - 1] == "\n"
            return at == 0 or (place is sre.AT_BEGINNING and after_line)
        if place in (sre.AT_END, sre.AT_END_STRING):
            if at == len(text):
                return True
            is_break = text[at] == "\n" and place is sre.AT_END
            return is_break and (bool(flags & re.MULTILINE) or at == len(text) - 1)
        before = at > 0 and _is_word(text[at - 1])
        after = at < len(text) and _is_word(text[at])
        return (before != after) is (place is sre.AT_BOUNDARY)

    def _fits(self, node: Any, character: str, flags: int) -> bool:
        key = (id(node), character)
        known = self._one.get(key)
        if known is None:
            known = self._one[key] = _fits(node, character, flags)
        return known


_SINGLE: Final = frozenset((sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_CATEGORIES: Final[dict[Any, Callable[[str], bool]]] = {
    sre.CATEGORY_DIGIT: str.isdecimal,
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_WORD: _is_word,
}
_OPPOSITES: Final = {
    sre.CATEGORY_NOT_DIGIT: sre.CATEGORY_DIGIT,
    sre.CATEGORY_NOT_SPACE: sre.CATEGORY_SPACE,
    sre.CATEGORY_NOT_WORD: sre.CATEGORY_WORD,
}


def _fits(node: Any, character: str, flags: int) -> bool:
    op, value = node
    forms = {character}
    if flags & re.IGNORECASE:
        forms |= {character.lower(), character.upper()}
    codes = {ord(each) for each in forms if len(each) == 1}
    if op is sre.LITERAL:
        return value in codes
    if op is sre.NOT_LITERAL:
        return value not in codes
    if op is sre.ANY:
        return bool(flags & re.DOTALL) or character != "\n"
    opposite = value[0][0] is sre.NEGATE
    return opposite is not any(_holds(part, codes, character) for part in value)


def _holds(part: Any, codes: set[int], character: str) -> bool:
    op, value = part
    if op is sre.LITERAL:
        return value in codes
    if op is sre.RANGE:
        return any(value[0] <= code <= value[1] for code in codes)
    if op is sre.CATEGORY:
        if value in _OPPOSITES:
            return not _CATEGORIES[_OPPOSITES[value]](character)
        return _CATEGORIES[value](character)
    return False  # NEGATE.


class HostileTexts:
    """Texts on which a pattern may take long: a beginning, many repetitions, and an end."""

    def __init__(self, steps: Steps, seed: int) -> None:
        self._random = random.Random(seed)
        self._tree = steps.tree
        self._bodies: list[tuple[str, str]] = []
        self._collect(self._tree, "")

    def texts(self, number: int) -> Iterator[Callable[[int], str]]:
        """Functions that return a text of about a length."""
        draw = self._random
        heads = ["", *dict.fromkeys(head for head, _ in self._bodies)]
        pool = [part for parts in self._bodies for part in (*parts, "".join(parts)) if part]
        if not pool:
            return  # Nothing is repeated.
        own = self._own_characters()
        pool += [*own, *(a + b for a in own for b in own if a != b)]
        pool = list(dict.fromkeys(pool))
        draw.shuffle(pool)
        for turn in range(number):
            few = range(draw.randint(1, 3))
            pump = pool[turn] if turn < len(pool) else "".join(draw.choice(pool) for _ in few)
            head, tail = draw.choice(heads), draw.choice(_TAILS)
            yield partial(_grown, head, pump, tail)

    def _own_characters(self) -> list[str]:
        """Some of the characters that the pattern itself names."""
        named: dict[str, None] = {}
        waiting: list[Any] = [self._tree]
        while waiting:
            for node in waiting.pop():
                op, value = node
                if op in _SINGLE:
                    named[self._sample_one(node)] = None
                elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
                    waiting.append(value[2])
                waiting += _children(node)
        return list(named)[:CHARACTERS_MAX]

    def _collect(self, nodes: Sequence[Any], head: str) -> None:
        """Collect the repeated parts, each with a text that leads to it."""
        for node in nodes:
            op, value = node
            if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
                _, most, inner = value
                if most is sre.MAXREPEAT or most > REPEATED:
                    samples = {self._sample(inner) for _ in range(6)}
                    self._bodies += [(head, each) for each in sorted(samples)]
                self._collect(inner, head)
            for inner in _children(node):
                self._collect(inner, head)
            head += self._sample([node])

    def _sample(self, nodes: Sequence[Any]) -> str:
        """A text that the nodes probably match; conditions may exclude it."""
        return "".join(map(self._sample_one, nodes))

    def _sample_one(self, node: Any) -> str:
        op, value = node
        draw = self._random
        if op in _SINGLE:
            parts = value if op is sre.IN else [node]
            literals = [chr(part[1]) for part in parts if part[0] is sre.LITERAL]
            fitting = [each for each in (*literals, *_CHARACTERS) if _fits(node, each, 0)]
            return draw.choice(fitting or ["a"])
        if op is sre.BRANCH:
            return self._sample(draw.choice(value[1]))
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            least, most, inner = value
            number = draw.randint(least, min(least + 2, 1 << 16 if most is sre.MAXREPEAT else most))
            return "".join(self._sample(inner) for _ in range(number))
        return "".join(self._sample(inner) for inner in _children(node)[:1])


def _grown(head: str, pump: str, tail: str, length: int) -> str:
    return head + pump * (length // len(pump)) + tail


def _children(node: Any) -> list[Sequence[Any]]:
    op, value = node
    if op is sre.SUBPATTERN:
        return [value[3]]
    if op is sre.BRANCH:
        return list(value[1])
    if op is sre.ATOMIC_GROUP:
        return [value]
    if op is sre.ASSERT and value[0] > 0:
        return [value[1]]
    return []
