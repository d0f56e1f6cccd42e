"""A reference for KIP: every rule as plainly as it can be said, over plain Python objects.

It is slow on purpose. Run the same commands on it and on an engine: what differs is a mistake of
one of the two. `ReferenceNexus` answers everything but `DESCRIBE PRIMER`, `SEARCH`, `EXPLAIN` and
`AS OF`, and takes any number of hops and rows as long as you have patience.

Modules, from what a command stands on to the answer:

- `graph`        elements by number, and how they look from outside
- `json_values`  when two values are the same, and which comes first
- `parameters`   what placeholders stand for
- `patterns`     the rows of one concept clause or link clause
- `conditions`   what paths lead to, and whether a FILTER holds
- `scopes`       what can be refused before anything runs
- `blocks`       the rows of a WHERE
- `find`         FIND: groups, aggregates, order, columns
- `pages`        LIMIT and CURSOR
- `schema`       what definitions demand of their instances
- `protection`   what nobody may change
- `draft`        the few primitives through which everything is written
- `upsert`       UPSERT
- `targets`      which elements the other statements are about
- `delete`       DELETE
- `update`       UPDATE
- `merge`        MERGE
- `describe`     DESCRIBE
- `export`       EXPORT
- `traverse`     TRAVERSE
- `nexus`        one command
- `envelope`     one request
"""

from mycel.testing.reference.nexus import ReferenceNexus

__all__ = ["ReferenceNexus"]
