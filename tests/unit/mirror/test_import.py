"""Edits of files become a merge: all of it, or nothing."""

from datetime import UTC, datetime

import pytest

from mycel.errors import ConstraintViolation
from mycel.knowledge.uris import parse
from mycel.mirror.front_matter import UnreadableError, read_document
from mycel.mirror.paths import path_of
from tests.cases import each_case
from tests.unit.mirror.conftest import Shop
from tests.unit.mirror.test_paths import TRICKY

LOGIN = "concepts/shop/auth/login.md"
SESSION = "concepts/shop/auth/session.md"


def edit(shop: Shop, path: str, old: str, new: str) -> None:
    text = shop.read(path)
    assert old in text
    shop.file(path).write_text(text.replace(old, new), encoding="utf-8", newline="")


def test_edits_by_hand_reach_the_graph_and_come_back_in_their_form(shop: Shop) -> None:
    shop.knowledge.update("auth/login", properties={"importance": "high", "n": 1})
    shop.create()
    edit(shop, LOGIN, 'importance: "high"', "importance: low # by hand")
    edit(shop, LOGIN, "Sessions last a day.", "Sessions last an hour.")
    edit(shop, LOGIN, "weight: 0.5", "weight: 0.25")
    edit(
        shop,
        LOGIN,
        "relations:\n",
        "relations:\n  - relation: falls_back_to\n    target: concept://shop/help\n",
    )
    shop.file("concepts/shop/ideas/new.md").parent.mkdir()
    shop.file("concepts/shop/ideas/new.md").write_text("An idea\r\nof two lines", newline="")
    imported = shop.mirror.import_edits(by="eve")
    assert imported.merge is not None
    assert imported.merge.status == "merged"
    login = shop.knowledge.get("auth/login")
    assert login.properties == {"importance": "low", "n": 1}
    assert login.content == "Users log in.\nSessions last an hour."
    relations = {each.relation: each for each in shop.knowledge.relations("auth/login")}
    assert relations["depends_on"].weight == 0.25
    assert relations["falls_back_to"].missing == ("concept://shop/help",)
    assert shop.knowledge.get("ideas/new").content == "An idea\nof two lines"
    entry = next(shop.db.history.log())
    assert (entry.actor, entry.message) == ("eve", "Import 2 files of the mirror")
    shop.check()
    assert 'importance: "low"' in shop.read(LOGIN)
    assert not shop.mirror.import_edits().files
    assert shop.db.verify().ok


def test_renamed_files_changed_uris_and_deleted_files(shop: Shop) -> None:
    for number in range(20):
        shop.knowledge.add(f"note/{number}", content="x")
    before = shop.knowledge.get("auth/login").id
    shop.create()
    shop.file(SESSION).rename(shop.file("concepts/shop/elsewhere.md"))  # The same concept.
    edit(shop, LOGIN, "uri: concept://shop/auth/login", "uri: concept://shop/auth/signin")
    shop.file("concepts/shop/note/3.md").unlink()
    merge = shop.mirror.import_edits().merge
    assert merge is not None
    assert merge.diff.counts == {"added": 0, "removed": 1, "changed": 0, "moved": 1}
    assert shop.knowledge.get("auth/signin").id == before
    assert shop.knowledge.get("auth/session").content == "Kept in Redis."
    shop.check()
    assert shop.file(SESSION).exists()
    assert not shop.file("concepts/shop/elsewhere.md").exists()


def test_a_file_that_was_moved_out_of_its_folder_is_the_same_concept(shop: Shop) -> None:
    shop.create()
    before = shop.db.snapshot()
    shop.file("notes").mkdir()
    shop.file(SESSION).rename(shop.file("notes/session.md"))
    shop.file("notes/plain.md").write_text("No concept.")
    shop.git("add", "-A")
    shop.git("commit", "-qm", "Moved")
    assert shop.mirror.import_edits().files == (SESSION, "notes/session.md")
    assert shop.db.snapshot() == before
    assert "Redis" in shop.read(SESSION)
    assert shop.git("ls-files", "notes") == "notes/plain.md"
    assert shop.git("status", "--porcelain") == ""


