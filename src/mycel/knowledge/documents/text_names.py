"""Finds names in a text that may be files or symbols: candidates for mentions.

Between backticks, a name is a candidate if it has the form of an identifier or a path. Elsewhere
its form has to show that it is no ordinary word: `src/cart.py`, `cart.py`, `CartItem`, `add_item`,
`Cart.add`, `add()`. A candidate from between backticks keeps its first backtick.
"""

from __future__ import annotations

import re
from typing import Final

NAMES_MAX: Final = 60
"""The maximum number of names of one section."""
SPAN: Final = "`"
CALLED: Final = "()"

_SPAN: Final = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]{2,100})\1(?!`)")
_IDENTIFIER: Final = re.compile(
    r"[&*$@!~]{0,2}([A-Za-z_][\w$]*+(?>(?:(?:\.|::|#|->|/)[A-Za-z_][\w$]*+)*))"
    r"(?:::?<[^<>]{0,60}>|<[^<>]{0,60}>)?(!?\(.{0,60}\)|!)?",
    re.ASCII,
)
_PATH: Final = re.compile(r"(?:\.{0,2}/)?[\w@.+-]+(?:/[\w@.+-]+)*/?", re.ASCII)
_FILE: Final = re.compile(r"[\w@.+-]*\w\.[A-Za-z][A-Za-z0-9]{0,9}", re.ASCII)
_PLAIN: Final = re.compile(
    r"(?<![\w/.:@`$-])(?:"
    r"((?:[\w@.-]+/)+[\w@-]+\.[A-Za-z]\w{0,9})"  # a path of a file
    r"|([\w-]+\.(?:py|rs|ts|tsx|js|mjs|go|java|c|h|cc|cpp|hpp|md|rst|toml|ya?ml|json|sh|sql))"
    r"|([A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+)(\(\))?"  # a dotted name
    r"|([A-Za-z_]\w*)(\(\))"  # a call
    r"|([A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[A-Za-z][a-z0-9]*_\w+|[A-Z][A-Z0-9]*_[A-Z0-9_]+)"
    r")(?![\w/])",
    re.ASCII,
)
_DOTTED: Final = re.compile(r"[A-Z_]|::")
_SEPARATOR: Final = re.compile(r"::|->|#|\.")
_URL: Final = re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://\S++|\]\([^()\s]{0,500}\)")


def names_in(text: str) -> tuple[str, ...]:
    """The candidates in a text, each once, up to `NAMES_MAX`.

    >>> names_in("`Cart` keeps items, see src/cart.py; `memory` and add_item() e.g. twice.")
    ('`Cart', '`memory', 'src/cart.py', 'add_item()')
    """
    names: dict[str, None] = {}
    spans = _SPAN.finditer(text) if "`" in text else ()
    for span in spans:
        name = span_name(span[2].strip())
        if name:
            names[SPAN + name] = None
    text = _URL.sub(" ", _SPAN.sub(" ", text))
    for plain in _PLAIN.finditer(text):
        path, file, dotted, dotted_call, called, _, shaped = plain.groups()
        if path or file:
            names[path or file] = None
        elif dotted and (_DOTTED.search(dotted) or dotted_call):
            names[".".join(_SEPARATOR.split(dotted)) + (dotted_call or "")] = None
        elif called:
            names[called + CALLED] = None
        elif shaped:
            names[shaped] = None
    return tuple(names)[:NAMES_MAX]


def span_name(text: str) -> str:
    """The name in a code span: a path, or a dotted name, with () if it is called; "" if none."""
    if "/" in text or _FILE.fullmatch(text):
        return text if _PATH.fullmatch(text) is not None else ""
    match = _IDENTIFIER.fullmatch(text)
    if match is None:
        return ""
    return ".".join(_SEPARATOR.split(match[1])) + (CALLED if match[2] else "")
