"""Questions about source code, and a small active context, on one server for all tests here."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.mcp.clients import Session, connected

CART = '''\
"""A cart."""


def price(item):
    """What it costs."""
    return item.price


class Cart:
    def total(self):
        return sum(
            price(each)
            for each in self.items
        )

    def first(self):
        return price(self.items[0]), price(self.items[1])
'''
REPORT = "from shop.cart import price\n\nprint(price(None))\n"
VIEW = '''\
def show(thing):
    """Call first() of a thing.

    first() takes no time.
    """
    # Not thing.first(1).
    return f"""<p>
        {thing.first()}"""
'''


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("projects") / "code"
    (root / "shop").mkdir(parents=True)
    (root / "shop" / "__init__.py").write_text("", encoding="utf-8")
    (root / "shop" / "cart.py").write_text(CART, encoding="utf-8")
    (root / "shop" / "report.py").write_text(REPORT, encoding="utf-8")
    (root / "shop" / "view.py").write_text(VIEW, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def session(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    db = tmp_path_factory.mktemp("graph") / "graph.db"
    with connected(db, "--root", str(root), "--context-size", "2") as session:
        session.ok("bootstrap_workspace")
        yield session


def test_reading_a_symbol_with_its_file_gives_its_lines(session: Session, root: Path) -> None:
    told = session.ok("get_nodes", uris=["shop/cart.py/price"], read_file=True)
    assert "file://code/shop/cart.py, lines 4 to 6:\ndef price(item):\n" in told.text
    assert "return item.price\n" in told.text
    assert "class Cart" not in told.text
    (node,) = told.data["nodes"]
    assert node["lines"] == {"uri": "file://code/shop/cart.py", "first": 4, "last": 6}
    assert "lines 4" not in session.ok("get_nodes", uris=["shop/cart.py/price"]).text
    # What the graph knows of a file that has changed or gone is said with care.
    path = root / "shop" / "cart.py"
    path.write_text("\n" * 20 + CART, encoding="utf-8")
    told = session.ok("get_nodes", uris=["shop/cart.py/price"], read_file=True)
    assert "the file has changed; bootstrap_workspace reads it again" in told.text
    path.unlink()
    told = session.ok("get_nodes", uris=["shop/cart.py/price"], read_file=True)
    assert "lines 4 to 6: There is no file" in told.text
    path.write_text(CART, encoding="utf-8")


def test_a_question_for_uses_is_told_how_to_list_them(session: Session) -> None:
    answer = session.ok("search_knowledge", query="Where is Cart.total used?").text
    assert 'get_nodes {"uris": ["Cart.total"], "callers": true} lists the lines' in answer
    assert "callers" not in session.ok("search_knowledge", query="Where is Cart.total?").text


def test_whoever_reads_by_a_name_or_an_absolute_path_gets_there(
    session: Session, root: Path
) -> None:
    for tool, arguments in (
        ("get_nodes", {"uris": ["price"], "read_file": True}),
        ("get_nodes", {"uris": ["cart.price"]}),
        ("traverse_graph", {"start": "price"}),
    ):
        text = session.ok(tool, **arguments).text
        assert " is short for concept://code/shop/cart.py/price.\n" in text
    # The name of another node at the end of a path is no reason to name that one.
    assert "price" not in session.call("get_nodes", uris=["notes/price"]).error["hint"]
    written = session.ok("get_nodes", uris=["shop/cart.py"], read_file=True).text
    assert "class Cart" in written
    for path in (root / "shop/cart.py", (root / "shop/cart.py").as_uri()):
        assert session.ok("get_nodes", uris=[str(path)], read_file=True).text == written
    assert "contains" in session.ok("get_nodes", uris=[str(root)]).text
    outside = root.parent / "other" / "cart.py"
    for path in (outside, root / "../other/cart.py", outside.as_uri()):
        assert session.call("get_nodes", uris=[str(path)], read_file=True).error


def test_one_call_says_who_calls_a_function_with_the_source_lines(session: Session) -> None:
    by_name = session.ok("get_nodes", uris=["price"], callers=True)
    assert by_name.text == session.ok("get_nodes", uris=["shop/cart.py/price"], callers=True).text
    for name in ("cart.price", "shop.cart.price", "shop.price"):
        assert by_name.text == session.ok("get_nodes", uris=[name], callers=True).text
    assert "concept://code/shop/cart.py/price (Symbol), file://code/shop/cart.py" in by_name.text
    assert "- concept://code/shop/cart.py/Cart.total\n    12: price(each)" in by_name.text
    assert "    17: return price(self.items[0]), price(self.items[1])" in by_name.text
    report = "- file://code/shop/report.py\n    1: from shop.cart import price\n    3: print(price("
    assert report in by_name.text
    (node,) = by_name.data["nodes"]
    assert len(node["calls"]) == 3
    assert "\nAll 4 files were searched for the name; " in by_name.text
    unused = session.ok("get_nodes", uris=["Cart.total"], callers=True).text
    assert "\nNo caller is known; 0 files mention the name.\nNo other line has the name." in unused
    error = session.call("get_nodes", uris=["nothing_of_the_kind"], callers=True).error
    assert "There is no node" in error["message"]
    by_text = session.ok("get_nodes", uris=["items"], callers=True)
    assert by_text.text.startswith("No symbol is named items.\n2 other lines of code in 1 file ")
    assert by_text.data["nodes"][0]["mentioned_in"] == ["file://code/shop/cart.py"]


def test_a_name_that_symbols_have_is_never_said_to_be_unknown(session: Session) -> None:
    other = session.ok("get_nodes", uris=["goods::till::price"], callers=True).text
    assert other.startswith("goods::till::price is taken for the only symbol named price.\n")
    assert "- concept://code/shop/cart.py/Cart.total\n    12: price(each)" in other
    member = session.ok("get_nodes", uris=["Till.price"], callers=True).text
    assert member.startswith(
        "No symbol has the path Till.price; 1 symbol is named price: "
        "concept://code/shop/cart.py/price\n"
    )


def test_many_symbols_of_a_name_are_answered_for_together(session: Session, root: Path) -> None:
    classes = "".join(f"class C{at}:\n    def run_it(self): ...\n\n\n" for at in range(120))
    use = "class Base:\n    def run_it(self): ...\n\n\ndef use(base: Base):\n    base.run_it()\n"
    (root / "many.py").write_text(classes + use, encoding="utf-8")
    session.ok("bootstrap_workspace")
    told = session.ok("get_nodes", uris=["run_it"], callers=True).text
    assert told.startswith("100 symbols or more are named run_it; these are the uses of that many.")
    assert " of them is certain: concept://code/many.py/C0.run_it, " in told
    assert told.count("No caller") == 1
    # The end of a path that only one of them has.
    assert session.ok("get_nodes", uris=["Base.run_it"]).data["nodes"][0]["uri"] == (
        "concept://code/many.py/Base.run_it"
    )
    one = session.ok("get_nodes", uris=["Base.run_it"], callers=True).text
    assert one.startswith("concept://code/many.py/Base.run_it (Symbol)")
    assert "Called by:\n- concept://code/many.py/use\n" in one
    (root / "many.py").write_text("".join(classes.partition("class C9:")[:1]) + use, "utf-8")
    session.ok("bootstrap_workspace")
    few = session.ok("get_nodes", uris=["run_it"], callers=True).text
    assert few.startswith("10 symbols are named run_it; these are the uses of all of them. Pass a ")
    (root / "many.py").unlink()
    session.ok("bootstrap_workspace")


def test_lists_of_a_frequent_name_are_short_and_say_how_much_is_left_out(
    session: Session, root: Path
) -> None:
    (root / "shop/often.py").write_text("def often(): ...\n")
    for number in range(3):
        (root / f"shop/said{number}.md").write_text("often\n" * 100)
    session.ok("bootstrap_workspace", path="shop")
    told = session.ok("get_nodes", uris=["often"], callers=True).text
    for path in (root / "shop/often.py", *(root / f"shop/said{number}.md" for number in range(3))):
        path.unlink()
    session.ok("bootstrap_workspace", path="shop")
    assert len(told) < 1_200
    assert "said0.md: 1, 2, 3, " in told
    assert ", 40 and 60 more\n" in told
    assert "… and 200 lines in 2 files not shown" in told


def test_calls_that_only_fit_by_name_stand_apart_from_certain_ones(session: Session) -> None:
    told = session.ok("get_nodes", uris=["Cart.first"], callers=True)
    certain, apart, perhaps = told.text.partition("Perhaps called by")
    assert apart
    assert "No caller is certain; 1 line may call it.\n" in certain
    # Words in documentation and comments are no calls.
    assert '- concept://code/shop/view.py/show\n    8: {thing.first()}"""' in perhaps
    assert "1 file mentions the name in comments, strings or documents:\n" in perhaps
    assert "- file://code/shop/view.py: 2, 4, 6\n" in perhaps
    (node,) = told.data["nodes"]
    assert (node["calls"], node["may_call"]) == ([], ["concept://code/shop/view.py/show"])
    few = session.ok("get_nodes", uris=["price"], callers=True, relations=1)
    assert len(few.data["nodes"][0]["calls"]) == 1
    assert "… and 2 others (a larger `relations` shows them by name):\n" in few.text
    assert "- file://code/shop/report.py: 1, 3\n" in few.text