def test_a_file_that_says_the_same_under_another_uri_has_moved(shop: Shop) -> None:
    for number in range(20):
        shop.knowledge.add(f"note/{number}", content="The same.")
    shop.create()
    ids = {name: shop.knowledge.get(name).id for name in ("auth/session", "note/3")}
    for old, new in (("auth/session", "kept/token"), ("note/3", "kept/3")):
        place = shop.file(f"concepts/shop/{new}.md")
        place.parent.mkdir(exist_ok=True)
        text = shop.read(f"concepts/shop/{old}.md")
        place.write_text(text.replace(f"concept://shop/{old}", f"concept://shop/{new}"))
        shop.file(f"concepts/shop/{old}.md").unlink()
    merge = shop.mirror.import_edits().merge
    assert merge is not None
    assert merge.diff.counts == {"added": 0, "removed": 0, "changed": 0, "moved": 2}
    assert shop.knowledge.get("kept/token").id == ids["auth/session"]
    assert shop.knowledge.get("kept/3").id == ids["note/3"]  # By the last part of its URI.
    (relation,) = shop.knowledge.relations("auth/login")
    assert relation.target == "concept://shop/kept/token"
    shop.check()


def test_new_files_may_define_types_have_capitals_and_be_about_relations(shop: Shop) -> None:
    shop.create()
    shop.file("kip/Person").mkdir(parents=True)
    shop.file("kip/type.md").write_text(
        '---\nuri: "kip:$ConceptType/Person"\ntype: $ConceptType\n---\n'
    )
    shop.file("kip/Person/ada.md").write_text("---\nuri: kip:Person/Ada\ntype: Person\n---\n")
    link = "{source: concept://shop/auth/login, relation: needs, target: concept://shop/My%20idea}"
    shop.file("concepts/shop/Doubt.md").write_text(
        f"---\nrelations:\n  - {{relation: doubts, target: {link}}}\n---\n"
    )
    shop.file("concepts/shop/My idea.md").write_text("An idea")
    with pytest.raises(ConstraintViolation, match=r"Doubt\.md: a relation 'doubts' is about a rel"):
        shop.mirror.import_edits()
    new = "relations:\n  - {relation: needs, target: concept://shop/My%20idea}\n"
    edit(shop, LOGIN, "relations:\n", new)
    merge = shop.mirror.import_edits().merge
    assert merge is not None
    assert merge.status == "merged"
    assert shop.knowledge.get("My%20idea").content == "An idea"
    assert shop.db.get(("Person", "Ada")) is not None
    assert "doubts" in shop.read(path_of("concept://shop/Doubt"))
    shop.check()


def test_edits_are_merged_with_what_the_graph_has_become(shop: Shop) -> None:
    shop.knowledge.update("auth/login", content="Users log in.\n\nSessions last a day.")
    shop.create()
    shop.knowledge.update("auth/login", properties={"owner": "bob"})
    shop.knowledge.update("auth/login", content="Users log in, fast.\n\nSessions last a day.")
    shop.knowledge.add("auth/sso")
    edit(shop, LOGIN, "Sessions last a day.", "Sessions last an hour.\nThen they end.")
    shop.git("commit", "-qam", "Shorter sessions")
    dry = shop.mirror.import_edits(dry_run=True)
    assert dry.merge is not None
    assert dry.merge.status == "clean"
    before = shop.clock.now
    shop.mirror.import_edits()
    login = shop.knowledge.get("auth/login")
    assert login.content == "Users log in, fast.\n\nSessions last an hour.\nThen they end."
    assert login.properties == {"owner": "bob"}
    shop.check()
    subjects = shop.git("log", "--format=%an %s").splitlines()
    assert "Eve Shorter sessions" in subjects
    # The import has Eve's commit, and what an agent did has one of its own.
    assert subjects[:2] == ["ada Change 2 files in concepts/shop/auth", "Eve Shorter sessions"]
    entry = next(shop.db.history.log())
    assert entry.actor == "Eve"
    commit, time = shop.git("log", "-1", "--skip=1", "--format=%H %at").split()
    moment = datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    line = f"Git-Commit: {commit[:12]} Eve <eve@example.org> {moment}"
    assert entry.message == f"Shorter sessions\n\n{line}"
    assert before < entry.time_us <= shop.clock.now  # The journal's own time is true.


