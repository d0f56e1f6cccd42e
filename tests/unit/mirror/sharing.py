"""Two people with a graph each, who share a branch of Git."""

from __future__ import annotations

from pathlib import Path

import mycel
from mycel.mirror.projection import Projection
from tests.unit.mirror.conftest import Shop, git

BRANCH = "main"


class Person(Shop):
    """A home with a graph, and a mirror that has the bare repository as its remote."""

    def __init__(self, home: Path, name: str) -> None:
        home.mkdir()
        super().__init__(home, actor=name)
        self.name = name
        self.home = home

    def git(self, *words: str, folder: Path | None = None) -> str:
        name = self.name.capitalize()
        identity = ("-c", f"user.name={name}", "-c", f"user.email={self.name}@example.org")
        return git(folder or self.folder, *identity, *words)

    def begin(self, bare: Path) -> None:
        """Create the mirror, and send it."""
        git(bare.parent, "init", "-q", "--bare", "-b", BRANCH, str(bare))
        self.create()
        self.git("remote", "add", "origin", str(bare))
        self.git("push", "-q", "-u", "origin", BRANCH)

    def join(self, bare: Path, **how: object) -> None:
        """Clone the repository, and join its mirror."""
        git(self.home, "clone", "-q", str(bare), str(self.folder))
        mycel.Mirror.join(self.db, self.folder, **how)  # type: ignore[arg-type]

    def pull(self, **how: object) -> mycel.mirror.import_edits.Imported:  # type: ignore[name-defined]
        """Fetch with git, and import."""
        self.git("fetch", "-q")
        return self.mirror.import_edits(**how)  # type: ignore[arg-type]

    def push(self) -> None:
        """Write new transactions, and send them with git; never by force."""
        self.mirror.push(remote="")
        self.git("push", "-q")

    def sync(self, **how: object) -> None:
        self.pull(**how)
        self.push()

    def documents(self) -> dict[str, str]:
        """The content of the graph, as documents."""
        with self.db.reading() as reader:
            return {path: text.decode() for path, text in Projection(reader).files()}

    @property
    def tip(self) -> str:
        return self.git("rev-parse", "HEAD")
