"""Errors: the registry, the drawing in the docstring and the classes say the same."""

import ast
import copy
import json
import pickle
import re
from collections.abc import Iterator

import pytest

from mycel import errors
from mycel.errors import REGISTRY, Category, InternalError, MycelError, did_you_mean
from tests.cases import cases
from tests.source_tree import MODULES, nodes, parse

# KIP Appendix 4, and RC9 for the last of the 3000s.
KIP_ERRORS = {
    "KIP_1001": "InvalidSyntax",
    "KIP_1002": "InvalidIdentifier",
    "KIP_2001": "TypeMismatch",
    "KIP_2002": "ConstraintViolation",
    "KIP_2003": "InvalidValueType",
    "KIP_3001": "ReferenceError",
    "KIP_3002": "NotFound",
    "KIP_3003": "DuplicateExists",
    "KIP_3004": "ImmutableTarget",
    "KIP_3005": "VersionConflict",
    "KIP_4001": "ExecutionTimeout",
    "KIP_4002": "ResourceExhausted",
    "KIP_4003": "InternalError",
}


def subclasses(base: type[MycelError]) -> Iterator[type[MycelError]]:
    for sub in base.__subclasses__():
        # A test may define errors of its own; those are not part of the product.
        if sub.__module__ == errors.__name__:
            yield sub
            yield from subclasses(sub)


ALL = list(subclasses(MycelError))
every_error = pytest.mark.parametrize("error", ALL, ids=lambda error: error.__name__)


def drawn_tree() -> dict[str, tuple[str, str]]:
    """Of every class in the docstring's drawing: its parent and its code."""
    assert errors.__doc__
    ancestors: list[str] = []
    drawn = {}
    for line in errors.__doc__.splitlines():
        if found := re.match(r"    ([│├└─ ]*)(\w+)(?: +(KIP_\d{4})\b|$)", line):
            depth = len(found[1]) // 4
            if found[3] is None and depth > 0:
                continue
            del ancestors[depth:]
            if ancestors:
                drawn[found[2]] = (ancestors[-1], found[3])
            ancestors.append(found[2])
    return drawn


def test_the_drawing_in_the_docstring_shows_every_class_with_its_base_and_code() -> None:
    assert drawn_tree() == {
        error.__name__: (error.__base__.__name__, error.code) for error in ALL if error.__base__
    }


def test_the_registry_holds_every_class_under_its_own_name_on_the_wire() -> None:
    assert list(REGISTRY.values()) == ALL
    assert {name: error.name for name, error in REGISTRY.items()} == {
        name: name for name in REGISTRY
    }
    assert REGISTRY["InternalError"] is InternalError


def test_every_class_is_exported_and_nothing_else_but_the_base_category_and_registry() -> None:
    names = {error.__name__ for error in ALL} | {"MycelError", "Category", "REGISTRY"}
    assert sorted(errors.__all__) == sorted(names)


@cases(("code", "name"), KIP_ERRORS.items())
def test_the_errors_of_kip_have_its_codes_and_names(code: str, name: str) -> None:
    assert REGISTRY[name].code == code
    assert REGISTRY[name].__base__ is MycelError


@every_error
def test_a_more_special_error_keeps_the_code_of_its_base(error: type[MycelError]) -> None:
    base = error.__base__
    assert base
    if base is not MycelError:
        assert error.code == base.code
        assert error.name == error.__name__
    assert error.code in KIP_ERRORS


@every_error
def test_every_error_has_a_hint_and_a_docstring_of_its_own(error: type[MycelError]) -> None:
    assert error.__doc__
    assert error.default_hint.endswith(".")
    if error is not InternalError:
        assert error.default_hint != MycelError.default_hint


@every_error
def test_the_wire_form_is_json_with_code_name_message_and_hint(error: type[MycelError]) -> None:
    wire = error("It broke.").to_dict()
    assert json.loads(json.dumps(wire)) == {
        "code": error.code,
        "name": error.name,
        "message": "It broke.",
        "hint": error.default_hint,
    }


def test_data_and_a_hint_of_its_own_appear_on_the_wire() -> None:
    error = errors.NotFound("No C:8.", hint="Try C:9.", data={"id": "C:8"})
    assert error.to_dict() == {
        "code": "KIP_3002",
        "name": "NotFound",
        "message": "No C:8.",
        "hint": "Try C:9.",
        "data": {"id": "C:8"},
    }


def test_data_given_is_not_changed_through_the_error() -> None:
    given = {"id": "C:8"}
    errors.NotFound("No C:8.", data=given).data["id"] = "C:9"
    assert given == {"id": "C:8"}


