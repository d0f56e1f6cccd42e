"""The guard of what a schema declares: rules on every write, through every door."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    ImmutableTarget,
    InvalidValueType,
    MycelError,
)
from tests.prepared import Prepared

SCHEMA = """
interface Named { name: String }

node Person @description("A human being") implements Named {
    email: String @key
    age: I32?
    role: enum(admin, user) @default(user)
    phone: String? @unique
    @range(age, 0..150)
    @check(email, "^[^@]+@[^@]+$")
    @unique(name, age)
}
node City { population: U64? }
node Note @open { text: String? }

edge Knows: Person -> Person { since: Date  note: String?  @unique(src, since) }
edge LivesIn: Person -> City @card(0..1)
edge Likes: Person -> City @card(1..2)
edge Treats: Person -> Person @kip("treats")
"""

ADA, BOB, EVE = "ada@x", "bob@x", "eve@x"


BEGUN = Prepared(lambda db: db.schema.apply(SCHEMA))


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with BEGUN.opened() as db:
        yield db


def person(tx: mycel.Transaction, email: str = ADA, **attributes: Any) -> str:
    return tx.put_concept("Person", email, {"name": email[:3].title(), **attributes})


def refused(db: mycel.Graph, work: Callable[[mycel.Transaction], object]) -> MycelError:
    """The error of a transaction, which has left everything as it was."""
    before = db.snapshot()
    with pytest.raises(MycelError) as caught:
        db.write(work)
    assert db.snapshot() == before
    assert caught.value.hint
    return caught.value


def stored(db: mycel.Graph, element: str) -> dict[str, Any]:
    attributes: dict[str, Any] = db.get(element).attributes
    return attributes


# Values, at the change.


def test_a_new_concept_is_stored_with_its_key_its_defaults_and_one_spelling(
    db: mycel.Graph,
) -> None:
    ada = db.write(lambda tx: person(tx, age=36.0))
    assert stored(db, ada) == {"email": ADA, "name": "Ada", "age": 36, "role": "user"}
    assert db.verify(replay=True).ok


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"age": "old"}, "Person.age must be I32: 'old' is a string."),
        ({"age": 151}, "@range violation on Person.age: 151 is not within 0..150."),
        (
            {"role": "king"},
            "invalid enum value 'king' for Person.role (expected: admin, user).",
        ),
        ({"agee": 5}, "Person has no property 'agee'."),
        ({"email": BOB}, "Person.email is 'bob@x', but it is the key of Person 'ada@x'."),
        ({"name": 5}, "Person.name must be String: 5 is a number."),
    ],
)
def test_what_a_property_does_not_allow_is_refused_on_every_path(
    db: mycel.Graph, attributes: dict[str, Any], message: str
) -> None:
    row = {"name": "Ada", **attributes}
    rows = [mycel.ConceptRow("Person", f"p{n}@x", {"name": "P", "age": n}) for n in range(9)]
    rows.append(mycel.ConceptRow("Person", ADA, row))
    assert refused(db, lambda tx: tx.put_concept("Person", ADA, row)).message == message
    error = refused(db, lambda tx: tx.put_concepts(rows))
    assert error.message == message
    assert error.data["row"] == 9
    db.write(person)
    assert refused(db, lambda tx: tx.put_concept("Person", ADA, row)).message == message
    ada = db.get_concept("Person", ADA)
    assert refused(db, lambda tx: tx.update(ada, attributes=attributes)).message == message


def test_a_command_is_refused_with_what_is_expected(db: mycel.Graph) -> None:
    command = """
        UPSERT { CONCEPT ?a { {type: "Person", name: "ada@x"}
            SET ATTRIBUTES { name: "Ada", age: "36" } } }"""
    with pytest.raises(InvalidValueType, match=r"Person\.age must be I32: '36' is a string"):
        db.execute(command)
    db.execute(command.replace('"36"', "36"))
    with pytest.raises(ConstraintViolation, match="expected: admin, user"):
        db.execute(
            'UPDATE ?p SET ATTRIBUTES { role: "boss" } WHERE { ?p {type: "Person", name: "ada@x"} }'
        )


def test_the_key_follows_from_the_name_and_has_to_satisfy_its_rules(db: mycel.Graph) -> None:
    error = refused(db, lambda tx: tx.put_concept("Person", "nobody", {"name": "N"}))
    assert error.message == (
        "@check violation on Person.email: 'nobody' does not match \"^[^@]+@[^@]+$\"."
    )


def test_an_open_type_takes_what_it_does_not_declare(db: mycel.Graph) -> None:
    note = db.write(lambda tx: tx.put_concept("Note", "n", {"text": "a", "mood": ["good"]}))
    assert stored(db, note) == {"text": "a", "mood": ["good"]}
    assert "Note.text" in refused(db, lambda tx: tx.put_concept("Note", "n", {"text": 5})).message


def test_metadata_is_free(db: mycel.Graph) -> None:
    work = lambda tx: tx.put_concept("City", "Rome", {}, {"source": "a book"})  # noqa: E731
    assert db.get(db.write(work)).metadata["source"] == "a book"


def test_keys_that_are_no_text_are_refused_by_the_store(db: mycel.Graph) -> None:
    rows = [mycel.ConceptRow("City", f"c{n}", {n: 1}) for n in range(9)]  # type: ignore[dict-item]
    assert isinstance(refused(db, lambda tx: tx.put_concepts(rows)), InvalidValueType)


def test_an_interface_has_no_instances(db: mycel.Graph) -> None:
    error = refused(db, lambda tx: tx.put_concept("Named", "x", {"name": "x"}))
    assert error.message == "Named is an interface and has no instances."


def test_the_actors_are_outside_the_schema(db: mycel.Graph) -> None:
    me = db.get_concept("Person", "$self")
    assert db.write(lambda tx: tx.update(me, attributes={"persona": "calm", "age": "old"}))
    db.write(lambda tx: tx.update(me, attributes={"phone": "1"}))
    db.write(lambda tx: person(tx, phone="1"))
    assert "held by" in refused(db, lambda tx: person(tx, BOB, phone="1")).message


# Required, at the commit.


def test_an_element_may_be_completed_in_steps(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        ada = tx.put_concept("Person", ADA)
        tx.update(ada, attributes={"name": "Ada"})
    assert stored(db, ada)["name"] == "Ada"


def test_what_is_required_is_there_in_the_end(db: mycel.Graph) -> None:
    error = refused(db, lambda tx: tx.put_concept("Person", ADA))
    assert error.message == "Person.name is required: Person 'ada@x' has none."
    assert error.data["missing"] == ["name"]
    ada = db.write(person)
    for change in ({"attributes": {"name": None}}, {"drop_attributes": ["name"]}):
        error = refused(db, lambda tx, change=change: tx.update(ada, **change))  # type: ignore[misc]
        assert error.message.startswith("Person.name is required")
    error = refused(db, lambda tx: tx.update(ada, attributes={"name": None, "role": None}))
    assert error.message.startswith("Person.role and Person.name are required")


def test_what_is_required_is_demanded_of_a_bulk_put(db: mycel.Graph) -> None:
    rows = [mycel.ConceptRow("Person", f"p{n}@x", {"name": f"P{n}"}) for n in range(9)]
    rows.append(mycel.ConceptRow("Person", ADA))
    assert "Person.name is required" in refused(db, lambda tx: tx.put_concepts(rows)).message


def test_what_is_removed_before_the_end_need_not_be_complete(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.retire(tx.put_concept("Person", ADA))
    assert db.get_concept("Person", ADA) is None


def test_links_have_required_properties_as_well(db: mycel.Graph) -> None:
    ada, bob = db.write(lambda tx: (person(tx), person(tx, BOB)))
    error = refused(db, lambda tx: tx.put_proposition(ada, "Knows", bob))
    assert error.message == "Knows.since is required: Knows 'ada@x -> bob@x' has none."
    error = refused(db, lambda tx: tx.put_proposition(ada, "Knows", bob, {"since": "2024-13-01"}))
    assert error.message.startswith("Knows.since must be Date")
    db.add_edge(ada, "Knows", bob, data={"since": "2024-01-31"})


# Unique, at the commit.


def test_a_unique_value_has_one_holder(db: mycel.Graph) -> None:
    ada = db.write(lambda tx: person(tx, phone="1"))
    error = refused(db, lambda tx: person(tx, BOB, phone="1"))
    assert error.message == (
        "@unique violation on Person.(phone): value '1' held by 'ada@x' and 'bob@x'."
    )
    assert isinstance(error, ConstraintViolation)
    assert error.data["elements"][0] == ada
    bob = db.write(lambda tx: person(tx, BOB, phone="2"))
    assert "held by" in refused(db, lambda tx: tx.update(bob, attributes={"phone": "1"})).message


def test_unique_values_may_be_swapped_within_a_transaction(db: mycel.Graph) -> None:
    ada, bob = db.write(lambda tx: (person(tx, phone="1"), person(tx, BOB, phone="2")))
    with db.transaction() as tx:
        tx.update(ada, attributes={"phone": "2"})
        tx.update(bob, attributes={"phone": "1"})
    assert (stored(db, ada)["phone"], stored(db, bob)["phone"]) == ("2", "1")


def test_null_exempts_a_tuple(db: mycel.Graph) -> None:
    db.write(lambda tx: [person(tx, each, name="Same") for each in (ADA, BOB)])
    error = refused(db, lambda tx: [person(tx, e, name="Same", age=5) for e in (ADA, BOB)])
    assert error.message == (
        "@unique violation on Person.(name, age): value 'Same, 5' held by 'ada@x' and 'bob@x'."
    )


def test_a_bulk_put_with_two_holders_is_refused(db: mycel.Graph) -> None:
    rows = [
        mycel.ConceptRow("Person", f"p{n}@x", {"name": "P", "phone": str(n % 9)}) for n in range(10)
    ]
    error = refused(db, lambda tx: tx.put_concepts(rows))
    assert error.message.endswith("value '0' held by 'p0@x' and 'p9@x'.")


def test_ends_may_be_part_of_what_is_unique(db: mycel.Graph) -> None:
    ada, bob, eve = db.write(lambda tx: [person(tx, each) for each in (ADA, BOB, EVE)])
    when = {"since": "2024-01-31"}
    db.write(lambda tx: tx.put_proposition(ada, "Knows", bob, when))
    db.write(lambda tx: tx.put_proposition(bob, "Knows", eve, when))
    error = refused(db, lambda tx: tx.put_proposition(ada, "Knows", eve, when))
    assert error.message == (
        "@unique violation on Knows.(src, since): value 'ada@x, 2024-01-31' held by"
        " 'ada@x -> bob@x' and 'ada@x -> eve@x'."
    )


# Ends.


def test_a_link_leads_from_the_declared_type_to_the_declared_type(db: mycel.Graph) -> None:
    def both(tx: mycel.Transaction) -> tuple[str, str]:
        return person(tx), tx.put_concept("City", "Rome")

    ada, rome = db.write(both)
    error = refused(db, lambda tx: tx.put_proposition(rome, "LivesIn", ada))
    assert error.message == (
        '"LivesIn" cannot lead from City "Rome" to Person "ada@x": its subject must be Person,'
        " not City; its object must be City, not Person."
    )
    assert "Swap subject and object" in error.hint
    rows = [mycel.PropositionRow(ada, "LivesIn", rome), mycel.PropositionRow(rome, "treats", ada)]
    error = refused(db, lambda tx: tx.put_propositions(rows * 4))
    assert (error.data["type"], error.data["row"]) == ("Treats", 1)


def test_a_link_is_no_end_of_an_edge(db: mycel.Graph) -> None:
    ada, bob = db.write(lambda tx: (person(tx), person(tx, BOB)))
    link = db.write(lambda tx: tx.put_proposition(ada, "treats", bob))
    error = refused(db, lambda tx: tx.put_proposition(link, "treats", bob))
    assert "its subject must be Person, not treats" in error.message


def test_a_link_is_not_pointed_to_another_type(db: mycel.Graph) -> None:
    ada, bob = db.write(lambda tx: (person(tx), person(tx, BOB)))
    rome = db.write(lambda tx: tx.put_concept("City", "Rome"))
    link = db.write(lambda tx: tx.put_proposition(ada, "treats", bob))
    assert isinstance(refused(db, lambda tx: tx.relink(link, object_=rome)), ConstraintViolation)


# How many.


def cities(db: mycel.Graph) -> tuple[str, ...]:
    return tuple(
        db.write(lambda tx: tx.put_concepts([mycel.ConceptRow("City", n) for n in "abcd"]))
    )


def test_no_source_has_more_edges_than_the_maximum(db: mycel.Graph) -> None:
    ada = db.write(person)
    a, b, *_ = cities(db)
    db.add_edge(ada, "LivesIn", a)
    db.add_edge(ada, "LivesIn", a)
    with db.transaction() as tx, pytest.raises(ConstraintViolation) as caught:
        tx.put_proposition(ada, "LivesIn", b)  # Refused at once, not at the commit.
    assert caught.value.message == (
        "@card violation on edge LivesIn: source 'ada@x' has 2 edges (max 1)."
    )
    db.write(lambda tx: (tx.remove_edge(ada, "LivesIn", a), tx.put_proposition(ada, "LivesIn", b)))
    db.write(lambda tx: tx.update(tx.get_edge(ada, "LivesIn", b), metadata={"x": 1}))


def test_a_bulk_put_is_counted_as_a_whole(db: mycel.Graph) -> None:
    ada, bob = db.write(lambda tx: (person(tx), person(tx, BOB)))
    places = cities(db)
    rows = [mycel.PropositionRow(ada, "Likes", place) for place in places]
    error = refused(db, lambda tx: tx.put_propositions(rows))
    assert error.message == "@card violation on edge Likes: source 'ada@x' has 4 edges (max 2)."
    fine = [mycel.PropositionRow(who, "Likes", p) for who in (ada, bob) for p in places[:2]]
    assert db.write(lambda tx: tx.put_propositions(fine)) == 4


def test_edges_of_several_bulk_puts_are_counted_together(db: mycel.Graph) -> None:
    ada, bob = db.write(lambda tx: (person(tx), person(tx, BOB)))
    places = cities(db)
    rows = [mycel.PropositionRow(who, "Likes", p) for p in places[:2] for who in (ada, bob)]
    assert db.write(lambda tx: tx.put_propositions(rows)) == 4
    rows = [mycel.PropositionRow(who, "Likes", places[2]) for who in (bob, ada)]
    rows += [mycel.PropositionRow(ada, "treats", bob), mycel.PropositionRow(bob, "treats", ada)]
    assert "has 3 edges (max 2)" in refused(db, lambda tx: tx.put_propositions(rows)).message


def test_a_source_that_had_edges_keeps_the_minimum(db: mycel.Graph) -> None:
    ada = db.write(person)
    a, b, *_ = cities(db)
    link = db.write(lambda tx: tx.put_proposition(ada, "Likes", a))
    error = refused(db, lambda tx: tx.remove_edge(ada, "Likes", a))
    assert error.message == "@card violation on edge Likes: source 'ada@x' has 0 edges (min 1)."
    assert "has 0 edges" in refused(db, lambda tx: tx.retire(link)).message
    assert "has 0 edges" in refused(db, lambda tx: tx.retire(a)).message
    db.write(lambda tx: (tx.put_proposition(ada, "Likes", b), tx.remove_edge(ada, "Likes", a)))
    db.write(lambda tx: tx.retire(ada))
    assert db.get_concept("Person", ADA) is None


def test_pointing_an_edge_elsewhere_counts_at_both_sources(db: mycel.Graph) -> None:
    ada, bob = db.write(lambda tx: (person(tx), person(tx, BOB)))
    a, b, *_ = cities(db)
    likes = db.write(lambda tx: tx.put_proposition(ada, "Likes", a))
    assert "'ada@x' has 0 edges" in refused(db, lambda tx: tx.relink(likes, subject=bob)).message
    lives = db.write(lambda tx: tx.put_proposition(ada, "LivesIn", a))
    db.write(lambda tx: tx.relink(lives, object_=b))
    db.write(lambda tx: tx.put_proposition(bob, "LivesIn", a))
    error = refused(db, lambda tx: tx.relink(lives, subject=bob))
    assert "'bob@x' has 2 edges (max 1)" in error.message


# MERGE and moves.


MERGE = """MERGE CONCEPT ?s INTO ?t
    WHERE { ?s {type: "Person", name: "bob@x"} ?t {type: "Person", name: "ada@x"} }"""


def test_merging_fills_what_the_schema_has_a_place_for(db: mycel.Graph) -> None:
    ada, _ = db.write(lambda tx: (person(tx), person(tx, BOB, phone="7")))
    db.execute(MERGE)
    assert stored(db, ada) == {"email": ADA, "name": "Ada", "role": "user", "phone": "7"}


def test_merging_is_refused_where_the_sum_is_too_many(db: mycel.Graph) -> None:
    ada, bob = db.write(lambda tx: (person(tx), person(tx, BOB)))
    a, b, *_ = cities(db)
    db.write(
        lambda tx: (tx.put_proposition(ada, "LivesIn", a), tx.put_proposition(bob, "LivesIn", b))
    )
    with pytest.raises(ConstraintViolation, match="has 2 edges"):
        db.execute(MERGE)
    assert db.get_concept("Person", BOB) is not None


def test_what_moves_into_the_schema_has_to_fit_it(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.define_type("Thing"))
    thing = db.write(lambda tx: tx.put_concept("Thing", "dan@x", {"name": "Dan"}))
    odd = db.write(lambda tx: tx.put_concept("Thing", "x@x", {"legs": 4}))
    db.write(lambda tx: tx.move(thing, type_name="Person"))
    assert stored(db, thing) == {"name": "Dan", "email": "dan@x", "role": "user"}
    assert "no property 'legs'" in refused(db, lambda tx: tx.move(odd, type_name="Person")).message
    error = refused(db, lambda tx: tx.move(thing, name="dan@y"))
    assert "it is the key of Person 'dan@y'" in error.message


def test_an_end_does_not_move_away_from_under_its_links(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.define_type("Thing"))
    ada, bob = db.write(lambda tx: (person(tx), person(tx, BOB)))
    link = db.write(lambda tx: tx.put_proposition(ada, "treats", bob))
    error = refused(db, lambda tx: tx.move(bob, type_name="Thing"))
    assert "its object must be Person, not Thing" in error.message
    db.write(lambda tx: (tx.retire(link), tx.move(bob, type_name="Thing")))
    assert db.get(bob).to_dict()["type"] == "Thing"


def test_an_end_that_has_moved_is_known_by_its_new_type(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.define_type("Thing"))
    ada, bob = db.write(lambda tx: (person(tx), person(tx, BOB)))
    with db.transaction() as tx:
        tx.retire(tx.put_proposition(ada, "treats", bob))
        tx.retire(tx.put_proposition(bob, "treats", ada))
        tx.move(bob, type_name="Thing")
        for ends in ((ada, bob), (bob, ada)):
            with pytest.raises(ConstraintViolation, match="must be Person, not Thing"):
                tx.put_proposition(ends[0], "treats", ends[1])


def test_a_link_that_gets_another_predicate_has_to_fit_it(db: mycel.Graph) -> None:
    ada, bob = db.write(lambda tx: (person(tx), person(tx, BOB)))
    link = db.write(lambda tx: tx.put_proposition(ada, "treats", bob))
    error = refused(db, lambda tx: tx.move(link, predicate="Knows"))
    assert error.message.startswith("Knows.since is required")
    error = refused(db, lambda tx: tx.move(link, predicate="LivesIn"))
    assert "its object must be City" in error.message


# Definitions.


def definition(db: mycel.Graph, name: str, meta: str = "$ConceptType") -> mycel.Concept:
    found = db.get_concept(meta, name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "attributes",
    [
        {"pg": None},
        {"pg": {}},
        {"instance_schema": {}},
        {"description": "Something else"},
        {"is_interface": True},
        {"subject_types": ["City"]},
    ],
)
def test_what_the_schema_says_changes_with_the_schema_only(
    db: mycel.Graph, attributes: dict[str, Any]
) -> None:
    error = refused(db, lambda tx: tx.define_type("Person", attributes))
    assert isinstance(error, ImmutableTarget)
    assert "db.schema.apply" in error.hint


def test_what_the_schema_does_not_say_is_free(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.define_type("City", {"description": "A town", "colour": "blue"}))
    assert definition(db, "City").attributes["description"] == "A town"
    db.write(lambda tx: tx.define_type("Person", definition(db, "Person").attributes))


def test_ends_of_an_edge_change_with_the_schema_only(db: mycel.Graph) -> None:
    error = refused(db, lambda tx: tx.define_predicate("treats", {"object_types": ["*"]}))
    assert isinstance(error, ImmutableTarget)


def test_a_declared_type_is_not_removed(db: mycel.Graph) -> None:
    for name, meta in (("City", "$ConceptType"), ("treats", "$PropositionType")):
        error = refused(db, lambda tx, name=name, meta=meta: tx.retire(definition(db, name, meta)))  # type: ignore[misc]
        assert isinstance(error, ImmutableTarget)
        assert "cannot be removed" in error.message


def test_nobody_is_told_to_empty_a_type_that_cannot_be_removed(db: mycel.Graph) -> None:
    cities(db)
    command = 'DELETE CONCEPT ?t DETACH WHERE { ?t {type: "$ConceptType", name: "City"} }'
    with pytest.raises(ImmutableTarget, match="City is declared by the schema"):
        db.execute(command)


def test_a_declaration_is_not_written_by_hand(db: mycel.Graph) -> None:
    declared = definition(db, "City").attributes["pg"]
    for work in (
        lambda tx: tx.define_type("Town", {"pg": declared}),
        lambda tx: (tx.define_type("Town"), tx.define_type("Town", {"pg": declared})),
    ):
        assert isinstance(refused(db, work), ImmutableTarget)


# Types without a schema, side by side with those that have one.


def test_flexible_types_stay_flexible(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.define_type("Thing", {"instance_schema": {"n": {"type": "number"}}}))
    db.write(lambda tx: tx.put_concept("Thing", "t", {"n": 5, "anything": [1, {}]}))
    with pytest.raises(InvalidValueType, match='"n" of Thing "t" must be a number'):
        db.write(lambda tx: tx.put_concept("Thing", "t", {"n": "five"}))


def test_a_dry_run_is_held_against_the_schema_too(db: mycel.Graph) -> None:
    answer = db.request(
        {
            "command": 'UPSERT { CONCEPT ?a { {type: "Person", name: "ada@x"} } }',
            "dry_run": True,
        }
    )
    assert answer["error"]["message"].startswith("Person.name is required")
