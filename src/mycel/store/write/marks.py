"""Marks of commits in the journal (`store.log.marks`): tags, and the parents of a merge."""

from __future__ import annotations

import re
from typing import Final

from mycel.errors import ConstraintViolation, InvalidIdentifier, NotFound
from mycel.model.limits import IDENTIFIER_BYTES_MAX
from mycel.model.names import shorten
from mycel.model.state import State
from mycel.store.log import marks
from mycel.store.log.journal import Kind
from mycel.store.log.purge_entries import NO_ELEMENT
from mycel.store.query.commits import commit_at
from mycel.store.write.transaction import Transaction

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")


def set_tag(tx: Transaction, name: str, state: State) -> str:
    """Set a tag on a commit, or move the tag from its old commit. Returns the commit's id.

    Raises:
        InvalidIdentifier: no tag can have this name.
        ConstraintViolation: there is no commit at the beginning of the journal.
    """
    if not _NAME.fullmatch(text := str(name)) or text != name or len(text) > IDENTIFIER_BYTES_MAX:
        raise InvalidIdentifier(
            f"{shorten(repr(name))} is not a valid name of a tag.",
            hint="A tag begins with a letter, and has letters, digits and . _ - / only, so that"
            " it cannot be confused with a time or a commit.",
        )
    seq = tx.first_seq - 1 if state.seq is None else state.seq
    if seq == 0:
        raise ConstraintViolation("There is no commit before the first entry of the journal.")
    commit = commit_at(tx.reader, seq)
    if marks.tags(tx.ledger.connection).get(name) != commit:
        add_mark(tx, marks.Mark(marks.TAG, name, commit))
    return commit


def remove_tag(tx: Transaction, name: str) -> None:
    """Remove a tag: append a mark without a commit for its name.

    Raises:
        NotFound: there is no tag with this name.
    """
    if name not in marks.tags(tx.ledger.connection):
        raise NotFound(f"There is no tag {shorten(repr(name))}.")
    add_mark(tx, marks.Mark(marks.TAG, name, None))


def add_mark(tx: Transaction, mark: marks.Mark) -> None:
    """Append the entry of a mark to the journal."""
    tx.ledger.connection.make(marks.INDEX)
    tx.ledger.append_apart(Kind.MARK, NO_ELEMENT, mark.encode())
