import os
import socket
import sys
from pathlib import Path

import pytest

from mycel.errors import ConstraintViolation, MycelError, NotFound, ResourceExhausted
from mycel.knowledge.bootstrap import file_walk
from mycel.knowledge.bootstrap.file_walk import check_folder, walk
from tests.unit.knowledge.bootstrap.conftest import Write, git


def walked(root: Path) -> tuple[set[str], dict[str, str]]:
    skipped: dict[str, str] = {}
    return set(walk(root, skipped.__setitem__).files), skipped


def test_git_says_which_files_belong_to_a_repository(repository: Path, write: Write) -> None:
    write(".gitignore", "*.log\nout/\n")
    write("sub/.gitignore", "!keep.log\n")
    write("a.py")
    write("b.log")
    write("out/c.py")
    write("sub/keep.log")
    write("tracked.log")
    git(repository, "add", "-f", "tracked.log", "a.py")
    found, skipped = walked(repository)
    assert found == {".gitignore", "sub/.gitignore", "a.py", "sub/keep.log", "tracked.log"}
    assert not skipped


def test_a_file_that_git_tracks_and_nobody_has_any_more_is_not_found(
    repository: Path, write: Write
) -> None:
    write("a.py").unlink()
    write("b.py")
    git(repository, "add", "b.py")
    (repository / "b.py").unlink()
    write("c.py")
    assert walked(repository)[0] == {"c.py"}


def test_folders_that_somebody_forgot_to_ignore_are_left_out_unless_they_are_tracked(
    repository: Path, write: Write
) -> None:
    write("node_modules/x/index.js")
    write("build/tool.py")
    git(repository, "add", "build")
    assert walked(repository)[0] == {"build/tool.py"}


def test_only_what_is_below_the_folder_is_found_in_a_larger_repository(
    repository: Path, write: Write
) -> None:
    write("a.py")
    write("sub/b.py")
    assert walked(repository / "sub")[0] == {"b.py"}


def test_an_ignored_folder_of_a_repository_is_walked_when_it_is_named(
    repository: Path, write: Write
) -> None:
    write(".gitignore", "scratch\n")
    write("scratch/a.py")
    assert walked(repository / "scratch")[0] == {"a.py"}


def test_submodules_and_repositories_inside_are_projects_of_their_own(
    repository: Path, write: Write, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "x.py").write_text("")
    git(other, "add", ".")
    git(other, "commit", "-qm", "x")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    write("nested/x.py")
    git(repository / "nested", "init", "-q")
    git(repository / "nested", "add", ".")
    git(repository / "nested", "commit", "-qm", "x")
    found, skipped = walked(repository)
    assert found == {".gitmodules"}
    assert set(skipped) == {"sub", "nested"}


def test_programs_that_a_repository_configures_do_not_run(
    repository: Path, write: Write, tmp_path: Path
) -> None:
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    script.chmod(0o755)
    write("a.py")
    git(repository, "add", ".")
    git(repository, "config", "core.fsmonitor", str(script))
    assert walked(repository)[0] == {"a.py"}
    assert not (tmp_path / "ran").exists()


def test_without_git_nested_gitignore_files_are_honoured(root: Path, write: Write) -> None:
    write(".gitignore", "*.log\n/build-out\nnotes/*\n!notes/keep.md\n[\n")
    write("a.py")
    write("b.log")
    write("build-out/c.py")
    write("deep/build-out/d.py")
    write("deep/.gitignore", "!special.log\nlocal.py\n")
    write("deep/special.log")
    write("deep/local.py")
    write("local.py")
    write("notes/drop.md")
    write("notes/keep.md")
    write("node_modules/x/index.js")
    write("pkg/__pycache__/x.pyc")
    assert walked(root)[0] == {
        ".gitignore", "a.py", "local.py", "deep/.gitignore", "deep/build-out/d.py",
        "deep/special.log", "notes/keep.md",
    }  # fmt: skip


def test_without_git_hostile_ignore_files_apply_as_far_as_they_can_be_read(
    root: Path, write: Write
) -> None:
    write("a.py")
    write("a.log")
    write("many/.gitignore", "".join(f"*foo{n}/**/bar{n}*\n" for n in range(9_990)) + "*.log\n")
    write("many/b.log")
    write("more/.gitignore", "*.log\n" + "x\n" * 20_000)
    write("more/c.log")
    write("long/.gitignore", "*a" * 100_000 + "\n*.log\n")
    write("long/d.log")
    os.mkfifo(root / ".gitignore")
    found, skipped = walked(root)
    assert {name for name in found if not name.endswith(".gitignore")} == {"a.py", "a.log"}
    why = "some of its patterns do not apply: too many, or too long"
    assert skipped == {
        ".gitignore": "no regular file",
        "more/.gitignore": why,
        "long/.gitignore": why,
    }


