"""Finds the files and folders that have another path now.

A removed file and a new one are the same if their contents are equal. They are also the same if
most of their symbols and headings have the same names, and neither is as similar to any other file.
The nodes of the file then get new URIs, and keep their numbers, their history, and the relations
that others made.
"""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from mycel.knowledge.code.source_facts import FileFacts

BYTES_MIN: Final = 16
"""The least size of a file that can be recognised by its content."""
NAMES_MIN: Final = 3
"""The least number of names by which a changed file is recognised."""
LIKE_MIN: Final = 0.6
"""The least share of names in common at which two files are alike."""
COMPARED_MAX: Final = 250_000
"""The maximum number of pairs of files that are compared by their names."""


class FileContent(NamedTuple):
    """The known content of a file: a hash, and the names of symbols and headings."""

    size: int
    hash: int
    names: frozenset[str]


def names_of(facts: FileFacts | None) -> frozenset[str]:
    """The names by which a changed file is recognised."""
    if facts is None:
        return frozenset()
    headings = (section.heading for section in facts.sections if section.heading)
    names = frozenset((*(symbol.qualified for symbol in facts.symbols), *headings))
    return names if len(names) >= NAMES_MIN else frozenset()


def find_renamed_files(
    removed: Mapping[str, FileContent], new: Mapping[str, FileContent]
) -> dict[str, str]:
    """The new path of each removed file that was renamed."""
    renamed = dict(_find_equal(removed, new))
    removed = {path: content for path, content in removed.items() if path not in renamed}
    new_paths = {*renamed.values()}
    new = {path: content for path, content in new.items() if path not in new_paths}
    return renamed | dict(_find_alike(removed, new))


def find_renamed_folders(
    renamed: Mapping[str, str], removed: Collection[str], new: Collection[str]
) -> dict[str, str]:
    """The new path of each removed folder: where most of its renamed files are now."""
    places: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for old_path, path in renamed.items():
        old, folder = posixpath.dirname(old_path), posixpath.dirname(path)
        while old in removed and folder in new:
            places[old][folder] += 1
            if posixpath.basename(old) != posixpath.basename(folder):
                break
            old, folder = posixpath.dirname(old), posixpath.dirname(folder)
    folders: dict[str, str] = {}
    for old, counts in sorted(places.items()):
        ((folder, count),) = counts.most_common(1)
        if 2 * count > counts.total() and folder not in folders.values():
            folders[old] = folder
    return folders


def _find_equal(
    removed: Mapping[str, FileContent], new: Mapping[str, FileContent]
) -> Iterator[tuple[str, str]]:
    """Pairs of files with equal contents, by preference with the same name."""
    by_content: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for path, content in sorted(new.items()):
        if content.size >= BYTES_MIN:
            by_content[content.size, content.hash].append(path)
    for old in sorted(removed):
        paths = by_content.get((removed[old].size, removed[old].hash))
        if paths:
            at = next((at for at, path in enumerate(paths) if _is_namesake(old, path)), 0)
            yield old, paths.pop(at)


def _find_alike(
    removed: Mapping[str, FileContent], new: Mapping[str, FileContent]
) -> Iterator[tuple[str, str]]:
    """Pairs of files in which each is most like the other."""
    named_removed = {path: content.names for path, content in removed.items() if content.names}
    named_new = {path: content.names for path, content in new.items() if content.names}
    if not named_removed or len(named_removed) * len(named_new) > COMPARED_MAX:
        return
    best_new = {path: _find_best(path, names, named_new) for path, names in named_removed.items()}
    best_removed = {
        path: _find_best(path, names, named_removed) for path, names in named_new.items()
    }
    for old, path in best_new.items():
        if path is not None and best_removed[path] == old:
            yield old, path


def _find_best(
    path: str, names: frozenset[str], others: Mapping[str, frozenset[str]]
) -> str | None:
    """The file among the others that is most similar to the one at `path`.

    None if no file is similar enough, or if another one is as similar.
    """
    likeness = _rank(
        ((len(names & other) / len(names | other), _is_namesake(path, candidate)), candidate)
        for candidate, other in others.items()
    )
    if not likeness or likeness[0][0][0] < LIKE_MIN:
        return None
    is_alone = len(likeness) == 1 or likeness[0][0] > likeness[1][0]
    return likeness[0][1] if is_alone else None


def _rank(
    likeness: Iterable[tuple[tuple[float, bool], str]],
) -> list[tuple[tuple[float, bool], str]]:
    return sorted(likeness, reverse=True)[:2]


def _is_namesake(old: str, path: str) -> bool:
    return posixpath.basename(old) == posixpath.basename(path)
