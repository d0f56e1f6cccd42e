"""Many cases in one test: all of them run, and a failure names each case that failed.

`parametrize` makes a test of each case, and every test costs a millisecond or two in collection,
fixtures and reports, in each worker. Use it for a few cases, or if each case needs fixtures of its
own. A table of many small cases is one test: `cases` runs a function for each row, `each_case` is
the same for a loop that is written out.

The cases of one test share its fixtures, so a case must not change what the next one needs.

A run that chooses tests (`-k`, `--lf`, or an id with brackets) makes a test of each row of `cases`:
`-k "price and 7"` runs the rows whose names contain both words, and `--lf` runs the rows that
failed in the run before (`case_selection.py`). The loop of an `each_case` is always chosen whole.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 120


CASE: Final = "_case"
"""The fixture through which a test of `cases` is told its row, if it runs only one."""

FAILED_CASES: Final = "failed cases"
"""The property of a test's report that lists the ids of the rows that failed."""


@contextmanager
def each_case() -> Iterator[Callable[[object], AbstractContextManager[None]]]:
    """Gives `case`: a failure inside of `with case(name)` is raised after all cases have run."""
    failed: list[tuple[str, BaseException]] = []

    @contextmanager
    def case(name: object) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 (raised below)
            failed.append((str(name), error))

    yield case
    if failed:
        lines = "\n".join(f"{name}: {type(error).__name__}: {error}" for name, error in failed)
        errors = [error for _, error in failed]
        group = BaseExceptionGroup(f"{len(failed)} cases failed:\n{lines}\n", errors)
        group.case_names = [name for name, _ in failed]  # type: ignore[attr-defined]
        raise group


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The rows of a test function, by their names."""

    test: Callable[..., None]
    rows: dict[str, dict[str, Any]]

    @property
    def ids(self) -> list[str]:
        """The names of the rows as parts of a test's id: printable, without a backslash."""
        return [_id_of(name) for name in self.rows]


def cases(
    names: str | Sequence[str], rows: Iterable[Any], *, ids: Iterable[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test function once for each row, as one test; written like `parametrize`.

    A row is the value of the one name, or a sequence with a value for each name. `ids` are names
    for rows whose values do not tell them apart. Two tables above each other multiply.
    """
    columns = [names] if isinstance(names, str) else list(names)
    values = [(row,) if isinstance(names, str) else tuple(row) for row in rows]
    labels = list(ids) if ids is not None else [None] * len(values)
    assert values, "a test without a case cannot fail"
    assert len(labels) == len(values)
    named = [dict(zip(columns, row, strict=True)) for row in values]
    table = _table((label or _describe(row), row) for label, row in zip(labels, named, strict=True))

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        inner: CaseTable | None = getattr(test, "case_table", None)
        if inner is None:
            return _run_cases(CaseTable(test, table))
        product = _table(
            (f"{outer_name}, {inner_name}", outer_row | inner_row)
            for outer_name, outer_row in table.items()
            for inner_name, inner_row in inner.rows.items()
        )
        return _run_cases(CaseTable(inner.test, product))

    return decorate


def _run_cases(table: CaseTable) -> Callable[..., None]:
    signature = inspect.signature(table.test)
    columns = set(next(iter(table.rows.values())))
    fixtures = [one for name, one in signature.parameters.items() if name not in columns]

    @functools.wraps(table.test)
    def run(**given: Any) -> None:
        request: pytest.FixtureRequest | None = given.pop(CASE, None)
        chosen: str | None = getattr(request, "param", None)
        if chosen is not None:
            table.test(**given, **table.rows[chosen])
            return
        try:
            with each_case() as case:
                for name, row in table.rows.items():
                    with case(name):
                        table.test(**given, **row)
        except BaseExceptionGroup as group:
            if request is not None:
                failed = [_id_of(name) for name in getattr(group, "case_names", [])]
                request.node.user_properties.append((FAILED_CASES, failed))
            raise

    row = inspect.Parameter(CASE, inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = signature.replace(parameters=[*fixtures, row])  # type: ignore[attr-defined]
    run.case_table = table  # type: ignore[attr-defined]
    return run


def _table(rows: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The rows by their names; a name whose id is taken gets a number."""
    table: dict[str, dict[str, Any]] = {}
    taken: set[str] = set()
    for name, row in rows:
        numbered = (f"{name} #{number}" for number in itertools.count(2))
        unique = next(one for one in itertools.chain([name], numbered) if _id_of(one) not in taken)
        taken.add(_id_of(unique))
        table[unique] = row
    return table


def _id_of(name: str) -> str:
    return re.sub(r"[^\x20-\x7e]|\\", "_", name)


def _describe(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_shorten(value)}" for name, value in values.items())


def _shorten(value: object) -> str:
    try:
        return _SHORT.repr(value)
    except ValueError:  # an integer with too many digits
        return f"<{type(value).__name__}>"
