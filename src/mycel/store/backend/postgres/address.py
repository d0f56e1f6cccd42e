"""The URL of a graph: `postgresql://user@host:port/database?workspace=shop&branch=draft`.

All other parameters are libpq's. A URL is shown, logged and kept in histories, so it must not have
a password: libpq reads one from `PGPASSWORD`, `~/.pgpass` or a service file.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from mycel.errors import InvalidIdentifier, NotADatabase
from mycel.store.file import branch_files

WORKSPACE_CHARACTERS_MAX: Final = 32
BRANCH_CHARACTERS_MAX: Final = 24
"""The limit keeps the whole name of the schema within 63 bytes."""

_NAME: Final = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{WORKSPACE_CHARACTERS_MAX - 1}}}", re.ASCII)
PREFIX: Final = "mycel_"

_SECRETS: Final = frozenset({"password", "sslpassword"})
"""libpq's parameters that hold a secret."""
_NO_PORT: Final = re.compile(r":(?!\d*+(?:[/?#,]|$))")


class Address(NamedTuple):
    """A graph in a PostgreSQL database."""

    url: str
    """The URL for libpq, without the parameters of Mycel."""
    workspace: str
    branch: str

    @property
    def schema(self) -> str:
        """The schema that holds the graph."""
        ending = "" if self.branch == "main" else f"@{self.branch}"
        return f"{PREFIX}{self.workspace}{ending}"

    def on_branch(self, branch: str) -> Address:
        """The address of another branch of the workspace."""
        return self._replace(branch=branch)

    def __str__(self) -> str:
        own = {"workspace": self.workspace}
        if self.branch != "main":
            own["branch"] = self.branch
        return f"{self.url}{'&' if '?' in self.url else '?'}{urlencode(own)}"


def checked_branch(name: str) -> str:
    """A name of a branch, after checks.

    Raises:
        InvalidIdentifier: no branch in PostgreSQL can have this name.
    """
    if len(branch_files.check_name(name)) > BRANCH_CHARACTERS_MAX:
        raise InvalidIdentifier(
            f"{name!r} cannot name a branch in PostgreSQL.",
            hint=f"Use up to {BRANCH_CHARACTERS_MAX} characters.",
        )
    return name


def _has_bare_password(text: str) -> bool:
    """True for a user followed by a colon and something other than a port.

    Libraries for URLs read a password with `/`, `?` or `#` in it as a port and a path.
    """
    rest = text.partition("://")[2]
    begin = re.match(r"[^/?#@]*+.?", rest, re.DOTALL)
    return begin is not None and "@" in rest and _NO_PORT.search(begin[0]) is not None


def parse_address(text: str) -> Address:
    """The address in a URL.

    Raises:
        NotADatabase: the text is no such URL, or has a password.
        InvalidIdentifier: a workspace or branch cannot have this name.
    """
    try:
        parts = urlsplit(text)
        password, own = parts.password, dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError as error:
        raise NotADatabase(
            f"The URL of the database cannot be read ({error}).",
            hint="A URL is postgresql://USER@HOST/DATABASE?workspace=NAME.",
        ) from None
    if password is not None or not _SECRETS.isdisjoint(own) or _has_bare_password(text):
        raise NotADatabase(
            "The URL of the database has a password in it, which would be shown and logged.",
            hint="Leave it out of the URL, and set PGPASSWORD, or write it to ~/.pgpass.",
        )
    workspace, branch = own.pop("workspace", ""), own.pop("branch", "main")
    if not workspace:
        raise NotADatabase(
            "The URL of the database names no workspace.",
            hint=f"Add one at its end: {text}{'&' if parts.query else '?'}workspace=NAME",
        )
    if not _NAME.fullmatch(workspace):
        raise InvalidIdentifier(
            f"{workspace!r} cannot name a workspace in PostgreSQL.",
            hint=f"Use up to {WORKSPACE_CHARACTERS_MAX} of a-z, 0-9, '_' and '-', with a letter or"
            " digit first.",
        )
    checked_branch(branch)
    host = f"{quote(unquote(parts.username))}@" if parts.username else ""
    bare = parts.netloc.rpartition("@")[2]
    query = urlencode(own, quote_via=quote, safe="/")
    url = urlunsplit(("postgresql", host + bare, parts.path or "/", query, ""))
    if not parts.netloc:
        url = url.replace("postgresql:", "postgresql://", 1) if ":///" not in url else url
    return Address(url, workspace, branch)
