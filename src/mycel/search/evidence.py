"""The evidence that passages answer a question, from each signal; `weights` has their weights.

    words      BM25 of the question's words, as a share of the most that the question could reach;
               a turn of an episode has half of its neighbours' words too
    meaning    cosine of the vectors of question and passage, on the scale of its model
               (`embedding.calibration`); for a turn, also of its neighbours. It counts more if no
               passage of its kind (notes or code) has much of the question in words and names
    pieces     each word of the question, by its likeness to the nearest word of the passage
    named      the question has a name of the concept, and of no other
    link       a passage that fits mentions this concept, or a link joins them
    shared     a passage that fits and this one mention the same phrase, and few others do
    actor      the question names one actor, and it is the one who speaks
    episode    the words of the question are in the same episode
    time       the question asks for a time and the text has one, or it has the turn's date
    answer     the turn before is a question

`link` and `shared` count more, the more words of the question the two passages have together: the
two halves of an answer are found by the link between them.

Evidence is between 0 and 1, and does not depend on the other passages found. There are two
exceptions: evidence against an actor is between -1 and 0, and meaning exceeds 1 if a cosine is
higher than the average of answers, or a model is better than the shipped one.

First, words, meaning and names of all passages give an order. Then links are followed from the best
passages (`SEEDS`). `passage_ranking` chooses candidates, which are then compared piece by piece.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.calibration import Calibration
from mycel.embedding.static import StaticModel
from mycel.search.index.corpus import ASKS, READ, TIMED, Corpus, Floats, Positions
from mycel.search.index.phrases import LITTLE_WORDS
from mycel.search.passage_links import (
    PassageLink,
    Ways,
    no_ways,
    rarity,
    ways_by_links,
    ways_by_mentions,
)
from mycel.search.weights import (
    COMMON_PEAK,
    LINKED,
    LOOKUP_TERMS_MAX,
    NAMED,
    NEIGHBOUR_LENGTH,
    NEIGHBOURS,
    NOTE_FAVOUR,
    NOTE_PIECES,
    OF_ACTOR,
    OF_EPISODE,
    OPEN_MEANING,
    PLAIN_FAVOUR,
    SAID_MAX,
    SECTION_FAVOUR,
    SEED_FAVOUR,
    SHARED,
    STRONG,
    UNKNOWN_WEIGHT,
    EvidenceKind,
    Signal,
)
from mycel.store.file.rows import Row

SEEDS: Final = 30
CODE_SEEDS: Final = 10
"""The number of notes, and of passages of code, whose links are followed."""
SAMPLED: Final = 16
"""One value in this many is sampled to find a lower bound of the greatest values."""
COMMON_MIN: Final = 500
COMMON_MAX: Final = 1_500
"""A word is too common to be looked up if it is in more passages than one in 20, and in more
than these bounds."""

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WORD: Final = re.compile(r"\w+")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_WHEN: Final = re.compile(r"^(?:when|how long)\b|\b(?:year|date|month|day)\b")
_OWNER: Final = re.compile(r"['’]s$|\W")


class Sources(NamedTuple):
    """The sources of evidence beside the corpus."""

    term_scores: Callable[[str, int], Sequence[Row] | None]
    """The elements that have a term, each with its BM25; None if there are more than the bound."""
    pieces: Callable[[Sequence[int]], Sequence[NDArray[np.uint16]]]
    """The word pieces of elements."""
    links: Callable[[Sequence[int]], Sequence[PassageLink]]
    """Links of the graph around elements."""
    embed: Callable[[str], Floats]
    """The vector of a question."""
    calibration: Calibration
    """The calibration, which turns a cosine with that vector into the likelihood of a fit."""
    note_meaning: Callable[[str], tuple[Positions, Floats]]
    """The evidence of the sentence model: the places of the passages that it knows, and the
    values."""


class QuestionEvidence:
    """The evidence of one question on all passages of a corpus.

    `without` are signals that are switched off.
    """

    def __init__(
        self,
        corpus: Corpus,
        model: StaticModel,
        question: str,
        terms: Sequence[str],
        sources: Sources,
        *,
        without: Collection[Signal] = (),
    ) -> None:
        self.corpus: Final = corpus
        self.without: Final = without
        self._model, self._question, self._sources = model, question, sources
        self._lowered = _WORD.findall(question.lower())
        self.terms = [term for term in terms if term.lower() not in LITTLE_WORDS] or list(terms)
        self._actors = self._named_actors()
        self._bare = self._without_actors()
        self._compared: tuple[Positions, Floats] = (
            np.zeros(0, np.int64),
            np.zeros((0, 0), np.float32),
        )
        self.nearness = np.zeros(len(corpus), np.float32)
        """The evidence of meaning on each passage, from whichever model."""
        self.reach = np.zeros(len(corpus), np.float32)
        """The score of each passage in the choice of candidates."""
        self.openness = np.zeros(len(corpus), np.float32)
        """The share of the question that words and names do not cover, for each passage."""
        self._certain = np.zeros(len(corpus), np.float32)
        """The certainty of the vector of the question (its length), for each passage."""
        self.favour = np.ones(len(corpus), np.float32)
        """The weight of the model behind the evidence of meaning, for each passage."""
        self.piece_share = np.ones(len(corpus), np.float32)
        """The share of its own pieces that counts, for each passage."""
        self.may_have_all = True
        """False if no element has all words of the question."""
        if corpus.count:
            self._gather()

    def _gather(self) -> None:
        """Gather the evidence on all passages, and the links from the best ones."""
        corpus = self.corpus
        self._matched, self._shares, words = self._words()
        matched, shares = self._matched, self._shares
        self.nearness = meaning = self._meaning()
        by_name, unique = self._weigh_names()
        actor = self._actor()
        episode = self._episode(matched, shares)
        in_turns = OF_EPISODE * episode + OF_ACTOR * (actor > 0) * (words > 0)
        favour = words + words.max(initial=0) * in_turns
        # Meaning counts for the share that words and names do not cover.
        coverage = self._question_share(words, by_name)
        near = np.minimum(self.favour, SEED_FAVOUR) * meaning
        first = favour + OPEN_MEANING * (1 - coverage) * near + NAMED * by_name
        first[~corpus.alive] = -1
        self.seeds, self._strength = self._best_of_kinds(first)
        self.links, self.shared = links, shared = self._follow()
        self.by_link, self.by_shared = (self._together(ways) for ways in (links, shared))
        linked = links.best(len(corpus), self.by_link)
        joined = shared.best(len(corpus), self.by_shared)
        self.reach = first + LINKED * np.maximum(linked, SHARED * joined)
        self.openness = self._certain * (1 - coverage / SAID_MAX)
        self.whole: dict[EvidenceKind, Floats] = {
            "words": words,
            "meaning": self.favour * meaning,
            "open_meaning": self.openness * self.favour * meaning,
            "named": unique,
            "actor": actor,
            "episode": episode,
        }

    def _question_share(self, words: Floats, by_name: Floats) -> Floats:
        """The share of the question that words and names of passages cover, for each kind.

        Otherwise symbols would lower the meaning of notes.
        """
        if "words" in self.without:
            return np.full(len(words), SAID_MAX, np.float32)
        best = np.maximum(words, by_name)
        of_kinds = [min(float((best * mask).max()), SAID_MAX) for mask in self.corpus.kinds]
        return np.where(self.corpus.is_code, *map(np.float32, reversed(of_kinds)))

    def _best_of_kinds(self, first: Floats) -> tuple[Positions, Floats]:
        """The seeds, from which links are followed, and the strength of each.

        Notes and code are ranked separately: otherwise names of symbols would take all places.
        """
        seeds = [np.zeros(0, np.int64)]
        most = []
        for mask, count in zip(self.corpus.kinds, (SEEDS, CODE_SEEDS), strict=True):
            best = highest(first, count, self.corpus.numbers, mask)
            best = best[first[best] >= 0]
            seeds.append(best)
            most.append(np.float32(max(float(first[best[:1]].max(initial=0)), STRONG)))
        of_notes, of_code = most
        most_of_kind = np.where(self.corpus.is_code, of_code, of_notes)
        strength: Floats = np.clip(first / most_of_kind, 0, 1).astype(np.float32, copy=False)
        return np.concatenate(seeds), strength

    def on(self, chosen: Positions) -> dict[EvidenceKind, Floats]:
        """All evidence on some passages."""
        size, seeds, links, shared = len(self.corpus), self.seeds, self.links, self.shared
        inner, likeness = self._likeness(chosen)
        own = likeness[:, np.searchsorted(inner, chosen)].sum(axis=0)
        cover = partial(self._covered, places=inner, likeness=likeness)
        share = self.piece_share[chosen]
        alone = self._strength[chosen] * own
        left_out = (1 - share) * alone
        return {
            **{key: values[chosen] for key, values in self.whole.items()},
            "pieces": share * own,
            "link": links.best(size, seeds[links.seed] != links.place)[chosen],
            "link_pieces": np.maximum(links.best(size, cover(links))[chosen], alone) - left_out,
            "shared_pieces": np.maximum(shared.best(size, cover(shared))[chosen], alone) - left_out,
            "shared_new": shared.best(size, self._added(shared))[chosen],
            "time": self._time(chosen),
            "date": self._dates(chosen),
            "answer": self._answer()[chosen],
        }

    def _likeness(self, chosen: Positions) -> tuple[Positions, Floats]:
        """The places of these passages and of the seeds, and the likeness of each to each word."""
        places, likeness = self._compared
        more = np.setdiff1d(np.concatenate((self.seeds, chosen)), places)
        if not len(places):
            self._compared = more, self._pieces(more)
        elif len(more):  # Passages of another kind, or for another filter.
            places = np.concatenate((places, more))
            likeness = np.concatenate((likeness, self._pieces(more)), axis=1)
            order = np.argsort(places)
            self._compared = places[order], likeness[:, order]
        return self._compared

    # Evidence of each signal.

    def _words(self) -> tuple[Floats, Floats, Floats]:
        """The match of each passage with each term, the share of each term, and the sum of it.

        A match is from 0 to 1.
        """
        corpus = self.corpus
        words = np.zeros(len(corpus), np.float32)
        if "words" in self.without or not self.terms:
            return np.zeros((0, len(corpus)), np.float32), np.zeros(0, np.float32), words
        scores = np.zeros((len(self.terms), len(corpus)), np.float32)
        peaks = np.zeros(len(self.terms), np.float32)
        common = max(COMMON_MIN, min(corpus.count // 20, COMMON_MAX))
        bound = common if len(self.terms) > LOOKUP_TERMS_MAX else len(corpus) + COMMON_MAX
        missing = float(np.log(2 * corpus.count + 1))
        numbers: list[Positions] = []
        places_of: dict[int, Positions] = {}
        for at, term in enumerate(self.terms):
            rows = self._sources.term_scores(term, bound)
            if rows is None:
                peaks[at] = COMMON_PEAK
                continue
            elements, values = zip(*rows, strict=True) if rows else ((), ())
            numbers.append(np.array(elements, np.int64))
            places = corpus.places(numbers[-1])
            is_there = places >= 0
            places_of[at] = places = places[is_there]
            scores[at, places] = np.array(values, np.float32)[is_there]
            peaks[at] = scores[at, places].max(initial=0) or missing
        shares = peaks / peaks.sum()
        self.may_have_all = _have_in_common(numbers)
        if corpus.has_episodes:
            before, after = corpus.beside(scores)
            scores = np.minimum(scores + NEIGHBOURS * np.maximum(before, after), peaks[:, None])
            scores /= peaks[:, None]
            return scores, shares, _weighted(shares, scores)
        for at, places in places_of.items():
            scores[at, places] /= peaks[at]
            words[places] += shares[at] * scores[at, places]
        return scores, shares, words

    def _meaning(self) -> Floats:
        """The evidence of the cosine of each passage; turns include their neighbours."""
        corpus = self.corpus
        if "meaning" in self.without:
            return np.zeros(len(corpus), np.float32)
        vector = self._sources.embed(self._bare)
        self._certain[:] = min(float(np.linalg.norm(vector)), 1.0)
        own = corpus.similarities(vector)
        if corpus.has_episodes:
            before, after = corpus.beside(own)
            neighbours = (corpus.previous >= 0).astype(np.float32) + (corpus.next >= 0)
            length = np.sqrt(1 + NEIGHBOUR_LENGTH * neighbours)
            own = (own + NEIGHBOURS * before + NEIGHBOURS * after) / length
        evidence = self._sources.calibration.evidence(own)
        places, values = self._sources.note_meaning(self._bare)
        evidence[places] = values
        self.favour[places], self._certain[places] = PLAIN_FAVOUR, 1.0
        if corpus.is_code.any():  # Without code, answers over two texts need words and links more.
            is_section = (corpus.flags[places] & READ) > 0
            self.favour[places] = np.where(is_section, SECTION_FAVOUR, NOTE_FAVOUR)
            self.piece_share[places[~is_section]] = NOTE_PIECES
        return evidence

    def _weigh_names(self) -> tuple[Floats, Floats]:
        """By passage, the weight of its name in the question; the same for unique names alone."""
        corpus = self.corpus
        by_name, unique = (np.zeros(len(corpus), np.float32) for _ in range(2))
        if "named" not in self.without:
            pieces = np.array(self._model.token_ids(self._question), np.uint16)
            hashes = np.unique(corpus.names.mentioned(pieces, np.array([len(pieces)]))[1])
            indexes, places = corpus.called(hashes)
            bearers = np.bincount(indexes, minlength=len(hashes))
            weights = rarity(corpus, corpus.mention_counts(hashes))
            np.maximum.at(by_name, places, weights[indexes])
            alone = bearers[indexes] == 1
            unique[places[alone]] = by_name[places[alone]]
        return by_name, unique

    def _actor(self) -> Floats:
        actors = self.corpus.actors
        if len(self._actors) != 1 or "actor" in self.without:
            return np.zeros(len(actors), np.float32)
        return np.where(actors < 0, 0, np.where(actors == self._actors[0], 1, -1)).astype(
            np.float32
        )

    def _episode(self, matched: Floats, shares: Floats) -> Floats:
        """For each passage, the share of the words of the question that are in its episode."""
        corpus = self.corpus
        if not corpus.has_episodes or "episode" in self.without or not len(shares):
            return np.zeros(len(corpus), np.float32)
        within = np.flatnonzero(corpus.episodes >= 0)
        best = np.zeros((len(shares), int(corpus.episodes.max()) + 1), np.float32)
        for row, scores in zip(best, matched, strict=True):
            np.maximum.at(row, corpus.episodes[within], scores[within])
        episode = np.zeros(len(corpus), np.float32)
        episode[within] = _weighted(shares, best)[corpus.episodes[within]]
        return episode

    def _time(self, places: Positions) -> Floats:
        asks = "time" not in self.without and _WHEN.search(self._question.lower().strip())
        return ((self.corpus.flags[places] & TIMED) > 0).astype(np.float32) * bool(asks)

    def _dates(self, places: Positions) -> Floats:
        """For each passage, the share of the parts of a date in the question that it matches."""
        dates = self.corpus.dates[places]
        years = {int(word) for word in self._lowered if _YEAR.fullmatch(word)}
        months = {MONTHS.index(word) + 1 for word in self._lowered if word in MONTHS}
        days = {
            int(word)
            for word in self._lowered
            if word.isascii() and word.isdigit() and len(word) < 3
        }
        parts = [(years, dates // 10_000), (months, dates // 100 % 100)]
        parts += [(days, dates % 100)] if months else []
        date_parts = [(numbers, values) for numbers, values in parts if numbers]
        if not date_parts or "time" in self.without:
            return np.zeros(len(dates), np.float32)
        fits = [np.isin(values, list(numbers)) & (dates > 0) for numbers, values in date_parts]
        share: Floats = np.mean(fits, axis=0, dtype=np.float32)
        return share

    def _answer(self) -> Floats:
        corpus = self.corpus
        if not corpus.has_episodes or "answer" in self.without:
            return np.zeros(len(corpus), np.float32)
        asks = ((corpus.flags & ASKS) > 0).astype(np.float32)
        return corpus.beside(asks)[0] - asks

    def _pieces(self, places: Positions) -> Floats:
        """The weighted likeness of each word of the question to the nearest words of some passages.

        The sum over the words is from 0 to 1. A word in a script that the model does not know has
        no pieces; it is only found exactly.
        """
        if "pieces" in self.without:
            return np.zeros((0, len(places)), np.float32)
        matched = self._matched
        words = [word for word in _WORD.findall(self._bare.lower()) if word not in LITTLE_WORDS]
        spelt = [
            token_ids for word in dict.fromkeys(words) if (token_ids := self._model.token_ids(word))
        ]
        other = [at for at in range(len(matched)) if not self._model.token_ids(self.terms[at])]
        likeness, weights = self._nearest_pieces(places, spelt)
        likeness = np.concatenate((likeness, matched[other][:, places]))
        weights = np.append(weights, np.full(len(other), UNKNOWN_WEIGHT, np.float32))
        weighted: Floats = likeness * (weights / max(weights.sum(), 1e-9))[:, None]
        return weighted

    def _nearest_pieces(
        self, places: Positions, spelt: Sequence[Sequence[int]]
    ) -> tuple[Floats, Floats]:
        """The likeness of each word to the nearest pieces of each passage; weights of words."""
        if not spelt or not len(places):
            return np.zeros((len(spelt), len(places)), np.float32), np.ones(len(spelt), np.float32)
        pieces = [piece for word in spelt for piece in word]
        texts = self._sources.pieces(self.corpus.numbers[places].tolist())
        texts = [text if len(text) else np.zeros(1, np.uint16) for text in texts]
        starts = np.cumsum([0, *map(len, texts[:-1])])
        row = np.concatenate(texts)
        is_there = np.zeros(len(self._model.pieces), bool)
        is_there[row] = True
        near = self._model.likeness(np.flatnonzero(is_there), pieces)
        near = near.take((np.cumsum(is_there) - 1)[row], axis=0)
        near = np.maximum(np.maximum.reduceat(near, starts, axis=0), 0).T
        # The farthest piece of a word decides, because parts of rare words are common.
        first = np.cumsum([0, *map(len, spelt[:-1])])
        weights = np.add.reduceat(self._model.token_weights(pieces), first)
        return np.minimum.reduceat(near, first, axis=0), weights

    # Ways along links and mentions.

    def _follow(self) -> tuple[Ways, Ways]:
        """Ways from seeds to passages that they mention or link to, or share a mention with."""
        seeds, strength = self.seeds, self._strength[self.seeds]
        links, shared = no_ways(), no_ways()
        if not {"link", "shared"} <= set(self.without):
            links, shared = ways_by_mentions(self.corpus, seeds, strength)
        if "link" in self.without:
            links = no_ways()
        else:
            passage_links = self._sources.links(self.corpus.numbers[seeds].tolist())
            links = links.joined(ways_by_links(self.corpus, seeds, strength, passage_links))
        shared = no_ways() if "shared" in self.without else shared
        return links.with_loops(seeds, strength), shared.with_loops(seeds, strength)

    def _together(self, links: Ways) -> Floats:
        """The share of the words of the question that the two ends of each link have together."""
        matched = self._matched
        pair_matches = np.maximum(matched[:, self.seeds[links.seed]], matched[:, links.place])
        return _weighted(self._shares, pair_matches)

    def _added(self, links: Ways) -> Floats:
        """The share of the question's words that only the far end of each link has."""
        matched = self._matched
        new = np.maximum(matched[:, links.place] - matched[:, self.seeds[links.seed]], 0)
        return _weighted(self._shares, new)

    def _covered(self, links: Ways, places: Positions, likeness: Floats) -> Floats:
        """The share of the question's pieces that both ends have together; 0 for other places."""
        inside = np.flatnonzero(self.corpus.mask(places)[links.place])
        covered = np.zeros(len(links.place), np.float32)
        near = np.searchsorted(places, self.seeds[links.seed[inside]])
        far = np.searchsorted(places, links.place[inside])
        covered[inside] = np.maximum(likeness[:, near], likeness[:, far]).sum(axis=0)
        return covered

    # Actors in the question, and helpers.

    def _named_actors(self) -> list[int]:
        """The actors whose names are in the question."""
        text = f" {' '.join(self._lowered)} "
        return [
            number
            for name, number in self.corpus.actor_names.items()
            if (words := " ".join(_WORD.findall(name.lower()))) and f" {words} " in text
        ]

    def _without_actors(self) -> str:
        """The question without the names of actors, which say nothing about the subject."""
        if not self._actors:
            return self._question
        names = {
            word
            for name, number in self.corpus.actor_names.items()
            if number in self._actors
            for word in _WORD.findall(name.lower())
        }
        words = [
            word for word in self._question.split() if _OWNER.sub("", word.lower()) not in names
        ]
        return " ".join(words) or self._question


