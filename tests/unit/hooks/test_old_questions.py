"""What was asked is no answer: of conversations, a prompt gets what they state."""

import pytest

from mycel.hooks.prompt_notes import notes_for
from mycel.hooks.statements import stated
from mycel.imports.turn_writer import TurnWriter
from mycel.imports.turns import Turn
from mycel.knowledge.knowledge import Knowledge

TURN = {"event_class": "Turn", "participants": ["user"]}
REQUESTS = (
    "why is my docker build so slow?",
    "Why is my docker build so slow",
    "run the linter and clean up the warnings of the docker build",
    "again: the docker build is slow, tell me more about it",
    "ok, now please fix the docker build. Can you also speed it up?",
    "I get 'docker build: no such file' since today. What is wrong?",
    "Bitte mach den docker build schneller. Warum ist er so langsam",
    "könntest du den docker build erklären",
)
STATEMENTS = (
    "Our docker build uses the registry cache of the slow runner.",
    "Run the docker build with the slow cache mount, never without it.",
    "Don't speed the docker build up with latest tags.",
    "We keep the docker build slow on purpose. Ok?",
    "If the docker build is slow, look at the proxy.",
    "Der docker build ist slow, weil der Cache fehlt.",
)


def converse(knowledge: Knowledge, *texts: str) -> None:
    """A conversation for each text, which the assistant answers without saying anything."""
    turns = [
        turn
        for number, text in enumerate(texts)
        for turn in (
            Turn(f"c{number}", "1", "user", text, 0),
            Turn(f"c{number}", "2", "assistant", "Hello.", 1),
        )
    ]
    TurnWriter(knowledge.db, knowledge.workspace, "codex").write(turns)


def test_what_the_user_only_asked_is_shown_neither_as_a_turn_nor_as_a_head(
    knowledge: Knowledge,
) -> None:
    converse(knowledge, *REQUESTS)
    prompt = "the docker build is slow, speed it up"
    assert notes_for(knowledge, prompt, ()).uris == ()
    # Ten old questions, each a better hit than the note, do not displace it.
    knowledge.add("ci", name="CI", content="Docker wheels are cached per branch, to speed it up.")
    assert notes_for(knowledge, prompt, ()).uris == ("concept://shop/ci",)


@pytest.mark.parametrize("text", STATEMENTS)
def test_what_the_user_stated_is_shown(knowledge: Knowledge, text: str) -> None:
    converse(knowledge, text)
    assert notes_for(knowledge, "the docker build is slow, speed it up", ()).uris


def test_only_questions_are_left_out_of_what_others_said() -> None:
    assistant = {"event_class": "Turn", "participants": ["assistant"]}
    text = "Look at Makefile.in first. Run make. Is that fine?"
    assert stated(assistant, text) == "Look at Makefile.in first. Run make."
    assert stated({}, "Why is it slow?") == "Why is it slow?"


def test_a_note_comes_before_a_turn_that_is_as_good(knowledge: Knowledge) -> None:
    text = "Prepared statements fail behind pgbouncer in transaction mode."
    converse(knowledge, text)
    knowledge.add("db/pgbouncer", content=f"{text} Set prepare_threshold to None for Postgres.")
    shown = notes_for(knowledge, "prepared statements fail behind pgbouncer", ()).uris
    assert shown[0] == "concept://shop/db/pgbouncer"
    assert len(shown) == 3


def test_an_import_of_many_turns_does_not_displace_the_notes(knowledge: Knowledge) -> None:
    prompt = "Add a login with a password"
    texts = [f"The login of page {number} reads the login table." for number in range(60)]
    converse(knowledge, *texts, *["A password login was added."] * 6)
    shown = notes_for(knowledge, prompt, ()).uris
    assert "concept://shop/auth/passkeys" in shown
    # What was said in the same words is shown once, as it was said last.
    said = [uri for uri in shown if "/conversations/" in uri]
    assert len(said) <= 3
    assert len([knowledge.get(uri).properties["content_summary"] for uri in said]) == len(
        {knowledge.get(uri).properties["content_summary"] for uri in said}
    )


def test_what_was_asked_in_a_kept_session_is_no_answer(knowledge: Knowledge) -> None:
    summary = "Asked:\n- why is the lantern harbour blue\nDecided:\n- We chose copper roofs."
    properties = {"event_class": "Session", "content_summary": summary}
    knowledge.add("talk/kept", type="Event", properties=properties)
    assert notes_for(knowledge, "why is the lantern harbour blue", ()).uris == ()
    assert notes_for(knowledge, "which copper roofs have we chosen?", ()).uris
