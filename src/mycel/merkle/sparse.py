"""The compact sparse Merkle tree: one root for a set of keyed records, with proofs both ways.

For: committing to a whole namespace (all concepts, or all edges) so that anyone holding the root
can check offline that a record is in it, or that no record with a key is. Not for: history (that
is `log`), and not for storage: pages are read and written through `TreeNodes`.

The one idea: the tree is binary over the 256 bits of the key, but only *branching points* exist.
A subtree with one leaf is that leaf, and a subtree whose leaves all lie on one side is that side.
A branching point hashes the bit at which its sides part, so n leaves have exactly n - 1 inner
hashes, and the root depends on the set of leaves alone, never on the order in which they came.

    leaf  = SHA-256(00 || key || SHA-256(record))
    inner = SHA-256(01 || bit || left || right)
    empty = 32 zero bytes

Hashes are kept in *pages* so that an update touches few rows. A page covers four levels and is
either a branch (the hashes of the 2 + 4 + 8 + 16 positions below it) or a bucket, while the subtree
has few leaves. A bucket lists them in key order, 97 bytes each: key, record hash, and the branching
point between this leaf and the one before it (its bit and its hash); the first leaf has the
bucket's own hash there. Between n sorted leaves lie n - 1 branching points, so nothing is missing,
and changing one leaf rehashes only the points above it.

A page's number is its path: a one bit, then four bits a level. The root page is 1, its children 16
to 31. How leaves are spread over pages carries no meaning: the root does not depend on it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Protocol, cast

EMPTY = bytes(32)
"""The hash of a tree, or of a side of one, that holds nothing."""

HASH_BYTES = 32
KEY_BITS = 256

BUCKET_LEAVES_MAX = 32
"""A bucket that grows beyond this many leaves becomes a branch."""

BRANCH_BIT_MAX = 52
"""Branches lie above this bit only, so page numbers fit a 64-bit integer. A bucket there may grow
without bound; to make one notice, somebody would have to find 33 keys that agree in 52 bits."""

ROOT_PAGE = 1

_ENTRY = 97
_BUCKET = b"\x00"
_BRANCH = b"\x01"
_BRANCH_TAG = 1
_NO_POINT = bytes(33)
_INNER = tuple(b"\x01" + bytes((bit,)) for bit in range(KEY_BITS))
_EMPTY_BRANCH = _BRANCH + EMPTY * 31
"""A branch is a heap: slot 1 is the page's own hash, slots 2k and 2k + 1 lie below slot k, and
slots 16 to 31 are the hashes of the child pages. Slot k starts at byte 32 * k - 31."""


class TreeNodes(Protocol):
    """Where pages live. `get` answers None for a page that is not there."""

    def get(self, page: int) -> bytes | None: ...

    def put(self, page: int, body: bytes) -> None: ...

    def delete(self, page: int) -> None: ...


@dataclass(frozen=True, slots=True)
class SparseProof:
    """The way from the root to the one leaf where a key could be.

    `steps` are (bit, hash of the other side) from the root down. The leaf at the end has
    `leaf_key` and `leaf_record_hash`; in an empty tree there is none.
    """

    steps: tuple[tuple[int, bytes], ...]
    leaf_key: bytes | None
    leaf_record_hash: bytes | None


def leaf_hash(key: bytes, record_hash: bytes) -> bytes:
    """The hash of a leaf."""
    return sha256(b"\x00" + key + record_hash).digest()


def verify_member(root_hash: bytes, key: bytes, record_hash: bytes, proof: SparseProof) -> bool:
    """Whether the proof shows that the record is in the tree. Never raises."""
    return (
        proof.leaf_key == key
        and proof.leaf_record_hash == record_hash
        and _is_well_formed(proof, key)
        and _climb(leaf_hash(key, record_hash), key, proof.steps) == root_hash
    )


def verify_absent(root_hash: bytes, key: bytes, proof: SparseProof) -> bool:
    """Whether the proof shows that no record with this key is in the tree. Never raises.

    Every branching point on the way sends `key` to the side that the proof takes, and the way ends
    at another key: so if `key` were anywhere, it would have to be where it is not.
    """
    if proof.leaf_key is None or proof.leaf_record_hash is None:
        return root_hash == EMPTY and not proof.steps and len(key) == HASH_BYTES
    return (
        proof.leaf_key != key
        and _is_well_formed(proof, key)
        and all(_bit(key, bit) == _bit(proof.leaf_key, bit) for bit, _ in proof.steps)
        and _climb(leaf_hash(proof.leaf_key, proof.leaf_record_hash), key, proof.steps) == root_hash
    )


def _is_well_formed(proof: SparseProof, key: bytes) -> bool:
    hashes = [key, proof.leaf_key or b"", proof.leaf_record_hash or b""]
    hashes += [sibling for _, sibling in proof.steps]
    bits = [bit for bit, _ in proof.steps]
    return (
        all(len(each) == HASH_BYTES for each in hashes)
        and all(0 <= bit < KEY_BITS for bit in bits)
        and all(upper < lower for upper, lower in pairwise(bits))
    )


def _climb(current: bytes, key: bytes, steps: Sequence[tuple[int, bytes]]) -> bytes:
    for bit, sibling in reversed(steps):
        pair = sibling + current if _bit(key, bit) else current + sibling
        current = sha256(_INNER[bit] + pair).digest()
    return current


def root(nodes: TreeNodes) -> bytes:
    """The root of the tree as it is stored."""
    body = nodes.get(ROOT_PAGE)
    return EMPTY if body is None else _page_hash(body)


def get(nodes: TreeNodes, key: bytes) -> bytes | None:
    """The record hash stored under `key`, or None."""
    page, bit = ROOT_PAGE, 0
    while (body := nodes.get(page)) is not None and body[0] == _BRANCH_TAG:
        page, bit = page << 4 | _nibble(key, bit), bit + 4
    if body is None:
        return None
    at = _find(body, key)
    start = 1 + _ENTRY * at
    return body[start + 32 : start + 64] if body[start : start + 32] == key else None


def leaves(nodes: TreeNodes, page: int = ROOT_PAGE) -> Iterator[tuple[bytes, bytes]]:
    """Every (key, record hash) below a page, in key order."""
    body = nodes.get(page)
    if body is None:
        return
    if body[0] == _BRANCH_TAG:
        for child in range(page << 4, (page << 4) + 16):
            yield from leaves(nodes, child)
    else:
        yield from zip(*_entries(body), strict=True)


def prove(nodes: TreeNodes, key: bytes) -> SparseProof:
    """The proof for `key`, of membership or of absence, whichever is true."""
    steps: list[tuple[int, bytes]] = []
    page, bit = ROOT_PAGE, 0
    while (body := nodes.get(page)) is not None and body[0] == _BRANCH_TAG:
        page, bit = page << 4 | _descend_branch(body, bit, key, steps), bit + 4
    if body is None:
        return SparseProof((), None, None)
    leaf_key, record_hash = _descend_bucket(body, key, steps)
    return SparseProof(tuple(steps), leaf_key, record_hash)


def _descend_branch(body: bytes, bit: int, key: bytes, steps: list[tuple[int, bytes]]) -> int:
    """Walk through a branch towards `key`; return the number of the child where it leaves."""
    slot = 1
    for level in range(4):
        left, right = _slot(body, 2 * slot), _slot(body, 2 * slot + 1)
        if EMPTY in (left, right):  # No branching point: there is one way on.
            side = int(left == EMPTY)
        else:
            side = _bit(key, bit + level)
            steps.append((bit + level, left if side else right))
        slot = 2 * slot + side
    return slot & 15


def _descend_bucket(body: bytes, key: bytes, steps: list[tuple[int, bytes]]) -> tuple[bytes, bytes]:
    """Walk through a bucket towards `key`; return the leaf where the walk ends."""
    low, high = 0, (len(body) - 1) // _ENTRY - 1
    while low < high:
        point = min(range(low + 1, high + 1), key=lambda at: body[_ENTRY * at + 65])
        bit = body[_ENTRY * point + 65]
        if _bit(key, bit):
            steps.append((bit, _run_hash(body, low, point - 1)))
            low = point
        else:
            steps.append((bit, _run_hash(body, point, high)))
            high = point - 1
    start = 1 + _ENTRY * low
    return body[start : start + 32], body[start + 32 : start + 64]


def update(nodes: TreeNodes, keys: Sequence[bytes], record_hashes: Sequence[bytes | None]) -> bytes:
    """Set the leaf under each key to the hash beside it (None removes) and return the new root.

    The keys must be sorted, none twice. Each touched page is read and written once, so one call
    with many changes is much cheaper than many calls.
    """
    if not keys:
        return root(nodes)
    return _Update(nodes, keys, record_hashes).page(ROOT_PAGE, 0, 0, len(keys))


@dataclass(frozen=True, slots=True)
class _Update:
    """One call of `update`.

    Every method works on the changes from `start` up to `stop`, all of which lie below its page,
    and returns the page's new hash.
    """

    nodes: TreeNodes
    keys: Sequence[bytes]
    hashes: Sequence[bytes | None]

    def page(self, page: int, bit: int, start: int, stop: int) -> bytes:
        body = self.nodes.get(page)
        if body is not None and body[0] == _BRANCH_TAG:
            return self.branch(page, bit, start, stop, bytearray(body))
        if body is not None and stop - start == 1 and len(body) <= _ENTRY * BUCKET_LEAVES_MAX:
            leaf = self.hashes[start]
            if leaf is not None:  # By far the most common change: one leaf, no split.
                changed = _set_leaf(bytearray(body), self.keys[start], leaf)
                self.nodes.put(page, bytes(changed))
                return bytes(changed[66:98])
        return self.bucket(page, bit, start, stop, body)

    def bucket(self, page: int, bit: int, start: int, stop: int, body: bytes | None) -> bytes:
        keys, hashes = self.keys[start:stop], self.hashes[start:stop]
        if body is not None:
            merged: dict[bytes, bytes | None] = dict(zip(*_entries(body), strict=True))
            merged.update(zip(keys, hashes, strict=True))
            keys = sorted(merged)
            hashes = [merged[key] for key in keys]
        if None in hashes:
            kept = [(key, leaf) for key, leaf in zip(keys, hashes, strict=True) if leaf is not None]
            keys, hashes = [key for key, _ in kept], [leaf for _, leaf in kept]
        if not keys:
            self.nodes.delete(page)
            return EMPTY
        if len(keys) > BUCKET_LEAVES_MAX and bit < BRANCH_BIT_MAX:
            if body is not None:
                self.nodes.delete(page)
            split = _Update(self.nodes, keys, hashes)
            return split.branch(page, bit, 0, len(keys), bytearray(_EMPTY_BRANCH))
        made = _make_bucket(keys, cast("Sequence[bytes]", hashes))
        self.nodes.put(page, made)
        return made[66:98]

    def branch(self, page: int, bit: int, start: int, stop: int, body: bytearray) -> bytes:
        touched = []
        while start < stop:
            nibble = _nibble(self.keys[start], bit)
            end = self.end_of_run(bit, nibble, start, stop)
            slot = 16 | nibble
            body[32 * slot - 31 : 32 * slot + 1] = self.page(
                page << 4 | nibble, bit + 4, start, end
            )
            touched.append(slot)
            start = end
        _rehash(body, bit, touched)
        top = bytes(body[1:33])
        if top == EMPTY:
            self.nodes.delete(page)
        else:
            self.nodes.put(page, bytes(body))
        return top

    def end_of_run(self, bit: int, nibble: int, start: int, stop: int) -> int:
        """Where the changes below one child end."""
        keys = self.keys
        if stop - start > 8:  # A few steps are cheaper than a search; many are not.
            shift = KEY_BITS - 4 - bit
            after = ((int.from_bytes(keys[start]) >> shift) + 1) << shift
            if after >> KEY_BITS:
                return stop
            return bisect_left(keys, after.to_bytes(HASH_BYTES), start, stop)
        end = start + 1
        while end < stop and _nibble(keys[end], bit) == nibble:
            end += 1
        return end


def _rehash(body: bytearray, bit: int, touched: list[int]) -> None:
    """Recompute the slots of a branch above the `touched` ones."""
    for level in (3, 2, 1, 0):
        prefix = _INNER[bit + level]
        touched = [touched[0] >> 1] if len(touched) == 1 else sorted({s >> 1 for s in touched})
        for slot in touched:
            at = 64 * slot - 31
            # A hash that starts with a zero byte may be EMPTY: look closely. Most do not.
            if body[at] and body[at + 32]:
                joined: bytes | bytearray = sha256(prefix + body[at : at + 64]).digest()
            elif body[at : at + 32] == EMPTY:
                joined = body[at + 32 : at + 64]
            elif body[at + 32 : at + 64] == EMPTY:
                joined = body[at : at + 32]
            else:
                joined = sha256(prefix + body[at : at + 64]).digest()
            body[32 * slot - 31 : 32 * slot + 1] = joined


def _make_bucket(keys: Sequence[bytes], hashes: Sequence[bytes]) -> bytes:
    """A bucket of leaves given in key order.

    One pass: the deepest partings join first, so a left side waits on a stack until the next
    parting is not deeper than its own.
    """
    count = len(keys)
    points = [_NO_POINT] * count
    waiting: list[tuple[int, int, bytes]] = []  # The bit, the place, and the left side's hash.
    current, number = b"", 0
    for at in range(count):
        key = keys[at]
        following = int.from_bytes(key)
        if at:
            bit = KEY_BITS - (number ^ following).bit_length()
            while waiting and waiting[-1][0] > bit:
                parting, place, left = waiting.pop()
                current = sha256(_INNER[parting] + left + current).digest()
                points[place] = _INNER[parting][1:] + current
            waiting.append((bit, at, current))
        current, number = sha256(b"\x00" + key + hashes[at]).digest(), following
    while waiting:
        parting, place, left = waiting.pop()
        current = sha256(_INNER[parting] + left + current).digest()
        points[place] = _INNER[parting][1:] + current
    points[0] = b"\x00" + current
    parts = [part for entry in zip(keys, hashes, points, strict=True) for part in entry]
    return _BUCKET + b"".join(parts)


def _set_leaf(body: bytearray, key: bytes, record_hash: bytes) -> bytearray:
    """Put one leaf into a bucket and rehash the branching points above it."""
    at = _find(body, key)
    count = (len(body) - 1) // _ENTRY
    start = 1 + _ENTRY * at
    if body[start : start + 32] == key:
        body[start + 32 : start + 64] = record_hash
    else:
        body[start:start] = key + record_hash + _NO_POINT
        count += 1
        if at:
            body[start + 64] = _parting(body[start - _ENTRY : start - 65], key)
        if at + 1 < count:
            body[start + _ENTRY + 64] = _parting(key, body[start + _ENTRY : start + _ENTRY + 32])
    low = high = at
    current = leaf_hash(key, record_hash)
    while low or high + 1 < count:
        left_bit = body[_ENTRY * low + 65] if low else -1
        right_bit = body[_ENTRY * high + 162] if high + 1 < count else -1
        if left_bit > right_bit:  # The deeper of the two partings joins first.
            point, bit = low, left_bit
            low -= 1
            while low and body[_ENTRY * low + 65] > bit:
                low -= 1
            current = sha256(_INNER[bit] + _run_hash(body, low, point - 1) + current).digest()
        else:
            point, bit = high + 1, right_bit
            high += 1
            while high + 1 < count and body[_ENTRY * high + 162] > bit:
                high += 1
            current = sha256(_INNER[bit] + current + _run_hash(body, point, high)).digest()
        body[_ENTRY * point + 66 : _ENTRY * point + 98] = current
    body[66:98] = current
    return body


def _run_hash(body: bytes | bytearray, low: int, high: int) -> bytes:
    """The hash of the subtree made of the bucket's leaves `low` to `high`."""
    if low == high:
        start = 1 + _ENTRY * low
        return sha256(b"\x00" + body[start : start + 64]).digest()
    point = low + 1
    for at in range(low + 2, high + 1):
        if body[_ENTRY * at + 65] < body[_ENTRY * point + 65]:
            point = at
    return bytes(body[_ENTRY * point + 66 : _ENTRY * point + 98])


