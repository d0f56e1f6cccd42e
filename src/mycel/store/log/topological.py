"""Orders links about links: each comes after its ends, at any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from mycel.errors import DatabaseCorrupt

Asked = TypeVar("Asked")


def inside_out(outermost: Asked, needs: Callable[[Asked], Iterable[Asked]]) -> Iterator[Asked]:
    """Each once, after all that it needs; the outermost last.

    Not by recursion: nesting has no bound, Python has. Each comes right after it was asked what it
    needs, and nothing was missing.

    Raises:
        DatabaseCorrupt: something needs itself.
    """
    waiting, begun, done = [outermost], set[Asked](), set[Asked]()
    while waiting:
        each = waiting[-1]
        if each in done:
            waiting.pop()
            continue
        missing = [inner for inner in needs(each) if inner not in done]
        if not missing:
            done.add(waiting.pop())
            yield each
        elif each in begun:
            raise DatabaseCorrupt("A link is about itself.")
        else:
            begun.add(each)
            waiting += missing
