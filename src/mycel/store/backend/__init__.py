"""The databases that hold a graph.

- `interface`  the Protocols of a backend, its connections and their cursors
- `failures`   errors of databases, and what they become
- `sqlite`     graphs in files
- `tokens`     the terms of a text
- `postgres`   graphs in schemas of a PostgreSQL database
"""
