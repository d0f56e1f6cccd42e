"""Options, fixtures and Hypothesis profiles that every test shares."""

import gc
import signal
from collections.abc import Iterator
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

# Hooks and a fixture: pytest finds them here.
from tests.case_selection import (  # noqa: F401
    choose_case,
    pytest_generate_tests,
    pytest_runtest_logreport,
    pytest_sessionfinish,
)
from tests.postgres_server import SERVER, PostgresServer, programs, serving

# `ci` is what `make test` uses everywhere: the same examples each time, so that a failure is the
# change's own. `make soak` asks for `soak` and passes a fresh seed. A test that needs more or fewer
# examples than others takes a multiple of `settings.default.max_examples`, so that soak raises it.
settings.register_profile("ci", max_examples=10, derandomize=True, deadline=None, database=None)
settings.register_profile("soak", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile("ci")


# A shell starts what runs in the background deaf to Ctrl-C, and whatever that starts is deaf too.
# Tests press Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mycel")
    group.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite golden files and tests/public_api.txt instead of comparing with them",
    )
    group.addoption(
        "--backend",
        choices=("sqlite", "postgres"),
        default="sqlite",
        help="the database of prepared graphs; for postgres the tests start a server of their own",
    )
    group.addoption(
        "--seed",
        type=int,
        default=0,
        help="the seed of randomised tests (default: 0; `make soak` passes a fresh one)",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collect tests without garbage collection, because all loaded objects stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests about files if graphs are not in files, each with the reason of its mark."""
    if config.getoption("--backend") == "sqlite":
        return
    for item in items:
        mark = item.get_closest_marker("sqlite_file")
        if mark is not None:
            item.add_marker(pytest.mark.skip(reason=mark.args[0]))


@pytest.fixture(scope="session", autouse=True)
def _backend(pytestconfig: pytest.Config) -> Iterator[None]:
    """Start the database for the graphs of tests."""
    with serving(pytestconfig.getoption("--backend")):
        yield


@pytest.fixture(autouse=True)
def _recycled_workspaces(_backend: None) -> Iterator[None]:
    """Empty the workspaces that a test has made, for the next test."""
    if not SERVER:
        yield
        return
    (server,) = SERVER
    before = server.schemas()
    yield
    server.recycle(server.schemas() - before)


@pytest.fixture(scope="session")
def postgres_server(_backend: None) -> Iterator[PostgresServer]:
    """A PostgreSQL server for tests; it starts when it is first used."""
    if programs() is None:
        pytest.skip("PostgreSQL 15 is not installed here")
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed here")
    if SERVER:
        yield SERVER[0]
        return
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    """True if golden files are rewritten instead of compared."""
    return bool(pytestconfig.getoption("--update-golden"))


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """The seed of tests that draw random numbers."""
    return int(pytestconfig.getoption("--seed"))


@pytest.fixture(scope="session", autouse=True)
def _shipped_embedder() -> Iterator[None]:
    """Search by the model inside the package, also where the extra `notes` is installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mycel.search.index.passage_index.installed_model", lambda: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _empty_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the default database location and user settings away from the tests."""
    home = str(tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(prefix="my-") as run:
        patch.setenv("HOME", home)
        # The sockets of hooks: a short path, and not that of other tests on this machine.
        patch.setenv("XDG_RUNTIME_DIR", run)
        # No process of a test outlives it.
        patch.setenv("MYCEL_HOOK_KEEP", "off")
        patch.setenv("USERPROFILE", home)
        yield
