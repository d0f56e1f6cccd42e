"""The Merkle log against published vectors and against the RFC's recursive definitions.

The `naive_` functions are RFC 9162 section 2.1 word for word, from the top down, and share no code
with the module, which works from the bottom up. The property tests use them too.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache

import pytest

from mycel.merkle.log import (
    EMPTY_ROOT,
    SIZE_MAX,
    Frontier,
    LogNodes,
    StoredNode,
    consistency_path,
    inclusion_path,
    leaf_hash,
    node_hash,
    root_at,
    verify_consistency,
    verify_inclusion,
)
from tests.cases import cases

SIZE_MAX_TESTED = 4096 + 20
LEAVES = [hashlib.sha256(b"\x00" + str(i).encode()).digest() for i in range(SIZE_MAX_TESTED)]
SIZES_AT_GROUP_EDGES = [15, 16, 17, 31, 33, 255, 256, 257, 271, 272, 4095, 4096, 4097, 4113]


def naive_split(count: int) -> int:
    """The largest power of two smaller than `count`."""
    power = 1
    while power * 2 < count:
        power *= 2
    return power


@cache
def naive_root(start: int, stop: int) -> bytes:
    """MTH(D[start:stop]) over LEAVES."""
    if start == stop:
        return hashlib.sha256(b"").digest()
    if stop - start == 1:
        return LEAVES[start]
    middle = start + naive_split(stop - start)
    children = naive_root(start, middle) + naive_root(middle, stop)
    return hashlib.sha256(b"\x01" + children).digest()


def naive_inclusion(index: int, start: int, stop: int) -> list[bytes]:
    """PATH(index, D[start:stop]) over LEAVES."""
    if stop - start == 1:
        return []
    middle = start + naive_split(stop - start)
    if index < middle - start:
        return [*naive_inclusion(index, start, middle), naive_root(middle, stop)]
    return [*naive_inclusion(index - (middle - start), middle, stop), naive_root(start, middle)]


def naive_consistency(old: int, start: int, stop: int, known: bool = True) -> list[bytes]:
    """SUBPROOF(old, D[start:stop], known) over LEAVES."""
    if old == stop - start:
        return [] if known else [naive_root(start, stop)]
    middle = start + naive_split(stop - start)
    if old <= middle - start:
        return [*naive_consistency(old, start, middle, known), naive_root(middle, stop)]
    rest = naive_consistency(old - (middle - start), middle, stop, False)
    return [*rest, naive_root(start, middle)]


class StrictNodes:
    """A `LogNodes` that refuses what no database holds, and remembers what it was asked."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.reads: list[tuple[int, int, int]] = []

    def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        return self._read(0, start, stop)

    def nodes(self, level: int, start: int, stop: int) -> Sequence[bytes]:
        assert level > 0, "leaves are not stored as nodes"
        assert level % 4 == 0, f"level {level} is not stored"
        return self._read(level, start, stop)

    def _read(self, level: int, start: int, stop: int) -> Sequence[bytes]:
        assert 0 <= start < stop, "an empty read costs a query"
        assert stop << level <= self.size, f"node {stop - 1} of level {level} is not complete"
        self.reads.append((level, start, stop))
        return tuple(naive_root(i << level, (i + 1) << level) for i in range(start, stop))


class LossyNodes:
    """A damaged `LogNodes`: every answer of another one goes through `damage`."""

    def __init__(self, whole: LogNodes, damage: Callable[[list[bytes]], list[bytes]]) -> None:
        self.whole = whole
        self.damage = damage

    def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        return self.damage(list(self.whole.leaves(start, stop)))

    def nodes(self, level: int, start: int, stop: int) -> Sequence[bytes]:
        return self.damage(list(self.whole.nodes(level, start, stop)))


def frontier_of(size: int) -> Frontier:
    frontier = Frontier()
    frontier.extend(LEAVES[:size])
    return frontier


def stored_nodes(size: int) -> list[StoredNode]:
    """Every complete node at a stored level of a log of `size` leaves."""
    return [
        (level, index, naive_root(index << level, (index + 1) << level))
        for level in (4, 8, 12)
        for index in range(size >> level)
    ]