def test_the_text_of_an_error_says_code_name_message_and_hint() -> None:
    error = errors.UnknownReference("?x is not bound.", hint="Bind it.")
    assert str(error) == "KIP_3001 ReferenceError: ?x is not bound. Bind it."


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
def test_an_error_survives_being_copied_and_sent_to_another_process(clone) -> None:
    error = errors.VersionConflict("Version 3.", hint="Read again.", data={"actual": 3})
    cloned = clone(error)
    assert type(cloned) is errors.VersionConflict
    assert cloned.to_dict() == error.to_dict()


@cases(
    ("category", "http_status", "jsonrpc_code", "exit_code"),
    [
        (Category.INPUT, 400, -32602, 2),
        (Category.MISSING, 404, -32004, 1),
        (Category.CONFLICT, 409, -32009, 1),
        (Category.FORBIDDEN, 403, -32003, 1),
        (Category.LIMIT, 429, -32008, 1),
        (Category.SYSTEM, 500, -32603, 1),
    ],
)
def test_each_category_has_a_status_for_http_json_rpc_and_the_shell(
    category: Category, http_status: int, jsonrpc_code: int, exit_code: int
) -> None:
    assert category.http_status == http_status
    assert category.jsonrpc_code == jsonrpc_code
    assert category.exit_code == exit_code


def test_no_two_categories_share_an_http_status_or_a_json_rpc_code() -> None:
    # Equal values would make one an alias of the other.
    assert len(Category) == 6
    assert len({category.http_status for category in Category}) == 6
    assert len({category.jsonrpc_code for category in Category}) == 6


@cases(
    ("name", "category"),
    [
        ("InvalidSyntax", Category.INPUT),
        ("InvalidId", Category.INPUT),
        ("InvalidIdentifier", Category.INPUT),
        ("TypeMismatch", Category.INPUT),
        ("ConstraintViolation", Category.INPUT),
        ("SelfEdgeError", Category.INPUT),
        ("SchemaError", Category.INPUT),
        ("InvalidValueType", Category.INPUT),
        ("ReferenceError", Category.INPUT),
        ("NotFound", Category.MISSING),
        ("DuplicateExists", Category.CONFLICT),
        ("ImmutableTarget", Category.FORBIDDEN),
        ("VersionConflict", Category.CONFLICT),
        ("ExecutionTimeout", Category.LIMIT),
        ("DatabaseBusy", Category.LIMIT),
        ("ResourceExhausted", Category.LIMIT),
        ("DiskFull", Category.SYSTEM),
        ("InternalError", Category.SYSTEM),
        ("DatabaseError", Category.SYSTEM),
        ("NotADatabase", Category.SYSTEM),
        ("FormatTooNew", Category.SYSTEM),
        ("DatabaseReadOnly", Category.SYSTEM),
        ("DatabaseCorrupt", Category.SYSTEM),
        ("DatabaseClosed", Category.SYSTEM),
        ("CommitUncertain", Category.SYSTEM),
    ],
)
def test_each_error_is_of_its_category(name: str, category: Category) -> None:
    assert REGISTRY[name].category is category


def test_close_names_are_suggested_whatever_their_case() -> None:
    assert did_you_mean("drug", ["Symptom", "Drug"]) == "Did you mean 'Drug'?"
    assert did_you_mean("TREATS", ["treats", "cures"]) == "Did you mean 'treats'?"


def test_several_close_names_are_all_suggested_closest_first_and_three_at_most() -> None:
    known = ["treaty", "treated", "threats", "treat", "unrelated"]
    suggested = did_you_mean("treats", known)
    assert suggested.startswith("Did you mean 'threats' or ")
    assert suggested.count(" or ") == 2
    assert "unrelated" not in suggested


@pytest.mark.parametrize("known", [[], ["Symptom", "Person"]])
def test_nothing_is_suggested_when_nothing_is_close(known: list[str]) -> None:
    assert did_you_mean("drug", known) == ""


def test_each_error_whose_default_hint_is_about_one_cause_has_a_hint_of_its_own() -> None:
    """The default hints of these two are about commands and about identifiers."""
    bare = [
        f"{path.name}:{call.lineno}"
        for path in MODULES
        for call in nodes(parse(path))[ast.Call]
        if isinstance(call.func, ast.Name)
        and call.func.id in ("InvalidSyntax", "InvalidIdentifier")
        if not any(keyword.arg == "hint" for keyword in call.keywords)
    ]
    # A file of memories is read on: its problems are listed, without hints.
    assert {place.split(":")[0] for place in bare} == {"file_import.py"}
