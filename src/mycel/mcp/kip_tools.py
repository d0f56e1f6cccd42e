"""The tools `execute_kip` and `execute_kip_readonly`, and a cheat sheet of KIP."""

from __future__ import annotations

from typing import Final

from mycel.mcp import hints, kip_responses
from mycel.mcp.results import Answer
from mycel.mcp.tool_context import ToolCall
from mycel.model.values import JsonObject

CHEAT_SHEET: Final = """\
KIP in a minute. Types are written in UpperCamelCase, predicates in snake_case.

Query. ?x is a variable; a FIND returns one column for each of its expressions.
  FIND(?c.name, ?c.attributes.content) WHERE { ?c {type: "Concept"} } LIMIT 20
  FIND(?t.name) WHERE { ?c {name: "concept://shop/auth/login"} (?c, "depends_on", ?t) }
  FIND(?c.name, COUNT(?l)) WHERE { ?c {type: "Concept"} ?l (?c, "depends_on", ?t) }
  FILTER(?c.attributes.importance == "high"), NOT { … }, OPTIONAL { … }, UNION { … } go into WHERE;
  conditions are joined with && || !, tests are CONTAINS(?c.name, "log"), STARTS_WITH, ENDS_WITH,
  REGEX(?c.name, "(?i)^log"), IN(?c.name, ["a", "b"]), IS_NULL(?c.attributes.x), IS_NOT_NULL;
  (?a, "calls"{1,3}, ?b) follows up to three links; ORDER BY ?c.name or COUNT(?l) DESC, LIMIT 20
  and CURSOR "…" (next_cursor of the last answer) come after WHERE.
  Paths: ?c.id, ?c.type, ?c.name, ?c.attributes.key, ?c.metadata.confidence, ?l.weight; of every
  element ?c.metadata._created_at, _created_by, _updated_at, _updated_by and _version.
  SEARCH CONCEPT "login" LIMIT 5
  NEAREST CONCEPT TO :vector WITH TYPE "Page" BY "embedding" LIMIT 5

Write. Types and predicates are defined before they are used; DESCRIBE lists them.
  UPSERT { CONCEPT { {type: "$PropositionType", name: "owns"}
    SET ATTRIBUTES { description: "The subject looks after the object." } } }
  UPSERT {
    CONCEPT ?c { {type: "Concept", name: "concept://shop/billing"}
      SET ATTRIBUTES { name: "Billing", content: "Invoices are made at night." }
      SET PROPOSITIONS { ("depends_on", {type: "Concept", name: "concept://shop/auth/login"}) } }
  } WITH METADATA { source: "code review", confidence: 0.9 }
  UPDATE ?c SET ATTRIBUTES { importance: "high" } WHERE { ?c {name: "concept://shop/billing"} }
  UPDATE ?l SET WEIGHT 0.5 WHERE { ?l (?c, "depends_on", ?t) }
  MERGE CONCEPT ?old INTO ?new WHERE { ?old {name: "concept://shop/bill"} ?new {name:
    "concept://shop/billing"} }
  ARCHIVE ?c BECAUSE "out of date" WHERE { ?c {name: "concept://shop/billing"} } takes it out of
  search, traversal and FIND (but FIND(…) INCLUDE ARCHIVED WHERE); RESTORE ?c WHERE { … } brings it
  back. SUPERSEDE ?old WITH ?new WHERE { … } marks what was replaced; FIND(…) FOR TIME "2026-01-31"
  WHERE { … } gives what is valid then. SET RETENTION {after: "90d"} FOR CONCEPT TYPE "Event"
  DELETE PROPOSITIONS ?l WHERE { ?l (?c, "depends_on", ?t) ?c {name: "concept://shop/billing"} }
  DELETE CONCEPT ?c DETACH WHERE { ?c {name: "concept://shop/billing"} }

Describe.
  DESCRIBE PRIMER    DESCRIBE CONCEPT TYPES    DESCRIBE CONCEPT TYPE "Concept"

Pass values as parameters, never in the text: ?c {name: :uri} with {"uri": "…"}.
With dry_run: true, a command only reports its effects."""


def execute(call: ToolCall) -> Answer:
    """Run commands that may write."""
    request, rows = _request(call)
    response = call.served.db.request(request, readonly=call.served.readonly)
    return kip_responses.answer(request, response, rows=rows)


def execute_readonly(call: ToolCall) -> Answer:
    """Run commands that only read."""
    request, rows = _request(call)
    response = call.served.db.request(request, readonly=True)
    response = hints.for_refused_writes(response, readonly=call.served.readonly)
    return kip_responses.answer(request, response, rows=rows)


def _request(call: ToolCall) -> tuple[JsonObject, bool]:
    """The request of KIP, and True if the caller wants the result as rows."""
    request = dict(call.arguments)
    return request, request.pop("rows", False) is True