# The reference tree of the Certificate Transparency project (RFC 6962 hashes as RFC 9162 does).
CT_ENTRIES = [
    bytes.fromhex(entry)
    for entry in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
CT_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
CT_INCLUSION = [
    (0, 1, []),
    (
        0,
        8,
        [
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        5,
        8,
        [
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (2, 3, ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]),
    (
        1,
        5,
        [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    ),
]
CT_CONSISTENCY = [
    (1, 1, []),
    (
        1,
        8,
        [
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        6,
        8,
        [
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (
        2,
        5,
        [
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    ),
    (
        6,
        7,
        [
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
]


class ListedNodes:
    """A `LogNodes` over a short list of leaves, too short for any stored level."""

    def __init__(self, hashes: Sequence[bytes]) -> None:
        self.hashes = hashes

    def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        return self.hashes[start:stop]

    def nodes(self, level: int, start: int, stop: int) -> Sequence[bytes]:
        raise AssertionError("a log this short has no stored nodes")


CT_LEAVES = [leaf_hash(entry) for entry in CT_ENTRIES]
CT_NODES = ListedNodes(CT_LEAVES)


@cases("size", range(9))
def test_roots_equal_the_certificate_transparency_reference_tree(size: int) -> None:
    frontier = Frontier()
    for leaf in CT_LEAVES[:size]:
        frontier.append(leaf)
    assert frontier.root().hex() == CT_ROOTS[size]
    assert root_at(CT_NODES, size).hex() == CT_ROOTS[size]


@cases(("index", "size", "path"), CT_INCLUSION)
def test_inclusion_paths_equal_the_reference_and_verify(
    index: int, size: int, path: list[str]
) -> None:
    proof = inclusion_path(CT_NODES, index, size)
    assert [node.hex() for node in proof] == path
    assert verify_inclusion(CT_LEAVES[index], index, size, proof, bytes.fromhex(CT_ROOTS[size]))


@cases(("old", "new", "path"), CT_CONSISTENCY)
def test_consistency_paths_equal_the_reference_and_verify(
    old: int, new: int, path: list[str]
) -> None:
    old_root, new_root = bytes.fromhex(CT_ROOTS[old]), bytes.fromhex(CT_ROOTS[new])
    proof = consistency_path(CT_NODES, old, new)
    assert [node.hex() for node in proof] == path
    assert verify_consistency(old, old_root, new, new_root, proof)


def test_an_entry_cannot_pose_as_an_inner_node() -> None:
    left, right = leaf_hash(b"left"), leaf_hash(b"right")
    assert leaf_hash(left + right) != node_hash(left, right)
    assert leaf_hash(b"") != EMPTY_ROOT


def test_the_frontier_has_the_recursive_root_at_every_size() -> None:
    frontier = Frontier()
    for size in range(300):
        assert frontier.size == size
        assert frontier.root() == naive_root(0, size)
        frontier.append(LEAVES[size])


def test_appending_returns_each_node_to_store_once_when_it_completes() -> None:
    frontier = Frontier()
    completed: list[StoredNode] = []
    for size, leaf in enumerate(LEAVES, start=1):
        new = frontier.append(leaf)
        assert all((index + 1) << level == size for level, index, _ in new)
        completed += new
    assert sorted(completed) == sorted(stored_nodes(len(LEAVES)))


@cases("before", [0, 1, 5, 15, 16, 17, 255, 4095])
@cases("added", [0, 1, 2, 15, 16, 17, 21, 39, 40, 41, 300])
def test_extending_does_what_appending_one_by_one_does(before: int, added: int) -> None:
    one_by_one, at_once = frontier_of(before), frontier_of(before)
    batch = [leaf_hash(bytes([n % 256, n // 256])) for n in range(added)]
    completed = [node for leaf in batch for node in one_by_one.append(leaf)]
    assert sorted(at_once.extend(iter(batch))) == sorted(completed)
    assert at_once.to_bytes() == one_by_one.to_bytes()


def test_a_leaf_that_is_not_a_hash_is_refused_and_changes_nothing() -> None:
    frontier = frontier_of(7)
    before = frontier.to_bytes()
    with pytest.raises(ValueError, match="32 bytes"):
        frontier.append(b"an entry instead of its hash")
    with pytest.raises(ValueError, match="32 bytes"):
        frontier.extend([LEAVES[7], b""])
    assert frontier.to_bytes() == before


FIVE = (5).to_bytes(8, "big") + naive_root(0, 4) + LEAVES[4]


def test_a_frontier_is_eight_bytes_and_one_hash_per_set_bit_of_its_size() -> None:
    assert Frontier().to_bytes() == bytes(8)
    assert frontier_of(5).to_bytes() == FIVE


@cases("data", [b"", bytes(7), bytes(9), bytes(40), FIVE[:-1], FIVE + b"\x00", FIVE[:40]])
def test_bytes_of_another_length_are_not_a_frontier(data: bytes) -> None:
    with pytest.raises(ValueError, match="frontier"):
        Frontier.from_bytes(data)


@cases(
    ("size", "peaks"),
    [(0, LEAVES[:1]), (3, LEAVES[:1]), (2, [b"short"]), (-1, LEAVES[:1]), (2**64, LEAVES[:1])],
)
def test_peaks_that_do_not_fit_the_size_are_not_a_frontier(size: int, peaks: list[bytes]) -> None:
    with pytest.raises(ValueError, match="not the peaks"):
        Frontier(size, peaks)


def test_a_frontier_read_back_goes_on_where_it_was_written() -> None:
    restored = Frontier.from_bytes(FIVE)
    assert restored.size == 5
    restored.extend(LEAVES[5:20])
    assert restored.root() == naive_root(0, 20)


@cases("size", SIZES_AT_GROUP_EDGES)
def test_a_past_root_is_read_back_from_a_longer_log(size: int) -> None:
    assert root_at(StrictNodes(SIZE_MAX_TESTED), size) == naive_root(0, size)


def test_every_small_past_root_equals_the_recursive_one() -> None:
    nodes = StrictNodes(70)
    for size in range(71):
        assert root_at(nodes, size) == naive_root(0, size)


@cases("size", range(1, 73))
def test_every_inclusion_path_equals_the_recursive_one_and_verifies(size: int) -> None:
    root = naive_root(0, size)
    for index in range(size):
        path = inclusion_path(StrictNodes(size), index, size)
        assert path == naive_inclusion(index, 0, size)
        assert verify_inclusion(LEAVES[index], index, size, path, root)


@cases("new", range(1, 73))
def test_every_consistency_path_equals_the_recursive_one_and_verifies(new: int) -> None:
    for old in range(1, new + 1):
        path = consistency_path(StrictNodes(new), old, new)
        assert path == naive_consistency(old, 0, new)
        assert verify_consistency(old, naive_root(0, old), new, naive_root(0, new), path)


@cases("size", SIZES_AT_GROUP_EDGES)
def test_inclusion_paths_are_right_around_the_edges_of_stored_groups(size: int) -> None:
    edges = {0, 1, *(at + step for at in SIZES_AT_GROUP_EDGES for step in (-1, 0, 1)), size - 1}
    for index in sorted(edge for edge in edges if edge < size):
        path = inclusion_path(StrictNodes(size), index, size)
        assert path == naive_inclusion(index, 0, size)
        assert verify_inclusion(LEAVES[index], index, size, path, naive_root(0, size))


@cases("new", SIZES_AT_GROUP_EDGES)
def test_consistency_paths_are_right_around_the_edges_of_stored_groups(new: int) -> None:
    olds = {1, 2, 8, 48, 64, 512, 2048, 3840, 4080, *SIZES_AT_GROUP_EDGES, new - 1}
    for old in sorted(old for old in olds if old <= new):
        path = consistency_path(StrictNodes(new), old, new)
        assert path == naive_consistency(old, 0, new)
        assert verify_consistency(old, naive_root(0, old), new, naive_root(0, new), path)


@pytest.mark.parametrize("size", [4095, 4096, 4097, SIZE_MAX_TESTED])
def test_a_proof_reads_at_most_two_groups_of_sixteen_per_stored_level(size: int) -> None:
    for position in range(1, size, 97):
        for build in (inclusion_path, consistency_path):
            nodes = StrictNodes(size)
            build(nodes, position, size)
            levels = [level for level, _, _ in nodes.reads]
            assert all(levels.count(level) <= 2 for level in levels)
            assert all(stop - start <= 16 for _, start, stop in nodes.reads)


def test_a_root_reads_one_run_of_nodes_per_stored_level() -> None:
    nodes = StrictNodes(SIZE_MAX_TESTED)
    root_at(nodes, 0xFFF)
    assert nodes.reads == [(8, 0, 15), (4, 240, 255), (0, 4080, 4095)]


def test_equal_sizes_need_an_empty_path_and_equal_roots() -> None:
    root, other = naive_root(0, 9), naive_root(0, 10)
    assert consistency_path(StrictNodes(9), 9, 9) == []
    assert verify_consistency(9, root, 9, root, [])
    assert not verify_consistency(9, root, 9, other, [])
    assert not verify_consistency(9, root, 9, root, [root])


def test_every_log_is_consistent_with_the_empty_one() -> None:
    root = naive_root(0, 9)
    assert consistency_path(StrictNodes(9), 0, 9) == []
    assert verify_consistency(0, EMPTY_ROOT, 9, root, [])
    assert verify_consistency(0, EMPTY_ROOT, 0, EMPTY_ROOT, [])
    assert not verify_consistency(0, root, 9, root, [])
    assert not verify_consistency(0, root, 0, root, [])
    assert not verify_consistency(0, EMPTY_ROOT, 0, root, [])
    assert not verify_consistency(0, EMPTY_ROOT, 9, root, [root])


def test_an_empty_path_proves_no_growth_from_a_log_with_entries() -> None:
    assert not verify_consistency(4, naive_root(0, 4), 9, naive_root(0, 9), [])
    assert not verify_consistency(4, naive_root(0, 4), 9, naive_root(0, 4), [])


def test_a_proof_for_another_size_is_refused_under_the_head_of_that_size() -> None:
    for size in range(1, 40):
        for other in range(1, 40):
            path = inclusion_path(StrictNodes(size), 0, size)
            accepted = verify_inclusion(LEAVES[0], 0, other, path, naive_root(0, other))
            assert accepted == (other == size)


def test_a_root_alone_does_not_fix_the_size() -> None:
    # Why a head is a size and a root together: leaf 0 is reached the same way in logs of 3 and 4.
    path = inclusion_path(StrictNodes(3), 0, 3)
    assert verify_inclusion(LEAVES[0], 0, 4, path, naive_root(0, 3))


MALFORMED_INCLUSION = {
    "short leaf": {"leaf": LEAVES[2][:-1]},
    "long leaf": {"leaf": LEAVES[2] + b"\x00"},
    "text leaf": {"leaf": "x" * 32},
    "short root": {"root": naive_root(0, 11)[:-1]},
    "missing root": {"root": None},
    "negative index": {"index": -1},
    "index equal to size": {"index": 11},
    "fractional index": {"index": 2.0},
    "empty log": {"size": 0},
    "negative size": {"size": -11},
    "size beyond 64 bits": {"size": SIZE_MAX + 1},
    "textual size": {"size": "11"},
    "no path": {"path": None},
    "path of text": {"path": ["x" * 32] * 4},
    "empty path": {"path": []},
    "path cut short": {"path": naive_inclusion(2, 0, 11)[:-1]},
    "path with one more": {"path": [*naive_inclusion(2, 0, 11), LEAVES[0]]},
    "endless path": {"path": [LEAVES[0]] * 10_000},
    "path with a short hash": {"path": [*naive_inclusion(2, 0, 11)[:-1], b""]},
}


@cases("change", MALFORMED_INCLUSION.values())
def test_malformed_inclusion_proofs_are_refused_without_raising(change: dict[str, object]) -> None:
    proof: dict[str, object] = {
        "leaf": LEAVES[2],
        "index": 2,
        "size": 11,
        "path": naive_inclusion(2, 0, 11),
        "root": naive_root(0, 11),
    }
    verify: Callable[..., bool] = verify_inclusion
    assert verify(**proof) is True
    assert verify(**(proof | change)) is False


MALFORMED_CONSISTENCY = {
    "short old root": {"old_root": naive_root(0, 6)[:-1]},
    "missing new root": {"new_root": None},
    "negative old size": {"old_size": -1},
    "shrinking log": {"old_size": 12},
    "fractional old size": {"old_size": 6.0},
    "empty new log": {"new_size": 0},
    "size beyond 64 bits": {"new_size": SIZE_MAX + 1},
    "no path": {"path": None},
    "path of text": {"path": ["x" * 32] * 5},
    "empty path": {"path": []},
    "path cut short": {"path": naive_consistency(6, 0, 11)[:-1]},
    "path with one more": {"path": [*naive_consistency(6, 0, 11), LEAVES[0]]},
    "endless path": {"path": [LEAVES[0]] * 10_000},
    "path with a short hash": {"path": [*naive_consistency(6, 0, 11)[:-1], b""]},
    "heads exchanged": {
        "old_size": 11,
        "old_root": naive_root(0, 11),
        "new_size": 6,
        "new_root": naive_root(0, 6),
    },
}


@cases("change", MALFORMED_CONSISTENCY.values())
def test_malformed_consistency_proofs_are_refused_without_raising(
    change: dict[str, object],
) -> None:
    proof: dict[str, object] = {
        "old_size": 6,
        "old_root": naive_root(0, 6),
        "new_size": 11,
        "new_root": naive_root(0, 11),
        "path": naive_consistency(6, 0, 11),
    }
    verify: Callable[..., bool] = verify_consistency
    assert verify(**proof) is True
    assert verify(**(proof | change)) is False


def test_a_path_longer_than_the_log_is_deep_is_refused_even_under_a_root_made_for_it() -> None:
    for size in range(1, 20):
        path, root = naive_inclusion(0, 0, size), naive_root(0, size)
        for deeper in (node_hash(root, LEAVES[50]), node_hash(LEAVES[50], root)):
            assert not verify_inclusion(LEAVES[0], 0, size, [*path, LEAVES[50]], deeper)


def test_a_shrinking_log_is_refused_even_with_roots_made_for_it() -> None:
    first, second = LEAVES[:2]
    assert not verify_consistency(3, first, 2, node_hash(first, second), [first, second])


def test_the_longest_honest_paths_are_accepted() -> None:
    # No log is this long: the siblings are made up, and the roots computed along the way.
    start, *siblings = (hashlib.sha256(bytes([i])).digest() for i in range(65))
    root = start
    for sibling in siblings:
        root = node_hash(root, sibling)
    assert verify_inclusion(start, 0, SIZE_MAX, siblings, root)

    # From a log of 3, the walk starts at leaf 2, which is a right child only at level 1.
    old_root = node_hash(siblings[1], start)
    new_root = node_hash(siblings[1], node_hash(start, siblings[0]))
    for sibling in siblings[2:]:
        new_root = node_hash(new_root, sibling)
    assert verify_consistency(3, old_root, SIZE_MAX, new_root, [start, *siblings])


@pytest.mark.parametrize(("index", "size"), [(-1, 5), (5, 5), (0, 0), (7, 5)])
def test_asking_for_a_leaf_outside_the_log_is_an_error(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="no leaf"):
        inclusion_path(StrictNodes(10), index, size)


@pytest.mark.parametrize(("old", "new"), [(-1, 5), (6, 5), (-2, -1)])
def test_asking_for_a_shrinking_log_is_an_error(old: int, new: int) -> None:
    with pytest.raises(ValueError, match="does not grow"):
        consistency_path(StrictNodes(10), old, new)


def test_asking_for_a_log_of_negative_size_is_an_error() -> None:
    with pytest.raises(ValueError, match="cannot have -1 leaves"):
        root_at(StrictNodes(10), -1)


DAMAGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a lost row": lambda row: row[1:],
    "a row too many": lambda row: [*row, row[0]],
    "a truncated hash": lambda row: [*row[:-1], row[-1][:-1]],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_store_that_lost_hashes_raises_instead_of_giving_a_wrong_root(
    damage: Callable[[list[bytes]], list[bytes]],
) -> None:
    nodes = LossyNodes(StrictNodes(300), damage)
    with pytest.raises(LookupError, match="the log lacks hashes"):
        root_at(nodes, 300)
    with pytest.raises(LookupError, match="the log lacks hashes"):
        inclusion_path(nodes, 20, 300)
    with pytest.raises(LookupError, match="the log lacks hashes"):
        consistency_path(nodes, 48, 300)
