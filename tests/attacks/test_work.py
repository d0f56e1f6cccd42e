"""Too much work: of time, turns and memory; clients that leave or do not read."""

import json
import random
import select
import signal
import socket
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import apsw
import pytest

import mycel
from tests.adapters.http.conftest import (
    NAMES,
    SILENCE_S,
    Server,
    Start,
    eventually,
    plant,
    read_all,
)
from tests.attacks.conftest import (
    HEAVY,
    HUGE,
    LARGE,
    answer_in,
    ask,
    asking,
    free,
    resident_kib,
)

RESIDENT_KIB_MAX = 400_000


def test_a_batch_has_one_deadline_for_all_its_commands(target: Server) -> None:
    status, told = ask(target, [HEAVY] * 256)
    assert status == 200
    assert {each["error"]["name"] for each in told["result"]} == {"ExecutionTimeout"}
    # The server is free again: nothing of the batch goes on.
    assert ask(target, NAMES) == (200, {"result": ["Fern", "Oak"]})


def test_a_batch_of_large_results_is_cut_at_the_size_of_an_answer(attacked: Start) -> None:
    server = attacked("--answers-mib", "32")
    status, told = ask(server, [LARGE] * 40)
    sizes = [len(each.get("result", ())) for each in told["result"]]
    assert status == 200
    assert sizes[0] == 8
    assert told["result"][-1]["error"]["name"] == "ResourceExhausted"
    assert resident_kib(server) < RESIDENT_KIB_MAX


def test_cheap_requests_are_answered_while_heavy_ones_run(attacked: Start) -> None:
    server = attacked("--timeout", "60")
    with ExitStack() as stack:
        heavy = [stack.enter_context(server.connection()) for _ in range(24)]
        for made in heavy:
            made.sendall(asking(HEAVY))
        for name in ("Ivy", "Moss", "Reed"):
            assert ask(server, plant(name))[0] == 200
            assert ask(server, NAMES)[0] == 200
        # None of the heavy ones has been answered meanwhile.
        assert select.select(heavy, [], [], 0)[0] == []


def test_a_read_ends_when_its_client_has_gone(attacked: Start) -> None:
    server = attacked("--timeout", "600", "--concurrency", "1")
    with server.connection() as made:
        made.sendall(asking(HEAVY))
        eventually(lambda: ask(server, NAMES)[0] == 503)
    eventually(lambda: ask(server, NAMES)[0] == 200)


def test_the_server_ends_within_the_grace_period_whatever_runs(attacked: Start) -> None:
    server = attacked("--timeout", "600", "--grace", "1")
    with ExitStack() as stack:
        heavy = [stack.enter_context(server.connection()) for _ in range(6)]
        for made in heavy[:5]:
            made.sendall(asking([HEAVY] * 20))
        # One that no progress handler stops: a pattern against a long text.
        slow = 'FIND(?p.name) WHERE { ?p {type: "Page"} FILTER(REGEX(?p.attributes.text, :p)) }'
        heavy[5].sendall(asking(slow, p="(?:l|o|r?){500}x"))
        assert ask(server, NAMES)[0] == 200
        server.process.send_signal(signal.SIGTERM)
        # Its own limit is a second; the machine may be slow.
        assert server.process.wait(20) == 0
    said = [json.loads(line)["event"] for line in server.process.communicate()[0].splitlines()]
    assert said == ["stopping", "stopped"]


def test_a_long_write_is_rolled_back_and_others_write(attacked: Start) -> None:
    server = attacked("--write-timeout", "0.15")
    assert ask(server, 'UPSERT { CONCEPT { {type: "$ConceptType", name: "Weed"} } }')[0] == 200
    for start in range(0, 20_000, 125):
        weeds = (
            f'CONCEPT {{ {{type: "Weed", name: "{at}"}} }}' for at in range(start, start + 125)
        )
        assert ask(server, f"UPSERT {{ {' '.join(weeds)} }}")[0] == 200
    weed = '{ ?w {type: "Weed"} }'
    status, told = ask(server, f"UPDATE ?w SET ATTRIBUTES {{ seen: true }} WHERE {weed}")
    assert (status, told["error"]["name"]) == (504, "ExecutionTimeout")
    assert "nothing was written" in told["error"]["message"]
    seen = 'FIND(COUNT(?w)) WHERE { ?w {type: "Weed"} FILTER(?w.attributes.seen == true) }'
    assert ask(server, seen) == (200, {"result": 0})
    assert ask(server, plant("Ivy"))[0] == 200
    assert ask(server, NAMES) == (200, {"result": ["Fern", "Ivy", "Oak"]})


