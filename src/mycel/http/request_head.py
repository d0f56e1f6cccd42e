"""Checks of the head of a request that come before everything else: its target and its framing."""

from __future__ import annotations

import h11

from mycel.errors import AccessDenied, InvalidSyntax, MycelError, ResourceExhausted
from mycel.http.policy import HEAD_BYTES_MAX, TARGET_BYTES_MAX


def has_body(headers: list[tuple[bytes, bytes]]) -> bool:
    """True if the headers announce a body."""
    for name, value in headers:
        if name == b"transfer-encoding" or (name == b"content-length" and value != b"0"):
            return True
    return False


def mistake_in(request: h11.Request) -> tuple[MycelError, int] | None:
    """The error for a malformed head, with its status; None if the head is valid."""
    if len(request.target) > TARGET_BYTES_MAX:
        long = ResourceExhausted(
            f"The target of the request is longer than {TARGET_BYTES_MAX} bytes.",
            hint="Send long values in the body.",
        )
        return long, 414
    if not request.target.startswith(b"/") and (mistake := _mistake_in_url(request)):
        return mistake
    for name, value in request.headers:
        if name == b"expect" and value.lower() != b"100-continue":
            unmet = InvalidSyntax(
                "The request expects something that this server does not do.",
                hint="Leave the header `Expect` out, or send `Expect: 100-continue`.",
            )
            return unmet, 417
    names = {name for name, _ in request.headers}
    if b"transfer-encoding" in names and b"content-length" in names:
        error = InvalidSyntax(
            "The request has both Content-Length and Transfer-Encoding.", hint="Send one of them."
        )
        return error, 400
    if sum(len(name) + len(value) for name, value in request.headers) > HEAD_BYTES_MAX:
        large = ResourceExhausted(
            f"The headers are larger than {HEAD_BYTES_MAX} bytes.", hint="Send smaller ones."
        )
        return large, 431
    return None


def _mistake_in_url(request: h11.Request) -> tuple[MycelError, int] | None:
    """The error for a target in absolute form (RFC 9112 3.2.2) that is no URL of this server.

    The host in it must be that of the `Host` header, which `request_guard` checks.
    """
    scheme, separator, rest = request.target.partition(b"://")
    host = rest.partition(b"/")[0].partition(b"?")[0]
    hosts = [value.lower() for name, value in request.headers if name == b"host"]
    path_alone = "Send the path alone, such as POST /kip."
    if not separator or [host.lower()] != hosts:
        foreign = InvalidSyntax(
            "The target of the request is neither a path nor a URL of the host that it names.",
            hint=path_alone,
        )
        return foreign, 400
    if scheme.lower() != b"http":
        # A request for another scheme was not meant for this connection (RFC 9110 7.4).
        misdirected = AccessDenied(
            "This server answers URLs of http alone, and the target has another scheme.",
            hint=path_alone,
        )
        return misdirected, 421
    return None


def relative_target(target: bytes) -> bytes:
    """The path and query of a target in absolute form; any other target unchanged."""
    if target.startswith(b"/"):
        return target
    rest = target.partition(b"://")[2]
    host = rest.partition(b"/")[0].partition(b"?")[0]
    path = rest[len(host) :]
    return path if path.startswith(b"/") else b"/" + path
