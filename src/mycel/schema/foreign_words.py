"""Words of other languages, and the words to use in a schema instead. Data only."""

from __future__ import annotations

from typing import Final

from mycel.errors import InternalError
from mycel.schema.scalars import SCALARS

_EXAMPLES: Final = {"Vector": "Vector(768)"}


def by_word(meanings: dict[str, str]) -> dict[str, str]:
    """Invert a map from meanings to their words: each word with its meaning.

    Raises:
        InternalError: a word has two meanings.
    """
    pairs = [(word, meaning) for meaning, words in meanings.items() for word in words.split()]
    inverse = dict(pairs)
    if len(inverse) < len(pairs):
        twice = sorted({word for word, meaning in pairs if inverse[word] != meaning})
        raise InternalError(f"Words with two meanings: {', '.join(twice)}.")
    return inverse


DECLARATIONS: Final = by_word(
    {
        "node": "type class struct table entity vertex model record concept object message data",
        "edge": "relation relationship rel link predicate proposition association",
        "interface": "trait abstract protocol mixin contract",
    }
)
"""First words of declarations in other languages, in lower case, with the word to use here."""

OPENINGS: Final[dict[str, str]] = {
    "enum": "Write an enum where it is used: `status: enum(open, closed)`.",
    "scalar": "The scalars are built in; a schema cannot declare others.",
    "query": "Queries are not part of a schema.",
    "import": "A schema is one text: put all declarations into it.",
    "include": "A schema is one text: put all declarations into it.",
    "create": "Begin with `node`, `edge` or `interface`.",
    "export": "Begin with `node`, `edge` or `interface`.",
    "extend": "A schema is complete: add the properties where the type is declared.",
}

FOREIGN_SCALARS: Final = by_word(
    {
        **{_EXAMPLES.get(name, name): traits.words for name, traits in SCALARS.items()},
        "[String]": "list array set seq",
        "String?": "option optional maybe nullable",
        "enum(open, closed)": "enum oneof union",
    }
)
"""Names of types of values in other languages, in lower case, with the name to use here."""

EXTENDING: Final = frozenset(("extends", "inherits", "with", "is", "implement", "Implements"))
"""The words of other languages for `implements`."""

MODIFIERS: Final = frozenset(
    ("optional", "required", "readonly", "unique", "key", "primary", "index", "public", "private")
)
"""Words of other languages before a property."""
