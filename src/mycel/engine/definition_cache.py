"""Definitions as guards read them: from the graph as it is, parsed once for each text.

Reading takes one look-up by name in the transaction that asks. So there is nothing to invalidate:
not after a rollback, and not when another process has written. Only the parsing, the dear part, is
remembered, by the text that was parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from mycel.model.values import parse_object
from mycel.store.write.transaction import Transaction

_PARSED_MAX: Final = 4096

Definition = TypeVar("Definition")


class Definitions(Generic[Definition]):
    """The definitions of one meta-type, each as what a guard makes of it."""

    def __init__(
        self, meta_type: int, parse: Callable[[str, Mapping[str, Any]], Definition | None]
    ) -> None:
        self._meta_type = meta_type
        self._parse = parse
        self._parsed: dict[tuple[str, str], Definition | None] = {}

    def read(self, tx: Transaction, name: str) -> Definition | None:
        """What a definition says; None if there is none, or if it says nothing to this guard."""
        text = tx.definition(self._meta_type, name)
        if text is None:
            return None
        if (name, text) not in self._parsed:
            if len(self._parsed) >= _PARSED_MAX:
                self._parsed.clear()
            self._parsed[name, text] = self._parse(name, parse_object(text))
        return self._parsed[name, text]
