"""Reads the cases of the schema language, runs them on any engine, and compares.

The README beside the other conformance cases describes the format. There are three kinds of cases,
with different keys: a schema that is read (`Reading`), schemas between which a migration is planned
(`Planning`), or a graph that is written to and migrated (`Story`).

An engine is any object with the functions of `Engine`, which take and return JSON. No expected
value comes from an engine.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from tests.conformance import runner as kip
from tests.conformance.runner import MalformedCase, includes, same_rows

CASES = Path(__file__).resolve().parent / "cases"

SECTIONS = {
    "language": {
        "Top-level declarations",
        "Property declarations",
        "Built-in scalar types",
        "Constraints",
        "Annotations",
        "Catalog construction",
        "Schema IR & stable type IDs",
        "Schema migration planning",
    },
    "notes": {
        "Introduction",
        "Grammar",
        "Rules",
        "Catalog, Arrow and identity",
        "Migration planning",
        "Loading",
    },
}
"""What a case may cite: headings of the document and of the notes; `design: …` is free."""

FILE = "case.pg"
"""What the engine is told a schema's file is called."""

READING_EXPECTS = ("accepted", "ir", "has", "same_ir_as", "arrow", "refused")
PLANNING_EXPECTS = ("steps", "has_steps", "unsupported")
ACTIONS = ("command", "request", "load", "put", "link", "apply")
ANSWERS = ("result", "rows", "contains", "error")
STEP_KEYS = {
    *ACTIONS, *ANSWERS, *PLANNING_EXPECTS,
    "parameters", "bind", "message_has", "hint_has", "mode", "allow_removals", "allow_data_loss",
    "applied", "ir_has",
}  # fmt: skip
JSON_KEYS = {"ir", "has", "steps", "has_steps", "ir_has", "result", "rows", "contains"}


class Refused(Exception):  # noqa: N818
    """An error of an engine, as JSON: code, message, hint, and data with file, line and column."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message")))
        self.error = dict(error)


class Schema(Protocol):
    """A schema that was read."""

    def ir(self) -> dict[str, Any]: ...
    def ir_hash(self) -> str: ...
    def arrow(self, type_name: str) -> list[tuple[str, str, bool]]: ...


class Planned(Protocol):
    """A plan: `{supported, steps}`, and the IR after it."""

    def plan(self) -> dict[str, Any]: ...
    def ir(self) -> dict[str, Any]: ...


class Graph(Protocol):
    """A database of one story. Each function raises `Refused`, but `request` answers as KIP §6."""

    def request(self, request: Any) -> dict[str, Any]: ...
    def apply(
        self, schema: str, *, allow_removals: bool, allow_data_loss: bool
    ) -> dict[str, Any]: ...
    def ir(self) -> dict[str, Any]: ...
    def load(self, lines: str, *, mode: str) -> dict[str, Any]: ...
    def put(self, concepts: Sequence[Mapping[str, Any]]) -> None: ...
    def link(self, edge: Mapping[str, Any]) -> None: ...


class Engine(Protocol):
    def read(self, schema: str, *, file: str) -> Schema: ...
    def plan(self, schemas: Sequence[str]) -> Planned: ...
    def open(self) -> Graph: ...


# The kinds of case.


@dataclass(frozen=True, slots=True)
class Reading:
    """A schema, and the expected result of reading it."""

    name: str
    schema: str
    expected: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Planning:
    """Schemas, each applied after the one before; the plan for the last one is compared."""

    name: str
    schemas: tuple[str, ...]
    expected: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One operation on a database, and its expected result."""

    action: str
    given: Any
    options: Mapping[str, Any]
    expected: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Story:
    """A database: its first schema, preparations, then steps in order."""

    name: str
    schema: str | None
    setup: tuple[str, ...]
    steps: tuple[Step, ...]


Case: TypeAlias = Reading | Planning | Story


# Reading cases.


def load(folder: Path = CASES) -> Iterator[Case]:
    """All cases, file by file.

    Raises:
        MalformedCase: A file cannot be read as cases.
    """
    for path in sorted(folder.glob("*.toml")):
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
        except (tomllib.TOMLDecodeError, KeyError) as error:
            raise MalformedCase(f"{path.name}: {error}") from None
        for table in tables:
            try:
                yield _case(table, f"{path.name}: {table.get('name', 'a case without a name')}")
            except json.JSONDecodeError as error:
                raise MalformedCase(
                    f"{path.name}: {table.get('name')}: {error.msg} in {error.doc!r}"
                ) from None


def _case(table: Mapping[str, Any], where: str) -> Case:
    if not table.get("name") or not cites(str(table.get("section"))):
        raise MalformedCase(f"{where}: a case needs a name and the section that demands it")
    if any(action in table for action in ACTIONS):
        return _story(table, where)
    if "desired" in table:
        return _planning(table, where)
    return _reading(table, where)


