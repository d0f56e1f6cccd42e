"""One sleep cycle: steps that act where a rule is certain, and ask about the rest.

Each step first collects its work, and checks the clock meanwhile. Then it does the work as
`$system`, in transactions of a few elements; between two transactions, other writers get their
turn. Each element is judged again inside its transaction. A cycle may therefore stop at any point,
and the next cycle continues there; nothing is done twice. Over all processes, only one cycle runs
at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from time import monotonic, sleep
from typing import Final, TypeVar

from mycel.engine.archive import archive_element
from mycel.engine.due import Due, RetentionRules, is_open_task, label, link_text
from mycel.engine.missing_concepts import MISSING
from mycel.engine.united_values import merge_and_unite
from mycel.errors import DatabaseBusy, MycelError
from mycel.model import times
from mycel.model.elements import Concept, Element
from mycel.model.limits import INTEGER_MAX
from mycel.model.names import SLEEP_TASK, SYSTEM_ACTOR
from mycel.model.retention import RetentionEnd
from mycel.model.values import JsonObject
from mycel.store.database import Store
from mycel.store.query import retention
from mycel.store.query.reader import Reader
from mycel.store.write.purge import purge
from mycel.store.write.transaction import Transaction
from mycel.upkeep import tasks
from mycel.upkeep.cycle_report import EXAMPLES_MAX, CycleReport, StepReport
from mycel.upkeep.duplicates import duplicate_pairs, judge_pair
from mycel.upkeep.questions import (
    COMPARED_MAX,
    FINDERS,
    Families,
    Finder,
    Repetitions,
    UpkeepQuestion,
    ask_about_changes,
    ask_about_events,
    uncompared,
)
from mycel.upkeep.tiers import tier_changes
from mycel.upkeep.weights import MARK, OPTION, is_own, weight_changes

TURN_S: Final = 0.03
"""The seconds, roughly, for which one transaction holds the turn of the writer."""
PAUSE_S: Final = 0.002
"""The pause after each transaction, in which others get their turn."""
BATCH_MAX: Final = 64
COMPARED_TOGETHER: Final = 64
"""The maximum number of texts that are compared before their questions are asked."""
COMPARED_MIN: Final = 8
"""The number of texts that are always compared, even if other steps took all the time."""
FOLD_CHANGES: Final = 128
"""The number of pending changes from which a cycle folds between two transactions."""
MERGES_MAX: Final = 1_000
"""The maximum number of small transactions in which a cycle merges the text index."""
SAME_NAME_PRIORITY: Final = 1.0
"""The priority of a question about two concepts with one name or external id."""
ASKED_MAX: Final = 1_000
"""The maximum number of new questions of one finder in a cycle."""
REPORTS_KEPT: Final = 30
PURGED_LOGGED: Final = 100
"""The maximum number of purged elements that the log of a cycle lists."""
ENDED: Final[dict[RetentionEnd, str]] = {
    "archive": "archived",
    "delete": "deleted",
    "purge": "purged",
}
UNLINKED_MAX: Final = 1_000
LOG: Final = "maintenance_log"
LAST: Final = "last_sleep_cycle"
PLACES: Final = "places"
"""The key of the state with the last number that each step of a cut cycle has reached."""
COMPARED: Final = "compared"
"""The key of the state with the last concept whose text was compared."""
DOMAIN: Final = "Domain"
MEMBERSHIP: Final = "belongs_to_domain"
SYSTEM: Final = ("Person", SYSTEM_ACTOR)

T = TypeVar("T")

Step = Callable[["Cycle", StepReport], None]


class Cycle:
    """A cycle on one graph."""

    def __init__(
        self,
        store: Store,
        *,
        dry_run: bool = False,
        seconds: float | None = None,
        stop: Callable[[], bool] = lambda: False,
        derive: Callable[[], bool] | None = None,
    ) -> None:
        """With `dry_run` the cycle only reports.

        After `seconds`, or once `stop` returns True, it stops and reports what is left. `derive`
        brings vectors up to date, and returns True if any were missing.
        """
        self._stop: Final = stop
        self._derive: Final = derive
        self._store: Final = store
        self._dry_run: Final = dry_run
        self._noted: Final[JsonObject] = {}
        """Values for the next cycle, in an attribute that only cycles write."""
        self._would_ask: Final[set[str]] = set()
        """The names of the tasks that a dry run has counted."""
        self._purged: Final[dict[int, JsonObject]] = {}
        """The purged elements with their rules; their names are purged, too."""
        self._ends: Final = None if seconds is None else monotonic() + seconds
        self._has_time: Final = seconds is None or seconds > 0
        self._places: Final[dict[str, int]] = {}

    def run(self) -> CycleReport:
        """Run all steps.

        Raises:
            DatabaseBusy: another cycle is running.
        """
        began = monotonic()
        with self._store.reading() as reader:
            report = CycleReport(times.to_text(reader.now_us()), self._dry_run)
            before = retention.cycle_state(reader).get(PLACES, {})
        self._places.update(before)
        with self._alone():
            for name, step in STEPS:
                step_report = StepReport(name)
                report.steps.append(step_report)
                step(self, step_report)
            report.is_complete = not any(step.left for step in report.steps)
            report.seconds = round(monotonic() - began, 3)
            if not self._dry_run:
                if self._places != before:
                    self._noted[PLACES] = dict(self._places)
                self._write_log(report)
        return report

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._dry_run or self._store.is_in_memory:
            yield
            return
        try:
            with self._store.location.locked("-sleep"):
                yield
        except BlockingIOError as error:
            raise DatabaseBusy(
                "Another sleep cycle of this graph is running.",
                hint="Wait until it has ended; `mycel sleep` resumes what it leaves.",
            ) from error

    # Work in small transactions.

    def _is_over(self) -> bool:
        return self._stop() or (self._ends is not None and monotonic() > self._ends)

    def _change_all(
        self,
        numbers: Sequence[int],
        change: Callable[[Transaction, int], None],
        report: StepReport,
        message: str,
    ) -> None:
        """Call `change` for every element, several in one transaction; not in a dry run.

        The first elements are changed even if the time is over, so that the search was not in vain.
        """
        at, size = 0, 4
        while at < len(numbers):
            if self._stop() or (at >= BATCH_MAX and self._is_over()):
                report.left += len(numbers) - at
                if report.name in self._places:
                    self._places[report.name] = numbers[at - 1] if at else 0
                return
            batch = numbers[at : at + size]

            began = monotonic()

            def work(tx: Transaction, batch: Sequence[int] = batch) -> None:
                nonlocal began
                began = monotonic()  # The wait for the turn is over.
                for number in batch:
                    change(tx, number)

            self._store.run(work, actor=SYSTEM_ACTOR, message=message)
            took = monotonic() - began
            if self._store.pending_changes >= FOLD_CHANGES:
                self._store.fold(wait=False)
            at += len(batch)
            size = min(size * 2, BATCH_MAX) if took < TURN_S / 2 else max(1, size // 2)
            sleep(PAUSE_S)

    def _in_time(self, numbers: Sequence[int], report: StepReport) -> Iterator[int]:
        """Elements by number, from where the last cycle was cut, until the time is over."""
        place = self._places.pop(report.name, 0)
        order = [number for number in numbers if number > place]
        order += [number for number in numbers if number <= place]
        for at, number in enumerate(order):
            if self._is_over():
                report.left += len(order) - at
                self._places[report.name] = order[at - 1] if at else place
                return
            yield number

    def _until_over(self, items: Iterable[T], report: StepReport) -> Iterator[T]:
        """Items until the time is over."""
        for item in items:
            if self._is_over():
                report.left += 1
                return
            yield item

    # The steps of a cycle.

    def expire(self, report: StepReport) -> None:
        """Archive, delete or purge elements that are due, or ask about them."""
        with self._store.reading() as reader:
            uses = self._store.use_counts.uses()
            now_us, rules = reader.now_us(), RetentionRules(reader, uses)
            due = {}
            numbers_by_end = Counter[str]()
            for number in self._in_time(rules.candidates(reader, now_us), report):
                element = reader.element(number)
                item = None if element is None else rules.judge(reader, element, now_us)
                if element is None or item is None:
                    continue
                text = f"{item.end} {label(element)}: {item.reason}"
                if item.end == "ask":
                    name = tasks.task_name(element, tasks.REVIEW)
                    if tasks.was_asked(reader, name):
                        continue
                    if self._dry_run:
                        self._count_question(name, "", report)
                due[number] = item
                numbers_by_end[item.end] += 1
                if numbers_by_end[item.end] <= EXAMPLES_MAX:
                    report.examples.append(text)
        if self._dry_run:
            for item in due.values():
                if item.end != "ask":
                    report.count_end(ENDED[item.end])
            return

        def change(tx: Transaction, number: int) -> None:
            rules: RetentionRules | None = tx.memo.get(RetentionRules)
            if rules is None:
                rules = tx.memo[RetentionRules] = RetentionRules(tx.reader, uses)
            element = tx.reader.element(number)
            judged = None if element is None else rules.judge(tx.reader, element, tx.time_us)
            if element is not None and judged is not None:
                _end(tx, element, judged, report)
                if judged.end == "purge" and tx.reader.element(number) is None:
                    self._purged[number] = {"id": element.id, "rule": judged.reason}

        self._change_all(list(due), change, report, "Sleep cycle: due elements")

    def retier(self, report: StepReport) -> None:
        """Write the tier and strength of short-term memory."""
        with self._store.reading() as reader:
            now_us = reader.now_us()
            uses = self._store.use_counts.uses()
            rules = RetentionRules(reader)
            changes = {}
            for number in self._in_time(rules.candidates(reader, INTEGER_MAX), report):
                element = reader.element(number)
                if element is None:
                    continue
                metadata = tier_changes(
                    reader, element, rules.of(element), uses.get(number), now_us
                )
                if metadata:
                    changes[number] = metadata
        if self._dry_run:
            report.done += len(changes)
            return

        def change(tx: Transaction, number: int) -> None:
            element = tx.reader.element(number)
            if element is not None:
                report.done += tx.update_found(element, metadata=changes[number])

        self._change_all(list(changes), change, report, "Sleep cycle: tiers and strength")

    def merge(self, report: StepReport) -> None:
        """Merge certain duplicates, and ask about the others."""
        with self._store.reading() as reader:
            pairs_in_time = self._until_over(duplicate_pairs(reader), report)
            judged = (judge_pair(reader, pair) for pair in pairs_in_time)
            pairs = {}
            for pair in judged:
                keep = None if pair is None else reader.concept(pair.keep)
                duplicate = None if pair is None else reader.concept(pair.merge)
                if pair is None or keep is None or duplicate is None:
                    continue
                if not pair.is_certain:
                    name = tasks.task_name(keep, tasks.MERGE, (_full_name(duplicate),))
                    if tasks.was_asked(reader, name):
                        continue
                    if self._dry_run:
                        self._count_question(name, "", report)
                pairs[pair.merge] = pair
                verb = "merge" if pair.is_certain else "ask about"
                report.note(f"{verb} {label(duplicate)} and {label(keep)}: {pair.why}")
        if self._dry_run:
            report.done += sum(pair.is_certain for pair in pairs.values())
            return

        def change(tx: Transaction, number: int) -> None:
            pair = judge_pair(tx.reader, pairs[number])
            if pair is None:
                return
            keep, duplicate = tx.reader.concept(pair.keep), tx.reader.concept(number)
            if keep is None or duplicate is None:
                return
            if pair.is_certain:
                for sentence in merge_and_unite(tx, duplicate, keep).lost:
                    report.note(f"merged {duplicate.name!r} into {keep.name!r}: {sentence}")
                report.done += 1
            else:
                report.asked += tasks.make_task(
                    tx,
                    keep,
                    tasks.MERGE,
                    f"{label(keep)} and {label(duplicate)} may be one: {pair.why}.",
                    (_full_name(duplicate),),
                    priority=SAME_NAME_PRIORITY,
                )

        self._change_all(sorted(pairs), change, report, "Sleep cycle: duplicates")

    def compare(self, report: StepReport) -> None:
        """Ask about concepts that are new since the last cycle and repeat another text."""
        with self._store.reading() as reader:
            numbers = uncompared(reader, retention.cycle_state(reader).get(COMPARED, 0))
        at, families = 0, Families()
        while at < min(len(numbers), COMPARED_MAX) and not self._stop():
            is_over = self._is_over()
            if is_over and (at or not self._has_time):
                break
            size = COMPARED_MIN if is_over else COMPARED_TOGETHER
            with self._store.reading() as reader:
                repetitions = Repetitions(reader, numbers[at : at + size], families)
                questions = []
                for question in repetitions:
                    questions += [question] if question is not None else []
                    if repetitions.compared >= COMPARED_MIN and self._is_over():
                        break
            self._ask(questions, report, "Sleep cycle: repetitions")
            at += repetitions.compared
            if not self._dry_run:
                self._noted[COMPARED] = numbers[at - 1]
        report.left += len(numbers) - at

    def contradict(self, report: StepReport) -> None:
        """Ask about links that cannot hold at the same time, and about contested links."""
        self._ask_all(FINDERS, report, "Sleep cycle: contradictions")

    def inspect(self, report: StepReport) -> None:
        """Ask about notes whose files have changed."""
        self._ask_all((ask_about_changes,), report, "Sleep cycle: changed files")

    def distil(self, report: StepReport) -> None:
        """Ask to derive lasting knowledge from events."""
        self._ask_all((ask_about_events,), report, "Sleep cycle: events")

    def close_tasks(self, report: StepReport) -> None:
        """Close tasks whose elements are gone."""
        with self._store.reading() as reader:
            moot = [
                number
                for number in self._until_over(retention.instances(reader, SLEEP_TASK), report)
                if (task := reader.concept(number)) is not None
                and is_open_task(task)
                and tasks.is_moot(reader, task)
            ]
        if self._dry_run:
            report.done += len(moot)
            return

        def change(tx: Transaction, number: int) -> None:
            task = tx.reader.concept(number)
            if task is not None and is_open_task(task):
                values = {"status": "completed", "result": "moot: its elements are gone"}
                report.done += tx.update_found(task, attributes=values)

        self._change_all(moot, change, report, "Sleep cycle: moot tasks")

    def _ask_all(self, finders: Sequence[Finder], report: StepReport, message: str) -> None:
        with self._store.reading() as reader:
            now_us = reader.now_us()
            questions = [
                question
                for finder in finders
                for _, question in islice(
                    _new_questions(reader, self._until_over(finder(reader, now_us), report)),
                    ASKED_MAX,
                )
            ]
        self._ask(questions, report, message)

    def _ask(self, questions: Sequence[UpkeepQuestion], report: StepReport, message: str) -> None:
        """Make a task for each question that was not asked before."""
        if self._dry_run:
            with self._store.reading() as reader:
                for name, question in _new_questions(reader, questions):
                    self._count_question(name, question.reason, report)
            return

        def change(tx: Transaction, at: int) -> None:
            number, action, reason, others, mark, priority = questions[at]
            element = tx.reader.element(number)
            if element is None:
                return
            is_new = tasks.make_task(
                tx, element, action, reason, others, mark=mark, priority=priority
            )
            if not is_new:
                return
            report.asked += 1
            report.note(reason)

        self._change_all(range(len(questions)), change, report, message)

    def _count_question(self, name: str, reason: str, report: StepReport) -> None:
        """Count a question of a dry run, once in all steps."""
        if name in self._would_ask:
            return
        self._would_ask.add(name)
        report.asked += 1
        if reason:
            report.note(reason)

    def weigh(self, report: StepReport) -> None:
        """Make followed links cheaper, and other links dearer, if the graph has this option."""
        with self._store.reading() as reader:
            system = reader.find_concept(*SYSTEM)
            if system is None or system.attributes.get(OPTION) is not True:
                return
            changes = weight_changes(reader, self._store.use_counts.followed())
            for planned in changes.values():
                link = reader.link(planned.number)
                if link is not None:
                    text = link_text(reader, link)
                    report.note(f"{text}: {link.weight:g} to {planned.weight:g}, {planned.reason}")
        if self._dry_run:
            report.done += len(changes)
            return

        def change(tx: Transaction, number: int) -> None:
            link, (_, weight, reason) = tx.reader.link(number), changes[number]
            if link is not None and is_own(link):
                metadata = {MARK: weight, "weight_reason": reason}
                report.done += tx.update_found(link, weight=weight, metadata=metadata)

        self._change_all(sorted(changes), change, report, "Sleep cycle: weights from use")
        if not report.left:
            self._store.use_counts.forget_followed()

    def look(self, report: StepReport) -> None:
        """Count concepts without links, domains without members, and placeholders."""
        with self._store.reading() as reader:
            for numbers, defect in (
                (retention.unlinked(reader, UNLINKED_MAX), "has no link"),
                (retention.empty_instances(reader, DOMAIN, MEMBERSHIP), "has no member"),
                (retention.instances(reader, MISSING), "is linked to but not written yet"),
            ):
                report.found += len(numbers)
                for number in numbers[:2]:
                    element = reader.element(number)
                    if element is not None:
                        report.note(f"{label(element)} {defect}")

    def compact(self, report: StepReport) -> None:
        """Bring indexes and vectors up to date, merge the text index, and begin a checkpoint.

        Statistics and the adjacency in memory need no step: every write updates them.
        """
        if self._dry_run:
            return
        report.done += self._store.fold(wait=False)
        for _ in range(MERGES_MAX):
            if self._is_over() or not self._store.merge_text():
                break
            report.done += 1
            sleep(PAUSE_S)
        if self._derive is not None and not self._is_over():
            try:
                report.done += self._derive()
            except MycelError as error:
                report.note(f"Vectors were not updated: {error.message}")
        self._store.begin_checkpoint()

    def _write_log(self, report: CycleReport) -> None:
        """Add the report to the attributes of `$system`, and keep the state of the cycle there."""

        def work(tx: Transaction) -> None:
            system = tx.reader.find_concept(*SYSTEM)
            if system is None:
                return  # A bare graph has no `$system`, so it keeps no report.
            log = system.attributes.get(LOG)
            entry: JsonObject = {"time": report.began, "done": report.summary}
            if self._purged:
                entry["purged"] = list(self._purged.values())[:PURGED_LOGGED]
            entries = [*(log if isinstance(log, list) else ()), entry]
            values = {LAST: report.began, LOG: entries[-REPORTS_KEPT:]}
            state = {**retention.cycle_state(tx.reader), "last": report.began, **self._noted}
            tx.update(system.id, attributes=values, reserved={retention.CYCLE_STATE: state})

        self._store.run(
            work, actor=SYSTEM_ACTOR, message=f"Sleep cycle report: {report.summary}"[:500]
        )


STEPS: Final[tuple[tuple[str, Step], ...]] = (
    ("expire", Cycle.expire),
    ("tiers", Cycle.retier),
    ("duplicates", Cycle.merge),
    ("repetitions", Cycle.compare),
    ("contradictions", Cycle.contradict),
    ("changes", Cycle.inspect),
    ("events", Cycle.distil),
    ("tasks", Cycle.close_tasks),
    ("weights", Cycle.weigh),
    ("orphans", Cycle.look),
    ("indexes", Cycle.compact),
)
"""The steps, by their names in a report."""


def _new_questions(
    reader: Reader, questions: Iterable[UpkeepQuestion]
) -> Iterator[tuple[str, UpkeepQuestion]]:
    """The questions that have no task, each with the name of its task."""
    for question in questions:
        element = reader.element(question.number)
        if element is not None:
            name = tasks.task_name(element, question.action, question.others, question.mark)
            if not tasks.was_asked(reader, name):
                yield name, question


def _end(tx: Transaction, element: Element, due: Due, report: StepReport) -> None:
    try:
        match due.end:
            case "archive":
                if not archive_element(tx, element, due.reason):
                    return
            case "delete":
                tx.retire(element, reason=due.reason)
            case "purge":
                purge(tx, element.id, due.reason)
            case "ask":
                reason = f"{label(element)} is due: {due.reason}."
                report.asked += tasks.make_task(tx, element, tasks.REVIEW, reason)
                return
        report.count_end(ENDED[due.end])
    except MycelError as error:
        if tx.spoiled:
            raise
        report.left += 1
        report.note(f"{label(element)} stays: {error.message}")


def _full_name(concept: Concept) -> str:
    return f"{concept.type}:{concept.name}"
