"""The description says what the server does: every route, every example, every answer."""

from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

import mycel
from mycel.http import metrics
from mycel.http.app import build_app
from mycel.http.policy import Policy, Token
from tests.adapters.http.conftest import Server


@pytest.fixture(scope="module")
def document(garden: Server) -> dict[str, Any]:
    told: dict[str, Any] = garden.get("/openapi.json").json()
    return told


def schema_of(document: dict[str, Any], place: dict[str, Any]) -> dict[str, Any]:
    return place["content"]["application/json"]["schema"] | {"components": document["components"]}


def check(document: dict[str, Any], path: str, method: str, answer: httpx.Response) -> None:
    place = document["paths"][path][method]["responses"][str(answer.status_code)]
    if "$ref" in place:
        place = document["components"]["responses"][place["$ref"].rpartition("/")[2]]
    Draft202012Validator(schema_of(document, place)).validate(answer.json())


def test_it_is_openapi(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    assert document["info"]["version"] == mycel.__version__
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    operations = [one for path in document["paths"].values() for one in path.values()]
    assert len({one["operationId"] for one in operations}) == len(operations)
    assert all(one["summary"] and one["responses"] for one in operations)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [found for each in value.values() for found in references(each)]
        if isinstance(value, list):
            return [found for each in value for found in references(each)]
        return []

    for reference in references(document):
        found = document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]


def test_its_paths_are_the_routes(document: dict[str, Any]) -> None:
    with mycel.open() as db:
        routes = build_app(db).app.routes
    for route in routes:
        described = {method.upper() for method in document["paths"][route.path]}
        assert described == route.methods - {"HEAD"}
    assert {route.path for route in routes} <= set(document["paths"])


def test_requests_of_every_path_are_counted_under_its_name(document: dict[str, Any]) -> None:
    path_kinds = {path.split("/")[1] for path in document["paths"]} - {""}
    assert path_kinds <= metrics.PATH_KINDS


@pytest.mark.parametrize("path", ["/", "/healthz", "/openapi.json"])
def test_what_a_page_answers_fits_its_schema(
    garden: Server, document: dict[str, Any], path: str
) -> None:
    check(document, path, "get", garden.get(path))


def test_every_example_fits_its_schema_and_runs(garden: Server, document: dict[str, Any]) -> None:
    body = document["paths"]["/kip"]["post"]["requestBody"]
    validator = Draft202012Validator(schema_of(document, body))
    examples = body["content"]["application/json"]["examples"]
    assert examples
    for example in examples.values():
        validator.validate(example["value"])
        answer = garden.ask(example["value"])
        assert answer.status_code == 200, answer.text
        check(document, "/kip", "post", answer)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ({"command": "nonsense"}, {}),
        ({"method": "list_logs", "params": {"limit": 0}, "id": 5}, {}),
        ({"method": "list_logs", "params": {"limit": None, "cursor": None}, "id": [{}]}, {}),
        ({"command": 'UPSERT { CONCEPT { {id: "C:99998"} } }'}, {}),
        ({"command": "DESCRIBE PRIMER", "verbose": True}, {}),
        ({"command": "DESCRIBE PRIMER"}, {"host": "evil.example"}),
        ({"command": "DESCRIBE PRIMER"}, {"origin": "https://evil.example"}),
        ({"command": "DESCRIBE PRIMER"}, {"content-type": "text/plain"}),
        ({"command": "x" * (5 << 20)}, {}),
    ],
    ids=["syntax", "logs", "id", "missing", "warning", "host", "origin", "type", "large"],
)
def test_every_answer_fits_its_schema(
    garden: Server, document: dict[str, Any], body: dict[str, Any], headers: dict[str, str]
) -> None:
    check(document, "/kip", "post", garden.ask(body, headers=headers))


def test_a_server_with_a_token_says_so() -> None:
    from mycel.http import openapi

    with mycel.open() as db:
        build_app(db, Policy(token=Token("0123456789abcdef")))
    told = openapi.document(version="1", body_bytes_max=1, wants_token=True, mounts={"/mcp": "mcp"})
    assert told["security"] == [{"token": []}]
    assert told["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert told["paths"]["/healthz"]["get"]["security"] == []
    assert set(told["paths"]["/mcp"]) == {"get", "post"}
