"""Cases that share a test: none hides another one."""

import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases import CASE, cases, each_case


def test_every_case_runs_and_the_failure_names_all_that_failed() -> None:
    seen = []

    @cases(("number", "name"), [(1, "one"), (2, "two"), (3, "three")])
    def check(number: int, name: str) -> None:
        seen.append(name)
        assert number == 2

    with pytest.raises(BaseExceptionGroup) as caught:
        check()
    assert seen == ["one", "two", "three"]
    assert len(caught.value.exceptions) == 2
    told = caught.value.message
    assert told.startswith("2 cases failed:\nnumber=1, name='one': AssertionError: assert 1 == 2")
    assert "number=3, name='three': AssertionError" in told
    assert "number=2" not in told


def test_what_should_have_raised_and_did_not_is_a_failure_like_others() -> None:
    with pytest.raises(BaseExceptionGroup, match=r"1 cases failed:\nquiet: Failed: DID NOT RAISE"):
        _expect_an_error("quiet")


def _expect_an_error(name: str) -> None:
    with each_case() as case, case(name), pytest.raises(ValueError, match="loud"):
        pass


def test_tables_multiply_and_fixtures_stay_arguments() -> None:
    seen = []

    @cases("left", ["a", "b"])
    @cases("right", [1, 2], ids=["one", "two"])
    def check(left: str, right: int, fixture: str) -> None:
        seen.append((left, right, fixture))

    assert list(inspect.signature(check).parameters) == ["fixture", CASE]
    check(fixture="given")
    assert seen == [(left, right, "given") for left in "ab" for right in (1, 2)]


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="without a case"):
        cases("number", [])


TABLE = """
from pathlib import Path

from tests.cases import cases

@cases(("word", "number"), [("pear", 1), ("plum", 2), ("plum", 3), ("\\u00e9\\\\n", 3)])
@cases("side", ["left", "right"])
def test_fruit(side: str, word: str, number: int) -> None:
    with Path("ran").open("a") as ran:
        print(word, number, side, file=ran)
    assert number != 3 or side == "left" or Path("mended").exists()

def test_other() -> None:
    Path("other").touch()
"""


@pytest.fixture
def run_tests(tmp_path: Path) -> Callable[..., list[str]]:
    """Runs pytest in a project with two tests; returns the rows that ran."""
    own = Path(__file__).parent
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name in ("__init__.py", "cases.py", "case_selection.py"):
        shutil.copy(own / name, tmp_path / "tests" / name)
    (tmp_path / "tests" / "conftest.py").write_text("from tests.case_selection import *\n")
    (tmp_path / "tests" / "test_fruit.py").write_text(TABLE)

    def run(*arguments: str) -> list[str]:
        ran = tmp_path / "ran"
        ran.unlink(missing_ok=True)
        (tmp_path / "other").unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", *arguments]
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # It starts sooner.
        subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True)
        return sorted(ran.read_text().splitlines()) if ran.exists() else []

    return run


FAILING = ["plum 3 right", "\u00e9\\n 3 right"]


def test_rows_are_chosen_by_their_words_and_because_they_failed(
    run_tests: Callable[..., list[str]], tmp_path: Path
) -> None:
    last_failed = tmp_path / ".pytest_cache/v/cache/lastfailed"
    assert len(run_tests("-n1")) == 8
    assert (tmp_path / "other").exists()
    assert run_tests("--lf", "-n0") == FAILING
    assert not (tmp_path / "other").exists()
    assert run_tests("-k", "plum and right") == ["plum 2 right", "plum 3 right"]
    assert len(json.loads(last_failed.read_text())) == 2
    (tmp_path / "mended").touch()
    assert len(run_tests()) == 8
    assert json.loads(last_failed.read_text()) == {}
