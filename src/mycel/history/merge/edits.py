"""The states of a merge whose source is a list of edits of an earlier state, not a branch.

The earlier state is one of the target. An edit names an element by its natural key in that state,
and gives its new content:

    {"concept": {"type": T, "name": N}, "attributes": {…}, "metadata": {…}, "to": {"type", "name"}}
    {"link": {"subject": …, "predicate": P, "object": …}, "weight": 1.0, "attributes": {…}, …}
    {"concept" or "link": …, "removed": true}

Attributes and metadata replace the old ones as a whole; a part that is left out stays unchanged. A
missing element is created. The ends of a link are natural keys of concepts or links, from that
state or from the edits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mycel.engine.missing_concepts import MISSING, MISSING_DEFINITION, SCHEME
from mycel.errors import InvalidValueType, NotFound
from mycel.history.merge.sides import MergeTarget, origin_of, purged_among
from mycel.history.merge.versions import Base, Place
from mycel.migration.schema_in_force import read as schema_at
from mycel.model import ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.limits import NAME_BYTES_MAX
from mycel.model.names import CONCEPT_TYPE, META_TYPES, check_text, shorten
from mycel.model.state import State
from mycel.model.values import object_text
from mycel.schema import load
from mycel.schema.catalog import Catalog
from mycel.schema.planner import plan
from mycel.schema.stored_declaration import declaration
from mycel.store.log.marks import IMPORT, Mark
from mycel.store.query.alignment import NEW
from mycel.store.query.commits import commit_at
from mycel.store.query.history import check_kept
from mycel.store.query.lookup import find_by_name
from mycel.store.query.natural_keys import element_key
from mycel.store.query.origins import Origin
from mycel.store.query.purges import purges_since
from mycel.store.query.reader import Reader

Edit = Mapping[str, Any]
_PARTS: Final = frozenset(("concept", "link", "attributes", "metadata", "weight", "to", "removed"))


class EditSides(MergeTarget):
    """The states of a merge of edits into the target, whose earlier state was edited."""

    def __init__(
        self,
        ours: Reader,
        seq: int,
        edits: Sequence[Edit],
        origin: Origin,
        schema: str | None = None,
    ) -> None:
        super().__init__(ours)
        self._schema: Final = schema
        state = State(seq)
        check_kept(ours, state)
        self._before: Final = ours if seq == ours.position else ours.at(state)
        self._origin: Final = origin
        self._made = 0
        self._numbers: Final[dict[tuple[str, str], int]] = {}
        """The numbers of concepts by the type and name that the edits give them."""
        self._links: Final[dict[tuple[int, str, int], int]] = {}
        """The numbers of links that the edits create or change, by their ends and predicates."""
        self._edited: Final[dict[int, Element | None]] = {}
        for edit in edits:
            _check(edit)
        names = set(_names(edits))
        self._ours_by_key: Final = _ConceptsByKey(ours, names)
        self._before_by_key: Final = (
            self._ours_by_key if self._before is ours else _ConceptsByKey(self._before, names)
        )
        for edit in edits:
            if "concept" in edit:
                self._edit_concept(edit)
        for edit in edits:
            if "link" in edit:
                self._edit_link(edit)
        self.has_news: Final = bool(edits) or schema is not None
        self.touched: Final = frozenset(self._edited)
        self.bases: Final = (commit_at(ours, seq),) if seq else ()
        self.commits: Final = commit_at(ours, ours.position), ""
        self._purges: Final = purges_since(ours, seq, seq)

    def holder(self, concept: Concept) -> int | None:
        namesake = self._ours_by_key.find(concept.type, concept.name)
        return None if namesake is None else namesake.number

    def namesakes(self, concept: Concept) -> Iterable[int]:
        return self._ours_by_key.namesakes(concept.name)

    def matches(self, created: Iterable[int], joined: Mapping[int, int]) -> Mapping[int, int]:
        """Empty: edits bring no numbers of another copy."""
        return {}

    def creations(
        self, created: Iterable[int], joined: Mapping[int, int]
    ) -> tuple[Mapping[int, set[bytes]], set[bytes]]:
        """Empty: elements that edits add are created here."""
        return {}, set()

    def marks(self, source: str) -> Sequence[Mark]:
        """The mark of the commit: the origin of the edits, and the commit that was edited."""
        return [Mark(IMPORT, source, base) for base in self.bases]

    @property
    def purged_keys(self) -> frozenset[bytes]:
        """Empty: edits purge nothing."""
        return frozenset()

    # The states.

    def base(self, numbers: Iterable[int]) -> Mapping[int, Base]:
        elements = self._before.elements(number for number in numbers if number < NEW)
        return {number: Base(element) for number, element in elements.items()}

    def schemas(self) -> tuple[Catalog, Catalog, Catalog]:
        before = schema_at(self._before)
        if self._schema is not None:
            accepted = schema_at(self.reader)
            return before, accepted, plan(accepted, load(self._schema)).catalog
        edited = [
            (schema_type, element)
            for element in self._edited.values()
            if isinstance(element, Concept)
            and element.type in META_TYPES
            and (schema_type := declaration(element.attributes)) is not None
        ]
        removals = {number for number, version in self._edited.items() if version is None}
        types = {type_name.identity: type_name for type_name in before.types}
        for element in self._before.elements(removals).values():
            was = declaration(element.attributes) if element.type in META_TYPES else None
            if was is not None:
                types.pop(was.identity, None)
        types |= {schema_type.identity: schema_type for schema_type, _ in edited}
        return before, schema_at(self.reader), Catalog.of(types.values())

    def theirs(self, numbers: Iterable[int]) -> Mapping[int, Element]:
        distinct = {*numbers}
        elements = dict(
            self._before.elements(n for n in distinct if n < NEW and n not in self._edited)
        )
        for number in distinct & self._edited.keys():
            edited = self._edited[number]
            if edited is not None:
                elements[number] = edited
        return elements

    def definition(self, meta_type: str, name: str) -> Concept | None:
        edited = self._edited.get(self._numbers.get((meta_type, name), 0))
        return edited if isinstance(edited, Concept) else self._before.find_concept(meta_type, name)

    def on_theirs(self, number: int) -> Iterable[int]:
        stored = self._before.touching(number) if number < NEW else []
        new_links = [
            element.number
            for element in self._edited.values()
            if isinstance(element, Proposition) and number in element.ends
        ]
        removals = {n for n, element in self._edited.items() if element is None}
        return sorted({*stored, *new_links} - removals)

    def origin(self, side: str, number: int, place: Place) -> Origin:
        return origin_of(self.reader, number, place) if side == "ours" else self._origin

    def written_once(self, numbers: Iterable[int]) -> Mapping[int, Origin]:
        """The origins of edited elements; all values come from the edits."""
        return dict.fromkeys(numbers, self._origin)

    def purged_here(self, numbers: Iterable[int]) -> frozenset[int]:
        edited = self.theirs(numbers)

        def keys(number: int) -> set[bytes]:
            element = edited[number] if number >= NEW else None
            key = None if element is None else element_key(element, self._edited_element)
            return set() if key is None else {key}

        return purged_among(self._purges, edited, keys)

    def _edited_element(self, number: int) -> Element | None:
        return self.theirs((number,)).get(number)

    @property
    def purged_there(self) -> Iterable[int]:
        return ()

    # The edits.

    def _edit_concept(self, edit: Edit) -> None:
        type_, name = _concept_key(edit["concept"])
        before = self._before_by_key.find(type_, name)
        if edit.get("removed"):
            if before is not None:
                self._remove(before.number)
            return
        to = _concept_key({**edit["concept"], **edit.get("to", {})})
        concept = before if before is not None else _new_concept(*to)
        number = concept.number if before is not None else self._number_of(concept)
        self._numbers[to] = self._numbers[type_, name] = number
        self._edited[number] = _with(concept._replace(number=number, type=to[0], name=to[1]), edit)

    def _number_of(self, element: Concept | Proposition) -> int:
        """The number for a new element: that of an equal element of the target, or a new number."""
        target_number = (
            self.holder(element) if isinstance(element, Concept) else self.link_at(element)
        )
        if target_number is not None and not self._before.was_ever(target_number):
            return target_number
        self._made += 1
        return NEW + 2 * self._made + int(isinstance(element, Proposition))

    def _remove(self, number: int) -> None:
        self._edited[number] = None
        for link in self._before.touching(number):
            if link not in self._edited:
                self._remove(link)

    def _edit_link(self, edit: Edit) -> None:
        removed = bool(edit.get("removed"))
        ends = self._ends(edit["link"], make=not removed)
        if ends is None:
            return
        subject, predicate, object_ = ends
        before = self._link_before(*ends)
        if removed:
            if before is not None:
                self._remove(before.number)
            return
        link = before if before is not None else _new_link(subject, predicate, object_)
        number = link.number if before is not None else self._number_of(link)
        self._links[ends] = number
        self._edited[number] = _with(link._replace(number=number), edit)

    def _link_number(self, subject: int, predicate: str, object_: int) -> int | None:
        """The number of a link: from the edits, from the base, or from the target."""
        if link := self._links.get((subject, predicate, object_)):
            return link
        before = self._link_before(subject, predicate, object_)
        return (
            self.link_at(_new_link(subject, predicate, object_))
            if before is None
            else before.number
        )

    def _link_before(self, subject: int, predicate: str, object_: int) -> Proposition | None:
        if max(subject, object_) >= NEW:
            return None
        return self._before.find_link(subject, predicate, object_)

    def _ends(self, key: Any, *, make: bool) -> tuple[int, str, int] | None:
        """The ends and predicate of a link; None if an edit removes a link that lacks an end."""
        if not isinstance(key, Mapping) or not {"subject", "predicate", "object"} <= key.keys():
            raise InvalidValueType(
                "A link of an edit has no subject, predicate and object.",
                hint='For example {"link": {"subject": {"type": "T", "name": "a"}, "predicate":'
                ' "knows", "object": {"type": "T", "name": "b"}}}.',
            )
        subject = self._end(key["subject"], make=make)
        object_ = self._end(key["object"], make=make)
        if subject is None or object_ is None:
            return None
        return subject, str(key["predicate"]), object_

    def _end(self, key: Any, *, make: bool) -> int | None:
        if isinstance(key, Mapping) and "predicate" in key:
            ends = self._ends(key, make=make)
            number = None if ends is None else self._link_number(*ends)
            if number is None and make:
                raise NotFound("An end of a link is itself a link, and does not exist.")
            return number
        type_, name = _concept_key(key)
        edited_number = self._numbers.get((type_, name))
        if edited_number is not None:
            return edited_number
        before = self._before_by_key.find(type_, name)
        if before is not None:
            return before.number
        now = self.holder(_new_concept(type_, name))
        if now is not None or not make:
            return now
        if name.startswith(SCHEME):
            return self._placeholder(name)
        raise NotFound(
            f"There is no {type_} {shorten(repr(name))}, which a link of an edit leads to.",
            hint="Add an edit that makes it.",
        )

    def _placeholder(self, name: str) -> int:
        """The number of the placeholder for a missing concept."""
        concept = self._before.find_concept(MISSING, name)
        keeper = _new_concept(MISSING, name)
        number = self._number_of(keeper) if concept is None else concept.number
        if concept is None:
            self._edited[number] = keeper._replace(number=number)
            self._require_type()
        self._numbers[MISSING, name] = number
        return number

    def _require_type(self) -> None:
        definition = _new_concept(CONCEPT_TYPE, MISSING)
        place = definition.type, definition.name
        if self.holder(definition) is None and place not in self._numbers:
            number = self._numbers[place] = self._number_of(definition)
            edit = {"attributes": MISSING_DEFINITION}
            self._edited[number] = _with(definition._replace(number=number), edit)


class _ConceptsByKey:
    """The concepts of a state by type and name. Concepts with some names are read at once."""

    def __init__(self, reader: Reader, names: Collection[str]) -> None:
        self._reader: Final = reader
        self._numbers: Final[dict[str, list[int]]] = {name: [] for name in names}
        rows = sorted(find_by_name(reader, names)) if names else ()
        for number, _, name in rows:
            self._numbers[name].append(number)
        elements = reader.elements(number for number, _, _ in rows).values()
        self._found: Final = {
            (concept.type, concept.name): concept
            for concept in elements
            if isinstance(concept, Concept)
        }

    def find(self, type_: str, name: str) -> Concept | None:
        """The concept with a type and name; None if there is none."""
        if name in self._numbers:
            return self._found.get((type_, name))
        return self._reader.find_concept(type_, name)

    def namesakes(self, name: str) -> Iterable[int]:
        """The concepts with a name, of any type, oldest first."""
        if name in self._numbers:
            return self._numbers[name]
        return sorted(number for number, _, _ in find_by_name(self._reader, (name,)))


def _names(edits: Iterable[Any]) -> Iterator[str]:
    """The names of concepts in edits, and in the ends of links."""
    for edit in edits:
        if isinstance(edit, Mapping):
            if isinstance(name := edit.get("name"), str):
                yield name if name.isascii() else check_text(name, "name", NAME_BYTES_MAX)
            parts = ("concept", "to", "link", "subject", "object")
            yield from _names(edit[part] for part in parts if part in edit)


def _check(edit: object) -> None:
    if (
        not isinstance(edit, Mapping)
        or ("concept" in edit) == ("link" in edit)
        or not edit.keys() <= _PARTS
        or not isinstance(edit.get("to", {}), Mapping)
        or not _is_weight(edit.get("weight", 1))
    ):
        raise InvalidValueType(
            "An edit is an object with a concept or a link, and the changes of it.",
            hint=f"Its parts are {', '.join(sorted(_PARTS))}; a weight is a number from 0 to 1.",
        )


def _is_weight(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _concept_key(key: object) -> tuple[str, str]:
    if isinstance(key, Mapping):
        type_, name = key.get("type"), key.get("name")
        if isinstance(type_, str) and isinstance(name, str):
            return type_, name
    raise InvalidValueType(
        "A concept of an edit is named by its type and name.",
        hint='For example {"type": "Concept", "name": "concept://shop/auth"}.',
    )


def _with(element: Element, edit: Edit) -> Element:
    """An element after an edit: with the parts that the edit gives."""
    for field in ("attributes", "metadata"):
        if field in edit:
            text = object_text(edit[field], field)
            element = (
                element._replace(attributes_json=text)
                if field == "attributes"
                else element._replace(metadata_json=text)
            )
    if isinstance(element, Proposition) and "weight" in edit:
        element = element._replace(weight=float(edit["weight"]))
    return element


def _new_concept(type_: str, name: str) -> Concept:
    return Concept(NEW, type_, name, "{}", "{}", 0, 0, 0, "", 0)


def _new_link(subject: int, predicate: str, object_: int) -> Proposition:
    ends = (
        ids.concept_id(number) if ids.is_concept(number) else ids.link_id(number, "link")
        for number in (subject, object_)
    )
    return Proposition(
        NEW + 1, next(ends), predicate, next(ends), 1.0, "{}", "{}", 0, 0, 0, "", 0, 0
    )
