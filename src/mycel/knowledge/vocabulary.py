"""The types and relation types of the knowledge engine, and the names that cannot be properties.

KML refuses types that are not defined. The knowledge engine defines types and relation types on
first use; its own types get the descriptions below. Existing definitions stay unchanged.

`SYMBOL`, `RELATIONS` and the costs are for the code bases that a bootstrap reads. The costs decide
what a traversal up to a cost of 1 reaches: from a folder its README and two levels of folders
before its files; from a file its symbols, its imports and its tests; from a symbol the symbols that
it calls, but not the calls of those. `docs/bootstrap.md` has the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

from mycel.engine.metadata_warnings import metadata_doubts
from mycel.engine.missing_concepts import MISSING, MISSING_DEFINITION
from mycel.errors import ConstraintViolation, InvalidValueType
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, check_identifier, kind_of, shorten
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.query import summary
from mycel.store.write.transaction import Transaction
from mycel.text import kinds

CONCEPT: Final = "Concept"
RESOURCE: Final = "Resource"
SYMBOL: Final = "Symbol"
CONTENT: Final = "content"
"""The attribute with the text of a concept."""
OBSERVATIONS_KEY: Final = "observations"
"""The attribute with the observations of an entity of the memory server."""
SECTION: Final = "Section"
TAG: Final = kinds.TAG

CONTAINS: Final = "contains"
DEFINES: Final = "defines"
IMPORTS: Final = "imports"
CALLS: Final = "calls"
MAY_CALL: Final = "may_call"
USES: Final = "uses"
EXTENDS: Final = "extends"
TESTED_BY: Final = "tested_by"
REFERENCES: Final = "references"
DOCUMENTED_BY: Final = "documented_by"
SECTION_OF: Final = "section_of"
NAMES: Final = "names"
TAGGED: Final = "tagged"
DEPENDS_ON: Final = "depends_on"

README_COST: Final = 0.1
FOLDER_COST: Final = 0.5
FILE_COST: Final = 1.0
SYMBOL_COST: Final = 0.3
MEMBER_COST: Final = 0.5
IMPORT_COST: Final = 0.8
CALL_COST: Final = 0.6
MAY_CALL_COST: Final = 0.9
USE_COST: Final = 0.7
EXTENDS_COST: Final = 0.4
TEST_COST: Final = 0.8
REFERENCE_COST: Final = 0.8
DOCUMENT_COST: Final = 0.6
BEGINNING_COST: Final = 0.1
SECTION_COST: Final = 0.5
SECTION_OF_COST: Final = 0.3
NAME_COST: Final = 0.9
TAG_COST: Final = 1.0
DEPENDENCY_COST: Final = 0.8

STAMP: Final = kinds.STAMP

GENERAL_RELATIONS: Final = {"mentions": REFERENCES}
"""Relation types that only one type of nodes may have, each with one for all other nodes.

