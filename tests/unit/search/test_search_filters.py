"""Filters of a search: the same in every mode, applied before the limit."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any, get_args

import pytest

import mycel
from mycel.errors import ConstraintViolation, InvalidSyntax, InvalidValueType, NotFound
from mycel.search.modes import SearchMode
from tests.prepared import NEW

MODES: tuple[SearchMode, ...] = get_args(SearchMode)


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    """Forty notes about the harbour in one folder, and three in another."""
    with NEW.opened() as db:
        with db.transaction(actor="ines") as tx:
            tx.define_type("Note")
            tx.define_predicate("follows")
            for number in range(40):
                tx.put_concept(
                    "Note",
                    f"concept://port/log/{number}",
                    {"text": "harbour harbour harbour ships and cranes"},
                    {"source": "log", "checked": True, "pages": 1},
                )
            tx.put_concept("Note", "concept://port/logbook", {"text": "harbour"})
        with db.transaction(actor="omar") as tx:
            shelf = [
                tx.put_concept(
                    "Note",
                    f"concept://port/shelf#{number}",
                    {"text": f"A harbour and many other things, number {number}, put on a shelf."},
                    {"source": ["shelf", "hearsay"], "checked": False, "pages": number},
                )
                for number in range(3)
            ]
            for one, other in pairwise(shelf):
                tx.put_proposition(one, "follows", other, metadata={"source": "shelf"})
        yield db


def found(db: mycel.Graph, question: str = "harbour", **options: Any) -> list[str]:
    return [element.name for element, _ in db.search(question, element="CONCEPT", **options)]


SHELF = [f"concept://port/shelf#{number}" for number in range(3)]


def test_what_passes_a_filter_fills_the_limit_though_others_fit_better(db: mycel.Graph) -> None:
    filters: list[dict[str, Any]] = [
        {"path": "concept://port/shelf"},
        {"actor": "omar"},
        {"metadata": {"source": "shelf"}},
        {"metadata": {"checked": False}},
        {"path": "concept://port", "actor": "omar", "metadata": {"source": "hearsay"}},
    ]
    for mode in MODES:
        assert not set(SHELF) & set(found(db, mode=mode, limit=3)), mode
        for each in filters:
            assert sorted(found(db, mode=mode, limit=3, **each)) == SHELF, (mode, each)
            assert len(found(db, mode=mode, limit=2, **each)) == 2, (mode, each)


def test_a_path_covers_what_is_below_it_and_not_what_only_begins_alike(db: mycel.Graph) -> None:
    for mode in MODES:
        below = found(db, mode=mode, limit=100, path="concept://port/log")
        assert len(below) == 40, mode
        assert "concept://port/logbook" not in below, mode
        assert found(db, mode=mode, path="concept://port/shelf#1") == SHELF[1:2], mode
        assert len(found(db, mode=mode, limit=100, path="kip:Note/concept://port/log")) == 40, mode
        number = db.get(("Note", SHELF[2])).id
        assert found(db, mode=mode, path=number) == SHELF[2:], mode


def test_a_time_is_that_of_the_last_writing_from_since_until_before_until(db: mycel.Graph) -> None:
    first, last = (db.get(("Note", name)).updated_at for name in ("concept://port/log/0", SHELF[0]))
    assert first < last
    for mode in MODES:
        assert sorted(found(db, mode=mode, since=last)) == SHELF, mode
        early = found(db, mode=mode, limit=100, since=first, until=last.isoformat())
        assert len(early) == 41, mode
        assert not set(SHELF) & set(early), mode
        assert found(db, mode=mode, until=datetime(2000, 1, 1, tzinfo=UTC)) == [], mode
    with db.transaction(actor="omar") as tx:
        tx.put_concept("Note", "concept://port/log/7", {"text": "A harbour in fog"})
    now = db.get(("Note", "concept://port/log/7")).updated_at
    for mode in MODES:
        assert found(db, mode=mode, since=now) == ["concept://port/log/7"], mode
        assert "concept://port/log/7" in found(db, mode=mode, actor="omar"), mode
        assert "concept://port/log/7" in found(db, mode=mode, limit=100, actor="ines"), mode


def test_metadata_is_compared_by_value_and_kind(db: mycel.Graph) -> None:
    assert len(found(db, limit=100, metadata={"checked": True})) == 40
    assert found(db, metadata={"checked": 1}) == []
    assert found(db, metadata={"checked": "true"}) == []
    assert found(db, metadata={"pages": 2}) == SHELF[2:]
    assert found(db, metadata={"pages": 2.0}) == SHELF[2:]
    assert found(db, metadata={"pages": True}) == []
    assert found(db, metadata={"pages": None}) == []
    assert found(db, metadata={"no \"such' key": "x"}) == []


def test_links_pass_by_their_subjects_their_own_metadata_and_writer(db: mycel.Graph) -> None:
    def links(**filters: Any) -> int:
        return len(db.search("follows", element="PROPOSITION", **filters))

    assert links() == 2
    assert links(path="concept://port/shelf") == 2
    assert links(path=SHELF[1]) == 1
    assert links(path="concept://port/log") == 0
    assert links(metadata={"source": "shelf"}, actor="omar") == 2
    assert links(metadata={"source": "log"}) == 0
    assert links(actor="ines") == 0


def test_what_was_written_a_moment_ago_is_filtered_too(db: mycel.Graph) -> None:
    found(db)
    with db.transaction(actor="lu") as tx:
        tx.put_concept("Note", "concept://port/new", {"text": "harbour"})
    with db.transaction(actor="omar") as tx:
        tx.put_concept("Note", "concept://port/newer", {"text": "harbour"})
    for mode in MODES:
        assert found(db, mode=mode, actor="lu") == ["concept://port/new"], mode


def test_what_has_only_the_frequent_words_is_found_within_a_path(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mycel.store.query.candidates.RANKED_MAX", 5)
    monkeypatch.setattr("mycel.store.query.candidates.SCANNED_MAX", 5)
    question = "harbour logbook cranes"
    assert sorted(found(db, question, mode="keyword", path="concept://port/shelf")) == SHELF


def test_a_filter_that_is_none_is_refused(db: mycel.Graph) -> None:
    wrong: list[tuple[dict[str, Any], type[mycel.MycelError]]] = [
        ({"path": ""}, InvalidValueType),
        ({"path": 7}, InvalidValueType),
        ({"actor": 7}, InvalidValueType),
        ({"since": "yesterday"}, InvalidSyntax),
        ({"since": datetime.min.replace(tzinfo=timezone(timedelta(hours=9)))}, InvalidSyntax),
        ({"until": 7}, InvalidValueType),
        ({"actor": "\ud800"}, InvalidValueType),
        ({"metadata": {"pages": 2**64}}, InvalidValueType),
        ({"metadata": "source"}, InvalidValueType),
        ({"metadata": {"source": ["shelf"]}}, InvalidValueType),
    ]
    for filters, error in wrong:
        with pytest.raises(error):
            db.search("harbour", **filters)


def test_filters_that_nothing_passes_are_told_without_advice_on_spelling(db: mycel.Graph) -> None:
    result = db.execute('SEARCH CONCEPT "harbour" UNTIL "2001-01-01"')
    assert result.value == []
    assert result.warnings == ("Elements fit the question, but not the filters of this SEARCH.",)


def test_an_unknown_kind_is_refused(db: mycel.Graph) -> None:
    with pytest.raises(ConstraintViolation, match="concept"):
        db.search("harbour", element="concept")  # type: ignore[arg-type]


def test_a_search_by_meaning_gives_each_element_once(db: mycel.Graph) -> None:
    names = found(db, mode="semantic", limit=100)
    assert len(names) == len(set(names))


def test_what_is_near_an_element_comes_first_though_others_fit_better(db: mycel.Graph) -> None:
    for mode in MODES:
        near = found(db, mode=mode, limit=10, near=SHELF[0])
        assert near[:3] == SHELF, mode
        assert len(near) == 10, mode
    assert found(db, "concept://port/logbook", near=SHELF[0])[0] == "concept://port/logbook"
    plain, raised = (
        dict(db.search("harbour", element="CONCEPT", path="concept://port/shelf", near=near))
        for near in (None, SHELF[0])
    )
    gained = [raised[each] - plain[each] for each in sorted(plain, key=lambda each: each.name)]
    assert gained[0] > gained[1] > gained[2] > 0
    assert max(raised.values()) <= 1


def test_near_also_prefers_links_and_says_so(db: mycel.Graph) -> None:
    found = db.execute(f'SEARCH PROPOSITION "follows" NEAR "{SHELF[0]}"').value
    assert len(found) == 2
    assert all(f"near {SHELF[0]}" in each["metadata"]["_why"] for each in found)


def test_near_nothing_is_refused(db: mycel.Graph) -> None:
    for near in ("concept://port/nowhere", "C:999998"):
        with pytest.raises(NotFound, match=near):
            db.search("harbour", near=near)
        with pytest.raises(NotFound, match=near):
            db.execute('SEARCH CONCEPT "harbour" NEAR :near', {"near": near}).value  # noqa: B018


def test_a_command_has_all_filters(db: mycel.Graph) -> None:
    command = (
        'SEARCH CONCEPT "harbour" WITH TYPE "Note" MODE :mode UNDER "concept://port" ACTOR "omar"'
        ' SINCE "2000-01-01" UNTIL "9000-01-01" METADATA {source: "hearsay"} LIMIT 3'
    )
    for mode in MODES:
        result = db.execute(command, {"mode": mode})
        assert sorted(hit["name"] for hit in result.value) == SHELF, mode
    result = db.execute('SEARCH CONCEPT "harbour" ACTOR "nobody"')
    assert result.value == []
    assert any("filters" in each for each in result.warnings)


def test_a_note_is_found_by_its_meaning_though_much_code_has_the_words() -> None:
    question = "can a customer be charged twice when the payment is retried?"
    risk = "concept://app/risks/double-billing"
    with NEW.opened() as db:
        with db.transaction() as tx:
            for name in ("Symbol", "Risk"):
                tx.define_type(name)
            doc = "Charge the card of a customer twice if the payment fails, and retry the payment."
            for number in range(300):
                symbol = f"concept://app/src/pay{number}.py/charge_card_{number}"
                tx.put_concept("Symbol", symbol, {"doc": doc, "_bootstrap": {"wrote": "x"}})
            text = (
                "A timed-out request that is sent again makes people pay two times for one thing."
            )
            tx.put_concept("Risk", risk, {"name": "Double billing", "content": text})
        assert found(db, question, type="Risk") == [risk]
        assert found(db, question, type=["Symbol", "Risk"], limit=5)[0] == risk
        assert found(db, question, kind="notes") == [risk]
        assert found(db, question)[0] == risk
        assert len(found(db, question)) == 10
        assert found(db, "charge_card_7")[0].endswith("/charge_card_7")
        assert risk not in found(db, question, kind="code")
        with pytest.raises(ConstraintViolation, match="no kind 'CONCEPT'"):
            db.search(question, kind="CONCEPT")  # type: ignore[arg-type]
