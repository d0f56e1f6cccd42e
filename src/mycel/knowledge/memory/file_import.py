"""Imports a file of the memory server in one transaction.

The file has a line of JSON for each entity and relation, or is one JSON object with two lists.
Lines are read twice, first for entities, then for relations, so neither their order nor the size of
the file matters.

An existing entity gets the observations that it lacks. An existing relation stays unchanged.
Missing ends of relations get placeholders. Invalid lines are skipped; the result lists them with
reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from mycel.api.graph import Graph
from mycel.errors import ConstraintViolation, InvalidSyntax, MycelError, ResourceExhausted
from mycel.knowledge.memory.entities import (
    Entity,
    EntityRelation,
    find_entity,
    observe,
    put_entities,
    put_relations,
    require_types,
)
from mycel.model.client_names import importing
from mycel.model.json_text import read_json
from mycel.model.limits import LINE_BYTES_MAX
from mycel.model.names import check_name, count, kind_of, shorten
from mycel.model.values import object_text
from mycel.store.file.plain_files import bounded_lines
from mycel.store.write.transaction import Transaction
from mycel.text.redaction import redact

BATCH: Final = 2_000
SKIPPED_TOLD: Final = 100
"""The maximum number of skipped lines that are listed; all are counted."""
OBJECT_BYTES_MAX: Final = 256 << 20
"""The size limit of a file that is one JSON object."""


class SkippedLine(NamedTuple):
    """A skipped line, and the reason."""

    place: str
    why: str


@dataclass(slots=True)
class MemoryImport:
    """The result of an import."""

    entities_created: int = 0
    entities_updated: int = 0
    entities_unchanged: int = 0
    observations_added: int = 0
    """Observations that were added to existing entities."""
    relations_created: int = 0
    relations_unchanged: int = 0
    skipped_count: int = 0
    skipped: list[SkippedLine] = field(default_factory=list)

    def skip(self, place: str, why: str) -> None:
        """Count a skipped line."""
        self.skipped_count += 1
        if len(self.skipped) < SKIPPED_TOLD:
            self.skipped.append(SkippedLine(place, why.rstrip(".")))

    @property
    def line_count(self) -> int:
        """The number of valid lines in the file."""
        entities = self.entities_created + self.entities_updated + self.entities_unchanged
        return entities + self.relations_created + self.relations_unchanged

    def to_dict(self) -> dict[str, Any]:
        return {
            "entities": {
                "created": self.entities_created,
                "updated": self.entities_updated,
                "unchanged": self.entities_unchanged,
                "observations_added": self.observations_added,
            },
            "relations": {"created": self.relations_created, "unchanged": self.relations_unchanged},
            "skipped": {
                "count": self.skipped_count,
                "lines": [skipped_line._asdict() for skipped_line in self.skipped],
            },
        }


def import_memory(db: Graph, path: Path, *, strict: bool = False) -> MemoryImport:
    """Import a file of the memory server, as one transaction.

    Raises:
        ConstraintViolation: no line is valid; or, with `strict`, a line is invalid.
        ResourceExhausted: the file is one object, and too large.
        OSError: the file cannot be read.
    """
    read = _reader_of(path)
    report = MemoryImport()
    message = db.message or f"import {shorten(path.name, 200)}"
    with importing("server-memory"), db.transaction(message=message) as tx:
        require_types(tx, ())
        work = _Import(tx, report)
        for entities in _batches(work.entities(read())):
            work.put_entities(entities)
        for relations in _batches(work.relations(read())):
            work.put_relations(relations)
        if report.skipped_count and strict:
            first = report.skipped[0]
            raise ConstraintViolation(
                f"{count(report.skipped_count, 'line')} cannot be read; the first: {first.place}:"
                f" {first.why}.",
                hint="Nothing was written. Without --strict the rest is imported.",
            )
        if report.skipped_count and not report.line_count:
            first = report.skipped[0]
            raise ConstraintViolation(
                f"{shorten(path.name)!r} is no file of the memory server:"
                f" {first.place}: {first.why}",
                hint='It has lines such as {"type":"entity","name":"Ada","entityType":"person",'
                '"observations":["…"]}. For rows of your own there is `mycel load`.',
            )
    return report


# Reading.

Item = tuple[str, Any]
"""The place of an item in the file, with its value or error."""


def _reader_of(path: Path) -> Callable[[], Iterator[Item]]:
    """A function that reads the items of the file from its beginning."""
    if (document := _as_object(path)) is not None:
        items = list(_of_object(document))
        return lambda: iter(items)
    return lambda: _of_lines(path)


def _as_object(path: Path) -> dict[str, Any] | None:
    """The file as one object with the two lists; None if the file has another form."""
    with path.open("rb") as file:
        beginning = b"\n"
        while beginning and not beginning.strip():
            beginning = file.readline(LINE_BYTES_MAX)
        if _is_line(beginning):
            return None
        if path.stat().st_size > OBJECT_BYTES_MAX:
            if beginning.lstrip().startswith(b"{"):
                raise ResourceExhausted(
                    f"One JSON object of more than {OBJECT_BYTES_MAX >> 20} MiB is too large.",
                    hint="Write each entity and relation on a line of its own.",
                )
            return None
        file.seek(0)
        try:
            document = read_json(file.read())
        except ValueError:
            return None
    if isinstance(document, dict) and document.keys() & {"entities", "relations"}:
        return document
    return None


def _is_line(line: bytes) -> bool:
    try:
        json = read_json(line)
    except InvalidSyntax:  # The file is JSON, and the import reports this line.
        return True
    except ValueError:
        return False
    return isinstance(json, dict) and "type" in json


def _of_object(document: dict[str, Any]) -> Iterator[Item]:
    for key, kind in (("entities", "entity"), ("relations", "relation")):
        items = document.get(key, [])
        if not isinstance(items, list):
            yield key, InvalidSyntax(f"it is no list, but {kind_of(items)}")
            continue
        for at, member in enumerate(items):
            item = {**member, "type": kind} if isinstance(member, dict) else member
            yield f"{key}[{at}]", item


def _of_lines(path: Path) -> Iterator[Item]:
    with path.open("rb") as file:
        for number, line in bounded_lines(file, LINE_BYTES_MAX):
            place = f"line {number}"
            if line is None:
                yield place, InvalidSyntax(f"it has more than {LINE_BYTES_MAX >> 20} MiB")
                continue
            try:
                item = read_json(line)
            except InvalidSyntax as error:
                yield place, error
            except ValueError as error:
                yield place, InvalidSyntax(f"it is no JSON: {error}")
            else:
                yield place, item


# Writing.


class _Import:
    """One run of the import."""

    def __init__(self, tx: Transaction, report: MemoryImport) -> None:
        self._tx = tx
        self._done = report

    def entities(self, items: Iterable[Item]) -> Iterator[Entity]:
        """The entities among the items; counts invalid items as skipped."""
        for place, item in items:
            try:
                kind = _kind_of(item)
                if kind == "entity":
                    yield _entity(item)
            except MycelError as error:
                self._done.skip(place, error.message)

    def relations(self, items: Iterable[Item]) -> Iterator[EntityRelation]:
        """The relations among the items."""
        for place, item in items:
            if isinstance(item, dict) and item.get("type") == "relation":
                try:
                    yield _relation(item)
                except MycelError as error:
                    self._done.skip(place, error.message)

    def put_entities(self, batch: list[Entity]) -> None:
        """Create entities, and add observations to those that exist."""
        new = {entity.name: entity for entity in put_entities(self._tx, batch)}
        self._done.entities_created += len(new)
        again: dict[str, list[Entity]] = {}
        for entity in batch:
            if new.get(entity.name) is not entity:
                again.setdefault(entity.name, []).append(entity)
        for name, entities in again.items():
            self._add(name, entities)

    def _add(self, name: str, entities: Sequence[Entity]) -> None:
        """Add the observations of several lines to an entity, in one update."""
        concept = find_entity(self._tx, name)
        observations = dict.fromkeys(
            observation for entity in entities for observation in entity.observations
        )
        new = set() if concept is None else {*observe(self._tx, concept, observations)}
        self._done.observations_added += len(new)
        for entity in entities:
            is_updated = not new.isdisjoint(entity.observations)
            self._done.entities_updated += is_updated
            self._done.entities_unchanged += not is_updated
            new.difference_update(entity.observations)

    def put_relations(self, batch: list[EntityRelation]) -> None:
        """Create the relations that do not exist."""
        new = put_relations(self._tx, batch)
        self._done.relations_created += len(new)
        self._done.relations_unchanged += len(batch) - len(new)


def _kind_of(item: Any) -> str:
    if isinstance(item, MycelError):
        raise item
    kind = item.get("type") if isinstance(item, dict) else None
    if kind not in ("entity", "relation"):
        raise InvalidSyntax("it is neither an entity nor a relation")
    return str(kind)


def _entity(item: dict[str, Any]) -> Entity:
    name = check_name(item.get("name"))
    kind = _text(item, "entityType", "")
    observations = item.get("observations", [])
    if not isinstance(observations, list) or not all(isinstance(o, str) for o in observations):
        raise InvalidSyntax("its observations are no list of texts")
    entity = Entity(name, kind, tuple(redact(observation).text for observation in observations))
    object_text(entity.attributes(), "attributes")  # This raises for values that cannot be stored.
    return entity


def _relation(item: dict[str, Any]) -> EntityRelation:
    source, target = check_name(_text(item, "from")), check_name(_text(item, "to"))
    return EntityRelation(source, target, _text(item, "relationType"))


def _text(item: dict[str, Any], key: str, default: str | None = None) -> str:
    text = item.get(key, default)
    if not isinstance(text, str):
        raise InvalidSyntax(f"its {key} is {'missing' if text is None else 'no text'}")
    return text


def _batches(items: Iterator[Any]) -> Iterator[list[Any]]:
    while batch := list(islice(items, BATCH)):
        yield batch