def _find(body: bytes | bytearray, key: bytes) -> int:
    """The place of the first leaf in a bucket that is not before `key`."""
    low, high = 0, (len(body) - 1) // _ENTRY
    while low < high:
        middle = (low + high) >> 1
        start = 1 + _ENTRY * middle
        if body[start : start + 32] < key:
            low = middle + 1
        else:
            high = middle
    return low


def is_branch(body: bytes) -> bool:
    """Whether a page is a branch: few of them cover much of the tree, so they are worth caching."""
    return body[0] == _BRANCH_TAG


def _page_hash(body: bytes) -> bytes:
    return body[1:33] if body[0] == _BRANCH_TAG else body[66:98]


def _slot(body: bytes, slot: int) -> bytes:
    return body[32 * slot - 31 : 32 * slot + 1]


def _entries(body: bytes) -> tuple[list[bytes], list[bytes]]:
    """The keys of a bucket in order, and the record hash of each."""
    starts = range(1, len(body), _ENTRY)
    return [body[i : i + 32] for i in starts], [body[i + 32 : i + 64] for i in starts]


def _parting(left: bytes | bytearray, right: bytes | bytearray) -> int:
    """The first bit in which two keys differ."""
    return KEY_BITS - (int.from_bytes(left) ^ int.from_bytes(right)).bit_length()


