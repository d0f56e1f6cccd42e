"""Capsules of megabytes, parsed while they are executed.

The tree of a capsule takes ten times the memory of its text. The blocks of a long capsule are
therefore parsed while they are iterated, and only a few trees exist at a time. The metadata after
an UPSERT applies to the blocks inside it, so its place is found first, by counting braces.

A syntax error is found when its block is read. The caller that executes the capsule has to roll
back the blocks before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from mycel.errors import InternalError, MycelError
from mycel.kip import ast
from mycel.kip.lexer import KipTokens, checked, closing_brace, token_at
from mycel.kip.parser import parse
from mycel.kip.syntax_errors import unexpected
from mycel.kip.upsert import close_upsert, metadata_clause, next_token, open_upsert, read_blocks
from mycel.model.limits import CAPSULE_BYTES_MAX
from mycel.syntax.nodes import LazyNodes
from mycel.syntax.source import Span
from mycel.syntax.tokens import END

LONG_CHARACTERS_MIN: Final = 1 << 20
"""The length up to which capsules are parsed as a whole."""


def read_capsule(text: str) -> ast.Command:
    """The tree of a command; the tree of a long capsule is parsed while it is used.

    Raises:
        MycelError: as `parse`; a long capsule raises syntax errors while it is iterated.
    """
    if len(text) < LONG_CHARACTERS_MIN or token_at(text, 0) != "UPSERT":
        return parse(text, bytes_max=CAPSULE_BYTES_MAX)
    checked(text, CAPSULE_BYTES_MAX)
    return ast.Capsule(_Upserts(text), span=Span(0, len(text)))


class _Upserts(LazyNodes[ast.Upsert]):
    """The statements of a capsule; all blocks of a statement are read before the next statement."""

    def __init__(self, text: str) -> None:
        self._text: Final = text

    def __iter__(self) -> Iterator[ast.Upsert]:
        text = self._text
        tokens = KipTokens(text, folded=True)
        while True:
            start = tokens.starts[tokens.at]
            with _errors_of_parse(text):
                end, metadata = _metadata_ahead(text, start)
                open_upsert(tokens)
            unread = _read(text, tokens)
            blocks = _Blocks(text, tokens.starts[tokens.at], unread)
            yield ast.Upsert(blocks, metadata, span=Span(start, end))
            for _ in unread:
                pass
            with _errors_of_parse(text):
                close_upsert(tokens)
                if next_token(tokens) == END:
                    return
                if tokens.tokens[tokens.at] != "UPSERT":
                    raise unexpected(tokens, "UPSERT")


class _Blocks(LazyNodes[ast.UpsertBlock]):
    """The blocks of a statement.

    The first iteration yields the blocks that are not read yet, later iterations all blocks.
    """

    def __init__(self, text: str, start: int, unread: Iterator[ast.UpsertBlock]) -> None:
        self._text: Final = text
        self._start: Final = start
        self._unread: Iterator[ast.UpsertBlock] | None = unread

    def __iter__(self) -> Iterator[ast.UpsertBlock]:
        unread, self._unread = self._unread, None
        if unread is not None:
            return unread
        return _read(self._text, KipTokens(self._text, folded=True, start=self._start))


def _read(text: str, tokens: KipTokens) -> Iterator[ast.UpsertBlock]:
    blocks = read_blocks(tokens)
    while True:
        with _errors_of_parse(text):
            block = next(blocks, None)
        if block is None:
            return
        yield block


def _metadata_ahead(text: str, start: int) -> tuple[int, ast.Map | None]:
    """The end of the statement that starts at a place, and its metadata."""
    end = closing_brace(text, start)
    if token_at(text, end) != "WITH":
        return end, None
    tokens = KipTokens(text, start=end, window=closing_brace(text, end) - end)
    metadata = metadata_clause(tokens)
    return tokens.ends[tokens.at - 1], metadata


@contextmanager
def _errors_of_parse(text: str) -> Iterator[None]:
    """Replace an error by the error of `parse`, which sees the whole text."""
    try:
        yield
    except (MycelError, RecursionError):
        parse(text, bytes_max=CAPSULE_BYTES_MAX)
        raise InternalError("A long capsule was parsed differently from a short one.") from None
