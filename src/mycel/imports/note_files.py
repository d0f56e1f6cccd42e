"""Notes of other programs: Markdown (Obsidian, basic-memory), instructions of agents, mem0.

A file is a note; a file of instructions (`CLAUDE.md`, `AGENTS.md`) has a note for each section.
`[[links]]` and links to `.md` files become relations, and files beside the notes are resources. In
front matter the name of the property is the relation; in basic-memory it is the word before a link
at the beginning of a list item; everywhere else it is `links_to`.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from mycel.imports.text_streams import json_items, json_lines
from mycel.imports.turns import SourceProblem, utc_time
from mycel.knowledge.documents.front_matter import FrontMatter, is_broken, read_front_matter
from mycel.store.file.plain_files import NoPlainFile, read_bounded, reason_of

NOTE_BYTES_MAX: Final = 4 << 20
LINKS_MAX: Final = 200
LINKS_TO: Final = "links_to"
NOTE: Final = "Note"
GUIDELINE: Final = "Guideline"
RULES: Final = ".mdc"
"""The suffix of a file of rules of Cursor."""
_LINK: Final = re.compile(
    r"\[\[([^\[\]\n|#]{1,300})(?:#[^\[\]\n|]{0,300})?(?:\|[^\[\]\n]{0,300})?\]\]"
)
_MARKDOWN_LINK: Final = re.compile(
    r"\]\((?:<([^<>\n]{1,500})>|([^()\s<>]{1,500}))(?:\s+\"[^\"\n]{0,300}\")?\)"
)
_RELATION: Final = re.compile(r"\s{0,20}[-*]\s{1,4}([A-Za-z][A-Za-z _-]{0,60})\[\[")
_HEADING: Final = re.compile(r"(#{1,2})\s{1,8}(\S.{0,300})")
_HIDDEN: Final = (".", "node_modules", "__pycache__")


class NoteLink(NamedTuple):
    """A link of a note: the relation, and the title or path that it names."""

    relation: str
    target: str
    is_file: bool = False
    """True if the target is the path of a file beside the notes, as a picture is."""


class ImportedNote(NamedTuple):
    """A note of a source."""

    path: str
    """The path below the source without a suffix, which is the identity of the note."""
    title: str
    text: str
    type: str = NOTE
    links: tuple[NoteLink, ...] = ()
    properties: dict[str, Any] = {}  # noqa: RUF012 - never changed
    time: str | None = None


NoteItems = Iterator[ImportedNote | SourceProblem]


def markdown_notes(root: Path) -> NoteItems:
    """The notes of a folder of Markdown files, or of one file."""
    files = _other_files(root)
    for path in markdown_files(root):
        relative = path.name if path == root else path.relative_to(root).as_posix()
        try:
            text = read_bounded(path, NOTE_BYTES_MAX).decode("utf-8-sig")
        except UnicodeDecodeError:
            yield SourceProblem(relative, "it is not UTF-8")
            continue
        except (OSError, ValueError) as error:
            yield SourceProblem(relative, reason_of(error))
            continue
        lines = text.splitlines()
        matter = read_front_matter(lines)
        if not matter.lines and is_broken(lines):
            yield SourceProblem(
                f"the front matter of {relative}", "it cannot be read as YAML, and stays text"
            )
        yield _note(relative.removesuffix(".md"), lines, matter, files)


def markdown_files(root: Path) -> Iterator[Path]:
    """The Markdown files below a folder, without hidden ones; a file stands for itself."""
    if not root.is_dir():
        yield root
        return
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))
        for name in sorted(files):
            path = Path(folder, name)
            if name.endswith(".md") and not path.is_symlink():
                yield path


def note_paths(root: Path) -> Iterator[str]:
    """The paths of all notes of a folder, also of notes that cannot be read."""
    for path in markdown_files(root):
        yield path.relative_to(root).as_posix().removesuffix(".md")


def _other_files(root: Path) -> dict[str, str]:
    """The files below a folder that are no notes, by path and by name, both in lower case."""
    files: dict[str, str] = {}
    if not root.is_dir():
        return files
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))
        for name in sorted(names):
            if not name.endswith(".md") and not name.startswith("."):
                path = Path(folder, name).relative_to(root).as_posix()
                files[path.lower()] = path
                files.setdefault(name.lower(), path)
    return files


def _note(
    path: str, lines: list[str], matter: FrontMatter, files: Mapping[str, str]
) -> ImportedNote:
    body = "\n".join(lines[matter.lines :]).strip()
    title = matter.title or path.rpartition("/")[2]
    properties = {key: value for key, value in matter.properties.items() if key.lower() != "title"}
    for key, values in (("tags", matter.tags), ("aliases", matter.aliases)):
        if values:
            properties[key] = list(values)
    for key in ("name", "content", "type", "permalink"):
        properties.pop(key, None)
    named_links = dict.fromkeys((*_property_links(matter.properties), *_links(body, path)))
    links = tuple(_with_file(link, path, files) for link in list(named_links)[:LINKS_MAX])
    return ImportedNote(path, title, body, _type_of(matter), links, properties)


def _with_file(link: NoteLink, path: str, files: Mapping[str, str]) -> NoteLink:
    """The link; if it names a file beside the notes, its target is that file."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), link.target)).lower()
    file = files.get(beside) or files.get(link.target.lower())
    return link if file is None else NoteLink(link.relation, file, is_file=True)


