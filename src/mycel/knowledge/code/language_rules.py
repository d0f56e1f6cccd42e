"""The description of a language: queries, and methods that read nodes of its grammar.

Each language is a module with a subclass of `Syntax`. Its data are the queries and the names of
fields; its methods override those of `Syntax` where the grammar differs from the common case.
`facts` is a query whose captures have fixed names:

    @symbol.KIND   a whole definition; KIND is the kind of the symbol unless `kind` says otherwise
    @scope         a node that gives its names a prefix and is no symbol (`impl` of Rust)
    @import        handed to `imports`
    @export        handed to `exports`
    @call          the expression that is called, handed to `callee`
    @new           the same for making an object
    @package       the name of the package

`bindings` captures variables and fields:

    @bound   a name that a function or the file binds: a parameter or a variable. A call of such a
             name does not call a symbol of the same name
    @typed   a declaration that tells the type of its names, handed to `typed`
    @field   the same for a field of a class, handed to `fields`
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.comments import comment_above, first_paragraph
from mycel.knowledge.code.module_paths import Locator
from mycel.knowledge.code.prose_patterns import ProseFields, blank_prose
from mycel.knowledge.code.source_facts import LITERAL, RESULT, UNKNOWN
from mycel.knowledge.documents.module_docs import Lines, block_doc

if TYPE_CHECKING:
    from tree_sitter import Node

    from mycel.knowledge.code.scopes import Captures
    from mycel.knowledge.code.source_facts import Import, Symbol

SIGNATURE_CHARS_MAX: Final = 240
CALLEE_BYTES_MAX: Final = 240
NAME_BYTES_MAX: Final = 1000

_NAME: Final = re.compile(r"[#~]?[^\W\d][\w$]*|\$[\w$]*|operator\W{1,3}")
_CALLEE: Final = re.compile(r"[#\w$]+(?:(?:\.|\?\.|::|->)[#\w$]+)*")
_SEPARATOR: Final = re.compile(r"\?\.|\.|::|->")
TEXTS_REMEMBERED: Final = 4_096
"""The maximum number of names and types whose parts are cached: a project repeats them in every
file."""
_SPACES: Final = re.compile(r"\s+")
_GENERIC: Final = re.compile(r"(?:::)?<[^<>]*>")
_GENERIC_DEPTH_MAX: Final = 8
_WRAPPERS_MAX: Final = 8
_CHAIN_MAX: Final = 4

# References, pointers, quotes, lifetimes and qualifiers may stand around the name of a type.
_BEFORE_TYPE: Final = re.compile(
    r"(?>(?:&'\w++|[\s:&*?(\"']|->|(?:const|mut|final|dyn|impl|struct)\b)*)"
)
_AFTER_TYPE: Final = " \n\t*&?\"');!"
_GENERIC_TYPE: Final = re.compile(r"([\w.:]++)\s*+[<\[](.*+)", re.DOTALL)
_ANYTHING: Final = frozenset(
    {"any", "Any", "typing.Any", "object", "Object", "unknown", "interface"}
)
_NOTHING: Final = frozenset({"None", "null", "undefined", "nil"})
_TRANSPARENT: Final = frozenset(
    {"Optional", "typing.Optional", "Annotated", "Box", "Rc", "Arc", "Result", "Option", "Promise",
     "Awaitable", "unique_ptr", "shared_ptr", "std::unique_ptr", "std::shared_ptr"}
)  # fmt: skip
"""Wrapper types. A method called on one of them is looked up in its first type argument."""
_WRAPPERS: Final = frozenset(
    {"parenthesized_expression", "await", "await_expression", "try_expression", "unary_expression",
     "non_null_expression", "reference_expression"}
)  # fmt: skip
_LITERALS: Final = frozenset(
    {"string", "concatenated_string", "integer", "float", "list", "dictionary", "set", "tuple",
     "list_comprehension", "dictionary_comprehension", "set_comprehension", "template_string",
     "array", "object", "number", "regex", "string_literal", "interpreted_string_literal",
     "raw_string_literal", "char_literal", "integer_literal", "float_literal", "array_expression"}
)  # fmt: skip


class Syntax:
    """The description of one language. `source` is always the whole file."""

    language: ClassVar[str]
    wheel: ClassVar[str]
    entry: ClassVar[str] = "language"
    facts: ClassVar[str]
    bindings: ClassVar[str] = ""

    receivers: ClassVar[frozenset[str]] = frozenset({"this"})
    """Names for the object whose method runs, such as `this`. Facts write `self`."""
    parents: ClassVar[frozenset[str]] = frozenset({"super"})
    """Names for that object as an instance of its base class. Facts write `super`."""
    member: ClassVar[tuple[str, str]] = ("object", "property")
    """The fields of a node `a.b` with the object and with the name."""
    result: ClassVar[str] = "return_type"
    """The field of a function node with the type of its result."""
    names_from_elsewhere: ClassVar[bool] = True
    """True if a bare name may come from another file without an import."""
    shares_names: ClassVar[bool] = False
    """True if code knows all names of its package, or of included files, without an import."""
    label_sign: ClassVar[bytes] = b""
    """The sign after the name of an argument, field or parameter: such a name is not a use of a
    symbol."""
    locator: ClassVar[type[Locator]] = Locator
    """The rules that lead from imports to files."""
    prose: ClassVar[re.Pattern[bytes]]
    """A pattern that matches comments and strings."""
    prose_fields: ClassVar[ProseFields | None] = None
    """The strings that have code inside, in fields."""
    has_bare_members: ClassVar[bool] = False
    """True if code may use a member of an object without naming the object."""
    has_path_names: ClassVar[bool] = False
    """True if a name of several parts means a symbol, even if its first part means nothing."""
    flat_kinds: ClassVar[frozenset[str]] = frozenset()
    """Kinds of symbols whose names are no prefix of the symbols inside them."""

    def name(self, node: Node, source: bytes) -> str:
        """The name of a definition, with dots if it names its owner; "" if it has none."""
        return identifier(node.child_by_field_name("name"), source)

    @classmethod
    def blank_prose(cls, source: bytes) -> bytes:
        """The source with spaces for comments and strings, except code in fields of strings."""
        return blank_prose(cls.prose, cls.prose_fields, source)

    def module_doc(self, text: str) -> Lines | None:
        """The documentation of a source file as a whole; None if there is none."""
        return block_doc(text)

    def string_fields(self, source: bytes, start: int, end: int) -> Iterable[bytes]:
        """The code in fields of strings between two positions."""
        return ()

    def kind(self, node: Node, kind: str) -> str:
        return kind

    def body(self, node: Node) -> Node | None:
        """The node at which the signature of a definition ends."""
        return node.child_by_field_name("body")

    def signature(self, text: str) -> str:
        return text.rstrip(" {:=;")

    def doc(self, node: Node, body: Node | None, source: bytes) -> str:
        return first_paragraph(comment_above(source, node.start_byte))

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        return True

    def bases(self, node: Node, source: bytes) -> Iterable[str]:
        """The dotted names of the types that a definition extends or implements."""
        for base in self.base_nodes(node):
            name = dotted(short_text(base, source).partition("[")[0])
            if name:
                yield name

    def base_nodes(self, node: Node) -> Iterable[Node | None]:
        return ()

    def generated(self, captures: Captures, source: bytes) -> Iterable[Symbol]:
        """The types that macros of the file generate."""
        return ()

    def receiver(self, node: Node, source: bytes) -> str:
        """The name that a method gives to its object, in languages where it may choose one (Go)."""
        return ""

    def imports(self, node: Node, source: bytes) -> Iterable[Import]:
        raise NotImplementedError

    def exports(self, node: Node, source: bytes) -> Iterable[tuple[str, str]]:
        return ()

    def returns(self, node: Node, source: bytes) -> str:
        """The type of a function's result, as written."""
        return self.type_name(field_text(node, self.result, source))

    def declared_names(self, node: Node, source: bytes) -> Iterable[tuple[Node, str]]:
        """The name nodes that a declaration binds, each with its type or ""."""
        return ()

    def typed(self, node: Node, source: bytes) -> Iterable[tuple[int, str]]:
        """The start byte of each name that a declaration binds, with its type or ""."""
        for name, of in self.declared_names(node, source):
            yield name.start_byte, of

    def fields(self, node: Node, source: bytes) -> Iterable[tuple[str, str]]:
        """The fields that a declaration binds, each with its type, or `=x` for the type of `x`."""
        for name, of in self.declared_names(node, source):
            yield short_text(name, source), of

    def declared_type(self, node: Node, source: bytes) -> str:
        """The type of a variable as written, or the maker of its value."""
        written = node.child_by_field_name("type")
        if written is not None:
            return self.type_name(short_text(written, source))
        return self.value_type(child(node, "value", "right"), source)

    def held_type(self, node: Node, source: bytes) -> str:
        """The type of a field; `=x` if the field holds a variable `x` of a type unknown here."""
        of, value = self.declared_type(node, source), child(node, "right", "value")
        if not of and value is not None and value.type == "identifier":
            return "=" + short_text(value, source)
        return of

    def type_name(self, text: str) -> str:
        """A type as a dotted name, without pointers and wrappers; "" if it has no name."""
        return _type_name(text)

    def callee(self, node: Node, source: bytes) -> tuple[str, ...]:
        """The parts of the called name, as described in `calls`; () if there is no name."""
        start, end = node.byte_range
        if end - start <= CALLEE_BYTES_MAX:
            parts = self.parts(source[start:end].decode("utf-8", "replace"))
            # In Rust and C, `a.b()` calls a method of the value `a`, and `a::b()` names a path.
            is_value = node.type == "field_expression" and parts and parts[0].isidentifier()
            if is_value and parts[0] not in self.receivers:
                return (f".{parts[0]}", *parts[1:])
            if parts:
                return parts
        owner, method = self._member(node, source)
        made_by = self.made_by(owner, source) if owner is not None and method else None
        return (made_by, method) if made_by is not None else ()

    def _member(self, node: Node, source: bytes) -> tuple[Node | None, str]:
        """The object and the name in a node `a.b`."""
        owner, name = (node.child_by_field_name(field) for field in self.member)
        return owner, identifier(name, source)

    def value_type(self, node: Node | None, source: bytes) -> str:
        """The type of a value: `LITERAL`, its maker, or "" if not known."""
        if node is None:
            return ""
        return LITERAL if node.type in _LITERALS else self.maker(node, source)

    def made_by(self, node: Node, source: bytes) -> str | None:
        """A value as the first part of a callee, by its maker; None for a literal."""
        for _ in range(_WRAPPERS_MAX):
            if node.type not in _WRAPPERS or not node.named_child_count:
                break
            node = node.named_children[0]
        if node.type in _LITERALS:
            return None
        name = self.maker(node, source)
        return name + RESULT if name else UNKNOWN

    def maker(self, node: Node, source: bytes) -> str:
        """The class or function that an expression calls, as a dotted name; "" if it calls none."""
        methods: list[str] = []
        for _ in range(_CHAIN_MAX):
            called = node.child_by_field_name("function") or node.child_by_field_name("constructor")
            if called is None:
                return ""
            parts = self.parts(short_text(called, source))
            if parts:
                return ".".join((*parts, *reversed(methods)))
            owner, method = self._member(called, source)
            if owner is None or not method:
                return ""
            methods.append(method)  # `a().b()`: the result of `b`, called on the result of `a`.
            node = owner
        return ""

    def parts(self, text: str) -> tuple[str, ...]:
        return (text,) if text.isidentifier() else _parts(text)


