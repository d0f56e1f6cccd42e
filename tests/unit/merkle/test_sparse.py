"""The sparse tree against its definition, its pages, and its proofs against every small change.

The `naive_` functions are the definition in the module's docstring, bit by bit from the top, and
share no code with the module. The property tests use them too.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise

import pytest

from mycel.merkle.sparse import (
    BRANCH_BIT_MAX,
    BUCKET_LEAVES_MAX,
    EMPTY,
    ROOT_PAGE,
    SparseProof,
    check,
    get,
    is_branch,
    leaf_hash,
    leaves,
    prove,
    root,
    update,
    verify_absent,
    verify_member,
)

Leaves = Mapping[bytes, bytes]


def digest(text: object) -> bytes:
    return sha256(str(text).encode()).digest()


def bit_of(key: bytes, bit: int) -> int:
    return int.from_bytes(key) >> (255 - bit) & 1


def naive_root(tree: Leaves, bit: int = 0) -> bytes:
    """The root by the definition: a subtree with one side is that side."""
    if not tree:
        return bytes(32)
    if len(tree) == 1:
        [(key, record_hash)] = tree.items()
        return sha256(b"\x00" + key + record_hash).digest()
    left, right = naive_sides(tree, bit)
    if not left or not right:
        return naive_root(left or right, bit + 1)
    below = naive_root(left, bit + 1) + naive_root(right, bit + 1)
    return sha256(b"\x01" + bytes([bit]) + below).digest()


def naive_sides(tree: Leaves, bit: int) -> tuple[Leaves, Leaves]:
    left = {key: value for key, value in tree.items() if not bit_of(key, bit)}
    return left, {key: value for key, value in tree.items() if key not in left}


def naive_proof(tree: Leaves, key: bytes) -> SparseProof:
    """The way from the root to the leaf where `key` would be."""
    if not tree:
        return SparseProof((), None, None)
    steps = []
    for bit in range(256):
        left, right = naive_sides(tree, bit)
        if left and right:
            tree, other = (right, left) if bit_of(key, bit) else (left, right)
            steps.append((bit, naive_root(other, bit + 1)))
    [(leaf_key, record_hash)] = tree.items()
    return SparseProof(tuple(steps), leaf_key, record_hash)


class Pages(dict[int, bytes]):
    """Pages in memory. Numbers must fit the database's integers."""

    def put(self, page: int, body: bytes) -> None:
        assert 0 < page < 2**63
        assert type(body) is bytes
        self[page] = body

    def delete(self, page: int) -> None:
        self.pop(page, None)


def apply(pages: Pages, changes: Mapping[bytes, bytes | None]) -> bytes:
    keys = sorted(changes)
    return update(pages, keys, [changes[key] for key in keys])


def grown(tree: Leaves) -> Pages:
    pages = Pages()
    apply(pages, tree)
    return pages


def numbered(count: int, start: int = 0) -> dict[bytes, bytes]:
    """Leaves with keys as scattered as real ones."""
    return {digest(n): digest(f"record {n}") for n in range(start, start + count)}


def crowded(count: int, shared_bits: int = 200) -> dict[bytes, bytes]:
    """Leaves whose keys agree in their first bits: what an attacker would like to find."""
    prefix = int.from_bytes(digest("crowd")) >> (256 - shared_bits) << (256 - shared_bits)
    keys = [(prefix + n).to_bytes(32) for n in range(count)]
    return {key: digest(key) for key in keys}


def flip(value: bytes, bit: int) -> bytes:
    changed = bytearray(value)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


ONE = {digest("key"): digest("record")}
SHAPES = {
    "one leaf": ONE,
    "two leaves": numbered(2),
    "a bucket": numbered(20),
    "a full bucket": numbered(BUCKET_LEAVES_MAX),
    "a branch": numbered(BUCKET_LEAVES_MAX + 1),
    "branches below branches": numbered(1500),
    "a crowd": crowded(100),
    "a crowd in company": numbered(100) | crowded(100) | crowded(40, 61),
    "keys that differ in the last bit": crowded(2, 255),
    "the outermost keys": {bytes(32): digest(1), b"\xff" * 32: digest(2)},
    "one key on each side": {bytes(31) + b"\x01": digest(1), b"\x80" + bytes(31): digest(2)},
}
every_shape = pytest.mark.parametrize("tree", SHAPES.values(), ids=SHAPES.keys())


# ---------------------------------------------------------------------------------------------
# Roots


