"""The names of an element: their keys, the segments of its path, the parts of identifiers.

    concept://shop/src/cart.py/Cart.addItem
        segments   shop, src, cart, Cart, addItem
        keys       additem, cartadditem
        parts      add, item

A key is a name without case, spaces, underscores and other marks, which people write differently.
Names with the same key are candidates for a match; `search.name_match` compares them in detail. The
index holds the keys of the last segment, of the last two, of the given name and of the aliases,
each marked with the element's standing, so that definitions are found before members, and members
before tests and generated files. A plain name has no key (`is_plain`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple, TypeGuard
from unicodedata import normalize
from urllib.parse import unquote

from mycel.model.limits import NAME_BYTES_MAX

KEY_CHARACTERS_MAX: Final = 80
"""The maximum length of a key; a longer key is cut."""

ALIASES_MAX: Final = 100
"""The number of aliases of one element that are indexed as names."""

_MARKS: Final = "\ue000\ue001\ue002"
_END: Final = "\ue003"
LINK_KEY: Final = f"\ue004{_END}"
"""The only key of each link that has text."""
ASIDE_KEY: Final = f"\ue005{_END}"
"""The key that all tests and generated files have."""
# Characters of private use make a key a term that no word equals. The last character keeps the
# stemmer from changing the key.

_WORD: Final = re.compile(r"[^\W_]+")
_ASCII_MARKS: Final = {code: None for code in range(128) if not chr(code).isalnum()}
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_PLAIN: Final = re.compile(r"[/.:#\\]|[a-z0-9A-Z][A-Z]")
_QUALIFIED: Final = re.compile(r"[^\s/.:#\\]+(?:(?:[/.#\\]|::?)[^\s/.:#\\]+)+")
_BETWEEN: Final = re.compile(r"[/.:#\\]+")
_INDEX_FILES: Final = frozenset(("__init__", "index", "mod"))
"""Files that represent their folder."""

_TEST_FOLDERS: Final = frozenset({"test", "tests", "__tests__"})
_TEST_NAME: Final = re.compile(
    r"""
      test_\w+\.(?:py|c|cc|cpp|cxx|rb)
    | (?:\w+_tests?|conftest)\.(?:py|go|c|cc|cpp|cxx|rs|rb|dart|exs)
    | .+\.(?:test|spec)\.[cm]?[jt]sx?
    | (?:\w+(?:Tests?|IT|Spec)|Test[A-Z]\w*)\.(?:java|kt|scala|cs|swift|php)
    """,
    re.VERBOSE,
)
_TEST_DATA_FOLDERS: Final = frozenset(
    {"testdata", "test_data", "test-data", "fixtures", "__fixtures__", "__mocks__", "__snapshots__"}
)
_ASIDE_FOLDERS: Final = (
    _TEST_FOLDERS | _TEST_DATA_FOLDERS | {"node_modules", "vendor", "third_party", "generated"}
)
_GENERATED_NAME: Final = re.compile(
    r".+(?:_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|h|cc)|\.min\.(?:js|css)|[._]generated\.\w+|\.g\.dart)"
)


class Standing(IntEnum):
    """The likelihood, in steps, that a name means this element."""

    DEFINITION = 0
    MEMBER = 1
    """Defined inside of another symbol, such as a method."""
    ASIDE = 2
    """In a test or in a generated file."""


class ElementNames(NamedTuple):
    names: tuple[str, ...]
    """The full names: the stored name, and the attribute `name`."""
    aliases: tuple[str, ...]
    titles: tuple[str, ...]
    """The names that are no path; the last segment or file name of a path; the aliases."""
    segments: tuple[str, ...]
    """The segments of its path without suffixes of files; the last segment is its own."""
    pieces: tuple[str, ...]
    """The segments with suffixes, and with files that represent their folder."""
    standing: Standing

    def keys(self) -> set[str]:
        """All keys by which the element is looked up."""
        texts = {*self.titles, self.segments[-1], "".join(self.segments[-2:])}
        keys = set(map(key, texts))
        keys.discard("")
        return keys


def called(name: str, attributes: Mapping[str, Any]) -> ElementNames:
    """The names of a concept, from its name and its attributes `name` and `aliases`."""
    given_name, aliases = attributes.get("name"), attributes.get("aliases")
    names = (name, given_name) if _is_name(given_name) and given_name != name else (name,)
    aliases = _texts(aliases) if aliases else ()
    scheme, is_uri, path = name.partition("://")
    if not is_uri:
        pieces = _divided(name)
        titles = names + aliases
        return ElementNames(names, aliases, titles, pieces, pieces, Standing.DEFINITION)
    if "%" in path:
        path = unquote(path)
    *folders, last = path.rstrip("/").split("/")
    stems = [stem for stem in map(_stem, folders) if stem and stem not in _INDEX_FILES]
    own = [last] if scheme == "file" else [part for part in _BETWEEN.split(last) if part] or [last]
    stems += [_stem(last)] if scheme == "file" else own
    standing = Standing.MEMBER if len(own) > 1 else Standing.DEFINITION
    if standing is Standing.MEMBER and given_name == own[-1]:
        names = (name,)  # The given name is only the last segment of a member's path.
    if _is_aside(folders[1:], last):
        standing = Standing.ASIDE
    titles = tuple(dict.fromkeys((*names[1:], own[-1], *aliases)))
    return ElementNames(names, aliases, titles, tuple(stems), (*folders, *own), standing)


def _texts(aliases: Any) -> tuple[str, ...]:
    values = aliases[:ALIASES_MAX] if isinstance(aliases, list) else (aliases,)
    return tuple(filter(_is_name, values))


def _is_name(value: Any) -> TypeGuard[str]:
    """True for a text that is short enough for a name."""
    return isinstance(value, str) and 0 < len(value) <= NAME_BYTES_MAX


def _divided(name: str) -> tuple[str, ...]:
    """The segments of a qualified name; any other name is one segment."""
    return tuple(_BETWEEN.split(name)) if _QUALIFIED.fullmatch(name) else (name,)


def _stem(file: str) -> str:
    stem, dot, _ = file.rpartition(".")
    return stem if dot and stem else file


def _is_aside(folders: Sequence[str], name: str) -> bool:
    """True for a file that is a test or generated, by its path, and for a symbol in such a file.

    The last of `folders` is the file of a symbol.
    """
    if not _ASIDE_FOLDERS.isdisjoint(map(str.lower, folders)):
        return True
    files = (*folders[-1:], name)
    return any(
        _TEST_NAME.fullmatch(file) or _GENERATED_NAME.fullmatch(file)
        for file in files
        if "." in file
    )


def is_test_path(path: str) -> bool:
    """True if a file at this path is test code, by the conventions of the languages.

    >>> [is_test_path(p) for p in ("a/test_x.py", "x_test.go", "x.spec.ts", "src/contest.py")]
    [True, True, True, False]
    """
    *folders, name = path.split("/")
    if not _TEST_FOLDERS.isdisjoint(map(str.lower, folders)):
        return True
    return _TEST_NAME.fullmatch(name) is not None


def is_plain(name: str, attributes: Mapping[str, Any]) -> bool:
    """True if a concept has a single name without segments and without humps (camelCase).

    It then needs no key, because the graph's own index of names has the name. Most concepts of a
    bulk load have such names, and a key takes FTS5 longer than all other text of a row.
    """
    return not ("name" in attributes or "aliases" in attributes or _NOT_PLAIN.search(name))


def key(name: str) -> str:
    """A name without case, spaces and marks.

    >>> key("Query_set"), key("querySet")
    ('queryset', 'queryset')
    """
    return squeeze(name)[:KEY_CHARACTERS_MAX]


def squeeze(text: str) -> str:
    """The letters and digits of a text, without regard to case."""
    if text.isascii():
        return text.translate(_ASCII_MARKS).lower()
    return "".join(_WORD.findall(normalize("NFC", text))).casefold()


def folded(name: str) -> str:
    """A name without regard to case and white space."""
    return " ".join(normalize("NFC", name).casefold().split())


def parts(name: str) -> list[str]:
    """The words that an identifier or a name is made of.

    >>> parts("HTTPResponse"), parts("get_object_or_404")
    (['http', 'response'], ['get', 'object', 'or', '404'])
    """
    words = _WORD.findall(normalize("NFC", name))
    return [part.casefold() for word in words for part in _HUMP.split(word)]


def with_parts(names: Iterable[str]) -> str:
    """Names as text to index: each unchanged, and split into its parts if it has humps."""
    texts: list[str] = []
    for name in names:
        texts.append(name)
        if _HUMP.search(name):
            texts.append(_HUMP.sub(" ", name))
    return "\n".join(texts)


def segments_asked(question: str) -> tuple[str, ...]:
    """The keys of the segments of a question that is a qualified name or a path.

    >>> segments_asked("urls.reverse"), segments_asked("how to reverse"), segments_asked("Cart")
    (('urls', 'reverse'), (), ('cart',))
    """
    scheme, sign, rest = question.partition("://")
    pieces = _divided((rest if sign else scheme).strip("./"))
    if len(pieces) == 1 and any(map(str.isspace, question)):
        return ()
    return tuple(part for part in map(key, pieces) if part)


def marked_keys(keys: Iterable[str], standing: Standing) -> list[str]:
    """Keys of an element of this standing, in the form of the index."""
    mark = _MARKS[standing]
    return [f"{mark}{key}{_END}" for key in sorted(keys)]


def key_text(keys: Iterable[str], standing: Standing) -> str:
    """Keys as text to index."""
    text = " ".join(marked_keys(keys, standing))
    return f"{text} {ASIDE_KEY}" if standing is Standing.ASIDE else text
