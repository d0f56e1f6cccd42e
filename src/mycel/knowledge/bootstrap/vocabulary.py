"""The types and relations that a project is described with, and what following each costs.

Costs are chosen by what a model should see when it stands on a node and looks as far as a cost of
1: a folder brings its README and two levels of folders before its files; a file brings an outline
of itself, the files it imports and its tests, but not what is in those; a symbol brings what it
calls, but not what that calls in turn. `docs/bootstrap.md` has the table.
"""

from __future__ import annotations

from typing import Any, Final

from mycel.knowledge.vocabulary import CONCEPT, RESOURCE, require_type
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.store.write.transaction import Transaction

SYMBOL: Final = "Symbol"

CONTAINS: Final = "contains"
DEFINES: Final = "defines"
IMPORTS: Final = "imports"
CALLS: Final = "calls"
MAY_CALL: Final = "may_call"
EXTENDS: Final = "extends"
TESTED_BY: Final = "tested_by"
REFERENCES: Final = "references"
DOCUMENTED_BY: Final = "documented_by"

README_COST: Final = 0.1
FOLDER_COST: Final = 0.5
FILE_COST: Final = 1.0
SYMBOL_COST: Final = 0.3
MEMBER_COST: Final = 0.5
IMPORT_COST: Final = 0.8
CALL_COST: Final = 0.6
MAY_CALL_COST: Final = 0.9
EXTENDS_COST: Final = 0.4
TEST_COST: Final = 0.8
REFERENCE_COST: Final = 0.8
DOCUMENT_COST: Final = 0.6

RELATIONS: Final[dict[str, str]] = {
    CONTAINS: "A folder contains a file or another folder.",
    DEFINES: "A file defines a symbol, or a symbol another one inside it, such as a method.",
    IMPORTS: "A file imports another file of the project.",
    CALLS: "A symbol, or the top level of a file, calls a symbol.",
    MAY_CALL: "A symbol, or the top level of a file, calls a method of this name on an object of"
    " which nothing is known: one of those it leads to, or none.",
    EXTENDS: "A class or interface extends or implements another one.",
    TESTED_BY: "A file is tested by another file.",
    REFERENCES: "A document refers to a file, a folder or another document.",
    DOCUMENTED_BY: "A file or folder is described in a document.",
}

_SYMBOL: Final[dict[str, Any]] = {
    "description": "A definition in source code: a class, a function, a method, a type, a constant."
    " It is named by the path of its file followed by its qualified name. Its attributes are kind,"
    " signature, doc (what its documentation says), line and end_line.",
}


def require_vocabulary(tx: Transaction) -> None:
    """See to it that all types and relations are defined. What is defined stays as it is."""
    for name in (CONCEPT, RESOURCE):
        require_type(tx, name)
    if tx.get_concept(CONCEPT_TYPE, SYMBOL) is None:
        tx.define_type(SYMBOL, _SYMBOL)
    for name, description in RELATIONS.items():
        if tx.get_concept(PROPOSITION_TYPE, name) is None:
            tx.define_predicate(name, {"description": description})
