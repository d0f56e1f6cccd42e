"""The file of a concept: YAML front matter, whose values are JSON, and the content as Markdown.

    ---
    uri: concept://shop/auth/login
    type: Concept
    name: "Log in"
    properties:
      importance: "high"
      tags:
        - "auth"
    metadata:
      confidence: 0.9
    relations:
      - {relation: depends_on, target: "concept://shop/auth/session", weight: 0.5}
    ---
    Users log in with a password.

The text depends only on the content: keys are sorted, and empty values and a weight of 1 are left
out. There are no times, versions or ids in it. JSON inside YAML means the same to every reader of
YAML. The content is the body, followed by one line break. If it could be mistaken for something
else, because it holds carriage returns, marks of a merge conflict or a second front matter, it is a
JSON text in the front matter: `content: "…"`.

Relations to concepts are at the end of the body as well, as links that Obsidian and other programs
follow. The block is always written from the front matter; `without_links` removes it:

    <!-- mycel:relations -->
    - depends_on [shop/auth/session](session.md)
    <!-- /mycel:relations -->

A relation about a relation is in the file of the concept that it begins at: `source` names the
relation that it leaves, and `target` may be a relation too, as a map of `source`, `relation` and
`target`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from posixpath import dirname, normpath
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

import orjson

FENCE: Final = "---"
CONTENT: Final = "content"
NAME: Final = "name"
DEFAULT_WEIGHT: Final = 1.0

CONFLICT: Final = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: |$)", re.MULTILINE)
"""A conflict mark of Git, which a merge leaves where two sides differ."""
_FOREIGN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufeff]")
"""Characters that editors change or hide, so the mirror escapes them."""
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that are valid in JSON but not in YAML, so they are escaped."""
KEY_CHARACTERS_MAX: Final = 1_000
"""Readers of YAML find the colon of a key only within 1,024 characters."""
_MEMBER: Final = re.compile(r'("[^"\\]*+(?>(?:\\.[^"\\]*+)*)(?:"|\\?\Z))(:?)')
"""A string of JSON, with the colon after it if it is a key."""
LINKS_BEGIN: Final = "<!-- mycel:relations -->"
LINKS_END: Final = "<!-- /mycel:relations -->"
_CONCEPT: Final = "concept://"
_LABEL: Final = re.compile(r"[\[\]\\]")
_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9/~._-]*")
_WORD: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*", re.ASCII)
_URI: Final = re.compile(r"[a-z][a-z0-9+.-]*:[^\s\"'`{}\[\],#]*[^\s\"'`{}\[\],#:]")
_WORDS_OF_YAML: Final = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))

LinkName = dict[str, Any]
"""A relation that is an end of another relation, as a map of `source`, `relation` and `target`."""


class FileRelation(NamedTuple):
    """One relation in the file of the concept that it begins at."""

    relation: str
    target: str | LinkName
    weight: float = DEFAULT_WEIGHT
    properties: Mapping[str, Any] = {}
    metadata: Mapping[str, Any] = {}
    source: LinkName | None = None
    """The link at which the relation starts; None if the relation starts at the concept of the
    file."""


class BodyLink(NamedTuple):
    """A link in the block at the end of a body: a relation, and the path of its target's file."""

    relation: str
    path: str


class MirrorDocument(NamedTuple):
    """The content of a file."""

    uri: str
    type: str
    attributes: Mapping[str, Any]
    metadata: Mapping[str, Any]
    relations: Sequence[FileRelation] = ()
    links: frozenset[BodyLink] | None = None
    """The links in the block at the end of the body; None if there is no such block."""


