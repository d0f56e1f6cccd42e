"""DESCRIBE CAPABILITIES: what this engine supports of KIP, and reasons for what it does not."""

from __future__ import annotations

from typing import Final

from mycel.kip.statements import STATEMENTS
from mycel.model.limits import (
    COMMAND_BYTES_MAX,
    JSON_BYTES_MAX,
    NESTING_DEPTH_MAX,
    TRAVERSE_NODES_MAX,
)
from mycel.model.values import JsonObject

_ADDITIONS: Final = ("RC7", "RC8", "RC9", "RC10", "RC11")

_EXTENSIONS: Final[dict[str, str]] = {
    "AS OF": "FIND, SEARCH and TRAVERSE of a past state, by a time, a commit or a tag.",
    "FOR TIME": "Elements that hold at a time, by valid_from and valid_until; with AS OF, as"
    " known then.",
    "INCLUDE ARCHIVED": "ARCHIVE takes elements out of ordinary answers, RESTORE brings them back.",
    "SUPERSEDE": "One element takes the place of another, which answers show after it.",
    "BELIEF": "SUPPORT and CHALLENGE add sources to links; BELIEF(?l) is the resulting status.",
    "SET RETENTION": "The time for which elements are kept, and the action at its end.",
    "TRAVERSE": "The elements near an element by the weights of links, within budgets.",
    "NEAREST": "Concepts by the vectors of a property.",
    "DESCRIBE CHANGES": "The differences between two states.",
    "DESCRIBE HISTORY": "The commits, newest first.",
    "EXPLAIN": "The plan of a FIND, and with ANALYZE its cost.",
    "weights": "?l.weight and SET WEIGHT: the cost of following a link.",
    "functional": "A predicate with functional: true has one value for a subject at a time.",
    "former_periods": "Metadata: the periods in which a link held before; FOR TIME finds it then.",
}
"""Statements and options beyond the protocol."""

_UNSUPPORTED: Final[dict[str, str]] = {
    "assertions of KIP 2.0": "Statements of sources are kept as evidence of a link, with one"
    " documented rule for its status; assertions are not stored as elements of their own.",
    "inference": "An answer has only stored links, so that it can be proven. Query the closure of a"
    ' transitive predicate with hops: "part_of"{1,}.',
    "hops over alternatives or a predicate variable": "The protocol allows hops for a single"
    " predicate only; use UNION for several.",
    "meaning in the past": "SEARCH … AS OF uses names and words only, because vectors exist for"
    " the present state only.",
    "clock in queries": "KIP reads no clock, so that a command means the same on every run; pass"
    " the time as a parameter.",
    "forgetting by a model": "Upkeep does only what a rule decides; everything else becomes a"
    " SleepTask for a model or a person.",
}
"""Abilities that the engine does not have, each with the reason."""


def describe_capabilities() -> JsonObject:
    """The version, statements, extensions, limits and unsupported features."""
    return {
        "protocol": {"name": "KIP", "version": "1.0-RC6", "with": list(_ADDITIONS)},
        "engine": "mycel",
        "statements": sorted(STATEMENTS),
        "supported": [{"name": name, "use": use} for name, use in _EXTENSIONS.items()],
        "not_supported": [
            {"name": name, "reason": reason} for name, reason in _UNSUPPORTED.items()
        ],
        "limits": {
            "command_bytes": COMMAND_BYTES_MAX,
            "nesting_depth": NESTING_DEPTH_MAX,
            "traverse_nodes": TRAVERSE_NODES_MAX,
            "attributes_bytes": JSON_BYTES_MAX,
        },
    }
