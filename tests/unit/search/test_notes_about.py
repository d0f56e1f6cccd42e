"""Notes about code that fits a question are ranked higher, whatever the filters are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mycel
from mycel.search import passage_ranking
from tests.prepared import NEW

READ = {"_bootstrap": {"wrote": "by a bootstrap"}}
QUESTION = "why do we merge carts when somebody logs in"


@pytest.fixture
def shop() -> Iterator[mycel.Graph]:
    """Two notes with one text, one of which is about the file of a symbol that fits."""
    with NEW.opened() as db:
        with db.transaction() as tx:
            for name in ("Symbol", "Resource", "Decision"):
                tx.define_type(name)
            tx.define_predicate("about")
            doc = "Merge two carts when somebody logs in."
            tx.put_concept("Symbol", "concept://shop/src/cart.py/merge_carts", READ | {"doc": doc})
            tx.put_concept("Symbol", "concept://shop/src/map.py/draw", READ | {"doc": "Draw it."})
            for file in ("cart", "map"):
                tx.put_concept("Resource", f"file://shop/src/{file}.py", READ)
            text = "Nobody should lose what they chose before."
            for name in ("a", "b"):
                tx.put_concept("Decision", f"concept://shop/notes/{name}", {"content": text})
        db.write(lambda tx: put_about(tx, "a", "map"))
        db.write(lambda tx: put_about(tx, "b", "cart"))
        yield db


def put_about(tx: mycel.Transaction, note: str, file: str) -> None:
    tx.put_proposition(
        ("Decision", f"concept://shop/notes/{note}"),
        "about",
        ("Resource", f"file://shop/src/{file}.py"),
    )


def notes(db: mycel.Graph, **filters: str) -> dict[str, float]:
    hits = db.search(QUESTION, element="CONCEPT", **filters)  # type: ignore[arg-type]
    return {
        element.name[-1]: score
        for element, score in hits
        if getattr(element, "type", "") == "Decision"
    }


def test_a_note_gains_from_code_that_fits_and_hardly_from_other_code(
    shop: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = notes(shop)
    monkeypatch.setattr(passage_ranking, "ABOUT_CODE", 0.0)
    without = notes(shop)
    assert found["b"] > without["b"] + 0.05
    assert found["a"] < without["a"] + 0.02


def test_its_reasons_name_what_it_is_linked_with(shop: mycel.Graph) -> None:
    hits = shop.execute("SEARCH CONCEPT :q", {"q": QUESTION}).value
    why = {hit["name"][-1]: hit["metadata"]["_why"] for hit in hits if hit["type"] == "Decision"}
    assert why["b"][0] == "about cart.py"
    assert not any(reason.startswith("about ") for reason in why["a"])


def test_filters_change_no_score_of_such_a_note(shop: mycel.Graph) -> None:
    score = notes(shop)["b"]
    for filters in ({"type": "Decision"}, {"kind": "notes"}, {"path": "concept://shop/notes"}):
        assert notes(shop, **filters)["b"] == score


def test_a_search_by_meaning_alone_lifts_no_note(shop: mycel.Graph) -> None:
    before = notes(shop, mode="semantic")
    shop.write(lambda tx: put_about(tx, "a", "cart"))
    assert notes(shop, mode="semantic") == before
    assert notes(shop)["a"] > 0.02
