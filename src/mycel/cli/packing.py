"""What `mycel capsule export` adds to a capsule so that a new graph can take it.

The language exports what was matched. Somewhere else that is of little use without the definitions
of its types and predicates, so these are put in front of it. Those that every new graph has from
its first moment stay away: a capsule should not set them back to what they were here.

What a capsule needs is read from its own tree, as any reader of it would.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mycel.capsules import NAMES, read
from mycel.engine.protection import DEFINITIONS
from mycel.errors import InternalError
from mycel.kip import ast, parse
from mycel.model.limits import CAPSULE_BYTES_MAX
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.schema.definitions import is_unchanged

if TYPE_CHECKING:
    from mycel.nexus import Nexus

Name = tuple[Any, ...]
"""A concept as its type and name; a link as its subject, predicate and object, which are names."""

_DEFINITIONS = f"""
EXPORT ?it WHERE {{
  ?it {{type: "{CONCEPT_TYPE}"}}
  FILTER(IN(?it.name, :types))
  UNION {{
    ?it {{type: "{PROPOSITION_TYPE}"}}
    FILTER(IN(?it.name, :predicates))
  }}
}}"""


class Contents(NamedTuple):
    """What a capsule says."""

    holds: dict[Name, Mapping[str, Any]]
    """What it creates, with attributes."""
    mentions: dict[Name, None]
    """What its links join."""

    def definitions(self) -> list[Name]:
        """The definitions that it builds on, types first."""
        names = sorted({part for each in (*self.holds, *self.mentions) for part in _parts(each)})
        return names

    def add(self, block: ast.ConceptBlock | ast.PropositionBlock, handles: dict[str, Name]) -> None:
        if isinstance(block, ast.ConceptBlock):
            made = _name(block.matcher, handles)
            for entry in block.propositions or ():
                target = _name(entry.target, handles)
                self.mentions[target] = None
                self.holds[made, _text(entry.predicate), target] = {}
        else:
            made = _name(block.target, handles)
            self.mentions.update(dict.fromkeys((made[0], made[2])))
        self.holds[made] = block.attributes.value if isinstance(block.attributes, ast.Literal) else {}
        if block.handle is not None:
            handles[block.handle.name] = made


def contents(capsule: str) -> Contents:
    """What the text of a capsule without placeholders says."""
    found = Contents({}, {})
    command = parse(capsule, bytes_max=CAPSULE_BYTES_MAX)
    for upsert in command.upserts if isinstance(command, ast.Capsule) else ():
        handles: dict[str, Name] = {}
        for block in upsert.blocks:
            found.add(block, handles)
    return found


@cache
def core() -> Contents:
    """What every new graph has."""
    return contents("\n".join(read(name) for name in NAMES))


class Packing:
    """The pages of one export, each made complete."""

    def __init__(self, db: Nexus, *, with_definitions: bool) -> None:
        self._db = db
        self._with_definitions = with_definitions
        self._held: set[Name] = set()

    def packed(self, page: Mapping[str, Any]) -> dict[str, Any]:
        """A page after the definitions that it needs and that no page before it had.

        `definitions` names them; `outside` names what has to be there where it is applied.
        """
        said = contents(page["capsule"])
        self._held.update(said.holds)
        there = core().holds
        outside = [each for each in said.mentions if each not in self._held and each not in there]
        before = list(self._definitions(said)) if self._with_definitions else []
        complete = {
            **page,
            "capsule": "\n".join([*(each["capsule"] for each in before), page["capsule"]]),
            "propositions": page["propositions"] + sum(each["propositions"] for each in before),
            "definitions": [name for each in before for name in each["names"]],
        }
        return complete | ({"outside": list(map(told, outside))} if outside else {})

    def _definitions(self, said: Contents) -> Iterable[dict[str, Any]]:
        """Capsules with definitions, each before those that build on it."""
        found: list[dict[str, Any]] = []
        while wanted := [each for each in said.definitions() if self._is_wanted(each)]:
            self._held.update(wanted)
            asked = {
                "types": [name for kind, name in wanted if kind == CONCEPT_TYPE],
                "predicates": [name for kind, name in wanted if kind == PROPOSITION_TYPE],
            }
            pages = list(exported(self._db, _DEFINITIONS, asked))
            capsule = "\n".join(page["capsule"] for page in pages)
            links = sum(page["propositions"] for page in pages)
            names = [name for _, name in wanted]
            found.insert(0, {"capsule": capsule, "propositions": links, "names": names})
            # Definitions may be linked to each other, with predicates of their own.
            said = contents(capsule)
        return found

    def _is_wanted(self, definition: Name) -> bool:
        if definition in self._held or definition in DEFINITIONS:
            return False
        shipped = core().holds.get(definition)
        if shipped is None:
            return True
        found = self._db.get_concept(*definition)
        attributes = {} if found is None else found.attributes
        return not all(is_unchanged(key, attributes, shipped) for key in attributes)


def exported(db: Nexus, command: str, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every page of an export: capsules that follow one another are one capsule again."""
    cursor: str | None = None
    while True:
        more = "" if cursor is None else f" CURSOR {json.dumps(cursor)}"
        result = db.execute(f"{command}{more}", values)
        if result.value["capsule"]:
            yield result.value | result.to_dict_beside()
        cursor = result.next_cursor
        if cursor is None:
            return


def told(name: Name) -> str:
    """An element that is elsewhere, for people.

    >>> told((("Plant", "Oak"), "shades", ("Plant", "Fern")))
    '(Plant "Oak", shades, Plant "Fern")'
    """
    if len(name) == 2:
        return f"{name[0]} {json.dumps(name[1], ensure_ascii=False)}"
    return f"({told(name[0])}, {name[1]}, {told(name[2])})"


def _parts(name: Name) -> Iterator[Name]:
    """The definitions that an element builds on."""
    if len(name) == 2:
        yield CONCEPT_TYPE, name[0]
    else:
        yield PROPOSITION_TYPE, name[1]
        yield from _parts(name[0])
        yield from _parts(name[2])


def _name(node: ast.Endpoint | ast.LinkById, handles: Mapping[str, Name]) -> Name:
    match node:
        case ast.Variable(name):
            return handles[name]
        case ast.ConceptMatcher():
            return _text(node.type), _text(node.name)
        case ast.LinkPattern():
            subject, object_ = _name(node.subject, handles), _name(node.object, handles)
            return subject, _text(node.predicate), object_
        case _:
            raise InternalError("An exported capsule names an element by its id.")


def _text(node: object) -> str:
    if isinstance(node, ast.Literal) and isinstance(node.value, str):
        return node.value
    raise InternalError("An exported capsule has something else where a text is needed.")
