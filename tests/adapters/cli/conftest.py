"""Two ways to run a command: in this process, which is fast, and in a process of its own."""

import codecs
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

import mycel
import mycel.cli
from tests.adapters.warm import warm_command

COMMAND = [sys.executable, "-m", "mycel"]

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")


class Done(NamedTuple):
    """The status and output of a command."""

    status: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Standard output as one JSON object per line."""
        return [json.loads(line) for line in self.lines]

    @property
    def object(self) -> dict[str, Any]:
        (only,) = self.objects
        return only

    @property
    def error(self) -> dict[str, Any]:
        """Standard error as the JSON of one error."""
        wire = json.loads(self.stderr)
        assert wire.keys() == {"error"}
        return wire["error"]


Run = Callable[..., Done]


class _Door:
    """The command as CliRunner calls it, with our own handling of errors."""

    name = "mycel"

    def main(self, args: Sequence[str], **_: object) -> None:
        sys.exit(mycel.cli.main(args))


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("MYCEL_", "_MYCEL_")) or name in (
            "FORCE_COLOR",
            "GITHUB_ACTIONS",
            "NO_COLOR",
            "PY_COLORS",
            "TERMINAL_WIDTH",
        ):
            monkeypatch.delenv(name)
    # Nothing that is typed in a test is kept.
    monkeypatch.setenv("MYCEL_HISTORY", "")
    # Whatever directory a process starts in, it runs the code that is tested here.
    monkeypatch.setenv("PYTHONPATH", str(Path(mycel.__file__).parents[1]))


def in_process(*words: str | Path, input: str | None = None) -> Done:  # noqa: A002 - as in CliRunner
    """Run a command in this process."""
    result = CliRunner().invoke(_Door(), [str(word) for word in words], input=input)  # type: ignore[arg-type]
    return Done(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def run() -> Run:
    """Run a command in this process."""
    return in_process


@pytest.fixture
def spawn() -> Run:
    """Run a command in a process of its own; with `cold` in a new interpreter."""

    def call(*words: str | Path, cold: bool = False, **how: Any) -> Done:
        command = COMMAND if cold else warm_command("mycel")
        done = subprocess.run(
            [*command, *map(str, words)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=60,
            **how,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return call


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *words: str, **environment: str) -> None:
        import pty

        master, slave = pty.openpty()
        self.master = master
        self.unread = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.process = subprocess.Popen(
            [*warm_command("mycel"), *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "120"} | environment,
            start_new_session=True,
        )
        os.close(slave)

    def read_until(self, text: str) -> str:
        """The output up to and including this text; the rest is left for the next call."""
        while text not in self.unread:
            assert self._read(), f"it ended before it said {text!r}: {self.unread!r}"
        before, found, self.unread = self.unread.partition(text)
        return before + found

    def says_more(self, *, within_s: float) -> bool:
        """True if there is output, or the command ends, within this time."""
        return bool(wait([self.master], within_s))

    def read_to_end(self) -> str:
        while self._read():
            pass
        os.close(self.master)
        self.process.wait(timeout=60)
        return self.unread

    def _read(self) -> bool:
        # A minute of silence is a failure, and not a reason to wait for ever.
        ready = wait([self.master], 60)
        assert ready, f"it says nothing more after {self.unread!r}"
        try:
            part = os.read(self.master, 65536)
        except OSError:  # How Linux says that the other side is closed.
            return False
        self.unread += self.decoder.decode(part)
        return bool(part)

    def write(self, text: str) -> None:
        os.write(self.master, text.encode())


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "graph.db"
    # Without the core capsules, so that ids do not change whenever a capsule does.
    with mycel.open(path, actor="ada", core_capsules=False) as db:
        with db.transaction(message="types") as tx:
            tx.define_type("Drug", {"description": "What is taken"})
            tx.define_type("Symptom")
            tx.define_predicate("treats")
        with db.transaction(message="concepts") as tx:
            aspirin = tx.put_concept("Drug", "Aspirin", {"dose_mg": 500}, {"source": "label"})
            ibuprofen = tx.put_concept("Drug", "Ibuprofen", {"note": "with food"})
            headache = tx.put_concept("Symptom", "Headache")
            fever = tx.put_concept("Symptom", "Fever")
        db.add_edge(aspirin, "treats", headache, weight=0.9, data={"since": 1899})
        db.add_edge(aspirin, "treats", fever)
        db.add_edge(ibuprofen, "treats", headache, weight=0.5)
        db.add_edge(fever, "related_to", headache)
    return path


@pytest.fixture
def graph(_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new small graph without the core capsules, named by MYCEL_DB."""
    path = tmp_path / "graph.db"
    shutil.copy(_template, path)
    monkeypatch.setenv("MYCEL_DB", str(path))
    return path


GARDEN = """
UPSERT {
  CONCEPT { {type: "$ConceptType", name: "Plant"} SET ATTRIBUTES {description: "It grows"} }
  CONCEPT { {type: "$PropositionType", name: "shades"} SET ATTRIBUTES {description: "Takes light"} }
}
UPSERT {
  CONCEPT ?oak { {type: "Plant", name: "Oak"} SET ATTRIBUTES {height_m: 20, tags: ["old", "tall"]} }
  CONCEPT ?fern {
    {type: "Plant", name: "Fern"}
    SET ATTRIBUTES {note: "likes it dark"}
  }
  PROPOSITION { (?oak, "shades", ?fern) SET ATTRIBUTES {since: 1950} }
}
"""


@pytest.fixture(scope="session")
def _garden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "garden.db"
    with mycel.open(path, actor="ada") as db:
        db.execute(GARDEN)
    return path


@pytest.fixture
def garden(_garden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new graph as made by `mycel init`, with some content, named by MYCEL_DB."""
    path = tmp_path / "garden.db"
    shutil.copy(_garden, path)
    monkeypatch.setenv("MYCEL_DB", str(path))
    return path
