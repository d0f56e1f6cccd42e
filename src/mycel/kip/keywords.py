"""Words and signs of other languages with the KIP to write instead, and the keywords of KIP."""

from __future__ import annotations

from typing import Final

from mycel.kip.statements import STATEMENTS
from mycel.model.aggregates import AGGREGATES

KEYWORDS: Final = (
    STATEMENTS
    | frozenset(AGGREGATES)
    | frozenset(
        """
    WHERE FILTER NOT OPTIONAL UNION ORDER BY ASC DESC LIMIT CURSOR AS OF
    DISTINCT IN IS_NULL IS_NOT_NULL CONTAINS STARTS_WITH ENDS_WITH REGEX
    CONCEPT PROPOSITION SET ATTRIBUTES PROPOSITIONS METADATA WITH EXPECT VERSION WEIGHT
    FROM DETACH INTO ADD MUL CLAMP COALESCE
    PRIMER DOMAINS TYPES TYPE CHANGES TO UNDER MODE THRESHOLD ANALYZE DEFINITIONS
    CAPABILITIES HISTORY
    FOR TIME INCLUDE ARCHIVED BECAUSE RETENTION BELIEF
    ALONG DIRECTION MAX_COST MAX_TOKENS ACTOR SINCE UNTIL NEAR WORKSPACE KIND
    """.split()  # noqa: SIM905  Sixty words read better without their quotes.
    )
)

_ASK = 'KIP asks with FIND(?x) WHERE { ?x {type: "…"} }.'
_TELL = 'KIP writes with UPSERT { CONCEPT ?x { {type: "…", name: "…"} SET ATTRIBUTES { … } } }.'
_REMOVE = "KIP removes with DELETE ATTRIBUTES, METADATA, PROPOSITIONS or CONCEPT … WHERE { … }."
_TEXT = 'Test text with CONTAINS, STARTS_WITH, ENDS_WITH or REGEX: CONTAINS(?x.name, "…").'
_PAGE = 'Read pages with LIMIT n and CURSOR "…": the cursor is next_cursor of the last answer.'
_PRIMER = "DESCRIBE PRIMER gives an overview of the graph, DESCRIBE CONCEPT TYPES its types."
_NO_NAMES = (
    "KIP has no names for values: write the value where it is used, or pass it as a parameter."
)
_NO_BIND = f"KIP has no BIND. {_NO_NAMES}"
_COMPUTE = "KIP computes only in UPDATE, with ADD, MUL, CLAMP and COALESCE."


def _share_hint(words: str, hint: str) -> dict[str, str]:
    """One hint for several words."""
    return dict.fromkeys(words.split(), hint)


WORDS: Final[dict[str, str]] = {
    **_share_hint("SELECT MATCH QUERY GET", _ASK),
    **_share_hint("CREATE INSERT PUT", _TELL),
    **_share_hint("REMOVE DROP", _REMOVE),
    **_share_hint("LIKE ILIKE MATCHES STARTSWITH ENDSWITH", _TEXT),
    **_share_hint("OFFSET SKIP TOP", _PAGE),
    **_share_hint("GROUP GROUPBY", "Grouping is implied: FIND(?x, COUNT(?y)) groups by ?x."),
    **_share_hint(
        "TRUE FALSE NULL NONE NIL UNDEFINED", "JSON writes true, false and null, in lower case."
    ),
    **_share_hint("NAN INFINITY", "JSON has no such number; use null, or leave the key out."),
    **_share_hint("IS ISNULL", "Write IS_NULL(…) or IS_NOT_NULL(…)."),
    "RETURN": "Name what to return first: FIND(?x, ?y.name).",
    "AND": "Write && for and.",
    "OR": "Write || for or.",
    "XOR": "Write it with &&, || and !.",
    "NOT": "In a condition write ! for not: !(…). A pattern is excluded with NOT { … } in WHERE.",
    "BETWEEN": "Write two comparisons: ?x.attributes.n >= 1 && ?x.attributes.n <= 5.",
    "EXISTS": "Require a pattern by writing it in WHERE; exclude one with NOT { … }.",
    "BOUND": "Write IS_NOT_NULL(?x).",
    "HAVING": "Aggregates cannot be filtered: filter the rows before with FILTER(…), or sort"
    " with ORDER BY COUNT(?x) DESC and drop the unwanted rows of the answer.",
    **_share_hint("ORDERBY SORT SORTBY", "Write ORDER BY ?x.name, ?y.name DESC."),
    "DISTINCT": "DISTINCT belongs in an aggregate: COUNT(DISTINCT ?x).",
    "AS": "FIND has no aliases; columns are in the order of its expressions, and ORDER BY repeats"
    " an expression.",
    "DATE": 'Dates are strings: "2026-01-31T00:00:00Z".',
    "NOW": "KIP reads no clock: pass the time as a parameter.",
}
"""By word, in upper case."""

