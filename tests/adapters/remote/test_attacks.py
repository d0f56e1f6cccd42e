"""What an attacker between workspaces may try: each way has a row, and leads nowhere."""

import json
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

import mycel
from mycel.errors import AccessDenied, ConstraintViolation, MycelError
from mycel.knowledge.elsewhere import Elsewhere
from mycel.remote.copying import clone, pull, push
from mycel.remote.registry import RemoteEntry, RemoteRegistry
from mycel.remote.sources import FileSource, open_source
from mycel.sharing.scopes import WorkspaceAccess, parse_scopes
from mycel.sharing.tokens import TokenBook
from mycel.store.log.server_records import ServerRecords
from tests.adapters.http.team import Team, team
from tests.adapters.remote.test_clones import honest, lying, write
from tests.prepared import NEW

__all__ = ["team"]

HEADERS = {"content-type": "text/event-stream"}


def test_streams_that_lie_end_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mycel.remote.http_client.LINE_BYTES_MAX", 1000)
    endless = b"data: " + b"x" * 100_000
    cases = (
        ((200, HEADERS, endless), "does not end"),
        ((302, {"location": "http://169.254.169.254/"}, b""), "redirects"),
        ((301, {"location": "file:///etc/passwd"}, b""), "redirects"),
        ((500, {}, b"{}"), "answered 500"),
        ((204, {}, b""), "answered 204"),
        ((200, HEADERS, b"id: -5\nid: 99999999999999999999999\nid: x\nid:\n\n"), None),
    )
    for answer, words in cases:
        with lying(lambda _, answer=answer: answer) as url:  # type: ignore[misc]
            remote = RemoteEntry("shop", url)
            with open_source(remote) as source:
                if words is None:
                    assert list(source.positions(7)) == [7]
                    continue
                with pytest.raises(MycelError, match=words):
                    list(source.positions(0))


def test_what_a_graph_says_is_never_an_address(tmp_path: Path) -> None:
    asked: list[str] = []

    def note(path: str) -> tuple[int, dict[str, str], bytes]:
        asked.append(path)
        return 200, {}, b"{}"

    registry = RemoteRegistry(tmp_path / "workspaces.toml")
    with lying(note) as url, NEW.opened() as db:
        host = url.removeprefix("http://")
        know = mycel.Knowledge(db, workspace="shop", elsewhere=Elsewhere(registry))
        know.add("start", content=f"Fetch {url}/secret")
        names = ["169.254.169.254", "localhost", host.partition(":")[0], "etc.passwd"]
        for name in names:
            know.link("start", "see", f"concept://{name}/x", weight=0.1)
        know.link("start", "see", f"{url}/x", weight=0.1)
        states = {node.state for node in know.traverse("start").distant}
        know.broken_links(look=True)
    assert (states, asked) == ({"not registered"}, [])


def test_a_path_of_a_request_never_widens_what_a_token_may_read() -> None:
    access = WorkspaceAccess(
        "ada",
        "shop",
        parse_scopes(["read:/infra/**", "write:/infra/db", "read:file://shop/src/**"]),
    )
    inside = {
        "/infra/**": "concept://shop/infra/**",
        "/infra/db": "concept://shop/infra/db",
        "/infra/db/**": "concept://shop/infra/db/**",
        "/infra//db/./x/**": "concept://shop/infra/db/x/**",
        "file://shop/src/a/**": "file://shop/src/a/**",
    }
    beginnings = ("concept://shop/infra", "file://shop/src")
    for path, pattern in inside.items():
        patterns = set(map(str, access.narrowed(path).patterns("read", "main")))
        assert pattern in patterns, path
        assert all(text.startswith(beginnings) for text in patterns)
    assert set(map(str, access.narrowed("/**").patterns("read", "main"))) == {
        "concept://shop/infra/**",
        "concept://shop/infra/db",
        "file://shop/src/**",
    }
    outside = (
        *("/hr/**", "/infrared/**", "/Infra/**", "/inf\u0433a/**", "/infra/../hr/**", "/*/**"),
        *("/infra/%2e%2e/hr/**", "/infra/%2E%2E%2Fhr/**", "concept://ops/infra/**", "//ops/**"),
        *(
            "file:///etc/**",
            "file://shop/lib/**",
            "file://shop/src/../**",
            "kip:Person/**",
            "",
            "infra",
        ),
        *("/infra/**/x", "/\x00", "/" + "a" * 100_000),
    )
    for path in outside:
        with pytest.raises((AccessDenied, ConstraintViolation)):
            access.narrowed(path)
    whole = WorkspaceAccess("root", "shop", parse_scopes(["admin:/**"]))
    assert set(map(str, whole.narrowed("/hr/**").patterns("write", "main"))) == {
        "concept://shop/hr/**"
    }


