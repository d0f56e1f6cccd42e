"""Edited schema files of a mirror, as a schema to apply.

Each file declares one type. The schema that is applied is the one in force, with the declarations
of the files that were edited. If the graph has changed a declaration too, it is not merged here: a
person decides. `Schema.apply` checks the schema and the data, as for any other schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mycel.api.graph import Graph
from mycel.errors import ConstraintViolation, MycelError, SchemaError
from mycel.migration.consent import refuse_removals
from mycel.mirror.front_matter import FrontMatterProblem
from mycel.mirror.projection import Projection
from mycel.model.names import first_few
from mycel.schema.parser import parse
from mycel.schema.steps import UnsupportedChange

STEPS_SHOWN = 10


class EditedDeclaration(NamedTuple):
    """A schema file that differs from the base; a content is None if the file does not exist."""

    path: str
    base: bytes | None
    theirs: bytes | None


class DesiredSchema(NamedTuple):
    """The schema of the edited files."""

    text: str
    paths: tuple[str, ...]
    """The files whose declarations differ from those in force."""


def desired_schema(
    stored: Mapping[str, bytes],
    edited: Sequence[EditedDeclaration],
    problems: list[FrontMatterProblem],
) -> DesiredSchema | None:
    """The schema of the edited files; None if it equals the one in force.

    `stored` are the files of the schema in force. A file that cannot be read, or a declaration that
    was changed in the graph too, is added to the problems.
    """
    declarations = dict(stored)
    changed = []
    for path, base, theirs in edited:
        ours = stored.get(path)
        if theirs in (base, ours):
            continue
        if ours != base:
            problems.append(
                FrontMatterProblem(
                    path, 0, "the graph has changed this declaration too; make one of both"
                )
            )
        elif theirs is None:
            del declarations[path]
            changed.append(path)
        elif (problem := _unreadable(path, theirs)) is not None:
            problems.append(problem)
        else:
            declarations[path] = theirs
            changed.append(path)
    if not changed:
        return None
    return DesiredSchema(
        "\n".join(declaration.decode() for declaration in declarations.values()), tuple(changed)
    )


def stored_declarations(graph: Graph) -> dict[str, bytes]:
    """The files of the schema in force, by path."""
    with graph.reading() as reader:
        return {
            declaration.path: declaration.content
            for declaration in Projection(reader).declarations()
        }


def _unreadable(path: str, content: bytes) -> FrontMatterProblem | None:
    try:
        parse(content.decode())
    except UnicodeDecodeError:
        return FrontMatterProblem(path, 0, "it is not UTF-8")
    except MycelError as error:
        return FrontMatterProblem(path, 0, error.message)
    return None


def apply_schema(
    graph: Graph,
    desired: DesiredSchema,
    *,
    allow_removals: bool,
    actor: str | None,
    message: str,
    dry_run: bool,
) -> None:
    """Apply a schema of edited files, or only check that it can be applied.

    Raises:
        ConstraintViolation: the schema cannot be applied; nothing was changed.
    """
    try:
        if dry_run:
            plan = graph.schema.plan(desired.text)
            is_possible, steps = plan.supported, plan.changes
            if is_possible and not allow_removals:
                with graph.reading() as reader:
                    refuse_removals(reader, plan)
        else:
            result = graph.schema.apply(
                desired.text, allow_removals=allow_removals, actor=actor, message=message
            )
            is_possible, steps = result.applied or not result.changes, result.changes
    except SchemaError as error:
        raise _refusal(desired, error.message) from error
    if not is_possible:
        reasons = [step.describe() for step in steps if isinstance(step, UnsupportedChange)]
        reasons = reasons or [step.describe() for step in steps]
        raise _refusal(desired, "\n  ".join(first_few(reasons, STEPS_SHOWN)))


def _refusal(desired: DesiredSchema, reason: str) -> ConstraintViolation:
    return ConstraintViolation(
        f"The schema of {', '.join(desired.paths[:STEPS_SHOWN])} cannot be applied, so nothing was"
        f" imported:\n  {reason}",
        hint="`mycel schema show` prints the schema in force. Apply a schema that decides it with"
        " `mycel schema apply`, or correct the files; then import again. Files of types that"
        " shall go need --allow-deletions.",
        data={"paths": list(desired.paths)},
    )
