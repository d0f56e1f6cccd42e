"""Facts of a file in Python from its text alone: no tree is made.

Most files to be read are in Python, and parsing them would be half of all the work. It is not
needed for facts. Once strings and comments are blanked out, every keyword is one, every name before
a parenthesis is called, and a block ends with the first line that is indented less, unless brackets
are open there. All of that is searched for by regular expressions, at the speed of C; positions are
those of the source, since what is blanked out keeps its length.

The text has to be in order for that. `scan` raises `Unclear` where it is not (a bracket or quote
too many, tabs among spaces, quotes inside an f-string) and where a tree is really needed (`match`
statements: `case A(x)` is no call). Then the file is parsed, and so are single functions where only
a tree tells whether a name is a local variable. The facts are the same either way.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from operator import attrgetter
from typing import Final

from mycel.knowledge.code.extract import (
    CLASS_KINDS,
    QUALIFIED_CHARS_MAX,
    SCOPE_DEPTH_MAX,
    SIGNATURE_BYTES_MAX,
    SYMBOLS_MAX,
    Candidate,
    Lines,
    Scope,
    heads_of_calls,
    import_scope,
    known_names,
    read_calls,
    with_scopes,
)
from mycel.knowledge.code.facts import FileFacts, Import, Symbol
from mycel.knowledge.code.python import Python, doc_at, imports_in, is_exported
from mycel.knowledge.code.syntax import CALLEE_BYTES_MAX, dotted, one_line

Bound = Callable[[bytes], Iterable[str]]
"""From the text of a function to the names that it has for something of its own."""

_TRIES_MAX: Final = 100
"""How often it is looked whether a place is inside brackets, for a definition or for all calls."""
_INDENT_MAX: Final = 400
_LINE_BYTES_MAX: Final = 16 << 10
"""Longer lines are generated, and to search each of them again and again takes too long."""

# Every alternative begins with a literal, so that text in between is passed over without a try.
# An empty group says what was found: nothing for comments and for lines that go on.
_TOKEN: Final = re.compile(
    rb"""
      \#[^\n]*+
    | "(?:""[^"\\]*+(?>(?:(?:\\.|"(?!""))[^"\\]*+)*)"""
    rb'''"""|(?!"")[^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*)")()'''
    rb"""
    | '(?:''[^'\\]*+(?>(?:(?:\\.|'(?!''))[^'\\]*+)*)'''|(?!'')[^'\\\n]*+(?>(?:\\.[^'\\\n]*+)*)')()
    | \\\r?\n
    | "()() | '()()
    """,
    re.VERBOSE | re.DOTALL,
)
_STRINGS: Final = (1, 2)
_WORD: Final = rb"[\w\x80-\xff]"
_PREFIXES: Final = frozenset(b"fFrRtT")
_FORMATTED: Final = re.compile(rb"(?<!%b)(?:[fFtT][rR]?|[rR][fFtT])\Z" % _WORD)
_FIELD: Final = re.compile(rb"\{\{|\}\}|\{([^{}]*+(?>(?:\{[^{}]*+\}[^{}]*+)*))\}|[{}]()")
_FIELD_END: Final = re.compile(rb":|!(?!=)")

_CASE: Final = re.compile(rb"case(?<=[ \t]case)\b(?![ \t]*[=.,:)])")
_INDENTED: Final = re.compile(rb"\s*+(?<=[ \t])\S")
_TAB, _SPACE = re.compile(rb"\n[ \t]*+(?<=\t)"), re.compile(rb"\n ++")

