"""Documents that every graph has; a mirror leaves them out.

They are the content of a new graph (`mycel.capsules`), and definitions equal to the ones that are
made on first use. If somebody has changed such a document, or linked it to something, it has a
file.

`core_documents.json` has the SHA-256 of each document of a new graph by its path, followed by the
hashes from earlier versions; a test compares the first ones with a new graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

import orjson

from mycel.knowledge.vocabulary import (
    DEFINITIONS,
    RELATIONS,
    SYMBOL,
    SYMBOL_DEFINITION,
    UNDESCRIBED,
)
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE

TABLE: Final = "core_documents.json"


@cache
def core_documents() -> Mapping[str, list[str]]:
    """The documents of a new graph: the SHA-256 of each by its path, the newest first."""
    table: dict[str, list[str]] = orjson.loads((files("mycel.mirror") / TABLE).read_bytes())
    return table


def is_core_path(path: str) -> bool:
    """True if every new graph has a document with this path."""
    return path in core_documents()


def is_core(path: str, content: bytes) -> bool:
    """True if a document is one that every new graph has or had."""
    digests = core_documents().get(path)
    return digests is not None and sha256(content).hexdigest() in digests


def default_definition(kind: str, name: str) -> Mapping[str, Any]:
    """The attributes of a type or predicate that is defined on first use."""
    if kind == CONCEPT_TYPE:
        definition = SYMBOL_DEFINITION if name == SYMBOL else DEFINITIONS.get(name)
        return definition or UNDESCRIBED
    return {"description": RELATIONS[name]} if name in RELATIONS else UNDESCRIBED


def is_default(kind: str, name: str, attributes: Mapping[str, Any], path: str) -> bool:
    """True if a definition with these attributes, and nothing else, is made on first use.

    Without the core capsules, the predicates that they define have no description.
    """
    if kind not in (CONCEPT_TYPE, PROPOSITION_TYPE):
        return False
    if not attributes:
        return path in core_documents()
    return attributes in (UNDESCRIBED, default_definition(kind, name))
