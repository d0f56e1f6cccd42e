"""The store against a plain Python model: whatever is done to both, they stay equal.

The model keeps live elements and tombstones in dictionaries, and copies of both for every moment of
the past. A step is a transaction of random changes that may fail at its end, a purge, reopening the
file, or a look at a past state, a proof, a search.
"""

from __future__ import annotations

import shutil
import tempfile
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import mycel
from mycel.errors import ConstraintViolation, DuplicateExists, NotFound, TypeMismatch
from tests.unit.store.given import Clock, DeliberateError, number_of, problems

TYPES = ("Fact", "Event")
NAMES = ("a", "b", "c", "d")
PREDICATES = {"references": 3, "part_of": 11, "likes": 0x40}
WORDS = ("apple", "birch", "cedar")

attributes = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from(WORDS),
        "list": st.lists(st.sampled_from(WORDS), max_size=2),
        "n": st.integers(-3, 3) | st.sampled_from([0.0, -0.0, 1.0, 0.1, 1e300]),
        "deep": st.just({"a": [None, True, {"b": "ü"}]}),
    },
)
metadata = st.dictionaries(st.sampled_from(["source", "m"]), st.integers(0, 2), max_size=2)
weights = st.sampled_from([0.0, 0.25, 0.9, 1.0])
reasons = st.sampled_from(["", "because", "猫"])


@dataclass(frozen=True)
class Thing:
    """A concept or link. `identity` is (type, name) or (source, predicate, target)."""

    id: str
    identity: tuple[str, ...]
    attributes: dict[str, Any]
    metadata: dict[str, Any]
    weight: float | None
    version: int
    created: tuple[int, str]
    updated_us: int
    tombstone: tuple[int, str, str] | None = None

    @property
    def ends(self) -> tuple[str, ...]:
        return () if len(self.identity) == 2 else (self.identity[0], self.identity[2])

    def words(self) -> set[str]:
        text = self.attributes.get("text")
        return {*self.attributes.get("list", ()), *([text] if text else ())}


@dataclass
class World:
    """One state of the graph."""

    live: dict[str, Thing] = field(default_factory=dict)
    dead: dict[str, Thing] = field(default_factory=dict)
    led: dict[str, set[str]] = field(default_factory=dict)
    """The ends that re-pointed links once had."""

    def find(self, identity: tuple[str, ...]) -> Thing | None:
        return next((each for each in self.live.values() if each.identity == identity), None)

    def about(self, ref: str, things: dict[str, Thing], *, ever: bool = False) -> set[str]:
        """An element and every link that refers to it (or ever did), or to such a link."""
        found, waiting = {ref}, [ref]
        while waiting:
            near = waiting.pop()
            fresh = {each.id for each in things.values() if near in each.ends} - found
            if ever:
                fresh |= {ref for ref, ends in self.led.items() if near in ends} - found
            found |= fresh
            waiting += fresh
        return found

    def renamed(self, ids: dict[str, str]) -> World:
        """The same state, in which some links are called otherwise."""

        def of(things: dict[str, Thing]) -> dict[str, Thing]:
            return {
                ids.get(ref, ref): replace(
                    thing,
                    id=ids.get(ref, ref),
                    identity=tuple(ids.get(part, part) for part in thing.identity),
                )
                for ref, thing in things.items()
            }

        led = {
            ids.get(ref, ref): {ids.get(end, end) for end in ends} for ref, ends in self.led.items()
        }
        return World(of(self.live), of(self.dead), led)

    def forget(self, refs: set[str]) -> None:
        """Whatever they are called here: links may have had another predicate."""
        numbers = {number_of(ref) for ref in refs}
        for known in (self.live, self.dead, self.led):
            for ref in [ref for ref in known if number_of(ref) in numbers]:
                del known[ref]


