"""The views that the tool of the MCP App offers."""

import re
from pathlib import Path

from mycel.explorer.explorer import VIEWS
from mycel.mcp.app_view import EXPLORE

PAGE = Path(__file__).parents[3] / "web" / "src" / "source" / "mcp-app.ts"


def test_the_tool_offers_views_that_exist_and_all_that_the_page_asks_for() -> None:
    asked = set(re.findall(r"#ask(?:<[^>]*>)?\('(\w+)'", PAGE.read_text("utf-8")))
    offered = set(EXPLORE.properties["view"]["enum"])
    assert asked
    assert asked <= offered <= VIEWS.keys()