def cites(section: str) -> bool:
    """True if the section exists."""
    source, _, heading = section.partition(": ")
    return (source == "design" and heading != "") or heading in SECTIONS.get(source, ())


def _reading(table: Mapping[str, Any], where: str) -> Reading:
    _only(table, {"name", "section", "schema", *READING_EXPECTS}, where)
    _one_of(table, READING_EXPECTS, where)
    schema, marked = table["schema"], "«" in table["schema"]
    if marked != ("refused" in table):
        raise MalformedCase(f"{where}: « » mark the place of a refusal, and only of one")
    return Reading(table["name"], schema, _expected(table, READING_EXPECTS))


def _planning(table: Mapping[str, Any], where: str) -> Planning:
    known = {"name", "section", "accepted", "desired", "ir_has", *PLANNING_EXPECTS}
    _only(table, known, where)
    _one_of(table, PLANNING_EXPECTS, where)
    accepted = table.get("accepted", "")
    before = [accepted] if isinstance(accepted, str) else accepted
    return Planning(
        table["name"],
        (*before, table["desired"]),
        _expected(table, (*PLANNING_EXPECTS, "ir_has")),
    )


def _story(table: Mapping[str, Any], where: str) -> Story:
    first = {key: value for key, value in table.items() if key in STEP_KEYS}
    _only(table, {"name", "section", "schema", "setup", "then", *STEP_KEYS}, where)
    steps = [_step(each, where) for each in (first, *table.get("then", ()))]
    return Story(table["name"], table.get("schema"), tuple(table.get("setup", ())), tuple(steps))


def _step(table: Mapping[str, Any], where: str) -> Step:
    _only(table, STEP_KEYS, where)
    action = _one_of(table, ACTIONS, where)
    if action == "apply":
        _one_of(table, (*PLANNING_EXPECTS, "applied", "error"), where)
    elif action in {"command", "request", "load"}:
        _one_of(table, ANSWERS, where)
    given = table[action]
    if action in {"request", "put", "link"}:
        given = json.loads(given)
    options = {
        key: json.loads(table[key]) if key == "parameters" else table[key]
        for key in ("parameters", "bind", "mode", "allow_removals", "allow_data_loss")
        if key in table
    }
    return Step(action, given, options, _expected(table, STEP_KEYS - set(ACTIONS) - options.keys()))


def _expected(table: Mapping[str, Any], keys: Sequence[str] | set[str]) -> dict[str, Any]:
    return {
        key: json.loads(value) if key in JSON_KEYS else value
        for key, value in table.items()
        if key in keys
    }


