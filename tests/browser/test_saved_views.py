"""Saved views: one person saves what is shown, another one finds it after a restart."""

from collections.abc import Callable
from pathlib import Path

import mycel
from tests.adapters.http.conftest import Server
from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect
A, B, C, D = (f"concept://team/{name}" for name in "abcd")


def write_team(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with mycel.open(path, actor="ada") as db:
        team = mycel.Knowledge(db, workspace="team")
        links = [{"source": "a", "relation": "knows", "target": name} for name in "bcd"]
        team.remember([{"uri": name, "name": f"Node {name}"} for name in "abcd"], links)


def test_a_view_is_saved_and_opened_by_a_colleague_after_a_restart(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    served = serve(write=write_team)
    here = tab(served, errors=True).graph("", 4)  # Its server goes away.
    page = here.page
    x, y = here.point(C)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=4)
    page.mouse.up()
    page.locator("#mirror").focus()
    page.locator(f"[role=option][data-id='{D}']").dispatch_event("click")
    page.keyboard.press("Backspace")
    here.drawn(3)
    places = here.nodes()
    page.keyboard.press("v")
    dialog = page.get_by_role("dialog", name="Saved views")
    expect(dialog.get_by_text("No view is saved yet.")).to_be_visible()
    dialog.get_by_label("Save what is shown as").fill("Without d")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="Without d", exact=True)).to_be_visible()
    camera = page.locator(".canvas-box canvas").get_attribute("data-camera").split()
    camera = " ".join(f"{round(float(value), 3):g}" for value in camera)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    served.server.end()
    again = Server("mycel", "serve", "--json", "--db", served.path, "--port", "0")
    again.wait_until_ready()
    try:
        other = tab(Shop(again, served.path), errors=True).graph("", 4)  # A browser of its own.
        page = other.page
        page.get_by_role("button", name="Saved views").click()
        dialog = page.get_by_role("dialog", name="Saved views")
        dialog.get_by_role("button", name="Without d", exact=True).press("Enter")
        other.drawn(3)
        expect(page.locator(".canvas-box canvas")).to_have_attribute("data-camera", camera)
        assert {k: (round(x), round(y)) for k, (x, y) in other.nodes().items()} == {
            key: (round(x), round(y)) for key, (x, y) in places.items()
        }
        expect(page.locator(f"[role=option][data-id='{C}']")).to_contain_text("pinned")
        page.keyboard.press("Control+z")
        other.drawn(4)

        page.keyboard.press("v")
        dialog.get_by_role("button", name="Rename Without d").click()
        dialog.get_by_label("New name").fill("Three of four")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("button", name="Three of four", exact=True)).to_be_visible()
        dialog.get_by_label("Save what is shown as").fill("Three of four")
        dialog.get_by_role("button", name="Replace").click()
        expect(dialog.locator(".saved-views li")).to_have_count(1)
        saved = again.get("/api/saved").json()["views"]
        body = again.get("/api/saved", params={"id": saved[0]["id"]}).json()
        assert (body["name"], body["view"]["less"]) == ("Three of four", [])
        dialog.get_by_role("button", name="Delete Three of four").click()
        dialog.get_by_role("button", name="Delete for good").click()
        expect(dialog.get_by_text("No view is saved yet.")).to_be_visible()
        assert again.get("/api/saved").json()["views"] == []
    finally:
        again.end()


def test_a_reader_opens_saved_views_and_changes_none(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    def write(path: Path) -> None:
        write_team(path)
        with mycel.open(path, actor="ada") as db:
            saved = mycel.Knowledge(db, workspace="team")
            view = {"by": "folder", "ids": [saved.get("a").id], "less": [], "hide": []}
            more = {"route": None, "span": None, "selected": None, "at": None, "table": False}
            body = {"view": {**view, **more, "group": None}, "positions": {}, "camera": None}
            db.saved_views.save("Only a", body)

    here = tab(serve("--readonly", write=write)).graph("", 4)
    page = here.page
    page.keyboard.press("v")
    dialog = page.get_by_role("dialog", name="Saved views")
    expect(dialog.get_by_role("button", name="Only a", exact=True)).to_be_visible()
    assert dialog.get_by_role("button", name="Rename").count() == 0
    assert dialog.locator("input").count() == 0
    dialog.get_by_role("button", name="Only a", exact=True).click()
    here.drawn(1)
