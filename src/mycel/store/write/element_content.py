"""Turns attributes and metadata into texts, which are stored, merged and indexed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from mycel.errors import InternalError, VersionConflict
from mycel.model import allowance, cbor
from mycel.model.limits import JSON_BYTES_MAX
from mycel.model.records import CONTENT_HEADS
from mycel.model.values import EMPTY_OBJECT, check_metadata_keys, object_text, parse_object

COMPUTED_METADATA: Final = ("_version", "_updated_at")
"""Metadata keys that readers see and that are never stored."""

NO_CONTENT: Final = (EMPTY_OBJECT, b"")
"""The content of an object without keys."""

_FLAT_BYTES_MAX: Final = JSON_BYTES_MAX // 8
"""Flat objects up to this size stay below the limit of JSON, even if every character is escaped."""


def expect(expected: int | None, actual: int, label: str) -> None:
    """Refuse to write unless the version is the expected one; 0 means that there is no element."""
    if expected is not None and expected != actual:
        raise VersionConflict(
            f"Expected version {expected} of {label}, but it is {actual or 'missing'}.",
            data={"expected": expected, "actual": actual},
        )


def merged(
    old_text: str, changes: Mapping[str, Any] | None, drop: Iterable[str], field: str
) -> str:
    """The JSON text of an object after a shallow merge (KIP §2.10) and the removal of keys."""
    dropped = {drop} if isinstance(drop, str) else set(drop)
    new = {} if changes is None else changes
    if new.__class__ is not dict or dropped:  # If not, `object_text` checks all below.
        new = parse_object(
            checked_metadata(new) if field == "metadata" else object_text(new, field)
        )
    elif field == "metadata":
        check_metadata_keys(new)
    if not new and not dropped:
        return old_text
    combined = parse_object(old_text) | dict(new)
    return object_text({key: combined[key] for key in combined if key not in dropped}, field)


def with_reserved(metadata_text: str, reserved: Mapping[str, Any]) -> str:
    """Metadata with added keys that only the engine writes.

    Raises:
        InternalError: a key is not reserved, or is computed and never stored.
    """
    for key in reserved:
        if not key.startswith("_") or key in COMPUTED_METADATA:
            raise InternalError(f"The engine does not keep a metadata key {key!r}.")
    return object_text(parse_object(metadata_text) | dict(reserved), "metadata")


def has_text(attributes_text: str) -> bool:
    """True if the attributes of a link have a string, which is text to index."""
    return '":"' in attributes_text or '["' in attributes_text or ',"' in attributes_text


def checked_metadata(metadata: Mapping[str, Any]) -> str:
    """The text of a metadata object that a caller sent."""
    if metadata.__class__ is dict and not metadata:
        return EMPTY_OBJECT
    checked = object_text(metadata, "metadata")
    check_metadata_keys(metadata)
    return checked


def content(value: Mapping[str, Any] | None, field: str) -> tuple[str, bytes]:
    """The stored form of an object that a caller sent, and its form in a record.

    An empty object is left out of the record.

    Raises:
        InvalidValueType: something in it is no JSON value.
        ResourceExhausted: the object nests too deep or is too large.
        ConstraintViolation: a key is reserved.
    """
    if value is None or (value.__class__ is dict and not value):
        return NO_CONTENT
    flat = cbor.flat_object(value) if value.__class__ is dict else None
    if flat is None or len(flat) > _FLAT_BYTES_MAX:
        allowance.check()  # Loading thousands of large objects takes minutes.
        text = checked_metadata(value) if field == "metadata" else object_text(value, field)
        if text == EMPTY_OBJECT:
            return NO_CONTENT
        encoded = cbor.encode(parse_object(text))  # In `text`, times are texts.
    else:
        if field == "metadata":
            check_metadata_keys(value)
        text, encoded = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode(), flat
    return text, CONTENT_HEADS[field] + cbor.byte_string(encoded)
