"""Parts of a command as text on one line: values, paths, patterns and conditions.

`lines_of` breaks a map that does not fit on a line. `placeholders` finds all placeholders of a
tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from json import dumps
from typing import Any, assert_never

from mycel.kip import ast
from mycel.model.names import is_identifier
from mycel.syntax.nodes import LazyNodes

WIDTH = 88
"""The maximum length of a list on one line, without indentation."""


# Values.


def inline(value: ast.Value) -> str:
    """A value on one line."""
    match value:
        case ast.Literal(plain):
            return _json(plain)
        case ast.Placeholder(name):
            return f":{name}"
        case ast.ArrayTemplate(items):
            return f"[{', '.join(map(inline, items))}]"
        case ast.ObjectTemplate(entries):
            inner = ", ".join(f"{quoted_key(key)}: {inline(item)}" for key, item in entries)
            return f"{{{inner}}}"
        case _:
            assert_never(value)


def _json(plain: Any) -> str:
    if isinstance(plain, str):
        return quoted(plain)
    if isinstance(plain, dict):
        inner = ", ".join(f"{quoted_key(key)}: {_json(item)}" for key, item in plain.items())
        return f"{{{inner}}}"
    if isinstance(plain, list):
        return f"[{', '.join(map(_json, plain))}]"
    return dumps(plain, allow_nan=False)


def quoted(text: str) -> str:
    """A string in double quotes."""
    return dumps(text, ensure_ascii=False)


def quoted_key(key: str) -> str:
    """A key of an object: bare when it is an identifier."""
    return key if is_identifier(key) else quoted(key)


def lines_of(start: str, value: ast.Value) -> Iterator[str]:
    """A value after the start of its line, broken up level by level as far as needed."""
    line = start + inline(value)
    brackets, parts = _parts(value)
    if len(line) <= WIDTH or not parts:
        yield line
        return
    yield start + brackets[0]
    for number, (label, part) in enumerate(parts, 1):
        *most, last = lines_of(label, part)
        yield from ("  " + line for line in most)
        yield f"  {last}{',' if number < len(parts) else ''}"
    yield brackets[1]


def _parts(value: ast.Value) -> tuple[str, list[tuple[str, ast.Value]]]:
    """The brackets of a container, and its items, each with its label."""
    match value:
        case ast.Literal(dict() as plain):
            entries = [(key, ast.Literal(item)) for key, item in plain.items()]
            return "{}", [(f"{quoted_key(key)}: ", item) for key, item in entries]
        case ast.Literal(list() as plain):
            return "[]", [("", ast.Literal(item)) for item in plain]
        case ast.ObjectTemplate(entries):
            return "{}", [(f"{quoted_key(key)}: ", item) for key, item in entries]
        case ast.ArrayTemplate(items):
            return "[]", [("", item) for item in items]
        case _:
            return "", []


# Patterns.


def path(node: ast.Path) -> str:
    """A variable, or a path from it."""
    return path_text(node.variable.name, node.fields)


def expression(node: ast.Expression) -> str:
    """An expression of FIND: `?drug.name`, `COUNT(DISTINCT ?drug)`."""
    if isinstance(node, ast.Path):
        return path(node)
    distinct = "DISTINCT " if node.distinct else ""
    return f"{node.function}({distinct}{path(node.argument)})"


def path_text(variable: str, fields: Iterable[str]) -> str:
    """A path as it is written, with brackets around keys that are no identifiers.

    >>> path_text("x", ("attributes", "born", "in year"))
    '?x.attributes.born["in year"]'
    """
    return "".join((f"?{variable}", *map(_step, fields)))


def _step(field: str) -> str:
    return f".{field}" if is_identifier(field) else f"[{quoted(field)}]"


def pattern(node: ast.Endpoint) -> str:
    """A variable, a matcher or a link pattern."""
    match node:
        case ast.Variable(name):
            return f"?{name}"
        case ast.ConceptMatcher(kind, name, identity):
            fields = (("type", kind), ("name", name), ("id", identity))
            inner = ", ".join(f"{key}: {inline(text)}" for key, text in fields if text is not None)
            return f"{{{inner}}}"
        case ast.LinkById(identity):
            return f"(id: {inline(identity)})"
        case ast.LinkPattern(subject, predicate, target):
            return f"({pattern(subject)}, {_predicate(predicate)}, {pattern(target)})"
        case _:
            assert_never(node)


def _predicate(predicate: ast.Predicate) -> str:
    match predicate:
        case ast.Variable(name):
            return f"?{name}"
        case ast.PredicateChoice(names):
            return " | ".join(map(inline, names))
        case ast.PredicateHops(name, minimum, maximum):
            if minimum == maximum:
                return f"{inline(name)}{{{minimum}}}"
            return f"{inline(name)}{{{minimum},{'' if maximum is None else maximum}}}"
        case _:
            return inline(predicate)


# Conditions.


def condition(node: ast.Condition, *, within: ast.Condition | None = None) -> str:
    """A condition, in parentheses if the condition around it needs them."""
    match node:
        case ast.Disjunction(parts):
            text = _joined(" || ", node, parts)
            loose = isinstance(within, ast.Conjunction | ast.Negation)
        case ast.Conjunction(parts):
            text = _joined(" && ", node, parts)
            loose = isinstance(within, ast.Negation)
        case ast.Comparison(operator, left, right):
            text = f"{_operand(left)} {operator} {_operand(right)}"
            loose = isinstance(within, ast.Negation)
        case ast.Negation(inner):
            text = f"!{condition(inner, within=node)}"
            loose = False
        case _:
            text = _test(node)
            loose = False
    return f"({text})" if loose else text


def _joined(sign: str, outer: ast.Condition, parts: Iterable[ast.Condition]) -> str:
    return sign.join(condition(part, within=outer) for part in parts)


def _test(node: ast.Membership | ast.NullTest | ast.TextTest) -> str:
    match node:
        case ast.Membership(operand, values):
            return f"IN({_operand(operand)}, {inline(values)})"
        case ast.NullTest(operand, negated):
            return f"{'IS_NOT_NULL' if negated else 'IS_NULL'}({_operand(operand)})"
        case ast.TextTest(function, operand, argument):
            return f"{function}({_operand(operand)}, {_operand(argument)})"
        case _:
            assert_never(node)


def _operand(operand: ast.Operand) -> str:
    return path(operand) if isinstance(operand, ast.Path) else inline(operand)


# Placeholders.


def placeholders(node: object) -> Iterator[ast.Placeholder]:
    """Every placeholder in a tree."""
    if isinstance(node, ast.Placeholder):
        yield node
    elif isinstance(node, tuple | LazyNodes):
        for item in node:
            yield from placeholders(item)
    elif is_dataclass(node):
        for field in fields(node):
            if field.name != "span":
                yield from placeholders(getattr(node, field.name))
