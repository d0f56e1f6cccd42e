"""Scopes: the rights of a token, each at a path.

    ACTION:PATH[@BRANCH]

    read:/**                    everything in every workspace of the token, on every branch
    write:/infra/**@main        concept://WORKSPACE/infra and what is below it, on main
    propose://shop/**           everything in the workspace shop
    read:file://shop/src/**     files of a workspace
    read:kip:Person/**          concepts of KIP whose name is no URI, by type
    admin:/**                   tokens, workspaces, the audit log, and everything else

A path with `/**` at the end covers the path itself and everything below it; without it, it covers
one node. A path is brought into the normal form of URIs before it is compared, so `..`, percent
signs and extra slashes give no further access. Each action includes the actions before it in
`ACTIONS`, at the same path. Paths are compared with the names of elements, never with their
content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, get_args

from mycel.errors import AccessDenied, ConstraintViolation, InvalidId, MycelError
from mycel.knowledge.uris import check_workspace, parse
from mycel.model.names import shorten
from mycel.model.permission import Action
from mycel.store.file.branch_files import check_name

ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
"""The actions; each includes the ones before it."""
SCOPES_MAX: Final = 32
EVERYTHING: Final = "/**"

_BELOW: Final = "/**"
_FORM: Final = re.compile(rf"({'|'.join(ACTIONS)}):([^\s@]+)(?:@(\S+))?")
_HINT: Final = "For example `read:/**`, `write:/infra/**@main` or `propose://shop/docs/**`."
_ANY: Final = "any"
"""A stand-in for the workspace of a request."""


class Pattern(NamedTuple):
    """The elements that a scope covers in one workspace."""

    uri: str
    """The URI of a node in its normal form; empty for all elements."""
    is_below: bool
    """True if the elements below the URI are covered too."""

    def covers(self, uri: str) -> bool:
        """True if an element with this URI, in its normal form, is covered."""
        if not self.uri:
            return True
        return uri == self.uri or (self.is_below and uri.startswith(f"{self.uri}/"))

    def __str__(self) -> str:
        return (self.uri or "") + (_BELOW if self.is_below else "")


ALL: Final = Pattern("", is_below=True)


@dataclass(frozen=True, slots=True)
class ScopeRule:
    action: Action
    path: str
    """The path as it was given, without the workspace."""
    workspace: str | None
    """The workspace; None for each workspace of the token."""
    branch: str | None
    """The branch; None for every branch."""

    def __str__(self) -> str:
        where = f"//{self.workspace}" if self.workspace else ""
        branch = f"@{self.branch}" if self.branch else ""
        return f"{self.action}:{where}{self.path}{branch}"

    def pattern(self, workspace: str) -> Pattern:
        """The elements that the scope covers in a workspace."""
        return _pattern(self.path, workspace)

    def allows(self, action: Action) -> bool:
        return ACTIONS.index(self.action) >= ACTIONS.index(action)


def parse_scope(text: str) -> ScopeRule:
    """Read a scope.

    Raises:
        ConstraintViolation: the text is no scope.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ConstraintViolation(f"{shorten(repr(text))} is no scope.", hint=_HINT)
    action, path, branch = match[1], match[2], match[3]
    try:
        workspace = None
        if path.startswith("//"):
            name, slash, rest = path[2:].partition("/")
            workspace, path = check_workspace(name), slash + rest
        if branch is not None:
            check_name(branch)
        _pattern(path, workspace or _ANY)
    except MycelError as error:
        raise ConstraintViolation(
            f"{shorten(repr(text))} is no scope: {error.message}", hint=_HINT
        ) from None
    return ScopeRule(_action(action), path, workspace, branch)


def parse_scopes(texts: Iterable[str]) -> tuple[ScopeRule, ...]:
    """Read all scopes of a token.

    Raises:
        ConstraintViolation: there are no scopes or too many, or a scope is wrong.
    """
    scopes = tuple(dict.fromkeys(map(parse_scope, texts)))
    if not scopes or len(scopes) > SCOPES_MAX:
        raise ConstraintViolation(f"A token has 1 to {SCOPES_MAX} scopes.", hint=_HINT)
    return scopes


def _action(text: str) -> Action:
    return next(action for action in ACTIONS if action == text)


def _pattern(path: str, workspace: str) -> Pattern:
    if path == EVERYTHING:
        return ALL
    is_below = path.endswith(_BELOW)
    name = path.removesuffix(_BELOW)
    if "*" in name:
        raise InvalidId("`*` stands at the end only, as `/**`.", hint="Such as `write:/infra/**`.")
    if not path.startswith("/"):
        if is_below and re.fullmatch(r"kip:[^/]+", name):
            return Pattern(name, is_below=True)  # The path is a type of KIP, and no node.
        uri = parse(name, workspace)
        if uri.is_bare:
            raise InvalidId("A path begins with a slash.", hint="Such as `write:/infra/**`.")
        return Pattern(uri.text, is_below)
    uri = parse(f"concept://{workspace}{name}", workspace)
    if uri.text == f"concept://{workspace}":
        raise InvalidId(
            "A path names something below the workspace; `/**` is all of it.",
            hint="Such as `write:/infra/**`.",
        )
    return Pattern(uri.text, is_below)


