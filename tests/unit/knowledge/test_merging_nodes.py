"""Merging two nodes, changing the type of a node, and notes on what a bootstrap has read."""

from pathlib import Path

import pytest

from mycel import Knowledge
from mycel.errors import (
    ConstraintViolation,
    DuplicateExists,
    MycelError,
    NotFound,
    VersionConflict,
)
from mycel.knowledge.bootstrap import bootstrap

OLD, NEW = "concept://shop/notes/login", "concept://shop/decisions/passkeys"


@pytest.fixture
def notes(shop: Knowledge) -> Knowledge:
    """Two notes about one thing, of different types, with relations."""
    shop.remember(
        [
            {"uri": OLD, "type": "Note", "name": "Login", "content": "Passkeys only.",
             "properties": {"team": "web", "year": 2024, "aliases": ["Sign-in"]}},
            {"uri": NEW, "type": "Decision", "name": "Passkeys", "content": "No passwords.",
             "properties": {"year": 2025}},
            {"uri": "a"}, {"uri": "b"},
        ],
        [
            {"source": OLD, "relation": "about", "target": "a", "weight": 0.25},
            {"source": "b", "relation": "cites", "target": OLD},
            {"source": OLD, "relation": "supersedes", "target": NEW},
            {"source": NEW, "relation": "about", "target": "b"},
            {"source": OLD, "relation": "about", "target": "b", "properties": {"why": "seen"}},
        ],
    )  # fmt: skip
    return shop


def test_merged_nodes_of_different_types_share_relations_properties_and_names(
    notes: Knowledge,
) -> None:
    merge = notes.merge_nodes("notes/login", NEW)
    assert (merge.uri, merge.merged, merge.changed) == (NEW, OLD, True)
    assert (merge.relations, merge.joined) == (2, 2)
    node = notes.get(NEW)
    assert (node.type, node.name) == ("Decision", "Passkeys")
    assert node.content == "No passwords.\n\n## Login\n\nPasskeys only."
    assert node.properties == {
        "team": "web",
        "year": 2025,
        "aliases": ["Sign-in", OLD, "Login"],
    }
    told = {(each.source, each.relation, each.target): each for each in notes.relations(NEW)}
    assert set(told) == {
        (NEW, "about", "concept://shop/a"),
        (NEW, "about", "concept://shop/b"),
        ("concept://shop/b", "cites", NEW),
    }
    assert told[(NEW, "about", "concept://shop/a")].weight == 0.25
    assert told[(NEW, "about", "concept://shop/b")].properties == {"why": "seen"}
    # What was not taken over is said.
    said = " ".join(merge.warnings)
    assert "content" not in said
    assert "Both have year; the value of the merged node was: 2024" in said
    assert "the type Note; the type Decision stays" in said
    for name in (OLD, "notes/login", "Login", "Sign-in"):
        assert notes.get(name).uri == NEW


def test_merged_texts_lists_and_metadata_are_united(shop: Knowledge) -> None:
    tags = {"tags": ["a", "b"]}
    shop.add("one", content="Tea.\n", properties=tags, metadata={"sources": ["x"], "owner": "Ada"})
    metadata = {"sources": ["y", "x"], "author": "Ben", "status": "superseded", "owner": "Cem"}
    shop.add("two", content="# Tea\nHot.", properties={"tags": ["b", "c"]}, metadata=metadata)
    warnings = shop.merge_nodes("two", "one").warnings
    node = shop.get("one")
    assert node.content == "Tea.\n\n# Tea\nHot."
    assert node.properties["tags"] == ["a", "b", "c"]
    own = {key: value for key, value in node.metadata.items() if not key.startswith("_")}
    assert own == {"sources": ["x", "y"], "owner": "Ada", "author": "Ben"}
    assert warnings == (
        "Its owner in the metadata was Cem; it is not taken over.",
        "Its status in the metadata was superseded; it is not taken over.",
    )
    # A text that is contained in the other one is not repeated.
    for number, (ours, theirs) in enumerate((("Hot tea.", "tea."), ("tea.", "Hot tea. "))):
        shop.add(f"a{number}", content=ours)
        shop.add(f"b{number}", content=theirs)
        assert shop.merge_nodes(f"b{number}", f"a{number}").warnings == ()
        assert str(shop.get(f"a{number}").content).strip() == "Hot tea."


def test_a_merge_again_changes_nothing_and_a_revert_takes_it_back(notes: Knowledge) -> None:
    before = notes.get(OLD), notes.get(NEW), len(notes.relations(OLD))
    notes.merge_nodes(OLD, NEW)
    commit = next(iter(notes.db.history.log(limit=1))).commit
    again = notes.merge_nodes(OLD, NEW)
    assert (again.changed, again.version) == (False, notes.get(NEW).version)
    assert "nothing changed" in again.warnings[0]
    notes.db.history.revert(commit)  # type: ignore[attr-defined]
    old, new = notes.get(OLD), notes.get(NEW)
    assert (old.properties, old.content) == (before[0].properties, before[0].content)
    assert (new.properties, new.content) == (before[1].properties, before[1].content)
    assert new.metadata == before[1].metadata
    assert len(notes.relations(OLD)) == before[2]
    assert old.hint is None


