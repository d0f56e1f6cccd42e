"""Named queries as tools of the server."""

from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import jsonschema
import pytest
from mcp.shared.subscriptions import ToolsListChanged

import mycel
from tests.adapters.mcp.clients import Pipe, Session, connected

TEXT = """
query large($least: I64?, $limit: I32 = 20)
@description("Large towns.") @instruction("Ask it.") @tool
{ FIND(?c.name, ?c.attributes.people) WHERE { ?c {type: "City"}
  FILTER(?c.attributes.people >= :least || IS_NULL(:least)) } ORDER BY ?c.name LIMIT :limit }
query names() { FIND(?c.name) WHERE { ?c {type: "City"} } }
query found_city($name: String) @tool { UPSERT { CONCEPT { {type: "City", name: :name} } } }
query search_knowledge() @tool { FIND(?c.name) WHERE { ?c {type: "City"} } }
"""


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    with mycel.open(tmp_path / "g.db") as db:
        db.schema.apply("node City { people: U64? }")
        db.execute(
            'UPSERT { CONCEPT { {type: "City", name: "Porto"} SET ATTRIBUTES {people: 9} } }'
        )
        db.queries.add(TEXT)
    return tmp_path / "g.db"


def tools(session: Session) -> dict[str, Any]:
    listed = session.ask("list_tools").tools
    return {tool.name: tool.model_dump(by_alias=True, exclude_none=True) for tool in listed}


def test_marked_queries_are_tools_and_all_can_be_run(graph: Path) -> None:
    with connected(graph) as session:
        listed = tools(session)
        assert list(listed)[-3:] == ["found_city", "large", "run_query"]
        large = listed["large"]
        assert large["description"] == "Large towns. Ask it."
        assert large["annotations"]["readOnlyHint"]
        assert listed["found_city"]["annotations"]["destructiveHint"]
        told = session.ok("large", least="5")
        jsonschema.validate(told.data, large["outputSchema"])
        assert told.data["rows"] == [["Porto", 9]]
        people = {"type": ["integer", "null"], "minimum": 0, "maximum": (1 << 64) - 1}
        columns = large["outputSchema"]["properties"]["rows"]["items"]["prefixItems"]
        assert columns == [{"type": "string"}, people]
        assert session.ok("run_query", name="names").data["rows"] == [["Porto"]]
        assert "large(least: I64?, limit: I32) Large towns." in session.ok("run_query").text
        assert "names()" in session.ok("describe_graph", topic="queries").text
        assert session.call("large", leest=1).error["code"] == "KIP_1001"
        # One that is added is there at once.
        session.ok("found_city", name="Faro")
        assert session.ok("large").data["rows"] == [["Faro", None], ["Porto", 9]]


def test_nothing_but_queries_can_be_asked_on_the_safe_surface(graph: Path) -> None:
    with connected(graph, "--only-queries", "--readonly", "--queries", "all") as session:
        assert list(tools(session)) == ["large", "names", "search_knowledge", "run_query"]
        assert session.ok("names").data["rows"] == [["Porto"]]
        for tool in ("execute_kip_readonly", "found_city", "get_nodes"):
            with pytest.raises(Exception, match="no tool"):
                session.call(tool, command="DESCRIBE PRIMER")
        denied = session.call("run_query", name="found_city", parameters={"name": "x"}).error
        unknown = session.call("run_query", name="no_such", parameters={"name": "x"}).error
        assert denied["message"].replace("found_city", "no_such") == unknown["message"]
        assert session.ask("list_resources").resources == []


def test_a_graph_without_queries_has_no_more_tools(tmp_path: Path) -> None:
    with connected(tmp_path / "g.db") as session:
        assert "run_query" not in tools(session)


def test_a_client_is_told_when_the_queries_that_are_tools_change(graph: Path) -> None:
    with mycel.open(graph) as db, Pipe(graph) as pipe:
        pipe.shake_hands()
        pipe.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert pipe.receive()["id"] == 1
        db.execute('UPSERT { CONCEPT { {type: "City", name: "Lisbon"} } }')
        db.queries.remove("large")
        assert pipe.receive()["method"] == "notifications/tools/list_changed"
        pipe.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert "large" not in [tool["name"] for tool in pipe.receive()["result"]["tools"]]
        db.queries.add(TEXT)
    with mycel.open(graph) as db, connected(graph) as session:

        async def hear() -> object:
            async with session.client.listen(tools_list_changed=True) as events:
                await session.client.list_tools()
                await anyio.to_thread.run_sync(db.queries.remove, "large")
                return await anext(aiter(events))

        assert session.portal.call(hear) == ToolsListChanged()


def test_a_parameter_may_be_called_branch(graph: Path) -> None:
    body = 'FIND(?c.name) WHERE { ?c {type: "City", name: :branch} }'
    with mycel.open(graph) as db:
        db.queries.add(f"query at($branch: String) @tool {{ {body} }}")
    with connected(graph) as session:
        assert session.ok("at", branch="Porto").data["rows"] == [["Porto"]]
