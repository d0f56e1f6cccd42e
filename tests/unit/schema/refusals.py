"""Schemas that are refused. `‹` and `›` mark the text at which an error has to point."""

from __future__ import annotations

import pytest

from mycel.errors import SchemaError
from mycel.schema import load
from mycel.syntax.source import EXCERPT_CHARACTERS_MAX


def refusal(marked: str, *, file: str | None = None) -> SchemaError:
    """The error about a schema. It has to point at the marked text, and to have a hint."""
    start = marked.index("‹")
    end = marked.index("›") - 1
    text = marked.replace("‹", "").replace("›", "")
    with pytest.raises(SchemaError) as caught:
        load(text, file=file)
    error = caught.value
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    assert (error.data["line"], error.data["column"]) == (line, column), str(error)
    if end - start < EXCERPT_CHARACTERS_MAX // 2:
        assert error.data["excerpt"].split("\n")[1].count("^") == max(end - start, 1), str(error)
    assert error.hint != SchemaError.default_hint, str(error)
    return error
