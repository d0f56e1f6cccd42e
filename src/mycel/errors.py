"""Every error that Mycel raises: its code, its name, the cause, and the next step.

The reader of an error is often a model that will retry, so each error has a hint. KIP errors have
the codes and names of KIP Appendix 4; errors of the store have their own names and the nearest KIP
code. `REGISTRY` is the table of all of them; the documentation is checked against it.

    MycelError
    ├── InvalidSyntax            KIP_1001
    │   └── InvalidId            KIP_1001   an id that is malformed or of the wrong kind
    ├── InvalidIdentifier        KIP_1002
    ├── TypeMismatch             KIP_2001   a type or predicate that is not defined
    ├── ConstraintViolation      KIP_2002
    │   ├── SelfEdgeError        KIP_2002   a link from an element to itself
    │   └── Unsupported          KIP_2002   a task that the database of the graph cannot do yet
    ├── SchemaError              KIP_2002   a schema that breaks a rule of its language
    ├── InvalidValueType         KIP_2003
    ├── UnknownReference         KIP_3001   named ReferenceError on the wire
    ├── NotFound                 KIP_3002
    ├── DuplicateExists          KIP_3003
    │   └── AmbiguousName        KIP_3003   a short name that several nodes have
    ├── ImmutableTarget          KIP_3004
    ├── AccessDenied             KIP_3004   a caller who may not do this here
    ├── VersionConflict          KIP_3005
    ├── ExecutionTimeout         KIP_4001
    │   └── DatabaseBusy         KIP_4001   another writer held the file for too long
    │       └── SchemaApplyInProgress  KIP_4001   another schema is just being applied
    ├── ResourceExhausted        KIP_4002
    │   └── DiskFull             KIP_4002
    └── InternalError            KIP_4003
        ├── DatabaseError        KIP_4003   the storage failed; nothing was written
        │   ├── NotADatabase     KIP_4003
        │   ├── FormatTooNew     KIP_4003
        │   ├── DatabaseReadOnly KIP_4003
        │   ├── DatabaseCorrupt  KIP_4003
        │   └── DatabaseClosed   KIP_4003
        ├── EmbedderFailed       KIP_4003   a model that makes vectors cannot be used
        ├── GitFailed            KIP_4003   git is not installed, or a call of it failed
        ├── RemoteFailed         KIP_4003   another workspace is out of reach, or cannot be trusted
        │   └── HistoryRewritten KIP_4003   its history is no longer the one that was seen
        └── CommitUncertain      KIP_4003   the commit failed at its last step and may be durable
"""

# Names are those of KIP, and `NotFound` says as much as `NotFoundError`.
# ruff: noqa: N818

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import Enum
from itertools import islice
from typing import Any, ClassVar

__all__ = [
    "REGISTRY",
    "AccessDenied",
    "AmbiguousName",
    "Category",
    "CommitUncertain",
    "ConstraintViolation",
    "DatabaseBusy",
    "DatabaseClosed",
    "DatabaseCorrupt",
    "DatabaseError",
    "DatabaseReadOnly",
    "DiskFull",
    "DuplicateExists",
    "EmbedderFailed",
    "ExecutionTimeout",
    "FormatTooNew",
    "GitFailed",
    "HistoryRewritten",
    "ImmutableTarget",
    "InternalError",
    "InvalidId",
    "InvalidIdentifier",
    "InvalidSyntax",
    "InvalidValueType",
    "MycelError",
    "NotADatabase",
    "NotFound",
    "RemoteFailed",
    "ResourceExhausted",
    "SchemaApplyInProgress",
    "SchemaError",
    "SelfEdgeError",
    "TypeMismatch",
    "UnknownReference",
    "Unsupported",
    "VersionConflict",
]


class Category(Enum):
    """The kind of a failure, which decides how each surface reports it.

    The value is (HTTP status, JSON-RPC code, process exit code).
    """

    INPUT = (400, -32602, 2)
    MISSING = (404, -32004, 1)
    CONFLICT = (409, -32009, 1)
    FORBIDDEN = (403, -32003, 1)
    LIMIT = (429, -32008, 1)
    SYSTEM = (500, -32603, 1)

    @property
    def http_status(self) -> int:
        return self.value[0]

    @property
    def jsonrpc_code(self) -> int:
        return self.value[1]

    @property
    def exit_code(self) -> int:
        return self.value[2]


