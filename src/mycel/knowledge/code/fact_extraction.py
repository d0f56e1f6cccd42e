"""Turns the captured nodes of a syntax tree into facts, in the same way for every language.

One query captures all nodes of interest; Python visits no others. Definitions are intervals of
bytes (`scopes`), and texts are slices of the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final
from zlib import crc32

from mycel.knowledge.code.calls import Calls
from mycel.knowledge.code.comments import shortened
from mycel.knowledge.code.language_rules import SIGNATURE_CHARS_MAX, Syntax, short_text
from mycel.knowledge.code.scopes import Captures, Scope, in_order, with_scopes
from mycel.knowledge.code.source_facts import FileFacts, Import, Symbol
from mycel.knowledge.code.uses import find_uses

if TYPE_CHECKING:
    from tree_sitter import Node

SCOPE_DEPTH_MAX: Final = 24
"""The greatest depth of nested definitions; deeper ones are left out."""

SYMBOLS_MAX: Final = 20_000
"""The maximum number of symbols of one file; a file with more was generated."""

QUALIFIED_CHARS_MAX: Final = 500

_FUNCTION_KINDS: Final = frozenset({"function", "method", "constructor"})
_MODULE_KINDS: Final = frozenset({"module", "namespace"})
_SYMBOL: Final = "symbol."
SIGNATURE_BYTES_MAX: Final = 4 * SIGNATURE_CHARS_MAX


def extract(syntax: Syntax, source: bytes, captures: Captures) -> FileFacts:
    exports = tuple(
        pair for node in in_order(captures, "export") for pair in syntax.exports(node, source)
    )
    named_outside = frozenset(inside for _, inside in exports)
    scopes = list(_nested(syntax, source, _definitions(captures), named_outside))
    imports = _imports(syntax, source, scopes, captures)
    calls = Calls(syntax, source, scopes, imports, captures)
    found_names = find_uses(syntax, source, scopes, captures, calls)
    packages = in_order(captures, "package")
    return FileFacts(
        language=syntax.language,
        symbols=_symbols(syntax, source, scopes, syntax.generated(captures, source)),
        imports=imports,
        calls=tuple(dict.fromkeys((*calls.read(), *found_names.calls))),
        uses=found_names.uses,
        fields=calls.fields(),
        package=short_text(packages[0], source) if packages else "",
        exports=tuple(dict.fromkeys(exports)),
    )


def _definitions(captures: Captures) -> list[Scope]:
    scopes = [
        Scope(*node.byte_range, capture.removeprefix(_SYMBOL), node)
        for capture, nodes in captures.items()
        if capture.startswith(_SYMBOL)
        for node in nodes
    ]
    scopes += [Scope(*node.byte_range, "impl", node) for node in captures.get("scope", ())]
    # If one node has two kinds, a function comes before the constant that holds it.
    scopes.sort(key=lambda scope: (scope.start, -scope.end, scope.kind == "constant", scope.kind))
    return scopes[:SYMBOLS_MAX]


def _nested(
    syntax: Syntax, source: bytes, definitions: Iterable[Scope], named_outside: frozenset[str]
) -> Iterator[Scope]:
    """The definitions with a name, each with the names of its containers."""
    stack: list[Scope] = []
    previous: tuple[int, str] = (-1, "")
    for scope in definitions:
        while stack and stack[-1].end <= scope.start:
            stack.pop()
        if len(stack) >= SCOPE_DEPTH_MAX:
            continue
        name = syntax.name(scope.node, source)
        parent = scope.parent = stack[-1] if stack else None
        if not name or previous == (scope.start, name):
            continue
        previous = (scope.start, name)
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
    if kind in ("function", "prototype") and (owner or (parent is not None and parent.is_class)):
        return "method"
    return kind


def _place_in_functions(syntax: Syntax, source: bytes, scope: Scope, parent: Scope | None) -> None:
    if parent is not None and parent.outer_function is not None:
        scope.outer_function = parent.outer_function
    elif scope.kind in _FUNCTION_KINDS:
        scope.outer_function = scope
        scope.receiver = syntax.receiver(scope.node, source)


def _symbols(
    syntax: Syntax, source: bytes, scopes: list[Scope], generated: Iterable[Symbol]
) -> tuple[Symbol, ...]:
    symbols: dict[str, Symbol] = {}
    further_bases: dict[str, list[str]] = {}
    for scope in scopes:
        if scope.kind == "impl":
            bases = syntax.bases(scope.node, source)
            further_bases.setdefault(scope.qualified, []).extend(bases)
        # Of several definitions with one name (overloads, branches of a condition), the first
        # represents all.
        elif scope.qualified not in symbols:
            symbols[scope.qualified] = _symbol(syntax, source, scope)
    for symbol in generated:
        symbols.setdefault(symbol.qualified, symbol)
    for qualified, bases in further_bases.items():
        if qualified in symbols and bases:
            merged = tuple(dict.fromkeys((*symbols[qualified].bases, *bases)))
            symbols[qualified] = symbols[qualified]._replace(bases=merged)
    return tuple(symbols.values())


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
        shortened(syntax.signature(text), SIGNATURE_CHARS_MAX),
        syntax.doc(node, body, source),
        scope.exported,
        tuple(syntax.bases(node, source)) if scope.is_class else (),
        syntax.returns(node, source) if scope.kind in _FUNCTION_KINDS else "",
        crc32(source[scope.start : scope.end]),
    )


def _last_line(node: Node) -> int:
    row, column = node.end_point
    # A node that includes its last line break ends on the line before.
    return row + 1 if column or row == node.start_point[0] else row


def _imports(
    syntax: Syntax, source: bytes, scopes: list[Scope], captures: Captures
) -> tuple[Import, ...]:
    all_imports: list[Import] = []
    for node, scope in with_scopes(in_order(captures, "import"), scopes):
        inside = _import_scope(scope)
        imports = syntax.imports(node, source)
        all_imports += (
            [imported._replace(scope=inside) for imported in imports] if inside else imports
        )
    return tuple(all_imports)


def _import_scope(scope: Scope | None) -> str:
    """The scope in which an import inside a definition is visible."""
    if scope is None or (scope.outer_function is None and scope.kind not in _MODULE_KINDS):
        return ""
    return scope.qualified
