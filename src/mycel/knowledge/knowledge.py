"""The class `Knowledge`: concepts, resources and relations of one workspace, by URI.

A node is a KIP concept whose name is its URI. A relation is a proposition with a weight. So KIP can
query nodes and relations that were written here, and this class can read what KIP wrote.

Methods that read are in `knowledge_view`; methods that write are here. Each of these is one
transaction, and idempotent. Threads may share one `Knowledge`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, TypeVar

from mycel.engine.archive import archive_element, restore_element
from mycel.engine.supersede import supersede_element
from mycel.errors import MycelError
from mycel.graph.walk import check_whole
from mycel.knowledge import node_merge, node_moves, node_writer, relation_writer
from mycel.knowledge.input_values import drafts, uri_list
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.name_resolution import former_bearers, locate, name_line, node_at, resolve_all
from mycel.knowledge.node_conflicts import conflict_warnings
from mycel.knowledge.node_lookup import element_uri
from mycel.knowledge.node_values import (
    Linked,
    MergedNode,
    NewNode,
    NewRelation,
    NodeOutcome,
    Remembered,
    Removed,
    Written,
)
from mycel.knowledge.references import References, find_references
from mycel.knowledge.similar_notes import CHECKED_MAX, TimeBudget, similar_notes
from mycel.knowledge.uris import Uri
from mycel.knowledge.vocabulary import metadata_warnings
from mycel.model import ids
from mycel.model.records import canonical_weight
from mycel.store.query import lookup
from mycel.store.query.candidates import pending_concepts
from mycel.store.write.transaction import Transaction

T = TypeVar("T")

PENDING_MAX: Final = 32
"""The maximum number of pending elements of the text index for which it is updated before notes are
compared."""
RELATED_MAX: Final = 100
"""The maximum number of relations of a call whose ends are left out of warnings about similar
notes."""


class Knowledge(KnowledgeView):
    """Concepts, resources and relations of a graph, by URI, to read and to write."""

    @cached_property
    def _checks(self) -> TimeBudget:
        """The time budget for comparing new notes with others."""
        return TimeBudget()

    def references(self, name: str) -> References:
        """The uses of a symbol, line by line: `save`, `Cart.save`, or a URI.

        If no symbol has the name, the files are searched for it. Relations from a bootstrap tell
        certain uses from possible ones.
        """
        address = self.uri(name)
        with self._reading() as reader:
            return find_references(reader, self, address)

    def add(
        self,
        uri: str,
        *,
        name: str | None = None,
        content: str | None = None,
        type: str | None = None,  # noqa: A002 - the word for it
        properties: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        relations: Iterable[NewRelation | Mapping[str, Any]] = (),
        exist_ok: bool = False,
        message: str = "",
    ) -> Written:
        """Add a node, and relations of it; broken links to its URI heal.

        Without a `type`, `concept://` URIs are of the type Concept and all others Resource. The
        source of a relation defaults to this node. With `exist_ok`, values are merged into a node
        that exists.

        Raises:
            DuplicateExists: the node exists with other values.
        """
        node = NewNode(uri, name, content, type, properties, metadata)
        remembered = self._remember(
            (node,), drafts(relations, NewRelation, source=uri), merge=exist_ok, message=message
        )
        changed = remembered.nodes[0].changed or any(
            relation.changed for relation in remembered.relations
        )
        return replace(remembered.nodes[0], changed=changed, warnings=remembered.warnings)

    def update(
        self,
        uri: str,
        *,
        name: str | None = None,
        content: str | None = None,
        type: str | None = None,  # noqa: A002 - the word for it
        append: str | None = None,
        properties: Mapping[str, Any] | None = None,
        drop: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        expect_version: int | None = None,
        message: str = "",
    ) -> Written:
        """Merge values into a node, and remove the properties named in `drop`.

        `append` adds a line to the content, unless the content already ends with that line. A
        `type` that is not defined is registered.

        Raises:
            NotFound: there is no such node.
            ConstraintViolation: the values do not fit the type, or a bootstrap made the node and
                gave it its type.
            VersionConflict: its version is not `expect_version`.
        """
        address = self.uri(uri)
        if expect_version is not None:
            check_whole("expect_version", expect_version)
        changes = node_writer.NodeChanges(
            name, content, type, append, properties, drop, metadata, expect_version
        )
        (written, lines), warnings = self._write(
            lambda tx: node_writer.update_node(tx, address, changes), message
        )
        doubtful = metadata_warnings(metadata, written.uri)
        contested = self._contested({written.id: written.uri})
        return replace(written, warnings=(*lines, *doubtful, *warnings, *contested))

    def move(self, uri: str, new_uri: str, *, subtree: bool = False, message: str = "") -> Written:
        """Give a node another URI; its relations stay. With `subtree`, all nodes below it move too.

        Broken links to the new URI heal.

        Raises:
            NotFound: there is no such node.
            DuplicateExists: there is one under the new URI.
        """
        old, hint = self._present(self.uri(uri), subtree=subtree)
        new = self.uri(new_uri, kind="file" if old.is_file else "concept")
        written, warnings = self._write(
            lambda tx: node_moves.move_node(tx, old, new, subtree=subtree), message
        )
        self.context.rename(old.text, new.text, subtree=subtree)
        return replace(written, warnings=(*(hint if old.text != new.text else ()), *warnings))

    def _present(self, uri: Uri, *, subtree: bool) -> tuple[Uri, tuple[str, ...]]:
        """The present URI of a node, and a sentence about the other name that was given, if any."""
        with self._reading() as reader:
            if uri.is_kip:
                located = locate(reader, uri)
                return self.uri(element_uri(located.concept)), ()
            if subtree and lookup.named_below(reader, uri.text, limit=1):
                return uri, ()
            node = resolve_all(reader, (uri,), at_home=True).get(uri)
        if node is None:
            return uri, ()
        return node.uri, tuple(name_line({uri: node}))

    def merge_nodes(self, uri: str, into: str, *, message: str = "") -> MergedNode:
        """Merge a node into another one, even of another type, and remove it.

        Its relations move to the other node, and its text is added there. The other node also takes
        over missing properties and metadata, and gets the URI and name of the removed node as
        aliases. Warnings name values that were not taken over. From now on, the old URI leads to
        the other node.

        Raises:
            NotFound: one of them does not exist.
            ConstraintViolation: a bootstrap made the first node, or only the second is a resource.
            ImmutableTarget: one of them is protected.
        """
        source, target = self.uri(uri), self.uri(into)
        merge, warnings = self._write(
            lambda tx: node_merge.merge_nodes(tx, source, target), message
        )
        if merge.changed:
            self.context.discard(merge.merged, why=f"merged into {merge.uri}")
        contested = self._contested({merge.id: merge.uri})
        return replace(merge, warnings=(*merge.warnings, *warnings, *contested))

    def delete(self, uri: str, *, reason: str = "", message: str = "") -> Removed:
        """Remove a node with all its relations. History keeps them, with the reason.

        A former URI, an alias and a short name lead to their node, as in `get`. But aliases and
        short names count only inside the workspace. The URI of a node that was merged into another
        one removes nothing.

        Raises:
            NotFound: there never was such a node.
            AmbiguousName: several have the short name.
        """
        address = self.uri(uri)
        (removed, called), warnings = self._write(
            lambda tx: node_writer.delete_node(tx, address, reason=reason), message
        )
        self.context.discard(called, why="deleted")
        return replace(removed, warnings=(*removed.warnings, *warnings))

    def delete_many(
        self,
        uris: Iterable[str],
        *,
        relations: Iterable[tuple[str, str, str]] = (),
        reason: str = "",
        message: str = "",
    ) -> tuple[NodeOutcome[Removed], ...]:
        """Remove nodes with all their relations, and single relations, as one transaction.

        Returns an outcome for each URI, then one for each relation (source, relation, target). A
        URI that never named a node has an error as its outcome; the others have the resolved URI.
        Any other error is raised, and nothing is removed.
        """
        refs = uri_list(uris)
        single = [(self.uri(source), name, self.uri(end)) for source, name, end in relations]
        called: list[str] = []

        def work(tx: Transaction) -> tuple[NodeOutcome[Removed], ...]:
            called.clear()

            def delete(address: Uri) -> Removed:
                removed, name = node_writer.delete_node(tx, address, reason=reason)
                called.append(name)
                return removed

            def unlink(source: Uri, name: str, target: Uri) -> NodeOutcome[Removed]:
                removed_relation = relation_writer.remove_relation(
                    tx, (source, target), name, reason
                )
                removed = Removed(
                    0,
                    int(removed_relation.is_removed),
                    removed_relation.hints if removed_relation.is_removed else (),
                )
                return NodeOutcome(str(removed_relation), removed)

            unlinked = [unlink(*triple) for triple in single]
            names = iter(called)
            deleted = (
                ref if ref.result is None else replace(ref, uri=next(names))
                for ref in self._map_refs(refs, delete)
            )
            return (*deleted, *unlinked)

        outcomes, warnings = self._write(work, message)
        for name in called:
            self.context.discard(name, why="deleted")
        if warnings and outcomes:
            outcomes = (replace(outcomes[0], warnings=warnings), *outcomes[1:])
        return outcomes

    def archive(
        self, uris: Iterable[str], *, reason: str = "", message: str = ""
    ) -> tuple[NodeOutcome[bool], ...]:
        """Hide nodes from ordinary answers, as one transaction; `restore` brings them back.

        Returns an outcome for each URI: False for a node that was archived already, or an error.

        Raises:
            ImmutableTarget: one is a definition, or protected; nothing is archived then.
        """
        refs = uri_list(uris)

        def hide(tx: Transaction) -> tuple[NodeOutcome[bool], ...]:
            return self._map_refs(
                refs, lambda address: archive_element(tx, node_at(tx.reader, address), reason)
            )

        outcomes, warnings = self._write(hide, message)
        if warnings and outcomes:
            outcomes = (replace(outcomes[0], warnings=warnings), *outcomes[1:])
        return outcomes

    def restore(self, uris: Iterable[str], *, message: str = "") -> tuple[NodeOutcome[bool], ...]:
        """Bring archived nodes back, with their relations, as one transaction.

        Returns an outcome for each URI; the first one has the warnings of all.
        """
        refs = uri_list(uris)

        def show(tx: Transaction) -> tuple[NodeOutcome[bool], ...]:
            return self._map_refs(
                refs, lambda address: restore_element(tx, node_at(tx.reader, address))
            )

        outcomes, warnings = self._write(show, message)
        if warnings and outcomes:
            outcomes = (replace(outcomes[0], warnings=warnings), *outcomes[1:])
        return outcomes

    def supersede(
        self, uri: str, by: str, *, valid_until: str = "", reason: str = "", message: str = ""
    ) -> tuple[str, str]:
        """Mark a node as superseded by another one. Returns the URIs of the old and the new one.

        The old one holds until `valid_until`, or else until the `valid_from` of the new one, or
        else until now.

        Raises:
            InvalidSyntax: `valid_until` is no time.
            NotFound: there is no such node.
            SelfEdgeError: both are the same node.
            ConstraintViolation: the old one supersedes the new one already.
        """
        old, new = self.uri(uri), self.uri(by)

        def work(tx: Transaction) -> tuple[str, str]:
            nodes = node_at(tx.reader, old), node_at(tx.reader, new)
            supersede_element(tx, *nodes, reason, valid_until)
            return element_uri(nodes[0]), element_uri(nodes[1])

        uris, _ = self._write(work, message)
        return uris

    def remember(
        self,
        concepts: Iterable[NewNode | Mapping[str, Any]] = (),
        relations: Iterable[NewRelation | Mapping[str, Any]] = (),
        *,
        exist_ok: bool = True,
        message: str = "",
    ) -> Remembered:
        """Write nodes and relations as one transaction: all of them, or none.

        Each is a `NewNode` or `NewRelation`, or an object with its fields.
        """
        return self._remember(
            drafts(concepts, NewNode),
            drafts(relations, NewRelation),
            merge=exist_ok,
            message=message,
        )

    def _remember(
        self,
        nodes: tuple[NewNode, ...],
        relations: tuple[NewRelation, ...],
        *,
        merge: bool,
        message: str,
    ) -> Remembered:
        refs: list[Any] = [node.uri for node in nodes]
        refs += [end for relation in relations for end in (relation.source, relation.target)]
        texts = dict.fromkeys(ref for ref in refs if isinstance(ref, str))
        parsed = {text: self.uri(text) for text in texts}  # Many relations have the same ends.
        all_uris = [parsed[ref] if isinstance(ref, str) else self.uri(ref) for ref in refs]
        uris, targets = all_uris[: len(nodes)], iter(all_uris[len(nodes) :])
        ends = list(zip(targets, targets, strict=True))

        def work(tx: Transaction) -> Remembered:
            written, lines = node_writer.put_nodes(tx, nodes, uris, merge=merge)
            own = {ids.parse_id(node.id) for node in written}
            linked, more = (
                relation_writer.put_relations(tx, relations, ends, self.file_at, own)
                if relations
                else ([], [])
            )
            return Remembered(tuple(written), tuple(linked), (*lines, *more))

        remembered, warnings = self._write(work, message)
        owners = [(node.metadata, node.uri) for node in nodes]
        owners += [(r.metadata, f"{r.source} —{r.relation}→ {r.target}") for r in relations]
        doubtful = [warning for owner in owners for warning in metadata_warnings(*owner)]
        written = {node.id: node.uri for node in remembered.nodes if not node.created}
        written |= {
            relation.id: f"{relation.source} —{relation.relation}→ {relation.target}"
            for relation in remembered.relations
            if not relation.created
        }
        contested = self._contested(written)
        close = self._close_to_others(remembered)
        return replace(
            remembered, warnings=(*remembered.warnings, *doubtful, *warnings, *contested, *close)
        )

    def _close_to_others(self, outcome: Remembered) -> list[str]:
        """Warnings about the first of the new nodes, if they resemble existing notes."""
        new = [ids.parse_id(node.id) for node in outcome.nodes if node.created][:CHECKED_MAX]
        if not new:
            return []
        # The write has succeeded, so a failed comparison must not raise an error.
        with suppress(MycelError), self._checks.spending() as is_affordable:
            if is_affordable:
                return self._known_already(new, outcome)
        return []

    def _known_already(self, new: Sequence[int], outcome: Remembered) -> list[str]:
        with self._reading() as reader:
            is_behind = len(pending_concepts(reader)) > PENDING_MAX
        with self._reading(words=is_behind) as reader:
            numbers = [ids.parse_id(relation.id) for relation in outcome.relations[:RELATED_MAX]]
            links = map(reader.link, numbers)
            related = {end for link in links if link is not None for end in link.ends}
            formers = former_bearers(reader, new)
            return [*formers, *map(str, similar_notes(reader, new, related))]

    def _contested(self, written: Mapping[str, str]) -> list[str]:
        """Warnings about open merge conflicts at elements that were written."""
        if not written:
            return []
        with self._reading() as reader:
            return conflict_warnings(reader, written)

    def link(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        weight: float | None = None,
        properties: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        message: str = "",
    ) -> Linked:
        """Relate two nodes, or merge values into their relation.

        A new relation type is registered, and a missing resource is added. A missing concept gets a
        placeholder, and a warning: see `broken_links`.

        Raises:
            ConstraintViolation: the weight is not within 0 and 1.
            SelfEdgeError: both ends are the same node.
        """
        draft = NewRelation(source, relation, target, weight, properties, metadata)
        remembered = self._remember((), (draft,), merge=True, message=message)
        return replace(remembered.relations[0], warnings=remembered.warnings)

    def unlink(
        self, source: str, relation: str, target: str, *, reason: str = "", message: str = ""
    ) -> bool:
        """Remove a relation. Returns False if there was none."""
        ends = self.uri(source), self.uri(target)

        removed, _ = self._write(
            lambda tx: relation_writer.remove_relation(tx, ends, relation, reason), message
        )
        return removed.is_removed

    def set_weight(
        self, source: str, relation: str, target: str, weight: float, *, message: str = ""
    ) -> Linked:
        """Set the cost of following a relation: from 0 to 1.

        Raises:
            NotFound: there is no such relation.
            ConstraintViolation: the weight is not within 0 and 1.
        """
        ends, cost = (self.uri(source), self.uri(target)), canonical_weight(weight)
        linked, warnings = self._write(
            lambda tx: relation_writer.set_weight(tx, ends, relation, cost), message
        )
        return replace(linked, warnings=(*linked.warnings, *warnings))

    def _write(self, work: Callable[[Transaction], T], message: str) -> tuple[T, tuple[str, ...]]:
        """Run a function as one transaction. Returns its result, and the warnings of the guards."""
        ran: list[Transaction] = []

        def run(tx: Transaction) -> T:
            ran[:] = [tx]
            return work(tx)

        result = self.db.write(run, message=message)
        return result, tuple(ran[0].warnings)
