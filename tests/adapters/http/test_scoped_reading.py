"""Tokens for some paths, against a plain model of who may see what, over every door."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import mycel
from mycel.explorer.explorer import VIEWS
from mycel.mcp.tool_list import TOOLS
from mycel.sharing.scoped_copy import FOLDER
from tests.adapters.http.conftest import HTTP
from tests.adapters.http.team import Team, team

__all__ = ["team"]

FOLDERS = ("infra", "infra/db", "infrared", "docs", "hr", "hr/pay")
SCOPES = (
    *("read:/infra/**", "read:/infra/db/**", "write:/docs/**", "read:/hr/pay/**"),
    *("read:kip:Person/**", "propose:/infrared/**", "read://ops/hr/**", "read://shop/docs/**@main"),
)
DESCRIPTION_TOPICS = next(
    tool.properties["topic"]["enum"] for tool in TOOLS if tool.name == "describe_graph"
)
ACCEPT = {"accept": "application/json, text/event-stream"}


@dataclass
class Element:
    """A concept of the model, whose marker stands in its name and its content alone."""

    marker: str
    type: str
    name: str

    @property
    def uri(self) -> str:
        return self.name if "://" in self.name else f"kip:{self.type}/{self.name}"


@dataclass
class Model:
    """All that is in a workspace, as plain values."""

    chance: random.Random
    elements: dict[str, Element] = field(default_factory=dict)
    links: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The markers of the ends of each link, by its own."""

    def marker(self) -> str:
        return "q" + "".join(self.chance.choices("bcdfghjklmnpqrstvwxz", k=11))

    def sees(self, scopes: list[str], element: Element) -> bool:
        for scope in scopes:
            path = scope.partition(":")[2].removesuffix("@main").removesuffix("/**")
            if path.startswith("//"):
                workspace, _, rest = path[2:].partition("/")
                path = f"/{rest}"
                if workspace != "shop":
                    continue
            start = path if path.startswith("kip:") else f"concept://shop{path}"
            if element.uri == start or element.uri.startswith(f"{start}/"):
                return True
        return False

    def visible(self, scopes: list[str]) -> set[str]:
        seen = {marker for marker, each in self.elements.items() if self.sees(scopes, each)}
        return seen | {marker for marker, ends in self.links.items() if seen.issuperset(ends)}

    def all(self) -> set[str]:
        return self.elements.keys() | self.links.keys()


class Writer:
    """Writes to the workspace as an administrator, and to the model."""

    def __init__(self, team: Team, admin: str, model: Model) -> None:
        self.team, self.admin, self.model = team, admin, model
        #: Markers that are nowhere any more, or stand in the past of something visible.
        self.gone: set[str] = set()

    def kip(self, command: str, **parameters: Any) -> None:
        answer = self.team.kip(self.admin, "shop", command, **parameters)
        assert answer.is_success, answer.text

    def add(self) -> None:
        model = self.model
        marker = model.marker()
        if model.chance.random() < 0.2:
            element = Element(marker, "Person", f"P {marker}")
        else:
            folder = model.chance.choice(FOLDERS)
            element = Element(marker, "Concept", f"concept://shop/{folder}/{marker}")
        self.kip(
            "UPSERT { CONCEPT { {type: :type, name: :name} SET ATTRIBUTES {content: :text} } }",
            type=element.type,
            name=element.name,
            text=f"about {marker} water",
        )
        model.elements[marker] = element

    def link(self) -> None:
        model = self.model
        ends = model.chance.sample(list(model.elements.values()), 2)
        if (ends[0].marker, ends[1].marker) in model.links.values():
            return
        marker = model.marker()
        self.kip(
            "UPSERT { CONCEPT ?a { {type: :ta, name: :a} } CONCEPT ?b { {type: :tb, name: :b} }"
            ' PROPOSITION { (?a, "knows", ?b) SET ATTRIBUTES {note: :note} } }',
            ta=ends[0].type,
            a=ends[0].name,
            tb=ends[1].type,
            b=ends[1].name,
            note=f"link {marker}",
        )
        model.links[marker] = ends[0].marker, ends[1].marker

    def move(self) -> None:
        """Give a concept a name elsewhere, perhaps in another scope."""
        model = self.model
        element = model.chance.choice(list(model.elements.values()))
        if element.type != "Concept":
            return
        to = f"concept://shop/{model.chance.choice(FOLDERS)}/{element.marker}"
        answer = self.team.ask(
            "POST",
            "/ws/shop/api/write",
            self.admin,
            json={"op": "move", "id": element.uri, "to": to},
        )
        if to != element.uri:
            assert answer.is_success, answer.text
        self.gone.add(element.marker)
        element.name = to

    def remove(self) -> None:
        model = self.model
        element = model.chance.choice(list(model.elements.values()))
        self.kip(
            "DELETE CONCEPT ?c DETACH WHERE { ?c {type: :type, name: :name} }",
            type=element.type,
            name=element.name,
        )
        del model.elements[element.marker]
        self.gone.add(element.marker)
        for marker in [m for m, ends in model.links.items() if element.marker in ends]:
            del model.links[marker]
            self.gone.add(marker)


