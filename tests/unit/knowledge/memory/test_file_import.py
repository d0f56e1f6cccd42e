"""Files of the memory server, as it writes them and as people leave them."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import ConstraintViolation
from mycel.knowledge.memory import file_import
from mycel.knowledge.memory.entities import Entity, EntityRelation
from mycel.knowledge.memory.file_import import import_memory
from mycel.knowledge.memory.memory_server import EntityGraph
from mycel.store.write.transaction import Transaction
from tests.prepared import NEW

ADA = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]}
BOB = {"type": "entity", "name": "Bob", "entityType": "person", "observations": []}
KNOWS = {"type": "relation", "from": "Ada", "to": "Bob", "relationType": "knows well"}


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as db:
        yield db


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.jsonl"


def write(path: Path, *lines: Any) -> Path:
    texts = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def graph(db: mycel.Graph) -> tuple[tuple[Entity, ...], tuple[EntityRelation, ...]]:
    read = EntityGraph(db).read_graph()
    return read.entities, read.relations


def test_everything_comes_over(db: mycel.Graph, path: Path) -> None:
    done = import_memory(db, write(path, ADA, BOB, KNOWS))
    assert (done.entities_created, done.relations_created, done.skipped_count) == (2, 1, 0)
    assert graph(db) == (
        (Entity("Ada", "person", ("likes tea",)), Entity("Bob", "person")),
        (EntityRelation("Ada", "Bob", "knows well"),),
    )


def test_many_lines_about_one_entity_are_few_updates(
    db: mycel.Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An update for each line would take time that grows with the square of the lines."""
    updates = 0
    update = Transaction.update

    def counted(*words: Any, **how: Any) -> bool:
        nonlocal updates
        updates += 1
        return update(*words, **how)

    monkeypatch.setattr(Transaction, "update", counted)
    own = [KNOWS | {"to": "Ada", "relationType": f"kind {number}"} for number in range(250)]
    lines = [ADA | {"observations": [f"fact {number // 2}"]} for number in range(1_000)]
    done = import_memory(db, write(path, *lines, *own, *own[:7]))
    assert (done.entities_created, done.entities_updated, done.entities_unchanged) == (1, 499, 500)
    assert (done.observations_added, done.relations_created) == (499, 250)
    assert done.relations_unchanged == 7
    assert updates <= 4
    ((ada,), relations) = graph(db)
    assert set(ada.observations) == {f"fact {number}" for number in range(500)}
    assert len(relations) == 250


def test_importing_twice_changes_nothing(
    db: mycel.Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_import, "BATCH", 2)
    itself = KNOWS | {"to": "Ada"}
    lines = [KNOWS, itself, ADA, BOB, KNOWS, ADA | {"observations": ["sings"]}, itself, KNOWS]
    first = import_memory(db, write(path, *lines))
    assert (first.entities_created, first.entities_updated, first.observations_added) == (2, 1, 1)
    assert (first.relations_created, first.relations_unchanged) == (2, 3)
    before = db.snapshot()
    again = import_memory(db, path)
    assert db.snapshot() == before
    assert (again.entities_unchanged, again.relations_unchanged, again.line_count) == (3, 5, 8)


def test_entities_that_are_there_get_what_they_lack(db: mycel.Graph, path: Path) -> None:
    memory = EntityGraph(db)
    memory.create_entities([Entity("Ada", "genius", ("sings", "likes tea"))])
    import_memory(db, write(path, ADA | {"observations": ["likes tea", "dances", "dances"]}))
    assert memory.read_graph().entities == (
        Entity("Ada", "genius", ("sings", "likes tea", "dances")),
    )


def test_one_object_with_two_lists_is_read_too(db: mycel.Graph, path: Path) -> None:
    whole = {"entities": [ADA, BOB, 7], "relations": [KNOWS]}
    for entity in (ADA, BOB):
        whole["entities"].append({k: v for k, v in entity.items() if k != "type"})
    done = import_memory(db, write(path, json.dumps(whole, indent=2)))
    assert (done.entities_created, done.entities_unchanged, done.relations_created) == (2, 2, 1)
    assert done.skipped == [("entities[2]", "it is neither an entity nor a relation")]


def test_what_cannot_be_used_is_skipped_and_named(db: mycel.Graph, path: Path) -> None:
    done = import_memory(
        db,
        write(
            path,
            "\ufeff" + json.dumps(ADA),
            "",
            "{broken",
            "[1, 2]",
            {"type": "entity", "entityType": "x", "observations": []},
            {"type": "entity", "name": "", "entityType": "x", "observations": []},
            {"type": "entity", "name": "x", "entityType": 3, "observations": []},
            {"type": "entity", "name": "x", "entityType": "x", "observations": [1]},
            {"type": "entity", "name": "x", "entityType": "x", "observations": ["y" * (1 << 20)]},
            {"type": "relation", "from": "Ada", "to": "", "relationType": "knows"},
            {"type": "relation", "from": "Ada", "to": "Bob"},
            {"type": "note"},
            {"type": "entity", "name": "Bob"},
            '{"type": "entity", "name": "Cy", "name": "Di", "entityType": "x"}',
        ),
    )
    assert (done.entities_created, done.relations_created) == (2, 0)
    places = sorted(int(each.place.removeprefix("line ")) for each in done.skipped)
    assert places == [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14]
    assert [each.name for each in graph(db)[0]] == ["Ada", "Bob"]


