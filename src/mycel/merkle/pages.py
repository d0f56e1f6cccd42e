"""The pages of the sparse tree: their content and their hashes.

`sparse` explains trees and pages, and walks from one page to the next; this module only knows
single pages.

A page is a *bucket* or a *branch*. A bucket is bytes, which never change: the byte 00, then key and
record hash of each leaf in key order. So a bucket of up to eight leaves is exactly the input of its
hash. A branch is a `BranchPage`. Its stored form is the byte 01, the hashes of its four ways, and
the hashes of its sixteen children.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2s
from itertools import pairwise

EMPTY = bytes(32)
"""The hash of an empty tree, or of an empty way in a tree."""

HASH_BYTES = 32
KEY_BITS = 256
GROUP_LEAVES_MAX = 8
BUCKET_LEAVES_MAX = 32
BRANCH_BIT_MAX = 52

LEAF_BYTES = 64
BUCKET = b"\x00"
"""A bucket without leaves, for adding leaves."""

INNER = tuple(b"\x01" + bytes((bit,)) for bit in range(KEY_BITS))
"""The bytes that a branching point at each bit hashes before its four ways."""

_BRANCH = b"\x01"
_WAYS_BYTES = 4 * HASH_BYTES
STORED_BRANCH_BYTES = 1 + 5 * _WAYS_BYTES
_GROUP_BYTES_MAX = 1 + GROUP_LEAVES_MAX * LEAF_BYTES

WAYS = tuple(slice(at, at + HASH_BYTES) for at in range(2, 2 + _WAYS_BYTES, HASH_BYTES))
"""The slices of a position with the hashes of its four ways."""
OWN = 4
"""The position of the page itself."""
_LONELY_ZEROS = 3 * HASH_BYTES
"""With fewer zero bytes than this, a position has at least two ways that are not empty."""


class BranchPage:
    """A page for more leaves than a bucket can list: the hashes of the subtrees below it.

    The hashes are kept in the form in which they are hashed: in five positions, each the two bytes
    of a branching point and the hashes of its four ways. The first four positions lie two bits
    below the page and lead to its children; the fifth is the page itself, and leads to those four.
    A branch is changed in place.
    """

    __slots__ = ("positions",)

    def __init__(self, bit: int, stored: bytes = bytes(STORED_BRANCH_BYTES)) -> None:
        """The branch that begins at a bit, from its stored bytes; without children if it is new."""
        own, lower = INNER[bit], INNER[bit + 2]
        self.positions = (
            bytearray(lower + stored[129:257]),
            bytearray(lower + stored[257:385]),
            bytearray(lower + stored[385:513]),
            bytearray(lower + stored[513:]),
            bytearray(own + stored[1:129]),
        )

    def __bytes__(self) -> bytes:
        """The stored form: the byte 01, then the hashes of the ways and of the children."""
        *lower, own = [position[2:] for position in self.positions]
        return b"".join((_BRANCH, own, *lower))

    def child(self, nibble: int) -> bytes:
        """The hash of a child."""
        return bytes(self.positions[nibble >> 2][WAYS[nibble & 3]])

    def children(self) -> list[int]:
        """The nibbles of the children that are not empty."""
        return [nibble for nibble in range(16) if self.child(nibble) != EMPTY]

    def ways(self, position: int) -> list[bytes]:
        """The hashes of the four ways of a position."""
        return [bytes(self.positions[position][way]) for way in WAYS]

    def set_child(self, nibble: int, child: bytes) -> None:
        """Set the hash of a child. `rehash` later hashes the ways to changed children."""
        self.positions[nibble >> 2][WAYS[nibble & 3]] = child

    def rehash(self, ways: Iterable[int]) -> bytes:
        """Hash the ways on which children have changed, and return the hash of the page."""
        own = self.positions[OWN]
        for way in ways:
            own[WAYS[way]] = _position_hash(self.positions[way])
        return _position_hash(own)

    def hash(self) -> bytes:
        return _position_hash(self.positions[OWN])


def _position_hash(position: bytearray) -> bytes:
    """The hash of a position.

    With a single way it is no branching point, and has the hash of the way.
    """
    if position.count(0) >= _LONELY_ZEROS:
        filled = [way for way in map(position.__getitem__, WAYS) if way != EMPTY]
        if len(filled) < 2:
            return bytes(filled[0]) if filled else EMPTY
    return blake2s(position).digest()


Page = BranchPage | bytes


def bit_of(page: int) -> int:
    """The bit at which a page begins, from its number."""
    return page.bit_length() - 1


def unpack(page: int, stored: bytes) -> Page:
    """A page from its number and its stored bytes.

    Raises:
        ValueError: the bytes are neither a branch nor a bucket.
    """
    if stored[:1] == BUCKET and len(stored) > 1 and len(stored) % LEAF_BYTES == 1:
        return stored
    if stored[:1] == _BRANCH and len(stored) == STORED_BRANCH_BYTES:
        return BranchPage(bit_of(page), stored)
    raise ValueError("neither a branch nor a bucket")


def page_hash(body: Page, bit: int) -> bytes:
    """The hash of a page at some bit."""
    return bucket_hash(body, bit) if isinstance(body, bytes) else body.hash()


# Buckets.


def bucket_of(leaves: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The bucket that lists these leaves, which are in key order."""
    return BUCKET + b"".join([part for leaf in leaves for part in leaf])


