"""Relations: their weights, their pages, and what happens when an end is not there yet."""

from collections.abc import Callable
from typing import Any

import pytest

from mycel import ConceptRow, Knowledge, NewRelation
from mycel.errors import (
    ConstraintViolation,
    InvalidIdentifier,
    InvalidSyntax,
    InvalidValueType,
    MycelError,
    NotFound,
    SelfEdgeError,
    TypeMismatch,
)
from mycel.knowledge.node_values import Node


def test_a_relation_is_read_as_it_was_made(shop: Knowledge) -> None:
    shop.remember([{"uri": "a"}, {"uri": "b"}])
    linked = shop.link(
        "a", "depends_on", "b", weight=0.9, properties={"since": 2024}, metadata={"source": "me"}
    )
    assert (linked.created, linked.changed, linked.warnings) == (True, True, ())
    (relation,) = shop.relations("a")
    assert (relation.source, relation.relation, relation.target) == (
        "concept://shop/a",
        "depends_on",
        "concept://shop/b",
    )
    assert (relation.id, relation.weight) == (linked.id, 0.9)
    assert (relation.properties, relation.metadata) == ({"since": 2024}, {"source": "me"})
    assert relation.missing == ()


def test_linking_again_changes_nothing_and_another_weight_does(shop: Knowledge) -> None:
    shop.remember([{"uri": "a"}, {"uri": "b"}])
    shop.link("a", "needs", "b", weight=0.5)
    before = shop.db.snapshot()
    again = shop.link("a", "needs", "b", weight=0.5)
    assert (again.created, again.changed) == (False, False)
    assert not shop.link("a", "needs", "b").changed  # The weight it has stays.
    assert shop.db.snapshot() == before
    assert shop.link("a", "needs", "b", weight=0).changed
    assert shop.relations("a")[0].weight == 0
    assert shop.set_weight("a", "needs", "b", 0.75).changed
    assert not shop.set_weight("a", "needs", "b", 0.75).changed
    assert shop.relations("a")[0].weight == 0.75


def test_a_relation_costs_one_unless_told_otherwise(shop: Knowledge) -> None:
    shop.link("a", "needs", "b")
    assert shop.relations("a")[0].weight == 1


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), float("inf"), 10**400, -(10**400)])
def test_a_weight_outside_of_zero_to_one_is_refused(shop: Knowledge, weight: float) -> None:
    shop.link("a", "needs", "b")
    before = shop.db.snapshot()
    with pytest.raises(ConstraintViolation):
        shop.link("a", "needs", "b", weight=weight)
    with pytest.raises(ConstraintViolation):
        shop.link("a", "needs", "c", weight=weight)
    with pytest.raises(ConstraintViolation) as caught:
        shop.set_weight("a", "needs", "b", weight)
    assert caught.value.hint
    assert shop.db.snapshot() == before


@pytest.mark.parametrize("weight", ["0.5", True, [1]])
def test_a_weight_that_is_no_number_is_refused(shop: Knowledge, weight: float) -> None:
    with pytest.raises(InvalidValueType):
        shop.link("a", "needs", "b", weight=weight)


def test_a_relation_type_is_registered_on_first_use(shop: Knowledge) -> None:
    shop.link("a", "depends_on", "b")
    defined = shop.db.get_concept("$PropositionType", "depends_on")
    assert defined is not None
    assert defined.attributes["description"] == "Registered on first use."
    assert shop.link("a", "depends_on", "c").warnings[0].startswith("There is no concept")
    slip = shop.link("a", "depend_on", "b")
    assert "Did you mean 'depends_on'?" in slip.warnings[0]


@pytest.mark.parametrize("name", ["", "depends on", "1st", "ä", "$x", "a" * 300])
def test_a_relation_type_that_is_no_name_is_refused(shop: Knowledge, name: str) -> None:
    with pytest.raises(InvalidIdentifier):
        shop.link("a", name, "b")


def test_a_relation_type_with_rules_keeps_them(shop: Knowledge) -> None:
    shop.db.execute(
        'UPSERT { CONCEPT ?p { {type: "$PropositionType", name: "employs"}'
        ' SET ATTRIBUTES { description: "d", subject_types: ["Person"],'
        ' object_types: ["Person"] } } }'
    )
    with pytest.raises(ConstraintViolation):
        shop.link("a", "employs", "b")
    assert len(shop.broken_links()) == 0


