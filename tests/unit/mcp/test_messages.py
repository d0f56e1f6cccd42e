"""Bytes to messages of JSON-RPC, and what is said about those that are none."""

import anyio
import pytest
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from mycel.mcp.messages import ID_SOUGHT_BYTES, NoMessage, read, top_level_id, worded
from tests.cases import cases


@cases(
    ("data", "kind"),
    [
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', JSONRPCRequest),
        (b'{"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {}}', JSONRPCRequest),
        (b'{"jsonrpc": "2.0", "id": -1, "method": "ping"}', JSONRPCRequest),
        (
            b'{"jsonrpc": "2.0", "id": 123456789012345678901234567890, "method": "x"}',
            JSONRPCRequest,
        ),
        (b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', JSONRPCNotification),
        (b'{"jsonrpc": "2.0", "method": "x", "params": {"id": null}}', JSONRPCNotification),
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', JSONRPCResponse),
        (b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": ""}}', JSONRPCError),
    ],
)
def test_a_message_is_taken_for_what_it_is(data: bytes, kind: type) -> None:
    assert isinstance(read(data), kind)


@cases(
    ("given", "said"),
    [
        ("null", "null"),
        ("1.5", "a fraction"),
        ("1.0", "a fraction"),
        ("true", "true or false"),
        ("{}", "an object"),
        ("[1]", "a list"),
    ],
)
@cases("rest", ['"method": "ping"', '"method": 5', '"result": {}', '"x": 1'])
def test_an_odd_id_is_what_is_wrong_with_a_message(given: str, said: str, rest: str) -> None:
    with pytest.raises(NoMessage) as refused:
        read(f'{{"jsonrpc": "2.0", "id": {given}, {rest}}}'.encode())
    assert refused.value.answer.id is None
    assert refused.value.answer.error.code == -32600
    assert (
        str(refused.value) == f"The id of a request must be a whole number or a text, not {said}."
    )


@cases(
    ("data", "code", "known_id", "said"),
    [
        (b"{", -32700, None, "no JSON"),
        (b"\xff\xfe", -32700, None, "no JSON"),
        (b'{"jsonrpc": "2.0", "id": 3, "method": "\xff"}', -32700, 3, "no JSON"),
        (b"[" * 100_000, -32700, None, "no JSON"),
        (b'{"jsonrpc": "2.0", "id": 1e400, "method": "ping"}', -32700, None, "no JSON"),
        (b'{"id": ' + b"9" * 5_000 + b"}", -32700, None, "no JSON"),
        (b"[]", -32600, None, "one message at a time"),
        (b'"ping"', -32600, None, "not a text"),
        (b"null", -32600, None, "not null"),
        (b'{"id": 4, "method": "ping"}', -32600, 4, '"jsonrpc": "2.0"'),
        (b'{"jsonrpc": 2.0, "id": 4, "method": "ping"}', -32600, 4, '"jsonrpc": "2.0"'),
        (b'{"jsonrpc": "2.0", "id": "b"}', -32600, "b", "has a method"),
        (b'{"jsonrpc": "2.0", "id": 4, "method": null}', -32600, 4, "not null"),
        (b'{"jsonrpc": "2.0", "id": 4, "method": "x", "params": []}', -32600, 4, "not a list"),
    ],
)
def test_what_is_no_message_is_told_in_one_sentence(
    data: bytes, code: int, known_id: object, said: str
) -> None:
    with pytest.raises(NoMessage) as refused:
        read(data)
    answer = refused.value.answer
    assert (answer.error.code, answer.id) == (code, known_id)
    assert said in answer.error.message
    assert "\n" not in answer.error.message


@cases(
    ("data", "found"),
    [
        (b'{"id": 7, "method": ', 7),
        (b'{"method": "x", "id": "seven", ', "seven"),
        (b'{"method": "x", "params": {"id": 7}, ', None),
        (b'{"params": [{"id": 7}], "id": 8, ', 8),
        (b'{"text": "\\"id\\": 7, {", "id": 8, ', 8),
        (b'[{"id": 7}, ', None),
        (b'{"id": 7.5, ', None),
        (b'{"id": ' + b"7" * 30 + b", ", None),
        (b'{"x": "' + b"x" * ID_SOUGHT_BYTES + b'", "id": 7, ', None),
    ],
)
def test_the_id_of_a_broken_message_is_its_own_or_none(data: bytes, found: object) -> None:
    assert top_level_id(data) == found


@pytest.mark.parametrize("request_id", [5, None])
def test_a_failure_that_nobody_has_foreseen_says_nothing_of_the_inside(
    request_id: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    context = ServerRequestContext(
        session=None,  # type: ignore[arg-type]
        lifespan_context=None,
        protocol_version="2025-06-18",
        method="tools/list",
        request_id=request_id,
    )

    async def fail(_: object) -> None:
        raise RuntimeError("the secret is 42")

    async def story() -> None:
        if request_id is None:
            # A notification has nobody to tell; the SDK logs it.
            with pytest.raises(RuntimeError):
                await worded(context, fail)
            return
        with pytest.raises(MCPError) as refused:
            await worded(context, fail)
        assert refused.value.error.code == -32603
        assert "42" not in str(refused.value)
        assert "42" in caplog.text

    anyio.run(story)
