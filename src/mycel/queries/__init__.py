"""Named queries: commands of KIP with a name, typed parameters and a description.

- `declaration`      a named query and its parameters
- `gq_parser`        from the text of a `.gq` file to declarations
- `query_arguments`  the values of a call, checked against the parameters
- `column_types`     the types of columns, as far as the command and the schema determine them
- `descriptor`       a query for other programs: JSON Schema, columns, what it reads and writes
- `named_queries`    `db.queries`: definitions in the graph, checks, runs
"""
