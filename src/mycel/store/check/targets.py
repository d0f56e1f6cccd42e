"""Targets of state proofs: an element, or an identity that may never have existed.

The key of an element in the state trees is computed from names alone. So absence can be proven for
types and predicates that were never defined, and for edges between concepts that never existed.
"""

from __future__ import annotations

from mycel.errors import InvalidId, NotFound
from mycel.merkle.proofs import Namespace
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import check_identifier, check_name, shorten
from mycel.model.records import concept_key, proposition_key
from mycel.store.log.audit import Auditor
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref

Target = Ref
"""The target of a state proof: an element, or a natural key that no element ever had."""


def identify(reader: Reader, target: Target) -> tuple[Namespace, bytes, bytes | None]:
    """Namespace, natural key and present record of what is to be proven."""
    auditor = Auditor(reader.connection, reader.registry)
    element: Element | None
    match target:
        case str() | Concept() | Proposition():
            element = reader.element(_known(reader, target), tombstoned=True)
        case (type_name, name):
            element = _concept_ever(reader, type_name, name)
            if element is None:
                return "concepts", concept_key(type_name, name), None
        case (src, predicate, dst):
            check_identifier(predicate, "predicate")
            number = reader.registry.predicates.number(reader.connection, predicate)
            (source, from_key), (destination, to_key) = (
                _end(reader, auditor, each) for each in (src, dst)
            )
            element = None
            if number is not None and source is not None and destination is not None:
                element = reader.link(source, number, destination, tombstoned=True)
            if element is None:
                return "edges", proposition_key(from_key, predicate, to_key), None
        case _:
            raise InvalidId(
                f"{shorten(repr(target))} names nothing that can be proven.",
                hint="Pass an id, or (type, name), or (source, predicate, target).",
            )
    if element is None:
        raise NotFound(f"There is no element {target!r}, live or removed.")
    namespace: Namespace = "concepts" if isinstance(element, Concept) else "edges"
    return namespace, auditor.key(element.number), reader.record_at(element.seq)


def _known(reader: Reader, ref: Ref) -> int:
    """The number of an element that is or was there.

    Raises:
        NotFound: there never was such an element.
    """
    number = reader.number(ref)
    if not reader.was_ever(number):
        raise NotFound(f"There is no element {ref!r}, live or removed.")
    return number


def _concept_ever(reader: Reader, type_name: str, name: str) -> Concept | None:
    """The concept of this identity, live or removed."""
    check_identifier(type_name, "type")
    number = reader.registry.types.number(reader.connection, type_name)
    check_name(name)
    return None if number is None else reader.concept_named(number, name, tombstoned=True)


def _end(reader: Reader, auditor: Auditor, named: Ref) -> tuple[int | None, bytes]:
    """The number of an end of an edge, None if it never was there, and its natural key."""
    if isinstance(named, tuple) and len(named) == 2:
        found = _concept_ever(reader, *named)
        if found is None:
            return None, concept_key(*named)
        return found.number, auditor.key(found.number)
    number = _known(reader, named)
    return number, auditor.key(number)
