"""Errors about the text of a schema, each with advice.

The parser only reports what it expected. This module examines the unexpected token, which may be a
word of another language, a needless separator, a sign after a forgotten sign, or an open bracket.
Every function returns the error, for the parser to raise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from mycel.errors import SchemaError, did_you_mean
from mycel.model.limits import IDENTIFIER_BYTES_MAX
from mycel.model.names import shorten
from mycel.schema.foreign_words import DECLARATIONS, EXTENDING, FOREIGN_SCALARS, MODIFIERS, OPENINGS
from mycel.schema.lexer import SchemaTokens
from mycel.schema.scalars import SCALARS
from mycel.syntax import token_errors
from mycel.syntax.strings import broken_string, is_broken
from mycel.syntax.token_errors import about_end, about_invisible, close_it, error_at, open_brackets
from mycel.syntax.tokens import END

KEYWORDS: Final = ("node", "edge", "interface")
CONSTRAINTS: Final = ("key", "unique", "index", "range", "check")

_NAMES_OF_TYPES: Final = [*SCALARS, "enum"]
_TYPES: Final = (
    f"The types are {', '.join(SCALARS)}(n), enum(a, b) or a list such as [String], each perhaps"
    " followed by `?`."
)
_LISTED: Final = [name for name, traits in SCALARS.items() if traits.in_lists]
_ARGUMENTS: Final = {"range": "0..100", "check": '"pattern"'}
_PROPERTY_UNQUOTED: Final = "Write names of properties without quotes."


def fail(
    tokens: SchemaTokens,
    message: str,
    hint: str | None = None,
    *,
    at: int | None = None,
    length: int = 1,
) -> SchemaError:
    """An error at the next token, or at `length` tokens from `at` on."""
    return error_at(SchemaError, tokens, message, hint, at, length)


def unexpected(
    tokens: SchemaTokens,
    expected: str,
    hint: str | None = None,
    hints: Mapping[str, str] | None = None,
) -> SchemaError:
    """The error for an unexpected token; `hints` are for certain tokens, `hint` for others.

    A character that has no meaning in a schema gets its own hint.
    """
    token = tokens.next
    if _is_string(token, broken=True):
        return broken_string(SchemaError, tokens, tokens.at)
    if token.startswith("/*"):
        return fail(tokens, "The comment is not closed.", "Close it with `*/`.")
    hint = _about_character(tokens, token) or (hints or {}).get(token, hint)
    return fail(
        tokens,
        f"Expected {expected}, found {format_token(token)}.",
        hint or about_end(tokens, token),
    )


def format_token(token: str) -> str:
    """A token for a message."""
    return token_errors.describe_token(token, "schema")


def _is_string(token: str, *, broken: bool = False) -> bool:
    return token[0] == '"' and is_broken(token) == broken


def _about_character(tokens: SchemaTokens, token: str) -> str | None:
    """Advice about a sign that has no meaning in a schema."""
    if tokens.text.startswith("```", tokens.starts[tokens.at]):
        return "Remove the Markdown fence."
    if token == "#" or token.startswith("--"):
        return "Comments start with `//` and end with the line, or are between `/*` and `*/`."
    if token == "'":
        return 'Write strings in double quotes: "…".'
    return about_invisible(token)


# Names.


def is_ident(token: str) -> bool:
    """True if a token is a name for a property or an annotation."""
    return (
        (token[0] == "_" or "a" <= token[0] <= "z")
        and token.isascii()
        and token.isidentifier()
        and not too_long(token)
    )


def too_long(token: str) -> bool:
    """True if a name is too long."""
    return len(token) > IDENTIFIER_BYTES_MAX


def name_too_long(tokens: SchemaTokens) -> SchemaError:
    message = f"The name is longer than {IDENTIFIER_BYTES_MAX} characters."
    return fail(tokens, message, "Choose a shorter one.")


def _no_name(
    tokens: SchemaTokens, noun: str, better: str, start: str, *, is_better: bool
) -> SchemaError:
    """The error for a word that cannot be the name of a type or property."""
    if too_long(tokens.next):
        return name_too_long(tokens)
    return fail(
        tokens,
        f"`{shorten(tokens.next, 40)}` is not a name for a {noun}.",
        (f"Write {better}. " if is_better else "")
        + f"Names of {noun.replace('property', 'propertie')}s start with {start}, then letters,"
        " digits or underscores.",
    )


# Declarations.


def no_declaration(tokens: SchemaTokens) -> SchemaError:
    """The error if no declaration starts here."""
    token, word = tokens.next, tokens.next.lower()
    before = tokens.tokens[tokens.at - 1] if tokens.at else ""
    hint = None
    if token in {",", ";"}:
        hint = "Nothing separates declarations; remove it."
    elif token != word and word in KEYWORDS:
        hint = f"Keywords are in lower case: write `{word}`."
    elif word in DECLARATIONS:
        hint = f"Write `{DECLARATIONS[word]}` instead of `{token}`."
    elif token == "@" and before == "}":
        hint = "Write annotations of a type before its body."
    elif token == "@" and before:
        hint = "After `@name` or `@name(value)` of an edge comes its body or the next declaration."
    elif token[0].isalpha():
        hint = OPENINGS.get(word) or did_you_mean(token, list(KEYWORDS)) or None
    return unexpected(tokens, "`node`, `edge` or `interface`", hint)


def no_type_name(tokens: SchemaTokens, expected: str) -> SchemaError:
    """The error if the name of a type is missing."""
    token = tokens.next
    if not (token[0].isalnum() or token[0] in "_$"):
        hint = "Names of types start with a capital letter, such as Person."
        if _is_string(token):
            hint = "Write names without quotes."
        return unexpected(tokens, expected, None if token == END else hint)
    better = token[0].upper() + token[1:]
    is_better = better.isascii() and better.isidentifier() and better[0].isalpha()
    return _no_name(tokens, "type", better, "a capital letter (A to Z)", is_better=is_better)


def no_body(tokens: SchemaTokens, kind: str, name: str, *, implements: bool) -> SchemaError:
    """The error if the body of a node or an interface does not start here."""
    token = tokens.next
    expected = "`{`" if kind == "interface" or implements else "`implements` or `{`"
    hint = f"Every {kind} has a body, even if it is empty: {kind} {name} {{}}."
    if kind == "interface" and token in {*EXTENDING, "implements", ":"}:
        hint = "An interface cannot implement another one; a node may implement several."
    elif token == "@":
        hint = "Write annotations of a node before `implements`."
    elif token in EXTENDING or token in {":", "<"}:
        hint = f"Write `node {name} implements Interface {{`."
    elif implements and token[:1].isupper():
        hint = "Put a comma between the interfaces."
    elif token == "(":
        hint = f"Write the properties in braces: {kind} {name} {{ … }}."
    return unexpected(tokens, expected, hint)


def no_edge_colon(tokens: SchemaTokens, name: str) -> SchemaError:
    """The error if no colon follows the name of an edge."""
    hint = f"An edge is written `edge {name}: From -> To`."
    return unexpected(tokens, "`:`", hint, {"@": f"{hint} Its annotations come after the types."})


def no_arrow(tokens: SchemaTokens, name: str, from_type: str) -> SchemaError:
    """The error if there is no arrow between the types of an edge."""
    to_type = tokens.next if tokens.next[:1].isupper() else "To"
    one_way = f"An edge leads from left to right: `edge {name}: To -> {from_type}`."
    hint = f"Write `edge {name}: {from_type} -> {to_type}`."
    return unexpected(tokens, "`->`", hint, {"<": one_way})


# Members of bodies.


def no_member(tokens: SchemaTokens, kind: str) -> SchemaError:
    """The error if neither a property nor a constraint nor the end of a body is here."""
    token, following = tokens.next, tokens.tokens[tokens.at + 1]
    expected = "a property or `}`" if kind == "interface" else "a property, a constraint or `}`"
    if _is_string(token) and following == ":":
        return unexpected(tokens, expected, _PROPERTY_UNQUOTED)
    if not (token[0].isalnum() or token[0] in "_$-"):
        return unexpected(tokens, expected, _about_sign(tokens, token))
    if is_ident(token):
        return _after_name(tokens, token, following)
    better = token[0].lower() + token[1:]
    start = "a small letter or an underscore"
    return _no_name(tokens, "property", better, start, is_better=is_ident(better))


def _about_sign(tokens: SchemaTokens, token: str) -> str | None:
    before = tokens.tokens[tokens.at - 1]
    if token == "?" and before == "?":
        return "One `?` is enough."
    if token == "?" and is_ident(tokens.tokens[tokens.at + 1]):
        return "The `?` of a property that may be absent comes after its type: `age: I32?`."
    if token in {"[", "("} and not is_ident(before) and is_ident(tokens.tokens[tokens.at + 1]):
        name = tokens.tokens[tokens.at + 1]
        return f"Write the name without brackets, which belong to the type: `{name}: [String]`."
    separator = "Only white space separates properties; remove it."
    return {
        ",": separator,
        ";": separator,
        "!": "Without `?` a property is required already; remove the `!`.",
        "=": "A default is an annotation: `@default(…)`.",
        "|": "A property that may be absent has a `?` after its type: `age: I32?`.",
        "[": f"A list is written with its scalar inside: [{before}].",
        "(": "This type has no argument.",
    }.get(token)


def _after_name(tokens: SchemaTokens, name: str, following: str) -> SchemaError:
    """The error if no colon follows the name of a property."""
    opened = open_brackets(tokens) or [0]
    after = tokens.tokens[tokens.at + 2]
    tokens.at += 1
    hint = f"A property is written `{name}: Type`."
    if name in KEYWORDS and following[:1].isupper() and after in {"{", ":", "@", "implements"}:
        hint = f"{close_it(tokens, opened[-1])} first."
    elif following == "?" and after == ":":
        hint = f"The `?` comes after the type: `{name}: Type?`."
    elif name in MODIFIERS and is_ident(following):
        hint = "Write nothing before the name: `?` after the type makes a property nullable, and"
        hint += " `@key`, `@unique`, `@index` come after that."
    elif following[:1].isupper() or following in {"[", "enum"}:
        hint = f"A colon is missing: put `:` before {format_token(following)}."
    elif name == "implements":
        hint = "Write `implements` before the `{` of the node."
    return unexpected(tokens, "`:`", hint)


# Types of values.


def no_type(tokens: SchemaTokens, *, in_list: bool = False) -> SchemaError:
    """The error if the type of a property is missing."""
    token, following = tokens.next, tokens.tokens[tokens.at + 1]
    if not token[0].isalpha():
        hints = {"?": "The `?` comes after the type: `age: I32?`."}
        if in_list:
            hints["["] = "A list holds scalars, not lists."
        hint = "Write a type without quotes." if _is_string(token) else _TYPES
        return unexpected(tokens, "a scalar" if in_list else "a type", hint, hints)
    if in_list and token in _NAMES_OF_TYPES:
        hint = f"A list holds {', '.join(_LISTED[:-1])} or {_LISTED[-1]}."
        return fail(tokens, f"There are no lists of {token}.", hint)
    name, suggestion = shorten(token, 40), FOREIGN_SCALARS.get(token.lower())
    if following == "<":
        hint = "A list is written [String], a vector Vector(768)."
    elif suggestion is not None:
        hint = f"Write {suggestion}."
    elif close := did_you_mean(token, list(_NAMES_OF_TYPES)):
        hint = f"{close} {_TYPES}"
    else:
        is_node = token[0].isupper()
        edge = f" A link to another node is an edge: edge Name: From -> {name}." if is_node else ""
        hint = f"{_TYPES}{edge}"
    return fail(tokens, f"`{name}` is not a type of values.", hint)


def no_list_end(tokens: SchemaTokens, scalar: str) -> SchemaError:
    """The error if the bracket of a list is not closed."""
    hints = {
        "?": f"The items of a list are never null, but the list may be absent: [{scalar}]?.",
        ",": "A list has one type of items.",
    }
    return unexpected(tokens, "`]`", None, hints)


def no_enum_value(tokens: SchemaTokens) -> SchemaError:
    """The error if a value of an enum is missing."""
    token = tokens.next
    values = "Values are letters, digits, `_` and `-`, without quotes"
    hint = f"{values}: enum(open, in-progress)."
    if token == ")":
        is_last = tokens.tokens[tokens.at - 1] == ","
        hint = "Remove the last comma." if is_last else "An enum has at least one value."
    elif _is_string(token):
        hint = f"{values}: write {shorten(token[1:-1], 40)}."
        if not re.fullmatch(r"[A-Za-z0-9_-]+", token[1:-1]):
            hint = f"{values}; make the property a String with @check for other texts."
    return unexpected(tokens, "a value of the enum", hint)


def no_separator(tokens: SchemaTokens, place: str) -> SchemaError:
    """The error if neither a comma nor a closing parenthesis is here."""
    token = tokens.next
    hint = None
    if token != END and (token[0].isalnum() or token[0] == "_"):
        hint = f"A comma is missing: put `,` before {format_token(token)}."
    elif token == "?" and place == "column":
        hint = "Constraints name properties alone; `?` belongs to their types."
    return unexpected(tokens, "`,` or `)`", hint)


# Annotations and constraints.


def no_annotation(tokens: SchemaTokens) -> SchemaError:
    """The error if the name of an annotation is missing."""
    hint = "An annotation is written @name or @name(value)."
    if tokens.next[:1].isalpha():
        if too_long(tokens.next):
            return name_too_long(tokens)
        hint = "Names of annotations start with a small letter or an underscore, then letters,"
        hint += " digits or underscores."
    return unexpected(tokens, "the name of an annotation", hint)


def no_value(tokens: SchemaTokens, name: str) -> SchemaError:
    """The error if the value of an annotation is missing."""
    token = tokens.next
    hint = f'The value is a string in double quotes, a number or a name: @{name}("…").'
    if token[:1].isalpha():
        hint = f'Put text into double quotes: @{name}("{shorten(token, 40)}").'
    hints = {
        ")": f"Without a value, leave out the parentheses: @{name}.",
        "[": "Lists have no default, and annotations take no lists.",
    }
    return unexpected(tokens, "a value", hint, hints)


def misplaced_constraint(tokens: SchemaTokens, name: str, kind: str) -> SchemaError:
    """The error for a constraint among the annotations of a type."""
    if name == "card":
        return misplaced_card(tokens, kind)
    if kind == "interface":
        hint = _interface_hint(name)
    elif kind == "node" or name in {"unique", "index"}:
        hint = f"Put it into the body: {_example(name)}."
    else:
        hint = "Edges take @unique and @index only, in their body."
    return fail(tokens, f"@{name} is a constraint, not an annotation of a type.", hint, length=2)


def _example(name: str, property_: str = "property") -> str:
    """An example of a constraint in a body."""
    rest = f", {_ARGUMENTS[name]}" if name in _ARGUMENTS else ""
    return f"@{name}({property_}{rest})"


def misplaced_card(tokens: SchemaTokens, kind: str) -> SchemaError:
    """The error for `@card` in a wrong place; the next token is its `@`."""
    message, hint = (
        "@card is for edges only.",
        "It bounds the number of edges that leave one source:",
    )
    if kind == "edge":
        message, hint = "@card cannot be here.", "Write it once, right after the target:"
    return fail(tokens, message, f"{hint} edge Name: From -> To @card(0..1).", length=2)


def constraint_in_interface(tokens: SchemaTokens, name: str) -> SchemaError:
    """The error for a constraint in the body of an interface."""
    message = "The body of an interface holds properties only."
    return fail(tokens, message, _interface_hint(name), length=2)


def _interface_hint(name: str) -> str:
    if name in _ARGUMENTS:
        return "Put it into the nodes that implement the interface."
    return f"Put @{name} after one of its properties: `name: String @{name}`."


def no_constraint(tokens: SchemaTokens, kind: str) -> SchemaError:
    """The error if no constraint follows an `@` in a body."""
    name = tokens.tokens[tokens.at + 1]
    if name == "card":
        return misplaced_card(tokens, kind)
    if name in CONSTRAINTS:
        tokens.at += 2
        return unexpected(tokens, "`(`", f"In a body, write {_example(name)}.")
    expected = "@unique or @index" if kind == "edge" else "@key, @unique, @index, @range or @check"
    close = did_you_mean(name, list(CONSTRAINTS)) if name[0].isalpha() else ""
    hint = (
        f"{close} Write {expected}. Annotations of the {kind} come before its body, those of a"
        " property after its type."
    )
    message = f"@{shorten(name.strip(), 40)} is not a constraint."
    return fail(tokens, message, hint.strip(), length=2)


def edge_constraint(tokens: SchemaTokens, name: str) -> SchemaError:
    """The error for a constraint in the body of an edge that only nodes may have."""
    hint = "Edges take @unique and @index, over their properties, `src` and `dst`."
    return fail(tokens, f"@{name} is for nodes only.", hint, length=2)


def no_column(tokens: SchemaTokens, name: str) -> SchemaError:
    """The error if the name of a property is missing in a constraint."""
    token = tokens.next
    hint = f"Write {_example(name)}."
    if token == ")":
        hint = "Remove the last comma." if tokens.tokens[tokens.at - 1] == "," else hint
    elif name in _ARGUMENTS and (property_ := _property_before(tokens)):
        hint = f"Name the property first: {_example(name, property_)}."
    elif _is_string(token):
        hint = _PROPERTY_UNQUOTED
    elif token == "[":
        hint = f"Name the properties without brackets: @{name}(a, b)."
    return unexpected(tokens, "the name of a property", hint)


def _property_before(tokens: SchemaTokens) -> str | None:
    """The property before a constraint that should have named it."""
    for at in range(tokens.at - 1, 0, -1):
        if tokens.tokens[at] in {"{", "}"}:
            return None
        if tokens.tokens[at] == ":" and is_ident(tokens.tokens[at - 1]):
            return tokens.tokens[at - 1]
    return None


def no_comma(tokens: SchemaTokens, name: str) -> SchemaError:
    """The error if the second argument of `@range` or `@check` is missing."""
    return unexpected(tokens, "`,`", f"Write {_example(name, tokens.tokens[tokens.at - 1])}.")


def no_bounds(tokens: SchemaTokens, name: str, example: str) -> SchemaError:
    """The error if the bounds of `@range` or `@card` are missing."""
    hints = {"-": "Bounds are joined by two dots: 0..100."}
    if name == "card":
        hints[".."] = "A minimum comes before the dots: @card(0..1)."
    expected = "a whole number" if name == "card" else "a number or `..`"
    return unexpected(tokens, expected, f"Write @{name}({example}).", hints)


def no_dots(tokens: SchemaTokens, name: str, number: str) -> SchemaError:
    """The error if the two dots between bounds are missing."""
    hint = "Bounds are joined by two dots, and either may be left out: 0..100, 0.., ..100."
    if name == "card":
        hint = (
            f"Write @card({number}..{number}) for exactly {number}, @card(0..{number}) for at most."
        )
    return unexpected(tokens, "`..`", hint)


# Numbers.


def bad_number(tokens: SchemaTokens) -> SchemaError:
    """The error for a token that looks like a number but is not valid."""
    return fail(
        tokens,
        f"{format_token(tokens.next)} is not a number.",
        "Numbers look like 5, -3, 0.25 or 1e-9: no leading zeros, no plus sign, digits on both"
        " sides of a dot. Write other texts in double quotes.",
    )
