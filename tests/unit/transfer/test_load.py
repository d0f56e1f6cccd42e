"""Modes, order, all or nothing, and what a load says about itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    DatabaseReadOnly,
    DuplicateExists,
    ImmutableTarget,
    InvalidValueType,
    NotFound,
)
from mycel.transfer import load, row_spool
from tests.prepared import NEW
from tests.unit.transfer.conftest import (
    SCHEMA,
    Write,
    attributes,
    knows,
    links,
    names,
    person,
    refused,
)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "CHUNK_ROWS", 3)


def people(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [person(f"p{at}") for at in range(start, start + count)]


def counts(loaded: Any) -> tuple[int, ...]:
    return loaded.created, loaded.updated, loaded.unchanged, loaded.removed


# Order.


@pytest.mark.parametrize("memory", [1 << 20, 10])
def test_edges_may_come_before_the_nodes_that_they_join(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch, memory: int
) -> None:
    monkeypatch.setattr(row_spool, "MEMORY_BYTES_MAX", memory)
    edges = [knows(f"p{at}", f"p{at + 1}", data={"since": "2020-01-01"}) for at in range(9)]
    loaded = db.load([*edges, *people(10), knows("p9", "p0", weight=0.2)])
    assert (loaded.concepts, loaded.links) == (10, 10)
    assert len(links(db, "Knows")) == 10
    assert db.verify(replay=True).ok


def test_edges_may_join_what_is_there_already(db: mycel.Graph) -> None:
    db.load(people(3))
    db.load([knows("p0", "p1"), person("new"), knows("p2", "new")])
    assert links(db, "Knows") == [("p0", "p1"), ("p2", "new")]


def test_an_end_that_never_comes_is_told_with_the_line_of_its_edge(
    db: mycel.Graph, write: Write
) -> None:
    rows = [person("ada"), knows("ada", "ghost"), *people(7)]
    error = refused(db, write("a.jsonl", rows))
    assert isinstance(error, NotFound)
    assert (error.data["line"], error.data["type"]) == (2, "Knows")
    assert (error.data["property"], error.data["value"]) == ("to", "ghost")


def test_an_end_is_told_with_its_own_file(db: mycel.Graph, write: Write) -> None:
    first = write("first.jsonl", [person("ada"), knows("ada", "bob")])
    second = write("second.jsonl", [person("bob"), {"edge": "Wrote", "from": "bob", "to": "n"}])
    error = refused(db, [first, second])
    assert (error.data["file"], error.data["line"]) == (str(second), 2)


# Modes.


def test_append_refuses_what_exists_with_line_and_key(db: mycel.Graph, write: Write) -> None:
    db.load(people(5))
    error = refused(db, write("a.jsonl", [*people(4, 10), person("p3", name="Other")]))
    assert isinstance(error, DuplicateExists)
    assert error.data["line"] == 5
    assert (error.data["property"], error.data["value"]) == ("email", "p3")
    assert "merge" in error.hint


def test_append_refuses_an_edge_that_exists(db: mycel.Graph) -> None:
    db.load([*people(3), knows("p0", "p1")])
    error = refused(db, [knows("p1", "p2"), knows("p0", "p1", data={"since": "2020-01-01"})])
    assert isinstance(error, DuplicateExists)
    assert error.data["row"] == 2
    assert "Person 'p0'" in error.message


@pytest.mark.parametrize("distance", [0, 1, 5])
def test_append_refuses_a_row_that_is_there_twice_with_both_lines(
    db: mycel.Graph, write: Write, distance: int
) -> None:
    rows = [person("x"), *people(distance), person("x", name="Again")]
    error = refused(db, write("a.jsonl", rows))
    assert isinstance(error, DuplicateExists)
    assert (error.data["other_line"], error.data["line"]) == (1, distance + 2)
    assert "line 1 has it too" in error.message
    edges = [knows("p0", "p1"), *[knows("p2", f"p{at + 3}") for at in range(min(distance, 2))]]
    twice = refused(db, write("e.jsonl", [*people(9), *edges, knows("P0".lower(), "p1")]))
    assert twice.data["other_line"] == 10


def test_a_row_that_is_there_twice_is_refused_although_it_cannot_be_looked_for(
    db: mycel.Graph,
) -> None:
    error = refused(db, iter([person("x"), *people(5), person("x")]))
    assert isinstance(error, DuplicateExists)
    assert error.data["row"] == 7
    assert "other_row" not in error.data


def test_append_takes_what_was_removed_before(db: mycel.Graph) -> None:
    db.load([*people(4), knows("p0", "p1")])
    db.write(lambda tx: tx.retire(tx.get_concept("Person", "p0")))
    loaded = db.load([person("p0", name="Back"), knows("p0", "p1"), person("fresh")])
    assert counts(loaded) == (3, 0, 0, 0)
    assert attributes(db, "Person", "p0")["name"] == "Back"


def test_merge_sets_what_is_given_and_keeps_the_rest(db: mycel.Graph) -> None:
    db.load([person("p0", age=1, tags=["a"]), person("p1"), person("p2", age=3)])
    loaded = db.load(
        [
            {"type": "Person", "data": {"email": "p0", "age": 2}},
            person("p1"),
            {"type": "Person", "data": {"email": "p2", "age": None}},
            person("p3"),
        ],
        mode="merge",
    )
    assert counts(loaded) == (1, 2, 1, 0)
    assert attributes(db, "Person", "p0") == {
        "email": "p0",
        "name": "P0",
        "age": 2,
        "role": "user",
        "tags": ["a"],
    }
    assert "age" not in attributes(db, "Person", "p2")


def test_merge_lets_the_later_row_win(db: mycel.Graph) -> None:
    rows = [person("x", age=1), *people(4), person("x", age=2), person("x", name="New")]
    loaded = db.load(rows, mode="merge")
    assert attributes(db, "Person", "x")["age"] == 2
    assert attributes(db, "Person", "x")["name"] == "New"
    assert counts(loaded) == (5, 2, 0, 0)


def test_merge_updates_edges_with_their_weights(db: mycel.Graph) -> None:
    db.load([*people(3), knows("p0", "p1", data={"since": "2020-01-01"}, weight=0.5)])
    loaded = db.load(
        [knows("p0", "p1", weight=0.75), knows("p1", "p2"), knows("p0", "p1")], mode="merge"
    )
    assert counts(loaded) == (1, 1, 1, 0)
    (edge,) = db.edges_out(db.get_concept("Person", "p0").id)
    assert (edge.weight, edge.data) == (0.75, {"since": "2020-01-01"})


def test_merge_does_not_ask_for_what_is_there_but_asks_for_it_in_new_rows(db: mycel.Graph) -> None:
    db.load([person("p0")])
    db.load([{"type": "Person", "data": {"email": "p0", "age": 3}}], mode="merge")
    error = refused(db, [{"type": "Person", "data": {"email": "p9", "age": 3}}], mode="merge")
    assert "Person.name is required" in error.message


def test_overwrite_replaces_rows_and_removes_the_others(db: mycel.Graph) -> None:
    db.load(
        [
            *people(6),
            person("x", age=5, role="admin") | {"metadata": {"old": 1}},
            knows("p0", "p1"),
            knows("p5", "x"),
            {"type": "Note", "id": "n", "data": {"text": "stays"}},
        ]
    )
    before = {name: db.get_concept("Person", name).id for name in ("p0", "x")}
    loaded = db.load([person("x") | {"metadata": {"new": 2}}, *people(5)], mode="overwrite")
    assert names(db, "Person") == ["p0", "p1", "p2", "p3", "p4", "x"]
    assert names(db, "Note") == ["n"]
    assert {name: db.get_concept("Person", name).id for name in before} == before
    assert attributes(db, "Person", "x") == {"email": "x", "name": "X", "role": "user"}
    assert db.get_concept("Person", "x").metadata == {"new": 2}
    assert links(db, "Knows") == [("p0", "p1")]
    # The node p5, and with it the edge that it had.
    assert counts(loaded) == (0, 1, 5, 2)
    assert db.verify(replay=True).ok


def test_overwrite_removes_edges_only_where_edges_are_loaded(db: mycel.Graph) -> None:
    db.load([*people(4), knows("p0", "p1"), knows("p1", "p2", weight=0.3)])
    loaded = db.load([knows("p1", "p2"), knows("p2", "p3")], mode="overwrite")
    assert links(db, "Knows") == [("p1", "p2"), ("p2", "p3")]
    assert counts(loaded) == (1, 1, 0, 1)
    (edge,) = db.edges_out(db.get_concept("Person", "p1").id)
    assert edge.weight == 1.0
    assert len(names(db, "Person")) == 4


def test_overwrite_refuses_an_edge_to_a_node_that_it_removes(db: mycel.Graph) -> None:
    db.load(people(3))
    error = refused(db, [person("p0"), knows("p0", "p2")], mode="overwrite")
    assert isinstance(error, NotFound)
    assert error.data["value"] == "p2"


@pytest.mark.parametrize("distance", [0, 6])
def test_overwrite_refuses_a_row_that_is_there_twice(db: mycel.Graph, distance: int) -> None:
    rows = [person("x"), *people(distance), person("x")]
    assert refused(db, rows, mode="overwrite").data["other_row"] == 1
    db.load([person("x")])
    assert refused(db, rows, mode="overwrite").data["other_row"] == 1


def test_overwrite_with_an_empty_table_empties_the_type(db: mycel.Graph, write: Write) -> None:
    db.load(people(3))
    loaded = db.load(write("Person.csv", "email,name\n"), mode="overwrite")
    assert names(db, "Person") == []
    assert loaded.removed == 3


def test_the_actors_are_never_removed() -> None:
    with NEW.opened() as db:
        db.schema.apply(SCHEMA)
        db.load([person("ada"), person("bob")])
        db.load([person("ada")], mode="overwrite")
        assert names(db, "Person") == ["$self", "$system", "ada"]


def test_an_edge_may_lead_to_an_actor() -> None:
    with NEW.opened() as db:
        db.schema.apply("node Person { id_number: I64 @key }\nedge Knows: Person -> Person")
        db.load(
            [
                {"type": "Person", "data": {"id_number": 7}},
                {"edge": "Knows", "from": 7, "to": "$self"},
            ]
        )
        assert links(db, "Knows") == [("7", "$self")]


def test_what_is_protected_stays_protected() -> None:
    with NEW.opened() as db:
        row = {"type": "Domain", "name": "CoreSchema", "data": {"description": "mine"}}
        error = refused(db, [row], mode="merge")
        assert isinstance(error, ImmutableTarget)
        assert error.data["row"] == 1


@pytest.mark.parametrize("name", ["$ConceptType", "$PropositionType"])
def test_definitions_are_no_rows_and_the_error_says_so(db: mycel.Graph, name: str) -> None:
    error = refused(db, [{"type": name, "name": "Drug"}])
    assert error.message == f"Row 1: {name} holds definitions, which are not rows."
    assert "schema" in error.hint


@pytest.mark.parametrize("mode", ["replace", None, 3])
def test_a_mode_that_there_is_not_is_refused(db: mycel.Graph, mode: Any) -> None:
    error = refused(db, [], mode=mode)
    assert isinstance(error, InvalidValueType)
    assert "append, merge, overwrite" in error.hint


# All or nothing.


def failing(rows: list[Any], error: BaseException) -> Iterator[Any]:
    yield from rows
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("gone"), ZeroDivisionError()])
def test_a_source_that_fails_midway_leaves_nothing(db: mycel.Graph, error: BaseException) -> None:
    before = db.snapshot()
    with pytest.raises(type(error)):
        db.load(failing([*people(8), knows("p0", "p9")], error))
    assert db.snapshot() == before
    assert db.load(people(8)).created == 8


def test_a_load_that_changes_nothing_is_not_journaled(db: mycel.Graph) -> None:
    db.load(people(4))
    before = db.snapshot()
    assert counts(db.load(people(4), mode="merge")) == (0, 0, 4, 0)
    assert counts(db.load(people(4), mode="overwrite")) == (0, 0, 4, 0)
    assert counts(db.load([])) == (0, 0, 0, 0)
    assert db.snapshot() == before


def test_a_graph_that_may_only_be_read_is_not_loaded_into(tmp_path: Path) -> None:
    mycel.open(tmp_path / "a.db").close()
    with (
        mycel.open(tmp_path / "a.db", readonly=True) as db,
        pytest.raises(DatabaseReadOnly),
    ):
        db.load([])


# What only the commit finds.


def test_a_unique_value_held_twice_is_told_with_both_lines(db: mycel.Graph, write: Write) -> None:
    rows = [*people(4), person("a", name="Same"), *people(4, 4), person("b", name="Same")]
    path = write("a.jsonl", rows)
    error = refused(db, path)
    assert "@unique violation on Person.(name): value 'Same' held by 'a' and 'b'" in error.message
    assert (error.data["other_line"], error.data["line"]) == (5, 10)
    assert error.data["file"] == str(path)


def test_a_unique_value_that_the_graph_holds_is_told_with_its_line(db: mycel.Graph) -> None:
    db.load([person("a", name="Same")])
    error = refused(db, [*people(4), person("b", name="Same")])
    assert error.data["row"] == 5


def test_a_violation_of_the_commit_is_told_although_it_cannot_be_looked_for(
    db: mycel.Graph,
) -> None:
    error = refused(db, iter([person("a", name="Same"), person("b", name="Same")]))
    assert error.message.startswith("@unique violation on Person.(name)")


def test_what_a_merge_takes_away_and_must_not_is_told_with_its_line(
    db: mycel.Graph, write: Write
) -> None:
    db.load(people(5))
    rows = [*people(4), {"type": "Person", "data": {"email": "p4", "name": None}}]
    error = refused(db, write("a.jsonl", rows), mode="merge")
    assert "Person.name is required" in error.message
    assert error.data["line"] == 5


def test_too_many_edges_are_told_with_the_line_of_the_first_that_is_too_many(
    db: mycel.Graph, write: Write
) -> None:
    edges = [knows("p0", f"p{at}") for at in range(1, 7)]
    error = refused(db, write("a.jsonl", [*people(8), *edges]))
    assert "@card violation on edge Knows: source 'p0' has" in error.message
    assert isinstance(error, ConstraintViolation)
    assert error.data["line"] == 11


# What is told.


def test_the_result_counts_by_type(db: mycel.Graph) -> None:
    loaded = db.load([*people(2), knows("p0", "p1"), {"type": "Note", "data": {"text": "a"}}])
    assert loaded.to_dict() == {
        "concepts": 3,
        "links": 1,
        "created": 4,
        "updated": 0,
        "unchanged": 0,
        "removed": 0,
        "types": [
            {"name": name, "kind": kind, "created": n, "updated": 0, "unchanged": 0, "removed": 0}
            for name, kind, n in (("Person", "node", 2), ("Note", "node", 1), ("Knows", "edge", 1))
        ],
        "warnings": [],
    }


def test_names_of_any_case_are_counted_together(db: mycel.Graph) -> None:
    db.load(people(3))
    loaded = db.load([knows("p0", "p1"), {"edge": "KNOWS", "from": "p0", "to": "p2"}])
    assert [each.name for each in loaded.types] == ["Knows"]
    error = refused(db, [knows("p1", "p2"), {"edge": "knows", "from": "p1", "to": "p2"}])
    assert error.data["other_row"] == 1


def test_progress_goes_from_the_first_chunk_to_the_last_byte(db: mycel.Graph, write: Write) -> None:
    seen: list[Any] = []
    files = [write("a.jsonl", people(7)), write("b.jsonl", people(2, 7))]
    db.load(files, progress=seen.append)
    sizes = [path.stat().st_size for path in files]
    assert {each.bytes_total for each in seen} == {sum(sizes)}
    assert [each.rows for each in seen] == sorted(each.rows for each in seen)
    assert seen[-1].rows == 9
    assert seen[-1].bytes_read == sum(sizes)
    assert [each.bytes_read for each in seen] == sorted(each.bytes_read for each in seen)


def test_progress_of_what_has_no_size_counts_rows(db: mycel.Graph) -> None:
    seen: list[Any] = []
    db.load(people(4), progress=seen.append)
    assert (seen[-1].rows, seen[-1].bytes_read, seen[-1].bytes_total) == (4, None, None)


def test_many_warnings_are_cut() -> None:
    with mycel.open(core_capsules=False) as db:
        schema = {"instance_schema": {"color": {"type": "string", "is_required": True}}}
        db.write(lambda tx: tx.define_type("Plant", schema))
        rows = [{"type": "Plant", "name": f"p{at}"} for at in range(50)]
        warnings = db.load(rows).warnings
        assert 1 < len(warnings) <= load.WARNINGS_MAX + 1


def test_the_actor_of_a_load_stands_in_the_journal(db: mycel.Graph) -> None:
    db.load(people(1), actor="importer")
    assert next(db.history.log()).actor == "importer"


def test_a_schema_edge_wins_over_a_predicate_that_differs_in_case(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.define_predicate("knows"))
    db.load([*people(2), {"edge": "knows", "from": "p0", "to": "p1"}])
    assert links(db, "Knows") == [("p0", "p1")]
