"""Processes of `python -m mycel` that start warm: forked from one that has loaded the modules.

A server needs a second of processor time to load the SDK of the protocol and its models, and a
hundred tests start one. `warm_command` gives words that start the same process in a fiftieth of
that:

1. A process for each worker of the test run (`python -m tests.adapters.warm`) loads the modules
   once, and waits. It holds no graph and starts no thread.
2. The words start `warm_start.py`, which loads next to nothing. It hands its standard streams, its
   arguments, its environment and its folder to that process, and from then on only passes signals
   on and waits for the exit status, which becomes its own.
3. The process forks. The child takes over what was handed to it and runs the module as
   `python -m` does; it shares no state with other children. If the process that runs the words is
   killed, the child is killed too.

Commands on a terminal start so, too. Tests of the start itself (closed streams, encodings, a folder
that is gone) use `sys.executable`.
"""

from __future__ import annotations

import ast
import atexit
import functools
import gc
import importlib
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

FOLDER = "FOLDER_OF_POSTGRES"
"""The environment variable by which processes find the PostgreSQL server of the tests."""
LOADED = (
    "mycel.cli.app",
    "mycel.cli.commands.kip",
    "mycel.cli.commands.mcp",
    "mycel.cli.commands.serve",
    "mycel.http.app",
    "mycel.http.server",
    "mycel.mcp.memory_tools",
    "mycel.mcp.server",
    "mycel.mcp.stdio",
    "mycel.mcp.web",
)
STARTER = Path(__file__).with_name("warm_start.py")
ROOT = Path(__file__).resolve().parents[2]


def warm_command(module: str) -> list[str]:
    """The words of a command that does what `python -m module` does; arguments follow."""
    # Coverage follows processes from their start.
    if sys.platform == "win32" or "coverage" in sys.modules:
        return [sys.executable, "-m", module]
    return [sys.executable, "-I", "-S", str(STARTER), _started(), module]


@functools.cache
def _started() -> str:
    """Starts the process that forks; the address where it listens."""
    folder = tempfile.TemporaryDirectory(prefix="mycel-warm-")
    address = f"{folder.name}/socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.adapters.warm", str(listener.fileno())],
            stdin=subprocess.PIPE,  # Its end tells the process that nobody needs it any more.
            stdout=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
            pass_fds=[listener.fileno()],
        )

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    return address


def wait_and_fork(listener: socket.socket) -> None:
    """Forks for each connection, until the standard input ends. Returns in no child."""
    # The last of all that is registered: threads have ended then, too.
    atexit.register(_end_at_once)
    for name in LOADED:
        importlib.import_module(name)
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while listener in wait([listener, sys.stdin]):
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _look_after(connection)
        connection.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _look_after(connection: socket.socket) -> None:
    """Starts the requested child, passes signals to it, and sends its exit status."""
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as reading:
        asked = ast.literal_eval(reading.read(int.from_bytes(size, "big")).decode())
        child = os.fork()
        if child == 0:
            reading.close()
            connection.close()
            _become(asked, streams)
        for stream in streams:
            os.close(stream)

        def pass_on() -> None:
            with suppress(ProcessLookupError):
                while number := reading.read(1):
                    os.kill(child, number[0])
                os.kill(child, signal.SIGKILL)

        threading.Thread(target=pass_on, daemon=True).start()
        _, status = os.waitpid(child, 0)
        with suppress(BrokenPipeError):
            connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(2, "big", signed=True))
        os._exit(0)


def _become(asked: dict[str, Any], streams: list[int]) -> None:
    """Runs the module in this process, which ends with it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # As an interpreter opens them when it starts; they stay open until it ends.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    if hasattr(time, "tzset"):
        time.tzset()
    if FOLDER in os.environ:
        from tests.postgres_server import redirect_process

        redirect_process(os.environ[FOLDER])
    module, *arguments = asked["arguments"]
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        _STATUS.append(end.code or 0)
        raise
    _STATUS.append(0)
    sys.exit()


_STATUS: list[int] = []
"""The exit status, once a child has ended as programs do."""


def _end_at_once() -> None:
    """End without the last step of the interpreter, which frees every loaded object."""
    if _STATUS:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_STATUS[0])


if __name__ == "__main__":
    wait_and_fork(socket.socket(fileno=int(sys.argv[1])))
