"""Requests whose work would grow with their size: all are refused, or end at their deadline."""

import json

from tests.adapters.http.conftest import NAMES, Server, Start, plant
from tests.attacks.conftest import ask, posting, resident_kib

RESIDENT_KIB_MAX = 300_000


def send(server: Server, path: str, body: bytes) -> tuple[int, bool]:
    """The status of the answer, and True if it says that something was too large."""
    reply = server.say(posting(path, body))
    return int(reply[9:12]), b"100000 lists" in reply


def test_json_of_countless_values_is_refused_before_it_is_parsed(attacked: Start) -> None:
    server = attacked()
    lists, numbers = b",".join([b"[]"] * 1_200_000), b",".join([b"1"] * 1_900_000)
    for each in (lists, numbers):
        asked = b'{"command": "", "parameters": {"v": [%b]}}' % each
        assert send(server, "/kip", asked) == (429, True)
        assert send(server, "/api/links", b'{"ids": [%b]}' % each) == (429, True)
        call = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"v": [%b]}}'
        assert send(server, "/mcp", call % (each + b"," + each)) == (400, True)
    # Brackets and commas in a text are no values, and neither are those of one that never ends.
    text = json.dumps({"command": plant("Ivy"), "parameters": {"v": '[{,\\"' * 200_000}})
    assert send(server, "/kip", text.encode()) == (200, False)
    assert send(server, "/kip", b'{"command": "' + b'\\"[,' * 900_000) == (400, False)
    assert ask(server, NAMES)[0] == 200
    assert resident_kib(server) < RESIDENT_KIB_MAX


def test_many_keys_to_compare_or_to_write_end_at_a_limit(attacked: Start) -> None:
    server = attacked("--write-timeout", "1")
    keys = {f"k{at}": at for at in range(50_000)}
    status, told = ask(server, 'SEARCH CONCEPT "leaf" METADATA :m', m=keys)
    assert (status, told["error"]["name"]) == (429, "ResourceExhausted")
    # Each of the elements takes long, so a thousand of them must not pass between two looks.
    change = 'UPDATE ?l SET ATTRIBUTES :m WHERE { ?l {type: "Leaf"} }'
    status, told = ask(server, change, m=keys)
    assert (status, told["error"]["name"]) == (504, "ExecutionTimeout")
    assert "nothing was written" in told["error"]["message"]
    assert ask(server, plant("Ivy"))[0] == 200