class MycelError(Exception):
    """The base of all errors. `to_dict()` is the wire form."""

    code: ClassVar[str] = "KIP_4003"
    name: ClassVar[str] = "InternalError"
    category: ClassVar[Category] = Category.SYSTEM
    default_hint: ClassVar[str] = "Retry; if it happens again, run `mycel doctor`."

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        data: Mapping[str, Any] | None = None,
        span: Iterable[int] = (0, 0),
    ) -> None:
        """An error; `span` is its place in the text of a command, (0, 0) for none."""
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint
        self.data = dict(data or {})
        start, end = span
        if (start, end) != (0, 0):
            self.data["span"] = {"start": start, "end": end}

    def to_dict(self) -> dict[str, Any]:
        """The error as every surface sends it."""
        wire: dict[str, Any] = {
            "code": self.code,
            "name": self.name,
            "message": self.message,
            "hint": self.hint,
        }
        if self.data:
            wire["data"] = self.data
        return wire

    def __str__(self) -> str:
        # The hint starts a new line after an excerpt of the text.
        between = "\n" if "\n" in self.message else " "
        return f"{self.code} {self.name}: {self.message}{between}{self.hint}"


class InvalidSyntax(MycelError):
    """A command that cannot be parsed."""

    code = "KIP_1001"
    name = "InvalidSyntax"
    category = Category.INPUT
    default_hint = (
        "Check the form of the text; of a command, brackets, quotes, keywords and clauses."
    )


class InvalidId(InvalidSyntax):
    """An id that is malformed, or of the wrong kind of element."""

    name = "InvalidId"
    default_hint = "Ids look like C:12 for a concept and P:13:predicate for a proposition."


class InvalidIdentifier(MycelError):
    """A name that is no identifier where one is needed."""

    code = "KIP_1002"
    name = "InvalidIdentifier"
    category = Category.INPUT
    default_hint = "An identifier is a letter or underscore, then letters, digits or underscores."


class TypeMismatch(MycelError):
    """A type or predicate that is not defined."""

    code = "KIP_2001"
    name = "TypeMismatch"
    category = Category.INPUT
    default_hint = "Define the type or predicate first; names are case-sensitive."


class ConstraintViolation(MycelError):
    """A present or missing value breaks a rule of the schema or of the engine."""

    code = "KIP_2002"
    name = "ConstraintViolation"
    category = Category.INPUT
    default_hint = "Change the request so that it keeps the rule that the message names."


class SelfEdgeError(ConstraintViolation):
    """A link from an element to itself."""

    name = "SelfEdgeError"
    default_hint = "Source and target of a link must be two different elements."


class Unsupported(ConstraintViolation):
    """A task that the database of the graph cannot do yet."""

    name = "Unsupported"
    default_hint = "Use a graph in a file for it; `mycel export` and `mycel load` move knowledge."


class SchemaError(MycelError):
    """A schema that cannot be read, or that breaks a rule of the schema language."""

    code = "KIP_2002"
    name = "SchemaError"
    category = Category.INPUT
    default_hint = "Correct the schema at the place shown; docs/schema-language.md has the rules."


class InvalidValueType(MycelError):
    """A value of the wrong type, or one that JSON cannot carry."""

    code = "KIP_2003"
    name = "InvalidValueType"
    category = Category.INPUT
    default_hint = (
        "Pass a value of the type that the message names. Values follow the JSON model: string,"
        " finite number, boolean, null, array, object."
    )


class UnknownReference(MycelError):
    """A variable, handle or parameter that nothing defines; `ReferenceError` on the wire."""

    code = "KIP_3001"
    name = "ReferenceError"
    category = Category.INPUT
    default_hint = "Define the variable, handle or parameter before it is used."


class NotFound(MycelError):
    """An element that is referred to does not exist."""

    code = "KIP_3002"
    name = "NotFound"
    category = Category.MISSING
    default_hint = "It may have been removed or never created; look it up first."


class DuplicateExists(MycelError):
    """Several elements, or an existing one, where only one may be."""

    code = "KIP_3003"
    name = "DuplicateExists"
    category = Category.CONFLICT
    default_hint = "Change the existing one instead of creating it again, or choose another name."


class AmbiguousName(DuplicateExists):
    """A short name that several nodes have."""

    name = "AmbiguousName"
    default_hint = "Pass the URI of the one you mean."


class ImmutableTarget(MycelError):
    """A change of an element that must not change."""

    code = "KIP_3004"
    name = "ImmutableTarget"
    category = Category.FORBIDDEN
    default_hint = "This is part of the system's foundation and cannot be changed or removed."


class AccessDenied(MycelError):
    """A caller who may not do this, or not from where the request came."""

    code = "KIP_3004"
    name = "AccessDenied"
    category = Category.FORBIDDEN
    default_hint = "Ask the operator of the server for access, or for its token."


class VersionConflict(MycelError):
    """An element has another version than the one that was expected."""

    code = "KIP_3005"
    name = "VersionConflict"
    category = Category.CONFLICT
    default_hint = (
        "Read the element again, decide on its current state, and retry with its version."
    )


class ExecutionTimeout(MycelError):
    """The deadline passed before the work was done."""

    code = "KIP_4001"
    name = "ExecutionTimeout"
    category = Category.LIMIT
    default_hint = (
        "Ask for less: fewer hops, a smaller LIMIT, a more selective pattern; or allow more time."
    )


