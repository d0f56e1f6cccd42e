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
    "FOR TIME": "What holds at a time, by valid_from and valid_until; with AS OF, as known then.",
    "INCLUDE ARCHIVED": "ARCHIVE takes elements out of ordinary answers, RESTORE brings them back.",
    "SUPERSEDE": "One element takes the place of another, which is shown behind it.",
    "BELIEF": "SUPPORT and CHALLENGE add sources to links; BELIEF(?l) is the status that follows.",
    "SET RETENTION": "For how long elements are kept, and what becomes of them then.",
    "TRAVERSE": "What is near an element by the weights of links, within budgets.",
    "NEAREST": "Concepts by the vectors of a property.",
    "DESCRIBE CHANGES": "The differences between two states.",
    "DESCRIBE HISTORY": "The commits, newest first.",
    "EXPLAIN": "The plan of a FIND, and with ANALYZE its cost.",
    "weights": "?l.weight and SET WEIGHT: the cost of going along a link.",
    "functional": "A predicate with functional: true has one value for a subject at a time.",
    "former_periods": "Metadata: the periods in which a link held before; FOR TIME finds it then.",
}
"""Statements and options beyond the protocol."""

_UNSUPPORTED: Final[dict[str, str]] = {
    "assertions of KIP 2.0": "What sources say is kept as evidence of a link, with one documented"
    " rule for its status; assertions as elements of their own are not stored.",
    "inference": "An answer has only what was written, so that it can be proven. The closure of a"
    ' transitive predicate is asked for with hops: "part_of"{1,}.',
    "hops over alternatives or a predicate variable": "The protocol gives hops to one predicate"
    " alone; ask for each with UNION.",
    "meaning in the past": "SEARCH … AS OF goes by names and words: vectors are of the present.",
    "clock in queries": "KIP reads no clock, so that a command means the same on every run; pass"
    " the time as a parameter.",
    "forgetting by a model": "Upkeep does what is certain by rule; everything else becomes a"
    " SleepTask, which a model or a person decides.",
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
