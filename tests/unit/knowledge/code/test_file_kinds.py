from __future__ import annotations

from mycel.knowledge.code.file_kinds import detect, is_binary
from mycel.knowledge.code.languages import SOURCE_LANGUAGES, SYNTAXES, blank_prose
from mycel.text.names import is_test_path
from tests.cases import cases


@cases(
    ("path", "language", "file_type"),
    [
        ("src/a.py", "python", "python"),
        ("a.pyi", "python", "python"),
        ("a.jsx", "javascript", "javascript"),
        ("a.mts", "typescript", "typescript"),
        ("a.tsx", "tsx", "typescript"),
        ("a.go", "go", "go"),
        ("go.mod", "gomod", "go"),
        ("a.rs", "rust", "rust"),
        ("Cargo.toml", "cargo", "toml"),
        ("A.java", "java", "java"),
        ("a.h", "c", "c"),
        ("a.HPP", "cpp", "cpp"),
        ("README.md", "markdown", "markdown"),
        ("tsconfig.app.json", "tsconfig", "json"),
        ("a.json", "json", "json"),
        ("a.yml", "yaml", "yaml"),
        ("Dockerfile", "dockerfile", "dockerfile"),
        ("Makefile", "make", "make"),
        ("a.kt", "kotlin", "kotlin"),
        ("a.png", "image", "image"),
        ("a.unheard-of", "unknown", "unknown"),
    ],
)
def test_a_name_says_the_language(path: str, language: str, file_type: str) -> None:
    kind = detect(path)
    assert (kind.language, kind.file_type) == (language, file_type)


@cases(
    ("head", "language"),
    [
        (b"#!/usr/bin/env python3\n", "python"),
        (b"#!/usr/bin/python3.11 -u\n", "python"),
        (b"#!/usr/bin/env -S node --harmony\n", "javascript"),
        (b"#!/bin/sh\n", "shell"),
        (b"#!", "text"),
        (b"\x7fELF\0\0", "binary"),
        (b"words", "text"),
    ],
)
def test_the_first_bytes_say_it_when_the_name_does_not(head: bytes, language: str) -> None:
    assert detect("bin/tool", head).language == language


def test_a_header_with_a_class_is_cpp() -> None:
    assert detect("a.h", b"#pragma once\nclass A {};\n").language == "cpp"
    assert detect("a.h", b"struct a { int b; };\n").language == "c"


def test_mime_types_do_not_depend_on_the_machine() -> None:
    assert detect("a.py").mime_type == "text/x-python"
    assert detect("a.tsv").mime_type == "text/tab-separated-values"
    assert detect("a.png").mime_type == "image/png"
    assert detect("a.zig").mime_type == "text/plain"
    assert detect("a.unheard-of").mime_type == "application/octet-stream"


def test_a_nul_near_the_beginning_makes_a_file_binary() -> None:
    assert is_binary(b"a\0b")
    assert not is_binary(b"a" * 10_000 + b"\0")


@cases(
    ("path", "expected"),
    [
        ("tests/helpers.py", True),
        ("pkg/test_a.py", True),
        ("pkg/a_test.py", True),
        ("conftest.py", True),
        ("a_test.go", True),
        ("a.test.tsx", True),
        ("src/__tests__/a.js", True),
        ("src/test/java/ATest.java", True),
        ("ATests.java", True),
        ("src/latest.py", False),
        ("src/pkg/testing/a.py", False),
        ("contest.go", False),
        ("attest.ts", False),
        ("Testament.java", False),
    ],
)
def test_test_code_is_recognised_by_convention(path: str, expected: bool) -> None:
    assert is_test_path(path) is expected


SAID = "The documentation of the whole file, which has some words more."
HEADS = {
    "python": f'"""{SAID}"""\n',
    "go": f"// {SAID}\npackage a\n",
    "rust": f"//! {SAID}\n",
}
"""The beginning of a documented file, in languages that do not write it as `/** */`."""


def test_every_language_describes_its_comments_and_documentation() -> None:
    assert tuple(SYNTAXES) == SOURCE_LANGUAGES
    for language, syntax in SYNTAXES.items():
        assert syntax.language == language
        comment = b"#" if language == "python" else b"//"
        assert blank_prose(language, comment + b" a") == b" " * (len(comment) + 2)
        lines = syntax().module_doc(HEADS.get(language, f"/** {SAID} */\n\n"))
        assert lines is not None
        assert lines[0].text.strip() == SAID, language
    assert blank_prose("markdown", b"# a") is None
