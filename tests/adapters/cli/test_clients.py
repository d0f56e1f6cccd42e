"""`mycel init --client`, and what the doctor says of clients, the port and extras."""

import json
import os
import socket
import stat
import sys
import tomllib
from pathlib import Path

import pytest

from mycel.cli import clients, databases, serve
from tests.adapters.cli.conftest import Run, needs_posix

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, in a home of its own, on Linux."""
    for name in ("CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(clients, "own_command", lambda: [sys.executable, "-m", "mycel"])
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def path_of(client: str, project: Path) -> Path:
    home = Path.home()
    return {
        "claude-code": project / ".mcp.json",
        "claude-desktop": home / ".config" / "Claude" / "claude_desktop_config.json",
        "cursor": project / ".cursor" / "mcp.json",
        "vscode": project / ".vscode" / "mcp.json",
        "codex": home / ".codex" / "config.toml",
    }[client]


def entry_in(path: Path) -> dict[str, object]:
    text = path.read_text("utf-8")
    whole = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    key = "servers" if path.parent.name == ".vscode" else "mcpServers"
    return whole["mcp_servers" if path.suffix == ".toml" else key]["mycel"]


@pytest.mark.parametrize("client", clients.CLIENTS)
def test_a_client_is_told_in_its_own_file_and_form(run: Run, project: Path, client: str) -> None:
    done = run("init", "--client", client)
    assert done.status == 0
    path = path_of(client, project)
    assert str(path) in done.stdout
    entry = entry_in(path)
    assert entry["command"] == sys.executable
    arguments = entry["args"]
    assert arguments[:3] == ["-m", "mycel", "mcp"]
    assert arguments[3] == "--workspace"
    assert arguments[-2:] == ["--root", str(project)]
    assert entry.get("type") == ("stdio" if client == "vscode" else None)


@pytest.mark.parametrize("client", clients.CLIENTS)
def test_telling_twice_changes_nothing(run: Run, project: Path, client: str) -> None:
    run("init", "--client", client)
    path = path_of(client, project)
    before = path.read_bytes(), path.stat().st_mtime_ns
    done = run("init", "--client", client, "--json")
    assert done.objects[-1]["changed"] is False
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [each.name for each in path.parent.iterdir() if "backup" in each.name] == []


@pytest.mark.parametrize("client", clients.CLIENTS)
def test_printing_writes_nothing_at_all(run: Run, project: Path, client: str) -> None:
    done = run("init", "--client", client, "--print")
    assert done.status == 0
    assert "mycel" in done.stdout
    assert list(project.iterdir()) == []
    assert not Path.home().exists()


def test_what_is_printed_can_be_written(run: Run, project: Path) -> None:
    wire = run("init", "--client", "codex", "--print", "--json").object
    assert wire["path"] == str(path_of("codex", project))
    assert tomllib.loads(wire["content"])["mcp_servers"]["mycel"]["command"] == wire["command"][0]


def test_a_database_that_was_named_is_the_one_that_is_served(run: Run, project: Path) -> None:
    run("--db", "x.db", "init", "--client", "cursor", "--compat", "memory")
    arguments = entry_in(path_of("cursor", project))["args"]
    assert arguments[3:5] == ["--db", str(project / "x.db")]
    assert arguments[-2:] == ["--compat", "memory"]


def test_other_entries_and_the_indentation_stay(run: Run, project: Path) -> None:
    path = path_of("cursor", project)
    path.parent.mkdir()
    before = {"mcpServers": {"other": {"command": "ö"}}, "more": [1, {"a": None}]}
    text = json.dumps(before, indent="\t", ensure_ascii=False)
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    done = run("init", "--client", "cursor")
    after = path.read_text("utf-8")
    assert json.loads(after)["mcpServers"]["other"] == {"command": "ö"}
    assert json.loads(after)["more"] == before["more"]
    assert '\n\t"more"' in after
    assert after.endswith("}")
    assert path.with_name("mcp.json.mycel-backup").read_text("utf-8") == text
    assert "mcp.json.mycel-backup" in done.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_the_user_added_to_our_entry_stays(run: Run, project: Path) -> None:
    path = path_of("claude-code", project)
    old = {"type": "http", "url": "http://old/mcp", "env": {"MYCEL_ACTOR": "me"}}
    path.write_text(json.dumps({"mcpServers": {"mycel": old}}))
    run("init", "--client", "claude-code")
    entry = entry_in(path)
    assert entry["env"] == {"MYCEL_ACTOR": "me"}
    assert entry.keys() == {"command", "args", "env"}


def test_comments_in_toml_stay(run: Run, project: Path) -> None:
    path = path_of("codex", project)
    path.parent.mkdir(parents=True)
    text = '# Mine.\nmodel = "x"  # the best\n\n[mcp_servers.other]\ncommand = "other"\n'
    path.write_text(text)
    assert run("init", "--client", "codex").status == 0
    after = path.read_text()
    assert after.startswith(text)
    assert tomllib.loads(after)["mcp_servers"].keys() == {"other", "mycel"}


@pytest.mark.parametrize(
    ("client", "text", "why"),
    [
        ("cursor", "{broken", "no plain JSON"),
        ("vscode", '{\n  // mine\n  "servers": {}\n}', "no plain JSON"),
        ("claude-code", "[]", "no object"),
        ("claude-desktop", '{"mcpServers": []}', "no object"),
        ("codex", "= broken", "no TOML"),
        ("codex", 'mcp_servers = {other = {command = "x"}}', "cannot be added"),
        ("codex", '[mcp_servers.mycel]\ncommand = "x"\n', "another server"),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone(
    run: Run, project: Path, client: str, text: str, why: str
) -> None:
    path = path_of(client, project)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    done = run("init", "--client", client)
    assert done.status == 2
    assert why in done.stderr
    assert f"mycel init --client {client} --print" in done.stderr
    assert path.read_text() == text
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@needs_posix
def test_a_symbolic_link_is_not_followed(run: Run, project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text("{}")
    path_of("claude-code", project).symlink_to(elsewhere)
    (project / ".cursor").symlink_to(tmp_path, target_is_directory=True)
    for client in ("claude-code", "cursor"):
        done = run("init", "--client", client)
        assert done.status == 2
        assert "symbolic link" in done.stderr
    assert elsewhere.read_text() == "{}"
    assert not (tmp_path / "mcp.json").exists()


@needs_posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_said(run: Run, project: Path) -> None:
    (project / ".cursor").mkdir(mode=0o500)
    done = run("init", "--client", "cursor")
    assert done.status == 1
    assert "cannot be written" in done.stderr


@pytest.mark.parametrize("option", [("--print",), ("--compat", "memory")])
def test_options_about_clients_need_one(run: Run, option: tuple[str, ...]) -> None:
    done = run("init", *option)
    assert done.status == 2
    assert "needs a --client" in done.stderr


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("darwin", "Library/Application Support/Claude"), ("win32", "AppData/Roaming/Claude")],
)
def test_claude_desktop_has_its_file_where_the_system_keeps_such_files(
    monkeypatch: pytest.MonkeyPatch, platform: str, folder: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    found = clients.client("claude-desktop", Path()).path
    assert found == Path.home() / folder / "claude_desktop_config.json"


def finding(run: Run, check: str) -> tuple[str, str]:
    done = run("doctor", "--json")
    return next((e["status"], e["detail"]) for e in done.objects if e["check"] == check)


def test_the_doctor_says_which_clients_know_of_us(run: Run, project: Path) -> None:
    assert finding(run, "clients")[0] == "ok"
    run("init", "--client", "codex", "--client", "vscode")
    for title in ("Codex", "VS Code"):
        status, detail = finding(run, title)
        assert status == "ok"
        assert f"starts {sys.executable}" in detail


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"command": "/not/there/mycel"}, "which is not there"),
        ({"command": sys.executable, "args": ["mcp", "--workspace", "nobody"]}, "(yet)"),
        ({"command": sys.executable, "args": ["mcp", "--db", "/nowhere/x.db"]}, "(yet)"),
        ({"command": sys.executable, "args": ["mcp", "--workspace", "a b"]}, "names no database"),
        ({"command": 3}, "has no command"),
        (None, "cannot be understood"),
    ],
)
def test_the_doctor_finds_clients_that_would_fail(
    run: Run, project: Path, entry: object, why: str
) -> None:
    text = "{" if entry is None else json.dumps({"mcpServers": {"mycel": entry}})
    path_of("claude-code", project).write_text(text)
    status, detail = finding(run, "Claude Code")
    assert status == "warn"
    assert why in detail


def test_a_client_that_asks_a_server_is_well(run: Run, project: Path) -> None:
    entry = {"type": "http", "url": "http://127.0.0.1:6923/mcp"}
    path_of("claude-code", project).write_text(json.dumps({"mcpServers": {"mycel": entry}}))
    status, detail = finding(run, "Claude Code")
    assert (status, detail.split()[-2:]) == ("ok", ["asks", entry["url"]])


def test_the_doctor_says_whether_the_port_is_free(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(serve, "PORT", taken.getsockname()[1])
        assert finding(run, "port")[0] == "warn"
    assert finding(run, "port")[0] == "ok"


def test_the_doctor_knows_all_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert databases.EXTRAS.keys() == project["optional-dependencies"].keys() - {"dev"}


def test_extras_that_are_missing_can_be_installed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "EXTRAS", {"arrow": "json", "vapour": "no_such_module"})
    status, detail = finding(run, "extras")
    assert status == "ok"
    assert detail == "arrow; `pip install 'mycel[vapour]'` adds vapour"
