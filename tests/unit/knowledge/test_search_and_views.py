"""Finding nodes by words; and what anyone sees who opens the file with a SQLite tool."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from mycel import Knowledge, NewRelation
from mycel.errors import ConstraintViolation, InvalidValueType, TypeMismatch
from mycel.knowledge.bootstrap import bootstrap
from mycel.knowledge.node_values import Hit, Node, Relation
from mycel.search.modes import HYBRID, KEYWORD
from mycel.text.kinds import CODE, NOTES


def test_words_find_nodes_by_uri(shop: Knowledge) -> None:
    shop.add("auth/login", name="Login", content="How people prove who they are.")
    shop.add("billing/invoice", name="Invoice")
    hits = shop.search("people prove")
    assert hits[0].uri == "concept://shop/auth/login"
    assert 0 < hits[0].score <= 1
    assert hits[0].found == shop.get("auth/login")
    assert hits[0].to_dict()["found"]["name"] == "Login"


def test_a_memory_is_searched_without_what_every_graph_has(shop: Knowledge) -> None:
    facts = ("A person prefers tea", "An insight about domains", "The system sleeps by task")
    for n in range(10):
        for place, fact in enumerate(facts):
            shop.add(f"facts/{place}/{n}", content=f"{fact} {n}")
    for words in ("person", "insight", "domain", "system task", "concept of tea"):
        assert not [hit.uri for hit in shop.search(words, limit=50) if hit.uri.startswith("kip:")]
    assert shop.search("CoreSchema", type="Domain")[0].uri == "kip:Domain/CoreSchema"


def test_words_find_elements_of_kip_and_relations_too(shop: Knowledge) -> None:
    assert "kip:Person/$self" in [each.uri for each in shop.search("$self", limit=50)]
    shop.link("auth/login", "depends_on", "auth/session")
    hits = shop.search("depends on", element="relation")
    assert hits[0].uri.startswith("kip:P:")
    assert hits[0].found.to_dict()["target"] == "concept://shop/auth/session"
    assert shop.search("depends on", element="any")


def test_a_search_can_be_narrowed(shop: Knowledge) -> None:
    shop.remember([{"uri": "a/login"}, {"uri": "b/login", "type": "Symbol"}])
    (hit,) = shop.search("login", type="Symbol")
    assert hit.uri == "concept://shop/b/login"
    shop.link("a/login", "needs", "b/login")
    assert len(shop.search("login", element="relation", type="needs")) == 1
    assert shop.search("login nothing else", threshold=1) == []
    with pytest.raises(TypeMismatch):
        shop.search("login", type="Nothing")


def test_a_question_for_the_uses_of_a_name_brings_code_first(shop: Knowledge, root: Path) -> None:
    (root / "cart.py").write_text("def merge_carts(a, b):\n    return a\n", encoding="utf-8")
    bootstrap(shop, root)
    shop.add("notes/carts", content="Find all uses of carts before you change one. Who calls it?")
    for question in ("find all uses of merge_carts", "Who calls `merge_carts`?"):
        assert shop.search(question, limit=3)[0].kind == CODE
    for question in ("find all uses of carts", "why do merge_carts and cart.py differ?"):
        assert shop.search(question, limit=2)[0].kind == NOTES


def test_a_question_that_names_code_brings_the_notes_about_it(shop: Knowledge, root: Path) -> None:
    (root / "flags").mkdir()
    source = "class Flags:\n    def parse_all(self):\n        return 1\n"
    (root / "flags" / "config.py").write_text(source, encoding="utf-8")
    (root / "README.md").write_text("# Read before you change it\n\nKnow.\n", encoding="utf-8")
    bootstrap(shop, root)
    for number in range(12):
        shop.add(f"chatter/{number}", content=f"What should I know before I change it? {number}")
    shop.add(
        "notes/old", content="Quux.", relations=[{"relation": "about", "target": "flags/config.py"}]
    )
    shop.add(
        "notes/order",
        content="Zebra.",
        relations=[{"relation": "about", "target": "flags/config.py"}],
    )
    shop.add(
        "notes/parsing",
        content="Yak.",
        relations=[{"relation": "about", "target": "Flags.parse_all"}],
    )
    shop.link("notes/order", "supersedes", "notes/old")
    file = "file://shop/flags/config.py"
    questions = {
        "what should I know before I change flags/config.py?": ("order", "about config.py"),
        f"what should I know before I change `{file}`": ("order", "about config.py"),
        file: ("order", "about config.py"),
        "flags/config.py": ("order", "about config.py"),
        "what should I know before I change Flags.parse_all": (
            "parsing",
            "about Flags.parse_all",
        ),
        "Flags.parse_all": ("parsing", "about Flags.parse_all"),
    }
    for question, (note, reason) in questions.items():
        for mode in (HYBRID, KEYWORD):
            hits = shop.search(question, mode=mode)
            first = next(hit for hit in hits if hit.kind == NOTES)
            assert (first.uri, first.why[0]) == (f"concept://shop/notes/{note}", reason), question
            assert [hit.kind for hit in shop.search(question, mode=mode, kind=CODE)][:1] == [CODE]
    aside = shop.search(file, type="Section")
    assert not [hit for hit in aside if hit.uri.startswith("concept://shop/notes/")]


def test_what_nobody_has_written_is_not_found(shop: Knowledge) -> None:
    shop.remember([], [NewRelation("quux", "needs", f"quux/{n}") for n in range(30)])
    shop.add("zz/quux")
    assert [each.uri for each in shop.search("quux", limit=5)] == ["concept://shop/zz/quux"]


def test_a_bad_search_is_refused(shop: Knowledge) -> None:
    for words in ("", "   ", '"*', "\0", "x" * 100_000):
        shop.search(words)
    with pytest.raises(ConstraintViolation):
        shop.search("x", limit=0)
    with pytest.raises(ConstraintViolation):
        shop.search("x", element="edges")  # type: ignore[arg-type]
    with pytest.raises(InvalidValueType):
        shop.search(7)  # type: ignore[arg-type]


# The views.


def rows(tmp_path: Path, query: str) -> list[tuple[Any, ...]]:
    # Not the standard library's SQLite: two of them in one process break each other's locks.
    with closing(apsw.Connection(str(tmp_path / "graph.db"))) as connection:
        return connection.execute(query).fetchall()


def test_the_views_show_what_was_written(shop: Knowledge, tmp_path: Path) -> None:
    shop.add("a", name="A", content="text", properties={"n": 1}, metadata={"source": "me"})
    shop.add("plain")
    shop.add("urn:isbn:1", properties={"size_bytes": 3})
    shop.link("a", "read_in", "urn:isbn:1", weight=0.25, properties={"x": 1}, metadata={"y": 2})
    shop.link("a", "by", "kip:Person/$self")
    nodes = {
        uri: (node_type, name, content, json.loads(metadata))
        for uri, node_type, name, content, metadata in rows(
            tmp_path, "SELECT uri, node_type, name, content, metadata FROM nodes"
        )
    }
    assert nodes["concept://shop/a"] == ("concept", "A", "text", {"n": 1, "source": "me"})
    assert nodes["concept://shop/plain"] == ("concept", "concept://shop/plain", None, {})
    assert nodes["urn:isbn:1"] == ("resource", None, None, {"size_bytes": 3})
    relations = rows(
        tmp_path,
        "SELECT source_uri, target_uri, relation_type, weight, metadata FROM relations"
        " WHERE source_uri LIKE 'concept:%' ORDER BY id",
    )
    assert [row[:4] for row in relations] == [
        ("concept://shop/a", "urn:isbn:1", "read_in", 0.25),
        ("concept://shop/a", "kip:Person/$self", "by", 1.0),
    ]
    assert json.loads(relations[0][4]) == {"x": 1, "y": 2}


def test_nodes_are_in_the_views_under_the_uris_they_have_here(
    shop: Knowledge, tmp_path: Path
) -> None:
    shop.add("a")
    shop.add("mailto:a@b.example")
    shop.add("f", type="Symbol")
    for uri, name, content in rows(tmp_path, "SELECT uri, name, content FROM nodes"):
        node = shop.get(uri)
        assert (node.uri, node.name, node.content) == (uri, name, content)


def test_what_nobody_has_written_is_no_node_in_the_views_but_links_lead_there(
    shop: Knowledge, tmp_path: Path
) -> None:
    shop.add("a")
    shop.link("a", "needs", "m")
    broken = (
        "SELECT r.target_uri FROM relations r LEFT JOIN nodes n ON n.uri = r.target_uri"
        " WHERE n.uri IS NULL"
    )
    assert rows(tmp_path, broken) == [("concept://shop/m",)]
    shop.add("m")
    assert rows(tmp_path, broken) == []


def test_the_views_show_knowledge_and_nothing_that_every_graph_has(
    shop: Knowledge, tmp_path: Path
) -> None:
    assert rows(tmp_path, "SELECT * FROM nodes") == rows(tmp_path, "SELECT * FROM relations") == []
    shop.add("a", type="Decision")
    shop.link("a", "belongs_to_domain", "kip:Domain/Unsorted")
    assert rows(tmp_path, "SELECT uri FROM nodes") == [("concept://shop/a",)]
    assert rows(tmp_path, "SELECT source_uri, target_uri FROM relations") == [
        ("concept://shop/a", "kip:Domain/Unsorted")
    ]


def test_the_notes_of_a_bootstrap_are_in_no_view_and_hide_nothing(
    shop: Knowledge, root: Path, tmp_path: Path
) -> None:
    (root / "a.py").write_text("def f(): ...")
    bootstrap(shop)
    shop.update("file://shop/a.py", properties={"author": "Ada"})
    metadata = {
        uri: json.loads(text) for uri, text in rows(tmp_path, "SELECT uri, metadata FROM nodes")
    }
    assert not [uri for uri, each in metadata.items() if "_bootstrap" in each]
    assert metadata["file://shop/a.py"]["author"] == "Ada"
    assert metadata["concept://shop/a.py/f"]["author"] == "bootstrap"


def test_a_property_that_is_called_like_the_notes_of_a_bootstrap_is_shown(
    shop: Knowledge, tmp_path: Path
) -> None:
    shop.add("a")
    for value in ("5.3", 5, 1 << 40, True, {"wrote": 5}, ["x"]):
        shop.db.execute(
            'UPSERT { CONCEPT { {type: "Concept", name: "concept://shop/a"}'
            " SET ATTRIBUTES { bootstrap: :value } } }",
            value=value,
        )
        assert shop.get("a").properties == {"bootstrap": value}
        ((metadata,),) = rows(tmp_path, "SELECT metadata FROM nodes")
        assert json.loads(metadata) == {"bootstrap": value}
    shop.update("a", drop=["bootstrap"])
    assert shop.get("a").properties == {}


def test_a_search_for_what_cannot_be_sought_is_refused(shop: Knowledge) -> None:
    with pytest.raises(ConstraintViolation):
        shop.search("a", element=[])  # type: ignore[arg-type]
    with pytest.raises(InvalidValueType):
        shop.search("a", threshold="high")  # type: ignore[arg-type]


# What a hit says, and one call for everything.


def fill_mill(shop: Knowledge) -> None:
    filler = "It stands by the water and has two wheels. " * 12
    shop.add("mill", name="Alder Mill", content=f"{filler}Hanna Brandt restored it in 1987.")
    shop.add("hanna", name="Hanna Brandt", content="An engineer from Graz.")
    shop.add("tools/lathe", name="Lathe", content="A machine tool in the cellar.")
    shop.link("mill", "has_tool", "tools/lathe", weight=0.3)


def test_a_hit_shows_the_words_that_fit_and_says_why_it_was_found(shop: Knowledge) -> None:
    fill_mill(shop)
    hits = {hit.uri: hit for hit in shop.search("When was the mill restored by the engineer?")}
    mill = hits["concept://shop/mill"]
    assert "restored it in 1987" in mill.snippet
    assert len(mill.snippet) <= 240
    assert {"words", "meaning"} & set(mill.why)
    assert "mentioned by concept://shop/mill" in hits["concept://shop/hanna"].why
    assert mill.to_dict()["why"] == list(mill.why)
    assert shop.search("Alder Mill")[0].why[0] == "name"


def test_one_call_brings_the_nodes_that_fit_and_those_near_them_within_a_budget(
    shop: Knowledge,
) -> None:
    fill_mill(shop)
    found = shop.recall("Alder Mill", limit=1)
    assert [each.uri for each in found.nodes] == [
        "concept://shop/mill",
        "concept://shop/tools/lathe",
    ]
    assert found.nodes[0].reason.startswith("fits by name")
    assert found.nodes[1].cost == 0.3
    assert found.left_out == 0
    several = shop.recall("Who restored the mill, and which tools are in its cellar?")
    uris = [each.uri for each in several.nodes]
    assert len(uris) == len(set(uris)) == 3
    small = shop.recall("Alder Mill", limit=1, max_tokens=found.tokens - 1)
    assert (len(small.nodes), small.left_out) == (1, 1)
    assert small.tokens < found.tokens
    assert small.to_dict()["left_out"] == 1
    assert shop.recall("zeppelin").nodes == ()
    shop.add("guide", type="Guide", content="Visit the mill.")
    typed = shop.recall("Alder Mill", type="Guide")
    assert [each.uri for each in typed.nodes] == ["concept://shop/guide"]
    with pytest.raises(TypeMismatch):
        shop.recall("Alder Mill", type="Nowhere")


def test_every_reason_names_a_relation_or_a_mention_that_the_reader_finds(
    shop: Knowledge, root: Path
) -> None:
    fill_mill(shop)
    shop.add("graz", name="Graz", content="A city with many engineers and one mill.")
    shop.add("wheel", name="Water wheel", content="The engineer from Graz made the Lathe turn.")
    (root / "exit.py").write_text('"""Exit codes."""\n\n\ndef eprintln_locked(): ...\n')
    bootstrap(shop)
    shop.add("codes", content="An engineer chose the exit codes 0 and 1 of the locked print.")
    shop.link("codes", "about", "file://shop/exit.py")
    reasons = 0
    for question in ("When did the engineer restore it?", "why is the engineer in Graz", "locked"):
        for hit in shop.search(question):
            links = {(each.relation, each.source, each.target) for each in relations(shop, hit.uri)}
            for why in hit.why:
                kind, _, rest = why.partition(" ")
                where, _, relation = rest.removeprefix("from ").partition(" through ")
                where = where.removeprefix("to ").removeprefix("by ")
                if kind == "linked":
                    ways = {(relation, where, hit.uri), (relation, hit.uri, where)}
                    assert links & ways, (hit.uri, why)
                elif kind == "mentioned":
                    assert hit.uri in shop.mentions(where), (hit.uri, why)
                elif kind == "mentions":
                    assert where in shop.mentions(hit.uri), (hit.uri, why)
                elif kind == "about":
                    assert any(target.endswith(rest) for _, _, target in links), (hit.uri, why)
                else:
                    continue
                reasons += 1
    assert reasons >= 3, "or nothing was tested"


ALIASED = {"aliases": ["rg", "old tool"]}


def relations(shop: Knowledge, uri: str) -> tuple[Relation, ...]:
    return shop.relations(uri).items


def test_a_search_knows_former_names_and_aliases(shop: Knowledge) -> None:
    shop.add("parts/binary", content="The program that people start.", properties=ALIASED)
    shop.add("other", content="The binary was moved.")
    shop.move("parts/binary", "parts/program")
    now = "concept://shop/parts/program"
    for question in ("concept://shop/parts/binary", "binary", "rg", "old tool"):
        first = shop.search(question)[0]
        assert first.uri == now, question
        assert first.why[0] == "name"
    assert "formerly concept://shop/parts/binary" in shop.search("binary")[0].why
    # A node that is called so now is meant, and filters hold.
    assert all(hit.uri != now for hit in shop.search("binary", path="other"))
    shop.add("parts/binary", content="Another one.")
    assert shop.search("concept://shop/parts/binary")[0].uri == "concept://shop/parts/binary"
    assert shop.search("binary")[0].uri == "concept://shop/parts/binary"


def test_what_is_gone_from_the_disk_is_marked_and_ranked_below(shop: Knowledge, root: Path) -> None:
    for name in ("old_cart", "cart"):
        (root / f"{name}.py").write_text(f'def merge_{name}(): "Merge two carts at login."\n')
    bootstrap(shop)
    shop.add("why", content="Why carts are merged.")
    shop.link("why", "about", "concept://shop/old_cart.py/merge_old_cart")
    question = "where are two carts merged at login"

    def symbols() -> dict[str, Hit]:
        hits = shop.search(question, kind="code")
        return {hit.uri: hit for hit in hits if isinstance(hit.found, Node)}

    old, new = "concept://shop/old_cart.py/merge_old_cart", "concept://shop/cart.py/merge_cart"
    before = symbols()
    assert not before[old].found.caveats
    (root / "old_cart.py").unlink()
    bootstrap(shop)
    found = symbols()
    assert found[old].score < found[new].score / 2
    assert "gone from the disk since" in found[old].found.caveats[0]
    assert "gone from the disk since" in shop.get(old).caveats[0]
    (hit,) = (hit for hit in shop.search(question) if hit.uri.endswith("/why"))
    assert hit.found.changed_since == (old,)  # type: ignore[union-attr]


def test_a_traversal_from_a_file_or_class_gives_the_notes_about_what_is_inside(
    shop: Knowledge, root: Path
) -> None:
    (root / "cart.py").write_text("class Cart:\n    def add(self): ...\n\n\ndef check(): ...\n")
    (root / "guide.md").write_text(
        "# Guide\n\nHi.\n\n## The <code>rg</code> and <kbd>C</kbd>\n\nX.\n"
    )
    bootstrap(shop)
    assert shop.has("concept://shop/guide.md/the-rg-and-c")
    for name, target in (("adding", "cart.py/Cart.add"), ("checking", "cart.py/check")):
        shop.add(f"notes/{name}", content=f"About {name}.")
        shop.link(f"notes/{name}", "about", f"concept://shop/{target}")
    for start, count in (("file://shop/cart.py", 2), ("concept://shop/cart.py/Cart", 1)):
        reached = shop.traverse(start)
        assert len(reached.notes_inside) == count, start
        assert ("concept://shop/notes/adding", "concept://shop/cart.py/Cart.add") in [
            (note.uri, about) for note, about in reached.notes_inside
        ]
    assert shop.traverse("file://shop/cart.py", relation_types=["defines"]).notes_inside == ()