def mcp(tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return {"method": "POST", "path": "/mcp", "json": call, "headers": ACCEPT}


def kip(command: str, **parameters: Any) -> dict[str, Any]:
    body = {"command": command, "parameters": parameters}
    return {"method": "POST", "path": "/kip", "json": body}


def view(name: str, **given: Any) -> dict[str, Any]:
    return {"method": "GET", "path": f"/api/{name}", "params": given}


def requests_about(element: Element) -> Iterator[dict[str, Any]]:
    """Requests that name one element; they find it, or say that it is not there."""
    uri, name = element.uri, element.name
    yield kip("FIND(?c) WHERE { ?c {type: :type, name: :name} }", type=element.type, name=name)
    yield kip("FIND(COUNT(?c)) WHERE { ?c {name: :name} }", name=name)
    yield kip("SEARCH CONCEPT :text LIMIT 5", text=element.marker)
    yield kip('FIND(?c.name, ?p) WHERE { ?p (?c, "knows", ?d) ?d {name: :name} }', name=name)
    yield kip(f'DESCRIBE CHANGES FROM 1 UNDER "{uri}"')
    yield kip("FIND(?c) AS OF 90 WHERE { ?c {name: :name} }", name=name)
    yield {
        "method": "POST",
        "path": "/kip",
        "json": {"method": "list_logs", "params": {"limit": 9, "path": uri}},
    }
    for named in ("node", "relations", "history", "near", "reach", "proof"):
        yield view(named, id=uri)
    yield view("suggest", q=element.marker[:6])
    yield view("search", q=element.marker)
    yield view("path", **{"from": uri, "to": uri})
    yield view("commits", path=uri)
    yield {"method": "POST", "path": "/api/identify", "json": {"text": uri}}
    yield {"method": "POST", "path": "/api/links", "json": {"ids": [uri]}}
    yield mcp("get_nodes", uris=[uri])
    yield mcp("search_knowledge", query=element.marker)
    yield mcp("traverse_graph", start=uri, max_cost=3)
    for workspaces in ("*", "shop,ops"):
        yield mcp("search_knowledge", query=element.marker, workspaces=workspaces)
        yield mcp("get_nodes", uris=[uri], workspaces=workspaces)
    yield mcp("manage_history", action="log", paths=[uri])
    yield mcp("manage_history", action="diff", paths=[uri], **{"from": "0"})
    place = quote(uri, safe="")
    yield {"method": "GET", "path": f"/diff?from=0&path={place}"}
    yield {"method": "GET", "path": f"/subgraph?start={place}&proofs=1&max_cost=3"}
    yield {"method": "GET", "path": f"/search?q={element.marker}"}
    wider = quote(uri.removeprefix("concept://shop"), safe="/")
    for path in ("/**", "/hr/**", wider, f"{wider}/../**"):
        headers = {"mycel-path": path}
        yield {"method": "GET", "path": f"/search?q={element.marker}", "headers": headers}
        yield {"method": "GET", "path": f"/diff?from=0&path={place}", "headers": headers}


def attempts_on(element: Element) -> Iterator[dict[str, Any]]:
    """Requests that would change one element; whoever may not see it is refused."""
    uri, name = element.uri, element.name
    change = {"node": uri, "attributes": {"content": "taken over"}}
    for on_conflict in ("fail", "merge", "propose"):
        body = {"changes": [change], "on_conflict": on_conflict}
        yield {"method": "POST", "path": "/submit", "json": body}
    for more in ({"removed": True}, {"to": f"{uri}/moved"}):
        body = {"changes": [{"node": uri} | more], "on_conflict": "merge"}
        yield {"method": "POST", "path": "/submit", "json": body}
    upsert = "UPSERT { CONCEPT { {type: :type, name: :name} SET ATTRIBUTES {content: :text} } }"
    yield kip(upsert, type=element.type, name=name, text="taken over")
    for command in (
        "DELETE CONCEPT ?c DETACH WHERE { ?c {type: :type, name: :name} }",
        'UPDATE ?c SET ATTRIBUTES { content: "taken" } WHERE { ?c {type: :type, name: :name} }',
    ):
        yield kip(command, type=element.type, name=name)
    for write in ({"op": "delete", "id": uri}, {"op": "move", "id": uri, "to": f"{uri}/moved"}):
        yield {"method": "POST", "path": "/api/write", "json": write}
    yield mcp("update_node", uri=uri, append="taken over")
    yield mcp("remember_knowledge", concepts=[{"uri": uri, "content": "taken over"}])
    yield mcp("forget_nodes", action="remove", uris=[uri])
    yield mcp("manage_history", action="submit", changes=[change])
    yield mcp("manage_history", action="rollback", to="1", paths=[uri])


def requests_about_all() -> Iterator[dict[str, Any]]:
    """Requests that name nothing."""
    yield kip("FIND(?c) WHERE { ?c {type: :type} } LIMIT 99", type="Concept")
    yield kip("FIND(?c) WHERE { ?c {type: :type} } LIMIT 99", type="Person")
    yield kip('FIND(?a, ?p, ?b) WHERE { ?p (?a, "knows", ?b) } LIMIT 99')
    for command in (
        *("DESCRIBE PRIMER", "DESCRIBE DOMAINS", "DESCRIBE CONCEPT TYPES"),
        *("DESCRIBE PROPOSITION TYPES", 'DESCRIBE CONCEPT TYPE "Concept"'),
        *(
            'DESCRIBE PROPOSITION TYPE "knows"',
            "DESCRIBE CHANGES FROM 0",
            "DESCRIBE CHANGES FROM 1",
        ),
        *('SEARCH CONCEPT "water" LIMIT 20', 'EXPORT WHERE { ?c {type: "Concept"} }'),
    ):
        yield kip(command)
    yield {"method": "POST", "path": "/kip", "json": {"method": "list_logs"}}
    for name in VIEWS:
        if name != "changes":  # A stream, which has no end.
            yield view(name)
    for by in ("type", "folder"):
        yield view("overview", by=by)
    yield view("overview", group="concept://shop/hr")
    yield view("suggest", q="q")
    yield view("search", q="water")
    yield view("diff", **{"from": "0"})
    yield view("touched", since="2000-01-01T00:00:00Z")
    for path in ("/", "/branches", "/merges", "/queries", "/openapi.json", "/healthz"):
        yield {"method": "GET", "path": path}
    for path in (
        *("/refs", "/commits", "/diff?from=0", "/journal", "/purges", "/proposals?status=all"),
        *("/search?q=water&limit=99", "/search?q=water&kind=any&without=Person"),
        *("/consistency?from=0", "/consistency?from=9999999", "/submit/no-such-key", "/nothing"),
    ):
        yield {"method": "GET", "path": path}
    yield {"method": "GET", "path": "/subgraph?start=concept://shop/hr&max_nodes=99"}
    for tool in TOOLS:
        yield mcp(tool.name)
    for topic in DESCRIPTION_TOPICS:
        yield mcp("describe_graph", topic=topic, name="knows")
    for action in ("log", "diff", "tags", "branches", "proposals"):
        yield mcp("manage_history", action=action, **({"from": "0"} if action == "diff" else {}))
    yield mcp("search_knowledge", query="water", limit=20)
    for uri in ("mycel://overview", "concept://shop/hr"):
        call = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}}
        yield {"method": "POST", "path": "/mcp", "json": call, "headers": ACCEPT}
    for method in ("resources/list", "prompts/list"):
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
        yield {"method": "POST", "path": "/mcp", "json": call, "headers": ACCEPT}


