"""Words of other languages: each has one meaning here."""

import pytest

from mycel.errors import InternalError
from mycel.schema.foreign_words import by_word


def test_each_word_leads_to_its_meaning() -> None:
    assert by_word({"I64": "int long", "F64": "decimal"}) == {
        "int": "I64",
        "long": "I64",
        "decimal": "F64",
    }


def test_a_word_with_two_meanings_is_refused() -> None:
    with pytest.raises(InternalError, match="decimal"):
        by_word({"F64": "double decimal", "Decimal": "decimal"})
