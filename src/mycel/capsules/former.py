"""Values that earlier versions of the capsules gave to attributes.

An attribute that still has such a value was never changed by a user, so it is replaced when the
capsules are applied again (`mycel.engine.seed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_EPISODES: Final = {"subject_types": (["Event"],)}

FORMER_VALUES: Final[Mapping[tuple[str, str], Mapping[str, tuple[Any, ...]]]] = {
    ("$PropositionType", "involves"): _EPISODES
    | {
        "description": ("The person took part in the event, or was directly affected by it.",),
    },
    ("$PropositionType", "mentions"): _EPISODES
    | {
        "description": ("The object came up in the event, whether it was central or in passing.",),
    },
    ("$PropositionType", "consolidated_to"): _EPISODES
    | {
        "description": (
            (
                "What the event taught has become lasting knowledge in the object. Written by "
                "maintenance when it sets consolidation_status to completed."
            ),
        ),
    },
    ("Person", "$system"): {
        "capabilities": (
            [
                "Work through pending SleepTasks, the most important first",
                "Draw lasting knowledge out of Events that wait for it",
                "Find homes for what lies in the domain Unsorted",
                "Unite duplicates and settle contradictions",
                "Lower the confidence of what has not been confirmed for long",
                "Retire what has passed its expires_at",
                "Report on the health of the graph in maintenance_log",
            ],
        ),
    },
}
"""The former values, by type and name of the concept and by attribute."""
