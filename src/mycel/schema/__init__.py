"""Schemas: the declarations of types and predicates, and their rules. No I/O and no clock.

A schema is a text in a language of its own (`load`), and its catalog can be compared with the one
in force (`plan`). Definitions made by KIP alone are read here as well, but leniently.

Modules, in the order in which a schema passes through them:

- `scalars`             the scalar types of properties, with their traits
- `model`               types of values, properties, constraints, nodes, edges, interfaces
- `merge_policies`      the policies of `@merge`, and the types that they fit
- `ast`                 the tree of a text
- `lexer`               text to tokens
- `foreign_words`       words of other languages, and the words to use instead
- `schema_errors`       errors of the parser, with advice
- `parser`              tokens to tree: `parse`
- `property_values`     checks of values against types, and their canonical spelling
- `annotations`         rules of annotations
- `declaration_bodies`  properties and constraints of a declaration, and their rules
- `builder`             tree to catalog, and text to catalog: `load`
- `catalog_json`        the catalog as canonical JSON, and its hash
- `formatter`           tree or declarations to text: `format`
- `catalog`             `Catalog`
- `arrow`               the Arrow schema of a type
- `canonical_text`      text to text, comments included: `tidy`
- `schema_match`        types and properties of one catalog matched with those of another
- `steps`               the steps from one schema to another, as JSON and in words
- `planner`             two catalogs to steps: `plan`
- `stored_declaration`  a declaration in the attributes of its definition
- `row_rules`           the rules of a declared type for the attributes of an instance
- `definitions`         the rules of a definition made by KIP, and their check
- `definition_lint`     entries of such a definition that have no effect

The names in `__all__` are imported on first use, because no process needs them to start.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mycel.schema.builder import load
    from mycel.schema.canonical_text import tidy
    from mycel.schema.catalog import Catalog, Dropped
    from mycel.schema.formatter import format_schema as format  # noqa: A004 - the verb here
    from mycel.schema.parser import parse
    from mycel.schema.planner import Plan, plan

__all__ = ["Catalog", "Dropped", "Plan", "format", "load", "parse", "plan", "tidy"]

_MODULES = {
    "Catalog": "catalog",
    "Dropped": "catalog",
    "Plan": "planner",
    "format": "formatter",
    "load": "builder",
    "parse": "parser",
    "plan": "planner",
    "tidy": "canonical_text",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'mycel.schema' has no attribute {name!r}")
    module = import_module(f"mycel.schema.{_MODULES[name]}")
    value = globals()[name] = getattr(module, "format_schema" if name == "format" else name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
