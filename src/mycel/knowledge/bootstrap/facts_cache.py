"""A cache of the facts of files, by path and hash.

Resolving the references of one changed file needs the facts of all files. They are kept in a file
beside the graph, `<graph>-facts`; if it is removed or damaged, the sources are read again. A graph
in memory has none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from mycel.knowledge.code.source_facts import FORMAT, FileFacts, decode, encode
from mycel.store.file.cache_file import CacheFile

SUFFIX: Final = "-facts"

_NONE: Final = b""

Facts = FileFacts | None
"""The facts of a file; None for a file without facts."""


class FactsCache:
    """A cache of facts by path and hash: in this process, and in a file beside the graph."""

    def __init__(self, database: str, workspace: str) -> None:
        is_file = bool(database) and Path(database).is_file()
        self._file = CacheFile(Path(database + SUFFIX), FORMAT) if is_file else None
        self._workspace = workspace
        self._facts: dict[str, tuple[int, Facts]] = {}
        self._blobs: dict[str, bytes] = {}

    def recall(self, hashes: Mapping[str, int]) -> dict[str, Facts]:
        """The cached facts of files with these hashes."""
        by_path: dict[str, Facts] = {}
        unknown: dict[str, int] = {}
        for path, hash_ in hashes.items():
            have = self._facts.get(path)
            if have is not None and have[0] == hash_:
                by_path[path] = have[1]
            else:
                unknown[path] = hash_
        for path, hash_, encoded in self._file.read(self._workspace, unknown) if self._file else ():
            if hash_ != unknown[path]:
                continue
            facts = decode(encoded) if encoded != _NONE else None
            if facts is not None or encoded == _NONE:
                by_path[path] = facts
                self._facts[path] = hash_, facts
        return by_path

    def keep(self, read: Mapping[str, tuple[int, Facts]], removals: Collection[str]) -> None:
        """Store the facts of read files, without their texts, and forget removed files."""
        read = {
            path: (hash_, None if facts is None else facts.without_texts())
            for path, (hash_, facts) in read.items()
        }
        self._facts.update(read)
        for path in removals:
            self._facts.pop(path, None)
        if self._file is None or not (read or removals):
            return
        entries = [
            (path, hash_, _NONE if facts is None else encode(facts))
            for path, (hash_, facts) in read.items()
        ]
        self._file.write(self._workspace, entries, removals)

    def recall_blob(self, name: str) -> bytes | None:
        """The bytes that were stored under a name that is no path."""
        if self._file is None:
            return self._blobs.get(name)
        return next((blob for _, _, blob in self._file.read(self._workspace, {name})), None)

    def keep_blob(self, name: str, content: bytes) -> None:
        """Store bytes under a name that is no path."""
        if self._file is None:
            self._blobs[name] = content
        else:
            self._file.write(self._workspace, [(name, 0, content)], ())
