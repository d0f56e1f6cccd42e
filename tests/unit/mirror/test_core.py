"""What every graph has stays out of the mirror, until somebody changes it."""

from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from posixpath import normpath
from urllib.parse import unquote

import orjson
import pytest

import mycel
from mycel.capsules.former import FORMER_VALUES
from mycel.errors import ConstraintViolation
from mycel.mirror import core, documents
from mycel.mirror.paths import path_of
from mycel.mirror.projection import Projection
from tests.prepared import NEW
from tests.unit.mirror.conftest import Shop

HINT = "run `pytest tests/unit/mirror/test_core.py --update-golden` and read the diff"


def _documents(db: mycel.Graph, *, is_whole: bool = False) -> dict[str, bytes]:
    with db.reading() as reader:
        return dict(Projection(reader, is_whole=is_whole).files())


def test_the_table_has_the_documents_of_a_new_graph(update_golden: bool) -> None:
    with NEW.opened() as db:
        documents = _documents(db, is_whole=True)
    found = {path: sha256(text).hexdigest() for path, text in documents.items()}
    if update_golden:
        former = core.core_documents()
        table = orjson.dumps(
            {
                path: [text, *(known for known in former.get(path, ()) if known != text)]
                for path, text in found.items()
            },
            option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS,
        )
        Path(str(files("mycel.mirror") / core.TABLE)).write_bytes(table + b"\n")
        core.core_documents.cache_clear()
    assert {path: known[0] for path, known in core.core_documents().items()} == found, HINT


def test_documents_of_graphs_of_earlier_versions_are_left_out_too(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "a.db", actor="$system", durability="off") as db:
        with db.transaction() as tx:
            for (type_name, name), attributes in FORMER_VALUES.items():
                values = {key: former[0] for key, former in attributes.items()}
                tx.update(tx.get_concept(type_name, name).id, attributes=values)
        assert _documents(db) == {}


def test_a_small_mirror_has_the_files_of_its_user_alone(tmp_path: Path) -> None:
    for is_bare in (True, False):
        folder = tmp_path / str(is_bare)
        folder.mkdir()
        with mycel.open(folder / "a.db", core_capsules=not is_bare, durability="off") as db:
            notes = mycel.Knowledge(db, workspace="shop")
            notes.add("login", content="x")
            notes.link("login", "depends_on", "session")
            notes.add("https://example.org/docs", type="Page")
            db.execute('UPSERT { CONCEPT ?t { {type: "$ConceptType", name: "Tool"} } }')
            paths = set(_documents(db))
        tool = {path for path in paths if path.startswith("kip/$ConceptType/") and "Tool" in path}
        assert len(tool) == 1
        assert paths - tool == {
            "concepts/shop/login.md",
            "resources/https/example.org/docs.md",
        }


def test_a_definition_of_mycel_that_somebody_changes_has_a_file_until_it_is_as_before(
    tmp_path: Path,
) -> None:
    (path,) = (each for each in core.core_documents() if "/Event~" in each)
    with mycel.open(tmp_path / "a.db", durability="off") as db:
        mirror = mycel.Mirror.create(db, tmp_path / "mirror")
        before = db.get(("$ConceptType", "Event")).attributes
        file = mirror.folder / path
        assert not file.exists()
        with db.transaction() as tx:
            event = tx.get_concept("$ConceptType", "Event")
            tx.update(event.id, attributes={"display_hint": "!"})
        mirror.push()
        text = file.read_text()
        assert 'display_hint: "!"' in text
        file.unlink()  # As somebody else's mirror does when it is as before.
        assert mirror.import_edits().merge is not None
        assert db.get(("$ConceptType", "Event")).attributes == before
        assert not file.exists()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        mirror.import_edits()
        assert db.get(("$ConceptType", "Event")).attributes["display_hint"] == "!"
        assert db.verify().ok


def test_links_in_the_body_can_be_followed_and_edited(shop: Shop) -> None:
    shop.knowledge.link("auth/login", "depends_on", "Über uns/(a) [b]")
    shop.knowledge.link("auth/login", "shown_on", "https://example.org/a?b#c")
    shop.create()
    login = shop.file("concepts/shop/auth/login.md")
    lines = login.read_text().splitlines()
    begin, end = lines.index(documents.LINKS_BEGIN), lines.index(documents.LINKS_END)
    targets = []
    for line in lines[begin + 1 : end]:
        target = unquote(line.rpartition("](")[2][:-1])
        targets.append(normpath(f"concepts/shop/auth/{target}"))
    assert sorted(targets) == sorted(
        path_of(uri)
        for uri in (
            "concept://shop/auth/session",
            "concept://shop/%C3%9Cber%20uns/(a)%20%5Bb%5D",
            "https://example.org/a?b#c",
        )
    )
    before = shop.db.snapshot()
    login.write_text(login.read_text() + "By hand.\n")
    shop.mirror.import_edits()
    assert shop.knowledge.get("auth/login").content.endswith("Sessions last a day.\nBy hand.")
    shop.check()
    new = "- knows [x](<new one.md>)\n- knows [[concepts/shop/help]]\n"
    text = login.read_text().replace(documents.LINKS_END, f"{new}{documents.LINKS_END}")
    login.write_text(text.replace("- depends_on [shop/auth/session](session.md)\n", ""))
    shop.file("concepts/shop/auth/new one.md").write_text("New.")
    shop.mirror.import_edits()
    found = {(each.relation, each.target) for each in shop.knowledge.relations("auth/login")}
    assert ("depends_on", "concept://shop/auth/session") not in found
    assert ("knows", "concept://shop/auth/new%20one") in found
    assert ("knows", "concept://shop/help") in found
    shop.check()
    for line, said in (("x", "it is no link"), ("- a [b](../../../c.md)", "leads to no document")):
        text = login.read_text()
        login.write_text(text.replace(documents.LINKS_END, f"{line}\n{documents.LINKS_END}"))
        with pytest.raises(ConstraintViolation, match=said):
            shop.mirror.import_edits()
        login.write_text(text)
    assert shop.db.snapshot() != before
