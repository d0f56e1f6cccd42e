"""Every screen in both themes: no errors, nothing that axe calls serious, nothing cut off."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect
LOGIN, NOTES = "concept://shop/auth/login", "concept://shop/auth/notes"
SESSION = "concept://shop/auth/session"
SCREENS = {
    "#/graph": ".canvas-box canvas[data-drawn]",
    f"#/graph?s={LOGIN}": ".markdown",
    f"#/graph?g=-&n={LOGIN}*{NOTES}&s={LOGIN}&tab=attributes": "[aria-labelledby=tab-attributes] *",
    f"#/graph?g=-&n={LOGIN}&s={LOGIN}&tab=relations": ".relation-row",
    f"#/graph?g=-&n={LOGIN}&s={LOGIN}&tab=history": ".versions li",
    f"#/graph?g=-&n={LOGIN}&s={LOGIN}&tab=proof&at=LAST": ".verdict.good",
    f"#/graph?g=-&n={LOGIN}*{NOTES}&table=1": "table.data tbody tr",
    f"#/graph?g=-&path={NOTES}*{SESSION}&way=both": ".route-steps li",
    f"#/graph?g=-&reach={LOGIN}&cost=1&way=both&s={LOGIN}": ".route-budget",
    f"#/graph?g=-&n={LOGIN}*{SESSION}&since=2020-01-01T00:00:00Z&who=ada": ".span-outcome button",
    "#/query?q=FIND(%3Fc.name)": ".cm-content",
    "#/timeline": ".timeline li",
    "#/compare?from=LAST": ".change",
    "#/missing": "table.data tbody tr",
    "#/health": "[data-health=orphaned] li",
    "#/branches": ".branch",
    "#/conflicts": "h1:text('Conflicts')",
    "#/proposals": "h1:text('Proposals')",
    "#/workspaces": ".card",
}

RULES = {"runOnly": ["wcag2a", "wcag2aa"], "resultTypes": ["violations"]}


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_screen_has_an_error_or_a_serious_fault_of_accessibility(
    tab: Callable[..., Tab], theme: str, every: int
) -> None:
    """Both themes show all screens; axe, which takes long, looks at every third one in each."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    ).Axe()
    here = tab(color_scheme=theme)
    for place, fragment in enumerate(SCREENS):
        visit(here, fragment)
        if (place + (theme == "dark")) % every == 0:
            assert serious(axe.run(here.page, options=RULES).response) == [], fragment
    here.page.keyboard.press("?")
    expect(here.page.get_by_role("dialog")).to_be_visible()
    assert serious(axe.run(here.page, "dialog", options=RULES).response) == []


def visit(here: Tab, fragment: str) -> None:
    """Goes to a screen, as a link on the page would, and waits until it is there."""
    commits = here.page.request.get(f"{here.address}/api/commits?limit=1").json()["commits"]
    where = fragment.replace("LAST", str(commits[0]["before"]))
    here.page.goto(f"{here.address}/ui/{where}")
    here.page.wait_for_selector(SCREENS[fragment])


def serious(found: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    return [
        (fault["id"], [node["target"] for node in fault["nodes"]][:3])
        for fault in found["violations"]
        if fault["impact"] in {"serious", "critical"}
    ]


def test_narrow_screens_cut_nothing_off(tab: Callable[..., Tab]) -> None:
    here = tab(viewport={"width": 360, "height": 700}, has_touch=True)
    for fragment in SCREENS:
        visit(here, fragment)
        wide = here.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, fragment


def test_a_query_runs_is_rehearsed_marks_its_errors_and_leads_to_the_graph(
    tab: Callable[..., Tab],
) -> None:
    here = tab(errors=True).open("#/query")
    page = here.page
    expect(page.locator(".examples .link").first).to_be_visible()
    for example in page.locator(".examples .link").all():
        example.click()
        page.get_by_role("button", name="Dry run").click()
        expect(page.locator(".answer")).to_contain_text("nothing was written")
        page.locator(".cm-content").fill("FIND(")
        page.get_by_role("button", name="Dry run").click()
        expect(page.locator(".failure")).to_be_visible()
    page.get_by_role("button", name="Names of type Concept").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".answer")).to_contain_text("20 rows")
    editor = page.locator(".cm-content")
    editor.fill('FIND(?c) WHERE { ?c {type: "Decision"} }')
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".answer")).to_contain_text("1 row")
    page.get_by_role("button", name="Show 1 node in the graph").click()
    here.drawn(1)
    page.get_by_role("button", name="Query").click()
    editor.fill("FIND(?c.name WHERE { }")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".failure")).to_contain_text("Expected")
    expect(page.locator(".cm-lintRange-error")).to_have_text("WHERE")
    editor.fill('UPSERT { CONCEPT { {type: "Concept", name: "concept://shop/rehearsed"} } }')
    page.get_by_role("button", name="Dry run").click()
    expect(page.locator(".answer")).to_contain_text("nothing was written")
    answer = page.request.get(f"{here.address}/api/node?id=concept://shop/rehearsed")
    assert answer.status == 404


