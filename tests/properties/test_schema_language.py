"""Whatever a schema says can be written down, and whatever is written gets an answer."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycel.errors import SchemaError
from mycel.schema import Catalog, ast, format, load, parse  # noqa: A004  The verb of the stage.
from mycel.schema.lexer import SchemaTokens
from mycel.syntax.tokens import END
from tests.cases import cases
from tests.properties import schemas

WORDS = (
    "node edge interface implements enum Vector String I32 [ ] { } ( ) : -> .. , ? @ * @key @unique"
    " @index @range @check @card @default @embed @description src dst a b P Q 0 1 -5 0.5 true"
)
words = st.one_of(
    st.sampled_from(WORDS.split()),
    st.sampled_from(['"', '"x"', "//", "/*", "*/", "\n", "'", "#", ";", "!", "=", "\\", "\ufeff"]),
    st.text(max_size=3),
)


@given(schemas.schema_trees())
def test_parsing_what_was_formatted_gives_the_same_tree(tree: ast.SchemaDocument) -> None:
    again = parse(format(tree))
    assert again == tree
    # True == 1 == 1.0 in Python, but not in a schema.
    assert repr(again) == repr(tree)


@given(schemas.schema_texts())
def test_formatting_is_stable(text: str) -> None:
    assert format(parse(text)) == text


@given(schemas.catalogs())
def test_a_catalog_written_as_text_is_loaded_as_the_same(catalog: Catalog) -> None:
    text = catalog.format()
    again = load(text)
    assert again.ir() == catalog.ir()
    assert again.ir_hash == catalog.ir_hash
    assert again.same_shape(catalog)
    assert again.format() == text


@given(schemas.schema_trees(), st.randoms(use_true_random=False))
def test_the_ir_does_not_depend_on_the_order_of_declarations(
    tree: ast.SchemaDocument, random: Random
) -> None:
    declarations = list(tree.declarations)
    random.shuffle(declarations)
    assert load(format(ast.SchemaDocument(tuple(declarations)))).ir() == load(format(tree)).ir()


@given(schemas.schema_texts())
def test_white_space_and_comments_mean_nothing(text: str) -> None:
    tokens = SchemaTokens(text).tokens
    spread = '\r\n\t/* } " */ // {\n'.join(tokens[: tokens.index(END)])
    assert parse(spread) == parse(text)


@given(schemas.catalogs())
def test_every_type_with_instances_has_an_arrow_schema(catalog: Catalog) -> None:
    for name, node in catalog.nodes.items():
        assert catalog.arrow(name).names == ["id", *(each.name for each in node.properties)]
    for name, edge in catalog.edges.items():
        names = [each.name for each in edge.properties]
        assert catalog.arrow(name.upper()).names == ["id", "src", "dst", *names]


def check(text: str) -> None:
    """Either the text is a schema, or the error says where it is none and what to do."""
    catalog = error = None
    try:
        catalog = load(text, file="some.pg")
    except SchemaError as refused:
        error = refused
    if catalog is not None:
        assert load(catalog.format()).ir() == catalog.ir()
    if error is not None:
        assert error.message.startswith("some.pg, line ")
        assert error.data["line"] >= 1
        assert error.data["excerpt"] in error.message
        assert error.hint
        assert json.dumps(error.to_dict())


@given(st.data())
def test_a_schema_with_some_tokens_changed_is_loaded_or_refused(data: st.DataObject) -> None:
    text = data.draw(schemas.schema_texts())
    tokens = SchemaTokens(text).tokens
    tokens = tokens[: tokens.index(END)]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(tokens)))
        kept = data.draw(st.integers(0, 2))
        tokens[at : at + kept] = data.draw(st.lists(words, max_size=2))
    check(" ".join(tokens))


@given(schemas.schema_texts(), st.integers(0, 2000), st.integers(0, 3), st.text(max_size=2))
def test_a_schema_with_some_characters_changed_is_loaded_or_refused(
    text: str, at: int, length: int, other: str
) -> None:
    at = min(at, len(text))
    check(text[:at] + other + text[at + length :])


@given(st.lists(words, max_size=30), st.sampled_from(["", " "]))
def test_any_words_are_loaded_or_refused(found: list[str], between: str) -> None:
    check(between.join(found))


@given(schemas.schema_texts(), st.integers(0, 2000))
def test_a_schema_that_is_cut_off_is_loaded_or_refused(text: str, length: int) -> None:
    check(text[:length])


@cases("text", ["node P {", '"', "/*", "@", "edge", "node P { a: enum(", "\ufeff}"])
def test_short_beginnings_are_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        load(text)
    check(text)
