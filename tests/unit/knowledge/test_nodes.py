"""Nodes: adding, reading, changing, moving and removing them by URI."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel import Graph, Knowledge, NewNode, NewRelation
from mycel.errors import (
    ConstraintViolation,
    DatabaseReadOnly,
    DuplicateExists,
    ImmutableTarget,
    InvalidId,
    InvalidIdentifier,
    InvalidValueType,
    MycelError,
    NotFound,
    SchemaError,
    VersionConflict,
)
from mycel.knowledge.node_values import Removed


def entries(db: Graph) -> int:
    return db.snapshot().entries


# Adding and reading.


def test_a_concept_is_read_as_it_was_added(shop: Knowledge) -> None:
    written = shop.add(
        "auth/login",
        name="Login",
        content="How people log in.",
        properties={"importance": 3},
        metadata={"source": "review"},
    )
    assert (written.uri, written.created, written.changed) == (
        "concept://shop/auth/login",
        True,
        True,
    )
    node = shop.get("concept://SHOP/auth//login/")
    assert node.id == written.id
    assert (node.type, node.node_type) == ("Concept", "concept")
    assert (node.name, node.content) == ("Login", "How people log in.")
    assert node.properties == {"importance": 3}
    assert node.metadata == {"source": "review"}
    assert node.version == 1
    assert shop.get("auth/login", content=False).content is None
    assert shop.get(node.id) == node


def test_a_concept_without_a_name_is_called_by_its_uri(shop: Knowledge) -> None:
    shop.add("idea")
    node = shop.get("idea")
    assert (node.name, node.content, node.properties) == ("concept://shop/idea", None, {})


def test_any_other_uri_is_a_resource_without_name_and_content(shop: Knowledge) -> None:
    for uri in ("https://example.com/a", "file://shop/src/a.py", "urn:isbn:1"):
        shop.add(uri, properties={"mime_type": "text/plain"})
        node = shop.get(uri)
        assert (node.uri, node.type, node.node_type) == (uri, "Resource", "resource")
        assert (node.name, node.content) == (None, None)
    with pytest.raises(ConstraintViolation, match="content"):
        shop.add("https://example.com/b", content="text")
    with pytest.raises(ConstraintViolation, match="name"):
        shop.update("https://example.com/a", name="A")


def test_adding_the_same_again_changes_nothing_and_says_so(shop: Knowledge) -> None:
    for _ in range(2):
        written = shop.add("a", name="A", content="text", properties={"n": [1, {"m": None}]})
    before = entries(shop.db)
    written = shop.add("a", name="A", content="text", properties={"n": [1, {"m": None}]})
    assert (written.created, written.changed, written.version) == (False, False, 1)
    assert entries(shop.db) == before


def test_adding_something_else_under_a_uri_in_use_is_refused_unless_it_may_exist(
    shop: Knowledge,
) -> None:
    shop.add("a", content="one", properties={"kept": True})
    with pytest.raises(DuplicateExists, match="concept://shop/a"):
        shop.add("a", content="two")
    with pytest.raises(DuplicateExists):
        shop.add("a", type="Decision")
    written = shop.add("a", content="two", exist_ok=True)
    assert (written.created, written.changed, written.version) == (False, True, 2)
    node = shop.get("a")
    assert (node.content, node.properties) == ("two", {"kept": True})


def test_true_and_one_are_different_values(shop: Knowledge) -> None:
    shop.add("a", properties={"flag": True})
    with pytest.raises(DuplicateExists):
        shop.add("a", properties={"flag": 1})


def test_another_type_may_be_used_and_is_registered(shop: Knowledge) -> None:
    shop.add("f", type="Symbol", properties={"kind": "function"})
    assert shop.get("f").type == "Symbol"
    assert shop.db.get_concept("$ConceptType", "Symbol") is not None
    written = shop.add("g", type="Symbols")
    assert "Did you mean 'Symbol'" in written.warnings[0]
    assert shop.add("f", type="Decision", exist_ok=True).changed
    assert shop.get("f").type == "Decision"


def test_the_types_are_described_when_they_are_first_used(shop: Knowledge) -> None:
    assert shop.db.get_concept("$ConceptType", "Concept") is None
    shop.add("a")
    defined = shop.db.get_concept("$ConceptType", "Concept")
    assert defined is not None
    assert "URI" in defined.attributes["description"]
    assert "content" in defined.attributes["instance_schema"]


def test_a_type_that_is_defined_already_stays_as_it_is(shop: Knowledge) -> None:
    with shop.db.transaction() as tx:
        tx.define_type("Concept", {"description": "Mine."})
    shop.add("a")
    defined = shop.db.get_concept("$ConceptType", "Concept")
    assert defined is not None
    assert defined.attributes == {"description": "Mine."}


def test_the_rules_of_a_schema_are_rules_here_too(shop: Knowledge) -> None:
    shop.db.schema.apply("node Decision {\n  name: String @key\n  status: enum(open, closed)\n}\n")
    before = entries(shop.db)
    with pytest.raises((ConstraintViolation, InvalidValueType, SchemaError)):
        shop.add("a", type="Decision", properties={"status": "maybe"})
    assert entries(shop.db) == before


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"uri": "../a"}, InvalidId),
        ({"uri": "a", "type": "not a name"}, InvalidIdentifier),
        ({"uri": "a", "type": "$ConceptType"}, ConstraintViolation),
        ({"uri": "a", "name": 1}, InvalidValueType),
        ({"uri": "a", "content": b"x"}, InvalidValueType),
        ({"uri": "a", "properties": [1]}, InvalidValueType),
        ({"uri": "a", "properties": {"name": "x"}}, ConstraintViolation),
        ({"uri": "a", "properties": {"content": "x"}}, ConstraintViolation),
        ({"uri": "a", "properties": {"x": {1}}}, InvalidValueType),
        ({"uri": "a", "metadata": {"_version": 2}}, ConstraintViolation),
        ({"uri": "kip:Person/Nobody"}, NotFound),
        ({"uri": "C:99998"}, NotFound),
        ({"uri": "a", "relations": [{"relation": "r"}]}, ConstraintViolation),
        ({"uri": "a", "relations": [{"relation": "r", "target": "a"}]}, ConstraintViolation),
        ({"uri": "a", "relations": {"relation": "r"}}, InvalidValueType),
        ({"uri": "a", "relations": None}, InvalidValueType),
    ],
)
def test_what_cannot_be_added_is_refused_and_nothing_is_written(
    shop: Knowledge, arguments: dict[str, object], error: type[MycelError]
) -> None:
    before = entries(shop.db)
    with pytest.raises(error) as caught:
        shop.add(**arguments)  # type: ignore[arg-type]
    assert caught.value.hint
    assert entries(shop.db) == before


def test_a_node_that_is_not_there_names_the_closest(shop: Knowledge) -> None:
    shop.remember([{"uri": "auth/login"}, {"uri": "auth/logout"}, {"uri": "billing/invoice"}])
    with pytest.raises(NotFound) as caught:
        shop.get("auth/logn")
    assert "concept://shop/auth/login" in caught.value.hint
    assert "invoice" not in caught.value.hint
    with pytest.raises(NotFound, match="concept://shop/invoice") as caught:
        shop.get("concept://shop/invoice")
    assert caught.value.data["closest"] == ["concept://shop/billing/invoice"]


def test_concepts_of_kip_are_nodes_too(shop: Knowledge) -> None:
    node = shop.get("kip:Person/$self")
    assert (node.type, node.node_type) == ("Person", "concept")
    shop.link("kip:Person/$self", "wrote", "a")
    assert shop.relations("kip:Person/$self", direction="out", relation_types=["wrote"])[0].target
    shop.update("kip:Person/$self", properties={"mood": "calm"})
    assert shop.get(node.id).properties["mood"] == "calm"
    with pytest.raises(ImmutableTarget):
        shop.delete("kip:$ConceptType/$ConceptType")


def test_what_kip_writes_under_a_uri_is_the_node_and_the_other_way_round(shop: Knowledge) -> None:
    shop.add("a", content="one")
    found = shop.db.execute('FIND(?c.attributes.content) WHERE { ?c {type: "Concept"} }')
    assert found.rows == [("one",)]
    shop.db.execute(
        'UPSERT { CONCEPT ?c { {type: "Concept", name: "concept://shop/b"}'
        ' SET ATTRIBUTES { content: "two" } } }'
    )
    assert shop.get("b").content == "two"


def test_of_two_concepts_with_one_uri_the_plain_one_is_the_node(shop: Knowledge) -> None:
    shop.add("f", type="Symbol")
    with shop.db.transaction() as tx:
        tx.define_type("Concept")
        tx.put_concept("Concept", "concept://shop/f", {"content": "x"})
    assert shop.get("f").type == "Concept"
    assert shop.get("kip:Symbol/concept://shop/f").type == "Symbol"


def test_a_relation_is_no_node(shop: Knowledge) -> None:
    linked = shop.link("a", "needs", "b")
    for attempt in (shop.get, shop.add, shop.update, shop.traverse, shop.relations):
        with pytest.raises(MycelError, match="relation"):
            attempt(linked.id)


def test_a_type_that_misses_what_it_requires_is_warned_about(shop: Knowledge) -> None:
    shop.db.execute(
        'UPSERT { CONCEPT ?t { {type: "$ConceptType", name: "Decision"} SET ATTRIBUTES {'
        ' description: "d", instance_schema: { why: { type: "string", is_required: true,'
        ' description: "w" } } } } }'
    )
    assert "why" in shop.add("d", type="Decision").warnings[0]


def test_a_graph_that_may_only_be_read_can_be_read(shop: Knowledge, tmp_path: Path) -> None:
    shop.add("a", content="text", relations=[{"relation": "needs", "target": "b"}])
    with mycel.open(tmp_path / "graph.db", readonly=True) as db:
        reading = Knowledge(db, workspace="shop")
        assert reading.get("a").content == "text"
        assert len(reading.traverse("a").nodes) == 2
        assert reading.search("text")[0].uri == "concept://shop/a"
        assert len(reading.broken_links()) == 1
        with pytest.raises(DatabaseReadOnly):
            reading.add("c")


def test_values_have_a_form_in_json(shop: Knowledge) -> None:
    made = shop.remember([{"uri": "a", "content": "x"}], [NewRelation("a", "needs", "b")])
    wire = json.loads(json.dumps(made.to_dict()))
    assert wire["nodes"][0]["uri"] == "concept://shop/a"
    assert wire["relations"][0]["created"] is True
    assert len(wire["warnings"]) == 1
    node = json.loads(json.dumps(shop.get("a").to_dict()))
    assert node["content"] == "x"
    assert "properties" not in node
    assert node["created_at"].endswith("+00:00")
    page = json.loads(json.dumps(shop.relations("a").to_dict()))
    assert page["items"][0]["missing"] == ["concept://shop/b"]
    assert "next_cursor" not in page
    shop.link("a", "wants", "b")
    assert shop.relations("a", limit=1).to_dict()["next_cursor"]


# Changing.


def test_an_update_merges_and_drops(shop: Knowledge) -> None:
    shop.add("a", name="A", content="one", properties={"x": 1, "y": 2})
    written = shop.update(
        "a", content="two", properties={"x": 3}, drop=["y"], metadata={"by": "me"}
    )
    assert (written.changed, written.version) == (True, 2)
    node = shop.get("a")
    assert (node.name, node.content) == ("A", "two")
    assert (node.properties, node.metadata) == ({"x": 3}, {"by": "me"})
    again = shop.update("a", content="two", properties={"x": 3}, metadata={"by": "me"})
    assert (again.changed, again.version) == (False, 2)
    shop.update("a", drop="content")
    assert shop.get("a").content is None
    assert "nothing to drop" in shop.update("a", drop=["nothing"]).warnings[0]


def test_a_name_is_of_limited_length(shop: Knowledge) -> None:
    shop.add("a", name="(" * 4096)
    for write in (shop.add, shop.update):
        with pytest.raises(ConstraintViolation, match="has 4097 bytes; at most 4096") as refused:
            write("a", name="(" * 4097)
        assert "put long text into an attribute" in refused.value.hint


def test_appending_adds_a_line_once(shop: Knowledge) -> None:
    shop.add("log")
    shop.update("log", append="first")
    shop.update("log", append="second")
    again = shop.update("log", append="second")
    assert not again.changed
    assert again.warnings
    assert shop.get("log").content == "first\nsecond"
    with pytest.raises(ConstraintViolation, match="append"):
        shop.update("log", append="x", content="y")


def test_an_update_of_another_version_is_refused(shop: Knowledge) -> None:
    shop.add("a", content="one")
    shop.update("a", content="two", expect_version=1)
    for changes in ({"content": "three"}, {"type": "Note"}):
        with pytest.raises(VersionConflict, match="Expected version 1 of concept://shop/a "):
            shop.update("a", expect_version=1, **changes)  # type: ignore[arg-type]
    assert shop.get("a").content == "two"


def test_what_nobody_has_written_cannot_be_updated(shop: Knowledge) -> None:
    shop.link("a", "needs", "b")
    with pytest.raises(NotFound, match="does not exist yet"):
        shop.update("b", content="x")
    with pytest.raises(NotFound):
        shop.update("nowhere", content="x")


# Moving.


def test_a_node_that_moves_takes_its_links_along(shop: Knowledge) -> None:
    shop.remember([{"uri": "a"}, {"uri": "b"}], [NewRelation("a", "needs", "b", 0.5)])
    shop.context.add("concept://shop/b")
    before = shop.get("b").id
    written = shop.move("b", "c/d")
    assert (written.uri, written.id, written.moved) == ("concept://shop/c/d", before, 1)
    (relation,) = shop.relations("a")
    assert (relation.target, relation.weight) == ("concept://shop/c/d", 0.5)
    assert "concept://shop/c/d" in shop.context
    assert not shop.has("b")


def test_moving_again_changes_nothing(shop: Knowledge) -> None:
    shop.add("a")
    shop.move("a", "b")
    before = entries(shop.db)
    assert not shop.move("a", "b").changed
    assert not shop.move("b", "b").changed
    assert entries(shop.db) == before
    with pytest.raises(NotFound):
        shop.move("nowhere", "c")


def test_a_node_cannot_move_onto_another(shop: Knowledge) -> None:
    shop.remember([{"uri": "a"}, {"uri": "b"}])
    with pytest.raises(DuplicateExists, match="concept://shop/b") as caught:
        shop.move("a", "b")
    assert caught.value.hint
    with pytest.raises(ConstraintViolation):
        shop.move("a", "https://example.com")
    for uri, new in (
        ("a", "kip:Concept/b"),
        ("kip:Person/$self", "b"),
        (shop.get("a").id, "kip:x/y"),
    ):
        with pytest.raises(ConstraintViolation, match="URI of its own"):
            shop.move(uri, new)
    assert shop.move(shop.get("a").id, "c").uri == "concept://shop/c"


def test_a_node_that_moves_to_where_links_lead_already_heals_them(shop: Knowledge) -> None:
    shop.remember([{"uri": "a"}, {"uri": "b"}, {"uri": "old"}])
    shop.link("a", "needs", "new", weight=0.25)
    shop.link("a", "needs", "old")  # Would be the same link twice.
    shop.link("b", "needs", "new")
    shop.link("old", "replaced_by", "new")  # Would lead to itself.
    assert len(shop.broken_links()) == 3
    shop.move("old", "new")
    assert len(shop.broken_links()) == 0
    found = {(each.source, each.relation) for each in shop.relations("new")}
    assert found == {("concept://shop/a", "needs"), ("concept://shop/b", "needs")}
    assert shop.db.verify(replay=True).ok


def test_a_subtree_moves_as_a_whole(shop: Knowledge) -> None:
    shop.remember(
        [{"uri": "a"}, {"uri": "a/b"}, {"uri": "a/b/c"}, {"uri": "ab"}],
        [NewRelation("a/b", "needs", "a/missing"), NewRelation("ab", "needs", "a/b/c")],
    )
    written = shop.move("a", "x/y", subtree=True)
    assert written.moved == 4
    assert shop.get("x/y/b/c")
    assert shop.get("ab")
    assert shop.relations("ab")[0].target == "concept://shop/x/y/b/c"
    assert shop.broken_links()[0].target == "concept://shop/x/y/missing"
    shop.add("x/y/missing")
    assert len(shop.broken_links()) == 0


def test_a_subtree_may_be_lifted_but_not_moved_into_itself_or_onto_others(shop: Knowledge) -> None:
    shop.remember([{"uri": uri} for uri in ("a/b", "a/b/b", "a/b/c")])
    with pytest.raises(ConstraintViolation, match="itself"):
        shop.move("a/b", "a/b/c", subtree=True)
    shop.move("a/b", "a", subtree=True)
    for uri in ("a", "a/b", "a/c"):
        assert shop.get(uri)
    shop.add("z/c")
    with pytest.raises(DuplicateExists, match="z/c"):
        shop.move("a", "z", subtree=True)
    assert shop.get("a/c")  # Nothing moved.
    with pytest.raises(NotFound):
        shop.move("nowhere", "y", subtree=True)


def test_a_folder_of_files_moves_too_even_without_a_node_of_its_own(shop: Knowledge) -> None:
    shop.remember([{"uri": "file://shop/src/a.py"}, {"uri": "file://shop/src/b.py"}])
    assert shop.move("file://shop/src", "lib", subtree=True).moved == 2
    assert shop.get("file://shop/lib/a.py").type == "Resource"


# Removing.


def test_a_node_goes_with_its_relations(shop: Knowledge) -> None:
    shop.remember(
        [{"uri": "a"}, {"uri": "b"}, {"uri": "c"}],
        [
            NewRelation("a", "needs", "b"),
            NewRelation("c", "needs", "b"),
            NewRelation("b", "is", "c"),
        ],
    )
    shop.context.add("concept://shop/b")
    removed = shop.delete("b", reason="outdated")
    assert (removed.concepts, removed.relations) == (1, 3)
    assert removed.warnings[0].startswith("2 relations")
    assert len(shop.relations("a")) == 0
    assert "concept://shop/b" not in shop.context
    again = shop.delete("b")
    assert (again.concepts, again.relations) == (0, 0)
    assert "before" in again.warnings[0]


def test_what_never_was_there_cannot_be_removed(shop: Knowledge) -> None:
    shop.add("login")
    with pytest.raises(NotFound) as caught:
        shop.delete("logn")
    assert "concept://shop/login" in caught.value.hint


def test_a_node_that_was_removed_may_be_added_anew(shop: Knowledge) -> None:
    shop.add("a", content="one", properties={"x": 1})
    shop.delete("a")
    assert shop.add("a", content="two").created
    assert shop.get("a").properties == {}


def test_placeholders_go_with_the_last_node_that_led_to_them(shop: Knowledge) -> None:
    shop.remember([{"uri": "a"}, {"uri": "b"}])
    shop.link("a", "needs", "missing")
    shop.link("b", "needs", "missing")
    shop.delete("a")
    assert len(shop.broken_links()) == 1
    shop.delete("b")
    assert shop.db.get_concept("Missing", "concept://shop/missing") is None


def test_a_placeholder_can_be_removed_with_the_links_that_lead_to_it(shop: Knowledge) -> None:
    shop.add("a")
    shop.link("a", "needs", "missing")
    assert shop.delete("missing") == Removed(0, 1)
    assert len(shop.broken_links()) == 0


# Many at once, and many at the same time.


def test_many_are_remembered_together(shop: Knowledge) -> None:
    made = shop.remember(
        [NewNode("a", name="A"), {"uri": "b", "content": "text"}],
        [
            {"source": "a", "relation": "needs", "target": "b", "weight": 0.5},
            NewRelation("b", "read_in", "https://example.com"),
        ],
    )
    assert [each.created for each in made.nodes] == [True, True]
    assert [each.created for each in made.relations] == [True, True]
    assert (made.created, made.changed, made.warnings) == (4, 4, ())
    before = entries(shop.db)
    again = shop.remember([NewNode("a", name="A")], [NewRelation("a", "needs", "b", 0.5)])
    assert (again.created, again.changed) == (0, 0)
    assert entries(shop.db) == before


def test_what_is_said_twice_in_one_call_is_merged(shop: Knowledge) -> None:
    made = shop.remember(
        [NewNode("a", name="A"), NewNode("concept://shop/a", content="text")],
        [NewRelation("a", "needs", "b"), NewRelation("a", "needs", "b", 0.5)],
    )
    assert [each.created for each in made.nodes] == [True, False]
    assert [(each.created, each.changed) for each in made.relations] == [
        (True, True),
        (False, True),
    ]
    node = shop.get("a")
    assert (node.name, node.content) == ("A", "text")
    assert shop.relations("a")[0].weight == 0.5


@pytest.mark.parametrize(
    ("concepts", "relations"),
    [
        ([{"uri": "a"}, {"uri": "../b"}], []),
        ([{"uri": "a"}, {"name": "B"}], []),
        ([{"uri": "a"}, {"uri": "b", "contents": "x"}], []),
        ([{"uri": "a"}, "b"], []),
        ([{"uri": "a"}], [{"source": "a", "relation": "r", "target": "b", "weight": 2}]),
        ([{"uri": "a"}], [{"source": "a", "relation": "not a name", "target": "b"}]),
        ([{"uri": "a"}], [{"source": "a", "relation": ["r"], "target": "b"}]),
        ([{"uri": "a"}], [{"source": "a", "relation": 7, "target": "b"}]),
        ([{"uri": "a"}], [{"source": "a", "relation": "r", "target": "kip:Person/Nobody"}]),
        ([{"uri": "a"}], [{"source": "a", "relation": "r", "target": ["b"]}]),
    ],
)
def test_all_are_written_or_none(
    shop: Knowledge, concepts: list[object], relations: list[object]
) -> None:
    before = entries(shop.db)
    with pytest.raises(MycelError) as caught:
        shop.remember(concepts, relations)  # type: ignore[arg-type]
    assert caught.value.hint
    assert entries(shop.db) == before
    with pytest.raises(NotFound):
        shop.get("a")


def test_a_field_with_a_slip_names_the_right_one(shop: Knowledge) -> None:
    with pytest.raises(ConstraintViolation) as caught:
        shop.remember([{"uri": "a", "contents": "x"}])
    assert "'content'" in caught.value.hint


def test_twenty_threads_that_add_at_once_lose_nothing(shop: Knowledge) -> None:
    def work(n: int) -> bool:
        return shop.add(
            f"n/{n}", content=str(n), relations=[{"relation": f"r{n % 3}", "target": "hub"}]
        ).created

    with ThreadPoolExecutor(20) as pool:
        assert all(pool.map(work, range(20)))
    assert {shop.get(f"n/{n}").content for n in range(20)} == {str(n) for n in range(20)}
    assert len(shop.relations("hub", direction="in")) == 20
    assert shop.db.verify(replay=True).ok


def test_of_threads_that_add_the_same_node_one_creates_it(shop: Knowledge) -> None:
    with ThreadPoolExecutor(10) as pool:
        made = list(pool.map(lambda _: shop.add("a", content="x"), range(10)))
    assert sum(each.created for each in made) == 1
    assert len({each.id for each in made}) == 1


def test_two_handles_on_one_file_see_each_others_nodes(shop: Knowledge, tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db", durability="off") as db:
        other = Knowledge(db, workspace="shop")
        shop.add("a", type="Fresh", relations=[{"relation": "brand_new", "target": "b"}])
        assert other.get("a").type == "Fresh"
        assert other.relations("a")[0].relation == "brand_new"
        other.add("b")
        assert len(shop.broken_links()) == 0


# Names that mean something of their own, and values that are none.


@pytest.mark.parametrize("name", ["name", "content", "uri", "_bootstrap"])
def test_a_name_that_means_something_is_no_property_of_a_node(shop: Knowledge, name: str) -> None:
    before = entries(shop.db)
    with pytest.raises(ConstraintViolation, match=f"'{name}' cannot be one of the properties"):
        shop.add("a", properties={"kind": "x", name: "y"})
    assert entries(shop.db) == before


def test_what_a_bootstrap_notes_is_shown_to_nobody_and_cannot_be_dropped(shop: Knowledge) -> None:
    made = shop.add("notes", content="walrus", properties={"kept": 1})
    with shop.db.transaction() as tx:
        tx.update(made.id, attributes={"_bootstrap": 1 << 40})
    assert shop.get("notes").properties == {"kept": 1}
    assert [hit.found.properties for hit in shop.search("walrus")] == [{"kept": 1}]
    assert shop.traverse("notes").nodes[0].node.properties == {"kept": 1}
    written = shop.update("notes", drop=["_bootstrap"])
    assert not written.changed
    assert "nothing to drop" in written.warnings[0]
    assert shop.db.get(made.id).attributes["_bootstrap"] == 1 << 40


@pytest.mark.parametrize("drop", [None, 5, {"a": 1}, [5], [[]]])
def test_what_is_to_be_dropped_is_a_list_of_names(shop: Knowledge, drop: object) -> None:
    shop.add("a")
    with pytest.raises(InvalidValueType, match="drop"):
        shop.update("a", drop=drop)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["1", True, 1.0])
def test_an_expected_version_is_a_whole_number(shop: Knowledge, version: object) -> None:
    shop.add("a")
    with pytest.raises(InvalidValueType, match="expect_version"):
        shop.update("a", name="b", expect_version=version)  # type: ignore[arg-type]


def test_metadata_and_types_that_are_none_are_refused_for_nodes_old_and_new(
    shop: Knowledge,
) -> None:
    shop.add("old")
    for uri in ("old", "new"):
        with pytest.raises(InvalidValueType, match="metadata"):
            shop.add(uri, metadata=[5])  # type: ignore[arg-type]
        with pytest.raises(InvalidValueType, match="type"):
            shop.add(uri, type=[])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"content": "half \ud83d of it"},
        {"name": "\udc00"},
        {"properties": {"a": {"b": ["\ud800"]}}},
        {"properties": {"\ud800": 1}},
        {"metadata": {"a": "\ud800"}},
    ],
)
def test_half_of_a_character_is_refused_and_called_what_it_is(
    shop: Knowledge, given: dict[str, Any]
) -> None:
    with pytest.raises(InvalidValueType, match="lone surrogate at '") as caught:
        shop.add("a", **given)
    assert "half of a character" in caught.value.hint
    caught.value.message.encode()
    with pytest.raises(NotFound):
        shop.get("a")


# Several at once.


def test_several_nodes_are_read_each_with_an_outcome_of_its_own(shop: Knowledge) -> None:
    shop.add("a", content="text")
    shop.add("b")
    long = "x" * 5_000
    found = shop.get_many(["b", "../up", "a", "nothing", long, "kip:nothing", "a"])
    assert [each.result and each.result.uri for each in found] == [
        "concept://shop/b",
        None,
        "concept://shop/a",
        None,
        None,
        None,
        "concept://shop/a",
    ]
    assert [type(each.error) for each in found if each.error] == [
        InvalidId,
        NotFound,
        ConstraintViolation,
        InvalidId,
    ]
    assert [each.uri for each in found[:3]] == ["b", "../up", "a"]
    told = found[3].to_dict()
    assert (told["uri"], told["error"]["name"]) == ("nothing", found[3].error.name)
    assert found[2].to_dict()["result"]["content"] == "text"
    assert shop.get_many(["a"], content=False)[0].result.content is None
    assert shop.get_many([]) == ()


def test_several_nodes_are_removed_in_one_transaction(shop: Knowledge) -> None:
    for name in "abc":
        shop.add(name)
    shop.link("a", "knows", "b")
    shop.link("c", "knows", "later")
    shop.context.add("concept://shop/a")
    before = len(list(shop.db.history.log()))
    gone = shop.delete_many(["a", "nothing", shop.get("b").id, "c", "a"], reason="tidying")
    assert len(list(shop.db.history.log())) == before + 1
    assert [each.result and each.result.concepts for each in gone] == [1, None, 1, 1, 0]
    assert isinstance(gone[1].error, NotFound)
    assert "removed before" in gone[4].result.warnings[0]
    assert "concept://shop/a" not in shop.context
    assert len(shop.broken_links()) == 0
    assert shop.db.get_concept("Missing", "concept://shop/later") is None


def test_when_one_of_several_must_stay_all_of_them_do(shop: Knowledge) -> None:
    shop.add("a")
    with pytest.raises(ImmutableTarget):
        shop.delete_many(["a", "kip:Domain/CoreSchema"])
    assert shop.get("a").version == 1


@pytest.mark.parametrize("uris", ["a", None, 5, {"a": 1}])
def test_several_nodes_are_named_by_a_list(shop: Knowledge, uris: object) -> None:
    for method in (shop.get_many, shop.delete_many):
        with pytest.raises(InvalidValueType, match="list of URIs"):
            method(uris)  # type: ignore[operator]


def test_nobody_asks_for_more_nodes_at_once_than_a_page_holds(shop: Knowledge) -> None:
    with pytest.raises(ConstraintViolation, match="10,000"):
        shop.get_many(f"n{n}" for n in range(10_001))


# What KIP called otherwise.


@pytest.mark.parametrize(
    "name",
    [
        "https://Example.com/Big",
        "concept://Shop/A/",
        "file:///etc/hosts",
        "see http://x y",
        "kip:a://b",
        "two\nlines ",
    ],
)
def test_every_uri_that_is_given_out_can_be_asked_for(shop: Knowledge, name: str) -> None:
    with shop.db.transaction() as tx:
        tx.define_type("Note")
        id_ = tx.put_concept("Note", name, {"content": "a walrus"})
    (hit,) = shop.search("walrus")
    assert shop.get(hit.uri).id == id_
    shop.link(hit.uri, "about", "https://example.com/")
    (link,) = shop.relations(hit.uri)
    assert link.source == hit.uri


def test_whoever_takes_a_file_for_a_concept_is_told_its_uri(shop: Knowledge) -> None:
    shop.add("file://shop/src/a.py")
    with pytest.raises(NotFound) as caught:
        shop.get("concept://shop/src/a.py")
    assert caught.value.data["closest"] == ["file://shop/src/a.py"]


def test_a_subtree_without_a_node_at_its_root_has_no_version(shop: Knowledge) -> None:
    shop.remember([{"uri": "a/b"}, {"uri": "a/c"}])
    written = shop.move("a", "z", subtree=True)
    assert (written.uri, written.id, written.version) == ("concept://shop/z", "", None)
    assert (written.moved, written.changed) == (2, True)
    assert "version" not in written.to_dict()


def test_a_root_that_only_links_know_of_is_no_node_of_a_subtree(shop: Knowledge) -> None:
    shop.remember([{"uri": "a/b"}, {"uri": "c"}], [NewRelation("c", "needs", "a")])
    written = shop.move("a", "z", subtree=True)
    assert (written.id, written.version, written.moved) == ("", None, 1)
    assert shop.relations("c")[0].target == "concept://shop/z"


def test_the_concepts_of_a_workspace_are_listed_by_uri_whatever_their_type(
    shop: Knowledge,
) -> None:
    shop.remember(
        [
            {"uri": "b", "type": "Decision", "content": "Long."},
            {"uri": "a"},
            {"uri": "concept://shop"},
            {"uri": "s", "type": "Symbol"},
            {"uri": "concept://other/x"},
            {"uri": "concept://shop-2/x"},
            {"uri": "file://shop/a.py"},
        ],
        [NewRelation("a", "needs", "missing")],
    )
    whole = shop.concepts()
    assert [each.uri.removeprefix("concept://shop") for each in whole] == ["", "/a", "/b", "/s"]
    assert whole[2].content is None
    listed: list[str] = []
    cursor = None
    while True:
        page = shop.concepts(without=["Symbol", "Unheard"], limit=1, cursor=cursor)
        listed += [each.uri for each in page]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert listed == ["concept://shop", "concept://shop/a", "concept://shop/b"]
    with pytest.raises(ConstraintViolation):
        shop.concepts(cursor="concept://shop-2/x")


@pytest.mark.parametrize("confidence", [7, -0.1, "high", True, float("1e300")])
def test_a_confidence_that_is_none_is_kept_with_a_warning(
    shop: Knowledge, confidence: object
) -> None:
    metadata = {"confidence": confidence}
    made = shop.remember(
        [{"uri": "a", "metadata": metadata}],
        [NewRelation("a", "needs", "https://example.org/x", metadata=metadata)],
    )
    assert [warning.partition(":")[0] for warning in made.warnings] == ["a", "a —needs→ https"]
    assert all("from 0 to 1" in warning for warning in made.warnings)
    assert shop.get("a").metadata == metadata
    (warning,) = shop.update("a", metadata=metadata).warnings
    assert warning.startswith("concept://shop/a: the confidence")


@pytest.mark.parametrize("confidence", [0, 1, 0.5, None])
def test_a_confidence_from_0_to_1_is_taken_without_a_word(
    shop: Knowledge, confidence: object
) -> None:
    metadata = {"confidence": confidence}
    assert shop.remember([{"uri": "a", "metadata": metadata}]).warnings == ()


def test_times_of_python_are_written_as_text(shop: Knowledge) -> None:
    at = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
    shop.add("login", properties={"at": at, "days": [at.date()]}, metadata={"seen": at})
    shop.update("login", properties={"changed": at})
    shop.add("cart")
    shop.link("login", "before", "cart", properties={"at": at})
    text = "2026-05-01T09:30:00Z"
    node = shop.get("login")
    assert (node.properties["at"], node.properties["days"]) == (text, ["2026-05-01"])
    assert (node.properties["changed"], node.metadata["seen"]) == (text, text)
    assert shop.relations("login").items[0].properties == {"at": text}
