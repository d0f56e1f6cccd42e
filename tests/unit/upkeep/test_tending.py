"""Tasks are shown with what is needed to decide them, and each decision is one undoable commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.errors import ConstraintViolation, InvalidSyntax, MycelError, NotFound
from mycel.model.decisions import DECISIONS
from mycel.model.periods import all_periods
from mycel.upkeep import cycle, questions
from tests.unit.upkeep.test_cycle import Clock, define, notes, step


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(tmp_path: Path, clock: Clock) -> Iterator[mycel.Graph]:
    with mycel.open(tmp_path / "graph.db", clock_us=clock) as opened:
        opened.write(define)
        yield opened


def put_pair(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concept("Org", "Acme", {"place": "Oslo"})
        tx.put_concept("Org", "ACME!", {"size": 7})
        tx.put_concept("Note", "n")
        tx.put_proposition(("Note", "n"), "about", ("Org", "ACME!"))
    db.sleep()


def put_rivals(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concept("Note", "ada")
        for name in "ab":
            tx.put_concept("Org", name)
            tx.put_proposition(("Note", "ada"), "works_at", ("Org", name))
    db.execute('DELETE METADATA {"valid_until"} FROM ?l WHERE { ?l (?a, "works_at", ?b) }')
    db.sleep()


def put_events(db: mycel.Graph, clock: Clock, count: int = 3) -> None:
    for at in range(count):
        values = {
            "event_class": "Observation",
            "start_time": "2030-01-01",
            "content_summary": f"The deploy number {at} failed on a full disk",
        }
        db.write(lambda tx, n=f"e{at}", v=values: tx.put_concept("Event", n, v))
    clock.turn(2)
    db.sleep()


def orgs(db: mycel.Graph) -> set[str]:
    return {name for (name,) in db.execute('FIND(?o.name) WHERE { ?o {type: "Org"} }').rows}


def the_task(db: mycel.Graph) -> str:
    task = db.tasks.next()
    assert task is not None
    return task.id


def test_a_task_is_shown_within_its_budget_with_letters_and_fitting_decisions(
    db: mycel.Graph,
) -> None:
    assert db.tasks.next() is None
    put_pair(db)
    task = db.tasks.next()
    assert task is not None
    assert (task.action, task.waiting) == ("merge_duplicates", 1)
    assert task.decisions == ("merge", "supersede", "keep both", "drop", "later")
    assert "A Org 'Acme'" in task.text
    assert f"{task.elements[0].id} by {task.elements[0].created_by}" in task.text
    assert "B Org 'ACME!'" in task.text
    assert "Note 'n' about Org 'ACME!'" in task.text
    for tokens in (50, 100, 400, 2_000):
        small = db.tasks.next(tokens=tokens)
        assert small is not None
        assert len(small.text) <= max(tokens * 4, 600)


@pytest.mark.parametrize("decision", ["merge", "supersede", "keep both", "drop"])
def test_a_decision_about_a_pair_is_one_commit_that_can_be_taken_back(
    db: mycel.Graph, decision: str
) -> None:
    put_pair(db)
    (before,) = db.history.log(limit=1)
    done = db.tasks.decide(the_task(db), decision, keep="a", reason="looked it up", by="ana")
    commit, previous = db.history.log(limit=2)
    assert previous.commit == before.commit
    assert commit.actor == "ana"
    assert "looked it up" in commit.message
    assert "looked it up" in done.result
    assert (
        orgs(db)
        == {
            "merge": {"Acme"},
            "supersede": {"Acme", "ACME!"},
            "keep both": {"Acme", "ACME!"},
            "drop": {"Acme"},
        }[decision]
    )
    if decision == "supersede":
        assert db.get_concept("Org", "ACME!").metadata["status"] == "superseded"
    assert db.tasks.next() is None
    db.sleep()
    assert db.tasks.next() is None, "what was decided is not asked again"
    db.history.revert(commit.commit)
    assert orgs(db) == {"Acme", "ACME!"}
    assert not db.verify(replay=True).problems


def test_links_that_contradict_each_other_are_decided_by_their_letters(db: mycel.Graph) -> None:
    put_rivals(db)
    task = db.tasks.next()
    assert task is not None
    assert [element.predicate for element in task.elements] == ["works_at"] * 2
    for decision in ("merge", "summarise"):
        with pytest.raises(ConstraintViolation, match="does not offer"):
            db.tasks.decide(task.id, decision, keep="A", concepts=[{"type": "Org", "name": "x"}])
    db.tasks.decide(task.id, "supersede", keep="B", reason="moved")
    place = 'FIND(?o.name) FOR TIME "2999-01-01" WHERE { (?a, "works_at", ?o) }'
    assert db.execute(place).value == ["b"]
    assert db.tasks.next() is None


@pytest.mark.parametrize(
    ("keep", "held", "words"),
    [
        ("a", {"a": "2023-09-01/2024-01-01", "c": "2024-01-01/"}, "c, which holds from 2024-01-01"),
        ("c", {"a": "2023-09-01/2023-12-01", "c": "2023-12-01/"}, "until 2023-12-01"),
        ("b", {"b": "2020-01-01/2021-01-01", "d": "archived"}, "only at that time and is archived"),
        (
            "d",
            {"b": "2020-01-01/2020-02-01 2020-03-01/2021-01-01", "d": "2020-02-01/2020-03-01"},
            "",
        ),
    ],
)
def test_to_supersede_a_rival_takes_only_the_time_of_both(
    db: mycel.Graph, keep: str, held: dict[str, str], words: str
) -> None:
    spans = {
        "a": ("2023-09-01", "2024-01-01"),
        "c": ("2023-12-01", None),
        "b": ("2020-01-01", "2021-01-01"),
        "d": ("2020-02-01", "2020-03-01"),
    }
    pair = "ac" if keep in "ac" else "bd"
    with db.transaction() as tx:
        tx.put_concept("Note", "ada")
        for name in pair:
            tx.put_concept("Note", name)
            tx.put_concept("Org", name)
            begin, end = spans[name]
            dates = {"valid_from": begin} | ({"valid_until": end} if end else {})
            tx.put_proposition(("Note", name), "works_at", ("Org", name), metadata=dates)
        for name in pair:  # A new subject moves no dates.
            link = tx.get_edge(("Note", name), "works_at", ("Org", name))
            assert link is not None
            tx.relink(link.id, subject=("Note", "ada"))
    db.sleep()
    task = db.tasks.next()
    assert task is not None
    with db.transaction() as tx:
        kept = tx.get_edge(("Note", "ada"), "works_at", ("Org", keep))
    assert kept is not None
    done = db.tasks.decide(task.id, "supersede", keep=kept.id)
    found = {}
    for name in pair:
        with db.transaction() as tx:
            link = tx.get_edge(("Note", "ada"), "works_at", ("Org", name))
        assert link is not None
        found[name] = (
            "archived"
            if "archived_at" in link.metadata
            else " ".join(
                f"{period.valid_from}/{period.valid_until or ''}"
                for period in all_periods(link.metadata)
            )
        )
    assert found == held
    assert words.removeprefix("c, ") in done.result
    db.sleep()
    assert db.tasks.next() is None


def test_events_become_concepts_that_are_derived_from_them_and_are_archived(
    db: mycel.Graph, clock: Clock
) -> None:
    put_events(db, clock)
    task = db.tasks.next()
    assert task is not None
    assert task.action == "consolidate_to_semantic"
    assert len(task.elements) == 3
    lesson = {
        "type": "Insight",
        "name": "watch the disk",
        "attributes": {"description": "Deploys fail on a full disk.", "insight_class": "pattern"},
    }
    done = db.tasks.decide(task.id, "summarise", concepts=[lesson], reason="three times")
    assert done.created == (db.get_concept("Insight", "watch the disk").id,)
    sources = 'FIND(?e.name) {} WHERE {{ ({{type: "Insight"}}, "derived_from", ?e) }}'
    assert db.execute(sources.format("")).value == []
    assert set(db.execute(sources.format("INCLUDE ARCHIVED")).value) == {"e0", "e1", "e2"}
    assert db.get_concept("Event", "e0").attributes["consolidation_status"] == "completed"
    db.execute('RESTORE ?e WHERE { ?e {type: "Event"} }')
    clock.turn(2)
    db.sleep()
    assert db.tasks.next() is None


def test_later_puts_a_task_off_and_loses_nothing(db: mycel.Graph, clock: Clock) -> None:
    put_pair(db)
    task = the_task(db)
    db.tasks.decide(task, "later")
    assert db.tasks.next() is None
    clock.turn(1.1)
    assert the_task(db) == task


def test_a_decision_that_does_not_fit_changes_nothing_and_says_why(
    db: mycel.Graph, clock: Clock
) -> None:
    put_pair(db)
    task = the_task(db)
    before = db.snapshot()
    for error, decision, values in (
        (InvalidSyntax, "burn", {}),
        (InvalidSyntax, "merge", {}),
        (InvalidSyntax, "merge", {"keep": "Z"}),
        (ConstraintViolation, "summarise", {"concepts": [{"type": "Org", "name": "x"}]}),
    ):
        with pytest.raises(error):
            db.tasks.decide(task, decision, **values)
    for ref in ("C:999998", db.get_concept("Org", "Acme").id):
        with pytest.raises(NotFound):
            db.tasks.decide(ref, "drop")
    assert db.snapshot() == before
    db.tasks.decide(task, "keep both")
    for decision in DECISIONS:
        with pytest.raises(ConstraintViolation, match="was decided"):
            db.tasks.decide(task, decision, keep="A")


def test_a_summary_that_does_not_fit_changes_nothing(db: mycel.Graph, clock: Clock) -> None:
    put_events(db, clock)
    task = the_task(db)
    before = db.snapshot()
    for error, concepts in (
        (InvalidSyntax, []),
        (InvalidSyntax, [{"name": "x"}]),
        (InvalidSyntax, [{"type": "Org", "name": "x", "y": 1}]),
        (InvalidSyntax, [{"type": "Org", "name": "x"}] * 51),
        (MycelError, [{"type": "Nothing", "name": "x"}]),
    ):
        with pytest.raises(error):
            db.tasks.decide(task, "summarise", concepts=concepts)
    assert db.snapshot() == before


def test_a_summary_changes_what_is_there_only_if_it_says_so(db: mycel.Graph, clock: Clock) -> None:
    with db.transaction() as tx:
        known = tx.put_concept("Note", "deploys", {"content": "By hand."}, {"retention": "never"})
    put_events(db, clock)
    task = the_task(db)
    values = {"type": "Note", "name": "deploys", "attributes": {"content": "Overwritten."}}
    with pytest.raises(ConstraintViolation, match=f"exists already, as {known}"):
        db.tasks.decide(task, "summarise", concepts=[values])
    assert db.get(known).attributes == {"content": "By hand."}
    done = db.tasks.decide(task, "summarise", concepts=[{**values, "update": True}])
    assert done.created == (known,)
    assert f"({known} existed before)" in done.result
    assert db.get(known).attributes == {"content": "Overwritten."}


def test_to_drop_nothing_is_refused(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concept("Note", "old", None, {"retention": {"after": "0d", "then": "ask"}})
    db.sleep()
    task = db.tasks.next()
    assert task is not None
    assert "merge" not in task.decisions
    with pytest.raises(ConstraintViolation, match="nothing to archive"):
        db.tasks.decide(task.id, "drop", keep="A")
    assert db.tasks.next() == task


def test_a_task_is_shown_by_its_id_and_those_put_off_are_counted(
    db: mycel.Graph, clock: Clock
) -> None:
    put_pair(db)
    task = the_task(db)
    assert db.tasks.postponed() == (0, "")
    db.tasks.decide(task, "later", reason="Ana is asked")
    postponed = db.tasks.postponed()
    assert postponed.tasks == 1
    assert f"Postponed until {postponed.until}: Ana is asked." in db.tasks.show(task).text
    clock.turn(1.1)
    assert db.tasks.postponed().tasks == 0
    db.tasks.decide(task, "keep both", reason="two firms")
    shown = db.tasks.show(task)
    assert shown.decisions == ()
    assert "Decided: kept as they are: two firms" in shown.text
    with pytest.raises(NotFound):
        db.tasks.show(db.get_concept("Org", "Acme").id)


def test_tasks_about_what_is_gone_are_closed(db: mycel.Graph) -> None:
    put_pair(db)
    db.execute('DELETE CONCEPT ?o DETACH WHERE { ?o {type: "Org", name: "ACME!"} }')
    assert db.tasks.next() is None
    seen = step(db.sleep(), "tasks")
    assert seen.done == 1
    (status,) = db.execute('FIND(?t.attributes.status) WHERE { ?t {type: "SleepTask"} }').value
    assert status == "completed"


def test_texts_that_say_much_of_the_same_are_asked_about_once(db: mycel.Graph) -> None:
    texts = (
        "The checkout service keeps the sessions of shoppers in Redis for fifteen minutes.",
        "Sessions of shoppers in the checkout service are kept in Redis for fifteen minutes only.",
        "Invoices are numbered by year and counter, and never change after they were sent.",
        "Deployments to production need a second person who has read the migration plan.",
    )
    for at, text in enumerate(texts):
        values = {"content": text}
        db.write(lambda tx, n=f"note {at}", v=values: tx.put_concept("Note", n, v))
    assert step(db.sleep(dry_run=True), "repetitions").asked == 1
    seen = step(db.sleep(), "repetitions")
    assert seen.asked == 1
    task = db.tasks.next()
    assert task is not None
    assert {element.name for element in task.elements} == {"note 0", "note 1"}
    assert notes(db) == {f"note {at}" for at in range(4)}, "nothing is merged"
    assert not step(db.sleep(), "repetitions").asked


def test_opposite_links_and_declared_contradictions_are_asked_about(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_predicate("likes", {"opposite": "dislikes"})
        tx.define_predicate("dislikes", {"opposite": "likes"})
        for name in ("x", "y", "z"):
            tx.put_concept("Note", name)
        tx.put_proposition(("Note", "x"), "likes", ("Note", "y"))
        tx.put_proposition(("Note", "x"), "dislikes", ("Note", "y"))
        tx.put_proposition(("Note", "x"), "likes", ("Note", "z"))
        tx.put_proposition(("Note", "y"), "contradicts", ("Note", "z"))
    seen = step(db.sleep(), "contradictions")
    assert seen.asked == 2
    task = db.tasks.next()
    assert task is not None
    assert [element.predicate for element in task.elements] == ["likes", "dislikes"]
    db.tasks.decide(task.id, "drop", keep="A")
    task = db.tasks.next()
    assert task is not None
    assert [element.name for element in task.elements] == ["y", "z"]


def test_a_task_says_which_of_the_links_around_it_are_not_sure(db: mycel.Graph) -> None:
    put_pair(db)
    about = '?l ({type: "Note", name: "n"}, "about", {type: "Org", name: "ACME!"})'
    db.execute(f'CHALLENGE ?l WITH {{by: "eve", confidence: 0.4}} WHERE {{ {about} }}')
    with db.transaction() as tx:
        job = tx.put_proposition(("Note", "n"), "works_at", ("Org", "Acme"))
        tx.update(job, metadata={"valid_until": "2020-01-01"})
    task = db.tasks.next()
    assert task is not None
    assert "about Org 'ACME!' [contested: 1 for (0.7), 1 against (0.4)]" in task.text
    assert "works_at Org 'Acme' [no longer valid since 2020-01-01]" in task.text


def test_a_task_mentions_nothing_for_a_search(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_predicate("likes", {"opposite": "dislikes"})
        tx.define_predicate("dislikes")
        tx.put_concept("Note", "Ana Lima", {"content": "She sells to bakeries in Lyon."})
        tx.put_concept("Org", "Umbrella Labs")
        for predicate in ("likes", "dislikes"):
            tx.put_proposition(("Note", "Ana Lima"), predicate, ("Org", "Umbrella Labs"))
    db.sleep()
    assert db.tasks.next() is not None
    for question in ("umbrella labs", "Ana Lima"):
        hits = db.execute("SEARCH CONCEPT :q", q=question).value
        reasons = [reason for hit in hits for reason in hit["metadata"]["_why"]]
        assert not [reason for reason in reasons if reason.startswith("mention")]
    (hit, *_) = db.execute('SEARCH CONCEPT "resolve contradiction"').value
    assert hit["type"] == "SleepTask"


def test_contradictions_come_first_and_then_the_likeliest_pairs(db: mycel.Graph) -> None:
    text = "The invoices of the shop are written at night, and sent with the first mail."
    with db.transaction() as tx:
        for name, content in (("one", text), ("two", text), ("three", f"{text[:58]} on paper.")):
            tx.put_concept("Note", name, {"content": content})
    put_pair(db)
    put_rivals(db)
    task = db.tasks.next()
    assert task is not None
    assert task.action == "resolve_contradiction"
    (duplicates,) = (part for part in db.upkeep.health().sections if part.name == "duplicate")
    priorities = [db.get(finding.task).attributes["priority"] for finding in duplicates.findings]
    assert priorities == sorted(priorities, reverse=True)
    assert priorities[0] == 1
    assert priorities[-1] < 1


def test_events_that_something_is_derived_from_are_not_asked_about(
    db: mycel.Graph, clock: Clock
) -> None:
    values = {"event_class": "Conversation", "content_summary": "Tea at five."}
    with db.transaction() as tx:
        for name in ("taught", "plain", "other"):
            tx.put_concept("Event", name, values)
        tx.put_concept("Note", "tea is at five")
        tx.put_proposition(("Note", "tea is at five"), "derived_from", ("Event", "taught"))
    clock.turn(2)
    db.sleep()
    task = db.tasks.next()
    assert task is not None
    assert [element.name for element in task.elements] == ["plain", "other"]
    db.upkeep.archive(("Event", "other"))
    task = db.tasks.next()
    assert task is not None
    assert "2 events of" in task.text
    assert "1 of them is gone or archived." in task.text


def test_only_so_many_tasks_about_events_wait(
    db: mycel.Graph, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in range(4):
        with db.transaction() as tx:
            for at in range(14):
                tx.put_concept("Event", f"{day} {at}", {"event_class": "Conversation"})
        clock.turn(2)
    monkeypatch.setattr(questions, "DISTIL_TASKS_MAX", 3)
    assert step(db.sleep(dry_run=True), "events").asked == 3
    assert step(db.sleep(), "events").asked == 3
    task = db.tasks.next()
    assert task is not None
    assert len(task.elements) == 7, "a day is divided evenly"
    assert "written 2030-01-01T" in task.text, "not the time at which a cycle wrote its tier"
    assert step(db.sleep(), "events").asked == 0
    monkeypatch.setattr(questions, "DISTIL_TASKS_MAX", 2)
    assert step(db.sleep(), "events").asked == 0


def test_contradictions_after_those_that_were_asked_about_are_asked_about_too(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.transaction() as tx:
        for at in range(4):
            tx.put_concept("Org", f"side {at}")
        for at in range(3):
            tx.put_proposition(("Org", f"side {at}"), "contradicts", ("Org", f"side {at + 1}"))
    monkeypatch.setattr(cycle, "ASKED_MAX", 2)
    assert [step(db.sleep(), "contradictions").asked for _ in range(3)] == [2, 1, 0]


def test_a_task_about_one_element_offers_what_can_be_done_with_one(db: mycel.Graph) -> None:
    put_pair(db)
    about = '?l ({type: "Note", name: "n"}, "about", {type: "Org", name: "ACME!"})'
    db.execute(f'CHALLENGE ?l WITH {{by: "eve", confidence: 0.4}} WHERE {{ {about} }}')
    db.sleep()
    task = db.tasks.next()
    assert task is not None
    assert (task.action, task.decisions) == (
        "resolve_contradiction",
        ("keep both", "drop", "later"),
    )


@pytest.mark.parametrize("metadata", [{"pinned": True}, {"hold": "audit"}])
def test_no_decision_lets_go_of_what_is_pinned_or_held(
    db: mycel.Graph, clock: Clock, metadata: dict[str, object]
) -> None:
    put_pair(db)
    with db.transaction() as tx:
        tx.update(("Org", "ACME!"), metadata=metadata)
    for decision in ("merge", "drop"):
        with pytest.raises(ConstraintViolation, match="pinned or held"):
            db.tasks.decide(the_task(db), decision, keep="A")
    assert orgs(db) == {"Acme", "ACME!"}
    db.tasks.decide(the_task(db), "merge", keep="B")
    assert orgs(db) == {"ACME!"}
    put_events(db, clock, 2)
    with db.transaction() as tx:
        tx.update(("Event", "e0"), metadata=metadata)
    insight = {"type": "Note", "name": "disks fill up"}
    db.tasks.decide(the_task(db), "summarise", concepts=[insight])
    assert db.execute('FIND(?e.name) WHERE { ?e {type: "Event"} }').value == ["e0"]


def test_a_merge_keeps_both_texts_and_says_which_values_are_lost(db: mycel.Graph) -> None:
    one = {"content": "Sells anvils.", "tags": ["tools"], "size": 3, "place": "Oslo"}
    other = {"content": "Was founded in 1949.", "tags": ["shop"], "size": 7, "boss": "Ada"}
    with db.transaction() as tx:
        tx.put_concept("Org", "Acme", one, {"memory_strength": 1, "owner": "ana"})
        tx.put_concept("Org", "ACME!", other, {"memory_strength": 0.1, "origin": "a call"})
    db.sleep()
    (start,) = db.history.log(limit=1)
    result = db.tasks.decide(the_task(db), "merge", keep="A", reason="one company").result
    acme = db.get_concept("Org", "Acme")
    assert acme.attributes["content"] == "Sells anvils.\n\n## ACME!\n\nWas founded in 1949."
    assert acme.attributes["tags"] == ["tools", "shop"]
    assert (acme.attributes["size"], acme.attributes["boss"]) == (3, "Ada")
    assert (acme.metadata["origin"], acme.metadata["memory_strength"]) == ("a call", 1)
    assert result == (
        "merged 'ACME!' into Org 'Acme' (lost: Both have size; the value of the merged node"
        " was: 7): one company"
    )
    (commit,) = db.history.log(limit=1)
    assert commit.commit != start.commit
    db.history.revert(commit.commit)
    assert db.get_concept("Org", "ACME!").attributes == other


@pytest.mark.parametrize("predicate", ["supersedes", "contradicts"])
def test_elements_that_a_link_says_are_two_are_not_merged_or_asked_about(
    db: mycel.Graph, predicate: str
) -> None:
    put_pair(db)
    with db.transaction() as tx:
        tx.define_predicate(predicate)
        tx.put_proposition(("Org", "ACME!"), predicate, ("Org", "Acme"))
    task = the_task(db)
    refusal = f"{predicate} Org 'Acme', so they are not the same"
    with pytest.raises(ConstraintViolation, match=refusal):
        db.tasks.decide(task, "merge", keep="A")
    assert orgs(db) == {"Acme", "ACME!"}
    with db.transaction() as tx:
        tx.put_concept("Org", "Initech")
        tx.put_concept("Org", "INITECH")
        tx.put_proposition(("Org", "Initech"), predicate, ("Org", "INITECH"))
    assert step(db.sleep(), "duplicates").asked == 0


def test_health_leaves_out_tasks_about_what_is_gone(db: mycel.Graph) -> None:
    put_pair(db)
    assert db.upkeep.health().tasks == 1
    db.execute('ARCHIVE ?o WHERE { ?o {type: "Org", name: "ACME!"} }')
    assert db.tasks.next() is None
    assert db.upkeep.health().tasks == 0


def test_a_decision_says_what_the_rules_of_the_graph_warn_about(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        for name, value in (("Acme", "a"), ("ACME!", "b")):
            tx.put_concept("Org", name)
            tx.put_concept("Org", value)
            metadata = {"valid_from": "2025-01-01"}
            tx.put_proposition(("Org", name), "works_at", ("Org", value), metadata=metadata)
    db.sleep()
    task = db.tasks.next()
    assert task is not None
    (warning,) = db.tasks.decide(task.id, "merge", keep="A").warnings
    assert "Org 'a'" in warning
    assert "Org 'b'" in warning
    assert "both hold from 2025-01-01" in warning


def test_dates_that_are_corrected_into_those_of_another_value_get_a_warning(
    db: mycel.Graph,
) -> None:
    with db.transaction() as tx:
        tx.put_concept("Note", "ada")
        links = []
        for name, begin, end in (("a", "2020-01-01", "2021-01-01"), ("b", "2021-01-01", None)):
            tx.put_concept("Org", name)
            metadata = {"valid_from": begin, **({"valid_until": end} if end else {})}
            place = ("Note", "ada"), "works_at", ("Org", name)
            links.append(tx.put_proposition(*place, metadata=metadata))
        tx.check()
        assert tx.warnings == []
    with db.transaction() as tx:
        tx.update(links[1], metadata={"valid_until": "2021-06-01"})
        tx.check()
        assert tx.warnings == []
        # The other one would hold at no time if it began where this one ends now.
        tx.update(links[0], metadata={"valid_until": "2022-01-01"})
        tx.check()
        (warning,) = tx.warnings
        assert "both hold from 2020-01-01 until 2022-01-01" in warning
