"""Proposals of callers who may not write: the changes that a write of the page would make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mycel.errors import AccessDenied
from mycel.explorer.moments import scene
from mycel.explorer.naming import uri_beside
from mycel.knowledge import node_writer
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.name_resolution import node_at
from mycel.knowledge.node_lookup import find
from mycel.knowledge.submission import submit
from mycel.knowledge.uris import Uri
from mycel.model.elements import Concept
from mycel.model.permission import current
from mycel.model.values import JsonObject
from mycel.store.query.reader import Reader
from mycel.store.write.element_content import expect

Given = Mapping[str, Any]


def proposable(branch: str) -> list[str]:
    """The writes that the caller may propose on a branch, but not make."""
    permission = current()
    if permission is None or permission.may_write(branch):
        return []
    return list(_CHANGES) if permission.allows("propose", branch) else []


def propose(knowledge: Knowledge, op: str, given: Given) -> JsonObject:
    """Propose the changes that a write would make; they wait for a review.

    Raises:
        AccessDenied: the write is not one that can be proposed, or the caller may not propose it.
        VersionConflict: the node has changed since it was read.
    """
    if op not in _CHANGES or given.get("subtree"):
        raise AccessDenied(
            "You may propose changes here, and this one is not a change of single nodes.",
            hint=f"What can be proposed: {', '.join(_CHANGES)}.",
        )
    with knowledge.db.reading() as reader:
        changes = _CHANGES[op](knowledge, reader, given)
    message = given["message"] or given.get("reason", "")
    outcome = submit(knowledge, changes, message=message, on_conflict="propose")
    with scene(knowledge, None, timeout_s=10) as seen:
        return seen.answer(
            commit=None,
            changed=False,
            proposal=outcome.proposal,
            warnings=list(outcome.warnings),
        )


def _add(knowledge: Knowledge, _reader: Reader, given: Given) -> list[JsonObject]:
    uri = knowledge.uri(given["id"])
    attributes = dict(given["attributes"] or {})
    attributes |= {key: given[key] for key in ("name", "content") if given[key] is not None}
    node = _with_values({"node": uri.text, "attributes": attributes}, given, "type", "metadata")
    links = [
        _with_values(
            {
                "link": {
                    "subject": uri_beside(knowledge, link.get("source", uri.text), uri).text,
                    "predicate": link.get("relation"),
                    "object": uri_beside(knowledge, link.get("target", uri.text), uri).text,
                }
            },
            link,
            "weight",
            "attributes",
            "metadata",
        )
        for link in given["relations"]
    ]
    return [node, *links]


def _update(knowledge: Knowledge, reader: Reader, given: Given) -> list[JsonObject]:
    uri = knowledge.uri(given["id"])
    before = _expected(reader, uri, given)
    changes = node_writer.NodeChanges(
        name=given["name"],
        content=given["content"],
        properties=given["attributes"],
        drop=given["drop"],
        metadata=given["metadata"],
    )
    change = {
        "concept": _key(before),
        "attributes": node_writer.attributes_after(before, uri, changes),
    }
    if given["metadata"] is not None:
        change["metadata"] = before.metadata | given["metadata"]
    return [change]


def _link(knowledge: Knowledge, reader: Reader, given: Given) -> list[JsonObject]:
    change = {"link": _link_key(knowledge, reader, given)}
    return [_with_values(change, given, "weight", "attributes", "metadata")]


def _unlink(knowledge: Knowledge, reader: Reader, given: Given) -> list[JsonObject]:
    return [{"link": _link_key(knowledge, reader, given), "removed": True}]


def _move(knowledge: Knowledge, reader: Reader, given: Given) -> list[JsonObject]:
    before = _expected(reader, knowledge.uri(given["id"]), given)
    to = given["to"]
    if "://" not in before.name:
        name = to.removeprefix(f"kip:{before.type}/")
        return [{"concept": _key(before), "to": {"type": before.type, "name": name}}]
    source = knowledge.uri(before.name)
    new = uri_beside(knowledge, to, source, kind="file" if source.is_file else "concept")
    return [{"concept": _key(before), "to": new.text}]


def _delete(knowledge: Knowledge, reader: Reader, given: Given) -> list[JsonObject]:
    return [
        {"concept": _key(_expected(reader, knowledge.uri(given["id"]), given)), "removed": True}
    ]


_CHANGES: Final[dict[str, Callable[[Knowledge, Reader, Given], list[JsonObject]]]] = {
    "add": _add,
    "update": _update,
    "link": _link,
    "unlink": _unlink,
    "move": _move,
    "delete": _delete,
}


def _expected(reader: Reader, uri: Uri, given: Given) -> Concept:
    """The node of a URI, with the version that the caller has read."""
    node = node_at(reader, uri)
    if given["expect_version"] is not None:
        expect(given["expect_version"], node.version, uri.text)
    return node


def _link_key(knowledge: Knowledge, reader: Reader, given: Given) -> JsonObject:
    source = knowledge.uri(given["source"])
    return {
        "subject": _end(reader, source),
        "predicate": given["relation"],
        "object": _end(reader, uri_beside(knowledge, given["target"], source)),
    }


def _end(reader: Reader, uri: Uri) -> object:
    """The end of a link: the existing node, or else its URI."""
    match = find(reader, uri)
    node = None if match is None else reader.concept(match.number)
    return uri.text if node is None else _key(node)


def _key(node: Concept) -> JsonObject:
    return {"type": node.type, "name": node.name}


def _with_values(change: JsonObject, given: Given, *names: str) -> JsonObject:
    return change | {name: given[name] for name in names if given.get(name) is not None}