def test_relations_of_entities_that_are_not_there_are_taken_in(db: mycel.Graph, path: Path) -> None:
    loose = [KNOWS | {"to": "Cy"}, KNOWS | {"from": "Cy"}, KNOWS | {"from": "Cy", "to": "Cy"}]
    done = import_memory(db, write(path, ADA, *loose, *loose))
    assert (done.relations_created, done.relations_unchanged, done.skipped_count) == (3, 3, 0)
    entities, relations = graph(db)
    assert [each.name for each in entities] == ["Ada"]
    expected = {("Ada", "Cy"), ("Cy", "Bob"), ("Cy", "Cy")}
    assert {(each.source, each.target) for each in relations} == expected
    done = import_memory(db, write(path, BOB, ADA | {"name": "Cy"}, *loose))
    assert (done.entities_created, done.relations_created, done.relations_unchanged) == (2, 0, 3)
    assert set(graph(db)[1]) == set(relations)
    assert db.execute('FIND(COUNT(?e)) WHERE { ?e {type: "MissingEntity"} }').value == 0


def test_long_lists_of_skipped_lines_are_counted_and_not_told(db: mycel.Graph, path: Path) -> None:
    done = import_memory(db, write(path, ADA, *(["nothing"] * 250)))
    assert done.skipped_count == 250
    assert len(done.skipped) == file_import.SKIPPED_TOLD


def test_a_line_that_is_too_long_is_skipped(
    db: mycel.Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_import, "LINE_BYTES_MAX", 200)
    done = import_memory(db, write(path, ADA, ADA | {"name": "x" * 1000}, BOB))
    assert done.entities_created == 2
    assert [each.place for each in done.skipped] == ["line 2"]


@pytest.mark.parametrize("text", ["garbage", "{}", '{"a": 1}\n{"b": 2}', "name,type\nAda,person"])
def test_a_file_of_something_else_is_refused_and_leaves_no_trace(
    db: mycel.Graph, path: Path, text: str
) -> None:
    before = db.snapshot()
    with pytest.raises(ConstraintViolation, match="no file of the memory server"):
        import_memory(db, write(path, text))
    assert db.snapshot() == before


def test_an_empty_file_is_an_empty_memory(db: mycel.Graph, path: Path) -> None:
    assert import_memory(db, write(path)).line_count == 0


def test_a_failure_halfway_leaves_nothing(
    db: mycel.Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_work: object, _batch: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"{file_import.__name__}._Import.put_relations", fail)
    before = db.snapshot()
    with pytest.raises(KeyboardInterrupt):
        import_memory(db, write(path, ADA, BOB, KNOWS))
    assert db.snapshot() == before


def test_what_is_no_text_among_observations_survives_an_import(db: mycel.Graph, path: Path) -> None:
    import_memory(db, write(path, ADA))
    with db.transaction() as tx:
        tx.update(db.get_concept("Person", "Ada"), attributes={"observations": [7]})
    import_memory(db, write(path, ADA))
    assert db.get_concept("Person", "Ada").attributes["observations"] == [7, "likes tea"]


def test_a_first_line_that_never_ends_is_not_taken_into_memory(
    db: mycel.Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_import, "LINE_BYTES_MAX", 1 << 12)
    monkeypatch.setattr(file_import, "OBJECT_BYTES_MAX", 1 << 12)
    path.write_bytes(b"\n" + b"x" * (8 << 20))
    tracemalloc.start()
    with pytest.raises(ConstraintViolation):
        import_memory(db, path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20


def test_the_type_of_an_entity_is_the_type_of_its_concept(db: mycel.Graph, path: Path) -> None:
    kinds = ("person", "design pattern", "event", "", "人", "Design Pattern")
    lines = [ADA | {"name": f"e{at}", "entityType": kind} for at, kind in enumerate(kinds)]
    import_memory(db, write(path, *lines, KNOWS | {"from": "e0", "to": "e1"}))
    types = [
        db.execute("FIND(?e.type) WHERE { ?e {name: :name} }", name=f"e{at}").value[0]
        for at in range(len(kinds))
    ]
    # Event has rules of its own, which were not made for entities.
    assert types[:4] == ["Person", "DesignPattern", "EventEntity", "Entity"]
    assert types[4].startswith("Entity_")
    assert types[5] == "DesignPattern"
    assert [each.entity_type for each in graph(db)[0]] == list(kinds)
    # Names stay unique over all types, and the core's own Persons are no entities.
    again = import_memory(db, write(path, ADA | {"name": "e1", "entityType": "other"}))
    assert (again.entities_created, again.entities_unchanged) == (0, 1)
    assert "$self" not in [each.name for each in graph(db)[0]]
    assert EntityGraph(db).search_nodes("self").entities == ()


def test_the_observations_of_an_entity_are_its_content(db: mycel.Graph, path: Path) -> None:
    import_memory(db, write(path, ADA | {"observations": ["likes tea", "sings"]}, BOB))
    knowledge = mycel.Knowledge(db, workspace="shop")
    node = knowledge.get("kip:Person/Ada")
    assert node.content == "- likes tea\n- sings"
    assert node.properties == {"entityType": "person"}
    assert knowledge.get("kip:Person/Bob").content is None
