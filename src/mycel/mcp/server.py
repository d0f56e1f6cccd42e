"""One MCP server over one graph, for any transport.

`build_server` returns the SDK's low-level server with all handlers. It serves both eras of the
protocol: clients that begin with `server/discover` and those that begin with `initialize`.

Every request that uses the graph runs in a thread, a bounded number of them at once. A cancelled
call finishes its writes, and its answer is dropped. Long calls check for cancellation.

Results are plain objects, not models of the SDK, which validates them anyway.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.errors import Category, InternalError, MycelError, NotFound, did_you_mean
from mycel.explorer.open_explorers import OpenExplorers
from mycel.knowledge.active_context import ActiveContext, Contexts
from mycel.knowledge.knowledge import Knowledge
from mycel.mcp import app_view, arguments, hints, inquiries, prompts, query_tools, resources
from mycel.mcp.messages import worded
from mycel.mcp.query_tools import QueryOffer
from mycel.mcp.results import COMPLETE, Answer, failure
from mycel.mcp.tool_context import OpenWorkspaces, ProgressReport, ServedGraph, ToolCall
from mycel.mcp.tool_list import HISTORY, Tool, offered
from mycel.model.client_names import client_name, working_for
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.service.malloc_trim import MemoryTrim

NAME: Final = "mycel"
TITLE: Final = "Mycel knowledge graph"
CALLS_AT_ONCE: Final = 16
"""The maximum number of requests that use the graph at the same time; the others wait."""
BRANCH_CONTEXTS_MAX: Final = 64
"""The maximum number of branches whose active contexts are kept; beyond it, the oldest context is
dropped."""
EXPLORING_S: Final = 10.0
"""The time limit of a view of the explorer."""
PROGRESS_S: Final = 0.25
"""The least time between two progress reports of a call."""
QUERIES_FOR_MS: Final = 60_000
"""The time for which a client may cache the list of tools, which includes named queries."""
QUERIES_WATCHED_S: Final = 2.0
"""The time between two checks for changed queries, once the client has listed the tools."""
SAME_FOR_MS: Final = 3_600_000
"""The time for which a client may cache lists that never change while the server runs."""

Context = ServerRequestContext[Any]
Paging = types.PaginatedRequestParams
T = TypeVar("T")

_log = logging.getLogger(__name__)


class Runner(Protocol):
    """Runs a function in a thread, for the request of an ASGI scope."""

    async def __call__(self, scope: Any, work: Callable[[], T], /) -> T: ...


def build_server(
    db: Graph,
    knowledge: Knowledge,
    *,
    contexts: Contexts | None = None,
    readonly: bool = False,
    branches: OpenBranches | None = None,
    runner: Runner | None = None,
    sampling: bool = False,
    queries: QueryOffer = "marked",
    only_queries: bool = False,
    open_workspaces: OpenWorkspaces | None = None,
) -> Server[Any]:
    """A server with tools, resources and prompts over an open graph.

    With `contexts`, calls are independent and name an active context by a handle. Without it, each
    branch has one active context; `knowledge` has the context of the branch in use. `runner` runs
    calls that come over HTTP; other calls run in threads of this server. With `sampling`, the model
    of a client that offers it is asked about conflicts of merges. `queries` are the named queries
    that are tools of their own; with `only_queries` there are no other tools. `open_workspaces`
    opens the workspaces that calls name. The caller closes the graph and its `branches`.
    """
    branches = OpenBranches(db) if branches is None else branches
    explorers = OpenExplorers(knowledge.workspace, readonly=True, timeout_s=EXPLORING_S)
    served = ServedGraph(
        db,
        knowledge,
        branches,
        explorers,
        contexts,
        readonly,
        sampling,
        open_workspaces=open_workspaces,
    )
    return _Service(served, runner, queries, only_queries=only_queries).server()


class _StoppedError(Exception):
    """The call was cancelled."""


class _Listing(NamedTuple):
    """The named queries that a client was shown as tools."""

    session: ServerSession
    queries: list[JsonObject]
    entries: int
    """The number of journal entries just before the queries were read."""


@asynccontextmanager
async def _no_work(_server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
    """A context for a server without work in the background."""
    yield {}


def _entries(served: ServedGraph) -> int:
    """The entries of the journal."""
    with served.db.reading() as reader:
        return reader.head().seq


class _Service:
    """The handlers of one server."""

    def __init__(
        self,
        served: ServedGraph,
        runner: Runner | None,
        queries: QueryOffer,
        *,
        only_queries: bool,
    ) -> None:
        self._served: Final = served
        self._runner: Final = runner
        self._queries: Final = queries
        self._only_queries: Final = only_queries
        self._by_handle: Final = served.contexts is not None
        self._tools: Final = {tool.name: tool for tool in self._offered()}
        self._schemas: Final = {
            tool.name: tool.schema(by_handle=self._by_handle)
            for tool in (*self._tools.values(), app_view.EXPLORE)
        }
        self._branch_contexts: Final[dict[str, ActiveContext]] = {}
        self._limiter: Final = anyio.CapacityLimiter(CALLS_AT_ONCE)
        self._leftovers: Final = MemoryTrim()
        self._bus: Final = InMemorySubscriptionBus()
        self._listing: _Listing | None = None

    def _offered(self) -> tuple[Tool, ...]:
        served = self._served
        if self._only_queries:
            return ()
        return offered(readonly=served.readonly, has_files=served.knowledge.root is not None)

    def server(self) -> Server[Any]:
        # Imported late: the package root imports everything.
        from mycel import __version__  # noqa: PLC0415

        static, now = CacheHint(SAME_FOR_MS, "public"), CacheHint(0, "private")
        # On a connection with one client, the server reports changes. Other clients ask again after
        # a while.
        is_told = not self._by_handle and (self._only_queries or self._queries != "none")
        listening = ListenHandler(self._bus) if is_told else None
        server: Server[Any] = Server(
            NAME,
            version=__version__,
            title=TITLE,
            instructions=prompts.instructions(
                self._served.knowledge.workspace,
                readonly=self._served.readonly,
                several=self._served.open_workspaces is not None,
            ),
            cache_hints={
                # The list depends on the client.
                "tools/list": CacheHint(QUERIES_FOR_MS, "private"),
                "prompts/list": static,
                "resources/templates/list": static,
                "resources/list": now,
                "resources/read": now,
            },
            get_tool_input_schema=self._schemas.get,
            on_subscriptions_listen=listening,
            lifespan=self._watching if is_told else _no_work,
        )
        server.extensions[app_view.EXTENSION] = {}
        server.middleware.append(worded)
        add = server.add_request_handler
        add("tools/list", Paging, self._list_tools)
        add("tools/call", types.CallToolRequestParams, self._call_tool)
        add("resources/list", Paging, self._list_resources)
        add("resources/templates/list", Paging, self._list_templates)
        add("resources/read", types.ReadResourceRequestParams, self._read_resource)
        add("prompts/list", Paging, self._list_prompts)
        add("prompts/get", types.GetPromptRequestParams, self._get_prompt)
        return server

    # Handlers of tools.

    async def _list_tools(self, context: Context, _params: Paging) -> JsonObject:
        if not _shows_app(context):
            tools = [tool.to_wire(by_handle=self._by_handle) for tool in self._tools.values()]
        else:
            all_tools = (*self._tools.values(), app_view.EXPLORE)
            tools = [app_view.tool_to_wire(tool, by_handle=self._by_handle) for tool in all_tools]
        entries, queries = await self._asked(context, self._queries_now)
        self._listing = _Listing(context.session, queries, entries)
        return COMPLETE | {"tools": [*tools, *queries]}

    def _queries_now(self, served: ServedGraph) -> tuple[int, list[JsonObject]]:
        """The number of journal entries, and the queries that are tools then or a little later."""
        return _entries(served), self._query_tools(served)

    @asynccontextmanager
    async def _watching(self, _server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        """Notify the client of changed queries while it is connected."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_queries)
            yield {}
            tasks.cancel_scope.cancel()

    async def _watch_queries(self) -> None:
        while True:
            await anyio.sleep(QUERIES_WATCHED_S)
            listing = self._listing
            if listing is None:
                continue
            try:
                if await anyio.to_thread.run_sync(_entries, self._served) == listing.entries:
                    continue
                entries, queries = await anyio.to_thread.run_sync(self._queries_now, self._served)
            except MycelError:
                continue  # The graph is busy or gone; calls will report it.
            self._listing = listing._replace(queries=queries, entries=entries)
            if queries != listing.queries:
                await self._bus.publish(ToolsListChanged())
                await listing.session.send_tool_list_changed()

    def _query_tools(self, served: ServedGraph) -> list[JsonObject]:
        """The tools of named queries, ordered by name, and `run_query`."""
        if self._queries == "none" and not self._only_queries:
            return []
        own = query_tools.offered_queries(served, self._queries, {*self._tools})
        rest = self._only_queries or any(
            query.name not in self._tools for query in served.db.queries
        )
        run = [query_tools.run_tool(readonly=served.readonly)] if rest else []
        catalog = served.db.schema.catalog
        return [*(query_tools.query_tool(query, catalog) for query in own), *run]

    def _run_query(self, name: str, values: dict[str, Any], branch: str | None) -> Answer | None:
        """The answer of a named query as a tool; None if there is none of this name."""
        try:
            # The query itself may have a parameter of this name.
            chosen = values.pop("branch", branch) if name == query_tools.RUN else branch
            with self._on_branch(chosen) as served:
                call = ToolCall(served, values)
                if name == query_tools.RUN:
                    return query_tools.run_named(call)
                own = query_tools.offered_queries(served, self._queries, {*self._tools})
                if name not in {query.name for query in own}:
                    return None
                return query_tools.run_query(call, name, values)
        except MycelError as error:
            return failure(hints.in_tools(error, readonly=self._served.readonly))
        except Exception:  # noqa: BLE001 - The edge, as below.
            _log.exception("The query %s failed unexpectedly.", name)
            return failure(InternalError("The query failed inside the engine."))

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> JsonObject:
        tool, shows_app = self._tools.get(params.name), _shows_app(context)
        if shows_app and params.name == app_view.EXPLORE.name:
            tool = app_view.EXPLORE
        if tool is None:
            offers = self._only_queries or self._queries != "none"
            run_query = partial(
                self._run_query,
                params.name,
                dict(params.arguments or {}),
                self._chosen_branch(context),
            )
            queried = await self._in_thread(context, run_query) if offers else None
            if queried is None:
                raise self._unknown(params.name)
            return COMPLETE | queried.to_wire()
        values, branch = params.arguments or {}, self._chosen_branch(context)
        if params.input_responses and tool is HISTORY and values.get("action") == "merge":
            return await self._settle(context, tool, values, _dumped(params.input_responses))
        if not tool.is_long:
            answer = await self._in_thread(
                context, lambda: self._run(tool, values, branch, tool.run, shows_app=shows_app)
            )
        else:
            async with _watched(context) as report:
                work = _for_client(
                    context, lambda: self._run(tool, values, branch, tool.run, report)
                )
                answer = await self._in_own_thread(work)
        return await self._asking(context, tool, values, answer, 1)

    def _run(
        self,
        tool: Tool,
        values: dict[str, Any],
        branch: str | None,
        work: Callable[[ToolCall], Answer],
        *report: ProgressReport,
        shows_app: bool = False,
    ) -> Answer:
        try:
            checked = arguments.check(tool.name, self._schemas[tool.name], values)
            if "workspaces" in checked and tool.run_over_several is not None:
                work = tool.run_over_several
            with self._on_branch(checked.pop("branch", branch)) as served:
                call = ToolCall(served, checked, *report)
                answer = work(call)
                return app_view.with_view(tool, call, answer) if shows_app else answer
        except MycelError as error:
            return failure(hints.in_tools(error, readonly=self._served.readonly))
        except _StoppedError:
            return failure(InternalError("The call was stopped.", hint="Call it again."))
        except Exception:  # noqa: BLE001 - The edge: the model gets an answer, the log the reason.
            _log.exception("The tool %s failed unexpectedly.", tool.name)
            return failure(InternalError("The tool failed inside the engine."))

    # Handlers of questions to the client.

    async def _asking(
        self, context: Context, tool: Tool, values: dict[str, Any], answer: Answer, round_: int
    ) -> JsonObject:
        """The result of a call, after the client was asked about the conflicts that are left."""
        inquiry = None
        if answer.asks is not None:
            inquiry = inquiries.inquiry(answer.asks, self._offer(context), round_)
        if inquiry is None:
            return COMPLETE | answer.to_wire()
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return inquiry.to_wire()
        try:
            responses = await _put(context, inquiry)
        except MCPError:  # The user or the client refused to answer.
            return COMPLETE | answer.to_wire()
        return await self._settle(context, tool, values, responses)

    async def _settle(
        self,
        context: Context,
        tool: Tool,
        values: dict[str, Any],
        responses: inquiries.InquiryResponses,
    ) -> JsonObject:
        """The result of a call after the client's answers."""
        branch = self._chosen_branch(context)
        answer = await self._in_thread(
            context,
            lambda: self._run(tool, values, branch, lambda call: inquiries.settle(call, responses)),
        )
        if answer.asks is None:
            return COMPLETE | answer.to_wire()
        _, round_ = inquiries.asked_about(responses)
        return await self._asking(context, tool, values, answer, round_ + 1)

    def _offer(self, context: Context) -> inquiries.Offer:
        """The kinds of questions that the client offers and the user of the server allows."""
        offered = context.session.client_capabilities
        is_older = context.protocol_version not in MODERN_PROTOCOL_VERSIONS
        if offered is None or (is_older and not context.session.can_send_request):
            return inquiries.Offer(model=False, person=False)
        forms = offered.elicitation
        return inquiries.Offer(
            model=self._served.sampling and offered.sampling is not None,
            # Older clients name no kind; they mean a form.
            person=forms is not None and (forms.form is not None or forms.url is None),
        )

    # Branches.

    def _chosen_branch(self, context: Context) -> str | None:
        """The default branch of a request."""
        if context.request is not None:
            branch: str | None = context.request.query_params.get("branch")
            return branch
        return self._served.chosen.name

    @contextmanager
    def _on_branch(self, name: str | None) -> Iterator[ServedGraph]:
        """The served graph on a branch, after a check that its file is still in place."""
        with self._served.branches.using(name) as db:
            db.check_in_place()
            if db is self._served.db:
                yield self._served
                return
            own = self._served.knowledge
            context = self._branch_contexts.setdefault(
                db.branch, ActiveContext(own.context.size_max)
            )
            while len(self._branch_contexts) > BRANCH_CONTEXTS_MAX:
                del self._branch_contexts[next(iter(self._branch_contexts))]
            knowledge = own.of(db, context)
            yield replace(self._served, db=db, knowledge=knowledge)

    def _unknown(self, name: str) -> MCPError:
        if self._only_queries:
            message = f"There is no tool {shorten(repr(name))}: this server answers named queries."
            return MCPError(types.INVALID_PARAMS, f"{message} {query_tools.RUN} lists them.")
        names = list(self._tools)
        if name in {tool.name for tool in offered(readonly=False)}:
            why = f"is read-only, and {name} writes" if self._served.readonly else "shows no files"
            message = f"This server {why}."
        else:
            close = did_you_mean(shorten(name), names)
            message = f"There is no tool {shorten(repr(name))}. {close}".rstrip()
        return MCPError(types.INVALID_PARAMS, f"{message} There are: {', '.join(names)}.")

    # Resources.

    async def _list_resources(self, context: Context, params: Paging) -> JsonObject:
        if self._only_queries:
            return COMPLETE | {"resources": []}
        payload = await self._asked(
            context, lambda served: resources.list_concepts(served, params.cursor)
        )
        if params.cursor is None and _shows_app(context):
            payload["resources"].insert(0, app_view.resource())
        return COMPLETE | payload

    async def _list_templates(self, _context: Context, _params: Paging) -> JsonObject:
        has_files = self._served.knowledge.root is not None
        return COMPLETE | {"resourceTemplates": resources.TEMPLATES[: 2 if has_files else 1]}

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> JsonObject:
        uri = str(params.uri)
        if self._only_queries:
            raise _protocol_error(
                NotFound("This server only answers named queries.", hint="Call one of its tools.")
            )
        return COMPLETE | await self._asked(
            context,
            lambda served: (
                app_view.content() if uri == app_view.RESOURCE else resources.read(served, uri)
            ),
        )

    # Prompts.

    async def _list_prompts(self, _context: Context, _params: Paging) -> JsonObject:
        return COMPLETE | {"prompts": [prompt.to_wire() for prompt in prompts.PROMPTS]}

    async def _get_prompt(
        self, _context: Context, params: types.GetPromptRequestParams
    ) -> JsonObject:
        try:
            elsewhere = self._served.knowledge.elsewhere
            workspaces = () if elsewhere is None else elsewhere.workspaces()
            prompt = prompts.prompt_named(params.name)
            return COMPLETE | prompt.message(params.arguments, workspaces)
        except MycelError as error:
            raise _protocol_error(error) from None

    # Threads.

    async def _in_thread(self, context: Context, run: Callable[[], T]) -> T:
        work = _for_client(context, run)
        if self._runner is not None and context.request is not None:
            return await self._runner(context.request.scope, work)
        return await self._in_own_thread(work)

    async def _in_own_thread(self, work: Callable[[], T]) -> T:
        """Run work in a thread of this server, without the deadline of a request."""
        # A cancelled call waits for its thread, so that its writes finish.
        return await anyio.to_thread.run_sync(self._leftovers.after, work, limiter=self._limiter)

    async def _asked(self, context: Context, work: Callable[[ServedGraph], T]) -> T:
        """Run a request other than a tool call; its errors are errors of the protocol."""
        branch = self._chosen_branch(context)

        def run() -> T:
            with self._on_branch(branch) as served:
                return work(served)

        try:
            return await self._in_thread(context, run)
        except MycelError as error:
            tools = hints.in_tools(error, readonly=self._served.readonly)
            raise _protocol_error(tools) from None


