"""Draws `docs/graph.svg`, the picture in the README, from a small graph that it writes itself.

python tools/picture.py           # draw it
python tools/picture.py --check   # exit with 1 if the picture is stale

The graph is written with `mycel.Knowledge`; nodes, relations, broken links and the result of a
traversal are read back from it. A column is the number of hops from the start of the traversal.
The order inside the columns is the one with the fewest crossings of all possible orders, so the
same graph always gives the same picture.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import combinations, pairwise, permutations, product
from pathlib import Path
from typing import Final, NamedTuple

import mycel

PICTURE: Final = Path(__file__).resolve().parent.parent / "docs" / "graph.svg"

START: Final = "decisions/passkeys"
MAX_COST: Final = 0.5
NODES: Final = (
    {"uri": START, "name": "Passkeys only", "type": "Decision"},
    {"uri": "people/ada", "name": "Ada", "type": "Engineer"},
    {"uri": "auth/login", "name": "Login"},
    {"uri": "auth/session", "name": "Session"},
    {"uri": "incidents/may-3", "name": "Logouts, May 3", "type": "Incident"},
)
RELATIONS: Final = (
    ("people/ada", "decided", START, 0.4),
    (START, "affects", "auth/login", 0.1),
    (START, "based_on", "https://w3.org/TR/webauthn-3", 0.8),
    ("auth/login", "implemented_in", "file://shop/login.py", 0.1),
    ("auth/login", "depends_on", "auth/session", 0.2),
    ("auth/login", "falls_back_to", "auth/recovery", 0.3),
    ("auth/session", "implemented_in", "file://shop/session.py", 0.1),
    ("file://shop/test_login.py", "tests", "file://shop/login.py", 0.2),
    ("incidents/may-3", "caused_by", "auth/session", 0.5),
)

WIDTH, HEIGHT = 1000, 420
TOP, BOTTOM, SIDE = 66, 326, 92
BOX_WIDTH, BOX_HEIGHT = 136, 54
PORT_GAP = 15
"""Between the ends of relations on the same side of a box."""

STYLE: Final = """
    .card { fill: #ffffff; stroke: #d8dee4; }
    text { font-family: ui-sans-serif, -apple-system, "Segoe UI", Inter, sans-serif; }
    .note { font-size: 13px; fill: #59636e; }
    .name { font-size: 14.5px; font-weight: 600; fill: #1f2328; text-anchor: middle; }
    .type { font-size: 11px; letter-spacing: .03em; fill: #59636e; text-anchor: middle; }
    .box { stroke-width: 1.5; }
    .box.concept { fill: #eaf3ff; stroke: #4a90d9; }
    .box.resource { fill: #f3f4f6; stroke: #8c959f; }
    .box.missing { fill: #fff0f0; stroke: #d1242f; stroke-dasharray: 5 4; }
    .name.missing, .type.missing, .note.missing, .relation.missing { fill: #b81c27; }
    .edge { fill: none; stroke: #afb8c1; stroke-width: 1.6; }
    .edge.reached { stroke: #1a7f37; stroke-width: 2.4; }
    .edge.missing { stroke: #d1242f; stroke-width: 1.8; stroke-dasharray: 5 4; }
    .tip { fill: #afb8c1; } .tip.reached { fill: #1a7f37; } .tip.missing { fill: #d1242f; }
    .relation { font-size: 12.5px; fill: #3d444d; text-anchor: middle; stroke: #ffffff;
      stroke-width: 5px; stroke-linejoin: round; paint-order: stroke; }
    .weight { font-weight: 650; }
    .badge { fill: #1a7f37; }
    .cost { font-size: 11.5px; font-weight: 650; fill: #ffffff; text-anchor: middle; }
    @media (prefers-color-scheme: dark) {
      .card { fill: #0d1117; stroke: #30363d; }
      .name { fill: #f0f6fc; }
      .note, .type { fill: #9198a1; }
      .box.concept { fill: #12263f; stroke: #4a90d9; }
      .box.resource { fill: #1c2128; stroke: #6e7681; }
      .box.missing { fill: #2d1214; stroke: #f85149; }
      .name.missing, .type.missing, .note.missing, .relation.missing { fill: #ff8e87; }
      .edge { stroke: #4d555f; }
      .edge.reached { stroke: #3fb950; }
      .edge.missing { stroke: #f85149; }
      .tip { fill: #4d555f; } .tip.reached { fill: #3fb950; } .tip.missing { fill: #f85149; }
      .relation { fill: #c9d1d9; stroke: #0d1117; }
      .badge { fill: #238636; }
    }
"""


Point = tuple[float, float]


class Node(NamedTuple):
    """A box of the picture. `cost` is None where the traversal does not come."""

    uri: str
    name: str
    type: str
    kind: str
    cost: float | None


class Graph(NamedTuple):
    """The parts of the graph that are drawn."""

    nodes: dict[str, Node]
    relations: tuple[mycel.Relation, ...]
    tree: frozenset[tuple[str, str]]
    """The relations that the traversal follows, as (source, target)."""


def main() -> int:
    drawn = draw(read())
    if "--check" in sys.argv[1:]:
        fresh = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == drawn
        if not fresh:
            print(f"{PICTURE.name} is stale: run `python tools/picture.py`.")
        return 0 if fresh else 1
    PICTURE.write_text(drawn, encoding="utf-8")
    return 0


def read() -> Graph:
    """Writes the graph into memory and reads back what is drawn."""
    with mycel.open() as db:
        shop = mycel.Knowledge(db, workspace="shop", root=".")
        keys = ("source", "relation", "target", "weight")
        shop.remember(NODES, [dict(zip(keys, each, strict=True)) for each in RELATIONS])
        reached = shop.traverse(START, max_cost=MAX_COST).nodes
        costs = {each.uri: each.cost for each in reached}
        tree = {
            way
            for each in reached
            for way in pairwise([reached[0].uri, *(step.uri for step in each.path)])
        }
        relations = {each.id: each for uri in _uris() for each in shop.relations(uri)}
        ends = dict.fromkeys(
            end for each in relations.values() for end in (each.source, each.target)
        )
        missing = {uri for each in shop.broken_links() for uri in each.missing}
        nodes = {uri: _node(shop, uri, costs.get(uri), missing) for uri in ends}
    return Graph(nodes, tuple(relations.values()), frozenset(tree))


def _uris() -> Iterator[str]:
    yield from (str(each["uri"]) for each in NODES)
    yield "file://shop/login.py"


def _node(shop: mycel.Knowledge, uri: str, cost: float | None, missing: set[str]) -> Node:
    last = uri.rpartition("/")[2]
    if uri in missing:
        return Node(uri, last.capitalize(), "not written yet", "missing", cost)
    node = shop.get(uri)
    kind = "concept" if uri.startswith("concept:") else "resource"
    said = node.type if kind == "concept" else uri.partition(":")[0]
    return Node(uri, node.name or last, said, kind, cost)


# Layout.


def places(graph: Graph) -> dict[str, Point]:
    """The centre of each box."""
    pairs = [(each.source, each.target) for each in graph.relations]
    columns = _columns(pairs, next(uri for uri, node in graph.nodes.items() if node.cost == 0))
    step = (WIDTH - 2 * SIDE) / (len(columns) - 1)
    best = min(
        product(*(permutations(column) for column in columns)),
        key=lambda each: _badness(each, pairs),
    )
    return {
        uri: (SIDE + at * step, _height(row, len(column)))
        for at, column in enumerate(best)
        for row, uri in enumerate(column)
    }


def _columns(pairs: Sequence[tuple[str, str]], start: str) -> list[list[str]]:
    """The nodes by hops from the start, whichever way the relations point."""
    columns, seen = [[start]], {start}
    while True:
        found = [
            there
            for pair in pairs
            for here, there in (pair, pair[::-1])
            if here in columns[-1] and there not in seen
        ]
        if not found:
            return columns
        columns.append(sorted(set(found)))
        seen.update(found)


def _height(row: int, count: int) -> float:
    return (TOP + BOTTOM) / 2 if count == 1 else TOP + row * (BOTTOM - TOP) / (count - 1)


def _badness(
    columns: Sequence[Sequence[str]], pairs: Sequence[tuple[str, str]]
) -> tuple[float, ...]:
    """Crossings first, then how far relations climb or fall, then names, so that one order wins."""
    at = {
        uri: (number, _height(row, len(column)))
        for number, column in enumerate(columns)
        for row, uri in enumerate(column)
    }
    lines = [sorted((at[source], at[target])) for source, target in pairs]
    crossings = sum(
        one[0][0] == other[0][0] and (one[0][1] - other[0][1]) * (one[1][1] - other[1][1]) < 0
        for one, other in combinations(lines, 2)
    )
    climb = sum(abs(line[0][1] - line[1][1]) for line in lines)
    order = [each for column in columns for each in column]
    inversions = sum(one > other for one, other in combinations(order, 2))
    return crossings, climb, inversions


# Drawing.


def draw(graph: Graph) -> str:
    """The whole SVG."""
    at = places(graph)
    ports = _ports(graph, at)
    reached = [node for node in graph.nodes.values() if node.cost is not None]
    start = next(node for node in reached if node.cost == 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "  <title>A graph of knowledge in Mycel</title>",
        f"  <desc>{escape(_description(graph))}</desc>",
        f"  <style>{STYLE}  </style>",
        f'  <rect class="card" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="12"/>',
        *(line for each in graph.relations for line in _edge(graph, each, ports)),
        *(line for node in graph.nodes.values() for line in _box(node, at[node.uri])),
        *_legend(start, len(reached)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _description(graph: Graph) -> str:
    return " ".join(
        f"{graph.nodes[each.source].name} {each.relation} {graph.nodes[each.target].name}."
        for each in graph.relations
    )


def _ports(graph: Graph, at: Mapping[str, Point]) -> dict[tuple[str, str], Point]:
    """The point on the box of the first node where the line to the second one ends."""
    sides: dict[tuple[str, bool], list[str]] = {}
    for relation in graph.relations:
        for here, there in permutations((relation.source, relation.target)):
            sides.setdefault((here, at[there] > at[here]), []).append(there)
    ports = {}
    for (here, right), others in sides.items():
        x, y = at[here]
        edge = x + (BOX_WIDTH if right else -BOX_WIDTH) / 2
        others.sort(key=lambda uri: at[uri][1])
        for number, there in enumerate(others):
            ports[here, there] = edge, y + PORT_GAP * (number - (len(others) - 1) / 2)
    return ports


def _edge(
    graph: Graph, relation: mycel.Relation, ports: Mapping[tuple[str, str], Point]
) -> Iterator[str]:
    missing = graph.nodes[relation.target].kind == "missing"
    followed = (relation.source, relation.target) in graph.tree
    state = " missing" if missing else " reached" if followed else ""
    x1, y1 = ports[relation.source, relation.target]
    x2, y2 = ports[relation.target, relation.source]
    way = 1 if x2 > x1 else -1
    end, middle = x2 - way * 9, (x1 + x2) / 2
    curve = f"M{x1:g} {y1:g}C{middle:g} {y1:g} {middle:g} {y2:g} {end:g} {y2:g}"
    yield f'  <path class="edge{state}" d="{curve}"/>'
    yield f'  <path class="tip{state}" d="M{x2:g} {y2:g}l{-way * 10:g} -5.5v11z"/>'
    below = 4 if abs(y2 - y1) > BOX_HEIGHT else 16 if y1 > y2 else -7
    yield (
        f'  <text class="relation{state}" x="{middle:g}" y="{(y1 + y2) / 2 + below:g}">'
        f'{escape(relation.relation)} <tspan class="weight">{relation.weight:g}</tspan></text>'
    )


def _box(node: Node, at: Point) -> Iterator[str]:
    x, y = at
    left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
    yield (
        f'  <rect class="box {node.kind}" x="{left:g}" y="{top:g}"'
        f' width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="10"/>'
    )
    yield f'  <text class="type {node.kind}" x="{x:g}" y="{y - 8:g}">{escape(node.type)}</text>'
    yield f'  <text class="name {node.kind}" x="{x:g}" y="{y + 12:g}">{escape(node.name)}</text>'
    if node.cost is not None:
        yield (
            f'  <rect class="badge" x="{left + BOX_WIDTH - 26:g}" y="{top - 10:g}"'
            ' width="34" height="20" rx="10"/>'
        )
        yield (
            f'  <text class="cost" x="{left + BOX_WIDTH - 9:g}" y="{top + 4:g}">'
            f"{round(node.cost, 3):g}</text>"
        )


def _legend(start: Node, reached: int) -> Iterator[str]:
    y = HEIGHT - 26
    yield f'  <rect class="badge" x="24" y="{y - 15}" width="34" height="20" rx="10"/>'
    yield f'  <text class="cost" x="41" y="{y - 1}">cost</text>'
    yield (
        f'  <text class="note" x="68" y="{y}">traverse from “{escape(start.name)}”, cost up to'
        f" {MAX_COST:g}: {reached} nodes, nearest first</text>"
    )
    yield (
        f'  <text class="note missing" x="{WIDTH - 24}" y="{y}" text-anchor="end">'
        "in red: a concept that is linked to and not written yet</text>"
    )


if __name__ == "__main__":
    sys.exit(main())
