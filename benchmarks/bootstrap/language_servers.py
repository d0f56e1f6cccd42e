"""A small client of language servers, to ask them for the references of a symbol."""

from __future__ import annotations

import json
import subprocess
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import unquote

READY_SECONDS: Final = 300
LANGUAGES: Final = {".py": "python", ".rs": "rust"}


class LanguageServer:
    """A server for a folder, which answers on its standard output."""

    def __init__(self, command: Sequence[str], root: Path, options: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._root = root
        self._last = 0
        self._is_quiet = False
        self._open: set[Path] = set()
        capabilities = {
            "workspace": {"configuration": True, "workspaceFolders": True},
            "experimental": {"serverStatusNotification": True},
        }
        folder = {"uri": root.as_uri(), "name": root.name}
        self._request(
            "initialize",
            {
                "processId": None,
                "rootUri": root.as_uri(),
                "workspaceFolders": [folder],
                "capabilities": capabilities,
                "initializationOptions": options,
            },
        )
        self._send({"method": "initialized", "params": {}})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()

    def wait_until_quiet(self) -> None:
        """Wait until the server reports that it has read the folder."""
        until = time.monotonic() + READY_SECONDS
        while not self._is_quiet and time.monotonic() < until:
            self._receive()

    def references(self, path: Path, line: int, column: int) -> set[tuple[str, int]]:
        """The uses of the symbol at a place (counted from 0): paths from the root, lines from 1."""
        self._did_open(path)
        place = {
            "textDocument": {"uri": path.as_uri()},
            "position": {"line": line, "character": column},
            "context": {"includeDeclaration": False},
        }
        found = set()
        for each in self._request("textDocument/references", place) or ():
            target = Path(unquote(each["uri"].removeprefix("file://")))
            if target.is_relative_to(self._root):
                inside = target.relative_to(self._root).as_posix()
                found.add((inside, each["range"]["start"]["line"] + 1))
        return found

    def _did_open(self, path: Path) -> None:
        if path not in self._open:
            self._open.add(path)
            document = {
                "uri": path.as_uri(),
                "languageId": LANGUAGES[path.suffix],
                "version": 1,
                "text": path.read_text(encoding="utf-8"),
            }
            self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def _request(self, method: str, params: dict[str, Any]) -> Any:
        self._last += 1
        number = self._last
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == number and "method" not in message:
                return message.get("result")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        size = 0
        while (header := self._process.stdout.readline().strip()) or not size:
            if header.lower().startswith(b"content-length:"):
                size = int(header.partition(b":")[2])
            if self._process.poll() is not None:
                raise RuntimeError("The language server has ended.")
        message: dict[str, Any] = json.loads(self._process.stdout.read(size))
        if "method" in message and "id" in message:
            items = message.get("params", {}).get("items", ())
            settings = [None for _ in items] if "configuration" in message["method"] else None
            self._send({"id": message["id"], "result": settings})
        if message.get("method") == "experimental/serverStatus":
            self._is_quiet = bool(message["params"]["quiescent"])
        return message


def rust_options(root: Path, library: str) -> dict[str, Any]:
    """The crates of a folder for rust-analyzer, so that it needs no cargo and no network.

    `library` is the source of the standard library. Crates from elsewhere are unknown.
    """
    manifests = {path: tomllib.loads(path.read_text()) for path in sorted(root.rglob("Cargo.toml"))}
    packages = {path: found for path, found in manifests.items() if "package" in found}
    crates: list[dict[str, Any]] = []
    libraries: dict[str, int] = {}
    for path, found in packages.items():
        name = found["package"]["name"]
        main = path.parent / found.get("lib", {}).get("path", "src/lib.rs")
        if main.exists():
            libraries[name] = len(crates)
            crates.append(_crate(main, name))
    for path, found in packages.items():
        programs = (path.parent / "src/main.rs", *_programs(path.parent))
        of = found["package"]["name"]
        crates += [_crate(main, main.stem, of) for main in programs if main.exists()]
    for found in packages.values():
        name = found["package"]["name"]
        wanted = {*found.get("dependencies", ()), *found.get("dev-dependencies", ())}
        deps = [_dependency(libraries[each], each) for each in sorted(wanted & libraries.keys())]
        for each in crates:
            if each["of"] == name:
                own = [_dependency(libraries[name], name)] if name in libraries else []
                each["deps"] = deps + (own if each["display_name"] != name else [])
    listed = [{key: value for key, value in each.items() if key != "of"} for each in crates]
    project = {"sysroot_src": library, "crates": listed}
    return {
        "linkedProjects": [project],
        "checkOnSave": False,
        "cargo": {"buildScripts": {"enable": False}},
    }


def _programs(folder: Path) -> list[Path]:
    return [
        path for kind in ("tests", "examples", "benches") for path in (folder / kind).glob("*.rs")
    ]


def _crate(main: Path, name: str, of: str = "") -> dict[str, Any]:
    return {
        "root_module": str(main),
        "display_name": name,
        "edition": "2021",
        "deps": [],
        "cfg": ["test", "unix", 'target_os="linux"'],
        "is_workspace_member": True,
        "of": of or name,
    }


def _dependency(crate: int, name: str) -> dict[str, Any]:
    return {"crate": crate, "name": name.replace("-", "_")}
