"""Fetches nodes of other workspaces for a traversal, checks them, and marks their origin.

Only workspaces of the registry are asked, with the tokens of its user. So a server that works for
other people has no `Elsewhere`. Each round sends one request to a workspace, for the neighbourhood
of all nodes that the traversal enters there. If there are proofs, every node is checked against the
root that the remote names, and that root against the pinned one. Rounds end after `ROUNDS_MAX`, and
no node is asked for twice, so cycles end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from mycel.api.opening import open_graph
from mycel.errors import AccessDenied, HistoryRewritten, MycelError, NotFound, RemoteFailed
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.node_values import DistantNode
from mycel.knowledge.subgraph import STARTS_MAX, SubgraphRequest, read_subgraph
from mycel.knowledge.uris import parse, uri_of
from mycel.merkle.proofs import Snapshot, StateProof
from mycel.model.directions import Direction
from mycel.model.records import concept_key, decode_concept
from mycel.remote.registry import RemoteEntry, RemoteRegistry
from mycel.store.file.workspace_databases import is_address

if TYPE_CHECKING:
    from mycel.remote.http_client import HttpClient
    from mycel.remote.sources import RemoteHead

ROUNDS_MAX: Final = 3
TEXT_CHARACTERS: Final = 2_000


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
        self._answers: Final[dict[str, tuple[str, dict[str, Any]]]] = {}
        """Cached ETags and answers, by address and question."""
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
    ) -> list[DistantNode]:
        """The nodes near URIs of other workspaces. `starts` has the cost to reach each URI."""
        nodes_by_uri: dict[str, DistantNode] = {}
        waiting = dict(starts)
        for _ in range(ROUNDS_MAX):
            by_workspace: dict[str, dict[str, float]] = {}
            for uri, cost in sorted(waiting.items(), key=lambda item: item[1]):
                if uri not in nodes_by_uri and len(nodes_by_uri) < max_nodes:
                    by_workspace.setdefault(parse(uri, "").workspace, {})[uri] = cost
            waiting = {}
            for workspace, costs in by_workspace.items():
                batch = dict(list(costs.items())[:STARTS_MAX])
                request = SubgraphRequest(
                    list(batch),
                    list(batch.values()),
                    max_cost,
                    max(1, max_nodes - len(nodes_by_uri)),
                    direction,
                    proofs=True,
                )
                nodes, further = self._ask(workspace, request)
                for node in nodes:
                    nodes_by_uri.setdefault(node.uri, node)
                waiting |= {uri: cost for uri, cost in further.items() if uri not in nodes_by_uri}
            if not waiting:
                break
        return sorted(nodes_by_uri.values(), key=lambda node: (node.cost, node.uri))[:max_nodes]

    def _ask(
        self, workspace: str, request: SubgraphRequest
    ) -> tuple[list[DistantNode], dict[str, float]]:
        costs = dict(zip(request.starts, request.costs, strict=True))
        entry = self._registry.find(workspace)
        if entry is None and (path := self._local(workspace)) is not None:
            entry = RemoteEntry(workspace, str(path))
        if entry is None:
            return _none(
                costs,
                workspace,
                "not registered",
                f"`mycel remote add {workspace} URL` registers it.",
            ), {}
        try:
            payload, is_cached = self._read(entry, request)
        except AccessDenied as error:
            return _none(costs, workspace, "forbidden", error.message), {}
        except (RemoteFailed, NotFound) as error:
            state = "untrusted" if isinstance(error, HistoryRewritten) else "unreachable"
            return _none(costs, workspace, state, f"{error.message} {error.hint}".strip()), {}
        except MycelError as error:
            return _none(costs, workspace, "unreachable", error.message), {}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return _none(costs, workspace, "untrusted", f"Its answer is wrong: {error}"), {}
        try:
            return _nodes(entry, payload, costs, request, is_cached=is_cached)
        except (KeyError, TypeError, ValueError, AttributeError, MycelError) as error:
            return _none(costs, workspace, "untrusted", f"Its answer is wrong: {error}"), {}

    def _read(self, entry: RemoteEntry, request: SubgraphRequest) -> tuple[dict[str, Any], bool]:
        if not entry.is_http:
            self.requests += 1
            place = entry.url
            if not is_address(place):
                place = str(Path(place.removeprefix("file://")).expanduser())
            with open_graph(place, create=False) as db:
                return read_subgraph(KnowledgeView(db, workspace=entry.name), request)[0], False
        from mycel.remote.http_client import HttpClient  # noqa: PLC0415 - it brings TLS

        client = HttpClient(entry.url, entry.token())
        try:
            return self._fetch(client, entry, request)
        finally:
            client.close()

    def _fetch(
        self, client: HttpClient, entry: RemoteEntry, request: SubgraphRequest
    ) -> tuple[dict[str, Any], bool]:
        query: list[tuple[str, Any]] = [("start", uri) for uri in request.starts]
        query += [("cost", cost) for cost in request.costs]
        query += [("max_cost", request.max_cost), ("max_nodes", request.max_nodes)]
        query += [("direction", request.direction), ("proofs", 1)]
        place = f"{entry.url} {orjson.dumps(query).decode()}"
        etag, known = self._answers.get(place, ("", None))
        headers = {"if-none-match": etag} if etag else {}
        self.requests += 1
        response = client.request("GET", "/subgraph", query, headers=headers)
        if response.status == 304 and known is not None:
            return known, True
        payload = client.json_of(response)
        self._check_root(client, entry, payload)
        self._answers[place] = response.etag, payload
        return payload, False

    def _check_root(self, client: HttpClient, entry: RemoteEntry, payload: dict[str, Any]) -> None:
        """Check that the journal of an answer's root continues that of the pinned root."""
        from mycel.remote.sources import check_continues, open_source  # noqa: PLC0415 - as above

        snapshot = Snapshot.from_dict(payload["proofs"]["snapshot"])
        if snapshot.overall_root.hex() != payload["overall_root"]:
            raise RemoteFailed("The root of the answer is not that of its proofs.")
        root = bytes.fromhex(entry.journal_root)
        if entry.entries and (snapshot.entries, snapshot.journal_root) == (entry.entries, root):
            return
        if entry.entries or entry.key:
            with open_source(entry) as source:
                head = _head_of(entry, payload, snapshot)
                if entry.key:  # The signed head is this state or a later one.
                    self.requests += 1
                    newest = source.head()
                    check_continues(source, newest, snapshot.entries, snapshot.journal_root)
                if entry.entries:
                    self.requests += 1
                    check_continues(source, head, entry.entries, root)
        self._registry.pin(entry.name, snapshot.entries, snapshot.journal_root.hex())


