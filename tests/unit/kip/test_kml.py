"""UPSERT, DELETE, UPDATE and MERGE."""

from typing import Any

from mycel.kip import ast, parse
from tests.cases import cases
from tests.unit.kip.refusals import refusal

X, Y = ast.Variable("x"), ast.Variable("y")
MATCHER = ast.ConceptMatcher(type=ast.Literal("T"), name=ast.Literal("n"))
BY_ID = ast.ConceptMatcher(id=ast.Literal("C:1"))
WHERE = (ast.ConceptClause(X, ast.ConceptMatcher(type=ast.Literal("T"))),)


def upserts(text: str) -> tuple[ast.Upsert, ...]:
    command = parse(text)
    assert isinstance(command, ast.Capsule)
    return command.upserts


def block(text: str) -> Any:
    (upsert,) = upserts(f"UPSERT {{ {text} }}")
    (only,) = upsert.blocks
    return only


# UPSERT.


def test_a_concept_block_with_everything() -> None:
    assert block(
        """
        CONCEPT ?x {
          {type: "T", name: "n"}
          EXPECT VERSION 3
          SET ATTRIBUTES {a: 1}
          SET PROPOSITIONS {
            ("p", ?y)
            ("q", {id: "C:1"}) WITH METADATA {source: "s"}
            ("r", (?x, "p", {type: "T", name: "n"}))
            (:s, (id: "P:1:p")) WITH METADATA :m
          }
        }
        WITH METADATA {b: 2}
        """
    ) == ast.ConceptBlock(
        handle=X,
        matcher=MATCHER,
        expect_version=ast.Literal(3),
        attributes=ast.Literal({"a": 1}),
        propositions=(
            ast.SetProposition(ast.Literal("p"), Y),
            ast.SetProposition(ast.Literal("q"), BY_ID, ast.Literal({"source": "s"})),
            ast.SetProposition(ast.Literal("r"), ast.LinkPattern(X, ast.Literal("p"), MATCHER)),
            ast.SetProposition(
                ast.Placeholder("s"), ast.LinkById(ast.Literal("P:1:p")), ast.Placeholder("m")
            ),
        ),
        metadata=ast.Literal({"b": 2}),
    )


def test_a_proposition_block_with_everything() -> None:
    assert block(
        """
        PROPOSITION ?x {
          (?y, "p", {id: "C:1"}) EXPECT VERSION :v SET ATTRIBUTES :a
        } WITH METADATA {}
        """
    ) == ast.PropositionBlock(
        handle=X,
        target=ast.LinkPattern(Y, ast.Literal("p"), BY_ID),
        expect_version=ast.Placeholder("v"),
        attributes=ast.Placeholder("a"),
        metadata=ast.Literal({}),
    )


def test_everything_but_the_matcher_may_be_left_out() -> None:
    assert block('CONCEPT { {id: "C:1"} }') == ast.ConceptBlock(None, BY_ID)
    assert block('PROPOSITION { (id: "P:1:p") }') == ast.PropositionBlock(
        None, ast.LinkById(ast.Literal("P:1:p"))
    )


def test_an_empty_list_of_propositions_is_not_the_same_as_none() -> None:
    assert block('CONCEPT { {id: "C:1"} SET PROPOSITIONS {} }').propositions == ()
    assert block('CONCEPT { {id: "C:1"} }').propositions is None


def test_expecting_version_zero_is_possible() -> None:
    assert block('CONCEPT { {id: "C:1"} EXPECT VERSION 0 }').expect_version == ast.Literal(0)


def test_consecutive_upserts_are_one_capsule() -> None:
    found = upserts('UPSERT { CONCEPT { {id: "C:1"} } } WITH METADATA {a: 1} UPSERT{} UPSERT { }')
    assert found == (
        ast.Upsert((ast.ConceptBlock(None, BY_ID),), ast.Literal({"a": 1})),
        ast.Upsert(()),
        ast.Upsert(()),
    )


