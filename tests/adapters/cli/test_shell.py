"""A session of `mycel kip`, on a terminal as people have one."""

import os
import re
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
import mycel.store.query.reader
from mycel.cli.session.completion import is_complete
from mycel.cli.session.shell import Shell
from tests.adapters.cli.conftest import Terminal, needs_posix
from tests.adapters.cli.test_kip import NAMES, RENAME, SLOW

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Session:
    """Somebody at a terminal who waits for the prompt before typing on."""

    def __init__(self, *words: str, **environment: str) -> None:
        # Nobody here answers when the editor asks for the cursor's position.
        self.terminal = Terminal("kip", *words, PROMPT_TOOLKIT_NO_CPR="1", **environment)
        self.greeting = self._until_prompt()

    def _until_prompt(self) -> str:
        return _plain(self.terminal.read_until(">\x1b["))

    def type(self, text: str, until: str) -> str:
        """Type, and read until something is seen and the next prompt, or the next line, is."""
        self.terminal.write(text)
        seen = self.terminal.read_until(until)
        return _plain(seen) + self._until_prompt()

    def leave(self, typed: str = "\x04") -> int:
        self.terminal.write(typed)
        self.rest = _plain(self.terminal.read_to_end())
        return self.terminal.process.returncode


def _plain(text: str) -> str:
    return _ESCAPES.sub("", text)


@pytest.fixture
def shell(garden: Path) -> Iterator[Shell]:
    """A session without a terminal: what it does with what was typed."""
    with mycel.open(garden) as db:
        yield Shell(db, as_json=False, readonly=False, dry_run=False)


