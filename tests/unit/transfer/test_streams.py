"""Files that cannot be read, or not to their end: what is said about them."""

import gzip
from pathlib import Path

import pytest

import mycel
from mycel.errors import InvalidSyntax, NotFound
from tests.unit.transfer.conftest import Write, refused

NOTE = b'{"type":"Note","data":{"text":"a"}}\n'


@pytest.mark.parametrize("name", ["Note.csv", "Note.jsonl", "Note.tsv.gz", "Note.parquet"])
def test_a_file_that_is_not_there_is_told_without_a_line(
    db: mycel.Graph, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    error = refused(db, path)
    assert isinstance(error, NotFound)
    assert error.message == f"There is no file {str(path)!r}."
    assert error.data == {"file": str(path)}


def test_a_file_that_only_says_it_is_compressed_is_told_without_a_line(
    db: mycel.Graph, write: Write
) -> None:
    path = write("notes.jsonl.gz", NOTE)
    error = refused(db, path)
    assert isinstance(error, InvalidSyntax)
    assert error.message.startswith(f"{path}: It is not a complete gzip file: Not a gzipped file")
    assert "rename" in error.hint


@pytest.mark.parametrize("kept", [15, -9])
def test_a_compressed_file_that_was_cut_short_is_told_without_a_line(
    db: mycel.Graph, write: Write, kept: int
) -> None:
    path = write("notes.jsonl.gz", gzip.compress(NOTE)[:kept])
    error = refused(db, path)
    assert isinstance(error, InvalidSyntax)
    assert error.message.startswith(f"{path}: It is not a complete gzip file")
    assert "incomplete" in error.hint
