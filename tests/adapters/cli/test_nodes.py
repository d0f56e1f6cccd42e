"""What people see of nodes that a bootstrap has written."""

import shutil
from pathlib import Path

import pytest

import mycel
from mycel.knowledge.bootstrap import bootstrap
from tests.adapters.cli.conftest import Run
from tests.cases import cases


@pytest.fixture(scope="module")
def _bootstrapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project, and beside it the graph that came of it."""
    folder = tmp_path_factory.mktemp("nodes") / "shop"
    folder.mkdir()
    (folder / "cart.py").write_text("class Cart: ...\n")
    with mycel.open(folder.with_suffix(".db"), durability="off") as db:
        bootstrap(mycel.Knowledge(db, workspace="shop", root=folder))
        with db.transaction() as tx:
            tx.define_type("Host")
            tx.put_concept("Host", "Cart host", {"bootstrap": "by PXE"})
    return folder


@pytest.fixture
def sources(_bootstrapped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph of a small project, named by MYCEL_DB."""
    monkeypatch.setenv("MYCEL_DB", str(tmp_path / "shop.db"))
    shutil.copy(_bootstrapped.with_suffix(".db"), tmp_path)
    return shutil.copytree(_bootstrapped, tmp_path / "shop")


@pytest.mark.usefixtures("sources")
@pytest.mark.parametrize(
    "words",
    [
        ("search", "cart"),
        ("find", "concept://shop", "--form", "full"),
        ("concept", "get", "file://shop/cart.py"),
        ("history", "file://shop/cart.py"),
    ],
    ids=lambda words: words[0],
)
def test_what_a_bootstrap_notes_for_itself_is_for_programs(
    run: Run, words: tuple[str, ...]
) -> None:
    shown = run(*words)
    assert "file://shop/cart.py" in shown.stdout + " ".join(words)
    assert '"wrote"' not in shown.stdout
    as_json = run(*words, "--json")
    assert '"wrote"' in as_json.stdout.replace("\\", "")


@pytest.mark.usefixtures("sources")
def test_an_attribute_of_the_same_name_elsewhere_is_shown(run: Run) -> None:
    assert "bootstrap: by PXE" in run("search", "host").stdout
    assert "by PXE" in run("concept", "get", "Host:Cart host").stdout


# Nodes by their URIs and paths.


def test_a_node_of_any_type_is_named_by_its_uri_or_by_its_path(
    run: Run, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sources)
    with mycel.open(sources.parent / "shop.db") as db:
        shop = mycel.Knowledge(db, workspace="shop", root=sources)
        shop.link("cart.py", "decided_in", "decisions/one")  # A node of the type Missing until now.
        shop.add("decisions/one", name="One cart", type="Decision")
        before = db.snapshot().seq
        shop.delete("decisions/one", reason="wrong")
    for named in ("concept://shop/decisions/one", "decisions/one"):
        then = run("concept", "get", named, "--as-of", before)
        assert (then.status, "One cart" in then.stdout) == (0, True)
        assert "wrong" in run("history", named).stdout


