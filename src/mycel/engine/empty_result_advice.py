"""Hints for a FIND that found nothing, or only nulls.

An empty answer often means a misspelled name. When there are no rows, the command is compared with
the graph: names that do not exist, attributes that a type does not declare, comparisons that its
schema rules out, links in the wrong direction. Each hint states a fact, which may not be the
reason.

Patterns in NOT and OPTIONAL are ignored: a misspelled name there does not empty the answer. The
cost is a few look-ups by index and a bounded list of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mycel.engine.references import close_to, types_of
from mycel.engine.values import Values, json_kind
from mycel.errors import close_names
from mycel.kip import ast
from mycel.kip.fragments import path_text, quoted_key
from mycel.model.ids import parse_concept_id, parse_link_id
from mycel.model.names import is_identifier, shorten
from mycel.plan.bind import KNOWN_FIELDS
from mycel.schema.definitions import (
    ANY,
    AttributeRule,
    ConceptDefinition,
    PredicateDefinition,
    concept_definition,
    json_type,
    predicate_definition,
)
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.query import lookup
from mycel.store.query.reader import Reader

ADVICE_MAX: Final = 3
LOOKS_MAX: Final = 30
"""The maximum number of names and definitions that one command looks up."""
INSTANCES_COMPARED: Final = 20
"""The number of instances of a type that are read for the values of an attribute."""
LISTED_MAX: Final = 1_000
"""The maximum number of values of a list in IN whose types are compared with those of an
attribute."""
_ATTRIBUTES_SHOWN_MAX: Final = 8

_Types = Mapping[str, str]
"""The types of variables that clauses state."""


def advice(
    reader: Reader, find: ast.Find, values: Values, empty: Sequence[int] = ()
) -> tuple[str, ...]:
    """Hints for a FIND without rows, or with rows in which the columns `empty` are all null."""
    sentences: dict[str, None] = {}
    adviser = _Adviser(reader, values)
    for sentence in adviser.columns(find, empty) if empty else adviser.block(find.where):
        sentences[sentence] = None
        if len(sentences) == ADVICE_MAX:
            break
    return tuple(sentences)


class _Adviser:
    """Compares one command with the graph."""

    def __init__(self, reader: Reader, values: Values) -> None:
        self._reader: Final = reader
        self._values: Final = values
        self._looks = 0
        self._definitions: dict[tuple[int, str], Mapping[str, Any] | None] = {}

    def block(self, block: ast.Block) -> Iterator[str]:
        types = dict(self._stated_types(block))
        for clause in block:
            match clause:
                case ast.ConceptClause():
                    yield from self._matcher(clause.matcher)
                case ast.LinkClause(pattern=ast.LinkPattern() as pattern):
                    yield from self._pattern(pattern, types)
                case ast.LinkClause(pattern=ast.LinkById() as pattern):
                    yield from self._link(pattern)
                case ast.Filter():
                    yield from self._condition(clause.condition, types)
                case ast.Union():
                    yield from self.block(clause.block)
                case _:
                    pass

    def columns(self, find: ast.Find, empty: Sequence[int]) -> Iterator[str]:
        """Hints on columns that are null in every row, if the type lacks the attribute."""
        clauses = [clause for clause in find.where if isinstance(clause, ast.ConceptClause)]
        types = dict(self._stated_types(tuple(clauses)))
        for at in empty:
            path = find.expressions[at]
            if not isinstance(path, ast.Path):
                continue
            if path.fields[0] == "metadata":
                yield from _kept_elsewhere(path)
            elif path.variable.name in types:
                yield from self._absent(path, types[path.variable.name])

    def _absent(self, path: ast.Path, type_name: str) -> Iterator[str]:
        definition = self._type(type_name)
        attribute_names = (
            {} if definition is None else {rule.name: None for rule in definition.rules}
        )
        if path.fields[1] in attribute_names or not self._may_look():
            return
        number = self._reader.type_number(type_name)
        sample = lookup.attributes_of_type(self._reader, number, INSTANCES_COMPARED)
        for attributes in sample:
            attribute_names |= dict.fromkeys(attributes)
        if path.fields[1] in attribute_names:
            return
        lacks = (
            f"{path_text(path.variable.name, path.fields)} is null in every row: {type_name} does"
            f" not declare {shorten(path.fields[1])!r}, and none of {len(sample)} sampled"
            " instances has it"
        )
        yield _with_others(lacks, path.fields[1], list(attribute_names), "there are")

    def _stated_types(self, block: ast.Block) -> Iterator[tuple[str, str]]:
        """The variables whose type a clause states, each with the type."""
        for clause in block:
            if isinstance(clause, ast.Optional):
                yield from self._stated_types(clause.block)
            elif isinstance(clause, ast.ConceptClause) and clause.matcher.type is not None:
                yield clause.variable.name, self._values.text(clause.matcher.type, "type")

    # Names.

    def _matcher(self, matcher: ast.ConceptMatcher) -> Iterator[str]:
        if matcher.id is not None:
            id_ = self._values.text(matcher.id, "id")
            if self._may_look() and self._reader.concept(parse_concept_id(id_)) is None:
                yield f"There is no concept with the id {shorten(id_)!r}."
        elif matcher.name is not None:
            name = self._values.text(matcher.name, "name")
            if matcher.type is not None:
                yield from self._explain_missing(self._values.text(matcher.type, "type"), name)
            elif self._may_look() and not types_of(self._reader, name):
                yield f"There is no concept named {shorten(name)!r}.{_placeholder_hint(name)}"

    def _explain_missing(self, type_name: str, name: str) -> Iterator[str]:
        if not self._may_look():
            return
        number = self._reader.type_number(type_name)
        if self._reader.concept_named(number, name) is not None:
            return
        missing = f"There is no {type_name} named {shorten(name)!r}"
        if hint := _placeholder_hint(name):
            yield f"{missing}.{hint}"
        elif close := close_to(self._reader, number, name):
            yield f"{missing}. Did you mean {quoted_names(close)}?"
        elif elsewhere := types_of(self._reader, name):
            yield f"{missing}, but there is one of type {_either(elsewhere)}."
        else:
            yield f"{missing}."

    # Attributes.

    def _condition(self, condition: ast.Condition, types: _Types) -> Iterator[str]:
        match condition:
            case ast.Conjunction() | ast.Disjunction():
                for part in condition.conditions:
                    yield from self._condition(part, types)
            case ast.Comparison(operator, ast.Path() as path, other):
                yield from self._compared(path, operator, other, types)
            case ast.Comparison(operator, other, ast.Path() as path):
                yield from self._compared(path, operator, other, types)
            case ast.Membership(operand=ast.Path() as path):
                values = self._values.value(condition.values)
                if len(values) <= LISTED_MAX:
                    kinds = {json_type(value): json_kind(value) for value in values}
                    yield from self._attribute(path, kinds, types)
            case ast.TextTest(operand=ast.Path() as path):
                with_arrays = {"array": "an array"} if condition.function == "CONTAINS" else {}
                kinds = {"string": "a text"} | with_arrays
                yield from self._attribute(path, kinds, types, condition.function)
            case _:
                pass

    def _compared(
        self, path: ast.Path, operator: str, other: ast.Operand, types: _Types
    ) -> Iterator[str]:
        kinds: dict[str, str] | None = None
        if not isinstance(other, ast.Path):
            value = self._values.value(other)
            if operator != "!=":
                kinds = {json_type(value): json_kind(value)}
            if operator == "==" and path.fields == ("name",) and isinstance(value, str):
                type_name = types.get(path.variable.name)
                yield from () if type_name is None else self._explain_missing(type_name, value)
        yield from self._attribute(path, kinds, types)

    def _attribute(
        self,
        path: ast.Path,
        kinds: Mapping[str, str] | None,
        types: _Types,
        function: str | None = None,
    ) -> Iterator[str]:
        """Hints if the type of a variable lacks the attribute, or gives it other JSON types."""
        yield from _kept_elsewhere(path)
        type_name = types.get(path.variable.name)
        if type_name is None or len(path.fields) < 2 or path.fields[0] != "attributes":
            return
        definition = self._type(type_name)
        if definition is None or not definition.rules:
            return
        key = path.fields[1]
        rule = next((rule for rule in definition.rules if rule.name == key), None)
        if rule is None:
            yield _undeclared(definition, key)
        elif kinds and len(path.fields) == 2 and not _may_be(rule, kinds):
            schema_type = _either(sorted(rule.types - {"null"}) or ["null"])
            test = function or f"comparing it with {_either(kinds.values())}"
            never = "is never true of it" if function else "is never true"
            yield f"{shorten(key)} is declared as {schema_type}; {test} {never}."

    # Links.

    def _link(self, pattern: ast.LinkById) -> Iterator[str]:
        id_ = self._values.text(pattern.id, "id")
        if not self._may_look():
            return
        link = self._reader.link(parse_link_id(id_))
        if link is None or link.id != id_:
            yield f"There is no link with the id {shorten(id_)!r}."

    def _pattern(self, pattern: ast.LinkPattern, types: _Types) -> Iterator[str]:
        ends = pattern.subject, pattern.object
        for end in ends:
            if isinstance(end, ast.ConceptMatcher):
                yield from self._matcher(end)
            elif isinstance(end, ast.LinkPattern):
                yield from self._pattern(end, types)
            elif isinstance(end, ast.LinkById):
                yield from self._link(end)
        definition = self._predicate(pattern.predicate)
        if definition is not None:
            yield from _against(definition, *(self._kind(end, types) for end in ends))

    def _kind(self, end: ast.Endpoint, types: _Types) -> str | None:
        """The type that the command states for an end."""
        if isinstance(end, ast.Variable):
            return types.get(end.name)
        if isinstance(end, ast.ConceptMatcher) and end.type is not None:
            return self._values.text(end.type, "type")
        return None

    # Definitions.

    def _type(self, name: str) -> ConceptDefinition | None:
        attributes = self._defined(CONCEPT_TYPE_NUMBER, name)
        return None if attributes is None else concept_definition(name, attributes)

    def _predicate(self, predicate: ast.Predicate) -> PredicateDefinition | None:
        """The definition of a predicate; None for alternatives, and for paths that may be empty."""
        if isinstance(predicate, ast.PredicateHops) and predicate.minimum > 0:
            predicate = predicate.name
        if not isinstance(predicate, ast.Literal | ast.Placeholder):
            return None
        name = self._values.text(predicate, "predicate")
        attributes = self._defined(PROPOSITION_TYPE_NUMBER, name)
        return None if attributes is None else predicate_definition(name, attributes)

    def _defined(self, meta: int, name: str) -> Mapping[str, Any] | None:
        if (meta, name) not in self._definitions:
            concept = self._reader.concept_named(meta, name) if self._may_look() else None
            self._definitions[meta, name] = None if concept is None else concept.attributes
        return self._definitions[meta, name]

    def _may_look(self) -> bool:
        self._looks += 1
        return self._looks <= LOOKS_MAX


def _placeholder_hint(name: str) -> str:
    """A sentence to add to a hint if the name looks like a placeholder in quotes."""
    if name.startswith(":") and is_identifier(name[1:]):
        return f" Write a placeholder without quotes: {shorten(name)}."
    return ""


def _kept_elsewhere(path: ast.Path) -> Iterator[str]:
    """A hint if the key of metadata is a misspelling of one that the engine writes."""
    if len(path.fields) != 2 or path.fields[0] != "metadata":
        return
    fields = KNOWN_FIELDS.get(path.fields[1].replace("_", ""))
    if fields is not None and fields != path.fields and path.fields[1][0] != "_":
        name = path.variable.name
        yield (
            f"{path_text(name, path.fields)} exists only if somebody wrote it; the value of the"
            f" engine is {path_text(name, fields)}."
        )


def _undeclared(definition: ConceptDefinition, key: str) -> str:
    names = [rule.name for rule in definition.rules]
    lacks = f"{definition.name} declares no attribute {shorten(key)!r}"
    return _with_others(lacks, key, names, "it declares")


def _with_others(lacks: str, key: str, names: Sequence[str], there_are: str) -> str:
    """A sentence about a missing attribute, with the attributes that exist."""
    if close := close_names(key, names):
        return f"{lacks}; did you mean {quoted_names(close)}?"
    more = ", …" if len(names) > _ATTRIBUTES_SHOWN_MAX else ""
    examples = ", ".join(map(_key, names[:_ATTRIBUTES_SHOWN_MAX]))
    return f"{lacks}; {there_are} {examples}{more}." if names else f"{lacks}."


def _key(name: str) -> str:
    return quoted_key(shorten(name))


def _may_be(rule: AttributeRule, kinds: Iterable[str]) -> bool:
    """True if the rule admits one of these JSON types; `null` is always admitted."""
    if not rule.types or "null" in kinds:
        return True
    allowed = rule.types | {"number"} if "integer" in rule.types else rule.types
    return not allowed.isdisjoint(kinds)


def _against(
    definition: PredicateDefinition, subject: str | None, object_: str | None
) -> Iterator[str]:
    """Hints if the predicate does not admit the types of these ends."""
    subjects, objects = definition.subject_types, definition.object_types

    def fits(one: str | None, other: str | None) -> bool:
        return _admits(subjects, one) and _admits(objects, other)

    turned = fits(object_, subject)
    if fits(subject, object_) or (definition.is_symmetric and turned):
        return
    leads = f"{definition.name} leads from {_ends(subjects)} to {_ends(objects)}"
    if turned:
        yield f"{leads}; the pattern has the opposite direction."
    elif not _admits(subjects, subject):
        yield f"{leads}; the pattern leads from {subject}."
    else:
        yield f"{leads}; the pattern leads to {object_}."


def _admits(allowed: tuple[str, ...], kind: str | None) -> bool:
    return kind is None or ANY in allowed or kind in allowed


def _ends(allowed: tuple[str, ...]) -> str:
    return "anything" if ANY in allowed else _either(allowed)


def quoted_names(names: Iterable[str]) -> str:
    """Names in quotes, joined by "or"."""
    return " or ".join(repr(shorten(name)) for name in names)


def _either(words: Iterable[str]) -> str:
    return " or ".join(shorten(word) for word in words)
