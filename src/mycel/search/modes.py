"""The modes of a search: by names and words, by meaning, or by all of it."""

from __future__ import annotations

from typing import Final, Literal

from mycel.errors import ConstraintViolation, did_you_mean
from mycel.model.names import shorten

SearchMode = Literal["keyword", "semantic", "hybrid"]
KEYWORD: Final = "keyword"
SEMANTIC: Final = "semantic"
HYBRID: Final = "hybrid"
MODES: Final[tuple[SearchMode, ...]] = (KEYWORD, SEMANTIC, HYBRID)


def check_mode(mode: str) -> SearchMode:
    """Check a mode of SEARCH; raises ConstraintViolation for an unknown one."""
    if mode not in MODES:
        raise ConstraintViolation(
            f"There is no mode {shorten(mode)!r}.",
            hint=f"The modes are {', '.join(MODES)}. {did_you_mean(mode, list(MODES))}".strip(),
        )
    return mode
