"""The graph screen: searching, expanding, undoing, addresses, gaps, time."""

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import mycel
from tests.adapters.http.conftest import HTTP
from tests.browser.conftest import HeldLayouts, HeldRequests, Shop, Tab, playwright

expect = playwright.expect
LOGIN, SESSION = "concept://shop/auth/login", "concept://shop/auth/session"
RECOVERY, BACKUP = "concept://shop/auth/recovery", "concept://shop/auth/backup"
PART, WORKED = "concept://shop/parts/p59", "concept://shop/parts/p57"
RED = (201, 37, 45)
ALONE = f"#/graph?g=-&n={LOGIN}*{SESSION}*{RECOVERY}"


def test_beginnings_of_names_lead_from_the_search_to_the_node(tab: Callable[..., Tab]) -> None:
    page = tab().graph().page
    unready = {"position": 0, "hits": [], "complete": False}
    page.route("**/api/suggest?*", lambda route: route.fulfill(json=unready), times=1)
    page.keyboard.press("/")
    page.keyboard.insert_text("lo")
    expect(page.locator("#hits .hit").first).to_contain_text("Login")
    page.keyboard.press("Enter")
    expect(page.locator(".panel-title")).to_have_text("Login")
    expect(page.locator(".markdown strong")).to_have_text("passkey")
    expect(page.locator(".provenance")).to_contain_text("ada")


def test_expanding_twice_brings_new_nodes_and_moves_none_and_undo_takes_them_back(
    tab: Callable[..., Tab],
) -> None:
    here = tab().graph(ALONE, 3)
    page = here.page
    before = here.nodes()
    page.mouse.dblclick(*here.point(SESSION))
    here.drawn(28)
    first = here.nodes()
    assert {node: first[node] for node in before} == before
    page.get_by_role("button", name="Expand +25").click()
    here.drawn(53)
    second = here.nodes()
    assert {node: second[node] for node in first} == first
    page.keyboard.press("Control+z")
    here.drawn(28)
    assert here.nodes() == first
    page.keyboard.press("Control+Shift+z")
    here.drawn(53)


def test_the_address_shows_the_same_view_to_somebody_else(tab: Callable[..., Tab]) -> None:
    here = tab().graph(ALONE, 3)
    page = here.page
    page.mouse.click(*here.point(RECOVERY))
    expect(page.locator(".panel-title")).to_contain_text("recovery")
    page.get_by_role("tab", name="Relations").click()
    page.locator(".legend-row", has_text="missing").click()
    here.drawn(2)
    page.keyboard.press("t")
    expect(page.locator("table.data tbody tr")).to_have_count(2)
    expect(page).to_have_url(re.compile("table=1"))
    other = tab()
    other.open(page.url.split("/ui/")[1])
    expect(other.page.locator("table.data tbody tr")).to_have_count(2)
    expect(other.page.get_by_role("tab", name="Relations")).to_have_attribute(
        "aria-selected", "true"
    )
    expect(other.page.locator(".panel-title")).to_contain_text("recovery")


def test_what_is_missing_is_red_and_heals_while_one_looks(
    tab: Callable[..., Tab], shop: Shop
) -> None:
    here = tab().graph(f"#/graph?g=-&n={SESSION}*{BACKUP}", 2)
    expect(here.page.get_by_test_id("live")).to_contain_text("live")
    gap = here.page.locator(f'[data-id="{BACKUP}"]')
    expect(gap).to_contain_text("missing concept")
    assert here.pixels(RED) > 60
    assert here.pixels(RED, BACKUP) > 20
    places = here.nodes()
    shop.knowledge().add("auth/backup", name="Backup", content="Every night.")
    expect(gap).to_have_attribute("data-kind", "concept")
    expect(gap).to_contain_text("Backup, Concept")
    assert here.pixels(RED) == 0
    assert here.nodes() == places


def test_the_slider_shows_the_graph_as_of_then(tab: Callable[..., Tab], shop: Shop) -> None:
    before = shop.server.get("/api/about").json()["position"]
    shop.knowledge().delete("parts/p59")
    here = tab().graph(f"#/graph?g=-&n={LOGIN}*{PART}*{RECOVERY}&s={LOGIN}", 2)
    page = here.page
    slider = page.locator("#moment")
    slider.focus()
    slider.press("ArrowLeft")
    here.drawn(3)
    expect(page).to_have_url(re.compile(r"at=\d+"))
    moment = int(page.url.partition("at=")[2])
    assert moment <= before
    expect(page.get_by_test_id("moment")).to_contain_text(f"position {moment}")
    expect(page.locator(".status.past")).to_be_visible()
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    # The slider stops at the end of a while, in which there may have been several commits.
    page.goto(page.url.replace(f"at={moment}", f"at={before}"))
    expect(page.get_by_test_id("moment")).to_contain_text(f"position {before}")
    here.drawn(3)
    page.locator("#mirror").focus()
    page.keyboard.press("]")
    here.drawn(2)
    expect(page.get_by_test_id("moment")).to_have_text("now")
    past = page.context.new_page()
    past.goto(f"{here.address}/ui/#/graph?g=-&n={LOGIN}*{PART}&at={moment}")
    expect(past.locator("canvas").first).to_have_attribute("data-drawn", "2")


