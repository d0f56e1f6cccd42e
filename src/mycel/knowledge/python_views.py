"""Shows a workspace to Python programs and notebooks: as a count, a list, a table or a graph."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import islice
from typing import Any, Final

from mycel.engine.missing_concepts import MISSING, MISSING_ENTITY
from mycel.knowledge.limits import PAGE_MAX
from mycel.knowledge.node_lookup import as_node
from mycel.knowledge.node_values import Node, Relation
from mycel.knowledge.relation_pages import relations_page
from mycel.model import ids
from mycel.model.elements import Concept
from mycel.model.extras import extra
from mycel.model.names import shorten
from mycel.store.query import lookup
from mycel.store.query.reader import Reader

ROWS_SHOWN: Final = 20
CELL_CHARACTERS: Final = 120
NODES_TOGETHER: Final = 1_000


def _roots(workspace: str) -> tuple[str, ...]:
    return f"concept://{workspace}", f"file://{workspace}"


def _hidden(reader: Reader) -> list[int]:
    return [kind for name in (MISSING, MISSING_ENTITY) if (kind := reader.find_type(name))]


def count_nodes(reader: Reader, workspace: str) -> int:
    """The number of concepts and files of a workspace, without placeholders."""
    hidden = _hidden(reader)
    return sum(lookup.count_below(reader, root, hidden) for root in _roots(workspace))


def nodes_of(reader: Reader, workspace: str) -> Iterator[Node]:
    """The nodes of a workspace without their content: concepts by URI, then files."""
    hidden = _hidden(reader)
    for root in _roots(workspace):
        rows = [row for row in lookup.find_by_name(reader, [root]) if row[1] not in hidden]
        after = ""
        while True:
            for number, _, _ in rows:
                if (concept := reader.concept(number)) is not None:
                    yield as_node(concept, content=False)
            rows = lookup.named_below(
                reader, root, after=after, limit=NODES_TOGETHER, without=hidden
            )
            if not rows:
                break
            after = rows[-1][2]


def html_table(reader: Reader, workspace: str) -> str:
    """The first nodes of a workspace as a table of HTML."""
    total = count_nodes(reader, workspace)
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(shorten(cell, CELL_CHARACTERS))}</td>"
            for cell in (node.uri, node.type, node.name or "")
        )
        + "</tr>"
        for node in islice(nodes_of(reader, workspace), ROWS_SHOWN)
    )
    more = f"<p>… and {total - ROWS_SHOWN:,} more</p>" if total > ROWS_SHOWN else ""
    return (
        f"<p>Workspace {escape(workspace)}: {total:,} nodes</p><table><thead><tr><th>uri</th>"
        f"<th>type</th><th>name</th></tr></thead><tbody>{rows}</tbody></table>{more}"
    )


def as_networkx(reader: Reader, workspace: str) -> Any:
    """The nodes of a workspace with their relations, as a `networkx.MultiDiGraph`.

    Raises:
        NotFound: networkx is not installed.
    """
    graph = extra("networkx", "networkx").MultiDiGraph(workspace=workspace)
    for node in nodes_of(reader, workspace):
        graph.add_node(node.uri, type=node.type, name=node.name, properties=node.properties)
        concept = reader.concept(ids.parse_id(node.id))
        for link in () if concept is None else _leaving(reader, concept):
            graph.add_edge(
                node.uri,
                link.target,
                key=link.relation,
                weight=link.weight,
                properties=link.properties,
            )
    return graph


def _leaving(reader: Reader, concept: Concept) -> Iterator[Relation]:
    cursor: str | None = None
    while True:
        page = relations_page(reader, concept, "out", None, PAGE_MAX, cursor)
        yield from page
        cursor = page.next_cursor
        if cursor is None:
            return
