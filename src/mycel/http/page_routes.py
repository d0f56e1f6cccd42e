"""The page of the explorer, and the sessions of its users. These routes need no graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mycel.errors import AccessDenied
from mycel.explorer import bundle
from mycel.http.policy import Policy
from mycel.http.request_values import given_parameters
from mycel.http.responses import answer, refusal
from mycel.http.sessions import SESSION_S
from mycel.http.worker_pool import Workers

PAGE: Final = "/ui/"
API: Final = "/api"
TICKET: Final = f"{API}/ticket"

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script';"
    " trusted-types dompurify mycel"
)
_PAGE_HEADERS: Final = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
_FOREVER: Final = "public, max-age=31536000, immutable"


def is_public(method: str, path: str, accept: str) -> bool:
    """True for a request that needs no token: the page itself, and the exchange of a ticket."""
    if method == "POST":
        return path == TICKET
    return path in ("/ui", PAGE) or path.startswith(PAGE) or (path == "/" and wants_page(accept))


def wants_page(accept: str) -> bool:
    """True if a browser opens the address as a page.

    >>> wants_page("text/html,application/xhtml+xml,*/*;q=0.8"), wants_page("*/*")
    (True, False)
    """
    return any(part.partition(";")[0].strip().lower() == "text/html" for part in accept.split(","))


def page_routes(
    policy: Policy, workers: Workers, on_page: Callable[[], object] = lambda: None
) -> list[Route]:
    """The routes of the page and its sessions; `on_page` is called when somebody opens the page."""

    async def lead_to_page(request: Request) -> Response:
        return RedirectResponse(request.scope["root_path"] + PAGE, 307)

    async def show_page(request: Request) -> Response:
        name = request.path_params.get("name", bundle.INDEX)
        # In a thread, because the first request for a file reads and compresses it.
        asset = await workers.run(request.scope, partial(bundle.asset, name))
        headers = {"etag": f'"{asset.tag}"', "vary": "accept-encoding"}
        headers["cache-control"] = _FOREVER if asset.is_hashed else "no-cache"
        if asset.is_page:
            headers |= _PAGE_HEADERS
            on_page()
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        accepted = request.headers.get("accept-encoding", "")
        if asset.gzipped is not None and "gzip" in accepted:
            headers["content-encoding"] = "gzip"
            return Response(asset.gzipped, headers=headers, media_type=asset.kind)
        return Response(asset.content, headers=headers, media_type=asset.kind)

    async def exchange_ticket(request: Request) -> Response:
        _, values = await given_parameters(request)
        ticket = values.get("ticket")
        token = policy.sessions.exchange(ticket) if isinstance(ticket, str) else None
        if token is None:
            refused = AccessDenied(
                "The ticket is wrong, too old, or was used before.",
                hint="Get a new address with `mycel serve --open`, or give the token.",
            )
            return refusal(refused, 401)
        return answer({"token": token, "expires_in": SESSION_S})

    async def sign_out(request: Request) -> Response:
        revoked = policy.sessions.revoke(request.headers.get("authorization"))
        return answer({"revoked": revoked})

    return [
        Route("/ui", lead_to_page, methods=["GET"]),
        Route(PAGE, show_page, methods=["GET"]),
        Route(f"{PAGE}{{name}}", show_page, methods=["GET"]),
        Route(TICKET, exchange_ticket, methods=["POST"]),
        Route(f"{API}/signout", sign_out, methods=["POST"]),
    ]


def public_routes(policy: Policy, workers: Workers) -> list[Route]:
    """The routes of a workspace that need no token."""

    async def lead_to_page(request: Request) -> Response:
        return RedirectResponse(request.scope["root_path"] + PAGE, 307, {"vary": "accept"})

    return [Route("/", lead_to_page, methods=["GET"]), *page_routes(policy, workers)]
