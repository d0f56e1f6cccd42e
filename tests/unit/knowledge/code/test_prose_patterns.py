"""Comments and strings are told from code, in each language with its own kinds of them."""

from __future__ import annotations

from mycel.knowledge.code.languages import blank_prose
from tests.cases import each_case

# In each source, `code` is code and `prose` is text.
SOURCES = {
    "rust": (
        r'let a = r"\"; code("prose");',
        r'let a = r"prose\"; code(); let b = r"\";',
        'let a = r#"prose " prose"#; code(r##"prose "# prose"##);',
        r'let a = br"\"; code(cr"\", "prose"); code(b"prose \" prose");',
        'let a = "prose\nprose"; code();',
        r"let q = ('\n', '\"'); code('\''); code('\\', '\u{1F600}', '\x7f'); // prose",
        "let q = ['é','\"']; code(b'\"'); code()",
        "fn f<'a, 'b>(a: &'a str, code: &'b str) -> Code<'a> { code('\"') }",
        "/* prose /* prose */ prose */ code()",
        "let r#type = code; // prose's",
        'var"prose"; code',
    ),
    "python": (
        r"""a = r'\' prose'; code""",
        r'''a = r"\" prose"; code; b = rb"prose"''',
        '"""prose " prose\n\\""" prose"""; code\n\'\'\' prose \' prose\'\'\'; code # prose\'',
        "f'prose {code} prose {{prose}}' + rf\"prose {code!r:>{code}}\"; code",
        "f'''prose {code(1)}\nprose'''; code",
        "f'prose {code(\"prose\")}'; code",
        "a = 'prose\ncode",
    ),
    "javascript": (
        "const a = `prose 'prose ${code} prose ${code({a: 1})}`; code()",
        "const a = `prose\n// prose\n\\` prose \\${prose}`; code()",
        "const a = `${code ? `${code}` : code} prose`; code",
        "const a = `${code('prose')}`; code",
        "a.replace(/['\"]prose/g, code); code",
        "const a = /[/'\"]prose\\//; code // prose",
        "return /prose'/.test(code) && code",
        "code / 2; 'prose'; code / code; code // prose",
        "/* prose */ code('prose \\' prose', \"prose\")",
        "const a = 'prose\ncode",
    ),
    "go": (
        'a := `\\`; code(`prose\n"prose`, "prose")',
        "a := `prose ${prose}`; code('\"', '\\'', '`', '世'); code // prose",
        'a := "prose \\" prose"; code',
    ),
    "java": (
        'a = """\n prose "prose" prose\\""" prose"""; code("prose");',
        "char a = '\"', b = '\\'', c = '\\u0041'; code(); // prose",
        'code("prose"); /* prose\n" prose */ code',
    ),
    "cpp": (
        'auto a = R"(prose " \\)"; code("prose");',
        'auto a = u8R"x(prose )" prose)y" prose)x"; code(L"prose");',
        "int a = 1'000'000; code('\"', L'\"', u8'\\'', 'prose'); code // prose",
        "code // prose \\\n prose\ncode",
    ),
    "c": (
        'a = "prose \\" prose"; code(\'"\'); /* prose */ code',
        "code // prose's\ncode('\\\\')",
    ),
}
SAME = {"typescript": "javascript", "tsx": "javascript"}


def test_comments_and_strings_are_told_from_code() -> None:
    languages = {**SOURCES, **{name: SOURCES[same] for name, same in SAME.items()}}
    with each_case() as case:
        for language, sources in languages.items():
            for source in sources:
                with case(f"{language}: {source}"):
                    text = source.encode()
                    code = blank_prose(language, text)
                    assert code is not None
                    assert b"prose" not in code
                    assert code.count(b"code") == text.count(b"code")
                    assert len(code) == len(text)
                    assert code.count(b"\n") == text.count(b"\n")


def test_a_text_that_is_no_code_has_none() -> None:
    assert blank_prose("markdown", b"a") is None
