"""Merges of random histories, compared with a model that is written from the table of the docs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

import mycel
from mycel.errors import MycelError
from mycel.model import ids
from mycel.store.file import copy
from tests.properties.merge_model import Branch, Element, Prediction, predict
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
ROUNDS_MAX = 40


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches are not waited for until they are on the disk: their files live for one test."""
    monkeypatch.setattr(copy, "_flush", lambda _: None)


class Side:
    """A branch of a graph, and the model of it."""

    def __init__(self, db: mycel.Graph, model: Branch, story: Story) -> None:
        self.db = db
        self.model = model
        self.story = story
        self.secrets: set[str] = set()
        """Texts that were purged here, or in what was merged."""
        self.texts_ever: dict[int, set[str]] = {}

    # Writes, each to the graph first: what it refuses, the model does not get.

    def change(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

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

    def add(self) -> None:
        random = self.story.random
        type_ = random.choice(["Fact", "Fact", "Note", "Score", "Keyed"])
        name = random.choice(NAMES)
        if ("type", type_) in {("type", self.model.elements[i].kind) for i in self.named(name)}:
            return
        attributes: dict[str, Any] = {"x": self.text(), "o": {"p": 1, "q": 1}, "l": ["0"]}
        if type_ == "Score":
            attributes = {"best": 1, "hits": 1, "tags": ["0"], "plain": self.text()}
        if type_ == "Keyed":
            attributes = {"email": name, "note": self.text()}
        metadata = {"sources": ["0"]}
        self.db.write(lambda tx: tx.put_concept(type_, name, attributes, metadata))
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
            self.db.write(lambda tx: tx.update(ref, drop_attributes=[value]))
            element.attributes.pop(value, None)
            return
        if key == "sources":
            self.db.write(lambda tx: tx.update(ref, metadata={key: value}))
            element.metadata[key] = value
            return
        self.db.write(lambda tx: tx.update(ref, attributes={key: value}))
        if element.attributes.get(key) != value:
            element.times[key] = self.story.now()
        element.attributes[key] = value
        self.texts_ever.setdefault(identity, set()).update(texts_in(value))

    def rename(self, identity: int) -> None:
        if self.model.elements[identity].kind == "Keyed":
            return
        ref, name = self.model.key(identity), self.story.random.choice(NAMES)
        self.db.write(lambda tx: tx.move(ref, name=name))
        self.model.move(identity, name=name)

    def retype(self, identity: int) -> None:
        type_ = {"Fact": "Note", "Note": "Fact"}.get(self.model.elements[identity].kind)
        if type_ is None:
            return
        ref = self.model.key(identity)
        self.db.write(lambda tx: tx.move(ref, type_name=type_))
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
        self.db.write(lambda tx: tx.put_proposition(*refs, attributes, weight=0.5))
        self.put(Element(place, attributes, {}, 0.5))

    def relink(self, identity: int, end: int) -> None:
        element = self.model.elements[identity]
        name = self.story.random.choice(["subject", "object"])
        ref, target = self.model.key(identity), self.model.key(end)
        if element.kind == "Follows" or element.place[name] == end:
            return
        given = {"subject" if name == "subject" else "object_": target}
        self.db.write(lambda tx: tx.relink(ref, **given))
        self.model.move(identity, **{name: end})

    def weigh(self, identity: int) -> None:
        element = self.model.elements[identity]
        weight = self.story.random.choice([0.0, 0.25, 0.5, 1.0])
        ref = self.model.key(identity)
        self.db.write(lambda tx: tx.update(ref, weight=weight))
        if element.weight != weight:
            element.times["weight"] = self.story.now()
        element.weight = weight

    def remove(self, identity: int) -> None:
        ref = self.model.key(identity)
        self.db.write(lambda tx: tx.retire(ref))
        self.model.remove(identity)

    def purge(self, identity: int) -> None:
        ref = self.model.key(identity)
        self.db.purge(ref, "asked for")
        before = set(self.model.purged)
        self.model.purge(identity)
        for each in self.model.purged.keys() - before:
            self.secrets |= self.texts_ever.get(each, set())

    # Reading.

    def content(self) -> dict[Any, Any]:
        """Attributes, sources and weight of every element, by its natural key."""
        with self.db.reading() as reader:
            stored = reader.elements(range(4_000))

        def key(number: int) -> Any:
            each = stored[number]
            if isinstance(each, mycel.Concept):
                return each.type, each.name
            ends = [key(ids.parse_id(end)) for end in (each.subject, each.object)]
            return ends[0], each.predicate, ends[1]

        return {
            key(number): told(each.attributes, each.metadata, getattr(each, "weight", None))
            for number, each in stored.items()
            if isinstance(each, mycel.Proposition) or not each.type.startswith("$")
        }

    def check(self) -> None:
        """The file is sound, and has nothing of what was purged."""
        assert not self.db.verify(replay=True).problems
        content = Path(self.db.path).read_bytes()
        assert [each for each in sorted(self.secrets) if each.encode() in content] == []


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
        self, path: Path, random: Random, stack: ExitStack, names: tuple[str, ...]
    ) -> None:
        self.random = random
        self.texts = 0
        self._now = 0
        main = stack.enter_context(
            mycel.open(path, clock_us=TickingClock(), durability="off", bootstrap=False)
        )
        with main.transaction() as tx:
            for name in ("Fact", "Note"):
                tx.define_type(name)
            for name in ("likes", "near"):
                tx.define_predicate(name)
        main.schema.apply(SCHEMA)
        self.sides = {"main": Side(main, Branch(), self)}
        self.sides["main"].change(18)
        for name in names:
            main.branches.create(name)
            side = Side(stack.enter_context(main.open_branch(name)), Branch(), self)
            self.sides[name] = side
        self.fork()

    def now(self) -> int:
        self._now += 1
        return self._now

    def fork(self) -> None:
        """All branches have what main has, and the models begin anew."""
        main = self.sides["main"]
        for side in self.sides.values():
            side.model = main.model.fork()
            side.texts_ever = {key: set(texts) for key, texts in main.texts_ever.items()}
        self.base = main.model.fork()

    def decide(self, side: Side, merge: mycel.Merge) -> mycel.Merge:
        """Decide at random, one conflict at a time, among the choices that are offered."""
        taken = []
        while merge.status == "conflicts":
            assert len(taken) < ROUNDS_MAX, taken[-6:]
            if not merge.unresolved:
                merge = side.db.commit_merge()
                continue
            conflict = self.random.choice(merge.unresolved)
            options = [each for each in conflict.options if each not in ("value", "lines")]
            assert options, conflict
            choice = self.random.choice(options)
            taken.append((conflict.kind, conflict.label, conflict.path, choice, conflict.reason))
            merge = side.db.resolve(conflict, choice)
        return merge