class Reader:
    """A token of some scopes, and what came back to it."""

    def __init__(self, team: Team, token: str, scopes: list[str]) -> None:
        self.team, self.token, self.scopes = team, token, scopes
        self.could_see: set[str] = set()
        """What it may see, or might at some time: history has it."""
        self.count = 0

    def ask(self, request: dict[str, Any]) -> tuple[int, str]:
        self.count += 1
        how = {key: value for key, value in request.items() if key not in ("method", "path")}
        answer = self.team.ask(request["method"], f"/ws/shop{request['path']}", self.token, **how)
        if answer.status_code == 500:
            assert self.team.server is not None
            self.team.server.process.terminate()
            raise AssertionError((request, self.team.server.process.communicate()[1]))
        return answer.status_code, answer.text + json.dumps(dict(answer.headers))


def stream_of(reader: Reader) -> str:
    """All that a stream of changes tells of the past, up to the present."""
    assert reader.team.server is not None
    _, text = reader.ask({"method": "GET", "path": "/refs"})
    entries = json.JSONDecoder().raw_decode(text)[0]["branches"][0]["entries"]
    url = f"{reader.team.server.url}/ws/shop/api/changes?after=0"
    headers = {"authorization": f"Bearer {reader.token}"}
    lines = []
    with HTTP.stream("GET", url, headers=headers) as answer:
        for line in answer.iter_lines():
            lines.append(line)
            if line.startswith("id: ") and int(line.removeprefix("id: ")) >= entries:
                break
    return "\n".join(lines)


