import os
import sys
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread

import pytest

import mycel
from mycel.errors import ConstraintViolation, DatabaseError
from mycel.knowledge.bootstrap import Bootstrap, Summary
from mycel.knowledge.bootstrap.watcher import watch
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


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such a name")
def test_a_name_that_is_not_utf8_is_skipped_and_watching_goes_on(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    work = Bootstrap(shop)
    work.run()
    stop, seen = Event(), Queue[Summary]()

    def follow() -> None:
        for summary in watch(work, shop.db.path, stop=stop):
            seen.put(summary)

    thread = Thread(target=follow)
    thread.start()
    bad = os.fsencode(project) + b"/bad\xff.py"
    try:
        write("src/shop/first.py", "def first(): pass\n")
        assert seen.get(timeout=60).added == 1
        summary = until(seen, lambda: Path(os.fsdecode(bad)).write_text("hi"))
        assert summary.is_nothing
        assert [each.why for each in summary.skipped_anew] == ["its name is not UTF-8"]
        summary = until(seen, lambda: write("src/shop/after.py", "def after(): pass\n"))
        assert (summary.added, summary.skipped_count, summary.skipped_anew) == (1, 1, [])
        Path(os.fsdecode(bad)).unlink()
        summary = until(seen, lambda: write("src/shop/last.py", "def last(): pass\n"))
        assert (summary.added, summary.skipped_count) == (1, 0)
    finally:
        stop.set()
        thread.join(timeout=60)
    assert not thread.is_alive()


def test_a_folder_that_the_system_does_not_watch_is_an_error_of_ours(
    shop: mycel.Knowledge, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watchfiles = pytest.importorskip("watchfiles", reason="the extra `code` is not installed")

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("too many files")
        yield

    monkeypatch.setattr(watchfiles, "watch", refuse)
    with pytest.raises(DatabaseError, match="too many files"):
        next(watch(Bootstrap(shop), shop.db.path))


def test_watching_without_the_extra_says_what_to_install(
    shop: mycel.Knowledge, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(ConstraintViolation, match="watchfiles"):
        next(watch(Bootstrap(shop), shop.db.path))