def test_without_git_the_patterns_of_all_ignore_files_together_are_bounded(
    root: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_walk, "IGNORE_PATTERNS_MAX", 5)
    for folder in ("a", "a/b", "a/b/c"):
        write(f"{folder}/.gitignore", "*.log\nx\n")
        write(f"{folder}/x")
    found, skipped = walked(root)
    assert "a/x" not in found
    assert "a/b/c/x" not in found  # By the rules of a folder above.
    assert list(skipped) == ["a/b/c/.gitignore"]


def test_without_the_extra_a_gitignore_outside_of_git_is_an_error_that_says_so(
    root: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.py")
    monkeypatch.setitem(sys.modules, "pathspec", None)
    assert walked(root)[0] == {"a.py"}
    write(".gitignore", "*.log\n")
    with pytest.raises(ConstraintViolation, match="pathspec"):
        walked(root)


def test_without_git_on_the_machine_folders_are_walked(
    repository: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(".gitignore", "b.py\n")
    write("a.py")
    write("b.py")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert walked(repository)[0] == {".gitignore", "a.py"}


@pytest.mark.parametrize("in_git", [True, False])
def test_what_is_no_regular_file_is_skipped_with_the_reason(
    root: Path, write: Write, in_git: bool, tmp_path: Path
) -> None:
    if in_git:
        git(root, "init", "-q")
    (tmp_path / "secret.txt").write_text("secret")
    write("a.py")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "dir").symlink_to(tmp_path)
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe")
    (root / b"caf\xe9.py".decode("utf-8", "surrogateescape")).write_text("")
    found, skipped = walked(root)
    assert found == {"a.py"}
    assert {skipped[name] for name in ("out.txt", "dir", "loop")} == {"a symbolic link"}
    if not in_git:  # Git does not list pipes at all.
        assert skipped["pipe"] == "no regular file"
    assert "its name is not UTF-8" in skipped.values()


def test_a_folder_that_may_not_be_read_is_skipped_with_the_reason(
    root: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.py")
    write("closed/b.py")
    real = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found, skipped = walked(root)
    assert found == {"a.py"}
    assert skipped == {"closed": "permission denied"}


def test_a_folder_with_ten_thousand_files_is_walked(repository: Path) -> None:
    for number in range(10_000):
        os.close(os.open(repository / f"f{number}.txt", os.O_CREAT | os.O_WRONLY))
    assert len(walked(repository)[0]) == 10_000


def test_more_files_than_a_project_has_are_refused(
    root: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_walk, "FILES_MAX", 2)
    for name in "abc":
        write(name)
    with pytest.raises(ResourceExhausted):
        walked(root)


def test_what_is_no_folder_is_refused_with_the_reason(root: Path, write: Write) -> None:
    file = write("a.py")
    with pytest.raises(ConstraintViolation, match="is no folder"):
        check_folder(file)
    with pytest.raises(NotFound):
        check_folder(root / "absent")
    with pytest.raises(NotFound):
        check_folder(file / "below")
    with pytest.raises(MycelError):
        check_folder(Path("nul\0byte"))
    (root / "loop").symlink_to(root / "loop")
    with pytest.raises(MycelError):
        check_folder(root / "loop")


def test_a_socket_in_the_project_does_no_harm(tmp_path: Path) -> None:
    root = tmp_path / "s"
    root.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(str(root / "x"))
        except OSError:
            pytest.skip("the path is too long for a socket")
        assert walked(root) == (set(), {"x": "no regular file"})


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_no_text_is_skipped_beside_rules_too(root: Path, write: Write) -> None:
    write(".gitignore", "*.log\n")
    write("good.py", "x = 1\n")
    (root / os.fsdecode(b"bad\xff.py")).write_text("x = 1\n")
    (root / os.fsdecode(b"folder\xff")).mkdir()
    found, skipped = walked(root)
    assert "good.py" in found
    assert len(skipped) == 2
    assert set(skipped.values()) == {"its name is not UTF-8"}


def test_a_folder_that_is_gone_is_an_error_and_not_empty(root: Path, write: Write) -> None:
    write("good.py", "x = 1\n")
    root.rename(root.with_name("elsewhere"))
    with pytest.raises(NotFound):
        walked(root)
