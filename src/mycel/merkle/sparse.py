"""The compact sparse Merkle tree: one root for a set of keyed records, with proofs both ways.

For: committing to a whole namespace (all concepts, or all edges) so that anyone holding the root
can check offline that a record is in it, or that no record with a key is. Not for: history (that
is `log`), and not for storage: pages are read and written through `TreeNodes`.

The one idea: the tree has four ways at every second of the 256 bits of the key, but only *branching
points* exist, and few leaves are one hash. A subtree with up to eight leaves is a **group**: one
hash over all of them, so a subtree with one leaf is that leaf. A subtree whose leaves all go one
way has the hash of that way. A branching point hashes its bit and the hashes of its four ways.

    group = BLAKE2s(00 || key || record hash || key || record hash || ...)   in key order
    inner = BLAKE2s(01 || bit || way 00 || way 01 || way 10 || way 11)
    empty = 32 zero bytes

BLAKE2s with 32 bytes (RFC 7693) is as strong as SHA-256, and takes half the time for the small
inputs of a tree on processors without instructions for SHA-256.

Hashes are kept in **pages**, so that an update touches few of them. A page begins every four bits.
A page whose subtree has up to 32 leaves is a *bucket*, which lists them; its hash joins groups at
the bits where the leaves part. A page with more leaves is a *branch*, which holds the hashes of the
4 + 16 positions below it. Pages and root thus depend on the set of leaves alone, never on the order
of additions or on removed leaves.

A page's number is its path: a one bit, then four bits a level. The root page is 1, its children 16
to 31. No branch is deeper than bit 52, so numbers fit 64 bits; a bucket at that depth has no bound.
To exceed 32 leaves there, an attacker needs 33 keys that agree in 52 bits (36 bits for links of one
subject), and would only make that page slower.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2s
from itertools import islice, pairwise
from typing import Protocol, cast

from mycel.merkle import pages
from mycel.merkle.pages import (
    BRANCH_BIT_MAX,
    BUCKET_LEAVES_MAX,
    EMPTY,
    GROUP_LEAVES_MAX,
    HASH_BYTES,
    INNER,
    KEY_BITS,
    LEAF_BYTES,
    OWN,
    BranchPage,
    Page,
)

ROOT_PAGE = 1
OTHER_WAYS_BYTES = 3 * HASH_BYTES


class TreeNodes(Protocol):
    """Stored pages. `get` returns None for a missing page.

    A branch is changed in place before it is put again.
    """

    def get(self, page: int) -> Page | None: ...

    def put(self, page: int, body: Page) -> None: ...

    def delete(self, page: int) -> None: ...


# Proofs.


Step = tuple[int, bytes]
"""A bit, and the hashes of the three ways there that are not taken, joined in order."""


@dataclass(frozen=True, slots=True)
class SparseProof:
    """The way from the root to the only group that could contain a key.

    `steps` lead from the root down; `leaves` are the pairs (key, record hash) of the group at the
    end, in order; there are none if the last way, or the whole tree, is empty.
    """

    steps: tuple[Step, ...]
    leaves: tuple[tuple[bytes, bytes], ...]


def verify_member(root_hash: bytes, key: bytes, record_hash: bytes, proof: SparseProof) -> bool:
    """True if the proof shows that the record is in the tree. Never raises."""
    return (key, record_hash) in proof.leaves and _leads_to_root(root_hash, key, proof)


def verify_absent(root_hash: bytes, key: bytes, proof: SparseProof) -> bool:
    """True if the proof shows that no record with this key is in the tree. Never raises.

    At every branching point `key` goes the way that the proof takes, so a leaf with this key could
    only be in the group at the end. The group lacks it, or the way is empty and there is no group.
    """
    elsewhere = all(other != key for other, _ in proof.leaves)
    return elsewhere and _leads_to_root(root_hash, key, proof)


def _leads_to_root(root_hash: bytes, key: bytes, proof: SparseProof) -> bool:
    bits = [bit for bit, _ in proof.steps]
    hashes = [key, *(part for leaf in proof.leaves for part in leaf)]
    keys = [other for other, _ in proof.leaves]
    if (
        any(len(hash_) != HASH_BYTES for hash_ in hashes)
        or any(len(others) != OTHER_WAYS_BYTES for _, others in proof.steps)
        or any(not 0 <= bit < KEY_BITS or bit & 1 for bit in bits)
        or any(upper >= lower for upper, lower in pairwise(bits))
        or any(left >= right for left, right in pairwise(keys))
        or len(keys) > GROUP_LEAVES_MAX
    ):
        return False
    current = EMPTY
    if proof.leaves:
        current = blake2s(pages.bucket_of(proof.leaves)).digest()
    for bit, others in reversed(proof.steps):
        at = HASH_BYTES * _way(key, bit)
        current = blake2s(INNER[bit] + others[:at] + current + others[at:]).digest()
    return current == root_hash


# Reading.


def root(nodes: TreeNodes) -> bytes:
    """The root of the tree as it is stored."""
    body = nodes.get(ROOT_PAGE)
    return EMPTY if body is None else pages.page_hash(body, 0)


def leaves(nodes: TreeNodes, page: int = ROOT_PAGE) -> Iterator[tuple[bytes, bytes]]:
    """Every (key, record hash) below a page, in key order."""
    body = nodes.get(page)
    if isinstance(body, bytes):
        yield from pages.leaf_hashes(body)
    elif body is not None:
        for nibble in body.children():
            yield from leaves(nodes, page << 4 | nibble)


def prove(nodes: TreeNodes, key: bytes) -> SparseProof:
    """The proof for `key`, of membership or of absence, whichever is true."""
    steps: list[Step] = []
    page, bit = ROOT_PAGE, 0
    while isinstance(body := nodes.get(page), BranchPage):
        upper = _descend(body.ways(OWN), bit, key, steps)
        if upper is None:
            return SparseProof(tuple(steps), ())
        lower = _descend(body.ways(upper), bit + 2, key, steps)
        if lower is None:
            return SparseProof(tuple(steps), ())
        page, bit = page << 4 | upper << 2 | lower, bit + 4
    if body is None:
        return SparseProof((), ())
    group = _descend_bucket(body, key, steps)
    return SparseProof(tuple(steps), group)


def _descend(ways: list[bytes], bit: int, key: bytes, steps: list[Step]) -> int | None:
    """Take the way of `key` among four, or the only one that is not empty; None if it is empty."""
    if ways.count(EMPTY) == len(ways) - 1:
        return next(way for way, hash_ in enumerate(ways) if hash_ != EMPTY)
    way = _way(key, bit)
    steps.append((bit, b"".join(ways[:way] + ways[way + 1 :])))
    return None if ways[way] == EMPTY else way


def _descend_bucket(body: bytes, key: bytes, steps: list[Step]) -> tuple[tuple[bytes, bytes], ...]:
    """Walk through a bucket towards `key`; return the group where the walk ends, if it does."""
    low, high = 0, len(body) // LEAF_BYTES
    while high - low > GROUP_LEAVES_MAX:
        bit, ends = pages.part(body, low, high)
        way = _way(key, bit)
        runs = [pages.run_hash(body, start, stop) for start, stop in pairwise(ends)]
        steps.append((bit, b"".join(runs[:way] + runs[way + 1 :])))
        low, high = ends[way], ends[way + 1]
    return tuple(pages.leaf_hashes(body))[low:high]


# Writing.


def update(nodes: TreeNodes, keys: Sequence[bytes], record_hashes: Sequence[bytes | None]) -> bytes:
    """Set the leaf under each key to the hash beside it (None removes it), and return the new root.

    The keys must be sorted and distinct. Each touched page is read and written once, so one call
    with many changes is much cheaper than many calls.
    """
    if not keys:
        return root(nodes)
    return _Update(nodes, keys, record_hashes).page(ROOT_PAGE, 0, 0, len(keys))


@dataclass(frozen=True, slots=True)
class _Update:
    """The changes of one call of `update`.

    Each method makes the changes from `start` up to `stop`, which are all below its page, and
    returns the page's new hash.
    """

    nodes: TreeNodes
    keys: Sequence[bytes]
    hashes: Sequence[bytes | None]

    def page(self, page: int, bit: int, start: int, stop: int) -> bytes:
        body = self.nodes.get(page)
        if isinstance(body, BranchPage):
            return self.branch(page, bit, start, stop, body)
        return self.bucket(page, bit, start, stop, body)

    def bucket(self, page: int, bit: int, start: int, stop: int, body: bytes | None) -> bytes:
        keys, hashes = self.keys[start:stop], self.hashes[start:stop]
        if body is not None or None in hashes:
            merged: dict[bytes, bytes | None] = (
                dict(pages.leaf_hashes(body)) if body is not None else {}
            )
            merged.update(zip(keys, hashes, strict=True))
            keys = sorted(key for key, value in merged.items() if value is not None)
            hashes = [merged[key] for key in keys]
        if not keys:
            self.nodes.delete(page)
            return EMPTY
        if len(keys) > BUCKET_LEAVES_MAX and bit < BRANCH_BIT_MAX:
            split = _Update(self.nodes, keys, hashes)
            return split.branch(page, bit, 0, len(keys), BranchPage(bit))
        bucket = pages.bucket_of(zip(keys, cast("Sequence[bytes]", hashes), strict=True))
        self.nodes.put(page, bucket)
        return pages.bucket_hash(bucket, bit)

    def branch(self, page: int, bit: int, start: int, stop: int, body: BranchPage) -> bytes:
        ways: set[int] = set()
        removing = False
        while start < stop:
            nibble = _nibble(self.keys[start], bit)
            end = self.end_of_run(bit, nibble, start, stop)
            removing = removing or None in self.hashes[start:end]
            body.set_child(nibble, self.page(page << 4 | nibble, bit + 4, start, end))
            ways.add(nibble >> 2)
            start = end
        if removing and (gathered := _gather(self.nodes, page, body)) is not None:
            return self.collapse(page, bit, gathered)
        current = body.rehash(ways)
        self.nodes.put(page, body)
        return current

    def collapse(self, page: int, bit: int, pairs: list[tuple[bytes, bytes]]) -> bytes:
        """Replace a branch by a bucket of the few leaves that are left below it, or by nothing."""
        for child in range(page << 4, (page << 4) + 16):
            self.nodes.delete(child)
        self.nodes.delete(page)
        if not pairs:
            return EMPTY
        bucket = pages.bucket_of(pairs)
        self.nodes.put(page, bucket)
        return pages.bucket_hash(bucket, bit)

    def end_of_run(self, bit: int, nibble: int, start: int, stop: int) -> int:
        """The end of the changes below one child."""
        keys = self.keys
        if stop - start > 8:  # A few steps are cheaper than a binary search; many steps are not.
            shift = KEY_BITS - 4 - bit
            after = ((int.from_bytes(keys[start]) >> shift) + 1) << shift
            if after >> KEY_BITS:
                return stop
            return bisect_left(keys, after.to_bytes(HASH_BYTES), start, stop)
        end = start + 1
        while end < stop and _nibble(keys[end], bit) == nibble:
            end += 1
        return end


def _gather(nodes: TreeNodes, page: int, body: BranchPage) -> list[tuple[bytes, bytes]] | None:
    """The leaves below a branch, if they are few enough for a bucket."""
    pairs: list[tuple[bytes, bytes]] = []
    for nibble in body.children():
        room = BUCKET_LEAVES_MAX + 1 - len(pairs)
        pairs += islice(leaves(nodes, page << 4 | nibble), room)
        if len(pairs) > BUCKET_LEAVES_MAX:
            return None
    return pairs


def _nibble(key: bytes, bit: int) -> int:
    """The four bits of `key` from `bit` on."""
    byte = key[bit >> 3]
    return byte & 15 if bit & 4 else byte >> 4


def _way(key: bytes, bit: int) -> int:
    """The two bits of `key` from `bit` on, which is even."""
    return key[bit >> 3] >> (6 - (bit & 7)) & 3


# Checking.


def check(nodes: TreeNodes) -> Iterator[tuple[int, str]]:
    """Every reachable page with its problem, or "" if it is sound."""
    yield from _check_page(nodes, ROOT_PAGE, 0, None)


def _check_page(
    nodes: TreeNodes, page: int, bit: int, expected: bytes | None
) -> Iterator[tuple[int, str]]:
    body = nodes.get(page)
    if body is None:
        if expected is not None:
            yield page, "is missing"
        return
    problem = pages.problem_of(body, page)
    if not problem and expected is not None and pages.page_hash(body, bit) != expected:
        problem = "does not have the hash that the page above it expects"
    yield page, problem
    if not problem and isinstance(body, BranchPage):
        for nibble in body.children():
            yield from _check_page(nodes, page << 4 | nibble, bit + 4, body.child(nibble))
