"""Commands written as in another language: the hint says the same in KIP."""

import pytest

from mycel.errors import InvalidSyntax
from mycel.kip import parse
from mycel.store.query.vocabulary import undefined
from tests.cases import cases
from tests.unit.kip.refusals import filtered, marked, refusal, where, with_value

QUERY = 'FIND(?c) WHERE { ?c {type: "Composer"} }'


def walk(predicate: str) -> str:
    """A command with a predicate and what follows it."""
    return where(f"(?a, {predicate}, ?b)")


def updated(change: str) -> str:
    """A command that sets an attribute."""
    return f'UPDATE ?c SET ATTRIBUTES {{ born: {change} }} WHERE {{ ?c {{type: "Composer"}} }}'


def entry(text: str) -> str:
    """A command with an entry of SET PROPOSITIONS."""
    return f'UPSERT {{ CONCEPT ?c {{ {{id: "C:1"}} SET PROPOSITIONS {{ {text} }} }} }}'


@cases(
    ("text", "at", "hint"),
    [
        # SPARQL's groups and clauses.
        (where('{ ?c {type: "T"} } UNION { ?c {type: "U"} }'), "{", "?c {…} UNION { … }"),
        (where('{ (?a, "p", ?b) } UNION { (?a, "q", ?b) }'), "{", "(…) UNION { … }"),
        (where('{ ?c {type: "T"} }'), "{", "Remove these braces"),
        (where("{ ?c {type:"), "{", "Remove these braces"),
        (where("BIND(1 AS ?n)"), "BIND", "KIP has no BIND"),
        (where("bind(1 AS ?n)"), "bind", "KIP has no BIND"),
        (where('MINUS { (?x, "p", ?y) }'), "MINUS", "NOT { … }"),
        (where('FILTER NOT EXISTS { (?x, "p", ?y) }'), "NOT", "with NOT { … }, without FILTER"),
        (where('FILTER EXISTS { (?x, "p", ?y) }'), "EXISTS", "writing it as it is"),
        (where('FILTER ?x.name == "a"'), "?x.name", "FILTER(condition)"),
        (where('CONTAINS(?x.name, "a")'), "CONTAINS", "FILTER(CONTAINS(…))"),
        # Keys in brackets.
        (filtered("?x.attributes.tags[0] == 1"), "0", "return the whole array"),
        (where('(?x["attributes"], "p", ?y)'), "[", "Write ?x here; paths are for FIND"),
        # Attributes in a matcher.
        (
            where('?c {type: "T", attributes: {country: "DE"}}'),
            "attributes",
            'FILTER(?c.attributes.country == "DE")',
        ),
        (where('?c {metadata: {"by": :who}}'), "metadata", "FILTER(?c.metadata.by == :who)"),
        (where('?c {type: "T", tags: ["a"]}'), "tags", "FILTER(?c.attributes.tags == …)"),
        (where('?c {type: "T", attributes: :a}'), "attributes", "FILTER(?c.attributes.key == …)"),
        (
            where('(?a, "p", {type: "T", born: 1811})'),
            "born",
            '?x {type: "…"} FILTER(?x.attributes.born == 1811)',
        ),
        (
            'UPSERT { CONCEPT { {type: "T", name: "n", attributes: {born: 1811}} } }',
            "attributes",
            "SET ATTRIBUTES { born: 1811 }",
        ),
        (
            'UPSERT { CONCEPT { {type: "T", name: "n", metadata: {by: "me"}} } }',
            "metadata",
            '} WITH METADATA { by: "me" }',
        ),
        # Hops.
        (walk('"influenced"+'), "+", '"influenced"{1,}'),
        (walk('"influenced"*'), "*", '"influenced"{0,}'),
        (walk('"influenced"?'), "?", '"influenced"{0,1}'),
        (walk('"influenced"*1..3'), "*", '"influenced"{1,3}'),
        (walk('"influenced"*..3'), "*", '"influenced"{1,3}'),
        (walk('"influenced"*2'), "*", '"influenced"{2}'),
        (walk(":p+"), "+", ":p{1,}"),
        (walk('"a"/"b"'), "/", '(?a, "a", ?m) (?m, …, ?b)'),
        (walk('^"a"'), "^", "Write the pattern the other way round"),
        (walk("?p+"), "+", "A predicate variable takes no hops"),
        (walk('"a" | "b"+'), "+", "one UNION block for each"),
        ('UPSERT { PROPOSITION { (?a, "p"+, ?b) } }', "+", "a single name"),
        (walk('"p"{1-3}'), "-3", "write {1,3}"),
        (walk('"p"{1 - 3}'), "-", "write {1,3}"),
        (walk('"p"{1..3}'), "1..3", "write {1,3}"),
        (walk('"p"{1:3}'), ":", "write {1,3}"),
        (walk('"p"{,3}'), ",", "write {0,3}"),
        (walk('"p"{1,*}'), "*", "write {1,}"),
        (walk('"p"{+}'), "+", "write {1,}"),
        (walk('"p"{one}'), "one", "Hops are {m}, {m,n} or {m,}."),
        # Reckoning.
        (updated("?c.attributes.n + 1"), "?c.attributes.n", "ADD(?c.attributes.n, 1)"),
        (updated("?c.attributes.n +1"), "?c.attributes.n", "ADD(?c.attributes.n, 1)"),
        (updated("?c.attributes.n - 1"), "?c.attributes.n", "ADD(?c.attributes.n, -1)"),
        (updated("?c.attributes.n-1"), "?c.attributes.n-1", "ADD(?c.attributes.n, -1)"),
        (updated("?c.attributes.n - :d"), "?c.attributes.n", "ADD(?c.attributes.n, MUL(:d, -1))"),
        (updated("?c.attributes.n * 2"), "?c.attributes.n", "MUL(?c.attributes.n, 2)"),
        (updated("?c.attributes.n / 2"), "?c.attributes.n", "MUL(?c.attributes.n, 0.5)"),
        (updated("1 + ?c.attributes.n"), "+", "ADD(1, ?c.attributes.n)"),
        (updated("2026-01-31"), "-01", "in double quotes"),
        (updated('"a" + "b"'), "+", "ADD, MUL, CLAMP and COALESCE"),
        # Functions.
        (filtered('LOWER(?x.name) == "a"'), "LOWER", 'REGEX(?x.name, "(?i)…")'),
        (filtered('CONTAINS(upper(?x.name), "A")'), "upper", 'REGEX(?x.name, "(?i)…")'),
        ("FIND(LOWER(?x.name)) WHERE { }", "LOWER", "REGEX("),
        (filtered('STRDT(?x.name) == "a"'), "STRDT", "no function STRDT"),
        # FIND.
        (
            "FIND(DISTINCT ?c.name) WHERE { }",
            "DISTINCT",
            "group: FIND(?c.name, COUNT(?c)); to count the values, COUNT(DISTINCT ?c.name)",
        ),
        ("FIND DISTINCT ?c WHERE { }", "DISTINCT", "group: FIND(?c, COUNT(?c))"),
        (f"{QUERY} ORDER BY DESC(?c.name)", "DESC", "ORDER BY ?c.name DESC"),
        (f"{QUERY} ORDER BY asc ?c.name", "asc", "ORDER BY ?c.name ASC"),
        ("FIND(?c) AS OF yesterday WHERE { }", "yesterday", 'AS OF "2026-01-31T10:30:00Z"'),
        # SQL's statements.
        ("DELETE FROM Composer WHERE n = 1", "FROM", '?x DETACH WHERE { ?x {type: "Composer"}'),
        ("DELETE Composer", "Composer", '?x DETACH WHERE { ?x {type: "Composer"}'),
        ("DELETE ?c WHERE { }", "?c", "DELETE CONCEPT ?c DETACH WHERE { … }"),
        ("DELETE WHERE { }", "WHERE", "DELETE CONCEPT ?x DETACH WHERE { … }"),
        ('DELETE CONCEPT {type: "T"}', "{", "DELETE CONCEPT ?x DETACH WHERE { ?x {…} }"),
        ('DELETE PROPOSITIONS (?a, "p", ?b)', "(", "DELETE PROPOSITIONS ?p WHERE { ?p (…) }"),
        ('MERGE CONCEPT {type: "T"} INTO ?b', "{", "MERGE CONCEPT ?source INTO ?target"),
        ("UPDATE ?c SET born = 1811", "born", "UPDATE ?c SET ATTRIBUTES { born: 1811 } WHERE"),
        ("UPDATE ?c SET ?c.metadata.by = :me", "?c.metadata.by", "SET METADATA { by: :me }"),
        ("UPDATE ?c SET {born: 1811}", "{", "UPDATE ?c SET ATTRIBUTES { key: value } WHERE"),
        ("UPDATE ?c {born: 1811}", "{", "UPDATE ?c SET ATTRIBUTES { … } WHERE { … }"),
        ("UPDATE Composer SET born = 1811", "Composer", 'WHERE { ?x {type: "Composer"} … }'),
        ('UPDATE {type: "T"} SET', "{", 'UPDATE ?x SET ATTRIBUTES { … } WHERE { ?x {type: "…"}'),
        # What is no command of KIP.
        ("SHOW TABLES", "SHOW", "DESCRIBE PRIMER"),
        ("show types", "show", "DESCRIBE CONCEPT TYPES"),
        ("HISTORY ?c", "HISTORY", "AS OF"),
        ("help", "help", "DESCRIBE PRIMER"),
        ("exit", "exit", ".exit"),
        ("quit", "quit", ".exit"),
        ('EXPORT WHERE { ?c {type: "T"} }', "WHERE", "EXPORT ?c WHERE { ?c {"),
        ('EXPORT {type: "T"}', "{", "EXPORT ?x WHERE { ?x {"),
        (f"```kip\n{QUERY}\n```", "`", "Remove the Markdown fence"),
        (f"{QUERY}\n```", "`", "Remove the Markdown fence"),
        # UPSERT.
        (entry('(?this, "p", ?b)'), "?this", 'An entry is ("predicate", target)'),
        (entry('({id: "C:1"}, "p", ?b)'), "{", "so it is not named"),
        # Keys in brackets.
        ("FIND(?c.attributes[born]) WHERE { }", "born", 'double quotes: ["born"]'),
        ("FIND(?c.attributes[0]) WHERE { }", "0", "does not reach into an array"),
        # Words of other languages are values like any other, once in quotes.
        (with_value("help"), "help", 'double quotes: "help"'),
        (with_value("lower"), "lower", 'double quotes: "lower"'),
    ],
)
def test_the_hint_says_it_in_kip(text: str, at: str, hint: str) -> None:
    assert marked(text) == at
    assert hint in refusal(text).hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'UPSERT { CONCEPT { {id: "C:1"} SET METADATA {a: 1} } }',
            "Expected `SET ATTRIBUTES`, `SET PROPOSITIONS` or `}`, found `SET METADATA`.",
        ),
        (
            'UPSERT { CONCEPT { {id: "C:1"} SET PROPOSITIONS {} SET METADATA {a: 1} } }',
            "Expected `}`, found `SET METADATA`.",
        ),
        (
            'UPSERT { PROPOSITION { (id: "P:1:p") SET METADATA {a: 1} } }',
            "Expected `SET ATTRIBUTES`, `SET WEIGHT` or `}`, found `SET METADATA`.",
        ),
        (
            "FIND(?c) AS OF yesterday WHERE { }",
            "Expected a time in double quotes, an integer from 0 up or a placeholder after AS OF",
        ),
    ],
)
def test_the_message_says_what_could_stand_here(text: str, message: str) -> None:
    assert message in refusal(text).message


