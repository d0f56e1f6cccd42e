"""Turns edited files into documents before and after, and these into changes of the graph.

A document is compared with the one of the mirror's last commit, the base. `uri:` decides what a
file is about, not its path: a file that was renamed is the same concept, and one whose `uri` was
changed has moved. A concept has also moved if a commit says so, or if its file is gone and a new
file has the same content under another URI. All files are read before anything is changed, and all
problems are reported at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mycel.engine.missing_concepts import keeps_place
from mycel.errors import ConstraintViolation
from mycel.knowledge.uris import kip_identity, parse
from mycel.mirror.changes import Changes, ElementIdentity, FileEdit, Pair, identity_of, json_of
from mycel.mirror.commits import News
from mycel.mirror.core import is_core_path
from mycel.mirror.documents import MirrorDocument, is_fronted
from mycel.mirror.folder import SHOWN_MAX
from mycel.mirror.front_matter import FrontMatterProblem, UnreadableError, read_document
from mycel.mirror.new_graph import core_document
from mycel.mirror.paths import DOCUMENT, path_of, uri_of_path
from mycel.mirror.projection import Projection
from mycel.mirror.repository import Repository
from mycel.model.names import first_few, name_few
from mycel.model.records import concept_key
from mycel.store.query.reader import Reader

DELETIONS_MAX: Final = 50
DELETED_SHARE_MAX: Final = 0.1
PROBLEMS_SHOWN: Final = 20


class EditedFile(NamedTuple):
    """A file that differs from the base, before and after; None if there is none."""

    path: str
    base: bytes | MirrorDocument | None
    theirs: bytes | MirrorDocument | None


class CommittedFiles:
    """The files of a commit that were not edited."""

    def __init__(self, repository: Repository, commit: str, edited: frozenset[str]) -> None:
        self._repository: Final = repository
        self._commit: Final = commit
        self._edited: Final = edited

    def content(self, path: str) -> bytes | None:
        """The content of a file; None if there is no such file, or it was edited."""
        if path in self._edited or not self._commit:
            return None
        objects = self._repository.objects_at(self._commit, [path])
        return next(self._repository.blobs(list(objects.values())), None)

    def count(self) -> int:
        """The number of documents among the files."""
        paths = self._repository.tree(self._commit)
        return sum(path.endswith(DOCUMENT) and path not in self._edited for path in paths)


class Edits(NamedTuple):
    """The changes of the graph that edited files stand for."""

    edits: list[FileEdit]
    purged: list[ElementIdentity]
    """Concepts that were purged in the graph behind the files, under their names in the base."""


class ImportConsent(NamedTuple):
    """Permissions for changes that are hard to undo, or cannot be undone."""

    deletions: bool = False
    """Many documents may be deleted, or emptied."""
    purges: bool = False
    """Concepts that others have purged may be purged here; otherwise they are removed."""


def edits_of(
    base: Reader,
    files: Sequence[EditedFile],
    others: CommittedFiles,
    news: News,
    consent: ImportConsent,
) -> Edits:
    """The changes of the graph that edited files stand for.

    `base` reads the state that the base shows.

    Raises:
        ConstraintViolation: a file cannot be read, two files have one URI, or more documents were
            deleted or emptied than is allowed. The data lists everything.
    """
    problems: list[FrontMatterProblem] = []
    read = list(_read(files, problems))
    pairs = [_with_core(base, pair) for pair in _paired(read, others, news.moves, problems)]
    purged = [pair for pair in pairs if pair.theirs is None and _key(pair.base) in news.purged]
    remaining = [pair for pair in pairs if not consent.purges or pair not in purged]
    file_edits = Changes(base, remaining, problems, _finder(read, others)).edits()
    if problems:
        raise refusal(problems)
    if not consent.deletions:
        _check_emptied(files, remaining)
        _check_deleted([pair.path for pair in remaining if pair.theirs is None], read, others)
    return Edits(file_edits, [identity_of(pair.base) for pair in purged if pair.base is not None])


def _key(document: MirrorDocument | None) -> bytes:
    return b"" if document is None else concept_key(*identity_of(document).values())


def _check_deleted(paths: Sequence[str], read: Sequence[Pair], others: CommittedFiles) -> None:
    if not paths:
        return
    total = others.count() + sum(pair.base is not None for pair in read)
    if len(paths) > DELETIONS_MAX or len(paths) > total * DELETED_SHARE_MAX:
        raise ConstraintViolation(
            f"{len(paths)} of {total} files are gone from the mirror; nothing was imported.",
            hint="To delete their concepts, say --allow-deletions (allow_deletions=True);"
            " if not, restore the files: `git checkout .` in the folder of the mirror.",
            data={"deleted": list(paths), "documents": total},
        )


def _check_emptied(files: Iterable[EditedFile], pairs: Iterable[Pair]) -> None:
    """Refuse files that have become empty, or have lost their front matter."""
    blank = {
        file.path
        for file in files
        if isinstance(file.theirs, bytes) and not is_fronted(file.theirs)
    }
    emptied = [
        pair.path
        for pair in pairs
        if pair.path in blank
        and pair.base is not None
        and pair.theirs is not None
        and _has_lost(pair.base, pair.theirs)
    ]
    if emptied:
        raise ConstraintViolation(
            f"{name_few(emptied, SHOWN_MAX)} {'has' if len(emptied) == 1 else 'have'} lost the"
            " front matter: properties and relations would be removed; nothing was imported.",
            hint="Restore the files (`git checkout FILE`), or delete them to delete their concepts;"
            " to import them as they are, say --allow-deletions (allow_deletions=True).",
            data={"emptied": emptied},
        )


def _has_lost(base: MirrorDocument, theirs: MirrorDocument) -> bool:
    """True if a document lacks a front matter although that of the base had content."""
    return (
        not theirs.attributes
        or bool(base.metadata or base.relations)
        or bool(base.attributes.keys() - theirs.attributes.keys())
        or base.type != theirs.type
    )


def refusal(problems: Sequence[FrontMatterProblem]) -> ConstraintViolation:
    """The error for files that cannot be imported."""
    lines = first_few([str(problem) for problem in problems], PROBLEMS_SHOWN)
    return ConstraintViolation(
        "Files of the mirror cannot be imported, so nothing was:\n  " + "\n  ".join(lines),
        hint="Correct them, or undo the edits with git, and import again.",
        data={"problems": [problem._asdict() for problem in problems]},
    )


# Reading of files.


def _read(files: Iterable[EditedFile], problems: list[FrontMatterProblem]) -> Iterator[Pair]:
    for file in files:
        try:
            base, theirs = (_document(file.path, content) for content in (file.base, file.theirs))
        except UnreadableError as error:
            problems.append(error.problem)
            continue
        if theirs is not None and (problem := _misnamed(file.path, theirs)):
            problems.append(problem)
            continue
        yield Pair(file.path, base, theirs)


def _document(path: str, content: bytes | MirrorDocument | None) -> MirrorDocument | None:
    return read_document(path, content) if isinstance(content, bytes) else content


def _misnamed(path: str, document: MirrorDocument) -> FrontMatterProblem | None:
    """The problem with the URI of a document; None if there is none."""
    uri = parse(document.uri, "")
    if uri.is_kip:
        identity = kip_identity(uri)
        if isinstance(identity, str):
            return FrontMatterProblem(path, 0, f"{document.uri} is an id; write kip:Type/name")
        if identity[0] != document.type:
            return FrontMatterProblem(
                path, 0, f"its URI says the type {identity[0]}, and it {document.type}"
            )
    if keeps_place(document.type, document.uri):
        return FrontMatterProblem(
            path, 0, f"{document.type} is the type of placeholders; choose another one"
        )
    return None


def _finder(read: Sequence[Pair], others: CommittedFiles) -> Callable[[str], str | None]:
    """A function that finds the URI of the document at a path."""
    edited = {pair.path: pair.theirs.uri for pair in read if pair.theirs is not None}

    def find(path: str) -> str | None:
        if path in edited:
            return edited[path]
        content = others.content(path)
        if content is not None:
            try:
                return read_document(path, content).uri
            except UnreadableError:
                return None
        uri = uri_of_path(path)
        return uri if uri is not None and path_of(uri) == path else None

    return find


# Pairs of documents before and after.


def _paired(
    read: Sequence[Pair],
    others: CommittedFiles,
    moves: Mapping[str, str],
    problems: list[FrontMatterProblem],
) -> list[Pair]:
    """Pair documents before and after, by URI or as the two documents of a moved concept."""
    bases = {pair.base.uri: pair for pair in read if pair.base is not None}
    theirs = _by_uri(read, others, problems)
    pairs: dict[str, Pair] = {}
    new: dict[str, Pair] = {}
    left = {uri: pair for uri, pair in bases.items() if uri not in theirs}
    for uri, pair in theirs.items():
        before = bases.get(uri)
        if before is not None:
            is_moved = before.path != pair.path
            pairs[uri] = pair._replace(base=before.base, is_moved=is_moved)
        elif pair.base is not None and pair.base.uri in left:
            del left[pair.base.uri]
            pairs[uri] = pair
        elif moves.get(uri, "") in left:
            was = left.pop(moves[uri])
            pairs[uri] = pair._replace(base=was.base, is_moved=True)
        else:
            new[uri] = pair
    for uri, old in list(_alike(left, new)):
        pairs[uri] = new.pop(uri)._replace(base=left.pop(old).base, is_moved=True)
    return [
        *pairs.values(),
        *new.values(),
        *(left[uri]._replace(theirs=None) for uri in sorted(left)),
    ]


def _with_core(base: Reader, pair: Pair) -> Pair:
    """Complete a pair with a core document, which has no file because every graph has it."""
    document = pair.theirs or pair.base
    if document is None or (pair.base and pair.theirs) or not is_core_path(path_of(document.uri)):
        return pair
    identity = identity_of(document)
    stored = base.find_concept(identity["type"], identity["name"])
    if stored is None:
        return pair
    if pair.theirs is None:
        return pair._replace(theirs=core_document(document.uri))
    (file,) = Projection(base, is_whole=True).files_of([stored.number])
    return pair._replace(base=read_document(*file))


def _by_uri(
    read: Sequence[Pair], others: CommittedFiles, problems: list[FrontMatterProblem]
) -> dict[str, Pair]:
    """The edited documents that were not deleted, by URI."""
    theirs: dict[str, Pair] = {}
    edited = {pair.path for pair in read}
    for pair in read:
        if pair.theirs is None:
            continue
        uri = pair.theirs.uri
        place = path_of(uri)
        first = theirs.setdefault(uri, pair)
        if first is not pair:
            problems.append(
                FrontMatterProblem(pair.path, 0, f"{uri} is the uri of {first.path} too")
            )
        elif place not in edited and others.content(place) is not None:
            problems.append(FrontMatterProblem(pair.path, 0, f"{uri} is the uri of {place} too"))
    return theirs


def _alike(old: Mapping[str, Pair], new: Mapping[str, Pair]) -> Iterator[tuple[str, str]]:
    """The new and the old URI of each concept whose content is in a new file now.

    If several concepts have the same content, the last segment of the URI decides. If that is
    ambiguous too, no concept counts as moved.
    """
    before: dict[bytes, list[str]] = {}
    for uri, pair in old.items():
        before.setdefault(_text(pair.base), []).append(uri)
    after: dict[bytes, list[str]] = {}
    for uri, pair in new.items():
        after.setdefault(_text(pair.theirs), []).append(uri)
    for text, uris in after.items():
        olds = before.get(text, []) if text else []
        if len(uris) == len(olds) == 1:
            yield uris[0], olds[0]
            continue
        by_segment = _by_last_segment(olds)
        for last, several in _by_last_segment(uris).items():
            if len(several) == len(by_segment.get(last, ())) == 1:
                yield several[0], by_segment[last][0]


def _by_last_segment(uris: Iterable[str]) -> dict[str, list[str]]:
    by_segment: dict[str, list[str]] = {}
    for uri in uris:
        by_segment.setdefault(uri.rpartition("/")[2], []).append(uri)
    return by_segment


def _text(document: MirrorDocument | None) -> bytes:
    """The type, attributes and metadata of a document as JSON; empty without attributes."""
    if document is None or not document.attributes:
        return b""
    return json_of([document.type, dict(document.attributes), dict(document.metadata)])
