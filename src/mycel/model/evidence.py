"""Evidence for and against a link, and the status that follows from it.

The metadata `evidence` of a link is a list. An entry that is an object with a `stance` is a source:

    {stance: "supports" | "challenges", by: "ana", source: "minutes of May", at: "2026-05-02",
     confidence: 0.8, reason: "…"}

Other entries are only references. The link itself is the first source that supports it, with its
`confidence`, its `author` and its `source`. A source with `valid_from` or `valid_until` speaks of
that period alone, and does not count if the link does not hold in it now.

`next_source` is the rule for a tool that writes the metadata of a link that exists. KIP writes keys
as they are.

1. Metadata that names no other author and no other source than the link has changes the values of
   the link: its source has a new word, or somebody corrects it.
2. A link without `author`, `source` and `confidence` takes over the first ones that are written.
3. Another author or source is a further source: it becomes an entry of `evidence` that supports the
   link, and the values of the link stay. The last word of an actor from a source replaces its
   earlier one.
4. If the write tells of a former period of the link, its values speak of that period alone: they
   become an entry with the period, also those of the same source.
5. If the write tells of a later period, which becomes the present one, its source becomes that of
   the link. The source of the link becomes an entry with the period of which it spoke.

The status follows from the sources by one rule:

1. If an actor has supported and challenged a link, only the last of the two stances counts.
2. Of the sources of a stance that share a name as actor or origin, directly or through others,
   only the strongest counts. A link that names neither author nor source speaks for its supporters:
   beside other sources it does not count itself, but raises the strongest source to its own
   confidence.
3. A stance has the strength 1 - (1 - c1)(1 - c2)… of the confidences that count.
4. `contested` if both stances have 0.3 or more; otherwise `accepted` or `rejected` if one has 0.7
   or more; otherwise `insufficient`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, Final, Literal, NamedTuple, get_args

from mycel.errors import ConstraintViolation
from mycel.model import times
from mycel.model.limits import REASON_BYTES_MAX
from mycel.model.names import check_text, first_few, quote_value, shorten
from mycel.model.periods import ALWAYS, VALID_FROM, VALID_UNTIL, Period, present_period
from mycel.model.values import JsonObject

EVIDENCE: Final = "evidence"
"""The metadata that holds the sources of a link."""

Stance = Literal["supports", "challenges"]
BeliefStatus = Literal["accepted", "contested", "rejected", "insufficient"]

ACCEPTED_FROM: Final = 0.7
"""The strength from which on a stance decides."""
MATERIAL_FROM: Final = 0.3
"""The strength from which on a stance matters."""
CONFIDENCE_DEFAULT: Final = 0.7
"""The confidence of a source that states none: just enough for `accepted`."""
SOURCES_MAX: Final = 100
"""The maximum number of sources of a link."""
_DECIMALS: Final = 9
_TEXTS: Final = ("by", "source", "at")
_KEYS: Final = (*_TEXTS, "confidence")
OWN_SOURCE: Final = ("author", "source", "confidence")
"""The metadata of an element that are its own source."""
OF: Final = "of"
"""The name of the merged element of which an entry of evidence of a concept speaks."""
_NAMED: Final = ("author", "source")
_PERIOD: Final = (VALID_FROM, VALID_UNTIL)
_SHOWN_MAX: Final = 3
_SHOWN_CHARACTERS: Final = 60
_FORM: Final = 'Write WITH {by: "ana", source: "minutes", at: "2026-05-02", confidence: 0.8}.'


class Belief(NamedTuple):
    """The status of a link, the strength of each stance, and the sources that count for it."""

    status: BeliefStatus
    support: float
    challenge: float
    supporters: int
    challengers: int

    @property
    def text(self) -> str:
        """The belief as text, to show beside a link."""
        return (
            f"{self.status}: {self.supporters} for ({self.support:.2g}),"
            f" {self.challengers} against ({self.challenge:.2g})"
        )


class NextSource(NamedTuple):
    """The metadata to write to a link that has a source, and the entry of evidence that it adds."""

    metadata: JsonObject
    entry: JsonObject | None = None
    """The further source, without its stance and its time; None if there is none."""
    dropped: tuple[str, ...] | None = None
    """The keys to drop if the entry is the source that the link had; None if it is the new one."""


class _Source(NamedTuple):
    stance: str
    actor: str | None
    origins: frozenset[str]
    confidence: float

    @property
    def is_anonymous(self) -> bool:
        return self.actor is None and not self.origins


def belief(metadata: Mapping[str, Any]) -> Belief:
    """The belief in a link with this metadata.

    >>> belief({"confidence": 0.9}).status
    'accepted'
    >>> belief({"evidence": [{"stance": "challenges", "confidence": 0.4}]}).status
    'contested'
    """
    own, *others = sources = list(_sources(metadata))
    last = {source.actor: source.stance for source in sources if source.actor is not None}
    strengths = []
    for stance in get_args(Stance):
        counted = _strongest(
            [
                source
                for source in (others if own.is_anonymous else sources)
                if source.stance == stance and last.get(source.actor or "", stance) == stance
            ]
        )
        if own.is_anonymous and stance == own.stance:
            strongest, *rest = sorted(counted, reverse=True) or [0.0]
            counted = [max(strongest, own.confidence), *rest]
        strength = 1 - prod(1 - confidence for confidence in counted)
        strengths.append((round(strength, _DECIMALS), len(counted)))
    (support, supporters), (challenge, challengers) = strengths
    return Belief(_status(support, challenge), support, challenge, supporters, challengers)


def _status(support: float, challenge: float) -> BeliefStatus:
    if support >= MATERIAL_FROM and challenge >= MATERIAL_FROM:
        return "contested"
    if support >= ACCEPTED_FROM:
        return "accepted"
    return "rejected" if challenge >= ACCEPTED_FROM else "insufficient"


def doubt_of(metadata: Mapping[str, Any]) -> str:
    """The belief in a link as text if its evidence leaves a doubt; empty otherwise."""
    weighed = belief(metadata) if is_judged(metadata) else None
    return "" if weighed is None or weighed.status == "accepted" else weighed.text


def is_judged(metadata: Mapping[str, Any]) -> bool:
    """True if a link has sources of its own."""
    entries = metadata.get(EVIDENCE)
    return isinstance(entries, list) and any(map(_is_source, entries))


def _sources(metadata: Mapping[str, Any]) -> Iterator[_Source]:
    """The link itself, and then its evidence in order."""
    yield _source("supports", metadata, "author")
    entries = metadata.get(EVIDENCE)
    for entry in entries if isinstance(entries, list) else ():
        if _is_source(entry) and _speaks_of(entry, metadata):
            yield _source(entry["stance"], entry, "by")


def _is_source(entry: object) -> bool:
    return isinstance(entry, Mapping) and entry.get("stance") in get_args(Stance)


def _speaks_of(entry: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    """True if a source speaks of the present period of a link, or of no period."""
    if entry.keys().isdisjoint(_PERIOD):
        return True
    return present_period(entry).overlaps(present_period(metadata))


def _source(stance: str, values: Mapping[str, Any], actor_key: str) -> _Source:
    actor = values.get(actor_key)
    if not isinstance(actor, str) or not actor:
        actor = None
    confidence = values.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        confidence = CONFIDENCE_DEFAULT
    origins = frozenset(_names(values.get("source")))
    return _Source(stance, actor, origins, min(max(float(confidence), 0.0), 1.0))


def _names(value: object) -> list[str]:
    """The names in an `author` or `source`: a text, or a list of texts after a merge."""
    values = value if isinstance(value, list) else [value]
    return [name for name in values if isinstance(name, str) and name]


def _strongest(sources: list[_Source]) -> list[float]:
    """The highest confidence of each group of sources that share an actor or an origin."""
    groups: list[tuple[set[str], float]] = []
    for source in sources:
        names = {*source.origins, *_names(source.actor)}
        confidence = source.confidence
        apart = []
        for others, highest in groups:
            if names.isdisjoint(others):
                apart.append((others, highest))
            else:
                names |= others
                confidence = max(confidence, highest)
        groups = [*apart, (names, confidence)]
    return [confidence for _, confidence in groups]


def with_source(
    metadata: Mapping[str, Any],
    stance: Stance,
    details: Mapping[str, Any],
    reason: str,
    now: str,
) -> list[Any]:
    """The evidence of a link with one more source, in place of the last of its actor and origin.

    A source without a time gets the time `now`, or the time at which it stated the same before.

    Raises:
        ConstraintViolation: the details are invalid, or there are too many sources.
    """
    check_details({key: value for key, value in details.items() if key not in _PERIOD})
    check_text(reason, "reason", REASON_BYTES_MAX)
    entry: JsonObject = {"stance": stance, **details}
    if reason:
        entry["reason"] = reason
    entries_before = metadata.get(EVIDENCE)
    entries = []
    for old in entries_before if isinstance(entries_before, list) else ():
        if not _is_source(old) or any(
            old.get(key) != entry.get(key) for key in ("by", "source", *_PERIOD)
        ):
            entries.append(old)
        elif {**entry, "at": old.get("at")} == old:
            return list(entries_before or ())
    entry.setdefault("at", now)
    if len(entries) >= SOURCES_MAX:
        raise ConstraintViolation(
            f"The link has {len(entries)} entries of evidence; at most {SOURCES_MAX} are kept.",
            hint="Remove some with UPDATE ?l SET METADATA { evidence: […] } first.",
        )
    return [*entries, entry]


def next_source(metadata: Mapping[str, Any], written: Mapping[str, Any]) -> NextSource:
    """The metadata to write to a link with this metadata, by the rule above.

    >>> next_source({"source": "HR"}, {"source": "rumour", "confidence": 0.4}).entry
    {'source': 'rumour', 'confidence': 0.4}
    """
    own, new = own_source(metadata), own_source(written)
    present, period = present_period(metadata), present_period(written)
    is_apart = period.is_dated and not (
        present.is_empty or period.is_empty or period.overlaps(present)
    )
    if is_apart and period.since_us < present.since_us:
        if all(own.get(key) == value for key, value in new.items()):
            return NextSource(dict(written))
        return NextSource(_without_source(written), as_entry(new, period))
    if not own or not is_other_source(own, new):
        return NextSource(dict(written))
    if is_apart:
        return NextSource(dict(written), as_entry(own, present), tuple(own.keys() - new.keys()))
    return NextSource(_without_source(written), as_entry(new))


def own_source(metadata: Mapping[str, Any]) -> JsonObject:
    """The author, source and confidence of an element itself, as far as it has them."""
    return {key: value for key in OWN_SOURCE if (value := metadata.get(key)) is not None}


def is_other_source(own: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """True if `new` names an author or a source that `own` does not name."""
    return any(set(_names(new.get(key))) - set(_names(own.get(key))) for key in _NAMED)


def as_entry(source: Mapping[str, Any], period: Period = ALWAYS) -> JsonObject:
    """The author, source and confidence of an element as an entry of evidence without a stance."""
    entry = {"by" if key == "author" else key: value for key, value in source.items()}
    return entry | period.to_json()


def _without_source(metadata: Mapping[str, Any]) -> JsonObject:
    return {key: value for key, value in metadata.items() if key not in OWN_SOURCE}


def sources_in_words(metadata: Mapping[str, Any]) -> str:
    """The sources of an element in words; empty if it names none.

    >>> sources_in_words({"source": "HR", "evidence": [{"source": "rumour", "confidence": 0.4}]})
    'HR; also rumour (confidence 0.4)'
    """
    entries = metadata.get(EVIDENCE)
    others = [
        words
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, Mapping) and (words := _entry_words(entry))
    ]
    own = ", ".join(map(_one_line, _names(metadata.get("source"))))
    return "; also ".join([*([own] if own else []), *first_few(others, _SHOWN_MAX)])


def _entry_words(entry: Mapping[str, Any]) -> str:
    """The source of an entry with its confidence and period; empty if it names none."""
    names = ", ".join(map(_one_line, _names(entry.get("source"))))
    if not names:
        return ""
    confidence = entry.get("confidence")
    period = present_period(entry)
    details = [
        "against" if entry.get("stance") == "challenges" else "",
        f"confidence {confidence:g}" if isinstance(confidence, int | float) else "",
        period.words if period.is_dated else "",
        f"for {_one_line(about)}" if isinstance(about := entry.get(OF), str) else "",
    ]
    remark = ", ".join(filter(None, details))
    return f"{names} ({remark})" if remark else names


def _one_line(text: str) -> str:
    return shorten(" ".join(text.split()), _SHOWN_CHARACTERS)


def check_details(details: Mapping[str, Any]) -> None:
    """Raise ConstraintViolation for invalid details of a source."""
    for key, value in details.items():
        if key not in _KEYS:
            raise ConstraintViolation(f"A source has no key {quote_value(key)}.", hint=_FORM)
        if key == "confidence":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 <= value <= 1:
                raise ConstraintViolation(
                    f"The confidence {shorten(repr(value))} is not a number from 0 to 1.",
                    hint=_FORM,
                )
        elif not isinstance(value, str) or not value:
            raise ConstraintViolation(f"{key} of a source is not a text.", hint=_FORM)
        elif key == "at" and not times.is_time(value):
            raise ConstraintViolation(f"{quote_value(value)} is not a time.", hint=_FORM)
