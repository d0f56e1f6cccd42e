"""Commands, the trees they mean, and the canonical way to write them.

Each `cases/*.kip` has a `.tree` and a `.formatted` beside it. `pytest --update-golden` rewrites
those two; what changed is then read as a diff.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from mycel.kip import ast, format, parse  # noqa: A004  The verb of the stage.
from tests.cases import cases

CASES = sorted(Path(__file__).with_name("cases").glob("*.kip"))


def lines(node: Any) -> Iterator[str]:
    """A tree with a line for each node; fields that have their default are left out."""
    match node:
        case ast.Variable(name) | ast.Placeholder(name):
            yield f"{type(node).__name__} {name}"
        case ast.Path(variable, fields):
            yield f"Path {'.'.join((variable.name, *fields))}"
        case ast.Literal(value):
            yield f"Literal {value!r}"
        case tuple():
            for part in node:
                first, *rest = lines(part)
                yield f"- {first}"
                yield from (f"  {line}" for line in rest)
        case _ if dataclasses.is_dataclass(node):
            yield type(node).__name__
            for field in dataclasses.fields(node):
                value = getattr(node, field.name)
                if field.compare and (field.default is MISSING or value != field.default):
                    yield from labelled(field.name, value)
        case _:
            yield repr(node)


def labelled(name: str, value: Any) -> Iterator[str]:
    found = list(lines(value))
    if isinstance(value, tuple):
        yield f"  {name}:"
        yield from (f"    {line}" for line in found)
    else:
        yield f"  {name}: {found[0]}"
        yield from (f"  {line}" for line in found[1:])


def compare(path: Path, actual: str, *, update: bool) -> None:
    if update:
        path.write_text(actual, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == actual


def test_there_are_cases() -> None:
    assert len(CASES) >= 10


@cases("case", CASES)
def test_a_command_means_its_tree(case: Path, update_golden: bool) -> None:
    tree = parse(case.read_text(encoding="utf-8"))
    compare(case.with_suffix(".tree"), "\n".join(lines(tree)) + "\n", update=update_golden)


@cases("case", CASES)
def test_a_command_has_one_canonical_form(case: Path, update_golden: bool) -> None:
    tree = parse(case.read_text(encoding="utf-8"))
    text = format(tree) + "\n"
    compare(case.with_suffix(".formatted"), text, update=update_golden)
    assert parse(text) == tree
    assert format(parse(text)) + "\n" == text
