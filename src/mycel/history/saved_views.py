"""Saved views of a graph: `db.saved_views`, for the explorer.

Saved views are kept in the file of the graph, beside the knowledge. Everybody who opens the file
finds them, a backup has them, and a new branch begins with the views of its old branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from secrets import token_hex
from typing import Any, Final

from mycel.errors import (
    ConstraintViolation,
    DuplicateExists,
    NotFound,
    ResourceExhausted,
)
from mycel.model.names import shorten
from mycel.store.database import Store
from mycel.store.log import saved_views
from mycel.store.log.saved_views import SavedView

VIEWS_MAX: Final = 200
NAME_CHARACTERS_MAX: Final = 100
_ID_BYTES: Final = 6


class SavedViews:
    """The saved views of one graph."""

    def __init__(self, store: Store, actor: Callable[[], str]) -> None:
        self._store: Final = store
        self._actor: Final = actor

    def __iter__(self) -> Iterator[SavedView]:
        """All views, by name."""
        with self._store.reading() as reader:
            return iter(reader.run(saved_views.heads))

    def get(self, id_: str) -> tuple[SavedView, dict[str, Any]]:
        """A view and its content.

        Raises:
            NotFound: no view has this id.
        """
        with self._store.reading() as reader:
            views = reader.run(saved_views.find, id_)
        if views is None:
            raise _no_view(id_)
        return views

    def save(self, name: str, body: dict[str, Any], *, id_: str | None = None) -> SavedView:
        """Save a view under a name. With an id, it replaces the view with this id.

        Raises:
            ConstraintViolation: the name is empty or too long.
            DuplicateExists: another view has this name.
            NotFound: no view has this id.
            ResourceExhausted: there are too many views.
        """
        head = self._head(id_ or token_hex(_ID_BYTES), name)
        is_new = id_ is None
        refusal = self._store.maintain(saved_views.keep, head, body, VIEWS_MAX, is_new=is_new)
        return _stored(head, refusal)

    def rename(self, id_: str, name: str) -> SavedView:
        """Give a view another name. Raises the same errors as `save`."""
        head = self._head(id_, name)
        return _stored(head, self._store.maintain(saved_views.rename, head))

    def delete(self, id_: str) -> SavedView:
        """Delete a view. Returns the deleted view.

        Raises:
            NotFound: no view has this id.
        """
        view = self._store.maintain(saved_views.remove, id_)
        if view is None:
            raise _no_view(id_)
        return view

    def _head(self, id_: str, name: str) -> SavedView:
        return SavedView(id_, check_name(name), self._actor(), self._store.now_us())


def _stored(view: SavedView, refusal: str) -> SavedView:
    """The stored view; raises the error for the reason if it was not stored."""
    match refusal:
        case "gone":
            raise _no_view(view.id)
        case "taken":
            raise DuplicateExists(
                f"There is a view {view.name!r} already.",
                hint="Choose another name, or replace that view.",
            )
        case "full":
            raise ResourceExhausted(
                f"There are {VIEWS_MAX} saved views, which is the limit.",
                hint="Delete some of them first.",
            )
    return view


def _no_view(id_: str) -> NotFound:
    return NotFound(f"There is no saved view {shorten(id_)!r}.", hint="It may have been deleted.")


def check_name(name: str) -> str:
    """A valid name of a view, without spaces around it.

    Raises:
        ConstraintViolation: the name is empty, too long, or has invisible characters.
    """
    text = name.strip()
    if not text or len(text) > NAME_CHARACTERS_MAX or not text.isprintable():
        raise ConstraintViolation(
            f"A view cannot have the name {shorten(repr(name))}.",
            hint=f"Give it 1 to {NAME_CHARACTERS_MAX} printable characters.",
        )
    return text