def test_what_others_write_waits_as_new_until_it_is_asked_for(
    tab: Callable[..., Tab], shop: Shop
) -> None:
    here = tab().graph(ALONE, 3)
    page = here.page
    expect(page.get_by_test_id("live")).to_contain_text("live")
    places = here.nodes()
    shop.knowledge().remember(
        [{"uri": f"fresh/n{i}"} for i in range(3)],
        [{"source": "auth/notes", "relation": "part", "target": f"fresh/n{i}"} for i in range(3)],
    )
    fresh = page.get_by_role("button", name="+3 new")
    expect(fresh).to_be_visible()
    assert here.nodes() == places
    fresh.click()
    here.drawn(6)
    assert {node: here.nodes()[node] for node in places} == places
    expect(page.locator(".commit-message").first).to_be_visible()


def test_the_canvas_comes_back_after_its_context_was_lost(tab: Callable[..., Tab]) -> None:
    here = tab().graph(ALONE, 3)
    assert here.pixels(RED) > 0
    here.page.eval_on_selector(
        ".canvas-box canvas",
        """canvas => {
          canvas.dispatchEvent(new Event('contextlost', { cancelable: true }))
          canvas.getContext('2d').reset()
          canvas.removeAttribute('data-drawn')
          canvas.dispatchEvent(new Event('contextrestored'))
        }""",
    )
    here.drawn(3)
    assert here.pixels(RED) > 0


def test_the_keyboard_alone_reaches_everything(tab: Callable[..., Tab]) -> None:
    here = tab().graph(ALONE, 3)
    page = here.page
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the graph")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#mirror")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".panel-title")).to_be_visible()
    expect(page.locator(".announcement")).to_contain_text("link")
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.locator(".announcement")).to_contain_text("neighbour")
    page.keyboard.press("p")
    expect(page.locator("#mirror [aria-selected=true]")).to_contain_text("pinned")
    shown = len(here.nodes())
    page.keyboard.press("Backspace")
    here.drawn(shown - 1)
    page.keyboard.press("Control+z")
    here.drawn(shown)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Arrows")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("t")
    expect(page.locator("table.data")).to_be_visible()


def test_a_drag_moves_and_pins_one_node_and_a_lasso_hides_several(tab: Callable[..., Tab]) -> None:
    here = tab().graph(ALONE, 3)
    page = here.page
    before = here.nodes()
    x, y = here.point(LOGIN)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y + 30, steps=4)
    page.mouse.up()
    expect(page.locator(f'[data-id="{LOGIN}"]')).to_contain_text("pinned")
    after = here.nodes()
    assert after[LOGIN] != before[LOGIN]
    assert {**after, LOGIN: before[LOGIN]} == before
    page.reload()
    here.drawn(3)
    expect(page.locator("#moment")).to_be_visible()
    expect(page.locator(f'[data-id="{LOGIN}"]')).to_contain_text("pinned")
    box = page.locator(".canvas-box canvas").bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.keyboard.press("Backspace")
    here.drawn(0)
    page.keyboard.press("Control+z")
    here.drawn(3)


def test_what_is_shown_is_saved_as_svg_and_png(tab: Callable[..., Tab], tmp_path: Path) -> None:
    here = tab().graph(f"#/graph?g=-&n={LOGIN}*{RECOVERY}*concept://shop/auth/notes", 3)
    page = here.page
    for kind in ("SVG", "PNG"):
        page.get_by_role("button", name="Save a picture").click()
        with page.expect_download() as saved:
            page.get_by_role("button", name=kind).click()
        saved.value.save_as(tmp_path / kind)
    drawn = ElementTree.fromstring((tmp_path / "SVG").read_bytes())
    texts = ["".join(each.itertext()) for each in drawn.iter() if each.tag.endswith("text")]
    assert {"Login", "missing", "recovery"} <= set(texts)
    assert any(text.startswith("<img src=x") for text in texts)
    assert {each.tag.rpartition("}")[2] for each in drawn.iter()} <= {
        *("svg", "title", "rect", "path", "circle", "polygon", "text")
    }
    assert (tmp_path / "PNG").read_bytes().startswith(b"\x89PNG")


