"""`mycel serve --workspaces`: serve every graph of a folder, with all that `serve` offers."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from mycel.cli.commands.serving import (
    MCP_BODY_BYTES_MAX,
    MCP_PATH,
    contexts_for,
    mcp_mount,
    say_stopped,
    say_stopping,
    tell,
)
from mycel.cli.console.context import Invocation
from mycel.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from socket import socket

    from starlette.applications import Starlette

    from mycel.http.policy import Policy
    from mycel.http.request_guard import RequestGate
    from mycel.http.workspace_mounts import OpenGraph
    from mycel.sharing.audit_log import AuditLog
    from mycel.sharing.oauth import OAuthSettings, TrustedIssuers
    from mycel.sharing.workspace_folder import WorkspaceFolder


def has_scoped_tokens(folder: Path) -> bool:
    """True if the folder of workspaces has tokens."""
    from mycel.sharing.tokens import TokenBook
    from mycel.sharing.workspace_folder import WorkspaceFolder
    from mycel.store.log.server_records import ServerRecords

    with closing(ServerRecords(WorkspaceFolder(folder).records)) as records:
        return TokenBook(records).is_used


def _oauth_settings(path: Path) -> OAuthSettings:
    try:
        from mycel.sharing.oauth import read_settings
    except ModuleNotFoundError as error:
        raise Unsupported(
            f"Tokens of an issuer need {error.name}, which is not installed.",
            hint="Install it: pip install 'mycel[oauth]'",
        ) from None
    return read_settings(path)


def _workspaces(path: Path, database: str | None) -> WorkspaceFolder:
    """The workspaces in a folder; or those in a database, with the tokens of the folder."""
    if database is None:
        from mycel.sharing.workspace_folder import WorkspaceFolder

        return WorkspaceFolder(path)
    from mycel.sharing.workspace_database import WorkspaceDatabase

    return WorkspaceDatabase(path, database)


class TeamServer:
    """A server of the workspaces in a folder or a database."""

    def __init__(
        self,
        session: Invocation,
        path: Path,
        database: str | None,
        policy: Policy,
        context_size: int | None,
        *,
        sampling: bool,
        oauth: Path | None,
    ) -> None:
        self._session = session
        self._folder = _workspaces(path, database)
        self._policy = policy
        self._context_size = context_size
        self._sampling = sampling
        self._oauth = None if oauth is None else _oauth_settings(oauth)

    def serve(self, sockets: Sequence[socket], url: str, *, workers: int, grace_s: float) -> None:
        """Serve until a signal stops the process; `workers` is the number of processes."""
        from mycel.http.server import run
        from mycel.http.stop_watch import stop_watch
        from mycel.http.supervisor import Supervisor, listening_again

        session = self._session

        def serve_as(_number: int, on_ready: Callable[[], None]) -> None:
            with ExitStack() as stack:
                run_in(stack, listening_again(sockets), on_ready, lambda _running: None)

        def run_in(
            stack: ExitStack,
            bound: Sequence[socket],
            on_ready: Callable[[], object],
            on_stop: Callable[[int], object],
        ) -> None:
            from dataclasses import replace

            from mycel.sharing.audit_log import AuditLog
            from mycel.sharing.tokens import TokenBook
            from mycel.store.log.server_records import ServerRecords

            records = stack.enter_context(closing(ServerRecords(self._folder.records)))
            audit = stack.enter_context(closing(AuditLog(records)))
            policy = replace(self._policy, tokens=TokenBook(records), issuers=self._issuers())
            app = self._application(policy, audit)
            run(
                app,
                bound,
                policy,
                on_ready=on_ready,
                on_stop=on_stop,
                on_cut=lambda: say_stopped(session),
                grace_s=grace_s,
            )

        try:
            if workers == 1:
                with stop_watch(grace_s), ExitStack() as stack:
                    run_in(
                        stack,
                        sockets,
                        lambda: self._say_ready(url),
                        lambda running: say_stopping(session, running, grace_s),
                    )
            else:
                # Load before the fork, so that processes share the memory and start at once.
                import mycel.http.team_app
                import mycel.mcp.web  # noqa: F401

                gc.freeze()
                Supervisor(workers, serve_as, grace_s=grace_s).run(
                    on_ready=lambda: self._say_ready(url),
                    on_stop=lambda: tell(session, "Stopping.", "stopping"),
                )
        finally:
            for listener in sockets:
                listener.close()
        say_stopped(session)

    def _issuers(self) -> TrustedIssuers | None:
        if self._oauth is None:
            return None
        from mycel.sharing.oauth import TrustedIssuers

        issuers = TrustedIssuers(self._oauth)
        issuers.wait()
        return issuers

    def _application(self, policy: Policy, audit: AuditLog) -> RequestGate:
        import mycel
        from mycel.api.open_branches import OpenBranches
        from mycel.http.app import graph_app
        from mycel.http.metrics import CommitCount
        from mycel.http.team_app import build_team_app
        from mycel.http.worker_pool import Workers
        from mycel.http.workspace_mounts import OpenGraph
        from mycel.mirror.follower import Follower
        from mycel.remote.signing import signer_of
        from mycel.sharing.write_scope import WriteScope

        workers, commits = Workers(), CommitCount()

        def open_graph(path: str) -> OpenGraph:
            db = mycel.open(
                path,
                create=False,
                readonly=policy.readonly,
                memory="modest",
                timeout_s=policy.timeout_s,
                busy_timeout_s=policy.timeout_s,
                guards=(WriteScope(), commits),
            )
            end = (lambda: None) if policy.readonly else Follower(db).close
            return OpenGraph(db, OpenBranches(db), end)

        def make_app(name: str, opened: OpenGraph, mode: Policy) -> Starlette:
            db, branches, _ = opened
            mount = mcp_mount(
                db,
                branches,
                mode,
                name,
                None,
                contexts=contexts_for(mode, self._context_size),
                workers=workers,
                sampling=self._sampling,
                is_frozen=False,
            )
            return graph_app(
                db,
                mode,
                mounts=[mount],
                branches=branches,
                workspace=name,
                root=None,
                workers=workers,
                signer=signer_of(self._folder.key_place(name)),
            )

        return build_team_app(
            self._folder,
            policy,
            open_graph=open_graph,
            create_graph=lambda path: mycel.open(path).close(),
            make_app=make_app,
            audit=audit,
            workers=workers,
            mount_names={MCP_PATH: "mcp"},
            body_limits={MCP_PATH: MCP_BODY_BYTES_MAX},
            commits=commits,
        )

    def _say_ready(self, url: str) -> None:
        out, names = self._session.out, self._folder.names()
        if out.as_json:
            payload = {"event": "ready", "url": url, "workspaces": names}
            out.object(payload | {"path": self._folder.place, "pid": os.getpid()})
        else:
            for name in names:
                out.line(f"{url}/ws/{name}/ui/")
            if self._oauth is None and not has_scoped_tokens(self._folder.path):
                out.line(
                    "No tokens were made: everybody who can reach this address may do everything."
                    f" `mycel token create --workspaces {self._folder.path} NAME` makes one."
                )
            message = f"Mycel serves {len(names)} workspaces of {self._folder.place} at {url}"
            out.line(out.style(f"{message} (Ctrl-C stops it)", bold=True))
        sys.stdout.flush()
