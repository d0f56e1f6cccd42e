"""A real browser, a few servers on small graphs, and pages that report every error."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import mycel
from tests.adapters.http.conftest import Server

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--disable-gpu", "--disable-dev-shm-usage", "--mute-audio"]
PATIENCE_MS = 30_000
"""The longest wait for a page: machines may be slow."""
playwright.expect.set_options(timeout=PATIENCE_MS)
TOKEN = "a-token-of-this-server-0123456789"
HOSTILE_NAME = '<img src=x onerror="window.hacked=1">\u202egnp.exe'
HOSTILE_TEXT = """<script>window.hacked = 1</script>
<img src="x" onerror="window.hacked = 1">
<svg onload="window.hacked = 1"><a xlink:href="javascript:hack()">x</a></svg>
<iframe src="javascript:hack()"></iframe><form action="/api/write"><input name="op"></form>
<style>body { display: none }</style><p style="position: fixed; inset: 0">over everything</p>

[a script](javascript:window.hacked=1) [data](data:text/html,<script>hack()</script>) [web](https://example.org/)
[a node](concept://shop/auth/session) ![spy](https://example.org/spy.png)
"""


def find_browser() -> str | None:
    named = os.environ.get("MYCEL_BROWSER")
    return named or next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """One browser for all tests of a worker.

    It ends with this folder: while Playwright runs, its thread can run no other event loop.
    """
    executable = find_browser()
    if executable is None:
        pytest.skip("no Chromium was found; install one or name it in MYCEL_BROWSER")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(
            executable_path=executable, chromium_sandbox=False, args=ARGUMENTS
        )
        yield launched
        launched.close()


class Shop(NamedTuple):
    """A served graph, with the means to write to it from this process."""

    server: Server
    path: Path

    def knowledge(self) -> "mycel.Knowledge":
        return mycel.Knowledge(mycel.open(self.path, actor="ada"), workspace="shop")


def write_shop(path: Path) -> None:
    """A shop with a hub, missing concepts, a cycle, and malicious texts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mycel.open(path, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.remember(
            [
                {"uri": "auth/login", "name": "Login", "content": "# Login\n\nWith a **passkey**."},
                {"uri": "auth/session", "name": "Session", "content": "It lasts a day."},
                {"uri": "auth/notes", "name": HOSTILE_NAME, "content": HOSTILE_TEXT},
                {"uri": "auth/deep", "name": "Deep", "content": ">" * 50_000},
                {"uri": "decisions/passkeys", "name": "Passkeys only", "type": "Decision"},
                *({"uri": f"parts/p{i:02}", "name": f"Part {i}"} for i in range(60)),
            ],
            [
                {"source": "auth/login", "relation": "depends_on", "target": "auth/session"},
                {"source": "auth/session", "relation": "used_by", "target": "auth/login"},
                {"source": "auth/login", "relation": "falls_back_to", "target": "auth/recovery"},
                {"source": "auth/session", "relation": "backed_by", "target": "auth/backup"},
                {"source": "decisions/passkeys", "relation": "affects", "target": "auth/login"},
                {
                    "source": "auth/login",
                    "relation": "implemented_in",
                    "target": "file://shop/login.py",
                    "weight": 0.1,
                },
                {"source": "auth/notes", "relation": "about", "target": "auth/login"},
                *(
                    {"source": "auth/session", "relation": "part", "target": f"parts/p{i:02}"}
                    for i in range(60)
                ),
            ],
            message="the shop",
        )
        shop.update("auth/login", append="Passwords are gone.", message="say it")


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Shop]]:
    """Starts servers on graphs of their own; they end with the tests."""
    started: list[Server] = []

    def start(
        *options: str, write: Callable[[Path], None] = write_shop, **environment: str
    ) -> Shop:
        path = tmp_path_factory.mktemp("graph") / "shop" / "graph.db"
        write(path)
        server = Server(
            "mycel",
            *("serve", "--json", "--db", path, "--port", "0", "--root", path.parent, *options),
            **environment,
        )
        started.append(server)
        server.wait_until_ready()
        return Shop(server, path)

    yield start
    for server in started:
        server.end()


@pytest.fixture(scope="session")
def shop(serve: Callable[..., Shop]) -> Shop:
    """A server that all tests share. Each test changes only nodes that no other test looks at."""
    return serve()


class Tab:
    """A page of the explorer. Every error, refused request and CSP violation is noted."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address
        self.errors: list[str] = []
        self.addresses: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.addresses.append(request.url))

    def _heard(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.errors.append(message.text)

    def open(self, fragment: str = "") -> "Tab":
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/ui/{fragment}")
        return self

    def graph(self, fragment: str = "", nodes: int | None = None) -> "Tab":
        """Opens the graph screen and waits until it is drawn."""
        self.open(fragment)
        self.drawn(nodes)
        playwright.expect(self.page.locator("#moment")).to_be_visible()
        return self

    def frame(self) -> None:
        """Waits until the present state of the page is drawn."""
        self.page.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def drawn(self, nodes: int | None = None) -> None:
        canvas = self.page.locator(".canvas-box canvas")
        if nodes is None:
            playwright.expect(canvas).to_have_attribute("data-drawn", NOT_ZERO)
        else:
            playwright.expect(canvas).to_have_attribute("data-drawn", str(nodes))

    def nodes(self) -> dict[str, tuple[float, float]]:
        """The positions of the shown nodes, by id."""
        self.frame()
        found: dict[str, tuple[float, float]] = self.page.eval_on_selector_all(
            "[role=option][data-id]",
            "all => Object.fromEntries(all.map(e => [e.dataset.id, [+e.dataset.x, +e.dataset.y]]))",
        )
        return {key: (place[0], place[1]) for key, place in found.items()}

    def point(self, node: str) -> tuple[float, float]:
        """The place of a node on the screen, which keeps it while the page does."""
        x, y = self.nodes()[node]
        canvas = self.page.locator(".canvas-box canvas")
        at_x, at_y, zoom = map(float, canvas.get_attribute("data-camera").split())
        box = canvas.bounding_box()
        return (
            (x - at_x) * zoom + box["width"] / 2 + box["x"],
            (y - at_y) * zoom + box["height"] / 2 + box["y"],
        )

    def pixels(self, red: tuple[int, int, int], node: str | None = None) -> int:
        """The number of pixels with about this colour, on the canvas or on the ring of a node."""
        self.frame()
        canvas = self.page.locator(".canvas-box canvas").bounding_box()
        area = [0, 0, canvas["width"], canvas["height"]]
        if node is not None:
            x, y = self.point(node)
            area = [x - canvas["x"] - 8, y - canvas["y"] - 8, 16, 16]
        count: int = self.page.eval_on_selector(
            ".canvas-box canvas",
            """(canvas, [r, g, b, ...area]) => {
              const copy = new OffscreenCanvas(canvas.width, canvas.height)
              const context = copy.getContext('2d', { willReadFrequently: true })
              context.drawImage(canvas, 0, 0)
              const { data } = context.getImageData(...area)
              let count = 0
              for (let i = 0; i < data.length; i += 4)
                if (Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) < 20 &&
                    Math.abs(data[i + 2] - b) < 20) count++
              return count
            }""",
            [*red, *map(round, area)],
        )
        return count


class HeldRequests:
    """Requests of a page that are held on their way, so that answers come in another order."""

    def __init__(self, page: Any, pattern: str) -> None:
        self._page = page
        self._held: list[Any] = []
        self._holds = True
        page.route(pattern, self._meet)

    def _meet(self, route: Any) -> None:
        if self._holds:
            self._held.append(route)
        else:
            route.continue_()

    def take(self) -> Any:
        """Waits for the next request, and leaves it to the caller."""
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while not self._held:
            assert time.monotonic() < deadline, "the page has not asked"
            self._page.wait_for_timeout(10)
        return self._held.pop(0)

    def hold(self) -> None:
        self._holds = True

    def release(self) -> None:
        """Lets all held requests and all later ones pass."""
        self._holds = False
        while self._held:
            self._held.pop(0).continue_()


class HeldLayouts:
    """Layouts whose answers are held back, as on a slow machine."""

    SCRIPT = """
      let held = HOLD ? [] : null
      window.holdLayouts = () => { held = [] }
      window.releaseLayouts = () => { for (const hear of held.splice(0)) hear(); held = null }
      window.Worker = class extends Worker {
        set onmessage(hear) {
          super.onmessage = (event) => {
            if (!held) return hear(event)
            held.push(() => hear(event))
            document.documentElement.dataset.heldLayouts = held.length
          }
        }
      }
    """

    def __init__(self, page: Any, *, hold: bool = True) -> None:
        self._page = page
        page.add_init_script(self.SCRIPT.replace("HOLD", str(hold).lower()))

    def hold(self) -> None:
        self._page.evaluate("holdLayouts()")

    def wait(self) -> None:
        """Waits until a layout is held."""
        page = self._page.locator("html")
        playwright.expect(page).to_have_attribute("data-held-layouts", NOT_ZERO)

    def release(self) -> None:
        """Passes the held layouts to the page."""
        self._page.evaluate("releaseLayouts()")


REFUSED_REQUEST = "Failed to load resource"
"""The beginning of the browser's own message about a request that was refused or lost."""
NOT_ZERO = re.compile(r"^[1-9]")


@pytest.fixture
def tab(browser: Any, shop: Shop) -> Iterator[Callable[..., Tab]]:
    """Opens tabs. At the end none of them may have met an error.

    With `errors`, requests may be refused. Failing scripts and violations of the CSP count always.
    """
    tabs: list[tuple[Tab, bool]] = []
    contexts: list[Any] = []

    def make(served: Shop = shop, *, errors: bool = False, **options: Any) -> Tab:
        usual = {"viewport": {"width": 1040, "height": 660}, "reduced_motion": "reduce"}
        context = browser.new_context(**usual | options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        made = Tab(context.new_page(), served.server.url)
        tabs.append((made, errors))
        return made

    yield make
    for context in contexts:
        context.close()
    noted = [(error, refusals) for made, refusals in tabs for error in made.errors]
    assert [e for e, refusals in noted if not (refusals and e.startswith(REFUSED_REQUEST))] == []
