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


def write_login(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with mycel.open(path, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        text = "# Login\n\nWith a password.\n\nLasts a day.\n\nSeen by all.\n"
        shop.add("auth/login", name="Login", content=text, properties={"owner": "ada"})


def test_a_branch_is_made_written_on_merged_and_its_conflicts_are_decided_in_the_page(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    """The whole way of a change, without a command line."""
    served = serve(write=write_login)
    here = tab(served, errors=True).open("#/branches")
    page = here.page
    page.locator("input[name=branch]").fill("bad name/")
    page.get_by_role("button", name="Create and show").click()
    expect(page.locator(".branch-form .failure")).to_be_visible()
    page.locator("input[name=branch]").fill("draft")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("live")).to_contain_text("branch draft")
    with mycel.open(served.path, branch="draft", actor="grace") as db:
        draft = mycel.Knowledge(db, workspace="shop")
        text = "# Login\n\nWith a passkey.\n\nLasts a day.\n\nSeen by some.\n"
        draft.update("auth/login", content=text, properties={"owner": "grace"})
        draft.add("auth/sso", name="SSO")
    shop = served.knowledge()
    text = "# Login\n\nWith a magic link.\n\nLasts an hour.\n\nSeen by none.\n"
    shop.update("auth/login", content=text, properties={"owner": "alan"})

    page.get_by_role("button", name="Branches").click()
    rows = page.locator(".branch")
    expect(page.locator(".shown-branch")).to_contain_text("2 commits ahead of main, 1 commit")
    expect(page.locator(".shown-branch")).to_contain_text("draft")
    rows.filter(has_text="measured by").get_by_role("button", name="Show").click()
    expect(page.get_by_test_id("live")).to_contain_text("branch main")
    page.get_by_role("button", name="Branches").click()
    draft_row = page.locator(".branch", has_text="ahead of main")
    draft_row.get_by_role("button", name="Merge into main…").click()
    expect(draft_row).to_contain_text("1 added")
    expect(draft_row).to_contain_text("2 conflicts would be open")
    assert not shop.db.merges  # A look changes nothing.
    draft_row.get_by_role("button", name="Start the merge into main").click()

    expect(page.locator(".merge")).to_contain_text("2 conflicts of 2 still open")
    page.get_by_role("button", name="Take mine everywhere").click()
    expect(page.locator(".merge")).to_contain_text("All conflicts are resolved")
    owner = page.locator(".conflict", has_text="owner")
    owner.get_by_role("button", name="Take theirs").click()
    expect(owner.locator(".good")).to_contain_text("theirs")
    lines = page.locator(".conflict", has_text="passkey")
    lines.get_by_role("button", name="Edit the contested lines").click()
    parts = lines.locator("textarea")
    expect(parts).to_have_count(2)
    expect(parts.first).to_have_value("With a magic link.\nWith a passkey.")
    parts.nth(1).fill("Seen by few.")
    lines.get_by_role("button", name="Use these lines").click()
    expect(lines.locator(".good")).to_contain_text("lines")
    page.get_by_label("Message of the merge commit").fill("both ways in")
    page.get_by_role("button", name="Commit the merge").click()
    expect(page.get_by_text("No merge is open.")).to_be_visible()
    node = served.knowledge().get("auth/login")
    both = "With a magic link.\nWith a passkey."
    assert node.content == f"# Login\n\n{both}\n\nLasts an hour.\n\nSeen by few.\n"
    assert node.properties["owner"] == "grace"
    assert served.knowledge().get("auth/sso").name == "SSO"

    page.get_by_role("button", name="Merge a branch").click()
    draft_row.get_by_role("button", name="Merge into main…").click()
    expect(draft_row).to_contain_text("main has all of it already")
    draft_row.get_by_role("button", name="Delete…").click()
    draft_row.get_by_role("button", name="Delete draft").click()
    expect(page.locator(".branch")).to_have_count(1)
    assert [each.name for each in served.knowledge().db.branches] == ["main"]


def test_a_merge_is_given_up_and_a_reader_can_neither_branch_nor_merge(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    served = serve(write=write_branches)
    page = tab(served).open("#/conflicts").page
    page.get_by_role("button", name="Abandon").click()
    expect(page.get_by_text("No merge is open.")).to_be_visible()
    assert served.knowledge().get("auth/login").content == "Magic link."
    reader = tab(serve("--readonly", write=write_branches)).open("#/branches").page
    expect(reader.get_by_text("This server is read-only")).to_be_visible()
    expect(reader.locator(".branch")).to_have_count(2)
    assert reader.get_by_role("button", name="Merge into").count() == 0
    assert reader.locator("input[name=branch]").count() == 0


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
