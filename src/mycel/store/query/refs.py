"""References: the ways in which a caller names an element.

Every method that takes an element takes each of these:

- the id, `C:12` or `P:13:treats`; numbers differ between copies of a graph
- the element itself, as it was read
- the natural key: `("City", "Porto")` for a concept, `(subject, predicate, object)` for a
  link, whose ends are references in turn
- a URI, which is the name of a concept of any type, or `kip:City/Porto`, `kip:P:13:treats`: URIs of
  other elements in views and in the knowledge API
"""

from __future__ import annotations

from typing import Final, TypeAlias, TypeGuard

from mycel.errors import NotFound, SelfEdgeError
from mycel.model.elements import Concept, Proposition
from mycel.model.ids import parse_id
from mycel.model.names import shorten

KIP: Final = "kip:"
"""The scheme of URIs for elements whose names are no URIs."""

Ref: TypeAlias = "str | Concept | Proposition | tuple[str, str] | tuple[Ref, str, Ref]"


def is_natural(ref: object) -> TypeGuard[str | tuple[object, ...]]:
    """True if a reference is a natural key or a URI, and so has to be looked up."""
    if ref.__class__ is str:
        return ("://" in ref or kip_identity(ref) is not None) and not ref.startswith(("C:", "P:"))
    return ref.__class__ is tuple


def kip_identity(uri: str) -> tuple[str, str] | str | None:
    """The type and name in a `kip:` URI, or its id; None for any other text.

    >>> kip_identity("kip:City/Porto"), kip_identity("kip:P:13:treats"), kip_identity("City:Porto")
    (('City', 'Porto'), 'P:13:treats', None)
    """
    if uri[: len(KIP)].lower() != KIP:
        return None
    rest = uri[len(KIP) :]
    if rest.startswith(("P:", "C:")):
        return rest
    type_name, slash, name = rest.partition("/")
    return (type_name, name) if type_name and slash and name else None


def refuse_self_link(subject: Ref, object_: Ref) -> None:
    """Refuse equal ends, before anything checks whether they are ids.

    Raises:
        SelfEdgeError: the ends are equal.
    """
    one, other = (getattr(ref, "id", ref) for ref in (subject, object_))
    if one is not None and one == other:
        raise SelfEdgeError(f"{one!r} cannot be linked to itself.")


def shown_ref(ref: object) -> str:
    """A reference as a message shows it."""
    return shorten(repr(ref.id if isinstance(ref, (Concept, Proposition)) else ref))


def missing(ref: object) -> NotFound:
    """The error for an element that does not exist."""
    if ref.__class__ is tuple and len(ref) == 2:
        type_name, name = ref
        return NotFound(
            f"There is no live {type_name} named {shorten(repr(name))}.",
            hint="Find it with SEARCH CONCEPT or FIND.",
        )
    return NotFound(f"There is no live element {shown_ref(ref)}.")


def resolve(ref: object) -> int:
    """The number in an id, or of an element that was given itself.

    Raises:
        InvalidId: the value is neither an element nor an id.
    """
    if isinstance(ref, (Concept, Proposition)):
        return ref.number
    return parse_id(ref)
