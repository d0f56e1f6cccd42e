"""Finds links about links, at any depth, and orders them so that each comes after its ends."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import TypeVar

from mycel.errors import DatabaseCorrupt

Asked = TypeVar("Asked")


def all_about(
    elements: Iterable[int],
    links_about: Callable[[int], Iterable[int]],
    except_for: Container[int] = (),
) -> list[int]:
    """The links about some elements, the links about those, and so on, each once.

    Links in `except_for` are left out, and so are the links about them.
    """
    links: dict[int, None] = {}
    waiting = list(elements)
    left_out = frozenset(waiting)
    while waiting:
        for link in links_about(waiting.pop()):
            if link not in links and link not in left_out and link not in except_for:
                links[link] = None
                waiting.append(link)
    return list(links)


def inside_out(outermost: Asked, needs: Callable[[Asked], Iterable[Asked]]) -> Iterator[Asked]:
    """Each item once, after all items that it needs; the outermost last.

    It uses no recursion, because the depth of nesting has no limit and Python's stack has one. An
    item is yielded right after `needs` was called with it and returned no new item.

    Raises:
        DatabaseCorrupt: something needs itself.
    """
    waiting, begun, finished = [outermost], set[Asked](), set[Asked]()
    while waiting:
        top = waiting[-1]
        if top in finished:
            waiting.pop()
            continue
        missing = [inner for inner in needs(top) if inner not in finished]
        if not missing:
            finished.add(waiting.pop())
            yield top
        elif top in begun:
            raise DatabaseCorrupt("A link is about itself.")
        else:
            begun.add(top)
            waiting += missing
