"""`mycel query`: write, list, check and run named queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.console.context import Group, Invocation, pass_session
from mycel.cli.console.output import cell
from mycel.errors import InvalidSyntax, NotFound
from mycel.store.file.plain_files import read_bounded, reason_of

if TYPE_CHECKING:
    from mycel.queries.declaration import NamedQuery

FILE_BYTES_MAX = 1 << 20


@click.group(cls=Group)
def query() -> None:
    """Named queries: commands of KIP with a name, typed parameters and a description.

    They are part of the graph. Those marked @tool are tools of `mycel mcp`; docs/queries.md
    describes the form of a .gq file.
    """


@query.command()
@click.argument("file", help="A .gq file; - is standard input")
@pass_session
def add(session: Invocation, *, file: str) -> None:
    """Add the queries of a file, in place of queries with the same names; all of them, or none."""
    from mycel.cli.console.parameters import read_text

    if file == "-":
        text = read_text("-", FILE_BYTES_MAX)
    else:
        try:
            text = read_bounded(Path(file), FILE_BYTES_MAX).decode("utf-8-sig")
        except (OSError, ValueError) as error:
            raise NotFound(
                f"{file} cannot be read: {reason_of(error)}.", hint="Name a .gq file."
            ) from None
    with session.open() as db:
        added = db.queries.add(text)
    names = [query.name for query in added]
    session.out.say(f"Added: {', '.join(names)}.", {"added": names})


@query.command(name="list")
@pass_session
def list_(session: Invocation) -> None:
    """List the queries with their parameters."""
    from mycel.queries.descriptor import descriptor

    with session.open(reading=True) as db:
        catalog = db.schema.catalog
        session.out.list(
            db.queries,
            ("query", "parameters", "description"),
            lambda query: (query.name, _parameters(query), query.description),
            lambda query: descriptor(query, catalog),
            empty="There are no named queries. `mycel query add FILE.gq` adds some.",
        )


def _parameters(query: NamedQuery) -> str:
    return ", ".join(f"{parameter.name}: {parameter.type_text}" for parameter in query.parameters)


@query.command()
@click.argument("name", help="The query")
@pass_session
def show(session: Invocation, *, name: str) -> None:
    """Show a query as it was written."""
    from mycel.queries.descriptor import descriptor

    with session.open(reading=True) as db:
        named_query, catalog = db.queries.get(name), db.schema.catalog
    session.out.say(named_query.text, descriptor(named_query, catalog))


@query.command()
@click.argument("name", help="The query")
@click.argument("values", nargs=-1, metavar="[NAME=VALUE]...", help="Values of its parameters")
@pass_session
def run(session: Invocation, *, name: str, values: tuple[str, ...]) -> None:
    """Run a query: `mycel query run people_of team=core limit=5`."""
    from mycel.queries.descriptor import result_wire

    texts: dict[str, object] = {}
    for word in values:
        key, equals, value = word.partition("=")
        if not equals:
            raise InvalidSyntax(f"{word!r} gives no value.", hint=f"Write {key}=VALUE.")
        texts[key] = value
    with session.open() as db:
        parameters = {texts.name: texts for texts in db.queries.get(name).parameters}
        for key, text in texts.items():
            if key in parameters and (parameters[key].is_list or parameters[key].type == "Json"):
                texts[key] = _json(key, str(text))
        result = db.queries.run(name, texts)
        if session.as_json or result.columns == ("result",):
            session.out.say(cell(result.value), result_wire(result))
            return
        rows = list(result.rows)
        session.out.list(rows, result.columns, lambda row: row, lambda row: {"row": row})


def _json(name: str, text: str) -> object:
    import orjson

    try:
        return orjson.loads(text)
    except ValueError:
        raise InvalidSyntax(
            f"The value of {name} is no JSON.", hint=f'Write {name}=\'["a", "b"]\'.'
        ) from None


@query.command()
@pass_session
def check(session: Invocation) -> int:
    """Check all queries against the types of now; exit status 1 if one does not work."""
    with session.open(reading=True) as db:
        problems = db.queries.check()
    session.out.list(
        problems,
        ("query", "problem"),
        tuple,
        lambda problem: problem._asdict(),
        empty="All queries work.",
    )
    return int(bool(problems))


@query.command()
@click.argument("name", help="The query")
@pass_session
def remove(session: Invocation, *, name: str) -> None:
    """Remove a query; history keeps it."""
    with session.open() as db:
        db.queries.remove(name)
    session.out.say(f"Removed {name}.", {"removed": name})
