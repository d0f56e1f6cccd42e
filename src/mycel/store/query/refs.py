"""How a caller names an element: by its id, or by the element itself."""

from __future__ import annotations

from mycel.errors import SelfEdgeError
from mycel.model.elements import Concept, Proposition
from mycel.model.ids import parse_id
from mycel.model.names import shorten

Ref = str | Concept | Proposition


def refuse_self_link(subject: Ref, object_: Ref) -> None:
    """Refuse two ends that are the same, before asking whether they are ids at all.

    Raises:
        SelfEdgeError: they are.
    """
    one = subject if isinstance(subject, str) else getattr(subject, "id", None)
    other = object_ if isinstance(object_, str) else getattr(object_, "id", None)
    if one is not None and one == other:
        raise SelfEdgeError(f"{one!r} cannot be linked to itself.")


def shown_ref(ref: object) -> str:
    """The id that a caller used, for a message."""
    return shorten(repr(ref.id if isinstance(ref, (Concept, Proposition)) else ref))


def resolve(ref: object) -> int:
    """The inner id of an element, however the caller named it.

    Raises:
        InvalidId: it is neither an element nor an id.
    """
    if isinstance(ref, (Concept, Proposition)):
        return ref.number
    return parse_id(ref)
