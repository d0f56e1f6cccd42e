"""Errors for tokens after a complete command: clauses that only another statement has.

The error for LIMIT after a DELETE, for example, shows the command to write instead.
"""

from __future__ import annotations

from mycel.errors import MycelError
from mycel.kip import ast
from mycel.kip.foreign_idioms import scalar
from mycel.kip.fragments import inline
from mycel.kip.keywords import BOUNDS, WORDS
from mycel.kip.lexer import KipTokens
from mycel.kip.meta import NEAREST_OPTIONS, SEARCH_OPTIONS, TRAVERSE_OPTIONS
from mycel.kip.statements import STATEMENTS
from mycel.kip.syntax_errors import unexpected
from mycel.model.names import shorten

_INSIDE = {"FILTER": "(…)", "NOT": " { … }", "OPTIONAL": " { … }", "UNION": " { … }"}
"""Clauses of WHERE, each with the text that follows its keyword."""
_CLAUSES = frozenset(
    ("AS", "WHERE", "ORDER", "LIMIT", "CURSOR", "OFFSET", "SKIP", "TYPE", "PATH", *_INSIDE)
)
"""Keywords that begin a clause of some statement, in KIP or in another language."""

_FIND_ORDER = "The order is FIND, AS OF, WHERE, ORDER BY, LIMIT, CURSOR, each at most once."
_PAGE_ORDER = "LIMIT comes before CURSOR, each at most once."
_ONE_BY_ONE = (
    "One statement per command: send them one by one, or together as a batch."
    " Only UPSERT statements may follow one another."
)


def trailing(tokens: KipTokens, command: ast.Command) -> MycelError:
    """The error about a token that follows a complete command."""
    token = tokens.tokens[tokens.at]
    inner = command.command if isinstance(command, ast.Explain) else command
    word, possible = token.upper(), _modifiers(inner)
    suggestion = None
    if isinstance(inner, ast.Traverse):
        suggestion = BOUNDS.get(word)
    elif isinstance(inner, ast.Search) and word in {"IN", "FROM", "OF", "ON", "FOR"}:
        suggestion = _search(tokens, inner, "TYPE")
    elif token == "," and tokens.tokens[tokens.at - 2] == "LIMIT":
        suggestion = WORDS["OFFSET"]
    elif word in _CLAUSES and (token == word or word not in possible):
        suggestion = _instead(tokens, inner, word)
    hint = _ONE_BY_ONE if token in STATEMENTS else None
    return unexpected(tokens, "the end of the command", *possible, hint=hint, suggestion=suggestion)


def _instead(tokens: KipTokens, command: ast.Command, token: str) -> str | None:
    """The command to write instead of a command with a clause that its statement does not have."""
    if token in _INSIDE and not isinstance(
        command, ast.Capsule | ast.Describe | ast.Search | ast.Nearest
    ):
        return f"{token} belongs inside the braces: WHERE {{ … {token}{_INSIDE[token]} }}."
    match command:
        case ast.Find() if token in {"AS", "WHERE", "ORDER", "LIMIT", "CURSOR"}:
            return _FIND_ORDER
        case ast.DeleteKeys() | ast.DeletePropositions() | ast.DeleteConcept():
            return _delete(tokens, f"?{shorten(command.target.name)}", token)
        case ast.MergeConcept():
            return f"MERGE takes one concept on each side and has no {token}; leave it out."
        case ast.Update() if token != "LIMIT":
            return f"UPDATE has LIMIT and no {token}; leave it out, or restrict WHERE."
        case ast.Capsule():
            return f"UPSERT has no {token}: it writes all of its blocks."
        case ast.Export() if token == "LIMIT":
            return _PAGE_ORDER
        case ast.Export() if token in {"ORDER", "OFFSET", "SKIP"}:
            return "EXPORT has its own order; its pages follow with LIMIT and CURSOR."
        case ast.Search():
            return _search(tokens, command, token)
        case ast.Nearest():
            return f"NEAREST has no {token}; its options are {', '.join(NEAREST_OPTIONS)}."
        case ast.DescribeTypes(kind) if token not in {"OFFSET", "SKIP", "LIMIT"}:
            return (
                f"DESCRIBE {kind} TYPES has LIMIT and CURSOR only. Definitions are concepts: "
                f'FIND(?t.name) WHERE {{ ?t {{type: "{_META[kind]}"}} }} ORDER BY ?t.name.'
            )
        case ast.DescribeTypes() if token == "LIMIT":
            return _PAGE_ORDER
        case (
            ast.DescribePrimer()
            | ast.DescribeDomains()
            | ast.DescribeType()
            | ast.DescribeChanges()
        ):
            written = tokens.text[tokens.starts[0] : tokens.ends[tokens.at - 1]]
            return (
                f"This answer comes as a whole, so the command has no {token}: write"
                f" {shorten(written, 60)}. "
                "DESCRIBE CONCEPT TYPES and DESCRIBE PROPOSITION TYPES have LIMIT and CURSOR."
            )
        case _:
            return None


