"""The front matter of a note: properties as YAML between two lines of dashes.

Unreadable properties are left out, and the text of the note is still read. Aliases of YAML are
refused, because a few lines of them may stand for gigabytes. Deep nesting is refused too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

FRONT_MATTER_CHARACTERS_MAX: Final = 32 << 10
LINES_MAX: Final = 1_000
NESTING_MAX: Final = 100
NAMES_MAX: Final = 100
"""The maximum number of tags, and of aliases, of one note."""

_REFERENCE: Final = re.compile(r"(?:^|[\s:,\[{-])[&*]\w", re.MULTILINE)
_SEPARATOR: Final = re.compile(r"[,\s]+")
_KEY: Final = re.compile(r"[A-Za-z_][\w-]{0,60}\s{0,4}:(?:\s|$)")
_COMMA: Final = re.compile(r",")
_WIKILINK: Final = re.compile(r"\[\[([^\[\]\n|]{1,500}+)(?:\|[^\[\]\n]{0,500}+)?\]\]")


class FrontMatter(NamedTuple):
    """The properties of a note; `lines` is the number of lines that they take."""

    lines: int = 0
    title: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    properties: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """All other properties."""


def read_front_matter(lines: list[str]) -> FrontMatter:
    """The front matter at the beginning of the lines of a document.

    >>> read_front_matter(["---", "tags: [a, b]", "status: draft", "---", "Text"])[2:]
    (('a', 'b'), (), {'status': 'draft'})
    """
    if not lines or lines[0].rstrip() != "---":
        return FrontMatter()
    for number, line in enumerate(lines[1:LINES_MAX], 2):
        if line.rstrip() in ("---", "..."):
            values = _values("\n".join(lines[1 : number - 1]))
            if values is None:
                break
            return _sorted(number, values)
    return FrontMatter()


def is_broken(lines: list[str]) -> bool:
    """True if lines without a readable front matter begin like one: a dash line and a `key:`."""
    return len(lines) > 1 and lines[0].rstrip() == "---" and bool(_KEY.match(lines[1]))


def wikilinks_in(properties: Any) -> Iterator[str]:
    """The targets of wikilinks in the values of properties, in order.

    Without quotes, YAML reads `[[Tea]]` as a list in a list.

    >>> list(wikilinks_in({"with": ["[[Milk|some]]", "sugar"], "kind": [["Tea"]]}))
    ['Milk', 'Tea']
    """
    match properties:
        case str():
            for match in _WIKILINK.finditer(properties):
                yield match[1].strip()
        case [[str() as target]]:
            yield target.partition("|")[0].strip()
        case list():
            for member in properties:
                yield from wikilinks_in(member)
        case dict():
            for member in properties.values():
                yield from wikilinks_in(member)


def _values(text: str) -> dict[str, Any] | None:
    """The values of a mapping; None for other YAML, whose lines are then ordinary text."""
    if len(text) > FRONT_MATTER_CHARACTERS_MAX or _REFERENCE.search(text):
        return None
    if text.count("[") + text.count("{") > NESTING_MAX:
        return None
    # Imported late: few files have a front matter, and reader processes start often.
    import yaml  # noqa: PLC0415

    try:
        values = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return {} if values is None else values if isinstance(values, dict) else None


def _sorted(lines: int, values: dict[Any, Any]) -> FrontMatter:
    plain = {str(key): _plain(value) for key, value in values.items() if key is not None}
    by_key = {key.lower(): key for key in plain}
    tags = _names(plain, by_key, ("tags", "tag"), separator=_SEPARATOR)
    aliases = _names(plain, by_key, ("aliases", "alias"), separator=_COMMA)
    title = plain.get(by_key.get("title", ""))
    return FrontMatter(
        lines,
        title.strip() if isinstance(title, str) else "",
        tuple(tag.lstrip("#").strip("/") for tag in tags),
        aliases,
        plain,
    )


def _names(
    values: dict[str, Any],
    by_key: dict[str, str],
    keys: Iterable[str],
    *,
    separator: re.Pattern[str],
) -> tuple[str, ...]:
    """Take out the names under one of these keys: from a list, or from one text."""
    names: dict[str, None] = {}
    for key in keys:
        value = values.pop(by_key.get(key, ""), None)
        texts = separator.split(value) if isinstance(value, str) else value
        for name in texts if isinstance(texts, list) else ():
            if isinstance(name, str | int | float) and str(name).strip():
                names[str(name).strip()] = None
    return tuple(names)[:NAMES_MAX]


def _plain(value: Any) -> Any:
    """A YAML value as a JSON value: dates become texts."""
    match value:
        case dict():
            return {str(key): _plain(member) for key, member in value.items()}
        case list() | tuple() | set():
            return [_plain(member) for member in value]
        case bool() | str() | None:
            return value
        case int():
            return value if -(1 << 63) <= value < 1 << 64 else str(value)
        case float():
            return value if abs(value) < float("inf") else str(value)
        case _:
            return str(value)
