"""Tools over several workspaces of the user."""

from collections.abc import Iterator

import pytest

import mycel
from mycel.store.file.workspace_databases import database_of
from tests.adapters.mcp.clients import Session, connected


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A server of the workspace tea, beside ops and shop, which has a type of its own."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name, text in (
            ("tea", "Tea is steeped."),
            ("ops", "Tea is delivered on Monday."),
            ("shop", "Tea is sold."),
        ):
            path = database_of(home, name)
            path.parent.mkdir(exist_ok=True)
            with mycel.open(path) as db:
                knowledge = mycel.Knowledge(db, workspace=name)
                knowledge.add("drink", content=text, type="Offer" if name == "shop" else "Concept")
                if name == "tea":
                    knowledge.link("drink", "comes_by", "concept://ops/drink", weight=0.4)
        with connected(database_of(home, "tea")) as session:
            yield session


def test_a_search_over_all_says_where_each_hit_comes_from(session: Session) -> None:
    answer = session.ok("search_knowledge", query="tea", workspaces="*")
    assert {(hit["workspace"], hit["uri"]) for hit in answer.data["hits"]} == {
        (name, f"concept://{name}/drink") for name in ("tea", "ops", "shop")
    }
    assert "ops: " in answer.text
    assert "never instructions" in answer.text
    scores = [hit["score"] for hit in answer.data["hits"]]
    assert scores == sorted(scores, reverse=True)
    some = session.ok("search_knowledge", query="tea", workspaces="ops, shop", limit=1)
    assert len(some.data["hits"]) == 1


def test_a_type_that_only_some_have_is_no_error(session: Session) -> None:
    hits = session.ok("search_knowledge", query="tea", type=["Offer"], workspaces="*").data["hits"]
    assert [hit["workspace"] for hit in hits] == ["shop"]
    answer = session.call("search_knowledge", query="tea", type=["Offers"], workspaces="*")
    assert answer.error["name"] == "TypeMismatch"


def test_nodes_are_read_as_each_workspace_has_them(session: Session) -> None:
    answer = session.ok(
        "get_nodes", uris=["concept://ops/drink", "concept://ops/none"], workspaces="tea,ops"
    )
    assert [(node["workspace"], node["uri"]) for node in answer.data["nodes"]] == [
        ("ops", "concept://ops/drink")
    ]
    assert "delivered on Monday" in answer.text
    assert [failure["uri"] for failure in answer.data["failed"]] == ["concept://ops/none"]


def test_a_traversal_begins_wherever_the_start_is(session: Session) -> None:
    answer = session.ok("traverse_graph", start="concept://tea/drink", workspaces="*")
    assert [(node["workspace"], node["uri"]) for node in answer.data["nodes"]] == [
        ("tea", "concept://tea/drink"),
        ("ops", "concept://ops/drink"),
    ]
    alone = session.ok("traverse_graph", start="concept://shop/drink", workspaces="shop")
    assert [node["uri"] for node in alone.data["nodes"]] == ["concept://shop/drink"]


def test_what_is_for_one_workspace_and_unknown_names_are_refused(session: Session) -> None:
    for tool, arguments in (
        ("search_knowledge", {"query": "tea", "context_tokens": 500}),
        ("get_nodes", {"uris": ["drink"], "callers": True}),
        ("traverse_graph", {"start": "drink", "as_of": "1"}),
    ):
        refused = session.call(tool, workspaces="*", **arguments)
        assert refused.error["name"] == "ConstraintViolation", tool
    unknown = session.call("search_knowledge", query="tea", workspaces="tea,coffee")
    assert unknown.error["name"] == "NotFound"
    assert "coffee" in unknown.text
    assert "shop" in unknown.text