def render(
    uri: str,
    type_name: str,
    attributes: Mapping[str, Any],
    metadata: Mapping[str, Any],
    relations: Sequence[str],
    links: Sequence[str] = (),
) -> str:
    """The text of a file; the relations and the links of the body are given as lines."""
    rest = dict(attributes)
    content = rest.pop(CONTENT) if isinstance(rest.get(CONTENT), str) else None
    name = rest.pop(NAME) if isinstance(rest.get(NAME), str) else None
    lines = [FENCE, f"uri: {scalar(uri)}", f"type: {scalar(type_name)}"]
    if name is not None:
        lines.append(f"name: {as_json(name)}")
    if rest:
        lines += _block("properties", rest)
    if metadata:
        lines += _block("metadata", metadata)
    if relations:
        lines.append("relations:")
        lines += sorted(relations)
    is_plain = content is None or _is_plain(content)
    if not is_plain:
        lines.append(f"content: {as_json(content)}")
    lines.append(FENCE)
    if content is not None and is_plain:
        lines.append(content)
    if links:
        if content is not None and is_plain:
            lines.append("")
        lines += [LINKS_BEGIN, *sorted(links), LINKS_END]
    lines.append("")
    return "\n".join(lines)


def write_document(document: MirrorDocument, path_of: Callable[[str], str]) -> str:
    """The file that the mirror writes for a document."""
    lines, links = [], []
    folder = quote_path(path_of(document.uri).rpartition("/")[0] + "/")
    for relation in document.relations:
        word = scalar(relation.relation)
        source = "" if relation.source is None else as_json(relation.source)
        values = (
            as_json(part) if part else "" for part in (relation.properties, relation.metadata)
        )
        lines.append(line_of(word, source, as_json(relation.target), relation.weight, *values))
        if relation.source is None and isinstance(relation.target, str):
            target = quote_path(path_of(relation.target))
            links.append(link_line(word, link_label(relation.target), target, folder))
    parts = document.uri, document.type, document.attributes, document.metadata
    return render(*parts, lines, links)


def line_of(
    relation: str, source: str, target: str, weight: float, properties: str, metadata: str
) -> str:
    """A relation as a line of the front matter; arguments are YAML, and empty ones are left out."""
    line = f"  - {{relation: {relation}, "
    if source:
        line += f"source: {source}, "
    line += f"target: {target}"
    if weight != DEFAULT_WEIGHT:
        line += f", weight: {weight!r}"
    if properties:
        line += f", properties: {properties}"
    if metadata:
        line += f", metadata: {metadata}"
    return line + "}"


def link_label(uri: str) -> str:
    """The name of a concept in a link."""
    label = uri.removeprefix(_CONCEPT)
    if "[" in label or "]" in label or "\\" in label:
        label = _LABEL.sub(r"\\\g<0>", label)
    if not label.isprintable():
        label = "".join(character if character.isprintable() else "_" for character in label)
    return label


def link_line(relation: str, label: str, target: str, folder: str) -> str:
    """A line of the block of links: the path of a target, as seen from a folder."""
    return f"- {relation} [{label}]({_relative(target, folder)})"


def quote_path(path: str) -> str:
    """A path in the quoted form of a link."""
    return path if _PLAIN_PATH.fullmatch(path) else quote(path, safe="/!$&'*+,;=:@~-._")


def _relative(target: str, folder: str) -> str:
    """A path relative to a folder; both are quoted."""
    if target.startswith(folder):
        return target[len(folder) :]
    target_parts, folder_parts = target.split("/"), folder.split("/")[:-1]
    shared = 0
    while (
        shared < min(len(folder_parts), len(target_parts) - 1)
        and folder_parts[shared] == target_parts[shared]
    ):
        shared += 1
    return "../" * (len(folder_parts) - shared) + "/".join(target_parts[shared:])


def without_links(body: str, path: str) -> tuple[str, frozenset[BodyLink] | None]:
    """Split the body of a file into the text without the block of links, and the links.

    Text after the block is kept.

    Raises:
        ValueError: the block has no end, or a line of it is no link; with the line and the reason.
    """
    if LINKS_BEGIN not in body:
        return body, None
    lines = body.split("\n")
    begin = next((at for at, line in enumerate(lines) if line.strip() == LINKS_BEGIN), None)
    if begin is None:
        return body, None
    links: set[BodyLink] = set()
    for at in range(begin + 1, len(lines)):
        line = lines[at].strip()
        if line == LINKS_END:
            before, after = lines[:begin], lines[at + 1 :]
            if len(before) > 1 and not before[-1]:
                before.pop()
            remainder = [*before, *after] if any(map(str.strip, after)) else [*before, ""]
            return "" if remainder == [""] else "\n".join(remainder), frozenset(links)
        if line:
            links.add(_link(line, path, at))
    raise ValueError(begin, f"its block of links lacks the line `{LINKS_END}` at its end")


