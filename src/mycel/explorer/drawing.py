"""A drawing of nodes and links as SVG, laid out by forces.

Nodes repel each other and links pull their ends together, in ever smaller steps, until nothing
moves. Positions at the start are derived from ids, so the same graph gives the same drawing.
"""

from __future__ import annotations

from hashlib import sha256
from html import escape
from math import cos, pi, sin
from typing import TYPE_CHECKING, Any, Final

from mycel.model.names import shorten
from mycel.model.values import JsonObject

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLOURS: Final = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7f6ec4",
)  # fmt: skip
"""Colours of types, safe for every kind of colour vision; further types are grey."""
OTHER: Final = "#8b9491"
MISSING: Final = "#b81f27"

_STYLE: Final = 'font-family="system-ui, sans-serif" font-size="13" role="img"'
_STEPS: Final = 300
_SIDE: Final = 1200
_MARGIN: Final = 60
_CHARACTER: Final = 8
_LINE: Final = 15
"""The width of a character and the height of a line of a label."""


def svg(nodes: list[JsonObject], links: list[JsonObject], title: str = "Mycel") -> str:
    """Nodes and links as an SVG document; missing concepts are hollow, red and marked by a word."""
    places = _laid_out(nodes, links)
    types = list(dict.fromkeys(card["type"] for card in nodes if card["kind"] != "missing"))
    colours = dict(zip(types, COLOURS, strict=False))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIDE} {_SIDE}" {_STYLE}>',
        f"<title>{_text(title)}</title>",
        f'<rect width="{_SIDE}" height="{_SIDE}" fill="#f7f8f6"/>',
        '<g stroke="#9fb0a8">',
    ]
    for link in links:
        one, other = places.get(link["source"]), places.get(link["target"])
        if one is None or other is None:
            continue
        red = f' stroke="{MISSING}" stroke-dasharray="6 4"' if link.get("missing") else ""
        width = 1 + 1.5 * (1 - min(1.0, link["weight"]))
        parts.append(
            f'<line x1="{one[0]:.1f}" y1="{one[1]:.1f}" x2="{other[0]:.1f}" y2="{other[1]:.1f}"'
            f' stroke-width="{width:.1f}"{red}><title>{_text(link["relation"])}</title></line>'
        )
    parts.append("</g><g>")
    parts += [_node(card, places[card["id"]], colours) for card in nodes]
    parts.append('</g><g fill="#1c2320" paint-order="stroke" stroke="#f7f8f6" stroke-width="3">')
    parts += _labels(nodes, places)
    return "\n".join([*parts, "</g></svg>", ""])


def _labels(nodes: list[JsonObject], places: dict[str, tuple[float, float]]) -> list[str]:
    """Labels of nodes, the most linked ones first, as long as there is room."""
    boxes: list[tuple[float, float, float]] = []
    parts = []
    for card in sorted(nodes, key=lambda node: (node["kind"] != "missing", -node["degree"])):
        x, y = places[card["id"]]
        name = shorten(card["name"], 40) + (" (missing)" if card["kind"] == "missing" else "")
        width = _CHARACTER * len(name)
        is_left = x + width > _SIDE
        begin, anchor = (x - width, ' text-anchor="end"') if is_left else (x, "")
        if any(abs(y - t) < _LINE and begin < e and b < begin + width for b, e, t in boxes):
            continue
        boxes.append((begin, begin + width, y))
        at = x - 12 if is_left else x + 12
        parts.append(f'<text x="{at:.1f}" y="{y + 4:.1f}"{anchor}>{_text(name)}</text>')
    return parts


def _node(card: JsonObject, place: tuple[float, float], colours: dict[str, str]) -> str:
    x, y = place
    size = 4 + min(10.0, card["degree"] ** 0.5 * 1.5)
    message = f"<title>{_text(card['id'])} ({_text(card['type'])})</title>"
    if card["kind"] == "missing":
        return (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="#ffffff"'
            f' stroke="{MISSING}" stroke-width="2">{message}</circle>'
        )
    colour = colours.get(card["type"], OTHER)
    if card["kind"] == "resource":
        return (
            f'<rect x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size:.1f}"'
            f' height="{2 * size:.1f}" fill="{colour}">{message}</rect>'
        )
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="{colour}">{message}</circle>'


def _text(text: str) -> str:
    plain = "".join(character for character in text if character.isprintable() or character == " ")
    return escape(plain, quote=True)


def _laid_out(nodes: list[JsonObject], links: list[JsonObject]) -> dict[str, tuple[float, float]]:
    """A place for each node, by id."""
    import numpy as np  # noqa: PLC0415 - only a drawing needs it

    if not nodes:
        return {}
    number = {card["id"]: at for at, card in enumerate(nodes)}
    pairs = np.array(
        [
            (number[link["source"]], number[link["target"]])
            for link in links
            if link["source"] in number and link["target"] in number
        ],
        dtype=np.int64,
    ).reshape(-1, 2)
    points = np.array([_start(card["id"]) for card in nodes])
    ideal = 1 / max(1.0, len(nodes) ** 0.5)
    for step in range(_STEPS):
        points += _moves(points, pairs, ideal, 0.1 * (1 - step / _STEPS))
    low, high = points.min(axis=0), points.max(axis=0)
    scaled = (points - low) / np.maximum(high - low, 1e-9) * (_SIDE - 2 * _MARGIN) + _MARGIN
    return {card["id"]: (float(x), float(y)) for card, (x, y) in zip(nodes, scaled, strict=True)}


def _moves(points: NDArray[np.float64], pairs: NDArray[np.int64], ideal: float, most: float) -> Any:
    """The moves of one step, by the forces of all pairs and links; each is at most `most` long."""
    import numpy as np  # noqa: PLC0415 - as above

    apart = points[:, None, :] - points[None, :, :]
    distance = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 1e-4)
    force = (apart * (ideal * ideal / distance**2)[..., None]).sum(axis=1)
    force -= 0.6 * points  # Pull parts without links between them together.
    if len(pairs):
        pull = points[pairs[:, 1]] - points[pairs[:, 0]]
        length = np.maximum(np.hypot(pull[:, 0], pull[:, 1]), 1e-4)
        pull *= (length / ideal)[:, None]
        np.add.at(force, pairs[:, 0], pull)
        np.add.at(force, pairs[:, 1], -pull)
    size = np.maximum(np.hypot(force[:, 0], force[:, 1]), 1e-9)
    return force / size[:, None] * np.minimum(size, most)[:, None]


def _start(id_: str) -> tuple[float, float]:
    digest = sha256(id_.encode(errors="replace")).digest()
    angle, radius = (int.from_bytes(digest[at : at + 4], "big") / 2**32 for at in (0, 4))
    return radius**0.5 * cos(2 * pi * angle), radius**0.5 * sin(2 * pi * angle)
