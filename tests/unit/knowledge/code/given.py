"""Short ways to write down sources and to read facts in tests."""

from __future__ import annotations

import textwrap

from mycel.knowledge.code import FileFacts, Resolved, SymbolEdge, analyse, detect, resolve


def facts(path: str, source: str) -> FileFacts:
    text = textwrap.dedent(source).lstrip("\n").encode()
    return analyse(path, text, detect(path, text).language)


def symbols(found: FileFacts) -> list[str]:
    return [f"{symbol.kind} {symbol.qualified}" for symbol in found.symbols]


def calls(found: FileFacts) -> list[str]:
    return [f"{call.caller or '-'} -> {'.'.join(call.callee)}" for call in found.calls]


def resolved(files: dict[str, str]) -> Resolved:
    return resolve({path: facts(path, source) for path, source in files.items()})


def call_edges(found: Resolved) -> list[str]:
    return [_ends(edge) for edge in found.calls]


def may_call_edges(found: Resolved) -> list[str]:
    return [_ends(edge) for edge in found.may_calls]


def _ends(edge: SymbolEdge) -> str:
    source, target = edge.source, edge.target
    return f"{source.path}:{source.qualified} -> {target.path}:{target.qualified}"


def import_edges(found: Resolved) -> list[str]:
    return [f"{edge.source} -> {edge.target}" for edge in found.imports]


def extends_edges(found: Resolved) -> list[str]:
    return [f"{e.source.qualified} -> {e.target.path}:{e.target.qualified}" for e in found.extends]
