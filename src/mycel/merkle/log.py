"""The append-only Merkle log: heads, inclusion proofs and consistency proofs over the journal.

For: turning a journal into a 32-byte root, proving that an entry is in it, and proving that a later
journal only appended to an earlier one, with the hashing of RFC 9162 section 2.1. Anyone can run
`verify_inclusion` and `verify_consistency`, which need only bytes.

Not for: storing anything (the store implements `LogNodes`), deciding what an entry's bytes are, or
proving that something is absent (that is what the sparse trees are for).

The one idea: number the levels from the leaves up, so that node (level, index) covers the leaves
from index * 2**level. A node is *complete* once all its leaves exist, and from then on its hash
never changes. Only complete nodes at levels 4, 8, 12, ... are stored, one row per sixteen entries;
leaf hashes are recomputed from the journal. Nodes between two stored levels come from one read of
at most sixteen adjacent hashes, paired up four times. Pairing neighbours and promoting an odd last
node builds exactly the tree that the RFC defines from the top down by splitting at the largest
power of two.

A root does not fix the number of entries that it covers: a proof for a log of 3 can also verify
under the root of 3 with the size stated as 4. A witness therefore keeps, and the overall root
covers, the head: size *and* root together.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Protocol, Self

HASH_SIZE = 32
LEVEL_STEP = 4
"""Complete nodes are stored at the positive multiples of this level."""
SIZE_MAX = 2**64 - 1
"""The largest log: RFC 9162 counts entries in an unsigned 64-bit integer."""
PATH_LENGTH_MAX = 65
"""No honest proof is longer: 64 siblings, and for consistency the node they start from."""
EMPTY_ROOT = sha256(b"").digest()

_GROUP = 1 << LEVEL_STEP
_SIZE_BYTES = 8

StoredNode = tuple[int, int, bytes]
"""A complete node to be stored: level, index within the level, hash."""


class LogNodes(Protocol):
    """Stored hashes, for the proof builders, which read only complete nodes at stored levels."""

    def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        """The leaf hashes of the entries `start` to `stop` - 1."""

    def nodes(self, level: int, start: int, stop: int) -> Sequence[bytes]:
        """The hashes of the nodes `start` to `stop` - 1 of a level that is 4, 8, 12, ..."""


def leaf_hash(entry: bytes) -> bytes:
    """The hash of one entry. The prefix keeps an entry from posing as an inner node."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node over its two children."""
    return sha256(b"\x01" + left + right).digest()