def test_a_merge_of_what_is_not_there_or_not_to_be_merged_is_refused(
    notes: Knowledge, root: Path
) -> None:
    (root / "cart.py").write_text("class Cart: pass\n")
    bootstrap(notes)
    refused: list[tuple[str, str, type[MycelError]]] = [
        ("nothing", NEW, NotFound),
        (NEW, "nothing", NotFound),
        ("cart.py/Cart", NEW, ConstraintViolation),
        ("file://shop/cart.py", NEW, ConstraintViolation),
        (NEW, "file://shop/cart.py", ConstraintViolation),
        ("kip:$ConceptType/Note", NEW, MycelError),
        (NEW, "kip:Person/$self", MycelError),
    ]
    before = notes.db.snapshot()
    for source, target, error in refused:
        with pytest.raises(error):
            notes.merge_nodes(source, target)
    assert notes.db.snapshot() == before
    assert notes.merge_nodes(OLD, "cart.py/Cart").changed


def test_an_update_changes_the_type_with_its_values_in_one_step(shop: Knowledge) -> None:
    shop.db.schema.apply("node Decision { by: String }\n")  # type: ignore[attr-defined]
    shop.add("a", content="Passkeys.", properties={"draft": True})
    shop.link("b", "needs", "a")
    with pytest.raises(MycelError):
        shop.update("a", type="Decision", drop=["draft"])  # It lacks `by`.
    assert shop.get("a").type == "Concept"
    with pytest.raises(VersionConflict):
        shop.update("a", type="Note", expect_version=7)
    written = shop.update("a", type="Note", properties={"by": "Ada"}, drop=["draft"])
    assert (written.changed, written.uri) == (True, "concept://shop/a")
    node = shop.get("a")
    assert (node.type, node.content, node.properties) == ("Note", "Passkeys.", {"by": "Ada"})
    assert node.version == written.version
    assert shop.relations("a")[0].source == "concept://shop/b"
    assert not shop.update("a", type="Note").changed
    for wrong in ("Missing", "MissingEntity", "$ConceptType", "no type", "Resource"):
        with pytest.raises(MycelError):
            shop.update("a", type=wrong)
    assert shop.get("a") == node


def test_a_note_does_not_fall_on_what_a_bootstrap_has_read(shop: Knowledge, root: Path) -> None:
    (root / "src").mkdir()
    (root / "src" / "cart.py").write_text("class Cart:\n    def save(self): pass\n")
    bootstrap(shop)
    before = shop.db.snapshot()
    for uri in ("src", "src/cart.py/Cart.save", "src/cart.py", "file://shop/src/cart.py"):
        note = {"uri": uri, "type": "Note", "name": "Prices are in cents", "content": "Always."}
        for write in (
            lambda note=note: shop.remember([note]),
            lambda note=note: shop.add(**note),
        ):
            with pytest.raises((ConstraintViolation, DuplicateExists)) as caught:
                write()
            assert "notes/prices-are-in-cents" in caught.value.hint
            assert caught.value.data["suggestion"] == "notes/prices-are-in-cents"
        with pytest.raises(ConstraintViolation):
            shop.remember([{"uri": uri, "content": "Always."}])
    assert shop.db.snapshot() == before
    # Properties are no note, and an update is meant.
    assert shop.remember([{"uri": "src", "properties": {"owner": "Ada"}}]).changed
    assert shop.update("src", content="Where the code is.").changed
    assert shop.remember([{"uri": "src", "content": "Where the code is."}]).changed == 0
    assert shop.add("concept://shop/src/cart.py", content="A concept of its own.").created
    with pytest.raises(ConstraintViolation, match="read from files"):
        shop.update("src/cart.py/Cart", type="Note")


def test_a_merge_keeps_the_sources_of_both(shop: Knowledge) -> None:
    official = {"source": "HR", "confidence": 0.9}
    rumour = {"source": "rumour", "confidence": 0.3}
    shop.add("one", content="Ana leads the team.", metadata=official)
    shop.add("two", name="Two", content="Bob is her deputy.", metadata=rumour)
    shop.add("team")
    shop.link("one", "about", "team", metadata=official)
    shop.link("two", "about", "team", metadata=rumour)
    assert shop.merge_nodes("two", "one").warnings == ()
    node = shop.get("one")
    (entry,) = node.metadata["evidence"]
    assert node.metadata | official == node.metadata
    assert entry | rumour | {"of": "Two"} == entry
    (hit,) = shop.search("deputy", limit=1)
    assert hit.found.caveats == ("source: HR; also rumour (confidence 0.3, for Two)",)
    (relation,) = shop.relations("one").items
    assert relation.metadata | official == relation.metadata
    (entry,) = relation.metadata["evidence"]
    assert entry | rumour | {"stance": "supports"} == entry
