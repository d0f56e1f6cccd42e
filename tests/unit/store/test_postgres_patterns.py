"""Filters with REGEX: PostgreSQL matches what RE2 matches, or refuses the pattern."""

from __future__ import annotations

import pytest

import mycel
from mycel.errors import InvalidSyntax, Unsupported
from mycel.store.backend.postgres.patterns import postgres_pattern
from mycel.store.file.rows import text_array
from mycel.syntax.regex import matcher
from tests.postgres_server import PostgresServer

PATTERNS = [
    "", "a", "^a", "a$", "^$", "^a|b$", "a.b", ".", "^.$", "^..$", "a*b+c?", "a*?b", "(a|b)+$",
    "(?:ab){2}", "^a{2,}$", "^a{0,1}$", "a{1,2}?b", "[a-c]x", "[^a]", "[]x]", "[a-]", "[-a]",
    r"[\w.]+@[\w.]+", r"\d+", r"\D", r"\s", r"^\S+$", r"\w", r"^\w+$", r"\W", r"\bab\b", r"\Bb",
    r"a\.b", r"\$", r"\\", r"[\]]", r"\n", r"\t", "a\nb", "^a\n", "(?i)ab", "(?i)k", "(?i)s",
    "(?i)[a-z]", "(?i)[^a-z]", r"(?i)^\w$", r"(?i)^\W$", r"(?i)[\w]$", "(?i)^[^k]$", "(?i)B|C",
    "(?P<x>a)b", "(?<x>a)b", "()", "a|", "é", "[à-ü]", "[^é]$", "x{", "^*a", r"\pL", "(?s).",
    "(?m)^b",
    "(?i)É", "a(?i)b", "[[:alpha:]]", r"\x41", r"\Qa.b\E", "a{256}", "a{300}", r"\z", r"\Aa",
    r"[\d\s]$", r"[\n-\r]", "[!-/]", "[+--]", "(a+)+$", r"^[^\d]$", "[a-f0-9]{4}", "(?:^)*a",
    r"[\-a]",
    "#a", "a b", "***=a", "(?:)", "((a)|(b))*c", "a**", r"\C", "\U0001f600",
    "[\U0001f600-\U0001f64f]",
]  # fmt: skip
TEXTS = [
    "", "a", "b", "A", "ab", "AB", "aab", "abab", "a.b", "axb", "a\nb", "\n", "b\na", "c", "ax",
    "]",
    "-", "x", "x{", "ada@db.example", "42", "a1 b2", " ", "\t", "\v", "$", "\\", "k", "K", "\u212a",
    "s", "S", "\u017f", "é", "É", "ü", "aé", "éab", "ab é", "_", "#a", "***=a", "dead",
    "\U0001f600",
    "a" * 255, "a" * 300, "a" * 40 + "b", "\x0b", "\x7f", "\u00a0", "a,b", "+", "/", "\r", "abc",
]  # fmt: skip


def test_a_pattern_matches_the_texts_that_it_matches_in_re2(
    postgres_server: PostgresServer,
) -> None:
    with (
        mycel.open(postgres_server.url(), core_capsules=False) as db,
        db._store.reading() as reader,
    ):
        refused = set()
        for pattern in PATTERNS:
            try:
                matches = matcher(pattern)
                postgres_pattern(pattern)
            except InvalidSyntax:
                continue
            except Unsupported:
                refused.add(pattern)
                continue
            query = (
                "SELECT j.value FROM json_each(?1) j"
                " WHERE mycel_matches(?2, j.value) ORDER BY j.key"
            )
            found = reader.column(query, (text_array(TEXTS), pattern))
            assert (pattern, found) == (pattern, [text for text in TEXTS if matches(text)])
    assert refused == {
        "x{", "^*a", r"\pL", "(?s).", "(?m)^b", "(?i)É", "a(?i)b", "[[:alpha:]]", r"\x41",
        r"\Qa.b\E", "a{256}", "a{300}", r"\C",
    }  # fmt: skip


def test_rows_are_grouped_and_sorted_by_a_value_that_is_always_null(
    postgres_server: PostgresServer,
) -> None:
    with mycel.open(postgres_server.url(), core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_predicate("knows")
        where = 'WHERE { (?a, "knows", ?a) }'
        assert db.execute(f"FIND(?a.subject, COUNT(?a)) {where} LIMIT 1").rows == []
        both = f'{where[:-1]} OPTIONAL {{ (?a, "knows", ?a) }} }}'
        for order in ("?a.subject", "?a.weight DESC", "?a.attributes.none"):
            assert db.execute(f"FIND(?a.name) {both} ORDER BY {order}").rows == []


def test_a_filter_finds_the_same_on_both_backends(postgres_server: PostgresServer) -> None:
    answers = []
    for place in (postgres_server.url(), ":memory:"):
        with mycel.open(place) as db:
            with db.transaction() as tx:
                tx.define_type("Note")
                for number, text in enumerate(TEXTS):
                    tx.put_concept("Note", f"n{number}", {"text": text})
                tx.put_concept("Note", "none", {"text": 5})
            found = []
            for pattern in (r"^\w+$", "(?i)^k|B$", "(a|b)+c?$", "."):
                for sign in ("", "!"):
                    query = (
                        'FIND(?n.name) WHERE { ?n {type: "Note"}'
                        f" FILTER({sign}REGEX(?n.attributes.text, :p)) }} ORDER BY ?n.name"
                    )
                    found.append(db.execute(query, {"p": pattern}).rows)
            answers.append(found)
            query = (
                'FIND(?n.name) WHERE { ?n {type: "Note"} FILTER(REGEX(?n.attributes.text, :p)) }'
            )
            with pytest.raises(InvalidSyntax):
                db.execute(query, {"p": "(("})
            if place != ":memory:":
                with pytest.raises(Unsupported, match="PostgreSQL cannot match"):
                    db.execute(query, {"p": r"\pL"})
    assert answers[0] == answers[1]
    assert answers[0][0]
