"""A branch that has merged a purge has nothing of what was purged, whatever happened around it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Final

import pytest

from mycel.errors import MycelError
from mycel.store.backend.sqlite import copy
from tests.properties.merge_story import Side, Story, read_model

NAMES: Final = "st"
"""Few names, so that elements are added again where others were purged."""


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches are not waited for until they are on the disk: their files live for one test."""
    monkeypatch.setattr(copy, "_flush", lambda _: None)


def step(side: Side) -> None:
    """Add, change, rename, retype, remove or purge one of a few elements."""
    random = side.story.random
    elements = side.model.elements
    concepts = [each for each in elements if not elements[each].is_link]
    actions = [
        *[lambda: side.add(("Fact", "Note"), NAMES)] * 4,
        *[lambda: side.update(random.choice([*elements]))] * 2,
        *[lambda: side.rename(random.choice(concepts), NAMES)] * 2,
        lambda: side.retype(random.choice(concepts)),
        lambda: side.link(random.choice(concepts), random.choice([*elements])),
        lambda: side.remove(random.choice([*elements])),
        *[lambda: side.purge(random.choice([*elements]))] * 2,
    ]
    try:
        random.choice(actions)()
    except (IndexError, MycelError):
        return  # There is nothing like that, or the graph does not allow it.


def merge(story: Story, target: str, source: str) -> None:
    ours, theirs = story.sides[target], story.sides[source]
    story.log.append(f"{target} <- {source}")
    story.decide(ours, ours.db.merge(source))
    ours.secrets |= theirs.secrets
    ours.check_secrets()
    ours.model, ours.texts_ever = read_model(ours)


def delete(story: Story, name: str) -> None:
    story.log.append(f"delete {name}")
    story.sides.pop(name).db.close()
    story.sides["main"].db.branches.delete(name, unmerged=True)


def check_purges(seed: int, folder: Path) -> None:
    random = Random(seed)
    with ExitStack() as stack:
        story = Story(folder / "graph.db", random, stack, ("one", "two", "three"), steps=2)
        for _ in range(14):
            for _ in range(random.randrange(5)):
                step(random.choice([*story.sides.values()]))
            if len(story.sides) > 2 and random.random() < 0.15:
                delete(story, random.choice(sorted(story.sides.keys() - {"main"})))
            merge(story, *random.sample(sorted(story.sides), 2))
        for side in story.sides.values():
            side.check()


@pytest.mark.parametrize("seed", [6, 39, 108, 168, 283, 414, 435, 604])
def test_a_purged_text_is_in_no_file_of_a_branch_that_has_merged_the_purge(
    seed: int, tmp_path: Path
) -> None:
    check_purges(seed, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_many_histories_leave_no_purged_text(part: int, seed: int, tmp_path: Path) -> None:
    for number in range(50):
        folder = tmp_path / str(number)
        folder.mkdir()
        check_purges(seed * 10_000 + part * 50 + number + 100, folder)
