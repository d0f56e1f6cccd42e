"""Holds at: what does not hold on a date leaves the graph. Supersede and Keep of a node."""

from collections.abc import Callable
from pathlib import Path

import mycel
from mycel.knowledge.node_values import NewRelation
from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect
OLD, NEW, HUB = (f"concept://shop/{name}" for name in ("old", "new", "hub"))


def write(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with mycel.open(path, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.add("old", name="Old price", metadata={"valid_until": "2024-05-01"})
        shop.add("new", name="New price", metadata={"valid_from": "2024-05-01"})
        shop.add("hub", name="Hub")
        for name in ("old", "new"):
            shop.link("hub", "costs", name)


def test_what_does_not_hold_on_a_date_leaves_the_graph(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    shop = serve(write=write)
    here = tab(shop).graph("", 3)
    page = here.page
    page.get_by_label("Holds at").fill("2024-01-31")
    expect(page.get_by_test_id("holds")).to_have_text("without 1 node and 1 link")
    here.drawn(2)
    assert set(here.nodes()) == {OLD, HUB}
    expect(page.locator(".announcement")).to_contain_text("Holds at 2024-01-31")
    page.get_by_label("Holds at").fill("2025-01-31")
    page.get_by_test_id("holds").wait_for()
    expect(page.locator(f"[role=option][data-id='{NEW}']")).to_have_count(1)
    expect(page.locator(f"[role=option][data-id='{OLD}']")).to_have_count(0)
    # The address keeps the date, and a search asks for it.
    other = tab(shop).graph(page.url.partition("/ui/")[2], 2)
    assert set(other.nodes()) == {NEW, HUB}
    other.page.get_by_role("combobox").first.fill("price")
    other.page.keyboard.press("Shift+Enter")
    hits = other.page.locator(".search [role=option]")
    expect(hits.filter(has_text="New price")).to_have_count(1)
    expect(hits.filter(has_text="Old price")).to_have_count(0)
    page.get_by_role("button", name="any time").click()
    here.drawn(3)


def test_a_relation_says_when_it_holds_and_held_before(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    shop = serve(write=write)
    with mycel.open(shop.path) as db:
        links = mycel.Knowledge(db, workspace="shop")
        for dates in (
            {"valid_from": "2019-01-01", "valid_until": "2021-03-01"},
            {"valid_from": "2024-01-01"},
        ):
            links.remember([], [NewRelation("hub", "costs", "new", metadata=dates)])
    page = tab(shop).graph(f"#/graph?s={HUB}").page
    page.get_by_role("tab", name="Relations").click()
    row = page.locator(".relation-row", has_text="New price")
    expect(row).to_contain_text("holds from 2024-01-01; also held from 2019-01-01 until 2021-03-01")
    expect(page.locator(".relation-row", has_text="Old price")).not_to_contain_text("hold")


def test_a_node_is_superseded_and_gets_a_rule_in_the_page(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    shop = serve(write=write)
    page = tab(shop, errors=True).graph(f"#/graph?s={OLD}").page
    page.get_by_role("button", name="Keep", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Its type has no rule.")
    expect(dialog).to_contain_text("purge (a cycle asks first)")
    rule = dialog.get_by_label("Rule of this node")
    rule.fill("soon")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("no rule of retention")
    rule.fill("archive 90d after updated unless linked")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    assert shop.knowledge().get(OLD).metadata["retention"]["after"] == "90d"
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(rule).to_have_value("archive 90d after updated unless linked")
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Supersede", exact=True).click()
    dialog.get_by_role("combobox", name="By").fill("new")
    dialog.get_by_label("Reason").fill("inflation")
    dialog.get_by_label("Holds until").fill("2025-03-31")
    dialog.get_by_role("button", name="Supersede").click()
    expect(dialog).to_have_count(0)
    assert shop.knowledge().get(OLD).metadata["valid_until"] == "2025-03-31"
    superseded = page.locator(".warning", has_text=f"superseded by {NEW}")
    expect(superseded).to_have_count(1)
    page.locator(".notice").get_by_role("button", name="Undo").last.click()
    expect(superseded).to_have_count(0)