def _shows_app(context: Context) -> bool:
    """True if the client of a request shows MCP Apps."""
    return app_view.is_negotiated(context.session.client_capabilities)


def _for_client(context: Context, run: Callable[[], T]) -> Callable[[], T]:
    """Wrap work so that it writes in the name of the client."""
    params = context.session.client_params
    info = None if params is None else params.client_info
    client = "" if info is None else client_name(info.name, info.version)

    def work() -> T:
        with working_for(client):
            return run()

    return work


def _protocol_error(error: MycelError) -> MCPError:
    # By the protocol, a missing resource is an invalid parameter.
    is_input = error.category in (Category.INPUT, Category.MISSING)
    code = types.INVALID_PARAMS if is_input else error.category.jsonrpc_code
    answer = failure(error)
    return MCPError(code, f"{error.message} {error.hint}", answer.data)


async def _put(context: Context, inquiry: inquiries.Inquiry) -> inquiries.InquiryResponses:
    """Ask a client of the older era while its call waits; returns the answers."""
    responses: dict[str, types.InputResponse] = {}
    metadata = ServerMessageMetadata(related_request_id=context.request_id)
    for key, request in inquiry.requests.items():
        if request["method"] == "sampling/createMessage":
            responses[key] = await context.session.send_request(
                types.CreateMessageRequest.model_validate(request),
                types.CreateMessageResult,
                metadata=metadata,
            )
        else:
            responses[key] = await context.session.send_request(
                types.ElicitRequest.model_validate(request), types.ElicitResult, metadata=metadata
            )
    return _dumped(responses)


def _dumped(responses: types.InputResponses) -> inquiries.InquiryResponses:
    """Answers of a client as plain objects."""
    return {
        key: response.model_dump(by_alias=True, mode="json", exclude_none=True)
        for key, response in responses.items()
    }


@asynccontextmanager
async def _watched(context: Context) -> AsyncIterator[ProgressReport]:
    """The progress report of a long call in a thread; it raises when the call was cancelled."""
    stopped = threading.Event()
    told_at = -PROGRESS_S

    def report(position: float, total: float | None, words: str) -> None:
        nonlocal told_at
        if stopped.is_set():
            raise _StoppedError
        if monotonic() - told_at >= PROGRESS_S:
            told_at = monotonic()
            anyio.from_thread.run(context.session.report_progress, position, total, words)

    async def watch() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        yield report
        tasks.cancel_scope.cancel()