def test_the_predicates_that_every_graph_has_may_be_used(shop: Knowledge) -> None:
    for name in ("references", "part_of", "related_to", "supersedes", "derived_from"):
        assert shop.link("a", name, "b").created


def test_a_node_cannot_be_related_to_itself(shop: Knowledge) -> None:
    with pytest.raises(SelfEdgeError, match="concept://shop/a"):
        shop.link("a", "needs", "concept://SHOP/a/")


# What is missing.


def test_a_resource_that_is_not_there_is_added(shop: Knowledge) -> None:
    shop.add("a")
    linked = shop.link("a", "implemented_in", "file://shop/src/a.py")
    assert linked.warnings == ()
    assert shop.get("file://shop/src/a.py").type == "Resource"
    assert len(shop.broken_links()) == 0


def test_a_concept_that_is_not_there_is_kept_as_a_broken_link_and_heals(shop: Knowledge) -> None:
    shop.add("auth/login")
    linked = shop.link("auth/login", "needs", "auth/sesion", weight=0.5)
    assert "concept://shop/auth/sesion" in linked.warnings[0]
    (broken,) = shop.broken_links()
    assert (broken.id, broken.missing) == (linked.id, ("concept://shop/auth/sesion",))
    with pytest.raises(NotFound, match="does not exist yet") as caught:
        shop.get("auth/sesion")
    assert "Add it" in caught.value.hint
    written = shop.add("auth/sesion", content="At last.")
    assert (written.created, written.changed) == (True, True)
    assert len(shop.broken_links()) == 0
    (relation,) = shop.relations("auth/sesion", direction="in")
    assert (relation.id, relation.weight, relation.missing) == (linked.id, 0.5, ())
    assert shop.get("auth/sesion").content == "At last."


def test_a_search_says_which_nodes_have_broken_links(shop: Knowledge) -> None:
    shop.add("auth/login", content="People log in with passkeys.")
    shop.add("auth/logout", content="People log out of passkeys.")
    for target in ("auth/session", "concept://ops/team", "auth/logout"):
        shop.link("auth/login", "needs", target)
    before = shop.db.snapshot()

    def marks(**how: Any) -> dict[str, tuple[str, ...]]:
        hits = shop.search("passkeys", **how)
        return {hit.uri: hit.found.caveats for hit in hits if isinstance(hit.found, Node)}

    login, logout = "concept://shop/auth/login", "concept://shop/auth/logout"
    assert marks() == {login: ("2 broken links",), logout: ()}
    shop.add("auth/session")
    assert marks() == {login: ("1 broken link",), logout: ()}
    assert marks(as_of=before.seq, mode="keyword")[login] == ("2 broken links",)


def test_it_heals_as_whatever_type_it_is_added_with(shop: Knowledge) -> None:
    shop.link("a", "calls", "f")
    shop.remember([{"uri": "a"}, {"uri": "f", "type": "Symbol"}])
    assert shop.get("f").type == "Symbol"
    assert len(shop.broken_links()) == 0


def test_it_heals_in_the_call_that_links_to_it(shop: Knowledge) -> None:
    made = shop.remember([{"uri": "a"}, {"uri": "b"}], [NewRelation("a", "needs", "b")])
    assert made.warnings == ()
    assert shop.db.get_concept("$ConceptType", "Missing") is None


UPSERT = (
    'UPSERT { CONCEPT ?c { {type: "Note", name: "concept://shop/m"} SET ATTRIBUTES { n: 1 } } }'
)


def by_kip(shop: Knowledge) -> None:
    shop.db.execute(UPSERT)


def by_transaction(shop: Knowledge) -> None:
    with shop.db.transaction() as tx:
        tx.put_concept("Note", "concept://shop/m", {"n": 1})


def by_many(shop: Knowledge) -> None:
    rows = [ConceptRow("Note", f"concept://shop/{name}", {"n": 1}) for name in "mnopqrstuv"]
    shop.db.write(lambda tx: tx.put_concepts(rows))


