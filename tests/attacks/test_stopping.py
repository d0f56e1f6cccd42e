"""Work that does not stop by itself: it computes for ever, or it lets no other thread run.

No request is known to do either. So a server is started whose answers are replaced by such work.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mycel
from tests.adapters.http.conftest import NAMES, Server, eventually
from tests.attacks.conftest import answer_in, ask, asking

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has neither fork nor SIGTERM")

SERVER = """
import sys
from collections import deque
from itertools import repeat

import mycel.http.app as app
from mycel.cli.app import main

answer = app.respond

def respond(db, body, **how):
    if b"LOOP" in body:
        while True:
            pass
    if b"FREEZE" in body:
        deque(repeat(1), maxlen=0)
    return answer(db, body, **how)

app.respond = respond
sys.exit(main(sys.argv[1:]))
"""


class StubbornServer(Server):
    """A server of its own process, some of whose requests never end."""

    def __init__(self, *options: str | Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(Path(mycel.__file__).parents[1])}
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, "serve", "--json", "--port", "0", *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment,
        )
        self.ready = {}


@pytest.fixture
def stubborn(forest: Path) -> Iterator[Callable[..., StubbornServer]]:
    started: list[StubbornServer] = []

    def start(*options: str) -> StubbornServer:
        server = StubbornServer("--db", forest, *options)
        started.append(server)
        server.wait_until_ready()
        return server

    yield start
    for server in started:
        server.end()


def threads_that_compute(server: Server) -> int:
    """The threads of a server that run or wait for a processor."""
    folder = Path(f"/proc/{server.ready['pid']}/task")
    return sum(
        (each / "stat").read_text().rpartition(") ")[2].startswith("R") for each in folder.iterdir()
    )


@pytest.mark.skipif(sys.platform != "linux", reason="looks at threads in /proc")
def test_no_work_goes_on_after_its_answer(stubborn: Callable[..., StubbornServer]) -> None:
    server = stubborn("--timeout", "0.5")
    for _ in range(3):
        status, told = ask(server, "LOOP")
        assert (status, told["error"]["name"]) == (504, "ExecutionTimeout")
        assert "is being stopped" in told["error"]["message"]
    with server.connection() as made:
        made.sendall(asking("LOOP"))
    assert ask(server, NAMES)[0] == 200
    eventually(lambda: threads_that_compute(server) == 0)


@pytest.mark.parametrize("command", ["LOOP", "FREEZE"])
def test_a_server_ends_within_its_grace_period_whatever_a_thread_does(
    stubborn: Callable[..., StubbornServer], command: str
) -> None:
    server = stubborn("--timeout", "600", "--grace", "1")
    with server.connection() as made:
        made.sendall(asking(command))
        if command == "LOOP":
            assert ask(server, NAMES)[0] == 200
        else:
            with server.connection() as other:
                other.sendall(asking(NAMES))
                other.settimeout(1)
                with pytest.raises(TimeoutError):
                    answer_in(other)  # Nothing else runs.
        server.process.send_signal(signal.SIGTERM)
        # A frozen server cannot say anything, and is killed. The machine may be slow.
        ended = server.process.wait(30)
        assert ended == (0 if command == "LOOP" else -signal.SIGKILL)
    said = [json.loads(line)["event"] for line in server.process.communicate()[0].splitlines()]
    assert said == (["stopping", "stopped"] if command == "LOOP" else [])


def test_the_process_that_watches_ends_with_the_server(
    stubborn: Callable[..., StubbornServer],
) -> None:
    server = stubborn()
    children = Path(f"/proc/{server.ready['pid']}/task/{server.ready['pid']}/children")
    if not children.exists():
        pytest.skip("the kernel does not list the children of a process")
    (watcher,) = children.read_text().split()
    server.process.kill()
    server.process.communicate()  # Ends only when nobody else has its output open.
    eventually(lambda: not Path(f"/proc/{watcher}").exists())
