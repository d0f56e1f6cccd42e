"""Merges of several branches in random order, checked against what each of them has seen.

Every value that is written is a token of its own. A branch has *seen* a token if it, or a state
that was merged into it, ever had it. That says what a merge gives, whatever the common ancestors:

- a token of one side that the other has not seen stays;
- a token of one side that the other has seen, and has no more, goes;
- unless somebody, or a rule, had to decide about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

import mycel
from mycel.store.backend.sqlite import copy
from tests.unit.store.given import TickingClock

SIGN = "§"
SIDES = ("ours", "theirs")


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches are not waited for until they are on the disk: their files live for one test."""
    monkeypatch.setattr(copy, "_flush", lambda _: None)


def tokens_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (line for line in value.splitlines() if line.startswith(SIGN))
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tokens_in(each)


class Branch:
    """A branch, and the tokens that it has ever seen."""

    def __init__(self, db: mycel.Graph, seen: set[str]) -> None:
        self.db = db
        self.seen = set(seen)

    def facts(self) -> list[mycel.Concept]:
        with self.db.reading() as reader:
            found = reader.elements(range(30, 2000)).values()
        return [each for each in found if isinstance(each, mycel.Concept) and each.type == "Fact"]

    def content(self) -> dict[str, str]:
        return {each.name: each.attributes_json for each in self.facts()}

    def tokens(self) -> set[str]:
        return {token for each in self.facts() for token in tokens_in([each.name, each.attributes])}


class Story:
    """Branches of one graph that change and are merged, in random order."""

    def __init__(self, path: Path, random: Random) -> None:
        self.random = random
        self.count = 0
        self.decided: set[str] = set()
        main = mycel.open(path, clock_us=TickingClock(), durability="off", core_capsules=False)
        main.write(lambda tx: tx.define_type("Fact"))
        self.branches = {"main": Branch(main, set())}
        self.change("main", 6)
        for name in ("a", "b"):
            main.branches.create(name)
            self.branches[name] = Branch(main.open_branch(name), self.branches["main"].seen)

    def token(self) -> str:
        self.count += 1
        return f"{SIGN}{self.count}"

    def change(self, name: str, steps: int) -> None:
        branch = self.branches[name]
        with branch.db.transaction() as tx:
            for _ in range(steps):
                self.step(tx)
        branch.seen |= branch.tokens()

    def step(self, tx: mycel.Transaction) -> None:
        random = self.random
        elements = tx.reader.elements(range(30, 2000)).values()
        facts = [e for e in elements if isinstance(e, mycel.Concept) and e.type == "Fact"]
        if not facts or random.random() < 0.25:
            lines = "".join(f"{self.token()}\n" for _ in range(5))
            nested = {"p": self.token(), "q": self.token()}
            attributes = {"x": self.token(), "o": nested, "l": [self.token()], "t": lines}
            tx.put_concept("Fact", self.token(), attributes)
            return
        fact = random.choice(facts)
        said: dict[str, Any] = fact.attributes
        match random.choice("xyolltmd"):
            case "o":
                tx.update(
                    fact.id, attributes={"o": said["o"] | {random.choice("pq"): self.token()}}
                )
            case "l":
                kept = [each for each in said["l"] if random.random() < 0.7]
                tx.update(fact.id, attributes={"l": [*kept, self.token()]})
            case "t":
                lines = said["t"].splitlines()
                lines[random.randrange(len(lines))] = self.token()
                tx.update(fact.id, attributes={"t": "\n".join(lines) + "\n"})
            case "m":
                tx.move(fact.id, name=self.token())
            case "d":
                tx.retire(fact.id)
            case key:
                tx.update(fact.id, attributes={key: self.token()})

    def merge(self, target: str, source: str) -> None:
        ours, theirs = self.branches[target], self.branches[source]
        side = self.random.choice(SIDES)
        one, other = ours.tokens(), theirs.tokens()
        turned = SIDES[1 - SIDES.index(side)]
        back = finished(theirs.db, theirs.db.merge(target, dry_run=True), turned)
        found = finished(ours.db, ours.db.merge(source), side)
        self.decided |= found | back
        now = ours.tokens()
        wanted = (one & other) | (one - theirs.seen) | (other - ours.seen)
        assert (now ^ wanted) - self.decided == set(), (target, source)
        ours.seen |= theirs.seen
        assert ours.db.merge(source).status == "up_to_date"
        assert not ours.db.verify(replay=True).problems

    def merge_back(self, target: str, source: str) -> None:
        """Merge into a branch that has nothing of its own: it becomes the other one."""
        ours, theirs = self.branches[target], self.branches[source]
        assert ours.db.merge(source).conflicts == ()
        assert ours.content() == theirs.content()
        assert not ours.db.history.diff(target, source)
        ours.seen |= theirs.seen

    def close(self) -> None:
        for each in self.branches.values():
            each.db.close()


def finished(db: mycel.Graph, merge: mycel.Merge, side: str) -> set[str]:
    """Decide a merge for one side. Returns the tokens that decisions were about."""
    decided: set[str] = set()
    for _ in range(6):
        for each in (*merge.conflicts, *merge.choices):
            decided |= {*tokens_in(orjson.loads(orjson.dumps(each.to_dict())))}
        if not merge.is_open:
            return decided
        merge = db.merges.resolve("*", side) if merge.unresolved else db.merges.commit()
    raise AssertionError(merge.unresolved)


def check(seed: int, folder: Path) -> None:
    random = Random(seed)
    story = Story(folder / "graph.db", random)
    for _ in range(5):
        for name in story.branches:
            story.change(name, random.randint(0, 4))
        target, source = random.sample(sorted(story.branches), 2)
        story.merge(target, source)
        if random.random() < 0.3:
            story.merge_back(source, target)
    story.close()


@pytest.mark.parametrize("seed", range(2))
def test_a_merge_gives_what_each_side_has_not_seen_and_keeps_what_each_has_removed(
    seed: int, tmp_path: Path
) -> None:
    check(seed, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_many_merges_give_what_each_side_has_not_seen(part: int, seed: int, tmp_path: Path) -> None:
    for number in range(25):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(seed * 10_000 + part * 25 + number + 100, folder)
