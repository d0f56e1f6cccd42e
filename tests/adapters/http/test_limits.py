"""Too much, too slow, too early gone: a clear answer, and the server lives on."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from mycel.http.policy import BODY_BYTES_MAX, CONNECTIONS_MAX
from tests.adapters.http.conftest import (
    HTTP,
    NAMES,
    SILENCE_S,
    Server,
    Start,
    eventually,
    plant,
    read_all,
    read_until,
    request,
)

HELD = "100 Continue"


def status_and_error(reply: bytes) -> tuple[int, str]:
    head, _, body = reply.rpartition(b"\r\n\r\n")
    status = int(head.rpartition(b"HTTP/1.1 ")[2][:3])
    error = json.loads(body)["error"]
    assert error["hint"]
    return status, error["name"]


def names_body(padding: int = 0) -> bytes:
    return json.dumps({"command": NAMES, "parameters": {"p": "x" * padding}}).encode()


# Too much.


def test_a_body_at_the_limit_is_taken(garden: Server) -> None:
    empty = len(names_body())
    body = names_body(BODY_BYTES_MAX - empty)
    assert len(body) == BODY_BYTES_MAX
    reply = garden.say(request(body, "Connection: close"))
    assert reply.startswith(b"HTTP/1.1 200")


def test_a_body_beyond_it_is_refused_and_its_sender_hears_of_it(garden: Server) -> None:
    answer = garden.ask({"command": "x" * (10 << 20)})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "KIP_4002")
    assert garden.is_well()


@pytest.mark.parametrize(
    "body",
    [
        lambda: "{" + ",".join(f'"{n}":0' for n in range(300_000)) + ',"299999":0}',
        lambda: json.dumps({"command": "DESCRIBE PRIMER"} | {f"k{n}": 0 for n in range(200_000)}),
        lambda: json.dumps({"commands": [{"command": "x"} | {f"k{n}": 0 for n in range(200_000)}]}),
        lambda: json.dumps({"method": "x" * 4_000_000}),
    ],
    ids=["twins", "keys", "keys of an element", "method"],
)
def test_a_body_made_to_take_long_is_answered_before_the_deadline(
    garden: Server, body: Callable[[], str]
) -> None:
    # Looked at by the square of its size, each would take minutes.
    answer = HTTP.post(
        f"{garden.url}/kip",
        content=body(),
        headers={"content-type": "application/json"},
        timeout=SILENCE_S,
    )
    assert answer.status_code in (200, 400)


def test_a_body_that_does_not_say_its_length_is_counted(garden: Server) -> None:
    head = b"POST /kip HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    count = BODY_BYTES_MAX // 0x10000 + 1
    reply = garden.say(
        head + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        *[chunk] * count,
        b"0\r\n\r\n",
    )
    assert status_and_error(reply) == (413, "ResourceExhausted")


def test_a_body_in_chunks_is_one_body(garden: Server) -> None:
    body = names_body()
    parts = [b"%x\r\n%s\r\n" % (1, body[at : at + 1]) for at in range(len(body))]
    head = request(b"", "Transfer-Encoding: chunked", "Connection: close")
    head = head.replace(b"Content-Length: 0\r\n", b"")
    reply = garden.say(head, *parts, b"0\r\n\r\n")
    assert reply.endswith(b'{"result":["Fern","Oak"]}')


@pytest.mark.parametrize("chunks", [b"zz\r\n", b"1\r\nx\r\nzz\r\n", b"1\r\nxx\r\n0\r\n\r\n"])
def test_a_body_in_malformed_chunks_is_refused_once(garden: Server, chunks: bytes) -> None:
    head = request(b"", "Transfer-Encoding: chunked", "Connection: close")
    reply = garden.say(head.replace(b"Content-Length: 0\r\n", b""), chunks)
    assert reply.count(b"HTTP/1.1 4") == 1
    assert status_and_error(reply) == (400, "InvalidSyntax")


def test_a_body_that_is_only_announced_is_refused_before_it_comes(garden: Server) -> None:
    head = request(b"", "Expect: 100-continue").replace(b"Length: 0", b"Length: 99999999999")
    assert status_and_error(garden.say(head)) == (413, "ResourceExhausted")


def test_headers_beyond_the_limit_are_refused(garden: Server) -> None:
    whole = request(b"", f"X-Large: {'x' * (20 << 10)}", "Connection: close")
    endless = request(b"", f"X-Large: {'x' * (300 << 10)}", "Connection: close")
    for sent in (whole, endless):
        assert status_and_error(garden.say(sent)) == (431, "ResourceExhausted")
    assert garden.is_well()


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: 1\r\n\r\n",
        b"POST /kip HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /kip HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"\x00" * 100_000,
    ],
    ids=lambda sent: repr(sent[:30]),
)
def test_bytes_that_are_no_request_get_an_error_in_json(garden: Server, sent: bytes) -> None:
    status, _ = status_and_error(garden.say(sent))
    assert status in (400, 431)
    assert garden.is_well()


def test_an_older_protocol_without_a_host_is_refused(garden: Server) -> None:
    reply = garden.say(b"GET / HTTP/1.0\r\n\r\n")
    assert status_and_error(reply) == (421, "AccessDenied")


def test_several_requests_at_once_on_one_connection_are_answered_in_order(garden: Server) -> None:
    reads = [request(json.dumps({"command": text}).encode()) for text in (NAMES, "nonsense")]
    reply = garden.say(*reads, request(names_body(), "Connection: close"))
    assert [part[:3] for part in reply.split(b"HTTP/1.1 ")[1:]] == [b"200", b"400", b"200"]


# Too many.


def test_more_requests_than_may_be_are_told_to_come_back(start: Start) -> None:
    server = start("--concurrency", "1")
    with server.connection() as first:
        body = names_body()
        first.sendall(request(body, "Expect: 100-continue", "Connection: close")[: -len(body)])
        read_until(first, HELD.encode())
        refused = server.ask({"command": NAMES})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["error"]["name"] == "ResourceExhausted"
        assert server.is_well()
        first.sendall(body)
        assert read_all(first).endswith(b'{"result":["Fern","Oak"]}')
    assert server.run(NAMES) == ["Fern", "Oak"]


def test_twenty_writes_at_once_are_all_there(start: Start) -> None:
    server = start()
    names = [f"Tree {number:02}" for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda name: server.ask({"command": plant(name)}), names))
    assert [answer.status_code for answer in answers] == [200] * 20
    assert server.run(NAMES) == ["Fern", "Oak", *names]


def test_more_connections_than_may_be_are_closed_with_a_word(start: Start) -> None:
    server = start()
    with ExitStack() as stack:
        made = [stack.enter_context(server.connection()) for _ in range(CONNECTIONS_MAX + 1)]
        assert status_and_error(read_all(made[0])) == (503, "ResourceExhausted")
    eventually(lambda: server.get("/healthz").status_code == 200)


# Too slow.


def test_a_body_that_does_not_come_is_not_waited_for(start: Start) -> None:
    server = start("--timeout", "0.1")
    body = json.dumps({"command": plant("Ivy")}).encode()
    assert status_and_error(server.say(request(body)[:-1])) == (408, "ExecutionTimeout")
    assert server.run(NAMES) == ["Fern", "Oak"]


@pytest.mark.parametrize("sent", [b"", b"GET / HTT", b"GET / HTTP/1.1\r\nHost: localhost\r\n"])
def test_a_request_that_does_not_come_is_not_waited_for(start: Start, sent: bytes) -> None:
    server = start("--timeout", "0.1")
    assert status_and_error(server.say(sent)) == (408, "ExecutionTimeout")


def test_the_second_request_of_a_connection_is_not_waited_for_either(start: Start) -> None:
    server = start("--timeout", "0.1")
    with server.connection() as made:
        made.sendall(request(names_body()))
        read_until(made, b'{"result":["Fern","Oak"]}')
        made.sendall(b"GET / HTTP/1.1\r\n")
        assert status_and_error(read_all(made)) == (408, "ExecutionTimeout")


def test_a_command_that_takes_too_long_is_cut_off(start: Start) -> None:
    server = start("--timeout", "1")
    blocks = " ".join(f'?t{n} {{type: "$ConceptType"}}' for n in range(9))
    filters = " ".join(f"FILTER(?t{n}.name != ?t{n + 1}.attributes.x)" for n in range(8))
    counted = ", ".join(f"COUNT(?t{n}.name)" for n in range(9))
    answer = server.ask({"command": f"FIND({counted}) WHERE {{ {blocks} {filters} }}"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "KIP_4001")
    assert server.run(NAMES) == ["Fern", "Oak"]


# Too early gone.


def test_a_client_that_leaves_while_sending_has_sent_nothing(start: Start) -> None:
    server = start()
    body = json.dumps({"commands": [plant("Ivy"), plant("Moss")]}).encode()
    for cut in (1, len(body) // 2, len(body) + 40):
        with server.connection() as made:
            made.sendall(request(body)[:-cut])
    assert server.run(NAMES) == ["Fern", "Oak"]


def test_a_client_that_leaves_before_the_answer_has_written_all_of_it(start: Start) -> None:
    server = start()
    whole = " ".join(
        f'CONCEPT {{ {{type: "Plant", name: "Moss {number:03}"}} }}' for number in range(500)
    )
    with server.connection() as made:
        made.sendall(request(json.dumps({"command": f"UPSERT {{ {whole} }}"}).encode()))
    found: set[int] = set()

    def is_written() -> bool:
        found.add(len(server.run(NAMES)))
        return max(found) > 2

    eventually(is_written)
    assert found <= {2, 502}


def test_readers_that_never_read_hold_nobody_up(garden: Server) -> None:
    with garden.connection() as made:
        made.settimeout(SILENCE_S)
        made.sendall(request(json.dumps({"commands": ["DESCRIBE PRIMER"] * 200}).encode()))
        assert garden.run(NAMES) == ["Fern", "Oak"]
