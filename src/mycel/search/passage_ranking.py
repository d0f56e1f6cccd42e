"""The ranking of passages: the scores of the passages of a graph for a question.

Candidates are chosen by words, meaning, names and links. The weighted sum of all evidence on a
candidate gives its score. A score is a fixed function of that sum, so it means the same for every
question: 0 for a passage with no more evidence than chance gives, `PLAIN` for one with just the
words and the meaning of the question, at most `SCORE_MAX`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial
from math import log2
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.embedder import NotReadyError
from mycel.errors import EmbedderFailed
from mycel.search.evidence import QuestionEvidence, Sources, highest
from mycel.search.index.corpus import READ, Corpus, Floats, Positions
from mycel.search.index.mentions import mentioned_in
from mycel.search.index.note_vectors import AT_ONCE_MAX
from mycel.search.index.passage_index import PassageIndex
from mycel.search.index.search_index import SearchIndex
from mycel.search.modes import SEMANTIC, SearchMode
from mycel.search.notes_about import ABOUT, find_notes_of_code
from mycel.search.passage_links import PassageLink, Ways
from mycel.search.question import Question
from mycel.search.weights import (
    ABOUT_CODE,
    BM25_COLUMNS,
    EVIDENCE_WEIGHTS,
    FAIR,
    LOOKUP_MEANING_MIN,
    LOOKUP_NOTE_MIN,
    LOOKUP_TERMS_MAX,
    OWN_EVIDENCE,
    PLAIN,
    READ_CROWD,
    READ_CROWD_OF_SENTENCES,
    SCORE_MAX,
    SCORE_MIN,
    EvidenceKind,
    Signal,
)
from mycel.store.query import lookup
from mycel.store.query.candidates import TermIndex
from mycel.store.query.filters import Condition
from mycel.store.query.reader import Reader
from mycel.text.kinds import CODE

CANDIDATES: Final = 100
"""The number of passages that are compared piece by piece, unless the limit asks for more."""
MENTIONS_MAX: Final = 5
"""The maximum number of mentions of a text that are shown, or that are reasons for other hits."""
CODE_RANKED: Final = 40
"""The maximum number of files and symbols that are ranked, for their own section and to find notes
about them."""
CODE_FOLLOWED: Final = 10
"""The number of best files and symbols whose notes are found."""
LINKS_FOLLOWED: Final = 1_000
"""The number of links that are followed from all seeds together, in each direction."""

_NOT_BY_MEANING: Final[tuple[Signal, ...]] = ("words", "named", "link", "shared")


class RankedPassage(NamedTuple):
    """A passage that fits a question."""

    element: int
    score: float
    evidence: dict[EvidenceKind, float]
    """The contribution of each kind of evidence to the sum."""
    via: tuple[int, int] | None
    """The element from which a link leads to the passage, and the predicate; `MENTION` for a
    shared mention. None if the passage covers the question better by itself."""
    linked: tuple[int, int] | None
    """The element of the strongest link, and its predicate, even if `via` is None."""
    about: int | None = None
    """The code that the passage is about, if that code fits fairly well."""

    @property
    def origin(self) -> tuple[int, int] | None:
        """The element from which a way leads to the passage, and the predicate; links first."""
        ways = [way for way in (self.via, self.linked) if way is not None]
        return max(ways, key=lambda way: bool(way[1]), default=None)

    def signals(self) -> list[Signal]:
        """The signals for the passage, the strongest first."""
        shares: dict[Signal, float] = {}
        for key, value in self.evidence.items():
            is_own = not self.via and key in OWN_EVIDENCE
            signal = OWN_EVIDENCE[key].signal if is_own else EVIDENCE_WEIGHTS[key].signal
            shares[signal] = shares.get(signal, 0.0) + value
        return sorted(shares, key=lambda signal: -shares[signal])


class PassageRanking:
    """The ranking for one question: evidence is gathered once, for any number of filters.

    The mode "semantic" uses meaning alone. While the vectors of a chosen embedder are being made,
    or if it fails, those of the model inside the package are used; `warning` says so.
    """

    def __init__(
        self, reader: Reader, index: SearchIndex, question: Question, mode: SearchMode
    ) -> None:
        """Gather the evidence.

        Raises:
            NotReadyError: the vectors of the model inside the package are being made as well.
            EmbedderFailed: the model inside the package cannot be used.
        """
        without = _NOT_BY_MEANING if mode == SEMANTIC else ()
        self._reader, self._mode = reader, mode
        self._mentions: dict[int, list[int]] = {}
        self.warning = ""
        try:
            passages = index.get()
            self._evidence = gather_evidence(reader, passages, question, without)
            self.warning = _about_notes(passages)
        except (NotReadyError, EmbedderFailed) as error:
            instead = index.instead()
            if instead is None:
                raise
            why = error.message if isinstance(error, EmbedderFailed) else "Vectors are being made."
            self.warning = f"{why} This answer uses the embedder inside the package."
            self._evidence = gather_evidence(reader, instead, question, without)

    @property
    def may_have_all(self) -> bool:
        """False if no element has all words of the question."""
        return self._evidence.may_have_all

    def best(self, condition: Condition, limit: int) -> list[RankedPassage]:
        """Passages that fit and pass a condition, best first."""
        is_plain = not condition.others and condition.types is None
        if condition.kind == CODE and is_plain and limit <= CODE_RANKED:
            return self._code[:limit]
        allowed = _allowed(self._reader, self._evidence.corpus, condition)
        lifts = {} if condition.kind == CODE else self._notes_of_code
        return rank(self._evidence, allowed, limit, lifts)

    def mentioned_by(self, number: int) -> list[int]:
        """The concepts that the text of a concept mentions by name, the rarest names first."""
        if number not in self._mentions:
            self._mentions[number] = mentioned_in(
                self._reader, self._evidence.corpus, number, MENTIONS_MAX
            )
        return self._mentions[number]

    @cached_property
    def _code(self) -> list[RankedPassage]:
        """The files and symbols that fit best, without regard to filters."""
        return rank(self._evidence, self._evidence.corpus.is_code, CODE_RANKED)

    @cached_property
    def _notes_of_code(self) -> dict[int, tuple[int, float]]:
        """The notes about code that fits the question, without regard to filters."""
        evidence, is_code = self._evidence, self._evidence.corpus.is_code
        if self._mode == SEMANTIC or len(evidence.terms) <= LOOKUP_TERMS_MAX or not is_code.any():
            return {}
        about = self._reader.find_predicate(ABOUT)
        if about is None:
            return {}
        scores = {code.element: code.score for code in self._code[:CODE_FOLLOWED]}
        return find_notes_of_code(self._reader, about, scores)


def gather_evidence(
    reader: Reader, passages: PassageIndex, question: Question, without: Collection[Signal] = ()
) -> QuestionEvidence:
    """The evidence on all passages, by the vectors of one embedder; `without` some signals."""
    corpus = passages.corpus(reader)
    sources = Sources(
        TermIndex(reader, BM25_COLUMNS).scores,
        lambda numbers: passages.pieces(reader, numbers),
        lambda numbers: _links(reader, numbers),
        passages.question_vector,
        passages.calibration(reader),
        partial(_note_meaning, reader, passages, corpus),
    )
    return QuestionEvidence(
        corpus, passages.model, question.text, question.terms, sources, without=without
    )


def rank(
    evidence: QuestionEvidence,
    allowed: NDArray[np.bool_] | None,
    limit: int,
    lifts: Mapping[int, tuple[int, float]] = MappingProxyType({}),
) -> list[RankedPassage]:
    """Passages that fit, best first; with `allowed`, only those.

    `lifts` maps the number of a note to the code that it is about and the score of that code.
    """
    corpus = evidence.corpus
    if not corpus.count:
        return []
    lifted, gains = _lifted(corpus, allowed, lifts)
    places = _candidates(evidence, allowed, limit)
    if len(lifted):
        places = np.union1d(places, lifted)
    signals = evidence.on(places)
    titled = corpus.titled[places]
    parts = {
        key: signals[key] * np.where(titled, weight.titled, weight.turn)
        for key, weight in EVIDENCE_WEIGHTS.items()
        if weight.signal not in evidence.without
    }
    table = np.stack(list(parts.values()))
    total = table.sum(axis=0)
    scores = _score(evidence, places, total)
    scores[np.searchsorted(places, lifted)] += ABOUT_CODE * gains
    scores = np.minimum(scores, SCORE_MAX)
    fits = (scores >= SCORE_MIN) & _fits(evidence, places, signals)
    order = np.lexsort((corpus.numbers[places], -scores))
    order = order[fits[order]][:limit]
    best = places[order]
    vias, strongest = _origins(evidence, best)
    rows = zip(
        corpus.numbers[best].tolist(),
        scores[order].tolist(),
        best.tolist(),
        table[:, order].T.tolist(),
        strict=True,
    )
    return [
        RankedPassage(
            number,
            score,
            {key: value for key, value in zip(parts, values, strict=True) if value > 0},
            vias.get(place),
            strongest.get(place),
            _code_of(lifts, number),
        )
        for number, score, place, values in rows
    ]


def _lifted(
    corpus: Corpus, allowed: NDArray[np.bool_] | None, lifts: Mapping[int, tuple[int, float]]
) -> tuple[Positions, Floats]:
    """The places of the allowed notes in `lifts`, and the score of the code of each."""
    numbers = np.array(sorted(lifts), np.int64)
    places = corpus.places(numbers)
    gains = np.array([lifts[number][1] for number in numbers.tolist()], np.float32)
    is_there = places >= 0
    if allowed is not None:
        is_there &= allowed[places]
    return places[is_there], gains[is_there]


def _code_of(lifts: Mapping[int, tuple[int, float]], note: int) -> int | None:
    """The code that a note is about, if it fits fairly well."""
    code, score = lifts.get(note, (None, 0.0))
    return code if score >= FAIR else None


def _candidates(
    evidence: QuestionEvidence, allowed: NDArray[np.bool_] | None, limit: int
) -> Positions:
    """The passages that are compared with the question piece by piece."""
    alive, numbers = evidence.corpus.alive, evidence.corpus.numbers
    mask = alive if allowed is None else allowed & alive
    chosen = highest(evidence.reach, max(limit, CANDIDATES), numbers, mask)
    if (evidence.openness * mask).max(initial=0) > 0:
        near = highest(evidence.nearness, max(limit, CANDIDATES // 2), numbers, mask)
        chosen = np.concatenate((chosen, near))
    return np.unique(chosen)


def _score(evidence: QuestionEvidence, places: Positions, total: Floats) -> Floats:
    """The scores of passages from the weighted sums of their evidence."""
    without, titled = evidence.without, evidence.corpus.titled[places]
    keys = [key for key in OWN_EVIDENCE if EVIDENCE_WEIGHTS[key].signal not in without]
    most, least = np.zeros((2, len(total)), np.float32)
    for key in keys:
        weight, chance = EVIDENCE_WEIGHTS[key], OWN_EVIDENCE[key].chance
        own: Floats = np.where(titled, weight.titled, weight.turn).astype(np.float32)
        if OWN_EVIDENCE[key].signal == "pieces":
            own *= evidence.piece_share[places]
        most, least = most + own, least + chance * own
    more = np.zeros(len(total), np.float32)
    chance = OWN_EVIDENCE["meaning"].chance
    if "meaning" not in without:
        by_meaning = evidence.openness[places] * titled * EVIDENCE_WEIGHTS["open_meaning"].titled
        most, least = most + by_meaning, least + by_meaning * chance
        of_model = by_meaning + titled * EVIDENCE_WEIGHTS["meaning"].titled
        more = (evidence.favour[places] - 1) * of_model
    beyond = _crowd_factors(evidence, places) * np.maximum(total - least, 0) - more * chance
    most = most + more * (1 - chance)
    shares = np.maximum(beyond, 0) / np.maximum(most - least, 1e-9)
    steepness = -np.log(1 - PLAIN / SCORE_MAX)
    scores: Floats = SCORE_MAX * (1 - np.exp(-steepness * shares))
    return scores


def _crowd_factors(evidence: QuestionEvidence, places: Positions) -> Floats:
    """A factor for the evidence beyond chance, which is less than 1 for sections of documents.

    The more sections there are per written note, the more likely a section fits by chance.
    """
    corpus = evidence.corpus
    crowd = max(0.0, np.log((1 + corpus.read_count) / (1 + corpus.written_count)))
    shares = np.where(evidence.favour[places] > 1, READ_CROWD_OF_SENTENCES, READ_CROWD)
    is_read = corpus.flags[places] & READ
    factors: Floats = np.where(is_read, 1 / (1 + shares * crowd), 1).astype(np.float32)
    return factors


def _fits(
    evidence: QuestionEvidence, places: Positions, values: dict[EvidenceKind, Floats]
) -> NDArray[np.bool_]:
    """True for passages that fit a short question; for a longer question, all are True."""
    if "words" in evidence.without or len(evidence.terms) > LOOKUP_TERMS_MAX:
        return np.ones(len(values["meaning"]), bool)
    favour = evidence.favour[places]
    least = np.where(favour > 1, LOOKUP_NOTE_MIN * favour, LOOKUP_MEANING_MIN)
    fits: NDArray[np.bool_] = (
        (values["words"] > 0) | (values["named"] > 0) | (values["meaning"] >= least)
    )
    return fits


def _origins(
    evidence: QuestionEvidence, places: Positions
) -> tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]]]:
    """Two maps by passage: the start of the way that helps it most, and of its strongest way."""
    vias: dict[int, tuple[int, int]] = {}
    strongest: dict[int, tuple[int, int]] = {}
    links, shared = evidence.links, evidence.shared
    for ways, covered in ((links, evidence.by_link), (shared, evidence.by_shared)):
        vias |= _begins(evidence, places, ways, covered)
    for ways in (shared, links):
        is_way = evidence.seeds[ways.seed] != ways.place
        strongest |= _begins(evidence, places, ways, is_way)
    return vias, strongest


def _begins(
    evidence: QuestionEvidence,
    places: Positions,
    ways: Ways,
    covered: Floats | NDArray[np.bool_],
) -> dict[int, tuple[int, int]]:
    """By passage, the start of the best way to it, and the predicate of that way.

    A passage is left out if it covers the question better by itself.
    """
    inside = np.flatnonzero(evidence.corpus.mask(places)[ways.place])
    order = inside[np.argsort((ways.weight * covered)[inside], kind="stable")]
    best = dict(zip(ways.place[order].tolist(), order.tolist(), strict=True))
    begins = evidence.seeds[ways.seed]
    return {
        place: (int(evidence.corpus.numbers[begins[at]]), int(ways.predicate[at]))
        for place, at in best.items()
        if begins[at] != place
    }


def _about_notes(passages: PassageIndex) -> str:
    """The warning of a search if the sentence model has not embedded all notes and sections yet."""
    if passages.notes is None:
        return ""
    if passages.notes.failure is not None:
        return f"{passages.notes.failure.message} This answer does without it."
    if passages.notes.missing > AT_ONCE_MAX:
        return (
            f"The sentence model has {passages.notes.missing:,} notes and sections still to read;"
            " this answer finds them by the embedder inside the package. A running server reads"
            " them in the background; `mycel embed rebuild` reads them now."
        )
    return ""


def _note_meaning(
    reader: Reader, passages: PassageIndex, corpus: Corpus, question: str
) -> tuple[Positions, Floats]:
    if passages.notes is None:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    return passages.notes.meaning(reader, corpus, question)


def _allowed(reader: Reader, corpus: Corpus, condition: Condition) -> NDArray[np.bool_] | None:
    """The passages that pass a condition; None for all."""
    if condition.kind is None and condition.types is None and not condition.others:
        return None
    passes = np.ones(len(corpus), bool)
    if condition.types is not None:
        passes &= np.isin(corpus.types, list(condition.types))
    if condition.kind is not None:
        passes &= corpus.is_code == (condition.kind == CODE)
    if condition.others:
        passes &= np.isin(corpus.numbers, condition.numbers(reader))
    return passes


def _links(reader: Reader, numbers: Sequence[int]) -> list[PassageLink]:
    around = lookup.links_around_each(reader, numbers, LINKS_FOLLOWED)
    degrees = Counter(number for number, _ in around)
    return [
        PassageLink(
            number,
            link.other,
            link.predicate,
            1 / (1 + log2(degrees[number])),
        )
        for number, link in around
    ]
