"""A model works through the tasks of upkeep with one tool, through the SDK's own client."""

import json
import re
from pathlib import Path

import mycel
from tests.adapters.mcp.clients import connected
from tests.unit.upkeep.test_cycle import Clock


def test_tasks_are_shown_and_decided_one_after_the_other(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db") as db, db.transaction() as tx:
        tx.define_type("Org")
        for name in ("Acme", "ACME!", "Initech", "INITECH"):
            tx.put_concept("Org", name)
    with connected(tmp_path / "graph.db") as session:
        assert session.ok("tend_memory").text == "No task waits."
        tried = session.ok("tend_memory", cycle=True, dry_run=True)
        assert "Cycle, only shown: duplicates: 2 asked" in tried.text
        assert "- ask about Org 'ACME!' and Org 'Acme'" in tried.text
        assert "next" not in tried.data
        first = session.ok("tend_memory", cycle=True)
        listed = session.ok("describe_graph", topic="upkeep")
        assert listed.data["duplicate"] == 2
        assert f"- {first.data['next']['task']}: Org 'Acme' and Org 'ACME!'" in listed.text
        assert "Cycle: duplicates: 2 asked" in first.text
        assert first.data["cycle"]["steps"][2]["asked"] == 2
        assert "merge_duplicates" in first.text
        assert "2 waiting" in first.text
        task = first.data["next"]["task"]
        wrong = session.call("tend_memory", task=task, decision="merge")
        assert "keep" in wrong.text
        assert session.call("tend_memory", decision="merge").failed
        assert session.call("tend_memory", task=task, decision="drop", dry_run=True).failed
        assert session.ok("tend_memory", task=task).data["next"]["task"] == task
        second = session.ok(
            "tend_memory", task=task, decision="merge", keep="A", reason="one address"
        )
        assert "one address" in second.data["decided"]["result"]
        commit = second.data["decided"]["commit"]
        assert f"to {commit} takes it back" in second.text
        undone = session.ok("manage_history", action="revert", to=commit, dry_run=True)
        assert "ACME!" in undone.text
        assert second.data["next"]["task"] != task
        other = second.data["next"]["task"]
        later = session.ok("tend_memory", task=other, decision="later", reason="ask Ana")
        assert "No task waits now. 1 task waits until 20" in later.text
        assert later.data["postponed"]["tasks"] == 1
        assert "ask Ana" in session.ok("tend_memory", task=other).text
        last = session.ok("tend_memory", task=other, decision="keep both")
        assert last.text.endswith("No task waits.")
        assert "next" not in last.data
    with mycel.open(tmp_path / "graph.db") as db:
        assert db.execute('FIND(COUNT(?o)) WHERE { ?o {type: "Org"} }').value == 3


def test_the_examples_of_the_topic_work_and_the_health_is_below_them(tmp_path: Path) -> None:
    with connected(tmp_path / "graph.db") as session:
        text = session.ok("describe_graph", topic="upkeep").text
        lines = text.splitlines()
        metadata = [
            json.loads(found) for found in re.findall(r'\{"\w+": (?:"[^"]*"|true|\[.*\])\}', text)
        ]
        assert [key for (key,) in metadata] == [
            *("expires_at", "valid_until", "former_periods", "pinned", "hold"),
            *("retention", "retention"),
        ]
        for at, values in enumerate(metadata):
            concept = {"uri": f"n{at}", "content": "A fact.", "metadata": values}
            assert "Warning" not in session.ok("remember_knowledge", concepts=[concept]).text
        for line in lines:
            if line.strip().startswith(("SET RETENTION", "UPSERT")):
                session.ok("execute_kip", command=line.strip(), dry_run=True)
        session.ok("tend_memory", cycle=True, dry_run=True)
        after = session.ok("describe_graph", topic="upkeep", detail="detailed")
        assert after.data["orphaned"] == len(metadata)
        assert "- Concept 'concept://" in after.text


def test_a_read_only_server_does_not_offer_it(tmp_path: Path) -> None:
    mycel.open(tmp_path / "graph.db").close()
    with connected(tmp_path / "graph.db", "--readonly") as session:
        assert "tend_memory" not in {tool.name for tool in session.ask("list_tools").tools}


def test_nodes_are_archived_restored_superseded_and_asked_about_at_a_time(tmp_path: Path) -> None:
    with connected(tmp_path / "graph.db") as session:
        session.ok(
            "remember_knowledge",
            concepts=[
                {"uri": "old", "content": "The tide turns at six."},
                {"uri": "new", "content": "The tide turns at seven."},
                {"uri": "gone", "content": "Tides.", "metadata": {"valid_until": "2020-01-01"}},
            ],
            relations=[{"source": "old", "relation": "about", "target": "gone"}],
        )

        def uris(tool: str, **arguments: object) -> set[str]:
            data = session.ok(tool, **arguments).data
            return {each["uri"].rpartition("/")[2] for each in data.get("hits", data.get("nodes"))}

        assert uris("search_knowledge", query="tide turns") == {"old", "new", "gone"}
        assert uris("search_knowledge", query="tides", for_time="2024-01-01") == {"old", "new"}
        assert uris("traverse_graph", start="old") == {"old", "gone"}
        assert uris("traverse_graph", start="old", for_time="2024-01-01") == {"old"}
        archived = session.ok("forget_nodes", uris=["new"], action="archive", reason="wrong")
        assert len(archived.data["archived"]) == 1
        assert "new" not in uris("search_knowledge", query="tide turns")
        assert "new" in uris("search_knowledge", query="tide turns", include_archived=True)
        ends = [{"source": "old", "relation": "about", "target": "gone"}]
        assert session.call("forget_nodes", action="archive", relations=ends).failed
        session.ok("forget_nodes", uris=["new"], action="restore")
        answer = session.ok("update_node", uri="old", superseded_by="new")
        assert "which holds until 20" in answer.text
        assert "pass metadata with valid_until" in answer.text
        dated = {"uri": "old", "superseded_by": "new", "metadata": {"valid_until": "2020-02-01"}}
        answer = session.ok("update_node", **dated)
        assert "which holds until 2020-02-01 and" in answer.text
        dated["metadata"]["owner"] = "ana"
        assert session.call("update_node", **dated).failed
        first, *_ = session.ok("search_knowledge", query="tide turns").data["hits"]
        assert first["uri"].endswith("/new")
        assert session.call("update_node", uri="old", superseded_by="new", name="x").failed


def test_what_a_model_writes_is_tended_like_all_else(tmp_path: Path) -> None:
    url = {"url": "https://acme.example"}
    with connected(tmp_path / "graph.db") as session:
        session.ok(
            "remember_knowledge",
            concepts=[
                {
                    "uri": "customers/acme",
                    "type": "Org",
                    "name": "Acme",
                    "properties": url,
                },
                {
                    "uri": "leads/acme-1",
                    "type": "Org",
                    "name": "ACME!",
                    "properties": url,
                },
                {"uri": "leads/initech", "type": "Org", "properties": {"note": "calls on Mondays"}},
                {"uri": "customers/initech", "type": "Org"},
                {"uri": "auth/login", "content": "The tokens of a session last for a day."},
                {"uri": "page/login", "content": "A form with two fields and a button."},
            ],
        )
        report = session.ok("tend_memory", cycle=True)
        assert report.data["cycle"]["steps"][2]["done"] == 1
        assert "leads/initech" in report.text
        assert "1 waiting" in report.text
        kept = session.ok("get_nodes", uris=["leads/acme-1"])
        assert "was merged into concept://" in kept.text
        assert "ACME!" in kept.text
        session.ok("forget_nodes", action="archive", uris=["page/login"])
        overview = session.ok("describe_graph").text
        assert "1 task of upkeep to decide" in overview
        assert "(1 archived)" in overview
        assert "SleepTask" not in session.ok("search_knowledge", query="initech").text
        tasks = session.ok("search_knowledge", query="initech", type="SleepTask")
        assert "merge_duplicates" in tasks.text


def test_events_of_a_model_are_asked_about_and_turns_of_conversations_are_not(
    tmp_path: Path,
) -> None:
    clock = Clock()
    with mycel.open(tmp_path / "graph.db", clock_us=clock) as db:
        knowledge = mycel.Knowledge(db, workspace="w")
        for name, event_class in (("call", "Conversation"), ("call/1", "Turn")):
            properties = {"event_class": event_class, "content_summary": "Ana wants tea."}
            knowledge.add(f"concept://w/{name}", type="Event", properties=properties)
        clock.turn(2)
        db.sleep()
        task = db.tasks.next()
        assert task is not None
        assert task.action == "consolidate_to_semantic"
        assert [element.name for element in task.elements] == ["concept://w/call"]


def test_forgetting_archives_unless_it_is_told_to_remove_and_spares_what_is_kept(
    tmp_path: Path,
) -> None:
    marks: dict[str, dict[str, object]] = {
        "plain": {},
        "pinned": {"pinned": True},
        "held": {"hold": "audit of May"},
        "never": {"retention": "never"},
    }
    with connected(tmp_path / "graph.db") as session:
        concepts = [
            {"uri": name, "content": "A fact.", "metadata": metadata}
            for name, metadata in marks.items()
        ]
        session.ok("remember_knowledge", concepts=concepts)
        assert len(session.ok("forget_nodes", uris=["plain"]).data["archived"]) == 1
        assert "archived" in session.ok("get_nodes", uris=["plain"]).text
        for name, mark in (("pinned", "is pinned, so"), ("held", "is held: audit of May")):
            for action in ("archive", "remove"):
                refused = session.call("forget_nodes", uris=["never", name], action=action)
                assert refused.failed
                assert mark in refused.text
        assert "retention: never" in session.ok("get_nodes", uris=["never"]).text
        told = session.ok("forget_nodes", uris=["never"], action="remove")
        assert "kept for good" in told.text
        session.ok("update_node", uri="pinned", metadata={"pinned": False})
        session.ok("forget_nodes", uris=["pinned"], action="remove")


def test_resources_and_nodes_show_the_same_marks_and_terms(tmp_path: Path) -> None:
    with connected(tmp_path / "graph.db") as session:
        marks: dict[str, dict[str, object]] = {
            "expired": {"expires_at": "2020-01-05"},
            "ended": {"valid_until": "2020-01-05", "valid_from": "2019-01-05"},
            "hidden": {},
            "old": {},
            "terms": {
                "expires_at": "2999-01-05",
                "valid_until": "2998-01-05",
                "retention": "archive 90d after updated",
                "pinned": True,
                "hold": "an audit",
            },
        }
        session.ok(
            "remember_knowledge",
            concepts=[
                {"uri": name, "content": "A fact.", "metadata": metadata}
                for name, metadata in marks.items()
            ],
        )
        session.ok("forget_nodes", uris=["hidden"], reason="wrong")
        session.ok("update_node", uri="old", superseded_by="terms")
        for name, told in (
            ("expired", ["expired 2020-01-05"]),
            ("ended", ["no longer valid since 2020-01-05", "valid from 2019-01-05"]),
            ("hidden", ["archived 20"]),
            ("old", ["superseded by"]),
            (
                "terms",
                [
                    "expires 2999-01-05; valid until 2998-01-05; retention: archive 90d",
                ],
            ),
        ):
            got = session.ok("get_nodes", uris=[name])
            uri = got.data["nodes"][0]["uri"]
            page = session.ask("read_resource", uri).contents[0].text
            for words in told:
                assert words in got.text, name
                assert f"> {words}" in page, name
        assert "pinned; held: an audit" in session.ok("get_nodes", uris=["terms"]).text


def test_who_restores_what_had_expired_is_told_that_it_does_not_expire_again(
    tmp_path: Path,
) -> None:
    with connected(tmp_path / "graph.db") as session:
        concept = {"uri": "old", "content": "x", "metadata": {"expires_at": "2020-01-05"}}
        session.ok("remember_knowledge", concepts=[concept])
        session.ok("tend_memory", cycle=True)
        told = session.ok("forget_nodes", uris=["old"], action="restore").text
        assert "its expires_at 2020-01-05 is removed" in told
        session.ok("tend_memory", cycle=True)
        command = 'ARCHIVE ?n WHERE { ?n {type: "Concept"} }'
        session.ok("execute_kip", command=command)
        again = 'RESTORE ?n WHERE { ?n {type: "Concept"} }'
        assert "is removed" not in session.ok("execute_kip", command=again).text


def test_a_relation_says_from_and_until_when_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with mycel.open(path) as db:
        shop = mycel.Knowledge(db, workspace="shop")
        for name in ("ada", "acme"):
            shop.add(name, content=name)
        for relation, values in (
            ("related_to", {"valid_from": "2998-01-01"}),
            ("references", {"valid_from": "2020-01-01", "valid_until": "2999-05-01"}),
            ("part_of", {"valid_until": "2020-05-01", "pinned": True}),
        ):
            shop.link("ada", relation, "acme", metadata=values)
    with connected(path) as session:
        text = session.ok("get_nodes", uris=["concept://shop/ada"]).text
    for line in (
        "related_to concept://shop/acme [not valid before 2998-01-01]",
        "references concept://shop/acme [valid from 2020-01-01; valid until 2999-05-01]",
        "part_of concept://shop/acme [no longer valid since 2020-05-01] [pinned]",
    ):
        assert line in text


def test_several_tasks_are_decided_in_one_call_and_each_by_itself(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db") as db, db.transaction() as tx:
        tx.define_type("Org")
        for at in range(4):
            for name in (f"Acme {at}", f"ACME-{at}"):
                tx.put_concept("Org", name)
    with connected(tmp_path / "graph.db") as session:
        session.ok("tend_memory", cycle=True)
        listed = session.ok("describe_graph", topic="upkeep", detail="detailed").text
        ids = re.findall(r"^- (C:[0-9]+): Org", listed, re.MULTILINE)
        assert len(ids) == 4
        answer = session.ok(
            "tend_memory",
            decisions=[
                {"task": ids[0], "decision": "merge", "keep": "A", "reason": "one"},
                {"task": ids[1], "decision": "merge"},
                {"task": ids[2], "decision": "guess"},
                {"task": ids[3], "decision": "keep both"},
            ],
        )
        merged, lacking, unknown, kept = answer.data["decisions"]
        assert "merged" in merged["result"]
        assert merged["commit"] != kept["commit"]
        assert "needs keep" in lacking["error"]["message"]
        assert "is not a decision" in unknown["error"]["message"]
        assert f"{ids[1]}: not decided. To merge needs keep" in answer.text
        assert "2 waiting" in answer.text
        formless = session.ok("tend_memory", decisions=[{"task": ids[1], "keeps": "A"}])
        assert "has no argument 'keeps'" in formless.data["decisions"][0]["error"]["message"]
        too_many = [{"task": ids[1], "decision": "later"}] * 101
        assert "100 decisions at most" in session.call("tend_memory", decisions=too_many).text


def test_some_elements_of_a_task_are_decided_and_the_rest_waits(tmp_path: Path) -> None:
    cities = ("oslo", "lyon", "turin", "porto", "ghent", "delft")
    topics = ("printing", "billing", "login", "colours", "alerts", "quotas")
    with mycel.open(tmp_path / "graph.db") as db:
        with db.transaction() as tx:
            tx.define_type("Note")
            for at, (city, topic) in enumerate(zip(cities, topics, strict=True)):
                text = (
                    f"A customer from {city} called about {topic} today, and after the long talk"
                    " somebody sent them the manual."
                )
                tx.put_concept("Note", f"note {at}", {"content": text})
        db.sleep()
        task = db.tasks.next()
        assert task is not None
        assert "texts of one form" in task.reason
        assert len(task.elements) >= 5
        first, second, third, *_ = task.elements
        decided = db.tasks.decide(task.id, "merge", keep="A", elements=["A", "C"])
        assert decided.result.endswith("the task stays open for the rest")
        rest = db.tasks.next()
        assert rest is not None
        assert rest.id == task.id
        assert third.id not in {element.id for element in rest.elements}
        assert second.id in {element.id for element in rest.elements}
        assert db.tasks.decide(task.id, "drop", elements=[second.id]).result.startswith("1 element")
        assert first.id in {element.id for element in db.tasks.show(task.id).elements}
        db.tasks.decide(task.id, "keep both")
        assert db.tasks.next() is None
