"""Starts the server of `make run` on a graph of its own, sends a request and stops it.

It checks that the target works, reports its address when it is ready, and ends on a signal.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 300
QUESTION = {"command": 'FIND(?t.name) WHERE { ?t {type: "$ConceptType"} } LIMIT 1'}


def events(process: subprocess.Popen[str]) -> dict[str, dict[str, Any]]:
    """The events until the server is ready, by name; other output is shown."""
    said: dict[str, dict[str, Any]] = {}
    for line in process.stdout or ():
        if line.startswith("{"):
            event = json.loads(line)
            said[event["event"]] = event
            if event["event"] in ("ready", "stopped"):
                break
        else:
            sys.stdout.write(line)
    return said


def ask(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mycel-run-") as folder:
        options = f"--json --port 0 --db {Path(folder) / 'graph.db'}"
        process = subprocess.Popen(
            ["make", "--no-print-directory", "run", f"ARGS={options}", f"GRAPH={folder}"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        # Whatever goes wrong, nothing is left running.
        watchdog = threading.Timer(PATIENCE_S, os.killpg, (process.pid, signal.SIGKILL))
        watchdog.start()
        try:
            ready = events(process).get("ready")
            if ready is None:
                sys.exit("`make run` has ended before it was ready")
            if ask(f"{ready['url']}/healthz") != {"status": "ok"}:
                sys.exit("the server is not well")
            with urllib.request.urlopen(ready["explorer"], timeout=PATIENCE_S) as page:
                if "text/html" not in page.headers["content-type"]:
                    sys.exit("the explorer is not served")
            if not ask(ready["kip"], QUESTION)["result"]:
                sys.exit("the graph is empty")
            # As Ctrl-C does: to all of them at once.
            os.killpg(process.pid, signal.SIGINT)
            if "stopped" not in events(process):
                sys.exit("`make run` has not stopped as it should")
            process.wait()
        finally:
            watchdog.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        print(f"make run: ready at {ready['url']}, answered, stopped")


if __name__ == "__main__":
    main()
