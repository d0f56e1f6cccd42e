"""Proposals are reviewed in the browser, and workspaces of a server switched."""

from collections.abc import Callable
from pathlib import Path

import mycel
from tests.adapters.http.team import Team, team
from tests.browser.conftest import Shop, Tab, playwright

__all__ = ["team"]
expect = playwright.expect


def write_proposals(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with mycel.open(path, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.add("auth/login", name="Login", content="Password.")
        for number, text in enumerate(("Passkey.", "<b>Magic</b> link.")):
            node = {"type": "Concept", "name": "concept://shop/auth/login"}
            edit = {"concept": node, "attributes": {"name": "Login", "content": text}}
            db.submissions.submit([edit], message=f"Idea {number}", on_conflict="propose", by="eve")


def test_proposals_are_seen_commented_accepted_and_rejected(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    served = serve(write=write_proposals)
    page = tab(served, errors=True).open("#/proposals").page
    first = page.locator(".proposal", has_text="Idea 0")
    second = page.locator(".proposal", has_text="Idea 1")
    expect(first).to_contain_text("By eve")
    expect(first).to_contain_text("Passkey.")
    expect(second).to_contain_text("<b>Magic</b>")
    expect(first.get_by_role("button", name="Reject")).to_be_disabled()
    words = first.get_by_label("Comment, or reason")
    words.fill("Why not?")
    first.get_by_role("button", name="Comment").click()
    expect(first.locator(".comments")).to_contain_text("Why not?")
    first.get_by_role("button", name="Accept").click()
    expect(first).to_have_count(0)
    shop = served.knowledge()
    assert shop.get("auth/login").content == "Passkey."
    expect(second).to_contain_text("1 conflict")
    second.get_by_role("button", name="Accept").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert shop.get("auth/login").content == "Passkey."
    second.get_by_label("Comment, or reason").fill("Passkeys it is")
    second.get_by_role("button", name="Reject").click()
    expect(second).to_have_count(0)
    ended = page.get_by_label("Show those that have ended")
    box, title = ended.bounding_box(), page.locator("h1").bounding_box()
    assert box
    assert title
    assert box["width"] < 30
    assert box["x"] - title["x"] < 30
    ended.check()
    expect(second).to_contain_text("rejected by")
    expect(second).to_contain_text("Passkeys it is")
    assert next(shop.db.history.log(limit=1)).actor == "eve"
    shop.db.close()


def test_who_may_only_propose_edits_the_page_and_sees_a_proposal(
    team: Team, tab: Callable[..., Tab]
) -> None:
    with mycel.open(team.folder / "shop.db", actor="ada") as db:
        mycel.Knowledge(db, workspace="shop").add("auth/login", name="Login", content="Password.")
    token = team.token("eve", "propose:/**")
    team.serve()
    assert team.server is not None
    here = tab(Shop(team.server, team.folder / "shop.db"), errors=True)
    here.address += "/ws/shop"
    page = here.open("#/graph?s=concept://shop/auth/login").page
    page.locator("input[name=token]").fill(token)
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("live")).to_contain_text("proposals only")
    panel = page.locator(".panel")
    expect(panel.get_by_role("button", name="Move")).to_be_visible()
    expect(panel.get_by_role("button", name="Archive")).to_have_count(0)
    panel.get_by_role("button", name="Edit").click()
    page.locator("input[name=name]").fill("Sign in")
    page.get_by_role("button", name="Propose").click()
    page.get_by_role("button", name="Show the proposals").click()
    proposal = page.locator(".proposal")
    expect(proposal).to_contain_text("By eve")
    expect(proposal).to_contain_text("Sign in")
    expect(proposal.get_by_role("button", name="Accept")).to_have_count(0)


def test_a_reader_goes_to_another_workspace_of_the_server(
    team: Team, tab: Callable[..., Tab]
) -> None:
    for name in ("ops", "shop"):
        with mycel.open(team.folder / f"{name}.db", actor="ada") as db:
            mycel.Knowledge(db, workspace=name).add("start", name=f"Start of {name}")
    team.serve()
    assert team.server is not None
    here = tab(Shop(team.server, team.folder / "shop.db"))
    here.address += "/ws/shop"
    page = here.open("#/workspaces").page
    served = page.locator(".served")
    expect(served.get_by_role("link")).to_have_count(2)
    # Without tokens, who reaches the server administers it.
    status = page.locator("#server-status")
    expect(status.locator("table").first).to_contain_text("MB")
    expect(status.get_by_role("cell", name="ui", exact=True)).to_be_visible()
    served.get_by_role("link", name="ops").click()
    page.wait_for_url("**/ws/ops/ui/**")
    expect(page.get_by_test_id("live")).to_be_visible()
