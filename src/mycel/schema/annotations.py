"""Rules of annotations: their places, their values, and how often they may occur.

Any other annotation is kept as it is and has no meaning to the engine.

    name            on                    value                        how often
    description     types, properties     text                         once
    instruction     types                 text                         once
    rename_from     types, properties     the name before              once
    kip             nodes, edges          a name for KIP               once
    open            nodes, edges          none                         once
    default         properties            a value (see `builder`)     once
    embed           vectors               a property (see `builder`), once
                                          and perhaps a model
    key unique index  properties          none                         once
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from mycel.errors import SchemaError
from mycel.model.limits import IDENTIFIER_BYTES_MAX
from mycel.model.names import shorten
from mycel.schema import ast
from mycel.schema.model import (
    DEFAULT,
    DESCRIPTION,
    EMBED,
    INSTRUCTION,
    KIP_NAME,
    OPEN,
    RENAME_FROM,
    Annotation,
    TypeKind,
)
from mycel.syntax.diagnostics import located

_TEXTS: Final = frozenset((DESCRIPTION, INSTRUCTION, RENAME_FROM, KIP_NAME))
_OF_INSTANCES: Final = frozenset((KIP_NAME, OPEN))
_OF_TYPES: Final = _OF_INSTANCES | {INSTRUCTION}
_OF_PROPERTIES: Final = frozenset((DEFAULT, EMBED))
_INLINE: Final = frozenset(("key", "unique", "index"))
_ONCE: Final = _TEXTS | _OF_TYPES | _OF_PROPERTIES | _INLINE
_KIP_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class CheckedAnnotations(NamedTuple):
    """The annotations of a declaration."""

    kept: tuple[Annotation, ...]
    renamed_from: str | None


_PLAIN: Final = CheckedAnnotations((), None)


def of_type(annotations: Iterable[ast.Annotation], kind: TypeKind) -> CheckedAnnotations:
    """The annotations of a type; raises SchemaError if one breaks a rule."""
    if not annotations:
        return _PLAIN
    for each in annotations:
        if each.name in _OF_PROPERTIES:
            raise _wrong(
                each,
                f"@{each.name} is for properties, not for types.",
                "Put it after the type of a property.",
            )
        if kind == "interface" and each.name in _OF_INSTANCES:
            raise _wrong(
                each,
                f"@{each.name} is for nodes and edges; an interface has no instances.",
                "Put it on the nodes that implement the interface.",
            )
    return _collected(annotations)


def of_property(declared: ast.Property, kind: TypeKind) -> CheckedAnnotations:
    """The annotations of a property; raises SchemaError if one breaks a rule."""
    if not declared.annotations:
        return _PLAIN
    for each in declared.annotations:
        if each.name in _OF_TYPES:
            raise _wrong(
                each,
                f"@{each.name} is for types, not for properties.",
                "Use @description for what a property is."
                if each.name == INSTRUCTION
                else "Put it after the name of the node, or after the target of the edge.",
            )
        if each.name in _INLINE:
            continue
        if each.name in {"range", "check"}:
            arguments = "0..100" if each.name == "range" else '"pattern"'
            raise _wrong(
                each,
                f"@{each.name} needs arguments.",
                f"Write @{each.name}({declared.name.text}, {arguments}) in the body of a node.",
            )
        if each.name == EMBED and declared.type.scalar != "Vector":
            raise _wrong(
                each,
                "@embed is for a Vector.",
                f"Write `{declared.name.text}: Vector(768) @embed(source)`, where source is a"
                " String property.",
            )
    return _collected(declared.annotations)


def _collected(annotations: Iterable[ast.Annotation]) -> CheckedAnnotations:
    seen: set[str] = set()
    kept: list[Annotation] = []
    renamed_from: str | None = None
    for each in annotations:
        if each.name in _ONCE:
            if each.name in seen:
                raise _wrong(each, f"@{each.name} is here twice.", "Write it once.")
            seen.add(each.name)
            _check_value(each)
        value = None if each.value is None else each.value.text
        if each.name == RENAME_FROM:
            renamed_from = value
        elif each.name not in _INLINE:
            model = None if each.model is None else each.model.text
            kept.append(Annotation(each.name, value, model))
    return CheckedAnnotations(tuple(kept), renamed_from)


def _check_value(annotation: ast.Annotation) -> None:
    name, value = annotation.name, annotation.value
    if name == OPEN:
        if value is not None:
            raise _wrong(annotation, "@open takes no value.", "Write @open.")
        return
    if name in _INLINE:
        return
    if value is None:
        raise _wrong(annotation, f"@{name} needs a value.", f"Write {_EXAMPLES[name]}.")
    if name in _TEXTS and not value.text.strip():
        raise _wrong(annotation, f"The text of @{name} is empty.", f"Write {_EXAMPLES[name]}.")
    if annotation.model is not None and not annotation.model.text.strip():
        raise _wrong(annotation, "The model of @embed is empty.", "Name it, or leave it out.")
    if name == KIP_NAME:
        _check_kip_name(annotation, value.text)


_EXAMPLES: Final = {
    DESCRIPTION: '@description("What it is.")',
    INSTRUCTION: '@instruction("How to use it.")',
    RENAME_FROM: '@rename_from("OldName")',
    KIP_NAME: '@kip("treats")',
    DEFAULT: '@default(0) or @default("text")',
    EMBED: "@embed(source), where source is a String property",
}


def _check_kip_name(annotation: ast.Annotation, name: str) -> None:
    if _KIP_NAME.fullmatch(name) is None or len(name) > IDENTIFIER_BYTES_MAX:
        raise _wrong(
            annotation,
            f"{shorten(name)!r} is no name for a type or predicate in KIP.",
            "A name is a letter or underscore, then letters, digits or underscores, at most"
            f" {IDENTIFIER_BYTES_MAX}.",
        )


def _wrong(annotation: ast.Annotation, message: str, hint: str) -> SchemaError:
    return located(SchemaError(message, hint=hint), annotation.span)