def test_the_empty_tree_has_32_zero_bytes_for_a_root() -> None:
    assert root(Pages()) == EMPTY == bytes(32)
    assert update(Pages(), [], []) == EMPTY
    assert list(leaves(Pages())) == []
    assert get(Pages(), digest("key")) is None


def test_a_tree_of_one_leaf_is_that_leaf() -> None:
    [(key, record_hash)] = ONE.items()
    pages = grown(ONE)
    expected = sha256(b"\x00" + key + record_hash).digest()
    assert root(pages) == leaf_hash(key, record_hash) == expected
    assert list(pages) == [ROOT_PAGE]


def test_two_leaves_hash_the_bit_at_which_they_part() -> None:
    low, high = bytes(32), bytes(31) + b"\x10"  # They part at bit 251.
    joined = leaf_hash(low, digest(1)) + leaf_hash(high, digest(2))
    assert root(grown({low: digest(1), high: digest(2)})) == (
        sha256(b"\x01\xfb" + joined).digest()
    )


def test_the_root_of_known_leaves_never_changes() -> None:
    assert root(grown(numbered(1000))).hex() == "1a8ce8e3747b716103c0cfdb5e97c8d5d99275547e4fd9296f30a46aef52dd4a"
    assert root(grown(crowded(100))).hex() == "cef9e528cdd6c284235593a4a1debe5fcbc65288b8ae636469930b32a9c6ae5a"


@every_shape
def test_the_root_is_that_of_the_definition(tree: Leaves) -> None:
    assert root(grown(tree)) == naive_root(tree)


@every_shape
def test_leaves_come_in_the_order_of_their_keys(tree: Leaves) -> None:
    assert list(leaves(grown(tree))) == sorted(tree.items())


@every_shape
def test_a_record_is_found_under_its_key_and_under_no_other(tree: Leaves) -> None:
    pages = grown(tree)
    for key, record_hash in tree.items():
        assert get(pages, key) == record_hash
        for bit in (0, 3, 51, 52, 255):
            other = flip(key, bit)
            assert get(pages, other) == tree.get(other)


@every_shape
def test_one_leaf_at_a_time_gives_the_same_root_in_either_direction(tree: Leaves) -> None:
    for keys in (list(tree), list(reversed(tree))):
        pages = Pages()
        for key in keys:
            update(pages, [key], [tree[key]])
        assert root(pages) == root(grown(tree))


@every_shape
def test_removing_one_leaf_at_a_time_walks_back_to_nothing(tree: Leaves) -> None:
    pages = Pages()
    roots = [update(pages, [key], [tree[key]]) for key in tree]
    for key, before in zip(reversed(tree), [*reversed(roots[:-1]), EMPTY], strict=True):
        assert update(pages, [key], [None]) == before
    assert pages == {}


@every_shape
def test_removing_all_at_once_leaves_no_page_behind(tree: Leaves) -> None:
    pages = grown(tree)
    assert apply(pages, dict.fromkeys(tree)) == EMPTY
    assert pages == {}


@every_shape
def test_removing_what_is_not_there_changes_nothing(tree: Leaves) -> None:
    pages = grown(tree)
    before = dict(pages)
    absent = [digest(f"absent {n}") for n in range(50)]
    assert apply(pages, dict.fromkeys(absent)) == root(grown(tree))
    assert pages == before


@every_shape
def test_replacing_a_record_and_putting_it_back_restores_every_page(tree: Leaves) -> None:
    pages = grown(tree)
    before, old_root = dict(pages), root(pages)
    key = min(tree)
    assert update(pages, [key], [digest("another")]) == naive_root({**tree, key: digest("another")})
    assert update(pages, [key], [tree[key]]) == old_root
    assert pages == before


def test_a_batch_may_set_replace_and_remove_at_once() -> None:
    old, new = numbered(300), numbered(300, start=200)
    changes = {key: None for key in list(old)[:100]} | new | {list(old)[150]: digest("replaced")}
    pages = grown(old)
    expected = {key: value for key, value in {**old, **changes}.items() if value is not None}
    assert apply(pages, changes) == naive_root(expected)
    assert list(leaves(pages)) == sorted(expected.items())


def test_hashes_that_begin_with_a_zero_byte_are_not_taken_for_nothing() -> None:
    zero_first = [n for n in range(40_000) if leaf_hash(digest(n), EMPTY)[:1] == b"\0"][:100]
    assert len(zero_first) == 100
    tree = {digest(n): EMPTY for n in zero_first}
    pages = grown(tree)
    # Children with one leaf have that leaf's hash in the branch above them.
    assert is_branch(pages[ROOT_PAGE])
    assert root(pages) == naive_root(tree)
    for key in tree:
        assert verify_member(root(pages), key, EMPTY, prove(pages, key))


