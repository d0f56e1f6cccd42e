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
    """The goals of a merge, and the conflicts to be decided first."""

    goals: tuple[Goal, ...]
    conflicts: tuple[Conflict, ...]
    choices: tuple[Choice, ...]
    warnings: tuple[str, ...]
    purges: tuple[int, ...]
    """Elements that the source has purged."""
    names: Mapping[int, Element]
    """Elements by number, for labels."""
    schema: tuple[Catalog, Catalog] | None = None
    """The schema of the target and the merged one, if they differ."""
    joined: Mapping[int, int] = {}
    """Links that become one with another link, and that link."""
    ours: Mapping[int, Element] = {}
    """Elements of the target."""
    theirs: Mapping[int, Element] = {}
    """Elements of the source."""
    bases: Mapping[int, Base] = {}
    """Elements of the base."""
    overridden: frozenset[int] = frozenset()
    """Elements that somebody has decided about because of a constraint."""
    given: frozenset[tuple[int, Place]] = frozenset()
    """The places of elements whose values somebody gave as decisions."""
    extras: tuple[Element, ...] = ()
    """Definitions of declared types, with what they should say beside the schema."""

    def source_of(self, number: int) -> int:
        """The element of the source that an element takes values from: itself, or a joined one."""
        if number in self.theirs:
            return number
        return next(
            (source for source, survivor in self.joined.items() if survivor == number), number
        )

    def theirs_of(self, number: int) -> Element | None:
        """The element of the source from which an element of the plan takes its values."""
        return self.theirs.get(self.source_of(number))
