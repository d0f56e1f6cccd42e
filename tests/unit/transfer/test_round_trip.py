"""Whatever the schema allows leaves in every format and comes back the same."""

import io
import tempfile
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycel

SCHEMA = """
node Thing {
    text: String  whole: I64  @key(text, whole)
    small: I32?  unsigned: U64?  number: F64?  flag: Bool?  day: Date?  moment: DateTime?
    single: F32?  singles: [F32]?
    bytes: Blob?  kind: enum(a, b-c, D_1)?  vector: Vector(2)?
    texts: [String]?  wholes: [U32]?  flags: [Bool]?  days: [Date]?  moments: [DateTime]?
}
node Loose { note: String? }
edge Likes: Thing -> Loose { since: DateTime?  why: String? }
"""
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12
)
# CSV tells an empty text from none no more than it tells a carriage return from a line end.
CELLS = TEXTS.map(lambda text: text.replace("\r", "r"))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SINGLES = st.floats(-3.4e38, 3.4e38)
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31)).map(date.isoformat)
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(  # noqa: DTZ001 - meant as UTC
    lambda moment: moment.isoformat(timespec="milliseconds").replace(".000", "") + "Z"
)
THING = st.fixed_dictionaries(
    {"text": CELLS, "whole": st.integers(-(2**63), 2**63 - 1)},
    optional={
        "small": st.integers(-(2**31), 2**31 - 1),
        "unsigned": st.integers(0, 2**64 - 1),
        "number": FLOATS,
        "flag": st.booleans(),
        "day": DAYS,
        "moment": MOMENTS,
        "bytes": st.sampled_from(["AA==", "AP8=", "+/+/"]),
        "kind": st.sampled_from(["a", "b-c", "D_1"]),
        "vector": st.lists(SINGLES, min_size=2, max_size=2),
        "single": SINGLES,
        "singles": st.lists(SINGLES, max_size=3),
        "texts": st.lists(TEXTS, max_size=3),
        "wholes": st.lists(st.integers(0, 2**32 - 1), max_size=3),
        "flags": st.lists(st.booleans(), max_size=3),
        "days": st.lists(DAYS, max_size=2),
        "moments": st.lists(MOMENTS, max_size=2),
    },
)
LOOSE = st.dictionaries(CELLS, st.one_of(st.none(), CELLS), max_size=3)
LIKES = st.fixed_dictionaries({}, optional={"since": MOMENTS, "why": CELLS})
BESIDE = st.fixed_dictionaries(
    {}, optional={"metadata": st.dictionaries(CELLS.map("k{}".format), FLOATS | CELLS, max_size=2)}
)
WEIGHTS = st.fixed_dictionaries({}, optional={"weight": st.floats(0, 1, width=32)})


def key(thing: dict[str, Any]) -> tuple[str, int]:
    return thing["text"], thing["whole"]


@pytest.fixture(scope="module")
def graphs() -> Iterator[tuple[mycel.Graph, mycel.Graph]]:
    """Where rows leave, and where they arrive."""
    with mycel.open(core_capsules=False) as one, mycel.open(core_capsules=False) as other:
        for each in (one, other):
            each.schema.apply(SCHEMA)
        yield one, other


@pytest.mark.parametrize("format_", ["jsonl", "csv", "tsv", "parquet", "arrow"])
@settings(max_examples=settings.default.max_examples // 4)
@given(
    things=st.lists(THING, max_size=4, unique_by=key),
    loose=LOOSE,
    likes=LIKES,
    beside=st.tuples(BESIDE, WEIGHTS),
)
def test_rows_come_back_as_they_left(
    graphs: tuple[mycel.Graph, mycel.Graph],
    format_: Any,
    things: list[dict[str, Any]],
    loose: dict[str, str | None],
    likes: dict[str, Any],
    beside: tuple[dict[str, Any], dict[str, float]],
) -> None:
    metadata, weight = beside
    rows: list[Any] = [{"type": "Thing", "data": each, **metadata} for each in things]
    for name, note in loose.items():
        rows.append({"type": "Loose", "id": name, "data": {"note": note}})
        rows += [
            {
                "edge": "Likes",
                "from": list(key(each)),
                "to": name,
                "data": likes,
                **metadata,
                **weight,
            }
            for each in things
        ]
    db, other = graphs
    empty(db)
    empty(other)
    assert db.load(rows).created == len(rows)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / ("all.jsonl" if format_ == "jsonl" else "tables")
        files = db.export(place, format=format_).files
        other.load(list(files))
    assert rows_of(other) == rows_of(db)


def empty(db: mycel.Graph) -> None:
    for name in ("Thing", "Loose"):
        db.load([], type=name, mode="overwrite")


def rows_of(db: mycel.Graph) -> list[str]:
    out = io.StringIO()
    db.export(out)
    return sorted(out.getvalue().split("\n"))


@pytest.mark.parametrize("format_", ["csv", "parquet", "arrow"])
def test_a_single_is_the_same_key_and_within_the_same_range_when_it_comes_back(
    tmp_path: Path, format_: Any
) -> None:
    with mycel.open(core_capsules=False) as db:
        db.schema.apply("node Mark { k: F32 @key  v: Vector(2)  @range(k, 0..0.1) }")
        db.load([{"type": "Mark", "data": {"k": 0.1, "v": [0.1, 0.123456789]}}])
        files = db.export(tmp_path / "tables", format=format_).files
        assert db.load(list(files), mode="merge").unchanged == 1
        found = db.get_concept("Mark", "0.1")
        assert found is not None
        assert found.attributes == {"k": 0.1, "v": [0.1, 0.12345679]}
