"""Named queries in the explorer: the list, the form, the answer, and a link that keeps both."""

from collections.abc import Callable

from tests.browser.conftest import Shop, Tab, playwright

expect = playwright.expect
QUERIES = """
query parts_up_to($last: String = "Part 3" @description("The last name."), $limit: I32 = 20)
    @description("Parts by name.")
    @instruction("Use it before ordering.")
{ FIND(?c, ?c.attributes.name)
  WHERE { ?c {type: "Concept"} FILTER(STARTS_WITH(?c.attributes.name, "Part"))
          FILTER(?c.attributes.name <= :last) }
  ORDER BY ?c.attributes.name LIMIT :limit }
query rename($name: String)
{ UPSERT { CONCEPT { {type: "Concept", name: "concept://shop/parts/p00"}
    SET ATTRIBUTES { name: :name } } } }
"""


def test_a_named_query_is_run_from_its_form_and_from_a_link(
    tab: Callable[..., Tab], serve: Callable[..., Shop]
) -> None:
    shop = serve()
    with shop.knowledge().db as db:
        db.queries.add(QUERIES)
    here = tab(shop, errors=True).open("#/query")
    page = here.page
    page.get_by_role("button", name="parts_up_to").click()
    form = page.get_by_role("form", name="Query parts_up_to")
    expect(form).to_contain_text("Use it before ordering.")
    expect(form).to_contain_text("The last name.")
    form.get_by_role("button", name="Run").click()
    expect(page.locator(".answer")).to_contain_text("20 rows")
    form.get_by_label("limit").fill("2")
    form.get_by_label("limit").press("Enter")
    expect(page.locator(".answer")).to_contain_text("2 rows")
    form.get_by_label("limit").fill("many")
    form.get_by_role("button", name="Run").click()
    expect(page.locator(".failure")).to_contain_text("limit")
    form.get_by_label("limit").fill("3")
    page.wait_for_url("**with=limit%3D3")
    link = page.url.partition("/ui/")[2]

    other = tab(shop).open(link)
    expect(other.page.get_by_label("limit")).to_have_value("3")
    other.page.get_by_role("button", name="Run").click()
    expect(other.page.locator(".answer")).to_contain_text("3 rows")
    other.page.get_by_role("button", name="Show 3 nodes in the graph").click()
    other.drawn(3)

    page.get_by_role("button", name="rename").click()
    page.get_by_label("name required").fill("Part 0 of all")
    page.get_by_role("button", name="Run and write").click()
    expect(page.locator(".answer")).to_be_visible()
    answer = page.request.get(f"{here.address}/api/node?id=concept://shop/parts/p00")
    assert "Part 0 of all" in answer.text()
    page.get_by_role("button", name="Write a command").click()
    expect(page.locator(".cm-content")).to_be_visible()
