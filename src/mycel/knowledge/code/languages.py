"""Lists the languages whose symbols are read. No other module has such a list.

A new language needs a name here and a module with a subclass of `Syntax`, which has its grammar,
its comments and strings, and its rules from imports to files. `file_kinds` knows the names of its
files. The wheel with its grammar is one of the extra `code` in `pyproject.toml`.
"""

from __future__ import annotations

from typing import Final, Literal, assert_never, get_args

from mycel.knowledge.code.c_family import C, Cpp
from mycel.knowledge.code.go import Go
from mycel.knowledge.code.java import Java
from mycel.knowledge.code.javascript import JavaScript, Tsx, TypeScript
from mycel.knowledge.code.language_rules import Syntax
from mycel.knowledge.code.python import Python
from mycel.knowledge.code.rust import Rust

SourceLanguage = Literal[
    "python", "javascript", "typescript", "tsx", "go", "rust", "java", "c", "cpp"
]
SOURCE_LANGUAGES: Final[tuple[SourceLanguage, ...]] = get_args(SourceLanguage)


def _syntax_class(language: SourceLanguage) -> type[Syntax]:
    match language:
        case "python":
            return Python
        case "javascript":
            return JavaScript
        case "typescript":
            return TypeScript
        case "tsx":
            return Tsx
        case "go":
            return Go
        case "rust":
            return Rust
        case "java":
            return Java
        case "c":
            return C
        case "cpp":
            return Cpp
        case _:
            assert_never(language)


SYNTAXES: Final[dict[str, type[Syntax]]] = {
    language: _syntax_class(language) for language in SOURCE_LANGUAGES
}
"""The description of each language."""


def blank_prose(language: str, source: bytes) -> bytes | None:
    """The source with comments and strings blanked, except fields; None if it is no code."""
    syntax = SYNTAXES.get(language)
    return None if syntax is None else syntax.blank_prose(source)
