"""Takes the pictures of README.md and docs/explorer.md, from graphs that it writes itself.

python tools/pictures.py       # needs Chromium and the extra `test` (Playwright)

Two graphs are served: a small project with decisions, incidents, people, files and gaps, written
here; and this repository, as `mycel bootstrap` reads it. The browser saves the pictures as WebP.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import mycel

ROOT: Final = Path(__file__).resolve().parent.parent
PICTURES: Final = ROOT / "docs"
WIDTH, HEIGHT = 1280, 800
QUALITY: Final = 0.82

CONCEPTS: Final = {
    "auth/login": ("Login", "Concept"),
    "auth/session": ("Session", "Concept"),
    "auth/passkeys": ("Passkeys", "Concept"),
    "auth/rate-limit": ("Rate limit", "Concept"),
    "auth/devices": ("Devices", "Concept"),
    "cart/cart": ("Cart", "Concept"),
    "cart/checkout": ("Checkout", "Concept"),
    "cart/tax": ("Tax", "Concept"),
    "orders/order": ("Order", "Concept"),
    "orders/refund": ("Refund", "Concept"),
    "orders/invoice": ("Invoice", "Concept"),
    "decisions/passkeys-only": ("Passkeys only", "Decision"),
    "decisions/one-database": ("One database", "Decision"),
    "decisions/queue": ("Orders go through a queue", "Decision"),
    "incidents/may-3": ("Logouts, May 3", "Incident"),
    "incidents/june-12": ("Double charge, June 12", "Incident"),
    "people/ada": ("Ada", "Person"),
    "people/grace": ("Grace", "Person"),
    "services/payments": ("Payments", "Service"),
    "services/mail": ("Mail", "Service"),
}
RELATIONS: Final = (
    ("auth/login", "depends_on", "auth/session", 0.2),
    ("auth/login", "uses", "auth/passkeys", 0.1),
    ("auth/login", "falls_back_to", "auth/recovery", 0.4),
    ("auth/login", "guarded_by", "auth/rate-limit", 0.5),
    ("auth/login", "implemented_in", "file://shop/login.py", 0.1),
    ("auth/passkeys", "stored_on", "auth/devices", 0.3),
    ("auth/session", "implemented_in", "file://shop/session.py", 0.1),
    ("auth/session", "used_by", "cart/cart", 0.6),
    ("file://shop/test_login.py", "tests", "file://shop/login.py", 0.2),
    ("decisions/passkeys-only", "affects", "auth/login", 0.1),
    ("decisions/passkeys-only", "based_on", "https://www.w3.org/TR/webauthn-3/", 0.8),
    ("people/ada", "decided", "decisions/passkeys-only", 0.4),
    ("people/ada", "owns", "auth/login", 0.5),
    ("incidents/may-3", "caused_by", "auth/session", 0.2),
    ("people/grace", "wrote", "incidents/may-3", 0.7),
    ("cart/cart", "leads_to", "cart/checkout", 0.1),
    ("cart/checkout", "needs", "cart/tax", 0.3),
    ("cart/checkout", "calls", "services/payments", 0.2),
    ("cart/checkout", "offers", "cart/gift-cards", 0.6),
    ("cart/checkout", "implemented_in", "file://shop/checkout.py", 0.1),
    ("cart/checkout", "creates", "orders/order", 0.1),
    ("orders/order", "may_become", "orders/refund", 0.5),
    ("orders/order", "prints", "orders/invoice", 0.3),
    ("orders/refund", "calls", "services/payments", 0.4),
    ("orders/refund", "documented_in", "orders/refund-policy", 0.5),
    ("orders/invoice", "sent_by", "services/mail", 0.4),
    ("decisions/queue", "affects", "orders/order", 0.1),
    ("decisions/one-database", "affects", "orders/order", 0.6),
    ("people/grace", "decided", "decisions/queue", 0.4),
    ("incidents/june-12", "caused_by", "services/payments", 0.2),
    ("incidents/june-12", "led_to", "decisions/queue", 0.3),
    ("orders/order", "implemented_in", "file://shop/order.py", 0.1),
)
LOGIN: Final = """People log in with a **passkey**; passwords are gone since May.

