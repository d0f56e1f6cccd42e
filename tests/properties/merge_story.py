"""Random histories of branches that are merged into each other: graphs, and models of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import mycel
from mycel.errors import MycelError
from mycel.model import ids
from tests.properties.merge_model import Branch, Element
from tests.stored_bytes import stored_bytes
from tests.unit.store.given import TickingClock

SCHEMA = """
node Score {
    nick: String? @unique
    best: I64? @merge("max")
    least: I64? @merge("min")
    hits: I64? @merge("counter")
    tags: [String]? @merge("set")
    last: String? @merge("newest")
    plain: String?
}
node Keyed { email: String @key  note: String? }
edge Follows: Score -> Score @card(0..1)
"""
NAMES = "abcdef"
TYPES = ("Fact", "Fact", "Note", "Score", "Keyed")
ROUNDS_MAX = 40


class Side:
    """A branch of a graph, and the model of it."""

    def __init__(self, name: str, db: mycel.Graph, story: Story) -> None:
        self.name = name
        self.db = db
        self.model = Branch()
        self.story = story
        self.secrets: set[str] = set()
        """Texts that were purged here, or in what was merged."""
        self.texts_ever: dict[int, set[str]] = {}

    # Writes, each to the graph first: what it refuses, the model does not get.

    def change(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def write(self, words: str, change: Callable[[Any], object]) -> None:
        self.db.write(change)
        self.story.log.append(f"{self.name}: {words}")

    def step(self) -> None:
        random = self.story.random
        concepts = [i for i, each in self.model.elements.items() if not each.is_link]
        links = [i for i, each in self.model.elements.items() if each.is_link]
        actions: list[Callable[[], None]] = [
            *[self.add] * 3,
            *[lambda: self.update(random.choice([*concepts, *links]))] * 5,
            lambda: self.rename(random.choice(concepts)),
            lambda: self.retype(random.choice(concepts)),
            *[lambda: self.link(random.choice(concepts), random.choice([*concepts, *links]))] * 3,
            lambda: self.relink(random.choice(links), random.choice([*concepts, *links])),
            lambda: self.weigh(random.choice(links)),
            lambda: self.remove(random.choice([*concepts, *links])),
            lambda: self.purge(random.choice([*concepts, *links])),
        ]
        try:
            random.choice(actions)()
        except (IndexError, MycelError):
            return  # There is nothing like that, or the graph does not allow it.

    def add(self, types: Sequence[str] = TYPES, names: str = NAMES) -> None:
        random = self.story.random
        type_ = random.choice(types)
        name = random.choice(names)
        if ("type", type_) in {("type", self.model.elements[i].kind) for i in self.named(name)}:
            return
        attributes: dict[str, Any] = {"x": self.text(), "o": {"p": 1, "q": 1}, "l": ["0"]}
        if type_ == "Score":
            attributes = {"best": 1, "hits": 1, "tags": ["0"], "plain": self.text()}
        if type_ == "Keyed":
            attributes = {"email": name, "note": self.text()}
        metadata = {"sources": ["0"]}
        self.write(
            f"add {type_} {name} {attributes}",
            lambda tx: tx.put_concept(type_, name, attributes, metadata),
        )
        place = {"type": type_, "name": name}
        self.put(Element(place, attributes, metadata))

    def named(self, name: str) -> Iterator[int]:
        return (i for i, each in self.model.elements.items() if each.place.get("name") == name)

    def put(self, element: Element) -> None:
        identity = self.model.put(element)
        now = self.story.now()
        element.times = dict.fromkeys([*element.attributes, "weight"], now)
        self.texts_ever.setdefault(identity, set()).update(texts_in(element.attributes))

    def text(self) -> str:
        self.story.texts += 1
        return f"§{self.story.texts}§"

    def update(self, identity: int) -> None:
        random = self.story.random
        element = self.model.elements[identity]
        key, value = random.choice(
            [
                ("best", random.randrange(9)),
                ("least", random.randrange(9)),
                ("hits", element.attributes.get("hits", 0) + random.randrange(1, 4)),
                ("tags", some(random)),
                ("last", self.text()),
                ("plain", self.text()),
                ("nick", random.choice("nm")),
            ]
            if element.kind == "Score"
            else [("note", self.text())]
            if element.kind == "Keyed"
            else [
                ("x", self.text()),
                ("y", random.randrange(3)),
                ("o", {random.choice("pqr"): random.randrange(3), "p": random.randrange(2)}),
                ("l", some(random)),
                ("sources", some(random)),
                ("drop", random.choice("xyl")),
            ]
        )
        if element.kind == "Follows":
            return
        ref = self.model.key(identity)
        if key == "drop":
            self.write(f"drop {value} of {ref}", lambda tx: tx.update(ref, drop_attributes=[value]))
            element.attributes.pop(value, None)
            return
        if key == "sources":
            self.write(
                f"say {key} = {value} of {ref}", lambda tx: tx.update(ref, metadata={key: value})
            )
            element.metadata[key] = value
            return
        self.write(
            f"set {key} = {value} of {ref}", lambda tx: tx.update(ref, attributes={key: value})
        )
        if element.attributes.get(key) != value:
            element.times[key] = self.story.now()
        element.attributes[key] = value
        self.texts_ever.setdefault(identity, set()).update(texts_in(value))

    def rename(self, identity: int, names: str = NAMES) -> None:
        if self.model.elements[identity].kind == "Keyed":
            return
        ref, name = self.model.key(identity), self.story.random.choice(names)
        self.write(f"rename {ref} to {name}", lambda tx: tx.move(ref, name=name))
        self.model.move(identity, name=name)

    def retype(self, identity: int) -> None:
        type_ = {"Fact": "Note", "Note": "Fact"}.get(self.model.elements[identity].kind)
        if type_ is None:
            return
        ref = self.model.key(identity)
        self.write(f"retype {ref} to {type_}", lambda tx: tx.move(ref, type_name=type_))
        self.model.move(identity, type=type_)

    def link(self, subject: int, object_: int) -> None:
        ends = [self.model.elements[each].kind for each in (subject, object_)]
        random = self.story.random
        predicate = "Follows" if ends == ["Score", "Score"] else random.choice(["likes", "near"])
        place = {"subject": subject, "predicate": predicate, "object": object_}
        if any(each.place == place for each in self.model.elements.values()):
            return
        attributes = {} if predicate == "Follows" else {"x": self.text()}
        refs = self.model.key(subject), predicate, self.model.key(object_)
        self.write(
            f"link {refs} {attributes}",
            lambda tx: tx.put_proposition(*refs, attributes, weight=0.5),
        )
        self.put(Element(place, attributes, {}, 0.5))

    def relink(self, identity: int, end: int) -> None:
        element = self.model.elements[identity]
        name = self.story.random.choice(["subject", "object"])
        ref, target = self.model.key(identity), self.model.key(end)
        if element.kind == "Follows" or element.place[name] == end:
            return
        given = {"subject" if name == "subject" else "object_": target}
        self.write(f"relink {ref} to {given}", lambda tx: tx.relink(ref, **given))
        self.model.move(identity, **{name: end})

    def weigh(self, identity: int) -> None:
        element = self.model.elements[identity]
        weight = self.story.random.choice([0.0, 0.25, 0.5, 1.0])
        ref = self.model.key(identity)
        self.write(f"weigh {ref} {weight}", lambda tx: tx.update(ref, weight=weight))
        if element.weight != weight:
            element.times["weight"] = self.story.now()
        element.weight = weight

    def remove(self, identity: int) -> None:
        ref = self.model.key(identity)
        self.write(f"remove {ref}", lambda tx: tx.retire(ref))
        self.model.remove(identity)

    def purge(self, identity: int) -> None:
        ref = self.model.key(identity)
        self.db.purge(ref, "asked for")
        self.story.log.append(f"{self.name}: purge {ref}")
        before = set(self.model.purged)
        self.model.purge(identity)
        for each in self.model.purged.keys() - before:
            self.secrets |= self.texts_ever.get(each, set())
        # One that was removed, and came back under another key, is a new element with the same
        # content. The purge of one leaves the other.
        self.secrets -= self.texts_in_past()
        self.check_secrets()

    # Reading.

    def content(self) -> dict[Any, Any]:
        """Attributes, sources and weight of every element, by its natural key."""
        with self.db.reading() as reader:
            stored = reader.elements(range(4_000))

        return {
            key_of(number, stored): told(
                each.attributes, each.metadata, getattr(each, "weight", None)
            )
            for number, each in stored.items()
            if isinstance(each, mycel.Proposition) or not each.type.startswith("$")
        }

    def ends_ever(self) -> dict[int, set[int]]:
        """The ends that every link has had on this branch; a purge of one takes the link along."""
        identities = {self.model.key(each): each for each in self.model.elements}
        with self.db.reading() as reader:
            stored = reader.elements(range(4_000))
            rows = reader.fetch_all(
                "SELECT id, subject, object FROM proposition UNION ALL"
                " SELECT id, subject, object FROM proposition_past"
            )
        known = {number: identities.get(key_of(number, stored)) for number in stored}
        ends: dict[int, set[int]] = {}
        for row in rows:
            link, *both = (known.get(number) or -number for number in row)
            ends.setdefault(link, set()).update(both)
        return ends

    def texts_in_past(self) -> set[str]:
        """The texts in versions of all elements that are there, or ever were."""
        with self.db.reading() as reader:
            query = (
                "SELECT attributes FROM concept UNION ALL SELECT attributes FROM concept_past"
                " UNION ALL SELECT attributes FROM proposition"
                " UNION ALL SELECT attributes FROM proposition_past"
            )
            stored = reader.column(query)
        return {each for text in stored for each in re.findall("§[0-9]+§", text)}

    def check(self) -> None:
        """Check that the file is sound, and has no purged text."""
        assert not self.db.verify(replay=True).problems
        self.check_secrets()

    def check_secrets(self) -> None:
        """Check that the database has no text that was purged on this branch or a merged one."""
        content = stored_bytes(self.db.path)
        left = [each for each in sorted(self.secrets) if each.encode() in content]
        assert left == [], (self.db.path, left)


def key_of(number: int, stored: Mapping[int, Any]) -> Any:
    """The natural key of a stored element."""
    each = stored[number]
    if isinstance(each, mycel.Concept):
        return each.type, each.name
    ends = [key_of(ids.parse_id(end), stored) for end in (each.subject, each.object)]
    return ends[0], each.predicate, ends[1]


def told(attributes: Any, metadata: Any, weight: float | None) -> Any:
    """Content to compare: the order of lists that are sets does not count."""
    values = {key: each for key, each in attributes.items() if each is not None}
    for key in ("l", "tags"):
        if key in values:
            values[key] = sorted(values[key])
    return values, sorted(metadata.get("sources", [])), weight


def some(random: Random) -> list[str]:
    return [each for each in "0123" if random.random() < 0.5]


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.startswith("§"):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


class Story:
    """Branches of one graph that change and are merged, in random order."""

    def __init__(
        self,
        path: Path,
        random: Random,
        stack: ExitStack,
        names: tuple[str, ...],
        steps: int = 18,
    ) -> None:
        self.random = random
        self.log: list[str] = []
        """The writes and merges, in words, for a failure."""
        self.texts = 0
        self._now = 0
        main = stack.enter_context(
            mycel.open(path, clock_us=TickingClock(), durability="off", core_capsules=False)
        )
        with main.transaction() as tx:
            for name in ("Fact", "Note"):
                tx.define_type(name)
            for name in ("likes", "near"):
                tx.define_predicate(name)
        main.schema.apply(SCHEMA)
        self.sides = {"main": Side("main", main, self)}
        self.sides["main"].change(steps)
        for name in names:
            main.branches.create(name)
            side = Side(name, stack.enter_context(main.open_branch(name)), self)
            self.sides[name] = side
        self.fork()

    def now(self) -> int:
        self._now += 1
        return self._now

    def fork(self) -> None:
        """Give all branches the content of main, and begin new models."""
        main = self.sides["main"]
        for side in self.sides.values():
            side.model = main.model.fork()
            side.model.ends_ever = side.ends_ever()
            side.texts_ever = {key: set(texts) for key, texts in main.texts_ever.items()}
        self.base = main.model.fork()

    def decide(self, side: Side, merge: mycel.Merge) -> mycel.Merge:
        """Decide at random, one conflict at a time, among the choices that are offered."""
        taken = []
        while merge.status == "conflicts":
            assert len(taken) < ROUNDS_MAX, taken[-6:]
            if not merge.unresolved:
                merge = side.db.merges.commit()
                continue
            conflict = self.random.choice(merge.unresolved)
            options = [each for each in conflict.options if each not in ("value", "lines")]
            assert options, conflict
            choice = self.random.choice(options)
            taken.append((conflict.kind, conflict.label, conflict.path, choice, conflict.reason))
            self.log.append(f"  {conflict.kind} {conflict.label} {conflict.path}: {choice}")
            merge = side.db.merges.resolve(conflict, choice)
        return merge


def read_model(side: Side) -> tuple[Branch, dict[int, set[str]]]:
    """A model of a graph as it is, with identities of its own."""
    model, texts = Branch(), {}
    known: dict[Any, int] = {}
    for key in sorted(side.content(), key=lambda each: (repr(each).count("("), repr(each))):
        values, sources, weight = side.content()[key]
        place = {"type": key[0], "name": key[1]}
        if len(key) == 3:
            place = {"subject": known[key[0]], "predicate": key[1], "object": known[key[2]]}
        element = Element(place, values, {"sources": sources} if sources else {}, weight)
        known[key] = model.put(element)
        element.times = dict.fromkeys([*values, "weight"], 0)
        texts[known[key]] = set(texts_in(values))
    return model, texts