class Frontier:
    """The right edge of the log: the nodes that appending and the current root need.

    It holds one peak per set bit of `size`, the root of a complete subtree, widest first. Every
    append changes it in place: a transaction that may roll back saves `to_bytes()` first.
    """

    __slots__ = ("_peaks", "_size")

    def __init__(self, size: int = 0, peaks: Iterable[bytes] = ()) -> None:
        """The frontier of an empty log, or of a log with this size and these peaks.

        Raises:
            ValueError: the peaks are not one hash per set bit of a 64-bit size.
        """
        self._size = size
        self._peaks = list(peaks)
        fits = _are_sizes(size) and len(self._peaks) == size.bit_count()
        if not (fits and _are_hashes(*self._peaks)):
            raise ValueError(f"these are not the peaks of a frontier of size {size}")

    @property
    def size(self) -> int:
        """The number of leaves in the log."""
        return self._size

    def append(self, leaf: bytes) -> list[StoredNode]:
        """Add one leaf hash; return the nodes to store that it completed, lowest level first.

        Raises:
            ValueError: `leaf` is not a hash (an entry goes through `leaf_hash` first).
        """
        return self.extend((leaf,))

    def extend(self, leaves: Iterable[bytes]) -> list[StoredNode]:
        """Add many leaf hashes; return the nodes to store that they completed.

        Adds all leaves or none. A large load calls it once for each batch of about a thousand.

        Raises:
            ValueError: one of `leaves` is not a hash; nothing was added.
        """
        row = list(leaves)
        if not {HASH_SIZE}.issuperset(map(len, row)):
            raise ValueError(f"a leaf hash has {HASH_SIZE} bytes")
        completed: list[StoredNode] = []
        narrow_peaks: list[bytes] = []
        index = self._size  # of the first node in the row, within its level
        self._size += len(row)
        level = 0
        while row:
            if index & 1:
                row.insert(0, self._peaks.pop())
                index -= 1
            if len(row) & 1:
                narrow_peaks.append(row.pop())
            row = _pair_up(row)
            index >>= 1
            level += 1
            if level % LEVEL_STEP == 0:
                completed += [(level, at, node) for at, node in enumerate(row, index)]
        self._peaks += reversed(narrow_peaks)
        return completed

    def root(self) -> bytes:
        """The current root of the log."""
        return _join_peaks(self._peaks)

    def to_bytes(self) -> bytes:
        """The size in 8 bytes, big endian, then the peaks, widest first."""
        return self._size.to_bytes(_SIZE_BYTES, "big") + b"".join(self._peaks)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote.

        Raises:
            ValueError: the number of bytes does not fit the size they begin with.
        """
        if len(data) < _SIZE_BYTES:
            raise ValueError(f"a frontier has at least {_SIZE_BYTES} bytes, not {len(data)}")
        size = int.from_bytes(data[:_SIZE_BYTES], "big")
        starts = range(_SIZE_BYTES, len(data), HASH_SIZE)
        return cls(size, (data[start : start + HASH_SIZE] for start in starts))


def root_at(nodes: LogNodes, size: int) -> bytes:
    """The root the log had when it held `size` leaves, in one read per stored level.

    Raises:
        ValueError: `size` is negative.
        LookupError: `nodes` does not hold that many leaves.
    """
    if size < 0:
        raise ValueError(f"a log cannot have {size} leaves")
    peaks: list[bytes] = []
    start = 0
    top = (size.bit_length() - 1) // LEVEL_STEP * LEVEL_STEP
    for level in range(top, -1, -LEVEL_STEP):
        count = (size >> level) % _GROUP
        row = _read(nodes, level, start >> level, (start >> level) + count)
        start += count << level
        for width in (8, 4, 2, 1):
            if count & width:
                peaks += _fold(row[:width])
                row = row[width:]
    return _join_peaks(peaks)


def inclusion_path(nodes: LogNodes, index: int, size: int) -> list[bytes]:
    """The proof that leaf `index` is in the log of the first `size` leaves (RFC 9162 §2.1.3.1).

    Raises:
        ValueError: there is no leaf `index` in a log of that size.
        LookupError: `nodes` does not hold that many leaves.
    """
    if not 0 <= index < size:
        raise ValueError(f"a log of size {size} has no leaf {index}")
    return _climb(nodes, index, size, 0)[1:]


def consistency_path(nodes: LogNodes, old_size: int, new_size: int) -> list[bytes]:
    """The proof that the log of `new_size` begins with the log of `old_size` (RFC 9162 §2.1.4.1).

    It is empty when the sizes are equal or the old log is empty.

    Raises:
        ValueError: the sizes are negative or shrink.
        LookupError: `nodes` does not hold that many leaves.
    """
    if not 0 <= old_size <= new_size:
        raise ValueError(f"a log does not grow from size {old_size} to {new_size}")
    if old_size in (0, new_size):
        return []
    # The RFC's recursion ends at the narrowest peak of the old log, which is a node of both logs.
    lowest_bit = old_size & -old_size
    path = _climb(nodes, old_size - 1, new_size, lowest_bit.bit_length() - 1)
    # If that peak is the whole old log, its hash is the old root, which the verifier has.
    return path[1:] if old_size == lowest_bit else path


def verify_inclusion(
    leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes
) -> bool:
    """True if `path` proves the leaf hash `leaf` at `index` under the head (`size`, `root`).

    Malformed input gives False, not an error. `size` and `root` have to come from one head, because
    a root alone does not fix the size.
    """
    # RFC 9162 §2.1.3.2; the names fn, sn and r are the RFC's.
    if not (_are_sizes(index, size) and _are_hashes(leaf, root) and _is_path(path)):
        return False
    if index >= size:
        return False
    fn, sn, r = index, size - 1, leaf
    for sibling in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            r = node_hash(sibling, r)
            fn, sn = _skip_promotions(fn, sn)
        else:
            r = node_hash(r, sibling)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and r == root


def verify_consistency(
    old_size: int, old_root: bytes, new_size: int, new_root: bytes, path: Sequence[bytes]
) -> bool:
    """True if `path` proves that the log with the new head extends the log with the old head.

    Malformed input gives False, not an error. Every log extends the empty log, so a proof from size
    0 says nothing about the new root.
    """
    # RFC 9162 §2.1.4.2; the names fn, sn, fr and sr are the RFC's.
    if not (_are_sizes(old_size, new_size) and _are_hashes(old_root, new_root) and _is_path(path)):
        return False
    if old_size > new_size:
        return False
    if old_size == 0 and old_root != EMPTY_ROOT:
        return False
    if old_size == new_size:
        return not path and old_root == new_root
    if old_size == 0:
        return not path
    if not path:
        return False
    steps = list(path)
    if old_size & (old_size - 1) == 0:
        steps.insert(0, old_root)
    fn, sn = old_size - 1, new_size - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = steps[0]
    for sibling in steps[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr = node_hash(sibling, fr)
            sr = node_hash(sibling, sr)
            fn, sn = _skip_promotions(fn, sn)
        else:
            sr = node_hash(sr, sibling)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr == old_root and sr == new_root


def _skip_promotions(fn: int, sn: int) -> tuple[int, int]:
    """Skip the levels at which the last node has no sibling and is promoted unchanged."""
    while fn and not fn & 1:
        fn, sn = fn >> 1, sn >> 1
    return fn, sn


def _are_sizes(*values: object) -> bool:
    return all(isinstance(value, int) and 0 <= value <= SIZE_MAX for value in values)


def _are_hashes(*values: object) -> bool:
    return all(isinstance(value, bytes) and len(value) == HASH_SIZE for value in values)


def _is_path(path: object) -> bool:
    return isinstance(path, Sequence) and len(path) <= PATH_LENGTH_MAX and _are_hashes(*path)


def _climb(nodes: LogNodes, index: int, size: int, floor: int) -> list[bytes]:
    """The node at level `floor` above leaf `index`, then its siblings on the way to the root.

    The node has to be complete. Each turn of the loop rises by one stored level and reads at most
    two groups of sixteen: the group on the way, and the last group if it is not full. The root of
    the last group (`edge`) is not stored, because it still changes.
    """
    path: list[bytes] = []
    edge: list[bytes] = []
    # The first level counts even when it holds a single leaf: that leaf is the node asked for.
    for level in range(0, max(1, (size - 1).bit_length()), LEVEL_STEP):
        position = index >> level
        start = position - position % _GROUP
        count = size >> level
        last_start = count - count % _GROUP
        last = _read(nodes, level, last_start, count) + edge
        if floor < level + LEVEL_STEP:
            row = last if start == last_start else _read(nodes, level, start, start + _GROUP)
            path += _siblings(row, position - start, floor - level)
        edge = _fold(last)
    return path


def _siblings(row: list[bytes], position: int, floor: int) -> list[bytes]:
    """The siblings met from row[position] up to the next stored level, from `floor` levels up.

    When `floor` is not negative the walk starts in this row, and the node there comes first.
    """
    path: list[bytes] = []
    for height in range(LEVEL_STEP):
        if height == floor:
            path.append(row[position])
        sibling = position ^ 1
        if height >= floor and sibling < len(row):
            path.append(row[sibling])
        row = _pair_up(row)
        position >>= 1
    return path


def _read(nodes: LogNodes, level: int, start: int, stop: int) -> list[bytes]:
    """One read of adjacent hashes.

    An incomplete answer is an error: it could give a plausible root.
    """
    if start == stop:
        return []
    row = list(nodes.nodes(level, start, stop) if level else nodes.leaves(start, stop))
    if len(row) != stop - start or not _are_hashes(*row):
        raise LookupError(f"the log lacks hashes {start} to {stop - 1} of level {level}")
    return row


def _pair_up(row: list[bytes]) -> list[bytes]:
    """The next level of a tree: neighbours hashed in pairs, an odd last node promoted unchanged."""
    pairs = zip(row[::2], row[1::2], strict=False)
    parents = [sha256(b"\x01" + left + right).digest() for left, right in pairs]
    if len(row) & 1:
        parents.append(row[-1])
    return parents


def _fold(row: list[bytes]) -> list[bytes]:
    """The root over a row of adjacent nodes; nothing over nothing."""
    while len(row) > 1:
        row = _pair_up(row)
    return row


def _join_peaks(peaks: list[bytes]) -> bytes:
    """The root over peaks, widest first: each peak is the left child of the narrower rest."""
    if not peaks:
        return EMPTY_ROOT
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = node_hash(peak, root)
    return root
