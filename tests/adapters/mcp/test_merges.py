"""Merges through the SDK's own client: conflicts are told, and decided by model, user or tool."""

import json
import shutil
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

import mycel
from tests.adapters.mcp.clients import Session, connected
from tests.postgres_server import SERVER

ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
SCHEMA = 'node Plan @open { name: String @key owner: String? @merge("ask") rank: I32? }'
LOGIN = "concept://shop/login"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph whose branch draft has changed what main has changed too."""
    folder = tmp_path_factory.mktemp("made")
    fill(folder / "graph.db")
    return folder


def fill(path: Path) -> None:
    with mycel.open(path, durability="off", core_capsules=False, actor="ada") as db:
        db.schema.apply(SCHEMA)
        shop = mycel.Knowledge(db, workspace="shop")
        shop.add("login", content="With a password.\nFor a day.", properties={"rank": 1})
        db.write(lambda tx: tx.put_concept("Plan", "move", {"name": "move", "owner": "ann"}))
        db.branches.create("draft")
        shop.update("login", content="With a passkey.\nFor a day.", properties={"rank": 2})
        db.write(lambda tx: tx.update(("Plan", "move"), attributes={"owner": "bea"}))
        with db.open_branch("draft") as draft:
            there = mycel.Knowledge(draft, workspace="shop")
            there.update("login", content="With a link.\nFor a day.", properties={"rank": 3})
            there.add("logout", content="New.")
            draft.write(lambda tx: tx.update(("Plan", "move"), attributes={"owner": "cleo"}))


@pytest.fixture
def graph(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    if SERVER:  # No folder holds it.
        fill(tmp_path / "graph.db")
        return tmp_path / "graph.db"
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy" / "graph.db"


def merge(session: Session, **more: Any) -> Any:
    return session.ok("manage_history", action="merge", name="draft", **more)


def by_place(data: Any) -> dict[str, dict[str, Any]]:
    return {".".join(each["path"]): each for each in data["conflicts"]}


@ERAS
def test_a_merge_shows_the_versions_and_what_to_call_and_commits_when_all_is_decided(
    graph: Path, project: Path, mode: str
) -> None:
    with connected(graph, "--root", str(project), mode=mode) as session:
        would = merge(session, dry_run=True)
        assert would.text.startswith("Merging draft into main would leave 3 conflicts.")
        left = merge(session, message="Bring the draft in")
        found = by_place(left.data)
        assert found.keys() == {"content", "rank", "owner"}
        content = found["content"]
        assert content["label"] == LOGIN
        assert (content["base"][:15], content["ours"][:14], content["theirs"][:11]) == (
            "With a password",
            "With a passkey",
            "With a link",
        )
        for words in ("base: With a password.", "ours: With a passkey.", "theirs: With a link."):
            assert words in left.text
        assert content["reason"] in left.text
        merge_id = left.data["merge_id"]
        assert f'resolve_conflicts: merge_id: "{merge_id}"' in left.text
        assert session.call("get_nodes", uris=["logout"]).failed
        listed = session.ok("resolve_conflicts")
        assert by_place(listed.data).keys() == found.keys()
        some = [
            {"conflict": content["id"], "choice": "value", "value": "Passkey or link.\nFor a day."},
            {"conflict": found["rank"]["id"], "choice": "theirs"},
        ]
        wrong = [*some, {"conflict": "ffffffff", "choice": "ours"}]
        refused = session.call("resolve_conflicts", resolutions=wrong).error
        assert refused["hint"].startswith("resolve_conflicts without resolutions lists them")
        halfway = session.ok("resolve_conflicts", merge_id=merge_id, resolutions=some)
        assert by_place(halfway.data).keys() == {"owner"}
        last = [{"conflict": found["owner"]["id"], "choice": "ours"}]
        done = session.ok(
            "resolve_conflicts", merge_id=merge_id, resolutions=last, message="As agreed"
        )
        assert (done.data["status"], done.text[:28]) == ("merged", "Merged draft into main, in c")
        assert "Passkey or link." in session.ok("get_nodes", uris=["login"]).text
        assert "New." in session.ok("get_nodes", uris=["logout"]).text
        assert "As agreed" in session.ok("manage_history", limit=1).text
        assert "already" in merge(session).text
        assert "No merge into main is open" in session.ok("resolve_conflicts").text


def test_lines_replace_what_is_contested_in_a_text_and_the_rest_stays(
    graph: Path, project: Path
) -> None:
    with connected(graph, "--root", str(project)) as session:
        found = by_place(merge(session).data)
        decision = {"conflict": found["content"]["id"], "choice": "lines"}
        refused = session.call("resolve_conflicts", resolutions=[decision | {"value": ["a", "b"]}])
        assert "1 part of the text is contested" in refused.error["message"]
        rest = [{"conflict": found[place]["id"], "choice": "ours"} for place in ("rank", "owner")]
        decisions = [decision | {"value": "With a passkey or a link."}, *rest]
        done = session.ok("resolve_conflicts", resolutions=decisions)
        assert done.data["status"] == "merged"
        text = session.ok("get_nodes", uris=["login"]).text
        assert "With a passkey or a link.\nFor a day." in text


def test_a_node_in_conflict_says_so_wherever_it_is_read_written_or_reached(
    graph: Path, project: Path
) -> None:
    with connected(graph, "--root", str(project)) as session:
        link = {"source": "near", "relation": "about", "target": "login", "weight": 0.1}
        session.ok("remember_knowledge", concepts=[{"uri": "near"}], relations=[link])
        content = by_place(merge(session).data)["content"]
        node = session.ok("get_nodes", uris=["login", "near"])
        contested, calm = node.data["nodes"]
        assert [each["path"] for each in contested["conflicts"]] == [["content"], ["rank"]]
        assert "conflicts" not in calm
        for words in (content["id"], "theirs: With a link.", "with resolve_conflicts"):
            assert words in node.text
        mark = f"[in conflict {content['id']}"
        assert mark in session.ok("search_knowledge", query="passkey").text
        assert mark in session.ok("traverse_graph", start="near").text
        assert (
            "theirs: With a link."
            in session.ok("traverse_graph", start="near", detail="detailed").text
        )
        told = session.ok("update_node", uri="login", properties={"seen": True}).data["warnings"]
        assert content["id"] in told[0]
        told = session.ok("remember_knowledge", concepts=[{"uri": "login", "name": "Login"}])
        assert content["id"] in told.data["warnings"][0]
        assert "3 conflicts of merges" in session.ok("describe_graph").text
        find = 'FIND(?c) WHERE { ?c {type: "Concept"} FILTER(?c.name == :uri) }'
        for uri, count in ((LOGIN, 2), ("concept://shop/near", 0)):
            read = session.ok("execute_kip_readonly", command=find, parameters={"uri": uri}).data
            assert len(read.get("warnings", ())) == count, read
        lookalike = {"uri": "near", "properties": {"seen": {"_type": "ConceptNode", "id": 1}}}
        session.ok("remember_knowledge", concepts=[lookalike])
        find = 'FIND(?c.attributes.seen) WHERE { ?c {name: "concept://shop/near"} }'
        assert "warnings" not in session.ok("execute_kip_readonly", command=find).data
        session.ok("resolve_conflicts", abort=True)
        assert "conflict" not in session.ok("get_nodes", uris=["login"]).text
        assert "conflict" not in session.ok("traverse_graph", start="near").text


def test_an_open_merge_survives_the_server_and_is_given_up_with_a_word(
    graph: Path, project: Path
) -> None:
    with connected(graph, "--root", str(project)) as session:
        merge(session)
    with connected(graph, "--root", str(project)) as session:
        assert len(session.ok("resolve_conflicts").data["conflicts"]) == 3
        assert "given up" in session.ok("resolve_conflicts", abort=True).text
        assert "passkey" in session.ok("get_nodes", uris=["login"]).text
        merged = merge(session, policy="theirs")
        assert merged.data["status"] == "conflicts"  # The schema says to ask about the owner.
        assert by_place(merged.data).keys() == {"owner"}
    with connected(graph, "--readonly") as session:
        assert "resolve_conflicts" not in [each.name for each in session.ask("list_tools").tools]


class Model:
    """A model behind the client, which answers with what it is given, in turn."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, _context: Any, params: types.CreateMessageRequestParams) -> Any:
        content = params.messages[0].content
        assert isinstance(content, types.TextContent)
        self.asked.append(content.text)
        text = self.answers.pop(0)
        for line in content.text.splitlines():  # It reads the ids.
            if line.endswith(("attributes.content", "attributes.rank")):
                text = text.replace(line.rpartition(".")[2].upper(), line.split()[0])
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text=text), model="test"
        )


