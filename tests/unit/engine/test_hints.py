"""Commands that newcomers send, with the hint that each gets: what to write instead.

Newcomers are models and people who know Cypher, SPARQL, SQL, GQL or JSON requests. A hint names the
words of the command; the general advice to check brackets and keywords is no hint.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mycel
from mycel.errors import InvalidSyntax, MycelError
from tests.cases import cases, each_case
from tests.prepared import NEW

GENERAL = InvalidSyntax("").hint
DRUG = '?d {type: "Drug"}'


def asked(clause: str, after: str = "") -> str:
    return f"FIND(?d) WHERE {{ {clause} }} {after}".strip()


def filtered(condition: str) -> str:
    return asked(f"{DRUG} FILTER({condition})")


def written(block: str) -> str:
    return f"UPSERT {{ {block} }}"


HINTS: dict[str, str] = {
    # Conditions.
    filtered('?d.name =~ "asp.*"'): 'Write REGEX(?d.name, "asp.*").',
    filtered('?d.name ~ "asp.*"'): 'Write REGEX(?d.name, "asp.*").',
    filtered('?d.name !~ "asp.*"'): 'Write !REGEX(?d.name, "asp.*").',
    filtered('?d.name <> "a"'): "Write != for not equal.",
    filtered('?d.name === "a"'): "Write == to compare",
    filtered('?d.name = "a"'): "Write == to compare",
    filtered("?d.attributes.x"): "IS_NOT_NULL(?d.attributes.x)",
    filtered("!?d.attributes.x"): "IS_NOT_NULL(?d.attributes.x)",
    filtered('?d.attributes.x && ?d.name == "a"'): "?d.attributes.x == true",
    filtered("COUNT(?s) > 1"): "ORDER BY COUNT(?s) DESC",
    filtered("count(?s) > 1"): "ORDER BY COUNT(?s) DESC",
    filtered('?d.name STARTS WITH "a"'): 'Write STARTS_WITH(?d.name, "a").',
    filtered('?d.name ends with "a"'): 'Write ENDS_WITH(?d.name, "a").',
    filtered('?d.name CONTAINS "a"'): "CONTAINS(?d.name, …)",
    filtered('?d.name NOT IN ["a"]'): "Write !IN(?d.name, …).",
    filtered('?d.name IN ["a"]'): "IN(?d.name, …)",
    filtered("?d.name IS NULL"): "Write IS_NULL(?d.name).",
    filtered("?d.name is not null"): "Write IS_NOT_NULL(?d.name).",
    filtered('?d.name LIKE "a%"'): "CONTAINS",
    filtered('REGEX(?d.name, "a", "i")'): "(?i)",
    filtered('?d->name == "a"'): "?d.name",
    # Patterns.
    asked(f'{DRUG} (?d, "treats{{1,3}}", ?s)'): 'Hops follow the quotes: "treats"{1,3}.',
    asked('(?d, "treats{2}", ?s)'): '"treats"{2}',
    asked('?d {type: ":type"}'): "Write a placeholder without quotes: :type.",
    asked('(?d, ":p", ?s)'): "Write a placeholder without quotes: :p.",
    'FIND(?l) WHERE { ?l {type: "treats"} }': 'links are ?l (?a, "treats", ?b)',
    asked('(?d, "Drug", ?s)'): 'concepts are ?x {type: "Drug"}',
    asked("?d {type: ?t}"): "?d.type, in FIND and FILTER",
    asked("?d {name: ?n}"): "?d.name, in FIND and FILTER",
    asked('?d {type: ["Drug", "Symptom"]}'): '?d {type: "Drug"} UNION { ?d {type: "Symptom"} }',
    asked('?d {type: "Drug" | "Symptom"}'): '?d {type: "Drug"} UNION { ?d {type: "Symptom"} }',
    asked('(?a, "treats", {type: ["Drug", "Symptom"]})'): "A matcher takes one type",
    asked('?d {Type: "Drug"}'): "Write `type:`.",
    asked('?d "treats" ?s'): 'A link is written (?d, "treats", ?s).',
    asked("?d treats ?s ."): 'A link is written (?d, "treats", ?s).',
    asked("?d :treats ?s"): 'A link is written (?d, "treats", ?s).',
    asked('?d a "Drug"'): 'Write ?d {type: "Drug"}.',
    asked("?d a :Drug"): 'Write ?d {type: "Drug"}.',
    asked("?d is Drug"): 'Write ?d {type: "Drug"}.',
    asked("?d:Drug"): 'Write ?d {type: "Drug"}.',
    asked("(?d)-[:treats]->(?s)"): 'A link is written (?d, "treats", ?s).',
    asked("(?d)<-[:treats]-(?s)"): 'A link is written (?s, "treats", ?d).',
    asked("(d:Drug)-[:treats]->(s)"): '?d {type: "Drug"} (?d, "treats", ?s)',
    asked("(d:Drug)"): 'Write ?d {type: "Drug"}.',
    asked('?d.type == "Drug"'): 'Write ?d {type: "Drug"}',
    asked('?d.name = "x"'): 'Write ?d {name: "x"}',
    asked("?d.attributes.x > 1"): "FILTER(?d.attributes.x > 1)",
    asked('d {type: "Drug"}'): "A variable is written ?d.",
    # FIND and what follows it.
    "FIND(?d->name) WHERE { }": "?d.name, ?d.attributes.name",
    "FIND(?d.attributes.*) WHERE { }": "Return the whole value: ?d.attributes.",
    "FIND(d) WHERE { }": "A variable is written ?d",
    f"FIND(?d) {{ {DRUG} }}": "Put WHERE before the braces.",
    "FIND(?d.name AS n) WHERE { }": "FIND has no aliases",
    'FIND(?d.created_at) WHERE { ?d {type: "Drug"} }': "?d.metadata._created_at",
    'FIND(?d.createdBy) WHERE { ?d {type: "Drug"} }': "?d.metadata._created_by",
    'FIND(?d.updated_by) WHERE { ?d {type: "Drug"} }': "?d.metadata._updated_by",
    'FIND(?d.confidence) WHERE { ?d {type: "Drug"} }': "?d.metadata.confidence",
    'FIND(?d.label) WHERE { ?d {type: "Drug"} }': "?d.name",
    asked(DRUG, "ORDER BY name"): "an expression of FIND: ORDER BY ?d.",
    asked(DRUG, "ORDER BY ?n"): "it repeats an expression of FIND",
    'FIND(?d, COUNT(?s)) WHERE { (?d, "treats", ?s) } ORDER BY count DESC': "ORDER BY COUNT(?s)",
    asked(DRUG, "SORT BY ?d.name"): "Write ORDER BY",
    asked(DRUG, "sort ?d.name"): "Write ORDER BY",
    asked(DRUG, "LIMIT 0"): "LIMIT 1 returns one row.",
    asked(DRUG, "LIMIT 5, 10"): "CURSOR",
    asked(DRUG, "LIMIT 5 OFFSET 10"): "CURSOR",
    asked(DRUG, "HAVING COUNT(?d) > 1"): "ORDER BY COUNT(?x) DESC",
    # SEARCH and DESCRIBE.
    'SEARCH CONCEPT "asp" IN "Drug"': 'Write SEARCH CONCEPT "asp" WITH TYPE "Drug".',
    'SEARCH CONCEPT "asp" FROM "Drug"': 'Write SEARCH CONCEPT "asp" WITH TYPE "Drug".',
    "DESCRIBE Drug": 'Write DESCRIBE CONCEPT TYPE "Drug".',
    'DESCRIBE TYPE "Drug"': 'Write DESCRIBE CONCEPT TYPE "Drug".',
    'DESCRIBE CONCEPT "Drug"': 'Write DESCRIBE CONCEPT TYPE "Drug".',
    'DESCRIBE PROPOSITION "treats"': 'Write DESCRIBE PROPOSITION TYPE "treats".',
    # Writing.
    'MERGE (d:Drug {name: "x"})': 'UPSERT { CONCEPT ?x { {type: "Drug", name: "x"}',
    "MERGE (d:Drug)-[:treats]->(s:Symptom)": 'UPSERT { CONCEPT ?x { {type: "Drug", name: "…"}',
    written('CONCEPT { {type: "Drug", name: "x"} SET ATTRIBUTES {a: 1} WITH METADATA {b: 2} }'): (
        "Metadata follows the block's closing brace"
    ),
    written('CONCEPT { {type: "Drug", name: "x"} WITH METADATA {b: 2} }'): (
        "Metadata follows the block's closing brace"
    ),
    written('PROPOSITION { (?a, "treats", ?b) WITH METADATA {b: 2} }'): (
        "Metadata follows the block's closing brace"
    ),
    written('{type: "Drug", name: "x"}'): "A concept is a block: CONCEPT",
    written('(?a, "treats", ?b)'): "A link is a block: PROPOSITION",
    written('CONCEPT { {type: "Drug", name: "x"} SET {a: 1} }'): "SET ATTRIBUTES",
    written('CONCEPT { {type: "Drug", name: "a\\u0000b"} }'): "Remove it from the text.",
    written('CONCEPT { {type: ":type", name: "x"} }'): "Write a placeholder without quotes: :type.",
    # Requests, and the first words of other languages.
    '{"command": "FIND(?d) WHERE { }"}': 'Send the text of "command" as the command',
    '{"commands": ["FIND(?d) WHERE { }"]}': 'Send the text of "command" as the command',
    '["FIND(?d) WHERE { }"]': "A command is text",
    "SELECT * FROM Drug": "KIP asks with FIND",
    "MATCH (d:Drug) RETURN d": "KIP asks with FIND",
    "OPTIONAL MATCH (d:Drug) RETURN d": "KIP asks with FIND",
    "PREFIX foaf: <http://xmlns.com/foaf/0.1/>": "KIP has no prefixes",
    "CREATE (d:Drug)": "KIP writes with UPSERT",
    "DETACH DELETE d": "KIP removes with DELETE",
}


@pytest.fixture(scope="module")
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as graph:
        graph.execute(
            """UPSERT {
              CONCEPT { {type: "$ConceptType", name: "Drug"} }
              CONCEPT { {type: "$ConceptType", name: "Symptom"} }
              CONCEPT { {type: "$PropositionType", name: "treats"} }
              CONCEPT { {type: "Drug", name: "aspirin"} }
            }"""
        )
        yield graph


def test_a_hint_says_what_to_write_instead(db: mycel.Graph) -> None:
    with each_case() as case:
        for command, hint in HINTS.items():
            with case(command):
                with pytest.raises(MycelError) as caught:
                    db.execute(command)
                assert hint in (caught.value.hint or ""), caught.value.hint
                assert caught.value.hint != GENERAL


@cases(
    ("command", "warning"),
    [
        ('FIND(?d.metadata.created_at) WHERE { ?d {type: "Drug"} }', "?d.metadata._created_at"),
        (filtered('?d.metadata.created_by == "me"'), "?d.metadata._created_by"),
        (asked('?d {name: ":name"}'), "Write a placeholder without quotes: :name."),
        (asked('?d {type: "Drug", name: ":name"}'), "Write a placeholder without quotes: :name."),
    ],
)
def test_an_empty_answer_says_what_was_probably_meant(
    db: mycel.Graph, command: str, warning: str
) -> None:
    assert any(warning in each for each in db.execute(command).warnings)


def test_a_warning_about_metadata_comes_only_where_nobody_wrote_it(db: mycel.Graph) -> None:
    command = 'FIND(?t.metadata._created_at, ?t.metadata.source) WHERE { ?t {type: "Domain"} }'
    assert not db.execute(command).warnings
