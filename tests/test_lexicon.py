"""The words of the code: ARCHITECTURE.md lists them, and this holds what a test can hold."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.source_tree import MODULES, ROOT, nodes, parse

# The tree of KIP and the IR use the same nouns for the same things.
SHARED_CLASSES = {frozenset({"mycel.kip.ast", "mycel.ir.query"})}

# Words that say nothing about a value or an act, and the number of names that are such a word.
# Those that are left are public: `Hit.found`, `StepReport.found`, `.done`, the `done` of a progress
# report, `Summary.kept`, and `shown`, a parameter of the HTTP API. Numbers may only become smaller.
LOCALS_LEFT = {
    "both": 0,
    "done": 2,
    "each": 0,
    "every": 0,
    "found": 2,
    "gone": 0,
    "held": 0,
    "kept": 1,
    "listed": 0,
    "made": 0,
    "meant": 0,
    "named": 0,
    "said": 0,
    "same": 0,
    "shown": 1,
    "taken": 0,
    "told": 0,
    "wanted": 0,
    "whole": 0,
}

# Words that say little about a value, and the number of locals and parameters that are such a word.
# Numbers may only become smaller.
VAGUE_LOCALS = {
    "asked": 16,
    "declared": 51,
    "fresh": 20,
    "given": 4,
    "here": 32,
    "how": 3,
    "known": 6,
    "settled": 2,
    "there": 11,
    "what": 9,
    "which": 7,
}

# Words that leave the subject of a sentence open, and the number of docstrings with one.
LOOSE_WORDS = re.compile(
    r"\b(?:what|who|where)ever\b|\bone's own\b|\b(?:returns|says) whether\b", re.IGNORECASE
)
LOOSE_DOCSTRINGS_LEFT = 10

# Entries below `Raises:` whose subject is a pronoun, and their number.
PRONOUN_OF_ERROR = re.compile(
    r"^ +[A-Z][\w.]*(?:, [A-Z][\w.]*)*: (?:it|they|there is none)\b", re.MULTILINE
)
PRONOUNS_OF_ERRORS_LEFT = 13

# A question in place of a noun at the beginning, and phrases that need a second reading.
RIDDLES = re.compile(
    r"\A(What|Whether|Which|How|Why|Where) |\bby way of\b|\b(is|are) not there\b"
    r"|\bmakes? no sense\b|\b(what|who) goes with\b|\banew\b"
)

# The word inside is `link`. Each of its other names belongs to the packages of one door.
DOORS = {
    "edge": {
        *("api", "cli", "engine", "errors", "history", "merkle", "migration", "model"),
        *("schema", "store", "transfer"),
    },
    "proposition": {"engine", "kip", "model", "store"},
    "relation": {
        *("api", "cli", "explorer", "graph", "hooks", "imports", "knowledge", "mcp"),
        "mirror",
    },
}

# Names that docstrings only make up, to explain something.
NAMES_OF_EXAMPLES = {
    *("Cart", "CartItem", "DesignPattern", "ImportMode", "add_item", "add_type", "cart.price"),
    *("mergeCarts", "new_route", "set_idx", "shop.price"),
    # Of other programs and protocols.
    *("Host", "StrEnum", "clientInfo", "dryRun", "temp.text_KIND"),
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return nodes(parse(path))[ast.FunctionDef] + nodes(parse(path))[ast.AsyncFunctionDef]


def stored_names(path: Path) -> Iterator[str]:
    yield from (name.id for name in nodes(parse(path))[ast.Name] if isinstance(name.ctx, ast.Store))
    yield from (parameter.arg for parameter in nodes(parse(path))[ast.arg])


NAMING = (ast.Name, ast.Attribute, ast.arg, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NAMING += (ast.keyword, ast.ImportFrom, ast.alias, ast.Constant)


def known_words(path: Path) -> Iterator[str]:
    """The identifiers of a module, and the words of its texts except docstrings."""
    docs = {id(constant) for constant in docstrings(path)}
    for node in (node for kind in NAMING for node in nodes(parse(path))[kind]):
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


def docstrings(path: Path) -> Iterator[ast.Constant]:
    """The docstrings of a module, its classes and its functions."""
    for node in [parse(path), *nodes(parse(path))[ast.ClassDef], *functions(path)]:
        match node.body[:1]:
            case [ast.Expr(value=ast.Constant(value=str()) as text)]:
                yield text


def test_names_in_docstrings_exist() -> None:
    known = {word for path in MODULES for word in known_words(path)}
    known |= {part for path in MODULES for part in module_name(path).split(".")}
    lost = [
        f"{module_name(path)}: {name}"
        for path in MODULES
        for text in docstrings(path)
        for name in re.findall(r"`([A-Za-z_][A-Za-z_.]*)(?:\(\))?`", str(text.value))
        if name.rpartition(".")[2] not in known and name not in NAMES_OF_EXAMPLES
    ]
    assert lost == []


def test_docstrings_begin_with_their_thing_and_hold_no_riddle() -> None:
    """A docstring begins with its noun or verb. Phrases that readers stumbled over stay away."""
    riddles = [
        f"{module_name(path)}:{text.lineno}: {phrase[0]}"
        for path in MODULES
        for text in docstrings(path)
        if (phrase := RIDDLES.search(str(text.value)))
    ]
    assert riddles == []


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
        for function in functions(path)
        if function.name.strip("_") in LOCALS_LEFT
    ]
    assert named == []


def test_locals_with_words_that_say_nothing_become_fewer() -> None:
    counts = Counter(name for path in MODULES for name in stored_names(path))
    allowed = LOCALS_LEFT | VAGUE_LOCALS
    more = {word: counts[word] for word, most in allowed.items() if counts[word] > most}
    assert more == {}


def test_docstrings_name_their_subjects() -> None:
    texts = [str(text.value) for path in MODULES for text in docstrings(path)]
    loose = [text for text in texts if LOOSE_WORDS.search(text)]
    assert len(loose) <= LOOSE_DOCSTRINGS_LEFT, loose
    pronouns = [match[0] for text in texts for match in PRONOUN_OF_ERROR.finditer(text)]
    assert len(pronouns) <= PRONOUNS_OF_ERRORS_LEFT, pronouns


def test_a_link_has_another_name_only_at_the_doors_that_use_it() -> None:
    elsewhere = [
        f"{module_name(path)}: {name}"
        for path in MODULES
        for name in {*stored_names(path), *(function.name for function in functions(path))}
        for word, packages in DOORS.items()
        if re.search(rf"(^|_){word}s?(_|$)", name.lower())
        and module_name(path).split(".")[1] not in packages
    ]
    assert elsewhere == []


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
