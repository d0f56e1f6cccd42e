"""Lists automatic choices of committed merges, and undoes them one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mycel.errors import ConstraintViolation, NotFound
from mycel.history.merge.outcome import Choice
from mycel.model.elements import Proposition
from mycel.store.query import merges
from mycel.store.query.commits import commit_at
from mycel.store.query.diff import ABSENT, same_value
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction


def choices(reader: Reader, seq: int | None) -> list[Choice]:
    """The choices of the merge that ends at an entry, or of all merges, newest first."""
    return [_choice(payload, commit_at(reader, at)) for at, payload in merges.choices(reader, seq)]


def chosen(reader: Reader, id_: str) -> Choice:
    """The newest choice with this id.

    Raises:
        NotFound: no choice has this id.
    """
    choice = next((choice for choice in choices(reader, None) if choice.id == id_), None)
    if choice is None:
        raise NotFound(
            f"There is no choice {id_!r}.", hint="db.merges.choices() (`mycel choices`) lists them."
        )
    return choice


def undo(tx: Transaction, choice: Choice) -> None:
    """Give an attribute the value that was not chosen; for united values, the value of our side.

    Raises:
        NotFound: the element is gone.
        ConstraintViolation: the value has changed since.
    """
    other = choice.theirs if choice.side == "ours" else choice.ours
    element = tx.get(choice.element or "")
    if choice.field == "weight" and isinstance(element, Proposition):
        _check(choice, element.weight)
        tx.update(element, weight=other)
        return
    is_attribute = choice.field == "attributes"
    content = element.attributes if is_attribute else element.metadata
    key, *inside = choice.path
    _check(choice, _at(content, choice.path))
    value = _with(content.get(key, ABSENT), inside, other)
    changed: dict[str, Any] = {} if value is ABSENT else {key: value}
    dropped = [key] if value is ABSENT else []
    if is_attribute:
        tx.update(element, attributes=changed, drop_attributes=dropped)
    else:
        tx.update(element, metadata=changed, drop_metadata=dropped)


def _check(choice: Choice, now: Any) -> None:
    if not same_value(now, choice.value):
        place = ".".join((choice.field, *choice.path))
        raise ConstraintViolation(
            f"{choice.label}: {place} has changed since the merge.",
            hint="Write the value that you want.",
        )


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key, ABSENT) if isinstance(value, Mapping) else ABSENT
    return value


def _with(value: Any, path: list[str], new: Any) -> Any:
    """A value in which the part at a path is replaced; the path was checked before."""
    if not path:
        return new
    key, *rest = path
    changed = {**value, key: _with(value.get(key, ABSENT), rest, new)}
    return {name: item for name, item in changed.items() if item is not ABSENT}


def _choice(payload: Mapping[str, Any], commit: str) -> Choice:
    values = {name: payload.get(name, ABSENT) for name in ("base", "ours", "theirs", "value")}
    names = ("id", "kind", "identity", "field", "side", "rule", "reason")
    plain = {name: payload[name] for name in names} | values
    return Choice(
        **plain, path=tuple(payload["path"]), element=payload.get("element"), commit=commit
    )
