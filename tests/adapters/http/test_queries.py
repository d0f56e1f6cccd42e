"""Named queries over HTTP: listed, described, run, and unknown where they are denied."""

from pathlib import Path

import jsonschema

import mycel
from tests.adapters.http.conftest import HTTP, Start

TEXT = """
query tall($least: I64) @description("Tall plants.")
{ FIND(?p.name, ?p.attributes.height_m) WHERE { ?p {type: "Plant"}
  FILTER(?p.attributes.height_m >= :least) } }
query grow($name: String, $height: U32)
{ UPSERT { CONCEPT { {type: "Plant", name: :name} SET ATTRIBUTES { height_m: :height } } } }
"""


def test_queries_are_described_and_run(start: Start, graph: Path) -> None:
    with mycel.open(graph) as db:
        db.queries.add(TEXT)
    server = start()
    listed = HTTP.get(f"{server.url}/queries").json()["queries"]
    assert [query["name"] for query in listed] == ["grow", "tall"]
    answer = HTTP.post(f"{server.url}/queries/tall", json={"least": "20"})
    assert answer.status_code == 200
    paths = HTTP.get(f"{server.url}/openapi.json").json()["paths"]
    operation = paths["/queries/tall"]["post"]
    assert operation["summary"] == "Tall plants."
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.validate(answer.json(), schema)
    assert ["Oak", 20] in answer.json()["rows"]
    assert HTTP.post(f"{server.url}/queries/grow", json={"name": "Fir", "height": 30}).is_success
    answer = HTTP.post(f"{server.url}/queries/tall", json={"least": 30})
    assert answer.json()["rows"] == [["Fir", 30]]
    for wrong in ({}, {"least": "x"}, {"leest": 1}):
        assert HTTP.post(f"{server.url}/queries/tall", json=wrong).status_code == 400
    assert HTTP.post(f"{server.url}/queries/tal", json={}).status_code == 404


def test_what_writes_is_unknown_where_nothing_may_be_written(start: Start, graph: Path) -> None:
    with mycel.open(graph) as db:
        db.queries.add(TEXT)
    server = start("--readonly")
    given = {"name": "Fir", "height": 30}
    denied = HTTP.post(f"{server.url}/queries/grow", json=given)
    unknown = HTTP.post(f"{server.url}/queries/shrink", json=given)
    assert (denied.status_code, unknown.status_code) == (404, 404)
    assert denied.text.replace("grow", "shrink") == unknown.text
    listed = HTTP.get(f"{server.url}/queries").json()["queries"]
    assert [query["name"] for query in listed] == ["tall"]
    assert "/queries/grow" not in HTTP.get(f"{server.url}/openapi.json").json()["paths"]