# ---------------------------------------------------------------------------------------------
# Pages


def test_a_bucket_splits_when_it_would_hold_more_than_32_leaves() -> None:
    tree = numbered(BUCKET_LEAVES_MAX + 1)
    *first, last = tree
    pages = grown({key: tree[key] for key in first})
    assert list(pages) == [ROOT_PAGE]
    assert not is_branch(pages[ROOT_PAGE])
    update(pages, [last], [tree[last]])
    assert is_branch(pages[ROOT_PAGE])
    assert {page >> 4 for page in pages if page != ROOT_PAGE} == {ROOT_PAGE}
    assert sorted(page & 15 for page in pages if page > 1) == sorted({key[0] >> 4 for key in tree})


def test_replacing_a_record_in_a_full_bucket_does_not_split_it() -> None:
    tree = numbered(BUCKET_LEAVES_MAX)
    pages = grown(tree)
    update(pages, [min(tree)], [digest("another")])
    assert list(pages) == [ROOT_PAGE]


def test_a_branch_that_lost_most_of_its_leaves_works_like_a_bucket() -> None:
    tree = numbered(200)
    kept = dict(list(tree.items())[:2])
    pages = grown(tree)
    apply(pages, {key: None for key in tree if key not in kept})
    assert is_branch(pages[ROOT_PAGE])
    assert root(pages) == root(grown(kept))
    for key in [*tree, bytes(32), b"\xff" * 32]:
        assert prove(pages, key) == naive_proof(kept, key)


def test_a_crowd_ends_in_one_bucket_at_the_deepest_page() -> None:
    pages = grown(crowded(200))
    [deepest] = [page for page, body in pages.items() if not is_branch(body)]
    assert deepest.bit_length() == BRANCH_BIT_MAX + 1
    assert len(pages) == BRANCH_BIT_MAX // 4 + 1
    # It grows one by one as well, and shrinks to nothing.
    tree = crowded(220)
    for key in list(tree)[200:]:
        update(pages, [key], [tree[key]])
    assert max(pages) == deepest
    assert root(pages) == naive_root(tree)
    for key in tree:
        update(pages, [key], [None])
    assert pages == {}


def test_an_update_reads_and_writes_each_page_once() -> None:
    class Counting(Pages):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)
            self.touched: list[tuple[str, int]] = []

        def get(self, page: int) -> bytes | None:  # type: ignore[override]
            self.touched.append(("get", page))
            return super().get(page)

        def put(self, page: int, body: bytes) -> None:
            self.touched.append(("put", page))
            super().put(page, body)

    pages = Counting(grown(numbered(2000)))
    apply(pages, numbered(2000, start=1000))
    reads = [page for kind, page in pages.touched if kind == "get"]
    writes = [page for kind, page in pages.touched if kind == "put"]
    assert len(reads) == len(set(reads))
    assert len(writes) == len(set(writes))


def test_one_change_to_a_large_tree_touches_few_pages() -> None:
    pages = grown(numbered(20_000))
    before = dict(pages)
    update(pages, [digest("new")], [digest("record")])
    changed = {page for page in pages.keys() | before.keys() if pages.get(page) != before.get(page)}
    # The way down, and at most the sixteen children of a bucket that split.
    assert 2 <= len(changed) <= 6 + 16


# ---------------------------------------------------------------------------------------------
# Checking stored pages


@every_shape
def test_a_sound_tree_has_no_problem_on_any_page(tree: Leaves) -> None:
    pages = grown(tree)
    assert dict(check(pages)) == dict.fromkeys(pages, "")


def test_an_empty_tree_has_no_page_to_check() -> None:
    assert list(check(Pages())) == []


def test_a_damaged_bit_in_any_page_is_found() -> None:
    pages = grown(numbered(60))
    for page, body in list(pages.items()):
        for at in range(0, len(body) * 8, 13):
            pages[page] = flip(body, at)
            assert any(problem for _, problem in check(pages)), f"bit {at} of page {page}"
        pages[page] = body


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: b"",
        lambda body: b"\x00",
        lambda body: body[:-1],
        lambda body: body + b"\x00",
        lambda body: body[:1] + body[98:],
        lambda body: body + body[1:98],
        lambda body: b"\x02" + body[1:],
    ],
)
def test_a_page_of_another_size_or_kind_is_found(damage: Callable[[bytes], bytes]) -> None:
    pages = grown(numbered(60))
    for page, body in list(pages.items()):
        pages[page] = damage(body)
        assert any(problem for _, problem in check(pages))
        pages[page] = body


