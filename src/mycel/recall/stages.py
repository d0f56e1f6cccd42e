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
from mycel.recall.corpus import ASKS, TIMED, Corpus, Floats, Positions
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
"""Links are followed from so many passages."""
CANDIDATES: Final = 100
RARE_MAX: Final = 10
"""A phrase joins passages if at most so many mention it."""
COMMON_MIN: Final = 500
COMMON_MAX: Final = 1_500
"""A word in more passages than one in 20, and than these bounds, is too common to be looked up."""

OPEN_MEANING: Final = 0.6
NAMED: Final = 0.8
"""The weights of meaning and names in the first order, beside 1 for words. Meaning counts by the
share of the question that no passage has in words, and less if it has a name."""
SAID_MAX: Final = 0.8
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


class Edge(NamedTuple):
    """A link of the graph between two elements."""

    seed: int
    other: int
    predicate: str
    weight: float


class Sources(NamedTuple):
    """Sources of evidence beside the corpus."""

    term_scores: Callable[[str, int], Sequence[tuple[int, float]] | None]
    """BM25 by element of a term; None if it is in more elements than the bound."""
    pieces: Callable[[Sequence[int]], Sequence[NDArray[np.uint16]]]
    """The word pieces of elements."""
    edges: Callable[[Sequence[int]], Sequence[Edge]]
    """Links of the graph around elements."""
    embed: Callable[[str], Floats]
    """The vector of a question."""
    calibration: Calibration
    """The meaning of cosines with that vector."""


class Found(NamedTuple):
    """A passage that fits a question."""

    element: int
    score: float
    evidence: dict[str, float]
    """The contribution of each kind of evidence to the sum."""
    via: tuple[int, str] | None
    """The element that it is linked from, and the predicate; empty for something both mention.

    None if the passage covers the question better by itself.
    """
    linked: tuple[int, str] | None
    """The same of the strongest link to it, even then."""

    @property
    def origin(self) -> tuple[int, str] | None:
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


class _Links(NamedTuple):
    """Ways from seeds to passages."""

    seed: Positions
    """The index of the seed."""
    place: Positions
    weight: Floats
    predicate: list[str]


def ranked(
    corpus: Corpus,
    model: StaticModel,
    question: str,
    terms: Sequence[str],
    sources: Sources,
    *,
    allowed: NDArray[np.bool_] | None = None,
    without: Collection[Stage] = (),
    limit: int = CANDIDATES,
) -> list[Found]:
    """Passages that fit a question, best first; `without` are stages that are switched off."""
    if not len(corpus):
        return []
    asked = _Asked(corpus, model, question, terms, sources, without)
    return asked.found(allowed, limit)


