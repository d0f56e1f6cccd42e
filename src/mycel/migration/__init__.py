"""Schemas on a graph: the schema in force, changes of it, and applying them.

Modules, in the order in which data passes through them:

- `schema_in_force`     the schema in force, read from the definitions in the graph
- `lock`         one apply at a time, across processes
- `definition_writer`  writing what a schema declares into the definitions
- `row_rewrite`    taking the rows of one type along: renames, drops, defaults, keys
- `data_violations`      whether rows satisfy what is declared, and which do not
- `consent`      what a caller has to agree to
- `apply`     all of it as one transaction
- `restore`    bringing back the instances of hidden types
- `hidden_data`       what is hidden: listed, declared again, let go
- `inference`    a schema for types that grew in KIP
- `schema_api`          `db.schema`: what callers see
"""
