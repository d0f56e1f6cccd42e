import sys
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread

import pytest

import mycel
from mycel.errors import ConstraintViolation
from mycel.knowledge.bootstrap import Bootstrap, Summary
from mycel.knowledge.bootstrap.watching import watch
from tests.unit.knowledge.bootstrap.conftest import Write


def until(queue: Queue[Summary], change: Callable[[], object]) -> Summary:
    """Change something, again if need be, until somebody notices."""
    for _ in range(100):
        change()
        try:
            return queue.get(timeout=2)
        except Empty:
            continue
    raise AssertionError("nobody noticed")


def test_changes_are_followed_until_it_is_stopped(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    work = Bootstrap(shop)
    work.run()
    write("src/shop/before.py", "def before(): pass\n")  # Before anybody watches.
    stop, seen = Event(), Queue[Summary]()

    def follow() -> None:
        for summary in watch(work, shop.db.path, stop=stop):
            seen.put(summary)

    thread = Thread(target=follow)
    thread.start()
    try:
        assert seen.get(timeout=60).added == 1
        assert shop.get("concept://shop/src/shop/before.py/before")
        summary = until(seen, lambda: write("src/shop/after.py", "def after(): pass\n"))
        assert summary.added == 1
        assert shop.get("concept://shop/src/shop/after.py/after")
        summary = until(seen, lambda: (project / "src/shop/after.py").unlink(missing_ok=True))
        assert summary.removed == 1
    finally:
        stop.set()
        thread.join(timeout=60)
    assert not thread.is_alive()


def test_watching_without_the_extra_says_what_to_install(
    shop: mycel.Knowledge, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(ConstraintViolation, match="watchfiles"):
        next(watch(Bootstrap(shop), shop.db.path))
