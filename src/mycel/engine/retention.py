"""SET RETENTION: for how long the instances of a type, or single elements, are kept.

The rule of a type is an attribute of its definition. The rule of an element is metadata, and
overrides the rule of its type. Upkeep applies the rules (`mycel.upkeep`).
"""

from __future__ import annotations

from typing import Final

from mycel.engine.metadata_warnings import metadata_doubts
from mycel.engine.outcome import Outcome, all_or_nothing
from mycel.engine.references import check_predicate, check_type
from mycel.engine.values import Values
from mycel.engine.where_targets import named_targets, to_change
from mycel.errors import MycelError
from mycel.kip import ast
from mycel.model.elements import Element
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.model.retention import RETENTION, parse_retention, stored_retention
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import located

LINKED_NOTE: Final = (
    "Unless linked: an element stays as long as another one links to it; its own links to others"
    " do not count."
)


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
        name = values.text(node.name, "name of the type")
        is_new = set_type_retention(tx, name, rule, is_link=node.kind != "CONCEPT")
        return Outcome({"updated": int(is_new), "matched": 1}, warnings=_linked_note(rule))
    limit = None if node.limit is None else values.positive(node.limit, "LIMIT")
    with all_or_nothing(tx):
        numbers = named_targets(tx, node, values, limit=limit)
        updated = sum(
            set_element_retention(tx, element, rule) for element in to_change(tx, numbers)
        )
    warnings = (*metadata_doubts({RETENTION: rule}), *_linked_note(rule))
    return Outcome({"updated": updated, "matched": len(numbers)}, warnings=warnings)


def _linked_note(rule: object) -> tuple[str, ...]:
    parsed = parse_retention(rule)
    return (LINKED_NOTE,) if parsed is not None and "linked" in parsed.keep_if else ()


def set_element_retention(tx: Transaction, element: Element, rule: object) -> bool:
    """Give an element that was just read a rule of its own; False if it has this rule already.

    Raises:
        MycelError: the rule is malformed.
    """
    return tx.update_found(element, metadata={RETENTION: stored_retention(rule)})


def set_type_retention(tx: Transaction, name: str, rule: object, *, is_link: bool) -> bool:
    """Give a type or predicate a rule for its instances; False if it has this rule already.

    Raises:
        TypeMismatch: there is no such type or predicate.
        MycelError: the rule is malformed.
    """
    rule = stored_retention(rule)
    (check_predicate if is_link else check_type)(tx, name)
    definition = tx.get_concept(PROPOSITION_TYPE if is_link else CONCEPT_TYPE, name)
    return definition is not None and tx.update(definition.id, attributes={RETENTION: rule})