class Person:
    """A user behind the client."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(self, _context: Any, params: Any) -> Any:
        self.asked.append(params.message)
        if not self.answer:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=self.answer)


def decisions(*found: dict[str, Any]) -> str:
    return json.dumps({"resolutions": found})


@ERAS
def test_the_model_of_the_client_decides_where_the_user_opted_in_and_a_person_where_policy_says(
    graph: Path, project: Path, mode: str
) -> None:
    model = Model(
        "Sure! ```json\n"
        + decisions({"conflict": "CONTENT", "choice": "value", "value": "Both.\nFor a day."})
        + "\n```",
        decisions({"conflict": "RANK", "choice": "theirs"}),
    )
    person = Person(choice="value", value="dora")
    offers = {"sampling_callback": model, "elicitation_callback": person}
    with connected(graph, "--root", str(project), "--sampling", mode=mode, **offers) as session:
        done = merge(session)
        assert done.data["status"] == "merged", done.text
        assert "Both." in session.ok("get_nodes", uris=["login"]).text
        found = 'FIND(?p.attributes.owner) WHERE { ?p {type: "Plan"} }'
        assert '"dora"' in session.ok("execute_kip_readonly", command=found).text
    assert len(model.asked) == 2
    assert "theirs: With a link." in model.asked[0]
    assert "owner" not in "".join(model.asked)  # The policy wants a person.
    assert [each.count("cleo") for each in person.asked] == [1]


def test_a_person_is_asked_after_a_model_that_decides_nothing(graph: Path, project: Path) -> None:
    model, person = Model(decisions()), Person(choice="theirs")
    offers = {"sampling_callback": model, "elicitation_callback": person}
    with connected(graph, "--root", str(project), "--sampling", **offers) as session:
        left = merge(session)
    assert by_place(left.data).keys() == {"content", "rank"}
    assert (model.answers, len(person.asked)) == ([], 1)


@ERAS
def test_nobody_is_asked_who_did_not_opt_in_and_useless_answers_leave_the_conflicts(
    graph: Path, project: Path, mode: str
) -> None:
    model, person = Model(), Person()
    offers = {"sampling_callback": model, "elicitation_callback": person}
    with connected(graph, "--root", str(project), mode=mode, **offers) as session:
        left = merge(session)
        assert len(left.data["conflicts"]) == 3
        assert len(person.asked) == 1  # And declined.
        session.ok("resolve_conflicts", abort=True)
    assert model.asked == []
    owner = by_place(left.data)["owner"]["id"]
    useless = (
        decisions({"conflict": owner, "choice": "theirs"}),  # That is for a person.
        "I would take ours.",
        decisions({"conflict": "CONTENT", "choice": "delete everything"}),
        decisions({"conflict": "ffffffff", "choice": "ours"}),
        "[" * 5_000,
    )
    bad = Model(*useless)
    more = {"sampling_callback": bad}
    with connected(graph, "--root", str(project), "--sampling", mode=mode, **more) as session:
        for answer in useless:
            left = merge(session)
            assert (left.data["status"], len(left.data["conflicts"])) == ("conflicts", 3), answer[
                :9
            ]
            session.ok("resolve_conflicts", abort=True)
    assert bad.answers == []