def test_a_page_of_the_past_follows_writes_and_is_live_when_it_returns(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    served = serve()
    before = served.server.get("/api/commits?limit=1").json()["commits"][0]["before"]
    here = tab(served).graph(f"#/graph?g=-&n={LOGIN}*{SESSION}&at={before}", 2)
    page = here.page
    expect(page.locator(".status")).to_contain_text("past")
    served.knowledge().link("auth/login", "needs", "auth/nobody")
    page.get_by_role("button", name="Now", exact=True).click()
    expect(page.get_by_test_id("live")).to_contain_text("live")
    expect(page.locator(".screens .badge")).to_have_text("3")
    served.knowledge().link("auth/login", "needs", "auth/nothing")
    expect(page.locator(".screens .badge")).to_have_text("4")


def test_a_branch_is_followed_from_its_own_position_and_what_was_left_is_never_drawn(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    served = serve()
    with mycel.open(served.path) as db:
        db.branches.create("draft")
    with mycel.open(served.path, branch="draft") as db:
        mycel.Knowledge(db, workspace="shop").add("only/draft")
    here = tab(served)
    page = here.page
    layouts = HeldLayouts(page)
    about = HeldRequests(page, "**/api/about?branch=draft")
    here.open("#/branches")
    layouts.wait()
    page.get_by_role("button", name="Show", exact=True).click()
    waiting = about.take()
    layouts.release()
    assert here.nodes() == {}  # The layout of the other branch has come too late.
    waiting.continue_()
    about.release()
    here.drawn(69)
    expect(page.get_by_test_id("live")).to_contain_text("live · branch draft")
    served.knowledge().add("only/here")
    with mycel.open(served.path, branch="draft") as db:
        mycel.Knowledge(db, workspace="shop").remember([{"uri": "fresh/a"}, {"uri": "fresh/b"}])
    expect(page.get_by_role("button", name="+2 new")).to_be_visible()
    here.drawn(69)


def test_nodes_that_a_refresh_finds_before_they_are_told_wait_too(
    tab: Callable[..., Tab], shop: Shop
) -> None:
    here = tab()
    page = here.page
    streams = HeldRequests(page, "**/api/changes?*")
    here.graph()
    places = here.nodes()
    stream = streams.take()
    for name in ("first", "second"):
        shop.knowledge().add(f"told/{name}")
    stream.fulfill(body=first_change(stream.request.url), content_type="text/event-stream")
    expect(page.get_by_role("button", name="+2 new")).to_be_visible()
    assert here.nodes() == places
    streams.release()  # Now the second one is told.
    shop.knowledge().delete("told/first")
    page.get_by_role("button", name="+1 new").click()
    here.drawn(len(places) + 1)
    page.keyboard.press("Control+z")
    here.drawn(len(places))
    expect(page.get_by_role("button", name="+1 new")).to_be_visible()
    assert here.nodes() == places


def first_change(address: str) -> str:
    """The first change of a stream, as it is sent."""
    with HTTP.stream("GET", address) as answer:
        text = ""
        for line in answer.iter_lines():
            text += f"{line}\n"
            if not line and "event: change" in text:
                break
    return text


def test_what_a_reader_does_meanwhile_is_not_undone_by_an_answer_that_comes_late(
    tab: Callable[..., Tab], shop: Shop
) -> None:
    here = tab()
    page = here.page
    layouts = HeldLayouts(page, hold=False)
    here.graph(f"{ALONE}*{WORKED}", 4)
    expect(page.get_by_test_id("live")).to_contain_text("live")

    # A node is dragged while a new one is laid out.
    shop.knowledge().add("dragged/new")
    layouts.hold()
    page.get_by_role("button", name="+1 new").click()
    layouts.wait()
    x, y = here.point(LOGIN)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 20, steps=3)
    page.mouse.up()
    expect(page.locator(f'[data-id="{LOGIN}"]')).to_contain_text("pinned")
    dragged = here.nodes()
    layouts.release()
    here.drawn(5)
    assert {node: here.nodes()[node] for node in dragged} == dragged

    # A node is hidden while a change of another one is read.
    links = HeldRequests(page, "**/api/links")
    shop.knowledge().update("parts/p57", name="Part at work")
    reading = links.take()
    page.locator(f'[data-id="{RECOVERY}"]').dispatch_event("click")
    page.locator("#mirror").press("Backspace")
    here.drawn(4)
    reading.continue_()
    links.release()
    expect(page.locator(f'[data-id="{WORKED}"]')).to_contain_text("Part at work")
    assert RECOVERY not in here.nodes()

    # Of two descriptions of the graph, the newer one arrives first.
    about = HeldRequests(page, "**/api/about")
    shop.knowledge().update("parts/p57", name="Part that works")
    older = about.take()
    described = older.fetch()
    about.release()
    page.get_by_role("button", name="New", exact=True).click()
    page.locator("input[name=id]").fill("dragged/written")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator(".panel-title")).to_have_text("written")
    nodes = described.json()["counts"]["nodes"]
    expect(page.get_by_test_id("shown")).to_contain_text(f"of {nodes + 1} nodes")
    about.hold()
    older.fulfill(response=described)
    expect(page.locator(f'[data-id="{WORKED}"]')).to_contain_text("Part that works")
    expect(page.get_by_test_id("shown")).to_contain_text(f"of {nodes + 1} nodes")
    about.release()