OPENINGS: Final[dict[str, str]] = {
    **_share_hint("SHOW LIST", _PRIMER),
    **_share_hint(
        "EXIT QUIT", "KIP has no such command; a session of `mycel kip` is left with .exit."
    ),
    **_share_hint(
        "BEGIN COMMIT ROLLBACK",
        "Every command is a transaction of its own; there is nothing to begin or to end.",
    ),
    **_share_hint(
        "WALK EXPAND NEIGHBORS NEIGHBOURS NEAR",
        'TRAVERSE FROM {type: "…", name: "…"} MAX_COST 1 returns near elements, nearest first.',
    ),
    **_share_hint("ASK CONSTRUCT OPTIONAL UNWIND CALL LOAD WHERE", _ASK),
    **_share_hint("PREFIX BASE", "KIP has no prefixes: write each whole name in double quotes."),
    **_share_hint("DETACH TRUNCATE ERASE", _REMOVE),
    **_share_hint("REPLACE WRITE ADD STORE ALTER", _TELL),
    "HELP": f"A command starts with the keyword of its statement. {_PRIMER}",
    "HISTORY": "DESCRIBE HISTORY lists the commits; FIND(?x) AS OF … WHERE { … } reads a past"
    " state, by a time or a position in the journal.",
    "WITH": "A command starts with the keyword of its statement: FIND asks, UPSERT tells.",
}
"""Words that start a command in other languages, in upper case, each with advice."""

BOUNDS: Final[dict[str, str]] = {
    **_share_hint(
        "DEPTH MAX_DEPTH HOPS MAX_HOPS COST",
        "Cost bounds the distance: MAX_COST 2 is two links of weight 1.",
    ),
    **_share_hint("NODES MAX_NODES", "Limit the number of elements with LIMIT 50."),
    **_share_hint(
        "VIA OVER THROUGH FOLLOW TYPES",
        'Choose the links to follow with ALONG "depends_on" | "imports".',
    ),
    **_share_hint(
        "WHERE FILTER CURSOR ORDER WITH",
        "A traversal is bounded by ALONG, DIRECTION, MAX_COST, MAX_TOKENS and LIMIT, and returns"
        " elements in order of cost; FIND has WHERE.",
    ),
    "TOKENS": "Limit the size of the answer with MAX_TOKENS 2000.",
}
"""Words that bound a traversal in other languages, in upper case."""

CLAUSES: Final[dict[str, str]] = {
    "BIND": _NO_BIND,
    "LET": f"KIP has no LET. {_NO_NAMES}",
    "VALUES": 'KIP has no VALUES: test with FILTER(IN(?x.name, ["…", "…"])).',
    "MINUS": "Exclude a pattern with NOT { … }.",
}
"""Words that start a clause in other languages, in upper case."""

FUNCTIONS: Final[dict[str, str]] = {
    **_share_hint(
        "LOWER UPPER LCASE UCASE TOLOWER TOUPPER",
        "KIP has no functions that change a text; to ignore case, filter with"
        ' REGEX(?x.name, "(?i)…").',
    ),
    "BIND": _NO_BIND,
}
"""Words of other languages with arguments after them, in upper case."""

CHARACTERS: Final[dict[str, str]] = {
    **_share_hint("' ` ‘ ’ “ ” „ « »", 'Strings are in straight double quotes: "text".'),
    **_share_hint("% + -", _COMPUTE),
    ";": "KIP has no semicolons; remove it.",
    "=": "Write == to compare and `key: value` to assign.",
    "&": "Write && for and.",
    "|": "Write || for or; between predicates a single | gives alternatives.",
    "<>": "Write != for not equal.",
    "*": "There is no `*`: name the variables and paths to return.",
    "@": "A parameter is written :name.",
    "$": 'A parameter is written :name; names such as "$self" are in double quotes.',
    "/": f"{_COMPUTE[:-1]}; comments start with //.",
    "~": "Test text with CONTAINS, STARTS_WITH, ENDS_WITH or REGEX.",
    "…": "Replace the ellipsis with the omitted text.",
    "?": "A variable is written ?name.",
}
"""By token."""
