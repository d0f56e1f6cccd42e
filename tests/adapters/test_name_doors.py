"""Every name of a node through every door: former URIs, aliases, readable and short names."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel import Knowledge
from mycel.errors import REGISTRY, AmbiguousName, MycelError
from tests.adapters.cli.conftest import in_process
from tests.adapters.http.conftest import HTTP, Server
from tests.adapters.mcp.clients import connected
from tests.cases import each_case

SHOP = "concept://shop/"
NODE, NOTE = f"{SHOP}auth/sign-in", f"{SHOP}notes/start"
MERGED = "auth/entry"
NAMES = (
    NODE,
    f"{SHOP}auth/login",  # It was moved from there.
    "auth/login",
    MERGED,
    "Entrance",
    "Passkeys only",
    "passkeys ONLY",
    "sign-in",
)
TWINS = [f"{SHOP}a/twin", f"{SHOP}b/twin"]

Door = Callable[[str], str | None]
"""Takes a name, and returns the URI of the node that it reached."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with a node that has every kind of name, and two with the same short name."""
    path = tmp_path_factory.mktemp("names") / "graph.db"
    with mycel.open(path) as db:
        shop = Knowledge(db, workspace="shop")
        shop.add("auth/login", name="Passkeys only", properties={"aliases": ["Entrance"]})
        shop.move("auth/login", "auth/sign-in")
        shop.remember([{"uri": "auth/entry"}, {"uri": "notes/start"}])
        shop.remember([{"uri": each} for each in TWINS])
        shop.merge_nodes("auth/entry", "auth/sign-in")
        shop.link("notes/start", "about", "auth/sign-in")
        shop.link("notes/start", "cites", "a/twin")
    return path


class Fresh:
    """Copies of the prepared graph, one for each use of a door that writes."""

    def __init__(self, prepared: Path, folder: Path) -> None:
        self._prepared, self._folder, self._number = prepared, folder, 0

    def path(self) -> Path:
        self._number += 1
        made = self._folder / f"{self._number}.db"
        shutil.copy(self._prepared, made)
        return made

    def use(self, work: Callable[[Knowledge], Any]) -> Any:
        with mycel.open(self.path()) as db:
            return work(Knowledge(db, workspace="shop"))


def _python(fresh: Fresh) -> dict[str, Door]:
    def removed(shop: Knowledge, name: str) -> str | None:
        shop.delete(name)
        return None if shop.has(NODE) else NODE

    def unlinked(shop: Knowledge, name: str) -> str | None:
        return NODE if shop.unlink("notes/start", "about", name) else None

    def moved(shop: Knowledge, name: str) -> str | None:
        shop.move(name, "elsewhere")
        return NODE if shop.get(NODE).uri == f"{SHOP}elsewhere" else None

    def forgotten(shop: Knowledge, name: str) -> str | None:
        (done,) = shop.delete_many((), relations=[("notes/start", "about", name)])
        return NODE if done.result and done.result.relations else None

    def remembered(shop: Knowledge, name: str) -> str:
        relation = {"source": "notes/new", "relation": "cites", "target": name}
        return shop.remember([{"uri": "notes/new"}], [relation]).relations[0].target

    doors: dict[str, Callable[[Knowledge, str], str | None]] = {
        "get": lambda shop, name: shop.get(name).uri,
        "get_many": lambda shop, name: _result(shop.get_many([name])[0]).uri,
        "relations": lambda shop, name: shop.relations(name)[0].target,
        "traverse": lambda shop, name: shop.traverse(name).nodes[0].uri,
        "update": lambda shop, name: shop.update(name, properties={"x": 1}).uri,
        "link, target": lambda shop, name: shop.link("notes/start", "cites", name).target,
        "link, source": lambda shop, name: shop.link(name, "cites", "notes/start").source,
        "remember": remembered,
        "add with relations": lambda shop, name: (
            shop.add("notes/new", relations=[{"relation": "cites", "target": name}])
            and shop.relations("notes/new")[0].target
        ),
        "set_weight": lambda shop, name: shop.set_weight("notes/start", "about", name, 0.5).target,
        "unlink": unlinked,
        "delete_many, relations": forgotten,
        "delete": removed,
        "move": moved,
        "merge, from": lambda shop, name: shop.merge_nodes(name, "notes/start").merged,
        "merge, into": lambda shop, name: shop.merge_nodes("notes/start", name).uri,
    }
    return {
        f"Knowledge.{door}": lambda name, work=work: fresh.use(lambda shop: work(shop, name))
        for door, work in doors.items()
    }


def _result(outcome: Any) -> Any:
    if outcome.error is not None:
        raise outcome.error
    return outcome.result


def _error_of(error: dict[str, Any]) -> MycelError:
    """The error that a door has told as JSON."""
    return REGISTRY[error["name"]](error["message"], hint=error["hint"])


