"""`mycel init`: a new database, where the options say."""

from __future__ import annotations

import rich_click as click

from mycel.cli.context import Command, Session, pass_session


@click.command(cls=Command)
@pass_session
def init(session: Session) -> None:
    """Create the database; one that is there stays as it is."""
    # Late: see the package's docstring.
    import mycel

    place = session.place()
    if place.is_default:
        # What an agent remembers is nobody else's business.
        place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    existed = place.path.exists() and place.path.stat().st_size > 0
    with mycel.open(place.path) as db:
        entries = db.snapshot().entries
    path = str(place.path.absolute())
    session.out.say(
        f"There is a database already: {path}" if existed else f"Created {path}",
        {"path": path, "workspace": place.workspace, "created": not existed, "entries": entries},
    )
