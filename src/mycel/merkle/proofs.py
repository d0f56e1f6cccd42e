"""Snapshots, and proofs that end in a snapshot's overall root. Nothing here needs a database.

A `Snapshot` is all roots of one moment. Its `overall_root` commits to each of them by name and to
the number of journal entries. With an overall root (or a journal head) from a trusted
source, three kinds of proof can be checked:

- `StateProof`        this record is part of the state, or no record with this key is
- `EntryProof`        the journal has this entry at this position
- `ConsistencyProof`  an old journal is the beginning of the current one

All of them turn into plain dictionaries for JSON, and into CBOR for the shortest form.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal, Self, TypeVar

from mycel.errors import InvalidValueType
from mycel.merkle import log, sparse
from mycel.merkle.pages import KEY_BITS
from mycel.model import cbor
from mycel.model.names import kind_of
from mycel.model.records import record_hash

Namespace = Literal["concepts", "edges"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All roots of one moment, read from one consistent view.

    The time is only information: the overall root does not include it. The journal covers times in
    the entry of each transaction.
    """

    entries: int
    """The number of journal entries; also the `seq` of the last transaction."""
    time_us: int
    journal_root: bytes
    concepts_root: bytes
    edges_root: bytes

    @property
    def seq(self) -> int:
        return self.entries

    @property
    def overall_root(self) -> bytes:
        """One hash over the roots of the journal and of both namespaces, each under its name."""
        parts = {
            "concepts": self.concepts_root,
            "edges": self.edges_root,
            "entries": self.entries,
            "journal": self.journal_root,
        }
        return sha256(cbor.encode(parts)).digest()

    def root_of(self, namespace: Namespace) -> bytes:
        return self.concepts_root if namespace == "concepts" else self.edges_root

    def to_dict(self) -> dict[str, Any]:
        return {
            "entries": self.entries,
            "time_us": self.time_us,
            "journal_root": self.journal_root.hex(),
            "concepts_root": self.concepts_root.hex(),
            "edges_root": self.edges_root.hex(),
            "overall_root": self.overall_root.hex(),
        }

    @classmethod
    def from_dict(cls, wire: dict[str, Any]) -> Self:
        """The snapshot in the form of `to_dict`; a stated overall root must be correct.

        Raises:
            InvalidValueType: the value is no snapshot, or its overall root is wrong.
        """
        snapshot = _reading(
            "snapshot",
            lambda: cls(
                _natural(wire["entries"]),
                _natural(wire["time_us"]),
                _hash(wire["journal_root"]),
                _hash(wire["concepts_root"]),
                _hash(wire["edges_root"]),
            ),
        )
        stated = wire.get("overall_root")
        if stated is not None and stated != snapshot.overall_root.hex():
            raise InvalidValueType(
                "The overall root of this snapshot is not that of its roots.",
                hint="Compare it with the snapshot of a source that you trust.",
            )
        return snapshot


_STEP_BYTES = 1 + sparse.OTHER_WAYS_BYTES


