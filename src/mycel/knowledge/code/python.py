"""Python."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.comments import shortened
from mycel.knowledge.code.language_rules import Syntax, dotted, field_text, identifier, short_text
from mycel.knowledge.code.module_paths import Files, Locator, Unit, only_unit, outward
from mycel.knowledge.code.prose_patterns import SINGLE, STRING, TRIPLE, TRIPLE_SINGLE, ProseFields
from mycel.knowledge.code.source_facts import Import
from mycel.knowledge.documents.module_docs import Lines, string_doc

if TYPE_CHECKING:
    from tree_sitter import Node

_STRING: Final = re.compile(rb"""[rRuU]?("\""|'''|"|')""")
_EMPTY_LINE: Final = re.compile(r"\n[^\S\n]*+\n")
_DOC_BYTES_MAX: Final = 8 << 10
_COMMENT: Final = re.compile(r"#[^\n]*")
_MADE: Final = frozenset({"call", "lambda", "attribute", "subscript", "identifier"})
"""The kinds of values that make a module variable a symbol: objects, functions, types, aliases."""

_PROSE: Final = re.compile(
    (
        rb"#[^\n]*+|(?<!\w)[bBfFrRtTuU]{0,2}(?:"
        + b"|".join((TRIPLE, TRIPLE_SINGLE, SINGLE, STRING))
        + rb")"
    ),
    re.DOTALL,
)
_OPENING: Final = re.compile(rb"(?:[fFtT][rR]?|[rR][fFtT])[\"']")
_NESTED_FIELD: Final = re.compile(rb"\{\{|\{((?>(?:[^{}]++|\{[^{}]*+\})*))\}")
_FORMATTED: Final = re.compile(
    rb"(?<!\w)[rR]?[fF][rR]?(?:'((?>(?:[^'\\\n]|\\.)*))|\"((?>(?:[^\"\\\n]|\\.)*)))", re.DOTALL
)
_FIELD: Final = re.compile(rb"\{([^{}\n]{1,300}+)\}")


class PythonLocator(Locator):
    """Finds packages below their roots, in `src`, and beside the importing file."""

    attributes_are_imports = True
    _ROOTS: ClassVar = ("", "src", "lib", "python")

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._paths = frozenset(files.of(("python",)))
        self._modules = self._find_modules()
        self._folders = Files({path: files.facts[path] for path in self._paths}).folders
        self._located = cache(self._absolute)
        self._anywhere = cache(self._in_any_root)
        self._roots = self._find_roots()
        self._roots_with = self._find_tops()

    def _find_modules(self) -> dict[str, str]:
        """The file of each module, by its path without an ending. A package wins over a module."""
        modules: dict[str, str] = {}
        for ending in (".pyi", ".py", "/__init__.py"):
            for path in self._paths:
                if f"/{path}".endswith(ending):
                    modules[f"/{path}".removesuffix(ending)[1:]] = path
        return modules

    def _find_roots(self) -> frozenset[str]:
        roots = set(self._ROOTS)
        for path in self._paths:
            if posixpath.basename(path) == "__init__.py":
                above = posixpath.dirname(posixpath.dirname(path))
                if f"{above}/__init__.py".lstrip("/") not in self._paths:
                    roots.add(above)
        return frozenset(roots)

    def _find_tops(self) -> dict[str, list[str]]:
        """The roots that contain a module or folder, by its name."""
        tops: dict[str, list[str]] = {}
        for place in sorted({*self._modules, *self._folders}):
            root, name = posixpath.split(place)
            if root in self._roots:
                tops.setdefault(name, []).append(root)
        return tops

    def locate(self, path: str, imported: Import) -> Unit | None:
        folder = posixpath.dirname(path)
        if imported.level:
            for _ in range(imported.level - 1):
                if not folder:
                    return None
                folder = posixpath.dirname(folder)
            return self._at(posixpath.join(folder, *imported.module.split(".")).rstrip("/"))
        return self._located(folder, imported.module)

    def _absolute(self, folder: str, module: str) -> Unit | None:
        name = module.replace(".", "/")
        # Beside a script, as Python itself searches; then in the roots around the file.
        if f"{folder}/__init__.py".lstrip("/") not in self._paths:
            beside = self._at(posixpath.join(folder, name), need_file=True)
            if beside is not None:
                return beside
        for root in outward(folder, "/"):
            is_root = root in self._roots
            unit = self._at(posixpath.join(root, name), need_file=True) if is_root else None
            if unit is not None:
                return unit
        return self._anywhere(module)

    def _in_any_root(self, module: str) -> Unit | None:
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names:
            return None
        name = module.replace(".", "/")
        others = [self._at(posixpath.join(root, name)) for root in self._roots_with.get(top, ())]
        hits = [other for other in others if other is not None]
        with_files = [hit for hit in hits if hit.paths]
        return only_unit(with_files) if with_files else only_unit(hits)

    def _at(self, base: str, *, need_file: bool = False) -> Unit | None:
        file = self._modules.get(base)
        if file is not None:
            return Unit((file,), base)
        # A package without `__init__` has only its modules as members.
        return Unit((), base) if base in self._folders and not need_file and base else None

    def submodule(self, unit: Unit, name: str) -> Unit | None:
        if not unit.folder or (unit.paths and not unit.paths[0].endswith("/__init__.py")):
            return self._at(name) if unit.paths == ("__init__.py",) else None
        return self._at(f"{unit.folder}/{name}")

    def external(self, imported: Import) -> str:
        return imported.module.partition(".")[0] if not imported.level else ""


class Python(Syntax):
    language = "python"
    wheel = "tree_sitter_python"
    locator = PythonLocator
    prose = _PROSE
    prose_fields = ProseFields(_OPENING, _NESTED_FIELD)
    facts = """
        (class_definition) @symbol.class
        (function_definition) @symbol.function
        (module (expression_statement (assignment left: (identifier)) @symbol.constant))
        (type_alias_statement) @symbol.type
        (import_statement) @import
        (import_from_statement) @import
        (call function: [(identifier) (attribute)] @call)
        ; `[*f()]` is parsed as a call of `*f`.
        (call function: (list_splat [(identifier) (attribute)] @call))
    """
    bindings = """
        (parameters (identifier) @bound)
        (lambda_parameters (identifier) @bound)
        (default_parameter name: (identifier) @bound)
        (typed_parameter (identifier) @bound)
        (typed_default_parameter name: (identifier) @bound)
        (list_splat_pattern (identifier) @bound)
        (dictionary_splat_pattern (identifier) @bound)
        (assignment left: (identifier) @bound)
        (pattern_list (identifier) @bound)
        (tuple_pattern (identifier) @bound)
        (for_statement left: (identifier) @bound)
        (for_in_clause left: (identifier) @bound)
        (as_pattern_target (identifier) @bound)
        (named_expression name: (identifier) @bound)
        (assignment left: (identifier)) @typed
        (typed_parameter) @typed
        (typed_default_parameter) @typed
        (assignment left: (attribute object: (identifier))) @field
        (class_definition body: (block (expression_statement
            (assignment left: (identifier) type: (_)) @field)))
    """
    receivers: ClassVar[frozenset[str]] = frozenset({"self", "cls"})
    member = ("object", "attribute")
    names_from_elsewhere = False
    label_sign = b"="

    def module_doc(self, text: str) -> Lines | None:
        return string_doc(text)

    def string_fields(self, source: bytes, start: int, end: int) -> Iterator[bytes]:
        for texts in _FORMATTED.findall(source, start, end):
            yield from _FIELD.findall(texts[0] or texts[1])

    def name(self, node: Node, source: bytes) -> str:
        if node.type == "assignment":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            name = identifier(left, source)
            if name.isupper():
                return name if not name.startswith("__") else ""
            is_made = right is not None and right.type in _MADE
            return name if is_made and not name.startswith("_") else ""
        if node.type == "type_alias_statement":
            return dotted(field_text(node, "left", source).partition("[")[0])
        return super().name(node, source)

    def kind(self, node: Node, kind: str) -> str:
        left = node.child_by_field_name("left") if kind == "constant" else None
        is_constant = left is None or left.text is None or left.text.isupper()
        return kind if is_constant else "variable"

    def signature(self, text: str) -> str:
        if "#" in text and not text[0].isupper():
            text = _COMMENT.sub("", text)
        return text.rstrip().removesuffix(":")

    def doc(self, node: Node, body: Node | None, source: bytes) -> str:
        return _docstring(source, body.start_byte) if body is not None else ""

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))

    def base_nodes(self, node: Node) -> Iterator[Node]:
        arguments = node.child_by_field_name("superclasses")
        for argument in arguments.named_children if arguments is not None else ():
            if argument.type in ("identifier", "attribute", "subscript"):
                yield argument

    def imports(self, node: Node, source: bytes) -> Iterable[Import]:
        names = [_imported_name(child, source) for child in node.children_by_field_name("name")]
        module = node.child_by_field_name("module_name")
        if module is None:
            # Without an alias, the import binds only the first part of the name.
            return [Import(outer, alias=inner or outer) for outer, inner in names]
        if any(child.type == "wildcard_import" for child in node.named_children):
            names = [("*", "*")]
        text = "".join(short_text(module, source).split()).replace("\\", "")
        within = text.lstrip(".")
        pairs = tuple((outer, inner or outer) for outer, inner in names)
        return (Import(within, pairs, level=len(text) - len(within)),)

    def typed(self, node: Node, source: bytes) -> Iterable[tuple[int, str]]:
        # The bound name comes first, except for the stars of `*a: A`.
        of = self.declared_type(node, source)
        return ((node.start_byte, of),) if of else ()

    def fields(self, node: Node, source: bytes) -> Iterator[tuple[str, str]]:
        *owner, name = field_text(node, "left", source).split(".")
        if name and (not owner or (len(owner) == 1 and owner[0] in self.receivers)):
            yield name, self.held_type(node, source)

    def parts(self, text: str) -> tuple[str, ...]:
        if text.isidentifier():
            return (text,)
        if "#" in text:
            text = _COMMENT.sub("", text)
        if text.startswith("super()."):
            text = "super." + text[8:]
        parts = text.split(".")
        if all(map(str.isidentifier, parts)):
            return tuple(parts)
        return super().parts(text) if "(" not in text else ()


def _docstring(source: bytes, start: int) -> str:
    """The first paragraph of the docstring at the beginning of a body; "" if there is none."""
    opening = _STRING.match(source, start, start + 8)
    if opening is None:
        return ""
    end = source.find(opening[1], opening.end(), opening.end() + _DOC_BYTES_MAX)
    text = source[opening.end() : end if end >= 0 else opening.end() + _DOC_BYTES_MAX]
    paragraph = _EMPTY_LINE.split(text.decode("utf-8", "replace").strip(), maxsplit=1)[0]
    return shortened(paragraph)


def _imported_name(node: Node, source: bytes) -> tuple[str, str]:
    """An imported name and its alias; "" without an alias."""
    if node.type != "aliased_import":
        return _dotted(node, source), ""
    name = node.child_by_field_name("name")
    return _dotted(name, source) if name is not None else "", field_text(node, "alias", source)


def _dotted(node: Node, source: bytes) -> str:
    text = short_text(node, source)
    if text.isidentifier():
        return text
    # Spaces, comments and continued lines may surround the dots.
    return ".".join(
        short_text(part, source) for part in node.named_children if part.type == "identifier"
    )