def sent(request: dict[str, Any]) -> str:
    return json.dumps(request)


def check_leak(reader: Reader, hidden: set[str], request: dict[str, Any], text: str) -> None:
    words = set(re.findall(r"q[bcdfghjklmnpqrstvwxz]{11}", text))
    leaked = words & hidden - set(re.findall(r"q[bcdfghjklmnpqrstvwxz]{11}", sent(request)))
    assert not leaked, (reader.scopes, request, text[:2000], leaked)


def compare_with_absent(
    reader: Reader, element: Element, absent: str, request: dict[str, Any], got: tuple[int, str]
) -> None:
    """What is hidden gets the answer of what never was.

    A search finds what is alike, which depends on the marker.
    """
    if any(word in sent(request) for word in ("SEARCH", "search", "suggest")):
        return
    other = json.loads(sent(request).replace(element.marker, absent))
    text = sent(other).replace(element.marker[:6], absent[:6])
    status, told = reader.ask(json.loads(text))

    def normal(text: str, marker: str) -> str:
        text = text.replace(marker, "MARKER").replace(marker[:6], "MARKER")
        # An ETag is a digest of the URIs that were asked for.
        text = re.sub(r'context_id[^,}]*|"(date|content-length|etag)": "(\\.|[^"\\])*"', "", text)
        # What is alike depends on the marker.
        return re.sub(r"Did you mean [^?]*\? ?", "", text).replace(' "', '"')

    assert (got[0], normal(got[1], element.marker)) == (status, normal(told, absent)), (
        reader.scopes,
        request,
    )


