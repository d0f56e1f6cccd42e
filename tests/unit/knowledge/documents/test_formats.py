from __future__ import annotations

import io
import json

import pytest

from mycel.knowledge.code.file_analysis import analyse
from mycel.knowledge.code.file_kinds import detect
from mycel.knowledge.code.languages import SYNTAXES
from mycel.knowledge.code.source_facts import FileFacts
from mycel.knowledge.documents.module_docs import read_module_doc
from tests.cases import cases


def read(text: str, path: str) -> FileFacts:
    return analyse(path, text.encode(), detect(path, text.encode()).language)


def outline(text: str, path: str) -> list[str]:
    return [f"{s.level} {s.slug} = {s.text}" for s in read(text, path).sections]


@cases(
    ("text", "expected"),
    [
        ("Shop\n====\n\nSells.\n\nUse\n---\n\nRun.\n", ["1 shop = Sells.", "2 use = Run."]),
        ("====\nShop\n====\n\nx\n\nUse\n====\n\ny", ["1 shop = x", "2 use = y"]),
        ("A\n=\n\nx", ["0 text = A\n=\n\nx"]),
        ("x\n\n----\n\ny\n", ["0 text = x\n\n----\n\ny"]),
        ("A\n***\nx\nB\n***\ny", ["1 a = x\nB\n***\ny"]),
        (".. _top:\n\nA :class:`Cart`\n==============\n\nx", ["1 a-cart = x"]),
        ("A\n===\nz\n\nB\n---\nw\n\nC\n~~~\nx", ["1 a = z", "2 b = w", "3 b/c = x"]),
        ("==== ====\na    b\n==== ====\n", ["0 text = ==== ====\na    b\n==== ===="]),
        ("", []),
    ],
)  # fmt: skip
def test_restructured_text_is_divided_by_its_headings(text: str, expected: list[str]) -> None:
    assert outline(text, "a.rst") == expected


def test_links_of_restructured_text_belong_to_their_section() -> None:
    title, use = read(
        ".. _top:\n\nShop\n====\n\nSee :ref:`the use <use>` and :doc:`/cart`.\n\n.. _use:\n\n"
        "Use\n---\n\n:meth:`~shop.Cart.add`, `a page <https://example.org>`_, :ref:`top`.\n",
        "a.rst",
    ).sections
    assert (title.anchor, title.links) == ("top", ("::use", "/cart"))
    assert (use.anchor, use.links) == ("use", ("https://example.org", "::top"))
    assert "`shop.Cart.add" in use.names


@cases(
    ("text", "expected"),
    [
        ("= Shop\n:toc:\n\nSells.\n\n== Use\n\nRun.", ["1 shop = Sells.", "2 use = Run."]),
        ("----\n== no\n----\n\n[#use]\n== Use\nx", ["0 text = ----\n== no\n----", "2 use = x"]),
    ],
)
def test_asciidoc_is_divided_by_its_headings(text: str, expected: list[str]) -> None:
    assert outline(text, "a.adoc") == expected


def test_links_of_asciidoc_are_found() -> None:
    (section,) = read("= A\nSee link:b.adoc[b], xref:c.adoc#d[d] and <<e,f>>.", "a.adoc").sections
    assert section.links == ("b.adoc", "c.adoc#d", "#e")


WORDS = "Some words that a reader would like to find again some day, " * 2


def test_pages_of_html_are_read_without_scripts_and_navigation() -> None:
    facts = read(
        f"<html><head><title>Shop</title><script>x()</script></head><body><nav>Menu</nav>\n"
        f"<h1 id=top>The <b>shop</b></h1>\n<p>{WORDS}</p><p>More&amp;more. <a href=b.html>b</a></p>"
        f"\n<h2>Use</h2><ul><li>One<li>Two</ul></body>",
        "docs/a.html",
    )
    first, second = facts.sections
    assert (first.heading, first.anchor, first.links) == ("The shop", "top", ("b.html",))
    assert first.text == f"{WORDS.strip()}\n\nMore&more. b"
    assert (second.name, second.text.split()) == ("The shop > Use", ["One", "Two"])


@cases(
    ("path", "text"),
    [
        ("a.html", f"<h1>A</h1><p>{{{{ title }}}} {WORDS}</p>"),
        ("a.html", "<h1>A</h1><p>Few words.</p>"),
        ("tests/a.html", f"<p>{WORDS}</p>"),
        ("requirements.txt", f"{WORDS}\n"),
        ("numbers.txt", "1 2 3\n4 5 6\n"),
        ("words.txt", "apple\npear\nplum\n"),
        ("tests/a.txt", WORDS),
        ("a.unknown", WORDS),
        ("poetry.lock", WORDS),
        ("a.ipynb", "{"),
        ("a.ipynb", "[]"),
    ],
)
def test_templates_tests_and_data_are_no_documents(path: str, text: str) -> None:
    assert not read(text, path).sections