_DEFINITION: Final = re.compile(rb"\n([ \t]*+)(?:async[ \t]++)?(def|class)[ \t]++(%b++)" % _WORD)
_HEADER: Final = re.compile(rb"[ \t]*+(?:\([^()\[\]{}]*+\))?[ \t]*+:")
_BLANK: Final = re.compile(rb"\s*+")
_ALIAS: Final = re.compile(
    rb"type(?<!%btype)[ \t]++(%b++)[ \t]*+(?:\[[^\n]*\])?[ \t]*+=(?!=)" % (_WORD, _WORD)
)
_CONSTANTS: Final = tuple(
    re.compile(before + rb"([A-Z_\x80-\xff][A-Z0-9_\x80-\xff]*+)[ \t]*+(?:=(?!=)|:)")
    for before in (rb"\n", rb";[ \t]*+")
)
_IMPORT: Final = re.compile(rb"import(?<!%bimport)(?!%b)" % (_WORD, _WORD))
_BEFORE_IMPORT: Final = re.compile(rb"[ \t]*+(from\b[\s\w.\x80-\xff]*+)?\Z")
_ARGUMENT_END: Final = re.compile(rb"[,()\[\]{}]")
_BASE: Final = re.compile(r"\w+(?:\s*\.\s*\w+)*\s*(?:\[.*\])?", re.DOTALL)

# The name before a parenthesis, in the text read from its end: there the parenthesis comes first.
_CALLED: Final = re.compile(
    rb"""
    \( \s*+
    ((?>(?: [\w\x80-\xff]++ [ \t]*+ \. [ \t]*+ )*))
    (?>( [\w\x80-\xff]++ | \)\(repus )?)
    (?: (?= \s*+ (\.) ) | [ \t]++ (fed\b | ssalc\b) )?
    """,
    re.VERBOSE,
)
# Which of the groups was the last to match says what was found.
_HEAD, _DOT, _DEFINED = 2, 3, 4
_CALLED_ON_LINES: Final = re.compile(
    rb"(?>(?:[\w\x80-\xff]++\s*+\.\s*+)+)([\w\x80-\xff]++|\)\(repus)"
)
_SUPER: Final = b")(repus"
_START: Final = attrgetter("start")
_PYTHON: Final = Python()


class Unclear(Exception):  # noqa: N818 - not an error but an answer
    """The text alone does not tell."""


def scan(source: bytes, bound_in: Bound) -> FileFacts:
    """The facts of a file.

    Raises:
        Unclear: its syntax tree has to be looked at.
    """
    text = b"\n" + source  # Every line begins after one: the lines of this text count from 0.
    code = _code(text)
    _check(code)
    scopes = _nested(sorted(_definitions(code), key=_START)[:SYMBOLS_MAX])
    imports = tuple(_imports(code, scopes, Lines(text, 0)))
    known = known_names(scopes, imports)
    calls = _calls(code, heads_of_calls(_PYTHON, known, imports))

    def bound(scope: Scope) -> Iterable[str]:
        return bound_in(text[scope.start : scope.end] + b"\n")

    return FileFacts(
        "python",
        symbols=_symbols(text, code, scopes),
        imports=imports,
        calls=read_calls(
            _PYTHON,
            code,
            scopes,
            imports,
            known=known,
            candidates=calls,
            bound_in=bound,
            lines=Lines(text, 0),
        ),
    )


# Text to code.


def _code(text: bytes) -> bytes:
    """The text with comments, and what is in strings, blanked out."""
    pieces: list[bytes] = []
    at = 0
    for token in _TOKEN.finditer(text):
        start, end = token.span()
        pieces.append(text[at:start])
        at = end
        kind = token.lastindex
        if kind is None:
            pieces.append(b" " * (end - start))
        elif kind not in _STRINGS:  # A quote that nothing closes.
            raise Unclear
        elif text[start - 1] in _PREFIXES and _FORMATTED.search(text, start - 2, start):
            pieces.append(_formatted(text[start:end]))
        else:
            pieces.append(b'"' + b" " * (end - start - 2) + b'"')
    pieces.append(text[at:])
    code = b"".join(pieces)
    if b"\r" in code:
        code = code.replace(b"\r\n", b" \n")
    # A form feed begins a line anew.
    return code.replace(b"\f", b"\n") if b"\f" in code else code