def _nibble(key: bytes, bit: int) -> int:
    """The four bits of `key` from `bit` on."""
    byte = key[bit >> 3]
    return byte & 15 if bit & 4 else byte >> 4


def _bit(key: bytes, bit: int) -> int:
    return key[bit >> 3] >> (7 - (bit & 7)) & 1


def check(nodes: TreeNodes) -> Iterator[tuple[int, str]]:
    """What is wrong with the stored pages: (page, problem). A sound tree gives nothing.

    Yields (page, "") for every page that was reached and is sound, so that a caller can find pages
    that nothing leads to.
    """
    yield from _check_page(nodes, ROOT_PAGE, 0, None)


def _check_page(
    nodes: TreeNodes, page: int, bit: int, expected: bytes | None
) -> Iterator[tuple[int, str]]:
    body = nodes.get(page)
    if body is None:
        if expected is not None:
            yield page, "is missing"
        return
    problem = _page_problem(body, page, bit)
    if not problem and expected is not None and _page_hash(body) != expected:
        problem = "does not have the hash that the page above it expects"
    yield page, problem
    if not problem and body[0] == _BRANCH_TAG:
        for slot in range(16, 32):
            below = _slot(body, slot)
            if below != EMPTY:
                yield from _check_page(nodes, page << 4 | slot & 15, bit + 4, below)


def _page_problem(body: bytes, page: int, bit: int) -> str:
    if len(body) == len(_EMPTY_BRANCH) and body[0] == _BRANCH_TAG:
        rehashed = bytearray(body)
        _rehash(rehashed, bit, list(range(16, 32)))
        return "" if rehashed == body else "holds hashes that do not fit together"
    if not body or body[0] != _BUCKET[0] or len(body) <= 1 or (len(body) - 1) % _ENTRY:
        return "is neither a branch nor a bucket"
    keys, hashes = _entries(body)
    if any(left >= right for left, right in pairwise(keys)):
        return "holds keys out of order"
    if any(int.from_bytes(key) >> KEY_BITS - bit != page - (1 << bit) for key in keys):
        return "holds a key that belongs elsewhere"
    return "" if _make_bucket(keys, hashes) == body else "holds hashes that do not fit together"
