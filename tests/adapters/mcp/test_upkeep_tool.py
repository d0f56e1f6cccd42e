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
