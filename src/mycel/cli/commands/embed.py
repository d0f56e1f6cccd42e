"""`mycel embed`: the embedder of a graph, and the vectors that it makes for search by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.cli.console.output import Output
from mycel.cli.console.progress_bar import counting_bar
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.search.index.embeddings import EmbeddingStatus


@click.group(cls=Group)
def embed() -> None:
    """Show and choose the model that makes vectors for search, and rebuild them."""


@embed.command("status", cls=Command)
@pass_session
def status(session: Invocation) -> None:
    """Show the embedder in use and how much is embedded."""
    with session.open(reading=True) as db:
        _show(session.out, db.embeddings.status())
        session.out.warn(db.embeddings.misfits(db.schema.catalog))


@embed.command("use", cls=Command)
@click.argument(
    "embedder",
    help="static, onnx:FOLDER, sentence-transformers:NAME, or http(s)://HOST/v1#MODEL",
)
@pass_session
def use(session: Invocation, embedder: str) -> None:
    """Choose the embedder of this graph, for every command and server, and embed with it.

    The model is tried first. Running servers answer with the model inside the package until
    everything is embedded. An interrupted run is continued by these servers, or by `mycel embed
    use`.
    """
    with session.open() as db, counting_bar(session.out, "Embedding") as report:
        _show(session.out, db.embeddings.use(embedder, report=report))
        session.out.warn(db.embeddings.misfits(db.schema.catalog))


@embed.command("rebuild", cls=Command)
@pass_session
def rebuild(session: Invocation) -> None:
    """Rebuild all vectors of the embedder in use."""
    with session.open() as db, counting_bar(session.out, "Embedding") as report:
        _show(session.out, db.embeddings.rebuild(report=report))


def _show(out: Output, embedding: EmbeddingStatus) -> None:
    dimensions = embedding.dimensions
    out.fields(
        (
            ("embedder", embedding.embedder),
            ("model", embedding.model),
            ("dimensions", dimensions),
            ("embedded", count(embedding.embedded, "concept")),
            ("pending", count(embedding.pending, "concept")),
            ("size", f"{embedding.bytes:,} bytes"),
            ("error", embedding.error),
        ),
        embedding._asdict(),
    )
