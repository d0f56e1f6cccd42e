"""The repository follows the graph, and never takes away what a person did."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

import mycel
from mycel.errors import ConstraintViolation, GitFailed, MycelError
from mycel.mirror import settings
from mycel.mirror.creation import exclude_folder
from mycel.mirror.follower import Follower
from mycel.mirror.repository import Repository
from mycel.mirror.sync import Upkeep
from tests.unit.mirror.conftest import Shop, git

LOGIN = "concepts/shop/auth/login.md"


def test_a_concept_is_a_file_that_a_person_can_read(shop: Shop) -> None:
    shop.knowledge.update(
        "auth/login",
        name="Log in",
        properties={"importance": "high", "tags": ["a", "b"], "no": None, "depth": {"x": [1, 2.5]}},
        metadata={"confidence": 0.9},
    )
    shop.create()
    assert shop.read(LOGIN) == (
        "---\n"
        "uri: concept://shop/auth/login\n"
        "type: Concept\n"
        'name: "Log in"\n'
        "properties:\n"
        '  depth: {"x":[1,2.5]}\n'
        '  importance: "high"\n'
        '  "no": null\n'
        "  tags:\n"
        '    - "a"\n'
        '    - "b"\n'
        "metadata:\n"
        "  confidence: 0.9\n"
        "relations:\n"
        '  - {relation: depends_on, target: "concept://shop/auth/session", weight: 0.5}\n'
        "---\n"
        "Users log in.\n"
        "Sessions last a day.\n"
        "\n"
        "<!-- mycel:relations -->\n"
        "- depends_on [shop/auth/session](session.md)\n"
        "<!-- /mycel:relations -->\n"
    )
    shop.check()


def test_git_log_tells_who_changed_what_and_why(shop: Shop) -> None:
    shop.create(authors={"ada": "Ada Lovelace <ada@example.org>"})
    shop.knowledge.update(
        "auth/login", content="Users log in.\nNo sessions.", message="No sessions\n\nThey leak."
    )
    shop.db.actor = "bob"
    shop.knowledge.add("auth/sso")
    shop.knowledge.delete("auth/session")
    pushed = shop.mirror.push()
    assert pushed.commits == 3
    shop.check()
    assert shop.git("log", "--format=%an <%ae> %s", "--reverse").splitlines() == [
        "Ada Lovelace <ada@example.org> Mirror the whole graph",
        "Ada Lovelace <ada@example.org> No sessions",
        "bob <bob@mycel.invalid> Add concepts/shop/auth/sso.md",
        "bob <bob@mycel.invalid> Change 2 files in concepts/shop/auth",
    ]
    message = shop.git("log", "-1", "--skip=2", "--format=%B")
    entry = next(shop.db.history.log(text="No sessions"))
    assert "They leak." in message
    assert f"Mycel-Seq: {entry.seq}\n" in message
    assert message.endswith("Mycel-Actor: ada")
    blame = shop.git("blame", "--porcelain", LOGIN).splitlines()
    assert blame.count("author Ada Lovelace") >= 1
    assert "+No sessions." in shop.git("diff", "HEAD~3", "HEAD~2").splitlines()
    assert shop.git("log", "-1", "--format=%at") == str(shop.clock.now // 1_000_000)


def test_a_burst_of_one_actor_is_one_commit_and_a_message_makes_one_of_all(shop: Shop) -> None:
    shop.create()
    shop.clock.step = 100_000
    for number in range(5):
        shop.knowledge.add(f"burst/{number}", message=f"Note {number}")
    shop.db.actor = "bob"
    shop.knowledge.add("burst/bob")
    assert shop.mirror.push().commits == 2
    subject, *_ = shop.git("log", "-1", "--skip=1", "--format=%B").splitlines()
    assert subject == "Note 0 (and 4 more)"
    shop.clock.step = 60_000_000
    shop.knowledge.add("late/1")
    shop.knowledge.add("late/2")
    assert shop.mirror.push("Two late notes").commits == 1
    assert shop.git("log", "-1", "--format=%s") == "Two late notes"
    assert shop.mirror.push() == shop.mirror.push()
    shop.check()


def _step(shop: Shop, chance: random.Random) -> None:
    """One change of the kinds that move files, or change those of others."""
    known, names = shop.knowledge, [f"part{n % 3}/Note {n}" for n in range(8)]
    one, other = (f"concept://shop/{chance.choice(names).replace(' ', '%20')}" for _ in range(2))
    match chance.randrange(9):
        case 0 | 1:
            known.add(
                one,
                content=chance.choice(("", "a\r\nb", "<<<<<<< ours\n", "---\nx: 1\n---", "text")),
            )
        case 2:
            known.link(one, "knows", other, weight=chance.random())
        case 3:
            known.delete(one)
        case 4:
            known.move(one, other)
        case 5:
            with shop.db.transaction() as tx:  # Another concept with the same name.
                if tx.get_concept("$ConceptType", "Twin") is None:
                    tx.define_type("Twin")
                tx.put_concept("Twin", one, {"n": chance.random()})
        case 6:
            with shop.db.transaction() as tx:  # A link about a link.
                link = next(iter(tx.links_about(known.get(one).id)))
                tx.define_predicate("doubts")
                tx.add_edge(tx.get_concept("Concept", other).id, "doubts", link.id)
        case 7:
            with shop.db.transaction() as tx:
                tx.retire(tx.get_concept("Twin", one).id)
        case _:
            shop.db.schema.apply(
                f"node Person {{ name: String @key\n age{chance.randrange(3)}: I32? }}\n",
                allow_removals=True,
            )


def test_catching_up_gives_the_tree_of_a_mirror_that_is_made_anew(shop: Shop, seed: int) -> None:
    chance = random.Random(seed)
    shop.create()
    done = 0
    for number in range(60):
        try:
            _step(shop, chance)
            done += 1
        except (MycelError, StopIteration, AttributeError):
            continue  # There was nothing to change.
        if number % 12 == 11:
            shop.mirror.push()
            shop.check()
    assert done > 20
    shop.mirror.push()
    shop.check()


def test_what_a_bootstrap_wrote_stays_out_until_somebody_adds_to_it(
    shop: Shop, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "cart.py").write_text("def add(item):\n    return item\n")
    from mycel.knowledge.bootstrap import bootstrap

    bootstrap(mycel.Knowledge(shop.db, workspace="shop", root=project), project)
    shop.create()
    assert not shop.file("resources").exists()
    assert shop.knowledge.get("file://shop/cart.py").properties["line_count"] == 2
    shop.knowledge.link("concept://shop/cart.py/add", "depends_on", "auth/session")
    shop.knowledge.update("file://shop/cart.py", properties={"owner": "bob"})
    shop.mirror.push()
    assert 'owner: "bob"' in shop.read("resources/file/shop/cart.py.md")
    assert "line_count" not in shop.read("resources/file/shop/cart.py.md")
    assert "depends_on" in shop.read("concepts/shop/cart.py/add.md")
    shop.check()


@pytest.mark.parametrize("before", [b"", b"caf\xe9", b"*.log\n"])
def test_the_ignored_files_of_a_project_stay_whatever_their_encoding(
    tmp_path: Path, before: bytes
) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    place = tmp_path / ".git/info/exclude"
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(before)
    exclude_folder(Repository(tmp_path), tmp_path / "knowledge")
    lines = [*before.splitlines(), b"/knowledge/"]
    assert place.read_bytes() == b"".join(line + b"\n" for line in lines)


def test_a_mirror_in_a_project_leaves_branch_index_hooks_and_files_alone(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "code.py").write_text("1\n")
    (tmp_path / ".gitignore").write_text("shop.db*\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "code")
    (tmp_path / "code.py").write_text("2\n")
    (tmp_path / "staged.py").write_text("3\n")
    git(tmp_path, "add", "staged.py")
    for hook in ("post-checkout", "post-commit", "reference-transaction", "post-index-change"):
        path = tmp_path / ".git/hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
        path.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", f"touch {tmp_path}/hooked; false")
    for step in ("clean", "smudge"):
        git(tmp_path, "config", f"filter.own.{step}", f"touch {tmp_path}/hooked; cat")
    git(tmp_path, "config", "filter.own.required", "true")
    attributes = tmp_path / ".git/info/attributes"
    attributes.write_text("* filter=own\n")
    before = (tmp_path / ".git/index").read_bytes(), (tmp_path / ".git/HEAD").read_bytes()
    shop = Shop(tmp_path)
    shop.knowledge.add("auth/login", content="x")
    shop.create()
    shop.knowledge.add("auth/session")
    shop.mirror.push()
    assert before == ((tmp_path / ".git/index").read_bytes(), (tmp_path / ".git/HEAD").read_bytes())
    assert not (tmp_path / "hooked").exists()
    shutil.rmtree(tmp_path / ".git/hooks")
    git(tmp_path, "config", "--unset", "core.fsmonitor")
    attributes.unlink()
    shop.check()
    assert git(tmp_path, "status", "--porcelain") == " M code.py\nA  staged.py"
    assert git(tmp_path, "log", "--format=%s", "main") == "code"
    assert len(git(tmp_path, "log", "--format=%s", "knowledge").splitlines()) == 2
    assert git(tmp_path, "branch", "--show-current") == "main"
    shop.db.close()


def test_a_project_whose_objects_have_longer_names_has_a_mirror_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    shop = Shop(tmp_path)
    shop.knowledge.add("auth/login", content="x")
    shop.create()
    shop.knowledge.delete("auth/login")
    assert shop.mirror.push().commits == 1
    assert not shop.file(LOGIN).exists()
    shop.check()
    shop.db.close()


def test_objects_that_are_missing_are_not_fetched(shop: Shop, tmp_path: Path) -> None:
    """A repository may name a program for that, and the mirror would run it."""
    shop.create()
    own = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "away",
        "remote.away.promisor": "true",
        "remote.away.url": "ssh://away/there",
        "core.sshCommand": f"touch {tmp_path}/fetched; false",
    }
    for key, value in own.items():
        shop.git("config", key, value)
    shop.file(LOGIN).write_text("Edited.")
    name = shop.git("rev-parse", f"HEAD:{LOGIN}")
    (shop.folder / ".git/objects" / name[:2] / name[2:]).unlink()
    with pytest.raises(MycelError):
        shop.mirror.import_edits()
    assert not (tmp_path / "fetched").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipes_and_folders_in_the_place_of_files_are_named(shop: Shop) -> None:
    shop.create()
    shop.file(LOGIN).unlink()
    os.mkfifo(shop.file(LOGIN))
    assert "login.md' cannot be used: it is no plain file" in shop.mirror.status().problem
    with pytest.raises(ConstraintViolation, match="no plain file"):
        shop.mirror.import_edits()
    shop.file(LOGIN).unlink()
    shop.git("checkout", "-q", LOGIN)
    shop.file("concepts/shop/new.md").mkdir()
    shop.knowledge.add("new")
    with pytest.raises(ConstraintViolation, match="no plain file"):
        shop.mirror.push()


def test_an_edited_file_is_never_overwritten_and_others_go_on(shop: Shop) -> None:
    shop.create()
    edited = shop.read(LOGIN) + "By hand.\n"
    shop.file(LOGIN).write_text(edited)
    shop.file("concepts/shop/mine.md").write_text("not yet a concept")
    shop.knowledge.update("auth/session", content="Kept nowhere.")
    assert shop.mirror.push().commits == 1  # Another file: no harm.
    assert shop.mirror.status().edited == (LOGIN, "concepts/shop/mine.md")
    shop.knowledge.update("auth/login", content="By an agent.")
    with pytest.raises(ConstraintViolation, match=r"login\.md was edited") as refused:
        shop.mirror.push()
    assert "mycel mirror import" in refused.value.hint
    assert shop.read(LOGIN) == edited
    shop.knowledge.add("mine")
    shop.git("checkout", "-q", LOGIN)
    with pytest.raises(ConstraintViolation, match=r"mine\.md was edited"):
        shop.mirror.push()
    shop.file("concepts/shop/mine.md").unlink()
    assert shop.mirror.push().commits == 2
    shop.check()


def test_commits_of_a_person_are_waited_for(shop: Shop) -> None:
    shop.create()
    shop.file(LOGIN).write_text(shop.read(LOGIN) + "By hand.\n")
    shop.git("commit", "-qam", "By hand")
    shop.knowledge.add("other")
    with pytest.raises(ConstraintViolation, match="not in the graph yet"):
        shop.mirror.push()
    status = shop.mirror.status()
    assert (status.commits, status.edited, status.behind) == (1, (LOGIN,), 1)
    shop.git("reset", "-q", "--hard", "HEAD~1")
    shop.mirror.push()
    shop.check()


def test_a_rewritten_deleted_or_foreign_repository_is_named_and_can_be_written_again(
    shop: Shop, tmp_path: Path
) -> None:
    shop.create()
    shop.knowledge.add("one")
    shop.mirror.push()
    shop.git("checkout", "-q", "-b", "side")
    with pytest.raises(ConstraintViolation, match="is on side"):
        shop.mirror.push()
    shop.git("checkout", "-q", "main")
    shop.git("reset", "-q", "--hard", "HEAD~1")
    with pytest.raises(ConstraintViolation, match="was rewritten") as refused:
        shop.mirror.push()
    assert "mycel mirror init" in refused.value.hint
    assert "was rewritten" in shop.mirror.status().problem
    shop.create()
    shop.check()
    assert len(shop.git("log", "--format=%s").splitlines()) == 2  # Nothing was forced.
    shutil.rmtree(shop.folder)
    with pytest.raises(ConstraintViolation, match="is gone"):
        shop.mirror.push()
    shop.create()
    shop.check()
    (tmp_path / "other").mkdir()
    other = Shop(tmp_path / "other")
    config = settings.read(Path(shop.db.path))
    settings.write(Path(other.db.path), config)
    with pytest.raises(ConstraintViolation, match="another graph"):
        other.mirror.push()
    other.folder = shop.folder.parent
    with pytest.raises(ConstraintViolation, match="not empty"):
        other.create()
    other.db.close()


def test_a_project_in_the_place_of_the_mirror_keeps_its_files(shop: Shop) -> None:
    shop.create()
    shutil.rmtree(shop.folder)
    shop.folder.mkdir()
    shop.git("init", "-q", "-b", "main")
    shop.file("code.py").write_text("1\n")
    shop.git("add", ".")
    shop.git("commit", "-qm", "code")
    with pytest.raises(ConstraintViolation, match="is no mirror"):
        shop.create()
    assert shop.read("code.py") == "1\n"
    assert shop.git("log", "--format=%s") == "code"


def test_files_of_the_user_stay(shop: Shop) -> None:
    shop.create()
    own = {"README.md": "Hello", ".obsidian/app.json": "{}", "concepts/shop/cart.svg": "<svg/>"}
    for path, text in own.items():
        shop.file(path).parent.mkdir(exist_ok=True)
        shop.file(path).write_text(text)
    shop.git("add", "-A")
    shop.git("commit", "-qm", "Our own")
    shop.knowledge.update("auth/login", content="New.")
    shop.mirror.import_edits()
    shop.create()
    shop.db.purge(("Concept", "concept://shop/auth/session"), "asked to")
    assert shop.mirror.push().rebuilt == "purge"
    assert {path: shop.read(path) for path in own} == own
    assert set(own) < set(shop.git("ls-files").splitlines())
    assert shop.git("status", "--porcelain") == ""


def test_init_never_touches_another_branch(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(ConstraintViolation, match="no name of a Git branch"):
        shop.create(branch="a b")
    assert not settings.has_mirror(tmp_path / "shop.db")
    shop.create()
    shop.file(LOGIN).write_text("By hand")
    before = settings.read(tmp_path / "shop.db")
    with pytest.raises(ConstraintViolation, match="is on main, and the mirror on other"):
        shop.create(branch="other")
    assert settings.read(tmp_path / "shop.db") == before
    assert shop.read(LOGIN) == "By hand"
    shop.git("checkout", "-q", "-b", "other")
    shop.git("checkout", "-q", LOGIN)
    shop.create(branch="other")
    shop.check()
    shutil.rmtree(shop.folder)
    shop.folder.mkdir()
    shop.git("init", "-q", "-b", "main")
    shop.file("code.py").write_text("1\n")
    shop.git("add", ".")
    shop.git("commit", "-qm", "code")
    shop.file("code.py").write_text("2\n")
    with pytest.raises(ConstraintViolation, match="is on main"):
        shop.create()
    assert shop.read("code.py") == "2\n"


@pytest.mark.parametrize("is_project", [False, True])
def test_a_mirror_that_was_moved_with_its_graph_goes_on(tmp_path: Path, is_project: bool) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    if is_project:
        git(old, "init", "-q")
    shop = Shop(old)
    shop.knowledge.add("auth/login", content="x")
    shop.create()
    shop.db.close()
    old.rename(new)
    shop = Shop(new)
    shop.knowledge.add("auth/session", content="x")
    if is_project:  # A worktree knows the place of its repository.
        with pytest.raises(mycel.errors.MycelError):
            shop.mirror.push()
        mycel.Mirror.create(shop.db)
    shop.mirror.push()
    shop.check()
    (new / "shop.db@mirror.json").unlink()
    if is_project:
        shop.folder = shop.folder.rename(new / "moved")
    shop.create()
    shop.check()
    (new / "other").mkdir()
    other = Shop(new / "other")
    with pytest.raises(ConstraintViolation, match="no mirror of this graph"):
        mycel.Mirror.create(other.db, shop.folder)
    other.db.close()
    shop.db.close()


def test_a_purge_waits_for_edits_and_names_what_keeps_the_old_history(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.knowledge.add("secret", content="correct horse battery staple")
    shop.create()
    shop.git("tag", "v1")
    shop.db.purge(("Concept", "concept://shop/secret"), "asked to")
    shop.knowledge.update("auth/login", properties={"owner": "bob"})
    shop.file(LOGIN).write_text(shop.read(LOGIN) + "By hand.\n")
    with pytest.raises(ConstraintViolation, match="was edited"):
        shop.mirror.push()
    with monkeypatch.context() as killed:
        killed.setattr(Upkeep, "_remove_replaced", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            shop.mirror.import_edits()
    pushed = shop.mirror.push()
    assert pushed.rebuilt == "purge"
    assert any("refs/tags/v1" in note and "still has" in note for note in pushed.notes)
    assert shop.mirror.push().rebuilt == ""
    assert "By hand." in shop.read(LOGIN)
    assert 'owner: "bob"' in shop.read(LOGIN)
    shop.check()


def test_a_purge_writes_the_history_anew_and_says_so(shop: Shop) -> None:
    shop.knowledge.add("secret", content="correct horse battery staple")
    shop.create()
    shop.knowledge.update("secret", content="correct horse battery staple 2")
    shop.mirror.push()
    shop.db.purge(("Concept", "concept://shop/secret"), "asked to")
    pushed = shop.mirror.push()
    assert pushed.rebuilt == "purge"
    assert any("Clones and remotes" in note for note in pushed.notes)
    shop.check()
    assert shop.git("log", "--format=%s") == "Mirror the whole graph"
    objects = shop.git("cat-file", "--batch-all-objects", "--batch")
    assert "battery staple" not in objects


def test_a_graph_in_memory_has_no_mirror(tmp_path: Path) -> None:
    with (
        mycel.open(core_capsules=False) as db,
        pytest.raises(ConstraintViolation, match="in memory has no mirror"),
    ):
        mycel.Mirror.create(db, tmp_path / "mirror")


def test_nothing_leads_out_of_the_folder(shop: Shop, tmp_path: Path) -> None:
    shop.create()
    outside = tmp_path / "outside"
    shutil.move(shop.file("concepts/shop/auth"), outside)
    shop.file("concepts/shop/auth").symlink_to(outside)
    shop.knowledge.update("auth/login", content="Elsewhere?")
    with pytest.raises(ConstraintViolation, match="symbolic link"):
        shop.mirror.push()
    assert "Elsewhere?" not in (outside / "login.md").read_text()


def test_a_push_sends_commits_to_a_remote_and_never_forces_it(shop: Shop, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    shop.create(remote=str(remote))
    assert shop.mirror.push().remote == str(remote)
    assert git(remote, "rev-parse", "main") == shop.git("rev-parse", "HEAD")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-b", "main", str(remote), str(clone))
    git(clone, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(clone, "push", "-q")
    shop.knowledge.add("late")
    with pytest.raises(mycel.errors.GitFailed, match="push failed") as refused:
        shop.mirror.push()
    assert "never forces" in refused.value.hint
    assert git(remote, "log", "-1", "--format=%s", "main") == "theirs"
    with pytest.raises(mycel.errors.GitFailed):
        shop.mirror.push(remote=f"ext::touch {tmp_path}/pwned")
    assert not (tmp_path / "pwned").exists()


def test_a_follower_writes_after_a_pause_and_what_is_left_when_it_ends(shop: Shop) -> None:
    shop.create()
    follower = Follower(shop.db)
    follower._stop.set()  # The test is the clock.
    follower._thread.join()
    follower._look(0.0)
    follower._look(1.0)
    shop.knowledge.add("one")
    follower._look(2.0)
    assert not shop.file("concepts/shop/one.md").exists()
    follower._look(3.0)
    assert shop.file("concepts/shop/one.md").exists()
    for number in range(12):
        shop.knowledge.add(f"busy/{number}")
        follower._look(10.0 + number)
    assert shop.file("concepts/shop/busy/3.md").exists()
    follower = Follower(shop.db)
    shop.knowledge.add("last")
    follower.close()
    follower.close()
    shop.check()


def test_a_lock_of_a_killed_git_is_named_and_one_of_a_killed_creation_is_removed(
    shop: Shop,
) -> None:
    shop.create()
    shop.knowledge.add("auth/token")
    for lock in (".git/index.lock", ".git/refs/heads/main.lock"):
        shop.file(lock).touch()
        with pytest.raises(GitFailed) as told:
            shop.mirror.push()
        assert told.value.hint.endswith(f"remove the file {shop.file(lock)}")
        shop.file(lock).unlink()
    shop.mirror.push()
    shop.check()
    # As if the process had been killed in `git init`.
    path = Path(shop.db.path).resolve()
    settings.write(path, settings.read(path)._replace(is_complete=False))
    shutil.rmtree(shop.folder)
    shop.file(".git").mkdir(parents=True)
    shop.file(".git/config.lock").touch()
    shop.create()
    shop.check()
