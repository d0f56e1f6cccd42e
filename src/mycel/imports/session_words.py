"""Patterns that recognise corrections, decisions and requests, in English and German.

The patterns are conservative. Two commands are the same work if they have the same program and
first argument, even if different programs run them.
"""

from __future__ import annotations

import re
from typing import Final

_PRAISE: Final = re.compile(
    r"\s{0,9}(?:no|nope|nein|ne|nee|kein|keine)\b[,.! ]*(?:more |weiteren? |longer )?"
    r"(?:problems?|worries|errors?|issues?|complaints?|objections?|need|rush|hurry|questions?|idea"
    r"|doubt|thanks?(?: you)?|thank you|danke|fehler|probleme?|fragen?|eile|ahnung"
    r"|alles (?:gut|klar))\b",
    re.IGNORECASE,
)
"""Beginnings with a negation that correct nothing, if only filler follows."""
_CORRECTION: Final = re.compile(
    r"\s{0,9}(?:no\b[,.! ]|nope\b|stop\b|wrong\b|that(?:'s| is) (?:wrong|not)|not (?:like )?that\b"
    r"|don't\b|do not\b|never\b|you (?:forgot|missed|should have|shouldn't)"
    r"|i (?:said|meant|told you)"
    r"|actually[, ]|instead[, ]|undo\b|revert (?:that|this)|please don't"
    r"|nein\b[,.!: ]|falsch\b|halt\b[,.! ]|stopp\b|nicht so\b|das (?:ist|war) (?:falsch|nicht)"
    r"|du (?:hast .{1,60} vergessen|solltest|sollst nicht)|ich (?:sagte|meinte|habe gesagt)"
    r"|(?:bitte )?(?:nimm|mach|verwende|benutze) (?:das |bitte )?(?:stattdessen|nicht|nie|lieber)"
    r"|stattdessen\b|bitte nicht\b|niemals\b)",
    re.IGNORECASE,
)
_DECISION: Final = re.compile(
    r"\b(?:(?:we|i|let's|let us)(?:'ll| will| have| 've)? (?:decided?|agreed?|chose|choose|go with"
    r"|going with|settled? on|stick with|use .{1,60} instead of)\b|decision:|decided:|from now on\b"
    r"|(?:the rule is|as agreed|we always|we never|always use|never use|must (?:always|never))\b"
    r"|entschieden:|entscheidung:|beschlossen:|ab jetzt\b|ab sofort\b"
    r"|wie (?:vereinbart|besprochen)\b"
    r"|(?:wir|ich) (?:haben?|hatten) .{0,80}?\b(?:entschieden|geeinigt|beschlossen)\b"
    r"|wir (?:bleiben bei|einigen uns auf|entscheiden uns für|nehmen .{1,60} statt)\b"
    r"|(?:immer|nie|niemals) .{1,60} (?:verwenden|benutzen|nehmen)\b)",
    re.IGNORECASE,
)
_FILLER: Final = frozenset(
    # Words are read more easily in a row than in a column.
    """a again ahead all alright and any at auf awesome bitte bye cheers continue cool danke done
    fine for go good great gut hello hey hi ja jetzt job keep klar later lgtm looks mach more next
    nice no nope now ok okay on one passt perfect please prima problem proceed resume right schritt
    see step super sure thank thanks that the then there this time tomorrow tschüss und very
    weiter well with work yeah yep yes you nächste nächsten nächster""".split()  # noqa: SIM905
)
"""Words that only say that the work may continue."""
_LETTERS: Final = re.compile(r"[^\W_]+")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_RUNNERS: Final = {
    "uv": "run",
    "poetry": "run",
    "pipenv": "run",
    "pdm": "run",
    "hatch": "run",
    "rye": "run",
    "npm": "exec",
    "pnpm": "exec",
    "yarn": "exec",
    "bundle": "exec",
    "mise": "exec",
    "npx": "",
    "bunx": "",
    "pnpx": "",
    "uvx": "",
    "pipx": "run",
    "sudo": "",
    "env": "",
    "time": "",
    "nice": "",
    "nohup": "",
    "command": "",
    "doas": "",
    "xvfb-run": "",
    "caffeinate": "",
}
"""Programs that run another program, each with the subcommand that does so."""
_PYTHON: Final = re.compile(r"(?:.*/)?python[\d.]*")
_SENTENCE: Final = re.compile(r"[^.!?\n]{1,600}[.!?]?")


def is_correction(text: str) -> bool:
    """True if the user's words correct the assistant.

    >>> is_correction("No problem, thanks"), is_correction("Nein, nicht so. Nimm uv.")
    (False, True)
    >>> is_correction("No need for mocks here, use the real database.")
    True
    """
    if not _CORRECTION.match(text):
        return False
    praise = _PRAISE.match(text)
    return praise is None or not _FILLER.issuperset(_LETTERS.findall(text[praise.end() :].lower()))


def is_filler(text: str) -> bool:
    """True if a message asks for nothing: `ok next step`."""
    words = _LETTERS.findall(text.lower())
    return bool(words) and len(words) <= 8 and _FILLER.issuperset(words)


def decision_in(text: str) -> str:
    """The first sentence that states a decision; empty if none does."""
    return next(
        (sentence for sentence in _SENTENCE.findall(text[:8_000]) if _DECISION.search(sentence)), ""
    )


def work_of(command: str) -> str:
    """The program of a command and its main argument, without programs such as `sudo` that run it.

    >>> work_of("CI=1 uv run --frozen pytest -q tests/unit"), work_of("sudo python -m pytest -x")
    ('pytest tests/unit', 'pytest')
    >>> work_of("make test ARGS=-x"), work_of("npx jest")
    ('make test', 'jest')
    """
    words = command.split()
    while words:
        first = words[0].rpartition("/")[2]
        if _ASSIGNMENT.match(first) or first.startswith("-"):
            del words[0]
        elif first in _RUNNERS and (not _RUNNERS[first] or _RUNNERS[first] in words[1:2]):
            del words[: 2 if _RUNNERS[first] else 1]
        elif _PYTHON.fullmatch(first) and words[1:2] == ["-m"]:
            del words[:2]
        else:
            break
    arguments = (
        word for word in words[1:] if not word.startswith("-") and not _ASSIGNMENT.match(word)
    )
    return " ".join((*(word.rpartition("/")[2] for word in words[:1]), *list(arguments)[:1]))
