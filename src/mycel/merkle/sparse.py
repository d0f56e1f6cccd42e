"""The compact sparse Merkle tree: one root for a set of keyed records, with proofs both ways.

For: committing to a whole namespace (all concepts, or all edges) so that anyone holding the root
can check offline that a record is in it, or that no record with a key is. Not for: history (that
is `log`), and not for storage: pages are read and written through `TreeNodes`.

The one idea: the tree has four ways at every second of the 256 bits of the key, but only *branching
points* exist, and few leaves are one hash. A subtree with up to eight leaves is a **group**: one
hash over all of them, so a subtree with one leaf is that leaf. A subtree whose leaves all go one
way is what lies there. A branching point hashes the bit at which its ways part, and all four.

    group = SHA-256(00 || key || record hash || key || record hash || ...)   in key order
    inner = SHA-256(01 || bit || way 00 || way 01 || way 10 || way 11)
    empty = 32 zero bytes

Hashes are kept in **pages**, so that an update touches few of them. A page stands every four bits.
While its subtree has up to 32 leaves it is a *bucket*, which lists them; its hash joins groups at
the bits where the leaves part. Beyond that it is a *branch*, which holds the hashes of the 4 + 16
positions below it, whatever their number of leaves. So pages and root depend on the set of leaves
alone, never on the order in which they came or on leaves that are gone.

A page's number is its path: a one bit, then four bits a level. The root page is 1, its children 16
to 31. No branch lies deeper than bit 52, so numbers fit 64 bits; a bucket there has no bound (but
33 keys that agree in 52 bits would have to be found first).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice, pairwise
from typing import Protocol, cast

EMPTY = bytes(32)
"""The hash of a tree, or of a way in one, that holds nothing."""

HASH_BYTES = 32
KEY_BITS = 256
GROUP_LEAVES_MAX = 8
BUCKET_LEAVES_MAX = 32
BRANCH_BIT_MAX = 52
ROOT_PAGE = 1
OTHER_WAYS_BYTES = 3 * HASH_BYTES
FEW_CHANGES = 16
"""Up to here changes are made one after the other."""

_LEAF = 64
_WAYS_BYTES = 4 * HASH_BYTES
_BUCKET = b"\x00"
_BRANCH = b"\x01"
_CHILDREN = 1 + _WAYS_BYTES
"""Where the hashes of the sixteen children begin in a branch."""
_BRANCH_BYTES = _CHILDREN + 16 * HASH_BYTES
_GROUP_BYTES_MAX = 1 + GROUP_LEAVES_MAX * _LEAF
_BUCKET_BYTES_MAX = 1 + BUCKET_LEAVES_MAX * _LEAF
_INNER = tuple(b"\x01" + bytes((bit,)) for bit in range(KEY_BITS))

Branch = bytearray
"""The byte 01, the hashes of its four ways, and those of its sixteen children. A branch is changed
in place, then put."""

Page = Branch | bytes
"""A branch, or a bucket: the byte 00, then key and record hash of each leaf in key order. A bucket
of few leaves is thus exactly what its hash is taken over."""


class TreeNodes(Protocol):
    """Where pages live. `get` answers None for a page that is not there."""

    def get(self, page: int) -> Page | None: ...

    def put(self, page: int, body: Page) -> None: ...

    def delete(self, page: int) -> None: ...


def pack(body: Page) -> bytes:
    """A page as bytes, for storing."""
    return bytes(body)


def unpack(stored: bytes) -> Page:
    """A page from the bytes that `pack` made.

    Raises:
        ValueError: they are neither a branch nor a bucket.
    """
    if stored[:1] == _BRANCH and len(stored) == _BRANCH_BYTES:
        return bytearray(stored)
    if stored[:1] == _BUCKET and len(stored) > 1 and len(stored) % _LEAF == 1:
        return stored
    raise ValueError("neither a branch nor a bucket")


# Proofs.


@dataclass(frozen=True, slots=True)
class SparseProof:
    """The way from the root to the one group where a key could be.

    `steps` are (bit, hashes of the three other ways, joined in order) from the root down; `leaves`
    are (key, record hash) of the group at the end, in order. There are none if the last way is
    empty, or the whole tree.
    """

    steps: tuple[tuple[int, bytes], ...]
    leaves: tuple[tuple[bytes, bytes], ...]


def verify_member(root_hash: bytes, key: bytes, record_hash: bytes, proof: SparseProof) -> bool:
    """Whether the proof shows that the record is in the tree. Never raises."""
    return (key, record_hash) in proof.leaves and _leads_to_root(root_hash, key, proof)


def verify_absent(root_hash: bytes, key: bytes, proof: SparseProof) -> bool:
    """Whether the proof shows that no record with this key is in the tree. Never raises.

    Every branching point sends `key` the way that the proof takes, so if it were anywhere it would
    be in the group at the end. There it is not; or there is no group, and the way is empty.
    """
    return all(each != key for each, _ in proof.leaves) and _leads_to_root(root_hash, key, proof)


def _leads_to_root(root_hash: bytes, key: bytes, proof: SparseProof) -> bool:
    bits = [bit for bit, _ in proof.steps]
    hashes = [key, *(each for leaf in proof.leaves for each in leaf)]
    keys = [each for each, _ in proof.leaves]
    if (
        any(len(each) != HASH_BYTES for each in hashes)
        or any(len(others) != OTHER_WAYS_BYTES for _, others in proof.steps)
        or any(not 0 <= bit < KEY_BITS or bit & 1 for bit in bits)
        or any(upper >= lower for upper, lower in pairwise(bits))
        or any(left >= right for left, right in pairwise(keys))
        or len(keys) > GROUP_LEAVES_MAX
    ):
        return False
    current = EMPTY
    if proof.leaves:
        group = _BUCKET + b"".join([part for leaf in proof.leaves for part in leaf])
        current = sha256(group).digest()
    for bit, others in reversed(proof.steps):
        at = HASH_BYTES * _way(key, bit)
        current = sha256(_INNER[bit] + others[:at] + current + others[at:]).digest()
    return current == root_hash


# Reading.


def root(nodes: TreeNodes) -> bytes:
    """The root of the tree as it is stored."""
    body = nodes.get(ROOT_PAGE)
    return EMPTY if body is None else _page_hash(body, 0)


def get(nodes: TreeNodes, key: bytes) -> bytes | None:
    """The record hash stored under `key`, or None."""
    page, bit = ROOT_PAGE, 0
    while isinstance(body := nodes.get(page), bytearray):
        page, bit = page << 4 | _nibble(key, bit), bit + 4
    if body is None:
        return None
    start = 1 + _LEAF * _find(body, key)
    return body[start + 32 : start + 64] if body[start : start + 32] == key else None


def leaves(nodes: TreeNodes, page: int = ROOT_PAGE) -> Iterator[tuple[bytes, bytes]]:
    """Every (key, record hash) below a page, in key order."""
    body = nodes.get(page)
    if isinstance(body, bytes):
        yield from _listed(body)
    elif body is not None:
        for nibble in _children(body):
            yield from leaves(nodes, page << 4 | nibble)


def prove(nodes: TreeNodes, key: bytes) -> SparseProof:
    """The proof for `key`, of membership or of absence, whichever is true."""
    steps: list[tuple[int, bytes]] = []
    page, bit = ROOT_PAGE, 0
    while isinstance(body := nodes.get(page), bytearray):
        upper = _descend(bytes(body[1:_CHILDREN]), bit, key, steps)
        if upper is None:
            return SparseProof(tuple(steps), ())
        start = _CHILDREN + _WAYS_BYTES * upper
        lower = _descend(bytes(body[start : start + _WAYS_BYTES]), bit + 2, key, steps)
        if lower is None:
            return SparseProof(tuple(steps), ())
        page, bit = page << 4 | upper << 2 | lower, bit + 4
    if body is None:
        return SparseProof((), ())
    group = _descend_bucket(body, key, steps)
    return SparseProof(tuple(steps), group)


def _descend(ways: bytes, bit: int, key: bytes, steps: list[tuple[int, bytes]]) -> int | None:
    """Take the way of `key` among four; None if it is empty. Where there is but one, take it."""
    filled = _filled(ways)
    if len(filled) == 1:
        return filled[0]
    way = _way(key, bit)
    at = HASH_BYTES * way
    steps.append((bit, ways[:at] + ways[at + HASH_BYTES :]))
    return way if way in filled else None


def _descend_bucket(
    body: bytes, key: bytes, steps: list[tuple[int, bytes]]
) -> tuple[tuple[bytes, bytes], ...]:
    """Walk through a bucket towards `key`; return the group where the walk ends, if it does."""
    low, high = 0, len(body) // _LEAF
    while high - low > GROUP_LEAVES_MAX:
        bit, ends = _parting(body, low, high)
        way = _way(key, bit)
        runs = [_any_run_hash(body, start, stop) for start, stop in pairwise(ends)]
        steps.append((bit, b"".join(runs[:way] + runs[way + 1 :])))
        low, high = ends[way], ends[way + 1]
    return tuple(_listed(body))[low:high]


# Writing.


def update(nodes: TreeNodes, keys: Sequence[bytes], record_hashes: Sequence[bytes | None]) -> bytes:
    """Set the leaf under each key to the hash beside it (None removes) and return the new root.

    The keys must be sorted, none twice. Each touched page is read and written once, so one call
    with many changes is much cheaper than many calls.
    """
    if not keys:
        return root(nodes)
    if len(keys) > FEW_CHANGES or None in record_hashes:
        return _Update(nodes, keys, record_hashes).page(ROOT_PAGE, 0, 0, len(keys))
    return _update_few(nodes, keys, cast("Sequence[bytes]", record_hashes))


def _update_few(nodes: TreeNodes, keys: Sequence[bytes], hashes: Sequence[bytes]) -> bytes:
    """A few changes, one after the other: down to the bucket, then up again.

    Does what `_Update` does. A small transaction spends most of its time here, so it is one plain
    loop: hashes that several changes share are computed again, which is cheaper than to remember.
    Only the root page, which all of them share, waits for the end.
    """
    touched: dict[int, Branch] = {}
    top = nodes.get(ROOT_PAGE)
    for key, record_hash in zip(keys, hashes, strict=True):
        page, shift, ahead = ROOT_PAGE, 60, int.from_bytes(key[:8])
        way: list[tuple[Branch, int, int]] = []
        body = top
        while body.__class__ is bytearray:
            touched[page] = body
            nibble = ahead >> shift & 15
            way.append((body, nibble, 60 - shift))
            page, shift = page << 4 | nibble, shift - 4
            body = touched.get(page) or nodes.get(page)
        bit = 60 - shift
        bucket = _with_leaf(cast("bytes", body) or _BUCKET, key, record_hash, bit)
        if len(bucket) > _BUCKET_BYTES_MAX and bit < BRANCH_BIT_MAX:
            current = _Update(nodes, (key,), (record_hash,)).page(page, bit, 0, 1)
        else:
            nodes.put(page, bucket)
            current = _bucket_hash(bucket, bit)
        if not way:
            top = nodes.get(ROOT_PAGE)
            continue
        for branch, nibble, level in way[:0:-1]:
            at = _CHILDREN + (nibble << 5)
            branch[at : at + 32] = current
            start = _CHILDREN + ((nibble & 12) << 5)
            four = branch[start : start + 128]
            # A way that does not begin with a zero byte is not empty, and nearly none does.
            if four[0] and four[32] and four[64] and four[96]:
                current = sha256(_INNER[level + 2] + four).digest()
            else:
                current = _join(level + 2, four)
            at = 1 + (nibble >> 2 << 5)
            branch[at : at + 32] = current
            four = branch[1:_CHILDREN]
            if four[0] and four[32] and four[64] and four[96]:
                current = sha256(_INNER[level] + four).digest()
            else:
                current = _join(level, four)
        branch, nibble, _ = way[0]
        at = _CHILDREN + (nibble << 5)
        branch[at : at + 32] = current
        _rehash_way(branch, 0, nibble >> 2)
    for page, branch in touched.items():
        nodes.put(page, branch)
    return _page_hash(top, 0)  # type: ignore[arg-type]  # There is a leaf now.


def _with_leaf(bucket: bytes, key: bytes, record_hash: bytes, bit: int) -> bytes:
    """A bucket at some bit with one more leaf, or with another hash for one."""
    at = bit >> 3
    tops = bucket[1 + at :: _LEAF]  # The byte in which keys begin to differ, of each leaf.
    place = bisect_left(tops, key[at])
    start = 1 + _LEAF * place
    while place < len(tops) and bucket[start : start + 32] < key:
        place, start = place + 1, start + _LEAF
    end = start + _LEAF if bucket[start : start + 32] == key else start
    return bucket[:start] + key + record_hash + bucket[end:]


@dataclass(frozen=True, slots=True)
class _Update:
    """Many changes.

    Every method works on those from `start` up to `stop`, all of which lie below its page, and
    returns the page's new hash.
    """

    nodes: TreeNodes
    keys: Sequence[bytes]
    hashes: Sequence[bytes | None]

    def page(self, page: int, bit: int, start: int, stop: int) -> bytes:
        body = self.nodes.get(page)
        if isinstance(body, bytearray):
            return self.branch(page, bit, start, stop, body)
        return self.bucket(page, bit, start, stop, body)

    def bucket(self, page: int, bit: int, start: int, stop: int, body: bytes | None) -> bytes:
        keys, hashes = self.keys[start:stop], self.hashes[start:stop]
        if body is not None or None in hashes:
            merged: dict[bytes, bytes | None] = dict(_listed(body)) if body is not None else {}
            merged.update(zip(keys, hashes, strict=True))
            keys = sorted(key for key, each in merged.items() if each is not None)
            hashes = [merged[key] for key in keys]
        if not keys:
            self.nodes.delete(page)
            return EMPTY
        if len(keys) > BUCKET_LEAVES_MAX and bit < BRANCH_BIT_MAX:
            split = _Update(self.nodes, keys, hashes)
            return split.branch(page, bit, 0, len(keys), bytearray(_BRANCH + bytes(20 * 32)))
        made = _BUCKET + b"".join(
            [part for leaf in zip(keys, hashes, strict=True) for part in leaf if part]
        )
        self.nodes.put(page, made)
        return _bucket_hash(made, bit)

    def branch(self, page: int, bit: int, start: int, stop: int, body: Branch) -> bytes:
        ways: set[int] = set()
        removing = False
        while start < stop:
            nibble = _nibble(self.keys[start], bit)
            end = self.end_of_run(bit, nibble, start, stop)
            removing = removing or None in self.hashes[start:end]
            at = _CHILDREN + HASH_BYTES * nibble
            body[at : at + HASH_BYTES] = self.page(page << 4 | nibble, bit + 4, start, end)
            ways.add(nibble >> 2)
            start = end
        if removing and (gathered := _gather(self.nodes, page, body)) is not None:
            return self.collapse(page, bit, gathered)
        for way in ways:
            _rehash_way(body, bit, way)
        self.nodes.put(page, body)
        return _page_hash(body, bit)

    def collapse(self, page: int, bit: int, listed: list[tuple[bytes, bytes]]) -> bytes:
        """So few leaves are left below a branch that it is a bucket again, or nothing."""
        for child in range(page << 4, (page << 4) + 16):
            self.nodes.delete(child)
        self.nodes.delete(page)
        if not listed:
            return EMPTY
        made = _BUCKET + b"".join([part for leaf in listed for part in leaf])
        self.nodes.put(page, made)
        return _bucket_hash(made, bit)

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


def _gather(nodes: TreeNodes, page: int, body: Branch) -> list[tuple[bytes, bytes]] | None:
    """The leaves below a branch, if they are few enough for a bucket."""
    found: list[tuple[bytes, bytes]] = []
    for nibble in _children(body):
        room = BUCKET_LEAVES_MAX + 1 - len(found)
        found += islice(leaves(nodes, page << 4 | nibble), room)
        if len(found) > BUCKET_LEAVES_MAX:
            return None
    return found


def _rehash_way(branch: Branch, bit: int, way: int) -> None:
    """Recompute one of the four ways of a branch from the four children on it."""
    start = _CHILDREN + _WAYS_BYTES * way
    at = 1 + HASH_BYTES * way
    branch[at : at + HASH_BYTES] = _join(bit + 2, branch[start : start + _WAYS_BYTES])


def _join(bit: int, ways: bytes | bytearray) -> bytes:
    """The hash of a position from those of its four ways."""
    if ways[0] and ways[32] and ways[64] and ways[96]:  # Nearly always: none can be empty.
        return sha256(_INNER[bit] + ways).digest()
    filled = _filled(ways)
    if len(filled) > 1:
        return sha256(_INNER[bit] + ways).digest()
    return bytes(ways[HASH_BYTES * filled[0] :][:HASH_BYTES]) if filled else EMPTY


def _filled(ways: bytes | bytearray) -> list[int]:
    return [way for way in range(4) if ways[32 * way : 32 * way + 32] != EMPTY]


def _children(body: Branch) -> list[int]:
    """Which children a branch has."""
    places = ((nibble, _CHILDREN + HASH_BYTES * nibble) for nibble in range(16))
    return [nibble for nibble, at in places if body[at : at + HASH_BYTES] != EMPTY]


# Pages.


def _page_hash(body: Page, bit: int) -> bytes:
    return _bucket_hash(body, bit) if isinstance(body, bytes) else _join(bit, body[1:_CHILDREN])


def _bucket_hash(bucket: bytes, bit: int) -> bytes:
    """The hash of a bucket at some bit: its leaves agree in all bits before it."""
    if len(bucket) <= _GROUP_BYTES_MAX:
        return sha256(bucket).digest()
    tops = bucket[1 + (bit >> 3) :: _LEAF]
    return _run_hash(bucket, 0, len(tops), tops, bit & ~7)


def _run_hash(bucket: bytes, low: int, high: int, tops: bytes, bit: int) -> bytes:
    """The hash of the subtree made of the leaves from `low` up to `high`, more than a group.

    `tops` holds one byte of each key, the one that starts at `bit`: nearly always keys part there.
    """
    below = ((tops[low] ^ tops[high - 1]).bit_length() - 1) & ~1
    if below >= 0:
        base = tops[low] >> below + 2 << below + 2
        one = bisect_left(tops, base | 1 << below, low, high)
        two = bisect_left(tops, base | 2 << below, one, high)
        three = bisect_left(tops, base | 3 << below, two, high)
        if high - low in (one - low, two - one, three - two, high - three):
            raise ValueError("keys out of order in a bucket")
        parting, ends = bit + 6 - below, (low, one, two, three, high)
    else:
        parting, ends = _parting(bucket, low, high)
    ways = [
        sha256(_BUCKET + bucket[1 + _LEAF * start : 1 + _LEAF * stop]).digest()
        if 0 < stop - start <= GROUP_LEAVES_MAX
        else _run_hash(bucket, start, stop, tops, bit)
        if start < stop
        else EMPTY
        for start, stop in pairwise(ends)
    ]
    return sha256(_INNER[parting] + b"".join(ways)).digest()


def _any_run_hash(bucket: bytes, low: int, high: int) -> bytes:
    """The hash of the subtree made of the leaves from `low` up to `high`, however many."""
    if low == high:
        return EMPTY
    if high - low <= GROUP_LEAVES_MAX:
        return sha256(_BUCKET + bucket[1 + _LEAF * low : 1 + _LEAF * high]).digest()
    return _run_hash(bucket, low, high, bucket[1::_LEAF], 0)


def _parting(bucket: bytes, low: int, high: int) -> tuple[int, tuple[int, int, int, int, int]]:
    """The first bit at which leaves go different ways, and where each way begins and ends.

    Raises:
        ValueError: the leaves are not in order, so that there is no way to go on.
    """
    first = int.from_bytes(bucket[1 + _LEAF * low : 33 + _LEAF * low])
    last = int.from_bytes(bucket[1 + _LEAF * (high - 1) : 33 + _LEAF * (high - 1)])
    below = ((first ^ last).bit_length() - 1) & ~1
    if below < 0:
        raise ValueError("a key twice in a bucket")
    base = first >> below + 2 << below + 2
    starts = [(base | way << below).to_bytes(HASH_BYTES) for way in (1, 2, 3)]
    one, two, three = (_find(bucket, start, low, high) for start in starts)
    if not low <= one <= two <= three <= high or high - low in (
        *(one - low, two - one),
        *(three - two, high - three),
    ):
        raise ValueError("keys out of order in a bucket")
    return KEY_BITS - 2 - below, (low, one, two, three, high)


def _find(bucket: bytes, key: bytes, low: int = 0, high: int | None = None) -> int:
    """The place of the first leaf that is not before `key`."""
    if high is None:
        high = len(bucket) // _LEAF
    while low < high:
        middle = (low + high) >> 1
        start = 1 + _LEAF * middle
        if bucket[start : start + 32] < key:
            low = middle + 1
        else:
            high = middle
    return low


def _listed(bucket: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (bucket[at : at + 32], bucket[at + 32 : at + 64]) for at in range(1, len(bucket), _LEAF)
    ]


def _nibble(key: bytes, bit: int) -> int:
    """The four bits of `key` from `bit` on."""
    byte = key[bit >> 3]
    return byte & 15 if bit & 4 else byte >> 4


def _way(key: bytes, bit: int) -> int:
    """The two bits of `key` from `bit` on, which is even."""
    return key[bit >> 3] >> (6 - (bit & 7)) & 3


# Checking.


def check(nodes: TreeNodes) -> Iterator[tuple[int, str]]:
    """Every page that can be reached, and what is wrong with it: "" if it is sound."""
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
    if not problem and expected is not None and _page_hash(body, bit) != expected:
        problem = "does not have the hash that the page above it expects"
    yield page, problem
    if not problem and isinstance(body, bytearray):
        for nibble in _children(body):
            at = _CHILDREN + HASH_BYTES * nibble
            child = bytes(body[at : at + HASH_BYTES])
            yield from _check_page(nodes, page << 4 | nibble, bit + 4, child)


def _page_problem(body: Page, page: int, bit: int) -> str:
    if isinstance(body, bytearray):
        rehashed = bytearray(body)
        for way in range(4):
            _rehash_way(rehashed, bit, way)
        return "" if rehashed == body else "holds hashes that do not fit together"
    keys = [key for key, _ in _listed(body)]
    if any(left >= right for left, right in pairwise(keys)):
        return "holds keys out of order"
    if any(int.from_bytes(key) >> KEY_BITS - bit != page - (1 << bit) for key in keys):
        return "holds a key that belongs elsewhere"
    if len(keys) > BUCKET_LEAVES_MAX and bit < BRANCH_BIT_MAX:
        return "holds more leaves than a bucket may"
    return ""
