"""The calls of a file: caller, callee, and the kind of object it is called on.

A callee is a dotted name, split into parts. The first part has one of these forms:

    f, m.f, A.f   a name of the file or of an import, as it is written
    self, super   the object whose method runs
    A()           an object that `A` makes: an instance of a class, or the result of a function
    ?             an object of unknown class; the only other part is the method

A local variable is replaced by `A()` if every value assigned to it has the type `A`, and otherwise
by `?`. Calls of local variables and of builtins are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from mycel.knowledge.code.language_rules import Syntax, short_text
from mycel.knowledge.code.scopes import Captures, Scope, in_order, with_scopes
from mycel.knowledge.code.source_facts import LITERAL, RESULT, UNKNOWN, Call, Import

_PARTS_MAX: Final = 8
_VARIABLES: Final = frozenset({"constant", "variable"})
"""The kinds of definitions that are variables."""

Types = dict[str, str]
"""Names with the types of their values; "" for an unknown type."""


class Calls:
    """Reads calls and fields, by the names that a file and its functions bind."""

    def __init__(
        self,
        syntax: Syntax,
        source: bytes,
        scopes: list[Scope],
        imports: tuple[Import, ...],
        captures: Captures,
    ) -> None:
        self._syntax = syntax
        self._source = source
        self._scopes = scopes
        self._captures = captures
        self.known = known_names(scopes, imports)
        """The names that the file defines or imports."""
        self._late = _late_names(imports, scopes)
        self.has_star = _has_star(imports)
        """True if a star import brings all names of a module."""
        self._bound: dict[int, Types] = {}
        """Types of bound names by the id of their function's scope; 0 is the file."""
        self._bind()

    def _bind(self) -> None:
        syntax, source = self._syntax, self._source
        types = {
            start: name
            for node in self._captures.get("typed", ())
            for start, name in syntax.typed(node, source)
        }
        functions: dict[int, Scope] = {}
        for node, scope in with_scopes(in_order(self._captures, "bound"), self._scopes):
            outer = scope.outer_function if scope is not None else None
            is_definition = scope is not None and scope.parent is None and scope.kind in _VARIABLES
            if outer is None and scope is not None and not is_definition:
                continue  # Definitions in a class or a module inside the file are no variables.
            bound = self._bound.setdefault(id(outer) if outer is not None else 0, {})
            if outer is not None:
                functions[id(outer)] = outer
            name, of = short_text(node, source), types.get(node.start_byte, "")
            bound[name] = of if bound.get(name, of) == of else ""
        for key, bound in self._bound.items():
            function = functions.get(key)
            makers = {name: self._settled(of, bound, function) for name, of in bound.items() if of}
            bound.update(makers)

    def _settled(self, maker: str, bound: Types, function: Scope | None) -> str:
        """The maker of a value, with local variables replaced by their makers; "" if not known."""
        head, dot, rest = maker.partition(".")
        if head in self._syntax.parents:
            return ""
        if head in self._syntax.receivers or (function is not None and head == function.receiver):
            return f"self{dot}{rest}"
        if head not in bound or head in (self._late if function is not None else self.known):
            return maker
        of = bound[head]
        is_plain = dot and of and of.partition(".")[0] not in bound
        return f"{of}.{rest}" if is_plain else ""

    def read(self) -> tuple[Call, ...]:
        """The calls in the order of the text; each call of a caller appears once."""
        syntax, source = self._syntax, self._source
        calls: dict[Call, None] = {}
        callees: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
        for node, scope in with_scopes(in_order(self._captures, "call", "new"), self._scopes):
            parts = syntax.callee(node, source)
            if not parts:
                continue
            key = id(scope.outer_function) if scope is not None else 0, parts
            callee = callees.get(key)
            if callee is None:
                callee = callees[key] = self._callee(parts, scope)
            if callee:
                # Code directly in a class runs when the file runs.
                calls[Call(_caller(scope), callee)] = None
        return tuple(calls)

    def fields(self) -> tuple[tuple[str, str], ...]:
        """The fields of classes by qualified name, with their types."""
        types: Types = {}
        for node, scope in with_scopes(in_order(self._captures, "field"), self._scopes):
            owner = _class_around(scope)
            outer = scope.outer_function if scope is not None else None
            for name, of in self._syntax.fields(node, self._source) if owner else ():
                variable = of.removeprefix("=")
                type_name = of if variable == of else self._types(outer).get(variable, "")
                key = f"{owner}.{name}"
                types[key] = type_name if types.get(key, type_name) == type_name else ""
        return tuple((name, of) for name, of in types.items() if of)

    def is_local(self, name: str, outer: Scope | None) -> bool:
        """True if a name is a variable of the function and names no symbol."""
        if outer is None or name in self._late:
            return False
        return name == outer.receiver or name in self._types(outer)

    def callee_of(self, parts: tuple[str, ...], scope: Scope | None) -> tuple[str, ...]:
        """The callee of a call that the syntax tree does not show, as in a macro; () for none."""
        return self._callee(parts, scope)

    def caller_of(self, scope: Scope | None) -> str | None:
        """The function around a scope, which makes the calls there; None for the file."""
        return _caller(scope)

    def _types(self, outer: Scope | None) -> Mapping[str, str]:
        return self._bound.get(id(outer) if outer is not None else 0, {})

    def _callee(self, parts: tuple[str, ...], scope: Scope | None) -> tuple[str, ...]:
        outer = scope.outer_function if scope is not None else None
        head, rest = parts[0], parts[1:]
        if len(parts) > _PARTS_MAX:
            return (UNKNOWN, parts[-1])
        if head == UNKNOWN:
            return parts
        if head.endswith(RESULT):
            callee = self._callee(tuple(head.removesuffix(RESULT).split(".")), scope)
            if not callee or callee[0] in (UNKNOWN, "super"):
                return (UNKNOWN, rest[-1])
            first = callee[0].removesuffix(RESULT)
            return (".".join((first, *callee[1:])) + RESULT, *rest)
        if head in self._syntax.receivers or (outer is not None and head == outer.receiver):
            return ("self", *rest) if rest else ()
        if head in self._syntax.parents:
            return ("super", *rest) if len(rest) == 1 else ()
        return self._find_callees(head, rest, outer)

    def _find_callees(
        self, head: str, rest: tuple[str, ...], outer: Scope | None
    ) -> tuple[str, ...]:
        """The callee of a call whose first part is a name."""
        is_value = head.startswith(".")
        head = head.removeprefix(".")
        of = self._types(outer).get(head) if outer is not None else None
        if of is not None and head not in self._late:
            return self._on_variable(of, rest)
        of = self._types(None).get(head)
        if rest and (of or (of is not None and head not in self.known)):
            return self._on_variable(of, rest)
        if is_value:
            return ("self", head, *rest)
        if head in self.known or self.has_star or self._syntax.names_from_elsewhere:
            return (head, *rest)
        return ()

    def _on_variable(self, of: str, rest: tuple[str, ...]) -> tuple[str, ...]:
        if not rest or of == LITERAL:
            return ()
        return (of + RESULT, *rest) if of else (UNKNOWN, rest[-1])


