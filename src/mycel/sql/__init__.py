"""From a logical plan to one SQL statement.

- `sqlite`      what only SQLite spells so: documents, functions of ours, hints to its planner
- `state_tables`     where rows come from: the live tables, or the state at a moment of the past
- `scope`       what each variable is at a place in the statement; bind parameters
- `fields`      a part of an element as an expression: a value to compare, or a cell of the result
- `conditions`  what must hold
- `walks`       walks of many hops
- `negation`     what a known element is not linked to
- `select_builder`     a SELECT in the making
- `patterns`    blocks: joins in the planned order, attempts, walks
- `aggregates`      aggregates and what rows are grouped by
- `compiler`    the whole: solutions, groups, order, limit, and how the cells are to be read
"""
