"""What is written before a name tells which symbol it means."""

from __future__ import annotations

from mycel.knowledge.reference_evidence import NamedSymbol, NameEvidence
from tests.cases import cases

KML = NamedSymbol(2, "concept://a/src/kml/mod.rs/execute")
KQL = NamedSymbol(4, "concept://a/src/kql.rs/execute")
FUNCTION = NameEvidence({"execute"}, [KML], [KQL], "")
KEY = NamedSymbol(2, "concept://a/src/term.rs/Endpoint.key")
INNER = NamedSymbol(2, "concept://a/src/term.rs/tests.key_of")
HELPER = NameEvidence({"key_of"}, [INNER], [], "")
METHOD = NameEvidence({"key"}, [KEY], [NamedSymbol(4, "concept://a/src/map.rs/Entry.key")], "")

SINK = NamedSymbol(2, "concept://a/src/sink.rs/Sink.data")
BINARY = NameEvidence({"data"}, [SINK], [NamedSymbol(4, "concept://a/src/sink.rs/data")], "")


CASES = {
    "own module": (FUNCTION, KML, "rust", "crate::kml::execute(a)", "this"),
    "other module": (FUNCTION, KML, "rust", "crate::kql::execute(a)", "other"),
    "bare function": (FUNCTION, KML, "rust", "execute(a)", "open"),
    "method of a value": (FUNCTION, KML, "rust", "db.execute(a)", "unlikely"),
    "function of a module": (FUNCTION, KML, "python", "db.execute(a)", "open"),
    "own type": (METHOD, KEY, "rust", "Endpoint::key(x)", "this"),
    "other type": (METHOD, KEY, "rust", "Entry::key(x)", "other"),
    "unknown type": (METHOD, KEY, "rust", "Other::key(x)", "unlikely"),
    "own object": (METHOD, KEY, "rust", "Self::key(x)", "open"),
    "some object": (METHOD, KEY, "rust", "end.key()", "open"),
    "begin of a line": (METHOD, KEY, "rust", "    .key()", "open"),
    "a variable": (METHOD, KEY, "rust", "let key = 1;", "unlikely"),
    "a method of Java": (METHOD, KEY, "java", "return key();", "open"),
    "the best of several": (METHOD, KEY, "rust", "let key = Endpoint::key(x)", "this"),
    "in a module": (HELPER, INNER, "rust", "assert!(key_of(1))", "open"),
    "a field named as a module": (BINARY, SINK, "rust", "self.sink.data()", "open"),
    "a function of that module": (BINARY, SINK, "rust", "sink::data()", "other"),
    "another name": (METHOD, KEY, "rust", "keys()", "open"),
}


@cases(("evidence", "symbol", "language", "line", "verdict"), CASES.values(), ids=CASES)
def test_the_words_before_a_name_are_evidence(
    evidence: NameEvidence, symbol: NamedSymbol, language: str, line: str, verdict: str
) -> None:
    assert evidence.judge(language, line.encode(), symbol) == verdict
    assert evidence.names_another(language, line.encode()) == (verdict == "other")
