"""Clones of a workspace on a real server: exact, incremental, merged, pushed, and suspicious."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import cbor2
import pytest

import mycel
from mycel.errors import (
    HistoryRewritten,
    MycelError,
    NotFound,
    RemoteFailed,
    Unsupported,
    VersionConflict,
)
from mycel.knowledge.node_values import NewRelation
from mycel.remote import pages
from mycel.remote.copying import PARTIAL, clone, pull, push
from mycel.remote.http_client import HttpClient
from mycel.remote.registry import RemoteEntry
from mycel.remote.sources import FileSource, ServerSource, open_source
from mycel.store.write.journal_copy import CopiedPage
from tests.adapters.http.team import Team, team

__all__ = ["team"]


def write(path: Path, name: str, text: str, actor: str = "root") -> None:
    with mycel.open(path, actor=actor) as db:
        mycel.Knowledge(db, workspace="shop").remember([{"uri": name, "content": text}])


@pytest.fixture
def shop(team: Team) -> Team:
    """A server with a workspace in which everything has happened."""
    team.add("shop")
    with mycel.open(team.folder / "shop.db", actor="root") as db:
        know = mycel.Knowledge(db, workspace="shop")
        know.remember(
            [{"uri": f"n{number}", "content": f"text {number}"} for number in range(20)],
            [
                {"source": f"n{number}", "relation": "next", "target": f"n{number + 1}"}
                for number in range(19)
            ],
        )
        know.link("n1", "wants", "missing")
        know.move("n3", "m3")
        know.delete("n5", reason="gone")
        know.add("n5", content="again")
        know.add("missing", content="found")
        know.update("n7", content="changed", metadata={"archived_at": "2026-01-01T00:00:00Z"})
        for begins in ("2019-01-01", "2024-01-01"):
            dates = {"valid_from": begins, "valid_until": f"{begins[:3]}9-09-09"}
            know.remember([], [NewRelation("n12", "next", "n13", metadata=dates)])
        db.schema.apply("node Part { name: String @key\n size: I32 @index }")
        db.write(lambda tx: tx.put_concept("Part", "bolt", {"name": "bolt", "size": 3}))
        db.write(lambda tx: tx.update(("Part", "bolt"), attributes={"size": 4}))
        db.purge(("Concept", "concept://shop/n9"), "asked for")
        db.history.tag("v1")
        know.move("m3", "n3")
    team.serve()
    return team


def entry(shop: Team, *scopes: str, monkeypatch: pytest.MonkeyPatch) -> RemoteEntry:
    assert shop.server is not None
    monkeypatch.setenv("SHOP_TOKEN", shop.token("ada", *scopes or ("write:/**",)))
    return RemoteEntry("shop", f"{shop.server.url}/ws/shop", token_env="SHOP_TOKEN")


def test_a_clone_is_exact_and_goes_on_where_it_was_cut(
    shop: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = entry(shop, monkeypatch=monkeypatch)
    target = tmp_path / "mine.db"
    monkeypatch.setattr(pages, "JOURNAL_BYTES_MAX", 1)

    class CutError(Exception):
        """The connection is cut."""

    def cut(after: int, _head: int) -> None:
        if after > 50:
            raise CutError

    with mycel.open(shop.folder / "shop.db") as original:
        with pytest.raises(CutError):
            clone(FileSource(original, "shop"), target, progress=cut)
        assert not target.exists()
        reached: list[int] = []
        with open_source(remote) as source:
            head = clone(source, target, progress=lambda after, _: reached.append(after))
        assert reached[0] > 50
        assert not target.with_name(target.name + PARTIAL).exists()
        with mycel.open(target, create=False) as copy:
            assert copy.snapshot() == original.snapshot()
            assert next(copy.history.log()).commit == head.commit
            assert copy.history.tags() == original.history.tags()
            assert copy.verify().problems == ()
            assert copy.search("changed") == original.search("changed")
            find = 'FIND(?p.attributes.size) WHERE { ?p {type: "Part", name: "bolt"} }'
            assert copy.execute(find).value == original.execute(find).value == [4]
            for year, found in ((2018, 0), (2019, 1), (2020, 0), (2024, 1)):
                find = f'FIND(COUNT(?l)) FOR TIME "{year}-02-02" WHERE {{ ?l (?a, "next", ?b)'
                find += ' FILTER(?a.name == "concept://shop/n12") }'
                assert copy.execute(find).value == original.execute(find).value == found


def test_a_pull_brings_what_is_missing_and_nothing_else(
    shop: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = entry(shop, monkeypatch=monkeypatch)
    target = tmp_path / "mine.db"
    with open_source(remote) as source:
        clone(source, target)
    with mycel.open(shop.folder / "shop.db", actor="root") as db:
        know = mycel.Knowledge(db, workspace="shop")
        for number in range(100):
            know.remember([{"uri": f"new{number}", "content": "x" * 100}])
        original = db.snapshot()
    with mycel.open(target) as copy, open_source(remote) as source:
        result = pull(copy, source)
        assert (result.status, copy.snapshot()) == ("forward", original)
        assert source.received < 200_000
        assert pull(copy, source).status == "up_to_date"
        assert copy.verify().problems == ()
        know = mycel.Knowledge(copy, workspace="shop")
        assert know.get("new99").content == "x" * 100
        know.add("mine", content="after a pull the clone is written as ever")
        assert copy.verify().problems == ()


def test_two_clones_push_pull_and_merge(
    shop: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = entry(shop, monkeypatch=monkeypatch)
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    for target in (one, two):
        with open_source(remote) as source:
            clone(source, target)
    write(one, "a", "of one")
    write(two, "b", "of two")
    with mycel.open(one) as copy, open_source(remote) as source:
        assert push(copy, source).status == "committed"
        assert pull(copy, source).status == "merged"
        assert push(copy, source).status == "unchanged"
    with mycel.open(two, actor="ben") as copy, open_source(remote) as source:
        with pytest.raises(VersionConflict, match="not here"):
            push(copy, source)
        assert pull(copy, source).status == "merged"
        assert push(copy, source).status == "committed"
        with pytest.raises(VersionConflict, match="not here"):
            push(copy, source)
        assert pull(copy, source).status == "merged"
        assert pull(copy, source).status == "up_to_date"
        assert push(copy, source).status == "unchanged"
    with mycel.open(shop.folder / "shop.db") as db:
        know = mycel.Knowledge(db, workspace="shop")
        assert (know.get("a").content, know.get("b").content) == ("of one", "of two")
        assert {entry.actor for entry in db.history.log(limit=2)} == {"ada"}
    write(two, "a", "changed by two")
    write(shop.folder / "shop.db", "a", "changed there")
    with mycel.open(two) as copy, open_source(remote) as source:
        result = pull(copy, source)
        assert result.status == "conflicts"
        copy.merges.resolve("*", "theirs")
        copy.merges.commit()
        assert mycel.Knowledge(copy, workspace="shop").get("a").content == "changed there"
        assert copy.verify().problems == ()


def test_one_who_may_only_propose_pushes_a_proposal(
    shop: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = entry(shop, "propose:/**", monkeypatch=monkeypatch)
    target = tmp_path / "mine.db"
    with open_source(remote) as source:
        clone(source, target)
    write(target, "idea", "what if")
    with mycel.open(target) as copy, open_source(remote) as source:
        result = push(copy, source)
        assert (result.status, push(copy, source).answer) == ("proposed", result.answer)
    with mycel.open(shop.folder / "shop.db") as db:
        (proposal,) = db.proposals
        assert db.proposals.accept(proposal).status == "committed"
        assert mycel.Knowledge(db, workspace="shop").get("idea").content == "what if"


def test_what_a_restored_backup_lacks_is_pushed_again(tmp_path: Path) -> None:
    share, mine = tmp_path / "share.db", tmp_path / "mine.db"
    write(share, "a", "one")
    with mycel.open(share) as db:
        clone(FileSource(db, "shop"), mine)
    write(share, "b", "there")
    write(mine, "c", "here")
    with mycel.open(mine) as copy, mycel.open(share) as db:
        assert pull(copy, FileSource(db, "shop")).status == "merged"
        db.backup(tmp_path / "backup.db")
        assert push(copy, FileSource(db, "shop")).status == "committed"
        assert pull(copy, FileSource(db, "shop")).status == "merged"
    with mycel.open(mine) as copy, mycel.open(tmp_path / "backup.db") as db:
        source = FileSource(db, "shop")
        assert pull(copy, source).status == "up_to_date"
        assert push(copy, source).status == "committed"
        assert mycel.Knowledge(db, workspace="shop").get("c").content == "here"
        assert pull(copy, source).status == "merged"
        assert push(copy, source).status == "unchanged"
        db.backup(tmp_path / "second.db")
        mycel.Knowledge(copy, workspace="shop").add("d", content="lost there")
        assert push(copy, source).status == "committed"
        assert pull(copy, source).status == "merged"
        head = source.head()
    write(tmp_path / "second.db", "e", "written after the second backup")
    with mycel.open(mine) as copy, mycel.open(tmp_path / "second.db") as db:
        source = FileSource(db, "shop")
        with pytest.raises(HistoryRewritten):
            pull(copy, source, pinned=(head.entries, head.journal_root))
        assert pull(copy, source).status == "merged"
        assert push(copy, source).status == "committed"
        assert pull(copy, source).status == "merged"
        here, there = (mycel.Knowledge(graph, workspace="shop") for graph in (copy, db))
        assert [here.get(name).content for name in "abcde"] == [
            there.get(name).content for name in "abcde"
        ]
        assert copy.verify().ok
    write(tmp_path / "other.db", "z", "another history")
    with mycel.open(mine) as copy, mycel.open(tmp_path / "other.db") as db:
        before = copy.snapshot()
        with pytest.raises(HistoryRewritten, match="no commit"):
            pull(copy, FileSource(db, "shop"))
        assert copy.snapshot() == before


def test_a_file_is_a_remote_without_a_server(tmp_path: Path) -> None:
    share, mine = tmp_path / "share.db", tmp_path / "mine.db"
    write(share, "a", "one")
    remote = RemoteEntry("share", str(share))
    with open_source(remote) as source:
        clone(source, mine)
    write(share, "a", "two")
    with mycel.open(mine) as copy, open_source(remote) as source:
        assert pull(copy, source).status == "forward"
        mycel.Knowledge(copy, workspace="shop").add("b", content="mine")
        assert push(copy, source).status == "committed"
    with mycel.open(share) as db:
        assert mycel.Knowledge(db, workspace="shop").get("b").content == "mine"
        assert db.verify().problems == ()


def test_what_was_purged_there_has_to_be_cloned_again(tmp_path: Path) -> None:
    share, mine = tmp_path / "share.db", tmp_path / "mine.db"
    write(share, "a", "secret")
    with mycel.open(share) as db:
        source = FileSource(db, "share")
        clone(source, mine)
        db.purge(("Concept", "concept://shop/a"), "asked for")
        with mycel.open(mine) as copy:
            before = copy.snapshot()
            with pytest.raises(Unsupported, match="purged"):
                pull(copy, source)
            assert copy.snapshot() == before
        clone(source, tmp_path / "again.db")
        with mycel.open(tmp_path / "again.db") as copy:
            assert copy.snapshot() == db.snapshot()
            assert copy.verify().problems == ()


def rename(db: mycel.Graph, kept: str, _link: str) -> None:
    db.write(lambda tx: tx.move(kept, name=f"renamed {kept}"))


def rename_and_edit(db: mycel.Graph, kept: str, link: str) -> None:
    rename(db, kept, link)
    db.write(lambda tx: tx.update(kept, attributes={"n": 2}))


def exchange_names(db: mycel.Graph, kept: str, link: str) -> None:
    other = db.get(link).object
    (name, taken) = (db.get(each).name for each in (kept, other))
    steps = [(kept, None, "between"), (other, None, name), (kept, None, taken)]
    db.write(lambda tx: tx.move_concepts(steps))


def relink(db: mycel.Graph, _kept: str, link: str) -> None:
    db.write(lambda tx: tx.relink(link, object_=("Thing", "third")))


def relink_and_rename(db: mycel.Graph, kept: str, link: str) -> None:
    relink(db, kept, link)
    rename(db, kept, link)


def change_predicate(db: mycel.Graph, _kept: str, link: str) -> None:
    db.write(lambda tx: tx.move(link, predicate="likes"))


def rename_forget_and_rename(db: mycel.Graph, kept: str, link: str) -> None:
    rename_and_edit(db, kept, link)
    db.scrub(db.snapshot().entries, "first")
    db.write(lambda tx: tx.move(kept, name="once more"))


def rename_and_remove_a_link(db: mycel.Graph, kept: str, link: str) -> None:
    rename_and_edit(db, kept, link)
    db.write(lambda tx: tx.retire(link))


def take_the_former_name(db: mycel.Graph, kept: str, link: str) -> None:
    name = db.get(kept).name
    rename(db, kept, link)
    db.write(lambda tx: tx.put_concept("Thing", name))
    db.write(lambda tx: tx.update(("Thing", name), attributes={"n": 3}))


def test_a_graph_with_a_forgotten_past_is_cloned_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [rename, rename_and_edit, exchange_names, relink, relink_and_rename]
    changes += [change_predicate, rename_forget_and_rename, rename_and_remove_a_link]
    changes.append(take_the_former_name)
    with mycel.open(tmp_path / "share.db", durability="off", core_capsules=False) as db:
        for kind, name in (
            ("Concept", "Thing"),
            ("Proposition", "knows"),
            ("Proposition", "likes"),
        ):
            db.write(lambda tx, k=kind, n=name: tx.put_concept(f"${k}Type", n))
        third = db.write(lambda tx: tx.put_concept("Thing", "third"))
        for change in changes:
            case = change.__name__
            kept, other = (
                db.write(lambda tx, n=name: tx.put_concept("Thing", n))
                for name in (f"kept {case}", f"other {case}")
            )
            link = db.add_edge(kept, "knows", other, data={"n": 0})
            db.add_edge(link, "likes", third)
            db.write(lambda tx, k=kept: tx.update(k, attributes={"n": 1}))
            db.add_edge(third, "knows", kept)
            change(db, kept, link)
            db.add_edge(other, "likes", third)
        source = FileSource(db, "share")
        db.scrub(db.snapshot().entries, "the law")
        for number, page_bytes in enumerate((1, pages.JOURNAL_BYTES_MAX)):
            monkeypatch.setattr(pages, "JOURNAL_BYTES_MAX", page_bytes)
            clone(source, tmp_path / f"{number}.db")
            with mycel.open(tmp_path / f"{number}.db") as copy:
                assert copy.snapshot() == db.snapshot()
                assert copy.verify(replay=True).problems == ()
                assert list(copy.edges_in(third)) == list(db.edges_in(third))
            if number == 0:
                db.purge(("Thing", "kept relink"), "asked for")
                db.purge(kept, "asked for")  # That of the last case.
        monkeypatch.setattr(pages, "JOURNAL_BYTES_MAX", 1)
        db.write(lambda tx: tx.put_concept("Thing", "later"))
        db.purge(("Thing", "later"), "asked for")
        with mycel.open(tmp_path / "0.db") as copy:
            before = copy.snapshot()
            with pytest.raises(Unsupported, match="purged"):
                pull(copy, source)
            assert copy.snapshot() == before, "nothing came before the refusal"
            assert copy.verify().problems == ()


def purging(db: mycel.Graph, name: str) -> Callable[[int, int], None]:
    """Purge a thing once, when a part of the graph was copied."""
    doomed = [name]

    def purge(after: int, _head: int) -> None:
        if after >= 4 and doomed:
            db.purge(("Thing", doomed.pop()), "asked for")

    return purge


def test_what_is_purged_while_a_clone_is_made_is_not_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "JOURNAL_BYTES_MAX", 1)
    for name in ("first", "last"):
        with mycel.open(tmp_path / f"{name}.db", core_capsules=False) as db:
            db.write(lambda tx: tx.put_concept("$ConceptType", "Thing"))
            for thing in ("first", "between", "last"):
                db.write(lambda tx, t=thing: tx.put_concept("Thing", t, {"text": "secret"}))
            source = FileSource(db, "share")
            head = source.head().entries
            clone(source, tmp_path / f"{name}-mine.db", progress=purging(db, name))
            assert db.snapshot().entries > head
            with mycel.open(tmp_path / f"{name}-mine.db") as copy:
                assert copy.snapshot() == db.snapshot()
                assert copy.verify(replay=True).problems == ()


# A remote that lies.

Answer = Callable[[str], tuple[int, dict[str, str], bytes]]


@contextmanager
def lying(answer: Answer) -> Iterator[str]:
    """A server that answers as a function says."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "content-length" not in headers:
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def dripping() -> Iterator[str]:
    """A server that sends a byte of a header now and then, without an end."""
    is_over = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nx: ")
            with suppress(OSError):
                while not is_over.wait(0.05):
                    connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            is_over.set()
            thread.join()


