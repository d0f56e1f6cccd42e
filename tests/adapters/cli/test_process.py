"""The command as a process: pipes, terminals, interruption, starting fast."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import mycel
from tests.adapters.cli.conftest import COMMAND, Run, Terminal, needs_posix


def test_a_whole_story_through_real_processes(spawn: Run, tmp_path: Path) -> None:
    environment = os.environ | {"MYCEL_DB": str(tmp_path / "x.db"), "MYCEL_ACTOR": "ada"}

    def do(*words: str, status: int = 0) -> str:
        done = spawn(*words, env=environment, cwd=tmp_path)
        assert done.status == status, done.stderr
        return done.stdout

    do("log", status=1)
    do("init")
    do("define", "type", "Drug")
    do("define", "type", "Symptom")
    do("define", "predicate", "treats")
    do("concept", "put", "Drug", "Aspirin", "--attributes", '{"note": "Schmerzmittel, 止痛"}')
    do("concept", "put", "Symptom", "Headache")
    do("edge", "add", "Drug:Aspirin", "treats", "Symptom:Headache")
    assert "止痛" in do("find", "Symptom:Headache", "--direction", "in")
    assert json.loads(do("search", "止痛", "--json"))["name"] == "Aspirin"
    do("prove", "Drug:Aspirin", "--out", "proof.json")
    root = json.loads(do("snapshot", "--json"))["overall_root"]
    do("edge", "remove", "Drug:Aspirin", "treats", "Symptom:Headache", "--reason", "untrue")
    do("edge", "add", "Drug:Aspirin", "treats", "Symptom:Nothing", status=1)
    do("verify", "--replay")
    do("doctor")
    do("purge", "Drug:Aspirin", "--reason", "asked to", "--yes")
    do("verify", "--replay")
    (tmp_path / "x.db").unlink()
    do("verify", "--proof", "proof.json", "--root", root)
    do("verify", "--proof", "proof.json", "--root", "0" * 64, status=1)


def test_the_default_place_is_at_home_and_of_this_directory(spawn: Run, tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    environment = os.environ | {"HOME": str(home), "USERPROFILE": str(home)}
    made = spawn("init", "--json", env=environment, cwd=project).object
    assert Path(made["path"]).parent == home / ".knowledge_engine"
    assert spawn("log", env=environment, cwd=project).status == 0
    assert spawn("log", env=environment, cwd=home).status == 1


@needs_posix
def test_a_directory_that_is_gone_is_no_place(spawn: Run, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = spawn("log", cwd=gone, cold=True, preexec_fn=gone.rmdir)
    assert done.status == 2
    assert "The current directory is gone" in done.stderr


def test_nothing_of_the_engine_is_loaded_before_a_command_runs() -> None:
    # A bare package replaces `mycel`, whose own imports are not the command line's business.
    code = """
import sys, types
package = types.ModuleType("mycel")
package.__path__ = [sys.argv[1]]
sys.modules["mycel"] = package
import mycel.cli
first = list(sys.modules)
mycel.cli.main(["--help"])
print()
print(*first)
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(mycel.__file__).parent)],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded, at_help = (set(line.split()) for line in done.stdout.splitlines()[-2:])
    heavy = {"apsw", "cbor2", "orjson", "prompt_toolkit"}
    assert (heavy | {"rich.console"}) & loaded == set()
    # Help needs no command but the root.
    assert (heavy | {"hashlib"}) & at_help == set()
    frame = {f"mycel.cli.console.{name}" for name in ("context", "exit_status", "output")}
    ours = {name for name in at_help if name.startswith("mycel.")}
    assert ours - frame == {
        "mycel.cli",
        "mycel.cli.app",
        "mycel.cli.console",
        "mycel.errors",
        "mycel.model",
        "mycel.model.limits",
        "mycel.model.names",
        "mycel.store",
        "mycel.store.file",
        "mycel.store.file.plain_files",
        "mycel.store.file.workspace_databases",
        "mycel.workspaces",
    }


@pytest.fixture
def wide(graph: Path) -> Path:
    """A graph with an element that has more edges than a pipe holds."""
    with mycel.open(graph) as db, db.transaction() as tx:
        for number in range(1000):
            tx.add_edge(tx.put_concept("Drug", f"D{number}"), "treats", "C:46")
    return graph