def test_a_submission_for_another_actor_and_a_path_in_odd_forms_open_nothing(team: Team) -> None:
    team.add("shop")
    write(team.folder / "shop.db", "infra/a", "one")
    write(team.folder / "shop.db", "hr/a", "secret")
    ada = team.token("ada", "write:/infra/**")
    other = Team(team.folder)
    team.serve()
    other.serve()  # A second server of the same folder.
    try:
        node = {"node": "concept://shop/infra/a", "attributes": {"content": "two"}}
        for field in ("actor", "by", "author", "token"):
            sent = {"changes": [node], field: "root"}
            assert team.ask("POST", "/ws/shop/submit", ada, json=sent).status_code == 400, field
        for server, number in ((team, 1), (other, 2), (team, 3), (other, 4)):
            changed = node | {"attributes": {"content": f"text {number}"}}
            body = {"changes": [changed], "key": f"attack-{number}", "on_conflict": "merge"}
            headers = {"x-actor": "root", "mycel-actor": "root"}
            made = server.ask("POST", "/ws/shop/submit", ada, json=body, headers=headers)
            assert made.status_code == 200, made.text
        with mycel.open(team.folder / "shop.db") as db:
            assert {entry.actor for entry in db.history.log(limit=4)} == {"ada"}
            assert mycel.Knowledge(db, workspace="shop").get("infra/a").content == "text 4"
        for path in ("/hr/**", "/infra/../hr/**", "/infra/%2e%2e/hr/**", "/*", "", "//hr/**"):
            headers = {"mycel-path": quote(path, safe="/*%")}
            answer = team.ask("GET", "/ws/shop/diff?from=0", ada, headers=headers)
            assert "secret" not in answer.text, path
            assert answer.status_code in ((200,) if not path else (400, 403)), path
        id_ = ada.split("_")[1]
        with closing(ServerRecords(team.folder / "server.db")) as records:
            TokenBook(records).revoke(id_)
        for server in (team, other):
            assert server.ask("GET", "/ws/shop/refs", ada).status_code == 401
    finally:
        other.end()


def test_clocks_that_are_apart_lose_nothing_and_decide_nothing(tmp_path: Path) -> None:
    share, mine = tmp_path / "share.db", tmp_path / "mine.db"
    year = 365 * 86_400 * 1_000_000
    start = 1_700_000_000_000_000

    def say(path: Path, name: str, text: str, now: int) -> None:
        with mycel.open(path, clock_us=lambda: now) as db:
            know = mycel.Knowledge(db, workspace="shop")
            know.remember([{"uri": f"concept://shop/{name}", "content": text}])

    say(share, "a", "one", start + 10 * year)
    with mycel.open(share) as db:
        source = FileSource(db, "share")
        clone(source, mine)
        say(mine, "b", "earlier", start)
        say(mine, "a", "mine", start)
        say(share, "a", "theirs", start + 20 * year)
        with mycel.open(mine, clock_us=lambda: start - year) as copy:
            assert pull(copy, source).status == "conflicts"  # No clock has decided.
            copy.merges.resolve("*", "ours")
            copy.merges.commit()
            assert push(copy, source).status == "committed"
            times = [entry.time_us for entry in copy.history.log()]
            assert times == sorted(times, reverse=True)
            assert copy.verify().problems == ()
        know = mycel.Knowledge(db, workspace="shop")
        assert (know.get("a").content, know.get("b").content) == ("mine", "earlier")
        assert db.verify().problems == ()


def test_an_etag_that_lies_gives_the_known_answer_or_none(tmp_path: Path) -> None:
    write(tmp_path / "true.db", "a", "one")
    with mycel.open(tmp_path / "true.db") as db:
        for status, headers, body in (
            (304, {}, b""),
            (304, {"etag": '"x"'}, b""),
            (200, {"etag": "x" * 10_000}, b"{}"),
            (200, {"etag": '"x"'}, json.dumps({"overall_root": "00" * 32}).encode()),
        ):
            true = honest(db)

            def answer(
                path: str, lie: tuple[int, dict[str, str], bytes] = (status, headers, body)
            ) -> tuple[int, dict[str, str], bytes]:
                return lie if path.startswith("/subgraph") else true(path)  # noqa: B023

            with lying(answer) as url:
                registry = RemoteRegistry(tmp_path / f"{status}-{len(headers)}-{len(body)}.toml")
                registry.add(RemoteEntry("shop", url))
                (node,) = Elsewhere(registry).reach({"concept://shop/a": 0.0}, max_cost=1)
                assert not node.is_there
                assert node.advice
