"""Questions to a small valley, what is found and why, with all signals and without each of them.

`pytest --update-golden` writes `ranking.txt` anew; what changed is then read as a diff.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import mycel
from mycel.search.passage_ranking import gather_evidence, rank
from mycel.search.question import Question
from mycel.search.weights import EVIDENCE_WEIGHTS, Signal
from tests.prepared import NEW
from tests.unit.search.valley import fill

GOLDEN = Path(__file__).parent / "ranking.txt"
SHOWN = 4
QUESTIONS = (
    "Where did the engineer who restored the water mill study?",
    "Who owns the guest house that serves trout?",
    "The longest stream of the valley",
    "When do boats leave in spring?",
    "automobile trouble",
    "Alder Mill",
    "What did Anna see near the weir?",
    "Where was the otter in March 2024?",
    "Which part of the car did Boris have replaced?",
)


@pytest.fixture(scope="module")
def valley() -> Iterator[mycel.Graph]:
    with NEW.opened() as db:
        fill(db)
        alder, river = db.get_concept("Place", "Alder Mill"), db.get_concept("Place", "river Lisk")
        assert alder is not None
        assert river is not None
        db.write(lambda tx: tx.define_predicate("lies_at"))
        db.write(lambda tx: tx.put_proposition(alder.id, "lies_at", river.id))
        yield db


def found(db: mycel.Graph, question: str, without: frozenset[Signal]) -> list[tuple[str, str]]:
    """The best passages: the name of each, and its score with the signals that found it."""
    with db.reading(words=True) as reader:
        evidence = gather_evidence(reader, db._search_index.get(), Question(question), without)
        hits = rank(evidence, None, SHOWN)
        named = ((reader.concept(hit.element), hit) for hit in hits)
        return [
            (concept.name, f"{hit.score:.2f} {', '.join(hit.signals())}")
            for concept, hit in named
            if concept is not None
        ]


def report(db: mycel.Graph) -> Iterator[str]:
    for question in QUESTIONS:
        yield f"? {question}"
        full = found(db, question, frozenset())
        for name, why in full:
            yield f"  {name}: {why}"
        for signal in get_args(Signal):
            order = [name for name, _ in found(db, question, frozenset({signal}))]
            if order != [name for name, _ in full]:
                yield f"  without {signal}: {', '.join(order)}"
        yield ""


def test_questions_are_ranked_as_the_golden_file_says(
    valley: mycel.Graph, update_golden: bool
) -> None:
    actual = "\n".join(report(valley))
    if update_golden:
        GOLDEN.write_text(actual, encoding="utf-8")
    assert actual == GOLDEN.read_text(encoding="utf-8")


def test_every_signal_changes_the_order_of_some_question_or_its_score(valley: mycel.Graph) -> None:
    assert {weight.signal for weight in EVIDENCE_WEIGHTS.values()} == set(get_args(Signal))
    for signal in get_args(Signal):
        changed = [
            question
            for question in QUESTIONS
            if found(valley, question, frozenset({signal})) != found(valley, question, frozenset())
        ]
        assert changed, signal