@needs_posix
@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_seen_enough_is_no_error(more: list[str], unbuffered: str) -> None:
    words = ["edge", "in", "Symptom:Headache", "--limit", "2000", *more]
    with subprocess.Popen(
        COMMAND + words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("words", [["log"], ["log", "--json"], ["--help"]])
def test_output_that_cannot_be_written_is_one_clear_error(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            COMMAND + words, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@needs_posix
@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_stream_that_is_closed_from_the_start_is_no_error(spawn: Run, stream: int) -> None:
    done = spawn("log", cold=True, preexec_fn=lambda: os.close(stream))
    assert done.status == 0
    assert done.stderr == ""


@pytest.mark.usefixtures("graph")
def test_output_in_a_narrow_encoding_is_escaped(spawn: Run) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    spawn("concept", "put", "Drug", "阿司匹林 😀", env=environment)
    text = spawn("concept", "get", "Drug", "阿司匹林 😀", cold=True, env=environment)
    assert "\\u963f" in text.stdout
    as_json = spawn("concept", "get", "Drug", "阿司匹林 😀", "--json", env=environment)
    assert as_json.object["name"] == "阿司匹林 😀"


@needs_posix
@pytest.mark.usefixtures("graph")
def test_words_that_are_no_utf8_are_refused() -> None:
    command = [os.fsencode(each) for each in COMMAND]
    done = subprocess.run(
        [*command, b"concept", b"put", b"Drug", b"a\xff"], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"KIP_2003 InvalidValueType: ")


def test_a_shell_can_complete_commands(spawn: Run) -> None:
    environment = os.environ | {
        "_MYCEL_COMPLETE": "bash_complete",
        "COMP_WORDS": "mycel edge r",
        "COMP_CWORD": "2",
    }
    done = spawn(env=environment)
    assert done.stdout.split(",")[-1].strip() == "remove"


@needs_posix
@pytest.mark.usefixtures("graph")
def test_a_terminal_gets_a_table_in_colour_unless_it_wants_none() -> None:
    shown = Terminal("edge", "out", "Drug:Aspirin").read_to_end()
    assert "\x1b[" in shown
    assert "─" in shown
    assert "Symptom:Headache" in shown
    plain = Terminal("edge", "get", "P:1:treats", NO_COLOR="1").read_to_end()
    assert "\x1b[" not in plain
    assert "Symptom:Headache" in plain


@needs_posix
@pytest.mark.usefixtures("graph")
def test_a_terminal_sees_that_verifying_takes_its_time() -> None:
    terminal = Terminal("verify", "--replay")
    assert "Checking every part" in terminal.read_to_end()
    assert terminal.process.returncode == 0


@needs_posix
@pytest.mark.usefixtures("graph")
def test_a_terminal_shows_a_proof_with_indentation() -> None:
    shown = Terminal("prove", "Drug:Aspirin").read_to_end()
    assert '\n  "kind": "state"' in shown.replace("\r\n", "\n")


@needs_posix
@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    ("answer", "status", "outcome"),
    [("y\n", 0, "Purged C:42"), ("n\n", 1, "Nothing was purged"), ("\x03", 130, "Interrupted")],
    ids=["yes", "no", "Ctrl-C"],
)
def test_purging_asks_first(run: Run, answer: str, status: int, outcome: str) -> None:
    terminal = Terminal("purge", "Drug:Aspirin", "--reason", "asked to")
    terminal.read_until("for good?")
    if answer == "\x03":
        # Python drops an interrupt that comes while `input` flushes what it asks, and notices one
        # that comes just before it reads only when reading ends. The next one is heard.
        terminal.process.send_signal(signal.SIGINT)
        terminal.read_until("[y/N]: ")
        while not terminal.says_more(within_s=2):
            terminal.process.send_signal(signal.SIGINT)
        answer = ""
    with suppress(OSError):
        terminal.write(answer)
    assert outcome in terminal.read_to_end()
    assert terminal.process.returncode == status
    assert run("concept", "get", "Drug", "Aspirin").status == (1 if status == 0 else 0)
