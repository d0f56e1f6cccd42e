"""Builds the index that a search by meaning needs, with a progress bar."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mycel.cli.console.output import Output
from mycel.cli.console.progress_bar import counting_bar
from mycel.embedding.embedder import STATIC
from mycel.errors import EmbedderFailed

if TYPE_CHECKING:
    from mycel.api.graph import Graph

INDEXED_MIN: Final = 1_000
"""The least number of new concepts that a command indexes itself. Fewer are left to the next
search."""


def index_written(out: Output, db: Graph, written: int) -> None:
    """Index the new concepts of a command if they are many.

    Only the embedder of the package is used: others may take hours, and work while searches answer.
    """
    if written >= INDEXED_MIN and db.embeddings.choice == STATIC:
        with counting_bar(out, "Indexing") as report, suppress(EmbedderFailed):
            db.embeddings.complete(report=report)


def explain_sections(out: Output, db: Graph) -> None:
    """Print when the sentence model, if it is installed, will embed new sections of documents.

    It takes some 50 ms for each, so a bootstrap does not wait for it.
    """
    from mycel.embedding.sentence_model import installed_model

    if not out.as_json and db.embeddings.choice == STATIC and installed_model() is not None:
        out.note(
            "The sentence model reads new sections while a server runs; `mycel embed rebuild` reads"
            " them now."
        )


def index_for_search(out: Output, db: Graph) -> None:
    """Index all concepts before a search.

    Without a progress bar, a line says that it takes time.
    """
    with counting_bar(out, "Indexing") as report, suppress(EmbedderFailed):
        if report is not None:
            db.embeddings.complete(report=report)
        elif (pending := db.embeddings.pending()) >= INDEXED_MIN:
            out.note(f"Indexing {pending:,} concepts; this takes a while, once.")
