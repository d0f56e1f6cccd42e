"""Links about links: what one is made of is made first, however deep they nest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from mycel.errors import DatabaseCorrupt

Asked = TypeVar("Asked")
Made = TypeVar("Made")


def made_inside_out(
    outermost: Asked,
    needs: Callable[[Asked], Iterable[Asked]],
    make: Callable[[Asked, Mapping[Asked, Made]], Made],
) -> Made:
    """Make something after all that it needs. Not by recursion: nesting has no bound, Python has.

    `make` is given what was made before, and is called right after `needs` named nothing else.

    Raises:
        DatabaseCorrupt: something needs itself.
    """
    made: dict[Asked, Made] = {}
    waiting, begun = [outermost], set[Asked]()
    while waiting:
        each = waiting[-1]
        if each in made:
            waiting.pop()
            continue
        missing = [inner for inner in needs(each) if inner not in made]
        if not missing:
            made[waiting.pop()] = make(each, made)
        elif each in begun:
            raise DatabaseCorrupt("A link is about itself.")
        else:
            begun.add(each)
            waiting += missing
    return made[outermost]
