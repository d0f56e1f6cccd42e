"""Who may ask: names of the host, origins of pages, tokens."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mycel.errors import ConstraintViolation
from mycel.http.policy import Policy, Token, host_name, names_of, origins_of
from tests.adapters.http.conftest import HTTP, NAMES, Server, Start
from tests.adapters.warm import warm_command
from tests.cases import cases

SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQ"
BEARER = {"authorization": f"Bearer {SECRET}"}
APP = "https://app.example"


# Host: what a name that was bound to another address would send.


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:65535", "[::1]:80", "localhost."]
)
def test_a_name_of_this_machine_is_answered(garden: Server, host: str) -> None:
    assert garden.get(headers={"host": host}).status_code == 200


@cases(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example:6923",
        "localhost@evil.example",
        "127.0.0.2",
        "[::2]",
        "0.0.0.0",
        "2130706433",
        "localhost/",
        "",
    ],
)
def test_another_name_is_misdirected(garden: Server, host: str) -> None:
    answer = garden.get("/healthz", headers={"host": host})
    assert (answer.status_code, answer.json()["error"]["name"]) == (421, "AccessDenied")


def test_a_name_can_be_allowed(start: Start) -> None:
    server = start("--allow-host", "Graph.example:443")
    assert server.get(headers={"host": "graph.EXAMPLE"}).status_code == 200
    assert server.get(headers={"host": "other.example"}).status_code == 421


def test_the_address_that_was_reached_is_a_name() -> None:
    policy = Policy(hosts=names_of("0.0.0.0"))
    assert policy.knows_host("192.0.2.7:6923", "192.0.2.7")
    assert policy.knows_host("192.0.2.7", "::ffff:192.0.2.7")
    assert policy.knows_host("[fe80::1]:1", "fe80::1%eth0")
    assert not policy.knows_host("192.0.2.8", "192.0.2.7")
    assert not policy.knows_host("name.example", "192.0.2.7")
    assert not policy.knows_host(None, "192.0.2.7")


def test_an_address_of_ipv6_is_a_name_without_its_zone() -> None:
    assert "fe80::1" in names_of("fe80::1%eth0")


@cases("header", ["a b", "[::1", "::1", "a:b", "a:1:2", "http://a", "a/b", "a\n"])
def test_a_malformed_host_is_none(header: str) -> None:
    assert host_name(header) is None


# Origin: what a page in a browser would send.


def test_a_page_of_the_server_itself_may_ask(garden: Server) -> None:
    assert garden.ask({"command": NAMES}, headers={"origin": garden.url}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://localhost:1",
        "null",
        "file://",
        "",
        "http://127.0.0.1.evil.example",
    ],
)
def test_a_page_from_elsewhere_may_not(garden: Server, origin: str) -> None:
    answer = garden.ask({"command": NAMES}, headers={"origin": origin})
    assert (answer.status_code, answer.json()["error"]["name"]) == (403, "AccessDenied")
    assert "access-control-allow-origin" not in answer.headers


def test_an_origin_can_be_allowed_and_no_other_is(start: Start) -> None:
    server = start("--allow-origin", f"{APP}/")
    answer = server.ask({"command": "nonsense"}, headers={"origin": APP})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (400, APP)
    assert "mcp-session-id" in answer.headers["access-control-expose-headers"].lower()
    assert "origin" in answer.headers["vary"].lower()
    assert "access-control-allow-origin" not in server.get().headers
    asked = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type",
    }
    before = HTTP.options(f"{server.url}/kip", headers={"origin": APP} | asked)
    assert before.status_code == 204
    assert before.headers["access-control-allow-origin"] == APP
    assert before.headers["access-control-allow-headers"] == "authorization, content-type"
    refused = HTTP.options(f"{server.url}/kip", headers={"origin": "https://other.example"} | asked)
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers


@cases("origin", ["app.example", "https://", "https://a/b", "https://u@a", ""])
def test_what_is_no_origin_cannot_be_allowed(origin: str) -> None:
    with pytest.raises(ConstraintViolation, match="is no origin"):
        origins_of([origin])


# Tokens.


def test_a_server_with_a_token_answers_only_those_who_bring_it(
    start: Start, tmp_path: Path
) -> None:
    held = tmp_path / "token"
    held.write_text(f"{SECRET}\n", encoding="utf-8")
    server = start("--token-file", held, "--verbose")
    assert server.ask({"command": NAMES}, headers=BEARER).status_code == 200
    assert server.get(headers={"authorization": f"bearer  {SECRET}"}).status_code == 200
    wrongs = (
        "",
        "Bearer",
        SECRET,
        f"Basic {SECRET}",
        f"Bearer {SECRET}x",
        f"Bearer {SECRET[:-1]}",
        "Bearer é".encode("latin-1"),
    )
    others = [("", path) for path in ("/", "/openapi.json", "/mcp", "/nothing")]
    for wrong, path in [(each, "/kip") for each in wrongs] + others:
        answer = HTTP.post(server.url + path, headers={"authorization": wrong})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert SECRET not in answer.text
    assert server.ask({"command": NAMES}).status_code == 401
    assert server.is_well()
    status, said, complained = server.stop()
    assert status == 0
    assert SECRET not in said + complained


def test_those_without_a_token_learn_that_the_graph_is_gone_and_not_where_it_was(
    start: Start, graph: Path
) -> None:
    server = start(MYCEL_TOKEN=SECRET)
    graph.rename(graph.with_suffix(".aside"))
    answer = server.get("/healthz")
    assert answer.status_code == 503
    assert "gone" in answer.json()["error"]["message"]
    assert str(graph) not in answer.text
    known = server.get("/", headers=BEARER)
    assert known.status_code == 503
    assert str(graph) in known.json()["error"]["message"]


def test_the_token_may_come_from_the_environment(start: Start) -> None:
    server = start(MYCEL_TOKEN=SECRET)
    assert server.get().status_code == 401
    assert server.get(headers=BEARER).status_code == 200


def refused_start(graph: Path, *options: str, **environment: str) -> dict[str, str]:
    words = ["serve", "--json", "--db", str(graph), "--port", "0", *options]
    done = subprocess.run(
        [*warm_command("mycel"), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path)} | environment,
    )
    assert (done.returncode, done.stdout) != (0, "")
    assert "Traceback" not in done.stderr
    told: dict[str, str] = json.loads(done.stderr)["error"]
    return told


def test_a_server_that_others_can_reach_wants_a_token(graph: Path) -> None:
    told = refused_start(graph, "--host", "0.0.0.0")
    assert told["name"] == "AccessDenied"
    assert "--token-file" in told["hint"]


def test_a_token_that_is_none_is_refused(graph: Path) -> None:
    told = refused_start(graph, MYCEL_TOKEN="short")
    assert "short" not in told["message"] + told["hint"]
    assert "secrets.token_urlsafe" in told["hint"]


def test_a_server_for_others_answers_at_its_address(start: Start) -> None:
    server = start("--host", "0.0.0.0", MYCEL_TOKEN=SECRET)
    assert server.url.startswith("http://127.0.0.1:")
    assert server.get(headers=BEARER).status_code == 200
    assert server.get(headers=BEARER | {"host": "evil.example"}).status_code == 421


@cases("secret", ["", "short", "x" * 15, "white space in the middle", "é" * 20])
def test_a_weak_or_impossible_token_is_refused(secret: str) -> None:
    with pytest.raises(ConstraintViolation) as caught:
        Token(secret)
    assert not secret or secret not in str(caught.value)


def test_a_token_does_not_show_itself() -> None:
    token = Token(SECRET)
    assert SECRET not in repr(token) + repr(Policy(token=token))


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_the_loopback_of_ipv6_will_do(start: Start) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("there is no IPv6 here")
    server = start("--host", "::1")
    assert server.url.startswith("http://[::1]:")
    assert server.is_well()
    assert server.ask({"command": NAMES}).json() == {"result": ["Fern", "Oak"]}


def test_localhost_is_both_of_its_addresses(start: Start) -> None:
    server = start("--host", "localhost")
    assert server.url.startswith("http://localhost:")
    assert server.is_well()
