"""The formatter: `format` writes a command in its canonical form.

`parse(format(tree)) == tree` for every tree that `parse` makes. Each part of a statement has a line
of its own, blocks are indented by two spaces, and a list or map that does not fit on its line has
one line per item. Parentheses are written only where they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from mycel.kip import ast
from mycel.kip.fragments import (
    WIDTH,
    condition,
    expression,
    inline,
    lines_of,
    path,
    pattern,
    quoted_key,
)

_INDENT = "  "


def format_command(command: ast.Command) -> str:
    """The command as text, without a line feed at its end.

    >>> from mycel.kip import parse
    >>> print(format_command(parse('FIND( ?d.name )WHERE{?d{type:"Drug"}}LIMIT 5')))
    FIND(?d.name)
    WHERE {
      ?d {type: "Drug"}
    }
    LIMIT 5
    """
    return "\n".join(_command(command))


def _command(command: ast.Command) -> Iterator[str]:
    match command:
        case ast.Explain(inner, analyze):
            yield "EXPLAIN ANALYZE" if analyze else "EXPLAIN"
            yield from _command(inner)
        case ast.Find():
            yield from _find(command)
        case ast.Capsule(upserts):
            for upsert in upserts:
                yield from _upsert(upsert)
        case ast.DeleteKeys() | ast.DeletePropositions() | ast.DeleteConcept():
            yield _delete(command)
            yield from _where(command.where)
        case ast.Update():
            yield from _update(command)
        case ast.MergeConcept(source, target, where):
            yield f"MERGE CONCEPT ?{source.name} INTO ?{target.name}"
            yield from _where(where)
        case (
            ast.Archive()
            | ast.Restore()
            | ast.Supersede()
            | ast.TakeStance()
            | ast.SetTypeRetention()
            | ast.SetRetention()
        ):
            yield from _lifecycle(command)
        case ast.Export(target, where, limit, cursor, definitions):
            yield f"EXPORT ?{target.name}"
            yield from _include_archived(command)
            yield from _where(where)
            if definitions:
                yield "WITH DEFINITIONS"
            yield from _options(LIMIT=limit, CURSOR=cursor)
        case ast.Search():
            yield f"SEARCH {command.element} {inline(command.term)}"
            if command.types:
                yield f"WITH TYPE {' | '.join(map(inline, command.types))}"
            yield from _options(KIND=command.kind, MODE=command.mode, **_filters(command))
            yield from _options(NEAR=command.near, **_moments(command), LIMIT=command.limit)
            yield from _include_archived(command)
        case ast.Nearest():
            yield f"NEAREST CONCEPT TO {inline(command.to)}"
            yield f"WITH TYPE {inline(command.type)}"
            yield from _options(BY=command.by, **_filters(command), LIMIT=command.limit)
        case ast.Traverse():
            yield from _traverse(command)
        case _:
            yield from _describe(command)


# KQL.


def _find(find: ast.Find) -> Iterator[str]:
    yield from _bracketed("FIND(", list(map(expression, find.expressions)), ")")
    yield from _options(**_moments(find))
    yield from _include_archived(find)
    yield from _where(find.where)
    if find.order_by:
        yield "ORDER BY " + ", ".join(
            expression(key.expression) + (" DESC" if key.descending else "")
            for key in find.order_by
        )
    yield from _options(LIMIT=find.limit, CURSOR=find.cursor)


def _bracketed(opening: str, items: Sequence[str], closing: str) -> Iterator[str]:
    """Items between brackets, on one line when they fit."""
    line = f"{opening}{', '.join(items)}{closing}"
    if len(line) <= WIDTH:
        yield line
        return
    yield opening
    yield from (f"{_INDENT}{item}," for item in items[:-1])
    yield f"{_INDENT}{items[-1]}"
    yield closing


def _options(**options: ast.Value | None) -> Iterator[str]:
    """A line for each keyword that has a value."""
    for keyword, value in options.items():
        if value is not None:
            yield f"{keyword} {inline(value)}"


def _where(block: ast.Block) -> Iterator[str]:
    yield from _block("WHERE", block)


def _block(keyword: str, block: ast.Block) -> Iterator[str]:
    yield f"{keyword} {{"
    for clause in block:
        yield from _indented(_clause(clause))
    yield "}"


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (_INDENT + line for line in lines)


def _clause(clause: ast.Clause) -> Iterator[str]:
    match clause:
        case ast.ConceptClause(variable, matcher):
            yield f"?{variable.name} {pattern(matcher)}"
        case ast.LinkClause(bound, link):
            yield f"?{bound.name} {pattern(link)}" if bound else pattern(link)
        case ast.Filter(test):
            yield from _filter(test)
        case ast.Not(block):
            yield from _block("NOT", block)
        case ast.Optional(block):
            yield from _block("OPTIONAL", block)
        case ast.Union(block):
            yield from _block("UNION", block)
        case _:
            assert_never(clause)


def _filter(test: ast.Condition) -> Iterator[str]:
    line = f"FILTER({condition(test)})"
    if len(line) <= WIDTH or not isinstance(test, ast.Conjunction | ast.Disjunction):
        yield line
        return
    sign = "&&" if isinstance(test, ast.Conjunction) else "||"
    parts = [condition(part, within=test) for part in test.conditions]
    yield "FILTER("
    yield f"{_INDENT}{parts[0]}"
    yield from (f"{_INDENT}{sign} {part}" for part in parts[1:])
    yield ")"


# KML.


def _upsert(upsert: ast.Upsert) -> Iterator[str]:
    yield "UPSERT {"
    for block in upsert.blocks:
        yield from _indented(_upsert_block(block))
    yield "}"
    yield from _metadata(upsert.metadata)


def _upsert_block(block: ast.ConceptBlock | ast.PropositionBlock) -> Iterator[str]:
    keyword = "CONCEPT" if isinstance(block, ast.ConceptBlock) else "PROPOSITION"
    handle = f" ?{block.handle.name}" if block.handle else ""
    yield f"{keyword}{handle} {{"
    yield from _indented(_body(block))
    yield "}"
    yield from _metadata(block.metadata)


def _body(block: ast.ConceptBlock | ast.PropositionBlock) -> Iterator[str]:
    yield pattern(block.matcher if isinstance(block, ast.ConceptBlock) else block.target)
    yield from _options(**{"EXPECT VERSION": block.expect_version})
    if block.attributes is not None:
        yield from lines_of("SET ATTRIBUTES ", block.attributes)
    if isinstance(block, ast.PropositionBlock):
        yield from _options(**{"SET WEIGHT": block.weight})
    if isinstance(block, ast.ConceptBlock) and block.propositions is not None:
        yield "SET PROPOSITIONS {"
        for entry in block.propositions:
            yield from _indented(_entry(entry))
        yield "}"


def _entry(entry: ast.SetProposition) -> Iterator[str]:
    start = f"({inline(entry.predicate)}, {pattern(entry.target)})"
    if entry.weight is not None:
        start += f" SET WEIGHT {inline(entry.weight)}"
    if entry.metadata is None:
        yield start
    else:
        yield from lines_of(f"{start} WITH METADATA ", entry.metadata)


def _metadata(metadata: ast.Map | None) -> Iterator[str]:
    if metadata is not None:
        yield from lines_of("WITH METADATA ", metadata)


def _delete(command: ast.DeleteKeys | ast.DeletePropositions | ast.DeleteConcept) -> str:
    match command:
        case ast.DeleteKeys(part, keys, target):
            return f"DELETE {part} {{{', '.join(map(inline, keys))}}} FROM ?{target.name}"
        case ast.DeletePropositions(target):
            return f"DELETE PROPOSITIONS ?{target.name}"
        case ast.DeleteConcept(target):
            return f"DELETE CONCEPT ?{target.name} DETACH"


def _update(command: ast.Update) -> Iterator[str]:
    yield f"UPDATE ?{command.target.name}"
    for part, changes in ("ATTRIBUTES", command.attributes), ("METADATA", command.metadata):
        if isinstance(changes, ast.Placeholder):
            yield f"SET {part} {inline(changes)}"
        elif changes is not None:
            yield from _changes(f"SET {part} {{", changes)
    if command.weight is not None:
        yield f"SET WEIGHT {_change(command.weight)}"
    yield from _where(command.where)
    yield from _options(LIMIT=command.limit)


def _changes(opening: str, changes: tuple[tuple[str, ast.Change], ...]) -> Iterator[str]:
    entries = [f"{quoted_key(key)}: {_change(change)}" for key, change in changes]
    if not entries:
        yield f"{opening}}}"
    else:
        yield from _bracketed(opening, entries, "}")


def _change(change: Any) -> str:
    match change:
        case ast.Arithmetic(function, arguments):
            return f"{function}({', '.join(map(_change, arguments))})"
        case ast.Path():
            return path(change)
        case _:
            return inline(change)


def _lifecycle(
    command: ast.Archive
    | ast.Restore
    | ast.Supersede
    | ast.TakeStance
    | ast.SetTypeRetention
    | ast.SetRetention,
) -> Iterator[str]:
    match command:
        case ast.SetTypeRetention(rule, kind, name):
            yield from lines_of("SET RETENTION ", rule)
            yield f"FOR {kind} TYPE {inline(name)}"
        case ast.SetRetention():
            yield from lines_of("SET RETENTION ", command.rule)
            yield f"FOR ?{command.target.name}"
            yield from _where(command.where)
            yield from _options(LIMIT=command.limit)
        case ast.Archive(target, where, reason, limit):
            yield f"ARCHIVE ?{target.name}"
            yield from _options(BECAUSE=reason)
            yield from _where(where)
            yield from _options(LIMIT=limit)
        case ast.Restore(target, where, limit):
            yield f"RESTORE ?{target.name}"
            yield from _where(where)
            yield from _options(LIMIT=limit)
        case ast.TakeStance(stance, target, where, details, reason, limit):
            start = f"{'SUPPORT' if stance == 'supports' else 'CHALLENGE'} ?{target.name}"
            if details is None:
                yield start
            else:
                yield from lines_of(f"{start} WITH ", details)
            yield from _options(BECAUSE=reason)
            yield from _where(where)
            yield from _options(LIMIT=limit)
        case ast.Supersede(target, successor, where, until, reason):
            yield f"SUPERSEDE ?{target.name} WITH ?{successor.name}"
            yield from _options(UNTIL=until, BECAUSE=reason)
            yield from _where(where)
        case _:
            assert_never(command)


# META.


def _describe(command: ast.Describe) -> Iterator[str]:
    match command:
        case ast.DescribePrimer():
            yield "DESCRIBE PRIMER"
        case ast.DescribeDomains():
            yield "DESCRIBE DOMAINS"
        case ast.DescribeType(kind, name):
            yield f"DESCRIBE {kind} TYPE {inline(name)}"
        case ast.DescribeChanges(since, until, under):
            yield f"DESCRIBE CHANGES FROM {inline(since)}"
            yield from _options(TO=until, UNDER=under)
        case ast.DescribeCapabilities():
            yield "DESCRIBE CAPABILITIES"
        case ast.DescribeHistory(path, actor, since, until, limit, cursor):
            yield "DESCRIBE HISTORY"
            yield from _options(UNDER=path, ACTOR=actor, SINCE=since, UNTIL=until)
            yield from _options(LIMIT=limit, CURSOR=cursor)
        case ast.DescribeTypes(kind, limit, cursor):
            yield f"DESCRIBE {kind} TYPES"
            yield from _options(LIMIT=limit, CURSOR=cursor)
        case _:
            assert_never(command)


def _moments(command: ast.Find | ast.Search | ast.Traverse) -> dict[str, ast.Value | None]:
    return {"AS OF": command.as_of, "FOR TIME": command.for_time}


def _include_archived(
    command: ast.Find | ast.Export | ast.Search | ast.Traverse,
) -> Iterator[str]:
    if command.include_archived:
        yield "INCLUDE ARCHIVED"


def _filters(command: ast.Search | ast.Nearest) -> dict[str, ast.Value | None]:
    return {
        "THRESHOLD": command.threshold,
        "UNDER": command.path,
        "WORKSPACE": command.workspace,
        "ACTOR": command.actor,
        "SINCE": command.since,
        "UNTIL": command.until,
        "METADATA": command.metadata,
    }


def _traverse(command: ast.Traverse) -> Iterator[str]:
    yield f"TRAVERSE FROM {pattern(command.start)}"
    if command.along:
        yield f"ALONG {' | '.join(map(inline, command.along))}"
    yield from _options(
        DIRECTION=command.direction,
        MAX_COST=command.max_cost,
        MAX_TOKENS=command.max_tokens,
        LIMIT=command.limit,
        **_moments(command),
    )
    yield from _include_archived(command)
