"""The stages of a hybrid search: evidence that a passage answers a question, and its weight.

    words      BM25 of the question's words, as a share of the most that the question could reach;
               a turn of an episode has half of its neighbours' words too
    meaning    cosine of the vectors of question and passage, on the scale of its model
               (`embedding.calibration`); of a turn with its neighbours'. It counts more the less
               of the question any passage of its kind, notes or code, has in words and names
    pieces     each word of the question, by its likeness to the nearest word of the passage
    named      the question has a name of the concept, and of no other
    link       a passage that fits mentions this concept, or a proposition joins them
    shared     a passage that fits and this one mention the same, which few others do
    actor      the question names one actor, and it is the one who speaks
    episode    the words of the question are in the same episode
    time       the question asks for a time and the text has one; or it has the date of the turn
    answer     the turn before is a question

`link` and `shared` count by how much of the question both passages cover together (words in one,
words in the other): the two halves of an answer are found by what joins them.

Evidence is between 0 and 1 (against an actor, between -1 and 0; meaning exceeds 1 where a cosine is
higher than answers have on average, or a model is better than the shipped one), and never relative
to the other passages found. A score is a fixed function of the weighted sum, so it means the same
for every question: 0 for a passage with no more evidence than chance gives, `PLAIN` for one with
just the words and the meaning of the question, at most `SCORE_MAX`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycel.recall.corpus import Floats

Stage = Literal[
    "words", "meaning", "pieces", "named", "link", "shared", "actor", "episode", "time", "answer"
]


class EvidenceKind(NamedTuple):
    """One kind of evidence: its stage, and its weight for each kind of passage."""

    stage: Stage
    titled: float
    turn: float


WEIGHTS: Final[dict[str, EvidenceKind]] = {
    "words": EvidenceKind("words", 0.40, 2.09),
    "meaning": EvidenceKind("meaning", 0.40, 3.89),
    "open_meaning": EvidenceKind("meaning", 5.0, 0.0),
    "pieces": EvidenceKind("pieces", 0.40, 2.75),
    "named": EvidenceKind("named", 0.81, 0.0),
    "link": EvidenceKind("link", 0.61, 0.0),
    "link_pieces": EvidenceKind("link", 3.38, 0.0),
    "shared_pieces": EvidenceKind("shared", 5.62, 0.0),
    "shared_new": EvidenceKind("shared", 2.11, 0.0),
    "actor": EvidenceKind("actor", 0.0, 1.34),
    "episode": EvidenceKind("episode", 0.0, 3.63),
    "time": EvidenceKind("time", 0.0, 1.84),
    "date": EvidenceKind("time", 0.0, 5.62),
    "answer": EvidenceKind("answer", 0.0, 0.62),
}
"""Fitted by softmax regression, none below 0, on questions of HotpotQA, 2Wiki and MuSiQue, on
passages asked for with their own words, and on facts asked for in other words (concepts with a
title; the first three are kept at 0.4 or more, for passages that nothing leads to); and of LoCoMo
and the same facts (turns of conversations)."""


class Alone(NamedTuple):
    """Evidence that a passage has by itself.

    One that covers a question alone counts as two that cover it together.
    """

    stage: Stage
    """Its origin."""
    chance: float
    """The evidence that a passage has which has nothing to do with the question."""


ALONE: Final[dict[str, Alone]] = {
    "words": Alone("words", 0.0),
    "meaning": Alone("meaning", 0.35),
    "pieces": Alone("pieces", 0.2),
    "link_pieces": Alone("pieces", 0.05),
    "shared_pieces": Alone("pieces", 0.05),
}
"""Chance is that of the best of 500 passages for questions of made-up words."""

PLAIN: Final = 0.7
SCORE_MAX: Final = 0.9
SCORE_MIN: Final = 0.02
"""Passages with a lower score are left out: they have no more evidence than chance gives."""

LOOKUP_TERMS_MAX: Final = 2
LOOKUP_MEANING_MIN: Final = 0.75
"""A question of so few words is rather a look-up: links bring nothing that does not fit by itself,
and without a word or a name in common the evidence of meaning has to be this strong."""


def score(
    total: Floats,
    titled: NDArray[np.bool_],
    openness: Floats,
    favour: Floats,
    factors: Floats,
    without: Collection[Stage] = (),
) -> Floats:
    """The score of a weighted sum of evidence, `without` some stages.

    `titled` tells passages with a title from turns, `openness` is the share of the question that
    words and names leave open, `favour` is the weight of the model that the evidence of meaning is
    from, and `factors` lower the evidence beyond chance.
    """
    keys = [key for key in ALONE if WEIGHTS[key].stage not in without]
    weights = np.array([WEIGHTS[key][1:] for key in keys]).reshape(-1, 2)
    chances = np.array([ALONE[key].chance for key in keys])
    sums = np.stack((weights.sum(axis=0), chances @ weights))
    most, least = np.where(titled, sums[:, :1], sums[:, 1:])
    more = np.zeros(len(total), np.float32)
    if "meaning" not in without:
        by_meaning = openness * titled * WEIGHTS["open_meaning"].titled
        most, least = most + by_meaning, least + by_meaning * ALONE["meaning"].chance
        more = (favour - 1) * (by_meaning + titled * WEIGHTS["meaning"].titled)
    beyond = factors * np.maximum(total - least, 0) - more * ALONE["meaning"].chance
    most = most + more * (1 - ALONE["meaning"].chance)
    shares = np.maximum(beyond, 0) / np.maximum(most - least, 1e-9)
    steepness = -np.log(1 - PLAIN / SCORE_MAX)
    scores: Floats = SCORE_MAX * (1 - np.exp(-steepness * shares))
    return scores
