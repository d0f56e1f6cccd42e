"""Opening a graph: the file, its options, and the content of a new one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from mycel.api.graph import TIMEOUT_S, Graph
from mycel.embedding.embedder import Embedder
from mycel.engine.guards import GraphGuards
from mycel.engine.write_defaults import DEFAULT_ACTOR
from mycel.errors import ConstraintViolation, MycelError
from mycel.history.branches import branch_place
from mycel.store.backend.interface import Durability, MemoryUse
from mycel.store.database import Store, wall_clock_us
from mycel.store.file.workspace_databases import existing_database
from mycel.store.write.transaction import Guard

IN_MEMORY: Final = ":memory:"


def open_graph(
    path: str | os.PathLike[str] = IN_MEMORY,
    *,
    workspace: str | None = None,
    branch: str | None = None,
    actor: str = DEFAULT_ACTOR,
    message: str = "",
    create: bool = True,
    readonly: bool = False,
    durability: Durability = "full",
    busy_timeout_s: float = 30.0,
    clock_us: Callable[[], int] = wall_clock_us,
    guards: Sequence[Guard] = (),
    vfs: str | None = None,
    memory: MemoryUse = "ample",
    strict: bool = False,
    core_capsules: bool = True,
    timeout_s: float = TIMEOUT_S,
    embedder: Embedder | str | None = None,
    count_uses: bool = True,
) -> Graph:
    """Open a graph; if there is none, create it and apply the core capsules.

    With `workspace` instead of a path, the database of that name is opened, like `--workspace` on
    the command line; it has to exist. With `branch`, the branch of that name is opened, which has
    to exist too; main is the graph itself. Without `branch`, the file at the path is opened: `mycel
    branch switch` has no effect here. `durability` says what a commit waits for: "full" (the
    default) survives a power cut, "normal" may then lose the last commits but never harms the file,
    "off" is for scratch data. With `strict`, an element without the attributes that its type
    requires is refused; otherwise that is a warning. Without `core_capsules`, a new graph has only
    the two meta-types and built-in predicates, also after it is opened again. `timeout_s` bounds
    every command of KIP; capsules and transactions may write for as long as they need. `guards` are
    asked about every change. An `embedder` makes the vectors of search by meaning, and of
    properties with `@embed`: an object, or a name of `mycel.embedding.choice` such as "static", the
    one inside the package. The default is the embedder that `mycel embed use` has chosen. The
    `message` is the default message of transactions in the journal. With `count_uses`, a file
    beside the graph counts what is read through `Knowledge` and the MCP tools, for upkeep
    (docs/upkeep.md); reading never writes to the graph itself. `memory` says how much of the file
    this process may keep in its own: "ample", or "modest" for one that serves for days beside
    others. `clock_us` and `vfs` are for tests.

    Raises:
        NotADatabase, FormatTooNew, DatabaseReadOnly, DatabaseError: the graph cannot be opened.
        InvalidValueType: no embedder has this name.
        InvalidIdentifier, NotFound: there is no such branch or workspace.
        ConstraintViolation: both a path and a workspace are given.
    """
    if workspace is not None:
        if path != IN_MEMORY:
            raise ConstraintViolation(
                "Both a path and a workspace are given.", hint="Pass one of them."
            )
        path = existing_database(workspace)
    if branch is not None:
        path = branch_place(path, branch)
    if isinstance(embedder, str):
        from mycel.embedding.choice import embedder_named  # noqa: PLC0415 - it brings numpy

        embedder = embedder_named(embedder)
    store = Store(
        path,
        create=create,
        readonly=readonly,
        durability=durability,
        busy_timeout_s=busy_timeout_s,
        clock_us=clock_us,
        guards=GraphGuards(guards, strict=strict),
        vfs=vfs,
        memory=memory,
        bare=not core_capsules,
        count_uses=count_uses,
    )
    try:
        if not readonly and store.needs_seed():
            from mycel.engine.seed import seed_graph  # noqa: PLC0415 - if new only

            seed_graph(store)
        graph = Graph(store, actor=actor, message=message, timeout_s=timeout_s, embedder=embedder)
    except BaseException:
        with suppress(MycelError):  # The first error is raised, not one of closing.
            store.close()
        raise

    def reopen(path: Path | str, readonly: bool) -> Graph:
        return open_graph(
            path,
            create=False,
            readonly=readonly,
            actor=graph.actor,
            message=graph.message,
            durability=durability,
            busy_timeout_s=busy_timeout_s,
            clock_us=clock_us,
            guards=guards,
            vfs=vfs,
            memory=memory,
            strict=strict,
            timeout_s=timeout_s,
            embedder=embedder,
            count_uses=count_uses,
        )

    graph._reopen = reopen
    return graph