def test_hops_left_open_are_to_be_closed() -> None:
    assert "Close the `{`" in refusal('FIND(?x) WHERE { (?a, "p"{1,').hint


@cases(
    "text",
    [
        where('{ ?c {type: "T", attributes: {country: "DE"}} } UNION { (?a, "p"*1..3, ?b) }'),
        where('?c {attributes: {country: "DE"}} FILTER(?c.attributes["a"]["b"] == LOWER(?c.name))'),
        updated('?c.attributes["born"] + 1'),
        "UPDATE ?c SET born = :year WHERE { }",
        "UPDATE Composer SET born = 1811 + 1",
        walk('"p"{1-3}'),
        walk(":p*2..3"),
        entry('(?this, "p"+, ?b) SET METADATA {a: 1}'),
        "FIND(DISTINCT ?c.name) AS OF yesterday WHERE { } ORDER BY DESC(?c.name)",
        "DELETE FROM Composer WHERE { }",
        "EXPORT WHERE { ?c {} }",
    ],
)
def test_a_command_that_breaks_off_anywhere_is_refused_with_a_hint(text: str) -> None:
    for end in range(len(text) + 1):
        for cut in (text[:end], text[end:]):
            error = refusal(cut)
            assert error.hint


def test_alternatives_in_one_string_are_taken_apart_when_no_such_predicate_is_defined() -> None:
    known = ["influenced", "friend_of"]
    hint = undefined("predicate", "influenced|friend_of", known, "DESCRIBE …").hint
    assert 'quotes of its own: "influenced" | "friend_of".' in hint
    assert "Did you mean" in undefined("predicate", "influence", known, "DESCRIBE …").hint


def test_the_hint_stands_on_a_line_of_its_own_after_the_excerpt() -> None:
    with pytest.raises(InvalidSyntax) as caught:
        parse("FIND() WHERE { }")
    assert str(caught.value).split("\n")[1:] == [
        "1 | FIND() WHERE { }",
        "  |      ^",
        "Name at least one variable: FIND(?x).",
    ]
