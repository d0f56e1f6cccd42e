"""The examples in docstrings run, and give what they show."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import tests.reference
from mycel import __file__ as package

ROOTS = (Path(package).parents[1], Path(tests.reference.__file__).parents[2])
_EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)
FOLDERS = (ROOTS[0] / "mycel", ROOTS[1] / "tests" / "reference")


def module_names() -> list[str]:
    """The modules that have an example in a docstring."""
    return sorted(
        ".".join(part for part in path.relative_to(root).with_suffix("").parts)
        for root, folder in zip(ROOTS, FOLDERS, strict=True)
        for path in folder.rglob("*.py")
        if _EXAMPLE.search(path.read_text("utf-8"))
    )


@pytest.mark.parametrize("name", module_names())
def test_examples_give_what_they_show(name: str) -> None:
    module = importlib.import_module(name.removesuffix(".__init__"))
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0
