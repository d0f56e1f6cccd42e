"""Counters of a server, in the text format of Prometheus.

No label comes from a caller: paths are counted by their kind. So there are few series, and none
reveals content of a graph.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final

from mycel.model.values import JsonObject
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

BOUNDS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PATH_KINDS: Final = frozenset(
    (
        *("api", "audit", "branches", "commits", "consistency", "diff", "healthz", "journal"),
        *("kip", "mcp", "merges", "metrics", "openapi.json", "proposals", "purges", "queries"),
        *("refs", "search", "status", "subgraph", "submit", "ui", "ws"),
    )
)
"""The first parts of paths under which requests are counted; others count as one."""

_REFUSALS: Final = frozenset((401, 403, 409, 412, 429))
"""Statuses of refusals: rights, conflicts and limits."""


class CommitCount:
    """Counts the commits of this process, through any door, as the last guard of a transaction."""

    in_bulk = True

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self.number = 0

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """Always False: whole transactions are counted."""
        return False

    def check(self, tx: Transaction, change: Change) -> None:
        """Do nothing: single changes are not counted."""

    def check_commit(self, tx: Transaction) -> None:
        """Count a transaction that is about to be committed."""
        if tx.is_final:
            with self._lock:
                self.number += 1


class RequestMetrics:
    """The counts of one process."""

    def __init__(self, commits: CommitCount) -> None:
        self._commits: Final = commits
        self._lock: Final = threading.Lock()
        self._requests: Final[Counter[tuple[str, str, int]]] = Counter()
        self._buckets: Final[Counter[tuple[str, float]]] = Counter()
        self._seconds: Final[Counter[str]] = Counter()

    def count(self, path_kind: str, method: str, status: int, took_s: float) -> None:
        """Count one request that has ended."""
        path_kind = path_kind if path_kind in PATH_KINDS else "other"
        method = method if method in ("GET", "POST", "DELETE", "HEAD") else "other"
        with self._lock:
            self._requests[path_kind, method, status] += 1
            self._seconds[path_kind] += took_s  # type: ignore[assignment]  # A counter of seconds.
            for bound in BOUNDS_S:
                if took_s <= bound:
                    self._buckets[path_kind, bound] += 1

    def summary(self) -> list[JsonObject]:
        """The requests of each kind of path, most frequent first, with bounds on their times."""
        with self._lock:
            requests, buckets = dict(self._requests), dict(self._buckets)
        totals: Counter[str] = Counter()
        refused: Counter[str] = Counter()
        for (path_kind, _, status), number in requests.items():
            totals[path_kind] += number
            refused[path_kind] += number if status in _REFUSALS else 0

        def within(path_kind: str, share: float) -> float | None:
            """The least time bound that this share of the requests has met."""
            enough = share * totals[path_kind]
            return next(
                (bound for bound in BOUNDS_S if buckets.get((path_kind, bound), 0) >= enough), None
            )

        return [
            {
                "door": path_kind,
                "requests": total,
                "refused": refused[path_kind],
                "half_within_s": within(path_kind, 0.5),
                "most_within_s": within(path_kind, 0.99),
            }
            for path_kind, total in totals.most_common()
        ]

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All counts, and gauges: the name of each with its description and value."""
        with self._lock:
            requests, buckets = dict(self._requests), dict(self._buckets)
            seconds = dict(self._seconds)
        lines = [
            "# HELP mycel_requests_total Requests that have ended.",
            "# TYPE mycel_requests_total counter",
        ]
        totals: Counter[str] = Counter()
        refused: Counter[int] = Counter()
        for (path_kind, method, status), number in sorted(requests.items()):
            totals[path_kind] += number
            if status in _REFUSALS:
                refused[status] += number
            labels = f'door="{path_kind}",method="{method}",status="{status}"'
            lines.append(f"mycel_requests_total{{{labels}}} {number}")
        lines.append(
            "# HELP mycel_request_seconds The time from the head to the end of the answer."
        )
        lines.append("# TYPE mycel_request_seconds histogram")
        for path_kind, total in sorted(totals.items()):
            for bound in BOUNDS_S:
                number = buckets.get((path_kind, bound), 0)
                lines.append(
                    f'mycel_request_seconds_bucket{{door="{path_kind}",le="{bound}"}} {number}'
                )
            lines.append(f'mycel_request_seconds_bucket{{door="{path_kind}",le="+Inf"}} {total}')
            lines.append(
                f'mycel_request_seconds_sum{{door="{path_kind}"}} {seconds[path_kind]:.6f}'
            )
            lines.append(f'mycel_request_seconds_count{{door="{path_kind}"}} {total}')
        lines.append("# HELP mycel_refusals_total Requests refused: rights, conflicts, limits.")
        lines.append("# TYPE mycel_refusals_total counter")
        lines += [
            f'mycel_refusals_total{{status="{status}"}} {number}'
            for status, number in sorted(refused.items())
        ]
        lines += [
            "# HELP mycel_commits_total Commits, of all workspaces and branches.",
            "# TYPE mycel_commits_total counter",
            f"mycel_commits_total {self._commits.number}",
        ]
        for name, (description, value) in gauges.items():
            lines += [f"# HELP {name} {description}", f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(lines) + "\n"
