"""One apply at a time."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from mycel.errors import DatabaseError, SchemaApplyInProgress
from mycel.migration.lock import SUFFIX, schema_apply_lock
from mycel.store.backend.sqlite.location import DatabaseLocation
from mycel.store.file import locks

HOLD = """
import sys
from mycel.migration.lock import schema_apply_lock
from mycel.store.backend.sqlite.location import DatabaseLocation
with schema_apply_lock(DatabaseLocation(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_holder_is_refused_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "graph.db")
    with schema_apply_lock(DatabaseLocation(path)):
        with (
            pytest.raises(SchemaApplyInProgress) as refused,
            schema_apply_lock(DatabaseLocation(path)),
        ):
            raise AssertionError("two held it")
        assert refused.value.message == "schema apply is already in progress"
    with schema_apply_lock(DatabaseLocation(path)):
        pass


def test_where_no_file_can_be_made_the_reason_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "gone" / "graph.db")
    with (
        pytest.raises(DatabaseError, match="No such file or directory") as refused,
        schema_apply_lock(DatabaseLocation(path)),
    ):
        raise AssertionError("nobody can hold it")
    assert not isinstance(refused.value, SchemaApplyInProgress)
    assert "writable" in refused.value.hint


def test_a_file_system_without_locks_is_not_taken_for_another_apply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "_lock", fail)
    with (
        pytest.raises(DatabaseError, match="No locks available"),
        schema_apply_lock(DatabaseLocation(str(tmp_path / "graph.db"))),
    ):
        raise AssertionError("nobody can hold it")


def test_the_file_of_the_lock_is_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with schema_apply_lock(DatabaseLocation(str(path))):
        assert Path(f"{path}{SUFFIX}").exists()
    assert not list(tmp_path.iterdir())


def test_the_lock_ends_with_an_error(tmp_path: Path) -> None:
    path = str(tmp_path / "graph.db")
    with pytest.raises(ValueError, match="meant"), schema_apply_lock(DatabaseLocation(path)):
        raise ValueError("meant")
    with schema_apply_lock(DatabaseLocation(path)):
        pass


def test_the_lock_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    path = str(tmp_path / "graph.db")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(SchemaApplyInProgress), schema_apply_lock(DatabaseLocation(path)):
            raise AssertionError("two held it")
    finally:
        holder.kill()
        holder.communicate()
    with schema_apply_lock(DatabaseLocation(path)):
        pass
