"""Reading the file of a concept, as the mirror wrote it or as a person edited it.

PyYAML reads the syntax, so any way to write YAML is fine: what Obsidian makes of a front matter,
comments, block lists, quotes of either kind. It is read event by event: the composer of PyYAML
recurses in C, and ends the process if lists nest a hundred thousand deep. A plain word has its
meaning in JSON: `true`, `null` and `1.5` are values, and everything else is a text, even `yes`,
`~`, `1_000` and `2024-01-01`. A key without a value is null. Misleading input is refused, with the
line: keys that occur twice, anchors, tags, conflict marks, a second front matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Any, Final, NamedTuple

import yaml

from mycel.errors import MycelError
from mycel.knowledge.uris import parse
from mycel.mirror.documents import (
    CONFLICT,
    CONTENT,
    DEFAULT_WEIGHT,
    FENCE,
    NAME,
    BodyLink,
    FileRelation,
    LinkName,
    MirrorDocument,
    is_fenced,
    without_links,
)
from mycel.mirror.paths import uri_of_path
from mycel.model.limits import JSON_DEPTH_MAX
from mycel.model.values import object_text

KEYS: Final = ("uri", "type", "name", "properties", "metadata", "relations", "content")
RELATION_KEYS: Final = ("relation", "target", "weight", "properties", "metadata", "source")
NEW_TYPE: Final = "Concept"
"""The type of a new file without a type."""

DEPTH_MAX: Final = JSON_DEPTH_MAX + 2
"""The maximum number of levels of nesting; values of a relation are two levels below those of the
front matter."""
DIGITS_MAX: Final = 400
"""The largest number of JSON has 309 digits before its point."""

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_WORDS: Final = {"true": True, "false": False, "null": None, "": None}
_OURS: Final = re.compile(r"^(?:uri|type|relations|properties)[ \t]*:", re.MULTILINE)
_SURROGATES: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BEGINNINGS: Final = (yaml.StreamStartEvent, yaml.DocumentStartEvent)


class FrontMatterProblem(NamedTuple):
    """Something in a file that cannot be read, and its line; 0 for the file as a whole."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}{f':{self.line}' if self.line else ''}: {self.message}"


