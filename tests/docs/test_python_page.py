"""docs/python.md leaves no public name out, and the limits it states are the real ones."""

import inspect
import io
import operator
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel import errors
from mycel.engine.result import Result
from mycel.history.history_api import History
from mycel.history.merge_api import Merges
from mycel.model import limits
from mycel.store.query import statements as finding
from tests.cases import cases
from tests.docs.blocks import DOCUMENTS, ROOT, rows_of

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
CLASSES = (mycel.Graph, mycel.GraphView, History, Merges, mycel.Transaction, Result)
VALUES = (
    mycel.Change,
    mycel.Concept,
    mycel.ConceptRow,
    mycel.FindResult,
    mycel.Follow,
    mycel.LogEntry,
    mycel.Memory,
    mycel.Problem,
    mycel.Proposition,
    mycel.PropositionRow,
    mycel.Purged,
    mycel.Report,
    mycel.Retired,
    mycel.Scrubbed,
    mycel.Snapshot,
    mycel.Version,
)


def is_mentioned(name: str) -> bool:
    """Whether a name stands in code: in a line, or in a block."""
    in_code = re.findall(r"```.*?```|`[^`\n]+`", PAGE, re.DOTALL)
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", code) for code in in_code)


def members() -> Iterator[str]:
    for cls in CLASSES:
        for name in vars(cls):
            if not name.startswith("_"):
                yield f"{cls.__name__}.{name}"


def fields() -> Iterator[str]:
    for cls in VALUES:
        for name in inspect.get_annotations(cls):
            yield f"{cls.__name__}.{name}"


@cases("name", mycel.__all__)
def test_every_public_name_is_mentioned(name: str) -> None:
    assert is_mentioned(name)


@cases("member", [*members(), *fields()])
def test_every_public_method_and_field_is_mentioned(member: str) -> None:
    assert is_mentioned(member.partition(".")[2]), member


def test_every_parameter_of_open_has_a_row_with_its_default() -> None:
    parameters = inspect.signature(mycel.open).parameters
    rows = {row[0].strip("`"): row[1] for row in rows_of(PAGE, "Open and close")}
    assert list(rows) == list(parameters)
    for name, parameter in parameters.items():
        if parameter.default is not None and not callable(parameter.default):
            stated = rows[name].strip("`").strip('"')
            assert stated == str(parameter.default), name


def put(db: mycel.Graph, name: str, attributes: dict[str, Any] | None = None, **by: str) -> None:
    db.write(lambda tx: tx.put_concept("Drug", name, attributes), **by)


def nested(levels: int) -> dict[str, Any]:
    value: Any = 0
    for _ in range(levels - 1):
        value = [value]
    return {"a": value}


def retire(db: mycel.Graph, reason: str) -> None:
    put(db, "gone")
    db.write(lambda tx: tx.retire(tx.get_concept("Drug", "gone"), reason=reason))


def find(db: mycel.Graph, limit: int) -> None:
    db.find("C:2", limit=limit)


def padded(command: str, size: int) -> str:
    return f"{command} //".ljust(size)


def nest(db: mycel.Graph, levels: int) -> None:
    inside = "NOT { " * (levels - 1) + '?x {type: "Drug"}' + " }" * (levels - 1)
    db.execute(f'FIND(?d) WHERE {{ ?d {{type: "Drug"}} {inside} }}')


def send(db: mycel.Graph, commands: int) -> None:
    answer = db.request({"commands": ["DESCRIBE DOMAINS"] * commands})
    if "error" in answer:
        raise errors.REGISTRY[answer["error"]["name"]](answer["error"]["message"])


def walk(db: mycel.Graph, hops: int) -> None:
    db.execute(f'FIND(?x) WHERE {{ ({{type: "Drug", name: "-"}}, "part_of"{{1,{hops}}}, ?x) }}')


JSONL: dict[str, Any] = {"format": "jsonl", "mode": "merge"}

