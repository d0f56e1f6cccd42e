"""A schema's text in its canonical form, comments included: `tidy`.

The tree has no comments, so they are put back by position: a comment at the end of a line stays
there, and a comment on its own line stays before the declaration that follows.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from mycel.errors import ResourceExhausted
from mycel.model.limits import SCHEMA_COMMENTS_MAX
from mycel.schema import ast
from mycel.schema.formatter import INDENT, head, member
from mycel.schema.lexer import BYTE_ORDER_MARK, SchemaTokens
from mycel.schema.parser import parse
from mycel.syntax.tokens import END

_COMMENT: Final = re.compile(r"//[^\n]*|/\*(?:.*?\*/|.*+)", re.DOTALL)
_GAP: Final = re.compile(r"\n[ \t\r]*\n")


class _Piece(NamedTuple):
    """A line of the text, or a comment, with its place."""

    start: int
    text: str
    is_comment: bool = False
    follows: bool = False
    """True for a comment that follows other text on the same line."""
    level: int = 0
    """The depth of indentation."""
    opens: bool = False
    """True if a declaration begins here."""
    gap: bool = False
    """True for a comment with an empty line after it."""


def tidy(text: str) -> str:
    r"""Format a schema and keep its comments.

    >>> print(tidy("node A{ // first\n a:String?}"), end="")
    node A { // first
      a: String?
    }

    Raises:
        SchemaError: the text is no schema.
        ResourceExhausted: the text has too many comments.
    """
    text = text.removeprefix(BYTE_ORDER_MARK)
    tree = parse(text)
    tokens = SchemaTokens(text)
    comments = _bounded(_comments(text, tokens))
    bodies = [_body(declaration, tokens) for declaration in tree.declarations]
    pieces = [
        piece
        for declared, body in zip(tree.declarations, bodies, strict=True)
        for piece in _pieces(declared, body, comments)
    ]
    begins = [start for start, _ in bodies]  # Walk over declarations and their bodies in order.
    for comment in comments:
        at = bisect_left(begins, comment.start) - 1
        is_inside = at >= 0 and comment.start < bodies[at][1]
        pieces.append(comment._replace(level=1) if is_inside else comment)
    pieces.sort(key=lambda piece: piece.start)
    return _join_lines(pieces)


def _comments(text: str, tokens: SchemaTokens) -> Iterator[_Piece]:
    """The comments, which are between tokens."""
    count = tokens.tokens.index(END)
    ends = [0, *tokens.ends[:count]]
    starts = [*tokens.starts[:count], len(text)]
    for before, after in zip(ends, starts, strict=True):
        line_end = text.find("\n", before, after)
        for match in _COMMENT.finditer(text, before, after):
            follows = before > 0 and not 0 <= line_end < match.start()
            gap = _GAP.match(text, match.end()) is not None
            yield _Piece(match.start(), match[0].rstrip(), True, follows, gap=gap)


def _bounded(comments: Iterable[_Piece]) -> list[_Piece]:
    """The comments as a list; raises ResourceExhausted if there are too many."""
    pieces = list(islice(comments, SCHEMA_COMMENTS_MAX + 1))
    if len(pieces) > SCHEMA_COMMENTS_MAX:
        raise ResourceExhausted(
            f"The schema has more than {SCHEMA_COMMENTS_MAX:,} comments.",
            hint="Remove comments, or write several lines as one /* … */.",
        )
    return pieces


def _body(declaration: ast.Declaration, tokens: SchemaTokens) -> tuple[int, int]:
    """The pieces from the brace that opens a body to the brace that closes it."""
    start, end = declaration.span
    for at in range(bisect_left(tokens.starts, start), bisect_left(tokens.starts, end)):
        if tokens.tokens[at] == "{":
            return tokens.starts[at], end - 1
    return end, end


def _start(piece: _Piece) -> int:
    return piece.start


def _pieces(
    declaration: ast.Declaration, body: tuple[int, int], comments: list[_Piece]
) -> Iterator[_Piece]:
    start, end = body
    first = bisect_right(comments, start, key=_start)
    has_comment = first < len(comments) and comments[first].start < end
    is_empty = not declaration.members and not has_comment
    if is_empty:
        empty = "" if isinstance(declaration, ast.EdgeDeclaration) else " {}"
        yield _Piece(declaration.span.start, head(declaration) + empty, opens=True)
        return
    yield _Piece(declaration.span.start, f"{head(declaration)} {{", opens=True)
    for part in declaration.members:
        yield _Piece(part.span.start, member(part), level=1)
    yield _Piece(end, "}")


def _join_lines(pieces: list[_Piece]) -> str:
    lines: list[str] = []
    takes_more = False  # A comment may follow on the last line.
    is_apart = True  # Outside of bodies, no empty line is needed before the next line.
    for piece in pieces:
        if piece.follows and takes_more:
            lines[-1] += f" {piece.text}"
            takes_more = not piece.text.startswith("//")
            continue
        if piece.level == 0 and piece.text != "}" and not is_apart:
            lines.append("")
        lines.append(f"{INDENT * piece.level}{piece.text}")
        takes_more = not piece.is_comment
        # A comment belongs to the line after it, unless an empty line separates the two.
        is_apart = piece.is_comment and piece.level == 0 and not piece.gap
        if piece.level or piece.text.endswith("{"):
            is_apart = True
    return "".join(f"{line}\n" for line in lines)
