"""`mycel init --client`, and what the doctor says of clients, the port and extras."""

import json
import os
import re
import socket
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mycel.cli.commands import databases, serve
from mycel.clients import jsonc, programs
from mycel.workspaces import WorkspaceLocation
from tests.adapters.cli.conftest import Run, needs_posix

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, in a home of its own, on Linux."""
    for name in ("CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(programs, "own_program", lambda: (sys.executable, "-m", "mycel"))
    program = tmp_path / "bin" / "mycel"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
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
        "gemini": project / ".gemini" / "settings.json",
        "opencode": project / "opencode.json",
        "zed": project / ".zed" / "settings.json",
        "copilot": home / ".copilot" / "mcp-config.json",
    }[client]


SHARED = ("claude-desktop", "codex", "copilot")
"""Clients with one file for all projects."""

FOLDER = "${workspaceFolder}"
FOLDERS = {"cursor": ["--root", FOLDER], "vscode": ["--root", FOLDER], "claude-code": []}
"""The options by which a portable entry says the folder."""


def entries_in(path: Path) -> dict[str, Any]:
    text = path.read_text("utf-8")
    whole = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    keys = {"mcp_servers", "servers", "mcpServers", "mcp", "context_servers"}
    (key,) = keys & whole.keys()
    return dict(whole[key])


def entry_in(path: Path) -> dict[str, Any]:
    """Our entry, where each project has a file of its own."""
    return dict(entries_in(path)["mycel"])


@pytest.mark.parametrize("client", programs.CLIENTS)
def test_a_client_is_told_in_its_own_file_and_form(run: Run, project: Path, client: str) -> None:
    done = run("init", "--bare", "--client", client)
    assert done.status == 0
    path = path_of(client, project)
    assert str(path) in done.stdout
    ((name, entry),) = entries_in(path).items()
    assert name == ("mycel-project" if client in SHARED else "mycel")
    assert f"as {name}:" in done.stdout
    if client in SHARED:
        whole = ["-m", "mycel", "mcp", "--workspace", "project", "--root", str(project)]
        assert (entry["command"], entry["args"]) == (sys.executable, whole)
    else:
        # Nothing of this machine, so that the file can be committed.
        command = entry["command"]
        words = command if client == "opencode" else [command, *entry["args"]]
        assert words == ["mycel", "mcp", *FOLDERS.get(client, ())]
        assert str(project) not in path.read_text("utf-8")
    types = {"vscode": "stdio", "copilot": "stdio", "opencode": "local"}
    assert entry.get("type") == types.get(client)


@pytest.mark.parametrize("client", programs.CLIENTS)
def test_telling_twice_changes_nothing(run: Run, project: Path, client: str) -> None:
    run("init", "--bare", "--client", client)
    path = path_of(client, project)
    before = path.read_bytes(), path.stat().st_mtime_ns
    done = run("init", "--bare", "--client", client, "--json")
    assert done.objects[-1]["changed"] is False
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [each.name for each in path.parent.iterdir() if "backup" in each.name] == []


@pytest.mark.parametrize("client", programs.CLIENTS)
def test_printing_writes_nothing_at_all(run: Run, project: Path, client: str) -> None:
    done = run("init", "--bare", "--client", client, "--print")
    assert done.status == 0
    assert "mycel" in done.stdout
    assert list(project.iterdir()) == []
    assert not Path.home().exists()


def test_what_is_printed_can_be_written(run: Run, project: Path) -> None:
    wire = run("init", "--bare", "--client", "codex", "--print", "--json").object
    assert wire["path"] == str(path_of("codex", project))
    (entry,) = tomllib.loads(wire["content"])["mcp_servers"].values()
    assert [entry["command"], *entry["args"]] == wire["command"]
    typed = run("init", "--bare", "--client", "codex", "--print").stdout
    assert f"codex mcp add {wire['name']} -- {sys.executable}" in typed


def test_a_database_that_was_named_is_the_one_that_is_served(run: Run, project: Path) -> None:
    run("--db", "x.db", "init", "--client", "cursor", "--compat", "memory")
    arguments = entry_in(path_of("cursor", project))["args"]
    assert arguments[1:3] == ["--db", f"{FOLDER}/x.db"]
    assert arguments[-2:] == ["--compat", "memory"]


def test_other_entries_and_the_indentation_stay(run: Run, project: Path) -> None:
    path = path_of("cursor", project)
    path.parent.mkdir()
    before = {"mcpServers": {"other": {"command": "ö"}}, "more": [1, {"a": None}]}
    text = json.dumps(before, indent="\t", ensure_ascii=False)
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    done = run("init", "--bare", "--client", "cursor")
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
    done = run("init", "--bare", "--client", "claude-code", "--replace")
    assert "was for http://old/mcp before" in done.stdout
    entry = entry_in(path)
    assert entry["env"] == {"MYCEL_ACTOR": "me"}
    assert entry.keys() == {"command", "args", "env"}


def test_comments_in_toml_stay(run: Run, project: Path) -> None:
    path = path_of("codex", project)
    path.parent.mkdir(parents=True)
    text = '# Mine.\nmodel = "x"  # the best\n\n[mcp_servers.other]\ncommand = "other"\n'
    path.write_text(text)
    assert run("init", "--bare", "--client", "codex").status == 0
    after = path.read_text()
    assert after.startswith(text)
    assert entries_in(path).keys() == {"other", "mycel-project"}


def test_comments_in_json_stay_where_a_client_allows_them(run: Run, project: Path) -> None:
    path = path_of("vscode", project)
    path.parent.mkdir()
    texts = [
        '{\n // Mine: {"a": "}"}\n "servers": {\n  "other": {"command": "x"}, // last\n },\n}\n',
        '{\n\t"inputs": [], /* none, */\n\t"servers": {}\n}',
        "// Nothing yet.\n{}\n",
        '{"servers": {"other": {"command": "// no comment", "args": ["/*"]}}}',
        '{\n "servers": {\n  "mycel": {"command": "old", "args": ["mcp"]}, // ours\n "b": {}\n}}',
    ]
    for text in texts:
        path.write_text(text)
        assert run("init", "--bare", "--client", "vscode").status == 0
        after = path.read_text()
        before, whole = (json.loads(jsonc.plain(each)) for each in (text, after))
        ours = whole["servers"].pop("mycel")
        assert ours["args"][-2:] == ["--root", FOLDER]
        before.setdefault("servers", {}).pop("mycel", None)
        assert whole == before
        for comment in re.findall(r"// [A-Zlo].*|/\*.*\*/", text):
            assert comment in after
        assert run("init", "--bare", "--client", "vscode", "--json").objects[-1]["changed"] is False
        assert path.read_text() == after
    assert '"command": "old"' not in after
    assert "// ours\n" in after


def test_codex_has_a_file_for_a_project_that_wants_one(run: Run, project: Path) -> None:
    own, shared = project / ".codex" / "config.toml", path_of("codex", project)
    run("init", "--bare", "--client", "codex")
    assert list(entries_in(shared)) == ["mycel-project"]
    own.parent.mkdir()
    own.write_text("# Of this project.\n")
    done = run("init", "--bare", "--client", "codex")
    assert "if it trusts the project" in done.stdout
    assert own.read_text().startswith("# Of this project.\n")
    assert entry_in(own) == {"command": "mycel", "args": ["mcp"]}
    known = [each["detail"] for each in run("doctor", "--json").objects if each["check"] == "Codex"]
    assert [str(own) in each for each in known] == [True, False]
    assert [str(shared) in each for each in known] == [False, True]


@pytest.mark.parametrize(
    ("client", "text", "why"),
    [
        ("cursor", "{broken", "not JSON"),
        ("vscode", '{\n  // mine\n  "servers": {}', "not JSON"),
        ("claude-code", '{\n  // mine\n  "mcpServers": {}\n}', "not plain JSON"),
        ("claude-code", "[]", "no object"),
        ("claude-desktop", '{"mcpServers": []}', "no object"),
        ("codex", "= broken", "not TOML"),
        ("codex", 'mcp_servers = {other = {command = "x"}}', "cannot be written"),
        ("codex", 'mcp_servers = "none"', "no object"),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone(
    run: Run, project: Path, client: str, text: str, why: str
) -> None:
    path = path_of(client, project)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    done = run("init", "--bare", "--client", client)
    assert done.status == 2
    assert why in done.stderr
    assert f"mycel init --client {client} --print" in done.stderr
    assert path.read_text() == text
    assert [each.name for each in path.parent.iterdir()] == [path.name]


# One entry for each graph.


@pytest.mark.parametrize("client", SHARED)
def test_projects_that_share_a_file_have_an_entry_each(
    run: Run, project: Path, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = project.parent / "elsewhere" / project.name
    other.mkdir(parents=True)
    for folder in (project, other):
        monkeypatch.chdir(folder)
        assert run("init", "--bare", "--client", client).status == 0
    roots = {entry["args"][-1] for entry in entries_in(path_of(client, project)).values()}
    assert roots == {str(project), str(other)}
    monkeypatch.chdir(project)
    assert run("init", "--bare", "--client", client, "--json").objects[-1]["changed"] is False


@pytest.mark.parametrize("client", programs.CLIENTS)
def test_an_entry_that_leads_elsewhere_is_not_taken_over(
    run: Run, project: Path, client: str
) -> None:
    path = path_of(client, project)
    run("init", "--bare", "--workspace", "first", "--client", client, "--name", "graph")
    before = path.read_bytes()
    done = run("init", "--bare", "--workspace", "second", "--client", client, "--name", "graph")
    assert done.status == 2
    assert "'graph' is for --workspace first" in done.stderr
    assert "--name" in done.stderr
    assert path.read_bytes() == before
    assert (
        run("init", "--bare", "--workspace", "second", "--client", client, "--name", "two").status
        == 0
    )
    assert entries_in(path).keys() == {"graph", "two"}


@pytest.mark.parametrize(
    ("entry", "where"),
    [
        ({"type": "http", "url": "http://old/mcp"}, "http://old/mcp"),
        ({"command": "npx", "args": ["-y", "another server"]}, "npx -y 'another server'"),
        ({"command": "mycel", "args": ["mcp", "--db=/other.db"]}, "--db /other.db"),
        ({"command": "mycel", "args": ["mcp", "--workspace", "a b"]}, "--workspace 'a b'"),
    ],
)
def test_what_leads_elsewhere_is_said_and_replaced_on_request(
    run: Run, project: Path, entry: dict[str, Any], where: str
) -> None:
    path = path_of("cursor", project)
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"mycel": entry}}))
    assert f"is for {where}" in run("init", "--bare", "--client", "cursor").stderr
    assert entry_in(path) == entry
    done = run("init", "--bare", "--client", "cursor", "--replace")
    assert f"was for {where} before" in done.stdout
    assert entry_in(path)["args"] == ["mcp", "--root", FOLDER]


def test_a_portable_entry_means_the_graph_of_the_folder(run: Run, project: Path) -> None:
    path = path_of("claude-code", project)
    entry = {"command": "mycel", "args": ["mcp", "--readonly"]}
    path.write_text(json.dumps({"mcpServers": {"mycel": entry}}))
    done = run("init", "--bare", "--client", "claude-code", "--json")
    assert done.objects[-1]["changed"] is False
    # An entry that names no graph is completed with another one.
    assert run("init", "--bare", "--client", "claude-code", "--workspace", "other").status == 0
    assert entry_in(path)["args"] == ["mcp", "--workspace", "other", "--readonly"]


def test_whole_paths_are_written_on_request(run: Run, project: Path) -> None:
    run("init", "--bare", "--client", "cursor", "--absolute")
    entry = entry_in(path_of("cursor", project))
    assert entry["command"] == sys.executable
    assert entry["args"][-2:] == ["--root", str(project)]


def test_without_the_program_on_the_path_the_entry_still_starts_it(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(project))
    done = run("init", "--bare", "--client", "claude-code")
    assert entry_in(path_of("claude-code", project))["command"] == sys.executable
    assert "cannot be shared" in done.stderr


def test_one_entry_of_a_user_serves_every_project(run: Run, project: Path, tmp_path: Path) -> None:
    home = Path.home()
    for client, path, key in (
        ("claude-code", home / ".claude.json", "mcpServers"),
        ("cursor", home / ".cursor" / "mcp.json", "mcpServers"),
        ("vscode", home / ".config" / "Code" / "User" / "mcp.json", "servers"),
        ("codex", home / ".codex" / "config.toml", "mcp_servers"),
    ):
        done = run("init", "--bare", "--client", client, "--user")
        assert done.status == 0
        text = path.read_text("utf-8")
        whole = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        entry = whole[key]["mycel"]
        assert entry["command"] == sys.executable
        assert entry["args"] == ["-m", "mycel", "mcp", *FOLDERS.get(client, [])]
        assert str(project) not in text
        again = run("init", "--bare", "--client", client, "--user", "--json")
        assert again.objects[-1]["changed"] is False
        assert any(str(path) in each["detail"] for each in run("doctor", "--json").objects)
    # Each project has its own graph, so none is created here.
    assert not (home / ".knowledge_engine").exists()
    for words in (("--absolute",), ("--workspace", "x"), ("--client", "claude-desktop")):
        assert run("init", "--bare", "--client", "codex", "--user", *words).status == 2


def test_a_table_of_ours_in_toml_is_changed_and_nothing_around_it(run: Run, project: Path) -> None:
    path = path_of("codex", project)
    path.parent.mkdir(parents=True)
    before, after = '# Mine.\nmodel = "x"\n\n', '\n[mcp_servers.other]  # theirs\ncommand = "o"\n'
    old = '[mcp_servers.graph]\ncommand = "x" # old\n# Slow.\nstartup_timeout_sec = 20\n'
    path.write_text(before + old + after)
    assert "is for x" in run("init", "--bare", "--client", "codex", "--name", "graph").stderr
    assert run("init", "--bare", "--client", "codex", "--name", "graph", "--replace").status == 0
    text = path.read_text()
    assert text.startswith(before + "[mcp_servers.graph]\n")
    assert text.endswith("# Slow.\nstartup_timeout_sec = 20\n" + after)
    assert entries_in(path)["graph"]["args"][-1] == str(project)
    assert run("init", "--bare", "--client", "codex", "--compat", "memory").status == 0
    assert entries_in(path)["graph"]["args"][-2:] == ["--compat", "memory"]
    assert entries_in(path)["graph"]["startup_timeout_sec"] == 20


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers.graph]\nargs = [\n  "a",\n]\ncommand = "x"\n',
        '[mcp_servers]\ngraph = {command = "x"}\n',
        'mcp_servers.graph.command = "x"\n',
        '[mcp_servers."graph"]\ncommand = "x"\n',
        'note = """\n[mcp_servers.graph]\n"""\n[ mcp_servers.graph ]\ncommand = "x"\n',
    ],
)
def test_a_table_that_is_written_in_another_way_is_left_alone(
    run: Run, project: Path, text: str
) -> None:
    path = path_of("codex", project)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    done = run("init", "--bare", "--client", "codex", "--name", "graph", "--replace")
    assert done.status == 2
    assert "cannot be written" in done.stderr
    assert path.read_text() == text


def test_nothing_happens_where_one_of_several_clients_has_to_be_refused(
    run: Run, project: Path
) -> None:
    path_of("claude-code", project).write_text("{broken")
    done = run("init", "--bare", "--client", "cursor", "--client", "claude-code")
    assert done.status == 2
    assert [each.name for each in project.iterdir()] == [".mcp.json"]
    assert not Path.home().exists()


def test_an_entry_keeps_the_name_that_it_was_given(run: Run, project: Path) -> None:
    run("init", "--bare", "--client", "claude-desktop", "--name", "notes")
    assert run("init", "--bare", "--client", "claude-desktop", "--compat", "memory").status == 0
    ((name, entry),) = entries_in(path_of("claude-desktop", project)).items()
    assert name == "notes"
    assert entry["args"][-2:] == ["--compat", "memory"]


def test_options_that_an_entry_has_had_stay(run: Run, project: Path) -> None:
    run("init", "--bare", "--client", "cursor", "--compat", "memory")
    path = path_of("cursor", project)
    whole = json.loads(path.read_text())
    whole["mcpServers"]["mycel"]["args"] += ["--readonly", "--actor=ada"]
    path.write_text(json.dumps(whole))
    assert run("init", "--bare", "--client", "cursor").status == 0
    arguments = entry_in(path)["args"]
    assert arguments[-5:] == ["--compat", "memory", "--readonly", "--actor", "ada"]
    run("init", "--bare", "--client", "cursor", "--compat", "none")
    assert entry_in(path)["args"] == [
        word for word in arguments if word not in ("--compat", "memory")
    ]


@pytest.mark.parametrize("client", programs.CLIENTS)
def test_the_mode_of_an_entry_stays_in_every_client(run: Run, project: Path, client: str) -> None:
    run("init", "--bare", "--client", client, "--compat", "memory")
    assert run("init", "--bare", "--client", client, "--json").objects[-1]["changed"] is False
    printed = run("init", "--bare", "--client", client, "--print", "--json").object
    assert printed["command"][-2:] == ["--compat", "memory"]


@pytest.mark.parametrize("name", ["a b", "", "x" * 41, "a.b", "a]"])
def test_a_name_that_some_client_would_refuse_is_refused(
    run: Run, project: Path, name: str
) -> None:
    done = run("init", "--bare", "--client", "codex", "--name", name)
    assert done.status == 2
    assert "up to 40 letters" in done.stderr
    assert not path_of("codex", project).exists()


@pytest.mark.parametrize(
    ("workspace", "path", "name"),
    [
        ("shop", "/home/x.db", "mycel-shop"),
        (None, "/home/shop.db", r"mycel-shop-[0-9a-f]{8}"),
        ("a.b", "/home/x.db", r"mycel-a-b-[0-9a-f]{8}"),
        ("w" * 100, "/home/x.db", r"mycel-w{25}-[0-9a-f]{8}"),
    ],
)
def test_names_of_graphs_are_short_and_plain(workspace: str | None, path: str, name: str) -> None:
    found = programs.server_name(WorkspaceLocation(Path(path), workspace, "--workspace"))
    assert re.fullmatch(name, found)
    assert len(found) <= programs.NAME_CHARACTERS_MAX


# Copies of what was there.


def test_the_first_copy_of_a_file_is_never_overwritten(run: Run, project: Path) -> None:
    path = path_of("claude-code", project)
    path.write_text('{"mine": 1}')
    run("init", "--bare", "--client", "claude-code")
    second = path.read_bytes()
    done = run("init", "--bare", "--client", "claude-code", "--compat", "memory")
    assert ".mcp.json.mycel-backup-2" in done.stdout
    assert (project / ".mcp.json.mycel-backup").read_text() == '{"mine": 1}'
    assert (project / ".mcp.json.mycel-backup-2").read_bytes() == second


def test_what_is_kept_already_is_not_kept_again(run: Run, project: Path) -> None:
    path = path_of("claude-code", project)
    for _ in range(3):
        path.write_text('{"mine": 1}')
        run("init", "--bare", "--client", "claude-code")
    assert sorted(each.name for each in project.iterdir()) == [
        ".mcp.json",
        ".mcp.json.mycel-backup",
    ]


@needs_posix
def test_a_link_in_the_place_of_a_copy_is_left_alone(
    run: Run, project: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (project / ".mcp.json.mycel-backup").symlink_to(elsewhere)
    path_of("claude-code", project).write_text("{}")
    assert run("init", "--bare", "--client", "claude-code").status == 0
    assert not elsewhere.exists()
    assert (project / ".mcp.json.mycel-backup-2").read_text() == "{}"


@needs_posix
def test_a_symbolic_link_is_not_followed(run: Run, project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text("{}")
    path_of("claude-code", project).symlink_to(elsewhere)
    (project / ".cursor").symlink_to(tmp_path, target_is_directory=True)
    for client in ("claude-code", "cursor"):
        done = run("init", "--bare", "--client", client)
        assert done.status == 2
        assert "symbolic link" in done.stderr
    assert elsewhere.read_text() == "{}"
    assert not (tmp_path / "mcp.json").exists()


@needs_posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_said(run: Run, project: Path) -> None:
    (project / ".cursor").mkdir(mode=0o500)
    done = run("init", "--bare", "--client", "cursor")
    assert done.status == 1
    assert "cannot be written" in done.stderr


@pytest.mark.parametrize(
    "option", [("--print",), ("--compat", "memory"), ("--name", "x"), ("--replace",)]
)
def test_options_about_clients_need_one(run: Run, option: tuple[str, ...]) -> None:
    done = run("init", "--bare", *option)
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
    found = programs.client("claude-desktop", Path()).path
    assert found == Path.home() / folder / "claude_desktop_config.json"


def finding(run: Run, check: str) -> tuple[str, str]:
    done = run("doctor", "--json")
    return next((e["status"], e["detail"]) for e in done.objects if e["check"] == check)


def test_the_doctor_says_which_clients_know_of_us(run: Run, project: Path) -> None:
    assert finding(run, "clients")[0] == "ok"
    run("init", "--bare", "--client", "codex", "--client", "vscode")
    for title, program in (("Codex", sys.executable), ("VS Code", "mycel")):
        status, detail = finding(run, title)
        assert status == "ok"
        assert f"starts {program}" in detail


def test_the_doctor_looks_at_every_entry(run: Run, project: Path) -> None:
    run("init", "--bare", "--workspace", "one", "--client", "claude-desktop")
    run("init", "--bare", "--workspace", "two", "--client", "claude-desktop", "--name", "second")
    (Path.home() / ".knowledge_engine" / "knowledge_two.db").unlink()
    findings = [
        (each["status"], each["detail"])
        for each in run("doctor", "--json").objects
        if each["check"] == "Claude Desktop"
    ]
    assert [status for status, _ in findings] == ["ok", "warn"]
    assert "mycel-one, starts" in findings[0][1]
    assert "second, is for" in findings[1][1]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"command": "/not/there/mycel"}, "which does not exist"),
        ({"command": sys.executable, "args": ["mcp", "--workspace", "nobody"]}, "(yet)"),
        ({"command": sys.executable, "args": ["mcp", "--db", "/nowhere/x.db"]}, "(yet)"),
        ({"command": sys.executable, "args": ["mcp", "--workspace", "a b"]}, "names no database"),
        (
            {"command": sys.executable, "args": ["mcp", "--root", "/nowhere"]},
            "reads files below /nowhere, which does not exist",
        ),
        ({"command": 3}, "has no command"),
        (None, "cannot be parsed"),
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
    own = {"dev", "test", "check"}  # For those who work on Mycel itself.
    assert databases.EXTRAS.keys() == project["optional-dependencies"].keys() - own
    readme = (ROOT / "README.md").read_text("utf-8")
    _, _, table = readme.partition("| extra | adds |")
    rows = [row.split(" | ")[0] for row in table.split("\n\n")[0].splitlines()]
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == set(databases.EXTRAS)


def test_extras_that_are_missing_can_be_installed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "EXTRAS", {"arrow": "json", "vapour": "no_such_module"})
    status, detail = finding(run, "extras")
    assert status == "ok"
    assert detail.startswith("arrow; `pip install '.[vapour]'` ")
