"""`mycel prove` and `mycel verify`: proofs in files, and checks of them and of a database.

A proof is one JSON object. It is checked against a root that the user trusts, such as an output of
`mycel snapshot` that was kept. The root inside the proof proves nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import is_terminal, visible
from mycel.cli.console.parameters import (
    ELEMENT,
    exactly,
    is_uri,
    read_text,
    resolve,
    root_hash,
    type_and_name,
)
from mycel.errors import InvalidValueType
from mycel.model.json_text import read_json
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.merkle.proofs import ConsistencyProof, EntryProof, StateProof
    from mycel.store.check.verify import Report

    Proof = StateProof | EntryProof | ConsistencyProof

_PROOF_BYTES_MAX = 4 << 20
_FORMS = f"mycel prove {ELEMENT}, or SRC PREDICATE DST, or --entry SEQ, or --since ENTRIES"
_ABOUT = "TYPE:NAME, or TYPE:NAME PREDICATE TYPE:NAME"


@click.command(cls=Command)
@click.argument("words", metavar=f"[{ELEMENT}|SRC PREDICATE DST]", nargs=-1, help="What to prove")
@click.option("--entry", type=int, metavar="SEQ", help="Prove that this entry is in the journal")
@click.option(
    "--since",
    type=int,
    metavar="ENTRIES",
    help="Prove that the journal only grew since it had ENTRIES",
)
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write the proof to it"
)
@pass_session
def prove(
    session: Invocation,
    words: tuple[str, ...],
    entry: int | None,
    since: int | None,
    out: Path | None,
) -> None:
    """Prove that an element is part of the state, or that there is none with this identity.

    The proof is JSON. `mycel verify --proof FILE --root HEX` checks it without the database.
    """
    if sum((bool(words), entry is not None, since is not None)) != 1:
        raise click.UsageError(f"Write it as: {_FORMS}")
    with session.open(reading=True) as db:
        proof: Proof
        if entry is not None:
            proof = db.prove_entry(entry)
        elif since is not None:
            proof = db.prove_consistency(since)
        else:
            proof = _prove(db, words)
    wire = proof.to_dict()
    if out is None:
        pretty = is_terminal() and not session.as_json
        session.out.line(json.dumps(wire, indent=2 if pretty else None))
    else:
        _write(out, json.dumps(wire) + "\n")
        root = wire["snapshot"]["overall_root"]
        message = _says(proof, " ".join(words))
        session.out.say(
            f"{message}\nunder the overall root {root}\nProof written to {out}.",
            {"proof": str(out), "kind": wire["kind"], "overall_root": root},
        )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{str(path)!r} cannot be written: {error.strerror}.") from None


def _prove(db: Graph, words: tuple[str, ...]) -> StateProof:
    exactly(words, 1, 3, form=_FORMS)
    if len(words) == 3:
        src, predicate, dst = words
        return db.prove((_resolve_element(db, src), predicate, _resolve_element(db, dst)))
    return db.prove(_resolve_element(db, words[0]))


def _resolve_element(db: Graph, word: str) -> str | tuple[str, str]:
    """The element that a word names.

    A type and name need no element, as absence has a proof too.
    """
    if is_uri(word) or ":" not in word:
        return resolve(db, word)
    return type_and_name(word) or word


@click.command(cls=Command)
@click.argument(
    "about",
    metavar="[TYPE:NAME [PREDICATE TYPE:NAME]]",
    nargs=-1,
    help="The element that the proof must be about",
)
@click.option("--replay", is_flag=True, help="Also rebuild everything from the journal alone")
@click.option("--proof", metavar="FILE", help="Check this proof instead; needs no database")
@click.option("--remote", metavar="NAME", help="Check a registered remote, and the clone of it")
@click.option("--root", type=root_hash, metavar="HEX", help="The overall root that you trust")
@click.option(
    "--old-root",
    type=root_hash,
    metavar="HEX",
    help="For --since: the journal root that you wrote down",
)
@pass_session
def verify(
    session: Invocation,
    *,
    about: tuple[str, ...],
    replay: bool,
    proof: str | None,
    remote: str | None,
    root: bytes | None,
    old_root: bytes | None,
) -> int:
    """Check every part of the file against the others; exit status 1 if anything disagrees.

    With --proof and --root, check one proof offline. The arguments state which element it must
    prove something about: a proof of absence, or of an edge, names its element only by a hash.

    With --remote, check that a remote is signed by its key and continues the head that was pinned.
    """
    if remote is not None:
        if replay or proof is not None or about or root is not None or old_root is not None:
            raise click.UsageError("--remote stands alone.")
        from mycel.cli.commands.trust import verify_remote

        return verify_remote(session, remote)
    if proof is not None:
        if replay:
            raise click.UsageError("--replay checks a database, --proof a file: give one of them.")
        return _check_proof(session, proof, root, old_root, about)
    if len(about) == 1 and Path(about[0]).is_file():
        raise click.UsageError(f"A graph is named with --db: `mycel verify --db {about[0]}`.")
    if about or root is not None or old_root is not None:
        raise click.UsageError("--root, --old-root and what a proof is about go with --proof FILE.")
    with (
        session.open(reading=True) as db,
        session.out.waiting("Checking every part of the file…"),
    ):
        report = db.verify(replay=replay)
    _show(session, report)
    return 0 if report.ok else 1


def _show(session: Invocation, report: Report) -> None:
    out = session.out
    if out.as_json:
        out.object(report.to_dict())
        return
    failed = {problem.check for problem in report.problems}
    for check in report.checks:
        good = check not in failed
        mark = out.style("ok  ", fg="green") if good else out.style("FAIL", fg="red", bold=True)
        out.line(f"{mark}  {check}")
    sizes = (
        (report.entries, "journal entry"),
        (report.concepts, "concept"),
        (report.propositions, "edge"),
    )
    out.line(", ".join(count(number, noun) for number, noun in sizes) + ".")
    if report.problems:
        out.list(
            report.problems,
            ("check", "where", "what"),
            lambda problem: (problem.check, problem.where, problem.what),
        )


def _check_proof(
    session: Invocation,
    path: str,
    root: bytes | None,
    old_root: bytes | None,
    about: tuple[str, ...],
) -> int:
    proof = _read_proof(path)
    stated = proof.snapshot.overall_root.hex()
    if root is None:
        raise click.UsageError(
            "--proof needs --root: the overall root that you trust. The proof says it holds under"
            f" {stated}, but anyone can make a proof for a root of their own."
        )
    matches = not about or _is_about(proof, about)
    if stated != root.hex():
        why = f" It was made for another root: {stated}"
    elif not matches:
        why = f" It is not about {' '.join(about)}."
    else:
        why = "" if _holds(proof, root, old_root) else " Its hashes do not lead to the root."
    out = session.out
    message = _says(proof, " ".join(about) if matches else "")
    verdict = out.style("NOT proven:", fg="red") if why else out.style("Proven:", fg="green")
    out.say(
        f"{verdict} {message}{why}",
        {"ok": not why, "kind": proof.to_dict()["kind"], "says": message, "problem": why.strip()},
    )
    return 1 if why else 0


def _holds(proof: Proof, root: bytes, old_root: bytes | None) -> bool:
    from mycel.merkle.proofs import ConsistencyProof

    if not isinstance(proof, ConsistencyProof):
        return proof.verify(root)
    if old_root is None:
        raise click.UsageError(
            "This proof speaks of an older journal: give the journal root that you wrote down then"
            " as --old-root."
        )
    return proof.verify(old_root, root)


def _is_about(proof: Proof, about: tuple[str, ...]) -> bool:
    from mycel.merkle.proofs import StateProof
    from mycel.model.records import concept_key, link_key, tree_key

    exactly(about, 1, 3, form=f"mycel verify --proof FILE --root HEX {_ABOUT}")
    ends = [type_and_name(word) for word in about[::2]]
    keys = [concept_key(*end) for end in ends if end is not None]
    if len(keys) != len(ends):
        raise click.UsageError("An id has no meaning without its database: write TYPE:NAME.")
    if not isinstance(proof, StateProof):
        return False
    if len(about) == 1:
        return (proof.namespace, proof.key) == ("concepts", keys[0])
    key = tree_key(link_key(keys[0], about[1], keys[1]))
    return (proof.namespace, proof.key) == ("edges", key)


def _read_proof(path: str) -> Proof:
    from mycel.merkle.proofs import proof_from_dict

    try:
        wire = read_json(read_text(path, _PROOF_BYTES_MAX))
    except ValueError as error:
        raise InvalidValueType(
            f"{path!r} is no proof: it is no JSON ({error}).",
            hint="Proofs are written by `mycel prove --out FILE`.",
        ) from None
    return proof_from_dict(wire)


def _says(proof: Proof, label: str = "") -> str:
    """A sentence that says what a proof proves; `label` is the name of its element."""
    from mycel.merkle.proofs import ConsistencyProof, EntryProof

    entries = proof.snapshot.entries
    if isinstance(proof, ConsistencyProof):
        older = f"the {proof.old_entries} entries of the older one"
        return f"the journal of {entries} entries begins with {older}."
    if isinstance(proof, EntryProof):
        return f"entry {proof.seq} is part of the journal of {entries} entries."
    noun = {"concepts": "concept", "edges": "edge"}[proof.namespace]
    if proof.record is None:
        key = (
            f"{visible(label)} (key {proof.key.hex()})"
            if label
            else f"with the key {proof.key.hex()}"
        )
        return f"there is no {noun} {key}."
    return f"{_record_says(noun, proof.record, label)} is part of the state after entry {entries}."


def _record_says(noun: str, record: bytes, label: str) -> str:
    from mycel.model.records import ConceptFields, EdgeFields, decode_concept, decode_edge

    fields: ConceptFields | EdgeFields
    try:
        if noun == "concept":
            fields = decode_concept(record)
            message = f"the {fields.type} {fields.name!r}, version {fields.version},"
        else:
            fields = decode_edge(record)
            # A record has no names of ends; the caller has compared its key with the names.
            description = f"{label} of" if label else f"of type {fields.type} and"
            message = f"the edge {description} weight {fields.weight}"
    except InvalidValueType:
        return "a record that cannot be read"
    # The record comes from an untrusted file, so its type may be any text.
    return visible(message if fields.tombstone is None else f"the tombstone of {message}")
