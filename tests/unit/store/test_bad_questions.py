"""Questions that make no sense get a clear error, and never one of Python's or SQLite's."""

from typing import Any

import pytest

import mycel
from mycel.errors import MycelError, TypeMismatch
from tests.unit.store.given import FACT, add_concepts, entries


@pytest.fixture
def ends(db: mycel.Graph) -> tuple[str, str]:
    one, other = add_concepts(db, "one", "other")
    return one, other


NO_NAMES: list[Any] = ["\ud800", 5, None, b"one", ["one"], object()]
NO_TYPES: list[Any] = ["\ud800", "Unknown", "", "x" * 10**6, 5, None, b"Fact", ["Fact"], {}]


@pytest.mark.parametrize("name", NO_NAMES, ids=lambda value: type(value).__name__)
def test_a_name_that_no_concept_can_have_is_refused_or_not_there(
    db: mycel.Graph, ends: tuple[str, str], name: Any
) -> None:
    for view in (db, db.as_of(entries(db))):
        try:
            assert view.get_concept(FACT, name) is None
        except MycelError as error:
            assert error.code.startswith("KIP_")  # noqa: PT017 - either answer is a good one
    with pytest.raises(MycelError):
        db.prove((FACT, name))


def test_names_that_are_too_long_are_just_not_there(db: mycel.Graph, ends: tuple[str, str]) -> None:
    assert db.get_concept(FACT, "x" * 10**6) is None
    assert db.get_concept(FACT, "") is None


@pytest.mark.parametrize("type_name", NO_TYPES, ids=lambda value: repr(value)[:20])
def test_a_type_that_is_not_defined_is_refused_everywhere(
    db: mycel.Graph, ends: tuple[str, str], type_name: Any
) -> None:
    named = (
        lambda: db.get_concept(type_name, "one"),
        lambda: db.as_of(entries(db)).get_concept(type_name, "one"),
        lambda: db.write(lambda tx: tx.get_concept(type_name, "one")),
    )
    for ask in (
        *(() if type_name is None else named),  # None is any type.
        lambda: db.find(ends[0], types=[type_name]),
    ):
        with pytest.raises(TypeMismatch) as caught:
            ask()
        assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("predicate", NO_TYPES, ids=lambda value: repr(value)[:20])
def test_a_predicate_that_is_not_defined_is_refused_everywhere(
    db: mycel.Graph, ends: tuple[str, str], predicate: Any
) -> None:
    for ask in (
        lambda: db.get_edge(ends[0], predicate, ends[1]),
        lambda: list(db.edges_out(ends[0], [predicate])),
        lambda: list(db.edges_in(ends[0], [predicate, "references"])),
        lambda: db.find(ends[0], mycel.Follow(types=[predicate])),
        lambda: db.add_edge(ends[0], predicate, ends[1]),
        lambda: db.remove_edge(ends[0], predicate, ends[1]),
        lambda: db.write(lambda tx: tx.get_edge(ends[0], predicate, ends[1])),
    ):
        with pytest.raises(TypeMismatch) as caught:
            ask()
        assert len(str(caught.value)) < 1_000


def test_what_was_never_defined_is_proven_absent_and_no_name_is_refused(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    root = db.snapshot().overall_root
    for name in NO_TYPES:
        for target in ((name, "one"), (ends[0], name, ends[1])):
            if name == "Unknown":
                proof = db.prove(target)
                assert proof.record is None
                assert proof.verify(root)
                continue
            with pytest.raises(MycelError) as caught:
                db.prove(target)
            assert caught.value.code != "KIP_4003", "it is the caller's mistake, not the engine's"
            assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("question", ["", "   ", "\ud800", '"', "*", "a OR", "NEAR(", "x" * 10**6])
def test_any_text_may_be_searched_for(
    db: mycel.Graph, ends: tuple[str, str], question: str
) -> None:
    assert db.search(question) == []


@pytest.mark.parametrize("limit", ["x", None, 1.5, -1])
def test_a_limit_that_is_none_is_refused_by_a_search(
    db: mycel.Graph, ends: tuple[str, str], limit: Any
) -> None:
    with pytest.raises(MycelError) as caught:
        db.search("one", limit=limit)
    assert caught.value.code != "KIP_4003", "it is the caller's mistake, not the engine's"


@pytest.mark.parametrize("options", [{"limit": "x"}, {"before": "x"}, {"limit": 1.5}])
def test_a_page_of_the_log_that_is_none_is_refused(
    db: mycel.Graph, ends: tuple[str, str], options: dict[str, Any]
) -> None:
    with pytest.raises(MycelError) as caught:
        list(db.history.log(**options))
    assert caught.value.code != "KIP_4003", "it is the caller's mistake, not the engine's"
