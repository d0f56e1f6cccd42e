"""Requests made to be refused, to never end, or to be parsed for ever."""

import random
import select
from contextlib import ExitStack

from tests.adapters.http.conftest import NAMES, Server, read_all
from tests.attacks.conftest import BEARER, ask, asking, posting

UNENDING = b"Host: localhost\r\nContent-Length: 4000000\r\n\r\n{"


def test_slow_bodies_for_the_health_of_the_server_are_refused_at_once(target: Server) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(target.connection()) for _ in range(70)]
        for made in slow:
            made.sendall(b"POST /healthz HTTP/1.1\r\n" + UNENDING)
        for made in slow:
            assert made.recv(12) == b"HTTP/1.1 405"
        assert ask(target, NAMES) == (200, {"result": ["Fern", "Oak"]})
    with target.connection() as made:
        made.sendall(b"GET /healthz HTTP/1.1\r\n" + UNENDING)
        assert read_all(made).startswith(b"HTTP/1.1 400")
    with target.connection() as made:
        made.sendall(b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert read_all(made).startswith(b"HTTP/1.1 200")


def test_slow_requests_that_need_no_token_keep_nobody_out(target: Server) -> None:
    ticket = b"POST /api/ticket HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with ExitStack() as stack:
        slow = [stack.enter_context(target.connection()) for _ in range(70)]
        for made in slow:
            made.sendall(ticket + b"Content-Length: 4000\r\n\r\n{")
        # Thirty-two are waited for, and no more: those that have waited longest are given up.
        for made in slow[:38]:
            assert made.recv(12) == b"HTTP/1.1 503"
        assert select.select(slow[38:], [], [], 0)[0] == []
        assert target.is_well()
        # Nobody who looks at the page, or has a ticket, is kept out.
        page = b"GET /ui/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        assert target.say(page).startswith(b"HTTP/1.1 200")
        wrong = b'Content-Length: 14\r\nConnection: close\r\n\r\n{"ticket":"x"}'
        assert target.say(ticket + wrong).startswith(b"HTTP/1.1 401")
        assert ask(target, NAMES) == (200, {"result": ["Fern", "Oak"]})
    with target.connection() as made:
        made.sendall(ticket + b"Content-Length: 4097\r\n\r\n{")
        assert read_all(made).startswith(b"HTTP/1.1 413")


def test_a_refused_request_is_answered_before_its_body_and_nothing_after_it_is_read(
    target: Server,
) -> None:
    head = b"POST /kip HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with target.connection() as made:
        # The body never ends, and the whole of it would be 20,000 chunks and another request.
        made.sendall(head + b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n" + asking(NAMES))
        reply = read_all(made)
    assert reply.startswith(b"HTTP/1.1 401")
    assert reply.count(b"HTTP/1.1 ") == 1
    with target.connection() as made:
        made.sendall(head + b"1\r\n")
        assert read_all(made).startswith(b"HTTP/1.1 401")


def test_a_body_in_countless_pieces_is_refused_from_those_with_a_token_too(target: Server) -> None:
    head = asking("").partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
    with target.connection() as made:
        made.sendall(head + b"1\r\n \r\n" * 20_000)
        assert read_all(made).startswith(b"HTTP/1.1 413")


def test_two_lengths_of_one_body_close_the_connection(target: Server) -> None:
    both = asking(NAMES, "Transfer-Encoding: chunked")
    with target.connection() as made:
        made.sendall(both + asking(NAMES))
        reply = read_all(made)
    assert reply.startswith(b"HTTP/1.1 400")
    assert reply.count(b"HTTP/1.1 ") == 1


def test_targets_are_of_limited_length_and_may_be_urls_of_the_server(target: Server) -> None:
    def status(first: str) -> bytes:
        lines = [f"GET {first} HTTP/1.1", "Host: localhost", BEARER, "Connection: close", "", ""]
        return target.say("\r\n".join(lines).encode())[9:12]

    assert status("/" + "x" * 9000) == b"414"
    assert status("/?" + "x" * 9000) == b"414"
    assert status("http://localhost/openapi.json") == b"200"
    assert status("http://localhost/openapi.json?x=1") == b"200"
    assert status("http://localhost") == b"200"
    assert status("HTTP://LocalHost/openapi.json") == b"200"
    assert status("http://localhost?x=/nothing") == b"200"
    assert status("https://localhost/openapi.json") == b"421"
    assert status("ftp://localhost/openapi.json") == b"421"
    assert status("https://evil.example/openapi.json") == b"400"
    assert status("http://me@localhost/openapi.json") == b"400"
    assert status("http://localhost:1/openapi.json") == b"400"
    assert status("http:///openapi.json") == b"400"
    assert status("http://evil.example/openapi.json") == b"400"
    assert status("localhost:80") == b"400"
    assert status("*") == b"400"


def test_an_expectation_that_is_not_met_is_refused(target: Server) -> None:
    for value in ("other", "100-continue, other", "", "100-continue=1"):
        reply = target.say(asking(NAMES, f"Expect: {value}"))
        assert reply.startswith(b"HTTP/1.1 417"), value
        assert b"100-continue" in reply
    reply = target.say(asking(NAMES, "Expect: 100-Continue", "Connection: close"))
    assert b"HTTP/1.1 200" in reply


def test_one_pattern_does_not_exhaust_the_memory(target: Server) -> None:
    matching = 'FIND(?p.name) WHERE { ?p {type: "Page"} FILTER(REGEX(?p.attributes.text, :p)) }'
    for pattern in ("(a?)" * 50_000, "(a?)" * 2_000, "(?:.?){999}x(?:.?){999}y", "((a*)*)*b" * 800):
        status, told = ask(target, matching, p=pattern)
        assert status in (200, 429, 504), told
    assert ask(target, NAMES)[0] == 200


def test_a_plan_made_to_take_long_is_refused_or_cut_off(target: Server) -> None:
    tries = " ".join(f'OPTIONAL {{(?a,"shades",?b{at})}}' for at in range(6_000))
    status, told = ask(target, f'FIND(?a) WHERE {{ ?a {{type: "Plant"}} {tries} }}')
    assert (status, told["error"]["name"]) == (429, "ResourceExhausted")
    links = '(?a,"shades",?b)' * 9_000
    status, told = ask(target, f"FIND(?a) WHERE {{ {links} }}")
    assert (status, told["error"]["name"]) == (429, "ResourceExhausted")
    assert "variables" in told["error"]["message"]


def test_nonsense_in_numbers_and_keys_is_refused_alike_by_both_doors(target: Server) -> None:
    for text in ('{"command": NaN}', '{"command": "x", "command": "y"}'):
        for path in ("/kip", "/mcp"):
            reply = target.say(posting(path, text.encode()))
            assert reply.startswith(b"HTTP/1.1 400"), (path, text)
            assert b'"error"' in reply


def test_text_that_is_no_json_is_read_once_for_its_id(target: Server) -> None:
    for text, known in (
        (b'{"id":7,"' + b'\\"' * 32_000, b'"id":7'),
        (b'{"id":"' + b'\\"' * 32_000, b'"id":null'),
        (b'{"id":"' + b'\\"' * 32_000 + b"\\", b'"id":null'),
        (b'"' * 65_535, b'"id":null'),
        (b'{"id"' + b" " * 65_000, b'"id":null'),
        (b'{"id":' * 10_000, b'"id":null'),
    ):
        reply = target.say(posting("/mcp", text))
        assert reply.startswith(b"HTTP/1.1 400"), text[:20]
        assert known in reply


HEADS = (
    asking(NAMES),
    posting("/mcp", b'{"jsonrpc":"2.0","id":1,"method":"ping"}'),
    b"GET /ui/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://localhost/?branch=main HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"POST /kip HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
)
PIECES = (
    *(b"\r\n", b"\n", b"\r", b"\0", b":", b" ", b"\t", b"\xff", b"\r\n\r\n", b",", b"%00", b"%ff"),
    *(b"\r\n chunked", b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"Host: evil\r\n"),
    *(b"HTTP/1.1", b"HTTP/9.9", b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffff\r\n"),
    b"A" * 9_000,
)


def mangled(head: bytes, draw: random.Random) -> bytes:
    """A request with a few changes that break it, mostly."""
    text = bytearray(head)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(text) + 1)
        match draw.randrange(4):
            case 0:
                text[at:at] = draw.choice(PIECES)
            case 1:
                del text[at : at + draw.randint(1, 20)]
            case 2:
                text[at : at + 1] = bytes([draw.randrange(256)])
            case _:
                text[at:at] = text[at : at + draw.randint(1, 60)]
    return bytes(text)


def test_malformed_requests_are_answered_or_closed_and_harm_nothing(
    target: Server, seed: int
) -> None:
    draw = random.Random(seed)
    for _ in range(3):
        with ExitStack() as stack:
            sent = {}
            for _ in range(80):
                made = stack.enter_context(target.connection())
                sent[made] = mangled(draw.choice(HEADS), draw)
                made.sendall(sent[made])
            for made, request in sent.items():
                # Every one gets an answer, for what is missing too, after the time for it.
                reply = made.recv(65_536)
                assert reply == b"" or reply.startswith(b"HTTP/1.1 "), request
                assert reply[9:12] not in (b"500", b"502"), request
    assert target.is_well()
    assert ask(target, NAMES) == (200, {"result": ["Fern", "Oak"]})
