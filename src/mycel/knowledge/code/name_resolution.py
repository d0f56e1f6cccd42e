"""Finds the symbol or module that a dotted name means in a scope of a file.

A name is looked up by the rules of its language: in the functions around it, in the file, among the
imports, and in the package. A dotted name is followed part by part: into a module, through its
re-exports, into a class and its bases. The search ends at a step with no result, or with more than
one.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import dropwhile, islice
from typing import Final, NamedTuple

from mycel.knowledge.code.languages import SYNTAXES
from mycel.knowledge.code.module_paths import Files, Home, Locator, Unit, outward
from mycel.knowledge.code.relation_values import CodeLocation, family
from mycel.knowledge.code.scopes import CLASS_KINDS
from mycel.knowledge.code.source_facts import FileFacts, Import, Symbol

STEPS_MAX: Final = 24
"""The maximum number of steps of one name through re-exports and base classes."""

LOOKUPS_MAX: Final = 400
"""The maximum number of steps of the search for one name, over all of its branches."""

FILE_LOOKUPS_MAX: Final = 5_000
LOOKUPS_PER_NAME: Final = 20
"""The steps for all names of a file: a fixed number, and this many for each name. Projects need 1
to 6."""

INCLUDES_MAX: Final = 400
"""The maximum number of headers that one file of C or C++ includes, directly or not."""

INCLUDE_LINES_MAX: Final = 20_000
"""The maximum number of includes that are followed, in one file and its headers."""

BASES_MAX: Final = 100
"""The maximum number of bases of a class that are followed, direct or not."""

EXPORTS_MAX: Final = 24
"""The maximum number of exports under one name that are followed."""

# Bases without methods of interest: no call leads to them.
_NEUTRAL_BASES: Final = frozenset(
    {"object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol", "typing.Protocol",
     "Enum", "enum.Enum", "NamedTuple", "typing.NamedTuple", "TypedDict", "typing.TypedDict",
     "Exception", "Object"}
)  # fmt: skip
_NO_TARGETS: Final = frozenset({"module", "namespace"})
_C_FAMILY: Final = frozenset({"c", "cpp"})


Meaning = CodeLocation | Unit


class _Offers(NamedTuple):
    """The names that a module passes on, with import and name there; "" is the module itself."""

    names: dict[str, tuple[Import, str]]
    stars: list[Import]


class SymbolNames:
    """The facts of a project, indexed for looking up names."""

    def __init__(self, files: Mapping[str, FileFacts], paths: Collection[str] = ()) -> None:
        self.facts = files
        self.files = Files(files, paths)
        self.symbols: dict[str, dict[str, Symbol]] = {}
        self.locator = cache(self._locator)
        self.bound = cache(self._bound)
        self.definition = cache(self._definition)
        self._locator_of = cache(self._new_locator)
        self._offered = cache(self._offers)
        self._stars = cache(self._star_imports)
        self._exports = cache(self._exported)
        self._includes = cache(self._all_includes)
        self._included = cache(self._direct_includes)
        self._units: dict[tuple[str, int], Unit | None] = {}
        """Units by file and identity of the import: hashing an import would take longer."""
        self._bases: dict[tuple[CodeLocation, str], CodeLocation | None] = {}
        self._open: dict[CodeLocation, bool] = {}
        self._passed: dict[tuple[str, str], Meaning | None] = {}
        self._left = self._left_at_begin = self._left_in_file = 0
        self._unit_names: dict[int, tuple[Unit, dict[str, list[str]]]] = {}
        """The names in a unit, by the identity of the unit's paths, which may be many."""
        self._in_package: defaultdict[tuple[Home, str], list[str]] = defaultdict(list)
        """For each package and name: the files that define the name."""
        for path in sorted(files):
            own = {symbol.qualified: symbol for symbol in files[path].symbols}
            self.symbols[path] = own
            home = self.locator(path).home(path)
            if home is not None:
                for qualified in own:
                    self._in_package[home, qualified].append(path)

    def begin_file(self, facts: FileFacts) -> None:
        """Begin the search for the names of a file."""
        names = len(facts.calls) + len(facts.uses) + len(facts.symbols)
        self._left_in_file = FILE_LOOKUPS_MAX + LOOKUPS_PER_NAME * names
        self._left = self._left_at_begin = 0

    def begin(self) -> None:
        """Begin the search for the next name of the file."""
        self._passed.clear()
        self._left_in_file -= self._left_at_begin - self._left
        self._left = self._left_at_begin = min(LOOKUPS_MAX, self._left_in_file)

    @property
    def is_spent(self) -> bool:
        """True if the file has used up its steps; no further name gets a meaning."""
        return self._left_in_file < self._left_at_begin - self._left

    def target(self, meaning: Meaning | None) -> CodeLocation | None:
        if not isinstance(meaning, CodeLocation):
            return None
        symbol = self.symbols[meaning.path].get(meaning.qualified)
        if symbol is None or symbol.kind in _NO_TARGETS:
            return None
        return self.definition(meaning)

    def is_class(self, path: str, qualified: str) -> bool:
        symbol = self.symbols[path].get(qualified)
        return symbol is not None and symbol.kind in CLASS_KINDS

    def binding_scope(self, path: str, scope: str, name: str) -> str:
        """The innermost scope that decides what a bare name means there; "" is the file.

        For `self`, and in languages whose classes are searched, it is the scope itself.
        """
        if not scope or name in ("self", "super") or self.locator(path).class_members_visible:
            return scope
        symbols, bindings = self.symbols[path], self.bound(path)
        for prefix in outward(scope, "."):
            if prefix and (f"{prefix}.{name}" in symbols or (prefix, name) in bindings):
                return prefix
        return ""

    def base(self, owner: CodeLocation, base: str) -> CodeLocation | None:
        key = (owner, base)
        if key not in self._bases:
            # None during the search: a class may name itself as its base.
            self._bases[key] = None
            code_location = self._bases[key] = self._find_base(owner, base)
            if self.is_over:
                del self._bases[key]
            return code_location
        return self._bases[key]

    def _find_base(self, owner: CodeLocation, base: str) -> CodeLocation | None:
        scope = owner.qualified.rpartition(".")[0]
        meaning = self.follow(owner.path, scope, tuple(base.split(".")))
        if not isinstance(meaning, CodeLocation):
            return None
        symbol = self.symbols[meaning.path].get(meaning.qualified)
        return meaning if symbol is not None and symbol.kind in CLASS_KINDS else None

    # Names.

    def follow(self, path: str, scope: str, parts: tuple[str, ...]) -> Meaning | None:
        """The symbol or module that a dotted name means in a scope of a file."""
        if self.facts[path].language in _C_FAMILY:
            return self._c_name(path, scope, parts)
        longest = self._dotted_import(path, scope, parts)
        if longest is not None:
            meaning, rest = longest
        elif parts[0] == "super":
            meaning, rest = self._above(path, scope, parts)
        else:
            meaning, rest = self._look_up(path, scope, parts[0], 0), parts[1:]
        for name in rest:
            meaning = self.member(meaning, name, 0)
        return meaning

    def _dotted_import(
        self, path: str, scope: str, parts: tuple[str, ...]
    ) -> tuple[Meaning | None, tuple[str, ...]] | None:
        """The module of the longest imported prefix (`import a.b`), and the rest of a name."""
        bindings = self.bound(path)
        for length in range(len(parts) - 1, 1, -1):
            for prefix in outward(scope, "."):
                bound = bindings.get((prefix, ".".join(parts[:length])))
                unit = self.unit(path, bound[0]) if bound is not None else None
                if unit is not None:
                    return unit, parts[length:]
        return None

    def _above(
        self, path: str, scope: str, parts: tuple[str, ...]
    ) -> tuple[Meaning | None, tuple[str, ...]]:
        """The module that `super::super` of Rust means in a scope, and the rest of the name."""
        rest = tuple(dropwhile("super".__eq__, parts))
        levels = len(parts) - len(rest)
        symbols = self.symbols[path]
        modules = [
            prefix
            for prefix in outward(scope, ".")
            if prefix in symbols and symbols[prefix].kind == "module"
        ]
        if levels < len(modules):
            return CodeLocation(path, modules[levels]), rest
        unit: Unit | None = Unit((path,))
        for _ in range(levels - len(modules)):
            root = self.locator(path).root(unit.paths[0], "super") if unit is not None else None
            unit = root if isinstance(root, Unit) else None
        return unit, rest

    def _look_up(self, path: str, scope: str, name: str, steps: int) -> Meaning | None:
        """The symbol or module that a bare name means in a scope of a file."""
        if self._is_spent(steps):
            return None
        symbols, bindings, locator = self.symbols[path], self.bound(path), self.locator(path)
        for prefix in outward(scope, "."):
            symbol = symbols.get(prefix)
            if symbol is not None and symbol.kind in CLASS_KINDS:
                if locator.class_members_visible:
                    member = self.class_member(CodeLocation(path, prefix), name, steps + 1)
                    if member is not None:
                        return member
                    if name[:1].islower() and self.is_open(CodeLocation(path, prefix)):
                        # The name may be a method of an unknown base class. (A class would have a
                        # capital.)
                        return None
                continue
            qualified = f"{prefix}.{name}" if prefix else name
            if qualified in symbols:
                return CodeLocation(path, qualified)
            bound = bindings.get((prefix, name))
            if bound is not None:
                return self._imported(path, *bound, steps + 1)
        if locator.names_are_shared:
            beside = self._beside(path, name)
            if beside:
                return CodeLocation(beside[0], name) if len(beside) == 1 else None
        return self._starred(path, name, steps + 1) or locator.root(path, name)

    def _beside(self, path: str, qualified: str) -> list[str]:
        """Some other files of the package that define a name: none, one or more."""
        homes = self.locator(path).visible(path)
        near = (p for home in homes for p in self._in_package.get((home, qualified), ())[:3])
        return [p for p in near if p != path]

    def _imported(self, path: str, imported: Import, name: str, steps: int) -> Meaning | None:
        """The meaning of an imported name: a member of a module; for "" the module itself."""
        unit = self.unit(path, imported)
        if unit is None:
            locator = self.locator(path)
            return locator.root(path, name) if name and not imported.module else None
        if not name:
            return unit
        if unit.paths == (path,) and not unit.rest and not imported.module:
            # `use a;` of Rust names a module or a crate.
            return self.locator(path).root(path, name)
        meaning = self.member(unit, name, steps + 1)
        if meaning is None and name == "default":
            # A CommonJS module without an export `default` is its own default.
            return unit
        return meaning

    def _starred(self, path: str, name: str, steps: int) -> Meaning | None:
        """The meaning of a bare name from the star imports of a file, if exactly one gives it."""
        meanings: set[Meaning] = set()
        for unit in self._stars(path) if name in self._names_anywhere else ():
            meaning = self.member(unit, name, steps + 1)
            if self.is_over:
                return None
            if isinstance(meaning, CodeLocation) and self._is_exported(meaning):
                meanings.add(meaning)
        return meanings.pop() if len(meanings) == 1 else None

    def _star_imports(self, path: str) -> tuple[Unit, ...]:
        """The modules of the project whose names a file imports with a star."""
        units = (
            self.unit(path, imported)
            for imported in self.facts[path].imports
            if ("*", "*") in imported.names and imported.form != "reexport"
        )
        return tuple(dict.fromkeys(unit for unit in units if unit is not None))

    def _is_exported(self, place: CodeLocation) -> bool:
        symbol = self.symbols[place.path].get(place.qualified)
        return symbol is not None and (
            symbol.exported or self.facts[place.path].language != "python"
        )

    def member(self, meaning: Meaning | None, name: str, steps: int) -> Meaning | None:
        """The meaning of `name` as a member of a symbol or module."""
        if meaning is None or self._is_spent(steps):
            return None
        if isinstance(meaning, CodeLocation):
            symbol = self.symbols[meaning.path].get(meaning.qualified)
            if symbol is not None and symbol.kind in CLASS_KINDS:
                return self.class_member(meaning, name, steps + 1)
            inner = f"{meaning.qualified}.{name}"
            return (
                CodeLocation(meaning.path, inner) if inner in self.symbols[meaning.path] else None
            )
        return self._unit_member(meaning, name, steps)

    def _unit_member(self, unit: Unit, name: str, steps: int) -> Meaning | None:
        if unit.rest:
            inner: Meaning | None = Unit(unit.paths, unit.folder)
            for part in (*unit.rest, name):
                inner = self.member(inner, part, steps + 1)
            return inner
        paths = self.defining(unit, name)
        if paths:
            return CodeLocation(paths[0], name) if len(paths) == 1 else None
        if not unit.paths:
            return self._locator_of("python").submodule(unit, name)
        path = unit.paths[0]
        if path not in self.facts:
            return None
        # Packages of several files have no re-exports.
        passed = self._passed_on(path, name, steps + 1) if len(unit.paths) == 1 else None
        return passed if passed is not None else self.locator(path).submodule(unit, name)

    def defining(self, unit: Unit, name: str) -> Sequence[str]:
        """The files of a module that define a name."""
        if len(unit.paths) == 1:
            return unit.paths if name in self.symbols.get(unit.paths[0], ()) else ()
        key = id(unit.paths)
        if key not in self._unit_names:
            names: dict[str, list[str]] = {}
            for path in unit.paths:
                for symbol in self.symbols.get(path, ()):
                    names.setdefault(symbol, []).append(path)
            self._unit_names[key] = (unit, names)  # The unit is kept so that its id stays unique.
        return self._unit_names[key][1].get(name, ())

    def _passed_on(self, path: str, name: str, steps: int) -> Meaning | None:
        """The meaning of a name that a module re-exports; computed once in a search."""
        key = path, name
        if key not in self._passed:
            # None during the search: modules may import each other.
            self._passed[key] = None
            self._passed[key] = self._pass_on(path, name, steps)
        return self._passed[key]

    def _pass_on(self, path: str, name: str, steps: int) -> Meaning | None:
        exports = self._exports(path)
        for inside in exports.get(name, ()):
            target = self._look_up(path, "", inside, steps + 1)
            if target is not None:
                return target
        for inside in exports.get("default", ()):
            if f"{inside}.{name}" in self.symbols[path]:
                # `module.exports = app` of JavaScript makes the members of `app` members of the
                # module.
                return CodeLocation(path, f"{inside}.{name}")
        offers = self._offered(path)
        direct = offers.names.get(name)
        if direct is not None:
            imported, outer = direct
            if not outer:
                return self.unit(path, imported)
            return self._imported(path, imported, outer, steps + 1)
        everything: set[Meaning] = set()
        for imported in offers.stars if name in self._names_anywhere else ():
            meaning = self.member(self.unit(path, imported), name, steps + 1)
            if self.is_over:
                return None
            if meaning is not None:
                everything.add(meaning)
        return everything.pop() if len(everything) == 1 else None

    def _exported(self, path: str) -> dict[str, list[str]]:
        """For each exported name, the names inside the module that it stands for."""
        exports: dict[str, list[str]] = {}
        for outside, inside in self.facts[path].exports:
            names = exports.setdefault(outside, [])
            if len(names) < EXPORTS_MAX:
                names.append(inside)
        return exports

    def _offers(self, path: str) -> _Offers:
        """The re-exports of a module; if two have one name, the first counts."""
        offers = _Offers({}, [])
        offers_all = self.locator(path).attributes_are_imports
        for imported in self.facts[path].imports:
            if imported.scope or not (offers_all or imported.form in ("reexport", "mod")):
                continue
            for outer, inner in imported.names:
                if inner == "*":
                    offers.stars.append(imported)
                offers.names.setdefault(inner, (imported, outer))
            if imported.alias:
                offers.names.setdefault(imported.alias, (imported, ""))
        return offers

    # Classes.

    def own_class(self, path: str, caller: str) -> CodeLocation | None:
        """The class of the method that is the caller, or that contains the caller."""
        symbols = self.symbols[path]
        for prefix in outward(caller.rpartition(".")[0], "."):
            symbol = symbols.get(prefix)
            if symbol is not None and symbol.kind in CLASS_KINDS:
                return CodeLocation(path, prefix)
        method = symbols.get(caller)
        if method is None or method.kind != "method":
            return None
        # The method is outside of its class: in Go, in `impl` of Rust, or in a C++ definition.
        scope, _, owner = caller.rpartition(".")[0].rpartition(".")
        meaning = self.follow(path, scope, (owner,))
        if isinstance(meaning, CodeLocation):
            return meaning
        # `app.use = function` of JavaScript: `app` is no symbol, but its methods are symbols.
        is_object = family(self.facts[path].language) == "javascript" and owner
        return CodeLocation(path, caller.rpartition(".")[0]) if is_object else None

    def class_member(self, owner: CodeLocation, name: str, steps: int) -> CodeLocation | None:
        qualified = f"{owner.qualified}.{name}"
        if qualified in self.symbols[owner.path]:
            return CodeLocation(owner.path, qualified)
        away = self._written_away(owner, qualified)
        return away or self.inherited(owner, name, steps + 1)

    def _written_away(self, owner: CodeLocation, qualified: str) -> CodeLocation | None:
        """A method in another file than its type: in Go of one package, in Rust of one crate."""
        if not self.locator(owner.path).methods_are_shared:
            return None
        near = self._beside(owner.path, qualified)
        return CodeLocation(near[0], qualified) if len(near) == 1 else None

    def inherited(self, owner: CodeLocation, name: str, steps: int) -> CodeLocation | None:
        """A member from the first base that has it; None if a base before that is not known."""
        if self._is_spent(steps):
            return None
        symbol = self.symbols[owner.path].get(owner.qualified)
        for base in symbol.bases if symbol is not None else ():
            if base in _NEUTRAL_BASES:
                continue
            place = self.base(owner, base)
            if place is None or place == owner:
                return None
            member = self.class_member(place, name, steps + 2)
            if member is not None or self.is_open(place):
                return member
        return None

    def is_open(self, owner: CodeLocation) -> bool:
        """True if a class has a base outside the project, and so may have unknown members."""
        if owner not in self._open:
            is_open = any(place is None for place in self.all_bases(owner))
            if self.is_over:
                return is_open
            self._open[owner] = is_open
        return self._open[owner]

    def all_bases(self, owner: CodeLocation) -> Iterator[CodeLocation | None]:
        """The bases of a class, up to `BASES_MAX`; None for each base outside the project."""
        return islice(self._walk_bases(owner), BASES_MAX)

    def _walk_bases(self, owner: CodeLocation) -> Iterator[CodeLocation | None]:
        queue, visited = [owner], {owner}
        for place in queue:
            symbol = self.symbols[place.path].get(place.qualified)
            for base in symbol.bases if symbol is not None else ():
                code_location = self.base(place, base) if base not in _NEUTRAL_BASES else owner
                yield code_location
                if code_location is not None and code_location not in visited:
                    visited.add(code_location)
                    queue.append(code_location)

    # C and C++.

    def _c_name(self, path: str, scope: str, parts: tuple[str, ...]) -> CodeLocation | None:
        """The meaning of a C or C++ name: from the innermost scope out, in all included files."""
        for prefix in outward(scope, "."):
            qualified = ".".join((prefix, *parts)) if prefix else ".".join(parts)
            file = self._nearest(path, qualified)
            if file is not None:
                return CodeLocation(file, qualified)
            if len(parts) == 1 and prefix:
                holder = self._nearest(path, prefix)
                if holder is not None and self.symbols[holder][prefix].bases:
                    member = self.inherited(CodeLocation(holder, prefix), parts[0], 0)
                    if member is not None:
                        return member
        return None

    def _nearest(self, path: str, qualified: str) -> str | None:
        """The nearest file that defines a name: this file, or one that it includes."""
        places = self._in_package.get((self.locator(path).visible(path)[0], qualified))
        if places is None:
            return None
        files = self._includes(path)
        if len(places) < len(files):
            return min((p for p in places if p in files), key=files.__getitem__, default=None)
        return next((p for p in files if qualified in self.symbols.get(p, ())), None)

    def _all_includes(self, path: str) -> dict[str, int]:
        """This file and all that it includes, directly or not, numbered from the nearest on."""
        order = {path: 0}
        queue, lines = [path], 0
        for current in queue:
            targets = self._included(current)
            lines += len(targets)
            for target in targets:
                if target not in order and len(order) <= INCLUDES_MAX:
                    order[target] = len(order)
                    queue.append(target)
            if lines > INCLUDE_LINES_MAX or len(order) > INCLUDES_MAX:
                break
        return order

    def _direct_includes(self, path: str) -> tuple[str, ...]:
        imports = self.facts[path].imports if path in self.facts else ()
        units = (self.unit(path, imported) for imported in imports)
        return tuple(dict.fromkeys(p for unit in units if unit is not None for p in unit.paths))

    def _definition(self, declaration: CodeLocation) -> CodeLocation:
        """The definition of a symbol that a header declares, if only one including file has one."""
        facts = self.facts[declaration.path]
        if facts.language not in _C_FAMILY or not _is_header(declaration.path):
            return declaration
        home = self.locator(declaration.path).visible(declaration.path)[0]
        paths = [
            path
            for path in self._in_package.get((home, declaration.qualified), ())
            if path != declaration.path
            and not _is_header(path)
            and self.symbols[path][declaration.qualified].kind in ("function", "method")
            and declaration.path in self._includes(path)
        ]
        return CodeLocation(paths[0], declaration.qualified) if len(paths) == 1 else declaration

    # Indexes.

    @cached_property
    def _names_anywhere(self) -> frozenset[str]:
        """All names that any module could offer: a star import cannot bind any other name."""
        names: set[str] = set()
        for facts in self.facts.values():
            names.update(symbol.qualified for symbol in facts.symbols)
            if facts.exports:  # Members of a default export are members of the module.
                names.update(symbol.name for symbol in facts.symbols)
                names.update(outside for outside, _ in facts.exports)
            for imported in facts.imports:
                names.update(inner for _, inner in imported.names)
                names.add(imported.alias)
        for path in self.files.paths:
            names.add(posixpath.basename(path).partition(".")[0])
        names.update(posixpath.basename(folder) for folder in self.files.folders)
        return frozenset(names)

    @property
    def is_over(self) -> bool:
        """True if the search for a name took too many steps: its result is not cached."""
        return self._left < 0

    def _is_spent(self, steps: int) -> bool:
        """Count a step. Returns True if there were too many."""
        self._left -= 1
        return self._left < 0 or steps > STEPS_MAX

    def _locator(self, path: str) -> Locator:
        return self._locator_of(self.facts[path].language)

    def _new_locator(self, language: str) -> Locator:
        syntax = SYNTAXES.get(language)
        return (Locator if syntax is None else syntax.locator)(self.files)

    def unit(self, path: str, imported: Import) -> Unit | None:
        key = (path, id(imported))
        if key not in self._units:
            self._units[key] = self.locator(path).locate(path, imported)
        return self._units[key]

    def _bound(self, path: str) -> dict[tuple[str, str], tuple[Import, str]]:
        """The names that imports bind: (function or "", name), with the import and the name there.

        If two imports bind one name in one scope, the first counts.
        """
        bindings: dict[tuple[str, str], tuple[Import, str]] = {}
        for imported in self.facts[path].imports:
            for outer, inner in imported.names:
                bindings.setdefault((imported.scope, inner), (imported, outer))
            if imported.alias:
                bindings.setdefault((imported.scope, imported.alias), (imported, ""))
            first, dot, _ = imported.alias.partition(".")
            if dot:
                # `import a.b` of Python also binds `a`.
                package = imported._replace(module=first, alias=first)
                bindings.setdefault((imported.scope, first), (package, ""))
        return bindings


def _is_header(path: str) -> bool:
    return posixpath.splitext(path)[1].lower() in (".h", ".hh", ".hpp", ".hxx", ".h++")
