"""Submissions and proposals over HTTP: each outcome with its status, for each kind of token."""

import json
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from queue import SimpleQueue
from random import Random
from threading import Event
from time import monotonic
from typing import Any

import httpx
import pytest

import mycel
from tests.adapters.http.team import Team, team

__all__ = ["team"]

AUTH = "concept://shop/auth"
INFRA = "concept://shop/infra/db"


def node(uri: str, text: str, **more: Any) -> dict[str, Any]:
    return {"node": uri, "attributes": {"content": text} | more}


@pytest.fixture
def shop(team: Team) -> Team:
    team.add("shop")
    with mycel.open(team.folder / "shop.db", actor="root") as db:
        mycel.Knowledge(db, workspace="shop").remember([{"uri": AUTH, "content": "one"}])
    return team


def head(shop: Team, token: str) -> str:
    commit: str = shop.ask("GET", "/ws/shop/refs", token).json()["branches"][0]["commit"]
    return commit


def submit(shop: Team, token: str, *changes: Any, **how: Any) -> Any:
    return shop.ask("POST", "/ws/shop/submit", token, json={"changes": list(changes)} | how)


def content(shop: Team, token: str, uri: str = AUTH) -> Any:
    asked = shop.ask("GET", "/ws/shop/subgraph", token, params={"start": uri, "max_cost": 0})
    nodes = asked.json()["nodes"]
    return nodes[0]["attributes"]["content"] if nodes else None


def test_each_outcome_has_its_status_and_a_key_is_committed_once(shop: Team) -> None:
    ada, ben = shop.token("ada", "write:/**"), shop.token("ben", "write:/**")
    shop.serve()
    base = head(shop, ada)
    first = submit(shop, ada, node(AUTH, "two"), base=base, key="first-key", message="why")
    assert (first.status_code, first.json()["status"]) == (200, "committed")
    again = submit(shop, ada, node(AUTH, "two"), base=base, key="first-key", message="why")
    assert again.json() == first.json()
    assert shop.ask("GET", "/ws/shop/submit/first-key", ada).json() == first.json()
    assert shop.ask("GET", "/ws/shop/submit/first-key", ben).status_code == 404
    other = submit(shop, ada, node(AUTH, "three"), base=base, key="first-key")
    assert (other.status_code, other.json()["error"]["name"]) == (409, "DuplicateExists")
    stale = submit(shop, ada, node(AUTH, "three"), base=base)
    assert (stale.status_code, stale.json()["error"]["data"]["head"]) == (412, head(shop, ada))
    clash = submit(shop, ada, node(AUTH, "three"), base=base, key="clash-key", on_conflict="merge")
    told = clash.json()["error"]["data"]
    assert (clash.status_code, told["status"], told["conflicts"][0]["theirs"]) == (
        409,
        "conflicts",
        "three",
    )
    assert shop.ask("GET", "/ws/shop/submit/clash-key", ada).status_code == 404
    clean = submit(shop, ben, node("new", "n"), base=base, key="clash-key", on_conflict="merge")
    assert clean.json()["counts"] == {"added": 1, "removed": 0, "changed": 0}
    same = submit(shop, ben, node("new", "n"), key="same-key-1")
    assert (same.status_code, same.json()["status"]) == (200, "unchanged")
    log = shop.ask("GET", "/ws/shop/commits?before=99999&limit=2", ada).json()["commits"]
    assert [(entry["actor"], entry["message"][:3]) for entry in log] == [
        ("ben", log[0]["message"][:3]),
        ("ada", "why"),
    ]


