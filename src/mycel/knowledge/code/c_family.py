"""C and C++."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.language_rules import (
    Syntax,
    dotted,
    field_text,
    first_child,
    identifier,
    short_text,
    without_generics,
)
from mycel.knowledge.code.module_paths import Files, Home, Locator, Unit, only_unit
from mycel.knowledge.code.prose_patterns import CHARACTER, COMMENT, STRING
from mycel.knowledge.code.source_facts import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_DECLARATORS_MAX: Final = 16
_FUNCTIONS: Final = ("function_declarator",)
_VARIABLES: Final = (*_FUNCTIONS, "identifier", "field_identifier")
_OWNED: Final = re.compile(r"(?>(?:[\w$]++::)*)(?:operator\W.*+|~?[\w$]++)")
_PROTOTYPE: Final = """
    (declaration declarator: [
        (function_declarator)
        (pointer_declarator declarator: (function_declarator))
    ]) @symbol.prototype
"""

_PROSE: Final = re.compile(
    b"|".join(
        (
            rb"//(?>(?:[^\\\n]++|\\.?)*)",  # A backslash continues the comment.
            COMMENT,
            rb'(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16}+)\((?:.*?\)(?P=mark)"|.*+)',
            STRING,
            rb"(?:(?<!\w)|(?<!\w[uUL])(?<=[uUL])|(?<=\bu8))" + CHARACTER,
        )
    ),
    re.DOTALL,
)


class CLocator(Locator):
    """Finds included files: beside the file, in an include folder, or by a unique end of a path."""

    class_members_visible = True
    _INCLUDE_FOLDERS: ClassVar = ("", "include", "src", "inc")

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._with_end = cache(self._only_with_end)
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(files.paths):
            self._by_name[posixpath.basename(path)].append(path)

    def locate(self, path: str, imported: Import) -> Unit | None:
        module = posixpath.normpath(imported.module)
        is_system = imported.form == "system"
        if not is_system:
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), imported.module))
            if beside in self.files.paths:
                return Unit((beside,))
        for folder in self._INCLUDE_FOLDERS[1 if is_system else 0 :]:
            candidate = posixpath.join(folder, module)
            if candidate in self.files.paths:
                return Unit((candidate,))
        if module.startswith("..") or (is_system and "/" not in module):
            return None
        return self._with_end(module)

    def home(self, path: str) -> Home:
        return ("c",)

    def _only_with_end(self, module: str) -> Unit | None:
        paths = self._by_name.get(posixpath.basename(module), [])
        return only_unit([Unit((p,)) for p in paths if p.endswith("/" + module)])


class C(Syntax):
    language = "c"
    wheel = "tree_sitter_c"
    locator = CLocator
    prose = _PROSE
    has_bare_members = True
    shares_names = True
    facts = (
        """
        (function_definition) @symbol.function
        (struct_specifier name: (_) body: (_)) @symbol.struct
        (union_specifier name: (_) body: (_)) @symbol.struct
        (enum_specifier name: (_) body: (_)) @symbol.enum
        (type_definition) @symbol.type
        (preproc_function_def) @symbol.macro
        (preproc_include) @import
        (call_expression function: (_) @call)
    """
        + _PROTOTYPE
    )
    bindings = """
        (parameter_declaration declarator: (identifier) @bound)
        (pointer_declarator declarator: (identifier) @bound)
        (array_declarator declarator: (identifier) @bound)
        (init_declarator declarator: (identifier) @bound)
        (declaration declarator: (identifier) @bound)
        (parameter_declaration) @typed
        (declaration) @typed
        (field_declaration) @field
    """
    member = ("argument", "field")
    result = "type"
    parents: ClassVar[frozenset[str]] = frozenset()
    flat_kinds: ClassVar[frozenset[str]] = frozenset({"type", "prototype", "macro"})

    def name(self, node: Node, source: bytes) -> str:
        match node.type:
            case "function_definition" | "declaration" | "field_declaration":
                function = _declarator(node, _FUNCTIONS)
                return _owned(short_text(function and _inner(function), source))
            case "type_definition":
                name = identifier(node.child_by_field_name("declarator"), source)
                of = node.child_by_field_name("type")
                tag = field_text(of, "name", source) if of is not None else ""
                return "" if tag == name else name  # `typedef struct a {…} a;` is one symbol.
            case _:
                return _owned(field_text(node, "name", source))

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        return not source.startswith(b"static", node.start_byte)

    def signature(self, text: str) -> str:
        return text.rstrip(" \n{:;")

    def body(self, node: Node) -> Node | None:
        if node.type in ("preproc_function_def", "type_definition"):
            return node.child_by_field_name("value")
        return node.child_by_field_name("body")

    def declared_names(self, node: Node, source: bytes) -> Iterator[tuple[Node, str]]:
        """The variables that a declaration declares, with their types; functions are left out."""
        of = self.type_name(field_text(node, "type", source))
        for declarator in node.children_by_field_name("declarator"):
            name = _declarator(declarator, _VARIABLES)
            if name is not None and name.type != "function_declarator":
                value = declarator.child_by_field_name("value")
                yield name, self.value_type(value, source) if of == "auto" else of

    def maker(self, node: Node, source: bytes) -> str:
        if node.type == "new_expression":
            return dotted(field_text(node, "type", source))
        return super().maker(node, source)

    def imports(self, node: Node, source: bytes) -> Iterator[Import]:
        text = field_text(node, "path", source)
        if len(text) > 2 and text[0] in '"<':
            yield Import(text[1:-1], (("*", "*"),), form="system" if text[0] == "<" else "")


class Cpp(C):
    language = "cpp"
    wheel = "tree_sitter_cpp"
    facts = (
        C.facts
        + """
        (declaration declarator: (reference_declarator (function_declarator))) @symbol.prototype
        (class_specifier name: (_) body: (_)) @symbol.class
        (namespace_definition name: (_)) @symbol.namespace
        (alias_declaration) @symbol.type
        (field_declaration declarator: [
            (function_declarator)
            (pointer_declarator declarator: (function_declarator))
            (reference_declarator (function_declarator))
        ]) @symbol.method
        (new_expression type: (_) @new)
    """
    )
    bindings = (
        C.bindings
        + """
        (reference_declarator (identifier) @bound)
        (for_range_loop declarator: (identifier) @bound)
        (lambda_capture_specifier (identifier) @bound)
    """
    )

    def base_nodes(self, node: Node) -> Iterator[Node]:
        for clause in node.named_children:
            for base in clause.named_children if clause.type == "base_class_clause" else ():
                if base.type in ("type_identifier", "qualified_identifier", "template_type"):
                    yield base


def _declarator(node: Node, kinds: Collection[str]) -> Node | None:
    """The first node of these kinds inside a declarator, also inside of pointers and references."""
    declarator: Node | None = node
    for _ in range(_DECLARATORS_MAX):
        if declarator is None or declarator.type in kinds:
            return declarator
        declarator = _inner(declarator)
    return None


def _inner(node: Node) -> Node | None:
    inner = node.child_by_field_name("declarator")
    is_reference = inner is None and node.type == "reference_declarator"
    return first_child(node) if is_reference else inner


def _owned(text: str) -> str:
    """A name as dotted parts: `a::B<T>::c` becomes `a.B.c`; "" if it is no name."""
    text = re.sub(r"\s+", "", text)
    if "operator" not in text:
        text = without_generics(text)
    return text.replace("::", ".") if _OWNED.fullmatch(text) is not None else ""