def test_two_moments_are_compared_with_signs_words_and_lines(
    tab: Callable[..., Tab], shop: Shop
) -> None:
    before = shop.server.get("/api/about").json()["position"]
    knowledge = shop.knowledge()
    knowledge.update("decisions/passkeys", content="Only with a key.")
    knowledge.add("decisions/fresh")
    knowledge.delete("parts/p58")
    page = tab().open(f"#/compare?from={before}").page
    expect(page.locator(".lead")).to_contain_text(re.compile(r"\+ \d+ added"))
    changes = page.locator(".change")
    expect(changes.filter(has_text="fresh").first).to_contain_text("added")
    expect(changes.filter(has_text="Passkeys").locator(".line.added").first).to_contain_text("key")
    expect(changes.filter(has_text="removed").first).to_contain_text("Part 58")
    page.get_by_role("button", name="Swap").click()
    expect(page.locator(".change").filter(has_text="fresh").first).to_contain_text("removed")


def test_a_node_is_created_edited_related_moved_forgotten_and_every_step_can_be_undone(
    tab: Callable[..., Tab], shop: Shop
) -> None:
    here = tab(errors=True).graph(f"#/graph?g=-&n={SESSION}", 1)
    page = here.page
    page.get_by_role("button", name="New", exact=True).click()
    page.locator("input[name=id]").fill("auth/devices")
    page.locator("textarea[name=content]").fill("A **device** has a key.")
    expect(page.locator(".preview strong")).to_have_text("device")
    page.locator("input[name=message]").fill("devices are known")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator(".panel .markdown strong")).to_have_text("device")
    expect(page.locator(".notice").last).to_contain_text("Written: commit")
    expect(page.locator(".provenance")).to_contain_text("devices are known")

    page.get_by_role("button", name="Edit", exact=True).click()
    page.locator("textarea[name=content]").fill("Changed here.")
    shop.knowledge().update("auth/devices", content="Changed by an agent.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("dialog .failure")).to_be_visible()
    expect(page.locator("textarea[name=content]")).to_have_value("Changed here.")
    page.get_by_role("button", name="Keep my text").click()
    expect(page.locator("dialog .failure")).to_have_count(0)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".panel .markdown")).to_have_text("Changed here.")

    page.get_by_role("button", name="Relate", exact=True).click()
    page.locator("input[name=relation]").fill("belongs_to")
    page.locator("input[name=target]").fill("auth/nobody")
    page.get_by_role("dialog").get_by_role("button", name="Relate").click()
    page.get_by_role("tab", name="Relations").click()
    expect(page.locator(".relation-row .missing-word")).to_have_text("missing")

    page.get_by_role("button", name="Move", exact=True).click()
    page.locator("input[name=to]").fill("auth/keys")
    page.get_by_role("dialog").get_by_role("button", name="Move").click()
    expect(page.locator(".uri-row .uri")).to_have_text("concept://shop/auth/keys")

    page.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(page.locator(".removed-note")).to_be_visible()
    page.locator(".notice", has_text="Written").last.get_by_role("button", name="Undo").click()
    expect(page.locator(".removed-note")).to_have_count(0)
    assert shop.knowledge().get("auth/keys").content == "Changed here."
