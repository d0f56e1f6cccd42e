"""Names on the canvas: the most linked nodes have theirs, and tests can be hidden."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import mycel
from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect
LEAVES = 280


def write_hub(path: Path) -> None:
    """A hub among so many leaves that every place beside it is taken, and some tests."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mycel.open(path, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        links = [
            {"source": "parts/hub", "relation": "has", "target": f"parts/leaf{i:03}"}
            for i in range(LEAVES)
        ]
        nodes = [{"uri": f"parts/leaf{i:03}", "name": f"Leaf {i:03}"} for i in range(LEAVES)]
        shop.remember([{"uri": "parts/hub", "name": "The hub"}, *nodes], links)
        shop.remember([{"uri": f"tests/test_{i}.py/check"} for i in range(30)])


@pytest.fixture(scope="module")
def hub(serve: Callable[..., Shop]) -> Shop:
    return serve(write=write_hub)


def test_a_hub_has_its_name_whatever_stands_around_it(tab: Callable[..., Tab], hub: Shop) -> None:
    here = tab(hub).graph("#/graph?g=concept://shop/parts", LEAVES + 1)
    page = here.page
    page.get_by_role("button", name="Save a picture").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").click()
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", Path(saved.value.path()).read_text("utf-8"))
    assert "The hub" in texts
    assert len(texts) > 1


def test_tests_are_hidden_and_shown_again(tab: Callable[..., Tab], hub: Shop) -> None:
    here = tab(hub).graph()
    page = here.page
    tests = page.locator("[role=option]", has_text="Group tests")
    expect(tests).to_have_count(1)
    page.get_by_role("button", name="tests").click()
    expect(tests).to_have_count(0)
    expect(page).to_have_url(re.compile("hide=tests"))
    page.get_by_role("button", name="tests").click()
    expect(tests).to_have_count(1)
