"""The tables of lifetimes follow every change, at every state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import mycel
from tests.prepared import NEW
from tests.unit.store.given import raw

NAMES = 'FIND(?n.name) WHERE { ?n {type: "Note"} } ORDER BY ?n.name'
LINKS = 'FIND(COUNT(?l)) WHERE { ?l (?a, "about", ?b) }'


def begin(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type("Note")
        tx.define_predicate("about")
        for name in "abcd":
            tx.put_concept("Note", name)
        for subject, object_ in ("ab", "bc", "cd"):
            tx.put_proposition(("Note", subject), "about", ("Note", object_))


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as opened:
        begin(opened)
        yield opened


def archive(db: mycel.Graph, name: str, verb: str = "ARCHIVE") -> None:
    db.execute(f'{verb} ?n WHERE {{ ?n {{type: "Note", name: :name}} }}', {"name": name})


def names(db: mycel.Graph, clause: str = "") -> list[str]:
    return [name for (name,) in db.execute(NAMES.replace("WHERE", f"{clause} WHERE", 1)).rows]


def position(db: mycel.Graph) -> int:
    return next(iter(db.history.log(limit=1))).seq


def test_each_state_shows_what_was_not_archived_then(db: mycel.Graph) -> None:
    positions, shown = [position(db)], [list("abcd")]
    for verb, name in (("ARCHIVE", "b"), ("ARCHIVE", "d"), ("RESTORE", "b"), ("ARCHIVE", "a")):
        archive(db, name, verb)
        positions.append(position(db))
        shown.append(names(db))
    assert shown[-1] == ["b", "c"]
    for at, then in zip(positions, shown, strict=True):
        assert names(db, f"AS OF {at}") == then
    assert db.execute(LINKS.replace("WHERE", f"AS OF {positions[1]} WHERE")).rows == [(1,)]
    assert not db.verify().problems


def test_links_at_two_archived_ends_come_back_with_the_second(db: mycel.Graph) -> None:
    for name in "bc":
        archive(db, name)
    assert db.execute(LINKS).rows == [(0,)]
    archive(db, "b", "RESTORE")
    assert db.execute(LINKS).rows == [(1,)]
    archive(db, "c", "RESTORE")
    assert db.execute(LINKS).rows == [(3,)]
    assert not db.verify().problems


def test_new_links_at_an_archived_element_are_hidden_one_by_one_and_in_bulk(
    db: mycel.Graph,
) -> None:
    archive(db, "b")
    db.write(lambda tx: tx.put_proposition(("Note", "d"), "about", ("Note", "b")))
    rows = [mycel.PropositionRow(("Note", name), "about", ("Note", "b")) for name in "acd"]
    rows += [mycel.PropositionRow(("Note", "a"), "about", ("Note", name)) for name in "cd"]
    db.write(lambda tx: tx.put_propositions(rows))
    assert db.execute(LINKS).rows == [(3,)]
    assert not db.verify().problems


def test_a_transaction_sees_what_it_has_archived_itself(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.update(("Note", "b"), metadata={"archived_at": "2026-01-01"})
        tx.retire(("Note", "d"))
        tx.put_concept("Note", "e", metadata={"archived_at": "2026-01-01"})
        tx.update(("Note", "e"), drop_metadata=["archived_at"])
    assert names(db) == ["a", "c", "e"]
    assert not db.verify().problems


def test_removed_revived_and_purged_elements_leave_no_row_in_force(db: mycel.Graph) -> None:
    for name in "ab":
        archive(db, name)
    db.write(lambda tx: tx.retire(("Note", "a")))
    db.write(lambda tx: tx.put_concept("Note", "a"))
    db.purge(("Note", "b"), reason="asked for")
    assert names(db) == ["a", "c", "d"]
    assert not db.verify(replay=True).problems


def test_branches_and_merges_carry_what_is_archived(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db") as db:
        begin(db)
        db.branches.create("draft")
        with mycel.open(tmp_path / "graph.db", branch="draft") as draft:
            archive(draft, "b")
        assert names(db) == list("abcd")
        db.merge("draft")
        assert names(db) == ["a", "c", "d"]
        assert not db.verify().problems


def test_random_changes_keep_the_tables_right(db: mycel.Graph, seed: int) -> None:
    random = Random(seed)
    times = (None, "2020-01-01", "2030-05-05T10:00:00Z", "never")
    for _ in range(60):
        name = random.choice("abcdef")
        match random.randrange(6):
            case 0:
                metadata = {
                    key: random.choice(times)
                    for key in ("archived_at", "valid_from", "valid_until", "expires_at")
                    if random.random() < 0.5
                }
                if random.random() < 0.5:
                    ends = [{"valid_from": begin} for begin in random.sample(times, 2) if begin]
                    metadata["former_periods"] = random.choice((ends, ends, None, "never"))
                db.write(lambda tx, n=name, m=metadata: tx.put_concept("Note", n, None, m))
            case 1:
                keys = '{"archived_at", "valid_until"}'
                db.execute(
                    f"DELETE METADATA {keys} FROM ?n WHERE {{ ?n {{name: :n}} }}", {"n": name}
                )
            case 2:
                other = random.choice("abcdef")
                if other != name:
                    db.write(
                        lambda tx, n=name, o=other: (
                            tx.put_concept("Note", n),
                            tx.put_concept("Note", o),
                            tx.put_proposition(("Note", n), "about", ("Note", o)),
                        )
                    )
            case 3:
                db.execute("DELETE CONCEPT ?n DETACH WHERE { ?n {name: :n} }", {"n": name})
            case 4:
                db.execute("ARCHIVE ?n WHERE { ?n {name: :n} }", {"n": name})
            case _:
                db.execute("RESTORE ?n WHERE { ?n {name: :n} }", {"n": name})
    assert not db.verify(replay=True).problems


def test_damage_to_the_tables_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with mycel.open(path) as db:
        begin(db)
        archive(db, "b")
        db.execute('UPDATE ?n SET METADATA {valid_until: "2030-01-01"} WHERE { ?n {name: "a"} }')
        periods = [{"valid_from": "2031-01-01", "valid_until": "2032-01-01"}]
        db.write(lambda tx: tx.update(("Note", "a"), metadata={"former_periods": periods}))
    for damage, message in (
        ("DELETE FROM hidden WHERE element & 1", "is missing"),
        ("UPDATE hidden SET element = element + 2 WHERE element & 1 = 0", "exists, although"),
        ("UPDATE lifetime SET valid_until = 1", "differs"),
        ("UPDATE hidden SET from_seq = to_seq", "before it begins"),
        ("DELETE FROM former_period", "former periods"),
        ("UPDATE former_period SET valid_until = valid_until + 1", "former periods"),
        ("UPDATE former_period SET element = element + 2", "former periods"),
        (
            "INSERT INTO former_period SELECT element, 1, 2, from_seq, to_seq FROM former_period",
            "former periods",
        ),
        ("UPDATE former_period SET from_seq = to_seq", "before it begins"),
    ):
        damaged = tmp_path / "damaged.db"
        damaged.write_bytes(path.read_bytes())
        with raw(damaged) as connection:
            connection.execute(damage)
        with mycel.open(damaged) as db:
            found = [problem.what for problem in db.verify().problems]
        assert any(message in text for text in found), (damage, found)


@pytest.mark.parametrize("tables", [("hidden", "lifetime", "former_period"), ("former_period",)])
def test_a_file_without_the_tables_gets_them_when_it_is_opened(
    tmp_path: Path, tables: tuple[str, ...]
) -> None:
    path = tmp_path / "graph.db"
    former = {"valid_until": "2021-01-01"}
    with mycel.open(path) as db:
        begin(db)
        archive(db, "b")
        metadata = {"valid_from": "2024-01-01", "former_periods": [former]}
        db.write(lambda tx: tx.update(("Note", "c"), metadata=metadata))
    with raw(path) as connection:
        for table in tables:
            connection.execute(f"DROP TABLE {table}")
    with pytest.raises(mycel.errors.NotADatabase, match="development version"):
        mycel.open(path, readonly=True)
    with mycel.open(path) as db:
        assert names(db) == ["a", "c", "d"]
        assert names(db, 'FOR TIME "2020-05-05"') == ["a", "c", "d"]
        assert names(db, 'FOR TIME "2022-05-05"') == ["a", "d"]
        assert db.execute(LINKS).rows == [(1,)]
        assert not db.verify(replay=True).problems


def test_a_write_to_an_archived_element_says_that_nobody_will_see_it(db: mycel.Graph) -> None:
    change = 'UPDATE ?n SET ATTRIBUTES { seen: :n } WHERE { ?n {type: "Note", name: "b"} }'
    assert not db.execute(change, {"n": 1}).warnings
    archive(db, "b")
    (warning,) = db.execute(change, {"n": 2}).warnings
    assert "'b': archived" in warning
    assert "RESTORE" in warning
    archive(db, "b", "RESTORE")
    assert not db.execute(change, {"n": 3}).warnings


def test_a_new_note_is_not_compared_with_an_archived_one() -> None:
    text = "Invoices are made at night because the ledger is locked during the day by the bank."
    with NEW.opened() as db:
        notes = mycel.Knowledge(db, workspace="shop")
        notes.add("billing/nightly", content=text)
        assert any(
            "is similar to" in each for each in notes.add("billing/again", content=text).warnings
        )
        for name in ("nightly", "again"):
            uri = f"concept://shop/billing/{name}"
            db.execute("ARCHIVE ?n WHERE { ?n {name: :uri} }", {"uri": uri})
        assert not notes.add("billing/third", content=text).warnings
