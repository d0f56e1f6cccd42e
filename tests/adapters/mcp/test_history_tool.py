"""The tool `manage_history`, through the SDK's own client."""

from functools import partial
from pathlib import Path

from tests.adapters.mcp.clients import connected


def test_a_model_reads_the_log_compares_states_and_goes_back(db: Path, project: Path) -> None:
    with connected(db, "--root", str(project)) as session:
        ok = partial(session.ok, "manage_history")
        call = partial(session.call, "manage_history")
        session.ok("remember_knowledge", concepts=[{"uri": "a", "content": "one\ntwo"}])
        assert "first is " in ok(action="tag", name="first").text
        session.ok("update_node", uri="a", content="one\n2", message="Numbers, not words")
        wrong = ok(limit=1)
        assert "Numbers, not words" in wrong.text
        assert wrong.data["next_cursor"].startswith("log:")
        assert "tag first" in ok(limit=1, cursor=wrong.data["next_cursor"]).text
        assert ok(text="numbers", paths=["a"]).data == {"commits": wrong.data["commits"]}
        diff = ok(action="diff", **{"from": "first"})
        assert diff.data == {"added": 0, "removed": 0, "changed": 1, "moved": 0}
        assert "-two\n    +2" in diff.text
        assert list(ok(action="tags").data["tags"]) == ["first"]
        would = session.ok(
            "manage_history", action="rollback", to="first", paths=["a"], dry_run=True
        )
        assert would.text.startswith("Would change:")
        done = ok(action="revert", to=wrong.data["commits"][0])
        assert done.text.startswith("Done, in commit ")
        assert ok(action="diff", **{"from": "first"}).text == "No differences."
        again = ok(action="rollback", to="first", message="To be sure")
        assert again.text == "Nothing has to change."
        assert "needs `to`" in call(action="rollback").text
        assert "no tag or commit" in call(action="revert", to="nonsense").text
    with connected(db, "--readonly") as session:
        assert "Numbers" in session.ok("manage_history", text="numbers").text
        assert session.call("manage_history", action="rollback", to="first").failed
