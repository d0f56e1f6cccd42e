"""Words and signs of other languages, and the KIP for them; and the keywords of KIP. Data only."""

from __future__ import annotations

from typing import Final

STATEMENTS: Final = frozenset(
    """
    FIND UPSERT DELETE UPDATE MERGE DESCRIBE SEARCH EXPORT TRAVERSE EXPLAIN
    """.split()  # noqa: SIM905  As below.
)

KEYWORDS: Final = STATEMENTS | frozenset(
    """
    WHERE FILTER NOT OPTIONAL UNION ORDER BY ASC DESC LIMIT CURSOR AS OF
    COUNT SUM AVG MIN MAX DISTINCT IN IS_NULL IS_NOT_NULL CONTAINS STARTS_WITH ENDS_WITH REGEX
    CONCEPT PROPOSITION SET ATTRIBUTES PROPOSITIONS METADATA WITH EXPECT VERSION
    FROM DETACH INTO ADD MUL CLAMP COALESCE
    PRIMER DOMAINS TYPES TYPE MODE THRESHOLD ANALYZE DEFINITIONS
    ALONG DIRECTION MAX_COST MAX_TOKENS
    """.split()  # noqa: SIM905  Sixty words read better without their quotes.
)

_ASK = 'KIP asks with FIND(?x) WHERE { ?x {type: "…"} }.'
_TELL = 'KIP writes with UPSERT { CONCEPT ?x { {type: "…", name: "…"} SET ATTRIBUTES { … } } }.'
_REMOVE = "KIP removes with DELETE ATTRIBUTES, METADATA, PROPOSITIONS or CONCEPT … WHERE { … }."
_LITERALS = "JSON writes true, false and null, in lower case."
_TEXT = 'Test text with CONTAINS, STARTS_WITH, ENDS_WITH or REGEX: CONTAINS(?x.name, "…").'
_PAGE = 'Pages follow one another with LIMIT n and CURSOR "…", the next_cursor of the last answer.'
_GROUP = "Grouping is implied: FIND(?x, COUNT(?y)) groups by ?x."
_CASE = 'KIP changes no text; to ignore case, filter with REGEX(?x.name, "(?i)…").'
_PRIMER = "DESCRIBE PRIMER shows what the graph holds, DESCRIBE CONCEPT TYPES its types."
_EXCLUDE = "Exclude a pattern with NOT { … }."
_LEAVE = "KIP has no such command; `mycel shell` is left with .exit."
_ATOMIC = "Every command is a transaction of its own; there is nothing to begin or to end."
_NEAR = 'TRAVERSE FROM {type: "…", name: "…"} MAX_COST 1 gives what is near, nearest first.'
_NO_NAMES = "KIP names no values: write this one where it is used, or pass it as a parameter."

WORDS: Final[dict[str, str]] = {
    "SELECT": _ASK,
    "MATCH": _ASK,
    "QUERY": _ASK,
    "GET": _ASK,
    "RETURN": "Name what to return first: FIND(?x, ?y.name).",
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
    "DISTINCT": "DISTINCT belongs in an aggregate: COUNT(DISTINCT ?x).",
    "AS": "FIND has no aliases; columns are in the order of its expressions.",
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

OPENINGS: Final[dict[str, str]] = {
    "SHOW": _PRIMER,
    "LIST": _PRIMER,
    "HELP": f"A command starts with the keyword of its statement. {_PRIMER}",
    "EXIT": _LEAVE,
    "QUIT": _LEAVE,
    "HISTORY": "FIND(?x) AS OF … WHERE { … } asks a past state, by a time or a position in the "
    "journal; `mycel history` and db.history(…) list the versions of an element.",
    "BEGIN": _ATOMIC,
    "COMMIT": _ATOMIC,
    "ROLLBACK": _ATOMIC,
    "ASK": _ASK,
    "WALK": _NEAR,
    "EXPAND": _NEAR,
    "NEIGHBORS": _NEAR,
    "NEIGHBOURS": _NEAR,
    "NEAR": _NEAR,
    "WITH": "A command starts with the keyword of its statement: FIND asks, UPSERT tells.",
}
"""Words that start a command elsewhere, in upper case. As values they are as good as any."""

_FAR = "How far it goes is bounded by cost: MAX_COST 2 is two links of weight 1."
_ALONG = 'Which links to follow: ALONG "depends_on" | "imports".'
_BOUNDED = (
    "A traversal is bounded by ALONG, DIRECTION, MAX_COST, MAX_TOKENS and LIMIT, and comes in order"
    " of cost; FIND has WHERE."
)

BOUNDS: Final[dict[str, str]] = {
    "DEPTH": _FAR,
    "MAX_DEPTH": _FAR,
    "HOPS": _FAR,
    "MAX_HOPS": _FAR,
    "COST": _FAR,
    "NODES": "How many to give: LIMIT 50.",
    "MAX_NODES": "How many to give: LIMIT 50.",
    "TOKENS": "How many tokens to give: MAX_TOKENS 2000.",
    "VIA": _ALONG,
    "OVER": _ALONG,
    "THROUGH": _ALONG,
    "FOLLOW": _ALONG,
    "TYPES": _ALONG,
    "WHERE": _BOUNDED,
    "FILTER": _BOUNDED,
    "CURSOR": _BOUNDED,
    "ORDER": _BOUNDED,
    "WITH": _BOUNDED,
}
"""Words that bound a traversal elsewhere, in upper case."""

CLAUSES: Final[dict[str, str]] = {
    "BIND": f"KIP has no BIND. {_NO_NAMES}",
    "LET": f"KIP has no LET. {_NO_NAMES}",
    "VALUES": 'KIP has no VALUES: test with FILTER(IN(?x.name, ["…", "…"])).',
    "MINUS": _EXCLUDE,
}
"""Words that start a clause elsewhere, in upper case."""

FUNCTIONS: Final[dict[str, str]] = {
    "LOWER": _CASE,
    "UPPER": _CASE,
    "LCASE": _CASE,
    "UCASE": _CASE,
    "TOLOWER": _CASE,
    "TOUPPER": _CASE,
    "BIND": f"KIP has no BIND. {_NO_NAMES}",
}
"""Words with arguments after them, in upper case."""

_QUOTES = 'Strings are in straight double quotes: "text".'

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
    "$": 'A parameter is written :name; names such as "$self" are in double quotes.',
    "%": "KIP computes only in UPDATE, with ADD, MUL, CLAMP and COALESCE.",
    "+": "KIP computes only in UPDATE, with ADD, MUL, CLAMP and COALESCE.",
    "-": "KIP computes only in UPDATE, with ADD, MUL, CLAMP and COALESCE.",
    "/": "KIP computes only in UPDATE, with ADD, MUL, CLAMP and COALESCE; comments start with //.",
    "~": "Test text with CONTAINS, STARTS_WITH, ENDS_WITH or REGEX.",
    "…": "Replace the ellipsis with what is meant.",
    "?": "A variable is written ?name.",
}
"""By token."""