# Of each row: the limit, and something that is as large as it is told to be.
ATTEMPTS: dict[str, tuple[int, Callable[[mycel.Graph, int], object]]] = {
    "name of a concept": (limits.NAME_BYTES_MAX, lambda db, n: put(db, "x" * n)),
    "name of a type or predicate": (
        limits.IDENTIFIER_BYTES_MAX,
        lambda db, n: db.write(lambda tx: tx.define_type("x" * n)),
    ),
    "actor": (limits.ACTOR_BYTES_MAX, lambda db, n: put(db, "a", actor="x" * n)),
    "message of a transaction": (
        limits.MESSAGE_BYTES_MAX,
        lambda db, n: put(db, "b", message="x" * n),
    ),
    "reason": (limits.REASON_BYTES_MAX, lambda db, n: retire(db, "x" * n)),
    "attributes": (
        limits.JSON_BYTES_MAX,
        lambda db, n: put(db, "c", {"a": "x" * (n - len('{"a":""}'))}),
    ),
    "levels of nesting": (limits.JSON_DEPTH_MAX, lambda db, n: put(db, "d", nested(n))),
    "a key": (limits.KEY_BYTES_MAX, lambda db, n: put(db, "e", {"x" * n: 1})),
    "an integer": (limits.JSON_INTEGER_MAX, lambda db, n: put(db, "f", {"a": n})),
    "hops of a walk": (limits.HOPS_MAX, lambda db, n: mycel.Follow(max_hops=n)),
    "`limit` of `find`": (limits.FIND_LIMIT_MAX, find),
    "text of a KIP command": (
        limits.COMMAND_BYTES_MAX,
        lambda db, n: db.execute(padded("DESCRIBE DOMAINS", n)),
    ),
    "text of a capsule": (
        limits.CAPSULE_BYTES_MAX,
        lambda db, n: db.apply_capsule(padded("UPSERT { }", n)),
    ),
    "text of a schema": (
        limits.SCHEMA_BYTES_MAX,
        lambda db, n: db.schema.plan("node A {}".ljust(n), check_data=False),
    ),
    "a line of a file": (
        limits.LINE_BYTES_MAX,
        lambda db, n: db.load(io.BytesIO(b'{"type":"Drug","name":"-"}'.ljust(n)), **JSONL),
    ),
    "`max_nodes` of": (
        limits.TRAVERSE_NODES_MAX,
        lambda db, n: db.traverse(("Person", "$self"), max_nodes=n),
    ),
    "`max_cost` of": (
        limits.TRAVERSE_COST_MAX,
        lambda db, n: db.traverse(("Person", "$self"), max_cost=n),
    ),
    "a regular expression": (
        limits.PATTERN_BYTES_MAX,
        lambda db, n: db.execute(
            'FIND(?p.name) WHERE { ?p {type: "Person"} FILTER(REGEX(?p.name, :p)) }', p="x" * n
        ),
    ),
    "variables of a command": (
        limits.VARIABLES_MAX,
        lambda db, n: db.execute(
            "FIND(?v0.name) WHERE {" + "".join(f' ?v{at} {{name: "-"}}' for at in range(n)) + "}"
        ),
    ),
    "nesting of a command": (limits.NESTING_DEPTH_MAX, nest),
    "commands in a request": (limits.BATCH_COMMANDS_MAX, send),
    "bound on hops": (limits.HOP_BOUND_MAX, walk),
}
# What is too large to be tried: the same check with a smaller limit in its place.
RESULTS = {
    "rows of a result": ("RESULT_ROWS_MAX", limits.RESULT_ROWS_MAX),
    "text in a result": ("RESULT_BYTES_MAX", limits.RESULT_BYTES_MAX),
}
LIMITS = {row[0]: (int(row[1]), row[2].strip("`")) for row in rows_of(PAGE, "Limits")}
TRIED = [row for row in LIMITS if not row.startswith(tuple(RESULTS))]


@pytest.fixture(scope="module")
def db() -> Iterator[mycel.Graph]:
    with mycel.open() as db:
        db.write(lambda tx: tx.define_type("Drug"))
        yield db


@pytest.mark.parametrize("row", TRIED)
def test_a_stated_limit_is_kept_and_what_is_beyond_it_is_refused(row: str, db: mycel.Graph) -> None:
    stated, error = LIMITS[row]
    limit, attempt = next(each for start, each in ATTEMPTS.items() if row.startswith(start))
    assert stated == limit
    attempt(db, limit)
    with pytest.raises(errors.REGISTRY[error]) as caught:
        attempt(db, limit + 1)
    assert caught.value.name == error


