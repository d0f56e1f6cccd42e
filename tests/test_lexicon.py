"""The words of the code: ARCHITECTURE.md lists them, and this holds what a test can hold."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "src" / "mycel").rglob("*.py"))

# The tree of KIP and the IR use the same nouns for the same things.
SHARED_CLASSES = {frozenset({"mycel.kip.ast", "mycel.ir.query"})}

# Words that say nothing about a value or an act, and the number of locals and parameters that still
# have such a name. Numbers may only become smaller.
LOCALS_LEFT = {
    "both": 7,
    "done": 64,
    "each": 673,
    "every": 6,
    "found": 516,
    "gone": 49,
    "held": 25,
    "kept": 84,
    "listed": 42,
    "made": 105,
    "meant": 27,
    "said": 61,
    "same": 17,
    "shown": 72,
    "taken": 29,
    "told": 60,
    "wanted": 102,
    "whole": 50,
}

# Names that docstrings only make up, to explain something.
NAMES_OF_EXAMPLES = {
    *("Cart", "CartItem", "DesignPattern", "ImportMode", "add_item", "add_type", "cart.price"),
    *("mergeCarts", "new_route", "set_idx", "shop.price"),
    # Of other programs and protocols.
    *("Host", "StrEnum", "clientInfo", "dryRun", "temp.text_KIND"),
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


def known_words(tree: ast.Module) -> Iterator[str]:
    """The identifiers of a module, and the words of its texts except docstrings."""
    docs = {id(node.body[0].value) for node in documented(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.ImportFrom(module=str(name)) | ast.alias(name=name):
                yield from name.split(".")
            case ast.Constant(value=str(text)) if id(node) not in docs:
                yield from re.findall(r"\w+", text)


def documented(tree: ast.Module) -> Iterator[Any]:
    """The nodes that have a docstring."""
    for node in ast.walk(tree):
        is_documented = isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        )
        if is_documented and ast.get_docstring(node) is not None:
            yield node


def test_names_in_docstrings_exist() -> None:
    known = {word for path in MODULES for word in known_words(parse(path))}
    known |= {part for path in MODULES for part in module_name(path).split(".")}
    lost = [
        f"{module_name(path)}: {name}"
        for path in MODULES
        for node in documented(parse(path))
        for name in re.findall(r"`([A-Za-z_][A-Za-z_.]*)(?:\(\))?`", ast.get_docstring(node) or "")
        if name.rpartition(".")[2] not in known and name not in NAMES_OF_EXAMPLES
    ]
    assert lost == []


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
