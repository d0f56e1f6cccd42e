"""The program in whose name a server writes: part of the actor in the journal.

A server writes as its own actor, by default `$self`. Programs that call it say who they are: an MCP
client in its `clientInfo`, others in a header. Their writes have the actor `$self:NAME/VERSION`.
The prefix prevents a program from posing as another actor, because its name is not checked.

An import writes words of others, so its actor names the source: `Ada:import obsidian`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

SEPARATOR: Final = ":"
"""The separator between an actor and the program that writes for it."""

_NAME_MAX: Final = 64
_VERSION_MAX: Final = 32
_ODD: Final = re.compile(r"[^A-Za-z0-9._+@ -]+")
_IMPORT: Final = f"{SEPARATOR}import "
_current: ContextVar[str] = ContextVar("mycel_client", default="")
_source: ContextVar[str] = ContextVar("mycel_import_source", default="")
current = _current.get
"""Returns the name of the program that this thread works for; empty if none is known."""


@contextmanager
def working_for(name: str) -> Iterator[None]:
    """Let this block write for a program; an empty name changes nothing."""
    token = _current.set(name or _current.get())
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def importing(source: str) -> Iterator[None]:
    """Mark what this block writes as imported from a source."""
    token = _source.set(source)
    try:
        yield
    finally:
        _source.reset(token)


def mark_import(actor: str) -> str:
    """The actor of a write: inside of `importing`, with the source."""
    source = _source.get()
    return f"{actor}{_IMPORT}{source}" if source else actor


def import_source_of(actor: str) -> str:
    """The source in the name of an actor of an import; empty for any other actor.

    >>> import_source_of("Ada:import obsidian"), import_source_of("Ada")
    ('obsidian', '')
    """
    return actor.partition(_IMPORT)[2]


def client_name(name: object, version: object = None) -> str:
    r"""The name of a program with its version, without unusual characters; empty for no name.

    >>> client_name("claude-code", "2.1.0"), client_name("a\nb/c"), client_name(None)
    ('claude-code/2.1.0', 'a_b_c', '')
    """
    called, is_of = _plain(name, _NAME_MAX), _plain(version, _VERSION_MAX)
    return f"{called}/{is_of}" if called and is_of else called


def _plain(text: object, size: int) -> str:
    return _ODD.sub("_", text.strip()[:size]) if isinstance(text, str) else ""
