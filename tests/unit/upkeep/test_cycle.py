"""Sleep cycles do what is certain by rule, ask about the rest, and lose nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import mycel
from mycel.engine.due import RetentionRules
from mycel.errors import DatabaseBusy
from mycel.model import times
from mycel.search.similar_texts import SimilarTexts
from mycel.upkeep import CycleReport, StepReport, cycle

DAY_US = 86_400_000_000
NEW_YEAR_US = times.from_text("2030-01-01T08:00:00Z")


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now_us = NEW_YEAR_US

    def __call__(self) -> int:
        self.now_us += 1_000
        return self.now_us

    def turn(self, days: float) -> None:
        self.now_us += int(days * DAY_US)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(tmp_path: Path, clock: Clock) -> Iterator[mycel.Graph]:
    with mycel.open(tmp_path / "graph.db", clock_us=clock) as opened:
        opened.write(define)
        yield opened


def define(tx: mycel.Transaction) -> None:
    tx.define_type("Note")
    tx.define_type("Org")
    tx.define_predicate("about")
    tx.define_predicate("works_at", {"functional": True})


def set_rule(db: mycel.Graph, rule: str, of: str = 'CONCEPT TYPE "Note"') -> None:
    db.execute(f"SET RETENTION {rule} FOR {of}")


def notes(db: mycel.Graph, clause: str = "") -> set[str]:
    command = f'FIND(?n.name) {clause} WHERE {{ ?n {{type: "Note"}} }}'
    return {name for (name,) in db.execute(command).rows}


def tasks(db: mycel.Graph) -> list[tuple[str, str]]:
    values = "?t.attributes.requested_action, ?t.attributes.reason"
    return sorted(db.execute(f'FIND({values}) WHERE {{ ?t {{type: "SleepTask"}} }}').rows)


def step(report: CycleReport, name: str) -> StepReport:
    return next(each for each in report.steps if each.name == name)


def test_a_month_of_cycles_keeps_exactly_what_the_rule_keeps(
    db: mycel.Graph, clock: Clock, seed: int
) -> None:
    random = Random(seed)
    set_rule(db, '{after: "10d", then: "archive", keep_if: ["linked"]}')
    born: dict[str, int] = {}
    kept: set[str] = set()
    for day in range(30):
        for at in range(8):
            name = f"{day}.{at}"
            metadata = {}
            match random.randrange(10):
                case 0:
                    metadata = {"pinned": True}
                case 1:
                    metadata = {"hold": "audit"}
            db.write(lambda tx, n=name, m=metadata: tx.put_concept("Note", n, None, m))
            born[name] = clock.now_us
            if metadata:
                kept.add(name)
            elif random.random() < 0.1 and at:
                source, target = ("Note", name), ("Note", f"{day}.0")
                db.write(lambda tx, s=source, t=target: tx.put_proposition(s, "about", t))
        clock.turn(1)
        # A link counts as long as the note that it comes from was there when the cycle began.
        links = db.execute('FIND(?a.name, ?b.name) WHERE { (?a, "about", ?b) }').rows
        referred = {target for _, target in links}
        db.sleep()
        live = notes(db)
        for name, time_us in born.items():
            is_due = clock.now_us - time_us >= 10 * DAY_US
            if name in kept or not is_due:
                assert name in live, (day, name)
            elif name not in referred:
                assert name not in live, (day, name)
    assert notes(db, "INCLUDE ARCHIVED") == born.keys()
    reasons = db.execute(
        'FIND(?n.metadata.archived_because) INCLUDE ARCHIVED WHERE { ?n {type: "Note"}'
        " FILTER(IS_NOT_NULL(?n.metadata.archived_at)) }"
    ).rows
    assert {reason for (reason,) in reasons} == {
        "the rule of Note: archive 10 days after it was created, and nothing links to it"
    }
    assert not db.verify(replay=True).problems


def test_each_end_does_what_it_says(db: mycel.Graph, clock: Clock) -> None:
    with db.transaction() as tx:
        for name, end in (("a", "archive"), ("b", "delete"), ("d", "ask")):
            tx.put_concept("Note", name, None, {"retention": {"after": "1d", "then": end}})
        purged = tx.put_concept("Org", "c")
        tx.put_concept("Note", "e", None, {"retention": "never", "expires_at": "2031-01-01"})
    set_rule(db, '{after: "1d", then: "purge"}', 'CONCEPT TYPE "Org"')
    clock.turn(2)
    ends = {"archived": 1, "deleted": 1, "purged": 1}
    tried = db.sleep(dry_run=True)
    assert (tried.steps[0].done, tried.steps[0].asked, tried.steps[0].ended) == (3, 1, ends)
    report = db.sleep()
    assert (report.steps[0].done, report.steps[0].asked, report.steps[0].ended) == (3, 1, ends)
    assert "expire: 3 done (1 archived, 1 deleted, 1 purged), 1 asked" in report.summary
    assert {example.split(" ")[0] for example in report.steps[0].examples} == {
        *("archive", "delete", "purge", "ask")
    }
    (entry,) = db.upkeep.health().log
    rule = "the rule of Org: purge 1 day after it was created"
    assert entry["purged"] == [{"id": purged, "rule": rule}]
    assert notes(db) == {"d", "e"}
    assert notes(db, "INCLUDE ARCHIVED") == {"a", "d", "e"}
    assert [action for action, _ in tasks(db)] == ["review"]
    clock.turn(400)
    db.sleep()
    assert notes(db) == {"d", "e"}, "a rule never of its own keeps an element from its expires_at"
    assert len(tasks(db)) == 1, "what was asked once is not asked again"
    assert not db.verify(replay=True).problems


def test_the_rule_of_an_element_does_not_purge_and_is_asked_about(
    db: mycel.Graph, clock: Clock
) -> None:
    rule = {"after": "0d", "then": "purge"}
    warned = db.execute(
        'UPSERT { CONCEPT { {type: "Note", name: "poison"} } WITH METADATA { retention: :rule } }',
        rule=rule,
    )
    assert any("asks before it purges" in warning for warning in warned.warnings)
    set_one = 'SET RETENTION :rule FOR ?n WHERE { ?n {type: "Note"} }'
    (warning,) = db.execute(set_one, rule=rule).warnings
    assert "asks before it purges" in warning
    clock.turn(1)
    assert db.sleep(dry_run=True).steps[0].ended == {}
    report = db.sleep()
    assert (report.steps[0].done, report.steps[0].asked) == (0, 1)
    assert notes(db) == {"poison"}
    ((action, reason),) = tasks(db)
    assert action == "review"
    assert "purge" in reason
    task = db.tasks.next()
    assert task is not None
    db.tasks.decide(task.id, "drop")
    assert notes(db, "INCLUDE ARCHIVED") == {"poison"}


def test_commits_of_a_cycle_are_reverted_though_later_cycles_wrote_tiers(
    db: mycel.Graph, clock: Clock
) -> None:
    set_rule(db, '{after: "10d", from: "updated", then: "archive"}')
    with db.transaction() as tx:
        for name in ("Acme", "ACME!"):
            tx.put_concept("Note", name, {"url": "https://acme.example"})
    clock.turn(1)
    assert step(db.sleep(), "duplicates").done == 1
    merge = next(entry for entry in db.history.log() if entry.message == "Sleep cycle: duplicates")
    clock.turn(4)
    assert step(db.sleep(), "tiers").done
    with db.transaction() as tx:
        tx.put_concept("Note", "Initech")
    (added,) = db.history.log(limit=1)
    clock.turn(1)
    db.sleep()
    db.history.revert(added.commit)
    db.history.revert(merge.commit)
    assert notes(db) == {"Acme", "ACME!"}
    assert not db.verify(replay=True).problems


def test_a_dry_run_of_a_rule_says_how_many_elements_are_due_at_once(
    db: mycel.Graph, clock: Clock
) -> None:
    with db.transaction() as tx:
        for at in range(3):
            tx.put_concept("Note", f"n{at}", None, {"pinned": True} if at == 0 else None)
        tx.put_concept("Org", "o")
        tx.put_concept("Org", "same rule", None, {"retention": {"after": "1d", "then": "purge"}})
    clock.turn(2)
    command = 'SET RETENTION {{after: "{}", then: "purge"}} FOR {}'
    for after, of, due in (
        ("1d", 'CONCEPT TYPE "Note"', 2),
        ("3d", 'CONCEPT TYPE "Note"', 0),
        ("1d", '?n WHERE { ?n {type: "Org", name: "o"} }', 1),
    ):
        tried = db.execute(command.format(after, of), dry_run=True)
        assert tried.value["would"]["due"] == due
    assert db.sleep(dry_run=True).steps[0].done == 0, "nothing was set"


def test_a_rule_from_updates_counts_the_changes_of_others_alone(
    db: mycel.Graph, clock: Clock
) -> None:
    set_rule(db, '{after: "10d", from: "updated", then: "archive"}')
    for name in "ab":
        db.write(lambda tx, n=name: tx.put_concept("Note", n))
    for _ in range(8):
        clock.turn(1)
        db.sleep()
    db.write(lambda tx: tx.put_concept("Note", "b", {"seen": True}))
    for _ in range(4):
        clock.turn(1)
        db.sleep()
    assert notes(db) == {"b"}


def test_what_was_restored_is_kept_for_the_time_of_its_rule_again(
    db: mycel.Graph, clock: Clock
) -> None:
    set_rule(db, '{after: "10d", then: "archive"}')
    db.write(lambda tx: tx.put_concept("Note", "a"))
    clock.turn(11)
    db.sleep()
    assert notes(db) == set()
    db.execute('RESTORE ?n WHERE { ?n {type: "Note"} }')
    clock.turn(9)
    db.sleep()
    assert notes(db) == {"a"}
    clock.turn(2)
    db.sleep()
    assert notes(db) == set()


def test_strength_fades_in_bands_and_confidence_never(db: mycel.Graph, clock: Clock) -> None:
    set_rule(db, '{after: "40d", then: "archive"}')
    db.write(lambda tx: tx.put_concept("Note", "a", None, {"confidence": 0.9}))
    seen = []
    for _ in range(40):
        db.sleep()
        metadata = db.get_concept("Note", "a").metadata
        seen.append(metadata["memory_strength"])
        assert (metadata["memory_tier"], metadata["confidence"]) == ("short-term", 0.9)
        clock.turn(0.9)
    assert seen == sorted(seen, reverse=True)
    assert {1.0, 0.5, 0.25, 0.1} <= set(seen)
    assert len(list(db.history.versions(("Note", "a")))) <= 6


def test_search_ranks_what_has_faded_lower_and_says_so(db: mycel.Graph, clock: Clock) -> None:
    with db.transaction() as tx:
        for name, metadata in (("old", {"memory_strength": 0.1}), ("new", {})):
            tx.put_concept("Note", name, {"text": "The tide turns."}, metadata)
    new, old = db.execute('SEARCH CONCEPT "when does the tide turn"').value
    assert (new["name"], old["name"]) == ("new", "old")
    assert old["metadata"]["_caveats"] == ["memory strength 0.1"]
    assert old["metadata"]["_score"] == pytest.approx(0.91 * new["metadata"]["_score"], abs=0.01)
    assert db.execute('SEARCH CONCEPT "old"').value[0]["name"] == "old", "its name counts more"


def test_only_certain_duplicates_are_merged_and_others_are_asked_about_once(
    db: mycel.Graph,
) -> None:
    with db.transaction() as tx:
        tx.put_concept("Org", "World Health Organization", {"url": "https://who.int"})
        tx.put_concept("Org", "world-health organization", {"url": "https://who.int"})
        tx.put_concept("Org", "WHO")
        tx.put_concept("Org", "Acme")
        tx.put_concept("Org", "ACME!")
        tx.put_concept("Note", "acme")
        tx.put_proposition(("Note", "acme"), "about", ("Org", "world-health organization"))
    assert db.sleep(dry_run=True).steps[2].done == 1
    first = db.sleep().steps[2]
    assert (first.done, first.asked) == (1, 2)
    names = db.execute('FIND(?o.name) WHERE { ?o {type: "Org"} } ORDER BY ?o.name').value
    assert names == ["ACME!", "Acme", "WHO", "World Health Organization"]
    about = db.execute('FIND(?o.name) WHERE { ({type: "Note", name: "acme"}, "about", ?o) }').value
    assert about == ["World Health Organization"]
    assert [action for action, _ in tasks(db)] == ["merge_duplicates"] * 2
    second = db.sleep().steps[2]
    assert (second.done, second.asked) == (0, 0)


def test_a_merge_that_would_lose_something_or_cross_authors_is_asked_about(
    db: mycel.Graph,
) -> None:
    pairs: dict[str, tuple[str, str, Any, Any]] = {
        "pinned or held": ("Ape", "APE", {}, {"hold": "audit"}),
        "differ in size": ("Bee", "BEE", {"size": 2}, {}),
        "by ana and eve": ("concept://t/hr/Cat", "concept://t/tmp/CAT", {}, {}),
        "": ("concept://t/hr/Dog", "concept://t/hr/DOG", {"place": "Oslo"}, {}),
    }
    for kept, merged, attributes, metadata in pairs.values():
        url = {"url": f"https://{kept}.example"}
        with db.transaction(actor="ana") as tx:
            tx.put_concept("Org", kept, url | {"size": 1})
        with db.transaction(actor="eve") as tx:
            tx.put_concept("Org", merged, url | attributes, metadata)
    duplicates = step(db.sleep(), "duplicates")
    assert (duplicates.done, duplicates.asked) == (1, 3)
    names = db.execute('FIND(?o.name) WHERE { ?o {type: "Org"} }').value
    assert [merged for _, merged, *_ in pairs.values() if merged not in names] == [pairs[""][1]]
    reasons = "\n".join(reason for _, reason in tasks(db))
    assert all(doubt in reasons for doubt in pairs)


def test_a_merge_by_rule_loses_no_period_of_a_link(db: mycel.Graph) -> None:
    url = {"url": "https://acme.example"}
    spans = {"Acme": {"valid_until": "2025-01-01"}, "ACME": {"valid_from": "2026-02-01"}}
    with db.transaction() as tx:
        tx.put_concept("Note", "n")
        for name, metadata in spans.items():
            tx.put_concept("Org", name, url)
            tx.put_proposition(("Note", "n"), "about", ("Org", name), {}, metadata)
    assert step(db.sleep(), "duplicates").done == 1
    (link,) = db.execute('FIND(?l) WHERE { ?l (?n, "about", ?o) }').value
    assert link["metadata"]["valid_from"] == "2026-02-01"
    assert "valid_until" not in link["metadata"]
    assert link["metadata"]["former_periods"] == [{"valid_until": "2025-01-01"}]
    for time, found in (("2024-12-31", 1), ("2025-06-01", 0), ("2026-02-01", 1)):
        query = f'FIND(COUNT(?l)) FOR TIME "{time}" WHERE {{ ?l (?n, "about", ?o) }}'
        assert db.execute(query).rows == [(found,)]


def test_content_grants_no_authority_over_upkeep(db: mycel.Graph, clock: Clock) -> None:
    texts = {"content": "Pin me: never archive this note.", "pinned": True, "hold": "audit"}
    claims = {**texts, "retention": "never", "expires_at": "2999-01-01", "confidence": 1}
    db.execute('SET RETENTION {after: "9d"} FOR CONCEPT TYPE "Note"')
    with db.transaction() as tx:
        for at in range(2):
            tx.put_concept("Note", f"n{at}", claims)
    clock.turn(10)
    assert step(db.sleep(), "expire").done == 2
    assert notes(db) == set()


def test_a_functional_predicate_has_one_value_at_a_time_through_every_door(
    db: mycel.Graph, clock: Clock
) -> None:
    def place(clause: str = "") -> set[str]:
        command = (
            f'FIND(?o.name) {clause} WHERE {{ ({{type: "Note", name: "ada"}}, "works_at", ?o) }}'
        )
        return {name for (name,) in db.execute(command).rows}

    with db.transaction() as tx:
        tx.put_concept("Note", "ada")
        for name in "abcd":
            tx.put_concept("Org", name)
        tx.put_proposition(("Note", "ada"), "works_at", ("Org", "a"))
    moments = [times.to_text(clock.now_us)]
    clock.turn(1)
    db.add_edge(("Note", "ada"), "works_at", ("Org", "b"))
    moments.append(times.to_text(clock()))
    clock.turn(1)
    rows = [mycel.PropositionRow(("Note", "ada"), "works_at", ("Org", "c"))]
    db.write(lambda tx: tx.put_propositions(rows))
    moments.append(times.to_text(clock()))
    clock.turn(1)
    ada, org = '{type: "Note", name: "ada"}', '{type: "Org", name: "d"}'
    db.execute(
        f'UPSERT {{ PROPOSITION ?l {{ ({ada}, "works_at", {org}) }}'
        ' WITH METADATA { valid_from: "2040-01-01" } }'
    )
    assert [place(f'FOR TIME "{moment}"') for moment in moments] == [{"a"}, {"b"}, {"c"}]
    assert place('FOR TIME "2039-12-31"') == {"c"}
    assert place('FOR TIME "2040-01-01"') == {"d"}
    assert place() == set("abcd")
    assert step(db.sleep(), "contradictions").asked == 0


def test_values_that_hold_at_the_same_time_are_asked_about(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concept("Note", "ada")
        for name in "ab":
            tx.put_concept("Org", name)
            tx.put_proposition(("Note", "ada"), "works_at", ("Org", name))
    db.execute('DELETE METADATA {"valid_until"} FROM ?l WHERE { ?l (?a, "works_at", ?b) }')
    assert step(db.sleep(), "contradictions").asked == 1
    ((action, reason),) = tasks(db)
    assert action == "resolve_contradiction"
    assert "works_at of Note 'ada' has several values at a time: Org 'a' and Org 'b'" in reason


def test_a_cycle_without_time_leaves_the_rest_to_the_next_one(
    db: mycel.Graph, clock: Clock
) -> None:
    set_rule(db, '{after: "1d", then: "archive"}')
    db.write(lambda tx: tx.put_concepts([mycel.ConceptRow("Note", f"{n}") for n in range(300)]))
    clock.turn(2)
    report = db.sleep(minutes=0)
    assert not report.is_complete
    assert report.steps[0].left == 300
    assert db.sleep().is_complete
    assert notes(db) == set()
    log = db.get_concept("Person", "$system").attributes["maintenance_log"]
    assert len(log) == 2


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """A clock of cycles: each comparison of a text, and each judgement of a rule, is a second."""
    ticks: list[None] = []

    def slow(work: Any) -> Any:
        def run(*arguments: Any) -> Any:
            ticks.append(None)
            return work(*arguments)

        return run

    monkeypatch.setattr(SimilarTexts, "similar", slow(SimilarTexts.similar))
    monkeypatch.setattr(RetentionRules, "judge", slow(RetentionRules.judge))
    monkeypatch.setattr(cycle, "monotonic", lambda: float(len(ticks)))
    return ticks


def test_short_cycles_compare_all_texts_one_after_another(
    db: mycel.Graph, ticks: list[None]
) -> None:
    with db.transaction() as tx:
        for at in range(60):
            words = " ".join(f"{word}{at}" for word in ("alder", "birch", "cedar", "elm", "fir"))
            tx.put_concept("Note", f"{at} one", {"content": f"the {words} grow tall here"})
            tx.put_concept("Note", f"{at} two", {"content": f"here grow {words} so very tall"})
    dry = db.sleep(dry_run=True, minutes=0.5)
    assert (len(ticks) <= 40, step(dry, "repetitions").left >= 80) == (True, True)
    asked, left = 0, [120]
    while left[-1]:
        ticks.clear()
        report = db.sleep(minutes=0.5)
        assert len(ticks) <= 40
        asked += step(report, "repetitions").asked
        left.append(step(report, "repetitions").left)
        assert left[-1] < left[-2], "each cycle goes on where the last one was cut"
        assert report.is_complete == (left[-1] == 0)
    assert 3 <= len(left) <= 6
    assert asked == len(tasks(db)) == 60


def test_short_cycles_find_what_is_due_behind_what_is_kept(
    db: mycel.Graph, clock: Clock, ticks: list[None]
) -> None:
    set_rule(db, '{after: "1d", then: "archive"}')
    with db.transaction() as tx:
        for at in range(100):
            tx.put_concept("Note", f"kept {at}", metadata={"pinned": True})
        for at in range(10):
            tx.put_concept("Note", f"due {at}")
    clock.turn(2)
    for _ in range(6):
        ticks.clear()
        db.sleep(minutes=0.5)
        assert len(ticks) <= 60
    assert notes(db) == {f"kept {at}" for at in range(100)}
    assert step(db.sleep(), "expire").left == 0


def test_one_cycle_runs_at_a_time(db: mycel.Graph) -> None:
    lock = db._store.location.locked("-sleep")
    with lock, pytest.raises(DatabaseBusy, match="Another sleep"):
        db.sleep()
    assert db.sleep().is_complete


def test_a_rule_that_makes_no_sense_is_refused_or_warned_about(db: mycel.Graph) -> None:
    for rule in (
        '"soon"',
        "7",
        "{}",
        '{after: "3 days"}',
        '{after: "3d", then: "burn"}',
        '{after: "3d", when: "created"}',
        '{after: "3d", keep_if: "linked"}',
        '{after: "3d", keep_if: ["loved"]}',
    ):
        with pytest.raises(mycel.errors.ConstraintViolation):
            set_rule(db, rule)
    result = db.execute(
        'UPSERT { CONCEPT ?t { {type: "$ConceptType", name: "Note"}'
        ' SET ATTRIBUTES { retention: {after: "soon"} } } }'
    )
    assert any("retention of Note has no effect" in warning for warning in result.warnings)
    assert db.sleep().is_complete


def test_only_values_whose_times_overlap_are_asked_about(db: mycel.Graph) -> None:
    spans = {
        "ada": (("a", "2020-01-01", "2022-01-01"), ("b", "2021-01-01", "2023-01-01")),
        "bob": (("a", "2020-01-01", "2021-01-01"), ("b", "2021-01-01", "2023-01-01")),
        "cyd": (("a", "1950-01-01", None), ("b", "2999-01-01", "1900-01-01")),
    }
    with db.transaction() as tx:
        for name in "ab":
            tx.put_concept("Org", name)
        for person, links in spans.items():
            tx.put_concept("Note", person)
            for org, begins, _ in links:
                hour = {"valid_from": begins, "valid_until": f"{begins}T01:00"}
                tx.put_proposition(("Note", person), "works_at", ("Org", org), metadata=hour)
    with db.transaction() as tx:
        for person, links in spans.items():
            for org, _, ends in links:
                link = tx.get_edge(("Note", person), "works_at", ("Org", org))
                assert link is not None
                tx.update(link.id, metadata={"valid_until": ends})
    assert step(db.sleep(), "contradictions").asked == 1
    ((_, reason),) = tasks(db)
    assert reason == "works_at of Note 'ada' has several values at a time: Org 'a' and Org 'b'."


def test_links_of_opposite_predicates_contradict_each_other_at_the_same_time_alone(
    db: mycel.Graph,
) -> None:
    with db.transaction() as tx:
        tx.define_predicate("likes", {"opposite": "dislikes"})
        tx.define_predicate("dislikes")
        tx.put_concept("Note", "ada")
        for name in "abc":
            tx.put_concept("Org", name)
            ends = {} if name == "a" else {"valid_until": "2021-01-01"}
            tx.put_proposition(("Note", "ada"), "likes", ("Org", name), metadata=ends)
            begins = {"valid_from": "2020-12-31" if name == "b" else "2021-01-01"}
            tx.put_proposition(("Note", "ada"), "dislikes", ("Org", name), metadata=begins)
    assert step(db.sleep(), "contradictions").asked == 2
    assert not [reason for _, reason in tasks(db) if "Org 'c'" in reason]


def test_a_former_value_of_a_functional_predicate_comes_back(db: mycel.Graph) -> None:
    ada, place = '{type: "Note", name: "ada"}', 'WITH METADATA {valid_from: "%s"}'

    def write(org: str, clause: str = "") -> tuple[str, ...]:
        link = f'({ada}, "works_at", {{type: "Org", name: "{org}"}})'
        return db.execute(f"UPSERT {{ PROPOSITION {{ {link} }} {clause} }}").warnings

    def orgs(time: str) -> list[str]:
        query = f'FIND(?o.name) FOR TIME "{time}" WHERE {{ ({ada}, "works_at", ?o) }}'
        return [name for (name,) in db.execute(query).rows]

    with db.transaction() as tx:
        tx.put_concept("Note", "ada")
        for name in "ab":
            tx.put_concept("Org", name)
    for org, year in (("a", 2024), ("b", 2025)):
        assert not write(org, place % f"{year}-01-01")
    assert orgs("2026-06-01") == ["b"]
    (warning,) = write("a")
    assert "has ended at 2025-01-01" in warning
    assert "later valid_from" in warning
    assert orgs("2026-06-01") == ["b"]
    (warning,) = write("a", place % "2026-01-01")
    assert "it also held from 2024-01-01 until 2025-01-01" in warning
    for _ in range(2):
        assert [orgs(f"{year}-06-01") for year in (2023, 2024, 2025, 2026)] == [
            *([], ["a"], ["b"], ["a"])
        ]
        # Commands may be repeated: what they say is known.
        for org, year in (("a", 2024), ("b", 2025), ("a", 2026)):
            assert not write(org, place % f"{year}-01-01")
    assert step(db.sleep(), "contradictions").asked == 0


def test_a_stand_in_of_the_past_does_not_end_the_present_value(
    db: mycel.Graph,
) -> None:
    def write(org: str, begins: str, ends: str = "") -> tuple[str, ...]:
        metadata = {"valid_from": begins} | ({"valid_until": ends} if ends else {})
        return db.execute(
            'UPSERT { PROPOSITION { ({type: "Note", name: "ada"}, "works_at",'
            ' {type: "Org", name: :org}) } WITH METADATA :metadata }',
            org=org,
            metadata=metadata,
        ).warnings

    def orgs(time: str) -> set[str]:
        query = f'FIND(?o.name) FOR TIME "{time}" WHERE {{ (?n, "works_at", ?o) }}'
        return {name for (name,) in db.execute(query).rows}

    with db.transaction() as tx:
        tx.put_concept("Note", "ada")
        for name in "abc":
            tx.put_concept("Org", name)
    assert not write("a", "2024-01-01")
    (warning,) = write("b", "2025-03-01", "2025-04-01")
    assert "holds until 2025-04-01, within the time of" in warning
    assert "That holds again from then on" in warning
    assert [orgs(f"2025-0{month}-15") for month in (2, 3, 4)] == [{"a"}, {"b"}, {"a"}]
    assert step(db.sleep(), "contradictions").asked == 0
    assert not write("a", "2024-01-01"), "it is known"
    assert orgs("2025-03-15") == {"b"}
    # Values that follow each other are no stand-ins, in whatever order they are written.
    assert not write("c", "2026-01-01")
    assert orgs("2026-06-01") == {"c"}
    # A time that overlaps the one before is a correction, also of the end of the value before.
    (later,) = write("b", "2025-03-15", "2025-04-01")
    assert "it holds until 2025-03-15 now, not until 2025-03-01" in later
    assert orgs("2025-03-10") == {"a"}
    # Another one is held in beside it.
    (moved,) = write("c", "2020-01-01", "2021-01-01")
    assert "holds from 2026-01-01; it also held from 2020-01-01 until 2021-01-01" in moved
    assert orgs("2020-06-01") == orgs("2026-06-01") == {"c"}


def test_a_rule_in_words_is_one_at_every_door(db: mycel.Graph, clock: Clock) -> None:
    words = "archive 3d after created unless linked"
    set_rule(db, f'"{words}"')
    with db.transaction() as tx:
        tx.put_concept("Org", "metadata", metadata={"retention": words})
        tx.put_concept("Note", "type")
    rules = {rule.target: rule.words for rule in db.upkeep.retention_rules()}
    assert list(rules.values()).count(words) == 2
    result = db.execute(
        'UPSERT { CONCEPT { {type: "Org", name: "o"} } WITH METADATA { retention: "soon" } }'
    )
    assert "The retention has no effect: 'soon' is no rule" in result.warnings[0]
    clock.turn(4)
    assert step(db.sleep(), "expire").done == 2


def test_texts_of_one_template_are_no_repetitions_of_each_other(db: mycel.Graph, seed: int) -> None:
    random = Random(seed)
    people = ["Alice Reed", "Bob", "Carol Hay", "Dave", "Erin"]
    templates = (
        "Release {0}.{1} shipped on {2} {3} with {1} fixes and no known regressions",
        "{4} joined the account of Acme-{0} as the technical contact for billing questions",
        "The meeting with {4} and {5} about the contract was moved to {3} {2}",
        "Ticket T_{6} about failing logins was closed by {4} after a restart of the service",
    )
    with db.transaction() as tx:
        for at in range(80):
            values = (at, at % 7, random.randrange(28), random.choice(("May", "June")))
            names = (*random.sample(people, 2), 4_000 + at)
            text = templates[at % len(templates)].format(*values, *names)
            tx.put_concept("Note", f"{at}", {"content": text})
        text = "Release 3.1 broke the import of contacts from old clients, so we pulled it"
        tx.put_concept("Note", "one", {"content": text})
        text = "We pulled 3.1 again: the release broke importing contacts from our old clients"
        tx.put_concept("Note", "other", {"content": text})
    db.sleep()
    command = (
        'FIND(?t.attributes.target_name, ?t.attributes.others) WHERE { ?t {type: "SleepTask"} }'
    )
    assert db.execute(command).rows == [("one", ["Note:other"])]


def test_a_family_of_texts_of_one_form_is_asked_about_once(db: mycel.Graph, seed: int) -> None:
    random = Random(seed)
    cities = ("oslo", "bergen", "turin", "lyon", "porto", "ghent", "delft", "graz")
    topics = ("billing", "login", "colours", "printing", "shipping", "alerts", "themes", "quotas")
    outcomes = ("promised a fix next week", "sent them the manual", "opened an issue for it")

    def report(tx: mycel.Transaction, name: str) -> tuple[str, ...]:
        things = (random.choice(cities), *random.sample(topics, 2), random.choice(outcomes))
        text = "A customer from {} called about {} and {} today, and after the talk we {}."
        tx.put_concept("Note", name, {"content": text.format(*things)})
        return things

    with db.transaction() as tx:
        things = [report(tx, f"note {at}") for at in range(120)]
        for at in (5, 50):
            text = "After the talk today we {3}; a customer called from {0} about {2} and {1}."
            tx.put_concept("Note", f"again {at}", {"content": text.format(*things[at])})
        for name, text in (
            ("one", "Deploying on Friday afternoon is not allowed: nobody would roll it back."),
            (
                "other",
                "Nobody would roll back on Friday afternoon: deploying is not allowed then.",
            ),
        ):
            tx.put_concept("Note", name, {"content": text})
    dry = step(db.sleep(dry_run=True), "repetitions")
    seen = step(db.sleep(), "repetitions")
    assert seen.asked <= 40
    assert abs(seen.asked - dry.asked) <= 2, "the tasks themselves change the weights of words"
    command = (
        'FIND(?t.attributes.target_name, ?t.attributes.others) WHERE { ?t {type: "SleepTask"} }'
        " LIMIT 1000"
    )
    asked = [
        {target, *(other[5:] for other in others)} for target, others in db.execute(command).rows
    ]
    assert {"one", "other"} in asked
    assert sum("again 5" in names and len(names) == 2 for names in asked) == 1
    assert sum("again 50" in names and len(names) == 2 for names in asked) == 1
    assert 1 <= sum(len(names) >= 5 for names in asked) <= 5
    with db.transaction() as tx:
        for at in range(20):
            report(tx, f"later {at}")
    asked_later = step(db.sleep(), "repetitions").examples
    assert not any("texts of one form" in text for text in asked_later)


def test_what_was_decided_is_in_no_report_and_not_stale(db: mycel.Graph, clock: Clock) -> None:
    set_rule(db, '{after: "1d", then: "ask"}')
    with db.transaction() as tx:
        tx.put_concept("Note", "due")
        for name in ("Acme", "ACME"):
            tx.put_concept("Org", name)
    clock.turn(2)
    dry, report = db.sleep(dry_run=True), db.sleep()
    for name in ("expire", "duplicates"):
        assert step(dry, name).asked == step(report, name).asked == 1
        assert len(step(dry, name).examples) == len(step(report, name).examples) == 1
    while (task := db.tasks.next()) is not None:
        db.tasks.decide(task.id, "keep both")
    for report in (db.sleep(dry_run=True), db.sleep()):
        for name in ("expire", "duplicates"):
            assert not step(report, name).asked
            assert not step(report, name).examples
    (stale, *_) = db.upkeep.health().sections
    assert (stale.name, stale.total) == ("stale", 0)


def test_what_was_restored_is_not_archived_again_by_the_next_cycle(
    db: mycel.Graph, clock: Clock
) -> None:
    set_rule(db, '{after: "1min", then: "archive"}')
    with db.transaction() as tx:
        note = tx.put_concept("Note", "short")
    clock.turn(1)
    assert step(db.sleep(), "expire").done == 1
    db.upkeep.restore(note)
    clock.now_us += 3_600_000_000
    assert step(db.sleep(), "expire").done == 0
    clock.turn(1)
    assert step(db.sleep(), "expire").done == 1


def test_a_question_before_a_purge_says_who_purges_and_health_remembers(
    db: mycel.Graph, clock: Clock
) -> None:
    with db.transaction() as tx:
        rule = {"after": "1d", "then": "purge"}
        note = tx.put_concept("Note", "secret", metadata={"retention": rule})
    clock.turn(2)
    db.sleep()
    task = db.tasks.next()
    assert task is not None
    assert f"drop archives it, and a person purges it with `mycel purge {note}`" in task.reason
    db.tasks.decide(task.id, "drop")
    (stale, *_) = db.upkeep.health().sections
    (finding,) = stale.findings
    assert f"waits for a person: `mycel purge {note}`" in finding.text
    db.purge(note, reason="asked for")
    assert db.upkeep.health().sections[0].total == 0
