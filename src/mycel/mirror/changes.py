"""Turns documents before and after into changes of the graph, for `db.merges.merge_changes`.

Content that files do not have (values of a bootstrap, metadata of the engine) is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from mycel.engine.missing_concepts import MISSING, keeps_place
from mycel.errors import ConstraintViolation
from mycel.knowledge.node_lookup import NodeMatch, rank
from mycel.knowledge.uris import CONCEPT as CONCEPT_SCHEME
from mycel.knowledge.uris import kip_identity, parse
from mycel.knowledge.vocabulary import RESOURCE
from mycel.mirror.core import default_definition
from mycel.mirror.documents import BodyLink, FileRelation, LinkName, MirrorDocument
from mycel.mirror.front_matter import FrontMatterProblem
from mycel.mirror.paths import path_of
from mycel.model.elements import Concept, Proposition
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.store.query import contents
from mycel.store.query.reader import Reader

ElementIdentity = dict[str, Any]
MirrorEdit = dict[str, Any]
UriAt = Callable[[str], str | None]
"""The URI of the document at a path; None if there is none."""


class Pair(NamedTuple):
    """The document of one concept before and after; None if there is none."""

    path: str
    base: MirrorDocument | None
    theirs: MirrorDocument | None
    is_moved: bool = False
    """True if the file has another path than before."""


class FileEdit(NamedTuple):
    """A change of the graph, and the path of the file behind it."""

    path: str
    edit: MirrorEdit


class Changes:
    """The changes of some documents."""

    def __init__(
        self, base: Reader, pairs: Sequence[Pair], problems: list[FrontMatterProblem], uri_at: UriAt
    ) -> None:
        self._readers: Final = (base, base.live)
        self._uri_at: Final = uri_at
        self._pairs: Final = pairs
        self._problems: Final = problems
        self._needed: Final[dict[tuple[str, str], FileEdit]] = {}
        """Definitions and placeholders that the changes need, by type and name."""
        self._identities: Final = {
            pair.theirs.uri: identity_of(pair.base or pair.theirs)
            for pair in pairs
            if pair.theirs is not None
        }
        """For each URI in the files, the identity that its concept has in the base."""
        self._made: Final = {
            tuple(identity_of(pair.theirs).values()) for pair in pairs if pair.theirs is not None
        }
        """Types and names of the concepts that the files describe."""

    def edits(self) -> list[FileEdit]:
        """The changes, in an order in which they can be applied."""
        concepts = [
            FileEdit(pair.path, edit) for pair in self._pairs for edit in self._concept(pair)
        ]
        links = [FileEdit(pair.path, edit) for pair in self._pairs for edit in self._links(pair)]
        # A link about another link comes after that link.
        links.sort(key=lambda file_edit: depth_of(file_edit.edit["link"]))
        self._check_ends(links)
        return [*self._needed.values(), *concepts, *links]

    # Changes of concepts.

    def _concept(self, pair: Pair) -> Iterator[MirrorEdit]:
        base, theirs = pair.base, pair.theirs
        if theirs is None:
            if base is not None:
                yield {"concept": identity_of(base), "removed": True}
            return
        self._require(CONCEPT_TYPE, theirs.type, pair.path)
        if base is None:
            yield {
                "concept": identity_of(theirs),
                "attributes": dict(theirs.attributes),
                "metadata": dict(theirs.metadata),
            }
            return
        edit: MirrorEdit = {"concept": identity_of(base)}
        stored = stored_element(self._readers[0], identity_of(base))
        for field in ("attributes", "metadata"):
            old, new = getattr(base, field), getattr(theirs, field)
            if not is_same(old, new):
                current = {} if stored is None else getattr(stored, field)
                edit[field] = {k: v for k, v in current.items() if k not in old} | dict(new)
        if (base.uri, base.type) != (theirs.uri, theirs.type):
            edit["to"] = identity_of(theirs)
        if len(edit) > 1:
            yield edit

    # Changes of links.

    def _links(self, pair: Pair) -> Iterator[MirrorEdit]:
        base, theirs = pair.base, pair.theirs
        if theirs is None:
            return
        owner = identity_of(base or theirs)
        old = {} if base is None else _by_key(base.relations)
        relations = list(theirs.relations)
        if theirs.links is not None and not pair.is_moved:
            relations = self._with_links(pair, relations)
        new = _by_key(relations)
        if len(new) != len(relations):
            self._problems.append(FrontMatterProblem(pair.path, 0, "it has a relation twice"))
        for key in old.keys() - new.keys():
            yield {"link": self._link(owner, old[key], pair.path), "removed": True}
        for key, relation in new.items():
            if key in old and is_same(old[key][2:5], relation[2:5]):
                continue
            self._require(PROPOSITION_TYPE, relation.relation, pair.path)
            link = self._link(owner, relation, pair.path)
            stored = stored_element(self._readers[0], link) if key in old else None
            current = {} if stored is None else stored.metadata
            reserved = {key: value for key, value in current.items() if key.startswith("_")}
            yield {
                "link": link,
                "weight": relation.weight,
                "attributes": dict(relation.properties),
                "metadata": reserved | dict(relation.metadata),
            }

    def _with_links(self, pair: Pair, relations: list[FileRelation]) -> list[FileRelation]:
        """The relations, after the changes in the block of links of the body."""
        base, theirs = pair.base, pair.theirs
        before = frozenset() if base is None else links_of(base)
        now = (theirs.links if theirs is not None else None) or frozenset()
        old = set() if base is None else _by_key(base.relations).keys()
        body_links = before - now
        file_relations = [
            relation
            for relation in relations
            if relation_key(relation) not in old or _body_link(relation) not in body_links
        ]
        for link in sorted(now - before):
            if link in map(_body_link, file_relations):
                continue
            target = self._uri_at(link.path)
            if target is None:
                message = f"the link to {link.path} leads to no document of the mirror"
                self._problems.append(FrontMatterProblem(pair.path, 0, message))
            else:
                file_relations.append(FileRelation(link.relation, target))
        return file_relations

    def _link(self, owner: ElementIdentity, relation: FileRelation, path: str) -> ElementIdentity:
        source = relation.source
        return {
            "subject": owner if source is None else self._end(source, path),
            "predicate": relation.relation,
            "object": self._end(relation.target, path),
        }

    def _end(self, end: str | LinkName, path: str) -> ElementIdentity:
        if not isinstance(end, str):
            return {
                "subject": self._end(end["source"], path),
                "predicate": end["relation"],
                "object": self._end(end["target"], path),
            }
        if end not in self._identities:
            self._identities[end] = self._concept_identity(end) or self._missing(end, path)
        return self._identities[end]

    def _concept_identity(self, end: str) -> ElementIdentity | None:
        """The identity of a concept that the graph has, in the base or now."""
        uri = parse(end, "")
        key = kip_identity(uri) if uri.is_kip else ""
        for reader in self._readers:
            if isinstance(key, tuple):
                identity = {"type": key[0], "name": key[1]}
                if stored_element(reader, identity) is not None:
                    return identity
            elif rows := contents.concepts_named(reader, [end]):
                node_matches = [NodeMatch(row.number, reader.type_name(row.type)) for row in rows]
                ranked = [
                    node_match._replace(is_missing=keeps_place(node_match.type, end))
                    for node_match in node_matches
                ]
                return {"type": min(ranked, key=rank).type, "name": end}
        return None

    def _missing(self, end: str, path: str) -> ElementIdentity:
        """The identity of a new placeholder or resource for an end that does not exist."""
        uri = parse(end, "")
        if uri.is_kip:
            self._problems.append(
                FrontMatterProblem(path, 0, f"there is no {end}, which a relation names")
            )
        type_name = MISSING if uri.scheme == CONCEPT_SCHEME else RESOURCE
        self._require(CONCEPT_TYPE, type_name, path)
        identity = {"type": type_name, "name": end}
        self._needed[type_name, end] = FileEdit(path, {"concept": identity})
        return identity

    def _require(self, kind: str, name: str, path: str) -> None:
        """Define a type or predicate that is not defined, as the knowledge engine does."""
        identity = {"type": kind, "name": name}
        if (kind, name) in self._made or any(
            stored_element(reader, identity) for reader in self._readers
        ):
            return
        attributes = dict(default_definition(kind, name))
        edit = {"concept": identity, "attributes": attributes}
        self._needed[kind, name] = FileEdit(path, edit)

    def _check_ends(self, links: Iterable[FileEdit]) -> None:
        """Report relations about relations that neither the graph nor the files have."""
        new_links: set[bytes] = set()
        for path, edit in links:
            link = edit["link"]
            new_links.add(json_of(link))
            for end in (link["subject"], link["object"]):
                if "predicate" not in end or json_of(end) in new_links:
                    continue
                if not any(stored_element(reader, end) for reader in self._readers):
                    message = (
                        f"a relation {edit['link']['predicate']!r} is about a relation that does"
                        " not exist"
                    )
                    self._problems.append(FrontMatterProblem(path, 0, message))


def stored_element(reader: Reader, identity: ElementIdentity) -> Concept | Proposition | None:
    """The element with this identity in a state."""
    if "name" in identity:
        return reader.find_concept(identity["type"], identity["name"])
    subject, object_ = (stored_element(reader, identity[end]) for end in ("subject", "object"))
    if subject is None or object_ is None:
        return None
    return reader.find_link(subject.number, identity["predicate"], object_.number)


def depth_of(identity: ElementIdentity) -> int:
    """0 for a concept, 1 for a link of concepts, 2 for one about such a link."""
    if "name" in identity:
        return 0
    return 1 + max(depth_of(identity["subject"]), depth_of(identity["object"]))


def identity_of(document: MirrorDocument) -> ElementIdentity:
    """The type and name of the concept of a document."""
    uri = parse(document.uri, "")
    key = kip_identity(uri) if uri.is_kip else (document.type, document.uri)
    if isinstance(key, str):
        raise ConstraintViolation(f"{document.uri} is an id; write kip:Type/name.")
    return {"type": key[0], "name": key[1]}


def links_of(document: MirrorDocument) -> frozenset[BodyLink]:
    """The links in the body of a document, or those that the mirror would write there."""
    if document.links is not None:
        return document.links
    links = map(_body_link, document.relations)
    return frozenset(link for link in links if link is not None)


def _body_link(relation: FileRelation) -> BodyLink | None:
    if relation.source is not None or not isinstance(relation.target, str):
        return None
    return BodyLink(relation.relation, path_of(relation.target))


def _by_key(relations: Iterable[FileRelation]) -> dict[bytes, FileRelation]:
    return {relation_key(relation): relation for relation in relations}


def relation_key(relation: FileRelation) -> bytes:
    """The identity of a relation in its document."""
    key = [relation.source, relation.relation, relation.target]
    return orjson.dumps(key, option=orjson.OPT_SORT_KEYS)


def is_same(one: object, other: object) -> bool:
    """True for equal JSON values; 1, 1.0 and true all differ."""
    return json_of(one) == json_of(other)


def json_of(value: object) -> bytes:
    """A value as canonical JSON."""
    return orjson.dumps(
        dict(value) if isinstance(value, Mapping) else value, option=orjson.OPT_SORT_KEYS
    )
