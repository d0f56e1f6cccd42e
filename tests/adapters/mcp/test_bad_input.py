"""Whatever is sent, the answer is clear, the server lives on, and nothing is lost."""

import re
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from mycel.model.limits import TOOL_ARGUMENT_BYTES_MAX
from tests.adapters.mcp.clients import Session, connected
from tests.cases import cases


@pytest.fixture(autouse=True)
def lives_on(session: Session) -> Any:
    """After each of these tests the server still answers."""
    session.ok("remember_knowledge", concepts=[{"uri": "canary", "content": "sings"}])
    yield
    assert "sings" in session.ok("get_nodes", uris=["canary"]).text


@cases(
    "uri",
    [
        "../secret.txt",
        "file://shop/../secret.txt",
        "file://shop/%2e%2e/secret.txt",
        "file://shop/src/%2e%2e%2f%2e%2e%2fsecret.txt",
        "file:///etc/passwd",
        "file://shop/leak.txt",
        "file://shop/src\\login.py",
        "file://shop/a\0b",
        "file://other/src/login.py",
        "concept://shop/../x",
        "concept:///x",
        "x" * 5000,
        "",
        "file://shop/src",
        "file://shop/nothing.py",
    ],
)
def test_a_uri_that_leads_out_or_nowhere_is_refused(session: Session, uri: str) -> None:
    told = session.call("get_nodes", uris=[uri], read_file=True)
    assert told.error["code"] in ("KIP_1001", "KIP_2002", "KIP_3002")
    assert "nobody may read this" not in told.text
    with pytest.raises(MCPError) as refused:
        session.ask("read_resource", uri or "file://shop/")
    assert "nobody may read this" not in str(refused.value)


@pytest.mark.parametrize("weight", [-0.1, 1.1, 1e300, "heavy", True])
def test_a_weight_is_a_number_from_0_to_1(session: Session, weight: object) -> None:
    ends = {"source": "canary", "relation": "weighs", "target": "nest"}
    told = session.call("remember_knowledge", relations=[ends | {"weight": weight}])
    assert told.error["code"] in ("KIP_2002", "KIP_2003", "KIP_1001")
    assert session.call("get_nodes", uris=["nest"]).failed


