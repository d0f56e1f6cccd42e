"""The layout of the file: tables, indexes, views, and the number of the format.

    type, predicate, actor        names interned to small integers; rows are never removed
    concept, proposition          the live state, and nothing else
    concept_past, proposition_past  superseded versions and tombstones, each with the range of the
                                  journal [from_seq, to_seq) in which it was true
    journal                       one row per change, with the records before and after it
    tx                            one row per transaction: who, when, why, and the roots after it.
                                  The newest row has the current positions. So has the row of the
                                  last folding into trees and index; the rows in between have
                                  the changes and texts that are not folded yet
    log_node                      the Merkle log's complete nodes, every fourth level
    concept_tree, edge_tree       pages of the two state trees
    text                          full-text index: keys of names, names, all other text
    hidden, lifetime              what is archived, and for how long elements hold, each with the
                                  range of the journal for which the row holds
    former_period                 when elements held before, with such a range
    property_slot, property       which properties of which types are indexed, and the index of
                                  their values in the live state: one for all of them, because a
                                  thousand indexes of SQLite's own make an insert take 8 ms

`head` is a view on the rows of `tx` from the last folding on: in older rows its columns are NULL.

A journal entry and a transaction share one sequence of numbers: the entries of a transaction come
first, its own row closes it. Live and past rows carry the number of the entry that wrote them, so
every version of every element leads to its entry and back.

JSON is stored as text, not JSONB: attribute scans would be 1.75 times faster, but any SQLite tool
of the last ten years can read the views, and values are copied into results without conversion.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from mycel.model.names import ACTORS, CORE_DOMAINS

APPLICATION_ID: Final = 0x4D79636C
"""`Mycl`, in the header of every graph file."""

DEVELOPMENT_APPLICATION_ID: Final = 0x4D59434C
"""`MYCL`, in files from before the first release, whose formats had other numbers."""

FORMAT: Final = 1
"""The version of this layout, which `format.check_format` checks."""

Table = Literal["concept", "proposition"]
"""The table of the live rows of one kind of element; `_past` after its name gives the past rows."""

KIND_COLUMN: Final[dict[Table, str]] = {"concept": "type", "proposition": "predicate"}
"""The column with the type of a concept, or the predicate of a link."""

OPEN_END: Final = 9223372036854775807
"""The `to_seq` of a tombstone that is in force."""

CONCEPT_TYPE_NUMBER: Final = 1
PROPOSITION_TYPE_NUMBER: Final = 2
FIRST_TYPE_NUMBER: Final = 3
FIRST_PREDICATE_NUMBER: Final = 0x40
"""Smaller numbers are reserved for predicates that every graph has."""

BUILT_IN_PREDICATES: Final = {
    "derived_from": 0x01,
    "supersedes": 0x02,
    "references": 0x03,
    "contradicts": 0x04,
    "corroborates": 0x05,
    "consents_to": 0x06,
    "dispatched_to": 0x07,
    "attested_by": 0x08,
    "cited_in": 0x09,
    "tombstones": 0x0A,
    "part_of": 0x0B,
    "instance_of": 0x0C,
    "caused_by": 0x0D,
    "observed_by": 0x0E,
    "related_to": 0x0F,
}

CONCEPT_COLUMNS: Final = (
    "id, type, name, attributes, metadata, version, {seq}, created_at, created_by, updated_at"
)
PROPOSITION_COLUMNS: Final = (
    "id, subject, predicate, object, weight, attributes, metadata, version, {seq}, created_at,"
    " created_by, updated_at"
)
"""The columns that live and past rows share; in a past row, `seq` is called `from_seq`."""

FTS: Final = """
CREATE VIRTUAL TABLE text USING fts5 (
    keys, title, body,
    content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
)"""
"""The full-text index: the keys of names, names, and all other text. The table keeps no copy of the
text."""

_PROPERTIES = """
CREATE TABLE property_slot (
    slot INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    is_link INTEGER NOT NULL,
    columns TEXT NOT NULL,
    is_unique INTEGER NOT NULL
) STRICT;
CREATE TABLE property (
    slot INTEGER NOT NULL,
    value ANY NOT NULL,
    element INTEGER NOT NULL,
    PRIMARY KEY (slot, value, element)
) STRICT, WITHOUT ROWID;
"""

_LINK_ENDS = """
CREATE TABLE link_end (
    predicate INTEGER NOT NULL,
    side INTEGER NOT NULL,
    PRIMARY KEY (predicate, side)
) STRICT, WITHOUT ROWID;
"""
"""The table of the predicates and sides at which a link has ever been an end. Rows are never
removed."""

LIFETIMES: Final = """
CREATE TABLE hidden (
    element INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER NOT NULL,
    PRIMARY KEY (element, to_seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE lifetime (
    element INTEGER NOT NULL,
    valid_from INTEGER,
    valid_until INTEGER,
    expires INTEGER,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER NOT NULL,
    PRIMARY KEY (element, to_seq)
) STRICT, WITHOUT ROWID;
"""

FORMER_PERIODS: Final = """
CREATE TABLE former_period (
    element INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_until INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER NOT NULL,
    PRIMARY KEY (element, to_seq, valid_from)
) STRICT, WITHOUT ROWID;
"""
"""The table of former periods. The least and the greatest integer stand for an open beginning and
end."""

SUBJECT_SIDE: Final = 0
OBJECT_SIDE: Final = 1

_TOMBSTONE_ROW = """
    to_seq INTEGER NOT NULL,
    tombstoned_at INTEGER,
    tombstoned_by INTEGER,
    tombstoned_reason TEXT"""


def _row(columns: str) -> str:
    """The columns of a table of elements; from attributes on, they are the same in each table."""
    return f"""
    id INTEGER NOT NULL,{columns}
    attributes TEXT NOT NULL,
    metadata TEXT NOT NULL,
    version INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_by INTEGER NOT NULL,
    updated_at INTEGER NOT NULL"""


def _live(row: str) -> str:
    return row.replace("id INTEGER NOT NULL", "id INTEGER PRIMARY KEY", 1).replace("from_", "")


_CONCEPT_ROW = _row("""
    type INTEGER NOT NULL,
    name TEXT NOT NULL,""")
_PROPOSITION_ROW = _row("""
    subject INTEGER NOT NULL,
    predicate INTEGER NOT NULL,
    object INTEGER NOT NULL,
    weight REAL NOT NULL,""")

_TABLES = f"""
CREATE TABLE type (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE predicate (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE actor (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE concept ({_live(_CONCEPT_ROW)}
) STRICT;
CREATE UNIQUE INDEX concept_by_name ON concept (name, type);
CREATE INDEX concept_by_type ON concept (type);

CREATE TABLE proposition ({_live(_PROPOSITION_ROW)}
) STRICT;
CREATE UNIQUE INDEX proposition_spo ON proposition (subject, predicate, object);
CREATE INDEX proposition_ops ON proposition (object, predicate, subject);
CREATE INDEX proposition_pos ON proposition (predicate, object, subject);

CREATE TABLE concept_past ({_CONCEPT_ROW},{_TOMBSTONE_ROW}
) STRICT;
CREATE UNIQUE INDEX concept_past_by_id ON concept_past (id, from_seq);
CREATE INDEX concept_past_by_name ON concept_past (name, type);
CREATE UNIQUE INDEX concept_tombstone ON concept_past (name, type) WHERE to_seq = {OPEN_END};

CREATE TABLE proposition_past ({_PROPOSITION_ROW},{_TOMBSTONE_ROW}
) STRICT;
CREATE UNIQUE INDEX proposition_past_by_id ON proposition_past (id, from_seq);
CREATE INDEX proposition_past_spo ON proposition_past (subject, predicate, object);
CREATE INDEX proposition_past_ops ON proposition_past (object, predicate, subject);
CREATE UNIQUE INDEX proposition_tombstone ON proposition_past (subject, predicate, object)
    WHERE to_seq = {OPEN_END};

CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    element INTEGER NOT NULL,
    before BLOB,
    after BLOB,
    purged INTEGER
) STRICT;
CREATE INDEX journal_purge ON journal (element) WHERE kind = 6;
CREATE TABLE log_node (
    level INTEGER NOT NULL,
    position INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (level, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE concept_tree (page INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE edge_tree (page INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
"""

_TX = """
CREATE TABLE tx (
    seq INTEGER PRIMARY KEY,
    first_seq INTEGER NOT NULL,
    time INTEGER NOT NULL,
    actor INTEGER NOT NULL,
    message TEXT NOT NULL,
    concepts_root BLOB NOT NULL,
    edges_root BLOB NOT NULL,
    next_concept INTEGER,
    next_proposition INTEGER,
    definitions INTEGER,
    folded_seq INTEGER,
    pending INTEGER,
    frontier BLOB,
    changes BLOB,
    texts BLOB
) STRICT;
CREATE VIEW head AS
SELECT seq, time, next_concept, next_proposition, definitions, folded_seq, pending, frontier,
       concepts_root, edges_root, changes, texts
FROM tx WHERE frontier IS NOT NULL;
"""
"""The table of transactions. Its newest rows also hold the state of the log: the next numbers, the
pending changes of the trees and their frontier."""

# In the views, a concept whose name is no URI gets a URI of the scheme `kip:`, and so does a link.
# The name of a resource may be a URI without slashes, such as urn:isbn:0.
_IS_URI = "instr({c}.name, '://') > 0"
_IS_URI_OR_URN = f"""{_IS_URI}
              OR ({{t}}.name = 'Resource' AND instr({{c}}.name, ':') > 0
                  AND instr({{c}}.name, ' ') = 0)"""
_TIME = "strftime('%Y-%m-%d %H:%M:%f', {c}.{column} / 1000000.0, 'unixepoch')"


def _uri(is_uri: str) -> str:
    return f"""CASE WHEN {is_uri} THEN {{c}}.name
         ELSE 'kip:' || {{t}}.name || '/' || {{c}}.name END""".format(c="c", t="t")


def _endpoint(column: str, is_uri: str) -> str:
    return f"""CASE WHEN p.{column} & 1
        THEN (SELECT 'kip:P:' || x.id || ':' || xp.name FROM proposition x
              JOIN predicate xp ON xp.id = x.predicate WHERE x.id = p.{column})
        ELSE (SELECT {_uri(is_uri)} FROM concept c
              JOIN type t ON t.id = c.type WHERE c.id = p.{column}) END"""


def _either(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"('{type_name}', '{name}')" for type_name, name in sorted(pairs))


NEWEST_HEAD: Final = "FROM head ORDER BY seq DESC LIMIT 1"
"""The part of a query that reads the newest row of the head."""

CORE_CONCEPTS: Final = f"""SELECT id FROM concept WHERE type IN (1, 2)
      UNION ALL
      SELECT c.id FROM concept c JOIN type t ON t.id = c.type
      WHERE c.name IN ({", ".join(f"'{name}'" for _, name in sorted(CORE_DOMAINS | ACTORS))})
        AND (t.name, c.name) IN (VALUES {_either(CORE_DOMAINS | ACTORS)})"""
"""Definitions, and all other concepts of the core capsules. Every graph has them; they are no
knowledge."""

_PLACEHOLDER = "(t.name = 'Missing' AND substr(c.name, 1, 10) = 'concept://')"

_VIEWS = f"""
CREATE VIEW nodes (uri, node_type, name, content, metadata, created_at, updated_at) AS
SELECT {_uri(_IS_URI_OR_URN)},
       CASE t.name WHEN 'Resource' THEN 'resource' ELSE 'concept' END,
       CASE t.name WHEN 'Resource' THEN NULL
            ELSE coalesce(json_extract(c.attributes, '$.name'), c.name) END,
       CASE t.name WHEN 'Resource' THEN NULL ELSE json_extract(c.attributes, '$.content') END,
       json_patch(c.metadata, json_remove(c.attributes, '$.name', '$.content', '$._bootstrap')),
       {_TIME.format(c="c", column="created_at")},
       {_TIME.format(c="c", column="updated_at")}
FROM concept c JOIN type t ON t.id = c.type
WHERE NOT {_PLACEHOLDER}
  AND c.id NOT IN ({CORE_CONCEPTS});

CREATE VIEW relations
    (id, source_uri, target_uri, relation_type, weight, metadata, created_at) AS
SELECT p.id, {_endpoint("subject", _IS_URI_OR_URN)}, {_endpoint("object", _IS_URI_OR_URN)},
       r.name, p.weight, json_patch(p.metadata, p.attributes),
       {_TIME.format(c="p", column="created_at")}
FROM proposition p JOIN predicate r ON r.id = p.predicate
WHERE NOT (p.subject IN ({CORE_CONCEPTS})
  AND p.object IN ({CORE_CONCEPTS}));
"""
"""The views.

They show knowledge only: no core capsules, no links among their concepts, no stamp of a bootstrap.
A property hides metadata of the same name. A placeholder of a missing concept is no node: links to
it show a URI that `nodes` lacks.
"""


_FTS_MERGES: Final = "INSERT INTO text (text, rank) VALUES ('automerge', 0);"
"""FTS5 would merge some hundreds of pages now and then, inside a write of a few rows. Each addition
to the index merges a few pages instead (`text_index.add`)."""

CREATE: Final = (
    f"{_TABLES}{FTS};{_FTS_MERGES}{_TX}{_PROPERTIES}{_LINK_ENDS}{LIFETIMES}{FORMER_PERIODS}{_VIEWS}"
)
"""The statements that make an empty database."""
