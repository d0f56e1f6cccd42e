"""Rows of people, cities and links between them, and three ways to declare their types.

`CONSTRAINED` uses every kind of constraint, and all rows satisfy it. `BARE` declares the same
properties of the same types without constraints: every property may be absent, and enums are texts.
The third way is to declare nothing.

Types without a key have rows with an `id`, by which links name their ends.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.graphs import SEED, vocabulary

CONSTRAINED: Final = """\
interface Dated { joined: Date @index }
node City {
  name: String @key
  country: String @index
  population: I64
  @range(population, 0..)
}
node Person implements Dated {
  email: String @key
  handle: String @unique
  first: String
  last: String
  born: Date
  age: I32 @index
  status: enum(active, closed, dormant) @default(active)
  code: String
  score: F64?
  @unique(first, last, born)
  @range(age, 0..150)
  @range(score, 0..1)
  @check(code, "^[A-Z]{3}-[0-9]{4}$")
}
edge LivesIn: Person -> City @card(0..1) { since: Date  contract: String? @unique }
edge Knows: Person -> Person @card(0..8) {
  since: Date
  strength: F64 @index
  kind: enum(family, friend, work)
  @unique(src, dst)
}
"""
BARE: Final = """\
node City { name: String?  country: String?  population: I64? }
node Person {
  email: String?
  handle: String?
  first: String?
  last: String?
  born: Date?
  age: I32?
  status: String?
  code: String?
  score: F64?
  joined: Date?
}
edge LivesIn: Person -> City { since: Date?  contract: String? }
edge Knows: Person -> Person { since: Date?  strength: F64?  kind: String? }
"""
NODES: Final = ("City", "Person")
EDGES: Final = {"LivesIn": "City", "Knows": "Person"}
"""The links with the type of their targets; the source is a person."""

_PEOPLE_PER_CITY: Final = 200
_COUNTRIES: Final = 40
_STRIDE: Final = 7919


def person(at: int, rng: random.Random, words: list[str]) -> dict[str, Any]:
    """The row of one person; the number makes it unique."""
    draw, pick = rng.random, rng.choice
    first, last = pick(words), pick(words)
    year = 1930 + int(90 * draw())
    made: dict[str, Any] = {
        "email": f"{first}.{last}{at}@example.org",
        "handle": f"{last}{at:x}",
        "first": first,
        "last": f"{last} {at}",
        "born": _date(year, draw()),
        "age": 2024 - year,
        "code": f"{last[:3]:x<3}-{int(10000 * draw()):04}".upper(),
        "joined": _date(2000 + int(24 * draw()), draw()),
    }
    if draw() < 0.5:
        made["status"] = pick(("active", "closed", "dormant"))
    if draw() < 0.5:
        made["score"] = round(draw(), 4)
    return made


def write_rows(path: Path, count: int, *, ids: bool) -> None:
    """Write a file of this many lines, besides cities: two fifths are people, the others links."""
    with path.open("wb") as file:
        for row in rows(count * 2 // 5, ids=ids):
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def rows(people: int, *, ids: bool) -> Iterator[dict[str, Any]]:
    """Cities, people, and three links for every two people; with `ids`, nodes have an `id`."""
    rng, words = random.Random(f"{SEED} people"), vocabulary()
    cities: list[str] = []
    for at in range(max(2, people // _PEOPLE_PER_CITY)):
        city: dict[str, Any] = {
            "name": f"{rng.choice(words)} {at}",
            "country": f"country {at % _COUNTRIES}",
            "population": int(1e6 * rng.random()),
        }
        cities.append(city["name"])
        yield _node("City", city, city["name"] if ids else None)
    emails: list[str] = []
    for at in range(people):
        data = person(at, rng, words)
        emails.append(data["email"])
        yield _node("Person", data, data["email"] if ids else None)
    yield from _links(emails, cities, rng)


def _node(type_name: str, data: dict[str, Any], name: str | None) -> dict[str, Any]:
    row: dict[str, Any] = {"type": type_name, "data": data}
    return row if name is None else row | {"id": name}


def _links(emails: list[str], cities: list[str], rng: random.Random) -> Iterator[dict[str, Any]]:
    """A link `Knows` for everybody, and a link `LivesIn` for every second person."""
    for at, email in enumerate(emails):
        since = _date(2000 + int(24 * rng.random()), rng.random())
        other = emails[(at * _STRIDE + 1) % len(emails)]
        data = {"since": since, "strength": round(rng.random(), 3), "kind": "friend"}
        yield {"edge": "Knows", "from": email, "to": other, "data": data}
        if at % 2 == 0:
            lease = {"since": since} | ({"contract": f"C{at:07}"} if at % 4 == 0 else {})
            yield {"edge": "LivesIn", "from": email, "to": rng.choice(cities), "data": lease}


def _date(year: int, share: float) -> str:
    day = int(share * 336)
    return f"{year}-{1 + day // 28:02}-{1 + day % 28:02}"
