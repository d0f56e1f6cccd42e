"""Applies the shipped capsules. They add content, and never overwrite changes of the user.

A missing concept or link is created. An existing concept gets the attributes that it lacks. An
attribute that still has the value of an earlier version of the capsule (`capsules.former`) gets the
new value. A new version of a capsule thus takes effect, and changes of the user stay; `upsert`
would overwrite them. Metadata is given to new elements, and to definitions that had no content.
Applying the capsules again changes nothing and journals nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

from mycel.capsules import NAMES, read
from mycel.capsules.former import FORMER_VALUES
from mycel.errors import InternalError, NotFound, did_you_mean
from mycel.kip import ast, parse
from mycel.model.elements import Concept
from mycel.model.names import CORE_MESSAGE, SYSTEM_ACTOR
from mycel.model.values import JsonObject
from mycel.store.database import Store
from mycel.store.write.transaction import Transaction

CORE: Final = "core"
"""The name under which all shipped capsules are applied together."""

SeedIdentity = tuple[str, str]
"""Type and name of a concept."""


class Applied(NamedTuple):
    """The number of changes that applying capsules made."""

    concepts_created: int = 0
    concepts_filled: int = 0
    links_created: int = 0


class _Concept(NamedTuple):
    identity: SeedIdentity
    attributes: JsonObject
    metadata: JsonObject


class _Link(NamedTuple):
    subject: SeedIdentity
    predicate: str
    object: SeedIdentity
    metadata: JsonObject


def seed_graph(store: Store) -> Applied:
    """Apply the core capsules in one transaction of the actor `$system`."""
    return store.run(apply, actor=SYSTEM_ACTOR, message=CORE_MESSAGE)


def apply(tx: Transaction, names: Iterable[str] = (CORE,)) -> Applied:
    """Apply shipped capsules by name, each after the capsules that it depends on."""
    capsules = {
        capsule
        for name in names
        for capsule in (NAMES if name == CORE else (_check_capsule_name(name),))
    }
    run = _Run(tx)
    for name in NAMES:
        if name in capsules:
            for step in _steps(name):
                run.concept(step) if isinstance(step, _Concept) else run.link(step)
    return Applied(run.created, run.filled, run.linked)


def _check_capsule_name(name: str) -> str:
    if name in NAMES:
        return name
    raise NotFound(
        f"No capsule {name!r} is shipped.",
        hint=f"{did_you_mean(name, [*NAMES, CORE])} `mycel capsule list` shows them.".strip(),
    )


class _Run:
    """Applies the steps of capsules to the graph of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._ids: dict[SeedIdentity, str] = {}
        self.created = self.filled = self.linked = 0

    def concept(self, step: _Concept) -> None:
        concept = self._tx.get_concept(*step.identity)
        if concept is None:
            self._ids[step.identity] = self._tx.put_concept(
                *step.identity, step.attributes, step.metadata
            )
            self.created += 1
            return
        self._ids[step.identity] = concept.id
        outdated = _outdated_attributes(concept, step.attributes)
        if outdated:
            metadata = step.metadata if _is_bare(concept) else None
            self._tx.update(concept.id, attributes=outdated, metadata=metadata)
            self.filled += 1

    def link(self, step: _Link) -> None:
        subject, object_ = self._id(step.subject), self._id(step.object)
        if self._tx.get_edge(subject, step.predicate, object_) is None:
            self._tx.add_edge(subject, step.predicate, object_, metadata=step.metadata)
            self.linked += 1

    def _id(self, identity: SeedIdentity) -> str:
        id_ = self._ids.get(identity)
        if id_ is None:
            concept = self._tx.get_concept(*identity)
            if concept is None:
                raise NotFound(f"There is no {identity[0]} {identity[1]!r}.")
            id_ = self._ids[identity] = concept.id
        return id_


def is_complete(concept: Concept) -> bool:
    """True if applying the capsules would not change this concept."""
    return not _outdated_attributes(concept, shipped_concepts()[concept.type, concept.name])


def _outdated_attributes(concept: Concept, shipped: JsonObject) -> JsonObject:
    """The shipped attributes that a concept lacks, or has with a value of an earlier capsule."""
    former = FORMER_VALUES.get((concept.type, concept.name), {})
    attributes = concept.attributes
    return {
        key: value
        for key, value in shipped.items()
        if key not in attributes or attributes[key] in former.get(key, ())
    }


def _is_bare(concept: Concept) -> bool:
    """True for a concept without content, such as a predicate that the store defined."""
    return concept.attributes_json == concept.metadata_json == "{}"


# Parsing the text of a capsule to steps.


@cache
def shipped_concepts() -> dict[SeedIdentity, JsonObject]:
    """The attributes of every concept that the core capsules give to a new graph."""
    steps = (step for name in NAMES for step in _steps(name))
    return {step.identity: step.attributes for step in steps if isinstance(step, _Concept)}


@cache
def shipped_links() -> frozenset[tuple[SeedIdentity, str, SeedIdentity]]:
    """Every link that the core capsules give to a new graph."""
    steps = (step for name in NAMES for step in _steps(name))
    return frozenset(
        (step.subject, step.predicate, step.object) for step in steps if isinstance(step, _Link)
    )


@cache
def _steps(name: str) -> tuple[_Concept | _Link, ...]:
    """The steps of a capsule, in order; parsed once in a process."""
    capsule = parse(read(name))
    if not isinstance(capsule, ast.Capsule):
        raise InternalError(f"The capsule {name!r} is no capsule.")
    steps: list[_Concept | _Link] = []
    for upsert in capsule.upserts:
        handles: dict[str, SeedIdentity] = {}
        metadata = _map(upsert.metadata)
        for block in upsert.blocks:
            if not isinstance(block, ast.ConceptBlock):
                raise InternalError(f"The capsule {name!r} has a block that is no CONCEPT.")
            identity = _identity(block.matcher)
            if block.handle is not None:
                handles[block.handle.name] = identity
            own = metadata | _map(block.metadata)
            steps.append(_Concept(identity, _map(block.attributes), own))
            for entry in block.propositions or ():
                target = _target(entry.target, handles)
                link = own | _map(entry.metadata)
                steps.append(_Link(identity, _text(entry.predicate), target, link))
    return tuple(steps)


def _target(node: ast.Endpoint, handles: dict[str, SeedIdentity]) -> SeedIdentity:
    if isinstance(node, ast.Variable):
        return handles[node.name]
    if isinstance(node, ast.ConceptMatcher):
        return _identity(node)
    raise InternalError("A shipped capsule links to something that is no concept.")


def _identity(matcher: ast.ConceptMatcher) -> SeedIdentity:
    return _text(matcher.type), _text(matcher.name)


def _text(node: ast.Text | None) -> str:
    if isinstance(node, ast.Literal) and isinstance(node.value, str):
        return node.value
    raise InternalError("A shipped capsule has a placeholder where a text is needed.")


def _map(node: ast.Map | None) -> JsonObject:
    if node is None:
        return {}
    if isinstance(node, ast.Literal) and isinstance(node.value, dict):
        return node.value
    raise InternalError("A shipped capsule has a placeholder where an object is needed.")
