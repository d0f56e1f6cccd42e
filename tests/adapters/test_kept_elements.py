"""Nothing removes or archives what is pinned or held, through whichever door it comes.

Each door is tried twice: without a mark it does what it is for, with one it is refused.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel import ConceptRow, Knowledge
from mycel.errors import ConstraintViolation, MycelError, TypeMismatch
from mycel.explorer.explorer import Explorer
from mycel.knowledge.memory.entities import Entity
from mycel.knowledge.memory.memory_server import EntityGraph
from tests.adapters.cli.conftest import in_process
from tests.adapters.mcp.clients import connected
from tests.cases import each_case
from tests.prepared import NEW, Prepared

Door = Callable[[mycel.Graph], object]
ACME = '?x {type: "Org", name: "Acme"}'
LINK = '?x ({type: "Org", name: "Other"}, "knows", {type: "Org", name: "Acme"})'
NODE, LINKED = "kip:Org/Acme", "kip:Org/Other"
WORDS = ("so it stays", "lift the mark first")


def prepare(mark: dict[str, Any], *, on_link: bool) -> Prepared:
    def write(db: mycel.Graph) -> None:
        db.schema.apply("node Box { code: String @key }")
        with db.transaction() as tx:
            tx.define_type("Org")
            tx.define_predicate("knows")
            acme = tx.put_concept("Org", "Acme", metadata={} if on_link else mark)
            other = tx.put_concept("Org", "Other")
            tx.put_proposition(other, "knows", acme, metadata=mark if on_link else {})
            tx.put_concept("Box", "b1", {"code": "b1"}, metadata={} if on_link else mark)

    return Prepared(write)


def merge_of_branches(db: mycel.Graph) -> object:
    """On a branch the mark is lifted and the element is removed; here it is still marked."""
    db.branches.create("b")
    with db.open_branch("b") as branch:
        branch.execute(
            f"UPDATE ?x SET METADATA {{ pinned: false, hold: false }} WHERE {{ {ACME} }}"
        )
        branch.execute(f"DELETE CONCEPT ?x DETACH WHERE {{ {ACME} }}")
    merge = db.merge("b")
    if merge.commit is None:
        raise MycelError("\n".join(str(conflict.to_dict()) for conflict in merge.conflicts))
    return merge


def overwrite(db: mycel.Graph) -> object:
    return db.load([], type="Box", mode="overwrite")


def task(db: mycel.Graph, decision: str) -> object:
    with db.transaction() as tx:
        tx.put_concept("Org", "ACME", {"url": "x"})
    db.sleep()
    waiting = next(item for item in iter(db.tasks.next, None))
    names = [getattr(element, "name", "") for element in waiting.elements]
    return db.tasks.decide(waiting.id, decision, keep="AB"[names.index("ACME")])


def purge_all(db: mycel.Graph) -> object:
    number = db.execute(f"FIND(?x.id) WHERE {{ {ACME} }}").value[0]
    return db.purge(number, "gone")


def archive_by_hand(db: mycel.Graph) -> object:
    return db.execute(f'UPDATE ?x SET METADATA {{ archived_at: "2026-01-01" }} WHERE {{ {ACME} }}')


def knowledge(db: mycel.Graph) -> Knowledge:
    return Knowledge(db, workspace="w")


def id_of(db: mycel.Graph, pattern: str) -> str:
    return str(db.execute(f"FIND(?x.id) WHERE {{ {pattern} }}").value[0])


def explore(op: str) -> Door:
    return lambda db: Explorer(db, knowledge(db)).write({"op": op, "id": NODE})


CONCEPT_DOORS: dict[str, Door] = {
    "DELETE": lambda db: db.execute(f"DELETE CONCEPT ?x DETACH WHERE {{ {ACME} }}"),
    "ARCHIVE": lambda db: db.execute(f"ARCHIVE ?x WHERE {{ {ACME} }}"),
    "UPDATE": archive_by_hand,
    "UPSERT": lambda db: db.execute(
        'UPSERT { CONCEPT { {type: "Org", name: "Acme"} }'
        ' WITH METADATA { archived_at: "2026-01-01" } }'
    ),
    "MERGE": lambda db: db.execute(
        f'MERGE CONCEPT ?x INTO ?y WHERE {{ {ACME} ?y {{type: "Org", name: "Other"}} }}'
    ),
    "tx.retire": lambda db: db.write(lambda tx: tx.retire(id_of(db, ACME))),
    "tx.put_concepts": lambda db: db.write(
        lambda tx: tx.put_concepts([ConceptRow("Org", "Acme", {}, {"archived_at": "2026-01-01"})])
    ),
    "db.purge": purge_all,
    "db.upkeep.archive": lambda db: db.upkeep.archive(id_of(db, ACME), "old"),
    "Knowledge.archive": lambda db: knowledge(db).archive([NODE]),
    "Knowledge.delete": lambda db: knowledge(db).delete(NODE),
    "Knowledge.delete_many": lambda db: knowledge(db).delete_many([NODE]),
    "Knowledge.merge_nodes": lambda db: knowledge(db).merge_nodes(NODE, LINKED),
    "task, merge": lambda db: task(db, "merge"),
    "task, drop": lambda db: task(db, "drop"),
    "explorer, delete": explore("delete"),
    "explorer, archive": explore("archive"),
    "rollback": lambda db: db.history.rollback(list(db.history.log())[1].commit),
    "merge of branches": merge_of_branches,
}
LINK_DOORS: dict[str, Door] = {
    "DELETE PROPOSITIONS": lambda db: db.execute(f"DELETE PROPOSITIONS ?x WHERE {{ {LINK} }}"),
    "DELETE CONCEPT of an end": CONCEPT_DOORS["DELETE"],
    "ARCHIVE": lambda db: db.execute(f"ARCHIVE ?x WHERE {{ {LINK} }}"),
    "MERGE of the ends": CONCEPT_DOORS["MERGE"],
    "remove_edge": lambda db: db.remove_edge(
        id_of(db, ACME.replace("Acme", "Other")), "knows", id_of(db, ACME)
    ),
    "Knowledge.unlink": lambda db: knowledge(db).unlink(LINKED, "knows", NODE),
    "purge of an end": purge_all,
    "explorer": lambda db: Explorer(db, knowledge(db)).write(
        {"op": "unlink", "source": LINKED, "relation": "knows", "target": NODE}
    ),
}
ROW_DOORS: dict[str, Door] = {
    "load": overwrite,
    "schema": lambda db: db.schema.apply("node Bin { code: String @key }", allow_removals=True),
}
MARKS: tuple[dict[str, Any], ...] = ({"pinned": True}, {"hold": "audit of May"})


@pytest.mark.parametrize(
    ("doors", "pattern"),
    [
        (CONCEPT_DOORS, '?x {type: "Org"} FILTER(?x.name == "Acme")'),
        (LINK_DOORS, '?x (?s, "knows", ?o)'),
        (ROW_DOORS, '?x {type: "Box"}'),
    ],
    ids=["concept", "link", "row"],
)
def test_no_door_removes_what_is_kept(doors: dict[str, Door], pattern: str) -> None:
    find = f"FIND(COUNT(?x)) WHERE {{ {pattern} }}"
    graphs = [prepare(mark, on_link=doors is LINK_DOORS) for mark in ({}, *MARKS)]
    with each_case() as case:
        for name, door in doors.items():
            for graph in graphs:
                with case(f"{name} {graph is not graphs[0]}"), graph.opened() as db:
                    if graph is graphs[0]:
                        door(db)
                        with suppress(TypeMismatch):  # The type went with its instances.
                            assert db.execute(find).value == 0
                        continue
                    with pytest.raises(MycelError) as caught:
                        door(db)
                    assert "so it stays" in caught.value.message
                    assert db.execute(find).value == 1
                    assert db.verify().ok


def test_the_error_says_what_is_kept_why_and_what_to_do() -> None:
    with prepare({"pinned": True, "hold": "audit of May"}, on_link=False).opened() as db:
        with pytest.raises(ConstraintViolation) as caught:
            CONCEPT_DOORS["DELETE"](db)
        assert caught.value.code == "KIP_2002"
        assert caught.value.message == "Org 'Acme' is pinned; held: audit of May, so it stays."
        assert "lift the mark first" in caught.value.hint
        assert caught.value.data["marks"] == ["pinned", "held: audit of May"]
        lift = "UPDATE ?x SET METADATA { pinned: false, hold: false }"
        db.execute(f"{lift} WHERE {{ {ACME} }}")
        assert (
            db.execute(f"DELETE CONCEPT ?x DETACH WHERE {{ {ACME} }}").value["deleted_concepts"]
            == 1
        )


def test_a_write_that_changes_values_of_a_held_element_gets_a_warning() -> None:
    change = f'UPDATE ?x SET ATTRIBUTES {{ city: "Ulm" }} WHERE {{ {ACME} }}'
    for mark, warns in (({"hold": "audit of May"}, True), ({"pinned": True}, False)):
        with prepare(mark, on_link=False).opened() as db:
            assert not db.execute(change).warnings, "nothing is lost by a new value"
            warnings = db.execute(change.replace("Ulm", "Bonn")).warnings
            assert any("Org 'Acme' is held, and city of it changed" in w for w in warnings) == warns
            assert not db.execute(change.replace("Ulm", "Bonn")).warnings


def test_everything_else_about_a_kept_element_may_change() -> None:
    with prepare({"pinned": True}, on_link=False).opened() as db:
        acme = id_of(db, ACME)
        db.execute(f'UPDATE ?x SET ATTRIBUTES {{ city: "Ulm" }} WHERE {{ {ACME} }}')
        db.upkeep.supersede(acme, id_of(db, ACME.replace("Acme", "Other")))
        db.write(lambda tx: tx.move(acme, name="Acme Inc."))
        db.execute(
            'MERGE CONCEPT ?x INTO ?y WHERE { ?x {type: "Org", name: "Other"}'
            ' ?y {type: "Org", name: "Acme Inc."} }'
        )
        (kept,) = db.execute('FIND(?x) WHERE { ?x {type: "Org"} }').value
        assert kept["name"] == "Acme Inc."
        assert kept["metadata"]["pinned"] is True


def test_a_revert_takes_back_a_mark_with_the_element_that_it_came_with() -> None:
    with NEW.opened() as db:
        db.write(lambda tx: tx.define_type("Org"))
        made = db.write(lambda tx: tx.put_concept("Org", "Acme", metadata={"pinned": True}))
        last = next(iter(db.history.log()))
        db.history.revert(last.commit)
        assert db.execute('FIND(COUNT(?x)) WHERE { ?x {type: "Org"} }').value == 0
        assert made


def test_a_restore_is_not_taken_back_under_a_later_pin() -> None:
    with prepare({}, on_link=False).opened() as db:
        db.upkeep.archive(id_of(db, ACME), "old")
        db.execute(f"RESTORE ?x WHERE {{ {ACME} }}")
        restored = next(iter(db.history.log()))
        db.execute(f"UPDATE ?x SET METADATA {{ pinned: true }} WHERE {{ {ACME} }}")
        with pytest.raises(ConstraintViolation, match="so it stays"):
            db.history.revert(restored.commit)


def test_the_memory_server_keeps_what_is_pinned() -> None:
    with NEW.opened() as db:
        memory = EntityGraph(db)
        memory.create_entities([Entity("Ada", "person", ("x",))])
        db.execute('UPDATE ?x SET METADATA { pinned: true } WHERE { ?x {name: "Ada"} }')
        with pytest.raises(ConstraintViolation, match="so it stays"):
            memory.delete_entities(["Ada"])


@pytest.mark.sqlite_file("the commands and the server open it by its path")
def test_commands_and_tools_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    prepare({"pinned": True}, on_link=False).put(path)
    with mycel.open(path) as db:
        purge = ("purge", id_of(db, ACME), "--reason", "gone", "--yes")
    with each_case() as case:
        for words in (
            ("concept", "retire", "Org", "Acme"),
            ("concept", "archive", "Org", "Acme"),
            purge,
        ):
            with case(words):
                done = in_process(*words, "--db", path, "--json")
                error = json.loads(done.stderr.splitlines()[-1])["error"]
                assert error["code"] == "KIP_2002"
                assert "so it stays" in error["message"]
                assert "lift the mark first" in error["hint"]
    with connected(path) as session:
        for action in ("archive", "remove"):
            told = session.call("forget_nodes", uris=[NODE], action=action)
            assert told.failed
            assert all(words in told.text for words in WORDS)
