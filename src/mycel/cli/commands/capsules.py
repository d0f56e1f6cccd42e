"""`mycel capsule`: applying and exporting capsules."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import rich_click as click

from mycel.cli.console.context import Group, Invocation, pass_session
from mycel.cli.console.kip_command import apply_capsule, gathered, parameters_by, with_parameters
from mycel.cli.console.kip_output import format_write_effect, sizes
from mycel.cli.console.output import visible
from mycel.cli.console.parameters import read_text
from mycel.errors import MycelError, NotFound
from mycel.model.limits import CAPSULE_BYTES_MAX
from mycel.model.names import count, name_few

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.capsules import CapsuleInfo
    from mycel.engine.seed import Applied

_NAMES_SHOWN = 8
_VARIABLE = re.compile(r"\?[A-Za-z_]\w*", re.ASCII)


@click.group(cls=Group)
def capsule() -> None:
    """Apply, list and export capsules: knowledge as text, in UPSERT statements."""


@capsule.command("apply")
@click.argument(
    "capsules",
    metavar="FILE|NAME...",
    nargs=-1,
    required=True,
    help="Files (- is standard input), or names of shipped capsules; core stands for all of these",
)
@with_parameters
@click.option("--dry-run", is_flag=True, help="Check them, and write nothing")
@pass_session
def apply(
    session: Invocation,
    *,
    capsules: tuple[str, ...],
    param: tuple[tuple[str, Any], ...],
    params: dict[str, Any] | None,
    dry_run: bool,
) -> None:
    """Apply capsules, each as a whole or not at all.

    Shipped capsules come first, together: they add what is missing, and change nothing else. Files
    follow in their order, and overwrite values. With --dry-run each is checked against the present
    graph. Write ./name for a file that has the name of a shipped capsule.
    """
    from mycel.capsules import NAMES
    from mycel.engine.seed import CORE

    out = session.out
    shipped = [name for name in capsules if name in (*NAMES, CORE)]
    texts = {path: _text(path) for path in capsules if path not in shipped}
    values = gathered(param, params)
    would = "Valid. It would do this: " if dry_run else ""
    with session.open() as db:
        if shipped:
            applied = _apply_shipped(db, shipped, dry_run=dry_run)
            out.say(
                f"{', '.join(shipped)}: {would}{_changes(applied)}.",
                {"capsules": shipped, "dry_run": dry_run} | applied._asdict(),
            )
        for path, text in texts.items():
            with _naming(path), parameters_by("--param"):
                result, changed = apply_capsule(db, text, values, dry_run=dry_run)
            effect = result.value["would"] if dry_run else result.value
            payload = {"capsules": [path], "dry_run": dry_run} | effect | result.to_dict_beside()
            out.say(f"{path}: {would}{format_write_effect(effect, changed=changed)}.", payload)
            if not out.as_json:
                out.warn(result.warnings)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Add the name of the file to errors of the block."""
    try:
        yield
    except MycelError as error:
        error.message = f"{path}: {error.message}"
        raise


def _apply_shipped(db: Graph, names: list[str], *, dry_run: bool) -> Applied:
    from mycel.engine.seed import apply as apply_shipped
    from mycel.model.names import CORE_MESSAGE, SYSTEM_ACTOR
    from mycel.store.write.transaction import rehearsal

    transaction = db.transaction(actor=SYSTEM_ACTOR, message=db.message or CORE_MESSAGE)
    with rehearsal(transaction) if dry_run else transaction as tx:
        return apply_shipped(tx, names)


def _text(path: str) -> str:
    try:
        return read_text(path, CAPSULE_BYTES_MAX)
    except click.UsageError as error:
        raise click.UsageError(
            f"{error.message} `mycel capsule list` shows the shipped ones."
        ) from None


