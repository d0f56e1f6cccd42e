"""SET RETENTION: for how long the instances of a type, or single elements, are kept.

The rule of a type is an attribute of its definition, that of an element is metadata and goes first.
Upkeep acts on them (`mycel.upkeep`).
"""

from __future__ import annotations

from mycel.engine.outcome import Outcome, all_or_nothing
from mycel.engine.references import check_predicate, check_type
from mycel.engine.values import Values
from mycel.engine.where_targets import named_targets, to_change
from mycel.errors import MycelError
from mycel.kip import ast
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.model.retention import RETENTION, parse_retention
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import located


def set_retention(
    tx: Transaction, node: ast.SetTypeRetention | ast.SetRetention, values: Values
) -> Outcome:
    """Run a SET RETENTION; `updated` counts the elements, or the type, whose rule changed."""
    rule = values.value(node.rule)
    try:
        parse_retention(rule)
    except MycelError as error:
        raise located(error, node.rule.span) from None
    if isinstance(node, ast.SetTypeRetention):
        return _of_type(tx, node, values.text(node.name, "name of the type"), rule)
    limit = None if node.limit is None else values.positive(node.limit, "LIMIT")
    with all_or_nothing(tx):
        numbers = named_targets(tx, node, values, limit=limit)
        updated = sum(
            tx.update_found(element, metadata={RETENTION: rule})
            for element in to_change(tx, numbers)
        )
    return Outcome({"updated": updated, "matched": len(numbers)})


def _of_type(tx: Transaction, node: ast.SetTypeRetention, name: str, rule: object) -> Outcome:
    is_type = node.kind == "CONCEPT"
    (check_type if is_type else check_predicate)(tx, name)
    definition = tx.get_concept(CONCEPT_TYPE if is_type else PROPOSITION_TYPE, name)
    updated = definition is not None and tx.update(definition.id, attributes={RETENTION: rule})
    return Outcome({"updated": int(updated), "matched": 1})
