"""Search in a file and in PostgreSQL: the same elements, in the same order, with equal scores."""

from __future__ import annotations

import random
from itertools import count, pairwise
from typing import Any

import pytest

import mycel
from mycel.search.modes import MODES
from mycel.store.index import text
from mycel.store.query import candidates
from mycel.store.write.transaction import Transaction
from tests.postgres_server import PostgresServer

WORDS = (
    "harbour", "harbours", "crane", "cranes", "Brücke", "bruecke", "École", "ecole", "departing",
    "departure", "海港", "港口海", "活血", "retry", "retryQueue", "queue", "cart_item", "cartItem",
    "नमस्ते", "x1", "v2.0", "the", "IT", "of", "don't", "a" * 700, "b" * 2999 + "é",
)  # fmt: skip
QUESTIONS = (
    "harbour", "crane harbour", "departures of cranes", "海港", "港", "海港 retry", "नमस्ते",
    "cart item", "cartItem", "retryQueue", "ecole brucke", "dep", "crani", "queue retry harbour x1",
    "the", "a" * 700, "b" * 2999 + "é", "v2", "it", "nothing of this",
)  # fmt: skip


def change(rng: random.Random, tx: Transaction, kinds: tuple[str, ...]) -> None:
    """Some elements more, some changed, some gone."""
    made = []
    for _ in range(rng.randrange(1, 7)):
        kind, name = rng.choice(kinds), f"{rng.choice(WORDS)} {rng.randrange(9)}"[:200]
        old = tx.get_concept(kind, name)
        if old is not None and rng.random() < 0.3:
            tx.retire(old.id, reason="gone")
            continue
        body: dict[str, Any] = {"text": " ".join(rng.choices(WORDS, k=rng.randrange(1, 9)))}
        if rng.random() < 0.2:
            body["aliases"] = [" ".join(rng.choices(WORDS[:12], k=2))]
        made.append(tx.put_concept(kind, name, body, {"by": rng.randrange(3)}))
    for one, other in pairwise(made):
        tx.put_proposition(one, "near", other, {"note": " ".join(rng.choices(WORDS, k=3))})


def graph(place: str, seed: int) -> mycel.Graph:
    """A graph that is the same in each place."""
    rng, ticks = random.Random(seed), count(1_700_000_000_000_000, 1000)
    db = mycel.open(place, clock_us=lambda: next(ticks))
    with db.transaction() as tx:
        for kind in ("Note", "Risk"):
            tx.define_type(kind)
        tx.define_predicate("near")
    for at in range(16):
        db.write(lambda tx: change(rng, tx, ("Note", "Risk")))
        if at == 12:  # What comes after is pending.
            db._store.fold()
    return db


def answers(db: mycel.Graph, questions: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    return [
        (question, how, [(hit.id, round(score, 9)) for hit, score in db.search(question, **how)])
        for question, how in questions
    ]


@pytest.mark.filterwarnings("ignore:A search AS OF the past")
@pytest.mark.parametrize("small", [False, True], ids=["as it is", "with small bounds"])
def test_both_backends_find_the_same_with_the_same_scores(
    postgres_server: PostgresServer, seed: int, monkeypatch: pytest.MonkeyPatch, *, small: bool
) -> None:
    if small:  # What is ranked, scanned and counted is cut off.
        for bound in ("RANKED_MAX", "TITLES_RANKED_MAX", "SCANNED_MAX", "COUNTED_MAX"):
            monkeypatch.setattr(candidates, bound, 5)
    rng = random.Random(seed)
    with graph(":memory:", seed) as one, graph(postgres_server.url(), seed) as other:
        assert one.snapshot() == other.snapshot()
        moment = next(one.history.log(limit=9)).seq
        ways: list[dict[str, Any]] = [
            {"mode": mode, "element": element, "limit": limit}
            for mode in sorted(MODES)
            for element, limit in (("CONCEPT", 40), ("CONCEPT", 3), ("PROPOSITION", 10))
        ]
        filters: list[dict[str, Any]] = [{}, {}, {"metadata": {"by": 1}}, {"as_of": moment}]
        # A few ways for each question: other seeds choose others.
        asked = [
            (question, {**way, **rng.choice(filters)})
            for question in QUESTIONS
            for way in rng.sample(ways, 3)
        ]
        for _ in range(2):  # The second time all is folded.
            found = answers(one, asked)
            assert sum(len(hits) for *_, hits in found) > 200
            assert answers(other, asked) == found
            for db in (one, other):
                db._store.fold()
                with db.reading() as reader:
                    assert text.pending(reader.connection) == set()
        assert other.verify(replay=True).ok
