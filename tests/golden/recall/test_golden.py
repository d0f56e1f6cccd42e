"""Questions to a small valley, what is found and why, with all stages and without each of them.

`pytest --update-golden` writes `ranking.txt` anew; what changed is then read as a diff.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import mycel
from mycel.recall.answer import recalled_by
from mycel.recall.weights import WEIGHTS, Stage
from mycel.search.ranking import Question
from tests.unit.recall.valley import fill

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
    with mycel.open() as db:
        fill(db)
        alder, river = db.get_concept("Place", "Alder Mill"), db.get_concept("Place", "river Lisk")
        assert alder is not None
        assert river is not None
        db.write(lambda tx: tx.define_predicate("lies_at"))
        db.write(lambda tx: tx.put_proposition(alder.id, "lies_at", river.id))
        yield db


def found(db: mycel.Graph, question: str, without: frozenset[Stage]) -> list[tuple[str, str]]:
    """The best passages: the name of each, and its score with the stages that found it."""
    with db.reading(words=True) as reader:
        hits = recalled_by(reader, db._recall.get(), Question(question), SHOWN, without=without)
        named = ((reader.concept(hit.element), hit) for hit in hits)
        return [
            (concept.name, f"{hit.score:.2f} {', '.join(hit.stages())}")
            for concept, hit in named
            if concept is not None
        ]


def report(db: mycel.Graph) -> Iterator[str]:
    for question in QUESTIONS:
        yield f"? {question}"
        full = found(db, question, frozenset())
        for name, why in full:
            yield f"  {name}: {why}"
        for stage in get_args(Stage):
            order = [name for name, _ in found(db, question, frozenset({stage}))]
            if order != [name for name, _ in full]:
                yield f"  without {stage}: {', '.join(order)}"
        yield ""


def test_questions_are_ranked_as_the_golden_file_says(
    valley: mycel.Graph, update_golden: bool
) -> None:
    actual = "\n".join(report(valley))
    if update_golden:
        GOLDEN.write_text(actual, encoding="utf-8")
    assert actual == GOLDEN.read_text(encoding="utf-8")


def test_every_stage_changes_the_order_of_some_question_or_its_score(valley: mycel.Graph) -> None:
    assert {weight.stage for weight in WEIGHTS.values()} == set(get_args(Stage))
    for stage in get_args(Stage):
        changed = [
            question
            for question in QUESTIONS
            if found(valley, question, frozenset({stage})) != found(valley, question, frozenset())
        ]
        assert changed, stage
