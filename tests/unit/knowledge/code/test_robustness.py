from __future__ import annotations

import pickle
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from mycel.knowledge.code.file_analysis import LANGUAGES, SOURCE_BYTES_MAX, analyse
from mycel.knowledge.code.file_kinds import detect
from mycel.knowledge.code.source_facts import FileFacts, decode, encode
from mycel.knowledge.documents.markdown_links import LINKS_MAX
from tests.cases import cases
from tests.unit.knowledge.code.given import facts, resolve
from tests.unit.knowledge.code.test_other_languages import (
    CPP,
    GO,
    JAVA,
    JAVASCRIPT,
    RUST,
    TYPESCRIPT,
    C,
)
from tests.unit.knowledge.code.test_python import SOURCE as PYTHON

SOURCES = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "tsx": TYPESCRIPT,
    "go": GO,
    "rust": RUST,
    "java": JAVA,
    "c": C,
    "cpp": CPP,
    "markdown": "# A\n[b](c.md) `d` [e][f]\n```\nx\n```\n[f]: g.md\n",
    "restructuredtext": "A\n===\n\n:ref:`b` `c <d>`_\n\n.. _e:\n\nF\n---\n\n``g``\n",
    "asciidoc": "= A\n:b: c\n\n== D\nlink:e[f] <<g>>\n----\n== h\n----\n",
    "text": "Some words in a line of text.\n",
    "html": f"<h1 id=a>B</h1><p>{'some words ' * 20}<a href=c>d</a></p>",
    "jupyter": '{"cells": [{"cell_type": "markdown", "source": ["# A\\n", "b"]}]}',
    "pdf": "%PDF-1.4\n1 0 obj\n<</Type/Catalog>>\nendobj\ntrailer <</Root 1 0 R>>\n%%EOF\n",
    "gomod": "module a\n",
    "cargo": '[package]\nname = "a"\n',
    "npm": '{"name": "a", "dependencies": {"b": "1"}}',
    "pyproject": '[project]\nname = "a"\ndependencies = ["b"]\n',
    "pom": "<project><artifactId>a</artifactId></project>",
    "tsconfig": '{"compilerOptions": {"paths": {"a": ["b"]}}}',
}


def test_there_is_a_source_of_every_language() -> None:
    assert set(SOURCES) == LANGUAGES


EMPTY_CONSTRUCTS = {
    "javascript": "const a = require()\n",
    "go": "package a\ntype B interface {}\ntype C struct {}\nvar d, e = \nfunc f() {}\n",
    "java": "class A extends {}\ninterface B extends {}\n;\n",
    "rust": "fn\nstruct ;\nimpl {}\nuse ;\n",
    "cpp": "int & = 1;\nclass A : {};\n",
}


def test_constructs_without_any_part_are_read() -> None:
    for language, source in EMPTY_CONSTRUCTS.items():
        assert analyse("a/b", source.encode(), language).language == language


@given(st.sampled_from(sorted(LANGUAGES)), st.binary(max_size=400))
def test_random_bytes_are_analysed_and_resolved(language: str, source: bytes) -> None:
    found = analyse("a/b", source, language)
    resolve({"a/b": found})
    assert decode(encode(found)) == found


@given(st.sampled_from(sorted(LANGUAGES)), st.data())
def test_broken_sources_have_the_same_facts_every_time(language: str, data: st.DataObject) -> None:
    source = SOURCES[language].encode()
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, len(source)))
    noise = data.draw(st.binary(max_size=8))
    broken = source[:start] + noise + source[end:]
    found = analyse("a/b", broken, language)
    assert analyse("a/b", broken, language) == found
    assert resolve({"a/b": found}) == resolve({"a/b": found})


@cases("language", sorted(LANGUAGES - {"pdf"}))  # A PDF is no text.
def test_a_source_in_another_encoding_is_analysed(language: str) -> None:
    source = SOURCES[language].encode() + "\n.café caf\u00e9.exports = é(require('é'))\n".encode(
        "latin-1"
    )
    assert analyse("a/b", source, language).note == ""


@cases("language", sorted(LANGUAGES))
def test_facts_can_be_sent_to_other_processes_and_stored(language: str) -> None:
    found = analyse("a/b", SOURCES[language].encode(), language)
    assert pickle.loads(pickle.dumps(found)) == found
    assert decode(encode(found)) == found


@cases("stored", [b"", b"{}", b"[0]", b"[1, 2]", b"null", b"\xff"])
def test_damaged_stored_facts_are_none(stored: bytes) -> None:
    assert decode(stored) is None


@cases("language", sorted(LANGUAGES))
@cases("piece", [b"(", b"{", b"[", b"a.b(", b"f(", b"class A {", b"if a:\n "])
def test_depth_is_no_danger(language: str, piece: bytes) -> None:
    assert analyse("a/b", piece * 2000, language).language == language


