"""The facts of one file: its symbols, imports, calls and links, and the sections of its prose.

Facts are plain strings and numbers: worker processes pickle them, and the cache of unchanged files
stores them as JSON. A fact has names as they are written; `name_resolution` finds what a name
refers to. Small facts are named tuples, because frozen dataclasses take longer to make.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

FORMAT: Final = 13
"""The version of the facts; stored facts of another version are extracted again."""

RESULT: Final = "()"
"""The suffix of a callee's first part, if that part is the result of a call."""
LITERAL: Final = "!"
"""The type of a variable or field that holds a literal."""
UNKNOWN: Final = "?"
"""The first part of a callee whose object has an unknown class."""


class Symbol(NamedTuple):
    """A definition.

    `qualified` is the dotted path of names within the file, and unique there. Lines count from 1.
    """

    name: str
    qualified: str
    kind: str
    line: int
    end_line: int
    signature: str = ""
    doc: str = ""
    exported: bool = True
    bases: tuple[str, ...] = ()
    returns: str = ""
    """The type of a function's result as a dotted name; "" if none is written."""
    hash: int = 0
    """A checksum of the source of the symbol."""


class Import(NamedTuple):
    """One module, and the names that it brings into the file.

    `names` are pairs (name in the module, name in this file); `"*"` means all of them. `alias` is
    the name of the module itself here, if it has one. `level` counts the leading dots of a relative
    import of Python. `scope` is the function that imports, "" for the file. `form` is the kind of
    statement, if it matters: "mod" of Rust, "system" for an include in angle brackets, "reexport"
    for `export … from`, "require".
    """

    module: str
    names: tuple[tuple[str, str], ...] = ()
    level: int = 0
    alias: str = ""
    scope: str = ""
    form: str = ""


class Call(NamedTuple):
    """A call. Each pair of caller and callee appears once.

    `callee` is the dotted name in parts, with `self`, `super`, `RESULT` and `UNKNOWN` as described
    in `calls`. A caller of None is the file itself.
    """

    caller: str | None
    callee: tuple[str, ...]


class Section(NamedTuple):
    """A part of a document: a heading and the text below it, up to the next heading.

    `slug` is the path of the section in the file, and unique there. `name` joins the headings from
    the title of the document down. `parent` is the slug of the section around it, "" for the
    document. `links` are targets as they are written; `names` are names in the text that may be
    files or symbols. Lines count from 1; without lines (a notebook, a PDF) they are 0.
    """

    slug: str
    heading: str
    name: str
    level: int
    line: int
    end_line: int
    text: str
    parent: str = ""
    anchor: str = ""
    links: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileFacts:
    """All facts of one file.

    `uses` are names that are used but not called, in the form of `calls`. `package` is the declared
    package of Java and Go, the module of go.mod, or the crate of Cargo.toml. `links` are the
    targets of the links of a document. `exports` are pairs (name outside, name inside) of
    JavaScript. `fields` are pairs of the qualified name of a field and its type. `settings` are
    further pairs of a manifest. `tags`, `aliases` and `front_matter` (an object as JSON) are the
    properties of a note. `note` says which parts were left out, and why.
    """

    language: str
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    calls: tuple[Call, ...] = ()
    uses: tuple[Call, ...] = ()
    links: tuple[str, ...] = ()
    is_test: bool = False
    package: str = ""
    exports: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    note: str = ""
    dependencies: tuple[str, ...] = ()
    """The package URLs of the dependencies of a manifest."""
    sections: tuple[Section, ...] = ()
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    front_matter: str = ""

    def without_texts(self) -> FileFacts:
        """The facts that relations depend on: without the texts of sections."""
        if not self.sections:
            return self
        return dataclasses.replace(
            self, sections=tuple(section._replace(text="") for section in self.sections)
        )


def encode(facts: FileFacts) -> bytes:
    """The facts as JSON; `decode` reads them."""
    return orjson.dumps([FORMAT, *(getattr(facts, name) for name in _FIELDS)], default=tuple)


def decode(encoded: bytes) -> FileFacts | None:
    """The facts that `encode` wrote; None if they are damaged or of another format."""
    try:
        version, *values = orjson.loads(encoded)
        if version != FORMAT or len(values) != len(_FIELDS):
            return None
        row: dict[str, Any] = dict(zip(_FIELDS, values, strict=True))
        row["symbols"] = tuple(
            Symbol._make((*s[:-3], tuple(s[-3]), *s[-2:])) for s in row["symbols"]
        )
        row["imports"] = tuple(Import(i[0], _pairs(i[1]), *i[2:]) for i in row["imports"])
        for name in ("calls", "uses"):
            row[name] = tuple(Call(caller, tuple(callee)) for caller, callee in row[name])
        row["sections"] = tuple(
            Section._make((*s[:-2], tuple(s[-2]), tuple(s[-1]))) for s in row["sections"]
        )
        for name in ("links", "tags", "aliases", "dependencies"):
            row[name] = tuple(row[name])
        for name in ("exports", "fields", "settings"):
            row[name] = _pairs(row[name])
        return FileFacts(**row)
    except (ValueError, TypeError, IndexError):
        return None


_FIELDS: Final = tuple(field.name for field in dataclasses.fields(FileFacts))


def _pairs(rows: Iterable[Iterable[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in rows)