@pytest.mark.parametrize("start", RESULTS)
def test_a_result_beyond_its_limit_is_refused(
    start: str, db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, limit = RESULTS[start]
    ((stated, error),) = (LIMITS[row] for row in LIMITS if row.startswith(start))
    assert stated == limit
    command = 'FIND(?t.name) WHERE { ?t {type: "$ConceptType"} }'
    names = db.execute(command).value
    size = len(names) if name == "RESULT_ROWS_MAX" else sum(map(len, names))
    monkeypatch.setattr(finding, "CELLS_UNCOUNTED", 1)  # So few rows would come in one batch.
    monkeypatch.setattr(finding, name, size)
    assert db.execute(command).value == names
    monkeypatch.setattr(finding, name, size - 1)
    with pytest.raises(errors.REGISTRY[error]):
        db.execute(command)


def test_every_limit_that_a_caller_can_meet_is_stated() -> None:
    inner = {"TRANSACTION_SAVED_ELEMENTS_MAX", "INTEGER_MIN", "INTEGER_MAX"}
    # Of tools and their messages; docs/mcp.md states them.
    inner |= {"MESSAGE_LINE_BYTES_MAX", "TOOL_ARGUMENT_BYTES_MAX", "TOOL_RESULT_TOKENS_MAX"}
    values = {v for n, v in vars(limits).items() if n.isupper() and n not in inner}
    assert values == {stated for stated, _ in LIMITS.values()}
    assert str(limits.INTEGER_MIN) in PAGE


CALL = re.compile(r"`(?:(db|mycel)\.)?([\w.]+)\(([^`]*)\)`")
SHOWN_VALUE = re.compile(r"^\w+=(?:\([^)]*\)|[^,]*)")
LEFT_OUT = {"...", "…"}


def callables(owner: str, name: str) -> list[Callable[..., Any]]:
    """The public functions that a name in a document may stand for."""
    owners = (
        [mycel.open()]
        if owner == "db"
        else [mycel]
        if owner == "mycel"
        else [*CLASSES, mycel.Knowledge, mycel.SeveralWorkspaces, mycel]
    )
    return [
        function
        for one in owners
        for function in [operator.attrgetter(name)(one) if has(one, name) else None]
        if callable(function)
    ]


def has(owner: object, name: str) -> bool:
    for part in name.split("."):
        if not hasattr(owner, part):
            return False
        owner = getattr(owner, part)
    return True


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(function).parameters
    return {name: shown for name, shown in parameters.items() if name != "self"}


def misfit(arguments: str, function: Callable[..., Any]) -> str:
    """Why a call in a document is none of this function; empty if it fits.

    A call that shows a default value is a signature: it has all parameters, or ends with "…".
    """
    real = parameters_of(function)
    pieces = [
        piece.strip() for piece in re.split(r",(?![^\[({]*[\])}])", arguments) if piece.strip()
    ]
    pairs = [piece.partition("=") for piece in pieces if piece not in LEFT_OUT]
    defaults = {name: repr(shown.default).replace("'", '"') for name, shown in real.items()}
    if any(value and value == defaults.get(name) for name, _, value in pairs):
        bare = [shown.replace(annotation=shown.empty) for shown in real.values()]
        signature = str(inspect.Signature(bare))[1:-1].replace("'", '"').replace(" /,", "")
        given = [re.sub(r"=(\.\.\.|…)$", "=", piece) for piece in pieces]
        rest = signature
        for piece in given:
            if piece in LEFT_OUT:
                return ""
            if not rest.startswith(piece):
                return f"it is ({signature})"
            rest = rest[len(piece) :] if not piece.endswith("=") else SHOWN_VALUE.sub("", rest, 1)
            if rest and not rest.startswith(", "):
                return f"it is ({signature})"
            rest = rest[2:]
        return f"it is ({signature})" if rest else ""
    has_more = any(shown.kind is shown.VAR_KEYWORD for shown in real.values())
    for name, equals, _ in pairs:
        if equals and name.isidentifier() and name not in real and not has_more:
            return f"there is no {name}"
        if not equals and name in real and real[name].kind is inspect.Parameter.KEYWORD_ONLY:
            return f"{name} is given by keyword only"
    return ""


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_calls_and_signatures_in_the_text_are_those_of_the_functions(path: Path) -> None:
    checked, wrong = 0, []
    for owner, name, arguments in CALL.findall(path.read_text(encoding="utf-8")):
        functions = callables(owner, name)
        if owner and not functions:
            wrong.append(f"{owner}.{name}: there is no such function")
        reasons = [misfit(arguments, function) for function in functions]
        checked += bool(functions)
        if reasons and "" not in reasons:
            wrong.append(f"{name}({arguments}): {reasons[0]}")
    assert wrong == []
    assert checked >= (80 if path.name == "python.md" else 0)