def known_names(scopes: Iterable[Scope], imports: Iterable[Import]) -> frozenset[str]:
    """All names that a file defines or imports."""
    names = {scope.name for scope in scopes}
    for imported in imports:
        names.update(inner for _, inner in imported.names)
        names.add(imported.alias.partition(".")[0])
    return frozenset(names)


def _has_star(imports: Iterable[Import]) -> bool:
    """True if a star import brings all names of a module."""
    return any(
        inner == "*" and imported.form != "reexport"
        for imported in imports
        for _, inner in imported.names
    )


def _caller(scope: Scope | None) -> str | None:
    if scope is None or (scope.outer_function is None and scope.kind != "macro"):
        return None
    return scope.qualified


def _class_around(scope: Scope | None) -> str:
    """The qualified name of the innermost class around a scope; "" for none."""
    while scope is not None and not scope.is_class:
        scope = scope.parent
    return scope.qualified if scope is not None else ""


def _late_names(imports: tuple[Import, ...], scopes: list[Scope]) -> frozenset[str]:
    """Names that an import or a definition inside a function binds. They are not variables."""
    names = {scope.name for scope in scopes if scope.outer_function not in (None, scope)}
    for imported in imports:
        if imported.scope:
            names.update(inner for _, inner in imported.names)
            names.add(imported.alias)
    return frozenset(names)
