"""The search box: notes and code in two sections, with reasons for care."""

from collections.abc import Callable
from pathlib import Path

import pytest

import mycel
from mycel.knowledge.bootstrap import bootstrap
from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect
SOURCE = '''"""Tokens of sessions."""


def renew_token(token: str) -> str:
    """Renew a token before it expires."""
    return token
'''


def write_project(path: Path) -> None:
    """A file of code, and notes about it: one superseded, one expired, one doubtful."""
    project = path.parent / "project"
    project.mkdir(parents=True)
    (project / "tokens.py").write_text(SOURCE)
    with mycel.open(path, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop", root=project)
        bootstrap(shop, project)
        shop.add("notes/renewal", name="Renew a token", content="A token is renewed each hour.")
        shop.add("notes/old", name="Renew by hand", content="A token is renewed by hand.")
        shop.link("notes/renewal", "supersedes", "notes/old")
        past = {"expires_at": "2020-01-01T00:00:00Z"}
        shop.add("notes/gone", name="Token renewal form", content="A form.", metadata=past)
        doubt = {"confidence": 0.1}
        shop.add("notes/doubt", name="Token renewal rumour", content="Maybe.", metadata=doubt)


@pytest.fixture(scope="module")
def project(serve: Callable[..., Shop]) -> Shop:
    return serve(write=write_project)


def test_what_was_found_stands_in_two_sections_with_caveats(
    tab: Callable[..., Tab], project: Shop
) -> None:
    page = tab(project).graph().page
    asked = project.server.get("/api/search", params={"q": "renew a token"}).json()["hits"]
    sections = list(dict.fromkeys(hit["section"] for hit in asked))
    assert sorted(sections) == ["code", "notes"]
    page.locator("#search").fill("renew a token")
    page.locator("#search").press("Shift+Enter")
    headings = page.locator("#hits [role=group] h2")
    expect(headings).to_have_count(2)
    shown = [text.split()[0].lower() for text in headings.all_text_contents()]
    assert shown == sections
    assert page.locator("#hits .hit-name").all_text_contents() == [hit["name"] for hit in asked]
    hits = page.locator("#hits .hit")
    expect(hits.filter(has_text="Renew by hand").locator(".hit-caveat")).to_contain_text(
        "superseded by concept://shop/notes/renewal"
    )
    expect(hits.filter(has_text="form").locator(".hit-caveat")).to_contain_text("expired")
    expect(hits.filter(has_text="rumour").locator(".hit-caveat")).to_contain_text("confidence")


def test_a_search_may_look_for_one_kind_and_the_keyboard_reaches_it(
    tab: Callable[..., Tab], project: Shop
) -> None:
    page = tab(project).graph().page
    headings = page.locator("#hits [role=group] h2")
    page.locator("#search").fill("renew a token")
    page.get_by_role("button", name="Notes", exact=True).click()
    expect(headings).to_have_text(["Notes 4"])
    page.get_by_role("button", name="Code", exact=True).press("Enter")
    expect(headings).to_have_count(1)
    expect(headings).to_contain_text("Code")
    expect(page.get_by_role("button", name="Code", exact=True)).to_be_focused()
    page.locator("#search").press("Enter")
    expect(page.locator(".panel-title")).to_contain_text("renew_token")


def test_the_panel_of_a_node_says_that_it_is_superseded(
    tab: Callable[..., Tab], project: Shop
) -> None:
    page = tab(project).graph("#/graph?s=concept://shop/notes/old").page
    expect(page.locator(".panel .warning")).to_have_text(
        "superseded by concept://shop/notes/renewal"
    )
