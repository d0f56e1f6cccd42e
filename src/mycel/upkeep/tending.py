"""Tending: a model or a person takes the next task with its context, and decides it.

The elements of a task have letters. A decision is one transaction of the actor who decides, with a
reason. All guards check it, and `revert` undoes it.

    merge      the elements become one, the one in `keep`; lost values are named
    supersede  the element in `keep` takes the place of the others; of two values of a functional
               predicate, the other one only loses the time that both hold, and is archived if that
               is all of its time
    keep both  all elements stay unchanged
    drop       the elements except the one in `keep` are archived; without `keep`, all
    summarise  the knowledge in the elements is written as concepts that are `derived_from` them;
               the elements are archived; an existing concept changes only with `update: true`
    later      the task waits for a day

A decision may be about some of the elements; then the task stays open for the rest. A task accepts
only the decisions that it offers. No decision merges away or archives a pinned or
held element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, assert_never

import orjson

from mycel.engine.archive import archive_element
from mycel.engine.due import is_open_task, label, link_text
from mycel.engine.functional_guard import FunctionalGuard
from mycel.engine.periods import write_periods
from mycel.engine.supersede import supersede_element
from mycel.engine.united_values import merge_and_unite
from mycel.errors import ConstraintViolation, InvalidSyntax, MycelError, NotFound
from mycel.graph.costs import TOKEN_CHARACTERS
from mycel.model import times
from mycel.model.decisions import DECISIONS, Decision
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.limits import REASON_BYTES_MAX
from mycel.model.names import SLEEP_TASK, SYSTEM_ACTOR, check_text, count, quote_value, shorten
from mycel.model.periods import all_periods, dated, without
from mycel.model.retention import is_kept
from mycel.model.values import JsonObject
from mycel.search.validity import OF_UPKEEP, value_caveats
from mycel.store.file.rows import table_of
from mycel.store.query import retention
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction
from mycel.upkeep.duplicates import APART
from mycel.upkeep.tasks import (
    CONSOLIDATED_TO,
    DERIVED_FROM,
    NOT_BEFORE,
    POSTPONED_BECAUSE,
    count_named,
    is_moot,
    is_of_cycle,
    priority_of,
    task_elements,
)

EVENT: Final = "Event"
PAUSE_US: Final = 86_400_000_000
"""The time for which the decision "later" postpones a task."""
TOKENS_DEFAULT: Final = 2_000
LINKS_SHOWN: Final = 6
CONCEPTS_MAX: Final = 50
LOST_CHARACTERS: Final = 4_000
"""The maximum number of characters in a result about the values that a merge did not keep."""
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FITTING: Final[dict[str, tuple[Decision, ...]]] = {
    "merge_duplicates": ("merge", "supersede", "keep both", "drop", "later"),
    "resolve_contradiction": ("supersede", "keep both", "drop", "later"),
    "consolidate_to_semantic": ("summarise", "keep both", "drop", "later"),
}
"""The offered decisions for each kind of task; other kinds offer all decisions except a merge."""

_OF_SEVERAL: Final = frozenset[Decision](("merge", "supersede"))
"""The decisions that need two elements or more."""


class OpenTask(NamedTuple):
    """A task with the context for its decision."""

    id: str
    action: str
    reason: str
    decisions: tuple[Decision, ...]
    elements: tuple[Element, ...]
    """The elements of the task, in the order of the letters."""
    text: str
    """The task and its context as text, within the budget."""
    waiting: int
    """The number of open tasks, this one included."""

    def to_dict(self) -> JsonObject:
        return {
            "task": self.id,
            "action": self.action,
            "reason": self.reason,
            "decisions": list(self.decisions),
            "elements": dict(
                zip(_LETTERS, (element.id for element in self.elements), strict=False)
            ),
            "waiting": self.waiting,
        }


class Postponed(NamedTuple):
    """Open tasks that wait for a later time."""

    tasks: int
    until: str
    """The time at which the first of them is shown again; empty if there are none."""

    @property
    def text(self) -> str:
        """A sentence; empty if no task was postponed."""
        verb = "waits" if self.tasks == 1 else "wait"
        return f"{count(self.tasks, 'task')} {verb} until {self.until} or later." * bool(self.tasks)


class Decided(NamedTuple):
    """The outcome of a decision."""

    task: str
    result: str
    created: tuple[str, ...] = ()
    """The ids of the concepts that a summary wrote."""
    warnings: tuple[str, ...] = ()
    """Warnings of the rules of the graph about what was written."""


def next_task(reader: Reader, tokens: int = TOKENS_DEFAULT) -> OpenTask | None:
    """The most urgent open task, with its context within a budget of tokens."""
    now_us = reader.now_us()
    waiting = [task for task in _open_tasks(reader) if not _postponed_until(task, now_us)]
    waiting.sort(key=lambda task: (-priority_of(task), task.number))
    for at, task in enumerate(waiting):
        elements = task_elements(reader, task)
        if elements and not is_moot(reader, task):
            return _open_task(reader, task, elements, len(waiting) - at, tokens)
    return None


def show_task(reader: Reader, task_ref: str, tokens: int = TOKENS_DEFAULT) -> OpenTask:
    """A task by its id, with its context; a decided one offers no decision.

    Raises:
        NotFound: there is no such task.
    """
    task = _find_task(reader.element(reader.number(task_ref)), task_ref)
    now_us = reader.now_us()
    waiting = sum(not _postponed_until(other, now_us) for other in _open_tasks(reader))
    return _open_task(reader, task, task_elements(reader, task), waiting, tokens)


def postponed_tasks(reader: Reader) -> Postponed:
    """The number of open tasks that were put off, and until when the first of them waits."""
    now_us = reader.now_us()
    times_ = [until for task in _open_tasks(reader) if (until := _postponed_until(task, now_us))]
    return Postponed(len(times_), min(times_, key=times.from_text, default=""))


def _open_tasks(reader: Reader) -> Iterator[Concept]:
    for number in retention.instances(reader, SLEEP_TASK):
        task = reader.concept(number)
        if task is not None and is_open_task(task):
            yield task


def _find_task(element: Element | None, ref: str) -> Concept:
    if not isinstance(element, Concept) or element.type != SLEEP_TASK:
        raise NotFound(f"{shorten(ref)} is not a SleepTask.", hint="Pass the id of a task.")
    return element


def _postponed_until(task: Concept, now_us: int) -> str:
    """The time before which a task is not shown; empty if it may be shown now."""
    moment = task.attributes.get(NOT_BEFORE)
    # "later" is at most a day, so a written time cannot postpone a task for longer.
    is_later = task.updated_us + PAUSE_US > now_us
    is_later = is_later and times.is_time(moment) and times.from_text(moment) > now_us
    return str(moment) if is_later else ""


def _fitting(task: Concept, elements: Sequence[Element]) -> tuple[Decision, ...]:
    """The decisions that a task offers."""
    action = _text_of(task, "requested_action")
    decisions = _FITTING.get(action, tuple(name for name in DECISIONS if name != "merge"))
    if len(elements) < 2:
        return tuple(name for name in decisions if name not in _OF_SEVERAL)
    return decisions


def _open_task(
    reader: Reader, task: Concept, elements: Sequence[Element], waiting: int, tokens: int
) -> OpenTask:
    action, reason = (_text_of(task, key) for key in ("requested_action", "reason"))
    decisions = _fitting(task, elements) if is_open_task(task) else ()
    head = f"{task.id}: {action}. {reason}"
    if not is_of_cycle(task):
        head += f" (A task of {task.created_by}; no cycle has asked this.)"
    if (missing := count_named(task) - len(elements)) > 0:
        head += f" {missing} of them {'is' if missing == 1 else 'are'} gone or archived."
    if not decisions:
        head += f" Decided: {_text_of(task, 'result') or 'no result'}."
    elif NOT_BEFORE in task.attributes:
        why = _text_of(task, POSTPONED_BECAUSE)
        head += f" Postponed until {task.attributes[NOT_BEFORE]}{why and ': ' + why}."
    budget = max(tokens * TOKEN_CHARACTERS - len(head), 200)
    share = budget // max(len(elements), 1)
    lines = [head[: tokens * TOKEN_CHARACTERS]]
    for letter, element in zip(_LETTERS, elements, strict=False):
        lines.append(f"{letter} {_context(reader, element, share)}")
    return OpenTask(task.id, action, reason, decisions, tuple(elements), "\n".join(lines), waiting)


def _text_of(task: Concept, key: str) -> str:
    value = task.attributes.get(key)
    return value if isinstance(value, str) else ""


def _context(reader: Reader, element: Element, characters: int) -> str:
    """An element with its values and some of its links, in at most `characters`."""
    title = label(element) if isinstance(element, Concept) else link_text(reader, element)
    values = {key: value for key, value in element.metadata.items() if key not in OF_UPKEEP}
    table, number = table_of(element.number), element.number
    written_us = retention.written_by_others(reader, table, number, SYSTEM_ACTOR)
    written = times.to_text(written_us or element.updated_us)
    parts = [
        f"{title} ({element.id} by {element.created_by}, written {written})",
        *_doubts(reader, element),
        _json(element.attributes),
        _json(values),
    ]
    links: list[str] = []
    for link in reader.touching_links(element.number):
        if len(links) == LINKS_SHOWN:
            links.append("…")
            break
        doubts = "; ".join(_doubts(reader, link))
        links.append(f"{link_text(reader, link)}{f' [{doubts}]' if doubts else ''}")
    if links:
        parts.append("; ".join(links))
    return shorten(" | ".join(part for part in parts if part), max(characters - 2, 40))


def _doubts(reader: Reader, element: Element) -> Iterator[str]:
    """The caveats in the values of an element."""
    type_name = element.type if isinstance(element, Concept) else ""
    values = element.metadata, element.attributes
    for caveat in value_caveats(*values, type_name, reader.now_us()):
        if not caveat.text.startswith(("source: ", "memory strength ")):
            yield caveat.text


def _json(values: Mapping[str, Any]) -> str:
    return orjson.dumps(values).decode() if values else ""


def decide_task(
    tx: Transaction,
    task_ref: str,
    decision: str,
    *,
    keep: str = "",
    elements: Sequence[str] = (),
    concepts: Sequence[Mapping[str, Any]] = (),
    reason: str = "",
) -> Decided:
    """Decide a task. Nothing happens if any part of the decision fails.

    With `elements`, letters or ids, the decision is about these alone, and the task stays open for
    the rest.

    Raises:
        NotFound: there is no such task.
        InvalidSyntax: there is no such decision, or `keep` is no letter of the task.
        ConstraintViolation: the task was decided, or the decision does not fit it.
    """
    if decision not in DECISIONS:
        raise InvalidSyntax(
            f"{quote_value(decision)} is not a decision.",
            hint=f"Pass one of {', '.join(DECISIONS)}.",
        )
    check_text(reason, "reason", REASON_BYTES_MAX)
    task = _find_task(tx.get(task_ref), task_ref)
    if not is_open_task(task):
        raise ConstraintViolation(
            f"The task {task.id} was decided: {_text_of(task, 'result') or 'no result'}.",
            hint="Ask for the next task.",
        )
    all_elements = task_elements(tx.reader, task)
    chosen = _choose(all_elements, elements, keep, decision)
    if decision not in (fitting := _fitting(task, chosen)):
        about = "" if len(chosen) > 1 else f" about {count(len(chosen), 'element')}"
        raise ConstraintViolation(
            f"The task {task.id} ({_text_of(task, 'requested_action')}){about} does not offer"
            f" {decision}.",
            hint=f"Decide one of {', '.join(fitting)}.",
        )
    keeper = _keeper(all_elements, keep)
    why = reason or _text_of(task, "reason")
    created: tuple[str, ...] = ()
    match decision:
        case "merge":
            result = _merge(tx, chosen, keeper)
        case "supersede":
            result = _supersede(tx, chosen, keeper, why)
        case "keep both":
            for element in chosen:
                if isinstance(element, Concept) and element.type == EVENT:
                    tx.update(element.id, attributes={"consolidation_status": "completed"})
            result = "kept as they are"
        case "drop":
            others = [element for element in chosen if element is not keeper]
            if not others:
                raise ConstraintViolation(
                    "There is nothing to archive: keep names the only element of the task.",
                    hint="Leave keep out to archive it, or decide keep both.",
                )
            for element in others:
                _check_not_kept(element)
            dropped = sum(archive_element(tx, element, why) for element in others)
            result = f"{count(dropped, 'element')} archived"
        case "summarise":
            created, changed = _summarise(tx, chosen, concepts, why)
            result = f"{count(len(chosen), 'element')} summarised in {', '.join(created)}"
            if changed:
                result += f" ({', '.join(changed)} existed before)"
        case "later":
            until = times.to_text(tx.time_us + PAUSE_US)
            because = {POSTPONED_BECAUSE: reason} if reason else {}
            tx.update(
                task.id,
                attributes={NOT_BEFORE: until, **because},
                drop_attributes=() if reason else (POSTPONED_BECAUSE,),
            )
            return Decided(task.id, f"later, not before {until}")
        case _:
            assert_never(decision)
    if reason:
        result = f"{result}: {reason}"
    if len(chosen) < len(all_elements):
        return Decided(task.id, f"{result}; the task stays open for the rest", created)
    tx.update(task.id, attributes={"status": "completed", "result": result})
    return Decided(task.id, result, created)


def _choose(
    elements: Sequence[Element], names: Sequence[str], keep: str, decision: Decision
) -> Sequence[Element]:
    """The elements that a decision is about: all of the task, or those that are named."""
    if not names:
        return elements
    if decision in ("keep both", "later"):
        raise InvalidSyntax(
            f"{decision} is about all elements of the task.",
            hint="Leave elements out; merge, supersede, drop and summarise take some of them.",
        )
    chosen = {_element_of_letter(elements, name, "elements").number for name in names}
    chosen |= {_element_of_letter(elements, keep, "keep").number} if keep else set()
    return [element for element in elements if element.number in chosen]


def _keeper(elements: Sequence[Element], keep: str) -> Element | None:
    """The element to keep, if the decision names one."""
    return _element_of_letter(elements, keep, "keep") if keep else None


def _element_of_letter(elements: Sequence[Element], name: str, argument: str) -> Element:
    """The element of a letter; an id is accepted too."""
    for letter, element in zip(_LETTERS, elements, strict=False):
        if name in (letter, letter.lower(), element.id):
            return element
    raise InvalidSyntax(
        f"{argument} has {quote_value(name)}, which is not an element of the task.",
        hint=f"Pass one of {', '.join(_LETTERS[: len(elements)])}.",
    )


def _several(elements: Sequence[Element], keeper: Element | None, act: str) -> Iterator[Element]:
    """The elements except the one to keep."""
    if keeper is None:
        raise InvalidSyntax(
            f"To {act} needs keep, the letter of the element that stays.", hint='Pass keep: "A".'
        )
    return (element for element in elements if element is not keeper)


def _merge(tx: Transaction, elements: Sequence[Element], keeper: Element | None) -> str:
    names: list[str] = []
    lost: list[str] = []
    for element in _several(elements, keeper, "merge"):
        target = tx.get(keeper.id) if keeper is not None else None
        if not isinstance(element, Concept) or not isinstance(target, Concept):
            raise ConstraintViolation(
                "Links cannot be merged.", hint="Decide supersede, keep both or drop."
            )
        if element.type != target.type:
            raise ConstraintViolation(
                f"{label(element)} and {label(target)} have different types.",
                hint="Decide supersede, keep both or drop.",
            )
        _check_not_kept(element)
        _check_not_linked(tx, element, target)
        lost += merge_and_unite(tx, element, target).lost
        names.append(element.name)
    into = "" if keeper is None else label(keeper)
    losses = shorten(" ".join(lost), LOST_CHARACTERS)
    return f"merged {', '.join(map(repr, names))} into {into}{losses and f' (lost: {losses})'}"


def _check_not_linked(tx: Transaction, element: Concept, target: Concept) -> None:
    """Raise ConstraintViolation if one of the two supersedes or contradicts the other."""
    for predicate in APART:
        for one, other in ((element, target), (target, element)):
            if tx.get_edge(one.id, predicate, other.id) is not None:
                raise ConstraintViolation(
                    f"{label(one)} {predicate} {label(other)}, so they are not the same.",
                    hint=f"Decide keep both. If they are the same, remove the link {predicate}"
                    " first.",
                )


def _supersede(
    tx: Transaction, elements: Sequence[Element], keeper: Element | None, why: str
) -> str:
    old = [
        _take_place(tx, tx.get(element.id), tx.get(keeper.id), why)
        for element in _several(elements, keeper, "supersede")
        if keeper is not None
    ]
    return f"{'' if keeper is None else keeper.id} supersedes {'; '.join(old)}"


def _take_place(tx: Transaction, old: Element, keeper: Element, why: str) -> str:
    """Let an element take the place of another; of a rival, it takes only the time of both."""
    own, lasting = (
        all_periods(dated(element.attributes, element.metadata)) for element in (old, keeper)
    )
    rest = without(own, lasting)
    if not _are_rivals(tx, old, keeper) or rest == own:
        return f"{old.id}, which holds until {supersede_element(tx, old, keeper, why).valid_until}"
    if not rest:
        _check_not_kept(old)
        archive_element(tx, old, why)
        return f"{old.id}, which held only at that time and is archived"
    if rest[-1].until_us <= tx.time_us:
        supersede_element(tx, old, keeper, why)
    write_periods(tx, tx.get(old.id), rest[-1], rest[:-1])
    return f"{old.id}, which holds {', and '.join(period.words for period in rest)}"


def _are_rivals(tx: Transaction, one: Element, other: Element) -> bool:
    """True for two values of a functional predicate of one subject."""
    return (
        isinstance(one, Proposition)
        and isinstance(other, Proposition)
        and (one.subject, one.predicate) == (other.subject, other.predicate)
        and FunctionalGuard().concerns(tx, one.predicate, link=True)
    )


def _summarise(
    tx: Transaction,
    elements: Sequence[Element],
    concepts: Sequence[Mapping[str, Any]],
    why: str,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids of the concepts of a summary, and of those that existed before."""
    if not concepts or len(concepts) > CONCEPTS_MAX:
        raise InvalidSyntax(
            f"A summary has 1 to {CONCEPTS_MAX} concepts, not {len(concepts)}.",
            hint='Pass concepts: [{"type": "Insight", "name": "…", "attributes": {…}}].',
        )
    written = dict(_put_summary(tx, concept, elements) for concept in concepts)
    for element in elements:
        if isinstance(element, Concept) and element.type == EVENT:
            for id_ in written:
                tx.put_proposition(element.id, CONSOLIDATED_TO, id_)
            tx.update(element.id, attributes={"consolidation_status": "completed"})
        if not is_kept(element.metadata):
            archive_element(tx, tx.get(element.id), why)
    return tuple(written), tuple(id_ for id_, was_there in written.items() if was_there)