def by_move(shop: Knowledge) -> None:
    with shop.db.transaction() as tx:
        made = tx.put_concept("Note", "another", {"n": 1})
        tx.move(made, name="concept://shop/m")


@pytest.mark.parametrize("write", [by_kip, by_transaction, by_many, by_move])
def test_links_heal_whatever_door_the_concept_comes_through(
    shop: Knowledge, write: Callable[[Knowledge], None]
) -> None:
    shop.add("a")
    shop.link("a", "needs", "m", weight=0.5)
    shop.link("m", "needs", "a", weight=0.25)
    shop.db.write(lambda tx: tx.define_type("Note"))
    write(shop)
    node = shop.get("m")
    assert (node.type, node.properties) == ("Note", {"n": 1})
    assert [(each.source[-1], each.weight) for each in shop.relations("m")] == [
        ("m", 0.25),
        ("a", 0.5),
    ]
    assert len(shop.broken_links()) == 0
    assert shop.db.get_concept("Missing", "concept://shop/m") is None
    assert shop.db.verify(replay=True).ok


def test_a_dry_run_heals_nothing(shop: Knowledge) -> None:
    shop.link("a", "needs", "m")
    shop.db.write(lambda tx: tx.define_type("Note"))
    before = shop.db.snapshot()
    answer = shop.db.request({"command": UPSERT, "dry_run": True})
    assert "error" not in answer
    assert shop.db.snapshot() == before
    assert len(shop.broken_links()) == 1


def test_a_type_of_ones_own_that_is_called_missing_is_a_type_like_others(shop: Knowledge) -> None:
    with shop.db.transaction() as tx:
        tx.define_type("Missing", {"description": "People and planes."})
        tx.define_type("Flight")
        tx.put_concept("Missing", "MH370", {"content": "Since 2014."})
        tx.put_concept("Flight", "MH370")
    node = shop.get("kip:Missing/MH370")
    assert (node.node_type, node.content) == ("concept", "Since 2014.")
    shop.link("kip:Missing/MH370", "flown_by", "kip:Flight/MH370")
    assert len(shop.broken_links()) == 0
    assert "kip:Missing/MH370" in [each.uri for each in shop.search("MH370")]
    shop.unlink("kip:Missing/MH370", "flown_by", "kip:Flight/MH370")
    assert shop.get("kip:Missing/MH370").id == node.id


def test_a_warning_names_the_concept_that_may_have_been_meant(shop: Knowledge) -> None:
    shop.remember([{"uri": "auth/login"}, {"uri": "auth/session"}])
    linked = shop.link("auth/login", "needs", "auth/sesion")
    assert "Did you mean concept://shop/auth/session?" in linked.warnings[0]


def test_a_warning_about_a_mistyped_path_names_the_file(shop: Knowledge) -> None:
    shop.remember([{"uri": "file://shop/src/engine.py"}, {"uri": "src/engine.py/_Slot"}])
    linked = shop.link("auth/login", "about", "src/enginee.py")
    assert "Did you mean file://shop/src/engine.py" in linked.warnings[-1]


def test_what_a_kip_uri_names_must_be_there(shop: Knowledge) -> None:
    for target in ("kip:Person/Nobody", "kip:NoType/x", "kip:P:99999:needs", "C:99998"):
        with pytest.raises(NotFound):
            shop.link("a", "knows", target)


def test_a_relation_may_speak_about_a_relation(shop: Knowledge) -> None:
    shop.remember([{"uri": "a"}, {"uri": "b"}, {"uri": "c"}])
    linked = shop.link("a", "needs", "b")
    shop.link("c", "doubts", linked.id)
    (about,) = shop.relations("c")
    assert about.target == f"kip:{linked.id}"
    with pytest.raises(MycelError, match="relation"):
        shop.get(linked.id)
    assert shop.delete("a").relations == 2


