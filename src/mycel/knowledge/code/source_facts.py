"""What one source file says: its symbols, imports, calls and links.

Facts are values of plain strings and numbers. They can be pickled, so that worker processes can
make them, and `encode`d to JSON, so that the facts of unchanged files need not be made again. A
fact repeats what is written; what a name in it refers to is the business of `resolve`.

There are dozens of them in a file, and making frozen dataclasses would take as long as finding what
to put into them: the small ones are named tuples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

FORMAT: Final = 4
"""Changes with the meaning of the facts. Whoever stores facts makes them anew when it differs."""

RESULT: Final = "()"
"""At the end of the first part of a callee: an object that is made by what stands before it."""
LITERAL: Final = "!"
"""The type of a variable or field that holds a literal."""
UNKNOWN: Final = "?"
"""The first part of a callee on an object of which nothing is known."""


class Symbol(NamedTuple):
    """A definition.

    `qualified` is the path of names that leads to it within the file, joined by dots; it is unique
    there. Lines count from 1.
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
    """Of a function, the type of its result as a dotted name; "" when none is written."""


class Import(NamedTuple):
    """One module, and the names that it brings into the file.

    `names` are pairs (name there, name here); `"*"` stands for all of them. `alias` is the name
    under which the module itself is known here, if it is. `level` counts the leading dots of a
    relative import of Python. `scope` is the function that imports, if it is not the whole file.
    `form` says what kind of statement it was where that matters: "mod" of Rust, "system" for an
    include in angle brackets, "reexport" for `export … from`, "require".
    """

    module: str
    names: tuple[tuple[str, str], ...] = ()
    line: int = 1
    level: int = 0
    alias: str = ""
    scope: str = ""
    form: str = ""


class Call(NamedTuple):
    """A call, once per caller and callee.

    `callee` is the dotted name in parts; `self` and `super` stand for what the language calls so,
    `RESULT` and `UNKNOWN` mark objects: see `calls`. A caller of None is the file itself.
    """

    caller: str | None
    callee: tuple[str, ...]
    line: int


class Link(NamedTuple):
    """A link of a Markdown document; `form` is "link", "image" or "autolink"."""

    target: str
    text: str
    line: int
    form: str = "link"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """All facts of one file.

    `package` is the name that the file gives to the place it belongs to (package of Java and Go,
    module of go.mod, crate of Cargo.toml). `exports` are the pairs (name outside, name inside) of
    JavaScript. `fields` are pairs of the qualified name of a field and the type of what it holds.
    `settings` are further pairs of a manifest. `note` says what was left out and why.
    """

    language: str
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    calls: tuple[Call, ...] = ()
    links: tuple[Link, ...] = ()
    is_test: bool = False
    package: str = ""
    exports: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    note: str = ""


def encode(facts: FileFacts) -> bytes:
    """The facts as JSON; `decode` reads them."""
    return orjson.dumps([FORMAT, *(getattr(facts, name) for name in _FIELDS)], default=tuple)


def decode(encoded: bytes) -> FileFacts | None:
    """The facts that `encode` wrote; None when they are of another format or damaged."""
    try:
        version, *values = orjson.loads(encoded)
        if version != FORMAT or len(values) != len(_FIELDS):
            return None
        row: dict[str, Any] = dict(zip(_FIELDS, values, strict=True))
        row["symbols"] = tuple(Symbol._make((*s[:-2], tuple(s[-2]), s[-1])) for s in row["symbols"])
        row["imports"] = tuple(Import(i[0], _pairs(i[1]), *i[2:]) for i in row["imports"])
        row["calls"] = tuple(Call(c[0], tuple(c[1]), c[2]) for c in row["calls"])
        row["links"] = tuple(Link(*link) for link in row["links"])
        for name in ("exports", "fields", "settings"):
            row[name] = _pairs(row[name])
        return FileFacts(**row)
    except (ValueError, TypeError, IndexError):
        return None


_FIELDS: Final = tuple(field.name for field in dataclasses.fields(FileFacts))


def _pairs(rows: Iterable[Iterable[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in rows)
