"""The output of commands: tables for people, one JSON object per line for programs.

Everything on standard output goes through `Output.write`, so a pipe that its reader closed (`mycel
log | head`) is noticed in one place. Names and texts come from others. On a terminal, their control
characters become visible escapes, and nothing in them acts as markup.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from io import StringIO
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mycel.model.elements import Element

T = TypeVar("T")

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_GAP = "  "


class PipeClosed(Exception):  # noqa: N818 - nothing went wrong: the reader has seen enough.
    """The reader of standard output has closed it."""


class Output:
    """Standard output and standard error, in the form that was asked for."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    # Output of results.

    def list(
        self,
        items: Iterable[T],
        columns: Sequence[str],
        row: Callable[[T], Sequence[object]],
        wire: Callable[[T], Mapping[str, Any]] = methodcaller("to_dict"),
        *,
        empty: str = "Nothing found.",
    ) -> None:
        """Print items: as a table, or each as a line of JSON as soon as it arrives."""
        if self.as_json:
            for item in items:
                self.object(wire(item))
            return
        rows = [[cell(value) for value in row(item)] for item in items]
        # Empty columns are left out.
        used = [at for at in range(len(columns)) if any(row[at] for row in rows)]
        columns = [columns[at] for at in used]
        rows = [[row[at] for at in used] for row in rows]
        if rows:
            self.table(columns, rows)
        else:
            self.note(empty)

    def fields(self, pairs: Iterable[tuple[str, object]], wire: Mapping[str, Any]) -> None:
        """Print one item: its fields below each other, or one line of JSON."""
        if self.as_json:
            self.object(wire)
            return
        rows = [(name, cell(value)) for name, value in pairs if value not in (None, "", {})]
        width = max((len(name) for name, _ in rows), default=0)
        for name, value in rows:
            label = self.style(name.ljust(width), dim=True)
            self.line(f"{label}{_GAP}{value.replace(chr(10), chr(10) + ' ' * (width + 2))}")

    def say(self, text: str, wire: Mapping[str, Any]) -> None:
        """Print a result: a sentence, or one line of JSON."""
        if self.as_json:
            self.object(wire)
        else:
            self.line(text)

    # Parts of the output.

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print rows of safe text: a drawn table on a terminal, plain columns elsewhere."""
        if is_terminal():
            self.render(_table(columns, rows))
        else:
            self._plain_table(columns, rows)

    def object(self, wire: Mapping[str, Any]) -> None:
        """Print an object as one line of JSON."""
        self.write(json_line(wire, sys.stdout.encoding) + "\n")

    def line(self, text: str) -> None:
        self.write(text + "\n")

    def render(self, thing: RenderableType) -> None:
        """Print anything that rich can draw."""
        # Imported late: only terminals and the demonstration need rich.
        from rich.console import Console

        page = StringIO()
        console = Console(
            file=page,
            force_terminal=is_terminal(),
            width=None if is_terminal() else 100,
            highlight=False,
            emoji=False,
            markup=False,
        )
        console.print(thing)
        lines = page.getvalue().split("\n")
        self.write("\n".join(line.rstrip(" ") for line in lines))

    def write(self, text: str) -> None:
        """Write to standard output.

        Raises:
            PipeClosed: the reader is gone.
        """
        try:
            sys.stdout.write(text)
        except BrokenPipeError:
            raise PipeClosed from None

    def note(self, text: str) -> None:
        """Print a remark that is not part of the result, to standard error."""
        if self.as_json:
            text = json_line({"note": text}, sys.stderr.encoding)
        click.echo(text, err=True)

    def warn(self, texts: Iterable[str]) -> None:
        """Print warnings to standard error."""
        if self.as_json:
            for text in texts:
                self.note(text)
            return
        label = "Warning:"
        if sys.stderr.isatty() and has_colour():
            label = click.style(label, fg="yellow", bold=True)
        for text in texts:
            click.echo(f"{label} {visible(text)}", err=True)

    def style(self, text: str, **options: Any) -> str:
        """Text in colour, if standard output is a terminal that wants colour."""
        return click.style(text, **options) if is_terminal() and has_colour() else text

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show a spinner during the block, if standard error is a terminal."""
        if self.as_json or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        with Console(stderr=True).status(text):
            yield

    def _plain_table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        lines = [columns, *([value.replace("\n", "; ") for value in row] for row in rows)]
        widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
        for line in lines:
            cells = [value.ljust(width) for value, width in zip(line, widths, strict=True)]
            self.line(_GAP.join(cells).rstrip())


def cell(value: object) -> str:
    r"""A value as text that is safe for a terminal.

    >>> cell({"dose": 2}), cell("red\x1b[31m"), cell(None)
    ('{"dose":2}', 'red\\x1b[31m', '')
    """
    match value:
        case None:
            return ""
        case str():
            return visible(value)
        case datetime():
            return when(value)
        case Mapping() | list() | tuple():
            return visible(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        case _:
            return visible(str(value))


def when(time: datetime) -> str:
    """A time in a form that `--as-of` accepts.

    >>> from datetime import UTC
    >>> when(datetime(2026, 1, 31, 12, tzinfo=UTC))
    '2026-01-31T12:00:00.000000Z'
    """
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


def wire(element: Element) -> dict[str, Any]:
    """An element for JSON, with who created it and when."""
    created = {"created_at": when(element.created_at), "created_by": element.created_by}
    return element.to_dict() | created


def visible(text: str) -> str:
    """Text with control characters as visible escapes, except line feeds and tabs."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def json_line(wire: Mapping[str, Any], encoding: str | None) -> str:
    """One line of JSON; characters that the stream cannot encode are escaped."""
    plain = (encoding or "").lower().replace("-", "") not in ("utf8", "utf8sig")
    return json.dumps(wire, ensure_ascii=plain, separators=(",", ":"))


def is_terminal() -> bool:
    """True if standard output is a terminal."""
    return sys.stdout.isatty()


def has_colour() -> bool:
    """True if colours are wanted on a terminal (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for at, column in enumerate(columns):
        table.add_column(column, style="" if at else "cyan", overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row))
    return table


def byte_size(size: int) -> str:
    """A size for people.

    >>> byte_size(512), byte_size(4096), byte_size(5 << 20)
    ('512 bytes', '4.0 KiB', '5.0 MiB')
    """
    if size < 1024:
        return f"{size} bytes"
    power = min((size.bit_length() - 1) // 10, 4)
    return f"{size / 1024**power:.1f} {' KMGT'[power]}iB"
