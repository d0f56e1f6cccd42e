"""What is hidden can be listed, restored and discarded, and nothing goes without a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.errors import NotFound, SchemaError
from tests.prepared import NEW

PEOPLE = """
interface Rated { stars: I32? }
node Person implements Rated { email: String @key  city: String?  mood: enum(good, bad)? }
node Team { name: String @key }
edge MemberOf: Person -> Team { since: Date? }
"""
ALONE = "node Person { email: String @key }"


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as db:
        db.schema.apply(PEOPLE)
        with db.transaction() as tx:
            team = tx.put_concept("Team", "Engines")
            for name, city in (("ada", "London"), ("bob", "Berlin"), ("eve", None)):
                given = {"city": city, "mood": "good"} if city else {"stars": 5}
                person = tx.put_concept("Person", name, given)
                tx.add_edge(person, "MemberOf", team, data={"since": "2024-01-31"})
        yield db


def state(db: mycel.Graph) -> list[Any]:
    people = db.execute(
        'FIND(?p.attributes) WHERE { ?p {type: "Person"} FILTER(?p.attributes.email != null) }'
    )
    links = db.execute('FIND(?l.attributes) WHERE { ?l (?p, "MemberOf", ?t) }')
    return [sorted(map(str, each.rows)) for each in (people, links)]


def names(db: mycel.Graph) -> list[tuple[str, int]]:
    return [(each.name, each.rows) for each in db.schema.hidden()]


def test_what_is_hidden_is_listed_with_its_rows_and_comes_back_by_name(db: mycel.Graph) -> None:
    assert db.schema.hidden() == []
    before = state(db)
    db.schema.apply(PEOPLE.replace("city: String?", ""))
    db.schema.apply(ALONE, allow_removals=True)
    assert names(db) == [
        ("Person.city", 2),
        ("MemberOf", 3),
        ("Person.mood", 2),
        ("Person.stars", 1),
        ("Rated", 0),
        ("Team", 1),
    ]
    edge = next(each for each in db.schema.hidden() if each.name == "MemberOf")
    assert edge.declaration == "edge MemberOf: Person -> Team {\n  since: Date?\n}"
    assert db.schema.at(edge.seq).edge("MemberOf") is not None
    assert edge.to_dict()["kind"] == "edge"
    with pytest.raises(SchemaError, match="There is no node Team"):
        db.schema.restore("MemberOf")
    result = db.schema.restore("MemberOf", "Team", "Person.city")
    assert {(each["kind"], each["rows"]) for each in result.steps} == {
        ("restore_type", 3),
        ("restore_type", 1),
        ("restore_property", 2),
    }
    assert db.schema.restore("Rated", "Person.stars", "Person.mood").applied
    assert db.schema.hidden() == []
    assert state(db) == before
    assert db.verify(replay=True).ok


def test_what_is_discarded_cannot_be_restored_but_is_in_history(db: mycel.Graph) -> None:
    db.schema.apply(ALONE, allow_removals=True)
    seq = next(each.seq for each in db.schema.hidden() if each.name == "Person.city")
    gone = db.schema.discard("Person.city", "Team", "edge:MemberOf")
    assert {(each.name, each.rows) for each in gone} == {
        ("Person.city", 2),
        ("Team", 1),
        ("MemberOf", 3),
    }
    assert names(db) == [("Person.mood", 2), ("Person.stars", 1), ("Rated", 0)]
    for name in ("Person.city", "Team"):
        with pytest.raises(NotFound, match="is hidden"):
            db.schema.restore(name)
    assert [each["kind"] for each in db.schema.apply(PEOPLE).steps].count("add_type") == 2
    assert db.get_concept("Team", "Engines") is None
    ada = db.as_of(seq).get_concept("Person", "ada")
    assert ada is not None
    assert ada.attributes["city"] == "London"
    assert db.verify(replay=True).ok


def test_a_type_that_stays_for_the_actors_is_hidden_and_discarded_too(db: mycel.Graph) -> None:
    db.schema.apply("", allow_removals=True)
    assert ("Person", 3) in names(db)
    db.schema.discard("Person")
    assert "Person" not in dict(names(db))
    assert db.get_concept("Person", "$self") is not None


def test_names_of_what_is_not_hidden_are_refused_with_what_is(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE.replace("city: String?", ""))
    for call in (db.schema.restore, db.schema.discard):
        with pytest.raises(NotFound) as refused:
            call("Person.citty")
        assert "Person.city" in refused.value.hint
    assert names(db) == [("Person.city", 2)]


def test_values_that_did_not_fit_are_listed_and_said(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE.replace("mood: enum(good, bad)?", ""))
    narrow = PEOPLE.replace("enum(good, bad)", "enum(bad)")
    planned = db.schema.plan(narrow)
    assert "Person.mood: 2 of 2 hidden values do not fit and stay hidden" in planned.warnings[0]
    assert "'good'" in planned.warnings[0]
    result = db.schema.apply(narrow)
    assert result.warnings == planned.warnings
    assert result.to_dict()["warnings"] == list(planned.warnings)
    assert names(db) == [("Person.mood", 2)]
    with pytest.raises(SchemaError, match="is declared already"):
        db.schema.restore("Person.mood")
    assert db.schema.apply(PEOPLE).supported
    assert names(db) == []
    ada = db.get_concept("Person", "ada")
    assert ada is not None
    assert ada.attributes["mood"] == "good"


def test_values_hidden_twice_come_back_from_both_times(db: mycel.Graph) -> None:
    without = PEOPLE.replace("mood: enum(good, bad)?", "")
    narrow = PEOPLE.replace("enum(good, bad)", "enum(bad)")
    db.schema.apply(without)
    db.schema.apply(narrow)
    db.write(lambda tx: tx.put_concept("Person", "ada", {"mood": "bad"}))
    db.schema.apply(without)
    db.schema.apply(PEOPLE)
    moods = {
        name: found.attributes.get("mood")
        for name in ("ada", "bob", "eve")
        if (found := db.get_concept("Person", name)) is not None
    }
    assert moods == {"ada": "bad", "bob": "good", "eve": None}


def values(db: mycel.Graph, attribute: str) -> dict[str, Any]:
    rows = db.execute(f'FIND(?p.name, ?p.attributes.{attribute}) WHERE {{ ?p {{type: "Person"}} }}')
    return {name: value for name, value in rows if value is not None}


def test_values_that_did_not_fit_follow_a_rename(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE.replace("mood: enum(good, bad)?", ""))
    db.schema.apply(PEOPLE.replace("enum(good, bad)", "enum(bad)"))
    db.write(lambda tx: tx.put_concept("Person", "bob", {"mood": "bad"}))
    renamed = PEOPLE.replace("mood: enum(good, bad)?", 'spirit: enum(bad)? @rename_from("mood")')
    db.schema.apply(renamed)
    assert names(db) == [("Person.spirit", 1)]
    result = db.schema.apply(renamed.replace("enum(bad)", "String"))
    assert [(step["kind"], step.get("rows")) for step in result.steps] == [
        ("relax_property", None),
        ("restore_property", 1),
    ]
    assert values(db, "spirit") == {"ada": "good", "bob": "bad"}
    assert names(db) == []


def test_values_come_back_when_the_range_or_pattern_that_kept_them_away_changes(
    db: mycel.Graph,
) -> None:
    for property_, kept, eased in (
        ("stars: I32?", "@range(stars, 0..3)", "@range(stars, 0..9)"),
        ("city: String?", '@check(city, "^B")', ""),
    ):
        name = property_.partition(":")[0]
        declared = f"node Person {{ email: String @key  {property_} "
        db.schema.apply(ALONE, allow_removals=True)
        assert "1 of" in db.schema.apply(declared + kept + "}").warnings[0]
        before = values(db, name)
        result = db.schema.apply(declared + eased + "}")
        assert ("restore_property", 1) in [
            (each["kind"], each.get("rows")) for each in result.steps
        ]
        assert len(values(db, name)) == len(before) + 1


def test_a_hidden_link_of_what_was_removed_stays_gone_like_any_other(db: mycel.Graph) -> None:
    nodes_alone = PEOPLE.partition("edge")[0]
    db.schema.apply(nodes_alone, allow_removals=True)
    db.execute('DELETE CONCEPT ?p DETACH WHERE { ?p {type: "Person", name: "bob"} }')
    db.write(lambda tx: tx.put_concept("Person", "bob"))  # Another Bob.
    planned = db.schema.plan(PEOPLE)
    result = db.schema.apply(PEOPLE)
    assert result.steps == planned.steps
    assert [(step["kind"], step.get("rows")) for step in result.steps] == [("restore_type", 2)]
    members = db.execute('FIND(?p.name) WHERE { (?p, "MemberOf", ?t) } ORDER BY ?p.name')
    assert members.value == ["ada", "eve"]


def test_a_type_that_kip_defines_under_the_name_of_a_hidden_one_remembers_it(
    db: mycel.Graph,
) -> None:
    before = state(db)
    db.schema.apply("", allow_removals=True)
    hidden = names(db)
    with db.transaction() as tx:
        tx.define_type("Team")
        tx.define_predicate("MemberOf")
    assert names(db) == hidden
    db.execute('UPSERT { CONCEPT { {type: "Team", name: "Wings"} } }')
    db.execute('DELETE CONCEPT ?t DETACH WHERE { ?t {type: "Team"} }')
    db.execute('DELETE CONCEPT ?t DETACH WHERE { ?t {type: "$ConceptType", name: "Team"} }')
    db.write(lambda tx: tx.define_type("Team"))
    assert names(db) == hidden
    assert db.schema.apply(PEOPLE).applied
    assert state(db) == before
    assert names(db) == []
    db.schema.apply("", allow_removals=True)
    db.write(lambda tx: tx.define_type("Team"))
    capsule = db.execute('EXPORT ?t WHERE { ?t {type: "$ConceptType", name: "Team"} }').value
    with mycel.open(":memory:", core_capsules=False) as other:  # What is hidden here is not there.
        other.apply_capsule(capsule["capsule"])
        assert other.schema.hidden() == []
    assert [each.name for each in db.schema.discard("Team")] == ["Team"]
    assert "Team" not in dict(names(db))


def test_properties_of_one_name_come_back_together_and_hide_none(db: mycel.Graph) -> None:
    number, text = (PEOPLE.replace("city: String?", f"city: {each}?") for each in ("I32", "String"))
    without = PEOPLE.replace("city: String?", "")
    db.schema.apply(without)
    db.schema.apply(number)
    db.write(lambda tx: tx.put_concept("Person", "ada", {"city": 7}))
    db.schema.apply(without)
    assert names(db) == [("Person.city", 2), ("Person.city", 1)]
    assert db.schema.restore("Person.city").applied  # The last one of this name.
    assert values(db, "city") == {"ada": 7}
    # A type that comes back brings what its declaration fits, also of what was hidden before.
    db.schema.apply("", allow_removals=True)
    back = db.schema.apply(text)
    assert values(db, "city") == {"ada": "London", "bob": "Berlin"}
    assert ("restore_property", 2) in [(step["kind"], step.get("rows")) for step in back.steps]
    db.schema.apply(without)
    wide = db.schema.apply(PEOPLE.replace("city: String?", "city: F64?"))
    assert wide.applied
    assert values(db, "city") == {"ada": 7.0}
    assert names(db) == [("Person.city", 1)]


def test_a_hidden_value_in_whose_place_another_comes_back_stays_hidden(db: mycel.Graph) -> None:
    wide = PEOPLE.replace("city: String?", "city: String?  level: F64?")
    for type_, value in (("I32", 1), ("F32", 0.5)):
        db.schema.apply(wide.replace("F64", type_))
        db.write(lambda tx, value=value: tx.put_concept("Person", "ada", {"level": value}))  # type: ignore[misc]
        db.schema.apply(PEOPLE)
    db.schema.apply(wide)
    assert values(db, "level") == {"ada": 0.5}
    assert "level: I32?" in [each.declaration for each in db.schema.hidden()]


def test_a_drop_is_not_called_hiding(db: mycel.Graph) -> None:
    db.schema.apply("", allow_removals=True)
    result = db.schema.apply(PEOPLE.replace("city: String?", "city: I32?"), allow_data_loss=True)
    assert ("drop_property", 2) in [(step["kind"], step.get("rows")) for step in result.steps]
    assert result.warnings == ()
    assert names(db) == []


def test_a_name_that_takes_the_place_of_a_hidden_type_is_warned_of(db: mycel.Graph) -> None:
    db.schema.apply(ALONE, allow_removals=True)
    planned = db.schema.plan('node Team @rename_from("Person") { email: String @key }')
    assert any("can then no longer be restored" in each for each in planned.warnings)


def test_history_tells_what_was_hidden_from_what_was_dropped(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE.replace("city: String?", ""))
    db.schema.apply(PEOPLE)
    db.schema.apply(PEOPLE.replace("city: String?", ""), allow_data_loss=True)
    db.schema.apply(ALONE, allow_removals=True, allow_data_loss=True)
    kinds = [{step["kind"] for step in each.steps} for each in db.schema.history()]
    assert kinds[1:] == [
        {"hide_property"},
        {"restore_property"},
        {"drop_property"},
        {"change_interfaces", "drop_property", "drop_type"},
    ]
    assert db.schema.hidden() == []


def test_a_required_property_is_refused_for_rows_that_come_after_the_plan(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE + "node Empty { name: String @key }")
    wanted = PEOPLE + "node Empty { name: String @key  size: I32 }"
    assert db.schema.plan(wanted).supported
    db.write(lambda tx: tx.put_concept("Empty", "not so"))
    assert not db.schema.apply(wanted).supported
