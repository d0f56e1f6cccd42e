"""`execute_kip` and `execute_kip_readonly`: the language itself."""

from __future__ import annotations

from typing import Final

from mycel.mcp import hints, kip_responses
from mycel.mcp.results import Answer
from mycel.mcp.tool_context import Call

CHEAT_SHEET: Final = """\
KIP in a minute. Names of types are written in UpperCamelCase, of predicates in snake_case.

Ask. ?x stands for what is sought; one FIND gives columns in the order of its expressions.
  FIND(?c.name, ?c.attributes.content) WHERE { ?c {type: "Concept"} } LIMIT 20
  FIND(?t.name) WHERE { ?c {name: "concept://shop/auth/login"} (?c, "depends_on", ?t) }
  FIND(?c.name, COUNT(?l)) WHERE { ?c {type: "Concept"} ?l (?c, "depends_on", ?t) }
  FILTER(?c.attributes.importance == "high"), NOT { … }, OPTIONAL { … }, UNION { … } go into WHERE;
  (?a, "calls"{1,3}, ?b) walks up to three links; ORDER BY ?c.name DESC, LIMIT 20 and
  CURSOR "…" (next_cursor of the answer before) come after it.
  SEARCH CONCEPT "login" LIMIT 5

Tell. Types and predicates are defined before they are used; DESCRIBE shows which there are.
  UPSERT { CONCEPT { {type: "$PropositionType", name: "owns"}
    SET ATTRIBUTES { description: "The subject looks after the object." } } }
  UPSERT {
    CONCEPT ?c { {type: "Concept", name: "concept://shop/billing"}
      SET ATTRIBUTES { name: "Billing", content: "Invoices are made at night." }
      SET PROPOSITIONS { ("depends_on", {type: "Concept", name: "concept://shop/auth/login"}) } }
  } WITH METADATA { source: "code review", confidence: 0.9 }
  UPDATE ?c SET ATTRIBUTES { importance: "high" } WHERE { ?c {name: "concept://shop/billing"} }
  DELETE PROPOSITIONS ?l WHERE { ?l (?c, "depends_on", ?t) ?c {name: "concept://shop/billing"} }
  DELETE CONCEPT ?c DETACH WHERE { ?c {name: "concept://shop/billing"} }

Look around.
  DESCRIBE PRIMER    DESCRIBE CONCEPT TYPES    DESCRIBE CONCEPT TYPE "Concept"

Values belong into parameters, never into the text: ?c {name: :uri} with {"uri": "…"}.
A dry run (dry_run: true) says what a command would do."""


def execute(call: Call) -> Answer:
    """Run commands that may write."""
    response = call.desk.db.request(call.arguments, readonly=call.desk.readonly)
    return kip_responses.answer(call.arguments, response)


def execute_readonly(call: Call) -> Answer:
    """Run commands that only read."""
    response = call.desk.db.request(call.arguments, readonly=True)
    response = hints.at_the_door(response, readonly=call.desk.readonly)
    return kip_responses.answer(call.arguments, response)
