"""The words of the code: ARCHITECTURE.md lists them, and this holds what a test can hold."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "src" / "mycel").rglob("*.py"))

# The tree of KIP and the IR use the same nouns for the same things.
SHARED_CLASSES = {frozenset({"mycel.kip.ast", "mycel.ir.query"})}

# Words that say nothing about a value or an act, and the number of locals and parameters that still
# have such a name. Numbers may only become smaller.
LOCALS_LEFT = {
    "both": 7,
    "done": 64,
    "each": 750,
    "every": 6,
    "found": 543,
    "gone": 49,
    "held": 25,
    "kept": 85,
    "listed": 42,
    "made": 118,
    "meant": 27,
    "said": 63,
    "same": 17,
    "shown": 72,
    "taken": 29,
    "told": 60,
    "wanted": 102,
    "whole": 50,
}


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def stored_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_no_public_class_has_two_definitions() -> None:
    homes = defaultdict(set)
    for path in MODULES:
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(module_name(path))
    doubled = {
        name: sorted(modules)
        for name, modules in homes.items()
        if len(modules) > 1 and frozenset(modules) not in SHARED_CLASSES
    }
    assert doubled == {}


def test_no_function_is_named_by_a_word_that_says_nothing() -> None:
    named = [
        f"{module_name(path)}:{function.lineno}: {function.name}"
        for path in MODULES
        for function in functions(parse(path))
        if function.name.strip("_") in LOCALS_LEFT
    ]
    assert named == []


def test_locals_with_words_that_say_nothing_become_fewer() -> None:
    counts = Counter(name for path in MODULES for name in stored_names(parse(path)))
    more = {word: counts[word] for word, most in LOCALS_LEFT.items() if counts[word] > most}
    assert more == {}


def test_the_glossary_names_each_word_once() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    glossary = text.partition("## Glossary")[2].partition("\n## ")[0]
    words = [
        word.strip()
        for row in re.findall(r"^\| ([^|]+) \|", glossary, re.MULTILINE)[1:]
        for word in row.split(",")
    ]
    assert len(words) >= 40
    assert [word for word, count in Counter(words).items() if count > 1] == []
