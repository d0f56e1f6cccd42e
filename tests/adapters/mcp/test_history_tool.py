"""The tool `manage_history`, through the SDK's own client."""

from functools import partial
from pathlib import Path

import pytest

import mycel
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
        assert "The types are Commitment, Concept" in call(type="Nowhere").error["hint"]
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


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_model_works_on_a_branch_that_a_call_names_or_the_session_switched_to(
    db: Path, project: Path, mode: str
) -> None:
    with connected(db, "--root", str(project), mode=mode) as session:
        history, call = partial(session.ok, "manage_history"), partial(session.call, "get_nodes")
        session.ok("remember_knowledge", concepts=[{"uri": "a", "content": "one"}])
        made = history(action="create_branch", name="draft")
        assert (made.data["branch"], made.data["ahead"]) == ("draft", 0)
        session.ok("update_node", uri="a", content="two", branch="draft")
        assert "one" in session.ok("get_nodes", uris=["a"]).text
        assert "two" in session.ok("get_nodes", uris=["a"], branch="draft").text
        found = 'FIND(?c.attributes.content) WHERE { ?c {name: "concept://shop/a"} }'
        assert '"two"' in session.ok("execute_kip", command=found, branch="draft").text
        listed = history(action="branches")
        assert [(each["branch"], each["ahead"]) for each in listed.data["branches"]] == [
            ("main", 0),
            ("draft", 1),
        ]
        assert "path" not in listed.data["branches"][0]
        history(action="switch_branch", name="draft")
        assert "two" in session.ok("get_nodes", uris=["a"]).text
        assert "one" in session.ok("get_nodes", uris=["a"], branch="main").text
        assert "two" in session.ask("read_resource", "concept://shop/a").contents[0].text
        assert (
            "switch_branch first"
            in session.call("manage_history", action="delete_branch", name="draft").error["hint"]
        )
        kept = session.call("manage_history", action="delete_branch", name="draft", branch="main")
        assert "Ask the user; then pass force: true." in kept.error["hint"]
        gone = history(action="delete_branch", name="draft", branch="main", force=True)
        assert gone.text.startswith("Deleted draft")
        assert "one" in session.ok("get_nodes", uris=["a"]).text
        assert call(uris=["a"], branch="draft").error["code"] == "KIP_3002"


def test_a_server_that_only_reads_lists_branches_and_makes_none(db: Path) -> None:
    mycel.open(db, core_capsules=False).close()
    with connected(db, "--readonly") as session:
        assert "* main" in session.ok("manage_history", action="branches").text
        assert session.call("manage_history", action="create_branch", name="x").failed


def test_a_model_submits_proposes_and_reviews(db: Path, project: Path) -> None:
    with connected(db, "--root", str(project)) as session:
        ok = partial(session.ok, "manage_history")
        session.ok("remember_knowledge", concepts=[{"uri": "a", "content": "one"}])
        base = ok(limit=1).data["commits"][0]
        two = [{"node": "a", "attributes": {"content": "two"}}]
        done = ok(action="submit", changes=two, **{"from": base})
        assert done.text.startswith("Committed as ")
        three = [{"node": "a", "attributes": {"content": "three"}}]
        clash = ok(action="submit", changes=three, policy="merge", **{"from": base})
        assert (clash.data["status"], "two" in clash.text) == ("conflicts", True)
        made = ok(action="submit", changes=three, policy="propose").data["proposal"]
        assert made in ok(action="proposals").text
        assert '  attributes.content: "two" -> "three"' in ok(action="proposals", name=made).text
        ok(action="comment", name=made, message="Is it so?")
        assert ok(action="accept", name=made).data["status"] == "committed"
        made = ok(action="submit", changes=two, policy="propose").data["proposal"]
        rejected = ok(action="reject", name=made, message="It was three")
        assert rejected.data["ended"]["reason"] == "It was three"
        assert ": It was three" in ok(action="proposals", name=made).text
        assert "three" in session.ok("get_nodes", uris=["a"]).text
        refused = session.call("manage_history", action="submit")
        assert "needs changes" in refused.text
