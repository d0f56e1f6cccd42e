"""Finds names that a file uses without calling them: function values, constants, types, variants.

The source is searched as text, without comments and strings, because a grammar has no tree for the
arguments of a macro. A name is kept if it can mean a symbol: the file defines or imports it, it
follows `self` or a path, or the language finds it in other files. One pattern finds all names of a
function at once, which is much faster than a visit to each node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from mycel.knowledge.code.calls import Calls
from mycel.knowledge.code.language_rules import Syntax
from mycel.knowledge.code.scopes import Captures, Scope, in_order, with_scopes
from mycel.knowledge.code.source_facts import Call

USES_MAX: Final = 5_000
"""The maximum number of uses of one file; a file with more was generated."""
PARTS_MAX: Final = 6
SEGMENT_BYTES_MIN: Final = 4
"""Text between two definitions that is shorter than this is only white space and brackets."""

# Comments or strings; or a name and the sign after it. A name follows no dot, except the dots of a
# range.
_NAME: Final = (
    rb"|(?<![\w$@#])(?<!(?<!\.)\.)([A-Za-z_$][\w$]*+(?>(?:(?:::|\.)[A-Za-z_$][\w$]*+)*))"
    rb"\s*+(\(|=(?![=>])|:(?!:)|::<[^<>()]{0,100}+>\()?"
)
_NAME_GROUPS: Final = 2
_SEPARATOR: Final = re.compile(r"::|\.")
_TYPE: Final = re.compile(r"[A-Z]\w{2,}")
_SHORT: Final = 3

_OWN: Final = frozenset({"self", "Self", "this", "cls"})
_ROOTS: Final = frozenset({"crate", "super"})
_NO_SYMBOLS: Final = _OWN | _ROOTS
"""Names that mean a symbol only together with the names after them."""


@cache
def _name_pattern(prose: re.Pattern[bytes]) -> re.Pattern[bytes]:
    """A pattern of names. It also matches comments and strings, and so skips the names in them."""
    return re.compile(prose.pattern + _NAME, re.DOTALL)


class FoundNames(NamedTuple):
    """The uses of a file, and the calls inside macros."""

    uses: tuple[Call, ...]
    calls: tuple[Call, ...]


def find_uses(
    syntax: Syntax, source: bytes, scopes: list[Scope], captures: Captures, calls: Calls
) -> FoundNames:
    """The names that a file uses; each use of a user appears once."""
    uses: dict[Call, None] = {}
    chains = _Chains(syntax, source, calls)
    for scope, start, end in _segments(scopes, len(source)):
        if end - start < SEGMENT_BYTES_MIN:
            continue
        user = scope.qualified if scope is not None else None
        outer = scope.outer_function if scope is not None else None
        for parts in chains.used(start, end):
            if parts[0] == "self" or not calls.is_local(parts[0], outer):
                uses[Call(user, parts)] = None
        if len(uses) >= USES_MAX:
            break
    called: dict[Call, None] = {}
    for node, scope in with_scopes(in_order(captures, "macro"), scopes):
        for parts in chains.called(*node.byte_range):
            callee = calls.callee_of(parts, scope)
            if callee:
                called[Call(calls.caller_of(scope), callee)] = None
    return FoundNames(tuple(uses), tuple(called))


def _segments(scopes: list[Scope], length: int) -> Iterator[tuple[Scope | None, int, int]]:
    """The segments of a source, each with the innermost definition around it."""
    stack: list[Scope] = []
    at = 0
    for scope in scopes:
        while stack and stack[-1].end <= scope.start:
            around = stack.pop()
            yield around, at, max(at, around.end)
            at = max(at, around.end)
        yield (stack[-1] if stack else None), at, max(at, scope.start)
        at = max(at, scope.start)
        stack.append(scope)
    while stack:
        around = stack.pop()
        yield around, at, max(at, around.end)
        at = max(at, around.end)
    yield None, at, length


class _Chains:
    """Finds dotted names of a source that may mean a symbol."""

    def __init__(self, syntax: Syntax, source: bytes, calls: Calls) -> None:
        self._syntax = syntax
        self._source = source
        self._calls = calls
        self._pattern = _name_pattern(syntax.prose)
        self._known: dict[tuple[bytes, bytes], tuple[str, ...]] = {}
        """The parts of the symbol that each name with the sign after it uses; () for none."""

    def used(self, start: int, end: int) -> list[tuple[str, ...]]:
        """The names that are used between two positions; of a call, only its owner."""
        chains: set[tuple[str, ...]] = set()
        names = self._names(start, end)
        for field in self._syntax.string_fields(self._source, start, end):
            names.update(self._pattern.findall(field))
        symbols = self._known
        for name in names:
            parts = symbols.get(name)
            if parts is None:
                parts = symbols[name] = self._used(*name)
            if parts:
                chains.add(parts)
        return sorted(chains)

    def _used(self, chain: bytes, sign: bytes) -> tuple[str, ...]:
        """The symbol that a name uses, by the sign after it; a call uses the owner of the name."""
        parts = self._read(chain) if chain else ()
        if sign and sign == self._syntax.label_sign and len(parts) == 1:
            return ()
        if sign.endswith(b"("):
            parts = parts[:-1]
        if not parts or (len(parts) == 1 and parts[0] in _NO_SYMBOLS):
            return ()
        return ("self", *parts[1:]) if parts[0] in _OWN else parts

    def called(self, start: int, end: int) -> list[tuple[str, ...]]:
        """The names that are called between two positions."""
        if self._source.find(b"(", start + 1, end) < 0:
            return []
        names = self._names(start, end)
        chains = sorted(chain for chain, sign in names if chain and sign.endswith(b"("))
        return [tuple(_SEPARATOR.split(chain.decode()))[:PARTS_MAX] for chain in chains]

    def _names(self, start: int, end: int) -> set[tuple[bytes, bytes]]:
        """The names between two positions, each with the sign after it."""
        matches = self._pattern.findall(self._source, start, end)
        # In some patterns, a group for raw strings comes before the groups for names.
        return (
            {*matches}
            if self._pattern.groups == _NAME_GROUPS
            else {match[-2:] for match in matches}
        )

    def _read(self, chain: bytes) -> tuple[str, ...]:
        parts = tuple(_SEPARATOR.split(chain.decode()))[:PARTS_MAX]
        head = parts[0]
        if head in _OWN or head in _ROOTS:
            return parts if len(parts) > 1 else ()
        if head in self._calls.known:
            return parts
        if not (self._syntax.names_from_elsewhere or self._calls.has_star):
            return ()
        if self._syntax.shares_names:
            return parts if len(head) > _SHORT else ()
        is_path = len(parts) > 1 and self._syntax.has_path_names
        return parts if is_path or _TYPE.fullmatch(head) else ()
