"""Plans a merge: the goal of every changed element, and the conflicts to decide first.

1. Elements that the source has changed since the base are merged, one by one (`element_merge`).
   Links that were removed with an element stay if the element stays.
2. If two elements would have one key, links are joined, and concepts are a conflict.
3. If a link loses an end, it gets a placeholder as its end, or is a conflict.
4. Definitions that are still used stay.
5. Choices about rows that break a constraint replace the merged rows.
6. Each element that differs from the target is a goal (`history.state_steps`).

All numbers are those of the target. A new element has a number from `NEW` on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mycel.engine.missing_concepts import MISSING, MISSING_DEFINITION, SCHEME
from mycel.history.merge.edits import EditSides
from mycel.history.merge.element_merge import ElementMerge, MergeContext, chosen_element, edited
from mycel.history.merge.heirs import with_heirs
from mycel.history.merge.merge_plan import MergePlan
from mycel.history.merge.outcome import Choice, Conflict, Resolution, conflict_id
from mycel.history.merge.requests import Override
from mycel.history.merge.rules import Rules
from mycel.history.merge.schemas import (
    Renames,
    SchemaContest,
    is_declared,
    merge_schemas,
    taking_theirs,
    undeclared,
)
from mycel.history.merge.sides import BranchSides
from mycel.history.merge.versions import (
    OBJECT,
    SUBJECT,
    Base,
    Place,
    Versions,
    content_of,
    values_of,
    with_values,
)
from mycel.history.state_steps import Goal
from mycel.model import allowance
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import CONCEPT_TYPE, META_TYPES, PROPOSITION_TYPE
from mycel.model.values import object_text
from mycel.schema.catalog import Catalog
from mycel.schema.formatter import format_declared
from mycel.schema.model import EdgeType, SchemaType
from mycel.store.log.topological import all_about
from mycel.store.query.alignment import NEW
from mycel.store.query.diff import ABSENT, identity_of, label_of, with_ends
from mycel.store.query.origins import Origin

ROWS_MAX: Final = 20
"""The maximum number of rows that a conflict about a definition shows."""
PLACEHOLDERS_FROM: Final = NEW + (1 << 59)
"""The first number for placeholders that a merge creates."""


class Planner:
    """Makes the plan of one merge."""

    def __init__(
        self,
        sides: BranchSides | EditSides,
        rules: Rules,
        resolutions: Mapping[str, Resolution],
        *,
        by_element: bool,
        restore_purged: bool,
        overrides: Mapping[str, Override],
    ) -> None:
        self._sides: Final = sides
        self._restores: Final = restore_purged
        self._overrides: Final = overrides
        """By label of an element: the side or value that was chosen because of a constraint."""
        self._names: Final[dict[int, Element]] = {}
        self._context: Final = MergeContext(
            *(rules, resolutions, self._names, sides.declared, sides.origin, sides.commits),
            by_element=by_element,
        )
        self._conflicts: Final[dict[str, Conflict]] = {}
        """Conflicts by id; one may be found twice, because keys and links are settled again."""
        self._choices: Final[list[Choice]] = []
        self._warnings: Final[list[str]] = []
        self._results: Final[dict[int, Element | None]] = {}
        self._contested: Final[set[int]] = set()
        """Elements with an undecided conflict as a whole."""
        self._asked: Final[set[int]] = set()
        """Elements with a conflict as a whole, decided or undecided."""
        self._purged: Final[set[int]] = set()
        """Elements that one side has purged."""
        self._overridden: Final[set[int]] = set()
        self._given: Final[set[tuple[int, Place]]] = set()
        self._joined: Final[dict[int, int]] = {}
        """For each joined link: the link with which it has become one."""
        self._base: Final[dict[int, Base]] = {}
        self._ours: Final[dict[int, Element]] = {}
        self._theirs: Final[dict[int, Element]] = {}
        self._read: Final[set[int]] = set()
        self._placeholders: Final[dict[str, int]] = {}
        self._has_revived = False
        self._restored: Final[set[int]] = set()
        """Elements of the target that get back values of a property that the target had dropped."""
        self._schema: tuple[Catalog, Catalog] | None = None
        self._declared: set[tuple[str, str]] = set()
        """Definitions that the merged schema declares, if the schemas differ."""
        self._extras: Final[list[Element]] = []
        self._tell: Final[list[Renames]] = []
        """The new names in the merged schema, for rows of the base, the target and the source."""

    def plan(self) -> MergePlan:
        """The plan of the merge; its goals are complete once every conflict is resolved."""
        touched = set(self._sides.touched)
        self._load(touched)
        touched -= self._merge_schemas(touched)
        purged = self._sides.purged_here(touched & self._theirs.keys())
        if self._restores:
            for number in purged - self._ours.keys():  # Restored as new, without a base.
                self._base.pop(number, None)
        elif purged:
            touched -= purged
            self._forget(purged)
        purges = self._doom(self._sides.purged_there)
        touched -= purges
        for number in sorted(touched):
            allowance.check()
            self._merge(number)
        self._keep_links()
        self._settle_loops()
        self._settle_keys()
        self._settle_links()
        if self._has_revived:  # A restored end may have the key of another element.
            self._settle_keys()
            self._settle_links()
        self._apply_overrides()
        self._keep_definitions()
        self._warn_of_lost_values()
        goals = [
            Goal(self._label(number), self._ours.get(number), then)
            for number, then in self._results.items()
            if (content_of(self._ours.get(number)) != content_of(then) or number in self._restored)
            and (then is not None or number not in purges)
        ]
        return MergePlan(
            tuple(goals),
            with_heirs(self._conflicts.values(), self._sides.reader, self._theirs, self._names),
            tuple(self._choices),
            tuple(self._warnings),
            tuple(sorted(purge for purge in purges if self._results.get(purge) is None)),
            self._names,
            self._schema,
            self._joined,
            self._ours,
            self._theirs,
            self._base,
            frozenset(self._overridden),
            frozenset(self._given),
            tuple(self._extras),
        )

    # Reading.

    def _load(self, numbers: Iterable[int]) -> None:
        """Read elements in all states, with all elements at the ends of their links."""
        unread = {*numbers} - self._read
        if not unread:
            return
        self._read.update(unread)
        self._base.update(self._sides.base(unread))
        for read, side in ((self._sides.theirs, self._theirs), (self._sides.ours, self._ours)):
            fresh = read(unread)
            side.update(fresh)
            self._names.update(with_ends(read, fresh))
        self._leave_out_purged(unread - self._sides.touched)
        self._name_ends_of_base(unread)
        if self._tell:
            self._translate(unread)

    def _leave_out_purged(self, numbers: Iterable[int]) -> None:
        """Leave out elements that the target has purged and the source has not touched since.

        Otherwise a purged link, or its other end, would come back with an element that stays.
        """
        purged = self._sides.purged_here({*numbers} & self._theirs.keys()) - self._ours.keys()
        if not self._restores:
            for number in purged:
                del self._theirs[number]
                self._base.pop(number, None)
            self._purged.update(purged)

    def _name_ends_of_base(self, numbers: Iterable[int]) -> None:
        """Read elements that are ends of links only in the base, for their names."""
        value_maps = [self._base[number].values for number in numbers if number in self._base]
        while value_maps:
            ends = {
                end for values in value_maps for end in (values.get(SUBJECT), values.get(OBJECT))
            }
            missing = {end for end in ends if isinstance(end, int)} - self._names.keys()
            elements = [base.element for base in self._sides.base(missing).values()]
            read = {element.number: element for element in elements if element is not None}
            self._names.update(read)
            value_maps = [values_of(element) for element in read.values()]

    def _versions(self, number: int) -> Versions:
        self._load((number,))
        sides = self._base.get(number), self._ours.get(number), self._theirs.get(number)
        return Versions(number, *sides)

    def _result(self, number: int) -> Element | None:
        """An element after the merge; None if it is removed."""
        if number in self._results:
            return self._results[number]
        if number >= NEW:
            return None
        return self._versions(number).ours

    def _label(self, number: int) -> str:
        element = self._results.get(number) or self._names.get(number)
        return "" if element is None else label_of(identity_of(element, self._names))

    # Schemas.

    def _merge_schemas(self, touched: Iterable[int]) -> set[int]:
        """Merge the schemas, if they have changed. Returns the definitions that they declare."""
        before = {number: base.element for number, base in self._base.items()}
        sides = self._ours, self._theirs, before
        declared = {
            number for number in touched if any(is_declared(side.get(number)) for side in sides)
        }
        base, ours, theirs = self._sides.schemas()
        if base == ours == theirs:
            return declared
        merged = merge_schemas(base, ours, theirs, self._judge_schema)
        if merged != ours:
            self._schema = ours, merged
        self._declared = {
            (
                PROPOSITION_TYPE if isinstance(type_name, EdgeType) else CONCEPT_TYPE,
                type_name.kip_name,
            )
            for type_name in merged.types
        }
        for number in sorted(declared):
            self._merge_extras(number)
        # Such a definition is registered by a document, and declared by the schema of the same
        # edits.
        fresh = (self._theirs[number] for number in touched if number in self._theirs)
        declared |= {
            concept.number
            for concept in fresh
            if isinstance(concept, Concept)
            and (concept.type, concept.name) in self._declared
            and concept.number not in self._ours
        }
        self._tell.extend(Renames(state, merged) for state in (base, ours, theirs))
        self._translate(self._read)
        return declared

    def _translate(self, numbers: Iterable[int]) -> None:
        """Rename types and properties in the versions of elements to those of the merged schema."""
        base, ours, theirs = self._tell
        for number in numbers:
            was = self._base.get(number)
            if base and was is not None and was.element is not None:
                self._base[number] = Base(base.in_merged_names(was.element))
            for renames, side in ((ours, self._ours), (theirs, self._theirs)):
                if renames and number in side:
                    element = side[number]
                    old = self._base.get(number)
                    dropped: Mapping[str, Any] = {}
                    if old is not None and old.element is not None:
                        dropped = renames.dropped_values(element, old.element)
                    is_lost = bool(dropped) or renames.has_replaced(element)
                    if is_lost and side is self._ours:
                        self._restored.add(number)
                    side[number] = renames.in_merged_names(element, dropped)

    def _warn_of_lost_values(self) -> None:
        for type_, name in self._tell[-1].lost if self._tell else ():
            self._warnings.append(
                f"{type_}.{name}: the values of the source are dropped. The merged schema has no"
                " such property, or one of another type."
            )

    def _judge_schema(self, contest: SchemaContest) -> SchemaType | None:
        """Make a conflict about a declaration that both sides have changed."""
        declared = contest.declared
        meta_type = PROPOSITION_TYPE if isinstance(declared, EdgeType) else CONCEPT_TYPE
        identity = {"type": meta_type, "name": declared.kip_name}
        base, ours, theirs = (
            ABSENT if declared_type is None else format_declared(declared_type)
            for declared_type in contest
        )
        id_ = conflict_id("definition", identity, "schema", (), base, ours, theirs)
        number = self._sides.holder(_placed((meta_type, declared.kip_name)))
        users = [] if number is None else list(self._sides.users(number))
        self._load(users[:ROWS_MAX])
        rows = [{"element": f"C:{user}", "label": self._label(user)} for user in users[:ROWS_MAX]]
        resolution = self._context.resolutions.get(id_)
        self._conflicts[id_] = Conflict(
            *(id_, "definition", identity, "schema", (), base, ours, theirs),
            f"Both sides changed this declaration, and the changes are incompatible. {len(users)}"
            " rows of the target have this type.",
            None if number is None else f"C:{number}",
            rows=tuple(rows),
            resolution=resolution,
        )
        sides = {
            "ours": contest.ours,
            "theirs": taking_theirs(contest.ours, contest.theirs),
            "base": contest.base,
        }
        return contest.ours if resolution is None else sides[resolution.choice]

    def _merge_extras(self, number: int) -> None:
        """Merge what the schema does not own in a definition: other attributes, and metadata."""
        base, ours, theirs = self._versions(number)[1:]
        if base is None or base.element is None or ours is None or theirs is None:
            return
        before, mine, others = map(undeclared, (base.element, ours, theirs))
        merging = ElementMerge(self._context, Versions(number, Base(before), mine, others))
        result = merging.run()
        self._note(number, merging)
        if result is not None and content_of(result) != content_of(mine):
            self._extras.append(result)

    # 1. Elements.

    def _merge(self, number: int) -> None:
        versions = self._versions(number)
        if versions.ours is None and versions.theirs is None:
            return
        merging = ElementMerge(self._context, versions)
        self._results[number] = result = merging.run()
        if result is not None:
            self._names[number] = result
        self._note(number, merging)

    def _note(self, number: int, merging: ElementMerge) -> None:
        self._conflicts.update({conflict.id: conflict for conflict in merging.conflicts})
        self._choices.extend(merging.choices)
        self._given.update((number, place) for place in merging.given)
        conflicts = [conflict for conflict in merging.conflicts if not conflict.field]
        if conflicts:
            self._asked.add(number)
        if any(conflict.resolution is None for conflict in conflicts):
            self._contested.add(number)

    def _forget(self, purged: Iterable[int]) -> None:
        """Drop elements of the source that the target has purged, with all links about them."""
        for number in sorted(purged):
            message = "was purged here and stays purged; with restore_purged it is added again."
            if number in self._ours:
                message = "leads to an element that was purged here, and is removed."
            self._warnings.append(f"{self._label(number)} {message}")
            self._results[number] = None
            self._purged.add(number)

    def _doom(self, purged: Iterable[int]) -> set[int]:
        """Remove elements that the source has purged, and all links about them. Returns both."""
        numbers = [*purged]
        about = all_about(numbers, self._sides.ever_on)
        self._load((*numbers, *about))
        for number in about:
            self._warnings.append(
                f"{self._label(number)} is removed: the source has purged an element at its end."
            )
        self._results.update(dict.fromkeys((*numbers, *about)))
        self._purged.update(numbers, about)
        return {*numbers, *about}

    def _keep_links(self) -> None:
        """Keep links that one side removed only together with an element, if the element stays."""
        for number, result in list(self._results.items()):
            versions = self._versions(number)
            if result is None or versions.base is None:
                continue
            if versions.theirs is None:
                links, side = self._sides.on(number), self._ours
            elif versions.ours is None:
                links, side = self._sides.on_theirs(number), self._theirs
            else:
                continue
            for link in links:
                # The link has a conflict of its own, or was purged.
                is_settled = link in self._asked or link in self._purged
                is_gone = self._results.get(link) is None
                if is_gone and not is_settled and self._versions(link).base is not None:
                    self._results[link] = side.get(link)

    # 2. Keys.

    def _settle_keys(self) -> None:
        while self._settle_names():
            pass  # A restored name may belong to another element now.
        while self._join_links():
            pass  # Links at two elements that became one may now have one place.

    def _join_links(self) -> bool:
        """Join two links that would have one place. Returns True if there were such links."""
        placed: dict[tuple[Any, ...], int] = {}
        has_joined = False
        for number in list(self._results):
            result = self._results[number]
            if not isinstance(result, Proposition):
                continue
            place = _place(result)
            holder = self._sides.link_at(result)
            first = placed.setdefault(place, number) if holder in (None, number) else holder
            other = None if first == number else self._result(first)
            if isinstance(other, Proposition) and _place(other) == place:
                self._join(*self._in_order(first, number, place))
                has_joined = True
        return has_joined

    def _in_order(self, one: int, other: int, place: tuple[Any, ...]) -> tuple[int, int]:
        """Two links in one place: the link to keep comes first, preferably one of the target."""

        def rank(number: int) -> tuple[bool, bool, int]:
            mine = self._versions(number).ours
            is_there = isinstance(mine, Proposition) and _place(mine) == place
            return not is_there, mine is None, number

        first, second = sorted((one, other), key=rank)
        return first, second

    def _join(self, survivor: int, joined: int) -> None:
        """Join two links as if both sides had made the same link, and merge their contents."""

        def origin(side: str, _: int, place: Place) -> Origin:
            return self._sides.origin(side, survivor if side == "ours" else joined, place)

        sides = self._result(survivor), self._result(joined)
        merging = ElementMerge(
            self._context._replace(origin=origin), Versions(survivor, None, *sides)
        )
        self._results[survivor] = merging.run()
        self._note(survivor, merging)
        self._results[joined] = None
        self._joined[joined] = survivor
        about = {
            number
            for number, element in self._results.items()
            if element and joined in element.ends
        }
        for number in sorted({*about, *self._sides.on(joined)}):
            link = self._result(number)
            if isinstance(link, Proposition) and joined in link.ends:
                self._lead_to(number, link, joined, survivor)

    def _lead_to(self, number: int, link: Proposition, old: int, new: int) -> None:
        """Replace the end of a link by the link that it was joined with; drop equal ends."""
        ends = [new if end == old else end for end in link.ends]
        if ends[0] == ends[1]:
            self._warnings.append(f"{self._label(number)} is removed: its ends are one link now.")
            self._results[number] = None
            return
        values = values_of(link) | {SUBJECT: ends[0], OBJECT: ends[1]}
        self._results[number] = with_values(link, values, number)

    # Links that would lead to themselves.

    def _settle_loops(self) -> None:
        """Make conflicts about links that would lead to themselves, also through other links."""
        for number, result in list(self._results.items()):
            if isinstance(result, Proposition):
                loop = self._loop_from(number)
                if loop:
                    self._break_loop(sorted(loop))

    def _loop_from(self, number: int) -> list[int]:
        """The links on a way from a link back to itself; empty if there is no such way."""
        link = self._result(number)
        if link is not None and link.ends and link.ends[0] == link.ends[1]:
            return [number]
        ways = {number: [number]}
        waiting = [number]
        while waiting:
            at = waiting.pop()
            link = self._result(at)
            for end in () if link is None else link.ends:
                if end == number:
                    return ways[at]
                if end not in ways and end & 1:
                    ways[end] = [*ways[at], end]
                    waiting.append(end)
        return []

    def _break_loop(self, loop: list[int]) -> None:
        first = loop[0]
        asking = ElementMerge(self._context, self._versions(first))
        asking.choose_element(
            "move_move",
            "Together, the changes of both sides would make it lead to itself. Choose a side:"
            " this link, and the links on the way, get the ends that they have there.",
        )
        self._note(first, asking)
        self._contested.discard(first)  # Only its ends are contested.
        resolution = asking.conflicts[0].resolution
        choice = "ours" if resolution is None else resolution.choice
        for number in loop:
            base, ours, theirs = self._versions(number)[1:]
            merged = self._result(number)
            old = (
                None
                if base is None
                else ElementMerge(self._context, self._versions(number)).base_element()
            )
            chosen = {"theirs": theirs, "base": old}.get(choice, ours)
            if isinstance(merged, Proposition) and isinstance(chosen, Proposition):
                self._results[number] = merged._replace(
                    subject=chosen.subject, object=chosen.object
                )
        if resolution is not None and choice == "value":
            changed = self._result(first)
            self._results[first] = (
                None
                if resolution.value is None or changed is None
                else edited(changed, resolution.value, first)
            )

    def _settle_names(self) -> bool:
        """Settle concepts with the same key. Returns True if there were any."""
        by_key: dict[tuple[str, str], int] = {}
        has_settled = False
        for number in list(self._results):
            result = self._results[number]
            if isinstance(result, Concept):
                first = by_key.setdefault(_key(result), number)
                has_settled |= self._settle_name(number, result, first)
        return has_settled

    def _settle_name(self, number: int, result: Concept, holder: int) -> bool:
        """Make a conflict if another concept has the key of a merged one.

        Returns True if there is such a concept, and this conflict is new.
        """
        if holder == number:
            holder = self._holder(number, result)
        other = None if holder == number else self._result(holder)
        if not isinstance(other, Concept) or _key(other) != _key(result):
            return False
        for side in (self._ours, self._theirs):
            pair = side.get(number), side.get(holder)
            if all(
                isinstance(element, Concept) and _key(element) == _key(result) for element in pair
            ):
                return False  # Both had this key before.
        key = "type and name" if other.type == result.type else "URI"
        clash = ElementMerge(self._context, Versions(number, None, other, result))
        clash.choose_element(
            "key_clash",
            f"Two elements would have this {key}: {other.id} of the target, and an element that"
            " the source has moved or made. Choose a side: both get the names that they have"
            " there, and an element that is absent there is removed. Or give the second one"
            ' another name: value {"name": …}.',
        )
        (conflict,) = clash.conflicts
        if conflict.id in self._conflicts:
            return False
        self._note(number, clash)
        choice = "ours" if conflict.resolution is None else conflict.resolution.choice
        if conflict.resolution is not None and choice == "value":
            value = conflict.resolution.value
            self._results[number] = None if value is None else edited(result, value, number)
            return True
        side = self._theirs if choice == "theirs" else self._ours
        for n, concept in ((number, result), (holder, other)):
            self._results[n] = _named_like(concept, side.get(n))
        return True

    def _holder(self, number: int, result: Concept) -> int:
        """The concept of the target that has a merged concept's key; itself if there is none."""
        before = self._ours.get(number)
        if isinstance(before, Concept) and _key(before) == _key(result):
            return number
        if not _is_uri(result):
            return self._sides.holder(result) or number
        others = (namesake for namesake in self._sides.namesakes(result) if namesake != number)
        return next((other for other in others if self._has_key(other, _key(result))), number)

    def _has_key(self, number: int, key: tuple[str, str]) -> bool:
        result = self._result(number)
        return isinstance(result, Concept) and _key(result) == key

    # 3. Links that have lost an end.

    def _settle_links(self) -> None:
        waiting = [
            number for number, element in self._results.items() if isinstance(element, Proposition)
        ]
        removals = [number for number, element in self._results.items() if element is None]
        while waiting or removals:
            for number in removals:
                if number < NEW:
                    waiting += [n for n in self._sides.on(number) if n not in waiting]
            removals = []
            for number in waiting:
                link = self._result(number)
                if isinstance(link, Proposition) and self._is_settled(number, link) is False:
                    removals.append(number)
            waiting = []

    def _is_settled(self, number: int, link: Proposition) -> bool:
        """True if a link can stay, or waits for a decision about itself or an end."""
        missing = [end for end in link.ends if self._result(end) is None]
        if not missing or self._contested & {number, *missing}:
            return True
        _, object_ = link.ends
        end = self._names.get(object_)
        if missing == [object_] and isinstance(end, Concept) and end.name.startswith(SCHEME):
            self._results[number] = link._replace(object=f"C:{self._placeholder(end)}")
            self._warnings.append(
                f"{self._label(number)}: its end was removed on the other side. The link is kept,"
                " and gets its end back when the concept is added."
            )
            return True
        return self._orphan(number, missing)

    def _placeholder(self, concept: Concept) -> int:
        """The number of the placeholder for a removed concept."""
        placeholder = self._placeholders.get(concept.name)
        if placeholder is not None:
            return placeholder
        keeper = concept._replace(
            number=PLACEHOLDERS_FROM + 2 * len(self._placeholders),
            type=MISSING,
            attributes_json="{}",
            metadata_json="{}",
        )
        holder = self._sides.holder(keeper)
        if holder is not None:
            keeper = keeper._replace(number=holder)
        else:
            self._results[keeper.number] = keeper
            self._require_type(keeper)
        self._names[keeper.number] = keeper
        self._placeholders[concept.name] = keeper.number
        return keeper.number

    def _require_type(self, keeper: Concept) -> None:
        definition = keeper._replace(
            number=PLACEHOLDERS_FROM - 2,
            type=CONCEPT_TYPE,
            name=MISSING,
            attributes_json=object_text(MISSING_DEFINITION, "attributes"),
        )
        if self._sides.holder(definition) is None:
            self._names[definition.number] = self._results[definition.number] = definition

    def _orphan(self, number: int, missing: list[int]) -> bool:
        """Make a conflict about a link without an end. Returns True if the link may stay."""
        versions = self._versions(number)._replace(base=None)
        orphan = ElementMerge(self._context, versions)
        ends = " and ".join(self._label(end) for end in missing)
        element = orphan.choose_element(
            "orphan_link",
            f"It leads to elements that the other side has removed: {ends}. Keep the link, which"
            " restores its ends; or remove it with them.",
        )
        self._note(number, orphan)
        (conflict,) = orphan.conflicts
        if conflict.resolution is None or element is None:
            self._results[number] = None
            return conflict.resolution is None  # Links about this link are settled later.
        self._results[number] = element
        self._has_revived = True
        for end in missing:
            was = self._versions(end)
            chosen = was.theirs if conflict.resolution.choice == "theirs" else was.ours
            self._results[end] = chosen or was.element
        return True

    # 4. Definitions.

    def _keep_definitions(self) -> None:
        """Keep or add definitions that elements of the other side use."""
        used: dict[tuple[str, str], int] = {}
        for number, result in self._results.items():
            if isinstance(result, Concept):
                used[CONCEPT_TYPE, result.type] = number
            elif result is not None:
                used[PROPOSITION_TYPE, result.predicate] = number
        here = {
            (result.type, result.name)
            for result in self._results.values()
            if isinstance(result, Concept)
        }
        for place, number in used.items():
            is_there = place in here or place in self._declared
            if not is_there and self._sides.holder(_placed(place)) is None:
                concept = self._sides.definition(*place)
                if concept is not None:
                    self._names[concept.number] = self._results[concept.number] = concept
                    self._warn_of_use(concept.number, number)
        removals = [number for number, element in self._results.items() if element is None]
        for number in removals:
            definition = self._ours.get(number)
            if isinstance(definition, Concept) and definition.type in META_TYPES:
                users = self._sides.users(number)
                left = (user for user in users if _uses(self._result(user), definition.name))
                user = used.get((definition.type, definition.name)) or next(left, None)
                if user is not None:
                    self._results[number] = definition
                    self._warn_of_use(number, user)

    def _warn_of_use(self, number: int, user: int) -> None:
        self._warnings.append(
            f"{self._label(number)} was removed on one side. It stays, because"
            f" {self._label(user)} uses it."
        )

    # 5. Rows that break a constraint.

    def _apply_overrides(self) -> None:
        if not self._overrides:
            return
        labels = {self._label(number): number for number in {*self._results, *self._names}}
        for label, (choice, stored_number) in self._overrides.items():
            number = labels.get(label, stored_number)
            if number is None:
                continue
            base, ours, theirs = self._versions(number)[1:]
            resolution = (
                Resolution(choice) if isinstance(choice, str) else Resolution("value", choice)
            )
            like = ElementMerge(self._context, self._versions(number))
            old = None if base is None else like.base_element()
            chosen = chosen_element(resolution, old, ours, theirs, number)
            self._results[number] = chosen
            self._overridden.add(number)
            if chosen is None:
                self._let_go_of_links(number)
            else:
                self._bring_ends(chosen, resolution.choice)

    def _let_go_of_links(self, number: int) -> None:
        """Remove all links on an element that a decision removes."""
        link_numbers = [n for n, result in self._results.items() if isinstance(result, Proposition)]

        def on(end: int) -> Iterable[int]:
            led = [n for n in link_numbers if end in getattr(self._results[n], "ends", ())]
            return [*led, *(n for n in self._sides.on(end) if n not in self._results)]

        about = all_about([number], on)
        self._load(about)
        self._results.update(dict.fromkeys(about))

    def _bring_ends(self, element: Element, choice: str) -> None:
        """Restore the ends of a link that a decision keeps; if one was purged, remove the link."""
        for end in element.ends:
            if end in self._purged:
                self._results[element.number] = None
                self._let_go_of_links(element.number)
            elif self._result(end) is None:
                was = self._versions(end)
                version = was.theirs if choice == "theirs" else was.ours
                self._results[end] = end_element = version or was.theirs or was.ours
                if end_element is not None:
                    self._bring_ends(end_element, choice)


def _uses(element: Element | None, name: str) -> bool:
    """True if an element has the type or predicate with this name."""
    if element is None:
        return False
    return name == (element.type if isinstance(element, Concept) else element.predicate)


def _place(link: Proposition) -> tuple[Any, ...]:
    """The place of a link: its ends and predicate. No two links have the same."""
    return *link.ends, link.predicate


def _is_uri(concept: Concept) -> bool:
    """True if the name of a concept is a URI, which identifies it without its type."""
    return concept.name.startswith(SCHEME) and concept.type != MISSING


def _key(concept: Concept) -> tuple[str, str]:
    """The key that only one concept may have: type and name, or a URI alone."""
    return ("" if _is_uri(concept) else concept.type), concept.name


def _named_like(concept: Concept, version: Element | None) -> Concept | None:
    """The element with the type and name that it has in a version; None without such a version."""
    if not isinstance(version, Concept):
        return None
    return concept._replace(type=version.type, name=version.name)


def _placed(place: tuple[str, str]) -> Concept:
    """A concept with a type and name, for a look-up by key."""
    return Concept(NEW, *place, "{}", "{}", 0, 0, 0, "", 0)
