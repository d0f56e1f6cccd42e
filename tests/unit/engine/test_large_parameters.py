"""A large parameter that a command uses often is converted once, and work stops in time.

No test looks at a clock: an allowance is over after a number of looks at it, and conversions are
counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mycel
from mycel.engine.values import TEMPLATE_VALUES_MAX
from mycel.errors import ExecutionTimeout, ResourceExhausted
from mycel.ir import query as ir
from mycel.model import allowance
from mycel.plan import bind
from tests.prepared import NEW

USES = 500
MANY = list(range(2_000))


class Looks:
    """An allowance that is over after some looks at it."""

    holds_turn = is_brief = outgrew = False

    def __init__(self, looks: int) -> None:
        self.left = looks

    def is_over(self) -> bool:
        self.left -= 1
        return self.left < 0

    def charge(self, size: int) -> None:
        """Memory is not limited here."""

    def wait_s(self) -> float:
        return 60.0

    def turn_s(self) -> float:
        return 60.0


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as graph:
        yield graph


def find(test: str) -> str:
    return f'FIND(?d) WHERE {{ ?d {{type: "Domain"}} FILTER({" || ".join([test] * USES)}) }}'


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[Any]:
    calls: list[Any] = []
    original: Callable[..., Any] = getattr(module, name)

    def count(value: Any) -> Any:
        if isinstance(value, list):
            calls.append(value)
        return original(value)

    monkeypatch.setattr(module, name, count)
    return calls


@pytest.mark.parametrize(
    ("test", "values"),
    [
        ("IN(?d.attributes.n, :many)", MANY),
        ("IN(?d.attributes.n, :many)", [*MANY, "x"]),
        ("?d.attributes.n == :many", MANY),
    ],
)
def test_a_list_is_looked_through_once_however_often_it_is_used(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch, test: str, values: list[Any]
) -> None:
    kinds = counted(monkeypatch, bind, "list_kind")
    texts = counted(monkeypatch, ir, "canonical")
    assert db.execute(find(test), many=values).value == []
    assert len(kinds) <= 2
    assert len(texts) <= 4


COMMANDS = [
    find("IN(?d.attributes.n, :many)"),
    find("?d.attributes.n == :many"),
    "UPSERT { "
    + " ".join(
        f'CONCEPT {{ {{type: "Domain", name: "d{at}"}} SET ATTRIBUTES {{v: :many, w: 1}} }}'
        for at in range(USES)
    )
    + " }",
    "UPSERT { "
    + " ".join(
        f'CONCEPT {{ {{type: "Domain", name: "d{at}"}} SET ATTRIBUTES :map }}' for at in range(USES)
    )
    + " }",
]


@pytest.mark.parametrize("command", COMMANDS, ids=["in", "equal", "upsert", "upsert map"])
def test_work_stops_when_its_allowance_is_over(db: mycel.Graph, command: str) -> None:
    given = {"many": MANY, "map": {"description": "x", "v": MANY}}
    before = db.snapshot()
    for looks in (0, 3, 20):
        with allowance.using(Looks(looks)), pytest.raises(ExecutionTimeout):
            db.execute(command, given)
    assert db.snapshot() == before


def test_a_template_that_multiplies_a_parameter_is_refused(db: mycel.Graph) -> None:
    uses = TEMPLATE_VALUES_MAX // len(MANY) + 1
    listed = ", ".join([":many"] * uses)
    command = f'FIND(?d) WHERE {{ ?d {{type: "Domain"}} FILTER(IN(?d.attributes.n, [{listed}])) }}'
    with pytest.raises(ResourceExhausted, match="more than"):
        db.execute(command, many=MANY)
