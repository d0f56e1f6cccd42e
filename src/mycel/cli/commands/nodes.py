"""`mycel note`, `show` and `ls`: write and read nodes by path, URI or id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.commands.mcp import knowledge_of, open_or_create
from mycel.cli.commands.workspace import names_several, several_workspaces
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.parameters import (
    ELEMENT,
    for_time_option,
    moment,
    node_reference,
    read_text,
)
from mycel.errors import AmbiguousName, InvalidSyntax, NotFound
from mycel.knowledge.note_names import note_path, title_of
from mycel.model.limits import JSON_BYTES_MAX
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.knowledge.knowledge import Knowledge
    from mycel.knowledge.node_values import Written

NOTE = "Note"
ABOUT = "about"
NAMESAKES_MAX = 1_000
RELATIONS_SHOWN = 50
CHILDREN_SHOWN = 200


@click.command(cls=Command)
@click.argument("text", help="What to remember; - reads standard input")
@click.option(
    "--about",
    multiple=True,
    metavar="PATH|URI",
    help="What it is about: a file, or any node; may be repeated",
)
@click.option(
    "--type", "type_name", metavar="NAME", help=f"Such as Decision or Risk; a new one is a {NOTE}"
)
@click.option(
    "--name", metavar="TITLE", help="Its title; of a new one by default the beginning of the text"
)
@click.option("--uri", metavar="URI", help="Its URI or path; by default below notes/")
@pass_session
def note(
    session: Invocation,
    *,
    text: str,
    about: tuple[str, ...],
    type_name: str | None,
    name: str | None,
    uri: str | None,
) -> None:
    """Write a note: a text with a title, and relations to its subjects.

    The same text again changes nothing; another text of the same title becomes another note, and a
    warning says so. A node at --uri gets the text, and keeps its type and title unless they are
    given. The database is created if it does not exist.
    """
    content = (read_text("-", JSON_BYTES_MAX) if text == "-" else text).strip()
    if not content:
        raise InvalidSyntax("The note is empty.", hint="Write the text behind `mycel note`.")
    with open_or_create(session) as db:
        knowledge = knowledge_of(session, db, session.root())
        if uri is None or not knowledge.has(uri):
            name, type_name = name or title_of(content), type_name or NOTE
        targets = [node_reference(session, knowledge, path) for path in about]
        address, namesake = (uri, None) if uri else _free_uri(knowledge, str(name), content)
        relations = [{"relation": ABOUT, "target": target} for target in targets]
        written = knowledge.add(
            address,
            name=name,
            content=content,
            type=type_name,
            relations=relations,
            exist_ok=True,
        )
    _report(session, written)
    if namesake is not None:
        replacing = f"`mycel note --uri {note_path(str(name))} TEXT` replaces it."
        session.out.warn([f"{namesake} has this title and another text; {replacing}"])


def _free_uri(knowledge: Knowledge, title: str, content: str) -> tuple[str, str | None]:
    """A URI for a note, and the URI of another note with its title, if there is one.

    The first URI is free, or belongs to a note with the same text.
    """
    path = note_path(title)
    namesake: str | None = None
    for number in range(1, NAMESAKES_MAX):
        address = path + (f"-{number}" if number > 1 else "")
        try:
            node = knowledge.get(address)
        except (AmbiguousName, NotFound):
            return address, namesake
        if node.node_type == "missing" or node.content == content:
            return address, namesake
        namesake = namesake or node.uri
    raise InvalidSyntax(
        f"There are {NAMESAKES_MAX} notes called {title!r}.", hint="Give it another --name."
    )


def _report(session: Invocation, written: Written) -> None:
    verb = "Created" if written.created else "Updated" if written.changed else "Unchanged:"
    session.out.say(f"{verb} {written.uri}.", written.to_dict())
    session.out.warn(written.warnings)


@click.command(cls=Command)
@click.argument("element", metavar=ELEMENT, help="The node; a path of a file is enough")
@click.option("--all", "everything", is_flag=True, help="All relations, metadata and times too")
@click.option("--as-of", type=moment, metavar="SEQ|TIME", help="The state at this moment")
@for_time_option
@pass_session
def show(
    session: Invocation,
    element: str,
    *,
    everything: bool,
    as_of: int | str | None,
    for_time: str | None,
) -> None:
    """Show a node: its text, its properties, and its relations.

    A URI that this graph does not have is read from its own workspace, if that workspace is on this
    machine or registered with `mycel remote`. With --workspace a,b, the argument has to be a URI,
    and the node is shown as each of these workspaces has it, beginning with the workspace of the
    URI.
    """
    from mycel.knowledge.elsewhere import Elsewhere
    from mycel.knowledge.node_values import Page
    from mycel.mcp import node_text
    from mycel.store.file.workspace_databases import local_database

    if names_several(session):
        if as_of is not None or for_time is not None:
            raise InvalidSyntax(
                "--as-of and --for-time read one workspace, not several.",
                hint="Name one with --workspace.",
            )
        _show_in_several(session, element, detailed=everything)
        return
    with session.open(reading=True) as db:
        elsewhere = Elsewhere(local=local_database)
        knowledge = knowledge_of(session, db, session.root(), elsewhere=elsewhere)
        reference = node_reference(session, knowledge, element)
        try:
            with knowledge.moment(as_of=as_of) as view:
                node = view.get(reference, for_time=for_time)
                limit = 1_000 if everything else RELATIONS_SHOWN
                page = view.relations(node.uri, limit=limit, for_time=for_time)
        except NotFound:  # A node of another workspace is shown without relations.
            if as_of is not None or for_time is not None:
                raise
            node, page = knowledge.get(reference), Page(())
    if session.as_json:
        wire: dict[str, Any] = node.to_dict()
        session.out.object(wire | {"relations": [item.to_dict() for item in page.items]})
        return
    if node.hint is not None:
        session.out.note(node.hint)
    lines = [node_text.head(node)]
    facts = node_text.facts(node, detailed=everything)
    lines += [facts] if facts else []
    lines += node_text.conflicts(node)
    lines += ["", node.content] if node.content else []
    lines += [""] if page.items else []
    lines += [node_text.relation(item, seen_from=node.uri) for item in page.items]
    session.out.line("\n".join(lines))
    if page.next_cursor is not None:
        session.out.note("It has more relations; --all shows up to 1,000.")


def _show_in_several(session: Invocation, uri: str, *, detailed: bool) -> None:
    """Show the version of a node in each of the workspaces that `--workspace` names."""
    from mycel.mcp import node_text

    warnings: list[str] = []
    with several_workspaces(session) as several:
        nodes = several.get(uri, warnings=warnings)
    session.out.warn(warnings)
    for workspace, node in nodes:
        if session.as_json:
            session.out.object({"workspace": workspace} | node.to_dict())
            continue
        parts = (node_text.head(node), node_text.facts(node, detailed=detailed), node.content)
        session.out.line(f"In {workspace}:\n" + "\n".join(filter(None, parts)) + "\n")


@click.command(cls=Command)
@click.argument("path", metavar="[PATH|URI]", default="", help="By default all of the workspace")
@pass_session
def ls(session: Invocation, path: str) -> None:
    """List the nodes directly below a path, with the number of nodes below each."""
    with session.open(reading=True) as db:
        knowledge = knowledge_of(session, db, session.root())
        childs = knowledge.children(path)
    session.out.list(
        childs[:CHILDREN_SHOWN],
        ("path", "type", "below", "name"),
        lambda child: (
            child.path + "/" * bool(child.below),
            child.type,
            child.below or None,
            child.name,
        ),
        empty=f"Nothing is below {path}." if path else "The workspace is empty.",
    )
    if len(childs) > CHILDREN_SHOWN and not session.as_json:
        session.out.note(f"… and {count(len(childs) - CHILDREN_SHOWN, 'more')}.")
