"""Rules for the names of types, predicates, concepts and actors (KIP §2.8)."""

from __future__ import annotations

from collections.abc import Sequence

from mycel.errors import ConstraintViolation, InvalidIdentifier, InvalidValueType
from mycel.model.limits import ACTOR_BYTES_MAX, IDENTIFIER_BYTES_MAX, NAME_BYTES_MAX

CONCEPT_TYPE = "$ConceptType"
PROPOSITION_TYPE = "$PropositionType"
META_TYPES = (CONCEPT_TYPE, PROPOSITION_TYPE)
"""The types of definitions."""
SELF_ACTOR = "$self"
SYSTEM_ACTOR = "$system"
SLEEP_TASK = "SleepTask"
"""The type of questions that upkeep leaves to a model or a person."""
CORE_MESSAGE = "add the core capsules"
"""The message of the transaction that writes the core capsules; exports leave out its elements."""

ACTORS = frozenset((("Person", SELF_ACTOR), ("Person", SYSTEM_ACTOR)))
CORE_DOMAINS = frozenset(
    ("Domain", name) for name in ("CoreSchema", "System", "Unsorted", "Archived")
)
"""Concepts of the core capsules that are no definitions, by type and name."""


def is_identifier(text: str) -> bool:
    """True if a text is a letter or underscore, then letters, digits or underscores."""
    return text.isascii() and text.isidentifier()


def check_identifier(name: object, noun: str) -> str:
    """A name for a type or predicate. A `$` in front is kept for the two meta-types.

    Raises:
        InvalidValueType: the name is no string.
        InvalidIdentifier: the name is no identifier, or longer than 255 bytes.
    """
    if not isinstance(name, str):
        raise InvalidValueType(f"The name of a {noun} must be a string, not {kind_of(name)}.")
    is_valid = is_identifier(name) or name in META_TYPES
    if len(name) > IDENTIFIER_BYTES_MAX or not is_valid:
        close = _identifier_like(name)
        rule = InvalidIdentifier.default_hint
        raise InvalidIdentifier(
            f"{shorten(name)!r} is not a valid name for a {noun}.",
            hint=f"Write {close!r}. {rule}" if close else rule,
        )
    return name if type(name) is str else str.__str__(name)


def _identifier_like(text: str) -> str:
    """An identifier that is similar to an invalid one, for a hint; empty if there is none.

    >>> _identifier_like("depends-on"), _identifier_like("works at"), _identifier_like("属于")
    ('depends_on', 'works_at', '')
    """
    marked = "".join(character if is_identifier(f"_{character}") else "-" for character in text)
    words = "_".join(filter(None, marked[:IDENTIFIER_BYTES_MAX].split("-")))
    return words if is_identifier(words) else ""


def check_name(name: object) -> str:
    """A concept's name: any text that is not empty, holds no NUL and fits 4096 bytes.

    Names are compared as they are; no Unicode normalisation is applied.
    """
    return check_text(name, "name of a concept", NAME_BYTES_MAX, empty=False)


def check_actor(actor: object) -> str:
    """Check the name of an actor."""
    return check_text(actor, "actor", ACTOR_BYTES_MAX, empty=False)


def check_text(text: object, label: str, bytes_max: int, *, empty: bool = True) -> str:
    """Text that can be stored as UTF-8 within a bound, as a plain `str` (a `StrEnum` is none).

    Raises:
        InvalidValueType: the text is no string, or holds a lone surrogate or NUL.
        ConstraintViolation: the text is empty where that is not allowed, or too long.
    """
    if not isinstance(text, str):
        raise InvalidValueType(f"The {label} must be a string, not {kind_of(text)}.")
    if not text and not empty:
        raise ConstraintViolation(f"The {label} must not be empty.")
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        raise InvalidValueType(f"The {label} holds a lone surrogate.") from None
    if size > bytes_max:
        raise ConstraintViolation(
            f"The {label} has {size} bytes; at most {bytes_max} are allowed.",
            hint="Keep names short and put long text into an attribute.",
        )
    if "\0" in text:
        raise InvalidValueType(
            f"The {label} holds a NUL character (U+0000).", hint="Remove it from the text."
        )
    return text if type(text) is str else str.__str__(text)


def kind_of(value: object) -> str:
    """The name of a value's Python type, for messages."""
    return type(value).__name__


def json_kind(value: object) -> str:
    """The kind of a JSON value in words, for people who do not know Python."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
    return kind_of(value)


def is_unicode(text: str) -> bool:
    """True if a text can be written in UTF-8. The name of a file may hold other bytes."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shorten(text: str, characters_max: int = 60) -> str:
    """Text cut for a message."""
    return text if len(text) <= characters_max else text[: characters_max - 1] + "…"


def count(number: int, noun: str) -> str:
    """A number with its noun in the singular or plural.

    >>> count(1, "edge"), count(2, "journal entry")
    ('1 edge', '2 journal entries')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.removesuffix('y')}ies" if noun.endswith("y") else f"{number} {noun}s"


def first_few(lines: Sequence[str], most: int) -> list[str]:
    """The first lines, and a last one with the number of the others.

    >>> first_few(["a", "b", "c"], 2)
    ['a', 'b', '… and 1 more']
    """
    more = [f"… and {len(lines) - most} more"] if len(lines) > most else []
    return [*lines[:most], *more]


def name_few(names: Sequence[str], most: int) -> str:
    """The first names, and the number of the others.

    >>> name_few(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def quote_value(value: object) -> str:
    """A value in the place of a string, for a message: shortened, and without raising an error."""
    return repr(shorten(value)) if isinstance(value, str) else f"A value of type {kind_of(value)}"