def honest(db: mycel.Graph) -> Answer:
    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        name, _, query = path.partition("?")
        given = dict(part.split("=") for part in query.split("&") if part)
        match name:
            case "/refs":
                payload = {"workspace": "shop", "can": ["read"]} | pages.refs(db)
                return 200, {}, json.dumps(payload).encode()
            case "/purges":
                return 200, {}, pages.purges_page(db, int(given["after"]))
            case "/journal":
                return 200, {}, pages.journal_page(db, int(given["after"]))
            case _:
                proof = pages.consistency(db, int(given["from"]), int(given["to"])).to_dict()
                return 200, {}, json.dumps(proof).encode()

    return answer


def altered(db: mycel.Graph, place: str, change: Callable[[bytes], bytes]) -> Answer:
    true = honest(db)

    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        status, headers, body = true(path)
        return status, headers, change(body) if path.startswith(place) else body

    return answer


def with_other_text(body: bytes) -> bytes:
    return body.replace(b"one", b"two")


def without_last(body: bytes) -> bytes:
    page = cbor2.loads(body)
    page["transactions"].pop()
    return cbor2.dumps(page, canonical=True)


def with_other_ends(body: bytes) -> bytes:
    page = cbor2.loads(body)
    page["ends"] = [[seq, target, source] for seq, source, target in page["ends"]]
    return cbor2.dumps(page, canonical=True)


