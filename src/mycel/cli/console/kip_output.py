"""Results of KIP commands for people; programs get the response of KIP §6.

FIND prints a table with a column for each expression, EXPORT the capsule, EXPLAIN its stages one
below the other, and a write a single line.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mycel.cli.console.output import Output, json_line, visible
from mycel.kip.statements import READING, first_word
from mycel.model.names import count, name_few

if TYPE_CHECKING:
    from mycel.engine.result import Result

_NO_COLUMNS = ("result",)
"""The columns of every command except FIND."""

_IDS_SHOWN = 12
_INLINE_CHARACTERS = 88
_INDENT = "  "

_SQL_PARTS = re.compile(
    r"'(?>(?:[^']|'')*)'|\"[^\"]*+\"|[()]"
    r"| (?=(?:FROM|WHERE|GROUP BY|HAVING|ORDER BY|LIMIT|UNION|AND"
    r"|(?:LEFT |CROSS )?JOIN) )(?<!LEFT )(?<!CROSS )"
)


def answer(
    out: Output,
    command: str,
    result: Result,
    label: Callable[[str], str] = str,
    *,
    changed: bool = True,
) -> bool:
    """Print the result of a command; `label` gives the name of an id.

    Returns True if elements were abbreviated, so that JSON shows more.
    """
    if out.as_json:
        out.line(_wire(result))
        return False
    _show(out, first_word(command), result, label, changed=changed)
    if result.next_cursor is not None:
        out.note(f"There is more: repeat the command with CURSOR {_quoted(result.next_cursor)}.")
    out.warn(result.warnings)
    return _has_elements(first_word(command), result)


def _has_elements(statement: str, result: Result) -> bool:
    if result.columns != _NO_COLUMNS:
        return any(_is_element(value) for row in result.rows for value in row)
    return (
        statement in ("SEARCH", "NEAREST", "TRAVERSE")
        and isinstance(result.value, list)
        and bool(result.value)
    )


def _is_element(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("_type") in ("ConceptNode", "PropositionLink")


def _wire(result: Result) -> str:
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    # Cells that are JSON in the database are written without being parsed.
    return result.to_json().decode() if encoding == "utf8" else json_line(result.to_dict(), None)


def _show(
    out: Output, statement: str, result: Result, label: Callable[[str], str], *, changed: bool
) -> None:
    if result.columns != _NO_COLUMNS:
        _find(out, result, label)
        return
    value = result.value
    match statement, value:
        case _, {"valid": True} if statement in READING:
            out.line("Valid.")
        case "SEARCH" | "NEAREST", _:
            _search(out, value, label)
        case "TRAVERSE", _:
            _traverse(out, value, label)
        case "EXPORT", _:
            _export(out, value)
        case "EXPLAIN", {"command": _}:
            _explain(out, value)
        case "DESCRIBE", _:
            names = isinstance(value, list) and all(isinstance(name, str) for name in value)
            for line in map(text, value) if names else outline(value):
                out.line(line)
        case _, {"valid": True, "would": would}:
            out.line(f"Valid. It would do this: {format_write_effect(would)}")
        case _:
            out.line(format_write_effect(value, changed=changed))


def _find(out: Output, result: Result, label: Callable[[str], str]) -> None:
    rows = [[text(value, label) for value in row] for row in result.rows]
    if rows:
        out.table([visible(column) for column in result.columns], rows)
    else:
        out.note("No rows.")


def _search(out: Output, hits: Sequence[Mapping[str, Any]], label: Callable[[str], str]) -> None:
    rows = [[f"{hit['metadata']['_score']:.2f}", text(hit, label)] for hit in hits]
    if rows:
        out.table(["score", "element"], rows)
    else:
        out.note("Nothing was found.")


def _traverse(
    out: Output, visits: Sequence[Mapping[str, Any]], label: Callable[[str], str]
) -> None:
    rows = [
        [
            f"{visit['cost']:g}",
            str(visit["hops"]),
            text(visit["node"], label),
            visible(visit["reason"]),
        ]
        for visit in visits
    ]
    out.table(["cost", "hops", "element", "why"], rows)


def _export(out: Output, exported: Mapping[str, Any]) -> None:
    if not exported["capsule"]:
        out.note("Nothing matches.")
        return
    out.line(exported["capsule"])
    out.note(f"{sizes(exported)}.")


def sizes(exported: Mapping[str, Any]) -> str:
    """The numbers of concepts and links in a capsule."""
    concepts, links = exported["concepts"], exported["propositions"]
    return f"{count(concepts, 'concept')}, {count(links, 'link')}"


def _explain(out: Output, explanation: Mapping[str, Any]) -> None:
    def section(title: str, lines: Sequence[str]) -> None:
        out.line(out.style(title, bold=True))
        for line in lines:
            out.line(f"{_INDENT}{visible(line)}")

    section("command", explanation["command"].splitlines())
    for stage in explanation.get("plan", ()):
        section(f"plan: {stage['stage']}", stage["query"])
    if "sql" in explanation:
        section("sql", statement_lines(explanation["sql"]))
    if "traversal" in explanation:
        section("traversal", list(outline(explanation["traversal"])))
    if explanation.get("bindings"):
        bound = [f"?{at} = {text(value)}" for at, value in enumerate(explanation["bindings"], 1)]
        section("bindings", bound)
    if "steps" in explanation:
        section("steps of SQLite", explanation["steps"])
    if "analyze" in explanation:
        section("analyze", list(outline(explanation["analyze"])))


def statement_lines(sql: str) -> list[str]:
    """A statement with each clause of its outermost level on a line of its own.

    >>> statement_lines("SELECT (SELECT a FROM b) FROM c WHERE d = 'x FROM y' LIMIT 1")
    ['SELECT (SELECT a FROM b)', 'FROM c', "WHERE d = 'x FROM y'", 'LIMIT 1']
    """
    depth = 0

    def part(match: re.Match[str]) -> str:
        nonlocal depth
        piece = match[0]
        depth += (piece == "(") - (piece == ")")
        return "\n" if piece == " " and depth == 0 else piece

    return _SQL_PARTS.sub(part, sql).split("\n")


def format_write_effect(value: Any, *, changed: bool = True) -> str:
    """The effect of a write on one line. An UPSERT names all its elements, even unchanged ones.

    >>> format_write_effect({"updated": 1, "matched": 2})
    'updated: 1, matched: 2'
    """
    if not isinstance(value, Mapping):
        return text(value)
    if "blocks" not in value:
        return ", ".join(
            f"{key.replace('_', ' ')}: {text(effect)}" for key, effect in value.items()
        )
    concepts, links = value["upsert_concept_nodes"], value["upsert_proposition_links"]
    ids = [*concepts, *links]
    message = f"{count(value['blocks'], 'block')}: {name_few(ids, _IDS_SHOWN)}"
    return visible(message if changed else f"{message}; nothing changed")


def text(value: Any, label: Callable[[str], str] = str) -> str:
    """A value for a table: a string unchanged, an element in short, anything else as JSON.

    `label` gives the names of a link's ends.

    >>> text("ten"), text(10), text(None), text([1, "a"])
    ('ten', '10', 'null', '[1,"a"]')
    """
    match value:
        case str():
            return visible(value)
        case {"_type": "ConceptNode", "id": id_, "type": type_, "name": name}:
            return visible(f"{type_} {_quoted(name)} ({id_})")
        case {"_type": "PropositionLink", "id": id_, "subject": src, "predicate": p, "object": dst}:
            return visible(f"{label(src)} {p} {label(dst)} ({id_})")
        case _:
            return visible(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def outline(value: Any) -> Iterator[str]:
    r"""Nested JSON as indented lines, which cannot be parsed again.

    >>> print("\n".join(outline({"a": 1, "b": [{"c": "x", "d": [1, 2]}], "e": {"f": {}}})))
    a: 1
    b:
      - c: x
        d: 1, 2
    e:
      f: {}
    """
    flat = _flat(value)
    if flat is not None:
        yield from flat.split("\n")
    elif isinstance(value, Mapping):
        for key, member in value.items():
            inner = _flat(member)
            if inner is None:
                yield f"{visible(key)}:"
                yield from (f"{_INDENT}{line}" for line in outline(member))
            else:
                first, *rest = inner.split("\n")
                yield f"{visible(key)}: {first}"
                yield from (f"{_INDENT}{line}" for line in rest)
    else:
        for member in value:
            first, *rest = outline(member)
            yield f"- {first}"
            yield from (f"{_INDENT}{line}" for line in rest)


def _flat(value: Any) -> str | None:
    """The value on one line; None if it needs several."""
    if not value or not isinstance(value, (Mapping, list)):
        return text(value)
    if isinstance(value, list) and not any(isinstance(member, (Mapping, list)) for member in value):
        joined = ", ".join(map(text, value))
        return joined if len(joined) <= _INLINE_CHARACTERS and "\n" not in joined else None
    return None


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)
