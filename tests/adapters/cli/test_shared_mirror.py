"""`mycel mirror join` and `pull`: two homes, a bare repository, and edits on both sides."""

import subprocess
from pathlib import Path

import pytest

from tests.adapters.cli.conftest import Run


class Home:
    """A person with a clone of a project, and a graph in it."""

    def __init__(self, run: Run, folder: Path, name: str) -> None:
        self._run = run
        self.name = name
        self.project = folder / "project"
        self.project.mkdir(parents=True)

    def mycel(self, *words: str, status: int = 0) -> str:
        given = ("--db", str(self.project / "shop.db"), "--actor", self.name)
        done = self._run(*words, *given)
        assert done.status == status, (words, done.stdout, done.stderr)
        return f"{done.stdout}{done.stderr}"

    def git(self, *words: str, folder: str = ".") -> str:
        identity = ("-c", f"user.name={self.name}", "-c", f"user.email={self.name}@example.org")
        done = subprocess.run(
            ["git", *identity, *words],
            cwd=self.project / folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.strip()

    def put(self, name: str, attributes: str) -> None:
        self.mycel("concept", "put", "Tool", name, "--attributes", attributes)

    def tool(self, name: str) -> Path:
        (found,) = self.project.glob(f".knowledge/kip/Tool/*/{name}~*.md")
        return found


@pytest.fixture
def homes(run: Run, tmp_path: Path) -> tuple[Home, Home]:
    """Ada has a project with a mirror, and Bob a clone of the project."""
    bare = tmp_path / "shop.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    ada, bob = Home(run, tmp_path / "ada", "ada"), Home(run, tmp_path / "bob", "bob")
    ada.git("init", "-q", "-b", "main")
    (ada.project / ".gitignore").write_text("shop.db*\n")
    ada.git("add", ".gitignore")
    ada.git("commit", "-q", "-m", "code")
    ada.git("remote", "add", "origin", str(bare))
    ada.mycel("init", "--git")
    ada.mycel("define", "type", "Tool")
    ada.put("hammer", '{"weight": 1, "content": "For nails.\\n\\nMade of steel."}')
    ada.git("push", "-q", "origin", "main", "knowledge")
    bob.project.rmdir()
    subprocess.run(
        ["git", "clone", "-q", str(bare), str(bob.project)], check=True, capture_output=True
    )
    return ada, bob


def test_two_people_share_a_graph_with_ordinary_git(homes: tuple[Home, Home], run: Run) -> None:
    ada, bob = homes
    bob.mycel("init")
    bob.git("branch", "-q", "knowledge", "origin/knowledge")
    assert "mycel mirror join" in bob.mycel("mirror", "init", status=2)
    said = bob.mycel("mirror", "join")
    assert "on the branch knowledge" in said
    assert "For nails." in bob.mycel("concept", "get", "Tool:hammer")
    assert bob.git("status", "--porcelain") == ""

    # Bob edits a file, and his agent the graph; ordinary git sends it.
    hammer = bob.tool("hammer")
    hammer.write_text(hammer.read_text().replace("For nails.", "For nails and walls."))
    bob.git("commit", "-qam", "Walls too", folder=".knowledge")
    assert "1 changed" in bob.mycel("mirror", "import")
    bob.put("saw", '{"weight": 2}')
    bob.git("push", "-q", "origin", "knowledge")

    # Ada has changed the same tool meanwhile: her push has to wait.
    ada.put("hammer", '{"owner": "ada"}')
    assert "commits that the mirror lacks" in ada.mycel(
        "mirror", "push", "--remote", "origin", status=1
    )
    ada.git("fetch", "-q")
    assert "2 commits of the remote not imported." in ada.mycel("mirror", "status")
    assert "1 added, 1 changed" in ada.mycel("mirror", "import").replace("2 files: ", "")
    ada.mycel("mirror", "push", "--remote", "origin")
    log = run("log", "--db", str(ada.project / "shop.db")).stdout
    assert "bob" in log
    assert "Walls too" in log
    bob.mycel("mirror", "pull")
    tips = {each.git("rev-parse", "knowledge") for each in homes}
    assert len(tips) == 1
    for each in homes:
        text = each.tool("hammer").read_text()
        assert "For nails and walls." in text
        assert 'owner: "ada"' in text
        assert each.mycel("verify")

    # Both change one property: a conflict, which Mycel's merge settles.
    ada.put("saw", '{"weight": 3}')
    ada.mycel("mirror", "push", "--remote", "origin")
    bob.put("saw", '{"weight": 4}')
    assert "1 conflict in the merge" in bob.mycel("mirror", "pull", status=1)
    bob.mycel("resolve", "*", "theirs")
    bob.mycel("merge", "--continue")
    bob.mycel("mirror", "push")
    assert ada.mycel("mirror", "pull") == "No file was edited.\n"  # Bob took her value.
    assert len({each.git("rev-parse", "knowledge") for each in homes}) == 1
    assert "weight: 3" in bob.tool("saw").read_text()
    assert "at entry" in ada.mycel("mirror", "status")


def test_a_mirror_that_began_apart_takes_nothing_away(
    homes: tuple[Home, Home], tmp_path: Path
) -> None:
    ada, bob = homes
    bob.mycel("init")
    bob.mycel("define", "type", "Tool")
    bob.put("saw", '{"weight": 2}')
    # The branch is known from the clone alone; it was never checked out.
    assert "mycel mirror join" in bob.mycel("mirror", "init", status=2)
    assert not (bob.project / ".knowledge").exists()
    # A mirror elsewhere has a history of its own, and another one comes from the remote.
    apart = Home(bob._run, tmp_path / "carl", "carl")
    apart.mycel("init")
    bare = bob.git("config", "remote.origin.url")
    apart.mycel("mirror", "init", str(tmp_path / "notes"), "--remote", bare)
    assert "no commit in common" in apart.mycel("mirror", "pull", status=2)
    assert "no commit in common" in apart.mycel("mirror", "import", status=2)
    # Both have what the other had.
    bob.mycel("mirror", "join", "--merge")
    assert "hammer" in bob.mycel("concept", "get", "Tool:hammer")
    bob.git("push", "-q", "origin", "knowledge")
    ada.mycel("mirror", "pull")
    for home in homes:
        for name in ("hammer", "saw"):
            assert name in home.mycel("concept", "get", f"Tool:{name}")