def _check_not_kept(element: Element) -> None:
    """Raise ConstraintViolation if an element to merge away or archive is pinned or held."""
    if is_kept(element.metadata):
        raise ConstraintViolation(
            f"{label(element)} is pinned or held, so it stays.",
            hint="Keep it, by its letter in keep, or decide keep both. To change it, remove"
            " pinned or hold first.",
        )


def _put_summary(
    tx: Transaction, concept: Mapping[str, Any], elements: Iterable[Element]
) -> tuple[str, bool]:
    """Write a concept of a summary. Returns its id, and True if it existed before."""
    type_name, name = concept.get("type"), concept.get("name")
    values = [concept.get(key, {}) for key in ("attributes", "metadata")]
    is_formed = isinstance(type_name, str) and isinstance(name, str)
    if not is_formed or not all(isinstance(value, Mapping) for value in values):
        raise InvalidSyntax(
            "A concept of a summary has a type, a name, and objects as attributes and metadata.",
            hint='{"type": "Insight", "name": "…", "attributes": {"description": "…"}}',
        )
    unknown = concept.keys() - {"type", "name", "attributes", "metadata", "update"}
    if unknown:
        raise InvalidSyntax(
            f"A concept of a summary has no key {quote_value(min(unknown))}.",
            hint="It has type, name, attributes, metadata and update.",
        )
    try:
        old = tx.get_concept(str(type_name), str(name))
        if old is not None and any(values) and concept.get("update") is not True:
            raise ConstraintViolation(
                f"it exists already, as {old.id}, and would be changed.",
                hint="Choose another name; or pass update: true to change it, or leave out"
                " attributes and metadata to only derive it from the elements.",
            )
        id_ = tx.put_concept(str(type_name), str(name), *values)
    except MycelError as error:
        error.message = f"{type_name} {shorten(str(name))!r}: {error.message}"
        raise
    for element in elements:
        if element.id != id_:
            tx.put_proposition(id_, DERIVED_FROM, element.id)
    return id_, old is not None
