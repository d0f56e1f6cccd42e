"""The stages of a hybrid search: the evidence of each on every passage (`weights` says what it is).

First words, meaning and names of all passages give an order. From the best of them (`SEEDS`) links
are followed, the best after that are compared with the question piece by piece (`CANDIDATES`), and
the weighted sum of all evidence is the score.
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
from mycel.recall.corpus import ASKS, READ, TIMED, Corpus, Floats, Positions
from mycel.recall.passage_links import (
    PassageLink,
    Ways,
    no_ways,
    rarity,
    ways_by_edges,
    ways_by_mentions,
)
from mycel.recall.phrases import LITTLE_WORDS
from mycel.recall.weights import (
    ALONE,
    LOOKUP_MEANING_MIN,
    LOOKUP_TERMS_MAX,
    SCORE_MIN,
    WEIGHTS,
    Stage,
    score,
)

SEEDS: Final = 30
CODE_SEEDS: Final = 10
"""Links are followed from so many notes, and from so many passages of code."""
SAMPLED: Final = 16
"""Of many values, one in so many is looked at for a bound."""
CANDIDATES: Final = 100
COMMON_MIN: Final = 500
COMMON_MAX: Final = 1_500
"""A word in more passages than one in 20, and than these bounds, is too common to be looked up."""

OPEN_MEANING: Final = 0.6
NAMED: Final = 0.8
"""The weights of meaning and names in the first order, beside 1 for words. Meaning counts by the
share of the question that no passage has in words, and less if it has a name."""
SAID_MAX: Final = 0.8

READ_CROWD: Final = 0.3
"""The evidence of sections of documents is divided by 1 and so much of the logarithm of their
number beside that of the notes that somebody wrote. Fitted on notes beside documents."""
NOTE_FAVOUR: Final = 3.0
"""The weight of the sentence model, beside 1 for the model inside the package. Fitted on notes."""
STRONG: Final = 0.8
"""A seed with less than this sum lends its links less strength, even if it is the best."""

UNKNOWN_WEIGHT: Final = 90.0
"""The weight of a word without pieces, about that of a rare piece (`token_weights`)."""

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WORD: Final = re.compile(r"\w+")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_WHEN: Final = re.compile(r"^(?:when|how long)\b|\b(?:year|date|month|day)\b")
_OWNER: Final = re.compile(r"['’]s$|\W")


class Sources(NamedTuple):
    """Sources of evidence beside the corpus."""

    term_scores: Callable[[str, int], Sequence[tuple[int, float]] | None]
    """BM25 by element of a term; None if it is in more elements than the bound."""
    pieces: Callable[[Sequence[int]], Sequence[NDArray[np.uint16]]]
    """The word pieces of elements."""
    edges: Callable[[Sequence[int]], Sequence[PassageLink]]
    """Links of the graph around elements."""
    embed: Callable[[str], Floats]
    """The vector of a question."""
    calibration: Calibration
    """The meaning of cosines with that vector."""
    note_meaning: Callable[[str], tuple[Positions, Floats]]
    """The evidence of a better model on some of the passages: their places, and the values."""


class PassageEvidence(NamedTuple):
    """A passage that fits a question."""

    element: int
    score: float
    evidence: dict[str, float]
    """The contribution of each kind of evidence to the sum."""
    via: tuple[int, int] | None
    """The element that it is linked from, and the predicate; `MENTION` if both mention something.

    None if the passage covers the question better by itself.
    """
    linked: tuple[int, int] | None
    """The same of the strongest link to it, even then."""

    @property
    def origin(self) -> tuple[int, int] | None:
        """The element that it is linked from, and the predicate; a link with one if there is."""
        ways = [each for each in (self.via, self.linked) if each is not None]
        return max(ways, key=lambda way: bool(way[1]), default=None)

    def stages(self) -> list[Stage]:
        """The stages that found it, the one with most evidence first."""
        shares: dict[Stage, float] = {}
        for key, value in self.evidence.items():
            stage = WEIGHTS[key].stage if self.via or key not in ALONE else ALONE[key].stage
            shares[stage] = shares.get(stage, 0.0) + value
        return sorted(shares, key=lambda stage: -shares[stage])


class AskedCorpus:
    """One question to a corpus: the evidence of all passages, from which the best are chosen.

    `without` are stages that are switched off.
    """

    def __init__(
        self,
        corpus: Corpus,
        model: StaticModel,
        question: str,
        terms: Sequence[str],
        sources: Sources,
        *,
        without: Collection[Stage] = (),
    ) -> None:
        self._corpus, self._model = corpus, model
        self._question, self._sources, self._without = question, sources, without
        self._lowered = _WORD.findall(question.lower())
        self._terms = [each for each in terms if each.lower() not in LITTLE_WORDS] or list(terms)
        self._actors = self._named_actors()
        self._bare = self._without_actors()
        self._seed_likeness: Floats | None = None
        self._certain = np.zeros(len(corpus), np.float32)
        """The certainty of the question's vector, for each passage: the length of the vector."""
        self._favour = np.ones(len(corpus), np.float32)
        """The weight of the model that the evidence of meaning is from, for each passage."""
        if corpus.count:
            self._gather()

    def _gather(self) -> None:
        """The evidence on all passages, and the links from those that fit best."""
        corpus = self._corpus
        self._matched, self._shares = self._words()
        matched, shares = self._matched, self._shares
        words = _weighted(shares, matched)
        meaning = self._meaning()
        named, unique = self._named()
        actor = self._actor()
        episode = self._episode(matched, shares)
        favour = words + words.max(initial=0) * (0.2 * episode + 0.5 * (actor > 0) * (words > 0))
        # Meaning decides where words and names leave the question open.
        said = self._said(words, named)
        first = favour + OPEN_MEANING * (1 - said) * meaning + NAMED * named
        first[~corpus.alive] = -1
        self._seeds, self._strength = self._best_of_kinds(first)
        self._linked, self._shared = links, shared = self._follow()
        self._by_link, self._by_shared = (self._together(each) for each in (links, shared))
        linked = links.best(len(corpus), self._by_link)
        joined = shared.best(len(corpus), self._by_shared)
        self._reach = first + 1.6 * np.maximum(linked, 0.5 * joined)
        self._open = self._certain * (1 - said / SAID_MAX)
        self._whole = {
            "words": words,
            "meaning": meaning,
            "open_meaning": self._open * meaning,
            "named": unique,
            "actor": actor,
            "episode": episode,
        }

    def _said(self, words: Floats, named: Floats) -> Floats:
        """The share of the question that the words and names of passages have, for each kind."""
        said = np.full(len(words), SAID_MAX, np.float32)
        for mask in () if "words" in self._without else self._kinds():
            most = max(float(words[mask].max(initial=0)), float(named[mask].max(initial=0)))
            said[mask] = min(most, SAID_MAX)
        return said

    def _kinds(self) -> list[NDArray[np.bool_]]:
        """The passages of each kind that there is: symbols must not speak for notes."""
        is_code = self._corpus.is_code
        return [mask for mask in (~is_code, is_code) if mask.any()]

    def _best_of_kinds(self, first: Floats) -> tuple[Positions, Floats]:
        """The passages that links are followed from, and the strength of each passage as one.

        Notes and code are weighed apart: names of symbols would take all places otherwise.
        """
        seeds = [np.zeros(0, np.int64)]
        strength = np.zeros(len(first), np.float32)
        for mask in self._kinds():
            places = np.flatnonzero(mask)
            count = CODE_SEEDS if self._corpus.is_code[places[0]] else SEEDS
            best = places[_best(first[places], count)]
            best = best[first[best] >= 0]
            seeds.append(best)
            most = max(float(first[best[:1]].max(initial=0)), STRONG)
            strength[places] = np.clip(first[places] / most, 0, 1)
        return np.concatenate(seeds), strength

    def found(self, allowed: NDArray[np.bool_] | None, limit: int) -> list[PassageEvidence]:
        """Passages that fit, best first; those among them that are `allowed`."""
        if not self._corpus.count:
            return []
        chosen = self._candidates(allowed, limit)
        size, seeds, links, shared = len(self._corpus), self._seeds, self._linked, self._shared
        inner, likeness = self._likeness(chosen)
        own = likeness[:, np.searchsorted(inner, chosen)].sum(axis=0)
        both = partial(self._covered, places=inner, likeness=likeness)
        alone = self._strength[chosen] * own
        evidence = {key: values[chosen] for key, values in self._whole.items()}
        evidence |= {
            "pieces": own,
            "link": links.best(size, seeds[links.seed] != links.place)[chosen],
            "link_pieces": np.maximum(links.best(size, both(links))[chosen], alone),
            "shared_pieces": np.maximum(shared.best(size, both(shared))[chosen], alone),
            "shared_new": shared.best(size, self._added(shared))[chosen],
            "time": self._time(chosen),
            "date": self._dates(chosen),
            "answer": self._answer()[chosen],
        }
        return self._scored(chosen, evidence, limit)

    def _candidates(self, allowed: NDArray[np.bool_] | None, limit: int) -> Positions:
        """The passages that are compared with the question piece by piece."""
        alive = self._corpus.alive
        places = np.flatnonzero(alive if allowed is None else allowed & alive)
        chosen = _best(self._reach[places], max(limit, CANDIDATES))
        if self._open[places].max(initial=0) > 0:
            near = _best(self._whole["meaning"][places], max(limit, CANDIDATES // 2))
            chosen = np.union1d(chosen, near)
        return np.sort(places[chosen])

    def _likeness(self, chosen: Positions) -> tuple[Positions, Floats]:
        """Seeds and other passages, in order, with the likeness of each to each word asked for."""
        if self._seed_likeness is None:
            self._seed_likeness = self._pieces(self._seeds)
        others = np.setdiff1d(chosen, self._seeds)
        places = np.concatenate((self._seeds, others))
        likeness = np.concatenate((self._seed_likeness, self._pieces(others)), axis=1)
        order = np.argsort(places)
        return places[order], likeness[:, order]

    # Stages.

    def _words(self) -> tuple[Floats, Floats]:
        """The match of each passage with each term, from 0 to 1, and the share of each term."""
        corpus = self._corpus
        if "words" in self._without or not self._terms:
            return np.zeros((0, len(corpus)), np.float32), np.zeros(0, np.float32)
        scores = np.zeros((len(self._terms), len(corpus)), np.float32)
        peaks = np.zeros(len(self._terms), np.float32)
        common = max(COMMON_MIN, min(corpus.count // 20, COMMON_MAX))
        bound = common if len(self._terms) > LOOKUP_TERMS_MAX else len(corpus) + COMMON_MAX
        missing = float(np.log(2 * corpus.count + 1))
        for at, term in enumerate(self._terms):
            rows = self._sources.term_scores(term, bound)
            if rows is None:
                peaks[at] = 1e-3
            elif rows:
                table = np.array(rows, np.float64)
                places = corpus.places(table[:, 0].astype(np.int64))
                scores[at, places[places >= 0]] = table[places >= 0, 1]
                peaks[at] = scores[at].max()
            if not peaks[at]:
                peaks[at] = missing
        if corpus.has_episodes:
            before, after = corpus.beside(scores)
            scores = np.minimum(scores + 0.5 * np.maximum(before, after), peaks[:, None])
        scores /= peaks[:, None]
        return scores, peaks / peaks.sum()

    def _meaning(self) -> Floats:
        """The evidence of the cosine of each passage, with its neighbours in an episode."""
        corpus = self._corpus
        if "meaning" in self._without:
            return np.zeros(len(corpus), np.float32)
        vector = self._sources.embed(self._bare)
        self._certain[:] = min(float(np.linalg.norm(vector)), 1.0)
        own = corpus.similarities(vector)
        if corpus.has_episodes:
            before, after = corpus.beside(own)
            neighbours = (corpus.previous >= 0).astype(np.float32) + (corpus.next >= 0)
            # The length of a vector with half of each neighbour's added, as it is on average.
            own = (own + 0.5 * before + 0.5 * after) / np.sqrt(1 + 0.6 * neighbours)
        evidence = self._sources.calibration.evidence(own)
        places, values = self._sources.note_meaning(self._bare)
        evidence[places] = NOTE_FAVOUR * values
        self._favour[places], self._certain[places] = NOTE_FAVOUR, 1.0
        return evidence

    def _named(self) -> tuple[Floats, Floats]:
        """The weight of a name in the question, for each passage; and where it has one bearer."""
        corpus = self._corpus
        named, unique = (np.zeros(len(corpus), np.float32) for _ in range(2))
        if "named" not in self._without:
            pieces = np.array(self._model.token_ids(self._question), np.uint16)
            hashes = np.unique(corpus.names.mentioned(pieces, np.array([len(pieces)]))[1])
            which, places = corpus.called(hashes)
            bearers = np.bincount(which, minlength=len(hashes))
            weights = rarity(corpus, corpus.mention_counts(hashes))
            np.maximum.at(named, places, weights[which])
            alone = bearers[which] == 1
            unique[places[alone]] = named[places[alone]]
        return named, unique

    def _actor(self) -> Floats:
        actors = self._corpus.actors
        if len(self._actors) != 1 or "actor" in self._without:
            return np.zeros(len(actors), np.float32)
        return np.where(actors < 0, 0, np.where(actors == self._actors[0], 1, -1)).astype(
            np.float32
        )

    def _episode(self, matched: Floats, shares: Floats) -> Floats:
        """The share of the question's words that the episode of each passage has."""
        corpus = self._corpus
        if not corpus.has_episodes or "episode" in self._without or not len(shares):
            return np.zeros(len(corpus), np.float32)
        within = np.flatnonzero(corpus.episodes >= 0)
        best = np.zeros((len(shares), int(corpus.episodes.max()) + 1), np.float32)
        for row, scores in zip(best, matched, strict=True):
            np.maximum.at(row, corpus.episodes[within], scores[within])
        episode = np.zeros(len(corpus), np.float32)
        episode[within] = _weighted(shares, best)[corpus.episodes[within]]
        return episode

    def _time(self, places: Positions) -> Floats:
        asks = "time" not in self._without and _WHEN.search(self._question.lower().strip())
        return ((self._corpus.flags[places] & TIMED) > 0).astype(np.float32) * bool(asks)

    def _dates(self, places: Positions) -> Floats:
        """The share of the parts of a date in the question that the date of a passage has."""
        dates = self._corpus.dates[places]
        years = {int(word) for word in self._lowered if _YEAR.fullmatch(word)}
        months = {MONTHS.index(word) + 1 for word in self._lowered if word in MONTHS}
        days = {
            int(word)
            for word in self._lowered
            if word.isascii() and word.isdigit() and len(word) < 3
        }
        parts = [(years, dates // 10_000), (months, dates // 100 % 100)]
        parts += [(days, dates % 100)] if months else []
        asked = [(wanted, values) for wanted, values in parts if wanted]
        if not asked or "time" in self._without:
            return np.zeros(len(dates), np.float32)
        fits = [np.isin(values, list(wanted)) & (dates > 0) for wanted, values in asked]
        share: Floats = np.mean(fits, axis=0, dtype=np.float32)
        return share

    def _answer(self) -> Floats:
        corpus = self._corpus
        if not corpus.has_episodes or "answer" in self._without:
            return np.zeros(len(corpus), np.float32)
        asks = ((corpus.flags & ASKS) > 0).astype(np.float32)
        return corpus.beside(asks)[0] - asks

    def _pieces(self, places: Positions) -> Floats:
        """The likeness of each word of the question to the nearest of some passages, weighted.

        The sum over the words is from 0 to 1. A word in a script that the model does not know has
        no pieces, and is there or is not.
        """
        if "pieces" in self._without:
            return np.zeros((0, len(places)), np.float32)
        matched = self._matched
        words = [word for word in _WORD.findall(self._bare.lower()) if word not in LITTLE_WORDS]
        spelt = [each for word in dict.fromkeys(words) if (each := self._model.token_ids(word))]
        other = [at for at in range(len(matched)) if not self._model.token_ids(self._terms[at])]
        likeness, weights = self._nearest_pieces(places, spelt)
        likeness = np.concatenate((likeness, matched[other][:, places]))
        weights = np.append(weights, np.full(len(other), UNKNOWN_WEIGHT, np.float32))
        weighted: Floats = likeness * (weights / max(weights.sum(), 1e-9))[:, None]
        return weighted

    def _nearest_pieces(
        self, places: Positions, spelt: Sequence[Sequence[int]]
    ) -> tuple[Floats, Floats]:
        """The likeness of words, as their pieces, to the nearest of each passage; their weights."""
        if not spelt or not len(places):
            return np.zeros((len(spelt), len(places)), np.float32), np.ones(len(spelt), np.float32)
        asked = [piece for word in spelt for piece in word]
        texts = self._sources.pieces(self._corpus.numbers[places].tolist())
        texts = [text if len(text) else np.zeros(1, np.uint16) for text in texts]
        starts = np.cumsum([0, *map(len, texts[:-1])])
        row = np.concatenate(texts)
        is_there = np.zeros(len(self._model.pieces), bool)
        is_there[row] = True
        near = self._model.likeness(np.flatnonzero(is_there), asked)
        near = near.take((np.cumsum(is_there) - 1)[row], axis=0)
        near = np.maximum(np.maximum.reduceat(near, starts, axis=0), 0).T
        # A word is as near as the farthest of its pieces: parts of rare words are common.
        first = np.cumsum([0, *map(len, spelt[:-1])])
        weights = np.add.reduceat(self._model.token_weights(asked), first)
        return np.minimum.reduceat(near, first, axis=0), weights

    # Links.

    def _follow(self) -> tuple[Ways, Ways]:
        """Ways to what seeds mention or are joined with, and to what mentions the same."""
        seeds, strength = self._seeds, self._strength[self._seeds]
        links, shared = no_ways(), no_ways()
        if not {"link", "shared"} <= set(self._without):
            links, shared = ways_by_mentions(self._corpus, seeds, strength)
        if "link" in self._without:
            links = no_ways()
        else:
            edges = self._sources.edges(self._corpus.numbers[seeds].tolist())
            links = links.joined(ways_by_edges(self._corpus, seeds, strength, edges))
        shared = no_ways() if "shared" in self._without else shared
        return links.with_loops(seeds, strength), shared.with_loops(seeds, strength)

    def _together(self, links: Ways) -> Floats:
        """The share of the question's words in the two ends of each link together."""
        matched = self._matched
        both = np.maximum(matched[:, self._seeds[links.seed]], matched[:, links.place])
        return _weighted(self._shares, both)

    def _added(self, links: Ways) -> Floats:
        """The share of the question's words that the far end of each link adds to the seed."""
        matched = self._matched
        new = np.maximum(matched[:, links.place] - matched[:, self._seeds[links.seed]], 0)
        return _weighted(self._shares, new)

    def _covered(self, links: Ways, places: Positions, likeness: Floats) -> Floats:
        """The share of the question's pieces in both ends together; 0 for links to other places."""
        inside = np.flatnonzero(np.isin(links.place, places))
        covered = np.zeros(len(links.place), np.float32)
        near = np.searchsorted(places, self._seeds[links.seed[inside]])
        far = np.searchsorted(places, links.place[inside])
        covered[inside] = np.maximum(likeness[:, near], likeness[:, far]).sum(axis=0)
        return covered

    # Scores.

    def _scored(
        self,
        places: Positions,
        evidence: dict[str, Floats],
        limit: int,
    ) -> list[PassageEvidence]:
        corpus = self._corpus
        titled = corpus.titled[places]
        parts = {
            key: evidence[key] * np.where(titled, weight.titled, weight.turn)
            for key, weight in WEIGHTS.items()
            if weight.stage not in self._without
        }
        total = np.sum(list(parts.values()), axis=0)
        openness, favour, factors = self._open, self._favour, self._lowered_read(places)
        scores = score(total, titled, openness[places], favour[places], factors, self._without)
        fits = (scores >= SCORE_MIN) & self._fits(evidence)
        order = np.lexsort((corpus.numbers[places], -scores))
        order = order[fits[order]][:limit]
        vias, strongest = self._origins(places[order])
        return [
            PassageEvidence(
                int(corpus.numbers[places[at]]),
                float(scores[at]),
                {key: float(part[at]) for key, part in parts.items() if part[at] > 0},
                vias.get(int(places[at])),
                strongest.get(int(places[at])),
            )
            for at in order.tolist()
        ]

    def _origins(
        self, places: Positions
    ) -> tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]]]:
        """For passages, the beginnings of the best way to each and of the strongest one."""
        vias: dict[int, tuple[int, int]] = {}
        strongest: dict[int, tuple[int, int]] = {}
        links, shared = self._linked, self._shared
        for each, covered in ((links, self._by_link), (shared, self._by_shared)):
            vias |= self._begins(places, each, covered)
        for each in (shared, links):
            strongest |= self._begins(places, each, self._seeds[each.seed] != each.place)
        return vias, strongest

    def _lowered_read(self, places: Positions) -> Floats:
        """A factor for the evidence of each passage: less than 1 for sections of documents.

        The more of them there are beside each note that somebody wrote, the likelier one of them
        fits by chance.
        """
        corpus = self._corpus
        read, written = corpus.read_count, corpus.written_count
        crowd = max(0.0, np.log((1 + read) / (1 + written)))
        factors: Floats = np.where(
            corpus.flags[places] & READ, 1 / (1 + READ_CROWD * crowd), 1
        ).astype(np.float32)
        return factors

    def _fits(self, evidence: dict[str, Floats]) -> NDArray[np.bool_]:
        """True for what a look-up may find; other questions leave that to the score."""
        if "words" in self._without or len(self._terms) > LOOKUP_TERMS_MAX:
            return np.ones(len(evidence["meaning"]), bool)
        fits: NDArray[np.bool_] = (
            (evidence["words"] > 0)
            | (evidence["named"] > 0)
            | (evidence["meaning"] >= LOOKUP_MEANING_MIN)
        )
        return fits

    def _begins(
        self, places: Positions, ways: Ways, covered: Floats | NDArray[np.bool_]
    ) -> dict[int, tuple[int, int]]:
        """For each of some passages that ways lead to: where the best begins, and its predicate.

        A passage that covers the question better by itself is left out.
        """
        inside = np.flatnonzero(np.isin(ways.place, places))
        order = inside[np.argsort((ways.weight * covered)[inside], kind="stable")]
        best = dict(zip(ways.place[order].tolist(), order.tolist(), strict=True))
        begins = self._seeds[ways.seed]
        return {
            place: (int(self._corpus.numbers[begins[at]]), int(ways.predicate[at]))
            for place, at in best.items()
            if begins[at] != place
        }

    # The question.

    def _named_actors(self) -> list[int]:
        """The actors whose names are in the question."""
        text = f" {' '.join(self._lowered)} "
        return [
            number
            for name, number in self._corpus.actor_names.items()
            if (words := " ".join(_WORD.findall(name.lower()))) and f" {words} " in text
        ]

    def _without_actors(self) -> str:
        """The question without the names of actors, which say nothing about the subject."""
        if not self._actors:
            return self._question
        names = {
            word
            for name, number in self._corpus.actor_names.items()
            if number in self._actors
            for word in _WORD.findall(name.lower())
        }
        kept = [
            word for word in self._question.split() if _OWNER.sub("", word.lower()) not in names
        ]
        return " ".join(kept) or self._question


def _weighted(shares: Floats, values: Floats) -> Floats:
    """The sum of rows of values, each by its share.

    einsum rather than BLAS, some of whose kernels raise the flag of an invalid value for finite
    numbers, which numpy turns into a warning.
    """
    total: Floats = np.einsum("i,ij->j", shares, values)
    return total


def _best(values: Floats, count: int) -> Positions:
    """The positions of the greatest values, greatest first; ties in order of position."""
    places = np.arange(len(values))
    if SAMPLED * count < len(values):
        # A bound from a sample leaves few values to choose from.
        sample = values[::SAMPLED]
        rank = min(2 * count // SAMPLED + SAMPLED, len(sample))
        bound = np.partition(sample, len(sample) - rank)[len(sample) - rank]
        above = np.flatnonzero(values >= bound)
        places = above if len(above) >= count else places
    if count < len(places):
        some = values[places]
        least = np.partition(some, len(some) - count)[len(some) - count]
        places = places[some >= least]
    return places[np.argsort(-values[places], kind="stable")][:count]
