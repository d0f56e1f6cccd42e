"""Embedders by name, as options and settings give them."""

from __future__ import annotations

from mycel.embedding.static import shipped_model
from mycel.errors import InvalidValueType
from mycel.search.embedding import Embedder


def embedder_named(name: str) -> Embedder:
    """The embedder of a name: "static" is the model inside the package.

    Raises:
        InvalidValueType: no embedder has this name.
    """
    if name != "static":
        raise InvalidValueType(
            f"There is no embedder called {name!r}.",
            hint='Use "static", the model inside the package, or an object with name, dimensions'
            " and embed().",
        )
    return shipped_model()
