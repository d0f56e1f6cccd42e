"""Names that a reader types mean nodes of the graph, and of the page before all others."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect
LOGIN, SESSION = "concept://shop/auth/login", "concept://shop/auth/session"
PASSKEYS = "concept://shop/decisions/passkeys"


@pytest.fixture(scope="module")
def elsewhere(serve: Callable[..., Shop], tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The shop, served from the folder of another project."""
    folder: Path = tmp_path_factory.mktemp("other") / "graphs"
    folder.mkdir()
    return serve("--root", str(folder))


def test_relating_to_a_name_on_the_page_links_that_node(
    tab: Callable[..., Tab], elsewhere: Shop
) -> None:
    here = tab(elsewhere).graph(f"#/graph?g=-&n={LOGIN}*{SESSION}*{PASSKEYS}&s={PASSKEYS}", 3)
    page = here.page
    for number, (typed, meant) in enumerate(
        [("Session", SESSION), ("auth/session", SESSION), ("LOGIN", LOGIN)]
    ):
        page.get_by_role("button", name="Relate", exact=True).click()
        page.locator("input[name=relation]").fill(f"settles_{number}")
        page.locator("input[name=target]").fill(typed)
        expect(page.get_by_test_id("meant-target")).to_contain_text(meant)
        page.get_by_role("dialog").get_by_role("button", name="Relate").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
    about = elsewhere.server.get("/api/about").json()
    assert [each["name"] for each in about["workspaces"]] == ["shop"]
    told = elsewhere.server.get("/api/relations", params={"id": PASSKEYS, "direction": "out"})
    settled = {each["target"] for each in told.json()["relations"] if "settles" in each["relation"]}
    assert settled == {SESSION, LOGIN}


def test_what_is_not_there_is_said_before_it_is_written(
    tab: Callable[..., Tab], elsewhere: Shop
) -> None:
    here = tab(elsewhere).graph(f"#/graph?g=-&n={LOGIN}&s={LOGIN}", 1)
    page = here.page
    page.get_by_role("button", name="Relate", exact=True).click()
    page.locator("input[name=relation]").fill("asks")
    page.locator("input[name=target]").fill("auth/oracle")
    expect(page.get_by_test_id("meant-target")).to_contain_text(
        "Not written yet: concept://shop/auth/oracle"
    )
    page.locator("input[name=target]").fill("passk")
    page.get_by_role("option", name="Passkeys only").click()
    expect(page.locator("input[name=target]")).to_have_value(PASSKEYS)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="New", exact=True).click()
    page.locator("input[name=id]").fill("auth/devices")
    expect(page.get_by_test_id("meant-id")).to_contain_text("concept://shop/auth/devices")
    page.locator("input[name=id]").fill("auth/session")
    expect(page.get_by_test_id("meant-id")).to_contain_text("exists already")


def test_a_tab_has_the_name_of_its_graph(tab: Callable[..., Tab], elsewhere: Shop) -> None:
    page = tab(elsewhere).graph().page
    expect(page).to_have_title("graph · Mycel")
    page.get_by_role("button", name="Query", exact=True).click()
    expect(page).to_have_title("Query · graph · Mycel")