def test_broken_links_come_in_pages(shop: Knowledge) -> None:
    shop.add("a")
    shop.remember([], [NewRelation("a", "needs", f"m/{n}") for n in range(7)])
    seen: list[str] = []
    cursor = None
    while True:
        page = shop.broken_links(limit=3, cursor=cursor)
        seen += [each.target for each in page]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [f"concept://shop/m/{n}" for n in range(7)]
    with pytest.raises(InvalidSyntax, match="cursor"):
        shop.broken_links(cursor="x")


def test_a_link_from_nowhere_to_nowhere_is_listed_once(shop: Knowledge) -> None:
    linked = shop.link("x", "needs", "y")
    assert len(linked.warnings) == 2
    (broken,) = shop.broken_links()
    assert broken.missing == ("concept://shop/x", "concept://shop/y")
    assert [each.id for each in shop.relations("y")] == [broken.id]


# Removing.


def test_a_relation_is_removed_once(shop: Knowledge) -> None:
    shop.remember([{"uri": "a"}, {"uri": "b"}], [NewRelation("a", "needs", "b")])
    assert shop.unlink("a", "needs", "b") is True
    assert shop.unlink("a", "needs", "b") is False
    assert shop.unlink("a", "never_heard_of", "b") is False
    assert shop.unlink("nowhere", "needs", "b") is False
    assert shop.get("b").uri == "concept://shop/b"


def test_a_placeholder_goes_with_its_last_link(shop: Knowledge) -> None:
    shop.add("a")
    shop.link("a", "needs", "m")
    shop.link("a", "wants", "m")
    shop.unlink("a", "needs", "m")
    assert len(shop.broken_links()) == 1
    shop.unlink("a", "wants", "m")
    assert shop.db.get_concept("Missing", "concept://shop/m") is None


def test_the_weight_of_a_relation_that_is_not_there_cannot_be_set(shop: Knowledge) -> None:
    shop.remember([{"uri": "a"}, {"uri": "b"}])
    for relation in ("needs", "never_heard_of"):
        with pytest.raises(NotFound):
            shop.set_weight("a", relation, "b", 0.5)


# Pages.


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("direction", ["out", "in", "both"])
def test_pages_hold_every_relation_once(shop: Knowledge, limit: int, direction: str) -> None:
    shop.remember(
        [],
        [NewRelation("hub", "needs", f"o/{n}") for n in range(4)]
        + [NewRelation("hub", "wants", f"o/{n}") for n in range(3)]
        + [NewRelation(f"i/{n}", "needs", "hub") for n in range(5)],
    )
    seen: list[str] = []
    cursor = None
    while True:
        page = shop.relations("hub", direction=direction, limit=limit, cursor=cursor)  # type: ignore[arg-type]
        assert len(page) <= limit
        seen += [each.id for each in page]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == {"out": 7, "in": 5, "both": 12}[direction]


def test_relations_are_chosen_by_type(shop: Knowledge) -> None:
    shop.remember([], [NewRelation("hub", kind, f"{kind}/1") for kind in ("needs", "wants", "has")])
    found = shop.relations("hub", relation_types=["has", "needs"])
    assert {each.relation for each in found} == {"has", "needs"}
    assert len(shop.relations("hub", relation_types="wants")) == 1
    assert len(shop.relations("hub", relation_types=[])) == 0
    with pytest.raises(TypeMismatch, match="need"):
        shop.relations("hub", relation_types=["need"])


def test_a_bad_question_about_relations_is_refused(shop: Knowledge) -> None:
    shop.link("a", "needs", "b")
    with pytest.raises(NotFound):
        shop.relations("nowhere")
    with pytest.raises(ConstraintViolation, match="direction"):
        shop.relations("a", direction="up")  # type: ignore[arg-type]
    with pytest.raises(ConstraintViolation, match="limit"):
        shop.relations("a", limit=0)
    with pytest.raises(InvalidValueType, match="limit"):
        shop.relations("a", limit="10")  # type: ignore[arg-type]
    for cursor in ("x", "out.1", "in.1.1", "out.1.x", "out.1.²", f"out.1.{10**30}", 7):
        with pytest.raises(InvalidSyntax, match="cursor"):
            shop.relations("a", direction="out", cursor=cursor)  # type: ignore[arg-type]


