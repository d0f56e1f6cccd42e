"""No answer is larger than clients take, and what was left out can be had."""

import json

import pytest

from mycel.model.limits import TOOL_RESULT_TOKENS_MAX
from tests.adapters.mcp.clients import Session, Told

CONTENT = "".join(f"Line {at} of a long story.\n" for at in range(12_000))


def size(told: Told) -> float:
    return (len(told.text.encode()) + len(json.dumps(told.data, ensure_ascii=False))) / 4


@pytest.fixture(scope="module", autouse=True)
def _large(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "long/story", "content": CONTENT}])
    for at in range(6):
        session.ok(
            "remember_knowledge",
            concepts=[
                {"uri": f"crowd/{n}", "name": f"Member {n}", "content": f"dreamers {n} " * 150}
                for n in range(at * 100, at * 100 + 100)
            ],
            relations=[
                {"source": "long/story", "relation": "tells_of", "target": f"crowd/{n}"}
                for n in range(at * 100, at * 100 + 100)
            ],
        )


def test_long_content_is_paged_by_cursor_and_nothing_is_skipped(session: Session) -> None:
    text, cursor = "", "content:0"
    for _ in range(30):
        told = session.ok("get_nodes", uris=["long/story"], cursor=cursor)
        assert size(told) <= TOOL_RESULT_TOKENS_MAX
        (node,) = told.data["nodes"]
        cursor = node.get("content_cursor", "")
        shown = told.text.removeprefix("\n")
        text += shown.rpartition("\n… ")[0] if cursor else shown
        if not cursor:
            break
    assert text == CONTENT


def test_relations_are_paged_by_cursor_and_each_comes_once(session: Session) -> None:
    seen: list[str] = []
    cursor = None
    for _ in range(30):
        told = session.ok(
            "get_nodes",
            uris=["long/story"],
            relations=200,
            direction="out",
            cursor=cursor or "relations:out.0.0",
        )
        assert size(told) <= TOOL_RESULT_TOKENS_MAX
        seen += [line for line in told.text.splitlines() if line.startswith("→")]
        cursor = told.data["nodes"][0].get("relations_cursor")
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 600


def test_a_search_is_paged_by_cursor_and_each_hit_comes_once(session: Session) -> None:
    seen: list[str] = []
    cursor = None
    for _ in range(4):
        told = session.ok(
            "search_knowledge", query="dreamers", limit=50, detail="detailed", cursor=cursor
        )
        assert size(told) <= TOOL_RESULT_TOKENS_MAX
        seen += [hit["uri"] for hit in told.data["hits"]]
        cursor = told.data["next_cursor"]
    assert len(seen) == len(set(seen)) >= 100


def test_many_nodes_at_once_say_which_had_no_room(session: Session) -> None:
    uris = [f"concept://shop/crowd/{at}" for at in range(300)]
    told = session.ok("get_nodes", uris=uris)
    assert size(told) <= TOOL_RESULT_TOKENS_MAX
    assert "more do not fit" in told.text


def test_a_traversal_of_everything_stays_within_bounds_and_says_what_is_missing(
    session: Session,
) -> None:
    told = session.ok(
        "traverse_graph",
        start="long/story",
        max_nodes=1000,
        max_tokens=100_000,
        detail="detailed",
    )
    assert size(told) <= TOOL_RESULT_TOKENS_MAX
    assert "do not fit" in told.text or "left out" in told.text


@pytest.mark.parametrize(
    "command",
    [
        'FIND(?c) WHERE { ?c {type: "Concept"} }',
        'FIND(?c.name, ?c.attributes.content) WHERE { ?c {type: "Concept"} }',
        'FIND(?c.attributes.content) WHERE { ?c {name: "concept://shop/long/story"} }',
        'EXPORT ?c WHERE { ?c {type: "Concept"} }',
        "DESCRIBE PRIMER",
    ],
)
def test_kip_whose_result_is_too_large_is_cut_and_says_so(session: Session, command: str) -> None:
    for arguments in ({"command": command}, {"commands": [command, command]}):
        told = session.call("execute_kip_readonly", **arguments)
        assert size(told) <= TOOL_RESULT_TOKENS_MAX
        assert json.loads(told.text) == told.data
        if command.startswith("FIND"):
            assert "too large for one answer" in told.data["warnings"][0]


def test_columns_of_kip_are_cut_at_the_same_row(session: Session) -> None:
    told = session.ok(
        "execute_kip_readonly",
        command='FIND(?c.name, ?c.id, ?c.name, ?c.name) WHERE { ?c {type: "Concept"} }',
    )
    lengths = {len(column) for column in told.data["result"]}
    assert len(lengths) == 1
    assert 100 < lengths.pop() < 601
    assert "next_cursor" not in told.data


def test_a_row_that_alone_is_too_large_is_shown_in_part(session: Session) -> None:
    told = session.ok(
        "execute_kip_readonly",
        command="FIND(?c.name, ?c.attributes.content) WHERE { ?c {name: :uri} }",
        parameters={"uri": "concept://shop/long/story"},
    )
    names, contents = told.data["result"]
    assert names == ["concept://shop/long/story"]
    assert contents[0].startswith("Line 0 of a long story.")
    assert "more characters" in contents[0]


def test_the_context_is_bounded_and_shows_what_was_evicted(session: Session) -> None:
    session.ok("traverse_graph", start="long/story", max_nodes=150, max_tokens=100_000)
    shown = session.ok("manage_context", detail="detailed")
    assert shown.data["loaded"] <= shown.data["size_max"] == 100
    assert size(shown) <= TOOL_RESULT_TOKENS_MAX
