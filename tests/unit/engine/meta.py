"""A small graph with domains, and the META statements run on it without the rest of the engine."""

from __future__ import annotations

from typing import Any

import mycel
from mycel.engine.describe import describe
from mycel.engine.export import export
from mycel.engine.outcome import Outcome
from mycel.engine.search import search
from mycel.engine.upsert import upsert
from mycel.engine.values import Values
from mycel.kip import ast, parse
from mycel.search.search import fold_text
from tests.prepared import Prepared

GARDEN = """
UPSERT {
  CONCEPT ?garden { {type: "Domain", name: "Gardening"}
    SET ATTRIBUTES { description: "Plants, soil and what grows in it" } }
  CONCEPT { {type: "$ConceptType", name: "Plant"}
    SET ATTRIBUTES { description: "Something that grows", key_instances: ["Rosemary"] }
    SET PROPOSITIONS { ("belongs_to_domain", ?garden) } }
  CONCEPT { {type: "$ConceptType", name: "Pest"} SET ATTRIBUTES { description: "It eats plants" } }
  CONCEPT { {type: "$ConceptType", name: "Tool"} }
  CONCEPT { {type: "$PropositionType", name: "repels"}
    SET ATTRIBUTES { description: "Keeps away", subject_types: ["Plant"], object_types: ["Pest"] }
    SET PROPOSITIONS { ("belongs_to_domain", ?garden) } }
  CONCEPT { {type: "$PropositionType", name: "grows_beside"}
    SET ATTRIBUTES { is_symmetric: true } }
  CONCEPT { {type: "$PropositionType", name: "descends_from"}
    SET ATTRIBUTES { is_transitive: true } }
  CONCEPT { {type: "$PropositionType", name: "doubts"} }
}
UPSERT {
  CONCEPT ?aphid { {type: "Pest", name: "Aphid"} SET ATTRIBUTES { description: "a green louse" }
    SET PROPOSITIONS { ("belongs_to_domain", {type: "Domain", name: "Gardening"}) } }
  CONCEPT ?moth { {type: "Pest", name: "Moth"} }
  CONCEPT ?rosemary { {type: "Plant", name: "Rosemary"}
    SET ATTRIBUTES { description: "An evergreen shrub", height_cm: 120, aliases: ["Dew of sea"] } }
  CONCEPT ?lavender { {type: "Plant", name: "Lavender"}
    SET ATTRIBUTES { description: "A shrub that smells of summer", height_cm: 60 }
    SET PROPOSITIONS { ("grows_beside", ?rosemary) ("repels", ?moth) ("repels", ?aphid) } }
  CONCEPT ?sage { {type: "Plant", name: "薰衣草 Sage"}
    SET ATTRIBUTES { description: "丹参可以活血" } }
  PROPOSITION ?fact { (?rosemary, "repels", ?aphid)
    SET ATTRIBUTES { evidence: "seen on the terrace" } } WITH METADATA { source: "neighbour" }
  PROPOSITION { (?sage, "doubts", ?fact) }
} WITH METADATA { confidence: 0.8 }
"""


def run(db: mycel.Graph, text: str, **parameters: Any) -> Outcome:
    """Run a command of the kind that is tested here."""
    command, values, store = parse(text), Values(parameters), db._store
    match command:
        case ast.Capsule():
            return db.write(lambda tx: upsert(tx, command, values))
        case ast.Search():
            fold_text(store)
            with store.reading() as reader:
                return search(reader, command, values)
        case ast.Export():
            with store.reading() as reader:
                return export(reader, command, values)
        case (
            ast.DescribePrimer()
            | ast.DescribeDomains()
            | ast.DescribeTypes()
            | ast.DescribeType()
            | ast.DescribeCapabilities()
            | ast.DescribeHistory()
        ):
            with store.reading() as reader:
                return describe(reader, command, values)
        case _:
            raise AssertionError(command)


PLANTED = Prepared(lambda db: run(db, GARDEN), actor="tester")
"""A graph that knows a little about plants."""
