"""What each route answers, and what it says about requests that are wrong."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

import mycel
from mycel.http.kip_endpoint import respond
from mycel.http.page_routes import PAGE
from mycel.http.policy import LOG_PAGE_MAX
from tests.adapters.http.conftest import HTTP, NAMES, Server, Start, plant
from tests.cases import cases

JSON = {"content-type": "application/json"}


def post(server: Server, body: bytes | str, **headers: str) -> httpx.Response:
    return HTTP.post(f"{server.url}/kip", content=body, headers=headers or JSON)


def error_of(answer: httpx.Response) -> dict[str, Any]:
    told: dict[str, Any] = answer.json()["error"]
    assert told.keys() >= {"code", "name", "message", "hint"}
    assert "Traceback" not in answer.text
    return told


def test_the_root_says_what_the_server_is(garden: Server) -> None:
    told = garden.get().json()
    assert (told["name"], told["version"]) == ("mycel", mycel.__version__)
    assert {"execute_kip", "execute_kip_readonly", "list_logs"} <= set(told["capabilities"])
    assert told["endpoints"]["kip"] == f"{garden.url}/kip"
    listed = {address.removeprefix(garden.url) for address in told["endpoints"].values()}
    described = garden.get("/openapi.json").json()["paths"].keys() - {"/", "/ui"}
    assert listed - {PAGE} == {path for path in described if path.count("/") == 1}
    assert told["limits"]["body_bytes"] == 4 << 20


def test_health_is_one_word(garden: Server) -> None:
    answer = garden.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert answer.headers["cache-control"] == "no-store"


def test_an_unexpected_error_comes_with_the_id_of_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mycel.open(tmp_path / "garden.db") as db:
        for error, status in ((RuntimeError("?"), 500), (MemoryError(), 503)):
            monkeypatch.setattr(db.history, "log", Mock(side_effect=error))
            answer = respond(db, b'{"method": "list_logs", "id": 7}')
            told = json.loads(bytes(answer.body))
            assert (answer.status_code, told["id"]) == (status, 7)
            assert "nothing was written" not in told["error"]["message"]  # Nobody knows that.


def test_head_has_no_body(garden: Server) -> None:
    answer = httpx.head(f"{garden.url}/healthz")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    "body",
    [
        {"command": NAMES},
        {"method": "execute_kip", "params": {"command": NAMES}},
        {"method": "execute_kip_readonly", "params": {"command": NAMES}},
    ],
)
def test_a_command_is_answered_in_each_form(garden: Server, body: dict[str, Any]) -> None:
    answer = garden.ask(body)
    assert (answer.status_code, answer.json()) == (200, {"result": ["Fern", "Oak"]})


def test_parameters_and_batches_pass_through(garden: Server) -> None:
    named = "FIND(?p.attributes.height_m) WHERE { ?p {name: :name} }"
    answer = garden.ask({"commands": [named, "nonsense"], "parameters": {"name": "Oak"}})
    assert answer.status_code == 200
    first, second = answer.json()["result"]
    assert first == {"result": [20]}
    assert second["error"]["code"] == "KIP_1001"


def test_an_id_comes_back(garden: Server) -> None:
    told = {"jsonrpc": "2.0", "id": "a7", "method": "execute_kip", "params": {"command": NAMES}}
    assert garden.ask(told).json() == {"id": "a7", "result": ["Fern", "Oak"]}
    failed = garden.ask(told | {"params": {"command": "nonsense"}})
    assert (failed.status_code, failed.json()["id"]) == (400, "a7")


@pytest.mark.parametrize(
    ("command", "status", "code"),
    [
        ("nonsense", 400, "KIP_1001"),
        ('FIND(?x) WHERE { ?x {type: "Plont"} }', 400, "KIP_2001"),
        ('DELETE CONCEPT ?t DETACH WHERE { ?t {name: "$ConceptType"} }', 403, "KIP_3004"),
        ('UPSERT { CONCEPT { {id: "C:99998"} SET ATTRIBUTES {a: 1} } }', 404, "KIP_3002"),
    ],
)
def test_the_status_is_that_of_the_error(
    garden: Server, command: str, status: int, code: str
) -> None:
    answer = garden.ask({"command": command})
    assert (answer.status_code, error_of(answer)["code"]) == (status, code)


def test_the_door_that_only_reads_refuses_to_write(garden: Server) -> None:
    call = {"method": "execute_kip_readonly", "params": {"command": plant("Ivy")}}
    answer = garden.ask(call)
    assert (answer.status_code, error_of(answer)["code"]) == (403, "KIP_3004")
    assert garden.run(NAMES) == ["Fern", "Oak"]


@pytest.mark.parametrize("given", [10**30, None, 0.5])
def test_whatever_an_id_is_it_comes_back(garden: Server, given: Any) -> None:
    call = {"id": given, "method": "execute_kip", "params": {"command": NAMES}}
    answer = post(garden, json.dumps(call))
    assert json.loads(answer.text) == {"id": given, "result": ["Fern", "Oak"]}


# The journal.


def test_the_journal_is_read_in_pages(garden: Server) -> None:
    whole = garden.ask({"method": "list_logs", "params": {}}).json()
    assert "next_cursor" not in whole
    assert whole["result"][-1]["seq"] == min(entry["seq"] for entry in whole["result"])
    paged, params = [], {"limit": 1}
    while True:
        page = garden.ask({"method": "list_logs", "params": params}).json()
        paged += page["result"]
        if "next_cursor" not in page:
            break
        params = {"limit": 1, "cursor": page["next_cursor"]}
    assert paged == whole["result"]


@cases(
    "params",
    [
        {"limit": 0},
        {"limit": LOG_PAGE_MAX + 1},
        {"limit": "5"},
        {"limit": True},
        {"cursor": "5"},
        {"cursor": "log-0"},
        {"cursor": "log-9999999999999999999"},
        {"cursor": 5},
        {"page": 2},
    ],
)
def test_a_page_that_cannot_be_is_refused(garden: Server, params: dict[str, Any]) -> None:
    answer = garden.ask({"method": "list_logs", "params": params})
    assert answer.status_code == 400
    assert error_of(answer)["hint"]


# Wrong requests.


@cases(
    "body",
    [
        "",
        "{",
        "[]",
        "null",
        '"FIND"',
        "NaN",
        '{"command": NaN}',
        '{"command": "DESCRIBE PRIMER", "command": "nonsense"}',
        '{"command": "DESCRIBE PRIMER", "parameters": {"a": {"b": 1, "b": 1}}}',
        b"\xff\xfe",
        b'{"command": "\xff"}',
        '{"command": "\\ud800"}',
        '{"id": "\\ud800", "method": "execute_kip", "params": {"command": "DESCRIBE PRIMER"}}',
        '{"parameters": ' + "[" * 99_000 + "]" * 99_000 + "}",
        '{"command": 1' + "0" * 5000 + "}",
        "{}",
        '{"command": 5}',
        '{"commands": {}}',
        '{"method": "execute_kip"}',
        '{"method": "execute_kip", "params": []}',
        '{"method": "execute_kip", "command": "DESCRIBE PRIMER"}',
        '{"method": "execute_kpi", "params": {}}',
        '{"method": 5, "params": {}}',
        '{"method": ["execute_kip"], "params": {}}',
        '{"method": "\\ud800", "params": {}}',
        '{"\\ud800": 1, "method": "execute_kip", "params": {}}',
    ],
)
def test_a_malformed_body_is_refused_with_a_hint(garden: Server, body: bytes | str) -> None:
    answer = post(garden, body)
    assert answer.status_code == 400
    assert error_of(answer)["name"] in ("InvalidSyntax", "InvalidValueType")


@pytest.mark.parametrize("params", [{}, {"params": {}}, {"params": 5}, {"nonsense": 1}])
def test_a_method_that_is_none_is_what_is_complained_about(
    garden: Server, params: dict[str, Any]
) -> None:
    error = error_of(garden.ask({"method": "nope"} | params))
    assert error["message"] == "There is no method 'nope'."
    assert "execute_kip, execute_kip_readonly, list_logs" in error["hint"]


@pytest.mark.parametrize(
    ("params", "said"), [(None, "null"), ([], "a list"), ("x", "a text"), (True, "true or false")]
)
def test_params_that_are_no_object_are_called_what_they_are_in_json(
    garden: Server, params: Any, said: str
) -> None:
    error = error_of(garden.ask({"method": "execute_kip", "params": params}))
    assert error["message"] == f"`params` must be an object, not {said}."


def test_the_journal_needs_no_params(garden: Server) -> None:
    assert garden.ask({"method": "list_logs"}).json()["result"]


def test_a_method_with_a_slip_is_recognized(garden: Server) -> None:
    answer = garden.ask({"method": "execute_kpi", "params": {}})
    assert "'execute_kip'" in error_of(answer)["hint"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "text/json", "multipart/form-data"]
)
def test_a_body_that_does_not_say_it_is_json_is_refused(garden: Server, kind: str) -> None:
    answer = post(garden, json.dumps({"command": NAMES}), **{"content-type": kind})
    assert (answer.status_code, error_of(answer)["name"]) == (415, "InvalidSyntax")


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/Kip+JSON"])
def test_json_may_be_said_in_other_words(garden: Server, kind: str) -> None:
    assert post(garden, json.dumps({"command": NAMES}), **{"content-type": kind}).is_success


@pytest.mark.parametrize("path", ["/nothing", "/kip/", "//", "/kip%2f", "/../etc/passwd", "/%00"])
def test_an_unknown_path_is_an_error_in_json(garden: Server, path: str) -> None:
    reply = garden.say(
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    )
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404")
    assert json.loads(body)["error"]["name"] == "NotFound"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("GET", "/kip", "POST"), ("PUT", "/kip", "POST"), ("POST", "/healthz", "GET")],
)
def test_another_method_is_an_error_in_json(
    garden: Server, method: str, path: str, allowed: str
) -> None:
    answer = HTTP.request(method, garden.url + path)
    assert answer.status_code == 405
    assert allowed in answer.headers["allow"]
    assert allowed in error_of(answer)["hint"]


def test_a_request_names_the_branch_it_is_for(start: Start, graph: Path) -> None:
    with mycel.open(graph) as db:
        db.branches.create("draft")
    server = start()
    on_draft = {"params": {"branch": "draft"}}
    assert server.ask({"command": plant("Moss")}, **on_draft).status_code == 200
    assert server.ask({"command": NAMES}, **on_draft).json()["result"] == ["Fern", "Moss", "Oak"]
    assert server.run(NAMES) == ["Fern", "Oak"]
    here, there = server.get("/").json()["graph"], server.get("/", **on_draft).json()["graph"]
    assert (here["branch"], there["branch"]) == ("main", "draft")
    assert here["overall_root"] != there["overall_root"]
    for name, status in (("nowhere", 404), ("../graph", 400), ("", 400)):
        for answer in (
            server.ask({"command": NAMES}, params={"branch": name}),
            server.get("/", params={"branch": name}),
        ):
            assert (answer.status_code, str(graph) in answer.text) == (status, False)
    assert server.ask({"command": NAMES}, params={"branch": "main"}).json()["result"]
    reading = start("--readonly")
    assert reading.ask({"command": plant("Ivy")}, **on_draft).status_code == 403
