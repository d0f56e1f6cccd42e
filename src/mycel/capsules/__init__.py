"""The shipped capsules, the content of a new graph, as KIP text.

Comments at the top of each file describe it:

    // title: Event
    // version: 1.0.0
    // description: What happened: the episodes out of which lasting knowledge is distilled.

`mycel.engine.seed` applies them in the order of `NAMES`; `former` has values of earlier versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Final

NAMES: Final = (
    "genesis",
    "domains",
    "predicates",
    "person",
    "event",
    "preference",
    "insight",
    "sleep_task",
    "self",
    "system",
    "commitment",
    "experience",
    "skill",
)
"""Every capsule of the core, each after those that it needs."""


@dataclass(frozen=True, slots=True)
class CapsuleInfo:
    """The description at the top of a capsule."""

    name: str
    title: str
    version: str
    description: str


def read(name: str) -> str:
    """The text of a capsule; raises KeyError if it is not shipped."""
    if name not in NAMES:
        raise KeyError(name)
    return (resources.files(__name__) / f"{name}.kip").read_text(encoding="utf-8")


def list_capsules() -> list[CapsuleInfo]:
    """Every capsule that is shipped, in the order in which they are applied."""
    return [_info(name) for name in NAMES]


def _info(name: str) -> CapsuleInfo:
    payload: dict[str, str] = {}
    for line in read(name).splitlines():
        if not line.startswith("//"):
            break
        key, _, value = line.removeprefix("//").partition(":")
        payload.setdefault(key.strip(), value.strip())
    return CapsuleInfo(name, payload["title"], payload["version"], payload["description"])
