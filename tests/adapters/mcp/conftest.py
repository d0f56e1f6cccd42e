"""One server for each era and module; tests keep to URIs of their own.

The tests of the tools run in both eras of the protocol, all others in the newer one; `make soak`
runs them in the older one too.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.mcp.clients import Session, connected
from tests.prepared import NEW


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files in it, called shop; so is the workspace."""
    root = tmp_path_factory.mktemp("projects") / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src" / "login.py").write_text("def login():\n    return 'token'\n", encoding="utf-8")
    (root / "src" / "cart.py").write_text("def total():\n    return 0\n", encoding="utf-8")
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (root.parent / "secret.txt").write_text("nobody may read this", encoding="utf-8")
    (root / "leak.txt").symlink_to(root.parent / "secret.txt")
    return root


OLDER = pytest.param("legacy", marks=pytest.mark.soak)


@pytest.fixture(scope="module", params=["auto", OLDER])
def session(
    request: pytest.FixtureRequest, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    """A new server for each era of the protocol."""
    db = tmp_path_factory.mktemp("graph") / "graph.db"
    NEW.put(db)
    with connected(db, "--root", str(project), mode=request.param) as session:
        yield session


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A new graph."""
    NEW.put(tmp_path / "graph.db")
    return tmp_path / "graph.db"