def test_every_commit_is_named_also_where_somebody_else_has_changed_its_files_later(
    shop: Shop,
) -> None:
    shop.knowledge.update("auth/login", properties={"owner": "ada", "speed": "slow"})
    shop.create()
    for name, before, after in (("Dan", '"ada"', '"bob"'), ("Eve", '"slow"', '"fast"')):
        edit(shop, LOGIN, before, after)
        shop.git("commit", "-qam", f"By {name}", f"--author={name} <{name}@example.org>")
    shop.mirror.import_edits()
    entry = next(shop.db.history.log())
    assert (entry.actor, entry.message.partition("\n")[0]) == ("Eve", "By Dan; By Eve")
    assert [line.split()[2] for line in entry.message.splitlines()[2:]] == ["Dan", "Eve"]


def test_commits_that_were_pulled_with_a_rebase_are_imported(shop: Shop) -> None:
    shop.create()
    shop.git("checkout", "-q", "-b", "theirs")
    edit(shop, LOGIN, "Users log in.", "All users log in.")
    shop.git("commit", "-qam", "All of them")
    shop.git("checkout", "-q", "main")
    shop.knowledge.update("auth/session", content="Kept in memory.")
    shop.mirror.push()
    shop.git("rebase", "-q", "theirs")
    assert shop.mirror.status().commits == 1
    shop.mirror.import_edits()
    assert shop.knowledge.get("auth/login").content.startswith("All users")
    assert next(shop.db.history.log()).message.startswith("All of them\n\nGit-Commit: ")
    shop.check()
    shop.knowledge.add("auth/sso")
    shop.mirror.push()
    shop.git("reset", "-q", "--hard", "HEAD~2")
    with pytest.raises(ConstraintViolation, match="was rewritten"):
        shop.mirror.import_edits()


def test_a_contested_value_is_a_conflict_and_the_mirror_goes_on_when_it_is_settled(
    shop: Shop,
) -> None:
    shop.knowledge.update("auth/login", properties={"importance": "high"})
    shop.create()
    shop.knowledge.update("auth/login", properties={"importance": "medium"})
    edit(shop, LOGIN, '"high"', '"low"')
    imported = shop.mirror.import_edits()
    assert imported.merge is not None
    (conflict,) = imported.merge.conflicts
    assert (conflict.base, conflict.ours, conflict.theirs) == ("high", "medium", "low")
    with pytest.raises(ConstraintViolation, match="open conflicts"):
        shop.mirror.import_edits()
    with pytest.raises(ConstraintViolation, match="was edited"):
        shop.mirror.push()
    shop.db.merges.resolve(conflict, "ours")
    shop.db.merges.commit(message="Medium it is")
    shop.mirror.push()
    shop.check()
    assert '"medium"' in shop.read(LOGIN)
    edit(shop, LOGIN, '"medium"', '"none"')
    shop.knowledge.update("auth/login", properties={"importance": "all"})
    shop.mirror.import_edits()
    shop.db.merges.abort()
    assert shop.mirror.import_edits(policy="theirs").merge.status == "merged"  # type: ignore[union-attr]
    assert shop.knowledge.get("auth/login").properties == {"importance": "none"}
    shop.check()


