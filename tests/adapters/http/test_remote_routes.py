"""The reading part of the protocol between workspaces, over HTTP."""

from itertools import pairwise
from typing import Any

import cbor2
import pytest

import mycel
from mycel.merkle import log
from mycel.merkle.proofs import ConsistencyProof, StateProof
from mycel.model.records import decode_concept
from mycel.store.log.journal import entry_row_bytes, tx_bytes
from tests.adapters.http.conftest import HTTP, Server, plant
from tests.adapters.http.team import Team, team

__all__ = ["team"]


def read(server: Server, path: str, status: int = 200, **query: Any) -> Any:
    answer = HTTP.get(f"{server.url}{path}", params=query)
    assert answer.status_code == status, answer.text
    return answer.json()


def journal_root(entries: list[Any], transactions: list[Any]) -> bytes:
    """The root of a log, from the rows of its journal alone."""
    leaves = {row[0]: entry_row_bytes(*row[1:]) for row in entries}
    leaves |= {row[0]: tx_bytes(*row[1:]) for row in transactions}
    frontier = log.Frontier()
    frontier.extend([log.leaf_hash(leaves[seq]) for seq in sorted(leaves)])
    return frontier.root()


def test_refs_commits_and_diff_follow_what_was_written(garden: Server) -> None:
    told = read(garden, "/refs")
    (main,) = told["branches"]
    assert (told["branch"], main["name"], told["can"][-1]) == ("main", "main", "admin")
    listed = read(garden, "/commits")
    assert listed["commits"][-1]["commit"] == main["commit"]
    assert listed["next"] is None
    first = read(garden, "/commits", limit=1)
    assert first["commits"] == listed["commits"][:1]
    assert first["next"] == first["commits"][0]["seq"]
    rest = read(garden, "/commits", after=first["next"])
    assert rest["commits"] == listed["commits"][1:]
    newest = read(garden, "/commits", before=main["entries"] + 1, limit=1)
    assert newest["commits"] == listed["commits"][-1:]
    # Other tests write to this server too.
    for older, newer in pairwise(commit["commit"] for commit in listed["commits"]):
        diff = read(garden, "/diff", **{"from": older, "to": newer})
        assert (diff["from"], diff["to"], diff["next"]) == (older, newer, None)
        oaks = [each for each in diff["changes"] if each["identity"].get("name") == "Oak"]
        if oaks:
            break
    (oak,) = oaks
    assert (oak["before"], oak["after"]["attributes"]) == (None, {"height_m": 20})
    pages, cursor = [], "0"
    while cursor is not None:
        page = read(garden, "/diff", **{"from": "0"}, limit=10, cursor=cursor)
        pages += page["changes"]
        cursor = page["next"]
    assert pages == read(garden, "/diff", **{"from": "0"})["changes"]


def test_the_journal_leads_to_the_root_that_refs_name(garden: Server) -> None:
    (main,) = read(garden, "/refs")["branches"]
    entries, transactions, after = [], [], 0
    while after is not None:
        answer = HTTP.get(f"{garden.url}/journal", params={"after": after, "limit": 1})
        assert answer.headers["content-type"] == "application/cbor"
        page = cbor2.loads(answer.content)
        assert len(page["transactions"]) == 1
        entries += page["entries"]
        transactions += page["transactions"]
        after = page["next"]
    assert journal_root(entries, transactions).hex() == main["journal_root"]
    proof = ConsistencyProof.from_dict(read(garden, "/consistency", **{"from": 10}))
    old = log.Frontier()
    leaves = {row[0]: entry_row_bytes(*row[1:]) for row in entries}
    old.extend([log.leaf_hash(leaves[seq]) for seq in range(1, 11)])
    assert proof.verify(old.root(), bytes.fromhex(main["overall_root"]), old_entries=10)
    refused = read(garden, "/consistency", 409, **{"from": 10_000})
    assert refused["error"]["data"] == {"entries": main["entries"]}
    refused = HTTP.get(f"{garden.url}/journal", params={"after": 3})
    assert refused.status_code == 400


