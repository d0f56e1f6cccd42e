"""Symbols and files in the panel: signature, documentation, source with its lines."""

from collections.abc import Callable
from pathlib import Path

import pytest

import mycel
from mycel.knowledge.bootstrap import bootstrap
from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect
SOURCE = '''"""Carts of customers."""


class Cart:
    """A cart <b>with</b> items."""

    def add(self, item: str) -> None:
        """Put an item into the cart."""
        self.last = item


def empty_cart() -> Cart:
    """A cart without items."""
    return Cart()
'''
FILE = "concept://shop/cart.py"


def write_code(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "cart.py").write_text(SOURCE + "\n" * 100)
    (path.parent / ".env").write_text("PASSWORD=secret\n")
    with mycel.open(path, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop", root=path.parent)
        bootstrap(shop, path.parent)
        shop.add("file://shop/.env")


@pytest.fixture(scope="module")
def code(serve: Callable[..., Shop]) -> Shop:
    return serve("--files", write=write_code)


def test_a_symbol_shows_its_signature_documentation_and_lines(
    tab: Callable[..., Tab], code: Shop
) -> None:
    page = tab(code).graph(f"#/graph?s={FILE}/Cart.add").page
    expect(page.locator(".panel .signature")).to_contain_text("def add(self, item: str)")
    expect(page.locator(".panel .doc")).to_contain_text("Put an item into the cart.")
    expect(page.locator(".panel-note")).to_contain_text("method")
    expect(page.locator(".source h2")).to_have_text("cart.py:7")
    lines = page.locator(".source-line")
    expect(lines).to_have_count(3)
    expect(lines.last).to_contain_text("self.last = item")
    expect(lines.last).to_have_attribute("data-line", "9")
    page.goto(f"{code.server.url}/ui/#/graph?s={FILE}/Cart")
    expect(page.locator(".panel .doc")).to_contain_text("A cart <b>with</b> items.")


def test_a_file_shows_its_head_and_hidden_files_stay_hidden(
    tab: Callable[..., Tab], code: Shop
) -> None:
    here = tab(code).graph("#/graph?s=file://shop/cart.py")
    expect(here.page.locator(".source-line").first).to_contain_text("Carts of customers")
    expect(here.page.locator(".source")).to_contain_text("The head of")
    answer = code.server.get("/api/source", params={"id": "file://shop/.env"})
    assert answer.json()["text"] is None
    assert "PASSWORD" not in answer.text


def test_classes_functions_and_methods_have_shapes_of_their_own(
    tab: Callable[..., Tab], code: Shop
) -> None:
    page = tab(code).graph().page
    shapes = set()
    for name in ("Cart", "Cart.add", "empty_cart"):
        page.goto(f"{code.server.url}/ui/#/graph?s={FILE}/{name}")
        expect(page.locator(".uri-row .uri")).to_have_text(f"{FILE}/{name}")
        shapes.add(page.locator(".panel-title polygon").get_attribute("points"))
    assert len(shapes) == 3


def test_without_leave_no_file_is_read(tab: Callable[..., Tab], serve: Callable[..., Shop]) -> None:
    page = tab(serve(write=write_code)).graph(f"#/graph?s={FILE}/Cart").page
    expect(page.locator(".source")).to_contain_text("--files")
    expect(page.locator(".panel .signature")).to_contain_text("class Cart")
