"""What holds for every Merkle log: proofs verify, and nothing but the truth does.

A proof fixes the leaf, its index, the path and the root, but a root fixes the size only as far as
the way from the leaf to the root differs: hence the properties about `ways`, which say exactly
which wrong sizes a verifier cannot notice unless it holds the whole head.
"""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mycel.merkle.log import (
    Frontier,
    consistency_path,
    inclusion_path,
    leaf_hash,
    root_at,
    verify_consistency,
    verify_inclusion,
)
from tests.unit.merkle.test_log import (
    LEAVES,
    SIZES_AT_GROUP_EDGES,
    StrictNodes,
    naive_root,
    naive_split,
)

sizes = st.one_of(st.integers(1, 80), st.sampled_from(SIZES_AT_GROUP_EDGES), st.integers(1, 4100))
bits = st.integers(0, 255)
size_bits = st.integers(0, 66)


@st.composite
def leaf_positions(draw: st.DrawFn) -> tuple[int, int]:
    """An index and the size of a log that has it."""
    size = draw(sizes)
    return draw(st.one_of(st.integers(0, size - 1), st.just(size - 1))), size


@st.composite
def growths(draw: st.DrawFn) -> tuple[int, int]:
    """An old size and a larger new one, neither of them empty."""
    first, second = draw(sizes), draw(sizes)
    return (first, first + 1) if first == second else (min(first, second), max(first, second))


def flip(value: bytes, bit: int) -> bytes:
    changed = bytearray(value)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def flip_in(path: list[bytes], position: int, bit: int) -> list[bytes]:
    return [flip(node, bit) if at == position else node for at, node in enumerate(path)]


def inclusion_way(index: int, size: int) -> str:
    """The turns from the root down to a leaf: the shape of an inclusion proof."""
    if size == 1:
        return ""
    split = naive_split(size)
    if index < split:
        return "L" + inclusion_way(index, split)
    return "R" + inclusion_way(index - split, size - split)


def consistency_way(old: int, new: int, known: bool = True) -> str:
    """The turns of the RFC's SUBPROOF: the shape of a consistency proof."""
    if old == new:
        return "known" if known else "given"
    split = naive_split(new)
    if old <= split:
        return "L" + consistency_way(old, split, known)
    return "R" + consistency_way(old - split, new - split, False)


@given(st.lists(st.binary(max_size=40), max_size=70), st.data())
def test_appending_in_any_batches_gives_one_frontier_and_one_set_of_nodes(
    entries: list[bytes], data: st.DataObject
) -> None:
    leaves = [leaf_hash(entry) for entry in entries]
    one_by_one, in_batches = Frontier(), Frontier()
    expected = [node for leaf in leaves for node in one_by_one.append(leaf)]
    cuts = data.draw(st.lists(st.integers(0, len(leaves)), max_size=5).map(sorted))
    completed = []
    for start, stop in pairwise([0, *cuts, len(leaves)]):
        completed += in_batches.extend(leaves[start:stop])
    assert sorted(completed) == sorted(expected)
    assert in_batches.to_bytes() == one_by_one.to_bytes()
    assert in_batches.root() == one_by_one.root()


@given(sizes)
def test_a_frontier_has_the_recursive_root_and_survives_serialising(size: int) -> None:
    frontier = Frontier()
    frontier.extend(LEAVES[:size])
    restored = Frontier.from_bytes(frontier.to_bytes())
    assert restored.size == size
    assert restored.to_bytes() == frontier.to_bytes()
    assert restored.root() == frontier.root() == naive_root(0, size)
    assert root_at(StrictNodes(size), size) == frontier.root()
    restored.append(LEAVES[size])
    assert restored.root() == naive_root(0, size + 1)


@given(st.binary(max_size=120))
def test_any_bytes_are_a_frontier_that_writes_them_back_or_are_refused(data: bytes) -> None:
    try:
        frontier = Frontier.from_bytes(data)
    except ValueError:
        return
    assert frontier.to_bytes() == data


