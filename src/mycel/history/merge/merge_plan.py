"""The result of planning a merge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mycel.history.merge.outcome import Choice, Conflict
from mycel.history.merge.versions import Base, Place
from mycel.history.state_steps import Goal
from mycel.model.elements import Element
from mycel.schema.catalog import Catalog


class MergePlan(NamedTuple):
    """The plan of a merge: its goals, and the conflicts to be decided first."""

    goals: tuple[Goal, ...]
    conflicts: tuple[Conflict, ...]
    choices: tuple[Choice, ...]
    warnings: tuple[str, ...]
    purges: tuple[int, ...]
    """Elements that the source has purged and the merge purges here."""
    names: Mapping[int, Element]
    """Elements by number, for labels."""
    schema: tuple[Catalog, Catalog] | None = None
    """The schema of the target and the merged schema, if they differ."""
    joined: Mapping[int, int] = {}
    """Each joined link, with the link that it was joined with."""
    ours: Mapping[int, Element] = {}
    """Elements of the target."""
    theirs: Mapping[int, Element] = {}
    """Elements of the source."""
    bases: Mapping[int, Base] = {}
    """Elements of the base."""
    overridden: frozenset[int] = frozenset()
    """Elements with a decision about a constraint."""
    given: frozenset[tuple[int, Place]] = frozenset()
    """Pairs of element and place whose value a decision gave."""
    extras: tuple[Element, ...] = ()
    """Definitions of declared types, with the attributes that the schema does not own."""

    def source_of(self, number: int) -> int:
        """The number in the source of the element, or joined link, that the values come from."""
        if number in self.theirs:
            return number
        return next(
            (source for source, survivor in self.joined.items() if survivor == number), number
        )

    def theirs_of(self, number: int) -> Element | None:
        """The element of the source from which an element of the plan takes its values."""
        return self.theirs.get(self.source_of(number))
