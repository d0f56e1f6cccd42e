"""The stages of a hybrid search: evidence that a passage answers a question, and its weight.

    words      BM25 of the question's words, as a share of the most that the question could reach;
               a turn of an episode has half of its neighbours' words too
    meaning    cosine of the vectors of question and passage; of a turn with its neighbours'
    pieces     each word piece of the question, by its likeness to the nearest piece of the passage
    named      the question has a name of the concept, and of no other
    link       a passage that fits mentions this concept, or a proposition joins them
    shared     a passage that fits and this one mention the same, which few others do
    actor      the question names one actor, and it is the one who speaks
    episode    the words of the question are in the same episode; vectors close by are like it
    time       the question asks for a time and the text has one; or it has the date of the turn
    answer     the turn before is a question

`link` and `shared` count by how much of the question both passages cover together (words in one,
words in the other): the two halves of an answer are found by what joins them.

Evidence is between 0 and 1 (against an actor, between -1 and 0), and never relative to the other
passages found. A score is a fixed function of the weighted sum, so it means the same for every
question: `PLAIN` for a passage with just the words and the meaning of the question, at most
`SCORE_MAX`.
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


class Evidence(NamedTuple):
    """One kind of evidence: its stage, and its weight for each kind of passage."""

    stage: Stage
    titled: float
    turn: float


WEIGHTS: Final[dict[str, Evidence]] = {
    "words": Evidence("words", 0.80, 2.24),
    "meaning": Evidence("meaning", 0.80, 4.78),
    "pieces": Evidence("pieces", 0.80, 3.76),
    "named": Evidence("named", 1.04, 0.0),
    "link": Evidence("link", 1.04, 0.0),
    "link_pieces": Evidence("link", 2.72, 0.0),
    "shared_words": Evidence("shared", 1.67, 0.0),
    "shared_pieces": Evidence("shared", 4.08, 0.0),
    "shared_new": Evidence("shared", 2.18, 0.0),
    "actor": Evidence("actor", 0.0, 1.45),
    "episode": Evidence("episode", 0.0, 3.82),
    "around": Evidence("episode", 0.0, 0.67),
    "time": Evidence("time", 0.0, 2.05),
    "date": Evidence("time", 0.0, 5.94),
    "answer": Evidence("answer", 0.0, 0.59),
}
"""Fitted by softmax regression, none below 0, on development questions of HotpotQA, 2Wiki and
MuSiQue and on passages asked for with their own words (concepts with a title; the first three are
kept at 0.8 or more, for passages that nothing leads to), and of LoCoMo (turns of conversations)."""

ALONE: Final[dict[str, Stage]] = {
    "words": "words",
    "meaning": "meaning",
    "pieces": "pieces",
    "link_pieces": "pieces",
    "shared_words": "words",
    "shared_pieces": "pieces",
}
"""The evidence that a passage has by itself, and where it then comes from: one that covers a
question alone counts as two that cover it together."""

PLAIN: Final = 0.7
SCORE_MAX: Final = 0.9

MEANING_MIN: Final = 0.1
"""A passage without a word, a name or a link in common needs at least this cosine, unless meaning
is all that is asked for."""
LOOKUP_TERMS_MAX: Final = 2
LOOKUP_MEANING_MIN: Final = 0.3
"""A question of so few words is rather a look-up: links bring nothing that does not fit by itself,
and meaning has to be closer. Cosines of unrelated words reach 0.25."""


def score(total: Floats, titled: NDArray[np.bool_], without: Collection[Stage] = ()) -> Floats:
    """The score of a weighted sum of evidence, `without` some stages.

    `titled` tells passages with a title from turns.
    """
    plain = [WEIGHTS[key] for key in ALONE if WEIGHTS[key].stage not in without]
    most = np.where(titled, sum(each.titled for each in plain), sum(each.turn for each in plain))
    most = np.maximum(most, 1e-9)
    steepness = -np.log(1 - PLAIN / SCORE_MAX)
    scores: Floats = SCORE_MAX * (1 - np.exp(-steepness * np.maximum(total, 0) / most))
    return scores