class _Asked:
    """One question, and its evidence on every passage."""

    def __init__(
        self,
        corpus: Corpus,
        model: StaticModel,
        question: str,
        terms: Sequence[str],
        sources: Sources,
        without: Collection[Stage],
    ) -> None:
        self._corpus, self._model = corpus, model
        self._question, self._sources, self._without = question, sources, without
        self._lowered = _WORD.findall(question.lower())
        self._terms = [each for each in terms if each.lower() not in LITTLE_WORDS] or list(terms)
        self._actors = self._named_actors()
        self._bare = self._without_actors()

    def found(self, allowed: NDArray[np.bool_] | None, limit: int) -> list[Found]:
        corpus = self._corpus
        matched, shares = self._words()
        words = shares @ matched if len(shares) else np.zeros(len(corpus), np.float32)
        meaning = self._meaning()
        named, unique = self._named()
        actor = self._actor()
        episode = self._episode(matched, shares)
        favour = words + words.max(initial=0) * (0.2 * episode + 0.5 * (actor > 0) * (words > 0))
        # Meaning decides where words and names leave the question open.
        said = min(max(float(words.max(initial=0)), float(named.max(initial=0))), SAID_MAX)
        first = favour + OPEN_MEANING * (1 - said) * meaning + NAMED * named
        first[~corpus.alive] = -1
        seeds = _best(first, SEEDS)
        strength = np.maximum(first[seeds] / max(first[seeds[0]], STRONG), 0).astype(np.float32)
        links, shared = self._links(seeds, strength)
        by_link, by_shared = (
            self._together(each, seeds, matched, shares) for each in (links, shared)
        )
        linked, joined = self._spread(links, by_link), self._spread(shared, by_shared)
        reach = first + 1.6 * np.maximum(linked, 0.5 * joined)
        if allowed is not None:
            reach[~allowed] = -1
        chosen = _best(reach, max(limit, CANDIDATES))
        chosen = chosen[reach[chosen] >= 0]
        every = np.unique(np.concatenate((seeds, chosen)))
        likeness, pieces = self._pieces(every, matched)
        both = partial(self._covered, seeds=seeds, places=every, likeness=likeness)
        # Each is cut to the chosen passages before the next one takes memory for all of them.
        evidence = {
            "words": words[chosen],
            "meaning": meaning[chosen],
            "named": unique[chosen],
            "link": self._spread(links, seeds[links.seed] != links.place)[chosen],
            "link_pieces": self._spread(links, both(links))[chosen],
            "shared_pieces": self._spread(shared, both(shared))[chosen],
            "shared_new": self._spread(shared, self._added(shared, seeds, matched, shares))[chosen],
            "actor": actor[chosen],
            "episode": episode[chosen],
            "time": self._time(chosen),
            "date": self._dates(chosen),
            "answer": self._answer()[chosen],
            "pieces": pieces[np.searchsorted(every, chosen)],
        }
        ways: dict[int, tuple[int, str]] = {}
        strongest: dict[int, tuple[int, str]] = {}
        for each, covered in ((links, by_link), (shared, by_shared)):
            ways |= self._ways(seeds, chosen, each, covered)
        for each in (shared, links):
            strongest |= self._ways(seeds, chosen, each, seeds[each.seed] != each.place)
        return self._scored(chosen, evidence, ways, strongest, limit)

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
        own = corpus.similarities(self._sources.embed(self._bare))
        if corpus.has_episodes:
            before, after = corpus.beside(own)
            neighbours = (corpus.previous >= 0).astype(np.float32) + (corpus.next >= 0)
            # The length of a vector with half of each neighbour's added, as it is on average.
            own = (own + 0.5 * before + 0.5 * after) / np.sqrt(1 + 0.6 * neighbours)
        return self._sources.calibration.evidence(own)

    def _named(self) -> tuple[Floats, Floats]:
        """The weight of a name in the question, for each passage; and where it has one bearer."""
        corpus = self._corpus
        named, unique = (np.zeros(len(corpus), np.float32) for _ in range(2))
        if "named" not in self._without:
            pieces = np.array(self._model.token_ids(self._question), np.uint16)
            hashes = np.unique(corpus.names.mentioned(pieces, np.array([len(pieces)]))[1])
            which, places = corpus.called(hashes)
            bearers = np.bincount(which, minlength=len(hashes))
            weights = self._rarity(corpus.mention_counts(hashes))
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
        episode[within] = (shares @ best)[corpus.episodes[within]]
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

    def _pieces(self, places: Positions, matched: Floats) -> tuple[Floats, Floats]:
        """The likeness of each word of the question to the nearest of each passage; the sum.

        A word in a script that the model does not know has no pieces, and is there or is not.
        """
        if "pieces" in self._without:
            return np.zeros((0, len(places)), np.float32), np.zeros(len(places), np.float32)
        words = [word for word in _WORD.findall(self._bare.lower()) if word not in LITTLE_WORDS]
        spelt = [each for word in dict.fromkeys(words) if (each := self._model.token_ids(word))]
        other = [at for at in range(len(matched)) if not self._model.token_ids(self._terms[at])]
        likeness, weights = self._nearest_pieces(places, spelt)
        likeness = np.concatenate((likeness, matched[other][:, places]))
        weights = np.append(weights, np.full(len(other), UNKNOWN_WEIGHT, np.float32))
        likeness = likeness * (weights / max(weights.sum(), 1e-9))[:, None]
        return likeness, likeness.sum(axis=0)

    def _nearest_pieces(
        self, places: Positions, spelt: Sequence[Sequence[int]]
    ) -> tuple[Floats, Floats]:
        """The likeness of words, as their pieces, to the nearest of each passage; their weights."""
        if not spelt:
            return np.zeros((0, len(places)), np.float32), np.zeros(0, np.float32)
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

    def _links(self, seeds: Positions, strength: Floats) -> tuple[_Links, _Links]:
        """Links to what seeds mention or are joined with, and to what mentions the same."""
        corpus = self._corpus
        if {"link", "shared"} <= set(self._without):
            return _none(), _none()
        mentions = [corpus.mentions_of(seed) for seed in seeds.tolist()]
        owner = np.repeat(np.arange(len(seeds)), [len(each) for each in mentions])
        hashes = np.concatenate([np.zeros(0, np.uint32), *mentions])
        counts = corpus.mention_counts(hashes)
        rarity = self._rarity(counts)
        which, place = corpus.called(hashes)
        weights = rarity[which] * strength[owner[which]]
        links = _Links(owner[which], place, weights, [""] * len(place))
        rare = np.flatnonzero((counts > 1) & (counts <= RARE_MAX) & corpus.titled[seeds][owner])
        which, place = corpus.mentioning(hashes[rare])
        which = rare[which]
        shared = _Links(
            owner[which], place, rarity[which] * strength[owner[which]], [""] * len(place)
        )
        links = _none() if "link" in self._without else self._with_edges(links, seeds, strength)
        shared = _none() if "shared" in self._without else shared
        return _with_loops(links, seeds, strength), _with_loops(shared, seeds, strength)

    def _with_edges(self, links: _Links, seeds: Positions, strength: Floats) -> _Links:
        numbers = self._corpus.numbers[seeds].tolist()
        edges = self._sources.edges(numbers)
        if not edges:
            return links
        index = {number: at for at, number in enumerate(numbers)}
        seed = np.array([index[each.seed] for each in edges])
        place = self._corpus.places(np.array([each.other for each in edges], np.int64))
        weight = np.array([each.weight for each in edges], np.float32) * strength[seed]
        keep = np.flatnonzero(place >= 0)
        return _Links(
            np.concatenate((links.seed, seed[keep])),
            np.concatenate((links.place, place[keep])),
            np.concatenate((links.weight, weight[keep])),
            links.predicate + [edges[at].predicate for at in keep.tolist()],
        )

    def _together(self, links: _Links, seeds: Positions, matched: Floats, shares: Floats) -> Floats:
        """The share of the question's words in the two ends of each link together."""
        both = np.maximum(matched[:, seeds[links.seed]], matched[:, links.place])
        together: Floats = shares @ both
        return together

    def _added(self, links: _Links, seeds: Positions, matched: Floats, shares: Floats) -> Floats:
        """The share of the question's words that the far end of each link adds to the seed."""
        new = np.maximum(matched[:, links.place] - matched[:, seeds[links.seed]], 0)
        added: Floats = shares @ new
        return added

    def _covered(
        self, links: _Links, seeds: Positions, places: Positions, likeness: Floats
    ) -> Floats:
        """The share of the question's pieces in both ends together; 0 for links to other places."""
        inside = np.flatnonzero(np.isin(links.place, places))
        covered = np.zeros(len(links.place), np.float32)
        near = np.searchsorted(places, seeds[links.seed[inside]])
        far = np.searchsorted(places, links.place[inside])
        covered[inside] = np.maximum(likeness[:, near], likeness[:, far]).sum(axis=0)
        return covered

    def _spread(self, links: _Links, values: Floats | NDArray[np.bool_]) -> Floats:
        """For each passage, the best of the links that lead to it."""
        spread = np.zeros(len(self._corpus), np.float32)
        np.maximum.at(spread, links.place, links.weight * values)
        return spread

    def _rarity(self, counts: Positions) -> Floats:
        """From 0 to 1, the greater the fewer passages mention it."""
        size = self._corpus.count
        rarity: Floats = (np.log1p(size / np.maximum(counts, 1)) / np.log1p(size)).astype(
            np.float32
        )
        return rarity

    # Scores.

    def _scored(
        self,
        places: Positions,
        evidence: dict[str, Floats],
        ways: dict[int, tuple[int, str]],
        strongest: dict[int, tuple[int, str]],
        limit: int,
    ) -> list[Found]:
        corpus = self._corpus
        titled = corpus.titled[places]
        parts = {
            key: evidence[key] * np.where(titled, weight.titled, weight.turn)
            for key, weight in WEIGHTS.items()
            if weight.stage not in self._without
        }
        total = np.sum(list(parts.values()), axis=0)
        scores = score(total, titled, self._without)
        fits = (scores >= SCORE_MIN) & self._fits(evidence)
        order = np.lexsort((corpus.numbers[places], -scores))
        return [
            Found(
                int(corpus.numbers[places[at]]),
                float(scores[at]),
                {key: float(part[at]) for key, part in parts.items() if part[at] > 0},
                ways.get(int(places[at])),
                strongest.get(int(places[at])),
            )
            for at in order[fits[order]][:limit].tolist()
        ]

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

    def _ways(
        self,
        seeds: Positions,
        places: Positions,
        links: _Links,
        covered: Floats | NDArray[np.bool_],
    ) -> dict[int, tuple[int, str]]:
        """For each of some passages that links lead to: where the best begins, and its predicate.

        A passage that covers the question better by itself is left out.
        """
        inside = np.flatnonzero(np.isin(links.place, places))
        order = inside[np.argsort((links.weight * covered)[inside], kind="stable")]
        best = dict(zip(links.place[order].tolist(), order.tolist(), strict=True))
        begins = seeds[links.seed]
        return {
            place: (int(self._corpus.numbers[begins[at]]), links.predicate[at])
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


def _best(values: Floats, count: int) -> Positions:
    """The positions of the greatest values, greatest first; ties in order of position."""
    if count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        places = np.flatnonzero(values >= least)
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")][:count]


def _none() -> _Links:
    nothing = np.zeros(0, np.int64)
    return _Links(nothing, nothing, np.zeros(0, np.float32), [])


def _with_loops(links: _Links, seeds: Positions, strength: Floats) -> _Links:
    """Links with one from each seed to itself, and no other loops.

    So a passage that covers a question alone is worth as much as two that do so together.
    """
    keep = np.flatnonzero(seeds[links.seed] != links.place)
    return _Links(
        np.concatenate((links.seed[keep], np.arange(len(seeds)))),
        np.concatenate((links.place[keep], seeds)),
        np.concatenate((links.weight[keep], strength)),
        [*(links.predicate[at] for at in keep.tolist()), *[""] * len(seeds)],
    )
