"""Values of relations between files and symbols, and the dependencies of these relations.

Every relation belongs to the file that it is written in. The relations of a file depend on its own
facts, on the outlines of the files that it can see, and on the paths of the project. `affected`
returns the files that have to be resolved again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from mycel.knowledge.code.source_facts import FileFacts


class CodeLocation(NamedTuple):
    """A symbol of the project: its file and its qualified name there."""

    path: str
    qualified: str


class SymbolRelation(NamedTuple):
    """A relation from one symbol to another. A source without a name is the file itself."""

    source: CodeLocation
    target: CodeLocation


class TextTarget(NamedTuple):
    """The target of a link or a name in a text.

    `name` is the name of a symbol or section in the file at `path`. The path of a tag is its name,
    the path of a package is its URL, and the path of a missing file is where it would be.
    """

    kind: Literal["path", "symbol", "section", "missing", "tag", "package"]
    path: str
    name: str = ""


class TextRelation(NamedTuple):
    """A link or mention of a section. The section is given by its slug; "" is the file itself."""

    section: str
    relation: Literal["references", "names", "tagged", "depends_on"]
    target: TextTarget


@dataclass(frozen=True, slots=True)
class SourceRelations:
    """The relations written in one file: imports, tests and links to files, and calls."""

    path: str
    imports: tuple[str, ...] = ()
    external: tuple[str, ...] = ()
    calls: tuple[SymbolRelation, ...] = ()
    may_calls: tuple[SymbolRelation, ...] = ()
    """Calls of a method on an object of unknown class, to all methods of that name."""
    uses: tuple[SymbolRelation, ...] = ()
    """Uses of symbols that are no calls."""
    extends: tuple[SymbolRelation, ...] = ()
    tests: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    external_links: tuple[str, ...] = ()
    texts: tuple[TextRelation, ...] = ()
    """The links and mentions of its sections."""
    note: str = ""
    """A sentence about relations that were left out, and why."""


def outline(facts: FileFacts) -> tuple[object, ...]:
    """The facts that other files can see; relations of other files depend only on these."""
    symbols = tuple((s.qualified, s.kind, s.bases, s.exported, s.returns) for s in facts.symbols)
    imports = tuple(
        (i.module, i.names, i.level, i.alias, i.form) for i in facts.imports if not i.scope
    )
    sections = tuple((s.slug, s.heading, s.anchor) for s in facts.sections)
    rest = (facts.package, facts.exports, facts.fields, facts.settings, facts.is_test)
    return (facts.language, symbols, imports, *rest, sections, facts.aliases)


def affected(
    before: Mapping[str, FileFacts], after: Mapping[str, FileFacts], changed: Collection[str]
) -> frozenset[str]:
    """The files whose relations may change when the paths `changed` are added, removed or written.

    Code of other languages is never affected, but a document may name symbols of all languages. If
    the outline of a file is unchanged, only the file itself is affected.
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
        # A link may lead to any file, and a name in a text to any symbol.
        | {path for path, facts in after.items() if (moved and facts.links) or _names(facts)}
    )


def _names(facts: FileFacts) -> bool:
    return any(section.names for section in facts.sections)


def family(language: str) -> str:
    """The name of the group of languages whose files see each other."""
    return _FAMILIES.get(language, language)


_FAMILIES: Final = {
    "typescript": "javascript",
    "tsx": "javascript",
    "tsconfig": "javascript",
    "gomod": "go",
    "cargo": "rust",
    "cpp": "c",
    "restructuredtext": "markdown",
    "asciidoc": "markdown",
    "text": "markdown",
    "html": "markdown",
    "jupyter": "markdown",
    "pdf": "markdown",
}
