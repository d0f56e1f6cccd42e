"""Hooks of pytest that choose single rows of `cases`, and remember those that failed.

Without `-k`, `--lf` or an id with brackets, a table is one test: see `cases.py`.
"""

import pytest

from tests.cases import CASE, FAILED_CASES


@pytest.fixture(name=CASE)
def choose_case(request: pytest.FixtureRequest) -> pytest.FixtureRequest:
    """The request of a test of `tests.cases.cases`; its `param` is the row, if it runs only one."""
    return request


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each row of `cases` in a run that chooses tests."""
    table = getattr(metafunc.function, "case_table", None)
    if table is not None and _chooses_rows(metafunc.config):
        metafunc.parametrize(CASE, list(table.rows), indirect=True, ids=table.ids)


def _chooses_rows(config: pytest.Config) -> bool:
    options = [config.getoption(name, None) for name in ("keyword", "lf", "failedfirst")]
    return any(options) or any("[" in argument for argument in config.args)


_FAILED_ROWS: dict[str, list[str]] = {}
"""By the id of each test of `cases` that ran whole: the ids of its rows that failed."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        failed = dict(report.user_properties).get(FAILED_CASES, [])
        _FAILED_ROWS[report.nodeid] = failed if isinstance(failed, list) else []


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remember failed rows instead of their tests, for `--lf`."""
    cache = getattr(session.config, "cache", None)
    if cache is None or hasattr(session.config, "workerinput"):
        return
    last = cache.get("cache/lastfailed", {})
    kept = {name: True for name in last if name.partition("[")[0] not in _FAILED_ROWS}
    for test, rows in _FAILED_ROWS.items():
        kept |= {f"{test}[{row}]": True for row in rows} or ({test: True} if test in last else {})
    if kept != last:
        cache.set("cache/lastfailed", kept)
