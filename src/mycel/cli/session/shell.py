"""The session of `mycel kip` on a terminal.

prompt_toolkit edits the text: a command may have several lines, the history has whole commands, and
names are completed. No error ends the session.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import rich_click as click
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer

from mycel.cli.console.exit_status import report
from mycel.cli.console.kip_command import execute, named_value, parameters_by
from mycel.cli.console.kip_output import answer
from mycel.cli.console.labels import labels
from mycel.cli.console.output import Output, PipeClosed, has_colour, is_terminal, json_line
from mycel.cli.console.parameters import json_object
from mycel.cli.session.completion import (
    CompletionNames,
    indent_of_closing,
    is_complete,
    offers,
    pieces,
    without_semicolon,
)
from mycel.errors import InvalidSyntax, MycelError, did_you_mean
from mycel.kip.statements import first_word
from mycel.model.names import count
from mycel.store.file.workspace_databases import HOME_FOLDER

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.engine.result import Result

HELP = """\
A command on one line runs when you press Enter. On several lines it runs at an empty line (at two
of them inside brackets) or after a semicolon. Tab completes, the arrow keys bring back what was
typed before, Ctrl-C drops what you are typing, Ctrl-D leaves.
"""

WITHOUT_DOT = {"help": ".help", "exit": ".exit", "quit": ".exit"}
"""Words that work without the dot; no command of KIP is a single word."""

SCHEMAS = 'FIND(?t.name, ?t.attributes.instance_schema) WHERE { ?t {type: "$ConceptType"} }'

COLOURS = {
    "": "",
    "keyword": "bold",
    "string": "ansigreen",
    "variable": "ansicyan",
    "comment": "ansibrightblack",
}


class Shell:
    """One session: a graph, and the settings of the commands that begin with a dot."""

    def __init__(self, db: Graph, *, as_json: bool, readonly: bool, dry_run: bool) -> None:
        self._db = db
        self._out = Output(as_json=as_json)
        self._readonly = readonly
        self._dry_run = dry_run
        self._timing = True
        self._said_short = False
        self._known: CompletionNames | None = None
        self.parameters: dict[str, Any] = {}
        self._dot_commands: dict[str, tuple[Callable[[str], bool], str]] = {
            ".help": (self._help, "the list of commands"),
            ".json": (self._json, "show answers as JSON, or as tables again"),
            ".timing": (self._time, "show how long each command took, or stop showing it"),
            ".readonly": (self._read, "refuse commands that write, or allow them again"),
            ".params": (self._params, "values of placeholders: name=value, {…}, or clear"),
            ".exit": (self._exit, "leave"),
        }

    def run(self, path: Path) -> None:
        """Read and run commands until the session is left."""
        self._out.note(f"{path}: KIP commands, or .help")
        typing = _typing(self)
        while True:
            try:
                if not self.take(typing.prompt(self._prompt())):
                    return
            except KeyboardInterrupt:
                continue  # The typed text is dropped.
            except EOFError:
                return

    def take(self, typed: str) -> bool:
        """Run the typed text; False if the session is to end."""
        text = without_semicolon(typed)
        text = WITHOUT_DOT.get(text.lower(), text)
        try:
            if text.startswith("."):
                return self._dot(text)
            if text:
                self._run(text)
        except PipeClosed:
            raise
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
        except click.UsageError as error:
            mistake = InvalidSyntax(error.format_message(), hint=".help lists the commands.")
            report(mistake, as_json=self._out.as_json)
        except Exception as error:  # noqa: BLE001 - the edge: nothing ends a session but its user.
            report(error, as_json=self._out.as_json)
        sys.stdout.flush()
        return True

    @property
    def completion_names(self) -> CompletionNames:
        """The names for completion, read again after each command."""
        if self._known is None:
            names = ("DESCRIBE CONCEPT TYPES", "DESCRIBE PROPOSITION TYPES")
            types, predicates = (self._db.execute(name).value for name in names)
            self._known = CompletionNames(
                types,
                predicates,
                list(self.parameters),
                list(self._dot_commands),
                dict(self._attributes()),
            )
        return self._known

    def _attributes(self) -> Iterator[tuple[str, list[str]]]:
        result = self._db.execute(SCHEMAS)
        for type_name, schema in result:
            if isinstance(schema, dict):
                yield type_name, list(schema)

    def _prompt(self) -> str:
        modes = (("read only", self._readonly), ("dry run", self._dry_run))
        message = ", ".join(mode for mode, is_on in modes if is_on)
        return f"kip ({message})> " if message else "kip> "

    def _run(self, command: str) -> None:
        started = perf_counter()
        self._known = None
        with parameters_by(".params"):
            result, changed = execute(
                self._db, command, self.parameters, readonly=self._readonly, dry_run=self._dry_run
            )
        took_ms = (perf_counter() - started) * 1000
        in_short = answer(self._out, command, result, labels(self._db), changed=changed)
        if in_short and not self._said_short and is_terminal():
            self._out.note("Elements are shown in short; after .json you see everything.")
            self._said_short = True
        if not self._out.as_json:
            parts = [*_rows(command, result), *([f"{took_ms:.1f} ms"] if self._timing else ())]
            if parts:
                self._out.line(self._out.style(", ".join(parts), dim=True))

    # Commands that begin with a dot. Each returns True if the session goes on.

    def _dot(self, text: str) -> bool:
        name, _, rest = text.partition(" ")
        if name not in self._dot_commands:
            close = did_you_mean(name, list(self._dot_commands))
            raise click.UsageError(f"There is no {name}. {close}".rstrip())
        return self._dot_commands[name][0](rest.strip())

    def _help(self, _rest: str) -> bool:
        self._out.write(HELP)
        self._out.table(
            ["command", ""],
            [[name, description] for name, (_, description) in self._dot_commands.items()],
        )
        return True

    def _json(self, _rest: str) -> bool:
        self._out = Output(as_json=not self._out.as_json)
        return True

    def _time(self, _rest: str) -> bool:
        self._timing = not self._timing
        return True

    def _read(self, _rest: str) -> bool:
        self._readonly = not self._readonly
        return True

    def _params(self, rest: str) -> bool:
        if rest == "clear":
            self.parameters.clear()
        elif rest.startswith(("{", "@")):
            self.parameters |= json_object(rest)
        elif rest:
            name, value = named_value(rest)
            self.parameters[name] = value
        self._known = None
        self._out.line(json_line(self.parameters, sys.stdout.encoding))
        return True

    def _exit(self, _rest: str) -> bool:
        return False


def _rows(command: str, result: Result) -> Iterator[str]:
    if first_word(command) == "FIND":
        yield count(len(result), "row")


# Editing of the text.


def _typing(shell: Shell) -> PromptSession[str]:
    return PromptSession(
        history=_history(),
        completer=_Completer(shell),
        complete_while_typing=False,
        key_bindings=_keys(),
        lexer=_Colours() if has_colour() else None,
        multiline=True,
        prompt_continuation=lambda width, _line, _soft: "...> ".rjust(width),
        enable_suspend=True,
    )


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        on_last_line = "\n" not in buffer.document.text_after_cursor
        if on_last_line and is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline()

    @keys.add(")")
    @keys.add("]")
    @keys.add("}")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        indent = indent_of_closing(buffer.document.text_before_cursor)
        if indent is not None:
            buffer.delete_before_cursor(len(buffer.document.current_line_before_cursor))
            buffer.insert_text(indent)
        buffer.insert_text(event.data)

    return keys


class _Completer(Completer):
    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def get_completions(
        self, document: Document, _complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        try:
            names = self._shell.completion_names
        except MycelError:  # The next command will report the error.
            return []
        suggestions = offers(document.text_before_cursor, document.text_after_cursor, names)
        return [Completion(offer.text, -offer.replaces) for offer in suggestions]


class _Colours(Lexer):
    """Colours each line by itself: a string or comment ends with its line."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        return lambda at: [(COLOURS[kind], piece) for kind, piece in pieces(document.lines[at])]


def _history() -> History:
    """The history of earlier sessions: a private file, or memory if it cannot be written."""
    setting = os.environ.get("MYCEL_HISTORY")
    if setting == "":
        return InMemoryHistory()
    try:
        path = Path(setting) if setting else Path.home() / HOME_FOLDER / "kip_history"
        if not setting:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Readable by the user alone, like the graph.
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except (OSError, RuntimeError):
        return InMemoryHistory()
    return FileHistory(path)
