"""The facts of files that have not changed, so that they need not be read again.

To find what one changed file refers to, the facts of all files are needed. They are kept in a file
beside the graph, `<graph>-facts`, with a hash of what they were made from. It is a cache: it holds
nothing that the sources do not say, whoever removes it loses some seconds, and when it is damaged
it is made anew. A graph in memory has none.
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
"""None is a file that has none."""


class Memory:
    """Facts by path and hash, in this process and beside the graph."""

    def __init__(self, database: str, workspace: str) -> None:
        self._file = CacheFile(Path(database + SUFFIX), FORMAT) if _is_file(database) else None
        self._workspace = workspace
        self._facts: dict[str, tuple[int, Facts]] = {}

    def recall(self, hashes: Mapping[str, int]) -> dict[str, Facts]:
        """What is known of files that have these hashes."""
        found: dict[str, Facts] = {}
        unknown: dict[str, int] = {}
        for path, hash_ in hashes.items():
            have = self._facts.get(path)
            if have is not None and have[0] == hash_:
                found[path] = have[1]
            else:
                unknown[path] = hash_
        for path, hash_, encoded in self._file.read(self._workspace, unknown) if self._file else ():
            if hash_ != unknown[path]:
                continue
            facts = decode(encoded) if encoded != _NONE else None
            if facts is not None or encoded == _NONE:
                found[path] = facts
                self._facts[path] = hash_, facts
        return found

    def keep(self, read: Mapping[str, tuple[int, Facts]], gone: Collection[str]) -> None:
        """Remember what was read, for later runs too; forget files that are gone."""
        self._facts.update(read)
        for path in gone:
            self._facts.pop(path, None)
        if self._file is None or not (read or gone):
            return
        entries = [
            (path, hash_, _NONE if facts is None else encode(facts))
            for path, (hash_, facts) in read.items()
        ]
        self._file.write(self._workspace, entries, gone)


def _is_file(database: str) -> bool:
    return bool(database) and Path(database).is_file()
