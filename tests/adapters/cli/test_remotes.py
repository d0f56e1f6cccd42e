"""`mycel remote`, `clone`, `pull` and `push`."""

import json
from pathlib import Path

import pytest

import mycel
from mycel.remote.registry import RemoteEntry, RemoteRegistry
from tests.adapters.cli.conftest import Run
from tests.adapters.http.team import Team, team

__all__ = ["team"]


@pytest.fixture
def share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph in another folder, and an empty registry."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "share" / "shop.db"
    path.parent.mkdir()
    with mycel.open(path) as db:
        mycel.Knowledge(db, workspace="shop").add("auth", content="one")
    return path


def test_a_graph_is_cloned_pulled_and_pushed(run: Run, share: Path, tmp_path: Path) -> None:
    done = run("clone", str(share), "mine.db")
    assert (done.status, done.stdout.startswith("Cloned shop to ")) == (0, True), done.stderr
    assert run("clone", "shop", "mine.db").status == 1
    with mycel.open(share) as db:
        mycel.Knowledge(db, workspace="shop").add("there", content="two")
    mine = ("--db", str(tmp_path / "mine.db"))
    assert "entries arrived" in run(*mine, "pull").stdout
    assert run(*mine, "pull").stdout == "Nothing is missing here.\n"
    assert run(*mine, "note", "a thought", "--uri", "concept://shop/here").status == 0
    assert "`mycel push`" in run(*mine, "pull").stdout
    assert run(*mine, "push").stdout == "Pushed 2 changes to shop.\n"
    with mycel.open(share) as db:
        assert mycel.Knowledge(db, workspace="shop").has("here")
    assert run(*mine, "push").stdout == "shop has all of it.\n"
    (listed,) = run("remote", "list", "--json").objects
    assert (listed["graph"], listed["entries"] > 90) == (str(tmp_path / "mine.db"), True)
    share.rename(share.with_name("old.db"))
    with mycel.open(share) as db:
        mycel.Knowledge(db, workspace="shop").remember(
            [{"uri": f"n{number}", "content": "another history"} for number in range(50)]
        )
    refused = run(*mine, "pull")
    assert (refused.status, "rewritten" in refused.stderr) == (1, True), refused.stderr
    share.unlink()
    assert "share or stick" in run(*mine, "pull").stderr
    assert run("remote", "remove", "shop").status == 0
    assert run(*mine, "pull").status == 1


def test_a_clone_in_the_place_of_another_one_belongs_to_its_own_remote(
    run: Run, share: Path, tmp_path: Path
) -> None:
    other = share.with_name("zoo.db")
    with mycel.open(other) as db:
        mycel.Knowledge(db, workspace="zoo").add("lion", content="roars")
    mine = ("--db", str(tmp_path / "mine.db"))
    assert run("clone", str(share), "mine.db").status == 0
    (tmp_path / "mine.db").unlink()
    assert run("clone", str(other), "mine.db").status == 0
    graphs = {row["name"]: row["graph"] for row in run("remote", "list", "--json").objects}
    assert graphs == {"shop": "", "zoo": str(tmp_path / "mine.db")}
    assert run(*mine, "note", "a thought", "--uri", "concept://zoo/here").status == 0
    assert run(*mine, "push").stdout == "Pushed 2 changes to zoo.\n"
    with mycel.open(share) as db:
        assert not mycel.Knowledge(db, workspace="shop").has("concept://zoo/here")
    for command in ("pull", "push", "follow"):
        refused = run(*mine, command, "shop")
        assert refused.status == 1, command
    assert "shares no commit" in run(*mine, "pull", "shop").stderr
    assert "shares no commit" in run(*mine, "push", "shop").stderr
    assert "Nothing is missing" in run(*mine, "pull").stdout
    assert not list(tmp_path.glob("mine.db@remote-shop*"))