def play(team: Team, seed: int, rounds: int) -> int:
    """Random writes and requests. Returns the number of requests with tokens."""
    chance = random.Random(seed)
    model = Model(chance)
    admin = team.token("root", "admin:/**")
    readers = []
    for number in range(6):
        scopes = chance.sample(SCOPES, chance.randint(1, 3))
        if scopes == ["read://ops/hr/**"]:
            scopes = ["read:/infra/**"]
        readers.append(Reader(team, team.token(f"r{number}", *scopes), scopes))
    team.serve()
    writer = Writer(team, admin, model)
    writer.kip(
        'UPSERT { CONCEPT { {type: "$ConceptType", name: "Concept"} }'
        ' CONCEPT { {type: "$PropositionType", name: "knows"} } }'
    )
    for _ in range(18):
        writer.add()
    for _ in range(18):
        writer.link()
    everything = model.all()
    for reader in readers:
        reader.could_see = model.visible(reader.scopes)
    for _ in range(rounds):
        for write in chance.sample((writer.add, writer.link, writer.move, writer.remove), 2):
            write()
            everything |= model.all()
            for reader in readers:
                reader.could_see |= model.visible(reader.scopes)
        reader = chance.choice(readers)
        visible = model.visible(reader.scopes)
        hidden = everything - reader.could_see
        wide = list(requests_about_all())
        for request in chance.sample(wide, 12):
            status, text = reader.ask(request)
            assert status < 500, (request, text)
            check_leak(reader, hidden, request, text)
        for type_name in ("Concept", "Person"):
            wanted = {m for m, e in model.elements.items() if m in visible and e.type == type_name}
            status, text = reader.ask(
                kip("FIND(?c.name) WHERE { ?c {type: :type} } LIMIT 99", type=type_name)
            )
            names = re.findall(r"q[bcdfghjklmnpqrstvwxz]{11}", text)
            assert sorted(names) == sorted(wanted), (reader.scopes, type_name, text)
        status, text = reader.ask(kip('FIND(?p) WHERE { ?p (?a, "knows", ?b) } LIMIT 99'))
        shown = set(re.findall(r"q[bcdfghjklmnpqrstvwxz]{11}", text)) & model.links.keys()
        assert shown == visible & model.links.keys(), (reader.scopes, text)
        element = chance.choice(list(model.elements.values()))
        absent = model.marker()
        for request in chance.sample(list(requests_about(element)), 6):
            got = reader.ask(request)
            assert got[0] < 500, (request, got)
            check_leak(reader, hidden, request, got[1])
            if "is not defined" in got[1]:  # A predicate that no link uses that it may see.
                continue
            if element.marker in visible:
                # A narrowed request may name a path that the token does not read.
                refusals = (400, 403) if "mycel-path" in request.get("headers", {}) else ()
                assert got[0] in (200, *refusals), (reader.scopes, element, request, got)
            elif element.marker not in reader.could_see:
                compare_with_absent(reader, element, absent, request, got)
        if element.marker not in reader.could_see:
            for request in chance.sample(list(attempts_on(element)), 2):
                got = reader.ask(request)
                assert got[0] < 500, (request, got)
                check_leak(reader, hidden, request, got[1])
                compare_with_absent(reader, element, absent, request, got)
    for reader in readers:
        check_leak(reader, everything - reader.could_see, {}, stream_of(reader))
    # Nothing was taken over, moved or removed by those who do not see it.
    told = team.kip(admin, "shop", "FIND(?c) WHERE { ?c {type: :type} } LIMIT 99", type="Concept")
    assert "taken" not in told.text
    assert "moved" not in told.text
    names = {element.name for element in model.elements.values() if element.type == "Concept"}
    assert {concept["name"] for concept in told.json()["result"]} == names
    assert not team.ask("GET", "/ws/shop/proposals?status=all", admin).json()["proposals"]
    return sum(reader.count for reader in readers)


def test_no_door_shows_what_a_token_may_not_see_and_none_refuses_what_it_may(team: Team) -> None:
    team.add("shop", "ops")
    assert play(team, 1, 8) > 130


GAMES = 25


@pytest.mark.soak
def test_thousands_of_requests_show_nothing_that_is_hidden(tmp_path: Path, seed: int) -> None:
    count = 0
    for number in range(seed, seed + GAMES):
        folder = tmp_path / str(number)
        folder.mkdir()
        game = Team(folder)
        try:
            game.add("shop", "ops")
            count += play(game, number, 20)
        finally:
            game.end()
    assert count > 10_000


NODE = 'UPSERT { CONCEPT { {type: "Concept", name: :uri} SET ATTRIBUTES {content: :text} } }'
CONCEPT = 'UPSERT { CONCEPT { {type: "$ConceptType", name: "Concept"} } }'
ALL = 'FIND(?c.name, ?c.attributes.content) WHERE { ?c {type: "Concept"} } ORDER BY ?c.name'
LINKS = 'FIND(?a.name, ?b.name, ?b.type) WHERE { (?a, "uses", ?b) } ORDER BY ?a.name'


def link(source: str, target: str) -> dict[str, Any]:
    relation = {"source": source, "relation": "uses", "target": target}
    return mcp("remember_knowledge", relations=[relation])


