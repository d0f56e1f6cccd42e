"""The statements of a turn or a conversation, without its questions.

An old question has the words of a new one, but does not answer it. So a prompt is compared only
with the statements of a turn. Requests and reports of problems in the user's own turns do not count
as statements. Rules ("never …", "always … before …") count as statements in any form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mycel.hooks.session_summary import ASKED, SESSION
from mycel.imports.turns import USER

CONVERSATION: Final = "Conversation"
_SENTENCE: Final = re.compile(r"[^.!?\n]{1,2000}(?:[.!?](?=\w)[^.!?\n]{0,2000}){0,50}[.!?\"')]*")
_HEAD: Final = re.compile(r"Conversation that began with ([^:]{0,200}): ")
_OPENING: Final = (
    r"\s*(?:[-*>\"'“(]\s*)*(?:(?:ok(?:ay)?|so|and|but|also|well|hi|hello|hey|again|now|please|then"
    r"|just|und|aber|also|hallo|nochmal|jetzt|bitte)\b[\s,:;!-]*)*"
)
_QUESTION: Final = re.compile(
    _OPENING + r"(?:why|how|what|who|whom|whose|where|which|when(?: do| does| did| will| is| are)"
    r"|(?:can|could|would|will|should|shall|do|does|did|is|are|was|were|has|have|may)"
    r" (?:you|i|we|it|he|she|they|the|this|that|there|my|our|any)"
    r"|warum|wieso|weshalb|wie|was|wer|wem|wen|wo|wohin|woher|wann|welche[rsmn]?"
    r"|(?:kannst|könntest|würdest|soll|sollen|kann|können) (?:du|ihr|ich|wir|man))\b",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(
    _OPENING
    + r"(?:add|analy[sz]e|build|bump|change|check|clean|commit|compare|convert|create|debug"
    r"|delete|deploy|describe|document|draft|explain|find|fix|format|generate|get|give|go|help"
    r"|implement|improve|install|investigate|let(?:'s|s| us| me)|list|look|make|merge|move|open"
    r"|optimi[sz]e|print|push|read|refactor|remove|rename|rerun|replace|review|rewrite|run|search"
    r"|set up|show|simplify|speed|start|summari[sz]e|tell|test|translate|try|update|upgrade|write"
    r"|mach|mache|zeig|zeige|schreib|schreibe|erklär|erkläre|führ|führe|prüf|prüfe|such|suche"
    r"|behebe|lösche|erstelle|füge|ändere|räum|räume|starte|bau|baue|hilf|sag|nenne)\b",
    re.IGNORECASE,
)
_REPORT: Final = re.compile(
    _OPENING + r"(?:i(?:'m| am)? (?:get|getting|got|see|seeing|need|want|have (?:a|an) (?:problem"
    r"|error|issue|question)|would like|can't|cannot|don't (?:know|understand))"
    r"|i'd like|i keep getting|ich (?:bekomme|kriege|sehe|brauche|möchte|will|kann nicht"
    r"|verstehe nicht))\b",
    re.IGNORECASE,
)
_RULE: Final = re.compile(
    r"\b(?:always|never|every|each|must|instead of|from now on|immer|nie|niemals|jede[rsmn]?|statt"
    r"|ab jetzt)\b|, (?:not|nicht) ",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"\s*(?:if|when|whenever|before|after|once|unless|falls|wenn|bevor|nachdem|sobald)\b",
    re.IGNORECASE,
)


def stated(attributes: Mapping[str, Any], text: str) -> str:
    """The statements of an element: the whole text of a note, or a conversation without requests.

    >>> turn = {"event_class": "Turn", "participants": ["user"]}
    >>> stated(turn, "Why is the build so slow? Never cache wheels. Run the linter.")
    'Never cache wheels.'
    >>> stated({"event_class": "Conversation"}, "Conversation that began with user: How are you?")
    ''
    """
    participants = attributes.get("participants")
    kind = attributes.get("event_class")
    if kind == SESSION:
        # The summary begins with the requests, one on each line.
        lines = text.split("\n")
        if lines[0] == f"{ASKED}:":
            rest = next((n for n, line in enumerate(lines[1:], 1) if line[:2] != "- "), len(lines))
            return "\n".join(lines[rest:])
        return text
    if kind == CONVERSATION and (head := _HEAD.match(text)):
        return _statements(text[head.end() :], by_user=head[1] == USER)
    if participants:
        by_user = isinstance(participants, list) and USER in participants
        return _statements(text, by_user=by_user)
    return text


def _statements(text: str, *, by_user: bool) -> str:
    return " ".join(
        sentence.strip()
        for sentence in _SENTENCE.findall(text)
        if not _is_question(sentence, by_user=by_user) and not (by_user and _is_wish(sentence))
    )


def _is_question(sentence: str, *, by_user: bool) -> bool:
    return sentence.rstrip("\"')").endswith("?") or (by_user and bool(_QUESTION.match(sentence)))


def _is_wish(sentence: str) -> bool:
    last = re.split("[,;] ", sentence)[-1]
    if _REQUEST.match(sentence) or (_REQUEST.match(last) and not _CONDITION.match(sentence)):
        return not _RULE.search(sentence)
    return bool(_REPORT.match(sentence))
