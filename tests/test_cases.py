"""Cases that share a test: none hides another one."""

import inspect

import pytest

from tests.cases import cases, each_case


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

    assert list(inspect.signature(check).parameters) == ["fixture"]
    check(fixture="given")
    assert seen == [(left, right, "given") for left in "ab" for right in (1, 2)]


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="without a case"):
        cases("number", [])
