"""Names that are no URI of a node: former URIs, aliases, paths of files, short names."""

from pathlib import Path

import pytest

from mycel import Knowledge
from mycel.errors import AmbiguousName, DuplicateExists, NotFound

CART = "concept://shop/src/cart.py/Cart.save"
FILE = "file://shop/src/cart.py"


@pytest.fixture
def code(shop: Knowledge) -> Knowledge:
    """A file with symbols of its own, one of them in a test too."""
    symbols = ("src/cart.py/Cart", "src/cart.py/Cart.save", "src/order.py/Order.save")
    symbols += ("src/cart.py/Cart.load", "tests/test_cart.py/Cart.load", "src/cart.py/total")
    shop.add(FILE)
    shop.remember(
        {"uri": each, "type": "Symbol", "name": each.rpartition("/")[2].rpartition(".")[2]}
        for each in symbols
    )
    return shop


def test_a_moved_node_is_reached_by_its_former_uris_through_every_method(shop: Knowledge) -> None:
    shop.remember([{"uri": "auth/login", "content": "Passkeys."}, {"uri": "b"}, {"uri": "c"}])
    shop.link("auth/login", "needs", "b")
    shop.move("auth/login", "auth/entry")
    shop.move("auth/entry", "auth/sign-in")
    now = "concept://shop/auth/sign-in"
    for former in ("auth/login", "concept://shop/auth/entry"):
        node = shop.get(former)
        assert node.uri == now
        assert node.hint == f"{former} is now {now}."
        assert shop.get_many([former])[0].result == node
        assert shop.relations(former)[0].source == now
        reached = shop.traverse(former)
        assert (reached.nodes[0].uri, reached.hint) == (now, node.hint)
        assert shop.mentions(former) == ()
        linked = shop.link("c", "asks", former)
        assert (linked.target, linked.warnings) == (now, (f"Names: {former} → {now}.",))
        assert shop.set_weight("c", "asks", former, 0.5).changed
        assert shop.unlink("c", "asks", former)
        written = shop.update(former, properties={"seen": former})
        assert (written.uri, written.changed) == (now, True)
        assert written.warnings == (f"Names: {former} → {now}.",)
    assert shop.get(now).hint is None
    assert not shop.broken_links().items


def test_a_former_uri_never_leads_past_a_node_that_has_taken_it(shop: Knowledge) -> None:
    shop.add("login", content="Old.")
    shop.move("login", "sign-in")
    shop.add("login", content="New.")
    assert (shop.get("login").content, shop.get("login").hint) == ("New.", None)
    # Its last bearer counts: one that was removed leads nowhere.
    shop.delete("login")
    with pytest.raises(NotFound):
        shop.get("login")


def test_adding_under_a_former_uri_makes_a_new_node(shop: Knowledge) -> None:
    shop.add("login", content="Old.")
    shop.move("login", "sign-in")
    assert shop.add("login", content="New.").created
    assert shop.get("sign-in").content == "Old."


def test_a_move_from_a_former_uri_moves_the_node_and_the_same_move_again_nothing(
    shop: Knowledge,
) -> None:
    shop.add("a")
    shop.move("a", "b")
    again = shop.move("a", "b")
    assert (again.changed, again.moved, again.warnings) == (False, 0, ())
    moved = shop.move("a", "c")
    assert (moved.uri, moved.changed) == ("concept://shop/c", True)
    assert moved.warnings == ("Names: a → concept://shop/b.",)
    assert shop.get("b").uri == shop.get("a").uri == "concept://shop/c"


def test_a_search_by_a_former_path_finds_the_node_beside_titles_with_its_words(
    shop: Knowledge,
) -> None:
    shop.add("robots/protego", name="Which parser reads the rules", content="Written in Python.")
    shop.move("robots/protego", "robots/parser")
    for number in range(40):  # More than are read from the index, so titles are looked for.
        shop.add(f"notes/{number}", name=f"The Protego parser of robots {number}", content="Rules")
    (first, *_) = shop.search("robots/protego")
    assert first.uri == "concept://shop/robots/parser"
    assert "formerly concept://shop/robots/protego" in first.why


