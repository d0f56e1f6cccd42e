"""`Graph`, which `mycel.open` returns: one open graph with all its methods.

The module is long because it is one class with a documented method for each task. The logic is in
the layers below. Less common methods are in the parts of a graph.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, Unpack
from warnings import warn

from mycel.api.edge_data import edge_data
from mycel.api.graph_view import GraphView
from mycel.embedding.embedder import Embedder
from mycel.engine.write_defaults import DEFAULT_ACTOR, WriteDefaults
from mycel.errors import ConstraintViolation, InternalError, InvalidValueType
from mycel.graph.adjacency import Adjacency
from mycel.graph.walk import check_whole
from mycel.history.branches import Branches, branch_place, may_write
from mycel.history.history_api import History
from mycel.history.merge_api import Merges
from mycel.history.saved_views import SavedViews
from mycel.merkle.proofs import ConsistencyProof, EntryProof, Snapshot, StateProof
from mycel.model.elements import Element
from mycel.model.limits import FIND_LIMIT_MAX
from mycel.model.names import kind_of, shorten
from mycel.search.index.search_index import SearchIndex
from mycel.search.modes import HYBRID, SearchMode
from mycel.store.check import proofs
from mycel.store.database import Store
from mycel.store.file.use_counts import Use, UseCounts
from mycel.store.query import commits
from mycel.store.query.filters import Filters
from mycel.store.query.history import Moment, entry_at, state_at
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref
from mycel.store.write import purge as purging
from mycel.store.write import scrub as scrubbing
from mycel.store.write.purge import Purged
from mycel.store.write.scrub import Scrubbed
from mycel.store.write.transaction import DEFAULT_WEIGHT, Transaction

if TYPE_CHECKING:
    from mycel.engine.engine import Engine
    from mycel.engine.result import Result
    from mycel.history.backups import Backup
    from mycel.history.merge.outcome import Merge
    from mycel.history.proposals import Proposals
    from mycel.history.submissions import Submissions
    from mycel.migration.schema_api import SchemaApi
    from mycel.queries.named_queries import NamedQueries
    from mycel.search.hits import ElementHit
    from mycel.search.index.embeddings import Embeddings
    from mycel.store.backend.interface import Listening
    from mycel.store.check.verify import Report
    from mycel.transfer.formats import Format
    from mycel.transfer.load import Loaded, Progress
    from mycel.transfer.row_writer import Mode
    from mycel.upkeep import CycleReport
    from mycel.upkeep.schedule import Schedule, Sleeper
    from mycel.upkeep.tasks_api import Tasks
    from mycel.upkeep.upkeep_api import UpkeepApi

TIMEOUT_S = 30.0
"""The default time limit of a command."""

Written = TypeVar("Written")


class Graph(GraphView):
    """One open graph, which `mycel.open` returns. It is a context manager that closes itself.

    Commands of KIP    execute, explain, request, apply_capsule
    Reading            get, get_concept, get_edge, edges_out, edges_in, find, traverse, search
    Writing            write, transaction, add_edge, remove_edge, purge, scrub
    Rows               load, export, to_arrow
    The past           as_of returns the same methods of reading, as a `GraphView`
    Proofs and checks  snapshot, prove, prove_entry, prove_consistency, verify
    Branches, copies   branch, open_branch, merge; backup, and `mycel.restore` as the way back
    Upkeep             sleep, uses

    Its parts, each with methods of its own:

    db.history         the log, versions of elements, diff, rollback, revert, tags
    db.branches        create, list, delete and switch branches
    db.merges          open merges: conflicts, resolve, commit, abort
    db.tasks           questions of upkeep: next, decide
    db.queries         named queries: add, check, run
    db.submissions     changes to an earlier state, committed once, or put into db.proposals
    db.schema          the schema in force: plan and apply changes
    db.embeddings      the vectors of search by meaning
    db.saved_views     views of the explorer under names

    All threads of a process may share one graph. `engine`, `reading`, `hits_in` and
    similar methods are for other packages of Mycel.
    """

    _reopen: Callable[[Path | str, bool], Graph] | None = None
    """A function that opens the file of a branch with the options of this graph."""

    def __init__(
        self,
        store: Store,
        *,
        actor: str = DEFAULT_ACTOR,
        message: str = "",
        timeout_s: float = TIMEOUT_S,
        embedder: Embedder | None = None,
    ) -> None:
        super().__init__(store, timeout_s=timeout_s)
        self._defaults: Final = WriteDefaults(actor, message)
        self._adjacency: Adjacency = Adjacency(store)
        self._search_index: Final = SearchIndex(store, embedder)
        self._full_store: Store | None = None

    @cached_property
    def engine(self) -> Engine:
        """The engine that runs commands; servers send its results on without decoding them."""
        from mycel.engine.engine import Engine  # noqa: PLC0415 - not every use needs the language

        return Engine(
            self._store,
            timeout_s=self._timeout_s,
            defaults=self._defaults,
            adjacency=self._adjacency,
            index=self._search_index,
        )

    @cached_property
    def schema(self) -> SchemaApi:
        """The schema of the graph: show it, plan a change, and apply the change."""
        from mycel.migration.schema_api import SchemaApi  # noqa: PLC0415 - as above

        return SchemaApi(
            self._store, lambda: self.actor, lambda: self.message, self.embeddings.check_schema
        )

    @cached_property
    def queries(self) -> NamedQueries:
        """The named queries of the graph: add, check and run them."""
        from mycel.queries.named_queries import NamedQueries  # noqa: PLC0415 - as above

        return NamedQueries(
            self._store, lambda: self.engine, self._defaults, lambda: self.schema.catalog
        )

    @cached_property
    def embeddings(self) -> Embeddings:
        """The vectors of search by meaning: their state, the choice of an embedder, a rebuild."""
        from mycel.search.index.embeddings import Embeddings  # noqa: PLC0415 - as above

        return Embeddings(self._store, self._search_index)

    @cached_property
    def branches(self) -> Branches:
        """The branches of the graph: copies in files beside it, each with a history of its own."""
        return Branches(self._store)

    @cached_property
    def saved_views(self) -> SavedViews:
        """Views of the graph under names, for people: no part of its knowledge or history."""
        return SavedViews(self._store, lambda: self.actor)

    @property
    def branch(self) -> str:
        """The name of the branch that is open; main is the graph itself."""
        return self.branches.open

    @cached_property
    def history(self) -> History:
        """The log, versions of elements, differences, tags, rollback and revert."""
        return History(self._store, self._defaults, self.branches)

    @cached_property
    def merges(self) -> Merges:
        """Open merges with their conflicts and resolutions, and the choices of finished merges."""
        return Merges(self._store, self._defaults, self.branches)

    @cached_property
    def submissions(self) -> Submissions:
        """Submissions: changes to an earlier state, committed once under a key, or proposed."""
        from mycel.history.submissions import Submissions  # noqa: PLC0415 - not every use submits

        return Submissions(self._store, self._defaults, self.branches, self._full_store)

    @cached_property
    def proposals(self) -> Proposals:
        """Proposals: changes that wait until somebody accepts or rejects them."""
        from mycel.history.proposals import Proposals  # noqa: PLC0415 - as above

        return Proposals(self._store, self._defaults, self.branches, self._full_store)

    @property
    def path(self) -> str:
        return self._store.path

    @property
    def has_written(self) -> bool:
        """True once a transaction through this object has changed something."""
        return self._store.has_written

    def close(self) -> None:
        """Close the graph. Closing twice does no harm."""
        self._adjacency.stop()
        self._search_index.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<mycel.Graph {self.path!r}>"

    # The language.

    def execute(
        self,
        command: str,
        parameters: Mapping[str, Any] | None = None,
        /,
        *,
        readonly: bool = False,
        dry_run: bool = False,
        message: str = "",
        **keywords: Any,
    ) -> Result:
        """Run one KIP command; `:name` in it is the parameter of that name.

        Parameters are values and never become text of the command. With `readonly`, a command that
        writes is refused; with `dry_run`, it is checked and nothing is written. The `message` is
        kept in the journal. A parameter of KIP with one of these names has to be in the dictionary.

        Raises:
            MycelError: with a code, the cause and the next step. Nothing was written then.
        """
        if keywords:
            parameters = {**(parameters or {}), **keywords}
        return self.engine.execute(
            command, parameters, readonly=readonly, dry_run=dry_run, message=message
        )

    def explain(
        self,
        command: str,
        parameters: Mapping[str, Any] | None = None,
        /,
        *,
        analyze: bool = False,
        **keywords: Any,
    ) -> dict[str, Any]:
        """Every stage of a command: its canonical text, the plan, each rewrite, the SQL.

        With `analyze` the command runs, writes included. Without it nothing runs.
        """
        payload: dict[str, Any] = self.execute(
            f"EXPLAIN {'ANALYZE ' if analyze else ''}{command}", parameters, **keywords
        ).value
        return payload

    def request(self, request: Mapping[str, Any], *, readonly: bool = False) -> dict[str, Any]:
        """Answer a request of KIP §6: `command` or `commands`, `parameters`, `dry_run`, `message`.

        Errors of the request are part of the answer, and are not raised. With `readonly`, commands
        that write are refused before anything runs.
        """
        from mycel.service.envelope import plain, respond  # noqa: PLC0415 - as above

        return plain(respond(self.engine, request, readonly=readonly))

    def apply_capsule(
        self,
        capsule: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        readonly: bool = False,
        dry_run: bool = False,
        message: str = "",
    ) -> Result:
        """Run a capsule (a text of `UPSERT` statements) as `execute` does.

        A capsule has at most 64 MiB, and no deadline.

        Raises:
            InvalidSyntax: the text is no capsule.
        """
        return self.engine.apply_capsule(
            capsule, parameters, readonly=readonly, dry_run=dry_run, message=message
        )

    # Reading.

    def reading(self, *, words: bool = False) -> AbstractContextManager[Reader]:
        """A reader of the store that shows one moment, for the layers above this one.

        With `words`, recent writes are first added to the text index, as for `search`.
        """
        return self._searching() if words else self._store.reading()

    @contextmanager
    def _searching(self) -> Iterator[Reader]:
        from mycel.search.search import fold_text  # noqa: PLC0415 - as above

        fold_text(self._store)
        with self._store.reading() as reader:
            yield reader
        self._search_index.save()

    def listen(self, wake: Callable[[], None]) -> Listening | None:
        """Call `wake` in a thread at each commit, for the layers above (`Backend.listen`)."""
        return self._store.location.listen(wake)

    # Writing.

    def be_part_of(self, graph: Graph) -> None:
        """Send proposals to another graph, because this one is a copy of a part of it."""
        self._full_store = graph._store

    def follow_in(self, work: Callable[[Store], Written]) -> Written:
        """Have a layer above append entries of another copy of this graph."""
        return work(self._store)

    @property
    def actor(self) -> str:
        """The default actor of writes: the actor of the graph, with the program that it serves."""
        return self._defaults.actor

    @actor.setter
    def actor(self, actor: str) -> None:
        self._defaults.actor = actor

    @property
    def message(self) -> str:
        """The default message of transactions; without it, the journal keeps a count of changes."""
        return self._defaults.message

    @message.setter
    def message(self, message: str) -> None:
        self._defaults.message = message

    def _who(self, actor: str | None) -> str:
        return self._defaults.actor_or(actor)

    def _why(self, message: str) -> str:
        return self._defaults.message_or(message)

    def transaction(
        self, *, actor: str | None = None, message: str = ""
    ) -> AbstractContextManager[Transaction]:
        """Begin a transaction for your own code: `with db.transaction() as tx`.

        It is committed at the end of the block, and rolled back if the block raises. Without a
        `message`, the journal keeps a count of the changes: `add 2 Person; link 1 knows`.
        """
        return self._store.transaction(actor=self._who(actor), message=self._why(message))

    def write(
        self, work: Callable[[Transaction], Written], *, actor: str | None = None, message: str = ""
    ) -> Written:
        """Run a short function as one transaction; return its result once the writes are durable.

        Functions that several threads run at once share one commit.
        """
        return self._store.run(work, actor=self._who(actor), message=self._why(message))

    def add_edge(
        self,
        src: Ref,
        predicate: str,
        dst: Ref,
        *,
        weight: float = DEFAULT_WEIGHT,
        data: Mapping[str, Any] | bytes | None = None,
        created_by: str | None = None,
        message: str = "",
    ) -> str:
        """Add an edge and return its id. A live edge is not changed; a removed edge is revived.

        `data` becomes the link's attributes: an object, or the canonical CBOR of one.

        Raises:
            TypeMismatch: the predicate is not defined.
            SelfEdgeError: both ends are the same.
            InvalidId, NotFound: an end is no id, or does not exist.
        """
        content = edge_data(data)
        return self.write(
            lambda tx: tx.add_edge(src, predicate, dst, weight=weight, data=content),
            actor=created_by,
            message=message,
        )

    def remove_edge(
        self,
        src: Ref,
        predicate: str,
        dst: Ref,
        *,
        reason: str = "",
        by: str | None = None,
        message: str = "",
    ) -> bool:
        """Remove an edge. If there is no live edge, returns False and journals nothing."""
        return self.write(
            lambda tx: tx.remove_edge(src, predicate, dst, reason=reason), actor=by, message=message
        )

    def purge(self, ref: Ref, reason: str, *, by: str | None = None, message: str = "") -> Purged:
        """Forget an element for good, with every link that ever touched it.

        Its content is removed from the live state, the history, the journal and the text index.
        Hashes stay, so that the log still verifies; a record of the actor and the reason stays too.
        The file is then rewritten: check `scrubbed`, and call `scrub()` later if it is False.

        Raises:
            NotFound: there never was such an element, or it was purged before.
            ImmutableTarget, ConstraintViolation: the element defines a type or predicate in use.
        """
        with self.transaction(actor=by, message=self._why(message) or "purge") as tx:
            purged = purging.purge(tx, ref, reason)
        return purged._replace(scrubbed=self._store.scrub())

    def sleep(self, *, dry_run: bool = False, minutes: float | None = None) -> CycleReport:
        """Run one cycle of upkeep as `$system`: apply certain rules, and ask about the rest.

        Elements that are due are archived, deleted or purged as their retention says. Certain
        duplicates are merged. Other duplicates, and contradictions, become SleepTasks. Other
        writers get their turn in between. After `minutes` the cycle stops and reports the rest.

        Raises:
            DatabaseBusy: another cycle is running.
        """
        from mycel.upkeep import Cycle  # noqa: PLC0415 - not every process sleeps

        seconds = None if minutes is None else minutes * 60
        return Cycle(
            self._store, dry_run=dry_run, seconds=seconds, derive=self._search_index.derive_pending
        ).run()

    @property
    def use_counts(self) -> UseCounts:
        """Counts of reads of each element; counting writes nothing to the graph."""
        return self._store.use_counts

    def uses(self, ref: Ref) -> Use | None:
        """The count of reads of an element, and the time of the last read; None without a read."""
        with self._store.reading() as reader:
            return self._store.use_counts.uses().get(reader.number(ref))

    def sleep_on(self, schedule: Schedule) -> Sleeper:
        """Run cycles in a thread, at the times of the schedule, until the result is closed."""
        from mycel.upkeep.schedule import Sleeper  # noqa: PLC0415 - as above

        return Sleeper(self._store, schedule, derive=self._search_index.derive_pending)

    @property
    def upkeep(self) -> UpkeepApi:
        """Archive, restore and supersede elements, set rules of retention, and show health."""
        from mycel.upkeep.upkeep_api import UpkeepApi  # noqa: PLC0415 - as above

        return UpkeepApi(self._store, self.write)

    @property
    def tasks(self) -> Tasks:
        """The SleepTasks that wait: the next one with its context, and decisions."""
        from mycel.upkeep.tasks_api import Tasks  # noqa: PLC0415 - as above

        return Tasks(self._store, self.write)

    def scrub(
        self,
        before: Moment | None = None,
        reason: str = "",
        *,
        dry_run: bool = False,
        by: str | None = None,
        message: str = "",
    ) -> Scrubbed:
        """Forget for good what was removed, superseded or hidden before a moment.

        The state at the moment and all later states stay as they are; earlier states are no longer
        available. The log still verifies, as after a purge. With `dry_run`, only count. Without a
        moment, only rewrite the file, which removes traces that a purge left.

        Raises:
            ConstraintViolation, DatabaseReadOnly: no such moment, no reason, or not the owner.
        """
        if not dry_run:
            self._store.check_may_scrub()
        if before is None:
            return Scrubbed(scrubbed=not dry_run and self._store.scrub())
        with self._store.reading() as reader:
            expected = scrubbing.expected(reader, before)
        hidden = [part for part in self.schema.hidden() if part.seq < expected.until]
        names = tuple(part.name for part in hidden)
        if dry_run:
            return expected._replace(hidden=names)
        purging.check_reason(reason)
        if hidden:
            self.schema.discard(*(f"{part.kind}:{part.name}" for part in hidden), actor=by)
        with self.transaction(actor=by, message=self._why(message) or "scrub") as tx:
            outcome = scrubbing.scrub(tx, expected.until, reason)
        return outcome._replace(hidden=names, scrubbed=self._store.scrub())

    # Rows in and out.

    def load(
        self,
        source: Any,
        *,
        format: Format | None = None,  # noqa: A002 - the word for it
        type: str | None = None,  # noqa: A002
        mode: Mode = "append",
        delimiter: str | None = None,
        progress: Callable[[Progress], object] | None = None,
        actor: str | None = None,
        message: str = "",
    ) -> Loaded:
        """Load rows as one transaction: all of them, or none.

        `source` is a path, a list of them, a folder that `export` wrote, an open file,
        dictionaries, or a table of pyarrow or pandas. Each row of JSON Lines names its type. For
        other sources `type` names it, or else the name of the file. `mode` says what happens to
        rows that exist: "append" refuses them, "merge" updates them, "overwrite" replaces them and
        removes others of the loaded types. A warning reports vectors that the embedder cannot make.

        Raises:
            MycelError: the error names the file, the line, the type, the property and the value.
        """
        from mycel.migration.schema_in_force import read  # noqa: PLC0415 - as above
        from mycel.transfer.load import load  # noqa: PLC0415 - as above

        loaded = load(
            self._store,
            source,
            read_catalog=read,
            actor=self._who(actor),
            message=self._why(message),
            format=format,
            type=type,
            mode=mode,
            delimiter=delimiter,
            progress=progress,
        )
        misfits = self.embeddings.misfits(self.schema.catalog)
        return replace(loaded, warnings=(*loaded.warnings, *misfits)) if misfits else loaded

    # History.

    def as_of(self, moment: Moment) -> GraphView:
        """The graph as it was: at a commit, a tag, a time, or after entry `seq`."""
        with self._store.reading() as reader:
            state = state_at(reader, moment)
        return GraphView(self._store, state, timeout_s=self._timeout_s)

    # Branches and merges.

    def open_branch(self, name: str) -> Graph:
        """Open another branch of the graph, with the options of this one. The caller closes it.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
            NotADatabase, FormatTooNew, DatabaseError: the branch cannot be opened.
        """
        place = branch_place(self._store.path, name)
        if self._reopen is None:
            raise InternalError("The graph was not opened by a path.", hint="Use mycel.open().")
        return self._reopen(place, self._store.location.readonly or not may_write(place))

    def merge(
        self,
        source: str,
        *,
        into: str | None = None,
        policy: str | Mapping[str, str] | None = None,
        trust: Sequence[str] | None = None,
        granularity: Literal["key", "element"] = "key",
        restore_purged: bool = False,
        dry_run: bool = False,
        by: str | None = None,
        message: str = "",
    ) -> Merge:
        """Merge another branch into the one that is open, or `into` a third one.

        The two are compared with their common ancestor, element by element and key by key. Without
        conflicts, the merge is one commit. Otherwise nothing is written, and the merge stays open.
        It ends when every conflict is resolved (`merges.resolve`) and it is committed
        (`merges.commit`), or when it is aborted (`merges.abort`).

        `source` is the name of a branch, or `branch:moment`. `policy` decides about contested
        values: "ours", "theirs", "newest" or "ask" for all, or a mapping such as
        `{"Person.age": "max", "*": "ask"}`. `trust` names actors, the most trusted first. With the
        granularity "element", an element that both sides have changed is one conflict.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch, or no such commit.
            ConstraintViolation: an option is wrong, or the common ancestor was scrubbed.
        """
        if into is not None and into != self.branch:
            with self.open_branch(into) as target:
                return target.merge(
                    source,
                    policy=policy,
                    trust=trust,
                    granularity=granularity,
                    restore_purged=restore_purged,
                    dry_run=dry_run,
                    by=self._who(by),
                    message=self._why(message),
                )
        name, _, moment = str(source).partition(":")
        with self.branches.reading(name) as reader:
            seq = entry_at(reader, moment) if moment else reader.head().seq
            commit = commits.commit_at(reader, seq)
        options = policy, trust, granularity, restore_purged
        return self.merges.merge_commit(name, commit, options, None, by, message, dry_run=dry_run)

    # Proofs, checks and copies.

    def backup(
        self, target: str | os.PathLike[str], *, force: bool = False, full: bool = False
    ) -> list[Backup]:
        """Copy the branch that is open to a file, or all branches into a folder, and verify it.

        A folder that does not exist is made if its path ends with a slash. Others may write
        meanwhile. An older backup is replaced when the new one has been verified; one that is up to
        date is only verified. If the older backup was verified, only the
        differences are verified, unless `full`. `mycel.restore` is the way back.

        Raises:
            ConstraintViolation: an existing file is no earlier state of the graph, and `force` is
                False; the graph is in memory, or this thread is in a transaction.
            NotADatabase, DatabaseCorrupt: an existing file is no graph, or the copy is damaged.
            DatabaseBusy, DatabaseReadOnly, DiskFull, DatabaseError: the copy cannot be made.
        """
        from mycel.history.backups import back_up  # noqa: PLC0415 - verification is large

        return back_up(self._store, target, force=force, full=full)

    def check_in_place(self) -> None:
        """Check that the file of the graph is still found at its path, as every write does.

        Raises:
            DatabaseError: the file is gone, or another one is in its place.
        """
        self._store.check_in_place()

    def snapshot(self) -> Snapshot:
        """All roots of this moment."""
        return self._store.snapshot()

    def prove(self, target: Ref) -> StateProof:
        """Prove that an element is part of the state, or that there is none with this identity.

        An element that was removed is proven by its tombstone. Absence is proven for types and
        predicates that were never defined as well, and for edges between (type, name) pairs.

        Raises:
            NotFound: an id that no element ever had (prove absence by identity instead).
            InvalidIdentifier: no type or predicate can have this name.
        """
        with self._store.reading() as reader:
            return proofs.prove(reader, target)

    def prove_entry(self, seq: int) -> EntryProof:
        """Prove that an entry, or a transaction, is in the journal at its position."""
        with self._store.reading() as reader:
            check_whole("seq", seq)
            return proofs.prove_entry(reader, seq)

    def prove_consistency(self, old_entries: int) -> ConsistencyProof:
        """Prove that an earlier journal is the beginning of the present one."""
        with self._store.reading() as reader:
            check_whole("old_entries", old_entries)
            return proofs.prove_consistency(reader, old_entries)

    def verify(self, *, replay: bool = False) -> Report:
        """Check everything against everything; with `replay`, rebuild all from the journal too."""
        from mycel.store.check.verify import verify  # noqa: PLC0415 - as above

        return verify(self._store, replay=replay)

    # Words.

    def search(
        self,
        question: str,
        *,
        limit: int = 10,
        element: Literal["CONCEPT", "PROPOSITION"] | None = None,
        type: str | Sequence[str] | None = None,  # noqa: A002 - the word for it
        threshold: float = 0.0,
        mode: SearchMode = HYBRID,
        **filters: Unpack[Filters],
    ) -> list[tuple[Element, float]]:
        """Elements that fit a question, best first, each with its score from 0 to 1.

        The mode "hybrid" uses names, words, meaning and links, "keyword" names and words,
        "semantic" meaning alone. Definitions and core concepts are returned if `type` names their
        type, or if nothing else fits. If the embedder fails, the answer is made without it, with a
        RuntimeWarning. `element` is concepts or links only; `type` is a type of concepts, or a
        predicate of links, or several of them. `kind` is "notes" (what somebody wrote), "code"
        (what a bootstrap read) or "any": then notes come first, each kind best first, unless the
        question asks for code. Other filters: `path`, `workspace`, `actor`, `since`, `until`,
        `metadata`, `near` and `as_of`, a moment that is searched by names and words.

        Raises:
            TypeMismatch: the type or predicate is not defined.
            ConstraintViolation: there is no such kind or mode.
            InvalidValueType, InvalidSyntax: a filter does not take its value.
            NotFound: the element of `near` does not exist.
        """
        with self.reading(words=True) as reader:
            hits = self.hits_in(
                reader,
                question,
                limit=limit,
                element=element,
                type=type,
                threshold=threshold,
                mode=mode,
                **filters,
            )
        return [(hit.element, hit.score) for hit in hits]

    def mentions_in(self, reader: Reader, number: int, limit: int) -> list[int]:
        """Concepts that the text of a concept names; mentions are derived, and are no links."""
        from mycel.search.index.mentions import mentioned  # noqa: PLC0415 - it brings numpy

        return mentioned(reader, self._search_index, number, limit)

    def unlinked_mentions_in(self, reader: Reader, limit: int) -> list[tuple[int, int]]:
        """Concepts that mention others to which they have no link, the newest first."""
        from mycel.search.index.mentions import unlinked  # noqa: PLC0415 - as above

        return unlinked(reader, self._search_index, limit)

    def hits_in(
        self,
        reader: Reader,
        question: str,
        *,
        limit: int = 10,
        element: Literal["CONCEPT", "PROPOSITION"] | None = None,
        type: str | Sequence[str] | None = None,  # noqa: A002 - the word for it
        threshold: float = 0.0,
        mode: SearchMode = HYBRID,
        warnings: list[str] | None = None,
        **filters: Unpack[Filters],
    ) -> list[ElementHit]:
        """`search` at the moment that a reader shows, with reasons.

        Warnings go to the list `warnings`; without it, they are issued as `RuntimeWarning`.
        """
        check_whole("limit", limit)
        if limit < 1:
            raise ConstraintViolation(f"limit is {limit}; it must be at least 1.")
        if not isinstance(question, str):
            raise InvalidValueType(f"A question must be a text, not {kind_of(question)}.")
        if element not in (None, "CONCEPT", "PROPOSITION"):
            raise ConstraintViolation(
                f"A search finds CONCEPT, PROPOSITION or None (both), not {shorten(repr(element))}."
            )
        from mycel.search.modes import check_mode  # noqa: PLC0415 - as above
        from mycel.search.search import find  # noqa: PLC0415 - as above

        types = None
        if type is not None:
            element = element or "CONCEPT"
            names = (type,) if isinstance(type, str) else tuple(type)
            number = reader.type_number if element == "CONCEPT" else reader.predicate_number
            types = [number(name) for name in names] or None
        most = min(limit, FIND_LIMIT_MAX)
        own_warnings: list[str] = []
        hits = find(
            reader,
            question,
            element,
            types=types,
            limit=most,
            threshold=threshold,
            mode=check_mode(mode),
            index=self._search_index,
            warnings=own_warnings,
            filters=filters,
        )
        if warnings is not None:
            warnings += own_warnings
        else:
            for warning in own_warnings:
                warn(warning, RuntimeWarning, stacklevel=3)
        return hits