def _head_of(entry: RemoteEntry, payload: Mapping[str, Any], snapshot: Snapshot) -> RemoteHead:
    from mycel.remote.sources import RemoteHead  # noqa: PLC0415 - as above

    return RemoteHead(
        "main",
        payload["commit"],
        snapshot.entries,
        snapshot.journal_root,
        snapshot.overall_root,
        entry.name,
        (),
    )


def _nodes(
    entry: RemoteEntry,
    payload: Mapping[str, Any],
    costs: Mapping[str, float],
    request: SubgraphRequest,
    *,
    is_cached: bool,
) -> tuple[list[DistantNode], dict[str, float]]:
    """The nodes of an answer, and the URIs of other workspaces to which its links lead."""
    proofs = payload["proofs"]
    snapshot = proofs["snapshot"]
    root = bytes.fromhex(payload["overall_root"])
    reached: dict[str, DistantNode] = {}
    for item in payload["nodes"]:
        uri, attributes = str(item["uri"]), item["attributes"]
        proof = StateProof.from_dict(proofs["nodes"][uri] | {"snapshot": snapshot})
        record = decode_concept(proof.record or b"")
        if (
            not proof.verify(root)
            or proof.key != concept_key(record.type, record.name)
            or uri_of(record.type, record.name) != uri
            or record.attributes != attributes
        ):
            raise RemoteFailed(f"The proof of {uri} does not fit it.")
        reached[uri] = DistantNode(
            uri,
            "unchanged" if is_cached else "fetched",
            float(item["cost"]),
            entry.name,
            entry.url,
            str(payload["commit"]),
            record.type,
            None if attributes.get("name") is None else str(attributes["name"]),
            str(attributes.get("content", ""))[:TEXT_CHARACTERS],
            record.created_by,
            is_proven=True,
        )
    for item in payload["missing"]:
        uri, state = str(item["uri"]), str(item["status"])
        advice = "It may never have been there, or the token may not see it."
        is_proven = False
        if state == "moved":
            advice = f"It is {item['to']} now: link to that."
        elif state == "removed":
            proof = StateProof.from_dict(item["proof"])
            record = decode_concept(proof.record or b"")
            is_proven = proof.verify(root) and record.name == uri and record.tombstone is not None
            if not is_proven:
                raise RemoteFailed(f"The proof that {uri} was removed does not fit it.")
            advice = f"It was removed ({item.get('reason') or 'no reason given'}): drop the link."
        reached[uri] = DistantNode(
            uri,
            state,
            costs.get(uri, 0.0),
            entry.name,
            entry.url,
            str(payload["commit"]),
            is_proven=is_proven,
            advice=advice,
        )
    further: dict[str, float] = {}
    for link in payload["links"]:
        target, start = str(link["target"]), reached.get(str(link["source"]))
        if start is None or target in reached or not target.startswith("concept://"):
            continue
        total = start.cost + float(link["weight"])
        if parse(target, "").workspace != entry.name and total <= request.max_cost:
            further[target] = min(total, further.get(target, total))
    return list(reached.values()), further


def _none(costs: Mapping[str, float], workspace: str, state: str, advice: str) -> list[DistantNode]:
    return [DistantNode(uri, state, cost, workspace, advice=advice) for uri, cost in costs.items()]
