"""The process: what it writes where, how it ends, and others beside it on the same file."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import mycel
from mycel.knowledge.knowledge import Knowledge
from mycel.mcp.stdio import MESSAGE_LINE_BYTES_MAX
from tests.adapters.mcp.clients import COMMAND, Pipe, Session, arguments_for, connected
from tests.adapters.warm import warm_command

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


def test_the_database_is_created_with_the_core_capsules(tmp_path: Path) -> None:
    db = tmp_path / "new.db"
    with connected(db) as session:
        assert "Person" in session.ok("describe_graph", topic="types").text
    with mycel.open(db, create=False) as graph:
        assert graph.verify().ok


def test_a_server_of_a_branch_writes_to_the_branch_alone(db: Path) -> None:
    with mycel.open(db) as graph:
        graph.branches.create("draft")
        before = graph.snapshot()
        with connected(db, "--branch", "draft") as session:
            session.ok("remember_knowledge", concepts=[{"uri": "concept://shop/new"}])
        assert graph.branches.get("draft").parting.ahead > 0
        assert graph.snapshot() == before


def test_a_server_keeps_the_git_mirror_up_to_date(db: Path) -> None:
    with mycel.open(db) as graph:
        folder = mycel.Mirror.create(graph, db.parent / "mirror").folder
    with Pipe(db) as pipe:
        pipe.shake_hands()
        pipe.send_call(1, "remember_knowledge", concepts=[{"uri": "concept://shop/new"}])
        _, errors, status = pipe.finish()
    assert (errors, status) == ("", 0)
    assert "uri: concept://shop/new\n" in (folder / "concepts/shop/new.md").read_text("utf-8")


def test_when_the_input_ends_what_was_asked_before_is_answered(db: Path) -> None:
    with Pipe(db) as pipe:
        pipe.shake_hands()
        for number in range(1, 11):
            pipe.send_call(number, "remember_knowledge", concepts=[{"uri": f"n/{number}"}])
        answers, errors, status = pipe.finish()
    assert {answer["id"] for answer in answers} == set(range(1, 11))
    assert (errors, status) == ("", 0)
    assert not any(answer["result"]["isError"] for answer in answers)


def test_an_input_that_ends_at_once_ends_the_server(db: Path) -> None:
    with Path(__file__).open("rb") as file:
        cold = [COMMAND[0], *arguments_for(db)]
        warm = [*warm_command("mycel"), "mcp", "--db", db]
        for source, command in ((subprocess.DEVNULL, cold), (file, warm)):
            done = subprocess.run(
                command,
                stdin=source,
                capture_output=True,
                timeout=60,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, b"")


@needs_signals
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_server_after_what_it_was_writing(
    db: Path, number: signal.Signals, status: int
) -> None:
    with Pipe(db) as pipe:
        pipe.shake_hands()
        pipe.send_call(1, "remember_knowledge", concepts=[{"uri": "kept"}])
        assert pipe.receive()["id"] == 1
        pipe.process.send_signal(number)
        assert pipe.process.wait(60) == status
        assert pipe.process.stderr is not None
        assert b"Traceback" not in pipe.process.stderr.read()
    with mycel.open(db, create=False) as graph:
        assert graph.verify().ok
        assert Knowledge(graph, workspace=_workspace()).get("kept")


@needs_signals
def test_hostile_files_hold_up_neither_other_calls_nor_the_end(db: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for number in range(60):  # Each takes all of the time that a file may take.
        (project / f"{number}.c").write_text("*" * 300_000)
    with Pipe(db, "--root", str(project)) as pipe:
        pipe.shake_hands()
        pipe.send_call(1, "bootstrap_workspace")
        pipe.send_call(2, "describe_graph")
        assert pipe.receive()["id"] == 2
        pipe.process.send_signal(signal.SIGTERM)
        assert pipe.process.wait(60) == 0
        assert pipe.process.stderr is not None
        assert b"Traceback" not in pipe.process.stderr.read()


def _workspace() -> str:
    return Path.cwd().name.lower()


@needs_signals
def test_a_client_that_no_longer_reads_is_no_reason_to_fail(db: Path) -> None:
    with Pipe(db) as pipe:
        pipe.shake_hands()
        assert pipe.process.stdout is not None
        pipe.process.stdout.close()
        pipe.send_call(1, "remember_knowledge", concepts=[{"uri": "unheard"}])
        pipe.send_call(2, "describe_graph")
        assert pipe.process.stdin is not None
        pipe.process.stdin.close()
        assert pipe.process.wait(60) == 0
    with mycel.open(db, create=False) as graph:
        assert Knowledge(graph, workspace=_workspace()).get("unheard")


LINES: dict[bytes, tuple[int, object]] = {
    b"this is no JSON": (-32700, None),
    b"\xff\xfe": (-32700, None),
    b'{"id": 7, "jsonrpc": "2.0", "method": ': (-32700, 7),
    b'{"id": 8, "jsonrpc": "2.0", "method": "ping", "params": {"x": "\\ud800"}}': (-32700, 8),
    b'{"id": "seven", "hello": true}': (-32600, "seven"),
    b'{"id": 20, "jsonrpc": "2.0", "method": "ping", "id": 21}': (-32600, 20),
    b'{"id": 22, "jsonrpc": "2.0", "method": "ping", "params": {"a": 1, "a": 1}}': (-32600, 22),
    b'{"id": 23, "jsonrpc": "2.0", "method": "ping", "params": {"a": NaN}}': (-32700, 23),
    b"[1, 2, 3]": (-32600, None),
    b'{"id": null, "jsonrpc": "2.0", "method": "ping"}': (-32600, None),
    b'{"id": 1.5, "jsonrpc": "2.0", "method": "ping"}': (-32600, None),
    b'{"id": true, "jsonrpc": "2.0", "method": "ping"}': (-32600, None),
    b'{"id": {}, "jsonrpc": "2.0", "method": "ping"}': (-32600, None),
    b'{"id": ' + b"9" * 5000 + b', "jsonrpc": "2.0", "method": "ping"}': (-32700, None),
    b'{"params": {"id": 7}, "jsonrpc": "2.0", "method": ': (-32700, None),
    b'{"id": 10, "jsonrpc": "2.0", "method": "ping", "params": [1]}': (-32600, 10),
    b'{"id": 11, "jsonrpc": "2.0", "method": "tools/call", "params": {}}': (-32602, 11),
    b'{"id": 12, "jsonrpc": "2.0", "method": "nope"}': (-32601, 12),
    b'{"id": 9, "x": "' + b"x" * MESSAGE_LINE_BYTES_MAX + b'"}': (-32600, 9),
}


def test_a_line_that_is_no_message_gets_an_answer_and_the_next_one_counts(db: Path) -> None:
    with Pipe(db) as pipe:
        pipe.shake_hands()
        for line, expected in LINES.items():
            pipe.write(line + b"\n")
            answer = pipe.receive()
            assert (answer["error"]["code"], answer["id"]) == expected, line[:60]
        pipe.write(b"\n")
        pipe.send_call(1, "manage_context")
        assert pipe.receive()["id"] == 1


def test_a_cancellation_of_nothing_changes_nothing(db: Path) -> None:
    with Pipe(db) as pipe:
        pipe.shake_hands()
        for number, given in enumerate([[1], {}, None, 1.5, True, "", "never sent"]):
            for params in ({"requestId": given}, {}):
                pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
            pipe.send_call(number, "manage_context")
            assert pipe.receive()["id"] == number, given


def test_a_call_before_the_handshake_is_told_what_comes_first(db: Path) -> None:
    with Pipe(db) as pipe:
        pipe.send_call(1, "manage_context")
        assert "initialize" in pipe.receive()["error"]["message"]
        pipe.shake_hands()


def test_a_call_that_is_cancelled_gets_no_answer_and_the_server_lives_on(db: Path) -> None:
    with Pipe(db) as pipe:
        pipe.shake_hands()
        for number in range(1, 40):
            pipe.send_call(number, "remember_knowledge", concepts=[{"uri": f"c/{number}"}])
            pipe.send(
                {
                    "jsonrpc": "2.0",
                    "method": "notifications/cancelled",
                    "params": {"requestId": number},
                }
            )
        pipe.send_call(99, "manage_context")
        while pipe.receive()["id"] != 99:
            pass
        _, errors, status = pipe.finish()
        assert (errors, status) == ("", 0)
    with mycel.open(db, create=False) as graph:
        assert graph.verify().ok


def test_nothing_but_the_protocol_is_on_standard_output(db: Path) -> None:
    with Pipe(db) as pipe:
        pipe.shake_hands()
        pipe.send_call(1, "execute_kip", command="FIND(")
        pipe.send_call(2, "get_nodes", uris=["nowhere"])
        pipe.send_call(3, "nothing")
        answers, errors, status = pipe.finish()
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert (errors, status) == ("", 0)


def test_a_server_for_reading_offers_no_tool_that_writes(db: Path) -> None:
    with connected(db) as session:
        session.ok("remember_knowledge", concepts=[{"uri": "kept", "content": "x"}])
    with connected(db, "--readonly") as session:
        tools = session.ask("list_tools").tools
        assert {tool.name for tool in tools} == {
            "search_knowledge",
            "get_nodes",
            "traverse_graph",
            "manage_context",
            "describe_graph",
            "manage_history",
            "execute_kip_readonly",
        }
        assert all(tool.annotations.read_only_hint for tool in tools)
        assert "read-only" in (session.client.instructions or "")
        session.ok("get_nodes", uris=["kept"])
        with pytest.raises(Exception, match="read-only"):
            session.call("remember_knowledge", concepts=[{"uri": "lost"}])


def test_two_servers_on_one_file_write_everything_that_was_sent_at_once(db: Path) -> None:
    with connected(db) as one, connected(db, mode="legacy") as other:

        def create(number: int) -> bool:
            server: Session = (one, other)[number % 2]
            told = server.call(
                "remember_knowledge",
                concepts=[{"uri": f"race/{number}", "content": f"by {number % 2}"}],
                relations=[{"source": f"race/{number}", "relation": "in", "target": "race"}],
            )
            return not told.failed

        with ThreadPoolExecutor(20) as pool:
            assert all(pool.map(create, range(20)))
        for server in (one, other):
            told = server.ok(
                "execute_kip_readonly",
                command='FIND(?c.name) WHERE { ?c {type: "Concept"} (?c, "in", ?r) }',
            )
            assert len(told.data["result"]) == 20
    with mycel.open(db, create=False) as graph:
        assert graph.verify().ok


def test_servers_that_start_at_the_same_time_on_a_new_file_both_work(tmp_path: Path) -> None:
    db = tmp_path / "new.db"
    with Pipe(db) as one, Pipe(db) as other:
        for pipe in (one, other):
            pipe.shake_hands()
        for pipe in (one, other):
            pipe.send_call(1, "describe_graph")
            assert not pipe.receive()["result"]["isError"]


def test_logs_of_a_failure_go_to_standard_error_and_say_nothing_to_the_client(
    db: Path, tmp_path: Path
) -> None:
    # A tool that fails in a way nobody has foreseen, in a process of its own.
    script = tmp_path / "failing.py"
    script.write_text(
        "import sys\n"
        "from mycel.mcp.tool_list import CONTEXT\n"
        "def fail(call):\n"
        "    print('stray output')\n"
        "    raise RuntimeError('the secret is 42')\n"
        "object.__setattr__(CONTEXT, 'run', fail)\n"
        "from mycel.cli.app import main\n"
        "sys.exit(main())\n",
        encoding="utf-8",
    )
    command = [sys.executable, str(script), "mcp", "--db", str(db)]
    with Pipe(db, command=command) as pipe:
        pipe.shake_hands()
        pipe.send_call(1, "manage_context")
        told = json.dumps(pipe.receive())
        assert "KIP_4003" in told
        assert "42" not in told
        _, errors, status = pipe.finish()
    assert "the secret is 42" in errors
    assert "stray output" in errors
    assert status == 0
