"""`docs/cli.md`, written from the commands themselves: `python -m mycel.cli.reference`.

A test compares the file with what this makes, and refuses commands and options without help.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

import rich_click as click

from mycel.cli.app import Outline, app
from mycel.cli.frame.context import EVERYWHERE

HEAD = """\
# The command line

<!-- Written by `python -m mycel.cli.reference > docs/cli.md`; do not edit. -->

`mycel` works on one database file. To see what it is about, run `mycel demo`. To use it:

```bash
mycel init
mycel define type Drug
mycel define type Symptom
mycel define predicate treats
mycel concept put Drug Aspirin --attributes '{"dose_mg": 500}'
mycel concept put Symptom Headache
mycel edge add Drug:Aspirin treats Symptom:Headache --weight 0.9
mycel find Drug:Aspirin
mycel kip 'FIND(?d.name) WHERE { ?d {type: "Drug"} (?d, "treats", ?s) } LIMIT 5'
mycel log
mycel prove Drug:Aspirin --out aspirin.json
mycel verify --replay
```

## What goes in

- **Elements** are given by id (`C:12` is a concept, `P:13:treats` an edge), as `Type:name`, split
  at the first colon, or by the URI of a node (`file://shop/src/cart.py`) or its path in the
  workspace (`src/cart.py`: a concept, or else a file). What looks like an id is one.
- **Moments** (`--as-of`) are numbers of journal entries, as `mycel log` shows them, or times such
  as `2026-01-31T12:00:00Z`; a time without a zone is UTC.
- **Commands of KIP** are given on the command line, in a file (`--file`), or come through a pipe:
  `mycel kip < questions.kip`. Several have semicolons between them, and run until one fails. `mycel
  kip` alone, on a terminal, is a session: a command on one line runs at Enter, one on several lines
  at an empty line (at two of them inside brackets) or after a semicolon. `.help` explains the rest.
  What was typed is kept in `~/.knowledge_engine/kip_history`.
- **JSON** is given in place, or in a file as `@file.json`; `@-` reads standard input.
- **The database** is the file that `--db` names, or else the one of `--workspace`, `MYCEL_DB`,
  `MYCEL_WORKSPACE`, in this order. Without any of them it is that of the current directory, or of
  the nearest one above that has a database, as git finds a repository; `mycel init` makes one for
  the current directory itself. Databases of workspaces are
  `~/.knowledge_engine/knowledge_<workspace>.db`, and a small file beside each names its folder.
  `mycel doctor` shows which database is used, and why.
- **The workspace** of a folder has the folder's name; a hash of its path follows where another
  folder of that name was first. It is the name of the file and begins all URIs: `mycel bootstrap
  ~/code/shop` makes `file://shop/src/cart.py` in `knowledge_shop.db`. Where `--db` names a file,
  URIs begin with the name of the folder.
- **A folder that was moved** is another folder. A command that finds no database names those whose
  folder is gone; `mycel init --workspace NAME` gives one of them to the current directory, also if
  that has a new database.

## What comes out

Results go to standard output: tables on a terminal, plain columns into a file or pipe, and with
`--json` one JSON object per line. Remarks and errors go to standard error; with `--json` they are
objects as well: `{"note": …}` and `{"error": {"code": …, "name": …, "message": …, "hint": …}}`.

An answer of KIP is a table for people, with a column for each expression of FIND: strings as they
are, concepts as `Type "name" (C:12)`, links with the names of their two ends, everything
else as JSON. EXPORT prints the capsule itself. With `--json` an answer is the response of KIP:
`{"result": …}`, with `next_cursor` and `warnings` if there are any.

| exit status | |
|---|---|
| 0 | done |
| 1 | it failed, or `verify` or `doctor` found something wrong |
| 2 | the command line, or a value on it, is wrong |
| 130 | interrupted with Ctrl-C |
| 141 | the reader of the output closed it |

| environment | |
|---|---|
| `MYCEL_DB`, `MYCEL_WORKSPACE`, `MYCEL_BRANCH` | the database, if no option names one |
| `MYCEL_ACTOR`, `MYCEL_MESSAGE` | defaults of `--actor` and `--message` |
| `MYCEL_TOKEN` | the token that `mycel serve` asks for |
| `MYCEL_DEBUG=1` | the traceback of an error |
| `MYCEL_HISTORY` | where sessions keep what was typed; empty: nowhere |
| `NO_COLOR` | no colours, even on a terminal |

For completion in the shell: `eval "$(_MYCEL_COMPLETE=bash_source mycel)"` (or `zsh_source`,
`fish_source`).
"""


def reference() -> str:
    """The whole page."""
    parts = [HEAD, f"## {EVERYWHERE}\n", "They may come before or after a command's name.\n"]
    context = click.RichContext(app, info_name="mycel")
    shared = [each for each in app.params if _is_shared(each)]
    parts += [_table(("option", ""), [_option_row(each) for each in shared]), ""]
    own = [each for each in app.params if not _is_shared(each)]
    parts += ["`mycel` itself takes one more:\n"]
    parts += [_table(("option", ""), [_option_row(each) for each in own]), ""]
    for command, inner in walk(app, context):
        parts += _section(command, inner)
    return "\n".join(parts).rstrip("\n") + "\n"


def walk(
    group: click.Group, context: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    """Every command below a group, each with a context that knows its full name."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        if isinstance(command, Outline):
            command = command.load()
        inner = command.context_class(command, info_name=name, parent=context)
        yield command, inner
        if isinstance(command, click.Group):
            yield from walk(command, inner)


def _section(command: click.Command, context: click.Context) -> Iterator[str]:
    depth = (
        "##" if isinstance(command, click.Group) or context.command_path.count(" ") == 1 else "###"
    )
    yield f"{depth} {context.command_path}\n"
    yield inspect.cleandoc(command.help or "") + "\n"
    if isinstance(command, click.Group):
        return
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    yield f"```text\n{usage}\n```\n"
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    if arguments:
        yield _table(("argument", ""), [_argument_row(each, context) for each in arguments])
        yield ""
    options = [
        each for each in command.params if isinstance(each, click.Option) and not _is_shared(each)
    ]
    if options:
        yield _table(("option", ""), [_option_row(each) for each in options])
        yield ""


def _is_shared(param: click.Parameter) -> bool:
    return getattr(param, "panel", None) == EVERYWHERE


def _argument_row(param: click.Argument, context: click.Context) -> tuple[str, str]:
    return _code(param.make_metavar(context)), help_of(param)


def _option_row(param: click.Parameter) -> tuple[str, str]:
    said = help_of(param)
    if isinstance(param, click.Option) and not param.is_flag:
        if param.required:
            said += "; required"
        elif isinstance(param.default, (int, float, str)) and param.show_default is not False:
            said += f" (default: {param.default})"
    names = "/".join((" ".join(param.opts), *param.secondary_opts))
    return _code(" ".join((names, *_value(param)))), said


def _value(param: click.Parameter) -> Iterator[str]:
    if isinstance(param, click.Option) and param.is_flag:
        return
    if isinstance(param.type, click.Choice):
        yield "|".join(param.type.choices)
    else:
        yield param.metavar or "N"


def help_of(param: click.Parameter) -> str:
    """The help text of an option or argument."""
    return getattr(param, "help", None) or ""


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = [f"| {' | '.join(head)}|", "|---|---|"]
    cells = ((left, right.replace("|", "\\|")) for left, right in rows)
    return "\n".join([*lines, *(f"| {left} | {right} |" for left, right in cells)])


if __name__ == "__main__":
    sys.stdout.write(reference())
