"""Applying schemas: what is in force afterwards, and what became of the data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel import schema
from mycel.errors import (
    ConstraintViolation,
    ImmutableTarget,
    InvalidValueType,
    MycelError,
    TypeMismatch,
)
from mycel.schema.definitions import merge_policies
from mycel.schema.stored_declaration import declaration
from tests.prepared import NEW
from tests.unit.store.given import problems

PEOPLE = """
node Person {
    email: String @key
    age: I32?
    @range(age, 0..150)
}
node Team { name: String @key }
edge MemberOf: Person -> Team { role: String? }
"""


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as nexus:
        yield nexus
        assert problems(nexus.verify(replay=True)) == []


def put(db: mycel.Graph, type_name: str, name: str, **attributes: Any) -> str:
    return db.write(lambda tx: tx.put_concept(type_name, name, attributes))


def attributes(db: mycel.Graph, type_name: str, name: str) -> dict[str, Any]:
    found = db.get_concept(type_name, name)
    assert found is not None
    return found.attributes


def kinds(result: Any) -> list[str]:
    return [step["kind"] for step in result.steps]


def reasons(result: Any) -> str:
    return "\n".join(step["reason"] for step in result.steps if "reason" in step)


def test_a_new_graph_has_an_empty_schema(db: mycel.Graph) -> None:
    assert db.schema.catalog == schema.load("")
    assert db.schema.history() == []


def test_what_is_applied_is_in_force(db: mycel.Graph) -> None:
    result = db.schema.apply(PEOPLE)
    assert (result.supported, result.applied) == (True, True)
    assert kinds(result) == ["add_type", "add_type", "add_type"]
    assert result.manifest_version == db.snapshot().entries
    assert db.schema.catalog.ir() == schema.load(PEOPLE).ir()


def test_applying_the_same_again_changes_nothing(db: mycel.Graph) -> None:
    first = db.schema.apply(PEOPLE)
    again = db.schema.apply(PEOPLE)
    assert again.to_dict() == {
        "supported": True,
        "applied": False,
        "manifest_version": first.manifest_version,
        "steps": [],
    }


def test_types_of_a_schema_are_definitions_of_kip(db: mycel.Graph) -> None:
    db.schema.apply(
        PEOPLE.replace("node Team", 'node Team @description("People who work together")')
    )
    team = db.execute('DESCRIBE CONCEPT TYPE "Team"').value
    assert team["attributes"]["description"] == "People who work together"
    person = attributes(db, "$ConceptType", "Person")["instance_schema"]
    assert person["email"] == {"type": "string", "is_required": True}
    assert person["age"] == {"type": "integer", "is_required": False}
    member = attributes(db, "$PropositionType", "MemberOf")
    assert (member["subject_types"], member["object_types"]) == (["Person"], ["Team"])


def test_the_shipped_actors_are_outside_of_every_schema(db: mycel.Graph) -> None:
    before = attributes(db, "Person", "$self")
    assert db.schema.apply(PEOPLE).applied
    assert attributes(db, "Person", "$self") == before
    db.execute(
        'UPSERT { CONCEPT ?s { {type: "Person", name: "$self"} SET ATTRIBUTES {mood: "fine"} } }'
    )
    assert attributes(db, "Person", "$self")["mood"] == "fine"


def test_a_schema_that_is_none_is_refused(db: mycel.Graph) -> None:
    before = db.snapshot()
    with pytest.raises(mycel.errors.SchemaError):
        db.schema.apply("node person {}")
    assert db.snapshot() == before


# Adopting what grew in KIP.


def test_a_flexible_type_is_adopted_when_its_data_fits(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.define_type("Drug", {"description": "A remedy"}))
    put(db, "Drug", "Aspirin", grams=0.5)
    result = db.schema.apply("node Drug { name: String @key  grams: F64? }")
    assert result.applied
    assert attributes(db, "Drug", "Aspirin") == {"grams": 0.5, "name": "Aspirin"}
    assert attributes(db, "$ConceptType", "Drug")["description"] == "A remedy"


def test_a_flexible_type_whose_data_does_not_fit_stays_flexible(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.define_type("Drug"))
    put(db, "Drug", "Aspirin", grams="half")
    put(db, "Drug", "Ibuprofen", grams=0.4, colour="white")
    before = db.snapshot()
    result = db.schema.apply("node Drug { grams: F64? }")
    assert (result.supported, result.applied) == (False, False)
    assert db.snapshot() == before
    (refused,) = [step for step in result.steps if step["kind"] == "unsupported_change"]
    assert refused["entity"] == "node:Drug"
    assert refused["violation_count"] == 2
    assert "'Aspirin'" in refused["violations"][0]["instance"]
    assert "colour" in refused["violations"][1]["message"]
    put(db, "Drug", "Other", anything=[1])


def test_a_predicate_is_adopted_under_another_name(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type("Drug")
        tx.define_type("Symptom")
        tx.define_predicate("treats")
        drug = tx.put_concept("Drug", "Aspirin")
        symptom = tx.put_concept("Symptom", "Headache")
        tx.add_edge(drug, "treats", symptom)
    text = 'node Drug {} node Symptom {} edge Treats: Drug -> Symptom @kip("treats")'
    assert db.schema.apply(text).applied
    with pytest.raises(ConstraintViolation):
        db.add_edge(symptom, "treats", drug)


def test_links_between_other_types_keep_a_predicate_from_being_adopted(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type("Drug")
        tx.define_predicate("treats")
        one, two = (tx.put_concept("Drug", name) for name in ("a", "b"))
        tx.add_edge(one, "treats", two)
    text = 'node Drug {} node Symptom {} edge Treats: Drug -> Symptom @kip("treats")'
    result = db.schema.apply(text)
    assert not result.supported
    assert "'a -> b'" in reasons(result)


def test_types_that_no_schema_names_stay_flexible(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    db.write(lambda tx: tx.define_type("Drug"))
    put(db, "Drug", "Aspirin", anything={"goes": [1, "two"]})


# What enforcement looks like right after.


def test_rows_are_held_against_the_schema(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    put(db, "Person", "ada@example.org", age=36)
    assert attributes(db, "Person", "ada@example.org")["email"] == "ada@example.org"
    with pytest.raises(InvalidValueType):
        put(db, "Person", "bob@example.org", age="old")
    with pytest.raises(ConstraintViolation, match=r"@range violation on Person\.age"):
        put(db, "Person", "bob@example.org", age=200)
    with pytest.raises(ConstraintViolation):
        put(db, "Person", "bob@example.org", shoe_size=44)


# Changing the schema with data in the graph.


def test_a_nullable_property_is_added(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    put(db, "Person", "ada@example.org", age=36)
    result = db.schema.apply(PEOPLE.replace("age: I32?", "age: I32?  city: String?"))
    assert kinds(result) == ["add_property"]
    db.execute(
        'UPSERT { CONCEPT ?p { {type: "Person", name: "ada@example.org"}'
        ' SET ATTRIBUTES {city: "London"} } }'
    )


def test_a_required_property_needs_a_default(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    put(db, "Person", "ada@example.org")
    refused = db.schema.apply(PEOPLE.replace("age: I32?", "age: I32?  city: String"))
    assert not refused.supported
    assert "@default" in reasons(refused)
    done = db.schema.apply(
        PEOPLE.replace("age: I32?", 'age: I32?  city: String @default("unknown")')
    )
    assert done.applied
    assert attributes(db, "Person", "ada@example.org")["city"] == "unknown"


def test_a_property_becomes_required_if_every_row_has_it(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    put(db, "Person", "ada@example.org", age=36)
    put(db, "Person", "bob@example.org")
    tighter = PEOPLE.replace("age: I32?", "age: I32")
    result = db.schema.apply(tighter)
    assert not result.supported
    assert "'bob@example.org'" in reasons(result)
    put(db, "Person", "bob@example.org", age=40)
    assert kinds(db.schema.apply(tighter)) == ["tighten_property"]


def test_unique_is_added_if_the_data_is_unique(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    put(db, "Person", "ada@example.org", age=36)
    put(db, "Person", "bob@example.org", age=36)
    unique = PEOPLE.replace("age: I32?", "age: I32? @unique")
    result = db.schema.apply(unique)
    assert not result.supported
    assert "@unique violation on Person.(age): value '36'" in reasons(result)
    put(db, "Person", "bob@example.org", age=37)
    assert db.schema.apply(unique).applied
    with pytest.raises(ConstraintViolation, match="@unique violation"):
        put(db, "Person", "eve@example.org", age=37)


def test_ranges_and_checks_are_added_if_the_data_satisfies_them(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    put(db, "Person", "ada", age=36)
    narrow = PEOPLE.replace("0..150", "0..30")
    assert "36" in reasons(db.schema.apply(narrow))
    checked = PEOPLE.replace("@range(age", '@check(email, "@")\n    @range(age')
    assert "@check violation on Person.email" in reasons(db.schema.apply(checked))
    assert db.schema.catalog.same_shape(schema.load(PEOPLE))


def test_an_enum_gains_values(db: mycel.Graph) -> None:
    db.schema.apply("node Task { state: enum(open, done) }")
    put(db, "Task", "one", state="open")
    result = db.schema.apply("node Task { state: enum(open, done, blocked) }")
    assert kinds(result) == ["extend_enum"]
    put(db, "Task", "one", state="blocked")
    refused = db.schema.apply("node Task { state: enum(open, done) }")
    assert not refused.supported
    assert "blocked" in reasons(refused)


def test_a_type_is_renamed_with_its_instances_and_links(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    ada = put(db, "Person", "ada@example.org", age=36)
    team = put(db, "Team", "Engines")
    db.add_edge(ada, "MemberOf", team, data={"role": "lead"})
    before = db.snapshot().entries
    identity = db.schema.catalog.nodes["Team"].type_id
    renamed = PEOPLE.replace("node Team", 'node Group @rename_from("Team")').replace(
        "-> Team", "-> Group"
    )
    result = db.schema.apply(renamed)
    assert kinds(result) == ["rename_type"]
    assert db.schema.catalog.nodes["Group"].type_id == identity
    moved = db.get_concept("Group", "Engines")
    assert moved is not None
    assert moved.id == team
    found = db.execute('FIND(?p.name) WHERE { (?p, "MemberOf", {type: "Group", name: "Engines"}) }')
    assert found.to_dict()["result"] == ["ada@example.org"]
    with pytest.raises(TypeMismatch):
        put(db, "Team", "Another")
    assert db.as_of(before).get_concept("Team", "Engines") is not None
    assert set(db.schema.at(before).nodes) == {"Person", "Team"}


def test_an_edge_is_renamed_with_its_links(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    ada, team = put(db, "Person", "ada"), put(db, "Team", "Engines")
    db.add_edge(ada, "MemberOf", team, data={"role": "lead"})
    renamed = PEOPLE.replace(
        "edge MemberOf: Person -> Team", 'edge WorksIn: Person -> Team @rename_from("MemberOf")'
    )
    assert kinds(db.schema.apply(renamed)) == ["rename_type"]
    edge = db.get_edge(ada, "WorksIn", team)
    assert edge.data == {"role": "lead"} or edge.attributes == {"role": "lead"}
    assert not edge.tombstoned


def test_a_property_is_renamed_with_its_values(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    put(db, "Person", "ada", age=36)
    renamed = PEOPLE.replace("age: I32?", 'years: I32? @rename_from("age")').replace(
        "@range(age", "@range(years"
    )
    assert kinds(db.schema.apply(renamed)) == ["rename_property"]
    assert attributes(db, "Person", "ada") == {"email": "ada", "years": 36}
    again = db.schema.apply(renamed)
    assert (again.supported, again.applied) == (True, False)


def test_a_key_that_is_added_names_the_instances(db: mycel.Graph) -> None:
    db.schema.apply("node City { code: String }")
    put(db, "City", "one", code="two")
    put(db, "City", "two", code="one")
    put(db, "City", "three", code="four")
    assert db.schema.apply("node City { code: String @key }").applied
    assert attributes(db, "City", "one") == {"code": "one"}
    assert attributes(db, "City", "two") == {"code": "two"}
    assert db.get_concept("City", "three") is None
    assert attributes(db, "City", "four") == {"code": "four"}


def test_a_key_that_two_instances_share_is_refused(db: mycel.Graph) -> None:
    db.schema.apply("node City { code: String }")
    put(db, "City", "one", code="x")
    put(db, "City", "two", code="x")
    result = db.schema.apply("node City { code: String @key }")
    assert not result.supported
    assert "@key violation on City.(code): value 'x'" in reasons(result)


def test_a_property_that_is_dropped_is_hidden_and_comes_back(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    put(db, "Person", "ada", age=36)
    put(db, "Person", "bob")
    without = PEOPLE.replace("age: I32?", "").replace("@range(age, 0..150)", "")
    dropped = db.schema.apply(without)
    assert "hide_property" in kinds(dropped)
    assert attributes(db, "Person", "ada") == {"email": "ada"}
    put(db, "Person", "eve")
    restored = db.schema.apply(PEOPLE)
    assert "restore_property" in kinds(restored)
    assert attributes(db, "Person", "ada") == {"email": "ada", "age": 36}
    assert attributes(db, "Person", "eve") == {"email": "eve"}


def test_with_data_loss_a_property_does_not_come_back(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    put(db, "Person", "ada", age=36)
    without = PEOPLE.replace("age: I32?", "").replace("@range(age, 0..150)", "")
    db.schema.apply(without, allow_data_loss=True)
    assert "add_property" in kinds(db.schema.apply(PEOPLE))
    assert attributes(db, "Person", "ada") == {"email": "ada"}


def test_a_type_that_is_dropped_is_hidden_and_comes_back(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    ada, team = put(db, "Person", "ada", age=36), put(db, "Team", "Engines")
    link = db.add_edge(ada, "MemberOf", team, data={"role": "lead"}, weight=0.25)
    alone = PEOPLE[: PEOPLE.index("node Team")]
    assert kinds(db.schema.apply(alone, allow_removals=True)) == ["hide_type", "hide_type"]
    with pytest.raises(TypeMismatch):
        db.execute('FIND(?t) WHERE { ?t {type: "Team"} }')
    assert list(db.edges_out(ada)) == []
    assert kinds(db.schema.apply(PEOPLE)) == ["restore_type", "restore_type"]
    (back,) = db.edges_out(ada)
    assert (back.id, back.attributes, back.weight) == (link, {"role": "lead"}, 0.25)
    assert back.object == team


def test_cardinality_is_tightened_only_if_the_data_allows_it(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    ada = put(db, "Person", "ada")
    for name in ("one", "two"):
        db.add_edge(ada, "MemberOf", put(db, "Team", name))
    tight = PEOPLE.replace("Person -> Team", "Person -> Team @card(0..1)")
    result = db.schema.apply(tight)
    assert not result.supported
    assert "source 'ada' has 2 edges (max 1)" in reasons(result)
    db.remove_edge(ada, "MemberOf", db.get_concept("Team", "one") or "")
    assert kinds(db.schema.apply(tight)) == ["change_cardinality"]


def test_scalars_and_ends_do_not_change(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    for other in (
        PEOPLE.replace("age: I32?", "age: I64?"),
        PEOPLE.replace("Person -> Team", "Team -> Person"),
    ):
        result = db.schema.apply(other)
        assert (result.supported, result.applied) == (False, False)


def test_planning_looks_at_the_data_and_changes_nothing(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    put(db, "Person", "ada")
    before = db.snapshot()
    tighter = PEOPLE.replace("age: I32?", "age: I32")
    assert not db.schema.plan(tighter).supported
    assert db.schema.plan(tighter, check_data=False).supported
    assert db.snapshot() == before


def test_every_schema_that_was_applied_is_in_the_history(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    renamed = PEOPLE.replace("age: I32?", 'years: I32? @rename_from("age")').replace(
        "@range(age", "@range(years"
    )
    db.schema.apply(renamed)
    first, second = db.schema.history()
    assert first.ir_hash == schema.load(PEOPLE).ir_hash
    assert [step["kind"] for step in second.steps] == ["rename_property"]
    assert second.ir_hash == db.schema.catalog.ir_hash
    assert db.schema.at(first.seq).ir_hash == first.ir_hash


def test_a_definition_of_a_schema_is_changed_by_schemas_alone(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    with pytest.raises(MycelError, match="schema"):
        db.execute(
            'UPSERT { CONCEPT ?t { {type: "$ConceptType", name: "Person"}'
            " SET ATTRIBUTES {instance_schema: {}} } }"
        )
    db.execute(
        'UPSERT { CONCEPT ?t { {type: "$ConceptType", name: "Person"}'
        ' SET ATTRIBUTES {description: "Anybody"} } }'
    )


def test_a_schema_that_is_inferred_can_be_applied(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type("Drug", {"description": "A remedy"})
        tx.define_type("symptom")
        tx.define_predicate("treats")
        drug = tx.put_concept(
            "Drug", "Aspirin", {"grams": 0.5, "since": "1899-03-06", "tags": ["a"]}
        )
        tx.put_concept("Drug", "Ibuprofen", {"grams": 1, "note": {"odd": 1}, "Upper": 1})
        symptom = tx.put_concept("symptom", "Headache", {"name": "Headache", "n": 1})
        tx.add_edge(drug, "treats", symptom, data={"dose": 3})
    text = db.schema.infer()
    assert 'edge Treats: Drug -> Symptom @kip("treats")' in text
    assert "since: Date?" in text
    assert "grams: F64" in text
    assert "name: String @key" in text
    assert "@open" in text
    result = db.schema.apply(text)
    assert result.applied, result.steps
    assert db.schema.plan(db.schema.infer()).steps == ()


# What a reviewer stumbled over.


@pytest.mark.parametrize("key", ["pg", "pg_dropped"])
def test_nobody_writes_into_a_definition_what_schemas_write(db: mycel.Graph, key: str) -> None:
    forged = {"declaration": {"kind": "node"}, "seq": 0, "time_us": 0, "kind": "node"}
    for value in ({}, forged):
        with pytest.raises(MycelError, match="applying a schema"):
            db.write(lambda tx, value=value: tx.define_type("Quay", {key: value}))  # type: ignore[misc]
    assert db.schema.apply("node Quay { a: String? }").applied


def test_what_is_no_declaration_is_none(db: mycel.Graph) -> None:
    """A file that is older than schemas may have anything there."""
    assert declaration({"pg": {"kind": "node"}}) is None
    assert declaration({"pg": {"kind": "edge", "name": 1, "type_id": 2, "properties": 3}}) is None
    assert declaration({"pg": "text"}) is None


EDGED = "node A { k: String @key  n: I32? }\nnode B { k: String  m: String }\nedge E: A -> B"


def linked(db: mycel.Graph) -> tuple[str, str]:
    a, b = put(db, "A", "a"), put(db, "B", "b", k="b", m="bee")
    db.add_edge(a, "E", b)
    return a, b


def test_links_come_back_although_an_end_has_another_key(db: mycel.Graph) -> None:
    db.schema.apply(EDGED)
    a, _ = linked(db)
    db.schema.apply(EDGED.replace("edge E: A -> B", ""), allow_removals=True)
    rekeyed = EDGED.replace("m: String", "m: String @key")
    db.schema.apply(rekeyed.replace("edge E: A -> B", ""))
    assert "restore_type" in kinds(db.schema.apply(rekeyed))
    (link,) = db.edges_out(a, ["E"])
    assert db.get(link.object).name == "bee"  # type: ignore[union-attr]


def test_links_come_back_although_an_end_is_called_otherwise(db: mycel.Graph) -> None:
    db.schema.apply(EDGED)
    a, b = linked(db)
    db.schema.apply(EDGED.replace("edge E: A -> B", ""), allow_removals=True)
    renamed = EDGED.replace("node B", 'node B2 @rename_from("B")').replace("A -> B", "A -> B2")
    db.schema.apply(renamed.replace("edge E: A -> B2", ""))
    assert kinds(db.schema.apply(renamed)) == ["restore_type"]
    assert [link.object for link in db.edges_out(a, ["E"])] == [b]


def test_a_restored_edge_is_held_to_its_cardinality(db: mycel.Graph) -> None:
    text = "node A {} node B {} edge E: A -> B @card(2..2)"
    db.schema.apply(text)
    with db.transaction() as tx:
        a = tx.put_concept("A", "a")
        targets = [tx.put_concept("B", name) for name in ("x", "y")]
        for target in targets:
            tx.add_edge(a, "E", target)
    db.schema.apply("node A {} node B {}", allow_removals=True)
    db.write(lambda tx: tx.retire(targets[0]))
    result = db.schema.apply(text)
    assert not result.supported
    assert "@card violation on edge E" in reasons(result)


def test_a_key_that_is_no_name_is_listed(db: mycel.Graph) -> None:
    db.schema.apply("node A { k: String }")
    put(db, "A", "a", k="x" * 5000)
    result = db.schema.apply("node A { k: String @key }")
    assert not result.supported
    assert "'a'" in reasons(result)


def test_the_foundation_is_no_business_of_schemas(db: mycel.Graph) -> None:
    for call in (db.schema.plan, db.schema.apply):
        result = call("node Domain @open {}")
        assert not result.supported
        assert "foundation" in reasons(result)


@pytest.mark.parametrize("nonsense", [b"node A {}", 123, None])
def test_what_is_neither_text_nor_catalog_is_refused(db: mycel.Graph, nonsense: Any) -> None:
    with pytest.raises(InvalidValueType):
        db.schema.apply(nonsense)


def test_a_declaration_that_is_too_large_is_named(db: mycel.Graph) -> None:
    text = " ".join(f"property_number_{n}: String?" for n in range(12_000))
    with pytest.raises(mycel.errors.ResourceExhausted, match="declaration of Wide"):
        db.schema.apply(f"node Wide {{ {text} }}")


def test_a_renamed_definition_keeps_its_metadata_and_links(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        drug = tx.put_concept("$ConceptType", "Drug", {"note": "ours"}, {"source": "a book"})
        domain = tx.put_concept("Domain", "Medicine", {"description": "Cures"})
        tx.add_edge(drug, "belongs_to_domain", domain)
    db.schema.apply("node Drug {}")
    db.schema.apply('node Remedy @rename_from("Drug") {}')
    remedy = db.get_concept("$ConceptType", "Remedy")
    assert remedy is not None
    assert (remedy.attributes["note"], remedy.metadata["source"]) == ("ours", "a book")
    assert [link.object for link in db.edges_out(remedy.id)] == [domain]
    db.schema.apply("", allow_removals=True)
    db.schema.apply("node Remedy {}")
    remedy = db.get_concept("$ConceptType", "Remedy")
    assert remedy is not None
    assert (remedy.attributes["note"], remedy.metadata["source"]) == ("ours", "a book")
    assert [link.object for link in db.edges_out(remedy.id)] == [domain]


def test_a_type_that_had_to_stay_expects_what_it_expected_before(db: mycel.Graph) -> None:
    before = attributes(db, "$ConceptType", "Person")
    db.schema.apply("node Person { email: String @key }")
    put(db, "Person", "ada")
    db.schema.apply("node Person { email: String @key  age: I32? }")
    db.schema.apply("", allow_removals=True)
    after = attributes(db, "$ConceptType", "Person")
    assert after["instance_schema"] == before["instance_schema"]
    assert db.get_concept("Person", "ada") is None
    assert "restore_type" in kinds(db.schema.apply("node Person { email: String @key }"))
    assert attributes(db, "Person", "ada") == {"email": "ada"}


def test_what_was_dropped_under_one_name_with_two_types_comes_back_each(db: mycel.Graph) -> None:
    number, text, none = "node A { p: I32? }", "node A { p: String? }", "node A {}"
    db.schema.apply(number)
    put(db, "A", "a", p=1)
    db.schema.apply(none)
    db.schema.apply(text)
    put(db, "A", "a", p="one")
    for wanted, value in ((number, 1), (text, "one"), (number, 1)):
        db.schema.apply(none)
        assert kinds(db.schema.apply(wanted)) == ["restore_property"]
        assert attributes(db, "A", "a") == {"p": value}


def test_the_merge_policy_of_a_property_is_read_from_the_definition_of_its_type(
    db: mycel.Graph,
) -> None:
    text = """
    node Note { name: String @key seen: I32? @merge("counter") tags: [String]? @merge("set") }
    edge Cites: Note -> Note { weight: F64? @merge("max") }
    """
    db.schema.apply(text)
    note = merge_policies(attributes(db, "$ConceptType", "Note"))
    assert note == {"seen": "counter", "tags": "set"}
    assert merge_policies(attributes(db, "$PropositionType", "Cites")) == {"weight": "max"}
    db.schema.apply(text.replace("counter", "ask"))
    assert merge_policies(attributes(db, "$ConceptType", "Note"))["seen"] == "ask"
    assert '@merge("ask")' in db.schema.catalog.format()
    seen = {each.name: each.merge for each in db.schema.catalog.nodes["Note"].properties}
    assert seen == {"name": None, "seen": "ask", "tags": "set"}


def test_retention_and_functional_go_through_apply_infer_and_merge(tmp_path: Path) -> None:
    """They are attributes of the definitions, which only the schema changes from then on."""
    rule = "archive 30d after updated unless linked"
    text = (
        "node Worker { name: String @key }"
        f' node Job @retention("{rule}") {{ name: String @key }}'
        " edge WorksAt: Worker -> Job @functional"
    )

    def stored_rule(db: mycel.Graph) -> Any:
        command = 'FIND(?t.attributes.retention) WHERE { ?t {type: "$ConceptType", name: "Job"} }'
        return db.execute(command).value[0]

    expected = {"after": "30d", "from": "updated", "then": "archive", "keep_if": ["linked"]}
    with mycel.open(tmp_path / "graph.db") as db:
        db.schema.apply(text)
        assert stored_rule(db) == expected
        assert not db.schema.plan(text).steps, "the same text again changes nothing"
        with pytest.raises(ImmutableTarget):
            db.execute('SET RETENTION "never" FOR CONCEPT TYPE "Job"')
        for name in ("Acme", "Initech"):
            with db.transaction() as tx:
                worker = tx.put_concept("Worker", "ana", {"name": "ana"})
                job = tx.put_concept("Job", name, {"name": name})
                tx.put_proposition(worker, "WorksAt", job)
        where = 'WHERE { (?p, "WorksAt", ?j) }'
        assert db.execute(f'FIND(?j.name) FOR TIME "2999-01-01" {where}').value == ["Initech"]
        db.branches.create("calm")
        with mycel.open(db.path, branch="calm") as calm:
            calm.schema.apply(text.replace("30d", "60d"))
        db.merge("calm")
        assert stored_rule(db) == {**expected, "after": "60d"}
        catalog = db.schema.catalog
        assert catalog.nodes["Job"].retention == rule.replace("30d", "60d")
        db.schema.apply(text.replace(f' @retention("{rule}")', "").replace(" @functional", ""))
        assert stored_rule(db) is None


def test_inferred_schemas_keep_the_rules_of_definitions() -> None:
    with NEW.opened() as db:
        with db.transaction() as tx:
            tx.define_type("Job", {"retention": {"after": "8w", "then": "ask"}})
            tx.define_predicate("follows", {"functional": True})
            first, second = (tx.put_concept("Job", name) for name in "ab")
            tx.put_proposition(first, "follows", second)
        inferred = db.schema.infer()
        assert '@retention("ask 8w after created")' in inferred
        assert '@kip("follows") @functional' in inferred
