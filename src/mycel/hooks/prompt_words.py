"""The words of a prompt that name its subject, without the words of every request.

Many notes have the words of "Fix the failing tests", but no note would help with it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from mycel.text.analysis import STOP_WORDS

STEM_CHARACTERS: Final = 6
"""Words with this many equal first letters count as one word: `migrate`, `migrations`."""
_WORD: Final = re.compile(r"[^\W_]+")
_GENERIC: Final = frozenset(
    # Words are read more easily in a row than in a column.
    """
    able about above add added adding after again ahead all also always and another any anything
    apply are around ask avoid back bad bash because been before below best better big bit both
    branch break bug bugs build bump button call can cannot change changed changes check clean clear
    clearer code come command commit compile continue convert copy correct could create current data
    debug default delete dependencies did diff different do docs docstring document does done down
    each edit else email error errors even every everything example exit explain fail failing fails
    fast faster feature few file files find first fix fixed fixes folder follow for format from
    function functions generate get give goes going good great has have help here how implement
    import improve inside install instead into issue issues its just keep know last later lead let
    lets like line lines lint linter list little log logs long look looks loop made make many may
    mean message method missing more most move much must name need needs never new next nice not
    note notes now number off okay old once one only open option order other out output over own
    package page part pass path place please possible print problem project proper properly pull
    push put python question quick read refactor release remove rename replace repo request requests
    result review right run running same save script see server set setup shorter should show simple
    simpler simplify small smaller some something start still stop summarize sure switch tag take
    tell test tests text than thank thanks that the their them then there these they thing things
    think this those through time tip todo together tomorrow too tool translate try two type types
    undo unit unused update use used user uses using value variable version very wait want was way
    well were what when where whether which while who why will with without word words work working
    works would write wrong yes yesterday yet you your
    """.split()  # noqa: SIM905
)


_FUNCTION_WORDS: Final = STOP_WORDS | frozenset(
    "all any can could did does each every had has how its may might must not one our out own shall"  # noqa: SIM905
    " should some than them two very want was were what when where which who whom whose why will"
    " would you your".split()
)
_QUESTION: Final = re.compile(r"\s*(?:who|whom|whose|when|where|which)\b", re.IGNORECASE)


def asked_words(question: str) -> set[str]:
    """The beginnings of the words of a question about people, times or places.

    Words that occur in every request count here too. A single word is too little: the set is empty
    then, and for any other text.

    >>> sorted(asked_words("Who may write a review?")), asked_words("Review my code")
    (['review', 'write'], set())
    """
    if not _QUESTION.match(question):
        return set()
    words = stems(question)
    return words if len(words) > 1 else set()


def stems(text: str) -> set[str]:
    """The beginnings of all words in a text, without articles and other words of grammar."""
    return {
        word[:STEM_CHARACTERS]
        for word in _WORD.findall(text.lower())
        if len(word) > 2 and word not in _FUNCTION_WORDS
    }


def subject_words(text: str) -> set[str]:
    """The beginnings of the words in a text that are not part of every request.

    >>> sorted(subject_words("Please fix the passkey tests of Café"))
    ['café', 'passke']
    """
    words: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if not word.isascii() and not word[0].isascii() and word[0] >= "\u2e80":
            # Scripts without spaces: pairs of characters.
            words.update(word[at : at + 2] for at in range(len(word) - 1))
        elif len(word) > 2 and word not in _GENERIC:
            words.add(word[:STEM_CHARACTERS])
    return words


def shared_words(prompt: str, text: str) -> int:
    """The number of subject words of a prompt that a text has, also as a compound or as two words.

    >>> shared_words("Add a login with a password", "People log in; passwords were removed")
    2
    >>> shared_words("How do people sign on?", "The signon page")
    1
    """
    own, other = prompt.lower(), text.lower()
    shared = subject_words(prompt) & subject_words(text)
    joined = _named_words(own) & _compounds(other) | _compounds(own) & _named_words(other)
    # A compound does not count beside its own parts, which both texts have.
    return len(shared | {word[:STEM_CHARACTERS] for word in joined - _compounds(own, other)})


def _named_words(text: str) -> set[str]:
    """Whole words of a subject that may be a compound."""
    return {word for word in _WORD.findall(text) if word not in _GENERIC}


def _compounds(*texts: str) -> set[str]:
    """Pairs of neighbouring words that all texts have, each pair joined: `login` for `log in`."""
    compounds = []
    for text in texts:
        words = _WORD.findall(text)
        pairs = pairwise(words)
        compounds.append({a + b for a, b in pairs if min(len(a), len(b)) > 1})
    return set.intersection(*compounds)
