"""A server of many workspaces: each is whole, idle ones are closed, and tokens decide."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

import mycel
from mycel.api.open_pool import OpenPool
from mycel.sharing.scopes import parse_scope
from mycel.sharing.tokens import TokenBook
from mycel.store.log.server_records import ServerRecords
from tests.adapters.http.conftest import NAMES, plant
from tests.adapters.http.team import Team, team

__all__ = ["team"]

PLANT = 'UPSERT { CONCEPT { {type: "$ConceptType", name: "Plant"} } }'
NODE = 'UPSERT { CONCEPT { {type: "Concept", name: :uri} SET ATTRIBUTES {content: :text} } }'
CONCEPT = 'UPSERT { CONCEPT { {type: "$ConceptType", name: "Concept"} } }'


def test_each_workspace_has_what_a_server_of_one_graph_has(team: Team) -> None:
    team.add("shop", "ops")
    (team.folder / "notes.txt").write_text("no graph")
    (team.folder / "UPPER.db").write_text("no name of a workspace")
    (team.folder / "link.db").symlink_to(team.folder / "shop.db")
    team.serve()
    listed = team.ask("GET", "/ws").json()["workspaces"]
    assert [each["workspace"] for each in listed] == ["ops", "shop"]
    for name in ("shop", "ops"):
        assert team.kip("", name, PLANT).status_code == 200
        assert team.kip("", name, plant(f"Oak of {name}")).status_code == 200
    assert team.kip("", "shop", NAMES).json()["result"] == ["Oak of shop"]
    assert team.kip("", "ops", NAMES).json()["result"] == ["Oak of ops"]
    made = team.ask("POST", "/ws/shop/branches", json={"name": "draft"})
    assert made.status_code == 201
    assert team.ask("POST", "/ws/shop/kip?branch=draft", json={"command": plant("Fern")}).is_success
    merged = team.ask("POST", "/ws/shop/merges", json={"source": "draft"})
    assert merged.json()["status"] == "merged"
    assert team.kip("", "shop", NAMES).json()["result"] == ["Fern", "Oak of shop"]
    info = team.ask("GET", "/ws/shop/").json()
    assert info["endpoints"]["kip"].endswith("/ws/shop/kip")
    page = team.ask("GET", "/ws/shop/", headers={"accept": "text/html"})
    assert page.status_code == 307
    assert page.headers["location"].endswith("/ws/shop/ui/")
    assert team.ask("GET", "/ws/shop/ui/").status_code == 200
    assert team.ask("GET", "/ws/shop/api/overview").status_code == 200
    assert team.ask("GET", "/ws/shop/queries").json() == {"queries": []}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"accept": "application/json, text/event-stream"}
    tools = team.ask("POST", "/ws/ops/mcp", json=call, headers=accept)
    assert '"tools"' in tools.text
    for path in (
        "/ws/link/",
        "/ws/UPPER/",
        "/ws/server/",
        "/ws/..%2Fshop/",
        "/ws/nowhere/",
        "/ws//",
    ):
        assert team.ask("GET", path).status_code == 404, path
    paths = team.ask("GET", "/openapi.json").json()["paths"]
    assert {"/ws", "/ws/{workspace}/kip", "/ws/{workspace}/merges/{name}"} <= paths.keys()


def test_a_workspace_is_created_by_an_administrator_alone(team: Team) -> None:
    admin = team.token("root", "admin:/**")
    reader = team.token("eve", "read:/**", "write:/**")
    team.serve()
    assert team.ask("POST", "/ws", reader, json={"name": "shop"}).status_code == 403
    assert team.ask("POST", "/ws", admin, json={"name": "shop"}).status_code == 201
    assert team.ask("POST", "/ws", admin, json={"name": "shop"}).status_code == 409
    for name in ("server", "a/b", "../x", "A", "x..y", ""):
        assert team.ask("POST", "/ws", admin, json={"name": name}).status_code == 400, name
    assert team.kip(admin, "shop", PLANT).status_code == 200


def test_a_first_submission_creates_a_workspace_where_the_server_allows_it(team: Team) -> None:
    ada, ops = team.token("ada", "write:/**"), team.token("ops", "write:/infra/**")
    eve = team.token("eve", "read:/**", "propose:/**")
    body = {"changes": [{"node": "concept://new/infra/a", "attributes": {"content": "first"}}]}
    team.serve()
    assert team.ask("POST", "/ws/new/submit", ada, json=body).status_code == 404
    assert team.server is not None
    team.server.stop()
    team.serve("--create-workspaces")
    for token in (ops, eve):
        assert team.ask("POST", "/ws/new/submit", token, json=body).status_code == 404
    for name in ("server", "a%2Fb", "UPPER"):  # They cannot name a workspace.
        refused = team.ask("POST", f"/ws/{name}/submit", ada, json=body)
        assert refused.status_code in (400, 404), name
    assert team.ask("GET", "/ws/new/refs", ada).status_code == 404
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(
            lambda number: team.ask(
                "POST",
                "/ws/new/submit",
                ada,
                json=body | {"key": f"number-{number}", "on_conflict": "merge"},
            ),
            range(4),
        )
        assert {answer.status_code for answer in answers} == {200}
    listed = team.ask("GET", "/ws", eve).json()["workspaces"]
    assert [item["workspace"] for item in listed] == ["new"]


def commits_in(metrics: str) -> int:
    (line,) = (line for line in metrics.splitlines() if line.startswith("mycel_commits_total "))
    return int(line.split()[1])


def test_a_token_sees_and_does_what_its_scopes_say_and_nothing_else(team: Team) -> None:
    team.add("shop", "ops")
    admin = team.token("root", "admin:/**")
    reader = team.token("ada", "read:/**", workspaces=["shop"])
    proposer = team.token("bob", "read:/**", "propose:/**")
    writer = team.token("carol", "read:/**", "write:/infra/**@main", workspaces=["shop"])
    narrow = team.token("dan", "read:/infra/**")
    team.serve()
    assert team.kip(admin, "shop", CONCEPT).is_success
    for path in (
        "/",
        "/ws",
        "/ws/shop/",
        "/ws/shop/api/overview",
        "/openapi.json",
        "/metrics",
        "/status",
    ):
        assert team.ask("GET", path).status_code == 401, path
    assert [w["workspace"] for w in team.ask("GET", "/ws", reader).json()["workspaces"]] == ["shop"]
    hidden = team.ask("GET", "/ws/ops/", reader)
    absent = team.ask("GET", "/ws/oqs/", reader)
    assert hidden.status_code == absent.status_code == 404
    assert hidden.text.replace("ops", "") == absent.text.replace("oqs", "")
    inside = {"uri": "concept://shop/infra/db", "text": "inside"}
    outside = {"uri": "concept://shop/infrared", "text": "outside"}
    for token in (reader, proposer):
        assert team.kip(token, "shop", NODE, **inside).status_code == 403
        for path, body in (
            ("branches", {"name": "mine"}),
            ("merges", {"source": "draft"}),
        ):
            assert team.ask("POST", f"/ws/shop/{path}", token, json=body).status_code == 403, path
    write = {"action": "put", "uri": "concept://shop/x"}
    assert team.ask("POST", "/ws/shop/api/write", reader, json=write).status_code == 403
    assert team.kip(writer, "shop", NODE, **inside).status_code == 200
    assert team.kip(writer, "shop", NODE, **outside).status_code == 403
    # What is refused leaves nothing, a mixed transaction too.
    both = f'{NODE[:-2]} CONCEPT {{ {{type: "Concept", name: "concept://shop/other"}} }} }}'
    assert team.kip(writer, "shop", both, **inside | {"text": "changed"}).status_code == 403
    known = 'FIND(?c.name, ?c.attributes.content) WHERE { ?c {type: "Concept"} }'
    assert team.kip(reader, "shop", known).json()["result"] == [[inside["uri"]], ["inside"]]
    # Out of the scope by a move, into it by a move, and links from elsewhere.
    assert team.kip(admin, "shop", NODE, **outside).is_success
    for command in (
        'UPDATE ?c SET ATTRIBUTES {content: "x"} WHERE { ?c {name: "concept://shop/infrared"} }',
        'DELETE CONCEPT ?c DETACH WHERE { ?c {name: "concept://shop/infrared"} }',
    ):
        assert team.kip(writer, "shop", command).status_code == 403, command
    # The other branch is not in the scope.
    assert team.ask("POST", "/ws/shop/branches", admin, json={"name": "draft"}).status_code == 201
    on_draft = {"command": NODE, "parameters": inside | {"text": "draft"}}
    assert team.ask("POST", "/ws/shop/kip?branch=draft", writer, json=on_draft).status_code == 403
    # A token for some paths reads these alone (test_scoped_reading); other branches are refused.
    assert team.kip(narrow, "shop", known).json()["result"] == [[inside["uri"]], ["inside"]]
    refused = team.ask("GET", "/ws/shop/api/overview?branch=draft", narrow)
    assert refused.status_code == 403
    assert "read:/**" in refused.json()["error"]["hint"]
    # The author is that of the token, whatever the client says.
    log = team.ask(
        "POST", "/ws/shop/kip", reader, json={"method": "list_logs", "params": {"limit": 5}}
    )
    actors = {entry["actor"] for entry in log.json()["result"]}
    assert actors <= {"root", "carol", "$system", "$self"}
    assert "carol" in actors
    audit = team.ask("GET", "/audit", admin).json()["entries"]
    refusals = [each for each in audit if each["status"] == 403 and each["actor"] == "carol"]
    assert refusals
    assert "concept://shop/infrared" in "".join(each["reason"] for each in refusals)
    assert team.ask("GET", "/audit", writer).status_code == 403
    metrics = team.ask("GET", "/metrics", admin).text
    assert 'mycel_refusals_total{status="403"}' in metrics
    assert "shop" not in metrics
    assert "mycel_bytes " in metrics
    changed = inside | {"text": "counted"}
    refused = outside | {"text": "refused"}
    assert team.kip(writer, "shop", NODE, **refused).status_code == 403
    assert team.kip(writer, "shop", NODE, **changed).status_code == 200
    assert team.kip(writer, "shop", NODE, **changed).status_code == 200  # It changes nothing.
    assert commits_in(team.ask("GET", "/metrics", admin).text) == commits_in(metrics) + 1
    assert "mycel_streams 0" in metrics
    assert team.ask("GET", "/status", writer).status_code == 403
    status = team.ask("GET", "/status", admin).json()
    sizes = {row["workspace"]: (row["bytes"], row["is_open"]) for row in status["workspaces"]}
    assert sizes.keys() == {"shop", "ops"}
    assert all(size > 10_000 for size, _ in sizes.values())
    assert sizes["shop"][1]
    doors = {row["door"]: row for row in status["doors"]}
    assert doors["kip"]["requests"] >= 2
    assert doors["audit"]["refused"] == 1
    assert doors["kip"]["half_within_s"] <= doors["kip"]["most_within_s"]
    assert [team.ask("GET", "/ws", token).json()["is_admin"] for token in (admin, writer)] == [
        *(True, False)
    ]


def test_a_branch_that_a_token_may_not_see_is_not_there(team: Team) -> None:
    team.add("shop")
    admin = team.token("root", "admin:/**")
    main_only = team.token("eve", "write:/**@main")
    team.serve()
    assert team.kip(admin, "shop", PLANT).is_success
    for name in ("secret", "plan"):
        assert team.ask("POST", "/ws/shop/branches", admin, json={"name": name}).is_success
    told = {"command": plant("Hidden")}
    assert team.ask("POST", "/ws/shop/kip?branch=secret", admin, json=told).is_success
    branches = team.ask("GET", "/ws/shop/branches", main_only).json()["branches"]
    assert [each["branch"] for each in branches] == ["main"]

    def answers(branch: str) -> list[tuple[int, str]]:
        asked = [
            team.ask("GET", f"/ws/shop/?branch={branch}", main_only),
            team.ask("GET", f"/ws/shop/api/overview?branch={branch}", main_only),
            team.ask("GET", f"/ws/shop/api/changes?branch={branch}", main_only),
            team.ask("POST", f"/ws/shop/kip?branch={branch}", main_only, json={"command": NAMES}),
            team.ask("POST", "/ws/shop/merges", main_only, json={"source": branch}),
            team.ask("DELETE", f"/ws/shop/branches/{branch}", main_only),
            team.ask("GET", f"/ws/shop/api/diff?from={branch}", main_only),
        ]
        return [(each.status_code, each.text.replace(branch, "NAME")) for each in asked]

    there, absent = answers("secret"), answers("secrets")
    assert there == absent
    assert all(status in (400, 404) for status, _ in there)
    assert not any("plan" in text.replace("plants", "") for _, text in there)


def test_tokens_that_do_not_count_open_nothing(team: Team, tmp_path: Path) -> None:
    team.add("shop")
    good = team.token("ada", "read:/**")
    gone = team.token("bob", "read:/**")
    old = team.token("carol", "read:/**", lasts_s=-1)
    other = tmp_path / "other"
    other.mkdir()
    foreign = Team(other).token("ada", "read:/**")
    team.serve()
    assert team.ask("GET", "/ws/shop/", gone).is_success
    with closing(ServerRecords(team.folder / "server.db")) as records:
        book = TokenBook(records)
        book.revoke(gone.split("_")[1])
        rotated, _ = book.rotate(good.split("_")[1])
    assert team.ask("GET", "/ws/shop/", rotated).is_success
    last = "0" if rotated[-1] != "0" else "1"
    spliced = rotated.replace(rotated.split("_")[1], foreign.split("_")[1])
    wrong = [good, gone, old, foreign, rotated[:-1], rotated[:-1] + last, rotated + "0", spliced]
    wrong += [rotated.lower(), "myc_", "", "eyJhbGciOiJub25lIn0.e30."]
    for text in wrong:
        assert team.ask("GET", "/ws/shop/", text).status_code in (401, 429), text
    content = b"".join(path.read_bytes() for path in team.folder.glob("server.db*"))
    for text in (good, gone, rotated):
        assert text.split("_")[2][:20].encode() not in content
    assert (team.folder / "server.db").stat().st_mode & 0o077 == 0


def test_limits_of_a_token_hold_for_it_alone(team: Team) -> None:
    team.add("shop")
    slow = team.token("slow", "read:/**", requests_per_minute=3, body_bytes_max=200)
    other = team.token("other", "read:/**")
    team.serve()
    big = {"command": NAMES, "parameters": {"x": "y" * 300}}
    assert team.ask("POST", "/ws/shop/kip", slow, json=big).status_code == 413
    statuses = [team.ask("GET", "/ws", slow).status_code for _ in range(4)]
    assert 429 in statuses
    assert team.ask("GET", "/ws", slow).headers["retry-after"]
    assert team.ask("GET", "/ws", other).status_code == 200


def test_scopes_are_normal_forms_and_lead_nowhere_else() -> None:
    for text in (
        *("read:/a/../b/**", "read:/a/%2e%2e/b", "write:/a%2fb/**", "write:/a\\b", "read:a/**"),
        *("read:/", "read:", "read:/**/x", "read:/a*", "delete:/**", "READ:/**", "read:/a@../x"),
        *("read://../x/**", "read://UP PER/**", "read:file:///etc/**"),
    ):
        with pytest.raises(mycel.errors.MycelError):
            parse_scope(text)
    pattern = parse_scope("write:/infra//db/./x/**").pattern("shop")
    assert pattern.covers("concept://shop/infra/db/x/y")
    for uri in (
        *("concept://shop/infra/db/xy", "concept://shop/infra/db", "concept://shop/Infra/db/x"),
        *("concept://shoq/infra/db/x", "file://shop/infra/db/x", "kip:Concept/infra/db/x"),
        "concept://shop/infra/db/х",
    ):
        assert not pattern.covers(uri), uri
    assert parse_scope("read:/infra").pattern("shop").covers("concept://shop/infra")
    assert not parse_scope("read:/infra").pattern("shop").covers("concept://shop/infra/db")
    assert parse_scope("read:kip:Person/**").pattern("shop").covers("kip:Person/Ada")


def test_what_nobody_uses_is_closed_and_what_is_used_is_not() -> None:
    closed: list[str] = []

    class Thing:
        def __init__(self, name: str) -> None:
            self.name = name

        def close(self) -> None:
            closed.append(self.name)

    open_ = OpenPool[Thing]("things", idle_s=0.01, open_max=2)
    with open_.using("a", lambda: Thing("a")) as first:
        with open_.using("b", lambda: Thing("b")):
            pass
        with open_.using("c", lambda: Thing("c")):
            pass
        assert closed == ["b"]
        assert open_.take_open("a") is first
        open_.give(first)
        with (
            open_.using("c", lambda: Thing("again")),
            pytest.raises(mycel.errors.ResourceExhausted),
            open_.using("d", lambda: Thing("d")),
        ):
            pass
    while len(open_):
        time.sleep(0.005)
    assert sorted(closed) == ["a", "b", "c"]
    with pytest.raises(ZeroDivisionError), open_.using("x", lambda: Thing(str(1 // 0))):
        pass
    open_.close()
    with pytest.raises(mycel.errors.DatabaseClosed):
        open_.take("a", lambda: Thing("a"))


def test_a_workspace_that_is_removed_or_damaged_is_said_so_and_others_go_on(team: Team) -> None:
    team.add("shop", "ops")
    (team.folder / "bad.db").write_bytes(b"no graph at all" * 100)
    team.serve()
    assert team.kip("", "shop", PLANT).is_success
    assert team.ask("GET", "/ws/bad/").status_code >= 400
    (team.folder / "shop.db").rename(team.folder / "gone")
    assert team.ask("GET", "/ws/shop/").status_code == 404
    shutil.copy(team.folder / "ops.db", team.folder / "new.db")
    assert team.ask("GET", "/ws/new/").is_success
    assert team.ask("GET", "/ws/ops/").is_success