def _formatted(string: bytes) -> bytes:
    """An f-string with the calls in its fields, everything else blanked out."""
    if b"{" not in string:
        return b'"' + b" " * (len(string) - 2) + b'"'
    code = bytearray(b'"' + b" " * (len(string) - 2) + b'"')
    for field in _FIELD.finditer(string):
        if field.lastindex == 2:  # A brace too many.
            raise Unclear
        if field.lastindex == 1 and b"(" in field[1]:
            expression = _expression(field[1])
            start = field.start(1)
            code[start : start + len(expression)] = expression
    return bytes(code)


def _expression(field: bytes) -> bytes:
    code = _code(b"\n" + field)[1:].replace(b"\n", b" ")
    for tries, end in enumerate(_FIELD_END.finditer(code)):
        if tries > _TRIES_MAX:
            raise Unclear
        if _is_balanced(code, 0, end.start()):
            code = code[: end.start()]
            break
    if not _is_balanced(code, 0, len(code)):
        raise Unclear
    return code


def _check(code: bytes) -> None:
    """See whether the text is in order."""
    if b"\r" in code or not _is_balanced(code, 0, len(code)) or _INDENTED.match(code):
        raise Unclear
    if len(code) > _LINE_BYTES_MAX < max(map(len, code.split(b"\n"))):
        raise Unclear
    if _CASE.search(code) or (b"\t" in code and _TAB.search(code) and _SPACE.search(code)):
        raise Unclear


def _is_balanced(code: bytes, start: int, end: int) -> bool:
    count = code.count
    return (
        count(b"(", start, end) == count(b")", start, end)
        and count(b"[", start, end) == count(b"]", start, end)
        and count(b"{", start, end) == count(b"}", start, end)
    )


def _opened(code: bytes, start: int, end: int) -> int:
    """How many brackets are opened there and not closed."""
    count = code.count
    return (
        count(b"(", start, end)
        - count(b")", start, end)
        + count(b"[", start, end)
        - count(b"]", start, end)
        + count(b"{", start, end)
        - count(b"}", start, end)
    )


# Definitions.


def _definitions(code: bytes) -> Iterator[Scope]:
    for found in _DEFINITION.finditer(code):
        header = _HEADER.match(code, found.end())
        colon = header.end() - 1 if header is not None else _colon(code, found.end())
        blank = _BLANK.match(code, colon + 1)
        body = blank.end() if blank is not None else colon + 1
        end = _block_end(code, len(found[1]), colon, body)
        kind = "function" if found[2] == b"def" else "class"
        yield Scope(found.end(1), end, kind, body=body, name=_name(found[3]))
    for found in _ALIAS.finditer(code):
        end = _statement_end(code, found.end())
        yield Scope(found.start(), end, "type", body=end, name=_name(found[1]))
    for pattern in _CONSTANTS:
        yield from _constants(code, pattern)


def _constants(code: bytes, pattern: re.Pattern[bytes]) -> Iterator[Scope]:
    at = opened = 0
    for found in pattern.finditer(code):
        name, start = _name(found[1]), found.start()
        if not name.isupper() or name.startswith("__") or not _is_on_top(code, start):
            continue
        opened += _opened(code, at, start)
        at = start
        if not opened:  # What is inside brackets begins no statement.
            end = _statement_end(code, found.end())
            yield Scope(found.start(1), end, "constant", body=end, name=name)


def _name(word: bytes) -> str:
    name = word.decode("utf-8", "replace")
    if not name.isidentifier():
        raise Unclear
    return name


def _is_on_top(code: bytes, at: int) -> bool:
    """Whether a statement is one of the file: after a semicolon, that depends on its line."""
    line = code.rfind(b"\n", 0, at + 1)
    return line == at or (not code[line + 1 : line + 2].isspace() and b":" not in code[line:at])


def _colon(code: bytes, start: int) -> int:
    """Where the header of a definition ends that has brackets in it."""
    at = code.find(b":", start)
    for _ in range(_TRIES_MAX):
        if at < 0:
            break
        if _is_balanced(code, start, at):
            line = code.rfind(b"\n", start, at)
            if line >= 0 and _is_balanced(code, start, line):
                break
            return at
        at = code.find(b":", at + 1)
    raise Unclear


