"""The sparse tree against its definition, its pages, and its proofs against every small change.

The `naive_` functions are the definition in the module's docstring, bit by bit from the top, and
share no code with the module. The property tests use them too.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2s, sha256
from itertools import pairwise

import pytest

from mycel.merkle import sparse
from mycel.merkle.pages import (
    BRANCH_BIT_MAX,
    BUCKET_LEAVES_MAX,
    EMPTY,
    GROUP_LEAVES_MAX,
    BranchPage,
    Page,
    unpack,
)
from mycel.merkle.sparse import (
    ROOT_PAGE,
    SparseProof,
    check,
    leaves,
    prove,
    root,
    verify_absent,
    verify_member,
)
from tests.cases import cases

Leaves = Mapping[bytes, bytes]


def get(pages: sparse.TreeNodes, key: bytes) -> bytes | None:
    """The record hash under a key, or None."""
    return dict(leaves(pages)).get(key)


def digest(text: object) -> bytes:
    return sha256(str(text).encode()).digest()


def bit_of(key: bytes, bit: int) -> int:
    return int.from_bytes(key) >> (255 - bit) & 1


def group_hash(tree: Leaves) -> bytes:
    """The hash of few leaves together."""
    return blake2s(b"\x00" + b"".join(key + tree[key] for key in sorted(tree))).digest()


def naive_root(tree: Leaves) -> bytes:
    """The root by the definition."""
    return naive_hash(tree, 0, 0)


def naive_hash(tree: Leaves, bit: int, next_page: int | None) -> bytes:
    """The hash of the position at `bit` that holds these leaves.

    Pages stand every four bits down to the first bucket, and from there on nowhere (None). Leaves
    are grouped in buckets only.
    """
    if not tree:
        return bytes(32)
    next_page = naive_next_page(tree, bit, next_page)
    if next_page is None and len(tree) <= 8:
        return group_hash(tree)
    ways = naive_ways(tree, bit)
    hashes = [naive_hash(way, bit + 2, next_page) for way in ways]
    return inner_hash(bit, *hashes) if sum(map(bool, ways)) > 1 else max(hashes)


def inner_hash(bit: int, *ways: bytes) -> bytes:
    """The hash of a branching point."""
    assert [len(way) for way in ways] == [32] * 4
    return blake2s(b"\x01" + bytes([bit]) + b"".join(ways)).digest()


def naive_next_page(tree: Leaves, bit: int, next_page: int | None) -> int | None:
    if bit != next_page:
        return next_page
    return bit + 4 if len(tree) > 32 and bit < 52 else None


def way_of(key: bytes, bit: int) -> int:
    return 2 * bit_of(key, bit) + bit_of(key, bit + 1)


def naive_ways(tree: Leaves, bit: int) -> list[Leaves]:
    return [
        {key: value for key, value in tree.items() if way_of(key, bit) == way} for way in range(4)
    ]


def naive_proof(tree: Leaves, key: bytes) -> SparseProof:
    """The way from the root to the group where `key` would be."""
    steps = []
    next_page: int | None = 0
    for bit in range(0, 258, 2):
        next_page = naive_next_page(tree, bit, next_page)
        if not tree or (next_page is None and len(tree) <= 8):
            break
        ways = naive_ways(tree, bit)
        if sum(map(bool, ways)) > 1:
            tree = ways.pop(way_of(key, bit))
            steps.append((bit, b"".join(naive_hash(way, bit + 2, next_page) for way in ways)))
    return SparseProof(tuple(steps), tuple(sorted(tree.items())))


def through(key: bytes, bit: int, others: bytes, current: bytes) -> bytes:
    """The hash of a branching point, of which `current` lies on the way of `key`."""
    at = 32 * way_of(key, bit)
    return blake2s(b"\x01" + bytes([bit]) + others[:at] + current + others[at:]).digest()


class Pages(dict[int, bytes]):
    """Pages as a database holds them: numbers that fit 64 bits, and bytes.

    Branches are in memory during an update, and on request from one to the next.
    """

    def __init__(self, pages: Mapping[int, bytes] = {}, *, keeps_branches: bool = False) -> None:
        super().__init__(pages)
        self.branches: dict[int, BranchPage] = {}
        self._keeps_branches = keeps_branches

    def get(self, page: int) -> Page | None:  # type: ignore[override]
        if page in self.branches:
            return self.branches[page]
        return unpack(page, self[page]) if page in self else None

    def put(self, page: int, body: Page) -> None:
        assert 0 < page < 2**63
        self[page] = bytes(body)
        if isinstance(body, BranchPage):
            self.branches[page] = body

    def delete(self, page: int) -> None:
        self.pop(page, None)
        self.branches.pop(page, None)

    def settle(self) -> None:
        for page, branch in self.branches.items():
            self[page] = bytes(branch)
        if not self._keeps_branches:
            self.branches.clear()

    def is_branch(self, page: int) -> bool:
        return isinstance(self.get(page), BranchPage)


def update(pages: Pages, keys: list[bytes], record_hashes: list[bytes | None]) -> bytes:
    updated = sparse.update(pages, keys, record_hashes)
    pages.settle()
    return updated


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
    "a full group": numbered(GROUP_LEAVES_MAX),
    "groups": numbered(GROUP_LEAVES_MAX + 1),
    "a full bucket": numbered(BUCKET_LEAVES_MAX),
    "a branch": numbered(BUCKET_LEAVES_MAX + 1),
    "branches below branches": numbered(600),
    "a crowd": crowded(60),
    "a crowd in company": numbered(60) | crowded(60) | crowded(40, 61),
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
    assert root(pages) == blake2s(b"\x00" + key + record_hash).digest()
    assert list(pages) == [ROOT_PAGE]


def test_up_to_eight_leaves_are_one_hash() -> None:
    tree = numbered(GROUP_LEAVES_MAX)
    listed = b"".join(key + record_hash for key, record_hash in sorted(tree.items()))
    assert root(grown(tree)) == blake2s(b"\x00" + listed).digest()


def test_nine_leaves_hash_the_bit_at_which_they_part() -> None:
    tree = crowded(9, 252)  # At bit 252 four go one way, four the next, and the ninth another.
    keys = sorted(tree)
    parts = ({key: tree[key] for key in part} for part in (keys[:4], keys[4:8], keys[8:]))
    assert root(grown(tree)) == inner_hash(252, *map(group_hash, parts), EMPTY)


def test_a_branch_keeps_apart_what_lies_in_different_pages() -> None:
    # One leaf below each of two pages: in a bucket they would be one group.
    tree = {bytes([0x10]) + bytes(31): digest(1), bytes([0x20]) + bytes(31): digest(2)}
    crowd = {b"\x80" + digest(n)[1:]: digest(n) for n in range(32)}
    pages = grown(tree | crowd)
    one, other = ({key: tree[key]} for key in sorted(tree))
    first = inner_hash(2, EMPTY, group_hash(one), group_hash(other), EMPTY)
    assert pages.is_branch(ROOT_PAGE)
    assert root(pages) == inner_hash(0, first, EMPTY, root_of_page(pages, 0x18), EMPTY)


def root_of_page(pages: Pages, page: int) -> bytes:
    tree = dict(leaves(pages, page))
    return naive_hash(tree, page.bit_length() - 1, page.bit_length() - 1)


def test_the_root_of_known_leaves_never_changes() -> None:
    assert (
        root(grown(numbered(1000))).hex()
        == "f37c8f64e0e0ef60a9a36c245604a2889f36caf8c954264ff15d7a5a55fe0d34"
    )
    assert (
        root(grown(crowded(100))).hex()
        == "cd6c908cb56145e50cfd8b78457ad24883a99985e4290b10cd18b2bc1da7b158"
    )


@every_shape
def test_the_root_is_that_of_the_definition(tree: Leaves) -> None:
    assert root(grown(tree)) == naive_root(tree)


@every_shape
def test_leaves_come_in_the_order_of_their_keys(tree: Leaves) -> None:
    assert list(leaves(grown(tree))) == sorted(tree.items())


@every_shape
def test_a_record_is_found_under_its_key_and_under_no_other(tree: Leaves) -> None:
    pages = grown(tree)
    for number, (key, record_hash) in enumerate(tree.items()):
        assert get(pages, key) == record_hash
        for bit in (0, 3, 51, 52, 255) if number < 50 else ():
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
    changes = dict.fromkeys(list(old)[:100]) | new | {list(old)[150]: digest("replaced")}
    pages = grown(old)
    expected = {key: value for key, value in {**old, **changes}.items() if value is not None}
    assert apply(pages, changes) == naive_root(expected)
    assert list(leaves(pages)) == sorted(expected.items())


def test_hashes_that_begin_with_a_zero_byte_are_not_taken_for_nothing() -> None:
    zero_first = [n for n in range(40_000) if group_hash({digest(n): EMPTY})[:1] == b"\0"][:100]
    assert len(zero_first) == 100
    tree = {digest(n): EMPTY for n in zero_first}
    pages = grown(tree)
    assert pages.is_branch(ROOT_PAGE)
    assert root(pages) == naive_root(tree)
    for key in tree:
        assert verify_member(root(pages), key, EMPTY, prove(pages, key))


@every_shape
def test_pages_that_are_changed_in_place_become_the_same_bytes(tree: Leaves) -> None:
    live = Pages(keeps_branches=True)
    keys = list(tree)
    for start in range(0, len(keys), 15):
        apply(live, {key: tree[key] for key in keys[start : start + 15]})
    assert live == grown(tree)
    for key in keys[1:]:
        update(live, [key], [None])
    assert live == grown({keys[0]: tree[keys[0]]})


# ---------------------------------------------------------------------------------------------
# Pages


def test_a_bucket_splits_when_it_would_hold_more_than_32_leaves() -> None:
    tree = numbered(BUCKET_LEAVES_MAX + 1)
    *first, last = tree
    pages = grown({key: tree[key] for key in first})
    assert list(pages) == [ROOT_PAGE]
    assert not pages.is_branch(ROOT_PAGE)
    update(pages, [last], [tree[last]])
    assert pages.is_branch(ROOT_PAGE)
    assert {page >> 4 for page in pages if page != ROOT_PAGE} == {ROOT_PAGE}
    assert sorted(page & 15 for page in pages if page > 1) == sorted({key[0] >> 4 for key in tree})


def test_replacing_a_record_in_a_full_bucket_does_not_split_it() -> None:
    tree = numbered(BUCKET_LEAVES_MAX)
    pages = grown(tree)
    update(pages, [min(tree)], [digest("another")])
    assert list(pages) == [ROOT_PAGE]


def test_a_branch_left_with_32_leaves_is_a_bucket_again() -> None:
    tree = numbered(BUCKET_LEAVES_MAX + 2)
    first, second, *_ = tree
    pages = grown(tree)
    update(pages, [first], [None])
    assert pages.is_branch(ROOT_PAGE)
    update(pages, [second], [None])
    assert not pages.is_branch(ROOT_PAGE)
    assert pages == grown({key: tree[key] for key in tree if key not in (first, second)})


@cases("kept", [1, 8, 9, 32, 33, 200, 1499])
@cases("singly", [True, False])
def test_the_pages_do_not_remember_leaves_that_are_gone(kept: int, singly: bool) -> None:
    tree = numbered(1500)
    pages = grown(tree)
    gone = list(tree)[kept:]
    if singly:
        for key in gone:
            update(pages, [key], [None])
    else:
        apply(pages, dict.fromkeys(gone))
    assert pages == grown(numbered(kept))


def test_a_crowd_ends_in_one_bucket_at_the_deepest_page() -> None:
    pages = grown(crowded(200))
    [deepest] = [page for page in pages if not pages.is_branch(page)]
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


def test_many_additions_read_and_write_each_page_once() -> None:
    class Counting(Pages):
        def __init__(self, pages: Pages) -> None:
            super().__init__(pages)
            self.reads: list[int] = []
            self.writes: list[int] = []

        def get(self, page: int) -> Page | None:  # type: ignore[override]
            self.reads.append(page)
            return super().get(page)

        def put(self, page: int, body: Page) -> None:
            self.writes.append(page)
            super().put(page, body)

    pages = Counting(grown(numbered(2000)))
    apply(pages, numbered(2000, start=1000))
    assert len(pages.reads) == len(set(pages.reads))
    assert len(pages.writes) == len(set(pages.writes))
    assert root(pages) == root(grown(numbered(3000)))


@every_shape
def test_a_page_survives_as_bytes(tree: Leaves) -> None:
    for page, stored in grown(tree).items():
        assert bytes(unpack(page, stored)) == stored


@cases(
    "stored",
    [
        b"",
        b"\x00",
        b"\x01",
        b"\x00" + bytes(63),
        b"\x00" + bytes(65),
        b"\x01" + bytes(64),
        b"\x01" + bytes(20 * 32 - 1),
        b"\x01" + bytes(20 * 32 + 1),
        b"\x02" + bytes(64),
        b"\xff" + bytes(20 * 32),
    ],
)
def test_bytes_that_are_no_page_are_refused(stored: bytes) -> None:
    with pytest.raises(ValueError, match="neither a branch nor a bucket"):
        unpack(ROOT_PAGE, stored)


def test_one_change_to_a_large_tree_touches_few_pages() -> None:
    pages = grown(numbered(20_000))
    before = set(pages.items())
    update(pages, [digest("new")], [digest("record")])
    # The way down, and at most the sixteen children of a bucket that split.
    assert 2 <= len(set(pages.items()) - before) <= 6 + 16


# ---------------------------------------------------------------------------------------------
# Checking stored pages


@every_shape
def test_a_sound_tree_has_no_problem_on_any_page(tree: Leaves) -> None:
    pages = grown(tree)
    assert dict(check(pages)) == dict.fromkeys(pages, "")


def test_an_empty_tree_has_no_page_to_check() -> None:
    assert list(check(Pages())) == []


def is_sound(pages: Pages, top: bytes) -> bool:
    """Whether the pages are in order and lead to a root that is known from elsewhere."""
    try:
        return root(pages) == top and not any(problem for _, problem in check(pages))
    except ValueError:  # No page at all.
        return False


@pytest.mark.parametrize("tree", [numbered(20), numbered(60)], ids=["a bucket", "a branch"])
def test_a_damaged_bit_in_any_page_is_found(tree: Leaves) -> None:
    pages, top = grown(tree), naive_root(tree)
    assert is_sound(pages, top)
    for page, body in list(pages.items()):
        for at in range(0, len(body) * 8, 7):
            pages[page] = flip(body, at)
            assert not is_sound(pages, top), f"bit {at} of page {page}"
        pages[page] = body


@cases(
    "damage",
    [
        lambda body: b"",
        lambda body: b"\x00",
        lambda body: body[:-1],
        lambda body: body + b"\x00",
        lambda body: body[:-64],
        lambda body: body + body[-64:],
        lambda body: body + b"\xff" * 64,
        lambda body: body[:1] + body[65:] + body[1:65],
        lambda body: b"\x02" + body[1:],
    ],
)
def test_a_page_of_another_size_or_kind_is_found(damage: Callable[[bytes], bytes]) -> None:
    tree = numbered(60) | crowded(9)
    pages, top = grown(tree), naive_root(tree)
    changed = [(page, body) for page, body in pages.items() if damage(body) != body]
    assert len(changed) > 3
    for page, body in changed:
        pages[page] = damage(body)
        assert not is_sound(pages, top)
        pages[page] = body


def test_a_bucket_in_disorder_is_refused_by_whoever_walks_through_it() -> None:
    bucket = grown(numbered(BUCKET_LEAVES_MAX))[ROOT_PAGE]
    listed = [bucket[at : at + 64] for at in range(1, len(bucket), 64)]
    for disorder in (listed[::-1], listed[16:] + listed[:16], [listed[0]] * BUCKET_LEAVES_MAX):
        pages = Pages({ROOT_PAGE: b"\x00" + b"".join(disorder)})
        assert list(check(pages)) == [(ROOT_PAGE, "holds keys out of order")]
        with pytest.raises(ValueError):  # noqa: PT011  Which one does not matter.
            root(pages)
        with pytest.raises(ValueError):  # noqa: PT011
            prove(pages, digest("key"))


def test_a_bucket_that_should_have_been_a_branch_is_found() -> None:
    listed = sorted(numbered(BUCKET_LEAVES_MAX + 1).items())
    bucket = b"\x00" + b"".join(key + record_hash for key, record_hash in listed)
    assert list(check(Pages({ROOT_PAGE: bucket}))) == [
        (ROOT_PAGE, "holds more leaves than a bucket may")
    ]


def test_a_missing_page_and_a_page_in_anothers_place_are_found() -> None:
    pages = grown(numbered(60))
    first, second = sorted(pages)[1:3]
    assert (first, "is missing") in check(Pages(pages.items() - {(first, pages[first])}))
    swapped = Pages(pages | {first: pages[second], second: pages[first]})
    assert {first, second} <= {page for page, problem in check(swapped) if problem}


def test_a_leaf_below_the_wrong_page_is_found_though_all_hashes_fit() -> None:
    leaf = {b"\x50" + bytes(31): digest("record")}
    # Page 19 is for keys that begin with 3. A way that holds everything is its hash.
    slots = [group_hash(leaf) if slot in (0, 4 + 3) else EMPTY for slot in range(20)]
    pages = Pages({ROOT_PAGE: b"\x01" + b"".join(slots)})
    pages.put(19, b"\x00" + b"".join(next(iter(leaf.items()))))
    assert dict(check(pages)) == {ROOT_PAGE: "", 19: "holds a key that belongs elsewhere"}


def test_a_page_that_nothing_leads_to_is_not_reached() -> None:
    pages = grown(numbered(60))
    free = next(page for page in range(256, 512) if page >> 4 in pages)
    pages[free] = pages[max(pages)]
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
        for _, record_hash in proof.leaves:
            assert not verify_member(top, key, record_hash, proof)


@every_shape
def test_the_proof_of_one_key_serves_the_others_of_its_group_and_nobody_else(tree: Leaves) -> None:
    pages, top = grown(tree), root(grown(tree))
    sample = list(tree)[:12]
    for one in sample:
        proof = prove(pages, one)
        for other in sample:
            in_group = (other, tree[other]) in proof.leaves
            assert verify_member(top, other, tree[other], proof) == in_group
            assert not verify_absent(top, other, proof)


def test_in_the_empty_tree_everything_is_absent_and_nothing_a_member() -> None:
    proof = prove(Pages(), digest("key"))
    assert proof == SparseProof((), ())
    assert verify_absent(EMPTY, digest("key"), proof)
    assert not verify_member(EMPTY, digest("key"), digest("record"), proof)
    assert not verify_member(EMPTY, digest("key"), EMPTY, proof)


def test_the_proof_of_the_empty_tree_proves_nothing_about_another() -> None:
    proof = prove(Pages(), digest("key"))
    assert not verify_absent(root(grown(ONE)), digest("key"), proof)
    assert not verify_absent(blake2s(b"\x00").digest(), digest("key"), proof)
    assert not verify_absent(EMPTY, digest("key")[:31], proof)
    assert not verify_absent(EMPTY, digest("key"), replace(proof, steps=((0, 3 * EMPTY),)))


@pytest.fixture(scope="module")
def forest() -> tuple[dict[bytes, bytes], Pages, bytes]:
    tree = numbered(150) | crowded(10)
    return tree, grown(tree), naive_root(tree)


def every_bit_changed(proof: SparseProof) -> list[SparseProof]:
    """The proof with each bit of it changed, one at a time."""
    changed = []
    for bit in range(256):
        for at, (key, record_hash) in enumerate(proof.leaves):
            for leaf in ((flip(key, bit), record_hash), (key, flip(record_hash, bit))):
                group = (*proof.leaves[:at], leaf, *proof.leaves[at + 1 :])
                changed.append(replace(proof, leaves=group))
        for at, (parting, others) in enumerate(proof.steps):
            flipped = (flip(others, bit + 256 * way) for way in range(3))
            for step in (*((parting, each) for each in flipped), (bit, others)):
                steps = (*proof.steps[:at], step, *proof.steps[at + 1 :])
                changed.append(replace(proof, steps=steps))
    return [each for each in changed if each != proof]


@pytest.mark.parametrize("key", [digest(5), max(crowded(10))], ids=["scattered", "crowded"])
def test_a_proof_of_membership_with_any_bit_changed_is_refused(forest, key: bytes) -> None:
    tree, pages, top = forest
    proof = prove(pages, key)
    assert len(proof.steps) >= 3
    assert len(proof.leaves) >= 2
    assert verify_member(top, key, tree[key], proof)
    for changed in every_bit_changed(proof):
        assert not verify_member(top, key, tree[key], changed)
    at = proof.leaves.index((key, tree[key]))
    for bit in range(256):
        other_key, other_hash = flip(key, bit), flip(tree[key], bit)
        assert not verify_member(flip(top, bit), key, tree[key], proof)
        # Whether the proof says so too or not.
        for leaf in ((other_key, tree[key]), (key, other_hash)):
            claim = replace(proof, leaves=(*proof.leaves[:at], leaf, *proof.leaves[at + 1 :]))
            assert not verify_member(top, *leaf, proof)
            assert not verify_member(top, *leaf, claim)


@pytest.mark.parametrize(
    "key", [digest("absent"), flip(max(crowded(10)), 0)], ids=["far", "near the crowd"]
)
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
    way = {bit for bit, _ in proof.steps}
    assert accepted == [
        other
        for other in nearby
        if other not in tree and all(way_of(other, bit) == way_of(key, bit) for bit in way)
    ]
    assert 0 < len(accepted) < len(nearby)


def test_steps_left_out_doubled_swapped_or_added_are_refused(forest) -> None:
    tree, pages, top = forest
    member, absentee = digest(5), digest("absent")

    def refused(steps: list[tuple[int, bytes]], proof: SparseProof) -> bool:
        changed = replace(proof, steps=tuple(steps))
        return not (
            verify_member(top, member, tree[member], changed)
            or verify_absent(top, absentee, changed)
        )

    for proof in (prove(pages, member), prove(pages, absentee)):
        steps = list(proof.steps)
        assert not refused(steps, proof)
        assert refused(steps[::-1], proof)
        assert refused([*steps, (255, EMPTY)], proof)
        for at, step in enumerate(steps):
            assert refused(steps[:at], proof)
            assert refused(steps[:at] + steps[at + 1 :], proof)
            assert refused([*steps[:at], step, *steps[at:]], proof)
            assert refused([*steps[:at], (max(0, step[0] - 1), EMPTY), *steps[at:]], proof)
        for at in range(len(steps) - 1):
            assert refused([*steps[:at], steps[at + 1], steps[at], *steps[at + 2 :]], proof)


def test_leaves_left_out_doubled_swapped_or_added_are_refused(forest) -> None:
    tree, pages, top = forest
    key = digest(5)
    proof = prove(pages, key)
    group = list(proof.leaves)
    absentee = next(
        other
        for other in (flip(key, bit) for bit in range(256))
        if verify_absent(top, other, proof)
    )

    def refused(leaves_given: list[tuple[bytes, bytes]]) -> bool:
        changed = replace(proof, leaves=tuple(leaves_given))
        return not (
            verify_member(top, key, tree[key], changed) or verify_absent(top, absentee, changed)
        )

    assert len(group) > 1
    assert not refused(group)
    assert refused(group[::-1])
    assert refused([])
    for at, leaf in enumerate(group):
        assert refused(group[:at] + group[at + 1 :])
        assert refused([*group[:at], leaf, *group[at:]])
        assert refused(sorted([*group, (flip(leaf[0], 255), EMPTY)]))


def test_a_group_has_no_more_than_eight_leaves_even_if_the_hash_fits() -> None:
    tree = numbered(GROUP_LEAVES_MAX + 1)
    proof = SparseProof((), tuple(sorted(tree.items())))
    key = min(tree)
    assert not verify_member(group_hash(tree), key, tree[key], proof)
    assert not verify_absent(group_hash(tree), digest("absent"), proof)


def test_leaves_out_of_order_are_no_group_even_if_the_hash_fits() -> None:
    first, second = sorted(numbered(2).items())
    for group in ((second, first), (first, first)):
        top = blake2s(b"\x00" + b"".join(part for leaf in group for part in leaf)).digest()
        assert not verify_member(top, *first, SparseProof((), group))
        assert not verify_absent(top, digest("absent"), SparseProof((), group))


def test_an_inner_node_cannot_pose_as_a_leaf(forest) -> None:
    _, pages, top = forest
    body = pages[ROOT_PAGE]
    ways = [body[at : at + 32] for at in range(1, 129, 32)]
    assert top == inner_hash(0, *ways)
    proof = SparseProof((), ((ways[0], ways[1]), (ways[2], ways[3])))
    assert not verify_member(top, ways[0], ways[1], proof)
    assert not verify_absent(top, digest("absent"), proof)


@cases("bits", [(6, 6), (8, 6), (0, 0, 2), (4, 2, 0), (1,), (0, 7)])
def test_steps_at_bits_that_are_odd_or_do_not_increase_are_refused_even_if_the_hash_fits(
    bits: tuple[int, ...],
) -> None:
    [(key, record_hash)] = ONE.items()
    top = group_hash(ONE)
    for bit in reversed(bits):
        top = through(key, bit, 3 * EMPTY, top)
    proof = SparseProof(tuple((bit, 3 * EMPTY) for bit in bits), ((key, record_hash),))
    assert not verify_member(top, key, record_hash, proof)
    assert not verify_absent(top, flip(key, 255), proof)


@pytest.mark.parametrize("bit", [-1, -256, 256, 2**70])
def test_bits_that_no_key_has_are_refused(bit: int) -> None:
    [(key, record_hash)] = ONE.items()
    proof = SparseProof(((bit, 3 * EMPTY),), ((key, record_hash),))
    assert not verify_member(digest("root"), key, record_hash, proof)
    assert not verify_absent(digest("root"), flip(key, 255), proof)


def test_a_way_that_is_empty_proves_the_absence_of_all_keys_on_it_and_of_no_others() -> None:
    keys = [bytes([first << 6]) + digest(n)[1:] for n in range(20) for first in (0, 1, 3)]
    tree = {key: digest(key) for key in keys}
    pages = grown(tree)
    absent = b"\x80" + bytes(31)
    proof = prove(pages, absent)
    assert (len(proof.steps), proof.leaves) == (1, ())
    assert verify_absent(root(pages), absent, proof)
    assert verify_absent(root(pages), b"\xbf" + bytes(31), proof)
    for key in (*tree, bytes(32), b"\xc0" + bytes(31)):
        assert not verify_absent(root(pages), key, proof)
        assert not verify_member(root(pages), key, tree.get(key, EMPTY), proof)
    assert not verify_absent(root(pages), absent[:31], proof)


@cases("size", [0, 32, 95, 97, 128])
def test_a_step_with_other_than_three_hashes_is_refused_even_if_the_hash_fits(size: int) -> None:
    [(key, record_hash)] = ONE.items()
    top = through(key, 0, bytes(size), group_hash(ONE))
    proof = SparseProof(((0, bytes(size)),), ((key, record_hash),))
    assert not verify_member(top, key, record_hash, proof)
    assert not verify_absent(top, flip(key, 255), proof)


def test_the_proof_of_one_key_proves_nothing_about_a_neighbour(forest) -> None:
    tree, pages, top = forest
    for one, other in pairwise(tree):
        proof = prove(pages, other)
        if (one, tree[one]) not in proof.leaves:
            assert not verify_member(top, one, tree[one], proof)


def test_proofs_stay_small_in_a_tree_of_20_000_leaves() -> None:
    tree = numbered(20_000)
    pages = grown(tree)
    top = root(pages)
    sizes = []
    for key in list(tree)[::200]:
        proof = prove(pages, key)
        assert verify_member(top, key, tree[key], proof)
        sizes.append(97 * len(proof.steps) + 64 * len(proof.leaves))
    for key in (digest(f"absent {n}") for n in range(100)):
        proof = prove(pages, key)
        assert verify_absent(top, key, proof)
        sizes.append(97 * len(proof.steps) + 64 * len(proof.leaves))
    assert max(sizes) < 1200
    assert sum(sizes) / len(sizes) < 1000
