"""What is wrong with the text of a schema, and what to write instead.

The parser only says what it expected. Here, where speed no longer matters, the token it found is
looked at: is it a word of another language, a separator that is not needed, a sign forgotten, a
bracket left open? Every function returns the error, for the parser to raise.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category
from unicodedata import name as character_name

from mycel.errors import SchemaError, did_you_mean
from mycel.model.limits import IDENTIFIER_BYTES_MAX
from mycel.model.names import shorten
from mycel.schema.foreign_words import DECLARATIONS, EXTENDING, MODIFIERS, OPENINGS, SCALARS
from mycel.schema.lexer import Tokens
from mycel.syntax import strings
from mycel.syntax.diagnostics import locate
from mycel.syntax.source import Source, Span
from mycel.syntax.strings import is_broken
from mycel.syntax.tokens import END

KEYWORDS: Final = ("node", "edge", "interface")
CONSTRAINTS: Final = ("key", "unique", "index", "range", "check")

_TYPES: Final = (
    "String, Blob, Bool, I32, I64, U32, U64, F32, F64, Date, DateTime, Vector(n), enum(a, b) or a"
    " list such as [String], each perhaps followed by `?`"
)
_NAMES_OF_TYPES: Final = (
    "String Blob Bool I32 I64 U32 U64 F32 F64 Date DateTime Vector enum".split()  # noqa: SIM905
)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


def fail(
    tokens: Tokens, message: str, hint: str | None = None, *, at: int | None = None, length: int = 1
) -> SchemaError:
    """An error at the next token, or at `length` tokens from `at` on."""
    first = tokens.at if at is None else at
    span = Span(tokens.starts[first], tokens.ends[first + length - 1])
    # A place for the caret even at the end of the text.
    span = Span(span.start, max(span.end, span.start + 1))
    return locate(SchemaError, message, tokens.text, span, hint)


def unexpected(tokens: Tokens, expected: str, hint: str | None = None) -> SchemaError:
    """The next token is not what was expected; `hint` is what the parser has to say about it."""
    token = tokens.tokens[tokens.at]
    if token[0] == '"' and is_broken(token):
        return broken_string(tokens, tokens.at)
    if token.startswith("/*"):
        return fail(tokens, "The comment is not closed.", "Close it with `*/`.")
    advice = _about_character(tokens, token) or hint or _about_end(tokens, token)
    return fail(tokens, f"Expected {expected}, found {shown(token)}.", advice)


def shown(token: str) -> str:
    """A token in a message."""
    if token == END:
        return "the end of the schema"
    return shorten(token, 40) if token[0] == '"' else f"`{shorten(token, 40)}`"


def _about_character(tokens: Tokens, token: str) -> str | None:
    """A sign that means nothing in a schema."""
    if tokens.text.startswith("```", tokens.starts[tokens.at]):
        return "Remove the Markdown fence."
    if token == "#" or token.startswith("--"):
        return "Comments start with `//` and end with the line, or stand between `/*` and `*/`."
    if token == "'":
        return 'Strings stand in double quotes: "…".'
    if len(token) == 1 and not token.isascii() and category(token)[0] in "CZ":
        label = character_name(token, "no character")
        return f"U+{ord(token):04X} ({label}) is no white space here; remove it."
    return None


def _about_end(tokens: Tokens, token: str) -> str | None:
    """A bracket that is still open where the text ends, or where another one closes."""
    if token != END and token not in _CLOSING.values():
        return None
    bracket_at = _open_bracket(tokens)
    if bracket_at is None:
        return "There is no bracket left to close; remove it." if token != END else None
    bracket = tokens.tokens[bracket_at]
    if token == _CLOSING[bracket]:
        return None
    line, column = Source(tokens.text).position(tokens.starts[bracket_at])
    return (
        f"Close the `{bracket}` of line {line}, column {column} with `{_CLOSING[bracket]}` first."
    )


def _open_bracket(tokens: Tokens) -> int | None:
    """Where the bracket stands that is open at the next token."""
    open_at: list[int] = []
    for at, each in enumerate(tokens.tokens[: tokens.at]):
        if each in _CLOSING:
            open_at.append(at)
        elif each in _CLOSING.values() and open_at:
            open_at.pop()
    return open_at[-1] if open_at else None


# Declarations.


def no_declaration(tokens: Tokens) -> SchemaError:
    """A declaration should start here."""
    token = tokens.tokens[tokens.at]
    word = token.lower()
    expected = "`node`, `edge` or `interface`"
    before = tokens.tokens[tokens.at - 1] if tokens.at else ""
    hint = None
    if token in {",", ";"}:
        hint = "Nothing stands between declarations; remove it."
    elif token != word and word in KEYWORDS:
        hint = f"Keywords are in lower case: write `{word}`."
    elif word in DECLARATIONS:
        hint = f"Write `{DECLARATIONS[word]}` instead of `{token}`."
    elif word in OPENINGS:
        hint = OPENINGS[word]
    elif token == "@" and before == "}":
        hint = "Annotations of a type stand before its body."
    elif token == "@" and before:
        hint = "After `@name` or `@name(value)` of an edge stands its body or the next declaration."
    elif token[0].isalpha():
        hint = did_you_mean(token, list(KEYWORDS)) or None
    return unexpected(tokens, expected, hint)


def no_type_name(tokens: Tokens, what: str) -> SchemaError:
    """The name of a type should stand here."""
    token = tokens.tokens[tokens.at]
    if not (token[0].isalpha() or token[0] in "_$" or token[0].isdigit()):
        if token[0] == '"' and not is_broken(token):
            return unexpected(tokens, what, "Names stand without quotes.")
        hint = "Names of types start with a capital letter, such as Person."
        return unexpected(tokens, what, None if token == END else hint)
    if too_long(token):
        return name_too_long(tokens)
    better = token[0].upper() + token[1:]
    is_right = better.isascii() and better.isidentifier() and better[0].isalpha()
    hint = f"Write {better}. " if is_right else ""
    return fail(
        tokens,
        f"`{shorten(token, 40)}` is no name for a type.",
        f"{hint}Names of types start with a capital letter (A to Z), then letters, digits or"
        " underscores.",
    )


def too_long(token: str) -> bool:
    """Whether a name is longer than names may be."""
    return len(token) > IDENTIFIER_BYTES_MAX


def name_too_long(tokens: Tokens, at: int | None = None) -> SchemaError:
    """A name is longer than names may be."""
    return fail(
        tokens,
        f"The name is longer than {IDENTIFIER_BYTES_MAX} characters.",
        "Choose a shorter one.",
        at=at,
    )


def no_body(tokens: Tokens, kind: str, name: str, *, implements: bool) -> SchemaError:
    """The body of a node or an interface should start here."""
    token = tokens.tokens[tokens.at]
    expected = "`{`" if kind == "interface" or implements else "`implements` or `{`"
    hint: str | None = f"Every {kind} has a body, if only an empty one: {kind} {name} {{}}."
    if kind == "interface" and token in {*EXTENDING, "implements", ":"}:
        hint = "An interface implements no other; a node may implement several."
    elif token == "@":
        hint = "Annotations of a node stand before `implements`."
    elif token in EXTENDING or token in {":", "<"}:
        hint = f"Write `node {name} implements Interface {{`."
    elif implements and token[:1].isupper():
        hint = "Put a comma between the interfaces."
    elif token == "(":
        hint = f"The properties stand in braces: {kind} {name} {{ … }}."
    return unexpected(tokens, expected, hint)


def no_edge_colon(tokens: Tokens, name: str) -> SchemaError:
    """A colon should stand after the name of an edge."""
    token = tokens.tokens[tokens.at]
    hint = f"An edge is written `edge {name}: From -> To`."
    if token == "@":
        hint += " Its annotations stand behind the types."
    return unexpected(tokens, "`:`", hint)


def no_arrow(tokens: Tokens, name: str, from_type: str) -> SchemaError:
    """An arrow should stand between the types of an edge."""
    token = tokens.tokens[tokens.at]
    to_type = token if token[:1].isupper() else "To"
    hint = f"Write `edge {name}: {from_type} -> {to_type}`."
    if token == "<":
        hint = f"An edge goes one way, from left to right: `edge {name}: To -> {from_type}`."
    return unexpected(tokens, "`->`", hint)


# Members of bodies.


def no_member(tokens: Tokens, kind: str) -> SchemaError:
    """A property, a constraint or the end of a body should stand here."""
    at = tokens.at
    token, following = tokens.tokens[at], tokens.tokens[at + 1]
    expected = "a property or `}`" if kind == "interface" else "a property, a constraint or `}`"
    if token[0] == '"' and following == ":" and not is_broken(token):
        return unexpected(tokens, expected, "Names of properties stand without quotes.")
    if not (token[0].isalnum() or token[0] in "_$-"):
        return unexpected(tokens, expected, _about_sign(tokens, token))
    if is_ident(token):
        return _after_name(tokens, token, following)
    if too_long(token):
        return name_too_long(tokens)
    better = token[0].lower() + token[1:]
    hint = f"Write {better}. " if is_ident(better) else ""
    return fail(
        tokens,
        f"`{shorten(token, 40)}` is no name for a property.",
        f"{hint}Names of properties start with a small letter or an underscore, then letters,"
        " digits or underscores.",
    )


def _about_sign(tokens: Tokens, token: str) -> str | None:
    before = tokens.tokens[tokens.at - 1]
    if token in {",", ";"}:
        return "Nothing stands between properties but white space; remove it."
    if token == "?" and before == "?":
        return "One `?` is enough."
    if token == "?" and is_ident(tokens.tokens[tokens.at + 1]):
        return "A `?` stands behind the type of a property that may be absent: `age: I32?`."
    if token == "!":
        return "Without `?` a property is required already; remove the `!`."
    if token == "=":
        return "A default is an annotation: `@default(…)`."
    if token == "|":
        return "A property that may be absent has a `?` behind its type: `age: I32?`."
    if token == "[":
        return f"A list is written with its scalar inside: [{before}]."
    if token == "(":
        return "No argument stands behind this type."
    return None


def _after_name(tokens: Tokens, name: str, following: str) -> SchemaError:
    """A property has a name, but no colon follows it."""
    opened = _open_bracket(tokens)
    after = tokens.tokens[tokens.at + 2]
    tokens.at += 1
    hint = f"A property is written `{name}: Type`."
    if name in KEYWORDS and following[:1].isupper() and after in {"{", ":", "@", "implements"}:
        line, column = Source(tokens.text).position(tokens.starts[opened or 0])
        hint = f"Close the `{{` of line {line}, column {column} with `}}` first."
    elif following == "?" and after == ":":
        hint = f"The `?` stands behind the type: `{name}: Type?`."
    elif name in MODIFIERS and is_ident(following):
        hint = "Nothing stands before the name: `?` behind the type says that it may be absent,"
        hint += " and `@key`, `@unique`, `@index` stand behind that."
    elif following[:1].isupper() or following in {"[", "enum"}:
        hint = f"A colon is missing: put `:` before {shown(following)}."
    elif name == "implements":
        hint = "`implements` stands before the `{` of the node."
    return unexpected(tokens, "`:`", hint)


def is_ident(token: str) -> bool:
    """Whether a token is a name for a property or an annotation."""
    return (
        (token[0] == "_" or "a" <= token[0] <= "z")
        and token.isascii()
        and token.isidentifier()
        and len(token) <= IDENTIFIER_BYTES_MAX
    )


# Types of values.


def no_type(tokens: Tokens, *, in_list: bool = False) -> SchemaError:
    """The type of a property should stand here."""
    token, following = tokens.tokens[tokens.at], tokens.tokens[tokens.at + 1]
    if not token[0].isalpha():
        hint: str | None = f"The types are {_TYPES}."
        if token == "?":
            hint = "The `?` stands behind the type: `age: I32?`."
        elif token[0] == '"' and not is_broken(token):
            hint = "A type stands without quotes."
        elif token == "[" and in_list:
            hint = "A list holds scalars, and no lists."
        return unexpected(tokens, "a scalar" if in_list else "a type", hint)
    if in_list and token in {"Blob", "Vector", "enum"}:
        return fail(
            tokens,
            f"There are no lists of {token}.",
            "A list holds String, Bool, I32, I64, U32, U64, F32, F64, Date or DateTime.",
        )
    name = shorten(token, 40)
    meant = SCALARS.get(token.lower())
    if following == "<":
        hint = "A list is written [String], a vector Vector(768)."
    elif meant is not None:
        hint = f"Write {meant}."
    elif close := did_you_mean(token, list(_NAMES_OF_TYPES)):
        hint = f"{close} The types are {_TYPES}."
    else:
        hint = f"The types are {_TYPES}."
        if token[0].isupper():
            hint += f" A link to another node is an edge: edge Name: From -> {name}."
    return fail(tokens, f"`{name}` is no type of values.", hint)


def no_list_end(tokens: Tokens, scalar: str) -> SchemaError:
    """The bracket of a list should close here."""
    token = tokens.tokens[tokens.at]
    hint = None
    if token == "?":
        hint = f"The items of a list are never absent, the list itself may be: [{scalar}]?."
    elif token == ",":
        hint = "A list has one type of items."
    return unexpected(tokens, "`]`", hint)


def no_enum_value(tokens: Tokens) -> SchemaError:
    """A value of an enum should stand here."""
    token = tokens.tokens[tokens.at]
    values = "Values are letters, digits, `_` and `-`, without quotes"
    hint = f"{values}: enum(open, in-progress)."
    if token == ")":
        before = tokens.tokens[tokens.at - 1]
        hint = "Remove the last comma." if before == "," else "An enum has at least one value."
    elif token[0] == '"' and not is_broken(token):
        hint = f"{values}: write {shorten(token[1:-1], 40)}."
        if not re.fullmatch(r"[A-Za-z0-9_-]+", token[1:-1]):
            hint = f"{values}; make the property a String with @check for other texts."
    return unexpected(tokens, "a value of the enum", hint)


def no_separator(tokens: Tokens, what: str) -> SchemaError:
    """A comma or a closing parenthesis should stand here."""
    token = tokens.tokens[tokens.at]
    hint = None
    if token not in {END, "}", "@"} and (token[0].isalnum() or token[0] == "_"):
        hint = f"A comma is missing: put `,` before {shown(token)}."
    elif token == "?" and what == "column":
        hint = "Constraints name properties alone; `?` belongs to their types."
    return unexpected(tokens, "`,` or `)`", hint)


# Annotations and constraints.


def no_annotation(tokens: Tokens) -> SchemaError:
    """The name of an annotation should stand here."""
    token = tokens.tokens[tokens.at]
    hint = "An annotation is written @name or @name(value)."
    if token[:1].isalpha():
        hint = "Names of annotations start with a small letter or an underscore, then letters,"
        hint += " digits or underscores."
        if too_long(token):
            return name_too_long(tokens)
    return unexpected(tokens, "the name of an annotation", hint)


def no_value(tokens: Tokens, name: str) -> SchemaError:
    """The value of an annotation should stand here."""
    token = tokens.tokens[tokens.at]
    hint = f'The value is a string in double quotes, a number or a name: @{name}("…").'
    if token == ")":
        hint = f"Without a value, leave out the parentheses: @{name}."
    elif token[:1].isalpha():
        hint = f'Put text into double quotes: @{name}("{shorten(token, 40)}").'
    elif token == "[":
        hint = "Lists have no default, and no annotation takes a list."
    return unexpected(tokens, "a value", hint)


def misplaced_constraint(tokens: Tokens, name: str, kind: str) -> SchemaError:
    """A constraint stands among the annotations of a type."""
    said = f"@{name}"
    if name == "card":
        return misplaced_card(tokens, kind)
    return fail(
        tokens,
        f"{said} is a constraint, and no annotation of a type.",
        f"Put it into the body: {said}({_arguments(name)})."
        if kind == "node" or (kind == "edge" and name in {"unique", "index"})
        else "Edges take @unique and @index only, in their body."
        if kind == "edge"
        else constraint_hint(name),
        length=2,
    )


def _arguments(name: str) -> str:
    return {"range": "property, 0..100", "check": 'property, "pattern"'}.get(name, "property")


def misplaced_card(tokens: Tokens, kind: str) -> SchemaError:
    """`@card` stands where it cannot; the next token is its `@`."""
    if kind == "edge":
        message = "@card does not stand here."
        hint = "It stands once, right behind the target: edge Name: From -> To @card(0..1)."
    else:
        message = "@card is for edges only."
        hint = "It says how many edges leave one source: edge Name: From -> To @card(0..1)."
    return fail(tokens, message, hint, length=2)


def constraint_in_interface(tokens: Tokens, name: str) -> SchemaError:
    """A constraint stands in the body of an interface."""
    message = "The body of an interface holds properties only."
    return fail(tokens, message, constraint_hint(name), length=2)


def constraint_hint(name: str) -> str:
    """The place for a constraint that an interface is to bring along."""
    if name in {"key", "unique", "index"}:
        return f"Put @{name} behind one of its properties: `name: String @{name}`."
    return "Put it into the nodes that implement the interface."


def no_constraint(tokens: Tokens, kind: str) -> SchemaError:
    """An `@` in a body, behind which no constraint stands."""
    name = tokens.tokens[tokens.at + 1]
    if name == "card":
        return misplaced_card(tokens, kind)
    if name in CONSTRAINTS:
        tokens.at += 2
        return unexpected(tokens, "`(`", f"In a body, write @{name}({_arguments(name)}).")
    expected = "@unique or @index" if kind == "edge" else "@key, @unique, @index, @range or @check"
    hint = f"Here stands {expected}. Annotations of the {kind} stand before its body, those of a"
    hint += " property behind its type."
    close = did_you_mean(name, list(CONSTRAINTS)) if name[0].isalpha() else ""
    return fail(
        tokens,
        f"@{shorten(name.strip(), 40)} is no constraint.",
        f"{close} {hint}".strip(),
        length=2,
    )


def edge_constraint(tokens: Tokens, name: str) -> SchemaError:
    """A constraint that only nodes may have stands in the body of an edge."""
    return fail(
        tokens,
        f"@{name} is for nodes only.",
        "Edges take @unique and @index, over their properties, `src` and `dst`.",
        length=2,
    )


def no_column(tokens: Tokens, name: str) -> SchemaError:
    """The name of a property should stand in a constraint."""
    token = tokens.tokens[tokens.at]
    hint: str | None = f"Write @{name}({_arguments(name)})."
    if token == ")":
        before = tokens.tokens[tokens.at - 1]
        hint = "Remove the last comma." if before == "," else hint
    elif name in {"range", "check"} and (property_ := _property_before(tokens)):
        rest = "0..100" if name == "range" else '"pattern"'
        hint = f"Name the property first: @{name}({property_}, {rest})."
    elif token[0] == '"' and not is_broken(token):
        hint = "Names of properties stand without quotes."
    elif token == "[":
        hint = f"Name the properties without brackets: @{name}(a, b)."
    return unexpected(tokens, "the name of a property", hint)


def _property_before(tokens: Tokens) -> str | None:
    """The property behind which a constraint stands that should have named it."""
    for at in range(tokens.at - 1, 0, -1):
        if tokens.tokens[at] in {"{", "}"}:
            return None
        if tokens.tokens[at] == ":" and is_ident(tokens.tokens[at - 1]):
            return tokens.tokens[at - 1]
    return None


def no_comma(tokens: Tokens, name: str) -> SchemaError:
    """The second argument of `@range` or `@check` is missing."""
    property_ = tokens.tokens[tokens.at - 1]
    rest = "0..100" if name == "range" else '"pattern"'
    return unexpected(tokens, "`,`", f"Write @{name}({property_}, {rest}).")


def no_bounds(tokens: Tokens, name: str, example: str) -> SchemaError:
    """The bounds of `@range` or `@card` should stand here."""
    token = tokens.tokens[tokens.at]
    hint = f"Write @{name}({example})."
    if token == ".." and name == "card":
        hint = "A minimum stands before the dots: @card(0..1)."
    elif token == "-":
        hint = "Bounds are joined by two dots: 0..100."
    return unexpected(tokens, "a whole number" if name == "card" else "a number or `..`", hint)


def no_dots(tokens: Tokens, name: str, said: str) -> SchemaError:
    """The two dots between bounds are missing."""
    hint = "Bounds are joined by two dots, and either may be left out: 0..100, 0.., ..100."
    if name == "card":
        hint = f"Write @card({said}..{said}) for exactly {said}, @card(0..{said}) for at most."
    return unexpected(tokens, "`..`", hint)


# Strings and numbers.


def bad_number(tokens: Tokens, at: int) -> SchemaError:
    """A token that wants to be a number and is none."""
    return fail(
        tokens,
        f"{shown(tokens.tokens[at])} is no number.",
        "Numbers look like 5, -3, 0.25 or 1e-9: no leading zeros, no plus sign, digits on both"
        " sides of a dot. Other texts stand in double quotes.",
        at=at,
    )


def broken_string(tokens: Tokens, at: int) -> SchemaError:
    """The string token at a place is no JSON string: say where it breaks."""
    return strings.broken_string(SchemaError, tokens, at)
