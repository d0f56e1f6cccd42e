"""Whatever a command says can be written down, and whatever is written gets an answer."""

from __future__ import annotations

import dataclasses
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycel.errors import InvalidIdentifier, InvalidSyntax, MycelError, ResourceExhausted
from mycel.kip import ast, format, is_write, parse  # noqa: A004  The verb of the stage.
from mycel.kip.keywords import KEYWORDS
from mycel.kip.lexer import FOLDED_CHARACTERS_MIN, KipTokens
from mycel.kip.statements import WRITING
from mycel.model.limits import CAPSULE_BYTES_MAX
from mycel.syntax.tokens import END
from tests.properties import kip_trees

REFUSALS = (InvalidSyntax, InvalidIdentifier, ResourceExhausted)


def nodes(tree: Any) -> list[Any]:
    """Every node of a tree, parents before children."""
    if isinstance(tree, tuple):
        return [found for part in tree for found in nodes(part)]
    if not dataclasses.is_dataclass(tree):
        return []
    parts = (getattr(tree, field.name) for field in dataclasses.fields(tree))
    return [tree, *(found for part in parts for found in nodes(part))]


@given(kip_trees.commands())
def test_parsing_what_was_formatted_gives_the_same_tree(tree: ast.Command) -> None:
    again = parse(format(tree), bytes_max=CAPSULE_BYTES_MAX)
    assert again == tree
    # True == 1 == 1.0 in Python, but not in KIP.
    assert repr(again) == repr(tree)


@given(kip_trees.commands())
def test_formatting_is_stable(tree: ast.Command) -> None:
    text = format(tree)
    assert format(parse(text)) == text


@given(kip_trees.commands())
def test_white_space_and_comments_mean_nothing(tree: ast.Command) -> None:
    tokens = KipTokens(format(tree))
    pieces: list[str] = []
    for at, token in enumerate(tokens.tokens):
        # A placeholder's colon and name stand together; everything else may be pulled apart.
        apart = at == 0 or tokens.starts[at] != tokens.ends[at - 1] or token == ":"
        joined = at > 0 and tokens.tokens[at - 1] == ":" and not apart
        pieces.append(token if joined else f"\r\n\t// ?x {{ \" ' */\n{token}")
    assert parse("".join(pieces)) == tree


@given(kip_trees.commands())
def test_spans_of_parts_lie_within_the_whole(tree: ast.Command) -> None:
    text = format(tree)
    found = parse(text)
    for node in nodes(found):
        assert 0 <= node.span.start < node.span.end <= len(text)
        for part in nodes(node)[1:]:
            assert node.span.start <= part.span.start <= part.span.end <= node.span.end
        if isinstance(node, ast.Variable):
            assert text[slice(*node.span)] == f"?{node.name}"
        if isinstance(node, ast.Placeholder):
            assert text[slice(*node.span)] == f":{node.name}"


@given(kip_trees.commands())
def test_only_statements_that_change_something_are_writes(tree: ast.Command) -> None:
    inner = tree.command if isinstance(tree, ast.Explain) else tree
    runs = not isinstance(tree, ast.Explain) or tree.analyze
    first = format(inner).split()[0]
    assert is_write(tree) == (runs and first in WRITING)


def refusal(text: str) -> MycelError | None:
    try:
        tree = parse(text)
    except REFUSALS as error:
        return error
    assert parse(format(tree)) == tree
    return None


def refuse_or_accept(text: str) -> None:
    """A text is a command, or the answer is an error that shows where and can be sent."""
    error = refusal(text)
    if error is not None:
        assert error.code in {"KIP_1001", "KIP_1002", "KIP_4002"}
        assert json.dumps(error.to_dict(), ensure_ascii=False).encode()
        assert error.data["line"] >= 1
        assert error.data["column"] >= 1
        assert error.data["excerpt"] in error.message
        assert error.hint


ALPHABET = st.sampled_from(
    [*"{}()[],:.\"'?!&|=<>-+*/;#\\ \n\t0123456789abcxyz_$@é日\u00a0\ufeff\ud800"]
)
SIGNS = """
?x ?y.name :p "text" "p" type name id true null 0 1 -2.5 { } ( ) [ ] , : | && || ! == <
and where select ' = ; // /* # ? . - "open
"""
WORDS = st.sampled_from(sorted(KEYWORDS)) | st.sampled_from(SIGNS.split())


@given(st.text(ALPHABET, max_size=40) | st.text(max_size=40))
def test_any_text_is_a_command_or_refused_with_a_place(text: str) -> None:
    refuse_or_accept(text)


@given(st.binary(max_size=60))
def test_any_bytes_read_as_text_are_a_command_or_refused(data: bytes) -> None:
    refuse_or_accept(data.decode("utf-8", "surrogateescape"))
    refuse_or_accept(data.decode("latin-1"))


@given(st.lists(WORDS, max_size=25))
def test_any_words_of_the_language_are_a_command_or_refused(words: list[str]) -> None:
    refuse_or_accept(" ".join(words))


@given(kip_trees.commands(), st.data())
def test_a_damaged_command_is_a_command_or_refused(tree: ast.Command, data: st.DataObject) -> None:
    text = format(tree)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 6))
    patch = data.draw(st.text(ALPHABET, max_size=4) | WORDS)
    refuse_or_accept(text[:start] + patch + text[start + length :])


