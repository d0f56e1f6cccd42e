"""What is typed in a session: when it is whole, and what may come next."""

import pytest

from mycel.cli.session.completion import (
    CompletionNames,
    indent_of_closing,
    is_complete,
    offers,
    pieces,
    without_semicolon,
)
from tests.cases import cases

FIND = 'FIND(?p) WHERE { ?p {type: "Plant"} }'

WHOLE = {
    "nothing": "",
    "white space": "  ",
    "a command on one line": FIND,
    "one with a limit": f"{FIND} LIMIT 5",
    "a description": "DESCRIBE PRIMER",
    "a mistake that more text cannot mend": "FIND ?p",
    "a word that is none": "SELCT",
    "a bracket too many": "FIND(?p)) WHERE",
    "a string that is not closed": 'FIND(?p) WHERE { ?p {type: "Pl',
    "a semicolon, whatever stands before it": "FIND(?p;",
    "a semicolon before a comment": "FIND(?p) ; // so far",
    "a line of its own for the semicolon": "FIND(?p)\nWHERE {\n;",
    "several lines and an empty one": f"{FIND}\nLIMIT 5\n",
    "several lines and white space": f"{FIND}\n   ",
    "two empty lines inside brackets": "FIND(?p)\nWHERE {\n\n",
    "a command of the session": ".params x=1",
    "one behind white space": "  .exit",
}
UNFINISHED = {
    "an open bracket": "UPSERT {",
    "a bracket that a string closes in vain": 'FIND(?p) WHERE { ?p {name: "}}"}',
    "a bracket that a comment closes in vain": "FIND(?p) WHERE { // }",
    "a command whose end is missing": "FIND(?p)",
    "a keyword that wants more": "DESCRIBE",
    "one after a pattern": f"{FIND} LIMIT",
    "several lines that are a command": "FIND(?p)\nWHERE { ?p {type: 'Plant'} }",
    "several lines that may go on": 'UPSERT {\n  CONCEPT { {type: "Plant", name: "Ivy"} }\n}',
    "an empty line inside brackets": "UPSERT {\n",
    "a semicolon in a string": 'FIND(?p) WHERE {\n ?p {name: ";"}',
}


@cases("text", WHOLE.values(), ids=WHOLE.keys())
def test_enter_runs_what_is_whole(text: str) -> None:
    assert is_complete(text)


@cases("text", UNFINISHED.values(), ids=UNFINISHED.keys())
def test_enter_begins_a_line_in_what_is_unfinished(text: str) -> None:
    assert not is_complete(text)


@cases(
    ("typed", "command"),
    [
        ("DESCRIBE PRIMER;", "DESCRIBE PRIMER"),
        ("  DESCRIBE PRIMER ;\n", "DESCRIBE PRIMER"),
        ('FIND(?p) WHERE { ?p {name: ";"} }', 'FIND(?p) WHERE { ?p {name: ";"} }'),
        (";", ""),
        ("", ""),
    ],
)
def test_a_semicolon_at_the_end_is_no_part_of_the_command(typed: str, command: str) -> None:
    assert without_semicolon(typed) == command


KNOWN = CompletionNames(
    types=("Person", "Plant"),
    predicates=("shades", "shelters"),
    parameters=("name", "number"),
    dot_commands=(".help", ".params"),
    attributes={"Person": ["handle", "height_m"], "Plant": ["height_m", "leaf"]},
)

