from random import Random

from hypothesis import given
from hypothesis import strategies as st

from mycel.testing.disk import Disk, Inode

CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 3_000), st.binary(min_size=1, max_size=1_500)),
        st.tuples(st.just("truncate"), st.integers(0, 3_000)),
    ),
    max_size=8,
)


def apply(inode: Inode, changes: list[tuple[object, ...]]) -> list[bytes]:
    """Make the changes and return the content after each."""
    contents = []
    for name, *arguments in changes:
        getattr(inode, str(name))(*arguments)
        contents.append(bytes(inode.data))
    return contents


@given(CHANGES, st.integers())
def test_what_was_synced_survives(changes: list[tuple[object, ...]], seed: int) -> None:
    inode = Inode(b"before")
    apply(inode, changes)
    inode.sync()
    assert inode.after_power_loss(Random(seed)) == bytes(inode.data)


@given(CHANGES, CHANGES, st.integers())
def test_nothing_is_found_that_was_not_there_at_some_time(
    synced: list[tuple[object, ...]], changes: list[tuple[object, ...]], seed: int
) -> None:
    inode = Inode()
    apply(inode, synced)
    inode.sync()
    contents = [bytes(inode.data), *apply(inode, changes)]
    found = inode.after_power_loss(Random(seed))
    assert len(found) in {len(content) for content in contents}
    # Beyond the end at the last sync anything may be found.
    for position, byte in enumerate(found[: len(contents[0])]):
        assert byte in {content[position] for content in contents if position < len(content)}


@given(CHANGES)
def test_everything_lost_and_everything_kept_are_both_possible(
    changes: list[tuple[object, ...]],
) -> None:
    inode = Inode(b"before" * 100)
    contents = apply(inode, changes)
    images = {inode.after_power_loss(Random(seed)) for seed in range(100)}
    assert bytes(inode.data) in images
    if len(contents) < 3:
        assert b"before" * 100 in images


def test_creations_and_deletions_are_safe_only_once_the_directory_is_synced() -> None:
    disk = Disk()
    disk.adopt("/d/old", b"old")
    disk.delete("/d/old")
    disk.create("/d/new").write(0, b"new")
    disk.create("/elsewhere/new")

    def names() -> set[frozenset[str]]:
        return {frozenset(disk.after_power_loss(Random(seed))) for seed in range(200)}

    assert len(names()) == 8
    disk.sync_directory_of("/d/any")
    assert names() == {frozenset({"/d/new"}), frozenset({"/d/new", "/elsewhere/new"})}
