"""`mycel define`, `concept` and `search`: types and predicates, and concepts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import rich_click as click

from mycel.cli.commands.mcp import knowledge_of
from mycel.cli.commands.workspace import names_several, several_workspaces
from mycel.cli.console.conflict_warnings import warn_conflicts
from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.cli.console.labels import labels, readable
from mycel.cli.console.output import when, wire
from mycel.cli.console.parameters import (
    ELEMENT,
    archived_option,
    exactly,
    find_concept,
    for_time_option,
    json_object,
    moment,
    node_reference,
    resolve,
)
from mycel.cli.console.search_index import index_for_search
from mycel.errors import InvalidId
from mycel.model.elements import Concept, Element
from mycel.model.names import count
from mycel.search.modes import HYBRID, KEYWORD, MODES
from mycel.text.kinds import KINDS, NOTES

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.api.graph_view import GraphView
    from mycel.knowledge.knowledge_view import Sought
    from mycel.store.write.transaction import Transaction

_CONCEPT = "TYPE NAME|TYPE:NAME|URI|ID"
SNIPPET_CHARACTERS = 160

_SOUGHT = {"concept": "CONCEPT", "edge": "PROPOSITION"}
_OPTIONS = {
    "kind": "KIND",
    "mode": "MODE",
    "path": "UNDER",
    "in_workspace": "WORKSPACE",
    "by": "ACTOR",
    "since": "SINCE",
    "until": "UNTIL",
    "metadata": "METADATA",
    "near": "NEAR",
    "as_of": "AS OF",
    "for_time": "FOR TIME",
}
"""Options of `mycel search`, with the words of SEARCH for them."""
_FILTERS = {"in_workspace": "workspace", "by": "actor"}
"""Options of `mycel search` that have another name in `Knowledge.search`."""

MENTIONS_MAX = 20


@click.group(cls=Group)
def define() -> None:
    """Define a type of concepts, or a predicate of edges.

    Nothing can be written with a name that is not defined. Defining it again changes its
    description, if one is given, and nothing else.
    """


@define.command("type")
@click.argument("name", help="The type, such as Drug")
@click.option("--description", metavar="TEXT", help="What the type means")
@pass_session
def define_type(session: Invocation, name: str, description: str | None) -> None:
    """Define a type of concepts."""
    _define(session, "type", name, description)


@define.command("predicate")
@click.argument("name", help="The predicate, such as treats")
@click.option("--description", metavar="TEXT", help="What the predicate means")
@pass_session
def define_predicate(session: Invocation, name: str, description: str | None) -> None:
    """Define a predicate of edges; it gets a number for good."""
    _define(session, "predicate", name, description)


def _define(session: Invocation, kind: str, name: str, description: str | None) -> None:
    attributes = {} if description is None else {"description": description}
    with session.open() as db, db.transaction() as tx:
        make = tx.define_type if kind == "type" else tx.define_predicate
        id_ = make(name, attributes)
        changed = not tx.is_empty
    text = f"Defined the {kind} {name}." if changed else f"The {kind} {name} is defined already."
    session.out.say(text, {"id": id_, kind: name, "changed": changed})


@click.group(cls=Group)
def concept() -> None:
    """Write, show, archive and retire concepts."""


@concept.command("put")
@click.argument("type_name", metavar="TYPE", help="A defined type")
@click.argument("name", help="The name, unique within its type")
@click.option(
    "--attributes", type=json_object, metavar="JSON", help="Its attributes; @FILE reads a file"
)
@click.option(
    "--metadata",
    type=json_object,
    metavar="JSON",
    help="Its metadata, such as a source; @FILE reads a file",
)
@pass_session
def put(
    session: Invocation,
    *,
    type_name: str,
    name: str,
    attributes: dict[str, Any] | None,
    metadata: dict[str, Any] | None,
) -> None:
    """Create a concept, or merge keys into the one with this type and name."""
    with session.open() as db:
        with db.transaction() as tx:
            existed = tx.get_concept(type_name, name) is not None
            id_ = tx.put_concept(type_name, name, attributes, metadata)
            changed = not tx.is_empty
        warn_conflicts(session, db, [id_])
    verb = "Updated" if existed else "Created"
    session.out.say(
        f"{verb} {id_}." if changed else f"{id_} has these values already.",
        {"id": id_, "created": changed and not existed, "changed": changed},
    )


@concept.command("get")
@click.argument("words", metavar=_CONCEPT, nargs=-1, required=True, help="The concept")
@click.option("--as-of", type=moment, metavar="SEQ|TIME", help="The state at this moment")
@click.option("--mentions", is_flag=True, help="Also show the concepts that its text mentions")
@pass_session
def get(
    session: Invocation, words: tuple[str, ...], as_of: int | str | None, *, mentions: bool
) -> None:
    """Show a concept."""
    exactly(words, 1, 2, form=f"mycel concept get {_CONCEPT}")
    with session.open(reading=True) as db:
        view: GraphView = db if as_of is None else db.as_of(as_of)
        element = find_concept(view, *words) if len(words) == 2 else _concept(view, words[0])
        if as_of is None:
            warn_conflicts(session, db, [element.id])
        names = _mentioned(db, element) if mentions else []
    session.out.fields(
        (
            ("id", element.id),
            ("type", element.type),
            ("name", element.name),
            ("attributes", readable(element).attributes),
            ("metadata", element.metadata),
            ("version", element.version),
            ("created", f"{when(element.created_at)} by {element.created_by}"),
            ("updated", element.updated_at),
            *((("mentions", ", ".join(names)),) if mentions else ()),
        ),
        wire(element) | ({"mentions": names} if mentions else {}),
    )


def _mentioned(db: Graph, element: Concept) -> list[str]:
    """The concepts that the text of a concept names, as labels for this command."""
    with db.reading() as reader:
        numbers = db.mentions_in(reader, element.number, MENTIONS_MAX)
        others = reader.elements(numbers)
    label = labels(db)
    return [label(others[number].id) for number in numbers if number in others]


@concept.command("retire")
@click.argument("words", metavar=_CONCEPT, nargs=-1, required=True, help="The concept")
@click.option(
    "--reason", default="", show_default=False, metavar="TEXT", help="Why, for the journal"
)
@pass_session
def retire(session: Invocation, words: tuple[str, ...], reason: str) -> None:
    """Remove a concept with every edge that touches it; history keeps them."""
    with session.open() as db, db.transaction() as tx:
        target = _find_target(tx, words, "retire")
        removal = tx.retire(target, reason=reason)
    session.out.say(
        f"Retired {target.id} and {count(removal.propositions, 'edge')}.",
        {"id": target.id, "concepts": removal.concepts, "edges": removal.propositions},
    )


@concept.command("archive")
@click.argument("words", metavar=_CONCEPT, nargs=-1, required=True, help="The concept")
@click.option(
    "--reason", default="", show_default=False, metavar="TEXT", help="Why; it is kept beside it"
)
@pass_session
def archive(session: Invocation, words: tuple[str, ...], reason: str) -> None:
    """Take a concept and its edges out of search, traversal and FIND; nothing is forgotten."""
    from mycel.engine.archive import archive_element

    with session.open() as db, db.transaction() as tx:
        target = _find_target(tx, words, "archive")
        is_new = archive_element(tx, target, reason)
    message = f"Archived {target.id}; `mycel concept restore` brings it back."
    session.out.say(
        message if is_new else "Nothing changed.", {"id": target.id, "archived": is_new}
    )


@concept.command("restore")
@click.argument("words", metavar=_CONCEPT, nargs=-1, required=True, help="The concept")
@pass_session
def restore(session: Invocation, words: tuple[str, ...]) -> None:
    """Bring an archived concept back, with its edges."""
    from mycel.engine.archive import restore_element

    with session.open() as db, db.transaction() as tx:
        target = _find_target(tx, words, "restore")
        is_new = restore_element(tx, target)
        session.out.warn(tx.warnings)
    session.out.say(
        f"Restored {target.id}." if is_new else "Nothing changed.",
        {"id": target.id, "restored": is_new},
    )


@concept.command("supersede")
@click.argument("element", metavar=ELEMENT, help="The concept that is outdated")
@click.argument("successor", metavar=ELEMENT, help="The concept that takes its place")
@click.option("--reason", default="", show_default=False, metavar="TEXT", help="Why")
@click.option(
    "--until",
    "valid_until",
    default="",
    show_default=False,
    metavar="TIME",
    help="Until when it holds; by default until the valid_from of the successor, or now",
)
@pass_session
def supersede(
    session: Invocation, element: str, successor: str, reason: str, valid_until: str
) -> None:
    """Say that a concept takes the place of another one.

    A search shows the old one after the new one.
    """
    from mycel.engine.supersede import supersede_element

    with session.open() as db, db.transaction() as tx:
        old, new = (_find_target(tx, (word,), "supersede") for word in (element, successor))
        supersession = supersede_element(tx, old, new, reason, valid_until)
    session.out.say(
        f"{new.id} supersedes {old.id}, which holds until {supersession.valid_until}.",
        {"superseded": old.id, "by": new.id, **supersession._asdict()},
    )


def _find_target(tx: Transaction, words: tuple[str, ...], verb: str) -> Concept:
    """The concept that one word names, or a type and a name."""
    exactly(words, 1, 2, form=f"mycel concept {verb} {_CONCEPT}")
    return find_concept(tx, *words) if len(words) == 2 else _concept(tx, words[0], at_home=True)


@concept.command("merge")
@click.argument("element", metavar=ELEMENT, help="The concept that is merged and removed")
@click.argument("into", metavar=ELEMENT, help="The concept that stays")
@pass_session
def merge(session: Invocation, element: str, into: str) -> None:
    """Merge a concept into another one, also of another type.

    The other concept gets the edges of the merged one, and the attributes that it lacks. The name
    of the merged concept becomes an alias of the other. `mycel revert` takes the merge back.
    """
    with session.open() as db:
        knowledge = knowledge_of(session, db, session.root())
        source, target = (
            node_reference(session, knowledge, reference, for_writing=True)
            for reference in (element, into)
        )
        merged = knowledge.merge_nodes(source, target)
    moved = count(merged.relations, "edge")
    message = f"Merged {merged.merged} into {merged.uri}; {moved} moved."
    session.out.say(message if merged.changed else "Nothing changed.", merged.to_dict())
    session.out.warn(merged.warnings)


def _concept(graph: GraphView | Transaction, text: str, *, at_home: bool = False) -> Concept:
    element = graph.get(resolve(graph, text, at_home=at_home))
    if not isinstance(element, Concept):
        raise InvalidId(
            f"{text!r} is an edge's id; a concept's is needed here.",
            hint="For edges there is `mycel edge get`.",
        )
    return element


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True, help="Words; any of them is enough")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    help="notes: what somebody wrote; code: what a bootstrap read; any: both, notes first",
)
@click.option(
    "--element",
    "elements",
    type=click.Choice(("concept", "edge")),
    multiple=True,
    help="Only these; without it concepts, and edges where there is room for more",
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default=HYBRID,
    help="keyword: names and words; semantic: meaning; hybrid: both, and links",
)
@click.option(
    "--type",
    "types",
    metavar="NAME",
    multiple=True,
    help="Only this type, or these; with --element edge this predicate",
)
@click.option(
    "--without",
    metavar="NAME",
    multiple=True,
    help="Leave this type out; Event leaves out conversations",
)
@click.option("--path", metavar="URI|ID", help="Only elements under it")
@click.option("--in-workspace", metavar="NAME", help="Only concepts and files of this workspace")
@click.option("--by", metavar="ACTOR", help="Only elements that this actor created, or wrote last")
@click.option("--since", metavar="TIME", help="Only elements last written at this time or later")
@click.option("--until", metavar="TIME", help="Only elements last written before this time")
@click.option("--metadata", type=json_object, metavar="JSON", help="Only with these values")
@click.option("--near", metavar="URI|ID", help="Prefer elements close to it in the graph")
@click.option(
    "--as-of",
    type=moment,
    metavar="SEQ|TIME",
    help="Elements as they were then, by names and words",
)
@for_time_option
@archived_option
@click.option("--limit", type=click.IntRange(1, 1000), default=10, help="Maximum number of hits")
@click.option(
    "--all", "in_all", is_flag=True, help="All workspaces; for some of them use --workspace a,b"
)
@pass_session
def search(
    session: Invocation,
    /,
    *,
    words: tuple[str, ...],
    elements: tuple[str, ...],
    types: tuple[str, ...],
    without: tuple[str, ...],
    include_archived: bool,
    limit: int,
    **options: Any,
) -> None:
    """Find elements that fit a question or some words, best first.

    This is SEARCH of KIP: a score of 1 means an exact name. Edges have the words of their ends too,
    so they come after the concepts. With --type and without --element, concepts are searched. With
    --all or --workspace a,b, several workspaces are ranked together, and without --element only
    nodes are searched.
    """
    if options.pop("in_all") or names_several(session):
        filters = {_FILTERS.get(name, name): value for name, value in options.items()}
        filters |= {"without": without or None, "include_archived": include_archived}
        _search_several(session, words, elements, types, filters, limit)
        return
    elements = elements or (("concept",) if types or without else tuple(_SOUGHT))
    # There is no deadline: the process would end before a background thread had derived passages.
    with session.open(reading=True, timeout_s=inf) as db:
        if without:
            candidates = types or tuple(db.execute("DESCRIBE CONCEPT TYPES").value)
            types = tuple(name for name in candidates if name not in without and name[0] != "$")
        if options["near"]:
            options["near"] = resolve(db, options["near"])
        moment_asked = options["as_of"]
        view: GraphView = db if moment_asked is None else db.as_of(moment_asked)
        if moment_asked is None and options["mode"] != KEYWORD:
            index_for_search(session.out, db)
        question = " ".join(words)
        parameters = {name: value for name, value in options.items() if value is not None}
        parameters |= {f"type{at}": name for at, name in enumerate(types)}
        hits = _search(
            session, db, question, elements, parameters, limit, archived=include_archived
        )
        answers = [_Found(view.get(hit["id"]), hit["metadata"]) for hit in hits]
        warn_conflicts(session, db, (answer.element.id for answer in answers))
        label = labels(view)
        is_mixed = len({answer.kind for answer in answers}) > 1
        session.out.list(
            answers,
            ("kind", "id", "score", "type", "text"),
            lambda answer: (
                answer.kind if is_mixed else "",
                answer.element.id,
                f"{answer.score:.2f}",
                _type(answer.element),
                answer.with_caveats(_text(answer.element, label, question)),
            ),
            lambda answer: (
                wire(answer.element)
                | {"score": answer.score, "kind": answer.kind}
                | ({"caveats": answer.caveats} if answer.caveats else {})
            ),
            empty="Nothing was found.",
        )


class _Found(NamedTuple):
    """A hit: the element, and the metadata that SEARCH gives it."""

    element: Element
    metadata: Mapping[str, Any]

    @property
    def score(self) -> float:
        return float(self.metadata["_score"])

    @property
    def kind(self) -> str:
        return str(self.metadata.get("_kind", NOTES))

    @property
    def caveats(self) -> list[str]:
        return list(self.metadata.get("_caveats", ()))

    def with_caveats(self, text: str) -> str:
        """The text, after the warnings about the element."""
        return f"[{'; '.join(self.caveats)}] {text}" if self.caveats else text


def _search_several(
    session: Invocation,
    words: tuple[str, ...],
    elements: tuple[str, ...],
    types: tuple[str, ...],
    filters: dict[str, Any],
    limit: int,
) -> None:
    """Search the workspaces that `--workspace` names, or all of them."""
    if isinstance(filters["as_of"], int):
        raise click.UsageError("Each workspace counts its own entries: give --as-of a time.")
    sought: Sought = "any" if len(set(elements)) > 1 else "node"
    if set(elements) == {"edge"}:
        sought = "relation"
    warnings: list[str] = []
    with several_workspaces(session) as several:
        hits = several.search(
            " ".join(words),
            limit=limit,
            element=sought,
            type=types or None,
            warnings=warnings,
            **filters,
        )
    session.out.warn(dict.fromkeys(warnings))
    session.out.list(
        hits,
        ("workspace", "score", "uri", "text"),
        lambda placed: (
            placed.workspace,
            f"{placed.hit.score:.2f}",
            placed.hit.uri,
            placed.hit.snippet,
        ),
        lambda placed: placed.to_dict(),
    )


def _search(
    session: Invocation,
    db: Graph,
    question: str,
    elements: Sequence[str],
    parameters: Mapping[str, Any],
    limit: int,
    *,
    archived: bool,
) -> Iterator[dict[str, Any]]:
    room, warnings = limit, set[str]()
    clauses = " ".join(f"{_OPTIONS[name]} :{name}" for name in parameters if name in _OPTIONS)
    if types := [f":{name}" for name in parameters if name not in _OPTIONS]:
        clauses += f" WITH TYPE {' | '.join(types)}"
    if archived:
        clauses += " INCLUDE ARCHIVED"
    for element, sought in _SOUGHT.items():
        if element not in elements or not room:
            continue
        statement = f"SEARCH {sought} :question {clauses} LIMIT :limit"
        result = db.execute(statement, {**parameters, "question": question, "limit": room})
        hits = result.value
        if room == limit:
            session.out.warn(warning for warning in result.warnings if warning not in warnings)
            warnings.update(result.warnings)
        room -= len(hits)
        yield from hits


def _type(element: Element) -> str:
    return element.type if isinstance(element, Concept) else element.predicate


def _text(element: Element, label: Callable[[str], str], question: str) -> str:
    """An element on one line. A long text is cut to the part that has words of the question."""
    from mycel.graph.walk import Memory
    from mycel.knowledge.vocabulary import RESOURCE, STAMP
    from mycel.search.index.passages import prose
    from mycel.text.analysis import terms_of
    from mycel.text.snippets import snippet

    is_file = _type(element) == RESOURCE and STAMP in element.attributes
    element = readable(element)
    memory = Memory(element, "short")
    text = memory.text
    if isinstance(element, Concept):
        title, content = (element.attributes.get(key) for key in ("name", "content"))
        if isinstance(content, str) and content.strip():
            titled = f"{memory.name} — {title}" if isinstance(title, str) else memory.name
            return f"{titled}: {snippet(content, terms_of(question), SNIPPET_CHARACTERS)}"
        if not memory.truncated:
            return text
        if is_file:  # The imports and authors of a file are not prose.
            return memory.name
        fits = snippet(prose(element.attributes), terms_of(question), SNIPPET_CHARACTERS)
        return f"{memory.name}: {fits}" if fits else text
    subject, predicate, object_ = element.subject, element.predicate, element.object
    bare, name_parts = (
        f"{subject} {predicate} {object_}",
        (label(subject), predicate, label(object_)),
    )
    return text.replace(bare, " ".join(name_parts), 1)
