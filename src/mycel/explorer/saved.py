"""Saved views: the open, hidden and filtered nodes, and their places, under a name.

A view is stored with the ids of elements in place of their URIs. So it follows nodes that move, and
contains no names of nodes. Missing nodes are left out when it is opened. A view of a past moment is
saved and opened with the nodes and names of that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from mycel.errors import ConstraintViolation
from mycel.explorer import limits
from mycel.explorer.census import BYS
from mycel.explorer.moments import Scene
from mycel.explorer.overview import REST
from mycel.explorer.parameters import Argument, Parameters, checked, integer_parameter
from mycel.history.saved_views import VIEWS_MAX, SavedViews
from mycel.model import times
from mycel.model.directions import DIRECTIONS
from mycel.model.values import JsonObject
from mycel.store.log.saved_views import SavedView

BYTES_MAX: Final = 256 << 10
"""The largest size of one saved view."""
COORDINATE_MAX: Final = 1e9
_TEXT: Final = Argument("text", most=limits.QUESTION_CHARACTERS_MAX * 10)
_IDS: Final = Argument("texts", default=(), most=limits.GROUP_NODES_MAX)

_VIEW: Final[Parameters] = {
    "by": Argument("text", default="folder", words=BYS),
    "group": _TEXT,
    "size": integer_parameter(
        "Nodes of the group that are shown; 0 for the usual number", 0, limits.GROUP_NODES_MAX, 0
    ),
    "ids": _IDS,
    "less": _IDS,
    "hide": Argument("texts", default=(), most=limits.KNOWN_MAX),
    "route": Argument("object"),
    "span": Argument("object"),
    "selected": _TEXT,
    "at": integer_parameter("A position", None, 1 << 62, 0),
    "holds": Argument("text", "Only elements that hold at this time", default="", most=40),
    "table": Argument("flag", default=False),
}
_ROUTE: Final[Parameters] = {
    "kind": Argument("text", words=("path", "reach"), required=True),
    "from": Argument("text", required=True),
    "to": _TEXT,
    "way": Argument("text", words=DIRECTIONS, required=True),
    "cost": Argument("number"),
    "most": integer_parameter("Nodes", None, limits.REACHED_NODES_MAX),
}
_SPAN: Final[Parameters] = {
    "since": Argument("text", default="", most=40),
    "until": Argument("text", default="", most=40),
    "actors": Argument("texts", default=(), most=limits.AUTHORS_MAX),
    "rest": Argument("text", default="dim", words=("dim", "hide")),
}
_ID: Final = Argument("text", "The id of a saved view", required=True)
_NAME: Final = Argument("text", "Its name", required=True)

ACTIONS: Final[dict[str, Parameters]] = {
    "save": {
        "name": _NAME,
        "view": Argument("object", "What is shown, as the page has it", required=True),
        "positions": Argument("object", "The places of nodes by id: [x, y, pinned]"),
        "camera": Argument("any", "The place and the zoom of the camera: [x, y, zoom]"),
        "id": Argument("text", "The view that it replaces"),
    },
    "rename": {"id": _ID, "name": _NAME},
    "delete": {"id": _ID},
}
"""The writes about saved views, by name."""


def list_views(views: SavedViews) -> JsonObject:
    """All saved views without their content."""
    return {"views": [_head(view) for view in views], "limit": VIEWS_MAX}


def moment_of_view(body: Mapping[str, Any]) -> str | None:
    """The moment that a view shows, as `Explorer` takes it; None for the present."""
    at = body["view"].get("at")
    return None if at is None else str(at)


def show_view(scene: Scene, view: SavedView, body: Mapping[str, Any]) -> JsonObject:
    """A saved view with its content, with the URIs of its nodes at its moment."""
    return scene.answer(**_head(view), **_mapped(body, _names(scene, body, "id")))


def check_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a view to save, with the URIs of the page.

    Raises:
        ConstraintViolation, InvalidValueType, InvalidSyntax: the content is not a view.
    """
    view = checked("view", _VIEW, body["view"])
    for key, parameters in (("route", _ROUTE), ("span", _SPAN)):
        if view[key] is not None:
            view[key] = checked(key, parameters, view[key])
    return {
        "view": view,
        "positions": _positions(body["positions"] or {}),
        "camera": None if body["camera"] is None else _numbers("camera", body["camera"], 3),
    }


