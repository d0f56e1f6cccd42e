"""Hostile texts, large texts, tokens, read-only servers, servers that go away."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import mycel
from tests.adapters.http.conftest import Server, eventually
from tests.browser.conftest import TOKEN, HeldRequests, Shop, Tab, playwright

expect = playwright.expect
LOGIN, NOTES = "concept://shop/auth/login", "concept://shop/auth/notes"
HUB = "concept://large/hub"


def test_hostile_markdown_and_names_are_shown_as_text(tab: Callable[..., Tab]) -> None:
    here = tab().graph(f"#/graph?g=-&n={LOGIN}*{NOTES}&s={NOTES}", 2)
    page = here.page
    content = page.locator(".markdown")
    expect(content).to_contain_text("over everything")
    expect(page.locator(".panel-title")).to_contain_text("<img src=x onerror=")
    assert "\u202e" not in page.locator("body").inner_text()
    danger = "script, style, iframe, form, input, img, svg, [style], [onerror], [onload]"
    assert content.locator(danger).count() == 0
    links = content.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert set(links) <= {"https://example.org/", "https://example.org/spy.png", "#"}
    assert content.locator("a[href^='https']").first.get_attribute("rel") == "noopener noreferrer"
    content.get_by_text("a node").click()
    expect(page.locator(".panel-title")).to_have_text("Session")
    assert page.evaluate("window.hacked") is None
    assert not [address for address in here.addresses if "example.org" in address]


def test_a_text_that_is_nested_too_deeply_is_shown_as_it_is(tab: Callable[..., Tab]) -> None:
    deep = "concept://shop/auth/deep"
    page = tab().graph(f"#/graph?g=-&n={deep}&s={deep}", 1).page
    expect(page.locator(".panel .plain-text")).to_contain_text(">" * 1000)


def test_a_token_is_asked_for_stands_in_no_address_and_may_be_revoked_and_a_reader_changes_nothing(
    tab: Callable[..., Tab], serve: Callable[..., Shop], tmp_path: Path
) -> None:
    opened = tmp_path / "address"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o755)
    served = serve("--readonly", "--open", MYCEL_TOKEN=TOKEN, BROWSER=f"{browser} %s")
    # The ticket of `--open` signs in once, and leaves the address at once.
    eventually(lambda: opened.exists() and bool(opened.read_text()))
    guest = tab(served)
    guest.page.goto(opened.read_text())
    guest.drawn()
    assert "ticket" not in guest.page.url
    assert TOKEN not in guest.page.evaluate("sessionStorage.getItem('mycel:token')")

    here = tab(served, errors=True).open(f"#/graph?s={LOGIN}")
    page = here.page
    expect(page.get_by_text("This server asks for a token.")).to_be_visible()
    nodes = HeldRequests(page, "**/api/node?*")
    page.locator("input[name=token]").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The token was refused")).to_be_visible()
    late = nodes.take()
    refusal = late.fetch()
    assert refusal.status == 401
    nodes.release()
    page.locator("input[name=token]").fill(TOKEN)
    page.keyboard.press("Enter")
    here.drawn()
    with page.expect_response(late.request.url):
        late.fulfill(response=refusal)  # It is about the wrong token, not about the right one.
    expect(page.get_by_test_id("live")).to_contain_text("read-only")
    expect(page.locator(".panel-title")).to_have_text("Login")
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    expect(page.get_by_role("button", name="New", exact=True)).to_have_count(0)
    page.reload()
    here.drawn()
    assert not [address for address in [*here.addresses, page.url] if TOKEN in address]
    assert page.evaluate("[document.cookie, localStorage.getItem('mycel:token')]") == ["", None]
    page.evaluate("sessionStorage.setItem('mycel:token', 'revoked')")
    page.get_by_role("button", name="Timeline").click()
    expect(page.get_by_text("The token was refused")).to_be_visible()


def test_what_was_typed_outlives_a_token_that_is_revoked(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    served = serve(MYCEL_TOKEN=TOKEN)
    page = tab(served, errors=True).open().page
    token = page.locator("input[name=token]")
    token.fill(TOKEN)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="New", exact=True).click()
    page.locator("input[name=id]").fill("auth/typed")
    page.locator("textarea[name=content]").fill("Not lost.")
    # At once: a request of the page itself would ask for the token before the click.
    page.get_by_role("button", name="Create", exact=True).evaluate(
        "button => { sessionStorage.setItem('mycel:token', 'revoked'); button.click(); }"
    )
    expect(page.get_by_text("The token was refused")).to_be_visible()
    token.fill(TOKEN)
    page.keyboard.press("Enter")
    expect(token).to_have_count(0)
    expect(page.locator("textarea[name=content]")).to_have_value("Not lost.")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator(".panel .markdown")).to_have_text("Not lost.")


def write_large(path: Path, relations: int) -> None:
    """A hub with many relations, a text of 1 MB, and a cycle."""
    path.parent.mkdir(parents=True)
    with mycel.open(path) as db:
        large = mycel.Knowledge(db, workspace="large")
        nodes = [{"uri": "hub", "name": "Hub", "content": "word " * 209_000}]
        nodes += [{"uri": f"leaves/{i:05}"} for i in range(relations)]
        leaves = [
            {"source": "hub", "relation": "has", "target": f"leaves/{i:05}"}
            for i in range(relations)
        ]
        cycle = [
            {"source": "leaves/00001", "relation": "next", "target": "leaves/00002"},
            {"source": "leaves/00002", "relation": "next", "target": "leaves/00001"},
        ]
        large.remember(nodes, [*leaves, *cycle])


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.soak)])
def test_a_megabyte_of_text_and_thousands_of_relations_are_shown_in_part_and_said_so(
    tab: Callable[..., Tab], serve: Callable[..., Shop], count: int
) -> None:
    served = serve(write=partial(write_large, relations=count))
    here = tab(served).graph(f"#/graph?g=-&n={HUB}&s={HUB}", 1)
    page = here.page
    expect(page.get_by_text("of 1,045,000 characters are shown")).to_be_visible()
    page.get_by_role("tab", name="Relations").click()
    expect(page.get_by_text(f"of {count:,} relations are shown")).to_be_visible()
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".relation-row")).to_have_count(200)
    page.get_by_role("button", name="Expand +25").click()
    here.drawn(26)
    expect(page.locator(".announcement")).to_contain_text("more not shown")
    overview = tab(served).graph()
    expect(overview.page.get_by_test_id("shown")).to_contain_text("group")


def test_ids_that_are_gone_and_unreadable_addresses_are_said_clearly(
    tab: Callable[..., Tab],
) -> None:
    here = tab(errors=True).graph(
        f"#/graph?g=-&n={LOGIN}*concept://shop/nowhere&s=concept://shop/nowhere&at=x&hide=%ZZ", 1
    )
    page = here.page
    expect(page.locator(".announcement")).to_contain_text("is not in the graph any more")
    expect(page.locator(".panel .failure")).to_be_visible()


def test_a_server_that_stops_is_said_and_what_was_missed_comes_after_it_is_back(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    served = serve()
    here = tab(served, errors=True).graph(f"#/graph?g=-&n={LOGIN}&s={LOGIN}", 1)
    page = here.page
    expect(page.get_by_test_id("live")).to_contain_text("live")
    port = str(served.server.address[1])
    served.server.stop()
    expect(page.get_by_test_id("live")).to_contain_text("server away")
    page.get_by_role("tab", name="History").click()
    expect(page.locator(".panel .failure")).to_contain_text("The server does not answer")
    served.knowledge().update("auth/login", name="Login again")
    again = Server("mycel", "serve", "--json", "--db", served.path, "--port", port)
    try:
        again.wait_until_ready()
        page.evaluate("window.dispatchEvent(new Event('online'))")
        expect(page.get_by_test_id("live")).to_contain_text("live")
        expect(page.locator(".panel-title")).to_have_text("Login again")
    finally:
        again.end()
