"""Folders of names, and groups of folders small enough to draw.

The folder of a node is the part of its URI before the last slash, or before `#` for a symbol of a
file. A concept whose name is no URI is in the folder of its type, `kip:Type`. Folders are at most
`DEPTH_MAX` deep, because a name can have thousands of segments, and each would be a folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from mycel.knowledge.vocabulary import RESOURCE
from mycel.text.names import is_test_path

DEPTH_MAX: Final = 32
"""The greatest depth of a folder; a deeper node is in the folder of its first segments."""
REST_NODES_MIN: Final = 3
"""A group of an overview has at least this many nodes, if another group can take them."""


def folder_of(uri: str) -> str:
    """The folder of a URI.

    >>> folder_of("concept://shop/auth/login"), folder_of("concept://shop/auth")
    ('concept://shop/auth', 'concept://shop')
    >>> folder_of("concept://shop"), folder_of("kip:Person/Ada/Eve"), folder_of("urn:isbn:1")
    ('concept://shop', 'kip:Person', 'urn:')
    >>> folder_of("file://shop/a.py#Cart.add")
    'file://shop/a.py'
    >>> folder_of("concept://shop" + "/a" * 1000) == "concept://shop" + "/a" * 31
    True
    """
    scheme, separator, path = _around(uri).partition("://")
    return scheme + separator + "/".join(path.split("/", DEPTH_MAX)[:DEPTH_MAX])


def _around(uri: str) -> str:
    """The part of a URI before the last segment."""
    if uri.startswith("kip:"):
        return uri.partition("/")[0]
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return f"{uri.partition(':')[0]}:"
    path, _, symbol = rest.partition("#")
    inner = path if symbol else path.rpartition("/")[0]
    return f"{scheme}://{inner or path}"


def concept_folder(type_name: str, name: str) -> str:
    """The folder of a concept: from its name if that is a URI, otherwise from its type.

    >>> concept_folder("Concept", "concept://shop/auth/login"), concept_folder("Person", "Ada")
    ('concept://shop/auth', 'kip:Person')
    """
    if "://" in name or (type_name == RESOURCE and ":" in name and " " not in name):
        return folder_of(name)
    return f"kip:{type_name}"


def last_segment(uri: str) -> str:
    """The part of a URI after its folder.

    >>> last_segment("concept://shop/auth/login"), last_segment("kip:Person/Ada/Eve")
    ('login', 'Ada/Eve')
    """
    if uri.startswith("kip:"):
        return uri.partition("/")[2] or uri
    folder = _around(uri)
    if folder == uri:
        return uri.rpartition("/")[2] or uri
    return uri[len(folder) :].lstrip("/#") or uri


def parent_of(folder: str) -> str | None:
    """The folder around a folder; None for the folder of a workspace, a host or a type."""
    scheme, separator, path = folder.partition("://")
    if not separator or "/" not in path:
        return None
    return f"{scheme}://{path.rpartition('/')[0]}"


class FolderTree:
    """Folders with the number of nodes in each, and below each."""

    def __init__(self, nodes: Mapping[str, int]) -> None:
        """Take the number of nodes directly in each folder."""
        self.own = Counter(nodes)
        self.below: Counter[str] = Counter()
        """The number of nodes in a folder and all folders inside it."""
        self.inside: dict[str | None, list[str]] = {None: []}
        """The folders directly inside a folder; the key None has the outermost ones."""
        for folder, count in nodes.items():
            around: str | None = folder
            while around is not None:
                if around not in self.below:
                    self.inside.setdefault(parent_of(around), []).append(around)
                self.below[around] += count
                around = parent_of(around)

    def parts(self, folder: str | None) -> list[str]:
        """The folders inside a folder, largest first; a lone inner folder is replaced by its parts.

        A folder is alone if only its own node is beside it.
        """
        folders = self.inside.get(folder, [])
        while len(folders) == 1 and (inner := self.inside.get(folders[0])):
            if self.own[folders[0]] > len(inner):
                break
            folders = inner
        return sorted(folders, key=lambda part: (-self.below[part], part))

    def groups(self, goal: int, most: int) -> dict[str, bool]:
        """Folders that divide the graph: the largest are divided until there are `goal` groups.

        The value is True if a group is the folder with everything below it. It is False for the
        rest of a folder: the nodes directly in it, and those in parts that are too small for a
        group. Tests are not divided unless there is little else. Files are not divided either if
        the same workspace has concepts, because these have the same folders.
        """
        groups = dict.fromkeys(self.inside[None], True)
        total = max(1, sum(self.below[folder] for folder in self.inside[None]))
        tests = sum(self.below[folder] for folder in groups if is_test_folder(folder))
        twins = {
            f"file://{folder.partition('://')[2]}"
            for folder in groups
            if folder.startswith("concept:")
        }
        undivided = {folder for folder in groups if self.inside.get(folder) and folder not in twins}
        while undivided and len(groups) < goal:
            largest = max(undivided, key=lambda folder: (self.below[folder], folder))
            if self.below[largest] * goal < total:
                break
            undivided.discard(largest)
            if is_test_folder(largest) and self.below[largest] * 4 < total * 3 and tests < total:
                continue
            parts = [part for part in self.parts(largest) if self._is_group(part, total // goal)]
            # This is the whole graph, and some of its parts are better than a single group.
            if len(groups) == 1:
                parts = parts[: most - 1]
            if not parts or len(groups) + len(parts) > most:
                continue
            del groups[largest]
            groups |= dict.fromkeys(parts, True)
            undivided |= {part for part in parts if self.inside.get(part)}
            rest = self.below[largest] - sum(self.below[part] for part in parts)
            if rest >= REST_NODES_MIN or (rest and not self._has_rest_around(largest, groups)):
                groups[largest] = False
        return groups

    def _is_group(self, folder: str, share: int) -> bool:
        """True if a folder is large enough for a group of its own; files need more nodes."""
        nodes = self.below[folder]
        if self.inside.get(folder):
            return nodes >= max(REST_NODES_MIN, share // 40)
        return nodes >= max(REST_NODES_MIN, share // 10) and not is_test_folder(folder)

    def _has_rest_around(self, folder: str, groups: Mapping[str, bool]) -> bool:
        around = parent_of(folder)
        while around is not None and around not in groups:
            around = parent_of(around)
        return around is not None


def is_test_folder(folder: str) -> bool:
    """True for a folder of tests, and for a file of tests with the symbols in it.

    >>> [is_test_folder(f"concept://shop/{each}") for each in ("tests", "a/b.test.ts", "src")]
    [True, True, False]
    """
    return is_test(f"{folder}/-")


def is_test(uri: str) -> bool:
    """True for a file of tests and the symbols in it, by the path of the URI.

    >>> is_test("concept://shop/tests/a"), is_test("concept://shop/a.test.ts/f")
    (True, True)
    """
    if not uri.startswith(("concept://", "file://")):
        return False
    around, _, name = uri.rpartition("/")
    return is_test_path(name) or _holds_tests(around)


@lru_cache(maxsize=4096)  # Cached, because nodes that are shown together share folders.
def _holds_tests(around: str) -> bool:
    """True if a folder or file, or one around it, is one of tests."""
    path = around.partition("://")[2].partition("/")[2]
    return is_test_path(f"{path}/-") or any(map(is_test_path, path.split("/")))
