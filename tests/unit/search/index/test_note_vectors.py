"""Notes and sections are found by the sentence model where it is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Timer
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mycel
from mycel.embedding import sentence_model
from mycel.embedding.sentence_model import SentenceModel, installed_model
from mycel.embedding.static import shipped_model
from mycel.errors import EmbedderFailed
from mycel.knowledge.bootstrap import bootstrap
from mycel.model.elements import Concept
from mycel.search.index import note_vectors, passage_index

QUESTION = "aubergine"


class OneIdea:
    """A sentence model to which "aubergine" and "kettle" are the same, and all else is another."""

    name = "one-idea"
    dimensions = 384

    def __init__(self) -> None:
        self.read = 0
        self.is_broken = False
        self.may_read = Event()
        self.may_read.set()
        self.is_asked = Event()
        self._same = {shipped_model().token_ids(word)[0] for word in ("aubergine", "kettle")}

    def embed_pieces(self, texts: Sequence[NDArray[np.integer]]) -> NDArray[np.float32]:
        if self.is_broken:
            raise EmbedderFailed("The sentence model broke.")
        self.is_asked.set()
        assert self.may_read.wait(30)
        self.read += len(texts)
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for vector, pieces in zip(vectors, texts, strict=True):
            vector[0 if self._same.isdisjoint(pieces.tolist()) else 1] = 1
        return vectors


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[OneIdea]:
    made = OneIdea()
    monkeypatch.setattr(passage_index, "installed_model", lambda: made)
    yield made
    made.may_read.set()


def knowledge(path: Path | None = None) -> mycel.Knowledge:
    return mycel.Knowledge(mycel.open(path) if path else mycel.open(), workspace="shop")


def remember(known: mycel.Knowledge, texts: Sequence[str]) -> None:
    for at, text in enumerate(texts):
        known.add(f"notes/n{at}", name=f"Remark {at}", content=text)


def first(known: mycel.Knowledge) -> str:
    return known.search(QUESTION, limit=1)[0].uri


def test_a_note_is_found_by_the_sentence_model_alone(model: OneIdea) -> None:
    known = knowledge()
    remember(known, ["The bridge is closed.", "The kettle is broken.", "The tram is late."])
    assert first(known) == "concept://shop/notes/n1"
    assert model.read == 4


@pytest.mark.parametrize(("likeness", "fits"), [(0.2, False), (0.5, True)])
def test_a_word_finds_only_notes_that_are_like_it(
    likeness: float, fits: bool, model: OneIdea, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = shipped_model().token_ids(QUESTION)

    def embed_pieces(texts: Sequence[NDArray[np.integer]]) -> NDArray[np.float32]:
        rows = [(1, 0) if pieces.tolist() == asked else (likeness, 1) for pieces in texts]
        vectors = np.zeros((len(texts), model.dimensions), np.float32)
        vectors[:, :2] = np.array(rows) / np.linalg.norm(rows, axis=1)[:, None]
        return vectors

    monkeypatch.setattr(model, "embed_pieces", embed_pieces)
    known = knowledge()
    remember(known, ["The bridge is closed."])
    assert bool(known.search(QUESTION)) is fits


def test_a_name_without_a_word_is_not_read(model: OneIdea, monkeypatch: pytest.MonkeyPatch) -> None:
    def embed_pieces(texts: Sequence[NDArray[np.integer]]) -> NDArray[np.float32]:
        return np.eye(1, model.dimensions, dtype=np.float32).repeat(len(texts), axis=0)

    monkeypatch.setattr(model, "embed_pieces", embed_pieces)
    known = knowledge()
    with known.db.transaction() as tx:
        tx.define_type("Letter")
        for name in ("c", "see"):
            tx.put_concept("Letter", name)
    hits = known.db.search(QUESTION, type="Letter")
    assert [element.name for element, _ in hits if isinstance(element, Concept)] == ["see"]


def test_a_changed_note_is_read_again_and_nothing_else(model: OneIdea) -> None:
    known = knowledge()
    remember(known, ["The bridge is closed.", "The kettle is broken."])
    first(known)
    read = model.read
    known.update("notes/n0", content="A kettle at last.")
    known.update("notes/n1", content="The bridge is open.")
    assert first(known) == "concept://shop/notes/n0"
    assert model.read == read + 3


def test_vectors_are_stored_for_the_next_process(model: OneIdea, tmp_path: Path) -> None:
    known = knowledge(tmp_path / "shop.db")
    remember(known, ["The bridge is closed.", "The kettle is broken."])
    first(known)
    known.db.close()
    read = model.read
    assert first(knowledge(tmp_path / "shop.db")) == "concept://shop/notes/n1"
    assert model.read == read + 1


def test_symbols_are_left_to_the_static_model(model: OneIdea, tmp_path: Path) -> None:
    (tmp_path / "kettle.py").write_text("def boil_the_kettle():\n    pass\n")
    known = mycel.Knowledge(mycel.open(), workspace="shop", root=tmp_path)
    bootstrap(known)
    assert known.search(QUESTION) == []
    assert known.search("boil_the_kettle")
    assert model.read == 0


def test_a_model_that_fails_leaves_the_answer_to_the_static_model(model: OneIdea) -> None:
    known = knowledge()
    remember(known, ["The bridge is closed.", "The aubergine is purple."])
    model.is_broken = True
    with pytest.warns(RuntimeWarning, match="The sentence model broke"):
        assert first(known) == "concept://shop/notes/n1"


def test_many_notes_are_read_while_searches_answer(model: OneIdea) -> None:
    known = knowledge()
    remember(known, ["The kettle is broken.", *("It rains.",) * (note_vectors.AT_ONCE_MAX + 4)])
    model.may_read.clear()
    with pytest.warns(RuntimeWarning, match="21 notes and sections still to read.* embed rebuild"):
        known.search(QUESTION)
    model.may_read.set()
    known.db.embeddings.complete()
    assert first(known) == "concept://shop/notes/n0"


def test_searches_answer_while_all_notes_are_being_read(model: OneIdea) -> None:
    known = knowledge()
    remember(known, ["The kettle is broken.", *("It rains.",) * (note_vectors.AT_ONCE_MAX + 4)])
    model.may_read.clear()
    reports: list[tuple[int, int]] = []
    with ThreadPoolExecutor() as threads:
        try:
            completion = threads.submit(
                known.db.embeddings.complete, report=lambda *numbers: reports.append(numbers)
            )
            assert model.is_asked.wait(10)
            with pytest.warns(RuntimeWarning, match="still to read"):
                threads.submit(known.search, QUESTION).result(10)
            # The model is reading the former text of the first note.
            known.update("notes/n0", content="The bridge is closed.")
            known.update("notes/n1", content="A kettle at last.")
            with pytest.warns(RuntimeWarning, match="still to read"):
                threads.submit(known.search, QUESTION).result(10)
        finally:
            model.may_read.set()
        completion.result(10)
    assert reports[-1][0] == reports[-1][1]
    assert first(known) == "concept://shop/notes/n1"


def test_progress_ends_with_all_although_another_thread_has_made_the_last_vectors(
    model: OneIdea, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = knowledge()
    remember(known, ["It rains."] * (note_vectors.AT_ONCE_MAX + 4))
    make_portion = note_vectors.NoteVectors._make_portion

    def leave_last_to_another(self: note_vectors.NoteVectors, *, sections: bool) -> int:
        made = make_portion(self, sections=sections)
        return made if made == note_vectors.AT_ONCE_MAX else make_portion(self, sections=sections)

    monkeypatch.setattr(note_vectors.NoteVectors, "_make_portion", leave_last_to_another)
    reports: list[tuple[int, int]] = []
    known.db.embeddings.complete(report=lambda *numbers: reports.append(numbers))
    assert reports[-1][0] == reports[-1][1]


def test_a_graph_closes_while_notes_are_being_read(model: OneIdea, tmp_path: Path) -> None:
    known = knowledge(tmp_path / "shop.db")
    remember(known, ["The kettle is broken."] * 40)
    model.may_read.clear()
    with pytest.warns(RuntimeWarning, match="still to read"):
        known.search(QUESTION)
    Timer(0.1, model.may_read.set).start()
    known.db.close()
    read = model.read
    assert read < 40
    knowledge(tmp_path / "shop.db").db.embeddings.complete()
    assert read <= model.read <= 40 + note_vectors.AT_ONCE_MAX


def test_a_file_with_other_weights_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for content in (None, b"something else"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(EmbedderFailed, match=r"cannot be read|is not the one"):
            SentenceModel(path).embed_pieces([np.array([10, 11])])


def test_the_package_is_found_without_loading_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / sentence_model.PACKAGE
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemError")
    monkeypatch.syspath_prepend(tmp_path)
    installed_model.cache_clear()
    try:
        assert installed_model() is not None
        monkeypatch.setattr(sentence_model, "PACKAGE", "no_such_package_anywhere")
        installed_model.cache_clear()
        assert installed_model() is None
    finally:
        installed_model.cache_clear()


def test_the_real_model_finds_notes_in_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    if installed_model() is None:
        pytest.skip("The extra `notes` is not installed.")
    monkeypatch.setattr(passage_index, "installed_model", installed_model)
    known = knowledge()
    remember(
        known,
        [
            "The checkout keeps sessions in Redis for fifteen minutes.",
            "Feature flags older than six months are removed by a bot.",
            "The printer on level four jams when paper is damp.",
        ],
    )
    questions = (
        "how long does a login survive?",
        "what happens to outdated switches for functionality?",
        "trouble with the copying device in humid weather",
    )
    hits: list[Any] = [known.search(each, limit=1)[0].uri for each in questions]
    assert hits == [f"concept://shop/notes/n{at}" for at in range(3)]