@pytest.fixture
def shop(team: Team) -> Team:
    team.add("shop")
    with mycel.open(team.folder / "shop.db", actor="ada") as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        knowledge.remember(
            [{"uri": f"concept://shop/{name}", "content": name} for name in ("auth", "gone")],
            [
                {"source": "auth", "relation": "depends_on", "target": "session", "weight": 0.4},
                {"source": "auth", "relation": "owned_by", "target": "concept://ops/team"},
            ],
        )
        knowledge.add("concept://shop/session", content="tokens")
        knowledge.add("concept://shop/old")
        knowledge.move("concept://shop/old", "concept://shop/new")
        knowledge.delete("concept://shop/gone", reason="no longer there")
    team.serve()
    return team


def test_a_neighbourhood_comes_with_proofs_and_what_is_missing(shop: Team) -> None:
    starts = ["auth", "gone", "never", "old"]
    query = {"start": [f"concept://shop/{name}" for name in starts], "proofs": "1"}
    answer = shop.ask("GET", "/ws/shop/subgraph", params=query)
    told = answer.json()
    nodes = {node["uri"]: node for node in told["nodes"]}
    assert nodes.keys() == {"concept://shop/auth", "concept://shop/session"}
    assert nodes["concept://shop/session"]["cost"] == 0.4
    assert nodes["concept://shop/session"]["via"]["from"] == "concept://shop/auth"
    assert {link["target"] for link in told["links"]} == {
        "concept://shop/session",
        "concept://ops/team",
    }
    root = bytes.fromhex(told["overall_root"])
    for uri, proof in told["proofs"]["nodes"].items():
        whole = StateProof.from_dict(proof | {"snapshot": told["proofs"]["snapshot"]})
        assert whole.verify(root)
        assert decode_concept(whole.record or b"").name == uri
    missing = {each["uri"]: each for each in told["missing"]}
    assert missing["concept://shop/never"]["status"] == "unknown"
    assert missing["concept://shop/old"]["to"] == "concept://shop/new"
    gone = missing["concept://shop/gone"]
    proof = StateProof.from_dict(gone["proof"])
    tombstone = decode_concept(proof.record or b"").tombstone
    assert proof.verify(root)
    assert tombstone is not None
    assert (gone["status"], tombstone.reason) == ("removed", "no longer there")


def test_an_etag_changes_with_the_records_and_with_nothing_else(shop: Team) -> None:
    query = {"start": "concept://shop/auth"}
    etag = shop.ask("GET", "/ws/shop/subgraph", params=query).headers["etag"]
    headers = {"if-none-match": etag}
    shop.kip("", "shop", 'UPSERT { CONCEPT { {type: "$ConceptType", name: "Plant"} } }')
    shop.kip("", "shop", plant("Oak"))
    same = shop.ask("GET", "/ws/shop/subgraph", params=query, headers=headers)
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    shop.kip(
        "",
        "shop",
        'UPDATE ?c SET ATTRIBUTES { content: "more" } WHERE'
        ' { ?c {type: "Concept", name: "concept://shop/session"} }',
    )
    other = shop.ask("GET", "/ws/shop/subgraph", params=query, headers=headers)
    assert other.status_code == 200
    assert other.headers["etag"] != etag


def test_wrong_questions_are_refused(shop: Team) -> None:
    for path in (
        "refs?x=1",
        "commits?after=1&before=2",
        "commits?limit=0",
        "commits?after=-1",
        "diff",
        "diff?from=nonsense",
        "diff?from=0&cursor=x",
        "journal?after=99999999999999999999",
        "subgraph",
        "subgraph?start=..%2Fx",
        "subgraph?start=a&cost=nan",
        "subgraph?start=a&cost=2",
        "subgraph?start=a&direction=up",
        "subgraph?start=a&max_nodes=100000",
        "consistency?from=x",
    ):
        answer = shop.ask("GET", f"/ws/shop/{path}")
        assert answer.status_code == 400, (path, answer.text)
        assert answer.json()["error"]["message"]
    assert shop.ask("GET", "/ws/shop/refs?branch=nowhere").status_code == 404
    assert shop.ask("GET", "/ws/nowhere/refs").status_code == 404
