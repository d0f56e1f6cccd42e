"""Every regular expression of the source takes linear time, on texts that are hostile to it too.

The patterns are found in the syntax trees of the source. Work is counted in steps, not in seconds,
and compared with the work for a text of twice the length.
"""

import ast
import importlib
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

from mycel.knowledge.code.languages import SYNTAXES
from tests.attacks.backtracking import STEPS_MAX, HostileTexts, Steps
from tests.cases import each_case
from tests.source_tree import MODULES, PACKAGE, nodes, parse

LENGTH = 80
FEW_STEPS = 10
"""Steps for each character at this length that need no second look."""
GROWTH_MAX = 3.0
"""A text of twice the length takes two times the steps if they are linear, four if quadratic."""
METHODS = frozenset(("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"))
ANCHORED = frozenset(("match", "fullmatch"))
SLOW = {
    r'"(?:[^"\\]|\\.)*"': "finditer",
    r"\s*\([^)]*\)\s*$": "finditer",
    r"[\d.]+$": "finditer",
    r"/\*.*?\*/": "finditer",
    r"\s*([^<>\n]+?)\s*<([^<>\s]+)>\s*": "fullmatch",
    r"(?:a|a)*b": "match",
    r"(\w+\s*)+:": "match",
    r"```(?:json)?\s*(.*?)```": "finditer",
}
"""Patterns that take more than linear time, each with a method by which it does."""


@pytest.fixture(autouse=True)
def _deep_recursion() -> Iterator[None]:
    """Let the count of steps go as deep as the matcher of `re`, which keeps a stack of its own."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


class SourcePattern(NamedTuple):
    """A pattern in the source, and the methods by which it is used."""

    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def test_no_pattern_of_the_source_can_be_made_slow_by_its_input(seed: int) -> None:
    with each_case() as case:
        for place, pattern, methods in source_patterns():
            with case(place):
                assert slow_text(pattern, methods, 8, seed) is None, pattern.pattern


@pytest.mark.soak
def test_no_pattern_of_the_source_is_slow_on_many_more_texts(seed: int) -> None:
    with each_case() as case:
        for place, pattern, methods in source_patterns():
            with case(place):
                assert slow_text(pattern, methods, 1_000, seed) is None, pattern.pattern


def test_patterns_that_are_slow_are_found(seed: int) -> None:
    with each_case() as case:
        for source, method in SLOW.items():
            with case(source):
                assert slow_text(re.compile(source, re.DOTALL), {method}, 60, seed)


def test_the_steps_of_a_match_end_where_the_match_of_re_ends() -> None:
    text = 'a1 "b\\"c" /* d */ e(f) 12.5 ```x``` <g@h> \n  i: "j"'
    for _, pattern, _ in source_patterns():
        if isinstance(pattern.pattern, str):
            found = pattern.match(text)
            assert Steps(pattern).end(text) == (None if found is None else found.end())


def slow_text(
    pattern: re.Pattern[Any], methods: frozenset[str] | set[str], number: int, seed: int
) -> str | None:
    """A text on which the work grows faster than its length; None if there is none among some."""
    steps = Steps(pattern)
    hostile = HostileTexts(steps, seed)
    used = {method if method in ANCHORED else "finditer" for method in methods}
    for grown in hostile.texts(number):
        text = grown(LENGTH)
        for method in sorted(used):
            work = steps.count(method, text)
            if work > FEW_STEPS * len(text):
                most = min(int(GROWTH_MAX * work), STEPS_MAX)
                if steps.count(method, grown(2 * LENGTH), most) >= most:
                    return f"{method}: {text!r}"
    return None


# The patterns of the source.


@cache
def source_patterns() -> list[SourcePattern]:
    """All patterns of the source."""
    modules = dict(_modules())
    used = _methods_by_name(modules)
    patterns = []
    for name, tree in modules.items():
        calls = [call for call in nodes(tree)[ast.Call] if _is_of_re(call.func)]
        owners = _owners(tree) if calls else {}
        for call in calls:
            assert isinstance(call.func, ast.Attribute)
            path = f"{name.removeprefix('mycel.').replace('.', '/')}.py"
            place = f"{path}:{call.lineno}"
            module = importlib.import_module(name)
            if call.func.attr == "compile":
                owner = owners[call]
                known = vars(module)[owner]
                methods = used[owner if owner[0] != "_" else f"{name}.{owner}"]
                asked = frozenset(methods or {"search"})
                patterns += [SourcePattern(place, each, asked) for each in _patterns_of(known)]
                continue
            methods = {call.func.attr}
            written = _written_pattern(call, module)
            patterns.append(SourcePattern(place, written, frozenset(methods)))
    return patterns


def _patterns_of(known: Any) -> list[re.Pattern[Any]]:
    """A pattern, or those that a function makes: with a parameter, one for each language."""
    if isinstance(known, re.Pattern):
        return [known]
    if not inspect.signature(known).parameters:
        return [known()]
    return [known(syntax.prose) for syntax in SYNTAXES.values()]


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in MODULES:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        yield name, parse(path)


def _is_of_re(node: ast.expr) -> bool:
    """True for `re.compile` and the functions of `re` that take a pattern."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "re"
        and node.attr in METHODS | {"compile"}
    )


def _methods_by_name(modules: dict[str, ast.Module]) -> defaultdict[str, set[str]]:
    """The methods that are used of each name; a private one has its module in front."""
    used: defaultdict[str, set[str]] = defaultdict(set)
    for module, tree in modules.items():
        for node in nodes(tree)[ast.Attribute]:
            if node.attr in METHODS:
                owner = node.value.func if isinstance(node.value, ast.Call) else node.value
                name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
                used[f"{module}.{name}" if name.startswith("_") else name].add(node.attr)
    return used


def _written_pattern(call: ast.Call, module: Any) -> re.Pattern[Any]:
    """The pattern that stands in the call of a function such as `re.sub`.

    Raises:
        NameError: it is made from something that only its function knows.
    """
    values = vars(module)
    arguments = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    flags = [each for each in arguments if "re." in ast.unparse(each)]
    combined = re.RegexFlag(0)
    for each in flags:
        combined |= eval(ast.unparse(each), values)
    return re.compile(eval(ast.unparse(call.args[0]), values), combined)


def _owners(tree: ast.Module) -> dict[ast.AST, str]:
    """The name that a pattern is assigned to, or the function that makes it."""
    owners: dict[ast.AST, str] = {}
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name):
                owners |= dict.fromkeys(ast.walk(node), name)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                owners |= dict.fromkeys(ast.walk(value), ast.unparse(target))
            case ast.Assign(targets=[target], value=value):
                owners |= dict.fromkeys(ast.walk(value), ast.unparse(target))
    return owners
