"""Types and relation types that come into being when they are first used; names that are taken.

KML is strict: what is not defined is refused. The knowledge engine is flexible instead. The three
types of its own are defined when the first node of them is written, with descriptions that a model
can read. Any other type, and any relation type, is registered under the name it was used with.

What is defined already stays as it is, whoever defined it: a schema's rules are the graph's rules
here too.

Some names mean something of their own and are no properties: a weight among the properties of a
relation would cost nobody anything. They are refused, with a word on where they belong.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

from mycel.engine.missing_concepts import MISSING
from mycel.errors import ConstraintViolation, InvalidValueType
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, check_identifier, kind_of, shorten
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.query import summary
from mycel.store.write.transaction import Transaction

CONCEPT: Final = "Concept"
RESOURCE: Final = "Resource"

BOOKKEEPING: Final = "bootstrap"
"""Where a bootstrap notes what it wrote last: nobody else's business, so nobody is shown it."""

_NOTES: Final = {BOOKKEEPING: "A bootstrap keeps notes of its own there; choose another name."}

_NOTE_MIN: Final = 1 << 24
"""A note alone is a hash of 48 bits; a smaller number is practically never one."""


def is_note(value: object) -> bool:
    """Whether the value of the attribute `bootstrap` is a note of a bootstrap.

    Anything else there is somebody's own, written in KIP or by a load. The views of the file tell
    them apart in the same way.
    """
    number = value.get("wrote") if isinstance(value, Mapping) else value
    least = 0 if isinstance(value, Mapping) else _NOTE_MIN
    return isinstance(number, int) and not isinstance(number, bool) and number >= least


TAKEN_IN_NODES: Final = {
    "name": "Pass it as `name`, beside the properties.",
    "content": "Pass it as `content`, beside the properties.",
    "uri": "A node is called by its `uri`, beside the properties; moving it gives it another one.",
} | _NOTES
"""What is no property of a node, and where it belongs."""

TAKEN_IN_RELATIONS: Final = {"weight": "Pass it as `weight`, beside the properties."} | _NOTES
"""What is neither property nor metadata of a relation."""

NAMES_COMPARED: Final = 1_000
"""With how many names a new one is compared, to tell whether it is a slip."""
SLIP: Final = 0.8
"""How similar two names are of which one may be a slip for the other."""

_TEXT: Final = {"type": "string", "is_required": False}
_NUMBER: Final = {"type": "number", "is_required": False}

DEFINITIONS: Final[dict[str, dict[str, Any]]] = {
    CONCEPT: {
        "description": "An idea, a pattern, a decision, a part of a system, a person's area:"
        " anything worth knowing about the work. It is named by its URI,"
        " concept://workspace/path, and has a name for people and content in prose. Every other"
        " property is welcome. A folder is a concept too: its node_type is directory, and it has a"
        " file_count, a total_size and a depth.",
        "instance_schema": {
            "name": _TEXT | {"description": "What people call it."},
            "content": _TEXT | {"description": "What is known about it, in prose or Markdown."},
        },
    },
    RESOURCE: {
        "description": "Something that can be read elsewhere: a file of the workspace"
        " (file://workspace/path), a page, a document. It is named by its URI and points there;"
        " what is known about it stands in its properties and in concepts linked to it.",
        "instance_schema": {
            "file_type": _TEXT | {"description": "Its language or kind: python, markdown…"},
            "extension": _TEXT | {"description": "The end of its name, with the dot: .py, .md…"},
            "mime_type": _TEXT | {"description": "The media type of what is there."},
            "size_bytes": _NUMBER | {"description": "How large a file is."},
            "line_count": _NUMBER | {"description": "How many lines a text file has."},
            "last_modified": _TEXT | {"description": "When a file was last changed (ISO 8601)."},
        },
    },
    MISSING: {
        "description": "A concept that links lead to and that nobody has written yet. Writing it"
        " under its URI turns it into what it should be, and the links stay.",
    },
}


def require_type(tx: Transaction, name: str) -> tuple[str, ...]:
    """See to it that a type is defined. Returns what the writer should know."""
    check_identifier(name, "type")
    if name in (CONCEPT_TYPE, PROPOSITION_TYPE):
        raise ConstraintViolation(
            f"{name} is the type of definitions, and a definition has no URI.",
            hint="Define types and predicates with UPSERT in KIP.",
        )
    if tx.get_concept(CONCEPT_TYPE, name) is not None:
        return ()
    known = DEFINITIONS.get(name)
    told = () if known else _registered(tx, "type", name, CONCEPT_TYPE_NUMBER)
    tx.define_type(name, known or {"description": "Registered on first use."})
    return told


def require_relation(tx: Transaction, name: str) -> tuple[str, ...]:
    """See to it that a relation type is defined. Returns what the writer should know."""
    check_identifier(name, "relation type")
    if tx.get_concept(PROPOSITION_TYPE, name) is not None:
        return ()
    told = _registered(tx, "relation type", name, PROPOSITION_TYPE_NUMBER)
    tx.define_predicate(name, {"description": "Registered on first use."})
    return told


def check_names(given: object, what: str, owner: str, taken: Mapping[str, str]) -> None:
    """Refuse properties or metadata under a name that means something of its own.

    Raises:
        ConstraintViolation: there is one.
        InvalidValueType: they are no object.
    """
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise InvalidValueType(f"The {what} of a {owner} are an object, not {kind_of(given)}.")
    for key in taken:
        if key in given:
            raise ConstraintViolation(
                f"{key!r} cannot be one of the {what} of a {owner}.",
                hint=taken[key],
            )


def doubts(metadata: Mapping[str, Any] | None, owner: str) -> tuple[str, ...]:
    """A warning about a confidence that is none. It is kept: metadata are the writer's own."""
    given = (metadata or {}).get("confidence")
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if given is None or (is_number and 0 <= given <= 1):
        return ()
    said = shorten(repr(given))
    # KIP, appendix 1: provenance metadata.
    return (f"{shorten(owner, 200)}: the confidence {said} is no number from 0 to 1.",)


def _registered(tx: Transaction, what: str, name: str, meta: int) -> tuple[str, ...]:
    """A warning if there is a name so close that the new one may be a slip."""
    names = summary.definitions(tx.reader, meta, limit=NAMES_COMPARED)
    close = get_close_matches(name, names, n=1, cutoff=SLIP)
    if not close:
        return ()
    return (f"The {what} {name!r} is new and was registered. Did you mean {close[0]!r}?",)