@cases(
    ("tool", "arguments", "code", "words"),
    [
        ("get_nodes", {}, "KIP_1001", "needs the argument 'uris'"),
        ("get_nodes", {"uris": 5}, "KIP_2003", "a list"),
        ("get_nodes", {"uris": []}, "KIP_1001", "at least one"),
        ("forget_nodes", {"uris": []}, "KIP_1001", "at least one"),
        ("manage_context", {"action": "add"}, "KIP_1001", "at least one"),
        ("manage_context", {"action": "remove", "uris": []}, "KIP_1001", "at least one"),
        (
            "get_nodes",
            {"uris": ["canary", "nest"], "cursor": "content:1"},
            "KIP_2002",
            "for one URI",
        ),
        ("get_nodes", {"uris": [5]}, "KIP_2003", "'uris[0]'"),
        (
            "remember_knowledge",
            {"concepts": '[{"uri": "x", "uri": "y"}]'},
            "KIP_1001",
            "'uri' is repeated",
        ),
        ("get_nodes", {"uri": "x"}, "KIP_1001", "Did you mean 'uris'"),
        ("get_nodes", {"uris": ["canary"], "detail": "all"}, "KIP_2002", "concise"),
        ("get_nodes", {"uris": ["canary"], "relations": 10**9}, "KIP_2002", "200"),
        ("get_nodes", {"uris": ["canary"], "cursor": "nonsense"}, "KIP_2002", "cursor"),
        ("get_nodes", {"uris": ["canary"], "cursor": "relations:x.y.z"}, "KIP_1001", "cursor"),
        ("get_nodes", {"uris": ["canary"], "cursor": "content:-1"}, "KIP_2002", "cursor"),
        ("search_knowledge", {"query": "x", "limit": 0}, "KIP_2002", "1 to 50"),
        ("search_knowledge", {"query": "x", "cursor": "x"}, "KIP_2002", "cursor"),
        ("search_knowledge", {"query": "x", "type": "Nope"}, "KIP_2001", "Nope"),
        ("traverse_graph", {"start": "nowhere"}, "KIP_3002", "nowhere"),
        ("traverse_graph", {"start": "canary", "max_cost": -1}, "KIP_2002", "max_cost"),
        ("traverse_graph", {"start": "canary", "direction": "up"}, "KIP_2002", "both"),
        ("traverse_graph", {"start": "canary", "relation_types": ["no"]}, "KIP_2001", "no"),
        ("remember_knowledge", {}, "KIP_1001", "nothing to write"),
        ("remember_knowledge", {"concepts": ["x"]}, "KIP_2003", "'concepts[0]'"),
        ("remember_knowledge", {"concepts": [{"name": "x"}]}, "KIP_1001", "concepts[0].uri"),
        ("remember_knowledge", {"concepts": [{"uri": "x", "body": "y"}]}, "KIP_1001", "body"),
        ("update_node", {"uri": "canary"}, "KIP_1001", "nothing to change"),
        ("update_node", {"uri": "nowhere", "content": "x"}, "KIP_3002", "nowhere"),
        ("update_node", {"uri": "canary", "content": "x", "append": "y"}, "KIP_2002", "append"),
        (
            "remember_knowledge",
            {"relations": [{"source": "a", "relation": "r"}]},
            "KIP_1001",
            "target",
        ),
        (
            "remember_knowledge",
            {"relations": [{"source": "canary", "relation": "is", "target": "canary"}]},
            "KIP_2002",
            "itself",
        ),
        ("forget_nodes", {"relations": [{"source": "a"}]}, "KIP_1001", "relation"),
        ("get_nodes", {"uris": ["canary"], "branch": "nowhere"}, "KIP_3002", "manage_history with"),
        ("get_nodes", {"uris": ["canary"], "branch": "../x"}, "KIP_1002", "cannot name a branch"),
        ("manage_history", {"action": "switch_branch"}, "KIP_1001", "name of a branch"),
        ("describe_graph", {"topic": "type", "name": "Nope"}, "KIP_3002", "Nope"),
        ("manage_context", {"action": "add", "uris": ["nowhere"]}, "KIP_3002", "nowhere"),
        ("manage_context", {"context_id": "x"}, "KIP_1001", "context_id"),
        ("execute_kip", {}, "KIP_1001", "command"),
        ("execute_kip", {"command": "FIND", "dryRun": True}, "KIP_1001", "dry_run"),
        ("bootstrap_workspace", {"path": "../.."}, "KIP_1001", ".."),
        ("bootstrap_workspace", {"path": "file://other/src"}, "KIP_2002", "no folder"),
        ("bootstrap_workspace", {"path": "https://shop/src"}, "KIP_2002", "no folder"),
        ("get_nodes", {"uris": [str(n) for n in range(1001)]}, "KIP_4002", "several calls"),
    ],
)
def test_an_argument_that_is_wrong_is_named_with_what_would_be_right(
    session: Session, tool: str, arguments: dict[str, Any], code: str, words: str
) -> None:
    told = session.call(tool, **arguments)
    assert told.failed
    assert told.data["error"]["code"] == code, told.text
    assert words in told.text + str(told.data)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("remember_knowledge", {"concepts": '[{"uri": "meant", "content": "x"}]'}),
        ("remember_knowledge", {"concepts": {"uri": "meant", "content": "x"}}),
        ("get_nodes", {"uris": "canary"}),
        ("get_nodes", {"uris": '["canary"]'}),
        ("search_knowledge", {"query": "canary", "limit": 5.0}),
        ("get_nodes", {"uris": ["canary"], "cursor": None}),
    ],
)
def test_what_is_plainly_meant_is_taken(
    session: Session, tool: str, arguments: dict[str, Any]
) -> None:
    session.ok(tool, **arguments)


def test_an_argument_of_ten_megabytes_gets_a_clear_error(session: Session) -> None:
    told = session.call(
        "remember_knowledge", concepts=[{"uri": "huge", "content": "x" * 10_000_000}]
    )
    assert told.error["code"] == "KIP_4002"
    assert "10,000,042 bytes" in told.error["message"]
    assert session.call("get_nodes", uris=["huge"]).failed


