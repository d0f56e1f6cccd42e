"""Again whenever something changes: a run for every set of changes, until somebody stops it.

The operating system says that something has changed; what exactly, the run finds out by itself, the
same way as any other run. So a notice that is lost, doubled or about a file that does not belong to
the project does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mycel.errors import ConstraintViolation
from mycel.knowledge.bootstrap.running import Bootstrap
from mycel.knowledge.bootstrap.summary import Summary

if TYPE_CHECKING:
    from threading import Event

    from watchfiles import Change

DEBOUNCE_MS: Final = 400
"""How long changes are gathered: a checkout of a branch is one set."""
PATIENCE_MS: Final = 500
"""How soon an end that was asked for is noticed."""
OWN_FOLDERS: Final = frozenset({".git", ".hg", ".svn", ".jj"})
"""Where version control keeps its own files, of which none belongs to a project."""
STEP_MS: Final = 50
"""How long nothing must happen for a set to be complete."""


def watch(bootstrap: Bootstrap, database: str, *, stop: Event | None = None) -> Iterator[Summary]:
    """Run again for every set of changes, and give what each run did, unless that was nothing.

    Ends when `stop` is set.

    Raises:
        KeyboardInterrupt: somebody has pressed Ctrl-C. (watchfiles would tell of it on standard
            error otherwise.)
        ConstraintViolation: what is needed to watch is not installed.
    """
    try:
        # Late: an extra, with a thread of its own.
        from watchfiles import watch as changes  # noqa: PLC0415
    except ImportError:
        raise ConstraintViolation(
            "Watching needs a package that is not installed: watchfiles.",
            hint="Install it with `pip install 'mycel[code]'`.",
        ) from None
    graph = str(Path(database).resolve())
    is_first = True  # What changed before watching began is looked for once.
    for changed in changes(
        bootstrap.folder,
        watch_filter=lambda change, path: _counts(change, path, bootstrap.folder, graph),
        debounce=DEBOUNCE_MS,
        step=STEP_MS,
        stop_event=stop,
        rust_timeout=PATIENCE_MS,
        yield_on_timeout=True,
        raise_interrupt=True,
    ):
        if not (changed or is_first):
            continue
        is_first = False
        summary = bootstrap.run()
        if not summary.is_nothing:
            yield summary


def _counts(_change: Change, path: str, folder: Path, graph: str) -> bool:
    """Whether a notice may be about the project: not about the graph, nor version control's."""
    if path.startswith(graph):
        return False
    parts = path.removeprefix(f"{folder}/").split("/")
    return OWN_FOLDERS.isdisjoint(parts)
