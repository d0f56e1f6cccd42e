"""Conflicts of an open merge: seen, resolved, edited and committed in the browser."""

from collections.abc import Callable
from pathlib import Path

import mycel
from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect


def write_branches(path: Path) -> None:
    """Two branches that say different things about login, merged as far as that goes."""
    path.parent.mkdir(parents=True)
    with mycel.open(path, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.add("auth/login", name="Login", content="Password.", properties={"owner": "ada"})
        db.branches.create("draft")
    with mycel.open(path, branch="draft", actor="grace") as db:
        draft = mycel.Knowledge(db, workspace="shop")
        draft.update("auth/login", content="Passkey.", properties={"owner": "grace"})
    with mycel.open(path, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.update("auth/login", content="Magic link.", properties={"owner": "alan"})
        assert db.merge("draft").is_open


def test_conflicts_are_resolved_edited_and_committed(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    served = serve(write=write_branches)
    here = tab(served)
    page = here.open("#/query?branch=draft").page
    page.locator(".cm-content").fill('FIND(?c.attributes.content) WHERE { ?c {type: "Concept"} }')
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".answer")).to_contain_text("Passkey.")  # As the branch has it.
    here.open("#/conflicts")
    expect(page.locator(".merge")).to_contain_text("2 conflicts of 2 still open")
    commit = page.get_by_role("button", name="Commit the merge")
    expect(commit).to_be_disabled()
    owner = page.locator(".conflict", has_text="owner")
    expect(owner.locator(".side").nth(2)).to_contain_text("grace")
    owner.get_by_role("button", name="Take theirs").click()
    expect(page.locator(".merge")).to_contain_text("1 conflict of 2 still open")
    text = page.locator(".conflict", has_text="Magic link")
    text.get_by_role("button", name="Edit the result").click()
    text.locator("textarea").fill("Passkey, or a magic link.")
    text.get_by_role("button", name="Use this result").click()
    expect(page.locator(".merge")).to_contain_text("All conflicts are resolved")
    page.get_by_label("Message of the merge commit").fill("both ways in")
    commit.click()
    expect(page.get_by_text("No merge is open.")).to_be_visible()
    node = served.knowledge().get("auth/login")
    assert node.content == "Passkey, or a magic link."
    assert node.properties["owner"] == "grace"
