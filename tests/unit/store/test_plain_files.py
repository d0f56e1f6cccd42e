"""Files of the user are read up to a bound, and what is no regular file is refused."""

import os
import re
from pathlib import Path

import pytest

import mycel
from mycel import workspaces
from mycel.clients.config_files import registered
from mycel.clients.programs import known_clients
from mycel.errors import ConstraintViolation
from mycel.mirror import settings
from mycel.store.file import branch_files
from mycel.store.file.plain_files import NoPlainFile, read_bounded
from tests.adapters.cli.conftest import needs_posix

SOURCE = Path(mycel.__file__).parent
OWN = {
    "capsules/__init__.py",
    "cli/commands/demo.py",
    "embedding/calibration.py",
    "embedding/static.py",
    "explorer/bundle.py",
    "mirror/core.py",
    "embedding/onnx_model.py",  # A model that its user has chosen; its weights are larger.
    "migration/schema_api.py",  # In a hint.
}
"""Modules that read files of the package without a bound."""


def test_files_are_read_with_a_bound() -> None:
    reads = re.compile(r"(?<!f)\.read_(?:text|bytes)\(")
    unbounded = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if reads.search(path.read_text("utf-8")) and "testing" not in path.parts
    }
    assert unbounded == OWN


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 11)
    assert read_bounded(path, 11) == b"x" * 11
    with pytest.raises(ValueError, match="more than 10 bytes"):
        read_bounded(path, 10)


@needs_posix
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(NoPlainFile):
        read_bounded(pipe, 10)
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for client in known_clients(tmp_path / "project"):
        client.path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(client.path)
        (entry,) = registered(client)
        assert "pipe" in str(entry.trouble)
    place = home / workspaces.HOME_FOLDER
    place.mkdir(parents=True)
    os.mkfifo(place / f"knowledge_shop{workspaces._SUFFIX}")
    assert list(workspaces.owners(home)) == []
    graph = tmp_path / "graph.db"
    os.mkfifo(f"{graph}{settings.SUFFIX}")
    with pytest.raises(ConstraintViolation, match="cannot be read as settings"):
        settings.read(graph)
    os.mkfifo(branch_files._current_file(graph))
    assert branch_files.current(graph) == branch_files.MAIN
