"""What a model reads when its command is refused: where, what, and what to write instead."""

from mycel.errors import InvalidSyntax
from tests.cases import cases
from tests.unit.kip.refusals import filtered, marked, refusal, where, with_value

QUERY = 'FIND(?x) WHERE { ?x {type: "T"} }'


def test_a_refusal_shows_the_line_the_column_and_a_caret() -> None:
    error = refusal('FIND(?x)\nWHERE {\n  ?x {type: "T"}\n  FITLER(?x.name == "a")\n}')
    assert isinstance(error, InvalidSyntax)
    assert error.message == (
        "Line 4, column 3: Expected a clause, `FILTER`, `NOT`, `OPTIONAL`, `UNION` or `}`, "
        'found `FITLER`.\n4 |   FITLER(?x.name == "a")\n  |   ^^^^^^'
    )
    assert error.hint == "Did you mean FILTER?"
    assert error.data["line"] == 4
    assert error.data["column"] == 3


@cases(
    ("text", "at", "hint"),
    [
        # Keywords that are misspelt, or in lower case.
        ('find(?x) WHERE { ?x {type: "T"} }', "find", "write FIND"),
        ('FIND(?x) WHER { ?x {type: "T"} }', "WHER", "Did you mean WHERE?"),
        ('FIND(?x) where { ?x {type: "T"} }', "where", "write WHERE"),
        (where('?x {type: "T"} filter(?x.name == "a")'), "filter", "write FILTER"),
        (where('?x {type: "T"} OPTINAL { (?x, "p", ?y) }'), "OPTINAL", "OPTIONAL"),
        (f"{QUERY} LIMT 5", "LIMT", "LIMIT"),
        (f"{QUERY} limit 5", "limit", "write LIMIT"),
        (f"{QUERY} ORDER BY ?x desc", "desc", "write DESC"),
        ('FIND(count(?x)) WHERE { ?x {type: "T"} }', "count", "write COUNT"),
        (filtered('contains(?x.name, "a")'), "contains", "write CONTAINS"),
        (filtered('STARTWITH(?x.name, "a")'), "STARTWITH", "STARTS_WITH"),
        ("DESCRIBE PRIMMER", "PRIMMER", "PRIMER"),
        ("DESCRIBE CONCEPT type", "type", "write TYPE"),
        ("UPSERT { CONCPET ?x { } }", "CONCPET", "CONCEPT"),
        ("EXPLAIN analyze DESCRIBE PRIMER", "analyze", "write ANALYZE"),
        ("UPDATE ?x set ATTRIBUTES {a: 1}", "set", "write SET"),
        ("UPDATE ?x SET ATTRIBUTES {a: add(1, 2)}", "add", "write ADD"),
        ("FIND(?x) union { }", "union", "write UNION"),
        ('EXPORT ?x WHERE { ?x {type: "T"} } LIMITS 5', "LIMITS", "LIMIT"),
        # Words of other languages.
        ("SELECT ?x", "SELECT", "FIND(?x) WHERE"),
        ("select * from t", "select", "FIND(?x) WHERE"),
        ("MATCH (n:Drug) RETURN n", "MATCH", "FIND(?x) WHERE"),
        ("CREATE (n)", "CREATE", "UPSERT"),
        ("INSERT INTO t", "INSERT", "UPSERT"),
        (f"{QUERY} RETURN ?x", "RETURN", "FIND(?x"),
        (f"{QUERY} LIMIT 5 OFFSET 5", "OFFSET", "CURSOR"),
        (f"{QUERY} SKIP 5", "SKIP", "CURSOR"),
        (f"{QUERY} GROUP BY ?x", "GROUP", "implied"),
        (filtered('?x.name == "a" AND ?x.name == "b"'), "AND", "&&"),
        (filtered('?x.name == "a" or ?x.name == "b"'), "or", "||"),
        (filtered('NOT ?x.name == "a"'), "NOT", "!(…)"),
        (filtered('?x.name LIKE "a%"'), "LIKE", "CONTAINS"),
        (filtered("?x.name IS NULL"), "IS", "IS_NULL"),
        (filtered('?x.name CONTAINS "a"'), "CONTAINS", "CONTAINS(?x.name, …)"),
        (filtered('?x.name IN ["a"]'), "IN", "IN(?x.name, …)"),
        (with_value("None"), "None", "null"),
        (with_value("TRUE"), "TRUE", "true"),
        ("FIND(DISTINCT ?x) WHERE { }", "DISTINCT", "group: FIND(?x, COUNT(?x))"),
        ("FIND(?x AS ?y) WHERE { }", "AS", "no aliases"),
        ("FIND(*) WHERE { }", "*", "name the variables"),
        ("FIND(COUNT(*)) WHERE { }", "*", "name the variables"),
        (where('(?x)-["p"]->(?y)'), ")", '(?x, "p", ?y)'),
        (where("?x -[p]-> ?y"), "-", '(?a, "predicate", ?b)'),
        # Signs that KIP does not have.
        (where("?x {type: 'T'}"), "'", "double quotes"),
        (where("?x {type: “T”}"), "“", "double quotes"),
        (filtered('?x.name = "a"'), "=", "=="),
        (f"{QUERY};", ";", "no semicolons"),
        (f"# what\n{QUERY}", "#", "//"),
        (f"/* what */ {QUERY}", "/", "//"),
        (f"-- what\n{QUERY}", "-", "//"),
        (filtered('?x.name == "a" & ?x.name == "b"'), "&", "&&"),
        (filtered('?x.name == "a" | ?x.name == "b"'), "|", "||"),
        (where("?x {type: $t}"), "$", ":name"),
        (where('?x {type:\u00a0"T"}'), "\u00a0", "NO-BREAK SPACE"),
        # Something left out.
        ("FIND(?x ?y) WHERE { }", "?y", "comma is missing"),
        (with_value("{a: 1 b: 2}"), "b", "comma is missing"),
        (with_value("[1 2]"), "2", "comma is missing"),
        (where('(?x "p", ?y)'), '"p"', "comma is missing"),
        (with_value("{a 1}"), "1", "colon"),
        (where("?x {type: T}"), "T", 'double quotes: "T"'),
        (where("(?x, treats, ?y)"), "treats", 'double quotes: "treats"'),
        (f"{QUERY} ORDER ?x", "?x", "ORDER BY"),
        ('SEARCH "a"', '"a"', "SEARCH CONCEPT"),
        ('DELETE CONCEPT ?x WHERE { ?x {type: "T"} }', "WHERE", "DETACH"),
        ('DELETE PROPOSITION ?x WHERE { ?x {type: "T"} }', "PROPOSITION", "PROPOSITIONS"),
        ("FIND(COUNT ?x) WHERE { }", "?x", "COUNT(DISTINCT ?x)"),
        ("FIND(?x) AS ?y WHERE { }", "?y", "AS OF asks for a past state"),
        ("UPDATE ?x SET ATTRIBUTES {a: ADD(1 2)}", "2", "comma is missing"),
        ("UPSERT { } WITH {a: 1}", "{", "WITH METADATA { … }"),
        (where('?x {5: "T"}'), "5", "A matcher is"),
        ('FIND(?x) WHERE { ?x {type: "T"} LIMIT 5', "LIMIT", "with `}` before LIMIT"),
        # Something empty, or out of range.
        ("FIND() WHERE { }", ")", "FIND(?x)"),
        ("FIND(?x) WHERE { }", "{ }", "at least one clause"),
        (where("NOT { }"), "{ }", "at least one clause"),
        (f"{QUERY} LIMIT 0", "0", "Leave LIMIT out"),
        (f'{QUERY} LIMIT "5"', '"5"', "without quotes"),
        (where('(?x, "p"{5,2}, ?y)'), "{5,2}", "{2,5}"),
        (where('(?x, "p"{99999}, ?y)'), "99999", "{1,}"),
        # Something in the wrong place.
        (f"{QUERY} LIMIT 5 ORDER BY ?x", "ORDER", "The order is FIND"),
        (f'{QUERY} CURSOR "c" LIMIT 5', "LIMIT", "The order is FIND"),
        (f"{QUERY} AS OF 5", "AS", "The order is FIND"),
        ("FIND(?x) LIMIT 5 WHERE { }", "LIMIT", "WHERE { … } is required"),
        (f"{QUERY} {QUERY}", "FIND", "One statement per command"),
        ("UPSERT {} DESCRIBE PRIMER", "DESCRIBE", "One statement per command"),
        ("EXPLAIN EXPLAIN DESCRIBE PRIMER", "EXPLAIN", "once"),
        (where("?x LIMIT"), "LIMIT", '?x {type: "…"}'),
        (where("?x"), "}", '?x {type: "…"}'),
        (where('{type: "T"}'), "{", '?x {type: "…"}'),
        (where('(?x {type: "T"}, "p", ?y)'), "{", "clause of its own"),
        (where('(?x, "p", "Aspirin")'), '"Aspirin"', '{type: "…", name: "…"}'),
        (where('?x {type: "T"}, ?y {type: "T"}'), ",", "follow one another"),
        (where('(?x, "p" | "q"{1,2}, ?y)'), "{", 'UNION { (?x, "q"{1,2}, ?y) }'),
        (where("(?x, ?p{1,2}, ?y)"), "{", "takes no hops"),
        (where('?x {type: "T", colour: "red"}'), "colour", "FILTER(?x.attributes.colour"),
        (where('?x {"type": "T"}'), '"type"', "`type:`"),
        (where('?x {id: "C:1", type: "T"}'), '{id: "C:1", type: "T"}', '{id: "…"}'),
        (filtered("?x.name"), ")", "?x.name == true"),
        (filtered("1 < ?x.attributes.n < 3"), "<", "&&"),
        ("UPDATE ?x SET ATTRIBUTES {a: ?x.name}", "?x.name", "COALESCE(?x.attributes.key, 0)"),
        ("UPDATE ?x SET ATTRIBUTES {a: ADD(1)}", "ADD(1)", "ADD(a, b)"),
        ('UPSERT { CONCEPT { {type: "T"} } }', '{type: "T"}', '{type: "…", name: "…"}'),
        (
            'UPSERT { CONCEPT { {id: "C:1"} SET METADATA {a: 1} } }',
            "SET METADATA",
            "} WITH METADATA",
        ),
        (
            'UPSERT { CONCEPT { {id: "C:1"} SET ATTRIBUTES {} SET METADATA {a: 1} } }',
            "SET METADATA",
            "} WITH METADATA",
        ),
        (
            'UPSERT { CONCEPT { {id: "C:1"} SET PROPOSITIONS {("p", ?y), ("q", ?z)} } }',
            ",",
            "without commas",
        ),
        (
            'UPSERT { CONCEPT { {id: "C:1"} SET PROPOSITIONS {} SET ATTRIBUTES {} } }',
            "SET ATTRIBUTES",
            "The order is",
        ),
        ('SEARCH CONCEPT "a" MODE "semantics"', '"semantics"', "'semantic'"),
        # Strings and numbers.
        (with_value('"a\\qb"'), "\\q", "backslash itself"),
        (with_value('"a\\u12"'), "\\u12", "four hexadecimal digits"),
        (with_value('"a\tb"'), " ", "\\t"),
        (with_value("2026-01-31"), "-01", "in double quotes"),
        (with_value("10:30"), ":", "in double quotes"),
        (with_value("007"), "007", "leading zeros"),
        (with_value("23456789012345678901"), "23456789012345678901", "as a string"),
        (with_value("1e999"), "1e999", "1.8e308"),
        (with_value(r'"\ud800"'), r'"\ud800"', "both halves"),
    ],
)
def test_the_hint_says_what_to_write(text: str, at: str, hint: str) -> None:
    assert marked(text) == at
    assert hint in refusal(text).hint


