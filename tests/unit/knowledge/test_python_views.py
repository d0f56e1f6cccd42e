"""A workspace in Python and notebooks: len, in, iteration, a table, a networkx graph."""

import sys
from pathlib import Path

import networkx
import pytest

import mycel
from mycel import Knowledge
from mycel.errors import ConstraintViolation, NotFound


def test_a_workspace_is_counted_and_listed_without_placeholders_and_others(
    shop: Knowledge,
) -> None:
    assert (len(shop), bool(shop), list(shop)) == (0, True, [])
    shop.remember(
        [{"uri": "b", "content": "B"}, {"uri": "a", "name": "First"}, {"uri": "concept://other/x"}],
        [
            {"source": "a", "relation": "needs", "target": "missing"},
            {"source": "a", "relation": "read_in", "target": "file://shop/a.py"},
        ],
    )
    assert [node.uri for node in shop] == [
        "concept://shop/a",
        "concept://shop/b",
        "file://shop/a.py",
    ]
    assert len(shop) == 3
    assert all(node.content is None for node in shop)
    for name in ("a", "a.py", "First", "file://shop/a.py"):
        assert name in shop
    assert "concept://other/x" in shop
    for other in ("missing", "c", "../up", "", 7, None):
        assert other not in shop


def test_many_nodes_are_listed_once_each(shop: Knowledge) -> None:
    shop.remember({"uri": f"n/{number}"} for number in range(2_100))
    uris = [node.uri for node in shop]
    assert len(uris) == len(set(uris)) == len(shop) == 2_100


def test_a_notebook_shows_a_table_with_escaped_texts(shop: Knowledge) -> None:
    shop.remember({"uri": f"n/{number:02}", "name": "<b>&"} for number in range(25))
    page = shop._repr_html_()
    assert page.count("<tr>") == 21
    assert "&lt;b&gt;&amp;" in page
    assert "<b>" not in page
    assert "25 nodes" in page
    assert "… and 5 more" in page


def test_a_workspace_is_a_graph_of_networkx(shop: Knowledge) -> None:
    shop.add("a", name="First", properties={"size": 2})
    shop.link("a", "needs", "b", weight=0.5, properties={"why": "x"})
    shop.link("a", "read_in", "https://example.org/")
    graph = shop.to_networkx()
    a, b = "concept://shop/a", "concept://shop/b"
    assert graph.nodes[a] == {"type": "Concept", "name": "First", "properties": {"size": 2}}
    assert graph.edges[a, b, "needs"] == {"weight": 0.5, "properties": {"why": "x"}}
    assert set(graph.successors(a)) == {b, "https://example.org/"}
    assert networkx.shortest_path_length(graph, a, b, weight="weight") == 0.5


def test_without_networkx_the_error_says_how_to_get_it(
    shop: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(NotFound) as caught:
        shop.to_networkx()
    assert "[networkx]" in caught.value.hint


def test_a_workspace_is_opened_by_its_name_and_an_unknown_one_names_those_that_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(NotFound, match="no workspace 'flask'") as caught:
        mycel.open(workspace="flask")
    assert "There is none yet." in caught.value.hint
    folder = tmp_path / ".knowledge_engine"
    folder.mkdir()
    with mycel.open(folder / "knowledge_flask.db") as db:
        mycel.Knowledge(db, workspace="flask").add("routes")
        db.branches.create("draft")
    with mycel.open(workspace="flask") as db:
        assert "routes" in mycel.Knowledge(db, workspace="flask")
    with mycel.open(workspace="flask", branch="draft") as db:
        assert db.branch == "draft"
    for wrong in ("flaks", "../flask", "", 7):
        with pytest.raises(NotFound) as caught:
            mycel.open(workspace=wrong)  # type: ignore[arg-type]
        assert caught.value.data["workspaces"] == ["flask"]
    assert [each.name for each in folder.glob("*flaks*")] == []
    with pytest.raises(ConstraintViolation):
        mycel.open("graph.db", workspace="flask")
