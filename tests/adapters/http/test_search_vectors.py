"""Searches of a real server while the vectors of a chosen embedder are being made."""

from pathlib import Path

import mycel
from tests.adapters.http.conftest import Server, Start, eventually
from tests.unit.embedding.server import serving


def search(server: Server) -> tuple[list[str], str]:
    """The names that a search by meaning finds, and its warnings."""
    response = server.ask({"command": 'SEARCH CONCEPT "bee mill" WITH TYPE "Plant" LIMIT 3'})
    assert response.status_code == 200, response.text
    answer = response.json()
    return [hit["name"] for hit in answer["result"]], str(answer.get("warnings", ""))


def test_searches_answer_by_the_model_inside_until_the_vectors_are_there(
    start: Start, graph: Path
) -> None:
    with serving() as embedder:
        with mycel.open(graph) as db:
            db.embeddings.use(embedder.address)
            rows = (mycel.ConceptRow("Plant", f"bee mill {at}") for at in range(300))
            db.write(lambda tx: tx.put_concepts(rows))
        embedder.answering.clear()
        server = start()
        names, warnings = search(server)
        assert len(names) == 3
        assert "Vectors are being made." in warnings
        embedder.answering.set()
        eventually(lambda: "Vectors are being made." not in search(server)[1])
        assert len(search(server)[0]) == 3
        assert sum(len(each["input"]) for each in embedder.requests) >= 300