def test_the_registry_keeps_no_token_and_refuses_odd_addresses(
    run: Run, share: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("myc_secret")
    token.chmod(0o644)
    url = "https://graphs.example.org/ws/shop"
    assert run("remote", "add", "far", url, "--token-file", str(token)).status == 0
    entry = RemoteRegistry().get("far")
    with pytest.raises(mycel.errors.AccessDenied, match="Others may read"):
        entry.token()
    token.chmod(0o600)
    assert entry.token() == "myc_secret"
    assert "myc_secret" not in RemoteRegistry().path.read_text()
    assert json.loads(run("remote", "list", "--json").stdout)["url"] == url
    assert run("remote", "add", "far", url).status != 0
    for name, address in {
        "UPPER": url,
        "a/b": url,
        "x": "ftp://host/ws/x",
        "y": "https://user:pw@host/ws/y",
        "z": "https://host/ws/../x",
        "q": "https://host/ws/x?branch=y",
        "r": "file:///etc/passwd",
    }.items():
        assert run("remote", "add", name, address).status == 2, (name, address)
    monkeypatch.setenv("T", "myc_secret")
    with pytest.raises(mycel.errors.ConstraintViolation, match="in the clear"):
        RemoteEntry("x", "http://graphs.example.org/ws/x", token_env="T").token()
    assert RemoteEntry("x", "http://127.0.0.1:1/ws/x", token_env="T").token() == "myc_secret"
    RemoteRegistry().path.write_text("[workspaces.x]\nurl = 7\n")
    assert run("remote", "list").status == 2


def test_a_clone_has_its_own_workspace_under_any_path(
    run: Run, share: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert run("clone", str(share), "../mine.db", "--as", "other").status == 0
    mine = ("--db", "../mine.db")
    assert run(*mine, "note", "a thought", "--uri", "here", "--actor", "ada").status == 0
    assert "a thought" in run(*mine, "show", "concept://shop/here").stdout
    assert run(*mine, "push", "--actor", "ada").stdout == "Pushed 2 changes to other.\n"
    assert run(*mine, "pull").stdout == "Nothing is missing here.\n"
    with mycel.open(share) as db:
        assert next(iter(db.history.log(limit=1))).actor == "ada"
    assert run(*mine, "note", "an idea", "--actor", "ada").status == 0
    assert run(*mine, "push", "--propose", "--actor", "ada").status == 0
    with mycel.open(share) as db:
        assert [proposal.actor for proposal in db.proposals] == ["ada"]
    (listed,) = run("remote", "list", "--json").objects
    assert listed["graph"] == str(tmp_path / "mine.db")


def test_a_file_in_the_folder_of_a_server_has_its_own_workspace(run: Run, share: Path) -> None:
    assert run("token", "create", "ada", "--workspaces", str(share.parent)).status == 0
    assert run("--db", str(share), "note", "a thought", "--uri", "here").status == 0
    with mycel.open(share) as db:
        assert mycel.Knowledge(db, workspace="shop").has("here")


def test_a_token_for_a_workspace_that_is_not_there_says_so(run: Run, share: Path) -> None:
    create = ("token", "create", "ada", "--workspaces", str(share.parent))
    for words, absent in (
        (("--for", "shop"), []),
        (("--scope", "read://shop/**"), []),
        (("--for", "shop", "--for", "shopp"), ["shopp"]),
        (("--scope", "read://opps/**", "--for", "shop"), ["opps"]),
    ):
        made = run(*create, *words)
        assert made.status == 0
        assert made.stdout.startswith("myc_")
        assert [name for name in ("shop'", "shopp'", "opps'") if f"'{name}" in made.stderr] == [
            f"{name}'" for name in absent
        ]


def test_proposals_are_reviewed_where_they_wait(
    run: Run, team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MYCEL_DB", str(tmp_path / "mine.db"))
    team.add("shop")
    agent, ada = team.token("agent", "propose:/**"), team.token("ada", "write:/**")
    team.serve()
    assert team.server is not None
    monkeypatch.setenv("T", agent)
    listed = run("remote", "list", team.server.url, "--token-env", "T").stdout
    url = f"{team.server.url}/ws/shop"
    assert f"shop  {url}  read, propose" in listed
    assert run("clone", url, str(tmp_path / "mine.db"), "--token-env", "T").status == 0
    proposed = []
    for content in ("one", "two \x1b[31m", "three"):
        assert run("note", content, "--uri", "here", "--name", "Here").status == 0
        words = [] if content == "one" else ["--message", f"why {content}"]
        answer = run("push", *words, "--json")
        assert answer.status == 0, answer.stderr
        proposed.append(answer.object["proposal"])
    listed = run("proposal", "list")
    assert (listed.stdout, "--remote shop" in listed.stderr) == ("", True)
    there = ("--remote", "shop")
    assert [item["id"] for item in run("proposal", "list", *there, "--json").objects] == [
        *reversed(proposed)
    ]
    refused = run("proposal", "accept", proposed[0], *there)
    assert (refused.status, "may not" in refused.stderr) == (1, True)
    assert run("proposal", "comment", proposed[1], "please", *there).status == 0
    monkeypatch.setenv("T", ada)
    messages = [item["message"] for item in run("proposal", "list", *there, "--json").objects]
    assert messages == ["why three", "why two \x1b[31m", "add 1 $ConceptType, 1 Note"]
    shown = run("proposal", "show", proposed[1], *there).stdout
    assert "+ attributes.content: two" in shown
    assert "agent: please" in shown
    assert "\x1b" not in shown
    assert run("proposal", "accept", proposed[0], *there).status == 0
    clash = run("proposal", "accept", proposed[1], *there)
    assert (clash.status, "conflict" in clash.stderr) == (1, True)
    assert run("proposal", "reject", proposed[1], "--reason", "too late", *there).status == 0
    monkeypatch.setenv("T", agent)
    assert "too late" in run("proposal", "show", proposed[1], *there).stdout
    assert run("proposal", "withdraw", proposed[2], *there).status == 0
    assert run("proposal", "list", *there).stdout == ""
    assert run("proposal", "list", "--remote", "nowhere").status == 1
    monkeypatch.setenv("T", "myc_wrong")
    assert "`mycel remote list` shows its source" in run("pull").stderr


def test_proposals_in_a_file_are_reviewed_too(run: Run, share: Path, tmp_path: Path) -> None:
    assert run("clone", str(share), "mine.db").status == 0
    mine = ("--db", str(tmp_path / "mine.db"))
    assert run(*mine, "note", "a thought", "--uri", "here").status == 0
    pushed = run(*mine, "push", "--propose", "--json").object
    assert run(*mine, "proposal", "accept", pushed["proposal"], "--remote", "shop").status == 0
    with mycel.open(share) as db:
        assert mycel.Knowledge(db, workspace="shop").has("here")


def test_a_branch_and_a_part_are_cloned(
    run: Run, team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    with mycel.open(team.folder / "shop.db") as db:
        mycel.Knowledge(db, workspace="shop").add("auth", content="one")
        db.branches.create("draft")
    with mycel.open(team.folder / "shop.db", branch="draft") as db:
        mycel.Knowledge(db, workspace="shop").add("idea", content="a draft")
    monkeypatch.setenv("T", team.token("ada", "read:/**"))
    team.serve()
    assert team.server is not None
    url = f"{team.server.url}/ws/shop"
    for name, options in (("draft", ("--branch", "draft")), ("part", ("--path", "auth"))):
        clone = run("clone", url, f"{name}.db", "--as", name, "--token-env", "T", *options)
        assert clone.status == 0, clone.stderr
    with mycel.open(tmp_path / "draft.db") as draft, mycel.open(tmp_path / "part.db") as part:
        assert mycel.Knowledge(draft, workspace="shop").has("idea")
        assert mycel.Knowledge(part, workspace="shop").has("auth")
        assert not mycel.Knowledge(part, workspace="shop").has("idea")
    entries = [
        (entry["name"], entry["branch"], entry["path"], entry["graph"])
        for entry in run("remote", "list", "--json").objects
    ]
    assert entries == [
        ("draft", "draft", "", str(tmp_path / "draft.db")),
        ("part", "", "/auth/**", str(tmp_path / "part.db")),
    ]