class DatabaseBusy(ExecutionTimeout):
    """Another writer held the file for too long."""

    name = "DatabaseBusy"
    default_hint = "Another process is writing; retry, or open with a longer busy_timeout_s."


class SchemaApplyInProgress(DatabaseBusy):
    """Another process is applying a schema."""

    name = "SchemaApplyInProgress"
    default_hint = "Wait until it is done, look at the schema again, then apply yours."


class ResourceExhausted(MycelError):
    """A request, or its result, beyond one of the limits."""

    code = "KIP_4002"
    name = "ResourceExhausted"
    category = Category.LIMIT
    default_hint = "Make the request smaller; page through long answers with LIMIT and CURSOR."


class DiskFull(ResourceExhausted):
    """No space to write to."""

    name = "DiskFull"
    category = Category.SYSTEM
    default_hint = "Nothing was written. Free some space and retry; the database is intact."


class InternalError(MycelError):
    """A failure inside Mycel that the caller has not caused."""


class DatabaseError(InternalError):
    """The storage failed, and nothing was written."""

    name = "DatabaseError"
    default_hint = "Nothing was written. Check the path, the disk and the permissions, then retry."


class NotADatabase(DatabaseError):
    """No graph that this version of Mycel can open is at this path or URL."""

    name = "NotADatabase"
    default_hint = "Check the path or the URL. Nothing there was changed."


class FormatTooNew(DatabaseError):
    """A file that a later version of Mycel wrote."""

    name = "FormatTooNew"
    default_hint = "Upgrade Mycel; an older version would not understand this file."


class DatabaseReadOnly(DatabaseError):
    """A write to a database that is open for reading, or that may not be written."""

    name = "DatabaseReadOnly"
    default_hint = (
        "Check the permissions of the path. To read a graph only, open it with readonly=True."
    )


class DatabaseCorrupt(DatabaseError):
    """The file contradicts itself."""

    name = "DatabaseCorrupt"
    default_hint = "Run `mycel verify` to see the damage, and restore from a copy."


class DatabaseClosed(DatabaseError):
    """Use of a database after it was closed."""

    name = "DatabaseClosed"
    default_hint = "Open the database again with mycel.open()."


class EmbedderFailed(InternalError):
    """An embedder cannot be loaded, cannot be reached, or makes no vectors of texts."""

    name = "EmbedderFailed"
    default_hint = "Search with MODE 'keyword', or choose another embedder with `mycel embed use`."


class GitFailed(InternalError):
    """git is not installed, or a call of it failed; the graph is as it was."""

    name = "GitFailed"
    default_hint = "Check the repository with git, then run `mycel mirror status`."


class RemoteFailed(InternalError):
    """Another workspace cannot be reached, or its answer cannot be trusted; nothing was changed."""

    name = "RemoteFailed"
    default_hint = (
        "Check its address (`mycel remote list` shows registered ones), or try again later."
    )


class HistoryRewritten(RemoteFailed):
    """The history of another workspace does not continue the one that was seen before."""

    name = "HistoryRewritten"
    default_hint = (
        "Nothing was changed here. Ask the person who runs the remote. If the new history is"
        " right, `mycel remote remove` and `mycel remote add` trust it again; then pull and push."
    )


class CommitUncertain(InternalError):
    """The commit failed at its last step and may be durable."""

    name = "CommitUncertain"
    default_hint = (
        "It may or may not be durable. Retrying is safe: identical writes change nothing."
    )


def _tree(base: type[MycelError]) -> list[type[MycelError]]:
    return [base] + [descendant for sub in base.__subclasses__() for descendant in _tree(sub)]


REGISTRY: dict[str, type[MycelError]] = {error.name: error for error in _tree(MycelError)[1:]}
"""Every error that is raised, by its name on the wire."""


_COMPARED_CHARACTERS_MAX = 120
"""Longer names are not compared, because the time grows with the product of both lengths."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A sentence with the closest known names; empty if none is close.

    >>> did_you_mean("drug", ["Drug", "Symptom"])
    "Did you mean 'Drug'?"
    """
    close = close_names(name, names)
    return f"Did you mean {' or '.join(map(repr, close))}?" if close else ""


def close_names(name: str, names: Iterable[str]) -> list[str]:
    """Up to three known names similar to a name: in another case, misspelled, or containing it.

    >>> close_names("mozart", ["Salieri", "Wolfgang Amadeus Mozart"])
    ['Wolfgang Amadeus Mozart']
    """
    if len(name) > _COMPARED_CHARACTERS_MAX:
        return []
    folded = {
        candidate.casefold(): candidate
        for candidate in names
        if len(candidate) <= _COMPARED_CHARACTERS_MAX
    }
    key = name.casefold()
    if key in folded:
        return [folded[key]]
    misspelled = get_close_matches(key, list(folded), n=3)
    containing = (candidate for candidate in folded if len(key) >= 3 and key in candidate)
    return [folded[candidate] for candidate in islice(dict.fromkeys((*misspelled, *containing)), 3)]
