"""Which database a command works on, and how its options may be placed."""

import stat
import sys
from pathlib import Path

import pytest

from mycel.cli.commands import hook
from mycel.cli.console.context import Invocation
from mycel.workspaces import hashed_name
from tests.adapters.cli.conftest import Run


def path_of(run: Run, *words: str | Path) -> str:
    """Where the doctor says the database is."""
    findings = run(*words, "doctor", "--json").objects
    return str(next(each["detail"] for each in findings if each["check"] == "path"))


@pytest.mark.parametrize(
    "words",
    [
        ("--db", "x.db", "define", "type", "T", "--json"),
        ("define", "--db", "x.db", "--json", "type", "T"),
        ("define", "type", "T", "--json", "--db", "x.db"),
        ("--json", "define", "type", "--db", "x.db", "T"),
        ("--db", "nowhere.db", "define", "type", "T", "--json", "--db", "x.db"),
    ],
)
def test_shared_options_may_stand_anywhere_and_the_last_one_counts(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    run("--db", "x.db", "init")
    assert run(*words).object["changed"] is True
    assert not (tmp_path / "nowhere.db").exists()


def test_each_directory_has_a_database_of_its_own_at_home(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, names = [], []
    for parent in ("one", "two"):
        project = tmp_path / parent / "My Project"
        project.mkdir(parents=True)
        monkeypatch.chdir(project)
        made = run("init", "--json").object
        assert made["created"] is True
        names.append(made["workspace"])
        assert run("define", "type", f"In_{parent}").status == 0
        paths.append(Path(made["path"]))
    # Where another folder of the name was first, a hash of the path follows.
    assert names == ["my-project", hashed_name(project)]
    assert len(set(paths)) == 2
    assert {path.parent for path in paths} == {Path.home() / ".knowledge_engine"}
    assert all(path.exists() for path in paths)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_the_folder_at_home_is_private(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run("--workspace", "w", "init").status == 0
    assert stat.S_IMODE((tmp_path / ".knowledge_engine").stat().st_mode) == 0o700


def test_a_directory_without_letters_still_has_a_workspace() -> None:
    assert hashed_name(Path("/")).startswith("root-")
    assert hashed_name(Path("/日本")).startswith("root-")
    assert hashed_name(Path("/日本")) != hashed_name(Path("/中国"))


def test_the_command_line_counts_more_than_the_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYCEL_WORKSPACE", "from-env")
    assert "knowledge_from-env.db" in path_of(run)
    assert "from MYCEL_WORKSPACE" in path_of(run)
    monkeypatch.setenv("MYCEL_DB", str(tmp_path / "env.db"))
    assert path_of(run).startswith(f"{tmp_path / 'env.db'} (from MYCEL_DB)")
    assert "knowledge_typed.db" in path_of(run, "--workspace", "typed")
    assert path_of(run, "--db", tmp_path / "typed.db").endswith("typed.db (from --db)")


def test_a_tilde_in_the_environment_means_home(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYCEL_DB", "~/notes.db")
    assert path_of(run).startswith(str(Path.home() / "notes.db"))


def test_a_tilde_of_nobody_is_a_name_like_any_other(run: Run) -> None:
    assert "~nobody-of-this-name" in path_of(run, "--db", "~nobody-of-this-name/x.db")


def test_without_a_home_a_file_has_to_be_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    done = run("log")
    assert done.status == 2
    assert "--db" in done.stderr
    assert run("--db", tmp_path / "x.db", "init").status == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--db", "a.db", "--workspace", "b", "log"),
        ("--workspace", "../b", "log"),
        ("--workspace", "", "log"),
        ("--db", ":memory:", "init"),
    ],
)
def test_places_that_make_no_sense_are_refused(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.status == 2
    assert done.stderr.startswith("KIP_1001 InvalidSyntax: ")


def test_directories_are_made_at_home_only(run: Run, tmp_path: Path) -> None:
    refused = run("--db", tmp_path / "no" / "such" / "x.db", "init")
    assert refused.status == 1
    assert "There is no directory" in refused.stderr


@pytest.mark.usefixtures("graph")
def test_reading_leaves_no_files_beside_the_database(run: Run, graph: Path) -> None:
    for words in (("log",), ("find", "Drug:Aspirin"), ("doctor",), ("verify",)):
        assert run(*words).status == 0
        assert [path.name for path in graph.parent.iterdir()] == [graph.name]


def test_without_a_database_every_command_says_how_to_make_one(run: Run, tmp_path: Path) -> None:
    for words in (("log",), ("find", "C:2"), ("verify",), ("define", "type", "T")):
        done = run("--db", tmp_path / "none.db", *words)
        assert done.status == 1
        assert "mycel init" in done.stderr
        assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--db", "other.db"), "`mycel init --db other.db`"),
        (("--db", "my graph.db"), "`mycel init --db 'my graph.db'`"),
        (("--workspace", "none"), "`mycel init --workspace none`"),
        ((), "`mycel init`"),
    ],
)
def test_a_database_that_is_missing_is_created_with_the_same_options(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    done = run("kip", "DESCRIBE PRIMER", *words)
    assert done.status == 1
    assert f"Create one with {hint}." in done.stderr
    assert hint in run("capsule", "list", *words).stderr
    assert hint in run("doctor", *words).stdout


# The workspace of URIs.


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "My Shop"
    folder.mkdir()
    (folder / "README.md").write_text("# Shop")
    monkeypatch.chdir(folder)
    return folder


def uris(run: Run, *words: str) -> list[str]:
    return run("kip", 'FIND(?r.name) WHERE { ?r {type: "Resource"} }', "--json", *words).object[
        "result"
    ]


def test_the_file_and_its_uris_have_one_name(run: Run, shop: Path) -> None:
    assert run("bootstrap").status == 0
    assert uris(run) == ["file://my-shop/README.md"]
    assert "knowledge_my-shop.db" in path_of(run)
    # So has the second folder of the name; and a client that passes it on sees the same.
    other = shop.parent / "other" / "My Shop"
    other.mkdir(parents=True)
    (other / "a.md").write_text("# A")
    assert run("bootstrap", other).status == 0
    own = ("--workspace", hashed_name(other))
    assert uris(run, *own) == [f"file://{hashed_name(other)}/a.md"]


def test_databases_of_earlier_versions_are_found_with_their_uris(run: Run, shop: Path) -> None:
    old = hashed_name(shop)
    run("--workspace", old, "init")
    assert f"knowledge_{old}.db" in path_of(run)
    run("bootstrap")
    assert uris(run) == uris(run, "--workspace", old) == ["file://my-shop/README.md"]
    assert Invocation(options={"workspace": old}).workspace(shop) == "my-shop"


def test_below_a_folder_its_database_is_found_and_nearer_ones_come_first(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = shop / "src" / "deep"
    below.mkdir(parents=True)
    (below / "b.md").write_text("# B")
    run("bootstrap")
    monkeypatch.chdir(below)
    assert path_of(run).endswith(f"workspace my-shop, from the folder above, {shop})")
    # The same files under the same URIs, whichever folder it is called in.
    assert "0 files added" in run("bootstrap").stdout
    assert sorted(uris(run)) == ["file://my-shop/README.md", "file://my-shop/src/deep/b.md"]
    made = run("init", "--json").object
    assert (made["created"], made["workspace"]) == (True, "deep")
    assert "knowledge_deep.db" in path_of(run)
    monkeypatch.chdir(below.parent)
    assert "knowledge_my-shop.db" in path_of(run)


def test_a_folder_that_was_moved_is_told_where_its_graph_is(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("bootstrap")
    moved = shop.parent / "elsewhere" / "My Shop"
    moved.parent.mkdir()
    damaged = next(Path(path_of(run)).parent.glob("*my-shop*inode*"))
    shop.rename(moved)
    monkeypatch.chdir(moved)
    whole = damaged.read_bytes()
    for content in (b"\xff", b"1" * 10_000):
        damaged.write_bytes(content)
        assert run("log").status == 1
    damaged.write_bytes(whole)
    remedy = "`mycel init --workspace my-shop` goes on with the workspace of"
    done = run("log")
    assert done.status == 1
    assert f"If the folder was moved here: {remedy} {shop}." in done.stderr
    assert run("--workspace", "my-shop", "init").status == 0
    assert uris(run) == ["file://my-shop/README.md"]
    assert "0 files added" in run("bootstrap").stdout
    # A workspace whose folder is there stays with it.
    other = shop.parent / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    run("--workspace", "my-shop", "init")
    assert "knowledge_other.db" in path_of(run)


def test_a_folder_that_was_moved_goes_back_to_its_graph_after_a_new_one_was_made(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = shop.parent / "old" / "My Shop"
    folders = (shop.parent / f"new{number}" / "My Shop" for number in range(100))
    # The name of the new graph is behind that of the old one in the alphabet.
    moved = next(each for each in folders if hashed_name(each) > hashed_name(old))
    old.mkdir(parents=True)
    moved.parent.mkdir()
    run("init")
    run("bootstrap", old)
    old.rename(moved)
    monkeypatch.chdir(moved)
    made = run("bootstrap")
    remedy = f"`mycel init --workspace {hashed_name(old)}` goes on with the workspace of {old}"
    assert "A new graph is made for this folder." in made.stderr
    assert remedy in made.stderr
    assert hashed_name(moved) in path_of(run)
    run("init", "--workspace", hashed_name(old))
    assert hashed_name(old) in path_of(run)


@pytest.mark.parametrize("named", ["--workspace", "MYCEL_WORKSPACE"])
def test_a_workspace_that_was_named_is_the_one_of_uris(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    words = ("--workspace", "store") if named == "--workspace" else ()
    if not words:
        monkeypatch.setenv(named, "store")
    run("bootstrap", *words)
    assert uris(run, *words) == ["file://store/README.md"]


@pytest.mark.usefixtures("shop")
def test_a_file_that_was_named_takes_the_name_of_the_folder(run: Run) -> None:
    run("bootstrap", "--db", "x.db")
    assert "file://my-shop/README.md" in uris(run, "--db", "x.db")


def test_a_graph_on_a_server_has_its_own_workspace_and_no_process_for_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(hook, "is_off", lambda *_: False)
    monkeypatch.setattr(hook, "is_far", lambda: False)
    monkeypatch.setattr(hook.subprocess, "Popen", lambda words, **_: started.append(words))
    session = Invocation(options={"db": "postgresql://ada@db.example/team?workspace=shop"})
    assert session.workspace(tmp_path) == "shop"
    hook._keep_warm(session, session.place())
    assert started == []
    hook._keep_warm(Invocation(options={"db": "x.db"}), Invocation(options={"db": "x.db"}).place())
    assert len(started) == 1
