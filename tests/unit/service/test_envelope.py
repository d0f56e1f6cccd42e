"""Requests and responses: whatever comes in, an answer goes out."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycel.engine.engine import read_only
from mycel.engine.result import Result
from mycel.errors import ConstraintViolation, InvalidId, NotFound, ResourceExhausted, TypeMismatch
from mycel.kip import is_write, parse
from mycel.model.limits import BATCH_COMMANDS_MAX, COMMAND_BYTES_MAX
from mycel.service.envelope import Response, plain, respond
from mycel.store.write.writer import GroupMember
from tests.cases import cases

FIND = 'FIND(?x) WHERE { ?x {type: "Plant"} }'
DESCRIBE = "DESCRIBE PRIMER"
UPSERT = 'UPSERT { CONCEPT { {type: "Plant", name: "Rose"} } }'
BROKEN = "UPSERT { CONCEPT { {type: "

Behaviour = Callable[[str, Mapping[str, Any]], Result]


class Recorder:
    """An executor that parses, notes what it was asked to do, and does as it is told."""

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self.ran: list[str] = []
        self.parameters: list[Mapping[str, Any]] = []
        self.flags: list[tuple[bool, bool]] = []
        self._behaviour = behaviour
        self._together: list[GroupMember] = []

    def together(self, work: Callable[[list[GroupMember]], list[Response]]) -> list[Response]:
        self._together = []
        return work(self._together)

    def execute(
        self,
        text: str,
        parameters: Mapping[str, Any],
        *,
        readonly: bool,
        dry_run: bool,
        message: str = "",
    ) -> Result:
        if is_write(parse(text)) and readonly:
            raise read_only()
        self.ran.append(text)
        self.parameters.append(parameters)
        self.flags.append((readonly, dry_run))
        result = Result.of(len(self.ran))
        if self._behaviour is not None:
            result = self._behaviour(text, parameters)
        self._together.append(GroupMember())
        return result

    @contextmanager
    def rehearsal(self) -> Iterator[Recorder]:
        yield self


def failing(*texts: str, error: Exception | None = None) -> Recorder:
    """An executor that fails on these commands."""

    def behave(text: str, _: Mapping[str, Any]) -> Result:
        if text in texts:
            raise error or ConstraintViolation("It broke a rule.")
        return Result.of("done")

    return Recorder(behave)


def always(result: Result) -> Behaviour:
    return lambda _text, _parameters: result


def ask(executor: Recorder | None = None, *, readonly: bool = False, **request: Any) -> Response:
    return plain(respond(executor or Recorder(), request, readonly=readonly))


def codes(response: Response) -> list[str | None]:
    """Of each command in a batch: the code of its error, or None."""
    return [each.get("error", {}).get("code") for each in response["result"]]


# One command.


def test_a_result_comes_back_as_it_is() -> None:
    assert ask(command=FIND) == {"result": 1}


def test_a_result_that_is_null_or_false_is_still_a_result() -> None:
    for result in map(Result.of, (None, 0, False, [], {})):
        assert ask(Recorder(always(result)), command=FIND) == {"result": result.value}


def test_cursor_and_warnings_stand_beside_the_result() -> None:
    executor = Recorder(lambda *_: Result.of([1], "next", ("careful",)))
    assert ask(executor, command=FIND) == {
        "result": [1],
        "next_cursor": "next",
        "warnings": ["careful"],
    }


def test_an_error_carries_code_name_message_hint_and_data() -> None:
    executor = failing(FIND, error=TypeMismatch("No such type.", hint="Define it.", data={"a": 1}))
    assert ask(executor, command=FIND) == {
        "error": {
            "code": "KIP_2001",
            "name": "TypeMismatch",
            "message": "No such type.",
            "hint": "Define it.",
            "data": {"a": 1},
        }
    }


def test_a_text_that_is_no_command_is_a_syntax_error() -> None:
    assert ask(command=BROKEN)["error"]["code"] == "KIP_1001"
    assert ask(command="")["error"]["code"] == "KIP_1001"


def test_parameters_and_dry_run_reach_the_executor() -> None:
    executor = Recorder()
    ask(executor, command=FIND, parameters={"n": 1}, dry_run=True)
    assert executor.parameters == [{"n": 1}]
    assert executor.flags == [(False, True)]


def test_what_is_null_counts_as_absent() -> None:
    executor = Recorder()
    assert ask(executor, command=FIND, commands=None, parameters=None, dry_run=None) == {
        "result": 1
    }
    assert executor.parameters == [{}]
    assert executor.flags == [(False, False)]


# Batches.


def test_a_batch_answers_with_one_response_for_each_command_in_order() -> None:
    executor = Recorder(lambda text, _: Result.of(text, "more" if text == FIND else None))
    assert ask(executor, commands=[DESCRIBE, FIND, UPSERT]) == {
        "result": [
            {"result": DESCRIBE},
            {"result": FIND, "next_cursor": "more"},
            {"result": UPSERT},
        ]
    }


def test_a_batch_of_none_and_a_batch_of_one_are_batches() -> None:
    assert ask(commands=[]) == {"result": []}
    assert ask(commands=[FIND]) == {"result": [{"result": 1}]}


def test_a_command_that_writes_and_fails_ends_the_batch() -> None:
    executor = failing(UPSERT)
    response = ask(executor, commands=[DESCRIBE, UPSERT, FIND, UPSERT])
    assert codes(response) == [None, "KIP_2002"]
    assert executor.ran == [DESCRIBE, UPSERT]


@cases(
    "write",
    [
        UPSERT,
        'DELETE CONCEPT ?x DETACH WHERE { ?x {type: "Plant"} }',
        'DELETE PROPOSITIONS ?l WHERE { ?l (?a, "repels", ?b) }',
        'DELETE ATTRIBUTES {"a"} FROM ?x WHERE { ?x {type: "Plant"} }',
        'UPDATE ?x SET ATTRIBUTES { a: 1 } WHERE { ?x {type: "Plant"} }',
        'MERGE CONCEPT ?x INTO ?y WHERE { ?x {id: "C:2"} ?y {id: "C:4"} }',
        f"EXPLAIN ANALYZE {UPSERT}",
        f"// a remark first\n{UPSERT}",
    ],
)
def test_every_statement_that_writes_ends_a_batch_when_it_fails_and_is_refused_when_reading(
    write: str,
) -> None:
    assert codes(ask(failing(write), commands=[write, FIND])) == ["KIP_2002"]
    executor = Recorder()
    assert (
        ask(executor, readonly=True, commands=[write])["result"][0]["error"]["code"] == "KIP_3004"
    )
    assert executor.ran == []


@cases(
    "read",
    [
        FIND,
        DESCRIBE,
        'SEARCH CONCEPT "x"',
        'EXPORT ?x WHERE { ?x {type: "Plant"} }',
        f"EXPLAIN {UPSERT}",
    ],
)
def test_a_command_that_reads_and_fails_does_not_end_the_batch(read: str) -> None:
    executor = failing(read)
    assert codes(ask(executor, commands=[read, UPSERT, read, FIND]))[:2] == ["KIP_2002", None]
    assert len(executor.ran) == 4


def test_a_syntax_error_does_not_end_the_batch_even_where_something_was_to_be_written() -> None:
    executor = Recorder()
    assert codes(ask(executor, commands=[BROKEN, UPSERT, "nonsense", FIND])) == [
        "KIP_1001",
        None,
        "KIP_1001",
        None,
    ]
    assert executor.ran == [UPSERT, FIND]


def test_a_write_that_fails_over_an_id_ends_the_batch_although_its_code_is_that_of_syntax() -> None:
    executor = failing(UPSERT, error=InvalidId("C:x is no id."))
    assert codes(ask(executor, commands=[UPSERT, FIND])) == ["KIP_1001"]


def test_a_write_that_is_too_large_to_be_parsed_ends_the_batch() -> None:
    large = UPSERT + " " * COMMAND_BYTES_MAX
    response = ask(commands=[large, FIND])
    assert codes(response) == ["KIP_4002"]
    assert codes(ask(commands=[FIND + " " * COMMAND_BYTES_MAX, FIND])) == ["KIP_4002", None]


def test_a_bug_in_a_write_ends_the_batch_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL, "mycel"):
        response = ask(failing(UPSERT, error=ZeroDivisionError()), commands=[UPSERT, FIND])
    assert codes(response) == ["KIP_4003"]


def test_own_parameters_override_shared_ones_key_by_key() -> None:
    executor = Recorder()
    ask(
        executor,
        commands=[FIND, {"command": FIND, "parameters": {"a": 2, "c": 3}}, {"command": FIND}],
        parameters={"a": 1, "b": 1},
    )
    assert executor.parameters == [{"a": 1, "b": 1}, {"a": 2, "b": 1, "c": 3}, {"a": 1, "b": 1}]


def test_a_batch_may_hold_so_many_commands_and_no_more() -> None:
    executor = Recorder()
    full = ask(executor, commands=[FIND] * BATCH_COMMANDS_MAX)
    assert len(full["result"]) == BATCH_COMMANDS_MAX
    response = ask(executor, commands=[FIND] * (BATCH_COMMANDS_MAX + 1))
    assert response["error"]["code"] == "KIP_4002"
    assert len(executor.ran) == BATCH_COMMANDS_MAX


def test_dry_run_holds_for_every_command_of_a_batch() -> None:
    executor = Recorder()
    ask(executor, commands=[UPSERT, FIND], dry_run=True)
    assert executor.flags == [(False, True)] * 2


# The door for reading.


def test_reading_passes_through_a_read_only_door() -> None:
    executor = Recorder()
    assert ask(executor, readonly=True, command=FIND) == {"result": 1}
    assert ask(executor, readonly=True, commands=[FIND, DESCRIBE, BROKEN])["result"][1] == {
        "result": 3
    }
    assert executor.flags[0] == (True, False)


def test_a_batch_with_a_write_is_refused_before_anything_runs() -> None:
    executor = Recorder()
    response = ask(executor, readonly=True, commands=[FIND, UPSERT, BROKEN])
    assert executor.ran == []
    assert codes(response) == ["KIP_3004"] * 3
    assert "This command writes" in response["result"][1]["error"]["message"]
    assert "command 2" in response["result"][0]["error"]["message"]


def test_a_dry_run_of_a_write_is_refused_there_too() -> None:
    executor = Recorder()
    assert codes(ask(executor, readonly=True, commands=[UPSERT], dry_run=True)) == ["KIP_3004"]
    assert executor.ran == []


def test_a_single_write_is_refused_before_it_reaches_the_executor() -> None:
    executor = Recorder()
    response = ask(executor, readonly=True, command=UPSERT)
    assert response["error"]["code"] == "KIP_3004"
    assert executor.ran == []


# What is no request.


@cases(
    "request_",
    [None, 7, "FIND", [], [FIND], b"x", {}, {"command": None}, {"commands": None, "command": None}],
)
def test_what_is_no_request_is_answered_with_how_one_looks(request_: Any) -> None:
    response = plain(respond(Recorder(), request_, readonly=False))
    assert response["error"]["code"] == "KIP_1001"
    assert '"commands"' in response["error"]["hint"]


@cases(
    "request_",
    [
        {"command": FIND, "commands": [FIND]},
        {"command": 5},
        {"command": [FIND]},
        {"command": {"command": FIND}},
        {"commands": FIND},
        {"commands": {"command": FIND}},
        {"command": FIND, "parameters": [1]},
        {"command": FIND, "parameters": "x"},
        {"commands": [FIND], "parameters": 3},
        {"command": FIND, "dry_run": "yes"},
        {"command": FIND, "dry_run": 1},
    ],
)
def test_wrong_types_are_refused_before_anything_runs(request_: dict[str, Any]) -> None:
    executor = Recorder()
    assert respond(executor, request_, readonly=False)["error"]["code"] == "KIP_1001"
    assert executor.ran == []


@cases(
    "element",
    [
        None,
        3,
        [],
        [FIND],
        {},
        {"command": 3},
        {"parameters": {}},
        {"command": FIND, "parameters": 1},
    ],
)
def test_an_element_that_is_no_command_is_an_error_in_its_place(element: Any) -> None:
    executor = Recorder()
    assert codes(ask(executor, commands=[FIND, element, FIND])) == [None, "KIP_1001", None]


def test_keys_that_mean_nothing_are_ignored_with_a_warning() -> None:
    response = ask(command=FIND, id="7", timeout=3)
    assert response["result"] == 1
    assert len(response["warnings"]) == 2
    assert "'id'" in response["warnings"][0]
    batch = ask(commands=[{"command": FIND, "note": {}}], extra=1)
    assert "'extra'" in batch["warnings"][0]
    assert "'note'" in batch["result"][0]["warnings"][0]


@cases(
    ("key", "meant"),
    [
        ("dryRun", "dry_run"),
        ("dryrun", "dry_run"),
        ("dry-run", "dry_run"),
        ("DRY_RUN", "dry_run"),
        ("dry", "dry_run"),
        ("params", "parameters"),
        ("paramters", "parameters"),
        ("comand", "command"),
        ("Commands", "commands"),
    ],
)
def test_a_key_that_was_meant_to_be_another_is_refused_and_nothing_runs(
    key: str, meant: str
) -> None:
    executor = Recorder()
    error = ask(executor, command=UPSERT, **{key: True})["error"]
    assert error["code"] == "KIP_1001"
    assert error["message"].endswith(f"did you mean {meant}?")
    assert executor.ran == []


def test_a_slip_in_the_only_key_is_named_rather_than_the_key_that_is_missing() -> None:
    assert "did you mean command?" in ask(comand=FIND)["error"]["message"]


@pytest.mark.parametrize("key", ["readonly", "read_only", "readOnly"])
def test_a_request_cannot_say_itself_that_it_only_reads(key: str) -> None:
    executor = Recorder()
    error = respond(executor, {"command": UPSERT, key: True}, readonly=False)["error"]
    assert error["code"] == "KIP_1001"
    assert "readonly=True" in error["hint"]
    assert "over MCP and HTTP there is execute_kip_readonly" in error["hint"]
    assert executor.ran == []


@cases("key", ["params", "dry_run", "dryRun", "read_only", "commands"])
def test_an_element_with_a_key_that_was_meant_otherwise_is_an_error_in_its_place(key: str) -> None:
    executor = Recorder()
    response = ask(executor, commands=[FIND, {"command": UPSERT, key: {}}, FIND])
    assert codes(response) == [None, "KIP_1001", None]
    assert executor.ran == [FIND, FIND]


def test_the_refusal_to_write_names_the_doors_that_do() -> None:
    error = ask(readonly=True, command=UPSERT)["error"]
    assert "without readonly" in error["hint"]
    assert "execute_kip" in error["hint"]


def test_warnings_about_the_request_come_before_those_of_the_command() -> None:
    executor = Recorder(lambda *_: Result.of(1, None, ("from inside",)))
    response = ask(executor, command=FIND, extra=1)
    assert response["warnings"][1] == "from inside"


# What nobody has foreseen.


def test_a_bug_is_logged_and_answered_without_a_word_about_the_inside(
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = "/home/somebody/graph.db"
    with caplog.at_level(logging.ERROR, "mycel"):
        response = ask(failing(FIND, error=RuntimeError(secret)), command=FIND)
    assert response["error"]["code"] == "KIP_4003"
    assert secret not in json.dumps(response)
    assert "Traceback" not in json.dumps(response)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None


def test_a_bug_in_a_read_leaves_the_rest_of_the_batch_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.CRITICAL, "mycel"):
        response = ask(failing(FIND, error=KeyError("x")), commands=[FIND, UPSERT])
    assert codes(response) == ["KIP_4003", None]


def test_a_request_that_breaks_when_it_is_looked_at_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Hostile(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise RuntimeError(key)

        def __iter__(self) -> Iterator[str]:
            raise RuntimeError

        def __len__(self) -> int:
            return 1

    with caplog.at_level(logging.CRITICAL, "mycel"):
        response = respond(Recorder(), Hostile(), readonly=False)
    assert response["error"]["code"] == "KIP_4003"


def test_messages_that_quote_broken_text_can_still_be_sent() -> None:
    executor = failing(FIND, error=NotFound("No \ud800 here.", data={"name": "\udfff", "k": {1}}))
    response = plain(respond(executor, {"command": FIND, "\ud800": 1}, readonly=False))
    json.dumps(response, ensure_ascii=False).encode()


def test_an_interrupt_is_not_swallowed() -> None:
    def interrupt(*_: Any) -> Result:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(Recorder(interrupt), command=FIND)


def test_running_out_of_a_limit_is_an_error_like_any_other() -> None:
    executor = failing(FIND, error=ResourceExhausted("Too much."))
    assert ask(executor, command=FIND)["error"]["code"] == "KIP_4002"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
COMMAND = st.sampled_from([FIND, UPSERT, BROKEN, DESCRIBE, ""]) | st.text(max_size=20)
REQUEST = st.fixed_dictionaries(
    {},
    optional={
        "command": COMMAND | JSON,
        "commands": st.lists(COMMAND | st.fixed_dictionaries({"command": COMMAND}) | JSON) | JSON,
        "parameters": JSON,
        "dry_run": st.booleans() | JSON,
        "else": JSON,
    },
)


@given(request=REQUEST | JSON, readonly=st.booleans())
def test_whatever_is_sent_is_answered_with_a_result_or_an_error(
    request: Any, readonly: bool
) -> None:
    response = plain(respond(Recorder(), request, readonly=readonly))
    assert ("result" in response) != ("error" in response)
    json.dumps(response, ensure_ascii=False).encode()
    for each in response["result"] if isinstance(response.get("result"), list) else [response]:
        assert ("result" in each) != ("error" in each)
        if "error" in each:
            assert {"code", "name", "message", "hint"} <= set(each["error"])
            assert each["error"]["code"] != "KIP_4003"
