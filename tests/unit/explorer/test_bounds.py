"""Views hold no more in memory than they show, whatever the size of the graph."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import mycel
from mycel.explorer import past
from mycel.explorer.explorer import Explorer
from mycel.explorer.limits import DIFFS_AT_ONCE
from mycel.model.allowance import using


class Counting:
    """The allowance of a request that only counts the bytes of its answer."""

    holds_turn = False
    size = 0

    def is_over(self) -> bool:
        return False

    def charge(self, size: int) -> None:
        self.size += size

    def wait_s(self) -> float:
        return 60.0


def test_a_page_of_versions_reads_and_counts_that_page_only() -> None:
    with mycel.open() as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        knowledge.add("login", content="0" * 10_000)
        for at in range(1, 8):
            knowledge.update("login", content=str(at) * 10_000)
        explorer = Explorer(db, knowledge)
        shown: list[str] = []
        cursor = None
        while True:
            request = Counting()
            with using(request):
                page = explorer.view("history", {"id": "login", "limit": 3, "cursor": cursor})
            versions = page["versions"]
            assert page["total"] == 8
            assert len(versions) <= request.size // 10_000 <= len(versions)
            shown += [each["content"][0] for each in versions]
            cursor = page.get("next_cursor")
            if cursor is None:
                break
        assert shown == ["7", "6", "5", "4", "3", "2", "1", "0"]


def test_few_comparisons_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, running, most = threading.Lock(), 0, 0
    crowd = threading.Barrier(DIFFS_AT_ONCE + 1)

    def compare(_db: Any, _given: Any) -> dict[str, Any]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        with contextlib.suppress(threading.BrokenBarrierError):
            crowd.wait(0.2)
        with lock:
            running -= 1
        return {}

    monkeypatch.setattr(past, "diff", compare)
    with mycel.open() as db, ThreadPoolExecutor(4) as pool:
        explorer = Explorer(db, mycel.Knowledge(db, workspace="shop"))
        asked = [pool.submit(explorer.view, "diff", {"from": "0"}) for _ in range(4)]
        assert [each.result() for each in asked] == [{}] * 4
    assert most <= DIFFS_AT_ONCE
