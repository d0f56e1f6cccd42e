"""Words and signs that models bring along from other languages, and what KIP says instead.

Data only. The keywords of KIP are here as well: a word is foreign when it is not among them.
"""

from __future__ import annotations

from typing import Final

STATEMENTS: Final = frozenset(
    {"FIND", "UPSERT", "DELETE", "UPDATE", "MERGE", "DESCRIBE", "SEARCH", "EXPORT", "EXPLAIN"}
)

KEYWORDS: Final = STATEMENTS | frozenset(
    """
    WHERE FILTER NOT OPTIONAL UNION ORDER BY ASC DESC LIMIT CURSOR AS OF
    COUNT SUM AVG MIN MAX DISTINCT IN IS_NULL IS_NOT_NULL CONTAINS STARTS_WITH ENDS_WITH REGEX
    CONCEPT PROPOSITION SET ATTRIBUTES PROPOSITIONS METADATA WITH EXPECT VERSION
    FROM DETACH INTO ADD MUL CLAMP COALESCE
    PRIMER DOMAINS TYPES TYPE MODE THRESHOLD ANALYZE
    """.split()  # noqa: SIM905  Sixty words read better without their quotes.
)

_ASK = 'KIP asks with FIND(?x) WHERE { ?x {type: "…"} }.'
_TELL = 'KIP writes with UPSERT { CONCEPT ?x { {type: "…", name: "…"} SET ATTRIBUTES { … } } }.'
_REMOVE = "KIP removes with DELETE ATTRIBUTES, METADATA, PROPOSITIONS or CONCEPT … WHERE { … }."
_LITERALS = "JSON writes true, false and null, in lower case."
_TEXT = 'Test text with CONTAINS, STARTS_WITH, ENDS_WITH or REGEX: CONTAINS(?x.name, "…").'
_PAGE = 'Pages follow one another with LIMIT n and CURSOR "…", the next_cursor of the last answer.'
_GROUP = "Grouping is implied: FIND(?x, COUNT(?y)) groups by ?x."
_DISTINCT = "Solutions are distinct anyway; DISTINCT stands in an aggregate: COUNT(DISTINCT ?x)."

WORDS: Final[dict[str, str]] = {
    "SELECT": _ASK,
    "MATCH": _ASK,
    "QUERY": _ASK,
    "GET": _ASK,
    "RETURN": "What to return stands at the front: FIND(?x, ?y.name).",
    "CREATE": _TELL,
    "INSERT": _TELL,
    "PUT": _TELL,
    "REMOVE": _REMOVE,
    "DROP": _REMOVE,
    "AND": "Write && for and.",
    "OR": "Write || for or.",
    "XOR": "Write it with &&, || and !.",
    "NOT": "In a condition write ! for not: !(…). A pattern is excluded with NOT { … } in WHERE.",
    "LIKE": _TEXT,
    "ILIKE": _TEXT,
    "MATCHES": _TEXT,
    "STARTSWITH": _TEXT,
    "ENDSWITH": _TEXT,
    "BETWEEN": "Write two comparisons: ?x.attributes.n >= 1 && ?x.attributes.n <= 5.",
    "IS": "Write IS_NULL(…) or IS_NOT_NULL(…).",
    "EXISTS": "Require a pattern by writing it in WHERE; exclude one with NOT { … }.",
    "BOUND": "Write IS_NOT_NULL(?x).",
    "ISNULL": "Write IS_NULL(…) or IS_NOT_NULL(…).",
    "OFFSET": _PAGE,
    "SKIP": _PAGE,
    "TOP": _PAGE,
    "GROUP": _GROUP,
    "GROUPBY": _GROUP,
    "HAVING": "Aggregates cannot be filtered; filter what is aggregated with FILTER(…).",
    "ORDERBY": "Write ORDER BY.",
    "DISTINCT": _DISTINCT,
    "AS": "FIND has no aliases; columns stand in the order of its expressions.",
    "TRUE": _LITERALS,
    "FALSE": _LITERALS,
    "NULL": _LITERALS,
    "NONE": _LITERALS,
    "NIL": _LITERALS,
    "UNDEFINED": _LITERALS,
    "NAN": "JSON has no such number; use null, or leave the key out.",
    "INFINITY": "JSON has no such number; use null, or leave the key out.",
    "DATE": 'Dates are strings: "2026-01-31T00:00:00Z".',
    "NOW": "KIP reads no clock: pass the time as a parameter.",
}
"""By word, in upper case."""

_QUOTES = 'Strings stand in straight double quotes: "text".'

CHARACTERS: Final[dict[str, str]] = {
    "'": _QUOTES,
    "`": _QUOTES,
    "‘": _QUOTES,
    "’": _QUOTES,
    "“": _QUOTES,
    "”": _QUOTES,
    "„": _QUOTES,
    "«": _QUOTES,
    "»": _QUOTES,
    ";": "KIP has no semicolons; remove it.",
    "=": "Write == to compare and `key: value` to assign.",
    "&": "Write && for and.",
    "|": "Write || for or; between predicates a single | gives alternatives.",
    "<>": "Write != for not equal.",
    "*": "There is no `*`: name the variables and paths that you mean.",
    "@": "A parameter is written :name.",
    "$": 'A parameter is written :name; names such as "$self" stand in double quotes.',
    "%": "KIP computes only in UPDATE, with ADD, MUL, CLAMP and COALESCE.",
    "+": "KIP computes only in UPDATE, with ADD, MUL, CLAMP and COALESCE.",
    "-": "KIP computes only in UPDATE, with ADD, MUL, CLAMP and COALESCE.",
    "/": "KIP computes only in UPDATE, with ADD, MUL, CLAMP and COALESCE; comments start with //.",
    "~": "Test text with CONTAINS, STARTS_WITH, ENDS_WITH or REGEX.",
    "…": "Replace the ellipsis with what is meant.",
    "?": "A variable is written ?name.",
}
"""By token."""
