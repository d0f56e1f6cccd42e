"""`mycel define` and `mycel concept`: types, predicates, and the things that edges join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.context import Group, Session, pass_session
from mycel.cli.parameters import ELEMENT, exactly, find_concept, json_object, moment, resolve
from mycel.errors import InvalidId, MycelError

if TYPE_CHECKING:
    from mycel.graph.view import GraphView
    from mycel.model.elements import Concept
    from mycel.store.transaction import Transaction

_CONCEPT = "TYPE NAME, TYPE:NAME or ID"


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
def define_type(session: Session, name: str, description: str | None) -> None:
    """Define a type of concepts."""
    _define(session, "type", name, description)


@define.command("predicate")
@click.argument("name", help="The predicate, such as treats")
@click.option("--description", metavar="TEXT", help="What the predicate means")
@pass_session
def define_predicate(session: Session, name: str, description: str | None) -> None:
    """Define a predicate of edges; it gets a number for good."""
    _define(session, "predicate", name, description)


def _define(session: Session, kind: str, name: str, description: str | None) -> None:
    attributes = {} if description is None else {"description": description}
    with session.open() as db, db.transaction(message=f"define_{kind}") as tx:
        make = tx.define_type if kind == "type" else tx.define_predicate
        made = make(name, attributes)
        changed = not tx.is_empty
    text = f"Defined the {kind} {name}." if changed else f"The {kind} {name} is defined already."
    session.out.say(text, {"id": made, kind: name, "changed": changed})


@click.group(cls=Group)
def concept() -> None:
    """Write, show and retire concepts."""


@concept.command("put")
@click.argument("type_name", metavar="TYPE", help="A defined type")
@click.argument("name", help="The name, unique within its type")
@click.option(
    "--attributes", type=json_object, metavar="JSON", help="What is known of it; @FILE reads a file"
)
@click.option(
    "--metadata", type=json_object, metavar="JSON", help="Where that comes from; @FILE too"
)
@pass_session
def put(
    session: Session,
    *,
    type_name: str,
    name: str,
    attributes: dict[str, Any] | None,
    metadata: dict[str, Any] | None,
) -> None:
    """Create a concept, or merge keys into the one with this type and name."""
    with session.open() as db, db.transaction(message="put_concept") as tx:
        existed = tx.get_concept(type_name, name) is not None
        made = tx.put_concept(type_name, name, attributes, metadata)
        changed = not tx.is_empty
    done = "Updated" if existed else "Created"
    session.out.say(
        f"{done} {made}." if changed else f"{made} is like that already.",
        {"id": made, "created": changed and not existed, "changed": changed},
    )


@concept.command("get")
@click.argument("words", metavar=f"{ELEMENT}...", nargs=-1, required=True, help=_CONCEPT)
@click.option("--as-of", type=moment, metavar="SEQ|TIME", help="As it was then")
@pass_session
def get(session: Session, words: tuple[str, ...], as_of: int | str | None) -> None:
    """Show a concept."""
    exactly(words, 1, 2, form=f"mycel concept get {_CONCEPT}")
    with session.open(readonly=True) as db:
        view: GraphView = db if as_of is None else db.as_of(as_of)
        found = find_concept(view, *words) if len(words) == 2 else _concept(view, words[0])
    session.out.fields(
        (
            ("id", found.id),
            ("type", found.type),
            ("name", found.name),
            ("attributes", found.attributes),
            ("metadata", found.metadata),
            ("version", found.version),
            ("created", f"{found.created_at.isoformat()} by {found.created_by}"),
            ("updated", found.updated_at.isoformat()),
        ),
        found.to_dict(),
    )


@concept.command("retire")
@click.argument("words", metavar=f"{ELEMENT}...", nargs=-1, required=True, help=_CONCEPT)
@click.option(
    "--reason", default="", show_default=False, metavar="TEXT", help="Why, for the journal"
)
@pass_session
def retire(session: Session, words: tuple[str, ...], reason: str) -> None:
    """Remove a concept with every edge that touches it; history keeps them."""
    exactly(words, 1, 2, form=f"mycel concept retire {_CONCEPT}")
    with session.open() as db, db.transaction(message="retire_concept") as tx:
        found = find_concept(tx, *words) if len(words) == 2 else _concept(tx, words[0])
        gone = tx.retire(found, reason=reason)
    session.out.say(
        f"Retired {found.id} and {gone.propositions} edges.",
        {"id": found.id, "concepts": gone.concepts, "edges": gone.propositions},
    )


def _concept(graph: GraphView | Transaction, text: str) -> Concept:
    # Late: see the package's docstring.
    from mycel.model.elements import Concept

    found = graph.get(resolve(graph, text))
    if not isinstance(found, Concept):
        raise not_a_concept(text)
    return found


def not_a_concept(text: str) -> MycelError:
    return InvalidId(
        f"{text!r} is an edge's id; a concept's is needed here.",
        hint="For edges there is `mycel edge get`.",
    )