def test_the_active_context_has_the_size_that_was_asked_for_and_says_what_changed(
    session: Session,
) -> None:
    cart, report, shop = "file://code/shop/cart.py", "file://code/shop/report.py", "shop"
    added = session.ok("manage_context", action="add", uris=[cart, report])
    assert (added.data["added"], added.data["size_max"]) == ([cart, report], 2)
    assert f"Added (2):\n- {cart}\n- {report}\n" in added.text
    again = session.ok("manage_context", action="add", uris=[report, shop])
    assert again.data["used_again"] == [report]
    assert again.data["added"] == ["concept://code/shop"]
    assert again.data["made_room"] == [cart]
    assert f"Evicted to make room (1):\n- {cart}" in again.text
    removed = session.ok("manage_context", action="remove", uris=[report, cart])
    assert (removed.data["removed"], removed.data["not_loaded"]) == ([report], [cart])
    assert session.ok("manage_context", action="clear").data["removed"] == ["concept://code/shop"]
    assert session.ok("manage_context", action="clear").text.startswith("Nothing changed.\n")


def test_an_overview_leaves_out_types_that_nothing_is_of(session: Session) -> None:
    told = session.ok("describe_graph").text
    assert "- Symbol (5)" in told
    assert "- calls (3)" in told
    assert "(0)" not in told
    assert "SleepTask" not in told
    assert "SleepTask" in session.ok("describe_graph", topic="types").text


