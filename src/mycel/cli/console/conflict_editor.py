"""A conflict as a file for the user's editor, and the value that was edited.

The file begins with a head for people, which a separator line ends. Below it is the value: a text
with its contested lines between markers, or any other value as JSON.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import rich_click as click

from mycel.cli.console.parameters import read_text
from mycel.engine.conflict_warnings import place
from mycel.errors import InvalidSyntax
from mycel.history.conflict_text import SIDES, element_lines, is_text, side_rows, text_of
from mycel.model.json_text import read_json
from mycel.model.limits import LINE_BYTES_MAX

CUT = "------------------------ >8 ------------------------"
_OURS, _BASE, _BETWEEN, _THEIRS = "<<<<<<< ours", "||||||| base", "=======", ">>>>>>> theirs"
_OWN_LINES = frozenset((_OURS, _BASE, _THEIRS))
"""The separator is not among them: it may underline a heading of Markdown."""


class NothingEdited(Exception):  # noqa: N818 - a choice of the user, and no error.
    """The user has emptied the file, so the conflict is not resolved."""


def edited_value(conflict: Mapping[str, Any]) -> Any:
    """The value of a conflict after the user has edited it.

    Raises:
        NothingEdited: the file was emptied.
        InvalidSyntax: the value is no JSON, or contested lines are still marked.
        click.UsageError: there is no editor, or it failed.
    """
    as_text = is_text(conflict)
    suffix = ".md" if as_text else ".json"
    descriptor, name = tempfile.mkstemp(prefix=f"mycel-{conflict['id']}-", suffix=suffix)
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(file_text(conflict))
        _run_editor(path)
        value = value_in(read_text(name, LINE_BYTES_MAX), as_text=as_text)
    except InvalidSyntax as error:
        # Keep the file: it has the work of the user.
        error.hint = f"{error.hint} Your text is kept in {name}."
        raise
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)
    return value


def file_text(conflict: Mapping[str, Any]) -> str:
    """The text of the file to edit."""
    head = [
        f"Conflict {conflict['id']}: {place(conflict)}",
        str(conflict.get("reason", "")),
        *element_lines(conflict),
        "",
    ]
    if not conflict.get("hunks"):
        for row in side_rows(conflict):
            head += [row.name] if row.name else []
            cells = zip(SIDES, row.versions, strict=True)
            head += [f"{side:>8}: {text}" for side, text in cells]
        head.append("")
    if conflict["kind"] == "constraint":
        head += ['For each element: "ours", "theirs", "base", or {"attributes": {…}}.', ""]
    kind = "text" if is_text(conflict) else "JSON"
    head.append(f"The {kind} below the next line becomes the value. Delete all of it to leave the")
    head.append("conflict as it is.")
    return "\n".join((*head, CUT, _body(conflict)))


def _body(conflict: Mapping[str, Any]) -> str:
    if conflict.get("hunks"):
        return _marked(conflict["hunks"], ends_line=str(conflict.get("ours", "")).endswith("\n"))
    value = conflict.get(
        str(conflict.get("suggestion") or "ours"), conflict.get("ours", conflict.get("theirs"))
    )
    if is_text(conflict):
        return text_of(value) + "\n"
    if conflict["kind"] == "constraint":
        value = {row["label"]: "ours" for row in conflict.get("rows", ())}
    elif isinstance(value, dict) and "attributes" in value and not conflict.get("field"):
        value = {key: value[key] for key in ("attributes", "metadata", "weight") if key in value}
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _marked(hunks: Sequence[Mapping[str, Any]], *, ends_line: bool) -> str:
    """A text with its contested lines between markers."""
    text = ""
    for hunk in hunks:
        if "ours" not in hunk:
            text += "".join(hunk.get("same", hunk.get("merged", ())))
            continue
        parts = (_OURS, hunk["ours"], _BASE, hunk["base"], _BETWEEN, hunk["theirs"], _THEIRS)
        for part in parts:
            text = _with_end(text) + ("".join(part) if isinstance(part, list) else part)
        text = _with_end(text)
    return f"{text}\n" if ends_line else _with_end(text)


def _with_end(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def value_in(text: str, *, as_text: bool) -> Any:
    """The value in an edited file.

    Raises:
        NothingEdited: the file has no value.
        InvalidSyntax: the value is no JSON, or contested lines are still marked.
    """
    _, cut, body = text.partition(f"{CUT}\n")
    if not cut:
        body = "" if not text.strip() else text
    if not body.strip():
        raise NothingEdited
    if as_text:
        if any(line in _OWN_LINES for line in body.splitlines()):
            raise InvalidSyntax(
                "The text still has marked lines (<<<<<<<, =======, >>>>>>>).",
                hint="Choose or combine the lines between them, and remove the marks.",
            )
        return body.removesuffix("\n")
    try:
        return read_json(body)
    except ValueError as error:
        raise InvalidSyntax(
            f"The value is not JSON: {error}.", hint='Texts are in quotes: "blue".'
        ) from None


def _run_editor(path: Path) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command:
        raise click.UsageError("There is no editor: set EDITOR, or give a --value.")
    try:
        process = subprocess.run([*shlex.split(command), str(path)], check=False)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"The editor {command!r} cannot be started: {error}.") from None
    if process.returncode != 0:
        raise click.UsageError(f"The editor ended with status {process.returncode}.")
