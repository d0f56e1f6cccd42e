"""Variables, paths, names, numbers and JSON values (KIP §2.7, §2.8).

A JSON value without placeholders becomes one `Literal` of the plain Python value; only containers
with a placeholder become templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from math import isfinite
from typing import Any, Final

import orjson

from mycel.errors import InvalidIdentifier, InvalidSyntax, MycelError
from mycel.kip import ast
from mycel.kip.lexer import STRING, KipTokens
from mycel.kip.syntax_errors import fail, too_deep, unexpected
from mycel.model.limits import INTEGER_MAX, INTEGER_MIN, JSON_INTEGER_MAX, NESTING_DEPTH_MAX
from mycel.model.names import is_identifier, shorten
from mycel.syntax.source import END_BITS, Span
from mycel.syntax.strings import string_value
from mycel.syntax.tokens import SHARED_LENGTH_MAX, new_span

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)

# For folded objects, in which no string has escapes.
_STRING: Final = re.compile(STRING)
_BARE_KEY: Final = re.compile(r"(?<=[{,\s])(\w++)(?=\s*+:)")
_STRING_OR_BARE_KEY: Final = re.compile(rf"{STRING}|(?<!\w)(\w++)(?=\s*+:)")

_BARE_HINT = (
    "Keys are identifiers (a letter or underscore, then letters, digits or underscores) or "
    "strings in double quotes."
)
_PATH = (
    "A letter or underscore follows `?` and each dot of a path, then letters, digits or underscores"
    ', without white space. Any other key is written in brackets: ?x.attributes["per day"].'
)
_LIMIT = (
    "LIMIT 1 returns one row. Leave LIMIT out to get all rows; FIND(COUNT(?x)) counts, and a dry"
    " run only checks the command."
)
BELIEF: Final = "belief"
"""The field of a link that BELIEF reads."""
_CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_TEMPLATES = (ast.Placeholder, ast.ArrayTemplate, ast.ObjectTemplate)


# Names.


def _learn(tokens: KipTokens, token: str) -> tuple[str, tuple[str, ...]]:
    """The name and the fields of a token that starts with `?`."""
    name, *fields = token[1:].split(".")
    for part in (name, *fields):
        if not is_identifier(part):
            raise fail(
                tokens,
                f"`{shorten(token)}` is not a valid {'path' if fields else 'variable'}.",
                _meant_path(tokens, token) or _PATH,
                error=InvalidIdentifier,
            )
    tokens.names[token] = name_and_fields = name, tuple(fields)
    return name_and_fields


def _meant_path(tokens: KipTokens, token: str) -> str | None:
    """A hint about `?d->name` and `?d.attributes.*`, where the token is the next one."""
    sign, field = tokens.tokens[tokens.at + 1 : tokens.at + 3]
    if token[-1] == "-" and sign == ">":
        base = shorten(token[:-1])
        fields = f"{base}.name, {base}.attributes.{field if is_identifier(field) else 'key'}"
        return f"A path is written with dots: {fields}."
    if token[-1] == "." and sign == "*":
        return f"Return the whole value: {shorten(token[:-1])}."
    return None


def variable(tokens: KipTokens, *, hint: str | None = None) -> ast.Variable:
    """`?name`, without a path."""
    at = tokens.at
    token = tokens.tokens[at]
    if token[0] != "?":
        raise unexpected(tokens, "a variable such as `?x`", hint=hint)
    name, fields = tokens.names.get(token) or _learn(tokens, token)
    if fields:
        raise fail(
            tokens,
            f"Expected a variable, found the path `{shorten(token)}`.",
            f"Write `?{shorten(name)}` here; paths are for FIND, FILTER, ORDER BY and UPDATE.",
        )
    tokens.at = at + 1
    return ast.Variable(name, span=tokens.span_at(at))


def path(tokens: KipTokens) -> ast.Path:
    """`?v`, `?v.field.field` or `?v.field["any key"]`, where the next token starts with `?`."""
    at = tokens.at
    token = tokens.tokens[at]
    name, fields = tokens.names.get(token) or _learn(tokens, token)
    tokens.at = at + 1
    start = tokens.starts[at]
    span = new_span(Span, start << END_BITS | tokens.ends[at])
    if tokens.tokens[at + 1] == "[":
        fields = (*fields, *_keys(tokens))
        span = tokens.span(at)
    if not fields:
        return ast.Path(ast.Variable(name, span=span), span=span)
    head = new_span(Span, start << END_BITS | start + 1 + len(name))
    return ast.Path(ast.Variable(name, span=head), fields, span=span)


def belief(tokens: KipTokens) -> ast.Path:
    """`BELIEF(?l)`, where the next token is its name: the same as `?l.belief`."""
    first = tokens.at
    tokens.at = first + 1
    hint = "BELIEF takes the variable of a link: BELIEF(?l)."
    if tokens.tokens[tokens.at] != "(":
        raise unexpected(tokens, "(", hint=hint)
    tokens.at += 1
    link = variable(tokens, hint=hint)
    if tokens.tokens[tokens.at] != ")":
        raise unexpected(tokens, ")", hint=hint)
    tokens.at += 1
    return ast.Path(link, (BELIEF,), span=tokens.span(first))


def _keys(tokens: KipTokens) -> Iterator[str]:
    """The rest of a path from its first bracket on: `["any key"]` and `.field.field`."""
    texts = tokens.tokens
    while (sign := texts[tokens.at]) in {"[", "."}:
        tokens.at += 1
        token = texts[tokens.at]
        if sign == "[":
            if token[0] != '"':
                hint = "A path does not reach into an array; return the whole array."
                if is_identifier(token):
                    hint = f'Put the key into double quotes: ["{token}"].'
                raise unexpected(tokens, "a key in double quotes", hint=hint)
            yield string_at(tokens, tokens.at)
            tokens.at += 1
            if texts[tokens.at] != "]":
                raise unexpected(tokens, "]")
        else:
            names = token.split(".")
            if not all(map(is_identifier, names)):
                raise unexpected(tokens, "the next key of the path")
            yield from names
        tokens.at += 1


def placeholder(tokens: KipTokens) -> ast.Placeholder:
    """`:name`, where the next token is the colon."""
    at = tokens.at
    name = tokens.tokens[at + 1]
    if tokens.starts[at + 1] != tokens.ends[at]:
        raise unexpected(tokens, "a value", hint="A placeholder is written `:name`.")
    if not is_identifier(name):
        raise fail(
            tokens,
            f"`:{shorten(name.strip())}` is not a valid placeholder.",
            "A letter or underscore follows `:`, then letters, digits or underscores.",
            error=InvalidIdentifier,
            length=2,
        )
    tokens.at = at + 2
    return ast.Placeholder(name, span=Span(tokens.starts[at], tokens.ends[at + 1]))


# Strings and numbers.


string_at: Final = partial(string_value, InvalidSyntax)
"""The value of the string token at a place."""


def number_at(tokens: KipTokens, at: int) -> int | float:
    """The value of the number token at a place."""
    token = tokens.tokens[at]
    if len(token) < 19 and token.isdigit() and token.isascii() and token[0] != "0":
        return int(token)
    match = _NUMBER.fullmatch(token)
    if match is None:
        raise fail(
            tokens,
            f"`{shorten(token)}` is not a number.",
            "Numbers are JSON numbers: no leading zeros or plus sign, digits on both sides of the "
            "dot. Dates and other texts are in double quotes.",
            at=at,
        )
    if match.lastindex is None:
        value = int(token) if len(token) <= 20 else JSON_INTEGER_MAX + 1
        if not INTEGER_MIN <= value <= JSON_INTEGER_MAX:
            raise _too_large(tokens, at)
        return value
    real = float(token)
    if not isfinite(real):
        raise fail(
            tokens,
            "The number is too large.",
            "The largest magnitude is about 1.8e308; write larger ones as strings.",
            at=at,
        )
    return real


def _too_large(tokens: KipTokens, at: int) -> MycelError:
    return fail(
        tokens,
        "The integer does not fit 64 bits.",
        "Write it as a string, or as a floating-point number such as 1e20.",
        at=at,
    )


def text(tokens: KipTokens, label: str) -> ast.Text:
    """A string, or a placeholder for one."""
    at = tokens.at
    token = tokens.tokens[at]
    if token[0] == '"':
        tokens.at = at + 1
        value = string_at(tokens, at)
        if len(value) <= SHARED_LENGTH_MAX:
            value = tokens.strings.setdefault(value, value)
        return ast.Literal(value, span=tokens.span_at(at))
    if token == ":":
        return placeholder(tokens)
    raise unexpected(tokens, f"{label} in double quotes, or a placeholder")


def is_number(token: str) -> bool:
    """True for a token that is a number, or begins like one."""
    return token[0] in "0123456789" or (token[0] in "-+." and len(token) > 1)


def integer(tokens: KipTokens, label: str, minimum: int) -> ast.Number:
    """An integer that is at least `minimum`, or a placeholder for one."""
    at = tokens.at
    token = tokens.tokens[at]
    if token == ":":
        return placeholder(tokens)
    kind = "a positive integer" if minimum else "an integer from 0 up"
    if not is_number(token):
        hint = "Write the number without quotes." if token[0] == '"' else None
        raise unexpected(tokens, f"{kind} or a placeholder after {label}", hint=hint)
    value = number_at(tokens, at)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON has one kind of number: 3.0 is 3.
    if not isinstance(value, int) or value < minimum:
        raise fail(
            tokens,
            f"{label} takes {kind}, not {shorten(token)}.",
            _LIMIT if label == "LIMIT" else None,
        )
    if value > INTEGER_MAX:  # Only JSON values may have 64 bits without a sign.
        raise _too_large(tokens, at)
    tokens.at = at + 1
    return ast.Literal(value, span=tokens.span_at(at))


def number(tokens: KipTokens, label: str) -> ast.Number:
    """A number, or a placeholder for one."""
    at = tokens.at
    token = tokens.tokens[at]
    if token == ":":
        return placeholder(tokens)
    if not is_number(token):
        raise unexpected(tokens, f"a number or a placeholder {label}")
    value = number_at(tokens, at)
    tokens.at = at + 1
    return ast.Literal(value, span=tokens.span_at(at))


# JSON values.


def value(tokens: KipTokens) -> ast.Value:
    """Any JSON value, with placeholders in the place of values."""
    first = tokens.at
    content = _json(tokens, 0)
    if isinstance(content, _TEMPLATES):
        return content
    return ast.Literal(content, span=tokens.span(first))


def mapping(tokens: KipTokens, label: str) -> ast.Map:
    """An object, or a placeholder for one."""
    at = tokens.at
    token = tokens.tokens[at]
    if token not in {"{", ":"}:
        if token[0] != "{":
            raise unexpected(tokens, f"`{{` or a placeholder after {label}")
        tokens.at = at + 1
        return ast.Literal(_unfolded(tokens, token), span=tokens.span(at))
    return value(tokens)  # type: ignore[return-value]  # An array cannot start with a brace.


def _unfolded(tokens: KipTokens, token: str) -> dict[str, Any]:
    """The object of a folded token (see `lexer`). Raises an error if a key is given twice."""
    starts_quoted = token[1:].lstrip()[:1] == '"'
    try:
        # The text is split at the bare keys and joined again with quotes around each key.
        members: dict[str, Any] = orjson.loads(
            token if starts_quoted else '"'.join(_BARE_KEY.split(token))
        )
    except orjson.JSONDecodeError:
        members = {}
    if members and token.count(":") == len(members):
        return members
    # The object mixes quoted and bare keys, or strings have colons.
    members = orjson.loads(_STRING_OR_BARE_KEY.sub(_quoted, token))
    if _STRING.sub("", token).count(":") != len(members):
        # Never shown: `parse` parses again without folding.
        raise unexpected(tokens, "a plain object")
    return members


def _quoted(match: re.Match[str]) -> str:
    return f'"{match[1]}"' if match[1] else match[0]


def _json(tokens: KipTokens, depth: int) -> Any:
    """A plain Python value, or a node when there is a placeholder in it."""
    at = tokens.at
    token = tokens.tokens[at]
    first = token[0]
    if first == '"':
        content: Any = string_at(tokens, at)
    elif first == "{":
        return _object(tokens, depth + 1)
    elif first == "[":
        return _array(tokens, depth + 1)
    elif token == ":":
        return placeholder(tokens)
    elif token in _CONSTANTS:
        content = _CONSTANTS[token]
    elif is_number(token):
        content = number_at(tokens, at)
    else:
        raise unexpected(tokens, "a JSON value or a placeholder")
    tokens.at = at + 1
    return content


def _array(tokens: KipTokens, depth: int) -> Any:
    if depth > NESTING_DEPTH_MAX:
        raise too_deep(tokens)
    texts = tokens.tokens
    opened = tokens.at
    tokens.at = opened + 1
    items: list[Any] = []
    places: list[int] = []
    plain = True
    while texts[tokens.at] != "]":
        places.append(tokens.at)
        item = _json(tokens, depth)
        items.append(item)
        if isinstance(item, _TEMPLATES):
            plain = False
        token = texts[tokens.at]
        if token == ",":
            tokens.at += 1
        elif token != "]":
            raise unexpected(tokens, ",", "]")
    tokens.at += 1
    if plain:
        return items
    # The text of an item ends where the next item begins; its span leaves out the comma.
    return ast.ArrayTemplate(
        tuple(_wrapped(tokens, item, place) for item, place in zip(items, places, strict=True)),
        span=tokens.span(opened),
    )


def _object(tokens: KipTokens, depth: int) -> Any:
    if depth > NESTING_DEPTH_MAX:
        raise too_deep(tokens)
    texts = tokens.tokens
    opened = tokens.at
    tokens.at = opened + 1
    entries: dict[str, Any] = {}
    places: list[int] = []
    plain = True
    while (token := texts[tokens.at]) != "}":
        name = key(tokens, token, entries)
        places.append(tokens.at)
        item = entries[name] = _json(tokens, depth)
        if isinstance(item, _TEMPLATES):
            plain = False
        token = texts[tokens.at]
        if token == ",":
            tokens.at += 1
        elif token != "}":
            raise unexpected(tokens, ",", "}")
    tokens.at += 1
    if plain:
        return entries
    return ast.ObjectTemplate(
        tuple(
            (name, _wrapped(tokens, item, place))
            for (name, item), place in zip(entries.items(), places, strict=True)
        ),
        span=tokens.span(opened),
    )


def key(tokens: KipTokens, token: str, members: dict[str, Any]) -> str:
    """A key of an object, quoted or bare and not in `members`, and the colon after it."""
    at = tokens.at
    if token[0] == '"':
        name = string_at(tokens, at)
    elif is_identifier(token):
        name = token
    elif token[0].isalnum() or token[0] == "$":
        message = f"`{shorten(token)}` is not a valid key."
        raise fail(tokens, message, _BARE_HINT, error=InvalidIdentifier)
    else:
        raise unexpected(tokens, "a key", "}")
    if name in members:
        raise fail(tokens, f"The key `{shorten(name)}` is given twice.", "Keep one of the two.")
    tokens.at = at + 1
    if tokens.tokens[at + 1] != ":":
        raise unexpected(tokens, ":", hint="Write a colon between a key and its value.")
    tokens.at = at + 2
    return name


def _wrapped(tokens: KipTokens, item: Any, place: int) -> ast.Value:
    if isinstance(item, _TEMPLATES):
        return item
    return ast.Literal(item, span=Span(tokens.starts[place], tokens.ends[_last(tokens, place)]))


def _last(tokens: KipTokens, place: int) -> int:
    """The last token of a value that starts at a place: its only token, or its closing bracket."""
    at, depth = place, 0
    while True:
        token = tokens.tokens[at]
        if token in {"{", "["}:
            depth += 1
        elif token in {"}", "]"}:
            depth -= 1
        if depth == 0:
            return at
        at += 1
