"""Models of the library sentence-transformers, by name.

The library is the extra `mycel[transformers]` and no dependency, because it installs PyTorch. It
downloads a model that is not on this machine when the model is first used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from mycel.embedding.vectors import library
from mycel.errors import EmbedderFailed


class Transformer:
    """One model, loaded on first use."""

    def __init__(self, model: str) -> None:
        self._model: Final = model
        self.name: Final = f"sentence-transformers:{model}"

    @cached_property
    def dimensions(self) -> int:
        """The number of dimensions of its vectors."""
        return len(self.embed(["dimensions"])[0])

    def embed(self, texts: Sequence[str]) -> Any:
        """A vector of length one for each text, in order."""
        return self._loaded.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
        )

    @cached_property
    def _loaded(self) -> Any:
        sentence_transformers = library("sentence_transformers", "transformers")
        try:
            return sentence_transformers.SentenceTransformer(self._model)
        except Exception as error:
            raise EmbedderFailed(
                f"The model {self._model!r} cannot be loaded: {type(error).__name__}.",
                hint="Check its name, or give the folder of a model that is on this machine.",
            ) from error
