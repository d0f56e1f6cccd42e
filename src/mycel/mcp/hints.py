"""Hints in the words of MCP.

The engine's hints speak of Python, of KIP and of the command line. What reads them here is a model
that has tools and nothing else, and on a server that only reads not even all of those: it would try
what it is told, and fail again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal, TypeVar

from mycel.engine.engine import read_only
from mycel.errors import MycelError, NotFound, did_you_mean
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.nexus import Nexus

Names = Literal["type", "relation type"]
Error = TypeVar("Error", bound=MycelError)

NAMES_COMPARED: Final = 1_000
"""With how many names one that is unknown is compared."""

_LISTED: Final = {"type": "DESCRIBE CONCEPT TYPES", "relation type": "DESCRIBE PROPOSITION TYPES"}
_TOPIC: Final = {"type": "types", "relation type": "relation_types"}
_DOOR: Final = read_only("").hint
"""What the engine says about a command that writes, sent through a door for reading."""


def undefined(db: Nexus, error: Error, what: Names, names: Collection[str | None]) -> Error:
    """The error for types or relation types of which one is not defined, with the closest."""
    known = db.execute(f"{_LISTED[what]} LIMIT {NAMES_COMPARED}").value
    unknown = next((each for each in names if each not in known), None)
    hint = f"describe_graph with topic {_TOPIC[what]} lists what there is; case matters."
    if unknown is not None:
        error.message = f"There is no {what} {shorten(repr(unknown))}."
        hint = f"{did_you_mean(shorten(unknown), known)} {hint}".strip()
    error.hint = hint
    return error


def in_tools(error: MycelError, *, readonly: bool) -> MycelError:
    """An error whose hint names tools: for a node that is not there, those that find and add it."""
    if isinstance(error, NotFound) and "closest" in error.data:
        close = error.data["closest"]
        meant = f"Did you mean {' or '.join(close)}? " if close else ""
        add = "" if readonly else " remember_knowledge adds one."
        error.hint = f"{meant}search_knowledge finds nodes by words.{add}"
    return error


def at_the_door(response: JsonObject, *, readonly: bool) -> JsonObject:
    """A response of KIP; commands that were refused here are sent to a door that there is."""
    hint = (
        "This server only reads: it has no tool that writes. Ask instead of telling, or have it"
        " started without --readonly."
        if readonly
        else "This tool only reads. Send it through execute_kip."
    )
    told: JsonObject = _hinted(response, hint)
    results = told.get("result")
    if isinstance(results, list):
        return told | {"result": [_hinted(each, hint) for each in results]}
    return told


def _hinted(response: Any, hint: str) -> Any:
    error = response.get("error") if isinstance(response, dict) else None
    if not isinstance(error, dict) or error.get("hint") != _DOOR:
        return response
    return response | {"error": error | {"hint": hint}}