def test_links_removals_and_moves_are_changes_too(shop: Team) -> None:
    ada = shop.token("ada", "write:/**")
    shop.serve()
    link = {"subject": AUTH, "predicate": "depends_on", "object": "concept://shop/session"}
    page = {"subject": AUTH, "predicate": "seen_in", "object": "https://example.org/a"}
    done = submit(shop, ada, {"link": link, "weight": 0.5}, {"link": page}, key="links-key")
    assert done.status_code == 200, done.text
    asked = shop.ask("GET", "/ws/shop/subgraph", ada, params={"start": AUTH}).json()
    assert {(each["relation"], each["weight"]) for each in asked["links"]} == {
        ("depends_on", 0.5),
        ("seen_in", 1.0),
    }
    base = head(shop, ada)
    moved = {"node": AUTH, "to": "concept://shop/login"}
    done = submit(shop, ada, moved, {"link": page, "removed": True}, base=base)
    assert done.status_code == 200, done.text
    asked = shop.ask("GET", "/ws/shop/subgraph", ada, params={"start": AUTH}).json()
    assert asked["missing"] == [{"uri": AUTH, "status": "moved", "to": "concept://shop/login"}]
    done = submit(shop, ada, {"node": "concept://shop/login", "removed": True})
    assert done.json()["counts"]["removed"] >= 1
    asked = shop.ask("GET", "/ws/shop/subgraph?start=login", ada).json()
    assert asked["missing"][0]["status"] == "removed"


def test_a_type_that_is_defined_and_used_in_one_submission_is_defined_once(shop: Team) -> None:
    ada = shop.token("ada", "write:/**")
    shop.serve()
    types = [("$ConceptType", "Idea"), ("$PropositionType", "leads_to")]
    changes = [{"concept": {"type": kind, "name": name}} for kind, name in types]
    changes += [{"concept": {"type": "Idea", "name": name}} for name in ("a", "b")]
    ends = [{"type": "Idea", "name": name} for name in ("a", "b")]
    link = {"subject": ends[0], "predicate": "leads_to", "object": ends[1]}
    answer = submit(shop, ada, *changes, {"link": link})
    assert (answer.status_code, answer.json()["counts"]["added"]) == (200, 5), answer.text


def test_one_who_may_only_propose_gets_a_review(shop: Team) -> None:
    eve, ada = shop.token("eve", "propose:/**"), shop.token("ada", "write:/**")
    read = shop.token("max", "read:/**")
    shop.serve()
    assert submit(shop, read, node(AUTH, "x")).status_code == 403
    made = submit(shop, eve, node(AUTH, "proposed"), base=head(shop, eve), key="eves-key-1")
    assert (made.status_code, made.json()["status"]) == (202, "proposed")
    again = submit(shop, eve, node(AUTH, "proposed"), base=head(shop, eve), key="eves-key-1")
    assert again.json() == made.json()
    assert content(shop, eve) == "one"
    place = f"/ws/shop/proposals/{made.json()['proposal']}"
    listed = shop.ask("GET", "/ws/shop/proposals", eve).json()["proposals"]
    assert [(each["actor"], each["status"], each["changes"]) for each in listed] == [
        ("eve", "open", 1)
    ]
    shown = shop.ask("GET", place, ada).json()
    assert shown["diff"][0]["values"][0]["new"] == "proposed"
    for refused in (
        shop.ask("POST", place, eve, json={"action": "accept"}),
        shop.ask("POST", place, eve, json={"action": "reject", "reason": "no"}),
        shop.ask("POST", place, read, json={"action": "comment", "text": "no"}),
        shop.ask("POST", place, ada, json={"action": "withdraw"}),
    ):
        assert refused.status_code == 403, refused.text
    said = shop.ask("POST", place, eve, json={"action": "comment", "text": "please"}).json()
    assert [(each["actor"], each["text"]) for each in said["comments"]] == [("eve", "please")]
    done = shop.ask("POST", place, ada, json={"action": "accept"})
    assert (done.status_code, done.json()["status"]) == (200, "committed")
    assert content(shop, ada) == "proposed"
    newest = shop.ask("GET", "/ws/shop/commits?before=99999&limit=1", ada).json()["commits"][0]
    assert (newest["actor"], "accepted by ada" in newest["message"]) == ("eve", True)
    assert shop.ask("POST", place, ada, json={"action": "accept"}).status_code == 400
    second = submit(shop, eve, node(AUTH, "more")).json()["proposal"]
    third = submit(shop, eve, node(AUTH, "most")).json()["proposal"]
    reason = {"action": "reject", "reason": "not now"}
    told = shop.ask("POST", f"/ws/shop/proposals/{second}", ada, json=reason).json()
    assert (told["status"], told["ended"]["reason"]) == ("rejected", "not now")
    gone = shop.ask("POST", f"/ws/shop/proposals/{third}", eve, json={"action": "withdraw"})
    assert gone.json()["status"] == "withdrawn"
    assert shop.ask("GET", "/ws/shop/proposals", eve).json() == {"proposals": []}
    assert len(shop.ask("GET", "/ws/shop/proposals?status=all", eve).json()["proposals"]) == 3