OFFERS: dict[str, tuple[str, list[str]]] = {
    # What was typed, and what is offered.
    "statements at the beginning": ("SE", ["SEARCH", "SET"]),
    "small letters": ("des", ["DESCRIBE"]),
    "keywords later": ("FIND(?p) WH", ["WHERE"]),
    "nothing for what is typed in full": ("FIND(?p) WHERE", []),
    "types after type": ('FIND(?p) WHERE { ?p {type: "', ['Person"', 'Plant"']),
    "types that begin so": ('FIND(?p) WHERE { ?p {type: "Pl', ['Plant"']),
    "types as they are written": ('FIND(?p) WHERE { ?p {type: "pl', ['Plant"']),
    "types with their quotes": ("FIND(?p) WHERE { ?p {type: ", ['"Person"', '"Plant"']),
    "types after a quoted key": ('FIND(?p) WHERE { ?p {"type": "Pe', ['Person"']),
    "no types after name": ('FIND(?p) WHERE { ?p {name: "Pl', []),
    "types to describe": ('DESCRIBE CONCEPT TYPE "Pl', ['Plant"']),
    "predicates to describe": ('DESCRIBE PROPOSITION TYPE "sha', ['shades"']),
    "types to search": ('SEARCH CONCEPT "x" WITH TYPE "Pl', ['Plant"']),
    "predicates to search": ('SEARCH PROPOSITION "x" WITH TYPE "she', ['shelters"']),
    "predicates to traverse along": ('TRAVERSE FROM {id: "C:2"} ALONG "she', ['shelters"']),
    "more predicates to traverse along": (
        'TRAVERSE FROM {id: "C:2"} ALONG "shades" | ',
        ['"shades"', '"shelters"'],
    ),
    "directions": ('TRAVERSE FROM {id: "C:2"} DIRECTION ', ['"out"', '"in"', '"both"']),
    "bounds": ('TRAVERSE FROM {id: "C:2"} MAX_T', ["MAX_TOKENS"]),
    "predicates in the second place": ('FIND(?p) WHERE { (?p, "sh', ['shades"', 'shelters"']),
    "predicates with their quotes": ("FIND(?p) WHERE { (?p, ", ['"shades"', '"shelters"']),
    "predicates after a choice": ('FIND(?p) WHERE { (?p, "shades" | "she', ['shelters"']),
    "predicates after a matcher": ('FIND(?p) WHERE { ({type: "A", name: "B"}, "sha', ['shades"']),
    "predicates of a named link": ('FIND(?l) WHERE { ?l (?p, "sha', ['shades"']),
    "none in the third place": ('FIND(?p) WHERE { (?p, "shades", "sh', []),
    "none in a function": ('FIND(?p) WHERE { FILTER(CONTAINS(?p.name, "sh', []),
    "predicates of entries": (
        'UPSERT { CONCEPT ?p { {type: "Plant", name: "Ivy"} SET PROPOSITIONS { ("sha',
        ['shades"'],
    ),
    "predicates of later entries": (
        'UPSERT { CONCEPT ?p { {id: "C:2"} SET PROPOSITIONS { ("shades", ?x) ("she',
        ['shelters"'],
    ),
    "variables that were used": ("FIND(?plant, ?place) WHERE { ?pl", ["?plant", "?place"]),
    "fields": ("FIND(?p.att", ["attributes"]),
    "all fields that begin so": ("FIND(?p.n", ["name"]),
    "attributes of all types": ("FIND(?p.attributes.h", ["handle", "height_m"]),
    "attributes of its type": (
        'FIND(?p) WHERE { ?q {type: "Person"} ?p {type: "Plant"} FILTER(?p.attributes.',
        ["height_m", "leaf"],
    ),
    "attributes where its type is not known": (
        'FIND(?p) WHERE { ?p {type: "Stone"} FILTER(?p.attributes.l',
        ["leaf"],
    ),
    "nothing inside an attribute": ("FIND(?p.attributes.leaf.", []),
    "nothing inside metadata": ("FIND(?p.metadata.", []),
    "placeholders": ("FIND(?p) WHERE { ?p {type: :n", ["name", "number"]),
    "all placeholders": ("FIND(?p) WHERE { } LIMIT :", ["name", "number"]),
    "nothing in a comment": ("FIND(?p) // WH", []),
    "nothing after a string": ('FIND(?p) WHERE { ?p {type: "Plant"', []),
    "an address is no comment": ('SEARCH CONCEPT "http://x', []),
    "commands of the session": (".he", [".help"]),
}


@cases(("typed", "offered"), OFFERS.values(), ids=OFFERS.keys())
def test_what_is_offered(typed: str, offered: list[str]) -> None:
    assert [offer.text for offer in offers(typed, "", KNOWN)] == offered


def test_an_offer_replaces_what_was_typed_of_it() -> None:
    typed = 'FIND(?p) WHERE { ?p {type: "Pl'
    (offer,) = offers(typed, '"} }', KNOWN)
    assert offer.text == "Plant"  # The quote that would close it is there already.
    assert typed[: len(typed) - offer.replaces] + offer.text + '"} }' == FIND


def test_a_variable_further_on_is_offered_too() -> None:
    assert [each.text for each in offers("FIND(?", ") WHERE { ?fern {} }", KNOWN)] == ["?fern"]


@pytest.mark.parametrize("text", [FIND, 'UPSERT { CONCEPT ?p { {type: "Plant", name: "\\"x"} } }'])
def test_nothing_that_is_typed_on_the_way_is_a_surprise(text: str) -> None:
    for end in range(len(text)):
        is_complete(text[:end])
        offers(text[:end], text[end:], KNOWN)
        assert "".join(piece for _, piece in pieces(text[:end])) == text[:end]


def test_the_attributes_of_a_type_that_stands_further_on_are_offered() -> None:
    found = offers("FIND(?p.attributes.", ') WHERE { ?p {type: "Plant"} }', KNOWN)
    assert [each.text for each in found] == ["height_m", "leaf"]


@cases(
    ("before", "indent"),
    [
        ("WHERE {\n  ?p {}\n  ", ""),
        ("UPSERT {\n  CONCEPT {\n    {id: 1}\n    ", "  "),
        ("UPSERT {\n\tCONCEPT { // {\n\t\t", "\t"),
        ('FIND(?p)\n  WHERE { ?p {name: "{"}\n', "  "),
        ("WHERE {\n  ?p {", None),
        ("  ", None),
        ("DESCRIBE PRIMER\n  ", None),
    ],
)
def test_a_closing_bracket_goes_where_its_line_began(before: str, indent: str | None) -> None:
    assert indent_of_closing(before) == indent


def test_a_line_is_cut_into_pieces_by_kind() -> None:
    assert pieces('  ?p {type: "Pl') == [
        ("", "  "),
        ("variable", "?p"),
        ("", " "),
        ("", "{"),
        ("", "type"),
        ("", ":"),
        ("", " "),
        ("string", '"Pl'),
    ]
    assert pieces("// a comment") == [("comment", "// a comment")]
    assert pieces("") == []
