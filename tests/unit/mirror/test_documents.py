"""A file says exactly what the concept says, to us and to other readers of YAML."""

from contextlib import suppress
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from mycel.mirror import commits
from mycel.mirror.documents import (
    FileRelation,
    MirrorDocument,
    has_uri,
    is_fenced,
    write_document,
)
from mycel.mirror.front_matter import UnreadableError, read_document
from mycel.mirror.paths import path_of

NUL = "\0"
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        (
            "",
            "~",
            "yes",
            "null",
            "1_000",
            "2024-01-01",
            "0x1f",
            "1:30",
            "a: b",
            "# x",
            "- a",
            "{a}",
            "'",
        )
    ),
    st.text(alphabet="\t \r\n\x00\x7f\x85\u2028\ufeff😀é<>|=-:#\"'\\", max_size=8),
)
BODIES = st.one_of(
    TEXTS,
    st.sampled_from(
        ("---\nuri: x\n---", "\n\n", "x\n", "<<<<<<< a\nb\n>>>>>>> c\n", "---", " ---\na", "\r\n")
    ),
)
SCALARS = st.one_of(
    TEXTS,
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
MAPS = st.dictionaries(TEXTS, VALUES, max_size=4)
ENDS = st.sampled_from(("concept://shop/a", "https://example.org/B?c#d", "kip:Person/A\nb"))
RELATIONS = st.builds(
    FileRelation,
    st.sampled_from(("knows", "no", "depends_on")),
    ENDS,
    st.floats(0, 1).map(abs),
    MAPS,
    MAPS,
    st.none() | st.fixed_dictionaries({"source": ENDS, "relation": st.just("x"), "target": ENDS}),
)


def _document(
    attributes: dict[str, Any], content: str | None, metadata: Any, relations: Any
) -> MirrorDocument:
    body = {} if content is None else {"content": content}
    return MirrorDocument("concept://shop/a", "Concept", attributes | body, metadata, relations)


def _text(document: MirrorDocument) -> str:
    return write_document(document, path_of)


@given(MAPS, st.none() | BODIES, MAPS, st.lists(RELATIONS, max_size=3))
def test_what_is_written_is_read_again_with_any_line_ends(
    attributes: dict[str, Any], content: str | None, metadata: Any, relations: Any
) -> None:
    document = _document(attributes, content, metadata, relations)
    text = _text(document)
    for written in (text, text.replace("\n", "\r\n"), f"\ufeff{text}"):
        read = read_document("x.md", written.encode())
        assert _text(read) == text
        assert {**read.attributes} == {**document.attributes}
        assert read.metadata == metadata
        assert len(read.relations) == len(relations)
        assert all(each in relations for each in read.relations)


def test_every_character_of_unicode_can_be_read_wherever_it_is_written(seed: int) -> None:
    """Of each plane but the first, a quarter: `make soak` draws the others too."""
    planes = range(0x10000, 0x110000, 0x10000)
    for begin in (0, 0x8000, *(plane + seed % 4 * 0x4000 for plane in planes)):
        end = begin + (0x4000 if begin >= 0x10000 else 0x8000)
        points = (each for each in range(begin, end) if not 0xD800 <= each < 0xE000)
        text = "".join(map(chr, points))
        parts = [text[at : at + 256] for at in range(0, len(text), 256)]  # Keys have 1,024 bytes.
        relations = [
            FileRelation("is", f"kip:Person/{part.lstrip(NUL)}", 1.0, {part: 1}) for part in parts
        ]
        for content in (text, f"\r{text}"):
            values = {part: [part] for part in parts}
            document = _document(values, content, {part: {part: 1} for part in parts}, relations)
            read = read_document("x.md", _text(document).encode())
            assert {**read.attributes} == {**document.attributes}
            assert read.metadata == document.metadata
            assert sorted(read.relations) == sorted(relations)


def test_hostile_files_are_read_in_linear_time() -> None:
    """Each of these would take minutes, were it read by an expression that goes back."""
    many = 300_000
    for text in ("---" + "\n" * many, "\n" * many + "---", "---\n" + "uri\n" * many, "---" * many):
        assert not has_uri(text.encode())
        assert is_fenced(text) == (text.strip() == "---" or text.startswith("---\n"))
        with suppress(UnreadableError):
            read_document("concepts/shop/x.md", f"{text}x".encode())
    assert commits.identity("a" + " " * many + "b") is None
    assert commits.identity(" Ada  Lovelace  <ada@example.org> ") == (
        "Ada  Lovelace",
        "ada@example.org",
    )


def test_other_readers_of_yaml_see_the_same_values() -> None:
    texts = ["yes", "null", "1_000", "2024-01-01", "0x1f", "1:30", "a: b # c", "\u2028\x85é😀", ""]
    told = {f"k{at}": text for at, text in enumerate(texts)}
    told |= {"no": True, "n": None, "on": 1.5, "deep": {"a": [1, {"b": "x: y"}]}, "list": ["-", 2]}
    text = _text(_document(told, None, {"sources": ["a, b"]}, ()))
    read = yaml.safe_load(text.split("---\n")[1])
    assert (read["properties"], read["metadata"]) == (told, {"sources": ["a, b"]})
