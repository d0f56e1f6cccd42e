"""Passages as they are stored for the next process: arrays in blocks, by ranges of numbers.

A block has all arrays of a corpus except the vectors, for the passages of one range of element
numbers (`store.index.passages.block_of`). So a change rewrites few blocks, and a hundred reads load
100,000 passages. Each block begins with a checksum; a block with a wrong checksum is not used.

    CRC-32 u32, then the lengths of all parts u32, then the parts: the arrays of `_PARTS` and a JSON
    list with the names of actors and the names of episodes, which the arrays count
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final
from zlib import crc32

import numpy as np
import orjson
from numpy.typing import NDArray

from mycel.search.index.phrases import Hashes

Arrays = dict[str, NDArray[Any]]

_PARTS: Final = {
    "numbers": "<i8",
    "types": "<i4",
    "flags": "u1",
    "dates": "<i4",
    "actors": "<i4",
    "episodes": "<i4",
    "positions": "<f8",
    "names": "<u4",
    "name_counts": "<u4",
    "mentions": "<u4",
    "mention_counts": "<u4",
}
_COUNTS: Final = {"names": "name_counts", "mentions": "mention_counts"}
_TEXTS: Final = ("actors", "episodes")
_LENGTHS: Final = struct.Struct(f"<{len(_PARTS) + 1}I")
_SUM: Final = struct.Struct("<I")


def select_arrays(arrays: Arrays, keep: NDArray[np.bool_]) -> Arrays:
    """The arrays of some of the passages."""
    selection = {}
    for key, value in arrays.items():
        counts = _COUNTS.get(key)
        selection[key] = value[keep if counts is None else np.repeat(keep, arrays[counts])]
    return selection


def packed(arrays: Arrays, texts: tuple[list[str], list[str]]) -> bytes:
    """A block of passages; `texts` are the names of actors and episodes by their numbers."""
    arrays, name_lists = dict(arrays), []
    for key, names in zip(_TEXTS, texts, strict=True):
        used, places = np.unique(arrays[key], return_inverse=True)
        nobody = int((used < 0).sum())
        arrays[key] = places - nobody
        name_lists.append([names[number] for number in used[nobody:].tolist()])
    parts = [arrays[key].astype(kind).tobytes() for key, kind in _PARTS.items()]
    parts.append(orjson.dumps(name_lists))
    return _checked(_LENGTHS.pack(*map(len, parts)) + b"".join(parts))


def unpacked(block: bytes) -> tuple[Arrays, tuple[list[str], list[str]]]:
    """The arrays of a block, and the names that its actors and episodes count.

    Raises:
        ValueError: the block is damaged.
    """
    body = _content(block)
    ends = np.cumsum(_LENGTHS.unpack_from(body)).tolist()
    start = _LENGTHS.size
    parts = [body[start + a : start + b] for a, b in zip([0, *ends], ends, strict=False)]
    arrays: Arrays = {
        key: np.frombuffer(part, kind)
        for (key, kind), part in zip(_PARTS.items(), parts, strict=False)
    }
    actors, episodes = orjson.loads(parts[-1])
    return arrays, (actors, episodes)


def packed_hashes(hashes: Hashes) -> bytes:
    """A block of hashes."""
    return _checked(hashes.astype("<u4").tobytes())


def unpacked_hashes(block: bytes) -> Hashes:
    """The hashes of a block.

    Raises:
        ValueError: the block is damaged.
    """
    return np.frombuffer(_content(block), "<u4")


def joined(blocks: Iterable[bytes], numbers: tuple[Any, Any]) -> Arrays:
    """The arrays of all blocks; `numbers` give actors and episodes their numbers by their names.

    Raises:
        ValueError: a block is damaged.
    """
    parts = {key: bytearray() for key in _PARTS}
    for block in blocks:
        arrays, texts = unpacked(block)
        for key, names, number in zip(_TEXTS, texts, numbers, strict=True):
            # The last item is for passages without one, whose number is -1.
            table = np.array([*map(number, names), -1], np.int32)
            arrays[key] = table[arrays[key]]
        for key, value in arrays.items():
            parts[key] += value.data
    return {key: np.frombuffer(parts[key], kind) for key, kind in _PARTS.items()}


def _checked(body: bytes) -> bytes:
    return _SUM.pack(crc32(body)) + body


def _content(block: bytes) -> memoryview:
    body = memoryview(block)[_SUM.size :]
    if len(block) < _SUM.size or _SUM.unpack_from(block)[0] != crc32(body):
        raise ValueError("The block is damaged.")
    return body