def _changes(applied: Applied) -> str:
    parts = (
        (applied.concepts_created, "new concept"),
        (applied.concepts_filled, "completed concept"),
        (applied.links_created, "new link"),
    )
    message = ", ".join(count(number, noun) for number, noun in parts if number)
    return message or "nothing is new"


@capsule.command("list")
@pass_session
def list_(session: Invocation) -> None:
    """List the shipped capsules, and show which of them the graph has."""
    from mycel.capsules import list_capsules

    shipped = list_capsules()
    applied: dict[str, str] = {}
    if session.place().path.exists():
        with session.open(reading=True) as db:
            applied = {
                capsule_info.name: presence(db, capsule_info.name) for capsule_info in shipped
            }
    else:
        creation = session.place().creation
        session.out.note(f"There is no database yet; `{creation}` creates it with all of these.")
    session.out.list(
        shipped,
        ("name", "title", "version", "applied", "description"),
        lambda row: (
            row.name,
            row.title,
            row.version,
            applied.get(row.name),
            row.description,
        ),
        lambda row: _capsule_fields(row, applied.get(row.name)),
    )


def _capsule_fields(info: CapsuleInfo, applied: str | None) -> dict[str, Any]:
    return {
        "name": info.name,
        "title": info.title,
        "version": info.version,
        "description": info.description,
        "applied": applied,
    }


def presence(db: Graph, name: str) -> str:
    """The share of a shipped capsule that is in the graph: yes, partly or no."""
    from mycel.capsules import read
    from mycel.kip import ast, parse

    command = parse(read(name))
    presences = {
        _presence_of(db, block.matcher)
        for upsert in (command.upserts if isinstance(command, ast.Capsule) else ())
        for block in upsert.blocks
        if isinstance(block, ast.ConceptBlock)
    }
    return presences.pop() if len(presences) == 1 else "partly"


def _presence_of(db: Graph, matcher: Any) -> str:
    from mycel.engine.seed import is_complete

    try:
        concept = db.get_concept(matcher.type.value, matcher.name.value)
    except MycelError:  # The type is not defined.
        return "no"
    # The store itself defines a few predicates, without attributes.
    if concept is None or not concept.attributes:
        return "no"
    return "yes" if is_complete(concept) else "partly"


@capsule.command("export")
@click.argument(
    "where",
    metavar="[WHERE...]",
    nargs=-1,
    help="Clauses of KIP; what their first variable matches is exported",
)
@click.option(
    "--type", "types", metavar="T", multiple=True, help="All concepts of this type; may be repeated"
)
@click.option("--output", metavar="FILE", help="Write to this file, whole or not at all")
@click.option(
    "--with-definitions/--without-definitions",
    default=True,
    help="Begin with the types and predicates that it uses, except those of a new graph",
)
@with_parameters
@pass_session
def export(
    session: Invocation,
    *,
    where: tuple[str, ...],
    types: tuple[str, ...],
    output: str | None,
    with_definitions: bool,
    param: tuple[tuple[str, Any], ...],
    params: dict[str, Any] | None,
) -> None:
    """Export a part of the graph as a capsule.

    Matched concepts come with their links to each other, matched links by themselves. Ids, versions
    and weights are left out. The definitions of all types and predicates that are used come first,
    so that a new graph can take the capsule; those that every new graph has are left out unless
    they were changed. Ends of links outside the capsule must exist in the other graph; a note
    lists them.
    """
    if bool(where) == bool(types):
        raise click.UsageError("Say what to export: clauses of KIP, or --type.")
    command, values = _of_types(types) if types else (_of_clauses(" ".join(where)), {})
    with session.open(reading=True) as db:
        before = db.snapshot().entries
        with parameters_by("--param"):
            pages = _pages(db, command, gathered(param, params) | values, with_definitions)
            if output is None:
                _show(session, pages)
            else:
                _write(session, pages, output)
        if db.snapshot().entries != before:
            session.out.note("The graph was written to meanwhile: pages may be of different times.")