def test_scopes_of_paths_hold_for_submissions_and_reviews(shop: Team) -> None:
    ops = shop.token("ops", "read:/**", "write:/infra/**")
    eve = shop.token("eve", "read:/**", "propose:/infra/**")
    shop.serve()
    assert submit(shop, ops, node(INFRA, "pg")).status_code == 200
    refused = submit(shop, ops, node(INFRA, "my"), node(AUTH, "no"))
    assert refused.status_code == 403
    assert content(shop, ops, INFRA) == "pg"
    for sly in ("concept://shop/infra/../auth", "concept://shop/infra/%2e%2e/auth"):
        assert submit(shop, eve, node(sly, "no")).status_code == 400
    assert submit(shop, eve, node(AUTH, "no")).status_code == 403
    assert submit(shop, eve, node("concept://shop/infrared", "no")).status_code == 403
    made = submit(shop, eve, node(INFRA, "better"))
    assert made.status_code == 202
    inside = f"/ws/shop/proposals/{made.json()['proposal']}"
    root = shop.token("root", "propose:/**")
    outside = submit(shop, root, node(AUTH, "x")).json()["proposal"]
    asked = shop.ask("POST", f"/ws/shop/proposals/{outside}", ops, json={"action": "accept"})
    assert asked.status_code == 403
    assert shop.ask("POST", inside, ops, json={"action": "accept"}).status_code == 200
    assert content(shop, ops, INFRA) == "better"


def test_a_token_for_some_paths_proposes_and_sees_its_own_proposals(shop: Team) -> None:
    ada, eve = shop.token("ada", "write:/**"), shop.token("eve", "propose:/**")
    narrow = shop.token("narrow", "read:/infra/**", "propose:/infra/**")
    shop.serve()
    submit(shop, ada, node(INFRA, "pg"))
    submit(shop, eve, node(AUTH, "of eve"))
    base = head(shop, narrow)
    for _ in range(2):  # The first answer is lost.
        made = submit(shop, narrow, node(INFRA, "better"), base=base, key="narrow-key-1")
        assert made.status_code == 202, made.text
    assert submit(shop, narrow, node(AUTH, "no")).status_code == 403
    (mine,) = shop.ask("GET", "/ws/shop/proposals", narrow).json()["proposals"]
    assert (mine["id"], mine["base"]) == (made.json()["proposal"], "")
    inside = f"/ws/shop/proposals/{mine['id']}"
    outcome = shop.ask("GET", "/ws/shop/submit/narrow-key-1", narrow)
    assert outcome.json() == made.json()
    seen = shop.ask("GET", inside, narrow).json()
    assert seen["diff"][0]["values"][0]["new"] == "better"
    (other,) = {
        item["id"] for item in shop.ask("GET", "/ws/shop/proposals", ada).json()["proposals"]
    } - {mine["id"]}
    for id_ in (other, other[:6]):
        assert shop.ask("GET", f"/ws/shop/proposals/{id_}", narrow).status_code == 404
    for action in ({"action": "accept"}, {"action": "reject", "reason": "no"}):
        assert shop.ask("POST", inside, narrow, json=action).status_code == 403
    said = shop.ask("POST", inside, narrow, json={"action": "comment", "text": "please"})
    assert said.status_code == 200
    submit(shop, ada, node(f"{INFRA}/more", "meanwhile"))
    stale = submit(shop, narrow, node(INFRA, "even better"), base=base)
    assert stale.status_code == 412
    assert shop.ask("POST", inside, ada, json={"action": "accept"}).status_code == 200
    assert content(shop, narrow, INFRA) == "better"
    ended = shop.ask("GET", inside, narrow).json()
    assert (ended["status"], ended["ended"]["by"], "seq" in ended["ended"]) == (
        "accepted",
        "ada",
        False,
    )


