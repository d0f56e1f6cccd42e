"""How a caller names an element: by its id, or by the element itself."""

from __future__ import annotations

from mycel.model.elements import Concept, Proposition
from mycel.model.ids import parse_id

Ref = str | Concept | Proposition


def resolve(ref: object) -> int:
    """The inner id of an element, however the caller named it.

    Raises:
        InvalidId: it is neither an element nor an id.
    """
    if isinstance(ref, (Concept, Proposition)):
        return ref.number
    return parse_id(ref)
