import pytest

from mycel.errors import InvalidValueType
from mycel.transfer.formats import checked_format, format_of, needed_format
from tests.cases import cases


@cases(
    ("name", "format_"),
    [
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.csv", "csv"),
        ("a.tsv.gz", "tsv"),
        ("a.b.CSV", "csv"),
        ("a.parquet", "parquet"),
        ("a.arrow", "arrow"),
        ("a.feather", "arrow"),
        ("a.txt", None),
        ("a", None),
        (".gz", None),
    ],
)
def test_the_end_of_a_name_tells_the_format(name: str, format_: str | None) -> None:
    assert format_of(name) == format_


def test_what_the_caller_says_counts_more_than_the_name() -> None:
    assert needed_format("csv", "a.jsonl") == "csv"


def test_a_format_that_is_not_known_is_refused_with_the_closest() -> None:
    with pytest.raises(InvalidValueType) as caught:
        checked_format("parket")
    assert "Did you mean 'parquet'?" in caught.value.hint


@pytest.mark.parametrize("name", ["people", None])
def test_a_file_that_does_not_tell_is_refused(name: str | None) -> None:
    with pytest.raises(InvalidValueType) as caught:
        needed_format(None, name)
    assert "jsonl" in caught.value.hint
