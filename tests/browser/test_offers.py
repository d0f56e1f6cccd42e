"""Screens offer what fits the graph: examples that run, moments, the rest of a group."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import mycel
from tests.browser.conftest import Shop, Tab, playwright, write_shop

expect = playwright.expect
README = Path(__file__).parents[2] / "README.md"
LOGIN, SESSION = "concept://shop/auth/login", "concept://shop/auth/session"
NODES = 1_000


def write_readme(path: Path) -> None:
    """The graph that the README makes, by its own snippets up to the first query."""
    path.parent.mkdir(parents=True, exist_ok=True)
    snippets = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    names = {"print": lambda *_: None}
    with mycel.open(path, actor="ada") as db:
        for text in snippets[:4]:
            exec(
                text.replace('mycel.open("shop.db", actor="ada")', "db"), names | {"db": db}, names
            )


def write_typed(path: Path) -> None:
    """A graph with a schema, whose names need quotes, and no URIs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mycel.open(path) as db:
        db.execute(
            'UPSERT { CONCEPT { {type: "$ConceptType", name: "RareBook"}'
            ' SET ATTRIBUTES { description: "A book." } }'
            ' CONCEPT { {type: "$PropositionType", name: "cites"}'
            ' SET ATTRIBUTES { description: "It names it." } }'
            ' CONCEPT ?a { {type: "RareBook", name: "The \\"Atlas\\" \\\\ 1"} }'
            ' CONCEPT ?b { {type: "RareBook", name: "Zoo"} }'
            ' PROPOSITION { (?a, "cites", ?b) } }'
        )


def write_empty(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mycel.open(path).close()


def write_large(path: Path) -> None:
    """A folder of a thousand nodes in several commits, with a tag between two of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mycel.open(path, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.add("hub", name="Hub", message="the first step")
        shop.remember([{"uri": f"parts/p{i:04}"} for i in range(NODES)], message="all parts")
        db.history.tag("v1")
        for i in range(3):
            shop.add(f"notes/n{i}", message=f"note {i}")


@pytest.mark.parametrize("write", [write_readme, write_typed, write_empty, write_shop])
def test_every_example_runs_on_the_graph_that_is_open(
    tab: Callable[..., Tab], serve: Callable[..., Shop], write: Callable[[Path], None]
) -> None:
    page = tab(serve(write=write)).open("#/query").page
    examples = page.locator(".examples .link")
    expect(examples.filter(has_text="Search by words")).to_be_visible()
    if write is not write_empty:
        expect(examples.filter(has_text="What is near")).to_be_visible()
        expect(examples.filter(has_text="Pairs with")).to_be_visible()
    titles = examples.all_text_contents()
    for title in titles:
        page.get_by_role("button", name=title, exact=True).click()
        with page.expect_response("**/kip*") as answer:
            page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator(".answer")).to_be_visible()
        expect(page.locator(".failure")).to_have_count(0)
        assert answer.value.json().get("error") is None, title
    assert len(titles) >= 3


@pytest.fixture(scope="module")
def large(serve: Callable[..., Shop]) -> Shop:
    return serve(write=write_large)


def test_a_comparison_offers_tags_commits_and_days(tab: Callable[..., Tab], large: Shop) -> None:
    page = tab(large).open("#/compare").page
    choice = page.get_by_label("From", exact=True)
    for section in ("Tags", "Commits", "Days"):
        expect(choice.locator(f"optgroup[label={section}]")).to_have_count(1)
    choice.select_option(label="v1")
    expect(page).to_have_url(re.compile("from=v1"))
    expect(page.locator(".change").filter(has_text="n2").first).to_contain_text("added")
    page.get_by_label("To", exact=True).select_option(
        page.locator("#choice-to option", has_text="note 0").get_attribute("value")
    )
    expect(page.locator(".change").filter(has_text="n0").first).to_be_visible()
    expect(page.locator(".change").filter(has_text="n2")).to_have_count(0)
    day = choice.locator("optgroup[label=Days] option").first.get_attribute("value")
    choice.select_option(day)
    expect(choice).to_have_value(day)
    choice.select_option(label="Another moment…")
    page.get_by_label("From: a position").fill("0")
    page.get_by_label("From: a position").press("Enter")
    expect(page.locator(".lead")).to_contain_text("position 0")
    page.goto(f"{large.server.url}/ui/#/compare")
    page.get_by_role("button", name="The last commit").click()
    expect(page.locator(".change").filter(has_text="n2").first).to_contain_text("added")


def test_a_key_goes_back_and_forward_by_one_commit(tab: Callable[..., Tab], large: Shop) -> None:
    commits = large.server.get("/api/commits", params={"limit": 4}).json()["commits"]
    page = tab(large).graph().page
    strip = page.locator(".time-strip")
    expect(strip.get_by_test_id("moment")).to_have_text("now")
    page.locator("#mirror").focus()
    for commit in commits:
        page.keyboard.press("[")
        expect(strip.get_by_test_id("moment")).to_contain_text(f"position {commit['before']}")
    for commit in reversed(commits[1:]):
        page.keyboard.press("]")
        expect(strip.get_by_test_id("moment")).to_contain_text(f"position {commit['seq']}")
    page.keyboard.press("]")
    expect(strip.get_by_test_id("moment")).to_have_text("now")


def test_the_rest_of_a_large_group_is_shown_on_request(
    tab: Callable[..., Tab], large: Shop
) -> None:
    here = tab(large).graph("#/graph?g=concept://shop/parts", 300)
    page = here.page
    expect(page.get_by_test_id("shown")).to_contain_text("300 of 1,000 nodes in this group")
    page.get_by_role("button", name="Show 700 more nodes").click()
    here.drawn(NODES)
    expect(page.get_by_role("button", name="more nodes")).to_have_count(0)
    page.keyboard.press("Control+z")
    here.drawn(300)
    expect(page).to_have_url(re.compile("parts$"))
    page.goto(f"{large.server.url}/ui/#/graph?g=concept://shop/parts&size={NODES}")
    here.drawn(NODES)


def test_the_list_for_screen_readers_counts_hidden_links_rightly(tab: Callable[..., Tab]) -> None:
    page = tab().graph(f"#/graph?g=-&n={LOGIN}*{SESSION}", 2).page
    option = page.locator(f'[role=option][data-id="{LOGIN}"]')
    expect(option).to_contain_text("Login, Concept, 6 links, 4 not shown")
    page.keyboard.press("Escape")
    page.locator("#mirror").focus()
    option.dispatch_event("click")
    page.keyboard.press("Enter")
    expect(option).to_have_text("Login, Concept, 6 links")
