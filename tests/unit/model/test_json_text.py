"""JSON from outside: nothing in it is lost or changed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycel.errors import InvalidSyntax
from mycel.model.json_text import read_json
from tests.cases import cases

# Letters that matter: colons and escapes in strings are what a count of colons could stumble over.
texts = st.text(st.sampled_from('a:"\\/u03é\n'), max_size=6)
numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(10**18, 10**22).map(lambda each: each / 10**21),
)
Pairs = list[tuple[str, Any]]


class Twins:
    """An object as its pairs, so that a key may stand in it twice."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs

    def __repr__(self) -> str:
        return f"Twins({self.pairs!r})"


values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(st.tuples(texts, inner), max_size=3).map(Twins)
    ),
    max_leaves=12,
)


def escaped(text: str, every: bool) -> str:
    if not every:
        return json.dumps(text, ensure_ascii=False)
    return '"' + "".join(f"\\u{ord(each):04x}" for each in text) + '"'


def written(value: Any, every: bool) -> str:
    match value:
        case Twins(pairs=pairs):
            inner = (f"{escaped(key, every)} : {written(each, every)}" for key, each in pairs)
            return "{" + ", ".join(inner) + "}"
        case list():
            return "[" + ",".join(written(each, every) for each in value) + "]"
        case str():
            return escaped(value, every)
    return json.dumps(value)


def has_twins(value: Any) -> bool:
    match value:
        case Twins(pairs=pairs):
            keys = [key for key, _ in pairs]
            return len(set(keys)) < len(keys) or any(has_twins(each) for _, each in pairs)
        case list():
            return any(map(has_twins, value))
    return False


@given(value=values, every=st.booleans(), as_text=st.booleans())
def test_a_text_is_read_as_python_reads_it_unless_a_key_stands_twice(
    value: Any, every: bool, as_text: bool
) -> None:
    text = written(value, every)
    text_or_bytes = text if as_text else text.encode()
    if has_twins(value):
        with pytest.raises(InvalidSyntax, match="is repeated in one object"):
            read_json(text_or_bytes)
    else:
        assert repr(read_json(text_or_bytes)) == repr(json.loads(text))


@cases(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":1,"a":1}',
        '{"b":{"a":1,"a":2}}',
        '[[{"a":1,"a":2}]]',
        '{"a":1,"\\u0061":2}',
        '{"a":"\\u003a","a":1}',
        '{"a":":","b":"\\u003A","c":{"d":0,"d":0}}',
        '{"a":' + "[" * 300 + '{"x":1,"x":2}' + "]" * 300 + "}",
    ],
)
def test_a_key_that_stands_twice_is_refused_wherever_it_stands(text: str) -> None:
    for text_or_bytes in (text, text.encode()):
        with pytest.raises(InvalidSyntax, match="is repeated") as refused:
            read_json(text_or_bytes)
        assert refused.value.hint


@cases(
    "text",
    [
        "",
        "NaN",
        '{"a":Infinity}',
        "[-Infinity]",
        '{"a":1,}',
        "[1]2",
        "01",
        '"\\ud800"',
        "\ufeff1",
        "[" * 5000 + "]" * 5000,
        '{"a":' * 1000 + "12345678901234567890" + "}" * 1000,
    ],
)
def test_what_is_no_json_is_a_value_error_with_its_place(text: str) -> None:
    for text_or_bytes in (text, text.encode()):
        with pytest.raises(json.JSONDecodeError):
            read_json(text_or_bytes)


def test_what_is_no_utf_8_is_refused() -> None:
    for text_or_bytes in (b'"\xff"', b"\xff\xfe", '"\ud800"'):
        with pytest.raises(ValueError, match=r".+"):
            read_json(text_or_bytes)


def test_long_integers_are_exact_and_long_fractions_are_floats() -> None:
    for number in (2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30):
        assert read_json(f'{{"a":[{number}]}}') == {"a": [number]}
    text = '[0.00012345678901234567, 0.00012345678901234567, 5e-25, "12345678901234567890"]'
    assert read_json(text) == json.loads(text)
