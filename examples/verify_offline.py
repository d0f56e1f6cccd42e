"""Check a proof without Mycel: docs/format.md turned into one file that imports nothing of it.

    python verify_offline.py PROOF.json OVERALL_ROOT
    python verify_offline.py PROOF.json OVERALL_ROOT --about Drug:Aspirin
    python verify_offline.py PROOF.json OVERALL_ROOT --about Drug:Aspirin treats Symptom:Headache
    python verify_offline.py PROOF.json OVERALL_ROOT --old-root JOURNAL_ROOT

The proof is JSON from `mycel prove --out`, or from `to_dict()` of a proof. The root is one that you
wrote down when you trusted the database, not the one in the proof. Exit status: 0 if
the proof holds, 1 if it does not.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
from hashlib import blake2s, sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

EMPTY_TREE = bytes(32)
EMPTY_LOG = sha256(b"").digest()
KINDS = (
    *("", "put_concept", "retire_concept", "add_edge", "update_edge", "remove_edge", "purge"),
    *("relink_edge", "move_concept"),
)
FIELDS = {
    1: "type",
    2: "name",
    4: "created_at",
    5: "created_by",
    6: "weight",
    7: "tombstoned",
    8: "tombstoned_at",
    9: "tombstoned_reason",
    10: "tombstoned_by",
    11: "attributes",
    12: "metadata",
    13: "version",
    14: "updated_at",
    15: "number",
}


class Refused(Exception):  # noqa: N818 - it is an answer, not a failure.
    """The proof does not prove what it should."""


def require(condition: object, why: str) -> None:
    if not condition:
        raise Refused(why)


# Canonical CBOR (RFC 8949 §4.2.1): just what is hashed here, and a reader for records.


def head(major: int, number: int) -> bytes:
    """The shortest head of an item; for an unsigned integer (major 0) the whole item."""
    if number < 24:
        return bytes((major << 5 | number,))
    size = next(size for size in (1, 2, 4, 8) if number < 1 << 8 * size)
    return bytes((major << 5 | 23 + size.bit_length(),)) + number.to_bytes(size, "big")


def text(string: str) -> bytes:
    encoded = string.encode()
    return head(3, len(encoded)) + encoded


def byte_string(content: bytes) -> bytes:
    return head(2, len(content)) + content


def read(content: bytes, at: int = 0) -> tuple[Any, int]:
    """The item at a place, and the place after it."""
    major, info = content[at] >> 5, content[at] & 31
    at += 1
    if major == 7:
        if info < 24:
            return {20: False, 21: True, 22: None}[info], at
        size, form = {25: (2, ">e"), 26: (4, ">f"), 27: (8, ">d")}[info]
        return struct.unpack(form, content[at : at + size])[0], at + size
    if info < 24:
        number = info
    else:
        size = 1 << info - 24
        number, at = int.from_bytes(content[at : at + size], "big"), at + size
    if major <= 1:
        return -1 - number if major else number, at
    if major == 2:
        return content[at : at + number], at + number
    if major == 3:
        return content[at : at + number].decode(), at + number
    items = []
    for _ in range({4: number, 5: 2 * number, 6: 1}[major]):
        item, at = read(content, at)
        items.append(item)
    if major == 6:  # The one tag in use is 4: a time of microseconds, as [-6, number].
        require(number == 4 and items[0][0] == -6, f"tag {number} in a record")
        return items[0][1] / 1_000_000, at
    return (items if major == 4 else dict(zip(items[::2], items[1::2], strict=True))), at


# Keys and roots.


def concept_key(type_name: str, name: str) -> bytes:
    return sha256(b"\x82" + text(type_name) + text(name)).digest()


def edge_key(subject_key: bytes, predicate: str, object_key: bytes) -> bytes:
    """The key in the tree: two bytes of the subject's key, then thirty of the edge's own."""
    parts = byte_string(subject_key) + text(predicate) + byte_string(object_key)
    natural = sha256(b"\x83" + parts).digest()
    return subject_key[:2] + natural[:30]


def overall_root(entries: int, journal: bytes, concepts: bytes, edges: bytes) -> bytes:
    """A map of four names; canonical order is shorter names first, then by their bytes."""
    named = text("edges") + byte_string(edges) + text("entries") + head(0, entries)
    named += text("journal") + byte_string(journal) + text("concepts") + byte_string(concepts)
    return sha256(b"\xa4" + named).digest()


# The state tree.


def tree_root(
    key: bytes, steps: list[tuple[int, bytes]], leaves: list[tuple[bytes, bytes]]
) -> bytes:
    """The root to which a proof for `key` leads."""
    require(len(leaves) <= 8, "a group of more than eight leaves")
    require(all(one < other for (one, _), (other, _) in pairwise(leaves)), "keys out of order")
    require(all(one < other for (one, _), (other, _) in pairwise(steps)), "bits out of order")
    require(all(bit in range(0, 256, 2) for bit, _ in steps), "a bit at which no ways part")
    current = EMPTY_TREE  # A way that is empty, unless there are leaves on it.
    if leaves:
        current = blake2s(b"\x00" + b"".join(k + digest for k, digest in leaves)).digest()
    for bit, others in reversed(steps):
        before = 32 * (key[bit // 8] >> (6 - bit % 8) & 3)
        ways = others[:before] + current + others[before:]
        current = blake2s(b"\x01" + bytes((bit,)) + ways).digest()
    return current


# The log (RFC 9162 §2.1.3.2 and §2.1.4.2; fn, sn, fr and sr are the RFC's names).


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def climb(fn: int, sn: int, path: list[bytes], starts: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """Two hashes carried to the top at once: in the log of then (fr), in the log of now (sr)."""
    fr, sr = starts
    for sibling in path:
        require(sn, "a path that is too long")
        if fn & 1 or fn == sn:
            fr, sr = node(sibling, fr), node(sibling, sr)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, sibling)
        fn, sn = fn >> 1, sn >> 1
    require(sn == 0, "a path that is too short")
    return fr, sr


def included(leaf: bytes, index: int, size: int, path: list[bytes], root: bytes) -> bool:
    require(0 <= index < size, "a place outside the journal")
    return climb(index, size - 1, path, (leaf, leaf))[1] == root


def consistent(old_size: int, old_root: bytes, size: int, root: bytes, path: list[bytes]) -> bool:
    require(0 <= old_size <= size, "a journal that became shorter")
    if old_size == 0:
        return not path and old_root == EMPTY_LOG
    if old_size == size:
        return not path and old_root == root
    require(path, "a path that is too short")
    if old_size & (old_size - 1) == 0:
        path = [old_root, *path]
    fn, sn = old_size - 1, size - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    return climb(fn, sn, path[1:], (path[0], path[0])) == (old_root, root)


# Proofs.


def check(
    proof: dict[str, Any],
    trusted_root: bytes,
    about: list[str] | None = None,
    old_root: bytes | None = None,
) -> dict[str, Any]:
    """What a proof proves under a root.

    Raises:
        Refused: nothing, and why.
    """
    snapshot = proof["snapshot"]
    entries = natural(snapshot["entries"])
    roots = {name: digest(snapshot[f"{name}_root"]) for name in ("journal", "concepts", "edges")}
    root = overall_root(entries, **roots)
    require(root == trusted_root, f"it was made for another root: {root.hex()}")
    require(snapshot.get("overall_root", root.hex()) == root.hex(), "it states another root")
    if proof["kind"] == "state":
        return check_state(proof, roots[proof["namespace"]], about)
    require(not about, "it is not about an element of the state")
    path = [digest(each) for each in proof["path"]]
    if proof["kind"] == "entry":
        entry, seq = bytes.fromhex(proof["entry"]), natural(proof["seq"])
        leaf = sha256(b"\x00" + entry).digest()
        require(
            included(leaf, seq - 1, entries, path, roots["journal"]), "the path leads elsewhere"
        )
        return {"seq": seq, "of": entries, **describe_entry(entry)}
    require(proof["kind"] == "consistency", "a kind of proof that is not known")
    require(old_root is not None, "it needs the journal root of then: --old-root")
    require(digest(proof["old_journal_root"]) == old_root, "it speaks of another journal root")
    old_entries = natural(proof["old_entries"])
    holds = consistent(old_entries, old_root or b"", entries, roots["journal"], path)
    require(holds, "the path leads elsewhere")
    return {"entries": entries, "begin with the entries of then": old_entries}


def check_state(proof: dict[str, Any], root: bytes, about: list[str] | None) -> dict[str, Any]:
    namespace, key = proof["namespace"], digest(proof["key"])
    steps = [(natural(bit), b"".join(map(digest, ways))) for bit, *ways in proof["steps"]]
    require(all(len(others) == 96 for _, others in steps), "a step with not three other ways")
    leaves = [(digest(each), digest(record_hash)) for each, record_hash in proof["leaves"]]
    require(tree_root(key, steps, leaves) == root, "the path leads elsewhere")
    if about:
        require(key_of(about) == (namespace, key), f"it is not about {' '.join(about)}")
    if proof["record"] is None:
        require(all(each != key for each, _ in leaves), "the key is there")
        return {"absent from": namespace, "key": key.hex()}
    record = bytes.fromhex(proof["record"])
    require((key, sha256(record).digest()) in leaves, "the record is another one")
    fields = describe_record(record)
    if namespace == "concepts":
        its_key = concept_key(fields["type"], fields["name"])
        require(its_key == key, "the record has the key of another concept")
    elif about:
        ends = [concept_key(*each.split(":", 1))[:16].hex() for each in about[::2]]
        require(ends == [fields["source"], fields["target"]], "the record joins other elements")
    return {"part of": namespace, **fields}


def key_of(about: list[str]) -> tuple[str, bytes]:
    require(len(about) in (1, 3), "--about takes Type:name, or Type:name predicate Type:name")
    ends = [concept_key(*each.split(":", 1)) for each in about[::2]]
    return (
        ("concepts", ends[0])
        if len(about) == 1
        else ("edges", edge_key(ends[0], about[1], ends[1]))
    )


def describe_record(record: bytes) -> dict[str, Any]:
    fields = read(record)[0]
    described: dict[str, Any] = {}
    if 3 in fields:  # An edge: 2 and 3 are the first 16 bytes of the keys of its ends.
        described = {"source": fields.pop(2).hex(), "target": fields.pop(3).hex()}
    for number, value in fields.items():
        described[FIELDS[number]] = read(value)[0] if number in (11, 12) else value
    return described


def describe_entry(entry: bytes) -> dict[str, Any]:
    if entry[0] == 0x86:
        first, time_us, actor, message, concepts, edges = read(entry)[0]
        described = {"kind": "transaction", "first_seq": first, "time_us": time_us, "actor": actor}
        roots = {"concepts_root": concepts.hex(), "edges_root": edges.hex()}
        return {**described, "message": message, **roots}
    kind, element, before, after = struct.unpack(">Bq32s32s", entry)
    described = {"kind": KINDS[kind], "element": f"{'P' if element & 1 else 'C'}:{element}"}
    return {**described, "before": before.hex(), "after": after.hex()}


def digest(hexadecimal: str) -> bytes:
    content = bytes.fromhex(hexadecimal)
    require(len(content) == 32, "a hash that has not 32 bytes")
    return content


def natural(number: object) -> int:
    require(type(number) is int and 0 <= number < 1 << 63, "a number that is none")
    return number  # type: ignore[return-value]  # Just checked.


def main() -> int:
    parser = argparse.ArgumentParser(description="Check a proof of Mycel without Mycel.")
    parser.add_argument("proof", type=Path)
    parser.add_argument("root", type=bytes.fromhex, help="the overall root that you trust")
    parser.add_argument("--about", nargs="+", metavar="WORD", help="what it must be about")
    parser.add_argument("--old-root", type=bytes.fromhex, help="the journal root of then")
    given = parser.parse_args()
    try:
        proof = json.loads(given.proof.read_text(encoding="utf-8"))
        proven = check(proof, given.root, given.about, given.old_root)
    except Refused as refusal:
        print(f"NOT proven: {refusal}")
        return 1
    except (LookupError, TypeError, ValueError, struct.error) as error:
        print(f"NOT proven: this is no proof ({error!r})")
        return 1
    print("Proven:", ", ".join(f"{name} {value}" for name, value in proven.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
