"""A graph with a small schema, and ways to fill it and to look at it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import MycelError

SCHEMA = """
node Person {
    email: String @key
    name: String
    age: I32?
    role: enum(admin, user) @default(user)
    born: Date?
    seen: DateTime?
    photo: Blob?
    tags: [String]?
    score: F64?
    active: Bool?
    @range(age, 0..150)
    @unique(name)
}
node Seat { row: I32  number: I32  note: String?  @key(row, number) }
node Note { text: String }
edge Knows: Person -> Person @card(0..2) { since: Date? }
edge Sits: Person -> Seat { weight: F64? }
edge Wrote: Person -> Note
"""


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with mycel.open(core_capsules=False) as db:
        db.schema.apply(SCHEMA)
        yield db


def person(email: str, name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"email": email, "name": name or email.title(), **more}}


def knows(src: str, dst: str, **more: Any) -> dict[str, Any]:
    return {"edge": "Knows", "from": src, "to": dst, **more}


def attributes(db: mycel.Graph, type_name: str, name: str) -> dict[str, Any]:
    found = db.get_concept(type_name, name)
    assert found is not None
    return found.attributes


def names(db: mycel.Graph, type_name: str) -> list[str]:
    return sorted(db.execute(f'FIND(?x.name) WHERE {{ ?x {{type: "{type_name}"}} }}').value)


def links(db: mycel.Graph, predicate: str) -> list[tuple[str, str]]:
    found = db.execute(f'FIND(?a.name, ?b.name) WHERE {{ (?a, "{predicate}", ?b) }}')
    return sorted(found.rows)


def refused(db: mycel.Graph, source: Any, **how: Any) -> MycelError:
    """The error of a load that fails and leaves nothing behind."""
    before = db.snapshot()
    with pytest.raises(MycelError) as caught:
        db.load(source, **how)
    assert db.snapshot() == before
    return caught.value


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Make a file of text, or of rows as JSON Lines."""

    def make(name: str, content: str | bytes | list[Any]) -> Path:
        path = tmp_path / name
        if isinstance(content, list):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make