class UnreadableError(Exception):
    """A file cannot be read."""

    def __init__(self, problem: FrontMatterProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def read_document(path: str, raw: bytes) -> MirrorDocument:
    """Read the document of a file.

    Raises:
        UnreadableError: the file cannot be read; the error names the line.
    """
    return _Reading(path, raw).document()


class _Reading:
    """Reads one file."""

    def __init__(self, path: str, raw: bytes) -> None:
        self._path: Final = path
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise self._error(line, "it is not UTF-8") from None
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if match := CONFLICT.search(text):
            line = text.count("\n", 0, match.start()) + 1
            raise self._error(line, "it has a mark of a merge conflict; settle the conflict first")
        self._text: Final = text

    def document(self) -> MirrorDocument:
        front, body, line, links = self._parts()
        fields = {} if front is None else self._fields(front)
        uri, type_name = self._uri(fields), self._word(fields, "type", NEW_TYPE)
        attributes, metadata = self._map(fields, "properties"), self._map(fields, "metadata")
        for key in (NAME, CONTENT):
            value = fields.get(key, (None, 0))[0]
            if key in attributes and (value is not None or (key == CONTENT and body is not None)):
                raise self._error(fields["properties"][1], f"{key!r} is a property, and there too")
            if value is not None:
                if not isinstance(value, str):
                    raise self._error(fields[key][1], f"{key!r} must be a text")
                attributes[key] = value
        if body is not None:
            if CONTENT in attributes:
                raise self._error(line, "it has a body, and `content` in its front matter too")
            attributes[CONTENT] = body
        self._check_content(attributes, "properties", fields.get("properties", (None, line))[1])
        self._check_content(metadata, "metadata", fields.get("metadata", (None, line))[1])
        relations = tuple(self._relations(fields))
        return MirrorDocument(uri, type_name, attributes, metadata, relations, links)

    # Front matter and body.

    def _parts(self) -> tuple[str | None, str | None, int, frozenset[BodyLink] | None]:
        """The front matter, the body, the first line of the body, and its links."""
        lines = self._text.split("\n")
        if lines[0].rstrip() != FENCE:
            return None, *self._body(self._text, 1)
        for at in range(1, len(lines)):
            if lines[at].rstrip() == FENCE:
                front = "\n".join(map(_untabbed, lines[1:at]))
                return front, *self._body("\n".join(lines[at + 1 :]), at + 2)
        raise self._error(1, "its front matter has no end: a line `---`")

    def _body(self, text: str, line: int) -> tuple[str | None, int, frozenset[BodyLink] | None]:
        if is_fenced(text):
            second = text.split(FENCE, 2)[1]
            if _OURS.search(second):
                raise self._error(line, "it has a second front matter; keep one of the two")
        try:
            text, links = without_links(text, self._path)
        except ValueError as error:
            at, reason = error.args
            raise self._error(line + at, reason) from None
        return text.removesuffix("\n") if text else None, line, links

    # Reading of values.

    def _fields(self, front: str) -> dict[str, tuple[Any, int]]:
        """Each key of the front matter, with its value and line.

        Relations are a list of values and their lines.
        """
        events = yaml.parse(front, Loader=_Loader)
        try:
            event = next(event for event in events if not isinstance(event, _BEGINNINGS))
            if isinstance(event, yaml.StreamEndEvent):
                return {}
            if not isinstance(event, yaml.MappingStartEvent):
                raise self._error(2, "its front matter is no list of keys and values")
            fields = {}
            for name, line in self._keys(event, events):
                if name not in KEYS:
                    hint = "write it below `properties:`" if name not in RELATION_KEYS else ""
                    raise self._error(line, f"{name!r} is not a key of the front matter; {hint}")
                fields[name] = self._field(name, next(events), events), line
            if not isinstance(event := list(islice(events, 2))[-1], yaml.StreamEndEvent):
                raise self._error(_line(event), "its front matter has a second document")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            reason = error.problem or error.context or "it is not YAML"
            raise self._error(2 if mark is None else mark.line + 2, str(reason)) from None
        except yaml.YAMLError as error:
            raise self._error(2, str(error).partition("\n")[0]) from None
        return fields

    def _field(self, name: str, event: yaml.Event, events: Iterator[yaml.Event]) -> Any:
        if name == "relations" and isinstance(event, yaml.SequenceStartEvent):
            items = self._items(event, events)
            return [(self._value(item, events, 1), _line(item)) for item in items]
        return self._value(event, events, 0)

    def _keys(self, start: yaml.Event, events: Iterator[yaml.Event]) -> Iterator[tuple[str, int]]:
        """Each key of a map, with its line. The caller reads the value before the next key."""
        self._check(start)
        names: set[str] = set()
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            self._check(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise self._error(_line(event), "a key must be a text")
            name = _join_surrogates(event.value)
            if name in names:
                raise self._error(_line(event), f"the key {name!r} occurs twice")
            names.add(name)
            yield name, _line(event)

    def _items(self, start: yaml.Event, events: Iterator[yaml.Event]) -> Iterator[yaml.Event]:
        """The first event of each item of a list.

        The caller reads the rest before the next item.
        """
        self._check(start)
        return takewhile(lambda event: not isinstance(event, yaml.SequenceEndEvent), events)

    def _value(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Any:
        self._check(event)
        if depth > DEPTH_MAX:
            raise self._error(_line(event), "its front matter nests too deep")
        if isinstance(event, yaml.MappingStartEvent):
            keys = self._keys(event, events)
            return {name: self._value(next(events), events, depth + 1) for name, _ in keys}
        if isinstance(event, yaml.SequenceStartEvent):
            items = self._items(event, events)
            return [self._value(item, events, depth + 1) for item in items]
        return _join_surrogates(event.value) if event.style else self._plain(event)

    def _plain(self, event: yaml.ScalarEvent) -> Any:
        text = event.value
        if text in _WORDS:
            return _WORDS[text]
        match = _NUMBER.fullmatch(text)
        if match is None:
            return text
        if len(text) > DIGITS_MAX:
            raise self._error(_line(event), "a number has too many digits")
        return float(text) if match[1] or match[2] else int(text)

    def _check(self, event: yaml.NodeEvent) -> None:
        if event.anchor is not None:
            raise self._error(_line(event), "anchors and aliases (& and *) are not read")
        if getattr(event, "tag", None) is not None:
            raise self._error(_line(event), "tags (!) are not read")

    # Reading of the fields of a document.

    def _uri(self, fields: dict[str, tuple[Any, int]]) -> str:
        value, line = fields.get("uri", (None, 0))
        if value is None:
            uri = uri_of_path(self._path)
            if uri is None:
                raise self._error(1, "it has no `uri`, and its path names none")
            return uri
        try:
            uri = parse(value, "").text
        except MycelError as error:
            raise self._error(line, error.message) from None
        if ":" not in value:
            raise self._error(line, f"{value!r} is no URI; write concept://WORKSPACE/PATH")
        if uri != value:
            raise self._error(line, f"its URI is written {uri}")
        return uri

    def _word(self, fields: dict[str, tuple[Any, int]], key: str, default: str) -> str:
        value, line = fields.get(key, (default, 0))
        if not isinstance(value, str) or not value:
            raise self._error(line, f"{key!r} must be a word")
        return value

    def _map(self, fields: dict[str, tuple[Any, int]], key: str) -> dict[str, Any]:
        value, line = fields.get(key, (None, 0))
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._error(line, f"{key!r} must be a list of keys and values")
        return value

    def _check_content(self, value: dict[str, Any], noun: str, line: int) -> None:
        """Refuse invalid attributes and metadata, and metadata that only the engine writes."""
        try:
            object_text(value, noun)
        except MycelError as error:
            raise self._error(line, error.message) from None
        own = min((key for key in value if key.startswith("_")), default="")
        if own and noun == "metadata":
            raise self._error(line, f"{own!r} is metadata of the engine, which files do not have")

    def _relations(self, fields: dict[str, tuple[Any, int]]) -> Iterator[FileRelation]:
        values, line = fields.get("relations", (None, 0))
        if values is None:
            return
        if not isinstance(values, list):
            raise self._error(line, "'relations' must be a list")
        for value, line in values:
            yield self._relation(value, line)

    def _relation(self, value: Any, line: int) -> FileRelation:
        if not isinstance(value, dict):
            raise self._error(line, "a relation must be a map: {relation: …, target: …}")
        if unknown := value.keys() - set(RELATION_KEYS):
            raise self._error(line, f"{min(unknown)!r} is not a key of a relation")
        name, weight = value.get("relation"), value.get("weight", DEFAULT_WEIGHT)
        if not isinstance(name, str) or not name:
            raise self._error(line, "a relation has no name: relation: depends_on")
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
            raise self._error(line, f"the weight of {name!r} must be a number from 0 to 1")
        properties, metadata = value.get("properties") or {}, value.get("metadata") or {}
        if not (isinstance(properties, dict) and isinstance(metadata, dict)):
            raise self._error(line, f"properties and metadata of {name!r} must be maps")
        self._check_content(properties, "properties", line)
        self._check_content(metadata, "metadata", line)
        source = value.get("source")
        return FileRelation(
            name,
            self._end(value.get("target"), line),
            float(weight),
            properties,
            metadata,
            None if source is None else self._link_name(source, line),
        )

    def _end(self, value: Any, line: int) -> str | LinkName:
        if not isinstance(value, str):
            return self._link_name(value, line)
        try:
            return parse(value, "").text
        except MycelError as error:
            raise self._error(line, error.message) from None

    def _link_name(self, value: Any, line: int) -> LinkName:
        if not isinstance(value, dict) or value.keys() != {"source", "relation", "target"}:
            raise self._error(line, "an end of a relation is a URI, or {source, relation, target}")
        if not isinstance(value["relation"], str):
            raise self._error(line, "a relation has no name: relation: depends_on")
        ends = {key: self._end(value[key], line) for key in ("source", "target")}
        return {**ends, "relation": value["relation"]}

    def _error(self, line: int, message: str) -> UnreadableError:
        return UnreadableError(FrontMatterProblem(self._path, line, message.removesuffix("; ")))


def _line(event: yaml.Event) -> int:
    return int(event.start_mark.line) + 2


def _untabbed(line: str) -> str:
    """A line indented by spaces; an editor may have replaced two spaces by a tab."""
    rest = line.lstrip(" \t")
    return line[: len(line) - len(rest)].replace("\t", "  ") + rest


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs in a text, since JSON may write one character as two halves."""
    return _SURROGATES.sub(
        lambda match: match[0].encode("utf-16", "surrogatepass").decode("utf-16"), text
    )
