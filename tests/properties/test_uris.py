"""URIs, whatever they are made of: one normal form, and never a way out of the workspace."""

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycel.errors import MycelError
from mycel.knowledge.uris import UriKind, build, kip_identity, parse, uri_of
from mycel.knowledge.workspace_files import path_of
from mycel.model.names import check_name

NASTY = (
    *("..", ".", "/", "//", "\\", "%2e", "%2E", "%2f", "%5c", "%00", "%", "%25", "%252e", "%c0%ae"),
    *("file:", "concept:", "//", "shop", "SHOP", "a", "~", "etc", "passwd", "C:", ":", "?", "#"),
    *(" ", "\t", "\n", "\0", "\x7f", "\x85", "\u200b", "\u202e", "\uff0e", "\u2024", "\u2025"),
    *("ä", "日", "\ud800", "kip:", "urn:", "https://", "@", "[::1]", "..;", "...", "%2e%2e%2f"),
)
texts = st.one_of(
    st.lists(st.sampled_from(NASTY), max_size=8).map("".join),
    st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=3)), max_size=6).map("/".join),
    st.text(max_size=30),
).flatmap(lambda text: st.sampled_from((text, f"file://shop/{text}", f"concept://shop/{text}")))
kinds: st.SearchStrategy[UriKind] = st.sampled_from(("concept", "file"))


@given(texts, kinds)
def test_a_normal_form_is_its_own_normal_form(text: str, kind: UriKind) -> None:
    try:
        uri = parse(text, "shop", kind=kind)
    except MycelError:
        return
    assert parse(uri.text, "elsewhere", kind=kind) == uri._replace(is_bare=False)


@given(texts, st.sampled_from(("Concept", "Resource", "Note")))
def test_whatever_a_concept_is_called_its_uri_leads_back_to_it(name: str, type_name: str) -> None:
    try:
        check_name(name)
    except MycelError:
        return
    uri = parse(uri_of(type_name, name), "elsewhere")
    assert uri.text == name or kip_identity(uri) == (type_name, name)


@given(texts)
def test_no_file_that_is_accepted_lies_outside_of_the_root(text: str) -> None:
    try:
        uri = parse(text, "shop", kind="file")
    except MycelError:
        return
    if not uri.is_file:
        return
    root = Path("/srv/project")
    segments = uri.path.split("/")
    assert ".." not in segments
    assert not any(character in uri.path for character in "\0\\\n")
    inside = os.path.normpath(os.path.join(root, uri.path))  # noqa: PTH118 - text, not files
    assert os.path.commonpath([root, inside]) == str(root)
    assert path_of(uri, root).is_relative_to(root)


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=("Cc",), exclude_characters="/\\")),
        min_size=1,
        max_size=5,
    )
)
def test_a_path_survives_being_encoded(segments: list[str]) -> None:
    plain = [each for each in segments if each not in ("", ".", "..")]
    if not plain:
        return
    uri = build("file", "shop", "/".join(plain))
    assert uri.path == "/".join(plain)
    assert parse(uri.text, "other").path == uri.path
    encoded = "/".join(quote(each, safe="") for each in plain)
    assert parse(f"file://shop/{encoded}", "other") == uri


@pytest.mark.parametrize("text", ["file://shop/\uff0e\uff0e/x", "file://shop/\u2025/x"])
def test_characters_that_only_look_like_dots_are_names(text: str) -> None:
    assert path_of(parse(text, "shop"), Path("/srv/project")).is_relative_to("/srv/project")