@cases(
    "text",
    [
        "UPSERT",
        "UPSERT {",
        "UPSERT CONCEPT",
        "UPSERT { ?x }",
        "UPSERT { CONCEPT }",
        "UPSERT { CONCEPT ?x }",
        "UPSERT { CONCEPT ?x {} }",
        'UPSERT { CONCEPT ?x {type: "T", name: "n"} }',
        'UPSERT { CONCEPT ?x { {type: "T"} } }',
        'UPSERT { CONCEPT ?x { {name: "n"} } }',
        'UPSERT { CONCEPT ?x { {id: "C:1", name: "n"} } }',
        'UPSERT { CONCEPT ?x { (id: "P:1:p") } }',
        'UPSERT { CONCEPT :x { {id: "C:1"} } }',
        'UPSERT { CONCEPT ?x.name { {id: "C:1"} } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} } WITH METADATA }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} } WITH METADATA {a: 1} WITH METADATA {a: 1} }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} WITH METADATA {a: 1} } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET ATTRIBUTES } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET ATTRIBUTES [1] } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET ATTRIBUTES "a" } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET ATTRIBUTES {} SET ATTRIBUTES {} } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET METADATA {} } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET PROPOSITIONS {} SET ATTRIBUTES {} } }',
        'UPSERT { CONCEPT ?x { SET ATTRIBUTES {} {id: "C:1"} } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} EXPECT 3 } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} EXPECT VERSION -1 } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} EXPECT VERSION 1.5 } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} EXPECT VERSION "1" } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET ATTRIBUTES {} EXPECT VERSION 1 } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET PROPOSITIONS { ("p", ?y), ("p", ?z) } } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET PROPOSITIONS { (?x, "p", ?y) } } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET PROPOSITIONS { ("p", ?x, ?y) } } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET PROPOSITIONS { ("p") } } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET PROPOSITIONS { ("p", "q") } } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET PROPOSITIONS { ("p"{1,2}, ?y) } } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET PROPOSITIONS { ("p" | "q", ?y) } } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET PROPOSITIONS { (?p, ?y) } } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET PROPOSITIONS { ("p", {type: "T"}) } } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} SET PROPOSITIONS :p } }',
        "UPSERT { PROPOSITION ?x { } }",
        'UPSERT { PROPOSITION ?x { {id: "C:1"} } }',
        'UPSERT { PROPOSITION ?x { (?a, "p"{1,2}, ?b) } }',
        'UPSERT { PROPOSITION ?x { (?a, "p" | "q", ?b) } }',
        "UPSERT { PROPOSITION ?x { (?a, ?p, ?b) } }",
        'UPSERT { PROPOSITION ?x { (?a, "p", {type: "T"}) } }',
        'UPSERT { PROPOSITION ?x { (?a, "p", (?b, ?q, ?c)) } }',
        'UPSERT { PROPOSITION ?x { (?a, "p", ?b) SET PROPOSITIONS {} } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} }, CONCEPT ?y { {id: "C:2"} } }',
        'UPSERT { CONCEPT ?x { {id: "C:1"} } } FIND(?x) WHERE { ?x {type: "T"} }',
    ],
)
def test_a_malformed_upsert_is_refused(text: str) -> None:
    assert refusal(text).code == "KIP_1001"


# DELETE.


@cases(
    ("text", "expected"),
    [
        (
            'DELETE ATTRIBUTES {"a", :k, "b c",} FROM ?x WHERE { ?x {type: "T"} }',
            ast.DeleteKeys(
                "ATTRIBUTES",
                (ast.Literal("a"), ast.Placeholder("k"), ast.Literal("b c")),
                X,
                WHERE,
            ),
        ),
        (
            'DELETE METADATA {"a"} FROM ?x WHERE { ?x {type: "T"} }',
            ast.DeleteKeys("METADATA", (ast.Literal("a"),), X, WHERE),
        ),
        (
            'DELETE PROPOSITIONS ?x WHERE { ?x {type: "T"} }',
            ast.DeletePropositions(X, WHERE),
        ),
        (
            'DELETE CONCEPT ?x DETACH WHERE { ?x {type: "T"} }',
            ast.DeleteConcept(X, WHERE),
        ),
        (
            'MERGE CONCEPT ?x INTO ?y WHERE { ?x {type: "T"} }',
            ast.MergeConcept(X, Y, WHERE),
        ),
    ],
)
def test_deletions_and_merges(text: str, expected: ast.Command) -> None:
    assert parse(text) == expected


