"""From a reference to the node that it means, if no node has exactly that URI.

    file     a bare path is that of a file
    former   a node had the URI before it moved, or before it was merged into another one
    alias    a node has the text among its aliases
    name     one node alone has the short name: Collection.add, collection.rs, a readable name

They are tried in this order. A node that has taken the URI since always wins, and the last node
that had a URI counts. A hint says under which URI the node is now. A relation to be written may
have an end that does not exist yet; so there only names of code are taken as short names, such as
Collection.add or parse_url, and ambiguous ones are no error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from mycel.engine.merge import MERGED_FROM
from mycel.engine.missing_concepts import MISSING, MISSING_ENTITY, is_placeholder
from mycel.errors import InvalidId, NotFound
from mycel.knowledge.node_lookup import element_uri, find, find_all
from mycel.knowledge.uris import Uri, build, kip_identity, parse
from mycel.knowledge.vocabulary import TYPO_SIMILARITY
from mycel.model import ids
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.search.names import Standing, called, key
from mycel.store.query import lookup
from mycel.store.query.candidates import Candidates
from mycel.store.query.merges import conflicts_named
from mycel.store.query.reader import Reader

NEIGHBOURS_COMPARED: Final = 300
"""URIs of the folder, and of the workspace, that an unknown one is compared with."""
SUGGESTIONS_MAX: Final = 3
NAMED_SCORE: Final = 0.94
"""The least score of a search for an exact name."""
NAMES_SOUGHT_MAX: Final = 50
"""References of one call that are sought among aliases and short names."""
BEARERS_MAX: Final = 100
"""Nodes that are compared with one short name."""
CANDIDATES_SHOWN: Final = 10

_ALIASES: Final = "aliases"
_SCOPES: Final = re.compile(r"::|#")
_CODE_NAME: Final = re.compile(r"\w[.#]\w|::|_|[a-z0-9][A-Z]")
"""Names that only code has: `Cart.save`, `cart::save`, `save_cart`, `saveCart`."""


class Resolved(NamedTuple):
    """The URI of the node that a reference means."""

    uri: Uri
    hint: str | None
    """A sentence that says so; None if a bare path is that of a file."""


class Located(NamedTuple):
    """The node of a reference, and a hint if it has another URI."""

    concept: Concept
    hint: str | None


def locate(reader: Reader, uri: Uri) -> Located:
    """The concept that a reference means.

    Raises:
        NotFound: there is none, or it is a short name of several; the hint names the closest.
        InvalidId: it is a relation.
    """
    found = find(reader, uri)
    if found is not None and not ids.is_concept(found.number):
        raise InvalidId(
            f"{uri.text} is a relation; a node is needed here.",
            hint="Ask for the relations of one of its ends instead.",
        )
    concept = None if found is None else reader.concept(found.number)
    if found is not None and concept is not None and not found.is_missing:
        return Located(concept, None)
    resolved = resolve_all(reader, (uri,)).get(uri)
    there = None if resolved is None else find(reader, resolved.uri)
    meant = None if there is None else reader.concept(there.number)
    if resolved is None or meant is None:
        raise not_found(reader, uri, linked=concept is not None)
    return Located(meant, resolved.hint)


def node_at(reader: Reader, uri: Uri) -> Concept:
    """The concept that a reference means; raises as `locate` does."""
    return locate(reader, uri).concept


def resolve_all(
    reader: Reader, uris: Collection[Uri], *, writing: bool = False
) -> dict[Uri, Resolved]:
    """The nodes that references mean which are no URI of a node; all others are left out.

    `writing` is for references to what may not exist yet.

    Raises:
        NotFound: a short name has several bearers, unless `writing`.
    """
    if not reader.state.is_live:
        return {}
    known = find_all(reader, uris)
    unknown = [
        uri for uri in dict.fromkeys(uris) if uri.text not in known or known[uri.text].is_missing
    ]
    resolved: dict[Uri, Resolved] = {}
    for resolve in (_files, _formers):
        rest = [uri for uri in unknown if uri not in resolved]
        if rest:
            resolved |= resolve(reader, rest)
    rest = [uri for uri in unknown if uri not in resolved and not uri.is_kip]
    if rest:
        names = _Names(reader)
        for uri in rest[:NAMES_SOUGHT_MAX]:
            if (found := names.resolve(uri, writing=writing)) is not None:
                resolved[uri] = found
    return resolved


def _files(reader: Reader, uris: Sequence[Uri]) -> dict[Uri, Resolved]:
    """Bare paths that are those of files."""
    files = {
        uri: build("file", uri.workspace, uri.path)
        for uri in uris
        if uri.is_bare and uri.is_concept and uri.path
    }
    known = find_all(reader, files.values())
    return {uri: Resolved(file, None) for uri, file in files.items() if file.text in known}


def _formers(reader: Reader, uris: Sequence[Uri]) -> dict[Uri, Resolved]:
    """Names that nodes had before they moved or were merged."""
    names: dict[Uri, tuple[str | None, str]] = {}
    for uri in uris:
        if not uri.is_kip:
            names[uri] = (None, uri.text)
        elif isinstance(identity := kip_identity(uri), tuple):
            names[uri] = identity
    hidden = [kind for name in (MISSING, MISSING_ENTITY) if (kind := reader.find_type(name))]
    former = lookup.former_names(reader, {name for _, name in names.values()}, hidden)
    removed = {
        f"{reader.type_name(each.type_number)}:{name}"
        for name, each in former.items()
        if each.is_removed
    }
    heirs = lookup.heirs(reader, MERGED_FROM, removed)
    resolved = {}
    for uri, (type_name, name) in names.items():
        each = former.get(name)
        if each is None or type_name not in (None, reader.type_name(each.type_number)):
            continue
        number: int | None = each.number
        if each.is_removed:
            number = heirs.get(f"{reader.type_name(each.type_number)}:{name}")
        concept = None if number is None else reader.concept(number)
        if concept is not None and not is_placeholder(concept):
            how = "was merged into" if each.is_removed else "is now"
            resolved[uri] = _resolved(uri, concept, how)
    return resolved


def former_bearers(reader: Reader, numbers: Collection[int]) -> list[str]:
    """Sentences about new nodes whose URI another node had before it moved."""
    names = {each.name: number for number in numbers if (each := reader.concept(number))}
    sentences = []
    for name, former in lookup.former_names(reader, names).items():
        concept = reader.concept(former.number)
        if concept is not None and former.number != names[name] and not is_placeholder(concept):
            present = element_uri(concept)
            sentences.append(f"{name} was the URI of {present}; update that one instead?")
    return sentences


def _resolved(uri: Uri, concept: Concept, how: str) -> Resolved:
    present = element_uri(concept)
    asked = uri.path if uri.is_bare else uri.text
    return Resolved(parse(present, ""), f"{shorten(asked, 200)} {how} {present}.")


class _Names:
    """Aliases and short names, looked up in the text index."""

    def __init__(self, reader: Reader) -> None:
        self._reader: Final = reader
        self._furniture: Final = lookup.furniture(reader)
        self._index: Final = Candidates(reader, without=self._furniture)

    def resolve(self, uri: Uri, *, writing: bool) -> Resolved | None:
        """The node with a text as its alias, or as its short name if it alone has it."""
        texts = (uri.text, uri.path) if uri.is_bare else (uri.text,)
        bearers = self._bearers({key(text) for text in texts})
        aliased = [each for each in bearers if _has_alias(each, texts)]
        if len(aliased) == 1:
            return _resolved(uri, aliased[0], "is an alias of")
        if not uri.is_bare or not uri.path:
            return None
        if not writing or _CODE_NAME.search(uri.path.rpartition("/")[2]):
            aliased += self._named(uri.path)
        several = list({each.number: each for each in aliased}.values())
        if len(several) == 1:
            return _resolved(uri, several[0], "is short for")
        if several and not writing:
            raise _ambiguous(uri, several)
        return None

    def _bearers(self, keys: Collection[str]) -> list[Concept]:
        """Concepts with one of these keys that are nodes."""
        numbers = self._index.by_keys([each for each in keys if each], BEARERS_MAX)
        found = self._reader.elements(numbers)
        return [
            each
            for number in numbers
            if isinstance(each := found.get(number), Concept) and not is_placeholder(each)
        ]

    def _named(self, name: str) -> list[Concept]:
        """Nodes with a short name, in its own case if there are any; tests only if nothing else."""
        asked = _SCOPES.sub(".", name)
        last = asked.rpartition("/")[2]
        pieces = [each for each in last.split(".") if each] or [last]
        keys = {key(text) for text in (last, pieces[-1], "".join(pieces[-2:]))}
        bearers = {each.number: each for each in self._bearers(keys)}
        for number, _, _ in lookup.named(self._reader, [name]):  # A plain name has no key.
            concept = self._reader.concept(number)
            if concept is not None and number not in self._furniture:
                bearers[number] = concept
        as_is: Callable[[str], str] = str
        for fold in (as_is, str.casefold):
            fitting = [each for each in bearers.values() if _is_called(each, asked, fold)]
            if fitting:
                break
        return [each for each in fitting if not _is_aside(each)] or fitting


def _has_alias(concept: Concept, texts: Collection[str]) -> bool:
    aliases: Any = concept.attributes.get(_ALIASES)
    listed = aliases if isinstance(aliases, list) else [aliases]
    wanted = {text.casefold() for text in texts}
    return any(isinstance(each, str) and each.casefold() in wanted for each in listed)


def _is_called(concept: Concept, name: str, fold: Callable[[str], str]) -> bool:
    """True if a name is the readable name of a concept, or the end of its path.

    Modules count as a part of a name too: `cart.price` for `src/cart.py/price`.
    """
    attributes = concept.attributes
    wanted, readable = fold(name), attributes.get("name")
    path = fold(_SCOPES.sub(".", unquote(concept.name)))
    if wanted == path or (isinstance(readable, str) and fold(readable) == wanted):
        return True
    if "://" not in path or path.endswith((f"/{wanted}", f".{wanted}")):
        return "://" in path
    pieces = wanted.split(".")
    segments = called(concept.name, attributes).segments
    return len(pieces) > 1 and pieces == [fold(each) for each in segments[-len(pieces) :]]


def _is_aside(concept: Concept) -> bool:
    return called(concept.name, concept.attributes).standing is Standing.ASIDE


def _ambiguous(uri: Uri, concepts: Sequence[Concept]) -> NotFound:
    candidates = [element_uri(each) for each in concepts]
    shown = candidates[:CANDIDATES_SHOWN]
    number = f"{BEARERS_MAX} nodes or more" if len(candidates) >= BEARERS_MAX else len(candidates)
    more = "; …" if len(candidates) > len(shown) else ""
    return NotFound(
        f"{shorten(uri.path, 200)!r} is a short name of several nodes ({number}).",
        hint=f"Pass the URI of the one you mean: {'; '.join(shown)}{more}",
        data={"uri": uri.text, "candidates": shown},
    )


# What is not there.


def not_found(reader: Reader, uri: Uri, *, linked: bool = False) -> NotFound:
    """The error for a URI that names nothing, with the closest ones."""
    close = closest(reader, uri)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    hint += "Search for it, or add it." if not linked else "Add it; the relations to it stay."
    said = "Relations name it, but it does not exist yet." if linked else ""
    data: dict[str, Any] = {"uri": uri.text, "closest": close}
    contested = conflicts_named(reader, uri.text)
    if contested:
        first = contested[0]
        said = f"The merge {first['merge']} has a conflict about it, {first['id']}: "
        said += first.get("reason", "")
        data["conflicts"] = contested
    return NotFound(
        f"There is no node {shorten(uri.text, 200)}. {said}".rstrip(), hint=hint, data=data
    )


def closest(reader: Reader, uri: Uri) -> list[str]:
    """URIs of existing nodes similar to an unknown one, the most similar first."""
    if not uri.workspace:
        return []
    parent = uri.text.rpartition("/")[0]
    root = f"{uri.scheme}://{uri.workspace}"
    known = dict.fromkeys(
        name
        for beginning in (parent, root)
        for name in _names_below(reader, beginning)
        if name != uri.text
    )
    paths = {name.removeprefix(root).casefold(): name for name in known}
    wanted = uri.text.removeprefix(root).casefold()
    folder, _, last = wanted.rpartition("/")
    siblings = {
        path.removeprefix(f"{folder}/"): path for path in paths if path.startswith(f"{folder}/")
    }
    near = [siblings[end] for end in get_close_matches(last, siblings, n=SUGGESTIONS_MAX)]
    far = get_close_matches(wanted, paths, n=SUGGESTIONS_MAX, cutoff=TYPO_SIMILARITY)
    close = (
        *_namesakes(reader, uri),
        *(paths[path] for path in near),
        *_named_alike(reader, uri),
        *(paths[path] for path in far),
    )
    return list(dict.fromkeys(close))[:SUGGESTIONS_MAX]


def _named_alike(reader: Reader, uri: Uri) -> Iterator[str]:
    """Nodes elsewhere with the path of a URI as their name or the end of their path."""
    # Late: only an unknown name needs it.
    from mycel.engine.search import find as find_words  # noqa: PLC0415

    path = uri.path
    for hit in find_words(reader, path, "CONCEPT", limit=SUGGESTIONS_MAX, threshold=NAMED_SCORE):
        if not is_placeholder(hit.element):
            yield element_uri(hit.element)


def _namesakes(reader: Reader, uri: Uri) -> list[str]:
    """The file with the path of a concept, or the concept with that of a file, if it exists."""
    other = build("concept" if uri.is_file else "file", uri.workspace, uri.path)
    found = find(reader, other)
    return [other.text] if found is not None and not found.is_missing else []


def _names_below(reader: Reader, beginning: str) -> Iterator[str]:
    numbers = lookup.named_from(reader, f"{beginning}/", NEIGHBOURS_COMPARED)
    for number in numbers:
        concept = reader.concept(number)
        if concept is not None and not is_placeholder(concept):
            yield concept.name
