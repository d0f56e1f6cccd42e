"""Commits as they happen, through real connections."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mycel
from tests.adapters.http.conftest import HTTP, Server, Start, plant

TOKEN = "a-secret-of-the-server"
Events = Iterator[tuple[str, dict[str, Any]]]


@contextmanager
def stream(server: Server, **given: Any) -> Iterator[Events]:
    """The events of one stream: the kind and data of each."""
    headers = given.pop("headers", {})
    with HTTP.stream("GET", f"{server.url}/api/changes", params=given, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")

        def events() -> Events:
            kind = ""
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    yield kind, json.loads(value)

        yield events()


def test_what_others_write_arrives_in_order_and_once(start: Start, graph: Path) -> None:
    server = start()
    with stream(server) as events, stream(server) as others:
        kind, _ = next(events)
        assert (kind, next(others)[0]) == ("hello", "hello")
        with mycel.open(graph, actor="eve") as db:
            knowledge = mycel.Knowledge(db, workspace="shop")
            knowledge.add("a", name="A", message="the first")
            knowledge.link("a", "needs", "b")
            knowledge.add("b")
            knowledge.move("a", "c")
            knowledge.delete("c")
        server.run(plant("Elm"))
        told = [next(events) for _ in range(6)]
        assert [next(others) for _ in range(6)] == told
    assert {kind for kind, _ in told} == {"change"}
    first, linked, healed, moved, gone, elm = (data for _, data in told)
    assert (first["actor"], first["message"]) == ("eve", "the first")
    assert "concept://shop/a" in first["added"]
    assert linked["links"][0]["target"] == "concept://shop/b"
    assert healed["healed"] == [["concept://shop/b", "concept://shop/b"]]
    assert moved["moved"] == [["concept://shop/a", "concept://shop/c"]]
    assert "concept://shop/c" in gone["removed"]
    assert elm["added"] == ["kip:Plant/Elm"]
    positions = [data["position"] for _, data in told]
    assert positions == sorted(set(positions))
    # A reader that comes back misses nothing, and gets nothing twice.
    with stream(server, after=first["position"]) as events:
        assert next(events)[0] == "hello"
        assert [next(events)[1]["position"] for _ in range(5)] == positions[1:]
    later = {"last-event-id": str(positions[-2])}
    with stream(server, headers=later) as events:
        assert next(events)[0] == "hello"
        assert next(events)[1]["position"] == positions[-1]
    with stream(server, after=10**9) as events:
        assert next(events)[0] == "hello"
        assert next(events) == ("gap", {"position": positions[-1]})


def test_a_stream_ends_when_the_server_stops(start: Start) -> None:
    server = start()
    with stream(server) as events:
        assert next(events)[0] == "hello"
        status, _, complained = server.stop()
        assert [kind for kind, _ in events] == []
    assert (status, complained) == (0, "")


def test_a_session_counts_until_it_is_revoked(start: Start, tmp_path: Path) -> None:
    address = tmp_path / "address"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {address}.new\nmv {address}.new {address}\n')
    browser.chmod(0o700)
    server = start("--open", BROWSER=f"{browser} %s", MYCEL_TOKEN=TOKEN)
    while not address.exists():
        assert server.process.poll() is None
    page, _, ticket = address.read_text().partition("#ticket=")
    assert page == f"{server.url}/ui/"
    assert TOKEN not in address.read_text()
    exchanged = HTTP.post(f"{server.url}/api/ticket", json={"ticket": ticket})
    session = {"authorization": f"Bearer {exchanged.json()['token']}"}
    assert server.get("/api/about", headers=session).status_code == 200
    again = HTTP.post(f"{server.url}/api/ticket", json={"ticket": ticket})
    assert again.status_code == 401
    forged = {"authorization": session["authorization"][:-2] + "AA"}
    assert server.get("/api/about", headers=forged).status_code == 401
    with stream(server, headers=session) as events:
        assert next(events)[0] == "hello"
        assert HTTP.post(f"{server.url}/api/signout", headers=session, json={}).json()["revoked"]
        server.ask({"command": plant("Yew")}, headers={"authorization": f"Bearer {TOKEN}"})
        assert list(events) == [("bye", {"reason": "revoked"})]
    assert server.get("/api/about", headers=session).status_code == 401
    with_secret = {"authorization": f"Bearer {TOKEN}"}
    assert server.get("/api/about", headers=with_secret).status_code == 200
    # Nor does it count at the next server with the same secret, which knows of no revocation.
    server.stop()
    assert start(MYCEL_TOKEN=TOKEN).get("/api/about", headers=session).status_code == 401
