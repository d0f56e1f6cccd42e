"""The preference `near`: elements near another one get higher scores. It leaves no hits out."""

from __future__ import annotations

from typing import Final

from mycel.graph.traversal import Bounds, traverse
from mycel.model.elements import Concept
from mycel.search.hits import ElementHit, Passing, element_name
from mycel.search.weights import NEAR_SHARE
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref, missing

NEAR_COST_MAX: Final = 3.0
NEAR_NODES_MAX: Final = 200
"""The largest neighbourhood: elements up to this cost from the centre, and at most this many."""


class Neighbourhood:
    """The elements near another one, which a search prefers: their scores are raised."""

    def __init__(self, reader: Reader, centre: Ref) -> None:
        """Traverse from the centre in both directions; raises NotFound if it does not exist."""
        number = reader.number(centre)
        if reader.element(number) is None:
            raise missing(centre)
        bounds = Bounds(NEAR_COST_MAX, NEAR_NODES_MAX, direction="both")
        reached = traverse(reader, number, bounds).nodes
        self._costs = {node.element.number: node.cost for node in reached}
        self._name = element_name(reached[0].element)

    def within(self, passing: Passing) -> Passing:
        """Add to conditions that an element, or an end of a link, has to be near."""
        return Passing(
            passing.concepts.among(("id",), self._costs),
            passing.links.among(("id", "subject", "object"), self._costs),
        )

    def preferred(self, hit: ElementHit) -> ElementHit:
        """A hit with its score raised if it is near; the nearer, the more."""
        places = [hit.element.number]
        if not isinstance(hit.element, Concept):
            places += hit.element.ends
        costs = [self._costs[place] for place in places if place in self._costs]
        if not costs:
            return hit
        closeness = 1 - min(costs) / (2 * NEAR_COST_MAX)
        score = hit.score + (1 - hit.score) * NEAR_SHARE * closeness
        return hit._replace(score=score, why=(*hit.why, f"near {self._name}"))
