"""Writes to the tables of merges inside a transaction (`store.log.merges`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mycel.store.log import merges
from mycel.store.write.transaction import Transaction


def end_merge(tx: Transaction, id_: str, body: Mapping[str, Any]) -> bool:
    """Remove the open merge that this transaction commits.

    Returns False, and removes nothing, if the merge has changed or ended since `body` was read.
    """
    if not merges.is_at(tx.ledger.connection, body):
        return False
    merges.remove(tx.ledger.connection, id_)
    return True


def keep_choices(tx: Transaction, seq: int, choices: Sequence[merges.MergeRow]) -> None:
    """Keep the automatic choices of the merge that this transaction commits; `seq` is its end."""
    if choices:
        tx.ledger.connection.make(merges.TABLES)
        tx.ledger.write_many(
            "INSERT INTO merge_choice VALUES (?1, ?2, ?3, ?4) ON CONFLICT (seq, id)"
            " DO UPDATE SET element = ?3, body = ?4",
            [(seq, choice.id, choice.element, choice.text) for choice in choices],
        )


def keep_origins(
    tx: Transaction, seq: int, origins: Mapping[int, Mapping[str, tuple[int, str]]]
) -> None:
    """Keep the origins of the values that the merge takes from its source: by element and place."""
    if origins:
        tx.ledger.connection.make(merges.TABLES)
        tx.ledger.write_many(
            "INSERT INTO merge_origin VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (number, seq, place)"
            " DO UPDATE SET time = ?4, actor = ?5",
            [
                (number, seq, place, *origin)
                for number, places in origins.items()
                for place, origin in places.items()
            ],
        )


def keep_matches(tx: Transaction, seq: int, matches: Mapping[int, int]) -> None:
    """Keep the pairs of numbers that elements have in the source of the merge and here."""
    if matches:
        tx.ledger.connection.make(merges.TABLES)
        tx.ledger.write_many(
            "INSERT INTO merge_match VALUES (?1, ?2, ?3) ON CONFLICT (other, seq)"
            " DO UPDATE SET number = ?3",
            [(other, seq, number) for other, number in matches.items()],
        )


def keep_creations(tx: Transaction, seq: int, creations: Mapping[int, Collection[bytes]]) -> None:
    """Keep the creations that elements have in the source of the merge."""
    if creations:
        tx.ledger.connection.make(merges.TABLES)
        tx.ledger.write_many(
            "INSERT INTO merge_creation VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [(seq, number, one) for number, several in creations.items() for one in several],
        )
