"""The engine: from a syntax tree to facts, the same for every language.

One query over the tree brings all nodes of interest; Python sees nothing else of it. (A language
may know how to find them without the query, see `Syntax.look`.) Definitions
are intervals of bytes, so what contains what is found by one sweep over sorted intervals: the tree
is never walked and depth costs nothing. Texts are slices of the source.

A call is kept when something could be said about it: of a builtin, or of a method of some local
variable, nothing can be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mycel.knowledge.code.facts import Call, FileFacts, Import, Symbol
from mycel.knowledge.code.syntax import SIGNATURE_CHARS_MAX, Syntax, one_line, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

Captures = Mapping[str, list["Node"]]
Candidate = tuple[int, int, tuple[str, ...]]

PlaceT = TypeVar("PlaceT", bound=tuple[int, Any] | tuple[int, int, Any])

SCOPE_DEPTH_MAX: Final = 24
"""Definitions inside more definitions than this are left out."""

SYMBOLS_MAX: Final = 20_000
"""Symbols of one file; a longer file is generated."""

QUALIFIED_CHARS_MAX: Final = 500

CLASS_KINDS: Final = frozenset({"class", "interface", "struct", "enum", "trait", "record", "impl"})
_FUNCTION_KINDS: Final = frozenset({"function", "method", "constructor"})
_MODULE_KINDS: Final = frozenset({"module", "namespace"})
_WORD: Final = frozenset(
    byte.to_bytes() for byte in range(256) if byte >= 128 or chr(byte).isalnum() or byte == ord("_")
)
_JOINED: Final = _WORD | {b".", b"("}
_FIRST_WORD: Final = re.compile(rb"[\w$\x80-\xff]+")
_RANGE: Final = attrgetter("byte_range")
_SYMBOL: Final = "symbol."
_SIGNATURE_BYTES_MAX: Final = 4 * SIGNATURE_CHARS_MAX


@dataclass(slots=True)
class Scope:
    """A definition on its way to being a symbol, and a place that contains others."""

    start: int
    end: int
    node: Node
    kind: str
    name: str = ""
    qualified: str = ""
    exported: bool = True
    outer_function: Scope | None = None
    receiver: str = ""
    bound: frozenset[str] | None = None
    called: dict[str, int] | None = None


def extract(
    syntax: Syntax,
    source: bytes,
    captures: Captures,
    bound_in: Callable[[Node], Iterable[Node]],
    root: Node | None = None,
) -> FileFacts:
    """The facts of a file. `bound_in` runs the query `bindings` over a function.

    With `root`, the calls are not among the captures: they are looked for there by `syntax`.
    """
    exports = tuple(
        pair for node in _sorted(captures, "export") for pair in syntax.exports(node, source)
    )
    named_outside = frozenset(inside for _, inside in exports)
    scopes = list(_nested(syntax, source, _definitions(captures), named_outside))
    symbols = _symbols(syntax, source, scopes)
    imports = _imports(syntax, source, scopes, captures)
    calls = _Calls(syntax, source, scopes, _known(scopes, imports), bound_in, root)
    packages = _sorted(captures, "package")
    return FileFacts(
        language=syntax.language,
        symbols=symbols,
        imports=imports,
        calls=calls.read(captures, imports),
        package=text_of(packages[0], source) if packages else "",
        exports=tuple(dict.fromkeys(exports)),
    )


def _definitions(captures: Captures) -> list[Scope]:
    found = [
        Scope(*node.byte_range, node, capture.removeprefix(_SYMBOL))
        for capture, nodes in captures.items()
        if capture.startswith(_SYMBOL)
        for node in nodes
    ]
    found += [Scope(*node.byte_range, node, "impl") for node in captures.get("scope", ())]
    # Of two kinds of the same node, a function is more than the constant that holds it.
    found.sort(key=lambda scope: (scope.start, -scope.end, scope.kind == "constant", scope.kind))
    return found[:SYMBOLS_MAX]


def _nested(
    syntax: Syntax, source: bytes, definitions: Iterable[Scope], named_outside: frozenset[str]
) -> Iterator[Scope]:
    """Those definitions that have a name, with the names of what contains them."""
    stack: list[Scope] = []
    seen: tuple[int, str] = (-1, "")
    for scope in definitions:
        while stack and stack[-1].end <= scope.start:
            stack.pop()
        if len(stack) >= SCOPE_DEPTH_MAX:
            continue
        name = syntax.name(scope.node, source)
        parent = stack[-1] if stack else None
        if not name or seen == (scope.start, name):
            continue
        seen = (scope.start, name)
        scope.qualified = f"{parent.qualified}.{name}" if parent is not None else name
        if len(scope.qualified) > QUALIFIED_CHARS_MAX:
            continue
        owner, _, scope.name = name.rpartition(".")
        scope.kind = _kind(syntax, scope, parent, owner)
        if parent is None:
            scope.exported = name in named_outside or syntax.exported(scope.node, name, source)
        else:
            is_open = parent.kind == "impl" or parent.exported
            scope.exported = is_open and syntax.exported(scope.node, scope.name, source)
        _place_in_functions(syntax, source, scope, parent)
        yield scope
        if scope.kind not in syntax.flat_kinds:
            stack.append(scope)


def _kind(syntax: Syntax, scope: Scope, parent: Scope | None, owner: str) -> str:
    kind = syntax.kind(scope.node, scope.kind)
    if kind in ("function", "prototype") and (
        owner or (parent is not None and parent.kind in CLASS_KINDS)
    ):
        return "method"
    return kind


def _place_in_functions(syntax: Syntax, source: bytes, scope: Scope, parent: Scope | None) -> None:
    if parent is not None and parent.outer_function is not None:
        scope.outer_function = parent.outer_function
    elif scope.kind in _FUNCTION_KINDS:
        scope.outer_function = scope
        scope.receiver = syntax.receiver(scope.node, source)


def _symbols(syntax: Syntax, source: bytes, scopes: list[Scope]) -> tuple[Symbol, ...]:
    found: dict[str, Symbol] = {}
    further_bases: dict[str, list[str]] = {}
    for scope in scopes:
        if scope.kind == "impl":
            bases = syntax.bases(scope.node, source)
            further_bases.setdefault(scope.qualified, []).extend(bases)
        # The first of several with one name (overloads, branches of a condition) stands for all.
        elif scope.qualified not in found:
            found[scope.qualified] = _symbol(syntax, source, scope)
    for qualified, bases in further_bases.items():
        symbol = found.get(qualified)
        if symbol is not None and bases:
            merged = tuple(dict.fromkeys((*symbol.bases, *bases)))
            found[qualified] = symbol._replace(bases=merged)
    return tuple(found.values())


def _symbol(syntax: Syntax, source: bytes, scope: Scope) -> Symbol:
    node = scope.node
    body = syntax.body(node)
    end = min(
        body.start_byte if body is not None else scope.end, scope.start + _SIGNATURE_BYTES_MAX
    )
    text = source[scope.start : end].decode("utf-8", "replace")
    return Symbol(
        scope.name,
        scope.qualified,
        scope.kind,
        node.start_point[0] + 1,
        _last_line(node),
        one_line(syntax.signature(text)),
        syntax.doc(node, body, source),
        scope.exported,
        tuple(syntax.bases(node, source)) if scope.kind in CLASS_KINDS else (),
    )


def _last_line(node: Node) -> int:
    row, column = node.end_point
    # A node that ends with its line ends before the next one.
    return row + 1 if column or row == node.start_point[0] else row


def _imports(
    syntax: Syntax, source: bytes, scopes: list[Scope], captures: Captures
) -> tuple[Import, ...]:
    found: list[Import] = []
    nodes = ((node.start_byte, node) for node in _sorted(captures, "import"))
    for (_, node), scope in _with_scopes(nodes, scopes):
        line, inside = node.start_point[0] + 1, _import_scope(scope)
        found += [
            Import(i.module, i.names, line, i.level, i.alias, inside, i.form)
            for i in syntax.imports(node, source)
        ]
    return tuple(found)


def _import_scope(scope: Scope | None) -> str:
    if scope is None or (scope.outer_function is None and scope.kind not in _MODULE_KINDS):
        return ""
    return scope.qualified


def _known(scopes: list[Scope], imports: tuple[Import, ...]) -> frozenset[str]:
    """The names that mean something in this file."""
    known = {scope.name for scope in scopes}
    for imported in imports:
        known.update(here for _, here in imported.names)
        known.add(imported.alias.partition(".")[0])
    return frozenset(known)


def _with_scopes(
    places: Iterable[PlaceT], scopes: list[Scope]
) -> Iterator[tuple[PlaceT, Scope | None]]:
    """Each place with the innermost definition around it. Both must be in the order of the text."""
    stack: list[Scope] = []
    next_scope = 0
    for place in places:
        start = place[0]
        while next_scope < len(scopes) and scopes[next_scope].start <= start:
            scope = scopes[next_scope]
            next_scope += 1
            while stack and stack[-1].end <= scope.start:
                stack.pop()
            stack.append(scope)
        while stack and stack[-1].end <= start:
            stack.pop()
        yield place, stack[-1] if stack else None


class _Calls:
    def __init__(
        self,
        syntax: Syntax,
        source: bytes,
        scopes: list[Scope],
        known: frozenset[str],
        bound_in: Callable[[Node], Iterable[Node]],
        root: Node | None,
    ) -> None:
        self._syntax = syntax
        self._source = source
        self._scopes = scopes
        self._known = known
        self._bound_in = bound_in
        self._root = root

    def read(self, captures: Captures, imports: tuple[Import, ...]) -> tuple[Call, ...]:
        star = any(
            here == "*" and imported.form != "reexport"
            for imported in imports
            for _, here in imported.names
        )
        syntax, source, root, known = self._syntax, self._source, self._root, self._known
        found: dict[tuple[str | None, tuple[str, ...]], tuple[Scope | None, int]] = {}
        line, counted = 1, 0
        candidates = self._captured(captures, star) if root is None else self._looked_for(star)
        for (start, end, parts), scope in _with_scopes(candidates, self._scopes):
            outer = scope.outer_function if scope is not None else None
            callee, is_object = self._object(parts, outer)
            if is_object and len(callee) != 2:
                continue
            if not is_object and not (star or syntax.may_resolve(callee, known)):
                continue
            # Code directly in a class runs with the file.
            key = (_caller(scope), callee)
            if key not in found:
                around = scope.node if scope is not None else root
                if root is not None and not syntax.is_call(around or root, start, end):
                    continue
                line += source.count(b"\n", counted, start)
                counted = start
                found[key] = (outer, line)
            if outer is not None and not is_object:
                if outer.called is None:
                    outer.called = {}
                outer.called[callee[0]] = outer.called.get(callee[0], 0) + 1
        late = _late_names(imports, self._scopes)
        return tuple(
            Call(caller, parts, line)
            for (caller, parts), (outer, line) in found.items()
            if outer is None
            or parts[0] in ("self", "super")
            or not self._is_bound(parts[0], outer, late)
        )

    def _captured(self, captures: Captures, star: bool) -> Iterator[Candidate]:
        nodes = [*captures.get("call", ()), *captures.get("new", ())]
        if not star and not self._syntax.names_from_elsewhere:
            nodes = self._of_known_names(nodes)
        nodes.sort(key=_RANGE)
        for node in nodes:
            parts = self._syntax.callee(node, self._source)
            if parts:
                yield *node.byte_range, parts

    def _looked_for(self, star: bool) -> Iterable[Candidate]:
        syntax = self._syntax
        heads = None if star else self._known | syntax.receivers | syntax.parents
        return syntax.calls(self._source, heads)

    def _of_known_names(self, nodes: list[Node]) -> list[Node]:
        """Those calls whose first word means something here: most others go without a look."""
        syntax, source = self._syntax, self._source
        heads = {name.encode() for name in (*self._known, *syntax.receivers, *syntax.parents)}
        match = _FIRST_WORD.match
        return [
            node
            for node in nodes
            if (head := match(source, node.start_byte)) is not None and head[0] in heads
        ]

    def _object(self, parts: tuple[str, ...], outer: Scope | None) -> tuple[tuple[str, ...], bool]:
        """The call with `self` or `super` for the object, and whether it was one of those."""
        head = parts[0]
        if head in self._syntax.receivers or (outer is not None and head == outer.receiver):
            return ("self", *parts[1:]), True
        if head in self._syntax.parents:
            return ("super", *parts[1:]), True
        return parts, False

    def _is_bound(self, name: str, outer: Scope, late: frozenset[str]) -> bool:
        """Whether the function has this name for something of its own."""
        if name in late:
            return False
        if outer.bound is None:
            word = name.encode()
            calls = outer.called.get(name) if outer.called is not None else None
            if self._source.count(word, outer.start, outer.end) == calls:
                return False
            alone = _alone(word, self._source, outer.start, outer.end)
            if self._root is not None:
                root, binds, size = self._root, self._syntax.binds, len(word)
                return any(binds(root, at, at + size) for at in alone)
            if next(alone, None) is None:
                return False
            nodes = self._bound_in(outer.node)
            outer.bound = frozenset(text_of(node, self._source) for node in nodes)
        return name in outer.bound


def _alone(word: bytes, source: bytes, start: int, end: int) -> Iterator[int]:
    """Where a name occurs other than at the head of a call or of a dotted name."""
    at = source.find(word, start, end)
    while at >= 0:
        after = at + len(word)
        before = source[at - 1 : at]
        # Three dots are no attribute but `...rest`.
        is_attribute = before == b"." and source[at - 2 : at] != b".."
        if before not in _WORD and not is_attribute and source[after : after + 1] not in _JOINED:
            yield at
        at = source.find(word, after, end)


def _sorted(captures: Captures, *names: str) -> list[Node]:
    """What was captured in the order of the text; the query gives no order."""
    nodes = [node for name in names for node in captures.get(name, ())]
    nodes.sort(key=_RANGE)
    return nodes


def _caller(scope: Scope | None) -> str | None:
    if scope is None or (scope.outer_function is None and scope.kind != "macro"):
        return None
    return scope.qualified


def _late_names(imports: tuple[Import, ...], scopes: list[Scope]) -> frozenset[str]:
    """Names that functions get from an import or a definition inside them.

    They look like local variables and are not: what they mean can be found.
    """
    names = {scope.name for scope in scopes if scope.outer_function not in (None, scope)}
    for imported in imports:
        if imported.scope:
            names.update(here for _, here in imported.names)
            names.add(imported.alias)
    return frozenset(names)
