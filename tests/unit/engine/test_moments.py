"""Times in queries: the order of a DateTime is the order of time, however a command spells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.engine.schema_guard import APPLYING
from tests.cases import cases
from tests.prepared import NEW

NOON = "2024-01-31T12:00:00Z"
TIMES = {
    "before": "2024-01-31T11:59:59.999Z",
    "noon": NOON,
    "soon": "2024-01-31T12:00:00.001Z",
    "half": "2024-01-31T12:00:00.5Z",
    "after": "2024-01-31T12:00:01Z",
}
ORDER = list(TIMES)
SCHEMA = """
node Event { title: String @key  at: DateTime?%s  times: [DateTime]?  note: String? }
node Room { title: String @key }
edge In: Event -> Room { since: DateTime? }
"""


@pytest.fixture(params=["", " @index"], ids=["scanned", "indexed"])
def db(request: pytest.FixtureRequest) -> Iterator[mycel.Graph]:
    with NEW.opened() as db:
        db.schema.apply(SCHEMA % request.param)
        rows: list[dict[str, Any]] = [
            {"type": "Event", "data": {"title": title, "at": at, "times": [at], "note": at}}
            for title, at in reversed(TIMES.items())
        ]
        rows += [{"type": "Room", "data": {"title": "hall"}}]
        rows += [
            {"edge": "In", "from": title, "to": "hall", "data": {"since": at}}
            for title, at in TIMES.items()
        ]
        db.load(rows)
        yield db


def found(db: mycel.Graph, condition: str, **parameters: Any) -> list[Any]:
    """The events of which it holds, in the order of time."""
    value = db.execute(
        f'FIND(?e.name) WHERE {{ ?e {{type: "Event"}} FILTER({condition}) }}'
        " ORDER BY ?e.attributes.at",
        parameters,
    ).value
    assert isinstance(value, list)
    return value


COMPARED = [
    (">", NOON, ["soon", "half", "after"]),
    (">=", NOON, ["noon", "soon", "half", "after"]),
    ("<", NOON, ["before"]),
    ("<=", NOON, ["before", "noon"]),
    ("==", NOON, ["noon"]),
    ("!=", NOON, ["before", "soon", "half", "after"]),
    (">=", "2024-01-31T12:00:00.000Z", ["noon", "soon", "half", "after"]),
    ("==", "2024-01-31T13:00:00.5+01:00", ["half"]),
    ("==", "2024-01-31 12:00:00.500", ["half"]),
    # Between two milliseconds.
    (">=", "2024-01-31T12:00:00.0009Z", ["soon", "half", "after"]),
    ("<", "2024-01-31T12:00:00.0001Z", ["before", "noon"]),
    ("==", "2024-01-31T12:00:00.0001Z", []),
    # No times, and compared as they are.
    (">=", "2024-01-31", ORDER),
    ("<", "soon", ORDER),
]


@cases(("operator", "moment", "expected"), COMPARED)
def test_a_time_is_compared_as_a_time(
    db: mycel.Graph, operator: str, moment: str, expected: list[str]
) -> None:
    assert found(db, f'?e.attributes.at {operator} "{moment}"') == expected
    assert found(db, f"?e.attributes.at {operator} :at", at=moment) == expected
    turned = operator.translate(str.maketrans("<>", "><"))
    assert found(db, f'"{moment}" {turned} ?e.attributes.at') == expected


def test_a_list_of_times_holds_them_however_they_are_spelled(db: mycel.Graph) -> None:
    wanted = ["2024-01-31T12:00:00.50Z", "2024-01-31T13:00:00+01:00", "never"]
    assert found(db, "IN(?e.attributes.at, :list)", list=wanted) == ["noon", "half"]
    listed = ", ".join(f'"{each}"' for each in wanted)
    assert found(db, f"IN(?e.attributes.at, [{listed}])") == ["noon", "half"]
    assert found(db, "CONTAINS(?e.attributes.times, :at)", at=NOON) == ["noon"]
    assert found(db, f'CONTAINS(?e.attributes.times, "{NOON}")') == ["noon"]
    assert found(db, 'CONTAINS(?e.attributes.at, "12:00:00")') == ["noon", "soon", "half"]


@pytest.mark.parametrize("other", [None, 5, {"b": 1, "a": [NOON]}])
def test_a_list_that_holds_more_than_times_finds_them_too(db: mycel.Graph, other: Any) -> None:
    wanted = ["2024-01-31T13:00:00+01:00", other]
    assert found(db, "IN(?e.attributes.at, :list)", list=wanted) == ["noon"]
    assert found(db, "IN(?e.attributes.at, [:at, :other])", at=wanted[0], other=other) == ["noon"]


def test_the_order_the_least_and_the_greatest_are_those_of_time(db: mycel.Graph) -> None:
    descending = 'FIND(?e.name) WHERE { ?e {type: "Event"} } ORDER BY ?e.attributes.at DESC'
    assert found(db, "IS_NOT_NULL(?e.attributes.at)") == ORDER
    assert db.execute(descending).value == ORDER[::-1]
    within = "2024-01-31T12:00:00"
    extremes = db.execute(
        'FIND(MIN(?e.attributes.at), MAX(?e.attributes.at)) WHERE { ?e {type: "Event"}'
        " FILTER(STARTS_WITH(?e.attributes.at, :second)) }",
        second=within,
    ).value
    assert extremes == [f"{within}.000Z", f"{within}.500Z"]


def test_two_times_are_compared_with_each_other(db: mycel.Graph) -> None:
    value = db.execute(
        "FIND(?a.name, ?b.name) WHERE {"
        ' ?a {type: "Event", name: "noon"} ?b {type: "Event"}'
        " FILTER(?b.attributes.at > ?a.attributes.at) } ORDER BY ?b.attributes.at"
    ).value
    assert value == [["noon", "noon", "noon"], ["soon", "half", "after"]]


def test_links_and_the_ends_of_declared_edges_know_their_times(db: mycel.Graph) -> None:
    links = 'FIND(?e.name) WHERE { ?l (?e, "In", ?r) FILTER(?l.attributes.since == :at) }'
    assert db.execute(links, at=NOON).value == ["noon"]
    ends = 'FIND(?e.name) WHERE { (?e, "In", ?r) FILTER(?e.attributes.at == :at) }'
    assert db.execute(ends, at=NOON).value == ["noon"]
    inside = (
        'FIND(?e.name) WHERE { ?e {type: "Event"}'
        ' NOT { (?e, "In", ?r) FILTER(?e.attributes.at != :at) } }'
    )
    assert db.execute(inside, at=NOON).value == ["noon"]
    optional = (
        'FIND(?e.name) WHERE { ?r {type: "Room"} OPTIONAL { (?e, "In", ?r) }'
        " FILTER(?e.attributes.at == :at) }"
    )
    assert db.execute(optional, at=NOON).value == ["noon"]


def test_of_several_predicates_each_has_to_declare_the_time(db: mycel.Graph) -> None:
    db.schema.apply(
        SCHEMA % ""
        + "edge Near: Event -> Room { since: DateTime? }\n"
        + "edge Past: Event -> Room { since: String? }\n",
        allow_data_loss=True,
    )
    db.load([{"edge": "Near", "from": "noon", "to": "hall", "data": {"since": NOON}}])
    db.load([{"edge": "Past", "from": "half", "to": "hall", "data": {"since": NOON}}])
    asked = (
        "FIND(?e.name, ?l.predicate) WHERE { ?l (?e, %s, ?r) FILTER(?l.attributes.since == :at) }"
    )
    rows = db.execute(asked % '"In" | "Near"', at="2024-01-31T13:00:00+01:00").rows
    assert sorted(rows) == [("noon", "In"), ("noon", "Near")]
    assert db.execute(asked % '"Near" | "Past"', at=NOON).rows == [("half", "Past")]
    ends = 'FIND(?e.name) WHERE { (?e, "Near" | "Past", ?r) FILTER(?e.attributes.at == :at) }'
    assert db.execute(ends, at=NOON).value == ["noon"]


def test_an_optional_that_does_not_match_says_nothing_about_what_is_there(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type("Memo")
        tx.put_concept("Memo", "m", {"at": NOON})
    memo = (
        'FIND(?m.name) WHERE { ?m {type: "Memo"} OPTIONAL { ?m {type: "Event"} (?m, "In", ?r) }'
        " FILTER(?m.attributes.at == :at) }"
    )
    assert db.execute(memo, at=NOON).value == ["m"]
    either = (
        'FIND(?m.name) WHERE { ?r {type: "Room"}'
        ' OPTIONAL { ?m {type: "Event"} UNION { ?m {type: "Memo"} } }'
        " FILTER(?m.attributes.at == :at) }"
    )
    assert db.execute(either, at=NOON).value == ["m"]
    assert db.execute(either, at="2024-01-31T12:00:00.000Z").value == ["noon"]


def test_what_is_no_time_in_the_schema_stays_text(db: mycel.Graph) -> None:
    assert found(db, f'?e.attributes.note == "{NOON}"') == ["noon"]
    assert found(db, '?e.attributes.note == "2024-01-31T12:00:00.000Z"') == []
    with db.transaction() as tx:
        tx.define_type("Memo")
        tx.put_concept("Memo", "m", {"at": NOON})
    command = 'FIND(?m.name) WHERE { ?m {type: "Memo"} FILTER(?m.attributes.at == :at) }'
    assert db.execute(command, at=NOON).value == ["m"]


def test_what_is_changed_and_removed_is_found_by_its_time(db: mycel.Graph) -> None:
    db.execute(
        'UPDATE ?e SET ATTRIBUTES {note: "changed"} WHERE { ?e {type: "Event"}'
        " FILTER(?e.attributes.at > :at) }",
        at=NOON,
    )
    assert found(db, '?e.attributes.note == "changed"') == ["soon", "half", "after"]
    db.execute(
        'DELETE CONCEPT ?e DETACH WHERE { ?e {type: "Event"} FILTER(?e.attributes.at <= :at) }',
        at=NOON,
    )
    assert found(db, "IS_NOT_NULL(?e.attributes.at)") == ["soon", "half", "after"]


def test_a_past_state_is_asked_with_the_schema_of_then(db: mycel.Graph) -> None:
    then = db.snapshot().seq
    db.schema.apply(SCHEMA % "" + "node Other {}")
    events = 'WHERE { ?e {type: "Event"} FILTER(?e.attributes.at == :at) }'
    command = f"FIND(?e.name) AS OF {then} {events}"
    assert db.execute(command, at=NOON).value == ["noon"]
    assert db.verify().ok


def test_a_key_of_a_time_is_the_time_as_people_write_it() -> None:
    with NEW.opened() as db:
        db.schema.apply("node Tick { at: DateTime @key  n: I32? }")
        db.execute(f'UPSERT {{ CONCEPT ?t {{ {{type: "Tick", name: "{NOON}"}} }} }}')
        db.load(
            [{"type": "Tick", "data": {"at": "2024-01-31T13:00:00+01:00", "n": 1}}], mode="merge"
        )
        tick = db.get_concept("Tick", NOON)
        assert tick is not None
        assert tick.attributes == {"at": "2024-01-31T12:00:00.000Z", "n": 1}
        db.execute(f'UPDATE ?t SET ATTRIBUTES {{n: 2}} WHERE {{ ?t {{name: "{NOON}"}} }}')
        changed = db.get_concept("Tick", NOON)
        assert changed is not None
        assert changed.attributes["n"] == 2


def test_times_of_another_spelling_get_theirs_when_their_row_changes() -> None:
    with NEW.opened() as db:
        db.schema.apply("node Tick { at: DateTime @key  seen: DateTime @index  n: I32? }")
        with db.transaction() as tx:
            tx.memo[APPLYING] = True  # As if it had been written when there was another spelling.
            tx.put_concept("Tick", NOON, {"at": NOON, "seen": NOON})
        assert db.load([{"at": NOON, "n": 1}], type="Tick", mode="merge").updated == 1
        tick = db.get_concept("Tick", NOON)
        assert tick is not None
        spelled = dict.fromkeys(("at", "seen"), "2024-01-31T12:00:00.000Z")
        assert tick.attributes == {"n": 1, **spelled}
        assert db.verify().ok
