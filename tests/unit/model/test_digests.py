"""SHA-256, whoever computes it."""

import hashlib
from importlib import import_module, reload
from random import Random
from types import ModuleType

import pytest

from mycel.model import digests
from tests.cases import cases


@cases("size", [0, 1, 55, 56, 64, 65, 511, 512, 513, 5000])
def test_short_or_long_the_hash_is_that_of_the_standard(size: int) -> None:
    data = Random(size).randbytes(size)
    wanted = hashlib.sha256(data).digest()
    assert digests.sha256_of(data) == wanted
    assert digests.short_sha256(data).digest() == wanted


def test_an_interpreter_without_its_own_uses_that_of_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def only_what_is_public(name: str) -> ModuleType:
        if name.startswith("_"):
            raise ModuleNotFoundError(name)
        return import_module(name)

    before = digests.short_sha256
    with monkeypatch.context() as patch:
        patch.setattr("importlib.import_module", only_what_is_public)
        assert reload(digests).short_sha256 is hashlib.sha256
        assert digests.sha256_of(b"") == hashlib.sha256().digest()
    assert reload(digests).short_sha256 is before
