"""Commands at the edge of what numbers, cursors and results can be."""

from collections.abc import Iterator

import pytest

import mycel
from mycel.engine.page_cursor import cursor_after, place_of
from mycel.errors import DuplicateExists, InvalidSyntax

MANY = 'FIND(?s.name) WHERE { ?s {type: "Stone"} } LIMIT :n'


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with mycel.open(core_capsules=False) as db:
        db.write(lambda tx: tx.define_type("Stone"))
        db.write(lambda tx: [tx.put_concept("Stone", f"s{n}", {"n": n}) for n in range(30)])
        yield db


def test_the_largest_limit_is_a_limit_like_any_other(db: mycel.Graph) -> None:
    assert len(db.execute(MANY, n=2**63 - 1).value) == 30
    update = 'UPDATE ?s SET ATTRIBUTES { seen: true } WHERE { ?s {type: "Stone"} } LIMIT :n'
    assert db.execute(update, n=2**63 - 1).value == {"updated": 30, "matched": 30}


@pytest.mark.parametrize("function", ["SUM", "AVG"])
def test_what_no_float_can_hold_is_null(db: mycel.Graph, function: str) -> None:
    values = (2**63 - 1, 2**63 - 1, 1.7e308, 1.7e308)
    db.write(
        lambda tx: [tx.put_concept("Stone", f"big{v}{n}", {"z": v}) for n, v in enumerate(values)]
    )
    total = f'FIND({function}(?s.attributes.z)) WHERE {{ ?s {{type: "Stone"}} }}'
    assert db.execute(total).value is None
    assert db.execute(total).to_json() == b'{"result":null}'


@pytest.mark.parametrize(
    "place", [5, [1], ["a", "b"], [None, None], [1, -5, "s"], [1.5, 0], [2**40, 3, "s"]]
)
def test_a_cursor_made_by_hand_is_refused(db: mycel.Graph, place: object) -> None:
    purposes: list[str] = []

    def note(purpose: str, said: object) -> str:
        purposes.append(purpose)
        return cursor_after(purpose, said)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mycel.engine.find.cursor_after", note)
        cursor = db.execute(MANY, n=3).next_cursor
    assert cursor is not None
    assert place_of(cursor, purposes[0])[1] == 3
    with pytest.raises(InvalidSyntax):
        db.execute(f"{MANY} CURSOR :c", n=3, c=cursor_after(purposes[0], place))


def test_a_merge_of_many_names_a_few_of_them(db: mycel.Graph) -> None:
    merge = 'MERGE CONCEPT ?a INTO ?b WHERE { ?a {type: "Stone"} ?b {type: "Stone"} }'
    with pytest.raises(DuplicateExists) as caught:
        db.execute(merge)
    assert caught.value.message.count("C:") == 3
    assert "and more" in caught.value.message


def test_a_limit_on_targets_does_not_sort_every_row(db: mycel.Graph) -> None:
    crossed = 'UPDATE ?a SET ATTRIBUTES { z: 1 } WHERE { ?a {type: "Stone"} ?b {type: "Stone"} }'
    sql = db.explain(crossed)["sql"]
    assert sql.startswith("SELECT * FROM (SELECT DISTINCT")
    assert sql.endswith("LIMIT -1) u ORDER BY 1")
    assert db.execute(crossed).value == {"updated": 30, "matched": 30}


def test_a_search_is_stopped_at_its_deadline() -> None:
    with mycel.open(timeout_s=0) as db:
        assert db.request({"command": 'SEARCH CONCEPT "event"'})["error"]["code"] == "KIP_4001"
