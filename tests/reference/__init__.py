"""A reference for KIP: every rule in its plainest form, over plain Python objects.

It is slow on purpose. Run the same commands on it and on an engine: each difference is a mistake of
one of the two. `ReferenceNexus` answers everything except `DESCRIBE PRIMER`, `SEARCH`, `EXPLAIN`
and `AS OF`, and has no limits of hops and rows.

Modules, in the order in which a command uses them:

- `graph`        elements by number, and how they look from outside
- `json_values`  when two values are the same, and which comes first
- `parameters`   the values of placeholders
- `patterns`     the rows of one concept clause or link clause
- `conditions`   values of paths, and conditions of FILTER
- `scopes`       checks before anything runs
- `blocks`       the rows of a WHERE
- `find`         FIND: groups, aggregates, order, columns
- `pages`        LIMIT and CURSOR
- `schema`       what definitions demand of their instances
- `protection`   elements that must not change
- `draft`        the few primitives through which everything is written
- `upsert`       UPSERT
- `targets`      the elements that other statements change
- `delete`       DELETE
- `update`       UPDATE
- `merge`        MERGE
- `describe`     DESCRIBE
- `export`       EXPORT
- `nearest`      NEAREST
- `traverse`     TRAVERSE
- `nexus`        one command
- `envelope`     one request
"""

from tests.reference.nexus import ReferenceNexus

__all__ = ["ReferenceNexus"]
