"""The statements by their first words, for those who have only a text."""

from pathlib import Path

from mycel.kip import is_write, parse, parser
from mycel.kip.statements import EXPLAIN, READING, WRITING, first_word
from tests.cases import each_case

GOLDEN = Path(__file__).parents[2] / "golden/kip/cases"


def test_the_lists_have_every_statement_that_is_parsed() -> None:
    assert {*READING, *WRITING} == set(parser._STATEMENTS)
    assert not set(READING) & set(WRITING)


def test_the_first_word_says_whether_a_command_writes() -> None:
    texts = [
        'ARCHIVE ?x WHERE { ?x {type: "T"} }',
        'SET RETENTION {after: "90d", then: "archive"} FOR CONCEPT TYPE "T"',
        'RESTORE ?x WHERE { ?x {type: "T"} }',
        'SUPPORT ?l WHERE { ?l (?a, "p", ?b) }',
        'CHALLENGE ?l WHERE { ?l (?a, "p", ?b) }',
        'SUPERSEDE ?a WITH ?b WHERE { ?a {type: "T", name: "a"} ?b {type: "T", name: "b"} }',
    ]
    texts += [path.read_text(encoding="utf-8") for path in sorted(GOLDEN.rglob("*.kip"))]
    words = {first_word(text) for text in texts}
    assert {*READING, *WRITING, EXPLAIN} <= words
    with each_case() as case:
        for text in texts:
            with case(text):
                assert is_write(parse(text)) is (first_word(text) in WRITING)
