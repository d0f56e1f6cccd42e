"""`mycel traverse`: show the elements near an element, as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.commands.workspace import names_several, several_workspaces
from mycel.cli.console.conflict_warnings import warn_conflicts
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import is_terminal, visible
from mycel.cli.console.parameters import (
    ELEMENT,
    archived_option,
    direction_option,
    follow_option,
    for_time_option,
    moment,
    resolve,
)
from mycel.errors import InvalidId, NotFound
from mycel.model.elements import Concept

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType

    from mycel.api.graph_view import GraphView
    from mycel.graph.traversal import Reached, Traversal
    from mycel.knowledge.node_values import DistantNode

MISSING = "Missing"
"""The type of placeholders: concepts that links name and that do not exist yet."""


@click.command(cls=Command)
@click.argument("start", metavar=ELEMENT, help="Where to start")
@click.option(
    "--max-cost", type=float, default=1.0, metavar="COST", help="The maximum cost of a path"
)
@click.option("--max-nodes", type=int, default=100, metavar="N", help="Maximum number of elements")
@click.option("--max-tokens", type=int, metavar="N", help="Maximum number of tokens")
@direction_option
@follow_option
@click.option(
    "--all", "in_all", is_flag=True, help="All workspaces; for some of them use --workspace a,b"
)
@click.option("--as-of", type=moment, metavar="SEQ|TIME", help="The state at this moment")
@for_time_option
@archived_option
@pass_session
def traverse(
    session: Invocation,
    /,
    *,
    start: str,
    follow: tuple[str, ...],
    in_all: bool,
    as_of: int | str | None,
    **bounds: Any,
) -> None:
    """Show the elements near an element, nearest first: an edge costs its weight.

    On a terminal it is drawn as a tree: each element is below the one it was reached from. Concepts
    that do not exist yet are red. Links into other workspaces, of this machine or of `mycel
    remote`, are followed there. With --all or --workspace a,b the start is a URI, and may be in any
    of these.
    """
    if in_all or names_several(session):
        _traverse_several(session, start, as_of, follow, bounds)
        return
    with session.open(reading=True) as db:
        view = db if as_of is None else db.as_of(as_of)
        is_now = as_of is None and bounds["for_time"] is None
        traversal, distant = _traversed(session, view, start, follow, bounds, is_now=is_now)
        if as_of is None:
            warn_conflicts(session, db, (node.element.id for node in traversal.nodes))
    distant_nodes = {far.uri: far for far in distant}
    if is_terminal() and not session.as_json:
        from mycel.mcp import node_text

        if traversal.nodes:
            session.out.render(tree(traversal.nodes, distant_nodes))
        for far in distant:
            session.out.line(visible(node_text.distant(far)))
    else:
        placed = {_type_and_name(near)[1] for near in traversal.nodes}
        items: list[Reached | DistantNode] = [*traversal.nodes]
        items += (far for far in distant if session.as_json or far.uri not in placed)
        session.out.list(
            items,
            ("cost", "hops", "id", "type", "name", "why"),
            lambda near: _row(near, distant_nodes),
            empty="Nothing is near.",
        )
    for cut in traversal.cut_off:
        raised = {"nodes": "--max-nodes", "tokens": "--max-tokens"}[cut.budget]
        session.out.note(visible(f"{cut.sentence} Raise {raised} to see more."))


def _traverse_several(
    session: Invocation,
    start: str,
    as_of: int | str | None,
    follow: tuple[str, ...],
    bounds: dict[str, Any],
) -> None:
    """Traverse the workspaces that `--workspace` names, or all of them."""
    shared_bounds = {name: bounds.pop(name) for name in _SHARED_BOUNDS}
    others = {"as-of": as_of, "follow": follow} | bounds
    for name, value in others.items():
        if value:
            option = name.replace("_", "-")
            raise click.UsageError(f"Several workspaces are traversed without --{option}.")
    with several_workspaces(session) as several:
        nodes = several.traverse(start, **shared_bounds)
    session.out.list(
        nodes,
        ("cost", "workspace", "uri", "type", "state", "text"),
        lambda near: (f"{near.cost:g}", *near[:2], near.type, near.state, near.text),
        lambda near: near.to_dict(),
    )


_SHARED_BOUNDS = ("max_cost", "max_nodes", "max_tokens", "direction")


def _traversed(
    session: Invocation,
    view: GraphView,
    start: str,
    follow: tuple[str, ...],
    bounds: dict[str, Any],
    *,
    is_now: bool,
) -> tuple[Traversal, list[DistantNode]]:
    """The surroundings of an element in this graph, and in the workspaces to which links lead."""
    from mycel.graph.traversal import Traversal

    try:
        node = resolve(view, start)
    except NotFound as error:
        starts = {start: 0.0} if is_now and _is_elsewhere(session, start) else {}
        distant = _reach(starts, bounds, follow)
        first = next((far for far in distant if far.uri == start), None)
        if first is None or not first.is_there:
            error.hint = error.hint if first is None else f"It is {first.state}. {first.advice}"
            raise
        return Traversal(()), distant
    traversal = view.traverse(node, relation_types=follow or None, doubts=True, **bounds)
    starts = {
        near.element.name: near.cost
        for near in traversal.nodes
        if isinstance(near.element, Concept)
        and near.element.type == MISSING
        and _is_elsewhere(session, near.element.name)
    }
    return traversal, _reach(starts if is_now else {}, bounds, follow, len(traversal.nodes))


def _is_elsewhere(session: Invocation, name: str) -> bool:
    """True for the URI of a concept of another workspace."""
    from mycel.knowledge.uris import parse

    try:
        uri = parse(name, "") if name.startswith("concept://") else None
    except InvalidId:
        return False
    return uri is not None and uri.workspace != session.workspace(session.root())


def _reach(
    starts: dict[str, float], bounds: dict[str, Any], follow: tuple[str, ...], local_count: int = 0
) -> list[DistantNode]:
    """The nodes of other workspaces to which links lead from here."""
    if not starts:
        return []
    from mycel.knowledge.elsewhere import Elsewhere
    from mycel.store.file.workspace_databases import local_database

    return Elsewhere(local=local_database).reach(
        starts,
        max_cost=bounds["max_cost"],
        max_nodes=max(1, bounds["max_nodes"] - local_count + len(starts)),
        direction=bounds["direction"],
        relation_types=follow or None,
    )


def _row(near: Reached | DistantNode, distant_nodes: Mapping[str, DistantNode]) -> tuple[Any, ...]:
    """The row of a node.

    A placeholder is shown with the type of the node in `distant_nodes` for which it stands.
    """
    from mycel.knowledge.node_values import DistantNode

    if isinstance(near, DistantNode):
        return f"{near.cost:g}", "", "", near.type or near.state, near.uri, _whereabouts(near)
    type_, name = _type_and_name(near)
    reason = near.reason
    far = distant_nodes.get(name)
    if far is not None:
        type_, reason = far.type or far.state, f"{reason}; {_whereabouts(far)}"
    return f"{near.cost:g}", near.hops, near.element.id, type_, name, reason


def _whereabouts(far: DistantNode) -> str:
    return f"{far.state} from {far.origin}" if far.is_there else far.advice


def _type_and_name(reached: Reached) -> tuple[str, str]:
    element = reached.element
    if isinstance(element, Concept):
        return element.type, element.name
    return element.predicate, f"{element.subject} {element.predicate} {element.object}"


def tree(nodes: Sequence[Reached], distant_nodes: Mapping[str, DistantNode]) -> RenderableType:
    """Draw every element below the one from which it was reached.

    A placeholder is drawn with the type of the node in `distant_nodes` for which it stands.
    """
    from rich.tree import Tree

    root, *others = nodes
    drawn = {root.element.id: Tree(_label(root, distant_nodes), guide_style="dim")}
    for reached in others:
        *before, step = reached.path
        source = before[-1].node if before else root.element.id
        drawn[step.node] = drawn[source].add(_label(reached, distant_nodes))
    return drawn[root.element.id]


def _label(reached: Reached, distant_nodes: Mapping[str, DistantNode]) -> RenderableType:
    from rich.text import Text

    type_, name = _type_and_name(reached)
    far = distant_nodes.get(name)
    if far is not None and far.is_there:
        type_ = far.type
    label = Text()
    if reached.path:
        step = reached.path[-1]
        arrow = "→" if step.direction == "out" else "←"
        label.append(f"{arrow} {visible(step.relation)} {step.weight:g}  ", style="dim")
    label.append(visible(name), style="bold red" if type_ == MISSING else "bold")
    label.append(f"  {visible(type_)}", style="red" if type_ == MISSING else "cyan")
    if reached.path:
        label.append(f"  {reached.cost:g}", style="dim")
    return label