def test_plain_text_is_one_section_or_divided_by_underlined_headings() -> None:
    assert outline(f"{WORDS}\n", "notes/plan.txt") == [f"0 text = {WORDS.rstrip()}"]
    assert [s.slug for s in read(f"Plan\n====\n\n{WORDS}\n", "plan.txt").sections] == ["plan"]
    licence = read(("MIT License\n\n" + f"{WORDS}\n\n" * 100), "LICENSE").sections
    assert [section.slug for section in licence] == ["text"]


def test_notebooks_are_read_without_results() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Prices\n", "What things cost."]},
        {"cell_type": "code", "source": "mean(prices)", "outputs": [{"text": "secret result"}]},
        {"cell_type": "raw", "source": "raw"},
        {"cell_type": "markdown", "source": "## Next\n\nMore."},
    ]
    facts = read(json.dumps({"cells": cells, "nbformat": 4}), "a.ipynb")
    assert [(s.heading, s.text, s.line) for s in facts.sections] == [
        ("Prices", "What things cost.\n\n```python\nmean(prices)\n```", 0),
        ("Next", "More.", 0),
    ]


def test_pages_of_pdf_documents_are_sections() -> None:
    pypdf = pytest.importorskip("pypdf", reason="the extra `documents` is not installed")
    facts = analyse("a.pdf", _pdf(pypdf, ["Tea is a drink.", "So is coffee."]), "pdf")
    assert [(s.slug, s.name, s.text, s.line) for s in facts.sections] == [
        ("page-1", "About drinks > Page 1", "Tea is a drink.", 0),
        ("page-2", "About drinks > Page 2", "So is coffee.", 0),
    ]
    broken = analyse("a.pdf", b"%PDF-1.4\n\0 nothing", "pdf")
    assert (broken.sections, broken.note) == ((), "cannot be read as a PDF, or not to its end")


def _pdf(pypdf: object, texts: list[str]) -> bytes:
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in texts:
        page = writer.add_blank_page(200, 200)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = stream
    writer.add_metadata({"/Title": "About drinks"})
    data = io.BytesIO()
    writer.write(data)
    return data.getvalue()


LONG = "What this module is for, in a whole sentence."


@cases(
    ("language", "text", "line"),
    [
        ("python", f'#!/usr/bin/python\n# x\n\n"""{LONG}\n"""\nimport a\n', 4),
        ("python", f"r'''{LONG}'''\n", 1),
        ("rust", f"// licence\n#![no_std]\n//! {LONG}\n//! More.\nuse a;\n", 3),
        ("rust", f"/*! {LONG} */\n", 1),
        ("go", f"// Copyright\n\n// {LONG}\npackage a\n", 3),
        ("go", f"/*\n{LONG}\n*/\npackage a\n", 2),
        ("typescript", f"/**\n * {LONG}\n * @module\n */\n\nimport a\n", 2),
        ("javascript", f"// x\n'use strict'\n/** {LONG} */\n\nimport a\n", 3),
        ("java", f"/* {LONG} */\npackage a;\n", 1),
        ("c", f"/* {LONG} */\n#include <a.h>\n", 1),
    ],
)
def test_a_source_file_has_a_documentation_of_its_own(language: str, text: str, line: int) -> None:
    lines = read_module_doc(text, SYNTAXES[language]().module_doc)
    assert lines is not None
    first = next(each for each in lines if each.text.strip())
    assert (first.text.strip(), first.number) == (LONG, line)


@cases(
    ("language", "text"),
    [
        ("python", f"import a\n'''{LONG}'''\n"),
        ("python", "'''Short.'''\n"),
        ("python", f"'''{LONG}\n"),
        ("rust", f"/// {LONG}\nfn a() {{}}\n"),
        ("rust", f"use a;\n//! {LONG}\n"),
        ("go", f"// {LONG}\n\npackage a\n"),
        ("javascript", f"/** {LONG} */\nexport function a() {{}}\n"),
        ("javascript", f"/* Copyright by somebody: {LONG} */\n\nimport a\n"),
        ("java", f"/** {LONG}"),
    ],
)
def test_other_comments_are_no_documentation_of_the_file(language: str, text: str) -> None:
    assert read_module_doc(text, SYNTAXES[language]().module_doc) is None


def test_the_documentation_of_a_file_is_a_section_that_no_symbol_is_called_like() -> None:
    facts = read(f'"""{LONG}\n\nDetails\n-------\n\nMore `Cart.add`.\n"""\n', "shop/cart.py")
    assert [(s.slug, s.name) for s in facts.sections] == [
        ("module-doc", "shop/cart.py"),
        ("module-doc-details", "shop/cart.py > Details"),
    ]
    assert facts.sections[1].names == ("`Cart.add",)
