"""Questions that an index on a property answers: the same rows, found without reading the type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.engine.values import Values
from mycel.engine.where_targets import targets
from mycel.kip import ast, parse
from mycel.model.state import State
from mycel.store.query.statistics import SAMPLE, VALUES, StoreStatistics
from mycel.store.query.vocabulary import Vocabulary
from tests.unit.engine.indexes import define_indexes
from tests.unit.engine.town import counted_plannings
from tests.unit.plan.compiled import rows

BY_EMAIL = 'FIND(?p.name) WHERE { ?p {type: "Person"} FILTER(?p.attributes.email == :e) }'
LARGE = 2**64 - 1


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with mycel.open(":memory:", core_capsules=False) as db:
        with db.transaction() as tx:
            for name in ("Person", "Town"):
                tx.define_type(name)
            tx.define_predicate("knows", {"is_symmetric": True})
            tx.define_predicate("lives_in")
            town = tx.put_concept("Town", "Ulm")
            people = [
                tx.put_concept("Person", f"p{n}", {"email": f"{n}@x.org", "age": n % 10})
                for n in range(40)
            ]
            for n, person in enumerate(people):
                tx.put_proposition(person, "lives_in", town, {"since": 1980 + n})
                tx.put_proposition(person, "knows", people[(n + 1) % 40], {"since": n})
        define_indexes(db, "Person", email=True, age=False, is_member=False, number=False)
        define_indexes(db, "lives_in", since=False)
        define_indexes(db, "knows", since=False)
        yield db


def told(db: mycel.Graph, command: str, **parameters: Any) -> dict[str, Any]:
    value = db.execute(f"EXPLAIN {command}", parameters).value
    assert isinstance(value, dict)
    return value


def test_a_person_is_found_by_an_indexed_attribute(db: mycel.Graph) -> None:
    assert db.execute(BY_EMAIL, e="7@x.org").value == ["p7"]
    assert db.execute(BY_EMAIL, e="8@x.org").value == ["p8"]
    assert db.execute(BY_EMAIL, e="nobody").value == []
    stages = told(db, BY_EMAIL, e="7@x.org")
    assert any("by index on Person.email" in line for line in stages["plan"][-1]["query"])
    assert "FROM property q1" in stages["sql"]
    assert [step.split(" USING ")[0] for step in stages["steps"]] == ["SEARCH q1", "SEARCH c2"]
    assert told(db, f"ANALYZE {BY_EMAIL}", e="7@x.org")["analyze"]["result"] == ["p7"]


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("?p.attributes.age == 3", 4),
        ("?p.attributes.age == 3.0", 4),
        ("?p.attributes.age > 3 && ?p.attributes.age <= 5", 8),
        ("?p.attributes.age < 0", 0),
        ("IN(?p.attributes.age, [3, 3.0, 4])", 8),
        ('IN(?p.attributes.email, ["1@x.org", "2@x.org", "none"])', 2),
        ('?p.attributes.email >= "9"', 1),
        # A number is no text, and true is no number, whatever the index holds for them.
        ('?p.attributes.age == "3"', 0),
        ("?p.attributes.email > 0", 0),
        ("?p.attributes.email == true", 0),
        ("?p.attributes.age == false", 0),
    ],
)
def test_an_index_finds_what_reading_all_would_find(
    db: mycel.Graph, condition: str, count: int
) -> None:
    text = f'FIND(?p.name) WHERE {{ ?p {{type: "Person"}} FILTER({condition}) }}'
    assert "FROM property" in told(db, text)["sql"]
    assert len(db.execute(text).value) == count
    find = parse(text)
    assert isinstance(find, ast.Find)
    with db._store.reading() as reader:
        assert rows(reader, find, {}) == rows(reader, find, {}, off=["use_indexes"])


def test_booleans_and_large_integers_are_found(db: mycel.Graph) -> None:
    for name, attributes in (
        ("p1", {"is_member": True, "number": LARGE}),
        ("p2", {"is_member": False, "number": LARGE - 1}),
        ("p3", {"number": 1}),
        ("p4", {"number": 2**63}),
        ("p5", {"number": float(2**64)}),
    ):
        command = 'UPSERT { CONCEPT { {type: "Person", name: :n} SET ATTRIBUTES :a } }'
        db.execute(
            command.replace(":a", "{ is_member: :m, number: :v }"),
            n=name,
            m=attributes.get("is_member"),
            v=attributes.get("number"),
        )
    by = 'FIND(?p.name) WHERE { ?p {type: "Person"} FILTER(?p.attributes.%s) }'
    for condition, given, expected in (
        ("is_member == :v", True, ["p1"]),
        ("is_member == :v", False, ["p2"]),
        ("is_member == :v", 1, []),
        ("number == :v", LARGE, ["p1"]),
        ("number == :v", LARGE - 1, ["p2"]),
        ("number == :v", float(2**63), ["p4"]),
        ("number == :v", float(2**64), ["p5"]),
        ("number == :v", 1, ["p3"]),
        ("number > :v", 1, ["p1", "p2", "p4", "p5"]),
        ("number <= :v", 1, ["p3"]),
    ):
        assert "FROM property" in told(db, by % condition, v=given)["sql"]
        assert sorted(db.execute(by % condition, v=given).value) == expected, (condition, given)


def test_links_are_found_by_what_they_say_either_way_round(db: mycel.Graph) -> None:
    lives = 'FIND(?p.name) WHERE { ?l (?p, "lives_in", ?t) FILTER(?l.attributes.since == 1983) }'
    assert "by index on lives_in.since" in str(told(db, lives)["plan"])
    assert db.execute(lives).value == ["p3"]
    knows = 'FIND(?a.name, ?b.name) WHERE { ?l (?a, "knows", ?b) FILTER(?l.attributes.since < 2) }'
    assert "by index on knows.since" in str(told(db, knows)["plan"])
    found = sorted(zip(*db.execute(knows).value, strict=True))
    assert found == [("p0", "p1"), ("p1", "p0"), ("p1", "p2"), ("p2", "p1")]


def test_an_index_follows_every_change(db: mycel.Graph) -> None:
    assert db.execute(BY_EMAIL, e="new@x.org").value == []
    db.execute(
        'UPDATE ?p SET ATTRIBUTES { email: "new@x.org" } WHERE'
        ' { ?p {type: "Person"} FILTER(?p.attributes.email == "5@x.org") }'
    )
    assert db.execute(BY_EMAIL, e="new@x.org").value == ["p5"]
    assert db.execute(BY_EMAIL, e="5@x.org").value == []
    db.execute('DELETE CONCEPT ?p DETACH WHERE { ?p {type: "Person", name: "p5"} }')
    assert db.execute(BY_EMAIL, e="new@x.org").value == []


def test_the_past_is_asked_without_the_index(db: mycel.Graph) -> None:
    then = db.snapshot().entries
    db.execute(
        'UPDATE ?p SET ATTRIBUTES { email: "new@x.org" } WHERE { ?p {type: "Person", name: "p5"} }'
    )
    text = BY_EMAIL.replace("WHERE", "AS OF :t WHERE")
    assert "property" not in told(db, text, e="5@x.org", t=then)["sql"]
    assert db.execute(text, e="5@x.org", t=then).value == ["p5"]
    assert db.execute(text, e="new@x.org", t=then).value == []


def test_later_pages_are_those_of_the_first_though_the_index_has_changed(db: mycel.Graph) -> None:
    text = (
        'FIND(?p.name) WHERE { ?p {type: "Person"} FILTER(?p.attributes.age == 3) }'
        " ORDER BY ?p.name LIMIT 2"
    )
    first = db.execute(text)
    db.execute(
        "UPDATE ?p SET ATTRIBUTES { age: 4 } WHERE"
        ' { ?p {type: "Person"} FILTER(?p.attributes.age == 3) }'
    )
    rest = db.execute(f"{text} CURSOR :c", c=first.next_cursor)
    assert [*first.value, *rest.value] == ["p13", "p23", "p3", "p33"]


def test_a_command_that_writes_sees_what_its_transaction_wrote(db: mycel.Graph) -> None:
    """Entries are held back; whoever asks in the same transaction must find them all the same."""
    find = parse(BY_EMAIL.replace(":e", '"new@x.org"'))
    assert isinstance(find, ast.Find)
    with db.transaction() as tx:
        made = tx.put_concept("Person", "new", {"email": "new@x.org"})
        (number,) = targets(tx.reader, find.where, "p", Values())
        assert made == f"C:{number}"
        tx.update(made, attributes={"email": "other@x.org"})
        assert targets(tx.reader, find.where, "p", Values()) == []


def test_a_plan_is_made_anew_when_indexes_come_or_go(db: mycel.Graph) -> None:
    text = 'FIND(?t.name) WHERE { ?t {type: "Town"} FILTER(?t.attributes.code == "ULM") }'
    db.execute('UPSERT { CONCEPT { {type: "Town", name: "Ulm"} SET ATTRIBUTES { code: "ULM" } } }')
    with counted_plannings() as made:
        assert db.execute(text).value == ["Ulm"]
        assert db.execute(text).value == ["Ulm"]
        assert len(made) == 1
        define_indexes(db, "Town", code=True)
        assert db.execute(text).value == ["Ulm"]
        assert len(made) == 2
        define_indexes(db, "Town")  # The entries that the plan looked at are gone.
        assert db.execute(text).value == ["Ulm"]
        assert len(made) == 3


# What the store tells the planner.


def test_the_vocabulary_knows_indexes_on_single_properties_of_now(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        number = tx.reader.find_type("Town")
        assert number is not None
        wanted = [(("a",), False), (("a",), True), (("a", "b"), True), (("c",), False)]
        tx.put_concept("$ConceptType", "Town", {"indexed": True})
        tx.define_indexes(number, link=False, indexes=wanted)
    with db._store.reading() as reader:
        now = Vocabulary(reader)
        slots = now.slots(number, link=False)
        assert {name: slot.is_unique for name, slot in slots.items()} == {"a": True, "c": False}
        assert now.slots(number, link=True) == {}
        assert Vocabulary(reader.at(State(5))).slots(number, link=False) == {}


@pytest.mark.parametrize(
    ("count", "values"), [(50, 7), (SAMPLE + 1000, 3), (SAMPLE + 1000, SAMPLE + 1000)]
)
def test_entries_are_counted_roughly(count: int, values: int) -> None:
    with mycel.open(":memory:", core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Person")
            tx.put_concepts(
                mycel.ConceptRow("Person", f"p{n}", {"age": n % values}) for n in range(count)
            )
        define_indexes(db, "Person", age=False)
        with db._store.reading() as reader:
            found = StoreStatistics(reader, {}).entries(1)
    assert count * 0.8 <= found.elements <= count * 1.2
    assert values * 0.8 <= found.values <= values * 1.2


def test_many_elements_of_each_of_many_values_are_not_taken_for_few() -> None:
    with mycel.open(":memory:", core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Person")
            tx.put_concepts(
                mycel.ConceptRow("Person", f"p{n}", {"age": n % (VALUES * 2)})
                for n in range(VALUES * 20)
            )
        define_indexes(db, "Person", age=False)
        with db._store.reading() as reader:
            found = StoreStatistics(reader, {}).entries(1)
    assert 5 <= found.elements / found.values <= 20
