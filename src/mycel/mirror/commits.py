"""Git commits from transactions: how they are grouped, their authors, messages and trailers.

Transactions of one actor that follow each other within a second are one commit, with the message of
the transactions. If a transaction has no message, the journal has a count of its changes; the
commit names the paths of the files instead. The trailers tell which state of the graph the commit
shows:

    Mycel-Seq: 42                the last entry of the journal
    Mycel-Root: 5f0c…            the root of the journal up to it
    Mycel-Actor: ada

Two more trailers tell other graphs of changes that files do not show: the old and new URI of a
concept that moved, as JSON, and the key of a concept that was purged.

    Mycel-Moved: ["concept://shop/session","concept://shop/token"]
    Mycel-Purged: 9b1c…
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from posixpath import commonpath
from types import MappingProxyType
from typing import Final, NamedTuple

import orjson

from mycel.mirror.documents import as_json
from mycel.mirror.projection import FileChanges
from mycel.model.client_names import SEPARATOR
from mycel.model.names import first_few
from mycel.store.query.commits import LogEntry
from mycel.store.write.change_summary import is_summary

PAUSE_US: Final = 1_000_000
"""The pause between two transactions that begins a new commit."""
LISTED_MAX: Final = 20
SUBJECT_CHARACTERS_MAX: Final = 100
SELF: Final = "$self"
"""The default actor of a process."""

_SEQ: Final = "Mycel-Seq"
ROOT: Final = "Mycel-Root"
_ACTOR: Final = "Mycel-Actor"
_MOVED: Final = "Mycel-Moved"
_PURGED: Final = "Mycel-Purged"
_TRAILER: Final = re.compile(rf"^({_SEQ}|{ROOT}|{_ACTOR}|{_MOVED}|{_PURGED}): (.*)$", re.MULTILINE)
MOVES_MAX: Final = 1_000
"""The maximum number of moves that a commit lists; others are recognised by files with equal
content."""
_UNFIT: Final = re.compile(r"[<>\x00-\x1f\x7f]")
_IDENTITY: Final = re.compile(r"\s*+([^<>\s][^<>\n]*+)<([^<>\s]++)>\s*+")


class MirrorPosition(NamedTuple):
    """The state of the graph that a Git commit shows."""

    seq: int
    root: str


class News(NamedTuple):
    """Moves and purges from the trailers of commits."""

    moves: Mapping[str, str] = MappingProxyType({})
    """New URIs of concepts that have moved, each with the old one."""
    purged: frozenset[bytes] = frozenset()
    """Keys of concepts that were purged."""


class Identity(NamedTuple):
    """A name and an address, in the form of Git."""

    name: str
    address: str

    def at(self, time_us: int) -> str:
        """The identity with a time in UTC."""
        return f"{self.name} <{self.address}> {time_us // 1_000_000} +0000"


def groups(entries: Iterable[LogEntry]) -> list[list[LogEntry]]:
    """Transactions, oldest first, by the commit that they are part of."""
    log_entrieses: list[list[LogEntry]] = []
    for entry in entries:
        last = log_entrieses[-1][-1] if log_entrieses else None
        if (
            last is not None
            and last.actor == entry.actor
            and entry.time_us - last.time_us < PAUSE_US
        ):
            log_entrieses[-1].append(entry)
        else:
            log_entrieses.append([entry])
    return log_entrieses


def author_of(actor: str, authors: Mapping[str, str], own: Identity) -> Identity:
    """The author for an actor: from the settings, or made from the name.

    `own` is the configured identity of Git, for an actor without a name. The program in the name of
    an actor is ignored.
    """
    person = actor.partition(SEPARATOR)[0]
    if author := identity(authors.get(actor) or authors.get(person, "")):
        return author
    if person == SELF:
        return own
    name = _UNFIT.sub("", person).strip() or "unknown"
    address = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-.") or "unknown"
    return Identity(name, f"{address}@mycel.invalid")


def identity(text: str) -> Identity | None:
    """A name and address: `Ada Lovelace <ada@example.org>`."""
    match = _IDENTITY.fullmatch(text)
    return None if match is None else Identity(match[1].rstrip(), match[2])


def message_of(
    group: Sequence[LogEntry],
    changes: FileChanges,
    position: MirrorPosition,
    title: str = "",
    purged: Iterable[bytes] = (),
) -> str:
    """The message of a commit, with its trailers; `title` replaces the messages of the journal."""
    lines = [
        log_entry.message
        for log_entry in group
        if log_entry.message and not is_summary(log_entry.message)
    ]
    texts = list(dict.fromkeys(_clean(text) for text in ([title] if title else lines)))
    texts = [text for text in texts if text]
    paths = _paths(changes)
    if not texts:
        subject, body = _about(changes), paths
    elif len(texts) == 1:
        subject, _, rest = texts[0].partition("\n")
        others = paths if len(lines) < len(group) and not title else ""
        body = "\n\n".join(part for part in (rest.strip("\n"), others) if part)
    else:
        subject = f"{_first_line(texts[0])} (and {len(texts) - 1} more)"
        bullets = [f"- {text.replace(chr(10), chr(10) + '  ')}" for text in texts]
        body = "\n".join(first_few(bullets, LISTED_MAX))
    last = group[-1]
    moves = [f"{_MOVED}: {as_json(move)}" for move in changes.moves[:MOVES_MAX]]
    purges = [f"{_PURGED}: {key.hex()}" for key in sorted(purged)]
    trailers = [
        f"{_SEQ}: {position.seq}",
        f"{ROOT}: {position.root}",
        f"{_ACTOR}: {_clean(last.actor)}",
        *moves,
        *purges,
    ]
    parts = [subject, body, "\n".join(trailers)]
    return "\n\n".join(part for part in parts if part) + "\n"


def position_of(message: str) -> MirrorPosition | None:
    """The state that a commit shows, from its message; None if no mirror has written the commit."""
    trailers = dict(_TRAILER.findall(message))
    seq, root = trailers.get(_SEQ, ""), trailers.get(ROOT, "")
    return MirrorPosition(int(seq), root) if seq.isdecimal() and root else None


def actor_in(message: str) -> str:
    """The actor that a message names; empty if no mirror has written the message."""
    return str(dict(_TRAILER.findall(message)).get(_ACTOR, ""))


def news_in(messages: Iterable[str]) -> News:
    """Moves and purges in messages of commits, the oldest first."""
    moves: dict[str, str] = {}
    purged: set[bytes] = set()
    for message in messages:
        for key, value in _TRAILER.findall(message):
            with suppress(ValueError):
                if key == _PURGED:
                    purged.add(bytes.fromhex(value))
                elif key == _MOVED:
                    old, new = orjson.loads(value)
                    moves[str(new)] = moves.pop(old, old)
    return News(moves, frozenset(purged))


def _about(changes: FileChanges) -> str:
    """A subject that names the paths that changed."""
    added, changed = ([file.path for file in part] for part in (changes.added, changes.changed))
    verbs = {"Add": added, "Change": changed, "Remove": changes.removed}
    kinds = [(verb, paths) for verb, paths in verbs.items() if paths]
    verb = kinds[0][0] if len(kinds) == 1 else "Change"
    all_paths = [path for _, paths in kinds for path in paths]
    if not all_paths:
        return "No file changed"
    if len(all_paths) == 1:
        return f"{verb} {all_paths[0]}"
    where = commonpath(all_paths)
    return f"{verb} {len(all_paths)} files" + (f" in {where}" if where else "")


def _paths(changes: FileChanges) -> str:
    lines = [f"A {file.path}" for file in changes.added]
    lines += [f"M {file.path}" for file in changes.changed]
    lines += [f"D {path}" for path in changes.removed]
    return "\n".join(first_few(lines, LISTED_MAX)) if len(lines) > 1 else ""


def _first_line(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= SUBJECT_CHARACTERS_MAX else f"{line[:SUBJECT_CHARACTERS_MAX]}…"


def _clean(text: str) -> str:
    """A message without control characters, and without lines that look like our trailers."""
    plain = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", text).strip()
    return _TRAILER.sub(r"\1 : \2", plain)
