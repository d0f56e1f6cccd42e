"""The capture of a session: its summary as an Event, on the branch in use or as a proposal.

The Event is the conversation that `mycel import` would make of the same transcript, so both agree:
its passages are turns with the ids of their messages. A second capture of the session changes the
same Event. A proposal is written on a branch of its own, `session-ID`, which `mycel merge` takes
over.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from mycel.api.graph import Graph
from mycel.errors import MycelError
from mycel.hooks.session_summary import EACH_MAX, SESSION, SessionSummary, summarise
from mycel.imports.transcripts import read_transcript
from mycel.imports.turn_writer import DECISIONS, EVENT, TurnWriter, segment
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.uris import FILE, build
from mycel.model import ids
from mycel.model.client_names import importing
from mycel.store.query import lookup
from mycel.store.write.transaction import Transaction
from mycel.text.redaction import redact

TRANSCRIPT_BYTES_MAX: Final = 256 << 20
PROPOSALS: Final = "session"
MENTIONS: Final = "mentions"
_SUFFIX: Final = ".jsonl"


class Capture(NamedTuple):
    """The result of a capture."""

    uri: str = ""
    why: str = ""
    secrets: int = 0
    branch: str = ""


def _may_be_read(path: Path) -> bool:
    """True for a regular file, and no link, in the home directory or a folder of a client."""
    try:
        if path.is_symlink() or not path.is_file():
            return False
        home = Path.home()
        own = (home / ".claude", home / ".codex", home / ".cursor", home / ".gemini")
        client_folders = (os.environ.get(name) for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"))
        folders = (home, *own, *(Path(folder) for folder in client_folders if folder))
        real = path.resolve()
        return any(real.is_relative_to(folder.resolve()) for folder in folders)
    except (OSError, RuntimeError, ValueError):
        return False


def capture_session(
    knowledge: Knowledge, client: str, transcript: str, *, proposal: bool = False
) -> Capture:
    """Write the summary of a session; nothing if nothing was decided, corrected or changed."""
    path = Path(transcript)
    if path.suffix != _SUFFIX or not path.is_absolute() or not _may_be_read(path):
        return Capture(why="the client names no transcript that can be read")
    if path.stat().st_size > TRANSCRIPT_BYTES_MAX:
        return Capture(why=f"the transcript has more than {TRANSCRIPT_BYTES_MAX >> 20} MiB")
    summary = summarise(read_transcript(path))
    if not summary.is_worth_keeping:
        return Capture(why="nothing was decided, corrected or changed")
    if not proposal:
        return _write(knowledge, client, summary)
    branch = f"{PROPOSALS}-{segment(summary.conversation or path.stem)[:24]}"
    with closing(_branch(knowledge.db, branch)) as db:
        return _write(knowledge.of(db, knowledge.context), client, summary)._replace(branch=branch)


def _branch(db: Graph, name: str) -> Graph:
    with suppress(MycelError):  # It may exist; other failures also fail `open_branch`.
        db.branches.create(name)
    return db.open_branch(name)


def _write(knowledge: Knowledge, client: str, summary: SessionSummary) -> Capture:
    writer = TurnWriter(knowledge.db, knowledge.workspace, client)
    uri = writer.conversation_uri(summary.conversation)
    with knowledge.db.reading() as reader:
        is_removed = uri in lookup.former_names(reader, [uri]) and not lookup.find_by_name(
            reader, [uri]
        )
    if is_removed:
        return Capture(why="the user deleted this session")
    text = redact(summary.text())
    decisions = [redact(turn.text).text for turn in summary.decisions][:EACH_MAX]
    message = f"capture session of {client}"

    def put(tx: Transaction) -> None:
        if EVENT not in tx.defined_types():
            tx.define_type(EVENT)
        attributes: dict[str, Any] = {
            "event_class": SESSION,
            "content_summary": text.text,
            "source": client,
            DECISIONS: decisions,
        }
        if summary.first_time is not None:
            attributes["start_time"] = summary.first_time
        if summary.last_time is not None:
            attributes["end_time"] = summary.last_time
        number = lookup.numbers_named(tx.reader, tx.reader.type_number(EVENT), [uri]).get(uri)
        before = None if number is None else tx.reader.concept(number)
        if before is None:
            id_ = tx.put_concept(EVENT, uri, attributes)
        else:
            id_ = before.id
            changes = {k: v for k, v in attributes.items() if before.attributes.get(k) != v}
            if changes:
                tx.update(id_, attributes=changes)
        _link_files(tx, knowledge, id_, summary)

    with importing(client):
        writer.write(summary.passages(), message)
        knowledge.db.write(put, message=message)
    return Capture(uri, "captured", text.kinds.total() + writer.counts.secrets.total())


def _link_files(tx: Transaction, knowledge: Knowledge, id_: str, summary: SessionSummary) -> None:
    """Links to the changed files that the graph knows."""
    root = knowledge.root
    paths = [Path(file) for file in summary.files]
    relative = [
        path.relative_to(root).as_posix() if root and path.is_relative_to(root) else str(path)
        for path in paths
    ]
    uris = [
        build(FILE, knowledge.workspace, path).text
        for path in relative
        if not path.startswith(("/", "..")) and "\\" not in path and "/../" not in path
    ]
    if MENTIONS not in tx.defined_predicates():
        tx.define_predicate(MENTIONS)
    for number, _type, _name in lookup.find_by_name(tx.reader, uris) if uris else ():
        tx.put_proposition(id_, MENTIONS, ids.concept_id(number))
