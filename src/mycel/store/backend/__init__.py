"""The databases that hold a graph.

- `interface`  the Protocols of a backend, its connections and their cursors
- `failures`   errors of databases, translated to errors of Mycel
- `sqlite`     graphs in files
- `tokens`     splits a text into terms
- `postgres`   graphs in schemas of a PostgreSQL database
"""
