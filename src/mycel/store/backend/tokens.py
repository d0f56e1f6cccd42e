"""Splits texts into terms with the tokenizer of FTS5."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import apsw

_TOKENIZER: Final = ("porter", ["unicode61", "remove_diacritics", "2"])


@cache
def _tokenizer() -> Any:
    return apsw.Connection(":memory:").fts5_tokenizer(*_TOKENIZER)


def tokens_of(text: str) -> list[str]:
    """The terms of a text, in their order."""
    tokens: Any = _tokenizer()(
        text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False
    )
    return [term for term, *_ in tokens]
