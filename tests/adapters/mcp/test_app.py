"""The explorer inside a chat: offered to clients that negotiate it, and to nobody else."""

from pathlib import Path

import pytest
from mcp.client import advertise
from mcp.shared.exceptions import MCPError

from mycel.explorer import bundle
from mycel.mcp.app_view import EXTENSION, MIME_TYPE, RESOURCE, VIEW
from tests.adapters.mcp.clients import Session, connected

SHOWS_APPS = advertise(EXTENSION, {"mimeTypes": [MIME_TYPE]})


def write(session: Session) -> None:
    session.ok(
        "remember_knowledge",
        concepts=[{"uri": "auth/login", "name": "Login", "content": "With a passkey."}],
        relations=[{"source": "auth/login", "relation": "depends_on", "target": "auth/session"}],
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_that_shows_apps_gets_the_page_and_its_data(mode: str, db: Path) -> None:
    with connected(db, mode=mode, extensions=[SHOWS_APPS]) as session:
        write(session)
        tools = {tool.name: tool for tool in session.ask("list_tools").tools}
        for name in ("traverse_graph", "search_knowledge", "manage_history"):
            assert tools[name].meta == {"ui": {"resourceUri": RESOURCE}}
        assert tools["explore"].meta["ui"]["visibility"] == ["app"]
        assert tools["get_nodes"].meta is None
        listed = session.ask("list_resources").resources
        assert listed[0].mime_type == MIME_TYPE
        (page,) = session.ask("read_resource", RESOURCE).contents
        assert (page.mime_type, page.text.encode()) == (MIME_TYPE, bundle.asset("app.html").content)
        assert len(page.text) < 400_000
        found = session.ask("call_tool", "traverse_graph", {"start": "auth/login"})
        view = found.meta[VIEW]
        login = view["center"]
        assert login.endswith("/auth/login")
        assert {card["kind"] for card in view["nodes"]} == {"concept", "missing"}
        assert view["links"][0]["missing"] is True
        assert login in [card["id"] for card in view["nodes"] if card.get("active")]
        assert "Login" in found.content[0].text
        hits = session.ask("call_tool", "search_knowledge", {"query": "passkey"})
        assert hits.meta[VIEW]["nodes"][0]["id"] == login
        near = session.ok("explore", view="near", parameters={"id": login}).data
        assert near["total"] == 1
        wrong = session.call("explore", view="near", parameters={"id": "auth/nothing"})
        assert wrong.error["name"] == "NotFound"


def test_a_client_without_the_extension_sees_nothing_of_it(session: Session) -> None:
    write(session)
    tools = {tool.name: tool for tool in session.ask("list_tools").tools}
    assert "explore" not in tools
    assert all(tool.meta is None for tool in tools.values())
    found = session.ask("call_tool", "traverse_graph", {"start": "auth/login"})
    assert VIEW not in (found.meta or {})
    assert "Login" in found.content[0].text
    with pytest.raises(MCPError, match="There is no tool 'explore'"):
        session.call("explore", view="about")
    assert all(each.mime_type != MIME_TYPE for each in session.ask("list_resources").resources)