@pytest.mark.parametrize(
    "named", ["file://shop/cart.py", "cart.py", "./cart.py", "Resource:file://shop/cart.py"]
)
@pytest.mark.parametrize(
    "words", [("find",), ("traverse",), ("concept", "get"), ("history",), ("edge", "out")]
)
def test_a_file_is_named_by_its_uri_or_by_its_path(
    run: Run, sources: Path, monkeypatch: pytest.MonkeyPatch, named: str, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(sources)
    done = run(*words, named)
    assert done.status == 0
    assert done.stdout == run(*words, "file://shop/cart.py").stdout


@cases(
    ("typed", "named"),
    [
        ("concept://shop/sp ace", "concept://shop/sp%20ace"),
        ("concept://SHOP/sp%20ace", "concept://shop/sp%20ace"),
        ("CONCEPT://shop//./sp%20ace/", "concept://shop/sp%20ace"),
        ("file://shop/%63art.py", "file://shop/cart.py"),
    ],
)
@cases(
    "words",
    [("find",), ("traverse",), ("concept", "get"), ("history",), ("edge", "out"), ("prove",)],
)
def test_every_way_to_write_a_uri_names_the_node(
    run: Run, sources: Path, words: tuple[str, ...], typed: str, named: str
) -> None:
    with mycel.open(sources.parent / "shop.db") as db:
        mycel.Knowledge(db, workspace="shop").add("sp ace", content="Room.")
    done = run(*words, typed)
    assert done.status == 0
    assert done.stdout == run(*words, named).stdout


@pytest.mark.usefixtures("sources")
def test_a_name_that_is_no_normal_uri_is_still_found_as_it_is_written(run: Run) -> None:
    assert run("concept", "put", "Resource", "https://Example.org/A").status == 0
    assert run("concept", "get", "https://Example.org/A").status == 0


@pytest.mark.usefixtures("sources")
def test_a_uri_that_leads_out_of_its_workspace_is_refused(run: Run) -> None:
    done = run("traverse", "file://shop/../etc/passwd", "--json")
    assert (done.status, done.error["code"]) == (2, "KIP_1001")
    assert ".." in done.error["message"]


def test_a_path_means_a_concept_before_it_means_a_file(
    run: Run, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sources)
    assert run("concept", "get", "cart.py/Cart", "--json").object["type"] == "Symbol"
    assert run("concept", "get", ".", "--json").object["name"] == "concept://shop"


@pytest.mark.parametrize("path", ["nothing.py", "../cart.py", "Aspirin", "a b"])
def test_a_path_without_a_node_is_said_with_all_that_can_be_written(
    run: Run, sources: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(sources)
    done = run("find", path)
    assert done.status == 2
    assert "no path of a node" in done.stderr
    assert "src/cart.py" in done.stderr


def test_a_node_is_proven_by_its_uri_or_path(
    run: Run, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sources)
    by_name = run("prove", "Resource:file://shop/cart.py").object
    assert by_name["record"] is not None
    for named in ("file://shop/cart.py", "cart.py"):
        assert run("prove", named).object == by_name
    assert run("prove", "file://shop/nothing.py").status == 1
    assert run("prove", "Resource:file://shop/nothing.py").object["record"] is None
    run("prove", "cart.py", "--out", "proof.json")
    root = run("snapshot", "--json").object["overall_root"]
    checked = ("verify", "--proof", "proof.json", "--root", root)
    refused = run(*checked, "file://shop/cart.py")
    assert refused.status == 2
    assert "Resource:file://shop/cart.py" in refused.stderr
    assert run(*checked, "Resource:file://shop/cart.py").status == 0


# Searching.


@pytest.mark.usefixtures("sources")
def test_edges_come_after_concepts_in_a_search(run: Run) -> None:
    def found(*more: str) -> list[str]:
        return [each["id"][0] for each in run("search", "cart", "--json", *more).objects]

    both = found()
    assert both == sorted(both)
    assert set(both) == {"C", "P"}
    concepts = both.count("C")
    assert found("--limit", str(concepts)) == ["C"] * concepts
    assert set(found("--element", "edge")) == {"P"}
    assert set(found("--element", "concept")) == {"C"}
    assert found("--element", "edge", "--element", "concept") == both


def test_no_command_removes_a_node_of_another_workspace_by_a_short_name(
    run: Run, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sources)
    login = "concept://other/deep/login"
    with mycel.open(tmp_path / "shop.db") as db:
        mycel.Knowledge(db, workspace="shop").remember([{"uri": login}, {"uri": "mine"}])
    for words in (
        ("retire", "login"),
        ("merge", "login", "concept://shop/mine"),
        ("merge", "concept://shop/mine", "login"),
    ):
        assert run("concept", *words).status in (1, 2), words
    assert run("concept", "get", "login", "--json").object["name"] == login
    assert run("concept", "retire", login).status == 0


def test_a_note_at_the_uri_of_a_node_keeps_its_type_and_title(run: Run) -> None:
    write = ("note", "--uri", "d/p")
    assert run(*write, "Passkeys.", "--type", "Decision", "--name", "Login").status == 0
    assert run(*write, "Passkeys only.").status == 0
    shown = run("show", "d/p").stdout.splitlines()
    assert (shown[0].endswith("— Login"), shown[1].startswith("Decision, ")) == (True, True)
    assert "Passkeys only." in shown
    assert run(*write, "Passkeys only.", "--name", "Passkeys", "--type", "Risk").status == 0
    shown = run("show", "d/p").stdout.splitlines()
    assert (shown[0].endswith("— Passkeys"), shown[1].startswith("Risk, ")) == (True, True)
