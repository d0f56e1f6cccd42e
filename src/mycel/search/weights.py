"""Every weight of a search, in one module. `docs/search.md` explains each of them.

    MATCH_SCORES      the scores of names and words, in every mode; BM25 in the mode "keyword"
    EVIDENCE_WEIGHTS  the weights of evidence in the modes "hybrid" and "semantic"; BM25 in "hybrid"
    BM25_COLUMNS      the weights of titles and bodies inside of BM25
    …_FACTOR          factors of scores: tests, outdated elements
    GOOD, FAIR        the scores that give the second section of an answer its places

To make BM25 count more or less in the default search, change the row "words" of `EVIDENCE_WEIGHTS`.
Bounds of work (how many candidates are looked at) are in the modules that do the work.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from mycel.text.queries import ColumnWeights

# Scores of names and words.

Match = Literal["name", "alias", "segment", "spelling", "beginning", "parts", "words", "stems"]
"""The ways in which an element matches a question (`name_match`)."""


class ScoreRange(NamedTuple):
    """The scores that a match gives."""

    least: float
    most: float

    def score(self, share: float) -> float:
        """The score of an element that matches by a share, from 0 to 1."""
        return self.least + (self.most - self.least) * share


MATCH_SCORES: Final[dict[Match, ScoreRange]] = {
    "name": ScoreRange(1.0, 1.0),
    "alias": ScoreRange(0.97, 0.97),
    "segment": ScoreRange(0.94, 0.95),
    "spelling": ScoreRange(0.92, 0.92),
    "beginning": ScoreRange(0.8, 0.9),
    "parts": ScoreRange(0.8, 0.9),
    "words": ScoreRange(0.0, 0.8),  # BM25, in the mode "keyword" and of links
    "stems": ScoreRange(0.0, 0.4),
}

BM25_COLUMNS: Final = ColumnWeights(title=1.0, body=1.0)
"""The weights of the columns of the text index in BM25. Keys of names never count there."""

HALF_REACHED: Final = 0.02
"""The BM25 score that counts half, as a share of the usual score."""
COVERED: Final = 0.5
"""The part of the score of words that depends on the share of words present; BM25 gives the
rest."""

# Evidence.

Signal = Literal[
    "words", "meaning", "pieces", "named", "link", "shared", "actor", "episode", "time", "answer"
]
"""The sources of evidence of a hybrid search (`evidence`)."""


EvidenceKind = Literal[
    "words",
    "meaning",
    "open_meaning",
    "pieces",
    "named",
    "link",
    "link_pieces",
    "shared_pieces",
    "shared_new",
    "actor",
    "episode",
    "time",
    "date",
    "answer",
]
"""The kinds of evidence, each with a weight; a signal has one or more of them."""


class EvidenceWeight(NamedTuple):
    """The weight of one kind of evidence, and the signal that it is from."""

    signal: Signal
    titled: float
    """The weight for concepts with a title."""
    turn: float
    """The weight for turns of a conversation."""


EVIDENCE_WEIGHTS: Final[dict[EvidenceKind, EvidenceWeight]] = {
    "words": EvidenceWeight("words", 0.40, 2.09),  # BM25, in the mode "hybrid"
    "meaning": EvidenceWeight("meaning", 0.40, 3.89),
    "open_meaning": EvidenceWeight("meaning", 5.0, 0.0),
    "pieces": EvidenceWeight("pieces", 0.40, 2.75),
    "named": EvidenceWeight("named", 0.81, 0.0),
    "link": EvidenceWeight("link", 0.61, 0.0),
    "link_pieces": EvidenceWeight("link", 3.38, 0.0),
    "shared_pieces": EvidenceWeight("shared", 5.62, 0.0),
    "shared_new": EvidenceWeight("shared", 2.11, 0.0),
    "actor": EvidenceWeight("actor", 0.0, 1.34),
    "episode": EvidenceWeight("episode", 0.0, 3.63),
    "time": EvidenceWeight("time", 0.0, 1.84),
    "date": EvidenceWeight("time", 0.0, 5.62),
    "answer": EvidenceWeight("answer", 0.0, 0.62),
}
"""The weights were fitted by softmax regression, none below 0. Those of concepts with a title
were fitted on questions of HotpotQA, 2Wiki and MuSiQue, on passages with questions in their own
words, and on facts with questions in other words. Their first three are 0.4 or more, for
passages without links. Those of turns were fitted on LoCoMo and the same facts."""


class OwnEvidence(NamedTuple):
    """Evidence that a passage has by itself.

    A passage that covers a question alone counts as much as two that cover it together.
    """

    signal: Signal
    """The signal of the evidence."""
    chance: float
    """The evidence that an unrelated passage has by chance."""


OWN_EVIDENCE: Final[dict[EvidenceKind, OwnEvidence]] = {
    "words": OwnEvidence("words", 0.0),
    "meaning": OwnEvidence("meaning", 0.35),
    "pieces": OwnEvidence("pieces", 0.2),
    "link_pieces": OwnEvidence("pieces", 0.05),
    "shared_pieces": OwnEvidence("pieces", 0.05),
}
"""The chances were measured as the best of 500 passages for questions of made-up words."""

OPEN_MEANING: Final = 0.6
NAMED: Final = 0.8
"""The weights of meaning and names in the first order, beside 1 for words. Meaning counts by the
share of the question that no passage has in words, and less if it has a name."""
OF_EPISODE: Final = 0.2
OF_ACTOR: Final = 0.5
"""The weights of episode and actor in the first order, as shares of the best evidence of words."""
LINKED: Final = 1.6
SHARED: Final = 0.5
"""In the choice of candidates, the weight of evidence from links beside the first order; and the
weight of shared mentions, as a share of it."""
NEIGHBOURS: Final = 0.5
"""The share of the words and the meaning of its neighbours that counts for a turn of a
conversation."""
NEIGHBOUR_LENGTH: Final = 0.6
"""The squared length that half of a neighbour's vector adds to that of a turn, on average."""
COMMON_PEAK: Final = 1e-3
"""The weight of a word that is too common to be looked up."""
SAID_MAX: Final = 0.8
"""Words and names can cover up to this share of the question."""
STRONG: Final = 0.8
"""A seed with a smaller sum gives its links less strength, even if it is the best seed."""
UNKNOWN_WEIGHT: Final = 90.0
"""The weight of a word without pieces, about that of a rare piece (`token_weights`)."""
NOTE_FAVOUR: Final = 12.0
SECTION_FAVOUR: Final = 6.0
"""In graphs with code, the weights of the sentence model for notes that somebody wrote, and for
sections of documents; the model inside the package has 1. Fitted on notes beside documents."""
PLAIN_FAVOUR: Final = 1.5
"""The same weight in graphs without code. With 3, answers over two texts were missed; with 1,
answers in other words."""
SEED_FAVOUR: Final = 3.0
"""In the first order these weights are at most this high: sections become candidates too."""
NOTE_PIECES: Final = 0.4
"""The weight of the own pieces of a note, if the sentence model has embedded it."""
READ_CROWD: Final = 0.3
READ_CROWD_OF_SENTENCES: Final = 0.2
"""The evidence of sections of documents is divided by 1 plus this factor times the logarithm of the
number of sections per written note. The second factor is for sections that the sentence model has
embedded. Fitted on notes beside documents."""