def _block_end(code: bytes, indent: int, colon: int, body: int) -> int:
    """Where a definition ends: with the last of its code."""
    line = code.rfind(b"\n", colon, body)
    if body >= len(code) or (line >= 0 and body - line - 1 <= indent):
        raise Unclear  # It has no body.
    if line < 0:
        return _line_end(code, body)
    at = body
    less = _less_indented(indent)
    for _ in range(_TRIES_MAX):
        found = less.search(code, at)
        end = found.start() if found is not None else len(code)
        if _is_balanced(code, colon, end):
            return body + len(code[body:end].rstrip())
        if found is None:
            break
        at = found.end()
    raise Unclear


@cache
def _less_indented(indent: int) -> re.Pattern[bytes]:
    """The beginning of a line of code that is not indented more than that.

    One that begins with a closing bracket goes on with what is above it.
    """
    if indent > _INDENT_MAX:
        raise Unclear
    return re.compile(rb"\n[ \t]{0,%d}+(?=[^\s)\]}])" % indent)


def _line_end(code: bytes, start: int) -> int:
    """Where the line ends that a statement begins on, with the lines on which it goes on."""
    at = start
    opened = 0
    while True:
        end = code.find(b"\n", at)
        end = end if end >= 0 else len(code)
        opened += _opened(code, at, end)
        if opened <= 0 or end == len(code):
            return start + len(code[start:end].rstrip())
        at = end + 1


def _statement_end(code: bytes, start: int) -> int:
    end = _line_end(code, start)
    other = code.find(b";", start, end)
    return end if other < 0 else start + len(code[start:other].rstrip())


def _nested(definitions: Iterable[Scope]) -> list[Scope]:
    """Definitions with the names of what contains them."""
    found: list[Scope] = []
    stack: list[Scope] = []
    for scope in definitions:
        while stack and stack[-1].end <= scope.start:
            stack.pop()
        if len(stack) >= SCOPE_DEPTH_MAX:
            continue
        parent = stack[-1] if stack else None
        scope.exported = is_exported(scope.name)
        scope.qualified = scope.name
        if parent is not None:
            scope.qualified = f"{parent.qualified}.{scope.name}"
            if len(scope.qualified) > QUALIFIED_CHARS_MAX:
                continue
            scope.exported = scope.exported and parent.exported
            scope.outer_function = parent.outer_function
        if scope.kind == "function":
            if scope.outer_function is None:
                scope.outer_function = scope
            if parent is not None and parent.kind in CLASS_KINDS:
                scope.kind = "method"
        found.append(scope)
        stack.append(scope)
    return found


def _symbols(text: bytes, code: bytes, scopes: list[Scope]) -> tuple[Symbol, ...]:
    found: dict[str, Symbol] = {}
    lines = Lines(text, 0)
    for scope in scopes:
        # The first of several with one name (overloads, branches of a condition) stands for all.
        if scope.qualified in found:
            continue
        start, end, body = scope.start, scope.end, scope.body
        line = lines.at(start)
        last = _with_comments(text, start, end) if body < end else end
        signature = text[start : min(body, start + SIGNATURE_BYTES_MAX)].decode("utf-8", "replace")
        found[scope.qualified] = Symbol(
            scope.name,
            scope.qualified,
            scope.kind,
            line,
            line + text.count(b"\n", start, last),
            one_line(_PYTHON.signature(signature)),
            doc_at(text, body) if body < end else "",
            scope.exported,
            tuple(_bases(code[start:body])) if scope.kind == "class" else (),
        )
    return tuple(found.values())


def _with_comments(text: bytes, start: int, end: int) -> int:
    """Where a block ends with the comments below it that are indented like it."""
    found = _comments(start - text.rfind(b"\n", 0, start)).match(text, end)
    return found.end() if found is not None else end


@cache
def _comments(indent: int) -> re.Pattern[bytes]:
    return re.compile(rb"(?>(?:[^\n]*+\n(?>(?:[ \t\r\f]*+\n)*)[ \t]{%d,}+#[^\n]*+)*)" % indent)


