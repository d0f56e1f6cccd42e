"""The parser: `parse` reads one command.

It is a recursive-descent parser, with one module per part of the language. Every function reads the
part that it is named after and moves past it. Later stages check that types exist and variables are
bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mycel.errors import MycelError, ResourceExhausted
from mycel.kip import ast
from mycel.kip.keywords import OPENINGS
from mycel.kip.kml import delete, merge, update
from mycel.kip.kql import find
from mycel.kip.lexer import FOLDED_CHARACTERS_MIN, KipTokens, checked, is_capsule
from mycel.kip.lifecycle import archive, restore, set_retention, supersede, take_stance
from mycel.kip.meta import describe, export, nearest, search, traverse
from mycel.kip.syntax_errors import unexpected
from mycel.kip.trailing_clauses import trailing
from mycel.kip.upsert import capsule
from mycel.model.limits import COMMAND_BYTES_MAX
from mycel.syntax.gc_pause import collector_paused
from mycel.syntax.tokens import CUT_TOKENS, END

_STATEMENTS: dict[str, Callable[[KipTokens], Any]] = {
    "FIND": find,
    "UPSERT": capsule,
    "DELETE": delete,
    "UPDATE": update,
    "MERGE": merge,
    "ARCHIVE": archive,
    "RESTORE": restore,
    "SUPERSEDE": supersede,
    "SUPPORT": take_stance,
    "CHALLENGE": take_stance,
    "SET": set_retention,
    "DESCRIBE": describe,
    "SEARCH": search,
    "NEAREST": nearest,
    "EXPORT": export,
    "TRAVERSE": traverse,
}


_REQUEST_STARTS = frozenset(('"command', '"paramet', '"dry_run', '"readonl'))
_REQUEST = (
    'This is a whole request. Send the text of "command" as the command, and "parameters" as its'
    " parameters; db.request(…) and POST /kip take the request as it is."
)
_LIST = "A command is text and starts with the keyword of its statement: FIND asks, UPSERT tells."


BEGINNING_CHARACTERS: Final = 1 << 16
"""The length of the first beginning of a long text that is parsed before the whole text.

Each further beginning is `_GROWTH` times as long.
"""
_GROWTH: Final = 8


def parse(text: str, *, bytes_max: int = COMMAND_BYTES_MAX) -> ast.Command:
    """The tree of a command.

    >>> parse('FIND(?d.name) WHERE { ?d {type: "Drug"} } LIMIT 5').limit
    Literal(value=5)

    Raises:
        InvalidSyntax: the text is no command; the message shows the place and says what to do.
        InvalidIdentifier: a variable, placeholder or bare key is no identifier.
        ResourceExhausted: the text is longer than `bytes_max`, or nests too deep.
    """
    checked(text, bytes_max)
    with collector_paused(len(text) > COMMAND_BYTES_MAX):
        try:
            _parse_beginnings(text)
            if len(text) >= FOLDED_CHARACTERS_MIN and is_capsule(text):
                try:
                    return _parse_all(KipTokens(text, folded=True))
                except MycelError:
                    # The message needs the tokens inside of folded ones: parse again without
                    # folding.
                    pass
            return _parse_all(KipTokens(text))
        except RecursionError:
            # The depth of a command is bounded, but the caller may have used most of the stack.
            raise ResourceExhausted(
                "The command nests too deep for the rest of the stack.",
                hint="Flatten the command, or parse it from a shallower call.",
            ) from None


def _parse_beginnings(text: str) -> None:
    """Raise the error of a long text that is already wrong at its beginning.

    This saves splitting megabytes of text into tokens only to refuse one of the first tokens. A
    beginning is cut off anywhere, so an error counts only if it is well before the cut.
    """
    size = BEGINNING_CHARACTERS
    while size * _GROWTH < len(text):
        tokens = KipTokens(text[:size])
        try:
            _parse_all(tokens)
        except MycelError:
            if tokens.at < len(tokens.tokens) - CUT_TOKENS:
                raise
        size *= _GROWTH


def _parse_all(tokens: KipTokens) -> ast.Command:
    command = _command(tokens)
    if tokens.tokens[tokens.at] != END:
        raise trailing(tokens, command)
    return command


def _command(tokens: KipTokens) -> ast.Command:
    if tokens.tokens[0] != "EXPLAIN":
        return _statement(tokens)  # type: ignore[no-any-return]
    tokens.at = 1
    analyze = tokens.tokens[1] == "ANALYZE"
    if analyze:
        tokens.at = 2
    inner = _statement(tokens, *(() if analyze else ("ANALYZE",)))
    return ast.Explain(inner, analyze, span=tokens.span(0))


def _statement(tokens: KipTokens, *also: str) -> Any:
    read_statement = _STATEMENTS.get(tokens.tokens[tokens.at])
    if read_statement is None:
        explain = () if tokens.at else ("EXPLAIN",)
        raise unexpected(tokens, *also, *_STATEMENTS, *explain, hint=_about_start(tokens))
    return read_statement(tokens)


def _about_start(tokens: KipTokens) -> str | None:
    token = tokens.tokens[tokens.at]
    if token == "EXPLAIN":
        return "EXPLAIN is written once, before the command."
    if token in {"{", "["}:
        return _REQUEST if tokens.tokens[tokens.at + 1][:8] in _REQUEST_STARTS else _LIST
    if token[0].isalpha():
        # The first word is probably of another language, for which there may be a hint.
        return OPENINGS.get(token.upper())
    return "A command starts with the keyword of its statement: FIND asks, UPSERT tells."


def is_write(command: ast.Command) -> bool:
    """True if running the command changes the graph.

    EXPLAIN runs nothing; EXPLAIN ANALYZE runs the command that it explains.
    """
    if isinstance(command, ast.Explain):
        return command.analyze and is_write(command.command)
    return isinstance(command, ast.Manipulation)
