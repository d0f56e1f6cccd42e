"""Every tool, through the SDK's own client, in both eras of the protocol."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

import mycel
from mycel.mcp.tool_list import TOOLS
from tests.adapters.mcp.clients import Session, connected
from tests.cases import cases


@pytest.fixture(scope="module", params=["auto", "legacy"])
def session(
    request: pytest.FixtureRequest, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    """In both eras, also in CI: every tool has its tests here."""
    db = tmp_path_factory.mktemp("graph") / "graph.db"
    with connected(db, "--root", str(project), mode=request.param) as session:
        yield session


def test_the_era_is_the_one_that_the_client_began_with(
    session: Session, request: pytest.FixtureRequest
) -> None:
    version = session.client.protocol_version
    is_newer = "auto" in request.node.name
    assert version == "2026-07-28" if is_newer else version < "2026"
    assert session.client.server_info.name == "mycel"
    assert "search_knowledge" in (session.client.instructions or "")


def test_all_tools_are_listed_with_their_hints(session: Session) -> None:
    listed = {tool.name: tool for tool in session.ask("list_tools").tools}
    assert list(listed) == [tool.name for tool in TOOLS]
    for tool in TOOLS:
        hints = listed[tool.name].annotations
        assert hints.read_only_hint is not tool.writes
        assert hints.open_world_hint is False
        assert hints.destructive_hint is (tool.destroys if tool.writes else None)
        assert listed[tool.name].input_schema == tool.schema()


def test_what_is_remembered_is_found_read_and_traversed(session: Session) -> None:
    made = session.ok(
        "remember_knowledge",
        concepts=[
            {"uri": "story/login", "name": "Login", "content": "Gatekeepers check tokens."},
            {"uri": "story/session", "content": "Lasts a day.", "properties": {"days": 1}},
        ],
        relations=[
            {
                "source": "story/login",
                "relation": "depends_on",
                "target": "story/session",
                "weight": 0.25,
            },
            {
                "source": "story/login",
                "relation": "implemented_in",
                "target": "file://shop/src/login.py",
                "weight": 0,
            },
        ],
    )
    assert made.data["created"] == 4
    assert "warnings" not in made.data

    found = session.ok("search_knowledge", query="gatekeepers")
    assert found.data["hits"][0]["uri"] == "concept://shop/story/login"
    assert "Gatekeepers check tokens." in found.text
    assert "words" in found.data["hits"][0]["why"]
    whole = session.ok("search_knowledge", query="gatekeepers", limit=1, context_tokens=2000)
    assert whole.data["nodes"][0]["uri"] == "concept://shop/story/login"
    assert whole.data["nodes"][0]["score"] == found.data["hits"][0]["score"]
    assert "file://shop/src/login.py" not in [each["uri"] for each in whole.data["nodes"]]
    assert {"uri": "concept://shop/story/session", "cost": 0.25} in whole.data["nodes"]
    assert "fits by" in whole.text
    for filters, count in (
        ({"path": "concept://shop/story"}, 1),
        ({"path": "story"}, 1),
        ({"path": "concept://shop/other"}, 0),
        ({"actor": "nobody"}, 0),
        ({"until": "2001-01-01"}, 0),
        ({"since": "2001-01-01", "near": "story/session"}, 1),
        ({"metadata": {"source": "nowhere"}}, 0),
    ):
        narrowed = session.ok("search_knowledge", query="gatekeepers", mode="keyword", **filters)
        assert len(narrowed.data["hits"]) == count, filters
    assert "passes the filters" in narrowed.text
    none = session.ok("search_knowledge", query="gatekeepers", type="Person", context_tokens=2000)
    assert none.data["nodes"] == []
    assert "Nothing of type Person fits" in none.text
    for wrong in ({"type": "Story"}, {"element": "relation"}, {"cursor": "hits:5+0"}):
        assert session.call(
            "search_knowledge", query="gatekeepers", context_tokens=2000, **wrong
        ).failed, wrong

    read = session.ok("get_nodes", uris=["story/login"])
    assert read.text.splitlines()[0] == "concept://shop/story/login — Login"
    assert "→ depends_on concept://shop/story/session (0.25)" in read.text
    assert "→ implemented_in file://shop/src/login.py (0)" in read.text

    near = session.ok("traverse_graph", start="story/login")
    assert near.data["nodes"] == [
        {"uri": "concept://shop/story/login", "cost": 0.0},
        {"uri": "file://shop/src/login.py", "cost": 0.0},
        {"uri": "concept://shop/story/session", "cost": 0.25},
    ]
    assert "reached over depends_on" in near.text


def test_a_vague_question_about_a_type_names_its_other_nodes(session: Session) -> None:
    notes = [
        {"uri": f"risks/{name}", "type": "Risk", "content": f"The {name} may fail."}
        for name in ("pump", "valve", "crane")
    ]
    session.ok("remember_knowledge", concepts=notes)
    some = session.ok("search_knowledge", query="zzyzx", type="Risk")
    assert some.data["hits"] == []
    for name in ("pump", "valve", "crane"):
        assert f"concept://shop/risks/{name}" in some.text
    one = session.ok("search_knowledge", query="pump", type="Risk", mode="keyword")
    others = one.text.partition("Others of this type")[2]
    assert "risks/valve" in others
    assert "risks/pump" not in others
    assert "Others" not in session.ok("search_knowledge", query="pump", type="Risk", limit=1).text


def test_remembering_again_changes_nothing_and_says_so(session: Session) -> None:
    concept = {"uri": "again", "content": "Once."}
    assert session.ok("remember_knowledge", concepts=[concept]).data["created"] == 1
    again = session.ok("remember_knowledge", concepts=[concept])
    assert (again.data["created"], again.data["changed"]) == (0, 0)
    assert "unchanged" in again.text


def test_what_cannot_be_written_leaves_nothing_of_the_call_behind(session: Session) -> None:
    error = session.call(
        "remember_knowledge",
        concepts=[{"uri": "half/one", "content": "x"}],
        relations=[{"source": "half/one", "relation": "is not a name", "target": "half/two"}],
    ).error
    assert error["code"] == "KIP_1002"
    assert session.call("get_nodes", uris=["half/one"]).error["code"] == "KIP_3002"


def test_a_link_to_a_concept_nobody_has_written_is_kept_reported_and_heals(
    session: Session,
) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "broken/a", "content": "x"}])
    link = {"source": "broken/a", "relation": "depends_on", "target": "broken/later"}
    made = session.ok("remember_knowledge", relations=[link])
    assert made.data["created"] == 1
    assert "concept://shop/broken/later" in made.data["warnings"][0]
    listed = session.ok("describe_graph", topic="broken_links")
    assert "concept://shop/broken/later" in listed.data["missing"]
    assert "[missing: not written yet]" in session.ok("get_nodes", uris=["broken/a"]).text
    session.ok("remember_knowledge", concepts=[{"uri": "broken/later", "content": "Here I am."}])
    healed = session.ok("describe_graph", topic="broken_links")
    assert "concept://shop/broken/later" not in healed.data["missing"]


def test_a_node_is_updated_appended_to_and_moved(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "move/me", "content": "One."}])
    link = {"source": "move/friend", "relation": "knows", "target": "move/me"}
    session.ok("remember_knowledge", relations=[link])
    told = session.ok(
        "update_node", uri="move/me", append="Two.", properties={"importance": "high"}
    )
    assert (told.data["changed"], told.data["version"]) == (True, 2)
    text = session.ok("get_nodes", uris=["move/me"]).text
    assert "One.\nTwo." in text
    assert "importance: high" in text
    moved = session.ok("update_node", uri="move/me", drop=["importance"], new_uri="move/there")
    assert moved.data["uri"] == "concept://shop/move/there"
    again = session.ok("update_node", uri="move/me", new_uri="move/there")
    assert again.data["changed"] is False
    assert "nothing changed" in again.text
    text = session.ok("get_nodes", uris=["move/there"]).text
    assert "← knows concept://shop/move/friend" in text
    assert "importance" not in text


def test_an_update_of_another_version_than_the_expected_one_is_refused(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "race", "content": "One."}])
    session.ok("update_node", uri="race", content="Two.", expect_version=1)
    error = session.call("update_node", uri="race", content="Three.", expect_version=1).error
    assert error["code"] == "KIP_3005"


def test_relations_are_made_weighed_and_removed(session: Session) -> None:
    ends = {"source": "link/a", "relation": "touches", "target": "link/b"}
    session.ok("remember_knowledge", concepts=[{"uri": "link/a"}, {"uri": "link/b"}])
    assert session.ok("remember_knowledge", relations=[ends]).data["created"] == 1
    assert session.ok("remember_knowledge", relations=[ends]).data["changed"] == 0
    weighed = session.ok("remember_knowledge", relations=[ends | {"weight": 0.5}])
    assert weighed.data["changed"] == 1
    assert "(0.5)" in session.ok("get_nodes", uris=["link/a"]).text
    label = "concept://shop/link/a —touches→ concept://shop/link/b"
    assert session.ok("forget_nodes", relations=[ends]).data == {"removed": [label]}
    again = session.ok("forget_nodes", relations=[ends])
    assert (again.text, again.data) == (f"{label}: there was no such relation.", {"removed": []})


def test_nodes_are_forgotten_and_those_that_are_not_there_are_named(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "gone/a"}, {"uri": "gone/b"}])
    told = session.ok(
        "forget_nodes", action="remove", uris=["gone/a", "gone/never"], reason="a test"
    )
    assert told.data["removed"] == ["concept://shop/gone/a"]
    assert [each["uri"] for each in told.data["failed"]] == ["gone/never"]
    assert session.call("get_nodes", uris=["gone/a"]).error["code"] == "KIP_3002"
    assert (
        session.call("forget_nodes", action="remove", uris=["gone/never"]).error["code"]
        == "KIP_3002"
    )


def test_forgetting_may_be_repeated_and_says_what_went(session: Session) -> None:
    session.ok(
        "remember_knowledge",
        concepts=[{"uri": "again/a", "type": "Idea"}, {"uri": "again/b"}],
        relations=[
            {"source": "again/a", "relation": "near", "target": "again/unwritten"},
            {"source": "again/b", "relation": "near", "target": "again/a"},
        ],
    )
    unwritten = session.ok("forget_nodes", action="remove", uris=["again/unwritten"])
    assert unwritten.text == "concept://shop/again/unwritten: 1 relation removed."
    find = 'FIND(?l.id) WHERE { ?l ({name: "concept://shop/again/b"}, "near", ?a) }'
    (link,) = json.loads(session.ok("execute_kip_readonly", command=find).text)["result"]
    assert session.ok("forget_nodes", action="remove", uris=[link]).text.endswith(
        ": 1 relation removed."
    )
    for uri in ("again/a", "again/b"):
        assert (
            f"{uri} removed, with" in session.ok("forget_nodes", action="remove", uris=[uri]).text
        )
        again = session.ok("forget_nodes", action="remove", uris=[uri])
        assert "was removed before; nothing changed." in again.text
        assert "relation" not in again.text


def test_nodes_are_forgotten_in_one_transaction(db: Path) -> None:
    with connected(db) as session:
        concepts = [{"uri": f"gone/{n}"} for n in range(20)]
        session.ok("remember_knowledge", concepts=concepts, message="All that is known")
        uris = [f"gone/{n}" for n in range(20)]
        session.ok("forget_nodes", action="remove", uris=[*uris, "gone/never"], reason="too many")
        assert session.call(
            "forget_nodes", action="remove", uris=["gone/never", "other/never"]
        ).failed
    with mycel.open(db, create=False) as graph:
        newest, before = graph.history.log(limit=2)
        assert (newest.message, before.message) == ("remove 20 Concept", "All that is known")
        assert newest.changes == 20
        assert graph.verify().ok


def test_several_nodes_are_read_at_once_and_those_missing_are_named(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "many/a"}, {"uri": "many/b"}])
    told = session.ok("get_nodes", uris=["many/a", "many/c", "many/b"])
    assert [node["uri"] for node in told.data["nodes"]] == [
        "concept://shop/many/a",
        "concept://shop/many/b",
    ]
    assert told.data["failed"] == [{"uri": "many/c", "code": "KIP_3002", "name": "NotFound"}]
    assert "Did you mean" in told.text


def test_details_are_given_when_asked_for(session: Session) -> None:
    session.ok(
        "remember_knowledge",
        concepts=[
            {
                "uri": "details",
                "content": "x",
                "metadata": {"source": "a talk", "reviewer": "Omar", "confidence": 0.4},
            }
        ],
    )
    concise = session.ok("get_nodes", uris=["details"])
    detailed = session.ok("get_nodes", uris=["details"], detail="detailed")
    assert "Omar" not in concise.text
    assert "Omar" in detailed.text
    assert detailed.data["nodes"][0]["metadata"]["source"] == "a talk"
    for told in (concise, detailed):
        assert "confidence 0.4" in told.text
        assert "source: a talk" in told.text
        assert told.data["nodes"][0]["caveats"] == ["confidence 0.4", "source: a talk"]
    found = session.ok("search_knowledge", query="details")
    assert "[confidence 0.4; source: a talk]" in found.text


def test_a_file_is_read_with_a_tool_whether_the_graph_knows_it_or_not(session: Session) -> None:
    told = session.ok("get_nodes", uris=["file://shop/src/login.py"], read_file=True)
    assert "return 'token'" in told.text
    bare = session.ok("get_nodes", uris=["src/login.py"], read_file=True)
    assert "return 'token'" in bare.text
    picture = session.ok("get_nodes", uris=["logo.png"], read_file=True)
    assert picture.data["nodes"][0]["mime_type"] == "image/png"
    assert "no text" in picture.text


def test_the_active_context_shows_what_a_traversal_loaded(session: Session) -> None:
    session.ok(
        "remember_knowledge",
        concepts=[{"uri": "context/a"}, {"uri": "context/b"}],
        relations=[{"source": "context/a", "relation": "near", "target": "context/b"}],
    )
    session.ok("manage_context", action="clear")
    assert session.ok("manage_context").data["loaded"] == 0
    session.ok("traverse_graph", start="context/a")
    shown = session.ok("manage_context")
    assert (shown.data["loaded"], shown.data["size_max"]) == (2, 100)
    assert "concept://shop/context/b" in shown.text
    assert "reached over near" in shown.text
    session.ok("manage_context", action="remove", uris=["context/b"])
    assert session.ok("manage_context").data["loaded"] == 1
    assert session.ok("manage_context", action="add", uris=["context/b"]).data["loaded"] == 2
    assert "context_id" not in shown.data


def test_what_a_budget_left_out_of_a_traversal_is_said(session: Session) -> None:
    session.ok(
        "remember_knowledge",
        relations=[
            {"source": "budget/hub", "relation": "has", "target": f"budget/{at}", "weight": 0.5}
            for at in range(5)
        ],
        concepts=[{"uri": "budget/hub"}],
    )
    told = session.ok("traverse_graph", start="budget/hub", max_nodes=3)
    assert len(told.data["nodes"]) == 3
    assert told.data["cut_off"] == [{"budget": "nodes", "limit": 3, "remaining": 3}]
    assert "budget of 3 nodes" in told.text


def test_required_properties_are_named_before_and_after_they_are_missing(session: Session) -> None:
    insight = {"uri": "lessons/tea", "type": "Insight", "content": "Tea first."}
    told = session.ok("remember_knowledge", concepts=[insight])
    assert 'lacks the required attributes "description", "insight_class"' in told.text
    assert "update_node adds properties" in told.text
    listed = session.ask("list_tools").tools
    remember = next(tool for tool in listed if tool.name == "remember_knowledge")
    fields = remember.input_schema["properties"]["concepts"]["items"]["properties"]
    types = session.ok("describe_graph", topic="types").text
    core = {"Event", "Insight", "Person", "Preference"}
    for name in core:
        assert f"{name} (requires " in types
        assert name in fields["type"]["description"]
    asked = {"description": "Tea comes first.", "insight_class": "method"}
    told = session.ok("update_node", uri="lessons/tea", properties=asked)
    assert "lacks" not in told.text


def test_a_note_that_mentions_something_references_it(session: Session) -> None:
    note = {"uri": "mentioning/note", "type": "Note", "content": "About tea."}
    thing = {"uri": "mentioning/tea"}
    link = {"source": note["uri"], "relation": "mentions", "target": thing["uri"]}
    told = session.ok("remember_knowledge", concepts=[note, thing], relations=[link])
    assert "—references→" in told.text
    assert "mentions leads from Event or Experience alone" in told.text
    assert "removed" in session.ok("forget_nodes", relations=[link]).text
    refused = session.call("remember_knowledge", relations=[link | {"relation": "learned"}])
    assert "related_to and references join any two nodes" in refused.text


@cases(
    ("arguments", "words"),
    [
        ({}, "Workspace shop"),
        ({}, "Insight (requires description, insight_class)"),
        ({"detail": "detailed"}, "domain_map"),
        ({"topic": "types"}, "Person"),
        ({"topic": "relation_types"}, "belongs_to_domain"),
        ({"topic": "type", "name": "Person"}, "required: id string, person_class string"),
        ({"topic": "type", "name": "Person", "detail": "detailed"}, "instance_schema"),
        ({"topic": "types"}, "Insight (requires description, insight_class)"),
        ({"topic": "relation_type", "name": "belongs_to_domain"}, "belongs_to_domain"),
        ({"topic": "kip"}, "FIND("),
        ({"topic": "broken_links"}, "lead"),
    ],
)
def test_the_graph_describes_itself(
    session: Session, arguments: dict[str, Any], words: str
) -> None:
    link = {"source": "describe/a", "relation": "leads_to", "target": "describe/b"}
    session.ok("remember_knowledge", relations=[link])
    assert words in session.ok("describe_graph", **arguments).text


def test_answers_of_kip_come_as_rows_when_asked(session: Session) -> None:
    find = 'FIND(?d.name, ?d.type) WHERE { ?d {type: "Domain"} } ORDER BY ?d.name LIMIT 2'
    count = 'FIND(COUNT(?d)) WHERE { ?d {type: "Domain"} }'
    for tool in ("execute_kip", "execute_kip_readonly"):
        told = json.loads(session.ok(tool, command=find, rows=True).text)
        assert told["columns"] == ["?d.name", "?d.type"]
        assert told["result"] == [["Archived", "Domain"], ["CoreSchema", "Domain"]]
        assert "next_cursor" in told
        one, other = json.loads(session.ok(tool, commands=[find, count], rows=True).text)["result"]
        assert one["result"][0] == ["Archived", "Domain"]
        assert (other["columns"], len(other["result"])) == (["COUNT(?d)"], 1)
        columns = json.loads(session.ok(tool, command=find, rows=False).text)
        assert columns["result"][0] == ["Archived", "CoreSchema"]


def test_rows_that_are_too_many_are_cut_as_rows(session: Session) -> None:
    find = "FIND(?a, ?b) WHERE { ?a {type: :t} ?b {type: :t} }"
    parameters = {"t": "$PropositionType"}
    told = json.loads(
        session.ok("execute_kip_readonly", command=find, parameters=parameters, rows=True).text
    )
    assert all(len(row) == 2 for row in told["result"])
    assert "too large" in told["warnings"][0]
    assert told["columns"] == ["?a", "?b"]


def test_a_bootstrap_reads_the_workspace_and_tells_how_far_it_is(
    session: Session, project: Path
) -> None:
    seen: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, _words: str | None) -> None:
        seen.append((done, total))

    result = session.ask("call_tool", "bootstrap_workspace", {}, progress_callback=progress)
    assert not result.is_error, result.content
    assert result.structured_content["files"] >= 2
    assert seen
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert {total for _, total in seen} == {4.0}
    assert "→ defines" in session.ok("get_nodes", uris=["file://shop/src/cart.py"]).text
    again = session.ok("bootstrap_workspace", path="src")
    assert again.data["unchanged"] == 2
    assert "2 unchanged" in again.text


def test_a_name_brings_its_definition_before_members_tests_and_what_every_graph_has(
    session: Session,
) -> None:
    symbols = {
        "tests/test_person.py/PersonTests.test_person": "test_person",
        "tests/models.py/Person": "Person",
        "src/forms.py/Form.person": "person",
        "src/people/base.py/Person": "Person",
        "src/people/base.py/persons": "persons",
    }
    concepts = [
        {"uri": uri, "name": name, "type": "Symbol", "content": "A person of the system."}
        for uri, name in symbols.items()
    ]
    session.ok("remember_knowledge", concepts=concepts)
    for query in ("Person", "people.Person", "src.Person"):
        hits = session.ok("search_knowledge", query=query, limit=50).data["hits"]
        assert hits[0]["uri"] == "concept://shop/src/people/base.py/Person", query
        assert not [each for each in hits if each["uri"].startswith("kip:")]


@pytest.mark.parametrize("detail", ["concise", "detailed"])
def test_what_a_bootstrap_notes_for_itself_is_shown_by_no_tool(
    session: Session, detail: str
) -> None:
    session.ok("bootstrap_workspace")
    file, symbol = "file://shop/src/cart.py", "concept://shop/src/cart.py/total"
    for tool, arguments in (
        ("get_nodes", {"uris": [file, symbol]}),
        ("search_knowledge", {"query": "cart total", "element": "any"}),
        ("traverse_graph", {"start": file}),
        ("describe_graph", {"topic": "type", "name": "Symbol"}),
    ):
        told = session.ok(tool, detail=detail, **arguments)
        for word in ("mtime_ns", '"wrote"', "bootstrap:", '"bootstrap":', '"key":"bootstrap"'):
            assert word not in told.text, tool
            assert word not in json.dumps(told.data), tool
    for uri in (file, symbol):
        (content,) = session.ask("read_resource", uri).contents
        assert "bootstrap" not in content.text


def test_kip_is_answered_with_its_envelope_as_text_and_as_data(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "kip/a", "content": "x"}])
    told = session.ok(
        "execute_kip_readonly",
        command="FIND(?c.attributes.content) WHERE { ?c {name: :uri} }",
        parameters={"uri": "concept://shop/kip/a"},
    )
    assert told.data == {"result": ["x"]}
    assert told.text == '{"result":["x"]}'
    batch = session.ok(
        "execute_kip",
        commands=["DESCRIBE CONCEPT TYPES", {"command": "FIND(", "parameters": {}}],
    )
    assert "result" in batch.data["result"][0]
    assert batch.data["result"][1]["error"]["code"] == "KIP_1001"


def test_kip_that_writes_is_written_and_a_dry_run_is_not(session: Session) -> None:
    command = (
        'UPSERT { CONCEPT { {type: "Concept", name: :uri} SET ATTRIBUTES { content: "by KIP" } } }'
    )
    session.ok("remember_knowledge", concepts=[{"uri": "kip/first"}])
    how: dict[str, Any] = {"command": command, "parameters": {"uri": "concept://shop/kip/new"}}
    session.ok("execute_kip", dry_run=True, **how)
    assert session.call("get_nodes", uris=["kip/new"]).failed
    session.ok("execute_kip", **how)
    assert "by KIP" in session.ok("get_nodes", uris=["kip/new"]).text


def test_kip_that_fails_is_a_tool_error_with_its_envelope(session: Session) -> None:
    for tool in ("execute_kip", "execute_kip_readonly"):
        told = session.call(tool, command="FIND(?x) WHERE { ?x {type: 'Nothing'} }")
        assert told.failed
        assert told.data["error"]["code"].startswith("KIP_")
    refused = session.call(
        "execute_kip_readonly", command="DELETE CONCEPT ?c DETACH WHERE { ?c {} }"
    )
    assert refused.data["error"]["code"] in ("KIP_3004", "KIP_1001")


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(session: Session) -> None:
    with pytest.raises(MCPError, match="Did you mean 'get_nodes'"):
        session.call("get_node")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_knowledge", {"query": "usual"}),
        ("get_nodes", {"uris": ["usual/1"]}),
        ("traverse_graph", {"start": "usual/1"}),
        ("manage_context", {}),
        ("describe_graph", {}),
    ],
)
def test_what_a_schema_calls_the_default_is_what_happens_without(
    session: Session, tool: str, arguments: dict[str, Any]
) -> None:
    near = [
        {"source": f"usual/{n}", "relation": "near", "target": f"usual/{n + 1}", "weight": 0.1}
        for n in range(30)
    ]
    concepts = [{"uri": f"usual/{n}", "content": "usual"} for n in range(31)]
    session.ok("remember_knowledge", concepts=concepts, relations=near)
    (known,) = (each for each in TOOLS if each.name == tool)
    usual = {key: each["default"] for key, each in known.properties.items() if "default" in each}
    # Of a list of words, the first is the default.
    usual |= {key: each["enum"][0] for key, each in known.properties.items() if "enum" in each}
    assert usual
    assert session.ok(tool, **arguments, **usual) == session.ok(tool, **arguments)


# What is said to a model.


def test_a_bare_path_is_a_concept_first_and_a_file_otherwise(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "bare/idea", "content": "An idea."}])
    told = session.ok(
        "get_nodes", uris=["bare/idea", "src/cart.py", "bare/nothing"], read_file=True
    )
    assert [each["uri"] for each in told.data["nodes"]] == [
        "concept://shop/bare/idea",
        "file://shop/src/cart.py",
    ]
    assert "An idea." in told.text
    assert "def total" in told.text
    assert "no node concept://shop/bare/nothing. Nor is there a file file://shop/" in told.text
    concept = {"uri": "concept://shop/src/cart.py", "content": "Of a cart."}
    session.ok("remember_knowledge", concepts=[concept])
    told = session.ok("get_nodes", uris=["src/cart.py"], read_file=True)
    assert told.data["nodes"][0]["uri"] == "concept://shop/src/cart.py"
    assert "def total" not in told.text
    assert (
        "def total"
        in session.ok("get_nodes", uris=["file://shop/src/cart.py"], read_file=True).text
    )
    session.ok("forget_nodes", action="remove", uris=["src/cart.py"])


def test_a_subtree_without_a_root_moves_without_a_version(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "rootless/a"}, {"uri": "rootless/b"}])
    told = session.ok("update_node", uri="rootless", new_uri="rooted", subtree=True)
    assert "2 nodes below concept://shop/rootless moved" in told.text
    assert told.data == {"uri": "concept://shop/rooted", "changed": True, "moved": 2}
    told = session.ok("update_node", uri="rooted/a", new_uri="rooted/c")
    assert told.data["version"] == 3


def test_the_active_context_knows_what_was_moved_and_forgotten(project: Path, db: Path) -> None:
    with connected(db, "--root", str(project)) as session, mycel.open(db) as other:
        session.ok(
            "remember_knowledge",
            concepts=[{"uri": each} for each in "abcde"],
            relations=[{"source": "a", "relation": "near", "target": each} for each in "bcde"],
        )
        session.ok("traverse_graph", start="a")
        session.ok("update_node", uri="b", new_uri="b2")
        session.ok("forget_nodes", action="remove", uris=["c"])
        elsewhere = mycel.Knowledge(other, workspace="shop")
        elsewhere.move("d", "d2")
        elsewhere.delete("e")
        shown = session.ok("manage_context")
        assert (shown.data["loaded"], shown.data["evicted"]) == (3, 2)
        loaded, _, evicted = shown.text.partition("Evicted")
        assert all(f"concept://shop/{each} (" in loaded for each in ("a", "b2", "d2"))
        assert "concept://shop/c: deleted" in evicted
        assert "concept://shop/e: no longer in the graph" in evicted
        elsewhere.move("a", "a2")
        assert session.ok("manage_context", action="remove", uris=["a2"]).data["loaded"] == 2


@cases(
    ("tool", "arguments", "topic", "close"),
    [
        ("search_knowledge", {"query": "x", "type": "Persn"}, "types", "'Person'"),
        (
            "search_knowledge",
            {"query": "x", "element": "relation", "type": "part_off"},
            "relation_types",
            "'part_of'",
        ),
        (
            "traverse_graph",
            {"start": "names", "relation_types": ["part_of", "part_off"]},
            "relation_types",
            "'part_of'",
        ),
        (
            "get_nodes",
            {"uris": ["names", "names/2"], "relation_types": ["part_off"]},
            "relation_types",
            "'part_of'",
        ),
        ("describe_graph", {"topic": "type", "name": "Persn"}, "types", "'Person'"),
    ],
)
def test_an_unknown_type_is_answered_with_the_closest_and_the_tool_that_lists_all(
    session: Session, tool: str, arguments: dict[str, Any], topic: str, close: str
) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "names"}, {"uri": "names/2"}])
    hint = session.call(tool, **arguments).error["hint"]
    assert f"describe_graph with topic {topic} " in hint
    assert f"Did you mean {close}" in hint
    assert "mycel" not in hint
    assert "tx." not in hint


def test_hints_name_only_tools_that_there_are(session: Session, project: Path, db: Path) -> None:
    write = 'DELETE CONCEPT ?c DETACH WHERE { ?c {type: "Person"} }'
    hint = session.call("execute_kip_readonly", command=write).error["hint"]
    assert hint == "This tool only reads. Send the command with execute_kip."
    with mycel.open(db) as made:
        knowledge = mycel.Knowledge(made, workspace="shop")
        knowledge.add("a")
        knowledge.link("a", "needs", "missing")
    with connected(db, "--root", str(project), "--readonly") as reading:
        offered = {tool.name for tool in reading.ask("list_tools").tools}
        answers = [
            reading.call("execute_kip_readonly", command=write),
            reading.call("execute_kip_readonly", commands=[write, "DESCRIBE PRIMER"]),
            reading.call("get_nodes", uris=["aa"]),
            reading.call("get_nodes", uris=["aa", "bb"]),
            reading.call("manage_context", action="add", uris=["missing"]),
            reading.call("traverse_graph", start="missing"),
            reading.call("search_knowledge", query="nothing"),
            reading.call("describe_graph", topic="broken_links"),
        ]
    for told in answers:
        for tool in TOOLS:
            assert tool.name in offered or f"{tool.name} " not in f"{told.text} ", told.text
        assert "db.execute" not in told.text
        assert "dd it" not in told.text
    assert "Did you mean concept://shop/a?" in answers[2].text


def test_a_bound_is_told_with_both_its_ends(session: Session) -> None:
    error = session.call("traverse_graph", start="x", max_cost=-1).error
    assert error["hint"] == "Pass max_cost as a number from 0 to 1,000,000."


def test_one_is_told_in_the_singular(session: Session) -> None:
    session.ok(
        "remember_knowledge",
        concepts=[{"uri": "one/a"}, {"uri": "one/b"}],
        relations=[{"source": "one/a", "relation": "near", "target": "one/b"}],
    )
    told = session.ok("traverse_graph", start="one/a", max_nodes=1)
    assert "budget of 1 node is used up: 1 element is left out" in told.text
    assert "with 1 relation." in session.ok("forget_nodes", action="remove", uris=["one/b"]).text


def test_when_all_nodes_fail_each_error_is_said_once(session: Session) -> None:
    told = session.call("get_nodes", uris=["gone/1", "gone/2", "gone/3"])
    assert told.error["code"] == "KIP_3002"
    for uri in ("gone/1", "gone/2", "gone/3"):
        assert told.text.count(f"There is no node concept://shop/{uri}.") == 1
        assert f"{uri}: KIP_3002 NotFound" in told.text
    assert len(told.data["failed"]) == 3


def test_a_confidence_that_is_none_is_warned_about(session: Session) -> None:
    told = session.ok(
        "remember_knowledge", concepts=[{"uri": "sure", "metadata": {"confidence": 7}}]
    )
    assert "Warning: sure: the confidence 7 is not a number from 0 to 1, such as 0.7." in told.text
    told = session.ok("update_node", uri="sure", metadata={"confidence": 8})
    assert "confidence 8" in told.data["warnings"][0]


def test_a_node_gets_another_type_and_is_merged_into_another(session: Session) -> None:
    session.ok(
        "remember_knowledge",
        concepts=[
            {"uri": "join/old", "name": "Logins", "content": "Passkeys."},
            {"uri": "join/new", "type": "Decision", "content": "No passwords."},
        ],
        relations=[{"source": "join/old", "relation": "about", "target": "join/new/part"}],
    )
    assert session.ok("update_node", uri="join/old", type="Note").data["changed"]
    refused = session.call("update_node", uri="join/old", merge_into="join/new", name="x")
    assert "goes alone" in refused.error["message"]
    merged = session.ok("update_node", uri="join/old", merge_into="join/new")
    assert "Its URI leads there now." in merged.text
    assert "Passkeys." in session.ok("get_nodes", uris=["join/new"]).text
    shown = session.ok("get_nodes", uris=["join/old"])
    uri = shown.data["nodes"][0]["uri"]
    assert uri.endswith("/join/new")
    assert shown.text.startswith(f"join/old was merged into {uri}.\n")
    assert "→ about" in shown.text
    walked = session.ok("traverse_graph", start="join/old")
    assert walked.text.startswith("join/old was merged into ")
    assert not session.ok("update_node", uri="join/old", merge_into="join/new").data["changed"]


def test_nodes_are_read_as_of_a_moment_and_for_a_time(session: Session) -> None:
    nodes = [{"uri": f"times/{name}"} for name in ("team", "ana", "bob")]
    ends = {"source": "times/team", "relation": "headed_by"}
    early = {"valid_from": "2019-01-01", "valid_until": "2021-01-01"}
    relations = [
        ends | {"target": "times/ana", "metadata": early},
        ends | {"target": "times/bob", "metadata": {"valid_from": "2021-01-01"}},
    ]
    session.ok("remember_knowledge", concepts=nodes, relations=relations)
    text = session.ok("get_nodes", uris=["times/team"], for_time="2020-06-01").text
    assert "times/ana [valid from 2019-01-01; valid until 2021-01-01]" in text
    assert "times/bob" not in text
    text = session.ok("get_nodes", uris=["times/team"], for_time="2022-06-01").text
    assert "times/bob [valid from 2021-01-01]" in text
    assert "times/ana" not in text
    past = session.call("get_nodes", uris=["times/team"], as_of="2001-01-01")
    assert "times/bob" not in past.text
    refused = session.call("get_nodes", uris=["a.py"], read_file=True, for_time="2022-06-01")
    assert refused.error["code"] == "KIP_2002"