def _show(session: Invocation, pages: Iterator[dict[str, Any]]) -> None:
    totals = _Totals()
    for page in pages:
        session.out.say(page["capsule"], page)
        totals.add(page)
        _warn(session, page)
    if not session.as_json:
        session.out.note(f"{totals.summary()}.")
        _tell_outside(session, totals)


def _write(session: Invocation, pages: Iterator[dict[str, Any]], output: str) -> None:
    totals = _Totals()
    with _replacing(Path(output)) as file:
        for page in pages:
            file.write(page["capsule"] + "\n")
            totals.add(page)
            _warn(session, page)
    session.out.say(f"Wrote {output}: {totals.summary()}.", {"path": output} | totals.wire())
    if not session.as_json:
        _tell_outside(session, totals)


class _Totals:
    """Totals of all pages of an export."""

    def __init__(self) -> None:
        self._sizes = dict.fromkeys(("concepts", "propositions"), 0)
        self._definitions: list[str] = []
        self.outside: dict[str, None] = {}

    def add(self, page: Mapping[str, Any]) -> None:
        self._sizes = {key: self._sizes[key] + page[key] for key in self._sizes}
        self._definitions += page["definitions"]
        self.outside.update(dict.fromkeys(page.get("outside", ())))

    def summary(self) -> str:
        message = sizes(self._sizes)
        if not self._definitions:
            return message
        number = count(len(self._definitions), "definition")
        return f"{message}, and {number} in front: {_listed_names(self._definitions)}"

    def wire(self) -> dict[str, Any]:
        outside = {"outside": list(self.outside)} if self.outside else {}
        return {**self._sizes, "definitions": self._definitions, **outside}


def _tell_outside(session: Invocation, totals: _Totals) -> None:
    if totals.outside:
        session.out.note(
            f"It refers to {count(len(totals.outside), 'element')} that it does not hold and that a"
            f" new graph does not have: {_listed_names(list(totals.outside))}. Export them as well,"
            " or apply it where they are."
        )


def _listed_names(names: list[str]) -> str:
    return visible(name_few(names, _NAMES_SHOWN))


def _warn(session: Invocation, page: Mapping[str, Any]) -> None:
    if not session.as_json:
        session.out.warn(page.get("warnings", ()))


def _of_types(types: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """The EXPORT command for all instances of some types, and its parameters."""
    first, *others = (f"{{ ?it {{type: :type_{at}}} }}" for at in range(len(types)))
    unions = " ".join(f"UNION {other}" for other in others)
    values = {f"type_{at}": name for at, name in enumerate(types)}
    return f"EXPORT ?it WHERE {{ {first[1:-1]} {unions} }}", values


def _of_clauses(clauses: str) -> str:
    target = _VARIABLE.search(clauses)
    if target is None:
        raise click.UsageError("The clauses have no variable, so they match nothing to export.")
    return f"EXPORT {target[0]} WHERE {{\n{clauses}\n}}"  # The clauses may end in a comment.


def _pages(
    db: Graph, command: str, values: Mapping[str, Any], with_definitions: bool
) -> Iterator[dict[str, Any]]:
    """Every page of an export. The capsules of all pages, joined in order, are one capsule."""
    command += " WITH DEFINITIONS" if with_definitions else ""
    page = db.execute(command, values)
    if not page.value["capsule"]:
        raise NotFound(
            "Nothing matches, so there is nothing to export.",
            hint="Look with `mycel kip` which elements there are: FIND(?x) WHERE { … }.",
        )
    while True:
        yield {"definitions": []} | page.value | page.to_dict_beside()
        if page.next_cursor is None:
            return
        page = db.execute(f"{command} CURSOR {json.dumps(page.next_cursor)}", values)


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    """Write a file that replaces `path` once it is complete."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("x", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise click.UsageError(f"{str(path)!r} cannot be written: {error.strerror}.") from None
    finally:
        draft.unlink(missing_ok=True)
