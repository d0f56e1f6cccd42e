"""Use counts that several threads note and write at the same time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from mycel.store.file.use_counts import Use, UseCounts


def test_a_thread_that_writes_while_another_counts_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = UseCounts(tmp_path / "graph-use", lambda: 7, is_on=True)
    writers: list[Thread] = []

    class Interrupted(dict[int, int]):
        """Times of uses; another thread writes the counts while they are noted."""

        def update(self, *given: Iterable[Any], **_: int) -> None:
            super().update(*given)
            if not writers:
                writers.append(Thread(target=counts.save))
                writers[0].start()
                writers[0].join(timeout=0.2)

    monkeypatch.setattr(counts, "_last", Interrupted())
    counts.note([1])
    counts.note_followed([(1, "knows", 2)])
    counts.save()
    for writer in writers:
        writer.join()
    counts.note([1, 2])
    assert counts.uses() == {1: Use(2, 7), 2: Use(1, 7)}
    assert counts.followed() == {(1, "knows", 2): 1}
