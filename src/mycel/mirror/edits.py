"""From files that were edited to the changes that they mean, for `Graph.merge_changes`.

A document is compared with the one of the mirror's last commit, the base. `uri:` decides what a
file is about, not its path: a file that was renamed is the same concept, and one whose `uri` was
changed has moved. What is not in files (values of a bootstrap, metadata of the engine) stays as it
is in the graph.

All files are read before anything is changed, and all problems are told at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from mycel.engine.missing_concepts import MISSING, keeps_place
from mycel.errors import ConstraintViolation
from mycel.knowledge.node_lookup import Found, rank
from mycel.knowledge.uris import CONCEPT as CONCEPT_SCHEME
from mycel.knowledge.uris import kip_identity, parse
from mycel.knowledge.vocabulary import DEFINITIONS, RESOURCE, UNDESCRIBED
from mycel.mirror.documents import Document, FileRelation, LinkName, is_fronted
from mycel.mirror.folder import SHOWN_MAX
from mycel.mirror.front_matter import Problem, UnreadableError, read_document
from mycel.mirror.paths import DECLARATION, path_of
from mycel.model.elements import Concept, Proposition
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, first_few, name_few
from mycel.store.query import contents
from mycel.store.query.reader import Reader

DELETIONS_MAX: Final = 50
DELETED_SHARE_MAX: Final = 0.1
PROBLEMS_SHOWN: Final = 20

Identity = dict[str, Any]
Edit = dict[str, Any]


class EditedFile(NamedTuple):
    """A file that differs from the base; None where there is none."""

    path: str
    base: bytes | None
    theirs: bytes | None


class Pair(NamedTuple):
    """The document of one concept, before and after; None where there is none."""

    path: str
    base: Document | None
    theirs: Document | None


def edits_of(
    base: Reader,
    files: Sequence[EditedFile],
    others: Collection[str],
    *,
    allow_deletions: bool = False,
) -> list[Edit]:
    """The changes that edited files mean; `others` are the paths of files that were not edited.

    `base` reads the state that the base shows.

    Raises:
        ConstraintViolation: a file cannot be read, two files have one URI, or more documents were
            deleted or emptied than is allowed. The data lists everything.
    """
    problems: list[Problem] = []
    read = list(_read(files, problems))
    pairs = _paired(read, others, problems)
    changes = _Changes(base, pairs, problems)
    edits = changes.edits()
    if problems:
        raise refusal(problems)
    if not allow_deletions and (emptied := _emptied(files, pairs)):
        raise ConstraintViolation(
            f"{name_few(emptied, SHOWN_MAX)} {'has' if len(emptied) == 1 else 'have'} lost the"
            " front matter: properties and relations would be removed; nothing was imported.",
            hint="Restore the files (`git checkout FILE`), or delete them to delete their concepts;"
            " if they shall be as they are, say --allow-deletions (allow_deletions=True).",
            data={"emptied": emptied},
        )
    gone = [pair.path for pair in pairs if pair.theirs is None]
    known = len(others) + sum(pair.base is not None for pair in read)
    if not allow_deletions and (len(gone) > DELETIONS_MAX or len(gone) > known * DELETED_SHARE_MAX):
        raise ConstraintViolation(
            f"{len(gone)} of {known} files are gone from the mirror; nothing was imported.",
            hint="If their concepts shall be deleted, say --allow-deletions (allow_deletions=True);"
            " if not, restore the files: `git checkout .` in the folder of the mirror.",
            data={"deleted": gone, "documents": known},
        )
    return edits


def _emptied(files: Iterable[EditedFile], pairs: Iterable[Pair]) -> list[str]:
    """The files that say nothing any more, or only a content, where there was more before."""
    blank = {file.path for file in files if file.theirs is not None and not is_fronted(file.theirs)}
    return [
        pair.path
        for pair in pairs
        if pair.path in blank
        and pair.base is not None
        and pair.theirs is not None
        and _has_lost(pair.base, pair.theirs)
    ]


def _has_lost(base: Document, theirs: Document) -> bool:
    """True if a document without a front matter lacks what that of the base said."""
    return (
        not theirs.attributes
        or bool(base.metadata or base.relations)
        or bool(base.attributes.keys() - theirs.attributes.keys())
        or base.type != theirs.type
    )


def refusal(problems: Sequence[Problem]) -> ConstraintViolation:
    """The error for files that cannot be imported."""
    shown = first_few([str(each) for each in problems], PROBLEMS_SHOWN)
    return ConstraintViolation(
        "Files of the mirror cannot be imported, so nothing was:\n  " + "\n  ".join(shown),
        hint="Correct them, or undo the edits with git, and import again.",
        data={"problems": [each._asdict() for each in problems]},
    )


def _read(files: Iterable[EditedFile], problems: list[Problem]) -> Iterator[Pair]:
    for file in files:
        if file.path.endswith(DECLARATION):
            said = "a schema is changed with `mycel schema apply`; undo this edit"
            problems.append(Problem(file.path, 0, said))
            continue
        try:
            base = None if file.base is None else read_document(file.path, file.base)
            theirs = None if file.theirs is None else read_document(file.path, file.theirs)
        except UnreadableError as error:
            problems.append(error.problem)
            continue
        if theirs is not None and (problem := _misnamed(file.path, theirs)):
            problems.append(problem)
            continue
        yield Pair(file.path, base, theirs)


def _misnamed(path: str, document: Document) -> Problem | None:
    """A problem with the URI of a document, if there is one."""
    uri = parse(document.uri, "")
    if uri.is_kip:
        identity = kip_identity(uri)
        if isinstance(identity, str):
            return Problem(path, 0, f"{document.uri} is an id; write kip:Type/name")
        if identity[0] != document.type:
            return Problem(path, 0, f"its URI says the type {identity[0]}, and it {document.type}")
    if keeps_place(document.type, document.uri):
        return Problem(path, 0, f"{document.type} is the type of placeholders; choose another one")
    return None


def _paired(read: Sequence[Pair], others: Collection[str], problems: list[Problem]) -> list[Pair]:
    """Documents by concept: those of one URI, and those of one path whose URI was changed."""
    bases = {pair.base.uri: pair for pair in read if pair.base is not None}
    theirs: dict[str, Pair] = {}
    for pair in read:
        if pair.theirs is None:
            continue
        uri = pair.theirs.uri
        place = path_of(uri)
        first = theirs.setdefault(uri, pair)
        if first is not pair:
            problems.append(Problem(pair.path, 0, f"{uri} is the uri of {first.path} too"))
        elif place != pair.path and place in others:
            problems.append(Problem(pair.path, 0, f"{uri} is the uri of {place} too"))
    found = []
    moved: set[str] = set()
    for uri, pair in theirs.items():
        if uri in bases:
            found.append(pair._replace(base=bases[uri].base))
        elif pair.base is not None and pair.base.uri not in theirs:
            moved.add(pair.base.uri)
            found.append(pair)
        else:
            found.append(pair._replace(base=None))
    gone = bases.keys() - theirs.keys() - moved
    return found + [bases[uri]._replace(theirs=None) for uri in sorted(gone)]


class _Changes:
    """The changes of some documents."""

    def __init__(self, base: Reader, pairs: Sequence[Pair], problems: list[Problem]) -> None:
        self._readers: Final = (base, base.live)
        self._pairs: Final = pairs
        self._problems: Final = problems
        self._needed: Final[dict[tuple[str, str], Edit]] = {}
        """Definitions and placeholders that the changes need, by type and name."""
        self._identities: Final = {
            pair.theirs.uri: _identity(pair.base or pair.theirs)
            for pair in pairs
            if pair.theirs is not None
        }
        """Concepts by their URI in the files, under the names that they have in the base."""
        self._made: Final = {
            tuple(_identity(pair.theirs).values()) for pair in pairs if pair.theirs is not None
        }
        """Types and names of the concepts that the files describe."""

    def edits(self) -> list[Edit]:
        concepts = [edit for pair in self._pairs for edit in self._concept(pair)]
        links = [(edit, pair.path) for pair in self._pairs for edit in self._links(pair)]
        # A link about a link follows it.
        links.sort(key=lambda each: _depth(each[0]["link"]))
        self._check_ends(links)
        return [*self._needed.values(), *concepts, *(edit for edit, _ in links)]

    # Concepts.

    def _concept(self, pair: Pair) -> Iterator[Edit]:
        base, theirs = pair.base, pair.theirs
        if theirs is None:
            if base is not None:
                yield {"concept": _identity(base), "removed": True}
            return
        self._require(CONCEPT_TYPE, theirs.type)
        if base is None:
            yield {
                "concept": _identity(theirs),
                "attributes": dict(theirs.attributes),
                "metadata": dict(theirs.metadata),
            }
            return
        edit: Edit = {"concept": _identity(base)}
        stored = _stored(self._readers[0], _identity(base))
        for field in ("attributes", "metadata"):
            old, new = getattr(base, field), getattr(theirs, field)
            if not _is_same(old, new):
                kept = {} if stored is None else getattr(stored, field)
                edit[field] = {k: v for k, v in kept.items() if k not in old} | dict(new)
        if (base.uri, base.type) != (theirs.uri, theirs.type):
            edit["to"] = _identity(theirs)
        if len(edit) > 1:
            yield edit

    # Links.

    def _links(self, pair: Pair) -> Iterator[Edit]:
        base, theirs = pair.base, pair.theirs
        if theirs is None:
            return
        owner = _identity(base or theirs)
        old = {} if base is None else _by_key(base.relations)
        new = _by_key(theirs.relations)
        if len(new) != len(theirs.relations):
            self._problems.append(Problem(pair.path, 0, "it has a relation twice"))
        for key in old.keys() - new.keys():
            yield {"link": self._link(owner, old[key], pair.path), "removed": True}
        for key, relation in new.items():
            if key in old and _is_same(old[key][2:5], relation[2:5]):
                continue
            self._require(PROPOSITION_TYPE, relation.relation)
            link = self._link(owner, relation, pair.path)
            stored = _stored(self._readers[0], link) if key in old else None
            kept = {} if stored is None else stored.metadata
            reserved = {key: value for key, value in kept.items() if key.startswith("_")}
            yield {
                "link": link,
                "weight": relation.weight,
                "attributes": dict(relation.properties),
                "metadata": reserved | dict(relation.metadata),
            }

    def _link(self, owner: Identity, relation: FileRelation, path: str) -> Identity:
        source = relation.source
        return {
            "subject": owner if source is None else self._end(source, path),
            "predicate": relation.relation,
            "object": self._end(relation.target, path),
        }

    def _end(self, end: str | LinkName, path: str) -> Identity:
        if not isinstance(end, str):
            return {
                "subject": self._end(end["source"], path),
                "predicate": end["relation"],
                "object": self._end(end["target"], path),
            }
        if end not in self._identities:
            self._identities[end] = self._found(end) or self._missing(end, path)
        return self._identities[end]

    def _found(self, end: str) -> Identity | None:
        """The identity of a concept that the graph has, at the base or now."""
        uri = parse(end, "")
        named = kip_identity(uri) if uri.is_kip else ""
        for reader in self._readers:
            if isinstance(named, tuple):
                identity = {"type": named[0], "name": named[1]}
                if _stored(reader, identity) is not None:
                    return identity
            elif rows := contents.concepts_named(reader, [end]):
                found = [Found(row.number, reader.type_name(row.type)) for row in rows]
                ranked = [each._replace(is_missing=keeps_place(each.type, end)) for each in found]
                return {"type": min(ranked, key=rank).type, "name": end}
        return None

    def _missing(self, end: str, path: str) -> Identity:
        """The identity of a placeholder, or of a new resource, for an end that is not there."""
        uri = parse(end, "")
        if uri.is_kip:
            self._problems.append(Problem(path, 0, f"there is no {end}, which a relation names"))
        type_name = MISSING if uri.scheme == CONCEPT_SCHEME else RESOURCE
        self._require(CONCEPT_TYPE, type_name)
        identity = {"type": type_name, "name": end}
        self._needed[type_name, end] = {"concept": identity}
        return identity

    def _require(self, kind: str, name: str) -> None:
        """Define a type or predicate that is not defined, as the knowledge engine does."""
        identity = {"type": kind, "name": name}
        if (kind, name) in self._made or any(_stored(each, identity) for each in self._readers):
            return
        known = DEFINITIONS.get(name) if kind == CONCEPT_TYPE else None
        self._needed[kind, name] = {"concept": identity, "attributes": dict(known or UNDESCRIBED)}

    def _check_ends(self, links: Iterable[tuple[Edit, str]]) -> None:
        """Note relations about relations that are neither in the graph nor in the files."""
        made: set[bytes] = set()
        for edit, path in links:
            link = edit["link"]
            made.add(_json(link))
            for end in (link["subject"], link["object"]):
                if "predicate" not in end or _json(end) in made:
                    continue
                if not any(_stored(each, end) for each in self._readers):
                    said = (
                        f"a relation {edit['link']['predicate']!r} is about one that is not there"
                    )
                    self._problems.append(Problem(path, 0, said))


def _stored(reader: Reader, identity: Identity) -> Concept | Proposition | None:
    """The element of an identity in a state."""
    if "name" in identity:
        return reader.find_concept(identity["type"], identity["name"])
    subject, object_ = (_stored(reader, identity[end]) for end in ("subject", "object"))
    if subject is None or object_ is None:
        return None
    return reader.find_link(subject.number, identity["predicate"], object_.number)


def _depth(identity: Identity) -> int:
    """0 for a concept, 1 for a link of concepts, 2 for one about such a link."""
    if "name" in identity:
        return 0
    return 1 + max(_depth(identity["subject"]), _depth(identity["object"]))


def _identity(document: Document) -> Identity:
    uri = parse(document.uri, "")
    named = kip_identity(uri) if uri.is_kip else (document.type, document.uri)
    if isinstance(named, str):
        raise ConstraintViolation(f"{document.uri} is an id; write kip:Type/name.")
    return {"type": named[0], "name": named[1]}


def _by_key(relations: Iterable[FileRelation]) -> dict[bytes, FileRelation]:
    return {
        orjson.dumps([each.source, each.relation, each.target], option=orjson.OPT_SORT_KEYS): each
        for each in relations
    }


def _is_same(one: object, other: object) -> bool:
    """True for equal JSON values: 1, 1.0 and true are three."""
    return _json(one) == _json(other)


def _json(value: object) -> bytes:
    return orjson.dumps(
        dict(value) if isinstance(value, Mapping) else value, option=orjson.OPT_SORT_KEYS
    )
