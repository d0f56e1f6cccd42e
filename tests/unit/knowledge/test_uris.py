"""URIs: one form for each node, and none that leads out of its workspace."""

import pytest

from mycel.errors import ConstraintViolation, InvalidId, MycelError
from mycel.knowledge.uris import (
    build,
    check_workspace,
    kip_identity,
    parse,
    uri_of,
    workspace_named,
)
from tests.cases import cases


@cases(
    ("text", "normal"),
    [
        ("auth/login", "concept://shop/auth/login"),
        ("/auth//./login/", "concept://shop/auth/login"),
        ("CONCEPT://Shop/Auth", "concept://shop/Auth"),
        ("concept://other/a", "concept://other/a"),
        ("concept://shop", "concept://shop"),
        ("concept://shop/", "concept://shop"),
        ("concept://shop/a b", "concept://shop/a%20b"),
        ("concept://shop/a%20b", "concept://shop/a%20b"),
        ("concept://shop/%61", "concept://shop/a"),
        ("concept://shop/100% sure?", "concept://shop/100%25%20sure%3F"),
        ("concept://shop/C#", "concept://shop/C%23"),
        ("concept://shop/a%252e", "concept://shop/a%252e"),
        ("concept://shop/größe/日本", "concept://shop/größe/日本"),
        ("concept://shop/gr%C3%B6%C3%9Fe", "concept://shop/größe"),
        ("concept://shop/a\u200bb", "concept://shop/a%E2%80%8Bb"),
        ("file://shop/src/main.py", "file://shop/src/main.py"),
        ("std::vector", "concept://shop/std::vector"),
        ("main.py:12", "concept://shop/main.py:12"),
        ("note: buy milk", "concept://shop/note:%20buy%20milk"),
        ("https://Example.COM/A/../b?q=1#x", "https://example.com/A/../b?q=1#x"),
        ("HTTPS://Me@Example.com", "https://Me@example.com"),
        ("urn:isbn:0451450523", "urn:isbn:0451450523"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("kip:Person/Ada Lovelace", "kip:Person/Ada Lovelace"),
        ("  auth  ", "concept://shop/auth"),
    ],
)
def test_a_uri_has_one_normal_form(text: str, normal: str) -> None:
    assert parse(text, "shop").text == normal
    assert parse(normal, "elsewhere").text == normal


def test_a_path_is_a_file_where_a_file_is_asked_for() -> None:
    assert parse("src/a b.py", "shop", kind="file").text == "file://shop/src/a%20b.py"
    assert parse("file://shop/src/a%20b.py", "x").path == "src/a b.py"


@cases(
    "text",
    [
        "../secret",
        "a/../../secret",
        "concept://shop/a/../b",
        "concept://shop/..",
        "concept://shop/%2e%2e/b",
        "concept://shop/%2E./b",
        "file://shop/..%2fetc/passwd",
        "file://shop/a%2Fb",
        "file://shop/a%5cb",
        "file://shop/a\\..\\b",
        "C:\\windows",
        "file:///etc/passwd",
        "file:/etc/passwd",
        "file:etc/passwd",
        "file://",
        "concept:///a",
        "concept:a",
        "concept://user@shop/a",
        "concept://shop:80/a",
        "concept://-/a",
        "concept://../a",
        "concept://shop/a%00b",
        "concept://shop/a\x00b",
        "concept://shop/a%0ab",
        "concept://shop/a\nb",
        "concept://shop/a%7f",
        "concept://shop/a%c2%85",
        "concept://shop/%ff",
        "concept://shop/\ud800",
        "https://",
        "https:///",
        "https://a\x1fb",
        "",
        "   ",
        None,
        12,
        b"concept://shop/a",
    ],
)
def test_a_uri_that_leads_out_or_nowhere_is_refused_with_a_hint(text: object) -> None:
    with pytest.raises(InvalidId) as caught:
        parse(text, "shop")
    assert caught.value.hint
    assert len(caught.value.message) < 300


def test_a_uri_that_is_too_long_for_a_name_is_refused() -> None:
    for text in (
        "a" * 5_000,
        "ä" * 2_100,
        "concept://shop/" + "%20" * 1_500,
        "https://a/" + "b" * 5_000,
    ):
        with pytest.raises(ConstraintViolation):
            parse(text, "shop")


def test_a_path_is_built_from_plain_names() -> None:
    assert build("file", "shop", "docs/50% off?.md").text == "file://shop/docs/50%25%20off%3F.md"
    with pytest.raises(InvalidId):
        build("file", "shop", "a/../b")


@cases("name", ["", "-a", "a b", "a/b", "ä", "a" * 64, None, 1, "a\n"])
def test_what_is_no_workspace_is_refused(name: object) -> None:
    with pytest.raises(InvalidId, match="workspace"):
        check_workspace(name)


def test_a_workspace_is_called_in_lower_case() -> None:
    assert check_workspace("My.Project-2_x") == "my.project-2_x"


@cases("text", ["My Project (2)", "…", "", ".git", "a" * 100, "--", "Ünï cödé"])
def test_any_folder_gives_a_workspace_a_name(text: str) -> None:
    assert check_workspace(workspace_named(text))


def test_an_element_of_kip_has_a_uri_too() -> None:
    assert kip_identity(parse("kip:Person/Ada/Lovelace", "shop")) == ("Person", "Ada/Lovelace")
    assert kip_identity(parse("kip:P:7:treats", "shop")) == "P:7:treats"
    for text in ("kip:Person", "kip:/Ada", "kip:Person/"):
        with pytest.raises(MycelError):
            kip_identity(parse(text, "shop"))
    assert uri_of("Person", "Ada") == "kip:Person/Ada"
    assert uri_of("Symbol", "concept://shop/a") == "concept://shop/a"
    assert uri_of("Resource", "urn:isbn:1") == "urn:isbn:1"
    assert uri_of("Concept", "urn:isbn:1") == "kip:Concept/urn:isbn:1"
