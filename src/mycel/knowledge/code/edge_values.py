"""Relations between files and symbols: the values, and what they depend on.

Every edge belongs to the file that it is written in. The edges of a file change when its own facts
change, when a file that it can see changes what is to be seen of it (`outline`), or when paths come
or go. `affected` puts that in one place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mycel.knowledge.code.source_facts import FileFacts


class FileEdge(NamedTuple):
    """From a file to another, with the line that says so."""

    source: str
    target: str
    line: int


class Place(NamedTuple):
    """A symbol of the project: its file and its qualified name there."""

    path: str
    qualified: str


class SymbolEdge(NamedTuple):
    """From a symbol to another. A source without a name is the file itself."""

    source: Place
    target: Place
    line: int


@dataclass(frozen=True, slots=True)
class FileEdges:
    """The edges that are written in one file. `tests` are the files that it tests."""

    path: str
    imports: tuple[FileEdge, ...] = ()
    external: tuple[str, ...] = ()
    calls: tuple[SymbolEdge, ...] = ()
    may_calls: tuple[SymbolEdge, ...] = ()
    """Calls of a method of which only the name is known, to those that have it."""
    extends: tuple[SymbolEdge, ...] = ()
    tests: tuple[str, ...] = ()
    links: tuple[FileEdge, ...] = ()
    external_links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolved:
    """The edges of a project, file by file and all together."""

    files: Mapping[str, FileEdges] = field(default_factory=dict)

    @property
    def imports(self) -> tuple[FileEdge, ...]:
        return tuple(edge for file in self.files.values() for edge in file.imports)

    @property
    def external(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a file and the name of a module that is not in the project."""
        return tuple((file.path, name) for file in self.files.values() for name in file.external)

    @property
    def calls(self) -> tuple[SymbolEdge, ...]:
        return tuple(edge for file in self.files.values() for edge in file.calls)

    @property
    def may_calls(self) -> tuple[SymbolEdge, ...]:
        return tuple(edge for file in self.files.values() for edge in file.may_calls)

    @property
    def extends(self) -> tuple[SymbolEdge, ...]:
        return tuple(edge for file in self.files.values() for edge in file.extends)

    @property
    def tested_by(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a file and a test of it."""
        pairs = ((target, file.path) for file in self.files.values() for target in file.tests)
        return tuple(sorted(pairs))

    @property
    def links(self) -> tuple[FileEdge, ...]:
        return tuple(edge for file in self.files.values() for edge in file.links)


def outline(facts: FileFacts) -> tuple[object, ...]:
    """What other files can see of this one. Edges elsewhere depend on nothing else in it."""
    symbols = tuple((s.qualified, s.kind, s.bases, s.exported, s.returns) for s in facts.symbols)
    imports = tuple(
        (i.module, i.names, i.level, i.alias, i.form) for i in facts.imports if not i.scope
    )
    rest = (facts.package, facts.exports, facts.fields, facts.settings, facts.is_test)
    return (facts.language, symbols, imports, *rest)


def affected(
    before: Mapping[str, FileFacts], after: Mapping[str, FileFacts], changed: Collection[str]
) -> frozenset[str]:
    """The files whose edges may differ, when the facts of `changed` do.

    `changed` are the paths that were added, removed or written. Files of other languages than
    these are never affected; otherwise what looks the same from outside affects only itself.
    """
    families: set[str] = set()
    for path in changed:
        old, new = before.get(path), after.get(path)
        if old is None or new is None or outline(old) != outline(new):
            families.update(family(facts.language) for facts in (old, new) if facts is not None)
    own = {path for path in changed if path in after}
    if not families:
        return frozenset(own)
    moved = any((path in before) != (path in after) for path in changed)
    return frozenset(
        own
        | {path for path, facts in after.items() if family(facts.language) in families}
        # A link may lead to any file.
        | {path for path, facts in after.items() if moved and facts.links}
    )


def family(language: str) -> str:
    """The languages whose files see each other have one name."""
    return _FAMILIES.get(language, language)


_FAMILIES: Final = {
    "typescript": "javascript",
    "tsx": "javascript",
    "tsconfig": "javascript",
    "gomod": "go",
    "cargo": "rust",
    "cpp": "c",
}