def child(node: Node, *fields: str) -> Node | None:
    """The child of the first of these fields that a node has."""
    for field in fields:
        if (inner := node.child_by_field_name(field)) is not None:
            return inner
    return None


def first_child(node: Node) -> Node | None:
    """The first named child of a node."""
    return node.named_child(0) if node.named_child_count else None


def short_text(node: Node | None, source: bytes) -> str:
    """The text of a node; "" if it is longer than a name may be, or if there is no node."""
    if node is None:
        return ""
    start, end = node.byte_range
    return source[start:end].decode("utf-8", "replace") if end - start <= NAME_BYTES_MAX else ""


def field_text(node: Node, field: str, source: bytes) -> str:
    """The short text of the child in a field; "" if there is none."""
    return short_text(node.child_by_field_name(field), source)


def identifier(node: Node | None, source: bytes) -> str:
    """The text of a node that is a name; "" if it is no name, as after a syntax error."""
    text = short_text(node, source)
    return text if text.isidentifier() or _NAME.fullmatch(text) is not None else ""


def dotted(text: str) -> str:
    """A written type as a dotted name without type arguments; "" if it is no name.

    >>> dotted("ns::Base<T, U>")
    'ns.Base'
    """
    return ".".join(_parts(text))


@lru_cache(TEXTS_REMEMBERED)
def _parts(text: str) -> tuple[str, ...]:
    """The parts of a dotted name; () if it is no name."""
    text = without_generics(_SPACES.sub("", text))
    return tuple(_SEPARATOR.split(text)) if _CALLEE.fullmatch(text) is not None else ()


@lru_cache(TEXTS_REMEMBERED)
def _type_name(text: str) -> str:
    for _ in range(_GENERIC_DEPTH_MAX):
        text = text[_end(_BEFORE_TYPE, text) :].rstrip(_AFTER_TYPE)
        if "|" in text:
            several = [part for part in text.split("|") if part.strip() not in _NOTHING]
            text = several[0] if len(several) == 1 else ""
        generic = _GENERIC_TYPE.match(text)
        if generic is None or generic[1] not in _TRANSPARENT:
            break
        text = generic[2].rstrip()[:-1].partition(",")[0]
    name = dotted(text.partition("[")[0].partition(",")[0])
    return "" if name in _ANYTHING else name


def without_generics(text: str) -> str:
    for _ in range(_GENERIC_DEPTH_MAX):
        if "<" not in text:
            return text
        text = _GENERIC.sub("", text)
    return text


def _end(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match is not None else 0