@dataclass(frozen=True, slots=True)
class StateProof:
    """Proves that a record is in the state; or, without `record`, that no record has its key."""

    namespace: Namespace
    key: bytes
    """The key in the tree (`records.tree_key`)."""
    record: bytes | None
    tree: sparse.SparseProof
    snapshot: Snapshot

    def verify(self, overall_root: bytes) -> bool:
        """True if this holds under an overall root that the caller trusts.

        Raises:
            InvalidValueType: the root is no bytes; a text of digits would never match.
        """
        _check_bytes(overall_root)
        if self.snapshot.overall_root != overall_root:
            return False
        root = self.snapshot.root_of(self.namespace)
        if self.record is None:
            return sparse.verify_absent(root, self.key, self.tree)
        return sparse.verify_member(root, self.key, record_hash(self.record), self.tree)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "state",
            "namespace": self.namespace,
            "key": self.key.hex(),
            "record": None if self.record is None else self.record.hex(),
            "steps": [[bit, *_ways(others)] for bit, others in self.tree.steps],
            "leaves": [[key.hex(), digest.hex()] for key, digest in self.tree.leaves],
            "snapshot": self.snapshot.to_dict(),
        }

    def to_bytes(self) -> bytes:
        """The shortest form: CBOR, hashes as bytes, without the leaf of the record itself."""
        own = self._own_leaf()
        steps = b"".join(bytes((bit,)) + others for bit, others in self.tree.steps)
        snapshot = self.snapshot
        return cbor.encode(
            [
                self.namespace,
                self.key,
                self.record,
                steps,
                b"".join(key + digest for key, digest in self.tree.leaves if (key, digest) != own),
                snapshot.entries,
                snapshot.time_us,
                snapshot.journal_root + snapshot.concepts_root + snapshot.edges_root,
            ]
        )

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read back what `to_bytes` wrote.

        Raises:
            InvalidValueType: these are not the bytes of a state proof, to the last one.
        """
        proof = _reading("state proof", lambda: cls._from_parts(cbor.decode(content)))
        if proof.to_bytes() != content:
            raise InvalidValueType(
                "This state proof is not in canonical form.",
                hint="Pass the proof as `mycel prove` or `to_bytes` wrote it.",
            )
        return proof

    @classmethod
    def _from_parts(cls, parts: Any) -> Self:
        namespace, key, record, steps, others, entries, time_us, roots = parts
        steps, others = _byte_string(steps), _byte_string(others)
        roots = _byte_string(roots, 3 * log.HASH_SIZE)
        if len(steps) % _STEP_BYTES or len(others) % 64:
            raise ValueError(f"a step has {_STEP_BYTES} bytes and a leaf 64")
        leaves = [
            (others[at : at + 32], others[at + 32 : at + 64]) for at in range(0, len(others), 64)
        ]
        proof = cls(
            _namespace(namespace),
            _byte_string(key, log.HASH_SIZE),
            None if record is None else _byte_string(record),
            sparse.SparseProof(
                tuple(
                    (steps[at], steps[at + 1 : at + _STEP_BYTES])
                    for at in range(0, len(steps), _STEP_BYTES)
                ),
                tuple(leaves),
            ),
            Snapshot(_natural(entries), _natural(time_us), roots[:32], roots[32:64], roots[64:]),
        )
        own = proof._own_leaf()
        if own is None:
            return proof
        insort(leaves, own)
        return replace(proof, tree=replace(proof.tree, leaves=tuple(leaves)))

    def _own_leaf(self) -> tuple[bytes, bytes] | None:
        """The leaf of the record, made from its hash and its key."""
        return None if self.record is None else (self.key, record_hash(self.record))

    @classmethod
    def from_dict(cls, wire: dict[str, Any]) -> Self:
        """Read back what `to_dict` wrote.

        Raises:
            InvalidValueType: the value is no such proof.
        """
        return _reading(
            "state proof",
            lambda: cls(
                _namespace(wire["namespace"]),
                _hash(wire["key"]),
                None if wire["record"] is None else bytes.fromhex(wire["record"]),
                sparse.SparseProof(
                    tuple((_bit(bit), _others(ways)) for bit, *ways in _list(wire["steps"])),
                    tuple((_hash(key), _hash(digest)) for key, digest in _list(wire["leaves"])),
                ),
                Snapshot.from_dict(wire["snapshot"]),
            ),
        )


@dataclass(frozen=True, slots=True)
class EntryProof:
    """Proves that the journal has an entry at a position."""

    seq: int
    entry: bytes
    path: tuple[bytes, ...]
    snapshot: Snapshot

    def verify(self, overall_root: bytes) -> bool:
        """True if this holds under an overall root that the caller trusts.

        Raises:
            InvalidValueType: the root is no bytes; a text of digits would never match.
        """
        _check_bytes(overall_root)
        return self.snapshot.overall_root == overall_root and log.verify_inclusion(
            log.leaf_hash(self.entry),
            self.seq - 1,
            self.snapshot.entries,
            list(self.path),
            self.snapshot.journal_root,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "entry",
            "seq": self.seq,
            "entry": self.entry.hex(),
            "path": [hash_.hex() for hash_ in self.path],
            "snapshot": self.snapshot.to_dict(),
        }

    @classmethod
    def from_dict(cls, wire: dict[str, Any]) -> Self:
        """Read back what `to_dict` wrote.

        Raises:
            InvalidValueType: the value is no such proof.
        """
        return _reading(
            "entry proof",
            lambda: cls(
                _natural(wire["seq"]),
                bytes.fromhex(wire["entry"]),
                tuple(_hash(hash_) for hash_ in _list(wire["path"])),
                Snapshot.from_dict(wire["snapshot"]),
            ),
        )


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """Proves that an older journal is the beginning of the snapshot's journal."""

    old_entries: int
    old_journal_root: bytes
    path: tuple[bytes, ...]
    snapshot: Snapshot

    def verify(
        self, old_journal_root: bytes, overall_root: bytes, *, old_entries: int | None = None
    ) -> bool:
        """True if the journal was only appended to since an older head that the caller has noted.

        A root does not fix the number of entries that it covers: pass `old_entries` too if you
        noted it.

        Raises:
            InvalidValueType: a root is no bytes; a text of digits would never match.
        """
        _check_bytes(old_journal_root)
        _check_bytes(overall_root)
        return (
            self.old_journal_root == old_journal_root
            and old_entries in (None, self.old_entries)
            and self.snapshot.overall_root == overall_root
            and log.verify_consistency(
                self.old_entries,
                old_journal_root,
                self.snapshot.entries,
                self.snapshot.journal_root,
                list(self.path),
            )
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "consistency",
            "old_entries": self.old_entries,
            "old_journal_root": self.old_journal_root.hex(),
            "path": [hash_.hex() for hash_ in self.path],
            "snapshot": self.snapshot.to_dict(),
        }

    @classmethod
    def from_dict(cls, wire: dict[str, Any]) -> Self:
        """Read back what `to_dict` wrote.

        Raises:
            InvalidValueType: the value is no such proof.
        """
        return _reading(
            "consistency proof",
            lambda: cls(
                _natural(wire["old_entries"]),
                _hash(wire["old_journal_root"]),
                tuple(_hash(hash_) for hash_ in _list(wire["path"])),
                Snapshot.from_dict(wire["snapshot"]),
            ),
        )


