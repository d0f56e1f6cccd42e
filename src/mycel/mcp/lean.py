"""The SDK without the parts that a server on standard input and output never uses.

`import mcp` also loads the SDK's client, OAuth, Starlette, uvicorn and an HTTP client: a third of
the time a process takes to be ready for its first call, and 20 MB for as long as it lives. A client
starts one process for each workspace it has open, so both count.

`load` imports the low-level server and holds two things back while it does:

- `mcp` and `mcp.server` only gather names of their modules. Their code runs when the first of these
  names is asked for, which nothing here does.
- What belongs to HTTP is met by placeholders. The low-level server names it in annotations, and in
  a method that makes an HTTP application. They are taken away again at the end.

So a process that called `load` speaks over stdio and can serve no HTTP. An SDK that is built
otherwise is loaded as it is: then starting takes longer, and nothing else changes.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

from mycel.syntax.collecting import collector_paused

_SERVER: Final = "mcp.server.lowlevel.server"
_GATHERING: Final = frozenset(("mcp", "mcp.server"))
_WEB: Final = (
    "httpx2",
    "mcp.client",
    "mcp.server.auth",
    "mcp.server.streamable_http",
    "mcp.server.streamable_http_manager",
    "mcp.server.transport_security",
    "sse_starlette",
    "starlette",
    "uvicorn",
)

_log = logging.getLogger(__name__)


def load() -> None:
    """Import the low-level server of the SDK, and of the rest only what it runs on.

    Does nothing where the SDK was imported before.
    """
    if "mcp" in sys.modules:
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        # Thousands of objects are made and none is garbage: looking for it takes a fifth of the
        # time.
        with collector_paused(True):
            importlib.import_module(_SERVER)
    except Exception:  # noqa: BLE001 - whatever it is about, the ordinary way may still work.
        _log.debug("The SDK is not what it was; it is loaded whole.", exc_info=True)
        _forget("mcp")
    finally:
        sys.meta_path.remove(finder)
        for name in _WEB:
            _forget(name, only=finder.placeholders)


def _forget(package: str, *, only: set[str] | None = None) -> None:
    for name in [each for each in sys.modules if _is_within(each, package)]:
        if only is None or name in only:
            del sys.modules[name]


def _is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


class _Finder(MetaPathFinder, Loader):
    """Finds packages that wait, and placeholders."""

    def __init__(self) -> None:
        self.placeholders: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _GATHERING:
            real = PathFinder.find_spec(fullname, path)
            if real is None:
                return None
            spec = ModuleSpec(fullname, self, origin=real.origin, is_package=True)
            spec.submodule_search_locations = real.submodule_search_locations
            return spec
        if any(_is_within(fullname, package) for package in _WEB):
            self.placeholders.add(fullname)
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def exec_module(self, module: ModuleType) -> None:
        answer = _Waiting(module) if module.__name__ in _GATHERING else _placeholder
        # A module's own `__getattr__` answers for names that it does not have.
        module.__dict__["__getattr__"] = answer


class _Waiting:
    """What a package says to names that it does not have yet: its code runs now."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __call__(self, name: str) -> Any:
        module = self._module
        if name.startswith("__"):
            raise AttributeError(name)
        full_name = f"{module.__name__}.{name}"
        try:
            return importlib.import_module(full_name)
        except ModuleNotFoundError as error:
            if error.name != full_name:
                raise
        module.__dict__.pop("__getattr__", None)
        parent = sys.modules.get(module.__name__.rpartition(".")[0])
        spec = PathFinder.find_spec(module.__name__, getattr(parent, "__path__", None))
        if spec is None or spec.loader is None:
            raise AttributeError(name)
        spec.loader.exec_module(module)
        return getattr(module, name)


def _placeholder(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {})
