"""Gives parameters the numbers that PostgreSQL expects.

Statements of the store mark values with `?`, `?1` or `:name`, the ways of SQLite and of the
database API of Python. libpq takes only `$1`, so this module numbers the parameters, as psycopg
does with its own `%s`. Nothing else in a statement changes. The first argument of `mycel_matches`
is a pattern of RE2; its value is translated for PostgreSQL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from mycel.store.backend.postgres.patterns import postgres_pattern

_MATCHES: Final = "mycel_matches("
_MARK: Final = re.compile(r"'[^']*+'|\?([0-9]*+)|(?<![:\w]):([a-z_]\w*+)")


class _Pattern(NamedTuple):
    """The position or name of a bound value that is a pattern."""

    key: int | str


_Key = int | str | _Pattern


@lru_cache(4096)
def number_markers(statement: str) -> tuple[str, tuple[_Key, ...]]:
    """A statement with numbered parameters, and for each the position or name of its value."""
    keys: dict[_Key, int] = {}
    plain = 0

    def number(match: re.Match[str]) -> str:
        nonlocal plain
        place, name = match[1], match[2]
        if place is None and name is None:
            return match[0]
        key: _Key
        if name is not None:
            key = name
        elif place:
            key = int(place) - 1
        else:
            key, plain = plain, plain + 1
        if statement.endswith(_MATCHES, 0, match.start()):
            key = _Pattern(key)
        return f"${keys.setdefault(key, len(keys) + 1)}"

    text = _MARK.sub(number, statement)
    return text, tuple(keys)


def values_of(keys: Sequence[_Key], bindings: Any) -> list[Any]:
    """The values of the numbered parameters, in their order."""
    is_named = isinstance(bindings, Mapping | Sequence)
    values: Any = bindings if is_named else tuple(bindings)
    return [_pattern(values[key.key]) if isinstance(key, _Pattern) else values[key] for key in keys]


def _pattern(value: Any) -> Any:
    return postgres_pattern(value) if isinstance(value, str) else value