# Two branches: the model says what a merge gives.


def check_two(seed: int, folder: Path) -> None:
    random = Random(seed)
    with ExitStack() as stack:
        story = Story(folder / "graph.db", random, stack, ("draft",))
        for _ in range(2):
            for side in story.sides.values():
                side.change(random.randrange(9))
            target, source = random.sample(sorted(story.sides), 2)
            ours, theirs = story.sides[target], story.sides[source]
            wanted = predict(story.base, ours.model, theirs.model)
            merge = ours.db.merge(source)
            check_questions(wanted, ours, theirs, merge)
            before = [each.content() for each in (ours, theirs)]
            merge = story.decide(ours, merge)
            check_result(wanted, ours, theirs, story.base)
            ours.secrets |= theirs.secrets
            ours.check()
            assert ours.db.merge(source).status == "up_to_date"
            back = theirs.db.merge(target)
            assert back.conflicts == ()
            assert theirs.content() == ours.content(), before
            assert not ours.db.diff(target, source)
            theirs.secrets |= ours.secrets
            theirs.check()
            # The model goes on from what the graph is now.
            main = story.sides["main"]
            main.model, main.texts_ever = read_model(main)
            story.fork()


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


def keys_of(identity: int, wanted: Prediction, *models: Branch, deep: int = 4) -> set[Any]:
    """The keys of an element in any state; those of its ends may be of another state."""
    same = [identity, *(old for old, new in wanted.same.items() if new == identity)]
    found: set[Any] = set()
    for model in models:
        for one in same:
            place = {} if one not in model.elements else model.elements[one].place
            if "name" in place:
                found.add((place["type"], place["name"]))
            elif place and deep:
                ends = (
                    keys_of(place[end], wanted, *models, deep=deep - 1)
                    for end in ("subject", "object")
                )
                found |= {
                    (subject, place["predicate"], object_) for subject, object_ in product(*ends)
                }
    return found


