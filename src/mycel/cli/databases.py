"""`mycel init` and `mycel doctor`: a new database; is all here that it needs, and is it well?

The doctor looks below the engine, because it has to say something useful about a database that the
engine refuses to open. `mycel verify` is the thorough check.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import rich_click as click

from mycel.cli.capsules import presence
from mycel.cli.context import Command, Place, Session, pass_session
from mycel.cli.output import count
from mycel.errors import MycelError

if TYPE_CHECKING:
    import apsw

    from mycel.nexus import Nexus

APSW_MIN = (3, 54)
"""As in pyproject.toml."""

Status = Literal["ok", "warn", "fail"]

_COLOURS: dict[Status, str] = {"ok": "green", "warn": "yellow", "fail": "red"}


class Finding(NamedTuple):
    """One line of the examination."""

    status: Status
    check: str
    detail: str


@click.command(cls=Command)
@click.option("--bare", is_flag=True, help="Without the core capsules: no types, nobody, nothing")
@pass_session
def init(session: Session, *, bare: bool) -> None:
    """Create the database; one that is there stays as it is.

    A new graph knows the core capsules: types such as Person and Event, predicates, domains, and
    who it is itself. `mycel capsule list` shows them.
    """
    # Late: see the package's docstring.
    import mycel

    place = session.place()
    if place.is_default:
        # What an agent remembers is nobody else's business.
        place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    existed = place.path.exists() and place.path.stat().st_size > 0
    with mycel.open(place.path, bootstrap=not (bare or existed)) as db:
        entries = db.snapshot().entries
    path = str(place.path.absolute())
    session.out.say(
        f"There is a database already: {path}" if existed else f"Created {path}",
        {"path": path, "workspace": place.workspace, "created": not existed, "entries": entries},
    )


@click.command(cls=Command)
@pass_session
def doctor(session: Session) -> int:
    """Check the installation and the database; exit status 1 if something is broken."""
    out = session.out
    worst = 0
    for finding in examine(session.place()):
        worst |= finding.status == "fail"
        mark = out.style(finding.status.ljust(4), fg=_COLOURS[finding.status])
        out.say(f"{mark}  {finding.check}: {finding.detail}", finding._asdict())
    return worst


def examine(place: Place) -> Iterator[Finding]:
    """Everything there is to say, most basic first."""
    yield from _installation()
    try:
        # Late: see the package's docstring; and an installation without it is what we look for.
        import apsw
    except ImportError as error:
        yield Finding("fail", "SQLite", f"apsw cannot be loaded: {error}")
        return
    yield from _engine(apsw.apsw_version(), apsw.sqlite_lib_version())
    yield from _features()
    yield from _location(place)
    if place.path.exists():
        yield from _database(place.path)


def _installation() -> Iterator[Finding]:
    # Late: see the package's docstring.
    import mycel

    good = sys.version_info >= (3, 11)
    found = f"{platform.python_version()} ({platform.system()} {platform.machine()})"
    yield Finding("ok" if good else "fail", "Python", found if good else f"{found}; 3.11 is needed")
    yield Finding("ok", "Mycel", f"{mycel.__version__} in {Path(mycel.__file__).parent}")


def _engine(apsw_version: str, sqlite_version: str) -> Iterator[Finding]:
    parts = tuple(int(part) for part in apsw_version.split(".")[:2])
    needed = ".".join(str(part) for part in APSW_MIN)
    found = f"{sqlite_version} through apsw {apsw_version}"
    if parts >= APSW_MIN:
        yield Finding("ok", "SQLite", found)
    else:
        yield Finding("fail", "SQLite", f"{found}; apsw {needed} is needed")


def _features() -> Iterator[Finding]:
    # Late: see the package's docstring.
    import apsw

    def runs(statement: str) -> Callable[[], object]:
        return lambda: apsw.Connection(":memory:").execute(statement).fetchall()

    needed: dict[str, Callable[[], object]] = {
        "FTS5": runs("CREATE VIRTUAL TABLE t USING fts5(body, tokenize = 'porter unicode61')"),
        "JSON": runs("SELECT json_extract('{\"a\":1}', '$.a'), '[1]' ->> 0"),
        "STRICT": runs("CREATE TABLE t (a INTEGER) STRICT"),
        "VFS": lambda: apsw.Connection("/mycel-doctor", vfs="memdb"),
    }
    for name, attempt in needed.items():
        try:
            attempt()
        except apsw.Error as error:
            yield Finding("fail", name, f"SQLite was built without it ({error})")
        else:
            yield Finding("ok", name, "there")


def _location(place: Place) -> Iterator[Finding]:
    named = f"workspace {place.workspace}, " if place.workspace else ""
    yield Finding("ok", "path", f"{place.path.absolute()} ({named}from {place.chosen_by})")
    if place.path.exists():
        writable = os.access(place.path, os.W_OK) and os.access(place.path.parent, os.W_OK)
        yield (
            Finding("ok", "writable", "yes")
            if writable
            else Finding("warn", "writable", "no: it can be read only")
        )
        return
    yield Finding("warn", "database", f"not there yet; `{place.creation}` creates it")
    near = next(folder for folder in place.path.absolute().parents if folder.exists())
    if not place.is_default and near != place.path.absolute().parent:
        yield Finding("fail", "writable", f"there is no directory {str(place.path.parent)!r}")
    elif not os.access(near, os.W_OK):
        yield Finding("fail", "writable", f"the directory {str(near)!r} may not be written")
    else:
        yield Finding("ok", "writable", "yes")


def _database(path: Path) -> Iterator[Finding]:
    # Late: see the package's docstring.
    import apsw

    try:
        yield Finding("ok", "size", _size(path))
        connection = apsw.Connection(str(path.absolute()), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            yield _format(connection)
            yield _quick_check(connection)
        finally:
            connection.close()
    except (apsw.Error, OSError) as error:
        yield Finding("fail", "database", f"{path} cannot be read: {error}")
        return
    yield from _contents(path)


def _size(path: Path) -> str:
    log = path.with_name(f"{path.name}-wal")
    log_size = log.stat().st_size if log.exists() else 0
    more = f", and {_bytes(log_size)} not yet moved in from the log" if log_size else ""
    return _bytes(path.stat().st_size) + more


def _format(connection: apsw.Connection) -> Finding:
    # Late: see the package's docstring.
    from mycel.store.layout import APPLICATION_ID, FORMAT

    application, version = (
        _one(connection, f"PRAGMA {name}") for name in ("application_id", "user_version")
    )
    if application != APPLICATION_ID:
        return Finding("fail", "format", "this is no database of Mycel")
    if version > FORMAT:
        return Finding("fail", "format", f"{version}; this Mycel reads up to {FORMAT}: upgrade it")
    return Finding("ok", "format", str(version))


def _quick_check(connection: apsw.Connection) -> Finding:
    said = _one(connection, "PRAGMA quick_check(1)")
    if said == "ok":
        return Finding("ok", "quick check", "sound; `mycel verify` checks everything")
    return Finding("fail", "quick check", f"{said}; see `mycel verify`")


def _contents(path: Path) -> Iterator[Finding]:
    # Late: see the package's docstring.
    import mycel

    try:
        # Not read-only where that can be avoided: see `Session.open`.
        readonly = not os.access(path, os.W_OK)
        with mycel.open(path, create=False, readonly=readonly, bootstrap=False) as db:
            yield Finding("ok", "opens", count(db.snapshot().entries, "journal entry"))
            yield _core(db)
    except MycelError as error:
        yield Finding("fail", "opens", error.message)


def _core(db: Nexus) -> Finding:
    # Late: see the package's docstring.
    from mycel.capsules import NAMES

    # A graph may do without them, so that is nothing to warn of; half of them is.
    lacking = {name: there for name in NAMES if (there := presence(db, name)) != "yes"}
    if not lacking:
        return Finding("ok", "core capsules", "applied")
    if set(lacking) == set(NAMES) and set(lacking.values()) == {"no"}:
        return Finding("ok", "core capsules", "none; `mycel capsule apply core` adds them")
    detail = f"{', '.join(lacking)} not in full; `mycel capsule apply core` completes them"
    return Finding("warn", "core capsules", detail)


def _one(connection: apsw.Connection, query: str) -> Any:
    return connection.execute(query).get


def _bytes(size: int) -> str:
    """A size for people.

    >>> _bytes(512), _bytes(4096), _bytes(5 << 20)
    ('512 bytes', '4.0 KiB', '5.0 MiB')
    """
    if size < 1024:
        return f"{size} bytes"
    power = min((size.bit_length() - 1) // 10, 4)
    return f"{size / 1024**power:.1f} {' KMGT'[power]}iB"