@pytest.mark.parametrize("where", ["properties", "metadata"])
def test_a_weight_among_the_properties_is_refused_and_told_where_it_belongs(
    shop: Knowledge, where: str
) -> None:
    shop.add("a")
    shop.add("b")
    for _ in range(2):
        with pytest.raises(ConstraintViolation, match="'weight'") as caught:
            shop.link("a", "knows", "b", **{where: {"weight": 0.2}})
        assert "Pass it as `weight`" in caught.value.hint
        shop.link("a", "knows", "b")
    assert [each.weight for each in shop.relations("a")] == [1.0]


def test_relation_types_that_are_no_list_are_refused(shop: Knowledge) -> None:
    shop.add("a")
    with pytest.raises(InvalidValueType, match="relation_types"):
        shop.relations("a", relation_types=5)  # type: ignore[arg-type]


def test_mentions_of_a_node_that_is_no_event_is_written_as_a_reference(shop: Knowledge) -> None:
    when = {"event_class": "Decision", "start_time": "2026-01-01", "content_summary": "Tea."}
    shop.remember(
        [{"uri": "talk", "type": "Event", "properties": when}, {"uri": "a"}, {"uri": "b"}]
    )
    assert shop.link("talk", "mentions", "a").relation == "mentions"
    linked = shop.link("b", "mentions", "a")
    assert (linked.relation, linked.created) == ("references", True)
    (warning,) = linked.warnings
    assert warning.startswith(
        "mentions leads from Event or Experience alone, and a source is of the type Concept"
    )
    assert shop.set_weight("b", "mentions", "a", 0.5).relation == "references"
    assert shop.unlink("b", "mentions", "a")
    # A definition of one's own is taken as it is.
    shop.db.execute(
        'UPDATE ?p SET ATTRIBUTES { subject_types: ["*"] }'
        ' WHERE { ?p {type: "$PropositionType", name: "mentions"} }'
    )
    assert shop.link("b", "mentions", "a").relation == "mentions"


def test_relations_of_notes_come_before_those_of_code_and_guesses_last(shop: Knowledge) -> None:
    """On every page, whatever its size and the order in which relation types were defined."""
    symbols = [f"src/a.py/f{number}" for number in range(8)]
    shop.remember({"uri": each, "type": "Symbol"} for each in (*symbols, "src/a.py/main"))
    main = "src/a.py/main"
    shop.remember(
        relations=[
            *(NewRelation(main, "may_call", each) for each in symbols[:3]),
            *(NewRelation(main, "calls", each) for each in symbols[3:6]),
            *(NewRelation(each, "calls", main) for each in symbols[:2]),
            NewRelation("concept://shop/notes/guide", "references", main),
            NewRelation("concept://shop/notes/a", "about", main),
            NewRelation(main, "superseded_by", "concept://shop/notes/b"),
        ]
    )
    expected = ["superseded_by", "about", "references", *["calls"] * 5, *["may_call"] * 3]
    whole = shop.relations(main).items
    assert [each.relation for each in whole] == expected
    assert [each.source == whole[0].source for each in whole[3:8]] == [True] * 3 + [False] * 2
    for limit in range(1, len(whole) + 1):
        pages, cursor = [], None
        while True:
            page = shop.relations(main, limit=limit, cursor=cursor)
            pages += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        assert pages == list(whole)
    some = shop.relations(main, relation_types=["may_call", "about"])
    assert [each.relation for each in some] == ["about", *["may_call"] * 3]
    incoming = shop.relations(main, direction="in")
    assert [each.relation for each in incoming] == ["about", "references", "calls", "calls"]


# Sources.