def _bases(header: bytes) -> Iterator[str]:
    """What a class extends: the arguments in the last brackets of its header."""
    depth, at, end = 0, 0, header.rfind(b")")
    for found in _ARGUMENT_END.finditer(header, 0, end + 1):
        mark = found[0]
        if mark in b"([{":
            depth += 1
            if depth == 1:
                at = found.end()
            continue
        if mark in b")]}":
            depth -= 1
        if (mark == b")" and depth == 0) or (mark == b"," and depth == 1):
            argument = header[at : found.start()].decode("utf-8", "replace").strip()
            if _BASE.fullmatch(argument):
                base = dotted(argument.partition("[")[0])
                if base:
                    yield base
            at = found.end()


# Imports and calls.


def _imports(code: bytes, scopes: list[Scope], lines: Lines) -> Iterator[Import]:
    for (start, text), scope in with_scopes(_import_statements(code), scopes):
        line, inside = lines.at(start), import_scope(scope)
        for found in imports_in(text):
            yield Import(found.module, found.names, line, found.level, found.alias, inside)


def _import_statements(code: bytes) -> Iterator[tuple[int, str]]:
    for found in _IMPORT.finditer(code):
        at = found.start()
        line = code.rfind(b"\n", 0, at) + 1
        before = _BEFORE_IMPORT.match(code, line, at)
        if before is None:  # Not the first statement on its line.
            line = max(code.rfind(b";", line, at), code.rfind(b":", line, at)) + 1
            before = _BEFORE_IMPORT.match(code, line, at)
        if before is None:
            raise Unclear
        start = before.start(1) if before.lastindex else at
        text = code[start : _statement_end(code, start)].decode("utf-8", "replace")
        if not text.startswith("from __future__"):
            yield start, text


def _calls(code: bytes, heads: frozenset[str] | None) -> Iterator[Candidate]:
    """The calls of these names, or of all; in the order of the text."""
    size, backwards = len(code), code[::-1]
    wanted = None
    if heads is not None:
        wanted = {head.encode()[::-1] for head in heads}
        wanted.add(_SUPER)
    found: list[tuple[int, int]] = []
    tries = 0
    for call in _CALLED.finditer(backwards):
        last = call.lastindex
        if last == _HEAD:
            if wanted is None or call[_HEAD] in wanted:
                found.append((size - call.end(_HEAD), size - call.start(1)))
            continue
        if last == _DEFINED:
            continue
        if last == _DOT and (wanted is None or call[_HEAD] in wanted):
            start = size - call.end(_HEAD)
            # After the dot of a number on the line above it is a name, otherwise an attribute.
            tries += 1
            if tries <= _TRIES_MAX and _is_first(code, size - call.start(_DOT), start):
                found.append((start, size - call.start(1)))
        long = _CALLED_ON_LINES.match(backwards, call.start(1))
        if long is not None and (wanted is None or long[1] in wanted):
            found.append((size - long.end(), size - call.start(1)))
    found.sort()
    known: dict[bytes, tuple[str, ...]] = {}
    for start, end in found:
        if code[end : end + 1] != b"(":
            tries += 1
            if tries <= _TRIES_MAX and _is_first(code, end, code.find(b"(", end)):
                continue  # Two statements.
        if tries > _TRIES_MAX:
            raise Unclear
        text = code[start:end]
        parts = known.get(text)
        if parts is None:
            parts = known[text] = _callee(text)
        if parts:
            yield start, end, parts


def _is_first(code: bytes, end: int, start: int) -> bool:
    """Whether a new statement begins between two places that are only some space apart."""
    return b"\n" in code[end:start] and _is_balanced(code, 0, start)


def _callee(text: bytes) -> tuple[str, ...]:
    if len(text) > CALLEE_BYTES_MAX:
        return ()
    parts = _PYTHON.parts(text.decode("utf-8", "replace"))
    return () if parts and keyword.iskeyword(parts[0]) else parts