@given(leaf_positions(), bits, st.data())
def test_an_inclusion_proof_with_any_bit_changed_is_refused(
    position: tuple[int, int], bit: int, data: st.DataObject
) -> None:
    index, size = position
    leaf, root = LEAVES[index], naive_root(0, size)
    path = inclusion_path(StrictNodes(size), index, size)
    assert verify_inclusion(leaf, index, size, path, root)
    assert not verify_inclusion(flip(leaf, bit), index, size, path, root)
    assert not verify_inclusion(leaf, index, size, path, flip(root, bit))
    changed_index = index ^ (1 << data.draw(size_bits))
    assert not verify_inclusion(leaf, changed_index, size, path, root)
    if path:
        at = data.draw(st.integers(0, len(path) - 1))
        assert not verify_inclusion(leaf, index, size, flip_in(path, at, bit), root)
        assert not verify_inclusion(leaf, index, size, path[:at] + path[at + 1 :], root)
        assert not verify_inclusion(leaf, index, size, [*path[:at], leaf, *path[at:]], root)


@given(leaf_positions(), st.integers(1, 4100))
def test_a_wrong_size_is_refused_unless_it_leads_to_the_leaf_the_same_way(
    position: tuple[int, int], wrong_size: int
) -> None:
    index, size = position
    path = inclusion_path(StrictNodes(size), index, size)
    same_way = index < wrong_size and inclusion_way(index, wrong_size) == inclusion_way(index, size)
    accepted = verify_inclusion(LEAVES[index], index, wrong_size, path, naive_root(0, size))
    assert accepted == same_way


@given(leaf_positions(), size_bits)
def test_a_size_with_any_bit_changed_is_refused_together_with_its_own_root(
    position: tuple[int, int], bit: int
) -> None:
    index, size = position
    changed = size ^ (1 << bit)
    root = naive_root(0, changed) if changed <= len(LEAVES) else naive_root(0, size - 1)
    path = inclusion_path(StrictNodes(size), index, size)
    assert not verify_inclusion(LEAVES[index], index, changed, path, root)


@given(growths(), bits, st.data())
def test_a_consistency_proof_with_any_bit_changed_is_refused(
    growth: tuple[int, int], bit: int, data: st.DataObject
) -> None:
    old, new = growth
    old_root, new_root = naive_root(0, old), naive_root(0, new)
    path = consistency_path(StrictNodes(new), old, new)
    assert verify_consistency(old, old_root, new, new_root, path)
    assert not verify_consistency(old, flip(old_root, bit), new, new_root, path)
    assert not verify_consistency(old, old_root, new, flip(new_root, bit), path)
    at = data.draw(st.integers(0, len(path) - 1))
    assert not verify_consistency(old, old_root, new, new_root, flip_in(path, at, bit))
    assert not verify_consistency(old, old_root, new, new_root, path[:at] + path[at + 1 :])
    longer = [*path[:at], old_root, *path[at:]]
    assert not verify_consistency(old, old_root, new, new_root, longer)


@given(growths(), growths())
def test_wrong_sizes_are_refused_unless_they_lead_to_the_old_log_the_same_way(
    growth: tuple[int, int], wrong: tuple[int, int]
) -> None:
    old, new = growth
    old_root, new_root = naive_root(0, old), naive_root(0, new)
    path = consistency_path(StrictNodes(new), old, new)
    for old_size, new_size in ((wrong[0], new), (old, wrong[1]), wrong):
        same_way = old_size < new_size and consistency_way(old_size, new_size) == consistency_way(
            old, new
        )
        assert verify_consistency(old_size, old_root, new_size, new_root, path) == same_way


@given(growths(), st.integers(0, 4099), bits)
def test_a_log_that_rewrote_an_old_entry_has_no_consistency_proof(
    growth: tuple[int, int], rewritten: int, bit: int
) -> None:
    old, new = growth
    leaves = LEAVES[:new]
    leaves[rewritten % old] = flip(leaves[rewritten % old], bit)
    forged = Frontier()
    forged.extend(leaves)
    path = consistency_path(StrictNodes(new), old, new)
    assert not verify_consistency(old, naive_root(0, old), new, forged.root(), path)


@given(
    st.integers(),
    st.integers(),
    st.lists(st.one_of(st.binary(min_size=32, max_size=32), st.binary(max_size=3)), max_size=70),
    st.binary(min_size=31, max_size=33),
    st.binary(min_size=31, max_size=33),
)
def test_verifying_never_raises_whatever_the_bytes_and_numbers(
    first: int, second: int, path: list[bytes], one: bytes, other: bytes
) -> None:
    assert verify_inclusion(one, first, second, path, other) in (True, False)
    assert verify_consistency(first, one, second, other, path) in (True, False)