@given(kip_trees.commands(), st.randoms(use_true_random=False))
def test_a_shuffled_command_is_a_command_or_refused(
    tree: ast.Command, chance: random.Random
) -> None:
    tokens = [token for token in KipTokens(format(tree)).tokens if token != END]
    at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    swapped = list(tokens)
    swapped[at], swapped[other] = swapped[other], swapped[at]
    refuse_or_accept(" ".join(swapped))
    dropped = [*tokens[:at], *tokens[at + 1 :]]
    refuse_or_accept(" ".join(dropped))


def mostly(usual: list[str], unusual: list[str]) -> st.SearchStrategy[str]:
    return st.integers(0, 11).flatmap(lambda n: st.sampled_from(usual if n else unusual))


SPACES = mostly(["", " ", "\n\t"], [" // {\n"])
TEXTS = mostly(
    ['""', '"a"', '"b, c"', '"note: so"', '"10:30"', '"日本 🍄"', '"}"', '"?x"', '"//"', '"\x7f"'],
    ['":p"', '"a :p"', '"a\\n:p"', '"a\\tb"', '"\\u003ap"', '"\\ud800"', '"a', '"\x01"'],
)
KEYS = mostly(["a", "b", "_", "A9", "true", '"c"', '"d: e"', '"é"'], ["1a", "é", '"a"', '":p"'])
NUMBERS = mostly(
    ["0", "1", "-1", "1.5", "-0.0", "0.10000000000000000555", "123456789012345", "-12345678.5"],
    ["-0", "01", ".5", "1.", "1e5", "-1.5e-7", "1e999", "+1", "-1234567890123456", "9" * 20],
)
SCALARS = TEXTS | NUMBERS | mostly(["true", "false", "null"], ["nul", "truex", ":p", "a"])


@st.composite
def listed(draw: st.DrawFn, items: st.SearchStrategy[str], comma: str = ",") -> str:
    """Items with commas between them, sometimes after them, and white space anywhere."""
    text = draw(SPACES)
    for item in draw(st.lists(items, max_size=5)):
        text += item + draw(SPACES) + comma + draw(SPACES)
    return text if draw(st.integers(0, 11)) == 0 else text.rstrip().removesuffix(comma)


MEMBERS = st.tuples(
    KEYS, SPACES, SPACES, SCALARS | listed(SCALARS).map(lambda items: f"[{items}]")
).map(lambda parts: "{}{}:{}{}".format(*parts))
OBJECTS = listed(MEMBERS).map(lambda members: f"{{{members}}}")
HANDLES = mostly(["?h", "?_9"], ["?é", "?h.a", '{type: "T", name: "n"}', ":h", "h"])
ENTRIES = listed(
    st.tuples(SPACES, TEXTS, SPACES, SPACES, HANDLES, SPACES).map(
        lambda parts: "({}{}{},{}{}{})".format(*parts)
    ),
    "",
)


@given(OBJECTS, ENTRIES, OBJECTS)
def test_a_capsule_means_the_same_whether_or_not_its_parts_are_folded(
    attributes: str, entries: str, metadata: str
) -> None:
    capsule = FOLDED_CHARACTERS_MIN * " " + (
        'UPSERT { CONCEPT ?h { {type: "T", name: "n"} }\n'
        f'CONCEPT {{ {{type: "T", name: "m"}} SET ATTRIBUTES {attributes} '
        f"SET PROPOSITIONS {{{entries}}} }} WITH METADATA {metadata} }}"
    )
    explained = f"EXPLAIN{capsule[7:]}"  # Of which nothing is folded.
    error, same = refusal(capsule), refusal(explained)
    if error is not None and same is not None:
        assert error.to_dict() == same.to_dict()
        return
    assert error is same is None
    folded, unfolded = parse(capsule), parse(explained).command  # type: ignore[union-attr]
    assert repr(folded) == repr(unfolded)
    assert [node.span for node in nodes(folded)] == [node.span for node in nodes(unfolded)]


def test_what_models_write_is_folded() -> None:
    capsule = (
        'UPSERT { CONCEPT ?h { {type: "T", name: "n"} SET ATTRIBUTES { a: "10:30", "b": [1, 2.5] }'
        ' SET PROPOSITIONS { ("p", ?h) ("q", ?i) } } WITH METADATA {"source": null} }'
    )
    assert [each for each in KipTokens(capsule, folded=True).tokens if len(each) > 12] == [
        '{ a: "10:30", "b": [1, 2.5] }',
        '{ ("p", ?h) ("q", ?i) }',
        '{"source": null}',
    ]


OPENERS = [
    "FIND(?x) WHERE { NOT {",
    "FIND(?x) WHERE { OPTIONAL { UNION {",
    'FIND(?x) WHERE { (?a, "p", (',
    "FIND(?x) WHERE { FILTER(((",
    "FIND(?x) WHERE { FILTER(!!!",
    "FIND(?x) WHERE { FILTER(!(!(",
    'UPSERT { CONCEPT { {type: "A", name: "b"} SET ATTRIBUTES {a: {a: ',
    'UPSERT { CONCEPT { {type: "A", name: "b"} SET ATTRIBUTES {a: [[[',
    "UPSERT { PROPOSITION { (((",
    "UPDATE ?x SET ATTRIBUTES { a: ADD(ADD(ADD(",
    "EXPLAIN EXPLAIN ",
]


@given(st.sampled_from(OPENERS), st.integers(0, 5_000), st.integers(1, 3))
def test_no_depth_breaks_the_parser(opener: str, repeats: int, unit: int) -> None:
    with pytest.raises(REFUSALS):
        parse(opener + opener[-unit:] * repeats)