@needs_posix
@pytest.mark.usefixtures("garden")
class TestATerminal:
    def test_a_command_on_one_line_runs_at_enter_and_is_timed(self) -> None:
        session = Session()
        assert ".help" in session.greeting
        shown = session.type(f"{NAMES}\r", " ms")
        assert "Fern" in shown
        assert "─" in shown
        assert re.search(r"2 rows, [0-9.]+ ms", shown)
        assert session.leave() == 0

    def test_a_command_on_several_lines_runs_at_an_empty_line_or_a_semicolon(self) -> None:
        session = Session()
        for line in ("FIND(?p.name)\r", "WHERE {\r", '  ?p {type: "Plant"}\r', "}\r"):
            assert "row" not in session.type(line, "...")
        assert "1 row," in session.type("LIMIT 1;\r", " ms")
        session.type("FIND(?p.name)\r", "...")
        session.type('WHERE { ?p {type: "Plant"} }\r', "...")
        assert "2 rows," in session.type("\r", " ms")
        assert session.leave() == 0

    def test_a_closing_bracket_stands_below_the_line_that_opened_it(self, tmp_path: Path) -> None:
        history = tmp_path / "history"
        session = Session(MYCEL_HISTORY=str(history))
        for line in ("FIND(?p.name)\r", "WHERE {\r", '  ?p {type: "Plant"}\r'):
            session.type(line, "...")
        assert "2 rows," in session.type("};\r", " ms")
        assert session.leave() == 0
        assert '+  ?p {type: "Plant"}\n+};' in history.read_text()

    def test_it_is_told_once_that_elements_are_in_short(self) -> None:
        session = Session()
        whole = 'FIND(?p) WHERE { ?p {type: "Plant"} }\r'
        assert "after .json you see everything" in session.type(whole, " ms")
        assert "after .json" not in session.type(whole, " ms")
        assert session.leave() == 0

    def test_the_session_is_left_with_a_command_too(self) -> None:
        assert Session().leave(".exit\r") == 0

    def test_ctrl_c_drops_what_is_typed_and_nothing_else(self) -> None:
        session = Session()
        session.type("FIND(?p.name)\r", "...")
        session.type("nonsense\x03", "kip")
        assert "2 rows," in session.type(f"{NAMES}\r", " ms")
        assert session.leave() == 0

    def test_errors_do_not_end_the_session(self) -> None:
        session = Session()
        shown = session.type("FIND(?p) WHERE { ?p {type: 'x'} }\r", "KIP_1001")
        assert "^" in shown
        assert "KIP_2001" in session.type('FIND(?p) WHERE { ?p {type: "x"} }\r', "KIP_2001")
        assert "KIP_1001" in session.type(".exot\r", "'.exit'")
        assert "2 rows," in session.type(f"{NAMES}\r", " ms")
        assert session.leave() == 0

    def test_what_is_typed_is_coloured_unless_no_colour_is_wanted(self) -> None:
        for colour, wanted in (("", True), ("1", False)):
            session = Session(NO_COLOR=colour)
            session.terminal.write("?plant")
            assert ("36m?plant" in session.terminal.read_until("?plant")) is wanted
            session.type("\x03", "kip")
            assert session.leave() == 0

    def test_tab_completes_a_type_of_this_graph(self) -> None:
        session = Session()
        session.terminal.write('FIND(?p.name) WHERE { ?p {type: "Pl\t')
        session.terminal.read_until('ant"')
        assert "2 rows," in session.type("} }\r", " ms")
        assert session.leave() == 0

    def test_the_arrow_key_brings_back_what_was_typed_in_an_earlier_session(
        self, tmp_path: Path
    ) -> None:
        history = tmp_path / "history"
        first = Session(MYCEL_HISTORY=str(history))
        first.type(f"{NAMES}\r", " ms")
        assert first.leave() == 0
        assert stat.S_IMODE(history.stat().st_mode) == 0o600
        second = Session(MYCEL_HISTORY=str(history))
        second.terminal.write("\x1b[A")
        second.terminal.read_until("ORDER")
        assert "2 rows," in second.type("\r", " ms")
        assert second.leave() == 0

    def test_what_is_typed_is_kept_at_home_and_not_beside_the_graph(
        self, garden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home = tmp_path / "home"
        home.mkdir()
        monkeypatch.delenv("MYCEL_HISTORY")
        session = Session(HOME=str(home))
        session.type("DESCRIBE PRIMER\r", " ms")
        assert session.leave() == 0
        kept = home / ".knowledge_engine" / "kip_history"
        assert "DESCRIBE PRIMER" in kept.read_text()
        assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
        assert [each.name for each in garden.parent.iterdir() if each.is_file()] == ["garden.db"]

    def test_a_history_that_cannot_be_kept_is_no_obstacle(self) -> None:
        session = Session(MYCEL_HISTORY="/nowhere/history")
        assert "2 rows," in session.type(f"{NAMES}\r", " ms")
        assert session.leave() == 0

    def test_options_of_the_command_count_for_the_session(self) -> None:
        session = Session("--readonly", "--json", "--param", "type=Plant")
        assert "(read only)" in session.greeting
        question = "FIND(COUNT(?p)) WHERE { ?p {type: :type} }"
        assert '{"result":2}' in session.type(f"{question}\r", '"result":2}')
        assert "KIP_3004" in session.type(f"{RENAME}\r", "KIP_3004")
        assert session.leave() == 0

    def test_what_was_written_is_there_afterwards(self, garden: Path) -> None:
        session = Session("--actor", "bob")
        session.type(f"{RENAME}\r", " ms")
        assert session.leave() == 0
        with mycel.open(garden) as db:
            oak = db.get_concept("Plant", "Oak")
            assert oak is not None
            assert oak.attributes["height_m"] == 21
            assert next(db.history.log(limit=1)).actor == "bob"


# What a session does with what was typed, without a terminal.


def test_the_commands_of_a_session_are_listed(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.take(".help")
    shown = capsys.readouterr().out
    for name in (".help", ".json", ".timing", ".readonly", ".params", ".exit"):
        assert f"\n{name} " in shown
        assert name in shell.completion_names.dot_commands


def test_only_leaving_ends_a_session(shell: Shell) -> None:
    assert shell.take("")
    assert shell.take(";")
    assert shell.take(".nothing")
    assert not shell.take(".exit")


@pytest.mark.parametrize("word", ["exit", "quit", "Quit", "exit;"])
def test_a_session_is_left_without_a_dot_too(shell: Shell, word: str) -> None:
    assert is_complete(word)
    assert not shell.take(word)


def test_help_needs_no_dot_when_it_stands_alone(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert is_complete("help")
    assert shell.take("help")
    assert ".params" in capsys.readouterr().out
    assert shell.take("help me")
    assert capsys.readouterr().err.startswith("KIP_1001")


def test_a_missing_parameter_says_how_it_is_set(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.take("FIND(?p) WHERE { ?p {type: :n} }")
    assert ".params n=…" in capsys.readouterr().err


def test_attributes_that_a_type_speaks_of_can_be_completed(shell: Shell) -> None:
    shell.take(
        'UPSERT { CONCEPT { {type: "$ConceptType", name: "Bed"} SET ATTRIBUTES'
        ' {description: "A place", instance_schema: {length_m: {type: "number"}}} } }'
    )
    assert shell.completion_names.attributes["Bed"] == ["length_m"]
    assert "Plant" not in shell.completion_names.attributes


def test_answers_are_json_or_tables_as_one_likes(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.take(".json")
    shell.take(NAMES)
    assert capsys.readouterr().out == '{"result":["Fern","Oak"]}\n'
    shell.take(".json")
    shell.take(".timing")
    shell.take(NAMES)
    assert capsys.readouterr().out == "?p.name\nFern\nOak\n2 rows\n"
    shell.take(RENAME)
    assert capsys.readouterr().out == "updated: 1, matched: 1\n"


def test_placeholders_are_set_shown_and_cleared(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.take(".params name=Oak")
    shell.take('.params {"least": 5}')
    shell.take(".params")
    assert capsys.readouterr().out.splitlines()[-1] == '{"name":"Oak","least":5}'
    assert shell.completion_names.parameters == ["name", "least"]
    shell.take(".params clear")
    assert shell.parameters == {}
    shell.take(".params nameless")
    assert "name=value" in capsys.readouterr().err


def test_writing_can_be_refused_and_allowed_again(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.take(".readonly")
    shell.take(RENAME)
    assert ".readonly" in capsys.readouterr().err
    shell.take(".readonly")
    shell.take(RENAME)
    assert capsys.readouterr().out.startswith("updated: 1")


def test_a_type_that_was_just_defined_can_be_completed(shell: Shell) -> None:
    assert "Bed" not in shell.completion_names.types
    shell.take('UPSERT { CONCEPT { {type: "$ConceptType", name: "Bed"} } }')
    assert "Bed" in shell.completion_names.types


def test_a_command_that_runs_can_be_interrupted_without_ending_the_session(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> float:
        signal.raise_signal(signal.SIGINT)
        return 0.0

    with monkeypatch.context() as patched:
        patched.setattr(mycel.store.query.reader, "monotonic", interrupt)
        assert shell.take(SLOW)
    assert capsys.readouterr().err == "Interrupted.\n"
    shell.take(NAMES)
    assert "2 rows" in capsys.readouterr().out


def test_a_bug_does_not_end_a_session(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **_options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(mycel.Graph, "execute", broken)
    assert shell.take(NAMES)
    assert "KIP_4003 InternalError: ZeroDivisionError" in capsys.readouterr().err


def test_no_history_is_kept_where_none_is_wanted(garden: Path) -> None:
    assert os.environ["MYCEL_HISTORY"] == ""
    assert [each.name for each in garden.parent.iterdir()] == ["garden.db"]
