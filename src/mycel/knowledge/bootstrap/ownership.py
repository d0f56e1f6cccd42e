"""Tells values that a bootstrap wrote, and may change, from values of other writers.

Its nodes and relations have the metadata `author: bootstrap`. Its nodes also have a stamp, the
attribute `_bootstrap`: a hash of the values that it wrote last. If the stored values have the same
hash, a bootstrap may replace them. If not, the history of the node shows which values another
writer changed, and these values are kept from then on (`kept`). A bootstrap never changes other
attributes.

A bootstrap never changes a relation after writing it, so at version 1 nobody else has changed it
either. It removes relations with the reason `GONE`. A relation removed for another reason is not
written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from mycel.knowledge.bootstrap.project_graph import Wanted
from mycel.knowledge.bootstrap_stamp import AUTHOR_TEXT
from mycel.knowledge.vocabulary import STAMP
from mycel.model.values import parse_object
from mycel.search.validity import MISSING_SINCE
from mycel.store.query.bulk.prefixes import Held, HeldLink

GONE: Final = "gone from the project"
"""The reason that a bootstrap gives for a removal."""

_WROTE: Final = "wrote"
_KEPT: Final = "kept"


class AttributeChange(NamedTuple):
    """The attributes of a node to set and to drop."""

    set: dict[str, Any]
    drop: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.set or self.drop)


def new_attributes(draft: Wanted) -> dict[str, Any]:
    """The attributes of a new node."""
    return draft.attributes | {STAMP: _stamp(draft, frozenset())}


def change_of(existing: Held, draft: Wanted, past: Iterable[str]) -> AttributeChange:
    """The changes of an existing node; `past` are its attributes in former versions.

    If another writer made the node, only missing attributes are set.
    """
    now = parse_object(existing.attributes)
    foreign_keys = _foreign_attributes(now, draft.keys, past)
    attributes = {k: v for k, v in draft.attributes.items() if k not in foreign_keys}
    attributes[STAMP] = _stamp(draft, foreign_keys)
    removals = draft.keys - foreign_keys - attributes.keys()
    return AttributeChange(
        {key: value for key, value in attributes.items() if now.get(key, ...) != value},
        tuple(sorted((removals | {MISSING_SINCE}) & now.keys())),
    )


def is_ours(existing: Held, keys: frozenset[str]) -> bool:
    """True if only a bootstrap has written a node."""
    if existing.metadata != AUTHOR_TEXT:
        return False
    now = parse_object(existing.attributes)
    if now.keys() - keys - {STAMP, MISSING_SINCE}:
        return False
    wrote, foreign_keys = _read(now)
    return not foreign_keys and wrote == _digest(now, keys)


def is_our_link(link: HeldLink) -> bool:
    """True if only a bootstrap has written a relation."""
    return link.version == 1 and link.metadata == AUTHOR_TEXT


def values_of_others(attributes: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    """The attributes of a node that a bootstrap did not write.

    If another writer has changed a value of the bootstrap, it is not known which value. Then all
    attributes count.
    """
    wrote, foreign_keys = _read(attributes)
    owned = keys - foreign_keys
    if wrote != _digest(attributes, owned):
        owned = frozenset()
    return {k: v for k, v in attributes.items() if k not in owned | {STAMP, MISSING_SINCE}}


def _foreign_attributes(
    now: Mapping[str, Any], keys: frozenset[str], past: Iterable[str]
) -> frozenset[str]:
    """The attributes among `keys` that another writer has set."""
    if STAMP not in now:
        return keys & now.keys()
    wrote, foreign_keys = _read(now)
    if wrote == _digest(now, keys - foreign_keys):
        return foreign_keys
    for base in map(parse_object, past):
        if _read(base) == (wrote, foreign_keys) and _digest(base, keys - foreign_keys) == wrote:
            changed = {k for k in keys - foreign_keys if now.get(k, ...) != base.get(k, ...)}
            return foreign_keys | changed
    return keys  # The history was purged, so each value may be of another writer.


def _stamp(draft: Wanted, foreign_keys: frozenset[str]) -> Any:
    """The stamp of a node: a number, or an object if it has more to keep."""
    wrote = _digest(draft.attributes, draft.keys - foreign_keys)
    if draft.stamp is None and not foreign_keys:
        return wrote
    stamp = {_WROTE: wrote} | (draft.stamp or {})
    return stamp | {_KEPT: sorted(foreign_keys)} if foreign_keys else stamp


def _read(attributes: Mapping[str, Any]) -> tuple[object, frozenset[str]]:
    stamp = attributes.get(STAMP)
    if not isinstance(stamp, dict):
        return stamp, frozenset()
    foreign_keys = stamp.get(_KEPT, ())
    return stamp.get(_WROTE), frozenset(foreign_keys if isinstance(foreign_keys, list) else ())


def _digest(attributes: Mapping[str, Any], keys: frozenset[str]) -> int:
    """A hash as a number, since texts in attributes are indexed for search."""
    values = {key: value for key, value in attributes.items() if key in keys}
    text = orjson.dumps(values, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return int.from_bytes(blake2b(text, digest_size=6).digest())
