"""Open merges and their conflicts: show, decide, commit or abort them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mycel.api.graph import Graph
from mycel.explorer.moments import Scene
from mycel.explorer.parameters import Argument, Parameters
from mycel.explorer.past import commit_of
from mycel.model.values import JsonObject
from mycel.store.query.commits import transaction_of
from mycel.store.query.history import entry_at

if TYPE_CHECKING:
    from mycel.history.merge.outcome import Merge

RESOLUTIONS_MAX: Final = 5_000

_MERGE: Final = Argument("text", "The id of an open merge; may be left out while only one is open")
ACTIONS: Final[dict[str, Parameters]] = {
    "resolve": {
        "merge": _MERGE,
        "resolutions": Argument(
            "objects",
            'Objects {"conflict", "choice", "value"}',
            most=RESOLUTIONS_MAX,
            required=True,
        ),
    },
    "commit": {"merge": _MERGE, "message": Argument("text", "Why, for the log", default="")},
    "abort": {"merge": _MERGE},
}
"""The writes about merges, by name."""


def list_open_merges(scene: Scene) -> JsonObject:
    """All open merges with their conflicts and automatic choices."""
    return scene.answer(merges=[_merge(scene, merge) for merge in scene.knowledge.db.merges])


def _merge(scene: Scene, merge: Merge) -> JsonObject:
    payload = merge.to_dict()
    payload["counts"] = merge.diff.counts
    del payload["diff"]
    payload["total"] = len(merge.conflicts)
    payload["open"] = sum(conflict.resolution is None for conflict in merge.conflicts)
    for conflict in payload["conflicts"]:
        element = conflict.get("element")
        number = scene.find(element) if element else None
        conflict["card"] = None if number is None else scene.cards.get(number)
    return payload


def act(db: Graph, action: str, values: Mapping[str, Any]) -> str | None:
    """Decide conflicts, commit a merge or abort it; returns the new commit, if any.

    Raises:
        NotFound: there is no such merge or conflict.
        ConstraintViolation: a choice does not fit, or conflicts are left.
    """
    match action:
        case "resolve":
            db.merges.resolve(values["resolutions"], merge=values["merge"])
        case "commit":
            return db.merges.commit(values["merge"], message=values["message"]).commit
        case _:
            db.merges.abort(values["merge"])
    return None


def committed(scene: Scene, commit: str | None) -> JsonObject | None:
    """A commit by its id."""
    if commit is None:
        return None
    return commit_of(transaction_of(scene.reader, entry_at(scene.reader, commit)))
