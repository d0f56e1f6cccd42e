"""The store: one database, its tables, and the single way to write to them.

The packages and modules; each imports only from those above it:

- `file`            files, the layout of a database, rows
- `backend`         databases: connections, locks, copies; errors
- `log`             names, journal, Merkle log, state trees
- `index`           indexes derived from elements: properties, text
- `schema_objects`  the objects of a file, and foreign ones among them
- `query`           queries, for any state
- `write`           the writer, the transaction and its primitives, purges
- `opening`         opens the file at a path
- `database`        `Store`: readers, the writer, closing
- `copying`         a copy of a graph in another database
- `check`           verify, replay, proofs
"""
