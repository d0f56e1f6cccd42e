"""Guards: rules on every write, through every door.

Schemas, protected elements and constraints are rules of the layers above the store that must hold
for every change, so a transaction calls its guards before it writes. Most guards apply to few
types, and a bulk load cannot afford a call for each of a million rows. A guard therefore says once
for each type or predicate whether it checks its elements (`concerns`). A change that no guard
checks costs one look-up in a dictionary.

A guard may also return other attributes: they are written instead, and the next guard checks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol

from mycel.model.elements import Concept, Element
from mycel.model.values import JsonObject, parse_object
from mycel.store.index.write_cache import WriteCache
from mycel.store.write.ledger import Ledger

FREE_NAMES_MAX: Final = 4096
"""The maximum number of types and predicates that are remembered because no guard checks them."""

CONCERNS_ELEMENT: Final = "concerns_element"
"""The method of a guard whose rule follows from what an element says, not from its type: it takes
an element that is to change or to be removed, and returns True if the guard has to check that."""

ChangeKind = Literal["create", "update", "retire"]
SETTLE: Final = "settle"
"""The method of a guard whose rule needs the state between two writes to the links of one subject
and predicate. It takes the transaction, the predicate and the subject before each write, and
returns True if it has written to these links in this transaction."""

Identity = tuple[str, str | tuple[str, str]]
"""The type and name of a concept, or the predicate and ends of a link."""


class Change(NamedTuple):
    """A change that a primitive is about to write, for guards to check.

    `attributes` and `metadata` are those after the change. A relink is an `update` whose
    `name_or_ends` differs from the ends of `before`. A move is an `update` whose type, name or
    predicate differs. The guards of both types are asked.
    """

    kind: ChangeKind
    before: Element | None
    type_or_predicate: str
    name_or_ends: str | tuple[str, str]
    attributes: JsonObject
    metadata: JsonObject
    number: int | None
    """The number of the element; None for a new one."""


def identity_of(element: Element) -> Identity:
    if isinstance(element, Concept):
        return element.type, element.name
    return element.predicate, (element.subject, element.object)


class AnyGuard(Protocol):
    """A guard as the store calls it; `transaction.Guard` says what each method means."""

    def concerns(self, tx: Any, type_or_predicate: str, *, link: bool) -> bool: ...

    def check(self, tx: Any, change: Change) -> JsonObject | None: ...

    def check_commit(self, tx: Any) -> None: ...


class Writing(Protocol):
    """The part of a transaction that creating, changing and removing elements needs."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def guards(self) -> Guards: ...


class Guards:
    """The guards of one transaction, and those that check each type and predicate."""

    def __init__(self, guards: Sequence[AnyGuard], memory: WriteCache) -> None:
        self._all: Final = guards
        self._of_elements: Final = [guard for guard in guards if hasattr(guard, CONCERNS_ELEMENT)]
        self._memory: Final = memory
        self._of_type: Final[dict[str, tuple[AnyGuard, ...]]] = {}
        self._of_predicate: Final[dict[str, tuple[AnyGuard, ...]]] = {}

    def concerned(self, tx: Writing, name: str, *, link: bool) -> tuple[AnyGuard, ...]:
        """The guards that check elements of a type, or with `link` links of a predicate."""
        free = self._memory.free_predicates if link else self._memory.free_types
        if not self._all or name in free:
            return ()
        cache = self._of_predicate if link else self._of_type
        any_guards = cache.get(name)
        if any_guards is None:
            any_guards = tuple(guard for guard in self._all if guard.concerns(tx, name, link=link))
            if any_guards:
                cache[name] = any_guards
            elif len(free) < FREE_NAMES_MAX:
                free.add(name)
        return any_guards

    def goes_alone(self, tx: Writing, name: str, *, link: bool) -> bool:
        """True if a guard checks each element only after the elements before it are written."""
        concerned = self.concerned(tx, name, link=link)
        return not all(getattr(guard, "in_bulk", False) for guard in concerned)

    def ask(
        self,
        tx: Writing,
        kind: ChangeKind,
        before: Element | None,
        becomes: Identity,
        texts: tuple[str, str],
        number: int | None = None,
    ) -> JsonObject | None:
        """Ask every guard that checks a change. Returns new attributes to write, or None.

        If an element moves, the guards of its old type are asked too. `texts` are the attributes
        and metadata as they are stored.
        """
        name, to = becomes
        link = to.__class__ is not str
        concerned = self.concerned(tx, name, link=link)
        was = name if before is None else identity_of(before)[0]
        if was != name:
            either = (*concerned, *self.concerned(tx, was, link=link))
            concerned = tuple(guard for guard in self._all if guard in either)
        if before is not None:
            own = [guard for guard in self._of_elements if getattr(guard, CONCERNS_ELEMENT)(before)]
            concerned = (*own, *concerned) if own else concerned
        if not concerned:
            return None
        attributes, metadata = map(parse_object, texts)
        return shape(tx, concerned, Change(kind, before, name, to, attributes, metadata, number))

    def settle(self, tx: Writing, predicate: str, subject: int) -> bool:
        """Let guards finish earlier writes to links of a subject and predicate before the next.

        Returns True if one of them has written to these links since they may have been read.
        """
        guards = [g for g in self.concerned(tx, predicate, link=True) if hasattr(g, SETTLE)]
        return bool(sum(getattr(guard, SETTLE)(tx, predicate, subject) for guard in guards))

    def check_removal(self, tx: Writing, element: Element) -> None:
        """Ask every guard that checks an element whether it may be removed."""
        texts = element.attributes_json, element.metadata_json
        self.ask(tx, "retire", element, identity_of(element), texts, element.number)

    def forget(self) -> None:
        """Forget which guards check each type and predicate, because a definition has changed."""
        self._of_type.clear()
        self._of_predicate.clear()
        self._memory.forget_definitions()

    def check_commit(self, tx: Writing) -> None:
        """Ask every guard about the whole transaction."""
        for guard in self._all:
            guard.check_commit(tx)


def shape(tx: Writing, guards: Sequence[AnyGuard], change: Change) -> JsonObject | None:
    """Ask guards about a change. Returns the attributes to write if a guard replaces them."""
    shaped: JsonObject | None = None
    for guard in guards:
        new_attributes = guard.check(tx, change)
        if new_attributes is not None and new_attributes is not change.attributes:
            shaped = new_attributes
            change = change._replace(attributes=new_attributes)
    return shaped
