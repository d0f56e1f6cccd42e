"""Turns facts of files into relations between files and symbols, one file at a time.

`name_resolution` finds the meaning of names, `receivers` the classes of objects.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Final

from mycel.knowledge.code.languages import SYNTAXES
from mycel.knowledge.code.manifests import ECOSYSTEMS
from mycel.knowledge.code.module_paths import Unit
from mycel.knowledge.code.name_resolution import SymbolNames
from mycel.knowledge.code.receivers import CallTargets, Receivers
from mycel.knowledge.code.relation_values import (
    CodeLocation,
    SourceRelations,
    SymbolRelation,
    TextRelation,
    TextTarget,
    family,
)
from mycel.knowledge.code.rust import RustLocator
from mycel.knowledge.code.source_facts import RESULT, FileFacts, Import
from mycel.knowledge.documents.document_relations import DocumentRelations

PACKAGE_FILES_MAX: Final = 100
"""The maximum number of files of a package that an import leads to when none of its names is
used."""


NAMES_NOTE: Final = "its names lead through too many modules: some relations are left out"


class Project:
    """The facts of a project, indexed for resolving references.

    `paths` are further files of the project without facts. Links and imports may lead to them.
    """

    def __init__(self, files: Mapping[str, FileFacts], paths: Collection[str] = ()) -> None:
        self._facts = files
        self._names = SymbolNames(files, paths)
        self._receivers = Receivers(self._names)
        self._documents = DocumentRelations(self._names.files)
        self._names_used = cache(self._find_names_used)
        self._stems: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        """Files that are no tests, by language family and stem, and also by their folder."""
        for path in sorted(files):
            if not files[path].is_test and files[path].language in SYNTAXES:
                folder, name = posixpath.split(path)
                key = family(files[path].language), name.partition(".")[0]
                self._stems[key].append(path)
                self._stems[*key, folder].append(path)

    def relations(self, path: str) -> SourceRelations:
        """The relations written in this file."""
        facts = self._facts[path]
        self._names.begin_file(facts)
        has_texts = facts.sections or facts.tags or facts.front_matter
        texts = tuple(self._documents.relations(path, facts)) if has_texts else ()
        if facts.dependencies:
            return SourceRelations(path, texts=tuple(self._dependency_relations(path, facts)))
        if facts.language not in SYNTAXES:
            links, pages = self._link_relations(path, facts, texts)
            return SourceRelations(path, links=links, external_links=pages, texts=texts)
        imports, external = self._import_relations(path, facts)
        calls, may_calls = self._call_relations(path, facts)
        extends = tuple(self._extends_relations(path, facts))
        tests = self._tested(path, facts, imports) if facts.is_test else ()
        return SourceRelations(
            path=path,
            imports=imports,
            external=external,
            calls=calls,
            may_calls=may_calls,
            uses=self._use_relations(path, facts, (*calls, *extends)),
            extends=extends,
            tests=tests,
            texts=texts,
            note=NAMES_NOTE if self._names.is_spent else "",
        )

    # Files.

    def _import_relations(
        self, path: str, facts: FileFacts
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The files that a file imports, and the modules outside the project."""
        targets: dict[str, None] = {}
        external: dict[str, None] = {}
        for imported in facts.imports:
            files = self._imported_files(path, imported)
            if files is None:
                name = self._names.locator(path).external(imported)
                if name:
                    external[name] = None
                continue
            targets.update(dict.fromkeys(files))
        targets.pop(path, None)
        return tuple(targets), tuple(sorted(external))

    def _imported_files(self, path: str, imported: Import) -> tuple[str, ...] | None:
        """The files that an import leads to; None for a module outside the project."""
        unit = self._names.unit(path, imported)
        if unit is None:
            return self._crate_file(path, imported)
        locator = self._names.locator(path)
        if len(unit.paths) > 1 and not imported.names:
            return self._used_files(path, imported.alias, unit)
        if not imported.names or (len(unit.paths) == 1 and not unit.folder):
            return self._through(path, imported, unit)
        files: dict[str, None] = {}
        for name, _ in imported.names:
            inner = locator.submodule(unit, name)
            if inner is not None and not self._names.defining(unit, name):
                files.update(dict.fromkeys(inner.paths))
                continue
            if len(unit.paths) == 1:
                files[unit.paths[0]] = None
                continue
            # If a package has several files, only those that define the name count.
            top = unit.rest[0] if unit.rest else name
            files.update(dict.fromkeys(self._names.defining(unit, top)))
        return tuple(files) if files or name == "*" else None

    def _used_files(self, path: str, alias: str, unit: Unit) -> tuple[str, ...]:
        """The files of a package whose names this file uses; the first file if there are none."""
        names = self._names_used(path).get(alias, ())
        used = {p for name in names for p in self._names.defining(unit, name)}
        return tuple(sorted(used)) or unit.paths[:PACKAGE_FILES_MAX]

    def _find_names_used(self, path: str) -> dict[str, set[str]]:
        """The names after a dot in the calls and bases of a file, by the part before the dot."""
        facts = self._facts[path]
        bases = (tuple(base.split(".")) for symbol in facts.symbols for base in symbol.bases)
        names: defaultdict[str, set[str]] = defaultdict(set)
        for parts in (*(call.callee for call in facts.calls), *bases):
            if len(parts) > 1:
                names[parts[0]].add(parts[1])
        return names

    def _through(self, path: str, imported: Import, unit: Unit) -> tuple[str, ...]:
        """The files of Rust's `use a::b`, where `b` may be a module with a file of its own."""
        locator = self._names.locator(path)
        if not isinstance(locator, RustLocator):
            return unit.paths
        files: dict[str, None] = {}
        for name, _ in imported.names:
            inner = locator.submodule(unit, name) if not unit.rest else None
            if inner is None and not imported.module:
                inner = locator.root(path, name)
            files.update(dict.fromkeys((inner or unit).paths))
        return tuple(files) or unit.paths

    def _crate_file(self, path: str, imported: Import) -> tuple[str, ...] | None:
        locator = self._names.locator(path)
        unit = locator.root(path, imported.names[0][0]) if imported.names else None
        return unit.paths if unit is not None and not imported.module else None

    def _tested(self, path: str, facts: FileFacts, imports: Iterable[str]) -> tuple[str, ...]:
        """The files that a test imports or is named after."""
        paths = {*imports}
        for imported in facts.imports:
            for name, _ in imported.names:
                self._names.begin()
                unit = self._names.unit(path, imported)
                meaning = (
                    self._names.member(unit, name, 0) if unit is not None and name != "*" else None
                )
                if isinstance(meaning, CodeLocation):
                    paths.add(meaning.path)
        namesake = self._named_after(path, facts)
        if namesake is not None:
            paths.add(namesake)
        return tuple(sorted(p for p in paths if p in self._facts and not self._facts[p].is_test))

    def _named_after(self, path: str, facts: FileFacts) -> str | None:
        stem = _tested_stem(path)
        if not stem:
            return None
        key = family(facts.language), stem
        paths = self._stems.get((*key, posixpath.dirname(path))) or self._stems.get(key, [])
        return paths[0] if len(paths) == 1 else None

    def _link_relations(
        self, path: str, facts: FileFacts, texts: Iterable[TextRelation]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The links of a document: files and folders, and pages outside the project."""
        targets: dict[str, None] = {}
        external: dict[str, None] = {}
        for link in facts.links:
            if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//", link):
                external[link] = None
                continue
            target = self._documents.linked_path(path, link.partition("#")[0])
            if target is not None:
                targets[target] = None
        for relation in texts:
            if relation.relation == "references" and relation.target.kind in ("path", "section"):
                targets[relation.target.path] = None
        targets.pop(path, None)
        return tuple(targets), tuple(external)

    def _dependency_relations(self, path: str, facts: FileFacts) -> Iterator[TextRelation]:
        """The relations of a manifest: to other manifests of the project and outside packages."""
        for url in facts.dependencies:
            part = self._parts.get(url)
            if part != path:
                kind = TextTarget("package", url) if part is None else TextTarget("path", part)
                yield TextRelation("", "depends_on", kind)

    @cached_property
    def _parts(self) -> Mapping[str, str]:
        """The manifests of the project by the package URL that they declare."""
        return {
            f"pkg:{ECOSYSTEMS[facts.language]}/{facts.package}": path
            for path, facts in sorted(self._facts.items(), reverse=True)
            if facts.package and facts.language in ECOSYSTEMS
        }

    # Symbols.

    def _call_relations(
        self, path: str, facts: FileFacts
    ) -> tuple[tuple[SymbolRelation, ...], tuple[SymbolRelation, ...]]:
        """The calls with a known target; and the calls resolved only by the name of a method."""
        sure: dict[SymbolRelation, None] = {}
        guesses: dict[SymbolRelation, None] = {}
        meanings: dict[tuple[str, tuple[str, ...]], CallTargets] = {}
        for call in facts.calls:
            source = CodeLocation(path, call.caller or "")
            head = call.callee[0]
            # Most names have one meaning in many functions, so it is cached.
            scope = source.qualified
            if head not in _BOUND_TO_SCOPE and not head.endswith(RESULT):
                scope = self._names.binding_scope(path, scope, head)
            key = scope, call.callee
            if key not in meanings:
                meanings[key] = self._receivers.called(path, scope, call.callee)
            call_targets = meanings[key]
            relations = sure if call_targets.is_sure else guesses
            for target in call_targets.targets:
                if target != source:
                    relations[SymbolRelation(source, target)] = None
        return tuple(sure), tuple(relation for relation in guesses if relation not in sure)

    def _use_relations(
        self, path: str, facts: FileFacts, others: Iterable[SymbolRelation]
    ) -> tuple[SymbolRelation, ...]:
        """The uses of symbols. The file itself counts as a user only if no symbol in it is one."""
        other_relations = {*others}
        relations: dict[SymbolRelation, None] = {}
        of_file: dict[CodeLocation, None] = {}
        meanings: dict[tuple[str, tuple[str, ...]], tuple[CodeLocation, ...]] = {}
        for user, parts in facts.uses:
            key = self._names.binding_scope(path, user or "", parts[0]), parts
            if key not in meanings:
                meanings[key] = tuple(self._used(path, *key))
            for target in meanings[key]:
                if target.path == path and not user:
                    continue  # The file itself defines the name.
                if not user:
                    of_file[target] = None
                elif target != (path, user):
                    relations[SymbolRelation(CodeLocation(path, user), target)] = None
        used = {relation.target for relation in (*other_relations, *relations)}
        source = CodeLocation(path, "")
        for target in of_file:
            if target not in used:
                relations[SymbolRelation(source, target)] = None
        return tuple(relation for relation in relations if relation not in other_relations)

    def _used(self, path: str, user: str, parts: tuple[str, ...]) -> Iterator[CodeLocation]:
        """The symbols that a dotted name uses: that of its longest known part, and its class."""
        names = self._names
        names.begin()
        if parts[0] == "self":
            owner = names.own_class(path, user)
            target = names.class_member(owner, parts[1], 0) if owner is not None else None
            if target is not None:
                yield target
            return
        for length in range(len(parts), 0, -1):
            code_location = names.target(names.follow(path, user, parts[:length]))
            if code_location is None:
                continue
            yield code_location
            holder = code_location.qualified.rpartition(".")[0]
            if length > 1 and holder and names.is_class(code_location.path, holder):
                yield CodeLocation(code_location.path, holder)
            return

    def _extends_relations(self, path: str, facts: FileFacts) -> Iterator[SymbolRelation]:
        for symbol in facts.symbols:
            source = CodeLocation(path, symbol.qualified)
            targets: set[CodeLocation] = set()
            for base in symbol.bases:
                self._names.begin()
                target = self._names.base(source, base)
                if target is not None and target != source and target not in targets:
                    targets.add(target)
                    yield SymbolRelation(source, target)


_BOUND_TO_SCOPE: Final = frozenset({"self", "super"})
"""Names with a meaning that depends on the function around them."""
_TEST_STEM: Final = re.compile(
    r"test_(?P<a>\w+)|(?P<b>\w+?)_tests?|(?P<c>[\w-]+)(?:\.(?:test|spec))|(?P<d>\w+?)(?:Tests?|IT)"
    r"|Test(?P<e>[A-Z]\w*)"
)


def _tested_stem(path: str) -> str:
    """The stem of the file that a test is named after; "" if there is none.

    >>> [_tested_stem(p) for p in ("test_a.py", "a_test.go", "a.test.tsx", "ATest.java", "a.py")]
    ['a', 'a', 'a', 'A', '']
    """
    stem = posixpath.splitext(posixpath.basename(path))[0]
    match = _TEST_STEM.fullmatch(stem)
    return next(filter(None, match.groups()), "") if match is not None else ""