def _contains(pattern: Pattern, other: Pattern) -> bool:
    """True if a pattern covers everything that another one covers."""
    return pattern == ALL or (
        bool(other.uri) and pattern.covers(other.uri) and (pattern.is_below or not other.is_below)
    )


@dataclass(frozen=True, slots=True)
class WorkspaceAccess:
    """The rights of one caller on one workspace. It is the `Permission` of its requests."""

    actor: str
    workspace: str
    scopes: tuple[ScopeRule, ...]
    """The scopes that concern the workspace."""

    def patterns(self, action: Action, branch: str) -> tuple[Pattern, ...]:
        """The elements for which an action is allowed on a branch; empty for none."""
        patterns = dict.fromkeys(
            scope.pattern(self.workspace)
            for scope in self.scopes
            if scope.allows(action) and scope.branch in (None, branch)
        )
        return (ALL,) if ALL in patterns else tuple(patterns)

    def allows(self, action: Action, branch: str) -> bool:
        """True if an action is allowed on any element of a branch."""
        return any(scope.allows(action) and scope.branch in (None, branch) for scope in self.scopes)

    def may_ever(self, action: Action) -> bool:
        """True if an action is allowed on any element of any branch."""
        return any(scope.allows(action) for scope in self.scopes)

    @property
    def reads_everything(self) -> bool:
        """True if the caller may read every element of each branch that it may see."""
        return all(
            self.patterns("read", branch) in ((), (ALL,))
            for branch in {scope.branch or "" for scope in self.scopes}
        )

    def covers_for(self, action: Action, branch: str, uri: str) -> bool:
        """True if an action is allowed for the element of a URI on a branch."""
        return any(pattern.covers(uri) for pattern in self.patterns(action, branch))

    def narrowed(self, path: str) -> WorkspaceAccess:
        """The same rights, limited to a path.

        Raises:
            ConstraintViolation: the text is no path.
            AccessDenied: the caller may read nothing below the path.
        """
        try:
            part = _pattern(path, self.workspace)
        except MycelError as error:
            raise ConstraintViolation(
                f"{shorten(repr(path))} is no path: {error.message}", hint=_HINT
            ) from None
        scopes = []
        for scope in self.scopes:
            own = scope.pattern(self.workspace)
            if _contains(own, part):
                scopes.append(replace(scope, path=str(part)))
            elif _contains(part, own):
                scopes.append(scope)
        if not any(scope.allows("read") for scope in scopes):
            raise AccessDenied("The token may not read this path.", hint="Ask for a wider scope.")
        return replace(self, scopes=tuple(scopes))

    # Methods of `Permission`, for the layers below.

    def sees_branch(self, name: str) -> bool:
        return self.allows("read", name)

    def may_write(self, branch: str) -> bool:
        return self.allows("write", branch)

    def covers(self, branch: str, uri: str) -> bool:
        return self.covers_for("write", branch, uri)

    def is_limited(self, branch: str) -> bool:
        return self.patterns("write", branch) != (ALL,)

    def reads_all(self, branch: str) -> bool:
        return self.patterns("read", branch) == (ALL,)


@dataclass(frozen=True, slots=True)
class Grant:
    """The actor of a token, and all its rights on the server."""

    actor: str
    token: str
    """The id of the token; empty for the token with which the server was started."""
    scopes: tuple[ScopeRule, ...]
    workspaces: frozenset[str] | None = None
    """The workspaces that the token is for; None for all."""
    requests_per_minute: int = 0
    """The limit of requests per minute; 0 for no limit."""
    body_bytes_max: int = 0

    def access(self, workspace: str) -> WorkspaceAccess | None:
        """The rights on a workspace; None if there are none."""
        if self.workspaces is not None and workspace not in self.workspaces:
            return None
        scopes = tuple(scope for scope in self.scopes if scope.workspace in (None, workspace))
        return WorkspaceAccess(self.actor, workspace, scopes) if scopes else None

    @property
    def is_admin(self) -> bool:
        """True if the token may administer the whole server."""
        return self.workspaces is None and any(
            scope.action == "admin"
            and scope.path == EVERYTHING
            and scope.workspace is None
            and scope.branch is None
            for scope in self.scopes
        )


def everything(actor: str) -> Grant:
    """A grant without limits."""
    return Grant(actor, "", (ScopeRule("admin", EVERYTHING, None, None),))


def readable_text(patterns: Sequence[Pattern]) -> list[str]:
    return [str(pattern) for pattern in patterns]
