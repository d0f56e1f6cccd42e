"""`mycel install` and `uninstall`: the settings of clients, as they were and as they are."""

import json
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mycel.cli.commands import install
from mycel.clients.installation import _EVENTS
from mycel.clients.programs import CLIENTS
from mycel.hooks.client_events import CLIENT_EVENTS
from tests.adapters.cli.conftest import Run

SETTINGS = """{
  // mine
  "model": "opus",
  "hooks": {
    "SessionStart": [{"hooks": [{"type": "command", "command": "echo mine"}]}]
  }
}
"""
CODEX = '# mine\nmodel = "o"\n\n[mcp_servers.other]\ncommand = "x"\n'
CURSOR = '{"mcpServers": {"other": {"command": "x", "args": []}}}'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(home / "project")
    return home


def files(home: Path) -> dict[str, str]:
    return {
        str(path.relative_to(home)): path.read_text()
        for path in sorted(home.rglob("*"))
        if path.is_file() and ".knowledge_engine" not in path.parts
    }


def install_all(run: Run) -> Any:
    options = [word for name in CLIENTS for word in ("--client", name)]
    return run("install", *options)


def test_the_hooks_that_are_connected_are_those_that_are_answered() -> None:
    for name, events in _EVENTS.items():
        assert {own: theirs for theirs, own in events.items()} == CLIENT_EVENTS[name]


