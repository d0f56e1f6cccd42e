"""Routes by cost in the browser: the path between two nodes, and what a budget reaches."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import mycel
from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect
START = "concept://ways/start"


def write_ways(path: Path) -> None:
    """A cheap detour, a dear direct link, a chain, and an island."""
    path.parent.mkdir(parents=True)
    with mycel.open(path, actor="ada") as db:
        ways = mycel.Knowledge(db, workspace="ways")
        links = [("start", "middle", 0.2), ("middle", "goal", 0.35), ("start", "goal", 0.9)]
        links += [(f"c{i}", f"c{i + 1}", 0.25) for i in range(12)] + [("start", "c0", 0.25)]
        names = {end for link in links for end in link[:2]} | {"island"}
        ways.remember(
            [{"uri": name, "name": name.capitalize()} for name in sorted(names)],
            [{"source": a, "relation": "leads_to", "target": b, "weight": w} for a, b, w in links],
        )


@pytest.fixture(scope="module")
def ways(serve: Callable[..., Shop]) -> Shop:
    return serve(write=write_ways)


def test_the_cheapest_path_is_chosen_by_keyboard_drawn_and_left(
    tab: Callable[..., Tab], ways: Shop
) -> None:
    here = tab(ways).graph(f"#/graph?g=-&n={START}&s={START}", 1)
    page = here.page
    page.get_by_role("button", name="Path to…").press("Enter")
    box = page.get_by_role("combobox", name="Name of the other node")
    expect(box).to_be_focused()
    page.keyboard.type("go")
    expect(page.get_by_role("option", name="Goal")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    words = page.get_by_test_id("route")
    expect(words).to_have_text("Cheapest path from Start to Goal: 2 links, cost 0.55.")
    expect(page.locator(".announcement")).to_contain_text("Cheapest path from Start to Goal")
    steps = page.locator(".route-steps li")
    expect(steps).to_have_count(3)
    expect(steps.nth(2)).to_contain_text("0.35")
    here.drawn(3)
    expect(page.locator("[role=option][data-id$=goal]")).to_contain_text("cost 0.55")
    # The address shows the same to somebody else.
    other = tab(ways).graph(page.url.partition("/ui/")[2], 3)
    expect(other.page.get_by_test_id("route")).to_contain_text("cost 0.55")
    page.get_by_label("Follow links").select_option("in")
    expect(words).to_have_text("There is no path from Start to Goal, against links.")
    page.get_by_role("button", name="Swap").click()
    expect(words).to_have_text("Cheapest path from Goal to Start: 2 links, cost 0.55.")
    page.get_by_role("button", name="Leave the route").click()
    expect(page.locator(".route")).to_have_count(0)
    here.drawn(3)
    page.keyboard.press("Control+z")
    expect(words).to_contain_text("from Goal to Start")


def test_nodes_without_a_path_are_said_to_have_none(tab: Callable[..., Tab], ways: Shop) -> None:
    here = tab(ways).graph(f"#/graph?g=-&path={START}*concept://ways/island&way=both", 2)
    words = here.page.get_by_test_id("route")
    expect(words).to_have_text("There is no path from Start to Island, either way.")


def test_the_slider_shows_what_a_traversal_reaches_at_its_budget_and_nothing_moves(
    tab: Callable[..., Tab], ways: Shop
) -> None:
    here = tab(ways).graph(f"#/graph?g=-&n={START}&s={START}", 1)
    page = here.page
    page.get_by_role("button", name="Within reach").click()
    slider = page.get_by_label("Cost up to")
    expect(slider).to_be_visible()
    expect(page.get_by_test_id("route")).to_contain_text("within cost 1 of Start")
    here.drawn()
    places: dict[str, tuple[float, float]] = {}
    asked = len(here.addresses)
    knowledge = ways.knowledge()
    for budget in (1.0, 0.25, 0.0, 2.0, 3.0, 0.55):
        slider.fill(str(budget))
        reached = {each.uri for each in knowledge.traverse(START, max_cost=budget).nodes}
        expect(page.get_by_test_id("route")).to_contain_text(f"{len(reached)} node")
        here.drawn(len(reached))
        shown = here.nodes()
        assert shown.keys() == reached
        assert all(places.setdefault(node, place) == place for node, place in shown.items())
    assert not [address for address in here.addresses[asked:] if "/api/reach" in address]
    slider.press("ArrowRight")
    expect(page.get_by_test_id("route")).to_contain_text("within cost 0.6 of Start")
    expect(page).to_have_url(re.compile(r"cost=0\.6"))
    page.keyboard.press("Tab")
    page.locator("#mirror").focus()
    page.keyboard.press("t")
    expect(page.get_by_role("columnheader", name="Cost")).to_be_visible()
    expect(page.get_by_role("row", name="Goal")).to_contain_text("0.55")
