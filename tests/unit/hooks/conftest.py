"""A graph with one decision, and a home of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.knowledge.knowledge import Knowledge


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MYCEL_HOOKS", raising=False)
    return tmp_path / "x.db"


@pytest.fixture
def knowledge(path: Path, tmp_path: Path) -> Iterator[Knowledge]:
    with mycel.open(path) as db:
        known = Knowledge(db, workspace="shop", root=tmp_path)
        known.add(
            "auth/passkeys",
            name="Passkeys only",
            type="Decision",
            content="People log in with a passkey; passwords were removed.",
            metadata={"source": "meeting of May"},
        )
        known.add("file://shop/src/cart.py")
        yield known