@pytest.mark.parametrize(
    "lie",
    [
        with_other_text,
        without_last,
        with_other_ends,
        lambda body: body[:-10],
        lambda _: b"",
        lambda _: cbor2.dumps({"entries": [], "transactions": [], "ends": [], "purges": []}),
        lambda _: b"\xa4" * 1000,
    ],
    ids=["text", "short", "ends", "cut", "empty", "nothing", "nonsense"],
)
def test_a_journal_that_does_not_lead_to_its_roots_is_refused(
    tmp_path: Path, lie: Callable[[bytes], bytes]
) -> None:
    write(tmp_path / "true.db", "a", "one")
    with mycel.open(tmp_path / "true.db") as db:
        mycel.Knowledge(db, workspace="shop").link("a", "knows", "b")
        with lying(altered(db, "/journal", lie)) as url:
            source = ServerSource(RemoteEntry("shop", url), "main")
            with pytest.raises(MycelError):
                clone(source, tmp_path / "mine.db")
    assert not (tmp_path / "mine.db").exists()


def test_rewritten_history_and_older_copies_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "true.db", "a", "one")
    write(tmp_path / "other.db", "a", "one")
    with mycel.open(tmp_path / "true.db") as db:
        source = FileSource(db, "shop")
        clone(source, tmp_path / "mine.db")
        write(tmp_path / "true.db", "b", "later")
        head = source.head()
        pinned = head.entries, head.journal_root
        with mycel.open(tmp_path / "mine.db") as copy, mycel.open(tmp_path / "other.db") as other:
            before = copy.snapshot()
            write(tmp_path / "other.db", "c", "another history")
            write(tmp_path / "other.db", "d", "another history")
            with pytest.raises(RemoteFailed, match="rewritten"):
                pull(copy, FileSource(other, "shop"), pinned=pinned)
            with lying(altered(db, "/consistency", lambda body: body.replace(b"a", b"b"))) as url:
                liar = ServerSource(RemoteEntry("shop", url), "main")
                with pytest.raises(MycelError):
                    pull(copy, liar, pinned=(1, head.journal_root))
            assert copy.snapshot() == before
            assert pull(copy, source, pinned=(0, b"")).status == "forward"
            with pytest.raises(RemoteFailed, match="older copy"):
                pull(copy, source, pinned=(head.entries + 10, head.journal_root))