def test_a_missing_where_is_asked_for() -> None:
    error = refusal("FIND(?x)")
    assert "WHERE { … } is required" in error.hint
    assert (error.data["line"], error.data["column"]) == (1, 9)


def test_a_bracket_left_open_is_pointed_at() -> None:
    error = refusal('FIND(?x)\nWHERE {\n  ?x {type: "T"}\n\n// the end\n')
    assert error.hint == "Close the `{` of line 2, column 7 with `}` first."
    # The place is where the text ends, not where the white space after it does.
    assert (error.data["line"], error.data["column"]) == (3, 17)


def test_the_wrong_closing_bracket_is_answered_with_the_right_one() -> None:
    hint = refusal(where('?x {type: "T")')).hint
    assert hint == "Close the `{` of line 1, column 21 with `}` first."


def test_a_bracket_too_many_is_told_apart() -> None:
    assert "no bracket left to close" in refusal(f"{QUERY} }}").hint


def test_a_string_left_open_is_marked_to_the_end_of_its_line() -> None:
    error = refusal('FIND(?x)\nWHERE { ?x {name: "abc} }\n}')
    assert "not closed" in error.message
    assert error.data["excerpt"].endswith(" ^^^^^^^")
    assert (error.data["line"], error.data["column"]) == (2, 19)


def test_half_a_surrogate_pair_in_the_text_is_pointed_at() -> None:
    error = refusal('SEARCH CONCEPT "a\ud800"')
    assert error.data["column"] == 18
    assert "\ud800" not in error.message
