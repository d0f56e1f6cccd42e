"""The guard that holds writes inside the scopes of a token.

It checks all changes of a transaction at once, just before the commit. The journal has every
changed element, no matter which door wrote it, so no change escapes the check. An element that
moved is checked under both names. A link belongs to its subject.

Some changes outside of the scopes are allowed, because they are consequences and not acts of the
caller:

- A type or predicate that is used for the first time gets a definition.
- A missing concept that a link names gets a placeholder.
- The links to a placeholder move to its concept when that is written.
- The links to a removed concept move to its placeholder. If such a link was removed together with
  the concept, it comes back.
- The links of a renamed element have an end with another name.
"""

from __future__ import annotations

from typing import Final

from mycel.engine.missing_concepts import MISSING, MISSING_DEFINITION, SCHEME, is_placeholder
from mycel.errors import AccessDenied, InternalError
from mycel.knowledge.uris import uri_of
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.ids import parse_id
from mycel.model.names import META_TYPES, shorten
from mycel.model.permission import current
from mycel.model.state import State
from mycel.model.values import own_metadata
from mycel.store.log.journal import Kind
from mycel.store.query.commits import changes_since
from mycel.store.query.reader import Reader
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

DEPTH_MAX: Final = 64


class WriteScope:
    """The scopes of the caller of this thread, as a guard of every transaction."""

    in_bulk = True

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """Always False: the transaction is checked as a whole."""
        return False

    def check(self, tx: Transaction, change: Change) -> None:
        """Do nothing: single changes are not checked."""

    def check_commit(self, tx: Transaction) -> None:
        """Check every element that has changed.

        Raises:
            AccessDenied: one of them is outside of the scopes.
        """
        permission = current()
        if permission is None or not permission.is_limited(tx.branch):
            return
        changes = _changes(tx)
        if any(kind == Kind.PURGE for kind, _ in changes):
            raise AccessDenied(
                "A token for some paths may not purge.", hint="Ask an administrator to purge it."
            )
        numbers = {element for kind, element in changes if kind != Kind.MARK}
        sides = tx.reader.at(State(tx.first_seq - 1)), tx.reader
        before = sides[0].elements(numbers)
        restored_links = {
            link
            for number in sorted(numbers)
            if isinstance(link := before.get(number), Proposition)
            and tx.reader.element(number) is None
            and not permission.covers(tx.branch, owner_uri(sides[0], link))
            and _keep_missing(tx, sides[0], link)
        }
        if restored_links:
            numbers = {element for kind, element in _changes(tx) if kind != Kind.MARK}
        after = tx.reader.elements(numbers)
        restored = {(link.subject, link.predicate, link.weight) for link in restored_links}
        for number in sorted(numbers):
            was, becomes = before.get(number), after.get(number)
            if was in restored_links or _is_consequence(sides, was, becomes):
                continue
            if (
                was is None
                and isinstance(becomes, Proposition)
                and (becomes.subject, becomes.predicate, becomes.weight) in restored
                and is_placeholder(tx.reader.element(parse_id(becomes.object)))
            ):
                continue
            for side, element in zip(sides, (was, becomes), strict=True):
                if element is not None:
                    uri = owner_uri(side, element)
                    if not permission.covers(tx.branch, uri):
                        raise outside(uri)


def _changes(tx: Transaction) -> list[tuple[int, int]]:
    tx.flush()
    return changes_since(tx.reader, tx.first_seq)


def _keep_missing(tx: Transaction, before: Reader, link: Proposition) -> bool:
    """Restore a link that was removed with its object, to a placeholder; False if impossible."""
    concept, subject = (before.element(end) for end in reversed(link.ends))
    if (
        not isinstance(concept, Concept)
        or not concept.name.startswith(SCHEME)
        or subject is None
        or tx.reader.element(concept.number) is not None
        or tx.reader.element(subject.number) is None
    ):
        return False
    if MISSING not in tx.defined_types():
        tx.define_type(MISSING, MISSING_DEFINITION)
    placeholder = tx.put_concept(MISSING, concept.name)
    content = link.attributes, own_metadata(link.metadata)
    tx.put_proposition(link.subject, link.predicate, placeholder, *content, weight=link.weight)
    return True


def outside(uri: str) -> AccessDenied:
    """The error for an element that is outside of the scopes of a token."""
    return AccessDenied(
        f"The token may not write {shorten(uri, 200)}.",
        hint="Its scopes do not cover it. `mycel token list` shows them to the administrator, who"
        " can make a token that does; or propose the change.",
    )


def owner_uri(reader: Reader, element: Element) -> str:
    """The URI of a concept; for a link, that of the concept to which it belongs."""
    for _ in range(DEPTH_MAX):
        if isinstance(element, Concept):
            return uri_of(element.type, element.name)
        subject = reader.element(parse_id(element.subject), tombstoned=True)
        if subject is None:
            break
        element = subject
    raise InternalError("The subject of a link cannot be found.")


def _is_consequence(
    sides: tuple[Reader, Reader], was: Element | None, becomes: Element | None
) -> bool:
    if isinstance(becomes, Concept) and was is None:
        return becomes.type in META_TYPES or is_placeholder(becomes)
    if isinstance(was, Proposition) and isinstance(becomes, Proposition):
        if (was.subject, was.predicate, was.attributes_json, was.metadata_json, was.weight) != (
            becomes.subject,
            becomes.predicate,
            becomes.attributes_json,
            becomes.metadata_json,
            becomes.weight,
        ):
            return False
        if was.object == becomes.object:
            return True  # An end was renamed.
        ends = (
            side.element(parse_id(link.object), tombstoned=True)
            for side, link in zip(sides, (was, becomes), strict=True)
        )
        old, new = ends
        if not isinstance(old, Concept) or not isinstance(new, Concept) or old.name != new.name:
            return False
        if is_placeholder(new):
            return sides[1].element(old.number) is None
        return is_placeholder(old)
    return False
