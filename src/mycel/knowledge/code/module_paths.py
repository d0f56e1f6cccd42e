"""From imports to files, by the rules of each language.

A `Locator` uses only paths, packages and manifests. It returns a `Unit`, the files of a module, or
None for a module outside the project, or one that two places match equally well.
"""

from __future__ import annotations

import posixpath
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache, cached_property, lru_cache
from typing import ClassVar, Final, NamedTuple

from mycel.knowledge.code.source_facts import FileFacts, Import


class Unit(NamedTuple):
    """The files of a module.

    `folder` holds the modules inside it; `rest` are the parts of the name that are symbols in the
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
        found: set[str] = {""}
        for path in self.paths:
            folder = posixpath.dirname(path)
            while folder not in found:
                found.add(folder)
                folder = posixpath.dirname(folder)
        return frozenset(found)

    def manifests(self, language: str) -> dict[str, FileFacts]:
        """The manifests of a kind by folder; of several in one, the first with content."""
        found: dict[str, FileFacts] = {}
        for path in self.of((language,)):
            facts = self.facts[path]
            if facts.package or facts.settings:
                found.setdefault(posixpath.dirname(path), facts)
        return found


Home = tuple[str, ...]
"""A package of several files, as a key."""


class Locator:
    """The rules of a language. The base class finds nothing."""

    class_members_visible: ClassVar[bool] = False
    """True if a bare name in a method may be a member of the class."""

    names_are_shared: ClassVar[bool] = False
    """True if a bare name may be defined in another file of the package."""

    methods_are_shared: ClassVar[bool] = False
    """True if a method may be written in another file of the package than its type."""

    attributes_are_imports: ClassVar[bool] = False
    """True if the imports of a module are its members (Python)."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def locate(self, path: str, imported: Import) -> Unit | None:
        return None

    def submodule(self, unit: Unit, name: str) -> Unit | None:
        return None

    def home(self, path: str) -> Home | None:
        """The package of a file, if the language knows packages of several files."""
        return None

    def visible(self, path: str) -> tuple[Home, ...]:
        """The packages whose symbols a file sees without an import."""
        home = self.home(path)
        return (home,) if home is not None else ()

    def root(self, path: str, name: str) -> Unit | None:
        """The module of a name at the head of a path, without an import (`crate` of Rust)."""
        return None

    def external(self, imported: Import) -> str:
        return imported.module


class PythonLocator(Locator):
    """Packages from every folder that is the root of one, from `src`, and from beside the file."""

    attributes_are_imports = True
    _ROOTS: ClassVar = ("", "src", "lib", "python")

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._paths = frozenset(files.of(("python",)))
        self._modules = self._find_modules()
        self._folders = Files({path: files.facts[path] for path in self._paths}).folders
        self._located = cache(self._absolute)
        self._anywhere = cache(self._in_any_root)
        self._roots = self._find_roots()
        self._roots_with = self._find_tops()

    def _find_modules(self) -> dict[str, str]:
        """The file of each module by its path without an ending. A package comes first."""
        found: dict[str, str] = {}
        for ending in (".pyi", ".py", "/__init__.py"):
            for path in self._paths:
                if f"/{path}".endswith(ending):
                    found[f"/{path}".removesuffix(ending)[1:]] = path
        return found

    def _find_roots(self) -> frozenset[str]:
        roots = set(self._ROOTS)
        for path in self._paths:
            if posixpath.basename(path) == "__init__.py":
                above = posixpath.dirname(posixpath.dirname(path))
                if f"{above}/__init__.py".lstrip("/") not in self._paths:
                    roots.add(above)
        return frozenset(roots)

    def _find_tops(self) -> dict[str, list[str]]:
        """The roots that hold a module or folder, by its name."""
        found: dict[str, list[str]] = {}
        for place in sorted({*self._modules, *self._folders}):
            root, name = posixpath.split(place)
            if root in self._roots:
                found.setdefault(name, []).append(root)
        return found

    def locate(self, path: str, imported: Import) -> Unit | None:
        folder = posixpath.dirname(path)
        if imported.level:
            for _ in range(imported.level - 1):
                if not folder:
                    return None
                folder = posixpath.dirname(folder)
            return self._at(posixpath.join(folder, *imported.module.split(".")).rstrip("/"))
        return self._located(folder, imported.module)

    def _absolute(self, folder: str, module: str) -> Unit | None:
        name = module.replace(".", "/")
        # Beside a script, as Python does, then in the roots around the file.
        if f"{folder}/__init__.py".lstrip("/") not in self._paths:
            beside = self._at(posixpath.join(folder, name), need_file=True)
            if beside is not None:
                return beside
        for root in outward(folder, "/"):
            is_root = root in self._roots
            unit = self._at(posixpath.join(root, name), need_file=True) if is_root else None
            if unit is not None:
                return unit
        return self._anywhere(module)

    def _in_any_root(self, module: str) -> Unit | None:
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names:
            return None
        name = module.replace(".", "/")
        others = [self._at(posixpath.join(root, name)) for root in self._roots_with.get(top, ())]
        hits = [other for other in others if other is not None]
        with_files = [hit for hit in hits if hit.paths]
        return _only(with_files) if with_files else _only(hits)

    def _at(self, base: str, *, need_file: bool = False) -> Unit | None:
        file = self._modules.get(base)
        if file is not None:
            return Unit((file,), base)
        # A package without `__init__` holds only its modules.
        return Unit((), base) if base in self._folders and not need_file and base else None

    def submodule(self, unit: Unit, name: str) -> Unit | None:
        if not unit.folder or (unit.paths and not unit.paths[0].endswith("/__init__.py")):
            return self._at(name) if unit.paths == ("__init__.py",) else None
        return self._at(f"{unit.folder}/{name}")

    def external(self, imported: Import) -> str:
        return imported.module.partition(".")[0] if not imported.level else ""