Proof = StateProof | EntryProof | ConsistencyProof
_KINDS: dict[str, type[Proof]] = {
    "state": StateProof,
    "entry": EntryProof,
    "consistency": ConsistencyProof,
}


def proof_from_dict(wire: object) -> Proof:
    """Any proof in the form of `to_dict`.

    Raises:
        InvalidValueType: the value is no proof, or not of a known kind.
    """
    kind = wire.get("kind") if isinstance(wire, dict) else None
    if not isinstance(wire, dict) or not isinstance(kind, str) or kind not in _KINDS:
        raise InvalidValueType(
            f"This is no proof: its kind is not one of {', '.join(_KINDS)}.",
            hint="Pass the proof as `mycel prove` or `to_dict` wrote it.",
        )
    return _KINDS[kind].from_dict(wire)


_Made = TypeVar("_Made")


def _reading(noun: str, read: Callable[[], _Made]) -> _Made:
    try:
        return read()
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValueType(
            f"This is no {noun}: {error!r}.", hint="Pass the whole of it, as Mycel wrote it."
        ) from None


def _check_bytes(root: object) -> None:
    if not isinstance(root, bytes):
        raise InvalidValueType(
            f"A root is 32 bytes, not {kind_of(root)}.", hint="Read hex digits with bytes.fromhex."
        )


def _hash(text: str) -> bytes:
    content = bytes.fromhex(text)
    if len(content) != 32:
        raise ValueError("a hash has 32 bytes")
    return content


def _others(hashes: list[str]) -> bytes:
    if len(hashes) != 3:
        raise ValueError("a step has a bit and the hashes of three ways")
    return b"".join(map(_hash, hashes))


def _ways(others: bytes) -> list[str]:
    return [others[at : at + 32].hex() for at in range(0, len(others), 32)]


def _natural(number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"{kind_of(number)} where a natural number should be")
    return number


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{kind_of(value)} where an array should be")  # noqa: TRY004
    return value


def _bit(number: object) -> int:
    bit = _natural(number)
    if bit >= KEY_BITS:
        raise ValueError("a bit of a key is less than 256")
    return bit


def _byte_string(value: object, size: int | None = None) -> bytes:
    if type(value) is not bytes or size not in (None, len(value)):
        raise ValueError(f"{kind_of(value)} where bytes should be, or too few or many of them")
    return value


def _namespace(name: object) -> Namespace:
    if name == "concepts":
        return "concepts"
    if name == "edges":
        return "edges"
    raise ValueError("there are two namespaces, concepts and edges")
