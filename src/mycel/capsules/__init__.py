"""The capsules that are shipped: what a new graph knows from its first moment. Data, as KIP text.

Each is a file that any KIP engine can run. The comments at its top say what it is:

    // title: Event
    // version: 1.0.0
    // description: What happened: the episodes out of which lasting knowledge is distilled.

`NAMES` is the order in which they build on each other. `mycel.engine.bootstrap` applies them.
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
)
"""Every capsule of the core, each after those that it needs."""


@dataclass(frozen=True, slots=True)
class CapsuleInfo:
    """What the head of a capsule says about it."""

    name: str
    title: str
    version: str
    description: str


def read(name: str) -> str:
    """The text of a capsule.

    Raises:
        KeyError: no such capsule is shipped.
    """
    if name not in NAMES:
        raise KeyError(name)
    return (resources.files(__name__) / f"{name}.kip").read_text(encoding="utf-8")


def list_capsules() -> list[CapsuleInfo]:
    """Every capsule that is shipped, in the order in which they are applied."""
    return [_info(name) for name in NAMES]


def _info(name: str) -> CapsuleInfo:
    said: dict[str, str] = {}
    for line in read(name).splitlines():
        if not line.startswith("//"):
            break
        key, _, value = line.removeprefix("//").partition(":")
        said.setdefault(key.strip(), value.strip())
    return CapsuleInfo(name, said["title"], said["version"], said["description"])
