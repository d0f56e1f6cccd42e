"""Types of arguments: JSON, moments, hashes, and elements as ids, `Type:name`, URIs or paths."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

import rich_click as click

from mycel.cli.console.context import Invocation
from mycel.errors import InvalidId, InvalidSyntax, NotFound, ResourceExhausted
from mycel.knowledge.uris import parse
from mycel.model.directions import DIRECTIONS
from mycel.model.elements import Concept
from mycel.model.json_text import read_json
from mycel.model.limits import LINE_BYTES_MAX
from mycel.store.file.plain_files import open_given, refusal_of
from mycel.store.query.refs import kip_identity

if TYPE_CHECKING:
    from mycel.knowledge.knowledge_view import KnowledgeView
    from mycel.store.query.reader import Reader

ELEMENT = "ID|TYPE:NAME|URI|PATH"
"""The form of an argument for `resolve`, as help shows it."""

_KINDS: Final[tuple[Literal["concept", "file"], ...]] = ("concept", "file")
_ID = re.compile(r"C:[0-9]+|P:[0-9]+:.+", re.ASCII)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://", re.ASCII)


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def together(*parts: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """One decorator for several arguments and options, which help shows in this order."""

    def decorate(command: Decorated) -> Decorated:
        return reduce(lambda inner, part: part(inner), reversed(parts), command)

    return decorate


follow_option = click.option(
    "--follow", multiple=True, metavar="P", help="Only along this predicate; repeatable"
)
for_time_option = click.option(
    "--for-time",
    metavar="TIME",
    help="Only elements that hold at this time, by valid_from and valid_until",
)
archived_option = click.option("--include-archived", is_flag=True, help="Also archived elements")
direction_option = click.option(
    "--direction",
    type=click.Choice(DIRECTIONS),
    default="out",
    help="Along edges, or against them",
)


def json_object(text: str) -> dict[str, Any]:
    """A JSON object: in place, or in a file as `@path` (`@-` is standard input).

    Raises:
        click.UsageError: it is something else, or cannot be read.
    """
    parsed = json_value(text)
    if not isinstance(parsed, dict):
        raise click.BadParameter('it must be an object, such as {"key": "value"}.')
    return parsed


def json_value(text: str) -> Any:
    """Any value as JSON: in place, or in a file as `@path` (`@-` is standard input).

    Raises:
        click.UsageError: it is something else, or cannot be read.
    """
    content = read_text(text[1:], LINE_BYTES_MAX) if text.startswith("@") else text
    try:
        return read_json(content)
    except InvalidSyntax as error:
        raise click.BadParameter(f"{error.message} {error.hint}") from None
    except ValueError as error:
        raise click.BadParameter(f"it is not JSON: {error}.") from None


def moment(text: str) -> int | str:
    """A moment of the past: the number of a journal entry, or else a time.

    >>> moment("12"), moment("2026-01-31")
    (12, '2026-01-31')
    """
    # A position has up to 18 digits. Longer numbers are treated as times, and refused later.
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII) else text


def root_hash(text: str) -> bytes:
    """A SHA-256 hash in hexadecimal digits.

    Raises:
        click.BadParameter: the text is no such hash.
    """
    if not re.fullmatch(r"[0-9A-Fa-f]{64}", text, re.ASCII):
        raise click.BadParameter("a root has 64 hexadecimal digits.")
    return bytes.fromhex(text)


def read_text(path: str, bytes_max: int) -> str:
    """The text of a file of limited size; `-` is standard input.

    Raises:
        click.UsageError: the file cannot be read, or is no text.
        ResourceExhausted: the file is too large.
    """
    try:
        text = _read_stdin(bytes_max) if path == "-" else _read_file(path, bytes_max)
    except (OSError, ValueError) as error:
        # Also raised for text that is no UTF-8, and for an impossible path.
        raise click.UsageError(refusal_of(path, error)) from None
    if text is None:
        raise ResourceExhausted(
            f"{path!r} has more than {bytes_max >> 20} MiB, which is the limit for this command.",
            hint="Divide it.",
        )
    # Some editors begin a file with a byte order mark.
    return text.removeprefix("\ufeff")


def _read_file(path: str, bytes_max: int) -> str | None:
    """The text of a file; None if it is too large."""
    with open_given(path) as file:
        content = file.read(bytes_max + 1)
    return None if len(content) > bytes_max else _with_line_ends(content.decode())


def _read_stdin(bytes_max: int) -> str | None:
    text = sys.stdin.read(bytes_max + 1)
    return None if len(text) > bytes_max else text


def _with_line_ends(text: str) -> str:
    """A text with the line ends of Unix, as Python reads text files."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


