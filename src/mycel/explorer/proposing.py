"""Proposals of callers who may not write: the changes that a write of the page would make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mycel.errors import AccessDenied
from mycel.explorer.edits import Values
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


def proposable(branch: str) -> list[str]:
    """The writes that the caller may propose on a branch, but not make."""
    permission = current()
    if permission is None or permission.may_write(branch):
        return []
    return list(_CHANGES) if permission.allows("propose", branch) else []


def propose(knowledge: Knowledge, op: str, values: Values) -> JsonObject:
    """Propose the changes that a write would make; they wait for a review.

    Raises:
        AccessDenied: the write is not one that can be proposed, or the caller may not propose it.
        VersionConflict: the node has changed since it was read.
    """
    if op not in _CHANGES or values.get("subtree"):
        raise AccessDenied(
            "You may propose changes here, and this one is not a change of single nodes.",
            hint=f"What can be proposed: {', '.join(_CHANGES)}.",
        )
    with knowledge.db.reading() as reader:
        changes = _CHANGES[op](knowledge, reader, values)
    message = values["message"] or values.get("reason", "")
    outcome = submit(knowledge, changes, message=message, on_conflict="propose")
    with scene(knowledge, None, timeout_s=10) as present:
        return present.answer(
            commit=None,
            changed=False,
            proposal=outcome.proposal,
            warnings=list(outcome.warnings),
        )


def _add(knowledge: Knowledge, _reader: Reader, values: Values) -> list[JsonObject]:
    uri = knowledge.uri(values["id"])
    attributes = dict(values["attributes"] or {})
    attributes |= {key: values[key] for key in ("name", "content") if values[key] is not None}
    node = _with_values({"node": uri.text, "attributes": attributes}, values, "type", "metadata")
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
        for link in values["relations"]
    ]
    return [node, *links]


def _update(knowledge: Knowledge, reader: Reader, values: Values) -> list[JsonObject]:
    uri = knowledge.uri(values["id"])
    before = _expected(reader, uri, values)
    changes = node_writer.NodeChanges(
        name=values["name"],
        content=values["content"],
        properties=values["attributes"],
        drop=values["drop"],
        metadata=values["metadata"],
    )
    change = {
        "concept": _key(before),
        "attributes": node_writer.attributes_after(before, uri, changes),
    }
    if values["metadata"] is not None:
        change["metadata"] = before.metadata | values["metadata"]
    return [change]


def _link(knowledge: Knowledge, reader: Reader, values: Values) -> list[JsonObject]:
    change = {"link": _link_key(knowledge, reader, values)}
    return [_with_values(change, values, "weight", "attributes", "metadata")]


def _unlink(knowledge: Knowledge, reader: Reader, values: Values) -> list[JsonObject]:
    return [{"link": _link_key(knowledge, reader, values), "removed": True}]


def _move(knowledge: Knowledge, reader: Reader, values: Values) -> list[JsonObject]:
    before = _expected(reader, knowledge.uri(values["id"]), values)
    to = values["to"]
    if "://" not in before.name:
        name = to.removeprefix(f"kip:{before.type}/")
        return [{"concept": _key(before), "to": {"type": before.type, "name": name}}]
    source = knowledge.uri(before.name)
    new = uri_beside(knowledge, to, source, kind="file" if source.is_file else "concept")
    return [{"concept": _key(before), "to": new.text}]


def _delete(knowledge: Knowledge, reader: Reader, values: Values) -> list[JsonObject]:
    return [
        {"concept": _key(_expected(reader, knowledge.uri(values["id"]), values)), "removed": True}
    ]


_CHANGES: Final[dict[str, Callable[[Knowledge, Reader, Values], list[JsonObject]]]] = {
    "add": _add,
    "update": _update,
    "link": _link,
    "unlink": _unlink,
    "move": _move,
    "delete": _delete,
}


def _expected(reader: Reader, uri: Uri, values: Values) -> Concept:
    """The node of a URI, with the version that the caller has read."""
    node = node_at(reader, uri)
    if values["expect_version"] is not None:
        expect(values["expect_version"], node.version, uri.text)
    return node


def _link_key(knowledge: Knowledge, reader: Reader, values: Values) -> JsonObject:
    source = knowledge.uri(values["source"])
    return {
        "subject": _end(reader, source),
        "predicate": values["relation"],
        "object": _end(reader, uri_beside(knowledge, values["target"], source)),
    }


def _end(reader: Reader, uri: Uri) -> object:
    """The end of a link: the existing node, or else its URI."""
    match = find(reader, uri)
    node = None if match is None else reader.concept(match.number)
    return uri.text if node is None else _key(node)


def _key(node: Concept) -> JsonObject:
    return {"type": node.type, "name": node.name}


def _with_values(change: JsonObject, values: Values, *names: str) -> JsonObject:
    return change | {name: values[name] for name in names if values.get(name) is not None}
