"""Turns changes of nodes and relations by URI into edits of elements, for a merge.

    {"node": URI, "type"?, "attributes"?, "metadata"?, "to"?: URI}
    {"link": {"subject": URI, "predicate": name, "object": URI}, "weight"?, "attributes"?, …}
    {"node" or "link": …, "removed": true}

An end of a link may also be named by `{"type", "name"}`, and so may a `concept`, which takes the
place of a `node`. Types and relation types that are not defined are defined, and a missing resource
is created.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mycel.errors import InvalidValueType, MycelError
from mycel.knowledge.node_lookup import find_all
from mycel.knowledge.uris import Uri, kip_identity, parse, uri_of
from mycel.knowledge.vocabulary import CONCEPT, DEFINITIONS, RESOURCE, UNDESCRIBED
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, check_identifier, shorten
from mycel.store.query.reader import Reader

_PARTS: Final = frozenset(
    ("concept", "node", "link", "type", "attributes", "metadata", "weight", "to", "removed")
)
_HINT: Final = (
    'For example {"node": "concept://shop/auth", "attributes": {"content": "…"}} or {"link":'
    ' {"subject": "concept://shop/auth", "predicate": "depends_on", "object":'
    ' "concept://shop/session"}}.'
)
Key = dict[str, Any]


class ChangeReader:
    """Turns changes into edits, with the state that was edited and the present state."""

    def __init__(self, before: Reader, now: Reader, workspace: str) -> None:
        self._sides: Final = (now,) if before is now else (now, before)
        self._now: Final = now
        self._workspace: Final = workspace
        self._parsed: Final[dict[str, Uri]] = {}
        self._stored: Final[dict[str, str | None]] = {}
        """The types of existing nodes by URI, as in the edited state or now."""
        self._defined: Final[set[tuple[str, str]]] = set()
        self._types: Final[dict[str, str]] = {}
        """The types of new nodes by URI, as the changes give them."""
        self._definitions: Final[dict[tuple[str, str], Key]] = {}
        self._resources: Final[dict[str, Key]] = {}
        self.uris: Final[set[str]] = set()
        """The URIs that the changes are about: of nodes, and of the subjects of links."""

    def edits(self, changes: Sequence[Mapping[str, Any]]) -> list[Key]:
        """The edits that make changes.

        Raises:
            InvalidValueType, InvalidId: a change has another form.
        """
        for change in changes:
            _check(change)
        self._look_up(self._collect_uris(changes))
        nodes = [self._node(change) for change in changes if "link" not in change]
        links = [self._link(change) for change in changes if "link" in change]
        edited = [edit["concept"] for edit in nodes]
        further = (*self._definitions.values(), *self._resources.values())
        return [*(edit for edit in further if edit["concept"] not in edited), *nodes, *links]

    def _node(self, change: Mapping[str, Any]) -> Key:
        removed = bool(change.get("removed"))
        key = self._key(change.get("node", change.get("concept")), change.get("type"))
        self.uris.add(uri_of(key["type"], key["name"]))
        edit: Key = {"concept": key}
        edit |= {
            part: change[part] for part in ("attributes", "metadata", "removed") if part in change
        }
        if "to" in change:
            to = change["to"]
            edit["to"] = (
                {"name": self._uri(to).text} if isinstance(to, str) else self._key(to, key["type"])
            )
            end = {**key, **edit["to"]}
            self.uris.add(uri_of(end["type"], end["name"]))
            self._types[end["name"]] = end["type"]
        if not removed:
            self._types[key["name"]] = key["type"]
            self._define(CONCEPT_TYPE, key["type"])
        return edit

    def _link(self, change: Mapping[str, Any]) -> Key:
        removed = bool(change.get("removed"))
        key = self._link_key(change["link"], removed=removed)
        self.uris.add(_owner(key))
        edit: Key = {"link": key}
        parts = ("attributes", "metadata", "weight", "removed")
        return edit | {part: change[part] for part in parts if part in change}

    def _link_key(self, link: Any, *, removed: bool) -> Key:
        if not isinstance(link, Mapping) or not {"subject", "predicate", "object"} <= link.keys():
            raise InvalidValueType("A link has no subject, predicate and object.", hint=_HINT)
        predicate = check_identifier(link["predicate"], "relation type")
        if not removed:
            self._define(PROPOSITION_TYPE, predicate)
        return {
            "subject": self._end(link["subject"], removed=removed),
            "predicate": predicate,
            "object": self._end(link["object"], removed=removed),
        }

    def _end(self, end: Any, *, removed: bool) -> Key:
        if isinstance(end, Mapping) and "predicate" in end:
            return self._link_key(end, removed=removed)
        key = self._key(end, None)
        name = key["name"]
        is_new = name not in self._types and isinstance(end, str) and self._type_of(name) is None
        if is_new and not removed and key["type"] == RESOURCE:
            self._define(CONCEPT_TYPE, RESOURCE)
            self._resources[name] = {"concept": key}
        return key

    def _key(self, node: Any, type_: Any) -> Key:
        """The type and name of a node."""
        if isinstance(node, Mapping):
            if isinstance(node.get("type"), str) and isinstance(node.get("name"), str):
                return {"type": node["type"], "name": node["name"]}
            raise InvalidValueType("A concept has a type and a name.", hint=_HINT)
        uri = self._uri(node)
        if uri.is_kip:
            identity = kip_identity(uri)
            if isinstance(identity, str):
                raise InvalidValueType(
                    f"{shorten(uri.text)} is an id, which means nothing in another copy.",
                    hint="Name the node by its URI.",
                )
            return {"type": identity[0], "name": identity[1]}
        present_type = self._types.get(uri.text) or self._type_of(uri.text)
        usual = CONCEPT if uri.is_concept else RESOURCE
        return {"type": present_type or type_ or usual, "name": uri.text}

    def _uri(self, text: Any) -> Uri:
        if not isinstance(text, str):
            raise InvalidValueType("A node is named by its URI.", hint=_HINT)
        if text not in self._parsed:
            self._parsed[text] = parse(text, self._workspace)
        return self._parsed[text]

    def _type_of(self, name: str) -> str | None:
        """The type of the node with a URI, in the edited state or now."""
        if name not in self._stored:
            self._look_up({name: parse(name, self._workspace)})
        return self._stored[name]

    def _look_up(self, uris: Mapping[str, Uri]) -> None:
        """Read the types of the nodes with these URIs, all at once."""
        self._stored.update(dict.fromkeys(uris))
        for reader in self._sides:
            matches = find_all(reader, uris.values())
            for name, uri in uris.items():
                match = matches.get(uri.text)
                if match is not None and not match.is_missing:
                    self._stored[name] = match.type

    def _collect_uris(self, changes: Sequence[Mapping[str, Any]]) -> dict[str, Uri]:
        """The URIs in changes, in normal form. Invalid ones are refused later, at their place."""
        uris: dict[str, Uri] = {}
        for text in _texts(changes):
            try:
                uri = self._uri(text)
            except MycelError:
                continue
            if not uri.is_kip:
                uris[uri.text] = uri
        return uris

    def _define(self, meta_type: str, name: str) -> None:
        """Define a type or relation type, with the first change that needs it."""
        if (meta_type, name) in self._defined:
            return
        self._defined.add((meta_type, name))
        if self._now.find_concept(meta_type, name) is None:
            definition = DEFINITIONS.get(name) if meta_type == CONCEPT_TYPE else None
            self._definitions[meta_type, name] = {
                "concept": {"type": meta_type, "name": check_identifier(name, "type")},
                "attributes": definition or UNDESCRIBED,
            }


def _texts(changes: Iterable[Any]) -> Iterator[str]:
    """The texts that name nodes: in changes, and at the ends of links."""
    for change in changes:
        if isinstance(change, str):
            yield change
        elif isinstance(change, Mapping):
            parts = ("node", "concept", "to", "link", "subject", "object")
            yield from _texts(change[part] for part in parts if part in change)


def edited_uris(edits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The URIs that edits are about, without definitions of types."""
    for edit in edits:
        if "link" in edit:
            yield _owner(edit["link"])
            continue
        key = edit["concept"]
        if key["type"] in (CONCEPT_TYPE, PROPOSITION_TYPE):
            continue
        yield uri_of(key["type"], key["name"])
        if "to" in edit:
            end = {**key, **edit["to"]}
            yield uri_of(end["type"], end["name"])


def _owner(link: Mapping[str, Any]) -> str:
    """The URI of the concept to which a link belongs."""
    end: Mapping[str, Any] = link["subject"]
    while "predicate" in end:
        end = end["subject"]
    return uri_of(end["type"], end["name"])


def _check(change: object) -> None:
    if (
        not isinstance(change, Mapping)
        or sum(part in change for part in ("concept", "node", "link")) != 1
        or not change.keys() <= _PARTS
    ):
        raise InvalidValueType(
            "A change is an object with a node or a link, and what became of it.", hint=_HINT
        )