def test_every_client_gets_its_entries_and_everything_is_taken_back(run: Run, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(SETTINGS)
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(CODEX)
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text(CURSOR)
    before = files(home)
    assert install_all(run).status == 0
    after = files(home)
    assert json.loads(after[".claude.json"])["mcpServers"]["mycel"]["args"][-1] == "mcp"
    claude = after[".claude/settings.json"]
    assert "// mine" in claude
    assert '"command": "echo mine"' in claude
    for event in ("session-start", "prompt", "pre-compact", "session-end"):
        assert f"hook {event} --client claude-code" in claude
    assert tomllib.loads(after[".codex/config.toml"])["mcp_servers"].keys() == {"other", "mycel"}
    assert json.loads(after[".codex/hooks.json"])["hooks"].keys() >= {"SessionStart"}
    assert json.loads(after[".cursor/mcp.json"])["mcpServers"].keys() == {"other", "mycel"}
    assert json.loads(after[".cursor/hooks.json"])["version"] == 1
    gemini = json.loads(after[".gemini/settings.json"])
    assert gemini.keys() == {"mcpServers", "hooks"}
    opencode = json.loads(after[".config/opencode/opencode.json"])
    assert opencode["mcp"]["mycel"]["command"][-1] == "mcp"
    assert "mycel" in json.loads(after[".config/zed/settings.json"])["context_servers"]
    assert json.loads(after[".copilot/mcp-config.json"])["mcpServers"]["mycel"]["tools"] == ["*"]
    desktop = json.loads(after[".config/Claude/claude_desktop_config.json"])
    assert "personal" in desktop["mcpServers"]["mycel"]["args"]
    assert after[".claude/skills/mycel/SKILL.md"].startswith("---\nname: mycel\n")

    again = install_all(run)
    assert again.lines[-1] == "All is there already."
    assert files(home) == after

    assert run("uninstall").status == 0
    left = {name: text for name, text in files(home).items() if ".mycel-backup" not in name}
    assert left == before
    assert run("uninstall").lines == []


def test_what_was_changed_since_stays(run: Run, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(SETTINGS)
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(CODEX)
    options = ("--client", "claude-code", "--client", "codex")
    run("install", *options)
    settings = home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace('"opus"', '"haiku"'))
    config = home / ".codex" / "config.toml"
    config.write_text(config.read_text() + "\n[features]\nx = true\n")
    run("install", *options)
    assert run("uninstall").status == 0
    text = settings.read_text()
    assert '"haiku"' in text
    assert "echo mine" in text
    assert "mycel" not in text
    left = tomllib.loads(config.read_text())
    assert left == {
        "model": "o",
        "mcp_servers": {"other": {"command": "x"}},
        "features": {"x": True},
    }


ONE_LINE = (
    '{"hooks": {"Stop":[], "UserPromptSubmit": [{"hooks": [{"type":"command"}]}]}, "theme":"x"}'
)
MANY_LINES = """{
  "theme": "x", // mine
  "hooks": {
    "Stop":[],
    /* one line */ "UserPromptSubmit": [{"hooks": [{"type":"command","command":"echo"}]}],
    "SessionStart": [
      {"hooks": [{"type": "command", "command": "echo mine"}]}
    ]
  },
  "last": 1
}
"""
EDITS: list[tuple[str, str]] = [('"theme"', '"Theme"'), ('"type":"command"', '"type" : "command"')]


@pytest.mark.parametrize("text", [ONE_LINE, MANY_LINES])
def test_every_other_byte_of_edited_hooks_stays(run: Run, home: Path, text: str) -> None:
    (home / ".claude").mkdir()
    path = home / ".claude" / "settings.json"
    end = "" if text.endswith("\n") else "\n"  # A file that is written ends with a line.
    for old, new in [*EDITS, ("{", "// first\n{"), (text[-9:], f"{text[-9:]}\n// last\n")]:
        path.write_text(text)
        assert run("install", "--client", "claude-code").status == 0
        installed = path.read_text()
        path.write_text(_edited(installed, old, new, end))
        assert run("uninstall").status == 0
        assert path.read_text() == _edited(text + end, old, new, end)


def _edited(text: str, old: str, new: str, end: str) -> str:
    if old[-1] not in "}\n":
        return text.replace(old, new, 1)
    return text.removesuffix(end) + new[len(old) :]


def test_every_other_byte_of_edited_toml_stays(run: Run, home: Path) -> None:
    (home / ".codex").mkdir()
    path = home / ".codex" / "config.toml"
    more = '\n# precious\n[mcp_servers.third]\ncommand = "third"\n\n\n'
    for before in (CODEX, f"{CODEX}\n\n", "# alone\n"):
        for first, last in (
            ("", more),
            ("", "# the last line"),
            ("# first\n\n", ""),
            ("x=1\n", more),
        ):
            path.write_text(before)
            assert run("install", "--client", "codex").status == 0
            path.write_text(first + path.read_text() + last)
            assert run("uninstall").status == 0
            assert path.read_text() == first + before + last


def test_every_other_byte_of_edited_servers_stays(run: Run, home: Path) -> None:
    (home / ".cursor").mkdir()
    path = home / ".cursor" / "mcp.json"
    many = json.dumps(json.loads(CURSOR), indent=4) + "\n"
    for text in (
        CURSOR,
        many,
        many.replace("{}", "{} // own"),
        '{"a": 1}',
        '{\n  "a": 1 // one\n}\n',
    ):
        for old, new in (("{", "// first\n{"), ('"a', '"A'), ('"command": "x"', '"command":"y"')):
            path.write_text(text)
            assert run("install", "--client", "cursor").status == 0
            after = path.read_text().replace(old, new, 1)
            if after == path.read_text():
                continue
            path.write_text(after)
            assert run("uninstall").status == 0
            assert path.read_text() == text.replace(old, new, 1)


def test_only_clients_that_are_there_are_found(run: Run, home: Path) -> None:
    assert run("install").status == 1
    (home / ".cursor").mkdir()
    shown = run("install", "--print", "--json").objects
    assert {each["client"] for each in shown if "client" in each} == {"cursor"}
    assert not (home / ".cursor" / "mcp.json").exists()
    run("install", "--no-hooks", "--no-skill")
    assert [path.name for path in (home / ".cursor").iterdir()] == ["mcp.json"]


def test_a_file_that_cannot_be_parsed_is_left_and_said(run: Run, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text("{broken")
    (home / ".cursor").mkdir()
    done = run("install", "--client", "claude-code", "--client", "cursor")
    assert done.status == 1
    assert "cannot be parsed" in done.stderr
    assert (home / ".claude" / "settings.json").read_text() == "{broken"
    assert (home / ".cursor" / "mcp.json").exists()


def test_the_doctor_checks_hooks(run: Run, home: Path) -> None:
    run("install", "--client", "claude-code")
    findings = {each["check"]: each for each in run("doctor", "--json").objects}
    assert "session-end" in findings["hook of claude-code"]["detail"]
    path = home / ".claude" / "settings.json"
    path.write_text(path.read_text().replace("hook session-end", "hook session-end"))
    gone = path.read_text()
    command = shlex.split(json.loads(gone)["hooks"]["SessionEnd"][0]["hooks"][0]["command"])
    path.write_text(gone.replace(command[0], "/nowhere/mycel"))
    findings = {each["check"]: each for each in run("doctor", "--json").objects}
    assert findings["hook of claude-code"]["status"] == "warn"


def test_the_doctor_reads_hooks_that_somebody_has_edited(run: Run, home: Path) -> None:
    run("install", "--client", "codex")
    path = home / ".codex" / "hooks.json"
    hooks = json.loads(path.read_text())
    # An event that Mycel does not connect there, another's command before ours, and other shapes.
    mine = hooks["hooks"]["Stop"][0]["hooks"][0]
    named = {**mine, "command": mine["command"].replace("hook stop", "hook session-end")}
    hooks["hooks"]["SessionEnd"] = [{"hooks": [{"type": "prompt"}, named]}]
    hooks["hooks"]["Other"] = {"hooks": 5}
    path.write_text(json.dumps(hooks))
    done = run("doctor")
    assert done.stderr == ""
    assert any("hook session-end" in line for line in done.lines)


def test_an_uninstall_asks_on_a_terminal_unless_told_not_to(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("install", "--client", "claude-code")
    settings = home / ".claude" / "settings.json"
    monkeypatch.setattr(install, "_asks", lambda _, *, yes: not yes)
    assert "settings.json" in run("uninstall", input="n\n").stdout
    assert settings.exists()
    assert run("uninstall", "--yes").status == 0
    assert not settings.exists()


def test_a_written_hook_runs_as_the_client_runs_it(run: Run, home: Path) -> None:
    run("install", "--client", "claude-code")
    run("note", "--type", "Decision", "--name", "Passkeys only", "People log in with a passkey.")
    hooks = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]
    command = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    wire = {
        "session_id": "s",
        "cwd": str(Path.cwd()),
        "prompt": "How do people log in, by passkey?",
    }
    done = subprocess.run(
        command, shell=True, input=json.dumps(wire), capture_output=True, text=True, check=True
    )
    context = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert "People log in with a passkey." in context


def test_hooks_of_codex_that_are_not_trusted_are_said(run: Run, home: Path) -> None:
    done = run("install", "--client", "codex")
    assert "type /hooks in it" in done.stdout
    config, hooks = home / ".codex" / "config.toml", home / ".codex" / "hooks.json"
    untrusted = [line for line in run("doctor").lines if "not trusted yet" in line]
    assert len(untrusted) == 4
    # As Codex 0.169 writes it.
    state = f'[hooks.state."{hooks}:user_prompt_submit:0:0"]\ntrusted_hash = "sha256:1"\n'
    config.write_text(f"{config.read_text()}\n[hooks.state]\n\n{state}")
    untrusted = [line for line in run("doctor").lines if "not trusted yet" in line]
    assert len(untrusted) == 3
    assert not any("hook prompt" in line for line in untrusted)
