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
    "words": Evidence("words", 1.87, 2.24),
    "meaning": Evidence("meaning", 0.90, 4.78),
    "pieces": Evidence("pieces", 1.63, 3.76),
    "named": Evidence("named", 4.32, 0.0),
    "link": Evidence("link", 0.97, 0.0),
    "link_pieces": Evidence("link", 1.57, 0.0),
    "shared_words": Evidence("shared", 2.87, 0.0),
    "shared_pieces": Evidence("shared", 3.13, 0.0),
    "shared_new": Evidence("shared", 2.76, 0.0),
    "actor": Evidence("actor", 0.0, 1.45),
    "episode": Evidence("episode", 0.0, 3.82),
    "around": Evidence("episode", 0.0, 0.67),
    "time": Evidence("time", 0.0, 2.05),
    "date": Evidence("time", 0.0, 5.94),
    "answer": Evidence("answer", 0.0, 0.59),
}
"""Fitted by softmax regression, none below 0, on development questions of HotpotQA, 2Wiki and
MuSiQue (concepts with a title) and of LoCoMo (turns of conversations)."""

PLAIN: Final = 0.7
SCORE_MAX: Final = 0.9

MEANING_MIN: Final = 0.1
"""A passage without a word, a name or a link in common needs at least this cosine, unless meaning
is all that is asked for."""
LOOKUP_TERMS_MAX: Final = 2
LOOKUP_MEANING_MIN: Final = 0.3
"""A question of so few words is rather a look-up: links bring nothing that does not fit by itself,
and meaning has to be closer. Cosines of unrelated words reach 0.25."""


def score(total: Floats, titled: NDArray[np.bool_]) -> Floats:
    """The score of a weighted sum of evidence, for passages with a title and for turns."""
    plain = [each for each in WEIGHTS.values() if each.stage in ("words", "meaning", "pieces")]
    most = np.where(titled, sum(each.titled for each in plain), sum(each.turn for each in plain))
    steepness = -np.log(1 - PLAIN / SCORE_MAX)
    scores: Floats = SCORE_MAX * (1 - np.exp(-steepness * np.maximum(total, 0) / most))
    return scores
