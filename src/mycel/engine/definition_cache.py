"""Definitions in the form that guards use; texts in the cache are not parsed again.

The cache maps the text of a definition to the parsed definition, across transactions. It needs no
invalidation after a rollback or a write of another process. A transaction reads each definition
once, until `refresh`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from mycel.model.values import parse_object
from mycel.store.write.transaction import Transaction

_PARSED_MAX: Final = 4096

Definition = TypeVar("Definition")


class Definitions(Generic[Definition]):
    """The definitions of one meta-type, each parsed by the function of the guard."""

    def __init__(
        self, meta_type: int, parse: Callable[[str, Mapping[str, Any]], Definition | None]
    ) -> None:
        self._meta_type = meta_type
        self._parse = parse
        self._parsed: dict[tuple[str, str], Definition | None] = {}

    def read(self, tx: Transaction, name: str) -> Definition | None:
        """A definition as it was when the transaction first read it, or last refreshed it."""
        cache: dict[str, Definition | None] = tx.memo.get(self) or tx.memo.setdefault(self, {})
        return cache[name] if name in cache else self.refresh(tx, name)

    def refresh(self, tx: Transaction, name: str) -> Definition | None:
        """The current definition; None if there is none, or if it has no rules for the guard."""
        text = tx.definition(self._meta_type, name)
        definition = None
        if text is not None:
            if (name, text) not in self._parsed:
                if len(self._parsed) >= _PARSED_MAX:
                    self._parsed.clear()
                self._parsed[name, text] = self._parse(name, parse_object(text))
            definition = self._parsed[name, text]
        tx.memo.setdefault(self, {})[name] = definition
        return definition
