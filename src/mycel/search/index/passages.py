"""The passage of a concept: the text that is compared with questions by meaning, and its place.

An Event of the core capsule that has participants or a context is a turn of an episode: its text is
the words that were said, and it has an actor, a time and neighbours. Every other concept has a
title, which is its names, and a text, which is all prose in its attributes. Values without words
(dates, URIs, numbers) are left out, and so is the end of a path that only repeats the name. A
section of a document begins with the words of the path of its document, because its heading may be
"Example".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from mycel.model.names import SLEEP_TASK
from mycel.text.kinds import is_section
from mycel.text.names import called, key, with_parts

TEXT_CHARACTERS_MAX: Final = 4_000
"""Only this much of a text is embedded, as a mean over more says little. The search by words
covers the rest."""

EVENT: Final = "Event"
_OF_TASKS: Final = "a task of upkeep"
_IN_TITLES: Final = frozenset(("name", "aliases"))
_NOT_SAID: Final = frozenset(("event_class", "participants", "context", "start_time", "end_time"))
_OF_TURNS: Final = frozenset(("participants", "context"))
_EPISODES: Final = ("conversation", "session", "episode", "thread", "channel")
_POSITIONS: Final = ("position", "turn", "index")
_WORDLESS: Final = re.compile(r"[a-z][\w+.-]*:\S+|[\d\W_]*(?:[TZ][\d\W_]*)*", re.IGNORECASE)
_WORDS: Final = re.compile(r"[^\W\d_]+")
_DATE: Final = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?")


class Passage(NamedTuple):
    """The text of a concept, with its names, actor, episode and time."""

    names: tuple[str, ...]
    """The names by which texts mention the concept; none for a turn of an episode."""
    text: str
    """Title and prose; for a turn, the words that were said."""
    actor: str | None = None
    episode: str | None = None
    position: float | None = None
    date: int = 0
    """Year, month and day as one number, such as 20240131."""
    subject: str = ""
    """For a section, the words of the path of its document; they count as no mentions."""


def passage_of(type_name: str, name: str, attributes: Mapping[str, Any]) -> Passage:
    """The passage of a concept.

    Tasks of upkeep repeat the texts of their elements. Their passages mention nothing, so that no
    search reaches other elements through them.
    """
    if type_name == SLEEP_TASK:
        return Passage((), _OF_TASKS)
    if type_name == EVENT and not _OF_TURNS.isdisjoint(attributes):
        return _turn(name, attributes)
    element_names = called(name, attributes)
    titles = {key(title) or title: title for title in reversed(element_names.titles)}
    without, subject = _IN_TITLES, ""
    if is_section(type_name, attributes):
        without, subject = _IN_TITLES | {"heading"}, _document_words(name)
    text = "\n".join((with_parts(reversed(titles.values())), *_prose(attributes, without)))
    names = tuple(dict.fromkeys(_without_brackets(title) for title in element_names.titles))
    date = _date(attributes.get("start_time"))
    return Passage(names, text[:TEXT_CHARACTERS_MAX], date=date, subject=subject)


def _document_words(section: str) -> str:
    """The words of the path of a document, from the URI of one of its sections.

    >>> _document_words("concept://shop/docs/how-to/pay.md/refunds")
    'docs how to pay'
    """
    document, _, _ = section.partition("://")[2].partition("/")[2].rpartition("/")
    folders, _, file = document.rpartition("/")
    return " ".join(_WORDS.findall(f"{folders} {file.partition('.')[0]}"))


def _without_brackets(title: str) -> str:
    """A title without the part in brackets at its end.

    >>> _without_brackets("Mercury (planet) "), _without_brackets("f(x) = (a) b")
    ('Mercury', 'f(x) = (a) b')
    """
    bare = title.rstrip()
    if not bare.endswith(")"):
        return title
    opens = bare.find("(", bare.rfind(")", 0, -1) + 1)
    return title if opens < 0 else bare[:opens].rstrip()


def prose(attributes: Mapping[str, Any]) -> str:
    return "\n".join(_prose(attributes, _IN_TITLES))


def _turn(name: str, attributes: Mapping[str, Any]) -> Passage:
    text = "\n".join(_prose(attributes, _NOT_SAID))
    if " " in name:
        text = f"{name}\n{text}"
    taking_part = attributes.get("participants")
    actors = [name for name in taking_part if name] if isinstance(taking_part, list) else []
    actor = actors[0] if len(actors) == 1 and isinstance(actors[0], str) else None
    speaker, colon, message = text.partition(": ")
    if colon and speaker in actors:
        actor, text = speaker, message
    context = attributes.get("context")
    context = context if isinstance(context, dict) else {}
    return Passage(
        (),
        text[:TEXT_CHARACTERS_MAX],
        actor,
        next((episode for key in _EPISODES if (episode := _text(context.get(key)))), None),
        next((at for key in _POSITIONS if (at := _number(context.get(key))) is not None), None),
        _date(attributes.get("start_time")),
    )


def _prose(attributes: Mapping[str, Any], without: frozenset[str]) -> Iterator[str]:
    for attribute in sorted(attributes):
        if attribute not in without:
            yield from _texts(attributes[attribute])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if not _WORDLESS.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        for attribute in sorted(value):
            yield from _texts(value[attribute])
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int)) and value != "" else None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else None


def _date(value: Any) -> int:
    match = _DATE.match(value) if isinstance(value, str) else None
    if match is None:
        return 0
    year, month, day = match.groups()
    return int(year) * 10_000 + int(month) * 100 + int(day or 0)
