"""The screen Health, and the buttons that archive a node and bring it back."""

from collections.abc import Callable
from pathlib import Path

import mycel
from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect
NOTE = "concept://shop/note"


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with mycel.open(path) as db:
        with db.transaction() as tx:
            tx.define_type("Org")
            for name in ("Acme", "ACME!"):
                tx.put_concept("Org", name)
        mycel.Knowledge(db, workspace="shop").add(NOTE, content="A note that has no link.")
        db.sleep()


def test_health_shows_what_a_cycle_found_and_a_node_is_archived_and_restored(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    shop = serve(write=write)
    here = tab(shop).open("#/health")
    page = here.page
    expect(page.locator("#health-summary")).to_contain_text("1 task waits")
    duplicate = page.locator("[data-health=duplicate] li")
    expect(duplicate).to_contain_text("may be one")
    expect(duplicate.get_by_role("button")).to_have_count(2)
    expect(page.locator("[data-health=orphaned]")).to_contain_text("has no link.")
    expect(page.locator("[data-health=growing]")).to_contain_text("Org")
    expect(page.locator("[data-health=log] li")).to_contain_text("duplicates: 1 asked")
    here.open(f"#/graph?g=-&n={NOTE}&s={NOTE}")
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(page.get_by_role("button", name="Restore", exact=True)).to_be_visible()
    assert "archived_at" in shop.knowledge().get(NOTE).metadata
    page.get_by_role("button", name="Restore", exact=True).click()
    expect(page.get_by_role("button", name="Archive", exact=True)).to_be_visible()
    assert "archived_at" not in shop.knowledge().get(NOTE).metadata
    assert here.errors == []
