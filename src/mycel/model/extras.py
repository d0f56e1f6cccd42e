"""Packages that Mycel uses where they are installed: extras, imported when first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mycel.errors import NotFound


def extra(module: str, name: str) -> Any:
    """A module of the extra `mycel[name]`.

    Raises:
        NotFound: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise NotFound(
            f"This needs {module}, which is not installed.",
            hint=f"Install it with `pip install 'mycel[{name}]'`.",
        ) from None