def key_in(identity: Any) -> Any:
    if "predicate" in identity:
        return key_in(identity["subject"]), identity["predicate"], key_in(identity["object"])
    return identity.get("type"), identity.get("name")


def check_questions(wanted: Prediction, ours: Side, theirs: Side, merge: mycel.Merge) -> None:
    """Nothing that has to be asked is missed, and nothing else is asked."""
    models = ours.model, theirs.model, wanted.branch
    asked: dict[str, set[Any]] = {}
    for each in merge.conflicts:
        rows = {row["label"] for row in each.rows}
        asked.setdefault(each.kind, set()).update(rows or {key_in(each.identity)})
    at_once = ("value", "move_move", "delete_modify")
    for kind, identity in wanted.questions:
        if kind in at_once or all(other in at_once[:1] for other, _ in wanted.questions):
            if kind == "constraint" and len({k for k, _ in wanted.questions}) > 1:
                continue  # Constraints are checked when all else is decided.
            found = asked.get(kind, set())
            known = keys_of(identity, wanted, *models)
            assert found & (known | {*map(label, known)}), (kind, known, asked)
    open_keys = {key for each in wanted.open for key in keys_of(each, wanted, *models)}
    open_keys |= {label(key) for key in open_keys}
    for kind, keys in asked.items():
        assert keys <= open_keys, (kind, keys - open_keys)


def label(key: Any) -> str:
    if len(key) == 3:
        return f"{label(key[0])} -{key[1]}-> {label(key[2])}"
    return f'{key[0]} "{key[1]}"'


def check_result(wanted: Prediction, ours: Side, theirs: Side, base: Branch) -> None:
    """All that nobody was asked about is there as the model says, and nothing else."""
    found = ours.content()
    models = ours.model, theirs.model, base, wanted.branch
    open_keys = {key for each in wanted.open for key in keys_of(each, wanted, *models)}
    expected = {}
    for identity, each in wanted.branch.elements.items():
        if identity not in wanted.open:
            key = wanted.branch.key(identity)
            expected[key] = told(each.attributes, each.metadata, each.weight)
    for key, content in expected.items():
        if key not in open_keys:
            assert found.get(key) == content, (key, found.get(key), content)
    extra = {key for key in found.keys() - expected.keys() if not touches(key, open_keys)}
    assert extra == set(), extra


def touches(key: Any, keys: set[Any]) -> bool:
    """True if a key, or that of an end, is among others."""
    return key in keys or (len(key) == 3 and any(touches(each, keys) for each in (key[0], key[2])))


# Three branches, merged into each other in any order.


def check_three(seed: int, folder: Path) -> None:
    """No purged text comes back, every choice can be taken, and all branches end up alike."""
    random = Random(seed)
    with ExitStack() as stack:
        story = Story(folder / "graph.db", random, stack, ("one", "two"))
        for _ in range(5):
            for side in story.sides.values():
                side.change(random.randrange(5))
            target, source = random.sample(sorted(story.sides), 2)
            merge_three(story, target, source)
        for target, source in (("main", "one"), ("main", "two"), ("one", "main"), ("two", "main")):
            merge_three(story, target, source)
        contents = [side.content() for side in story.sides.values()]
        assert contents[0] == contents[1] == contents[2]


def merge_three(story: Story, target: str, source: str) -> None:
    ours, theirs = story.sides[target], story.sides[source]
    story.decide(ours, ours.db.merge(source))
    assert ours.db.merge(source).status == "up_to_date"
    ours.secrets |= theirs.secrets
    ours.check()
    ours.model, ours.texts_ever = read_model(ours)


@pytest.mark.parametrize("seed", range(12))
def test_a_merge_gives_what_the_model_says(seed: int, tmp_path: Path) -> None:
    check_two(seed, tmp_path)


@pytest.mark.parametrize("seed", [0, 1, 2, 17, 45])
def test_three_branches_that_are_merged_in_any_order_end_up_alike(
    seed: int, tmp_path: Path
) -> None:
    check_three(seed, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_many_merges_give_what_the_model_says(part: int, seed: int, tmp_path: Path) -> None:
    for number in range(50):
        folder = tmp_path / str(number)
        folder.mkdir()
        check = check_three if number % 5 == 0 else check_two
        check(seed * 10_000 + part * 50 + number + 100, folder)
