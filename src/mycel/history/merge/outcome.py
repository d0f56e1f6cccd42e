"""The results of a merge: `Merge`, with conflicts and automatic choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

import orjson

from mycel.history.merge.sequences import Region
from mycel.history.merge.values import UNKNOWN
from mycel.store.query.diff import ABSENT, Diff, label_of

ConflictKind = Literal[
    "value",
    "text",
    "array",
    "delete_modify",
    "orphan_link",
    "move_move",
    "key_clash",
    "definition",
    "constraint",
    "element",
]
MergeStatus = Literal["merged", "up_to_date", "clean", "conflicts", "aborted"]

ID_DIGITS: Final = 12
"""The digits of an id: enough to tell a hundred thousand conflicts apart."""
CHOICES: Final = ("ours", "theirs", "base", "value", "lines")


class Resolution(NamedTuple):
    """The decision about a conflict, or about a choice that it overrules."""

    choice: str
    value: Any = None

    def to_dict(self) -> dict[str, Any]:
        has_value = self.choice in ("value", "lines")
        return {"choice": self.choice} | ({"value": self.value} if has_value else {})


class Conflict(NamedTuple):
    """A value or element that both sides have changed, so that somebody has to decide."""

    id: str
    kind: ConflictKind
    identity: Mapping[str, Any]
    """Type and name, or predicate and ends, of the element."""
    field: str = ""
    """`attributes`, `name`, …; empty if the conflict is about the element as a whole."""
    path: tuple[str, ...] = ()
    """The key of an attribute, and below it keys of nested objects."""
    base: Any = ABSENT
    ours: Any = ABSENT
    theirs: Any = ABSENT
    reason: str = ""
    element: str | None = None
    """The id of the element in the target; None if it does not exist there."""
    regions: tuple[Region, ...] = ()
    """For a text: its lines, in regions."""
    rows: tuple[Mapping[str, Any], ...] = ()
    """For a constraint or a definition: the elements that the conflict is about."""
    suggestion: str | None = None
    resolution: Resolution | None = None
    merge: str = ""
    """The id of the open merge with this conflict."""
    refused: tuple[str, ...] = ()
    """For a constraint: the choices that would still break it."""

    @property
    def label(self) -> str:
        return label_of(self.identity)

    @property
    def options(self) -> tuple[str, ...]:
        """The choices that are possible."""
        missing = {*self.refused}
        missing |= {"base"} if self.base is UNKNOWN else set()
        missing |= set() if self.parts else {"lines"}
        if self.kind == "definition":
            missing |= {"value"} if self.base is not ABSENT else {"value", "base"}
        return tuple(option for option in CHOICES if option not in missing)

    @property
    def parts(self) -> int:
        """The number of contested parts in a text."""
        return sum(region.merged is None for region in self.regions)

    @property
    def hunks(self) -> list[dict[str, list[str]]]:
        """The lines of a text: shared, merged and contested ones."""
        return [_hunk(region) for region in self.regions]

    def to_dict(self) -> dict[str, Any]:
        payload: dict[str, Any] = {"id": self.id, "kind": self.kind, "label": self.label}
        payload["identity"] = dict(self.identity)
        payload |= {"merge": self.merge} if self.merge else {}
        payload |= {"element": self.element} if self.element else {}
        payload |= {"field": self.field} if self.field else {}
        payload |= {"path": list(self.path)} if self.path else {}
        payload |= _values(self)
        payload |= {"hunks": self.hunks} if self.regions else {}
        payload |= {"rows": [dict(row) for row in self.rows]} if self.rows else {}
        payload |= {"reason": self.reason, "options": list(self.options)}
        payload |= {"refused": list(self.refused)} if self.refused else {}
        payload |= {"suggestion": self.suggestion} if self.suggestion else {}
        payload["resolution"] = None if self.resolution is None else self.resolution.to_dict()
        return payload

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Conflict:
        """A conflict from the result of `to_dict`, without the lines of a text."""
        plain = {key: payload[key] for key in cls._fields if key in payload}
        plain |= {key: tuple(payload.get(key, ())) for key in ("path", "rows", "refused")}
        resolution = payload.get("resolution")
        decided = (
            None
            if resolution is None
            else Resolution(resolution["choice"], resolution.get("value"))
        )
        return cls(**plain | {"resolution": decided})


class Choice(NamedTuple):
    """A value that both sides have changed, and that a rule has chosen."""

    id: str
    kind: str
    identity: Mapping[str, Any]
    field: str
    path: tuple[str, ...]
    base: Any
    ours: Any
    theirs: Any
    value: Any
    side: str
    """The chosen side: `ours`, `theirs`, or `both`."""
    rule: str
    reason: str
    element: str | None = None
    """The id of the element in the target; None if it does not exist there."""
    commit: str | None = None
    """The commit of the merge; None while it is open."""

    @property
    def label(self) -> str:
        return label_of(self.identity)

    def to_dict(self) -> dict[str, Any]:
        payload: dict[str, Any] = {"id": self.id, "kind": self.kind, "label": self.label}
        payload["identity"] = dict(self.identity)
        payload |= {"element": self.element} if self.element else {}
        payload |= {"field": self.field, "path": list(self.path)}
        payload |= _values(self)
        payload |= {} if self.value is ABSENT else {"value": self.value}
        payload |= {"side": self.side, "rule": self.rule, "reason": self.reason}
        return payload | ({"commit": self.commit} if self.commit else {})


class Merge(NamedTuple):
    """One merge: its changes of the target, or the conflicts to be decided first."""

    status: MergeStatus
    source: str
    into: str
    ours: str
    """The commit of the target before the merge."""
    theirs: str
    """The commit of the source."""
    base: tuple[str, ...]
    """The newest common ancestors. If there are several, their values are combined."""
    diff: Diff
    """The changes of the target; in an open merge, contested values are left out."""
    conflicts: tuple[Conflict, ...] = ()
    choices: tuple[Choice, ...] = ()
    warnings: tuple[str, ...] = ()
    commit: str | None = None
    id: str = ""
    """The name of an open merge."""

    @property
    def is_open(self) -> bool:
        """True if the merge waits for decisions."""
        return bool(self.id)

    @property
    def unresolved(self) -> tuple[Conflict, ...]:
        """The conflicts that nobody has decided yet."""
        return tuple(conflict for conflict in self.conflicts if conflict.resolution is None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "id": self.id,
            "source": self.source,
            "into": self.into,
            "base": list(self.base),
            "ours": self.ours,
            "theirs": self.theirs,
            "commit": self.commit,
            "diff": self.diff.to_dict(),
            "conflicts": [conflict.to_dict() for conflict in self.conflicts],
            "choices": [choice.to_dict() for choice in self.choices],
            "warnings": list(self.warnings),
        }


def conflict_id(
    kind: str, identity: Mapping[str, Any], field: str, path: Sequence[str], *values: Any
) -> str:
    """The id of a conflict: a hash of its place and values, which is stable until these change."""
    parts = [kind, identity, field, list(path), [_value_list(value) for value in values]]
    return sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:ID_DIGITS]


def _value_list(value: Any) -> Any:
    return [] if value is ABSENT or value is UNKNOWN else [value]


def _values(about: Conflict | Choice) -> dict[str, Any]:
    values = {"base": about.base, "ours": about.ours, "theirs": about.theirs}
    return {
        key: value for key, value in values.items() if value is not ABSENT and value is not UNKNOWN
    }


def _hunk(region: Region) -> dict[str, list[str]]:
    if region.is_same:
        return {"same": list(region.base)}
    if region.merged is not None:
        return {"merged": list(region.merged)}
    return {"base": list(region.base), "ours": list(region.ours), "theirs": list(region.theirs)}
