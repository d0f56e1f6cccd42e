"""The switches of a graph's hooks, and a journal of their answers and captures with reasons.

Both are small files in the user's folder, named after the graph. They have addresses, counts and
reasons, but no secret and no text of a session. When the journal reaches its limit, its older half
is removed.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from mycel.errors import ConstraintViolation
from mycel.store.file.plain_files import read_bounded
from mycel.store.file.workspace_databases import HOME_FOLDER

FOLDER: Final = "hooks"
JOURNAL_BYTES_MAX: Final = 1 << 20
SWITCHES: Final[dict[str, tuple[str, ...]]] = {
    "brief": ("on", "off"),
    "prompt": ("on", "off"),
    "capture": ("on", "off", "proposal"),
}
"""The kinds of hooks with their possible states; the first is the default."""


class HookJournal:
    """The switches and the journal of one graph."""

    def __init__(self, database: Path) -> None:
        path = database.absolute()
        name = f"{path.stem}-{zlib.crc32(os.fsencode(path)):08x}"
        folder = Path.home() / HOME_FOLDER / FOLDER
        self._journal: Final = folder / f"{name}.jsonl"
        self._switches: Final = folder / f"{name}.json"

    def switches(self) -> dict[str, str]:
        """The state of each kind for the graph; variables in a hook's environment do not count."""
        states = {kind: values[0] for kind, values in SWITCHES.items()}
        with suppress(OSError, ValueError):
            stored = orjson.loads(read_bounded(self._switches, JOURNAL_BYTES_MAX))
            states |= {k: v for k, v in stored.items() if v in SWITCHES.get(k, ())}
        return states

    def switch(self, kind: str, state: str) -> None:
        """Switch a kind of hooks, or all of them.

        Raises:
            ConstraintViolation: there is no such kind or state.
        """
        kinds = list(SWITCHES) if kind == "all" else [kind]
        for name in kinds:
            if state not in SWITCHES.get(name, ()):
                listing = "; ".join(f"{k}: {', '.join(v)}" for k, v in SWITCHES.items())
                raise ConstraintViolation(
                    f"The hook {name!r} cannot be switched to {state!r}.",
                    hint=f"There are {listing}.",
                )
        states = self.switches() | dict.fromkeys(kinds, state)
        self._switches.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._switches.write_bytes(orjson.dumps(states))

    def add(self, entry: Mapping[str, Any]) -> None:
        """Add an entry, if it can be written.

        A failure is ignored, because it would cost the client its turn.
        """
        time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        with suppress(OSError, TypeError):
            line = orjson.dumps({"time": time, **entry}) + b"\n"
            self._journal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._journal.exists() and self._journal.stat().st_size > JOURNAL_BYTES_MAX:
                with self._journal.open("rb") as file:
                    file.seek(-JOURNAL_BYTES_MAX // 2, os.SEEK_END)
                    newest = file.read(JOURNAL_BYTES_MAX)
                self._journal.write_bytes(newest[newest.find(b"\n") + 1 :])
            with self._journal.open("ab") as file:
                file.write(line)

    def entries(self) -> Iterator[dict[str, Any]]:
        """All entries, oldest first."""
        with suppress(OSError, ValueError):
            for line in read_bounded(self._journal, 2 * JOURNAL_BYTES_MAX).splitlines():
                with suppress(ValueError):
                    entry = orjson.loads(line)
                    if isinstance(entry, dict):
                        yield entry

    def shown_in(self, session: str) -> set[str]:
        """The nodes that were shown in a session, since its last compaction."""
        uris: set[str] = set()
        for entry in self.entries():
            if session and entry.get("session") == session:
                if entry.get("event") == "pre-compact":
                    uris.clear()
                uris.update(entry.get("shown", ()))
        return uris

    def last_capture(self, but: str = "") -> str | None:
        """The time of the newest captured session, except the session `but`."""
        times = [
            str(entry["time"])
            for entry in self.entries()
            if entry.get("captured") and entry.get("session") != but
        ]
        return times[-1] if times else None
