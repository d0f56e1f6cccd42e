"""Hints that name tools.

The hints of the engine name Python, KIP and the command line. A model has only tools here, and
fewer of them on a read-only server.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal, TypeVar

from mycel.api.graph import Graph
from mycel.engine.engine import read_only
from mycel.errors import MycelError, NotFound, did_you_mean
from mycel.model.names import shorten
from mycel.model.values import JsonObject

Names = Literal["type", "relation type"]
Error = TypeVar("Error", bound=MycelError)

NAMES_COMPARED: Final = 1_000
"""The maximum number of names with which an unknown name is compared."""

_LISTED: Final = {"type": "DESCRIBE CONCEPT TYPES", "relation type": "DESCRIBE PROPOSITION TYPES"}
_TOPIC: Final = {"type": "types", "relation type": "relation_types"}
_IN_TOOLS: Final = {
    "`mycel branch list` shows": "manage_history with action branches lists",
    "Define it first: tx.define_type(name), or `mycel define type NAME`.": (
        "describe_graph with topic types lists the names; case matters."
    ),
    "Define it first: tx.define_predicate(name), or `mycel define predicate NAME`.": (
        "describe_graph with topic relation_types lists the names; case matters."
    ),
    "db.merges.conflicts() (`mycel conflicts`) lists": (
        "resolve_conflicts without resolutions lists"
    ),
    "db.merges (`mycel conflicts`) lists": "resolve_conflicts without resolutions lists",
}
"""Parts of hints of the engine, and their replacements for tools."""
_REFUSED: Final = read_only("").hint
"""The hint of the engine for a writing command where only reading is allowed."""


def undefined(db: Graph, error: Error, noun: Names, names: Collection[str | None]) -> Error:
    """The error for an undefined type or relation type, with the closest name."""
    defined = db.execute(f"{_LISTED[noun]} LIMIT {NAMES_COMPARED}").value
    unknown = next((name for name in names if name not in defined), None)
    hint = f"describe_graph with topic {_TOPIC[noun]} lists the names; case matters."
    if unknown is not None:
        error.message = f"There is no {noun} {shorten(repr(unknown))}."
        hint = f"{did_you_mean(shorten(unknown), defined)} {hint}".strip()
    error.hint = hint
    return error


def in_tools(error: MycelError, *, readonly: bool) -> MycelError:
    """An error with a hint that names tools."""
    for elsewhere, replacement in _IN_TOOLS.items():
        error.hint = error.hint.replace(elsewhere, replacement)
    if isinstance(error, NotFound) and "closest" in error.data:
        close = error.data["closest"]
        advice = f"Did you mean {' or '.join(close)}? " if close else ""
        add = "" if readonly else " remember_knowledge adds one."
        error.hint = f"{advice}search_knowledge finds nodes by words.{add}"
    return error


def for_refused_writes(response: JsonObject, *, readonly: bool) -> JsonObject:
    """Make the errors for refused writes in a response of KIP name a tool that writes, if any."""
    hint = (
        "This server is read-only: no tool writes. It has to be started without --readonly."
        if readonly
        else "This tool only reads. Send the command with execute_kip."
    )
    payload: JsonObject = _hinted(response, hint)
    results = payload.get("result")
    if isinstance(results, list):
        return payload | {"result": [_hinted(result, hint) for result in results]}
    return payload


def _hinted(response: Any, hint: str) -> Any:
    error = response.get("error") if isinstance(response, dict) else None
    if not isinstance(error, dict) or error.get("hint") != _REFUSED:
        return response
    return response | {"error": error | {"hint": hint}}