def _weighted(shares: Floats, values: Floats) -> Floats:
    """The sum of rows of values, each by its share.

    It uses einsum and not BLAS: some kernels of BLAS raise the flag of an invalid value for finite
    numbers, which numpy turns into a warning.
    """
    total: Floats = np.einsum("i,ij->j", shares, values)
    return total


def _have_in_common(lists: Sequence[Positions]) -> bool:
    """True if some number is in all lists, or if there are none."""
    if not lists:
        return True
    first, *others = sorted(lists, key=len)
    for numbers in others:
        first = first[np.isin(first, numbers)]
    return bool(len(first))


def highest(
    values: Floats, count: int, numbers: Positions, mask: NDArray[np.bool_] | None = None
) -> Positions:
    """The positions of the greatest values, greatest first; ties in order of `numbers`.

    With a mask, only positions for which it is true. Ties are not ordered by position, which is the
    order of reading and differs between processes.
    """
    places = _above_bound(values, count, mask)
    if places is None:
        places = np.arange(len(values)) if mask is None else np.flatnonzero(mask)
    if count < len(places):
        some = values[places]
        least = np.partition(some, len(some) - count)[len(some) - count]
        places = places[some >= least]
    return places[np.lexsort((numbers[places], -values[places]))][:count]


def _above_bound(values: Floats, count: int, mask: NDArray[np.bool_] | None) -> Positions | None:
    """The positions of values above a bound from a sample; None if there are too few.

    So there are few values to choose from.
    """
    sample = values[::SAMPLED] if mask is None else values[::SAMPLED][mask[::SAMPLED]]
    rank = 2 * count // SAMPLED + SAMPLED
    if rank > len(sample):
        return None
    bound = np.partition(sample, len(sample) - rank)[len(sample) - rank]
    is_above = values >= bound
    if mask is not None:
        is_above &= mask
    above = np.flatnonzero(is_above)
    return above if len(above) >= count else None
