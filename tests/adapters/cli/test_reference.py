"""Help and documentation: nothing that can be typed is left unsaid."""

import re

import rich_click as click

import mycel
from mycel.cli.app import Outline, app
from tests.adapters.cli.conftest import Run
from tests.cases import cases
from tests.docs.blocks import ROOT, docs_tool

TOOL = docs_tool()
DOCUMENT = ROOT / "docs" / "cli.md"

CONTEXT = click.RichContext(app, info_name="mycel")
COMMANDS = {context.command_path: command for command, context in TOOL.commands(app, CONTEXT)}
COMMANDS["mycel"] = app


def test_the_document_is_the_one_that_the_commands_make() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == TOOL.cli_page(), "Run `python tools/docs.py`."


@cases("path", COMMANDS)
def test_every_command_and_option_is_described(path: str) -> None:
    command = COMMANDS[path]
    assert command.help
    undescribed = [param.name for param in command.params if not TOOL.help_of(param)]
    assert undescribed == []
    document = DOCUMENT.read_text(encoding="utf-8")
    if command is not app:
        assert f"# {path}\n" in document
    for param in command.params:
        if isinstance(param, click.Option):
            assert all(f"`{name}" in document for name in param.opts)


@cases("path", COMMANDS)
def test_every_command_shows_help_and_takes_the_shared_options(run: Run, path: str) -> None:
    done = run(*path.split()[1:], "--help")
    assert done.status == 0
    assert "Usage:" in done.stdout
    for option in ("--db", "--workspace", "--branch", "--actor", "--json", "--help"):
        assert option in done.stdout


def test_the_commands_are_those_that_were_promised() -> None:
    assert list(app.commands) == [
        "init",
        "status",
        "workspace",
        "doctor",
        "backup",
        "copy",
        "restore",
        "sleep",
        "retention",
        "tend",
        "demo",
        "kip",
        "query",
        "capsule",
        "note",
        "show",
        "ls",
        "bootstrap",
        "schema",
        "load",
        "export",
        "import",
        "define",
        "concept",
        "edge",
        "find",
        "traverse",
        "search",
        "embed",
        "install",
        "uninstall",
        "hook",
        "mcp",
        "serve",
        "token",
        "explore",
        "remote",
        "clone",
        "pull",
        "push",
        "follow",
        "key",
        "witness",
        "log",
        "tag",
        "branch",
        "mirror",
        "merge",
        "conflicts",
        "resolve",
        "choices",
        "submit",
        "proposal",
        "diff",
        "rollback",
        "revert",
        "history",
        "snapshot",
        "prove",
        "verify",
        "purge",
        "scrub",
    ]


@cases("outline", app.commands.values())
def test_an_outline_says_what_its_command_says(outline: click.Command) -> None:
    assert isinstance(outline, Outline)
    command = outline.load()
    assert command.name == outline.name
    assert command.help
    assert outline.short_help == " ".join(command.help.partition("\n\n")[0].split())
    assert command.hidden == outline.hidden
    assert bool(command.deprecated) == bool(outline.deprecated)


def test_a_command_that_is_close_is_suggested(run: Run) -> None:
    done = run("serch", "x")
    assert done.status == 2
    assert "search" in done.stderr


def test_without_words_help_is_shown(run: Run) -> None:
    assert "Usage:" in run().stdout
    assert "Usage:" in run("edge").stdout


def test_the_version_is_the_one_of_the_package(run: Run) -> None:
    assert run("--version").stdout == f"mycel {mycel.__version__}\n"
    assert run("--json", "--version").object == {"version": mycel.__version__}


def test_every_command_that_a_hint_or_a_page_names_exists() -> None:
    pages = ROOT / "README.md", *(ROOT / "docs").glob("*.md")  # CHANGELOG.md names others too.
    files = [*(ROOT / "src").rglob("*.py"), *pages]
    named = {
        (word, path.name)
        for path in files
        for word in re.findall(r"`mycel ([a-z]+)", path.read_text(encoding="utf-8"))
    }
    assert {each for each in named if each[0] not in app.commands} == set()
    assert len(named) > len(app.commands)
