"""Pairs of concepts that may be duplicates: a similar name, alias or acronym, or one external id.

A name alone never causes a merge. Two concepts of one type are duplicates by rule if they have the
same external id and the same name, apart from spelling, and a merge loses nothing and crosses no
border between authors (`judge_pair`). All other pairs become tasks.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from mycel.engine.folded_links import is_lossy
from mycel.model.elements import Concept
from mycel.model.names import first_few
from mycel.model.retention import is_kept
from mycel.model.values import parse_object
from mycel.store.query import retention
from mycel.store.query.reader import Reader
from mycel.text.kinds import STAMP

EXTERNAL_IDS: Final = ("external_id", "doi", "isbn", "orcid", "email", "url", "homepage")
"""Attributes whose values identify something in the world."""
ACRONYM_LETTERS_MIN: Final = 3
APART: Final = ("supersedes", "contradicts")
"""The predicates of links that say that two elements are not the same."""
_NAMES: Final = frozenset(("name", "aliases"))
"""The attributes that a merge unites."""
_NAMED_BY_PATH: Final = frozenset(("Concept", "Event", "Missing"))
GROUP_MAX: Final = 8
"""The maximum number of elements of a group.

The concepts of a larger group probably share only a common word, such as a title.
"""


class DuplicatePair(NamedTuple):
    """Two concepts that may be duplicates; the older concept stays."""

    keep: int
    merge: int
    why: str
    is_certain: bool


def judge_pair(reader: Reader, pair: DuplicatePair) -> DuplicatePair | None:
    """The pair, judged again: it stays certain only if nothing speaks against its merge.

    None if a concept is gone, or if a link says that they are not the same.
    """
    keep, merge = reader.concept(pair.keep), reader.concept(pair.merge)
    if keep is None or merge is None or are_apart(reader, keep.number, merge.number):
        return None
    doubt = ""
    if pair.is_certain:
        doubt = _merge_doubt(keep, merge) or _link_doubt(reader, keep, merge)
    return pair._replace(is_certain=False, why=f"{pair.why}, but {doubt}") if doubt else pair


def are_apart(reader: Reader, one: int, other: int) -> bool:
    """True if a link says that one of two elements supersedes or contradicts the other."""
    predicates = [number for name in APART if (number := reader.find_predicate(name)) is not None]
    return bool(predicates) and other in reader.neighbours((one,), ("out", "in"), predicates)


def _merge_doubt(keep: Concept, merge: Concept) -> str:
    """A reason to ask about a merge that the rule allows; empty if there is none."""
    if is_kept(merge.metadata):
        return f"{merge.name!r} is pinned or held"
    own, other = keep.attributes, merge.attributes
    differing = [
        key
        for key in own.keys() & other.keys() - _NAMES
        if own[key] != other[key]
        and (key not in EXTERNAL_IDS or _id_key(own[key]) != _id_key(other[key]))
    ]
    if differing:
        return f"they differ in {', '.join(first_few(sorted(differing), 3))}"
    folders = [concept.name.rpartition("/")[0] for concept in (keep, merge)]
    if keep.created_by != merge.created_by and folders[0] != folders[1]:
        # A token may be limited to one folder, and a merge writes to both.
        return f"they are by {keep.created_by} and {merge.created_by}, in different folders"
    return ""


def _link_doubt(reader: Reader, keep: Concept, merge: Concept) -> str:
    """A reason to ask about a merge: it would remove a kept link, or lose a value of a link."""
    for link in reader.touching_links(merge.number):
        subject, object_ = (keep.number if end == merge.number else end for end in link.ends)
        predicate = reader.find_predicate(link.predicate)
        if predicate is None:
            continue
        own = None if subject == object_ else reader.link_between(subject, predicate, object_)
        if own is not None or subject == object_:  # One of the links will be removed.
            about = reader.touching_links(link.number)
            if any(other is not None and is_kept(other.metadata) for other in (own, link, *about)):
                return f"a link {link.predicate} that would be removed is pinned or held"
        if own is not None and is_lossy(own, link):
            return f"their links {link.predicate} differ in their values"
    return ""


def _id_key(value: object) -> str:
    """An external id without differences of case and spaces."""
    return " ".join(str(value).split()).casefold()


class _Named(NamedTuple):
    number: int
    type: str
    keys: frozenset[str]
    acronyms: frozenset[str]
    ids: frozenset[tuple[str, str]]


def duplicate_pairs(reader: Reader) -> list[DuplicatePair]:
    """Pairs of concepts of one type that may be one, without repetition, oldest first."""
    concepts = list(_read_concepts(reader))
    names: defaultdict[tuple[str, ...], list[_Named]] = defaultdict(list)
    externals: defaultdict[tuple[str, ...], list[_Named]] = defaultdict(list)
    for concept in concepts:
        for key in concept.keys:
            names[concept.type, key].append(concept)
        for external in concept.ids:
            externals[concept.type, *external].append(concept)
    pairs: dict[tuple[int, int], DuplicatePair] = {}
    for (_, key, value), group in externals.items():
        _add_pairs(pairs, group, f"both have the {key} {value!r}")
    for group in names.values():
        _add_pairs(pairs, group, "both have the same name or alias")
    for concept in concepts:
        for acronym in concept.acronyms:
            for other in names.get((concept.type, acronym), ()):
                _add_pairs(pairs, [concept, other], "one may be the acronym of the other")
    return [pairs[place] for place in sorted(pairs)]


def _add_pairs(pairs: dict[tuple[int, int], DuplicatePair], group: list[_Named], why: str) -> None:
    """Add pairs of the oldest concept of a group with each other concept, unless already added."""
    distinct = sorted({concept.number: concept for concept in group}.items())
    if len(distinct) > GROUP_MAX:
        return
    (_, keep), *others = distinct
    for number, concept in others:
        is_certain = bool(keep.ids & concept.ids and keep.keys & concept.keys)
        pairs.setdefault((keep.number, number), DuplicatePair(keep.number, number, why, is_certain))


def _read_concepts(reader: Reader) -> Iterator[_Named]:
    for number, type_number, name, text in retention.named_concepts(reader):
        type_name = reader.type_name(type_number)
        attributes = parse_object(text)
        if STAMP in attributes:
            continue
        aliases = attributes.get("aliases")
        others = [*(aliases if isinstance(aliases, list) else ()), attributes.get("name")]
        names = [title for title in (_title(type_name, name), *others) if isinstance(title, str)]
        keys = {key for title in names if (key := name_key(title))}
        yield _Named(
            number,
            type_name,
            frozenset(keys),
            frozenset(acronym for title in names if (acronym := _acronym(title))),
            frozenset(
                (key, _id_key(attributes[key]))
                for key in EXTERNAL_IDS
                if isinstance(attributes.get(key), str | int) and attributes[key] != ""
            ),
        )


def _title(type_name: str, name: str) -> str | None:
    """The name of a concept to compare; for a node with a URI the last part of its path.

    None for other URIs, and for notes and events, many of which have the same last part.
    """
    if "://" not in name:
        return name
    if not name.startswith("concept://") or type_name in _NAMED_BY_PATH:
        return None
    return name.rpartition("/")[2]


def name_key(name: str) -> str:
    """A name without case, accents, spaces and punctuation.

    >>> name_key("Größe, of a  Thing!")
    'grosseofathing'
    """
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(character for character in plain if character.isalnum())


def _acronym(name: str) -> str:
    """The initials of a name of several words, in the form of `name_key`."""
    words = [word for word in name.replace("-", " ").split() if word[:1].isupper()]
    return name_key("".join(word[0] for word in words)) if len(words) >= ACRONYM_LETTERS_MIN else ""