class HasConcepts(Protocol):
    """A place to look up names: a graph, a past state or a transaction."""

    def get_concept(
        self, type_name: str | None, name: str, *, tombstoned: bool = False
    ) -> Concept | None: ...


def is_uri(text: str) -> bool:
    """True if a text has the form of a URI.

    >>> is_uri("concept://shop/cart"), is_uri("Drug:Aspirin")
    (True, False)
    """
    return _URI.match(text) is not None


def resolve(
    graph: HasConcepts,
    text: str,
    *,
    exact: bool = False,
    removed: bool = False,
    at_home: bool = False,
) -> str:
    """The id of an element, as the user typed it.

    A former URI, an alias or a short name leads to its node, and a note says so; `exact` excludes
    them. With `at_home`, aliases and short names lead to nodes of this workspace only. Removed
    elements are tried last; with `removed`, they are tried right after live elements of this name.

    Raises:
        InvalidId: the text is neither an id nor `Type:name`, nor a URI or a path of a node; or it
            is a URI that leads out of its workspace.
        TypeMismatch: the type is not defined.
        NotFound: there is no such concept, or several have the short name.
    """
    text = _without_scheme(text)
    if _ID.fullmatch(text):
        return text
    names = _names_of(text)
    concept = _live(graph, names) or (_removed(graph, names) if removed else None)
    concept = (
        concept
        or (None if exact else _resolve_text(graph, text, at_home=at_home))
        or _removed(graph, names)
    )
    if concept is not None:
        return concept.id
    if is_uri(text):
        raise NotFound(f"There is no node {text!r}.", hint="`mycel search` finds nodes by words.")
    type_name, name = type_and_name(text) or ("", "")
    return find_concept(graph, type_name, name, tombstoned=True).id


_Names = list[tuple[str | None, str]]
"""Pairs of a type and a name of a concept; None stands for any type."""


def _names_of(text: str) -> _Names:
    """The names that a text may be: a URI, `Type:name`, or a path of the workspace."""
    if is_uri(text):
        # The text as typed comes first, because KIP can create a name that is a URI in another than
        # the normal form.
        return [(None, text), (None, parse(text, "").text)]
    if ":" in text:
        identity = type_and_name(text)
        return [] if identity is None else [identity]
    session = _session()
    if session is None:
        return []
    workspace = session.workspace(session.root())
    on_disk = path_from_root(session, text)
    names: _Names = []
    for path in (text,) if on_disk in (None, text) else (on_disk, text):
        with suppress(InvalidId):
            names += ((None, parse(path, workspace, kind=kind).text) for kind in _KINDS)
    return names


def _session() -> Invocation | None:
    context = click.get_current_context(silent=True)
    return None if context is None else context.find_object(Invocation)


def _live(graph: HasConcepts, names: _Names) -> Concept | None:
    return next(filter(None, (graph.get_concept(*name) for name in names)), None)


def _removed(graph: HasConcepts, names: _Names) -> Concept | None:
    generator = (graph.get_concept(*name, tombstoned=True) for name in names)
    return next(filter(None, generator), None)


def _resolve_text(graph: HasConcepts, text: str, *, at_home: bool) -> Concept | None:
    """The node that a former URI, an alias or a short name means; prints a note about it."""
    from mycel.api.graph import Graph
    from mycel.knowledge.name_resolution import resolve_all
    from mycel.knowledge.node_lookup import find
    from mycel.store.write.transaction import Transaction

    session = _session()
    workspace = "" if session is None else session.workspace(session.root())
    is_named = ":" in text and not is_uri(text)
    try:
        uri = parse(f"kip:{text.replace(':', '/', 1)}" if is_named else text, workspace)
    except InvalidId:
        return None
    if isinstance(graph, Transaction):
        reading: AbstractContextManager[Reader] = nullcontext(graph.reader)
    elif isinstance(graph, Graph):
        reading = graph.reading()
    else:
        return None  # A past state has no aliases to resolve.
    with reading as reader:
        resolved = resolve_all(reader, (uri,), at_home=at_home).get(uri)
        node_match = None if resolved is None else find(reader, resolved.uri)
        concept = None if node_match is None else reader.concept(node_match.number)
    if concept is not None and resolved is not None and resolved.hint and session is not None:
        session.out.note(resolved.hint)
    return concept


