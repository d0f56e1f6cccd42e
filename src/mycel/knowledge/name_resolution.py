"""Finds the node that a reference means, if no node has exactly that URI.

    file     a bare path is the path of a file
    former   a node had the URI before it moved, or before it was merged into another one
    alias    a node has the text among its aliases
    name     one node alone has the short name: Collection.add, collection.rs, a readable name
    moved    nothing has the short name, and one node had a URI with this end before it moved

They are tried in this order. A node that has the URI now always wins. If several nodes had the URI,
the last one counts. A hint has the present URI of the node. A short name of several nodes is an
error that lists them. Every method that takes the name of a node resolves it here; a URI with a
scheme is never a short name, so it can also name a node that does not exist yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from mycel.engine.missing_concepts import MISSING, MISSING_ENTITY, is_placeholder
from mycel.errors import AmbiguousName, InvalidId, NotFound, Unsupported
from mycel.knowledge.node_lookup import element_uri, find, find_all
from mycel.knowledge.short_names import ShortNames, is_elsewhere, several_nodes
from mycel.knowledge.uris import Uri, build, kip_identity, parse
from mycel.knowledge.vocabulary import TYPO_SIMILARITY
from mycel.model import ids
from mycel.model.elements import Concept
from mycel.model.names import first_few, shorten
from mycel.store.query import lookup
from mycel.store.query.merges import conflicts_named
from mycel.store.query.reader import Reader
from mycel.text.names import key

NEIGHBOURS_COMPARED: Final = 300
"""The number of URIs of the folder, and of the workspace, with which an unknown URI is compared."""
SUGGESTIONS_MAX: Final = 3
NAMED_SCORE: Final = 0.94
"""The least search score that means an exact name."""
NAMES_SOUGHT_MAX: Final = 10_000
"""The maximum number of references of one call that are looked up among aliases and short names."""
NAMES_SHOWN: Final = 20
"""The maximum number of resolved names of one call that are listed."""
NAMES_AT_ONCE: Final = 100
"""The number of references that are looked up together."""


class Resolved(NamedTuple):
    """The URI of the node that a reference means."""

    uri: Uri
    hint: str | None
    """A sentence on how the reference was resolved; None if it is the path of a file."""
    is_merged: bool = False
    """True if the node of the reference was merged into this node, and is gone."""


RESOLVED_NAMES: Final = "Names: "
"""The first words of a line about resolved names, which is no warning."""


class Located(NamedTuple):
    """The node of a reference, and a hint if it has another URI."""

    concept: Concept
    hint: str | None


def locate(reader: Reader, uri: Uri, *, at_home: bool = False) -> Located:
    """The concept that a reference means; `at_home` is explained at `resolve_all`.

    Raises:
        NotFound: there is no such node; the hint names the closest URIs.
        AmbiguousName: the reference is a short name of several nodes.
        InvalidId: the reference is to a relation.
    """
    node_match = find(reader, uri)
    if node_match is not None and not ids.is_concept(node_match.number):
        raise InvalidId(
            f"{uri.text} is a relation; a node is needed here.",
            hint="Ask for the relations of one of its ends instead.",
        )
    concept = None if node_match is None else reader.concept(node_match.number)
    if node_match is not None and concept is not None and not node_match.is_missing:
        return Located(concept, None)
    resolved = resolve_all(reader, (uri,), at_home=at_home).get(uri)
    match = None if resolved is None else find(reader, resolved.uri)
    target = None if match is None else reader.concept(match.number)
    if resolved is None or target is None:
        raise not_found(reader, uri, linked=concept is not None)
    return Located(target, resolved.hint)


def locate_all(reader: Reader, uri: Uri) -> list[Concept]:
    """The concepts that a reference means: one, or all that share a short name; [] for none.

    A dotted name may leave out parts of a path: `shop.price` for `shop/cart.py/price`. A package
    may offer a name under another path; if no node has the modules of the name in its path, all
    nodes with its last part are meant.

    Raises:
        InvalidId: the reference is to a relation.
    """
    try:
        return [locate(reader, uri).concept]
    except (AmbiguousName, NotFound):
        if not uri.is_bare or uri.is_kip:
            return []
        names = ShortNames(reader)
        names.fetch((uri,))
        return names.bearers_of(uri)[1] or names.bearers_around(uri) or names.bearers_of_last(uri)


def find_bearers(reader: Reader, names: Iterable[str]) -> list[Concept]:
    """Nodes whose names equal one of these, apart from case and diacritical marks."""
    return ShortNames(reader).bearers(map(key, names))


def node_at(reader: Reader, uri: Uri) -> Concept:
    """The concept that a reference means. It raises the same errors as `locate`."""
    return locate(reader, uri).concept


def resolve_all(
    reader: Reader,
    uris: Collection[Uri],
    *,
    own: Collection[int] = (),
    others: Mapping[Uri, Collection[int]] | None = None,
    at_home: bool = False,
) -> dict[Uri, Resolved]:
    """The nodes that references mean, for references that are no URI of a node.

    If several nodes have a short name, it means the one among the `own` nodes of the call. `others`
    has nodes that a short name must not mean, such as the other ends of its relations. With
    `at_home`, aliases and short names mean no nodes of other workspaces: to change or remove such a
    node, a caller has to pass its whole URI.

    Raises:
        AmbiguousName: a short name has several bearers.
    """
    if not reader.state.is_live:
        return {}
    matches = find_all(reader, uris)
    unknown = [
        uri
        for uri in dict.fromkeys(uris)
        if uri.text not in matches or matches[uri.text].is_missing
    ]
    resolved: dict[Uri, Resolved] = {}
    for resolve in (_files, _formers):
        rest = [uri for uri in unknown if uri not in resolved]
        if rest:
            resolved |= resolve(reader, rest)
    rest = [uri for uri in unknown if uri not in resolved and not uri.is_kip][:NAMES_SOUGHT_MAX]
    resolved |= _by_names(reader, rest, own, others or {}, at_home=at_home)
    rest = [uri for uri in rest if uri not in resolved and uri.is_bare and uri.path]
    if rest:
        resolved |= _by_former_names(reader, rest, others or {}, at_home=at_home)
    return resolved


def name_line(resolved: Mapping[Uri, Resolved | Located]) -> list[str]:
    """One line about all names that were resolved to URIs; [] if there are none."""
    names = [
        f"{shorten(uri.path if uri.is_bare else uri.text, 200)} → {_present_uri(node)}"
        for uri, node in resolved.items()
        if node.hint is not None
    ]
    return [f"{RESOLVED_NAMES}{', '.join(first_few(names, NAMES_SHOWN))}."] if names else []


def _present_uri(node: Resolved | Located) -> str:
    return element_uri(node.concept) if isinstance(node, Located) else node.uri.text


def _by_names(
    reader: Reader,
    uris: Sequence[Uri],
    own: Collection[int],
    others: Mapping[Uri, Collection[int]],
    *,
    at_home: bool,
) -> dict[Uri, Resolved]:
    """References that are aliases or short names of nodes."""
    resolved: dict[Uri, Resolved] = {}
    ambiguous: dict[Uri, list[Concept]] = {}
    if not uris:
        return resolved
    names = ShortNames(reader, own, at_home=at_home)
    for at, uri in enumerate(uris):
        if at % NAMES_AT_ONCE == 0:
            names.fetch(uris[at : at + NAMES_AT_ONCE])
        relation, bearers = names.bearers_of(uri)
        bearers = [bearer for bearer in bearers if bearer.number not in others.get(uri, ())]
        if len(bearers) > 1:
            bearers = [bearer for bearer in bearers if bearer.number in own] or bearers
        if len(bearers) == 1:
            resolved[uri] = _resolved(uri, bearers[0], relation)
        elif bearers:
            ambiguous[uri] = bearers
    if ambiguous:
        raise several_nodes(ambiguous)
    return resolved


def _by_former_names(
    reader: Reader, uris: Sequence[Uri], others: Mapping[Uri, Collection[int]], *, at_home: bool
) -> dict[Uri, Resolved]:
    """The nodes that had, before a move or merge, a URI that ends with the reference."""
    ends = {uri: f"/{uri.text.removeprefix(f'concept://{uri.workspace}/')}" for uri in uris}
    formers = [
        parse(name, "")
        for workspace in {uri.workspace for uri in uris}
        for name in lookup.former_names_ending(
            reader, f"concept://{workspace}", {end.rpartition("/")[2] for end in ends.values()}
        )
    ]
    matches = find_all(reader, formers)
    present = _formers(reader, [former for former in formers if former.text not in matches])
    resolved: dict[Uri, Resolved] = {}
    ambiguous: dict[Uri, list[Concept]] = {}
    for uri, end in ends.items():
        bearers: dict[int, Concept] = {}
        moved: set[int] = set()
        for former, node in present.items():
            if former.workspace == uri.workspace and former.text.endswith(end):
                bearer = node_at(reader, node.uri)
                if bearer.number in others.get(uri, ()):
                    continue
                if not (at_home and is_elsewhere(bearer, uri.workspace)):
                    bearers[bearer.number] = bearer
                    moved |= set() if node.is_merged else {bearer.number}
        if len(bearers) == 1:
            ((number, bearer),) = bearers.items()
            relation = "is the former name of" if moved else "was merged into"
            resolved[uri] = _resolved(uri, bearer, relation)._replace(is_merged=number not in moved)
        elif bearers:
            ambiguous[uri] = list(bearers.values())
    if ambiguous:
        raise several_nodes(ambiguous)
    return resolved


def _files(reader: Reader, uris: Sequence[Uri]) -> dict[Uri, Resolved]:
    """The files that bare paths name."""
    files = {
        uri: build("file", uri.workspace, uri.path)
        for uri in uris
        if uri.is_bare and uri.is_concept and uri.path
    }
    matches = find_all(reader, files.values())
    return {uri: Resolved(file, None) for uri, file in files.items() if file.text in matches}


def _formers(reader: Reader, uris: Sequence[Uri]) -> dict[Uri, Resolved]:
    """The nodes that had these names before they moved or were merged."""
    names: dict[Uri, tuple[str | None, str]] = {}
    for uri in uris:
        if not uri.is_kip:
            names[uri] = (None, uri.text)
        elif isinstance(identity := kip_identity(uri), tuple):
            names[uri] = identity
    hidden = [kind for name in (MISSING, MISSING_ENTITY) if (kind := reader.find_type(name))]
    former = lookup.former_names(reader, {name for _, name in names.values()}, hidden)
    removed = {
        f"{reader.type_name(bearer.type_number)}:{name}"
        for name, bearer in former.items()
        if bearer.is_removed
    }
    heirs = lookup.heirs(reader, lookup.MERGED_FROM, removed)
    resolved = {}
    for uri, (type_name, name) in names.items():
        former_name = former.get(name)
        if former_name is None or type_name not in (
            None,
            reader.type_name(former_name.type_number),
        ):
            continue
        number: int | None = former_name.number
        if former_name.is_removed:
            number = heirs.get(f"{reader.type_name(former_name.type_number)}:{name}")
        concept = None if number is None else reader.concept(number)
        if concept is not None and not is_placeholder(concept):
            relation = "was merged into" if former_name.is_removed else "is now"
            resolved[uri] = _resolved(uri, concept, relation)._replace(
                is_merged=former_name.is_removed
            )
    return resolved


def former_bearers(reader: Reader, numbers: Collection[int]) -> list[str]:
    """Sentences about new nodes with a URI that another node had before it moved."""
    names = {node.name: number for number in numbers if (node := reader.concept(number))}
    sentences = []
    for name, former in lookup.former_names(reader, names).items():
        concept = reader.concept(former.number)
        if concept is not None and former.number != names[name] and not is_placeholder(concept):
            present = element_uri(concept)
            sentences.append(f"{name} was the URI of {present}; update that one instead?")
    return sentences


def _resolved(uri: Uri, concept: Concept, relation: str) -> Resolved:
    present = element_uri(concept)
    reference = uri.path if uri.is_bare else uri.text
    return Resolved(parse(present, ""), f"{shorten(reference, 200)} {relation} {present}.")


# Missing nodes.


def not_found(reader: Reader, uri: Uri, *, linked: bool = False) -> NotFound:
    """The error for a URI that names nothing, with the most similar URIs."""
    close = closest(reader, uri)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    hint += "Search for it, or add it." if not linked else "Add it; the relations to it stay."
    message = "Relations name it, but it does not exist yet." if linked else ""
    data: dict[str, Any] = {"uri": uri.text, "closest": close}
    contested = conflicts_named(reader, uri.text)
    if contested:
        first = contested[0]
        message = f"The merge {first['merge']} has a conflict about it, {first['id']}: "
        message += first.get("reason", "")
        data["conflicts"] = contested
    return NotFound(
        f"There is no node {shorten(uri.text, 200)}. {message}".rstrip(), hint=hint, data=data
    )


def closest(reader: Reader, uri: Uri) -> list[str]:
    """URIs of existing nodes similar to an unknown one, the most similar first."""
    if not uri.workspace:
        return []
    path = uri.text.removeprefix(f"{uri.scheme}://{uri.workspace}")
    paths: dict[str, str] = {}
    # A bare path names a concept, but often a file is meant.
    for scheme in dict.fromkeys((uri.scheme, "concept" if uri.is_file else "file")):
        root = f"{scheme}://{uri.workspace}"
        for beginning in (root + path.rpartition("/")[0], root):
            for name in _names_below(reader, beginning):
                if name != uri.text:
                    paths.setdefault(name.removeprefix(root).casefold(), name)
    text = path.casefold()
    folder, _, last = text.rpartition("/")
    siblings = {
        path.removeprefix(f"{folder}/"): path for path in paths if path.startswith(f"{folder}/")
    }
    near = [siblings[end] for end in get_close_matches(last, siblings, n=SUGGESTIONS_MAX)]
    far = get_close_matches(text, paths, n=SUGGESTIONS_MAX, cutoff=TYPO_SIMILARITY)
    close = (
        *_namesakes(reader, uri),
        *(paths[path] for path in near),
        *_named_alike(reader, uri),
        *(paths[path] for path in far),
    )
    return list(dict.fromkeys(close))[:SUGGESTIONS_MAX]


def _named_alike(reader: Reader, uri: Uri) -> Iterator[str]:
    """Nodes in other folders with the path of a URI as their name, or as the end of their path."""
    # Imported late: only an unknown name needs it.
    from mycel.search.search import find as find_words  # noqa: PLC0415

    path = uri.path
    with suppress(Unsupported):  # A database without search gives no such suggestions.
        for hit in find_words(
            reader, path, "CONCEPT", limit=SUGGESTIONS_MAX, threshold=NAMED_SCORE
        ):
            if not is_placeholder(hit.element):
                yield element_uri(hit.element)


def _namesakes(reader: Reader, uri: Uri) -> list[str]:
    """The file with the path of a concept, or the concept with the path of a file; if it exists."""
    other = build("concept" if uri.is_file else "file", uri.workspace, uri.path)
    node_match = find(reader, other)
    return [other.text] if node_match is not None and not node_match.is_missing else []


def _names_below(reader: Reader, beginning: str) -> Iterator[str]:
    numbers = lookup.named_from(reader, f"{beginning}/", NEIGHBOURS_COMPARED)
    for number in numbers:
        concept = reader.concept(number)
        if concept is not None and not is_placeholder(concept):
            yield concept.name
