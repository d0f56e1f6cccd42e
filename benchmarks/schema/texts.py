"""The text of a schema with very many types, which use every feature of the language.

Types alternate between four shapes, so that a change of every type changes each shape.
A node declares eight properties and gets two more from its interface; an edge declares eight.
"""

from __future__ import annotations

from typing import Final

TYPES: Final = 500
INTERFACES: Final = 20
EDGES: Final = 120
NODES: Final = TYPES - INTERFACES - EDGES

_INTERFACE: Final = """\
interface Kind{at} {{
  label_{at}: String? @index
  noted_{at}: DateTime? @description("When somebody wrote it down")
}}
"""
_SHAPES: Final = (
    """\
node {name} @description("The things numbered {at}") implements Kind{kind} {{
  code: String @key
  handle: String @unique
  age: I32? @index
  score: F64? @default(0.5)
  state: enum(open, closed, waiting) @default(open)
  born: Date
  tags: [String]?
  note: String? @description("What else there is to say")
  @range(age, 0..150)
  @range(score, 0..1)
  @check(code, "^[A-Z]+-[0-9]+$")
  @unique(handle, born)
{more}}}
""",
    """\
node {name} implements Kind{kind} {{
  region: String
  number: U32
  title: String
  rank: I64? @index
  ratio: F32?
  level: enum(low, middle, high)?
  since: DateTime?
  flag: Bool @default(false)
  @key(region, number)
  @unique(title, rank)
  @index(ratio, level)
  @range(rank, ..1000000)
{more}}}
""",
    """\
node {name} @open @instruction("Ask before you change one") implements Kind{kind} {{
  name: String @key
  body: String
  summary: String?
  meaning: Vector(32)? @embed(body)
  raw: Blob?
  size: U64? @index
  seen: [Date]?
  language: enum(de, en, fr, it) @default(en)
  @check(summary, "^.{{1,200}}$")
  @range(size, 0..)
{more}}}
""",
)
_EDGE: Final = """\
edge {name}: {source} -> {target} @card(0..8) @description("The links numbered {at}") {{
  since: Date?
  until: Date?
  weight: F64?
  role: enum(first, second)?
  ticket: String? @unique
  rank: I32? @index
  note: String?
  sure: Bool @default(true)
  @unique(src, dst, rank)
{more}}}
"""


def node_name(at: int) -> str:
    return f"Thing{at:03}"


def schema(*, renamed: bool = False, one_more: bool = False, more_everywhere: bool = False) -> str:
    """The whole schema, unchanged or with one of three changes.

    `renamed`: the first node has another name, which interfaces, edges and the planner follow;
    `one_more`: the first node has one property more; `more_everywhere`: every node and edge has.
    """
    names = [node_name(at) for at in range(NODES)]
    if renamed:
        names[0] = "Renamed"
    parts = [_INTERFACE.format(at=at) for at in range(INTERFACES)]
    for at, name in enumerate(names):
        more = "  extra: String?\n" if more_everywhere or (one_more and at == 0) else ""
        shape = _SHAPES[at % len(_SHAPES)]
        parts.append(shape.format(name=name, at=at, kind=at % INTERFACES, more=more))
    for at in range(EDGES):
        more = "  extra: String?\n" if more_everywhere else ""
        source, target = names[at], names[(at * 7 + 1) % NODES]
        parts.append(
            _EDGE.format(name=f"Joins{at:03}", source=source, target=target, at=at, more=more)
        )
    text = "\n".join(parts)
    if renamed:
        was = node_name(0)
        text = text.replace("node Renamed", f'node Renamed @rename_from("{was}")', 1)
    return text
