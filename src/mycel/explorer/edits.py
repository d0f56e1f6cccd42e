"""Writes of the explorer: each is one transaction, and its answer names the commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

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

_TEXT: Final = Argument("text")
_NEEDED: Final = Argument("text", required=True)
_OBJECT: Final = Argument("object")
_VERSION: Final = Argument("whole", "The version that is changed", least=0, most=1 << 62)
_MESSAGE: Final = Argument("text", "Why, for the log", default="")
_DRY: Final = Argument("flag", "Only report what would change", default=False)
_LINK: Final = {"source": _NEEDED, "relation": _NEEDED, "target": _NEEDED}

OPERATIONS: Final[dict[str, Parameters]] = {
    "add": {
        "id": ID,
        "type": _TEXT,
        "name": _TEXT,
        "content": _TEXT,
        "attributes": _OBJECT,
        "metadata": _OBJECT,
        "relations": Argument("objects", default=(), most=1000),
    },
    "update": {
        "id": ID,
        "expect_version": _VERSION,
        "name": _TEXT,
        "content": _TEXT,
        "attributes": _OBJECT,
        "drop": Argument("texts", default=()),
        "metadata": _OBJECT,
    },
    "link": _LINK | {"weight": Argument("any"), "attributes": _OBJECT, "metadata": _OBJECT},
    "unlink": _LINK | {"reason": Argument("text", default="")},
    "move": {
        "id": ID,
        "to": Argument("text", "The new URI, or the new name of a concept of KIP", required=True),
        "subtree": Argument("flag", default=False),
        "expect_version": _VERSION,
    },
    "delete": {"id": ID, "reason": Argument("text", default=""), "expect_version": _VERSION},
    "archive": {"id": ID, "reason": Argument("text", default="")},
    "restore": {"id": ID},
    "supersede": {
        "id": ID,
        "by": Argument("text", "The node that takes its place", required=True),
        "until": Argument("text", "The time until which it holds", default=""),
        "reason": Argument("text", default=""),
    },
    "retain": {
        "id": ID,
        "rule": Argument("text", "Such as `archive 90d after updated`; none drops it"),
    },
    "revert": {
        "commit": Argument("any", "A commit or its position", required=True),
        "dry_run": _DRY,
    },
    "rollback": {
        "to": Argument("any", "A moment", required=True),
        "paths": Argument("texts", default=()),
        "dry_run": _DRY,
    },
}
"""The parameters of each write, beside `op` and `message`."""

COMMON: Final[Parameters] = {"message": _MESSAGE}


def write(knowledge: Knowledge, db: Graph, op: str, given: Mapping[str, Any]) -> JsonObject:
    """Run one write, whose parameters are checked."""
    message = given["message"]
    if op in ("revert", "rollback"):
        return _lead_back(knowledge, db, op, given, message)
    work = _WORK[op](knowledge, given)

    def run(tx: Transaction) -> tuple[str, list[str], int | None, list[str]]:
        id_, hints = work(tx)
        return id_, hints, None if tx.is_empty else tx.first_seq, tx.warnings

    id_, hints, first, warnings = db.write(run, message=message)
    return _answer(knowledge, first, id_, [*hints, *warnings])


def _answer(knowledge: Knowledge, entry: int | None, id_: str, warnings: list[str]) -> JsonObject:
    with scene(knowledge, None, timeout_s=10) as seen:
        commit = None if entry is None else commit_of(transaction_of(seen.reader, entry))
        number = seen.find(id_)
        card = None if number is None else seen.cards.get(number)
        return seen.answer(
            commit=commit,
            changed=commit is not None,
            id=id_ if card is None else card["id"],
            node=card,
            warnings=warnings,
        )


def _add(knowledge: Knowledge, given: Mapping[str, Any]) -> Work:
    uri = knowledge.uri(given["id"])
    links = [dict(relation) for relation in given["relations"]]
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
            _add_plain(tx, uri, given)
        else:
            draft = NewNode(
                uri.text,
                given["name"],
                given["content"],
                given["type"],
                given["attributes"],
                given["metadata"],
            )
            _, hints = node_writer.put_nodes(tx, (draft,), (uri,), merge=False)
        if relations:
            _, more = relation_writer.put_relations(tx, relations, ends)
            hints += more
        return uri.text, hints

    return work


def _add_plain(tx: Transaction, uri: Uri, given: Mapping[str, Any]) -> None:
    """Add a concept with a type of KIP, which has to be defined."""
    identity = kip_identity(uri)
    if isinstance(identity, str):
        raise InvalidId("A new node cannot have an id.", hint="Name it by kip:Type/name.")
    if given["type"] not in (None, identity[0]):
        raise ConstraintViolation(f"{uri.text} is of the type {identity[0]}.")
    values = {key: given[key] for key in ("name", "content") if given[key] is not None}
    attributes = dict(given["attributes"] or {}) | values
    tx.put_concept(*identity, attributes, given["metadata"], expect_version=0)


def _update(knowledge: Knowledge, given: Mapping[str, Any]) -> Work:
    uri = knowledge.uri(given["id"])
    changes = node_writer.NodeChanges(
        name=given["name"],
        content=given["content"],
        properties=given["attributes"],
        drop=given["drop"],
        metadata=given["metadata"],
        expect_version=given["expect_version"],
    )

    def work(tx: Transaction) -> tuple[str, list[str]]:
        written, hints = node_writer.update_node(tx, uri, changes)
        return written.uri, hints

    return work


def _ends(knowledge: Knowledge, given: Mapping[str, Any]) -> tuple[Uri, Uri]:
    """The ends of a relation; a path as its target belongs to the workspace of its source."""
    source = knowledge.uri(given["source"])
    return source, uri_beside(knowledge, given["target"], source)


def _link(knowledge: Knowledge, given: Mapping[str, Any]) -> Work:
    ends = _ends(knowledge, given)
    draft = NewRelation(
        ends[0].text,
        given["relation"],
        ends[1].text,
        given["weight"],
        given["attributes"],
        given["metadata"],
    )

    def work(tx: Transaction) -> tuple[str, list[str]]:
        linked, hints = relation_writer.put_relations(tx, (draft,), (ends,))
        return f"kip:{linked[0].id}", hints

    return work


def _unlink(knowledge: Knowledge, given: Mapping[str, Any]) -> Work:
    ends = _ends(knowledge, given)

    def work(tx: Transaction) -> tuple[str, list[str]]:
        link = given["relation"]
        removal = relation_writer.remove_relation(tx, ends, link, given["reason"])
        return removal.source, [
            *removal.hints,
            *(() if removal.is_removed else ("There is no such relation; nothing changed.",)),
        ]

    return work


def _move(knowledge: Knowledge, given: Mapping[str, Any]) -> Work:
    old = knowledge.uri(given["id"])

    def work(tx: Transaction) -> tuple[str, list[str]]:
        there = None if given["subtree"] else node_at(tx.reader, old)
        if there is not None:
            expect(given["expect_version"], there.version, old.text)
        if there is not None and "://" not in there.name:
            return f"kip:{tx.move(there.id, name=_plain_name(given['to'], there.type))}", []
        source = old if there is None else knowledge.uri(there.name)
        new = uri_beside(
            knowledge, given["to"], source, kind="file" if source.is_file else "concept"
        )
        return node_moves.move_node(tx, source, new, subtree=given["subtree"]).uri, []

    return work


def _plain_name(to: str, type_name: str) -> str:
    return to.removeprefix(f"kip:{type_name}/")


def _delete(knowledge: Knowledge, given: Mapping[str, Any]) -> Work:
    uri = knowledge.uri(given["id"])

    def work(tx: Transaction) -> tuple[str, list[str]]:
        if given["expect_version"] is not None:
            expect(given["expect_version"], node_at(tx.reader, uri).version, uri.text)
        removed, called = node_writer.delete_node(tx, uri, reason=given["reason"])
        return called, list(removed.warnings)

    return work


def _archive(knowledge: Knowledge, given: Mapping[str, Any]) -> Work:
    uri = knowledge.uri(given["id"])

    def work(tx: Transaction) -> tuple[str, list[str]]:
        node = node_at(tx.reader, uri)
        archive_element(tx, node, given["reason"])
        return element_uri(node), []

    return work


def _restore(knowledge: Knowledge, given: Mapping[str, Any]) -> Work:
    uri = knowledge.uri(given["id"])

    def work(tx: Transaction) -> tuple[str, list[str]]:
        node = node_at(tx.reader, uri)
        restore_element(tx, node)
        return element_uri(node), []

    return work


def _supersede(knowledge: Knowledge, given: Mapping[str, Any]) -> Work:
    uri = knowledge.uri(given["id"])
    successor = uri_beside(knowledge, given["by"], uri)

    def work(tx: Transaction) -> tuple[str, list[str]]:
        node = node_at(tx.reader, uri)
        supersede_element(tx, node, node_at(tx.reader, successor), given["reason"], given["until"])
        return element_uri(node), []

    return work


def _retain(knowledge: Knowledge, given: Mapping[str, Any]) -> Work:
    uri, words = knowledge.uri(given["id"]), given["rule"]
    rule = None if words is None else retention_from_words(words)

    def work(tx: Transaction) -> tuple[str, list[str]]:
        node = node_at(tx.reader, uri)
        if rule is None:
            tx.update_found(node, drop_metadata=(RETENTION,))
        else:
            set_element_retention(tx, node, rule)
        return element_uri(node), []

    return work


_WORK: Final[dict[str, Callable[[Knowledge, Mapping[str, Any]], Work]]] = {
    "add": _add,
    "update": _update,
    "link": _link,
    "unlink": _unlink,
    "move": _move,
    "delete": _delete,
    "archive": _archive,
    "restore": _restore,
    "supersede": _supersede,
    "retain": _retain,
}


def _lead_back(
    knowledge: Knowledge, db: Graph, op: str, given: Mapping[str, Any], message: str
) -> JsonObject:
    """Undo one commit, or return elements to a past state."""
    moment = given["commit" if op == "revert" else "to"]
    moment = moment_of(moment) if isinstance(moment, str) else moment
    rollback: Rollback
    if op == "revert":
        rollback = db.history.revert(moment, dry_run=given["dry_run"], message=message)
    else:
        paths = [knowledge.uri(path).text for path in given["paths"]]
        rollback = db.history.rollback(
            moment, paths=paths, dry_run=given["dry_run"], message=message
        )
    with scene(knowledge, None, timeout_s=10) as seen:
        commit = None
        if rollback.commit is not None:
            commit = commit_of(transaction_of(seen.reader, entry_at(seen.reader, rollback.commit)))
        return seen.answer(
            commit=commit,
            changed=commit is not None,
            dry_run=given["dry_run"],
            counts=rollback.diff.counts,
            changes=list_changes(rollback.diff.elements),
            warnings=[],
        )


def refuse_write() -> AccessDenied:
    """The error for a write on a server that only reads."""
    return AccessDenied(
        "This server is read-only.", hint="Start it without --readonly to write through it."
    )
