"""The scalar types of properties: one entry for each, with its traits.

A new scalar is a name in `Scalar`. The type checker then asks for its entry here, and for these:

    schema.property_values      the canonical spelling of its values, and reading them from text
    schema.stored_declaration   its type in JSON
    transfer.tables             its values in Arrow
    queries.declaration         if it is a type of parameters; their checks and hints follow
    queries.column_types        the JSON Schema of its values

It does not ask for three places that choose a scalar for a Python value: `from_python` in
`schema.property_values` and `_SCALARS` in `transfer.columnar`, where a `Decimal` is a number so
far, and `migration.inference`. A word of another language stands for one scalar (`decimal` for F64
so far); `schema.foreign_words` refuses a second meaning.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, NamedTuple, assert_never, get_args

Scalar = Literal[
    "String", "Blob", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "Vector"
]


class ScalarTraits(NamedTuple):
    """The properties of a scalar in the language."""

    arrow: str
    """The function of pyarrow that makes its type."""
    words: str
    """The names of the scalar in other languages, in lower case."""
    kind: Literal["integer", "float", "time", "other"] = "other"
    limits: tuple[int, int] | None = None
    """The least and the greatest integer; None for other scalars."""
    wider: tuple[Scalar, ...] = ()
    """Wider scalars, which can hold every value of this one."""
    in_lists: bool = True
    format: str = ""
    """A sentence on the spelling of values, if mistakes are likely."""


def _traits(scalar: Scalar) -> ScalarTraits:
    match scalar:
        case "String":
            return ScalarTraits(
                "utf8", "string str text varchar char uuid id url uri utf8 json any"
            )
        case "Blob":
            return ScalarTraits(
                "large_binary",
                "blob bytes binary bytea largebinary",
                in_lists=False,
                format="A Blob is base64 text with padding, not an address; it may begin with"
                " `base64:`.",
            )
        case "Bool":
            return ScalarTraits("bool_", "bool boolean")
        case "I32":
            words = "int32 i32 int16 i16 i8 short smallint tinyint int4"
            return ScalarTraits("int32", words, "integer", _signed(32), ("I64", "F64"))
        case "I64":
            words = "int int64 i64 integer long bigint number int8"
            return ScalarTraits("int64", words, "integer", _signed(64))
        case "U32":
            words = "uint32 u32 uint16 u16 u8 uint8 byte"
            return ScalarTraits("uint32", words, "integer", _unsigned(32), ("I64", "U64", "F64"))
        case "U64":
            return ScalarTraits(
                "uint64", "uint64 u64 uint unsigned usize", "integer", _unsigned(64)
            )
        case "F32":
            return ScalarTraits(
                "float32", "float32 f32 single real float4", "float", wider=("F64",)
            )
        case "F64":
            return ScalarTraits(
                "float64", "float float64 f64 double decimal numeric float8", "float"
            )
        case "Date":
            return ScalarTraits(
                "date32",
                "date date32 localdate",
                "time",
                format='A Date is text like "2024-01-31".',
            )
        case "DateTime":
            return ScalarTraits(
                "date64",
                "datetime timestamp timestamptz time instant date64",
                "time",
                format='A DateTime is text like "2024-01-31T12:00:00Z" or'
                ' "2024-01-31T13:00:00+01:00".',
            )
        case "Vector":
            return ScalarTraits(
                "float32",
                "vector embedding vec fixedsizelist",
                in_lists=False,
                format="A Vector is an array of finite numbers, as many as its dimension.",
            )
        case _:
            assert_never(scalar)


def _signed(bits: int) -> tuple[int, int]:
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _unsigned(bits: int) -> tuple[int, int]:
    return 0, (1 << bits) - 1


SCALARS: Final[dict[Scalar, ScalarTraits]] = {name: _traits(name) for name in get_args(Scalar)}
"""Every scalar with its traits, in the order in which they are listed to people."""

INTEGERS: Final = frozenset(name for name, traits in SCALARS.items() if traits.kind == "integer")
FLOATS: Final = frozenset(name for name, traits in SCALARS.items() if traits.kind == "float")
NUMERIC: Final = INTEGERS | FLOATS
ORDERED: Final = NUMERIC | {name for name, traits in SCALARS.items() if traits.kind == "time"}
"""The scalars whose values can be ordered."""


def scalar_words(scalars: Collection[Scalar]) -> str:
    """A list of scalars for a message, in the order of `SCALARS`.

    >>> scalar_words(FLOATS)
    'F32 and F64'
    """
    names = [name for name in SCALARS if name in scalars]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
