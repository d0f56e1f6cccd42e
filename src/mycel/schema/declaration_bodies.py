"""The body of a declaration: its properties and constraints, and their checks.

A `DeclarationBody` grows while a type is built: first its own properties, then those of its
interfaces. Constraints are read last, because they may name any property.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, NamedTuple

from mycel.errors import InvalidSyntax, ResourceExhausted, SchemaError, did_you_mean
from mycel.model.names import shorten
from mycel.schema import ast, model
from mycel.schema.annotations import of_property, wrong
from mycel.schema.catalog_json import constraint_order, prop_id
from mycel.schema.property_values import BadValue, parse_default
from mycel.schema.scalars import NUMERIC, scalar_words
from mycel.syntax.regex import matcher
from mycel.syntax.source import Span

_COMPARED_MAX: Final = 1_000

_COLUMNS: Final[dict[str, type[model.Key] | type[model.Unique] | type[model.Index]]] = {
    "key": model.Key,
    "unique": model.Unique,
    "index": model.Index,
}


def collision(name: str, other: str, span: Span) -> SchemaError:
    """The error for two names with the same number."""
    return wrong(
        span,
        f"{name} and {other} have the same number: the hashes of their names collide.",
        "This is rare; rename one of them.",
    )


def brief(type_: model.PropertyType) -> str:
    """A type for a message, cut because an enum may be very long."""
    return shorten(str(type_))


def close_to(name: str, names: Iterable[str]) -> str:
    """A suggestion of a similar name among the first 1,000 names."""
    return did_you_mean(name, list(islice(names, _COMPARED_MAX)))


def hint_with_names(hint: str, names: Sequence[str]) -> str:
    """A hint with the names that may be meant."""
    return f"{hint}: {', '.join(names[:5])}." if names else f"{hint}."


class _KeyDeclaration(NamedTuple):
    """A key, its place, and the interface that it comes from."""

    columns: tuple[str, ...]
    span: Span
    source: str = ""

    def __str__(self) -> str:
        return f"({', '.join(self.columns)})" + (f" of {self.source}" if self.source else "")


@dataclass(slots=True)
class DeclarationBody:
    """The properties of a type while it is built; `spans` has places of properties, annotations."""

    kind: model.TypeKind
    owner: ast.Name
    members: Sequence[ast.Member]
    properties: dict[str, model.Property] = field(default_factory=dict)
    spans: dict[tuple[str, str], Span] = field(default_factory=dict)
    _numbers: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for member in self.members:
            if isinstance(member, ast.PropertyDeclaration):
                self._declare(member)

    @property
    def name(self) -> str:
        return self.owner.text

    def span(self, name: str, annotation: str = "") -> Span:
        """The place of an annotation of a property, or of the property itself."""
        return self.spans.get((name, annotation)) or self.spans[name, ""]

    def new_number(self, name: str, span: Span) -> int:
        """The number of a new property."""
        number = prop_id(self.kind, self.name, name)
        if self._numbers.setdefault(number, name) != name:
            raise collision(name, self._numbers[number], span)
        return number

    def _declare(self, declaration: ast.PropertyDeclaration) -> None:
        name, span = declaration.name.text, declaration.name.span
        if name in self.properties:
            raise wrong(
                span,
                f"{self.name} has the property {name} already.",
                "Rename one of them, or remove it.",
            )
        if name == "id" or (self.kind == "edge" and name in model.ENDS):
            raise wrong(
                span,
                f"{name} is a column that every {self.kind} has already.",
                "Choose another name for the property.",
            )
        annotated = of_property(declaration)
        self.spans[name, ""] = declaration.span
        for annotation in declaration.annotations:
            self.spans[name, annotation.name] = annotation.span
        self.properties[name] = model.Property(
            name,
            _sorted(declaration.type),
            self.new_number(name, span),
            annotated.stored,
            annotated.renamed_from,
        )

    # Constraints.

    def constraints(
        self, inherited: Sequence[tuple[str, model.Constraint]] = ()
    ) -> tuple[model.Constraint, ...]:
        """The constraints of the body and its properties, then inherited ones, without repetition.

        Keys, defaults and embeddings are checked against them.
        """
        own = self._own_constraints()
        self._check_keys(inherited)
        constraints: dict[tuple[str, str], model.Constraint] = {}
        for constraint in (*own, *(constraint for _, constraint in inherited)):
            constraints.setdefault(constraint_order(constraint), constraint)
        self._check_properties(constraints.values())
        return tuple(constraints.values())

    def _own_constraints(self) -> list[model.Constraint]:
        constraints: list[model.Constraint] = []
        for member in self.members:
            match member:
                case ast.PropertyDeclaration():
                    for annotation in member.annotations:
                        if annotation.name in _COLUMNS:
                            column = ast.Name(member.name.text, span=annotation.span)
                            constraints.append(self._columns(annotation.name, (column,)))
                case ast.Columns():
                    constraints.append(self._columns(member.kind, member.columns))
                case ast.RangeDeclaration():
                    constraints.append(self._range(member))
                case ast.CheckDeclaration():
                    constraints.append(self._check(member))
        return constraints

    def _columns(self, kind: str, columns: Sequence[ast.Name]) -> model.Constraint:
        seen: set[str] = set()
        for column in columns:
            if column.text in seen:
                raise wrong(
                    column.span, f"@{kind} names {column.text} twice.", "Name each property once."
                )
            seen.add(column.text)
            if self.kind == "edge" and column.text in model.ENDS and kind != "key":
                continue
            self._check_column(kind, column, self._property(column))
        return _COLUMNS[kind](tuple(column.text for column in columns))

    def _check_column(self, kind: str, column: ast.Name, property_: model.Property) -> None:
        type_, name = property_.type, f"{self.name}.{column.text}"
        if kind == "key" and self.kind == "edge":
            raise wrong(
                column.span,
                "@key is for nodes only.",
                "Edges take @unique and @index, over their properties, `src` and `dst`.",
            )
        is_vector = type_.scalar == "Vector"
        if type_.is_list or type_.scalar == "Blob" or (is_vector and kind != "index"):
            type_name = "a list" if type_.is_list else f"a {type_.scalar}"
            takes = "@index only" if is_vector else "no @key, @unique or @index"
            raise wrong(
                column.span,
                f"@{kind} cannot be on {name}, which is {type_name}.",
                f"It takes {takes}.",
            )
        if kind == "key" and type_.is_nullable:
            raise wrong(
                column.span,
                f"@key cannot be on {name}, which may be absent.",
                f"Remove the `?` of {column.text}: a key names every instance.",
            )

    def _range(self, declaration: ast.RangeDeclaration) -> model.Range:
        property_ = self._property(declaration.property)
        if property_.type.is_list or property_.type.scalar not in NUMERIC:
            raise wrong(
                declaration.property.span,
                f"@range is for numbers, and {self.name}.{property_.name} is"
                f" {brief(property_.type)}.",
                f"It takes {scalar_words(NUMERIC)}.",
            )
        minimum, maximum = declaration.minimum, declaration.maximum
        if minimum is not None and maximum is not None and minimum > maximum:
            raise wrong(
                declaration.span,
                f"The range {minimum}..{maximum} is empty.",
                f"Write @range({property_.name}, {maximum}..{minimum}).",
            )
        return model.Range(property_.name, minimum, maximum)

    def _check(self, declaration: ast.CheckDeclaration) -> model.Check:
        property_ = self._property(declaration.property)
        type_ = property_.type
        if type_.is_list or type_.scalar != "String" or type_.enum_values is not None:
            raise wrong(
                declaration.property.span,
                f"@check is for String, and {self.name}.{property_.name} is {brief(type_)}.",
                "An enum lists its values; numbers take @range."
                if type_.scalar != "Blob"
                else None,
            )
        try:
            matcher(declaration.pattern.text)
        except (InvalidSyntax, ResourceExhausted) as error:
            raise wrong(
                declaration.pattern.span,
                error.message.replace("REGEX", "@check"),
                error.hint,
            ) from None
        return model.Check(property_.name, declaration.pattern.text)

    def _property(self, column: ast.Name) -> model.Property:
        property_ = self.properties.get(column.text)
        if property_ is not None:
            return property_
        if column.text in model.ENDS:
            hint = "Only edges have `src` and `dst`."
        elif column.text == "id":
            hint = "The id of an instance is always unique and indexed."
        else:
            columns = [*self.properties, *(model.ENDS if self.kind == "edge" else ())]
            hint = close_to(column.text, columns) or hint_with_names("It has", columns)
        raise wrong(column.span, f"{self.name} has no property {column.text!r}.", hint)

    def _check_keys(self, inherited: Iterable[tuple[str, model.Constraint]]) -> None:
        """Refuse more than one key, inherited keys included."""
        declarations = [
            *_keys(self.members),
            *(
                _KeyDeclaration(constraint.columns, self.owner.span, source)
                for source, constraint in inherited
                if isinstance(constraint, model.Key)
            ),
        ]
        for declaration in declarations[1:]:
            first = declarations[0]
            if declaration.source and declaration.columns == first.columns:
                continue
            together = ", ".join(dict.fromkeys((*first.columns, *declaration.columns)))
            raise wrong(
                declaration.span,
                f"{self.name} has two keys: {first} and {declaration}.",
                "A node has one @key; over several properties it is written"
                f" @key({together}) in the body.",
            )

    def _check_properties(self, constraints: Iterable[model.Constraint]) -> None:
        """Check sources of embeddings, defaults against constraints, and policies of keys."""
        demands: dict[str, list[model.Constraint]] = {}
        for constraint in constraints:
            match constraint:
                case model.Range(name) | model.Check(name):
                    demands.setdefault(name, []).append(constraint)
                case model.Key(columns):
                    for name in columns:
                        demands.setdefault(name, []).append(constraint)
        for property_ in self.properties.values():
            for annotation in property_.annotations:
                if annotation.name == model.EMBED:
                    self._check_embed(property_, annotation.value or "")
                elif annotation.name == model.DEFAULT:
                    self._check_default(property_, demands.get(property_.name, ()))
                elif annotation.name == model.MERGE:
                    self._check_merge(property_, demands.get(property_.name, ()))

    def _check_embed(self, declared: model.Property, source: str) -> None:
        property_ = self.properties.get(source)
        texts = [
            property_.name
            for property_ in self.properties.values()
            if replace(property_.type, is_nullable=False) == model.PropertyType("String")
        ]
        if source in texts:
            return
        close = close_to(source, texts) if property_ is None else ""
        problem = (
            f"{self.name} does not have" if property_ is None else f"is {brief(property_.type)}"
        )
        raise wrong(
            self.span(declared.name, model.EMBED),
            f"@embed of {self.name}.{declared.name} names {source!r}, which {problem}.",
            close or hint_with_names("Name a String property", texts),
        )

    def _check_merge(self, property_: model.Property, demands: Sequence[model.Constraint]) -> None:
        if any(isinstance(demand, model.Key) for demand in demands):
            raise wrong(
                self.span(property_.name, model.MERGE),
                f"{self.name}.{property_.name} is part of the key and cannot have a @merge.",
                "Leave it out: the key of an instance never differs between branches.",
            )

    def _check_default(
        self, property_: model.Property, demands: Sequence[model.Constraint]
    ) -> None:
        """Refuse a default that breaks a constraint."""
        place, type_ = f"{self.name}.{property_.name}", brief(property_.type)
        span = self.span(property_.name, model.DEFAULT)
        if property_.type.is_list or property_.type.scalar in {"Blob", "Vector"}:
            type_name = "lists" if property_.type.is_list else property_.type.scalar
            raise wrong(
                span, f"@default is not for {type_name}.", f"Write `{property_.name}: {type_}`."
            )
        try:
            value = parse_default(property_)
        except BadValue as error:
            raise wrong(
                span,
                f"The @default of {place} must be {type_}: {error}.",
                f"Write a value of {type_}, or leave out the @default.",
            ) from None
        for demand in demands:
            if isinstance(demand, model.Key):
                raise wrong(
                    span,
                    f"{place} is part of the key and cannot have a @default.",
                    "A key names each instance, so two instances cannot share a default.",
                )
            if not _is_satisfied(demand, value):
                message = shorten(property_.default or "")
                raise wrong(
                    span,
                    f"The @default of {place}, {message}, does not satisfy {demand}.",
                    "Change the default or the constraint.",
                )


def _is_satisfied(constraint: model.Constraint, value: Any) -> bool:
    match constraint:
        case model.Range(_, low, high):
            return (low is None or value >= low) and (high is None or value <= high)
        case model.Check(_, pattern):
            return matcher(pattern)(value)
    return True


def _keys(members: Iterable[ast.Member]) -> Iterator[_KeyDeclaration]:
    """Every `@key` of a body and of its properties."""
    for member in members:
        match member:
            case ast.PropertyDeclaration():
                for annotation in member.annotations:
                    if annotation.name == "key":
                        yield _KeyDeclaration((member.name.text,), annotation.span)
            case ast.Columns(kind="key"):
                yield _KeyDeclaration(tuple(column.text for column in member.columns), member.span)


def _sorted(type_: model.PropertyType) -> model.PropertyType:
    """A type with the values of its enum sorted."""
    values = type_.enum_values
    return type_ if values is None else replace(type_, enum_values=tuple(sorted(values)))
