"""`mycel retention`: for how long elements are kept."""

from __future__ import annotations

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.labels import labels
from mycel.cli.console.parameters import ELEMENT, resolve
from mycel.model.names import count


@click.command(cls=Command)
@click.argument(
    "rule",
    required=False,
    metavar="[RULE]",
    help='"archive 90d after updated unless linked", or never; without it all rules are shown',
)
@click.argument("element", required=False, metavar=f"[{ELEMENT}]", help="One element")
@click.option("--type", "type_name", metavar="NAME", help="All concepts of this type")
@click.option("--predicate", metavar="NAME", help="All edges of this predicate")
@click.option("--dry-run", is_flag=True, help="Only say how many elements would be due at once.")
@pass_session
def retention(
    session: Invocation,
    rule: str | None,
    element: str | None,
    type_name: str | None,
    predicate: str | None,
    dry_run: bool,
) -> None:
    """Set how long elements are kept and what happens then; or show the rules.

    A rule is: archive, delete, purge or ask; a time such as 12h, 90d, 8w or 2y; after created,
    updated, last_used or expires_at; and, if wanted, unless linked (something links to it; its own
    links do not count), used or both. A rule of an element overrides the rule of its type. `mycel
    sleep` acts on the rules. archive hides elements until they are restored; delete removes them,
    and history keeps them; purge leaves nothing but hashes, for good. For an element whose own rule
    says purge, `mycel sleep` only asks.
    """
    targets = [target for target in (element, type_name, predicate) if target is not None]
    if rule is None:
        if targets:
            raise click.UsageError("Say the rule first: mycel retention RULE --type NAME")
        _show_rules(session)
        return
    if len(targets) != 1:
        raise click.UsageError("A rule is for one target: --type, --predicate, or an element.")
    if dry_run:
        kind = "CONCEPT" if type_name else "PROPOSITION"
        target = f"{kind} TYPE :target" if element is None else "?x WHERE { ?x {id: :target} }"
        with session.open(reading=True) as db:
            name = targets[0] if element is None else resolve(db, element, at_home=True)
            command = f"SET RETENTION :rule FOR {target}"
            due = db.execute(command, rule=rule, target=name, dry_run=True).value["would"]["due"]
        session.out.say(f"{count(due, 'element')} would be due at once.", {"due": due})
        return
    with session.open() as db:
        ref = None if element is None else resolve(db, element, at_home=True)
        is_new = db.upkeep.set_retention(rule, type=type_name, predicate=predicate, ref=ref)
    message = f"Retention of {targets[0]}: {rule}." if is_new else "Nothing changed."
    session.out.say(message, {"target": targets[0], "rule": rule, "changed": is_new})


def _show_rules(session: Invocation) -> None:
    with session.open(reading=True) as db:
        rules = db.upkeep.retention_rules()
        label = labels(db)
        session.out.list(
            rules,
            ("kind", "target", "rule"),
            lambda row: (
                row.kind,
                label(row.target) if row.kind == "element" else row.target,
                row.words,
            ),
            lambda row: row._asdict(),
            empty="No type and no element has a rule.",
        )
