"""A model works through the tasks of upkeep with one tool, through the SDK's own client."""

from pathlib import Path

import mycel
from tests.adapters.mcp.clients import connected


def test_tasks_are_shown_and_decided_one_after_the_other(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db") as db:
        with db.transaction() as tx:
            tx.define_type("Org")
            for name in ("Acme", "ACME!", "Initech", "INITECH"):
                tx.put_concept("Org", name)
        db.sleep()
    with connected(tmp_path / "graph.db") as session:
        first = session.ok("tend_memory")
        assert "merge_duplicates" in first.text
        assert "2 waiting" in first.text
        task = first.data["next"]["task"]
        wrong = session.call("tend_memory", task=task, decision="merge")
        assert "keep" in wrong.text
        assert session.call("tend_memory", task=task).failed
        second = session.ok(
            "tend_memory", task=task, decision="merge", keep="A", reason="one address"
        )
        assert "one address" in second.data["decided"]["result"]
        assert second.data["next"]["task"] != task
        last = session.ok("tend_memory", task=second.data["next"]["task"], decision="keep both")
        assert last.text.endswith("No task waits.")
        assert "next" not in last.data
    with mycel.open(tmp_path / "graph.db") as db:
        assert db.execute('FIND(COUNT(?o)) WHERE { ?o {type: "Org"} }').value == 3


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
        session.ok("update_node", uri="old", superseded_by="new")
        first, *_ = session.ok("search_knowledge", query="tide turns").data["hits"]
        assert first["uri"].endswith("/new")
        assert session.call("update_node", uri="old", superseded_by="new", name="x").failed
