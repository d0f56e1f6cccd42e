"""`mycel bootstrap`: brings the files, folders and symbols of a project into the graph.

Modules, in the order in which a run passes through them:

    run              one run: compares disk and graph, and plans what to write
    file_walk        lists the files of a project; `source_files` reads them
    git_process      runs Git in the project
    facts_cache      facts of unchanged files
    git_authors      authors of files and folders, from the history of Git
    author_lists     the lists of authors that should be in the graph
    project_graph    nodes and relations for files
    ownership        tells the values of a bootstrap from those of others
    renamed_files    finds files and folders that have another path now
    renamed_sections finds sections that have another heading now
    graph_writer     writes the difference, in a few transactions
    watcher          runs again whenever a file changes
    run_summary      progress and results of a run
    published_files  the files that a server may show to others
    limits           every bound of these
"""

from __future__ import annotations

from pathlib import Path

from mycel.knowledge.bootstrap.limits import FILE_BYTES_MAX, JOBS_DEFAULT
from mycel.knowledge.bootstrap.run import Bootstrap
from mycel.knowledge.bootstrap.run_summary import (
    BootstrapProgress,
    BootstrapReport,
    SkippedPath,
    Summary,
)
from mycel.knowledge.knowledge import Knowledge

__all__ = [
    "Bootstrap",
    "BootstrapProgress",
    "BootstrapReport",
    "SkippedPath",
    "Summary",
    "bootstrap",
]


def bootstrap(
    knowledge: Knowledge,
    path: str | Path | None = None,
    *,
    progress: BootstrapReport | None = None,
    jobs: int = JOBS_DEFAULT,
    bytes_max: int = FILE_BYTES_MAX,
    authors: bool = True,
) -> Summary:
    """Bring the folder `path`, by default the root of the workspace, into the graph or up to date.

    Values that others wrote stay. Files larger than `bytes_max` get a node but no symbols. With
    `authors` False, files and folders get no authors, and authors of former runs are removed.

    Raises:
        NotFound: there is no such folder.
        ConstraintViolation: the path is no folder, or outside of the root.
    """
    return Bootstrap(knowledge, path, bytes_max=bytes_max, jobs=jobs, authors=authors).run(progress)