def test_definitions_may_be_nested_deeply_and_only_the_outer_ones_are_kept() -> None:
    source = "".join(f"{' ' * depth}def f{depth}():\n" for depth in range(200)) + " " * 200 + "f0()"
    found = facts("a.py", source)
    assert 1 < len(found.symbols) < 60


def test_a_document_with_too_many_links_keeps_the_first_ones_and_a_note() -> None:
    found = analyse("a.md", b"[a](b.md)\n" * (LINKS_MAX + 1), "markdown")
    assert len(found.links) == LINKS_MAX
    assert found.note == "only its first 10,000 links are kept"


def test_files_without_facts_have_none() -> None:
    assert analyse("a.py", b"", "python") == FileFacts("python")
    assert analyse("a.kt", b"class A", "kotlin") == FileFacts("kotlin")
    assert "binary" in analyse("a.py", b"a = 1\0", "python").note
    assert "larger" in analyse("a.py", b"#" * (SOURCE_BYTES_MAX + 1), "python").note


def test_minified_source_has_no_symbols_and_a_long_line_alone_does_not_make_it_so() -> None:
    found = analyse("a.js", b"function f(a){return a};" * 400, "javascript")
    assert (found.note, found.symbols) == ("minified: not analysed", ())
    table = b"DATA = '" + b"0" * 3_000 + b"'\ndef read():\n    return DATA\n"
    found = analyse("a.py", table, "python")
    assert found.note == ""
    assert "read" in {each.name for each in found.symbols}


def test_a_long_file_is_read_in_pieces_with_the_same_result() -> None:
    source = "".join(f"def f{n}():\n    '''Ü{n}.'''\n    f{n - 1}()\n" for n in range(4000))
    found = facts("a.py", source)
    assert len(found.symbols) == 4000
    assert len(found.calls) == 3999
    assert found.symbols[-1].doc == "Ü3999."
    assert found.note == ""


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    found = analyse("a.py", b"def f():\n    '''caf\xe9'''\n", "python")
    assert found.symbols[0].doc == "caf�"


def test_without_the_extra_symbols_are_left_out_and_a_note_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['tree_sitter'] = None\n"
        "from mycel.knowledge.code.file_analysis import analyse, missing_extra\n"
        "found = analyse('a.py', b'def f(): ...', 'python')\n"
        "assert not found.symbols and '.[code]' in found.note, found\n"
        "assert '.[code]' in missing_extra('python')\n"
        "assert analyse('a.md', b'[a](b)', 'markdown').links\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_nothing_heavy_is_imported_before_there_is_source_to_read() -> None:
    program = (
        "import sys, mycel.knowledge.code.file_analysis as code\n"
        "assert 'tree_sitter' not in sys.modules\n"
        "code.analyse('a.py', b'x = 1', 'python')\n"
        "assert 'tree_sitter_python' in sys.modules and 'tree_sitter_go' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_hostile_repetitions_are_read_in_linear_time() -> None:
    """Each of these took hours with a pattern or an algorithm that looks at text twice."""
    for language, text in (
        ("markdown", "> " * 31 + "x"),
        ("markdown", "> " * 200_000),
        ("markdown", "[" * 200_000),
        ("markdown", "![a](b " * 50_000),
        ("markdown", "[a]: <" * 50_000),
        ("markdown", "[\\]" * 50_000),
        ("markdown", "https://a" + ").," * 100_000),
        ("tsconfig", "/*" * 200_000),
        ("tsconfig", '"\\' * 200_000),
        ("gomod", "module\n" * 50_000),
        ("cargo", "a = [" * 50_000),
        ("python", "from" + " " * 100_000 + "." * 1000 + " " * 100_000),
        ("python", "from a import (" + "b as c, " * 10_000),
        ("go", "func (" + " " * 200_000 + ") a() {}"),
        ("rust", "use a" + "::a" * 50_000 + ";"),
        ("rust", "use a{" + "/*" * 20_000),
        ("javascript", "module.exports = {" + "a" * 200_000),
        ("javascript", "export {" + "a" * 200_000 + " as"),
        ("javascript", 'import "' + "/*" * 100_000 + '"'),
        ("javascript", "function a(){};" * 2_000),
        ("javascript", "module.exports = {" + "a: () => 1, " * 2_000 + "}"),
        ("java", "class A{" * 2_000 + "}" * 2_000),
        ("cpp", "void " + "a::" * 5_000 + "b() {}"),
        ("c", "\n" * 200_000),
    ):
        assert analyse("a/b", text.encode(), language).language == language
    for head in (b"\n" * 8192, b" \t" * 4096):
        assert detect("a.h", head).language == "c"


def test_many_brackets_side_by_side_are_no_danger() -> None:
    many = b"".join(b"f%d(1)\n" % n for n in range(3000))
    assert analyse("a.py", b"def f0(): pass\n" + many, "python").symbols[0].name == "f0"
