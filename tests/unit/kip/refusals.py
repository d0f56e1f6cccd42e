"""Helpers for tests of refused commands."""

import pytest

from mycel.errors import InvalidIdentifier, InvalidSyntax, MycelError, ResourceExhausted
from mycel.kip import parse


def refusal(text: str) -> MycelError:
    """The error that parsing raises."""
    with pytest.raises((InvalidSyntax, InvalidIdentifier, ResourceExhausted)) as caught:
        parse(text)
    return caught.value


def marked(text: str) -> str:
    """The text above the carets of the error."""
    line, carets = refusal(text).data["excerpt"].split("\n")
    return str(line[carets.index("^") : carets.rindex("^") + 1])


def with_value(value: str) -> str:
    """A command with a JSON value in it."""
    return f'UPSERT {{ CONCEPT {{ {{type: "T", name: "n"}} SET ATTRIBUTES {{k: {value}}} }} }}'


def where(clauses: str) -> str:
    """A command with these clauses."""
    return f"FIND(?x) WHERE {{ {clauses} }}"


def filtered(condition: str) -> str:
    """A command with this condition."""
    return where(f'?x {{type: "T"}} FILTER({condition})')
