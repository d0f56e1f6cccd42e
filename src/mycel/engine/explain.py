"""EXPLAIN: the canonical text, the plan and the SQL of a command (our extension).

With ANALYZE the command runs, and writes if it is a write; the answer adds its time and its result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from time import perf_counter
from typing import Any, Final

from mycel.engine.find import moment_value
from mycel.engine.outcome import Outcome
from mycel.engine.traverse import prepared
from mycel.engine.values import Values
from mycel.ir import query as ir
from mycel.kip import ast
from mycel.kip.formatter import format_command
from mycel.kip.fragments import path_text
from mycel.model.state import ORDINARY
from mycel.plan.bind import BoundQuery, bind_find, bind_targets
from mycel.plan.rewrites import PASSES
from mycel.sql.compiler import Statement, compile_numbers, compile_query
from mycel.sql.dialect import Dialect
from mycel.store.query import statements
from mycel.store.query.history import state_at
from mycel.store.query.reader import Reader
from mycel.store.query.statistics import StoreStatistics
from mycel.store.query.vocabulary import Vocabulary

LIMITED: Final = (ast.Update, ast.Archive, ast.Restore, ast.TakeStance, ast.SetRetention)
"""The statements whose LIMIT bounds the number of changed elements."""


def explain(reader: Reader, command: ast.Command, values: Values) -> dict[str, Any]:
    """Every stage of a command: its canonical text, the plan after each rewrite, the SQL."""
    payload: dict[str, Any] = {"command": format_command(command)}
    if isinstance(command, ast.Traverse):
        return payload | {"traversal": _traversal(reader, command, values)}
    bound = _bound(reader, command, values)
    if bound is None:
        return payload
    statistics = StoreStatistics(reader, {})
    query = bound.query
    payload["plan"] = [{"stage": "bind", "query": describe_query(query)}]
    for rewrite in PASSES:
        changed = rewrite(query, statistics)
        if changed != query:
            payload["plan"].append({"stage": rewrite.__name__, "query": describe_query(changed)})
        query = changed
    statement = _compiled(command, query, reader.dialect)
    payload["sql"] = statement.text
    payload["bindings"] = [_format_operand(value) for value in statement.bindings]
    payload["steps"] = statements.steps(reader, statement)
    return payload


def analyzed(explanation: dict[str, Any], run: Callable[[], Outcome]) -> Outcome:
    """The outcome of EXPLAIN ANALYZE: the stages, the time, and the result of the command."""
    started = perf_counter()
    outcome = run()
    took_ms = (perf_counter() - started) * 1000
    analysis: dict[str, Any] = {"took_ms": round(took_ms, 3), "result": outcome.result}
    if outcome.next_cursor is not None:
        analysis["next_cursor"] = outcome.next_cursor
    return Outcome(explanation | {"analyze": analysis}, warnings=outcome.warnings)


def _bound(reader: Reader, command: ast.Command, values: Values) -> BoundQuery | None:
    vocabulary = Vocabulary(reader)
    match command:
        case ast.Find(as_of=None):
            return bind_find(command, vocabulary, values)
        case ast.Find(as_of=ast.Literal() | ast.Placeholder() as moment):
            then = reader.at(state_at(reader, moment_value(moment, values, "AS OF")))
            return bind_find(command, Vocabulary(then), values)
        case ast.MergeConcept(source, target, where):
            return bind_targets(where, (source, target), vocabulary, values)
        case ast.Supersede(target, successor, where):
            return bind_targets(where, (target, successor), vocabulary, values)
        case ast.Restore() | ast.Export(include_archived=True):
            return bind_targets(
                command.where, (command.target,), vocabulary, values, include_archived=True
            )
        case (
            ast.DeleteKeys()
            | ast.DeletePropositions()
            | ast.DeleteConcept()
            | ast.Update()
            | ast.Archive()
            | ast.TakeStance()
            | ast.SetRetention()
            | ast.Export()
        ):
            return bind_targets(command.where, (command.target,), vocabulary, values)
        case _:
            return None


def _traversal(reader: Reader, command: ast.Traverse, values: Values) -> dict[str, Any]:
    """The start and the bounds of a traversal."""
    reader, bounds, start = prepared(reader, command, values)
    payload: dict[str, Any] = {
        "start": reader.outer_id(start),
        "order": ["cost", "hops", "predicate number", "id"],
        **asdict(bounds),
    }
    visibility = payload.pop("visibility")
    if visibility != ORDINARY:
        payload |= visibility._asdict()
    if not reader.state.is_live:
        payload["as_of"] = reader.state.seq
    return payload


def _compiled(command: ast.Command, query: ir.Query, dialect: Dialect) -> Statement:
    if isinstance(command, ast.Find):
        past = command.as_of is not None
        return compile_query(query, limited=command.limit is not None, past=past, dialect=dialect)
    limited = isinstance(command, LIMITED) and command.limit is not None
    return compile_numbers(query, limited=limited, dialect=dialect)


def _format_operand(value: ir.Value) -> Any:
    return value.value if isinstance(value, ir.Constant) else f":{value.parameter}"


def describe_query(query: ir.Query) -> list[str]:
    """An IR as readable lines."""
    lines = [f"outputs: {', '.join(map(_output, query.outputs))}"]
    for at, block in enumerate(query.arms):
        lines += [f"arm {at + 1}:", *_indented(_block(block))]
    if query.gathers_early:
        lines.append("grouped by element first")
    if query.cut:
        lines.append(f"cut by count before names are read; groups are {query.cut}")
    return lines


def _output(output: ir.Output) -> str:
    if isinstance(output, ir.Field):
        return path_text(output.variable, output.path)
    distinct = "DISTINCT " if output.distinct else ""
    times = f"{output.times} * " if output.times > 1 else ""
    return f"{times}{output.function}({distinct}{_output(output.argument)})"


def _block(block: ir.Block) -> list[str]:
    lines = [_atom(atom) for atom in block.atoms]
    for optional in block.optionals:
        lines.append("optional:")
        for arm in optional.arms:
            lines += _indented(_block(arm))
    for condition in block.conditions:
        lines += _condition(condition)
    return lines


def _atom(atom: ir.Atom) -> str:
    match atom:
        case ir.ConceptAtom(probe=ir.Probe(index)) | ir.LinkAtom(probe=ir.Probe(index)):
            return f"{atom!r} by index on {index.title}"
        case _:
            return repr(atom)


def _condition(condition: ir.Condition) -> list[str]:
    match condition:
        case ir.Not(ir.Exists(arms)):
            title = "none of:"
        case ir.Exists(arms):
            title = "some of:"
        case _:
            return [repr(condition)]
    return [title, *(line for arm in arms for line in _indented(_block(arm)))]


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]
