"""Reads manifests: names of the parts of a project, and the packages that they depend on.

A package outside the project is named by its package URL: `pkg:cargo/serde`, `pkg:npm/react`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import orjson

from mycel.knowledge.code.source_facts import FileFacts

KEY_PARTS_MAX: Final = 200
"""The maximum number of dots in one line of Cargo.toml: `tomllib` takes quadratic time for the
parts of a key."""

DEPENDENCIES_MAX: Final = 1_000
"""The maximum number of dependencies of one manifest."""

_CARGO_KEYS: Final = ("dependencies", "dev-dependencies", "build-dependencies")
_NPM_KEYS: Final = (
    "dependencies", "devDependencies", "peerDependencies", "optionalDependencies"
)  # fmt: skip
_PACKAGE: Final = re.compile(r"@?[A-Za-z0-9_][\w.~-]*(?:/[\w.~-]+)*", re.ASCII)
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_NORMAL: Final = re.compile(r"[-_.]+")
_GO_REQUIRED: Final = re.compile(
    r"^(?:require[ \t]++|[ \t]++)([\w-]++(?>(?:[./~][\w-]++)*))[ \t]++v\d", re.MULTILINE
)
_XML_COMMENT: Final = re.compile(r"<!--(?:.*?-->|.*+)", re.DOTALL)
_POM_DEPENDENCY: Final = re.compile(r"<dependency>((?>[^<]*+(?:<(?!/?dependency>)[^<]*+)*))")
_POM_PARENT: Final = re.compile(r"<parent>(?>[^<]*+(?:<(?!/?parent>)[^<]*+)*)")
_GO_MODULE: Final = re.compile(r"^module[ \t]++\"?([^\s\"]++)", re.MULTILINE)
# An unclosed string or comment extends to the end, so each text is searched only once.
_STRING_OR_COMMENT: Final = re.compile(
    r'("(?>(?:[^"\\\n]|\\.)*)"?)|//[^\n]*+|/\*(?:.*?\*/|.*+)', re.DOTALL
)
_TRAILING_COMMA: Final = re.compile(r",(\s*+[}\]])")


def go_mod(text: str) -> FileFacts:
    match = _GO_MODULE.search(text)
    names = [match[1] for match in _GO_REQUIRED.finditer(text)]
    return FileFacts(
        "gomod", package=match[1] if match else "", dependencies=_urls("golang", names)
    )


def npm(text: str) -> FileFacts:
    """The name and the dependencies in a package.json."""
    try:
        manifest = orjson.loads(text)
    except orjson.JSONDecodeError:
        return FileFacts("npm")
    if not isinstance(manifest, dict):
        return FileFacts("npm")
    names = [name for key in _NPM_KEYS for name in _table(manifest, key)]
    name = manifest.get("name")
    package = name if isinstance(name, str) else ""
    return FileFacts("npm", package=package, dependencies=_urls("npm", names))


def pyproject(text: str) -> FileFacts:
    """The name and the dependencies of a Python project, with its extras and groups."""
    manifest = _toml(text)
    project = _table(manifest, "project")
    poetry = _table(_table(manifest, "tool"), "poetry")
    groups = [project.get("dependencies"), *_table(project, "optional-dependencies").values()]
    groups += _table(manifest, "dependency-groups").values()
    texts = [text for group in groups if isinstance(group, list) for text in group]
    names = [match[0] for text in texts if (match := _REQUIREMENT.match(str(text)))]
    names += [name for name in _table(poetry, "dependencies") if name != "python"]
    for group in _table(poetry, "group").values():
        names += _table(group, "dependencies") if isinstance(group, dict) else ()
    name = project.get("name") or poetry.get("name")
    package = _NORMAL.sub("-", name).lower() if isinstance(name, str) else ""
    urls = _urls("pypi", [_NORMAL.sub("-", name).lower() for name in names])
    return FileFacts("pyproject", package=package, dependencies=urls)


def pom(text: str) -> FileFacts:
    """The name (group and artifact) and the dependencies of a Maven project."""
    plain = _XML_COMMENT.sub(" ", text)
    inside = [match[1] for match in _POM_DEPENDENCY.finditer(plain)]
    names = [
        f"{_tag(dependency, 'groupId')}/{_tag(dependency, 'artifactId')}" for dependency in inside
    ]
    outside = _POM_DEPENDENCY.sub(" ", plain).partition("<build>")[0]
    own = _POM_PARENT.sub(" ", outside)
    group = _tag(own, "groupId") or _tag(outside, "groupId")
    package = f"{group}/{_tag(own, 'artifactId')}"
    return FileFacts("pom", package=package.strip("/"), dependencies=_urls("maven", names))


def _tag(text: str, name: str) -> str:
    return text.partition(f"<{name}>")[2].partition("<")[0].strip()


def _table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def _toml(text: str) -> Mapping[str, Any]:
    if any(line.count(".") > KEY_PARTS_MAX for line in text.splitlines()):
        return {}
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _urls(kind: str, names: Iterable[str]) -> tuple[str, ...]:
    """The package URLs of names, each once; an invalid name is left out."""
    plain = (name for name in names if _PACKAGE.fullmatch(name))
    return tuple(dict.fromkeys(f"pkg:{kind}/{name}" for name in plain))[:DEPENDENCIES_MAX]


def cargo(text: str) -> FileFacts:
    """The name of the crate; if its library has another name, that is a setting."""
    if any(line.count(".") > KEY_PARTS_MAX for line in text.splitlines()):
        return FileFacts("cargo", note=f"a line has more than {KEY_PARTS_MAX} dots: not analysed")
    try:
        manifest = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return FileFacts("cargo")
    package, library = manifest.get("package"), manifest.get("lib")
    name = package.get("name") if isinstance(package, dict) else None
    other = library.get("name") if isinstance(library, dict) else None
    tables = [manifest, _table(manifest, "workspace"), *_table(manifest, "target").values()]
    names = [
        _cargo_name(key, value)
        for table in tables
        if isinstance(table, dict)
        for kind in _CARGO_KEYS
        for key, value in _table(table, kind).items()
    ]
    return FileFacts(
        "cargo",
        package=name if isinstance(name, str) else "",
        dependencies=_urls("cargo", names),
        settings=(("lib", other),) if isinstance(other, str) else (),
    )


def _cargo_name(key: str, value: object) -> str:
    renamed = value.get("package") if isinstance(value, dict) else None
    return renamed if isinstance(renamed, str) else key


def tsconfig(text: str) -> FileFacts:
    """`baseUrl`, and the `paths` that have a single target."""
    text = _STRING_OR_COMMENT.sub(lambda match: match[1] or " ", text)
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
    "npm": npm,
    "pyproject": pyproject,
    "pom": pom,
}

ECOSYSTEMS: Final = {
    "cargo": "cargo", "gomod": "golang", "npm": "npm", "pyproject": "pypi", "pom": "maven"
}  # fmt: skip
"""Kinds of manifests, each with the package URL type of its packages."""