- a [session](concept://shop/auth/session) lasts for a day
- the cookie is `HttpOnly` and `SameSite=Lax`

| step | by |
|---|---|
| challenge | server |
| signature | device |
"""
SHOTS: Final = {
    "explorer-graph": ("shop", "light", "#/graph?s=concept://shop/auth/login"),
    "explorer-graph-dark": ("shop", "dark", "#/graph?s=concept://shop/auth/login"),
    "explorer-overview": ("project", "light", "#/graph"),
    "explorer-compare": ("shop", "dark", "#/compare?from=LAST"),
}
"""For each picture: the graph, the theme, and the view. LAST is the state four commits ago."""


def write_shop(path: Path) -> None:
    """The small project, in a few commits by several actors."""
    with mycel.open(path, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        nodes = [{"uri": uri, "name": name, "type": kind} for uri, (name, kind) in CONCEPTS.items()]
        relations = [
            {"source": source, "relation": relation, "target": target, "weight": weight}
            for source, relation, target, weight in RELATIONS
        ]
        shop.remember(nodes, relations, message="What we know about the shop")
        shop.update("auth/login", content="With a password.\n", message="First notes on login")
    with mycel.open(path, actor="claude-code") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.update(
            "auth/login",
            content=LOGIN,
            properties={"importance": "high"},
            message="Login: passkeys replace passwords",
        )
        shop.add("auth/audit", name="Audit log", message="The audit log is a part of its own")
        shop.link("auth/audit", "records", "auth/login", weight=0.3)


@contextmanager
def served(path: Path) -> Iterator[str]:
    """The address of a server on a graph, while it is needed."""
    command = [sys.executable, "-m", "mycel", "serve", "--json", "--port", "0", "--readonly"]
    options = ["--db", str(path), "--root", str(path.parent)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.terminate()
            server.communicate()


def take(browser: Any, address: str, theme: str, fragment: str) -> bytes:
    """One picture as WebP."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT},
        color_scheme=theme,
        reduced_motion="reduce",
        device_scale_factor=1.5,
    )
    page = context.new_page()
    commits = page.request.get(f"{address}/api/commits?limit=4").json()["commits"]
    page.goto(f"{address}/ui/{fragment.replace('LAST', str(commits[-1]['before']))}")
    page.wait_for_selector("canvas[data-drawn]:not([data-drawn='0'])")
    page.wait_for_selector(".status.live")
    page.wait_for_timeout(1500)
    png = base64.b64encode(page.screenshot()).decode()
    blank = context.new_page()
    webp: str = blank.evaluate(
        """async ([png, quality]) => {
          const bytes = Uint8Array.from(atob(png), sign => sign.charCodeAt(0))
          const picture = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
          const canvas = new OffscreenCanvas(picture.width, picture.height)
          canvas.getContext('2d').drawImage(picture, 0, 0)
          const blob = await canvas.convertToBlob({ type: 'image/webp', quality })
          const made = new Uint8Array(await blob.arrayBuffer())
          return btoa(Array.from(made, byte => String.fromCharCode(byte)).join(''))
        }""",
        [png, QUALITY],
    )
    context.close()
    return base64.b64decode(webp)


def main() -> None:
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("MYCEL_BROWSER") or shutil.which("chromium") or "google-chrome"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, chromium_sandbox=False)
        paths = {name: Path(folder) / name / "graph.db" for name in ("shop", "project")}
        for path in paths.values():
            path.parent.mkdir()
        write_shop(paths["shop"])
        command = [sys.executable, "-m", "mycel", "bootstrap", str(ROOT / "src" / "mycel")]
        subprocess.run([*command, "--db", str(paths["project"])], check=True)
        for graph, path in paths.items():
            with served(path) as address:
                for name, (of, theme, fragment) in SHOTS.items():
                    if of == graph:
                        picture = take(browser, address, theme, fragment)
                        (PICTURES / f"{name}.webp").write_bytes(picture)
                        print(f"docs/{name}.webp: {len(picture):,} bytes")
        browser.close()


if __name__ == "__main__":
    main()
