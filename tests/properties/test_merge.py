"""Merges of random histories: the same result whichever side merges, and nothing is lost."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import mycel
from mycel.model import ids
from mycel.store.backend.sqlite import copy
from mycel.store.query.alignment import Alignment, touched
from mycel.store.query.lineage import lineage
from tests.properties.test_history import TYPES, content, random_history, said, step
from tests.unit.store.given import TickingClock

SIDES = ("a", "b")
OTHER = {"ours": "theirs", "theirs": "ours"}


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches are not waited for until they are on the disk: their files live for one test."""
    monkeypatch.setattr(copy, "_flush", lambda _: None)


def base_of(path: Path, random: Random) -> None:
    """A file with a random history."""
    db, _ = random_history(random, 6, path)
    db.close()


def change(db: mycel.Graph, seed: str, commits: int) -> None:
    random = Random(seed)
    for _ in range(commits):
        with db.transaction() as tx:
            for _ in range(random.randint(1, 4)):
                step(tx, random)


class Pair:
    """A graph and a branch of it; side `a` has changed one of them, side `b` the other."""

    def __init__(self, path: Path, base: bytes, seed: int, *, swapped: bool) -> None:
        path.write_bytes(base)
        clock = TickingClock(2_000_000_000_000_000)
        self.ours = mycel.open(path, clock_us=clock, durability="off", core_capsules=False)
        self.ours.branches.create("draft")
        self.theirs = self.ours.open_branch("draft")
        self.by_side = (
            {"a": self.theirs, "b": self.ours}
            if swapped
            else {
                "a": self.ours,
                "b": self.theirs,
            }
        )
        self.names = {"a": "theirs", "b": "ours"} if swapped else {"a": "ours", "b": "theirs"}
        for side in SIDES:
            change(self.by_side[side], f"{seed} {side}", 3)

    def close(self) -> None:
        self.theirs.close()
        self.ours.close()

    def merge(self, wanted: str) -> mycel.Merge:
        """Merge the branch, and decide for one of the sides until nothing is left to decide."""
        found = self.ours.merge("draft")
        rounds = 0
        while found.status == "conflicts":
            assert rounds < 5, [each.to_dict() for each in found.unresolved]
            rounds += 1
            found = self.ours.merges.resolve("*", self.names[wanted])
            if not found.unresolved:
                found = self.ours.merges.commit()
        return found


def elements(db: mycel.Graph) -> dict[int, Any]:
    with db._store.reading() as reader:
        return reader.elements(range(800))


@pytest.mark.parametrize("seed", range(3))
def test_a_merge_gives_the_same_whichever_side_merges_and_keeps_what_one_side_changed(
    seed: int, tmp_path: Path
) -> None:
    check(seed, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_many_merges_give_the_same_whichever_side_merges(
    part: int, seed: int, tmp_path: Path
) -> None:
    for number in range(25):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(seed * 10_000 + part * 25 + number + 100, folder)


def check(seed: int, folder: Path) -> None:
    random = Random(seed)
    source = folder / "base.db"
    base_of(source, random)
    base = source.read_bytes()
    wanted = random.choice(SIDES)
    results = []
    for swapped in (False, True):
        pair = Pair(folder / f"{swapped}.db", base, seed, swapped=swapped)
        with pair.ours, pair.theirs:
            before = {side: elements(pair.by_side[side]) for side in SIDES}
            states = [content(pair.by_side[side]) for side in SIDES]
            differences = pair.ours.history.diff("main", "draft")
            assert bool(differences) == (states[0] != states[1])
            done = pair.merge(wanted)
            results.append(content(pair.ours))
            assert pair.ours.merge("draft").status == "up_to_date"
            assert pair.ours.branches.get("draft").is_merged
            check_one_sided(pair, before, done)
            back = pair.theirs.merge("main")
            assert (back.conflicts, content(pair.theirs)) == ((), results[-1])
            assert not pair.ours.history.diff("main", "draft")
            # What was decided is not asked about again.
            change(pair.theirs, f"{seed} later", 1)
            after = content(pair.theirs)
            again = pair.ours.merge("draft")
            assert again.conflicts == ()
            assert content(pair.ours) == after
            for db in (pair.ours, pair.theirs):
                assert not db.verify(replay=True).problems
    assert results[0] == results[1]


def check_one_sided(pair: Pair, before: dict[str, Any], done: mycel.Merge) -> None:
    """Elements that were there before the branch: no deletion is undone, no lone change lost."""
    contested = {each.label for each in done.conflicts} | {each.label for each in done.choices}
    with pair.ours._store.reading() as ours:
        shared = next(each.parting.entries for each in pair.ours.branches if each.name == "draft")
        old = ours.at(pair.ours.as_of(shared).state).elements(range(400))
        now = ours.elements(range(800))
    if any(each.kind in ("orphan_link", "key_clash", "delete_modify") for each in done.conflicts):
        return  # What was chosen there brings back, or moves, others.
    made = {
        each[1:3]
        for side in SIDES
        for number, each in before[side].items()
        if number not in old and isinstance(each, mycel.Concept)
    }
    for number, was in old.items():
        a, b = (before[side].get(number) for side in SIDES)
        if label(was, old) in contested or label(now.get(number), now) in contested:
            continue
        if isinstance(was, mycel.Proposition) or was.type not in TYPES:
            continue  # Links may fall together, and definitions stay as long as they are used.
        if (a is None and said(b) == said(was)) or (b is None and said(a) == said(was)):
            # A new element of the same type and name has the number of the one that was removed.
            assert number not in now or now[number][1:3] in made
        if a is None or b is None or number not in now:
            continue
        sides = [said(each) for each in (was, a, b, now[number])]
        for key in {key for each in sides for key in each}:
            old_, one, other, merged = (each.get(key) for each in sides)
            if one == old_ and other != old_:
                assert merged == other, (label(was, old), key)
            if other == old_ and one != old_:
                assert merged == one, (label(was, old), key)


def label(element: Any, names: dict[int, Any]) -> str:
    if element is None:
        return ""
    if isinstance(element, mycel.Concept):
        name = element.name
        return name if "://" in name else f'{element.type} "{name}"'
    ends = [names.get(ids.parse_id(end)) for end in (element.subject, element.object)]
    return f"{label(ends[0], names)} -{element.predicate}-> {label(ends[1], names)}"


def test_a_branch_without_commits_and_a_target_without_commits(tmp_path: Path) -> None:
    for seed in range(3):
        path = tmp_path / f"{seed}.db"
        base_of(path, Random(seed))
        with mycel.open(path, durability="off", core_capsules=False) as db:
            db.branches.create("draft")
            with db.open_branch("draft") as draft:
                assert db.merge("draft").status == "up_to_date"
                change(draft, f"{seed}", 4)
                wanted = content(draft)
                db.merge("draft")
                assert content(db) == wanted
                with db._store.reading() as ours, draft._store.reading() as theirs:
                    found = lineage(ours, theirs)
                    since = touched(theirs, found.shared, theirs.position)
                    aligned = Alignment(ours, theirs, found, since)
                    for number in since.numbers:
                        there = theirs.element(number)
                        here = ours.element(aligned.number(number))
                        assert (there is None) == (here is None)
