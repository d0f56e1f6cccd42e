"""What the engine must know about a language: queries and a few answers about nodes.

A language is a subclass of `Syntax`: mostly data, with a method where its grammar differs from the
common case. `facts` is a query whose captures have fixed names:

    @symbol.KIND   a whole definition; KIND is the kind of the symbol unless `kind` says otherwise
    @scope         a node that gives its names a prefix and is no symbol (`impl` of Rust)
    @import        handed to `imports`
    @export        handed to `exports`
    @call          the expression that is called, handed to `callee`
    @new           the same for making an object
    @package       the name of the package

`bindings` captures (as @bound) the names that a function binds for itself: parameters and local
variables. A call of such a name is no call of a symbol with the same name. It runs only over the
functions where the names alone leave that open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.comments import comment_above, first_paragraph

if TYPE_CHECKING:
    # The types of an extra.
    from tree_sitter import Node

    from mycel.knowledge.code.facts import Import

SIGNATURE_CHARS_MAX: Final = 240
CALLEE_BYTES_MAX: Final = 240
NAME_BYTES_MAX: Final = 1000

_NAME: Final = re.compile(r"[#~]?[^\W\d][\w$]*|\$[\w$]*|operator\W{1,3}")
_CALLEE: Final = re.compile(r"[#\w$]+(?:(?:\.|\?\.|::|->)[#\w$]+)*")
_SEPARATOR: Final = re.compile(r"\?\.|\.|::|->")
_SPACES: Final = re.compile(r"\s+")
_GENERIC: Final = re.compile(r"(?:::)?<[^<>]*>")
_GENERIC_DEPTH_MAX: Final = 8


class Syntax:
    """The description of one language. Nodes come from its grammar, `source` is the whole file."""

    language: ClassVar[str]
    wheel: ClassVar[str]
    entry: ClassVar[str] = "language"
    facts: ClassVar[str]
    bindings: ClassVar[str] = ""

    receivers: ClassVar[frozenset[str]] = frozenset({"this"})
    """Names for the object whose method is running; facts say `self`."""

    parents: ClassVar[frozenset[str]] = frozenset({"super"})
    """Names for the same object as one of its base class; facts say `super`."""

    names_from_elsewhere: ClassVar[bool] = True
    """Whether a bare name may come from another file without an import."""

    flat_kinds: ClassVar[frozenset[str]] = frozenset()
    """Kinds of symbols that may contain others but lend them no name."""

    def name(self, node: Node, source: bytes) -> str:
        """The name of a definition, with dots when it says where it belongs; "" for none."""
        found = node.child_by_field_name("name")
        return identifier(found, source) if found is not None else ""

    def kind(self, node: Node, kind: str) -> str:
        return kind

    def body(self, node: Node) -> Node | None:
        """Where the signature ends."""
        return node.child_by_field_name("body")

    def signature(self, text: str) -> str:
        return text.rstrip(" {:=;")

    def doc(self, node: Node, body: Node | None, source: bytes) -> str:
        return first_paragraph(comment_above(source, node.start_byte))

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        return True

    def bases(self, node: Node, source: bytes) -> Iterable[str]:
        return ()

    def receiver(self, node: Node, source: bytes) -> str:
        """The name a method has given to its object, where it may choose it (Go)."""
        return ""

    def imports(self, node: Node, source: bytes) -> Iterable[Import]:
        raise NotImplementedError

    def exports(self, node: Node, source: bytes) -> Iterable[tuple[str, str]]:
        return ()

    def callee(self, node: Node, source: bytes) -> tuple[str, ...]:
        """The parts of the name that is called; () when it is no plain name."""
        start, end = node.byte_range
        if end - start > CALLEE_BYTES_MAX:
            return ()
        return self.parts(source[start:end].decode("utf-8", "replace"))

    def may_bind(self, source: bytes, start: int, end: int) -> bool:
        """Whether a name that stands there could get its meaning there, by the text around it."""
        return True

    def parts(self, text: str) -> tuple[str, ...]:
        if text.isidentifier():
            return (text,)
        text = without_generics(_SPACES.sub("", text))
        if _CALLEE.fullmatch(text) is None:
            return ()
        return tuple(_SEPARATOR.split(text))

    def may_resolve(self, parts: tuple[str, ...], known: frozenset[str]) -> bool:
        """Whether anything can be said about a call: its first name means something in the file."""
        return parts[0] in known or (self.names_from_elsewhere and len(parts) == 1)


def short_text(node: Node, source: bytes) -> str:
    """The text of a node that should be short, such as a name; "" when it is not."""
    start, end = node.byte_range
    return source[start:end].decode("utf-8", "replace") if end - start <= NAME_BYTES_MAX else ""


def text_of(node: Node, source: bytes) -> str:
    start, end = node.byte_range
    return source[start:end].decode("utf-8", "replace")


def identifier(node: Node, source: bytes) -> str:
    """The text of a node that should be a name; "" when it is none (after an error, say)."""
    text = short_text(node, source)
    return text if text.isidentifier() or _NAME.fullmatch(text) is not None else ""


def dotted(text: str) -> str:
    """A type as it is written, as a dotted name without its arguments; "" when it is no name.

    >>> dotted("ns::Base<T, U>")
    'ns.Base'
    """
    text = without_generics(_SPACES.sub("", text))
    return ".".join(_SEPARATOR.split(text)) if _CALLEE.fullmatch(text) is not None else ""


def without_generics(text: str) -> str:
    for _ in range(_GENERIC_DEPTH_MAX):
        if "<" not in text:
            return text
        text = _GENERIC.sub("", text)
    return text


def one_line(text: str, limit: int = SIGNATURE_CHARS_MAX) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