def test_slips_are_understood_or_corrected_in_the_hint(session: Session) -> None:
    assert session.ok("search_knowledge", query="price", limit="1").data["hits"]
    error = session.call("search_knowledge", query="price", limit="one").error
    assert error["hint"] == "Pass limit as a whole number from 1 to 50."
    for slip in ("depends-on", "depends on"):
        link = {"source": "a", "relation": slip, "target": "b"}
        error = session.call("remember_knowledge", relations=[link]).error
        assert error["hint"].startswith("Write 'depends_on'. ")


def test_hints_name_tools_and_no_methods(session: Session) -> None:
    for tool, arguments in (
        ("get_nodes", {"uris": ["nowhere"]}),
        ("update_node", {"uri": "nowhere", "content": "x"}),
        ("forget_nodes", {"uris": ["nowhere"]}),
        ("traverse_graph", {"start": "nowhere"}),
    ):
        assert "remember_knowledge adds one" in session.call(tool, **arguments).error["hint"]
    for key in ("name", "content", "uri"):
        concept = {"uri": "x", "properties": {key: "y"}}
        hint = session.call("remember_knowledge", concepts=[concept]).error["hint"]
        assert not {"(", "="} & set(hint)


def test_many_commands_that_fail_keep_their_hints(session: Session) -> None:
    commands = ['FIND(?x) WHERE { ?x {type: "Nothing"} }'] * 250
    told = session.call("execute_kip_readonly", commands=commands)
    hints = [each["error"]["hint"] for each in told.data["result"]]
    assert len(hints) == 250
    assert all("DESCRIBE CONCEPT TYPES; names are case-sensitive." in each for each in hints)
    assert len(told.text) < 45_000


def test_notes_about_a_symbol_are_shown_before_its_calls_and_found_by_its_name(
    session: Session,
) -> None:
    session.ok(
        "remember_knowledge",
        concepts=[{"uri": "notes/rounding", "content": "Zebras round up."}],
        relations=[{"source": "notes/rounding", "relation": "about", "target": "price"}],
    )
    shown = session.ok("get_nodes", uris=["price"], relations=1)
    assert "← about concept://code/notes/rounding" in shown.text
    found = session.ok("search_knowledge", query="What should I know of shop/cart.py/price?")
    line = next(each for each in found.text.splitlines() if "notes/rounding" in each)
    assert line.endswith("[about price]")


def test_a_search_for_a_former_uri_names_the_node(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "howto/try-index", "content": "Run it."}])
    session.ok("update_node", uri="howto/try-index", new_uri="howto/index/try")
    for name in ("howto/try-index", "concept://code/howto/try-index"):
        found = session.ok("search_knowledge", query=name, mode="keyword").text
        assert "Nothing is named" not in found
    assert (
        "howto/try-index is now concept://code/howto/index/try."
        in session.ok("search_knowledge", query="howto/try-index").text
    )
    found = session.ok("search_knowledge", query="nothing/at_all").text
    assert "Nothing is named nothing/at_all" in found


