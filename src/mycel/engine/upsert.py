"""UPSERT: create or change concepts and links, block by block (KIP §4.1).

The outcome and the errors are the same as if the blocks were executed one after the other. Puts are
queued in a `Batch`; a block that expects a version, names an id, or defines a type or predicate is
executed at once, after the queue is written.

A long capsule is read and written some blocks at a time. Memory then holds the handles and ids of
all blocks, but the trees of only a few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias, assert_never

from mycel.engine.batch import (
    Batch,
    Block,
    BlockPlace,
    ConceptPut,
    End,
    LinkPut,
    concepts_there,
    settled,
    written_id,
)
from mycel.engine.metadata_warnings import MetadataWarnings
from mycel.engine.outcome import Outcome, all_or_nothing
from mycel.engine.protection_guard import FOUNDATION_LINKS, MEMBERSHIP
from mycel.engine.references import (
    check_predicate,
    check_type,
    concept_with_id,
    is_symmetric,
    link_with_id,
    no_such_concept,
)
from mycel.engine.values import Values
from mycel.errors import (
    ConstraintViolation,
    DiskFull,
    DuplicateExists,
    ExecutionTimeout,
    InternalError,
    MycelError,
    NotFound,
)
from mycel.kip import ast
from mycel.model.elements import Concept
from mycel.model.names import META_TYPES, SYSTEM_ACTOR
from mycel.model.records import canonical_weight
from mycel.model.values import JsonObject
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import located

_SECTION_BLOCKS: Final = 1000
_SECTION_CHARACTERS: Final = 1 << 18
"""The size of a section: blocks of a statement whose concepts are looked up together."""
_QUEUE_PUTS: Final = 2000
_QUEUE_CHARACTERS: Final = 1 << 18
"""The sizes from which a queue is written at the end of a section."""
_CREATE_IT: Final = ", or create it with a CONCEPT block before this one"
_Metadata: TypeAlias = JsonObject | None


class LinkKeys(NamedTuple):
    """The content of a link to write."""

    attributes: JsonObject | None
    metadata: _Metadata
    weight: float | None


def upsert(tx: Transaction, capsule: ast.Capsule, values: Values) -> Outcome:
    """Execute a capsule of one or several UPSERT statements; an error names the block that failed.

    If a long capsule has several errors, a syntax error is raised first, as if the whole text had
    been parsed before.
    """
    statements = iter(capsule.upserts)
    run = _Run(tx, values)
    count = 0
    with all_or_nothing(tx):
        try:
            for statement in statements:
                count += 1
                run.upsert(statement, count)
            return run.finish()
        except (InternalError, DiskFull, ExecutionTimeout):
            raise
        except MycelError as error:
            if "line" in error.data:
                raise  # The error is about syntax: all other errors have a span here.
            count += sum(1 for _ in statements)
            ordinal = error.data.pop("upsert", None)
            if ordinal is not None and count > 1:
                error.message = f"UPSERT {ordinal}: {error.message}"
                error.args = (error.message,)
                error.data["upsert"] = ordinal
            raise


class _Run:
    """The execution of one capsule."""

    def __init__(self, tx: Transaction, values: Values) -> None:
        self._tx: Final = tx
        self._values: Final = values
        self._batch: Final = Batch(tx)
        self._known: Final[dict[tuple[str, str], End]] = {}
        """Concepts by type and name: existing concepts, and concepts that a queued put creates.

        Each element has one `End`: its id if it exists, and otherwise the put.
        """
        self._warnings: Final = MetadataWarnings()
        self._defined: Final[set[str | tuple[str]]] = set()
        """Names that are known to be defined: a type as a string, a predicate as a tuple of one
        string."""
        self._concepts: Final = _Written()
        self._links: Final = _Written()
        self._blocks = 0
        self._characters = 0
        """The characters of the blocks that may still be in the queue."""

    def upsert(self, statement: ast.Upsert, ordinal: int) -> None:
        metadata = self._metadata(statement.metadata, None)
        handles: dict[str, End] = {}
        waiting: list[str] = []
        """Handles of elements that may still be in the queue."""
        at = 0
        for section in _sections(statement.blocks):
            self._look_up(section)
            for block in section:
                at += 1
                place = BlockPlace(statement, ordinal, at, block)
                try:
                    self._block(block, handles, metadata, place)
                except MycelError as error:
                    if "block" in error.data or "line" in error.data:
                        # The error is about syntax, or about an earlier block that was written just
                        # now.
                        raise
                    self._batch.write()  # If an earlier block fails, its error is reported.
                    raise place.name_block(error) from None
            waiting += [block.handle.name for block in section if block.handle is not None]
            self._characters += section[-1].span.end - section[0].span.start
            if len(self._batch) > _QUEUE_PUTS or self._characters > _QUEUE_CHARACTERS:
                self._write()
                handles.update([(name, settled(handles[name])) for name in waiting])
                waiting.clear()
        self._blocks += at

    def finish(self) -> Outcome:
        self._write()
        self._tx.warnings.extend(self._warnings)
        return Outcome(
            {
                "blocks": self._blocks,
                "upsert_concept_nodes": list(dict.fromkeys(self._concepts.elements)),
                "upsert_proposition_links": list(dict.fromkeys(self._links.elements)),
            }
        )

    def _write(self) -> None:
        """Write the queue, and keep only the ids of its elements."""
        self._batch.write()
        self._characters = 0
        self._known.clear()
        self._concepts.settle()
        self._links.settle()

    def _block(
        self, block: Block, handles: dict[str, End], metadata: _Metadata, place: BlockPlace
    ) -> None:
        handle = block.handle
        if handle is not None and handle.name in handles:
            raise DuplicateExists(
                f"The handle ?{handle.name} is defined already in this UPSERT.",
                hint="Give each block its own handle, or leave out one that nothing refers to.",
                span=handle.span,
            )
        own = self._metadata(block.metadata, metadata)
        if isinstance(block, ast.ConceptBlock):
            element = self._concept(block, own, place)
            self._concepts.add(element)
            for entry in block.propositions or ():
                self._entry(element, entry, handles, own, place)
        else:
            element = self._proposition(block, handles, own, place)
            self._links.add(element)
        if handle is not None:
            handles[handle.name] = element

    def _look_up(self, section: Sequence[Block]) -> None:
        """Find all concepts that the blocks name, with one look-up for each type."""
        names: dict[str, list[str]] = {}
        for matcher in _matchers(section):
            try:
                key = self._identity(matcher)
            except MycelError:
                continue  # Executing the block raises the error with its place.
            if key not in self._known:
                names.setdefault(key[0], []).append(key[1])
        self._known.update(concepts_there(self._tx, names))

    # Blocks of concepts.

    def _concept(self, block: ast.ConceptBlock, metadata: _Metadata, place: BlockPlace) -> End:
        matcher = block.matcher
        if matcher.id is not None:
            self._batch.write()
            concept = self._concept_with_id(matcher.id)
            self._change(concept, block, metadata)
            return concept
        type_name, name = self._identity(matcher)
        existing = self._known.get((type_name, name))
        if existing is not None and _only_refers(block):
            if block.expect_version is None:
                return settled(existing)
            metadata = None
        attributes = self._attributes(block)
        if block.expect_version is not None or type_name in META_TYPES:
            self._batch.write()
            id_ = self._tx.put_concept(
                type_name, name, attributes, metadata, expect_version=self._version(block)
            )
            self._known[type_name, name] = id_
            return id_
        if type_name not in self._defined:
            check_type(self._tx, type_name, in_upsert=True)
            self._defined.add(type_name)
        if isinstance(existing, ConceptPut) and existing.id is None:
            self._batch.write()  # The concept is put a second time, so it must exist first.
        put = ConceptPut(type_name, name, attributes, metadata, place)
        put.id = None if existing is None else str(settled(existing))
        self._batch.put_concept(put)
        element = self._known[type_name, name] = settled(put)
        return element

    def _identity(self, matcher: ast.ConceptMatcher) -> tuple[str, str]:
        if matcher.type is None or matcher.name is None:
            raise ConstraintViolation(
                "The concept of a block needs a type and a name, or an id.",
                hint='Write {type: "…", name: "…"}; or {id: "…"} for an existing concept.',
                span=matcher.span,
            )
        return (
            self._values.text(matcher.type, "type of a concept"),
            self._values.text(matcher.name, "name of a concept"),
        )

    def _entry(
        self,
        subject: End,
        entry: ast.SetProposition,
        handles: dict[str, End],
        metadata: _Metadata,
        place: BlockPlace,
    ) -> None:
        """Write one entry of SET PROPOSITIONS, which only adds."""
        predicate = self._predicate(entry.predicate)
        target = self._end(entry.target, handles, place)
        own = self._metadata(entry.metadata, metadata)
        if entry.metadata is None and self._is_foundation(subject, predicate, target):
            own = None
        keys = LinkKeys(None, own, self._weight(entry.weight))
        self._links.add(self._link(subject, predicate, target, keys, place))

    # Blocks of links.

    def _proposition(
        self,
        block: ast.PropositionBlock,
        handles: dict[str, End],
        metadata: _Metadata,
        place: BlockPlace,
    ) -> End:
        target = block.target
        if isinstance(target, ast.LinkById):
            self._batch.write()
            link = self._link_with_id(target.id)
            self._change(link, block, metadata)
            return link
        subject, predicate, object_ = self._pattern(target, handles, place)
        if _only_refers(block) and self._is_foundation(subject, predicate, object_):
            metadata = None
        keys = LinkKeys(self._attributes(block), metadata, self._weight(block.weight))
        if block.expect_version is None:
            return self._link(subject, predicate, object_, keys, place)
        self._batch.write()
        ends = [settled(end) for end in (subject, object_)]
        return self._tx.put_proposition(
            str(ends[0]),
            predicate,
            str(ends[1]),
            keys.attributes,
            keys.metadata,
            weight=keys.weight,
            expect_version=self._version(block),
        )

    def _is_foundation(self, subject: End, predicate: str, object_: End) -> bool:
        """True for a link of the foundation, which does not inherit the metadata of the UPSERT.

        A capsule may repeat such a link, but only `$system` may change it.
        """
        if predicate != MEMBERSHIP or self._tx.actor == SYSTEM_ACTOR:
            return False
        return (self._identity_at(subject), self._identity_at(object_)) in FOUNDATION_LINKS

    def _identity_at(self, end: End) -> tuple[str, str] | None:
        if isinstance(end, LinkPut):
            return None
        if isinstance(end, ConceptPut):
            return end.type, end.name
        element = self._tx.get(end)
        return (element.type, element.name) if isinstance(element, Concept) else None

    def _link(
        self,
        subject: End,
        predicate: str,
        object_: End,
        keys: LinkKeys,
        place: BlockPlace,
    ) -> LinkPut:
        subject, object_ = self._ends(subject, object_)
        put = LinkPut(subject, predicate, object_, *keys, place)
        self._batch.put_link(put)
        return put

    def _ends(self, subject: End, object_: End) -> tuple[str | ConceptPut, str | ConceptPut]:
        """The ends of a link to queue. If one of them is a queued link, the queue is written."""
        subject, object_ = settled(subject), settled(object_)
        if isinstance(subject, LinkPut) or isinstance(object_, LinkPut):
            self._batch.write()
            return written_id(subject), written_id(object_)
        return subject, object_

    # References in blocks.

    def _end(self, node: ast.Endpoint, handles: dict[str, End], place: BlockPlace) -> End:
        match node:
            case ast.Variable(name):
                if name not in handles:
                    raise located(place.undefined(name), node.span)
                return settled(handles[name])
            case ast.ConceptMatcher():
                return self._existing(node)
            case ast.LinkById(text):
                return self._link_with_id(text)
            case ast.LinkPattern():
                return self._existing_link(node, handles, place)
            case _:
                assert_never(node)

    def _concept_with_id(self, node: ast.Text) -> str:
        return concept_with_id(self._tx.reader, self._values.text(node, "id of a concept")).id

    def _link_with_id(self, node: ast.Text) -> str:
        return link_with_id(self._tx.reader, self._values.text(node, "id of a proposition")).id

    def _existing(self, matcher: ast.ConceptMatcher) -> End:
        if matcher.id is not None:
            return self._concept_with_id(matcher.id)
        key = self._identity(matcher)
        element = self._known.get(key)
        if element is None:
            check_type(self._tx, key[0], in_upsert=True)
            raise located(no_such_concept(self._tx.reader, *key, _CREATE_IT), matcher.span)
        return settled(element)

    def _pattern(
        self, node: ast.LinkPattern, handles: dict[str, End], place: BlockPlace
    ) -> tuple[End, str, End]:
        if not isinstance(node.predicate, ast.Literal | ast.Placeholder):
            raise ConstraintViolation(
                "The proposition of a block needs a single predicate.",
                hint="Hops, alternatives and variables are for WHERE alone.",
                span=node.span,
            )
        predicate = self._predicate(node.predicate)
        subject = self._end(node.subject, handles, place)
        return subject, predicate, self._end(node.object, handles, place)

    def _predicate(self, node: ast.Text) -> str:
        predicate = self._values.text(node, "predicate")
        if (predicate,) not in self._defined:
            check_predicate(self._tx, predicate, in_upsert=True)
            self._defined.add((predicate,))
        return predicate

    def _existing_link(
        self, node: ast.LinkPattern, handles: dict[str, End], place: BlockPlace
    ) -> End:
        """The link that a nested pattern describes, which must exist."""
        subject, predicate, object_ = self._pattern(node, handles, place)
        subject, object_ = self._ends(subject, object_)
        link = self._find_link(subject, predicate, object_)
        if link is None and is_symmetric(self._tx, predicate):
            link = self._find_link(object_, predicate, subject)
        if link is None:
            raise NotFound(
                f"There is no link {predicate!r} between these two elements.",
                hint="A nested pattern refers to a link that exists. Create it with a PROPOSITION"
                " block before this one, give it a handle and use that.",
                span=node.span,
            )
        return link

    def _find_link(
        self, subject: str | ConceptPut, predicate: str, object_: str | ConceptPut
    ) -> End | None:
        waiting = self._batch.waiting_link(subject, predicate, object_)
        if waiting is not None or not (isinstance(subject, str) and isinstance(object_, str)):
            return waiting  # A concept that waits in the queue has no stored links.
        link = self._tx.get_edge(subject, predicate, object_)
        return None if link is None else link.id

    # Keys and versions.

    def _change(self, id_: str, block: Block, metadata: _Metadata) -> None:
        """Merge keys into the element with this id."""
        self._tx.update(
            id_,
            attributes=self._attributes(block),
            metadata=None if _only_refers(block) else metadata,
            weight=None if isinstance(block, ast.ConceptBlock) else self._weight(block.weight),
            expect_version=self._version(block),
        )

    def _attributes(self, block: Block) -> JsonObject | None:
        attributes = block.attributes
        return None if attributes is None else self._values.mapping(attributes, "attributes")

    def _weight(self, node: ast.Number | None) -> float | None:
        if node is None:
            return None
        try:
            return canonical_weight(self._values.number(node, "weight"))
        except MycelError as error:
            raise located(error, node.span) from None

    def _metadata(self, node: ast.Map | None, outer: _Metadata) -> _Metadata:
        """Merge metadata of an inner level into the outer; inner keys win, null too (KIP §2.10)."""
        if node is None:
            return outer
        inner = self._values.mapping(node, "metadata")
        self._warnings.check(inner)
        return inner if not outer else outer | inner

    def _version(self, block: Block) -> int | None:
        if block.expect_version is None:
            return None
        version = self._values.integer(block.expect_version, "expected version")
        if version < 0:
            raise ConstraintViolation(
                f"The expected version cannot be {version}.",
                hint="Versions count from 1; 0 says that the element must not exist yet.",
                span=block.expect_version.span,
            )
        return version


def _only_refers(block: Block) -> bool:
    """True if a block sets nothing, so it only refers to an existing element.

    Such an element takes none of the metadata of the UPSERT (KIP §4.1).
    """
    weight = None if isinstance(block, ast.ConceptBlock) else block.weight
    return block.attributes is None and block.metadata is None and weight is None


class _Written:
    """The elements of a result: ids of written elements, then puts in the queue."""

    def __init__(self) -> None:
        self.elements: Final[list[End]] = []
        self.add: Final = self.elements.append
        self._settled = 0

    def settle(self) -> None:
        """Replace puts by the ids of their elements, once they are written."""
        self.elements[self._settled :] = map(settled, self.elements[self._settled :])
        self._settled = len(self.elements)


def _sections(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """The blocks of a statement in order, divided into sections."""
    section: list[Block] = []
    for block in blocks:
        section.append(block)
        length = block.span.end - section[0].span.start
        if length > _SECTION_CHARACTERS or len(section) == _SECTION_BLOCKS:
            yield section
            section = []
    if section:
        yield section


def _matchers(blocks: Sequence[Block]) -> Iterator[ast.ConceptMatcher]:
    """Every matcher in these blocks that can identify a concept by type and name."""
    nodes: list[ast.Endpoint] = []
    for block in blocks:
        if isinstance(block, ast.ConceptBlock):
            yield block.matcher
            nodes += [entry.target for entry in block.propositions or ()]
        else:
            nodes.append(block.target)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.ConceptMatcher):
            yield node
        elif isinstance(node, ast.LinkPattern):
            nodes += [node.subject, node.object]
