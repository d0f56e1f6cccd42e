r"""Splits the text of a command into tokens. The first character of a token determines its kind.

    first character            the token is
    "                          a string, or the beginning of a broken string
    ?                          a variable or a dot path (checked where it is used)
    letter or _                a keyword, a bare key or the name of a placeholder
    digit, or a sign or dot    a number (checked where it is used)
    \n                         the end
    any other character        punctuation, or a character that KIP does not have

A placeholder is a colon and a word right after it. The two stay separate tokens because `{a:true}`
is a key and a value, and only the parser can tell.

A capsule may have megabytes, mostly attributes and links. In a capsule, the object after SET
ATTRIBUTES or WITH METADATA, and the entries after SET PROPOSITIONS, can be *folded* if they are
plain enough: each becomes one token from brace to brace, which the parser reads in one step
(`values` and `upsert`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from mycel.errors import InvalidSyntax
from mycel.model.limits import CAPSULE_BYTES_MAX
from mycel.syntax import tokens
from mycel.syntax.repetition import repeated
from mycel.syntax.tokens import TextRules, checked_text

_RULES: Final = TextRules(
    "command",
    InvalidSyntax,
    if_no_text="Send the command as a string.",
    if_no_unicode="Send the text as valid Unicode; write characters beyond U+FFFF as themselves.",
    if_too_long="Split it into several commands, or pass long values as parameters.",
)
_CAPSULE_RULES: Final = _RULES._replace(
    if_too_long=f"UPSERT statements of up to {CAPSULE_BYTES_MAX >> 20} MiB are applied as a"
    " capsule: db.apply_capsule(text) in Python, `mycel capsule apply FILE` on the command line."
)

# White space and comments before a token, then the token. Possessive quantifiers (`*+`) prevent
# backtracking: a comment must not be re-read as tokens. Words and numbers match more characters
# than the rules allow, so that `foo-bar` or `9x` is one wrong name and not several right names. An
# unclosed string extends as far as possible; backtracking over it would take quadratic time for a
# text of quotes.
_SPACE = r"[ \t\r\n]*+"
_COMMENTS = repeated(rf"//[^\n]*+{_SPACE}")
_ESCAPES = repeated(r'\\[^\x00-\x1f][^"\\\x00-\x1f]*+')
_DIGITS = repeated(r"[eE][-+]|[\w.$]")
_SKIPPED = rf"({_SPACE}{_COMMENTS})"
_TOKENS = rf"""
      [{{}}()\[\],:]
    | "[^"\\\x00-\x1f]*+"
    | [?A-Za-z_][\w.$-]*+
    | [-+]?\.?[0-9]{_DIGITS}
    | && | \|\| | [=!<>]=?
    | "[^"\\\x00-\x1f]*+{_ESCAPES}"?
    | [^\W\d][\w.$-]*+
    | [^ \t\r\n]
    | \Z
"""
_TOKEN = re.compile(f"{_SKIPPED}({_TOKENS})", re.VERBOSE)
# A brace or the end, with the strings, comments and other text before it.
_BRACE = re.compile(
    r'[^"/{}]*+'
    + repeated(rf"""(?:"[^"\\\x00-\x1f]*+{_ESCAPES}"?|//[^\n]*+|/)[^"/{{}}]*+""")
    + "([{}]?)"
)

WINDOW_CHARACTERS: Final = 1 << 17
"""The number of characters of a capsule that are split into tokens at a time."""
AHEAD_CHARACTERS: Final = 1 << 12
"""The number of characters after a block longer than the window that are split with it."""
FOLDED_CHARACTERS_MIN: Final = 4096
"""The length from which commands are folded; in shorter commands, folding saves nothing."""

# Folded values are simpler than the language allows: strings without escapes, short numbers, arrays
# of these; entries whose target is a handle.
STRING: Final = r'"[^"\\\x00-\x1f]*+"'
_NAME = "[A-Za-z_][A-Za-z0-9_]*+"
_WHOLE = "[1-9][0-9]{0,14}"
_SCALAR = rf"(?:{STRING}|-?(?:0|{_WHOLE})\.[0-9]{{1,20}}|0|-?{_WHOLE}|true|false|null)"


@cache
def _folding() -> re.Pattern[str]:
    """The pattern with folding, compiled (in 2 ms) when it is first needed."""
    value = rf"(?:{_SCALAR}|\[{_list_of(_SCALAR)}\])"
    member = rf"(?:{STRING}|{_NAME}){_SPACE}:{_SPACE}{value}"
    attributes = r"\{(?:(?<=SET[ ]ATTRIBUTES[ ]\{)|(?<=WITH[ ]METADATA[ ]\{))"
    entry = rf'\({_SPACE}"[^"\\:\x00-\x1f]*+"{_SPACE},{_SPACE}\?{_NAME}{_SPACE}\)'
    propositions = r"\{(?<=SET[ ]PROPOSITIONS[ ]\{)"
    return re.compile(
        rf"""{_SKIPPED}(
          {attributes}{_list_of(member)}\}}
        | {propositions}{_SPACE}{repeated(entry + _SPACE)}\}}
        | {_TOKENS}
        )""",
        re.VERBOSE,
    )


def _list_of(item: str) -> str:
    """A pattern of any number of items with commas between them, but not after the last item."""
    comma_or_end = rf"(?:,{_SPACE}(?=[^\]}}])|(?=[\]}}]))"
    return _SPACE + repeated(item + _SPACE + comma_or_end)


class KipTokens(tokens.Tokens):
    """The tokens of a command; the parser looks up to two of them ahead."""

    __slots__ = ("names", "strings")

    def __init__(
        self, text: str, *, folded: bool = False, start: int = 0, window: int | None = None
    ) -> None:
        if folded and window is None:
            window = WINDOW_CHARACTERS
        super().__init__(text, _folding() if folded else _TOKEN, 2, window, start)
        self.names: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.strings: dict[str, str] = {}
        """Short strings: equal strings of a tree share one object."""

    def refill(self, at: int) -> None:
        # Kept across all parts, the names would grow with the text.
        self.names.clear()
        self.strings.clear()
        super().refill(at)

    def _larger(self, start: int, size: int) -> int:
        # With the whole brace in the window, it can be folded, and is split only once.
        end = closing_brace(self.text, start)
        return max(2 * size, end - start + AHEAD_CHARACTERS)


def closing_brace(text: str, start: int) -> int:
    """The end of the brace that closes the first brace from `start` on, or the end of the text."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[1] == "{" else -1
        if depth <= 0:
            return brace.end()
    return len(text)


def token_at(text: str, start: int) -> str:
    """The first token from `start` on, empty at the end."""
    match = _TOKEN.match(text, start)
    return "" if match is None else match.group(2)


def checked(text: object, bytes_max: int) -> str:
    """A text that may be a command, checked for type, encoding and size (`bytes_max`)."""
    rules = _RULES
    if isinstance(text, str) and len(text) > bytes_max >> 2 and bytes_max < CAPSULE_BYTES_MAX:
        rules = _CAPSULE_RULES if is_capsule(text) else _RULES
    return checked_text(text, bytes_max, rules)


def is_capsule(text: str) -> bool:
    """True if a command starts with UPSERT."""
    return token_at(text, 0) == "UPSERT"
