"""The editor of commands: typing over text, deleting it, composing and completing under the CSP."""

from collections.abc import Callable

from tests.browser.conftest import Tab, playwright

expect = playwright.expect
COMMAND = 'FIND(?c.name) WHERE { ?c {type: "Decision"} } LIMIT 3'


def test_text_is_replaced_in_every_way_without_inline_styles(tab: Callable[..., Tab]) -> None:
    """Chromium gives a line the look of deleted text; the page that does so reports a violation."""
    page = tab().open("#/query").page
    editor = page.locator(".cm-content")
    lines = editor.locator(".cm-line")
    editor.fill(COMMAND)
    editor.fill(COMMAND)
    expect(lines).to_have_text([COMMAND])
    page.keyboard.press("Control+a")
    page.keyboard.type("F")
    expect(lines).to_have_text(["F"])
    page.keyboard.press("Control+z")
    expect(lines).to_have_text([COMMAND])
    page.keyboard.press("Control+a")
    page.keyboard.type("(")
    expect(lines).to_have_text([f"({COMMAND})"])  # Brackets close around what is selected.
    page.keyboard.press("Control+a")
    devtools = page.context.new_cdp_session(page)
    devtools.send("Input.imeSetComposition", {"text": "か", "selectionStart": 1, "selectionEnd": 1})
    devtools.send("Input.insertText", {"text": "かな"})
    expect(lines).to_have_text(["かな"])
    page.keyboard.press("Control+a")
    page.evaluate("document.execCommand('delete')")
    expect(page.locator(".cm-placeholder")).to_be_visible()
    page.keyboard.type("FI")
    page.keyboard.press("Control+Space")
    page.locator(".cm-tooltip-autocomplete li").first.click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(COMMAND)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".answer")).to_contain_text("1 row")
    assert editor.locator("[style*=color], [style*=font]").count() == 0
