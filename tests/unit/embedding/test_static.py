"""The shipped embedder: what its vectors say, how texts are cut, and files that are damaged."""

import hashlib
import struct

import numpy as np
import pytest

import mycel
from mycel.embedding import static
from mycel.embedding.static import StaticModel, shipped_model
from mycel.errors import InternalError, InvalidValueType


def likeness(first: str, second: str) -> float:
    one, two = shipped_model().embed([first, second])
    return float(one @ two)


def table(words: list[str], rows: list[list[int]], version: int = 1) -> bytes:
    """A small file of weights."""
    vocabulary = "\n".join(words).encode()
    body = struct.pack("<4sHHII", b"MYCV", version, len(rows[0]), len(rows), len(vocabulary))
    body += vocabulary + np.ones(len(rows), "<f2").tobytes() + np.array(rows, "i1").tobytes()
    return body + hashlib.sha256(body).digest()


SMALL = table(
    ["un", "##like", "##ly", "like", "é", "e"], [[1, 0], [0, 1], [1, 1], [2, 0], [0, 3], [3, 3]]
)


def test_texts_that_mean_the_same_are_closer_than_others() -> None:
    for question, near, far in [
        ("car repair", "fixing an automobile", "a recipe for bread"),
        ("doctor", "physician", "asphalt"),
        ("How do I cancel my subscription?", "Ending a membership", "The weather in Porto"),
        ("database transaction", "commit and rollback of a store", "a walk on the beach"),
    ]:
        assert likeness(question, near) > likeness(question, far) + 0.1, question


def test_every_vector_has_length_one_and_nothing_to_say_is_zeros() -> None:
    vectors = shipped_model().embed(["knowledge", "graph of knowledge", "", "\n\t", "\x00"])
    lengths = [float(np.linalg.norm(each)) for each in vectors]
    assert lengths == pytest.approx([1, 1, 0, 0, 0], abs=1e-6)
    assert vectors.shape == (5, shipped_model().dimensions)
    assert shipped_model().embed([]).shape == (0, shipped_model().dimensions)


def test_words_are_cut_into_the_longest_pieces_that_are_known() -> None:
    model = StaticModel("small", SMALL)
    assert model.token_ids("Unlikely") == [0, 1, 2]
    assert model.token_ids("like unlike") == [3, 0, 1]
    assert model.token_ids("unlikelihood") == [], "a word with an unknown piece says nothing"
    assert model.token_ids("É e\u0301") == [5, 5], "accents are dropped, composed or not"
    assert model.token_ids("like" * 26) == [], "very long words are noise"
    assert model.token_ids("like," * 3) == [3, 3, 3], "what is not in the vocabulary is left out"


def test_the_vector_of_words_that_are_not_in_the_vocabulary_is_uncertain() -> None:
    certainty = shipped_model().certainty
    assert certainty("Which museum shows the oldest paintings?") == 1
    assert certainty("How often is limescale removed from the kettle?") == 1, "one does no harm"
    assert certainty("xqzv blorp fnord gribble") == certainty("кто починил крышу") == 0
    assert 0 < certainty("Where did the frembly keep the wixel?") < 1
    assert certainty("") == certainty("\x00") == 0


def test_the_vector_of_a_text_is_the_mean_of_its_pieces() -> None:
    model = StaticModel("small", SMALL)
    (vector,) = model.embed(["unlike like"])
    assert vector == pytest.approx(np.array([3, 1]) / np.sqrt(10))
    assert model.token_vectors([3, 5]) == pytest.approx(np.array([[1, 0], [0.5**0.5, 0.5**0.5]]))


def test_a_word_means_the_same_after_many_others() -> None:
    model = StaticModel("small", SMALL)
    before = model.token_ids("unlikely")
    model.token_ids(" ".join(f"word{number}" for number in range(3_000)))
    assert model.token_ids("unlikely") == before
    for number in range(static._WORDS_REMEMBERED_MAX + 10):
        model._pieces(f"w{number}")
    assert len(model._known) <= static._WORDS_REMEMBERED_MAX
    assert model.token_ids("unlikely") == before


def test_damaged_weights_are_refused_in_words() -> None:
    flipped = bytearray(SMALL)
    flipped[20] ^= 1
    for content in (b"", b"MYCV", SMALL[:-1], bytes(flipped), b"ABCD" + SMALL[4:], SMALL * 2):
        with pytest.raises(InternalError, match="are damaged") as caught:
            StaticModel("small", content)
        assert "Install Mycel again" in caught.value.hint


def test_weights_of_another_version_are_refused() -> None:
    with pytest.raises(InternalError, match="have version 2; this Mycel reads version 1"):
        StaticModel("small", table(["a"], [[1]], version=2))


def test_properties_are_embedded_with_the_model_inside_the_package() -> None:
    with mycel.open(embedder="static") as db:
        db.schema.apply("node Page { title: String @key  vector: Vector(128)? @embed(title) }")
        db.load([{"type": "Page", "data": {"title": "a physician"}}])
        (expected,) = shipped_model().embed(["a physician"])
        vector = db.embeddings.vector(("Page", "a physician"), "vector")
        assert vector == pytest.approx(expected, abs=0.01)


def test_an_unknown_name_of_an_embedder_is_refused_with_the_known_one() -> None:
    with pytest.raises(InvalidValueType, match="no embedder called 'potion'") as caught:
        mycel.open(embedder="potion")
    assert '"static"' in caught.value.hint