def test_a_write_lists_resolved_names_in_one_line_after_the_warnings(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": "risks/unused-yet", "content": "Why."}])
    written = session.ok(
        "remember_knowledge",
        relations=[
            {"source": "unused-yet", "relation": "about", "target": "Cart.total"},
            {"source": "unused-yet", "relation": "about", "target": "Cart.first"},
            {"source": "unused-yet", "relation": "about", "target": "concept://code/nowhere"},
        ],
    ).text
    warnings = [each for each in written.splitlines() if each.startswith("Warning: ")]
    assert len(warnings) == 1
    assert "There is no concept concept://code/nowhere yet." in warnings[0]
    (names,) = (each for each in written.splitlines() if each.startswith("Names: "))
    for name in ("unused-yet → concept://code/risks/unused-yet", "Cart.total → ", "Cart.first → "):
        assert name in names
    assert written.index("Warning: ") < written.index("Names: ")
    # Removals name what was meant too, single relations and nodes.
    relation = {"source": "unused-yet", "relation": "about", "target": "Cart.total"}
    for _ in range(2):
        gone = session.ok("forget_nodes", relations=[relation]).text
        assert "concept://code/risks/unused-yet —about→ concept://code/shop/cart.py/Cart" in gone
        assert "concept://code/unused-yet" not in gone
    # So do changes, moves and merges: one line, and no warning for each name.
    session.ok("remember_knowledge", concepts=[{"uri": "risks/unused-too", "content": "Why."}])
    changed = session.ok("update_node", uri="unused-yet", content="Because.").text
    assert "Names: unused-yet → concept://code/risks/unused-yet." in changed
    merged = session.ok("update_node", uri="unused-too", merge_into="unused-yet").text
    assert merged.count("Names: ") == 1
    assert "unused-too → concept://code/risks/unused-too, unused-yet → " in merged
    session.ok("remember_knowledge", concepts=[{"uri": "risks/third", "content": "Why."}])
    gone = session.ok("forget_nodes", action="remove", uris=["unused-yet", "third"]).text
    assert "concept://code/risks/unused-yet removed, with " in gone
    assert gone.count("Names: unused-yet → concept://code/risks/unused-yet, third → ") == 1
    assert "Warning: " not in changed + gone


def test_a_search_marks_what_is_outdated_gone_or_called_otherwise_now(tmp_path: Path) -> None:
    root = tmp_path / "code"
    root.mkdir()
    (root / "kept.py").write_text("def ship_parcel(): ...\n")
    (root / "gone.py").write_text("def weigh_parcel(): ...\n")
    for number in range(8):
        (root / f"config{number}.py").write_text("class Config:\n    '''Configure it.'''\n")
    with connected(tmp_path / "graph.db", "--root", str(root)) as session:
        session.ok("bootstrap_workspace")
        notes = {"shipped": "kept", "weighed": "gone"}
        concepts = [
            {"uri": f"notes/{name}", "content": f"How a parcel is {name}."} for name in notes
        ]
        relations = [
            {"source": f"notes/{name}", "relation": "about", "target": f"file://code/{file}.py"}
            for name, file in notes.items()
        ]
        session.ok("remember_knowledge", concepts=concepts, relations=relations)
        (root / "kept.py").write_text("def ship_parcel(to): ...\n")
        (root / "gone.py").unlink()
        session.ok("bootstrap_workspace")
        lines = session.ok("search_knowledge", query="how is a parcel shipped").text.splitlines()
        (shipped,) = (line for line in lines if "notes/shipped" in line)
        assert "perhaps outdated: file://code/kept.py changed since" in shipped
        found = session.ok("search_knowledge", query="gone.py")
        assert "gone from the disk since" in found.text
        session.ok("update_node", uri="notes/shipped", new_uri="notes/sent")
        found = session.ok("search_knowledge", query="concept://code/notes/shipped")
        assert "concept://code/notes/shipped is now concept://code/notes/sent." in found.text
        assert found.data["hits"][0]["uri"] == "concept://code/notes/sent"
        question = "How do I configure the Kubernetes ingress for the billing service?"
        found = session.ok("search_knowledge", query=question)
        assert found.text.startswith("Nothing fits well")
        assert 0 < sum(hit["kind"] == "code" for hit in found.data["hits"]) <= 3
