"""Embedders by name: the models of other libraries, and names that nothing has."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from mycel.embedding.choice import embedder_named
from mycel.errors import EmbedderFailed, InvalidValueType
from tests.unit.embedding.tiny_model import FOLDER, WORDS

TINY = f"onnx:{FOLDER}"


def test_an_onnx_model_gives_the_mean_of_its_tokens_without_padding() -> None:
    pytest.importorskip("onnxruntime", reason="the extra `notes` is not installed")
    model = embedder_named(TINY)
    texts = ["car repair", "Honey", "bee honey bee honey repair", "", *["automobile"] * 40]
    vectors = np.asarray(model.embed(texts))
    means = [
        np.mean([WORDS[word] for word in text.lower().split()] or [[0] * 4], axis=0)
        for text in texts
    ]
    lengths = np.linalg.norm(means, axis=1)[:, None]
    assert vectors == pytest.approx(np.array(means) / np.where(lengths, lengths, 1), abs=1e-6)
    assert model.dimensions == 4
    assert np.asarray(model.embed([])).shape == (0, 4)


def test_files_beside_an_onnx_model_give_its_longest_text_and_its_pooling(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `notes` is not installed")
    folder = tmp_path / "published"
    (folder / "onnx").mkdir(parents=True)
    shutil.copy(FOLDER / "model.onnx", folder / "onnx")
    shutil.copy(FOLDER / "tokenizer.json", folder)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 2}')
    assert list(embedder_named(f"onnx:{folder}").embed(["car car honey honey"])[0]) == [1, 0, 0, 0]
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert list(embedder_named(f"onnx:{folder}").embed(["honey car"])[0]) == [0, 0, 1, 0]


def test_another_onnx_model_in_the_same_folder_has_another_name(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    shutil.copytree(FOLDER, folder)
    before = embedder_named(f"onnx:{folder}").name
    assert before == embedder_named(TINY).name, "a copy makes the same vectors"
    with (folder / "model.onnx").open("ab") as file:
        file.write(b"\0")
    assert embedder_named(f"onnx:{folder}").name != before


def test_damaged_onnx_models_are_refused_in_words(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `notes` is not installed")
    whole = (FOLDER / "model.onnx").read_bytes()
    tokens = (FOLDER / "tokenizer.json").read_bytes()
    for number, (model, tokenizer) in enumerate(
        ((whole[:100], tokens), (b"", tokens), (b"garbage" * 99, tokens), (whole, b"{}"))
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "model.onnx").write_bytes(model)
        (folder / "tokenizer.json").write_bytes(tokenizer)
        with pytest.raises(EmbedderFailed, match=r"cannot be loaded|failed"):
            embedder_named(f"onnx:{folder}").embed(["car"])
    with pytest.raises(InvalidValueType, match="no sentence model in") as caught:
        embedder_named(f"onnx:{tmp_path}")
    assert "tokenizer.json" in caught.value.hint


def test_a_missing_library_is_told_with_the_way_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, library, extra in (
        (TINY, "onnxruntime", ".[onnx]"),
        ("sentence-transformers:all-MiniLM-L6-v2", "sentence_transformers", ".[transformers]"),
    ):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(EmbedderFailed) as caught:
            embedder_named(name).embed(["car"])
        assert extra in caught.value.hint


class _Sentences:
    """The part of the library's model that is called."""

    def __init__(self, name: str) -> None:
        if name == "unknown":
            raise OSError("not found")
        self.name = name

    def encode(self, texts: Sequence[str], **options: Any) -> Any:
        assert options["normalize_embeddings"] is True
        return np.array([[1.0, 0.0, 0.0]] * len(texts), np.float32)


def test_a_model_of_sentence_transformers_is_asked_for_vectors_of_length_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = _Sentences  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    model = embedder_named("sentence-transformers:some/model")
    assert (model.name, model.dimensions) == ("sentence-transformers:some/model", 3)
    assert len(list(model.embed(["a", "b"]))) == 2
    with pytest.raises(EmbedderFailed, match="cannot be loaded: OSError"):
        embedder_named("sentence-transformers:unknown").embed(["a"])


def test_names_that_nothing_has_are_refused_with_the_known_forms() -> None:
    for name in ("potion", "", "onnx:", "onnx", "ftp://host/v1#model", "sentence-transformers:"):
        with pytest.raises(InvalidValueType, match="no embedder called") as caught:
            embedder_named(name)
        for form in ('"static"', "onnx:FOLDER", "sentence-transformers:NAME", "#MODEL"):
            assert form in caught.value.hint
