"""The server over HTTP: an application for one path of a larger one.

Who may ask, and from which pages, is decided before anything gets here: the application that this
one stands in has to check hosts, origins and tokens. Every request stands alone, so any number of
processes may serve one graph; an active context is a handle that the caller passes back.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings

from mycel.knowledge.context import Contexts
from mycel.knowledge.knowledge import Knowledge
from mycel.mcp.server import build_server
from mycel.model.limits import TOOL_ARGUMENT_BYTES_MAX
from mycel.nexus import Nexus

if TYPE_CHECKING:
    from starlette.applications import Starlette

PATH = "/mcp"
BODY_BYTES_MAX = 4 * TOOL_ARGUMENT_BYTES_MAX
"""Room for what surrounds the arguments; a call that is too large gets its own answer."""


def http_app(
    db: Nexus, *, workspace: str, root: Path | None, path: str = PATH, readonly: bool = False
) -> Starlette:
    """An application that speaks MCP at `path`. Its lifespan has to run."""
    server = build_server(
        db, Knowledge(db, workspace=workspace, root=root), contexts=Contexts(), readonly=readonly
    )
    return server.streamable_http_app(
        streamable_http_path=path,
        stateless_http=True,
        max_request_body_size=BODY_BYTES_MAX,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
