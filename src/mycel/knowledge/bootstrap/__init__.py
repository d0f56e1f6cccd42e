"""A folder becomes part of the graph: its files, its folders, what is defined in them.

    mycel bootstrap PATH

The modules, in the order in which a run passes through them:

    walking      which files there are
    reading      what one file holds: hash, lines, facts of its source
    running      a run: disk and graph compared, and the plan that makes them agree
    remembering  the facts of files that did not change
    graphing     the nodes and relations that should stand for files
    vocabulary   their types, and what following each relation costs
    ownership    what may be changed: never what somebody else wrote
    writing      the difference, in a few transactions
    watching     again whenever something changes
    summary      what a run tells
    limits       every bound of these
"""

from __future__ import annotations

from pathlib import Path

from mycel.knowledge.bootstrap.limits import FILE_BYTES_MAX
from mycel.knowledge.bootstrap.run import Bootstrap
from mycel.knowledge.bootstrap.run_summary import Progress, Report, Skipped, Summary
from mycel.knowledge.knowledge import Knowledge

__all__ = ["Bootstrap", "Progress", "Report", "Skipped", "Summary", "bootstrap"]


def bootstrap(
    knowledge: Knowledge,
    path: str | Path | None = None,
    *,
    progress: Report | None = None,
    jobs: int = 1,
    bytes_max: int = FILE_BYTES_MAX,
) -> Summary:
    """Bring a folder into the graph, or up to date if it is there already.

    Without a `path`, it is the root of the workspace; with one, a folder inside of that. What
    others wrote stays. Files larger than `bytes_max` get a node but no symbols.

    Raises:
        NotFound: there is no such folder.
        ConstraintViolation: it is no folder, or outside of the root.
    """
    return Bootstrap(knowledge, path, bytes_max=bytes_max, jobs=jobs).run(progress)
