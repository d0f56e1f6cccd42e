"""UPSERT and the capsule that consecutive ones make (KIP §4.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from mycel.errors import MycelError
from mycel.kip import ast, values
from mycel.kip.lexer import KipTokens
from mycel.kip.patterns import endpoint, link, matcher
from mycel.kip.syntax_errors import expect, fail, list_expected, misplaced, unexpected
from mycel.syntax.source import END_BITS, Span
from mycel.syntax.tokens import new_span

T = TypeVar("T")

_ENTRY = '("predicate", target)'
_NO_SUBJECT = f"An entry is {_ENTRY}; the subject is the concept of the block, so it is not named."
_METADATA = "Metadata follows the block's closing brace: } WITH METADATA { … }."
_CONCEPT_PARTS = ("ATTRIBUTES", "PROPOSITIONS")
_LINK_PARTS = ("ATTRIBUTES", "WEIGHT")
_BLOCKS = {
    ",": "Blocks follow one another, without commas.",
    "{": 'A concept is a block: CONCEPT ?x { {type: "…", name: "…"} SET ATTRIBUTES { … } }.',
    "(": 'A link is a block: PROPOSITION { (?a, "…", ?b) }.',
}
_NO_WEIGHT = (
    "Only links have a weight: set it after an entry of SET PROPOSITIONS, or in a PROPOSITION"
    " block."
)
# A folded entry has only a predicate and a handle.
_FOLDED_ENTRY = re.compile(r'\(\s*+"([^"]*+)"\s*+,\s*+\?(\w++)\s*+\)')


def capsule(tokens: KipTokens) -> ast.Capsule:
    """One or more UPSERT statements.

    Of a long capsule, a few blocks at a time are split into tokens, so that memory holds the tree
    and few tokens.
    """
    start = tokens.starts[tokens.at]
    upserts = [_upsert(tokens)]
    while next_token(tokens) == "UPSERT":
        upserts.append(_upsert(tokens))
    return ast.Capsule(tuple(upserts), span=tokens.span_from(start))


def next_token(tokens: KipTokens) -> str:
    """The next token, with enough of them after it."""
    if tokens.is_cut:
        tokens.refill(tokens.at)
    return tokens.tokens[tokens.at]


def _part(tokens: KipTokens, read: Callable[[KipTokens], T]) -> T:
    """Read a part that ends before the last token, where the text may be cut off."""
    while True:
        first = tokens.at
        try:
            part = read(tokens)
            if not tokens.is_cut:
                return part
        except MycelError:
            if not tokens.is_cut:
                raise
        tokens.refill(first)


def _upsert(tokens: KipTokens) -> ast.Upsert:
    start = tokens.starts[tokens.at]
    open_upsert(tokens)
    blocks = tuple(read_blocks(tokens))
    metadata = close_upsert(tokens)
    return ast.Upsert(blocks, metadata, span=tokens.span_from(start))


def open_upsert(tokens: KipTokens) -> None:
    """Read the keyword and the brace."""
    tokens.at += 1
    expect(tokens, "{", hint="UPSERT { CONCEPT … PROPOSITION … }.")


def read_blocks(tokens: KipTokens) -> Iterator[ast.UpsertBlock]:
    """Yield the blocks up to the closing brace of their UPSERT, each parsed on demand."""
    while (token := next_token(tokens)) != "}":
        if token == "CONCEPT":
            yield _part(tokens, _concept)
        elif token == "PROPOSITION":
            yield _part(tokens, _proposition)
        else:
            raise unexpected(tokens, "CONCEPT", "PROPOSITION", "}", hint=_BLOCKS.get(token))


def close_upsert(tokens: KipTokens) -> ast.Map | None:
    """Read the closing brace and the metadata after it."""
    tokens.at += 1
    return _part(tokens, metadata_clause)


def _concept(tokens: KipTokens) -> ast.ConceptBlock:
    texts = tokens.tokens
    first = tokens.at
    handle = _open(tokens, "CONCEPT")
    if texts[tokens.at] != "{":
        raise unexpected(
            tokens,
            '`{type: "…", name: "…"}` or `{id: "…"}`',
            hint='A block starts with the concept it is about: CONCEPT ?x { {type: "…", name: "…"} '
            "SET ATTRIBUTES { … } }.",
        )
    concept_matcher = matcher(tokens, exact=True)
    version = _expect_version(tokens)
    attributes = _attributes(tokens)
    propositions = _propositions(tokens)
    if texts[tokens.at] != "}":
        seen = 2 if propositions is not None else 1 if attributes is not None else 0
        raise _not_closed(tokens, _CONCEPT_PARTS, _CONCEPT_PARTS[seen:], is_first=version is None)
    tokens.at += 1
    return ast.ConceptBlock(
        handle,
        concept_matcher,
        version,
        attributes,
        propositions,
        metadata_clause(tokens),
        span=tokens.span(first),
    )


def _proposition(tokens: KipTokens) -> ast.PropositionBlock:
    first = tokens.at
    handle = _open(tokens, "PROPOSITION")
    if tokens.tokens[tokens.at] != "(":
        raise unexpected(
            tokens,
            '`(subject, "predicate", object)` or `(id: "…")`',
            hint="A block starts with the link it is about: PROPOSITION ?p { "
            '(?a, "…", ?b) SET ATTRIBUTES { … } }.',
        )
    target = link(tokens, 2, exact=True)
    version = _expect_version(tokens)
    weight = _weight(tokens)
    attributes = _attributes(tokens)
    weight = _weight(tokens) if weight is None else weight
    if tokens.tokens[tokens.at] != "}":
        parts = (attributes, weight)
        left = tuple(part for part, value in zip(_LINK_PARTS, parts, strict=True) if value is None)
        raise _not_closed(tokens, _LINK_PARTS, left, is_first=version is None)
    tokens.at += 1
    return ast.PropositionBlock(
        handle,
        target,
        version,
        attributes,
        metadata_clause(tokens),
        weight,
        span=tokens.span(first),
    )


def _open(tokens: KipTokens, keyword: str) -> ast.Variable | None:
    """The keyword, the handle if there is one, and the brace."""
    tokens.at += 1
    handle = values.variable(tokens) if tokens.tokens[tokens.at][0] == "?" else None
    if tokens.tokens[tokens.at] != "{":
        expected = ("{",) if handle else ("a handle such as `?x`", "{")
        raise unexpected(tokens, *expected, hint=f"A block is {keyword} ?handle {{ … }}.")
    tokens.at += 1
    return handle


def _not_closed(
    tokens: KipTokens, parts: tuple[str, ...], left: tuple[str, ...], *, is_first: bool
) -> MycelError:
    """The error for a token where the block should end.

    `parts` are the parts that SET starts; `left` are those that the block does not have yet.
    `is_first` is True if EXPECT VERSION was not read.
    """
    token, part = tokens.tokens[tokens.at : tokens.at + 2]
    if token == "SET" and part in {*_CONCEPT_PARTS, *_LINK_PARTS, "METADATA"}:
        expected = list_expected((*(f"`SET {clause}`" for clause in left), "}"))
        hints = {"METADATA": _METADATA, "WEIGHT": _order(parts)}
        if part not in parts:
            hints["WEIGHT"] = _NO_WEIGHT
        return fail(
            tokens,
            f"Expected {expected}, found `SET {part}`.",
            hints.get(part, _order(parts)),
            length=2,
        )
    if token == "WITH" and part == "METADATA":
        return unexpected(tokens, *(("SET",) if left else ()), "}", suggestion=_METADATA)
    version = ("EXPECT",) if is_first and left == parts else ()
    also = ("SET",) if left else ()
    return unexpected(tokens, *version, *also, "}", hint=misplaced(tokens, _order(parts)))


def _order(clauses: tuple[str, ...]) -> str:
    parts = ", ".join(f"SET {clause}" for clause in clauses)
    return (
        f"The order is EXPECT VERSION, {parts}, each at most once; WITH METADATA follows the `}}`."
    )


def _expect_version(tokens: KipTokens) -> ast.Number | None:
    if tokens.tokens[tokens.at] != "EXPECT":
        return None
    tokens.at += 1
    expect(tokens, "VERSION")
    return values.integer(tokens, "EXPECT VERSION", 0)


def _attributes(tokens: KipTokens) -> ast.Map | None:
    if tokens.tokens[tokens.at] != "SET":
        return None
    part = tokens.tokens[tokens.at + 1]
    if part == "ATTRIBUTES":
        tokens.at += 2
        return values.mapping(tokens, "SET ATTRIBUTES")
    if part in {"PROPOSITIONS", "METADATA", "WEIGHT"}:
        return None
    tokens.at += 1
    raise unexpected(tokens, "ATTRIBUTES", "PROPOSITIONS", hint="Write SET ATTRIBUTES { … }.")


def _weight(tokens: KipTokens) -> ast.Number | None:
    if tokens.tokens[tokens.at] != "SET" or tokens.tokens[tokens.at + 1] != "WEIGHT":
        return None
    tokens.at += 2
    return values.number(tokens, "SET WEIGHT")


def _propositions(tokens: KipTokens) -> tuple[ast.SetProposition, ...] | None:
    texts = tokens.tokens
    if texts[tokens.at] != "SET" or texts[tokens.at + 1] != "PROPOSITIONS":
        return None
    tokens.at += 2
    if texts[tokens.at] != "{":
        if texts[tokens.at][0] == "{":
            return _folded(tokens)
        raise unexpected(tokens, "{", hint=f"SET PROPOSITIONS {{ {_ENTRY} … }}.")
    tokens.at += 1
    entries: list[ast.SetProposition] = []
    while (token := texts[tokens.at]) != "}":
        if token != "(":
            hint = f"Entries are {_ENTRY}, one after another"
            hint += ", without commas." if token == "," else "."
            raise unexpected(tokens, "(", "}", *(("SET", "WITH") if entries else ()), hint=hint)
        entries.append(_entry(tokens))
    tokens.at += 1
    return tuple(entries)


def _folded(tokens: KipTokens) -> tuple[ast.SetProposition, ...]:
    """Entries that are one token (see `lexer`)."""
    at = tokens.at
    tokens.at = at + 1
    entries = []
    for match in _FOLDED_ENTRY.finditer(tokens.text, tokens.starts[at], tokens.ends[at]):
        start, end = match.span(1)
        predicate = ast.Literal(match[1], span=new_span(Span, start - 1 << END_BITS | end + 1))
        start, end = match.span(2)
        target = ast.Variable(match[2], span=new_span(Span, start - 1 << END_BITS | end))
        entries.append(ast.SetProposition(predicate, target, span=Span(*match.span())))
    return tuple(entries)


def _entry(tokens: KipTokens) -> ast.SetProposition:
    texts = tokens.tokens
    first = tokens.at
    tokens.at = first + 1
    if texts[tokens.at][0] in "?{(":
        raise unexpected(tokens, "a predicate in double quotes, or a placeholder", hint=_NO_SUBJECT)
    predicate = values.text(tokens, "a predicate")
    if texts[tokens.at] != ",":
        hint = (
            "Here the predicate is a single name: no hops and no alternatives."
            if texts[tokens.at] in {"{", "|"}
            else f"An entry is {_ENTRY}; the subject is the concept of the block."
        )
        raise unexpected(tokens, "`,` after the predicate", hint=hint)
    tokens.at += 1
    target = endpoint(tokens, 3, "target", exact=True)
    if texts[tokens.at] != ")":
        raise unexpected(tokens, ")", hint=_NO_SUBJECT if texts[tokens.at] == "," else None)
    tokens.at += 1
    weight = _weight(tokens)
    metadata = metadata_clause(tokens)
    return ast.SetProposition(predicate, target, metadata, weight, span=tokens.span(first))


def metadata_clause(tokens: KipTokens) -> ast.Map | None:
    """`WITH METADATA { … }`, if it comes next."""
    if tokens.tokens[tokens.at] != "WITH":
        return None
    tokens.at += 1
    expect(tokens, "METADATA", hint="Metadata is given by WITH METADATA { … }.")
    return values.mapping(tokens, "WITH METADATA")
