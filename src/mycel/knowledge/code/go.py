"""Go."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, repeat
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.language_rules import Syntax, field_text, first_child
from mycel.knowledge.code.module_paths import Files, Home, Locator, Unit, outward
from mycel.knowledge.code.prose_patterns import CHARACTER, COMMENT, LINE_COMMENT, STRING
from mycel.knowledge.code.source_facts import Import
from mycel.knowledge.documents.module_docs import Lines, package_doc

if TYPE_CHECKING:
    from tree_sitter import Node

_RECEIVER: Final = re.compile(r"\(\s*+(?:(\w++)\s++)?\*?\s*+(\w++)")
_VERSION: Final = re.compile(r"v\d+")

_PROSE: Final = re.compile(
    b"|".join((LINE_COMMENT, COMMENT, rb"`[^`]*+`?", STRING, CHARACTER)), re.DOTALL
)


class GoLocator(Locator):
    """Finds packages: each folder is one, and go.mod gives the import paths."""

    names_are_shared = True
    methods_are_shared = True

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._modules: defaultdict[str, list[str]] = defaultdict(list)
        for folder, manifest in files.manifests("gomod").items():
            self._modules[manifest.package].append(folder)
        by_folder: defaultdict[str, list[str]] = defaultdict(list)
        for path in files.of(("go",)):
            if not path.endswith("_test.go"):
                by_folder[posixpath.dirname(path)].append(path)
        self._units = {folder: Unit(tuple(p), folder) for folder, p in by_folder.items()}

    def locate(self, path: str, imported: Import) -> Unit | None:
        places = sorted(
            (folder, posixpath.join(folder, imported.module[len(name) + 1 :]).rstrip("/"))
            for name in outward(imported.module, "/")
            for folder in self._modules.get(name, ())
            if name
        )
        return next((self._units[place] for _, place in places if place in self._units), None)

    def home(self, path: str) -> Home:
        kind = "test" if path.endswith("_test.go") else ""
        return posixpath.dirname(path), self.files.facts[path].package, kind

    def visible(self, path: str) -> tuple[Home, ...]:
        folder, package, kind = home = self.home(path)
        return (home, (folder, package, "")) if kind else (home,)


class Go(Syntax):
    language = "go"
    wheel = "tree_sitter_go"
    locator = GoLocator
    prose = _PROSE
    shares_names = True
    facts = """
        (package_clause (package_identifier) @package)
        (type_spec) @symbol.type
        (type_alias) @symbol.type
        (function_declaration) @symbol.function
        (method_declaration) @symbol.method
        (method_elem) @symbol.method
        (source_file (const_declaration (const_spec) @symbol.constant))
        (source_file (var_declaration (var_spec) @symbol.variable))
        (import_spec) @import
        (call_expression function: [(identifier) (selector_expression)] @call)
        (composite_literal type: [(type_identifier) (qualified_type)] @new)
    """
    bindings = """
        (parameter_declaration name: (identifier) @bound)
        (variadic_parameter_declaration name: (identifier) @bound)
        (short_var_declaration left: (expression_list (identifier) @bound))
        (range_clause left: (expression_list (identifier) @bound))
        (var_spec name: (identifier) @bound)
        (const_spec name: (identifier) @bound)
        (parameter_declaration) @typed
        (short_var_declaration) @typed
        (var_spec) @typed
        (field_declaration) @field
    """
    member = ("operand", "field")
    result = "result"
    receivers: ClassVar[frozenset[str]] = frozenset()
    parents: ClassVar[frozenset[str]] = frozenset()

    def module_doc(self, text: str) -> Lines | None:
        return package_doc(text)

    def name(self, node: Node, source: bytes) -> str:
        name = super().name(node, source)
        if name and node.type == "method_declaration":
            owner = self._receiver(node, source)[1]
            return f"{owner}.{name}" if owner else name
        return name if name != "_" else ""

    def kind(self, node: Node, kind: str) -> str:
        if node.type == "type_spec":
            of = node.child_by_field_name("type")
            return {"struct_type": "struct", "interface_type": "interface"}.get(
                of.type if of is not None else "", kind
            )
        return kind

    def body(self, node: Node) -> Node | None:
        of = node.child_by_field_name("type")
        if of is not None and of.type in ("struct_type", "interface_type"):
            return first_child(of)
        return super().body(node)

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        return name[:1].isupper()

    def base_nodes(self, node: Node) -> Iterator[Node | None]:
        """The types that a struct or an interface embeds."""
        of = node.child_by_field_name("type")
        if of is not None and of.type == "struct_type":
            of = first_child(of)
        for member in of.named_children if of is not None else ():
            if member.type == "field_declaration" and member.child_by_field_name("name") is None:
                yield member.child_by_field_name("type")
            elif member.type == "type_elem" and member.named_child_count == 1:
                yield first_child(member)

    def declared_names(self, node: Node, source: bytes) -> Iterator[tuple[Node, str]]:
        left, of = node.child_by_field_name("left"), self.declared_type(node, source)
        if left is None:
            yield from ((name, of) for name in node.children_by_field_name("name"))
            return
        # If there are several results, the first is the object; the others are errors and the like.
        yield from zip(left.named_children, chain((of,), repeat("")), strict=False)

    def value_type(self, node: Node | None, source: bytes) -> str:
        """The type of the first value of a list."""
        is_list = node is not None and node.type == "expression_list"
        return super().value_type(first_child(node) if node and is_list else node, source)

    def maker(self, node: Node, source: bytes) -> str:
        if node.type == "unary_expression" and node.named_child_count:
            node = node.named_children[0]
        if node.type == "composite_literal":
            return self.type_name(field_text(node, "type", source))
        return super().maker(node, source)

    def receiver(self, node: Node, source: bytes) -> str:
        return self._receiver(node, source)[0] if node.type == "method_declaration" else ""

    def _receiver(self, node: Node, source: bytes) -> tuple[str, str]:
        """The name and the type of a method's receiver."""
        words = _RECEIVER.match(field_text(node, "receiver", source))
        return (words[1] or "", words[2]) if words is not None else ("", "")

    def imports(self, node: Node, source: bytes) -> Iterator[Import]:
        module = field_text(node, "path", source)[1:-1]
        alias = field_text(node, "name", source)
        if module and alias == ".":
            yield Import(module, (("*", "*"),))
        elif module:
            yield Import(module, alias="" if alias == "_" else alias or _last(module))


def _last(module: str) -> str:
    """The name of a package that its path suggests: the last part that is no version."""
    parts = module.split("/")
    if len(parts) > 1 and _VERSION.fullmatch(parts[-1]):
        parts.pop()
    return parts[-1].removeprefix("go-").partition(".")[0]