PLAIN: Final = 0.7
SCORE_MAX: Final = 0.9
SCORE_MIN: Final = 0.02
"""The score of a passage with just the words and the meaning of the question; the highest score
of evidence; and the lowest one: below it, a passage has no more evidence than chance gives."""

LOOKUP_TERMS_MAX: Final = 2
LOOKUP_MEANING_MIN: Final = 0.75
LOOKUP_NOTE_MIN: Final = 0.55
"""A question with up to this many words is a look-up: a passage has to fit by itself, and links do
not help. Without a common word or name, the evidence of meaning must reach the second value; for
the sentence model the third, before its weight."""

# Factors of scores.

ASIDE_FACTOR: Final = 0.94
ASIDE_TEXT_FACTOR: Final = 0.8
"""Factors for the score of a test, or of a generated or vendored file: if its name fits, and if
its text does."""

SUPERSEDED_FACTOR: Final = 0.5
PAST_FACTOR: Final = 0.6
FUTURE_FACTOR: Final = 0.8
MISSING_FACTOR: Final = 0.3
"""The factors of elements that are superseded, no longer valid, not valid yet, or missing on the
disk."""
BELIEF_FACTORS: Final = {
    "accepted": 1.0,
    "contested": 0.8,
    "insufficient": 0.8,
    "rejected": SUPERSEDED_FACTOR,
}
"""The factors of links by the status that their evidence gives them."""
NAMED_FACTOR_MIN: Final = 0.9
"""The least factor of an outdated element whose name fits."""
BELOW_SUCCESSOR: Final = 0.99
"""The highest score of a superseded element, as a share of the score of its successor."""
CONFIDENCE_ORDINARY: Final = 0.8
"""A confidence below this is shown."""
CONFIDENCE_LOW: Final = 0.5
"""A confidence below this lowers the score, down to a half."""

STRENGTH_ORDINARY: Final = 0.5
"""A `memory_strength` below this is shown, and lowers the score."""
FADED_FACTOR: Final = 0.9
"""The factor of an element with the least strength."""

ABOUT_SCORE: Final = 0.9
"""The least score of a note about a node that the question names: higher than for words, lower
than for a fitting name."""

ABOUT_CODE: Final = 0.12
"""A note gains this share of the score of the best code that it is about. Fitted on notes."""

NEAR_SHARE: Final = 0.5
"""With `near`, a hit at the centre gains this share of the distance from its score to 1; at the
edge of the neighbourhood, half of it."""

BARE_FACTOR: Final = 0.5
"""The factor for a tag or the file of a document, which have no text; not used if the name fits."""

RECORD_FACTOR: Final = 0.9
"""The factor for the text of a section of a changelog, or of the comment that a module begins with,
unless the question is about releases. Fitted on notes beside documents."""

# Sections.

SECOND_SHARE: Final = 3
"""One place in this many is for the second section, if it has as many good hits."""
GOOD: Final = 0.55
FAIR: Final = 0.3
"""The least score of good hits, and the least score of a single hit in the second section. Half
of the questions about code have three good hits in it, and nine in ten of those about notes have
none."""

SEAT_RANK: Final = 3
SEAT_SHARE: Final = 0.55
"""Among the first `SEAT_RANK` notes are both sections of documents and other notes. If one kind is
missing, its best takes the last of these places, if it has at least this share of the best score:
how far the best of one kind is ahead tells which kind answers. Fitted on notes beside documents."""

NAMED_LEAST: Final = MATCH_SCORES["spelling"].least
NAMED_IN_PART_LEAST: Final = MATCH_SCORES["parts"].least * ASIDE_FACTOR
"""The least scores of an element whose name is the question, or has it as a part."""