def test_endless_huge_cut_and_redirected_answers_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mycel.remote.http_client.JSON_BYTES_MAX", 1000)
    cases: list[tuple[Answer, str]] = [
        (lambda _: (302, {"location": "file:///etc/passwd"}, b""), "redirects"),
        (lambda _: (301, {"location": "http://169.254.169.254/"}, b""), "redirects"),
        (lambda _: (200, {"content-length": "99999"}, b"{}"), "cut|reached"),
        (lambda _: (200, {}, b"<html>"), "without JSON"),
        (lambda _: (500, {}, b"{}"), "answered 500"),
        (lambda _: (200, {}, b"[]"), "without JSON"),
        (lambda _: (200, {}, b'{"branches": [{"name": "main"}]}'), "cannot be read"),
    ]
    for answer, words in cases:
        with lying(answer) as url:
            source = ServerSource(RemoteEntry("shop", url), "main")
            with pytest.raises(RemoteFailed, match=words):
                source.head()
            source.client.close()
    with dripping() as url:
        client = HttpClient(url, timeout_s=0.5)
        with pytest.raises(RemoteFailed, match="took more than"):
            client.request("GET", "/refs")
    with lying(lambda _: (200, {}, b'{"branches": []}')) as url:
        source = ServerSource(RemoteEntry("shop", url), "main")
        with pytest.raises(NotFound):
            source.head()
        with pytest.raises(RemoteFailed, match="more than 5 bytes"):
            source.client.request("GET", "/refs", bytes_max=5)
    with pytest.raises(RemoteFailed, match="cannot be reached"):
        ServerSource(RemoteEntry("shop", url), "main").head()


def test_a_pull_that_a_write_overtakes_looks_again(tmp_path: Path) -> None:
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    write(there, "one", "1")
    with mycel.open(there) as remote:
        clone(FileSource(remote, "shop"), here)
    write(there, "two", "2")

    class SlowSource(FileSource):
        def journal(self, after: int) -> CopiedPage:
            page = super().journal(after)
            write(here, f"mine after {after}", "3")
            return page

    with mycel.open(there) as remote, mycel.open(here) as db:
        assert pull(db, SlowSource(remote, "shop")).status == "merged"
        know = mycel.Knowledge(db, workspace="shop")
        assert know.has("two")
        assert not db.verify().problems