def _commands(fresh: Fresh) -> dict[str, Door]:
    def run(*words: str, path: Path | None = None) -> Any:
        done = in_process(*words, "--db", path or fresh.path(), "--json")
        if done.status:
            error = json.loads(done.stderr.splitlines()[-1])["error"]
            raise _error_of(error)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def reached(*words: str) -> Door:
        def door(name: str) -> str | None:
            answer = json.dumps(run(*(name if word == "NAME" else word for word in words)))
            return NODE if any(mark in answer for mark in marks) else None

        return door

    def same(*words: str) -> Door:
        """A door whose answer is that for the URI of the node."""

        def door(name: str) -> str | None:
            answers = [run(*words, each) for each in (NODE, name)]
            return NODE if answers[0] == answers[1] else None

        return door

    def note(name: str) -> str:
        path = fresh.path()
        (written,) = run("note", "Something new.", "--about", name, path=path)
        with mycel.open(path) as db:
            return Knowledge(db, workspace="shop").relations(written["uri"])[0].target

    start = NOTE
    id_ = fresh.use(lambda shop: shop.get(NODE).id)
    marks = (NODE, f'"{id_}"', '"added": true', '"removed": true')
    return {
        "mycel history": reached("history", "NAME"),
        "mycel edge add": reached("edge", "add", start, "cites", "NAME"),
        "mycel edge get": reached("edge", "get", start, "about", "NAME"),
        "mycel prove": same("prove"),
        "mycel search --near": reached("search", "passkeys", "--near", "NAME"),
        "mycel note --about": note,
        "mycel show": reached("show", "NAME"),
        "mycel traverse": reached("traverse", "NAME"),
        "mycel find": same("find", "--direction", "in"),
        "mycel concept get": reached("concept", "get", "NAME"),
        "mycel edge remove": reached("edge", "remove", start, "about", "NAME"),
        "mycel concept merge": reached("concept", "merge", "NAME", start),
    }


@pytest.fixture(scope="module")
def doors(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Door]:
    fresh = Fresh(prepared, tmp_path_factory.mktemp("copies"))
    return _python(fresh) | _commands(fresh)


@pytest.fixture(scope="module")
def served(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Door]]:
    """The doors of servers; what they write can be written again."""
    fresh = Fresh(prepared, tmp_path_factory.mktemp("served"))
    path = fresh.path()
    root = tmp_path_factory.mktemp("root") / "shop"
    root.mkdir()
    with connected(path, "--root", str(root)) as session:
        words = ("serve", "--db", path, "--port", "0", "--root", root, "--json")
        server = Server("mycel", *words)

        def http(name: str) -> str:
            answer = HTTP.get(f"{server.url}/api/node", params={"id": name})
            body = answer.json()
            if answer.status_code != 200:
                raise _error_of(body["error"])
            return str(body["id"])

        def call(tool: str, **given: Any) -> Any:
            told = session.call(tool, **given)
            if told.failed:
                error = told.data["error"]
                raise _error_of(error)
            return told

        def relate(name: str) -> str | None:
            call(
                "remember_knowledge",
                relations=[{"source": NOTE, "relation": "cites", "target": name}],
            )
            told = call("get_nodes", uris=[NOTE], relation_types=["cites"])
            return NODE if NODE in told.text else None

        def forget(name: str) -> str | None:
            relate(NODE)
            relation = {"source": NOTE, "relation": "cites", "target": name}
            return NODE if call("forget_nodes", relations=[relation]).data["removed"] else None

        def load(name: str) -> str | None:
            return NODE if NODE in call("manage_context", action="add", uris=[name]).text else None

        def unload(name: str) -> str | None:
            load(NODE)
            told = call("manage_context", action="remove", uris=[name])
            return NODE if "Removed" in told.text else None

        try:
            server.wait_until_ready()
            yield {
                "get_nodes": lambda name: call("get_nodes", uris=[name]).data["nodes"][0]["uri"],
                "traverse_graph": lambda name: call("traverse_graph", start=name).data["nodes"][0][
                    "uri"
                ],
                "update_node": lambda name: call("update_node", uri=name, append="x").data["uri"],
                "remember_knowledge": relate,
                "forget_nodes": forget,
                "manage_context add": load,
                "manage_context remove": unload,
                "GET /api/node": http,
            }
        finally:
            server.end()


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands take the workspace from the folder that they run in."""
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")


def _check(doors: dict[str, Door], deleting: str = "") -> None:
    with each_case() as case:
        for door, reach in doors.items():
            for name in NAMES:
                if door == deleting and name == MERGED:
                    continue  # See below.
                with case(f"{door} {name}"):
                    assert reach(name) == NODE
            with case(f"{door} twin"):
                with pytest.raises(AmbiguousName) as caught:
                    reach("twin")
                assert all(twin in caught.value.hint for twin in TWINS)


def test_every_name_leads_to_its_node_and_several_bearers_are_listed(
    doors: dict[str, Door],
) -> None:
    _check(doors, deleting="Knowledge.delete")


def test_every_name_leads_to_its_node_through_servers(served: dict[str, Door]) -> None:
    _check(served)


def test_removing_a_node_that_was_merged_removes_nothing(prepared: Path, tmp_path: Path) -> None:
    def remove(shop: Knowledge) -> None:
        removed = shop.delete(MERGED)
        assert (removed.concepts, removed.relations) == (0, 0)
        assert f"was merged into {NODE}" in removed.warnings[0]
        assert shop.has(NODE)

    Fresh(prepared, tmp_path).use(remove)


def test_a_purge_takes_the_exact_name_alone(prepared: Path, tmp_path: Path) -> None:
    path = Fresh(prepared, tmp_path).path()
    done = in_process("purge", "Entrance", "--reason", "x", "--yes", "--db", path)
    assert done.status != 0
    with mycel.open(path) as db:
        assert Knowledge(db, workspace="shop").has(NODE)
