"""Results: rows, the wire form, and tables of other libraries all say the same."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator
from typing import Any

import pandas
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mycel
from mycel.engine.result import Result
from mycel.errors import NotFound

SCALARS = (
    st.none()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
JSON = st.recursive(
    SCALARS | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def results(draw: st.DrawFn) -> tuple[Result, list[list[Any]], bool]:
    """A result as a statement would give it, its columns as values, and whether it is of totals."""
    width = draw(st.integers(1, 4))
    is_scalar = draw(st.booleans())
    height = 1 if is_scalar else draw(st.integers(0, 5))
    kinds = [not is_scalar and draw(st.booleans()) for _ in range(width)]
    columns = [
        draw(st.lists(JSON if kind else SCALARS, min_size=height, max_size=height))
        for kind in kinds
    ]
    cells = [
        [value if not kind else (None if value is None else json.dumps(value)) for value in column]
        for column, kind in zip(columns, kinds, strict=True)
    ]
    made = Result(
        tuple(f"?c{n}" for n in range(width)),
        cells[0] if width == 1 else list(zip(*cells, strict=True)),
        tuple(kinds),
        draw(st.none() | st.just("cursor")),
        draw(st.sampled_from([(), ("take care",)])),
        is_scalar,
    )
    return made, columns, is_scalar


@given(drawn=results(), read_before=st.booleans())
def test_all_forms_of_a_result_agree(
    drawn: tuple[Result, list[list[Any]], bool], read_before: bool
) -> None:
    result, columns, is_scalar = drawn
    if read_before:
        assert result.value is result.value
    shown = [column[0] for column in columns] if is_scalar else columns
    value = shown[0] if len(shown) == 1 else shown
    wire = json.loads(result.to_json())
    assert wire == result.to_dict()
    assert wire["result"] == value == result.value
    assert wire.get("next_cursor") == result.next_cursor
    assert wire.get("warnings", []) == list(result.warnings)
    assert list(result) == result.rows == list(zip(*columns, strict=True))
    assert len(result) == len(columns[0])


@given(drawn=results())
def test_tables_of_other_libraries_hold_the_same_rows(
    drawn: tuple[Result, list[list[Any]], bool],
) -> None:
    result, columns, _ = drawn
    arrow = result.to_arrow()
    assert arrow.column_names == list(result.columns)
    assert arrow.num_rows == len(result)
    for made, column in zip(arrow.columns, columns, strict=True):
        assert plain(made.to_pylist()) in (plain(column), plain(map(as_text, column)))
    frame = result.to_pandas()
    assert list(frame.columns) == list(result.columns)
    assert len(frame) == len(result)
    assert pyarrow.table(result).equals(arrow)  # By way of `__arrow_c_stream__`.
    assert result.to_polars().to_arrow().to_pylist() == arrow.to_pylist()


def as_text(value: Any) -> Any:
    return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def plain(values: Any) -> list[Any]:
    """JSON text compared as JSON, since there are several ways to write the same."""
    return [
        json.loads(v) if isinstance(v, str) and v[:1] in '{["tfn-0123456789' and is_json(v) else v
        for v in values
    ]


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# With a real graph.


@pytest.fixture(scope="module")
def db() -> Iterator[mycel.Graph]:
    with mycel.open(":memory:", core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Lake")
            tx.define_type("Pond")
            for n, depth in enumerate([3, 4.5, None, "deep", [1], True]):
                tx.put_concept("Lake", f"l{n}", {"depth": depth, "area": n, "clear": n % 2 == 0})
        yield db


def test_columns_keep_their_types(db: mycel.Graph) -> None:
    result = db.execute(
        "FIND(?l.name, ?l.attributes.area, ?l.attributes.clear, ?l.attributes.depth, ?l)"
        ' WHERE { ?l {type: "Lake"} } ORDER BY ?l.name'
    )
    table = result.to_arrow()
    assert [str(field.type) for field in table.schema] == [
        "string",
        "int64",
        "bool",
        "string",
        "string",
    ]
    assert json.loads(table["?l"][0].as_py())["name"] == "l0"
    assert table["?l.attributes.depth"].null_count == 1
    frame = result.to_pandas()
    assert frame["?l.attributes.area"].tolist() == [0, 1, 2, 3, 4, 5]
    assert frame["?l"][0]["_type"] == "ConceptNode"


def test_whole_and_broken_numbers_make_a_column_of_floats(db: mycel.Graph) -> None:
    result = db.execute(
        'FIND(?l.attributes.depth) WHERE { ?l {type: "Lake"} FILTER(?l.attributes.area < 3) }'
        " ORDER BY ?l.name"
    )
    assert result.to_arrow().column(0).to_pylist() == [3.0, 4.5, None]
    assert str(result.to_arrow().schema[0].type) == "double"


@pytest.mark.parametrize("expressions", ["?p", "?p.name, ?p.attributes.depth"])
def test_an_empty_result_has_its_columns(db: mycel.Graph, expressions: str) -> None:
    result = db.execute(f'FIND({expressions}) WHERE {{ ?p {{type: "Pond"}} }}')
    names = expressions.split(", ")
    assert result.columns == tuple(names)
    assert result.rows == []
    assert result.value == ([] if len(names) == 1 else [[] for _ in names])
    assert json.loads(result.to_json()) == {"result": result.value}
    assert result.to_arrow().column_names == names
    assert isinstance(result.to_arrow(), pyarrow.Table)
    assert list(result.to_pandas().columns) == names
    assert isinstance(result.to_pandas(), pandas.DataFrame)
    assert result.to_pandas().empty


@pytest.mark.parametrize(
    ("expressions", "value"),
    [
        ("COUNT(?p)", 0),
        ("SUM(?p.attributes.depth)", None),
        ("COUNT(?p), MAX(?p.name)", [0, None]),
    ],
)
def test_totals_alone_are_scalars(db: mycel.Graph, expressions: str, value: Any) -> None:
    result = db.execute(f'FIND({expressions}) WHERE {{ ?p {{type: "Pond"}} }}')
    assert result.value == value
    assert json.loads(result.to_json())["result"] == value
    assert result.rows == [tuple(value) if isinstance(value, list) else (value,)]
    assert result.to_arrow().num_rows == 1
    assert len(result.to_pandas()) == 1


def test_a_null_in_the_only_cell_is_null_in_every_form(db: mycel.Graph) -> None:
    result = db.execute(
        'FIND(?p) WHERE { ?l {type: "Lake", name: "l0"} OPTIONAL { (?l, "related_to", ?p) } }'
    )
    assert result.value == [None]
    assert result.rows == [(None,)]
    assert json.loads(result.to_json()) == {"result": [None]}
    assert result.to_arrow().to_pydict() == {"?p": [None]}


def test_other_commands_have_one_row(db: mycel.Graph) -> None:
    result = db.execute("DESCRIBE CONCEPT TYPES")
    assert result.columns == ("result",)
    assert result.rows == [(result.value,)]
    assert len(result) == 1
    assert json.loads(result.to_json())["result"] == result.value
    assert result.to_arrow().num_rows == 1


def test_a_result_shows_its_size(db: mycel.Graph) -> None:
    result = db.execute('FIND(?l.name, ?l.id) WHERE { ?l {type: "Lake"} }')
    assert repr(result) == "<mycel.Result 6 rows of ?l.name, ?l.id>"


def test_integers_of_64_bits_come_through(db: mycel.Graph) -> None:
    for number in (2**64 - 1, 2**63, 2**63 - 1, -(2**63)):
        db.execute(
            'UPSERT { CONCEPT { {type: "Lake", name: "l0"} SET ATTRIBUTES { area: :n } } }',
            n=number,
        )
        result = db.execute('FIND(?l.attributes.area) WHERE { ?l {type: "Lake", name: "l0"} }')
        assert result.value == [number]
        assert json.loads(result.to_json())["result"] == [number]
        assert result.to_arrow().column(0).to_pylist() == [number]


def test_a_column_of_integers_keeps_them_whatever_their_sign(db: mycel.Graph) -> None:
    arrow = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
    areas = 'FIND(?l.attributes.area) WHERE { ?l {type: "Lake"} FILTER(IN(?l.name, ["l0", "l1"])) }'
    put = 'UPSERT { CONCEPT { {type: "Lake", name: :name} SET ATTRIBUTES { area: :n } } }'
    for one, other, kind, shown in (
        (2**64 - 1, 5, arrow.uint64(), [2**64 - 1, 5]),
        (2**64 - 1, -5, arrow.string(), ["18446744073709551615", "-5"]),
        (2**63 - 1, -5, arrow.int64(), [2**63 - 1, -5]),
    ):
        db.execute(put, name="l0", n=one)
        db.execute(put, name="l1", n=other)
        column = db.execute(areas).to_arrow().column(0)
        assert column.type == kind
        assert sorted(column.to_pylist(), key=str) == sorted(shown, key=str)
        assert sorted(db.execute(areas).to_pandas().iloc[:, 0].tolist()) == sorted([one, other])


def test_many_elements_are_decoded_and_the_collector_runs_again_afterwards() -> None:
    cells = [f'{{"id":"C:{n}"}}' for n in range(2000)]
    assert gc.isenabled()
    result = Result(("?a",), [*cells, None], (True,))
    assert result.value == [*({"id": f"C:{n}"} for n in range(2000)), None]
    assert gc.isenabled()


def test_columns_of_one_name_are_told_apart_in_polars(db: mycel.Graph) -> None:
    result = db.execute('FIND(?l.name, ?l.name) WHERE { ?l {type: "Lake"} }')
    assert result.to_polars().columns == ["?l.name", "?l.name (2)"]


def test_a_package_that_is_not_installed_is_named_with_how_to_install_it(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = db.execute('FIND(?l.name) WHERE { ?l {type: "Lake"} }')
    for module, extra, method in (
        ("pyarrow", "arrow", result.to_arrow),
        ("pyarrow", "arrow", result.__arrow_c_stream__),
        ("polars", "polars", result.to_polars),
        ("pandas", "pandas", result.to_pandas),
    ):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, module, None)
            with pytest.raises(NotFound, match=module) as refused:
                method()
        assert f"pip install '.[{extra}]'" in refused.value.hint