class JavaScriptLocator(Locator):
    """Relative paths with the usual endings and index files; simple `paths` of tsconfig.json."""

    _ENDINGS: ClassVar = tuple(
        "ts tsx d.ts js jsx mjs cjs mts cts json vue svelte".split()  # noqa: SIM905
    )
    _COMPILED: ClassVar = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",)}

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._configurations = files.manifests("tsconfig")

    def locate(self, path: str, imported: Import) -> Unit | None:
        module, folder = imported.module, posixpath.dirname(path)
        if module.startswith("."):
            return self._file(posixpath.join(folder, module))
        for around in outward(folder, "/"):
            configuration = self._configurations.get(around)
            if configuration is not None:
                return self._mapped(around, configuration, module)
        return None

    def _mapped(self, folder: str, configuration: FileFacts, module: str) -> Unit | None:
        settings = dict(configuration.settings)
        base = posixpath.join(folder, settings.pop("baseUrl", "."))
        for key, target in settings.items():
            pattern = key.removeprefix("paths:")
            if pattern == module:
                return self._file(posixpath.join(base, target))
            if pattern.endswith("*") and module.startswith(pattern[:-1]):
                rest = module[len(pattern) - 1 :]
                return self._file(posixpath.join(base, target.removesuffix("*") + rest))
        has_base = any(name == "baseUrl" for name, _ in configuration.settings)
        return self._file(posixpath.join(base, module)) if has_base else None

    def _file(self, path: str) -> Unit | None:
        path = posixpath.normpath(path)
        if path.startswith(".."):
            return None
        path = "" if path == "." else path
        stem, ending = posixpath.splitext(path)
        candidates = [path, *(stem + other for other in self._COMPILED.get(ending, ()))]
        candidates += [f"{path}.{other}" for other in self._ENDINGS]
        candidates += [posixpath.join(path, f"index.{other}") for other in self._ENDINGS]
        found = next((file for file in candidates if file in self.files.paths), None)
        return Unit((found,)) if found is not None else None

    def external(self, imported: Import) -> str:
        parts = imported.module.split("/")
        if imported.module.startswith("."):
            return ""
        return "/".join(parts[:2]) if parts[0].startswith("@") else parts[0]