def test_answers_that_nobody_reads_are_bounded_and_given_up(attacked: Start) -> None:
    server = attacked("--answers-mib", "24", "--timeout", "1")
    with ExitStack() as stack:
        slow = [stack.enter_context(socket.socket()) for _ in range(20)]
        for made in slow:
            made.settimeout(SILENCE_S)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            made.connect(server.address)
            made.sendall(asking(LARGE))
        # Those that are refused can be read at once; the others hold all there is.
        refused = [made for made in slow if made.recv(12) != b"HTTP/1.1 200"]
        assert 0 < len(refused) < 20
        assert ask(server, NAMES) == (200, {"result": ["Fern", "Oak"]})
        # They are disconnected, and what they held is free again.
        eventually(lambda: ask(server, LARGE)[0] == 200)
        assert any(len(read_all(made)) < 4_000_000 for made in slow if made not in refused)
    assert resident_kib(server) < RESIDENT_KIB_MAX


def test_many_huge_answers_that_nobody_reads_do_not_exhaust_the_memory(attacked: Start) -> None:
    server = attacked("--timeout", "10")
    with ExitStack() as stack:
        slow = [stack.enter_context(server.connection()) for _ in range(60)]
        for made in slow:
            made.sendall(asking(HUGE))
        # A few are made, one after the other; those without room are told when to come back.
        begun = [made.recv(12) for made in slow]
        assert set(begun) == {b"HTTP/1.1 200", b"HTTP/1.1 503"}
        assert server.is_well()
        assert ask(server, NAMES) == (200, {"result": ["Fern", "Oak"]})
    assert resident_kib(server) < RESIDENT_KIB_MAX
    eventually(lambda: ask(server, HUGE)[0] == 200)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process that runs")
def test_a_server_without_memory_refuses_stays_and_stops(attacked: Start) -> None:
    server = attacked("--grace", "5")
    assert ask(server, LARGE)[0] == 200
    free(server, 48 << 20)
    with server.connection() as made:
        made.sendall(asking(HUGE, "Connection: close"))
        reply = read_all(made)
    assert reply.startswith(b"HTTP/1.1 503"), reply[:300]
    assert b"\r\nretry-after: 1\r\n" in reply
    assert b"too little memory" in reply
    assert ask(server, NAMES)[0] == 200
    # Now there is not even enough for another thread.
    free(server, 0)
    with ExitStack() as stack:
        several = [stack.enter_context(server.connection()) for _ in range(12)]
        for made in several:
            made.sendall(asking(HEAVY))
        # Those that find a thread which is there run for long; the others are refused.
        first, *_ = select.select(several, [], [], SILENCE_S)[0]
        assert answer_in(first)[0] == 503
    free(server, 512 << 20)
    assert ask(server, LARGE)[0] == 200
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(20) == 0


def test_streams_are_limited_in_number_for_a_client(attacked: Start) -> None:
    server = attacked("--streams", "8")
    lines = ["GET /mcp HTTP/1.1", "Host: localhost", "Accept: text/event-stream", "", ""]
    with ExitStack() as stack:
        streams = [stack.enter_context(server.connection()) for _ in range(3)]
        for made in streams:
            made.sendall("\r\n".join(lines).encode())
        begun = [made.recv(12) for made in streams]
        assert sorted(begun) == [b"HTTP/1.1 200", b"HTTP/1.1 200", b"HTTP/1.1 503"]
        # A stream is no request in progress.
        assert ask(server, NAMES)[0] == 200
    eventually(lambda: _opens(server, "\r\n".join(lines)))
    # The head of a stream is all that HEAD asks for: no stream stays open behind it.
    head = b"HEAD /api/changes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert server.say(head).startswith(b"HTTP/1.1 200")


def _opens(server: Server, sent: str) -> bool:
    with server.connection() as made:
        made.sendall(sent.encode())
        return made.recv(12) == b"HTTP/1.1 200"


def test_connections_that_ask_nothing_keep_nobody_out(attacked: Start) -> None:
    server = attacked("--connections", "4")
    with ExitStack() as stack:
        idle = [stack.enter_context(server.connection()) for _ in range(4)]
        assert ask(server, NAMES)[0] == 200
        reply = read_all(idle[0])  # It has waited longest.
        assert reply.startswith(b"HTTP/1.1 503")
        assert b"\r\nretry-after: " in reply
        idle[3].sendall(asking(NAMES))
        assert answer_in(idle[3])[0] == 200


