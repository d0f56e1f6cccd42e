"""`init`, `doctor` and `demo`."""

import shutil
import sys
from pathlib import Path

import apsw
import pytest

from mycel.cli.commands import databases
from tests.adapters.cli.conftest import Done, Run


def status_of(done: Done, check: str) -> str:
    return next(each["status"] for each in done.objects if each["check"] == check)


def test_init_says_where_and_whether_it_was_there(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    made = run("--db", path, "init", "--json").object
    assert (made["path"], made["created"], made["workspace"]) == (str(path), True, None)
    again = run("--db", path, "init", "--json").object
    assert again == made | {"created": False}


def test_init_makes_a_database_of_an_empty_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.touch()
    assert run("--db", path, "init", "--json").object["created"] is True


@pytest.mark.usefixtures("graph")
def test_the_doctor_finds_a_sound_database_well(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What clients on this machine know is not looked at, nor who listens here.
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr("mycel.cli.commands.serve.PORT", 0)
    done = run("doctor")
    assert done.status == 0
    assert all(line.startswith("ok  ") for line in done.lines)
    as_json = run("doctor", "--json")
    checks = [each["check"] for each in as_json.objects]
    assert checks == [
        "Python",
        "Mycel",
        "SQLite",
        "FTS5",
        "JSON",
        "STRICT",
        "VFS",
        "extras",
        "port",
        "path",
        "writable",
        "size",
        "format",
        "quick check",
        "opens",
        "core capsules",
        "clients",
    ]


def test_the_doctor_says_which_core_capsules_are_there(run: Run, tmp_path: Path) -> None:
    db = ("--db", tmp_path / "x.db")

    def found() -> tuple[str, str]:
        done = run(*db, "doctor", "--json")
        assert done.status == 0
        return next(
            (each["status"], each["detail"])
            for each in done.objects
            if each["check"] == "core capsules"
        )

    run(*db, "init", "--bare")
    assert found() == ("ok", "none; `mycel capsule apply core` adds them")
    run(*db, "capsule", "apply", "genesis", "domains")
    status, detail = found()
    assert status == "warn"
    assert detail.startswith("predicates, person, ")
    run(*db, "capsule", "apply", "core")
    assert found() == ("ok", "applied")


def test_a_bare_graph_stays_bare_until_it_is_told_otherwise(run: Run, tmp_path: Path) -> None:
    db = ("--db", tmp_path / "x.db")
    made = run(*db, "init", "--bare", "--json").object
    for words in (("init",), ("log",), ("doctor",), ("kip", "DESCRIBE PRIMER"), ("init",)):
        assert run(*db, *words).status == 0
    assert run(*db, "snapshot", "--json").object["entries"] == made["entries"]
    full = run("--db", tmp_path / "full.db", "init", "--json").object
    assert full["entries"] > made["entries"]


def test_a_database_that_is_not_there_yet_is_only_a_warning(run: Run, tmp_path: Path) -> None:
    done = run("--db", tmp_path / "x.db", "doctor", "--json")
    assert done.status == 0
    assert status_of(done, "database") == "warn"
    assert not (tmp_path / "x.db").exists()


def test_a_place_where_none_can_be_made_is_a_failure(run: Run, tmp_path: Path) -> None:
    done = run("--db", tmp_path / "no" / "x.db", "doctor", "--json")
    assert done.status == 1
    assert status_of(done, "writable") == "fail"


def test_another_file_is_a_failure(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be looked at\n" * 100)
    done = run("--db", text, "doctor", "--json")
    assert done.status == 1
    assert status_of(done, "database") == "fail"
    assert run("--db", tmp_path, "doctor").status == 1


def test_a_database_of_somebody_else_is_a_failure(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    apsw.Connection(str(path)).execute("CREATE TABLE t (a)")
    done = run("--db", path, "doctor", "--json")
    assert done.status == 1
    assert status_of(done, "format") == "fail"


def test_a_newer_format_is_a_failure(run: Run, graph: Path) -> None:
    connection = apsw.Connection(str(graph))
    connection.execute("PRAGMA user_version = 9999")
    connection.close()
    done = run("doctor", "--json")
    assert done.status == 1
    assert status_of(done, "format") == "fail"


def test_damaged_pages_are_a_failure(run: Run, graph: Path) -> None:
    content = bytearray(graph.read_bytes())
    for page in range(4, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    graph.write_bytes(content)
    assert run("doctor").status == 1


def test_a_library_that_is_too_old_or_lacks_a_feature_is_a_failure(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise apsw.SQLError("no such module: fts5")

    monkeypatch.setattr(databases, "APSW_MIN", (99, 0))
    monkeypatch.setattr(apsw, "Connection", refuse)
    done = run("--db", tmp_path / "x.db", "doctor", "--json")
    assert done.status == 1
    assert status_of(done, "SQLite") == "fail"
    assert status_of(done, "FTS5") == "fail"


def test_a_missing_library_is_a_failure_and_not_a_traceback(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "mycel.store.check.installation", raising=False)
    monkeypatch.setitem(sys.modules, "apsw", None)
    done = run("--db", tmp_path / "x.db", "doctor", "--json")
    assert done.status == 1
    assert status_of(done, "SQLite") == "fail"


def test_a_file_that_may_only_be_read_is_a_warning_and_can_be_read(
    run: Run, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not by permissions: tests may run as root, who may do everything.
    monkeypatch.setattr("os.access", lambda *_: False)
    done = run("doctor", "--json")
    assert done.status == 0
    assert status_of(done, "writable") == "warn"
    assert run("log").status == 0
    assert run("search", "Aspirin").status == 0
    assert run("verify").status == 0
    assert graph.exists()


def test_the_demo_shows_everything_and_leaves_nothing(run: Run, tmp_path: Path) -> None:
    done = run("demo")
    assert done.status == 0
    assert done.stderr == ""
    for expected in (
        "Birch     2",
        "Fungus  Fly agaric",
        "by reviewer\nreason     wrong probe",
        "\nProven: the Tree 'Birch'",
        "\nNOT proven: the Tree 'Birch'",
        "ok    replay",
        "4 turns written",
        "password: [redacted: setting]",
        "- [said by Ranger on 2026-03-02, imported from turns, ",
        '"No. We decided never to cut in the nesting season."',
        "Nothing is shown",
    ):
        assert expected in done.stdout
    assert "f0rest" not in done.stdout
    assert not list(tmp_path.iterdir())


def test_the_demo_speaks_json(run: Run) -> None:
    steps = run("demo", "--json").objects
    begins = [at for at, each in enumerate(steps) if "step" in each]
    assert [steps[at]["step"] for at in begins] == list(range(1, 11))
    assert steps[begins[1] + 1]["result"] == [["Birch", "Pine", "Seedling"], [2, 1, 1]]
    then, now = steps[begins[4] + 1 : begins[5] - 1], steps[begins[5] - 1]
    assert len(then) == 2
    assert now in then
    assert [each["ok"] for each in steps[begins[6] + 2 : begins[7]]] == [True, False]
    assert steps[begins[8] - 1]["ok"] is True
    assert steps[begins[8] + 1]["turns"]["written"] == 4
    assert [bool(each["shown"]) for each in steps[-2:]] == [True, False]


def test_the_demo_keeps_its_graph_in_a_new_file_that_was_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "forest.db"
    assert str(path) in run("--db", path, "demo").stdout
    assert run("--db", path, "edge", "in", "Tree:Birch").status == 0
    assert [each.name for each in tmp_path.iterdir()] == ["forest.db"]
    refused = run("demo", "--db", path)
    assert refused.status == 2
    assert "needs a new file" in refused.stderr


def test_the_demo_never_touches_the_database_of_the_environment(
    run: Run, graph: Path, tmp_path: Path
) -> None:
    before = tmp_path / "before.db"
    shutil.copy(graph, before)
    assert run("demo").status == 0
    assert graph.read_bytes() == before.read_bytes()
