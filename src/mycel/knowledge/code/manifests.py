"""Manifests that map names of a project to places: go.mod, Cargo.toml, tsconfig.json."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Final

import orjson

from mycel.knowledge.code.source_facts import FileFacts

KEY_PARTS_MAX: Final = 200
"""Dots in one line of Cargo.toml; `tomllib` takes quadratic time for the parts of a key."""

_GO_MODULE: Final = re.compile(r"^module[ \t]++\"?([^\s\"]++)", re.MULTILINE)
# An unclosed string or comment extends to the end, so that no text is searched twice.
_STRING_OR_COMMENT: Final = re.compile(
    r'("(?>(?:[^"\\\n]|\\.)*)"?)|//[^\n]*+|/\*(?:.*?\*/|.*+)', re.DOTALL
)
_TRAILING_COMMA: Final = re.compile(r",(\s*+[}\]])")


def go_mod(text: str) -> FileFacts:
    found = _GO_MODULE.search(text)
    return FileFacts("gomod", package=found[1] if found else "")


def cargo(text: str) -> FileFacts:
    """The name of the crate, and that of its library as a setting if it is another."""
    if any(line.count(".") > KEY_PARTS_MAX for line in text.splitlines()):
        return FileFacts("cargo", note=f"a line has more than {KEY_PARTS_MAX} dots: not analysed")
    try:
        manifest = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return FileFacts("cargo")
    package, library = manifest.get("package"), manifest.get("lib")
    name = package.get("name") if isinstance(package, dict) else None
    other = library.get("name") if isinstance(library, dict) else None
    return FileFacts(
        "cargo",
        package=name if isinstance(name, str) else "",
        settings=(("lib", other),) if isinstance(other, str) else (),
    )


def tsconfig(text: str) -> FileFacts:
    """`baseUrl`, and those `paths` that have a single target."""
    text = _STRING_OR_COMMENT.sub(lambda found: found[1] or " ", text)
    try:
        manifest = orjson.loads(_TRAILING_COMMA.sub(r"\1", text))
    except orjson.JSONDecodeError:
        return FileFacts("tsconfig")
    options = manifest.get("compilerOptions") if isinstance(manifest, dict) else None
    if not isinstance(options, dict):
        return FileFacts("tsconfig")
    settings: list[tuple[str, str]] = []
    base = options.get("baseUrl")
    if isinstance(base, str):
        settings.append(("baseUrl", base))
    paths = options.get("paths")
    for pattern, targets in paths.items() if isinstance(paths, dict) else ():
        match targets:
            case [str(target)] if "*" not in pattern[:-1] and "*" not in target[:-1]:
                settings.append((f"paths:{pattern}", target))
    return FileFacts("tsconfig", settings=tuple(settings))


MANIFESTS: Final[Mapping[str, Callable[[str], FileFacts]]] = {
    "gomod": go_mod,
    "cargo": cargo,
    "tsconfig": tsconfig,
}
