"""`mycel token`: the tokens of a server of many workspaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import rich_click as click

from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.model import times

if TYPE_CHECKING:
    from mycel.sharing.tokens import TokenBook, TokenInfo

_LASTS: Final = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_UNITS: Final = {"h": 3600, "d": 86_400, "w": 604_800}

folder_option = click.option(
    "--workspaces",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The folder of the workspaces, as for `mycel serve`; by default the current one",
)


@click.group(cls=Group)
def token() -> None:
    """Make, list and revoke the tokens of `mycel serve --workspaces`.

    They are kept in DIR/server.db, as hashes. A server that runs knows changes at once.
    """


@contextmanager
def _tokens(folder: Path) -> Iterator[TokenBook]:
    from mycel.sharing.tokens import TokenBook
    from mycel.sharing.workspace_folder import WorkspaceFolder
    from mycel.store.log.server_records import ServerRecords

    with closing(ServerRecords(WorkspaceFolder(folder).records)) as records:
        yield TokenBook(records)


def _seconds(_ctx: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    if text is None or text == "never":
        return None
    match = _LASTS.fullmatch(text)
    if match is None:
        raise click.BadParameter("give hours, days or weeks: 12h, 30d, 52w, or never")
    return int(match[1]) * _UNITS[match[2]]


@token.command("create", cls=Command)
@click.argument("name", help="Who writes with it: the author of every change")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="ACTION:PATH[@BRANCH]",
    help="A right of the token: `read:/**`, `write:/infra/**@main`; by default it may read and"
    " propose",
)
@click.option(
    "--for",
    "names",
    multiple=True,
    metavar="WORKSPACE",
    help="A workspace that it is for; by default all of them",
)
@click.option(
    "--expires",
    "lasts_s",
    default="90d",
    callback=_seconds,
    metavar="TIME",
    help="After hours, days or weeks: 12h, 30d, 52w; or never",
)
@click.option("--note", default="", metavar="TEXT", help="The reason for it, for the list")
@click.option(
    "--rate",
    default=0,
    type=click.IntRange(0, 1_000_000),
    metavar="N",
    help="How many requests it may send in a minute; 0 for no limit",
)
@click.option(
    "--body-bytes",
    default=0,
    type=click.IntRange(0, 1 << 30),
    metavar="N",
    help="How large a request may be; 0 for the limit of the server",
)
@folder_option
@pass_session
def create(
    session: Invocation,
    name: str,
    *,
    scopes: tuple[str, ...],
    names: tuple[str, ...],
    lasts_s: int | None,
    note: str,
    rate: int,
    body_bytes: int,
    folder: Path,
) -> None:
    """Make a token. It is shown once, and cannot be shown again."""
    with _tokens(folder) as tokens:
        text, info = tokens.create(
            name,
            scopes or ("read:/**", "propose:/**"),
            workspaces=names or None,
            note=note,
            lasts_s=lasts_s,
            requests_per_minute=rate,
            body_bytes_max=body_bytes,
        )
    for absent in _absent_workspaces(folder, info):
        session.out.note(
            f"{folder} has no workspace {absent!r}: the token opens it once it is there."
            " Workspaces of --database are not looked for."
        )
    session.out.say(text, {"token": text} | info.to_dict())


def _absent_workspaces(folder: Path, info: TokenInfo) -> list[str]:
    """The workspaces that a token names and that the folder does not have."""
    from mycel.sharing.scopes import parse_scopes
    from mycel.sharing.workspace_folder import WorkspaceFolder

    workspaces = {rule.workspace for rule in parse_scopes(info.scopes) if rule.workspace}
    return sorted((workspaces | set(info.workspaces or ())) - set(WorkspaceFolder(folder).names()))


@token.command("list", cls=Command)
@folder_option
@pass_session
def list_(session: Invocation, *, folder: Path) -> None:
    """List the tokens, without their secrets."""
    with _tokens(folder) as tokens:
        infos = tokens.tokens()
    session.out.list(
        infos,
        ("id", "actor", "scopes", "workspaces", "expires", "last use", "revoked", "note"),
        lambda info: (
            info.id,
            info.actor,
            ", ".join(info.scopes),
            "all" if info.workspaces is None else ", ".join(info.workspaces),
            "never" if info.expires is None else times.to_text(info.expires),
            "" if info.last_use is None else times.to_text(info.last_use),
            "" if info.revoked is None else times.to_text(info.revoked),
            info.note,
        ),
        _as_dict,
    )


def _as_dict(info: TokenInfo) -> dict[str, object]:
    return info.to_dict()


@token.command("revoke", cls=Command)
@click.argument("id", help="The id, from `mycel token list`")
@folder_option
@pass_session
def revoke(session: Invocation, id: str, *, folder: Path) -> None:  # noqa: A002 - the word for it
    """Make a token invalid, at once and for good."""
    with _tokens(folder) as tokens:
        info = tokens.revoke(id)
    session.out.say(f"Revoked {info.id} of {info.actor}.", info.to_dict())


@token.command("rotate", cls=Command)
@click.argument("id", help="The id, from `mycel token list`")
@folder_option
@pass_session
def rotate(session: Invocation, id: str, *, folder: Path) -> None:  # noqa: A002 - the word for it
    """Give a token another secret, which is shown once. The old secret is invalid from then on."""
    with _tokens(folder) as tokens:
        text, info = tokens.rotate(id)
    session.out.say(text, {"token": text} | info.to_dict())
