"""Chooses between two values of one attribute by rules, and gives the reason.

The first rule that applies wins:

    the policy that the caller gives for the attribute, or `@merge` of the schema
    an explicit `supersedes` in the metadata of one side
    the trust rank of the actors who wrote the values
    a difference of confidence of 0.2 or more
    the newer `observed_at`
    the policy that the caller gives for everything else

If no rule applies, the value is a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Final, Literal, NamedTuple, assert_never

from mycel.errors import ConstraintViolation, InvalidSyntax
from mycel.history.merge.values import UNKNOWN, Contest, equal_values, merge_sets
from mycel.model import times
from mycel.model.limits import INTEGER_MIN, JSON_INTEGER_MAX
from mycel.schema.merge_policies import GENERAL_WORDS, SPECIAL_WORDS, policy_of
from mycel.store.query.diff import ABSENT
from mycel.store.query.origins import Origin

Side = Literal["ours", "theirs", "both"]

WORDS: Final = (*GENERAL_WORDS, *SPECIAL_WORDS)
"""The policies that a caller can give."""
CONFIDENCE_GAP: Final = 0.2
ALL: Final = "*"


class Verdict(NamedTuple):
    """An automatic choice: the value, its side, the rule and the reason."""

    value: Any
    side: Side
    rule: str
    reason: str


class Evidence(NamedTuple):
    """The facts about the value of one side, which rules use."""

    metadata: Mapping[str, Any]
    news: frozenset[str]
    """The metadata keys that have changed since the base."""
    commit: str
    origin: Callable[[], Origin]


class Rules(NamedTuple):
    """The rules of one merge."""

    policy: Mapping[str, str] = {}
    """Policies by `Type.attribute`, by `Type`, or under `*` for values that no other rule
    decides."""
    trust: Sequence[str] = ()
    """The actors, the most trusted first."""

    def word(self, type_or_predicate: str, attribute: str) -> str | None:
        """The policy that the caller gives for an attribute; None if there is none."""
        word = self.policy.get(f"{type_or_predicate}.{attribute}")
        return word or self.policy.get(type_or_predicate)

    def verdict(self, contest: Contest, evidence: tuple[Evidence, Evidence]) -> Verdict | None:
        """The choice for a value without a policy; None if it has to be a conflict."""
        if contest.kind == "value" and ABSENT not in (contest.ours, contest.theirs):
            for decide in (_superseding, self._trusted, _confident, _observed):
                verdict = decide(contest, evidence)
                if verdict is not None:
                    return verdict
        last = self.policy.get(ALL)
        return None if last is None else by_policy(contest, last, f"policy {last}", evidence)

    def _trusted(self, contest: Contest, evidence: tuple[Evidence, Evidence]) -> Verdict | None:
        if not self.trust:
            return None
        actors = [side.origin().actor for side in evidence]
        ranks = [
            self.trust.index(actor) if actor in self.trust else len(self.trust) for actor in actors
        ]
        if ranks[0] == ranks[1]:
            return None
        better = int(ranks[1] < ranks[0])
        reason = f"{actors[better]} is trusted more than {actors[1 - better]}."
        return _of_side(contest, better, "trust", reason)


def check_policy(policy: object) -> Mapping[str, str]:
    """A policy of a caller as a mapping, after checks.

    Raises:
        ConstraintViolation: the policy has an unknown word.
    """
    policies = {} if policy is None else {ALL: policy} if isinstance(policy, str) else policy
    words = dict(policies.items()) if isinstance(policies, Mapping) else None
    for key, word in ({"": policies} if words is None else words).items():
        if not isinstance(key, str) or word not in WORDS:
            raise ConstraintViolation(
                f"{word!r} is not a policy of a merge.",
                hint=f"Use one of {', '.join(WORDS)}, for everything or in a mapping such as"
                ' {"Person.age": "max", "*": "ask"}.',
            )
    return words or {}


def by_policy(
    contest: Contest, word: str, rule: str, evidence: tuple[Evidence, Evidence]
) -> Verdict | None:
    """The choice that a policy makes; None if the policy does not fit the values."""
    base, ours, theirs = contest.base, contest.ours, contest.theirs
    if word in ("ours", "theirs"):
        at = ("ours", "theirs").index(word)
        return _of_side(contest, at, rule, f"The caller wants the value of {word}.")
    policy = policy_of(word)
    match policy:
        case "newest":
            return newest(contest, rule, evidence)
        case "set":
            if isinstance(ours, list) and isinstance(theirs, list):
                items = base if isinstance(base, list) else []
                united = merge_sets(items, ours, theirs)
                return Verdict(united, "both", rule, "The sets are united.")
        case "max" | "min":
            if _comparable(ours, theirs):
                at = int((theirs > ours) == (policy == "max"))
                size = "larger" if policy == "max" else "smaller"
                return _of_side(contest, at, rule, f"It is the {size} one.")
        case "counter":
            if _are_numbers(ours, theirs) and base is not UNKNOWN:
                before = base if _are_numbers(base) else 0
                value = ours + theirs - before
                if _is_storable(value):
                    return Verdict(value, "both", rule, "The changes of both sides are added up.")
        case "ask" | None:
            pass
        case _:
            assert_never(policy)
    return None


def newest(contest: Contest, rule: str, evidence: tuple[Evidence, Evidence]) -> Verdict:
    """The value that was written last; at equal times, the value that sorts last."""
    origins = [side.origin() for side in evidence]
    order = [
        (origin.time_us, repr(value))
        for origin, value in zip(origins, (contest.ours, contest.theirs), strict=True)
    ]
    at = int(order[1] > order[0])
    reason = f"It was written last, at {times.to_text(origins[at].time_us)}."
    return _of_side(contest, at, rule, reason)


def earliest(contest: Contest) -> Verdict | None:
    """The earlier of two times at which an element begins, or ends, to hold.

    For a functional predicate, a new value thus begins when the value before it ends.
    """
    ours, theirs = (_time(value) for value in (contest.ours, contest.theirs))
    if ours is None or theirs is None or ours == theirs:
        return None
    reason = "Its validity begins, or ends, at the earlier time."
    return _of_side(contest, int(theirs < ours), "validity", reason)


def _superseding(contest: Contest, evidence: tuple[Evidence, Evidence]) -> Verdict | None:
    """The side with new metadata, since the base, that supersedes the value of the other side."""
    values = contest.ours, contest.theirs
    flags = [
        _names(evidence[at], values[1 - at], evidence[1 - at].commit) for at in range(len(values))
    ]
    if flags[0] == flags[1]:
        return None
    at = flags.index(True)
    return _of_side(
        contest, at, "supersedes", "Its metadata states that it supersedes the other value."
    )


def _names(evidence: Evidence, other: Any, commit: str) -> bool:
    if "supersedes" not in evidence.news:
        return False
    value = evidence.metadata["supersedes"]
    names = value if isinstance(value, list) else [value]
    return any(equal_values(other, name) for name in names) or (
        bool(commit)
        and any(
            isinstance(name, str) and len(name) > 8 and commit.startswith(name) for name in names
        )
    )


def _confident(contest: Contest, evidence: tuple[Evidence, Evidence]) -> Verdict | None:
    ours, theirs = (side.metadata.get("confidence", "") for side in evidence)
    if not _are_numbers(ours, theirs) or abs(ours - theirs) < CONFIDENCE_GAP - 1e-9:
        return None
    reason = f"Its confidence is {max(ours, theirs)}, the other value has {min(ours, theirs)}."
    return _of_side(contest, int(theirs > ours), "confidence", reason)


def _observed(contest: Contest, evidence: tuple[Evidence, Evidence]) -> Verdict | None:
    seen = [_time(side.metadata.get("observed_at")) for side in evidence]
    if None in seen or seen[0] == seen[1]:
        return None
    at = int((seen[1] or 0) > (seen[0] or 0))
    text = evidence[at].metadata["observed_at"]
    return _of_side(contest, at, "observed_at", f"It was observed later, at {text}.")


def _time(value: object) -> int | None:
    try:
        return times.from_text(value) if isinstance(value, str) else None
    except InvalidSyntax:
        return None


def _of_side(contest: Contest, at: int, rule: str, reason: str) -> Verdict:
    side: Side = "theirs" if at else "ours"
    return Verdict(contest.theirs if at else contest.ours, side, rule, reason)


def _is_storable(number: float) -> bool:
    """True if an attribute can have this number."""
    is_whole = isinstance(number, int)
    return INTEGER_MIN <= number <= JSON_INTEGER_MAX if is_whole else isfinite(number)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _comparable(ours: Any, theirs: Any) -> bool:
    return _are_numbers(ours, theirs) or (isinstance(ours, str) and isinstance(theirs, str))
