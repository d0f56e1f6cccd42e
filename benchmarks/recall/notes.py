"""Notes about code bases, asked for in other words beside the symbols and documents of the code.

`notes/NAME.jsonl` has notes with a question each, and questions about documents. A code base is
read as `mycel bootstrap` reads it, the notes are written with relations to the files they are
about, and search is asked in each of its modes: hybrid, which is the default, by keywords, and by
meaning alone. A question about a document has a section that answers it; any section of the same
document counts for the document. With the extra `notes` the sentence model reads all of it first.
This project is its own code base; check-outs of others are looked for in the folder
`MYCEL_BENCH_CODE`.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import mycel
from mycel.embedding.sentence_model import installed_model
from mycel.knowledge.bootstrap import bootstrap
from mycel.knowledge.node_values import Hit, NewNode, NewRelation, Node
from mycel.search.modes import HYBRID, KEYWORD, SEMANTIC, SearchMode

HERE: Final = Path(__file__).parent
PROJECT: Final = HERE.parents[1]
OWN: Final = "mycel"
FOLDER_VARIABLE: Final = "MYCEL_BENCH_CODE"
SYMBOLS: Final = 100
LIMIT: Final = 10
MODES: Final[tuple[SearchMode, ...]] = (HYBRID, KEYWORD, SEMANTIC)

Row = dict[str, Any]


def code_bases() -> dict[str, Path | None]:
    """The code bases with notes, and the folder of each; None if it is not there."""
    folder = os.environ.get(FOLDER_VARIABLE, "")
    found: dict[str, Path | None] = {}
    for path in sorted((HERE / "notes").glob("*.jsonl")):
        root = PROJECT if path.stem == OWN else Path(folder) / path.stem
        found[path.stem] = root if root.is_dir() and (folder or path.stem == OWN) else None
    return found


class Share(NamedTuple):
    """The share of some questions whose answer is among the first."""

    questions: int
    found: float


def shares(name: str, root: Path) -> Iterator[tuple[str, dict[SearchMode, Share]]]:
    """Shares of the questions whose answer is among the first, by measure and mode."""
    with mycel.open() as db:
        known = written(db, name, root)
        read_all(db)
        found = [dict(asked(known, name, mode)) for mode in MODES]
        for label in found[0]:
            yield label, {mode: each[label] for mode, each in zip(MODES, found, strict=True)}


def read_all(db: mycel.Graph) -> None:
    """Have the sentence model read all notes and sections, if it is installed."""
    if installed_model() is not None:
        db.embeddings.rebuild()


def written(db: mycel.Graph, name: str, root: Path) -> mycel.Knowledge:
    """A graph of a code base, with the notes."""
    known = mycel.Knowledge(db, workspace=name, root=root)
    bootstrap(known)
    nodes, relations = [], []
    for row in rows(name, "notes"):
        uri = _uri(name, row)
        nodes.append(NewNode(uri, row["name"], row["text"], row["type"]))
        relations += [NewRelation(uri, "about", f"file://{name}/{path}") for path in row["about"]]
    known.remember(nodes, relations)
    return known


def asked(known: mycel.Knowledge, name: str, mode: SearchMode) -> Iterator[tuple[str, Share]]:
    """Shares of the questions of a code base that are answered in a mode, by measure."""
    place = partial(_place, known, mode=mode)
    places = [
        place(row["question"], lambda hit, row=row: hit.uri == _uri(name, row))
        for row in rows(name, "notes")
    ]
    for label, most in (("first", 1), ("among three", 3), ("among ten", 10)):
        yield f"notes about {name} in other words, {label}", _share(places, most)
    documents = rows(name, "documents")
    for what, fits in (("sections", _is_section), ("documents", _is_in_document)):
        places = [
            place(row["question"], lambda hit, row=row, fits=fits: fits(hit, row))
            for row in documents
        ]
        for label, most in (("among three", 3), ("among ten", 10)):
            yield f"{what} of {name} in other words, {label}", _share(places, most)
    places = [place(each, lambda hit, each=each: _is_symbol(hit, each)) for each in symbols(known)]
    yield f"symbols of {name}, first", _share(places, 1)


def rows(name: str, kind: str) -> list[Row]:
    """The notes, or the questions about documents, of a code base."""
    lines = (HERE / "notes" / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["set"] == kind]


def symbols(known: mycel.Knowledge) -> list[str]:
    """Names of symbols that one symbol has, of code that is no test."""
    query = 'FIND(?s.name, ?s.attributes.name) WHERE { ?s {type: "Symbol"} } LIMIT 100000'
    found = list(zip(*known.db.execute(query).value, strict=True))
    counts = Counter(name for _, name in found)
    once = sorted(
        name
        for uri, name in found
        if counts[name] == 1 and len(name) > 3 and "test" not in uri.lower() and name[0] != "_"
    )
    return once[:: max(len(once) // SYMBOLS, 1)][:SYMBOLS]


def _place(
    known: mycel.Knowledge, question: str, fits: Callable[[Hit], bool], *, mode: SearchMode
) -> int:
    hits = known.search(question, limit=LIMIT, mode=mode)
    return next((at for at, hit in enumerate(hits) if fits(hit)), LIMIT)


def _share(places: list[int], most: int) -> Share:
    return Share(len(places), sum(place < most for place in places) / len(places))


def _uri(name: str, row: Row) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", row["name"].lower()).strip("-")
    return f"concept://{name}/{row['type'].lower()}s/{slug}"


def _is_section(hit: Hit, row: Row) -> bool:
    if not isinstance(hit.found, Node) or hit.found.type != "Section":
        return False
    heading = str(hit.found.properties.get("heading", ""))
    path = row["path"]
    return f"/{path}" in hit.uri and _plain(heading) == _plain(row["heading"] or Path(path).name)


def _is_in_document(hit: Hit, row: Row) -> bool:
    return f"/{row['path']}" in hit.uri


def _is_symbol(hit: Hit, name: str) -> bool:
    found = hit.found
    return isinstance(found, Node) and found.type == "Symbol" and found.name == name


def _plain(heading: str) -> str:
    return re.sub(r"\W+", "", heading.lower())
