"""A project to read, and files that are read in the process of the test."""

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.knowledge.bootstrap import run
from mycel.knowledge.source_files.file_facts import FileRead, decode_read, encode_read, read_file

Write = Callable[..., Path]


class LocalReaders:
    """Reads as a `ReaderPool` does, without its processes: each takes half a second to start."""

    def __init__(self, root: Path, *, bytes_max: int, jobs: int = 1) -> None:
        self._root = str(root)
        self._bytes_max = bytes_max

    def read(self, paths: Iterable[str]) -> Iterator[FileRead]:
        for path in paths:
            read = read_file(self._root, path, bytes_max=self._bytes_max)
            decoded = decode_read(path, encode_read(read))
            assert decoded is not None
            yield decoded

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _local_readers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Read files in this process, except in a test that asks for `reader_processes`."""
    with pytest.MonkeyPatch.context() as patch:
        if "reader_processes" not in request.fixturenames:
            patch.setattr(run, "ReaderPool", LocalReaders)
        yield


@pytest.fixture
def reader_processes() -> None:
    """Files are read by processes of their own, as outside of tests."""


def git(folder: Path, *words: str) -> str:
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, env=environment
    )
    return done.stdout.decode()


def state(shop: mycel.Knowledge) -> tuple[list[Any], list[Any]]:
    """Everything that is in the graph, by names instead of numbers."""
    with shop.db.reading() as reader:
        concepts = reader.connection.execute(
            "SELECT t.name, c.name, c.attributes, c.metadata FROM concept c"
            " JOIN type t ON t.id = c.type WHERE c.name LIKE '%://%' ORDER BY 1, 2"
        ).fetchall()
        relations = reader.connection.execute(
            "SELECT s.name, r.name, o.name, p.weight, p.metadata FROM proposition p"
            " JOIN concept s ON s.id = p.subject JOIN concept o ON o.id = p.object"
            " JOIN predicate r ON r.id = p.predicate WHERE s.name LIKE '%://%' ORDER BY 1, 2, 3"
        ).fetchall()
    return concepts, relations


@pytest.fixture
def repository(root: Path) -> Path:
    """A Git repository without any files."""
    git(root, "init", "-q")
    return root


@pytest.fixture
def write(root: Path) -> Write:
    """Write a file of the project; each has a later time than the one before."""
    moment = [1_700_000_000]

    def write(path: str, text: str | bytes = "") -> Path:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        moment[0] += 60
        os.utime(file, (moment[0], moment[0]))
        return file

    return write


CART = '''"""The cart."""


class Cart:
    """What a customer is about to buy."""

    def add(self, item):
        """Put an item into the cart."""
        return check(item)


def check(item):
    return item
'''

SHOP = """from shop.cart import Cart


def sell():
    return Cart().add(1)


class BigCart(Cart):
    pass
"""

TEST = """from shop.cart import Cart


def test_a_cart_takes_items():
    assert Cart().add(1)
"""


@pytest.fixture
def project(repository: Path, write: Write) -> Path:
    """A small project in Python, in a Git repository."""
    write("README.md", "# Shop\n\nSells.\n\nSee [the cart](src/shop/cart.py) and [src](src).\n")
    write("src/shop/__init__.py")
    write("src/shop/cart.py", CART)
    write("src/shop/main.py", SHOP)
    write("tests/test_cart.py", TEST)
    write("docs/README.md", "# Docs\n\nHow it works.\n")
    return repository