class GoLocator(Locator):
    """Folders are packages; go.mod gives their import paths."""

    names_are_shared = True
    methods_are_shared = True

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._modules: defaultdict[str, list[str]] = defaultdict(list)
        for folder, manifest in files.manifests("gomod").items():
            self._modules[manifest.package].append(folder)
        by_folder: defaultdict[str, list[str]] = defaultdict(list)
        for path in files.of(("go",)):
            if not path.endswith("_test.go"):
                by_folder[posixpath.dirname(path)].append(path)
        self._units = {folder: Unit(tuple(p), folder) for folder, p in by_folder.items()}

    def locate(self, path: str, imported: Import) -> Unit | None:
        places = sorted(
            (folder, posixpath.join(folder, imported.module[len(name) + 1 :]).rstrip("/"))
            for name in outward(imported.module, "/")
            for folder in self._modules.get(name, ())
            if name
        )
        return next((self._units[place] for _, place in places if place in self._units), None)

    def home(self, path: str) -> Home:
        kind = "test" if path.endswith("_test.go") else ""
        return posixpath.dirname(path), self.files.facts[path].package, kind

    def visible(self, path: str) -> tuple[Home, ...]:
        folder, package, kind = home = self.home(path)
        return (home, (folder, package, "")) if kind else (home,)


class JavaLocator(Locator):
    """Packages are those that the files declare."""

    class_members_visible = True
    names_are_shared = True

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        packages: defaultdict[str, list[str]] = defaultdict(list)
        for path in files.of(("java",)):
            packages[files.facts[path].package].append(path)
        self._packages = {package: tuple(paths) for package, paths in packages.items()}

    def locate(self, path: str, imported: Import) -> Unit | None:
        parts = imported.module.split(".")
        for length in range(len(parts), 0, -1):
            package = ".".join(parts[:length])
            if package in self._packages:
                rest = tuple(parts[length:])
                return Unit(self._packages[package], rest=rest)
        return None

    def home(self, path: str) -> Home:
        return (self.files.facts[path].package,)


class RustLocator(Locator):
    """The tree of modules, from the roots of crates down."""

    methods_are_shared = True
    _OWN_ROOTS: ClassVar = ("src/bin", "tests", "examples", "benches")

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._paths = frozenset(files.of(("rust",)))
        self._names = cache(self._own_names)
        self._child_path = cache(self._find_child)
        self._crates: dict[str, str] = {}
        for folder, manifest in files.manifests("cargo").items():
            names = (dict(manifest.settings).get("lib", ""), manifest.package)
            for name in filter(None, names):
                self._crates.setdefault(name.replace("-", "_"), folder)

    def locate(self, path: str, imported: Import) -> Unit | None:
        if imported.form == "mod":
            # The file of a module inside an inline module is one folder deeper: not supported.
            return self._child(path, imported.module) if not imported.scope else None
        parts = tuple(imported.module.split("::")) if imported.module else ()
        parts = tuple(part for part in parts if part)
        if not parts:
            # `use a;` names the module itself.
            return Unit((path,))
        inner = len(imported.scope.split(".")) if imported.scope else 0
        while parts[:1] == ("super",) and inner:
            # `super` of a module inside a file is the file.
            parts, inner = parts[1:] or ("self",), inner - 1
            if not inner and parts == ("self",):
                return Unit((path,))
        return self.descend(path, parts)

    def descend(self, path: str, parts: tuple[str, ...]) -> Unit | None:
        """The file at the end of a path of names, as far as they are modules."""
        file: str | None = path
        first, rest = parts[0], parts[1:]
        match first:
            case "crate":
                file = self._root(path)
            case "self":
                pass
            case "super":
                file = self._parent(path)
            case _:
                start = self._child(path, first)
                start = start or self._crate(first)
                if start is None:
                    return Unit((path,), rest=parts) if first in self._names(path) else None
                file = start.paths[0]
        while file is not None and rest:
            below = self._parent(file) if rest[0] == "super" else self._child_path(file, rest[0])
            if below is None:
                break
            file, rest = below, rest[1:]
        return Unit((file,), rest=rest) if file is not None else None

    def root(self, path: str, name: str) -> Unit | None:
        if name in ("crate", "super"):
            return self.descend(path, (name,))
        return self._child(path, name) or self._crate(name)

    def submodule(self, unit: Unit, name: str) -> Unit | None:
        return self._child(unit.paths[0], name) if unit.paths else None

    def home(self, path: str) -> Home:
        return (self._root(path) or path,)

    def external(self, imported: Import) -> str:
        first = (imported.module or imported.names[0][0]).partition("::")[0]
        return "" if first in ("crate", "self", "super") or imported.form == "mod" else first

    def _own_names(self, path: str) -> frozenset[str]:
        """The names that a file defines or imports."""
        facts = self.files.facts[path]
        imported = (here for each in facts.imports for _, here in each.names)
        return frozenset((*(symbol.qualified for symbol in facts.symbols), *imported))

    def _crate(self, name: str) -> Unit | None:
        folder = self._crates.get(name)
        if folder is None:
            return None
        library = posixpath.join(folder, "src/lib.rs")
        return Unit((library,)) if library in self._paths else None

    def _is_root(self, path: str) -> bool:
        folder, name = posixpath.split(path)
        if name in ("lib.rs", "main.rs", "build.rs"):
            return True
        return any(folder == own or folder.endswith("/" + own) for own in self._OWN_ROOTS)

    def _root(self, path: str) -> str | None:
        seen = 0
        file: str | None = path
        while file is not None and not self._is_root(file) and seen < 64:
            file, seen = self._parent(file), seen + 1
        return file

    def _folder(self, path: str) -> str:
        """The folder of the modules inside this one."""
        folder, name = posixpath.split(path)
        if self._is_root(path) or name == "mod.rs":
            return folder
        return posixpath.join(folder, name.removesuffix(".rs"))

    def _find_child(self, path: str, name: str) -> str | None:
        base = posixpath.join(self._folder(path), name)
        return next((p for p in (f"{base}.rs", f"{base}/mod.rs") if p in self._paths), None)

    def _child(self, path: str, name: str) -> Unit | None:
        found = self._child_path(path, name)
        return Unit((found,)) if found is not None and found != path else None

    def _parent(self, path: str) -> str | None:
        folder, name = posixpath.split(path)
        if name == "mod.rs":
            folder = posixpath.dirname(folder)
        above = (f"{folder}/mod.rs", f"{folder}/lib.rs", f"{folder}/main.rs", f"{folder}.rs")
        for candidate in above:
            if candidate.lstrip("/") in self._paths and candidate.lstrip("/") != path:
                return candidate.lstrip("/")
        return None


