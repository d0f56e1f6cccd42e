"""The two kinds of elements that a search finds: notes and code.

Notes were written by somebody: concepts, decisions, events, documents and their sections. Code was
read from other files by a bootstrap: folders, files and symbols. A file or symbol to which somebody
added content is a note; the content of a folder is the beginning of its README, which the sections
of the README have too. A link is code if a bootstrap wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from mycel.errors import ConstraintViolation, did_you_mean
from mycel.model.names import shorten

AnswerKind = Literal["notes", "code", "any"]
NOTES: Final = "notes"
CODE: Final = "code"
ANY: Final = "any"
KINDS: Final[tuple[AnswerKind, ...]] = (NOTES, CODE, ANY)

STAMP: Final = "_bootstrap"
"""The attribute in which a bootstrap keeps a stamp of its writes; never shown as a property."""

RESOURCE: Final = "Resource"
CODE_TYPES: Final = ("Concept", RESOURCE, "Symbol")
"""The types of folders, files and symbols."""
DIRECTORY: Final = "directory"
"""The `node_type` of folders."""
SECTION: Final = "Section"
"""The type of the sections of documents: a bootstrap reads them, and they are notes."""
DOCUMENT_TYPES: Final = ("asciidoc", "jupyter", "markdown", "pdf", "restructuredtext")
"""The `file_type` of documents. Most files of plain text or HTML are data and templates, so just
their sections are notes."""
TAG: Final = "Tag"
"""The type of the tags of documents: names without a text."""
MODULE_SLUG: Final = "module-doc"
"""The last part of the URI of the comment at the beginning of a source file; no symbol has it."""


def is_code(type_name: str, attributes: Mapping[str, Any]) -> bool:
    """True if a concept is of the kind code."""
    if STAMP not in attributes or type_name not in CODE_TYPES:
        return False
    if attributes.get("file_type") in DOCUMENT_TYPES:
        return False
    return "content" not in attributes or attributes.get("node_type") == DIRECTORY


def is_section(type_name: str, attributes: Mapping[str, Any]) -> bool:
    """True if a concept is a section of a document that a bootstrap read."""
    return type_name == SECTION and STAMP in attributes


def is_document(type_name: str, attributes: Mapping[str, Any]) -> bool:
    """True if a concept is the file of a document that a bootstrap read."""
    return (
        type_name == RESOURCE
        and STAMP in attributes
        and attributes.get("file_type") in DOCUMENT_TYPES
    )


def is_bare(type_name: str, attributes: Mapping[str, Any]) -> bool:
    """True if a concept is a tag or a document that a bootstrap read, and has no text itself."""
    if "content" in attributes:
        return False
    return (type_name == TAG and STAMP in attributes) or is_document(type_name, attributes)


def checked_kind(kind: object) -> AnswerKind | None:
    """The kind that a search is limited to; None for any kind.

    Raises:
        ConstraintViolation: there is no such kind.
    """
    if kind is None or kind == ANY:
        return None
    for kind_ in (NOTES, CODE):
        if kind == kind_:
            return kind_
    close = did_you_mean(kind, list(KINDS)) if isinstance(kind, str) else ""
    raise ConstraintViolation(
        f"There is no kind {shorten(repr(kind))}.",
        hint=f"It is notes, code or any; `element` chooses concepts or links. {close}".strip(),
    )


NAME_CHARACTERS_MAX: Final = 200
"""The maximum number of characters of a question that may be a name."""

_IDENTIFIER: Final = re.compile(
    r"""
      [\w$]+ (?: (?:\.|::|->|\#|/) [\w$-]+ )+ (?:\(\))?       # a dotted name, a path
    | [a-z0-9$]+ (?:_[a-z0-9$]+)+ (?:\(\))? | _+\w+            # snake_case
    | (?= \w* [a-z0-9] [A-Z] ) \w++ (?:\(\))?                  # camelCase, CamelCase
    | [A-Z][A-Z0-9]* (?:_[A-Z0-9]+)+                            # CONSTANT_CASE
    | [\w$]+ \(\)                                               # called()
    """,
    re.VERBOSE,
)
_PLACE: Final = re.compile(
    r"""
      ^where \b .* \b (?:defined|declared|implemented|located)
    | ^(?:in\s+)?(?:which|what)\s+(?:source\s+)?
       (?:files?|modules?|functions?|class(?:es)?|methods?|symbols?)\b
    | ^(?:find|show|open|definition\s+of)\s+(?:the\s+)?
       (?:file|module|function|class|method|symbol|definition)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_USES: Final = re.compile(
    r"""
      ^where \b .* \b (?:used|called|referenced|imported|constructed|raised|thrown)\b
    | ^(?:who|what|which\s+\w+)\s+(?:else\s+)?(?:calls?|uses?|references?|imports?)\b
    | ^(?:(?:find|list|show|give)\s+(?:me\s+)?)?(?:(?:all|every)\s+)?(?:the\s+)?
       (?:uses?|usages?|callers?|calls?|call\s+sites|references)\s+(?:of|to)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_AROUND_NAMES: Final = "`'\"“”‘’«»()[]{}<>,;:?!."


def is_identifier(question: str) -> bool:
    """True if a question is a name in code: dotted, in camel or snake case, or a path.

    >>> [is_identifier(q) for q in ("json.dumps", "QuerySet", "src/cart.py", "a query set")]
    [True, True, True, False]
    """
    name = question.strip()
    return len(name) <= NAME_CHARACTERS_MAX and _IDENTIFIER.fullmatch(name) is not None


def asks_for_place(question: str) -> bool:
    """True if a question asks for a place in code.

    >>> asks_for_place("Where is the cart defined?"), asks_for_place("Why is the cart so slow?")
    (True, False)
    """
    return _PLACE.search(question.strip()) is not None


def names_in(question: str) -> list[str]:
    """The URIs, paths and identifiers in a question.

    >>> names_in("What of `src/cart.py` and Cart.save?")
    ['src/cart.py', 'Cart.save']
    """
    words = (word.strip(_AROUND_NAMES) for word in question.split())
    return list(dict.fromkeys(word for word in words if "://" in word or is_identifier(word)))


def used_name(question: str) -> str | None:
    """The name whose uses a question asks for; None if it does not ask for uses of one name.

    >>> used_name("Who calls Cart.add?"), used_name("Where is the cart used?")
    ('Cart.add', None)
    """
    names = names_in(question) if _USES.search(question.strip()) else []
    return names[0] if len(names) == 1 else None
