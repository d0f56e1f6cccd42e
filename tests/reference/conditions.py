"""The values of expressions and FILTERs in a row (KIP §3.2, §3.4.3)."""

from __future__ import annotations

from typing import Any, assert_never

from mycel.kip import ast
from mycel.syntax.regex import matcher
from tests.reference.graph import Graph
from tests.reference.json_values import comparable, same
from tests.reference.parameters import Parameters
from tests.reference.patterns import Row


class Conditions:
    """Looks at rows of one graph."""

    def __init__(self, graph: Graph, parameters: Parameters) -> None:
        self.graph = graph
        self.parameters = parameters

    def value(self, path: ast.Path, row: Row) -> Any:
        """The value at a path: a JSON value, a whole element, or null if there is none."""
        term = row[path.variable.name]
        if not isinstance(term, int):
            return term  # Null, or the name of a predicate.
        if not path.fields:
            return self.graph.elements[term]
        whole = path.fields == ("metadata",)
        value: Any = self.graph.wire(term) if whole else self.graph.facts(term)
        for field in path.fields:
            value = value.get(field) if isinstance(value, dict) else None
        return value

    def operand(self, operand: ast.Operand, row: Row) -> Any:
        if isinstance(operand, ast.Path):
            return self.value(operand, row)
        return self.parameters.value(operand)

    def holds(self, condition: ast.Condition, row: Row) -> bool:
        match condition:
            case ast.Comparison(operator, left, right):
                return _compare(operator, self.operand(left, row), self.operand(right, row))
            case ast.Membership(operand, values):
                value = self.operand(operand, row)
                return any(same(value, each) for each in self.parameters.value(values))
            case ast.NullTest(operand, negated):
                return (self.operand(operand, row) is None) != negated
            case ast.TextTest(function, operand, argument):
                return _test(function, self.operand(operand, row), self.operand(argument, row))
            case ast.Negation(inner):
                return not self.holds(inner, row)
            case ast.Conjunction(conditions):
                return all(self.holds(each, row) for each in conditions)
            case ast.Disjunction(conditions):
                return any(self.holds(each, row) for each in conditions)
            case _:
                assert_never(condition)


def _compare(operator: ast.ComparisonOperator, left: Any, right: Any) -> bool:
    match operator:
        case "==":
            return same(left, right)
        case "!=":
            return not same(left, right)
        case "<":
            return comparable(left, right) and bool(left < right)
        case ">":
            return comparable(left, right) and bool(left > right)
        case "<=":
            return comparable(left, right) and bool(left <= right)
        case ">=":
            return comparable(left, right) and bool(left >= right)
        case _:
            assert_never(operator)


def _test(function: ast.TextFunction, value: Any, argument: Any) -> bool:
    if function == "CONTAINS" and isinstance(value, list):
        return any(same(item, argument) for item in value)
    if not isinstance(value, str) or not isinstance(argument, str):
        return False
    match function:
        case "CONTAINS":
            return argument in value
        case "STARTS_WITH":
            return value.startswith(argument)
        case "ENDS_WITH":
            return value.endswith(argument)
        case "REGEX":
            return matcher(argument)(value)
        case _:
            assert_never(function)
