"""Wrong tokens, and names that clients give themselves."""

import json

import anyio
from mcp import Client

from tests.adapters.http.conftest import NAMES, Server, Start, plant
from tests.attacks.conftest import SECRET, asking


def statuses(server: Server, token: str, count: int) -> list[bytes]:
    sent = asking(NAMES, "Connection: close").replace(SECRET.encode(), token.encode())
    return [server.say(sent)[9:12] for _ in range(count)]


def test_many_wrong_tokens_are_answered_late_and_keep_nobody_out(attacked: Start) -> None:
    server = attacked(MYCEL_TOKEN=SECRET)
    assert statuses(server, "wrong-wrong-wrong-wrong", 21) == [b"401"] * 20 + [b"429"]
    # Those with the right one may share the address.
    assert statuses(server, SECRET, 1) == [b"200"]
    assert server.is_well()


def test_the_journal_names_the_program_that_wrote_and_none_passes_for_another_actor(
    attacked: Start,
) -> None:
    server = attacked()
    for name in (None, "$system", "importer/2.1", "a\tb" * 200):
        header = [] if name is None else [f"Mycel-Client: {name}"]
        server.say(asking(plant(f"Ivy {name and len(name)}"), *header, "Connection: close"))

    async def remember() -> None:
        async with Client(f"{server.url}/mcp") as client:
            await client.call_tool("execute_kip", {"command": plant("Moss")})

    anyio.run(remember)
    told = server.ask({"method": "list_logs", "params": {"limit": 5}}).json()["result"]
    actors = [each["actor"] for each in reversed(told)]
    assert actors[0] == "$self"
    assert actors[1] == "$self:_system"
    assert actors[2] == "$self:importer/2.1"
    assert actors[3].startswith("$self:a_b")
    assert len(actors[3]) < 100
    assert actors[4].startswith("$self:mcp"), actors[4]
    # A filter by the actor of the server finds all of them.
    page = {"method": "list_logs", "params": {"actor": "$self", "limit": 5}}
    assert len(json.loads(server.ask(page).text)["result"]) == 5
    own = {"method": "list_logs", "params": {"actor": "$self:importer/2.1"}}
    assert len(server.ask(own).json()["result"]) == 1
