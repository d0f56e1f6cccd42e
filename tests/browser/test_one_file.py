"""The explorer in one file: a snapshot to mail, an MCP App in a chat; and sizes."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from tests.browser.conftest import (
    HOSTILE_NAME,
    HOSTILE_TEXT,
    PATIENCE_MS,
    Tab,
    playwright,
    write_shop,
)

expect = playwright.expect
ASSETS = Path(mycel.__file__).parent / "explorer" / "assets"
WEB = Path(mycel.__file__).parents[2] / "web"
LOGIN, NOTES = "concept://shop/auth/login", "concept://shop/auth/notes"
APP_CSP = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
"""The policy under which hosts show an App that asks for nothing more."""


@pytest.fixture
def alone(browser: Any) -> Iterator[Tab]:
    """A tab without a server. At the end it may not have met an error, nor asked the network."""
    context = browser.new_context(viewport={"width": 900, "height": 600})
    context.set_default_timeout(PATIENCE_MS)
    made = Tab(context.new_page(), "")
    yield made
    context.close()
    assert made.errors == []
    assert [each for each in made.addresses if each.startswith(("http:", "ws:"))] == []


def test_an_exported_page_needs_no_server_and_shows_nodes_gaps_and_texts_safely(
    alone: Tab, tmp_path: Path
) -> None:
    write_shop(tmp_path / "shop" / "graph.db")
    made = tmp_path / "shop.html"
    command = ["-m", "mycel", "explore", "--db", str(tmp_path / "shop" / "graph.db")]
    subprocess.run([sys.executable, *command, "--export", str(made)], check=True)
    page = alone.page
    page.goto(f"file://{made}#/graph?s={NOTES}")
    alone.drawn(68)
    expect(page.locator(".panel-title")).to_contain_text("<img src=x")
    expect(page.locator(".markdown")).to_contain_text("over everything")
    page.keyboard.press("/")
    page.keyboard.insert_text("login")
    expect(page.locator("#hits .hit").first).to_contain_text("Login")
    page.keyboard.press("Enter")
    expect(page.locator(".panel-title")).to_have_text("Login")
    page.get_by_role("tab", name="Relations").click()
    expect(page.locator(".relation-row .missing-word")).to_have_text("missing")
    page.locator(".screens").get_by_role("button", name="Missing").click()
    expect(page.locator("table.data tbody tr")).to_have_count(2)
    assert page.evaluate("window.hacked") is None


VIEW = {
    "center": LOGIN,
    "nodes": [
        {"id": LOGIN, "name": "Login", "type": "Concept", "kind": "concept", "degree": 3},
        {"id": NOTES, "name": HOSTILE_NAME, "type": "Concept", "kind": "concept", "degree": 1},
    ],
    "links": [{"source": NOTES, "target": LOGIN, "relation": "about", "weight": 1}],
}
COUNTS = {"nodes": 2, "links": 1, "missing": 0, "types": {"Concept": 2}, "relations": {"about": 1}}
ABOUT = {"name": "mycel", "position": 1, "branches": [], "workspaces": [], "counts": COUNTS}
DETAIL = {"content": HOSTILE_TEXT, "attributes": {}, "metadata": {}, "commit": None, "position": 1}
GAP = {"id": "concept://shop/gap", "name": "gap", "type": "Missing", "kind": "missing", "degree": 1}
NEAR = {
    "center": VIEW["nodes"][0],
    "nodes": [GAP],
    "links": [
        {"source": LOGIN, "target": GAP["id"], "relation": "x", "weight": 1, "missing": True}
    ],
    "total": 2,
    "left": 0,
    "position": 1,
}
HOST = """<!doctype html>
<iframe id=view sandbox="allow-scripts" style="width: 860px; height: 560px"></iframe>
<script>BRIDGE</script>
<script>
  const frame = document.getElementById('view')
  const can = { openLinks: {}, serverTools: {} }
  const context = { hostContext: { theme: 'dark' } }
  const bridge = new AppBridge(null, { name: 'host', version: '1' }, can, context)
  window.asked = []
  bridge.oncalltool = async ({ name, arguments: given }) => {
    window.asked.push([name, given.view])
    const answer = ANSWERS[given.view]
    return { content: [{ type: 'text', text: 'data' }], structuredContent: answer }
  }
  bridge.oninitialized = async () => {
    await bridge.sendToolInput({ arguments: { start: 'auth/login' } })
    const content = [{ type: 'text', text: 'two nodes' }]
    await bridge.sendToolResult({ content, _meta: { 'mycel/view': VIEW } })
  }
  bridge.onsizechange = ({ height }) => { window.height = height }
  const transport = new PostMessageTransport(frame.contentWindow, frame.contentWindow)
  bridge.connect(transport).then(() => { frame.srcdoc = APP })
