"""MERGE: two concepts become one.

Links on the source get the target as their end and keep their ids. If the target has the same link
already, its link stays. It takes over the keys that it lacks, and the links about the other link;
`folded_links` decides in which period it holds. The same rule applies to links about links. A link
between source and target is removed. Attributes of the source whose values differ from those of the
target are named in warnings.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from mycel.engine.folded_links import fold
from mycel.engine.outcome import Outcome, all_or_nothing
from mycel.engine.protection_guard import check_merge
from mycel.engine.references import missing_target
from mycel.engine.schema_guard import admits
from mycel.engine.values import Values
from mycel.engine.where_targets import only_target
from mycel.errors import ConstraintViolation, ImmutableTarget, MycelError, NotFound
from mycel.kip import ast
from mycel.model import ids
from mycel.model.elements import Concept, Proposition
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, first_few, shorten
from mycel.store.query import lookup
from mycel.store.query.lookup import MERGED_FROM
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import located

_ALIASES: Final = "aliases"

SHOWN: Final = 12
REST_OF_VALUES: Final = "only past states (AS OF) have the other values."


def merge(tx: Transaction, node: ast.MergeConcept, values: Values) -> Outcome:
    """Merge the concept that `?source` is bound to into the concept of `?target`."""
    source, target = (_only(tx, node, values, variable) for variable in (node.source, node.target))
    counts = MergeCounts(0, 0, 0)
    warnings: tuple[str, ...] = ()
    if source.number != target.number:
        _check_types(source, target)
        with all_or_nothing(tx):
            counts = merge_concepts(tx, source, target)
            warnings = (*_left_behind(source, target), *counts.folded)
    return Outcome(
        {
            "merged": True,
            "links_repointed": counts.repointed,
            "links_deduplicated": counts.deduplicated,
            "attributes_filled": counts.filled,
        },
        warnings=warnings,
    )


def _left_behind(source: Concept, target: Concept) -> list[str]:
    """A sentence about the attributes of the source for which the target has other values."""
    own, other = target.attributes, source.attributes
    names = sorted(key for key in own.keys() & other.keys() - {_ALIASES} if own[key] != other[key])
    if not names:
        return []
    values = ", ".join(first_few(names, SHOWN))
    return [f"{shorten(target.name)!r} keeps its {values}; {REST_OF_VALUES}"]


class MergeCounts(NamedTuple):
    """The effects of a merge of two concepts."""

    repointed: int
    """The number of links that were moved to the target."""
    deduplicated: int
    """The number of removed links: the target has the same link, or the link joined the two
    concepts."""
    filled: int
    """The number of attributes that the target took over."""
    folded: tuple[str, ...] = ()
    """Sentences about lost values of removed links."""


def merge_concepts(tx: Transaction, source: Concept, target: Concept) -> MergeCounts:
    """Merge a concept into another one, of any type, and retire it.

    Raises:
        ImmutableTarget: one of them is a definition, or protected.
    """
    _check_mergeable(source, target)
    mover = _LinkMover(tx)
    mover.move(source.id, target.id)
    tx.retire(source, reason=f"Merged into {target.type} {shorten(target.name)!r}.")
    filled = _fill(tx, source, target)
    return MergeCounts(mover.repointed, mover.deduplicated, filled, tuple(mover.folded))


# The two concepts to merge.


def _only(
    tx: Transaction, node: ast.MergeConcept, values: Values, variable: ast.Variable
) -> Concept:
    """The one concept that a variable is bound to."""
    try:
        element = only_target(tx, node.where, values, variable)
    except NotFound:
        raise located(_unbound(tx, node, values, variable), variable.span) from None
    if isinstance(element, Proposition):
        raise ConstraintViolation(
            f"?{variable.name} is bound to the proposition {element.id}.",
            hint="MERGE joins two concepts. Links that become equal are joined with them.",
            span=variable.span,
        )
    return element


def _unbound(
    tx: Transaction, node: ast.MergeConcept, values: Values, variable: ast.Variable
) -> MycelError:
    """The error for a variable that is bound to nothing."""
    if (outcome := _done_before(tx, node, values)) is not None:
        return outcome
    for end in (node.source, node.target):
        if (error := missing_target(tx.reader, node.where, end.name, values)) is not None:
            return error
    return NotFound(
        f"WHERE binds ?{variable.name} to no concept.",
        hint="Check with FIND what WHERE matches; both variables must be bound to one concept.",
    )


def _done_before(tx: Transaction, node: ast.MergeConcept, values: Values) -> NotFound | None:
    """The error for a merge that was done before: the target keeps the names of its sources."""
    for clause in node.where:
        if isinstance(clause, ast.ConceptClause) and clause.variable.name == node.source.name:
            identity = _identity(tx, clause.matcher, values)
            heir = None if identity is None else _heir(tx, *identity)
            if identity is not None and heir is not None:
                return NotFound(
                    f"There is no {identity[0]} named {shorten(identity[1])!r} any more: it was"
                    f" merged into {shorten(heir.name)!r} ({heir.id}).",
                    hint="This merge has already happened, so nothing is left to do.",
                    data={"merged_into": heir.id},
                )
    return None


def _identity(
    tx: Transaction, matcher: ast.ConceptMatcher, values: Values
) -> tuple[str, str] | None:
    """Type and name of the concept that a matcher names; None if the concept is live."""
    reader = tx.reader
    if matcher.id is not None:
        number = ids.parse_concept_id(values.text(matcher.id, "id of a concept"))
        concept = reader.concept(number, tombstoned=True)
        return (concept.type, concept.name) if concept is not None and concept.tombstoned else None
    if matcher.type is None or matcher.name is None:
        return None
    type_name = values.text(matcher.type, "type of a concept")
    name = values.text(matcher.name, "name of a concept")
    return (type_name, name) if tx.get_concept(type_name, name) is None else None


def _heir(tx: Transaction, type_name: str, name: str) -> Concept | None:
    """The live concept that a removed one was merged into."""
    source = f"{type_name}:{name}"
    number = lookup.heirs(tx.reader, MERGED_FROM, (source,)).get(source)
    return None if number is None else tx.reader.concept(number)


def _check_mergeable(source: Concept, target: Concept) -> None:
    check_merge(source, target)
    for concept in (source, target):
        if concept.type in (CONCEPT_TYPE, PROPOSITION_TYPE):
            raise ImmutableTarget(
                f"{concept.name!r} is a definition and cannot be merged.",
                hint="Move the elements of one definition to the other, then delete the first.",
            )


def _check_types(source: Concept, target: Concept) -> None:
    _check_mergeable(source, target)
    if source.type != target.type:
        raise ConstraintViolation(
            f"A {source.type} cannot be merged into a {target.type}.",
            hint="Only concepts of one type can be merged; link them instead.",
        )


# Links that refer to the source.


class _LinkMover:
    """Moves the links on one element to another one.

    If the target has the same link already, the moved link loses, and the link of the target is its
    heir. A loser is removed when all links are moved: links about it move to its heir first, and
    may lose as well.
    """

    def __init__(self, tx: Transaction) -> None:
        self._tx: Final = tx
        self._heirs: Final[dict[str, str]] = {}
        self._waiting: Final[list[str]] = []
        self._moved: Final[set[str]] = set()
        self.repointed = 0
        self.deduplicated = 0
        self.folded: Final[list[str]] = []

    def move(self, source: str, target: str) -> None:
        """Move the links on `source` to `target`, and the links on each loser to its heir."""
        self._replace(source, target)
        while self._waiting:
            old = self._waiting.pop()
            for link in self._tx.reader.touching_links(ids.parse_id(old)):
                if link.id not in self._heirs:
                    self._move_link(link, old, self._heir(old))
        for loser in self._heirs:
            # Retiring another loser may have removed it.
            if loser != source and self._is_live(loser):
                self.deduplicated += self._tx.retire(loser).propositions
        self.repointed = sum(map(self._is_live, self._moved))

    def _is_live(self, link: str) -> bool:
        return self._tx.reader.link(ids.parse_id(link)) is not None

    def _replace(self, old: str, new: str) -> None:
        self._heirs[old] = new
        self._waiting.append(old)

    def _heir(self, element: str) -> str:
        """The last heir of a chain, because an heir may have lost to another link."""
        while element in self._heirs:
            element = self._heirs[element]
        return element

    def _move_link(self, link: Proposition, old: str, new: str) -> None:
        subject = new if link.subject == old else link.subject
        object_ = new if link.object == old else link.object
        if subject == object_:
            self.folded.append(f"The link {link.id} was between the two, and is removed.")
            self.deduplicated += self._tx.retire(link).propositions
            return
        own_link = self._tx.get_edge(subject, link.predicate, object_)
        if own_link is None:
            self._tx.relink(link, subject=subject, object_=object_)
            self._moved.add(link.id)
            return
        heir = self._tx.get(self._heir(own_link.id))
        if isinstance(heir, Proposition):
            self.folded.extend(fold(self._tx, heir, link))
        self._replace(link.id, heir.id)


# Attributes and names that the target takes over.


def _fill(tx: Transaction, source: Concept, target: Concept) -> int:
    """Give the target the attributes that it lacks, and the names of all merged sources.

    Returns the number of attributes that the target took over; `aliases` counts if any were new.
    """
    own, other = target.attributes, source.attributes
    filled = {key: other[key] for key in other if key not in own and key != _ALIASES}
    count = len(filled)
    names, others = _alias_list(own.get(_ALIASES)), _alias_list(other.get(_ALIASES)) or ()
    if names is not None:  # If `aliases` is no list of names, it is not changed.
        aliases = _united(names, others)
        united = _united(aliases, _names_of(source, target))
        # If the type allows no aliases, only the metadata names the sources.
        if admits(tx, target.type, _ALIASES, united):
            filled[_ALIASES] = united
            count += len(aliases) > len(names)
    trails = (concept.metadata.get(MERGED_FROM, ()) for concept in (target, source))
    merged = (*chain.from_iterable(trails), f"{source.type}:{source.name}")
    tx.update(target, attributes=filled, reserved={MERGED_FROM: list(dict.fromkeys(merged))})
    return count


def _names_of(source: Concept, target: Concept) -> list[str]:
    """The name of a source, and the readable name of a node with a URI if the merge drops it."""
    readable = source.attributes.get("name")
    is_lost = "name" in target.attributes and target.attributes["name"] != readable
    if "://" in source.name and isinstance(readable, str) and is_lost:
        return [source.name, readable]
    return [source.name]


def _united(own: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """The items of both lists, each once."""
    united = list(own)
    for value in other:
        if value not in united:
            united.append(value)
    return united


def _alias_list(value: Any) -> list[Any] | None:
    """Aliases as a list, even if there is one name as text; None for any other value."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, list) else None
