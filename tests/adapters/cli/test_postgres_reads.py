"""What commands show of a graph is the same, in a file and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel import Knowledge
from mycel.errors import MycelError
from mycel.explorer.explorer import Explorer
from mycel.store.file.workspace_databases import database_of
from mycel.workspaces import remove_files
from tests.adapters.cli.conftest import in_process
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.sqlite_file("compares a file with a workspace")

DATA = """
UPSERT {
  CONCEPT { {type: "$ConceptType", name: "Shop"} }
  CONCEPT { {type: "$PropositionType", name: "near"} }
  CONCEPT ?b { {type: "Shop", name: "Book shop"} SET ATTRIBUTES {size: 3, says: "Quiet books"} }
  CONCEPT ?t { {type: "Shop", name: "Tea shop"} SET ATTRIBUTES {size: 5.5, says: "Green tea"}
    SET PROPOSITIONS { ("near", ?b) } }
} WITH METADATA { source: "a walk", author: "ada", confidence: 0.8 }
"""

COMMANDS = """
ls
ls day
ls day/notes
ls concept://shop/day
ls concept://shop/day/notes --json
show day/notes/a
find day/notes/a
find day/notes/a --json
traverse day
search tea
search tea --mode keyword
search note --json
search tea --type Shop
export
schema show
schema hidden
query list
concept get Shop:Tea%20shop
edge out Shop:Tea%20shop
edge in Shop:Book%20shop
history Shop:Tea%20shop
log
log --json
log --by ada
tag
branch list
conflicts
choices
proposal list
diff 40 120
diff 40 120 --json
capsule export --type Shop
rollback 120 --dry-run
snapshot
snapshot --as-of 40
prove Shop:Tea%20shop
prove Shop:None
verify
verify --replay
retention
tend
sleep --dry-run
capsule list
scrub --before 40 --dry-run
kip DESCRIBE%20PRIMER
kip DESCRIBE%20DOMAINS
kip DESCRIBE%20CONCEPT%20TYPES
kip DESCRIBE%20CONCEPT%20TYPE%20"Shop"
kip DESCRIBE%20PROPOSITION%20TYPES
kip DESCRIBE%20PROPOSITION%20TYPE%20"near"
kip SEARCH%20CONCEPT%20"tea"
kip SEARCH%20PROPOSITION%20"near"
"""

A = "concept://shop/day/notes/a"
UNLIKE = {"graph", "took_ms", "time"}
VIEWS_ASKED: list[tuple[str, dict[str, Any]]] = [
    ("suggest", {"q": "te"}),
    ("identify", {"text": "day/notes/a"}),
    ("identify", {"text": "Tea shop"}),
    ("identify", {"text": "notes/new", "near": "A", "is_new": True}),
    ("search", {"q": "tea"}),
    ("search", {"q": "note", "at": "110"}),
    ("overview", {}),
    ("overview", {"by": "type"}),
    ("near", {"id": "A"}),
    ("links", {"ids": ["A"]}),
    ("reach", {"id": "A", "direction": "both"}),
    ("path", {"from": "A", "to": "A"}),
    ("node", {"id": "A"}),
    ("relations", {"id": "A"}),
    ("history", {"id": "A"}),
    ("missing", {}),
    ("upkeep", {}),
    ("commits", {"text": "shop"}),
    ("commits", {"path": "day", "actor": "ada"}),
    ("commit", {"entry": 120}),
    ("moments", {}),
    ("authors", {}),
    ("touched", {"actors": ["ada"]}),
    ("touched", {"ids": ["A"]}),
    ("not_holding", {"ids": ["A"], "time": "2026-01-01T00:00:00Z"}),
    ("timeline", {"buckets": 7}),
    ("saved", {}),
    ("conflicts", {}),
    ("diff", {"from": "40", "to": "120"}),
]


@pytest.fixture(scope="module")
def places(postgres_server: PostgresServer) -> Iterator[tuple[list[str], list[str]]]:
    """The options that name a file and a workspace with the same graph."""
    file = database_of(Path.home(), "shop")
    file.parent.mkdir(exist_ok=True)
    url = postgres_server.url("shop")
    with mycel.open(file) as db:
        knowledge = Knowledge(db, workspace="shop")
        nodes = [
            {"uri": f"concept://shop/{name}", "name": name, "content": f"The note {name} of tea."}
            for name in ("day", "day/notes", "day/notes/a", "day/notes/b/c", "day/plan")
        ]
        links = [
            {
                "source": "concept://shop/day/notes/a",
                "relation": "related_to",
                "target": "concept://shop/day/plan",
            }
        ]
        knowledge.remember(nodes, links)
        db.execute(DATA)
        db.write(lambda tx: tx.put_concept("Shop", "Tea shop", {"size": 6}), actor="ada")
        old = db.write(lambda tx: tx.put_concept("Shop", "Old shop"), message="one more")
        db.write(lambda tx: tx.retire(old, reason="shut"))
        db.branches.copy(url)
    yield ["--workspace", "shop"], ["--db", url]
    remove_files(Path.home(), "shop")


@pytest.mark.parametrize("command", COMMANDS.split("\n")[1:-1])
def test_a_command_shows_the_same(places: tuple[list[str], list[str]], command: str) -> None:
    words = [word.replace("%20", " ") for word in command.split(" ")]
    of_file, of_server = (in_process(*place, *words) for place in places)
    assert (of_file.status, of_file.stderr) == (of_server.status, of_server.stderr)
    assert of_file.stdout == of_server.stdout.replace("ok    tables\n", "ok    pages\n")
    assert of_file.status == 0


def _answered(ask: Callable[[], Any]) -> str:
    """An answer, or the error, as text."""
    try:
        return repr(ask())
    except MycelError as error:
        return f"refused: {error.name}: {error.message}"


def test_knowledge_and_the_views_of_the_explorer_read_the_same(
    places: tuple[list[str], list[str]],
) -> None:
    with (
        mycel.open(database_of(Path.home(), "shop"), create=False) as file,
        mycel.open(places[1][1], create=False) as served,
    ):
        told = []
        for db in (file, served):
            knowledge = Knowledge(db, workspace="shop")
            explorer = Explorer(db, knowledge)
            node = knowledge.get(A)
            reads: dict[str, Callable[[], Any]] = {
                "children": lambda k=knowledge: k.children("day"),
                "broken": lambda k=knowledge: k.broken_links(),
                "concepts": lambda k=knowledge: k.concepts(limit=50, without=["Shop"]),
                "get_many": lambda k=knowledge: k.get_many([A, "concept://shop/none"]),
                "has": lambda k=knowledge: [k.has(A), k.has("concept://shop/x")],
                "mentions": lambda k=knowledge: k.mentions(A),
                "recall": lambda k=knowledge: k.recall("tea"),
                "references": lambda k=knowledge: k.references("day/notes/a"),
                "relations": lambda k=knowledge: k.relations(A),
                "search": lambda k=knowledge: k.search("note", element="relation"),
                "traverse": lambda k=knowledge: k.traverse(A, direction="both"),
                "unlinked": lambda k=knowledge: k.unlinked_mentions(),
            }
            for name, given in VIEWS_ASKED:
                values = {key: node.id if value == "A" else value for key, value in given.items()}
                reads[f"{name} {given}"] = lambda e=explorer, n=name, v=values: {
                    key: part for key, part in e.view(n, v).items() if key not in UNLIKE
                }
            told.append({name: _answered(ask) for name, ask in reads.items()})
    for name, answer in told[0].items():
        assert told[1][name] == answer, name
        assert not answer.startswith("refused"), (name, answer)
