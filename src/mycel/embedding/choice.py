"""Embedders by name, as options and settings give them.

    static                              the model inside the package
    onnx:FOLDER                         a sentence model as an ONNX file, with its tokenizer.json
    sentence-transformers:NAME          a model of that library, by name or folder
    http://HOST/v1#MODEL, https://…     a server with the embeddings API of OpenAI

A model is loaded when it is first used, because that takes long; its name is checked at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mycel.embedding.embedder import STATIC, Embedder
from mycel.embedding.endpoint import EmbeddingEndpoint
from mycel.embedding.onnx_model import OnnxModel
from mycel.embedding.static import shipped_model
from mycel.embedding.transformer import Transformer
from mycel.errors import InvalidValueType
from mycel.model.names import shorten

_FORMS: Final = (
    'Use "static" (the model inside the package), "onnx:FOLDER", "sentence-transformers:NAME",'
    ' "http://HOST/v1#MODEL" (or https), or an object with name, dimensions and embed().'
)
_KINDS: Final[dict[str, Callable[[str], Embedder]]] = {
    "onnx": OnnxModel,
    "sentence-transformers": Transformer,
}


def embedder_named(name: str) -> Embedder:
    """The embedder of a name.

    Raises:
        InvalidValueType: no embedder has this name, or its model is missing.
    """
    if name == STATIC:
        return shipped_model()
    kind, _, rest = name.partition(":")
    if kind in ("http", "https"):
        return EmbeddingEndpoint(name)
    if kind in _KINDS and rest:
        return _KINDS[kind](rest)
    raise InvalidValueType(f"There is no embedder called {shorten(name)!r}.", hint=_FORMS)
