"""The engine: from a syntax tree to facts, the same for every language.

One query over the tree brings all nodes of interest; Python sees nothing else of it. Definitions
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
SIGNATURE_BYTES_MAX: Final = 4 * SIGNATURE_CHARS_MAX


@dataclass(slots=True)
class Scope:
    """A definition on its way to being a symbol, and a place that contains others."""

    start: int
    end: int
    kind: str
    node: Any = None
    """Where there is a tree."""
    body: int = 0
    """Where there is none: where its signature ends."""
    name: str = ""
    qualified: str = ""
    exported: bool = True
    outer_function: Scope | None = None
    receiver: str = ""
    bound: frozenset[str] | None = None
    called: dict[str, int] | None = None


class Lines:
    """The numbers of lines, for places that are asked about in the order of the text."""

    def __init__(self, text: bytes, first: int) -> None:
        self._text = text
        self._line = first
        self._counted = 0

    def at(self, place: int) -> int:
        self._line += self._text.count(b"\n", self._counted, place)
        self._counted = place
        return self._line


def extract(
    syntax: Syntax, source: bytes, captures: Captures, bound_in: Callable[[Node], Iterable[Node]]
) -> FileFacts:
    """The facts of a file. `bound_in` runs the query `bindings` over a function."""
    exports = tuple(
        pair for node in _sorted(captures, "export") for pair in syntax.exports(node, source)
    )
    named_outside = frozenset(inside for _, inside in exports)
    scopes = list(_nested(syntax, source, _definitions(captures), named_outside))
    imports = _imports(syntax, source, scopes, captures)
    known = known_names(scopes, imports)
    heads = heads_of_calls(syntax, known, imports)
    calls = _captured_calls(syntax, source, captures, heads)

    def bound(scope: Scope) -> Iterator[str]:
        return (text_of(node, source) for node in bound_in(scope.node))

    packages = _sorted(captures, "package")
    return FileFacts(
        language=syntax.language,
        symbols=_symbols(syntax, source, scopes),
        imports=imports,
        calls=read_calls(
            syntax,
            source,
            scopes,
            imports,
            known=known,
            candidates=calls,
            bound_in=bound,
            lines=Lines(source, 1),
        ),
        package=text_of(packages[0], source) if packages else "",
        exports=tuple(dict.fromkeys(exports)),
    )


def _definitions(captures: Captures) -> list[Scope]:
    found = [
        Scope(*node.byte_range, capture.removeprefix(_SYMBOL), node)
        for capture, nodes in captures.items()
        if capture.startswith(_SYMBOL)
        for node in nodes
    ]
    found += [Scope(*node.byte_range, "impl", node) for node in captures.get("scope", ())]
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
    end = min(body.start_byte if body is not None else scope.end, scope.start + SIGNATURE_BYTES_MAX)
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
    for (_, node), scope in with_scopes(nodes, scopes):
        line, inside = node.start_point[0] + 1, import_scope(scope)
        found += [
            Import(i.module, i.names, line, i.level, i.alias, inside, i.form)
            for i in syntax.imports(node, source)
        ]
    return tuple(found)


def import_scope(scope: Scope | None) -> str:
    """Where an import holds that stands in this definition."""
    if scope is None or (scope.outer_function is None and scope.kind not in _MODULE_KINDS):
        return ""
    return scope.qualified


def known_names(scopes: Iterable[Scope], imports: Iterable[Import]) -> frozenset[str]:
    """The names that mean something in a file."""
    known = {scope.name for scope in scopes}
    for imported in imports:
        known.update(here for _, here in imported.names)
        known.add(imported.alias.partition(".")[0])
    return frozenset(known)


def _has_star(imports: Iterable[Import]) -> bool:
    """Whether any name may mean something, because everything of a module was imported."""
    return any(
        here == "*" and imported.form != "reexport"
        for imported in imports
        for _, here in imported.names
    )


def with_scopes(
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


def read_calls(
    syntax: Syntax,
    source: bytes,
    scopes: list[Scope],
    imports: tuple[Import, ...],
    *,
    known: frozenset[str],
    candidates: Iterable[Candidate],
    bound_in: Callable[[Scope], Iterable[str]],
    lines: Lines,
) -> tuple[Call, ...]:
    """Of the calls in a file, in the order of the text, those of which something can be said.

    `bound_in` tells the names that a function has for something of its own; it is asked where the
    text leaves that open.
    """
    star = _has_star(imports)
    found: dict[tuple[str | None, tuple[str, ...]], tuple[Scope | None, int]] = {}
    for (start, _, parts), scope in with_scopes(candidates, scopes):
        outer = scope.outer_function if scope is not None else None
        callee, is_object = _object(syntax, parts, outer)
        if is_object and len(callee) != 2:
            continue
        if not is_object and not (star or syntax.may_resolve(callee, known)):
            continue
        # Code directly in a class runs with the file.
        key = (_caller(scope), callee)
        if key not in found:
            found[key] = (outer, lines.at(start))
        if outer is not None and not is_object:
            if outer.called is None:
                outer.called = {}
            outer.called[callee[0]] = outer.called.get(callee[0], 0) + 1
    late = _late_names(imports, scopes)
    return tuple(
        Call(caller, parts, line)
        for (caller, parts), (outer, line) in found.items()
        if outer is None
        or parts[0] in ("self", "super")
        or parts[0] in late
        or not _is_bound(syntax, source, outer, parts[0], bound_in)
    )


def _object(
    syntax: Syntax, parts: tuple[str, ...], outer: Scope | None
) -> tuple[tuple[str, ...], bool]:
    """The call with `self` or `super` for the object, and whether it was one of those."""
    head = parts[0]
    if head in syntax.receivers or (outer is not None and head == outer.receiver):
        return ("self", *parts[1:]), True
    if head in syntax.parents:
        return ("super", *parts[1:]), True
    return parts, False


def _is_bound(
    syntax: Syntax,
    source: bytes,
    outer: Scope,
    name: str,
    bound_in: Callable[[Scope], Iterable[str]],
) -> bool:
    """Whether the function has this name for something of its own."""
    if outer.bound is None:
        word = name.encode()
        calls = outer.called.get(name) if outer.called is not None else None
        if source.count(word, outer.start, outer.end) == calls:
            return False
        if not any(syntax.may_bind(source, *at) for at in _alone(word, source, outer)):
            return False
        outer.bound = frozenset(bound_in(outer))
    return name in outer.bound


def _alone(word: bytes, source: bytes, outer: Scope) -> Iterator[tuple[int, int]]:
    """Where a name occurs other than at the head of a call or of a dotted name."""
    at = source.find(word, outer.start, outer.end)
    while at >= 0:
        after = at + len(word)
        before = source[at - 1 : at]
        # Three dots are no attribute but `...rest`.
        is_attribute = before == b"." and source[at - 2 : at] != b".."
        if before not in _WORD and not is_attribute and source[after : after + 1] not in _JOINED:
            yield at, after
        at = source.find(word, after, outer.end)


def _captured_calls(
    syntax: Syntax, source: bytes, captures: Captures, heads: frozenset[str] | None
) -> Iterator[Candidate]:
    """The calls that a query has found; of these names, if they are given."""
    nodes = [*captures.get("call", ()), *captures.get("new", ())]
    if heads is not None:
        # Those whose first word means nothing here go without a look.
        words, match = {name.encode() for name in heads}, _FIRST_WORD.match
        nodes = [
            node
            for node in nodes
            if (head := match(source, node.start_byte)) is not None and head[0] in words
        ]
    nodes.sort(key=_RANGE)
    for node in nodes:
        parts = syntax.callee(node, source)
        if parts:
            yield *node.byte_range, parts


def heads_of_calls(
    syntax: Syntax, known: frozenset[str], imports: Iterable[Import]
) -> frozenset[str] | None:
    """The first words of calls of which something can be said; None if that may be any."""
    if syntax.names_from_elsewhere or _has_star(imports):
        return None
    return known | syntax.receivers | syntax.parents


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