class CLocator(Locator):
    """Includes: beside the file, in an include folder, or the only path with that end."""

    class_members_visible = True
    _INCLUDE_FOLDERS: ClassVar = ("", "include", "src", "inc")

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._with_end = cache(self._only_with_end)
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(files.paths):
            self._by_name[posixpath.basename(path)].append(path)

    def locate(self, path: str, imported: Import) -> Unit | None:
        module = posixpath.normpath(imported.module)
        is_system = imported.form == "system"
        if not is_system:
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), imported.module))
            if beside in self.files.paths:
                return Unit((beside,))
        for folder in self._INCLUDE_FOLDERS[1 if is_system else 0 :]:
            candidate = posixpath.join(folder, module)
            if candidate in self.files.paths:
                return Unit((candidate,))
        if module.startswith("..") or (is_system and "/" not in module):
            return None
        return self._with_end(module)

    def home(self, path: str) -> Home:
        return ("c",)

    def _only_with_end(self, module: str) -> Unit | None:
        named = self._by_name.get(posixpath.basename(module), [])
        return _only([Unit((p,)) for p in named if p.endswith("/" + module)])


LOCATORS: Final[Mapping[str, type[Locator]]] = {
    "python": PythonLocator,
    "javascript": JavaScriptLocator,
    "typescript": JavaScriptLocator,
    "tsx": JavaScriptLocator,
    "go": GoLocator,
    "java": JavaLocator,
    "rust": RustLocator,
    "c": CLocator,
    "cpp": CLocator,
}


_SHORT: Final = 200
"""Characters of a place whose surroundings are remembered."""


def outward(place: str, separator: str) -> tuple[str, ...]:
    """A folder or scope and those around it, innermost first; "" is the root, or the file.

    >>> outward("a/b", "/"), outward("A.b", ".")
    (('a/b', 'a', ''), ('A.b', 'A', ''))
    """
    # Those of a long place take the square of its length.
    return _short_outward(place, separator) if len(place) <= _SHORT else _outward(place, separator)


def _outward(place: str, separator: str) -> tuple[str, ...]:
    around = []
    while place:
        around.append(place)
        place = place.rpartition(separator)[0]
    return (*around, "")


_short_outward = lru_cache(4_096)(_outward)


def _only(found: list[Unit]) -> Unit | None:
    return found[0] if len(set(found)) == 1 else None
