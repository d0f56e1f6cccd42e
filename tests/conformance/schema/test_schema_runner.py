"""The runner of the schema cases itself: it must fail where an engine is wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.runner import MalformedCase
from tests.conformance.schema.runner import (
    Case,
    Planning,
    Reading,
    Refused,
    Story,
    cites,
    ir_hash,
    load,
    offset,
    run,
    unmarked,
)

EMPTY = {"ir_version": 1, "interfaces": [], "nodes": [], "edges": []}


@dataclass
class Canned:
    """An engine, a schema, a plan and a graph at once, with prepared answers."""

    answers: dict[str, Any] = field(default_factory=dict)
    refusal: Mapping[str, Any] | None = None
    hashed: Mapping[str, Any] | None = None

    def _say(self, what: str, otherwise: Any) -> Any:
        if self.refusal is not None:
            raise Refused(self.refusal)
        return self.answers.get(what, otherwise)

    def read(self, schema: str, *, file: str) -> "Canned":
        self._say("read", None)
        return self

    def plan(self, schemas: Sequence[str] = ()) -> Any:
        return self if schemas else self.answers["plan"]

    def open(self) -> "Canned":
        return self

    def ir(self) -> dict[str, Any]:
        return dict(self.answers.get("ir", EMPTY))

    def ir_hash(self) -> str:
        return ir_hash(self.hashed or self.ir())

    def arrow(self, type_name: str) -> list[tuple[str, str, bool]]:
        return list(self.answers["arrow"])

    def request(self, request: Any) -> dict[str, Any]:
        return dict(self.answers["request"])

    def apply(self, schema: str, *, allow_removals: bool, allow_data_loss: bool) -> dict[str, Any]:
        return dict(self._say("apply", None))

    def load(self, lines: str, *, mode: str) -> dict[str, Any]:
        return dict(self._say("load", {}))

    def put(self, concepts: Sequence[Mapping[str, Any]]) -> None:
        self._say("put", None)

    def link(self, edge: Mapping[str, Any]) -> None:
        self._say("link", None)


def case_of(tmp_path: Path, text: str) -> Case:
    head = '[[case]]\nname = "it is so"\nsection = "notes: Rules"\n'
    (tmp_path / "some.toml").write_text(head + text, encoding="utf-8")
    return next(load(tmp_path))


def refusal(line: int, column: int, message: str = "case.pg: no x.") -> dict[str, Any]:
    data = {"file": "case.pg", "line": line, "column": column}
    return {"code": "KIP_2002", "message": message, "hint": "Write y.", "data": data}


def fails(engine: Canned, case: Case) -> None:
    with pytest.raises(AssertionError):
        run(engine, case)


def test_each_kind_of_case_is_told_by_what_it_gives(tmp_path: Path) -> None:
    assert isinstance(case_of(tmp_path, 'schema = ""\naccepted = true'), Reading)
    assert isinstance(case_of(tmp_path, 'desired = ""\nsteps = "[]"'), Planning)
    assert isinstance(case_of(tmp_path, 'command = "FIND"\nrows = "[]"'), Story)


@pytest.mark.parametrize(
    "text",
    [
        'schema = ""',
        'schema = ""\naccepted = true\nir = "{}"',
        'schema = ""\nacepted = true',
        'schema = "node «x» { }"\naccepted = true',
        'schema = "node x { }"\nrefused = []',
        'schema = ""\nir = "{oops"',
        'desired = ""',
        'desired = ""\nsteps = "[]"\nunsupported = []',
        'command = "FIND"',
        'command = "FIND"\nload = ""\nrows = "[]"',
        'apply = ""',
        'load = ""\nmood = "append"\ncontains = "{}"',
    ],
)
def test_a_case_that_says_nothing_or_too_much_is_malformed(tmp_path: Path, text: str) -> None:
    with pytest.raises(MalformedCase):
        case_of(tmp_path, text)


def test_only_sections_that_there_are_can_be_cited() -> None:
    assert cites("notes: Rules")
    assert cites("language: Annotations")
    assert cites("design: defaults")
    assert not cites("notes: Rulez")
    assert not cites("notes")
    assert not cites("design: ")
    assert not cites("Rules")


def test_marks_are_taken_out_and_remembered() -> None:
    assert unmarked("node «doc» { }") == ("node doc { }", 5, 8)
    assert unmarked("node Doc {«»") == ("node Doc {", 10, 10)
    assert offset("ab\ncd", 2, 2) == 4


def test_a_refusal_must_be_at_its_place_with_its_words(tmp_path: Path) -> None:
    case = case_of(tmp_path, 'schema = "node «doc» { }"\nrefused = ["x"]')
    run(Canned(refusal=refusal(1, 6)), case)
    run(Canned(refusal=refusal(1, 8)), case)
    fails(Canned(refusal=refusal(1, 5)), case)
    fails(Canned(refusal=refusal(1, 9)), case)
    fails(Canned(refusal=refusal(1, 6, "case.pg: something else.")), case)
    fails(Canned(refusal=refusal(1, 6, "no x.")), case)
    fails(Canned(), case)


def test_a_schema_that_should_be_read_must_be_read(tmp_path: Path) -> None:
    case = case_of(tmp_path, 'schema = ""\naccepted = true')
    run(Canned(), case)
    with pytest.raises(Refused):
        run(Canned(refusal=refusal(1, 1)), case)


def test_an_ir_must_be_the_same_in_order_and_hash(tmp_path: Path) -> None:
    text = '{"ir_version":1,"interfaces":[],"nodes":[],"edges":[]}'
    case = case_of(tmp_path, f"schema = ''\nir = '{text}'")
    run(Canned(), case)
    fails(Canned({"ir": dict(reversed(EMPTY.items()))}), case)
    fails(Canned({"ir": {**EMPTY, "nodes": [{}]}}), case)
    fails(Canned(hashed={**EMPTY, "ir_version": 2}), case)


def test_an_arrow_schema_must_have_the_same_fields(tmp_path: Path) -> None:
    case = case_of(tmp_path, 'schema = ""\narrow = { Doc = [["id", "Utf8", false]] }')
    run(Canned({"arrow": [("id", "Utf8", False)]}), case)
    fails(Canned({"arrow": [("id", "Utf8", True)]}), case)
    fails(Canned({"arrow": []}), case)


ADD = {"kind": "add_type", "type_kind": "node", "name": "Doc"}
NO = {"kind": "unsupported_change", "entity": "node:Doc.n", "reason": "It changes its scalar."}


def test_a_plan_must_have_the_same_steps_in_any_order(tmp_path: Path) -> None:
    case = case_of(tmp_path, 'desired = ""\nsteps = \'[{"kind": "a"}, {"kind": "b"}]\'')
    run(Canned({"plan": {"supported": True, "steps": [{"kind": "b"}, {"kind": "a"}]}}), case)
    fails(Canned({"plan": {"supported": True, "steps": [{"kind": "a"}]}}), case)
    fails(Canned({"plan": {"supported": False, "steps": [{"kind": "b"}, {"kind": "a"}]}}), case)


def test_a_plan_that_should_be_refused_must_say_why(tmp_path: Path) -> None:
    case = case_of(tmp_path, 'desired = ""\nunsupported = ["node:Doc.n", "scalar"]')
    run(Canned({"plan": {"supported": False, "steps": [ADD, NO]}}), case)
    fails(Canned({"plan": {"supported": True, "steps": [ADD]}}), case)
    fails(Canned({"plan": {"supported": True, "steps": [NO]}}), case)
    other = {**NO, "reason": "No."}
    fails(Canned({"plan": {"supported": False, "steps": [other]}}), case)


def applied(applied: bool, *steps: Mapping[str, Any], supported: bool = True) -> Canned:
    answer = {"supported": supported, "applied": applied, "manifest_version": 3, "steps": steps}
    return Canned({"apply": answer, "request": {"result": []}})


def test_an_apply_must_be_applied_exactly_when_it_changes_something(tmp_path: Path) -> None:
    changing = case_of(tmp_path, 'apply = ""\nhas_steps = \'[{"kind": "add_type"}]\'')
    run(applied(True, ADD), changing)
    fails(applied(False, ADD), changing)
    nothing = case_of(tmp_path, 'apply = ""\nsteps = "[]"')
    run(applied(False), nothing)
    fails(applied(True), nothing)
    refused = case_of(tmp_path, 'apply = ""\nunsupported = ["node:Doc.n"]')
    run(applied(False, NO, supported=False), refused)
    fails(applied(True, NO, supported=False), refused)


def test_a_first_schema_that_is_not_applied_fails_the_story(tmp_path: Path) -> None:
    case = case_of(tmp_path, 'schema = "node Doc { }"\ncommand = "FIND(?x)"\nrows = "[]"')
    run(applied(True, ADD), case)
    fails(applied(False, NO, supported=False), case)


@pytest.mark.parametrize("door", ["load = ''", "put = '[]'", "link = '{}'"])
def test_a_door_that_should_refuse_must_refuse(tmp_path: Path, door: str) -> None:
    case = case_of(tmp_path, f'{door}\nerror = "KIP_2002"\nmessage_has = ["no x"]')
    run(Canned(refusal=refusal(1, 1)), case)
    fails(Canned(), case)
    fails(Canned(refusal={**refusal(1, 1), "code": "KIP_2003"}), case)
    fails(Canned(refusal=refusal(1, 1, "Something else.")), case)


@pytest.mark.parametrize("door", ["put = '[]'", "link = '{}'"])
def test_a_door_that_should_not_refuse_must_not(tmp_path: Path, door: str) -> None:
    case = case_of(tmp_path, door)
    run(Canned(), case)
    fails(Canned(refusal=refusal(1, 1)), case)


def test_a_further_step_is_run_as_well(tmp_path: Path) -> None:
    text = "put = '[]'\n[[case.then]]\ncommand = 'FIND(?x) WHERE { }'\nrows = '[1]'"
    run(Canned({"request": {"result": [1]}}), case_of(tmp_path, text))
    fails(Canned({"request": {"result": [2]}}), case_of(tmp_path, text))