def test_a_node_is_removed_by_any_of_its_names_and_a_merged_one_is_gone_already(
    shop: Knowledge,
) -> None:
    for other in ("login", "entrance", "sign-in", "Passkeys"):
        shop.add("auth/login", name="Passkeys", properties={"aliases": ["entrance"]})
        shop.move("auth/login", "auth/sign-in")
        removed = shop.delete("auth/login" if other == "login" else other)
        assert removed.concepts == 1
        assert "concept://shop/auth/sign-in" in removed.warnings[0]
    shop.remember([{"uri": "house/entry"}, {"uri": "door"}])
    shop.merge_nodes("house/entry", "door")
    for former in ("house/entry", "entry"):
        removed = shop.delete(former)
        assert (removed.concepts, shop.has("door")) == (0, True)
        assert "was merged into concept://shop/door" in removed.warnings[0]


def test_a_name_of_kip_that_was_changed_leads_to_its_concept(shop: Knowledge) -> None:
    with shop.db.transaction() as tx:
        tx.define_type("Person")
        id_ = tx.put_concept("Person", "Bob")
    with shop.db.transaction() as tx:
        tx.move(id_, name="Robert")
    assert shop.get("kip:Person/Bob").uri == "kip:Person/Robert"
    with pytest.raises(NotFound) as caught:
        shop.db.execute(
            'UPDATE ?c SET ATTRIBUTES { a: 1 } WHERE { ?c {type: "Person", name: "Bob"} }'
        )
    assert "'Robert'" in caught.value.hint


def test_a_node_that_was_merged_away_leads_to_the_one_it_was_merged_into(shop: Knowledge) -> None:
    shop.remember([{"uri": "login"}, {"uri": "sign-in"}, {"uri": "entry"}])
    merge = (
        'MERGE CONCEPT ?a INTO ?b WHERE {{ ?a {{type: "Concept", name: "concept://shop/{}"}}'
        ' ?b {{type: "Concept", name: "concept://shop/{}"}} }}'
    )
    shop.db.execute(merge.format("login", "entry"))
    shop.db.execute(merge.format("entry", "sign-in"))
    for gone in ("login", "entry"):
        node = shop.get(gone)
        assert node.uri == "concept://shop/sign-in"
        assert node.hint == f"{gone} was merged into concept://shop/sign-in."


def test_an_alias_leads_to_its_node(shop: Knowledge) -> None:
    shop.add("auth/sign-in", properties={"aliases": ["Entrance", "concept://shop/auth/entry"]})
    assert shop.get("entrance").hint == "entrance is an alias of concept://shop/auth/sign-in."
    assert shop.get("auth/entry").uri == "concept://shop/auth/sign-in"
    linked = shop.link("x", "needs", "Entrance")
    assert linked.target == "concept://shop/auth/sign-in"
    # A URI with a scheme is no alias of another kind.
    assert shop.link("x", "needs", "concept://shop/Entrance").target == "concept://shop/Entrance"


def test_a_bare_path_is_that_of_a_file_unless_a_concept_has_it(code: Knowledge) -> None:
    assert (code.get("src/cart.py").uri, code.get("src/cart.py").hint) == (FILE, None)
    linked = code.link("notes/a", "about", "src/cart.py")
    assert linked.target == FILE
    assert all("src/cart.py" not in each for each in linked.warnings)
    assert code.relations("src/cart.py")[0].source == "concept://shop/notes/a"
    code.add("src/cart.py", content="A concept of that path.")
    assert code.link("notes/b", "about", "src/cart.py").target == "concept://shop/src/cart.py"
    assert code.delete("src/cart.py").concepts == 1
    assert code.delete("src/cart.py").concepts == 1  # Now the file.
    assert not code.has(FILE)


def test_a_relation_to_a_file_without_a_node_makes_one(shop: Knowledge, root: Path) -> None:
    (root / "src").mkdir()
    (root / "src" / "login.py").write_text("def login(): pass\n")
    (root / "outside").symlink_to(root.parent)
    assert shop.link("notes/a", "about", "src/login.py").target == "file://shop/src/login.py"
    for other in ("src/logon.py", "src", "outside/graph.db"):
        assert shop.link("notes/a", "about", other).target == f"concept://shop/{other}"


