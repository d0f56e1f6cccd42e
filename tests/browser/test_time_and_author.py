"""The filter by time and author: dims or hides, lists authors with counts, stays in the address."""

from collections.abc import Callable
from pathlib import Path

import pytest

import mycel
from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect
A, B, C = (f"concept://team/{name}" for name in "abc")


def write_team(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with mycel.open(path, actor="ada") as db:
        team = mycel.Knowledge(db, workspace="team")
        team.remember([{"uri": "a"}, {"uri": "b"}, {"uri": "c"}])
    with mycel.open(path, actor="grace") as db:
        mycel.Knowledge(db, workspace="team").link("a", "knows", "b")
    with mycel.open(path, actor="alan") as db:
        mycel.Knowledge(db, workspace="team").update("c", content="New.")


@pytest.fixture(scope="module")
def team(serve: Callable[..., Shop]) -> Shop:
    return serve(write=write_team)


def test_changes_of_an_author_stand_out_or_stand_alone(tab: Callable[..., Tab], team: Shop) -> None:
    here = tab(team).graph("", 3)
    page = here.page
    page.get_by_role("button", name="Filter by time and author").press("Enter")
    page.locator(".authors summary").press("Enter")
    alan = page.get_by_role("checkbox", name="alan")
    expect(page.locator(".authors label", has_text="alan")).to_contain_text("1 change")
    alan.press("Space")
    words = page.get_by_test_id("span")
    expected = "1 of 3 nodes and 0 of 1 link shown here were changed; 1 node in the whole graph."
    expect(words).to_have_text(expected)
    expect(page.locator(".announcement")).to_have_text(expected)
    here.drawn(3)  # Dimmed, not hidden.
    expect(page.locator(f"[role=option][data-id='{C}']")).to_contain_text("as the filter says")
    expect(page.locator(f"[role=option][data-id='{A}']")).not_to_contain_text("as the filter says")
    page.get_by_role("button", name="hide the rest").click()
    here.drawn(1)
    assert set(here.nodes()) == {C}
    alan.uncheck()
    page.get_by_role("checkbox", name="grace").check()
    expect(words).to_contain_text("0 of 3 nodes and 1 of 1 link")
    here.drawn(2)  # The ends of the link that grace made.
    page.keyboard.press("Escape")
    assert set(here.nodes()) == {A, B}
    # The address keeps the filter.
    other = tab(team).graph(page.url.partition("/ui/")[2], 2)
    expect(other.page.get_by_test_id("span")).to_contain_text("1 of 1 link")
    page.get_by_role("button", name="Close the filter").click()
    here.drawn(3)


def test_a_span_of_time_filters_and_all_of_it_can_be_shown(
    tab: Callable[..., Tab], team: Shop
) -> None:
    here = tab(team, errors=True).graph(f"#/graph?g=-&n={A}&since=2020-01-01T00:00:00Z", 1)
    page = here.page
    words = page.get_by_test_id("span")
    expect(words).to_contain_text("1 of 1 node and 0 of 0 links shown here were changed; 3 nodes")
    page.get_by_role("button", name="Show these 3").click()
    here.drawn(3)
    expect(words).to_contain_text("3 of 3 nodes and 1 of 1 link")
    page.get_by_label("Changed since").fill("2100-01-01T00:00")
    expect(words).to_contain_text("0 of 3 nodes and 0 of 1 link")
    page.locator(".authors summary").click()
    expect(page.get_by_text("Nobody wrote in this span.")).to_be_visible()
    page.get_by_role("button", name="week").click()
    expect(words).to_contain_text("3 of 3 nodes")
    page.get_by_label("Changed since").fill("2100-01-01T00:00")
    page.get_by_label("until").fill("2001-01-01T00:00")
    expect(page.locator(".notice.error")).to_contain_text("`since` is after `until`")
