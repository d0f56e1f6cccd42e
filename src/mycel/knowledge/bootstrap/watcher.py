"""Again whenever something changes: a run for every set of changes, until somebody stops it.

The operating system says that something has changed; what exactly, the run finds out by itself, the
same way as any other run. So a notice that is lost, doubled or about a file that does not belong to
the project does no harm.

A notice about a name that is not UTF-8 cannot even be told: watchfiles gives up instead. It does so
only when there is such a notice, never for a file that merely lies there. So watching begins anew,
after a run that finds out what happened.
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
"""How long changes are gathered: a checkout of a branch is one set."""
PATIENCE_MS: Final = 500
"""How soon an end that was asked for is noticed."""
OWN_FOLDERS: Final = frozenset({".git", ".hg", ".svn", ".jj"})
"""Where version control keeps its own files, of which none belongs to a project."""
STEP_MS: Final = 50
"""How long nothing must happen for a set to be complete."""

_UNREADABLE_NOTICE: Final = "Unable to decode path"
"""How watchfiles begins to say that a name is not UTF-8. It has one exception for all failures."""


def watch(bootstrap: Bootstrap, database: str, *, stop: Event | None = None) -> Iterator[Summary]:
    """Run again for every set of changes, and give what each run did, unless that was nothing.

    A file that is skipped for the first time is something. Ends when `stop` is set.

    Raises:
        KeyboardInterrupt: somebody has pressed Ctrl-C. (watchfiles would tell of it on standard
            error otherwise.)
        ConstraintViolation: what is needed to watch is not installed.
        DatabaseError: the operating system does not let it watch.
    """
    stop = Event() if stop is None else stop
    while not stop.is_set():
        for _ in _notices(bootstrap.folder, str(Path(database).resolve()), stop):
            summary = bootstrap.run()
            if not summary.is_nothing or summary.skipped_anew:
                yield summary
        # A file that is written all the time must not mean a run all the time.
        stop.wait(DEBOUNCE_MS / 1000)


def _notices(folder: Path, graph: str, stop: Event) -> Iterator[None]:
    """A notice for every reason to run: the beginning, changes, and one that could not be read.

    The last of these ends it, as `stop` does.
    """
    try:
        # Late: an extra, with a thread of its own.
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
    is_first = True  # What changed before watching began is looked for once.
    try:
        for changed in watched:
            if changed or is_first:
                is_first = False
                yield
    except RuntimeError as error:  # watchfiles does not export the class that it raises.
        if _UNREADABLE_NOTICE not in str(error):
            raise DatabaseError(
                f"{folder} cannot be watched: {error}.",
                hint="The system may watch too few files (on Linux, fs.inotify.max_user_watches);"
                " without --watch, run it again whenever something has changed.",
            ) from error
        yield


def _counts(_change: Change, path: str, folder: Path, graph: str) -> bool:
    """Whether a notice may be about the project: not about the graph, nor version control's."""
    if path.startswith(graph):
        return False
    parts = path.removeprefix(f"{folder}/").split("/")
    return OWN_FOLDERS.isdisjoint(parts)