def test_edits_of_the_explorer_become_proposals_of_whoever_may_only_propose(shop: Team) -> None:
    eve, ada = shop.token("eve", "propose:/**"), shop.token("ada", "write:/**")
    reader = shop.token("max", "read:/**")
    shop.serve()
    narrow = shop.token("narrow", "read:/**", "propose:/infra/**")

    def write(token: str, **change: Any) -> Any:
        return shop.ask("POST", "/ws/shop/api/write", token, json=change)

    about = shop.ask("GET", "/ws/shop/api/about", eve).json()
    assert about["writable"] is False
    changes: list[dict[str, Any]] = [
        {"op": "update", "id": AUTH, "name": "Login", "expect_version": 1},
        {"op": "add", "id": "auth/key", "content": "A key.", "relations": []},
        {"op": "link", "source": AUTH, "relation": "depends_on", "target": INFRA, "weight": 0.5},
        {"op": "unlink", "source": AUTH, "relation": "depends_on", "target": INFRA},
        {"op": "move", "id": AUTH, "to": "auth/login"},
        {"op": "delete", "id": "auth/login"},
    ]
    assert {change["op"] for change in changes} == set(about["proposable"])
    for token, words in ((ada, True), (reader, False)):
        told = shop.ask("GET", "/ws/shop/api/about", token).json()
        assert (told["writable"], told["proposable"]) == (words, [])
    submit(shop, ada, node(INFRA, "pg"))
    for change in changes:
        before = shop.ask("GET", "/ws/shop/refs", ada).json()["branches"][0]["commit"]
        answer = write(eve, **change, message=f"please {change['op']}")
        assert answer.status_code == 200, (change, answer.text)
        told = answer.json()
        assert (told["changed"], told["commit"]) == (False, None)
        assert head(shop, ada) == before
        place = f"/ws/shop/proposals/{told['proposal']}"
        shown = shop.ask("GET", place, ada).json()
        assert (shown["actor"], shown["message"]) == ("eve", f"please {change['op']}")
        accepted = shop.ask("POST", place, ada, json={"action": "accept"})
        assert accepted.json()["status"] == "committed", (change, accepted.text)
    with mycel.open(shop.folder / "shop.db", readonly=True) as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        assert {item.uri for item in knowledge} == {INFRA, "concept://shop/auth/key"}
        commits = knowledge.db.history.log(limit=20)
        assert {commit.actor for commit in commits} >= {"eve"}
    stale = write(eve, op="update", id=INFRA, content="x", expect_version=99)
    assert (stale.status_code, stale.json()["error"]["name"]) == (409, "VersionConflict")
    for token, change in (
        (eve, {"op": "archive", "id": INFRA}),
        (eve, {"op": "move", "id": "infra", "to": "ops", "subtree": True}),
        (eve, {"op": "revert", "commit": head(shop, ada)}),
        (reader, {"op": "update", "id": INFRA, "content": "x"}),
        (narrow, {"op": "update", "id": "auth/key", "content": "x"}),
    ):
        assert write(token, **change).status_code == 403, change
    assert write(narrow, op="update", id=INFRA, content="better").status_code == 200


def test_a_proposal_in_conflict_is_not_committed_and_stays_open(shop: Team) -> None:
    eve, ada = shop.token("eve", "propose:/**"), shop.token("ada", "write:/**")
    shop.serve()
    base = head(shop, ada)
    submit(shop, ada, node(AUTH, "two"))
    made = submit(shop, eve, node(AUTH, "eve's"), base=base).json()
    assert made["conflicts"] == 1
    place = f"/ws/shop/proposals/{made['proposal']}"
    refused = shop.ask("POST", place, ada, json={"action": "accept"})
    assert refused.status_code == 409
    assert refused.json()["error"]["data"]["conflicts"][0]["ours"] == "two"
    assert shop.ask("GET", place, ada).json()["status"] == "open"
    assert content(shop, ada) == "two"