def test_a_missing_page_and_a_page_in_anothers_place_are_found() -> None:
    pages = grown(numbered(60))
    first, second = sorted(pages)[1:3]
    assert (first, "is missing") in check(Pages(pages.items() - {(first, pages[first])}))
    swapped = Pages(pages | {first: pages[second], second: pages[first]})
    assert {first, second} <= {page for page, problem in check(swapped) if problem}


def test_a_page_that_nothing_leads_to_is_not_reached() -> None:
    pages = grown(numbered(60))
    free = next(page for page in range(256, 512) if page >> 4 in pages)
    pages[free] = pages[min(pages.keys() - {ROOT_PAGE})]
    assert free not in dict(check(pages))


# ---------------------------------------------------------------------------------------------
# Proofs


@every_shape
def test_the_proof_of_a_member_is_that_of_the_definition_and_verifies(tree: Leaves) -> None:
    pages, top = grown(tree), root(grown(tree))
    for key in list(tree)[:: len(tree) // 20 + 1]:
        proof = prove(pages, key)
        assert proof == naive_proof(tree, key)
        assert verify_member(top, key, tree[key], proof)
        assert not verify_absent(top, key, proof)


@every_shape
def test_the_proof_of_an_absentee_is_that_of_the_definition_and_verifies(tree: Leaves) -> None:
    pages, top = grown(tree), root(grown(tree))
    near = [flip(key, bit) for key in list(tree)[:5] for bit in (0, 60, 255)]
    far = [digest(f"absent {n}") for n in range(10)] + [bytes(32), b"\xff" * 32]
    absent = [key for key in near + far if key not in tree]
    assert len(absent) >= 10
    for key in absent:
        proof = prove(pages, key)
        assert proof == naive_proof(tree, key)
        assert verify_absent(top, key, proof)
        assert proof.leaf_record_hash is not None
        assert not verify_member(top, key, proof.leaf_record_hash, proof)


def test_in_the_empty_tree_everything_is_absent_and_nothing_a_member() -> None:
    proof = prove(Pages(), digest("key"))
    assert proof == SparseProof((), None, None)
    assert verify_absent(EMPTY, digest("key"), proof)
    assert not verify_member(EMPTY, digest("key"), digest("record"), proof)
    assert not verify_member(EMPTY, digest("key"), EMPTY, proof)


def test_the_proof_of_the_empty_tree_proves_nothing_about_another() -> None:
    proof = prove(Pages(), digest("key"))
    assert not verify_absent(root(grown(ONE)), digest("key"), proof)
    assert not verify_absent(EMPTY, digest("key")[:31], proof)
    assert not verify_absent(EMPTY, digest("key"), replace(proof, steps=((0, EMPTY),)))


@pytest.fixture(scope="module")
def forest() -> tuple[dict[bytes, bytes], Pages, bytes]:
    tree = numbered(60) | crowded(3)
    return tree, grown(tree), naive_root(tree)


def every_bit_changed(proof: SparseProof) -> list[SparseProof]:
    """The proof with each bit of it changed, one at a time."""
    assert proof.leaf_key is not None
    assert proof.leaf_record_hash is not None
    changed = []
    for bit in range(256):
        changed += [
            replace(proof, leaf_key=flip(proof.leaf_key, bit)),
            replace(proof, leaf_record_hash=flip(proof.leaf_record_hash, bit)),
        ]
        for at, (parting, sibling) in enumerate(proof.steps):
            steps = list(proof.steps)
            steps[at] = (parting, flip(sibling, bit))
            changed.append(replace(proof, steps=tuple(steps)))
            if bit != parting:
                steps[at] = (bit, sibling)
                changed.append(replace(proof, steps=tuple(steps)))
    return changed


@pytest.mark.parametrize("key", [digest(5), max(crowded(3))], ids=["scattered", "crowded"])
def test_a_proof_of_membership_with_any_bit_changed_is_refused(forest, key: bytes) -> None:
    tree, pages, top = forest
    proof = prove(pages, key)
    assert len(proof.steps) >= 4
    assert verify_member(top, key, tree[key], proof)
    for changed in every_bit_changed(proof):
        assert not verify_member(top, key, tree[key], changed)
    for bit in range(256):
        other_key, other_hash = flip(key, bit), flip(tree[key], bit)
        assert not verify_member(top, other_key, tree[key], proof)
        assert not verify_member(top, key, other_hash, proof)
        assert not verify_member(flip(top, bit), key, tree[key], proof)
        # The same where the proof says so too.
        claim = replace(proof, leaf_key=other_key)
        assert not verify_member(top, other_key, tree[key], claim)
        claim = replace(proof, leaf_record_hash=other_hash)
        assert not verify_member(top, key, other_hash, claim)


@pytest.mark.parametrize("key", [digest("absent"), flip(max(crowded(3)), 0)])
def test_a_proof_of_absence_with_any_bit_changed_is_refused(forest, key: bytes) -> None:
    _, pages, top = forest
    proof = prove(pages, key)
    assert len(proof.steps) >= 4
    assert verify_absent(top, key, proof)
    for changed in every_bit_changed(proof):
        assert not verify_absent(top, key, changed)
    for bit in range(256):
        assert not verify_absent(flip(top, bit), key, proof)


def test_a_proof_of_absence_serves_exactly_the_absent_keys_that_would_be_in_that_place(
    forest,
) -> None:
    tree, pages, top = forest
    key = digest("absent")
    proof = prove(pages, key)
    nearby = [flip(key, bit) for bit in range(256)] + [*tree]
    accepted = [other for other in nearby if verify_absent(top, other, proof)]
    assert accepted == [
        other for other in nearby if other not in tree and naive_proof(tree, other) == proof
    ]
    assert 0 < len(accepted) < len(nearby)


def test_steps_left_out_doubled_swapped_or_added_are_refused(forest) -> None:
    tree, pages, top = forest
    member, absentee = digest(5), digest("absent")

    def refused(steps: list[tuple[int, bytes]], proof: SparseProof) -> bool:
        changed = replace(proof, steps=tuple(steps))
        return not (
            verify_member(top, member, tree[member], changed) or verify_absent(top, absentee, changed)
        )

    for proof in (prove(pages, member), prove(pages, absentee)):
        steps = list(proof.steps)
        assert not refused(steps, proof)
        assert refused(steps[::-1], proof)
        for at, step in enumerate(steps):
            assert refused(steps[:at] + steps[at + 1 :], proof)
            assert refused([*steps[:at], step, *steps[at:]], proof)
            assert refused([*steps[:at], (max(0, step[0] - 1), EMPTY), *steps[at:]], proof)
            assert refused(steps[:at], proof)
        for at in range(len(steps) - 1):
            swapped = [*steps[:at], steps[at + 1], steps[at], *steps[at + 2 :]]
            assert refused(swapped, proof)
        assert refused([*steps, (255, EMPTY)], proof)


def test_the_proof_of_one_key_does_not_serve_another(forest) -> None:
    tree, pages, top = forest
    for one, other in pairwise(tree):
        assert not verify_member(top, one, tree[one], prove(pages, other))
        assert not verify_absent(top, one, prove(pages, other))


def test_an_inner_node_cannot_pose_as_a_leaf() -> None:
    tree = numbered(2)
    (left, right) = (leaf_hash(key, tree[key]) for key in sorted(tree))
    proof = SparseProof((), left, right)
    assert not verify_member(root(grown(tree)), left, right, proof)
    assert not verify_absent(root(grown(tree)), digest("absent"), proof)


def test_a_leaf_hash_as_the_root_needs_no_steps_and_takes_none() -> None:
    [(key, record_hash)] = ONE.items()
    top = leaf_hash(key, record_hash)
    assert prove(grown(ONE), key) == SparseProof((), key, record_hash)
    assert verify_member(top, key, record_hash, SparseProof((), key, record_hash))
    assert not verify_member(top, key, record_hash, SparseProof(((0, EMPTY),), key, record_hash))


@pytest.mark.parametrize("bit", [-1, -256, 256, 2**70])
def test_bits_that_no_key_has_are_refused(bit: int) -> None:
    [(key, record_hash)] = ONE.items()
    proof = SparseProof(((bit, EMPTY),), key, record_hash)
    assert not verify_member(digest("root"), key, record_hash, proof)
    assert not verify_absent(digest("root"), flip(key, 255), proof)


def test_proofs_stay_small_in_a_tree_of_20_000_leaves() -> None:
    tree = numbered(20_000)
    pages = grown(tree)
    top = root(pages)
    sample = list(tree)[::200]
    sizes = []
    for key in sample + [digest(f"absent {n}") for n in range(100)]:
        proof = prove(pages, key)
        assert verify_member(top, key, tree[key], proof) if key in tree else verify_absent(top, key, proof)
        sizes.append(33 * len(proof.steps) + 64)
    assert max(sizes) < 1024
    assert sum(sizes) / len(sizes) < 700