def _metadata(shop: Knowledge, **metadata: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The metadata of a relation after it was written with some more, and the warnings."""
    draft = {"source": "team", "relation": "led_by", "target": "ana", "metadata": metadata}
    warnings = shop.remember([{"uri": "team"}, {"uri": "ana"}], [draft]).warnings
    (relation,) = shop.relations("team")
    return relation.metadata, warnings


def _sources(metadata: dict[str, Any]) -> list[tuple[str, float, str | None]]:
    return [
        (entry["source"], entry["confidence"], entry.get("valid_from"))
        for entry in metadata.get("evidence", ())
    ]


def test_another_source_is_added_and_replaces_none(shop: Knowledge) -> None:
    own = {"source": "HR", "confidence": 0.95}
    assert _metadata(shop, **own) == (own, ())
    metadata, (warning,) = _metadata(shop, source="rumour", confidence=0.4)
    assert metadata | own == metadata
    assert _sources(metadata) == [("rumour", 0.4, None)]
    assert metadata["evidence"][0]["stance"] == "supports"
    assert metadata["evidence"][0]["by"] == "$self"
    assert "at" in metadata["evidence"][0]
    assert "keeps its own source" in warning
    assert "rumour is added to its evidence" in warning
    assert _metadata(shop, source="rumour", confidence=0.4) == (metadata, ())
    assert shop.relations("team")[0].caveats == ("source: HR; also rumour (confidence 0.4)",)

    metadata, _ = _metadata(shop, source="rumour", confidence=0.2)
    assert _sources(metadata) == [("rumour", 0.2, None)]  # Its last word.
    metadata, warnings = _metadata(shop, source="HR", confidence=0.9)
    assert (metadata["confidence"], _sources(metadata)) == (0.9, [("rumour", 0.2, None)])
    assert warnings == ()
    assert _metadata(shop, confidence=0.8)[0]["confidence"] == 0.8  # A correction.
    shop.link("team", "led_by", "ana", metadata={"author": "bea", "note": "seen"})
    metadata = shop.relations("team")[0].metadata
    assert metadata["evidence"][-1]["by"] == "bea"
    assert (metadata["source"], metadata["note"], "author" in metadata) == ("HR", "seen", False)


def test_a_source_without_a_rival_is_that_of_the_relation(shop: Knowledge) -> None:
    _metadata(shop, note="seen")
    assert _metadata(shop, source="HR")[0] == {"note": "seen", "source": "HR"}
    shop.db.execute(
        'UPDATE ?l SET METADATA { source: ["HR", "payroll"] } WHERE { ?l (?s, "led_by", ?o) }'
    )
    assert shop.relations("team")[0].caveats == ("source: HR, payroll",)
    assert "evidence" not in _metadata(shop, source="payroll")[0]
    shop.db.execute(
        'UPDATE ?l SET METADATA { source: ["HR", "payroll"] } WHERE { ?l (?s, "led_by", ?o) }'
    )
    assert _sources(_metadata(shop, source="rumour", confidence=0.4)[0]) == [("rumour", 0.4, None)]


def test_the_source_of_another_period_labels_no_other_one(shop: Knowledge) -> None:
    now = {"source": "HR", "confidence": 0.95, "valid_from": "2024-01-01"}
    _metadata(shop, **now)
    early = {"valid_from": "2019-01-01", "valid_until": "2021-01-01"}
    metadata, warnings = _metadata(shop, source="late", confidence=0.4, **early)
    assert metadata | now == metadata
    assert metadata["former_periods"] == [early]
    assert _sources(metadata) == [("late", 0.4, "2019-01-01")]
    assert "late, for the time from 2019-01-01 until 2021-01-01" in warnings[0]
    # It says nothing about the present.
    assert shop.db.execute('FIND(BELIEF(?l)) WHERE { ?l (?s, "led_by", ?o) }').value == ["accepted"]
    metadata, _ = _metadata(shop, source="HR", confidence=0.5, **early)
    assert (metadata["confidence"], len(metadata["evidence"])) == (0.95, 2)

    _metadata(shop, valid_until="2025-01-01")
    metadata, warnings = _metadata(shop, source="memo", valid_from="2026-01-01")
    assert (metadata["source"], "confidence" in metadata) == ("memo", False)
    assert _sources(metadata)[-1] == ("HR", 0.95, "2024-01-01")
    assert "has a new source; HR, for the time" in warnings[0]


def test_kip_overwrites_the_keys_of_a_source(shop: Knowledge) -> None:
    _metadata(shop, source="HR", confidence=0.95)
    shop.db.execute('UPDATE ?l SET METADATA { source: "rumour" } WHERE { ?l (?s, "led_by", ?o) }')
    assert shop.relations("team")[0].metadata == {"source": "rumour", "confidence": 0.95}