def test_many_who_submit_at_once_lose_nothing_and_double_nothing(shop: Team) -> None:
    tokens = [shop.token(f"agent{number}", "write:/**") for number in range(4)]
    shop.serve()
    base = head(shop, tokens[0])

    def work(number: int) -> set[str]:
        statuses = set()
        for turn in range(10):
            change = node(f"n{number}-{turn}", "x")
            how = {"base": base, "on_conflict": "merge", "key": f"key-of-{number}-{turn}"}
            for _ in range(2):
                done = submit(shop, tokens[number], change, **how)
                assert done.status_code == 200, done.text
                statuses.add(done.json()["commit"])
        return statuses

    with ThreadPoolExecutor(4) as pool:
        commits = [commit for made in pool.map(work, range(4)) for commit in made]
    assert len(commits) == len(set(commits)) == 40
    assert shop.server is not None
    assert shop.server.stop()[0] == 0
    with mycel.open(shop.folder / "shop.db") as db:
        assert db.verify().ok
        assert len([entry for entry in db.history.log() if "agent" in entry.actor]) == 40


def test_a_server_that_is_killed_loses_nothing_and_doubles_nothing(shop: Team) -> None:
    tokens = [shop.token(f"agent{number}", "write:/**") for number in range(3)]
    shop.serve()
    acknowledged: SimpleQueue[int] = SimpleQueue()
    is_up = Event()
    is_up.set()

    def work(number: int) -> list[str]:
        commits = []
        for turn in range(12):
            change = node(f"n{number}-{turn}", "x")
            how = {"on_conflict": "merge", "key": f"key-of-{number}-{turn}"}
            while is_up.wait(60):
                try:
                    done = submit(shop, tokens[number], change, **how)
                except httpx.TransportError:
                    continue  # No answer: it is sent again, to the next server.
                if done.status_code != 503:
                    break
            assert done.status_code == 200, done.text
            commits.append(done.json()["commit"])
            acknowledged.put(number)
        return commits

    with ThreadPoolExecutor(3) as pool:
        running = pool.map(work, range(3))
        for _ in range(2):
            for _ in range(9):
                acknowledged.get(timeout=60)
            assert shop.server is not None
            is_up.clear()
            shop.server.end()  # SIGKILL
            shop.serve()
            is_up.set()
        commits = [commit for made in running for commit in made]
    assert len(commits) == len(set(commits)) == 36
    assert shop.server.stop()[0] == 0
    with mycel.open(shop.folder / "shop.db") as db:
        assert db.verify(replay=True).ok
        log = [entry.commit for entry in db.history.log() if "agent" in entry.actor]
        assert sorted(log) == sorted(commits)


CLIENTS = 32
SOAK_S = 60


@pytest.mark.soak
def test_a_minute_of_many_clients_loses_nothing_and_doubles_nothing(
    tmp_path: Path, seed: int
) -> None:
    for options in ((), ("--workers", "2")):
        folder = tmp_path / "-".join(("workspaces", *options))
        folder.mkdir()
        team = Team(folder)
        try:
            team.add("shop")
            submit_for_a_minute(team, options, seed)
        finally:
            team.end()


