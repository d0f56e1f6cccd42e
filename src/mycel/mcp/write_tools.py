"""The tools that write: remember, update, forget, bootstrap."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from mycel.embedding.embedder import STATIC
from mycel.errors import ConstraintViolation, EmbedderFailed, InvalidSyntax, MycelError
from mycel.knowledge.name_resolution import RESOLVED_NAMES
from mycel.knowledge.node_values import Linked, Written
from mycel.knowledge.workspace_files import path_of
from mycel.mcp import hints
from mycel.mcp.results import Answer, TextPage, answer_about, data_within
from mycel.mcp.tool_context import ToolCall
from mycel.model.extras import install_command
from mycel.model.names import count, first_few, shorten
from mycel.model.retention import RETENTION, is_never
from mycel.model.values import JsonObject

if TYPE_CHECKING:
    from pathlib import Path

    from mycel.knowledge.bootstrap import BootstrapProgress
    from mycel.knowledge.knowledge import Knowledge

CHANGES: Final = (
    "name",
    "content",
    "type",
    "append",
    "properties",
    "drop",
    "metadata",
    "expect_version",
)
VALID_UNTIL: Final = "valid_until"
STAGES: Final = ("reading", "relating", "writing", "indexing")
SHOWN: Final = 50
"""The maximum number of nodes and relations of one call that are listed."""


def remember(call: ToolCall) -> Answer:
    """Write nodes and relations: all of them, or none."""
    concepts = call.arguments.get("concepts", [])
    relations = call.arguments.get("relations", [])
    if not (concepts or relations):
        raise InvalidSyntax(
            "There is nothing to write.",
            hint='Pass concepts: [{"uri": "auth/login", "content": "…"}], or relations, or both.',
        )
    remembered = call.served.knowledge.remember(concepts, relations, message=call.message)
    page = TextPage()
    unchanged = len(remembered.nodes) + len(remembered.relations) - remembered.changed
    page.add(
        f"{remembered.created} new, {remembered.changed - remembered.created} changed,"
        f" {unchanged} unchanged."
    )
    if len(remembered.nodes) + len(remembered.relations) <= SHOWN or call.is_detailed:
        for node in remembered.nodes:
            page.add(_written(node))
        for link in remembered.relations:
            page.add(_linked(link))
    _warn(page, remembered.warnings)
    data: JsonObject = {
        "created": remembered.created,
        "changed": remembered.changed,
        "nodes": [{"uri": node.uri, "version": node.version} for node in remembered.nodes[:SHOWN]],
    }
    return Answer(str(page), data_within(_with_warnings(data, remembered.warnings)))


def update(call: ToolCall) -> Answer:
    """Change a node, move it, or both; or merge it into another one."""
    arguments, knowledge = call.arguments, call.served.knowledge
    changes = {key: arguments[key] for key in CHANGES if key in arguments}
    new_uri = arguments.get("new_uri")
    if "merge_into" in arguments:
        if changes or new_uri is not None or "superseded_by" in arguments:
            raise InvalidSyntax(
                "merge_into goes alone: the node is gone afterwards.",
                hint="Merge first, then change the other node in a second call.",
            )
        return _merge(call, arguments["merge_into"])
    if "superseded_by" in arguments:
        until = changes.pop("metadata", {})
        if changes or new_uri is not None or until.keys() - {VALID_UNTIL}:
            raise InvalidSyntax(
                "superseded_by goes alone, or with metadata that has only valid_until.",
                hint="Change the node in a second call.",
            )
        return _supersede(call, arguments["superseded_by"], until.get(VALID_UNTIL, ""))
    if not changes and new_uri is None:
        raise InvalidSyntax(
            "There is nothing to change.",
            hint=f"Pass one of {', '.join((*CHANGES, 'new_uri', 'merge_into', 'superseded_by'))}.",
        )
    page = TextPage()
    warnings: tuple[str, ...] = ()
    if changes:
        written = knowledge.update(arguments["uri"], **changes, message=call.message)
        page.add(_written(written))
        warnings = written.warnings
    if new_uri is not None:
        try:
            written = knowledge.move(
                arguments["uri"],
                new_uri,
                subtree=arguments.get("subtree", False),
                message=call.message,
            )
        except MycelError as error:
            if changes:
                error.message += " It was not moved; the other changes were made."
            raise
        page.add(_moved(written, knowledge.uri(arguments["uri"]).text))
        warnings = (*warnings, *written.warnings)
    _warn(page, warnings)
    data: JsonObject = {"uri": written.uri, "changed": written.changed}
    if written.version is None:
        data["moved"] = written.moved
    else:
        data["version"] = written.version
    return Answer(str(page), _with_warnings(data, warnings))


def _supersede(call: ToolCall, by: str, until: str) -> Answer:
    knowledge = call.served.knowledge
    old, new = knowledge.supersede(
        call.arguments["uri"], by, valid_until=until, message=call.message
    )
    ends = knowledge.get(old).metadata[VALID_UNTIL]
    page = TextPage()
    page.add(f"{new} takes the place of {old}, which holds until {ends} and is shown behind it.")
    if not until:
        page.add("If it held until another time, pass metadata with valid_until in the same call.")
    return Answer(str(page), {"superseded": old, "by": new, "valid_until": ends})


def _merge(call: ToolCall, into: str) -> Answer:
    merge = call.served.knowledge.merge_nodes(call.arguments["uri"], into, message=call.message)
    page = TextPage()
    if merge.changed:
        moved, properties = count(merge.relations, "relation"), count(merge.properties, "property")
        page.add(
            f"{merge.merged} is merged into {merge.uri} (version {merge.version}): {moved} moved,"
            f" {properties} taken over. Its URI leads there now."
        )
    _warn(page, merge.warnings)
    data: JsonObject = {"uri": merge.uri, "changed": merge.changed, "version": merge.version}
    return Answer(str(page), _with_warnings(data, merge.warnings))


FORGET_ACTIONS: Final = ("archive", "restore", "remove")


def forget(call: ToolCall) -> Answer:
    """Remove nodes with their relations, and single relations; or archive or restore nodes."""
    is_for_relations = call.arguments.get("relations") and not call.arguments.get("uris")
    action = call.arguments.get("action", "remove" if is_for_relations else "archive")
    if action == "restore":
        return _hide(call, is_restore=True)
    kept_for_good = _kept_for_good(call)
    if action == "archive":
        return _hide(call, is_restore=False, warnings=kept_for_good)
    drafts = call.arguments.get("relations", ())
    relations = [
        (relation["source"], relation["relation"], relation["target"]) for relation in drafts
    ]
    uris = [] if relations and not call.arguments.get("uris") else call.uris()
    page, removed = TextPage(), 0
    _warn(page, kept_for_good)
    data: JsonObject = {"removed": []}
    failures: dict[str, MycelError] = {}
    names: list[str] = []
    outcomes = call.served.knowledge.delete_many(
        uris,
        relations=relations,
        reason=call.arguments.get("reason", ""),
        message=call.message,
    )
    for outcome in outcomes[: len(uris)]:
        if outcome.error is not None:
            failures[outcome.uri] = hints.in_tools(outcome.error, readonly=call.served.readonly)
        elif outcome.result is not None:
            removed += outcome.result.concepts
            data["removed"].append(outcome.uri)
            along = count(outcome.result.relations, "relation")
            if outcome.result.concepts:
                page.add(f"{outcome.uri} removed, with {along}.")
            elif outcome.result.relations:  # The URI names a relation or a placeholder.
                page.add(f"{outcome.uri}: {along} removed.")
            lines = [line for line in outcome.result.warnings if line.startswith(RESOLVED_NAMES)]
            names += [line.removeprefix(RESOLVED_NAMES).removesuffix(".") for line in lines]
            _warn(page, tuple(line for line in outcome.result.warnings if line not in lines))
    if names:
        page.add(f"{RESOLVED_NAMES}{', '.join(first_few(names, SHOWN))}.")
    _warn(page, tuple(line for outcome in outcomes for line in outcome.warnings))
    for node_outcome in outcomes[len(uris) :]:
        is_removed = node_outcome.result is not None and bool(node_outcome.result.relations)
        page.add(
            f"{node_outcome.uri}: {'removed' if is_removed else 'there was no such relation'}."
        )
        if is_removed:
            data["removed"].append(node_outcome.uri)
    if removed:
        page.close("History keeps them: manage_history with action revert brings them back.")
    return answer_about(len(outcomes), failures, page, data)


def _kept_for_good(call: ToolCall) -> tuple[str, ...]:
    """Warnings about nodes whose own retention is "never"."""
    warnings = []
    for uri in call.uris() if call.arguments.get("uris") else ():
        try:
            node = call.served.knowledge.get(uri, content=False)
        except MycelError:
            continue  # The action itself raises the error about the URI.
        if is_never(node.metadata.get(RETENTION)):
            warnings.append(f"{node.uri} was to be kept for good (retention: never).")
    return tuple(warnings)


def _hide(call: ToolCall, *, is_restore: bool, warnings: tuple[str, ...] = ()) -> Answer:
    """Archive nodes, or bring them back."""
    if call.arguments.get("relations"):
        raise ConstraintViolation(
            "Nodes are archived, not relations.",
            hint="The relations of a node go along with it; action remove removes single ones.",
        )
    knowledge, reason = call.served.knowledge, call.arguments.get("reason", "")
    uris = call.uris()
    if is_restore:
        outcomes = knowledge.restore(uris, message=call.message)
    else:
        outcomes = knowledge.archive(uris, reason=reason, message=call.message)
    page = TextPage()
    _warn(page, (*warnings, *(line for outcome in outcomes for line in outcome.warnings)))
    verb = "restored" if is_restore else "archived"
    data: JsonObject = {verb: []}
    failures: dict[str, MycelError] = {}
    for outcome in outcomes:
        if outcome.error is not None:
            failures[outcome.uri] = hints.in_tools(outcome.error, readonly=call.served.readonly)
            continue
        page.add(
            f"{outcome.uri} {verb}." if outcome.result else f"{outcome.uri}: it was so already."
        )
        if outcome.result:
            data[verb].append(outcome.uri)
    if data[verb] and not is_restore:
        page.close("Answers leave them out; forget_nodes with action restore brings them back.")
    return answer_about(len(outcomes), failures, page, data)


def bootstrap(call: ToolCall) -> Answer:
    """Read the files of the workspace into the graph."""
    knowledge = call.served.knowledge
    if knowledge.root is None:
        raise ConstraintViolation(
            f"The workspace {knowledge.workspace!r} has no root folder.",
            hint="Start the server with --root PATH; `mycel serve` also needs --files.",
        )
    folder = knowledge.root
    if "path" in call.arguments:
        folder = _folder(knowledge, call.arguments["path"], knowledge.root)
    try:
        # Imported late: it loads parsers of many languages.
        from mycel.knowledge.bootstrap import bootstrap as run  # noqa: PLC0415
    except ImportError as error:
        raise ConstraintViolation(
            f"Source code cannot be read here: {error}.",
            hint=f"Install the parsers with {install_command('code')}, or write what matters"
            " with remember_knowledge.",
        ) from None

    summary = run(knowledge, folder, progress=lambda progress: _report(call, progress))
    if summary.added or summary.changed:
        _index(call)
    page = TextPage()
    page.add(str(summary))
    for note in summary.notes:
        page.add(note)
    for skipped in summary.skipped if call.is_detailed else summary.skipped[:10]:
        page.add(f"skipped {skipped.path}: {skipped.why}")
    payload = summary.to_dict()
    del payload["skipped_files"], payload["left_out"]
    return Answer(str(page), data_within(payload))


def _folder(knowledge: Knowledge, path: str, root: Path) -> Path:
    """A folder of the workspace, by its path or URI."""
    address = knowledge.uri(path, kind="file")
    if address.workspace != knowledge.workspace:
        raise ConstraintViolation(
            f"{shorten(address.text, 200)} is no folder of the workspace {knowledge.workspace!r}.",
            hint="Pass its path from the root of the workspace, such as src.",
        )
    return path_of(address, root)


def _index(call: ToolCall) -> None:
    """Build the index now, and not during the first search.

    Only the embedder of the package is used here; others work in the background.
    """
    embeddings = call.served.knowledge.db.embeddings

    def report(number: int, total: int) -> None:
        call.report(STAGES.index("indexing") + number / max(total, 1), len(STAGES), "indexing")

    if embeddings.choice == STATIC:
        with suppress(EmbedderFailed):
            embeddings.complete(report=report)


def _report(call: ToolCall, progress: BootstrapProgress) -> None:
    """Report the progress of a bootstrap, in stages, so that the value does not fall."""
    part = progress.done / progress.total if progress.total else 1.0
    call.report(STAGES.index(progress.stage) + part, len(STAGES), str(progress))


def _effect(outcome: Written | Linked) -> str:
    return "new" if outcome.created else "changed" if outcome.changed else "unchanged"


def _written(outcome: Written) -> str:
    return f"{outcome.uri} ({_effect(outcome)}, version {outcome.version})"


def _moved(outcome: Written, old: str) -> str:
    if not outcome.changed:
        return f"{old} had moved to {outcome.uri} before; nothing changed."
    if outcome.version is None:
        below = count(outcome.moved, "node")
        return f"{below} below {old} moved to {outcome.uri}; relations stay."
    return f"{outcome.uri} is the new URI ({outcome.moved} moved); relations stay."


def _linked(outcome: Linked) -> str:
    return f"{outcome.source} —{outcome.relation}→ {outcome.target} ({_effect(outcome)})"


def _warn(page: TextPage, warnings: tuple[str, ...]) -> None:
    names = [warning for warning in warnings if warning.startswith(RESOLVED_NAMES)]
    warnings = tuple(warning for warning in warnings if warning not in names)
    for warning in warnings[:SHOWN]:
        page.add(f"Warning: {warning}")
    for line in names:
        page.add(line)
    if len(warnings) > SHOWN:
        page.close(
            f"… and {len(warnings) - SHOWN} more warnings: describe_graph, topic broken_links."
        )
    if any(" lacks the required attribute" in warning for warning in warnings):
        page.close(
            "It is written all the same; update_node adds properties, and describe_graph with topic"
            " type says what they mean."
        )


def _with_warnings(data: dict[str, Any], warnings: tuple[str, ...]) -> JsonObject:
    return data | ({"warnings": list(warnings[:SHOWN])} if warnings else {})