def test_content_that_is_too_large_for_one_node_gets_a_clear_error(session: Session) -> None:
    told = session.call(
        "remember_knowledge", concepts=[{"uri": "large", "content": "x" * 2_000_000}]
    )
    assert told.error["code"] == "KIP_4002"
    # Just above the limit of all arguments, in figures that differ.
    most = TOOL_ARGUMENT_BYTES_MAX
    concepts = [{"uri": f"n{at}", "content": "x" * (most // 5)} for at in range(5)]
    told = session.call("remember_knowledge", concepts=concepts)
    sizes = re.findall(r"[0-9,]+ bytes", told.error["message"])
    assert sizes[1] == f"{most:,} bytes"
    assert sizes[0] != sizes[1]


def test_a_graph_file_that_is_gone_is_reported_until_it_is_back(tmp_path: Path) -> None:
    path, away = tmp_path / "graph.db", tmp_path / "away.db"
    with connected(path) as session:
        session.ok("remember_knowledge", concepts=[{"uri": "kept", "content": "x"}])
        path.rename(away)
        for tool, arguments in (
            ("get_nodes", {"uris": ["kept"]}),
            ("remember_knowledge", {"concepts": [{"uri": "lost"}]}),
            ("execute_kip_readonly", {"command": "DESCRIBE PRIMER"}),
        ):
            told = session.call(tool, **arguments)
            assert told.error["code"] == "KIP_4003"
            assert "is gone" in told.text
        with pytest.raises(MCPError, match="is gone"):
            session.ask("list_resources")
        path.write_bytes(b"something else")
        assert "replaced" in session.call("get_nodes", uris=["kept"]).text
        path.unlink()
        away.rename(path)
        session.ok("get_nodes", uris=["kept"])
        assert session.call("get_nodes", uris=["lost"]).error["code"] == "KIP_3002"


def test_a_path_in_the_graph_never_lets_a_file_outside_be_read(
    session: Session, project: Path
) -> None:
    # A folder that is a link: the file in it is outside, whatever its name says.
    link = project / "linked"
    if not link.exists():
        link.symlink_to(project.parent)
    told = session.call("get_nodes", uris=["file://shop/linked/secret.txt"], read_file=True)
    assert told.failed
    assert "nobody may read this" not in told.text


BAD_URIS = {"file://shop/../x": "KIP_1001", "nowhere": "KIP_3002", "": "KIP_1001"}


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("get_nodes", {}),
        ("get_nodes", {"read_file": True}),
        ("forget_nodes", {}),
        ("manage_context", {"action": "add"}),
    ],
)
def test_a_bad_uri_among_good_ones_is_named_and_the_others_are_answered(
    session: Session, tool: str, more: dict[str, Any]
) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "good/a"}, {"uri": "good/b"}])
    good = ["concept://shop/good/a", "concept://shop/good/b"]
    told = session.ok(tool, uris=[good[0], *BAD_URIS, good[1]], **more)
    assert {each["uri"]: each["code"] for each in told.data["failed"]} == BAD_URIS
    for uri in (*good, *filter(None, BAD_URIS)):
        assert uri in told.text
    told = session.call(tool, uris=list(BAD_URIS), **more)
    assert told.error["code"] == "KIP_1001"
    assert {each["uri"]: each["code"] for each in told.data["failed"]} == BAD_URIS


def test_hundreds_of_bad_uris_fit_into_one_answer(session: Session) -> None:
    told = session.call("get_nodes", uris=[f"nowhere/{'x' * 1000}/{n}" for n in range(300)])
    assert told.failed
    assert len(told.text) + len(str(told.data)) < 80_000


def test_a_move_that_fails_after_a_change_says_that_the_change_was_made(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "moving"}, {"uri": "taken"}])
    told = session.call("update_node", uri="moving", content="changed", new_uri="taken")
    assert told.error["code"] == "KIP_3003"
    assert "the other changes were made" in told.text
    assert "changed" in session.ok("get_nodes", uris=["moving"]).text


def test_an_embedder_that_cannot_be_reached_is_said_in_the_answer_of_a_search(db: Path) -> None:
    Path(f"{db}.embedder").write_text("http://127.0.0.1:1/v1#tiny", encoding="utf-8")
    with connected(db) as session:
        session.ok("remember_knowledge", concepts=[{"uri": "canary", "content": "a bird sings"}])
        for arguments in ({}, {"context_tokens": 500}):
            told = session.ok("search_knowledge", query="which bird sings", **arguments).text
            assert "concept://" in told
            assert "cannot be reached" in told
            assert "uses the embedder inside the package" in told
