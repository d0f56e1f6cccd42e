"""Random edits of two people who share a mirror: nothing is forced, and both end with one graph."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mycel.errors import MycelError
from tests.unit.mirror.sharing import Person

NAMES = [f"part{number % 2}/note{number}" for number in range(6)]
KEYS = ("a", "b", "c")


def _edit_graph(person: Person, chance: random.Random) -> None:
    known = person.knowledge
    one, other = chance.choice(NAMES), chance.choice(NAMES)
    match chance.randrange(8):
        case 0 | 1:
            known.add(one, content=f"By {person.name}.\n\nSecond line.\n\nThird.")
        case 2 | 3:
            key = chance.choice(KEYS)
            properties = dict(known.get(one).properties)
            known.update(one, properties=properties | {key: chance.randrange(9)})
        case 4:
            lines = known.get(one).content.split("\n\n")
            lines[chance.randrange(len(lines))] = f"Line {chance.randrange(99)} of {person.name}."
            known.update(one, content="\n\n".join(lines))
        case 5:
            known.link(one, "knows", other, weight=chance.choice((0.25, 0.5)))
        case 6:
            known.move(one, f"moved/{chance.randrange(4)}")
        case _:
            known.delete(one)


def _edit_file(person: Person, chance: random.Random) -> None:
    files = sorted(person.folder.glob("concepts/**/*.md"))
    if not files:
        return
    file = chance.choice(files)
    match chance.randrange(4):
        case 0:
            file.write_text(file.read_text().replace("line", f"row {chance.randrange(9)}", 1))
        case 1:
            file.write_text(f"{file.read_text()}Added by hand, {chance.randrange(9)}.\n")
        case 2:
            file.unlink()
        case _:
            new = person.folder / f"concepts/shop/hand/{chance.randrange(3)}.md"
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(f"A new file of {person.name}.\n")
    if chance.random() < 0.5:
        person.git("add", "-A")
        person.git("commit", "-q", "--allow-empty", "-m", f"By hand of {person.name}")


def _import(person: Person, chance: random.Random) -> None:
    """Import what there is, and decide about conflicts at random."""
    for _ in range(10):
        imported = person.mirror.import_edits(allow_deletions=True)
        merge = imported.merge
        if merge is None or merge.status != "conflicts":
            break
        while person.db.merges:
            side = chance.choice(("ours", "theirs"))
            (waiting, *_) = person.db.merges
            if waiting.unresolved:
                person.db.merges.resolve("*", side, merge=waiting.id)
            try:
                person.db.merges.commit(waiting.id)
            except MycelError:
                if not any(each.unresolved for each in person.db.merges):
                    raise
    person.mirror.push(remote="")


def _exchange(person: Person, chance: random.Random) -> None:
    """What a person does with git: pull by Mycel or by Git, and push if the remote allows it."""
    _import(person, chance)
    person.git("fetch", "-q")
    _import(person, chance)
    if chance.random() < 0.7:
        person.git("push", "-q")


def _play(folder: Path, seed: int, steps: int) -> None:
    chance = random.Random(seed)
    ada, bob = Person(folder / "ada", "ada"), Person(folder / "bob", "bob")
    for name in NAMES[:3]:
        ada.knowledge.add(name, content="First.\n\nSecond line.\n\nThird.", properties={"a": 0})
    ada.begin(folder / "shared.git")
    bob.join(folder / "shared.git")
    try:
        for _ in range(steps):
            person = chance.choice((ada, bob))
            try:
                if chance.random() < 0.7:
                    _edit_graph(person, chance)
                else:
                    _edit_file(person, chance)
            except (MycelError, AttributeError):
                continue  # There was nothing to change.
            if chance.random() < 0.4:
                _exchange(person, chance)
        for person in (ada, bob, ada):
            _import(person, chance)
            person.git("fetch", "-q")
            _import(person, chance)
            person.git("push", "-q")
        assert ada.documents() == bob.documents()
        assert ada.tip == bob.tip
        for person in (ada, bob):
            person.check()
            assert person.db.verify().ok
    finally:
        ada.db.close()
        bob.db.close()


def test_both_end_with_one_graph(tmp_path: Path, seed: int) -> None:
    _play(tmp_path, seed, 28)


@pytest.mark.soak
def test_both_end_with_one_graph_after_many_edits(tmp_path: Path, seed: int) -> None:
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        _play(folder, seed * 100 + number, 60)