def _link(line: str, path: str, at: int) -> BodyLink:
    head, _, rest = line.removeprefix("- ").partition(" ")
    if line.startswith("- ") and rest.startswith("[[") and rest.endswith("]]"):
        link_target = rest[2:-2].partition("|")[0].partition("#")[0]
        return BodyLink(head, link_target if link_target.endswith(".md") else f"{link_target}.md")
    if line.startswith("- ") and rest.startswith("[") and rest.endswith(")") and "](" in rest:
        target = unquote(rest[:-1].rpartition("](")[2].removeprefix("<").removesuffix(">"))
        return BodyLink(head, normpath(f"{dirname(path)}/{target}".lstrip("/")))
    raise ValueError(at, "it is no link; write `- relation [text](path.md)`")


def as_json(value: Any) -> str:
    """A value as one line of JSON, which is also valid YAML for the same value."""
    return for_yaml(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())


def for_yaml(text: str) -> str:
    """JSON made valid as YAML: some characters are escaped, and long keys get a mark."""
    if not text.isascii() or "\x7f" in text:
        text = _ESCAPED.sub(_escape, text)
    if len(text) > KEY_CHARACTERS_MAX and "{" in text:
        text = _MEMBER.sub(_marked, text)
    return text


def _marked(member: re.Match[str]) -> str:
    """The match as YAML: a long key is written `? "…" :`, anything else is unchanged."""
    key, colon = member.groups()
    return f"? {key} :" if colon and len(key) > KEY_CHARACTERS_MAX else member[0]


def scalar(text: str) -> str:
    """A text for YAML: without quotation marks if every reader of YAML reads it as text."""
    if _WORD.fullmatch(text) and text.lower() not in _WORDS_OF_YAML:
        return text
    if _URI.fullmatch(text) and text.isprintable():
        return text
    return as_json(text)


def is_fenced(content: str) -> bool:
    """True if a content begins with the line that opens a front matter."""
    begin = content.lstrip()
    return begin.startswith(FENCE) and not begin[len(FENCE) :].partition("\n")[0].strip()


def is_fronted(raw: bytes) -> bool:
    """True if a file begins with a front matter."""
    return raw.removeprefix(codecs.BOM_UTF8).partition(b"\n")[0].rstrip() == FENCE.encode()


def has_uri(raw: bytes) -> bool:
    """True if the front matter of a file has the key `uri`."""
    if not is_fronted(raw):
        return False
    for line in raw.split(b"\n")[1:]:
        if line.startswith(FENCE.encode()):
            return False
        key, colon, _ = line.partition(b":")
        if colon and key.rstrip() == b"uri":
            return True
    return False


def _is_plain(content: str) -> bool:
    return not (
        _FOREIGN.search(content)
        or CONFLICT.search(content)
        or is_fenced(content)
        or LINKS_BEGIN in content
        or LINKS_END in content
    )


def _block(title: str, values: Mapping[str, Any]) -> Iterator[str]:
    if not values:
        return
    yield f"{title}:"
    for key in sorted(values):
        value, key_text = values[key], scalar(key) if _WORD.fullmatch(key) else as_json(key)
        if len(key_text) > KEY_CHARACTERS_MAX:
            yield f"  ? {key_text}"
            yield f"  : {as_json(value)}"
        elif isinstance(value, list) and value:
            yield f"  {key_text}:"
            yield from (f"    - {as_json(member)}" for member in value)
        else:
            yield f"  {key_text}: {as_json(value)}"


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