FILE = """---
uri: concept://shop/auth/login
type: Concept
relations:
  - {relation: depends_on, target: "concept://shop/auth/session", weight: 0.5}
---
Users log in.
"""
UNREADABLE = [
    ("Users", "---\nuri: concept://shop/x\n---\nUsers", "7: it has a second front matter"),
    ("---\nUsers", "Users", "1: its front matter has no end"),
    ("type: Concept", "type: Concept\ntype: Note", "4: the key 'type' occurs twice"),
    ("type: Concept", "type: Concept\nstatus: done", "write it below `properties:`"),
    ("type: Concept", "type: [Concept", "4: "),
    ("shop/auth/login", "shop/../login", "2: The path"),
    ("concept://shop/auth/login", "login", "2: 'login' is no URI; write concept://WORKSPACE/PATH"),
    ("uri: concept", "uri: CONCEPT", "2: its URI is written concept://shop/auth/login"),
    ("weight: 0.5", "weight: 7", "from 0 to 1"),
    ("relation: ", "verb: ", "5: 'verb' is not a key of a relation"),
    ("type: Concept", "type: &a Concept\nname: *a", "aliases"),
    ("type: Concept", "type: !!python/name:os.system Concept", "3: tags"),
    ("type: Concept", "type: 7", "3: 'type' must be a word"),
    ("type: Concept", f"properties: {'[' * 200_000}{']' * 200_000}", "3: its front matter nests"),
    ("Users", "Users" * 300_000, "7: The properties have 1500022 bytes"),
    ("type: Concept", "... \ntype: Concept", "4: "),
    ("type: Concept", f"properties: {{a: {'[' * 200}{']' * 200}}}", "3: "),
    ("type: Concept", f"properties: {{n: {'9' * 30}}}", "3: The properties hold an integer"),
    ("type: Concept", f"properties: {{n: {'9' * 5000}}}", "3: a number has too many digits"),
    ("type: Concept", "properties: {n: 1e999}", "3: The properties hold inf"),
    ("type: Concept", "metadata: {_source: forged}", "3: '_source' is metadata of the engine"),
    ("weight: 0.5", "metadata: {_source: forged}", "'_source' is metadata of the engine"),
    ("Users", "\udcff", "7: it is not UTF-8"),
]


def test_a_file_that_cannot_be_read_is_refused_with_its_line() -> None:
    read_document("login.md", FILE.encode())
    with each_case() as case:
        for old, new, said in UNREADABLE:
            with case(said):
                written = FILE.replace(old, new, 1).encode(errors="surrogateescape")
                with pytest.raises(UnreadableError) as refused:
                    read_document("login.md", written)
                assert said in str(refused.value)


TWICE = '  - {relation: depends_on, target: "concept://shop/auth/session"}'
BAD = [
    ("Users log in.", "<<<<<<< HEAD\nUsers log in.", "login.md:7: it has a mark of a merge"),
    ("auth/login", "auth/session", "is the uri of concepts/shop/auth/login.md too"),
    ("relations:", f"relations:\n{TWICE}", "it has a relation twice"),
    ("concept://shop/auth/session", "kip:Person/Nobody", "there is no kip:Person/Nobody"),
]


def test_one_bad_file_keeps_all_others_out(shop: Shop) -> None:
    shop.create()
    before = shop.db.snapshot()
    with each_case() as case:
        for old, new, said in BAD:
            with case(said):
                shop.git("checkout", "-q", ".")
                edit(shop, LOGIN, old, new)
                edit(shop, SESSION, "---\nKept", "name: Fine\n---\nKept")
                with pytest.raises(ConstraintViolation) as refused:
                    shop.mirror.import_edits()
                assert said in refused.value.message
                assert refused.value.data["problems"]
                assert shop.db.snapshot() == before
                assert "name: Fine" in shop.read(SESSION)
    shop.git("checkout", "-q", ".")
    shop.file("concepts/copy.md").write_text(shop.read(LOGIN))
    with pytest.raises(ConstraintViolation, match=rf"copy\.md: .* is the uri of {LOGIN} too"):
        shop.mirror.import_edits()


