"""The data of an edge in the forms that callers give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mycel.errors import InvalidValueType
from mycel.model import cbor


def edge_data(data: Mapping[str, Any] | bytes | None) -> Mapping[str, Any] | None:
    """The data of an edge, given as a mapping or as canonical CBOR.

    Raises:
        InvalidValueType: the bytes are no canonical object.
    """
    if not isinstance(data, bytes):
        return data
    value = cbor.decode(data)
    if not isinstance(value, dict) or cbor.encode(value) != data:
        raise InvalidValueType(
            "The data of an edge must be the canonical CBOR of an object.",
            hint="Pass a dict, or bytes from cbor2.dumps(value, canonical=True).",
        )
    return value
