"""Finds the elements into which one side has merged an element that the other side changed.

A merge of two concepts removes one of them, and the other one keeps its type and name. A conflict
about the removed one names the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mycel.history.merge.outcome import Conflict
from mycel.model.elements import Element
from mycel.store.query.diff import identity_of, label_of
from mycel.store.query.lookup import MERGED_FROM, heirs
from mycel.store.query.reader import Reader


def with_heirs(
    conflicts: Iterable[Conflict],
    reader: Reader,
    theirs: Mapping[int, Element],
    names: Mapping[int, Element],
) -> tuple[Conflict, ...]:
    """Conflicts, with a reason that names the heir of a removed element, if it has one.

    `reader` reads the target, `theirs` are the elements that the source has touched.
    """
    conflicts = tuple(conflicts)
    merged = {_trail(conflict) for conflict in conflicts if conflict.kind == "delete_modify"}
    numbers = heirs(reader, MERGED_FROM, merged)
    elements = reader.elements(set(numbers.values()))
    by_place = {("ours", name): elements[number] for name, number in numbers.items()}
    by_place |= {
        ("theirs", name): element
        for element in (theirs.values() if merged else ())
        for name in element.metadata.get(MERGED_FROM, ())
    }
    return tuple(_with_heir(conflict, by_place, names) for conflict in conflicts)


def _trail(conflict: Conflict) -> str:
    """The name that a concept leaves in the concept into which it was merged."""
    return f"{conflict.identity.get('type')}:{conflict.identity.get('name')}"


def _with_heir(
    conflict: Conflict,
    by_place: Mapping[tuple[str, str], Element],
    names: Mapping[int, Element],
) -> Conflict:
    if conflict.kind != "delete_modify":
        return conflict
    other_side = str(conflict.suggestion)
    side = "theirs" if other_side == "ours" else "ours"
    heir = by_place.get((side, _trail(conflict)))
    if heir is None:
        return conflict
    label = label_of(identity_of(heir, names))
    return conflict._replace(
        reason=f"One side ({side}) merged it into {label}, the other ({other_side}) changed it."
    )
