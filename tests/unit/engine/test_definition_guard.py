"""The schema guard: definitions in the graph are rules on every write, through every door."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.engine.definition_guard import WARNINGS_MAX, DefinitionGuard
from mycel.engine.seed import apply
from mycel.errors import ConstraintViolation, InvalidValueType, TypeMismatch
from mycel.store.database import Store
from tests.prepared import NEW

Open = Callable[..., mycel.Graph]

TOWER = {
    "instance_schema": {
        "height_m": {"type": "number", "is_required": True},
        "keeper": {"type": "string"},
        "state": {"type": "string", "enum": ["lit", "dark"]},
    }
}


@pytest.fixture
def reopen(tmp_path: Path) -> Iterator[Open]:
    opened: list[mycel.Graph] = []

    def opening(*, strict: bool = False) -> mycel.Graph:
        guards = [DefinitionGuard(strict=strict)]
        db = mycel.Graph(Store(tmp_path / "graph.db", durability="off", guards=guards))
        opened.append(db)
        return db

    yield opening
    for db in opened:
        db.close()


@pytest.fixture
def db(reopen: Open) -> mycel.Graph:
    db = reopen()
    define(db, "Tower", TOWER)
    define(db, "Keeper", {})
    define(db, "tends", {"subject_types": ["Keeper"], "object_types": ["Tower"]}, predicate=True)
    return db


def define(
    db: mycel.Graph, name: str, attributes: dict[str, Any], *, predicate: bool = False
) -> str:
    def work(tx: mycel.Transaction) -> str:
        return (tx.define_predicate if predicate else tx.define_type)(name, attributes)

    return db.write(work)


def put(db: mycel.Graph, name: str, **attributes: Any) -> str:
    return db.write(lambda tx: tx.put_concept("Tower", name, attributes))


def warnings_of(db: mycel.Graph, work: Callable[[mycel.Transaction], object]) -> list[str]:
    with db.transaction() as tx:
        work(tx)
    return tx.warnings


# Values.


def test_a_value_of_another_json_type_is_refused(db: mycel.Graph) -> None:
    with pytest.raises(InvalidValueType, match='"height_m" of Tower "Fastnet" must be a number'):
        put(db, "Fastnet", height_m="54")
    assert db.write(lambda tx: tx.get_concept("Tower", "Fastnet")) is None


def test_an_update_is_held_against_the_schema_as_well(db: mycel.Graph) -> None:
    tower = put(db, "Fastnet", height_m=54)
    with pytest.raises(InvalidValueType):
        db.write(lambda tx: tx.update(tower, attributes={"keeper": 7}))
    assert db.write(lambda tx: tx.update(tower, attributes={"keeper": None}))


def test_a_bulk_load_is_held_against_the_schema_as_well(db: mycel.Graph) -> None:
    rows = [mycel.ConceptRow("Tower", f"tower {n}", {"height_m": n}) for n in range(10)]
    db.write(lambda tx: tx.put_concepts(rows))
    rows.append(mycel.ConceptRow("Tower", "the last", {"height_m": True}))
    with pytest.raises(InvalidValueType, match="the last"):
        db.write(lambda tx: tx.put_concepts(rows))


def test_types_without_a_schema_take_anything(db: mycel.Graph) -> None:
    assert warnings_of(db, lambda tx: tx.put_concept("Keeper", "Ada", {"height_m": "tall"})) == []


def test_a_definition_is_held_against_the_definition_of_definitions(db: mycel.Graph) -> None:
    schema = {"subject_types": {"type": "array", "item_type": "string"}}
    db.write(lambda tx: tx.update("C:4", attributes={"instance_schema": schema}))
    assert db.get("C:4").to_dict()["name"] == "$PropositionType"
    with pytest.raises(InvalidValueType, match="subject_types"):
        define(db, "faces", {"subject_types": "Tower"}, predicate=True)


@pytest.mark.parametrize("name", ["Nothing", "\ud800", 7, None, ("Tower",)])
def test_what_is_no_type_or_predicate_is_refused_as_such(db: mycel.Graph, name: Any) -> None:
    with pytest.raises(TypeMismatch):
        db.write(lambda tx: tx.put_concepts([mycel.ConceptRow(name, "x")]))
    ends = db.write(lambda tx: tx.put_concepts([mycel.ConceptRow("Keeper", n) for n in "ab"]))
    with pytest.raises(TypeMismatch):
        db.write(lambda tx: tx.put_propositions([mycel.PropositionRow(ends[0], name, ends[1])]))


# Definitions that change.


def test_a_definition_counts_from_the_moment_it_is_written(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type("Buoy")
        tx.put_concept("Buoy", "one", {"colour": 1})
        tx.define_type("Buoy", {"instance_schema": {"colour": {"type": "string"}}})
        with pytest.raises(InvalidValueType):
            tx.put_concept("Buoy", "two", {"colour": 1})
        tx.put_concept("Buoy", "two", {"colour": "red"})


def test_a_definition_that_was_rolled_back_does_not_count(db: mycel.Graph) -> None:
    def redefine(tx: mycel.Transaction) -> None:
        tx.define_type("Tower", {"instance_schema": {"height_m": {"type": "string"}}})
        tx.put_concept("Tower", "in words", {"height_m": "tall"})
        raise KeyError

    with pytest.raises(KeyError):
        db.write(redefine)
    with pytest.raises(InvalidValueType):
        put(db, "in words", height_m="tall")
    put(db, "in metres", height_m=20)


def test_a_definition_that_another_connection_changed_counts(db: mycel.Graph, reopen: Open) -> None:
    put(db, "before", height_m=20)
    other = reopen()
    define(other, "Tower", {"instance_schema": {"height_m": {"type": "string"}}})
    with pytest.raises(InvalidValueType):
        put(db, "after", height_m=20)
    define(other, "Tower", {"instance_schema": {}})
    put(db, "after", height_m=20)


def test_what_was_written_before_a_redefinition_stays_and_can_be_changed(db: mycel.Graph) -> None:
    tower = put(db, "old", height_m=20, keeper="Ada")
    define(db, "Tower", {"instance_schema": {"height_m": {"type": "string"}}})
    db.write(lambda tx: tx.update(tower, attributes={"keeper": "Grace"}))
    assert db.get(tower).attributes == {"height_m": 20, "keeper": "Grace"}
    with pytest.raises(InvalidValueType):
        db.write(lambda tx: tx.update(tower, attributes={"height_m": 21}))


def test_a_value_that_only_python_takes_for_the_same_is_a_change(db: mycel.Graph) -> None:
    tower = put(db, "old", height_m=1)
    with pytest.raises(InvalidValueType):
        db.write(lambda tx: tx.update(tower, attributes={"height_m": True}))


# What is missing.


def test_a_missing_attribute_is_a_warning_at_the_commit(db: mycel.Graph) -> None:
    found = warnings_of(db, lambda tx: tx.put_concept("Tower", "Fastnet", {"keeper": "Ada"}))
    assert found == ['Tower "Fastnet" lacks the required attribute "height_m".']
    assert db.write(lambda tx: tx.get_concept("Tower", "Fastnet")) is not None


def test_what_is_completed_before_the_commit_is_complete(db: mycel.Graph) -> None:
    def build(tx: mycel.Transaction) -> None:
        tower = tx.put_concept("Tower", "Fastnet")
        tx.update(tower, attributes={"height_m": 54})

    assert warnings_of(db, build) == []


def test_what_is_removed_before_the_commit_is_not_missed(db: mycel.Graph) -> None:
    assert warnings_of(db, lambda tx: tx.retire(tx.put_concept("Tower", "Fastnet"))) == []


def test_dropping_a_required_attribute_is_noticed(db: mycel.Graph) -> None:
    tower = put(db, "Fastnet", height_m=54)
    found = warnings_of(db, lambda tx: tx.update(tower, drop_attributes=["height_m"]))
    assert found == ['Tower "Fastnet" lacks the required attribute "height_m".']


def test_elements_that_a_transaction_leaves_alone_are_not_looked_at(db: mycel.Graph) -> None:
    put(db, "incomplete")
    assert warnings_of(db, lambda tx: tx.put_concept("Tower", "whole", {"height_m": 1})) == []


def test_a_value_outside_an_enumeration_is_a_warning(db: mycel.Graph) -> None:
    found = warnings_of(
        db, lambda tx: tx.put_concept("Tower", "Fastnet", {"height_m": 54, "state": "dim"})
    )
    assert found == ['The attribute "state" of Tower "Fastnet" is none of "lit", "dark".']


def test_many_warnings_are_counted_instead_of_listed(db: mycel.Graph) -> None:
    rows = [mycel.ConceptRow("Tower", f"tower {n}") for n in range(WARNINGS_MAX + 30)]
    found = warnings_of(db, lambda tx: tx.put_concepts(rows))
    assert len(found) == WARNINGS_MAX + 1
    assert found[-1].startswith("30 more")


@pytest.mark.parametrize(
    "attributes", [{"keeper": "Ada"}, {"height_m": 54, "state": "dim"}], ids=["missing", "enum"]
)
def test_a_strict_nexus_refuses_what_is_otherwise_a_warning(
    db: mycel.Graph, reopen: Open, attributes: dict[str, Any]
) -> None:
    strict = reopen(strict=True)
    with pytest.raises(ConstraintViolation) as caught:
        put(strict, "Fastnet", **attributes)
    assert caught.value.code == "KIP_2002"
    assert 'DESCRIBE CONCEPT TYPE "Tower"' in caught.value.hint
    assert strict.write(lambda tx: tx.get_concept("Tower", "Fastnet")) is None
    put(strict, "Fastnet", height_m=54, state="lit")


def test_a_strict_type_refuses_in_any_nexus(db: mycel.Graph) -> None:
    define(db, "Tower", {"schema_enforcement": "strict"})
    with pytest.raises(ConstraintViolation) as caught:
        put(db, "Fastnet")
    assert caught.value.data == {"type": "Tower", "name": "Fastnet", "missing": ["height_m"]}


def test_a_refusal_that_was_caught_hides_nothing(db: mycel.Graph) -> None:
    """A change that is refused after this guard has seen it leaves the element as it was."""
    define(db, "Tower", {"schema_enforcement": "strict"})

    def work(tx: mycel.Transaction) -> None:
        tower = tx.put_concept("Tower", "Fastnet")
        with pytest.raises(InvalidValueType):
            tx.update(tower, attributes={"height_m": "tall"})

    with pytest.raises(ConstraintViolation, match="Fastnet"):
        db.write(work)


# Links.


@pytest.fixture
def ends(db: mycel.Graph) -> tuple[str, str]:
    keeper = db.write(lambda tx: tx.put_concept("Keeper", "Ada"))
    return keeper, put(db, "Fastnet", height_m=54)


def test_a_link_between_the_right_types_is_accepted(db: mycel.Graph, ends: tuple[str, str]) -> None:
    assert db.add_edge(ends[0], "tends", ends[1])


@pytest.mark.parametrize("door", ["edge", "proposition", "bulk"])
def test_a_link_between_the_wrong_types_is_refused_at_every_door(
    db: mycel.Graph, ends: tuple[str, str], door: str
) -> None:
    keeper, tower = ends

    def work(tx: mycel.Transaction) -> None:
        match door:
            case "edge":
                tx.add_edge(tower, "tends", keeper)
            case "proposition":
                tx.put_proposition(tower, "tends", keeper)
            case "bulk":
                tx.put_propositions([mycel.PropositionRow(tower, "tends", keeper)])

    with pytest.raises(ConstraintViolation) as caught:
        db.write(work)
    assert caught.value.message == (
        '"tends" cannot lead from Tower "Fastnet" to Keeper "Ada": its subject must be Keeper, not'
        " Tower; its object must be Tower, not Keeper."
    )
    assert caught.value.hint.startswith("Swap subject and object")
    assert 'DESCRIBE PROPOSITION TYPE "tends"' in caught.value.hint


def test_swapping_is_suggested_only_where_it_helps(db: mycel.Graph, ends: tuple[str, str]) -> None:
    other = db.write(lambda tx: tx.put_concept("Keeper", "Grace"))
    with pytest.raises(ConstraintViolation) as caught:
        db.add_edge(ends[0], "tends", other)
    assert not caught.value.hint.startswith("Swap")


def test_a_link_that_is_there_stays_when_the_predicate_is_redefined(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    link = db.add_edge(ends[0], "tends", ends[1])
    define(db, "tends", {"object_types": ["Keeper"]}, predicate=True)
    assert db.write(lambda tx: tx.update(link, attributes={"since": 1854}))
    other = put(db, "Eddystone", height_m=49)
    with pytest.raises(ConstraintViolation):
        db.add_edge(ends[0], "tends", other)


def test_a_link_that_is_pointed_elsewhere_has_to_fit_there(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    link = db.add_edge(ends[0], "tends", ends[1])
    other_keeper = db.write(lambda tx: tx.put_concept("Keeper", "Grace"))
    with pytest.raises(ConstraintViolation, match="object must be Tower, not Keeper"):
        db.write(lambda tx: tx.relink(link, object_=other_keeper))
    assert db.write(lambda tx: tx.relink(link, subject=other_keeper)) == link
    define(db, "tends", {"subject_types": ["Lighthouse"]}, predicate=True)
    assert db.write(lambda tx: tx.relink(link, subject=ends[0])) == link


def test_a_link_that_gets_another_predicate_has_to_fit_it(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    link = db.add_edge(ends[0], "references", ends[1])
    define(db, "flees", {"object_types": ["Keeper"]}, predicate=True)
    with pytest.raises(ConstraintViolation, match="object must be Keeper, not Tower"):
        db.write(lambda tx: tx.move(link, predicate="flees"))
    assert db.write(lambda tx: tx.move(link, predicate="tends")).endswith(":tends")


def test_a_concept_that_gets_another_type_has_to_fit_it(db: mycel.Graph) -> None:
    tall = db.write(lambda tx: tx.put_concept("Keeper", "Ada", {"height_m": "tall"}))
    with pytest.raises(InvalidValueType):
        db.write(lambda tx: tx.move(tall, type_name="Tower"))
    small = db.write(lambda tx: tx.put_concept("Keeper", "Grace"))
    found = warnings_of(db, lambda tx: tx.move(small, type_name="Tower", name="Fastnet"))
    assert found == ['Tower "Fastnet" lacks the required attribute "height_m".']


def test_a_link_is_an_end_only_for_a_star_or_the_name_of_its_predicate(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    link = db.add_edge(ends[0], "tends", ends[1])
    define(db, "doubts", {"object_types": ["Tower"]}, predicate=True)
    with pytest.raises(ConstraintViolation, match="object must be Tower, not tends"):
        db.add_edge(ends[0], "doubts", link)
    define(db, "doubts", {"object_types": ["Tower", "tends"]}, predicate=True)
    assert db.add_edge(ends[0], "doubts", link)
    define(db, "notes", {"object_types": ["*"]}, predicate=True)
    assert db.add_edge(ends[0], "notes", link)


# Definitions that mean nothing.


def told(db: mycel.Graph, attributes: dict[str, Any], *, predicate: bool = False) -> list[str]:
    """What the author of a definition hears."""

    def work(tx: mycel.Transaction) -> None:
        (tx.define_predicate if predicate else tx.define_type)("keeps", attributes)

    return warnings_of(db, work)


def test_an_entry_of_a_schema_that_is_no_object_is_told(db: mycel.Graph) -> None:
    (sentence,) = told(db, {"instance_schema": {"born": "integer", "died": {"type": "integer"}}})
    assert sentence == (
        'In the instance_schema of keeps, the entry "born" is a string instead of an object, and'
        ' has no effect; write born: {type: "integer"}.'
    )


def test_a_definition_is_told_when_it_is_changed_too(db: mycel.Graph) -> None:
    change = {"instance_schema": {"height_m": "number"}}
    assert len(warnings_of(db, lambda tx: tx.define_type("Tower", change))) == 1


def test_ends_of_types_that_nobody_has_defined_are_told(db: mycel.Graph) -> None:
    ends = {"subject_types": ["Keper", "*"], "object_types": ["Tower", "tends", "Lake"]}
    first, second = told(db, ends, predicate=True)
    assert first == (
        "The subject_types of keeps name 'Keper', which is not defined. Did you mean 'Keeper'?"
    )
    assert second.startswith("The object_types of keeps name 'Lake', which is not defined.")


def test_a_type_that_is_defined_later_in_the_transaction_is_defined(db: mycel.Graph) -> None:
    def work(tx: mycel.Transaction) -> None:
        tx.define_predicate("drains", {"subject_types": ["Lake"], "object_types": ["*"]})
        tx.define_type("Lake")

    assert warnings_of(db, work) == []


def test_a_definition_that_was_removed_again_is_not_told(db: mycel.Graph) -> None:
    def work(tx: mycel.Transaction) -> None:
        tx.retire(tx.define_type("Lake", {"instance_schema": {"depth": "number"}}))

    assert warnings_of(db, work) == []


def test_slips_reach_the_caller_of_a_command_and_of_a_dry_run() -> None:
    command = """UPSERT { CONCEPT { {type: "$PropositionType", name: "near"} SET ATTRIBUTES
        { description: "Close", subject_types: ["*"], object_types: ["*"], symmetric: true } } }"""
    with NEW.opened() as db:
        (rehearsed,) = db.request({"command": command, "dry_run": True})["warnings"]
        (written,) = db.execute(command).warnings
    assert rehearsed == written
    assert (
        written
        == "The definition of near says 'symmetric', which has no effect; write is_symmetric."
    )


def test_not_more_slips_are_told_than_anybody_reads(db: mycel.Graph) -> None:
    def work(tx: mycel.Transaction) -> None:
        for n in range(WARNINGS_MAX + 5):
            tx.define_predicate(f"p{n}", {"symmetric": True})

    assert len(warnings_of(db, work)) == WARNINGS_MAX


def test_the_shipped_capsules_say_nothing_in_vain() -> None:
    store = Store(":memory:", guards=[DefinitionGuard()])
    with store.transaction(actor="$system", message="") as tx:
        assert apply(tx).concepts_created > 0
    store.close()
    assert tx.warnings == []


def test_a_predicate_that_admits_less_than_is_stored_is_told(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_predicate("guides")
        tower, keeper = tx.put_concept("Tower", "Fastnet"), tx.put_concept("Keeper", "Ada")
        link = tx.put_proposition(tower, "guides", keeper)
        tx.put_proposition(keeper, "guides", tower)
        tx.put_proposition(keeper, "guides", link)

    def redefine(**ends: list[str]) -> list[str]:
        return warnings_of(db, lambda tx: tx.define_predicate("guides", ends))

    one = "1 stored link has {0} as {1}, which the {1}_types of guides no longer name; it stays, "
    two = (
        "2 stored links have {0} as {1}, which the {1}_types of guides no longer name; they stay, "
    )
    end = "and new ones are refused."
    assert redefine(object_types=["Tower", "guides"]) == [one.format("Keeper", "object") + end]
    assert redefine(object_types=["Tower", "guides"]) == [], "what was told is not told again"
    assert redefine(object_types=["Keeper"], subject_types=["Tower"]) == [
        two.format("Keeper", "subject") + end,
        two.format("Tower or guides", "object") + end,
    ]
    assert redefine(object_types=["*"], subject_types=["*"]) == []
