"""The health of a graph, with a card for each element of a finding."""

from __future__ import annotations

from mycel.explorer.moments import Scene
from mycel.model.values import JsonObject
from mycel.upkeep.health import read_health


def health_view(scene: Scene, limit: int) -> JsonObject:
    """The answer: all findings by kind, the growing types, and the log of cycles."""
    uses = dict(scene.knowledge.db.use_counts.uses())
    health = read_health(scene.reader, uses, limit)
    numbers = {
        number
        for section in health.sections
        for finding in section.findings
        for number in finding.elements
    }
    scene.cards.read(sorted(numbers))
    payload = health.to_dict()
    for section in payload["sections"]:
        for finding in section["findings"]:
            finding["nodes"] = scene.cards.all(finding.pop("elements"))
    return scene.answer(**payload)
