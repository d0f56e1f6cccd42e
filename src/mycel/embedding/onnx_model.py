"""Sentence models as ONNX files, run by onnxruntime: the extra `mycel[onnx]`.

A folder holds `model.onnx` (or `onnx/model.onnx`, as models are published) and `tokenizer.json`.
The vector of a text is the mean of the vectors of its tokens, without padding, scaled to length
one. Two files of the sentence-transformers library are read if they exist:
`sentence_bert_config.json` for the maximum length of a text, and `1_Pooling/config.json`, which may
say that the first token stands for all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.vectors import library, unit
from mycel.errors import EmbedderFailed, InvalidValueType

TOKENS_MAX: Final = 256
"""The maximum number of tokens of a text, unless files beside the model say otherwise; the rest is
left out."""

TEXTS_TOGETHER: Final = 32
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")


class OnnxModel:
    """One model, loaded on first use.

    Its name has a digest of its files, so a changed file is another model.
    """

    def __init__(self, folder: str) -> None:
        """Find the files.

        Raises:
            InvalidValueType: the folder has no model, or no tokenizer.
        """
        self._folder: Final = Path(folder).expanduser()
        places = (self._folder / "model.onnx", self._folder / "onnx" / "model.onnx")
        paths = [place for place in places if place.is_file()]
        self._tokenizer_file: Final = self._folder / "tokenizer.json"
        if not paths or not self._tokenizer_file.is_file():
            raise InvalidValueType(
                f"There is no sentence model in {folder!r}.",
                hint="The folder needs model.onnx (or onnx/model.onnx) and tokenizer.json.",
            )
        self._file: Final = paths[0]

    @cached_property
    def name(self) -> str:
        """The name of the folder, and the beginning of the digest of model and tokenizer."""
        digest = hashlib.sha256()
        try:
            for path in (self._file, self._tokenizer_file):
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise self._failed(f"cannot be read: {error.strerror}") from None
        return f"onnx:{self._folder.name}:{digest.hexdigest()[:16]}"

    @cached_property
    def dimensions(self) -> int:
        """The number of dimensions of its vectors."""
        return int(self.embed(["dimensions"]).shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector of length one for each text, in order."""
        # Texts of similar length share a batch, because all texts of a batch are padded to the
        # longest.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        batches: list[NDArray[np.float32]] = []
        for start in range(0, len(order), TEXTS_TOGETHER):
            some = order[start : start + TEXTS_TOGETHER]
            batches.append(self._vectors([texts[at] for at in some]))
        if not batches:
            return np.zeros((0, self.dimensions), np.float32)
        vectors = np.concatenate(batches)
        vectors[order] = vectors.copy()
        return unit(vectors)

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        session, tokenizer = self._loaded
        encoded = tokenizer.encode_batch(texts)
        mask = np.array([encoding.attention_mask for encoding in encoded], np.int64)
        inputs = {
            "input_ids": np.array([encoding.ids for encoding in encoded], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([encoding.type_ids for encoding in encoded], np.int64),
        }
        names = [input_.name for input_ in session.get_inputs()]
        try:
            (out, *_) = session.run(None, {name: inputs[name] for name in names})
        except Exception as error:
            raise self._failed(f"failed: {type(error).__name__}") from error
        vectors: NDArray[np.float32] = np.asarray(out, np.float32)
        if vectors.ndim == 3 and not self._first_token:
            weights = mask[:, :, None].astype(np.float32)
            vectors = (vectors * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        elif vectors.ndim == 3:
            vectors = vectors[:, 0]
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise self._failed("does not give one vector for each token or text")
        return vectors

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """The session of onnxruntime, and the tokenizer."""
        onnxruntime, tokenizers = library("onnxruntime", "onnx"), library("tokenizers", "onnx")
        try:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4  # Errors are raised instead.
            session = onnxruntime.InferenceSession(
                str(self._file), options, providers=["CPUExecutionProvider"]
            )
            tokenizer = tokenizers.Tokenizer.from_file(str(self._tokenizer_file))
        except Exception as error:
            raise self._failed(f"cannot be loaded: {type(error).__name__}") from error
        unknown = {input_.name for input_ in session.get_inputs()} - set(_INPUTS)
        if unknown:
            raise self._failed(f"wants inputs that are not of a sentence model: {sorted(unknown)}")
        truncation = tokenizer.truncation or {}
        beside = self._setting("sentence_bert_config.json", "max_seq_length")
        longest = beside or truncation.get("max_length") or TOKENS_MAX
        tokenizer.enable_truncation(int(longest))
        padding = tokenizer.padding or {}
        tokenizer.enable_padding(
            pad_id=padding.get("pad_id", 0), pad_token=padding.get("pad_token", "[PAD]")
        )
        return session, tokenizer

    @cached_property
    def _first_token(self) -> bool:
        return bool(self._setting("1_Pooling/config.json", "pooling_mode_cls_token"))

    def _setting(self, file: str, key: str) -> Any:
        try:
            content = json.loads((self._folder / file).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return content.get(key) if isinstance(content, dict) else None

    def _failed(self, problem: str) -> EmbedderFailed:
        return EmbedderFailed(
            f"The model {str(self._file)!r} {problem}.",
            hint="Export it again as an ONNX sentence model, with the tokenizer.json beside it.",
        )
