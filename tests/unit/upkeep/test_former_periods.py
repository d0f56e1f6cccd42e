"""Links keep the periods in which they held before, and everything that asks when goes by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.model.periods import Period
from tests.cases import each_case
from tests.prepared import Prepared
from tests.unit.upkeep.test_cycle import step, tasks

ADA, LINK = '{type: "Person", name: "ada"}', '?l ({name: "ada"}, "lives_in", {name: "%s"})'
OSLO = {"valid_from": "2019-01-01", "valid_until": "2021-01-01"}
STORY = (("oslo", "2019-01-01"), ("bergen", "2021-01-01"), ("oslo", "2024-01-01"))


def prepare(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type("City")
        tx.define_predicate("lives_in", {"functional": True})
        tx.define_predicate("likes", {"opposite": "dislikes"})
        tx.define_predicate("dislikes")
        tx.put_concept("Person", "ada")
        for name in ("oslo", "bergen", "paris"):
            tx.put_concept("City", name)


CITIES = Prepared(prepare)


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with CITIES.opened() as opened:
        yield opened
        assert not opened.verify(replay=True).problems


def write(
    db: mycel.Graph, city: str, begins: str | None = None, ends: str | None = None, **more: object
) -> tuple[str, ...]:
    """Write a link that says where ada lives. Returns the warnings."""
    dates = {"valid_from": begins, "valid_until": ends}
    given = {key: date for key, date in dates.items() if date is not None} | more
    command = (
        f'UPSERT {{ PROPOSITION {{ ({ADA}, "lives_in", {{type: "City", name: :city}}) }}'
        " WITH METADATA :given }"
    )
    return db.execute(command, {"city": city, "given": given}).warnings


def tell(db: mycel.Graph) -> None:
    for city, begins in STORY:
        write(db, city, begins)


def metadata(db: mycel.Graph, city: str) -> dict[str, object]:
    (found,) = db.execute(f"FIND(?l.metadata) WHERE {{ {LINK % city} }}").value
    keys = ("valid_from", "valid_until", "former_periods", "status")
    return {key: found[key] for key in keys if key in found}


def cities(db: mycel.Graph, *years: int, clause: str = "") -> list[list[str]]:
    query = f'FIND(?c.name) {clause} FOR TIME :time WHERE {{ ({ADA}, "lives_in", ?c) }}'
    return [
        sorted(name for (name,) in db.execute(query, {"time": f"{year}-06-01"}).rows)
        for year in years
    ]


def test_a_value_that_comes_back_keeps_its_first_time(db: mycel.Graph) -> None:
    tell(db)
    assert metadata(db, "oslo") == {"valid_from": "2024-01-01", "former_periods": [OSLO]}
    assert cities(db, 2018, 2020, 2022, 2025) == [[], ["oslo"], ["bergen"], ["oslo"]]
    version = db.execute(f"FIND(?l.metadata._version) WHERE {{ {LINK % 'oslo'} }}").value
    tell(db)
    again = db.execute(f"FIND(?l.metadata._version) WHERE {{ {LINK % 'oslo'} }}").value
    assert again == version, "commands that are repeated say nothing new"


def test_a_former_time_that_is_wrong_is_left_out_or_dropped(db: mycel.Graph) -> None:
    tell(db)
    db.execute(f'DELETE METADATA {{"former_periods"}} FROM ?l WHERE {{ {LINK % "oslo"} }}')
    assert cities(db, 2020, 2022, 2025) == [[], ["bergen"], ["oslo"]]
    write(db, "oslo", former_periods=[{"valid_until": "2020-01-01"}])
    assert cities(db, 1990, 2020, 2025) == [["oslo"], [], ["oslo"]]
    # Dates that are written with the key are taken as they are.
    write(db, "oslo", "2017-01-01", "2018-01-01", former_periods=None)
    assert cities(db, 1990, 2017, 2025) == [[], ["oslo"], []]


def test_a_time_before_the_present_one_is_held_in_too(db: mycel.Graph) -> None:
    write(db, "oslo", "2024-01-01")
    (warning,) = write(db, "oslo", "2010-01-01", "2012-01-01")
    assert "holds from 2024-01-01; it also held from 2010-01-01 until 2012-01-01" in warning
    assert cities(db, 2011, 2013, 2025) == [["oslo"], [], ["oslo"]]
    db.history.revert(next(db.history.log(limit=1)).seq)
    assert metadata(db, "oslo") == {"valid_from": "2024-01-01"}


def test_a_new_value_splits_a_former_one(db: mycel.Graph) -> None:
    tell(db)
    (warning,) = write(db, "paris", "2022-01-01", "2023-01-01")
    assert "That holds again from then on" in warning
    assert cities(db, 2021, 2022, 2023, 2024) == [["bergen"], ["paris"], ["bergen"], ["oslo"]]
    write(db, "paris", "2020-01-01", "2020-09-01")
    assert cities(db, 2019, 2020, 2022) == [["oslo"], ["paris"], ["paris"]]
    periods = metadata(db, "oslo")["former_periods"]
    assert periods == [
        {"valid_from": "2019-01-01", "valid_until": "2020-01-01"},
        {"valid_from": "2020-09-01", "valid_until": "2021-01-01"},
    ]
    assert step(db.sleep(), "contradictions").asked == 0


def test_a_value_after_a_stand_in_takes_the_place_of_the_one_before(db: mycel.Graph) -> None:
    for order in ((1, 2), (2, 1)):
        write(db, "oslo", "2019-01-01", former_periods=None, valid_until=None)
        for at in order:
            write(db, *(("bergen", "2021-01-01", "2022-01-01"), ("paris", "2022-01-01"))[at - 1])
        assert cities(db, 2020, 2021, 2022, 2030) == [["oslo"], ["bergen"], ["paris"], ["paris"]]
        db.execute('DELETE PROPOSITIONS ?l WHERE { ?l (?p, "lives_in", ?c) }')


def test_former_periods_that_somebody_adds_take_their_time_from_others(db: mycel.Graph) -> None:
    tell(db)
    write(
        db,
        "paris",
        "2030-01-01",
        former_periods=[{"valid_from": "2020-01-01", "valid_until": "2020-09-01"}],
    )
    assert cities(db, 2019, 2020, 2022, 2025, 2031) == [
        *(["oslo"], ["paris"], ["bergen"], ["oslo"], ["paris"])
    ]


def test_corrections_that_overlap_a_former_period_are_asked_about_once(db: mycel.Graph) -> None:
    tell(db)
    assert step(db.sleep(), "contradictions").asked == 0
    write(db, "bergen", "2019-01-01")
    assert cities(db, 2020) == [["bergen", "oslo"]]
    assert step(db.sleep(), "contradictions").asked == 1
    ((_, reason),) = tasks(db)
    assert "lives_in of Person 'ada' has several values at a time" in reason
    assert step(db.sleep(), "contradictions").asked == 0


def test_opposite_links_contradict_each_other_in_former_periods_too(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        for city, period in (("oslo", OSLO), ("bergen", {"valid_until": "2000-01-01"})):
            ends = ("Person", "ada"), ("City", city)
            past = {"valid_from": "2024-01-01", "former_periods": [period]}
            tx.put_proposition(ends[0], "likes", ends[1], metadata=past)
            tx.put_proposition(ends[0], "dislikes", ends[1], metadata=OSLO)
    assert step(db.sleep(), "contradictions").asked == 1


def test_what_is_superseded_holds_no_longer_in_any_period(db: mycel.Graph) -> None:
    periods = [
        {"valid_from": "2010-01-01", "valid_until": "2011-01-01"},
        {"valid_from": "2030-01-01"},
    ]
    with db.transaction() as tx:
        tx.put_concept(
            "City", "old", metadata={"valid_until": "2001-01-01", "former_periods": periods}
        )
        tx.put_concept("City", "new", metadata={"valid_from": "2031-01-01"})
    db.execute('SUPERSEDE ?a WITH ?b WHERE { ?a {name: "old"} ?b {name: "new"} }')
    query = 'FIND(?c.name) FOR TIME :time WHERE { ?c {type: "City"} FILTER(?c.name == "old") }'
    years = [
        year
        for year in (2000, 2005, 2010, 2030, 2031)
        if db.execute(query, {"time": f"{year}-06-01"}).rows
    ]
    assert years == [2000, 2010, 2030]


def test_supersession_never_ends_before_the_beginning(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        for name, begins in (("old", "2024-01-01"), ("new", "2023-01-01")):
            tx.put_concept("City", name, metadata={"valid_from": begins})
    where = 'WHERE { ?a {type: "City", name: "old"} ?b {type: "City", name: "new"} }'
    with pytest.raises(mycel.errors.ConstraintViolation, match="cannot hold until 2023-06-01"):
        db.execute(f'SUPERSEDE ?a WITH ?b UNTIL "2023-06-01" {where}')
    result = db.execute(f"SUPERSEDE ?a WITH ?b {where}")
    assert result.value["valid_until"] == "2024-01-01"
    assert "holds at no time now" in result.warnings[0]
    db.history.revert(next(db.history.log(limit=1)).seq)
    result = db.execute(f'SUPERSEDE ?a WITH ?b UNTIL "2025" {where}')
    assert (result.value["valid_until"], result.warnings) == ("2025", ())


def test_supersession_before_the_present_period_leaves_former_ones(db: mycel.Graph) -> None:
    metadata = {"valid_from": "2024-01-01", "former_periods": [OSLO]}
    with db.transaction() as tx:
        tx.put_concept("City", "old", metadata=metadata)
        tx.put_concept("City", "new", metadata={"valid_from": "2020-01-01"})
    db.execute('SUPERSEDE ?a WITH ?b WHERE { ?a {name: "old"} ?b {name: "new"} }')
    old = db.get_concept("City", "old")
    dates = {key: old.metadata.get(key) for key in ("valid_from", "valid_until", "former_periods")}
    assert dates == {
        "valid_from": "2019-01-01",
        "valid_until": "2020-01-01",
        "former_periods": None,
    }


def test_caveats_go_by_all_periods(db: mycel.Graph) -> None:
    notes = mycel.Knowledge(db, workspace="w")
    past = {"valid_until": "2001-01-01", "former_periods": [{"valid_from": "2010-01-01"}]}
    notes.add("tide", content="The tide turns at six.", metadata=past)
    (hit,) = notes.search("tide turns")
    assert hit.found.caveats == ("also held from 2010-01-01",)
    (hit,) = notes.search("tide turns", for_time="2011-01-01")
    assert hit.found.caveats == ("also held from 2010-01-01",)
    assert "tide" not in str([hit.uri for hit in notes.search("tide", for_time="2005-01-01")])
    notes.update("tide", metadata={"former_periods": [OSLO]})
    assert notes.get("tide").caveats == (
        "no longer valid since 2001-01-01",
        "also held from 2019-01-01 until 2021-01-01",
    )


MISTAKES = {
    "no list": ({"valid_from": "2019-01-01"}, "is no list of periods"),
    "no object": (["2019-01-01"], "is no object with valid_from"),
    "another key": ([{**OSLO, "why": "school"}], "is no object with valid_from"),
    "no time": ([{"valid_from": "soon"}], "not ISO 8601"),
    "empty": ([{}], "not ISO 8601"),
    "turned": (
        [{"valid_from": "2021-01-01", "valid_until": "2019-01-01"}],
        "ends before it begins",
    ),
}


def test_what_is_no_period_has_no_effect_and_gets_a_warning(db: mycel.Graph) -> None:
    with each_case() as case:
        for name, (periods, said) in MISTAKES.items():
            with case(name):
                (warning,) = write(db, "oslo", "2024-01-01", former_periods=periods)
                assert "The former_periods" in warning
                assert said in warning
                assert cities(db, 2020, 2025) == [[], ["oslo"]]


def test_periods_travel_with_capsules_and_branches(db: mycel.Graph) -> None:
    tell(db)
    years = (2018, 2020, 2022, 2025)
    expected = cities(db, *years)
    capsule = db.execute('EXPORT ?l WHERE { ?l (?p, "lives_in", ?c) }').value
    assert "former_periods" in str(capsule)
    with CITIES.opened() as other:
        other.execute(capsule["capsule"])
        assert cities(other, *years) == expected
        assert metadata(other, "oslo") == metadata(db, "oslo")
    db.branches.create("draft")
    with db.open_branch("draft") as draft:
        write(draft, "oslo", "2010-01-01", "2012-01-01")
        write(db, "oslo", "2014-01-01", "2015-01-01")
        assert not db.merge("draft").conflicts
    assert cities(db, 2011, 2013, 2014, *years) == [["oslo"], [], ["oslo"], *expected]


def test_a_purged_link_leaves_no_period_behind(db: mycel.Graph) -> None:
    tell(db)
    (number,) = db.execute(f"FIND(?l.id) WHERE {{ {LINK % 'oslo'} }}").value
    db.purge(number, reason="asked for")
    with db._store.reading() as reader:
        rows = reader.fetch_all("SELECT element FROM former_period")
    assert rows == []


def test_values_of_two_subjects_that_become_one_are_asked_about(db: mycel.Graph) -> None:
    tell(db)
    with db.transaction() as tx:
        tx.put_concept("Person", "Ada L")
        ends = ("Person", "Ada L"), ("City", "oslo")
        tx.put_proposition(
            ends[0],
            "lives_in",
            ends[1],
            metadata={"valid_from": "2022-01-01", "valid_until": "2023-01-01"},
        )
    db.execute('MERGE CONCEPT ?a INTO ?b WHERE { ?a {name: "Ada L"} ?b {name: "ada"} }')
    assert cities(db, 2020, 2021, 2022, 2025) == [
        *(["oslo"], ["bergen"], ["bergen", "oslo"], ["oslo"])
    ]
    assert step(db.sleep(), "contradictions").asked == 1


def test_hundreds_of_former_periods_are_not_compared_with_each_other(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def comparisons(periods: int) -> int:
        """The comparisons of a write that brings one of two values back."""
        for city, begins in (("oslo", 1000), ("bergen", 1001)):
            former = [
                {"valid_from": f"{year}-01-01", "valid_until": f"{year + 1}-01-01"}
                for year in range(begins, begins + 2 * periods, 2)
            ]
            write(db, city, f"{begins + 2 * periods}-01-01", former_periods=former)
        calls: list[None] = []
        for name in ("is_within", "overlaps"):
            compare = getattr(Period, name)

            def counted(one: Period, other: Period, compare: Any = compare) -> bool:
                calls.append(None)
                return bool(compare(one, other))

            monkeypatch.setattr(Period, name, counted)
        write(db, "oslo", "2400-01-01")
        monkeypatch.undo()
        with db.transaction() as tx:
            for city in ("oslo", "bergen"):
                tx.remove_edge(("Person", "ada"), "lives_in", ("City", city))
        return len(calls)

    few, many = comparisons(20), comparisons(200)
    assert few > 0
    assert many < 15 * few


def test_a_new_value_goes_by_dates_in_the_attributes_of_others(db: mycel.Graph) -> None:
    set_dates = f'UPSERT {{ PROPOSITION {{ ({ADA}, "lives_in", {{type: "City", name: :city}})'
    set_dates += " SET ATTRIBUTES :dates } }"
    db.execute(set_dates, {"city": "oslo", "dates": OSLO})
    db.execute(set_dates, {"city": "paris", "dates": {"valid_from": "2030-01-01"}})
    write(db, "bergen", "2024-01-01")
    assert cities(db, 2020, 2022, 2025, 2031) == [["oslo"], [], ["bergen"], ["paris"]]
    assert metadata(db, "oslo") == metadata(db, "paris") == {}
    assert metadata(db, "bergen") == {"valid_from": "2024-01-01", "valid_until": "2030-01-01"}


def holder(db: mycel.Graph, *days: str) -> list[str]:
    """The cities in which ada lives on some days, each day in one word."""
    query = f'FIND(?c.name) FOR TIME :day WHERE {{ ({ADA}, "lives_in", ?c) }}'
    return [
        " ".join(sorted(name for (name,) in db.execute(query, {"day": day}).rows)) for day in days
    ]


def test_a_corrected_time_that_two_values_share_moves_for_both(db: mycel.Graph) -> None:
    write(db, "oslo", "2023-06-01")
    write(db, "bergen", "2024-01-01")
    for begins in ("2023-11-01", "2024-03-01"):
        (warning,) = write(db, "bergen", begins)
        assert warning.startswith("Person 'ada' lives_in City 'oslo' (")
        assert f"it holds until {begins} now" in warning
        assert holder(db, "2023-10-31", "2023-12-15", "2024-02-01", "2024-03-01") == (
            ["oslo", "bergen", "bergen", "bergen"]
            if begins == "2023-11-01"
            else ["oslo", "oslo", "oslo", "bergen"]
        )
    (warning,) = write(db, "bergen", "2023-06-01")
    assert "both hold" in warning
    assert holder(db, "2023-07-01") == ["bergen oslo"], "oslo would hold at no time"


def test_the_corrected_end_of_a_stand_in_moves_the_return(db: mycel.Graph) -> None:
    write(db, "oslo", "2023-01-01")
    write(db, "bergen", "2023-07-01", "2023-09-01")
    for ends, held in (("2023-10-01", "bergen"), ("2023-08-15", "oslo")):
        (warning,) = write(db, "bergen", ends=ends)
        assert f"it holds from {ends} now" in warning
        assert holder(db, "2023-06-30", "2023-08-14", "2023-09-15", "2023-10-01") == [
            "oslo",
            "bergen",
            held,
            "oslo",
        ]


def test_an_earlier_period_of_a_later_value_ends_where_another_begins(db: mycel.Graph) -> None:
    for city, begins in (
        ("oslo", "2022-03-22"),
        ("paris", "2022-05-02"),
        ("bergen", "2022-10-13"),
    ):
        write(db, city, begins)
    (warning,) = write(db, "bergen", "2022-04-04")
    assert "holds from 2022-10-13; it also held from 2022-04-04 until 2022-05-02" in warning
    days = "2022-04-01", "2022-04-04", "2022-05-02", "2022-10-13"
    assert holder(db, *days) == ["oslo", "bergen", "paris", "bergen"]
    assert write(db, "bergen", "2022-04-04") == ()


def test_a_stated_end_that_gives_way_is_named(db: mycel.Graph) -> None:
    write(db, "oslo", "2023-06-01")
    write(db, "bergen", "2024-01-01")
    (warning,) = write(db, "paris", "2023-09-01", "2024-06-01")
    assert "holds until 2024-01-01, not until 2024-06-01 as written, because" in warning
    assert "City 'bergen'" in warning
    assert holder(db, "2023-08-31", "2023-12-31", "2024-01-01") == ["oslo", "paris", "bergen"]


def test_a_merge_of_branches_names_an_end_that_gives_way(db: mycel.Graph) -> None:
    db.branches.create("side")
    with db.open_branch("side") as side:
        write(side, "paris", "2023-09-01", "2024-06-01")
    write(db, "bergen", "2024-01-01")
    (warning,) = db.merge("side").warnings
    assert "holds until 2024-01-01, not until 2024-06-01 as written" in warning


def test_months_and_years_are_times_and_other_texts_are_refused(db: mycel.Graph) -> None:
    write(db, "oslo", "2021")
    assert write(db, "bergen", "2023-07") == ()
    query = f'FIND(?c.name) FOR TIME :day WHERE {{ ({ADA}, "lives_in", ?c) }}'
    days = "2020-12-31", "2021", "2023-06-30", "2023-07", "2024"
    found = [[name for (name,) in db.execute(query, {"day": day}).rows] for day in days]
    assert found == [[], ["oslo"], ["oslo"], ["bergen"], ["bergen"]]
    seq = next(db.history.log(limit=1)).seq
    for dates in ({"valid_from": "last summer"}, {"valid_until": "2024-13"}):
        with pytest.raises(mycel.errors.ConstraintViolation) as caught:
            write(db, "paris", **dates)
        assert "is not a time" in caught.value.message
        assert "2023-07" in caught.value.hint
    assert next(db.history.log(limit=1)).seq == seq


@pytest.mark.parametrize("verb", ["DELETE PROPOSITIONS", "ARCHIVE"])
def test_a_removal_names_the_value_that_ended_there(db: mycel.Graph, verb: str) -> None:
    write(db, "oslo", "2023-01-01")
    write(db, "bergen", "2024-01-01")
    (warning,) = db.execute(f"{verb} ?l WHERE {{ {LINK % 'bergen'} }}").warnings
    assert warning.startswith("Person 'ada' lives_in City 'oslo' (")
    assert "ended at 2024-01-01" in warning
    assert "valid_until: null" in warning
    assert holder(db, "2025-01-01") == [""]
    write(db, "oslo", valid_until=None)
    assert holder(db, "2025-01-01") == ["oslo"]


def test_removals_that_end_nothing_give_no_warning(db: mycel.Graph) -> None:
    tell(db)
    assert not db.execute(f"DELETE PROPOSITIONS ?l WHERE {{ {LINK % 'bergen'} }}").warnings
    assert not db.execute(f"DELETE CONCEPT ?a DETACH WHERE {{ ?a {ADA} }}").warnings


def test_other_links_that_keep_periods_are_listed(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        for at in range(6):
            tx.put_concept("Person", f"p{at}")
            tx.put_proposition(("Person", f"p{at}"), "likes", ("City", "oslo"), metadata=OSLO)
    result = db.execute(
        'UPDATE ?l SET METADATA { valid_from: "2024-01-01", valid_until: "2025-01-01" }'
        ' WHERE { ?l (?p, "likes", ?c) }'
    )
    assert len(result.warnings) == 4
    assert "So do 3 other links: P:" in result.warnings[3]


def test_a_restored_value_that_overlaps_another_one_is_named(db: mycel.Graph) -> None:
    write(db, "oslo", "2019-01-01")
    db.execute(f"ARCHIVE ?l WHERE {{ {LINK % 'oslo'} }}")
    write(db, "bergen", "2020-01-01")
    (warning,) = db.execute(f"RESTORE ?l WHERE {{ {LINK % 'oslo'} }}").warnings
    assert "both hold from 2019-01-01, but lives_in has one value at a time" in warning


def test_one_update_of_several_values_sees_what_each_of_them_moves(db: mycel.Graph) -> None:
    write(db, "oslo", "2020-01-01")
    write(db, "bergen", "2000-01-01", "2001-01-01")
    write(db, "paris", "2021-01-01")
    update = 'UPDATE ?l SET METADATA { valid_until: "2020-06-01" } WHERE'
    assert db.execute(f'{update} {{ ?l ({ADA}, "lives_in", ?c) }}').value["updated"] == 3
    assert metadata(db, "oslo") == {"valid_from": "2020-01-01", "valid_until": "2020-06-01"}


def test_a_value_that_is_removed_after_a_write_has_bounded_it_before(db: mycel.Graph) -> None:
    write(db, "bergen", "2022-01-01")
    with db.transaction() as tx:
        ends = ("Person", "ada"), "lives_in"
        tx.put_proposition(*ends, ("City", "oslo"), None, {"valid_from": "2020-01-01"})
        tx.remove_edge(*ends, ("City", "bergen"))
    assert metadata(db, "oslo") == {"valid_from": "2020-01-01", "valid_until": "2022-01-01"}


def test_knowledge_names_what_ended_where_a_removed_relation_began(db: mycel.Graph) -> None:
    notes = mycel.Knowledge(db, workspace="w")
    notes.remember(concepts=[{"uri": name, "name": name, "content": name} for name in "abp"])
    for name, begins in (("a", "2023"), ("b", "2024")):
        metadata = {"valid_from": begins}
        relation = {"source": "p", "relation": "lives_in", "target": name, "metadata": metadata}
        notes.remember(relations=[relation])
    (archived,) = notes.archive(["b"])
    assert archived.warnings == (), "the relation itself is not archived"
    (outcome,) = notes.delete_many([], relations=[("p", "lives_in", "b")])
    (warning,) = outcome.warnings
    assert "ended at 2024" in warning