def test_many_deletions_need_a_flag(shop: Shop) -> None:
    for number in range(30):
        shop.knowledge.add(f"note/{number}")
    shop.create()
    for number in range(10):
        shop.file(f"concepts/shop/note/{number}.md").unlink()
    with pytest.raises(ConstraintViolation, match="10 of ") as refused:
        shop.mirror.import_edits()
    assert "--allow-deletions" in refused.value.hint
    assert len(refused.value.data["deleted"]) == 10
    shop.mirror.import_edits(allow_deletions=True)
    assert len(shop.knowledge.get_many(["note/9", "note/10"])) == 2
    with pytest.raises(Exception, match="no node"):
        shop.knowledge.get("note/9")
    shop.check()


def test_a_file_that_was_emptied_or_lost_its_front_matter_is_asked_about(shop: Shop) -> None:
    shop.knowledge.add("plain", content="Nothing but text.")
    shop.create()
    before = shop.db.snapshot()
    texts = ("", " \n\n", "Users log in.\n", "---\n")
    with each_case() as case:
        for text in texts:
            with case(repr(text)):
                shop.file(LOGIN).write_text(text)
                with pytest.raises(ConstraintViolation, match=r"login\.md") as refused:
                    shop.mirror.import_edits()
                assert shop.db.snapshot() == before
                if "no end" not in refused.value.message:
                    assert refused.value.data["emptied"] == [LOGIN]
                    assert "--allow-deletions" in refused.value.hint
    shop.file(LOGIN).write_text("Users log in.\n")
    shop.mirror.import_edits(allow_deletions=True)
    assert shop.knowledge.get("auth/login").content == "Users log in."
    assert not shop.knowledge.relations("auth/login")
    shop.file("concepts/shop/plain.md").write_text("Other text, and no front matter.")
    shop.mirror.import_edits()
    assert shop.knowledge.get("plain").content == "Other text, and no front matter."
    shop.check()


def test_a_tilde_is_a_text_and_a_key_without_a_value_is_null(shop: Shop) -> None:
    shop.create()
    edit(shop, LOGIN, "relations:", "properties:\n  home: ~\n  none:\nrelations:")
    shop.mirror.import_edits()
    assert shop.knowledge.get("auth/login").properties == {"home": "~", "none": None}


def test_other_line_ends_tabs_and_forms_of_yaml_change_nothing(shop: Shop) -> None:
    shop.knowledge.update("auth/login", properties={"tags": ["a"], "deep": {"x": [1]}, "yes": "no"})
    shop.create()
    before = shop.db.snapshot()
    text = shop.read(LOGIN)
    written = (
        "\ufeff---\nuri: 'concept://shop/auth/login'\ntype: Concept\nproperties:\n"
        "\tyes: no\n\ttags: [a]\n\tdeep:\n\t\tx:\n\t\t- 1\nrelations:\n"
        "- relation: depends_on\n  target: concept://shop/auth/session\n  weight: 5e-1\n---\n"
        "Users log in.\nSessions last a day.\n"
    )
    shop.file(LOGIN).write_bytes(written.replace("\n", "\r\n").encode())
    assert shop.mirror.import_edits().merge is None
    assert shop.db.snapshot() == before
    assert shop.read(LOGIN) == text
    shop.check()