class StoreMachine(RuleBasedStateMachine):
    """One graph in a file, and what it should be."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mycel-machine-"))
        self.clock = Clock()
        self.world = World()
        self.moments: dict[int, World] = {}
        self.snapshots: list[mycel.Snapshot] = []
        self.purged: set[str] = set()
        self.extra_defined = self.loaded = False
        self.open()
        with self.db.transaction() as tx:
            for name in TYPES:
                tx.define_type(name)
            tx.define_predicate("likes")
            for name in NAMES:
                made = tx.put_concept("Fact", name)
                self._put(made, ("Fact", name), {}, {}, None, "machine")
        self.remember()

    def open(self) -> None:
        self.db = mycel.open(
            self.folder / "graph.db",
            actor="machine",
            clock_us=self.clock,
            durability="off",
            core_capsules=False,
        )

    def remember(self) -> None:
        snapshot = self.db.snapshot()
        self.moments[snapshot.seq] = deepcopy(self.world)
        if not self.snapshots or self.snapshots[-1] != snapshot:
            self.snapshots.append(snapshot)

    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        """One step. A single rule: of many, Hypothesis would leave out some in each story."""
        action = data.draw(st.sampled_from(self.ACTIONS))
        action(self, data)

    # Transactions.

    def transaction(self, data: st.DataObject) -> None:
        steps = data.draw(st.integers(1, 8))
        fails = data.draw(st.sampled_from([False, False, False, True]))
        as_function = data.draw(st.booleans())
        actor = data.draw(st.sampled_from(["machine", "ann"]))
        self.clock.tick()
        before, world = self.db.snapshot(), deepcopy(self.world)

        def work(tx: mycel.Transaction) -> None:
            for _ in range(steps):
                change = data.draw(st.sampled_from(self.CHANGES))
                change(self, tx, data, actor)
            if fails:
                raise DeliberateError

        try:
            if as_function:
                self.db.write(work, actor=actor)
            else:
                with self.db.transaction(actor=actor) as tx:
                    work(tx)
        except DeliberateError:
            assert fails
            self.world = world
            assert self.db.snapshot() == before
        else:
            assert (self.world == world) == (self.db.snapshot() == before)
            self.remember()

    def put_concept(self, tx: mycel.Transaction, data: st.DataObject, actor: str) -> None:
        identity = data.draw(st.sampled_from(TYPES)), data.draw(st.sampled_from(NAMES))
        given, meta = data.draw(attributes), data.draw(metadata)
        if data.draw(st.booleans()):
            made = tx.put_concept(*identity, given, meta)
        else:
            (made,) = tx.put_concepts([mycel.ConceptRow(*identity, given, meta)])
        self._put(made, identity, given, meta, None, actor)

    def put_link(self, tx: mycel.Transaction, data: st.DataObject, actor: str) -> None:
        if (identity := self._link(tx, data)) is None:
            return
        given, meta = data.draw(attributes), data.draw(metadata)
        weight = data.draw(st.none() | weights)
        if data.draw(st.booleans()):
            made = tx.put_proposition(*identity, given, meta, weight=weight)
        else:
            tx.put_propositions([mycel.PropositionRow(*identity, given, meta, weight)])
            put = tx.get_edge(*identity)
            assert put is not None
            made = put.id
        there = self.world.find(identity)
        old = 1.0 if there is None else there.weight
        self._put(made, identity, given, meta, old if weight is None else weight, actor)

    def add_edge(self, tx: mycel.Transaction, data: st.DataObject, actor: str) -> None:
        if (identity := self._link(tx, data)) is None:
            return
        given, weight = data.draw(attributes), data.draw(weights)
        made = tx.add_edge(*identity, weight=weight, data=given)
        if (there := self.world.find(identity)) is not None:
            assert made == there.id, "a live edge stays as it is"
        else:
            self._put(made, identity, given, {}, weight, actor)

    def _link(self, tx: mycel.Transaction, data: st.DataObject) -> tuple[str, str, str] | None:
        """A link that could be made; what could not be is refused, here and now."""
        if len(self.world.live) < 2:
            return None
        refs = sorted(self.world.live)
        if data.draw(st.sampled_from([False] * 5 + [True])):
            refs = sorted({*self.world.live, *self.world.dead, *self.purged})
        src, dst = data.draw(st.sampled_from(refs)), data.draw(st.sampled_from(refs))
        predicate = data.draw(st.sampled_from([*PREDICATES, "extra"]))
        if predicate == "extra" and not self.extra_defined:
            with pytest.raises(TypeMismatch):
                tx.add_edge(src, predicate, dst)
        elif src == dst:
            with pytest.raises(ConstraintViolation):
                tx.put_proposition(src, predicate, dst)
        elif src not in self.world.live or dst not in self.world.live:
            with pytest.raises(NotFound):
                tx.add_edge(src, predicate, dst)
        else:
            return src, predicate, dst
        return None

    def _put(
        self,
        made: str,
        identity: tuple[str, ...],
        given: dict[str, Any],
        meta: dict[str, Any],
        weight: float | None,
        actor: str,
    ) -> None:
        now, world = self.clock.now_us, self.world
        there = world.find(identity)
        if there is None:
            for dead in [each for each in world.dead.values() if each.identity == identity]:
                assert made == dead.id, "a revived element keeps its id"
                del world.dead[dead.id]
            assert made not in world.live
            assert made not in self.purged
            world.live[made] = Thing(made, identity, given, meta, weight, 1, (now, actor), now)
            return
        assert made == there.id
        changed = replace(
            there,
            attributes=there.attributes | given,
            metadata=there.metadata | meta,
            weight=weight,
        )
        if _content(changed) != _content(there):
            world.live[made] = replace(changed, version=there.version + 1, updated_us=now)

    def update(self, tx: mycel.Transaction, data: st.DataObject, actor: str) -> None:
        if not self.world.live:
            return
        ref = data.draw(st.sampled_from(sorted(self.world.live)))
        there = self.world.live[ref]
        given = data.draw(attributes)
        drop = data.draw(st.sets(st.sampled_from(["text", "list", "n", "absent"])))
        expected = data.draw(st.none() | st.just(there.version))
        happened = tx.update(
            ref, attributes=given, drop_attributes=sorted(drop), expect_version=expected
        )
        both = there.attributes | given
        changed = replace(there, attributes={k: v for k, v in both.items() if k not in drop})
        assert happened == (_content(changed) != _content(there))
        if happened:
            self.world.live[ref] = replace(
                changed, version=there.version + 1, updated_us=self.clock.now_us
            )

    def remove_edge(self, tx: mycel.Transaction, data: st.DataObject, actor: str) -> None:
        links = sorted(each.identity for each in self._links(self.world.live))
        absent = [("C:99998", "references", "C:99996")]
        identity = data.draw(st.sampled_from(links + absent))
        reason = data.draw(reasons)
        there = self.world.find(identity)
        assert tx.remove_edge(*identity, reason=reason) == (there is not None)
        if there is not None:
            self._bury(there.id, reason, actor)

    def retire(self, tx: mycel.Transaction, data: st.DataObject, actor: str) -> None:
        refs = sorted({*self.world.live, *self.world.dead, *self.purged})
        if not refs:
            return
        ref, reason = data.draw(st.sampled_from(refs)), data.draw(reasons)
        if ref not in self.world.live:
            with pytest.raises(NotFound):
                tx.retire(ref, reason=reason)
            return
        gone = self._bury(ref, reason, actor)
        concepts = int(ref.startswith("C:"))
        assert tx.retire(ref, reason=reason) == (concepts, len(gone) - concepts)

    def _bury(self, ref: str, reason: str, actor: str) -> set[str]:
        gone = self.world.about(ref, self.world.live)
        for each in gone:
            buried = self.world.live.pop(each)
            self.world.dead[each] = replace(buried, tombstone=(self.clock.now_us, actor, reason))
        return gone

    def relink(self, tx: mycel.Transaction, data: st.DataObject, actor: str) -> None:
        world, links = self.world, self._links(self.world.live)
        if not links:
            return
        link = data.draw(st.sampled_from(sorted(links, key=lambda each: each.id)))
        src, predicate, dst = link.identity
        src = data.draw(st.sampled_from([src, *sorted(world.live)]))
        dst = data.draw(st.sampled_from([dst, *sorted(world.live)]))
        identity = (src, predicate, dst)
        there = world.find(identity)
        if src == dst or world.about(link.id, world.live).intersection((src, dst)):
            with pytest.raises(ConstraintViolation):
                tx.relink(link.id, subject=src, object_=dst)
            return
        if there is not None and there.id != link.id:
            with pytest.raises(DuplicateExists):
                tx.relink(link.id, subject=src, object_=dst)
            return
        assert tx.relink(link.id, subject=src, object_=dst) == link.id
        if there is not None:
            return
        for dead in [each for each in world.dead.values() if each.identity == identity]:
            tombstone = (self.clock.now_us, actor, "re-pointed")
            world.dead[dead.id] = replace(dead, identity=link.identity, tombstone=tombstone)
            world.led.setdefault(dead.id, set()).update(dead.ends)
        world.led.setdefault(link.id, set()).update(link.ends)
        world.live[link.id] = replace(
            link, identity=identity, version=link.version + 1, updated_us=self.clock.now_us
        )

    def move(self, tx: mycel.Transaction, data: st.DataObject, actor: str) -> None:
        """Another type and name, or another predicate."""
        world = self.world
        if not world.live:
            return
        ref = data.draw(st.sampled_from(sorted(world.live)))
        thing = world.live[ref]
        if len(thing.identity) == 2:
            identity = data.draw(st.sampled_from(TYPES)), data.draw(st.sampled_from(NAMES))
            to = {"type_name": identity[0], "name": identity[1]}
        else:
            src, _, dst = thing.identity
            predicate = data.draw(st.sampled_from(sorted(PREDICATES)))
            identity, to = (src, predicate, dst), {"predicate": predicate}
        there = world.find(identity)
        if there is not None and there.id != ref:
            with pytest.raises(DuplicateExists):
                tx.move(ref, **to)
            return
        if len(identity) == 2 and data.draw(st.booleans()):
            (moved,) = tx.move_concepts([(ref, *identity)])
        else:
            moved = tx.move(ref, **to)
        assert number_of(moved) == number_of(ref)
        if there is not None:
            assert moved == ref
            return
        for dead in [each for each in world.dead.values() if each.identity == identity]:
            self._give_way(dead, thing, actor)
        world.live[ref] = replace(
            thing, identity=identity, version=thing.version + 1, updated_us=self.clock.now_us
        )
        self._call_links_by_their_predicates()

    def _give_way(self, dead: Thing, thing: Thing, actor: str) -> None:
        """A link's tombstone goes where the link was, a concept's gets a name of its own."""
        if len(thing.identity) == 2:
            aside = replace(dead, identity=(dead.identity[0], dead.id))
        else:
            tombstone = (self.clock.now_us, actor, "re-pointed")
            aside = replace(dead, identity=thing.identity, tombstone=tombstone)
        self.world.dead[dead.id] = aside

    def _call_links_by_their_predicates(self) -> None:
        """The id of a link names its predicate, wherever it is mentioned."""
        world = self.world
        links = self._links(world.live | world.dead)
        self.world = world.renamed(
            {each.id: f"P:{number_of(each.id)}:{each.identity[1]}" for each in links}
        )

    CHANGES = (
        *(put_concept, put_link, put_link, put_link, add_edge, add_edge, add_edge),
        *(update, update, remove_edge, retire, relink, relink, move, move, move),
    )

    # Definitions.

    def define_or_remove_a_predicate(self, _: st.DataObject) -> None:
        self.clock.tick()
        if not self.extra_defined:
            self.db.write(lambda tx: tx.define_predicate("extra"))
            self.extra_defined = True
        else:
            in_use = any(each.identity[1] == "extra" for each in self._links(self.world.live))
            definition = self.db.get_concept("$PropositionType", "extra")
            assert definition is not None
            if in_use:
                with pytest.raises(ConstraintViolation):
                    self.db.write(lambda tx: tx.retire(definition))
            else:
                self.db.write(lambda tx: tx.retire(definition))
                self.extra_defined = False
        self.remember()

    # Forgetting, reopening.

    def purge(self, data: st.DataObject) -> None:
        things = self.world.live | self.world.dead
        if len(things) < 8:
            return
        self.clock.tick()
        ref = data.draw(st.sampled_from(sorted(things)))
        gone = self.world.about(ref, things, ever=True)
        concepts = int(ref.startswith("C:"))
        purged = self.db.purge(ref, "on request", by="officer")
        assert (purged.concepts, purged.propositions) == (concepts, len(gone) - concepts)
        self.purged |= gone
        for world in (self.world, *self.moments.values()):
            world.forget(gone)
        self.remember()
        for each in gone:
            assert self.db.history.versions(each)[-1].kind == "purge"

    def reopen(self, data: st.DataObject) -> None:
        if data.draw(st.booleans()):
            self.db.search("anything")
        before = self.db.snapshot()
        self.db.close()
        self.open()
        assert self.db.snapshot() == before

    def load_much_else(self, _: st.DataObject) -> None:
        """So many changes at once that everything is folded; once in a story is enough."""
        if self.loaded:
            return
        self.loaded = True
        self.clock.tick()
        count = self.db.snapshot().entries
        with self.db.transaction() as tx:
            tx.define_type("Filler")
            rows = (mycel.ConceptRow("Filler", f"{count} {n}") for n in range(300))
            assert len(tx.put_concepts(rows)) == 300
        self.remember()

    # Looking.

    def look_at_the_past(self, data: st.DataObject) -> None:
        seq = data.draw(st.sampled_from(sorted(self.moments)))
        self.compare(self.db.as_of(seq), self.moments[seq])

    def prove(self, data: st.DataObject) -> None:
        root = self.db.snapshot().overall_root
        things = self.world.live | self.world.dead
        refs = sorted(things)
        if refs:
            ref = data.draw(st.sampled_from(refs))
            proof = self.db.prove(data.draw(st.sampled_from([ref, things[ref].identity])))
            assert proof.record is not None
            assert proof.verify(root)
            decode = mycel.decode_concept if ref.startswith("C:") else mycel.decode_edge
            fields = decode(proof.record)
            assert fields.attributes == things[ref].attributes
            assert fields.version == things[ref].version
            assert (fields.tombstone is not None) == (ref in self.world.dead)
        absent = self.db.prove(("Fact", "never there"))
        assert absent.record is None
        assert absent.verify(root)
        old = data.draw(st.sampled_from(self.snapshots))
        assert self.db.prove_consistency(old.entries).verify(old.journal_root, root)
        seq = data.draw(st.integers(1, self.db.snapshot().entries))
        assert self.db.prove_entry(seq).verify(root)

    def search(self, data: st.DataObject) -> None:
        word = data.draw(st.sampled_from(WORDS))
        found = {element.id for element, _ in self.db.search(word, limit=1_000, mode="keyword")}
        assert found == {each.id for each in self.world.live.values() if word in each.words()}

    ACTIONS = (
        *(transaction,) * 8,
        *(purge, reopen, load_much_else, define_or_remove_a_predicate),
        *(look_at_the_past, look_at_the_past, prove, search),
    )

    @invariant()
    def the_present_is_as_it_should_be(self) -> None:
        self.compare(self.db, self.world)

    def compare(self, view: mycel.GraphView, world: World) -> None:
        for ref, thing in world.live.items():
            assert _shown(view.get(ref)) == thing
            if len(thing.identity) == 2:
                found = view.get_concept(*thing.identity)
                assert found is not None
                assert found.id == ref
            for dead in (False, True):
                assert self._edges(view, ref, dead=dead) == self._expected(world, ref, dead=dead)
        for ref, thing in world.dead.items():
            with pytest.raises(NotFound):
                view.get(ref)
            if len(thing.identity) == 3:
                assert _shown(view.get_edge(*thing.identity)) == thing
            else:
                assert view.get_concept(*thing.identity) is None
        for ref in self.purged:
            with pytest.raises(NotFound):
                view.get(ref)

    @staticmethod
    def _edges(view: mycel.GraphView, ref: str, *, dead: bool) -> tuple[list[str], list[str]]:
        return (
            [edge.id for edge in view.edges_out(ref, include_tombstoned=dead)],
            [edge.id for edge in view.edges_in(ref, include_tombstoned=dead)],
        )

    def _expected(self, world: World, ref: str, *, dead: bool) -> tuple[list[str], list[str]]:
        links = self._links(world.live | world.dead if dead else world.live)
        numbers = PREDICATES | {"extra": 0x41}

        def ordered(near: int, far: int) -> list[str]:
            return [
                each.id
                for each in sorted(
                    (each for each in links if each.identity[near] == ref),
                    key=lambda each: (numbers[each.identity[1]], number_of(each.identity[far])),
                )
            ]

        return ordered(0, 2), ordered(2, 0)

    @staticmethod
    def _links(things: dict[str, Thing]) -> list[Thing]:
        return [each for each in things.values() if len(each.identity) == 3]

    def teardown(self) -> None:
        try:
            found = problems(self.db.verify(replay=True))
            assert not found, found
        finally:
            self.db.close()
            shutil.rmtree(self.folder)


def _content(thing: Thing) -> str:
    # As text, because to Python 0 and 0.0 and False are the same.
    return repr((sorted(thing.attributes.items()), sorted(thing.metadata.items()), thing.weight))


def _shown(element: mycel.Concept | mycel.Proposition) -> Thing:
    """An element as the store shows it, in the model's words."""
    is_concept = isinstance(element, mycel.Concept)
    tombstone = None
    if element.tombstoned_us is not None:
        tombstone = (
            element.tombstoned_us,
            element.tombstoned_by or "",
            element.tombstoned_reason or "",
        )
    return Thing(
        element.id,
        (element.type, element.name)
        if is_concept
        else (element.subject, element.predicate, element.object),
        element.attributes,
        element.metadata,
        None if is_concept else element.weight,
        element.version,
        (element.created_us, element.created_by),
        element.updated_us,
        tombstone,
    )


StoreMachine.TestCase.settings = settings(
    max_examples=settings.default.max_examples // 2,
    stateful_step_count=24,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestStore = StoreMachine.TestCase