@cases(
    "text",
    [
        "DELETE",
        'DELETE ?x WHERE { ?x {type: "T"} }',
        'DELETE ATTRIBUTES {} FROM ?x WHERE { ?x {type: "T"} }',
        'DELETE ATTRIBUTES {a} FROM ?x WHERE { ?x {type: "T"} }',
        'DELETE ATTRIBUTES "a" FROM ?x WHERE { ?x {type: "T"} }',
        'DELETE ATTRIBUTES {"a"} ?x WHERE { ?x {type: "T"} }',
        'DELETE ATTRIBUTES {"a"} FROM ?x',
        'DELETE ATTRIBUTES {"a" "b"} FROM ?x WHERE { ?x {type: "T"} }',
        'DELETE PROPOSITION ?x WHERE { ?x {type: "T"} }',
        'DELETE PROPOSITIONS ?x DETACH WHERE { ?x {type: "T"} }',
        'DELETE CONCEPT ?x WHERE { ?x {type: "T"} }',
        'DELETE CONCEPT DETACH ?x WHERE { ?x {type: "T"} }',
        'DELETE CONCEPTS ?x DETACH WHERE { ?x {type: "T"} }',
        "DELETE CONCEPT ?x DETACH",
        'DELETE CONCEPT ?x DETACH WHERE { ?x {type: "T"} } LIMIT 5',
        'MERGE ?x INTO ?y WHERE { ?x {type: "T"} }',
        'MERGE CONCEPT ?x ?y WHERE { ?x {type: "T"} }',
        "MERGE CONCEPT ?x INTO ?y",
    ],
)
def test_a_malformed_deletion_or_merge_is_refused(text: str) -> None:
    assert refusal(text).code == "KIP_1001"


# UPDATE.


def changes(text: str) -> Any:
    command = parse(f'UPDATE ?x SET ATTRIBUTES {text} WHERE {{ ?x {{type: "T"}} }}')
    assert isinstance(command, ast.Update)
    return command.attributes


def test_an_update_sets_attributes_and_metadata_in_either_order() -> None:
    expected = ast.Update(
        X,
        WHERE,
        attributes=(("a", ast.Literal(1)),),
        metadata=ast.Placeholder("m"),
        limit=ast.Literal(5),
    )
    tail = 'WHERE { ?x {type: "T"} } LIMIT 5'
    assert parse(f"UPDATE ?x SET ATTRIBUTES {{a: 1}} SET METADATA :m {tail}") == expected
    assert parse(f"UPDATE ?x SET METADATA :m SET ATTRIBUTES {{a: 1}} {tail}") == expected


def test_new_values_are_json_placeholders_or_computed() -> None:
    score = ast.Path(X, ("attributes", "score"))
    assert changes(
        '{"a b": [1, :p], c: null, d: ADD(?x.attributes.score, 1), '
        "e: CLAMP(MUL(?x.attributes.score, :f), 0, COALESCE(?x.attributes.score, -1.5))}"
    ) == (
        ("a b", ast.ArrayTemplate((ast.Literal(1), ast.Placeholder("p")))),
        ("c", ast.Literal(None)),
        ("d", ast.Arithmetic("ADD", (score, ast.Literal(1)))),
        (
            "e",
            ast.Arithmetic(
                "CLAMP",
                (
                    ast.Arithmetic("MUL", (score, ast.Placeholder("f"))),
                    ast.Literal(0),
                    ast.Arithmetic("COALESCE", (score, ast.Literal(-1.5))),
                ),
            ),
        ),
    )


@cases(
    "text",
    [
        *["[]", '"a"', "5", "{a: ?x.attributes.b}", "{a: ?x}", "{a: ADD(?x, 1)}", "{a: 1, a: 2}"],
        *["{a: ADD(1)}", "{a: ADD(1, 2, 3)}", "{a: CLAMP(1, 2)}", "{a: ADD}", "{a: ADD()}"],
        *['{a: ADD(1, "2")}', "{a: ADD(1, null)}", "{a: ADD(1, [2])}", "{a: SUB(1, 2)}"],
        *["{a: add(1, 2)}", "{a: {b: ADD(1, 2)}}", "{a: [ADD(1, 2)]}", "{a: 1 + 2}"],
    ],
)
def test_a_malformed_change_is_refused(text: str) -> None:
    error = refusal(f'UPDATE ?x SET ATTRIBUTES {text} WHERE {{ ?x {{type: "T"}} }}')
    assert error.code == "KIP_1001"


@cases(
    "text",
    [
        'UPDATE ?x WHERE { ?x {type: "T"} }',
        "UPDATE ?x SET ATTRIBUTES {a: 1}",
        'UPDATE SET ATTRIBUTES {a: 1} WHERE { ?x {type: "T"} }',
        'UPDATE ?x SET {a: 1} WHERE { ?x {type: "T"} }',
        'UPDATE ?x SET PROPOSITIONS {} WHERE { ?x {type: "T"} }',
        'UPDATE ?x SET METADATA {a: 1} SET METADATA {b: 1} WHERE { ?x {type: "T"} }',
        'UPDATE ?x WHERE { ?x {type: "T"} } SET ATTRIBUTES {a: 1}',
        'UPDATE ?x SET ATTRIBUTES {a: 1} WHERE { ?x {type: "T"} } CURSOR "c"',
    ],
)
def test_a_malformed_update_is_refused(text: str) -> None:
    assert refusal(text).code == "KIP_1001"
