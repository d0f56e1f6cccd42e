"""What a bootstrap may change: what it wrote itself and nobody has touched since.

Its nodes and relations carry the metadata `author: bootstrap`. At each node it also leaves a
number, in the attribute `_bootstrap`: a hash of the values that it wrote last. If the values of
today give the same number, they are its own and may be replaced. If not, somebody has changed one
of them; the node's history tells which, and those are that somebody's from then on (`kept`).
Attributes that a bootstrap does not write at all are never looked at.

A relation is written once and never changed, so one of version 1 is untouched. What a bootstrap
removes it removes for a reason of its own (`GONE`): a relation that was removed for another one is
somebody's decision, and is not written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from mycel.knowledge.bootstrap.project_graph import Wanted
from mycel.knowledge.vocabulary import STAMP
from mycel.model.values import parse_object
from mycel.store.query.holdings import Held, HeldLink

AUTHOR: Final = {"author": "bootstrap"}
AUTHOR_TEXT: Final = '{"author":"bootstrap"}'
MISSING_SINCE: Final = "missing_since"
GONE: Final = "gone from the project"
"""Why a bootstrap removes something."""

_WROTE: Final = "wrote"
_KEPT: Final = "kept"


class Change(NamedTuple):
    """What has to happen to the attributes of a node."""

    set: dict[str, Any]
    drop: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.set or self.drop)


def new_attributes(wanted: Wanted) -> dict[str, Any]:
    """The attributes of a node that is not there yet."""
    return wanted.attributes | {STAMP: _stamp(wanted, frozenset())}


def change_of(held: Held, wanted: Wanted, past: Iterable[str]) -> Change:
    """What has to change about a node that is there. `past` are its attributes in former versions.

    A node that somebody else made is filled in where it says nothing.
    """
    now = parse_object(held.attributes)
    kept = _kept(now, wanted.keys, past)
    attributes = {k: v for k, v in wanted.attributes.items() if k not in kept}
    attributes[STAMP] = _stamp(wanted, kept)
    gone = wanted.keys - kept - attributes.keys()
    return Change(
        {key: value for key, value in attributes.items() if now.get(key, ...) != value},
        tuple(sorted((gone | {MISSING_SINCE}) & now.keys())),
    )


def is_ours(held: Held, keys: frozenset[str]) -> bool:
    """Whether nobody but a bootstrap has written at a node."""
    if held.metadata != AUTHOR_TEXT:
        return False
    now = parse_object(held.attributes)
    if now.keys() - keys - {STAMP, MISSING_SINCE}:
        return False
    wrote, kept = _read(now)
    return not kept and wrote == _digest(now, keys)


def is_our_link(link: HeldLink) -> bool:
    """Whether nobody but a bootstrap has written a relation."""
    return link.version == 1 and link.metadata == AUTHOR_TEXT


def _kept(now: Mapping[str, Any], keys: frozenset[str], past: Iterable[str]) -> frozenset[str]:
    """The attributes that a bootstrap would write and that are somebody else's."""
    if STAMP not in now:
        return keys & now.keys()
    wrote, kept = _read(now)
    if wrote == _digest(now, keys - kept):
        return kept
    for base in _parsed(past):
        if _read(base) == (wrote, kept) and _digest(base, keys - kept) == wrote:
            changed = {k for k in keys - kept if now.get(k, ...) != base.get(k, ...)}
            return kept | changed
    return keys  # The history was purged: nobody knows whose they are.


def _parsed(past: Iterable[str]) -> Iterator[dict[str, Any]]:
    for text in past:
        yield parse_object(text)


def _stamp(wanted: Wanted, kept: frozenset[str]) -> Any:
    """What is left at a node; where a number will do, a number."""
    wrote = _digest(wanted.attributes, wanted.keys - kept)
    if wanted.stamp is None and not kept:
        return wrote
    stamp = {_WROTE: wrote} | (wanted.stamp or {})
    return stamp | {_KEPT: sorted(kept)} if kept else stamp


def _read(attributes: Mapping[str, Any]) -> tuple[object, frozenset[str]]:
    stamp = attributes.get(STAMP)
    if not isinstance(stamp, dict):
        return stamp, frozenset()
    kept = stamp.get(_KEPT, ())
    return stamp.get(_WROTE), frozenset(kept if isinstance(kept, list) else ())


def _digest(attributes: Mapping[str, Any], keys: frozenset[str]) -> int:
    """A number, since texts in attributes are indexed for search."""
    values = {key: value for key, value in attributes.items() if key in keys}
    text = orjson.dumps(values, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return int.from_bytes(blake2b(text, digest_size=6).digest())
