"""Brings elements to their goals: the steps of a rollback or a merge, in one transaction.

A goal has an element as it is, and as it should be. In this order of steps, every name is free
before another element takes it:

1. create definitions,
2. remove links; but remove a link after step 5 if another link refers to it and moves away then,
3. give temporary names to concepts whose names others need,
4. create concepts, and give all concepts their names,
5. create links, and give all links their ends,
6. set contents,
7. remove concepts, and at last definitions.

If a step fails, it is noted as an obstacle and the next step is tried, so that all obstacles are
known at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from mycel.errors import (
    ConstraintViolation,
    DuplicateExists,
    ImmutableTarget,
    MycelError,
    NotFound,
)
from mycel.model.commits import short
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import META_TYPES, first_few, shorten
from mycel.model.values import own_metadata
from mycel.store.query.alignment import NEW
from mycel.store.query.commits import LogEntry
from mycel.store.query.diff import either
from mycel.store.query.lookup import find_by_name
from mycel.store.write.bulk import BATCH_ROWS, ConceptRow
from mycel.store.write.transaction import Transaction

LISTED_MAX: Final = 20
"""The maximum number of obstacles in the message of an error; its data has all of them."""


COMMITS_SHOWN: Final = 5


GONE: Final = 0
"""The number that stands for an element that does not exist, or does not exist yet."""


class Goal(NamedTuple):
    """An element as it is now, and as it should become; None where it does not exist."""

    label: str
    now: Element | None
    then: Element | None

    @property
    def element(self) -> Element:
        """The element as it should become; for a removal, as it is now."""
        return either(self.then, self.now)


class Obstacle(NamedTuple):
    """A step that failed, and the reason."""

    element: str
    message: str
    code: str


class ReachedState(NamedTuple):
    """The result of the steps towards some goals."""

    obstacles: list[Obstacle]
    numbers: Mapping[int, int]
    """The present number of each element with another number in its goal; 0 if it is removed."""


def attempt(
    tx: Transaction,
    goals: Sequence[Goal],
    twins: Mapping[int, int],
    *,
    reason: str,
    has_moved: bool = False,
) -> ReachedState:
    """Bring elements to their goals, as far as possible. It raises no error.

    `twins` has the present number of each element with another number in its goal. Each removal
    gets the `reason`. With `has_moved`, elements may have new versions since the goals were
    computed.
    """
    tx.restores = True
    steps = _Steps(tx, goals, twins, reason)
    steps.has_moved = has_moved
    steps.run()
    return ReachedState(steps.obstacles, steps.numbers)


def reach(
    tx: Transaction,
    goals: Sequence[Goal],
    twins: Mapping[int, int],
    obstacles: Sequence[Obstacle] = (),
    later: Sequence[LogEntry] = (),
) -> None:
    """Bring elements to their goals, for a rollback.

    `later` has the commits that may have caused obstacles, newest first.

    Raises:
        ConstraintViolation: a step failed, or obstacles are known already. The data lists all
            obstacles.
    """
    problems = [*obstacles, *attempt(tx, goals, twins, reason="rollback").obstacles]
    if not problems:
        return
    reasons = first_few(
        [f"{obstacle.element}: {obstacle.message}" for obstacle in problems], LISTED_MAX
    )
    hint = _advice(later)
    if any(obstacle.code == ImmutableTarget.code for obstacle in problems):
        hint += (
            " A schema is changed by applying another one: db.schema.apply(text), or `mycel schema"
            " apply`."
        )
    raise ConstraintViolation(
        "This would break, so nothing was changed:\n  " + "\n  ".join(reasons),
        hint=hint,
        data={"obstacles": [obstacle._asdict() for obstacle in problems]}
        | ({"commits": [entry.commit for entry in later]} if later else {}),
    )


def _advice(later: Sequence[LogEntry]) -> str:
    """A sentence about what to do next."""
    if not later:
        return "Choose other paths, or remove the obstacles first."
    commits = first_few(
        [f"{short(entry.commit)} of {entry.actor} ({shorten(entry.message)})" for entry in later],
        COMMITS_SHOWN,
    )
    return (
        "Changed since by "
        + ", ".join(commits)
        + ". Revert these first, in this order, or write the wanted values."
    )


class _Steps:
    """The steps towards some goals."""

    def __init__(
        self, tx: Transaction, goals: Sequence[Goal], twins: Mapping[int, int], reason: str
    ) -> None:
        self.obstacles: Final[list[Obstacle]] = []
        self._tx: Final = tx
        self._reason: Final = reason
        self.numbers: Final = dict(twins) | {
            goal.then.number: GONE for goal in goals if goal.then is not None and goal.now is None
        }
        """The present number of each element with another number in its goal."""
        self.has_moved = False
        """True if an element has moved, so that links on it may have new versions."""
        self._aside: Final[set[int]] = set()
        """Concepts with a temporary name."""
        self._removed: Final[set[int]] = set()
        """Concepts that were removed early; their number may have been given to another concept
        since."""
        self._definitions: Final = [goal for goal in goals if _is_definition(goal.element)]
        concepts = [goal for goal in goals if isinstance(goal.element, Concept)]
        self._concepts: Final = [
            concept for concept in concepts if not _is_definition(concept.element)
        ]
        self._links: Final = [goal for goal in goals if isinstance(goal.element, Proposition)]
        self._changing: Final = {goal.now.number for goal in self._links if goal.now is not None}
        """Existing links that have a goal."""
        self._going: Final = {
            goal.now.number for goal in self._links if goal.now is not None and goal.then is None
        }
        """Links that should be removed."""
        self._late: Final[list[Goal]] = []
        """Links to remove once other links no longer refer to them."""

    def run(self) -> None:
        coming = [definition for definition in self._definitions if definition.then is not None]
        self._apply_steps(coming, self._bring_concept)
        self._set_contents(coming)
        self._apply_steps((link for link in self._links if link.then is None), self._remove_link)
        self._step_aside()
        self._bring_concepts()
        self._bring_links([link for link in self._links if link.then is not None])
        self._apply_steps(self._late, self._remove)
        self._set_contents((*self._concepts, *self._links))
        self._apply_steps(
            (concept for concept in self._concepts if concept.then is None), self._remove
        )
        self._apply_steps(
            (definition for definition in self._definitions if definition.then is None),
            self._remove,
        )

    def _apply_steps(self, goals: Iterable[Goal], step: Callable[[Goal], None]) -> None:
        for goal in goals:
            try:
                step(goal)
            except MycelError as error:
                self._note(goal, error)
                if self._tx.spoiled:
                    return

    def _note(self, goal: Goal, error: MycelError) -> None:
        self.obstacles.append(Obstacle(goal.label, error.message, error.code))

    def _number(self, element: Element) -> int:
        return self.numbers.get(element.number, element.number)

    def _live(self, element: Element) -> Element | None:
        number = self._number(element)
        return None if number == GONE else self._tx.reader.element(number)

    def _end(self, number: int) -> str:
        """The present id of an element, by its number in a goal."""
        number = self.numbers.get(number, number)
        if number == GONE:
            raise NotFound("An end of it does not exist.")
        return self._tx.reader.outer_id(number)

    # Concepts.

    def _step_aside(self) -> None:
        """Give a temporary name to each concept whose name another concept's goal needs.

        A concept without links that should be removed is removed at once, which frees its key.
        """
        goals_by_name = {
            (then.type, then.name): concept
            for concept in self._concepts
            if isinstance(then := concept.then, Concept)
        }
        for goal in self._concepts:
            now = goal.now
            if (
                isinstance(now, Concept)
                and goals_by_name.get((now.type, now.name), goal) is not goal
            ):
                self._apply_steps((goal,), self._move_aside)

    def _move_aside(self, goal: Goal) -> None:
        if goal.now is None:
            return
        if goal.then is None and not self._tx.links_about(goal.now.id):
            self._remove(goal)
            self._removed.add(goal.now.number)
        else:
            self.has_moved = True
            self._tx.move(goal.now.id, name=f"{goal.now.id} aside")
            self._aside.add(goal.now.number)

    def _bring_concepts(self) -> None:
        """Create and rename concepts: new ones together, or one by one if that is not possible."""
        new = [goal for goal in self._concepts if goal.now is None and _is_made(goal.then)]
        if len(new) < len(self._concepts):
            together = {id(goal) for goal in new}
            others = (goal for goal in self._concepts if id(goal) not in together)
            self._apply_steps(others, self._bring_concept)
        for start in range(0, len(new), BATCH_ROWS):
            batch = new[start : start + BATCH_ROWS]
            if not self._bring_together(batch):
                self._apply_steps(batch, self._bring_concept)

    def _bring_together(self, goals: Sequence[Goal]) -> bool:
        """Create new concepts at once. Returns False, and creates none, if a key is taken."""
        concepts = [goal.then for goal in goals if isinstance(goal.then, Concept)]
        keys = {(then.type, then.name) for then in concepts}
        reader, guards = self._tx.reader, self._tx.guards
        if any(
            guards.goes_alone(self._tx, type_, link=False) for type_ in {key[0] for key in keys}
        ):
            return False  # One refused concept would stop the others.
        namesakes = find_by_name(reader, [then.name for then in concepts])
        is_in_the_way = any((reader.type_name(type_), name) in keys for _, type_, name in namesakes)
        if is_in_the_way or len(keys) < len(concepts):
            return False
        rows = [
            ConceptRow(then.type, then.name, then.attributes, own_metadata(then.metadata))
            for then in concepts
        ]
        try:
            ids_given = self._tx.put_concepts(rows)
        except MycelError as error:
            if not self._tx.spoiled:
                return False
            self._note(goals[error.data.get("row", 0)], error)
            return True
        for then, id_ in zip(concepts, ids_given, strict=True):
            self.numbers[then.number] = reader.number(id_)
        return True

    def _bring_concept(self, goal: Goal) -> None:
        then, tx = goal.then, self._tx
        if not isinstance(then, Concept):
            return
        now = goal.now
        if isinstance(now, Concept):
            aside = f"{now.id} aside" if now.number in self._aside else now.name
            if not _is_definition(then) and (now.type, aside) != (then.type, then.name):
                self.has_moved = True
                tx.move(now.id, type_name=then.type, name=then.name, attributes=then.attributes)
            return
        if tx.get_concept(then.type, then.name) is not None:
            raise DuplicateExists("There is another element with this type and name.")
        id_ = tx.revive_concept(then, own_metadata(then.metadata))
        self.numbers[then.number] = tx.reader.number(id_)

    # Links.

    def _bring_links(self, goals: list[Goal]) -> None:
        """Create links and move links, each when its ends exist and its place is free."""
        waiting = goals
        while waiting:
            errors: dict[int, MycelError] = {}
            later: list[Goal] = []
            for goal in waiting:
                try:
                    self._bring_link(goal)
                except (DuplicateExists, NotFound) as error:
                    errors[goal.element.number] = error
                    later.append(goal)
                except MycelError as error:
                    self._note(goal, error)
                if self._tx.spoiled:
                    return
            if len(later) == len(waiting) and not self._break_circle(later):
                for goal in later:
                    self._note(goal, errors[goal.element.number])
                return
            waiting = later

    def _bring_link(self, goal: Goal) -> None:
        then, tx = goal.then, self._tx
        if not isinstance(then, Proposition):
            return
        subject, object_ = map(self._end, then.ends)
        live = self._live(then)
        if isinstance(live, Proposition):
            if (live.subject, live.object) != (subject, object_):
                self.has_moved = True
                tx.relink(live.id, subject=subject, object_=object_)
            if live.predicate != then.predicate:
                self.has_moved = True
                tx.move(tx.reader.outer_id(live.number), predicate=then.predicate)
            return
        if tx.get_edge(subject, then.predicate, object_) is not None:
            raise DuplicateExists("There is another link in its place.")
        content = then.attributes, own_metadata(then.metadata)
        id_ = tx.put_proposition(subject, then.predicate, object_, *content, weight=then.weight)
        self.numbers[then.number] = tx.reader.number(id_)

    def _break_circle(self, waiting: list[Goal]) -> bool:
        """Remove one link that has the key of a waiting one; create it again later if it stays.

        Links about it are created again after it. Returns False if none of these links is live.
        """
        for goal in (*self._late, *waiting):
            live = self._live(goal.element)
            if live is None:
                continue
            waiting_numbers = {self._number(goal.element) for goal in waiting}
            about = [
                link for link in self._tx.links_about(live.id) if link.number not in waiting_numbers
            ]
            waiting += [Goal(link.id, None, link) for link in about]
            self._tx.retire(live.id)
            self.numbers.update({element.number: GONE for element in (goal.element, *about)})
            return True
        return False

    # Contents and removals.

    def _set_contents(self, goals: Sequence[Goal]) -> None:
        """Set the contents of elements; those that have new versions are read many at once."""

        def set_content(goal: Goal) -> None:
            then = goal.then
            if then is None:
                return
            live = live_elements.get(self._number(then)) if is_new(goal) else goal.now
            if live is not None:
                self._tx.replace_content(live, then)

        def is_new(goal: Goal) -> bool:
            return goal.now is None or self.has_moved

        for start in range(0, len(goals), BATCH_ROWS):
            batch = goals[start : start + BATCH_ROWS]
            numbers = {self._number(goal.then) for goal in batch if goal.then and is_new(goal)}
            live_elements = self._tx.reader.elements(numbers - {GONE})
            self._apply_steps(batch, set_content)

    def _remove_link(self, goal: Goal) -> None:
        """Remove a link; or later, if a link that stays still refers to it."""
        live = None if goal.now is None else self._tx.reader.element(goal.now.number)
        if live is None:
            return
        if any(link.number not in self._going for link in self._tx.links_about(live.id)):
            self._late.append(goal)
        else:
            self._tx.retire(live.id, reason=self._reason)

    def _remove(self, goal: Goal) -> None:
        live = None if goal.now is None else self._tx.reader.element(goal.now.number)
        if live is None or live.number in self._removed:  # The link is removed already.
            return
        about = [
            link for link in self._tx.links_about(live.id) if link.number not in self._changing
        ]
        if about:
            raise ConstraintViolation(
                f"It would also remove {', '.join(link.id for link in about[:3])}"
                f"{', …' if len(about) > 3 else ''}, which should stay."
            )
        self._tx.retire(live.id, reason=self._reason)


def _is_made(then: Element | None) -> bool:
    """True for a concept that has no number in this graph yet."""
    return isinstance(then, Concept) and then.number >= NEW


def _is_definition(element: Element) -> bool:
    return isinstance(element, Concept) and element.type in META_TYPES
