"""Makes the message of a transaction that was given none: a count of its changes.

It names types and predicates only. A message is never removed from the journal, so a name of an
element in it would outlive a purge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from mycel.model.records import is_tombstone, record_type
from mycel.store.backend.interface import Connection
from mycel.store.log.journal import Kind
from mycel.store.log.registry import Registry

GROUPS_SHOWN: Final = 4

_VERBS: Final = {
    Kind.RETIRE_CONCEPT: "remove",
    Kind.ADD_EDGE: "link",
    Kind.UPDATE_EDGE: "change",
    Kind.REMOVE_EDGE: "unlink",
    Kind.RELINK_EDGE: "re-point",
    Kind.MOVE_CONCEPT: "move",
}

_REKEYS: Final = frozenset({"move", "retype"})
"""Verbs for a new name or type, which gives the links on the element new keys."""

Entry = tuple[int, int, int, bytes | None, bytes]
"""The number, kind and element of an entry, and the records before and after it."""


def summary(connection: Connection, registry: Registry, entries: Iterable[Entry]) -> str:
    """The text, such as `add 2 Person, 1 City; link 3 knows`."""
    counts: Counter[tuple[str, str]] = Counter()
    for _, kind, _, before, after in entries:
        if kind in (Kind.PURGE, Kind.MARK):
            continue
        type_name = record_type(after)
        if isinstance(type_name, int):
            type_name = registry.predicates.name(connection, type_name)
        verb = _VERBS.get(Kind(kind)) or ("add" if _is_new(before) else "change")
        if verb == "move" and before is not None and record_type(before) != type_name:
            verb = "retype"
        counts[verb, type_name] += 1
    if any(verb in _REKEYS for verb, _ in counts):  # Links on the element are not counted.
        counts = Counter({key: count for key, count in counts.items() if key[0] != "re-point"})
    groups: dict[str, list[str]] = {}
    for (verb, type_name), count in counts.most_common(GROUPS_SHOWN):
        groups.setdefault(verb, []).append(f"{count} {type_name}")
    message = "; ".join(f"{verb} {', '.join(names)}" for verb, names in groups.items())
    return f"{message}; …" if len(counts) > GROUPS_SHOWN else message


_GROUP: Final = r"(?:add|change|remove|link|unlink|re-point|move|retype) \d+ \S+(?:, \d+ \S+)*"
_SUMMARY: Final = re.compile(rf"{_GROUP}(?:; {_GROUP})*(?:; …)?")


def is_summary(message: str) -> bool:
    """True if a message has the form of a count of changes."""
    return _SUMMARY.fullmatch(message) is not None


def _is_new(before: bytes | None) -> bool:
    """True if an entry creates an element, or revives a removed one."""
    return before is None or is_tombstone(before)
