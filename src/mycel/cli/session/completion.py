"""The text being typed: completeness, completion, kinds of its parts. Knows no terminal.

A command on one line is complete when it can be parsed, or when no further text could make it
valid. A command on several lines could always continue (`LIMIT 5`, another UPSERT), so an empty
line or a semicolon completes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from mycel.errors import MycelError
from mycel.kip.keywords import KEYWORDS
from mycel.kip.lexer import KipTokens
from mycel.kip.parser import parse
from mycel.kip.statements import STATEMENTS
from mycel.model.directions import DIRECTIONS
from mycel.model.limits import COMMAND_BYTES_MAX
from mycel.syntax.source import Source
from mycel.syntax.tokens import END

FIELDS = ("id", "type", "name", "attributes", "metadata", "subject", "predicate", "object")

_STRING = re.compile(r'"(?>(?:[^"\\]|\\.)*)"', re.DOTALL)
_BLACK = re.compile(r"[^\n]")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OPEN, _CLOSE = "([{", ")]}"


class CompletionNames(NamedTuple):
    """The names that completion can offer."""

    types: Sequence[str] = ()
    predicates: Sequence[str] = ()
    parameters: Sequence[str] = ()
    dot_commands: Sequence[str] = ()
    attributes: Mapping[str, Sequence[str]] = MappingProxyType({})
    """The attributes of each type."""


class Suggestion(NamedTuple):
    """A text that could replace the last `replaces` characters."""

    text: str
    replaces: int


def is_complete(text: str) -> bool:
    """True if Enter runs the command, False if it begins another line."""
    lines = text.split("\n")
    tokens = _tokens(text)
    if not tokens.texts or text.lstrip().startswith(".") or tokens.texts[-1] == ";":
        return True
    depth = _depth(tokens.texts)
    if len(lines) > 1:
        empty = [not line.strip() for line in lines[-2:]]
        return empty[-1] if depth <= 0 else all(empty)
    if depth > 0 and not _is_open_string(tokens.texts[-1]):
        return False
    return not _fails_at_end(text, tokens.ends[-1])


def without_semicolon(text: str) -> str:
    """The typed text without its semicolon and the white space around it.

    >>> without_semicolon("DESCRIBE PRIMER; // all")
    'DESCRIBE PRIMER'
    """
    tokens = _tokens(text)
    if tokens.texts and tokens.texts[-1] == ";":
        text = text[: tokens.starts[-1]]
    return text.strip()


def split_at_semicolons(text: str) -> list[str]:
    r"""The commands of a text, at least one; the text before each becomes white space.

    >>> split_at_semicolons('DESCRIBE PRIMER;\nSEARCH CONCEPT ";";')
    ['DESCRIBE PRIMER', '                \nSEARCH CONCEPT ";"']
    """
    if len(text) > COMMAND_BYTES_MAX:
        return [text]  # A capsule: splitting it would take too long.
    tokens = _tokens(text)
    places = [at for at, token in zip(tokens.starts, tokens.texts, strict=True) if token == ";"]
    starts, ends = [0, *(at + 1 for at in places)], [*places, len(text)]
    parts = [
        _BLACK.sub(" ", text[:start]) + text[start:end]
        for start, end in zip(starts, ends, strict=True)
        if _tokens(text[start:end]).texts
    ]
    return parts or [text]


def indent_of_closing(before: str) -> str | None:
    r"""The white space before a closing bracket that is typed at the start of a line.

    It is the indentation of the line that opened the bracket. None if there is text before it.

    >>> indent_of_closing("  WHERE {\n    ?p {}\n    ")
    '  '
    """
    if before[before.rfind("\n") + 1 :].strip():
        return None
    tokens = _tokens(before)
    opened, _ = _innermost(tokens.texts)
    if opened is None:
        return None
    place = tokens.starts[opened]
    line = before[before.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def offers(before: str, after: str, graph_names: CompletionNames) -> list[Suggestion]:
    """Completions between the text before and after the cursor."""
    if before.startswith("."):
        return _matching(before, graph_names.dot_commands)
    tokens = _tokens(before)
    end = tokens.ends[-1] if tokens.ends else 0
    if "//" in before[end:]:
        return []  # The cursor is in a comment.
    texts = tokens.texts
    current = texts.pop() if texts and end == len(before) else ""
    if current and not (_is_open_string(current) or current[0] == "?" or _WORD.match(current)):
        texts.append(current)
        current = ""
    if current.startswith("?"):
        return _variables(current, before + after, graph_names)
    if texts and texts[-1] == ":" and before[: len(before) - len(current)].endswith(":"):
        placeholders = _matching(current, graph_names.parameters)
        if placeholders:
            return placeholders
    names = _names(texts, graph_names)
    if _is_open_string(current):
        close = "" if after.startswith('"') else '"'
        suggestions = _matching(current[1:], names)
        return [Suggestion(f"{offer.text}{close}", offer.replaces) for offer in suggestions]
    if names and not current:
        return [Suggestion(f'"{name}"', 0) for name in names]
    words = sorted(KEYWORDS) if texts else sorted(STATEMENTS)
    return _matching(current, words) if current or not texts else []


def pieces(line: str) -> list[tuple[str, str]]:
    """A line divided into pieces, each with its kind. Joined, they give the line again.

    >>> pieces("FIND(?x) // all")
    [('keyword', 'FIND'), ('', '('), ('variable', '?x'), ('', ')'), ('comment', ' // all')]
    """
    tokens = _tokens(line)
    cut: list[tuple[str, str]] = []
    at = 0
    for token, start, end in zip(*tokens, strict=True):
        cut += [("", line[at:start]), (_kind(token), token)]
        at = end
    rest = line[at:]
    cut.append(("comment" if "//" in rest else "", rest))
    return [piece for piece in cut if piece[1]]


def _kind(token: str) -> str:
    if token[0] in '"?':
        return "string" if token[0] == '"' else "variable"
    return "keyword" if token in KEYWORDS else ""


# Tokens.


class _Typed(NamedTuple):
    texts: list[str]
    starts: Sequence[int]
    ends: Sequence[int]


def _tokens(text: str) -> _Typed:
    tokens = KipTokens(text)
    count = tokens.tokens.index(END)
    return _Typed(tokens.tokens[:count], tokens.starts[:count], tokens.ends[:count])


def _is_open_string(token: str) -> bool:
    return token.startswith('"') and not _STRING.fullmatch(token)


def _depth(tokens: Iterable[str]) -> int:
    return sum((token in _OPEN) - (token in _CLOSE) for token in tokens)


def _fails_at_end(text: str, end: int) -> bool:
    """True if the only error of a command is that its end is missing."""
    try:
        parse(text)
    except MycelError as error:
        where = error.data.get("line"), error.data.get("column")
        return where == tuple(Source(text).position(end))
    return False


# Candidates for completion.


def _matching(typed: str, names: Iterable[str]) -> list[Suggestion]:
    folded = typed.casefold()
    return [
        Suggestion(name, len(typed))
        for name in names
        if name.casefold().startswith(folded) and name != typed
    ]


def _variables(typed: str, text: str, graph_names: CompletionNames) -> list[Suggestion]:
    variable, dot, path = typed.partition(".")
    tokens = _tokens(text).texts
    if path.startswith("attributes."):
        types = (
            set(_types_of(variable, tokens)) & graph_names.attributes.keys()
            or graph_names.attributes
        )
        names = {name for type_name in types for name in graph_names.attributes[type_name]}
        return _matching(path.removeprefix("attributes."), sorted(names))
    if dot:
        return _matching(path, FIELDS)
    used = (token.partition(".")[0] for token in tokens if token.startswith("?"))
    return _matching(typed, [name for name in dict.fromkeys(used) if name not in (variable, "?")])


def _types_of(variable: str, tokens: Sequence[str]) -> Iterator[str]:
    """The types that the matchers of a variable name."""
    for at, token in enumerate(tokens):
        if token == variable and tokens[at + 1 : at + 2] == ["{"]:
            rest = tokens[at + 2 :]
            matcher = rest[: rest.index("}")] if "}" in rest else rest
            for key, colon, value in zip(matcher, matcher[1:], matcher[2:], strict=False):
                if key.strip('"') == "type" and colon == ":":
                    yield value.strip('"')


def _names(before: Sequence[str], graph_names: CompletionNames) -> Sequence[str]:
    """The names that a string may hold here: of types, of predicates, or none."""
    last = before[-1] if before else ""
    if last == "TYPE":
        # SEARCH and DESCRIBE have it among the first words.
        about_links = "PROPOSITION" in before[:3]
        return graph_names.predicates if about_links else graph_names.types
    if last == "ALONG" or (last == "|" and "ALONG" in before):
        return graph_names.predicates
    if last == "DIRECTION":
        return DIRECTIONS
    if last == ":" and len(before) > 1 and before[-2].strip('"') == "type":
        return graph_names.types
    opened, commas = _innermost(before)
    if opened is None or before[opened] != "(":
        return ()
    is_call = opened > 0 and _WORD.match(before[opened - 1]) is not None
    if last in (",", "|") and commas == 1 and not is_call:
        return graph_names.predicates
    if last == "(":
        block, _ = _innermost(before[:opened])
        in_entries = block is not None and before[block - 1] == "PROPOSITIONS"
        return graph_names.predicates if in_entries else ()
    return ()


def _innermost(tokens: Sequence[str]) -> tuple[int | None, int]:
    """The place of the innermost open bracket, and the number of commas after it."""
    depth = commas = 0
    for at in range(len(tokens) - 1, -1, -1):
        token = tokens[at]
        if token in _CLOSE:
            depth += 1
        elif token in _OPEN:
            if depth == 0:
                return at, commas
            depth -= 1
        elif token == "," and depth == 0:
            commas += 1
    return None, 0
