"""Every failure: one clear message, a hint, the right exit status, and never a traceback."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from mycel import Graph
from mycel.errors import REGISTRY
from tests.adapters.cli.conftest import Run
from tests.cases import cases

pytestmark = pytest.mark.usefixtures("graph")

EDGE = ("Drug:Aspirin", "treats", "Symptom:Headache")

FAILURES: dict[str, tuple[tuple[str, ...], int, str]] = {
    # what: (words, exit status, error)
    "a command that is not there": (("serch", "x"), 2, "InvalidSyntax"),
    "an option that is not there": (("log", "--limt", "3"), 2, "InvalidSyntax"),
    "an argument that is missing": (("edge", "add", "C:42", "treats"), 2, "InvalidSyntax"),
    "a number that is none": (("find", "C:42", "--hops", "two"), 2, "InvalidSyntax"),
    "a choice that is none": (("find", "C:42", "--form", "tiny"), 2, "InvalidSyntax"),
    "too many words": (("concept", "get", "Drug", "Aspirin", "x"), 2, "InvalidSyntax"),
    "two words for an edge": (("edge", "get", "C:42", "treats"), 2, "InvalidSyntax"),
    "broken JSON": (("concept", "put", "Drug", "X", "--attributes", "{a}"), 2, "InvalidSyntax"),
    "JSON that is no object": (("edge", "add", *EDGE, "--data", "[1]"), 2, "InvalidSyntax"),
    "a key twice": (("edge", "add", *EDGE, "--data", '{"a":1,"a":2}'), 2, "InvalidSyntax"),
    "a key twice in a parameter": (
        ("kip", "FIND(?x) WHERE { ?x {name: :n} }", "--param", 'n={"a":1,"a":2}'),
        2,
        "InvalidSyntax",
    ),
    "endless JSON": (("edge", "add", *EDGE, "--data", '{"a":' * 9999), 2, "InvalidSyntax"),
    "no number": (
        ("concept", "put", "Drug", "X", "--attributes", '{"a": NaN}'),
        2,
        "InvalidSyntax",
    ),
    "a file that is not there": (
        ("concept", "put", "Drug", "X", "--attributes", "@/nowhere"),
        2,
        "InvalidSyntax",
    ),
    "a key of the engine": (
        ("concept", "put", "Drug", "X", "--metadata", '{"_v": 1}'),
        2,
        "ConstraintViolation",
    ),
    "a name that is none": (("concept", "put", "Drug", ""), 2, "ConstraintViolation"),
    "a name that is no text": (("concept", "put", "Drug", "a\udcff"), 2, "InvalidValueType"),
    "a type that is none": (("define", "type", "two words"), 2, "InvalidIdentifier"),
    "an unknown type": (("concept", "get", "Durg", "Aspirin"), 2, "TypeMismatch"),
    "an unknown predicate": (("edge", "add", "C:42", "traets", "C:46"), 2, "TypeMismatch"),
    "neither id nor name": (("history", "Nobody"), 2, "InvalidId"),
    "an id of the other kind": (("concept", "get", "P:1:treats"), 2, "InvalidId"),
    "a concept as an edge": (("edge", "get", "C:42"), 2, "InvalidId"),
    "an id never given out": (("history", "C:43"), 1, "NotFound"),
    "an unknown name": (("history", "Drug:Nothing"), 1, "NotFound"),
    "an unknown id": (("edge", "out", "C:4200"), 1, "NotFound"),
    "an edge that never was": (
        ("edge", "get", "Drug:Ibuprofen", "treats", "Symptom:Fever"),
        1,
        "NotFound",
    ),
    "an edge to itself": (("edge", "add", "C:42", "treats", "C:42"), 2, "SelfEdgeError"),
    "a heavy edge": (
        ("edge", "add", "C:44", "treats", "C:48", "--weight", "7"),
        2,
        "ConstraintViolation",
    ),
    "too far": (("find", "C:42", "--hops", "7"), 2, "ConstraintViolation"),
    "too few hops": (("find", "C:42", "--min-hops", "0"), 2, "ConstraintViolation"),
    "the future": (("find", "C:42", "--as-of", "99999"), 2, "ConstraintViolation"),
    "no time": (("find", "C:42", "--as-of", "yesterday"), 2, "InvalidSyntax"),
    "a long number": (("find", "C:42", "--as-of", "9" * 40), 2, "InvalidSyntax"),
    "nothing to prove": (("prove",), 2, "InvalidSyntax"),
    "two things to prove": (("prove", "C:42", "--entry", "3"), 2, "InvalidSyntax"),
    "an entry that is not there": (("prove", "--entry", "99999"), 1, "NotFound"),
    "a root that is none": (("verify", "--proof", "x", "--root", "abc"), 2, "InvalidSyntax"),
    "a file and a database": (("verify", "--proof", "x", "--replay"), 2, "InvalidSyntax"),
    "a root without a proof": (("verify", "--root", "0" * 64), 2, "InvalidSyntax"),
    "a proof that is not there": (
        ("verify", "--proof", "/nowhere", "--root", "0" * 64),
        2,
        "InvalidSyntax",
    ),
    "the foundation": (("purge", "C:2", "--reason", "x", "--yes"), 1, "ImmutableTarget"),
    "a definition in use": (("concept", "retire", "$ConceptType:Drug"), 2, "ConstraintViolation"),
    "purging for no reason": (("purge", "C:42", "--yes"), 2, "InvalidSyntax"),
    "no database": (("--db", "/nowhere/x.db", "log"), 1, "NotADatabase"),
    "a directory": (("--db", "/", "log"), 1, "NotADatabase"),
    "another file": (("--db", __file__, "log"), 1, "NotADatabase"),
}


@cases(("words", "status", "name"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failure_is_one_message_with_a_hint(
    run: Run, words: tuple[str, ...], status: int, name: str
) -> None:
    done = run(*words)
    assert done.status == status
    assert done.stdout == ""
    message, hint = done.stderr.splitlines()
    assert message.startswith(f"{REGISTRY[name].code} {name}: ")
    assert hint.startswith("  ")
    assert hint.strip()


@cases(("words", "status", "name"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failure_is_one_json_object_with_json(
    run: Run, words: tuple[str, ...], status: int, name: str
) -> None:
    done = run(*words, "--json")
    assert done.status == status
    assert done.stdout == ""
    assert done.error["code"] == REGISTRY[name].code
    assert done.error["name"] == name
    assert done.error["message"]
    assert done.error["hint"]


def test_close_names_are_suggested(run: Run) -> None:
    assert "'search'" in run("serch", "x").stderr
    assert "'Drug'" in run("concept", "get", "Durg", "Aspirin").stderr
    assert "'treats'" in run("edge", "add", "C:42", "traets", "C:46").stderr


def test_a_failed_write_leaves_nothing_behind(run: Run) -> None:
    before = run("snapshot", "--json").object
    run("edge", "add", "Drug:Aspirin", "treats", "Symptom:Nothing")
    run("edge", "add", "C:44", "treats", "C:48", "--weight", "7")
    assert run("snapshot", "--json").object == before


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def stand_in(*_: object, **__: object) -> NoReturn:
        raise error

    return stand_in


def test_a_bug_is_one_line_and_a_traceback_only_on_request(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Graph, "snapshot", raising(ZeroDivisionError("division by zero")))
    done = run("snapshot")
    assert done.status == 1
    assert done.stderr.splitlines()[0] == (
        "KIP_4003 InternalError: ZeroDivisionError: division by zero"
    )
    assert "Traceback" not in done.stderr
    assert run("snapshot", "--json").error["name"] == "InternalError"
    monkeypatch.setenv("MYCEL_DEBUG", "1")
    assert "Traceback" in run("snapshot").stderr


def test_a_failure_of_the_system_names_the_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = PermissionError(13, "Permission denied", "/some/file")
    monkeypatch.setattr(Graph, "snapshot", raising(refusal))
    done = run("snapshot")
    assert done.status == 1
    assert done.stderr.startswith(
        "KIP_4003 InternalError: Permission denied: '/some/file'.\n  Check the path"
    )


def test_an_interrupted_command_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Graph, "verify", raising(KeyboardInterrupt()))
    done = run("verify")
    assert done.status == 130
    assert done.stderr.strip() == "Interrupted."


def test_a_file_that_may_not_be_written_is_refused_clearly(run: Run, tmp_path: Path) -> None:
    done = run("prove", "C:42", "--out", tmp_path)
    assert done.status == 2
    assert "cannot be written: Is a directory." in done.stderr


def test_words_of_other_tools_are_answered_with_the_right_command(run: Run) -> None:
    for words, meant in (
        (("concept", "show", "C:42"), "Did you mean `mycel concept get`?"),
        (("concept", "rm", "C:42"), "Did you mean `mycel concept retire`?"),
        (("branch", "ls"), "Did you mean `mycel branch list`?"),
        (("export", "out.jsonl"), "To write a file: --output out.jsonl."),
    ):
        done = run(*words)
        assert done.status == 2
        assert meant in " ".join(done.stderr.split())
