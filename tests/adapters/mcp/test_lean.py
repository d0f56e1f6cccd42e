"""The SDK without its web parts: smaller, and still the SDK."""

import subprocess
import sys

WEB = {"starlette", "uvicorn", "httpx2", "sse_starlette", "mcp.client", "mcp.server.auth"}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_server_on_stdio_loads_no_client_and_nothing_of_the_web() -> None:
    loaded = run(
        "from mycel.mcp import lean; lean.load()\n"
        "import mycel.mcp.stdio, mycel.mcp.server, sys\n"
        "print(*sys.modules)"
    )
    assert set(loaded.split()) & WEB == set()
    assert "mcp.server.lowlevel.server" in loaded.split()


def test_what_was_held_back_can_still_be_had() -> None:
    told = run(
        "from mycel.mcp import lean; lean.load()\n"
        "import starlette.applications\n"
        "from mcp import types, Client\n"
        "from mcp.server import MCPServer\n"
        "print(starlette.applications.Starlette.__module__, Client.__name__, MCPServer.__name__)"
    )
    assert told.split() == ["starlette.applications", "Client", "MCPServer"]


def test_where_the_sdk_was_loaded_before_nothing_changes() -> None:
    told = run(
        "import mcp.server.lowlevel, sys; before = len(sys.modules)\n"
        "from mycel.mcp import lean; lean.load()\n"
        "print('starlette' in sys.modules)"
    )
    assert told.split() == ["True"]


def test_an_sdk_that_is_built_otherwise_is_loaded_as_it_is() -> None:
    told = run(
        "from mycel.mcp import lean\n"
        "lean._SERVER = 'mcp.server.somewhere.else'\n"
        "lean.load()\n"
        "import mycel.mcp.server, sys, gc\n"
        "print('starlette' in sys.modules, gc.isenabled())"
    )
    assert told.split() == ["True", "True"]
