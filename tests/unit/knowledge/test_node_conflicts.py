"""A node in conflict says so, with its versions, wherever it is read, written or reached."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.errors import NotFound
from mycel.mcp import node_text


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[mycel.Knowledge]:
    """Knowledge with an open merge: a value, a weight's link, and a removal against a change."""
    with mycel.open(tmp_path / "graph.db", durability="off", core_capsules=False) as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.add("login", content="A password.", properties={"size": 1})
        shop.add("near", content="Close by.", relations=[{"relation": "about", "target": "login"}])
        shop.link("near", "about", "login", properties={"since": 1}, weight=0.1)
        shop.add("old", content="x")
        db.branches.create("draft")
        shop.update("login", content="A passkey.")
        shop.link("near", "about", "login", properties={"since": 2})
        shop.delete("old")
        with db.open_branch("draft") as draft:
            there = mycel.Knowledge(draft, workspace="shop")
            there.update("login", content="A link.")
            there.link("near", "about", "login", properties={"since": 3})
            there.update("old", content="y")
        assert len(db.merge("draft").conflicts) == 3
        yield shop


def test_reads_have_the_open_conflicts_with_all_versions(shop: mycel.Knowledge) -> None:
    (conflict,) = shop.get("login").conflicts
    assert (conflict["base"], conflict["ours"], conflict["theirs"]) == (
        "A password.",
        "A passkey.",
        "A link.",
    )
    assert shop.get("near").conflicts == ()
    one, other = shop.get_many(["login", "near"])
    assert one.result is not None
    assert other.result is not None
    assert (one.result.conflicts, other.result.conflicts) == ((conflict,), ())
    (relation,) = shop.relations("near")
    assert [each["theirs"] for each in relation.conflicts] == [3]
    (hit,) = [each for each in shop.search("passkey") if each.uri.endswith("login")]
    assert hit.found.conflicts == (conflict,)
    reached = {each.uri: each.node for each in shop.traverse("near").nodes}
    assert reached["concept://shop/login"].conflicts == (conflict,)
    recalled = {each.uri: each.node for each in shop.recall("passkey").nodes}
    assert recalled["concept://shop/login"].conflicts == (conflict,)
    assert "conflicts" in shop.get("login").to_dict()
    assert "conflicts" not in shop.get("near").to_dict()


def test_writes_warn_and_a_node_that_one_side_removed_is_missing_with_its_conflict(
    shop: mycel.Knowledge,
) -> None:
    (conflict,) = shop.get("login").conflicts
    for warnings in (
        shop.update("login", properties={"seen": True}).warnings,
        shop.add("login", name="Login", exist_ok=True).warnings,
    ):
        assert [conflict["id"] in each for each in warnings] == [True]
    assert "open conflict" in shop.link("near", "about", "login", weight=0.2).warnings[0]
    assert shop.update("near", properties={"seen": True}).warnings == ()
    with pytest.raises(NotFound, match="has a conflict about it") as missing:
        shop.get("old")
    assert missing.value.data["conflicts"][0]["theirs"]["attributes"]["content"] == "y"


def test_what_is_decided_or_given_up_is_no_longer_told(shop: mycel.Knowledge) -> None:
    db = shop.db
    assert isinstance(db, mycel.Graph)
    (conflict,) = shop.get("login").conflicts
    db.merges.resolve(conflict["id"], "theirs")
    assert shop.get("login").conflicts == ()
    db.merges.abort()
    assert all(relation.conflicts == () for relation in shop.relations("near"))
    with pytest.raises(NotFound) as missing:
        shop.get("old")
    assert "conflicts" not in missing.value.data


def test_many_conflicts_of_a_node_take_a_bounded_text(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db", durability="off", core_capsules=False) as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.add("wide", properties={f"p{n}": "base" for n in range(60)})
        db.branches.create("draft")
        for word, graph in (("o", db), ("t", db.open_branch("draft"))):
            values = {f"p{n}": word * 5_000 for n in range(60)}
            mycel.Knowledge(graph, workspace="shop").update("wide", properties=values)
            if graph is not db:
                graph.close()
        db.merge("draft")
        node = shop.get("wide")
    assert len(node.conflicts) == 60
    lines = node_text.conflicts(node)
    assert sum(map(len, lines)) < node_text.CONFLICTS_CHARACTERS + 1_000
    assert lines[-1].endswith("more conflicts")


def test_every_node_that_a_broken_constraint_is_about_says_so(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db", durability="off", core_capsules=False) as db:
        db.schema.apply("node Page @open { name: String @key path: String? @unique }")
        shop = mycel.Knowledge(db, workspace="shop")
        for name in "abc":
            db.write(lambda tx, name=name: tx.put_concept("Page", name, {"name": name}))
        db.branches.create("draft")
        db.write(lambda tx: tx.update(("Page", "a"), attributes={"path": "/"}))
        with db.open_branch("draft") as draft:
            draft.write(lambda tx: tx.update(("Page", "b"), attributes={"path": "/"}))
        (conflict,) = db.merge("draft").conflicts
        told = [[each["id"] for each in shop.get(f"kip:Page/{name}").conflicts] for name in "abc"]
        assert told == [[conflict.id], [conflict.id], []]
