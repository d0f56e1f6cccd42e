"""Writes the documents made from the code: `docs/errors.md`, and the ends of `cli.md` and `mcp.md`.

python tools/docs.py           # write them
python tools/docs.py --check   # exit with 1 if one is stale
"""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rich_click as click

from mycel.cli.app import Outline, app
from mycel.cli.console.context import EVERYWHERE
from mycel.errors import REGISTRY, Category, MycelError
from mycel.mcp.prompts import PROMPTS
from mycel.mcp.resources import TEMPLATES
from mycel.mcp.tool_list import CONTEXT_ID, TOOLS, Tool
from mycel.model.decisions import DECISIONS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MARK = "<!-- Written by `python tools/docs.py` from here on; do not edit. -->\n"

MEANINGS = {
    Category.INPUT: "the input is wrong; sending it again fails again",
    Category.MISSING: "a named element does not exist",
    Category.CONFLICT: "the stored state differs from the expected one",
    Category.FORBIDDEN: "the target is protected or read-only",
    Category.LIMIT: "a limit of time or size was exceeded",
    Category.SYSTEM: "the file, the disk or the program failed",
}

ERRORS_INTRODUCTION = """\
# Errors

<!-- Written by `python tools/docs.py`; do not edit. -->

Every error that Mycel raises is a `mycel.errors.MycelError`. It has

- `code` and `name`: stable, for programs. The codes are those of KIP, the Knowledge Interaction
  Protocol; an error of the store has its own name under the nearest code.
- `message`: what happened, with the values in question.
- `hint`: what to do next. The hints below are the default ones; many errors have a better one.
- `category`: how each interface reports it (`category.exit_code`, `.http_status`, `.jsonrpc_code`).
- `data`: details for programs, often empty.

`to_dict()` gives code, name, message, hint and data for JSON; the command line prints it under the
key `error` when it is called with `--json`.

```python
import mycel
from mycel.errors import MycelError, VersionConflict

db = mycel.open()
db.write(lambda tx: tx.define_type("Drug"))
db.write(lambda tx: tx.put_concept("Drug", "Aspirin"))

try:
    db.write(lambda tx: tx.put_concept("Drug", "Aspirin", expect_version=0))
except VersionConflict as error:
    print(error.code, error.name)  # KIP_3005 VersionConflict
    print(error.data)  # {'expected': 0, 'actual': 1}

try:
    db.write(lambda tx: tx.put_concept("drug", "Aspirin"))
except MycelError as error:
    print(error.message)  # The type 'drug' is not defined.
    print(error.hint)  # Did you mean 'Drug'? Define it first: ...
```

Other exceptions come from your own code (inside `with db.transaction()` they roll the transaction
back and are raised again), or mean that an argument has the wrong Python type.

## What was written

After an error nothing was written: the transaction is rolled back as a whole. The one exception is
`CommitUncertain`: the commit failed at its last step, and only reading shows whether it is durable.
Writing the same again is safe: an identical write changes nothing.

Try the same again after `DatabaseBusy` and `CommitUncertain`, and after `DiskFull` once there is
space. After `VersionConflict`, read the element again before you write.
"""


def errors_page() -> str:
    """The whole of docs/errors.md."""
    return "\n".join(
        (
            ERRORS_INTRODUCTION,
            "## Categories\n",
            "The exit status is that of the command line. HTTP status and JSON-RPC code are those",
            "of the servers.\n",
            *_table(
                ("category", "exit status", "HTTP", "JSON-RPC", "what went wrong"),
                [
                    (
                        each.name,
                        str(each.exit_code),
                        str(each.http_status),
                        str(each.jsonrpc_code),
                        MEANINGS[each],
                    )
                    for each in Category
                ],
            ),
            "\n## Every error\n",
            "A class is named like its error, with one exception: `ReferenceError` is the class",
            "`UnknownReference`, because Python has a `ReferenceError` of its own.\n",
            *_table(
                ("name", "code", "category", "exit", "HTTP", "when", "what to do"),
                [_row(each) for each in REGISTRY.values()],
            ),
            "\n## Hierarchy of classes\n",
            "An `except` for a class also catches the classes indented below it.\n",
            "```text",
            *_tree(MycelError, 0),
            "```\n",
        )
    )


def mcp_page() -> str:
    """The whole of docs/mcp.md: its text up to the mark, and the tools of the server below it."""
    return _completed("mcp.md", _mcp_parts())


def cli_page() -> str:
    """The whole of docs/cli.md: its text up to the mark, and every command below it."""
    return _completed("cli.md", _cli_parts())


def _completed(name: str, parts: Iterator[str]) -> str:
    written, mark, _ = (DOCS / name).read_text(encoding="utf-8").partition(MARK)
    return "\n".join((written + mark, *parts)).rstrip("\n") + "\n"


def _mcp_parts() -> Iterator[str]:
    yield "## Tools\n"
    yield from _table(
        ("tool", "", "reads only", "may remove", "may be repeated"),
        [
            (
                f"[`{tool.name}`](#{tool.name})",
                tool.title,
                _mark(not tool.writes),
                _mark(tool.destroys),
                _mark(not tool.writes or tool.repeatable),
            )
            for tool in TOOLS
        ],
    )
    yield ""
    for tool in TOOLS:
        yield from _tool(tool)
    yield "## Resources\n"
    yield "Tools return the same, for clients that show no resources.\n"
    yield from _table(
        ("resource", ""),
        [(f"`{each['uriTemplate']}`", str(each["description"])) for each in TEMPLATES],
    )
    yield (
        "\nListed are the concepts of the workspace (`concept://` URIs) of every type but `Symbol`,"
        "\nby URI, 100 a page and at most 1,000. The symbols of a code base would leave no room for"
        "\nothers; they are read by their URIs, like all nodes.\n"
    )
    yield "## Prompts\n"
    for prompt in PROMPTS:
        yield f"### {prompt.name}\n"
        yield f"{prompt.description}\n"
        yield from _table(
            ("argument", ""),
            [
                (f"`{name}`", said + ("; required" if required else ""))
                for name, (said, required) in prompt.arguments.items()
            ],
        )
        yield ""