def test_what_a_token_for_some_paths_writes_is_in_the_workspace_or_nowhere(team: Team) -> None:
    team.add("shop")
    admin = team.token("root", "admin:/**")
    ada = Reader(team, team.token("ada", "write:/infra/**", "read:/docs/**"), [])
    bob = Reader(team, team.token("bob", "read:/infra/**"), [])
    team.serve()

    def uri(path: str) -> str:
        return f"concept://shop/{path}"

    def rows(command: str) -> list[list[str]]:
        columns = team.kip(admin, "shop", command).json()["result"]
        return [list(row) for row in zip(*columns, strict=True)]

    assert team.kip(admin, "shop", CONCEPT).is_success
    for path in ("infra/db", "infra/web", "docs/guide", "hr/pay"):
        assert team.kip(admin, "shop", NODE, uri=uri(path), text="first").is_success
    whole = Reader(team, admin, [])
    for source in ("hr/pay", "docs/guide"):
        assert 'isError":true' not in whole.ask(link(uri(source), uri("infra/db")))[1]
    # Created, changed and linked: in the workspace, with the token's actor, for others at once.
    assert ada.ask(kip(NODE, uri=uri("infra/new"), text="of ada"))[0] == 200
    assert ada.ask(kip(NODE, uri=uri("infra/web"), text="changed"))[0] == 200
    assert ada.ask(link(uri("infra/new"), uri("docs/guide")))[0] == 200
    assert [uri("infra/new"), "of ada"] in rows(ALL)
    assert [uri("infra/web"), "changed"] in rows(ALL)
    assert [uri("infra/new"), uri("docs/guide"), "Concept"] in rows(LINKS)
    assert "of ada" in bob.ask(kip(ALL))[1]
    log = team.ask("POST", "/ws/shop/kip", admin, json={"method": "list_logs"}).json()
    assert [entry["actor"] for entry in log["result"][:3]] == ["ada"] * 3
    # Outside: nothing is written, and what is there is not told from what is not.
    before = rows(ALL), rows(LINKS)
    for path in ("hr/pay", "hr/none", "docs/guide", "infrared/x"):
        assert ada.ask(kip(NODE, uri=uri(path), text="wrong"))[0] == 403, path
    answers = [
        ada.ask(link(uri("infra/new"), uri(path)))[1].replace(path, "")
        for path in ("hr/pay", "hr/nay")
    ]
    assert "may not link" in answers[0]
    assert answers[0].split("date")[0] == answers[1].split("date")[0]
    assert (rows(ALL), rows(LINKS)) == before
    for path, body in (
        ("branches", {"name": "mine"}),
        ("api/write", {"op": "tag", "name": "v1"}),
        ("api/write", {"op": "rollback", "to": "1"}),
    ):
        request = {"method": "POST", "path": f"/{path}", "json": body}
        assert ada.ask(request)[0] >= 400, path
    assert ada.ask({"method": "GET", "path": "/api/overview?branch=mine"})[0] == 403
    assert bob.ask(kip(NODE, uri=uri("infra/new"), text="of bob"))[0] == 403
    dry = {"command": NODE, "parameters": {"uri": uri("infra/dry"), "text": "x"}, "dry_run": True}
    assert ada.ask({"method": "POST", "path": "/kip", "json": dry})[0] == 200
    assert (rows(ALL), rows(LINKS)) == before
    # Moved and removed: links from elsewhere stay, to the new name, or to what is missing.
    moved = {"op": "move", "id": uri("infra/db"), "to": uri("infra/store")}
    status, text = ada.ask({"method": "POST", "path": "/api/write", "json": moved})
    assert status == 200, text
    assert [uri("hr/pay"), uri("infra/store"), "Concept"] in rows(LINKS)
    gone = {"op": "delete", "id": uri("infra/store")}
    status, text = ada.ask({"method": "POST", "path": "/api/write", "json": gone})
    assert status == 200, text
    assert "hr" not in text
    assert [uri("hr/pay"), uri("infra/store"), "Missing"] in rows(LINKS)
    assert "infra/store" not in bob.ask(kip(ALL))[1]


def test_a_purge_reaches_what_a_token_for_some_paths_reads(team: Team) -> None:
    team.add("shop")
    admin = team.token("root", "admin:/**")
    bob = Reader(team, team.token("bob", "read:/infra/**"), [])
    team.serve()
    assert team.kip(admin, "shop", CONCEPT).is_success
    for name, text in (("a", "stays"), ("b", "zuckerzange")):
        uri = f"concept://shop/infra/{name}"
        assert team.kip(admin, "shop", NODE, uri=uri, text=text).is_success
    assert "zuckerzange" in bob.ask(kip(ALL))[1]
    purge = 'DELETE CONCEPT ?c DETACH WHERE { ?c {name: "concept://shop/infra/b"} }'
    assert team.kip(admin, "shop", purge).is_success
    with mycel.open(team.folder / "shop.db") as db:
        db.purge(("Concept", "concept://shop/infra/b"), reason="secret")
    status, text = bob.ask(kip(ALL))
    assert status == 200
    assert "stays" in text
    assert "zuckerzange" not in text
    copies = [path for path in (team.folder / FOLDER).rglob("*") if path.is_file()]
    assert copies
    assert not any(b"zuckerzange" in path.read_bytes() for path in copies)
    # The history before the purge is another one, and has no trace of it either.
    assert "zuckerzange" not in bob.ask(kip("DESCRIBE CHANGES FROM 0"))[1]
