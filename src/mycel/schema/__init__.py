"""Schemas: what types and predicates demand of their instances. No I/O and no clock.

A schema is a text in a language of its own (`load`), and its catalog can be compared with the one
in force (`plan`). Definitions that KIP alone made are read here as well, with more patience.

Modules, in the order in which a schema passes through them:

- `model`        what a schema is made of: types of values, properties, constraints, declarations
- `ast`          what a text says, as it was written
- `lexer`        text to tokens
- `foreign_words`      words of other languages, and what a schema says instead
- `schema_errors`   what is wrong with a text, and what to write instead
- `parser`       tokens to tree: `parse`
- `float32`      numbers of single precision, and the decimal that stands for each
- `property_values`       what fits a type of values, and how it is spelt
- `annotations`   which annotations may stand where
- `declaration_bodies`       properties and constraints of a declaration, and their rules
- `builder`     tree to catalog: names, interfaces, ends
- `ir`           the catalog as canonical JSON, and its hash
- `catalog`      `Catalog`
- `arrow`        the Arrow schema of a type
- `formatter`    tree or catalog to text: `format`
- `canonical_text`      text to text, comments included: `tidy`
- `loading`      text to catalog: `load`
- `schema_match`     what of one catalog is what in another
- `steps`        the steps from one schema to another
- `step_descriptions` steps in words
- `planner`      from two catalogs to steps: `plan`
- `stored_declaration`       a declaration in the attributes of its definition
- `index_slots`        which indexes a declaration asks for
- `row_test`    whether a row is right as it is, as one expression
- `row_rules`         whether the attributes of an instance agree with its declaration
- `definitions`  what a definition made by KIP says, and whether an instance agrees with it
- `definition_lint`        what in such a definition means nothing, and what was probably meant

The names in `__all__` are imported when they are first used: most of what starts needs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mycel.schema.canonical_text import tidy
    from mycel.schema.catalog import Catalog, Dropped
    from mycel.schema.formatter import format_schema as format  # noqa: A004 - the verb here
    from mycel.schema.loading import load
    from mycel.schema.parser import parse
    from mycel.schema.planner import Plan, plan

__all__ = ["Catalog", "Dropped", "Plan", "format", "load", "parse", "plan", "tidy"]

_HOMES = {
    "Catalog": ("catalog", "Catalog"),
    "Dropped": ("catalog", "Dropped"),
    "Plan": ("planner", "Plan"),
    "format": ("formatter", "format_schema"),
    "load": ("loading", "load"),
    "parse": ("parser", "parse"),
    "plan": ("planner", "plan"),
    "tidy": ("canonical_text", "tidy"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mycel.schema' has no attribute {name!r}")
    module, inner = _HOMES[name]
    value = globals()[name] = getattr(import_module(f"mycel.schema.{module}"), inner)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
