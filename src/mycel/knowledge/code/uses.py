"""Names that a file uses without calling them: function values, constants, types, variants.

The source is searched as text, without comments and strings: a grammar gives no tree for the
arguments of a macro. A name is kept if it can mean a symbol: the file defines or imports it, it
follows `self` or a path, or the language finds it in other files. One pattern finds the names of a
whole function at once, which is much faster than to visit each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from mycel.knowledge.code.calls import Calls
from mycel.knowledge.code.language_rules import Syntax
from mycel.knowledge.code.prose_patterns import (
    C_PROSE,
    GO_PROSE,
    JAVA_PROSE,
    JAVASCRIPT_PROSE,
    PYTHON_PROSE,
    RUST_PROSE,
)
from mycel.knowledge.code.scopes import Captures, Scope, in_order, with_scopes
from mycel.knowledge.code.source_facts import Call

USES_MAX: Final = 5_000
"""Uses of one file; a longer file is generated."""
PARTS_MAX: Final = 6
SEGMENT_BYTES_MIN: Final = 4
"""Less text between two definitions is white space and brackets."""

# Prose, or a name and what follows it. A name does not come after a dot, except the two of a range.
_NAME: Final = (
    rb"|(?<![\w$@#])(?<!(?<!\.)\.)([A-Za-z_$][\w$]*+(?>(?:(?:::|\.)[A-Za-z_$][\w$]*+)*))"
    rb"\s*+(\(|=(?![=>])|:(?!:)|::<[^<>()]{0,100}+>\()?"
)
_NAME_GROUPS: Final = 2
_C_NAMES: Final = re.compile(C_PROSE + _NAME, re.DOTALL)
_GO_NAMES: Final = re.compile(GO_PROSE + _NAME, re.DOTALL)
_JAVA_NAMES: Final = re.compile(JAVA_PROSE + _NAME, re.DOTALL)
_JAVASCRIPT_NAMES: Final = re.compile(JAVASCRIPT_PROSE + _NAME, re.DOTALL)
_PYTHON_NAMES: Final = re.compile(PYTHON_PROSE + _NAME, re.DOTALL)
_RUST_NAMES: Final = re.compile(RUST_PROSE + _NAME, re.DOTALL)
_NAMES: Final = {
    "python": _PYTHON_NAMES,
    "javascript": _JAVASCRIPT_NAMES,
    "typescript": _JAVASCRIPT_NAMES,
    "tsx": _JAVASCRIPT_NAMES,
    "rust": _RUST_NAMES,
    "go": _GO_NAMES,
    "java": _JAVA_NAMES,
}
_FORMATTED: Final = re.compile(
    rb"(?<!\w)[rR]?[fF][rR]?(?:'((?>(?:[^'\\\n]|\\.)*))|\"((?>(?:[^\"\\\n]|\\.)*)))", re.DOTALL
)
_FIELD: Final = re.compile(rb"\{([^{}\n]{1,300}+)\}")
_TEMPLATE_FIELD: Final = re.compile(rb"\$\{([^{}\n]{1,300}+)\}")
_SEPARATOR: Final = re.compile(r"::|\.")
_TYPE: Final = re.compile(r"[A-Z]\w{2,}")
_SHORT: Final = 3

_OWN: Final = frozenset({"self", "Self", "this", "cls"})
_ROOTS: Final = frozenset({"crate", "super"})
_NO_SYMBOLS: Final = _OWN | _ROOTS
"""Names that mean a symbol only together with what follows them."""
_LABELLED: Final = frozenset({"rust", "javascript", "typescript", "tsx"})
"""Languages in which a name before a colon is a field or a parameter."""
_SHARED: Final = frozenset({"go", "c", "cpp"})
"""Languages that find every name of a package without an import."""


class FoundNames(NamedTuple):
    """The uses of a file, and the calls inside of macros."""

    uses: tuple[Call, ...]
    calls: tuple[Call, ...]


def find_uses(
    syntax: Syntax, source: bytes, scopes: list[Scope], captures: Captures, calls: Calls
) -> FoundNames:
    """The names that a file uses, each once for a user."""
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
    """The parts of a source, each with the innermost definition around it."""
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
    """The dotted names of a source that may mean a symbol."""

    def __init__(self, syntax: Syntax, source: bytes, calls: Calls) -> None:
        self._syntax = syntax
        self._source = source
        self._calls = calls
        self._pattern = _NAMES.get(syntax.language, _C_NAMES)
        self._known: dict[tuple[bytes, bytes], tuple[str, ...]] = {}
        """The symbol that each name and the sign after it use, in parts; () for none."""
        self._labels = {
            "python": b"=", **dict.fromkeys(_LABELLED, b":")
        }.get(syntax.language, b"")  # fmt: skip
        """A sign after a name that makes it no use: of an argument, a field or a parameter."""

    def used(self, start: int, end: int) -> list[tuple[str, ...]]:
        """The names that are used between two places: of a call, what is before the last dot."""
        found: set[tuple[str, ...]] = set()
        names = self._names(start, end)
        if self._syntax.language == "python":
            names |= self._in_formatted(start, end)
        elif self._pattern is _JAVASCRIPT_NAMES:
            names |= self._in_templates(start, end)
        known = self._known
        for name in names:
            parts = known.get(name)
            if parts is None:
                parts = known[name] = self._used(*name)
            if parts:
                found.add(parts)
        return sorted(found)

    def _used(self, chain: bytes, sign: bytes) -> tuple[str, ...]:
        """The symbol that a name may use, by the sign after it: of a call, its owner."""
        parts = self._read(chain) if chain else ()
        if sign and sign == self._labels and len(parts) == 1:
            return ()
        if sign.endswith(b"("):
            parts = parts[:-1]
        if not parts or (len(parts) == 1 and parts[0] in _NO_SYMBOLS):
            return ()
        return ("self", *parts[1:]) if parts[0] in _OWN else parts

    def called(self, start: int, end: int) -> list[tuple[str, ...]]:
        """The names that are called between two places."""
        if self._source.find(b"(", start + 1, end) < 0:
            return []
        names = self._names(start, end)
        chains = sorted(chain for chain, sign in names if chain and sign.endswith(b"("))
        return [tuple(_SEPARATOR.split(chain.decode()))[:PARTS_MAX] for chain in chains]

    def _names(self, start: int, end: int) -> set[tuple[bytes, bytes]]:
        """The names between two places, each with the sign after it."""
        found = self._pattern.findall(self._source, start, end)
        # A mark of a raw string is a group before those of names.
        return {*found} if self._pattern.groups == _NAME_GROUPS else {each[-2:] for each in found}

    def _in_templates(self, start: int, end: int) -> set[tuple[bytes, bytes]]:
        """The names in the fields of templates."""
        if self._source.find(b"${", start, end) < 0:
            return set()
        fields = _TEMPLATE_FIELD.findall(self._source, start, end)
        return {name for field in fields for name in self._pattern.findall(field)}

    def _in_formatted(self, start: int, end: int) -> set[tuple[bytes, bytes]]:
        """The names in the fields of f-strings."""
        return {
            name
            for texts in _FORMATTED.findall(self._source, start, end)
            for field in _FIELD.findall(texts[0] or texts[1])
            for name in self._pattern.findall(field)
        }

    def _read(self, chain: bytes) -> tuple[str, ...]:
        parts = tuple(_SEPARATOR.split(chain.decode()))[:PARTS_MAX]
        head, language = parts[0], self._syntax.language
        if head in _OWN or head in _ROOTS:
            return parts if len(parts) > 1 else ()
        if head in self._calls.known:
            return parts
        if not (self._syntax.names_from_elsewhere or self._calls.has_star):
            return ()
        if language in _SHARED:
            return parts if len(head) > _SHORT else ()
        is_path = len(parts) > 1 and language == "rust"
        return parts if is_path or _TYPE.fullmatch(head) else ()
