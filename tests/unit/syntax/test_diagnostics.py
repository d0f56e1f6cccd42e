"""Errors that know where they are."""

from mycel.errors import InvalidSyntax, UnknownReference
from mycel.syntax.diagnostics import locate
from mycel.syntax.source import NOWHERE, Span

TEXT = "FIND(?x)\nWHERE { ?y }"


def test_an_error_says_where_it_is_in_its_message_and_in_its_data() -> None:
    error = locate(UnknownReference, "Nothing binds ?y.", TEXT, Span(17, 19), "Bind it.")
    assert isinstance(error, UnknownReference)
    assert error.message == (
        "Line 2, column 9: Nothing binds ?y.\n2 | WHERE { ?y }\n  |         ^^"
    )
    assert error.hint == "Bind it."
    assert error.data == {
        "line": 2,
        "column": 9,
        "excerpt": "2 | WHERE { ?y }\n  |         ^^",
    }


def test_without_a_hint_the_hint_of_the_class_is_used() -> None:
    assert locate(InvalidSyntax, "No.", TEXT, Span(0, 4)).hint == InvalidSyntax.default_hint


def test_a_node_from_nowhere_has_an_error_without_a_place() -> None:
    error = locate(InvalidSyntax, "No.", TEXT, NOWHERE)
    assert error.message == "No."
    assert error.data == {}
