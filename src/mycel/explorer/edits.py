"""Writes of the explorer: each is one transaction, and its answer names the commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from mycel.api.graph import Graph
from mycel.engine.archive import archive_element, restore_element
from mycel.engine.retention import set_element_retention
from mycel.engine.supersede import supersede_element
from mycel.errors import AccessDenied, ConstraintViolation, InvalidId
from mycel.explorer.moments import moment_of, scene
from mycel.explorer.naming import uri_beside
from mycel.explorer.parameters import ID, Argument, Parameters
from mycel.explorer.past import commit_of, list_changes
from mycel.history.rollback import Rollback
from mycel.knowledge import node_moves, node_writer, relation_writer
from mycel.knowledge.input_values import drafts
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.name_resolution import node_at
from mycel.knowledge.node_lookup import element_uri
from mycel.knowledge.node_values import NewNode, NewRelation
from mycel.knowledge.uris import Uri, kip_identity
from mycel.model.retention import RETENTION, retention_from_words
from mycel.model.values import JsonObject
from mycel.store.query.commits import transaction_of
from mycel.store.query.history import entry_at
from mycel.store.write.element_content import expect
from mycel.store.write.transaction import Transaction

Work = Callable[[Transaction], tuple[str, list[str]]]
"""A function that writes; returns the id of the element and warnings."""
Values = Mapping[str, Any]
"""The checked values of the parameters of a write, by name."""

_TEXT: Final = Argument("text")
_NEEDED: Final = Argument("text", required=True)
_OBJECT: Final = Argument("object")
_VERSION: Final = Argument("whole", "The version that is changed", least=0, most=1 << 62)
_MESSAGE: Final = Argument("text", "Why, for the log", default="")
_REASON: Final = Argument("text", default="")
_DRY: Final = Argument("flag", "Only report the changes", default=False)
_LINK: Final = {"source": _NEEDED, "relation": _NEEDED, "target": _NEEDED}

COMMON: Final[Parameters] = {"message": _MESSAGE}
"""The parameters of every write, beside `op`."""


class WriteOperation(NamedTuple):
    """One kind of write: its own parameters, and its work."""

    parameters: Parameters
    run: Callable[[Knowledge, Graph, Values], JsonObject]
    """Does the write, with checked parameters; returns the answer."""


def _in_transaction(prepare: Callable[[Knowledge, Values], Work]) -> Callable[..., JsonObject]:
    """The `run` of an operation whose work is one transaction."""

    def run_operation(knowledge: Knowledge, db: Graph, values: Values) -> JsonObject:
        work = prepare(knowledge, values)

        def run(tx: Transaction) -> tuple[str, list[str], int | None, list[str]]:
            id_, hints = work(tx)
            return id_, hints, None if tx.is_empty else tx.first_seq, tx.warnings

        id_, hints, first, warnings = db.write(run, message=values["message"])
        return _answer(knowledge, first, id_, [*hints, *warnings])

    return run_operation


def _answer(knowledge: Knowledge, entry: int | None, id_: str, warnings: list[str]) -> JsonObject:
    with scene(knowledge, None, timeout_s=10) as present:
        commit = None if entry is None else commit_of(transaction_of(present.reader, entry))
        number = present.find(id_)
        card = None if number is None else present.cards.get(number)
        return present.answer(
            commit=commit,
            changed=commit is not None,
            id=id_ if card is None else card["id"],
            node=card,
            warnings=warnings,
        )


def _add(knowledge: Knowledge, values: Values) -> Work:
    uri = knowledge.uri(values["id"])
    links = [dict(relation) for relation in values["relations"]]
    for link in links:
        link["properties"] = link.pop("attributes", link.get("properties"))
    relations = drafts(links, NewRelation, source=uri.text)
    ends = [
        (uri_beside(knowledge, relation.source, uri), uri_beside(knowledge, relation.target, uri))
        for relation in relations
    ]

    def work(tx: Transaction) -> tuple[str, list[str]]:
        hints: list[str] = []
        if uri.is_kip:
            _add_plain(tx, uri, values)
        else:
            draft = NewNode(
                uri.text,
                values["name"],
                values["content"],
                values["type"],
                values["attributes"],
                values["metadata"],
            )
            _, hints = node_writer.put_nodes(tx, (draft,), (uri,), merge=False)
        if relations:
            _, more = relation_writer.put_relations(tx, relations, ends)
            hints += more
        return uri.text, hints

    return work


def _add_plain(tx: Transaction, uri: Uri, values: Values) -> None:
    """Add a concept with a type of KIP, which has to be defined."""
    identity = kip_identity(uri)
    if isinstance(identity, str):
        raise InvalidId("A new node cannot have an id.", hint="Name it by kip:Type/name.")
    if values["type"] not in (None, identity[0]):
        raise ConstraintViolation(f"{uri.text} is of the type {identity[0]}.")
    texts = {key: values[key] for key in ("name", "content") if values[key] is not None}
    attributes = dict(values["attributes"] or {}) | texts
    tx.put_concept(*identity, attributes, values["metadata"], expect_version=0)


def _update(knowledge: Knowledge, values: Values) -> Work:
    uri = knowledge.uri(values["id"])
    changes = node_writer.NodeChanges(
        name=values["name"],
        content=values["content"],
        properties=values["attributes"],
        drop=values["drop"],
        metadata=values["metadata"],
        expect_version=values["expect_version"],
    )

    def work(tx: Transaction) -> tuple[str, list[str]]:
        written, hints = node_writer.update_node(tx, uri, changes)
        return written.uri, hints

    return work


def _ends(knowledge: Knowledge, values: Values) -> tuple[Uri, Uri]:
    """The ends of a relation; a path as its target belongs to the workspace of its source."""
    source = knowledge.uri(values["source"])
    return source, uri_beside(knowledge, values["target"], source)


def _link(knowledge: Knowledge, values: Values) -> Work:
    ends = _ends(knowledge, values)
    draft = NewRelation(
        ends[0].text,
        values["relation"],
        ends[1].text,
        values["weight"],
        values["attributes"],
        values["metadata"],
    )

    def work(tx: Transaction) -> tuple[str, list[str]]:
        linked, hints = relation_writer.put_relations(tx, (draft,), (ends,))
        return f"kip:{linked[0].id}", hints

    return work


def _unlink(knowledge: Knowledge, values: Values) -> Work:
    ends = _ends(knowledge, values)

    def work(tx: Transaction) -> tuple[str, list[str]]:
        link = values["relation"]
        removal = relation_writer.remove_relation(tx, ends, link, values["reason"])
        return removal.source, [
            *removal.hints,
            *(() if removal.is_removed else ("There is no such relation; nothing changed.",)),
        ]

    return work


def _move(knowledge: Knowledge, values: Values) -> Work:
    old = knowledge.uri(values["id"])

    def work(tx: Transaction) -> tuple[str, list[str]]:
        node = None if values["subtree"] else node_at(tx.reader, old)
        if node is not None:
            expect(values["expect_version"], node.version, old.text)
        if node is not None and "://" not in node.name:
            return f"kip:{tx.move(node.id, name=_plain_name(values['to'], node.type))}", []
        source = old if node is None else knowledge.uri(node.name)
        new = uri_beside(
            knowledge, values["to"], source, kind="file" if source.is_file else "concept"
        )
        return node_moves.move_node(tx, source, new, subtree=values["subtree"]).uri, []

    return work


def _plain_name(to: str, type_name: str) -> str:
    return to.removeprefix(f"kip:{type_name}/")


def _delete(knowledge: Knowledge, values: Values) -> Work:
    uri = knowledge.uri(values["id"])

    def work(tx: Transaction) -> tuple[str, list[str]]:
        if values["expect_version"] is not None:
            expect(values["expect_version"], node_at(tx.reader, uri).version, uri.text)
        removed, called = node_writer.delete_node(tx, uri, reason=values["reason"])
        return called, list(removed.warnings)

    return work


def _archive(knowledge: Knowledge, values: Values) -> Work:
    uri = knowledge.uri(values["id"])

    def work(tx: Transaction) -> tuple[str, list[str]]:
        node = node_at(tx.reader, uri)
        archive_element(tx, node, values["reason"])
        return element_uri(node), []

    return work


def _restore(knowledge: Knowledge, values: Values) -> Work:
    uri = knowledge.uri(values["id"])

    def work(tx: Transaction) -> tuple[str, list[str]]:
        node = node_at(tx.reader, uri)
        restore_element(tx, node)
        return element_uri(node), []

    return work


def _supersede(knowledge: Knowledge, values: Values) -> Work:
    uri = knowledge.uri(values["id"])
    successor = uri_beside(knowledge, values["by"], uri)

    def work(tx: Transaction) -> tuple[str, list[str]]:
        node = node_at(tx.reader, uri)
        supersede_element(
            tx, node, node_at(tx.reader, successor), values["reason"], values["until"]
        )
        return element_uri(node), []

    return work


def _retain(knowledge: Knowledge, values: Values) -> Work:
    uri, words = knowledge.uri(values["id"]), values["rule"]
    rule = None if words is None else retention_from_words(words)

    def work(tx: Transaction) -> tuple[str, list[str]]:
        node = node_at(tx.reader, uri)
        if rule is None:
            tx.update_found(node, drop_metadata=(RETENTION,))
        else:
            set_element_retention(tx, node, rule)
        return element_uri(node), []

    return work


def _revert(knowledge: Knowledge, db: Graph, values: Values) -> JsonObject:
    commit = _moment(values["commit"])
    dry_run = values["dry_run"]
    rollback = db.history.revert(commit, dry_run=dry_run, message=values["message"])
    return _rolled_back(knowledge, rollback, dry_run=dry_run)


def _rollback(knowledge: Knowledge, db: Graph, values: Values) -> JsonObject:
    dry_run = values["dry_run"]
    paths = [knowledge.uri(path).text for path in values["paths"]]
    rollback = db.history.rollback(
        _moment(values["to"]), paths=paths, dry_run=dry_run, message=values["message"]
    )
    return _rolled_back(knowledge, rollback, dry_run=dry_run)


def _moment(value: Any) -> Any:
    return moment_of(value) if isinstance(value, str) else value


def _rolled_back(knowledge: Knowledge, rollback: Rollback, *, dry_run: bool) -> JsonObject:
    """The answer to a write that returned elements to a past state."""
    with scene(knowledge, None, timeout_s=10) as present:
        commit = None
        if rollback.commit is not None:
            commit = commit_of(
                transaction_of(present.reader, entry_at(present.reader, rollback.commit))
            )
        return present.answer(
            commit=commit,
            changed=commit is not None,
            dry_run=dry_run,
            counts=rollback.diff.counts,
            changes=list_changes(rollback.diff.elements),
            warnings=[],
        )


def refuse_write() -> AccessDenied:
    """The error for a write on a server that only reads."""
    return AccessDenied(
        "This server is read-only.", hint="Start it without --readonly to write through it."
    )


OPERATIONS: Final = {
    "add": WriteOperation(
        {
            "id": ID,
            "type": _TEXT,
            "name": _TEXT,
            "content": _TEXT,
            "attributes": _OBJECT,
            "metadata": _OBJECT,
            "relations": Argument("objects", default=(), most=1000),
        },
        _in_transaction(_add),
    ),
    "update": WriteOperation(
        {
            "id": ID,
            "expect_version": _VERSION,
            "name": _TEXT,
            "content": _TEXT,
            "attributes": _OBJECT,
            "drop": Argument("texts", default=()),
            "metadata": _OBJECT,
        },
        _in_transaction(_update),
    ),
    "link": WriteOperation(
        _LINK | {"weight": Argument("any"), "attributes": _OBJECT, "metadata": _OBJECT},
        _in_transaction(_link),
    ),
    "unlink": WriteOperation(_LINK | {"reason": _REASON}, _in_transaction(_unlink)),
    "move": WriteOperation(
        {
            "id": ID,
            "to": Argument(
                "text", "The new URI, or the new name of a concept of KIP", required=True
            ),
            "subtree": Argument("flag", default=False),
            "expect_version": _VERSION,
        },
        _in_transaction(_move),
    ),
    "delete": WriteOperation(
        {"id": ID, "reason": _REASON, "expect_version": _VERSION}, _in_transaction(_delete)
    ),
    "archive": WriteOperation({"id": ID, "reason": _REASON}, _in_transaction(_archive)),
    "restore": WriteOperation({"id": ID}, _in_transaction(_restore)),
    "supersede": WriteOperation(
        {
            "id": ID,
            "by": Argument("text", "The node that takes its place", required=True),
            "until": Argument("text", "The time until which it holds", default=""),
            "reason": _REASON,
        },
        _in_transaction(_supersede),
    ),
    "retain": WriteOperation(
        {
            "id": ID,
            "rule": Argument("text", "Such as `archive 90d after updated`; none drops it"),
        },
        _in_transaction(_retain),
    ),
    "revert": WriteOperation(
        {"commit": Argument("any", "A commit or its position", required=True), "dry_run": _DRY},
        _revert,
    ),
    "rollback": WriteOperation(
        {
            "to": Argument("any", "A moment", required=True),
            "paths": Argument("texts", default=()),
            "dry_run": _DRY,
        },
        _rollback,
    ),
}
"""Every write of the explorer, by the name that `op` has."""