</script>"""


def test_an_app_talks_to_the_official_bridge_under_the_default_policy(
    alone: Tab, tmp_path: Path
) -> None:
    esbuild = WEB / "node_modules" / ".bin" / "esbuild"
    if not esbuild.exists():
        pytest.skip("the official bridge is a package of Node: `make web` installs it")
    bridge = tmp_path / "bridge.js"
    source = "import * as all from '@modelcontextprotocol/ext-apps/app-bridge'\n"
    entry = WEB / "node_modules" / ".bridge-entry.js"
    entry.write_text(source + "Object.assign(window, all)\n")
    build = [esbuild, entry, "--bundle", "--minify", "--format=iife", f"--outfile={bridge}"]
    subprocess.run([*map(str, build), "--log-level=error"], check=True)
    entry.unlink()
    head = f'<meta http-equiv="Content-Security-Policy" content="{APP_CSP}">'
    app = (ASSETS / "app.html").read_text("utf-8").replace("<head>", f"<head>{head}", 1)
    answers = {"about": ABOUT, "node": VIEW["nodes"][0] | DETAIL, "near": NEAR}
    parts = {"BRIDGE": bridge.read_text(), "VIEW": js(VIEW), "ANSWERS": js(answers), "APP": js(app)}
    host = HOST
    for name, text in parts.items():
        host = host.replace(name, text.replace("</script", "<\\/script"), 1)
    (tmp_path / "host.html").write_text(host, "utf-8")

    page = alone.page
    page.goto(f"file://{tmp_path}/host.html")
    view = page.frame_locator("#view")
    expect(view.locator(".canvas-box canvas")).to_have_attribute("data-drawn", "2")
    expect(view.locator(".panel-title")).to_have_text("Login")
    expect(view.locator(".markdown")).to_contain_text("over everything")
    expect(view.locator("html")).to_have_attribute("data-theme", "dark")
    view.get_by_role("button", name="Expand +2").click()
    expect(view.locator(".canvas-box canvas")).to_have_attribute("data-drawn", "3")
    asked = page.evaluate("window.asked")
    assert {tuple(each) for each in asked} == {("explore", each) for each in answers}
    assert page.evaluate("window.height") == 560


def js(value: Any) -> str:
    return json.dumps(value).replace("<", "\\u003c")


def test_the_bundle_is_as_small_as_promised_and_the_manifest_names_all_of_it() -> None:
    manifest = json.loads((ASSETS / "manifest.json").read_text())
    names = {path.name for path in ASSETS.iterdir()}
    assert names == {*manifest["files"], "index.html", "app.html", "licenses.txt", "manifest.json"}
    sizes = {name: len(gzip.compress((ASSETS / name).read_bytes(), 6)) for name in names}
    first = {
        name for name in sizes if name.startswith(("index", "main", "chunk", "style", "layout"))
    }
    assert sum(sizes[name] for name in first) < 100_000
    assert sum(sizes[name] for name in manifest["files"]) < 230_000
    assert (ASSETS / "app.html").stat().st_size < 400_000
    assert '"resolved"' not in (WEB / "package-lock.json").read_text()
