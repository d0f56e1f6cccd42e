"""Finds the files, folders, symbols and sections that links and names in a document mean.

A link names its target. A name in a text is a mention only if it can mean just one path, end of a
path, or symbol of the project. An ordinary word is no mention, and neither is a name that every
project has.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from itertools import islice
from typing import Final
from urllib.parse import unquote

import orjson

from mycel.knowledge.code.module_paths import Files, outward
from mycel.knowledge.code.relation_values import CodeLocation, TextRelation, TextTarget
from mycel.knowledge.code.source_facts import FileFacts, Section
from mycel.knowledge.documents.document_reading import WIKILINK
from mycel.knowledge.documents.front_matter import wikilinks_in
from mycel.knowledge.documents.markdown_links import LINKS_MAX
from mycel.knowledge.documents.restructured_text import LABEL
from mycel.knowledge.documents.sections import anchor_of
from mycel.knowledge.documents.text_names import CALLED, SPAN

MENTIONS_MAX: Final = 30
"""The maximum number of mentions of one section."""
_NAME_CHARACTERS_MIN: Final = 3

_ELSEWHERE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_ENDINGS: Final = (
    ".md",
    ".mdx",
    ".rst",
    ".adoc",
    ".txt",
    ".html",
    "/index.md",
    "/README.md",
    "/index.rst",
    "/index.txt",
)
"""The endings that a link between documents may leave out."""
_SHAPED: Final = re.compile(r"_|[a-z0-9][A-Z]|[.]|\(\)$")
"""A pattern for names that cannot be ordinary words."""
_COMMON: Final = frozenset(
    {"Self", "Result", "Option", "String", "Vec", "Box", "Error", "None", "Some", "Ok", "Err",
     "True", "False", "Object", "Array", "Promise", "Any", "List", "Dict", "Exception", "Map",
     "Set", "Type", "Value", "Date", "Number", "Boolean", "Function", "JSON", "HTTP", "URL",
     "self", "main()", "new()", "get()", "set()", "run()", "test()", "init()", "__init__"}
)  # fmt: skip
"""Names that usually mean no symbol of the project, even if a symbol has the name."""


class DocumentRelations:
    """The documents, paths and symbols of a project, indexed for the links of sections."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._anchors = cache(self._find_anchors)

    def relations(self, path: str, facts: FileFacts) -> Iterator[TextRelation]:
        """The links and mentions of the sections of a document, and its properties and tags."""
        for linked in self._linked_by_properties(path, facts):
            yield TextRelation("", "references", linked)
        for section in facts.sections:
            own = TextTarget("section", path, section.slug)
            targets: dict[TextTarget, None] = {}
            for link in section.links:
                target = self._linked(path, link)
                if target is not None and target != own:
                    targets[target] = None
            for target in targets:
                yield TextRelation(section.slug, "references", target)
            for target in self._mentioned(path, facts, section):
                if target not in targets and target != own:
                    yield TextRelation(section.slug, "names", target)
        for tag in facts.tags:
            yield TextRelation("", "tagged", TextTarget("tag", tag))

    # Links.

    def _linked_by_properties(self, path: str, facts: FileFacts) -> Iterable[TextTarget]:
        """The notes that wikilinks in the front matter name, each once."""
        targets: dict[TextTarget, None] = {}
        if WIKILINK in facts.front_matter:
            for link in islice(wikilinks_in(orjson.loads(facts.front_matter)), LINKS_MAX):
                target = self._wiki_target(path, link)
                if target is not None and target != TextTarget("path", path):
                    targets[target] = None
        return targets

    def _linked(self, path: str, link: str) -> TextTarget | None:
        if link.startswith(WIKILINK):
            return self._wiki_target(path, link.removeprefix(WIKILINK))
        if link.startswith(LABEL):
            return self._labels.get(link.removeprefix(LABEL).casefold())
        if _ELSEWHERE.match(link):
            return None
        name, _, anchor = link.partition("#")
        file = path if not name else self.linked_path(path, name)
        if file is None:
            return _missing_file(path, name)
        return self._at(file, unquote(anchor))

    def linked_path(self, path: str, name: str) -> str | None:
        """The file or folder of the project that a relative link leads to."""
        name = unquote(name.partition("?")[0])
        if not name or "\0" in name:
            return None
        folder = posixpath.dirname(path)
        if not name.startswith("/"):
            return self._existing(posixpath.join(folder, name))
        # The path may start at the root of the project, or at that of the site with the document.
        roots = ("", *(root for root in outward(folder, "/") if root))
        places = (self._existing(posixpath.join(root, name.lstrip("/"))) for root in roots)
        return next((place for place in places if place is not None), None)

    def _existing(self, place: str) -> str | None:
        """The file or folder at a path; the link may have left out the ending."""
        place = posixpath.normpath(place)
        if place == ".":
            return None
        if place in self._files.paths or place in self._files.folders:
            return place
        stem = place.removesuffix(".html")
        return next((stem + end for end in _ENDINGS if stem + end in self._files.paths), None)

    def _wiki_target(self, path: str, link: str) -> TextTarget | None:
        """The note that a wikilink names, and perhaps a section of it."""
        name, _, heading = link.partition("#")
        name = name.strip()
        if not name:
            return self._at(path, heading)
        note = self._note(path, name)
        if note is None:
            return TextTarget("missing", name.strip("/")) if name.strip("/.") else None
        return self._at(note, heading)

    def _note(self, path: str, name: str) -> str | None:
        """The file of a note, found by its path, by the end of its path, or by an alias."""
        key = name.removesuffix(".md").strip("/").casefold()
        places = self._notes.get(key) or self._notes.get(posixpath.basename(key), [])
        fitting = [place for place in places if _ends(place, key)]
        if not fitting:
            fitting = list(self._aliases.get(key, ()))
        folder = posixpath.dirname(path)
        # As in vaults: if several match, the one in the same folder wins, then the one with the
        # shortest path.
        fitting.sort(
            key=lambda place: (posixpath.dirname(place) != folder, place.count("/"), place)
        )
        return fitting[0] if fitting else None

    def _at(self, path: str, anchor: str) -> TextTarget | None:
        """The file as a target, or its section with this anchor."""
        if not anchor:
            return TextTarget("path", path)
        anchors = self._anchors(path)
        # A wikilink may name nested headings: A#B#C.
        last = anchor.rpartition("#")[2]
        slug = anchors.get(last) or anchors.get(anchor_of(last))
        return TextTarget("section", path, slug) if slug else TextTarget("path", path)

    def _find_anchors(self, path: str) -> dict[str, str]:
        """The slugs of the sections of a file, by the anchors that links use for them."""
        facts = self._files.facts.get(path)
        anchors: dict[str, str] = {}
        for section in facts.sections if facts is not None else ():
            if section.anchor:
                anchors[section.anchor] = section.slug
        for section in facts.sections if facts is not None else ():
            if "/part-" not in section.slug:
                anchors.setdefault(_unused(anchor_of(section.heading), anchors), section.slug)
        return anchors

    @cached_property
    def _labels(self) -> Mapping[str, TextTarget]:
        """The sections that documents name by a label, if only one section has the label."""
        labels: dict[str, TextTarget | None] = {}
        for path, facts in self._files.facts.items():
            for section in facts.sections:
                if section.anchor:
                    key = section.anchor.casefold()
                    is_new = key not in labels
                    labels[key] = TextTarget("section", path, section.slug) if is_new else None
        return {label: target for label, target in labels.items() if target is not None}

    @cached_property
    def _notes(self) -> Mapping[str, list[str]]:
        """The files of notes by the names that wikilinks use: without the ending of a note."""
        notes: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self._files.paths):
            name = posixpath.basename(path).casefold()
            notes[name.removesuffix(".md")].append(path)
        return notes

    @cached_property
    def _aliases(self) -> Mapping[str, list[str]]:
        aliases: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self._files.facts):
            for alias in self._files.facts[path].aliases:
                aliases[alias.casefold()].append(path)
        return aliases

    # Mentions.

    def _mentioned(self, path: str, facts: FileFacts, section: Section) -> list[TextTarget]:
        targets: dict[TextTarget, None] = {}
        for name in section.names:
            target = self._find_target(path, name)
            if target is not None and target != TextTarget("path", path):
                targets[target] = None
        return list(targets)[:MENTIONS_MAX]

    def _find_target(self, path: str, name: str) -> TextTarget | None:
        """The file or symbol that a name in a text means, if it can mean just one."""
        is_span = name.startswith(SPAN)
        name = name.removeprefix(SPAN)
        if name in _COMMON:
            return None
        place = self._place(path, name)
        if place is not None:
            return TextTarget("path", place)
        is_shaped = _SHAPED.search(name) is not None
        if not is_shaped and not (is_span and name[:1].isupper()):
            return None
        parts = name.removesuffix(CALLED).split(".")
        if len(parts[-1]) < _NAME_CHARACTERS_MIN:
            return None
        symbol = self._symbol(tuple(parts))
        return TextTarget("symbol", *symbol) if symbol is not None else None

    def _place(self, path: str, name: str) -> str | None:
        """The file that a path or file name in a text means; a folder, if the path has a slash."""
        if "/" not in name and "." not in name[1:]:
            return None
        clean = posixpath.normpath(name.rstrip("/"))
        if clean in self._files.paths:
            return clean
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), clean))
        if beside in self._files.paths:
            return beside
        if "/" in name:
            folder = next((p for p in (clean, beside) if p in self._files.folders and p), None)
            if folder is not None and folder != ".":
                return folder
        paths = self._by_name.get(posixpath.basename(clean), ())
        ends = [candidate for candidate in paths if candidate.endswith(f"/{clean}")]
        return ends[0] if len(ends) == 1 else None

    @cached_property
    def _by_name(self) -> Mapping[str, list[str]]:
        paths: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self._files.paths):
            paths[posixpath.basename(path)].append(path)
        return paths

    def _symbol(self, parts: tuple[str, ...]) -> CodeLocation | None:
        """The only symbol outside of tests with this name, or with a path that ends so."""
        places = self._symbols.get(parts[-1], ())
        if len(parts) > 1:
            fitting = [place for place in places if _is_path_of(place, parts)]
        else:
            fitting = [place for place in places if "." not in place.qualified] or list(places)
        return fitting[0] if len(fitting) == 1 else None

    @cached_property
    def _symbols(self) -> Mapping[str, list[CodeLocation]]:
        symbols: defaultdict[str, list[CodeLocation]] = defaultdict(list)
        for path, facts in self._files.facts.items():
            if not facts.is_test:
                for symbol in facts.symbols:
                    symbols[symbol.name].append(CodeLocation(path, symbol.qualified))
        return symbols


