"""Schemas and the graph: which schema is in force, what a change of it means, and applying it.

Modules, in the order in which data passes through them:

- `catalogs`     the schema in force, read from the definitions in the graph
- `lock`         one apply at a time, across processes
- `definitions`  writing what a schema declares into the definitions
- `rewriting`    taking the rows of one type along: renames, drops, defaults, keys
- `fitting`      whether rows satisfy what is declared, and which do not
- `consent`      what a caller has to agree to
- `applying`     all of it as one transaction
- `restoring`    bringing back the instances of hidden types
- `hidden`       what is hidden: listed, declared again, let go
- `inference`    a schema for types that grew in KIP
- `door`         `db.schema`: what callers see
"""
