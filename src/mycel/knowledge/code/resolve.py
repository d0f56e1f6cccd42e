"""What the names in facts refer to: from files to edges between files and symbols.

Every edge belongs to the file that it is written in, so `Project.edges` answers for one file at a
time. A name is looked up the way its language does it: in the functions around it, in the file,
among the imports, and where the language has such a thing in the package. A dotted name is followed
part by part: into a module, through what a module passes on, into a class and its bases. When one
step has no answer, or more than one, there is no edge.

The edges of a file change when its own facts change, when a file that it can see changes what is to
be seen of it (`outline`), or when paths come or go. `affected` puts that in one place.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import unquote

from mycel.knowledge.code.extract import CLASS_KINDS
from mycel.knowledge.code.facts import FileFacts, Import, Symbol
from mycel.knowledge.code.places import LOCATORS, Files, Locator, RustLocator, Unit

STEPS_MAX: Final = 24
"""How far a name is followed through modules that pass it on, and through base classes."""

LOOKUPS_MAX: Final = 400
"""How many steps the search for one name may take in all, whichever way it branches."""

INCLUDES_MAX: Final = 400
"""How many headers a file of C or C++ may see."""

# Bases that add no methods which a call could mean instead.
_NEUTRAL_BASES: Final = frozenset(
    {"object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol", "typing.Protocol",
     "Enum", "enum.Enum", "NamedTuple", "typing.NamedTuple", "TypedDict", "typing.TypedDict",
     "Exception", "Object"}
)  # fmt: skip
_NO_TARGETS: Final = frozenset({"module", "namespace"})
_C_FAMILY: Final = frozenset({"c", "cpp"})


class FileEdge(NamedTuple):
    """From a file to another, with the line that says so."""

    source: str
    target: str
    line: int


class Place(NamedTuple):
    """A symbol of the project: its file and its qualified name there."""

    path: str
    qualified: str


class SymbolEdge(NamedTuple):
    """From a symbol to another. A source without a name is the file itself."""

    source: Place
    target: Place
    line: int


@dataclass(frozen=True, slots=True)
class FileEdges:
    """The edges that are written in one file. `tests` are the files that it tests."""

    path: str
    imports: tuple[FileEdge, ...] = ()
    external: tuple[str, ...] = ()
    calls: tuple[SymbolEdge, ...] = ()
    extends: tuple[SymbolEdge, ...] = ()
    tests: tuple[str, ...] = ()
    links: tuple[FileEdge, ...] = ()
    external_links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolved:
    """The edges of a project, file by file and all together."""

    files: Mapping[str, FileEdges] = field(default_factory=dict)

    @property
    def imports(self) -> tuple[FileEdge, ...]:
        return tuple(edge for file in self.files.values() for edge in file.imports)

    @property
    def external(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a file and the name of a module that is not in the project."""
        return tuple((file.path, name) for file in self.files.values() for name in file.external)

    @property
    def calls(self) -> tuple[SymbolEdge, ...]:
        return tuple(edge for file in self.files.values() for edge in file.calls)

    @property
    def extends(self) -> tuple[SymbolEdge, ...]:
        return tuple(edge for file in self.files.values() for edge in file.extends)

    @property
    def tested_by(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a file and a test of it."""
        pairs = ((target, file.path) for file in self.files.values() for target in file.tests)
        return tuple(sorted(pairs))

    @property
    def links(self) -> tuple[FileEdge, ...]:
        return tuple(edge for file in self.files.values() for edge in file.links)


def resolve(files: Mapping[str, FileFacts], paths: Collection[str] = ()) -> Resolved:
    """All edges between these files.

    `paths` are further files of the project, without facts: links and imports may lead to them.
    """
    project = Project(files, paths)
    return Resolved({path: project.edges(path) for path in sorted(files)})


def outline(facts: FileFacts) -> tuple[object, ...]:
    """What other files can see of this one. Edges elsewhere depend on nothing else in it."""
    symbols = tuple((s.qualified, s.kind, s.bases, s.exported) for s in facts.symbols)
    imports = tuple(
        (i.module, i.names, i.level, i.alias, i.form) for i in facts.imports if not i.scope
    )
    rest = (facts.package, facts.exports, facts.settings, facts.is_test)
    return (facts.language, symbols, imports, *rest)


def affected(
    before: Mapping[str, FileFacts], after: Mapping[str, FileFacts], changed: Collection[str]
) -> frozenset[str]:
    """The files whose edges may differ, when the facts of `changed` do.

    `changed` are the paths that were added, removed or written. Files of other languages than
    these are never affected; otherwise what looks the same from outside affects only itself.
    """
    families: set[str] = set()
    for path in changed:
        old, new = before.get(path), after.get(path)
        if old is None or new is None or outline(old) != outline(new):
            families.update(_family(facts.language) for facts in (old, new) if facts is not None)
    own = {path for path in changed if path in after}
    if not families:
        return frozenset(own)
    moved = any((path in before) != (path in after) for path in changed)
    return frozenset(
        own
        | {path for path, facts in after.items() if _family(facts.language) in families}
        # A link may lead to any file.
        | {path for path, facts in after.items() if moved and facts.links}
    )


def _family(language: str) -> str:
    return _FAMILIES.get(language, language)


_FAMILIES: Final = {
    "typescript": "javascript",
    "tsx": "javascript",
    "tsconfig": "javascript",
    "gomod": "go",
    "cargo": "rust",
    "cpp": "c",
}

Meaning = Place | Unit


class _Offers(NamedTuple):
    """What can be had from a module that it has imported itself.

    For a name, the import that brings it and the name there; "" is the module itself.
    """

    names: dict[str, tuple[Import, str]]
    stars: list[Import]


class Project:
    """The facts of a project, indexed for looking up names."""

    def __init__(self, files: Mapping[str, FileFacts], paths: Collection[str] = ()) -> None:
        self._facts = files
        self._files = Files(files, paths)
        self._symbols: dict[str, dict[str, Symbol]] = {}
        self._locators: dict[type[Locator], Locator] = {}
        self._located: dict[str, Locator] = {}
        self._units: dict[tuple[str, int], Unit | None] = {}
        """By the identity of the import: its hash would take longer than what is kept here."""
        self._offers: dict[str, _Offers] = {}
        self._bindings: dict[str, dict[tuple[str, str], tuple[Import, str]]] = {}
        self._included: dict[str, tuple[str, ...]] = {}
        self._bases: dict[tuple[Place, str], Place | None] = {}
        self._open: dict[Place, bool] = {}
        self._left = 0
        self._methods: defaultdict[str, list[str]] = defaultdict(list)
        self._stems: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(files):
            facts = files[path]
            self._symbols[path] = {symbol.qualified: symbol for symbol in facts.symbols}
            if not facts.is_test and facts.language in LOCATORS:
                self._stems[_stem(path)].append(path)
            for symbol in facts.symbols:
                self._methods[symbol.qualified].append(path)

    def edges(self, path: str) -> FileEdges:
        """The edges that are written in this file."""
        facts = self._facts[path]
        if facts.links:
            return self._link_edges(path, facts)
        if facts.language not in LOCATORS:
            return FileEdges(path)
        imports, external = self._import_edges(path, facts)
        return FileEdges(
            path=path,
            imports=imports,
            external=external,
            calls=tuple(self._call_edges(path, facts)),
            extends=tuple(self._extends_edges(path, facts)),
            tests=self._tested(path, facts, imports) if facts.is_test else (),
        )

    # ------------------------------------------------------------------------------ files

    def _import_edges(
        self, path: str, facts: FileFacts
    ) -> tuple[tuple[FileEdge, ...], tuple[str, ...]]:
        targets: dict[str, int] = {}
        external: dict[str, None] = {}
        for imported in facts.imports:
            files = self._imported_files(path, imported)
            if files is None:
                name = self._locator(path).external(imported)
                if name:
                    external[name] = None
                continue
            for target in files:
                if target != path:
                    targets.setdefault(target, imported.line)
        edges = tuple(FileEdge(path, target, line) for target, line in targets.items())
        return edges, tuple(sorted(external))

    def _imported_files(self, path: str, imported: Import) -> tuple[str, ...] | None:
        """The files that an import leads to; None when it leads out of the project."""
        unit = self._unit(path, imported)
        if unit is None:
            return self._crate_file(path, imported)
        locator = self._locator(path)
        if len(unit.paths) > 1 and not imported.names:
            return self._used_files(path, imported.alias, unit)
        if not imported.names or (len(unit.paths) == 1 and not unit.folder):
            return self._through(path, imported, unit)
        found: dict[str, None] = {}
        for name, _ in imported.names:
            inner = locator.submodule(unit, name)
            if inner is not None and not any(name in self._symbols[p] for p in unit.paths):
                found.update(dict.fromkeys(inner.paths))
                continue
            if len(unit.paths) == 1:
                found[unit.paths[0]] = None
                continue
            # A package of several files: the one that has the name.
            top = unit.rest[0] if unit.rest else name
            found.update((p, None) for p in unit.paths if top in self._symbols[p])
        return tuple(found) if found or name == "*" else None

    def _used_files(self, path: str, alias: str, unit: Unit) -> tuple[str, ...]:
        """Of a package of several files those that are used; all, when that cannot be said."""
        facts = self._facts[path]
        names = {c.callee[1] for c in facts.calls if c.callee[0] == alias and len(c.callee) > 1}
        bases = (base.split(".") for symbol in facts.symbols for base in symbol.bases)
        names.update(parts[1] for parts in bases if len(parts) > 1 and parts[0] == alias)
        used = [p for p in unit.paths if not names.isdisjoint(self._symbols[p])]
        return tuple(used) or unit.paths

    def _through(self, path: str, imported: Import, unit: Unit) -> tuple[str, ...]:
        """Rust names modules as it names items: `use a::b` may lead to the file of b."""
        locator = self._locator(path)
        if not isinstance(locator, RustLocator):
            return unit.paths
        found: dict[str, None] = {}
        for name, _ in imported.names:
            inner = locator.submodule(unit, name) if not unit.rest else None
            if inner is None and not imported.module:
                inner = locator.root(path, name)
            found.update(dict.fromkeys((inner or unit).paths))
        return tuple(found) or unit.paths

    def _crate_file(self, path: str, imported: Import) -> tuple[str, ...] | None:
        locator = self._locator(path)
        found = locator.root(path, imported.names[0][0]) if imported.names else None
        return found.paths if found is not None and not imported.module else None

    def _tested(self, path: str, facts: FileFacts, imports: Iterable[FileEdge]) -> tuple[str, ...]:
        """The files that this one tests: what it imports, and what it is named after."""
        found = {edge.target for edge in imports}
        for imported in facts.imports:
            for name, _ in imported.names:
                self._left = LOOKUPS_MAX
                unit = self._unit(path, imported)
                meaning = self._member(unit, name, 0) if unit is not None and name != "*" else None
                if isinstance(meaning, Place):
                    found.add(meaning.path)
        named = self._named_after(path, facts)
        if named is not None:
            found.add(named)
        return tuple(sorted(p for p in found if p in self._facts and not self._facts[p].is_test))

    def _named_after(self, path: str, facts: FileFacts) -> str | None:
        stem = _tested_stem(path)
        if not stem:
            return None
        family = _family(facts.language)
        named = [p for p in self._stems.get(stem, ()) if _family(self._facts[p].language) == family]
        beside = [p for p in named if posixpath.dirname(p) == posixpath.dirname(path)]
        found = beside or named
        return found[0] if len(found) == 1 else None

    def _link_edges(self, path: str, facts: FileFacts) -> FileEdges:
        targets: dict[str, int] = {}
        external: dict[str, None] = {}
        for link in facts.links:
            if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//", link.target):
                external[link.target] = None
                continue
            target = self._linked(path, link.target)
            if target is not None and target != path:
                targets.setdefault(target, link.line)
        edges = tuple(FileEdge(path, target, line) for target, line in targets.items())
        return FileEdges(path, links=edges, external_links=tuple(external))

    def _linked(self, path: str, target: str) -> str | None:
        """The file or folder of the project that a relative link means."""
        name = unquote(re.split(r"[#?]", target, maxsplit=1)[0])
        if not name or "\0" in name:
            return None
        folder = "" if name.startswith("/") else posixpath.dirname(path)
        found = posixpath.normpath(posixpath.join(folder, name.lstrip("/")))
        known = found in self._files.paths or found in self._files.folders
        return found if known and found != "." else None

    # ------------------------------------------------------------------------------ symbols

    def _call_edges(self, path: str, facts: FileFacts) -> Iterator[SymbolEdge]:
        seen: set[tuple[str, Place]] = set()
        for call in facts.calls:
            caller = call.caller or ""
            target = self._callee(path, caller, call.callee)
            if target is None or (caller, target) in seen:
                continue
            seen.add((caller, target))
            if target != Place(path, caller):
                yield SymbolEdge(Place(path, caller), target, call.line)

    def _callee(self, path: str, caller: str, parts: tuple[str, ...]) -> Place | None:
        self._left = LOOKUPS_MAX
        if parts[0] not in ("self", "super"):
            return self._target(self._follow(path, caller, parts))
        owner = self._own_class(path, caller)
        if owner is None or len(parts) != 2:
            return None
        if parts[0] == "super":
            return self._target(self._inherited(owner, parts[1], 0))
        return self._target(self._class_member(owner, parts[1], 0))

    def _target(self, found: Meaning | None) -> Place | None:
        if not isinstance(found, Place):
            return None
        symbol = self._symbols[found.path].get(found.qualified)
        if symbol is None or symbol.kind in _NO_TARGETS:
            return None
        return self._definition(found)

    def _extends_edges(self, path: str, facts: FileFacts) -> Iterator[SymbolEdge]:
        for symbol in facts.symbols:
            source = Place(path, symbol.qualified)
            seen: set[Place] = set()
            for base in symbol.bases:
                self._left = LOOKUPS_MAX
                target = self._base(source, base)
                if target is not None and target != source and target not in seen:
                    seen.add(target)
                    yield SymbolEdge(source, target, symbol.line)

    def _base(self, owner: Place, base: str) -> Place | None:
        key = (owner, base)
        if key not in self._bases:
            # While it is looked for it is unknown: a class may name itself as its base.
            self._bases[key] = None
            self._bases[key] = self._find_base(owner, base)
        return self._bases[key]

    def _find_base(self, owner: Place, base: str) -> Place | None:
        scope = owner.qualified.rpartition(".")[0]
        found = self._follow(owner.path, scope, tuple(base.split(".")))
        if not isinstance(found, Place):
            return None
        symbol = self._symbols[found.path].get(found.qualified)
        return found if symbol is not None and symbol.kind in CLASS_KINDS else None

    # ------------------------------------------------------------------------------ names

    def _follow(self, path: str, scope: str, parts: tuple[str, ...]) -> Meaning | None:
        """What a dotted name means in a place of a file."""
        if self._facts[path].language in _C_FAMILY:
            return self._c_name(path, scope, parts)
        longest = self._dotted_import(path, scope, parts)
        if longest is not None:
            meaning, rest = longest
        else:
            meaning, rest = self._look_up(path, scope, parts[0], 0), parts[1:]
        for name in rest:
            meaning = self._member(meaning, name, 0)
        return meaning

    def _dotted_import(
        self, path: str, scope: str, parts: tuple[str, ...]
    ) -> tuple[Meaning | None, tuple[str, ...]] | None:
        """`import a.b` binds `a`, and `a.b` is reached through it."""
        bindings = self._bound(path)
        for length in range(len(parts) - 1, 1, -1):
            for prefix in _chain(scope):
                bound = bindings.get((prefix, ".".join(parts[:length])))
                unit = self._unit(path, bound[0]) if bound is not None else None
                if unit is not None:
                    return unit, parts[length:]
        return None

    def _look_up(self, path: str, scope: str, name: str, steps: int) -> Meaning | None:
        """What a bare name means in a place of a file."""
        if self._is_spent(steps):
            return None
        symbols, bindings, locator = self._symbols[path], self._bound(path), self._locator(path)
        for prefix in _chain(scope):
            symbol = symbols.get(prefix)
            if symbol is not None and symbol.kind in CLASS_KINDS:
                if locator.class_members_visible:
                    member = self._class_member(Place(path, prefix), name, steps + 1)
                    if member is not None:
                        return member
                    if self._is_open(Place(path, prefix)):
                        # The name may come from a base class that nobody knows here.
                        return None
                continue
            qualified = f"{prefix}.{name}" if prefix else name
            if qualified in symbols:
                return Place(path, qualified)
            bound = bindings.get((prefix, name))
            if bound is not None:
                return self._imported(path, *bound, steps + 1)
        siblings = [p for p in locator.siblings(path) if name in self._symbols[p]]
        if siblings:
            return Place(siblings[0], name) if len(siblings) == 1 else None
        return self._starred(path, name, steps + 1) or locator.root(path, name)

    def _imported(self, path: str, imported: Import, name: str, steps: int) -> Meaning | None:
        """What an import has brought: a member of a module, or ("" for a name) the module."""
        unit = self._unit(path, imported)
        if unit is None:
            locator = self._locator(path)
            return locator.root(path, name) if name and not imported.module else None
        if not name:
            return unit
        if unit.paths == (path,) and not unit.rest and not imported.module:
            # `use a;` of Rust: a module or a crate.
            return self._locator(path).root(path, name)
        found = self._member(unit, name, steps + 1)
        if found is None and name == "default":
            # What CommonJS gives is the module when it exports nothing else by that name.
            return unit
        return found

    def _starred(self, path: str, name: str, steps: int) -> Meaning | None:
        """What a bare name means through the imports of everything; the only one, if any."""
        found: set[Meaning] = set()
        for imported in self._facts[path].imports:
            if ("*", "*") in imported.names and imported.form != "reexport":
                unit = self._unit(path, imported)
                if unit is None and imported.module:
                    continue
                meaning = self._member(unit, name, steps + 1) if unit is not None else None
                if isinstance(meaning, Place) and self._is_exported(meaning):
                    found.add(meaning)
        return found.pop() if len(found) == 1 else None

    def _is_exported(self, place: Place) -> bool:
        symbol = self._symbols[place.path].get(place.qualified)
        return symbol is not None and (
            symbol.exported or self._facts[place.path].language != "python"
        )

    def _member(self, meaning: Meaning | None, name: str, steps: int) -> Meaning | None:
        """What `meaning.name` means."""
        if meaning is None or self._is_spent(steps):
            return None
        if isinstance(meaning, Place):
            symbol = self._symbols[meaning.path].get(meaning.qualified)
            if symbol is not None and symbol.kind in CLASS_KINDS:
                return self._class_member(meaning, name, steps + 1)
            inner = f"{meaning.qualified}.{name}"
            return Place(meaning.path, inner) if inner in self._symbols[meaning.path] else None
        return self._unit_member(meaning, name, steps)

    def _unit_member(self, unit: Unit, name: str, steps: int) -> Meaning | None:
        if unit.rest:
            inner: Meaning | None = Unit(unit.paths, unit.folder)
            for part in (*unit.rest, name):
                inner = self._member(inner, part, steps + 1)
            return inner
        found = [path for path in unit.paths if name in self._symbols.get(path, ())]
        if found:
            return Place(found[0], name) if len(found) == 1 else None
        for path in unit.paths:
            passed = self._passed_on(path, name, steps + 1) if path in self._facts else None
            if passed is not None:
                return passed
        for path in unit.paths[:1]:
            return self._locator(path).submodule(unit, name) if path in self._facts else None
        python = LOCATORS["python"]
        return self._locator_of(python).submodule(unit, name)

    def _passed_on(self, path: str, name: str, steps: int) -> Meaning | None:
        """What a module offers under a name that it has not defined itself."""
        facts, locator = self._facts[path], self._locator(path)
        for outside, inside in facts.exports:
            if outside == name and (inside, steps) != (name, 0):
                found = self._look_up(path, "", inside, steps + 1)
                if found is not None:
                    return found
        offers = self._offered(path, facts, locator)
        direct = offers.names.get(name)
        if direct is not None:
            imported, there = direct
            if not there:
                return self._unit(path, imported)
            return self._imported(path, imported, there, steps + 1)
        everything = {
            meaning
            for imported in offers.stars
            if (meaning := self._member(self._unit(path, imported), name, steps + 1)) is not None
        }
        return everything.pop() if len(everything) == 1 else None

    def _offered(self, path: str, facts: FileFacts, locator: Locator) -> _Offers:
        """What a module passes on of what it imports. Of a name that comes twice, the first."""
        found = self._offers.get(path)
        if found is None:
            found = self._offers[path] = _Offers({}, [])
            for imported in facts.imports:
                if imported.scope or not (
                    locator.attributes_are_imports or imported.form in ("reexport", "mod")
                ):
                    continue
                for there, here in imported.names:
                    if here == "*":
                        found.stars.append(imported)
                    found.names.setdefault(here, (imported, there))
                if imported.alias:
                    found.names.setdefault(imported.alias, (imported, ""))
        return found

    # ------------------------------------------------------------------------------ classes

    def _own_class(self, path: str, caller: str) -> Place | None:
        """The class that the caller is a method of, or is inside a method of."""
        symbols = self._symbols[path]
        for prefix in _chain(caller.rpartition(".")[0]):
            symbol = symbols.get(prefix)
            if symbol is not None and symbol.kind in CLASS_KINDS:
                return Place(path, prefix)
        method = symbols.get(caller)
        if method is None or method.kind != "method":
            return None
        # Written away from its class: methods of Go, `impl` of Rust, definitions of C++.
        scope, _, owner = caller.rpartition(".")[0].rpartition(".")
        found = self._follow(path, scope, (owner,))
        return found if isinstance(found, Place) else None

    def _class_member(self, owner: Place, name: str, steps: int) -> Place | None:
        qualified = f"{owner.qualified}.{name}"
        if qualified in self._symbols[owner.path]:
            return Place(owner.path, qualified)
        away = self._written_away(owner, qualified)
        return away or self._inherited(owner, name, steps + 1)

    def _written_away(self, owner: Place, qualified: str) -> Place | None:
        """A method in another file than its type: Go within a package, Rust within a crate."""
        candidates = self._methods.get(qualified)
        if not candidates:
            return None
        locator = self._locator(owner.path)
        if isinstance(locator, RustLocator):
            crate = locator.crate_of(owner.path)
            near = [
                p
                for p in candidates
                if self._facts[p].language == "rust" and locator.crate_of(p) == crate
            ]
        elif self._facts[owner.path].language == "go":
            siblings = locator.siblings(owner.path)
            near = [p for p in candidates if p in siblings]
        else:
            return None
        return Place(near[0], qualified) if len(near) == 1 else None

    def _inherited(self, owner: Place, name: str, steps: int) -> Place | None:
        """The member of the first base that has it, as far as all bases before it are known."""
        if self._is_spent(steps):
            return None
        symbol = self._symbols[owner.path].get(owner.qualified)
        for base in symbol.bases if symbol is not None else ():
            if base in _NEUTRAL_BASES:
                continue
            place = self._base(owner, base)
            if place is None or place == owner:
                return None
            member = self._class_member(place, name, steps + 2)
            if member is not None or self._is_open(place):
                return member
        return None

    def _is_open(self, owner: Place) -> bool:
        """Whether a class has a base outside the project, so that its members are not all known."""
        if owner not in self._open:
            self._open[owner] = any(place is None for place in self._all_bases(owner))
        return self._open[owner]

    def _all_bases(self, owner: Place) -> Iterator[Place | None]:
        """The bases of a class and theirs; None for one that is not in the project."""
        queue, seen = [owner], {owner}
        for place in queue:
            symbol = self._symbols[place.path].get(place.qualified)
            for base in symbol.bases if symbol is not None else ():
                found = self._base(place, base) if base not in _NEUTRAL_BASES else owner
                yield found
                if found is not None and found not in seen:
                    seen.add(found)
                    queue.append(found)

    # ------------------------------------------------------------------------------ C and C++

    def _c_name(self, path: str, scope: str, parts: tuple[str, ...]) -> Place | None:
        """A name of C or C++: from the innermost scope outwards, in all files that are seen."""
        files = (path, *self._includes(path))
        for prefix in _chain(scope):
            qualified = ".".join((prefix, *parts)) if prefix else ".".join(parts)
            found = [p for p in files if qualified in self._symbols.get(p, ())]
            if found:
                return Place(found[0], qualified)
            if len(parts) == 1 and prefix:
                holder = next((p for p in files if prefix in self._symbols.get(p, ())), None)
                if holder is not None and self._symbols[holder][prefix].bases:
                    member = self._inherited(Place(holder, prefix), parts[0], 0)
                    if member is not None:
                        return member
        return None

    def _includes(self, path: str) -> tuple[str, ...]:
        """All files that this one includes, nearest first."""
        if path not in self._included:
            found: dict[str, None] = {}
            queue = [path]
            for current in queue:
                for imported in self._facts[current].imports if current in self._facts else ():
                    unit = self._unit(current, imported)
                    for target in unit.paths if unit is not None else ():
                        if target != path and target not in found and len(found) < INCLUDES_MAX:
                            found[target] = None
                            queue.append(target)
            self._included[path] = tuple(found)
        return self._included[path]

    def _definition(self, declared: Place) -> Place:
        """The definition of what a header declares, if exactly one file that sees it has one."""
        facts = self._facts[declared.path]
        if facts.language not in _C_FAMILY or not _is_header(declared.path):
            return declared
        found = [
            path
            for path in self._methods.get(declared.qualified, ())
            if path != declared.path
            and self._facts[path].language in _C_FAMILY
            and not _is_header(path)
            and self._symbols[path][declared.qualified].kind in ("function", "method")
            and declared.path in self._includes(path)
        ]
        return Place(found[0], declared.qualified) if len(found) == 1 else declared

    # ------------------------------------------------------------------------------ indexes

    def _is_spent(self, steps: int) -> bool:
        """Whether the search for a name has gone on for too long or leads in circles."""
        self._left -= 1
        return self._left < 0 or steps > STEPS_MAX

    def _locator(self, path: str) -> Locator:
        found = self._located.get(path)
        if found is None:
            kind = LOCATORS.get(self._facts[path].language, Locator)
            found = self._located[path] = self._locator_of(kind)
        return found

    def _locator_of(self, kind: type[Locator]) -> Locator:
        if kind not in self._locators:
            self._locators[kind] = kind(self._files)
        return self._locators[kind]

    def _unit(self, path: str, imported: Import) -> Unit | None:
        key = (path, id(imported))
        if key not in self._units:
            self._units[key] = self._locator(path).locate(path, imported)
        return self._units[key]

    def _bound(self, path: str) -> dict[tuple[str, str], tuple[Import, str]]:
        """What imports bind: (function or "", name) to the import and the name there.

        A name that a place imports twice is the first: the others are for other circumstances.
        """
        if path not in self._bindings:
            found: dict[tuple[str, str], tuple[Import, str]] = {}
            for imported in self._facts[path].imports:
                for there, here in imported.names:
                    found.setdefault((imported.scope, here), (imported, there))
                if imported.alias:
                    found.setdefault((imported.scope, imported.alias), (imported, ""))
                first, dot, _ = imported.alias.partition(".")
                if dot:
                    # `import a.b` of Python binds `a`.
                    package = imported._replace(module=first, alias=first)
                    found.setdefault((imported.scope, first), (package, ""))
            self._bindings[path] = found
        return self._bindings[path]


def _chain(scope: str) -> Iterator[str]:
    """A scope and those around it, innermost first; "" is the file.

    >>> list(_chain("A.b"))
    ['A.b', 'A', '']
    """
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]
    yield ""


def _is_header(path: str) -> bool:
    return posixpath.splitext(path)[1].lower() in (".h", ".hh", ".hpp", ".hxx", ".h++")


def _stem(path: str) -> str:
    name = posixpath.basename(path)
    return name.partition(".")[0]


_TEST_STEM: Final = re.compile(
    r"test_(?P<a>\w+)|(?P<b>\w+?)_tests?|(?P<c>[\w-]+)(?:\.(?:test|spec))|(?P<d>\w+?)(?:Tests?|IT)"
    r"|Test(?P<e>[A-Z]\w*)"
)


def _tested_stem(path: str) -> str:
    """The name that a test is named after; "" for none.

    >>> [_tested_stem(p) for p in ("test_a.py", "a_test.go", "a.test.tsx", "ATest.java", "a.py")]
    ['a', 'a', 'a', 'A', '']
    """
    stem = posixpath.splitext(posixpath.basename(path))[0]
    found = _TEST_STEM.fullmatch(stem)
    return next(filter(None, found.groups()), "") if found is not None else ""
