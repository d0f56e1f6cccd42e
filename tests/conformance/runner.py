"""Reads the cases, runs them on any engine, and compares. README.md describes the format.

An engine is any object with `request(request, *, readonly)` that answers as KIP §6 says. The runner
uses nothing else of it, and no expected value comes from an engine.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from mycel.kip import statements

HERE = Path(__file__).resolve().parent

EXPECTATIONS = ("result", "rows", "contains", "error")
STEP_KEYS = {
    "command", "request", "parameters", "readonly", "bind", *EXPECTATIONS,
    "message_has", "hint_has", "warnings", "warnings_have", "next_cursor",
}  # fmt: skip
CASE_KEYS = STEP_KEYS | {"name", "section", "graph", "setup", "needs", "then"}

SECTION = re.compile(r"\d(\.\d+)*|A\d(\.\d+)*|notes: \S.*|style: \S.*|design: \S.*")
WRITING = re.compile(rf"\b({'|'.join(sorted({*statements.WRITING} - {'SET'}))}|SET RETENTION)\b")
ID = re.compile(r"C:[1-9][0-9]*|P:[1-9][0-9]*:[A-Za-z_][A-Za-z0-9_]*")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")

LACKS: dict[str, dict[str, str]] = {
    "mycel": {},
    "postgres": {},
    "reference": {
        "time travel": "it keeps no history, so it has no AS OF",
        "search": "ranking text is no matter of the graph",
        "primer": "what a primer says is not specified word by word",
        "explain": "it has no plan to explain",
    },
}
"""Per engine the abilities (`needs` of a case) that it does not have, each with the reason."""


class Engine(Protocol):
    def request(self, request: Any, *, readonly: bool = False) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One request, and the expected response."""

    request: Any
    command: str | None
    readonly: bool
    bind: Mapping[str, str]
    expected: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    section: str
    source: str
    graph: str | None
    setup: tuple[str, ...]
    needs: frozenset[str]
    steps: tuple[Step, ...]

    @property
    def only_reads(self) -> bool:
        """True if the case does not change the database, so that other cases may use it too."""
        texts = [step.command or json.dumps(step.request) for step in self.steps]
        return not self.setup and not any(WRITING.search(text) for text in texts)


# Reading.


class MalformedCase(Exception):  # noqa: N818
    """A case without content, or with keys that the runner does not know."""


def _step(table: Mapping[str, Any], known: set[str], where: str) -> Step:
    if unknown := sorted(set(table) - known):
        raise MalformedCase(f"{where}: unknown keys {unknown}")
    if ("command" in table) == ("request" in table):
        raise MalformedCase(f"{where}: give either command or request")
    if sum(key in table for key in EXPECTATIONS) != 1:
        raise MalformedCase(f"{where}: give exactly one of {', '.join(EXPECTATIONS)}")
    expected = {
        key: json.loads(value) if key in {"result", "rows", "contains"} else value
        for key, value in table.items()
        if key in STEP_KEYS - {"command", "request", "parameters", "readonly", "bind"}
    }
    command = table.get("command")
    if command is None:
        request = json.loads(table["request"])
    else:
        request = {"command": command}
        if "parameters" in table:
            request["parameters"] = json.loads(table["parameters"])
    return Step(
        request, command, bool(table.get("readonly")), dict(table.get("bind", {})), expected
    )


def _case(table: Mapping[str, Any], source: str) -> Case:
    where = f"{source}: {table.get('name', 'a case without a name')}"
    if not table.get("name") or not SECTION.fullmatch(str(table.get("section"))):
        raise MalformedCase(f"{where}: a case needs a name and the section that demands it")
    try:
        steps = [_step(table, CASE_KEYS, where)]
        steps += [_step(step, STEP_KEYS, where) for step in table.get("then", ())]
    except json.JSONDecodeError as error:
        raise MalformedCase(f"{where}: {error.msg} in {error.doc!r}") from None
    return Case(
        name=table["name"],
        section=table["section"],
        source=source,
        graph=table.get("graph"),
        setup=tuple(table.get("setup", ())),
        needs=frozenset(table.get("needs", ())),
        steps=tuple(steps),
    )


