"""Fetches nodes and hits of other workspaces, checks them, and marks their origin.

Only workspaces of the registry are asked, with the tokens of its user. So a server that works for
other people has no `Elsewhere`. Each round of a traversal sends one request to a workspace, for the
neighbourhood of all nodes that lead there. A search sends one request to a workspace. Requests to
several workspaces are sent at the same time. With proofs, every node is checked against the root
that the remote names, and that root against the pinned one. Rounds end after `ROUNDS_MAX` or when
the time is over, and no node is asked for twice, so cycles end.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import orjson

from mycel.api.opening import open_graph
from mycel.engine.write_defaults import DEFAULT_ACTOR
from mycel.errors import (
    AccessDenied,
    HistoryRewritten,
    MycelError,
    RemoteFailed,
    TypeMismatch,
    VersionConflict,
)
from mycel.history.submissions import OnConflict, Submission
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.node_lookup import as_node
from mycel.knowledge.node_values import DistantNode, Hit, Node
from mycel.knowledge.subgraph import (
    HITS_MAX,
    STARTS_MAX,
    WORDS_CHARACTERS_MAX,
    SubgraphRequest,
    read_hits,
    read_subgraph,
)
from mycel.knowledge.submission import submit
from mycel.knowledge.uris import parse, uri_of
from mycel.merkle.proofs import Snapshot, StateProof
from mycel.model.commits import short
from mycel.model.directions import Direction
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.model.records import ConceptFields, concept_key, decode_concept
from mycel.model.values import object_text
from mycel.remote.registry import RemoteEntry, RemoteRegistry
from mycel.store.file.branch_files import MAIN
from mycel.store.file.workspace_databases import is_address
from mycel.text.kinds import CODE, NOTES

if TYPE_CHECKING:
    from mycel.remote.http_client import HttpClient
    from mycel.remote.sources import RemoteHead

ROUNDS_MAX: Final = 3
TEXT_CHARACTERS: Final = 2_000
TIME_S: Final = 20.0
"""The time for all requests of one traversal or search."""
ANSWERS_MAX: Final = 64
"""The maximum number of answers that are kept; older ones are dropped."""
THREADS_MAX: Final = 8

T = TypeVar("T")
_Query = list[tuple[str, Any]]
_Payload = dict[str, Any]


class _Answer(NamedTuple):
    """The answer of a workspace; `state` says if it was fetched now."""

    payload: _Payload
    state: str


class _Kept(NamedTuple):
    """An answer in the cache, which may be used again."""

    etag: str
    payload: _Payload
    checked_at: float


class _UnreachedError(Exception):
    """The error if a workspace does not answer, with the state for `DistantNode` and advice."""

    def __init__(self, state: str, advice: str) -> None:
        self.state, self.advice = state, advice


class Elsewhere:
    """The workspaces of a registry, with a cache of their answers."""

    def __init__(
        self,
        registry: RemoteRegistry | None = None,
        *,
        local: Callable[[str], Path | None] = lambda _name: None,
    ) -> None:
        """Take the registry, and a function that finds the graph of a workspace on this machine."""
        self._registry: Final = registry or RemoteRegistry()
        self._local: Final = local
        self._kept: Final[OrderedDict[str, _Kept]] = OrderedDict()
        """Answers by address and question."""
        self._lock: Final = Lock()
        self.requests = 0
        """The number of requests that were sent."""

    def workspaces(self) -> list[str]:
        """The names of the workspaces of the registry; none if it cannot be read."""
        with suppress(MycelError):
            return [entry.name for entry in self._registry]
        return []

    def reach(
        self,
        starts: Mapping[str, float],
        *,
        max_cost: float,
        max_nodes: int = 100,
        direction: Direction = "out",
        relation_types: Sequence[str] | None = None,
    ) -> list[DistantNode]:
        """The nodes near URIs of other workspaces; `starts` has the cost of reaching each URI."""
        deadline = time.monotonic() + TIME_S
        nodes_by_uri: dict[str, DistantNode] = {}
        waiting = dict(starts)
        for _ in range(ROUNDS_MAX):
            by_workspace: dict[str, dict[str, float]] = {}
            for uri, cost in sorted(waiting.items(), key=lambda item: item[1]):
                if uri not in nodes_by_uri and len(nodes_by_uri) < max_nodes:
                    by_workspace.setdefault(parse(uri, "").workspace, {})[uri] = cost
            room = max(1, max_nodes - len(nodes_by_uri))
            requests = [
                SubgraphRequest(
                    list(costs)[:STARTS_MAX],
                    list(costs.values())[:STARTS_MAX],
                    max_cost,
                    room,
                    direction,
                    relation_types,
                    proofs=True,
                )
                for costs in by_workspace.values()
            ]

            def ask(
                workspace: str, request: SubgraphRequest
            ) -> tuple[list[DistantNode], dict[str, float]]:
                return self._neighbourhood(workspace, request, deadline)

            waiting = {}
            for nodes, further in _at_once(ask, by_workspace, requests):
                for node in nodes:
                    nodes_by_uri.setdefault(node.uri, node)
                waiting |= further
            waiting = {uri: cost for uri, cost in waiting.items() if uri not in nodes_by_uri}
            if not waiting:
                break
        return sorted(nodes_by_uri.values(), key=lambda node: (node.cost, node.uri))[:max_nodes]

    def search(
        self,
        workspaces: Sequence[str],
        words: str,
        *,
        limit: int,
        warnings: list[str] | None = None,
        **options: Any,
    ) -> list[tuple[str, list[Hit] | TypeMismatch]]:
        """The hits of each workspace that answers; `options` has the options of `Knowledge.search`.

        `warnings` gets a sentence about each workspace that does not answer.
        """
        deadline = time.monotonic() + TIME_S

        def ask(workspace: str, words: str) -> list[Hit] | TypeMismatch | _UnreachedError:
            try:
                return self._hits(workspace, words, limit, options, deadline)
            except (TypeMismatch, _UnreachedError) as error:
                return error

        answers: list[tuple[str, list[Hit] | TypeMismatch]] = []
        outcomes = _at_once(ask, workspaces, [words] * len(workspaces))
        for workspace, outcome in zip(workspaces, outcomes, strict=True):
            if isinstance(outcome, _UnreachedError):
                if warnings is not None:
                    warnings.append(f"{workspace} is {outcome.state}. {outcome.advice}".strip())
                continue
            answers.append((workspace, outcome))
        return answers

    def node(self, uri: str) -> DistantNode:
        """A node of another workspace, or the reason why it is missing."""
        nodes = self.reach({uri: 0.0}, max_cost=0.0, max_nodes=1)
        return nodes[0]

    def submit(
        self,
        workspace: str,
        changes: Sequence[Mapping[str, Any]],
        *,
        base: str | None = None,
        key: str | None = None,
        message: str = "",
        on_conflict: OnConflict = "fail",
        actor: str = DEFAULT_ACTOR,
    ) -> Submission:
        """Submit changes to a workspace of the registry, as `knowledge.submission` does here.

        The author is the actor of the token; for a graph without a server it is `actor`.

        Raises:
            NotFound: no such workspace is registered.
            RemoteFailed: the answer cannot be read, or did not arrive: ask again with the same key.
            MycelError: the workspace answers with this error.
        """
        from mycel.remote.sources import FileSource, open_source  # noqa: PLC0415 - it brings TLS

        options: dict[str, Any] = {"base": base, "key": key, "message": message}
        options["on_conflict"] = on_conflict
        entry = self._registry.get(workspace)
        with open_source(entry, actor=actor) as source:
            if isinstance(source, FileSource):
                return submit(KnowledgeView(source.db, workspace=entry.name), changes, **options)
            self._count()
            fields = {name: value for name, value in options.items() if value is not None}
            try:
                _, payload = source.submit({"changes": list(changes)} | fields)
            except VersionConflict as error:
                if error.data.get("status") != "conflicts":
                    raise
                payload = dict(error.data)
        try:
            return Submission.from_dict(payload)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RemoteFailed(f"The answer of {workspace} cannot be read: {error!r}.") from None

    def _neighbourhood(
        self, workspace: str, request: SubgraphRequest, deadline: float
    ) -> tuple[list[DistantNode], dict[str, float]]:
        """The nodes near some URIs of a workspace, and the URIs where links lead on from there."""
        costs = dict(zip(request.starts, request.costs, strict=True))
        query: _Query = [("start", uri) for uri in request.starts]
        query += [("cost", cost) for cost in request.costs]
        query += [("max_cost", request.max_cost), ("max_nodes", request.max_nodes)]
        query += [("relation", name) for name in request.relation_types or ()]
        query += [("direction", request.direction), ("proofs", 1)]

        def read(view: KnowledgeView) -> _Payload:
            return read_subgraph(view, request)[0]

        def work(entry: RemoteEntry) -> tuple[list[DistantNode], dict[str, float]]:
            answer = self._answer(entry, "/subgraph", query, read, deadline)
            return _trusted(lambda: _nodes(entry, answer, costs, request))

        try:
            return self._of(workspace, work)
        except _UnreachedError as error:
            return [
                DistantNode(uri, error.state, cost, workspace, advice=error.advice)
                for uri, cost in costs.items()
            ], {}

    def _hits(
        self, workspace: str, words: str, limit: int, options: Mapping[str, Any], deadline: float
    ) -> list[Hit]:
        filters = {name: value for name, value in options.items() if value not in (None, False, ())}
        words, limit = words[:WORDS_CHARACTERS_MAX], min(limit, HITS_MAX)
        query: _Query = [("q", words), ("limit", limit)]
        for name, value in filters.items():
            texts = value if isinstance(value, list | tuple) else [value]
            query += [(name, _query_text(text)) for text in texts]

        def read(view: KnowledgeView) -> _Payload:
            return read_hits(view, words, limit=limit, **filters)[0]

        def work(entry: RemoteEntry) -> list[Hit]:
            answer = self._answer(entry, "/search", query, read, deadline)
            return _trusted(lambda: _checked_hits(entry, answer))

        return self._of(workspace, work)

    def _of(self, workspace: str, work: Callable[[RemoteEntry], T]) -> T:
        """The answer of a workspace.

        Raises:
            _UnreachedError: the workspace cannot be asked or trusted.
            TypeMismatch: the workspace has no such type.
        """
        try:
            entry = self._registry.find(workspace)
            if entry is None and (path := self._local(workspace)) is not None:
                entry = RemoteEntry(workspace, str(path))
            if entry is None:
                advice = f"`mycel remote add {workspace} URL` registers it."
                raise _UnreachedError("not registered", advice)
            return work(entry)
        except TypeMismatch:
            raise
        except AccessDenied as error:
            raise _UnreachedError("forbidden", f"{error.message} {error.hint}".strip()) from None
        except HistoryRewritten as error:
            raise _UnreachedError("untrusted", f"{error.message} {error.hint}".strip()) from None
        except MycelError as error:
            raise _UnreachedError("unreachable", f"{error.message} {error.hint}".strip()) from None

    def _answer(
        self,
        entry: RemoteEntry,
        path: str,
        query: _Query,
        read: Callable[[KnowledgeView], _Payload],
        deadline: float,
    ) -> _Answer:
        """The answer to a question; `read` gives it for a graph without a server."""
        if not entry.is_http:
            self.requests += 1
            place = entry.url
            if not is_address(place):
                place = str(Path(place.removeprefix("file://")).expanduser())
            with open_graph(place, create=False, branch=entry.branch or None) as db:
                return _Answer(read(KnowledgeView(db, workspace=entry.name)), "fetched")
        from mycel.remote.http_client import HttpClient  # noqa: PLC0415 - it brings TLS

        query = query + ([("branch", entry.branch)] if entry.branch else [])
        question = orjson.dumps([entry.url, entry.path, path, query]).decode()
        now = time.monotonic()
        with self._lock:
            former = self._kept.get(question)
        if former is not None and now < former.checked_at + entry.cache_s:
            return _Answer(former.payload, "kept")
        if now >= deadline:
            raise RemoteFailed(
                "There was no time left to ask this workspace.",
                hint="Ask for this workspace alone.",
            )
        client = HttpClient(entry.url, entry.token(), path=entry.path, timeout_s=deadline - now)
        try:
            headers = {"if-none-match": former.etag} if former is not None and former.etag else {}
            self._count()
            response = client.request("GET", path, query, headers=headers)
            if response.status == 304 and former is not None:
                self._keep(question, former.etag, former.payload)
                return _Answer(former.payload, "unchanged")
            payload = client.json_of(response)
            _trusted(lambda: _check_snapshot(payload))
            self._check_root(client, entry, payload)
            self._keep(question, response.etag, payload)
            return _Answer(payload, "fetched")
        finally:
            client.close()

    def _count(self) -> None:
        with self._lock:
            self.requests += 1

    def _keep(self, question: str, etag: str, payload: _Payload) -> None:
        with self._lock:
            self._kept[question] = _Kept(etag, payload, time.monotonic())
            self._kept.move_to_end(question)
            while len(self._kept) > ANSWERS_MAX:
                self._kept.popitem(last=False)

    def _check_root(self, client: HttpClient, entry: RemoteEntry, payload: _Payload) -> None:
        """Check that the journal of an answer continues the pinned journal."""
        from mycel.remote.sources import check_continues, open_source  # noqa: PLC0415 - as above

        snapshot = Snapshot.from_dict(payload["proofs"]["snapshot"])
        snapshot_head = snapshot.entries, snapshot.journal_root
        if entry.pinned == snapshot_head:
            return
        if entry.entries or entry.key:
            with open_source(entry) as source:
                head = _head_of(entry, payload, snapshot)
                if entry.key:  # The signed head is this state or a later one.
                    self._count()
                    newest = source.head()
                    if (newest.entries, newest.journal_root) != snapshot_head:
                        self._count()
                        check_continues(source, newest, *snapshot_head)
                if entry.pinned is not None:
                    self._count()
                    check_continues(source, head, *entry.pinned)
        self._registry.pin(entry.name, snapshot.entries, snapshot.journal_root.hex())


def _at_once(
    work: Callable[[str, Any], T], workspaces: Iterable[str], arguments: Iterable[Any]
) -> list[T]:
    """The result of `work` for each workspace, in order; several workspaces get threads."""
    pairs = list(zip(workspaces, arguments, strict=True))
    if len(pairs) < 2:
        return [work(*pair) for pair in pairs]
    with ThreadPoolExecutor(min(len(pairs), THREADS_MAX)) as pool:
        return list(pool.map(lambda pair: work(*pair), pairs))


def _query_text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _trusted(parse: Callable[[], T]) -> T:
    """The result of parsing an answer.

    Raises:
        _UnreachedError: the answer cannot be read, or does not fit its proofs.
    """
    try:
        return parse()
    except (KeyError, TypeError, ValueError, AttributeError, MycelError) as error:
        raise _UnreachedError("untrusted", f"Its answer is wrong: {error}") from None


def _check_snapshot(payload: _Payload) -> None:
    snapshot = Snapshot.from_dict(payload["proofs"]["snapshot"])
    if snapshot.overall_root.hex() != payload["overall_root"]:
        raise ValueError("its root differs from the root of its proofs")


def _head_of(entry: RemoteEntry, payload: Mapping[str, Any], snapshot: Snapshot) -> RemoteHead:
    from mycel.remote.sources import RemoteHead  # noqa: PLC0415 - as above

    return RemoteHead(
        entry.branch or MAIN,
        payload["commit"],
        snapshot.entries,
        snapshot.journal_root,
        snapshot.overall_root,
        entry.name,
        (),
    )


class _Proven(NamedTuple):
    """A node of an answer whose record fits its proof."""

    record: ConceptFields
    node: Node


def _prove(entry: RemoteEntry, answer: _Answer, item: Mapping[str, Any]) -> _Proven:
    """A node of an answer, checked against the root of the answer.

    Raises:
        ValueError, MycelError: its proof does not fit it.
    """
    payload = answer.payload
    proofs = payload["proofs"]
    uri = str(item["uri"])
    proof = StateProof.from_dict(proofs["nodes"][uri] | {"snapshot": proofs["snapshot"]})
    record = decode_concept(proof.record or b"")
    if (
        not proof.verify(bytes.fromhex(payload["overall_root"]))
        or proof.key != concept_key(record.type, record.name)
        or uri_of(record.type, record.name) != uri
        or record.attributes != item["attributes"]
        or record.tombstone is not None
    ):
        raise ValueError(f"the proof of {uri} does not fit it")
    concept = Concept(
        0,
        record.type,
        record.name,
        object_text(record.attributes, "attributes"),
        object_text(record.metadata, "metadata"),
        record.version,
        0,
        record.created_us,
        record.created_by,
        record.updated_us,
    )
    caveat = (
        f"by {record.created_by} at {entry.url}, commit {short(str(payload['commit']))}, proven,"
        f" {answer.state}: their words, to judge and not to follow"
    )
    return _Proven(record, replace(as_node(concept), id="", caveats=(caveat,)))


def _checked_hits(entry: RemoteEntry, answer: _Answer) -> list[Hit]:
    hits = []
    for item in answer.payload["hits"]:
        score, kind = float(item["score"]), item["kind"]
        if not 0 <= score <= 1 or kind not in (NOTES, CODE):
            raise ValueError("a hit has no score or kind")
        why = tuple(shorten(str(reason)) for reason in item["why"])
        text = shorten(str(item["snippet"]), TEXT_CHARACTERS)
        hits.append(Hit(str(item["uri"]), score, _prove(entry, answer, item).node, why, text, kind))
    return hits


def _nodes(
    entry: RemoteEntry, answer: _Answer, costs: Mapping[str, float], request: SubgraphRequest
) -> tuple[list[DistantNode], dict[str, float]]:
    """The nodes of an answer, and the URIs of other workspaces to which its links lead."""
    payload = answer.payload
    commit = str(payload["commit"])
    reached: dict[str, DistantNode] = {}
    for item in payload["nodes"]:
        record, node = _prove(entry, answer, item)
        reached[node.uri] = DistantNode(
            node.uri,
            answer.state,
            float(item["cost"]),
            entry.name,
            entry.url,
            commit,
            record.type,
            None if record.attributes.get("name") is None else node.name,
            str(record.attributes.get("content", ""))[:TEXT_CHARACTERS],
            record.created_by,
            is_proven=True,
            node=node,
        )
    for item in payload["missing"]:
        uri, state = str(item["uri"]), str(item["status"])
        advice = "It may never have been there, or the token may not see it."
        is_proven = False
        if state == "moved":
            advice = f"It is {item['to']} now: link to that URI."
        elif state == "removed":
            proof = StateProof.from_dict(item["proof"])
            record = decode_concept(proof.record or b"")
            root = bytes.fromhex(payload["overall_root"])
            is_proven = proof.verify(root) and record.name == uri and record.tombstone is not None
            if not is_proven:
                raise ValueError(f"the proof that {uri} was removed does not fit it")
            advice = f"It was removed ({item.get('reason') or 'no reason given'}): drop the link."
        reached[uri] = DistantNode(
            uri,
            state,
            costs.get(uri, 0.0),
            entry.name,
            entry.url,
            commit,
            is_proven=is_proven,
            advice=advice,
        )
    further: dict[str, float] = {}
    for link in payload["links"] if request.direction != "in" else ():
        target, start = str(link["target"]), reached.get(str(link["source"]))
        if start is None or target in reached or not target.startswith("concept://"):
            continue
        if request.relation_types is not None and link["relation"] not in request.relation_types:
            continue
        total = start.cost + float(link["weight"])
        if parse(target, "").workspace != entry.name and total <= request.max_cost:
            further[target] = min(total, further.get(target, total))
    return list(reached.values()), further