`mentions` of the core capsules leads from an Event.
"""

RESERVED_IN_NODES: Final = {
    "name": "Pass it as `name`, beside the properties.",
    "content": "Pass it as `content`, beside the properties.",
    "uri": "Pass it as `uri`, beside the properties; moving a node changes its URI.",
    STAMP: "A bootstrap keeps its stamp there; choose another name.",
}
"""Names that cannot be properties of a node, each with a hint."""

RESERVED_IN_RELATIONS: Final = {"weight": "Pass it as `weight`, beside the properties."}
"""Names that cannot be properties or metadata of a relation, each with a hint."""

NAMES_COMPARED: Final = 1_000
"""The maximum number of names that a new name is compared with, to warn about a likely typing
error."""
TYPO_SIMILARITY: Final = 0.8
"""The least similarity of two names at which one may be a typing error for the other."""

_TEXT: Final = {"type": "string", "is_required": False}
_NUMBER: Final = {"type": "number", "is_required": False}
UNDESCRIBED: Final = {"description": "Registered on first use."}

DEFINITIONS: Final[dict[str, dict[str, Any]]] = {
    CONCEPT: {
        "description": "An idea, a pattern, a decision, a part of a system, a person's area:"
        " anything worth knowing about the work. Its name is its URI, concept://workspace/path; its"
        " attributes are a readable name, content in prose, and any other properties. A folder is a"
        " concept too: its node_type is directory, and it has a file_count, a total_size and a"
        " depth.",
        "instance_schema": {
            "name": _TEXT | {"description": "Readable name."},
            "content": _TEXT | {"description": "What is known about it, in prose or Markdown."},
        },
    },
    RESOURCE: {
        "description": "Something that can be read elsewhere: a file of the workspace"
        " (file://workspace/path), a page, a document. Its name is its URI; its properties, and"
        " concepts linked to it, hold the knowledge about it.",
        "instance_schema": {
            "file_type": _TEXT | {"description": "Language or kind: python, markdown…"},
            "extension": _TEXT | {"description": "End of the file name, with the dot: .py, .md…"},
            "mime_type": _TEXT | {"description": "Media type of the content."},
            "size_bytes": _NUMBER | {"description": "Size of a file."},
            "line_count": _NUMBER | {"description": "Number of lines of a text file."},
            "last_modified": _TEXT | {"description": "Time of the last change (ISO 8601)."},
        },
    },
    MISSING: MISSING_DEFINITION,
}

SYMBOL_DEFINITION: Final = {
    "description": "A definition in source code: a class, a function, a method, a type, a constant."
    " Its name is the URI of its file followed by its qualified name. Its attributes are kind,"
    " signature, doc (the beginning of its documentation), line and end_line."
}

SECTION_DEFINITION: Final = {
    "description": "A part of a document: a heading and the text below it. Its name is the URI of"
    " its file followed by the headings around it. Its attributes are name (the headings from the"
    " title of the document on), heading, content (the text), level, line and end_line."
}

TAG_DEFINITION: Final = {
    "description": "A tag of notes. Its name is the URI concept://workspace/tags/tag."
}

RELATIONS: Final[dict[str, str]] = {
    CONTAINS: "A folder contains a file or another folder, a document or section a section.",
    DEFINES: "A file defines a symbol, or a symbol another one inside it, such as a method.",
    IMPORTS: "A file imports another file of the project.",
    CALLS: "A symbol, or the top level of a file, calls a symbol.",
    MAY_CALL: "A symbol, or the top level of a file, calls a method of this name on an object of"
    " unknown class: it may be this method.",
    USES: "A symbol, or the top level of a file, uses a symbol without calling it: a function as a"
    " value, a constant, a type, a variant, a name that it passes on.",
    EXTENDS: "A class or interface extends or implements another one.",
    TESTED_BY: "A file is tested by another file.",
    REFERENCES: "A document or section links to a file, a folder, a section or another document.",
    DOCUMENTED_BY: "A file or folder is described in a document.",
    SECTION_OF: "A section is a part of a file, or of the section around it.",
    NAMES: "The text of a section names a file, a folder or a symbol.",
    TAGGED: "A note has a tag.",
    DEPENDS_ON: "A part of a project depends on another part, or on a package outside.",
}


def require_type(
    tx: Transaction, name: str, definition: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Define a type if it is not defined. Returns warnings."""
    check_identifier(name, "type")
    if name in (CONCEPT_TYPE, PROPOSITION_TYPE):
        raise ConstraintViolation(
            f"{name} is the type of definitions, and a definition has no URI.",
            hint="Define types and predicates with UPSERT in KIP.",
        )
    if tx.get_concept(CONCEPT_TYPE, name) is not None:
        return ()
    description = definition or DEFINITIONS.get(name)
    warnings = () if description else _likely_typo(tx, "type", name, CONCEPT_TYPE_NUMBER)
    tx.define_type(name, description or UNDESCRIBED)
    return warnings


def require_relation(tx: Transaction, name: str, description: str = "") -> tuple[str, ...]:
    """Define a relation type if it is not defined. Returns warnings."""
    check_identifier(name, "relation type")
    if tx.get_concept(PROPOSITION_TYPE, name) is not None:
        return ()
    attributes = {"description": description} if description else None
    warnings = (
        () if attributes else _likely_typo(tx, "relation type", name, PROPOSITION_TYPE_NUMBER)
    )
    tx.define_predicate(name, attributes or UNDESCRIBED)
    return warnings


def require_code_vocabulary(tx: Transaction) -> None:
    """Define the types and relation types of a code base, as far as they are missing."""
    for name in (CONCEPT, RESOURCE):
        require_type(tx, name)
    require_type(tx, SYMBOL, SYMBOL_DEFINITION)
    require_type(tx, SECTION, SECTION_DEFINITION)
    require_type(tx, TAG, TAG_DEFINITION)
    require_type(tx, MISSING)
    for name, description in RELATIONS.items():
        require_relation(tx, name, description)


def check_names(values: object, noun: str, owner: str, reserved: Mapping[str, str]) -> None:
    """Refuse properties or metadata with a reserved name."""
    if values is None:
        return
    if not isinstance(values, Mapping):
        raise InvalidValueType(f"The {noun} of a {owner} are an object, not {kind_of(values)}.")
    for key in reserved:
        if key in values:
            raise ConstraintViolation(
                f"{key!r} cannot be one of the {noun} of a {owner}.", hint=reserved[key]
            )


def metadata_warnings(metadata: Mapping[str, Any] | None, owner: str) -> tuple[str, ...]:
    """Warnings about metadata values without a meaning; the values are stored anyway."""
    name = shorten(owner, 200)
    return tuple(f"{name}: {line[0].lower()}{line[1:]}" for line in metadata_doubts(metadata or {}))


def _likely_typo(tx: Transaction, noun: str, name: str, meta: int) -> tuple[str, ...]:
    """A warning if the new name is so similar to a known one that it may be a typing error."""
    names = summary.definitions(tx.reader, meta, limit=NAMES_COMPARED)
    close = get_close_matches(name, names, n=1, cutoff=TYPO_SIMILARITY)
    if not close:
        return ()
    return (f"The {noun} {name!r} is new and was registered. Did you mean {close[0]!r}?",)
