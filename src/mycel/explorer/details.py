"""One node: content, relations, history, proof; and the list of missing concepts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mycel.engine.missing_concepts import MISSING, MISSING_ENTITY, SCHEME
from mycel.errors import MycelError, NotFound
from mycel.explorer import limits
from mycel.explorer.cards import concept_card
from mycel.explorer.folders import concept_folder
from mycel.explorer.moments import Scene
from mycel.explorer.past import commit_of
from mycel.knowledge.bootstrap_stamp import AUTHOR
from mycel.knowledge.node_lookup import element_uri, take_content
from mycel.knowledge.relation_pages import bad_cursor, is_number, links_page
from mycel.knowledge.vocabulary import RESOURCE, STAMP
from mycel.model import ids, times
from mycel.model.directions import Direction, Way, ways_of
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.periods import present_period
from mycel.model.retention import RETENTION, retention_in_words
from mycel.model.values import JsonObject
from mycel.search.caveats import ElementValues, find_caveats
from mycel.store.check import proofs
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.query import history, neighbours
from mycel.store.query.commits import transaction_of
from mycel.store.query.refs import Ref

NAME = "name"


def node(scene: Scene, id_: str) -> JsonObject:
    """A node with all its values and the last commit that wrote them, even if it was removed.

    Raises:
        NotFound: no node ever had this id.
    """
    element = _element(scene, id_)
    card = _card(scene, element)
    removed_at = element.tombstoned_us
    entry = transaction_of(scene.reader, element.seq)
    payload = (
        card
        | values_of(element)
        | {
            "folder": _folder(element),
            "created_at": times.to_text(element.created_us),
            "created_by": element.created_by,
            "updated_at": times.to_text(element.updated_us),
            "seq": element.seq,
            "commit": commit_of(entry),
        }
    )
    if removed_at is not None:
        payload |= {
            "deleted": True,
            "deleted_at": times.to_text(removed_at),
            "deleted_by": element.tombstoned_by,
            "reason": element.tombstoned_reason or "",
        }
    if caveats := _caveats(scene, [element]).get(element.number):
        payload["caveats"] = caveats
    if removed_at is None:
        payload["retention"] = _retention(scene, element)
    counted = neighbours.counts_by_predicate(scene.reader, element.number)
    payload["relations"] = {
        way: sum(count for _, direction, count in counted if direction == way)
        for way in ("out", "in")
    }
    return scene.answer(**payload)


def _caveats(scene: Scene, elements: Iterable[Element]) -> dict[int, list[str]]:
    """Warnings to show with elements of this state; none for what a bootstrap wrote."""
    values = {
        element.number: ElementValues.of(element)
        for element in elements
        if not element.tombstoned and element.metadata != AUTHOR
    }
    caveats = find_caveats(scene.reader, values, element_uri)
    return {number: list(caveats.texts(number)) for number in caveats.caveats}


def _holding(link: Proposition, caveats: Mapping[int, list[str]]) -> JsonObject:
    """When a link holds, in words, and its warnings; empty for a link without either."""
    period = present_period(link.metadata)
    row: JsonObject = {"holds": period.words} if period.is_dated else {}
    return row | ({"caveats": caveats[link.number]} if link.number in caveats else {})


def _retention(scene: Scene, element: Element) -> JsonObject:
    """The rules of retention for a node in words: its own, and that of its type."""
    if isinstance(element, Concept):
        definition = scene.reader.concept_named(CONCEPT_TYPE_NUMBER, element.type)
    else:
        definition = scene.reader.concept_named(PROPOSITION_TYPE_NUMBER, element.predicate)
    rules = element.metadata.get(RETENTION), definition and definition.attributes.get(RETENTION)
    own, of_type = ("" if rule is None else retention_in_words(rule) for rule in rules)
    return {"own": own, "type": of_type}


def _folder(element: Element) -> str | None:
    if not isinstance(element, Concept):
        return None
    return concept_folder(element.type, element.name)


def _element(scene: Scene, id_: str) -> Element:
    """The element with an id, or the last one that had it."""
    try:
        element = scene.reader.element(scene.number(id_))
    except NotFound as absent:
        removed = removed_element(scene, id_)
        if removed is None:
            raise absent from None
        return removed
    if element is None:
        raise NotFound(f"There is no element {id_}.")
    return element


def removed_element(scene: Scene, id_: str) -> Element | None:
    """The removed element with an id; None if there never was one."""
    ref = ref_of(scene, id_)
    try:
        number = scene.reader.number(ref)
    except MycelError:
        return None
    return scene.reader.element(number, tombstoned=True)


def ref_of(scene: Scene, id_: str) -> Ref:
    """The reference of an id, for elements that may have been removed."""
    uri = scene.knowledge.uri(id_)
    if not uri.is_kip:
        return uri.text if "://" in uri.text else (RESOURCE, uri.text)
    rest = uri.text.removeprefix("kip:")
    if rest.startswith(("C:", "P:")):
        return rest
    type_name, _, name = rest.partition("/")
    return (type_name, name)


def _card(scene: Scene, element: Element) -> JsonObject:
    card = None if element.tombstoned else scene.cards.get(element.number)
    if card is not None:
        return card
    if isinstance(element, Concept):
        return concept_card(element) | {"degree": 0}
    return {
        "id": f"kip:{element.id}",
        "ref": element.id,
        "name": element.predicate,
        "type": element.predicate,
        "kind": "link",
        "version": element.version,
        "degree": 0,
    }


def values_of(element: Element) -> JsonObject:
    """Content, attributes and metadata of an element; ends and weight of a link."""
    attributes = element.attributes
    attributes.pop(STAMP, None)
    payload: JsonObject = {"content": None, "content_type": "markdown"}
    if isinstance(element, Concept):
        payload["content"] = take_content(attributes)
        if isinstance(attributes.get(NAME), str):
            attributes.pop(NAME)
    else:
        payload |= {"source": element.subject, "target": element.object, "weight": element.weight}
    return payload | {"attributes": attributes, "metadata": element.metadata}


# Relations.


def relations(
    scene: Scene,
    id_: str,
    direction: Direction,
    relation: Sequence[str] | None,
    limit: int,
    cursor: str | None,
) -> JsonObject:
    """Relations of an element: those of notes first, then those of code, uncertain ones last."""
    reader, number = scene.reader, scene.number(id_)
    predicates = None if relation is None else [reader.predicate_number(name) for name in relation]
    ways = ways_of(direction)
    page = links_page(reader, number, direction, predicates, limit, cursor)
    links = reader.elements(place.link for place in page)
    scene.cards.read([number, *(place.other for place in page)])
    texts = _caveats(scene, links.values())
    rows = []
    for way, link, _, other in page:
        element = links.get(link)
        if isinstance(element, Proposition):
            rows.append(_relation(scene, element, way, other) | _holding(element, texts))
    counted = neighbours.counts_by_predicate(reader, number)
    types: dict[str, dict[str, int]] = {}
    for predicate, side, count in counted:
        types.setdefault(reader.predicate_name(predicate), {})[side] = count
    payload: dict[str, Any] = {"relations": rows, "types": types}
    payload["total"] = sum(
        count
        for predicate, side, count in counted
        if side in ways and (predicates is None or predicate in predicates)
    )
    if page.next_cursor is not None:
        payload["next_cursor"] = page.next_cursor
    return scene.answer(**payload)


def _relation(scene: Scene, link: Proposition, way: Way, other: int) -> JsonObject:
    row = neighbours.WeightedLink(
        link.number,
        ids.parse_id(link.subject),
        link.type,
        ids.parse_id(link.object),
        link.weight,
        link.version,
    )
    return scene.cards.link(row) | {
        "direction": way,
        "other": scene.cards.get(other),
        "version": link.version,
        "attributes": link.attributes,
        "metadata": link.metadata,
    }


# History and proof.


def versions(scene: Scene, id_: str, limit: int, cursor: str | None) -> JsonObject:
    """Versions of an element, newest first, removals and purges included."""
    if cursor is not None and not is_number(cursor):
        raise bad_cursor(cursor)
    element = _element(scene, id_)
    start = int(cursor or 0)
    last = scene.position if scene.is_past else None
    page, total = history.version_page(scene.reader.live, element.id, start, limit, last)
    payload: dict[str, Any] = {"versions": [_version(version) for version in page], "total": total}
    if start + limit < total:
        payload["next_cursor"] = str(start + limit)
    return scene.answer(**payload)


def _version(version: history.Version) -> JsonObject:
    payload: JsonObject = commit_of(version.transaction) | {
        "seq": version.seq,
        "kind": version.kind,
        "reason": version.reason,
    }
    element = version.element
    if element is None:
        return payload | {"version": None, "content": None}
    payload |= values_of(element) | {"version": element.version}
    if isinstance(element, Concept):
        payload |= {"type": element.type, "name": element.attributes.get(NAME) or element.name}
        payload["id"] = concept_card(element)["id"]
    return payload


def proof(scene: Scene, id_: str) -> JsonObject:
    """The proof that an element, or its tombstone, is part of the present state."""
    element = _element(scene, id_)
    state_proof = proofs.prove(scene.reader.live, element.id)
    snapshot = state_proof.snapshot
    packed = state_proof.to_bytes()
    return {
        "position": snapshot.entries,
        "id": _card(scene, element)["id"],
        "root": snapshot.overall_root.hex(),
        "verified": state_proof.verify(snapshot.overall_root),
        "present": not element.tombstoned,
        "bytes": len(packed),
        "packed": b64encode(packed).decode(),
        "proof": state_proof.to_dict(),
        **{key: value for key, value in snapshot.to_dict().items() if key != "overall_root"},
    }


# Missing concepts.


def missing_concepts(scene: Scene, limit: int, cursor: str | None) -> JsonObject:
    """Concepts that relations name and that do not exist yet, the most named first."""
    if cursor is not None and not is_number(cursor):
        raise bad_cursor(cursor)
    start, reader = int(cursor or 0), scene.reader
    kinds = {
        number: beginning
        for name, beginning in ((MISSING, SCHEME), (MISSING_ENTITY, ""))
        if (number := reader.find_type(name)) is not None
    }
    total, rows = neighbours.placeholders(reader, kinds, start, limit)
    sources = neighbours.sources(reader, [number for number, _ in rows], limits.MISSING_SOURCES)
    scene.cards.read([*(number for number, _ in rows), *(end for _, end, _ in sources)])
    page = []
    for number, links in rows:
        card = scene.cards.get(number)
        if card is None:
            continue
        near = [(end, predicate) for of, end, predicate in sources if of == number]
        others = dict.fromkeys(end for end, _ in near)
        page.append(
            card
            | {
                "links": links,
                "from": scene.cards.all(others),
                "relations": sorted({reader.predicate_name(predicate) for _, predicate in near}),
            }
        )
    payload: dict[str, Any] = {"missing": page, "total": total}
    if start + limit < total:
        payload["next_cursor"] = str(start + limit)
    return scene.answer(**payload)