def test_more_connections_than_allowed_are_told_when_to_come_back(attacked: Start) -> None:
    server = attacked("--connections", "4", "--timeout", "60")
    head = asking(NAMES, "Expect: 100-continue").partition(b"{")[0]
    with ExitStack() as stack:
        for _ in range(4):
            made = stack.enter_context(server.connection())
            made.sendall(head)
            assert made.recv(21) == b"HTTP/1.1 100 Continue"  # The request is in progress.
        reply = server.say(asking(NAMES, "Connection: close"))
    assert reply.startswith(b"HTTP/1.1 503")
    assert b"\r\nretry-after: " in reply
    eventually(lambda: _opens(server, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))


def test_an_answer_is_read_by_those_who_read(target: Server) -> None:
    with target.connection() as made:
        made.sendall(asking(LARGE) + asking(NAMES, "Connection: close"))
        status, told = answer_in(made)
    assert (status, len(told["result"])) == (200, 8)


def test_a_pattern_that_takes_long_for_each_text_ends_at_the_deadline(
    attacked: Start, forest: Path
) -> None:
    noise = "".join(random.Random(5).choices("ab", k=20_000))
    many = "".join(
        f'CONCEPT {{ {{type: "Plant", name: "P{at}"}} SET ATTRIBUTES {{t: :t}} }} '
        for at in range(20)
    )
    with mycel.open(forest) as db:
        db.execute(f"UPSERT {{ {many} }}", {"t": noise})
    server = attacked("--timeout", "0.5")
    # The texts are few rows for SQLite, which would not look at the clock between them.
    slow = 'FIND(?p.name) WHERE { ?p {type: "Plant"} FILTER(REGEX(?p.attributes.t, :p)) }'
    status, told = ask(server, slow, p="a[ab]{200}c")
    assert (status, told["error"]["name"]) == (504, "ExecutionTimeout")
    assert "may succeed" not in told["error"]["message"]


def test_a_write_whose_targets_take_long_to_find_keeps_nobody_from_writing(
    attacked: Start,
) -> None:
    server = attacked("--timeout", "60", "--write-timeout", "60")
    # No four names are in such an order, so all fours are compared.
    circle = " FILTER(?a.name < ?b.name && ?b.name < ?c.name && ?c.name < ?d.name"
    leaves = " ".join(f'?{each} {{type: "Leaf"}}' for each in "abcd")
    where = f"WHERE {{ {leaves} {circle} && ?d.name < ?a.name) }}"
    with ExitStack() as stack:
        long = [stack.enter_context(server.connection()) for _ in range(3)]
        long[0].sendall(asking(f"UPDATE ?a SET ATTRIBUTES {{x: 1}} {where}"))
        long[1].sendall(asking(f"DELETE CONCEPT ?a DETACH {where}"))
        long[2].sendall(asking(f"MERGE CONCEPT ?a INTO ?b {where}"))
        for at in range(20):
            assert ask(server, plant(f"Ivy {at}"))[0] == 200
        assert select.select(long, [], [], 0)[0] == []


def test_a_batch_with_a_long_search_locks_the_file_no_longer_than_one_transaction(
    attacked: Start, forest: Path
) -> None:
    server = attacked("--timeout", "120", "--write-timeout", "1")
    leaves = " ".join(f'?{each} {{type: "Leaf"}}' for each in "abcd")
    circle = "?a.name < ?b.name && ?b.name < ?c.name && ?c.name < ?d.name && ?d.name < ?a.name"
    slow = f"UPDATE ?a SET ATTRIBUTES {{x: 1}} WHERE {{ {leaves} FILTER({circle}) }}"

    def is_locked() -> bool:
        try:
            other.execute("BEGIN IMMEDIATE; ROLLBACK")
        except apsw.BusyError:
            return True
        return False

    with closing(apsw.Connection(str(forest))) as other, server.connection() as made:
        made.sendall(asking([plant("Ivy"), slow]))
        # The first command waits for the second one, to share its commit.
        eventually(is_locked)
        other.set_busy_timeout(30_000)
        assert not is_locked()
        status, told = answer_in(made)
    assert status == 200
    written, refused = told["result"]
    assert "result" in written
    assert refused["error"]["name"] == "ExecutionTimeout"
