"""From a logical plan to one SQL statement.

- `dialect`         SQL that differs between databases, as a Protocol
- `sqlite`          the dialect of SQLite: documents, functions of Mycel, hints to the query planner
- `postgres`        the dialect of PostgreSQL
- `portable`        SQL that is the same in both dialects
- `state_tables`    the tables of a state, live or past
- `scope`           the expression of each variable in the statement; bind parameters
- `fields`          a part of an element as a value to compare, or as a cell of the result
- `conditions`      conditions as SQL
- `walks`           walks of many hops
- `negation`        NOT of one link from a given element
- `select_builder`  a SELECT under construction
- `patterns`        blocks: joins in the planned order, optional blocks, walks
- `aggregates`      aggregates and groups
- `compiler`        the whole statement: solutions, groups, order, limit, cells
"""