def test_names_of_every_kind_go_to_files_and_back(shop: Shop) -> None:
    uris = [parse(each, "").text for each in TRICKY]
    nodes = [each for each in uris if not each.startswith("kip:")]
    with shop.db.transaction() as tx:
        for uri in uris:
            type_name, name = "Resource", uri
            if uri.startswith("kip:"):
                type_name, _, name = uri.removeprefix("kip:").partition("/")
            elif uri.startswith("concept:"):
                type_name = "Concept"
            if tx.get_concept("$ConceptType", type_name) is None:
                tx.define_type(type_name)
            tx.put_concept(type_name, name, {"n": 1})
    shop.create()
    shop.check()
    for uri in uris:
        edit(shop, path_of(uri), '  "n": 1', '  "n": 2')
    shop.mirror.import_edits()
    shop.check()
    assert {shop.knowledge.get(uri).properties["n"] for uri in nodes} == {2}
    rows = shop.db.execute('FIND(?p.attributes.n) WHERE { ?p {type: "Person"} }').value
    assert set(rows) == {2}


def shop_with_city(shop: Shop) -> None:
    """A document that has a property, and the schema file that declares it, both edited."""
    shop.db.schema.apply("node Person {\n  name: String @key\n}\n")
    with shop.db.transaction() as tx:
        tx.put_concept("Person", "Ada", {"name": "Ada"})
    shop.create()
    (path,) = [each for each in shop.git("ls-files").split() if "Ada" in shop.read(each)]
    text = shop.read(path)
    shop.file(path).write_text(text.replace("\n---", "\nproperties:\n  city: Ulm\n---", 1))
    edit(shop, "schema/Person.pg", "name: String @key", "name: String @key\n  city: String?")


def test_an_edited_schema_and_the_documents_that_need_it_are_one_transaction(shop: Shop) -> None:
    shop_with_city(shop)
    commits = len(list(shop.db.history.log()))
    tried = shop.mirror.import_edits(dry_run=True)
    assert tried.merge is not None
    assert (tried.merge.status, tried.warnings) == ("clean", ())
    imported = shop.mirror.import_edits()
    assert imported.merge is not None
    assert (imported.merge.status, imported.warnings) == ("merged", ())
    assert len(list(shop.db.history.log())) == commits + 1
    ada = shop.db.get_concept("Person", "Ada")
    assert ada is not None
    assert ada.attributes["city"] == "Ulm"
    assert shop.db.schema.history()[-1].seq == imported.merge.diff.b.seq


def test_a_schema_stays_out_if_its_documents_are_undecided(shop: Shop) -> None:
    shop_with_city(shop)
    (path,) = [each for each in shop.git("ls-files").split() if "Ada" in shop.read(each)]
    edit(shop, path, "city: Ulm", "city: 7")
    imported = shop.mirror.import_edits()
    assert imported.merge is not None
    assert imported.merge.status == "conflicts"
    assert "city" not in str(shop.db.schema.catalog.node("Person"))
    shop.db.merges.abort()
    assert "city" not in str(shop.db.schema.catalog.node("Person"))


def test_an_edited_schema_file_is_applied_and_comes_back_in_its_form(shop: Shop) -> None:
    shop.db.schema.apply("node Person {\n  name: String @key\n}\n")
    shop.create()
    edit(shop, "schema/Person.pg", "name: String @key", "name:String @key\n   born : I32?")
    tried = shop.mirror.import_edits(dry_run=True)
    assert tried.files == ("schema/Person.pg",)
    assert "born" not in str(shop.db.schema.catalog.node("Person"))
    imported = shop.mirror.import_edits()
    assert imported.merge is None
    assert "born" in str(shop.db.schema.catalog.node("Person"))
    assert "  born: I32?" in shop.read("schema/Person.pg")
    shop.check()


def test_values_that_are_not_in_files_stay(shop: Shop) -> None:
    with shop.db.transaction() as tx:
        login = tx.get_concept("Concept", "concept://shop/auth/login")
        tx.update(login.id, attributes={"_bootstrap": 7, "extra": 1})
    shop.create()
    edit(shop, LOGIN, "extra: 1", "extra: 2")
    shop.mirror.import_edits()
    attributes = shop.db.get(("Concept", "concept://shop/auth/login")).attributes
    assert (attributes["_bootstrap"], attributes["extra"]) == (7, 2)
