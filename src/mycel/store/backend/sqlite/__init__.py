"""Graphs in files, through SQLite.

- `format`       the check of a file's header
- `functions`    functions that every connection has: JSON equality, regular expressions
- `walks`        functions and a table for walks of many hops
- `text_index`   the full-text index
- `connection`   a connection, as the `Connection` of the store
- `creation`     opens a file, and makes a database of an empty one
- `checkpoints`  moves the write-ahead log into the database, in the background
- `location`     the place of a file, and the settings of its connections
- `branches`     branches: files beside the one of the graph
- `copy`         copies a database, even while others write to it
"""
