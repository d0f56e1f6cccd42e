"""Warnings about new notes that say what another note says."""

import pytest

from mycel import Knowledge
from mycel.knowledge import similar_notes as similarity
from mycel.knowledge.similar_notes import TimeBudget
from mycel.search.similar_texts import SimilarTexts

LAYERS = (
    "Calling route_layer after fallback wraps the fallback too, so middleware runs for requests"
    " that match no route. Call route_layer first and add the fallback afterwards."
)
AGAIN = (
    "If route_layer is called after fallback, the middleware also runs for unmatched requests."
    " Put route_layer before fallback."
)
OTHER = (
    "The router keeps a second copy of each fallback for CONNECT requests, whose path is empty"
    " and matched by no pattern."
)


@pytest.fixture
def notes(shop: Knowledge) -> Knowledge:
    first = shop.add("notes/layers", name="Order of layers", content=LAYERS, type="Pitfall")
    second = shop.add("notes/connect", name="Copies of fallbacks", content=OTHER)
    assert (first.warnings, second.warnings) == ((), ())
    return shop


def test_a_note_that_repeats_another_is_written_and_says_so(notes: Knowledge) -> None:
    written = notes.add("notes/route-layer", name="route_layer first", content=AGAIN)
    assert written.created
    (warning,) = written.warnings
    assert warning == (
        "concept://shop/notes/route-layer is similar to concept://shop/notes/layers"
        " (Order of layers); update that one instead?"
    )
    # Writing it again, or changing it, is no new note.
    assert notes.remember([{"uri": "notes/route-layer", "content": AGAIN}]).warnings == ()
    assert notes.update("notes/route-layer", append="Seen twice.").warnings == ()


def test_a_short_note_is_compared_with_one_of_the_same_words(notes: Knowledge) -> None:
    assert notes.add("notes/port", content="The server listens on port 8080.").warnings == ()
    (warning,) = notes.add("notes/again", content="Server listens: on port 8080!").warnings
    assert "is similar to concept://shop/notes/port" in warning
    assert notes.add("notes/other", content="The server listens on port 9090.").warnings == ()


def test_a_note_that_is_related_to_the_other_knows_of_it(notes: Knowledge) -> None:
    written = notes.add(
        "notes/new",
        content=AGAIN,
        relations=[{"relation": "supersedes", "target": "notes/layers"}],
    )
    assert written.warnings == ()


def test_short_texts_code_and_other_subjects_are_not_compared(notes: Knowledge) -> None:
    assert notes.add("a", content="route_layer after fallback").warnings == ()
    assert notes.add("b", content=AGAIN, type="Symbol").warnings == ()
    event = notes.add("c", content=AGAIN, type="Event")
    assert not any("similar" in each for each in event.warnings)
    subject = "Invoices are numbered by year and kept for ten years, even those of returned orders."
    assert notes.add("d", content=subject).warnings == ()


def test_a_bulk_write_compares_only_a_few(
    notes: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    closest = SimilarTexts.closest
    monkeypatch.setattr(
        SimilarTexts,
        "closest",
        lambda texts, note: compared.append(note.name) or closest(texts, note),
    )
    # Texts that differ in more than a number, which would be of one template.
    texts = [f"{AGAIN} Heard {'again ' * (n + 1)}" for n in range(500)]
    made = notes.remember([{"uri": f"bulk/{n}", "content": text} for n, text in enumerate(texts)])
    assert (made.created, len(compared)) == (500, similarity.CHECKED_MAX)
    assert len(made.warnings) == similarity.CHECKED_MAX


def test_a_node_under_a_former_uri_of_another_says_so(shop: Knowledge) -> None:
    shop.add("login")
    shop.move("login", "sign-in")
    assert shop.add("login").warnings == (
        "concept://shop/login was the URI of concept://shop/sign-in; update that one instead?",
    )


def test_what_was_written_without_a_search_since_is_compared_too(shop: Knowledge) -> None:
    for number in range(40):
        shop.add(f"n/{number}", content=f"Number {number}.")
    shop.add("notes/layers", content=LAYERS)
    assert len(shop.add("notes/again", content=AGAIN).warnings) == 1


def test_comparisons_take_a_bounded_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(similarity, "monotonic", lambda: now[0])
    budget, spent = TimeBudget(), 0.0
    for _ in range(1_000):
        with budget.spending() as is_affordable:
            if is_affordable:
                now[0] += 0.01
                spent += 0.01
        now[0] += 0.001
    assert spent <= similarity.BURST_S + 0.01 + now[0] * similarity.SHARE
    now[0] += 60
    with budget.spending() as is_affordable:
        assert is_affordable
