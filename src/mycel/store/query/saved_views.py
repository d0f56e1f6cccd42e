"""Reads saved views (`store.log.saved_views`)."""

from __future__ import annotations

from typing import Any

from mycel.store.log import saved_views
from mycel.store.log.saved_views import SavedView
from mycel.store.query.reader import Reader


def views_by_name(reader: Reader) -> list[SavedView]:
    """All saved views without their content, by name."""
    return saved_views.heads(reader.connection)


def view_with_body(reader: Reader, id_: str) -> tuple[SavedView, dict[str, Any]] | None:
    """A saved view with its content; None if no view has this id."""
    for view in views_by_name(reader):
        if view.id == id_:
            return view, saved_views.body_of(reader.connection, id_)
    return None
