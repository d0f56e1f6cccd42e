"""Rules of annotations: their places, their values, and how often they may occur.

Any other annotation is kept unchanged and has no meaning to the engine.

    name            on                    value                        how often
    description     types, properties     text                         once
    instruction     types                 text                         once
    rename_from     types, properties     the name before              once
    kip             nodes, edges          a name for KIP               once
    open            nodes, edges          none                         once
    retention       nodes, edges          a rule (see `retention`)     once
    functional      edges                 none                         once
    default         properties            a value (see `builder`)     once
    embed           vectors               a property (see `builder`), once
                                          and perhaps a model
    merge           properties            a policy that fits the type  once
    key unique index  properties          none                         once
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from mycel.errors import ConstraintViolation, SchemaError, did_you_mean
from mycel.model.limits import IDENTIFIER_BYTES_MAX
from mycel.model.names import is_identifier, shorten
from mycel.model.retention import retention_from_words
from mycel.schema import ast
from mycel.schema.merge_policies import MERGE_POLICIES, fitting_types, merge_fits, policy_of
from mycel.schema.model import (
    DEFAULT,
    DESCRIPTION,
    EMBED,
    FUNCTIONAL,
    INSTRUCTION,
    KIP_NAME,
    MERGE,
    OPEN,
    RENAME_FROM,
    RETENTION,
    Annotation,
    TypeKind,
)
from mycel.syntax.diagnostics import located
from mycel.syntax.source import Span

_TEXTS: Final = frozenset((DESCRIPTION, INSTRUCTION, RENAME_FROM, KIP_NAME))
_OF_INSTANCES: Final = frozenset((KIP_NAME, OPEN, RETENTION, FUNCTIONAL))
_OF_TYPES: Final = _OF_INSTANCES | {INSTRUCTION}
_OF_PROPERTIES: Final = frozenset((DEFAULT, EMBED, MERGE))
_INLINE: Final = frozenset(("key", "unique", "index"))
_ONCE: Final = _TEXTS | _OF_TYPES | _OF_PROPERTIES | _INLINE
_BODY_EXAMPLES: Final = {"range": "0..100", "check": '"pattern"'}
_EXAMPLES: Final = {
    DESCRIPTION: '@description("What it is.")',
    INSTRUCTION: '@instruction("How to use it.")',
    RENAME_FROM: '@rename_from("OldName")',
    KIP_NAME: '@kip("treats")',
    DEFAULT: '@default(0) or @default("text")',
    EMBED: "@embed(source), where source is a String property",
    RETENTION: '@retention("archive 90d after updated unless linked")',
    MERGE: '@merge("newest") or another of ' + ", ".join(MERGE_POLICIES),
}


class CheckedAnnotations(NamedTuple):
    """The annotations of a declaration."""

    stored: tuple[Annotation, ...]
    renamed_from: str | None


def wrong(span: Span, message: str, hint: str | None = None) -> SchemaError:
    """The error for a node of the tree."""
    return located(SchemaError(message, hint=hint), span)


def of_type(annotations: Iterable[ast.AnnotationDeclaration], kind: TypeKind) -> CheckedAnnotations:
    """The annotations of a type; raises SchemaError if one breaks a rule."""
    for annotation in annotations:
        if annotation.name in _OF_PROPERTIES:
            raise wrong(
                annotation.span,
                f"@{annotation.name} is for properties, not for types.",
                "Put it after the type of a property.",
            )
        if kind == "interface" and annotation.name in _OF_INSTANCES:
            raise wrong(
                annotation.span,
                f"@{annotation.name} is for nodes and edges; an interface has no instances.",
                "Put it on the nodes that implement the interface.",
            )
        if kind == "node" and annotation.name == FUNCTIONAL:
            raise wrong(
                annotation.span, "@functional is for edges.", "Put it after the target of an edge."
            )
    return _collected(annotations)


def of_property(declaration: ast.PropertyDeclaration) -> CheckedAnnotations:
    """The annotations of a property; raises SchemaError if one breaks a rule."""
    name = declaration.name.text
    for annotation in declaration.annotations:
        if annotation.name in _OF_TYPES:
            hint = "Put it after the name of the node, or after the target of the edge."
            if annotation.name == INSTRUCTION:
                hint = "Describe a property with @description."
            raise wrong(
                annotation.span, f"@{annotation.name} is for types, not for properties.", hint
            )
        if annotation.name in _BODY_EXAMPLES:
            example = _BODY_EXAMPLES[annotation.name]
            hint = f"Write @{annotation.name}({name}, {example}) in the body of a node."
            raise wrong(annotation.span, f"@{annotation.name} needs arguments.", hint)
        if annotation.name == EMBED and declaration.type.scalar != "Vector":
            raise wrong(
                annotation.span,
                "@embed is for a Vector.",
                f"Write `{name}: Vector(768) @embed(source)`, where source is a String property.",
            )
    checked_annotations = _collected(declaration.annotations)
    for annotation in declaration.annotations:
        if annotation.name == MERGE and annotation.value is not None:
            _check_merge(annotation, annotation.value.text, declaration)
    return checked_annotations


def _check_merge(
    annotation: ast.AnnotationDeclaration, word: str, declaration: ast.PropertyDeclaration
) -> None:
    policy = policy_of(word)
    if policy is None:
        raise wrong(
            annotation.span,
            f"{shorten(word)!r} is not a policy of @merge.",
            did_you_mean(word, MERGE_POLICIES) or f"Write {_EXAMPLES[MERGE]}.",
        )
    type_ = declaration.type
    fitting = [
        other for other in MERGE_POLICIES if merge_fits(other, type_.scalar, is_list=type_.is_list)
    ]
    if policy not in fitting:
        name, type_text = declaration.name.text, shorten(str(type_))
        raise wrong(
            annotation.span,
            f'@merge("{policy}") is for {fitting_types(policy)}, and {name} is {type_text}.',
            f"It takes one of {', '.join(fitting)}.",
        )


def _collected(annotations: Iterable[ast.AnnotationDeclaration]) -> CheckedAnnotations:
    seen: set[str] = set()
    model_annotations: list[Annotation] = []
    renamed_from: str | None = None
    for annotation in annotations:
        if annotation.name in _ONCE:
            if annotation.name in seen:
                raise wrong(
                    annotation.span, f"@{annotation.name} is given twice.", "Write it once."
                )
            seen.add(annotation.name)
            _check_value(annotation)
        value = None if annotation.value is None else annotation.value.text
        if annotation.name == RENAME_FROM:
            renamed_from = value
        elif annotation.name not in _INLINE:
            model = None if annotation.model is None else annotation.model.text
            model_annotations.append(Annotation(annotation.name, value, model))
    return CheckedAnnotations(tuple(model_annotations), renamed_from)


def _check_value(annotation: ast.AnnotationDeclaration) -> None:
    name, value, span = annotation.name, annotation.value, annotation.span
    if name in (OPEN, FUNCTIONAL) and value is not None:
        raise wrong(span, f"@{name} takes no value.", f"Write @{name}.")
    if name not in _EXAMPLES:
        return
    if value is None:
        raise wrong(span, f"@{name} needs a value.", f"Write {_EXAMPLES[name]}.")
    if name in _TEXTS and not value.text.strip():
        raise wrong(span, f"The text of @{name} is empty.", f"Write {_EXAMPLES[name]}.")
    if annotation.model is not None and not annotation.model.text.strip():
        raise wrong(span, "The model of @embed is empty.", "Name it, or leave it out.")
    is_name = is_identifier(value.text) and len(value.text) <= IDENTIFIER_BYTES_MAX
    if name == KIP_NAME and not is_name:
        raise wrong(
            span,
            f"{shorten(value.text)!r} is not a name for a type or predicate in KIP.",
            "A name is a letter or underscore, then letters, digits or underscores, at most"
            f" {IDENTIFIER_BYTES_MAX}.",
        )
    if name == RETENTION:
        try:
            retention_from_words(value.text)
        except ConstraintViolation as error:
            raise wrong(span, error.message, error.hint) from None
