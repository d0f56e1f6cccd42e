"""A small graph to search: a valley with its people, places and conversations."""

from __future__ import annotations

import mycel

PLACES = {
    "Alder Mill": "A water mill from 1820 on the river Lisk. It was restored by Hanna Brandt.",
    "Hanna Brandt": "An engineer who studied hydraulics in Graz and later moved to the valley.",
    "river Lisk": "The longest stream of the valley. It rises below Mount Corvin.",
    "Mount Corvin": "A peak of 2,140 metres with a small glacier on its northern side.",
    "Blue Heron Inn": "A guest house that serves trout from the Lisk. Owned by Piet Maas.",
    "Piet Maas": "A cook from Utrecht, known for smoked fish and for his beekeeping.",
    "Graz": "The second-largest city of Austria, with a university of technology.",
    "ferry timetable": "Boats leave every hour from spring to autumn, weather permitting.",
}
TURNS = (
    ("Anna", "2024-03-02T10:00:00Z", "walk", "I saw the otter again near the weir."),
    ("Boris", "2024-03-02T10:00:00Z", "walk", "Really? Where exactly?"),
    ("Anna", "2024-03-02T10:00:00Z", "walk", "Right below the old bridge, around noon."),
    ("Boris", "2024-07-09T18:00:00Z", "dinner", "My car broke down yesterday."),
    ("Anna", "2024-07-09T18:00:00Z", "dinner", "How annoying. Did the garage fix it?"),
    ("Boris", "2024-07-09T18:00:00Z", "dinner", "They had to replace the gearbox."),
)


def place_type(db: mycel.Graph) -> None:
    """The type of the places."""
    db.execute(
        'UPSERT { CONCEPT { {type: "$ConceptType", name: "Place"}'
        ' SET ATTRIBUTES { description: "A place or a person of the valley." } } }'
    )


def fill(db: mycel.Graph) -> None:
    """Write the valley."""
    place_type(db)
    with db.transaction() as tx:
        for name, text in PLACES.items():
            tx.put_concept("Place", name, {"text": text})
        for at, (who, when, episode, said) in enumerate(TURNS):
            event = {
                "event_class": "Conversation",
                "content_summary": f"{who}: {said}",
                "participants": [who],
                "start_time": when,
                "context": {"conversation": episode, "position": at},
            }
            tx.put_concept("Event", f"turn-{at}", event)


def names(db: mycel.Graph, question: str, **options: object) -> list[str]:
    """The names of the hits of a search, best first."""
    return [element.name for element, _ in db.search(question, element="CONCEPT", **options)]  # type: ignore[arg-type, union-attr]