def test_a_short_name_leads_to_the_one_node_that_has_it(code: Knowledge) -> None:
    for name in ("Cart.save", "Cart::save", "cart.py/Cart.save", "cart.save", "src.cart.Cart.save"):
        node = code.get(name)
        assert node.uri == CART
        assert node.hint == f"{name} is short for {CART}."
    assert code.get("cart.py").uri == FILE
    assert code.get("Cart").uri == "concept://shop/src/cart.py/Cart"
    # The one in a test is not meant.
    assert code.get("Cart.load").uri == "concept://shop/src/cart.py/Cart.load"
    code.add("decisions/money", name="Money is counted in cents")
    assert code.get("Money is counted in cents").uri == "concept://shop/decisions/money"
    assert code.update("Cart.save", properties={"seen": True}).uri == CART
    assert code.traverse("Cart.save").nodes[0].uri == CART


def test_a_short_name_of_several_nodes_is_refused_with_all_of_them(code: Knowledge) -> None:
    for ask in (code.get, code.traverse, code.update, code.relations):
        with pytest.raises(AmbiguousName) as caught:
            ask("save")
        assert set(caught.value.data["candidates"]) == {
            CART,
            "concept://shop/src/order.py/Order.save",
        }
        assert CART in caught.value.hint


def test_an_end_of_a_relation_may_be_a_short_name(code: Knowledge) -> None:
    code.remember([{"uri": "decisions/money", "name": "Money is counted in cents"}])
    code.add("notes/a")
    money = "concept://shop/decisions/money"
    names = {"Cart.save": CART, "total": "concept://shop/src/cart.py/total", "money": money}
    names |= {"Cart": "concept://shop/src/cart.py/Cart", "Money is counted in cents": money}
    for name, uri in names.items():
        linked = code.link("notes/a", "about", name)
        assert linked.target == uri
        assert linked.warnings == (f"Names: {name} → {uri}.",)
    assert code.broken_links().items == ()
    # A whole URI is taken as it is: what it names may be written later.
    linked = code.link("notes/a", "about", "concept://shop/total")
    assert linked.target == "concept://shop/total"


def test_an_end_that_is_short_for_several_nodes_is_refused_and_nothing_is_written(
    code: Knowledge,
) -> None:
    code.remember([{"uri": "a/plan"}, {"uri": "b/plan"}])
    with pytest.raises(AmbiguousName) as caught:
        code.remember(
            [{"uri": "notes/a"}],
            [
                {"source": "notes/a", "relation": "about", "target": "save"},
                {"source": "notes/a", "relation": "about", "target": "plan"},
            ],
        )
    assert set(caught.value.data["ambiguous"]) == {"save", "plan"}
    for uri in (CART, "concept://shop/a/plan", "concept://shop/b/plan", "concept://shop/save"):
        assert uri in caught.value.hint
    assert not code.has("notes/a")


def test_names_of_the_same_call_are_ends_of_its_relations(code: Knowledge) -> None:
    written = code.remember(
        [{"uri": "decisions/cents", "name": "Count cents"}, {"uri": "risks/save"}],
        [
            {"source": "cents", "relation": "lowers", "target": "save"},
            {"source": "Count cents", "relation": "about", "target": "Cart.load"},
        ],
    )
    assert [(each.source, each.target) for each in written.relations] == [
        ("concept://shop/decisions/cents", "concept://shop/risks/save"),
        ("concept://shop/decisions/cents", "concept://shop/src/cart.py/Cart.load"),
    ]
    # A node of that very URI always comes first.
    exact = {"source": "risks/save", "relation": "about", "target": "Cart.load"}
    written = code.remember([{"uri": "Cart.load"}], [exact])
    assert written.relations[0].target == "concept://shop/Cart.load"


def test_a_name_does_not_mean_the_other_end_of_its_relation(code: Knowledge) -> None:
    written = code.add("notes/total", relations=[{"relation": "about", "target": "total"}])
    assert written.created
    assert code.relations("notes/total")[0].target == "concept://shop/src/cart.py/total"
    code.add("notes/token", relations=[{"relation": "about", "target": "token"}])
    assert code.relations("notes/token")[0].target == "concept://shop/token"


def test_a_past_state_knows_only_the_names_of_its_own(shop: Knowledge) -> None:
    shop.add("login", content="tea")
    before = next(iter(shop.db.history.log(limit=1))).commit
    shop.move("login", "sign-in")
    found = shop.search("tea", near="login", as_of=before, mode="keyword")
    assert found[0].uri == "concept://shop/login"
    with pytest.raises(NotFound):
        shop.search("tea", near="sign-in", as_of=before, mode="keyword")


