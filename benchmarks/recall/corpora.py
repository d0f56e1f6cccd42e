"""Graphs to search, the same on every machine, and questions with their answers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

import mycel
from mycel.embedding.static import shipped_model

SEED: Final = 7
CHAINS: Final = 100
"""Questions over two facts that a name joins."""

_NOISE_SUBJECTS: Final = [
    "The committee",
    "The old harbour",
    "A group of volunteers",
    "The city council",
    "Our supplier",
    "The orchestra",
    "The research station",
    "The railway",
    "The bakery",
    "A neighbour",
    "The print shop",
    "The hospital",
]
_NOISE_VERBS: Final = [
    "plans",
    "repairs",
    "describes",
    "measures",
    "rents out",
    "paints",
    "counts",
    "photographs",
    "insures",
    "replaces",
    "studies",
]
_NOISE_OBJECTS: Final = [
    "the northern wall",
    "three wooden boats",
    "a set of maps",
    "the winter schedule",
    "its oldest machines",
    "the garden benches",
    "a collection of stamps",
    "the main road",
    "several paintings",
    "the rainfall",
    "two delivery vans",
    "the membership cards",
    "an outdoor stage",
    "the drinking fountains",
]
_NOISE_TIMES: Final = [
    "every spring",
    "since last year",
    "on behalf of the owners",
    "without much notice",
    "for the festival",
    "in the afternoon",
    "during the holidays",
    "with new tools",
    "before the inspection",
]
_SYLLABLES: Final = [
    "ba",
    "do",
    "ki",
    "lu",
    "mer",
    "nor",
    "pa",
    "ri",
    "sol",
    "tan",
    "ver",
    "zim",
    "gar",
    "hel",
    "fin",
    "ost",
]
_TRADES: Final = [
    "glass",
    "paper",
    "ships",
    "clocks",
    "bricks",
    "pianos",
    "lamps",
    "rope",
    "bicycles",
    "tea",
]


class Asked(NamedTuple):
    """A question, and the names of all concepts that answer it."""

    question: str
    meant: frozenset[str]


def sentence(rng: random.Random) -> str:
    """A sentence that answers no question."""
    parts = (_NOISE_SUBJECTS, _NOISE_VERBS, _NOISE_OBJECTS, _NOISE_TIMES)
    return " ".join(map(rng.choice, parts)) + "."


def documents(db: mycel.Graph, texts: dict[str, str]) -> None:
    """Write texts as concepts, each with its title."""
    with db.transaction() as tx:
        tx.define_type("Document")
        for title, text in texts.items():
            tx.put_concept("Document", title, {"text": text})


def facts() -> tuple[dict[str, str], list[Asked], list[Asked]]:
    """Texts, and questions in the same and in other words.

    Numbers name them, as titles would reveal them.
    """
    lines = Path(__file__).with_name("facts.tsv").read_text("utf-8").splitlines()
    texts, own, others = {}, [], []
    for number, line in enumerate(lines):
        _, text, question, paraphrase = line.split("\t")
        title = f"note {number}"
        texts[title] = text
        own.append(Asked(question, frozenset((title,))))
        others.append(Asked(paraphrase, frozenset((title,))))
    rng = random.Random(SEED)
    texts |= {f"note {number}": sentence(rng) for number in range(len(lines), 10 * len(lines))}
    return texts, own, others


def chains() -> tuple[dict[str, str], list[Asked]]:
    """Firms and their founders: a question about the founder of a firm needs both texts."""
    rng = random.Random(SEED)
    names = _names(rng)
    texts: dict[str, str] = {}
    asked: list[Asked] = []
    for number in range(CHAINS):
        firm, founder, town = f"{next(names)} Works", f"{next(names)} {next(names)}", next(names)
        texts[firm] = f"A maker of {rng.choice(_TRADES)}, founded by {founder}. {sentence(rng)}"
        texts[founder] = f"An inventor who was born in {town} and liked to travel. {sentence(rng)}"
        texts[town] = f"A town with {rng.randrange(2, 90)} thousand people. {sentence(rng)}"
        if number % 2:
            question, meant = f"Where was the founder of {firm} born?", (firm, founder)
        else:
            question, meant = f"Which firm was founded by someone from {town}?", (firm, founder)
        asked.append(Asked(question, frozenset(meant)))
    return texts, asked


def _names(rng: random.Random) -> Iterator[str]:
    seen: set[str] = set()
    while True:
        name = "".join(rng.choices(_SYLLABLES, k=3)).title()
        if name not in seen:
            seen.add(name)
            yield name


def passages(count: int) -> dict[str, str]:
    """Texts of about 500 bytes: words of the shipped model's vocabulary, common ones more often."""
    rng = random.Random(SEED)
    words = [each for each in shipped_model().pieces if each.isalpha() and len(each) > 2]
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))
    names = _names(rng)
    known = [next(names) for _ in range(2000)]
    texts = {}
    for number in range(count):
        said = rng.choices(words, cum_weights=weights, k=80)
        said[40:40] = [rng.choice(known), "and", rng.choice(known)]
        texts[f"{rng.choice(known)} {number}"] = " ".join(said)[:500]
    return texts
