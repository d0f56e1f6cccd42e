"""What stands behind a command, or inside it without its bracket: the reader sees what to write."""

import pytest

from mycel.errors import ResourceExhausted
from mycel.kip import parse
from mycel.model.limits import CAPSULE_BYTES_MAX, COMMAND_BYTES_MAX
from tests.cases import cases
from tests.unit.kip.refusals import refusal, where

T = '?x {type: "T"}'
DELETED = (
    "DELETE takes all that WHERE matches and has no {0}. To delete some of them, find these first, "
    "FIND({1}.id) WHERE {{ … }} LIMIT {2}, then add FILTER(IN({1}.id, :ids)) to the WHERE of the "
    "DELETE."
)
WHOLE = (
    "This answer comes as a whole, so the command has no {0}: write {1}. DESCRIBE"
    " CONCEPT TYPES and DESCRIBE "
    "PROPOSITION TYPES have LIMIT and CURSOR."
)
PAGES = (
    r'SEARCH has no pages; the best come first. Raise its LIMIT, SEARCH CONCEPT "a \"b" LIMIT 100, '
    r'or narrow it: SEARCH CONCEPT "a \"b" WITH TYPE "…".'
)
UNITED = (
    "Patterns are alternatives in a block of UNION: write UNION {{ {0} }} in the place of {1}, and "
    "repeat in it the patterns that both should share."
)
HOPS = (
    "Hops follow a single predicate: write {0}. To follow several predicates on one walk, "
    "use TRAVERSE FROM {{…}} ALONG {1}."
)
INSIDE = "{0} belongs inside the braces: WHERE {{ … {0}{1} }}."
BRACES = "A concept is written in braces, a link in parentheses: write {0}."
CLOSE = "Close the `(` of line 1, column {0} with `)`: write {1} WHERE …"