def submit_for_a_minute(team: Team, options: tuple[str, ...], seed: int) -> None:
    """New nodes and a counter of each client. Some answers are never read, and asked for again."""
    names = [f"agent{number}" for number in range(CLIENTS)]
    tokens = {name: team.token(name, "write:/**") for name in names}
    team.serve(*options)
    assert team.server is not None
    address, until = team.server.address, monotonic() + SOAK_S
    heads: list[tuple[int, str]] = []

    def work(name: str) -> dict[str, str]:
        """The commit of each key that was acknowledged."""
        chance = Random(f"{seed} {name}")
        connection = HTTPConnection(*address, timeout=60)
        headers = {"authorization": f"Bearer {tokens[name]}", "content-type": "application/json"}
        commits: dict[str, str] = {}

        def ask(method: str, path: str, body: Any = None) -> dict[str, Any]:
            sent = None if body is None else json.dumps(body)
            while True:
                connection.request(method, f"/ws/shop{path}", sent, headers)
                answer = connection.getresponse()
                told: dict[str, Any] = json.loads(answer.read())
                if answer.status != 503:  # Other writers took all the time of the request.
                    break
            assert answer.status == 200, told
            return told

        while monotonic() < until:
            turn = len(commits)
            key = f"submission-{name}-{turn}"
            changes = [
                node(f"concept://shop/{name}/n{turn}", "a text"),
                node(f"concept://shop/{name}/count", "count", value=turn),
            ]
            body = {"changes": changes, "key": key, "on_conflict": "merge"}
            lot = chance.random()
            if lot < 0.1:  # The answer is lost: it is asked for again, by the same submission.
                connection.request("POST", "/ws/shop/submit", json.dumps(body), headers)
                connection.close()
            made = ask("POST", "/submit", body)
            commits[key] = made["commit"]
            if 0.1 < lot < 0.2:
                assert ask("GET", f"/submit/{key}")["commit"] == made["commit"]
            elif 0.2 < lot < 0.25:
                (told,) = ask("GET", "/refs")["branches"]
                heads.append((told["entries"], told["journal_root"]))
        connection.close()
        return commits

    with ThreadPoolExecutor(CLIENTS) as pool:
        acknowledged = dict(zip(names, pool.map(work, names), strict=True))
    assert team.server.stop()[0] == 0
    commits = [commit for made in acknowledged.values() for commit in made.values()]
    assert len(commits) == len(set(commits)) > CLIENTS
    with mycel.open(team.folder / "shop.db") as db:
        log = [entry for entry in db.history.log() if entry.actor in tokens]
        assert sorted(commits) == sorted(entry.commit for entry in log)
        shop = mycel.Knowledge(db, workspace="shop")
        for name, made in acknowledged.items():
            assert shop.get(f"{name}/count").properties["value"] == len(made) - 1
            assert all(shop.has(f"{name}/n{turn}") for turn in range(len(made)))
        assert len(heads) > CLIENTS
        root = db.snapshot().overall_root
        for entries, journal_root in heads[:: len(heads) // CLIENTS]:
            proof = db.prove_consistency(entries)
            assert proof.verify(bytes.fromhex(journal_root), root, old_entries=entries), entries
        assert db.verify(replay=True).ok


def test_wrong_submissions_are_refused_and_the_key_stays_free(shop: Team) -> None:
    ada = shop.token("ada", "write:/**")
    shop.serve()
    link = {"subject": AUTH, "predicate": "x y", "object": "concept://shop/b"}
    for change in (
        {},
        {"node": AUTH, "link": link},
        {"node": "kip:C:12"},
        {"node": 7},
        {"node": AUTH, "nonsense": 1},
        {"link": link},
        {"link": {"subject": AUTH}},
        {"link": dict(link, predicate="p"), "weight": 7},
        {"node": AUTH, "attributes": []},
        {"node": "concept://shop/../x"},
    ):
        refused = submit(shop, ada, change, key="one-key-1")
        assert refused.status_code == 400, (change, refused.text)
    for how in (
        {"key": "short"},
        {"base": "nonsense"},
        {"base": 7},
        {"on_conflict": "shout"},
        {"actor": "root"},
        {"changes": []},
        {"changes": "x"},
    ):
        refused = submit(shop, ada, node(AUTH, "x"), **how)
        assert refused.status_code == 400, (how, refused.text)
    unknown = submit(shop, ada, node(AUTH, "x"), base="99999-" + "0" * 64)
    assert unknown.status_code == 404
    assert submit(shop, ada, node(AUTH, "x"), key="one-key-1").status_code == 200
