"""Computes the lists of authors for files and folders, and finds those that differ in the graph.

The stamp of the root has the commit up to which the lists were made, for each bootstrapped folder.
As long as that commit is checked out, the stored lists are used unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from mycel.api.graph import Graph
from mycel.knowledge.bootstrap import git_authors
from mycel.knowledge.bootstrap.facts_cache import FactsCache
from mycel.knowledge.bootstrap.git_authors import AuthorTable
from mycel.knowledge.bootstrap.project_graph import AUTHORS, Namer
from mycel.model.values import parse_object
from mycel.store.query.bulk import prefixes

_CACHED: Final = "//authors/"
"""The prefix of cache keys for tables of authors; no path begins with it."""


class AuthorDifferences(NamedTuple):
    """Files and folders whose stored authors are out of date."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()


class AuthorLists:
    """The authors of files and folders during one run."""

    def __init__(self, db: Graph, namer: Namer, prefix: str, heads: Mapping[str, str]) -> None:
        self._db = db
        self._namer = namer
        self._prefix = prefix
        self.heads: Final = dict(heads)
        """For each prefix of a bootstrapped folder: the commit up to which its lists were made."""
        self.is_new = False
        """True if the stored lists may differ from the wanted ones."""
        self.note: str | None = None
        """A sentence about missing or incomplete authors."""
        self._table: AuthorTable | None = None

    def read(self, folder: Path, cache: FactsCache, *, is_complete: bool) -> None:
        """Read the history, if another commit than before is checked out."""
        checked_out = git_authors.find_head(folder)
        if checked_out is None:
            return
        key = _CACHED + self._prefix
        if checked_out.is_shallow:
            self.note = (
                "the clone is shallow, so files have no authors: run `git fetch --unshallow`, then"
                " bootstrap again"
            )
            self.drop()
            cache.keep_blob(key, b"")
            return
        if is_complete and self.heads.get(self._prefix) == checked_out.head:
            return
        cached = cache.recall_blob(key)
        before = git_authors.decode(cached) if cached is not None else None
        self._table = git_authors.read_authors(folder, checked_out.head, before)
        if self._table is None:
            self.note = "Git cannot read the history of the folder: authors are not up to date"
            return
        if not self._table.is_complete:
            self.note = "the history of Git is too long: only its newest commits count"
        self.heads[self._prefix] = checked_out.head
        self.is_new = True

    def drop(self) -> None:
        """Plan to remove the stored authors."""
        if self.heads.pop(self._prefix, None) is not None:
            self._table = AuthorTable("")
            self.is_new = True

    def keep(self, cache: FactsCache, paths: Iterable[str], folders: Iterable[str]) -> None:
        """Store the table for the next run, with existing files and folders only."""
        if self._table is not None and self._table.head:
            keys = (*paths, *map(git_authors.folder_key, folders))
            inside = [self._inside(key) for key in keys if key.startswith(self._prefix)]
            table = self._table.without_others((*inside, git_authors.folder_key("")))
            cache.keep_blob(_CACHED + self._prefix, table.encode())

    def of_file(self, path: str) -> list[dict[str, Any]]:
        """The authors that the node of a file should have."""
        return self._of(path, self._namer.file)

    def of_folder(self, path: str) -> list[dict[str, Any]]:
        """The authors that the node of a folder should have."""
        key = git_authors.folder_key(path)
        return self._of(key, lambda _: self._namer.folder(path))

    def _of(self, key: str, uri_of: Callable[[str], str]) -> list[dict[str, Any]]:
        if self._table is not None and key.startswith(self._prefix):
            return self._table.authors_of(self._inside(key))
        if not self.heads:
            return []
        with self._db.reading() as reader:
            for existing in prefixes.find_by_name(reader, [uri_of(key)]):
                stored = parse_object(existing.attributes).get(AUTHORS)
                if isinstance(stored, list):
                    return stored
        return []

    def _inside(self, key: str) -> str:
        """A key without the prefix of the folder; the folder itself has the key `/`."""
        return key.removeprefix(self._prefix) or git_authors.folder_key("")

    def find_differences(self, paths: Iterable[str], folders: Iterable[str]) -> AuthorDifferences:
        """The files and folders among these whose stored authors are out of date."""
        if not self.is_new:
            return AuthorDifferences()
        root = self._namer.folder("")
        with self._db.reading() as reader:
            stored = dict(prefixes.attribute_below(reader, self._namer.files_root, AUTHORS))
            stored |= prefixes.attribute_below(reader, root, AUTHORS)
            stored[root] = prefixes.attribute_of(reader, root, AUTHORS)

        def differs(uri: str, authors: list[dict[str, Any]]) -> bool:
            have = stored.get(uri)
            return (orjson.loads(have) if isinstance(have, str) else []) != authors

        return AuthorDifferences(
            frozenset(p for p in paths if differs(self._namer.file(p), self.of_file(p))),
            frozenset(f for f in folders if differs(self._namer.folder(f), self.of_folder(f))),
        )
