"""`mycel status`: the graph that commands use here, and its state."""

from __future__ import annotations

import rich_click as click

from mycel.cli.commands.databases import size_text
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.model.commits import short, with_short_hashes
from mycel.model.times import to_text


@click.command(cls=Command)
@pass_session
def status(session: Invocation) -> None:
    """Show which graph is used here, its branch, size and last change, and who writes."""
    from mycel.mirror import settings
    from mycel.store.file.workspace_databases import companion
    from mycel.store.query import summary

    place = session.branch_place()
    is_file = place.url is None
    with session.open(reading=True) as db:
        with db.reading() as reader:
            concepts, links = summary.totals(reader)
            lag_s = reader.replica_lag_s()
        last = next(iter(db.history.log(limit=1)), None)
        merges = len(db.merges)
        branch = db.branch
        has_mirror = settings.has_mirror(db.path)
        mirror = str(settings.read(companion(db.path)).folder) if has_mirror else None
    wire: dict[str, object] = {
        "graph": str(place.path.absolute()) if is_file else place.url,
        "workspace": place.workspace,
        "chosen_by": place.chosen_by,
        "folder": None if place.folder is None else str(place.folder),
        "branch": branch,
        "size_bytes": place.path.stat().st_size if is_file else None,
        "concepts": concepts,
        "links": links,
        "last_change": None if last is None else last.to_dict(),
        "actor": session.actor(),
        "open_merges": merges,
        "mirror": mirror,
        "replica_lag_s": None if lag_s is None else round(lag_s, 3),
    }
    fields = dict(wire)
    fields["size"] = size_text(place.path) if is_file else None
    del fields["size_bytes"]
    if last is not None:
        who = f"{to_text(last.time_us)} {last.actor}"
        fields["last_change"] = f"{short(last.commit)} {who}: {with_short_hashes(last.message)}"
    fields["open_merges"] = merges or None
    session.out.fields(((key.replace("_", " "), value) for key, value in fields.items()), wire)
