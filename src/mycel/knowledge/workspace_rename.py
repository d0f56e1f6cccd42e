"""Gives a workspace another name, in the URIs of its nodes."""

from __future__ import annotations

from mycel.model import ids
from mycel.store.query.bulk.prefixes import find_by_name, numbers_below
from mycel.store.write.transaction import Transaction


def rename_workspace(tx: Transaction, workspace: str, name: str) -> int:
    """Move the concepts and files of a workspace to URIs with another workspace name.

    Returns their number.

    Relations and history stay with them. URIs inside texts stay unchanged.
    """
    starts = {f"{scheme}://{workspace}": f"{scheme}://{name}" for scheme in ("concept", "file")}
    nodes = numbers_below(tx.reader, list(starts))
    nodes += [(node.name, node.number) for node in find_by_name(tx.reader, list(starts))]
    for uri, number in nodes:
        start = next(start for start in starts if uri == start or uri.startswith(f"{start}/"))
        tx.move(ids.concept_id(number), name=starts[start] + uri.removeprefix(start))
    return len(nodes)
