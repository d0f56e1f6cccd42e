"""Requests for merges: the source, the options, and the decisions so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from mycel.errors import ConstraintViolation, NotFound
from mycel.history.merge.outcome import CHOICES, ID_DIGITS, Choice, Conflict, Resolution
from mycel.history.merge.rules import check_policy
from mycel.history.merge.values import UNKNOWN
from mycel.model.ids import parse_id
from mycel.model.values import with_times_as_text
from mycel.store.query.diff import ABSENT


class Request(NamedTuple):
    """A merge that a caller asks for."""

    source: str
    """The name of the branch, or of the origin of edits."""
    theirs: str
    """The commit to merge; for edits, the commit of the target that was edited."""
    policy: Mapping[str, str]
    trust: Sequence[str] = ()
    by_element: bool = False
    restore_purged: bool = False
    message: str = ""
    opened: int = 0
    """The time at which the merge was opened."""
    ours: str = ""
    """The commit of the target when the merge was last computed."""
    by: str = ""
    edits: Sequence[Mapping[str, Any]] | None = None
    """Edits of an earlier state of the target, if the source is no branch."""
    schema: str | None = None
    """The schema that comes with the edits, if it differs from the schema of the state."""
    resolutions: Mapping[str, Resolution] = {}
    constraints: tuple[Conflict, ...] = ()
    """Constraints that a merge without conflicts has broken, with decisions."""
    version: int = 0
    """The number of times that the merge was stored; it shows if another caller has written.
    """

    @property
    def id(self) -> str:
        message = f"{self.source} {self.opened}"
        return sha256(message.encode()).hexdigest()[:ID_DIGITS]

    def with_broken(self, broken: Sequence[Conflict] = ()) -> Request:
        """The request with all constraints that are broken now, and with those already decided.

        Other constraints are left out: a trial of the merge shows whether they are still broken.
        """
        by_id = {
            constraint.id: constraint
            for constraint in self.constraints
            if constraint.resolution is not None
        }
        return self._replace(constraints=tuple((by_id | {e.id: e for e in broken}).values()))

    def to_dict(self) -> dict[str, Any]:
        payload = self._asdict()
        payload["resolutions"] = {
            key: resolution.to_dict() for key, resolution in self.resolutions.items()
        }
        payload["constraints"] = [constraint.to_dict() for constraint in self.constraints]
        return payload | {"policy": dict(self.policy), "trust": list(self.trust)}

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Request:
        request = cls(**{key: payload[key] for key in cls._fields if key in payload})
        return request._replace(
            resolutions={
                key: Resolution(resolution["choice"], resolution.get("value"))
                for key, resolution in payload["resolutions"].items()
            },
            constraints=tuple(
                Conflict.from_dict(constraint) for constraint in payload.get("constraints", ())
            ),
        )


def options(
    policy: object, trust: Sequence[str] | None, granularity: str, restore_purged: bool
) -> tuple[Mapping[str, str], Sequence[str], bool, bool]:
    """The merge options of a request, after checks.

    Raises:
        ConstraintViolation: an option has a wrong value.
    """
    if granularity not in ("key", "element"):
        raise ConstraintViolation(
            f"{granularity!r} is not a granularity of a merge.", hint="Use key or element."
        )
    return check_policy(policy), tuple(trust or ()), granularity == "element", restore_purged


# Decisions.


def decisions(
    conflict: Conflict | Choice | str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    choice: str | None,
    value: Any,
) -> dict[str, Resolution]:
    """The decisions that a caller gives in one of several forms, by the id of the conflict.

    Raises:
        ConstraintViolation: the decisions have another form, or a choice lacks its value.
    """
    if isinstance(conflict, Conflict | Choice):
        return {conflict.id: _decision(choice or "", value)}
    if isinstance(conflict, str):
        return {conflict: _decision(choice or "", value)}
    if isinstance(conflict, Mapping):
        return {str(id_): _decision(str(word)) for id_, word in conflict.items()}
    try:
        return {
            str(row["conflict"]): _decision(row["choice"], row.get("value", ABSENT))
            for row in conflict
        }
    except (KeyError, TypeError, AttributeError):
        raise ConstraintViolation(
            "Decisions are a list of objects with a conflict and a choice.",
            hint='For example [{"conflict": "9f3ac1d2", "choice": "theirs"}].',
        ) from None


def _decision(choice: str, value: Any = ABSENT) -> Resolution:
    if choice not in ("value", "lines"):
        return Resolution(choice)
    if value is ABSENT:  # None is a valid value: null, or no element.
        raise ConstraintViolation(
            f'The choice is "{choice}", but there is no value.',
            hint="Give it as `value`, or choose ours, theirs or base.",
        )
    return Resolution(choice, with_times_as_text(value))


def full_id(prefix: str, all_ids: Sequence[str]) -> str:
    """The only id that begins with some characters.

    Raises:
        NotFound: no id begins with them, or several do.
    """
    matches = [id_ for id_ in all_ids if id_.startswith(prefix)] if len(prefix) >= 4 else []
    if len(matches) != 1:
        raise NotFound(
            f"There is no conflict {prefix!r} in this merge.",
            hint="db.merges.conflicts() (`mycel conflicts`) lists them; the first four"
            " characters of an id are enough if they are unique.",
        )
    return matches[0]


def check(resolution: Resolution, about: Conflict | Choice) -> None:
    """Refuse a decision that does not fit its conflict.

    Raises:
        ConstraintViolation: the decision does not fit.
    """
    choice, value = resolution
    parts = about.parts if isinstance(about, Conflict) else 0
    if (
        choice not in CHOICES
        or (choice == "base" and about.base is UNKNOWN)
        or (choice == "lines" and not parts)
    ):
        raise ConstraintViolation(
            f"{choice!r} is not a choice for {about.label}.",
            hint="Choose ours, theirs, base, or value with a value. There is no base if the"
            " common ancestors disagree; lines are only for a text of several lines.",
        )
    if isinstance(about, Conflict) and choice in about.refused:
        raise ConstraintViolation(
            f"With {choice}, {about.label} would still break the rule: {about.reason}",
            hint=f"Choose {' or '.join(about.options)}.",
        )
    if choice == "lines" and not _are_parts(value, parts):
        raise ConstraintViolation(
            f"{about.label}: {parts} part{'' if parts == 1 else 's'} of the text"
            f" {'is' if parts == 1 else 'are'} contested, and the value does not fit.",
            hint="With lines, give the text for each contested part: one text, or a list of them."
            " To replace the whole text, choose value.",
        )
    if choice != "value":
        return
    if not _fits(value, about):
        raise ConstraintViolation(
            f"This value does not fit the conflict about {about.label}.",
            hint="For an element as a whole, give an object with attributes, metadata, weight or"
            " name; or None to remove it. For a constraint, an object with ours, theirs, base or"
            " such an object for each element, by its label; for one element, that object alone."
            " The ends of a link, and definitions, are ours, theirs or base.",
        )


def _are_parts(value: Any, count: int) -> bool:
    """True if a value gives one text for each of some contested parts."""
    texts = [value] if isinstance(value, str) else value
    return (
        isinstance(texts, list)
        and len(texts) == count
        and all(isinstance(text, str) for text in texts)
    )


def _fits(value: Any, about: Conflict | Choice) -> bool:
    """True if a value has the form of the contested values."""
    if isinstance(about, Conflict) and about.kind == "constraint":
        if len(about.rows) == 1 and _is_version(value):
            return True
        row_names = {name for row in about.rows for name in (row["label"], row.get("element"))}
        return (
            isinstance(value, Mapping)
            and value.keys() <= row_names
            and all(
                choice in ("ours", "theirs", "base", None) or _is_version(choice)
                for choice in value.values()
            )
        )
    if isinstance(about, Conflict) and not about.field:
        return value is None or _is_version(value)
    if about.field in ("attributes", "metadata"):
        return True  # The engine checks the value when it is written.
    return _PARTS.get(about.field, _is_nothing)(value)


def _is_version(value: Any) -> bool:
    """True if a value is an object with parts of an element."""
    return isinstance(value, Mapping) and all(
        _PARTS.get(key, _is_nothing)(part) for key, part in value.items()
    )


def _is_nothing(_: Any) -> bool:
    return False


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_PARTS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "attributes": _is_object,
    "metadata": _is_object,
    "weight": _is_number,
    "type": _is_name,
    "name": _is_name,
    "predicate": _is_name,
}
"""The parts of an element that a value can give, each with its check."""


class Override(NamedTuple):
    """A decision about an element that breaks a constraint."""

    choice: Any
    """A side, or parts of the element as an object."""
    number: int | None
    """The number of the element in the target; None if it does not exist there."""


def overrides(constraints: Sequence[Conflict]) -> dict[str, Override]:
    """The decisions about elements that break constraints, by label."""
    by_label: dict[str, Override] = {}
    for constraint in constraints:
        if constraint.resolution is None:
            continue
        choice, value = constraint.resolution
        for row in constraint.rows:
            versions = value if isinstance(value, Mapping) else {}
            if len(constraint.rows) == 1 and _is_version(versions):
                versions = {row["label"]: versions}
            element = row.get("element")
            chosen = (
                choice if choice != "value" else versions.get(row["label"], versions.get(element))
            )
            number = None if element is None else parse_id(element)
            by_label[row["label"]] = Override(chosen, number)
    return {label: override for label, override in by_label.items() if override.choice is not None}