def node_reference(
    session: Invocation, knowledge: KnowledgeView, text: str, *, for_writing: bool = False
) -> str:
    """The URI of a node that a person names: by URI, id, `Type:name`, a path or a short name.

    A path belongs to the workspace, or to a file below the current folder. With `for_writing`,
    short names are left to the method that writes.

    Raises:
        InvalidId: the text is none of these.
        NotFound: there is no such node or file, or several have the short name.
    """
    if is_uri(text) or _ID.fullmatch(text) or text.startswith("kip:"):
        return text
    on_disk = path_from_root(session, text)
    candidates = [text] if on_disk is None else [on_disk, text]
    for path in candidates:
        with suppress(InvalidId):
            for kind in _KINDS:
                uri = knowledge.uri(path, kind=kind)
                if knowledge.has(uri.text):
                    return uri.text
    if on_disk is not None:
        return knowledge.uri(on_disk, kind="file").text
    if ":" in text and "::" not in text:
        return "kip:{}/{}".format(*(type_and_name(text) or ()))
    return text if for_writing else knowledge.get(text, content=False).uri


def path_from_root(session: Invocation, text: str) -> str | None:
    """The path of a file or folder from the root of the project; None if it is not below it."""
    with suppress(OSError, ValueError):
        path = Path(text).resolve()
        root = session.root().resolve()
        if path.exists() and path != root and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return None


def _without_scheme(text: str) -> str:
    """An id or `Type:name` in place of a `kip:` URI; any other text as it is."""
    identity = kip_identity(text)
    return (
        text if identity is None else identity if isinstance(identity, str) else ":".join(identity)
    )


def find_concept(
    graph: HasConcepts, type_name: str, name: str, *, tombstoned: bool = False
) -> Concept:
    """The concept with this type and name; on request also one that was removed.

    Raises:
        TypeMismatch: the type is not defined.
        NotFound: there is no such concept.
    """
    concept = graph.get_concept(type_name, name, tombstoned=tombstoned)
    if concept is None:
        hint = "`mycel search` finds elements by words."
        if not tombstoned:
            hint = f"If it was removed, `mycel history Type:name` tells when and why. {hint}"
        raise NotFound(f"There is no {type_name} {name!r}.", hint=hint)
    return concept


def type_and_name(text: str) -> tuple[str, str] | None:
    """The two parts of `Type:name`, split at the first colon; None for an id.

    >>> type_and_name("Page:https://example.org"), type_and_name("C:12")
    (('Page', 'https://example.org'), None)
    """
    text = _without_scheme(text)
    if _ID.fullmatch(text):
        return None
    if is_uri(text):
        raise InvalidId(
            f"{text!r} does not say of which type it is.",
            hint=f"Write the type before it, as Resource:{text}.",
        )
    type_name, colon, name = text.partition(":")
    if not (type_name and colon and name):
        raise InvalidId(
            f"{text!r} is neither an id nor Type:name, and no path of a node.",
            hint="Write C:12, P:13:predicate, the type and name of a concept as Drug:Aspirin, or"
            " the URI or path of a node as src/cart.py. `mycel search` finds them by words.",
        )
    return type_name, name


def confirmed(session: Invocation, question: str) -> bool:
    """Ask the user to confirm a step that cannot be undone; True if the answer is yes.

    Raises:
        click.UsageError: standard input is not a terminal.
    """
    if session.as_json or not sys.stdin.isatty():
        raise click.UsageError("This cannot be undone: say --yes if you mean it.")
    return click.confirm(question, err=True)


def exactly(words: Sequence[str], *counts: int, form: str) -> None:
    """Refuse a wrong number of arguments."""
    if len(words) not in counts:
        raise click.UsageError(f"Write it as: {form}")