def load(folder: Path = HERE / "cases") -> Iterator[Case]:
    """All cases, file by file.

    Raises:
        MalformedCase: a file cannot be read as cases.
    """
    for path in sorted(folder.glob("*.toml")):
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
        except (tomllib.TOMLDecodeError, KeyError) as error:
            raise MalformedCase(f"{path.name}: {error}") from None
        for table in tables:
            yield _case(table, path.name)


@cache
def graph_text(name: str) -> str:
    return (HERE / "graphs" / f"{name}.kip").read_text(encoding="utf-8")


# Comparing.


def matches(expected: Any, actual: Any, bound: Mapping[str, Any]) -> bool:
    """True if two JSON values are equal, wildcards included. `1` equals `1.0`, and not `true`."""
    if isinstance(expected, str) and expected.startswith("<") and expected.endswith(">"):
        return _fits(expected[1:-1], actual, bound)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(
            matches(value, actual[key], bound) for key, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(
            matches(one, other, bound) for one, other in zip(expected, actual, strict=True)
        )
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return bool(expected == actual)


def _fits(wildcard: str, actual: Any, bound: Mapping[str, Any]) -> bool:
    if wildcard.startswith("bound:"):
        return matches(bound[wildcard.removeprefix("bound:")], actual, {})
    text = actual if isinstance(actual, str) else ""
    match wildcard:
        case "any":
            return True
        case "id":
            return ID.fullmatch(text) is not None
        case "time":
            return TIME.fullmatch(text) is not None
        case "cursor":
            return text != ""
    return bool(f"<{wildcard}>" == actual)


def includes(expected: Any, actual: Any, bound: Mapping[str, Any]) -> bool:
    """True if `expected` is a part of `actual`: some keys, some elements."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return all(
            key in actual and includes(value, actual[key], bound) for key, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(actual, list):
        return _pair_off(expected, actual, lambda one, other: includes(one, other, bound)) is None
    return matches(expected, actual, bound)


def _pair_off(
    expected: list[Any], actual: list[Any], same: Callable[[Any, Any], bool]
) -> list[Any] | None:
    """None if every expected element has its own actual element, otherwise those without one.

    Elements with wildcards choose last, so that they do not take what another one needs.
    """
    rest = list(actual)
    missing = []
    for one in sorted(expected, key=lambda value: '"<' in json.dumps(value)):
        found = next((at for at, other in enumerate(rest) if same(one, other)), None)
        if found is None:
            missing.append(one)
        else:
            del rest[found]
    return missing or None


def same_rows(expected: list[Any], actual: list[Any], bound: Mapping[str, Any]) -> bool:
    """True if the rows are the same in any order."""
    return len(expected) == len(actual) and not _pair_off(
        expected, actual, lambda one, other: matches(one, other, bound)
    )


def expression_count(command: str) -> int:
    """The number of expressions of FIND, which decides if the result is one column or several."""
    depth = 0
    count = 1
    start = command.index("(", command.index("FIND"))
    for letter in command[start:]:
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            break
        count += letter == "," and depth == 1
    return count


def as_rows(command: str, result: Any) -> Any:
    """A columnar result as a list of rows; a result of one column stays as it is."""
    if expression_count(command) == 1 or not isinstance(result, list):
        return result
    assert len({len(column) for column in result}) == 1, f"columns of unequal length: {result}"
    return [list(row) for row in zip(*result, strict=True)]


def check(step: Step, response: dict[str, Any], bound: Mapping[str, Any]) -> None:
    """Fail if the response differs from the expected one."""
    expected = step.expected
    if "error" in expected:
        _check_error(expected, response)
    else:
        assert "error" not in response, f"failed: {response['error']}"
        assert "result" in response, f"no result: {response}"
        result = response["result"]
        if "result" in expected:
            assert matches(expected["result"], result, bound), _differ(expected["result"], result)
        elif "rows" in expected:
            assert step.command is not None
            rows = as_rows(step.command, result)
            assert isinstance(rows, list), f"no rows: {result!r}"
            assert same_rows(expected["rows"], rows, bound), _differ(expected["rows"], rows)
        else:
            wanted = expected["contains"]
            assert includes(wanted, result, bound), _differ(wanted, result)
    _check_beside(expected, response)


def _check_error(expected: Mapping[str, Any], response: dict[str, Any]) -> None:
    assert "error" in response, f"succeeded: {response}"
    assert "result" not in response, f"result and error: {response}"
    error = response["error"]
    assert error["code"] == expected["error"], f"expected {expected['error']}, got {error}"
    for key, part in (("message_has", "message"), ("hint_has", "hint")):
        for text in expected.get(key, ()):
            assert text.lower() in error[part].lower(), f"{part} has no {text!r}: {error[part]!r}"


def _check_beside(expected: Mapping[str, Any], response: dict[str, Any]) -> None:
    warnings = response.get("warnings", [])
    if "warnings" in expected:
        assert len(warnings) == expected["warnings"], f"warnings: {warnings}"
    for text in expected.get("warnings_have", ()):
        assert any(text.lower() in str(one).lower() for one in warnings), f"warnings: {warnings}"
    if "next_cursor" in expected:
        cursor = response.get("next_cursor")
        assert (cursor is not None) == expected["next_cursor"], f"next_cursor: {cursor!r}"


def _differ(expected: Any, actual: Any) -> str:
    return f"\n  expected {json.dumps(expected)}\n  got      {json.dumps(actual)}"


# Running.


def prepare(engine: Engine, case: Case) -> None:
    """Apply the graph and the setup of a case; each must succeed."""
    texts = [graph_text(case.graph)] if case.graph else []
    for text in [*texts, *case.setup]:
        response = engine.request({"command": text})
        assert "error" not in response, f"preparing failed: {response['error']} in {text[:200]}"


def run(engine: Engine, case: Case) -> None:
    """Run the steps of a case on a prepared engine."""
    bound: dict[str, Any] = {}
    for step in case.steps:
        for name, query in step.bind.items():
            bound[name] = _only_value(engine.request(_with_bound({"command": query}, bound)))
        response = engine.request(_with_bound(step.request, bound), readonly=step.readonly)
        assert isinstance(response, dict), f"no object: {response!r}"
        check(step, response, bound)
        if "next_cursor" in response:
            bound["last_cursor"] = response["next_cursor"]


def _only_value(response: dict[str, Any]) -> Any:
    assert "error" not in response, f"bind failed: {response['error']}"
    assert len(response["result"]) == 1, f"bind wants one value: {response['result']}"
    return response["result"][0]


def _with_bound(request: Any, bound: Mapping[str, Any]) -> Any:
    if not bound or not isinstance(request, dict):
        return request
    return {**request, "parameters": {**bound, **request.get("parameters", {})}}


@dataclass(slots=True)
class Databases:
    """Opens engines: cases that only read share one per graph, every other case has its own."""

    opening: Callable[[], AbstractContextManager[Engine]]
    shared: dict[str | None, Engine] = field(default_factory=dict)
    _kept: ExitStack = field(default_factory=ExitStack)
    _own: ExitStack = field(default_factory=ExitStack)

    def for_case(self, case: Case) -> Engine:
        if not case.only_reads:
            self._own.close()
            return self._prepared(case, self._own)
        if case.graph not in self.shared:
            self.shared[case.graph] = self._prepared(case, self._kept)
        return self.shared[case.graph]

    def _prepared(self, case: Case, until: ExitStack) -> Engine:
        engine = until.enter_context(self.opening())
        prepare(engine, case)
        return engine

    def close(self) -> None:
        self._own.close()
        self._kept.close()
        self.shared.clear()