_META = {"CONCEPT": "$ConceptType", "PROPOSITION": "$PropositionType"}


def _delete(tokens: KipTokens, target: str, token: str) -> str:
    if token not in {"LIMIT", "ORDER", "OFFSET", "SKIP", "CURSOR"}:
        return "A DELETE ends with one WHERE { … }."
    rows = scalar(tokens, tokens.at + 1) if token == "LIMIT" else "10"
    return (
        f"DELETE takes all that WHERE matches and has no {token}. To delete some of them, find"
        f" these first, FIND({target}.id) WHERE {{ … }} LIMIT {rows}, then add "
        f"FILTER(IN({target}.id, :ids)) to the WHERE of the DELETE."
    )


def _search(tokens: KipTokens, search: ast.Search, token: str) -> str | None:
    term = inline(search.term)
    term = term if len(term) <= 40 else '"…"'
    start = f"SEARCH {search.element} {term}"
    if token in {"CURSOR", "OFFSET", "SKIP"}:
        return (
            f"SEARCH has no pages; the best come first. Raise its LIMIT, {start} LIMIT 100, or "
            f'narrow it: {start} WITH TYPE "…".'
        )
    if token == "TYPE":
        return f"Write {start} WITH TYPE {scalar(tokens, tokens.at + 1)}."
    if token == "PATH":
        return f"Write {start} UNDER {scalar(tokens, tokens.at + 1)}."
    if token in {"WHERE", "FILTER", "ORDER"}:
        return (
            f"SEARCH has no {token}; FIND has: "
            f'FIND(?x) WHERE {{ ?x {{type: "…"}} FILTER(CONTAINS(?x.name, {term})) }}.'
        )
    return None


def _modifiers(command: ast.Command) -> tuple[str, ...]:
    """The keywords that could still follow."""
    match command:
        case ast.Find(cursor=None, limit=None, order_by=()):
            return ("ORDER", "LIMIT", "CURSOR")
        case ast.Find(cursor=None, limit=None, order_by=(*_, last)):
            ended = last.descending
            return ("LIMIT", "CURSOR") if ended else ("ASC", "DESC", "LIMIT", "CURSOR")
        case ast.Export(definitions=False, limit=None, cursor=None):
            return ("WITH", "LIMIT", "CURSOR")
        case ast.Export(cursor=None, limit=None) | ast.DescribeTypes(cursor=None, limit=None):
            return ("LIMIT", "CURSOR")
        case ast.Find(cursor=None) | ast.Export(cursor=None) | ast.DescribeTypes(cursor=None):
            return ("CURSOR",)
        case ast.Update(limit=None):
            return ("LIMIT",)
        case ast.Search():
            return SEARCH_OPTIONS
        case ast.Nearest():
            return NEAREST_OPTIONS
        case ast.Traverse():
            return TRAVERSE_OPTIONS
        case ast.Capsule():
            return ("WITH", "UPSERT")
        case _:
            return ()
