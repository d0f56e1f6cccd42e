"""The pages of the state trees as they are stored, however the writes came that led to them."""

from pathlib import Path
from random import Random

import apsw
import pytest

import mycel
from mycel.merkle import sparse
from mycel.store.log import trees
from mycel.store.log.trees import StoredPages
from tests.unit.merkle.test_sparse import grown
from tests.unit.store.given import add_concepts, assert_sound


def crowded_key(random: Random, prefixes: list[bytes]) -> bytes:
    prefix = random.choice(prefixes)
    return prefix + random.randbytes(32 - len(prefix))


def some_changes(random: Random, there: list[bytes], prefixes: list[bytes]) -> dict[bytes, bytes]:
    """Keys and their new hashes; an empty one means that the key goes."""
    changes: dict[bytes, bytes] = {}
    removing = random.choice((0.0, 0.0, 0.0, 0.5))
    for _ in range(random.choice((1, 1, 1, 1, 1, 1, 2, 3, 8, 16, 17))):
        if there and random.random() < removing:
            changes[random.choice(there)] = b""
        else:
            changes[crowded_key(random, prefixes)] = random.randbytes(32)
    return changes


@pytest.mark.parametrize("kept", [1, 256, 1 << 13])
def test_what_is_stored_is_the_tree_of_the_leaves_whatever_was_written_when(
    seed: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "_KEPT_PAGE_MAX", kept)
    check_stored_pages(Random(seed), steps=150)


@pytest.mark.soak
@pytest.mark.parametrize("kept", [1, 256, 1 << 13])
def test_what_is_stored_is_the_tree_of_the_leaves_however_often_it_is_written(
    seed: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "_KEPT_PAGE_MAX", kept)
    for number in range(30):
        check_stored_pages(Random(f"{seed}/{number}"), steps=250)


def check_stored_pages(random: Random, steps: int) -> None:
    """Keys crowd below a few prefixes, as those of the links of one subject do."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE edge_tree (page INTEGER PRIMARY KEY, body BLOB)")
    prefixes = [bytes(random.choices((0, 1, 255), k=k)) for k in random.choices(range(9), k=4)]
    pages, leaves = StoredPages(connection, "edges"), dict[bytes, bytes]()
    for _ in range(steps):
        changes = some_changes(random, list(leaves), prefixes)
        keys = sorted(changes)
        root = sparse.update(pages, keys, [changes[key] or None for key in keys])
        leaves = {key: each for key, each in (leaves | changes).items() if each}
        if random.random() < 0.6:
            pages.write()
            expected = grown(leaves)
            assert dict(connection.execute("SELECT page, body FROM edge_tree")) == expected
            assert root == sparse.root(expected)
            if random.random() < 0.3:
                pages = StoredPages(connection, "edges")


@pytest.mark.parametrize("pending", [0, 1])
def test_a_subject_with_many_links_is_sound_however_often_pages_are_written(
    db: mycel.Graph, path: Path, pending: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "FOLD_CHANGES_MAX", pending)
    hub, *others = add_concepts(db, *(f"n{n}" for n in range(701)))
    for each in others[:350]:
        db.add_edge(hub, "references", each)
    assert_sound(db)
    with mycel.open(path, durability="off") as again:
        for each in others[350:]:
            again.add_edge(hub, "references", each)
        assert_sound(again)
