"""Embedders behind HTTP: batches, further attempts, keys, and answers that are none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from mycel.embedding import endpoint
from mycel.embedding.choice import embedder_named
from mycel.errors import EmbedderFailed, InvalidValueType
from tests.unit.embedding.server import Server, answer, serving, vector_of


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(endpoint, "PAUSE_S", 0.001)
    monkeypatch.delenv(endpoint.KEY_VARIABLE, raising=False)
    with serving() as server:
        yield server


def test_vectors_come_in_the_order_of_the_texts_with_length_one(server: Server) -> None:
    embedder = embedder_named(server.address)
    texts = [f"{'car ' * (number % 3)}{'bee ' * (number % 5)}" for number in range(150)]
    vectors = np.asarray(embedder.embed(texts))
    expected = np.array([vector_of(text) for text in texts])
    assert vectors == pytest.approx(expected / np.linalg.norm(expected, axis=1)[:, None], abs=1e-6)
    assert [len(each["input"]) for each in server.requests] == [64, 64, 22]
    assert {each["model"] for each in server.requests} == {"tiny"}
    assert set(server.paths) == {"/v1/embeddings"}
    assert embedder.dimensions == 5
    assert np.asarray(embedder.embed([])).shape == (0, 5)
    assert embedder.name == server.address


def test_answers_that_ask_for_patience_are_tried_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(endpoint, "_wait", waited.append)
    embedder = embedder_named(server.address)
    server.planned = [(429, b"", {"Retry-After": "7"}), (500, b"oops", {}), (503, b"", {})]
    assert len(list(embedder.embed(["a car"]))) == 1
    assert waited == [7, pytest.approx(0.002), pytest.approx(0.004)]
    waited.clear()
    server.planned = [(429, b"", {"Retry-After": "86400"})]
    embedder.embed(["a car"])
    assert waited == [endpoint.PAUSE_S_MAX]


def test_failures_end_after_a_few_attempts_and_say_what_happened(server: Server) -> None:
    embedder = embedder_named(server.address)
    nan = b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}'
    for plan, said, requests in (
        ((429, b"", {}), r"answered 429 \(4 attempts\)", 4),
        ((500, b"", {}), r"answered 500 \(4 attempts\)", 4),
        ((404, b'{"error": {"message": "no model tiny"}}', {}), "answered 404: no model tiny", 1),
        ((302, b"", {"Location": "http://example.org/"}), "answered 302", 1),
        ((200, b"<html>garbage", {}), "did not answer with one vector for each text", 1),
        ((200, b'{"data": []}', {}), "did not answer with one vector", 1),
        ((200, b'{"data": [{"index": 0, "embedding": []}]}', {}), "did not answer with", 1),
        ((200, b'{"data": [{"index": 0, "embedding": "xyz"}]}', {}), "did not answer with", 1),
        ((200, b"[" * 100_000, {}), "did not answer with", 1),
    ):
        server.always, server.requests = plan, []
        with pytest.raises(EmbedderFailed, match=said):
            embedder.embed(["a car"])
        assert len(server.requests) == requests
    server.always = (200, nan, {})
    assert not np.isfinite(np.asarray(embedder.embed(["a car"]))).all(), "callers check numbers"
    server.always = None
    server.planned = [(200, answer(["a", "b"]), {})] * 2
    assert len(list(embedder.embed(["a", "b"]))) == 2


def test_a_server_that_hangs_is_given_up_after_as_many_attempts(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "TIMEOUT_S", 0.05)
    server.always = "hang"
    with pytest.raises(EmbedderFailed, match=r"did not answer within 0.05 seconds \(4 attempts\)"):
        embedder_named(server.address).embed(["a car"])
    # A busy server reads requests after their clients have left: it is waited for.
    server.wait_for_requests(4)
    assert len(server.requests) == 4


def test_a_server_that_is_not_there_is_told_by_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoint, "PAUSE_S", 0.001)
    with serving() as gone:
        address = gone.address
    with pytest.raises(EmbedderFailed, match="cannot be reached") as caught:
        embedder_named(address).embed(["a"])
    assert address in str(caught.value)


def test_the_key_is_sent_and_never_shown(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = embedder_named(server.address)
    embedder.embed(["a"])
    assert "Authorization" not in server.headers[-1]
    key = "sk-secret-123"
    monkeypatch.setenv(endpoint.KEY_VARIABLE, key)
    embedder.embed(["a"])
    assert server.headers[-1]["Authorization"] == f"Bearer {key}"
    said = b'{"error": {"message": "wrong key sk-secret-123"}}'
    for status in (400, 401, 403, 429):
        server.planned = [(status, said, {})] * 4
        with pytest.raises(EmbedderFailed) as caught:
            embedder.embed(["a"])
        assert key not in str(caught.value.to_dict()) + repr(caught.value.__cause__)
    for bad in ("sk-\nsecret", "sk-ключ"):
        monkeypatch.setenv(endpoint.KEY_VARIABLE, bad)
        with pytest.raises(EmbedderFailed, match="is no key") as caught:
            embedder.embed(["a"])
        assert bad not in str(caught.value)


def test_addresses_without_a_model_or_with_a_password_are_refused() -> None:
    for address in (
        "http://localhost/v1",
        "http://#model",
        "http://user:secret@localhost/v1#model",
        "http://localhost/v1?key=secret#model",
        "http://localhost:port/v1#model",
        "http://[::1/v1#model",
    ):
        with pytest.raises(InvalidValueType, match="address of an embedder") as caught:
            embedder_named(address)
        assert "secret" not in str(caught.value)
