"""Reading resources: files of the workspace, and never others."""

import base64
import os
import sys
from pathlib import Path

import pytest

from mycel import Knowledge
from mycel.errors import (
    ConstraintViolation,
    DatabaseError,
    InvalidId,
    InvalidValueType,
    MycelError,
    NotFound,
    ResourceExhausted,
)


def test_a_file_is_read_as_it_is_now(shop: Knowledge, root: Path) -> None:
    (root / "src").mkdir()
    (root / "src" / "a b.py").write_text("print('ä')\n", encoding="utf-8")
    read = shop.read_resource("file://shop/src/a%20b.py")
    assert (read.uri, read.path) == ("file://shop/src/a%20b.py", "src/a b.py")
    assert (read.text, read.base64) == ("print('ä')\n", None)
    assert read.size_bytes == 12
    assert read.mime_type == "text/x-python"
    (root / "src" / "a b.py").write_text("pass", encoding="utf-8")
    assert shop.read_resource("src/a b.py").text == "pass"


def test_the_node_of_a_file_stays_as_it_was_stored(shop: Knowledge, root: Path) -> None:
    (root / "a.md").write_text("one", encoding="utf-8")
    shop.add("file://shop/a.md", properties={"size_bytes": 3})
    (root / "a.md").write_text("longer", encoding="utf-8")
    assert shop.get("file://shop/a.md").properties == {"size_bytes": 3}
    assert shop.read_resource("a.md").text == "longer"


@pytest.mark.parametrize("data", [b"\x89PNG\0\xff", b"\xff\xfe", b"a\0b"])
def test_what_is_no_text_comes_as_base64(shop: Knowledge, root: Path, data: bytes) -> None:
    (root / "x.bin").write_bytes(data)
    read = shop.read_resource("x.bin")
    assert read.text is None
    assert read.base64 is not None
    assert base64.b64decode(read.base64) == data


def test_a_file_without_an_extension_is_text(shop: Knowledge, root: Path) -> None:
    (root / "LICENSE").write_text("free", encoding="utf-8")
    assert shop.read_resource("LICENSE").mime_type == "text/plain"
    (root / "blob").write_bytes(b"\xff")
    assert shop.read_resource("blob").mime_type == "application/octet-stream"


@pytest.mark.parametrize(
    "uri",
    [
        "../secret.txt",
        "file://shop/../secret.txt",
        "file://shop/%2e%2e/secret.txt",
        "file://shop/a/..%2f..%2fsecret.txt",
        "file:///etc/passwd",
        "file://shop/a%00.txt",
    ],
)
def test_a_path_out_of_the_workspace_is_refused(shop: Knowledge, root: Path, uri: str) -> None:
    (root.parent / "secret.txt").write_text("secret", encoding="utf-8")
    with pytest.raises(InvalidId):
        shop.read_resource(uri)


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_symbolic_links_are_followed_inside_of_the_root_only(shop: Knowledge, root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret", encoding="utf-8")
    (root / "file").symlink_to(outside / "secret.txt")
    (root / "folder").symlink_to(outside)
    (root / "up").symlink_to("..")
    (root / "real.txt").write_text("fine", encoding="utf-8")
    (root / "inner").symlink_to("real.txt")
    for uri in ("file", "folder/secret.txt", "up/outside/secret.txt", "up"):
        with pytest.raises(ConstraintViolation, match="symbolic link") as caught:
            shop.read_resource(uri)
        assert "secret" not in caught.value.hint
    assert shop.read_resource("inner").text == "fine"
    (root / "loop").symlink_to("loop")
    with pytest.raises(MycelError):
        shop.read_resource("loop")
    (root / "dangling").symlink_to("nothing")
    with pytest.raises(NotFound):
        shop.read_resource("dangling")


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_the_root_itself_may_be_a_symbolic_link(shop: Knowledge, root: Path) -> None:
    (root / "a.txt").write_text("fine", encoding="utf-8")
    (root.parent / "alias").symlink_to(root)
    aliased = Knowledge(shop.db, workspace="shop", root=root.parent / "alias")
    assert aliased.read_resource("a.txt").text == "fine"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files there")
def test_pipes_and_folders_are_not_read(shop: Knowledge, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ConstraintViolation, match="regular"):
        shop.read_resource("pipe")
    (root / "src").mkdir()
    for uri in ("src", "file://shop", "file://shop/"):
        with pytest.raises(ConstraintViolation, match="folder"):
            shop.read_resource(uri)


def test_a_sibling_whose_name_begins_like_the_root_is_outside(shop: Knowledge, root: Path) -> None:
    sibling = root.parent / f"{root.name}-private"
    sibling.mkdir()
    (sibling / "x").write_text("secret", encoding="utf-8")
    (root / "link").symlink_to(sibling / "x")
    with pytest.raises(ConstraintViolation):
        shop.read_resource("link")


def test_a_file_that_is_too_large_is_refused_with_its_size(shop: Knowledge, root: Path) -> None:
    (root / "big").write_bytes(b"x" * 101)
    assert shop.read_resource("big", bytes_max=101).size_bytes == 101
    with pytest.raises(ResourceExhausted, match="101 bytes; at most 100"):
        shop.read_resource("big", bytes_max=100)
    with (root / "sparse").open("wb") as file:
        file.truncate(1 << 33)
    with pytest.raises(ResourceExhausted):
        shop.read_resource("sparse")
    with pytest.raises(InvalidValueType):
        shop.read_resource("big", bytes_max="9")  # type: ignore[arg-type]


def test_what_is_no_file_of_this_workspace_is_not_read(shop: Knowledge, root: Path) -> None:
    (root / "a").write_text("x", encoding="utf-8")
    for uri in ("file://other/a", "concept://shop/a", "https://example.com/a"):
        with pytest.raises(ConstraintViolation, match="no file of the workspace"):
            shop.read_resource(uri)
    with pytest.raises(NotFound):
        shop.read_resource("b")
    with pytest.raises(NotFound):
        shop.read_resource("a/b")
    with pytest.raises(ConstraintViolation, match="has no root folder"):
        Knowledge(shop.db, workspace="shop").read_resource("a")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
def test_a_file_that_may_not_be_read_is_an_error_that_says_so(shop: Knowledge, root: Path) -> None:
    (root / "a").write_text("x", encoding="utf-8")
    (root / "a").chmod(0)
    with pytest.raises(DatabaseError, match="cannot be read"):
        shop.read_resource("a")


def test_a_name_that_no_file_system_takes_is_an_error(shop: Knowledge) -> None:
    with pytest.raises(MycelError):
        shop.read_resource("x" * 300)
