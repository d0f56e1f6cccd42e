"""The guard that writes changes of a filtered copy to its graph, in the same transaction.

The copy is only committed if the graph has accepted the changes. An element is changed only if it
is still the same in the graph and in the copy. If somebody else has changed it, the transaction is
refused and can be repeated. The graph may refuse a change for a reason that the copy cannot see.
Then the error has no details, because these may be about hidden elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mycel.api.graph import Graph
from mycel.engine.missing_concepts import MISSING, MISSING_DEFINITION, SCHEME, is_placeholder
from mycel.errors import (
    AccessDenied,
    ConstraintViolation,
    DatabaseBusy,
    MycelError,
    VersionConflict,
)
from mycel.history.state_steps import attempt
from mycel.model.elements import Concept, Element
from mycel.model.names import META_TYPES, shorten
from mycel.model.state import State
from mycel.sharing.copy_steps import GoalMaker, define_used, same_content
from mycel.sharing.element_filter import ElementFilter
from mycel.store.log import copied
from mycel.store.log.journal import Kind
from mycel.store.log.marks import IMPORT
from mycel.store.query.commits import changes_since, marks_since
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction


class PassOn:
    """Writes the changes of a transaction of a copy to the graph of the copy."""

    in_bulk = True

    def __init__(self, source: Graph, elements: ElementFilter) -> None:
        self._source: Final = source
        self._elements: Final = elements

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """Always False: the transaction is passed on as a whole."""
        return False

    def check(self, tx: Transaction, change: Change) -> None:
        """Do nothing: single changes are not checked."""

    def check_commit(self, tx: Transaction) -> None:
        """Check that the token may see all written elements, and write them to the graph.

        Raises:
            AccessDenied: the token may not see one of them.
            VersionConflict: somebody else has changed one of the elements.
            ConstraintViolation: the graph refuses it.
        """
        tx.flush()
        changes = changes_since(tx.reader, tx.first_seq)
        marks = marks_since(tx.reader, tx.first_seq)
        # Edits of an earlier state are marked with that state, which is a commit of the copy alone.
        if any(kind == Kind.PURGE for kind, _ in changes) or any(
            mark.kind != IMPORT for mark in marks
        ):
            raise AccessDenied(
                "A token that may read some paths only may not tag, purge or undo.",
                hint="It takes a token with the scope `read:/**` as well.",
            )
        numbers = {element for kind, element in changes if kind != Kind.MARK}
        before = tx.reader.at(State(tx.first_seq - 1)).elements(numbers)
        after = tx.reader.elements(numbers)
        own = {
            number
            for number in numbers
            if not _is_definition(before.get(number, after.get(number)))
        }
        visible = self._elements.select(tx.reader, own)
        unseen = (own & after.keys()) - visible.keys()
        if unseen:  # Report a link and not the placeholder that was made for it.
            raise _unseen(after[max(unseen, key=lambda number: (number & 1, number))])
        if not tx.is_final or not own:
            return
        self._write(tx, before, {number: after.get(number) for number in sorted(own)})

    def _write(
        self, tx: Transaction, before: dict[int, Element], targets: dict[int, Element | None]
    ) -> None:
        def work(graph_tx: Transaction) -> dict[int, int]:
            maker = GoalMaker(
                tx.reader,
                graph_tx.reader,
                lambda numbers: tx.reader.run(copied.sources_of, numbers),
            )
            going = [number for number, element in targets.items() if element is None]
            removed = graph_tx.reader.elements(tx.reader.run(copied.sources_of, going).values())
            _keep_links(graph_tx, removed)
            goals = maker.goals(targets)
            live = {goal.label: goal.now for goal in goals}
            for number in targets:
                now, was = live.get(str(number)), before.get(number)
                # The element was created just now, or neither graph has it.
                is_new = was is None and is_placeholder(now)
                if not is_new and not same_content(now, maker.in_place(was)):
                    raise VersionConflict(
                        "Somebody else has changed an element meanwhile; nothing was written.",
                        hint="Read it again, then repeat the change.",
                    )
            define_used(graph_tx, targets.values())
            reached = attempt(graph_tx, goals, {}, reason="")
            if reached.obstacles:
                raise ConstraintViolation(reached.obstacles[0].message)
            return maker.collect_pairs(targets, reached.numbers)

        try:
            sources = self._source.write(work, message=tx.message)
        except (VersionConflict, DatabaseBusy):
            raise
        except MycelError as error:
            if isinstance(error, AccessDenied | ConstraintViolation):
                raise ConstraintViolation(
                    "The workspace does not take this change: one of its rules, or something that"
                    " the token may not see, is in the way. Nothing was written.",
                    hint="Propose the change, or ask somebody who may read the whole workspace.",
                ) from error
            raise
        pairs = {source: number for number, source in sources.items() if source}
        removed = [number for number, source in sources.items() if not source]
        removed_pairs = tx.reader.run(copied.sources_of, removed)
        tx.maintain(copied.keep_numbers, pairs | dict.fromkeys(removed_pairs.values(), 0))


def _keep_links(tx: Transaction, going: Mapping[int, Element]) -> None:
    """Move links that stay to placeholders, before the concepts at their ends are removed."""
    for concept in going.values():
        if not isinstance(concept, Concept) or not concept.name.startswith(SCHEME):
            continue
        for link in list(tx.reader.touching_links(concept.number)):
            if link.number in going or link.object != concept.id:
                continue
            if MISSING not in tx.defined_types():
                tx.define_type(MISSING, MISSING_DEFINITION)
            tx.relink(link.id, object_=tx.put_concept(MISSING, concept.name))


def _is_definition(element: Element | None) -> bool:
    return isinstance(element, Concept) and element.type in META_TYPES


def _unseen(element: Element) -> AccessDenied:
    if isinstance(element, Concept):
        return AccessDenied(
            f"The token may not write {shorten(element.name, 200)}: it may not read it.",
            hint="Its scopes do not cover it.",
        )
    return AccessDenied(
        "The token may not link to elements that it may not read.",
        hint="Both ends of a link have to be inside the paths that it may read.",
    )
