"""Short ways to write down sources and to read facts in tests."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from mycel.knowledge.code.file_analysis import analyse
from mycel.knowledge.code.file_kinds import detect
from mycel.knowledge.code.project_relations import Project
from mycel.knowledge.code.relation_values import SourceRelations, SymbolRelation
from mycel.knowledge.code.source_facts import FileFacts


@dataclass(frozen=True)
class Resolved:
    """The relations of a project: `calls`, `imports` and the other fields of all files together."""

    files: Mapping[str, SourceRelations]

    def __getattr__(self, field: str) -> tuple[Any, ...]:
        return tuple(relation for file in self.files.values() for relation in getattr(file, field))

    @property
    def external(self) -> tuple[tuple[str, str], ...]:
        return tuple((file.path, name) for file in self.files.values() for name in file.external)

    @property
    def tested_by(self) -> tuple[tuple[str, str], ...]:
        pairs = ((target, file.path) for file in self.files.values() for target in file.tests)
        return tuple(sorted(pairs))


def resolve(files: Mapping[str, FileFacts], paths: Collection[str] = ()) -> Resolved:
    project = Project(files, paths)
    return Resolved({path: project.relations(path) for path in sorted(files)})


def facts(path: str, source: str) -> FileFacts:
    text = textwrap.dedent(source).lstrip("\n").encode()
    return analyse(path, text, detect(path, text).language)


def symbols(found: FileFacts) -> list[str]:
    return [f"{symbol.kind} {symbol.qualified}" for symbol in found.symbols]


def calls(found: FileFacts) -> list[str]:
    return [f"{call.caller or '-'} -> {'.'.join(call.callee)}" for call in found.calls]


def resolved(files: dict[str, str]) -> Resolved:
    return resolve({path: facts(path, source) for path, source in files.items()})


def call_relations(found: Resolved) -> list[str]:
    return [_ends(relation) for relation in found.calls]


def may_call_relations(found: Resolved) -> list[str]:
    return [_ends(relation) for relation in found.may_calls]


def _ends(relation: SymbolRelation) -> str:
    source, target = relation.source, relation.target
    return f"{source.path}:{source.qualified} -> {target.path}:{target.qualified}"


def import_relations(found: Resolved) -> list[str]:
    return [f"{file.path} -> {target}" for file in found.files.values() for target in file.imports]


def extends_relations(found: Resolved) -> list[str]:
    return [f"{e.source.qualified} -> {e.target.path}:{e.target.qualified}" for e in found.extends]
