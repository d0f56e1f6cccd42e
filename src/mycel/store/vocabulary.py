"""The types and predicates that are defined now: what binding a command asks for."""

from __future__ import annotations

from typing import Final

import apsw

from mycel.errors import TypeMismatch, did_you_mean
from mycel.model.names import shorten
from mycel.plan.catalog import PredicateFacts
from mycel.sql.sources import Sources
from mycel.store.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.rows import every

_TYPES: Final = (
    "SELECT n.name, n.id FROM {source} JOIN type n ON n.name = c.name"
    f" WHERE c.type = {CONCEPT_TYPE_NUMBER}"
)
_PREDICATES: Final = (
    "SELECT n.name, n.id, json_type(c.attributes, '$.is_symmetric') FROM {source}"
    " JOIN predicate n ON n.name = c.name"
    f" WHERE c.type = {PROPOSITION_TYPE_NUMBER}"
)


class Vocabulary:
    """All names that are defined, as one connection sees them. It implements `plan.Catalog`.

    With a `moment`, those that were defined at that position of the journal, as they were.
    """

    def __init__(self, connection: apsw.Connection, moment: int | None = None) -> None:
        source = Sources(None if moment is None else str(moment)).concepts("c")
        self._moment: Final = moment
        self.types: Final[dict[str, int]] = dict(every(connection, _TYPES.format(source=source)))
        self.predicates: Final = {
            name: PredicateFacts(number, symmetric == "true")
            for name, number, symmetric in every(connection, _PREDICATES.format(source=source))
        }
        self._symmetric: Final = tuple(
            sorted(facts.number for facts in self.predicates.values() if facts.is_symmetric)
        )

    def type_number(self, name: str) -> int:
        number = self.types.get(name)
        if number is None:
            raise self._undefined("concept type", name, list(self.types), "CONCEPT")
        return number

    def predicate(self, name: str) -> PredicateFacts:
        facts = self.predicates.get(name)
        if facts is None:
            raise self._undefined("predicate", name, list(self.predicates), "PROPOSITION")
        return facts

    def _undefined(self, what: str, name: str, known: list[str], kind: str) -> TypeMismatch:
        if self._moment is None:
            return undefined(what, name, known, f"DESCRIBE {kind} TYPES")
        return TypeMismatch(
            f"The {what} {shorten(name)!r} was not defined at entry {self._moment}.",
            hint="Ask AS OF a later moment; `mycel log` or db.log() shows what was written when.",
        )

    def symmetric_predicates(self) -> tuple[int, ...]:
        return self._symmetric


def undefined(what: str, name: str, known: list[str], command: str) -> TypeMismatch:
    """The error for a name that nothing defines, with the closest names that are defined."""
    names = name.split("|")
    if len(name) >= 256:
        close = ""
    elif (
        what == "predicate"
        and len(names) > 1
        and all(each.strip().isidentifier() for each in names)
    ):
        apart = " | ".join(f'"{each.strip()}"' for each in names)
        close = f"Alternatives in a pattern stand in quotes of their own: {apart}."
    else:
        close = did_you_mean(name, known)
    hint = f"{close} List what is defined with {command}; names are case-sensitive."
    return TypeMismatch(f"The {what} {shorten(name)!r} is not defined.", hint=hint.strip())