def leaf_hashes(bucket: bytes) -> list[tuple[bytes, bytes]]:
    """Key and record hash of each leaf."""
    starts = range(1, len(bucket), LEAF_BYTES)
    return [(bucket[at : at + 32], bucket[at + 32 : at + 64]) for at in starts]


def find(bucket: bytes, key: bytes, low: int = 0, high: int | None = None) -> int:
    """The place of the first leaf that is not before `key`."""
    if high is None:
        high = len(bucket) // LEAF_BYTES
    while low < high:
        middle = (low + high) >> 1
        start = 1 + LEAF_BYTES * middle
        if bucket[start : start + 32] < key:
            low = middle + 1
        else:
            high = middle
    return low


def bucket_hash(bucket: bytes, bit: int) -> bytes:
    """The hash of a bucket at some bit: its leaves agree in all bits before it."""
    if len(bucket) <= _GROUP_BYTES_MAX:
        return blake2s(bucket).digest()
    tops = bucket[1 + (bit >> 3) :: LEAF_BYTES]
    return _run_hash(bucket, 0, len(tops), tops, bit & ~7)


def _run_hash(bucket: bytes, low: int, high: int, tops: bytes, bit: int) -> bytes:
    """The hash of the subtree of the leaves from `low` up to `high`, which are more than a group.

    `tops` holds the byte of each key that starts at `bit`; keys nearly always differ in it.
    """
    below = ((tops[low] ^ tops[high - 1]).bit_length() - 1) & ~1
    if below >= 0:
        base = tops[low] >> below + 2 << below + 2
        one = bisect_left(tops, base | 1 << below, low, high)
        two = bisect_left(tops, base | 2 << below, one, high)
        three = bisect_left(tops, base | 3 << below, two, high)
        hashed = INNER[bit + 6 - below]
    else:
        parting, (_, one, two, three, _) = part(bucket, low, high)
        hashed = INNER[parting]
    start = low
    for stop in (one, two, three, high):
        count = stop - start
        if not count:
            hashed += EMPTY
        elif count <= GROUP_LEAVES_MAX:
            group = bucket[1 + LEAF_BYTES * start : 1 + LEAF_BYTES * stop]
            hashed += blake2s(BUCKET + group).digest()
        elif count < high - low:
            hashed += _run_hash(bucket, start, stop, tops, bit)
        else:
            raise ValueError("keys out of order in a bucket")
        start = stop
    return blake2s(hashed).digest()


def run_hash(bucket: bytes, low: int, high: int) -> bytes:
    """The hash of the subtree of the leaves from `low` up to `high`."""
    if low == high:
        return EMPTY
    if high - low <= GROUP_LEAVES_MAX:
        return blake2s(BUCKET + bucket[1 + LEAF_BYTES * low : 1 + LEAF_BYTES * high]).digest()
    return _run_hash(bucket, low, high, bucket[1::LEAF_BYTES], 0)


def part(bucket: bytes, low: int, high: int) -> tuple[int, tuple[int, int, int, int, int]]:
    """The first bit at which leaves go different ways, and where each way begins and ends.

    Raises:
        ValueError: the leaves are not in order.
    """
    first = int.from_bytes(bucket[1 + LEAF_BYTES * low :][:32])
    last = int.from_bytes(bucket[1 + LEAF_BYTES * (high - 1) :][:32])
    below = ((first ^ last).bit_length() - 1) & ~1
    if below < 0:
        raise ValueError("a key twice in a bucket")
    base = first >> below + 2 << below + 2
    starts = [(base | way << below).to_bytes(HASH_BYTES) for way in (1, 2, 3)]
    one, two, three = (find(bucket, start, low, high) for start in starts)
    if not low <= one <= two <= three <= high or high - low in (
        *(one - low, two - one),
        *(three - two, high - three),
    ):
        raise ValueError("keys out of order in a bucket")
    return KEY_BITS - 2 - below, (low, one, two, three, high)


def problem_of(body: Page, page: int) -> str:
    """The problem within a page; "" if it is sound."""
    bit = bit_of(page)
    if isinstance(body, BranchPage):
        rehashed = BranchPage(bit, bytes(body))
        rehashed.rehash(range(4))
        return (
            "" if rehashed.positions == body.positions else "holds hashes that do not fit together"
        )
    keys = [key for key, _ in leaf_hashes(body)]
    if any(left >= right for left, right in pairwise(keys)):
        return "holds keys out of order"
    if any(int.from_bytes(key) >> KEY_BITS - bit != page - (1 << bit) for key in keys):
        return "holds a key that belongs elsewhere"
    if len(keys) > BUCKET_LEAVES_MAX and bit < BRANCH_BIT_MAX:
        return "holds more leaves than a bucket may"
    return ""
