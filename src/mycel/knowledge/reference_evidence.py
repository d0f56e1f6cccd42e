"""Judges which symbol a name in a line of code means, by the text before the name.

Status::Unknown   the owner of a variant
kql::execute      the module of a function
.flush()          a member of an object, in Rust never a function
key               in most languages never a member
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, Literal, NamedTuple

from mycel.knowledge.name_mentions import find_words

Verdict = Literal["this", "other", "unlikely", "open"]

_BEFORE: Final = re.compile(rb"(?:(?<!\w)([A-Za-z_]\w*+)\s{0,9})?(::|\.|->)\s{0,9}\Z")
_BEFORE_BYTES: Final = 100
_OWN: Final = frozenset({"Self", "self", "this", "cls", "super", "crate"})
_INDEX_FILES: Final = frozenset({"__init__", "mod", "lib", "index", "main"})


class NamedSymbol(NamedTuple):
    """A symbol for whose name the files are searched."""

    number: int
    uri: str

    @property
    def owner(self) -> str:
        """The name of the type that contains the symbol; "" for a function or module of its own."""
        around = self.uri.rpartition("/")[2].rpartition(".")[0].rpartition(".")[2]
        return around if around[:1].isupper() else ""

    @property
    def module(self) -> str:
        """The name of its file; or of the folder, if the file stands for a folder."""
        *folders, file, _ = self.uri.split("/")
        stem = file.partition(".")[0]
        return folders[-1] if stem in _INDEX_FILES and folders else stem

    @property
    def qualifier(self) -> str:
        """The word that code may write before the name of the symbol."""
        return self.owner or self.module


class NameEvidence:
    """Judges lines of code with the name of some symbols."""

    def __init__(
        self,
        names: Collection[str],
        symbols: Sequence[NamedSymbol],
        namesakes: Sequence[NamedSymbol],
        owner: str,
    ) -> None:
        self._names = names
        self.owners = {symbol.owner for symbol in symbols if symbol.owner} | ({owner} - {""})
        own = {symbol.qualifier for symbol in symbols} | self.owners
        self._foreign = {namesake.qualifier for namesake in namesakes} - own
        self._foreign_types = {namesake.owner for namesake in namesakes} - own - {""}

    def names_another(self, language: str, line: bytes) -> bool:
        """True if each occurrence of the name has another symbol's owner or module before it."""
        places = self._before(line)
        return bool(places) and all(self._is_foreign(language, *place) for place in places)

    def _is_foreign(self, language: str, word: str, joint: str) -> bool:
        return word in (self._foreign_types if _is_value(language, joint) else self._foreign)

    def judge(self, language: str, line: bytes, symbol: NamedSymbol) -> Verdict:
        """The best of the verdicts on the occurrences of the name; "open" if there are none."""
        verdicts = {
            self._judge(language, *before, symbol) for before in self._before(line)
        }  # fmt: skip
        best: Sequence[Verdict] = ("this", "open", "unlikely", "other")
        return next((verdict for verdict in best if verdict in verdicts), "open")

    def _judge(self, language: str, word: str, joint: str, symbol: NamedSymbol) -> Verdict:
        if not joint:
            from mycel.knowledge.code.languages import SYNTAXES  # noqa: PLC0415 - patterns of all

            syntax = SYNTAXES.get(language)
            is_bare = syntax is not None and syntax.has_bare_members
            return "unlikely" if symbol.owner and not is_bare else "open"
        is_value = _is_value(language, joint)
        if word == (symbol.owner if is_value else symbol.qualifier) and word:
            return "this"
        if self._is_foreign(language, word, joint):
            return "other"
        if word in _OWN or not word:
            return "open"
        if word[:1].isupper():
            return "unlikely"  # The word is another type, perhaps one derived from the owner.
        return "unlikely" if is_value and not symbol.owner else "open"

    def _before(self, line: bytes) -> list[tuple[str, str]]:
        """The word and the sign before each occurrence of the name; "" if there is none."""
        words = []
        for begin, _ in find_words(line, self._names):
            before = _BEFORE.search(line[max(0, begin - _BEFORE_BYTES) : begin])
            word, joint = (before[1] or b"", before[2]) if before is not None else (b"", b"")
            words.append((word.decode(), joint.decode()))
        return words


def _is_value(language: str, joint: str) -> bool:
    """True if the word before a sign is a value: in Rust, a dot never follows a module."""
    return language == "rust" and joint == "."
