"""Leads from imports to files: the part that the rules of all languages share.

A `Locator` uses only paths, packages and manifests. It returns a `Unit`, the files of a module. It
returns None for a module outside the project, and for a module that two places match equally well.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache
from typing import ClassVar, Final, NamedTuple

from mycel.knowledge.code.source_facts import FileFacts, Import


class Unit(NamedTuple):
    """The files of a module.

    `folder` has the modules inside this one. `rest` are the last parts of the name: symbols in the
    files.
    """

    paths: tuple[str, ...]
    folder: str = ""
    rest: tuple[str, ...] = ()


class Files:
    """The files of a project: facts by path, and further paths without facts."""

    def __init__(self, facts: Mapping[str, FileFacts], paths: Collection[str] = ()) -> None:
        self.facts = facts
        self.paths = frozenset(facts) | frozenset(paths)

    def of(self, languages: Collection[str]) -> list[str]:
        return sorted(path for path, facts in self.facts.items() if facts.language in languages)

    @cached_property
    def folders(self) -> frozenset[str]:
        folders: set[str] = {""}
        for path in self.paths:
            folder = posixpath.dirname(path)
            while folder not in folders:
                folders.add(folder)
                folder = posixpath.dirname(folder)
        return frozenset(folders)

    def manifests(self, language: str) -> dict[str, FileFacts]:
        """The manifests of a kind by folder; if a folder has several, the first with content."""
        by_folder: dict[str, FileFacts] = {}
        for path in self.of((language,)):
            facts = self.facts[path]
            if facts.package or facts.settings:
                by_folder.setdefault(posixpath.dirname(path), facts)
        return by_folder


Home = tuple[str, ...]
"""A package of several files, as a key of a dictionary."""


class Locator:
    """The rules of a language that lead from imports to files. The base class finds nothing."""

    class_members_visible: ClassVar[bool] = False
    """True if a bare name in a method may mean a member of the class."""

    names_are_shared: ClassVar[bool] = False
    """True if a bare name may be defined in another file of the same package."""

    methods_are_shared: ClassVar[bool] = False
    """True if a method may be in another file of the package than its type."""

    attributes_are_imports: ClassVar[bool] = False
    """True if the imported names of a module are its members (Python)."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def locate(self, path: str, imported: Import) -> Unit | None:
        return None

    def submodule(self, unit: Unit, name: str) -> Unit | None:
        return None

    def home(self, path: str) -> Home | None:
        """The package of a file, in languages with packages of several files; None otherwise."""
        return None

    def visible(self, path: str) -> tuple[Home, ...]:
        """The packages whose symbols a file can use without an import."""
        home = self.home(path)
        return (home,) if home is not None else ()

    def root(self, path: str, name: str) -> Unit | None:
        """The module that a name means without an import, such as `crate` of Rust."""
        return None

    def external(self, imported: Import) -> str:
        return imported.module


_SHORT: Final = 200
"""The maximum number of characters of a place whose outer places are cached."""


def outward(place: str, separator: str) -> tuple[str, ...]:
    """A folder or scope and the ones around it, innermost first; "" is the root, or the file.

    >>> outward("a/b", "/"), outward("A.b", ".")
    (('a/b', 'a', ''), ('A.b', 'A', ''))
    """
    # The outer places of a long place take memory proportional to its length squared.
    return _short_outward(place, separator) if len(place) <= _SHORT else _outward(place, separator)


def _outward(place: str, separator: str) -> tuple[str, ...]:
    around = []
    while place:
        around.append(place)
        place = place.rpartition(separator)[0]
    return (*around, "")


_short_outward = lru_cache(4_096)(_outward)


def only_unit(units: list[Unit]) -> Unit | None:
    """The only unit of a list; None if there are none or several."""
    return units[0] if len(set(units)) == 1 else None
