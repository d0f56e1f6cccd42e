"""`mycel schema`: commands for the schema of a graph, and for schemas in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.console.context import Group, Invocation, pass_session
from mycel.cli.console.parameters import confirmed, moment, read_text
from mycel.model.limits import SCHEMA_BYTES_MAX
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.migration.apply import ApplyResult
    from mycel.schema import Catalog
    from mycel.schema.steps import SchemaStep

FILE = "FILE"
QUERIES = ".gq"
_HIDDEN = "A hidden type or property: Team, or Person.city"
_VIOLATIONS_SHOWN = 10


_files = click.argument(
    "files",
    metavar="FILE [QUERIES.gq]...",
    nargs=-1,
    required=True,
    help="The schema (- is standard input), and files of named queries",
)


def _sorted_files(files: Sequence[str]) -> tuple[str, dict[str, set[str]]]:
    """The schema file, and the texts of the query files with the names of their queries.

    Raises:
        InvalidSyntax: a text of queries cannot be parsed.
    """
    from mycel.queries.gq_parser import TEXT_CHARACTERS_MAX, parse_queries

    schemas = [file for file in files if not file.endswith(QUERIES)]
    if len(schemas) != 1:
        raise click.UsageError(f"Name one schema, and any number of {QUERIES} files.")
    texts = [read_text(file, TEXT_CHARACTERS_MAX) for file in files if file != schemas[0]]
    return schemas[0], {text: {query.name for query in parse_queries(text)} for text in texts}


@click.group(cls=Group)
def schema() -> None:
    """Show, check, plan and apply schemas: types, properties and constraints, in .pg files."""


@schema.command()
@click.option("--as-of", type=moment, metavar="SEQ|TIME", help="The schema in force at this moment")
@click.option("--ir", is_flag=True, help="As schema IR, in JSON")
@pass_session
def show(session: Invocation, as_of: int | str | None, ir: bool) -> None:
    """Show the schema in force, in its canonical form."""
    with session.open(reading=True) as db:
        catalog = db.schema.catalog if as_of is None else db.schema.at(as_of)
    if ir:
        session.out.object(catalog.ir())
        return
    text = catalog.format()
    if session.as_json:
        session.out.object({"ir_hash": catalog.ir_hash, "schema": text})
    elif text:
        session.out.write(text)
    else:
        session.out.note("No schema is in force: every type is flexible.")


@schema.command()
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, help="Schemas (- is standard input)"
)
@pass_session
def check(session: Invocation, files: tuple[str, ...]) -> None:
    """Check schemas against the rules of the language, without a graph."""
    for path in files:
        catalog = _load(path)
        sizes = {
            "interfaces": len(catalog.interfaces),
            "nodes": len(catalog.nodes),
            "edges": len(catalog.edges),
        }
        session.out.say(
            f"{path}: valid. {_sizes(sizes)}; {catalog.ir_hash}",
            {"file": path, "ir_hash": catalog.ir_hash} | sizes,
        )


@schema.command()
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, help="Schemas (- is standard input)"
)
@click.option("--write", is_flag=True, help="Rewrite the files instead of printing them")
@click.option(
    "--check", "only_check", is_flag=True, help="Only say which would change; exit 1 if any"
)
@pass_session
def fmt(session: Invocation, files: tuple[str, ...], write: bool, only_check: bool) -> int:
    """Format schemas the one canonical way. Comments stay."""
    from mycel.schema import tidy

    differs = False
    for path in files:
        _load(path)  # A schema that breaks a rule is not formatted.
        text = read_text(path, SCHEMA_BYTES_MAX)
        formatted = tidy(text)
        differs |= formatted != text
        if only_check or (write and path != "-"):
            if write and formatted != text and not only_check:
                Path(path).write_text(formatted, encoding="utf-8")
            message = "as it should be" if formatted == text else "not formatted"
            status = "formatted" if write and not only_check and formatted != text else message
            session.out.say(f"{path}: {status}", {"file": path, "changed": formatted != text})
        elif session.as_json:
            session.out.object({"file": path, "changed": formatted != text, "schema": formatted})
        else:
            session.out.write(formatted)
    return int(only_check and differs)


@schema.command()
@_files
@click.option("--no-data", is_flag=True, help="Compare the schemas only; do not look at the data")
@click.option(
    "--allow-data-loss",
    is_flag=True,
    help="Drop removed types and properties, instead of hiding them",
)
@pass_session
def plan(session: Invocation, files: tuple[str, ...], no_data: bool, allow_data_loss: bool) -> int:
    """Show what applying a schema would do, and whether it can be done.

    Constraints that are added, and properties that become required, are checked against the data in
    a transaction that is rolled back, and rows that go or come back are counted. Hidden types and
    properties can be restored, dropped ones cannot. Named queries that would break are named,
    without those that a .gq file beside the schema replaces. Exits with 1 if the plan is not
    supported.
    """
    file, queries = _sorted_files(files)
    catalog = _load(file)
    replaced = {name for names in queries.values() for name in names}
    with session.open() as db, session.out.waiting("Planning"):
        planned = db.schema.plan(catalog, check_data=not no_data, allow_data_loss=allow_data_loss)
        broken = [
            problem
            for problem in db.queries.broken_by(planned.changes)
            if problem.name not in replaced
        ]
    _show_steps(session, planned.changes, planned.to_dict(), planned.warnings)
    session.out.warn(f"The query {name} would break: {why}." for name, why in broken)
    if not session.as_json and planned.changes:
        condition = " with --allow-removals, because types go" if planned.removals else ""
        message = f"It can be applied{condition}." if planned.supported else "It cannot be applied."
        session.out.note(message)
    return int(not planned.supported)


@schema.command()
@_files
@click.option("--allow-removals", is_flag=True, help="Let types go that are no longer declared")
@click.option(
    "--allow-data-loss",
    is_flag=True,
    help="Drop removed types and properties, instead of hiding them: it cannot be restored",
)
@pass_session
def apply(
    session: Invocation, files: tuple[str, ...], allow_removals: bool, allow_data_loss: bool
) -> int:
    """Put a schema in force: definitions, data and indexes, as one transaction.

    Properties that are no longer declared are hidden, and with --allow-removals types, too; they
    come back when they are declared again. If the plan is not supported, or the data does not
    satisfy the schema, nothing changes; the status is then 1. Afterwards, the named queries of .gq
    files are added in a transaction of their own, because they need the new types.
    """
    file, queries = _sorted_files(files)
    catalog = _load(file)
    with session.open() as db, session.out.waiting("Applying"):
        result = db.schema.apply(
            catalog, allow_removals=allow_removals, allow_data_loss=allow_data_loss
        )
        added = [
            query.name for text in queries if result.supported for query in db.queries.add(text)
        ]
    status = _show_result(session, result)
    if added:
        session.out.note(f"Queries added: {', '.join(added)}.")
    return status


@schema.command()
@pass_session
def hidden(session: Invocation) -> None:
    """List types and properties that are hidden, with the number of their rows.

    They come back when they are declared again, by `schema apply` or `schema restore`.
    """
    with session.open(reading=True) as db:
        parts = db.schema.hidden()
    session.out.list(
        parts,
        ("name", "rows", "last seen at", "declaration"),
        lambda part: (part.name, part.rows, part.seq, " ".join(part.declaration.split())),
        empty="Nothing is hidden.",
    )


@schema.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True, help=_HIDDEN)
@pass_session
def restore(session: Invocation, names: tuple[str, ...]) -> int:
    """Declare hidden types and properties again, as they were, with their data."""
    with session.open() as db, session.out.waiting("Applying"):
        result = db.schema.restore(*names)
    return _show_result(session, result)


@schema.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True, help=_HIDDEN)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation")
@pass_session
def discard(session: Invocation, names: tuple[str, ...], yes: bool) -> int:
    """Let hidden types and properties go: they cannot be restored any more.

    A type or property that is declared again later begins without values.
    Earlier states still show their data.
    """
    with session.open() as db:
        if not yes and not confirmed(session, f"Discard {', '.join(names)}?"):
            session.out.note("Nothing was discarded.")
            return 1
        parts = db.schema.discard(*names)
    session.out.list(
        parts,
        ("discarded", "rows"),
        lambda part: (part.name, part.rows),
    )
    return 0


@schema.command()
@click.argument("files", metavar="FILE [FILE]", nargs=-1, required=True, help="From, and to")
@pass_session
def diff(session: Invocation, files: tuple[str, ...]) -> int:
    """Show how two schemas differ: of two files, or of the graph and a file.

    The data is not looked at. Exits with 1 if they differ.
    """
    from mycel.schema import plan as plan_between

    if len(files) > 2:
        raise click.UsageError("Give one file, to compare the graph with, or two.")
    desired = _load(files[-1])
    if len(files) == 2:
        accepted = _load(files[0])
    else:
        with session.open(reading=True) as db:
            accepted = db.schema.catalog
    planned = plan_between(accepted, desired)
    _show_steps(session, planned.changes, planned.to_dict(), planned.warnings)
    return int(bool(planned.changes))


@schema.command()
@pass_session
def history(session: Invocation) -> None:
    """List every schema that was applied, oldest first."""
    with session.open(reading=True) as db:
        versions = db.schema.history()
    session.out.list(
        versions,
        ("seq", "time", "actor", "changes", "schema"),
        lambda version: (
            version.seq,
            version.time,
            version.actor,
            len(version.steps),
            version.ir_hash,
        ),
        empty="No schema was ever applied.",
    )


@schema.command()
@click.argument(
    "types", metavar="[TYPE...]", nargs=-1, help="Only these types, and links between them"
)
@pass_session
def infer(session: Invocation, types: tuple[str, ...]) -> None:
    """Write a schema for types that grew without one.

    It holds the schema in force, and declares what all instances of other types have in common, so
    it can be applied as it is. A comment stands for each part that cannot be declared.
    """
    with session.open(reading=True) as db, session.out.waiting("Looking at the data"):
        text = db.schema.infer(types or None)
    session.out.say(text.rstrip("\n"), {"schema": text})


def _load(path: str) -> Catalog:
    from mycel.schema import load

    return load(read_text(path, SCHEMA_BYTES_MAX), file=None if path == "-" else path)


def _show_result(session: Invocation, result: ApplyResult) -> int:
    """Show the result of a plan or an application; exits with 1 if the plan is not supported."""
    _show_steps(session, result.changes, result.to_dict(), result.warnings)
    if not session.as_json and result.changes:
        note = f"Applied; the schema is in force from entry {result.manifest_version} on."
        session.out.note(note if result.applied else "Nothing was changed.")
    return int(not result.supported)


def _sizes(sizes: dict[str, int]) -> str:
    return ", ".join(count(number, noun.removesuffix("s")) for noun, number in sizes.items())


def _show_steps(
    session: Invocation,
    changes: Sequence[SchemaStep],
    wire: dict[str, Any],
    warnings: Sequence[str],
) -> None:
    from mycel.schema.steps import UnsupportedChange

    if session.as_json:
        session.out.object(wire)
        return
    session.out.list(
        changes,
        ("step", "what", "data"),
        lambda step: (
            step.kind,
            step.describe(),
            "is checked" if step.needs_data else None,
        ),
        empty="Nothing to change.",
    )
    session.out.warn(warnings)
    for step in changes:
        if isinstance(step, UnsupportedChange) and step.violation_count > 1:
            least = "more than " if step.has_more else ""
            session.out.note(f"{step.entity}: {least}{count(step.violation_count, 'instance')}")
            for violation in step.violations[:_VIOLATIONS_SHOWN]:
                session.out.note(f"  {violation['instance']}: {violation['message']}")
            if step.violation_count > _VIOLATIONS_SHOWN:
                session.out.note(f"  and {least}{step.violation_count - _VIOLATIONS_SHOWN} more")
