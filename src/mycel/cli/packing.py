"""What `mycel capsule export` adds to a capsule so that a new graph can take it.

The language exports what was matched. Somewhere else that is of little use without the definitions
of its types and predicates, so these are put in front of it. Those that every new graph has from
its first moment stay away: a capsule should not set them back to what they were here.

What a capsule needs is read from its own tree, as any reader of it would.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mycel.capsules import NAMES, read
from mycel.engine.protection_guard import DEFINITIONS
from mycel.errors import InternalError
from mycel.kip import ast, parse
from mycel.model.limits import CAPSULE_BYTES_MAX
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.schema.definitions import is_unchanged

if TYPE_CHECKING:
    from mycel.nexus import Nexus

Identity = tuple[str, str] | tuple[int, str, int]
"""A concept as its type and name; a link as its subject, predicate and object.

The ends are numbers of a `_Reader`: links about links would otherwise be trees in trees.
"""

_DEFINITIONS = f"""
EXPORT ?it WHERE {{
  ?it {{type: "{CONCEPT_TYPE}"}}
  FILTER(IN(?it.name, :types))
  UNION {{
    ?it {{type: "{PROPOSITION_TYPE}"}}
    FILTER(IN(?it.name, :predicates))
  }}
}}"""


class Packing:
    """The pages of one export, each made complete."""

    def __init__(self, db: Nexus, *, with_definitions: bool) -> None:
        self._db = db
        self._with_definitions = with_definitions
        self._reader = _Reader()
        self._core = self._reader.read("\n".join(read(name) for name in NAMES)).holds
        self._held: set[Identity] = set()

    def packed(self, page: Mapping[str, Any]) -> dict[str, Any]:
        """A page after the definitions that it needs and that no page before it had.

        `definitions` names them; `outside` names what has to be there where it is applied.
        """
        said = self._reader.read(page["capsule"])
        self._held.update(said.holds)
        before = self._definitions(said) if self._with_definitions else []
        complete = {
            **page,
            "capsule": "\n".join([*(each.capsule for each in before), page["capsule"]]),
            "propositions": page["propositions"] + sum(each.links for each in before),
            "definitions": [name for each in before for name in each.names],
        }
        there = self._held | self._core.keys()
        outside = [self._reader.told(each) for each in said.mentions if each not in there]
        return complete | ({"outside": outside} if outside else {})

    def _definitions(self, said: _Contents) -> list[_Definitions]:
        """Capsules with definitions, each before those that build on it."""
        found: list[_Definitions] = []
        while wanted := [each for each in said.definitions() if self._is_wanted(each)]:
            self._held.update(wanted)
            asked = {
                "types": _of_kind(CONCEPT_TYPE, wanted),
                "predicates": _of_kind(PROPOSITION_TYPE, wanted),
            }
            pages = list(exported(self._db, _DEFINITIONS, asked))
            capsule = "\n".join(page["capsule"] for page in pages)
            links = sum(page["propositions"] for page in pages)
            found.insert(0, _Definitions(capsule, [name for _, name in wanted], links))
            # Definitions may be linked to each other, with predicates of their own.
            said = self._reader.read(capsule)
        return found

    def _is_wanted(self, definition: tuple[str, str]) -> bool:
        if definition in self._held or definition in DEFINITIONS:
            return False
        shipped = self._core.get(definition)
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


def _of_kind(kind: str, definitions: list[tuple[str, str]]) -> list[str]:
    # IN needs something to compare with, and no definition has an empty name.
    return [name for each, name in definitions if each == kind] or [""]


class _Definitions(NamedTuple):
    capsule: str
    names: list[str]
    links: int


# What a capsule says.


class _Contents(NamedTuple):
    holds: dict[Identity, Mapping[str, Any]]
    """What it creates, with attributes."""
    mentions: dict[Identity, None]
    """Everything that it names."""

    def definitions(self) -> list[tuple[str, str]]:
        """The definitions that it builds on, types first."""
        return sorted(
            {
                (CONCEPT_TYPE, each[0]) if len(each) == 2 else (PROPOSITION_TYPE, each[1])
                for each in self.mentions
            }
        )


class _Reader:
    """Reads capsules that have neither placeholders nor ids, as those that are exported."""

    def __init__(self) -> None:
        self._numbers: dict[Identity, int] = {}
        self._identities: list[Identity] = []

    def read(self, capsule: str) -> _Contents:
        said = _Contents({}, {})
        command = parse(capsule, bytes_max=CAPSULE_BYTES_MAX) if capsule else None
        for upsert in command.upserts if isinstance(command, ast.Capsule) else ():
            handles: dict[str, Identity] = {}
            for block in upsert.blocks:
                made = self._block(block, handles, said)
                if block.handle is not None:
                    handles[block.handle.name] = made
        return said

    def _block(
        self,
        block: ast.ConceptBlock | ast.PropositionBlock,
        handles: Mapping[str, Identity],
        said: _Contents,
    ) -> Identity:
        attributes = block.attributes.value if isinstance(block.attributes, ast.Literal) else {}
        if isinstance(block, ast.PropositionBlock):
            made = self._identity(block.target, handles, said)
        else:
            made = self._identity(block.matcher, handles, said)
            for entry in block.propositions or ():
                target = self._identity(entry.target, handles, said)
                said.holds[self._link(made, _text(entry.predicate), target, said)] = {}
        said.holds[made] = attributes
        return made

    def told(self, identity: Identity) -> str:
        """An element, for people."""
        if len(identity) == 2:
            return f"{identity[0]} {json.dumps(identity[1], ensure_ascii=False)}"
        subject, object_ = self._identities[identity[0]], self._identities[identity[2]]
        ends = [self.told(each) if len(each) == 2 else "(…)" for each in (subject, object_)]
        return f"({ends[0]}, {identity[1]}, {ends[1]})"

    def _identity(
        self, node: ast.Endpoint | ast.LinkById, handles: Mapping[str, Identity], said: _Contents
    ) -> Identity:
        match node:
            case ast.Variable(name):
                return handles[name]
            case ast.ConceptMatcher():
                concept = _text(node.type), _text(node.name)
                said.mentions[concept] = None
                return concept
            case ast.LinkPattern():
                ends = (self._identity(end, handles, said) for end in (node.subject, node.object))
                return self._link(next(ends), _text(node.predicate), next(ends), said)
            case _:
                raise InternalError("An exported capsule names an element by its id.")

    def _link(
        self, subject: Identity, predicate: str, object_: Identity, said: _Contents
    ) -> Identity:
        link = self._number(subject), predicate, self._number(object_)
        said.mentions[link] = None
        return link

    def _number(self, identity: Identity) -> int:
        if identity not in self._numbers:
            self._numbers[identity] = len(self._identities)
            self._identities.append(identity)
        return self._numbers[identity]


def _text(node: object) -> str:
    if isinstance(node, ast.Literal) and isinstance(node.value, str):
        return node.value
    raise InternalError("An exported capsule has something else where a text is needed.")
