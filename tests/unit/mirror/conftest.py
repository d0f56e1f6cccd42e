"""A graph, its mirror, and git to look at it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.mirror import export
from mycel.mirror.sync import Upkeep

START_US = 1_700_000_000_000_000


class Clock:
    """A clock that goes on by a minute each time, so that no two transactions are one commit."""

    def __init__(self) -> None:
        self.now = START_US
        self.step = 60_000_000

    def __call__(self) -> int:
        self.now += self.step
        return self.now


class Shop:
    """A graph in a folder, with a mirror in `.knowledge`."""

    def __init__(self, folder: Path, actor: str = "ada") -> None:
        self.clock = Clock()
        self.db = mycel.open(
            folder / "shop.db",
            actor=actor,
            core_capsules=False,
            durability="off",
            clock_us=self.clock,
        )
        self.knowledge = mycel.Knowledge(self.db, workspace="shop")
        self.folder = folder / ".knowledge"

    def create(self, **how: object) -> mycel.Mirror:
        return mycel.Mirror.create(self.db, self.folder, **how)  # type: ignore[arg-type]

    @property
    def mirror(self) -> mycel.Mirror:
        return mycel.Mirror(self.db)

    def git(self, *words: str, folder: Path | None = None) -> str:
        return git(folder or self.folder, *words)

    def file(self, path: str) -> Path:
        return self.folder / path

    def read(self, path: str) -> str:
        return self.file(path).read_text("utf-8")

    def expected_tree(self) -> str:
        """The tree of a mirror that is made at this moment."""
        with self.db.reading() as reader:
            return export.write_state(Upkeep(self.db).repository, reader)

    def check(self) -> None:
        """The branch, the index and the files are those of a mirror that is made now."""
        tree = self.expected_tree()
        assert self.git("rev-parse", "HEAD^{tree}") == tree
        assert self.git("write-tree") == tree
        assert self.git("status", "--porcelain") == ""


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"]
    command = ["git", *identity, *words]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    made.knowledge.add("auth/login", content="Users log in.\nSessions last a day.")
    made.knowledge.add("auth/session", content="Kept in Redis.")
    made.knowledge.link("auth/login", "depends_on", "auth/session", weight=0.5)
    yield made
    made.db.close()