def _only(table: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(set(table) - known):
        raise MalformedCase(f"{where}: unknown keys {unknown}")


def _one_of(table: Mapping[str, Any], keys: Sequence[str], where: str) -> str:
    given = [key for key in keys if key in table]
    if len(given) != 1:
        raise MalformedCase(f"{where}: give exactly one of {', '.join(keys)}")
    return given[0]


# Running.


def run(engine: Engine, case: Case) -> None:
    """Fail if the engine does not behave as the case says."""
    match case:
        case Reading():
            _run_reading(engine, case)
        case Planning():
            _run_planning(engine, case)
        case Story():
            _run_story(engine.open(), case)


def _run_reading(engine: Engine, case: Reading) -> None:
    expected = case.expected
    if "refused" in expected:
        _run_refused(engine, case)
        return
    schema = engine.read(case.schema, file=FILE)
    ir = schema.ir()
    if "ir" in expected:
        # As text: the order of keys is part of what is promised.
        assert compact(ir) == compact(expected["ir"]), _differ(expected["ir"], ir)
    if "has" in expected:
        assert includes(expected["has"], ir, {}), _differ(expected["has"], ir)
    if "same_ir_as" in expected:
        other = engine.read(expected["same_ir_as"], file=FILE)
        assert compact(ir) == compact(other.ir()), _differ(other.ir(), ir)
        assert schema.ir_hash() == other.ir_hash()
    for type_name, fields in expected.get("arrow", {}).items():
        found = [[*each] for each in schema.arrow(type_name)]
        assert found == fields, _differ(fields, found)
    assert schema.ir_hash() == ir_hash(expected.get("ir", ir))


def _run_refused(engine: Engine, case: Reading) -> None:
    text, start, end = unmarked(case.schema)
    try:
        engine.read(text, file=FILE)
    except Refused as refusal:
        error = refusal.error
    else:
        raise AssertionError("accepted")
    data = error["data"]
    assert data["file"] == FILE
    place = offset(text, data["line"], data["column"])
    assert start <= place < max(end, start + 1), (
        f"at line {data['line']}, column {data['column']} instead of "
        f"{text[start:end]!r}: {error['message']}"
    )
    assert FILE in error["message"]
    assert error["hint"]
    said = f"{error['message'].partition(chr(10))[0]} {error['hint']}".lower()
    for word in case.expected["refused"]:
        assert word.lower() in said, f"no {word!r} in {said!r}"


def unmarked(schema: str) -> tuple[str, int, int]:
    """A schema without its marks, and the offsets of the marks."""
    before, _, rest = schema.partition("«")
    within, _, after = rest.partition("»")
    return before + within + after, len(before), len(before) + len(within)


def offset(text: str, line: int, column: int) -> int:
    """The offset of a line and a column, both counted from 1, in a text."""
    lines = text.split("\n")
    return sum(len(each) + 1 for each in lines[: line - 1]) + column - 1


def _run_planning(engine: Engine, case: Planning) -> None:
    planned = engine.plan(case.schemas)
    _check_plan(case.expected, planned.plan())
    if "ir_has" in case.expected:
        wanted = case.expected["ir_has"]
        assert includes(wanted, planned.ir(), {}), _differ(wanted, planned.ir())


def _check_plan(expected: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    steps = plan["steps"]
    refusals = [step for step in steps if step["kind"] == "unsupported_change"]
    assert plan["supported"] is (not refusals), f"supported: {plan}"
    if "unsupported" in expected:
        words = [word.lower() for word in expected["unsupported"]]
        texts = [json.dumps(step, ensure_ascii=False).lower() for step in refusals]
        assert any(all(word in text for word in words) for text in texts), (
            f"no refusal with {words}: {steps}"
        )
        return
    assert plan["supported"], f"unsupported: {refusals}"
    if "steps" in expected:
        assert same_rows(expected["steps"], list(steps), {}), _differ(expected["steps"], steps)
    if "has_steps" in expected:
        wanted = expected["has_steps"]
        assert includes(wanted, list(steps), {}), _differ(wanted, steps)


def _run_story(graph: Graph, case: Story) -> None:
    if case.schema is not None:
        result = graph.apply(case.schema, allow_removals=False, allow_data_loss=False)
        assert result["applied"], f"the first schema was not applied: {result}"
    for command in case.setup:
        response = graph.request({"command": command})
        assert "error" not in response, f"preparing failed: {response['error']} in {command}"
    bound: dict[str, Any] = {}
    for step in case.steps:
        for name, query in step.options.get("bind", {}).items():
            response = graph.request({"command": query, "parameters": bound})
            assert "error" not in response, f"bind failed: {response['error']}"
            assert len(response["result"]) == 1, f"bind wants one value: {response['result']}"
            bound[name] = response["result"][0]
        _run_step(graph, step, bound)


def _run_step(graph: Graph, step: Step, bound: Mapping[str, Any]) -> None:
    if step.action == "apply":
        _apply(graph, step)
    elif step.action in {"command", "request"}:
        request = {"command": step.given} if step.action == "command" else step.given
        parameters = {**bound, **step.options.get("parameters", {})}
        response = graph.request({**request, "parameters": parameters})
        command = step.given if step.action == "command" else None
        kip.check(kip.Step(request, command, False, {}, step.expected), response, bound)
    else:
        mode = step.options.get("mode", "append")
        doors: dict[str, Callable[[], Any]] = {
            "load": lambda: graph.load(step.given, mode=mode),
            "put": lambda: graph.put(step.given),
            "link": lambda: graph.link(step.given),
        }
        response = answer(doors[step.action])
        if step.expected:
            kip.check(kip.Step(None, None, False, {}, step.expected), response, bound)
        else:
            assert "error" not in response, f"failed: {response['error']}"


def answer(work: Callable[[], Any]) -> dict[str, Any]:
    """The response of KIP §6 for a call that returns or raises."""
    try:
        return {"result": work()}
    except Refused as refusal:
        return {"error": refusal.error}


def _apply(graph: Graph, step: Step) -> None:
    expected = step.expected
    flags = {key: step.options.get(key, False) for key in ("allow_removals", "allow_data_loss")}
    response = answer(lambda: graph.apply(step.given, **flags))
    if "error" in expected:
        kip.check(kip.Step(None, None, False, {}, expected), response, {})
        return
    assert "error" not in response, f"failed: {response['error']}"
    result = response["result"]
    assert isinstance(result["manifest_version"], int)
    _check_plan(expected, result)
    changes = result["supported"] and bool(result["steps"])
    assert result["applied"] is expected.get("applied", changes), f"applied: {result}"
    if "ir_has" in expected:
        assert includes(expected["ir_has"], graph.ir(), {}), _differ(expected["ir_has"], graph.ir())


# Identity, worked out from the notes alone.


def compact(ir: Mapping[str, Any]) -> str:
    """JSON without white space, with the keys in their order."""
    return json.dumps(ir, ensure_ascii=False, separators=(",", ":"))


def ir_hash(ir: Mapping[str, Any]) -> str:
    """The hash of an IR, as the notes define it."""
    return "sha256:" + hashlib.sha256(compact(ir).encode()).hexdigest()


def _differ(expected: Any, actual: Any) -> str:
    return f"\n  expected {json.dumps(expected)}\n  got      {json.dumps(actual)}"