def _ends(place: str, key: str) -> bool:
    """True if the path of a file ends with the name of a note."""
    return f"/{place.casefold()}".removesuffix(".md").endswith(f"/{key}")


def _is_path_of(place: CodeLocation, parts: tuple[str, ...]) -> bool:
    """True if the dotted name of a symbol, with its module, ends with these parts."""
    own = place.qualified.split(".")
    if len(parts) <= len(own):
        return tuple(own[-len(parts) :]) == parts
    if tuple(own) != parts[-len(own) :]:
        return False
    # A package may re-export from its modules: `shop.Cart` means `Cart` of shop/cart.py.
    folders = iter(posixpath.splitext(place.path)[0].split("/"))
    return all(part in folders for part in parts[: -len(own)])


def _missing_file(path: str, name: str) -> TextTarget | None:
    """The path of a missing file that a relative link names; None for a page of a site."""
    name = unquote(name.partition("?")[0])
    if name.startswith("/") or not posixpath.splitext(name)[1] or "\0" in name:
        return None
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return TextTarget("missing", place) if not place.startswith("..") else None


def _unused(anchor: str, anchors: Mapping[str, str]) -> str:
    """The anchor of a heading; as on sites, the second heading with a name gets -1 at its end."""
    name, number = anchor, 0
    while name in anchors:
        number += 1
        name = f"{anchor}-{number}"
    return name
