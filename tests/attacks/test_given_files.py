"""Files that are given to commands: pipes, devices, and more than fits."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mycel
from tests.cases import each_case

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with names")

READING = (
    ("kip", "--file"),
    ("kip", "DESCRIBE PRIMER", "--params"),
    ("capsule", "apply"),
    ("schema", "apply"),
    ("schema", "fmt"),
    ("schema", "plan"),
    ("verify", "--proof"),
    ("load",),
    ("import",),
    ("restore",),
)
"""Commands whose next word is a file that they read."""

SCRIPT = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from mycel.cli.app import main

for words in json.loads(sys.argv[1]):
    told = StringIO()
    with redirect_stderr(told), redirect_stdout(StringIO()):
        status = main(words)
    print(json.dumps([status, told.getvalue()]), flush=True)
"""
"""Runs several command lines in one process."""


def run_all(commands: list[list[str]], memory_bytes_max: int = 512 << 20) -> list[tuple[int, str]]:
    """The status and the errors of each command, in a process with limited memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes_max, memory_bytes_max))

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(commands)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=limit,
    )
    return [(status, told) for status, told in map(json.loads, done.stdout.splitlines())]


def naming(command: tuple[str, ...], path: Path) -> list[str]:
    """A command line that names a file."""
    return [*command, f"@{path}" if command[-1] == "--params" else str(path)]


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "graph.db"
    mycel.open(path).close()
    monkeypatch.setenv("MYCEL_DB", str(path))
    return path


def test_pipes_and_devices_are_refused_and_not_read(graph: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    paths = (pipe, Path("/dev/zero"), tmp_path)
    commands = [naming(command, path) for command in READING for path in paths]
    with each_case() as case:
        for command, (status, told) in zip(commands, run_all(commands), strict=True):
            with case(command):
                assert status in (1, 2), told
                assert command[-1].removeprefix("@") in told
                assert "bug in Mycel" not in told


def test_what_the_shell_has_opened_is_read(graph: Path) -> None:
    words = f"{sys.executable} -m mycel kip --file <(echo 'DESCRIBE PRIMER')"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_file_above_its_limit_is_refused_before_it_is_read(graph: Path, tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(3 << 30)  # It takes no blocks of the disk.
    # The others read line by line, or pages.
    bounded = [each for each in READING if each[0] not in ("load", "import", "restore")]
    commands = [naming(each, large) for each in bounded]
    with each_case() as case:
        for command, (status, told) in zip(commands, run_all(commands), strict=True):
            with case(command):
                assert status in (1, 2)
                assert "MiB, which is the limit" in told


def test_too_little_memory_is_told_as_that(graph: Path, tmp_path: Path) -> None:
    capsule = tmp_path / "large.kip"
    capsule.write_text("UPSERT { " + "?a " * (20 << 20) + "}")
    ((status, told),) = run_all([["capsule", "apply", str(capsule)]], 100 << 20)
    assert status == 1
    assert "too little memory" in told
    assert "bug in Mycel" not in told


def test_a_command_that_is_terminated_leaves_no_half_made_file(graph: Path, tmp_path: Path) -> None:
    target = tmp_path / "restored" / "graph.db"
    target.parent.mkdir()
    slow = (
        "import sys, time, mycel.history.backups as b\n"
        "b._verify = lambda *_: (print('checking', flush=True), time.sleep(600))\n"
        "from mycel.cli.app import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", slow, "restore", graph, "--db", target]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "checking\n"
    assert list(target.parent.iterdir()) != []
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    process.stdout.close()
    assert list(target.parent.iterdir()) == []
