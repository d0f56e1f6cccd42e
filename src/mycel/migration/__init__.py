"""Schemas on a graph: the schema in force, changes of it, and applying them.

Modules, in the order in which data passes through them:

- `schema_in_force`    the schema in force, read from the definitions in the graph
- `lock`               one apply at a time, across processes
- `definition_writer`  writes the declarations of a schema into the definitions
- `row_rewrite`        rewrites the rows of one type: renames, drops, defaults, keys
- `data_violations`    the rows that do not satisfy the declarations
- `consent`            the removals to which a caller has to agree
- `apply`              applies a schema as one transaction
- `restore`            restores the instances of hidden types
- `hidden_data`        lists, restores and discards hidden types and properties
- `inference`          infers a schema for types that were made in KIP
- `schema_api`         `db.schema`, the methods for callers
"""
