"""What holds for every sparse tree: one root a set, and proofs of nothing but the truth."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mycel.merkle.pages import EMPTY
from mycel.merkle.sparse import (
    SparseProof,
    check,
    leaves,
    prove,
    root,
    verify_absent,
    verify_member,
)
from tests.unit.merkle.test_sparse import (
    Pages,
    apply,
    crowded,
    digest,
    flip,
    get,
    group_hash,
    grown,
    naive_proof,
    naive_root,
    numbered,
    through,
    update,
)

# Scattered keys, and three crowds: below the deepest branch, across it, and in the last bits.
POOL = [*numbered(150), *crowded(50, 100), *crowded(50, 49), *crowded(10, 252)]

places = st.integers(0, len(POOL) - 1)
versions = st.sampled_from([0, 1, 2, 3, None])
hashes = st.binary(min_size=32, max_size=32)


@st.composite
def batches(draw: st.DrawFn) -> dict[bytes, bytes | None]:
    """Changes to a few keys, or to a whole stretch of them, which fills and empties buckets."""
    if draw(st.sampled_from(["few", "stretch", "stretch"])) == "few":
        changes = draw(st.dictionaries(places, versions, max_size=6))
    else:
        start, stop = sorted((draw(places), draw(places)))
        changes = dict.fromkeys(range(start, stop + 1, draw(st.integers(1, 3))), draw(versions))
    return {
        POOL[place]: None if version is None else digest((place, version))
        for place, version in changes.items()
    }


@st.composite
def trees(draw: st.DrawFn) -> dict[bytes, bytes]:
    """What is left after a few batches."""
    tree: dict[bytes, bytes | None] = {}
    for batch in draw(st.lists(batches(), min_size=draw(st.integers(0, 2)), max_size=4)):
        tree |= batch
    return present(tree)


def present(tree: Mapping[bytes, bytes | None]) -> dict[bytes, bytes]:
    return {key: value for key, value in tree.items() if value is not None}


@given(st.lists(batches(), min_size=1, max_size=5))
def test_after_any_changes_the_tree_is_the_set_of_its_leaves(
    history: list[dict[bytes, bytes | None]],
) -> None:
    pages = Pages()
    model: dict[bytes, bytes] = {}
    for batch in history:
        model = present(model | batch)
        assert apply(pages, batch) == root(pages)
        assert list(leaves(pages)) == sorted(model.items())
        assert all(get(pages, key) == model.get(key) for key in batch)
        # Every page is sound, none is left over, and none remembers how it came to be.
        assert dict(check(pages)) == dict.fromkeys(pages, "")
        assert pages == grown(model)
    assert root(pages) == naive_root(model)


@given(trees(), st.randoms(use_true_random=False), st.data())
def test_neither_order_nor_batches_matter(tree: dict[bytes, bytes], random, data) -> None:
    keys = list(tree)
    random.shuffle(keys)
    pages = Pages()
    while keys:
        size = data.draw(st.integers(1, len(keys)), label="size of a batch")
        apply(pages, {key: tree[key] for key in keys[:size]})
        del keys[:size]
    assert pages == grown(tree)
    assert root(pages) == root(grown(tree))


@given(trees(), batches())
def test_a_batch_equals_its_changes_one_by_one(
    tree: dict[bytes, bytes], batch: dict[bytes, bytes | None]
) -> None:
    at_once, singly = grown(tree), grown(tree)
    apply(at_once, batch)
    for key, value in batch.items():
        update(singly, [key], [value])
    assert root(at_once) == root(singly)
    assert at_once == singly


@given(trees(), batches())
def test_undoing_a_batch_restores_the_earlier_root(
    tree: dict[bytes, bytes], batch: dict[bytes, bytes | None]
) -> None:
    pages = grown(tree)
    before = root(pages)
    after = apply(pages, batch)
    changes_nothing = present(tree | batch) == tree
    assert (after == before) == changes_nothing
    assert apply(pages, {key: tree.get(key) for key in batch}) == before


@given(trees(), places, st.one_of(st.none(), st.integers(0, 255)))
def test_every_key_has_a_proof_of_what_is_true_and_not_of_the_opposite(
    tree: dict[bytes, bytes], place: int, changed_bit: int | None
) -> None:
    key = POOL[place] if changed_bit is None else flip(POOL[place], changed_bit)
    pages = grown(tree)
    top, proof = root(pages), prove(pages, key)
    assert proof == naive_proof(tree, key)
    assert verify_absent(top, key, proof) == (key not in tree)
    for record_hash in (tree.get(key, EMPTY), *(each for _, each in proof.leaves)):
        assert verify_member(top, key, record_hash, proof) == (tree.get(key) == record_hash)


@given(trees(), trees(), places)
def test_a_proof_from_one_tree_holds_in_another_only_where_it_is_true(
    tree: dict[bytes, bytes], other: dict[bytes, bytes], place: int
) -> None:
    key = POOL[place]
    proof, top = prove(grown(tree), key), root(grown(other))
    if verify_absent(top, key, proof):
        assert key not in other
    if key in tree and verify_member(top, key, tree[key], proof):
        assert other[key] == tree[key]
    if tree != other and proof.steps:
        # Its steps commit to everything else, so it holds in no other tree at all.
        assert not verify_absent(top, key, proof)
        assert not verify_member(top, key, tree.get(key, EMPTY), proof)


@st.composite
def random_claims(draw: st.DrawFn) -> tuple[dict[bytes, bytes], bytes, SparseProof]:
    """A tree, a key, and a proof put together from its parts by somebody who would like to lie."""
    tree = draw(trees().filter(len))
    pages = grown(tree)
    key, other = POOL[draw(places)], draw(st.sampled_from(sorted(tree)))
    mine, theirs = prove(pages, key), prove(pages, other)
    honest = [*mine.steps, *theirs.steps]
    chosen = draw(st.lists(st.sampled_from(honest), max_size=8)) if honest else []
    steps = draw(st.sampled_from([tuple(chosen), tuple(sorted(set(chosen))), *_starts(honest)]))
    group = draw(st.sampled_from([mine.leaves, theirs.leaves, *_starts([*theirs.leaves])]))
    return tree, key, SparseProof(steps, group)


def _starts(parts: list[Any]) -> list[tuple[Any, ...]]:
    return [tuple(parts[:stop]) for stop in range(len(parts) + 1)]


@given(random_claims())
def test_no_mixture_of_honest_parts_proves_a_lie(
    claim: tuple[dict[bytes, bytes], bytes, SparseProof],
) -> None:
    tree, key, proof = claim
    top = root(grown(tree))
    if verify_absent(top, key, proof):
        assert key not in tree
    for leaf_key, record_hash in proof.leaves:
        if verify_member(top, leaf_key, record_hash, proof):
            assert tree[leaf_key] == record_hash
        if verify_member(top, key, record_hash, proof):
            assert tree[key] == record_hash


byte_strings = st.one_of(st.binary(max_size=70), hashes, st.just(EMPTY), st.just(b""))
garbage_proofs = st.builds(
    SparseProof,
    st.lists(
        st.tuples(
            st.one_of(st.integers(0, 127).map(lambda n: 2 * n), st.integers(-300, 600)),
            st.one_of(byte_strings, st.binary(min_size=96, max_size=96)),
        ),
        max_size=8,
    ).map(tuple),
    st.lists(st.tuples(byte_strings, byte_strings), max_size=10).map(tuple),
)


@given(byte_strings, byte_strings, byte_strings, garbage_proofs, st.sets(st.integers(0, 2)))
def test_garbage_proves_nothing_and_raises_nothing(
    top: bytes, key: bytes, record_hash: bytes, proof: SparseProof, repairs: set[int]
) -> None:
    # Repairs get a proof past the first comparisons.
    steps, group = proof.steps, proof.leaves
    if 0 in repairs:
        steps = tuple(sorted(steps))
    if 1 in repairs:
        group = (*group, (key, record_hash))
    if 2 in repairs:
        group = tuple(sorted(group))
    proof = SparseProof(steps, group)
    assert verify_member(top, key, record_hash, proof) is False
    nothing_there = top == EMPTY and not steps and not group and len(key) == 32
    assert verify_absent(top, key, proof) is nothing_there


@given(
    st.lists(
        st.tuples(st.integers(0, 127).map(lambda n: 2 * n), st.binary(min_size=96, max_size=96)),
        max_size=10,
        unique_by=lambda step: step[0],
    ),
    st.dictionaries(hashes, hashes, min_size=1, max_size=8),
)
def test_a_root_that_fits_the_steps_and_leaves_is_accepted_whatever_they_are(
    steps: list[tuple[int, bytes]], group: dict[bytes, bytes]
) -> None:
    # So the refusals above are not for want of trying: well-formed parts do lead to some root.
    key, ordered = min(group), sorted(steps)
    top = group_hash(group)
    for bit, others in reversed(ordered):
        top = through(key, bit, others, top)
    proof = SparseProof(tuple(ordered), tuple(sorted(group.items())))
    assert verify_member(top, key, group[key], proof)
    unused = next(bit for bit in range(254, -1, -2) if bit not in dict(steps))
    # `flip` counts the bits of a byte from its low end, the tree from its high end.
    other = flip(key, unused ^ 7)
    assert verify_absent(top, other, proof) == (other not in group)
