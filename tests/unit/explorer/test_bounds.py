"""Views hold no more in memory than they show, whatever the size of the graph."""

import contextlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.explorer import feed, limits, past
from mycel.explorer.explorer import Explorer
from mycel.explorer.limits import DIFFS_AT_ONCE
from mycel.model.allowance import using
from tests.prepared import NEW


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
    with NEW.opened() as db:
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
    with NEW.opened() as db, ThreadPoolExecutor(4) as pool:
        explorer = Explorer(db, mycel.Knowledge(db, workspace="shop"))
        asked = [pool.submit(explorer.view, "diff", {"from": "0"}) for _ in range(4)]
        assert [each.result() for each in asked] == [{}] * 4
    assert most <= DIFFS_AT_ONCE


def test_events_are_of_limited_size_however_long_names_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with NEW.opened() as db:
        db.write(lambda tx: tx.define_type("Leaf"))
        begin = feed.position(db)
        for at in range(3):
            rows = [mycel.ConceptRow("Leaf", f"{at} {n} {'x' * 4_000}") for n in range(150)]
            db.write(lambda tx, rows=rows: tx.put_concepts(rows))
        events = feed.events_after(db, begin)
        assert events is not None
        assert len(events) == 3
        for event in events:
            told = json.loads(event.text.split(b"data: ")[1])
            assert len(event.text) <= limits.EVENT_BYTES_MAX
            assert told["added"]
            assert len(told["added"]) + told["more"] == 150
        # What is too large to be read at once comes in pages.
        monkeypatch.setattr(limits, "FEED_PAGE_BYTES", len(events[0].text) + 1)
        assert feed.events_after(db, begin) == events[:2]
        assert feed.events_after(db, events[1].position) == events[2:]
        assert feed.events_after(db, begin, page=1) == events[:1]
        assert feed.events_after(db, begin, most=2) is None


def test_conflicts_are_counted_without_merging_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mycel.open(tmp_path / "graph.db") as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        knowledge.add("login", content="first")
        db.branches.create("draft")
        with db.open_branch("draft") as draft:
            mycel.Knowledge(draft, workspace="shop").update("login", content="theirs")
        knowledge.update("login", content="ours")
        assert db.merge("draft").is_open
        monkeypatch.setattr(
            type(db), "merges", property(lambda _: pytest.fail("it merges once more"))
        )
        assert Explorer(db, knowledge).view("about", {})["conflicts"] == 1
