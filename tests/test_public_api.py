"""What the package promises: the names in `__all__` of its public modules."""

import importlib
import importlib.util
import inspect
from functools import cached_property
from pathlib import Path

from tests.cases import cases

PUBLIC_MODULES = ("mycel", "mycel.errors", "mycel.kip", "mycel.schema", "mycel.testing")
PINNED = Path(__file__).parent / "public_api.txt"
HEADER = """\
# Every public name. Checked by tests/test_public_api.py; to rewrite it:
#     pytest tests/test_public_api.py --update-golden
"""


def public_names() -> list[str]:
    names = []
    for module_name in PUBLIC_MODULES:
        if importlib.util.find_spec(module_name) is not None:
            module = importlib.import_module(module_name)
            names += [f"{module_name}.{name}" for name in module.__all__]
    return sorted(names)


def pinned_names() -> list[str]:
    lines = PINNED.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def resolve(public_name: str) -> object:
    module_name, _, name = public_name.rpartition(".")
    return getattr(importlib.import_module(module_name), name)


def test_the_public_names_are_the_pinned_ones(update_golden: bool) -> None:
    actual = public_names()
    if update_golden:
        PINNED.write_text(HEADER + "".join(f"{name}\n" for name in actual), encoding="utf-8")
    pinned = pinned_names()
    assert actual == pinned, (
        "The public API changed.\n"
        f"  new:  {sorted(set(actual) - set(pinned))}\n"
        f"  gone: {sorted(set(pinned) - set(actual))}\n"
        "If that is meant, run `pytest tests/test_public_api.py --update-golden`, "
        "review the diff of tests/public_api.txt, and say it in CHANGELOG.md."
    )


@cases("public_name", public_names())
def test_every_public_name_exists_and_classes_and_functions_have_docstrings(
    public_name: str,
) -> None:
    value = resolve(public_name)
    if inspect.isclass(value) or inspect.isroutine(value):
        # Not inspect.getdoc: an inherited docstring says nothing about this class.
        assert value.__doc__, f"{public_name} has no docstring"


def test_the_docstring_of_a_graph_names_each_of_its_parts() -> None:
    graph = inspect.getdoc(resolve("mycel.Graph")) or ""
    parts = [
        name
        for name, value in vars(resolve("mycel.Graph")).items()
        if isinstance(value, cached_property) and not name.startswith("_")
    ]
    assert "queries" in parts
    assert [name for name in parts if f"db.{name}" not in graph] == ["engine"]  # Of other packages.