HINTS = {
    # A parenthesis that was left open.
    f"FIND(?x WHERE {{ {T} }}": CLOSE.format(5, "FIND(?x)"),
    f"FIND(?x, ?y.name\nWHERE {{ {T} }}": CLOSE.format(5, "FIND(?x, ?y.name)"),
    f"FIND(COUNT(DISTINCT ?x WHERE {{ {T} }}": CLOSE.format(11, "FIND(COUNT(DISTINCT ?x))"),
    f"FIND(?x {{ {T} }}": CLOSE.format(5, "FIND(?x)"),
    where(f'{T} FILTER(?x.name == "a" NOT {{ (?x, "p", ?y) }}'): (
        "Close the `(` of line 1, column 39 with `)` before NOT."
    ),
    f"FIND(?x) WHERE {{ {T} LIMIT 3": "Close the `{` of line 1, column 16 with `}` before LIMIT.",
    'UPSERT { CONCEPT { {type: "T", name: "n"} SET ATTRIBUTES {a: 1 SET PROPOSITIONS {} } }': (
        "Close the `{` of line 1, column 58 with `}` before SET."
    ),
    # Concepts in parentheses.
    where('?a (type: "T", name: :n)'): BRACES.format('?a {type: "T", name: :n}'),
    where('(type: "T")'): BRACES.format('?x {type: "T"}'),
    where('(?a, "p", (name: "n"))'): BRACES.format('{name: "n"}'),
    # Words between clauses.
    where(f'{T} OR ?x {{type: "U"}}'): UNITED.format('?x {type: "U"}', "OR"),
    where(f'{T} or (?x, "p", ?y)'): UNITED.format('(?x, "p", ?y)', "OR"),
    where(f'{T} || {{ ?x {{type: "U"}} (?x, "p", ?y) }}'): UNITED.format(
        '?x {type: "U"} (?x, "p", ?y)', "||"
    ),
    where(f"{T} OR FILTER(?x.n == 1)"): "Conditions are joined inside one filter: FILTER(… || …).",
    where(f'{T} AND (?x, "p", ?y)'): (
        "Clauses that all have to hold follow one another: leave AND out."
    ),
    where(f'{{ {T} }} OR {{ ?x {{type: "U"}} }}'): (
        "Remove the first braces: ?x {…} UNION { … }. Repeat in each arm the patterns that both "
        "should share."
    ),
    where(f'{T} OPTIONAL (?x, "p", ?y)'): (
        'OPTIONAL is followed by a block: OPTIONAL { (?x, "p", ?y) }.'
    ),
    # Hops and alternatives.
    where('(?x, "p"{1,3} | "q", ?y)'): HOPS.format(
        '(?x, "p"{1,3}, ?y) UNION { (?x, "q", ?y) }', '"p" | "q"'
    ),
    where('({type: "T"}, "p"{1,3} | :q{2}, ?y)'): HOPS.format(
        '(…, "p"{1,3}, ?y) UNION { (…, :q{2}, ?y) }', '"p" | :q'
    ),
    where('(?x, "p" | "q"{2}, {name: "n"})'): HOPS.format(
        '(?x, "p", …) UNION { (?x, "q"{2}, …) }', '"p" | "q"'
    ),
    where('(?x, ("p" | "q"){1,3}, ?y)'): (
        'Alternatives have no brackets and no hops: (?a, "p" | "q", ?b).'
    ),
    # Clauses of WHERE behind it.
    f"FIND(?x) WHERE {{ {T} }} FILTER(?x.n == 1)": INSIDE.format("FILTER", "(…)"),
    f'FIND(?x) WHERE {{ {T} }} optional {{ (?x, "p", ?y) }}': INSIDE.format("OPTIONAL", " { … }"),
    f"FIND(?x) WHERE {{ {T} }} UNION FIND(?x) WHERE {{ {T} }}": INSIDE.format("UNION", " { … }"),
    f"UPDATE ?x SET ATTRIBUTES {{a: 1}} WHERE {{ {T} }} FILTER(?x.n == 1)": INSIDE.format(
        "FILTER", "(…)"
    ),
    f'DELETE CONCEPT ?x DETACH WHERE {{ {T} }} NOT {{ (?x, "p", ?y) }}': INSIDE.format(
        "NOT", " { … }"
    ),
    # Clauses of another statement.
    f"DELETE CONCEPT ?x DETACH WHERE {{ {T} }} LIMIT 3": DELETED.format("LIMIT", "?x", "3"),
    f"DELETE CONCEPT ?x DETACH WHERE {{ {T} }} limit 3": DELETED.format("LIMIT", "?x", "3"),
    'DELETE PROPOSITIONS ?l WHERE { ?l (?a, "p", ?b) } LIMIT :n': DELETED.format(
        "LIMIT", "?l", ":n"
    ),
    f'DELETE ATTRIBUTES {{"a"}} FROM ?x WHERE {{ {T} }} ORDER BY ?x.name': DELETED.format(
        "ORDER", "?x", "10"
    ),
    'MERGE CONCEPT ?a INTO ?b WHERE { ?a {name: "a"} ?b {name: "b"} } LIMIT 1': (
        "MERGE takes one concept on each side and has no LIMIT; leave it out."
    ),
    f"UPDATE ?x SET ATTRIBUTES {{a: 1}} WHERE {{ {T} }} CURSOR :c": (
        "UPDATE has LIMIT and no CURSOR; leave it out, or restrict WHERE."
    ),
    "DESCRIBE PRIMER LIMIT 3": WHOLE.format("LIMIT", "DESCRIBE PRIMER"),
    "DESCRIBE DOMAINS CURSOR :c": WHOLE.format("CURSOR", "DESCRIBE DOMAINS"),
    'DESCRIBE CONCEPT TYPE "T" LIMIT 3': WHOLE.format("LIMIT", 'DESCRIBE CONCEPT TYPE "T"'),
    "DESCRIBE PROPOSITION TYPES CURSOR :c LIMIT 3": (
        "LIMIT comes before CURSOR, each at most once."
    ),
    "DESCRIBE PROPOSITION TYPES ORDER BY ?x": (
        "DESCRIBE PROPOSITION TYPES has LIMIT and CURSOR only. Definitions are concepts: "
        'FIND(?t.name) WHERE { ?t {type: "$PropositionType"} } ORDER BY ?t.name.'
    ),
    r'SEARCH CONCEPT "a \"b" LIMIT 3 CURSOR :c': PAGES,
    r'SEARCH CONCEPT "a \"b" OFFSET 10': PAGES,
    'SEARCH CONCEPT "a" TYPE "T"': 'Write SEARCH CONCEPT "a" WITH TYPE "T".',
    'SEARCH CONCEPT "a" PATH "b://c"': 'Write SEARCH CONCEPT "a" UNDER "b://c".',
    f"SEARCH CONCEPT :a WHERE {{ {T} }}": (
        "SEARCH has no WHERE; FIND has: "
        'FIND(?x) WHERE { ?x {type: "…"} FILTER(CONTAINS(?x.name, :a)) }.'
    ),
    f"EXPORT ?x WHERE {{ {T} }} ORDER BY ?x.name": (
        "EXPORT has its own order; its pages follow with LIMIT and CURSOR."
    ),
}


@cases("text", HINTS)
def test_the_hint_says_what_to_write_instead(text: str) -> None:
    assert refusal(text).hint == HINTS[text]


def test_a_comma_between_keys_is_still_asked_for_where_a_keyword_is_a_key() -> None:
    error = refusal('UPSERT { CONCEPT { {type: "T", name: "n"} SET ATTRIBUTES {a: 1 LIMIT: 2} } }')
    assert error.hint == "A comma is missing: put `,` before `LIMIT`."


def test_a_capsule_that_is_too_long_for_a_command_is_to_be_applied_as_one() -> None:
    long = f'UPSERT {{ CONCEPT {{ {{type: "T", name: "{"é" * (COMMAND_BYTES_MAX // 2)}"}} }} }}'
    for text in (long, f"// A comment.\n{long}", long + " " * COMMAND_BYTES_MAX):
        assert "db.apply_capsule(text)" in refusal(text).hint
        assert "64 MiB" in refusal(text).hint
    assert "apply_capsule" not in refusal("FIND(?x)" + " " * COMMAND_BYTES_MAX).hint
    with pytest.raises(ResourceExhausted) as caught:
        parse("UPSERT" + " " * CAPSULE_BYTES_MAX, bytes_max=CAPSULE_BYTES_MAX)
    assert "Split it" in caught.value.hint
