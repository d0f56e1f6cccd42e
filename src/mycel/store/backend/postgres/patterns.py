"""Translates patterns of RE2 into patterns of PostgreSQL.

Both engines match with an automaton, in time linear in the length of the text, as long as a pattern
has no captures and no back references. They differ in syntax and in their tables of Unicode. A
pattern that RE2 has accepted is translated piece by piece; a piece that cannot mean the same in
both engines is refused.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from mycel.errors import Unsupported
from mycel.model.names import shorten

_REPETITIONS_MAX: Final = 255
_PIECE: Final = re.compile(
    r"(?P<space>\\[dDsSwW])|(?P<edge>(?:\\[AzbB]|[$^])(?![*+?{]))|\\(?P<escape>[tnrfv])"
    r"|\\(?P<mark>[!-/:-@\[-`{-~])"
    r"|(?P<flags>\(\?i\))|(?P<open>\(\?:|\(\?P?<\w+>|\((?!\?))|(?P<close>[)|])"
    r"|\{(?P<least>\d+)(?P<comma>,?)(?P<most>\d*)\}\??|(?P<many>[*+?])\??"
    r"|\[(?P<negated>\^?)(?P<members>\]?(?:[^\]\[\\]|\\.)*)\]|(?P<any>\.)|(?P<letter>[^\\[{^$(])",
    re.DOTALL,
)
_MEMBER: Final = re.compile(
    r"(?P<space>\\[dsw])"
    r"|(?P<first>\\[tnrfv!-/:-@\[-`{-~]|[^\\])(?:-(?P<last>\\[tnrfv!-/:-@\[-`{-~]|[^\\]))?",
    re.DOTALL,
)
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_CLASSES: Final = {"d": "0-9", "s": "\t\n\f\r ", "w": "0-9A-Za-z_"}
_EDGES: Final = {r"\A": r"\A", "^": r"\A", r"\z": r"\Z", "$": r"\Z", r"\b": r"\y", r"\B": r"\Y"}
_FOLDED: Final = {"k": "\u212a", "s": "\u017f"}
"""Characters that match ASCII letters in a pattern that ignores case."""


@lru_cache(256)
def postgres_pattern(pattern: str) -> str:
    """A pattern of PostgreSQL that matches the same texts as this pattern of RE2.

    Raises:
        Unsupported: a piece of it has no equivalent in PostgreSQL.
    """
    pieces = ["***:"]
    at, ignores_case = 0, False
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None or (piece["flags"] and at):
            raise _refusal(pattern, pattern[at : at + 12])
        at = piece.end()
        if piece["flags"]:
            ignores_case = True
        else:
            pieces.append(_translated(pattern, piece, ignores_case))
    return "".join(pieces)


def _translated(pattern: str, piece: re.Match[str], ignores_case: bool) -> str:
    parts = piece.groupdict()
    if space := parts["space"]:
        negated = "^" if space[1].isupper() else ""
        return f"[{negated}{_space(space[1].lower(), ignores_case)}]"
    if parts["edge"]:
        return _EDGES[parts["edge"]]
    if parts["open"]:
        return "(?:"
    if parts["close"] or parts["many"]:
        return str(parts["close"] or parts["many"])
    if parts["any"]:
        return "[^\n]"
    if parts["least"]:
        if max(int(parts["least"]), int(parts["most"] or 0)) > _REPETITIONS_MAX:
            raise _refusal(pattern, piece[0])
        return f"{{{parts['least']}{parts['comma']}{parts['most']}}}"
    if parts["members"] is not None:
        return _class(pattern, parts["negated"], parts["members"], ignores_case)
    letter = _ESCAPES.get(parts["escape"] or "") or parts["mark"] or parts["letter"] or ""
    others = _others(pattern, letter, letter) if ignores_case else ""
    return f"[{letter}{others}]" if others else _quoted(letter)


def _class(pattern: str, negated: str, members: str, ignores_case: bool) -> str:
    inside, at = [], 0
    while at < len(members):
        member = _MEMBER.match(members, at)
        if member is None:
            raise _refusal(pattern, members)
        at = member.end()
        if member["space"]:
            inside.append(_space(member["space"][1], ignores_case))
            continue
        first = _plain(member["first"])
        last = _plain(member["last"]) if member["last"] else first
        inside.append(_quoted(first) if first == last else f"{_quoted(first)}-{_quoted(last)}")
        if ignores_case:
            inside.append(_others(pattern, first, last))
    return f"[{negated}{''.join(inside)}]"


def _space(name: str, ignores_case: bool) -> str:
    """The characters of a class whose name is a letter, without brackets around them."""
    return _CLASSES[name] + ("".join(_FOLDED.values()) if ignores_case and name == "w" else "")


def _plain(member: str) -> str:
    return _ESCAPES.get(member[1:], member[1:]) if member[0] == "\\" else member


def _others(pattern: str, first: str, last: str) -> str:
    """The characters that a range matches in addition when case is ignored."""
    if last > "\x7f":
        raise _refusal(pattern, f"{first} without case")
    letters = [chr(code) for code in range(ord(first), ord(last) + 1) if chr(code).isalpha()]
    return "".join(letter.swapcase() + _FOLDED.get(letter.lower(), "") for letter in letters)


def _quoted(letter: str) -> str:
    """A character escaped so that it stands for itself, in a class too."""
    return letter if letter.isalnum() or letter > "\x7f" else f"\\u{ord(letter):04x}"


def _refusal(pattern: str, piece: str) -> Unsupported:
    return Unsupported(
        f"A graph in PostgreSQL cannot match {shorten(piece)!r} in the pattern"
        f" {shorten(pattern)!r}.",
        hint="Write it with characters, classes such as [a-z], groups and repetitions,"
        " or use CONTAINS.",
    )
