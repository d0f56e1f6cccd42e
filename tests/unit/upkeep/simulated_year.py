"""A simulated year of an agent's memory, with a cycle each night, against a model of what it knows.

Each day brings events and lasting facts. Some facts come again in other words; some links say the
opposite of others; some organisations come again in another spelling, with the same address (the
same thing) or with another one (a namesake). Most events are read again while they are young, a
part of them never. The model knows the elements that have to stay: those that are pinned, held,
linked, confirmed or used within the time of their rule.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from time import process_time, thread_time
from typing import Any

import mycel
from mycel.store.database import Store
from tests.unit.upkeep.test_cycle import DAY_US, Clock

RULE_DAYS = 20
THINGS = [
    "invoice",
    "billing",
    "checkout",
    "cart",
    "session",
    "login",
    "token",
    "cache",
    "queue",
    "worker",
    "deploy",
    "rollback",
    "index",
    "shard",
    "backup",
    "restore",
    "metric",
    "alert",
    "budget",
    "contract",
    "meeting",
    "release",
    "hotfix",
    "migration",
]
PARTS = [
    "timeout",
    "retry",
    "limit",
    "owner",
    "format",
    "schema",
    "colour",
    "price",
    "region",
    "version",
    "license",
    "quota",
    "header",
    "footer",
    "layout",
    "endpoint",
    "policy",
    "threshold",
    "calendar",
    "report",
    "password",
    "certificate",
    "mirror",
]
VALUES = [f"{word}{at}" for word in ("amber", "birch", "cedar", "delta") for at in range(400)]


@dataclass
class Outcome:
    """The results of the year."""

    live: list[int] = field(default_factory=list)
    """The number of live events at the end of each day, without those that are kept for good."""
    lost: list[str] = field(default_factory=list)
    """What had to stay and was archived."""
    forgotten: int = 0
    overdue: list[str] = field(default_factory=list)
    """What had to go and is live."""
    unexplained: int = 0
    merged: int = 0
    merged_wrongly: int = 0
    planted: int = 0
    """Pairs that are one, and links that contradict each other."""
    found: int = 0
    recall_with: float = 0.0
    recall_without: float = 0.0
    cycle_cpu_s: list[float] = field(default_factory=list)
    holds_ms: list[float] = field(default_factory=list)


@dataclass
class _Event:
    name: str
    born_us: int
    kept_by: str = ""
    used_us: int = 0
    written_us: int = 0


class Year:
    """The simulation."""

    def __init__(self, db: mycel.Graph, clock: Clock, seed: int, per_day: int) -> None:
        self.db, self.clock, self.random = db, clock, Random(seed)
        self.per_day = per_day
        self.numbers: dict[str, int] = {}
        self.outcome = Outcome()
        self.events: dict[str, _Event] = {}
        self.young: deque[_Event] = deque()
        self.facts: list[tuple[str, str, str]] = []
        self.true_pairs: set[frozenset[str]] = set()
        self.namesakes: set[frozenset[str]] = set()
        self.repeated: set[frozenset[str]] = set()
        self.opposed: set[tuple[str, str]] = set()
        self.orgs = 0
        with db.transaction() as tx:
            for name in ("Fact", "Org", "Human"):
                tx.define_type(name)
            tx.define_predicate("about")
            tx.define_predicate("likes", {"opposite": "dislikes"})
            tx.define_predicate("dislikes")
            for at in range(40):
                tx.put_concept("Human", f"human {at}")
        db.execute(
            f'SET RETENTION {{after: "{RULE_DAYS}d", from: "updated", then: "archive",'
            ' keep_if: ["linked", "used"]} FOR CONCEPT TYPE "Event"'
        )

    def run(self, days: int, *, sleeps: bool = True) -> Outcome:
        """Live for some days, with a cycle each night."""
        for day in range(days):
            self._live(day)
            self.clock.turn(1)
            if sleeps:
                self._sleep()
        self.outcome.recall_with = self.recall()
        return self.outcome

    # A day.

    def _live(self, day: int) -> None:
        random, db = self.random, self.db
        facts = max(1, self.per_day // 20)
        with db.transaction(actor="agent") as tx:
            for at in range(self.per_day - facts):
                self._happen(tx, f"{day}.{at}")
            for at in range(facts):
                self._learn(tx, f"fact {day}.{at}")
            for _ in range(max(1, self.per_day // 100)):
                self._meet(tx)
        for event in list(self.young):
            if event.born_us < self.clock.now_us - 5 * DAY_US:
                self.young.popleft()
        readers = [each for each in self.young if not each.name.endswith("0")]
        if readers:  # One in ten is never used again.
            used = random.sample(readers, min(len(readers), self.per_day // 4))
            db.use_counts.note([self.numbers[each.name] for each in used])
            for each in used:
                each.used_us = self.clock.now_us
        confirmed = [each for each in self.young if random.random() < 0.01]
        with db.transaction(actor="agent") as tx:
            for each in confirmed:
                tx.update(("Event", each.name), attributes={"outcome": f"confirmed on {day}"})
                each.written_us = tx.time_us

    def _happen(self, tx: mycel.Transaction, name: str) -> None:
        random = self.random
        thing, part = random.choice(THINGS), random.choice(PARTS)
        metadata: Mapping[str, Any] = {}
        event = _Event(name, tx.time_us)
        match random.randrange(100):
            case 0:
                metadata, event.kept_by = {"pinned": True}, "pinned"
            case 1:
                metadata, event.kept_by = {"hold": "audit"}, "held"
        values = {
            "event_class": "Observation",
            "start_time": "2030-01-01",
            "content_summary": f"Somebody looked at the {part} of the {thing} and saw"
            f" {random.choice(VALUES)}",
        }
        id_ = tx.put_concept("Event", name, values, metadata)
        self.numbers[name] = int(id_[2:])
        if random.random() < 0.02:
            target = ("Event", name)
            tx.put_proposition(("Human", f"human {random.randrange(40)}"), "about", target)
            event.kept_by = event.kept_by or "linked"
        self.events[name] = event
        self.young.append(event)

    def _learn(self, tx: mycel.Transaction, name: str) -> None:
        random = self.random
        if self.facts and random.random() < 0.05:
            old, subject, value = random.choice(self.facts)
            text = f"It is {value} that we have as {subject}, as the team agreed"
            self.repeated.add(frozenset((old, name)))
        else:
            subject = f"the {random.choice(PARTS)} of the {random.choice(THINGS)}"
            value = f"{random.choice(VALUES)} {random.choice(VALUES)}"
            text = f"We have {value} as {subject}, the whole team agreed to that"
            self.facts.append((name, subject, value))
        tx.put_concept("Fact", name, {"content": text})

    def _meet(self, tx: mycel.Transaction) -> None:
        random = self.random
        self.orgs += 1
        name, place = f"Company {self.orgs} Limited", f"https://c{self.orgs}.example"
        tx.put_concept("Org", name, {"url": place})
        other = name.upper().replace(" ", "-")
        if random.random() < 0.5:
            tx.put_concept("Org", other, {"url": place})
            self.true_pairs.add(frozenset((name, other)))
        else:
            tx.put_concept("Org", other, {"url": f"https://other{self.orgs}.example"})
            self.namesakes.add(frozenset((name, other)))
        subject = ("Human", f"human {random.randrange(40)}")
        tx.put_proposition(subject, "likes", ("Org", name))
        if random.random() < 0.5:
            tx.put_proposition(subject, "dislikes", ("Org", name))
            self.opposed.add((subject[1], name))

    # A night.

    def _sleep(self) -> None:
        outcome = self.outcome
        began = process_time()
        self.db.sleep()
        outcome.cycle_cpu_s.append(process_time() - began)
        command = 'FIND(?e.name) WHERE { ?e {type: "Event"} }'
        live = {name for (name,) in self.db.execute(command).rows}
        now_us, window = self.clock.now_us, RULE_DAYS * DAY_US
        for name, event in list(self.events.items()):
            last = max(event.born_us, event.used_us, event.written_us)
            stays = bool(event.kept_by) or last > now_us - window
            if name not in live:
                if stays:
                    outcome.lost.append(f"{name}: {event.kept_by or 'used or young'}")
                outcome.forgotten += 1
                del self.events[name]
            elif not stays and last < now_us - window - DAY_US:
                outcome.overdue.append(name)
        outcome.live.append(sum(not event.kept_by for event in self.events.values()))

    # Afterwards.

    def judge(self) -> Outcome:
        """Compare merges, questions and reasons with the planted repetitions and contradictions."""
        db, outcome = self.db, self.outcome
        kept = {name for (name,) in db.execute('FIND(?o.name) WHERE { ?o {type: "Org"} }').rows}
        for pairs, is_right in ((self.true_pairs, True), (self.namesakes, False)):
            for pair in pairs:
                if not pair <= kept:
                    outcome.merged += 1
                    outcome.merged_wrongly += not is_right
        asked = set()
        command = (
            "FIND(?t.attributes.target_name, ?t.attributes.others, ?t.attributes.reason)"
            ' INCLUDE ARCHIVED WHERE { ?t {type: "SleepTask"} }'
        )
        reasons = []
        for target, others, reason in db.execute(command).rows:
            names = [other.partition(":")[2] for other in others or ()]
            asked.update(frozenset((target, name)) for name in names)
            reasons.append(reason)
        text = "\n".join(reasons)
        opposed = sum(
            f"Human '{human}' likes Org '{org}', and" in text for human, org in self.opposed
        )
        outcome.planted = len(self.true_pairs) + len(self.repeated) + len(self.opposed)
        outcome.found = (
            sum(not pair <= kept or pair in asked for pair in self.true_pairs)
            + sum(pair in asked for pair in self.repeated)
            + opposed
        )
        command = (
            'FIND(COUNT(?e)) INCLUDE ARCHIVED WHERE { ?e {type: "Event"}'
            " FILTER(IS_NOT_NULL(?e.metadata.archived_at)"
            " && IS_NULL(?e.metadata.archived_because)) }"
        )
        outcome.unexplained = db.execute(command).value
        return outcome

    def recall(self, questions: int = 60, budget: int = 5) -> float:
        """The part of questions about facts whose answer is among a few results."""
        random = Random(7)
        asked = random.sample(self.facts, min(questions, len(self.facts)))
        hits = 0
        for name, _, value in asked:
            word = value.split()[0]
            found = self.db.search(f"what do we know about {word}", limit=budget)
            names = {element.name for element, *_ in found}
            hits += any(
                other == name or frozenset((name, other)) in self.repeated for other in names
            )
        return hits / len(asked)


def measure_holds(outcome: Outcome) -> Any:
    """Measure the thread time of each transaction of the store.

    Returns a function that stops measuring.
    """
    run = Store.run

    def timed(self: Store, *arguments: Any, **named: Any) -> Any:
        began = thread_time()
        try:
            return run(self, *arguments, **named)
        finally:
            outcome.holds_ms.append(1_000 * (thread_time() - began))

    Store.run = timed  # type: ignore[method-assign]

    def undo() -> None:
        Store.run = run  # type: ignore[method-assign]

    return undo
