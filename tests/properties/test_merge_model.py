"""Merges of random histories, compared with a model that is written from the table of the docs."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

import mycel
from mycel.store.backend.sqlite import copy
from tests.properties.merge_model import Branch, Prediction, predict
from tests.properties.merge_story import Side, Story, read_model, told


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches are not waited for until they are on the disk: their files live for one test."""
    monkeypatch.setattr(copy, "_flush", lambda _: None)


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
            story.log.append(f"{target} <- {source}")
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
            assert not ours.db.history.diff(target, source)
            theirs.secrets |= ours.secrets
            theirs.check()
            # The model goes on from what the graph is now.
            main = story.sides["main"]
            main.model, main.texts_ever = read_model(main)
            story.fork()


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
    story.log.append(f"{target} <- {source}")
    story.decide(ours, ours.db.merge(source))
    assert ours.db.merge(source).status == "up_to_date"
    ours.secrets |= theirs.secrets
    ours.check()
    ours.model, ours.texts_ever = read_model(ours)


@pytest.mark.parametrize("seed", [*range(5), 880005])
def test_a_merge_gives_what_the_model_says(seed: int, tmp_path: Path) -> None:
    check_two(seed, tmp_path)


@pytest.mark.parametrize("seed", [17, 45])
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