def test_many_unknown_ends_are_resolved_in_one_go(
    code: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bulk write costs a bounded number of look-ups among names."""
    from mycel.store.query.candidates import Candidates

    asked: list[int] = []
    by_keys = Candidates.by_keys

    def counted(self: Candidates, keys: list[str], limit: int) -> list[int]:
        asked.append(1)
        return by_keys(self, keys, limit)

    monkeypatch.setattr(Candidates, "by_keys", counted)
    code.add("notes/last")
    rows = [{"source": "hub", "relation": "needs", "target": f"x.y{n}"} for n in range(500)]
    rows.append({"source": "hub", "relation": "needs", "target": "last"})
    written = code.remember((), rows)
    assert written.created == 501
    assert written.relations[-1].target == "concept://shop/notes/last"
    assert len(asked) <= 40


def test_moving_onto_a_former_uri_of_another_is_no_conflict(shop: Knowledge) -> None:
    shop.remember([{"uri": "a", "content": "A"}, {"uri": "z", "content": "Z"}])
    shop.move("a", "b")
    assert shop.move("z", "a").changed
    assert shop.get("a").content == "Z"
    with pytest.raises(DuplicateExists):
        shop.move("a", "b")


def test_an_unknown_name_is_still_not_found(code: Knowledge) -> None:
    for name in ("nothing", "Cart.nothing", "src/nothing.py", "concept://other/Cart.save"):
        with pytest.raises(NotFound):
            code.get(name)


def test_the_short_name_of_a_moved_node_leads_to_it_unless_another_has_it(shop: Knowledge) -> None:
    shop.remember([{"uri": "howto/try-index"}, {"uri": "b"}])
    shop.move("howto/try-index", "howto/index/try")
    now = "concept://shop/howto/index/try"
    hint = f"try-index is the former name of {now}."
    assert (shop.get("try-index").uri, shop.get("try-index").hint) == (now, hint)
    linked = shop.link("b", "needs", "try-index")
    assert (linked.target, linked.warnings) == (now, (f"Names: try-index → {now}.",))
    assert not shop.broken_links().items
    assert shop.unlink("b", "needs", "try-index")
    shop.move("howto/index/try", "guides/attempt")  # Every former name counts.
    for name in ("try-index", "try", "index/try"):
        assert shop.get(name).uri == "concept://shop/guides/attempt"
    shop.add("other/try-index")  # What is called so now always wins.
    assert shop.get("try-index").uri == "concept://shop/other/try-index"
    shop.add("x/try")
    shop.add("y/try")
    shop.move("x/try", "x/tested")
    shop.move("y/try", "y/tested")
    with pytest.raises(AmbiguousName, match="several nodes") as caught:
        shop.get("try")
    assert len(caught.value.data["candidates"]) == 3
    for name in ("ry", "ndex", "missing"):
        with pytest.raises(NotFound):
            shop.get(name)


def test_nothing_in_another_workspace_is_changed_by_a_short_name(shop: Knowledge) -> None:
    login = "concept://other/deep/login"
    shop.remember([{"uri": "a/exit", "properties": {"aliases": ["Entrance"]}}, {"uri": "mine"}])
    shop.move("a/exit", login)
    before = shop.db.snapshot()
    for name in ("login", "deep/login", "Entrance", "exit"):
        assert shop.get(name).uri == login, "reading reaches it"
        for write in (
            shop.delete,
            lambda name: shop.update(name, content="x"),
            lambda name: shop.move(name, "elsewhere"),
            lambda name: shop.merge_nodes(name, "mine"),
            lambda name: shop.merge_nodes("mine", name),
        ):
            with pytest.raises(NotFound) as caught:
                write(name)
            if name.endswith("login"):
                assert login in caught.value.hint
        assert isinstance(shop.delete_many([name])[0].error, NotFound)
    assert shop.db.snapshot() == before
    # A node of the workspace is meant, though reading finds two.
    shop.add("here/login")
    with pytest.raises(AmbiguousName, match="several"):
        shop.get("login")
    assert shop.update("login", content="x").uri == "concept://shop/here/login"
    assert shop.delete("login").concepts == 1
    assert shop.update(login, content="x").changed
    assert shop.delete(login).concepts == 1
