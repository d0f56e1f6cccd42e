"""Optional packages (extras), imported when first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mycel.errors import NotFound


def install_command(names: str) -> str:
    """The command that adds extras, for hints. The package is installed from a clone."""
    return f"`pip install '.[{names}]'` or `uv tool install '.[{names}]'` in the clone of Mycel"


def extra(module: str, name: str) -> Any:
    """A module of an extra of this package.

    Raises:
        NotFound: the module is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise NotFound(
            f"This needs {module}, which is not installed.",
            hint=f"Install it with {install_command(name)}.",
        ) from None