def _tool(tool: Tool) -> Iterator[str]:
    yield f"### {tool.name}\n"
    yield f"{tool.description}\n"
    rows = [
        (f"`{name}`", _kind(schema), _said(schema, required=name in tool.required))
        for name, schema in tool.properties.items()
    ]
    if tool.has_context:
        said = "Over HTTP only: that of an earlier answer, to continue with its context"
        rows.append(("`context_id`", _kind(CONTEXT_ID), said))
    yield from _table(("argument", "", ""), rows)
    yield ""
    for name, schema in tool.properties.items():
        inner = schema.get("items", {})
        if "properties" not in inner:
            continue
        yield f"Each of `{name}`:\n"
        yield from _table(
            ("key", "", ""),
            [
                (f"`{key}`", _kind(each), _said(each, required=key in inner["required"]))
                for key, each in inner["properties"].items()
            ],
        )
        yield ""


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "type" not in schema:
        return "any value"
    if schema["type"] == "array":
        kinds = schema["items"].get("anyOf", [schema["items"]])
        return f"array of {' or '.join(each['type'] for each in kinds)}"
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None:
        return str(schema["type"])
    bounds = f", {low} to {high:,}" if high is not None else f" >= {low}"
    return schema["type"] + bounds


def _said(schema: dict[str, Any], *, required: bool) -> str:
    said = [str(schema["description"])] if "description" in schema else []
    usual = schema.get("default")
    if not required and "enum" in schema and schema["enum"] != list(DECISIONS):
        # The first is the default. Decisions have none.
        usual = schema["enum"][0]
    if usual is not None:
        said.append(f"by default `{usual}`" if isinstance(usual, str) else f"by default {usual:,}")
    return "; ".join([*said, "required"] if required else said)


def _mark(yes: bool) -> str:
    return "yes" if yes else ""


# The command line.


def _cli_parts() -> Iterator[str]:
    yield f"## {EVERYWHERE}\n"
    yield "They may come before or after a command's name.\n"
    yield from _options([each for each in app.params if _is_shared(each)])
    yield "`mycel` itself takes one more:\n"
    yield from _options([each for each in app.params if not _is_shared(each)])
    for command, context in commands(app, click.RichContext(app, info_name="mycel")):
        yield from _command(command, context)


def commands(
    group: click.Group, context: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    """Every command below a group, each with a context that knows its full name."""
    for name in group.list_commands(context):
        command = group.commands[name]
        if isinstance(command, Outline):
            command = command.load()
        inner = command.context_class(command, info_name=name, parent=context)
        yield command, inner
        if isinstance(command, click.Group):
            yield from commands(command, inner)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    is_group = isinstance(command, click.Group)
    depth = "##" if is_group or context.command_path.count(" ") == 1 else "###"
    yield f"{depth} {context.command_path}\n"
    yield inspect.cleandoc(command.help or "") + "\n"
    if is_group:
        return
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    yield f"```text\n{usage}\n```\n"
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    if arguments:
        rows = [(f"`{each.make_metavar(context)}`", help_of(each)) for each in arguments]
        yield from (*_table(("argument", ""), rows), "")
    own = [each for each in command.params if isinstance(each, click.Option)]
    yield from _options([each for each in own if not _is_shared(each)])


def _is_shared(param: click.Parameter) -> bool:
    return getattr(param, "panel", None) == EVERYWHERE


def _options(params: list[Any]) -> list[str]:
    rows = [(_option(each), _option_help(each)) for each in params]
    return [*_table(("option", ""), rows), ""] if rows else []


def _option(param: click.Option) -> str:
    names = "/".join((" ".join(param.opts), *param.secondary_opts))
    if param.is_flag:
        return f"`{names}`"
    is_choice = isinstance(param.type, click.Choice)
    value = "|".join(param.type.choices) if is_choice else param.metavar or "N"
    return f"`{names} {value}`"


def _option_help(param: click.Option) -> str:
    said = help_of(param)
    if param.is_flag:
        return said
    if param.required:
        return f"{said}; required"
    has_default = isinstance(param.default, int | float | str) and param.show_default is not False
    return f"{said} (default: {param.default})" if has_default else said


def help_of(param: click.Parameter) -> str:
    """The help text of an option or argument."""
    return getattr(param, "help", None) or ""


PAGES = {"cli.md": cli_page, "errors.md": errors_page, "mcp.md": mcp_page}


def _row(error: type[MycelError]) -> tuple[str, ...]:
    said = (error.__doc__ or "").strip().splitlines()[0]
    category = error.category
    return (
        f"`{error.name}`",
        error.code,
        category.name,
        str(category.exit_code),
        str(category.http_status),
        said,
        error.default_hint,
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [head, ("---",) * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def _tree(error: type[MycelError], depth: int) -> list[str]:
    below = [each for each in REGISTRY.values() if each.__base__ is error]
    lines = [f"{'    ' * depth}{error.__name__}"]
    return lines + [line for each in below for line in _tree(each, depth + 1)]


def main() -> int:
    stale = [
        name
        for name, page in PAGES.items()
        if not (DOCS / name).exists() or (DOCS / name).read_text(encoding="utf-8") != page()
    ]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/{name} is stale: run `python tools/docs.py`.")
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"docs/{name} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
