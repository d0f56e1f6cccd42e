"""Conditions as SQL. False and NULL count alike.

Values of different JSON types are never equal and never ordered (docs/kip.md). SQLite would compare
a number with a text, and treats booleans as numbers and arrays as texts, so the JSON type of a
value from a stored document is tested too. The comparison comes first: it fails for most rows, and
then the type is never read.

SQLite reads an integer from 2^63 on as a float, which compares correctly with every smaller number.
Mycel's own function is therefore needed only for two large integers with equal floats, or for a
large constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from mycel.ir import query as ir
from mycel.sql import portable
from mycel.sql.dialect import Dialect
from mycel.sql.fields import Access

NEVER: Final = "FALSE"
_CHAIN_MAX: Final = 8
_NUMBER: Final = "IN ('integer', 'real')"
_TURNED: Final = {"==": "==", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_OPERATORS: Final = {"==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">="}
_TYPE_NAMES: Final = {
    "number": _NUMBER,
    "text": "= 'text'",
    "true": "= 'true'",
    "false": "= 'false'",
}


def negated(condition: str) -> str:
    """True where the condition is false or NULL."""
    return f"({condition}) IS NOT TRUE"


def all_of(tests: Sequence[str]) -> str:
    """Every test holds."""
    return _balanced(tests, " AND ")


def any_of(tests: Sequence[str]) -> str:
    """One of the tests holds."""
    return f"({_balanced([f'({test})' for test in tests], ' OR ')})"


def _balanced(tests: Sequence[str], word: str) -> str:
    """Tests joined pair by pair: SQLite limits the depth of an expression, and a chain is deep."""
    if len(tests) <= _CHAIN_MAX:
        return word.join(tests)
    half = len(tests) // 2
    return f"({_balanced(tests[:half], word)}){word}({_balanced(tests[half:], word)})"


def compare(dialect: Dialect, operator: str, left: Access, right: Access) -> str:
    """One of the six comparisons."""
    if "large" in (left.kind, right.kind):
        return _with_large(dialect, operator, left, right)
    if operator == "!=":
        return negated(equal(dialect, left, right))
    if operator == "==":
        return equal(dialect, left, right)
    return _ordered(dialect, operator, left, right)


def equal(dialect: Dialect, left: Access, right: Access) -> str:
    """The same JSON value, or both null."""
    if left.kind == "null":
        left, right = right, left
    if right.kind == "null":
        return f"{left.value} IS NULL"
    if left.is_constant and not right.is_constant:
        left, right = right, left
    if right.is_constant:
        return _equals_constant(dialect, left, right)
    if left.kind == right.kind and left.kind in ("text", "number", "element"):
        return f"{left.value} IS NOT DISTINCT FROM {right.value}"
    # A text and a number, for example: equal only if both are null.
    if "json" not in (left.kind, right.kind):
        return f"({left.value} IS NULL AND {right.value} IS NULL)"
    letter = left.letter(dialect)
    test = f"{left.beside(right.kind)} = {right.beside(left.kind)}"
    if "element" in (left.kind, right.kind):
        test = dialect.unlike(test)
    return (
        f"(({letter}) = ({right.letter(dialect)}) AND CASE WHEN ({letter}) IN ('a', 'o') THEN"
        f" {portable.json_equal(_json(dialect, left), _json(dialect, right))}"
        f" ELSE {test}{_exactly(dialect, left, right)} END"
        f" OR ({left.value} IS NULL AND {right.value} IS NULL))"
    )


def _exactly(dialect: Dialect, left: Access, right: Access) -> str:
    """A second test of values that SQLite finds equal; only large numbers can fail this test."""
    if dialect.IS_EXACT:
        return ""
    return (
        f" AND ({dialect.is_no_float(left.value)} OR {left.value} < {portable.LARGE}"
        f" OR {portable.compared(_json(dialect, left), _json(dialect, right))} = 0)"
    )


def _with_large(dialect: Dialect, operator: str, left: Access, right: Access) -> str:
    """A comparison with a constant from 2^63 on; every smaller number is less than the constant."""
    if operator == "!=":
        return negated(_with_large(dialect, "==", left, right))
    if left.kind == "large":
        left, right, operator = right, left, _TURNED[operator]
    symbol = _OPERATORS[operator]
    exact = f"{portable.compared(_json(dialect, left), right.value)} {symbol} 0"
    if left.kind != "json":
        return exact
    falls_short = "TRUE" if operator in ("<", "<=") else "FALSE"
    return (
        f"({left.type} {_NUMBER}"
        f" AND CASE WHEN {left.beside('number')} < {portable.LARGE} THEN {falls_short} ELSE {exact}"
        " END)"
    )


def _equals_constant(dialect: Dialect, left: Access, constant: Access) -> str:
    if left.kind == constant.kind and left.kind in ("text", "number"):
        return f"{left.value} = {constant.value}"
    if left.kind == "null":
        return NEVER
    if left.kind == "json":
        match constant.kind:
            case "number" | "text":
                test = _TYPE_NAMES[constant.kind]
                return f"({left.beside(constant.kind)} = {constant.value} AND {left.type} {test})"
            case "true" | "false":
                return f"{left.type} {_TYPE_NAMES[constant.kind]}"
            case "document":
                return (
                    f"({left.type} IN ('array', 'object')"
                    f" AND {portable.json_equal(left.text, constant.value)})"
                )
    if left.kind == constant.kind == "document":
        return portable.json_equal(left.value, constant.value)
    return "TRUE" if left.kind == constant.kind and left.kind in ("true", "false") else NEVER


def _ordered(dialect: Dialect, operator: str, left: Access, right: Access) -> str:
    symbol = _OPERATORS[operator]
    test = f"{left.beside(right.kind)} {symbol} {right.beside(left.kind)}"
    kinds = {left.kind, right.kind}
    if kinds <= {"text"}:
        return f"{dialect.ordered(left.value)} {symbol} {right.value}"
    if kinds <= {"number"}:
        return test
    if kinds == {"json"}:
        letter = left.letter(dialect)
        if dialect.IS_EXACT:
            test = (
                f"({left.number} {symbol} {right.number} OR {left.string} {symbol} {right.string})"
            )
            return (
                f"({test} AND ({letter}) IN ('n', 's') AND ({letter}) = ({right.letter(dialect)}))"
            )
        exact = f"{portable.compared(left.text, right.text)} {symbol} 0"
        test = (
            f"CASE WHEN {left.value} = {right.value} AND {dialect.is_float(left.value)}"
            f" AND {left.value} >= {portable.LARGE} THEN {exact} ELSE {test} END"
        )
        return f"({test} AND ({letter}) IN ('n', 's') AND ({letter}) = ({right.letter(dialect)}))"
    if kinds in ({"json", "number"}, {"json", "text"}):
        document = left if left.kind == "json" else right
        other = right if left.kind == "json" else left
        return f"({test} AND {document.type} {_TYPE_NAMES[other.kind]})"
    return NEVER


def one_of(dialect: Dialect, operand: Access, values: ir.Value, placeholder: str) -> str:
    """The operand equals one of the values of a list, which is bound as JSON text."""
    match values.kind:
        case "texts" | "numbers" as kind:
            single = "text" if kind == "texts" else "number"
            is_in = dialect.in_texts if kind == "texts" else dialect.in_numbers
            inside = is_in(operand.beside(single), placeholder)
            if operand.kind == single:
                return inside
            return (
                f"({inside} AND {operand.type} {_TYPE_NAMES[single]})"
                if (operand.kind == "json")
                else NEVER
            )
        case _:
            return portable.json_member(_json(dialect, operand), placeholder)


def bounded(dialect: Dialect, value: str, bound: ir.Bound, placeholder: str, real: str = "") -> str:
    """The value of an index's entry is within a bound.

    In an index, booleans are 1 and 0, and integers from 2^63 on are texts of 20 digits. `real` is
    the placeholder of such a number as a float.
    """
    match bound.value.kind:
        case "large":
            return (
                f"{value} IN ({dialect.entry(dialect.digits(placeholder))}, {dialect.entry(real)})"
            )
        case "true":
            return f"{value} = {dialect.entry('1')}"
        case "false":
            return f"{value} = {dialect.entry('0')}"
        case _ if bound.operator == "in":
            return dialect.in_entries(value, placeholder)
        case _:
            return f"{value} {_OPERATORS[bound.operator]} {dialect.entry(placeholder)}"


def text_test(dialect: Dialect, function: str, operand: Access, argument: Access) -> str:
    """CONTAINS, STARTS_WITH, ENDS_WITH or REGEX.

    Both values must be texts; CONTAINS also looks into an array.
    """
    tests = [] if argument.kind == "text" else _is_text(argument)
    texts = operand.kind in ("text", "json") and argument.kind in ("text", "json")
    alternatives = []
    if texts:
        test = dialect.text_test(function, operand.beside("text"), argument.beside("text"))
        tests = [*_is_text(operand), *tests, test]
        alternatives.append(" AND ".join(tests))
    if function == "CONTAINS" and operand.kind == "json":
        alternatives.append(
            f"{operand.type} = 'array'"
            f" AND {portable.json_member(_json(dialect, argument), operand.text)}"
        )
    return f"({' OR '.join(alternatives)})" if alternatives else NEVER


def _is_text(access: Access) -> list[str]:
    return [f"{access.type} = 'text'"] if access.kind == "json" else []


def _json(dialect: Dialect, access: Access) -> str:
    """A value as JSON text, NULL for null."""
    match access.kind:
        case "json":
            return access.text
        case "document" | "large":
            return access.value
        case "text" | "number":
            text = dialect.quoted(access.value)
            return f"CASE WHEN {access.value} IS NULL THEN NULL ELSE {text} END"
        case "true" | "false":
            return f"'{access.kind}'"
        case "element":  # The empty text equals no JSON value.
            return f"CASE WHEN {access.value} IS NULL THEN NULL ELSE '' END"
        case "null":
            return "NULL"
        case _:
            assert_never(access.kind)
