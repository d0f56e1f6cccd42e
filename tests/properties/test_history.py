"""Random histories: rollback leads to any state, and differences say all there is to say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

import mycel
from mycel.errors import MycelError
from mycel.model import ids
from mycel.store.query.diff import ElementChange
from tests.unit.store.given import TickingClock

NAMES = [*"abcde", "concept://t/a", "concept://t/a/b"]
TYPES, PREDICATES = ("Fact", "Note"), ("likes", "near")

State = dict[Any, Any]


def identity(element: Any, all_: dict[int, Any]) -> Any:
    """What names an element in every copy: type and name, or predicate and ends."""
    if isinstance(element, mycel.Concept):
        return element.type, element.name
    ends = (all_[ids.parse_id(end)] for end in (element.subject, element.object))
    return element.predicate, *(identity(end, all_) for end in ends)


def content(view: mycel.GraphView) -> State:
    """A state by natural keys: attributes, metadata and weight of every element."""
    with view._store.reading(view.state) as reader:  # type: ignore[attr-defined]
        elements = reader.elements(range(400))
    return {
        identity(each, elements): (
            each.attributes_json,
            each.metadata_json,
            getattr(each, "weight", None),
        )
        for each in elements.values()
    }


def step(tx: mycel.Transaction, random: Random) -> None:
    """One random change; one that the graph does not allow is left out."""
    with suppress(MycelError):
        live = list(tx.reader.elements(range(30, 400)).values())
        links = [each for each in live if isinstance(each, mycel.Proposition)]
        concepts = [each for each in live if each not in links and each.type in TYPES]  # type: ignore[union-attr]

        def change() -> dict[str, Any]:
            return {random.choice("xyz"): random.choice([1, 1.0, True, "one\ntwo", [1], {}])}

        def chosen(from_: list[Any]) -> str:
            return str(random.choice(from_).id)

        actions: list[Callable[[], object]] = [
            lambda: tx.put_concept(random.choice(TYPES), random.choice(NAMES), change()),
            lambda: tx.put_concept(random.choice(TYPES), random.choice(NAMES), {}, change()),
            lambda: tx.put_proposition(
                chosen(concepts), random.choice(PREDICATES), chosen(live), change(), weight=0.5
            ),
            lambda: tx.put_proposition(chosen(live), random.choice(PREDICATES), chosen(concepts)),
            lambda: tx.update(chosen(live), drop_attributes="xyz", metadata=change()),
            lambda: tx.update(chosen(links), weight=random.choice([0, 0.25, 1])),
            lambda: tx.move(chosen(concepts), name=random.choice(NAMES)),
            lambda: tx.move(chosen(concepts), type_name=random.choice(TYPES)),
            lambda: tx.move(chosen(links), predicate=random.choice(PREDICATES)),
            lambda: tx.relink(chosen(links), object_=chosen(live)),
            lambda: tx.relink(chosen(links), subject=chosen(live)),
            lambda: tx.retire(chosen(live)),
        ]
        with suppress(IndexError):
            random.choice(actions)()


def random_history(
    random: Random, commits: int, path: str | Path = ":memory:"
) -> tuple[mycel.Graph, list[int]]:
    """A graph with a random past, and the positions after each of its transactions."""
    db = mycel.open(path, clock_us=TickingClock(), core_capsules=False, durability="off")
    with db.transaction() as tx:
        for name in TYPES:
            tx.define_type(name)
        for name in PREDICATES:
            tx.define_predicate(name)
    seqs = [db.snapshot().entries]
    for _ in range(commits):
        with db.transaction() as tx:
            for _ in range(random.randint(1, 5)):
                step(tx, random)
        seqs.append(db.snapshot().entries)
    return db, seqs


@pytest.mark.parametrize("seed", range(3))
def test_rollback_leads_to_the_content_of_any_earlier_state_and_back(seed: int) -> None:
    random = Random(seed)
    db, seqs = random_history(random, 20)
    with db:
        for _ in range(4):
            target = random.choice(seqs)
            before, wanted = db.snapshot(), content(db.as_of(target))
            expected = db.history.diff(before.entries, target)
            would = db.history.rollback(target, dry_run=True)
            assert (db.snapshot(), would.commit) == (before, None)
            done = db.history.rollback(target)
            assert content(db) == wanted
            assert done.diff == would.diff == expected
            assert (done.commit is None) == (not expected)
            again = db.history.rollback(target)
            assert (again.commit, bool(again.diff)) == (None, False)
            if done.commit is None:
                assert db.snapshot() == before
                continue
            seqs.append(db.snapshot().entries)
            db.history.rollback(before.entries)
            assert content(db) == content(db.as_of(before.entries))
            seqs.append(db.snapshot().entries)
        assert not db.verify(replay=True).problems


def inverted(change: ElementChange) -> tuple[Any, ...]:
    """The way back: kind, the element before and after, and the values."""
    kind = {"added": "removed", "removed": "added"}.get(change.kind, change.kind)
    values = tuple(each._replace(old=each.new, new=each.old) for each in change.values)
    return kind, change.after, change.before, values


@pytest.mark.parametrize("seed", range(3))
def test_a_difference_turns_one_state_into_the_other(seed: int) -> None:
    random = Random(seed)
    db, seqs = random_history(random, 20)
    with db:
        for _ in range(20):
            a, b = random.choice(seqs), random.choice(seqs)
            forth, back = db.history.diff(a, b), db.history.diff(b, a)
            assert not db.history.diff(a, a)
            assert sum(forth.counts.values()) == len(forth.elements)
            assert bool(forth) == (content(db.as_of(a)) != content(db.as_of(b)))
            turned = [inverted(each) for each in forth.elements]
            told = [(each.kind, each.before, each.after, each.values) for each in back.elements]
            assert sorted(turned, key=repr) == sorted(told, key=repr)
            with db._store.reading() as reader:
                old, new = (reader.at(db.as_of(seq).state).elements(range(400)) for seq in (a, b))
            rest = dict(new)
            for change in forth.elements:
                if change.after is not None:
                    assert said(change.after) == said(rest.pop(change.after.number))
                if change.before is not None:
                    assert said(change.before) == said(old.pop(change.before.number))
                assert rebuilt(change.before, change) == said(change.after)
            pairs = {number: forth.twins.get(number, number) for number in rest}
            assert sorted(pairs.values()) == sorted(old)
            for number, other in pairs.items():
                assert without_ends(rest[number]) == without_ends(old[other])


def without_ends(element: Any) -> Any:
    """All content but the numbers of the ends, which may have come back under others."""
    found = said(element)
    return {key: value for key, value in found.items() if key[0] not in ("subject", "object")}


def said(element: Any) -> Any:
    """All content of an element, by field and key, as text; None if it is not there."""
    if element is None:
        return None
    found = {("attributes", key): repr(value) for key, value in element.attributes.items()}
    found |= {("metadata", key): repr(value) for key, value in element.metadata.items()}
    if isinstance(element, mycel.Concept):
        return found | {("type", ""): repr(element.type), ("name", ""): repr(element.name)}
    return found | {
        ("subject", ""): ids.parse_id(element.subject),
        ("object", ""): ids.parse_id(element.object),
        ("predicate", ""): repr(element.predicate),
        ("weight", ""): repr(element.weight),
    }


def rebuilt(before: Any, change: Any) -> Any:
    """The content after a change, from the content before it and the values that differ."""
    if change.after is None:
        return None
    found = said(before) or {}
    for value in change.values:
        place = value.field, value.key
        if value.field in ("subject", "object"):
            found[place] = ids.parse_id(getattr(change.after, value.field))
        elif value.new.__class__.__name__ == "Absent":
            del found[place]
        else:
            found[place] = repr(value.new)
    return found