def save(
    scene: Scene, views: SavedViews, body: Mapping[str, Any], *, name: str, id_: str | None
) -> JsonObject:
    """Save a checked view; `scene` has the state of its moment. Returns it without its content.

    Raises:
        ConstraintViolation: the view is too large.
        DuplicateExists, NotFound, ResourceExhausted: see `SavedViews`.
    """
    stored = _mapped(body, _names(scene, body, "ref"))
    if len(orjson.dumps(stored)) > BYTES_MAX:
        raise ConstraintViolation(
            f"This view is larger than {BYTES_MAX >> 10} KiB.", hint="Show fewer nodes."
        )
    return _head(views.save(name, stored, id_=id_))


def rename(views: SavedViews, id_: str, name: str) -> JsonObject:
    """Rename a view. Returns it without its content."""
    return _head(views.rename(id_, name))


def delete(views: SavedViews, id_: str) -> JsonObject:
    """Delete a view. Returns the deleted view without its content."""
    return _head(views.delete(id_))


def _head(view: SavedView) -> JsonObject:
    payload = {"id": view.id, "name": view.name, "actor": view.actor}
    return payload | {"time": times.to_text(view.time_us)}


def _positions(places: Mapping[str, Any]) -> dict[str, list[Any]]:
    if len(places) > limits.GROUP_NODES_MAX:
        raise ConstraintViolation(f"positions has more than {limits.GROUP_NODES_MAX} nodes.")
    positions = {}
    for id_, place in places.items():
        is_place = isinstance(place, list) and len(place) == 3 and isinstance(place[2], bool)
        if not is_place:
            raise ConstraintViolation("positions has no [x, y, pinned] for each node.")
        positions[id_] = [*_numbers("positions", place[:2], 2), place[2]]
    return positions


def _numbers(name: str, value: Any, count: int) -> list[float]:
    is_list = isinstance(value, list) and len(value) == count
    if not is_list or not all(
        isinstance(n, int | float) and not isinstance(n, bool) and abs(n) < COORDINATE_MAX
        for n in value
    ):
        raise ConstraintViolation(f"{name} has no {count} numbers.")
    return [round(n, 3) for n in value]


# Translation between URIs of the page and ids of the file.


def _ids(body: Mapping[str, Any]) -> list[str]:
    """Every id of a node in a view."""
    view = body["view"]
    route = view["route"] or {}
    domain = view["group"] if view["by"] == "domain" else None
    single = [view["selected"], route.get("from"), route.get("to"), domain]
    ids = [*view["ids"], *view["less"], *body["positions"], *filter(None, single)]
    return list(dict.fromkeys(ids))


def _names(scene: Scene, body: Mapping[str, Any], field: str) -> dict[str, str]:
    """By id of a node in a view, the given `field` of its card; missing nodes are left out."""
    numbers = scene.find_all(_ids(body))
    scene.cards.read(numbers.values())
    return {id_: str(card[field]) for id_, n in numbers.items() if (card := scene.cards.get(n))}


def _mapped(body: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """A view with other ids for its nodes; nodes without a new id are left out."""
    one: Callable[[Any], Any] = lambda id_: None if id_ is None else ids.get(id_)  # noqa: E731
    view = dict(body["view"])
    for key in ("ids", "less"):
        view[key] = [ids[id_] for id_ in view[key] if id_ in ids]
    view["selected"] = one(view["selected"])
    if view["by"] == "domain" and view["group"] and not view["group"].startswith(REST):
        view["group"] = one(view["group"])  # A domain is a node.
    if view["route"] is not None:
        route = view["route"] | {"from": one(view["route"]["from"]), "to": one(view["route"]["to"])}
        is_whole = route["from"] and (route["kind"] == "reach" or route["to"])
        view["route"] = route if is_whole else None
    places = {ids[id_]: place for id_, place in body["positions"].items() if id_ in ids}
    return {"view": view, "positions": places, "camera": body["camera"]}
