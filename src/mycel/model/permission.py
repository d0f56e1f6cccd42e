"""The permission of the caller for whom a thread works: the author of writes, and the rights.

A server that many people share sets the permission for each request. The layers below check it
where all doors meet: the store before it writes, and the list of branches before it returns a
branch. Without a permission everything is allowed, as for a program that has opened a file by
itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, Protocol

from mycel.errors import AccessDenied
from mycel.model.client_names import SEPARATOR
from mycel.model.client_names import current as current_client

Action = Literal["read", "propose", "write", "admin"]


class Permission(Protocol):
    """The rights of one caller on the graph of one workspace."""

    @property
    def actor(self) -> str:
        """The author of everything that the caller writes."""
        ...

    def sees_branch(self, name: str) -> bool:
        """True if the caller may read anything on a branch."""
        ...

    def may_write(self, branch: str) -> bool:
        """True if the caller may write anything on a branch."""
        ...

    def covers(self, branch: str, uri: str) -> bool:
        """True if the caller may write the element of a URI on a branch."""
        ...

    def is_limited(self, branch: str) -> bool:
        """True if there are elements on a branch that the caller may not write."""
        ...

    def reads_all(self, branch: str) -> bool:
        """True if no element of a branch is hidden from the caller."""
        ...

    def allows(self, action: Action, branch: str) -> bool:
        """True if an action is allowed on anything of a branch."""
        ...

    def covers_for(self, action: Action, branch: str, uri: str) -> bool:
        """True if an action is allowed for the element of a URI on a branch."""
        ...


class OnBehalf:
    """The rights of a caller who accepts a change of somebody else, who is its author."""

    def __init__(self, permission: Permission, actor: str) -> None:
        self._permission = permission
        self.actor = actor

    def sees_branch(self, name: str) -> bool:
        return self._permission.sees_branch(name)

    def may_write(self, branch: str) -> bool:
        return self._permission.may_write(branch)

    def covers(self, branch: str, uri: str) -> bool:
        return self._permission.covers(branch, uri)

    def is_limited(self, branch: str) -> bool:
        return self._permission.is_limited(branch)

    def reads_all(self, branch: str) -> bool:
        return self._permission.reads_all(branch)

    def allows(self, action: Action, branch: str) -> bool:
        return self._permission.allows(action, branch)

    def covers_for(self, action: Action, branch: str, uri: str) -> bool:
        return self._permission.covers_for(action, branch, uri)


_current: ContextVar[Permission | None] = ContextVar("mycel_permission", default=None)
current = _current.get
"""Returns the permission that this thread works with; None if everything is allowed."""


@contextmanager
def permitted(permission: Permission | None) -> Iterator[None]:
    """Let a block work with a permission."""
    token = _current.set(permission)
    try:
        yield
    finally:
        _current.reset(token)


def sees_branch(name: str) -> bool:
    """True if the caller for whom this thread works may see the branch."""
    permission = _current.get()
    return permission is None or permission.sees_branch(name)


def check_reads_all(branch: str, deed: str) -> None:
    """Check that nothing of a branch is hidden from the caller for whom this thread works.

    Raises:
        AccessDenied: something is hidden; the message names `deed`, which needs the whole branch.
    """
    permission = _current.get()
    if permission is not None and not permission.reads_all(branch):
        raise AccessDenied(
            f"A token that may read some paths only may not {deed}.",
            hint="A token with the scope `read:/**` is needed as well.",
        )


def author_of(actor: str, branch: str) -> str:
    """The author of a write on a branch: the actor bound to the caller, otherwise the given actor.

    Raises:
        AccessDenied: the caller may not write there.
    """
    permission = _current.get()
    if permission is None:
        return actor
    if not permission.may_write(branch):
        raise AccessDenied(
            "The token may not write here.",
            hint="Propose the change (POST submit with on_conflict: propose), or ask the"
            " administrator of the server for a token with the scope `write`.",
        )
    if isinstance(permission, OnBehalf):
        return permission.actor
    client = current_client()
    return f"{permission.actor}{SEPARATOR}{client}" if client else permission.actor
