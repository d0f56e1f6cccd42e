"""The decisions about a task, as `tending` explains them."""

from __future__ import annotations

from typing import Final, Literal, get_args

Decision = Literal["merge", "supersede", "keep both", "drop", "summarise", "later"]
DECISIONS: Final[tuple[Decision, ...]] = get_args(Decision)
