"""Checks vectors of texts, and stores them with one signed byte for each dimension.

Only the direction of a vector counts, so each vector is scaled to the range of a byte. For vectors
of 128 dimensions and more, this changes a cosine by some thousandths.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.embedder import Embedder
from mycel.errors import EmbedderFailed, MycelError, NotFound
from mycel.model.extras import extra
from mycel.model.names import shorten

TEXTS_TOGETHER_MAX: Final = 256
_ONE_EACH: Final = (
    "An embedder gives one vector for each text, in order: as many finite numbers as it has"
    " dimensions."
)


def embedded(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """The vectors of texts, as bytes.

    Raises:
        EmbedderFailed: the embedder did not make one vector for each text.
    """
    blobs: list[bytes] = []
    for at in range(0, len(texts), TEXTS_TOGETHER_MAX):
        some = texts[at : at + TEXTS_TOGETHER_MAX]
        blobs += as_bytes(checked_vectors(embedder, some))
    return blobs


def checked_vectors(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors that an embedder makes of texts, as one array.

    Raises:
        EmbedderFailed: the embedder failed, or number, dimensions or values of its vectors are
            wrong.
    """
    try:
        return _checked(embedder, embedder.embed(texts), len(texts))
    except MycelError:
        raise
    except Exception as error:  # The code of another library may fail in any way.
        raise EmbedderFailed(
            f"The embedder {embedder.name!r} failed: {type(error).__name__}:"
            f" {shorten(str(error), 200)}."
        ) from error


def _checked(embedder: Embedder, output: Any, count: int) -> NDArray[np.float32]:
    try:
        vectors = np.asarray(output if isinstance(output, np.ndarray) else list(output), np.float32)
    except (TypeError, ValueError):
        vectors = np.zeros(0, np.float32)
    if vectors.shape != (count, embedder.dimensions):
        raise EmbedderFailed(
            f"{embedder.name!r} did not make {count} vectors of {embedder.dimensions} numbers.",
            hint=_ONE_EACH,
        )
    if not np.isfinite(vectors).all():
        raise EmbedderFailed(
            f"{embedder.name!r} made a vector with numbers that are not finite.", hint=_ONE_EACH
        )
    return vectors


def as_bytes(vectors: NDArray[np.float32]) -> list[bytes]:
    """Vectors with one signed byte for each dimension."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    largest[largest == 0] = 1
    scaled: NDArray[np.int8] = np.rint(vectors * (127 / largest)).astype(np.int8)
    return [vector.tobytes() for vector in scaled]


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors with length one; zeros stay zeros."""
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=-1, keepdims=True)
    lengths[lengths == 0] = 1
    return vectors / lengths


def library(module: str, extra_name: str) -> Any:
    """A library that an embedder needs and that comes with an extra.

    Raises:
        EmbedderFailed: the library is not installed.
    """
    # Otherwise onnxruntime would collect telemetry, and queue it in the user's cache.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        return extra(module, extra_name)
    except NotFound as missing:
        raise EmbedderFailed(missing.message, hint=missing.hint) from None