def _property_links(properties: Mapping[str, Any]) -> Iterator[NoteLink]:
    """The links in properties; the name of the property is the relation."""
    for key, value in properties.items():
        relation = re.sub(r"[^a-z0-9]+", "_", key.lower()).strip("_")
        for text in _texts(value):
            for match in _LINK.finditer(text):
                if match[1].strip():
                    yield NoteLink(relation or LINKS_TO, match[1].strip())


def _texts(value: Any, *, is_inside: bool = False) -> Iterator[str]:
    """The texts of a value. `[[X]]` without quotes is a list in a list to YAML."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        if is_inside and len(value) == 1 and isinstance(value[0], str):
            yield f"[[{value[0]}]]"
            return
        is_link = len(value) == 1 and isinstance(value[0], list)
        for item in value:
            yield from _texts(item, is_inside=is_link or isinstance(item, list))


def _type_of(matter: FrontMatter) -> str:
    name = matter.properties.get("type")
    words = re.findall(r"[A-Za-z0-9]+", name) if isinstance(name, str) else []
    type_name = "".join(word[:1].upper() + word[1:] for word in words)[:60]
    return type_name if type_name[:1].isalpha() else NOTE


def _links(text: str, path: str = "") -> Iterator[NoteLink]:
    links: set[NoteLink] = set()
    for line in text.splitlines():
        for match in _LINK.finditer(line):
            relation_match = _RELATION.match(line)
            is_named = relation_match is not None and relation_match.end() == match.start() + 2
            relation = (
                "_".join(relation_match[1].split()).lower() if is_named and relation_match else ""
            )
            link = NoteLink(relation.replace("-", "_").strip("_") or LINKS_TO, match[1].strip())
            if link.target and link not in links and len(links) < LINKS_MAX:
                links.add(link)
                yield link
        for match in _MARKDOWN_LINK.finditer(line):
            target = _named_file(match[1] or match[2], path)
            link = NoteLink(LINKS_TO, target)
            if target and link not in links and len(links) < LINKS_MAX:
                links.add(link)
                yield link


def _named_file(address: str, path: str) -> str:
    """The note or file that a link of Markdown names, from the folder of its note; or nothing."""
    name = unquote(address.partition("#")[0])
    if not posixpath.splitext(name)[1] or "://" in name or name.startswith(("/", "mailto:")):
        return ""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return "" if target.startswith("..") else target.removesuffix(".md")


def instruction_notes(path: Path) -> NoteItems:
    """The sections of a file of instructions for agents."""
    try:
        text = read_bounded(path, NOTE_BYTES_MAX).decode("utf-8-sig", errors="replace")
    except (OSError, ValueError) as error:
        why = "it is " + error.kind if isinstance(error, NoPlainFile) else reason_of(error)
        yield SourceProblem(path.name, why)
        return
    title, lines, fence = path.name, list[str](), False
    stem = path.stem.lower()
    for line in [*_without_front_matter(text.splitlines()), "# "]:
        fence ^= line.lstrip().startswith("```")
        heading = None if fence else _HEADING.match(line)
        if heading is None and line != "# ":
            lines.append(line)
            continue
        body = "\n".join(lines).strip()
        if body:
            slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "text"
            yield ImportedNote(f"{stem}/{slug}", title, body, GUIDELINE, tuple(_links(body)))
        title, lines = (heading[2].strip() if heading else path.name), []


def _without_front_matter(lines: list[str]) -> list[str]:
    """The lines after the front matter.

    It is not parsed, because its globs are often invalid YAML.
    """
    if lines[:1] != ["---"] or "---" not in lines[1:]:
        return lines
    return lines[lines.index("---", 1) + 1 :]


def mem0_notes(path: Path) -> NoteItems:
    """The memories of an export of mem0: a list, an object with `results`, or lines."""
    is_lines = path.suffix.lower() == ".jsonl"
    for item in json_lines(path) if is_lines else json_items(path, ("results", "memories")):
        if isinstance(item, SourceProblem):
            yield item
            continue
        value = item.value if isinstance(item.value, dict) else {}
        text = value.get("memory") or value.get("data") or value.get("text")
        if not isinstance(text, str) or not text.strip():
            yield SourceProblem(item.place, "it is no memory: it has no text")
            continue
        id_ = str(value.get("id") or sha256(text.encode(errors="replace")).hexdigest()[:16])
        metadata = value.get("metadata")
        properties = dict(metadata) if isinstance(metadata, dict) else {}
        for key in ("user_id", "agent_id", "categories"):
            if value.get(key):
                properties[key] = value[key]
        time = utc_time(value.get("updated_at") or value.get("created_at"))
        title = " ".join(text.split())[:80]
        yield ImportedNote(id_, title, text.strip(), "Memory", (), properties, time)
