"""Rust."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.language_rules import Syntax, child, dotted, field_text, first_child
from mycel.knowledge.code.module_paths import Files, Home, Locator, Unit
from mycel.knowledge.code.prose_patterns import LINE_COMMENT
from mycel.knowledge.code.scopes import Captures, in_order
from mycel.knowledge.code.source_facts import Import, Symbol
from mycel.knowledge.documents.module_docs import Lines, inner_doc

if TYPE_CHECKING:
    from tree_sitter import Node


_USE: Final = re.compile(r"^(?:pub(?:\s*+\([^)]*+\))?\s++)?(?:use|extern\s++crate)\s++")
_TOKEN: Final = re.compile(r"[{},]|\bas\s++\w++|(?:r#)?[\w*]++|::")
# An unclosed comment extends to the end of the file.
_COMMENT: Final = re.compile(r"/\*(?:.*?\*/|.*+)|//[^\n]*+", re.DOTALL)
_ITEM: Final = re.compile(
    rb"(pub(?:\([a-z]{1,20}\))? )?\b(enum|struct|trait|union) ([A-Z][A-Za-z0-9_]*+)(?![!\w])"
)
"""A pattern of an item that a macro defines under a fixed name."""
_USE_DEPTH_MAX: Final = 32
_USE_PARTS_MAX: Final = 64

_NESTED_COMMENT: Final = (
    rb"/\*(?>(?:[^/*]++|/(?!\*)|\*(?!/)|/\*(?:.*?\*/|.*+))*)(?:\*/)?"
)  # fmt: skip
_PROSE: Final = re.compile(
    b"|".join(
        (
            LINE_COMMENT,
            _NESTED_COMMENT,
            rb'(?<!\w)[bc]?r(?P<hashes>#*+)"(?:.*?"(?P=hashes)|.*+)',
            rb'"(?>(?:[^"\\]++|\\.)*)"?',
            rb"'(?:[^'\\\n\x80-\xff]|[\x80-\xff]{2,4}|\\(?:[^xu\n]|x\w\w|u\{\w{1,8}\}))'",
        )
    ),
    re.DOTALL,
)


class RustLocator(Locator):
    """Finds modules in the module tree, from the roots of crates down."""

    methods_are_shared = True
    _OWN_ROOTS: ClassVar = ("src/bin", "tests", "examples", "benches")

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._paths = frozenset(files.of(("rust",)))
        self._names = cache(self._own_names)
        self._child_path = cache(self._find_child)
        self._crates: dict[str, str] = {}
        for folder, manifest in files.manifests("cargo").items():
            names = (dict(manifest.settings).get("lib", ""), manifest.package)
            for name in filter(None, names):
                self._crates.setdefault(name.replace("-", "_"), folder)

    def locate(self, path: str, imported: Import) -> Unit | None:
        if imported.form == "mod":
            # The file of a module inside an inline module is one folder deeper: not supported.
            return self._child(path, imported.module) if not imported.scope else None
        parts = tuple(imported.module.split("::")) if imported.module else ()
        parts = tuple(part for part in parts if part)
        if not parts:
            # `use a;` names a module itself.
            return Unit((path,))
        inner = len(imported.scope.split(".")) if imported.scope else 0
        while parts[:1] == ("super",) and inner:
            # For a module inside a file, `super` is the file.
            parts, inner = parts[1:] or ("self",), inner - 1
            if not inner and parts == ("self",):
                return Unit((path,))
        return self.descend(path, parts)

    def descend(self, path: str, parts: tuple[str, ...]) -> Unit | None:
        """The file that a path of names leads to, as far as the names are modules."""
        file: str | None = path
        first, rest = parts[0], parts[1:]
        match first:
            case "crate":
                file = self._root(path)
            case "self":
                pass
            case "super":
                file = self._parent(path)
            case _:
                start = self._child(path, first)
                start = start or self._crate(first)
                if start is None:
                    return Unit((path,), rest=parts) if first in self._names(path) else None
                file = start.paths[0]
        while file is not None and rest:
            below = self._parent(file) if rest[0] == "super" else self._child_path(file, rest[0])
            if below is None:
                break
            file, rest = below, rest[1:]
        return Unit((file,), rest=rest) if file is not None else None

    def root(self, path: str, name: str) -> Unit | None:
        if name in ("crate", "super"):
            return self.descend(path, (name,))
        return self._child(path, name) or self._crate(name)

    def submodule(self, unit: Unit, name: str) -> Unit | None:
        return self._child(unit.paths[0], name) if unit.paths else None

    def home(self, path: str) -> Home:
        return (self._root(path) or path,)

    def external(self, imported: Import) -> str:
        first = (imported.module or imported.names[0][0]).partition("::")[0]
        return "" if first in ("crate", "self", "super") or imported.form == "mod" else first

    def _own_names(self, path: str) -> frozenset[str]:
        """The names that a file defines or imports."""
        facts = self.files.facts[path]
        imported = (inner for statement in facts.imports for _, inner in statement.names)
        return frozenset((*(symbol.qualified for symbol in facts.symbols), *imported))

    def _crate(self, name: str) -> Unit | None:
        folder = self._crates.get(name)
        if folder is None:
            return None
        library = posixpath.join(folder, "src/lib.rs")
        return Unit((library,)) if library in self._paths else None

    def _is_root(self, path: str) -> bool:
        folder, name = posixpath.split(path)
        if name in ("lib.rs", "main.rs", "build.rs"):
            return True
        return any(folder == own or folder.endswith("/" + own) for own in self._OWN_ROOTS)

    def _root(self, path: str) -> str | None:
        steps = 0
        file: str | None = path
        while file is not None and not self._is_root(file) and steps < 64:
            file, steps = self._parent(file), steps + 1
        return file

    def _folder(self, path: str) -> str:
        """The folder that has the modules inside this one."""
        folder, name = posixpath.split(path)
        if self._is_root(path) or name == "mod.rs":
            return folder
        return posixpath.join(folder, name.removesuffix(".rs"))

    def _find_child(self, path: str, name: str) -> str | None:
        base = posixpath.join(self._folder(path), name)
        return next((p for p in (f"{base}.rs", f"{base}/mod.rs") if p in self._paths), None)

    def _child(self, path: str, name: str) -> Unit | None:
        child_path = self._child_path(path, name)
        return Unit((child_path,)) if child_path is not None and child_path != path else None

    def _parent(self, path: str) -> str | None:
        folder, name = posixpath.split(path)
        if name == "mod.rs":
            folder = posixpath.dirname(folder)
        above = (f"{folder}/mod.rs", f"{folder}/lib.rs", f"{folder}/main.rs", f"{folder}.rs")
        for candidate in above:
            if candidate.lstrip("/") in self._paths and candidate.lstrip("/") != path:
                return candidate.lstrip("/")
        return None


class Rust(Syntax):
    language = "rust"
    wheel = "tree_sitter_rust"
    locator = RustLocator
    prose = _PROSE
    has_path_names = True
    label_sign = b":"
    facts = """
        (struct_item) @symbol.struct
        (union_item) @symbol.struct
        (enum_item) @symbol.enum
        (enum_variant) @symbol.variant
        (trait_item) @symbol.trait
        (type_item) @symbol.type
        (function_item) @symbol.function
        (function_signature_item) @symbol.function
        (const_item) @symbol.constant
        (static_item) @symbol.constant
        (macro_definition) @symbol.macro
        (mod_item body: (_)) @symbol.module
        (impl_item) @scope
        (mod_item !body) @import
        (use_declaration) @import
        (extern_crate_declaration) @import
        (call_expression function: [(identifier) (scoped_identifier) (field_expression)
            (generic_function)] @call)
        (tuple_struct_pattern type: [(identifier) (scoped_identifier)] @call)
        (macro_invocation macro: [(identifier) (scoped_identifier)] @call)
        (macro_invocation (token_tree) @macro)
        (struct_expression name: (_) @new)
    """
    bindings = """
        (parameter pattern: (identifier) @bound)
        (let_declaration pattern: (identifier) @bound)
        (tuple_pattern (identifier) @bound)
        (tuple_struct_pattern (identifier) @bound)
        (closure_parameters (identifier) @bound)
        (for_expression pattern: (identifier) @bound)
        (ref_pattern (identifier) @bound)
        (mut_pattern (identifier) @bound)
        (parameter) @typed
        (let_declaration) @typed
        (field_declaration) @field
    """
    member = ("value", "field")
    receivers: ClassVar[frozenset[str]] = frozenset({"self", "Self"})
    parents: ClassVar[frozenset[str]] = frozenset()

    def module_doc(self, text: str) -> Lines | None:
        return inner_doc(text)

    def name(self, node: Node, source: bytes) -> str:
        if node.type == "impl_item":
            return dotted(field_text(node, "type", source)).rpartition(".")[2]
        name = super().name(node, source)
        return name if name != "_" else ""

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        if node.type in ("function_signature_item", "impl_item"):
            return True
        first = first_child(node)
        return (first is not None and first.type == "visibility_modifier") or (
            node.type == "macro_definition"
        )

    def base_nodes(self, node: Node) -> Iterable[Node | None]:
        if node.type == "impl_item":
            return (node.child_by_field_name("trait"),)
        bounds = node.child_by_field_name("bounds")
        return bounds.named_children if bounds is not None else ()

    def declared_names(self, node: Node, source: bytes) -> Iterator[tuple[Node, str]]:
        name = child(node, "pattern", "name")
        if name is not None and name.type == "mut_pattern" and name.named_child_count:
            name = name.named_children[-1]
        if name is not None:
            yield name, self.declared_type(node, source)

    def maker(self, node: Node, source: bytes) -> str:
        if node.type in ("try_expression", "await_expression", "reference_expression"):
            node = node.named_children[-1] if node.named_child_count else node
        if node.type == "struct_expression":
            return dotted(field_text(node, "name", source))
        return super().maker(node, source)

    def generated(self, captures: Captures, source: bytes) -> Iterator[Symbol]:
        macros = (
            *in_order(captures, "symbol.macro"),
            *filter(_is_item, in_order(captures, "macro")),
        )
        for node in macros:
            start, end = node.byte_range
            for item in _ITEM.finditer(self.blank_prose(source[start:end])):
                visibility, kind, name = (part.decode() for part in item.groups(b""))
                line = source.count(b"\n", 0, start + item.start(2)) + 1
                kind = "struct" if kind == "union" else kind
                signature = f"{visibility}{kind} {name}"
                yield Symbol(name, name, kind, line, line, signature, exported=bool(visibility))

    def imports(self, node: Node, source: bytes) -> Iterator[Import]:
        if node.type == "mod_item":
            name = self.name(node, source)
            if name:
                yield Import(name, alias=name, form="mod")
            return
        start, end = node.byte_range
        text = _COMMENT.sub(" ", source[start:end].decode("utf-8", "replace"))
        form = "reexport" if text.startswith("pub") else ""
        for path, alias in use_paths(_USE.sub("", text).rstrip("; \n")):
            yield _used(path, alias, form)


def _is_item(tokens: Node) -> bool:
    """True if a macro with these tokens stands among the items of a file."""
    invocation = tokens.parent
    around = invocation.parent if invocation is not None else None
    if around is not None and around.type == "expression_statement":
        around = around.parent
    return around is not None and around.type == "source_file"


def _used(path: tuple[str, ...], alias: str, form: str) -> Import:
    module, name = "::".join(path[:-1]), path[-1]
    if name == "*":
        return Import(module, (("*", "*"),), form=form)
    if name == "self" and module:
        *_, name = path[:-1]
        module = "::".join(path[:-2])
    return Import(module, ((name, alias or name),), form=form)


def use_paths(tree: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The paths in a use tree, each with its alias or "".

    >>> list(use_paths("a::{b, c as d}"))
    [(('a', 'b'), ''), (('a', 'c'), 'd')]
    """
    prefixes: list[tuple[str, ...]] = []
    path: tuple[str, ...] = ()
    alias = ""
    for token in (*_TOKEN.findall(tree), ","):
        if token == "{":
            if len(prefixes) >= _USE_DEPTH_MAX:
                return
            prefixes.append(path)
        elif token in "},":
            base = prefixes[-1] if prefixes else ()
            if len(path) > len(base):
                yield path, alias
            if token == "}" and prefixes:
                prefixes.pop()
            # After a closing brace, the text belongs to the list around it.
            path, alias = (prefixes[-1] if prefixes else ()), ""
        elif token.startswith(("as ", "as\t")):
            alias = token.split()[-1]
        elif token != "::":
            if len(path) >= _USE_PARTS_MAX:
                return
            path = (*path, token.removeprefix("r#"))
