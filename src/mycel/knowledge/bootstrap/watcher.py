"""Runs a bootstrap for every set of changes on the disk, until it is stopped.

A notice of the operating system only starts a run, which compares all files. So lost, repeated and
unrelated notices do no harm. watchfiles fails on a name that is not UTF-8; then a run follows, and
watching starts again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

from mycel.errors import ConstraintViolation, DatabaseError
from mycel.knowledge.bootstrap.run import Bootstrap
from mycel.knowledge.bootstrap.run_summary import Summary
from mycel.model.extras import install_command

if TYPE_CHECKING:
    from watchfiles import Change

DEBOUNCE_MS: Final = 400
"""The milliseconds in which changes are gathered: a checkout of a branch is one set."""
PATIENCE_MS: Final = 500
"""The milliseconds between two checks for `stop`."""
OWN_FOLDERS: Final = frozenset({".git", ".hg", ".svn", ".jj"})
"""The folders of version control, whose changes do not count."""
STEP_MS: Final = 50
"""The milliseconds without changes after which a set is complete."""

_UNREADABLE_NOTICE: Final = "Unable to decode path"
"""The message of watchfiles for a name that is not UTF-8. All of its failures have one exception
class."""


def watch(bootstrap: Bootstrap, database: str, *, stop: Event | None = None) -> Iterator[Summary]:
    """Run for every set of changes until `stop`. Yields summaries with changes or new skips.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
        ConstraintViolation: watchfiles is not installed.
        DatabaseError: the operating system refuses to watch.
    """
    stop = Event() if stop is None else stop
    while not stop.is_set():
        for _ in _notices(bootstrap.folder, str(Path(database).resolve()), stop):
            summary = bootstrap.run()
            if not summary.is_nothing or summary.skipped_anew:
                yield summary
        # A pause, in case files are written all the time.
        stop.wait(DEBOUNCE_MS / 1000)


def _notices(folder: Path, graph: str, stop: Event) -> Iterator[None]:
    """A notice at the start, one for every set of changes, and a last one at a failure."""
    try:
        # Imported late, because it is an extra.
        from watchfiles import watch as changes  # noqa: PLC0415
    except ImportError:
        raise ConstraintViolation(
            "Watching needs a package that is not installed: watchfiles.",
            hint=f"Install it with {install_command('code')}.",
        ) from None
    watched = changes(
        folder,
        watch_filter=lambda change, path: _counts(change, path, folder, graph),
        debounce=DEBOUNCE_MS,
        step=STEP_MS,
        stop_event=stop,
        rust_timeout=PATIENCE_MS,
        yield_on_timeout=True,
        raise_interrupt=True,
    )
    is_first = True  # The first run finds the changes from before watching began.
    try:
        for changed in watched:
            if changed or is_first:
                is_first = False
                yield
    except RuntimeError as error:  # watchfiles does not export the class of this exception.
        if _UNREADABLE_NOTICE not in str(error):
            raise DatabaseError(
                f"{folder} cannot be watched: {error}.",
                hint="Raise the number of watched files (on Linux, fs.inotify.max_user_watches), or"
                " run the command again after changes, without --watch.",
            ) from error
        yield


def _counts(_change: Change, path: str, folder: Path, graph: str) -> bool:
    """True for a path of the project, and not of the graph or of version control."""
    if path.startswith(graph):
        return False
    parts = path.removeprefix(f"{folder}/").split("/")
    return OWN_FOLDERS.isdisjoint(parts)
