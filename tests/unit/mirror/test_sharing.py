"""Two people share a graph through Git: nothing is lost, nothing is forced, and both end equal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.errors import ConstraintViolation, NotFound
from mycel.model.records import concept_key
from tests.unit.mirror.conftest import git
from tests.unit.mirror.sharing import BRANCH, Person

LOGIN = "concepts/shop/auth/login.md"


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Person, Person]]:
    """Ada, who has begun, and Bob, who has joined."""
    ada, bob = Person(tmp_path / "ada", "ada"), Person(tmp_path / "bob", "bob")
    ada.knowledge.add("auth/login", content="Users log in.\n\nSessions last a day.")
    ada.knowledge.add("auth/session", content="Kept in Redis.", properties={"ttl": 1})
    ada.knowledge.link("auth/login", "depends_on", "auth/session", weight=0.5)
    ada.begin(tmp_path / "shared.git")
    bob.join(tmp_path / "shared.git")
    yield ada, bob
    ada.db.close()
    bob.db.close()


def check_equal(*people: Person) -> None:
    first = people[0]
    for each in people:
        each.check()
        assert each.documents() == first.documents()
        assert each.tip == first.tip
        assert each.db.verify().ok


def edit(person: Person, path: str, old: str, new: str) -> None:
    text = person.read(path)
    assert old in text
    person.file(path).write_text(text.replace(old, new))


def test_a_clone_joins_an_empty_graph_and_takes_the_same_commit(
    pair: tuple[Person, Person],
) -> None:
    ada, bob = pair
    check_equal(ada, bob)
    assert bob.knowledge.get("auth/login").content.startswith("Users log in.")
    (relation,) = bob.knowledge.relations("auth/login")
    assert (relation.relation, relation.weight) == ("depends_on", 0.5)
    entry = next(bob.db.history.log())
    assert (entry.actor, "Git-Commit: " in entry.message) == ("ada", True)
    assert bob.mirror.push().commits == 0


def test_graph_files_and_commits_of_both_meet(pair: tuple[Person, Person]) -> None:
    ada, bob = pair
    bob.knowledge.add("cart", content="Of Bob's agent.")
    edit(bob, LOGIN, "Users log in.", "All users log in.")
    bob.git("commit", "-qam", "All users")
    edit(bob, "concepts/shop/auth/session.md", "Redis", "memory")
    bob.mirror.import_edits(message="Memory")
    bob.push()
    ada.knowledge.update("auth/login", properties={"owner": "ada"}, message="Owned")
    ada.mirror.push(remote="")
    edit(ada, LOGIN, "Sessions last a day.", "Sessions last an hour.")
    ada.sync()
    bob.sync()
    check_equal(ada, bob)
    login = ada.knowledge.get("auth/login")
    assert login.content == "All users log in.\n\nSessions last an hour."
    assert login.properties == {"owner": "ada"}
    assert ada.knowledge.get("cart").content == "Of Bob's agent."
    by = {entry.actor for entry in ada.db.history.log(text="Git-Commit")}
    assert by == {"Bob", "bob"}  # Of his commit with git, and of those of his mirror.
    assert {entry.actor for entry in bob.db.history.log(text="Owned")} == {"ada"}
    subjects = bob.git("log", "--format=%an %s").splitlines()
    assert "Bob All users" in subjects
    assert "ada Owned" in subjects


def test_a_merge_by_git_is_imported_and_two_properties_are_no_conflict_for_it(
    pair: tuple[Person, Person],
) -> None:
    ada, bob = pair
    bob.knowledge.update("auth/session", properties={"ttl": 1, "size": 7})
    bob.knowledge.link("auth/session", "stored_in", "redis")
    bob.push()
    ada.knowledge.update("auth/session", properties={"ttl": 2, "owner": "ada"})
    ada.knowledge.link("auth/session", "checked_by", "audit")
    ada.mirror.push(remote="")
    ada.git("pull", "-q", "--no-rebase", "--no-edit")
    ada.mirror.import_edits()
    ada.push()
    bob.git("pull", "-q")
    bob.mirror.import_edits()
    check_equal(ada, bob)
    session = bob.knowledge.get("auth/session")
    assert session.properties == {"ttl": 2, "owner": "ada", "size": 7}
    assert len(bob.knowledge.relations("auth/session")) >= 2


def test_git_marks_one_property_that_both_changed_and_mycel_opens_a_conflict(
    pair: tuple[Person, Person],
) -> None:
    ada, bob = pair
    bob.knowledge.update("auth/session", properties={"ttl": 2, "size": 7})
    bob.push()
    ada.knowledge.update("auth/session", properties={"ttl": 3, "owner": "ada"})
    ada.mirror.push(remote="")
    with pytest.raises(AssertionError, match="assert"):
        ada.git("pull", "-q", "--no-rebase", "--no-edit")
    marked = ada.read("concepts/shop/auth/session.md")
    assert "<<<<<<< ours\n  ttl: 3\n" in marked
    assert "=======\n  ttl: 2\n>>>>>>> theirs\n" in marked
    assert '  owner: "ada"\n  size: 7\n' in marked
    with pytest.raises(ConstraintViolation, match="not finished a merge") as refused:
        ada.mirror.import_edits()
    assert "git merge --abort" in refused.value.hint
    ada.git("merge", "--abort")
    imported = ada.mirror.import_edits()
    assert imported.merge is not None
    (conflict,) = imported.merge.conflicts
    assert (conflict.base, conflict.ours, conflict.theirs) == (1, 3, 2)
    ada.knowledge.add("meanwhile")
    ada.mirror.push(remote="")  # The mirror goes on while the conflict is open.
    with pytest.raises(ConstraintViolation, match="open conflicts"):
        ada.mirror.import_edits()
    ada.db.merges.resolve(conflict, "theirs")
    ada.db.merges.commit()
    ada.push()
    bob.sync()
    check_equal(ada, bob)
    assert bob.knowledge.get("auth/session").properties == {"ttl": 2, "size": 7, "owner": "ada"}
    assert not ada.pull().files


def test_pulling_twice_before_pushing_takes_the_newest_and_keeps_what_is_ours(
    pair: tuple[Person, Person],
) -> None:
    """The common commit is then one that no state of the graph is equal to."""
    ada, bob = pair
    bob.knowledge.update("auth/session", properties={"ttl": 1, "mine": 1})
    ada.knowledge.update("auth/session", properties={"ttl": 2})
    ada.push()
    bob.pull()
    ada.knowledge.update("auth/session", properties={"ttl": 3}, content="Kept in a file.")
    ada.push()
    bob.pull()
    session = bob.knowledge.get("auth/session")
    assert session.properties == {"ttl": 3, "mine": 1}
    assert session.content == "Kept in a file."
    bob.knowledge.update("auth/session", content="Kept nowhere.")
    ada.knowledge.update("auth/session", content="Kept here and there.")
    ada.push()
    imported = bob.pull()
    assert imported.merge is not None
    (conflict,) = imported.merge.conflicts
    assert (conflict.ours, conflict.theirs) == ("Kept nowhere.", "Kept here and there.")
    bob.db.merges.resolve(conflict, "ours")
    bob.db.merges.commit()
    ada.knowledge.update("auth/session", properties={"ttl": 4})
    ada.push()
    bob.sync()
    ada.sync()
    check_equal(ada, bob)
    session = ada.knowledge.get("auth/session")
    assert (session.content, session.properties) == ("Kept nowhere.", {"ttl": 4, "mine": 1})


def test_both_add_the_same_note(pair: tuple[Person, Person]) -> None:
    ada, bob = pair
    ada.knowledge.add("note", content="Of both.", properties={"a": 1})
    bob.knowledge.add("note", content="Of both.", properties={"b": 2})
    ada.push()
    assert bob.pull().merge.status == "merged"  # type: ignore[union-attr]
    bob.push()
    ada.sync()
    check_equal(ada, bob)
    assert ada.knowledge.get("note").properties == {"a": 1, "b": 2}
    ada.knowledge.add("other", content="Of Ada.")
    bob.knowledge.add("other", content="Of Bob.")
    ada.push()
    (conflict,) = bob.pull().merge.conflicts  # type: ignore[union-attr]
    bob.db.merges.resolve(conflict, "theirs")
    bob.db.merges.commit()
    bob.push()
    ada.sync()
    check_equal(ada, bob)
    assert bob.knowledge.get("other").content == "Of Ada."


def test_one_renames_and_the_other_edits(pair: tuple[Person, Person]) -> None:
    ada, bob = pair
    before = bob.knowledge.get("auth/session").id
    ada.knowledge.move("auth/session", "auth/token")
    ada.knowledge.update("auth/token", content="Kept in memory.")
    bob.knowledge.update("auth/session", properties={"ttl": 9})
    bob.knowledge.add("cart")
    bob.knowledge.link("cart", "needs", "auth/session")
    ada.push()
    bob.sync()
    ada.sync()
    check_equal(ada, bob)
    token = bob.knowledge.get("auth/token")
    assert (token.id, token.content, token.properties) == (before, "Kept in memory.", {"ttl": 9})
    assert {each.target for each in ada.knowledge.relations("cart")} == {
        "concept://shop/auth/token"
    }
    # The former URI leads to the node.
    assert ada.knowledge.get("auth/session").uri == "concept://shop/auth/token"


def test_a_purge_reaches_the_other_and_does_not_come_back(pair: tuple[Person, Person]) -> None:
    ada, bob = pair
    ada.knowledge.add("secret", content="correct horse")
    ada.push()
    bob.pull()
    bob.knowledge.update("secret", content="correct horse battery")
    bob.knowledge.link("auth/login", "knows", "secret")
    bob.push()
    ada.db.purge(("Concept", "concept://shop/secret"), "asked to")
    pushed = ada.mirror.push(remote="")
    assert any("Git keeps old content" in note for note in pushed.notes)
    ada.sync()
    for number in range(3):
        bob.knowledge.add(f"more/{number}")
        bob.mirror.push(remote="")
    edit(bob, LOGIN, "Users log in.", "Users log in, twice.")
    bob.sync(accept_purges=True)
    ada.sync()
    bob.sync()
    check_equal(ada, bob)
    for person in pair:
        with pytest.raises(NotFound):
            person.knowledge.get("secret")
        assert b"correct horse" not in Path(person.db.path).read_bytes()
    assert "twice" in ada.knowledge.get("auth/login").content


def test_a_purge_by_others_needs_consent_and_removes_without_it(
    pair: tuple[Person, Person],
) -> None:
    ada, bob = pair
    ada.knowledge.add("secret", content="correct horse")
    ada.push()
    bob.pull()
    # Anybody who may push can write such a trailer.
    key = concept_key("Concept", "concept://shop/secret").hex()
    ada.git("rm", "-q", "concepts/shop/secret.md")
    ada.git("commit", "-q", "-m", f"Tidy up\n\nMycel-Purged: {key}")
    ada.git("push", "-q")
    bob.git("fetch", "-q")
    tried = bob.mirror.import_edits(dry_run=True, allow_deletions=True)
    imported = bob.pull(allow_deletions=True)
    assert tried.warnings == imported.warnings
    (warning,) = imported.warnings
    assert "`mycel purge concept://shop/secret`" in warning
    assert "--accept-purges" in warning
    assert not bob.knowledge.has("secret")
    past = bob.db.history.versions(("Concept", "concept://shop/secret"))
    assert [each.kind for each in past] == ["put_concept", "retire_concept"]
    commit = next(iter(bob.db.history.log(limit=1))).commit
    bob.db.history.revert(commit)
    assert bob.knowledge.get("secret").content == "correct horse"


def test_many_purges_by_others_are_named_in_part_and_counted(pair: tuple[Person, Person]) -> None:
    ada, bob = pair
    names = [f"secret{number}" for number in range(8)]
    for name in names:
        ada.knowledge.add(name, content="correct horse")
    ada.push()
    bob.pull()
    keys = [concept_key("Concept", f"concept://shop/{name}").hex() for name in names]
    ada.git("rm", "-q", *(f"concepts/shop/{name}.md" for name in names))
    ada.git("commit", "-q", "-m", "Tidy up\n\n" + "\n".join(f"Mycel-Purged: {k}" for k in keys))
    ada.git("push", "-q")
    warnings = bob.pull(allow_deletions=True).warnings
    assert len(warnings) == 6
    assert all("`mycel purge concept://shop/secret" in each for each in warnings[:5])
    assert warnings[5].startswith("3 more concepts purged")
    assert not any(map(bob.knowledge.has, names))


SCHEMA = "node Drug {\n  name: String @key\n  dose_mg: I32?\n}\n"


def test_a_schema_reaches_others_with_the_files(pair: tuple[Person, Person]) -> None:
    ada, bob = pair
    ada.db.schema.apply(SCHEMA)
    with ada.db.transaction() as tx:
        tx.put_concept("Drug", "Aspirin", {"name": "Aspirin", "dose_mg": 500})
    ada.push()
    imported = bob.pull()
    assert "schema/Drug.pg" in imported.files
    assert bob.db.schema.catalog.ir_hash == ada.db.schema.catalog.ir_hash
    assert bob.db.get_concept("Drug", "Aspirin") is not None
    bob.push()
    ada.sync()
    check_equal(ada, bob)
    # An edit by hand, a new type, and a row of it, in one commit of somebody else.
    edit(bob, "schema/Drug.pg", "dose_mg: I32?", "dose_mg: I32?\n  atc: String?")
    bob.file("schema/Symptom.pg").write_text("node Symptom { name: String @key }\n")
    (row,) = (path for path in bob.documents() if "Aspirin" in path)
    edit(bob, row, "dose_mg: 500", "dose_mg: 500\n  atc: B01AC06")
    bob.git("add", "-A")
    bob.git("commit", "-q", "-m", "More about drugs")
    bob.git("push", "-q")
    ada.pull()
    assert {each.name for each in ada.db.schema.catalog.types} == {"Drug", "Symptom"}
    drug = ada.db.get_concept("Drug", "Aspirin")
    assert drug is not None
    assert drug.attributes["atc"] == "B01AC06"
    assert ada.db.schema.history()[-1].actor == "Bob"
    ada.push()
    bob.sync()
    ada.sync()
    check_equal(ada, bob)


def test_a_schema_is_taken_by_a_graph_that_joins(tmp_path: Path) -> None:
    ada, bob = Person(tmp_path / "ada", "ada"), Person(tmp_path / "bob", "bob")
    ada.db.schema.apply(SCHEMA)
    with ada.db.transaction() as tx:
        tx.put_concept("Drug", "Aspirin", {"name": "Aspirin", "dose_mg": 500})
    ada.begin(tmp_path / "shared.git")
    bob.join(tmp_path / "shared.git")
    assert bob.db.schema.catalog.ir_hash == ada.db.schema.catalog.ir_hash
    assert bob.db.get_concept("Drug", "Aspirin") is not None
    bob.push()
    ada.sync()
    check_equal(ada, bob)
    ada.db.close()
    bob.db.close()


def test_a_schema_that_needs_a_decision_is_refused_and_nothing_is_imported(
    pair: tuple[Person, Person],
) -> None:
    ada, bob = pair
    ada.db.schema.apply(SCHEMA)
    with ada.db.transaction() as tx:
        tx.put_concept("Drug", "Aspirin", {"name": "Aspirin"})
    ada.push()
    bob.sync()
    ada.sync()
    before = ada.db.snapshot()
    for old, new, word in (
        ("dose_mg: I32?", "dose_mg: I32", "dose_mg"),  # The row has none.
        ("dose_mg: I32?", "dose_mg: Nothing", "Nothing"),
        ("node Drug", "nod Drug", "schema/Drug.pg"),
    ):
        edit(ada, "schema/Drug.pg", old, new)
        edit(ada, LOGIN, "Users log in.", "Users log in, twice.")
        for dry_run in (True, False):
            with pytest.raises(ConstraintViolation) as caught:
                ada.mirror.import_edits(dry_run=dry_run)
            assert word in caught.value.message
        assert ada.db.snapshot() == before
        ada.git("checkout", "-q", ".")
    # A type goes only with consent.
    ada.file("schema/Drug.pg").unlink()
    for dry_run in (True, False):
        with pytest.raises(ConstraintViolation, match="remove types") as caught:
            ada.mirror.import_edits(dry_run=dry_run)
        assert "--allow-deletions" in caught.value.hint
    assert ada.mirror.import_edits(dry_run=True, allow_deletions=True).files == ("schema/Drug.pg",)
    ada.git("checkout", "-q", ".")
    # Both have changed it.
    edit(bob, "schema/Drug.pg", "dose_mg: I32?", "dose_mg: I32?\n  atc: String?")
    bob.mirror.import_edits()
    bob.push()
    ada.db.schema.apply(SCHEMA.replace("I32?", "I32?\n  class: String?"))
    ada.mirror.push(remote="")
    with pytest.raises(ConstraintViolation, match=r"schema/Drug\.pg.*changed this declaration too"):
        ada.pull()


def test_commits_of_several_authors_keep_their_names_and_times(
    pair: tuple[Person, Person],
) -> None:
    ada, bob = pair
    for number, name in enumerate(("Cem", "Dora", "Cem")):
        path = f"concepts/shop/by/{name.lower()}{number}.md"
        bob.file(path).parent.mkdir(exist_ok=True)
        bob.file(path).write_text(f"Written by {name}.\n")
        bob.git("add", "-A")
        date = f"2026-01-0{number + 1}T12:00:00Z"
        bob.git("commit", "-q", "-m", f"Note {number}", f"--author={name} <x@y>", "--date", date)
    bob.git("push", "-q")
    ada.pull()
    written = {
        each.actor: each.message
        for each in ada.db.history.log(limit=2)
        if each.message.startswith("Note")
    }
    assert set(written) == {"Cem", "Dora"}
    assert "2026-01-02T12:00:00Z" in written["Dora"]
    assert "2026-01-01T12:00:00Z" in written["Cem"]
    assert "2026-01-03T12:00:00Z" in written["Cem"]
    assert "Dora" not in written["Cem"]


def test_a_restored_backup_joins_and_gets_what_came_since(
    pair: tuple[Person, Person], tmp_path: Path
) -> None:
    ada, bob = pair
    ada.db.backup(tmp_path / "backup.db")
    ada.knowledge.update("auth/session", content="Kept in memory.")
    ada.push()
    bob.knowledge.add("cart")
    bob.sync()
    ada.sync()
    eve = Person.__new__(Person)
    home = tmp_path / "eve"
    home.mkdir()
    mycel.restore(tmp_path / "backup.db", home / "shop.db")
    eve.name, eve.home = "eve", home
    super(Person, eve).__init__(home, actor="eve")
    eve.knowledge.add("own", content="Since the backup.")
    eve.join(tmp_path / "shared.git")
    assert eve.knowledge.get("auth/session").content == "Kept in memory."
    eve.push()
    ada.sync()
    check_equal(ada, eve)
    assert ada.knowledge.get("own").content == "Since the backup."
    eve.db.close()


def test_a_branch_in_the_repository_of_a_project_is_joined_there(tmp_path: Path) -> None:
    bare = tmp_path / "project.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    people = [Person(tmp_path / name, name) for name in ("ada", "bob")]
    ada, bob = people
    git(ada.home, "init", "-q", "-b", "main")
    (ada.home / ".gitignore").write_text("shop.db*\n")
    git(ada.home, "add", ".gitignore")
    git(ada.home, "commit", "-qm", "code")
    git(ada.home, "remote", "add", "origin", str(bare))
    git(ada.home, "push", "-q", "origin", "main")
    ada.knowledge.add("auth/login", content="x")
    ada.create()
    git(ada.home, "push", "-q", "origin", "knowledge")
    git(bob.home, "init", "-q", "-b", "main")
    git(bob.home, "remote", "add", "origin", str(bare))
    git(bob.home, "fetch", "-q")
    git(bob.home, "checkout", "-q", "main")
    git(bob.home, "branch", "-q", "knowledge", "origin/knowledge")
    with pytest.raises(ConstraintViolation, match="has a branch 'knowledge' already") as refused:
        bob.create()
    assert "mycel mirror join" in refused.value.hint
    git(bob.home, "branch", "-q", "-D", "knowledge")
    mycel.Mirror.join(bob.db, bob.folder)
    check_equal(ada, bob)
    assert git(bob.home, "status", "--porcelain") == ""
    bob.knowledge.add("cart")
    assert bob.mirror.push().remote == "origin"
    assert ada.mirror.fetch() == "origin"
    ada.mirror.import_edits()
    check_equal(ada, bob)
    for person in people:
        person.db.close()


def test_a_graph_with_knowledge_of_its_own_is_asked_before_it_shares_it(
    pair: tuple[Person, Person], tmp_path: Path
) -> None:
    ada, _ = pair
    eve = Person(tmp_path / "eve", "eve")
    eve.knowledge.add("private", content="Of Eve.")
    eve.knowledge.add("auth/session", properties={"size": 3})
    with pytest.raises(ConstraintViolation, match="has 2 documents") as refused:
        eve.join(tmp_path / "shared.git")
    assert "--merge" in refused.value.hint
    mycel.Mirror.join(eve.db, eve.folder, merge=True)
    eve.push()
    ada.sync()
    check_equal(ada, eve)
    assert ada.knowledge.get("private").content == "Of Eve."
    assert ada.knowledge.get("auth/session").properties == {"ttl": 1, "size": 3}
    eve.db.close()


def test_a_remote_is_joined_without_a_clone_and_what_is_no_mirror_is_refused(
    pair: tuple[Person, Person], tmp_path: Path
) -> None:
    ada, _ = pair
    eve = Person(tmp_path / "eve", "eve")
    with pytest.raises(NotFound, match="no Git repository"):
        mycel.Mirror.join(eve.db, eve.folder)
    mycel.Mirror.join(eve.db, eve.folder, remote=str(tmp_path / "shared.git"))
    check_equal(ada, eve)
    eve.knowledge.add("cart")
    eve.mirror.push()
    ada.sync()
    check_equal(ada, eve)
    eve.db.close()
    git(tmp_path, "init", "-q", "-b", "main", "code")
    git(tmp_path / "code", "commit", "-q", "--allow-empty", "-m", "code")
    tom = Person(tmp_path / "tom", "tom")
    with pytest.raises(ConstraintViolation, match="is no mirror"):
        mycel.Mirror.join(tom.db, tmp_path / "code")
    tom.db.close()


def test_files_that_are_no_documents_are_merged_by_lines(pair: tuple[Person, Person]) -> None:
    ada, bob = pair
    ada.file("README.md").write_text("One\n\nTwo\n\nThree\n")
    ada.git("add", "README.md")
    ada.git("commit", "-qm", "Read me")
    ada.sync()
    bob.sync()
    for person, old, new in ((ada, "One", "1"), (bob, "Three", "3")):
        edit(person, "README.md", old, new)
        person.git("commit", "-qam", f"{old} is {new}")
        person.mirror.import_edits()
    ada.push()
    bob.sync()
    ada.sync()
    assert ada.tip == bob.tip
    assert bob.read("README.md") == "1\n\nTwo\n\n3\n"
    for person, new in ((ada, "two"), (bob, "zwei")):
        edit(person, "README.md", "Two", new)
        person.git("commit", "-qam", new)
        person.mirror.import_edits()
    ada.push()
    with pytest.raises(ConstraintViolation, match=r"README\.md was changed here and in the remote"):
        bob.pull()


def test_a_branch_that_git_has_pushed_is_sent_where_it_went(tmp_path: Path) -> None:
    bare = tmp_path / "shared.git"
    git(tmp_path, "init", "-q", "--bare", "-b", BRANCH, str(bare))
    ada = Person(tmp_path / "ada", "ada")
    ada.create()
    assert ada.mirror.push().to_dict().keys() == {"commits", "commit", "seq"}  # Nowhere to send it.

    ada.git("remote", "add", "origin", str(bare))
    unsent = ada.mirror.push()
    assert unsent.remote == ""
    assert "mirror push --remote origin" in unsent.notes[0]
    assert git(bare, "branch") == ""
    ada.git("push", "-q", "origin", BRANCH)
    ada.knowledge.add("auth/login", content="Users log in.")
    assert ada.mirror.push(remote="").remote == ""
    assert ada.mirror.push().remote == "origin"
    assert git(bare, "rev-parse", BRANCH) == ada.tip
    ada.db.close()
