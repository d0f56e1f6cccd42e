"""Words of other languages, and their counterparts in a schema. Data only."""

from __future__ import annotations

from typing import Final


def by_word(meanings: dict[str, str]) -> dict[str, str]:
    """Each word with its meaning, from meanings with their words."""
    return {word: meaning for meaning, words in meanings.items() for word in words.split()}


DECLARATIONS: Final = by_word(
    {
        "node": "type class struct table entity vertex model record concept object message data",
        "edge": "relation relationship rel link predicate proposition association",
        "interface": "trait abstract protocol mixin contract",
    }
)
"""The first word of a declaration elsewhere, in lower case, and the word for it here."""

OPENINGS: Final[dict[str, str]] = {
    "enum": "Write an enum where it is used: `status: enum(open, closed)`.",
    "scalar": "The scalars are built in; a schema declares none.",
    "query": "Queries are no part of a schema.",
    "import": "A schema is one text: put all declarations into it.",
    "include": "A schema is one text: put all declarations into it.",
    "create": "Begin with `node`, `edge` or `interface`.",
    "export": "Begin with `node`, `edge` or `interface`.",
    "extend": "A schema is the whole of it: add the properties where the type is declared.",
}

SCALARS: Final = by_word(
    {
        "String": "string str text varchar char uuid id url uri utf8 json any",
        "I64": "int int64 i64 integer long bigint number int8",
        "I32": "int32 i32 int16 i16 i8 short smallint tinyint int4",
        "U32": "uint32 u32 uint16 u16 u8 uint8 byte",
        "U64": "uint64 u64 uint unsigned usize",
        "F32": "float32 f32 single real float4",
        "F64": "float float64 f64 double decimal numeric float8",
        "Bool": "bool boolean",
        "Blob": "blob bytes binary bytea largebinary",
        "Date": "date date32 localdate",
        "DateTime": "datetime timestamp timestamptz time instant date64",
        "Vector(768)": "vector embedding vec fixedsizelist",
        "[String]": "list array set seq",
        "String?": "option optional maybe nullable",
        "enum(open, closed)": "enum oneof union",
    }
)
"""The name of a type of values elsewhere, in lower case, and its name here."""

EXTENDING: Final = frozenset(("extends", "inherits", "with", "is", "implement", "Implements"))
"""Words of other languages for `implements`."""

MODIFIERS: Final = frozenset(
    ("optional", "required", "readonly", "unique", "key", "primary", "index", "public", "private")
)
"""Words of other languages before a property."""
