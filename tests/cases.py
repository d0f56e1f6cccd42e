"""Many cases in one test: all of them run, and a failure names each case that failed.

`parametrize` makes a test of each case, and every test costs a millisecond or two in collection,
fixtures and reports, in each worker. It is right for a few cases, and where each needs fixtures of
its own. A table of many small cases is one test: `cases` runs a function for each row, `each_case`
is the same for a loop that is written out.

The cases of one test share its fixtures, so a case must not change what the next one needs.
"""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 120


@contextmanager
def each_case() -> Iterator[Callable[[object], AbstractContextManager[None]]]:
    """Gives `case`: what fails inside of `with case(name)` is raised when all cases have run."""
    failed: list[tuple[str, BaseException]] = []

    @contextmanager
    def case(name: object) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 (raised below)
            failed.append((str(name), error))

    yield case
    if failed:
        told = "\n".join(f"{name}: {type(error).__name__}: {error}" for name, error in failed)
        errors = [error for _, error in failed]
        raise BaseExceptionGroup(f"{len(failed)} cases failed:\n{told}\n", errors)


def cases(
    names: str | Sequence[str], rows: Iterable[Any], *, ids: Iterable[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test function once for each row, as one test; written like `parametrize`.

    A row is the value of the one name, or a sequence with a value for each name. `ids` are names
    for rows whose values do not tell them apart.
    """
    columns = [names] if isinstance(names, str) else list(names)
    table = [(row,) if isinstance(names, str) else tuple(row) for row in rows]
    labels = list(ids) if ids is not None else [None] * len(table)
    assert table, "a test without a case cannot fail"
    assert len(labels) == len(table)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        fixtures = [one for name, one in signature.parameters.items() if name not in columns]

        @functools.wraps(test)
        def run(**given: Any) -> None:
            with each_case() as case:
                for row, label in zip(table, labels, strict=True):
                    values = dict(zip(columns, row, strict=True))
                    with case(label or _shown(values)):
                        test(**given, **values)

        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run

    return decorate


def _shown(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_short(value)}" for name, value in values.items())


def _short(value: object) -> str:
    try:
        return _SHORT.repr(value)
    except ValueError:  # an integer with too many digits
        return f"<{type(value).__name__}>"
